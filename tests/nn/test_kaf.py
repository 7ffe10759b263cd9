"""KAF as a module, and what KAF2D shares with it: construction, errors, infinities, storage."""

import copy
import io
import math
import pickle
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import nn

import kafnets
from kafnets import KAF, KAF2D, Gaussian, Normal, Periodic, Polynomial, ReLUKernel, Ridge, Softplus
from tests import oracle
from tests.nn.derivatives import check_derivatives

KERNELS = [Gaussian(), Gaussian(learn_gamma=True), Polynomial(3), ReLUKernel(), Softplus(), Periodic()]
MODULES: list[Any] = [
    pytest.param(lambda: KAF(6), id="KAF"),
    pytest.param(lambda: KAF(6, kernel=Gaussian(learn_gamma="neuron")), id="KAF-learned"),
    pytest.param(lambda: KAF2D(6), id="KAF2D"),
]


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def network(layer: type[KAF] | type[KAF2D], hidden_layers: int) -> nn.Module:
    layers: list[nn.Module] = []
    width = 18
    for _ in range(hidden_layers):
        layers += [nn.Linear(width, 300), layer(300)]
        width = 300 if layer is KAF else 150
    return nn.Sequential(*layers, nn.Linear(width, 1))


@pytest.mark.parametrize(
    ("layer", "hidden_layers", "published"),
    [(KAF, 1, 12001), (KAF, 2, 108301), (KAF2D, 1, 20851), (KAF2D, 2, 81151)],
)
def test_parameter_counts_of_the_papers_susy_networks(
    layer: type[KAF], hidden_layers: int, published: int
) -> None:
    assert count(network(layer, hidden_layers)) == published


def test_defaults_are_the_papers() -> None:
    kaf, kaf2d = KAF(50_000), KAF2D(1000)
    assert kaf.alpha.shape == (50_000, 20)
    assert kaf.dictionary.shape == (20,)
    assert kaf.dictionary[0] == -3.0
    assert kaf.dictionary[-1] == 3.0
    assert kaf.gamma == pytest.approx(1 / (6 * (6 / 19) ** 2), rel=1e-14)
    assert kaf.alpha.var().item() == pytest.approx(0.3, rel=0.01)
    assert kaf.alpha.mean().item() == pytest.approx(0.0, abs=0.005)
    assert kaf2d.alpha.shape == (500, 10, 10)
    assert kaf2d.gamma == pytest.approx(math.sqrt(2) / (6 * (6 / 9) ** 2), rel=1e-14)


def test_the_authors_code() -> None:
    kaf = KAF(50_000, boundary=4.0, kernel=Gaussian(divisor=8.0), init=Normal(0.8))
    step = 8 / 19
    assert kaf.dictionary[-1] == 4.0
    assert kaf.gamma == pytest.approx(1 / (8 * step**2), rel=1e-14)
    assert kaf.alpha.std().item() == pytest.approx(0.8, rel=0.01)
    followed = KAF(2, boundary=4.0, kernel=Gaussian(divisor=8.0), init=Ridge("tanh", eps=1e-4))
    assert followed.init == Ridge("tanh", eps=1e-4)
    assert KAF(2, init="tanh").init == Ridge("tanh", eps=1e-6)


def test_bandwidth_can_be_fixed_or_learned() -> None:
    assert KAF(4, kernel=Gaussian(0.7)).gamma == 0.7
    assert KAF(4, kernel=Gaussian(0.7)).log_gamma is None
    for learn, shape in ((True, ()), ("shared", ()), ("neuron", (4,))):
        kaf = KAF(4, kernel=Gaussian(0.7, learn_gamma=learn))  # type: ignore[arg-type]
        assert isinstance(kaf.gamma, torch.Tensor)
        assert kaf.log_gamma is not None
        assert kaf.log_gamma.shape == shape
        torch.testing.assert_close(kaf.gamma, torch.full(shape, 0.7))
    assert KAF(4, kernel=Polynomial()).gamma is None


def test_learned_bandwidth_stays_positive() -> None:
    kaf = KAF(3, kernel=Gaussian(learn_gamma=True))
    optimizer = torch.optim.SGD(kaf.parameters(), lr=0.1)
    for _ in range(5):
        kaf(torch.randn(8, 3)).sum().backward()
        optimizer.step()
    assert kaf.gamma > 0  # type: ignore[operator]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: KAF(0), "num_features must be an integer ≥ 1, got 0"),
        (lambda: KAF(cast(Any, 2.0)), "num_features must be an integer ≥ 1, got 2.0"),
        (lambda: KAF(2, dictionary_size=1), "dictionary_size must be an integer ≥ 2, got 1"),
        (lambda: KAF(2, boundary=0.0), "boundary must be a positive finite number, got 0.0"),
        (lambda: KAF(2, dictionary=[0.0, 1.0, 3.0]), "not equispaced.*Gaussian\\(gamma=1.0\\)"),
        (lambda: KAF(2, dictionary=[0.0, 1.0, 1.0]), "strictly increasing"),
        (lambda: KAF(2, dictionary=[0.0, math.nan]), "finite values in strictly increasing"),
        (lambda: KAF(2, dictionary=[[0.0, 1.0]]), "along one axis, got shape \\(1, 2\\)"),
        (lambda: KAF(3, init=[Normal()] * 2), "one for each of the 3 neurons, got 2"),
        (lambda: Gaussian(-1.0), "gamma must be a positive finite number or None, got -1.0"),
        (lambda: Gaussian(learn_gamma=cast(Any, "layer")), "learn_gamma must be.*got 'layer'"),
        (lambda: Polynomial(0), "degree must be an integer ≥ 1, got 0"),
        (lambda: Periodic(period=0.0), "period must be a positive finite number, got 0.0"),
    ],
)
def test_constructor_errors_say_what_would_work(build: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        build()


@pytest.mark.parametrize(
    ("module", "shape", "words"),
    [
        (KAF(64), (8, 32), "num_features=64 along dim=1, but the input of shape \\(8, 32\\) has 32"),
        (KAF2D(64, dim=-1), (8, 64, 9), "num_features=64 along dim=-1, but the input.*has 9"),
        (KAF(4), (4,), "channels along dim=1, but the input has shape \\(4,\\)"),
    ],
)
def test_wrong_shapes_name_both_sizes(module: nn.Module, shape: tuple[int, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        module(torch.zeros(shape))


def test_whole_numbers_are_refused() -> None:
    with pytest.raises(TypeError, match=r"floating-point tensor, got torch.int64.*\.float\(\)"):
        KAF(4)(torch.zeros(2, 4, dtype=torch.int64))
    with pytest.raises(TypeError, match="dtype must be a floating-point type"):
        KAF(4, dtype=torch.int64)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_nan_stays_nan_with_its_gradient(kernel: kafnets.Kernel) -> None:
    kaf = KAF(3, kernel=kernel, dtype=torch.float64)
    s = torch.full((1, 3), math.nan, dtype=torch.float64, requires_grad=True)
    result = kaf(s)
    result.sum().backward()
    assert result.isnan().all()
    assert s.grad is not None
    assert s.grad.isnan().all()
    assert kaf(torch.tensor([[0.0, math.nan, 0.0]], dtype=torch.float64)).isnan().tolist() == [
        [False, True, False]
    ]


@pytest.mark.parametrize("kernel", [Gaussian(), Gaussian(learn_gamma=True)], ids=repr)
@pytest.mark.parametrize("backend", ["auto", "portable", "composite"])
def test_gaussians_vanish_at_infinity(kernel: kafnets.Kernel, backend: str) -> None:
    kaf = KAF(3, kernel=kernel, dtype=torch.float64)
    with kafnets.use_backend(backend):
        for far in (-math.inf, math.inf, -1e80, 1e80):
            s = torch.full((1, 3), far, dtype=torch.float64, requires_grad=True)
            result = kaf(s)
            assert (result == 0).all()
            (by_s,) = torch.autograd.grad(result.sum(), s)
            assert (by_s == 0).all()


@pytest.mark.parametrize("kernel", [Gaussian(), ReLUKernel(), Softplus()], ids=repr)
def test_infinite_values_where_terms_vanish_leave_the_other_gradients_right(kernel: kafnets.Kernel) -> None:
    kaf = KAF(2, kernel=kernel, dtype=torch.float64)
    finite = torch.randn(5, 2, dtype=torch.float64)
    (expected,) = torch.autograd.grad(kaf(finite).sum(), kaf.alpha)
    with_infinity = torch.cat([finite, torch.full((1, 2), -math.inf, dtype=torch.float64)])
    (result,) = torch.autograd.grad(kaf(with_infinity).sum(), kaf.alpha)
    torch.testing.assert_close(result, expected)


@pytest.mark.parametrize("backend", ["auto", "portable", "composite"])
def test_the_slope_of_the_relu_kernel_at_its_kink_is_zero(backend: str) -> None:
    kaf = KAF(1, kernel=ReLUKernel(), dictionary=[-1.0, 0.0, 1.0], dtype=torch.float64)
    s = torch.tensor([[-1.0], [0.0], [1.0]], dtype=torch.float64, requires_grad=True)
    with kafnets.use_backend(backend):
        (by_s,) = torch.autograd.grad(kaf(s).sum(), s)
    first, second, _ = kaf.alpha.detach()[0]
    torch.testing.assert_close(by_s[:, 0], torch.stack([torch.zeros_like(first), first, first + second]))


def test_a_periodic_kernel_has_no_phase_at_infinity() -> None:
    for sign in (-1.0, 1.0):
        assert KAF(3, kernel=Periodic())(torch.full((1, 3), sign * math.inf)).isnan().all()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_first_and_second_derivatives(kernel: kafnets.Kernel) -> None:
    check_derivatives(KAF(2, dictionary_size=5, kernel=kernel, dtype=torch.float64))


@pytest.mark.parametrize("build", MODULES)
def test_copies_and_storage(build: Any) -> None:
    module, s = build(), torch.randn(5, 6)
    expected = module(s)
    assert torch.equal(copy.deepcopy(module)(s), expected)
    assert torch.equal(pickle.loads(pickle.dumps(module))(s), expected)
    stored = io.BytesIO()
    torch.save(module.state_dict(), stored)
    stored.seek(0)
    other = build()
    assert not torch.equal(other(s), expected)
    other.load_state_dict(torch.load(stored, weights_only=True))
    assert torch.equal(other(s), expected)
    other = build()
    other.load_state_dict(module.state_dict(), assign=True)
    assert torch.equal(other(s), expected)
    torch.testing.assert_close(module.double()(s.double()).float(), expected)


def test_loading_another_dictionary_is_refused() -> None:
    with pytest.raises(
        RuntimeError, match=r"stored with values from -4 to 4.*built with values from -3 to 3"
    ):
        KAF(4).load_state_dict(KAF(4, boundary=4.0).state_dict())


@pytest.mark.parametrize("build", MODULES)
def test_meta_device(build: Any) -> None:
    with torch.device("meta"):
        module = build()
    assert module.alpha.is_meta
    assert module(torch.empty(5, 6, device="meta")).shape[0] == 5
    module = module.to_empty(device="cpu")
    module.reset_parameters()
    result = module(torch.randn(5, 6))
    assert result.isfinite().all()
    torch.testing.assert_close(module.dictionary, build().dictionary)


def test_reset_parameters_follows_the_generator_and_leaves_the_global_one_alone() -> None:
    state = torch.random.get_rng_state()
    first = KAF(4, generator=torch.Generator().manual_seed(3))
    second = KAF(4, generator=torch.Generator().manual_seed(3))
    assert torch.equal(first.alpha, second.alpha)
    assert torch.equal(torch.random.get_rng_state(), state)
    second.reset_parameters()
    assert not torch.equal(first.alpha, second.alpha)
    torch.manual_seed(3)
    third = KAF(4)
    torch.manual_seed(3)
    assert torch.equal(third.alpha, KAF(4).alpha)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_gives_the_inputs_dtype_and_computes_in_float32(dtype: torch.dtype) -> None:
    kaf, s = KAF(6), torch.randn(50, 6).to(dtype)
    with torch.autocast("cpu", dtype=dtype):
        result = kaf(s)
        hidden = nn.Sequential(nn.Linear(6, 6), kaf)(torch.randn(3, 6))
    assert result.dtype == hidden.dtype == dtype
    assert torch.equal(result, kaf(s.float()).to(dtype))
    result.float().sum().backward()
    assert kaf.alpha.grad is not None
    assert kaf.alpha.grad.dtype == torch.float32


def test_repr_tells_the_settings() -> None:
    assert repr(KAF(8)) == "KAF(8, dictionary_size=20 in [-3, 3], kernel=Gaussian, gamma=1.671, dim=1)"
    assert "gamma=1.671 at first" in repr(KAF(8, kernel=Gaussian(learn_gamma=True)))
    assert repr(KAF2D(8, kernel=Periodic(), dim=-1)).endswith("kernel=Periodic, dim=-1)")


def test_own_dictionary_is_used() -> None:
    values = [-2.0, -0.5, 0.1, 4.0]
    kaf = KAF(3, dictionary=torch.tensor(values), kernel=Gaussian(0.5), dtype=torch.float64)
    assert kaf.dictionary_size == 4
    s = np.random.default_rng(0).normal(size=(7, 3))
    grid = np.asarray(torch.tensor(values).double())
    expected = oracle.kaf(s, kaf.alpha.detach().numpy(), grid, oracle.Gaussian(0.5))
    np.testing.assert_allclose(kaf(torch.from_numpy(s)).detach().numpy(), expected, rtol=1e-12)


def test_the_last_axis_is_suggested_where_it_fits() -> None:
    with pytest.raises(ValueError, match=r"has 7 there: for channels along the last axis, give dim=-1"):
        kafnets.KAF(16)(torch.randn(2, 7, 16))
    with pytest.raises(ValueError, match=r"has 7 there$"):
        kafnets.KAF(16)(torch.randn(2, 7, 5))
