"""Arguments of KAF that are almost right."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import kafnets
from kafnets import KAF, KAF2D


def test_functions_of_too_few_values() -> None:
    with pytest.raises(TypeError, match="target must be a function of two arrays, the values of a pair"):
        KAF2D(10, init=kafnets.Ridge(functional.gelu))


@pytest.mark.parametrize("layer", [KAF, KAF2D])
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kernel": "gausian"}, TypeError, r"kernel must be an instance of a kernel, .* got 'gausian'"),
        ({"kernel": kafnets.Gaussian}, TypeError, r"kernel must be an instance"),
        ({"init": functional.gelu}, TypeError, r"to start as a function, give kafnets\.Ridge\(function\)"),
        ({"init": nn.ELU()}, TypeError, r"give kafnets\.Ridge\(function\)"),
        ({"init": kafnets.Normal}, TypeError, "init must be the name of a function"),
        ({"init": 3}, TypeError, "init must be the name of a function, such as 'elu', .* got 3"),
        ({"boundary": "3"}, TypeError, "boundary must be a positive number, got '3'"),
        ({"dictionary_size": 20.5}, ValueError, r"dictionary_size must be an integer ≥ 2, got 20\.5"),
        ({"dtype": "float32"}, TypeError, "dtype must be a floating-point type"),
        ({"dtype": torch.int64}, TypeError, "dtype must be a floating-point type"),
    ],
)
def test_they_are_named(layer: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        layer(10, **options)
