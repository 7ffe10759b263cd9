"""An equispaced dictionary by its three numbers, as the fused kernels want it."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from kafnets import reference


@dataclass(frozen=True)
class Grid:
    """``first``, ``first + spacing``, ... : ``size`` elements."""

    size: int
    first: float
    spacing: float

    @classmethod
    def of(cls, dictionary: NDArray[np.float64]) -> Self | None:
        """The grid that a dictionary is, or None if it is not equispaced to float64 precision."""
        try:
            spacing = reference.spacing(dictionary)
        except ValueError:
            return None
        grid = cls(len(dictionary), float(dictionary[0]), spacing)
        deviation = np.abs(dictionary - grid.elements()).max()
        return grid if deviation <= 4 * np.spacing(np.abs(dictionary).max()) else None

    def elements(self) -> NDArray[np.float64]:
        """The dictionary."""
        return np.asarray(self.first + self.spacing * np.arange(self.size), dtype=np.float64)
