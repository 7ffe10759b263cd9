"""Numerical embeddings: learned functions of single features of a table."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from kafnets.checks import check_integer
from kafnets.nn.kaf import KAF
from kafnets.nn.resettable import Resettable

KNOTS = 65
"""Quantiles of a feature by which its values are spread over the dictionary."""


class _Embedding(Resettable):
    """Puts learned functions of some features behind all features."""

    def __init__(self, inputs: int, outputs: int, columns: Sequence[int] | None) -> None:
        super().__init__()
        check_integer("inputs", inputs)
        check_integer("outputs", outputs)
        self.columns = list(range(inputs)) if columns is None else list(columns)
        if strange := [each for each in self.columns if not 0 <= each < inputs]:
            raise ValueError(f"columns must be from 0 to {inputs - 1}, got {strange[0]}")
        self.in_features, self.outputs = inputs, outputs
        self.out_features = inputs + outputs * len(self.columns)

    def forward(self, inputs: Tensor) -> Tensor:
        """From ``(..., inputs)`` to ``(..., out_features)``: the features, then functions of each."""
        if not self.columns:
            return inputs
        return torch.cat([inputs, self.embedded(inputs[..., self.columns])], -1)

    def embedded(self, chosen: Tensor) -> Tensor:
        """The functions of the chosen features alone, those of one feature side by side."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"{self.in_features}, columns={len(self.columns)}, outputs={self.outputs}"


class KAFEmbedding(_Embedding):
    r"""Functions of single features, learned by KAFs: a numerical embedding for tables.

    The features are followed by ``outputs`` functions of each chosen feature,

    .. math:: e_{f,j}(x) = \sum_i \alpha_{f,j,i} \, \kappa(q_f(x), d_i),

    where :math:`q_f` spreads the feature's values evenly over the dictionary: the share of training rows
    below x, mapped to the dictionary's range, by linear interpolation between quantiles. The dictionary's
    elements are therefore quantiles of the feature, dense where rows are dense. :meth:`learn_quantiles`
    computes them; before that, q is the identity. Functions are initialized as cosines of random low
    frequencies, since a sum of equispaced Gaussians with coefficients :math:`\cos(\omega d_i + b)` is nearly
    a cosine itself.

    >>> layer = kafnets.nn.KAFEmbedding(5, columns=[0, 2], outputs=4)
    >>> layer(torch.randn(3, 5)).shape
    torch.Size([3, 13])

    Args:
        inputs: the number of features, along the last axis.
        columns: the features to embed; None: all. Features with two values do not benefit from it.
        outputs: functions per feature.
        dictionary_size: elements of each expansion.
        boundary: the dictionary extends from ``-boundary`` to ``boundary``.
        frequency: standard deviation of the initial frequencies :math:`\omega`.
        scale: largest initial value of the functions.
        generator: for random initial values; None: torch's default one.
        device: of the parameters.
        dtype: of the parameters.

    Attributes:
        functions: the :class:`kafnets.KAF` of all functions.
        knots: quantiles ``(columns, 65)``, a buffer.
    """

    knots: Tensor
    learned: Tensor

    def __init__(
        self,
        inputs: int,
        columns: Sequence[int] | None = None,
        *,
        outputs: int = 4,
        dictionary_size: int = 20,
        boundary: float = 3.0,
        frequency: float = 1.0,
        scale: float = 1.0,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(inputs, outputs, columns)
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        number = outputs * len(self.columns)
        shape: dict[str, Any] = {"dictionary_size": dictionary_size, "boundary": boundary, "dim": -1}
        self.functions = KAF(max(number, 1), init="identity", **shape, **where)  # no numbers drawn yet
        self.boundary, self.frequency, self.scale = boundary, frequency, scale
        even = torch.linspace(-boundary, boundary, KNOTS, **where)
        self.register_buffer("knots", even.repeat(len(self.columns), 1))
        self.register_buffer("learned", torch.tensor(False, device=device))
        self.reset_parameters(generator)

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Reset the functions to cosines with random frequencies and phases."""
        alpha = self.functions.alpha
        random: dict[str, Any] = {"generator": generator, "dtype": torch.float64}
        frequencies = torch.randn(len(alpha), 1, **random) * self.frequency
        phases = torch.rand(len(alpha), 1, **random) * 2 * math.pi
        elements = self.functions.dictionary.double().cpu()
        gamma, spacing = float(self.functions.gamma or 0.0), float(elements[1] - elements[0])
        waves = torch.cos(frequencies * elements + phases) * self.scale
        alpha.copy_(waves * spacing * math.sqrt(gamma / math.pi))

    @torch.no_grad()
    def learn_quantiles(self, rows: Tensor) -> None:
        """Spread the dictionary over the values that rows ``(rows, inputs)`` have."""
        if not self.columns:
            return
        shares = torch.linspace(0, 1, KNOTS, dtype=torch.float64)
        values = rows[:, self.columns].detach().double().cpu()
        self.knots.copy_(torch.quantile(values, shares, 0, interpolation="linear").T)
        self.learned.fill_(True)

    def embedded(self, chosen: Tensor) -> Tensor:
        """See :class:`KAFEmbedding`."""
        spread = spread_evenly(chosen, self.knots.to(chosen.dtype), self.boundary)
        return self.functions(spread.repeat_interleave(self.outputs, -1))


class PeriodicEmbedding(_Embedding):
    r"""Linear combinations of cosines of single features: the numerical embedding of RealMLP.

    .. math:: e_{f,j}(x) = c_{f,j} + \sum_k w_{f,j,k} \cos(\omega_{f,k} x + b_{f,k})

    Source: Holzmüller, Grinsztajn, Steinwart, "Better by default" (2024), after Gorishniy, Rubachev, Babenko,
    "On embeddings for numerical features in tabular deep learning" (2022).

    Args:
        inputs: the number of features, along the last axis.
        columns: the features to embed; None: all.
        outputs: functions per feature.
        frequencies: cosines per feature.
        frequency: standard deviation of the initial frequencies.
        generator: for random initial values; None: torch's default one.
        device: of the parameters.
        dtype: of the parameters.
    """

    def __init__(
        self,
        inputs: int,
        columns: Sequence[int] | None = None,
        *,
        outputs: int = 4,
        frequencies: int = 16,
        frequency: float = 0.2 * math.pi,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(inputs, outputs, columns)
        shape = len(self.columns), frequencies
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        self.frequencies, self.phases = (nn.Parameter(torch.empty(shape, **where)) for _ in range(2))
        self.weight = nn.Parameter(torch.empty(*shape, outputs, **where))
        self.bias = nn.Parameter(torch.empty(shape[0], outputs, **where))
        bound = 1 / math.sqrt(frequencies)
        with torch.no_grad():
            self.frequencies.normal_(0, frequency, generator=generator)
            self.phases.uniform_(-math.pi, math.pi, generator=generator)
            self.weight.uniform_(-bound, bound, generator=generator)
            self.bias.uniform_(-bound, bound, generator=generator)

    def embedded(self, chosen: Tensor) -> Tensor:
        """See :class:`PeriodicEmbedding`."""
        waves = torch.cos(chosen[..., None] * self.frequencies + self.phases)
        return (torch.einsum("...fk,fkj->...fj", waves, self.weight) + self.bias).flatten(-2)


EMBEDDINGS: dict[str, type[KAFEmbedding] | type[PeriodicEmbedding]] = {
    "kaf": KAFEmbedding,
    "periodic": PeriodicEmbedding,
}
"""By name."""


def spread_evenly(values: Tensor, knots: Tensor, boundary: float) -> Tensor:
    """Of each feature, the share of quantiles below its values, from ``-boundary`` to ``boundary``.

    Where several quantiles are one value, that value stands at the middle of their shares.

    Args:
        values: ``(..., features)``.
        knots: quantiles at even shares, ``(features, knots)``, not decreasing.
        boundary: what the largest one becomes.
    """
    flat = values.reshape(-1, values.shape[-1]).T.contiguous()
    last = knots.shape[1] - 1
    places = []
    for right in (False, True):
        if torch.compiler.is_exporting():  # ONNX has no search
            below = knots[:, None] <= flat[..., None] if right else knots[:, None] < flat[..., None]
            above = below.sum(-1).clamp(1, last)
        else:
            above = torch.searchsorted(knots, flat, right=right).clamp(1, last)
        low, high = knots.gather(1, above - 1), knots.gather(1, above)
        width = high - low
        part = torch.where(width > 0, (flat - low) / width.where(width > 0, 1), 0.5)
        places.append(above - 1 + part.clamp(0, 1))
    share = (places[0] + places[1]) / (2 * last)
    return ((2 * share - 1) * boundary).T.reshape(values.shape)
