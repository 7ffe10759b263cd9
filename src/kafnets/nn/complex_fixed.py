"""Activations of complex numbers without kernels, and the base class of all."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from kafnets.arguments import checked_layer


def modrelu(z: Tensor, bias: Tensor | float) -> Tensor:
    r""":math:`\max(0, |z| + b) z / |z|`, and 0 at 0."""
    return torch.relu(z.abs() + bias) * z.sgn()


def cardioid(z: Tensor) -> Tensor:
    r""":math:`\frac12 (1 + \cos \arg z) z`."""
    return 0.5 * (1 + z.sgn().real) * z


def split(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """A real function, of real and imaginary parts each."""
    return lambda z: torch.complex(function(z.real), function(z.imag))


class ComplexActivation(nn.Module):
    """For complex64 and complex128 tensors. Parameters that are real stay so in ``.to(torch.complex128)``."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        def careful(tensor: Tensor) -> Tensor:
            moved = fn(tensor)
            return moved if tensor.is_complex() or not moved.is_complex() else moved.real.clone()

        super()._apply(careful, recurse)  # type: ignore[no-untyped-call]
        return self

    def check(self, z: Tensor, dim: int, num_features: int) -> None:
        """Refuse other types, and other numbers of channels unless ``num_features`` is 1."""
        name = type(self).__name__
        if z.dtype not in (torch.complex64, torch.complex128):
            raise TypeError(f"{name} is for complex64 and complex128 tensors, got {z.dtype}")
        if not -z.dim() <= dim < z.dim() or (num_features > 1 and z.shape[dim] != num_features):
            raise ValueError(
                f"{name} was built for num_features={num_features} along dim={dim}, got an input of shape "
                f"{tuple(z.shape)}"
            )


def interleaved(z: Tensor, dim: int) -> Tensor:
    """Real and imaginary parts as neighboring channels."""
    axis = dim % z.dim()
    return torch.view_as_real(z.resolve_conj()).movedim(-1, axis + 1).flatten(axis, axis + 1)


class Split(ComplexActivation):
    r"""A real activation applied to real and imaginary parts: :math:`f(\Re z) + i f(\Im z)`.

    >>> kafnets.nn.Split(nn.Tanh())(torch.randn(5, 8, dtype=torch.complex64)).dtype
    torch.complex64

    Args:
        activation: any real activation that preserves shapes. With parameters per channel, it needs two
            channels for each complex one: first the real part, then the imaginary part.
        dim: the channel axis.
    """

    num_features = 1
    """Complex channels; 1: any number of them."""

    def __init__(self, activation: nn.Module, dim: int = 1) -> None:
        super().__init__()
        self.activation, self.dim = activation, dim

    def forward(self, input: Tensor) -> Tensor:
        self.check(input, self.dim, self.num_features)
        axis = self.dim % input.dim()
        parts = self.activation(interleaved(input, axis)).unflatten(axis, (-1, 2)).movedim(axis + 1, -1)
        return torch.view_as_complex(parts.contiguous())


class ModReLU(ComplexActivation):
    r"""modReLU: :math:`\max(0, |z| + b) \, z / |z|` with a learned b per channel, which preserves phases.

    >>> kafnets.nn.ModReLU(8)(torch.randn(5, 8, dtype=torch.complex64)).shape
    torch.Size([5, 8])

    Source: Arjovsky, Shah, Bengio, Unitary evolution recurrent neural networks, 2016.

    Args:
        num_features: N, the number of complex channels along ``dim``.
        bias: the initial value of b; 0 gives the identity.
        dim: the channel axis.
        device, dtype: of b; a real type.
    """

    undecayed_parameters: ClassVar[tuple[str, ...]] = ("bias",)

    def __init__(
        self, num_features: int = 1, bias: float = 0.0, dim: int = 1, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        checked_layer(num_features, dim, None, 1)
        self.num_features, self.first, self.dim = num_features, bias, dim
        self.bias = nn.Parameter(torch.empty(num_features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset b to its first value."""
        nn.init.constant_(self.bias, self.first)

    def forward(self, input: Tensor) -> Tensor:
        self.check(input, self.dim, self.num_features)
        return modrelu(input.movedim(self.dim, -1), self.bias).movedim(-1, self.dim).to(input.dtype)


class Cardioid(ComplexActivation):
    r"""Complex cardioid: :math:`\frac12 (1 + \cos \arg z) \, z`, which is ReLU on the real axis.

    >>> kafnets.nn.Cardioid()(torch.tensor([2 + 0j, -2 + 0j, 2j]))
    tensor([2.+0.j, -0.+0.j, 0.+1.j])

    Source: Virtue, Yu, Lustig, Better than real: complex-valued neural nets for MRI fingerprinting, 2017.
    """

    def forward(self, input: Tensor) -> Tensor:
        self.check(input, -1, 1)
        return cardioid(input)
