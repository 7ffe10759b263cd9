"""Studies that learn from rows: formulas, and classes or numbers of real tables."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import kafnets.data
from benchmarks.tables.suite import GROUPS
from benchmarks.when.formulas import FORMULAS, MORE
from benchmarks.when.methods import network, size
from benchmarks.when.study import Case, Study, Trial
from kafnets.data import Part

Parts = dict[str, tuple[Tensor, Tensor]]
"""Features and targets of "train", "validation" and "test"."""

Measure = Callable[[nn.Module, Tensor, Tensor], Tensor]
"""Of a network, from features and targets."""

FORMULA_ROWS = {"train": 500, "validation": 250, "test": 1000}
FEW_ROWS = (75, 25)
"""To train with, and to choose by."""
MOST_TESTED = 2000


def formula_parts(name: str, seed: int) -> Parts:
    """Random rows of a formula; targets are scaled by the training part."""
    generator, formula = np.random.default_rng(seed), (FORMULAS | MORE)[name]
    found = {part: formula.rows(count, generator) for part, count in FORMULA_ROWS.items()}
    mean, deviation = found["train"][1].mean(), found["train"][1].std()
    return {
        part: (
            torch.tensor(x, dtype=torch.float32),
            torch.tensor((y - mean) / deviation, dtype=torch.float32),
        )
        for part, (x, y) in found.items()
    }


@functools.lru_cache(maxsize=1)
def table_parts(name: str, seed: int) -> Parts:
    """A data set as kafnets divides it. The name may end with a comma and how features are scaled."""
    name, _, scaling = name.partition(", ")
    splits = kafnets.data.load(name, seed, scaling or "range")
    given = {"train": splits.train, "validation": splits.validation, "test": splits.test}
    return {part: _tensors(rows) for part, rows in given.items()}


@functools.lru_cache(maxsize=1)
def few_rows(name: str, seed: int) -> Parts:
    """100 rows of a data set's training part to learn from, and up to 2,000 others to test with.

    Numbers to predict are scaled by the rows to train with.
    """
    whole = table_parts(name, seed)
    order = torch.randperm(len(whole["train"][1]), generator=torch.Generator().manual_seed(seed))
    train, validation, rest = order.split([*FEW_ROWS, len(order) - sum(FEW_ROWS)])
    x, y = whole["train"]
    others = (whole["test"], whole["validation"], (x[rest], y[rest]))
    test_x, test_y = (torch.cat(each)[:MOST_TESTED] for each in zip(*others, strict=True))
    found = {
        "train": (x[train], y[train]),
        "validation": (x[validation], y[validation]),
        "test": (test_x, test_y),
    }
    if not found["train"][1].is_floating_point():
        return found
    mean, deviation = found["train"][1].mean(), found["train"][1].std()
    return {part: (x, (y - mean) / deviation) for part, (x, y) in found.items()}


def _tensors(part: Part) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(part.features), torch.from_numpy(part.target)


def learned(
    net: nn.Module,
    parts: Parts,
    rate: float,
    steps: int,
    batch: int,
    seed: int,
    *,
    checks: int = 1,
    choose: Measure | None = None,
) -> dict[str, float]:
    """Errors of a network after training: root mean squares, or rates of wrong classes.

    Args:
        net: what learns.
        parts: what it learns from.
        rate: of Adam, with a cosine schedule.
        steps: of training.
        batch: rows per step; all of them if there are not more.
        seed: of the batches.
        checks: how often the validation part is measured, the last time at the end. The best one counts.
        choose: what is measured then. None: the error.
    """
    x, y = parts["train"]
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    generator = torch.Generator().manual_seed(seed)
    found: list[dict[str, float]] = []
    for step in range(1, steps + 1):
        rows = slice(None) if batch >= len(x) else torch.randint(len(x), (batch,), generator=generator)
        value = loss(net, x[rows], y[rows])
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        schedule.step()
        if step % max(1, steps // checks) == 0 or step == steps:
            with torch.no_grad():
                validation = float((choose or error)(net, *parts["validation"]))
                found.append({"validation": validation, "test": float(error(net, *parts["test"]))})
    return min(found, key=lambda each: (not np.isfinite(each["validation"]), each["validation"]))


def loss(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Mean square, or cross-entropy."""
    output = net(x)
    if y.is_floating_point():
        return nn.functional.mse_loss(output[:, 0], y)
    return nn.functional.cross_entropy(output, y)


def error(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """The root of the mean square, or the rate of wrong classes."""
    if y.is_floating_point():
        return loss(net, x, y).sqrt()
    return (net(x).argmax(1) != y).float().mean()


def trial(parts_of: Callable[[str, int], Parts], batch: int, **options: Any) -> Trial:
    """Trains a network on rows. Other arguments are for :func:`learned`."""

    def run(case: Case, rate: float, steps: int) -> dict[str, float]:
        parts = parts_of(case.name, case.seed)
        targets = [y for _, y in parts.values()]
        outputs = 1 if targets[0].is_floating_point() else 1 + max(int(y.max()) for y in targets)
        net = network(case.method, parts["train"][0].shape[1], outputs, case.budget, case.seed)
        errors = learned(net, parts, rate, steps, batch, case.seed, **options)
        return errors | {"parameters": size(net)}

    return run


FORMULA_STUDY = Study(
    names=tuple(FORMULAS),
    methods=(
        "relu",
        "tanh",
        "silu",
        "sine",
        "relu, 4 layers",
        "silu, 4 layers",
        "kaf",
        "kaf on silu",
        "kaf2d",
        "edgewise",
        "edgewise, linear parts",
    ),
    budgets=(300,),
    rates=(0.01, 0.03),
    steps=500,
    trial=trial(formula_parts, FORMULA_ROWS["train"]),
)

MORE_FORMULAS_STUDY = Study(
    names=tuple(MORE),
    methods=("relu", "tanh", "silu", "sine", "kaf on silu", "edgewise"),
    budgets=FORMULA_STUDY.budgets,
    rates=FORMULA_STUDY.rates,
    steps=FORMULA_STUDY.steps,
    trial=FORMULA_STUDY.trial,
    networks={
        **{
            name: (name, f"{name}, 3 layers", f"{name}, 4 layers")
            for name in ("relu", "tanh", "silu", "sine", "kaf on silu")
        },
        "edgewise": ("edgewise", "edgewise, 2 layers", "edgewise, 2 layers, 6 terms"),
    },
)

DIGITS_STUDY = Study(
    names=("digits",),
    methods=("relu", "silu", "relu, 4 layers", "kaf", "kaf on silu"),
    budgets=(500, 1500, 5000, 15000, 50000),
    rates=(0.01, 0.03),
    steps=1000,
    trial=trial(table_parts, 64),
)

SENSORLESS_STUDY = Study(
    names=("sensorless, range", "sensorless, robust"),
    methods=("relu", "silu", "relu, 4 layers", "silu, 4 layers", "kaf", "kaf on silu"),
    budgets=(500, 2000, 10000, 50000),
    rates=(0.01, 0.03),
    steps=1500,
    trial=trial(table_parts, 256),
)

SMALL_TABLES = {"breast_cancer", "diabetes", "digits", "hearts", "iris", "wine"}
"""Used with the tables on which the recipe was developed, except the largest, whose rows are mostly noise."""

FEW_ROWS_STUDY = Study(
    names=tuple(sorted({*GROUPS["development"], *SMALL_TABLES} - {"susy_sample"})),
    methods=(
        "relu",
        "silu",
        "relu, 4 layers",
        "silu, 4 layers",
        "kaf",
        "kaf on silu",
        "edgewise",
    ),
    budgets=(2000,),
    rates=(0.003, 0.01),
    steps=200,
    trial=trial(few_rows, FEW_ROWS[0], checks=20, choose=loss),
)

MOST_FEATURES = 32
"""Of tables with few rows that are added: with more, 2,000 parameters are few edge-wise neurons."""

MORE_ROWS_STUDY = replace(
    FEW_ROWS_STUDY,
    names=tuple(sorted({*GROUPS["confirmation"]} - {"chess", "splice", "texture"})),
    methods=("relu", "silu", "relu, 4 layers", "silu, 4 layers", "kaf on silu", "edgewise"),
)
"""All tables that are not in the first study of few rows and have at most so many features, encoded."""
