"""Accuracy against size on Sensorless: KAF networks trained with proximal steps, then pruned.

``python scripts/measure_pruning.py`` trains, prunes and stores ``benchmarks/results/pruning.json`` (about a
minute of one core; the data is found as by ``kafnets data``); with ``--draw`` it only draws the picture of
what is stored.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import kafnets
from kafnets.data import load
from kafnets.files import as_json, write
from kafnets.provenance import provenance

ROOT = Path(__file__).parents[1]
STORED = ROOT / "benchmarks/results/pruning.json"
PICTURE = ROOT / "docs/images/pruning.png"

WIDTHS, EPOCHS, BATCH, RATE = (100, 100), 15, 256, 3e-3
STRENGTHS = {"none": [0.0], "l1": [0.1, 0.3, 1.0], "group": [1.0, 2.0]}
"""By penalty; its size is the strength times the learning rate, per step."""
TOLERANCES = [0.01, 0.1, 1.0]


def trained(x: Tensor, y: Tensor, penalty: str, strength: float) -> nn.Sequential:
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
    with torch.no_grad():
        return float((model.eval()(x).argmax(1) == y).double().mean())


def measure() -> None:
    splits = load("sensorless", seed=0)
    parts = [
        (torch.from_numpy(part.features), torch.from_numpy(part.target))
        for part in (splits.train, splits.test)
    ]
    (x, y), test = parts
    points: list[dict[str, Any]] = []
    for penalty, strengths in STRENGTHS.items():
        for strength in strengths:
            model = trained(x, y, penalty, strength)
            alphas = torch.cat(
                [each.alpha.detach().flatten() for each in model if isinstance(each, kafnets.KAF)]
            )
            common = {"penalty": penalty, "strength": strength}
            size = sum(each.numel() for each in model.parameters())
            before = accuracy(model, *test)
            points.append(
                common
                | {"tolerance": None, "parameters": size, "accuracy": before}
                | {"zero_coefficients": float((alphas == 0).double().mean())}
            )
            for tolerance in TOLERANCES:
                smaller: Any = kafnets.prune(model, x[:4096], tolerance)
                report = smaller.pruning
                points.append(
                    common
                    | {"tolerance": tolerance, "parameters": report.parameters_after}
                    | {
                        "accuracy": accuracy(smaller, *test),
                        "neurons": [each.after for each in report.layers],
                    }
                    | {"elements": [each.elements_after for each in report.layers]}
                    | {"zeros_set": [each.zeros for each in report.layers]}
                    | {"largest_change": report.output_largest, "rms_change": report.output_rms}
                )
            print(points[-4:], flush=True)
    stored = {
        "about": "Sensorless, seed 0: test accuracy against the number of parameters",
        "widths": WIDTHS,
        "epochs": EPOCHS,
        "batch_size": BATCH,
        "learning_rate": RATE,
        "rows_pruned_on": 4096,
        "points": points,
        "provenance": provenance(),
    }
    write(STORED, as_json(stored))


def draw() -> None:
    import matplotlib.pyplot as plt

    points = json.loads(STORED.read_text(encoding="utf-8"))["points"]
    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    styles = {"none": ("black", "o"), "l1": ("tab:green", "s"), "group": ("tab:red", "^")}
    names = {"none": "no penalty", "l1": "single coefficients", "group": "neurons"}
    for penalty, (color, marker) in styles.items():
        mine = [each for each in points if each["penalty"] == penalty and each["tolerance"] is not None]
        sizes, scores = ([each[key] for each in mine] for key in ("parameters", "accuracy"))
        ax.plot(sizes, scores, marker, color=color, label=f"pruned, {names[penalty]}")
    whole = next(each for each in points if each["penalty"] == "none")
    ax.axhline(whole["accuracy"], color="gray", linewidth=0.8)
    ax.plot(
        whole["parameters"],
        whole["accuracy"],
        "*",
        color="black",
        markersize=14,
        label="as trained, no penalty",
    )
    ax.set(xscale="log", xlabel="parameters", ylabel="test accuracy")
    ax.legend(loc="lower right")
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    if "--draw" not in sys.argv:
        measure()
    draw()
