"""Beyond the paper's data: every activation, and trees, on tables that anybody can install.

All get the same rows and as many choices: three values of one setting, the learning rate of a network, of
which each seed takes the one that its own validation part likes best. All else is :data:`RECIPE`, the default
of the estimators and of ``kafnets compare`` at the time of the stored runs, which stays as it was then.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kafnets import data
from kafnets.comparison import rivals
from kafnets.comparison.description import Description
from kafnets.data.splits import Splits
from kafnets.paper.published import REVIEWED
from kafnets.registry import find
from kafnets.train.loop import Progress, fit
from kafnets.train.processes import OneProcess, Processes
from kafnets.train.runs import RunFolder
from kafnets.train.settings import Settings

SETS = ("digits", "breast_cancer", "wine", "image_segments", "phishing", "hearts", "diabetes", "abalone")
EVERYWHERE = (*SETS, "sensorless")
"""The paper's own table too, on which a run takes long, so that there are fewer."""

RECIPE = Settings(
    batch_size="auto",
    epochs=100,
    patience=None,
    learning_rate="auto",
    weight_decay="auto",
    optimizer="AdamW",
    schedule="cosine",
)
HIDDEN = (90, 90)
"""Below 20,000 parameters on Sensorless, with KAFs."""

STARTS: dict[str, dict[str, Any]] = {"kaf": {"init": "elu"}, "kaf2d": {"init": "elu"}}
"""Options of activations."""

LEARNING_RATES = (1e-3, 3e-3, 1e-2)
EDGEWISE = "edgewise kaf"
TREES = {rivals.KINDS[name].label: rivals.KINDS[name] for name in ("forest", "boosting")}
OTHERS = (EDGEWISE, *TREES)
"""What is no activation."""

UNCHANGED = "kaf unchanged"
"""KAFs by the recipe as it stands, without a choice; they are shown, but not ranked."""

ON_SENSORLESS = (UNCHANGED, "kaf", "kaf2d", "relu", "prelu", "elu", "tanh", *OTHERS)
"""Those that are run on the paper's own table."""


@dataclass(frozen=True)
class Tuned:
    """A run for each value of the grid, of which the best in validation counts.

    Attributes:
        data: the name of a data set.
        label: a registered activation, or one of :data:`OTHERS`.
        seed: of the division of the data, and of everything random.
        hidden: widths of hidden layers; none for rivals.
        epochs: of each network.
    """

    data: str
    label: str
    seed: int
    hidden: tuple[int, ...]
    epochs: int = RECIPE.epochs
    experiment: str = "wider"

    @property
    def profile(self) -> str:
        """One a data set."""
        return self.data

    @property
    def grid(self) -> tuple[str, tuple[Any, ...]]:
        """What is tuned, and the values that are tried."""
        if self.label == UNCHANGED:
            return "learning_rate", (RECIPE.learning_rate,)
        kind = TREES.get(self.label)
        return ("learning_rate", LEARNING_RATES) if kind is None else (kind.tuned, kind.values)

    @property
    def folder(self) -> Path:
        """Where its run folder is, below the folder of results."""
        return Path(self.experiment) / self.profile / self.label.replace(" ", "_") / f"seed-{self.seed}"

    def config(self) -> dict[str, Any]:
        """For the run folder."""
        tuned, values = self.grid
        config = asdict(self) | {"profile": self.profile, "tuned": tuned, "values": list(values)}
        if self.label in TREES:
            config["settings"] = TREES[self.label].fixed | TREES[self.label].while_tuned
        else:
            config["settings"] = self._network(values[0]).settings.describe() | {tuned: None}
            config["options"] = self._network(values[0]).options
        return config

    def processes(self) -> Processes:
        """This one: the runs are short."""
        return OneProcess()

    def train(
        self, folder: RunFolder, processes: Processes, progress: Progress | None, tensorboard: bool
    ) -> None:
        """All values in turn, from where the folder's checkpoint left off."""
        splits = data.load(self.data, self.seed)
        rivals.tune(
            folder, splits, self.label, *self.grid, lambda value: self._attempt(value, splits, progress)
        )

    def _attempt(self, value: Any, splits: Splits, progress: Progress | None) -> dict[str, Any]:
        """Scores and size; nothing if it diverges."""
        if self.label in TREES:
            return rivals.attempt(TREES[self.label], value, splits, self.seed)
        described = self._network(value)
        model = described.build(splits)
        try:
            trained = fit(
                model,
                splits,
                described.settings,
                seed=self.seed,
                fabric=self.processes(),
                progress=progress,
            )
        except FloatingPointError:
            return {}
        parameters = sum(each.numel() for each in model.parameters())
        return {"validation": trained.validation, "test": trained.test, "parameters": parameters}

    def _network(self, learning_rate: Any) -> Description:
        edgewise = self.label == EDGEWISE
        activation = "kaf" if edgewise or self.label == UNCHANGED else self.label
        return Description(
            self.experiment,
            self.profile,
            self.label,
            self.data,
            activation,
            self.hidden,
            self.seed,
            options={} if edgewise else STARTS.get(activation, {}),
            network="edgewise" if edgewise else "mlp",
            settings=replace(RECIPE, learning_rate=learning_rate, epochs=self.epochs, device="cpu"),
        )


def descriptions(
    sets: Sequence[str] = EVERYWHERE,
    labels: Sequence[str] = (),
    seeds: int = 5,
    epochs: int = RECIPE.epochs,
) -> list[Tuned]:
    """One a data set, label and seed.

    Args:
        sets: names of data sets.
        labels: activations and others; by default all, but on Sensorless only :data:`ON_SENSORLESS`.
        seeds: how many.
        epochs: of each network.
    """
    for name in sets:
        data.find(name)
    for label in labels:
        if label not in (*OTHERS, UNCHANGED):
            find(label)
    everything = (UNCHANGED, *REVIEWED, *OTHERS)
    return [
        Tuned(name, label, seed, _hidden(label), epochs)
        for name in sets
        for label in dict.fromkeys(labels) or (ON_SENSORLESS if name == "sensorless" else everything)
        for seed in range(seeds)
    ]


def _hidden(label: str) -> tuple[int, ...]:
    if label in TREES:
        return ()
    return (32,) if label == EDGEWISE else HIDDEN
