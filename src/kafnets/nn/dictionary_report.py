"""The report of :func:`kafnets.calibrate` and :func:`kafnets.refine`."""

import math
from dataclasses import dataclass

from kafnets.expansion import Expansion
from kafnets.nn.refit import ends_of


@dataclass(frozen=True)
class LayerChange:
    """What became of one layer's dictionary.

    Attributes:
        name: of the module within the model.
        kind: its class.
        before: its expansion as it was.
        expansion: as it is.
        rms_error: of its functions, the root-mean-square difference from what they were: at its inputs after
            ``calibrate``, there for an edge-wise layer of the sums over its connections; over the
            dictionary's range after ``refine``.
        largest_error: the largest such difference.
        kept: why the layer was left as it was; None if it was not.
        outside_before: the share of its inputs outside the dictionary as it was; NaN after ``refine``, which
            sees no inputs.
        outside_after: the same with the dictionary as it is.
    """

    name: str
    kind: str
    before: Expansion
    expansion: Expansion
    rms_error: float
    largest_error: float
    kept: str | None
    outside_before: float = math.nan
    outside_after: float = math.nan

    @property
    def ends_before(self) -> tuple[float, float]:
        """The first and the last element as they were."""
        return ends_of(self.before)

    @property
    def ends_after(self) -> tuple[float, float]:
        """The first and the last element as they are."""
        return ends_of(self.expansion)

    @property
    def size_before(self) -> int:
        """The number of elements along each axis, as it was."""
        return self.before.dictionary.size

    @property
    def size_after(self) -> int:
        """The number of elements along each axis, as it is."""
        return self.expansion.dictionary.size

    def __str__(self) -> str:
        line = f"{self.name or '(model)'} ({self.kind}): "
        if math.isnan(self.outside_before):
            line, now = f"{line}{self.size_before} elements", str(self.size_after)
        else:
            line += f"{self.outside_before:.2%} of inputs outside {_interval(self.ends_before)}"
            now = f"{self.outside_after:.2%} outside {_interval(self.ends_after)}"
        if self.kept is not None:
            return f"{line}; unchanged: {self.kept}"
        return f"{line}, now {now}; {in_words('functions', self.rms_error, self.largest_error)}"


@dataclass(frozen=True)
class DictionaryChanges:
    """What became of a model's dictionaries; print it.

    Attributes:
        layers: one report per layer, in the order of the model's modules.
        output_rms: the root-mean-square change of the model's outputs; NaN after ``refine``.
        output_largest: the largest change of one output.
    """

    layers: tuple[LayerChange, ...]
    output_rms: float = math.nan
    output_largest: float = math.nan

    def __str__(self) -> str:
        lines = [str(layer) for layer in self.layers]
        if not math.isnan(self.output_rms):
            lines.append(in_words("outputs", self.output_rms, self.output_largest))
        return "\n".join(lines)


def in_words(what: str, rms: float, largest: float) -> str:
    """A change, as all reports on models state it."""
    return f"{what} changed by {rms:.2g} (rms), at most {largest:.2g}"


def _interval(ends: tuple[float, float]) -> str:
    digits = max(0, 2 - math.floor(math.log10(ends[1] - ends[0])))
    return f"[{ends[0]:.{digits}f}, {ends[1]:.{digits}f}]"
