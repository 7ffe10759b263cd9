"""Tables of text, for documents and terminals."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table as RichTable

NOTHING = "-"
"""Where there is no value."""


@dataclass(frozen=True)
class Table:
    """Cells of text.

    Attributes:
        title: what is shown.
        headings: of the columns.
        rows: one text per column.
        note: a line below.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        """Without title and note."""
        lines = (self.headings, ("---",) * len(self.headings), *self.rows)
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def rich(self) -> "RichTable":
        """For a terminal."""
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(*self.headings, title=self.title, caption=self.note)
        for row in self.rows:
            table.add_row(*map(Text, row))  # as it stands: no markup
        return table
