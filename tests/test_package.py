"""What is shipped: the sdist holds sources without results, the wheel the package without tests."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MEGABYTE = 1_000_000
BUILD = (
    "import sys; from scikit_build_core.build import build_sdist, build_wheel; "
    "build_sdist(sys.argv[1]); build_wheel(sys.argv[1], {'wheel.cmake': 'false'})"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both, without native kernels: those take long to compile, and have tests of their own."""
    folder = tmp_path_factory.mktemp("package")
    command = [sys.executable, "-c", BUILD, str(folder)]
    output = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert output.returncode == 0, output.stderr
    return folder


@pytest.mark.xdist_group("package")
def test_the_sdist_holds_what_a_build_needs_and_no_results(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CMakeLists.txt", "src/kafnets/__init__.py"} <= names
    assert "src/kafnets/ops/csrc/module.cpp" in names
    tops = {name.split("/")[0] for name in names}
    assert not tops & {"results", "benchmarks", "docs", "build", ".venv", ".github"}
    assert archive.stat().st_size < 2.5 * MEGABYTE


@pytest.mark.xdist_group("package")
def test_the_wheel_holds_the_package_only(built: Path) -> None:
    (archive,) = built.glob("*.whl")
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"kafnets"}
    assert "kafnets/py.typed" in names
    assert not [name for name in names if name.endswith((".cpp", ".h")) or "test" in name]
    assert archive.stat().st_size < 2 * MEGABYTE


@pytest.mark.xdist_group("package")
def test_the_wheel_works_outside_the_repository(built: Path, tmp_path: Path) -> None:
    (archive,) = built.glob("*.whl")
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(tmp_path)
    program = (
        # An editable installation would be found first.
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "sys.meta_path[:] = [each for each in sys.meta_path if 'ScikitBuild' not in type(each).__name__]; "
        "import torch, kafnets; "
        "assert kafnets.__file__.startswith(sys.argv[1]); print(kafnets.KAF(4)(torch.ones(2, 4)).shape)"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert shown.stdout.strip() == "torch.Size([2, 4])"
