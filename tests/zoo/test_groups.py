"""Functions that channels share, for every activation that takes ``groups``."""

import inspect
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import kafnets
from kafnets.ops import native
from kafnets.registry import find
from tests.zoo.cases import NAMES

SHARING = [name for name in NAMES if "groups" in inspect.signature(find(name)).parameters]
WIDTH = 12
BACKENDS = ["auto", "portable"] if native.kernels is not None else ["portable"]
LAYOUTS: dict[str, tuple[tuple[int, ...], int]] = {
    "rows": ((7, WIDTH), 1),
    "rows, last": ((7, WIDTH), -1),
    "sequences": ((3, WIDTH, 5), 1),
    "sequences, channels last": ((3, 5, WIDTH), -1),
    "images": ((2, WIDTH, 3, 4), 1),
    "channels_last": ((2, WIDTH, 3, 4), 1),
    "images, channels last": ((2, 3, 4, WIDTH), -1),
}

sharing = pytest.mark.parametrize("name", SHARING)


def functions(name: str) -> int:
    return WIDTH // 2 if name == "kaf2d" else WIDTH


def make(name: str, dtype: torch.dtype = torch.float64, **options: Any) -> nn.Module:
    """With every function another one."""
    module = kafnets.create(name, WIDTH, dtype=dtype, **options).eval()
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in module.parameters():
            moved = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(moved.to(parameter.dtype), alpha=0.3)
    return module


def repeated(name: str, shared: nn.Module, dtype: torch.dtype, **options: Any) -> nn.Module:
    """The module that has a copy of its function for every channel."""
    alone = kafnets.create(name, WIDTH, groups=functions(name), dtype=dtype, **options).eval()
    times = functions(name) // getattr(shared, "groups")  # noqa: B009
    with torch.no_grad():
        for (key, own), given in zip(alone.named_parameters(), shared.parameters(), strict=True):
            value = given.repeat_interleave(times, 0) if given.dim() else given
            assert own.shape == value.shape, key
            own.copy_(value)
    return alone


def gradients(module: nn.Module, s: Tensor, upstream: Tensor | None) -> tuple[Tensor, Tensor, list[Tensor]]:
    leaf = s.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    result = module(leaf)
    weights = torch.ones_like(result) if upstream is None else upstream
    by_s, *by_parameters = torch.autograd.grad(result, [leaf, *module.parameters()], weights)
    return result, by_s, by_parameters


def test_those_that_share() -> None:
    assert {"kaf", "kaf2d", "apl", "srelu", "saf", "paf", "hermite", "prelu"} <= set(SHARING)


@sharing
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("groups", [1, 3])
def test_equals_repeated_functions(
    name: str, layout: str, dtype: torch.dtype, backend: str, groups: int
) -> None:
    shape, dim = LAYOUTS[layout]
    shared = make(name, dtype, groups=groups, dim=dim)
    alone = repeated(name, shared, dtype, dim=dim)
    s = 1.5 * torch.randn(shape, dtype=dtype)
    if layout == "channels_last":
        s = s.contiguous(memory_format=torch.channels_last)
    with kafnets.use_backend(backend):
        upstream = torch.randn_like(alone(s))
        result, by_s, by_parameters = gradients(shared, s, upstream)
        expected, expected_by_s, expected_by_parameters = gradients(alone, s, upstream)
    rtol, atol = (1e-5, 1e-5) if dtype is torch.float32 else (1e-10, 1e-11)
    assert result.stride() == expected.stride()
    torch.testing.assert_close(result, expected, rtol=rtol, atol=atol)
    torch.testing.assert_close(by_s, expected_by_s, rtol=rtol, atol=atol)
    for own, each in zip(by_parameters, expected_by_parameters, strict=True):
        summed = each.unflatten(0, (groups, -1)).sum(1) if own.dim() else each
        torch.testing.assert_close(own, summed, rtol=rtol, atol=20 * atol)


@sharing
def test_one_function_for_any_number_of_channels(name: str) -> None:
    module = find(name)(dim=-1, dtype=torch.float64).eval()
    assert all(len(parameter) == 1 for parameter in module.parameters() if parameter.dim())
    for width in (2, WIDTH):
        alone = kafnets.create(name, width, dim=-1, dtype=torch.float64).eval()
        with torch.no_grad():
            for own, given in zip(alone.parameters(), module.parameters(), strict=True):
                own.copy_(given.expand_as(own))
        s = torch.randn(5, 3, width, dtype=torch.float64)
        torch.testing.assert_close(module(s), alone(s))


@sharing
@pytest.mark.parametrize("options", [{}, {"inplace": True}])
def test_built_as_other_libraries_build_activations(name: str, options: dict[str, bool]) -> None:
    """timm calls a class without a width, or with ``inplace`` alone."""
    module = find(name)(**options).eval()
    halves = 2 if name == "kaf2d" else 1
    s = torch.randn(2, 6, 4, 4)
    kept = s.clone()
    assert module(s).shape == (2, 6 // halves, 4, 4)
    assert torch.equal(s, kept)
    assert module(torch.randn(3, 10)).shape == (3, 10 // halves)


@sharing
def test_state_dict_and_repr(name: str) -> None:
    shared, other = make(name, groups=3), kafnets.create(name, WIDTH, groups=3, dtype=torch.float64).eval()
    s = torch.randn(4, WIDTH, dtype=torch.float64)
    other.load_state_dict(shared.state_dict())
    torch.testing.assert_close(other(s), shared(s), rtol=0, atol=0)
    assert f"{WIDTH}, groups=3" in repr(shared)
    assert "groups" not in repr(kafnets.create(name, WIDTH, groups=functions(name)))
    assert repr(find(name)()).startswith(f"{type(shared).__name__}(1")
    with pytest.raises(RuntimeError, match="size mismatch"):
        kafnets.create(name, WIDTH).load_state_dict(shared.state_dict())


@sharing
def test_groups_that_do_not_divide_are_refused(name: str) -> None:
    count = functions(name)
    with pytest.raises(ValueError, match=f"groups must be a divisor of {count}.*got 5"):
        kafnets.create(name, WIDTH, groups=5)
    with pytest.raises(ValueError, match="groups must be an integer ≥ 1, got 0"):
        kafnets.create(name, WIDTH, groups=0)


@sharing
def test_wrong_widths_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"num_features={WIDTH} along dim=1.*has 10"):
        kafnets.create(name, WIDTH, groups=3)(torch.randn(2, 10))


@pytest.mark.parametrize("learn", [True, "neuron"])
@pytest.mark.parametrize("layer", [kafnets.KAF, kafnets.KAF2D])
def test_shared_bandwidths(layer: Any, learn: Any) -> None:
    kernel = kafnets.Gaussian(learn_gamma=learn)
    shared = layer(WIDTH, groups=2, kernel=kernel, dtype=torch.float64)
    assert shared.log_gamma.shape == (() if learn is True else (2,))
    alone = layer(WIDTH, kernel=kernel, dtype=torch.float64)
    with torch.no_grad():
        shared.log_gamma.add_(torch.randn(shared.log_gamma.shape), alpha=0.3)
        alone.alpha.copy_(shared.alpha.repeat_interleave(len(alone.alpha) // 2, 0))
        times = len(alone.alpha) // 2
        bandwidths = shared.log_gamma if learn is True else shared.log_gamma.repeat_interleave(times, 0)
        alone.log_gamma.copy_(bandwidths)
    s = torch.randn(4, WIDTH, 3, dtype=torch.float64)
    result, by_s, (_, by_bandwidth) = gradients(shared, s, None)
    expected, expected_by_s, (_, each) = gradients(alone, s, None)
    torch.testing.assert_close(result, expected)
    torch.testing.assert_close(by_s, expected_by_s)
    torch.testing.assert_close(by_bandwidth, each if learn is True else each.unflatten(0, (2, -1)).sum(1))
