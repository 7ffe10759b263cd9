"""Moving trained activations between frameworks, by way of NumPy arrays that all can read and write."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from kafnets.frontends.plan import Expansion, twin
from kafnets.kernels import Gaussian, Kernel
from kafnets.nn.expansions import KAF, KAF2D
from kafnets.nn.initializers import Normal

Arrays = dict[str, NDArray[np.float64]]
"""``alpha``, and ``log_gamma`` where the bandwidth is learned."""


@dataclass(frozen=True)
class Trained:
    """All that an activation is, in no framework's own terms.

    Attributes:
        dimensions: 1 for a KAF, 2 for a 2D-KAF.
        kernel: with the bandwidth that it started with, whatever rule that came from.
        dictionary: its elements.
        arrays: its parameters.
    """

    dimensions: int
    kernel: Kernel
    dictionary: tuple[float, ...]
    arrays: Arrays

    @classmethod
    def of(cls, module: Expansion) -> "Trained":
        """From torch."""
        if not isinstance(module, KAF | KAF2D):
            raise TypeError(f"module must be a kafnets.KAF or KAF2D, got {type(module).__name__}")
        kernel = module.kernel
        if isinstance(kernel, Gaussian):
            kernel = replace(kernel, gamma=module._first_gamma)
        return cls(
            module._dimensions, kernel, tuple(module._exact_dictionary.tolist()), parameters_of(module)
        )

    def to_torch(self, dim: int, dtype: torch.dtype = torch.float32) -> Expansion:
        """As a module of torch whose channels are along ``dim``."""
        options = {"kernel": self.kernel, "dictionary": self.dictionary, "dim": dim, "init": Normal(0.0)}
        module = twin(self.dimensions, len(self.arrays["alpha"]), options)
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                parameter.copy_(torch.from_numpy(np.array(self.arrays[name], dtype=np.float64)))
        return module.to(dtype)


def parameters_of(module: Expansion) -> Arrays:
    """The parameters of a torch module, in float64."""
    return {name: each.detach().cpu().double().numpy().copy() for name, each in module.named_parameters()}
