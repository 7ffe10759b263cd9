"""The report of :func:`kafnets.convert`."""

from dataclasses import dataclass

from kafnets.nn.dictionary_report import in_words


@dataclass(frozen=True)
class LayerConversion:
    """What became of one activation.

    Attributes:
        name: of the new module within the model.
        before: what was there.
        after: what is there now.
        start: how the new module started: "base" and "ridge" as :func:`kafnets.convert` has them; "own" if
            it is of a kind that can follow no other function.
        rms_error: of its outputs for the example input, the root-mean-square difference from the outputs of
            what it replaces, in the model that was given. It includes what came from earlier layers.
        largest_error: the largest such difference.
    """

    name: str
    before: str
    after: str
    start: str
    rms_error: float
    largest_error: float

    def __str__(self) -> str:
        changed = in_words("outputs", self.rms_error, self.largest_error)
        return f"{self.name}: {self.before} became {self.after}; {changed}"


@dataclass(frozen=True)
class Conversion:
    """What became of a model's activations; print it.

    Attributes:
        layers: one report per new module.
        not_replaced: one line for each activation that was left as it was, with the reason.
        output_rms: the root-mean-square change of the model's outputs for the example input.
        output_largest: the largest change of one output.
    """

    layers: tuple[LayerConversion, ...]
    not_replaced: tuple[str, ...]
    output_rms: float
    output_largest: float

    def __str__(self) -> str:
        lines = [*map(str, self.layers), *(f"not replaced: {each}" for each in self.not_replaced)]
        return "\n".join([*lines, in_words("outputs", self.output_rms, self.output_largest)])
