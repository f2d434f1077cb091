"""What a trace refuses, and in which words; and what Python says of numbers that it refuses."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from wengert.errors import TracingError
from wengert.history.location import here, line_of


def words(ufunc: Any, *kinds: Any) -> str:
    """What Python says where numbers of these types are divided by zero, or zero by a power."""
    sample = (0, -1) if ufunc is np.power else (1, 0)
    pairs = zip(kinds, sample, strict=True)
    numbers = [kind(n) if isinstance(kind, type) else n for kind, n in pairs]
    try:
        ufunc(*(np.array(n, object) for n in numbers))
    except ZeroDivisionError as error:
        return str(error)
    return "division by zero"


@functools.cache
def too_large() -> tuple[Any, ...]:
    """What Python says of a float that is too large."""
    try:
        return (1e300**2,)
    except OverflowError as error:
        return error.args


def undecided(x: Any, what: str) -> Any:
    raise TracingError(
        f"{what} of a traced value at\n  {line_of(*here())}\n"
        "Its number is not known while the function is compiled, so no branch, conversion or "
        "print can depend on it. Choose between values with wg.where(condition, a, b), between "
        "computations with wg.cond(condition, f, g), and repeat one with "
        "wg.while_loop(condition, body, state); or compute this outside of the compiled "
        "function, and pass a Python number as an argument; or print "
        "what the function returns."
    )


def no_number(x: Any) -> TracingError:
    return TracingError(
        f"a traced array met {type(x).__name__}, which is no array or number, at\n  "
        f"{line_of(*here())}\nConvert it with np.asarray before the compiled function."
    )


def unwritable() -> Any:
    raise TracingError(
        f"a compiled function writes into an array made outside of it, at\n  "
        f"{line_of(*here())}\nReturn the result instead, or make the array inside with "
        "np.zeros_like(x) of an argument; tensors may be written in place."
    )


def lost(x: Any, what: str) -> Any:
    raise TracingError(
        f"{what} of a value that was made while a function was compiled, which ended with an "
        "error: the function never ran, so the value has no number. Do not keep it."
    )


def unplaced(value: Any) -> int:
    raise TracingError("a trace by itself does not know where arrays lie")


def unkept(array: Any, mapping: Any, key: Any) -> Any:
    raise TracingError("a trace by itself keeps no arrays for later calls")


def shape_depends(what: str, instead: str) -> TracingError:
    return TracingError(
        f"{what} at\n  {line_of(*here())}\n"
        "Its shape depends on numbers that are not known while the function is compiled. "
        f"Keep the full shape and choose, as in {instead}."
    )


class Postponed(Exception):
    """Raised while tracing a step that later ones do not repeat: it has to run eagerly."""


def no_numbers(function: Any) -> TracingError:
    """Machine code has memory for numbers: an object that lies there is freed while it is used, and
    what returns None has changed its arguments, which nobody sees.
    """
    return TracingError(
        f"{getattr(function, '__name__', function)} makes no numbers of traced values, at\n"
        f"  {line_of(*here())}\nA compiled function computes numbers, which functions return: what "
        "holds objects, or is changed in place, it does not know. Do that outside of it."
    )


def check_holds(function: Any, result: Any, target: Any) -> None:
    """That an array can be given as `out=`; else NumPy's error."""
    if not isinstance(function, np.ufunc):
        return
    shape, dtype = result.shape, result.dtype
    fits = np.broadcast_shapes(shape, target.shape) == target.shape
    if not fits or not np.can_cast(dtype, target.dtype, "same_kind"):
        like = np.broadcast_to(np.ones((), dtype), shape)
        function(*[like] * function.nin, out=np.ones(target.shape, target.dtype))
