"""The native kernels under AddressSanitizer and UBSan: `make sanitize`; slow to compile."""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from kafnets.ops import native

SOURCE = Path(__file__).parents[2] / "src/kafnets/ops/csrc"
SOURCES = ("parallel", "kaf_table", "kaf_tails", "added_base", "baked")
FLAGS = {
    "avx512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx2", "-mfma"],
    "avx2": ["-mavx2", "-mfma"],
    "baseline": [],
}


@pytest.mark.sanitize
@pytest.mark.skipif(platform.system() != "Linux", reason="sanitizers are set up for GCC on Linux")
@pytest.mark.parametrize("instruction_set", [name for name in FLAGS if native.load(name).module is not None])
def test_no_sanitizer_complains(instruction_set: str, tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None or instruction_set not in FLAGS:
        pytest.skip("needs g++ and the native kernels")
    program = tmp_path / "sanitize"
    subprocess.run(
        [
            compiler,
            "-std=c++17",
            "-O0",
            "-g1",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
            "-ffp-contract=off",
            *FLAGS[instruction_set],
            f"-I{SOURCE}",
            str(Path(__file__).with_name("sanitize.cpp")),
            *(str(SOURCE / f"{name}.cpp") for name in SOURCES),
            "-pthread",
            "-ldl",
            "-o",
            str(program),
        ],
        check=True,
    )
    output = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert output.returncode == 0, output.stdout + output.stderr
    assert "right, and nothing touched" in output.stdout
