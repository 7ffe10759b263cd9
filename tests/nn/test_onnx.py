"""torch's older ONNX exporter, which traces: what it writes runs elsewhere and gives the same numbers."""

import io
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import kafnets
from kafnets import KAF, KAF2D, EdgewiseKAF, Gaussian, Polynomial

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

CASES: list[Any] = [
    pytest.param(lambda: KAF(6), (5, 6), id="rows"),
    pytest.param(lambda: KAF(6), (2, 6, 4, 3), id="images"),
    pytest.param(lambda: KAF(6, dim=-1), (2, 4, 6), id="channels last"),
    pytest.param(lambda: KAF(), (2, 6, 4, 3), id="one for all"),
    pytest.param(lambda: KAF(6, groups=2), (2, 6, 4, 3), id="grouped"),
    pytest.param(lambda: KAF(6, kernel=Gaussian(learn_gamma="neuron")), (2, 6, 4, 3), id="learned"),
    pytest.param(lambda: KAF(6, kernel=Polynomial(2)), (5, 6), id="polynomial"),
    pytest.param(lambda: KAF2D(6), (5, 6), id="pairs"),
    pytest.param(lambda: KAF2D(6), (2, 6, 4, 3), id="pairs of images"),
    pytest.param(lambda: EdgewiseKAF(6, 4), (5, 6), id="connections"),
]


def exported(module: nn.Module, x: torch.Tensor) -> Any:
    """A session that runs the file, for any batch."""
    file: Any = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this exporter is the older one
        torch.onnx.export(
            module.eval(), (x,), file, dynamo=False, input_names=["x"], dynamic_axes={"x": {0: "batch"}}
        )
    return onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize(("build", "shape"), CASES)
def test_the_file_gives_the_same_numbers(build: Any, shape: tuple[int, ...]) -> None:
    module = build()
    session = exported(module, torch.randn(shape))
    for batch in (shape[0], 7):
        x = torch.randn(batch, *shape[1:])
        (found,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(found, module(x).detach().numpy(), rtol=1e-5, atol=1e-5)


def test_a_network() -> None:
    network = nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1), KAF(6), nn.Flatten(), nn.Linear(6 * 16, 8), KAF2D(8), nn.Linear(4, 2)
    )
    x = torch.randn(2, 3, 4, 4)
    (found,) = exported(network, x).run(None, {"x": x.numpy()})
    np.testing.assert_allclose(found, network(x).detach().numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["apl", "srelu", "paf", "hermite", "prelu", "saf"])
def test_others(name: str) -> None:
    module, x = kafnets.create(name, 6), torch.randn(5, 6)
    (found,) = exported(module, x).run(None, {"x": x.numpy()})
    np.testing.assert_allclose(found, module(x).detach().numpy(), rtol=1e-5, atol=1e-5)
