"""What the page is given: numbers as JSON, and functions as one packed array."""

import base64
import gzip
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafnets.comparison.statistics import paired_test
from kafnets.inspection.bands import band
from kafnets.inspection.curves import BINS, SIDE, LearnedFunctions
from kafnets.inspection.describe import describe_functions
from kafnets.report.collect import ALSO, Collection, Run, step_times
from kafnets.train.metrics import MAIN

CURVE_POINTS = 51
"""Places of a curve on the page."""

LEVELS = 4095
"""Steps between the smallest and the largest value of a function: finer than anybody sees."""


class Packed:
    """Whole numbers up to ``LEVELS``, all in one array; each piece is found by where it begins.

    Smooth functions compress well if each number is told as its difference from the one before it, and if all
    low bytes come before all high ones.
    """

    def __init__(self) -> None:
        self.pieces: list[NDArray[np.uint16]] = []
        self.length = 0

    def add(self, values: NDArray[np.floating]) -> dict[str, Any]:
        """Rows, each quantized between its smallest and its largest value."""
        rows = np.nan_to_num(values.astype(np.float64)).reshape(len(values), -1)
        low, high = rows.min(1), rows.max(1)
        # Rounded as the page is told them, so that nothing is lost between the two.
        low, span = (np.array([float(f"{each:.5g}") for each in part]) for part in (low, high - low))
        levels = np.round((rows - low[:, None]) / np.where(span > 0, span, 1)[:, None] * LEVELS)
        piece = levels.clip(0, LEVELS).astype(np.uint16)
        self.pieces.append(np.diff(piece, prepend=np.uint16(0), axis=1).ravel())  # wraps, as adding does
        begin, self.length = self.length, self.length + piece.size
        return {"begin": begin, "size": rows.shape[1], "low": low.tolist(), "span": span.tolist()}

    def text(self) -> str:
        """Compressed, in letters."""
        whole = np.concatenate(self.pieces) if self.pieces else np.zeros(0, np.uint16)
        return compressed((whole & 255).astype(np.uint8).tobytes() + (whole >> 8).astype(np.uint8).tobytes())


def compressed(content: bytes) -> str:
    """In letters. The same content gives the same letters."""
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def payload(found: Collection, title: str) -> tuple[dict[str, Any], str]:
    """All that the page shows, and the packed functions."""
    packed = Packed()
    comparisons: dict[tuple[str, ...], list[Run]] = {}
    for run in found.runs:
        comparisons.setdefault(run.comparison, []).append(run)
    return {
        "title": title,
        "bins": BINS,
        "points": CURVE_POINTS,
        "side": SIDE,
        "levels": LEVELS,
        "comparisons": [_comparison(runs, packed) for runs in comparisons.values()],
        "unfinished": found.unfinished,
        "damaged": [{"path": path, "why": why} for path, why in found.damaged],
    }, packed.text()


def _comparison(runs: list[Run], packed: Packed) -> dict[str, Any]:
    experiment, profile, data, target, task = runs[0].comparison
    metric, also = MAIN[task], ALSO.get(task, ())
    settings: dict[object, list[Run]] = {}
    for run in runs:
        settings.setdefault(run.setting, []).append(run)
    times = step_times(runs[0])
    rows = [_setting(members, metric, packed) | _scores(members, metric) for members in settings.values()]
    for row, members in zip(rows, settings.values(), strict=True):
        row["also"] = {name: _scores(members, name) for name in also}
        row["step"] = times.get(row["label"])
    rows.sort(key=lambda row: -row["mean"])
    for ranked in (rows, *([row["also"][name] for row in rows] for name in also)):
        _test_against_best(ranked)
    predicted = f", predicting {target}" if target else ""
    named = f"{data}{predicted} ({profile})"
    return {
        "name": named if experiment == "compare" else f"{experiment}, {profile} profile, {data}",
        "metric": metric,
        "also": list(also),
        "task": task,
        "turn": "iteration" if task == "control" else "epoch",
        "digits": 1 if task == "control" else 4,
        "rows": rows,
    }


def _test_against_best(rows: list[dict[str, Any]]) -> None:
    """Put into each row a p-value, and the name of its test."""
    best = max(rows, key=lambda row: row["mean"])
    for row in rows:
        common = sorted(row["scores"].keys() & best["scores"].keys())
        tested = (
            None
            if row is best
            else paired_test(
                [row["scores"][seed] for seed in common],
                [best["scores"][seed] for seed in common],
                test_to_train=row["test_to_train"],
            )
        )
        row["p"] = None if tested is None else tested.corrected(len(rows) - 1).p_value
        row["test"] = None if tested is None else tested.name


def _scores(members: list[Run], metric: str) -> dict[str, Any]:
    scores = {run.seed: run.scores[metric] for run in members}
    values = np.array(list(scores.values()))
    return {
        "scores": scores,
        "mean": float(values.mean()),
        "deviation": float(values.std(ddof=1)) if len(values) > 1 else None,
        "test_to_train": members[0].test_to_train,
    }


def _setting(members: list[Run], metric: str, packed: Packed) -> dict[str, Any]:
    first = members[0]
    label, hidden = first.setting
    return {
        "label": label,
        "hidden": list(hidden),
        "parameters": first.parameters,
        "curves": _bands(members, f"validation_{metric}"),
        "losses": _bands(members, "train_loss"),
        "learned": _learned(members, packed),
        "runs": [_provenance(run, metric) for run in members],
        "settings": first.config | first.about,
    }


def _bands(members: Iterable[Run], column: str) -> dict[str, list[float]]:
    """Mean and deviation by epoch."""
    series = [[row[column] for row in run.epochs if column in row] for run in members]
    series = [values for values in series if values]
    if not series:
        return {"mean": [], "deviation": []}
    mean, deviation = band(series)
    return {"mean": np.round(mean, 6).tolist(), "deviation": np.round(deviation, 6).tolist()}


def _learned(members: list[Run], packed: Packed) -> dict[str, Any] | None:
    """Functions of the run that has most moments of them."""
    stored = [(run, run.functions()) for run in sorted(members, key=lambda run: run.seed)]
    run, layers = max(stored, key=lambda pair: sum(len(layer.moments) for layer in pair[1]))
    return {"seed": run.seed, "layers": [_layer(layer, packed) for layer in layers]} if layers else None


def _layer(layer: LearnedFunctions, packed: Packed) -> dict[str, Any]:
    words = describe_functions([layer])
    moments = sorted(layer.moments, key=_order)
    recorded = [layer.moments[moment] for moment in moments]
    return layer.facts() | {
        "moments": moments,
        "values": [
            packed.add(_few_points(each.values) if layer.inputs == 1 else each.values) for each in recorded
        ],
        "histograms": [None if each.histogram is None else packed.add(each.histogram) for each in recorded],
        "words": [str(shape) for shape in words],
        "kinds": words.counts(),
    }


def _few_points(curves: NDArray[np.float16]) -> NDArray[np.float16]:
    """Of a neuron with several outputs, the first."""
    curves = curves[:, 0] if curves.ndim == 3 else curves
    return curves[:, :: (curves.shape[1] - 1) // (CURVE_POINTS - 1)]


def _order(moment: str) -> int:
    number = moment.removeprefix("epoch ")
    return int(number) if number.isdigit() else {"start": -1}.get(moment, 10**9)


def _provenance(run: Run, metric: str) -> dict[str, Any]:
    made = run.about["provenance"]
    return {
        "seed": run.seed,
        "folder": "/".join(run.path.parts[-4:]),
        "score": run.scores[metric],
        "validation": run.validation,
        "epochs": len(run.epochs),
        "best_epoch": run.best_epoch,
        "commit": made.get("commit"),
        "date": made.get("date"),
        "hardware": made.get("hardware"),
    }
