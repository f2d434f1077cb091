"""What NumPy's functions return: of which classes and dtypes, scalars or arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import dtypes
from wengert.compile.trace.arrays.numbers import number_of
from wengert.compile.trace.arrays.opaque import like, zeros


def is_traced(x: Any) -> bool:
    return hasattr(type(x), "single")


def has_numpys_operators(array: np.ndarray[Any, Any]) -> bool:
    """Whether what comes of an array is what its numbers say: it is NumPy's own, or of a class that
    makes such arrays, as maps of files do.
    """
    kind = type(array)
    if kind is np.ndarray:
        return True
    if any(getattr(kind, name) is not getattr(np.ndarray, name) for name in _OPERATING):
        return False
    try:
        return type(np.equal(array, array)) in (np.ndarray, np.bool)
    except TypeError:  # records
        return False


_OPERATING = "__array_ufunc__", "__array_function__", "__mul__"


def become_wider(operands: Any) -> bool:
    """Whether NumPy makes more than half precision of these: its own numbers have a dtype."""
    kinds = [x.dtype for x in operands if hasattr(x, "dtype") and not getattr(x, "weak", False)]
    try:
        return not dtypes.is_half(np.result_type(*kinds))
    except TypeError:  # NumPy knows nothing wider than bfloat16
        return False


_ARRAYS = frozenset({
    np.reshape, np.broadcast_to, np.where, np.select, np.choose, np.copy, np.tensordot, np.roll,
    np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.piecewise, np.broadcast_arrays,
})  # fmt: skip
"""Functions that return arrays even of no dimensions, where others return scalars."""
_TRUTHS = frozenset({np.array_equal, np.array_equiv, np.allclose})
"""Functions that return a truth value of Python's."""
_VIEWS = frozenset({np.squeeze, np.transpose, np.swapaxes, np.moveaxis, np.real, np.imag})
"""Functions that return of a scalar a scalar, and of an array an array."""


def returned(function: Any, args: Any, result: Any) -> Any:
    """What a function has made, marked as a scalar where NumPy returns one."""
    if function in _TRUTHS and is_traced(result):
        return number_of(result, bool)
    if type(result) is tuple or type(result) is list:
        for item in result:
            returned(function, args, item)
    elif is_traced(result) and not result.shape and not any(result is x for x in args):
        follows = function in _VIEWS and not (is_traced(args[0]) and args[0].scalar)
        result.single = not follows and function not in _ARRAYS
    return result


def is_numpys(function: Any) -> bool:
    """Whether NumPy can be asked what it gives; of matrices that would be as long a computation."""
    return getattr(function, "__module__", None) == "numpy"


def as_numpys(y: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """What a function is composed to, of the classes and dtypes that NumPy's own gives."""
    try:
        given = like(function, args, kwargs, zeros)
    except TypeError:  # of these dtypes
        raise
    except Exception:  # of these numbers, which are not those of a call
        return y
    return _of_classes(y, given)


def _of_classes(y: Any, given: Any) -> Any:
    if isinstance(given, (tuple, list)) and isinstance(y, (tuple, list)) and len(y) == len(given):
        parts = map(_of_classes, y, given)
        return type(given)(*parts) if hasattr(given, "_fields") else type(given)(parts)
    if not is_traced(y) or y.weak or not isinstance(given, np.ndarray | np.generic):
        return y
    single = not y.shape and isinstance(given, np.generic)
    if y.dtype != given.dtype and dtypes.is_number(given.dtype):
        y = y.astype(given.dtype)
    y.single = single
    return y
