"""Tuning an estimator on one table of data: the function, and what it returns."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kafnets.checks import check_integer
from kafnets.data.splits import digest_of
from kafnets.data.tables import MOST_CLASSES
from kafnets.packages import needed_by
from kafnets.sklearn import KafnetClassifier, KafnetRegressor
from kafnets.sklearn.base import Checked, seed_of
from kafnets.sklearn.validation import weighted
from kafnets.train.architecture import embeddings_of
from kafnets.train.rows import division_of
from kafnets.train.search import Budget, Trial, arguments_of, best_of, search

TRIALS = "trials.journal"


@dataclass(frozen=True)
class Tuned:
    """The result of :func:`tune`.

    Attributes:
        best: the estimator with the best setting, fitted on all rows.
        parameters: the arguments that this setting has; none if the given ones were best.
        score: of the best setting in validation.
        tried: all trials.
        folder: where they are stored.
    """

    best: Any
    parameters: dict[str, Any]
    score: float
    tried: tuple[Trial, ...]
    folder: Path

    @property
    def trials(self) -> Any:
        """A pandas DataFrame with a row per trial; the score of one that diverged is missing."""
        import pandas as pd

        rows = [asdict(each) for each in self.tried]
        return pd.DataFrame([row | row.pop("parameters") for row in rows]).set_index("number")


def tune(
    X: Any,
    y: Any,
    budget: str | int = "10min",
    *,
    estimator: Any = None,
    task: Literal["classification", "regression"] | None = None,
    sample_weight: Any = None,
    output: str | Path = "kafnets-runs",
    seed: int = 0,
    progress: bool = True,
) -> Tuned:
    """Search for the learning rate, width, depth, dropout, weight decay, base and dictionary size::

        import kafnets

        tuned = kafnets.tune(X_train, y_train, budget="20 trials")
        tuned.trials
        tuned.best.predict(X_test)

    The first trial is the estimator as given. Each trial trains one network and is scored on the same
    held-out rows, the estimator's ``validation_fraction``. After an interruption, the same call resumes:
    finished trials are stored and count toward the budget. Needs Optuna.

    Args:
        X: an array, or a table of pandas or polars, as for the estimators.
        y: the target.
        budget: such as "10min", "90s", "2h" or "20 trials", for all trials together. A trial that has started
            is finished.
        estimator: its other arguments are kept; default: one with default arguments for the task.
        task: default: inferred from the target.
        sample_weight: weight of each row.
        output: the output folder. A search is found there again by the data, the seed and the estimator's
            arguments. Functions among these are identified by module and name, so lambdas are refused.
        seed: of the search and, unless the estimator has one, of the estimators.
        progress: show a bar in terminals and notebooks.
    """
    check_integer("seed", seed, least=0)
    limit, estimator = Budget.of(budget), _estimator_for(estimator, y, task, seed)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    folder = Path(output) / "tune" / _digest(_checked(estimator, X, y, sample_weight), estimator, seed)
    with needed_by("kafnets.tune"):
        trials = search(
            folder / TRIALS,
            limit,
            lambda arguments: _validated(estimator, arguments, X, y, weights),
            activation=estimator.activation,
            seed=seed,
            progress=progress,
        )
    winner = best_of(trials)
    parameters = arguments_of(winner.parameters)
    best = estimator.set_params(**parameters).fit(X, y, **weights)
    return Tuned(best, parameters, float(winner.score or 0.0), tuple(trials), folder)


def _estimator_for(given: Any, y: Any, task: str | None, seed: int) -> Any:
    """A copy of the one that is given, or one with the defaults."""
    from sklearn.base import clone

    if task not in (None, "classification", "regression"):
        raise ValueError(f"task must be 'classification', 'regression' or None, got {task!r}")
    if given is None:
        given = (KafnetRegressor if _is_regression(y, task) else KafnetClassifier)()
    if not isinstance(given, KafnetClassifier | KafnetRegressor):
        raise TypeError(f"estimator must be a KafnetClassifier or KafnetRegressor, got {given!r}")
    if task is not None and isinstance(given, KafnetRegressor) != (task == "regression"):
        fitting = "KafnetRegressor" if task == "regression" else "KafnetClassifier"
        raise ValueError(f"task={task!r} needs a {fitting} as estimator, got {given!r}: omit task")
    found = clone(given)
    return found.set_params(random_state=seed) if found.random_state is None else found


def _one_network(estimator: Any, arguments: dict[str, Any]) -> Any:
    """What a trial fits: the first network of a copy."""
    from sklearn.base import clone

    first = embeddings_of(estimator.embedding, estimator.n_members, shared=estimator.share_weights)[0]
    return clone(estimator).set_params(**arguments, n_members=1, embedding=first, refit=False, verbose=0)


def _checked(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Checked:
    """What trials learn from. Mistakes are told now, before a trial is stored."""
    one = _one_network(estimator, {})
    share, seed = one.validation_fraction, seed_of(one.random_state)
    if share is None:
        raise ValueError(
            "validation_fraction=None holds out no rows to compare settings by: set it, such as 0.15"
        )
    *rows, what = one._checked(X, y, sample_weight, None)
    features, target, weight = weighted(*rows)
    one._ready(features, target, seed, None, **what)
    _, held_out = division_of(target, what["task"], share, seed, early_stopping=one.early_stopping)
    if not len(held_out):
        raise ValueError(
            f"X has {len(target)} rows, of which validation_fraction={share} leaves too few to compare "
            "settings: give more rows, or a larger validation_fraction"
        )
    return features, target, weight, what


def _validated(
    estimator: Any, arguments: dict[str, Any], X: Any, y: Any, weights: dict[str, Any]
) -> tuple[float, float]:
    """Score and loss of one network in validation."""
    one = _one_network(estimator, arguments)
    row = one.fit(X, y, **weights).history_[one.best_epoch_ - 1]
    decides, loss = one._settings().deciding(one.predictor_.task), row["validation_loss"]
    return (-loss if decides == "loss" else row[f"validation_{decides}"]), loss


def _is_regression(y: Any, task: str | None) -> bool:
    from sklearn.utils.multiclass import type_of_target

    if task is not None:
        return task == "regression"
    try:
        kind = type_of_target(y)
    except (TypeError, ValueError):  # the checks of either estimator tell why
        return False
    numbers = np.asarray(y).dtype.kind in "iu"
    return kind.startswith("continuous") or (
        kind == "multiclass" and numbers and len(np.unique(y)) > MOST_CLASSES
    )


def _digest(checked: Checked, estimator: Any, seed: int) -> str:
    """Of all that a trial's score depends on."""
    features, target, weight, what = checked
    arrays = features, target, *(() if weight is None else (weight,))
    data = [*features.shape, what["task"], what.get("target_scale"), digest_of(*arrays)]
    arguments = estimator.get_params().items()
    given = {name: _lasting(name, value) for name, value in arguments if name != "verbose"}
    told = json.dumps([data, type(estimator).__name__, given, seed], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def _lasting(name: str, value: Any) -> Any:
    """As text that is the same in another process; of a function, its module and name.

    What has an address in place of a name is refused: no search would be resumed.
    """
    if hasattr(value, "tolist"):  # an array
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _lasting(name, each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_lasting(name, each) for each in value]
    if isinstance(value, partial):
        return [_lasting(name, each) for each in (value.func, value.args, value.keywords)]
    called = getattr(value, "__qualname__", "<")
    if "<" not in called:  # not <lambda>, nor within a function's <locals>
        return f"{value.__module__}.{called}"
    text = repr(value)
    if " at 0x" in text:
        raise ValueError(
            f"{name} must be what another process can identify, to resume the search: a function or class at "
            f"the top level of a module, or an integer as random_state, got {text}"
        )
    return text
