"""Tables for the terminal, drawn by rich."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from wengert.explain.explanation import Explanation

STYLES = ("bold", "", "dim", "green")


class Traces:
    """The three traces of an `Explanation`; the forward ones side by side if there is room."""

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        e = self.explanation
        primal, tangent, adjoint = (
            _table(heading, e._lines(rows))
            for heading, rows in zip(e.headings, e._traces(), strict=True)
        )
        room = sum(Measurement.get(console, options, table).maximum for table in (primal, tangent))
        yield Text.assemble((e.title, "bold"), " at ", e.point)
        yield ""
        if room + 3 <= options.max_width:
            beside = Table.grid(padding=(0, 3, 0, 0))
            beside.add_row(primal, tangent)
            yield beside
        else:
            yield Group(primal, Padding(tangent, (1, 0, 0, 0)))
        yield Padding(adjoint, (1, 0))
        yield Text(e.summary(), style="bold green")


def _table(heading: str, lines: list[list[str]]) -> Any:
    """One trace: columns without lines, and the last column, the value, in colour."""
    table = Table(title=Text(heading, style="bold cyan"), title_justify="left", box=None)
    table.show_header = False
    table.pad_edge = False
    names = max(len(_bare(line[0].split(" = ")[0])) for line in lines)
    last = len(lines[0]) - 1
    for column in range(last + 1):
        table.add_column(style=("" if column == 0 else STYLES[3] if column == last else "dim"))
    for line in lines:
        name, _, formula = line[0].partition(" = ")
        pad = " " * (names - len(_bare(name)))
        first = Text.assemble((name, "bold"), f"{pad} = {formula}")
        table.add_row(first, *map(Text, line[1:]))
    return table


def _bare(text: str) -> str:
    """The text without the dots and bars over letters, which take up no room."""
    return text.replace("\u0307", "").replace("\u0304", "")
