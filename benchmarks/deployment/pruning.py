"""Accuracy against size on Sensorless: KAF networks trained with proximal steps, then pruned.

``python -m benchmarks.deployment.pruning`` trains, prunes and stores ``benchmarks/results/pruning.json`` (the
data is found as by ``kafnets data``) and draws the picture of docs/models.md; with ``--draw`` it only draws.
Strengths and tolerances are lists that were written down before; which network is named in the text is
decided by accuracy on the validation part (:func:`smallest`), and its accuracy on the test part is told.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import kafnets
from kafnets.data import load
from kafnets.files import as_json, write
from kafnets.provenance import provenance

STORED = Path("benchmarks/results/pruning.json")
PICTURE = Path("docs/images/pruning.png")

WIDTHS, EPOCHS, BATCH, RATE = (100, 100), 15, 256, 3e-3
STRENGTHS = {"none": [0.0], "l1": [0.1, 0.3, 1.0, 3.0], "group": [0.3, 1.0, 2.0, 4.0]}
"""By penalty; its size is the strength times the learning rate, per step."""
TOLERANCES = [0.01, 0.1, 1.0]
LOSSES = [0.5, 1.0, 2.0]
"""Percentage points of validation accuracy that a smaller network may cost."""

Part = tuple[Tensor, Tensor]
Point = dict[str, Any]


def trained(x: Tensor, y: Tensor, penalty: str, strength: float) -> nn.Sequential:
    """A network that learned with proximal steps."""
    generator = torch.Generator().manual_seed(0)
    model = kafnets.mlp(x.shape[1], WIDTHS, 11, "kaf", generator=generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    steps = EPOCHS * (len(x) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    if strength:
        kafnets.proximal(optimizer, model, strength, group=penalty == "group")
    for _ in range(EPOCHS):
        order = torch.randperm(len(x), generator=generator)
        for rows in order[: len(x) // BATCH * BATCH].split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
            schedule.step()
    return model


def accuracy(model: nn.Module, x: Tensor, y: Tensor) -> float:
    """The share of rows that are right."""
    with torch.no_grad():
        return float((model.eval()(x).argmax(1) == y).double().mean())


def points_of(model: nn.Sequential, x: Tensor, validation: Part, test: Part) -> list[Point]:
    """The network as it was trained, and pruned with each tolerance."""
    alphas = torch.cat([each.alpha.detach().flatten() for each in model if isinstance(each, kafnets.KAF)])
    zeros = float((alphas == 0).double().mean())
    size = sum(each.numel() for each in model.parameters())
    found: list[Point] = [{"tolerance": None, "parameters": size, "zero_coefficients": zeros}]
    networks: list[nn.Module] = [model]
    for tolerance in TOLERANCES:
        smaller: Any = kafnets.prune(model, x[:4096], tolerance)
        report = smaller.pruning
        networks.append(smaller)
        found.append(
            {
                "tolerance": tolerance,
                "parameters": report.parameters_after,
                "neurons": [each.after for each in report.layers],
                "elements": [each.elements_after for each in report.layers],
                "zeros_set": [each.zeros for each in report.layers],
                "largest_change": report.output_largest,
                "rms_change": report.output_rms,
            }
        )
    for each, network in zip(found, networks, strict=True):
        each |= {"validation": accuracy(network, *validation), "test": accuracy(network, *test)}
    return found


def measure() -> None:
    """Train, prune and store."""
    stamp = provenance()  # of the code that is running, whatever is committed meanwhile
    splits = load("sensorless", seed=0)
    train, validation, test = (
        (torch.from_numpy(part.features), torch.from_numpy(part.target))
        for part in (splits.train, splits.validation, splits.test)
    )
    points: list[Point] = []
    for penalty, strengths in STRENGTHS.items():
        for strength in strengths:
            model = trained(*train, penalty, strength)
            common = {"penalty": penalty, "strength": strength}
            points += [common | each for each in points_of(model, train[0], validation, test)]
            print(points[-1], flush=True)
    stored = {
        "about": "Sensorless, seed 0: accuracy against the number of parameters",
        "widths": WIDTHS,
        "epochs": EPOCHS,
        "batch_size": BATCH,
        "learning_rate": RATE,
        "rows_pruned_on": 4096,
        "points": points,
        "provenance": stamp,
    }
    write(STORED, as_json(stored))


def stored() -> dict[str, Any]:
    """What was measured last."""
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def smallest(points: Sequence[Point], penalty: str, loss: float) -> Point:
    """The smallest network that costs at most ``loss`` percentage points of validation accuracy."""
    whole = next(each for each in points if each["penalty"] == "none")
    allowed = [
        each
        for each in points
        if each["penalty"] in (penalty, "none") and each["validation"] >= whole["validation"] - loss / 100
    ]
    return min(allowed, key=lambda each: (each["parameters"], -each["validation"]))


def table(points: Sequence[Point]) -> str:
    """In Markdown: what each penalty makes of the network, by the loss that is allowed."""
    whole = points[0]
    rows = [
        "| Allowed loss | Penalty | Strength | Tolerance | Parameters | Validation | Test |",
        "|---|---|---|---|---|---|---|",
        f"| | none | | not pruned | {whole['parameters']:,} | {_percent(whole)} |",
    ]
    for loss in LOSSES:
        for penalty, name in (("l1", "coefficients"), ("group", "neurons")):
            each = smallest(points, penalty, loss)
            tolerance = "not pruned" if each["tolerance"] is None else f"{each['tolerance']:g}"
            rows.append(
                f"| {loss:g} points | {name} | {each['strength']:g} | {tolerance} "
                f"| {each['parameters']:,} | {_percent(each)} |"
            )
    return "\n".join(rows)


def _percent(point: Point) -> str:
    return " | ".join(f"{100 * point[part]:.2f}%" for part in ("validation", "test"))


def draw() -> None:
    """The picture of what is stored."""
    import matplotlib.pyplot as plt

    points = stored()["points"]
    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    styles = {"none": ("black", "o"), "l1": ("tab:green", "s"), "group": ("tab:red", "^")}
    names = {"none": "no penalty", "l1": "single coefficients", "group": "neurons"}
    for penalty, (color, marker) in styles.items():
        mine = [each for each in points if each["penalty"] == penalty and each["tolerance"] is not None]
        sizes, scores = ([each[key] for each in mine] for key in ("parameters", "test"))
        ax.plot(sizes, scores, marker, color=color, label=f"pruned, {names[penalty]}")
    whole = points[0]
    ax.axhline(whole["test"], color="gray", linewidth=0.8)
    size, score = whole["parameters"], whole["test"]
    ax.plot(size, score, "*", color="black", markersize=14, label="as trained, no penalty")
    ax.set(xscale="log", xlabel="parameters", ylabel="test accuracy")
    ax.legend(loc="lower right")
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    if "--draw" not in sys.argv:
        measure()
    draw()
