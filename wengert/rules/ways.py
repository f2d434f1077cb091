"""Implementations: a function by its shortest formula, and the faster ways that arrays allow.

@implemented
def softmax(x, axis): ...  # what it is, on every kind of array

@way(softmax, rows.fits)
def _by_products(x, axis): ...  # how it is computed where rows.fits(x, axis)

NumPy's functions have ways as well: they are for plain arrays, and recorders take them. What runs
on every small array of a training step has none, for asking takes a third of a microsecond.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wengert.dispatch import Function

WAYS: dict[Function, list[tuple[Function, Function]]] = {}
"""By formula: conditions, and what computes the formula where they hold."""
QUICK: dict[Function, Function] = {}
"""What computes functions of NumPy's of plain arrays, in place of them."""


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

    @functools.wraps(formula)
    def choose(*args: Any, **kwargs: Any) -> Any:
        for holds, computed in ways:
            if holds(*args, **kwargs):
                return computed(*args, **kwargs)
        return formula(*args, **kwargs)

    choose.formula = formula  # type: ignore[attr-defined]
    return choose


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
