"""Watching KAFs while they train."""

import copy
import io
import sys
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import kafnets
from kafnets import KAF, KAF2D, EdgewiseKAF, Normal, monitor


def step(model: nn.Module, inputs: Tensor) -> Tensor:
    for parameter in model.parameters():
        parameter.grad = None
    output: Tensor = model(inputs)
    output.square().mean().backward()
    return output.detach()


def mixed() -> nn.Sequential:
    generator = torch.Generator().manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3),
        KAF(4, generator=generator),
        nn.Flatten(),
        nn.Linear(64, 6),
        KAF2D(6),
        nn.Dropout(0.2),
    )
    return model.append(EdgewiseKAF(3, 2, generator=generator))


def ones_in_and_out(rows: int, width: int) -> Tensor:
    """A quarter of all values outside [-3, 3]."""
    s = torch.linspace(-1, 1, rows).unsqueeze(1).expand(rows, width).clone()
    s[::4] = 5.0
    return s


def test_what_is_counted() -> None:
    kaf = KAF(3, init=Normal(gain="forward"))
    model = nn.Sequential(kaf)
    with torch.no_grad():
        kaf.alpha[1] = 0.0
    with warnings.catch_warnings(action="ignore"), monitor(model, every=2) as watch:
        for _ in range(5):
            step(model, ones_in_and_out(64, 3))
    assert [row["step"] for row in watch.rows] == [1, 3, 5]
    row = watch.rows[-1]
    alpha = kaf.alpha
    assert alpha.grad is not None
    assert row["layer"] == "0"
    assert row["outside"] == 0.25
    assert row["dead"] == pytest.approx(1 / 3)
    assert row["coefficients"] == pytest.approx(alpha.norm().item())
    assert row["gradients"] == pytest.approx(alpha.grad.norm().item())


def test_every_kind_of_layer_and_pandas() -> None:
    torch.manual_seed(0)
    model = mixed()
    with monitor(model) as watch, warnings.catch_warnings(action="ignore"):
        step(model, torch.randn(32, 2, 6, 6))
    frame = watch.to_frame()
    assert frame["layer"].tolist() == ["1", "4", "6"]
    assert frame["outside"].between(0, 1).all()
    assert frame.notna().all().all()


def test_evaluation_is_not_watched() -> None:
    model = nn.Sequential(KAF(3))
    with monitor(model, every=1) as watch:
        model.eval()(torch.randn(5, 3))
        assert watch.rows == []
        model.train()(torch.randn(5, 3))
        assert [row["gradients"] for row in watch.rows] == [None]
        with torch.no_grad():
            model(torch.randn(1, 3))
        assert watch.rows[1]["dead"] is None


def test_results_are_the_same_to_the_last_bit() -> None:
    results = []
    for watched in (False, True):
        torch.manual_seed(0)
        model = mixed()
        inputs = 4 * torch.randn(16, 2, 6, 6)
        watch = monitor(model, every=2) if watched else None
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        with warnings.catch_warnings(action="ignore"):
            for _ in range(6):
                output = step(model, inputs)
                optimizer.step()
        results.append([output, *model.parameters(), *(each.grad for each in model.parameters())])
        assert watch is None or len(watch.rows) == 9
    for plain, seen in zip(*results, strict=True):
        assert plain is not None
        assert seen is not None
        assert torch.equal(plain, seen)


def test_warnings_come_once_per_layer() -> None:
    far, flat = KAF(4), KAF(4, init=Normal(0.0))
    model = nn.ModuleDict({"far": far, "flat": flat})
    model.forward = lambda s: flat(far(s))
    with warnings.catch_warnings(record=True) as caught, monitor(model, every=1):
        warnings.simplefilter("always")
        for _ in range(3):
            model(ones_in_and_out(64, 4))
    messages = [str(each.message) for each in caught]
    assert [each.category for each in caught] == [UserWarning] * 2
    assert messages[0].startswith("25% of the inputs of layer 'far' lie outside its dictionary")
    assert messages[1].startswith("100% of the functions of layer 'flat' hardly vary")
    for message in messages:
        for remedy in ('tails="linear"', "base=", "kafnets.calibrate", "normalize", "initialize_biases"):
            assert remedy in message
    assert "boundary" in messages[0]


def test_nothing_is_said_of_healthy_layers() -> None:
    torch.manual_seed(0)
    model = kafnets.mlp(8, (32, 32), 1, weights="lecun")
    with warnings.catch_warnings(action="error"), monitor(model, every=1):
        step(model, torch.randn(64, 8))


def test_removal() -> None:
    model = mixed()
    watch = monitor(model, every=1)
    with warnings.catch_warnings(action="ignore"):
        step(model, torch.randn(8, 2, 6, 6))
        watch.remove()
        step(model, torch.randn(8, 2, 6, 6))
    watch.remove()
    assert len(watch.rows) == 3
    for module in model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
    assert not any(parameter._post_accumulate_grad_hooks for parameter in model.parameters())


def test_log() -> None:
    logged: list[tuple[str, float, int]] = []
    model = nn.Sequential(KAF(3))
    with monitor(model, every=1, log=lambda *entry: logged.append(entry)):
        step(model, torch.randn(32, 3))
        step(model, torch.randn(32, 3))
    names = [f"0/{name}" for name in ("outside", "dead", "coefficients", "gradients")]
    assert [(name, number) for name, _, number in logged] == [(name, i) for i in (1, 2) for name in names]
    logged.clear()
    with monitor(model, log=lambda *entry: logged.append(entry), gradients=False):
        step(model, torch.randn(32, 3))
    assert len(logged) == 3


def test_copies_are_not_watched() -> None:
    model = nn.Sequential(KAF(3))
    with monitor(model, every=1, log=lambda *entry: None) as watch:
        twin = copy.deepcopy(model)
        stored = io.BytesIO()
        torch.save(model, stored)
        stored.seek(0)
        again = torch.load(stored, weights_only=False)
        for each in (twin, again):
            step(each, torch.randn(8, 3))
        assert watch.rows == []
        step(model, torch.randn(8, 3))
        assert len(watch.rows) == 1


@pytest.mark.parametrize(
    ("shape", "dim"), [((100000, 3), 1), ((4, 9000), 1), ((64, 16, 32, 32), 1), ((5, 7, 3), -1), ((9,), 0)]
)
def test_samples_are_small_and_spread_out(shape: tuple[int, ...], dim: int) -> None:
    from kafnets.nn.monitor import _views

    numbers = torch.arange(torch.Size(shape).numel()).reshape(shape)
    sample = numbers[_views(shape, dim)]
    assert min(1000, numbers.numel()) <= sample.numel() <= 4096
    assert sample.dim() == len(shape)
    assert sample.shape[dim] == min(shape[dim], 1024)  # all channels, unless there are very many
    middle = (numbers.numel() - 1) / 2
    assert abs(sample.double().mean().item() - middle) < 0.1 * middle


def test_inputs_without_a_batch() -> None:
    for shape in ((), (6,)):
        model = nn.Sequential(KAF(dim=0))
        with monitor(model) as watch:
            model(torch.zeros(shape))
        assert [(row["outside"], row["dead"]) for row in watch.rows] == [(0.0, None)]


def test_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="model has no KAF, KAF2D or EdgewiseKAF to monitor"):
        monitor(nn.Linear(2, 3))
    with pytest.raises(ValueError, match="every must be an integer"):
        monitor(KAF(2), every=0)
    log: Any = "tensorboard"
    with pytest.raises(TypeError, match="log must be a function"):
        monitor(KAF(2), log=log)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with (
        monitor(KAF(2)) as watch,
        pytest.raises(ImportError, match="to_frame needs the package pandas: pip install pandas"),
    ):
        watch.to_frame()
