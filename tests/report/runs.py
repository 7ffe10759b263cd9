"""Run folders made up for the page's tests: as the runner writes them, but without training."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from kafnets.inspection.curves import BINS, POINTS, SIDE, Columns, LearnedFunctions, Moment, as_arrays
from kafnets.inspection.snapshots import Snapshots
from kafnets.train.runs import RunFolder


def write_run(
    root: Path,
    label: str,
    seed: int,
    score: float,
    *,
    hidden: tuple[int, ...] = (8,),
    epochs: int = 5,
    neurons: int = 4,
    snapshots: int = 12,
    dictionary: tuple[float, float] | None = None,
    moments: tuple[str, ...] = ("start", "epoch 1", "epoch 2", "epoch 4", "end"),
    data: str = "rows",
    surfaces: bool = False,
    finished: bool = True,
    control: bool = False,
    model: torch.nn.Module | None = None,
    features: torch.Tensor | None = None,
    columns: Columns | None = None,
) -> Path:
    """One run, with smooth made-up functions, or those of a model that is fed with features.

    Features are called as ``columns`` tells. Of a policy if ``control``, and then the score is a reward.
    """
    metric = "reward" if control else "accuracy"
    generator = np.random.default_rng([seed, len(label), neurons])
    name = "".join(character if character.isalnum() else "_" for character in label)
    folder = RunFolder(
        root / "compare" / "rows-123456" / f"{name}-{'x'.join(map(str, hidden))}" / f"seed-{seed}"
    )
    config: dict[str, Any] = {
        "experiment": "compare",
        "profile": "rows-123456",
        "label": label,
        "data": data,
        "activation": label,
        "hidden": list(hidden),
        "seed": seed,
        "options": {},
        "settings": {"batch_size": 100},
    }
    folder.path.mkdir(parents=True)
    folder.begin(config)
    if not finished:
        folder.save_checkpoint({"log": []})
        return folder.path
    report = {
        "data": {
            "name": data,
            "sha256": "0" * 64,
            "notes": [],
            "task": "control" if control else "multiclass",
            "classes": ["a", "b", "c"],
        },
        "rows": [2048 * epochs, 0, 0] if control else [700, 150, 150],
        "parameters": 1000 + len(label),
        "trained_parameters": 1000 + 100 * len(label),
        "test": {"loss": 0.1, metric: score, **({"area": score / 2} if control else {})},
        "validation": {"loss": 0.1, metric: score - 0.01},
        "best_epoch": epochs,
        "seconds_of_training": 2.0 + len(label),
        "threads": 1,
        "epochs": [
            {
                "epoch": e + 1,
                "train_loss": 1 / (e + 1),
                "validation_loss": 0.5,
                f"validation_{metric}": score - 0.2 / (e + 1),
                **({} if dictionary is None else {"1/outside": 0.3 / (e + 1), "1/gradients": 1.5}),
            }
            for e in range(epochs)
        ],
        "provenance": {
            "date": "2026-01-01T00:00:00+00:00",
            "commit": "0123456789abcdef",
            "versions": {"torch": torch.__version__},
            "hardware": {"processor": "made up", "cores": 2},
        },
    }
    places = np.linspace(-5, 5, POINTS)
    layers = []
    for layer in range(len(hidden)):
        frequency = generator.uniform(0.3, 2, (neurons, 1))
        made: dict[str, Moment] = {}
        for at, moment in enumerate(moments):
            share = np.exp(-((np.linspace(-5, 5, BINS) - 0.2 * at) ** 2))
            some = neurons if moment == "end" else min(neurons, snapshots)
            inputs = some * (2 if surfaces else 1)
            values = (
                generator.normal(size=(some, SIDE, SIDE)) if surfaces else np.sin(frequency * places + at)
            )
            histogram = np.tile(share / share.sum(), (inputs, 1))
            made[moment] = Moment(values[:some].astype(np.float16), histogram.astype(np.float16))
        layers.append(
            LearnedFunctions(
                str(2 * layer + 1),
                activation=label,
                inputs=2 if surfaces else 1,
                count=neurons,
                dictionary=dictionary,
                moments=made,
            )
        )
    shapes = as_arrays(layers)
    if model is not None and features is not None:
        recorded = Snapshots(True, columns)
        for moment in ("start", "end"):
            recorded.take(model, features, moment)
        shapes = recorded.arrays
    folder.finish(report, {"w": torch.zeros(1)}, shapes)
    return folder.path
