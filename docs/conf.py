"""Settings of the documentation site: ``make docs`` builds it."""

import os
import sys
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")
sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import kafnets

project = "kafnets"
author = "The kafnets developers"
copyright = author
release = version = kafnets.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "executed",
    "mathml",
    "zoo_gallery",
]
exclude_patterns = ["_build", "_extensions"]
nitpicky = False

myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath", "html_image"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
templates_path = ["_templates"]

html_theme = "furo"
html_title = "kafnets"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_math_renderer = "mathml"
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True
