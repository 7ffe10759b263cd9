"""What every registered activation has to do."""

import copy
import inspect
import pickle

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck, gradgradcheck
from torch.fx.experimental.proxy_tensor import make_fx

import kafnets
from kafnets.registry import facts_of, find
from tests.zoo.cases import (
    FEATURES,
    NAMES,
    ORACLE,
    STOCHASTIC,
    activations,
    build,
    expected,
    inputs_of,
    takes_dim,
)

every = pytest.mark.parametrize("name", NAMES)


def test_the_oracle_knows_every_name() -> None:
    assert sorted(ORACLE) == sorted(NAMES)


@every
def test_values_are_those_of_the_oracle(name: str) -> None:
    module, s = build(name), activations(name, 200)
    wanted = expected(name, module, s)
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(module(s).detach().numpy(), wanted, rtol=1e-12, atol=1e-14 * scale)


@every
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_dtypes(name: str, dtype: torch.dtype) -> None:
    """A half-precision input gives a half-precision output, near what the stored numbers say."""
    module, s = build(name, dtype=dtype), activations(name, 50, dtype=dtype)
    result = module(s)
    assert result.dtype == dtype
    wanted = expected(name, module, s)
    eps = torch.finfo(dtype).eps
    loose = 40 if facts_of(name).owns_linear or name == "network_in_network" else 8  # rounded between layers
    error = np.abs(result.detach().double().numpy() - wanted)
    assert (error <= loose * eps * (1 + np.abs(wanted))).all()


@every
def test_channel_axis_and_rank(name: str) -> None:
    s = activations(name, 2, 3, 5)
    if not takes_dim(name):
        result = build(name)(s)
        np.testing.assert_allclose(result.detach(), expected(name, build(name), s), rtol=1e-10, atol=1e-12)
        return
    last = build(name, dim=-1)(s)
    assert last.shape[:-1] == s.shape[:-1]
    first = build(name, dim=1)(s.movedim(-1, 1).contiguous())
    torch.testing.assert_close(first.movedim(1, -1), last)
    torch.testing.assert_close(build(name, dim=1)(s.movedim(-1, 1)), first)  # not contiguous
    single = build(name, dim=0)(s[0, 0, 0])
    torch.testing.assert_close(single, last[0, 0, 0])


@every
def test_out_features(name: str) -> None:
    module, s = build(name), activations(name, 3)
    assert module(s).shape == (3, getattr(module, "out_features", FEATURES))
    assert module(s[:0]).shape == (0, getattr(module, "out_features", FEATURES))


@every
def test_gradients(name: str) -> None:
    module, s = build(name), activations(name, 4).requires_grad_()
    names = [key for key, _ in module.named_parameters()]
    values = [value.detach().clone().requires_grad_() for value in module.parameters()]

    def run(s: Tensor, *values: Tensor) -> Tensor:
        result: Tensor = torch.func.functional_call(module, dict(zip(names, values, strict=True)), (s,))
        return result

    assert gradcheck(run, (s, *values), atol=1e-6)
    assert gradgradcheck(run, (s, *values), atol=1e-5)


@every
def test_used_twice_it_has_the_same_gradients_if_they_are_recorded(name: str) -> None:
    module, s = build(name).eval(), activations(name, 4).requires_grad_()
    given = [s, *module.parameters()]
    loss = module(s + 0.1 * module(s).mean()).sum()
    wanted = torch.autograd.grad(loss, given, retain_graph=True)
    recorded = torch.autograd.grad(loss, given, create_graph=True)
    torch.testing.assert_close(recorded, wanted)


@every
def test_transforms_agree_with_autograd(name: str) -> None:
    module, s = build(name), activations(name, 3)
    jacobian = torch.autograd.functional.jacobian(module, s)
    assert isinstance(jacobian, Tensor)
    torch.testing.assert_close(torch.func.jacrev(module)(s), jacobian)
    torch.testing.assert_close(torch.func.jacfwd(module)(s), jacobian)
    if takes_dim(name):
        each = build(name, dim=-1)
        torch.testing.assert_close(torch.func.vmap(each, randomness="different")(s), each(s))


@every
def test_state_dict_deepcopy_and_pickle(name: str) -> None:
    module, s = build(name), activations(name, 5)
    wanted = module(s)
    other = kafnets.create(name, FEATURES, **_extras(name)).double().eval()
    other.load_state_dict(module.state_dict())
    for twin in (other, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        torch.testing.assert_close(twin(s), wanted, rtol=0, atol=0)
    assert repr(module)


@every
def test_compiles_without_a_break(name: str) -> None:
    module, s = build(name), activations(name, 5).requires_grad_()
    torch._dynamo.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    wanted = module(s)
    (of_s,) = torch.autograd.grad(wanted.sum(), s)
    result = compiled(s)
    torch.testing.assert_close(result, wanted)
    torch.testing.assert_close(torch.autograd.grad(result.sum(), s)[0], of_s)


@every
def test_training_and_evaluation(name: str) -> None:
    module, s = build(name), activations(name, 40)
    quiet = module(s)
    torch.testing.assert_close(module(s), quiet, rtol=0, atol=0)
    module.train()
    loud = module(s)
    if name not in STOCHASTIC:
        torch.testing.assert_close(loud, quiet, rtol=0, atol=0)
        return
    assert not torch.equal(loud, quiet)
    assert not torch.equal(loud, module(s))
    torch.manual_seed(0)
    mean = torch.stack([module(s) for _ in range(3000)]).mean(0)
    torch.testing.assert_close(mean, quiet, rtol=0.03, atol=0.01)


RANDOM = [name for name in NAMES if "generator" in inspect.signature(find(name)).parameters]


@pytest.mark.parametrize("name", RANDOM)
def test_a_generator_decides_the_start(name: str) -> None:
    first, second, third = (
        kafnets.create(name, FEATURES, generator=torch.Generator().manual_seed(seed)).state_dict()
        for seed in (5, 5, 6)
    )
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert any(not torch.equal(first[key], third[key]) for key in first)


@every
def test_nan_goes_through_and_stays_in_its_row(name: str) -> None:
    module, s = build(name), activations(name, 3)
    clean = module(s)
    s[1] = torch.nan
    result = module(s)
    assert result[1].isnan().all()
    torch.testing.assert_close(result[[0, 2]], clean[[0, 2]])


@every
def test_what_is_traced_is_what_is_computed(name: str) -> None:
    module, s = build(name), activations(name, 3)
    graph = make_fx(module)(s)
    other = activations(name, 3, seed=9)
    torch.testing.assert_close(graph(other), module(other))


@every
def test_many_gradients_at_once(name: str) -> None:
    module, s = build(name), activations(name, 3)
    one_by_one = torch.autograd.functional.jacobian(module, s)
    together = torch.autograd.functional.jacobian(module, s, vectorize=True)
    torch.testing.assert_close(together, one_by_one)


@every
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_trains(name: str, dtype: torch.dtype) -> None:
    module = build(name, dtype=dtype).train()
    s = activations(name, 8, dtype=dtype).requires_grad_()
    module(s).float().square().sum().backward()
    assert s.grad is not None
    assert s.grad.isfinite().all()


@every
def test_built_without_memory_and_filled_later(name: str) -> None:
    extras = _extras(name)
    if extras:
        pytest.skip("the linear map decides where it is built")
    if "device" not in inspect.signature(find(name)).parameters:
        pytest.skip("nothing to build")
    module, s = build(name), activations(name, 3)
    empty = kafnets.create(name, FEATURES, device="meta").double()
    empty.to_empty(device="cpu").load_state_dict(module.state_dict())
    torch.testing.assert_close(empty.eval()(s), module(s))
    assigned = kafnets.create(name, FEATURES, device="meta").double()
    assigned.load_state_dict(module.state_dict(), assign=True)


@every
def test_wrong_channels_are_refused(name: str) -> None:
    module = build(name)
    wrong = torch.randn(3, inputs_of(name) + 1, dtype=torch.float64)
    if sum(parameter.numel() for parameter in module.parameters()) == 0 and not hasattr(
        module, "num_features"
    ):
        module(wrong)  # nothing to go wrong
    else:
        with pytest.raises((ValueError, RuntimeError), match=r"num_features|shapes"):
            module(wrong)


@every
def test_meta_device(name: str) -> None:
    module = build(name).to("meta")
    assert module(activations(name, 3).to("meta")).is_meta


@every
def test_every_parameter_takes_part(name: str) -> None:
    module = build(name)
    module(activations(name, 400).requires_grad_()).square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in module.parameters())


@every
def test_learns(name: str) -> None:
    """A few steps of gradient descent lower a loss, and every parameter takes part."""
    torch.manual_seed(0)
    network = kafnets.mlp(3, (8, 8), 1, name)
    x = torch.rand(64, 3) * 2 - 1
    y = torch.sin(3 * x[:, :1]) * x[:, 1:2]
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    losses: list[float] = []
    for _ in range(150):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(network(x), y)
        loss.backward()
        if not losses:
            assert all(parameter.grad is not None for parameter in network.parameters())
        optimizer.step()
        losses.append(loss.item())
    assert np.mean(losses[-5:]) < 0.7 * losses[0]


def _extras(name: str) -> dict[str, int]:
    return {"in_features": inputs_of(name)} if facts_of(name).owns_linear else {}
