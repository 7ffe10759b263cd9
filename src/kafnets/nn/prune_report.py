"""The report of :func:`kafnets.prune`."""

from dataclasses import dataclass

from kafnets.nn.dictionary_report import in_words


@dataclass(frozen=True)
class LayerPruning:
    """What became of one layer.

    Attributes:
        name: of the activation within the model.
        before: neurons as they were: functions, of one input or of a pair.
        constant: neurons removed since their outputs are constant on the data.
        merged: neurons removed since they are linear, and sums of other linear ones, on the data.
        collapsed: whether all neurons were linear, so that two linear maps became one.
        elements_before: dictionary elements as they were, along each axis; 0 without a dictionary.
        elements_after: as they are.
        zeros: coefficients that became 0, of those that are left.
    """

    name: str
    before: int
    constant: int = 0
    merged: int = 0
    collapsed: bool = False
    elements_before: int = 0
    elements_after: int = 0
    zeros: int = 0

    @property
    def after(self) -> int:
        """Neurons as they are."""
        return 0 if self.collapsed else self.before - self.constant - self.merged

    def __str__(self) -> str:
        line = f"{self.name}: {self.before} neurons, now {self.after}"
        line += f" ({self.constant} constant, {self.merged} merged)"
        if self.collapsed:
            return line + ", since all were linear: two linear maps became one"
        if self.elements_before:
            line += f"; {self.elements_before} dictionary elements, now {self.elements_after}"
        return line + (f"; {self.zeros} coefficients set to 0" if self.zeros else "")


@dataclass(frozen=True)
class Pruning:
    """What became of a model; print it.

    Attributes:
        layers: one report per layer that could be pruned.
        refused: one line for each activation that could not, with the reason.
        parameters_before: the number of parameters as it was.
        parameters_after: as it is.
        output_rms: the root-mean-square change of the outputs on the data.
        output_largest: the largest change of one output, at most the tolerance.
    """

    layers: tuple[LayerPruning, ...]
    refused: tuple[str, ...]
    parameters_before: int
    parameters_after: int
    output_rms: float
    output_largest: float

    def __str__(self) -> str:
        lines = [*map(str, self.layers), *(f"not pruned: {each}" for each in self.refused)]
        lines.append(f"{self.parameters_before:,} parameters, now {self.parameters_after:,}")
        lines.append(in_words("outputs", self.output_rms, self.output_largest))
        return "\n".join(lines)
