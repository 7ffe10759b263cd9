"""A setting for each activation of a comparison, chosen in validation before its seeds are run."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kafnets import files
from kafnets.comparison.description import Description
from kafnets.comparison.plan import TUNED, Plan
from kafnets.comparison.rivals import Rival
from kafnets.packages import needed_by
from kafnets.train.loop import fit
from kafnets.train.processes import total_processes
from kafnets.train.runs import RunFolder
from kafnets.train.search import Budget, arguments_of, best_of, search

CHOSEN = "tuned.json"


def tuned(planned: Plan, trials: int, *, progress: bool) -> Plan:
    """The same runs with the best of so many settings for each activation, the given one among them.

    Settings are scored by the validation part of seed 0. The depth stays, and so does the test part out of
    sight. Trials that an earlier comparison has stored, with the same settings, count, and runs that it has
    finished are copied where they are the same.

    Args:
        planned: whose data are prepared.
        trials: for each activation.
        progress: show a bar per activation.
    """
    if total_processes() > 1:
        raise ValueError("tune works in one process: leave out torchrun, or tune")
    splits, chosen = planned.splits(0), dict[str, Any]()
    for one in (each for each in planned.networks if each.seed == 0):

        def tried(arguments: dict[str, Any], one: Description = one) -> tuple[float, float]:
            network = _with(one, arguments)
            found = fit(
                network.build(splits),
                splits.train,
                network.settings,
                validation=splits.validation,
                task=splits.task,
                classes=len(splits.classes) or None,
            ).validation
            decides = network.settings.deciding(splits.task)
            return (-found["loss"] if decides == "loss" else found[decides]), found["loss"]

        with needed_by("tune"):
            path = planned.trials / f"{one.label.replace(' ', '_')}.journal"
            options: dict[str, Any] = {"activation": one.activation, "depth": len(one.hidden)}
            done = search(
                path, Budget(trials, None), tried, **options, progress=progress, what=f"tuning {one.label}"
            )
        chosen[one.label] = arguments_of(best_of(done[:trials]).parameters)
    files.write(planned.folder / CHOSEN, json.dumps(chosen, indent=2) + "\n")
    found = replace(planned, networks=[_with(each, chosen[each.label]) for each in planned.networks])
    _adopt_runs(found)
    return found


def summary(folder: Path) -> str:
    """The settings that a comparison has chosen, from its folder; empty if nothing was tuned."""
    try:
        chosen = json.loads((folder / CHOSEN).read_text(encoding="utf-8"))
        told = "; ".join(f"{label}: {_told(arguments)}" for label, arguments in chosen.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    trials = folder.name.rpartition(TUNED)[2]
    each = f", {trials} trials each" if trials.isdigit() else ""  # unless the folder was renamed
    return f"Tuned{each}: {told}"


def _told(arguments: Mapping[str, Any]) -> str:
    if not arguments:
        return "as given"
    hidden, options = arguments["hidden"], arguments.get("activation_options", {})
    numbers = {name: arguments[name] for name in ("learning_rate", "weight_decay", "dropout")} | options
    values = (
        f"{name} {value:.2g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in numbers.items()
    )
    return ", ".join((f"hidden {hidden[0]} x {len(hidden)}", *values))


def _adopt_runs(planned: Plan) -> None:
    """Take over finished runs of the same comparison with other numbers of trials, or without tuning."""
    folder, untuned = planned.folder, planned.untuned
    others = {untuned, *folder.parent.glob(f"{untuned.name}{TUNED}*")} - {folder}
    runs: list[Description | Rival] = [*planned.networks, *planned.rivals]
    for run in runs:
        own = RunFolder(planned.output / run.folder)
        with own.locked() as free:
            if not free or own.done:
                continue
            for other in sorted(others):
                same = replace(run, profile=other.name)
                if own.adopt(RunFolder(planned.output / same.folder), run.config(), same.config()):
                    break


def _with(one: Description, arguments: dict[str, Any]) -> Description:
    """A run with some arguments of an estimator; as it is if there are none."""
    if not arguments:
        return one
    rates = {name: arguments[name] for name in ("learning_rate", "weight_decay")}
    return replace(
        one,
        hidden=arguments["hidden"],
        dropout=(arguments["dropout"],) * len(arguments["hidden"]),
        options=arguments.get("activation_options", one.options),
        settings=replace(one.settings, **rates),
    )
