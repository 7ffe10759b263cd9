"""Packages that not everybody needs: what is said where one is missing, and names imported when asked for."""

import ast
import importlib
import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

NAMES = {"PIL": "pillow", "sklearn": "scikit-learn", "sklego": "scikit-lego"}
"""By module: its package on the index, where that is not the module's name with hyphens."""


def missing(what: str, module: str | None) -> str:
    """What is needed, and how it is installed: from the index, or as an extra of a checkout."""
    package = _package_of(module)
    return f"{what} needs the package {package}: pip install {package}{_in_a_checkout(package)}"


def require(what: str, *modules: str) -> None:
    """Raise if any of these modules is not installed; the message names all that are missing."""
    absent = [each for each in modules if importlib.util.find_spec(each) is None]
    if not absent:
        return
    if len(absent) == 1:
        raise ModuleNotFoundError(missing(what, absent[0]), name=absent[0])
    packages = [_package_of(each) for each in absent]
    listed = f"{', '.join(packages[:-1])} and {packages[-1]}"
    message = (
        f"{what} needs the packages {listed}: pip install {' '.join(packages)}{_in_a_checkout(packages[0])}"
    )
    raise ModuleNotFoundError(message, name=absent[0])


def _package_of(module: str | None) -> str:
    top = (module or "").partition(".")[0]
    return NAMES.get(top, top.replace("_", "-"))


def _in_a_checkout(package: str) -> str:
    extra = _extra_with(package)
    return f", or pip install '.[{extra}]' in a checkout of kafnets" if extra else ""


def _extra_with(package: str) -> str | None:
    """The extra of this package that brings another one, as pyproject.toml has it."""
    try:
        lines = importlib.metadata.requires("kafnets") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = (re.match(rf"{re.escape(package)}\b[^;]*;.*extra == ['\"]([\w-]+)", line) for line in lines)
    return next((each[1] for each in found if each), None)


@contextmanager
def needed_by(what: str) -> Iterator[None]:
    """Imports inside tell, if a package is not installed, what needs it and how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if "pip install" not in error.msg and (error.name or "kafnets").partition(".")[0] != "kafnets":
            error.msg = missing(what, error.name)
        raise


def lazy(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names are imported when asked for.

    They are written in the stub beside ``file`` and nowhere else: type checkers and editors read it too.
    Modules, which it imports from the package itself, are not part of ``__all__``.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    homes = {each.name: node.module or package for node in imports for each in node.names}

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with needed_by(f"{package}.{name}"):
            if homes[name] == package:
                return importlib.import_module(f"{package}.{name}")
            value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)  # found at once the next time
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return load, listed, sorted(name for name, home in homes.items() if home != package)
