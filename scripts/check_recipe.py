"""Score a candidate for the default recipe beside it and others: python scripts/check_recipe.py [tables]

On development tables only, 70 % of the rows for training. Each network holds out 15 % of these to find its
best epoch, as the estimators do, but is not trained again on all of them, to save time. Adds to
benchmarks/results/recipe_first.json what is not there yet.
"""

import json
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kafnets import data, files, mlp
from kafnets.data.splits import Part, Task
from kafnets.provenance import provenance
from kafnets.train import Settings, evaluate, metrics
from kafnets.train.recipe import DROPOUT, HIDDEN, RECIPE, STARTS
from kafnets.train.rows import division_of, fit_rows

STORED = Path(__file__).parents[1] / "benchmarks/results/recipe_first.json"
TABLES = ("phoneme", "ring", "susy_sample", "satimage", "sensorless_sample")
SEEDS = (0, 1)

CANDIDATE = Settings(
    batch_size="auto",
    epochs=120,
    patience=None,
    learning_rate=2e-3,
    weight_decay=0.02,
    optimizer="AdamW",
    betas=(0.9, 0.95),
    schedule="coslog4",
    keep="best",
    regularization_schedule="flat_cosine",
    label_smoothing="auto",
    metric="accuracy",
)
WIDE = (128, 128, 128)
NETWORKS: dict[str, tuple[Settings, tuple[int, ...], str, dict[str, Any]]] = {
    "default, kaf": (RECIPE, HIDDEN, "kaf", STARTS["kaf"]),
    "candidate, kaf": (CANDIDATE, WIDE, "kaf", {"base": "mish"}),
    "candidate, relu": (CANDIDATE, WIDE, "relu", {}),
    "candidate without label smoothing, kaf": (
        replace(CANDIDATE, label_smoothing=0.0),
        WIDE,
        "kaf",
        {"base": "mish"},
    ),
    "candidate started as elu, kaf": (CANDIDATE, WIDE, "kaf", {"init": "elu"}),
    "candidate with an automatic rate, kaf": (
        replace(CANDIDATE, learning_rate="auto"),
        WIDE,
        "kaf",
        {"base": "mish"},
    ),
}
OTHERS = ("MLPClassifier, scaled", "HistGradientBoosting")


def rows_of(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """All rows of a table."""
    splits = data.load(name, 0)
    parts = (splits.train, splits.validation, splits.test)
    return np.concatenate([each.features for each in parts]).astype(np.float64), np.concatenate(
        [each.target for each in parts]
    ).astype(np.int64)


def network(label: str, rows: tuple[Any, Any, Any, Any], seed: int) -> dict[str, float]:
    """Fit as the estimators do, and score."""
    settings, hidden, activation, options = NETWORKS[label]
    train, test, y, y_test = rows
    classes = int(y.max()) + 1
    task: Task = "binary" if classes == 2 else "multiclass"
    outputs = 1 if task == "binary" else classes
    generator = torch.Generator().manual_seed(seed)
    model = mlp(train.shape[1], hidden, outputs, activation, dropout=DROPOUT, generator=generator, **options)

    division = division_of(y, task, 0.15, seed, early_stopping=False)
    trained, scaling = fit_rows(
        model, train, y, division, settings, task=task, classes=classes, refit=False, seed=seed
    )
    scores = evaluate(trained.model, Part(scaling.apply(test), y_test), task)
    return scores | {"best_epoch": trained.best_epoch}


def other(label: str, rows: tuple[Any, Any, Any, Any], seed: int) -> dict[str, float]:
    """scikit-learn's, at their defaults."""
    train, test, y, y_test = rows
    model: Any = HistGradientBoostingClassifier(random_state=seed)
    if label.startswith("MLP"):
        model = make_pipeline(StandardScaler(), MLPClassifier(random_state=seed))
    logarithms = np.log(model.fit(train, y).predict_proba(test).clip(1e-12, 1))
    task: Task = "binary" if logarithms.shape[1] == 2 else "multiclass"
    outputs = logarithms[:, 1:] - logarithms[:, :1] if task == "binary" else logarithms
    return metrics.scores(task, torch.from_numpy(outputs), torch.from_numpy(y_test))


def main(tables: list[str]) -> None:
    warnings.simplefilter("ignore")  # scikit-learn's network has not converged, it says
    torch.set_num_threads(1)
    stored: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    loaded = {name: rows_of(name) for name in tables or TABLES}
    for seed in SEEDS:
        for name, (features, target) in loaded.items():
            first, test, y, y_test = train_test_split(
                features, target, test_size=0.3, random_state=seed, stratify=target
            )
            for label in (*NETWORKS, *OTHERS):
                key = f"{name}, seed {seed}"
                if key in stored.setdefault(label, {}):
                    continue
                began = time.process_time()
                scores = (network if label in NETWORKS else other)(label, (first, test, y, y_test), seed)
                seconds = time.process_time() - began
                asked = {"settings": NETWORKS[label][0].describe()} if label in NETWORKS else {}
                about = {"rows": len(target), "processor_seconds": seconds} | asked
                stored[label][key] = about | scores | {"provenance": provenance("scikit-learn")}
                files.write(STORED, json.dumps(stored, indent=2) + "\n")
                print(name, seed, label, {each: round(scores[each], 4) for each in scores}, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
