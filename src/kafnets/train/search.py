"""The space that tuning searches, and trials that are stored, so that a search can be resumed."""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafnets import files
from kafnets.train.progress import bar

WIDTHS = (32, 384)
DEPTHS = (1, 4)
LEARNING_RATES = (3e-4, 3e-2)
WEIGHT_DECAYS = (1e-4, 1.0)
DROPOUTS = (0.0, 0.5)
BASES = ("none", "mish", "silu", "relu")
DICTIONARY_SIZES = (8, 40)
"""The search space: the smallest and the largest value, or all values."""

UNITS = {"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Budget:
    """A number of trials, or of seconds; one of them is None."""

    trials: int | None
    seconds: float | None

    @classmethod
    def of(cls, given: Any) -> "Budget":
        """From 20, "20 trials", "90s", "10min" or "2h"."""
        text = f"{given} trials" if isinstance(given, int) and not isinstance(given, bool) else str(given)
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(trials?|sec|s|min|h)\s*", text)
        number = float(found[1]) if found else 0.0
        if found and found[2].startswith("trial") and number >= 1 and number.is_integer():
            return cls(int(number), None)
        if found and found[2] in UNITS and number > 0:
            return cls(None, number * UNITS[found[2]])
        raise ValueError(
            f"budget must be, for example, '10min', '90s', '2h', '20 trials' or 20, got {given!r}"
        )


@dataclass(frozen=True)
class Trial:
    """One setting that was tried.

    Attributes:
        number: from 0, which is the setting as it was given.
        parameters: of the space.
        score: in validation; None if it diverged.
        loss: in validation, which tells equal scores apart.
        seconds: that it took.
    """

    number: int
    parameters: dict[str, Any]
    score: float | None
    loss: float
    seconds: float


def suggested(trial: Any, activation: Any, depth: int | None = None) -> dict[str, Any]:
    """A point of the space, by Optuna. Bases and dictionaries are of KAFs without options only.

    Args:
        trial: of Optuna.
        activation: whose setting it is.
        depth: of the network; None: it is searched for.
    """
    found = {
        "width": trial.suggest_int("width", *WIDTHS, log=True),
        "depth": trial.suggest_int("depth", *DEPTHS) if depth is None else depth,
        "learning_rate": trial.suggest_float("learning_rate", *LEARNING_RATES, log=True),
        "weight_decay": trial.suggest_float("weight_decay", *WEIGHT_DECAYS, log=True),
        "dropout": trial.suggest_float("dropout", *DROPOUTS),
    }
    if activation == "kaf":
        found["base"] = trial.suggest_categorical("base", BASES)
        found["dictionary_size"] = trial.suggest_int("dictionary_size", *DICTIONARY_SIZES, log=True)
    return found


def arguments_of(parameters: dict[str, Any]) -> dict[str, Any]:
    """What estimators call them: ``hidden``, ``learning_rate`` and so on. Nothing for the given setting."""
    found = {name: parameters[name] for name in ("learning_rate", "weight_decay", "dropout") if parameters}
    if parameters:
        found["hidden"] = (parameters["width"],) * parameters["depth"]
    if "base" in parameters:
        base = parameters["base"]
        start = {"init": "elu"} if base == "none" else {"base": base}
        found["activation_options"] = {**start, "dictionary_size": parameters["dictionary_size"]}
    return found


def search(
    path: Path,
    budget: Budget,
    tried: Callable[[dict[str, Any]], tuple[float, float]],
    *,
    activation: Any,
    depth: int | None = None,
    seed: int = 0,
    progress: bool = True,
    what: str = "tuning",
) -> list[Trial]:
    """All trials, those of earlier calls among them, which count as part of the budget.

    Args:
        path: of the file that they are stored in.
        budget: of all calls together. The first trial, the setting as it was given, is always carried out.
            One that was interrupted does not count.
        tried: gives score and loss in validation for arguments; a ``FloatingPointError``, or a score of NaN,
            counts as diverged.
        activation: as for :func:`suggested`.
        depth: as for :func:`suggested`.
        seed: of the search.
        progress: show a bar in terminals and notebooks.
        what: the bar is called.
    """
    import optuna

    def objective(trial: Any) -> float:
        given_was_tried = any(not each.parameters for each in past)
        parameters = suggested(trial, activation, depth) if given_was_tried else {}
        trial.set_user_attr("parameters", parameters)
        try:
            score, loss = tried(arguments_of(parameters))
        except FloatingPointError as error:
            raise optuna.TrialPruned(str(error)) from error
        if math.isnan(score):  # which Optuna would not count, however often it comes
            raise optuna.TrialPruned("the score is NaN")
        trial.set_user_attr("loss", loss)
        return score

    with _quiet():
        study = _study(path, seed)
        shown = bar(total=budget.trials, unit="trial", desc=what) if progress else None
        try:
            while not (past := _trials(study)) or not _spent(budget, past):
                if shown is not None:
                    shown.update(len(past) - shown.n)
                study.optimize(objective, n_trials=1)
        finally:
            if shown is not None:
                shown.close()
    return past


def best_of(trials: list[Trial]) -> Trial:
    """The largest score; of equal ones, the smallest loss."""
    finished = [each for each in trials if each.score is not None and math.isfinite(each.score)]
    if not finished:
        raise FloatingPointError("all trials diverged: check the data, or give a smaller learning_rate")
    return max(finished, key=lambda each: (each.score, -each.loss))


def _spent(budget: Budget, past: list[Trial]) -> bool:
    if budget.trials is not None:
        return len(past) >= budget.trials
    return math.fsum(each.seconds for each in past) >= (budget.seconds or 0)


def _study(path: Path, seed: int) -> Any:
    import optuna
    from optuna.storages import journal

    files.make_folder(path.parent)
    # Of its two locks, the one that all file systems know.
    backend = journal.JournalFileBackend(str(path), journal.JournalFileOpenLock(str(path)))
    study = optuna.create_study(
        storage=optuna.storages.JournalStorage(backend),
        study_name="tuning",
        direction="maximize",
        load_if_exists=True,
    )
    # Begun anew, a sampler would draw again what it drew before.
    study.sampler = optuna.samplers.TPESampler(seed=seed + len(study.trials))
    return study


def _trials(study: Any) -> list[Trial]:
    """Those that came to their end: one that was interrupted does not count."""
    found = [each for each in study.trials if each.state.name in ("COMPLETE", "PRUNED")]
    return [
        Trial(
            number,
            each.user_attrs["parameters"],
            each.value if each.state.name == "COMPLETE" else None,
            each.user_attrs.get("loss", math.nan),
            each.duration.total_seconds(),
        )
        for number, each in enumerate(found)
    ]


@contextmanager
def _quiet() -> Iterator[None]:
    """While the block runs, Optuna logs neither trials nor tracebacks of errors, which are raised anyway."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
