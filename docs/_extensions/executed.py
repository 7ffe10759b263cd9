"""Tutorials: pages with ``executed: true`` in their front matter show what their blocks print and draw."""

import shutil
from pathlib import Path

from blocks import run
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.typing import ExtensionMetadata

_LOGGER = logging.getLogger(__name__)


def _execute(app: Sphinx, document: nodes.document) -> None:
    name = app.env.docname
    if not app.env.metadata[name].get("executed") or not app.config.execute_tutorials:
        return
    found = [node for node in document.findall(nodes.literal_block) if node.get("language") == "python"]
    _LOGGER.info("running %s blocks of %s", len(found), name)
    folder = Path(app.doctreedir).parent / "executed" / name
    shutil.rmtree(folder, ignore_errors=True)
    try:
        outputs = run([node.rawsource or node.astext() for node in found], folder)
    except RuntimeError as error:
        raise ExtensionError(f"{name}: {error}") from None
    for page in folder.glob("*.html"):  # what a tutorial has written lies beside its own page
        target = Path(app.outdir) / Path(name).parent
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(page, target)
    for node, output in zip(found, outputs, strict=True):
        shown: list[nodes.Node] = []
        if output["printed"].strip():
            printed = output["printed"].rstrip()
            shown.append(nodes.literal_block(printed, printed, language="text", classes=["output"]))
        for figure in output["figures"]:
            shown.append(_image(app, folder / figure, name))
        place = node.parent.index(node) + 1
        node.parent[place:place] = shown


def _image(app: Sphinx, file: Path, page: str) -> nodes.image:
    name = f"{page.replace('/', '-')}-{file.name}"
    images = Path(app.outdir) / "_images"
    images.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, images / name)
    up = "../" * page.count("/")
    return nodes.raw(
        "", f'<img class="output" alt="The figure that this draws" src="{up}_images/{name}">', format="html"
    )


def setup(app: Sphinx) -> ExtensionMetadata:
    """Called by Sphinx."""
    app.add_config_value("execute_tutorials", True, "env")
    app.connect("doctree-read", _execute)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
