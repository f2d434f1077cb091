"""Writes docs/rules.md, the table of rules: python -m docs.generate.rules

The rules are shown as they are written: each lambda is found in the source that defined it. A test
fails when the page is out of date.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from examples import kinks
from wengert.dispatch import signature
from wengert.rules.rule import RULES, Rule

ROOT = Path(wg.__file__).parent
PAGE = Path(__file__).parents[1] / "rules.md"

HEAD = """\
# The rules

This page is written by `python -m docs.generate.rules` from the table of rules itself.

## Where there is no derivative

Programs meet kinks, jumps and the edges of domains, and something has to be the gradient there. The
first of these conventions that applies is followed:

1. differentiable at the point: the derivative
2. convex there: the subgradient of least norm
3. concave there: the supergradient of least norm
4. defined: by continuity, infinity included; if several values are possible, one of them
5. not defined: arbitrary, mostly NaN
6. not a function, since it samples: not differentiable, and an error if one tries

Gradients as they are computed (`examples/kinks.py` checks them):

| convention | function | at | gradient | |
|---|---|---|---|---|
"""

TABLE = """
## The table

A rule is a lambda for each argument. Its first parameter is the tangent `t` or the cotangent `g`;
`y` is the result; other names are arguments of the call. *Elementwise* rules serve both directions.
Of *linear* functions the transpose is stated, and forward mode applies the function to the tangent.
*General* rules state both directions. How the lambdas are read is said in [how the engine
works](engine.md).
"""


def page() -> str:
    return HEAD + "".join(map(_kink, kinks.TABLE)) + TABLE + "".join(map(_file, _by_file().items()))


def _kink(row: tuple[Any, ...]) -> str:
    convention, name, function, point, _, remark = row
    x = wg.tensor(point, requires_grad=True)
    with np.errstate(all="ignore"):
        function(x).sum().backward()
    cells = [str(convention), name, _number(point), _number(x.grad.tolist()), remark]
    # A bar would end the cell.
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |\n"


def _number(x: Any) -> str:
    if isinstance(x, list):
        return f"({', '.join(map(_number, x))})"
    return {math.inf: "∞", -math.inf: "-∞"}.get(x, "NaN" if math.isnan(x) else f"{x + 0.0:.6g}")


# ---- rules -------------------------------------------------------------------------------------


def _by_file() -> dict[Path, list[Rule]]:
    """The rules that come with wengert, by the files in which they are written."""
    found: dict[Path, list[Rule]] = {}
    for rule in RULES.values():
        for place in map(_place, (*rule.reverse.values(), rule.function)):
            if place is not None and ROOT / "rules" in place.parents:
                found.setdefault(place, []).append(rule)
                break
    return dict(sorted(found.items(), key=lambda item: (_FIRST.find(item[0].stem) % 1000, item[0])))


_FIRST = "elementwise reductions shapes indexing products"
"""The files that everybody looks for; the others follow (`find` says -1) by name."""


def _place(rule: Callable[..., Any]) -> Path | None:
    code = _code(rule)
    return Path(code.co_filename) if code else None


def _code(rule: Any) -> types.CodeType | None:
    rule = inspect.unwrap(rule)
    while isinstance(rule, functools.partial):
        rule = rule.func
    return getattr(rule, "__code__", None)


def _file(item: tuple[Path, list[Rule]]) -> str:
    path, rules = item
    name = path.relative_to(ROOT.parent).as_posix()
    text = f"\n### {name}\n"
    for family in ("elementwise", "linear", "general"):
        chosen = [rule for rule in rules if rule.family == family]
        if chosen:
            lines = "\n".join(_rule(rule) for rule in chosen)
            text += f"\n*{family.capitalize()}*\n\n```text\n{lines}\n```\n"
    return text


def _rule(rule: Rule) -> str:
    called = f"{_name(rule.function)}({', '.join(rule.arguments)})"
    arriving = "h" if "g" in rule.arguments else "g"
    lines = [f"{argument}: {_formula(f, arriving)}" for argument, f in rule.reverse.items()]
    if rule.family == "general":
        pushed = rule.forward.items()
        lines += [f"{argument}, forward: {_formula(f, 't')}" for argument, f in pushed]
    return called + "\n" + "\n".join(_wrapped(line) for line in lines)


def _wrapped(line: str) -> str:
    indent = " " * 4
    return textwrap.fill(line, 96, initial_indent=indent, subsequent_indent=indent * 2)


def _name(function: Any) -> str:
    module = getattr(function, "__module__", None) or "numpy"
    if isinstance(function, np.ufunc) or module.split(".")[0] == "numpy":
        inner = module.removeprefix("numpy").lstrip(".")
        return f"np.{inner + '.' if inner else ''}{function.__name__}"
    return function.__name__


def _formula(rule: Callable[..., Any], first: str) -> str:
    """The text of a lambda; or a function with its arguments, of which the first is `first`."""
    code = _code(rule)
    if code is None or code.co_name != "<lambda>":
        return f"{_name(rule)}({', '.join((first, *signature(rule)[0][1:]))})"
    places = [p for p in code.co_positions() if p[3]]  # the first instruction has no place
    first = min((line, column) for line, _, column, _ in places)
    last = max((line, column) for _, line, _, column in places)
    around = [
        body
        for body in _lambdas(code.co_filename)
        if (body.lineno, body.col_offset) <= first
        and last <= (body.end_lineno or 0, body.end_col_offset or 0)
    ]
    return ast.unparse(max(around, key=lambda body: (body.lineno, body.col_offset)))


@functools.cache
def _lambdas(path: str) -> list[ast.expr]:
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    return [node.body for node in ast.walk(tree) if isinstance(node, ast.Lambda)]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
