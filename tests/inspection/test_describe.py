"""Functions in words."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

import kafnets
from kafnets.inspection import describe
from kafnets.inspection.curves import BINS, LIMIT, POINTS, SIDE, LearnedFunctions, Moment
from kafnets.inspection.describe import Shapes, describe_functions
from kafnets.sklearn import KafnetClassifier

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


def described(
    values: np.ndarray, histogram: np.ndarray, dictionary: tuple[float, float] | None = None
) -> Shapes:
    moment = Moment(values.astype(np.float16), histogram.astype(np.float16))
    inputs = len(histogram) // len(values)
    layer = LearnedFunctions(
        "1", inputs=inputs, count=len(values), dictionary=dictionary, moments={"end": moment}
    )
    return describe_functions([layer])


@pytest.mark.parametrize("case", CASES)
def test_known_shapes_are_recognized(case: str) -> None:
    function, kind, nearest = CASES[case]
    places = np.linspace(-LIMIT, LIMIT, POINTS)
    centers = np.linspace(-LIMIT, LIMIT, 2 * BINS + 1)[1::2]
    histogram = np.exp(-(centers**2) / 4)
    (shape,) = described(function(places)[None], (histogram / histogram.sum())[None], (-3.0, 3.0))
    assert shape.kind == kind
    if nearest is not None:
        assert shape.nearest == nearest
        assert shape.r2 > 0.98
    assert shape.outside == pytest.approx(0.034, abs=0.01)


def test_a_function_that_lives_elsewhere_is_dead() -> None:
    """Large, but not where its data lies."""
    places = np.linspace(-LIMIT, LIMIT, POINTS)
    histogram = np.zeros((1, BINS), dtype=np.float16)
    histogram[0, BINS // 2] = 1
    (shape,) = described((5 * np.exp(-9 * (places - 3) ** 2))[None], histogram)
    assert shape.kind == "dead"
    assert shape.outside is None
    assert str(shape) == "dead"


def test_surfaces() -> None:
    places = np.linspace(-LIMIT, LIMIT, SIDE)
    first, second = np.meshgrid(places, places, indexing="ij")
    surfaces = np.stack([first - 2 * second, np.sin(2 * first) * np.cos(second), 0 * first])
    histogram = np.full((6, BINS), 1 / BINS, dtype=np.float16)
    found = described(surfaces, histogram, (-3.0, 3.0))
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
        with pytest.raises(ValueError, match="data must have rows of finite numbers"):
            kafnets.describe(model, data)
    with pytest.raises(ValueError, match="model has no activation that can be inspected"):
        kafnets.describe(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()), torch.zeros(5, 3))
    with pytest.raises(ValueError, match="Maxout cannot be drawn"):
        kafnets.describe(kafnets.mlp(3, (4,), 2, "maxout"), torch.zeros(5, 3))
    with pytest.raises(TypeError, match="model must be a torch module, got KafnetClassifier"):
        kafnets.describe(KafnetClassifier(), torch.zeros(5, 3))


def test_connections_are_described() -> None:
    layer = kafnets.EdgewiseKAF(3, 2, boundary=1.0)
    with torch.no_grad():
        layer.alpha.zero_()
        layer.weight.copy_(torch.tensor([[1.0, 0.0, -2.0], [0.0, 0.5, 0.0]]))
    data = torch.rand(500, 3, generator=torch.Generator().manual_seed(1)) * 4 - 2
    data[:, 2] = data[:, 2].sign()  # at the very ends of the dictionary, which is not outside of it
    found = describe(nn.Sequential(layer), data)
    assert [(shape.source, shape.neuron) for shape in found] == [(i, o) for o in range(2) for i in range(3)]
    assert [shape.kind for shape in found] == ["monotone", "dead", "monotone", "dead", "monotone", "dead"]
    assert [shape.nearest for shape in found if shape.kind != "dead"] == ["linear"] * 3
    assert found[2].outside == 0
    beyond = float((data[:, 0].abs() > 1).float().mean())
    assert found[0].outside == found[3].outside == pytest.approx(beyond, abs=1e-3)
    assert "2→0" in str(found)
    assert list(found.to_frame()["source"]) == [0, 1, 2, 0, 1, 2]


def test_a_wide_dictionary_is_looked_at_as_a_whole() -> None:
    kaf = kafnets.KAF(2, boundary=9.0, init="tanh", dim=-1)
    data = torch.linspace(-12, 12, 801)[:, None].expand(-1, 2)
    found = describe(nn.Sequential(kaf), data)
    assert found[0].outside == pytest.approx(0.25, abs=2e-3)
    narrow = describe(nn.Sequential(kafnets.KAF(2, boundary=0.5, dim=-1)), data)
    assert narrow[0].outside == pytest.approx(23 / 24, abs=2e-3)


def test_each_function_of_a_feature_is_described() -> None:
    layer = kafnets.nn.KAFEmbedding(3, [0, 2], outputs=2)
    with torch.no_grad():
        layer.functions.alpha[1:] = 0
        layer.functions.alpha[3] = torch.linspace(-1, 1, 20)
    data = torch.randn(500, 3, generator=torch.Generator().manual_seed(1))
    layer.learn_quantiles(data)
    found = describe(nn.Sequential(layer, nn.Linear(7, 1)), data, as_formula=True)
    named = [(shape.feature, shape.neuron) for shape in found]
    assert named == [("feature 0", 0), ("feature 0", 1), ("feature 2", 0), ("feature 2", 1)]
    assert [shape.kind for shape in found][1:3] == ["dead", "dead"]
    assert found[3].nearest in ("linear", "tanh", "sine")
    assert found[3].formula is not None
    lines = str(found).splitlines()
    assert "feature 2→1" in lines[4]
    assert lines[4].index("→1") + 1 == lines[0].index("neuron") + len("neuron") - 1
    few = describe(nn.Sequential(layer, nn.Linear(7, 1)), data, neurons=1)
    assert [shape.feature for shape in few] == ["feature 0", "feature 0"]
