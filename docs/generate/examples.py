"""Examples of functions whose docstrings have none, run for the reference: `examples/*.txt`.

    wg.logaddexp(wg.tensor([0.0]), wg.tensor([0.0]))

    # wg.full_like
    x = wg.ones(2)
    wg.full_like(x, 7.0)

    # methods of wg.Tensor
    wg.ones(2).double()

Lines that follow one another are an example each, of the first function that they name. Those below
a comment are one example together, of all that it names, or are one each, of the last method that
they name. What comes out, errors too, is never written down: it is computed when the reference is
made. An example of `abs` is one of `absolute`, which is the same; `wg.abs(x)` becomes one of
`wg.abs_` and of the method `x.abs_()`.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import functools
import inspect
import io
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
import wengert.numpy
import wengert.scipy
from docs.generate.signatures import running
from wengert.autograd.record import MOVED
from wengert.pytorch import overrides

FOLDER = Path(__file__).parent / "examples"
NAMES: dict[str, Any] = {
    "wg": wg, "np": np, "nn": wg.nn, "F": wg.nn.functional, "dist": wg.distributed,
    "constraints": wg.distributions.constraints, "scipy": wengert.scipy,
}  # fmt: skip
"""What the examples take for granted."""
RAISED = "Traceback (most recent call last):\n    ...\n"
METHODS = "# methods of "


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
    except Exception as error:
        return "".join([RAISED, *traceback.format_exception_only(error)])
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
        if block.startswith(METHODS):
            title, *lines = block.splitlines()
            yield from ((line, f"{title.removeprefix(METHODS)}.{last(line)}") for line in lines)
        elif block.startswith("# "):
            title, _, code = block.partition("\n")
            yield from ((code, name) for name in title.removeprefix("# ").split(", "))
        else:
            lines = block.splitlines()
            for s in ast.parse(block).body:
                code = "\n".join(lines[s.lineno - 1 : s.end_lineno])
                yield code, code


def subject(text: str, whole: bool = False) -> tuple[str, Any]:
    """The name of the first function or class that Python names, and where that is found.

    If the `whole` is a name, that one.

    >>> subject("wg.Tensor.backward", whole=True)[0]
    'backward'
    >>> subject("[x.shape for x in wg.split(wg.ones(4), 2)]")
    ('split', <module 'wengert' from ...>)
    """
    chains = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)]
    chains.sort(key=lambda node: (node.lineno, node.col_offset, node.end_col_offset))
    for node in chains[-1:] if whole else chains:
        path = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            path.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in NAMES:
            home = running(".".join([NAMES[inner.id].__name__, *reversed(path[1:])]))
            if whole or callable(getattr(home, node.attr, None)):
                return node.attr, home
    raise ValueError(f"an example of nothing: {text}")


@functools.cache
def examples() -> dict[Any, Example]:
    """Each function or class with its example."""
    found: dict[Any, Example] = {}
    for file in sorted(FOLDER.glob("*.txt")):
        for code, text in parts(file.read_text(encoding="utf-8")):
            name, home = subject(text, whole=text != code)
            item = getattr(home, name)
            if item in found:
                raise ValueError(f"{file.name}: {name} has two examples")
            found[item] = Example(code, name, home)
    return found


def example(path: str) -> Example | None:
    """The example of what a dotted path names: its own, or that of what it is in place."""
    home, _, name = path.rpartition(".")
    item = running(path)
    if item is not None and (own := examples().get(item)):
        return own.of(name)
    if not name.endswith("_"):
        return None
    if running(home) is wg.Tensor:
        return in_place(name)
    own = examples().get(running(path.removesuffix("_")))
    return own.of(name) if own else None


def in_place(name: str) -> Example | None:
    """The example of a method that writes, from that of its function.

    >>> print(in_place("atan2_").code)
    x = wg.tensor([1.0, 1.0])
    x.atan2_(wg.tensor([1.0, -1.0]))
    """
    function = getattr(wg, name.removesuffix("_"), None)
    own = examples().get(function)
    code = own.code if own else typed(inspect.getdoc(function) or "")
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    for node in calls:
        called = getattr(node.func, "attr", getattr(node.func, "id", None))
        if called in (name.removesuffix("_"), own.name if own else None) and node.args:
            first, *rest = map(ast.unparse, node.args)
            rest += [ast.unparse(keyword) for keyword in node.keywords]
            *before, _ = code.splitlines() if ast.parse(code).body[1:] else [""]
            lines = [*filter(None, before), f"x = {first}", f"x.{name}({', '.join(rest)})"]
            made = Example("\n".join(lines), name, wg.Tensor)
            return None if RAISED in made.session() else made
    return None


def typed(text: str) -> str:
    """What is typed in the sessions of a docstring.

    >>> typed("Add.\\n\\n>>> x = 1\\n>>> x + 1\\n2")
    'x = 1\\nx + 1'
    """
    return "".join(part.source for part in doctest.DocTestParser().get_examples(text)).strip()


def last(code: str) -> str:
    """The method or property that is asked last.

    >>> last("wg.ones(2, 3).T.expand(4, 3, 2)"), last("wg.ones(2).dtype")
    ('expand', 'dtype')
    """
    found: Any = ast.parse(code, mode="eval").body
    return found.func.attr if isinstance(found, ast.Call) else found.attr
