"""Derivatives of KAFs of higher order: kernels against the oracle, and all that autograd makes of them."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import kafnets
from kafnets import KAF, Base, Dictionary, Expansion, Gaussian
from kafnets.expansion import Tails
from kafnets.ops import native
from kafnets.ops.kaf import KAFFormula
from kafnets.ops.kaf_slopes import KAFSlopes, slope_of
from tests import oracle
from tests.nn.agreement import ROUNDINGS, expect_kaf
from tests.ops.cases import GAMMA, RUNNABLE

pytestmark = pytest.mark.skipif(not RUNNABLE, reason="the native kernels were not built")

MODULES: list[Any] = [
    pytest.param({}, id="zero"),
    pytest.param({"tails": "constant"}, id="constant"),
    pytest.param({"tails": "linear"}, id="linear"),
    pytest.param({"base": "silu"}, id="base"),
    pytest.param({"base": Base("gelu", "residual"), "tails": "linear"}, id="residual"),
    pytest.param({"base": Base("tanh", "weighted")}, id="weighted"),
    pytest.param({"kernel": Gaussian(learn_gamma=True)}, id="learned"),
    pytest.param({"kernel": Gaussian(learn_gamma="neuron")}, id="learned-by-neuron"),
]
FIXED = MODULES[:6]
"""Those with a fixed bandwidth, which function transforms can take."""


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def slopes(size: int, gamma: float, order: int, tails: Tails = "zero") -> KAFSlopes:
    return slope_of(Expansion(Gaussian(gamma), Dictionary.equispaced(size, 3.0), tails=tails), order)


def run(runner: native.Kernels, formula: KAFSlopes, s: Tensor, table: Tensor, u: Tensor) -> list[Tensor]:
    by_s, by_table = runner.backward(formula, u, s, table, 1, (True, True))
    assert by_s is not None
    assert by_table is not None
    return [runner.forward(formula, s, table, 1), by_s, by_table]


@pytest.mark.usefixtures("poisoned_memory")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("tails", ["zero", "constant", "linear"])
def test_slopes(kernels: native.Kernels, order: int, dtype: torch.dtype, tails: Tails) -> None:
    for shape, size, gamma in [
        ((5, 31), 20, GAMMA), ((300, 3), 20, GAMMA), ((3, 5, 33), 20, GAMMA), ((9, 17), 2, 0.1),
        ((9, 17), 80, 26.0), ((9, 17), 7, 1e3), ((9, 17), 60, 0.01),
    ]:  # fmt: skip
        s = 2.5 * torch.randn(shape, dtype=dtype)
        alpha, u = torch.randn(shape[1], size, dtype=dtype), torch.randn(shape, dtype=dtype)
        found = run(kernels, slopes(size, gamma, order, tails), s, alpha, u)
        rows = s.double().movedim(1, -1).numpy()
        at = rows if tails == "zero" else np.clip(rows, -3.0, 3.0)
        outside = at != rows
        # Linear tails go on with the slope of the edge, and have no further derivatives.
        flat = outside & (tails == "constant" or order > 1)
        upstream = np.where(flat, 0.0, u.double().movedim(1, -1).numpy())
        kernel, elements = oracle.GaussianDerivative(gamma, order), oracle.equispaced(size, 3.0)
        value, by_s, by_alpha = expect_kaf(at, alpha.double().numpy(), elements, kernel, upstream, dtype)
        value.values[flat] = 0.0
        by_s.values[outside] = 0.0
        value.check(found[0].movedim(1, -1), "output")
        by_s.check(found[1].movedim(1, -1), "input gradient")
        by_alpha.check(found[2], "coefficient gradient")


@pytest.mark.usefixtures("poisoned_memory")
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_slopes_by_bandwidth(kernels: native.Kernels, order: int) -> None:
    expansion = Expansion(Gaussian(1.0, "neuron"), Dictionary.equispaced(20, 3.0))
    elements = oracle.equispaced(20, 3.0)
    for dtype, tolerance in ((torch.float32, 3e-6), (torch.float64, 1e-14)):
        for shape in ((300, 9), (7, 3, 20)):
            s, u = 1.5 * torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype)
            gamma = 1.0 + torch.rand(shape[1], dtype=dtype)
            alpha = torch.randn(shape[1], 20, dtype=dtype)
            table = torch.cat([alpha, gamma.unsqueeze(1)], 1)
            value, by_s, by_table = run(kernels, slope_of(expansion, order), s, table, u)
            kernel = oracle.GaussianDerivative(gamma.double().numpy()[:, None], order)
            at, upstream = (each.double().movedim(1, -1).numpy() for each in (s, u))
            right = oracle.kaf_gradients(at, alpha.double().numpy(), elements, kernel, upstream)
            assert right.gamma is not None
            for one, other in (
                (value.movedim(1, -1), oracle.kaf(at, alpha.double().numpy(), elements, kernel)),
                (by_s.movedim(1, -1), right.s),
                (by_table[:, :-1], right.alpha),
            ):
                np.testing.assert_allclose(one.numpy(), other, rtol=0, atol=tolerance * np.abs(other).max())
            # Terms of both signs nearly cancel here: what may be lost is a share of their absolute values.
            terms = (
                kernel.gamma_derivative(at[..., None], elements)
                * alpha.double().numpy()
                * upstream[..., None]
            )
            sizes = np.abs(terms).sum((-1, *range(at.ndim - 1)))
            lost = ROUNDINGS * (1 + order) * torch.finfo(dtype).eps * sizes
            error = np.abs(by_table[:, -1].double().numpy() - right.gamma)
            assert (error <= lost).all(), (error / lost).max()


@pytest.mark.parametrize("order", [1, 2, 3, 6])
@pytest.mark.parametrize("learned", [False, True])
def test_nan_and_infinity(kernels: native.Kernels, order: int, learned: bool) -> None:
    kernel = Gaussian(1.0, "neuron") if learned else Gaussian(1.0)
    formula = slope_of(Expansion(kernel, Dictionary.equispaced(20, 3.0)), order)
    table = torch.rand(40, 20 + learned) + 0.5
    s = torch.randn(6, 40)
    s[0], s[1], s[2], s[3] = math.nan, math.inf, -math.inf, 1e15
    value, by_s, by_table = run(kernels, formula, s, table, torch.ones_like(s))
    for each in (value, by_s):
        assert each[0].isnan().all()
        assert (each[1:4] == 0).all()
        assert each[4:].isfinite().all()
    assert by_table.isnan().any()
    assert run(kernels, formula, s[1:], table, torch.ones_like(s[1:]))[2].isfinite().all()


def small(options: dict[str, Any]) -> nn.Module:
    module = KAF(6, dictionary_size=5, boundary=1.0, **options).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return module


def up_to_third(module: nn.Module, s: Tensor, upstream: Tensor) -> list[Tensor]:
    inputs = [s, *module.parameters()]
    found = [module(s)]
    total = (found[0] * upstream).sum()
    for _ in range(3):
        gradients = torch.autograd.grad(total, inputs, create_graph=True)
        total = torch.stack([(each.sin() + each.square()).sum() for each in gradients]).sum()
        found += gradients
    return found


@pytest.mark.parametrize("options", MODULES)
@pytest.mark.parametrize("shape", [(7, 6), (3, 6, 4)])
def test_three_derivatives_agree_with_the_composites(options: dict[str, Any], shape: tuple[int, ...]) -> None:
    module, s = small(options), torch.randn(shape, dtype=torch.float64, requires_grad=True)
    upstream = torch.randn(shape, dtype=torch.float64)
    found = up_to_third(module, s, upstream)
    with kafnets.use_backend("composite"):
        torch.testing.assert_close(found, up_to_third(module, s, upstream), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("options", MODULES)
def test_third_derivatives_against_differences(options: dict[str, Any]) -> None:
    module, s = small(options), torch.randn(2, 6, dtype=torch.float64, requires_grad=True)

    def slope(s: Tensor, *parameters: Tensor) -> Any:
        return torch.autograd.grad(module(s).square().sum(), s, create_graph=True)[0]

    inputs = (s, *module.parameters())
    assert torch.autograd.gradcheck(slope, inputs)
    assert torch.autograd.gradgradcheck(slope, inputs)


def step(model: nn.Module, x: Tensor) -> None:
    """Of a physics-informed network: u, u_x and u_xx."""
    x = x.clone().requires_grad_()
    u = model(x)
    (u_x,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
    (u_xx + u * u_x).square().mean().backward()


@pytest.mark.parametrize("options", MODULES)
def test_a_physics_informed_step_takes_native_kernels_only(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = nn.Sequential(nn.Linear(2, 6), KAF(6, **options), nn.Linear(6, 1)).double()
    x = torch.randn(9, 2, dtype=torch.float64)
    with kafnets.use_backend("composite"):
        step(model, x)
    expected = [parameter.grad for parameter in model.parameters()]
    model.zero_grad()
    forbid_plain_formulas(monkeypatch)
    step(model, x)
    torch.testing.assert_close([parameter.grad for parameter in model.parameters()], expected)


def forbid_plain_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("the plain formula was run")

    monkeypatch.setattr(KAFFormula, "plain", refuse)
    monkeypatch.setattr(KAFSlopes, "plain", refuse)


@pytest.mark.parametrize("options", FIXED)
def test_function_transforms_take_native_kernels(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, s = small(options), torch.randn(3, 6, dtype=torch.float64)
    parameters = {name: each.detach() for name, each in module.named_parameters()}
    several = {name: torch.stack([each, 2 * each]) for name, each in parameters.items()}

    def apply(parameters: dict[str, Tensor], s: Tensor) -> Any:
        return torch.func.functional_call(module, parameters, (s.unsqueeze(0),)).squeeze(0)

    def loss(parameters: dict[str, Tensor], s: Tensor) -> Tensor:
        return torch.as_tensor(apply(parameters, s)).sin().sum()

    def transforms() -> list[Any]:
        func = torch.func
        return [
            func.grad(loss)(parameters, s[0]),
            func.vmap(func.grad(loss), (None, 0))(parameters, s),
            func.vmap(apply, (0, None))(several, s[0]),
            func.vmap(func.grad(loss), (0, None))(several, s[0]),
            func.vmap(func.vmap(loss, (None, 0)), (0, None))(several, s),
            func.jvp(lambda s: apply(parameters, s), (s[0],), (s[1],)),
            func.jvp(lambda p: apply(p, s[0]), (parameters,), (parameters,)),
            func.jacrev(apply, 1)(parameters, s[0]),
            func.jacfwd(apply, 1)(parameters, s[0]),
            func.hessian(loss, 0)(parameters, s[0]),
            func.hessian(loss, 1)(parameters, s[0]),
            func.jacfwd(func.grad(loss), 1)(parameters, s[0]),
            func.jacrev(func.jacrev(func.jacfwd(loss, 1), 1), 1)(parameters, s[0]),
            func.jacrev(func.jacfwd(func.jacrev(loss, 1), 1), 1)(parameters, s[0]),
        ]

    def nested_forward_mode() -> list[Any]:
        jacfwd = torch.func.jacfwd
        return [
            jacfwd(jacfwd(loss, 1), 1)(parameters, s[0]),
            jacfwd(jacfwd(torch.func.grad(loss, 1), 1), 1)(parameters, s[0]),
        ]

    with kafnets.use_backend("composite"):
        expected, nested = transforms(), nested_forward_mode()
    torch.testing.assert_close(nested_forward_mode(), nested)  # in which torch's own formulas must be seen
    forbid_plain_formulas(monkeypatch)
    torch.testing.assert_close(transforms(), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("options", MODULES)
def test_batched_gradients(options: dict[str, Any]) -> None:
    module, s = small(options), torch.randn(2, 6, dtype=torch.float64)

    def slopes_of(s: Tensor) -> Tensor:
        return torch.autograd.grad(module(s).sum(), s, create_graph=True)[0]

    one_by_one = torch.autograd.functional.jacobian(slopes_of, s)
    together = torch.autograd.functional.jacobian(slopes_of, s, vectorize=True)
    torch.testing.assert_close(together, one_by_one)


def test_gradients_nobody_asks_for_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    backward = native.Kernels.backward
    module, x = KAF(6), torch.randn(3, 6, requires_grad=True)
    wanted = []

    def watched(self: native.Kernels, *arguments: Any) -> Any:
        wanted.append(arguments[-1])
        return backward(self, *arguments)

    monkeypatch.setattr(native.Kernels, "backward", watched)
    torch.autograd.grad(module(2 * x).sum(), x, create_graph=True)
    assert not wanted
    torch.autograd.grad(module(2 * x).sum(), [x, module.alpha], create_graph=True)
    assert wanted == [(False, True)]


def test_half_precision() -> None:
    module, s = KAF(6), torch.randn(5, 6)
    results = []
    for dtype in (torch.float32, torch.bfloat16):
        x = s.to(torch.bfloat16).to(dtype).requires_grad_()
        (slope,) = torch.autograd.grad(module(x).sum(), x, create_graph=True)
        results.append(torch.autograd.grad(slope.float().square().sum(), [x, module.alpha]))
        assert slope.dtype == dtype
    torch.testing.assert_close(results[1][0].float(), results[0][0], rtol=0.05, atol=0.05)
    torch.testing.assert_close(results[1][1], results[0][1], rtol=0.05, atol=0.05)
