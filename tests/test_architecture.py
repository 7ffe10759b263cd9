"""What may import what, and what an import costs."""

import ast
import subprocess
import sys
from pathlib import Path

import kafnets

PACKAGE = Path(kafnets.__file__).parent
# From the ground up: a module may import from its own room and from those before it.
ROOMS = [
    "coexistence",
    "reference",
    "kernels",
    "ops",
    "registry",
    "nn",
    "zoo",
    "networks",
    "frontends",
    "jax",
    "keras",
    "autograd",
    "provenance",
    "timing",
    "data",
    "train",
    "rl",
    "sklearn",
    "words",
    "plot",
    "experiments",
    "figures",
    "findings",
    "report",
    "benchmark",
    "cli",
]


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "kafnets" else None


def imports_of(file: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "kafnets":
            found += [f"kafnets.{name.name}" for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: write imports in full"
            found.append(node.module or "")
    return found


def test_imports_point_downwards() -> None:
    for file in PACKAGE.rglob("*.py"):
        room = file.relative_to(PACKAGE).with_suffix("").parts[0]
        if room == "__init__":
            continue
        assert room in ROOMS, f"{file}: give {room!r} its place in ROOMS"
        for imported in filter(None, map(room_of, imports_of(file))):
            assert ROOMS.index(imported) <= ROOMS.index(room), f"{file} imports {imported}"


def test_reference_needs_numpy_only() -> None:
    for file in (PACKAGE / "reference").rglob("*.py"):
        for imported in imports_of(file):
            top = imported.split(".")[0]
            assert top in {"numpy", "kafnets"} or top in sys.stdlib_module_names, f"{file}: {imported}"


def test_import_pulls_in_nothing_beyond_torch_and_numpy() -> None:
    code = (
        "import sys, torch, numpy; before = set(sys.modules); import kafnets; "
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    new = set(output.stdout.split()) - set(sys.stdlib_module_names)
    assert {name for name in new if not name.startswith("_")} <= {"kafnets", "torch", "numpy"}


def test_what_is_imported_when_asked_for() -> None:
    program = (
        "import sys, kafnets; assert 'kafnets.plot' not in sys.modules; "
        "kafnets.plot.shapes, kafnets.describe, kafnets.data.load, kafnets.train.fit; "
        "kafnets.sklearn.KafnetClassifier; "
        "import pytest; pytest.raises(AttributeError, getattr, kafnets, 'plots')"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_text_files_have_an_encoding() -> None:
    """Windows has another one by default."""
    names = ("read_text", "write_text")
    for folder in (PACKAGE, Path(__file__).parents[1] / "scripts"):
        for file in folder.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in names:
                    named = any(keyword.arg == "encoding" for keyword in node.keywords)
                    assert named, f"{file}:{node.lineno} needs encoding='utf-8'"
