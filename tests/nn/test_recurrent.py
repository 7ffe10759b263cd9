"""LSTM and GRU with flexible gates: against the oracle, and against torch's own."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence

import kafnets
from tests import oracle
from tests.oracle import recurrent

LAYERS: list[Any] = [(kafnets.nn.LSTM, nn.LSTM), (kafnets.nn.GRU, nn.GRU)]
CELLS: list[Any] = [(kafnets.nn.LSTMCell, nn.LSTMCell), (kafnets.nn.GRUCell, nn.GRUCell)]
NAMES = ["lstm", "gru"]
RANDOM: dict[str, Any] = {"init": kafnets.Normal(0.5), "dictionary_size": 6}
both = pytest.mark.parametrize(("own", "theirs"), LAYERS, ids=NAMES)
both_cells = pytest.mark.parametrize(("own", "theirs"), CELLS, ids=NAMES)


def tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, PackedSequence):
        return [each for each in value if each is not None]
    return [tensor for each in value for tensor in tensors(each)]


def assert_alike(first: Any, second: Any, **tolerance: float) -> None:
    for one, other in zip(tensors(first), tensors(second), strict=True):
        torch.testing.assert_close(one, other, **tolerance)  # type: ignore[arg-type]


@both
def test_values_and_gradients_are_the_oracles(own: Any, theirs: Any) -> None:
    torch.manual_seed(1)
    layer = own(3, 4, dtype=torch.float64, **RANDOM)
    x = torch.randn(5, 2, 3, dtype=torch.float64, requires_grad=True)
    states = [torch.randn(1, 2, 4, dtype=torch.float64, requires_grad=True) for _ in range(layer.kind.states)]
    output, _ = layer(x, tuple(states) if len(states) > 1 else states[0])
    upstream = torch.randn_like(output)
    output.backward(upstream)

    w = recurrent.Weights(*(each.detach().numpy() for each in layer.parameters()))
    kaf = layer.gates_l0
    gate = recurrent.Gate(kaf.expansion.dictionary.elements, oracle.Gaussian(kaf.gamma))
    given = [x.detach().numpy(), *(each[0].detach().numpy() for each in states)]
    functions: Any = (
        (recurrent.lstm, recurrent.lstm_gradients)
        if own is kafnets.nn.LSTM
        else (recurrent.gru, recurrent.gru_gradients)
    )
    value, gradients = functions
    np.testing.assert_allclose(output.detach(), value(*given, w, gate)[0], rtol=1e-9, atol=1e-12)
    *by_given, by_w = gradients(*given, w, gate, upstream.numpy())
    for tensor, wanted in zip([x, *states, *layer.parameters()], [*by_given, *by_w], strict=True):
        assert tensor.grad is not None
        np.testing.assert_allclose(tensor.grad.numpy().reshape(wanted.shape), wanted, rtol=1e-8, atol=1e-10)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"num_layers": 2, "bidirectional": True, "batch_first": True},
    {"num_layers": 3, "bias": False},
]


@both
@pytest.mark.parametrize("options", [*OPTIONS, {"proj_size": 2, "bidirectional": True, "num_layers": 2}])
def test_loaded_from_torch_it_computes_as_torch_does(own: Any, theirs: Any, options: Any) -> None:
    if "proj_size" in options and theirs is nn.GRU:
        with pytest.raises(TypeError, match="proj_size"):
            own(3, 4, **options)
        return
    torch.manual_seed(1)
    kind = torch.float64
    plain = theirs(3, 4, **options, dtype=kind)
    layer = own(3, 4, **options, dtype=kind)
    layer.load_state_dict(plain.state_dict())
    x = torch.randn(5, 6, 3, dtype=kind)
    output, state = plain(x)
    assert_alike(layer(x), (output, state))
    assert_alike(layer(x, state), plain(x, state))
    alone = state[:, 0] if isinstance(state, Tensor) else tuple(each[:, 0] for each in state)
    assert_alike(layer(x[0], alone), plain(x[0], alone))
    sequences = [torch.randn(length, 3, dtype=kind) for length in (3, 5, 1, 5, 2, 2)]
    first = tuple(torch.randn_like(each[:, :1].expand(-1, 6, -1)) for each in tensors(state))
    for packed in (
        pack_sequence(sequences, enforce_sorted=False),
        pack_sequence(sorted(sequences, key=len, reverse=True)),
    ):
        hx: Any = first if len(first) > 1 else first[0]
        assert_alike(layer(packed, hx), plain(packed, hx))
        loss = sum(each.sum() for each in tensors(layer(packed)) if each.is_floating_point())
        assert isinstance(loss, Tensor)
        loss.backward()


def sums_and_gradients(layer: nn.Module, *given: Any) -> list[Tensor]:
    """Of a sum over all outputs, unlike for each, by everything that has gradients."""
    values = [each for each in tensors(layer(*given)) if each.is_floating_point()]
    generator = torch.Generator().manual_seed(1)
    loss = sum(
        (each * torch.randn(each.shape, generator=generator, dtype=each.dtype)).sum() for each in values
    )
    asked = [each for each in (*tensors(given), *layer.parameters()) if each.requires_grad]
    return [*values, *torch.autograd.grad(loss, asked)]  # type: ignore[arg-type]


def composed(layer: Any) -> Any:
    """The same layer, whose loop is made of torch's operators: somebody watches its gates."""
    watched = copy.deepcopy(layer)
    for _, kaf in watched._kafs():
        kaf.register_forward_hook(lambda *_: None)
    return watched


@both
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(
    "gates", [RANDOM, {"tails": "linear", "kernel": kafnets.Gaussian(learn_gamma="neuron")}]
)
def test_one_node_of_the_graph_is_the_composed_loop(own: Any, theirs: Any, options: Any, gates: Any) -> None:
    torch.manual_seed(1)
    layer = own(3, 4, **options, dtype=torch.float64, **gates)
    for _, kaf in layer._kafs():
        nn.init.normal_(kaf.alpha, 0.0, 0.5)
    x = torch.randn(5, 6, 3, dtype=torch.float64, requires_grad=True)
    sequences = [
        torch.randn(length, 3, dtype=torch.float64, requires_grad=True) for length in (3, 5, 1, 5, 2, 2)
    ]
    packed = pack_sequence(sequences, enforce_sorted=False)
    packed.data.retain_grad()
    state: Any = tuple(torch.randn_like(each, requires_grad=True) for each in tensors(layer(packed)[1]))
    state = state if len(state) > 1 else state[0]
    for given in ((x,), (packed,), (packed, state)):
        found, wanted = sums_and_gradients(layer, *given), sums_and_gradients(composed(layer), *given)
        assert_alike(found, wanted, rtol=1e-10, atol=1e-12)
    assert layer(x)[0].grad_fn is not None


@both
def test_gradients_can_be_differentiated_again(own: Any, theirs: Any) -> None:
    torch.manual_seed(1)
    layer = own(2, 3, dtype=torch.float64, **RANDOM)
    x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: layer(x)[0], x, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: layer(x)[0], x)
    jacobian = torch.func.jacrev(lambda x: layer(x)[0])(x)
    torch.testing.assert_close(jacobian, torch.autograd.functional.jacobian(lambda x: layer(x)[0], x))


@both_cells
def test_gradients_of_cells(own: Any, theirs: Any) -> None:
    torch.manual_seed(1)
    cell = own(2, 3, dtype=torch.float64, **RANDOM)
    x, h = (torch.randn(4, size, dtype=torch.float64, requires_grad=True) for size in (2, 3))
    state: Any = (h, torch.randn_like(h, requires_grad=True)) if own is kafnets.nn.LSTMCell else h
    assert_alike(sums_and_gradients(cell, x, state), sums_and_gradients(composed(cell), x, state))
    cell.gates.requires_grad_(False)
    assert_alike(sums_and_gradients(cell, x, state), sums_and_gradients(composed(cell), x, state))


@both
def test_no_sequences_at_all(own: Any, theirs: Any) -> None:
    layer = own(3, 4, bidirectional=True, **RANDOM)
    output, _ = layer(torch.randn(5, 0, 3))
    assert output.shape == (5, 0, 8)
    output.sum().backward()
    assert not layer.gates_l0.alpha.grad.any()


@both
def test_hooks_see_the_gates(own: Any, theirs: Any) -> None:
    layer, seen = own(3, 4, **RANDOM), []
    layer.gates_l0.register_forward_hook(lambda module, given, result: seen.append(given[0].shape))
    layer(torch.randn(5, 2, 3))
    assert seen == [(2, 4 * layer.kind.gates)] * 5


@both
def test_the_same_seed_gives_torchs_weights(own: Any, theirs: Any) -> None:
    torch.manual_seed(3)
    plain = theirs(3, 4)
    torch.manual_seed(3)
    layer = own(3, 4)
    for name, value in plain.state_dict().items():
        assert torch.equal(value, layer.state_dict()[name])
    assert not layer.gates_l0.alpha.any()


def test_gates_without_coefficients_are_sigmoids_to_the_last_bit() -> None:
    torch.manual_seed(1)
    layer: Any = kafnets.nn.LSTM(3, 4)
    x = torch.randn(5, 2, 3)

    class Nothing(nn.Module):
        def forward(self, s: Tensor) -> Tensor:
            return torch.zeros_like(s)

    plain: Any = copy.deepcopy(layer)
    plain.gates_l0 = Nothing()
    assert all(map(torch.equal, tensors(layer(x)), tensors(plain(x))))


@both_cells
def test_cells(own: Any, theirs: Any) -> None:
    torch.manual_seed(1)
    plain, cell = theirs(3, 4), own(3, 4)
    cell.load_state_dict(plain.state_dict())
    x = torch.randn(6, 3)
    state = plain(x)
    assert_alike(cell(x), state)
    assert_alike(cell(x, state), plain(x, state))
    alone = state[0] if isinstance(state, Tensor) else tuple(each[0] for each in state)
    assert_alike(cell(x[0], alone), plain(x[0], alone))


@pytest.mark.parametrize(
    ("layer", "cell"),
    [(kafnets.nn.LSTM, kafnets.nn.LSTMCell), (kafnets.nn.GRU, kafnets.nn.GRUCell)],
    ids=NAMES,
)
def test_a_loop_over_a_cell_is_the_layer(layer: Any, cell: Any) -> None:
    torch.manual_seed(1)
    whole, step = layer(3, 4, **RANDOM), cell(3, 4, **RANDOM)
    step.load_state_dict({name.replace("_l0", ""): value for name, value in whole.state_dict().items()})
    x, state = torch.randn(5, 2, 3), None
    for row in x:
        state = step(row, state)
    assert_alike(state, [each[0] for each in tensors(whole(x)[1])])


def test_states_are_stored_and_loaded_whole() -> None:
    torch.manual_seed(1)
    layer: Any = kafnets.nn.GRU(3, 4, bidirectional=True, tails="linear", **RANDOM)
    model, again = nn.ModuleDict({"inner": layer}), nn.ModuleDict({"inner": copy.deepcopy(layer)})
    other: Any = again["inner"]
    for parameter in again.parameters():
        nn.init.zeros_(parameter)
    again.load_state_dict(model.state_dict())
    x = torch.randn(5, 2, 3)
    assert all(map(torch.equal, tensors(layer(x)), tensors(other(x))))
    cut = {name: value for name, value in model.state_dict().items() if "l0.alpha" not in name}
    with pytest.raises(RuntimeError, match=r"inner.gates_l0.alpha"):
        again.load_state_dict(cut)
    with pytest.raises(RuntimeError, match=r"inner.gates_l0.alpha"):
        again.load_state_dict({})
    layer.reset_parameters()
    assert not torch.equal(layer.gates_l0.alpha, other.gates_l0.alpha)


@both
def test_precisions(own: Any, theirs: Any) -> None:
    torch.manual_seed(1)
    layer, x = own(3, 4, **RANDOM), torch.randn(5, 2, 3)
    exact = copy.deepcopy(layer).double()(x.double())[0]
    torch.testing.assert_close(layer(x)[0].double(), exact, rtol=1e-5, atol=1e-6)
    with torch.autocast("cpu", torch.bfloat16):
        output = layer(x)[0]
        output.sum().backward()
    torch.testing.assert_close(output.double(), exact, rtol=0.05, atol=0.05)
    half = copy.deepcopy(layer).to(torch.bfloat16)
    output = half(x.to(torch.bfloat16))[0]
    assert output.dtype is torch.bfloat16
    assert half.gates_l0.alpha.dtype is torch.float32
    torch.testing.assert_close(output.double(), exact, rtol=0.05, atol=0.05)


@both
def test_compiled(own: Any, theirs: Any) -> None:
    torch.manual_seed(1)
    layer, x = own(3, 4, batch_first=True, **RANDOM), torch.randn(2, 3, 3)
    compiled: Any = torch.compile(layer, backend="aot_eager", fullgraph=True)
    assert_alike(compiled(x), layer(x))
    layer(x)[0].sum().backward()
    wanted = [each.grad.clone() for each in layer.parameters()]
    layer.zero_grad()
    compiled(x)[0].sum().backward()
    assert_alike([each.grad for each in layer.parameters()], wanted)


def test_dropout_is_between_layers_and_in_training_only() -> None:
    torch.manual_seed(1)
    layer, x = kafnets.nn.LSTM(3, 8, num_layers=2, dropout=0.9), torch.randn(5, 2, 3)
    assert not torch.equal(layer(x)[0], layer(x)[0])
    layer.eval()
    assert torch.equal(layer(x)[0], layer(x)[0])


def test_traced_as_a_whole() -> None:
    model = nn.Sequential(kafnets.nn.GRU(3, 4))
    nodes = torch.fx.symbolic_trace(model).graph.nodes
    assert [node.op for node in nodes] == ["placeholder", "call_module", "output"]


def test_coefficients_are_penalized_and_grouped() -> None:
    layer: Any = kafnets.nn.LSTM(3, 4, groups=3, **RANDOM)
    assert layer.gates_l0.alpha.shape == (3, 6)
    assert kafnets.penalty(layer, p=1).item() == pytest.approx(layer.gates_l0.alpha.abs().sum().item())
    groups = {group["name"]: group["params"] for group in kafnets.param_groups(layer, weight_decay=1e-4)}
    assert groups["mixing"] == [layer.gates_l0.alpha]
    assert groups["weights"] == [layer.weight_ih_l0, layer.weight_hh_l0]


def test_infinite_activations_open_and_close_gates() -> None:
    cell = kafnets.nn.LSTMCell(1, 1)
    with torch.no_grad():
        cell.bias_ih.copy_(torch.tensor([torch.inf, -torch.inf, 0.5, torch.inf]))
        for parameter in (cell.bias_hh, cell.weight_ih, cell.weight_hh):
            parameter.zero_()
    one = torch.ones(1, 1)
    hidden, after = cell(one, (one, one))
    assert_alike([after, hidden], [torch.tensor([[0.5]]).tanh(), torch.tensor([[0.5]]).tanh().tanh()])


@both
def test_mistakes_are_named(own: Any, theirs: Any) -> None:
    layer = own(3, 4)
    calls: dict[str, Any] = {
        "two axes": lambda: layer(torch.randn(3)),
        "one step or more": lambda: layer(torch.randn(0, 2, 3)),
        "hx must have the shape": lambda: layer(torch.randn(5, 2, 3), (torch.randn(1, 3, 4),) * 2),
        "dtype": lambda: layer(torch.randn(5, 2, 3).double()),
    }
    for message, call in calls.items():
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(RuntimeError, match="input_size"):
        layer(torch.randn(5, 2, 7))
    with pytest.raises(TypeError, match="base is not an option of gates"):
        own(3, 4, base="silu")


@both_cells
def test_mistakes_with_cells_are_named(own: Any, theirs: Any) -> None:
    with pytest.raises(ValueError, match="input must have the shape"):
        own(3, 4)(torch.randn(2, 5))
    with pytest.raises(ValueError, match="hx must hold"):
        own(3, 4)(torch.randn(2, 3), torch.randn(3, 4))
