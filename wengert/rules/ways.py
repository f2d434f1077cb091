"""Implementations: a function by its shortest formula, and the faster ways that arrays allow.

@implemented
def softmax(x, axis): ...  # what it is, on every kind of array

@way(softmax, in_order)
def _by_rows(x, axis): ...  # how it is computed where in_order(x, axis)

NumPy's functions have ways as well: they are for plain arrays, and recorders take them. Asking
takes a tenth of a microsecond if a formula has one to three arguments, else thrice that: what of
those runs on every small array of a training step has no ways.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType
from typing import Any

import numpy as np

from wengert.dispatch import Function

WAYS: dict[Function, list[tuple[Function, Function]]] = {}
"""By formula: conditions, and what computes the formula where they hold."""
QUICK: dict[Function, Function] = {}
"""What computes functions of NumPy's of plain arrays, in place of them."""


class _Into(dict[Function, Any]):
    """By a function of one array: what computes it into an array of floats, `out=`; None where
    nothing does. NumPy's own do where they compute it anyway.
    """

    def __missing__(self, function: Function) -> Any:
        own = isinstance(function, np.ufunc) and function not in QUICK
        self[function] = result = function if own else None
        return result


INTO = _Into()


def implemented(formula: Function) -> Function:
    """A function that is computed by the first of its ways whose condition holds, or as written.

    >>> @implemented
    ... def norm(x):
    ...     return sum(v * v for v in x) ** 0.5
    >>> @way(norm, lambda x: len(x) == 1)
    ... def norm_of_one(x):
    ...     return abs(x[0])
    >>> norm([3, 4]), norm([-3])
    (5.0, 3)
    """
    ways = WAYS[formula] = []

    def choose(*args: Any, **kwargs: Any) -> Any:
        for holds, computed in ways:
            if holds(*args, **kwargs):
                return computed(*args, **kwargs)
        return formula(*args, **kwargs)

    def choose_by_one(x: Any) -> Any:
        for holds, computed in ways:
            if holds(x):
                return computed(x)
        return formula(x)

    def choose_by_two(a: Any, b: Any) -> Any:
        for holds, computed in ways:
            if holds(a, b):
                return computed(a, b)
        return formula(a, b)

    def choose_by_three(a: Any, b: Any, c: Any) -> Any:
        for holds, computed in ways:
            if holds(a, b, c):
                return computed(a, b, c)
        return formula(a, b, c)

    by_count: dict[int, Any] = {1: choose_by_one, 2: choose_by_two, 3: choose_by_three}
    chosen: Any = functools.update_wrapper(by_count.get(_positional(formula), choose), formula)
    chosen.formula = formula
    return chosen


def _positional(formula: Any) -> int:
    """How many arguments a formula takes, if it takes no fewer and no more."""
    if type(formula) is not FunctionType or formula.__defaults__:
        return 0
    code = formula.__code__
    loose = code.co_kwonlyargcount or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
    return 0 if loose else code.co_argcount


def quick(function: Function) -> Function:
    """A function of NumPy's, computed of plain arrays by the first of its ways that holds."""
    return QUICK.get(function) or QUICK.setdefault(function, implemented(function))


def way(function: Function, condition: Function) -> Callable[[Function], Function]:
    """A decorator: this is how a function is computed where a condition holds: one that is
    `implemented`, or of plain arrays one of NumPy's.

    Conditions are asked in the order of the text, of the arguments of the call. What is computed is
    what the formula gives, up to rounding.
    """
    formula = getattr(function, "formula", None) or quick(function).formula  # type: ignore[attr-defined]

    def note(computed: Function) -> Function:
        WAYS[formula].append((condition, computed))
        return computed

    return note
