"""What the page is given: numbers as JSON, and shapes as one packed array."""

import base64
import gzip
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafnets.comparison.statistics import paired_test
from kafnets.data import has_fixed_test
from kafnets.report.collect import Collection, Run
from kafnets.train.bands import band
from kafnets.train.metrics import MAIN
from kafnets.train.shapes import BINS, BOUNDARY, SIDE
from kafnets.words import describe_stored

CURVE_POINTS = 51
"""Places of a curve on the page."""

DICTIONARY = 3.0
"""Where the dictionary of a KAF ends, unless its options say otherwise."""

ALSO = {"control": ("area",)}
"""By task: scores that are shown beside the main one."""

LEVELS = 4095
"""Steps between the smallest and the largest value of a piece: finer than anybody sees."""


class Packed:
    """Whole numbers up to ``LEVELS``, all in one array; each piece is found by where it begins.

    Smooth functions compress well if each number is told as its difference from the one before it, and if all
    low bytes come before all high ones.
    """

    def __init__(self) -> None:
        self.pieces: list[NDArray[np.uint16]] = []
        self.length = 0

    def add(self, values: NDArray[np.floating]) -> dict[str, Any]:
        """Quantize between the smallest and the largest of these values."""
        values = np.nan_to_num(values.astype(np.float64))
        low, high = float(values.min()), float(values.max())
        span = high - low or 1.0
        begin = self.length
        piece = np.round((values - low) / span * LEVELS).astype(np.uint16).ravel()
        self.pieces.append(np.diff(piece, prepend=np.uint16(0)))  # wraps around, which adding undoes
        self.length += piece.size
        return {"begin": begin, "shape": list(values.shape), "low": low, "high": low + span}

    def text(self) -> str:
        """Compressed, in letters."""
        whole = np.concatenate(self.pieces) if self.pieces else np.zeros(0, np.uint16)
        content = (whole & 255).astype(np.uint8).tobytes() + (whole >> 8).astype(np.uint8).tobytes()
        return base64.b64encode(gzip.compress(content, 6)).decode()


def payload(found: Collection, title: str) -> tuple[dict[str, Any], str]:
    """All that the page shows, and the packed shapes."""
    packed = Packed()
    comparisons: dict[tuple[str, str, str], list[Run]] = {}
    for run in found.runs:
        comparisons.setdefault(run.comparison, []).append(run)
    return {
        "title": title,
        "boundary": BOUNDARY,
        "bins": BINS,
        "points": CURVE_POINTS,
        "side": SIDE,
        "levels": LEVELS,
        "comparisons": [_comparison(key, runs, packed) for key, runs in comparisons.items()],
        "unfinished": found.unfinished,
        "damaged": [{"path": path, "why": why} for path, why in found.damaged],
    }, packed.text()


def _comparison(key: tuple[str, str, str], runs: list[Run], packed: Packed) -> dict[str, Any]:
    experiment, profile, data = key
    task = runs[0].report["data"]["task"]
    metric = MAIN[task]
    settings: dict[tuple[str, tuple[int, ...]], list[Run]] = {}
    for run in runs:
        settings.setdefault(run.setting, []).append(run)
    rows = [_setting(members, metric, packed) for members in settings.values()]
    rows.sort(key=lambda row: -row["mean"])
    _test_against_best(rows)
    also = ALSO.get(task, ())
    for name in also:
        _test_against_best([row["also"][name] for row in rows])
    return {
        "name": _called(experiment, profile, data, runs[0].config.get("table") or {}),
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


def _called(experiment: str, profile: str, data: str, table: dict[str, Any]) -> str:
    if experiment != "compare":
        return f"{experiment}, {profile} profile, {data}"
    target = f", predicting {table['target']}" if table else ""
    return f"{data}{target} ({profile})"


def _setting(members: list[Run], metric: str, packed: Packed) -> dict[str, Any]:
    label, hidden = members[0].setting
    report = members[0].report
    return {
        "label": label,
        "hidden": list(hidden),
        "layers": len(hidden),
        **_scores(members, metric),
        "also": {name: _scores(members, name) for name in ALSO.get(report["data"]["task"], ())},
        "parameters": report["trained_parameters"],
        "seconds": float(
            np.median([run.report["seconds_of_training"] / len(run.report["epochs"]) for run in members])
        ),
        "curves": _bands(members, f"validation_{metric}"),
        "losses": _bands(members, "train_loss"),
        "film": _film(members, packed),
        "runs": [_provenance(run, metric) for run in members],
    }


def _scores(members: list[Run], metric: str) -> dict[str, Any]:
    scores = {run.config["seed"]: run.report["test"][metric] for run in members}
    values = np.array(list(scores.values()), dtype=float)
    train, _, test = members[0].report["rows"]
    return {
        "scores": scores,
        "mean": float(values.mean()),
        "deviation": float(values.std(ddof=1)) if len(values) > 1 else None,
        "test_to_train": 0.0 if has_fixed_test(members[0].config["data"]) else test / train,
    }


def _bands(members: Iterable[Run], column: str) -> dict[str, list[float]]:
    """Mean and deviation by epoch."""
    series = [[row[column] for row in run.report["epochs"] if column in row] for run in members]
    series = [values for values in series if values]
    if not series:
        return {"mean": [], "deviation": []}
    mean, deviation = band(series)
    return {"mean": np.round(mean, 6).tolist(), "deviation": np.round(deviation, 6).tolist()}


def _film(members: list[Run], packed: Packed) -> dict[str, Any] | None:
    """Shapes of the run that has most moments of them."""
    stored = [(run, run.shapes()) for run in sorted(members, key=lambda run: run.config["seed"])]
    run, shapes = max(stored, key=lambda pair: len(pair[1]))
    names = {tuple(name.rsplit("/", 2)[:2]) for name in shapes}
    layers = []
    words = describe_stored(shapes, _boundaries(run, shapes))
    for layer in sorted({name[0] for name in names}):
        moments = sorted((name[1] for name in names if name[0] == layer), key=_order)
        entry: dict[str, Any] = {"name": layer, "moments": moments}
        for kind in ("curves", "surfaces", "histogram"):
            arrays = [shapes.get(f"{layer}/{moment}/{kind}") for moment in moments]
            kept = [array for array in arrays if array is not None]
            if len(kept) == len(moments):
                values = np.stack([_few_points(array) if kind == "curves" else array for array in kept], 1)
                entry[kind] = [packed.add(neuron) for neuron in values]
        entry["words"] = [str(shape) for shape in words if shape.layer == layer]
        entry["kinds"] = [shape.kind for shape in words if shape.layer == layer]
        layers.append(entry)
    return {"seed": run.config["seed"], "layers": layers} if layers else None


def _few_points(curves: NDArray[np.float16]) -> NDArray[np.float16]:
    """Of a neuron with several outputs, the first."""
    curves = curves[:, 0] if curves.ndim == 3 else curves
    return curves[:, :: (curves.shape[1] - 1) // (CURVE_POINTS - 1)]


def _boundaries(run: Run, shapes: Iterable[str]) -> dict[str, float]:
    if not run.config["activation"].startswith("kaf"):
        return {}
    boundary = float(run.config.get("options", {}).get("boundary", DICTIONARY))
    return {name.rsplit("/", 2)[0]: boundary for name in shapes}


def _order(moment: str) -> int:
    return {"start": -1, "end": 10**9}.get(moment) or int(moment.removeprefix("epoch "))


def _provenance(run: Run, metric: str) -> dict[str, Any]:
    report = run.report
    return {
        "seed": run.config["seed"],
        "folder": "/".join(run.path.parts[-4:]),
        "score": report["test"][metric],
        "validation": report["validation"][metric],
        "epochs": len(report["epochs"]),
        "best_epoch": report["best_epoch"],
        "config": run.config,
        "provenance": report.get("provenance", {}),
        "data": report["data"],
        "rows": report["rows"],
    }
