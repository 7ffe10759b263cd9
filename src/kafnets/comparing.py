"""Comparing activations on one table of data: the function, and what it returns."""

import html
import inspect
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from kafnets.checks import check_integer, did_you_mean
from kafnets.comparison.plan import BEST, plan
from kafnets.comparison.progress import run_all
from kafnets.comparison.ranking import Ranking, rank, stored_step_times
from kafnets.comparison.record import Record
from kafnets.comparison.runner import finished
from kafnets.comparison.sweep import Engine
from kafnets.comparison.tuned import summary, tuned
from kafnets.registry import names
from kafnets.train.losses import SQUARED_ERROR
from kafnets.train.predictor import Predictor
from kafnets.train.processes import is_first
from kafnets.train.recipe import DROPOUT, HIDDEN, RECIPE
from kafnets.train.settings import Settings

ACTIVATIONS = ("relu", "elu", "prelu", "tanh", "kaf", "kaf2d")
SETTINGS = tuple(each.name for each in fields(Settings))


@dataclass(frozen=True)
class Comparison:
    """The result of :func:`compare`::

        comparison = kafnets.compare("wine", activations=["kaf"], seeds=2, epochs=10)
        comparison.ranking  # a DataFrame
        print(comparison.verdict)

    Attributes:
        name: of the data.
        task: "binary", "multiclass" or "regression".
        board: the ranking with its tests.
        runs: a record per finished run: scores, epochs, data, versions, hardware.
        folder: where everything is stored.
        notes: on the data.
        unfinished: runs that did not finish, and why.
        tuning: the chosen settings, as one line; empty if nothing was tuned.
    """

    name: str
    task: str
    board: Ranking
    runs: tuple[Record, ...]
    folder: Path
    notes: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    tuning: str = ""

    @property
    def ranking(self) -> Any:
        """A pandas DataFrame, best first: differences, 95 % intervals and p-values are against ReLU."""
        import pandas as pd

        return pd.DataFrame(self.board.numbers())

    @property
    def verdict(self) -> str:
        """Whether the best is better than ReLU, as a sentence."""
        return self.board.verdict

    @cached_property
    def best(self) -> Predictor:
        """The network with the best validation score, ready to predict new rows."""
        return Predictor.load(self.folder / BEST)

    def report(self, path: str | Path | None = None) -> Path:
        """Write an HTML page with the ranking, learning curves and every learned activation; return its path.

        Args:
            path: of the page; by default ``report.html`` in the comparison's folder.
        """
        from kafnets.report import write

        page = Path(path) if path is not None else self.folder / "report.html"
        write(self.folder, page)
        return page

    def plot(self, ax: Any = None) -> Any:
        """Draw the test scores of all seeds, with their means, on matplotlib axes, which are returned."""
        import matplotlib.pyplot as plt

        rows = self.board.rows[::-1]
        ax = ax if ax is not None else plt.subplots(figsize=(6, 0.35 * len(rows) + 1))[1]
        for place, row in enumerate(rows):
            scores = list(row.cell.test.values())
            ax.plot(scores, [place] * len(scores), "o", color="tab:blue", alpha=0.4, markersize=4)
            ax.plot([row.cell.mean], [place], "|", color="black", markersize=14)
        ax.set_yticks(range(len(rows)), [row.label for row in rows])
        ax.set_xlabel(f"test {self.board.metric}, {self.name}")
        return ax

    @property
    def title(self) -> str:
        """Data, task and seeds."""
        seeds = max(row.cell.wanted for row in self.board.rows)
        return f"{self.name}: {self.task}, {seeds} seed{'s' if seeds > 1 else ''}"

    def __repr__(self) -> str:
        table = self.board.table()
        widths = [max(map(len, column)) for column in zip(table.headings, *table.rows, strict=True)]
        lines = (
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in (table.headings, *table.rows)
        )
        return "\n".join(filter(None, [self.title, *lines, self.verdict, self.board.test, self.tuning]))

    def _repr_html_(self) -> str:
        table = self.board.table()
        head, *body = (
            "<tr>" + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in line) + "</tr>"
            for tag, line in (("th", table.headings), *(("td", row) for row in table.rows))
        )
        texts = (self.verdict, self.board.test, self.tuning, *self.notes, *self.unfinished)
        below = "".join(f"<p>{html.escape(text)}</p>" for text in texts if text)
        caption = f"<caption>{html.escape(self.title)}</caption>"
        return f"<table>{caption}<thead>{head}</thead><tbody>{''.join(body)}</tbody></table>{below}"


def compare(
    data: Any,
    target: Any = None,
    activations: Iterable[str] | Literal["all"] = ACTIVATIONS,
    *,
    rivals: Iterable[str] = (),
    seeds: int = 5,
    jobs: int = 1,
    task: Literal["classification", "regression"] | None = None,
    drop: Sequence[str] = (),
    hidden: Sequence[int] = HIDDEN,
    dropout: float = DROPOUT,
    n_members: int = 1,
    share_weights: bool = False,
    embedding: str | None = None,
    tune: int = 0,
    output: str | Path = "kafnets-runs",
    engine: Engine = "local",
    tensorboard: bool = False,
    progress: bool = True,
    **training: Any,
) -> Comparison:
    """Train the same network with each activation, several times, and rank the activations::

        import kafnets

        comparison = kafnets.compare("patients.csv", target="outcome", activations=["relu", "kaf"], seeds=5)
        comparison.ranking
        comparison.best.predict("new.csv")

    Rows are divided 70/15/15 into a training, a validation and a test part. ReLU is always among the
    activations, as the reference. After an interruption, the same call resumes with identical results.

    Args:
        data: the path of a .csv or .parquet file, a DataFrame of pandas or polars, a dictionary of columns,
            or an array ``(rows, features)``; or the name of a data set, without a target.
        target: the column to predict, or its values.
        activations: registered names, or "all".
        rivals: common methods for tables, each at its defaults and with one setting tuned on the validation
            part: "forest", "boosting" and "mlp" of scikit-learn; if installed, "lightgbm", "xgboost",
            "catboost", and "realmlp" and "tabm" of pytabkit; "edgewise", a small Kolmogorov-Arnold network.
        seeds: number of runs per activation, each with its own random division of the rows.
        jobs: number of runs in parallel.
        task: default: inferred from the target.
        drop: columns to omit.
        hidden: widths of the hidden layers.
        dropout: probability of dropout after each hidden layer in the first epoch.
        n_members: number of networks per run whose predictions are averaged. They are trained together on the
            same rows, each with its own loss, and share their best epoch.
        share_weights: whether these are one network with shared linear weights, which is faster; see
            :class:`kafnets.nn.SharedMembers`.
        embedding: learned functions of single features as additional inputs: "kaf", "periodic", or "auto" for
            "kaf" in every second network.
        tune: number of settings to try for each activation before its seeds are run, see ``kafnets.tune``;
            the validation part of the first seed chooses. The depth stays. Needs Optuna.
        output: the output folder.
        engine: "local", or "ray" for a Ray cluster.
        tensorboard: log each epoch for TensorBoard as well.
        progress: show the progress.
        training: ``epochs``, ``learning_rate`` and other settings, see ``kafnets.train.Settings``; by default
            those of ``kafnets.train.recipe``.
    """
    check_integer("seeds", seeds)
    check_integer("jobs", jobs)
    check_integer("tune", tune, least=0)
    if task not in (None, "classification", "regression"):
        raise ValueError(f"task must be 'classification', 'regression' or None, got {task!r}")
    for name, given in (("activations", activations), ("rivals", rivals), ("drop", drop)):
        if isinstance(given, str) and (name, given) != ("activations", "all"):
            raise ValueError(f"{name} must be a list of names, got {given!r}: give [{given!r}]")
    if unknown := [each for each in training if each not in SETTINGS]:
        own = (*SETTINGS, *inspect.signature(compare).parameters)
        raise TypeError(
            f"compare has no option {unknown[0]!r}: {did_you_mean(unknown[0], own)}Those of training are "
            f"{', '.join(SETTINGS)}"
        )
    settings = replace(RECIPE, **training)
    if settings.numbers != SQUARED_ERROR:  # R² ranks, and targets are standardized
        raise ValueError(f"loss must be 'squared_error' in a comparison, got {settings.loss!r}")
    output, rivals = Path(output), list(rivals)
    planned = plan(
        data,
        target,
        names() if activations == "all" else activations,
        rivals,
        seeds=seeds,
        settings=settings,
        hidden=hidden,
        dropout=dropout,
        n_members=n_members,
        share_weights=share_weights,
        embedding=embedding,
        task=task,
        drop=drop,
        tune=tune,
        output=output,
    )
    planned.prepare()
    if progress and is_first() and planned.table is not None:
        for note in planned.table.notes:
            print(f"note: {note}", file=sys.stderr)
    if tune:
        planned = tuned(planned, tune, progress=progress)
    unfinished = run_all(
        planned.runs, output, jobs=jobs, engine=engine, tensorboard=tensorboard, quiet=not progress
    )
    if not is_first():  # of several processes that torchrun has started
        raise SystemExit(0)
    records = finished(planned.runs, output)
    if not {each.label for each in records} & {each.label for each in planned.networks}:
        why = unfinished[0] if unfinished else "the stored runs cannot be read"
        raise ValueError(
            f"no run of a network finished ({why}): if it diverged, try a smaller learning_rate, else run it "
            "again"
        )
    found = rank(records, wanted=seeds, step_times=_step_times(planned, {each.label for each in records}))
    planned.save_best(records)
    found.save(planned.folder, data=records[0].data.name, settings=planned.networks[0].settings.describe())
    planned.clear()
    about = records[0].data
    told = about.notes, tuple(unfinished), summary(planned.folder)
    return Comparison(about.name, about.task, found, tuple(records), planned.folder, *told)


def _step_times(planned: Any, labels: set[str]) -> dict[str, float]:
    """As measured by an earlier call, if it has measured all of these; else measured now."""
    stored = stored_step_times(planned.folder)
    wanted = labels & {each.label for each in planned.networks}
    return stored if wanted <= stored.keys() else planned.step_times()
