"""Shapes in words."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

import kafnets
from kafnets.sklearn import KafnetClassifier
from kafnets.train.shapes import BINS, BOUNDARY, POINTS, SIDE
from kafnets.words import describe, describe_stored

CASES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], str, str | None]] = {
    "straight": (lambda s: 2 * s + 1, "monotone", "linear"),
    "hinge": (lambda s: 3 * np.maximum(s - 0.5, 0) - 1, "monotone", "relu"),
    "turned hinge": (lambda s: -np.maximum(-s, 0), "monotone", "relu"),
    "tanh": (lambda s: -1.5 * np.tanh(2 * s) + 4, "saturating", "tanh"),
    "sigmoid": (lambda s: 1 / (1 + np.exp(-3 * s)), "saturating", "tanh"),
    "bump": (lambda s: np.exp(-((s - 0.3) ** 2)), "bump", "gaussian"),
    "v": (lambda s: np.abs(s) - 2, "bump", "abs"),
    "other wave": (lambda s: np.sin(3.4 * s + 0.3), "complex", "sine"),
    "constant": (lambda s: 0.7 + 0 * s, "constant", None),
    "wave": (lambda s: np.sin(2.8 * s), "complex", "sine"),
    "nothing": (lambda s: 1e-3 * np.sin(5 * s), "dead", None),
    "two bumps": (lambda s: np.exp(-4 * (s - 1.5) ** 2) + 0.8 * np.exp(-9 * (s + 1) ** 2), "complex", None),
}


@pytest.mark.parametrize("case", CASES)
def test_known_shapes_are_recognized(case: str) -> None:
    function, kind, nearest = CASES[case]
    places = np.linspace(-BOUNDARY, BOUNDARY, POINTS)
    centers = np.linspace(-BOUNDARY, BOUNDARY, 2 * BINS + 1)[1::2]
    histogram = np.exp(-(centers**2) / 4)
    stored = {
        "1/end/curves": function(places)[None].astype(np.float16),
        "1/end/histogram": (histogram / histogram.sum())[None].astype(np.float16),
    }
    (shape,) = describe_stored(stored, {"1": 3.0})
    assert shape.kind == kind
    if nearest is not None:
        assert shape.nearest == nearest
        assert shape.r2 > 0.98
    assert shape.outside == pytest.approx(0.034, abs=0.01)


def test_a_function_that_lives_elsewhere_is_dead() -> None:
    """Large, but not where its data lies."""
    places = np.linspace(-BOUNDARY, BOUNDARY, POINTS)
    histogram = np.zeros((1, BINS), dtype=np.float16)
    histogram[0, BINS // 2] = 1
    stored = {
        "1/end/curves": (5 * np.exp(-9 * (places - 3) ** 2))[None].astype(np.float16),
        "1/end/histogram": histogram,
    }
    (shape,) = describe_stored(stored, {})
    assert shape.kind == "dead"
    assert shape.outside is None
    assert str(shape) == "dead"


def test_surfaces() -> None:
    places = np.linspace(-BOUNDARY, BOUNDARY, SIDE)
    first, second = np.meshgrid(places, places, indexing="ij")
    surfaces = np.stack([first - 2 * second, np.sin(2 * first) * np.cos(second), 0 * first])
    histogram = np.full((6, BINS), 1 / BINS, dtype=np.float16)
    found = describe_stored(
        {"1/end/surfaces": surfaces.astype(np.float16), "1/end/histogram": histogram}, {"1": 3.0}
    )
    assert [shape.kind for shape in found] == ["plane", "surface", "dead"]
    assert found[0].outside == pytest.approx(0.4, abs=0.01)


def test_a_whole_model() -> None:
    model = kafnets.mlp(4, (10, 6), 1, "kaf", init="tanh", generator=torch.Generator().manual_seed(0))
    data = torch.rand(500, 4, generator=torch.Generator().manual_seed(1)) * 2 - 1
    found = describe(model, data)
    assert [(shape.layer, shape.neuron) for shape in found][::15] == [("1", 0), ("3", 5)]
    assert len(found) == 16
    assert np.mean([shape.r2 for shape in found]) > 0.98
    assert {shape.nearest for shape in found} <= {
        "tanh",
        "linear",
        "sine",
        "elu",
        "softplus",
        "swish",
        "relu",
    }
    assert len(found.to_frame()) == 16
    assert sum(found.counts().values()) == 16
    assert str(found).splitlines()[0].split() == [
        "layer",
        "neuron",
        "kind",
        "nearest",
        "R²",
        "outside",
        "largest",
    ]
    assert describe(model, data.numpy(), neurons=2)[0] == found[0]
    assert len(describe(model, data, neurons=2)) == 4


def test_channels_are_where_the_module_says() -> None:
    for dim in (-1, 2):
        model = nn.Sequential(nn.Linear(4, 6), kafnets.KAF(6, dim=dim), nn.Linear(6, 2))
        assert len(describe(model, torch.randn(10, 7, 4))) == 6
    convolutional = nn.Sequential(nn.Conv1d(4, 6, 3), kafnets.KAF2D(6))
    assert len(describe(convolutional, torch.randn(10, 4, 7))) == 3


def test_what_cannot_be_described_says_why() -> None:
    model = kafnets.mlp(3, (4,), 2, "kaf")
    for data in (torch.full((5, 3), torch.nan), torch.zeros(0, 3)):
        with pytest.raises(ValueError, match="data must have rows, of finite numbers"):
            kafnets.describe(model, data)
    with pytest.raises(ValueError, match="model has no activation that can be looked at"):
        kafnets.describe(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()), torch.zeros(5, 3))
    with pytest.raises(ValueError, match="Maxout cannot be drawn"):
        kafnets.describe(kafnets.mlp(3, (4,), 2, "maxout"), torch.zeros(5, 3))
    with pytest.raises(TypeError, match="model must be a torch module, got KafnetClassifier"):
        kafnets.describe(KafnetClassifier(), torch.zeros(5, 3))
