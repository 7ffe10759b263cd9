"""What KAFs share that have more to learn than their coefficients."""

import functools
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from kafnets.expansion import Expansion
from kafnets.nn.activation import ByChannel, TorchSource
from kafnets.registry import Facts
from kafnets.starts import Init, draw_blocks, resolve_init

expansion_facts = functools.partial(
    Facts,
    "expansions",
    smooth=True,
    local="yes",
    regularization="yes",
    plottable=True,
    hyperparameter="dictionary_size",
)


class Expanding(ByChannel):
    """Coefficients on an expansion, drawn as those of a KAF."""

    mixing_parameters = ("alpha",)
    first: Expansion
    """What the functions start from."""

    def _draw(self, expansion: Expansion, init: Init, options: dict[str, Any]) -> None:
        self.first = expansion
        self.init = resolve_init(init, self.groups, expansion)
        self.alpha = nn.Parameter(torch.empty(self.groups, *expansion.shape, **options))

    @property
    def dictionary_size(self) -> int:
        """D, the number of dictionary elements."""
        return self.first.dictionary.size

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Reset the parameters."""
        with torch.no_grad():
            source = TorchSource(self.alpha, generator)
            for where, block in draw_blocks(self.init, self.groups, self.first, source):
                values = block if isinstance(block, Tensor) else torch.from_numpy(np.array(block))
                self.alpha[where] = values.to(self.alpha)
