"""Split and fully complex KAFs."""

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
import torch
from torch import Tensor, nn

from kafnets.arguments import checked_layer
from kafnets.expansion import Expansion
from kafnets.kernels import Gaussian
from kafnets.nn.complex_fixed import ComplexActivation, Split, cardioid, interleaved, modrelu, split
from kafnets.nn.kaf import KAF, KAFOptions
from kafnets.ops.dispatch import apply
from kafnets.ops.kaf2d import formula_of

ComplexKernel = Literal["gaussian", "complex_gaussian"]
KERNELS: tuple[ComplexKernel, ...] = ("gaussian", "complex_gaussian")
RIDGE = 1e-2
"""Of starts: with less, coefficients are large, and functions between elements no nearer."""


STARTS: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": lambda z: z,
    "split_relu": split(torch.relu),
    "split_tanh": split(torch.tanh),
    "modrelu": lambda z: modrelu(z, -0.5),
    "cardioid": cardioid,
}
"""What a fully complex KAF can start as, by name; "modrelu" with a bias of -0.5."""


class SplitKAF(Split):
    r"""Split KAF: :math:`g(z) = g_1(\Re z) + i \, g_2(\Im z)`, with two real KAFs per channel.

    >>> layer = nn.Linear(4, 8, dtype=torch.complex64)
    >>> net = nn.Sequential(layer, kafnets.nn.SplitKAF(8, init="relu"))
    >>> net(torch.randn(5, 4, dtype=torch.complex64)).shape
    torch.Size([5, 8])

    It uses the same kernels as :class:`kafnets.KAF`. With ``init="relu"`` it is initialized like split ReLU.

    Source: Scardapane, Van Vaerenbergh, Hussain, Uncini, Complex-valued neural networks with non-parametric
    activation functions, 2018.

    Args:
        num_features: N, the number of complex channels along ``dim``.
        dim: the channel axis.
        device, dtype: of the coefficients; a real type.
        options: ``dictionary_size``, ``boundary``, ``kernel``, ``tails``, ``dictionary``, ``init`` and
            ``groups`` as for :class:`kafnets.KAF` with 2 N channels. ``groups=N`` shares a function between
            the two parts of a channel.
    """

    def __init__(
        self,
        num_features: int,
        dim: int = 1,
        device: Any = None,
        dtype: torch.dtype | None = None,
        **options: Unpack[KAFOptions],
    ) -> None:
        checked_layer(num_features, dim, None, 1)
        super().__init__(KAF(2 * num_features, dim=dim, device=device, dtype=dtype, **options), dim)
        self.num_features = num_features


class ComplexKAF(ComplexActivation):
    r"""Fully complex KAF: :math:`g(z) = \sum_{n,m} \alpha_{n,m} \, \kappa(z, d_n + i d_m)`, a grid of D x D.

    Coefficients are complex. With ``kernel="gaussian"``, :math:`\kappa(z, w) = \exp(-\gamma |z - w|^2)`: g
    can approximate any continuous function on the square of the dictionary, and is 0 far outside. With
    ``kernel="complex_gaussian"`` :math:`\kappa(z, w) = \exp(-\gamma (z - w^*)^2)`, the complex Gaussian: g is
    holomorphic, cannot approximate functions that are not, and grows as :math:`\exp(\gamma (\Im z)^2)`.

    >>> net = nn.Sequential(nn.Linear(4, 8, dtype=torch.complex64), kafnets.nn.ComplexKAF(8))
    >>> net(torch.randn(5, 4, dtype=torch.complex64)).shape
    torch.Size([5, 8])

    Source: Scardapane, Van Vaerenbergh, Hussain, Uncini, Complex-valued neural networks with non-parametric
    activation functions, 2018; the complex Gaussian: Bouboulis, Theodoridis, 2010.

    Args:
        num_features: N, the number of complex channels along ``dim``.
        dictionary_size: D, elements along each axis.
        boundary: the grid extends from ``-boundary`` to ``boundary`` along each axis.
        kernel: "gaussian" or "complex_gaussian".
        gamma: the bandwidth; None: :math:`\sqrt 2 / (6 \Delta^2)` for a spacing of :math:`\Delta`, the rule
            for 2D-KAFs.
        init: None: independent complex normal values of variance 0.3. A name ("identity", "split_relu",
            "split_tanh", "modrelu", "cardioid") or a function of complex tensors: approximated by
            ridge regression on the grid.
        dim: the channel axis.
        generator: for random initial values; None: torch's default one.
        device: of the parameters.
        dtype: complex64 or complex128; None: complex64.

    Attributes:
        alpha: the mixing coefficients, complex, ``(num_features, dictionary_size, dictionary_size)``.
        expansion: kernel and dictionary, along each axis.
    """

    mixing_parameters: ClassVar[tuple[str, ...]] = ("alpha",)

    def __init__(
        self,
        num_features: int,
        *,
        dictionary_size: int = 8,
        boundary: float = 3.0,
        kernel: ComplexKernel = "gaussian",
        gamma: float | None = None,
        init: str | Callable[[Tensor], Tensor] | None = None,
        dim: int = 1,
        generator: torch.Generator | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        checked_layer(num_features, dim, None, 1)
        if kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(map(repr, KERNELS))}, got {kernel!r}")
        if not (init is None or callable(init) or init in STARTS):
            raise ValueError(f"init must be a function, None or one of {', '.join(STARTS)}, got {init!r}")
        if dtype not in (None, torch.complex64, torch.complex128):
            raise TypeError(f"dtype must be torch.complex64 or torch.complex128, got {dtype!r}")
        self.num_features, self.kernel, self.init, self.dim = num_features, kernel, init, dim
        self.expansion = Expansion.of(
            2, dictionary_size=dictionary_size, boundary=boundary, kernel=Gaussian(gamma)
        )
        self._formula = formula_of(self.expansion)
        shape = (num_features, *self.expansion.shape)
        self.alpha = nn.Parameter(torch.empty(shape, device=device, dtype=dtype or torch.complex64))
        self.reset_parameters(generator)

    @property
    def gamma(self) -> float:
        """The bandwidth."""
        assert self.expansion.gamma is not None
        return self.expansion.gamma

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Reset the coefficients by ``init``."""
        with torch.no_grad():
            if self.init is None:
                # torch's complex normal values have variance 1 with both parts together
                self.alpha.normal_(generator=generator).mul_(math.sqrt(0.3))
                return
            start = STARTS[self.init] if isinstance(self.init, str) else self.init
            d = self.expansion.dictionary.elements
            grid = (d[:, None] + 1j * d).ravel()
            targets = start(torch.from_numpy(grid)).numpy()
            matrix = self._kernel_matrix(grid) + RIDGE * np.eye(len(grid))
            solution = np.linalg.solve(matrix, targets).reshape(self.expansion.shape)
            self.alpha.copy_(torch.from_numpy(solution))

    def _kernel_matrix(self, grid: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if self.kernel == "gaussian":
            return np.exp(-self.gamma * np.abs(grid[:, None] - grid) ** 2)
        return np.asarray(np.exp(-self.gamma * (grid[:, None] - grid.conj()) ** 2))

    def forward(self, input: Tensor) -> Tensor:
        self.check(input, self.dim, self.num_features)
        if self.kernel == "complex_gaussian":
            return self._holomorphic(input.movedim(self.dim, -1)).movedim(-1, self.dim).to(input.dtype)
        pairs, alpha = interleaved(input, self.dim), torch.view_as_real(self.alpha)
        parts = (apply(self._formula, pairs, each.contiguous(), self.dim) for each in alpha.unbind(-1))
        return torch.complex(*parts)

    def _holomorphic(self, z: Tensor) -> Tensor:
        r"""Channels last, by the factors of each term, for an element u + i v:

        :math:`e^{-\gamma (z - u)^2} \, e^{-2 i \gamma v z} \, e^{\gamma v^2 + 2 i \gamma u v}`.
        """
        d = torch.tensor(self.expansion.dictionary.values, dtype=z.real.dtype, device=z.device)
        z = z.unsqueeze(-1)
        by_u = torch.exp(-self.gamma * (z - d) ** 2)
        by_v = torch.exp(-2j * self.gamma * d * z)
        both = torch.exp(self.gamma * d**2 + 2j * self.gamma * d[:, None] * d)
        return (torch.einsum("...nu,nuv->...nv", by_u, (self.alpha * both).to(z.dtype)) * by_v).sum(-1)

    def extra_repr(self) -> str:
        d = self.expansion.dictionary
        return (
            f"{self.num_features}, dictionary_size={d.size} in [{d.values[0]:g}, {d.values[-1]:g}], "
            f"kernel={self.kernel!r}, gamma={self.gamma:.4g}, dim={self.dim}"
        )
