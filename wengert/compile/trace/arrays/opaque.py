"""Functions that are called as one statement: their results' shapes are learned on stand-ins."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from wengert.compile.program.program import Value, mapped
from wengert.compile.trace.arrays.lines import is_users
from wengert.dispatch import signature
from wengert.dtypes import asked

INSTEAD: dict[Any, str] = {
    np.nonzero: "np.where(condition, a, b)",
    np.argwhere: "np.where(condition, a, b)",
    np.flatnonzero: "np.where(condition, a, b)",
    np.unique: "np.sort(x), whose shape is known",
    np.compress: "np.where(condition, a, 0)",
    np.extract: "np.where(condition, a, 0)",
    np.bincount: "np.add.at(zeros, index, 1)",
}
"""What to write where the shape of a result would depend on numbers that are not known."""


def zeros(value: Value) -> Any:
    """A stand-in that a function of unknown behaviour accepts: ones on the diagonal, zeros beside.

    A matrix of zeros would be singular; an index of zeros is in range.
    """
    if len(value.shape) >= 2 and value.dtype.kind in "fc":
        return np.broadcast_to(np.eye(*value.shape[-2:], dtype=value.dtype), value.shape)
    return np.zeros(value.shape, value.dtype)


def counted(value: Value) -> Any:
    """Another stand-in: what has a shape that depends on numbers makes another one of it."""
    return (np.arange(value.size) + 1).reshape(value.shape).astype(value.dtype)


def like(function: Any, args: Any, kwargs: Any, stand_in: Callable[[Value], Any]) -> Any:
    """What a function makes of stand-ins for the values among its arguments."""
    called = getattr(function, "result", None) or function
    with np.errstate(all="ignore"):
        return called(*mapped(args, stand_in), **mapped(kwargs, stand_in))


def results_of(results: Any) -> tuple[Callable[[Sequence[Any]], Any], list[np.ndarray[Any, Any]]]:
    """What makes of arrays the like of some results, and these as arrays."""
    if type(results) is not list and not isinstance(results, tuple):
        return operator.itemgetter(0), [np.asarray(results)]
    kind = type(results)
    return getattr(kind, "_make", kind), [np.asarray(item) for item in results]


def is_shaped_by_numbers(function: Any, args: Any, kwargs: Any, results: Any) -> bool:
    """Whether the shapes of the results of one of NumPy's functions depend on numbers.

    Texts have a length, and say numbers.
    """
    if any(r.dtype.kind in "SU" for r in results_of(results)[1]):
        return True
    if not (getattr(function, "__module__", None) or "").startswith("numpy"):
        return False
    try:
        other = like(function, args, kwargs, counted)
    except Exception:  # they are not what it takes
        return False
    return [r.shape for r in results_of(results)[1]] != [r.shape for r in results_of(other)[1]]


def with_dtype(function: Any, args: Any, kwargs: Any) -> Any:
    """The arguments, among them the dtype that one of NumPy's functions is given; or its error, if
    that is one of Python's numbers: what stands for it while tracing has a dtype.
    """
    if not (getattr(function, "__module__", None) or "").startswith("numpy"):
        return args, kwargs
    if kwargs.get("dtype") is not None:
        return args, kwargs | {"dtype": asked(kwargs["dtype"])}
    if len(args) < 2 or isinstance(function, np.ufunc):
        return args, kwargs
    places = [n in ("dtype", "type1", "type2") for n in signature(function)[0]]
    given = zip_longest(places[: len(args)], args, fillvalue=False)
    return tuple(x if x is None or not is_dtype else asked(x) for is_dtype, x in given), kwargs


def check_axis(function: Any, args: Any, kwargs: Any) -> None:
    """NumPy's own error, if one of its functions knows no such axis of a number.

    A number as a tensor has an axis 0, as in PyTorch, but not where the call is the user's.
    """
    if isinstance(function, np.ufunc) or getattr(function, "__module__", None) != "numpy":
        return
    if not args or getattr(args[0], "shape", None) != ():
        return
    axis, zero = _axis_of(function, args, kwargs), np.zeros((), args[0].dtype)
    traced = hasattr(axis, "__array_function__")
    if axis is None or traced or (axis in (0, -1) and not is_users()):
        return
    try:
        function(zero)
        takes_one = True
    except Exception:  # it wants more than that
        takes_one = False
    try:
        function(zero, axis=axis)
    except Exception as error:
        if takes_one or isinstance(error, np.exceptions.AxisError):
            raise


def _axis_of(function: Any, args: Any, kwargs: Any) -> Any:
    if "axis" in kwargs or len(args) == 1:
        return kwargs.get("axis")
    names = signature(function)[0]
    place = names.index("axis") if "axis" in names else len(args)
    return args[place] if place < len(args) else None
