"""Write tables and the picture of docs/q-learning.md from the stored runs.

python -m benchmarks.dqn.page
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from benchmarks.dqn.run import FIXED, FRESH, METHODS, OUTPUT, PILOT, POINTS, RATES, TASKS, rates
from benchmarks.study import spread
from benchmarks.tables.run import stored
from kafnets import files
from kafnets.comparison.statistics import effect, holm, paired_test
from kafnets.comparison.table import NOTHING, Table
from kafnets.inspection import style
from kafnets.paper.documents import filled
from kafnets.paper.verdict_tables import shown_p

PAGE, PICTURE = Path("docs/q-learning.md"), Path("docs/images/q-learning.svg")
Lines = Sequence[dict[str, Any]]
Cells = Mapping[tuple[str, str], Mapping[int, dict[str, Any]]]
"""By task and method, then by seed."""
NONE_YET = "No run with a fresh seed is stored yet."


def judged(lines: Lines) -> Cells:
    """Runs with fresh seeds, those that all methods of a task have."""
    found: dict[tuple[str, str], dict[int, dict[str, Any]]] = {
        key: {} for key in itertools.product(TASKS, METHODS)
    }
    for line in lines:
        if line["seed"] in FRESH:
            found[line["task"], line["method"]][line["seed"]] = line
    common = {task: set.intersection(*(set(found[task, method]) for method in METHODS)) for task in TASKS}
    return {
        (task, method): {seed: runs[seed] for seed in sorted(common[task])}
        for (task, method), runs in found.items()
        if common[task]
    }


def fixed_one(lines: Lines) -> dict[str, str]:
    """By task, the fixed activation with the larger mean area in the pilot; only where that is finished."""
    chosen = rates(lines)

    def area(task: str, method: str) -> float:
        return fmean(
            line["scores"]["area"]
            for line in lines
            if (line["task"], line["method"], line["rate"]) == (task, method, chosen[task, method])
            and line["seed"] in PILOT
        )

    return {
        task: max(FIXED, key=lambda method: area(task, method))
        for task in TASKS
        if all((task, method) in chosen for method in FIXED)
    }


def pilot_table(lines: Lines) -> Table:
    """Mean areas at both learning rates, the chosen one in bold."""
    chosen, rows = rates(lines), []
    for task, method in itertools.product(TASKS, METHODS):
        shown = []
        for rate in RATES:
            own = [
                line["scores"]["area"]
                for line in lines
                if (line["task"], line["method"], line["rate"]) == (task, method, rate)
                and line["seed"] in PILOT
            ]
            text = f"{fmean(own):.1f}" if len(own) == len(PILOT) else NOTHING
            shown.append(f"**{text}**" if chosen.get((task, method)) == rate else text)
        rows.append((task, method, *shown))
    return Table("Pilot", ("task", "method", *(f"rate {rate:g}" for rate in RATES)), tuple(rows))


def score_table(lines: Lines) -> Table:
    """Means and standard deviations over the fresh seeds."""
    rows = []
    for (task, method), runs in judged(lines).items():
        own = list(runs.values())
        scores = (spread([each["scores"][name] for each in own], 1) for name in ("area", "final", "greedy"))
        seconds = fmean(each["seconds"]["fit_cpu"] for each in own)
        size = (str(own[0]["width"]), f"{own[0]['parameters']:,}", f"{own[0]['rate']:g}")
        rows.append((task, method, *size, str(len(own)), *scores, f"{seconds:.0f}"))
    headings = (
        "task",
        "method",
        "width",
        "parameters",
        "rate",
        "seeds",
        "area",
        "final",
        "greedy",
        "seconds",
    )
    return Table("Rewards", headings, tuple(rows))


def tests_table(lines: Lines) -> Table:
    """The plan's comparisons of areas; p-values only when all seeds are there."""
    cells, fixed = judged(lines), fixed_one(lines)
    compared = [
        (task, ours, theirs, is_claim)
        for task in fixed
        if (task, "kaf") in cells
        for ours, theirs, is_claim in (
            ("kaf", fixed[task], True),
            ("kaf, one per layer", fixed[task], True),
            ("kaf, one per layer", "kaf", True),
            ("rational, one per layer", fixed[task], False),
        )
    ]

    def areas(task: str, method: str) -> list[float]:
        return [line["scores"]["area"] for line in cells[task, method].values()]

    finished = len(fixed) == len(TASKS) and all(
        len(cells.get((task, "kaf"), ())) == len(FRESH) for task in TASKS
    )
    tested = [
        paired_test(areas(task, ours), areas(task, theirs))
        for task, ours, theirs, is_claim in compared
        if is_claim
    ]
    corrected = iter(holm([1.0 if test is None else test.p_value for test in tested]))
    rows = []
    for task, ours, theirs, is_claim in compared:
        own = effect(areas(task, ours), areas(task, theirs))
        difference = NOTHING
        if own.seeds > 1:
            difference = f"{own.difference:+.1f} ({own.low:+.1f} to {own.high:+.1f})"
        p_value = next(corrected) if is_claim else None
        rows.append((task, ours, theirs, str(own.seeds), difference, shown_p(p_value if finished else None)))
    headings = ("task", "ours", "theirs", "seeds", "difference of areas", "p, corrected")
    return Table("Tests", headings, tuple(rows))


def picture(lines: Lines) -> Figure:
    """Mean curves over the fresh seeds, a panel per task."""
    cells = judged(lines)
    tasks = [task for task in TASKS if (task, "kaf") in cells]
    figure, panels = style.grid(len(tasks), 2, width=4, height=3)
    for panel, task in zip(panels, tasks, strict=True):
        steps = np.arange(1, POINTS + 1) * TASKS[task].steps / POINTS
        for method, series in zip(METHODS, style.SERIES, strict=False):
            runs = np.array([line["curve"] for line in cells[task, method].values()])
            panel.plot(steps, runs.mean(0), linewidth=1.5, label=method, **series)
        panel.set_title(f"{task}, {len(runs)} seeds", fontsize=9)
        panel.set_xlabel("steps", fontsize=8)
        panel.tick_params(labelsize=8)
    panels[0].set_ylabel("mean reward of episodes", fontsize=8)
    panels[0].legend(fontsize=7)
    return figure


def page(text: str, lines: Lines) -> str:
    """With its tables."""
    fresh = bool(judged(lines))
    shown = f"![Mean rewards in the course of training, by activation]({PICTURE.relative_to('docs')})"
    return filled(
        text,
        {
            "dqn-pilot": lambda: pilot_table(lines).markdown(),
            "dqn-scores": lambda: score_table(lines).markdown() if fresh else NONE_YET,
            "dqn-tests": lambda: tests_table(lines).markdown() if fresh else NONE_YET,
            "dqn-picture": lambda: shown if fresh else NONE_YET,
        },
    )


def main() -> None:
    """Write them."""
    lines = list(stored(OUTPUT))
    files.write(PAGE, page(PAGE.read_text(encoding="utf-8"), lines))
    if judged(lines):
        with rc_context({"svg.hashsalt": "kafnets"}):
            picture(lines).savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
