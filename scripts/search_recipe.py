"""Change one thing of the earlier recipe at a time, and store how the validation parts like it.

Usage: python scripts/search_recipe.py [VARIANT ...]. Scores are of validation parts, of other divisions than
the reported ones; but all divisions are of the same rows, and those that validate here may test there.

What is found goes into benchmarks/results/recipe.json, which docs/results.md shows; variants that are there
are not run again.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from measurements import changing, read
from sections import ROOT
from torch import nn

import kafnets
from kafnets import data
from kafnets.data.splits import Splits
from kafnets.paper import wider
from kafnets.paper.wider import HIDDEN, RECIPE, STARTS
from kafnets.provenance import provenance
from kafnets.train import Settings, fit
from kafnets.train.metrics import MAIN

STORED = ROOT / "benchmarks/results/recipe.json"
SEEDS = range(10, 15)
"""Others than those of the comparisons that are reported."""


@dataclass(frozen=True)
class Variant:
    """What is different."""

    settings: Callable[[int], Settings] = lambda _: RECIPE
    hidden: tuple[int, ...] = HIDDEN
    options: dict[str, Any] = field(default_factory=lambda: STARTS["kaf"])
    normalization: type[nn.LayerNorm] | type[nn.BatchNorm1d] | None = None
    on_inputs: bool = False


def by_decay(factor: float) -> Callable[[int], Settings]:
    """The recipe's decay times a number."""
    return lambda rows: replace(RECIPE, weight_decay=factor * RECIPE.decay(rows))


def by_rate(factor: float) -> Callable[[int], Settings]:
    """The recipe's learning rate times a number."""
    return lambda rows: replace(RECIPE, learning_rate=factor * RECIPE.rate(rows))


VARIANTS = {
    "the recipe": Variant(),
    "learning rate x 0.3": Variant(by_rate(0.3)),
    "learning rate x 3": Variant(by_rate(3.0)),
    "learning rate 3e-3": Variant(lambda _: replace(RECIPE, learning_rate=3e-3)),
    "no decay": Variant(by_decay(0.0)),
    "decay x 3": Variant(by_decay(3.0)),
    "decay 0.01": Variant(lambda _: replace(RECIPE, weight_decay=0.01)),
    "Adam, l2 1e-4": Variant(lambda _: replace(RECIPE, optimizer="Adam", weight_decay=1e-4)),
    "constant learning rate": Variant(lambda _: replace(RECIPE, schedule=None)),
    "batches of 100": Variant(lambda _: replace(RECIPE, batch_size=100)),
    "50 epochs": Variant(lambda _: replace(RECIPE, epochs=50)),
    "random start": Variant(options={}),
    "started as tanh": Variant(options={"init": "tanh"}),
    "D = 10": Variant(options=STARTS["kaf"] | {"dictionary_size": 10}),
    "D = 40, layers of 76": Variant(hidden=(76, 76), options=STARTS["kaf"] | {"dictionary_size": 40}),
    "learned bandwidths": Variant(options=STARTS["kaf"] | {"kernel": kafnets.Gaussian(learn_gamma="neuron")}),
    "boundary 2": Variant(options=STARTS["kaf"] | {"boundary": 2.0}),
    "boundary 4": Variant(options=STARTS["kaf"] | {"boundary": 4.0}),
    "KAFs on the inputs too": Variant(on_inputs=True),
    "layer normalization": Variant(normalization=nn.LayerNorm),
    "batch normalization": Variant(normalization=nn.BatchNorm1d),
    "one layer of 300": Variant(hidden=(300,)),
    "three layers of 66": Variant(hidden=(66, 66, 66)),
}


def build(variant: Variant, splits: Splits, seed: int) -> nn.Sequential:
    """The network, normalized before its activations if that is asked for."""
    generator = torch.Generator().manual_seed(seed)
    network = kafnets.mlp(
        splits.inputs, variant.hidden, splits.outputs, "kaf", generator=generator, **variant.options
    )
    layers: list[nn.Module] = []
    if variant.on_inputs:
        # They start by doing nothing.
        layers.append(kafnets.KAF(splits.inputs, init="identity"))
    for module in network:
        if isinstance(module, kafnets.KAF) and variant.normalization is not None:
            layers.append(variant.normalization(module.num_features))
        layers.append(module)
    return nn.Sequential(*layers)


def described(variant: Variant, name: str) -> dict[str, Any]:
    """What was asked for on a data set: what is stored under other settings is another variant."""
    rows = len(data.load(name, SEEDS[0]).train)
    normalization = variant.normalization
    return {
        "settings": variant.settings(rows).describe(),
        "hidden": list(variant.hidden),
        "options": {key: str(value) for key, value in variant.options.items()},
        "normalization": None if normalization is None else normalization.__name__,
        "on_inputs": variant.on_inputs,
    }


def score(variant: Variant, name: str) -> dict[str, Any]:
    """Means over seeds, in validation."""
    scores, losses, metric = [], [], ""
    for seed in SEEDS:
        splits = data.load(name, seed)
        metric = MAIN[splits.task]
        settings = replace(variant.settings(len(splits.train)), device="cpu")
        try:
            found = fit(build(variant, splits, seed), splits, settings, seed=seed).validation
        except FloatingPointError:
            return {"metric": metric, "validation": None, "loss": None}
        scores.append(found[metric])
        losses.append(found["loss"])
    return {"metric": metric, "validation": float(np.mean(scores)), "loss": float(np.mean(losses))}


def main() -> None:
    torch.set_num_threads(1)
    wanted = sys.argv[1:] or list(VARIANTS)
    if unknown := [label for label in wanted if label not in VARIANTS]:
        sys.exit(f"no variant is called {unknown[0]!r}: there are {', '.join(VARIANTS)}")
    for label in wanted:
        for name in wider.EVERYWHERE:
            asked = described(VARIANTS[label], name)
            stored = read(STORED).get("variants", {}).get(label, {}).get(name)
            if stored is not None and stored["asked"] != asked:
                sys.exit(
                    f"{STORED} holds {label!r} on {name} with other settings: delete it, and search again"
                )
            if stored is None:
                found = {"asked": asked} | score(VARIANTS[label], name) | {"provenance": provenance()}
                with changing(STORED) as everything:
                    everything["seeds"] = list(SEEDS)
                    everything.setdefault("variants", {}).setdefault(label, {})[name] = found
                print(label, name, found["validation"], flush=True)


if __name__ == "__main__":
    main()
