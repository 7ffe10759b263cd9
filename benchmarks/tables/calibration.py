"""Log-losses of one network before and after its probabilities are calibrated by few held-out rows.

python -m benchmarks.tables.calibration

On the development tables of classification, with 300 and 1,000 training rows, of which 15 % are held out; the
validation part is scored. How temperatures are found was chosen on divisions 0 to 2; these are the others.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch

from benchmarks.tables import rivals, suite
from benchmarks.tables.run import append, scores, stored
from kafnets.provenance import provenance
from kafnets.sklearn import KafnetClassifier

OUTPUT = Path("benchmarks/results/calibration.jsonl")
DIVISIONS, ROWS = (3, 4), (300, 1000)


def run(name: str, division: int, rows: int) -> dict[str, Any] | None:
    """One network; None for regression."""
    table = suite.table(name)
    if not table.class_values:
        return None
    train, validation, _ = table.rows(division)
    own, frame = np.random.default_rng(division).permutation(train)[:rows], table.frame()
    model = KafnetClassifier(
        n_members=1, calibrate_probabilities=True, random_state=division, device="cpu", verbose=False
    ).fit(frame.iloc[own], table.target[own])
    predictor, losses = model.predictor_, list[float]()
    for each in (replace(predictor, temperature=1.0), predictor):
        model.predictor_ = each
        found = rivals.probabilities(model, frame.iloc[validation], len(table.class_values))
        losses.append(scores(table, found, table.target[validation])["log_loss"])
    asked = {"table": name, "division": division, "rows": rows}
    return asked | {"temperature": predictor.temperature, "log_loss": losses}


def told(lines: Sequence[Mapping[str, Any]]) -> str:
    """In words."""
    ratios = [after / before for before, after in (line["log_loss"] for line in lines)]
    changed = sum(line["temperature"] != 1 for line in lines)
    mean = math.exp(fmean(map(math.log, ratios)))
    worse = sum(ratio > 1 for ratio in ratios)
    return (
        f"Of {len(lines)} networks, {changed} had a temperature other than 1. Calibration multiplied the "
        f"log-loss on other rows by {mean:.3f} (geometric mean over all networks). It made it larger "
        f"for {worse} of them, by up to {100 * (max(ratios) - 1):.1f} %."
    )


def main() -> None:
    """Run what is missing."""
    torch.set_num_threads(1)
    keys = ("table", "division", "rows")
    done = {tuple(line[key] for key in keys) for line in stored(OUTPUT)}
    for asked in itertools.product(suite.GROUPS["development"], DIVISIONS, ROWS):
        if asked not in done and (result := run(*asked)) is not None:
            append(OUTPUT, result | {"provenance": provenance("scikit-learn")})
            print(*asked, result["temperature"], result["log_loss"], flush=True)


if __name__ == "__main__":
    main()
