"""Ensembles of trees, from scikit-learn, as rivals of networks."""

import functools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kafnets import data
from kafnets.comparison import prepared, supervised
from kafnets.data.splits import Part, Splits
from kafnets.provenance import provenance
from kafnets.train import metrics
from kafnets.train.loop import Progress
from kafnets.train.metrics import MAIN
from kafnets.train.processes import OneProcess, Processes
from kafnets.train.runs import RunFolder

SMALLEST = 1e-12
"""Of a probability: a forest that is certain and wrong would have an infinite loss."""

GRIDS: dict[str, tuple[str, tuple[float, ...]]] = {
    "random forest": ("max_features", (0.1, 0.3, 1.0)),
    "gradient boosting": ("learning_rate", (0.03, 0.1, 0.3)),
}
"""By label: what is tuned, and the values that are tried."""

FIXED: dict[str, dict[str, Any]] = {
    "random forest": {},
    # Without holding out rows to stop by, as it would on long tables, and for three times as long as usual.
    "gradient boosting": {"max_iter": 300, "early_stopping": False},
}
"""By label: other settings that are not scikit-learn's defaults."""


NAMES = {"forest": "random forest", "boosting": "gradient boosting"}
"""What they are called in a comparison, and their labels."""


@dataclass(frozen=True)
class Rival:
    """One run of an ensemble in a comparison; its setting is chosen by the validation part.

    Attributes:
        experiment: as of a ``Description``, and so are the others.
        label: one of :data:`GRIDS`.
    """

    experiment: str
    profile: str
    label: str
    data: str
    seed: int
    scaling: str
    table: dict[str, Any] = field(default_factory=dict)
    prepared: Path | None = None
    hidden: tuple[int, ...] = ()

    @property
    def folder(self) -> Path:
        """Where its run folder is, below the folder of results."""
        return Path(self.experiment) / self.profile / self.label.replace(" ", "_") / f"seed-{self.seed}"

    def config(self) -> dict[str, Any]:
        """For the run folder."""
        setting, values = GRIDS[self.label]
        config = asdict(self) | {"tuned": setting, "values": list(values), "settings": FIXED[self.label]}
        del config["prepared"]
        return config

    def processes(self) -> Processes:
        """This one."""
        return OneProcess()

    def train(
        self, folder: RunFolder, processes: Processes, progress: Progress | None, tensorboard: bool
    ) -> None:
        """Try all values of its setting, from where the folder's checkpoint left off."""
        splits = (
            data.load(self.data, self.seed, self.scaling)
            if self.prepared is None
            else prepared.load(prepared.path_of(self.prepared, self.seed))
        )
        tried_with = functools.partial(attempt, self.label, splits=splits, seed=self.seed)
        tune(folder, splits, self.label, *GRIDS[self.label], tried_with)


def tune(
    folder: RunFolder,
    splits: Splits,
    label: str,
    setting: str,
    values: Sequence[Any],
    tried_with: Callable[[Any], dict[str, Any]],
) -> None:
    """Try all values in turn, from where the folder's checkpoint left off; the best in validation counts.

    Args:
        folder: of the run.
        splits: the data.
        label: what errors call it.
        setting: the name of what is tuned.
        values: that are tried.
        tried_with: gives scores and size for a value; nothing if it diverges.
    """
    main = MAIN[splits.task]
    tried: list[dict[str, Any]] = (supervised.checkpoint_of(folder, splits) or {"tried": []})["tried"]
    for value in values[len(tried) :]:
        began = time.perf_counter()
        tried.append({setting: value} | tried_with(value))
        tried[-1]["seconds"] = time.perf_counter() - began
        folder.save_checkpoint({"tried": tried, "sha256": splits.digest})
    finished = [one for one in tried if "test" in one and math.isfinite(one["validation"][main])]
    if not finished:
        raise FloatingPointError(f"{label} diverged with every {setting}")
    # Of equal scores, which few rows of validation often give, the smaller loss counts.
    best = max(finished, key=lambda one: (one["validation"][main], -one["validation"]["loss"]))
    report = supervised.about(splits) | {
        "parameters": best["parameters"],
        "trained_parameters": best["parameters"],
        "test": best["test"],
        "validation": best["validation"],
        "tuned": setting,
        "chosen": best[setting],
        "tried": tried,
        "seconds_of_training": sum(one["seconds"] for one in tried),
        "threads": torch.get_num_threads(),
        "provenance": provenance("scikit-learn"),
    }
    folder.finish(report, {}, {})


def attempt(label: str, value: float, splits: Splits, seed: int) -> dict[str, Any]:
    """Grow one ensemble on the training part. Its parameters are counted as nodes."""
    model = _model(label, splits.task, {GRIDS[label][0]: value}, seed)
    model.fit(splits.train.features, splits.train.target)
    return {
        "validation": _scores(model, splits, splits.validation),
        "test": _scores(model, splits, splits.test),
        "parameters": _nodes(model),
    }


def _model(label: str, task: str, options: dict[str, float], seed: int) -> Any:
    from sklearn import ensemble

    kinds = {
        ("random forest", True): ensemble.RandomForestRegressor,
        ("random forest", False): ensemble.RandomForestClassifier,
        ("gradient boosting", True): ensemble.HistGradientBoostingRegressor,
        ("gradient boosting", False): ensemble.HistGradientBoostingClassifier,
    }
    return kinds[label, task == "regression"](random_state=seed, **FIXED[label], **options)


def _scores(model: Any, splits: Splits, part: Part) -> dict[str, float]:
    outputs = _outputs(model, splits.task, part.features)
    return metrics.scores(splits.task, torch.from_numpy(outputs), torch.from_numpy(part.target))


def _outputs(model: Any, task: str, features: NDArray[np.float32]) -> NDArray[np.float64]:
    """What a network would give: logarithms of odds, or a number."""
    if task == "regression":
        found: NDArray[np.float64] = model.predict(features)[:, None]
        return found
    logarithms = np.log(np.clip(model.predict_proba(features), SMALLEST, 1))
    return logarithms[:, 1:] - logarithms[:, :1] if task == "binary" else logarithms


def _nodes(model: Any) -> int:
    if hasattr(model, "estimators_"):
        return sum(tree.tree_.node_count for tree in model.estimators_)
    return sum(len(tree.nodes) for trees in model._predictors for tree in trees)
