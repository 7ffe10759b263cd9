"""Models keep their outputs when their activations are replaced, and get them back."""

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import kafnets
from kafnets.nn.replacement import CallByCall


class Block(nn.Module):
    """A residual block that uses one activation three times, as those of torchvision do."""

    def __init__(self, inputs: int, width: int, outputs: int) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(inputs, width, 1), nn.Conv2d(width, outputs, 3, padding=1)
        self.norm, self.down = nn.BatchNorm2d(outputs), nn.Conv2d(inputs, outputs, 1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.norm(self.second(self.relu(self.first(x))))
        inner += self.down(x)
        result: Tensor = self.relu(inner)
        return result


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, 8, 3), nn.Linear(12, 5)
        self.one, self.two = Block(8, 4, 12), Block(12, 6, 12)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.stem(x))
        result: Tensor = self.head(self.two(self.one(x)).mean((2, 3)))
        return result


class Gelu(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.gelu(x, approximate="tanh")


def residual() -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    return Residual(), torch.randn(2, 3, 9, 9)


def run(model: nn.Module, *args: Any, **kwargs: Any) -> Any:
    with torch.no_grad():
        return model.eval()(*args, **kwargs)


def test_a_residual_network_keeps_its_outputs() -> None:
    model, x = residual()
    state = copy.deepcopy(model.state_dict())
    new = kafnets.convert(model, {nn.ReLU: "kaf"}, example_input=x)
    assert torch.equal(run(new, x), run(model, x))
    split: Any = new.get_submodule("one.relu")
    assert isinstance(split, CallByCall)
    kafs: list[Any] = list(split)
    assert [(each.num_features, each.dim) for each in kafs] == [(4, 1), (12, 1)]
    report: Any = new.conversion
    assert [each.name for each in report.layers] == ["one.relu.0", "one.relu.1", "two.relu.0", "two.relu.1"]
    assert all(each.start == "base" and each.largest_error == 0 for each in report.layers)
    assert report.not_replaced == (
        "(model) (Residual) calls the function relu, which trace=True may replace",
    )
    assert "one.relu.0: ReLU(inplace=True) became KAF(4" in str(report)
    assert "outputs changed by 0 (rms)" in str(report)
    assert isinstance(model.get_submodule("one.relu"), nn.ReLU)
    assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())


def test_functions_are_replaced_by_tracing() -> None:
    model, x = residual()
    new = kafnets.convert(model, {nn.ReLU: "kaf"}, example_input=x, trace=True)
    report: Any = new.conversion
    assert len(report.layers) == 5
    assert not report.not_replaced
    assert sum(isinstance(each, kafnets.KAF) for each in new.modules()) == 5
    assert torch.equal(run(new, x), run(model, x))
    assert torch.equal(run(kafnets.convert(new, back=True), x), run(model, x))


def test_arguments_of_functions_survive_tracing() -> None:
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return functional.leaky_relu(x, 0.3) + functional.elu(input=x, alpha=2.0) + x.relu()

    x = torch.randn(7, 3)
    kinds = {nn.LeakyReLU: "kaf(tails=linear)", nn.ELU: "kaf(tails=linear)", nn.ReLU: "kaf"}
    new = kafnets.convert(Net(), kinds, example_input=x, trace=True, start="ridge")
    befores = [layer.before for layer in new.conversion.layers]  # type: ignore[union-attr]
    assert befores == ["LeakyReLU(negative_slope=0.3)", "ELU(alpha=2.0)", "ReLU()"]
    torch.testing.assert_close(run(new, x), Net()(x), atol=0.2, rtol=0)


def test_a_call_has_its_own_function_whatever_happened_before() -> None:
    model, x = residual()
    new = kafnets.convert(model, {nn.ReLU: "kaf"}, example_input=x).eval()
    with torch.no_grad():
        for number, module in enumerate(each for each in new.modules() if isinstance(each, kafnets.KAF)):
            module.alpha.fill_(0.1 * number)
    expected = run(new, x)
    broken = new.get_submodule("one")
    hook = broken.get_submodule("norm").register_forward_pre_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        new(x)
    hook.remove()
    for other in (new, copy.deepcopy(new), pickle.loads(pickle.dumps(new)), torch.fx.symbolic_trace(new)):
        assert torch.equal(run(other, x), expected)


def test_calls_that_were_not_seen_are_refused() -> None:
    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.relu, self.often = nn.ReLU(), 2

        def forward(self, x: Tensor) -> Tensor:
            for _ in range(self.often):
                x = self.relu(x) - 1
            return x

    x = torch.randn(3, 4)
    new = kafnets.convert(Loop(), {nn.ReLU: "kaf"}, example_input=x)
    new.often = 3  # type: ignore[assignment]
    with pytest.raises(RuntimeError, match="3 times in a forward pass, but 2 times when"):
        new(x)
    kept = kafnets.convert(Loop(), {nn.ReLU: "kaf"}, example_input=x, shared_modules="keep")
    assert isinstance(kept.relu, kafnets.KAF)


def test_modules_in_several_places_are_split_or_kept() -> None:
    relu = nn.ReLU()
    model = nn.Sequential(nn.Linear(3, 4), relu, nn.Linear(4, 4), relu, nn.Linear(4, 6), relu)
    x = torch.randn(5, 3)
    new = kafnets.convert(model, {nn.ReLU: "kaf"}, example_input=x)
    assert [new[place].num_features for place in (1, 3, 5)] == [4, 4, 6]  # type: ignore[index]
    with pytest.raises(ValueError, match=r"'1' receives different .* 4 along dim=-1, 6 along dim=-1: give"):
        kafnets.convert(model, {nn.ReLU: "kaf"}, example_input=x, shared_modules="keep")
    cases: list[tuple[nn.Module, dict[str, Any]]] = [(model[:4], {}), (model, {"share": "layer"})]
    for part, options in cases:
        kept: Any = kafnets.convert(part, {nn.ReLU: "kaf"}, example_input=x, shared_modules="keep", **options)
        assert kept[1] is kept[3]
        assert torch.equal(run(kept, x), run(part, x))
        assert torch.equal(run(kafnets.convert(kept, back=True), x), run(part, x))


@pytest.mark.parametrize(
    ("layers", "shape", "expected"),
    [
        ([nn.Linear(3, 4), nn.ReLU()], (2, 3), (4, -1)),
        ([nn.Linear(3, 4), nn.Dropout(), nn.ReLU()], (2, 5, 3), (4, -1)),
        ([nn.Conv1d(3, 4, 1), nn.BatchNorm1d(4), nn.ReLU()], (2, 3, 5), (4, 1)),
        ([nn.Conv1d(3, 4, 1), nn.Flatten(0, 1), nn.Unflatten(0, (2, 4)), nn.ReLU()], (2, 3, 5), None),
        ([nn.Conv2d(3, 4, 1), nn.AvgPool2d(2), nn.ReLU()], (2, 3, 6, 6), (4, 1)),
        ([nn.Conv2d(3, 4, 1), nn.Flatten(), nn.ReLU()], (2, 3, 2, 2), (16, -1)),
        ([nn.Conv2d(3, 4, 1), nn.Flatten(2), nn.ReLU()], (2, 3, 2, 2), (4, 1)),
        ([nn.Embedding(9, 4), nn.ReLU()], (2, 5), (4, -1)),
        ([nn.ConvTranspose3d(3, 4, 1), nn.GroupNorm(2, 4), nn.ReLU()], (1, 3, 2, 2, 2), (4, 1)),
    ],
)
def test_channels_are_found(
    layers: list[nn.Module], shape: tuple[int, ...], expected: tuple[int, int] | None
) -> None:
    x = torch.randint(9, shape) if isinstance(layers[0], nn.Embedding) else torch.randn(shape)
    model = nn.Sequential(*layers)
    if expected is None:
        with pytest.raises(ValueError, match="the channel axis of '3' cannot be determined"):
            kafnets.convert(model, {nn.ReLU: "kaf"}, example_input=x)
        return
    new: Any = kafnets.convert(model, {nn.ReLU: "kaf"}, example_input=x)
    assert (new[-1].num_features, new[-1].dim) == expected
    assert torch.equal(run(new, x), run(model, x))


def test_channels_are_followed_through_views() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.act = nn.Linear(3, 4), nn.ReLU()

        def forward(self, x: Tensor) -> Tensor:
            y = self.linear(x.view(-1, 3)).view(2, 5, 4).transpose(1, 2)
            result: Tensor = self.act(torch.cat([y, y], 2) * 2).permute(0, 2, 1)
            return result

    new = kafnets.convert(Net(), {nn.ReLU: "kaf"}, example_input=torch.randn(2, 5, 3))
    assert isinstance(new.act, kafnets.KAF)
    assert (new.act.num_features, new.act.dim) == (4, 1)


def test_share_and_weights() -> None:
    model = nn.Sequential(nn.Linear(3, 6), nn.Tanh())
    x = torch.randn(5, 3)
    shapes = {"channel": (6, 20), "layer": (1, 20), 2: (2, 20)}
    for share, shape in shapes.items():
        new: Any = kafnets.convert(model, {nn.Tanh: "kaf"}, example_input=x, share=share)  # type: ignore[arg-type]
        assert new[1].alpha.shape == shape
        torch.testing.assert_close(run(new, x), run(model, x))
        assert new[0].weight is not model[0].weight
    shared: Any = kafnets.convert(model, {nn.Tanh: "kaf"}, example_input=x, weights="shared")
    assert shared[0].weight is model[0].weight
    assert shared[0] is not model[0]


@pytest.mark.parametrize("activation", ["relu", "gelu", nn.GELU()])
@pytest.mark.parametrize("norm_first", [False, True])
def test_torchs_transformer_computes_the_new_functions_in_evaluation(
    activation: Any, norm_first: bool
) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.1, activation, batch_first=True, norm_first=norm_first)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=not norm_first)
    x = torch.randn(3, 5, 8)
    new: Any = kafnets.convert(model, {nn.ReLU: "kaf", nn.GELU: "kaf"}, example_input=x)
    assert [each.activation.num_features for each in new.layers] == [16, 16]
    assert [each.split(" is a ")[1] for each in new.conversion.not_replaced] == [
        "fused attention, computed by multi_head_attention_forward"
    ] * 2
    torch.testing.assert_close(run(new, x), run(model, x))
    with torch.no_grad():
        for each in new.layers:
            each.activation.alpha.normal_()
    slow = new.eval()(x)  # with gradients, torch does not take its fast path
    assert slow.grad_fn is not None
    torch.testing.assert_close(run(new, x), slow.detach())
    assert (run(new, x) - run(model, x)).abs().max() > 0.01
    padded = torch.tensor([[False] * 5, [False] * 3 + [True] * 2, [False] * 5])
    with_mask = run(new, x, src_key_padding_mask=padded)
    torch.testing.assert_close(with_mask[[0, 2]], run(new, x)[[0, 2]])
    undone: Any = kafnets.convert(new, back=True)
    assert torch.equal(run(undone, x), run(model, x))
    assert undone.layers[0].activation_relu_or_gelu == layer.activation_relu_or_gelu
    assert undone.use_nested_tensor is model.use_nested_tensor


def test_assigning_an_activation_alone_is_ignored_by_torch() -> None:
    """The trap that convert avoids. If this fails, torch has mended it."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x = torch.randn(3, 5, 8)
    before = run(layer, x)
    layer.activation = kafnets.KAF(16, dim=-1)
    assert torch.equal(run(layer, x), before)


def test_other_starts() -> None:
    model = nn.Sequential(nn.Linear(3, 4), Gelu(), nn.Linear(4, 4), nn.SiLU())
    x = torch.randn(50, 3)
    kinds: dict[type[nn.Module], Any] = {Gelu: "kaf(base=gelu)", nn.SiLU: "saf"}
    new = kafnets.convert(model, kinds, example_input=x)
    report: Any = new.conversion
    assert [each.start for each in report.layers] == ["ridge", "ridge"]
    assert report.layers[0].largest_error < 5e-4
    torch.testing.assert_close(run(new, x), run(model, x), atol=0.02, rtol=0)
    with pytest.raises(ValueError, match=r"start='base' needs one of the functions .* '1' is Gelu\(\): give"):
        kafnets.convert(model, {Gelu: "kaf"}, example_input=x)
    with pytest.raises(ValueError, match=rf"so give its class, {__name__}.Gelu, in activations, or trace"):
        kafnets.convert(model, {nn.GELU: "kaf"}, example_input=x)
    new = kafnets.convert(model, {Gelu: "kaf(tails=linear)"}, example_input=x, start="ridge")
    assert pickle.loads(pickle.dumps(new))[1].alpha.abs().sum() > 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"activations": None}, TypeError, "activations must be a mapping"),
        ({"activations": {"relu": "kaf"}}, TypeError, "activations must have classes of modules as keys"),
        ({"activations": {nn.ReLU: 3}}, TypeError, "names, or functions that create modules, as values"),
        ({"activations": {nn.ReLU: "kaf2d"}}, ValueError, "'kaf2d' has functions of 2 values"),
        ({"activations": {nn.ReLU: "maxout"}}, ValueError, "'maxout' contains a linear map"),
        ({"activations": {nn.GELU: "kaf"}}, ValueError, "can be replaced: it has none of them"),
        ({"activations": {nn.PReLU: "kaf"}}, ValueError, r"'3' \(PReLU\) has parameters"),
        ({"activations": {nn.Softmax: "kaf"}}, ValueError, r"'5' \(Softmax\) is not a function of single"),
        ({"example_input": None}, TypeError, "example_input must be a tensor, a tuple of arguments"),
        ({"start": "zero"}, ValueError, "start must be one of 'base', 'ridge', got 'zero'"),
        ({"share": 5}, ValueError, "share=5 must divide the 4 channels of '1'"),
        ({"share": "group"}, ValueError, "share must be 'channel', 'layer' or a number"),
        ({"shared_modules": "no"}, ValueError, "shared_modules must be one of"),
        ({"weights": "tied"}, ValueError, "weights must be one of 'copied', 'shared', got 'tied'"),
        ({"back": True}, ValueError, "back=True needs a model that kafnets.convert returned"),
    ],
)
def test_mistakes(options: dict[str, Any], error: type[Exception], message: str) -> None:
    model = nn.Sequential(
        nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), nn.PReLU(), nn.Linear(4, 4), nn.Softmax(-1)
    )
    everything: dict[str, Any] = {
        "activations": {nn.ReLU: "kaf"},
        "example_input": torch.randn(2, 3),
    } | options
    with pytest.raises(error, match=message):
        kafnets.convert(model, **everything)
    assert [type(each).__name__ for each in model] == [
        "Linear",
        "ReLU",
        "Linear",
        "PReLU",
        "Linear",
        "Softmax",
    ]
    assert not any(each._forward_hooks or each._forward_pre_hooks for each in model.modules())


def test_models_that_cannot_be_converted() -> None:
    class InPlace(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.ReLU(inplace=True)

        def forward(self, x: Tensor) -> Tensor:
            x = x + 0
            self.act(x)
            return x if x.sum() > -1e9 else -x

    x = torch.randn(4, 3)
    with pytest.raises(ValueError, match="that changed it in place"):
        kafnets.convert(InPlace(), {nn.ReLU: "kaf"}, example_input=x)
    with pytest.raises(ValueError, match=r"trace=True: torch\.fx cannot trace this InPlace"):
        kafnets.convert(InPlace(), {nn.ReLU: "kaf"}, example_input=x, trace=True)
    with pytest.raises(ValueError, match="model is itself a ReLU: put it into"):
        kafnets.convert(nn.ReLU(), {nn.ReLU: "kaf"}, example_input=x)
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got str"):
        kafnets.convert("resnet", {nn.ReLU: "kaf"}, example_input=x)  # type: ignore[arg-type]


def test_what_was_not_run_is_named() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.act, self.aux = nn.Linear(3, 4), nn.ReLU(), nn.ReLU()

        def forward(self, x: Tensor, *, scale: float) -> dict[str, Tensor]:
            return {"y": scale * self.act(self.linear(x))}

    new = kafnets.convert(Net(), {nn.ReLU: "kaf"}, example_input={"x": torch.randn(2, 3), "scale": 2.0})
    assert new.conversion.not_replaced == ("aux (ReLU) was not run by example_input",)  # type: ignore[union-attr]
