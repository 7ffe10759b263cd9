"""A layer in which every connection has a function of its own."""

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn import functional

from kafnets import reference
from kafnets.kernels import Gaussian, Kernel
from kafnets.nn.activation import check_whole
from kafnets.nn.expansions import resolve_dictionary
from kafnets.nn.presets import find_preset

BANDWIDTH_DIVISOR = 1.0
"""Where the paper, for the activations of neurons, has 6."""


class EdgewiseKAF(nn.Module):
    r"""A layer whose connections are learned functions, as in Kolmogorov-Arnold networks.

    .. math:: y_o = b_o + \sum_i \Big( w_{o,i} \, x_i + \sum_k \alpha_{o,i,k} \, \kappa(x_i, d_k) \Big)

    It stands in the place of a linear map *and* its activation, with D + 1 numbers a connection where a KAF
    has D a neuron::

        nn.Sequential(EdgewiseKAF(48, 32, boundary=1.0), nn.LayerNorm(32), EdgewiseKAF(32, 11))

    What goes in must meet the dictionary: normalise it, as ``kafnets.edgewise_mlp`` does. Beyond the
    dictionary a Gaussian expansion is 0 and the linear part is what is left.

    Shape: input ``(..., in_features)``, output ``(..., out_features)``. For its gradients a call keeps some
    three times ``dictionary_size`` numbers an input.

    Args:
        in_features: the size of the last axis of the input.
        out_features: that of the output.
        dictionary_size: D, the number of dictionary elements, equispaced.
        boundary: the dictionary reaches from ``-boundary`` to ``boundary``. None: 3.0.
        kernel: None: ``Gaussian()`` with bandwidth :math:`1 / \Delta^2`, for a spacing of :math:`\Delta`,
            not learned. The paper's rule of thumb, six times less, is for longer dictionaries: with the few
            elements that a connection has, its terms are so wide that all functions are alike.
        dictionary: strictly increasing values to use in place of the equispaced ones.
        generator: source of the random first values; torch's default one if None.
        device: where the parameters live.
        dtype: their type.

    Attributes:
        alpha: the mixing coefficients, ``(out_features, in_features, dictionary_size)``.
        weight: the linear part, ``(out_features, in_features)``.
        bias: ``(out_features,)``.
        dictionary: a buffer ``(dictionary_size,)``.
    """

    mixing_parameters: ClassVar[tuple[str, ...]] = ("alpha",)

    alpha: Tensor
    weight: Tensor
    bias: Tensor
    dictionary: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        dictionary_size: int = 8,
        boundary: float | None = None,
        kernel: Kernel | None = None,
        dictionary: ArrayLike | Tensor | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_whole("in_features", in_features)
        check_whole("out_features", out_features)
        self.in_features, self.out_features = in_features, out_features
        self.kernel = Gaussian() if kernel is None else kernel
        paper = find_preset("paper")
        exact = resolve_dictionary(
            dictionary, dictionary_size, paper.boundary if boundary is None else boundary
        )
        self.gamma = None
        if isinstance(self.kernel, Gaussian):
            if self.kernel.learn_gamma:
                raise ValueError("kernel must have a fixed gamma here, got learn_gamma: leave it out")
            self.gamma = self.kernel.gamma or reference.bandwidth_rule_of_thumb(
                reference.spacing(exact), dimensions=1, divisor=BANDWIDTH_DIVISOR
            )
        for name, shape in (
            ("alpha", (out_features, in_features, len(exact))),
            ("weight", (out_features, in_features)),
            ("bias", (out_features,)),
        ):
            self.register_parameter(name, nn.Parameter(torch.empty(shape, device=device, dtype=dtype)))
        self.register_buffer("dictionary", torch.from_numpy(exact).to(self.alpha))
        self.reset_parameters(generator)

    @property
    def dictionary_size(self) -> int:
        """D, the number of dictionary elements."""
        return self.alpha.shape[2]

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Start again: weights by Glorot's uniform distribution, expansions near 0, biases 0."""
        with torch.no_grad():
            nn.init.xavier_uniform_(self.weight, generator=generator)
            # Small beside the linear part, the smaller the more elements there are.
            spread = 1 / np.sqrt(self.in_features * self.dictionary_size)
            self.alpha.normal_(0, float(spread), generator=generator)
            self.bias.zero_()

    def forward(self, input: Tensor) -> Tensor:
        if input.shape[-1] != self.in_features:
            raise ValueError(
                f"EdgewiseKAF was built for in_features={self.in_features}, but the input of shape "
                f"{tuple(input.shape)} has {input.shape[-1]} along its last axis"
            )
        if not input.is_floating_point():
            raise TypeError(
                f"input must be a floating-point tensor, got {input.dtype}: convert it, say with .float()"
            )
        terms = self.kernel.value(input[..., None], self.dictionary, self.gamma)
        return functional.linear(terms.flatten(-2), self.alpha.flatten(1)) + functional.linear(
            input, self.weight, self.bias
        )

    def functions(self, s: Tensor) -> Tensor:
        """Every connection's function, its linear part included, at the places ``s``, ``(places,)``.

        Returns:
            ``(out_features, in_features, places)``: an output is the sum of its row, and its bias.
        """
        if s.dim() != 1:
            raise ValueError(f"s must have one axis, the places to look at, got shape {tuple(s.shape)}")
        terms = self.kernel.value(s[:, None], self.dictionary, self.gamma)
        return self.alpha @ terms.T + self.weight[..., None] * s

    def extra_repr(self) -> str:
        return (
            f"{self.in_features}, {self.out_features}, dictionary_size={self.dictionary_size}, "
            f"kernel={type(self.kernel).__name__}"
        )
