"""The zoo beside straightforward torch: none may be slower than what one would write down first."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from kafnets.comparison.table import Table
from kafnets.provenance import provenance
from kafnets.registry import create, facts_of
from kafnets.timing import interleaved, threads

SHAPES = [(100, 300), (1024, 1024)]
LAYER_INPUTS = 64
"""Of layers with their own linear map, few, so that the map does not hide the rest."""

Plain = Callable[[Any, Tensor], Tensor]


def run(*, quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Times of ours and of the plain version, by shape and name, on one thread."""
    with threads(1):
        result: dict[str, Any] = {"provenance": provenance(), "profile": "quick" if quick else "full"}
        result["times"] = {}
        for shape in SHAPES:
            result["times"][str(shape)] = {}
            for name in PLAIN:
                say(f"{name}, {shape}")
                result["times"][str(shape)][name] = _compare(name, shape, 0.1 if quick else 1.0)
        return result


def _compare(name: str, shape: tuple[int, int], seconds: float) -> dict[str, Any]:
    rows, features = shape
    layer = facts_of(name).owns_linear
    module = create(name, features, **({"in_features": LAYER_INPUTS} if layer else {}))
    x = torch.randn(rows, LAYER_INPUTS if layer else features, requires_grad=True)
    plain = _PlainModule(module, PLAIN[name])
    # Not the noise, which differs: that has tests of its own.
    with torch.no_grad():
        torch.testing.assert_close(module.eval()(x), plain.eval()(x), rtol=1e-4, atol=1e-4)
    module.train()
    plain.train()
    runs = {"ours": _step(module, x), "plain": _step(plain, x)}
    return {key: timing.as_dict() for key, timing in interleaved(runs, seconds_a_run=seconds).items()}


def _step(module: nn.Module, x: Tensor) -> Callable[[], None]:
    upstream = torch.ones_like(module(x))
    inputs = [x, *module.parameters()]
    return lambda: void(torch.autograd.grad(module(x), inputs, upstream))


def void(_: object) -> None:
    """What a step gives is not looked at."""


class _PlainModule(nn.Module):
    """The plain formula as a module, so that both pay for being called."""

    def __init__(self, module: nn.Module, formula: Plain) -> None:
        super().__init__()
        self.module = module
        self.formula = formula

    def forward(self, s: Tensor) -> Tensor:
        return self.formula(self.module, s)


def _hermite(m: Any, s: Tensor) -> Tensor:
    polynomials = [torch.ones_like(s), 2 * s]
    for k in range(1, m.degree):
        polynomials.append(2 * s * polynomials[k] - 2 * k * polynomials[k - 1])
    bell = torch.exp(-s * s / 2)
    norms = [(2**k * math.factorial(k) * math.sqrt(math.pi)) ** -0.5 for k in range(m.degree + 1)]
    terms = zip(m.coefficients.unbind(1), norms, polynomials, strict=True)
    return sum((a * norm * h * bell for a, norm, h in terms), torch.zeros_like(s))


def _saf(m: Any, s: Tensor) -> Tensor:
    spacing = 2 * m.boundary / (m.knots - 1)
    inside = s.clamp(-m.boundary, m.boundary)
    distance = (inside + m.boundary) / spacing
    interval = distance.detach().floor().clamp(0, m.knots - 2)
    u = distance - interval
    q = torch.cat([2 * m.q[:, :1] - m.q[:, 1:2], m.q, 2 * m.q[:, -1:] - m.q[:, -2:-1]], 1)
    first, channels = interval.long(), torch.arange(s.shape[1])
    span = torch.stack([q[channels, first + j] for j in range(4)], -1)
    basis = torch.tensor([[-1, 3, -3, 1], [2, -5, 4, -1], [-1, 0, 1, 0], [0, 2, 0, 0]]) / 2
    value = (torch.stack([u**3, u**2, u, torch.ones_like(u)], -1) @ basis * span).sum(-1)
    slope = torch.where(s < 0, m.q[:, 1] - m.q[:, 0], m.q[:, -1] - m.q[:, -2]) / spacing
    return value + (s - inside) * slope


def _rational(m: Any, s: Tensor) -> Tensor:
    a, b = (each.repeat_interleave(s.shape[1] // m.groups, 0) for each in (m.numerator, m.denominator))
    above = sum((a[:, i] * s**i for i in range(6)), torch.zeros_like(s))
    return above / (1 + sum((b[:, i] * s ** (i + 1) for i in range(4)), torch.zeros_like(s)).abs())


def _noisy(hard: Callable[[Tensor], Tensor], linear: Callable[[Tensor], Tensor]) -> Plain:
    def formula(m: Any, s: Tensor) -> Tensor:
        h, u = hard(s), linear(s)
        noise = torch.randn_like(s).abs() if m.training else math.sqrt(2 / math.pi)
        deviation = m.scale * (torch.sigmoid(m.p * (h - u)) - 0.5) ** 2
        return m.alpha * h + (1 - m.alpha) * u + torch.sign(s) * deviation * noise

    return formula


def _groups(m: Any, h: Tensor) -> Tensor:
    z: Tensor = m.linear(h)
    return z.view(len(h), m.num_features, m.pieces)


PLAIN: dict[str, Plain] = {
    "generalized_tanh": lambda m, s: m.a * (1 - torch.exp(-m.b * s)) / (1 + torch.exp(-m.b * s)),
    "prelu": lambda m, s: functional.prelu(s, m.weight),
    "pelu": lambda m, s: torch.where(s >= 0, m.alpha / m.beta * s, m.alpha * (torch.exp(s / m.beta) - 1)),
    "srelu": lambda m, s: torch.where(
        s >= m.t_right,
        m.t_right + m.a_right * (s - m.t_right),
        torch.where(s > m.t_left, s, m.t_left + m.a_left * (s - m.t_left)),
    ),
    "beta_swish": lambda m, s: s * torch.sigmoid(m.beta * s),
    "pact": lambda m, s: s + m.weight * (functional.mish(s) - s),
    "learned_sine": lambda m, s: m.height * torch.sin(m.frequency * s),
    "xielu": lambda m, s: (
        m.beta * s
        + torch.where(s > 0, m.alpha_positive * s**2, m.alpha_negative * (torch.expm1(s.clamp(max=0)) - s))
    ),
    "poly_norm": lambda m, s: (
        m.bias
        + sum(
            w * p / (p.square().mean(1, keepdim=True) + m.EPS).sqrt()
            for w, p in zip(m.weight, (s, s**2, s**3), strict=True)
        )
    ),
    "rational": _rational,
    "glu": lambda m, s: functional.glu(torch.cat([s[:, ::2], s[:, 1::2]], 1)),
    "swiglu": lambda m, s: s[:, ::2] * functional.silu(s[:, 1::2]),
    "kaf_glu": lambda m, s: s[:, ::2] * m.kaf(s[:, 1::2]),
    "apl": lambda m, s: s.relu() + (m.slopes * (m.places - s[..., None]).relu()).sum(-1),
    "paf": lambda m, s: sum((a * s**k for k, a in enumerate(m.coefficients.unbind(1))), torch.zeros_like(s)),
    "hermite": _hermite,
    "saf": _saf,
    "maxout": lambda m, h: _groups(m, h).max(-1).values,
    "soft_maxout": lambda m, h: _groups(m, h).logsumexp(-1),
    "lp_maxout": lambda m, h: (_groups(m, h).abs() ** m.p).sum(-1) ** (1 / m.p),
    "lp_unit": lambda m, h: ((_groups(m, h) - m.centers).abs() ** m.p[:, None]).mean(-1) ** (1 / m.p),
    "noisy_hard_tanh": _noisy(functional.hardtanh, lambda s: s),
    "noisy_hard_sigmoid": _noisy(lambda s: (s / 4 + 0.5).clamp(0, 1), lambda s: s / 4 + 0.5),
    "crelu": lambda m, s: torch.cat([s.relu(), (-s).relu()], 1),
    "order_statistic": lambda m, s: s.view(len(s), -1, 2).sort(-1, descending=True).values.flatten(1),
    "multi_bias": lambda m, s: (s[..., None] + m.bias.T).relu().flatten(1),
}
"""Straightforward versions of all that are not torch's own, for (batch, features)."""


def tables(result: dict[str, Any]) -> list[Table]:
    """Ours relative to the plain version, by shape."""
    by_shape = result["times"]
    rows = []
    for name in next(iter(by_shape.values())):
        timings = (times[name] for times in by_shape.values())
        rows.append((name, *(f"{each['ours']['median'] / each['plain']['median']:.2f}" for each in timings)))
    return [Table("ours / plain torch, one thread", ("activation", *by_shape), tuple(rows))]
