"""Python's `math` of traced numbers: NumPy's functions, with the errors of Python's."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from wengert.compile.trace.arrays.numbers import number_of
from wengert.dispatch import Function, require

_ALIKE = (
    "sqrt cbrt exp exp2 expm1 log log1p log2 log10 sin cos tan sinh cosh tanh asin acos atan atan2 "
    "asinh acosh atanh hypot pow fabs copysign fmod degrees radians isnan isinf isfinite"
)
TWINS: dict[Function, Any] = {
    getattr(math, name): getattr(np, name) for name in _ALIKE.split() if hasattr(math, name)
}
"""Functions of `math`, all of whose arguments are real numbers, and NumPy's that compute the same.

NumPy's give NaN or inf where Python's raise; which error that is, Python's are asked.
"""
_ASKED = (0.0, -1.0, -2.0, 0.5, 400.0, 1.7e308, math.inf)


def is_of_reals(callee: Any, count: int) -> bool:
    """Whether this is one of these functions, called with so many numbers."""
    twin = next((twin for function, twin in TWINS.items() if function is callee), None)
    return twin is not None and (count == twin.nin or (callee is math.log and count == 2))


def of_reals(function: Function, *args: Any) -> Any:
    """What a function of `math` makes of floats, some of which are traced."""
    if function is math.log and len(args) == 2:
        return of_reals(math.log, args[0]) / of_reals(math.log, args[1])
    number = TWINS[function](*args)
    kind = bool if number.dtype == bool else float
    if kind is float:
        _check(function, args, number)
    return number_of(number, kind)


def _check(function: Function, args: tuple[Any, ...], number: Any) -> None:
    """Python's errors: for NaN of what is none, and for inf of what is finite."""
    domain, pole, overflow = _errors(function, len(args))
    if domain is not None:
        known = functools.reduce(np.logical_or, map(np.isnan, args))
        require(~np.isnan(number) | known, type(domain), str(domain))
    beyond = overflow or pole
    if beyond is None:
        return
    fits = ~np.isinf(number) | ~functools.reduce(np.logical_and, map(np.isfinite, args))
    if pole is not None and overflow is not None:  # those of `pow` are at 0
        require(fits | (args[0] != 0), type(pole), str(pole))
    require(fits, type(beyond), str(beyond))


@functools.cache
def _errors(function: Function, count: int) -> list[Exception | None]:
    """What the function raises where there is no number, at a pole, and beyond all numbers."""
    errors: list[Exception | None] = [None, None, None]
    for args in itertools.product(_ASKED, repeat=count):
        try:
            function(*args)
        except (ValueError, OverflowError) as error:
            with np.errstate(all="ignore"):
                there = bool(np.isnan(TWINS[function](*args)))
            place = 0 if there else 2 if isinstance(error, OverflowError) else 1
            errors[place] = errors[place] or type(error)(str(error).partition(", got")[0])
    return errors
