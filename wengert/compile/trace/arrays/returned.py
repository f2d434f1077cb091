"""What NumPy's functions return: of which classes and dtypes, scalars or arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.facts import COMPOSED
from wengert.compile.program.program import Value
from wengert.compile.trace.arrays.lines import is_users
from wengert.compile.trace.arrays.numbers import number_of
from wengert.compile.trace.arrays.opaque import counted, like, zeros
from wengert.dispatch import each, supposed
from wengert.history import modes
from wengert.rules import RULES
from wengert.rules.half import arrays_in


def is_traced(x: Any) -> bool:
    return hasattr(type(x), "single")


def has_numpys_operators(array: np.ndarray[Any, Any]) -> bool:
    """Whether what comes of an array is what its numbers say: they are of the machine's byte order,
    and it is NumPy's own, or of a class that makes such arrays, as maps of files do.
    """
    kind = type(array)
    if kind is np.ndarray:
        return array.dtype.isnative
    if any(getattr(kind, name) is not getattr(np.ndarray, name) for name in _OPERATING):
        return False
    try:
        return type(np.equal(array, array)) in (np.ndarray, np.bool)
    except TypeError:  # records
        return False


_OPERATING = "__array_ufunc__", "__array_function__", "__mul__"


def become_wider(operands: Any) -> bool:
    """Whether NumPy makes more than half precision of these: its own numbers have a dtype."""
    arrays = [_as_array(x) for x in operands if not getattr(x, "weak", False)]
    kinds = [x.dtype for x in arrays if hasattr(x, "dtype")]
    try:
        return not dtypes.is_half(np.result_type(*kinds))
    except TypeError:  # NumPy knows nothing wider than bfloat16
        return False


def _as_array(x: Any) -> Any:
    """A list, or a number of a class of its own, as the array that it is to NumPy."""
    if type(x) in (int, float, complex) or not isinstance(x, (list, tuple, float, int, complex)):
        return x
    return x if any(map(is_traced, arrays_in([x]))) else np.asarray(x)


def numbers_rounded(operands: Any) -> Any:
    """Python's numbers beside NumPy's arrays of half precision, as precise as these."""
    narrow = next(x.dtype for x in arrays_in(operands) if dtypes.is_half(x.dtype))

    def rounded(x: Any) -> Any:
        if type(x) in (int, float):
            return narrow.type(x).item()
        return x.astype(narrow) if dtypes.is_pythons_number(x) and x.dtype.kind in "if" else x

    return each(rounded, operands)


_ARRAYS = frozenset({
    np.broadcast_to, np.where, np.select, np.choose, np.copy, np.tensordot, np.roll,
    np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.piecewise, np.broadcast_arrays,
})  # fmt: skip
"""Functions that return arrays even of no dimensions, where others return scalars."""
_TRUTHS = frozenset({np.array_equal, np.array_equiv, np.allclose})
"""Functions that return a truth value of Python's."""
_VIEWS = frozenset({
    np.squeeze, np.transpose, np.swapaxes, np.moveaxis, np.real, np.imag, np.reshape,
})  # fmt: skip
"""Functions that return of one of NumPy's scalars a scalar, and of all else an array."""


def returned(function: Any, args: Any, result: Any) -> Any:
    """What a function has made, marked as a scalar where NumPy returns one."""
    if is_traced(result) and (function in _TRUTHS or (function is np.isreal and args[0].weak)):
        return number_of(result, bool)
    if type(result) is tuple or type(result) is list:
        for item in result:
            returned(function, args, item)
    elif is_traced(result) and not result.shape and not any(result is x for x in args):
        follows = function in _VIEWS and not (is_traced(args[0]) and args[0].single)
        result.single = not follows and function not in _ARRAYS
    return result


def is_said_by_numpy(function: Any, args: Any) -> bool:
    """Whether NumPy is asked what its function makes: something else is composed in its place, it
    is one of linear algebra in code for arrays, or is given one of Python's numbers, which few take
    for less than an array.
    """
    module = getattr(function, "__module__", None)
    if module == "numpy.linalg":
        return is_users() or modes.current().numpy_code
    if module != "numpy" or isinstance(function, np.ufunc):
        return False
    if function in RULES:
        return any(map(dtypes.is_pythons_number, args))
    return function in COMPOSED


def numpys_own(function: Any, args: Any, kwargs: Any) -> Any:
    """What NumPy's own function makes of zeros; None where it takes none. Of matrices that would be
    as long a computation: theirs are small ones.
    """
    few = function.__module__ == "numpy.linalg"
    for numbers in (_of_few(zeros), _of_few(counted)) if few else (counted, zeros):
        numbers = _with_numbers(numbers)
        try:
            return like(function, args, kwargs, numbers)
        except TypeError:  # of these dtypes
            raise
        except Exception:  # of these numbers, which are not those of a call
            continue
    return None


def _with_numbers(stand_in: Any) -> Any:
    """A stand-in that is one of Python's numbers for what stands for one."""
    return lambda value: stand_in(value).item() if value.weak else stand_in(value)


def _of_few(stand_in: Any) -> Any:
    """A stand-in of a few numbers: classes and dtypes do not depend on how many there are."""

    def smaller(value: Value) -> Any:
        return stand_in(Value(tuple(min(n, 4) for n in value.shape), value.dtype))

    return smaller


def widened(given: Any, args: Any) -> Any:
    """The arguments of a composition, as wide as what NumPy `given` of them is: it computes so."""
    results = given if isinstance(given, (tuple, list)) else (given,)
    kinds = set[str]()
    each(lambda x: kinds.add(_kind(x)), args)
    meant = "fc" if kinds & {"f", "c"} else "iu"  # ints beside floats are places, and counts
    wide = [x.dtype for x in results if _kind(x) in ("f", "c")]
    if not wide:
        return args
    dtype = np.empty(0, np.result_type(*wide)).real.dtype

    def change(x: Any) -> Any:
        if not is_traced(x) or x.weak or x.dtype.kind not in meant:
            return x
        target = np.result_type(x.dtype, dtype)
        return x if target == x.dtype else x.astype(target)

    return each(change, args)


def _kind(x: Any) -> str:
    return "f" if isinstance(x, float) else getattr(getattr(x, "dtype", None), "kind", "")


def as_numpys(y: Any, given: Any) -> Any:
    """What a function is composed to, of the classes and dtypes that NumPy has `given`."""
    return y if given is None else _of_classes(y, given)


def _of_classes(y: Any, given: Any) -> Any:
    if isinstance(given, (tuple, list)) and isinstance(y, (tuple, list)) and len(y) == len(given):
        parts = map(_of_classes, y, given)
        return type(given)(*parts) if hasattr(given, "_fields") else type(given)(parts)
    if isinstance(given, np.generic) and type(y) in (int, float):
        return given.dtype.type(y)
    if not is_traced(y) or not isinstance(given, np.ndarray | np.generic):
        return y
    single = not y.shape and isinstance(given, np.generic)
    dtype = given.dtype
    if y.dtype.kind == "c" and dtype.kind != "c":  # roots that are complex are real of zeros
        dtype = np.result_type(dtype, np.complex64)
        supposed((y.imag != 0).any())
    if (y.dtype != dtype or y.weak) and dtypes.is_number(dtype):
        y = y.astype(dtype)
    y.single = single
    return y
