"""Comparing activations on anybody's data."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from kafnets.comparison.description import Description
from kafnets.comparison.summary import Cell, complete
from kafnets.data.splits import Splits
from kafnets.registry import find
from kafnets.timing import interleaved, threads
from kafnets.train.loop import stepper
from kafnets.train.predictor import Predictor
from kafnets.train.recipe import DROPOUT, HIDDEN, RECIPE, SCALING, STARTS
from kafnets.train.runs import RunFolder
from kafnets.train.settings import Settings

ACTIVATIONS = ("relu", "elu", "prelu", "tanh", "kaf", "kaf2d")
BASELINE = "relu"
BEST, RANKING = "best", "ranking.json"

SECONDS_OF_TIMING = 1.0


def descriptions(
    source: str,
    activations: Sequence[str] = ACTIVATIONS,
    *,
    hidden: Sequence[int] = HIDDEN,
    dropout: float = DROPOUT,
    seeds: int = 5,
    settings: Settings | None = None,
    table: dict[str, Any] | None = None,
) -> list[Description]:
    """One an activation and seed, ReLU among them as the baseline.

    Their folder is named after the data and a digest of all that they have in common. So the same comparison
    goes on where it was, and one with other settings, or of a table that was changed, begins anew beside it.

    Args:
        source: the name of a data set, or the path of a table.
        activations: registered names.
        hidden: widths of the hidden layers.
        dropout: behind each of them.
        seeds: runs of each.
        settings: of training; the recipe of ``kafnets.train.recipe`` if None.
        table: for a table, arguments of ``kafnets.data.tables.load``: its target at least.
    """
    settings = settings or RECIPE
    chosen = list(dict.fromkeys([*activations, BASELINE]))
    for name in chosen:
        find(name)
    if table:
        path = Path(source).resolve()
        if not path.exists():
            raise FileNotFoundError(f"{source} is not there")
        source, content = str(path), hashlib.sha256(path.read_bytes()).hexdigest()
    else:
        content = source
    network = {"hidden": list(hidden), "dropout": dropout, "scaling": SCALING}
    common = {"data": content, "table": table, "settings": settings.describe()} | network
    digest = hashlib.sha256(json.dumps(common, sort_keys=True).encode()).hexdigest()
    called = re.sub(r"[^\w-]+", "_", Path(source).stem) or "table"
    one = Description(
        "compare",
        f"{called}-{digest[:6]}",
        BASELINE,
        source,
        BASELINE,
        tuple(hidden),
        seed=0,
        dropout=(dropout,) * len(hidden),
        table=table or {},
        settings=settings,
        scaling=SCALING,
    )
    return [
        replace(one, label=name, activation=name, options=STARTS.get(name, {}), seed=seed)
        for name in chosen
        for seed in range(seeds)
    ]


def check(descriptions: Sequence[Description]) -> Splits:
    """Read the data and build each network once, so that mistakes are told before anything is trained."""
    splits = descriptions[0].load()
    if descriptions[0].table:  # what one division has in its training part, another may not have
        for each in {each.seed: each for each in descriptions if each.seed != descriptions[0].seed}.values():
            each.load()
    if splits.scaling is None:
        raise ValueError(f"{splits.name} holds images: compare takes tables of features")
    for each in descriptions:
        if each.seed == 0:
            try:
                each.build(splits)
            except ValueError as error:
                raise ValueError(
                    f"{each.activation} with hidden layers of {_listed(each.hidden)}: {error}"
                ) from error
    return splits


def _listed(hidden: Sequence[int]) -> str:
    return ", ".join(map(str, hidden))


def stored_ratios(folder: Path, cells: Sequence[Cell]) -> dict[str, float] | None:
    """Times that an earlier call has measured, if it has for all of these."""
    try:
        rows = json.loads((folder / RANKING).read_text(encoding="utf-8"))["rows"]
        found = {row["label"]: float(row["step_against_relu"]) for row in rows}
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if {cell.label for cell in cells} <= found.keys() else None


def step_ratios(descriptions: Sequence[Description]) -> dict[str, float]:
    """The time of a training step against ReLU's, by label: medians on one thread, all taking turns."""
    splits = descriptions[0].load()
    runs = {
        each.label: stepper(each.build(splits), splits, each.settings)
        for each in descriptions
        if each.seed == 0
    }
    with threads(1):
        timings = interleaved(runs, seconds_a_run=SECONDS_OF_TIMING, least=15)
    return {label: timing.median / timings[BASELINE].median for label, timing in timings.items()}


def save_best(
    descriptions: Sequence[Description], cells: Sequence[Cell], output: Path
) -> tuple[Description, Path]:
    """Save the network that did best in validation, of the activation that did so in the mean.

    Not in the test: a choice by the test would make its score too good to be true.
    """
    winner = max(complete(cells), key=lambda cell: cell.mean_validation)
    seed = max(winner.validation, key=lambda seed: winner.validation[seed])
    (best,) = (each for each in descriptions if each.label == winner.label and each.seed == seed)
    splits = best.load()
    model = best.build(splits)
    model.load_state_dict(RunFolder(output / best.folder).weights())
    folder = output / best.experiment / best.profile / BEST
    Predictor.of(model, best.architecture(splits), splits).save(folder)
    return best, folder


def as_json(
    descriptions: Sequence[Description], cells: Sequence[Cell], ratios: dict[str, float]
) -> dict[str, Any]:
    """The ranked table, for a file."""
    return {
        "data": Path(descriptions[0].data).name,
        "settings": descriptions[0].settings.describe(),
        "rows": [
            asdict(cell)
            | {
                "mean": cell.mean,
                "deviation": None if len(cell.test) == 1 else cell.deviation,
                "step_against_relu": ratios.get(cell.label),
            }
            for cell in sorted(cells, key=lambda cell: -cell.mean)
        ],
    }
