"""What may import what, and what an import costs."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import kafnets

PACKAGE = Path(kafnets.__file__).parent
ROOT = Path(__file__).parents[1]
ORACLE = Path(__file__).parent / "oracle"
LONGEST_FILE, LONGEST_FUNCTION = 300, 60
LONG_FILES: set[str] = set()
LONG_FUNCTIONS = {"cli/compare.py: compare", "comparing.py: compare", "networks.py: cnn"}
"""Likewise."""
PUBLIC = "kafnets"
"""Stands for the package's public names, by a bare import."""

EDGES = {
    "checks": "",
    "packages": "",
    "registry": "checks",
    "timing": "",
    "randomness": "",
    "files": "",
    "coexistence": "",
    "config": "",
    "data": "checks files",
    "fixed_functions": "checks config",
    "kernels": "config",
    "expansion": "checks fixed_functions kernels",
    "arguments": "checks expansion",
    "arrays": "expansion fixed_functions kernels",
    "dictionaries": "arrays checks expansion kernels",
    "frontends": "arguments arrays expansion kafnets",
    "ops": "arrays coexistence expansion fixed_functions kernels",
    "starts": "arrays checks config expansion fixed_functions",
    "functional": "arguments expansion kernels ops",
    "provenance": "ops",
    "autograd": "arrays expansion frontends packages starts",
    "jax": "arguments expansion frontends packages starts",
    "keras": "arguments coexistence expansion fixed_functions frontends kernels packages starts",
    "nn": (
        "arguments checks dictionaries expansion fixed_functions functional kernels ops "
        "packages registry starts"
    ),
    "inspection": "arrays expansion fixed_functions nn registry",
    "integrations": "packages registry",
    "networks": "checks nn registry",
    "shared_networks": "checks networks nn",
    "zoo": "checks fixed_functions nn ops registry starts",
    "export": "data files kernels nn ops packages",
    "plot": "inspection",
    "train": "checks data export files networks nn registry shared_networks",
    "comparison": "data files inspection kernels networks packages provenance registry timing train",
    "rl": "files networks packages randomness registry train",
    "sklearn": "checks data networks train",
    "tuning": "checks data packages sklearn train",
    "report": "comparison files inspection registry train",
    "benchmark": (
        "autograd comparison data fixed_functions frontends jax keras networks nn ops provenance randomness "
        "registry rl timing train"
    ),
    "comparing": "checks comparison registry report train",
    "paper": (
        "benchmark comparison data files inspection kernels networks nn plot provenance randomness registry "
        "rl train zoo"
    ),
    "cli": ("benchmark comparing comparison data files kafnets packages paper registry report rl train"),
}
"""Which rooms each room imports, wherever in a file it does. All that are not listed are not allowed."""


def module_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(file): file for file in PACKAGE.rglob("*.py")}


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else PUBLIC


def imports_of(file: Path) -> list[str]:
    """All of them, also within functions and for types only: modules where they are ours, else packages."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: write imports in full"
            whole = [f"{node.module}.{name.name}" for name in node.names]
            found += [each if each in MODULES else str(node.module) for each in whole]
    return found


def own_imports(file: Path) -> set[str]:
    return {each for each in imports_of(file) if each.split(".")[0] == PUBLIC}


def test_rooms_import_what_they_may() -> None:
    found: dict[str, set[str]] = {room: set() for room in map(room_of, MODULES) if room != PUBLIC}
    for module, file in MODULES.items():
        room = room_of(module)
        if room != PUBLIC:
            found[room] |= {room_of(each) for each in own_imports(file)} - {room}
    allowed = {room: set(rooms.split()) for room, rooms in EDGES.items()}
    for room, rooms in found.items():
        assert room in allowed, f"give {room!r} a line in EDGES"
        assert rooms - allowed[room] == set(), f"{room} imports {rooms - allowed[room]}"
    assert found == allowed, "EDGES lists imports that are gone"


def test_nothing_imports_in_circles() -> None:
    """Neither rooms, nor modules within a room."""
    rooms = {room: {*found.split()} - {PUBLIC} for room, found in EDGES.items()}
    modules = {
        module: {each for each in own_imports(file) if room_of(each) == room_of(module)} - {module, PUBLIC}
        for module, file in MODULES.items()
        if module != PUBLIC
    }
    for graph in (rooms, modules):
        tuple(TopologicalSorter(graph).static_order())  # an error names the circle


def test_nothing_enters_the_papers_room_but_two_commands_when_they_run() -> None:
    inside = [
        module
        for module, file in MODULES.items()
        if room_of(module) != "paper" and any(room_of(each) == "paper" for each in own_imports(file))
    ]
    assert sorted(inside) == ["kafnets.cli.figures", "kafnets.cli.reproduce"]
    program = "import sys, kafnets.cli; assert 'kafnets.paper' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_front_ends_stand_on_nothing_of_torch() -> None:
    for front in ("frontends", "jax", "keras", "autograd"):
        assert not {*EDGES[front].split()} & {"nn", "ops", "zoo"}


def test_the_tree_in_contributing_is_the_tree() -> None:
    tree = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("```")[1]
    entries = re.findall(r"^  (\S.*?)(?:  |$)(.*(?:\n   .*)*)", tree.split("src/kafnets/\n")[1], re.MULTILINE)
    rooms: dict[str, str] = {}
    for names, text in entries:
        rooms |= dict.fromkeys(names.split(", "), text)
    there = {path.name + "/" * path.is_dir() for path in PACKAGE.iterdir() if path.suffix in ("", ".py")}
    assert rooms.keys() == there - {"__init__.py", "__pycache__/"}
    for room, text in rooms.items():
        for name in re.findall(r"\b\w+\.(?:py|html|css|js)\b", text) if room.endswith("/") else ():
            assert (PACKAGE / room / name).exists(), f"{room} has no {name}"


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
