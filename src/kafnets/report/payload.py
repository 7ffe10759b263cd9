"""What the page is given: numbers as JSON, and functions as one packed array."""

import base64
import gzip
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafnets.comparison.ranking import REFERENCE, rank, stored_step_times
from kafnets.comparison.tuned import summary
from kafnets.inspection.bands import band
from kafnets.inspection.curves import BINS, SIDE, LearnedFunctions, titles
from kafnets.inspection.describe import describe_functions
from kafnets.report.collect import ALSO, Collection, Run

REFERENCES = (REFERENCE, "tanh")
"""The first of these that was run is what all others are tested against."""

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
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in found.runs:
        groups.setdefault(run.comparison, []).append(run)
    return {
        "title": title,
        "bins": BINS,
        "points": CURVE_POINTS,
        "side": SIDE,
        "levels": LEVELS,
        "comparisons": [each for runs in groups.values() for each in _comparisons(runs, packed)],
        "unfinished": found.unfinished,
        "skipped": [{"path": path, "why": why} for path, why in found.skipped],
    }, packed.text()


def _comparisons(runs: list[Run], packed: Packed) -> Iterable[dict[str, Any]]:
    """One per depth. What has no hidden layers, as trees, is compared with networks of every depth.

    Networks whose widths were tuned are compared with each other: their depth is the same.
    """
    experiment, profile, data, target, *_ = runs[0].comparison
    named = f"{data}, predicting {target} ({profile})" if target else f"{data} ({profile})"
    if experiment != "compare":
        named = f"{experiment}, {profile} profile, {data}"
    tuning = summary(runs[0].path.parents[1])
    if tuning:
        yield _comparison(named, runs, packed, tuning)
        return
    depths = list(dict.fromkeys(run.record.hidden for run in runs if run.record.hidden)) or [()]
    for hidden in depths:
        chosen = [run for run in runs if run.record.hidden in (hidden, ())]
        depth = f", hidden layers {'-'.join(map(str, hidden))}" if len(depths) > 1 else ""
        yield _comparison(named + depth, chosen, packed)


def _comparison(name: str, runs: list[Run], packed: Packed, tuning: str = "") -> dict[str, Any]:
    labels: dict[str, list[Run]] = {}
    for run in runs:
        labels.setdefault(run.record.label, []).append(run)
    records, task = [run.record for run in runs], runs[0].record.data.task
    reference = next((each for each in REFERENCES if each in labels), REFERENCE)
    board = rank(records, reference=reference, step_times=stored_step_times(runs[0].path.parents[1]))
    also = {
        each: {row["activation"]: row for row in rank(records, reference=reference, metric=each).numbers()}
        for each in (*ALSO.get(task, ()), *board.rows[0].also)
    }
    rows = [
        row
        | _setting(labels[row["activation"]], board.metric, packed)
        | {"also": {name: others[row["activation"]] for name, others in also.items()}}
        for row in board.numbers()
    ]
    return {
        "name": name,
        "hidden": max(run.record.hidden for run in runs),
        "metric": board.metric,
        "reference": reference,
        "test": board.test,
        "verdict": board.verdict,
        "tuning": tuning,
        "also": list(also),
        "task": task,
        "turn": "iteration" if task == "control" else "epoch",
        "digits": 1 if task == "control" else 4,
        "rows": rows,
    }


def _setting(members: list[Run], metric: str, packed: Packed) -> dict[str, Any]:
    first = members[0].record
    learned = _learned(members, packed)
    return {
        "curves": _bands(members, f"validation_{metric}"),
        "losses": _bands(members, "train_loss"),
        "learned": learned,
        "watched": _watched(members, learned["layers"] if learned else []),
        "runs": [_provenance(run, metric) for run in members],
        "settings": first.config | {"data": asdict(first.data), "versions": first.provenance.get("versions")},
    }


def _bands(members: Iterable[Run], column: str) -> dict[str, list[float]]:
    """Mean and deviation by epoch."""
    series = [[row[column] for row in run.record.epochs if column in row] for run in members]
    series = [values for values in series if values]
    if not series:
        return {"mean": [], "deviation": []}
    mean, deviation = band(series)
    return {"mean": np.round(mean, 6).tolist(), "deviation": np.round(deviation, 6).tolist()}


def _watched(members: list[Run], layers: list[dict[str, Any]]) -> dict[str, dict[str, list[float]]]:
    """What the monitor saw, as the log has it: by measure and layer, the mean over seeds by epoch."""
    # The log names the KAF in an embedding.
    shown = {each["layer"] + part: each["title"] for each in layers for part in ("", ".functions")}
    columns = {name for run in members for row in run.record.epochs for name in row if "/" in name}
    found: dict[str, dict[str, list[float]]] = {}
    for layer, _, measure in sorted(name.rpartition("/") for name in columns):
        found.setdefault(measure, {})[shown.get(layer, layer)] = _bands(members, f"{layer}/{measure}")["mean"]
    return found


def _learned(members: list[Run], packed: Packed) -> dict[str, Any] | None:
    """Functions of the run that has most moments of them."""
    stored = [(run, run.functions()) for run in sorted(members, key=lambda run: run.record.seed)]
    run, layers = max(stored, key=lambda pair: sum(len(layer.moments) for layer in pair[1]))
    names = titles(layers)
    told = [_layer(layer, packed) | {"title": names[layer.layer]} for layer in layers]
    return {"seed": run.record.seed, "layers": told} if layers else None


def _layer(layer: LearnedFunctions, packed: Packed) -> dict[str, Any]:
    words = describe_functions([layer])
    moments = sorted(layer.moments, key=_order)
    recorded = [layer.moments[moment] for moment in moments]
    each = recorded[-1].values.shape[1] if layer.features else 1  # functions in a panel
    return layer.facts() | {
        "moments": moments,
        "values": [packed.add(_shown(layer, moment.values)) for moment in recorded],
        "histograms": [None if each.histogram is None else packed.add(each.histogram) for each in recorded],
        "order": layer.by_influence(moments[-1]) if layer.features else None,
        "influence": None if recorded[-1].influence is None else recorded[-1].influence.tolist(),
        "words": [[str(shape) for shape in words[at : at + each]] for at in range(0, len(words), each)],
        "kinds": words.counts(),
    }


def _shown(layer: LearnedFunctions, values: NDArray[np.float16]) -> NDArray[np.float16]:
    """Curves at fewer places. Of a neuron with several outputs, the first; of a feature, all."""
    if layer.inputs == 2:
        return values
    few = values[..., :: (values.shape[-1] - 1) // (CURVE_POINTS - 1)]
    return few if few.ndim == 2 or layer.features else few[:, 0]


def _order(moment: str) -> int:
    number = moment.removeprefix("epoch ")
    return int(number) if number.isdigit() else {"start": -1}.get(moment, 10**9)


def _provenance(run: Run, metric: str) -> dict[str, Any]:
    one = run.record
    return {
        "seed": one.seed,
        "folder": "/".join(run.path.parts[-4:]),
        "score": one.test[metric],
        "validation": one.validation.get(metric),
        "epochs": len(one.epochs),
        "best_epoch": one.best_epoch,
        "commit": one.provenance.get("commit"),
        "date": one.provenance.get("date"),
        "hardware": one.provenance.get("hardware"),
    }
