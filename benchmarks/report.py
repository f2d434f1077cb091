"""What comes out: a table of ratios with the targets beside them, and the same as JSON."""

import contextlib
import json
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.peers import PACKAGES, THREAD_VARIABLES, version
from benchmarks.timing import Target
from wengert.history.files import whole

OURS = "wengert"

# Some things can be done in several ways, each timed under its own name; a ratio is to the fastest.
# PyTorch's optimizers have several implementations, of which the fused one has a column of its own.
VARIANTS = {
    "PyTorch": ("PyTorch", "PyTorch foreach", "PyTorch sdpa", "PyTorch jacrev"),
    "matmuls": ("matmuls", "matmuls transposed"),
    "memory": ("memory", "memory in C", "memory past caches"),
}
COLUMNS = (
    "mpi4py",
    "PyTorch",
    "PyTorch fused",
    "autograd",
    "JAX",
    "NumPy",
    "C",
    "matmuls",
    "memory",
)
COLUMNS += (
    "plain",
    "gradient",
    "loop",
    "eager",
    "rest",
    "flat",
    "unguarded",
    "objective",
    "limit",
    "alone",
    "apart",
    "work",
)  # wengert itself, doing less or otherwise


@dataclass
class Row:
    """One case with its results, in seconds or bytes.

    `size` is what its cost should be in proportion to, where that is a number: plots go along it.
    What `leads` is in the short table as well.
    """

    section: str
    name: str
    unit: str
    medians: dict[str, float]
    samples: dict[str, list]
    targets: tuple[Target, ...]
    repetitions: dict[str, int] = field(default_factory=dict)
    size: float | None = None
    leads: bool = False
    limit: str = ""
    """What keeps it from being quicker, where something else does."""

    def best(self, peer: str) -> tuple[str, float] | None:
        """The fastest variant of a peer and its median, or None where it took no part."""
        entered = [v for v in VARIANTS.get(peer, (peer,)) if v in self.medians]
        return min(((v, self.medians[v]) for v in entered), key=lambda pair: pair[1], default=None)

    def ratio(self, peer: str) -> float | None:
        """wengert's median over the peer's: below 1, wengert is faster or smaller."""
        ours, theirs = self.medians.get(OURS), self.best(peer)
        return ours / theirs[1] if ours is not None and theirs is not None else None


@dataclass
class Report:
    """All results of one run."""

    benchmark: str
    peers: list[str]
    missing: dict[str, str]
    quick: bool
    legend: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """By its title, why a line is not there."""

    @contextlib.contextmanager
    def attempt(self, title: str) -> Iterator[None]:
        """In which one line is measured: one that fails costs none of the others."""
        try:
            yield
        except Exception as error:
            told = getattr(error, "stderr", None) or str(error)
            self.failed[title] = f"{type(error).__name__}: {told.strip()}"
            print(f"failed: {title}: {self.failed[title]}", flush=True)

    def _repr_html_(self) -> str:
        """The tables and the drawing, as notebooks show them."""
        from benchmarks import markdown, plot  # which lean on this module

        return markdown.as_html(markdown.table(self)) + plot.as_html(plot.drawing(self))

    def judged(self):
        """Every target whose two sides took part: `(row, target, ratio)`."""
        return [
            (row, target, ratio)
            for row in self.rows
            for target in row.targets
            if (ratio := row.ratio(target.peer)) is not None
        ]


def machine() -> dict[str, object]:
    """What the numbers depend on, and nothing that names the machine."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads used": int(os.environ[THREAD_VARIABLES[0]]),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    }


def versions(peers) -> dict[str, str]:
    found = {name: version(name) for name in PACKAGES if name in peers}
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return found | {"NumPy's BLAS": f"{blas['name']} {blas['version']}"}


def show(report: Report) -> None:
    """Print the tables: wengert's median, and beside each peer's the ratio of wengert's to it."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=150)  # a file or a pipe has no width of its own to fit
    absent = "not available" if OURS in report.missing else "-"
    for section, rows in groupby(report.rows, key=lambda row: row.section):
        table = Table(title=section, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
        table.add_column()
        table.add_column(OURS, justify="right")
        rows = list(rows)
        columns = [c for c in COLUMNS if any(row.best(c) for row in rows)]
        for column in columns:
            table.add_column(f"/ {column}", justify="right")
        table.add_column("target")
        for row in rows:
            ours = row.medians.get(OURS)
            table.add_row(
                row.name,
                absent if ours is None else _unbroken(ours, row.unit),
                *[_cell(row, column) for column in columns],
                "\n".join([*(_verdict(row, target) for target in row.targets), row.limit]).strip(),
            )
        console.print(table)

    judged = report.judged()
    met = sum(ratio <= target.at_most for _, target, ratio in judged)
    about = machine() | versions(report.peers)
    console.print(", ".join(f"{key}: {value}" for key, value in about.items()), highlight=False)
    console.print(
        "Each cell: wengert's median divided by the peer's, and the peer's median. "
        + report.legend,
        highlight=False,
    )
    console.print(f"Targets met: {met} of {len(judged)}.", style="bold")
    for name, reason in report.missing.items():
        console.print(f"Left out: {name} ({reason}).", style="yellow", highlight=False)
    for title, reason in report.failed.items():
        console.print(f"Failed: {title} ({reason})", style="red", highlight=False, markup=False)
    for note in report.notes:
        console.print(note, style="yellow")
    if report.quick:
        console.print("A quick run: rough numbers, not for quoting.", style="yellow")


def write_json(report: Report, path: Path) -> None:
    """Write all results."""
    document = {
        "benchmark": report.benchmark,
        "quick": report.quick,
        "machine": machine(),
        "versions": versions(report.peers),
        "left_out": report.missing,
        "notes": report.notes,
        "failed": report.failed,
        "rows": [
            {
                "section": row.section,
                "name": row.name,
                "unit": row.unit,
                "size": row.size,
                "limit": row.limit,
                "medians": row.medians,
                "ratios": {peer: row.ratio(peer) for peer in COLUMNS if row.ratio(peer)},
                "targets": [
                    {
                        "peer": target.peer,
                        "at_most": target.at_most,
                        "ratio": (ratio := row.ratio(target.peer)),
                        "met": None if ratio is None else ratio <= target.at_most,
                    }
                    for target in row.targets
                ],
                "repetitions": row.repetitions,
                "samples": row.samples,
            }
            for row in report.rows
        ],
    }
    with whole(path) as part:
        part.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n")


def amount(value: float, unit: str) -> str:
    """A number with a unit that suits it.

    >>> amount(93e-9, "s"), amount(3.2e-6, "s"), amount(0.123, "s"), amount(70 * 2**20, "B")
    ('93.0 ns', '3.20 µs', '123 ms', '70.0 MiB')
    """
    if unit == "B":
        return f"{value / 2**20:.1f} MiB"
    units = (("s", 1), ("ms", 1e-3), ("µs", 1e-6), ("ns", 0))
    unit, size = next((u, s) for u, s in units if value >= s)
    return f"{value / (size or 1e-9):#.3g}".rstrip(".") + f" {unit}"


def _cell(row: Row, peer: str) -> str:
    best = row.best(peer)
    if best is None:
        return ""
    variant, median = best
    mark = "*" if variant != peer else ""
    return f"{shown_ratio(row, peer) or '-'} ({_unbroken(median, row.unit)}{mark})"


def shown_ratio(row: Row, peer: str) -> str:
    """wengert's median in terms of the peer's, to two digits at least; empty without both."""
    ratio = row.ratio(peer)
    return "" if ratio is None else f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def _unbroken(value: float, unit: str) -> str:
    """An amount that a narrow terminal cannot break in two."""
    return amount(value, unit).replace(" ", "\N{NO-BREAK SPACE}")


def _verdict(row: Row, target: Target) -> str:
    text = f"≤ {target.at_most:g} {target.peer}"
    ratio = row.ratio(target.peer)
    if ratio is None:
        return text
    return f"[green]{text}: met[/]" if ratio <= target.at_most else f"[red]{text}: not met[/]"


def _processor() -> str:
    """The processor's model; `platform.processor()` is often empty on Linux."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
