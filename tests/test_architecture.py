"""What may import what, and what an import costs."""

import ast
import subprocess
import sys
from pathlib import Path

import kafnets

PACKAGE = Path(kafnets.__file__).parent
ORACLE = Path(__file__).parent / "oracle"
LONGEST_FILE, LONGEST_FUNCTION = 300, 60
LONG_FILES = {"sklearn.py", "train/loop.py"}
"""Today's exceptions, none of them in the core."""
LONG_FUNCTIONS = {"cli/compare.py: compare", "comparing.py: compare", "networks.py: cnn"}
"""Likewise."""
# From the ground up: a module may import from its own room and from those before it.
ROOMS = [
    "packages",
    "coexistence",
    "checks",
    "config",
    "fixed_functions",
    "kernels",
    "expansion",
    "arguments",
    "arrays",
    "starts",
    "dictionaries",
    "ops",
    "functional",
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
    "files",
    "inspection",
    "plot",
    "data",
    "train",
    "rl",
    "sklearn",
    "comparison",
    "report",
    "comparing",
    "benchmark",
    "paper",
    "cli",
]


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "kafnets" else None


def imports_of(file: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
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
            assert imported in ROOMS, f"{file} imports {imported}, which is not there"
            assert ROOMS.index(imported) <= ROOMS.index(room), f"{file} imports {imported}"


def test_front_ends_stand_on_nothing_of_torch() -> None:
    for front in ("frontends", "jax", "keras", "autograd"):
        files = [PACKAGE / f"{front}.py", *(PACKAGE / front).rglob("*.py")]
        for file in filter(Path.exists, files):
            rooms = set(filter(None, map(room_of, imports_of(file))))
            assert not rooms & {"nn", "ops", "zoo"}, f"{file} imports from {rooms}"


def test_the_oracle_needs_numpy_only_and_nothing_needs_the_oracle() -> None:
    for file in ORACLE.glob("*.py"):
        if not file.name.startswith("test_"):
            for imported in imports_of(file):
                own = imported == "tests.oracle" or imported.startswith("tests.oracle.")
                top = imported.split(".")[0]
                assert own or top == "numpy" or top in sys.stdlib_module_names, f"{file}: {imported}"
    for file in PACKAGE.rglob("*.py"):
        assert not [name for name in imports_of(file) if name.split(".")[0] == "tests"], file


def test_expansions_need_numpy_only() -> None:
    program = (
        "import sys, kafnets.expansion, kafnets.starts, kafnets.arrays, kafnets.dictionaries; "
        "assert 'torch' not in sys.modules; "
        "expansion = kafnets.Expansion.of(2, kernel=kafnets.Gaussian()); "
        "kafnets.Ridge('elu').draw(3, expansion, None); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_files_are_small() -> None:
    long = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if len(file.read_text(encoding="utf-8").splitlines()) > LONGEST_FILE
    }
    assert long == LONG_FILES


def _lines(node: ast.FunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_functions_are_small() -> None:
    long = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and _lines(node) > LONGEST_FUNCTION:
                long.add(f"{file.relative_to(PACKAGE)}: {node.name}")
    assert long == LONG_FUNCTIONS


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
