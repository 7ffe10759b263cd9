"""Tables of verdicts on claims, and of what they rest on."""

from collections.abc import Sequence

from kafnets.comparison.statistics import Effect
from kafnets.comparison.table import NOTHING, Table
from kafnets.paper.claims import CLAIMS
from kafnets.paper.confirmatory import Judged
from kafnets.paper.verdicts import Verdict


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """One row per claim."""
    rows = tuple(
        (str(number), each.claim.statement, each.claim.setting, f"**{each}**", shown_p(each.p_value))
        for number, each in enumerate(verdicts, 1)
    )
    return Table("Claims", ("", "the paper's claim", "tested in", "verdict", "p, corrected"), rows)


def question_table(verdicts: Sequence[Verdict]) -> Table:
    """What the verdicts rest on."""
    rows = []
    for number, verdict in enumerate(verdicts, 1):
        for each in verdict.questions:
            if each.missing:
                continue
            p_values, test = (NOTHING, NOTHING), "holds" if each.holds else "does not hold"
            if each.test is not None:
                p_values, test = (shown_p(each.test.p_value), shown_p(each.test.opposite)), each.test.name
            rows.append((str(number), each.what, each.found, each.difference or NOTHING, *p_values, test))
    headings = (
        "claim",
        "comparison",
        "means or counts",
        "difference",
        "p",
        "p of the opposite",
        "test",
    )
    return Table("Evidence", headings, tuple(rows))


def judged_table(judged: Sequence[Judged]) -> Table:
    """One row per claim of the confirmatory study."""
    rows = tuple(
        (
            str(each.claim.number),
            CLAIMS[each.claim.number - 1].statement,
            f"**{each}**",
            shown_p(each.p_value),
            shown_p(each.against),
        )
        for each in judged
    )
    return Table("Verdicts", ("", "the paper's claim", "verdict", "p for the claim", "p against it"), rows)


def comparison_table(judged: Sequence[Judged]) -> Table:
    """What the verdicts rest on."""
    rows = []
    for each in judged:
        for found in each.comparisons:
            p_values = [
                NOTHING if pair is None else " / ".join(map(shown_p, pair))
                for pair in (found.sureness, found.corrected)
            ]
            rows.append(
                (
                    str(each.claim.number),
                    str(found),
                    NOTHING if found.published is None else f"{found.published:.2f}",
                    _ratio(found.explored),
                    _ratio(found.fresh),
                    str(found.fresh.seeds) if found.fresh else "0",
                    *p_values,
                )
            )
    headings = (
        "claim",
        "ours / theirs",
        "paper",
        "first five seeds",
        "fresh seeds",
        "fresh seeds, number",
        "p for / against",
        "the same for new rows",
    )
    return Table("Ratios of error rates", headings, tuple(rows))


def _ratio(found: Effect | None) -> str:
    if found is None or found.ratio is None:
        return NOTHING
    ratio, low, high = found.ratio
    return f"{ratio:.2f} ({low:.2f} to {high:.2f})"


def shown_p(value: float | None) -> str:
    """A p-value, or that there is none."""
    return NOTHING if value is None else f"{value:.2g}"
