"""The Triton kernels, under Triton's interpreter on the CPU.

Triton reads from the environment on import whether it interprets, so each check is a process of its own.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="the package triton is not installed"
)

REPOSITORY = Path(__file__).parents[2]


def run(*program: str, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", *program],
        cwd=REPOSITORY,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "check",
    [
        "dictionary_sizes",
        "shapes_and_layouts",
        "unusual_values",
        "nan_in_a_pair",
        "wanted",
        "row_blocks",
        "wide_addresses",
        "memory",
        "modules",
        "outside",
        "outside_in_blocks",
        "bases_at_unusual_values",
    ],
)
def test_interpreted(check: str) -> None:
    run("tests.ops.triton_checks", check, TRITON_INTERPRET="1")


def test_compiler_takes_the_kernels(tmp_path: Path) -> None:
    run("tests.ops.triton_compilation", TRITON_INTERPRET="0", TRITON_CACHE_DIR=str(tmp_path))
