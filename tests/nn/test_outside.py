"""Tails and base functions: KAFs that stay in range."""

import itertools
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor

import kafnets
from kafnets import KAF, KAF2D, Base, EdgewiseKAF, Expansion, Gaussian, Normal, Polynomial, Softplus
from kafnets.fixed_functions import FUNCTIONS
from kafnets.ops import native
from kafnets.ops.fixed_functions import TORCH_FUNCTIONS
from tests import oracle
from tests.oracle.outside import kaf_outside

TAILS: list[Any] = ["zero", "constant", "linear"]
FORMS: list[Any] = ["fixed", "weighted", "residual"]
RUNNABLE = [name for name in native.INSTRUCTION_SETS if native.load(name).module is not None]
SETTINGS = [(tails, None, "fixed") for tails in TAILS] + [
    (tails, function, form)
    for tails, form, function in itertools.product(("zero", "linear"), FORMS, sorted(FUNCTIONS))
]


@pytest.fixture(params=[*RUNNABLE, "portable", "composite"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param not in RUNNABLE:
        return str(request.param)
    module = native.load(request.param).module
    assert module is not None
    monkeypatch.setattr(native, "kernels", native.Kernels(module))
    return "auto"


def build(tails: Any, function: str | None, form: Any, **options: Any) -> KAF:
    base = None if function is None else Base(function, form)
    generator = torch.Generator().manual_seed(3)
    kaf = KAF(7, tails=tails, base=base, init=Normal(0.5), dim=-1, generator=generator, **options)
    if kaf.base_weight is not None:
        with torch.no_grad():
            kaf.base_weight.uniform_(0.5, 1.5, generator=generator)
    return kaf


def activations(*shape: int, dtype: torch.dtype) -> Tensor:
    """Some at both edges, many outside."""
    s = 2.5 * torch.randn(shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    s.view(-1)[:2] = torch.tensor([-3.0, 3.0], dtype=torch.float64)
    return s.to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_and_gradients_equal_the_oracle(backend: str, dtype: torch.dtype) -> None:
    for tails, function, form in SETTINGS:
        kaf = build(tails, function, form, dtype=dtype)
        for shape in ((33, 7), (3, 5, 7), (700, 7)):  # by formula, and by table
            with kafnets.use_backend(backend):
                assert_equals_the_oracle(kaf, activations(*shape, dtype=dtype))


def assert_equals_the_oracle(kaf: KAF, s: Tensor) -> None:
    """Value, and gradients by input and parameters; channels last."""
    for actual, right in compare(kaf, s, s.flip(0)):
        error = np.abs(actual - right).max()
        assert error <= 32 * torch.finfo(s.dtype).eps * (1 + np.abs(right).max()), kaf


def compare(kaf: KAF, s: Tensor, upstream: Tensor) -> list[tuple[Any, Any]]:
    """Value and gradients, each with the oracle's."""
    s = s.detach().requires_grad_()
    result = kaf(s)
    found = torch.autograd.grad(result, [s, *kaf.parameters()], upstream)
    base = kaf.expansion.base
    expected = kaf_outside(
        s.detach().double().numpy(),
        kaf.alpha.detach().double().numpy(),
        kaf.expansion.dictionary.elements,
        oracle.twin(kaf.kernel),
        upstream.double().numpy(),
        tails=kaf.expansion.tails,
        function=None if base is None else base.function,
        form="fixed" if base is None else base.form,
        weight=None if kaf.base_weight is None else kaf.base_weight.detach().double().numpy(),
    )
    actual = [each.detach().double().numpy() for each in (result, *found)]
    return list(zip(actual, filter(lambda e: e is not None, expected), strict=True))


@pytest.mark.parametrize("rows", [12, 700])  # by formula, and by table
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_far_from_the_dictionary(backend: str, dtype: torch.dtype, rows: int) -> None:
    """One huge input per channel: neither it nor what the others add is lost. A weight of 1 is the base."""
    close = 1e-4 if dtype is torch.float32 else 1e-9
    for tails, function, form in SETTINGS:
        if tails == "linear" and form != "fixed" and rows == 700:
            continue  # in the tables' float32 sums one huge input hides what others add
        kaf = build(tails, function, form, dtype=dtype)
        if kaf.base_weight is not None:
            torch.nn.init.ones_(kaf.base_weight[::2])
        s = activations(rows, 7, dtype=dtype)
        s[3, :3], s[4, 4:] = 1e30, -1e30
        with kafnets.use_backend(backend):
            for actual, right in compare(kaf, s, torch.ones_like(s)):
                np.testing.assert_allclose(actual, right, rtol=close, atol=close * rows, err_msg=str(kaf))


@pytest.mark.parametrize(
    "kernel", [None, Gaussian(learn_gamma="neuron"), Polynomial(2), Softplus()], ids=repr
)
@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("base", [None, "mish", Base("elu", "weighted"), Base("tanh", "residual")])
def test_first_and_second_derivatives(kernel: Any, tails: Any, base: Any) -> None:
    kaf = KAF(
        3, dictionary_size=5, tails=tails, base=base, kernel=kernel, init=Normal(0.5), dtype=torch.float64
    )
    names = [name for name, _ in kaf.named_parameters()]
    s = 3 * torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    inputs = (s.requires_grad_(), *(each.detach().clone().requires_grad_() for each in kaf.parameters()))

    def run(s: Tensor, *parameters: Tensor) -> Any:
        return torch.func.functional_call(kaf, dict(zip(names, parameters, strict=True)), s)

    assert torch.autograd.gradcheck(run, inputs)
    assert torch.autograd.gradgradcheck(run, inputs)


@pytest.mark.parametrize("tails", ["constant", "linear"])
def test_tails_are_continuous_at_the_edges(tails: Any) -> None:
    kaf = KAF(1, tails=tails, dtype=torch.float64)
    for edge in (-3.0, 3.0):
        near = torch.tensor([[edge * (1 - 1e-9)], [edge], [edge * (1 + 1e-9)]], dtype=torch.float64)
        values = kaf(near)
        torch.testing.assert_close(values, values[1:2].expand_as(values), rtol=0, atol=1e-7)
        far = kaf(torch.tensor([[edge], [2 * edge], [3 * edge]], dtype=torch.float64)).squeeze()
        if tails == "constant":
            assert far[0] == far[1] == far[2]
        else:
            torch.testing.assert_close(far[2] - far[1], far[1] - far[0])


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_base_is_what_is_begun_with_to_the_last_bit(name: str, dtype: torch.dtype) -> None:
    s = activations(500, 16, dtype=dtype)
    kaf = KAF(16, base=name, tails="linear", dtype=dtype)
    assert not kaf.alpha.any()
    assert torch.equal(kaf(s), TORCH_FUNCTIONS[name](s))
    assert torch.equal(kaf(s[:1]), TORCH_FUNCTIONS[name](s[:1]))
    (gradient,) = torch.autograd.grad(kaf(s).sum(), kaf.alpha)
    assert gradient.any()


def test_a_ridge_start_makes_up_the_difference_to_the_base() -> None:
    kaf = KAF(1, base="silu", init="tanh", dtype=torch.float64)
    s = kaf.dictionary.unsqueeze(1)
    torch.testing.assert_close(kaf(s), torch.tanh(s), rtol=0, atol=1e-4)


def test_compiled_and_exported() -> None:
    kaf, s = build("linear", "silu", "weighted"), activations(9, 7, dtype=torch.float32)
    torch.compiler.reset()
    torch.testing.assert_close(torch.compile(kaf, fullgraph=True, backend="aot_eager")(s), kaf(s))
    program = torch.export.export(kaf, (s,))
    torch.testing.assert_close(program.module()(s), kaf(s), rtol=1e-5, atol=1e-5)


def test_another_setting_is_refused_when_loading() -> None:
    plain, other = KAF(4), KAF(4, tails="linear", base="silu")
    with pytest.raises(RuntimeError, match=r"stored with tails='linear', base=silu.*built with tails='zero'"):
        plain.load_state_dict(other.state_dict())
    with pytest.raises(RuntimeError, match=r"stored with tails='zero', base=None.*built with tails='linear'"):
        other.load_state_dict(plain.state_dict())
    again = KAF(4, tails="linear", base="silu", init=Normal())
    other.load_state_dict(again.state_dict())
    torch.testing.assert_close(other(torch.ones(2, 4)), again(torch.ones(2, 4)))


def test_functional_and_shared() -> None:
    s = activations(9, 6, dtype=torch.float64)
    kaf = KAF(6, groups=2, tails="linear", base=Base("silu", "weighted"), init=Normal(), dtype=torch.float64)
    result = kafnets.functional.kaf(s, kaf.alpha, kaf.expansion, weight=kaf.base_weight)
    torch.testing.assert_close(kaf(s), result)
    with pytest.raises(ValueError, match="needs weight, one per function"):
        kafnets.functional.kaf(s, kaf.alpha, kaf.expansion)
    with pytest.raises(ValueError, match="has no weight"):
        kafnets.functional.kaf(s, kaf.alpha, weight=kaf.base_weight)


def test_edgewise_layers_have_tails() -> None:
    layer = EdgewiseKAF(2, 3, tails="linear", dtype=torch.float64)
    far = torch.tensor([[3.0, 0.0], [6.0, 0.0], [9.0, 0.0]], dtype=torch.float64)
    values = layer(far)
    torch.testing.assert_close(values[2] - values[1], values[1] - values[0])


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda: KAF(2, tails=cast(Any, "flat")),
            ValueError,
            "tails must be one of 'zero', 'constant', 'linear', got 'flat'",
        ),
        (lambda: KAF(2, base="sliu"), ValueError, "base 'sliu' is not known: did you mean 'silu'"),
        (
            lambda: KAF(2, base=cast(Any, torch.tanh)),
            TypeError,
            "base must be a name, a kafnets.Base or None",
        ),
        (
            lambda: Base("silu", cast(Any, "learned")),
            ValueError,
            "form must be one of 'fixed', 'weighted', 'residual'",
        ),
        (lambda: KAF2D(2, tails="linear"), ValueError, "a 2D-KAF has neither"),
        (lambda: KAF2D(2, base="silu"), ValueError, "a 2D-KAF has neither"),
    ],
)
def test_mistakes_are_named(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_part_of_the_one_description() -> None:
    kaf = KAF(3, tails="linear", base="silu")
    assert kaf.expansion == Expansion.of(tails="linear", base="silu")
    assert hash(kaf.expansion) == hash(Expansion.of(tails="linear", base=Base("silu")))
    assert "tails='linear', base='silu'" in repr(kaf)


def test_the_identity_is_a_tensor_of_its_own() -> None:
    s = torch.ones(2, 3)
    with torch.no_grad():
        KAF(3, base="identity")(s).zero_()
    assert s.all()
