"""Common methods for tables, for comparison with networks: trees, and networks of other packages."""

import functools
import importlib
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from kafnets import data
from kafnets.comparison import prepared, supervised
from kafnets.data.splits import Part, Splits
from kafnets.packages import needed_by
from kafnets.provenance import provenance
from kafnets.train import metrics
from kafnets.train.loop import Progress
from kafnets.train.metrics import MAIN
from kafnets.train.processes import OneProcess, Processes
from kafnets.train.runs import RunFolder

SMALLEST = 1e-12
"""Of a probability: a forest that is certain and wrong would have an infinite loss."""


class Kind(NamedTuple):
    """A common method for tables.

    Attributes:
        label: its name in tables.
        package: the package that provides it, as for pip.
        module: the module that it is imported from.
        names: of its classes, for classification and for regression.
        tuned: the setting that is chosen on the validation part.
        values: the values to try, including the usual one.
        fixed: settings that are no choices, such as threads.
        while_tuned: other settings that differ from its defaults while one is tuned.
    """

    label: str
    package: str
    module: str
    names: tuple[str, str]
    tuned: str
    values: tuple[float, ...]
    fixed: dict[str, Any]
    while_tuned: dict[str, Any]


_RATES = ("learning_rate", (0.03, 0.1, 0.3))
_PYTABKIT = ("pytabkit", "pytabkit.models.sklearn.sklearn_interfaces")
_ONE_THREAD: dict[str, Any] = {"device": "cpu", "n_threads": 1, "verbosity": 0}

# While it is tuned, boosting has three times as many iterations as usual, without early stopping.
KINDS = {
    "forest": Kind(
        "random forest",
        "scikit-learn",
        "sklearn.ensemble",
        ("RandomForestClassifier", "RandomForestRegressor"),
        *("max_features", (0.1, 0.3, 1.0)),
        *({}, {}),
    ),
    "boosting": Kind(
        "gradient boosting",
        "scikit-learn",
        "sklearn.ensemble",
        ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
        *_RATES,
        *({}, {"max_iter": 300, "early_stopping": False}),
    ),
    "lightgbm": Kind(
        *("LightGBM", "lightgbm", "lightgbm"),
        ("LGBMClassifier", "LGBMRegressor"),
        *_RATES,
        *({"n_jobs": 1, "verbose": -1}, {"n_estimators": 300}),
    ),
    "xgboost": Kind(
        *("XGBoost", "xgboost", "xgboost"),
        ("XGBClassifier", "XGBRegressor"),
        *_RATES,
        *({"n_jobs": 1}, {"n_estimators": 300}),
    ),
    "catboost": Kind(
        *("CatBoost", "catboost", "catboost"),
        ("CatBoostClassifier", "CatBoostRegressor"),
        *("depth", (4, 6, 8)),
        *({"thread_count": 1, "verbose": False, "allow_writing_files": False}, {}),
    ),
    "mlp": Kind(
        *("scikit-learn MLP", "scikit-learn", "sklearn.neural_network"),
        ("MLPClassifier", "MLPRegressor"),
        *("alpha", (1e-4, 1e-2, 1.0)),
        *({}, {}),
    ),
    "realmlp": Kind(
        "RealMLP-TD",
        *_PYTABKIT,
        ("RealMLP_TD_Classifier", "RealMLP_TD_Regressor"),
        *("p_drop", (0.0, 0.15, 0.3)),
        *(_ONE_THREAD, {}),
    ),
    "tabm": Kind(
        "TabM",
        *_PYTABKIT,
        ("TabM_D_Classifier", "TabM_D_Regressor"),
        *("dropout", (0.0, 0.1, 0.2)),
        *(_ONE_THREAD, {}),
    ),
    "edgewise": Kind(
        *("edge-wise KAFs", "kafnets", "kafnets.comparison.edgewise"),
        ("EdgewiseClassifier", "EdgewiseRegressor"),
        *("dictionary_size", (5, 8, 16)),
        *({}, {}),
    ),
}
"""By the name that a comparison is given."""

LABELED = {kind.label: kind for kind in KINDS.values()}

TUNED = " tuned"
"""What the label of a run ends with if its setting is chosen by the validation part."""


def labels_of(name: str) -> tuple[str, str]:
    """Of the runs of one of :data:`KINDS`: at its defaults, and tuned."""
    return KINDS[name].label, KINDS[name].label + TUNED


@dataclass(frozen=True)
class Rival:
    """One run of a rival in a comparison, at its defaults or tuned.

    Attributes:
        experiment: as of a ``Description``, and so are the others.
        label: one of :func:`labels_of`.
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

    @property
    def kind(self) -> Kind:
        """The method."""
        return LABELED[self.label.removesuffix(TUNED)]

    @property
    def values(self) -> tuple[float | None, ...]:
        """What its setting is tried with; None for the default."""
        return self.kind.values if self.label.endswith(TUNED) else (None,)

    def config(self) -> dict[str, Any]:
        """For the run folder."""
        kind = self.kind
        settings = kind.fixed | (kind.while_tuned if self.label.endswith(TUNED) else {})
        config = asdict(self) | {"tuned": kind.tuned, "values": list(self.values), "settings": settings}
        del config["prepared"]
        return config

    def processes(self) -> Processes:
        """This one."""
        return OneProcess()

    def train(
        self, folder: RunFolder, processes: Processes, progress: Progress | None, tensorboard: bool
    ) -> None:
        """Try all values of its setting, if any, from where the folder's checkpoint left off."""
        splits = (
            data.load(self.data, self.seed, self.scaling)
            if self.prepared is None
            else prepared.load(prepared.path_of(self.prepared, self.seed))
        )
        tried_with = functools.partial(attempt, self.kind, splits=splits, seed=self.seed)
        tune(folder, splits, self.label, self.kind.tuned, self.values, tried_with, self.kind.package)


def tune(
    folder: RunFolder,
    splits: Splits,
    label: str,
    setting: str,
    values: Sequence[Any],
    tried_with: Callable[[Any], dict[str, Any]],
    package: str = "scikit-learn",
) -> None:
    """Try all values in turn, from where the folder's checkpoint left off; the best in validation counts.

    Args:
        folder: of the run.
        splits: the data.
        label: what errors call it.
        setting: the name of what is tuned.
        values: that are tried.
        tried_with: gives scores and size for a value; nothing if it diverges.
        package: whose version is stored.
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
        "provenance": provenance(package),
    }
    folder.finish(report, {}, {})


def attempt(kind: Kind, value: float | None, splits: Splits, seed: int) -> dict[str, Any]:
    """Train one on the training part, at its defaults if there is no value."""
    options = {} if value is None else kind.while_tuned | {kind.tuned: value}
    model = model_of(kind, splits.task, options, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages about their own defaults
        model.fit(splits.train.features, splits.train.target)
        return {
            "validation": _scores(model, splits, splits.validation),
            "test": _scores(model, splits, splits.test),
            "parameters": _size(model),
        }


def model_of(kind: Kind, task: str, options: dict[str, Any], seed: int) -> Any:
    """One that has not learned yet."""
    with needed_by(kind.label):
        module = importlib.import_module(kind.module)
    return getattr(module, kind.names[task == "regression"])(random_state=seed, **kind.fixed, **options)


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


def _size(model: Any) -> int:
    """Nodes of trees, or numbers of a network; 0 if the package does not tell."""
    if hasattr(model, "network_"):
        return sum(each.numel() for each in model.network_.parameters())
    if hasattr(model, "coefs_"):
        return sum(each.size for each in (*model.coefs_, *model.intercepts_))
    if hasattr(model, "estimators_"):
        return sum(tree.tree_.node_count for tree in model.estimators_)
    if hasattr(model, "_predictors"):
        return sum(len(tree.nodes) for trees in model._predictors for tree in trees)
    if hasattr(model, "get_leaf_values"):  # of CatBoost, whose trees are symmetric
        return len(model.get_leaf_values())
    booster = model.booster_ if hasattr(model, "booster_") else getattr(model, "get_booster", lambda: None)()
    return 0 if booster is None else len(booster.trees_to_dataframe())
