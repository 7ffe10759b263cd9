"""Public names, which are written once, in a stub; and what is said where a package is not installed."""

import subprocess
import sys

import pytest

import kafnets
from kafnets.packages import missing, require


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_every_public_name_is_there() -> None:
    for name in kafnets.__all__:
        assert getattr(kafnets, name).__name__ == name
    assert {"KAF", "mlp", "describe", "nn", "plot", "__version__"} <= set(dir(kafnets))
    for module in ("data", "functional", "nn", "train", "zoo"):
        assert getattr(kafnets, module).__name__ == f"kafnets.{module}"


def test_names_are_listed_before_they_are_loaded() -> None:
    program = (
        "import sys, kafnets; print({'KAF', 'jax'} <= set(dir(kafnets)), 'torch' in sys.modules, "
        "'KAF' in dir(kafnets.jax), 'jax' in sys.modules)"
    )
    assert run(program) == "True False True False\n"


def test_a_star_takes_no_modules() -> None:
    program = "nn = 'mine'; from kafnets import *; print(nn, KAF.__name__, 'jax' in globals())"
    assert run(program) == "mine KAF False\n"


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="module 'kafnets' has no attribute 'KAFF'"):
        kafnets.KAFF  # type: ignore[attr-defined] # noqa: B018


@pytest.mark.parametrize(
    ("program", "package", "what"),
    [
        ("from kafnets.jax import kaf", "jax", "kafnets.jax.kaf"),
        ("import kafnets.jax; kafnets.jax.KAF(3)", "flax", "kafnets.jax.KAF"),
        ("import kafnets.autograd", "autograd", "kafnets.autograd"),
        ("import kafnets; kafnets.autograd", "autograd", "kafnets.autograd"),
        ("import kafnets.keras", "keras", "kafnets.keras"),
        ("from kafnets.rl import MlpPolicy", "stable_baselines3", "kafnets.rl.MlpPolicy"),
        ("import kafnets.cli", "typer", "the kafnets command"),
    ],
)
def test_missing_packages_are_named(program: str, package: str, what: str) -> None:
    index = package.replace("_", "-")
    found = run(f"import sys; sys.modules[{package!r}] = None; {program}")
    assert f"{what} needs the package {index}: pip install {index}" in found


def test_extras_are_those_of_the_project() -> None:
    assert missing("this", "PIL.Image").startswith("this needs the package pillow: pip install pillow")
    assert missing("this", "sklearn").endswith("or pip install '.[experiments]' in a checkout of kafnets")
    assert missing("this", "nowhere") == "this needs the package nowhere: pip install nowhere"


def test_all_missing_packages_are_named_at_once() -> None:
    require("this", "torch", "numpy")
    with pytest.raises(ModuleNotFoundError, match=r"^this needs the package not-there: pip install not-"):
        require("this", "torch", "not_there")
    with pytest.raises(ModuleNotFoundError, match=r"needs the packages a-b and c-d: pip install a-b c-d"):
        require("this", "a_b", "numpy", "c_d")
