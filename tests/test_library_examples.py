"""The examples with other libraries run."""

import importlib
import warnings
from typing import Any

import pytest

ACCURACY = 0.6  # one class in eleven would be 0.09


def example(library: str, name: str) -> Any:
    pytest.importorskip(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those libraries' own use of what others deprecate
        return importlib.import_module(f"examples.{name}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", ["lightning.pytorch", "skorch", "accelerate"])
def test_training(library: str) -> None:
    module = example(library, f"{library.split('.')[0]}_kaf")
    assert module.main(6) > ACCURACY


@pytest.mark.filterwarnings("ignore")
def test_stable_baselines3() -> None:
    shapes = example("stable_baselines3", "stable_baselines3_kaf").main()
    assert shapes["shared"] == [(1, 20)] * 4
    assert shapes["own"] == [(64, 20)] * 4
