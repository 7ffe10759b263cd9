"""What the tables of an experiment show beyond the claims, in sentences: above all where KAFs do not win."""

import math
from collections.abc import Sequence
from typing import Any

from kafnets.comparison.summary import Cell, in_layers
from kafnets.paper import cifar10, susy
from kafnets.paper.evidence import Evidence
from kafnets.registry import facts_of, own_names

THE_RECIPE = "the recipe"
"""What :file:`scripts/search_recipe.py` calls it with nothing changed."""


def sensorless(evidence: Evidence) -> str:
    """Whether the paper's baselines are the best of their kind, and how good frozen KAFs are."""
    plottable = [name for name in own_names() if facts_of(name).plottable]
    told = []
    for family, in_the_paper in (("fixed", "tanh"), ("parametric", "prelu")):
        members = [name for name in plottable if facts_of(name).family == family]
        best = _best(evidence.cells("sensorless", "paper", members, [3]))
        if best is not None:
            told.append(
                f"The best {family} activation with three layers is {_with_score(best)}; in the paper it is "
                f"{in_the_paper}."
            )
    frozen = evidence.cell("sensorless", "paper", "kaf frozen", 2)
    baselines = [evidence.cell("sensorless", "paper", name, 3) for name in ("tanh", "prelu")]
    if frozen is not None and (below := _below(frozen, baselines)):
        told.append(
            f"KAFs that stay random reach {frozen.mean:.4f} with two layers, more than three of "
            f"{_listed(below)}; the paper finds them “vastly inferior (in some cases even worse than the "
            "baseline)”."
        )
    others = ", ".join(name for name in own_names() if name not in plottable)
    told.append(f"Left out are those whose neurons are not functions of one or two numbers: {others}.")
    return " ".join(told)


def on_susy(evidence: Evidence) -> str:
    """Which row is best, and what a second layer does to KAFs."""
    best = _best(evidence.cells("susy", "sample", susy.ACTIVATIONS))
    if best is None:
        return ""
    told = [f"The best of these rows is {_with_score(best)}, with {in_layers(best.layers)}."]
    worse = []
    for label in ("kaf", "kaf2d"):
        one, two = (evidence.cell("susy", "sample", label, layers) for layers in (1, 2))
        if one is not None and two is not None and two.mean < one.mean:
            worse.append(f"{label} ({one.mean:.4f} to {two.mean:.4f})")
    if worse:
        told.append(f"A second layer makes {_listed(worse)} worse: so few rows invite overfitting.")
    return " ".join(told)


def on_cifar10(evidence: Evidence) -> str:
    """How often ELU is better, and how many runs the number of epochs has ended."""
    found = evidence.cells("cifar10", "small", cifar10.ACTIVATIONS, cifar10.LAYERS)
    if not found:
        return ""
    filters, settings = cifar10.PROFILES["small"]
    means = {(cell.label, cell.layers): cell.mean for cell in found}
    depths = [modules for modules in cifar10.LAYERS if ("elu", modules) in means]
    below = [
        f"{label} at {count}"
        for label in ("kaf", "kaf2d")
        if (count := sum(means.get((label, own), 1.0) < means["elu", own] for own in depths))
    ]
    told = []
    if below:
        told.append(f"With {filters} filters, below elu are {_listed(below)} of {len(depths)} depths.")
    epochs = [epoch for cell in found for epoch in cell.best_epochs.values()]
    ended = epochs.count(settings.epochs)
    told.append(
        f"In {ended} of {len(epochs)} runs the best epoch is the last one allowed: more might have helped."
    )
    return " ".join(told)


def on_variants(evidence: Evidence) -> str:
    """Which change of the recipe validation likes on most data sets."""
    found: dict[str, dict[str, Any]] = (evidence.benchmark("recipe") or {"variants": {}})["variants"]
    base = found.get(THE_RECIPE, {})
    better = {
        label: [
            name
            for name, scores in own.items()
            if name in base and (scores["validation"] or -math.inf) > (base[name]["validation"] or -math.inf)
        ]
        for label, own in found.items()
        if label != THE_RECIPE
    }
    if not better:
        return ""
    most = max(len(names) for names in better.values())
    best = ", ".join(f"“{label}”" for label, names in better.items() if len(names) == most)
    told = f"Of {len(better)} changes, those that beat the recipe on most data sets do so on"
    return f"{told} {most} of {len(base)}: {best}."


def _best(found: Sequence[Cell]) -> Cell | None:
    return max(found, key=lambda cell: cell.mean, default=None)


def _below(cell: Cell, others: Sequence[Cell | None]) -> list[str]:
    return [_with_score(other) for other in others if other is not None and other.mean < cell.mean]


def _with_score(cell: Cell) -> str:
    return f"{cell.label} ({cell.mean:.4f})"


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(parts)
