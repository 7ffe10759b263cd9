"""The plan of a comparison: its data, read once, and its runs."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kafnets import files
from kafnets.comparison import prepared
from kafnets.comparison.description import Description
from kafnets.comparison.ranking import REFERENCE
from kafnets.comparison.record import Record
from kafnets.comparison.rivals import KINDS, Rival, labels_of, model_of
from kafnets.comparison.runner import Runnable
from kafnets.comparison.summary import cells, complete
from kafnets.data import SETS
from kafnets.data import find as find_set
from kafnets.data.splits import Splits
from kafnets.data.tables import Table, read
from kafnets.packages import require
from kafnets.registry import find
from kafnets.timing import interleaved, threads
from kafnets.train.architecture import embeddings_of
from kafnets.train.loop import stepper
from kafnets.train.predictor import Predictor
from kafnets.train.processes import device_of
from kafnets.train.recipe import DROPOUT, HIDDEN, RECIPE, SCALING, STARTS
from kafnets.train.rows import temperature_by
from kafnets.train.runs import RunFolder
from kafnets.train.settings import Settings

BEST, ROWS, TRIALS, TUNED = "best", ".rows", "-trials", "-tuned-"
SECONDS_OF_TIMING = 1.0


@dataclass(frozen=True)
class Plan:
    """The runs of a comparison.

    Attributes:
        networks: one per activation and seed.
        rivals: two per rival and seed: at its defaults, and tuned.
        output: the folder of results.
        table: None for a data set by name.
        target: the name of the table's target.
        new: folders, the innermost first, that are made for the comparison.
    """

    networks: list[Description]
    rivals: list[Rival]
    output: Path
    table: Table | None = None
    target: str | None = None
    new: tuple[Path, ...] = ()

    @property
    def runs(self) -> list[Runnable]:
        """All of them."""
        return [*self.networks, *self.rivals]

    @property
    def folder(self) -> Path:
        """Of the comparison."""
        return self.output / self.networks[0].experiment / self.networks[0].profile

    @property
    def untuned(self) -> Path:
        """The folder of the same comparison without tuning, if activations are tuned."""
        return self.folder.with_name(self.folder.name.rpartition(TUNED)[0])

    @property
    def trials(self) -> Path:
        """The folder of trials, if activations are tuned: the same for every number of trials."""
        return self.untuned.with_name(self.untuned.name + TRIALS)

    def splits(self, seed: int) -> Splits:
        """The division of the data by a seed."""
        path = prepared.path_of(self.folder / ROWS, seed)
        if self.table is None or path.exists():
            return replace(self.networks[0], seed=seed).load()
        return self.table.divide(seed, SCALING)

    def prepare(self) -> None:
        """Divide the table for all runs that are to come, and build their networks: mistakes are told now."""
        coming = [each for each in self.runs if not RunFolder(self.output / each.folder).done]
        if not coming:
            return
        try:
            if self.table is not None:
                self._divide(self.table, sorted({each.seed for each in coming}))
            self._build([each for each in coming if isinstance(each, Description)])
        except ValueError:
            self.clear()
            raise

    def _divide(self, table: Table, seeds: Sequence[int]) -> None:
        from filelock import FileLock

        folder = self.folder / ROWS
        files.make_folder(folder)
        with FileLock(folder / ".lock"):  # of two comparisons at once, one prepares for both
            files.remove_temporary(self.folder)
            files.remove_temporary(folder)
            for seed in seeds:
                path = prepared.path_of(folder, seed)
                if not path.exists():
                    prepared.save(table.divide(seed, SCALING), path)

    def _build(self, networks: Sequence[Description]) -> None:
        for each in {each.label: each for each in networks}.values():
            splits = each.load()
            if splits.scaling is None:
                raise ValueError(f"{splits.name} holds images: compare takes tables of features")
            try:
                each.build(splits)
            except (ValueError, RuntimeError) as error:  # of torch, when memory does not suffice
                hidden = ", ".join(map(str, each.hidden))
                raise ValueError(f"{each.activation} with hidden layers of {hidden}: {error}") from error

    def clear(self) -> None:
        """Remove the divided rows, and new folders that are empty without them, unless others work here."""
        for lock in self.folder.glob("*/*/.lock"):
            with RunFolder(lock.parent).locked() as free:
                if not free:
                    return
        shutil.rmtree(self.folder / ROWS, ignore_errors=True)
        with suppress(OSError):
            for folder in self.new:
                folder.rmdir()

    def step_times(self) -> dict[str, float]:
        """Training step times relative to ReLU, by label: medians on one thread, all taking turns."""
        splits = self.splits(0)
        first = [each for each in self.networks if each.seed == 0]
        runs = {each.label: stepper(each.build(splits), splits, each.settings) for each in first}
        device = device_of(self.networks[0].settings)
        with threads(1), torch.random.fork_rng(devices=[device] if device.startswith("cuda") else []):
            timings = interleaved(runs, seconds_a_run=SECONDS_OF_TIMING, least=15)
        return {label: timing.median / timings[REFERENCE].median for label, timing in timings.items()}

    def save_best(self, records: Sequence[Record]) -> None:
        """Save the network that did best in validation, of the activation that did so in the mean.

        Test scores are not used: choosing by them would make them too optimistic.
        """
        labels = {each.label for each in self.networks}
        found = complete(cells(each for each in records if each.label in labels))
        winner = max(found, key=lambda cell: cell.mean_validation)
        seed = max(winner.validation, key=lambda seed: winner.validation[seed])
        best = next(each for each in self.networks if (each.label, each.seed) == (winner.label, seed))
        splits = self.splits(seed)
        model = best.build(splits)
        model.load_state_dict(RunFolder(self.output / best.folder).weights())
        clamp = best.settings.clamp_outputs
        predictor = Predictor.of(model, best.architecture(splits), splits, self.target, clamp=clamp)
        if best.settings.smoothing(splits.task) > 0:  # as the estimators do it
            temperature = temperature_by(model, splits.validation, splits.task)
            predictor = replace(predictor, temperature=temperature)
        predictor.save(self.folder / BEST)


def plan(
    data: Any,
    target: Any,
    activations: Iterable[str],
    rivals: Sequence[str] = (),
    *,
    seeds: int = 5,
    settings: Settings = RECIPE,
    hidden: Sequence[int] = HIDDEN,
    dropout: float = DROPOUT,
    n_members: int = 1,
    share_weights: bool = False,
    embedding: str | None = None,
    task: Any = None,
    drop: Sequence[str] = (),
    tune: int = 0,
    output: Path = Path("kafnets-runs"),
) -> Plan:
    """Read the data, and describe one run per activation or rival and seed, ReLU among them as the reference.

    Their folder is named after the data and a digest of all that they have in common, so that the same
    comparison is resumed, and one with other settings or a changed table gets a new folder.
    """
    hidden = np.atleast_1d(hidden).tolist()
    chosen = _known(activations, rivals)
    table, told = _read(data, target, task, drop)
    source = find_set(data).name if table is None else table.name
    _check_members(n_members, embedding, share_weights=share_weights)  # mistakes are told now
    common = [told, settings.describe(), list(hidden), dropout, SCALING]
    members = [n_members, embedding] + ["shared"] * share_weights
    common += [] if members == [1, None] else [members]
    untuned = _profile(source, table, common)
    profile = untuned + f"{TUNED}{tune}" * (tune > 0)
    rows = None if table is None else output / "compare" / profile / ROWS
    called = "compare", profile, REFERENCE, source, REFERENCE
    one = Description(
        *called,
        tuple(hidden),
        seed=0,
        dropout=(dropout,) * len(hidden),
        table=told,
        settings=settings,
        scaling=SCALING,
        prepared=rows,
        members=n_members,
        share_weights=share_weights,
        embedding=embedding,
    )
    networks = [
        replace(one, label=name, activation=name, options=STARTS.get(name, {}), seed=seed)
        for name, seed in product(chosen, range(seeds))
    ]
    others = [
        Rival("compare", profile, label, source, seed, SCALING, told, rows)
        for name, seed in product(dict.fromkeys(rivals), range(seeds))
        for label in labels_of(name)
    ]
    folders = (output / "compare" / profile, output / "compare", output)
    new = tuple(each for each in folders if not each.exists())
    return Plan(networks, others, output, table, told.get("target"), new)


def _known(activations: Iterable[str], rivals: Sequence[str]) -> list[str]:
    """The activations, and the reference; an error if one, or a rival, does not exist."""
    chosen = list(dict.fromkeys([*activations, REFERENCE]))
    for name in chosen:
        find(name)
    for name in rivals:
        if name not in KINDS:
            raise ValueError(f"rivals must be among {', '.join(KINDS)}, got {name!r}")
    # Packages that are missing are told now, all of them.
    require("this comparison", *dict.fromkeys(KINDS[name].module.partition(".")[0] for name in rivals))
    for name in rivals:
        model_of(KINDS[name], "binary", {}, 0)
    return chosen


def _check_members(n_members: int, embedding: str | None, *, share_weights: bool) -> None:
    embeddings_of(embedding, n_members, shared=share_weights)
    if share_weights and n_members < 2:
        raise ValueError(
            f"share_weights needs several networks: n_members (--members) must be 2 or more, got {n_members}"
        )


def _read(data: Any, target: Any, task: Any, drop: Sequence[str]) -> tuple[Table | None, dict[str, Any]]:
    """The table, and how it was read; neither for a data set by name."""
    by_name = isinstance(data, str) and data in SETS and not Path(data).exists()
    if by_name and (target is not None or task or drop):
        raise ValueError(f"target, task and drop are for tables: omit them, {data!r} is a named data set")
    if target is None:
        if not isinstance(data, str) or Path(data).suffix:
            raise ValueError(
                "target must be the column to predict, or its values: only named data sets have a default"
            )
        return None, {}
    named = target if isinstance(target, str) else str(getattr(target, "name", None) or "target")
    told = {"target": named, "task": task, "drop": list(drop)}
    return read(data, target, task=task, drop=drop), told


def _profile(source: str, table: Table | None, settings: list[Any]) -> str:
    """The name of the data, and a digest of all that the runs have in common."""
    data = source if table is None else [table.digest, *(each.name for each in table.columns)]
    digest = hashlib.sha256(json.dumps([data, settings], sort_keys=True).encode()).hexdigest()
    called = re.sub(r"[^\w-]+", "_", Path(source).stem) or "table"
    return f"{called}-{digest[:6]}"
