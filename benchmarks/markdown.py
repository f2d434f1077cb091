"""The results as a table in a Markdown file, between the comments that mark its place.

`<!-- benchmark NAME -->` marks the place of the table, and of the drawing if there is one;
`<!-- benchmark NAME, in short -->` that of the rows that lead alone.
"""

import html
import os
import re
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from benchmarks.report import COLUMNS, OURS, Report, Row, amount, machine, shown_ratio, versions
from wengert.history.files import whole

SHORT = ", in short"


def replace_table(report: Report, path: Path, plot: Path | None = None) -> None:
    """Write the table to its places in the file, and leave all else as it is."""
    text = check_marked(path, report.benchmark)
    for kind, write in KINDS.items():
        if kind in marked(text, report.benchmark):
            start, end, before, after = _place(text, report.benchmark + kind)
            shown = write(report) + ("" if kind or plot is None else _image(report, path, plot))
            text = f"{before}{start}\n{shown}{end}{after}"
    with whole(path) as part:
        part.write_text(text, encoding="utf-8")


def check_marked(path: Path, benchmark: str) -> str:
    """The text of a file; ValueError unless it marks a place for the benchmark."""
    text = path.read_text(encoding="utf-8")
    if not marked(text, benchmark):
        start, end, *_ = _place(text, benchmark)
        raise ValueError(f"{path} marks no place for the table: write {start} and {end} there")
    return text


def marked(text: str, benchmark: str) -> list[str]:
    """Which kinds of tables of a benchmark have a place in a text.

    >>> marked("<!-- benchmark eager, in short -->old<!-- /benchmark eager, in short -->", "eager")
    [', in short']
    """
    return [kind for kind in KINDS if _place(text, benchmark + kind)[-1] is not None]


def _place(text: str, name: str) -> tuple[str, str, str, str | None]:
    """The comments around a table, what stands before them, and after them: None if they lack."""
    start, end = f"<!-- benchmark {name} -->", f"<!-- /benchmark {name} -->"
    before, found, rest = text.partition(start)
    _, closed, after = rest.partition(end)
    return start, end, before, after if found and closed else None


def table(report: Report) -> str:
    """All rows, by sections."""
    columns = _columns(report.rows)
    lines = _head(columns)
    for section, rows in groupby(report.rows, key=lambda row: row.section):
        lines.append(f"| **{section}** |" + " |" * (len(columns) + 1))
        lines += [_line(row.name, row, columns) for row in rows]
    return "\n".join([*lines, *_below(report)]) + "\n"


def short(report: Report) -> str:
    """The rows that lead, named with their sections."""
    rows = [row for row in report.rows if row.leads]
    columns = _columns(rows)
    lines = [_line(f"{row.section} {row.name}", row, columns) for row in rows]
    return "\n".join([*_head(columns), *lines, *_below(report)]) + "\n"


def as_html(text: str) -> str:
    """A table as HTML, and the text below it.

    >>> as_html("| | a |\\n|---|---:|\\n| **all** | 1 |\\n\\nBelow.")
    '<table><tr><th></th><th>a</th></tr><tr><td><b>all</b></td><td>1</td></tr></table><p>Below.</p>'
    """
    lines, _, below = text.strip().partition("\n\n")
    head, _, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines.split("\n")
    )
    bold = lambda cell: re.sub(r"^\*\*(.*)\*\*$", r"<b>\1</b>", html.escape(cell))
    parts = ["".join(f"<th>{html.escape(cell)}</th>" for cell in head)]
    parts += ["".join(f"<td>{bold(cell)}</td>" for cell in row) for row in rows]
    body = "".join(f"<tr>{part}</tr>" for part in parts)
    return f"<table>{body}</table><p>{html.escape(below)}</p>"


KINDS: dict[str, Callable[[Report], str]] = {"": table, SHORT: short}


LIMIT = "limited by"
"""The column of what keeps rows from being quicker, where a report tells."""


def _columns(rows: list[Row]) -> list[str]:
    found = [column for column in COLUMNS if any(row.ratio(column) for row in rows)]
    return found + [LIMIT] * any(row.limit for row in rows)


def _head(columns: list[str]) -> list[str]:
    names = [OURS, *[f"÷ {column}" if column in COLUMNS else column for column in columns]]
    return ["| | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]


def _below(report: Report) -> list[str]:
    """What stands below a table."""
    return [line for text in (*report.notes, _about(report)) for line in ("", text)]


def _about(report: Report) -> str:
    about = machine() | versions([peer for peer in report.peers if peer != OURS])
    return ", ".join(f"{key}: {value}" for key, value in about.items()) + "."


def _image(report: Report, page: Path, plot: Path) -> str:
    place = Path(os.path.relpath(plot, page.parent)).as_posix()
    return f"\n![Cost against size, on logarithmic axes]({place})\n"


def _line(name: str, row: Row, columns: list[str]) -> str:
    ours = row.medians.get(OURS)
    cells = [name, "" if ours is None else amount(ours, row.unit)]
    cells += [shown_ratio(row, c) if c in COLUMNS else row.limit for c in columns]
    return "| " + " | ".join(cells) + " |"
