"""Tables of text, for documents and terminals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table as RichTable

NOTHING = "-"
"""Where there is no value."""

GAP = 2
"""Between the columns of a table in a terminal."""


@dataclass(frozen=True)
class Table:
    """Cells of text, which rich prints.

    Attributes:
        title: what is shown.
        headings: of the columns.
        rows: one text per column.
        note: a line below.
        optional: headings of columns that narrow terminals do without, the least important first.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    optional: tuple[str, ...] = ()

    def markdown(self) -> str:
        """Without title and note."""
        lines = (self.headings, ("---",) * len(self.headings), *self.rows)
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def __rich_console__(self, console: Any, options: Any) -> "Iterator[RichTable]":
        """Fit the terminal: optional columns are omitted, then cells are wrapped; nothing is truncated."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable
        from rich.text import Text

        texts = list(zip(self.headings, *self.rows, strict=True))  # by column, the heading first
        cells = [max((len(text) for text in column[1:]), default=0) for column in texts]
        whole = [max(len(column[0]), width) for column, width in zip(texts, cells, strict=True)]
        wrapped_headings = [max(_word(column[0]), width) for column, width in zip(texts, cells, strict=True)]
        optional = [self.headings.index(each) for each in self.optional if each in self.headings]
        for count in range(len(optional) + 1):
            shown = [place for place in range(len(texts)) if place not in optional[:count]]
            widths = _shrunk(shown, whole, wrapped_headings, options.max_width)
            if _total(widths) <= options.max_width:
                break
        else:
            words = [max(map(_word, column)) for column in texts]
            widths = _shrunk(shown, wrapped_headings, words, options.max_width)
        left_out = ", ".join(self.headings[place] for place in optional[:count])
        note = f"wider terminals also show: {left_out}" if left_out else ""
        table = RichTable(
            title=self.title,
            caption="\n".join(filter(None, (self.note, note))),
            box=SIMPLE_HEAD,
            padding=(0, GAP - 1, 0, 0),
            pad_edge=False,
            show_edge=False,
        )
        for place, width in widths.items():
            table.add_column(self.headings[place], width=width, overflow="fold")
        for row in self.rows:
            table.add_row(*(Text(row[place]) for place in widths))  # as it stands: no markup
        yield table


def _shrunk(places: Sequence[int], widths: Sequence[int], least: Sequence[int], room: int) -> dict[int, int]:
    """Widths by place that fit, if the least ones do; what can shrink most does so first."""
    found = {place: widths[place] for place in places}
    for place in sorted(found, key=lambda each: least[each] - found[each]):
        found[place] = max(least[place], found[place] - max(0, _total(found) - room))
    return found


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + GAP * (len(widths) - 1)


def _word(text: str) -> int:
    """The length of its longest."""
    return max(map(len, text.split()), default=0)
