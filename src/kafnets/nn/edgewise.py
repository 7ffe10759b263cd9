"""A layer in which every connection has its own learned function."""

import math
from dataclasses import replace
from typing import ClassVar

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.fx import Proxy
from torch.nn.functional import linear

from kafnets.checks import check_integer
from kafnets.expansion import Expansion, Tails
from kafnets.fixed_functions import Base
from kafnets.functional import EDGEWISE_KERNEL, edgewise
from kafnets.kernels import Kernel
from kafnets.nn.activation import full_precision, leaf_of_trace
from kafnets.nn.dictionary import DictionaryModule
from kafnets.ops.fixed_functions import TORCH_FUNCTIONS
from kafnets.ops.kaf import terms


class EdgewiseKAF(DictionaryModule):
    r"""A layer whose connections are learned functions, as in Kolmogorov-Arnold networks.

    .. math:: y_o = b_o + \sum_i \Bigl( w_{o,i} \, b(x_i) + \sum_k \alpha_{o,i,k} \, \kappa(x_i, d_k) \Bigr)

    It replaces a linear map *and* its activation, with D + 1 parameters per connection; a KAF has D per
    neuron:

    >>> first, second = kafnets.EdgewiseKAF(48, 32, boundary=1.0), kafnets.EdgewiseKAF(32, 11)
    >>> nn.Sequential(first, nn.LayerNorm(32), second)(torch.rand(5, 48)).shape
    torch.Size([5, 11])

    Inputs should lie within the dictionary, which should extend a little beyond them: near its ends an
    expansion has few terms. Outside the dictionary a Gaussian expansion is 0; only :math:`w \, b` remains.

    Shape: input ``(..., in_features)``, output ``(..., out_features)``. For gradients, a call stores about
    three times ``dictionary_size`` numbers per input. Half precision is computed in float32.

    Args:
        in_features: the size of the last axis of the input.
        out_features: that of the output.
        dictionary_size: D, the number of dictionary elements, equispaced.
        boundary: the dictionary extends from ``-boundary`` to ``boundary``.
        kernel: None: ``Gaussian()`` with bandwidth :math:`1 / \Delta^2`, for a spacing of :math:`\Delta`,
            not learned. The paper's rule of thumb, six times less, is for larger dictionaries: with the few
            elements of a connection, kernels would be so wide that all functions are similar.
        base: the name of the fixed function b, such as "silu"; None: :math:`b(x) = x`.
        tails: the functions outside the dictionary: "zero", "constant" or "linear".
        dictionary: strictly increasing values instead of the equispaced ones.
        generator: for random initial values; None: torch's default one.
        device: of the parameters.
        dtype: of the parameters.

    Attributes:
        alpha: the mixing coefficients, ``(out_features, in_features, dictionary_size)``.
        weight: that of b, ``(out_features, in_features)``.
        bias: ``(out_features,)``.
        dictionary: a buffer ``(dictionary_size,)``.
    """

    mixing_parameters: ClassVar[tuple[str, ...]] = ("alpha",)

    weight: Tensor
    bias: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        dictionary_size: int = 8,
        boundary: float = 3.0,
        kernel: Kernel | None = None,
        base: str | None = None,
        tails: Tails = "zero",
        dictionary: ArrayLike | Tensor | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_integer("in_features", in_features)
        check_integer("out_features", out_features)
        self.in_features, self.out_features = in_features, out_features
        expansion = Expansion.of(
            dictionary_size=dictionary_size,
            boundary=boundary,
            dictionary=dictionary,
            kernel=EDGEWISE_KERNEL if kernel is None else kernel,
            base=None if base is None else Base(base, "weighted"),
            tails=tails,
        )
        if expansion.learn_gamma:
            raise ValueError("kernel must have a fixed gamma here, got learn_gamma: omit it")
        for name, shape in (
            ("alpha", (out_features, in_features, *expansion.shape)),
            ("weight", (out_features, in_features)),
            ("bias", (out_features,)),
        ):
            self.register_parameter(name, nn.Parameter(torch.empty(shape, device=device, dtype=dtype)))
        self._stand_on(expansion, device)
        self.reset_parameters(generator)

    @property
    def gamma(self) -> float | None:
        """The bandwidth; None for kernels without one."""
        return self.expansion.gamma

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Reset the parameters: weights by Glorot's uniform distribution, expansions near 0, biases 0."""
        with torch.no_grad():
            nn.init.xavier_uniform_(self.weight, generator=generator)
            # Small beside the linear part, the smaller the more elements there are.
            spread = 1 / math.sqrt(self.in_features * self.dictionary_size)
            self.alpha.normal_(0, spread, generator=generator)
            self.bias.zero_()
        self._restore_dictionary()

    def forward(self, input: Tensor) -> Tensor:
        if type(input) is not Tensor and isinstance(input, Proxy):
            return leaf_of_trace(self, input)
        if input.shape[-1] != self.in_features:
            raise ValueError(
                f"EdgewiseKAF was built for in_features={self.in_features}, but the input of shape "
                f"{tuple(input.shape)} has {input.shape[-1]} along its last axis"
            )
        if not input.is_floating_point():
            raise TypeError(
                f"input must be a floating-point tensor, got {input.dtype}: convert it, for example with "
                f".float()"
            )
        dtype = torch.promote_types(torch.promote_types(input.dtype, self.alpha.dtype), torch.float32)
        with full_precision(input):
            x = input.to(dtype)
            fixed = linear(self._base(x), self.weight.to(dtype), self.bias.to(dtype))
            return (edgewise(x, self.alpha, replace(self.expansion, base=None)) + fixed).to(input.dtype)

    def _base(self, x: Tensor) -> Tensor:
        base = self.expansion.base
        return x if base is None else TORCH_FUNCTIONS[base.function](x)

    def functions(self, s: Tensor) -> Tensor:
        """Every connection's function, its fixed part included, at the places ``s``, ``(places,)``.

        Returns:
            ``(out_features, in_features, places)``: an output is the sum of its row, and its bias.
        """
        if s.dim() != 1:
            raise ValueError(f"s must have one axis, the places to look at, got shape {tuple(s.shape)}")
        return self.alpha @ terms(self.expansion, s).T + self.weight[..., None] * self._base(s)

    def extra_repr(self) -> str:
        return (
            f"{self.in_features}, {self.out_features}, dictionary_size={self.dictionary_size}, "
            f"kernel={type(self.kernel).__name__}"
            + ("" if self.expansion.base is None else f", base={self.expansion.base.function!r}")
        )
