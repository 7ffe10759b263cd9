"""Modules that stand on a dictionary: they store it, and refuse coefficients that were learned on another."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from kafnets.expansion import Expansion
from kafnets.kernels import Kernel


class DictionaryModule(nn.Module):
    """A module with an expansion, whose dictionary is a buffer.

    Attributes:
        expansion: kernel and dictionary: the one description of what its functions are.
        dictionary: the elements as a buffer ``(D,)``, in float32 at least.
    """

    expansion: Expansion
    dictionary: Tensor
    alpha: Tensor
    keeps_float32: ClassVar[tuple[str, ...]] = ()
    """Parameters that stay in float32 when the module is converted to half precision."""

    def _stand_on(self, expansion: Expansion, device: Any) -> None:
        self.expansion = expansion
        self.register_buffer("dictionary", torch.empty(expansion.dictionary.size, device=device))
        if (outside := _outside(expansion)) != _outside(Expansion.of()):
            # Text, so that files of tensors alone can hold it.
            self.register_buffer("outside", torch.tensor(list(outside.encode()), dtype=torch.uint8))

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
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        errors: list[str] = args[-1]
        text = state_dict.get(prefix + "outside")
        before = _outside(Expansion.of()) if text is None else bytes(text.tolist()).decode()
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


def _outside(expansion: Expansion) -> str:
    """Tails and base as text."""
    base = expansion.base
    described = (
        "None" if base is None else base.function if base.form == "fixed" else f"{base.form} {base.function}"
    )
    return f"tails={expansion.tails!r}, base={described}"
