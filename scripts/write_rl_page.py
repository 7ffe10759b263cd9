"""Write what came out of the reinforcement-learning runs into docs/reinforcement-learning.md.

Usage: python scripts/write_rl_page.py [--check]. With --check nothing is written; the exit code tells whether
the page says what the stored runs say.
"""

import json

from sections import ROOT, write_or_check

from kafnets.comparison.summary import Cell, cells
from kafnets.paper import rl
from kafnets.paper.evidence import Evidence
from kafnets.paper.page import between

PAGE = ROOT / "docs/reinforcement-learning.md"
BEGIN, END = "<!-- rl: written by scripts/write_rl_page.py -->", "<!-- end of rl -->"
COMPARISONS = 2 * len(rl.ENVIRONMENTS)
"""Tests in a table: area and final reward of each environment."""

MEASURES = {"area": "the area under the curve", "reward": "the final reward", "greedy": "without noise"}


def score(cell: Cell) -> str:
    digits = 0 if abs(cell.mean) >= 1000 else 1
    return f"{cell.mean:,.{digits}f} ± {cell.deviation:,.{digits}f}"


def compared(steps: int, environment: str) -> tuple[list[str], list[str]] | None:
    """Rows of the table, and what they show."""
    records = Evidence.of(ROOT).policies(steps, environment)
    found = {metric: cells(records, metric) for metric in MEASURES}
    if len(found["reward"]) < len(rl.ACTIVATIONS):
        return None
    rows = [
        f"| {environment} | {each[0].label} | {score(each[0])} | {score(each[1])} | {score(each[2])} | "
        f"{len(each[0].test)} | {each[0].parameters:,} |"
        for each in zip(*found.values(), strict=True)
    ]
    verdicts = []
    for metric in ("area", "reward"):
        base, ours = found[metric]
        tested = ours.against(base)
        better = "larger" if ours.mean > base.mean else "smaller"
        told = f"{MEASURES[metric]} is {better} with KAF, by {abs(ours.mean - base.mean):,.1f}"
        if tested is None:
            verdicts.append(f"{told}; too few seeds for a test")
            continue
        found_so = tested.corrected(COMPARISONS)
        noise = "significant" if found_so.significant else "not significant"
        verdicts.append(f"{told}: {noise} (p = {found_so.p_value:.2g})")
    return rows, [f"- **{environment}**: {verdicts[0]}; {verdicts[1]}."]


def text() -> str:
    parts = []
    for steps in Evidence.of(ROOT).lengths():
        found = {name: compared(steps, name) for name in rl.ENVIRONMENTS}
        done = {name: each for name, each in found.items() if each is not None}
        if not done:
            continue
        short = "" if steps == rl.STEPS else f" The PPO paper has {rl.STEPS:,} steps: these runs are shorter."
        lines = [
            f"### {steps:,} steps",
            "",
            f'Means and deviations over seeds, of the runs in `results/rl.jsonl`.{short} "Area" is '
            'the mean of the curve over all steps, "final" the mean of the episodes in the last tenth, and '
            f'"without noise" the mean of {rl.EPISODES} episodes of the trained policy.',
            "",
            "| environment | activation | area | final | without noise | seeds | parameters |",
            "|---|---|---|---|---|---|---|",
            *(row for rows, _ in done.values() for row in rows),
            "",
            *(verdict for _, verdicts in done.values() for verdict in verdicts),
        ]
        parts.append("\n".join(lines))
    parts.append(
        f"p-values are of two-sided paired t-tests over seeds, times {COMPARISONS} for as many comparisons; "
        "[results](results.md) has a one-sided test of the paper's claim. Few seeds can show large differences only."
    )
    parts.append(
        "![Two swimmers, one with tanh and one with KAFs](images/swimmer.webp)\n\n"
        "Swimmers after 300,000 steps, seed 0, without noise: `kafnets clip`."
    )
    parts.append(acting())
    return "\n\n".join(parts)


def acting() -> str:
    """What `kafnets bench acting` has measured."""
    result = json.loads((ROOT / "benchmarks/results/cpu/acting.json").read_text(encoding="utf-8"))
    names = list(next(iter(result["ratios"].values())))
    lines = [
        "### Acting, measured",
        "",
        "Steps a second in the environment, the policy choosing each action as Stable-Baselines3 does it, over "
        f"those with tanh: the median of the ratios of {result['turns']} turns of {result['steps']} steps, one "
        "thread. The environment is given the same actions in each case, so that only the choosing differs.",
        "",
        f"| environment | {' | '.join(names)} |",
        "|---" * (len(names) + 1) + "|",
    ]
    for environment, ratios in result["ratios"].items():
        medians = (f"{ratios[name]['median']:.2f}" for name in names)
        lines.append(f"| {environment} | {' | '.join(medians)} |")
    stamp = result["provenance"]
    lines += [
        "",
        f"{stamp['hardware']['processor']}, commit {stamp['commit'][:12]}, {result['profile']} profile.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    write_or_check({PAGE: between(PAGE, BEGIN, END, text())}, "write_rl_page.py")
