"""The gallery: each program of `examples/` as a page, with what it prints and draws.

    python -m docs.generate.gallery              # runs them all, and writes docs/gallery/
    python -m docs.generate.gallery kinks        # or these

keeps what a program prints, and its pictures. MkDocs calls the function at the end, and so gets
a page for each program: text, code and what was kept. The text is the program's docstring.
"""

from __future__ import annotations

import ast
import html
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
KEPT = ROOT / "docs" / "gallery"
MOST = 900
"""Seconds that a program may take."""


@dataclass(frozen=True)
class Example:
    """A program, and what is kept of a run of it."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def text(self) -> str:
        return ast.get_docstring(self._parsed()) or ""

    @property
    def title(self) -> str:
        """What the docstring's first sentence says it is about.

        >>> Example(EXAMPLES / "lynx_and_hare.py").title
        'A differential equation fitted to real data'
        """
        return self._first()[0].rstrip(".")

    @property
    def about(self) -> str:
        """The rest of the docstring.

        >>> Example(EXAMPLES / "lynx_and_hare.py").about.splitlines()[0]
        "The Hudson Bay Company's lynx and hare pelts."
        """
        _, _, rest = self._first()
        more = self.text.partition("\n")[2].strip()
        rest = rest.strip()
        return f"{rest[:1].upper()}{rest[1:]}\n\n{more}".strip()

    def _first(self) -> tuple[str, str, str]:
        return self.text.splitlines()[0].partition(":")

    @property
    def code(self) -> str:
        """The program without its docstring."""
        docstring = self._parsed().body[0]
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return "\n".join(lines[docstring.end_lineno or 0 :]).strip()

    @property
    def printed(self) -> str:
        return (KEPT / f"{self.name}.txt").read_text(encoding="utf-8")

    @property
    def pictures(self) -> list[Path]:
        return sorted((KEPT / self.name).glob("*.png"))

    @property
    def draws(self) -> bool:
        return '"--out"' in self.code

    def _parsed(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"))


def examples() -> list[Example]:
    return [Example(path) for path in sorted(EXAMPLES.glob("*.py"))]


# ---- pages -------------------------------------------------------------------------------------


def page(example: Example) -> str:
    """A program as Markdown: what it is about, its pictures, what it prints, its code."""
    drawn = (f"![{example.title}]({example.name}/{p.name})" for p in example.pictures)
    parts = [
        "[All programs](index.md)",
        f"# {example.title}",
        example.about,
        *drawn,
        "## What it prints",
        f"``` {{.text .printed}}\n{example.printed.rstrip()}\n```",
        "## The program",
        f"`python examples/{example.path.name}{' --out FOLDER' * example.draws}`",
        f"``` {{.python}}\n{example.code}\n```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def overview() -> str:
    """All programs as cards, those with pictures first."""
    shown = sorted(examples(), key=lambda example: not example.pictures)
    cards = "\n".join(map(_card, shown))
    about = "Each is one file that runs in seconds."
    return f"# Gallery\n\n{about}\n\n<div class=gallery>\n{cards}\n</div>\n"


def _card(example: Example) -> str:
    picture = "".join(
        f'<img src="{example.name}/{path.name}" alt="" loading="lazy">'
        for path in example.pictures[:1]
    )
    words = "" if picture else f"<span>{html.escape(_glimpse(example.printed))}</span>"
    title = html.escape(example.title)
    return f'<a href="{example.name}/">{picture}{words}<b>{title}</b></a>'


def _glimpse(printed: str, lines: int = 9, width: int = 46) -> str:
    """The first lines of what is printed, as far as a card has room."""
    return "\n".join(line[:width] for line in printed.strip().splitlines()[:lines])


# ---- runs --------------------------------------------------------------------------------------


def run(example: Example) -> None:
    """Run a program, and keep what comes of it; nothing is touched if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        pictures = Path(folder)
        done = subprocess.run(
            [sys.executable, example.path, *(["--out", folder] if example.draws else [])],
            capture_output=True, text=True, timeout=MOST, check=False, cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"{example.path.name} failed:\n{done.stderr}")
        for path in example.pictures:
            path.unlink()
        printed = done.stdout.replace(str(pictures), "FOLDER").replace(str(ROOT) + "/", "")
        KEPT.mkdir(exist_ok=True)
        (KEPT / f"{example.name}.txt").write_text(printed, encoding="utf-8")
        for path in sorted(pictures.rglob("*.png")):
            (KEPT / example.name).mkdir(exist_ok=True)
            (KEPT / example.name / path.name).write_bytes(path.read_bytes())


def main(names: list[str]) -> None:
    chosen = [example for example in examples() if not names or example.name in names]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for example, _ in zip(chosen, pool.map(run, chosen), strict=True):
            print(example.name)


# ---- what MkDocs calls -------------------------------------------------------------------------


def made() -> dict[str, str]:
    """The pages that are made while the site is built, and are no files."""
    texts = {"index": overview()} | {example.name: page(example) for example in examples()}
    return {f"gallery/{name}.md": text for name, text in texts.items()}


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for name, text in made().items():
        files.append(File.generated(config, name, content=text))
    return files


if __name__ == "__main__":
    main(sys.argv[1:])
