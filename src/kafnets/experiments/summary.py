"""Tables over finished runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kafnets.experiments.description import Description
from kafnets.train.metrics import MAIN
from kafnets.train.runs import RunFolder


@dataclass(frozen=True)
class Cell:
    """One activation at one depth, over the seeds that are finished."""

    label: str
    layers: int
    metric: str
    values: tuple[float, ...]
    wanted: int
    parameters: int

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return float(np.mean(self.values))

    @property
    def deviation(self) -> float:
        """Of the seeds, as a sample; NaN for one."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else float("nan")


def cells(descriptions: list[Description], output: Path) -> list[Cell]:
    """In the order of the descriptions, leaving out what has no finished run."""
    groups: dict[tuple[str, int], list[Description]] = {}
    for each in descriptions:
        groups.setdefault((each.label, len(each.hidden)), []).append(each)
    found = []
    for (label, layers), members in groups.items():
        folders = [RunFolder(output / each.folder) for each in members]
        reports: list[dict[str, Any]] = [folder.report() for folder in folders if folder.done]
        if not reports:
            continue
        metric = MAIN[reports[0]["data"]["task"]]
        found.append(
            Cell(
                label,
                layers,
                metric,
                tuple(report["test"][metric] for report in reports),
                len(members),
                reports[0]["trained_parameters"],
            )
        )
    return found
