"""Examples of functions whose docstrings have none, run for the reference: `examples/*.txt`.

    wg.logaddexp(wg.tensor([0.0]), wg.tensor([0.0]))

    # wg.full_like
    x = wg.ones(2)
    wg.full_like(x, 7.0)

Lines that follow one another are an example each, of the first function that they name. Those below
a comment are one example together, of what it names. What comes out is never written down: it is
computed when the reference is made. An example of `abs` is one of `absolute`, which is the same,
and of `abs_` too, which differs in its last letter.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from docs.generate.signatures import running
from wengert.autograd.record import MOVED
from wengert.pytorch import overrides

FOLDER = Path(__file__).parent / "examples"
NAMES: dict[str, Any] = {
    "wg": wg, "np": np, "nn": wg.nn, "F": wg.nn.functional, "dist": wg.distributed,
}  # fmt: skip
"""What the examples take for granted."""


@dataclass(frozen=True)
class Example:
    """Python to type, the name in it of what it is an example of, and where that name is found."""

    code: str
    name: str
    home: Any

    def of(self, name: str) -> Example:
        """The same with another name, if that is found there too.

        >>> Example("wg.abs(wg.abs_)", "abs", wg).of("absolute").code
        'wg.absolute(wg.abs_)'
        """
        if not hasattr(self.home, name):
            return self
        return Example(re.sub(rf"\.{self.name}\b", f".{name}", self.code), name, self.home)

    def session(self) -> str:
        """What is typed and what is answered, as a session.

        >>> Example("x = wg.ones(2)\\nx + 1", "ones", wg).session().splitlines()
        ['>>> x = wg.ones(2)', '>>> x + 1', 'tensor([2., 2.])']
        """
        wg.manual_seed(0)
        names = {**NAMES, "__name__": "__example__"}
        asking = bool(MOVED)
        lines = self.code.splitlines()
        shown = []
        for statement in ast.parse(self.code).body:
            first, *more = lines[statement.lineno - 1 : statement.end_lineno]
            shown += [f">>> {first}", *(f"... {line}".rstrip() for line in more)]
            shown += _answer(statement, names).splitlines()
        if not asking:  # signatures are read after this, of functions as they are written
            overrides.restore()
        return "\n".join(shown)


def _answer(statement: ast.stmt, names: dict[str, Any]) -> str:
    code = compile(ast.Interactive([statement]), "<example>", "single")
    before, sys.displayhook = sys.displayhook, _display
    try:
        with contextlib.redirect_stdout(io.StringIO()) as said, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of PyTorch's deprecated names
            exec(code, names)  # noqa: S102
    finally:
        sys.displayhook = before
    return said.getvalue()


def _display(value: Any) -> None:
    if value is not None:
        print(repr(value))


def parts(text: str) -> Iterator[tuple[str, str]]:
    """The code of each example of a file, and the text whose first name it is an example of.

    >>> list(parts("abs(1)\\nabs(2)\\n\\n# abs\\nx = 1\\nabs(x)\\n"))
    [('abs(1)', 'abs(1)'), ('abs(2)', 'abs(2)'), ('x = 1\\nabs(x)', 'abs')]
    """
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.startswith("# "):
            title, _, code = block.partition("\n")
            yield code, title.removeprefix("# ")
        else:
            lines = block.splitlines()
            for s in ast.parse(block).body:
                code = "\n".join(lines[s.lineno - 1 : s.end_lineno])
                yield code, code


def subject(text: str) -> tuple[str, Any]:
    """The name of the first function or class that Python names, and where that is found.

    >>> subject("[x.shape for x in wg.split(wg.ones(4), 2)]")
    ('split', <module 'wengert' from ...>)
    """
    chains = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)]
    for node in sorted(
        chains, key=lambda node: (node.lineno, node.col_offset, node.end_col_offset)
    ):
        path = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            path.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in NAMES:
            home = running(".".join([NAMES[inner.id].__name__, *reversed(path[1:])]))
            if callable(getattr(home, node.attr, None)):
                return node.attr, home
    raise ValueError(f"an example of nothing: {text}")


@functools.cache
def examples() -> dict[Any, Example]:
    """Each function or class with its example."""
    found: dict[Any, Example] = {}
    for file in sorted(FOLDER.glob("*.txt")):
        for code, text in parts(file.read_text(encoding="utf-8")):
            name, home = subject(text)
            item = getattr(home, name)
            if item in found:
                raise ValueError(f"{file.name}: {name} has two examples")
            found[item] = Example(code, name, home)
    return found


def example(path: str) -> Example | None:
    """The example of what a dotted path names: its own, or that of what it is in place."""
    name = path.rpartition(".")[2]
    for place in (path, path.removesuffix("_")):
        item = running(place)
        if item is not None and (own := examples().get(item)):
            return own.of(name)
    return None
