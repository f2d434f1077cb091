"""Bounds: between which numbers all of an array of integers lies, by its dtype or how it is made.

A comparison with what lies beyond is decided: an order of a row, or the place of its maximum, needs
no check before it is used as an index, and no int8 is 300.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.arrays.common import axis_of
from wengert.compile.program import intervals
from wengert.compile.program.operations import LAYOUTS, anew, astype, full, take
from wengert.compile.program.passes.rewrite import Rewrite, Rules
from wengert.compile.program.program import Statement, Value
from wengert.dispatch import Function

RULES = Rules()
Bounds = intervals.Bounds | None

DEPTH = 20
"""So many statements back it is looked."""


@RULES.on(*intervals.ALWAYS)
def decided(p: Rewrite, s: Statement) -> Any:
    """a < b is true if the largest a is below the least b, false if the least a is not below the
    largest b
    """
    return intervals.compared(s.function, [_of(p, x) for x in s.args])


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
    limits = intervals.range_of(x.dtype)
    s = p.made.get(x)
    meaning = _MEANINGS.get(_named(s.function)) if s and depth else None
    within = meaning(s, lambda y: _looked_at(p, y, depth - 1, known)) if s and meaning else None
    # What does not fit would be another number.
    return within if within and intervals.fits(within, x.dtype) else limits


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


def _computed(s: Statement, of: Of) -> Bounds:
    """As Python computes, but for a division by 0, of which NumPy makes 0."""
    within = [known for x in s.args if (known := of(x)) is not None]
    divides = s.function in (np.floor_divide, np.remainder)
    if len(within) < len(s.args) or (divides and within[1][0] <= 0 <= within[1][1]):
        return None
    return intervals.RULES[s.function](*within)


def _total(s: Statement, of: Of) -> Bounds:
    x = s.args[0]
    within, n = of(x), x.size // max(s.output.size, 1)
    return (n * within[0], n * within[1]) if within else None


_MEANINGS: dict[Any, Callable[[Statement, Of], Bounds]] = {
    **dict.fromkeys((*LAYOUTS, take, anew, astype), _same),
    **dict.fromkeys([(np.maximum, "accumulate"), (np.minimum, "accumulate")], _same),
    **dict.fromkeys([np.argsort, np.argmax, np.argmin], _place),
    **dict.fromkeys(intervals.RULES, _computed),
    np.where: _either,
    np.arange: lambda s, of: (0, s.output.size - 1) if len(s.args) == 1 else None,
    np.sum: _total,
    full: _number,
}
