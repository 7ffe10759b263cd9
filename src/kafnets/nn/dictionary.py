"""Modules that stand on a dictionary: they store it, and refuse coefficients that were learned on another."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from kafnets.expansion import Dictionary, Expansion
from kafnets.kernels import Gaussian, Kernel
from kafnets.nn.resettable import Resettable


class DictionaryModule(Resettable):
    """A module with an expansion, whose dictionary is a buffer.

    A module that has moved to another dictionary since it was built tells so in a buffer "moved"; one that
    loads such a state moves there first.

    Attributes:
        expansion: kernel and dictionary: the one description of what its functions are.
        dictionary: the elements as a buffer ``(D,)``, in float32 at least.
    """

    expansion: Expansion
    dictionary: Tensor
    outside: Tensor
    alpha: Tensor
    keeps_float32: ClassVar[tuple[str, ...]] = ()
    """Parameters that stay in float32 when the module is converted to half precision."""

    def _stand_on(self, expansion: Expansion, device: Any) -> None:
        self.expansion = self._built = expansion
        self.register_buffer("dictionary", torch.empty(expansion.dictionary.size, device=device))
        if (outside := _outside(expansion)) != _outside(Expansion.of()):
            self.register_buffer("outside", _as_tensor(outside))

    def stand_on(self, expansion: Expansion, alpha: Tensor | None = None) -> None:
        """Move to another dictionary or bandwidth.

        Everything that follows from the expansion moves along: the buffer, the formula, and a learned
        bandwidth, by the factor between the old expansion's and the new one's. An optimizer is not told: see
        :func:`kafnets.calibrate` and :func:`kafnets.refine`, which tell it.

        Args:
            expansion: as the present one, but for its dictionary and its kernel's bandwidth.
            alpha: coefficients for it. Those of the present shape are copied into the parameter; those of
                another shape, for another number of elements, become a new one. None leaves them as they
                are, which needs a dictionary of the same size.
        """
        old = self.expansion
        for name in ("dimensions", "tails", "base", "learn_gamma"):
            if getattr(expansion, name) != getattr(old, name):
                raise ValueError(
                    f"expansion must have the {name} of the present one, {getattr(old, name)!r}, "
                    f"got {getattr(expansion, name)!r}"
                )
        shape = (*self.alpha.shape[: -old.dimensions], *expansion.shape)
        given = self.alpha.shape if alpha is None else alpha.shape
        if tuple(given) != shape:
            raise ValueError(f"alpha must have the shape {shape} for this expansion, got {tuple(given)}")
        log_gamma = self._parameters.get("log_gamma")
        with torch.no_grad():
            if log_gamma is not None:
                assert expansion.gamma is not None
                assert old.gamma is not None
                log_gamma.add_(math.log(expansion.gamma / old.gamma))
            if alpha is not None and alpha.shape == self.alpha.shape:
                self.alpha.copy_(alpha)
            elif alpha is not None:
                self.alpha = nn.Parameter(
                    alpha.detach().to(self.alpha, copy=True), requires_grad=self.alpha.requires_grad
                )
        self.expansion = expansion
        if self.dictionary.shape != (expansion.dictionary.size,):
            self.dictionary = self.dictionary.new_empty(expansion.dictionary.size)
        self._restore_dictionary()

    @property
    def kernel(self) -> Kernel:
        """The kernel, its bandwidth resolved."""
        return self.expansion.kernel

    @property
    def dictionary_size(self) -> int:
        """D, the number of dictionary elements (along each axis)."""
        return self.expansion.dictionary.size

    def _restore_dictionary(self) -> None:
        """Write the exact dictionary into the buffer.

        The buffer is float32 at least: in half precision its elements would move by more than the
        result's own rounding.
        """
        dtype = torch.promote_types(self.alpha.dtype, torch.float32)
        if self.dictionary.dtype != dtype:
            self.dictionary = self.dictionary.to(dtype)
        with torch.no_grad():
            self.dictionary.copy_(torch.tensor(self.expansion.dictionary.values, dtype=torch.float64))
            if "outside" in self._buffers:  # memory may be uninitialized, as after to_empty
                self.outside.copy_(_as_tensor(_outside(self.expansion)))
        self._buffers.pop("moved", None)
        if self.expansion != self._built:
            place = [self.expansion.gamma, *self.expansion.dictionary.values]
            self.register_buffer("moved", _as_tensor(json.dumps(place)).to(self.dictionary.device))

    def _follow(self, moved: Tensor | None) -> None:
        """Move to where a stored module stood, such that its coefficients fit in."""
        expansion = self._built
        if moved is not None:
            gamma, *values = json.loads(_as_text(moved))
            kernel = expansion.kernel
            if isinstance(kernel, Gaussian):
                kernel = replace(kernel, gamma=gamma)
            expansion = replace(expansion, kernel=kernel, dictionary=Dictionary.of(values))
        if expansion != self.expansion:
            shape = (*self.alpha.shape[: -expansion.dimensions], *expansion.shape)
            self.stand_on(expansion, None if self.alpha.shape == shape else self.alpha.new_zeros(shape))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        kept = {id(self._parameters[name]) for name in self.keeps_float32 if name in self._parameters}

        def careful(tensor: Tensor) -> Tensor:
            moved = fn(tensor)
            if id(tensor) in kept and moved.dtype.itemsize < 4:
                return tensor.to(moved.device, torch.float32)
            return moved

        super()._apply(careful, recurse)  # type: ignore[no-untyped-call]
        self._restore_dictionary()
        return self

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        errors: list[str] = args[-1]
        if prefix + "alpha" in state_dict:
            try:
                self._follow(state_dict.get(prefix + "moved"))
            except (ValueError, TypeError) as error:
                errors.append(f"{prefix}moved does not describe a dictionary: {error}")
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        text = state_dict.get(prefix + "outside")
        before = _outside(Expansion.of()) if text is None else _as_text(text)
        if (now := _outside(self.expansion)) != before and prefix + "alpha" in state_dict:
            errors.append(f"{prefix}alpha was stored with {before}, but this module was built with {now}")
        stored = state_dict.get(prefix + "dictionary")
        if stored is not None and not stored.is_meta and stored.shape == self.dictionary.shape:
            values, own = stored.detach().double().cpu().numpy(), self.expansion.dictionary.elements
            if np.abs(values - own).max() > 1e-5 * np.abs(own).max():
                errors.append(
                    f"{prefix}dictionary was stored with values from {values[0]:g} to {values[-1]:g}, "
                    f"but this module was built with values from {own[0]:g} to {own[-1]:g}: build it with "
                    "the same boundary or dictionary"
                )
        self._restore_dictionary()


def _as_tensor(text: str) -> Tensor:
    """So that files of tensors alone can hold it, and no change of precision touches it."""
    return torch.tensor(list(text.encode()), dtype=torch.uint8)


def _as_text(tensor: Tensor) -> str:
    return bytes(tensor.tolist()).decode()


def _outside(expansion: Expansion) -> str:
    """Tails and base as text."""
    return f"tails={expansion.tails!r}, base={expansion.base}"
