"""Bounds: between which numbers all of an array of integers lies, where it is made so.

What compares them with a number beyond is true: an order of a row, or the place of its maximum,
needs no check before it is used as an index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.arrays.common import axis_of
from wengert.compile.program.operations import astype, full, take, view
from wengert.compile.program.passes.rewrite import Rewrite, Rules, rewrite
from wengert.compile.program.program import Program, Statement, Value
from wengert.dispatch import Function

RULES = Rules()
Bounds = tuple[int, int] | None
"""The lowest and the highest number that there may be."""

DEPTH = 20
"""So many statements back it is looked."""


def bounds(program: Program) -> Program:
    """Drop comparisons that are true for sure; the program is changed in place."""
    return rewrite(program, RULES)


@RULES.on(np.greater_equal)
def from_low_on(p: Rewrite, s: Statement) -> Any:
    """x >= c is true if the least x is"""
    x, c = s.args
    within = _of(p, x) if type(c) is int else None
    return True if within and within[0] >= c else None


@RULES.on(np.less)
def below_high(p: Rewrite, s: Statement) -> Any:
    """x < c is true if the largest x is"""
    x, c = s.args
    within = _of(p, x) if type(c) is int else None
    return True if within and within[1] < c else None


def _of(p: Rewrite, x: Any, depth: int = DEPTH) -> Bounds:
    if type(x) is int:
        return x, x
    if type(x) is not Value or x.dtype.kind not in "biu" or not x.size or not depth:
        return None
    if x.dtype.kind == "b":
        return 0, 1
    array = p.program.constants.get(x)
    if array is not None:
        return int(array.min()), int(array.max())
    s = p.made.get(x)
    meaning = _MEANINGS.get(_named(s.function)) if s else None
    if s is None or meaning is None:
        return None
    within, limits = meaning(s, lambda y: _of(p, y, depth - 1)), np.iinfo(x.dtype)
    # What does not fit would be another number.
    return within if within and limits.min <= within[0] and within[1] <= limits.max else None


def _named(function: Function) -> Any:
    """A function; of a method of a ufunc, the ufunc and its name."""
    ufunc = getattr(function, "__self__", None)
    return (ufunc, function.__name__) if isinstance(ufunc, np.ufunc) else function


Of = Callable[[Any], Bounds]


def _same(s: Statement, of: Of) -> Bounds:
    return of(s.args[0])


def _number(s: Statement, of: Of) -> Bounds:
    k = s.args[1]
    return (k, k) if type(k) is int else None


def _place(s: Statement, of: Of) -> Bounds:
    x = s.args[0]
    axis = s.kwargs.get("axis", s.args[1] if len(s.args) > 1 else -1)
    n = x.size if axis is None else x.shape[axis_of(axis, len(x.shape))]
    return 0, n - 1


def _either(s: Statement, of: Of) -> Bounds:
    a, b = (of(x) for x in s.args[-2:])
    return (min(a[0], b[0]), max(a[1], b[1])) if a and b else None


def _sum(s: Statement, of: Of) -> Bounds:
    a, b = (of(x) for x in s.args)
    return (a[0] + b[0], a[1] + b[1]) if a and b else None


def _difference(s: Statement, of: Of) -> Bounds:
    a, b = (of(x) for x in s.args)
    return (a[0] - b[1], a[1] - b[0]) if a and b else None


def _quotient(s: Statement, of: Of) -> Bounds:
    a, b = of(s.args[0]), s.args[1]
    return (a[0] // b, a[1] // b) if a and type(b) is int and b > 0 else None


def _remainder(s: Statement, of: Of) -> Bounds:
    b = s.args[1]
    return (0, b - 1) if type(b) is int and b > 0 else None


def _total(s: Statement, of: Of) -> Bounds:
    x = s.args[0]
    within, n = of(x), x.size // max(s.output.size, 1)
    return (n * within[0], n * within[1]) if within else None


_MEANINGS: dict[Any, Callable[[Statement, Of], Bounds]] = {
    **dict.fromkeys([np.reshape, np.transpose, np.broadcast_to, view, take, astype], _same),
    **dict.fromkeys([(np.maximum, "accumulate"), (np.minimum, "accumulate")], _same),
    **dict.fromkeys([np.argsort, np.argmax, np.argmin], _place),
    **dict.fromkeys([np.where, np.maximum, np.minimum], _either),
    np.arange: lambda s, of: (0, s.output.size - 1) if len(s.args) == 1 else None,
    np.add: _sum,
    np.subtract: _difference,
    np.floor_divide: _quotient,
    np.remainder: _remainder,
    np.sum: _total,
    full: _number,
}
