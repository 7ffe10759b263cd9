"""The documentation site: every public name has a page, and no page asks another server for anything."""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import kafnets

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "kafnets"
STUB = SOURCES / "__init__.pyi"
AUTOSUMMARY = re.compile(r"\.\. currentmodule:: (\S+)\n\n\.\. autosummary::\n(?:   :.*\n)+\n((?:   \S+\n)+)")
LOADS = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc\s*=\s*[\"']?(?:https?:)?//"
    r"|<link\b(?![^>]*rel=[\"']?canonical)[^>]*\bhref\s*=\s*[\"']?(?:https?:)?//"
    r"|@import\s+[\"'(]|url\(\s*[\"']?(?:https?:)?//",
    re.IGNORECASE,
)


def documented() -> set[str]:
    return {
        f"{module}.{name}"
        for page in (ROOT / "docs" / "api").glob("*.md")
        for module, names in AUTOSUMMARY.findall(page.read_text(encoding="utf-8"))
        for name in names.split()
    }


def public_names(module: str) -> Iterator[str]:
    """What a module exports: ``__all__``, or else what it defines and what it imports "as" itself."""
    path = SOURCES / f"{module}.py"
    tree = ast.parse(
        (path if path.exists() else SOURCES / module / "__init__.py").read_text(encoding="utf-8")
    )
    loaded = importlib.import_module(f"kafnets.{module}")
    if hasattr(loaded, "__all__"):
        yield from loaded.__all__
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names if alias.asname == alias.name)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def value_of(name: str) -> object:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


@pytest.fixture
def keras_on_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")


@pytest.mark.usefixtures("keras_on_torch")
def test_every_public_name_has_a_page() -> None:
    pages = documented()
    shown = {id(value_of(name)) for name in pages}
    names = [f"kafnets.{name}" for name in kafnets.__all__ if not name.startswith("_")]
    for module in re.findall(r"^from kafnets import (\w+)", STUB.read_text(encoding="utf-8"), re.MULTILINE):
        names += [f"kafnets.{module}.{name}" for name in public_names(module)]
    missing = [
        name
        for name in names
        if name not in pages
        and not isinstance(value := value_of(name), ModuleType)
        and id(value) not in shown
    ]
    assert not missing, "add them to a page in docs/api"


def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    options = ["-W", "--keep-going", "-q", "-D", "execute_tutorials=0"]
    command = [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(tmp_path)]
    output = subprocess.run(command, capture_output=True, text=True, check=False)
    assert output.returncode == 0, output.stderr
    pages = sorted(path for path in tmp_path.rglob("*") if path.suffix in (".html", ".css"))
    assert len(pages) > 100
    for page in pages:
        loads = LOADS.findall(page.read_text(encoding="utf-8"))
        assert not loads, f"{page}: {loads[:3]}"
