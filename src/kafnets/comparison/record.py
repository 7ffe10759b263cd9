"""The record of a finished run: settings, results, data and code."""

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from kafnets.train.runs import CONFIG, REPORT, RunFolder

Epoch = dict[str, float]
"""Losses and scores after one epoch, by name."""

Key = tuple[str, str, str, str, tuple[int, ...], int]
"""Experiment, profile, data, label, hidden widths and seed."""


@dataclass(frozen=True)
class DataFacts:
    """The data of a run.

    Attributes:
        name: of the data set, for people.
        task: "multiclass", "binary", "regression" or "control".
        rows: of the training, validation and test part.
        sha256: of all rows; None where there are none, as in reinforcement learning.
        classes: their names; None if there are none, or if they were not stored.
        notes: on how the data were read.
        rarest: test rows of the rarer of two classes; None where it was not stored.
    """

    name: str
    task: str
    rows: tuple[int, int, int]
    sha256: str | None = None
    classes: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    rarest: int | None = None


@dataclass(frozen=True)
class Tuning:
    """A choice among several values of one setting, made by the validation part.

    Attributes:
        setting: its name.
        chosen: the value that the scores are for.
        tried: each value with its scores; without scores if it diverged.
    """

    setting: str
    chosen: Any
    tried: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Record:
    """One finished run.

    Attributes:
        config: everything that the result depends on, as described before the run.
        data: what it was trained and tested on.
        test: scores by name.
        validation: scores by name.
        parameters: of the model; for trees, nodes; 0 if a package does not tell.
        trained_parameters: those that are not frozen.
        seconds: of training.
        threads: of the processor.
        provenance: date, commit, versions and hardware.
        processes: that shared the run.
        best_epoch: whose weights were kept; None for runs without epochs.
        epochs: losses and scores of each.
        tuning: None if nothing was tuned.
    """

    config: dict[str, Any]
    data: DataFacts
    test: dict[str, float]
    validation: dict[str, float]
    parameters: int
    trained_parameters: int
    seconds: float
    threads: int
    provenance: dict[str, Any]
    processes: int = 1
    best_epoch: int | None = None
    epochs: tuple[Epoch, ...] = ()
    tuning: Tuning | None = None

    @property
    def experiment(self) -> str:
        """The name of the experiment that the run belongs to."""
        return str(self.config["experiment"])

    @property
    def profile(self) -> str:
        """The name of the setting within its experiment."""
        return str(self.config["profile"])

    @property
    def label(self) -> str:
        """What tables call the activation."""
        return str(self.config["label"])

    @property
    def seed(self) -> int:
        """Of the division of the data, the initial weights and everything random in training."""
        return int(self.config["seed"])

    @property
    def hidden(self) -> tuple[int, ...]:
        """Widths of the hidden layers; none for trees and linear models."""
        return tuple(self.config["hidden"])

    @property
    def key(self) -> Key:
        """The identity of the run: no two finished runs of one setting have the same."""
        return self.experiment, self.profile, str(self.config["data"]), self.label, self.hidden, self.seed

    @classmethod
    def of(cls, folder: RunFolder) -> Self:
        """Of a finished run. One that is unfinished, or was changed since, is an error."""
        if not folder.done:
            raise ValueError(
                f"{folder.path} was changed after the run had finished: delete it, and run it again"
                if folder.damaged
                else f"{folder.path} has no finished run: finish it first"
            )
        try:
            return cls._from_report(folder.config(), folder.report())
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(
                f"{folder.path}: {CONFIG} and {REPORT} do not describe a complete run ({error!r})"
            ) from error

    @classmethod
    def _from_report(cls, config: dict[str, Any], report: dict[str, Any]) -> Self:
        data = report["data"]
        tuning = None
        if "tuned" in report:
            tuning = Tuning(report["tuned"], report["chosen"], tuple(report["tried"]))
        return cls(
            config,
            DataFacts(
                data["name"],
                data["task"],
                _three(report["rows"]),
                data.get("sha256"),
                None if data.get("classes") is None else tuple(data["classes"]),
                tuple(data.get("notes", ())),
                data.get("rarest"),
            ),
            report["test"],
            report["validation"],
            report["parameters"],
            report["trained_parameters"],
            report["seconds_of_training"],
            report["threads"],
            report["provenance"],
            report.get("processes", 1),
            report.get("best_epoch"),
            tuple(report.get("epochs", ())),
            tuning,
        )

    def to_json(self) -> str:
        """One line. Epochs are written as columns, and what is empty is left out."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        found["data"] = _filled(asdict(self.data))
        found["tuning"] = None if self.tuning is None else asdict(self.tuning)
        if self.epochs:
            found["epochs"] = {name: [row[name] for row in self.epochs] for name in self.epochs[0]}
        return json.dumps(_filled(found), ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Self:
        """From what :meth:`to_json` has written."""
        found = json.loads(line)
        columns = found.pop("epochs", {})
        data, tuning = found.pop("data"), found.pop("tuning", None)
        for name in ("rows", "classes", "notes"):
            if name in data:
                data[name] = tuple(data[name])
        if tuning is not None:
            tuning = Tuning(tuning["setting"], tuning["chosen"], tuple(tuning["tried"]))
        epochs = tuple(
            dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
        )
        return cls(**found, data=DataFacts(**data), epochs=epochs, tuning=tuning)


def _three(rows: list[int]) -> tuple[int, int, int]:
    train, validation, test = rows
    return train, validation, test


def _filled(content: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if value is not None and value != ()}
