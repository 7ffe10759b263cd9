"""The kernels built for 64-bit ARM by a cross compiler and run by an emulator: `make neon`.

Debian's packages are g++-aarch64-linux-gnu and qemu-user.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kafnets.expansion import Expansion
from kafnets.kernels import Gaussian
from kafnets.ops.kaf2d import formula_of
from tests.native import test_sanitizers
from tests.oracle import expansions, kernels, outside

COMPILER, EMULATOR = shutil.which("aarch64-linux-gnu-g++"), shutil.which("qemu-aarch64")
FLAGS = [
    "-std=c++17",
    "-O2",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-static",
]
SOURCES = ("kaf1d", "kaf_tails", "added_base", "kaf_table", "kaf2d", "bandwidths", "kaf_slopes", "parallel")
TOLERANCE: dict[Any, float] = {np.float32: 1e-5, np.float64: 1e-12}

pytestmark = [
    pytest.mark.neon,
    pytest.mark.skipif(COMPILER is None or EMULATOR is None, reason="needs g++ for aarch64 and qemu-user"),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function that compiles a program of this folder."""

    def build(name: str, sources: tuple[str, ...]) -> Path:
        program = tmp_path_factory.mktemp("neon") / name
        own = [
            str(Path(__file__).with_name(f"{name}.cpp")),
            *(str(test_sanitizers.SOURCE / f"{each}.cpp") for each in sources),
        ]
        subprocess.run(
            [str(COMPILER), *FLAGS, f"-I{test_sanitizers.SOURCE}", *own, "-pthread", "-o", str(program)],
            check=True,
        )
        return program

    return build


@pytest.fixture(scope="module")
def program(built: Any) -> Path:
    """Runs one kernel on numbers of ours."""
    found: Path = built("run", SOURCES)
    return found


def test_all_kernels_are_right_on_many_shapes(built: Any) -> None:
    checked = built("sanitize", test_sanitizers.SOURCES)
    output = subprocess.run([str(EMULATOR), str(checked)], capture_output=True, text=True, check=False)
    assert output.returncode == 0, output.stdout + output.stderr


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [5, 700], ids=["formula", "table"])
@pytest.mark.parametrize("tails", ["zero", "linear"])
@pytest.mark.parametrize("base", [None, "mish"])
def test_kafs_are_the_oracles(program: Path, dtype: Any, rows: int, tails: Any, base: str | None) -> None:
    expansion = Expansion.of(1, dictionary_size=20, kernel=Gaussian(1.67), tails=tails, base=base)
    s, alpha, upstream = _numbers(dtype, (rows, 7), (7, 20), (rows, 7))
    found = _run(program, formula_of(expansion), s, alpha, upstream)
    right = outside.kaf_outside(
        s, alpha, expansion.dictionary.values, kernels.Gaussian(1.67), upstream, tails=tails, function=base
    )
    _compare(found, (right.value, right.s, right.alpha), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", [1, 2])
def test_slopes_are_the_oracles(program: Path, dtype: Any, order: int) -> None:
    expansion = Expansion.of(1, dictionary_size=20, kernel=Gaussian(1.67))
    formula: Any = formula_of(expansion)
    for _ in range(order):
        formula = formula.slope()
    s, alpha, upstream = _numbers(dtype, (33, 5), (5, 20), (33, 5))
    found = _run(program, formula, s, alpha, upstream)
    where = s, alpha, expansion.dictionary.values, kernels.GaussianDerivative(1.67, order)
    right = expansions.kaf_gradients(*where, upstream)
    _compare(found, (expansions.kaf(*where), right.s, right.alpha), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_are_the_oracles(program: Path, dtype: Any) -> None:
    expansion = Expansion.of(2, dictionary_size=7, kernel=Gaussian(0.8))
    s, alpha, upstream = _numbers(dtype, (33, 10), (5, 7, 7), (33, 5))
    found = _run(program, formula_of(expansion), s, alpha, upstream)
    where = s, alpha, expansion.dictionary.values, kernels.Gaussian(0.8)
    right = expansions.kaf2d_gradients(*where, upstream)
    _compare(found, (expansions.kaf2d(*where), right.s, right.alpha), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_learned_bandwidths_are_the_oracles(program: Path, dtype: Any) -> None:
    expansion = Expansion.of(1, dictionary_size=20, kernel=Gaussian(1.0, "neuron"))
    s, alpha, upstream, gamma = _numbers(dtype, (33, 5), (5, 20), (33, 5), (5, 1))
    gamma = abs(gamma) + dtype(0.5)
    found = _run(program, formula_of(expansion), s, np.concatenate([alpha, gamma], 1), upstream)
    where = s, alpha, expansion.dictionary.values, kernels.Gaussian(gamma.astype(np.float64))
    right = expansions.kaf_gradients(*where, upstream)
    assert right.gamma is not None
    by_table = np.concatenate([right.alpha, right.gamma[:, None]], 1)
    _compare(found, (expansions.kaf(*where), right.s, by_table), dtype)


def _numbers(dtype: Any, *shapes: tuple[int, ...]) -> list[Any]:
    generator = np.random.default_rng(0)
    return [
        (generator.normal(size=shape) * (2 - (number > 0))).astype(dtype)
        for number, shape in enumerate(shapes)
    ]


def _run(program: Path, formula: Any, s: Any, table: Any, upstream: Any) -> list[Any]:
    """Values, and the gradients by activations and by the table."""
    rows, neurons = upstream.shape
    sizes = rows, neurons, 1, formula.inputs, table.shape[1], table[0].size
    told = [formula.kernel, s.dtype.name, *map(str, sizes), *(repr(float(each)) for each in formula.settings)]
    given = s.tobytes() + table.tobytes() + upstream.tobytes()
    output = subprocess.run(
        [str(EMULATOR), str(program), *told], input=given, capture_output=True, check=True
    )
    parts = np.split(np.frombuffer(output.stdout, s.dtype), np.cumsum([upstream.size, s.size]))
    shapes = upstream.shape, s.shape, table.shape
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def _compare(found: list[Any], right: tuple[Any, ...], dtype: Any) -> None:
    for own, other in zip(found, right, strict=True):
        np.testing.assert_allclose(own, other, rtol=0, atol=TOLERANCE[dtype] * np.abs(other).max())
