"""`python -m benchmarks all`: each benchmark in a process of its own, into the documentation.

The tables go wherever a page marks a place for them, the results and drawings to `docs/benchmarks`.
"""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.markdown import marked

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "benchmarks"


def pages(root: Path = ROOT) -> list[Path]:
    """Where tables may stand."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def run(names: Iterable[str], options: Sequence[str] = (), data: Path | None = None) -> list[str]:
    """Run the benchmarks of these names; those that failed are returned."""
    FOLDER.mkdir(exist_ok=True)
    return [name for name in names if _failed(name, options, data)]


def words(name: str, options: Sequence[str], data: Path | None) -> list[str]:
    """The command line of one benchmark, after `python -m benchmarks`."""
    results = ["--json", str(FOLDER / f"{name}.json"), "--plot", str(FOLDER / f"{name}.svg")]
    tables = [str(page) for page in pages() if marked(page.read_text(encoding="utf-8"), name)]
    asked = [name, *options, *results, *(["--markdown", *tables] if tables else [])]
    return asked + (["--data", str(data)] if data and name == "gradbench" else [])


def _failed(name: str, options: Sequence[str], data: Path | None) -> bool:
    print(f"benchmark: {name}", flush=True)
    command = [sys.executable, "-m", "benchmarks", *words(name, options, data)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode != 0
