"""Figures 6 to 9: from stored results, never trained here."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from kafnets.comparison.record import Epoch
from kafnets.paper import cifar10 as cifar10_experiment
from kafnets.paper import rl, sensorless
from kafnets.paper.evidence import Evidence, Missing
from kafnets.plot import stored_shapes, style, training_curves


def trained_kafs(evidence: Evidence) -> Figure:
    """Six KAFs of the first layer, trained on Sensorless."""
    return stored_shapes(sensorless_shapes(evidence, "kaf"), layer="1", neurons=6, columns=3)


def trained_2d_kafs(evidence: Evidence) -> Figure:
    """Eight 2D-KAFs of the first layer, trained on Sensorless."""
    figure = stored_shapes(sensorless_shapes(evidence, "kaf2d"), layer="1", neurons=8, columns=4)
    for panel in figure.axes:
        if panel.images:  # not the color bar
            panel.set(xlim=(-3, 3), ylim=(-3, 3))
    return figure


def cifar10(evidence: Evidence) -> Figure:
    """Accuracy and size against the number of convolutional modules."""
    stored = {
        name: evidence.cells("cifar10", name, cifar10_experiment.ACTIVATIONS, cifar10_experiment.LAYERS)
        for name in cifar10_experiment.PROFILES
    }
    profile, found = max(stored.items(), key=lambda item: len(item[1]))  # the first of equals
    if not found:
        raise Missing("no stored results: run kafnets reproduce cifar10 --profile small")
    figure, (accuracy, size) = style.grid(2, 2, width=3.6, height=2.8)
    for number, name in enumerate(cifar10_experiment.ACTIVATIONS):
        own = sorted((cell for cell in found if cell.label == name), key=lambda cell: cell.layers)
        if not own:
            continue
        modules, look = [cell.layers for cell in own], style.SERIES[number]
        deviations = np.nan_to_num([cell.deviation for cell in own])
        accuracy.errorbar(modules, [cell.mean for cell in own], deviations, **look, marker="o", label=name)
        size.plot(modules, [cell.parameters for cell in own], **look, marker="o", label=name)
    accuracy.set_ylabel("test accuracy", fontsize=8)
    size.set_ylabel("parameters", fontsize=8)
    size.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    for panel in (accuracy, size):
        panel.set_xlabel("modules", fontsize=8)
        panel.set_xticks(list(cifar10_experiment.LAYERS))
        panel.legend(fontsize=7, frameon=False)
        style.plain(panel)
    filters, settings = cifar10_experiment.PROFILES[profile]
    figure.suptitle(
        f"CIFAR-10, {profile} profile: {filters} filters, at most {settings.epochs} epochs", fontsize=9
    )
    return figure


def reinforcement_learning(evidence: Evidence) -> Figure:
    """Rewards by step: of each environment, the longest stored runs."""
    found = {environment: _curves(evidence, environment) for environment in rl.ENVIRONMENTS}
    if not any(found.values()):
        raise Missing("no stored results: run kafnets reproduce rl --steps 300000 --seeds 3")
    figure, panels = style.grid(len(found), 3, width=3.0, height=2.7)
    for panel, (environment, curves) in zip(panels, found.items(), strict=True):
        if curves:
            training_curves(curves, "validation_reward", by="steps", axes=[panel])
            panel.set_ylabel("mean reward of 100 episodes", fontsize=8)
            panel.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:,.0f}")
            panel.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
            panel.set_xlabel("steps (thousands)", fontsize=8)
            seeds = len(next(iter(curves.values())))
            environment += f", {seeds} seed{'s' if seeds > 1 else ''}"
        else:
            panel.text(0.5, 0.5, "no stored result", ha="center", fontsize=8)
            panel.set_axis_off()
        panel.set_title(environment, fontsize=9)
    return figure


def _curves(evidence: Evidence, environment: str) -> dict[str, list[Sequence[Epoch]]]:
    """Of the longest runs, the iterations of each, by label; empty without any."""
    curves: dict[str, list[Sequence[Epoch]]] = {}
    if (steps := evidence.longest(environment)) is not None:
        for record in evidence.policies(steps, environment):
            curves.setdefault(record.label, []).append(evidence.runs.epochs(record))
    return curves


def sensorless_shapes(evidence: Evidence, label: str) -> dict[str, np.ndarray]:
    """Learned functions of the first stored run of a label with seed 0: with one layer if there is one."""
    for profile in sensorless.PROFILES:
        for record in evidence.of_experiment("sensorless", profile):
            if (record.label, record.seed) == (label, 0):
                return evidence.runs.shapes(record)
    raise Missing(
        f"no stored run of {label}: kafnets reproduce sensorless --profile quick --activations {label} "
        "--seeds 1"
    )
