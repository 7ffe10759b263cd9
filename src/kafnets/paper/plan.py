"""The plan of the confirmatory study, read from the document that was committed before its runs."""

import re
import tomllib
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from kafnets.comparison.description import Description
from kafnets.paper.experiments import EXPERIMENTS

PLAN = Path("docs/confirmatory-plan.md")

CellName = tuple[str, int]
"""A label and a number of layers."""


@dataclass(frozen=True)
class PlannedClaim:
    """One claim: its number among all, the name of its test, and the pairs (ours, theirs) compared."""

    number: int
    test: str
    compared: tuple[tuple[CellName, CellName], ...]


@dataclass(frozen=True)
class Plan:
    """What the document says, see there.

    Attributes:
        date: when it was written.
        experiment: of the runs.
        profile: its setting.
        seeds: fresh ones, all of which every cell needs.
        level: for the family of its claims.
        power: by which undecided claims are explained.
        margin: share of the error rate that counts as no difference.
        factor: times the error rate that counts as much worse.
        claims: with their tests.
    """

    date: datetime
    experiment: str
    profile: str
    seeds: range
    level: float
    power: float
    margin: float
    factor: float
    claims: tuple[PlannedClaim, ...]

    @classmethod
    def of(cls, root: Path) -> Self:
        """Of a checkout."""
        found = planned_values(root / PLAN)
        claims = tuple(
            PlannedClaim(
                each["number"],
                each["test"],
                tuple((_cell(pair["ours"]), _cell(pair["theirs"])) for pair in each["compared"]),
            )
            for each in found.pop("claims")
        )
        return cls(**found, claims=claims)

    @property
    def cells(self) -> list[CellName]:
        """All that its claims compare, each once."""
        return list(dict.fromkeys(cell for claim in self.claims for pair in claim.compared for cell in pair))

    def descriptions(self) -> list[Description]:
        """Its runs, all cells of one seed before the next."""
        described = EXPERIMENTS[self.experiment].descriptions
        of_cells = [described(self.profile, [label], [layers], seeds=1)[0] for label, layers in self.cells]
        return [replace(one, seed=seed) for seed in self.seeds for one in of_cells]


def _cell(named: list[Any]) -> CellName:
    label, layers = named
    return str(label), int(layers)


def planned_values(path: Path) -> dict[str, Any]:
    """What the block of TOML in a plan says; its first and last seed as a range."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: --folder must be a checkout of kafnets")
    block = re.search(r"^```toml\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)
    if block is None:
        raise ValueError(f"{path} has no block of TOML")
    found: dict[str, Any] = tomllib.loads(block[1])
    first, last = found["seeds"]
    return found | {"seeds": range(first, last + 1)}
