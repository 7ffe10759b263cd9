"""Every registered activation: how to build it, what to feed it, what it should give."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import kafnets
from kafnets.registry import accepted, facts_of, find
from tests import oracle
from tests.oracle import activations as ref
from tests.oracle import family

Array = NDArray[np.float64]

NAMES = kafnets.names()
STOCHASTIC = ["rrelu", "noisy_hard_tanh", "noisy_hard_sigmoid"]
FEATURES, INPUTS = 6, 4


def inputs_of(name: str) -> int:
    """The number of channels that it is fed."""
    return INPUTS if facts_of(name).owns_linear else FEATURES


def build(name: str, *, dim: int = 1, dtype: torch.dtype = torch.float64, **options: Any) -> nn.Module:
    """With parameters moved away from their start, where formulas may look alike."""
    if facts_of(name).owns_linear:
        options["in_features"] = INPUTS
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = kafnets.create(name, FEATURES, **accepted(find(name), dim=dim), **options).to(dtype).eval()
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64), alpha=0.3)
    return module


def activations(name: str, *batch: int, dtype: torch.dtype = torch.float64, seed: int = 1) -> Tensor:
    """(*batch, channels), reaching beyond every dictionary."""
    generator = torch.Generator().manual_seed(seed)
    shape = (*batch, inputs_of(name))
    return (2 * torch.randn(shape, generator=generator, dtype=torch.float64)).to(dtype)


def takes_dim(name: str) -> bool:
    """Layers with their own linear map find the channel axis by themselves."""
    return "dim" in inspect.signature(find(name)).parameters


def expected(name: str, module: nn.Module, s: Tensor) -> Array:
    """By the oracle, channels last."""
    return ORACLE[name](module, s.detach().double().numpy())


def _array(parameter: object) -> Array:
    assert isinstance(parameter, Tensor)
    return parameter.detach().double().numpy()


def _kaf(module: Any, s: Array) -> Array:
    grid = oracle.equispaced(module.dictionary_size, 3.0)
    return oracle.kaf(s, _array(module.alpha), grid, oracle.twin(module.kernel))


def _kaf2d(module: Any, s: Array) -> Array:
    grid = oracle.equispaced(module.dictionary_size, 3.0)
    return oracle.kaf2d(s, _array(module.alpha), grid, oracle.twin(module.kernel))


def _multi_kaf(module: Any, s: Array) -> Array:
    grid = oracle.equispaced(module.dictionary_size, 3.0)
    kernels = [oracle.twin(each) for each in module.kernels]
    return family.multi_kaf(s, _array(module.alpha), _array(module.mixing_weights), grid, kernels).value


def _groups(module: Any, h: Array) -> Array:
    z = h @ _array(module.linear.weight).T + _array(module.linear.bias)
    return z.reshape(*h.shape[:-1], module.num_features, module.pieces)


def _noisy(hard: Callable[[Array], Array], linear: Callable[[Array], Array]) -> Callable[[Any, Array], Array]:
    mean = np.array(np.sqrt(2 / np.pi))
    return lambda m, s: ref.noisy(s, hard(s), linear(s), mean, m.alpha, m.scale, _array(m.p))


ORACLE: dict[str, Callable[[Any, Array], Array]] = {
    "kaf": _kaf,
    "kaf2d": _kaf2d,
    "sigmoid": lambda m, s: ref.sigmoid(s),
    "tanh": lambda m, s: ref.tanh(s),
    "relu": lambda m, s: ref.relu(s),
    "softplus": lambda m, s: ref.softplus(s),
    "leaky_relu": lambda m, s: ref.leaky_relu(s, m.negative_slope),
    "elu": lambda m, s: ref.elu(s, m.alpha),
    "selu": lambda m, s: ref.selu(s),
    "swish": lambda m, s: ref.swish(s),
    "gelu": lambda m, s: ref.gelu(s),
    "mish": lambda m, s: ref.mish(s),
    "pact": lambda m, s: ref.pact(s, ref.mish, _array(m.weight)),
    "squared_relu": lambda m, s: ref.squared_relu(s),
    "learned_sine": lambda m, s: ref.sine(s, _array(m.height), _array(m.frequency)),
    "xielu": lambda m, s: ref.xielu(s, _array(m.alpha_positive), _array(m.alpha_negative)),
    "poly_norm": lambda m, s: ref.poly_norm(s, _array(m.weight), _array(m.bias)),
    "rational": lambda m, s: ref.rational(
        s, *(_array(each).T.repeat(FEATURES // m.groups, 1) for each in (m.numerator, m.denominator))
    ),
    "glu": lambda m, s: ref.gated(s, ref.sigmoid),
    "swiglu": lambda m, s: ref.gated(s, ref.swish),
    "kaf_glu": lambda m, s: ref.gated(s, lambda gates: ref.swish(gates) + _kaf(m.kaf, gates)),
    "multi_kaf": _multi_kaf,
    "learned_dictionary_kaf": lambda m, s: (
        family.bells(s, _array(m.alpha), _array(m.dictionary), m.gamma).value
    ),
    "generalized_tanh": lambda m, s: ref.generalized_tanh(s, _array(m.a), _array(m.b)),
    "prelu": lambda m, s: ref.prelu(s, _array(m.weight)),
    "pelu": lambda m, s: ref.pelu(s, _array(m.alpha), _array(m.beta)),
    "srelu": lambda m, s: ref.srelu(
        s, _array(m.t_right), _array(m.a_right), _array(m.t_left), _array(m.a_left)
    ),
    "beta_swish": lambda m, s: ref.beta_swish(s, _array(m.beta)),
    "apl": lambda m, s: ref.apl(s, _array(m.slopes).T, _array(m.places).T),
    "paf": lambda m, s: ref.polynomial(s, _array(m.coefficients).T),
    "hermite": lambda m, s: ref.hermite(s, _array(m.coefficients).T),
    "saf": lambda m, s: ref.spline(s, _array(m.q).T, m.boundary, m.basis),
    "maxout": lambda m, h: ref.maxout(_groups(m, h)),
    "soft_maxout": lambda m, h: ref.soft_maxout(_groups(m, h)),
    "lp_maxout": lambda m, h: ref.lp_maxout(_groups(m, h), m.p),
    "lp_unit": lambda m, h: ref.lp_unit(_groups(m, h), _array(m.centers), _array(m.p)),
    "rrelu": lambda m, s: ref.leaky_relu(s, (m.lower + m.upper) / 2),
    "noisy_hard_tanh": _noisy(ref.hard_tanh, lambda s: s),
    "noisy_hard_sigmoid": _noisy(ref.hard_sigmoid, lambda s: s / 4 + 0.5),
    "crelu": lambda m, s: ref.crelu(s),
    "order_statistic": lambda m, s: ref.order_statistic(s.reshape(*s.shape[:-1], -1, m.group_size)).reshape(
        s.shape
    ),
    "multi_bias": lambda m, s: ref.multi_bias(s, _array(m.bias)),
    "network_in_network": lambda m, s: ref.network_in_network(
        s, [_array(layer.weight) for layer in m.layers], [_array(layer.bias) for layer in m.layers]
    ),
}
