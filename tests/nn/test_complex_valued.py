"""Complex activations: against the oracle, and Wirtinger's derivatives by differences."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import kafnets
from kafnets.nn.complex_valued import RIDGE, STARTS
from tests import oracle
from tests.oracle import complex_valued

# What torch says of all modules with complex parameters that are converted.
pytestmark = pytest.mark.filterwarnings("ignore:Complex modules are a new feature")

KERNELS: list[Any] = ["gaussian", "complex_gaussian"]
NAMES = [*KERNELS, "split", "cardioid", "modrelu", "tanh"]


def normal(*shape: int, dtype: torch.dtype = torch.complex128) -> Tensor:
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def modules(dtype: torch.dtype) -> dict[str, Any]:
    """All of three channels, coefficients and biases random."""
    torch.manual_seed(1)
    found: dict[str, Any] = {
        kernel: kafnets.nn.ComplexKAF(3, dictionary_size=5, boundary=2.0, kernel=kernel) for kernel in KERNELS
    }
    found |= {"split": kafnets.nn.SplitKAF(3), "cardioid": kafnets.nn.Cardioid()}
    found |= {"modrelu": kafnets.nn.ModReLU(3), "tanh": kafnets.nn.Split(nn.Tanh())}
    with torch.no_grad():
        found["modrelu"].bias.copy_(torch.tensor([-0.3, 0.2, -0.8]))
    return {name: each.to(dtype) for name, each in found.items()}


@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients_are_the_oracles(name: str) -> None:
    module = modules(torch.complex128)[name]
    z, u = normal(7, 3), normal(7, 3).detach()
    output = module(z)
    output.backward(u)
    assert z.grad is not None
    own = [each.grad.numpy() for each in module.parameters()]
    at, up = z.detach().numpy(), u.numpy()
    parameters: Any = [each.detach().numpy() for each in module.parameters()]
    by_parameters: Any = []
    if name in KERNELS:
        twin = complex_valued.ComplexKAF(name, module.gamma, 5, 2.0)  # type: ignore[arg-type]
        value, (by_z, *by_parameters) = twin.value(at, *parameters), twin.gradients(at, parameters[0], up)
    elif name == "modrelu":
        value = complex_valued.modrelu(at, *parameters)
        by_z, *by_parameters = complex_valued.modrelu_gradients(at, parameters[0], up)
    elif name == "cardioid":
        value, by_z = complex_valued.cardioid(at), complex_valued.cardioid_gradients(at, up)
    elif name == "tanh":
        value = np.tanh(at.real) + 1j * np.tanh(at.imag)
        by_z = up.real * (1 - value.real**2) + 1j * up.imag * (1 - value.imag**2)
    else:
        d, kernel = oracle.equispaced(20, 3.0), oracle.Gaussian(module.activation.gamma)
        alpha = parameters[0].reshape(3, 2, 20)
        sides = [oracle.kaf(part, alpha[:, k], d, kernel) for k, part in enumerate((at.real, at.imag))]
        grads = [
            oracle.kaf_gradients(part, alpha[:, k], d, kernel, side)
            for k, (part, side) in enumerate(((at.real, up.real), (at.imag, up.imag)))
        ]
        value, by_z = sides[0] + 1j * sides[1], grads[0].s + 1j * grads[1].s
        by_parameters = [np.stack([each.alpha for each in grads], 1).reshape(6, 20)]
    np.testing.assert_allclose(output.detach().numpy(), value, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(z.grad.numpy(), by_z, rtol=1e-8, atol=1e-9)
    for found, wanted in zip(own, by_parameters, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_wirtingers_derivatives(name: str) -> None:
    module, z = modules(torch.complex128)[name], normal(3, 3)
    assert torch.autograd.gradcheck(lambda z, *_: module(z), (z, *module.parameters()))


@pytest.mark.parametrize("name", NAMES)
def test_types_axes_and_layouts(name: str) -> None:
    single, double = modules(torch.complex64)[name], modules(torch.complex128)[name]
    for parameter, exact in zip(single.parameters(), double.parameters(), strict=True):
        assert parameter.dtype.is_complex is exact.dtype.is_complex is (name in KERNELS)
    z = torch.randn(4, 3, dtype=torch.complex64)
    assert single(z).dtype is torch.complex64
    scale = double(z.to(torch.complex128)).abs().max().item()
    torch.testing.assert_close(
        single(z).to(torch.complex128), double(z.to(torch.complex128)), rtol=0, atol=2e-5 * scale
    )
    torch.testing.assert_close(single(z.conj()), single(z.conj().resolve_conj()))
    torch.testing.assert_close(single(z.T.contiguous().T), single(z))
    image = torch.randn(2, 3, 4, 5, dtype=torch.complex64)
    rows = image.movedim(1, -1).reshape(-1, 3)
    torch.testing.assert_close(single(image), single(rows).reshape(2, 4, 5, 3).movedim(-1, 1))
    with pytest.raises(TypeError, match="complex64 and complex128"):
        single(torch.randn(4, 3))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("start", STARTS)
def test_starts_are_the_oracles(kernel: Any, start: str) -> None:
    module = kafnets.nn.ComplexKAF(2, dictionary_size=6, kernel=kernel, init=start, dtype=torch.complex128)
    twin = complex_valued.ComplexKAF(kernel, module.gamma, 6, 3.0)
    targets = STARTS[start](torch.from_numpy(twin.elements)).numpy()
    for alpha in module.alpha.detach().numpy():
        np.testing.assert_allclose(alpha, twin.start(targets, RIDGE), rtol=1e-6, atol=1e-8)


def test_it_starts_near_what_it_should_follow() -> None:
    axis = torch.linspace(-3, 3, 31, dtype=torch.float64)
    z = torch.complex(*torch.meshgrid(axis, axis, indexing="ij")).reshape(-1, 1)
    for start in ("split_relu", "modrelu", "cardioid", "split_tanh"):
        module = kafnets.nn.ComplexKAF(1, init=start, dtype=torch.complex128)
        assert (module(z) - STARTS[start](z)).abs().square().mean().sqrt() < 0.06
    split = kafnets.nn.SplitKAF(1, init="relu")
    assert (split(z) - STARTS["split_relu"](z)).abs().square().mean().sqrt() < 0.06
    # No holomorphic function is near split ReLU.
    module = kafnets.nn.ComplexKAF(1, kernel="complex_gaussian", init="split_relu", dtype=torch.complex128)
    assert (module(z) - STARTS["split_relu"](z)).abs().square().mean().sqrt() > 0.3


def test_training_storing_and_regularizing() -> None:
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(2, 4, dtype=torch.complex64), kafnets.nn.ComplexKAF(4))
    again = copy.deepcopy(net)
    z = torch.randn(32, 2, dtype=torch.complex64)
    optimizer = torch.optim.Adam(kafnets.param_groups(net, weight_decay=1e-4), 0.01)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = (net(z) - z.sum(1, keepdim=True)).abs().square().mean() + 1e-6 * kafnets.penalty(net, p=2)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    again.load_state_dict(net.state_dict())
    assert torch.equal(again(z), net(z))
    alpha = net[1].alpha
    assert isinstance(alpha, Tensor)
    torch.testing.assert_close(kafnets.penalty(net, p=2), torch.view_as_real(alpha).square().sum())


def test_first_values_have_the_papers_variance() -> None:
    module = kafnets.nn.ComplexKAF(100, generator=torch.Generator().manual_seed(1))
    assert module.alpha.detach().abs().square().mean().item() == pytest.approx(0.3, rel=0.05)


def test_zero_has_finite_gradients() -> None:
    for module in modules(torch.complex64).values():
        z = torch.zeros(2, 3, dtype=torch.complex64, requires_grad=True)
        module(z).abs().square().sum().backward()
        assert z.grad is not None
        assert z.grad.isfinite().all()


def test_mistakes_are_named() -> None:
    for options in ({"kernel": "polynomial"}, {"init": "relu"}):
        with pytest.raises(ValueError, match=r"(kernel|init) must be"):
            kafnets.nn.ComplexKAF(3, **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dtype must be"):
        kafnets.nn.ComplexKAF(3, dtype=torch.float32)
    with pytest.raises(ValueError, match="num_features=3 along dim=1"):
        kafnets.nn.ComplexKAF(3)(torch.randn(2, 4, dtype=torch.complex64))
    with pytest.raises(ValueError, match="SplitKAF was built for num_features=3 along dim=1"):
        kafnets.nn.SplitKAF(3)(torch.zeros(2, 4, dtype=torch.complex64))


def test_compiled_in_one_graph() -> None:
    torch.manual_seed(1)
    module, z = kafnets.nn.ComplexKAF(3, dictionary_size=4), torch.randn(5, 3, dtype=torch.complex64)
    compiled: Any = torch.compile(module, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(z), module(z))


def test_the_bias_of_modrelu_is_reset() -> None:
    module = kafnets.nn.ModReLU(3, bias=-0.5, device="meta").to_empty(device="cpu")
    module.reset_parameters()
    assert module.bias.tolist() == [-0.5] * 3
