"""The results as a table in a Markdown file, between the comments that mark its place."""

from itertools import groupby
from pathlib import Path

from benchmarks.report import COLUMNS, OURS, Report, Row, amount, machine, shown_ratio, versions
from wengert.serialization.files import whole


def replace_table(report: Report, path: Path) -> None:
    """Write the table to its place in the file, and leave all else as it is."""
    start, end, before, after = place(path, report.benchmark)
    with whole(path) as part:
        part.write_text(f"{before}{start}\n{table(report)}{end}{after}", encoding="utf-8")


def place(path: Path, benchmark: str) -> tuple[str, str, str, str]:
    """The comments around the table of a benchmark, and what stands before and after them."""
    start, end = f"<!-- benchmark {benchmark} -->", f"<!-- /benchmark {benchmark} -->"
    before, found, rest = path.read_text(encoding="utf-8").partition(start)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{path} marks no place for the table: write {start} and {end} there")
    return start, end, before, after


def table(report: Report) -> str:
    columns = [c for c in COLUMNS if any(row.ratio(c) for row in report.rows)]
    lines = [
        "| | " + " | ".join([OURS, *[f"÷ {c}" for c in columns]]) + " |",
        "|---|" + "---:|" * (len(columns) + 1),
    ]
    for section, rows in groupby(report.rows, key=lambda row: row.section):
        lines.append(f"| **{section}** |" + " |" * (len(columns) + 1))
        lines += [_line(row, columns) for row in rows]
    about = machine() | versions([peer for peer in report.peers if peer != OURS])
    lines += ["", ", ".join(f"{key}: {value}" for key, value in about.items()) + "."]
    return "\n".join(lines) + "\n"


def _line(row: Row, columns: list[str]) -> str:
    ours = row.medians.get(OURS)
    cells = [row.name, "" if ours is None else amount(ours, row.unit)]
    cells += [shown_ratio(row, column) for column in columns]
    return "| " + " | ".join(cells) + " |"
