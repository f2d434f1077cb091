"""Bounds: between which numbers all of an array of integers lies, by its dtype or how it is made.

A comparison with what lies beyond is decided: an order of a row, or the place of its maximum, needs
no check before it is used as an index, and no int8 is 300.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.arrays.common import axis_of
from wengert.compile.program.operations import anew, astype, full, take, view
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


@RULES.on(np.less, np.less_equal)
def ordered(p: Rewrite, s: Statement) -> Any:
    """a < b is true if the largest a is below the least b, false if the least a is not below the
    largest b
    """
    return _decided(p, s.function, *s.args)


@RULES.on(np.greater, np.greater_equal)
def turned(p: Rewrite, s: Statement) -> Any:
    """a > b is b < a"""
    a, b = s.args
    return _decided(p, np.less if s.function is np.greater else np.less_equal, b, a)


@RULES.on(np.equal, np.not_equal)
def apart(p: Rewrite, s: Statement) -> Any:
    """a == b is false if all a are below all b, or above"""
    a, b = s.args
    beyond = _decided(p, np.less, a, b) or _decided(p, np.less, b, a)
    return s.function is np.not_equal if beyond else None


def _decided(p: Rewrite, function: Function, a: Any, b: Any) -> bool | None:
    low, high = _of(p, a), _of(p, b)
    if not low or not high:
        return None
    below = operator.lt if function is np.less else operator.le
    always, ever = below(low[1], high[0]), below(low[0], high[1])
    return always if always == ever else None


def _of(p: Rewrite, x: Any) -> Bounds:
    return _looked_at(p, x, DEPTH, {})


def _looked_at(p: Rewrite, x: Any, depth: int, known: dict[Any, Bounds]) -> Bounds:
    """What is read twice is looked at once: it is `known`."""
    if type(x) is int:
        return x, x
    if type(x) is Value and x.bounds is not None:
        return x.bounds
    if type(x) is not Value or x.weak or x.dtype.kind not in "biu" or not x.size:
        return None
    if (x, depth) not in known:
        known[x, depth] = _made(p, x, depth, known)
    return known[x, depth]


def _made(p: Rewrite, x: Value, depth: int, known: dict[Any, Bounds]) -> Bounds:
    if x.dtype.kind == "b":
        return 0, 1
    array = p.program.constants.get(x)
    if array is not None:
        return int(array.min()), int(array.max())
    limits = int(np.iinfo(x.dtype).min), int(np.iinfo(x.dtype).max)
    s = p.made.get(x)
    meaning = _MEANINGS.get(_named(s.function)) if s and depth else None
    within = meaning(s, lambda y: _looked_at(p, y, depth - 1, known)) if s and meaning else None
    # What does not fit would be another number.
    return within if within and limits[0] <= within[0] and within[1] <= limits[1] else limits


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
    n = x.shape[axis_of(axis, len(x.shape))] if x.shape and axis is not None else x.size
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
    **dict.fromkeys([np.reshape, np.transpose, np.broadcast_to, view, take, anew, astype], _same),
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
