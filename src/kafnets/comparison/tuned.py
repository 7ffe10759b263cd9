"""A setting for each activation of a comparison, chosen in validation before its seeds are run."""

import json
from dataclasses import replace
from typing import Any

from kafnets import files
from kafnets.comparison.description import Description
from kafnets.comparison.plan import Plan
from kafnets.packages import needed_by
from kafnets.train.loop import fit
from kafnets.train.processes import total_processes
from kafnets.train.search import Budget, arguments_of, best_of, search

CHOSEN = "tuned.json"


def tuned(planned: Plan, trials: int, *, progress: bool) -> Plan:
    """The same runs with the best of so many settings for each activation, the given one among them.

    Settings are scored by the validation part of seed 0. The depth stays, and so does the test part out of
    sight. Trials that an earlier comparison has stored, with the same settings, count.

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
    return replace(planned, networks=[_with(each, chosen[each.label]) for each in planned.networks])


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
