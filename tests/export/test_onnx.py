"""ONNX files, of standard operators, for any batch size, with torch's numbers; and torch's own exporters."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import kafnets
from kafnets import KAF, KAF2D
from kafnets.export.onnx import run_onnx

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")


def everything() -> nn.Sequential:
    """Several of the package's activations, one after the other."""
    torch.manual_seed(0)
    names = ["apl", "hermite", "saf"]
    layers: list[nn.Module] = [nn.Conv2d(2, 6, 3), KAF(6, groups=2, base="mish"), nn.Flatten()]
    layers += [nn.Linear(24, 8), KAF(8, tails="linear", dim=-1), KAF2D(8), kafnets.EdgewiseKAF(4, 6)]
    for name in names:
        activation: Any = kafnets.create(name, 6)
        layers += [activation, nn.Linear(getattr(activation, "out_features", 6), 6)]
    return nn.Sequential(*layers).eval()


@pytest.mark.parametrize("baked", [False, True])
@pytest.mark.filterwarnings("ignore:not converted to tables")
def test_any_model(baked: bool, tmp_path: Path) -> None:
    model, x = everything(), torch.randn(3, 2, 4, 4)
    if baked:
        model = kafnets.bake(model, degree=3)
    path = kafnets.export_onnx(model, tmp_path / "model.onnx", x[:1], output_name="y")
    import onnx

    proto = onnx.load(path)
    assert {node.domain for node in proto.graph.node} == {""}
    assert proto.opset_import[0].version >= 20
    assert [each.name for each in proto.graph.output] == ["y"]
    for batch in (1, 7):
        rows = torch.randn(batch, 2, 4, 4)
        found = run_onnx(path, {"input": rows.numpy()})
        np.testing.assert_allclose(found, model(rows).detach().numpy(), rtol=1e-5, atol=1e-5)


def test_what_would_be_wrong_is_not_written(tmp_path: Path) -> None:
    class Random(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.randn_like(x)

    with pytest.raises(ValueError, match="does not reproduce the model's outputs"):
        kafnets.export_onnx(Random(), tmp_path / "model.onnx", torch.randn(2, 3))
    with pytest.raises(TypeError, match="batch axis"):
        kafnets.export_onnx(nn.Linear(2, 2), tmp_path / "model.onnx", [1.0, 2.0])  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("baked", [False, True])
def test_torchs_own_exporters(baked: bool, tmp_path: Path) -> None:
    model = kafnets.mlp(4, (8,), 2, "kaf").eval().requires_grad_(False)
    model = kafnets.bake(model) if baked else model
    x, more = torch.randn(3, 4), torch.randn(9, 4)
    batch = ({0: torch.export.Dim.DYNAMIC},)
    program = torch.export.export(model, (x,), dynamic_shapes=batch)
    torch.export.save(program, tmp_path / "model.pt2")
    for each in (torch.export.load(tmp_path / "model.pt2").module(), torch.jit.trace(model, (x,))):
        torch.testing.assert_close(each(more), model(more), rtol=1e-5, atol=1e-5)


def test_tensors_with_a_description(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    model = kafnets.mlp(4, (8,), 2, "kaf")
    path = kafnets.export_tensors(model, tmp_path / "model.safetensors", description={"hidden": [8]})
    with safetensors.safe_open(path, "pt") as stored:
        assert stored.metadata()["description"] == '{"hidden": [8]}'
        found = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118  no mapping
    other = kafnets.mlp(4, (8,), 2, "kaf")
    other.load_state_dict(found)
    x = torch.randn(5, 4)
    torch.testing.assert_close(other(x), model(x), rtol=0, atol=0)
