"""What NumPy's functions return: of which classes and dtypes, scalars or arrays."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.facts import COMPOSED
from wengert.compile.program.program import Value
from wengert.compile.trace.arrays.numbers import number_of
from wengert.compile.trace.arrays.opaque import counted, like, zeros
from wengert.dispatch import each, supposed
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


def become_wider(function: Any, operands: Any, numbers: bool) -> bool:
    """Whether NumPy computes in more than half precision of these: its own numbers have a dtype,
    and Python's `numbers` change some, in code for arrays.
    """
    given = [x for x in map(_as_array, operands) if numbers or not _is_pythons(x)]
    kinds = [_type_of(x) for x in given if _is_pythons(x) or hasattr(x, "dtype")]
    try:
        if isinstance(function, np.ufunc) and len(kinds) == function.nin:
            loop = function.resolve_dtypes((*kinds, *[None] * function.nout))[: function.nin]
        else:
            loop = (np.result_type(*(x if isinstance(x, np.dtype) else x(1) for x in kinds)),)
    except TypeError:  # NumPy knows nothing wider than bfloat16
        return False
    return not any(map(dtypes.is_half, loop))


def _is_pythons(x: Any) -> bool:
    return dtypes.class_of(x) in (int, float, complex, bool)


def _type_of(x: Any) -> Any:
    kind = dtypes.class_of(x)
    return kind if kind in (int, float, complex) else np.dtype(bool) if kind is bool else x.dtype


def _as_array(x: Any) -> Any:
    """A list, or a number of a class of its own, as the array that it is to NumPy."""
    if _is_pythons(x) or not isinstance(x, (list, tuple, float, int, complex)):
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


_TRUTHS = frozenset({np.array_equal, np.array_equiv, np.allclose})
"""Functions that return a truth value of Python's."""


def returned(function: Any, args: Any, kwargs: Any, result: Any) -> Any:
    """What a function has made, its numbers marked as scalars where NumPy returns such."""
    if is_traced(result) and (function in _TRUTHS or (function is np.isreal and args[0].weak)):
        return number_of(result, bool)
    several = result if type(result) in (tuple, list) else (result,)
    marked = [x for x in several if is_traced(x) and not x.shape and not any(x is y for y in args)]
    own = numpys_own(function, args, kwargs, few=True) if marked and _is_numpys(function) else None
    each_own = own if isinstance(own, (tuple, list)) and len(own) == len(several) else None
    for x, given in zip(several, each_own or [own] * len(several), strict=True):
        if any(x is y for y in marked):
            x.single = not isinstance(given, np.ndarray)
    return result


def _is_numpys(function: Any) -> bool:
    """Whether a function is one of NumPy's, or a ufunc's method; ufuncs return scalars."""
    if isinstance(getattr(function, "__self__", None), np.ufunc):
        return True
    module = getattr(function, "__module__", None) or ""
    return module.startswith("numpy") and not isinstance(function, np.ufunc)


def is_said_by_numpy(function: Any, args: Any, numpys: bool) -> bool:
    """Whether NumPy is asked what its function makes: something else is composed in its place, or,
    in code for arrays (`numpys`), arguments meet of which few functions make what others do.
    """
    if not _is_numpys(function):
        return False
    if _is_of_matrices(function):
        return numpys
    if function in RULES and any(map(dtypes.is_pythons_number, args)):
        return True
    return function in COMPOSED or (numpys and _are_mixed(args))


def _is_of_matrices(function: Any) -> bool:
    return getattr(function, "__module__", None) == "numpy.linalg"


def _are_mixed(args: Any) -> bool:
    """Whether arrays are of several dtypes, or of half precision, or lie in lists."""
    kinds = {_type_of(x) for x in args if hasattr(x, "dtype")}
    held = [x for x in args if isinstance(x, (list, tuple)) and any(True for _ in arrays_in(x))]
    return len(kinds) > 1 or bool(held) or any(dtypes.is_half(np.dtype(kind)) for kind in kinds)


def is_narrow(own: Any) -> bool:
    """Whether NumPy rounds to half precision what it makes, as far as that has a precision."""
    kinds = [x.dtype for x in arrays_in([own]) if dtypes.is_inexact(x.dtype)]
    kinds += [own.dtype] if isinstance(own, np.inexact) else []
    return not kinds or any(map(dtypes.is_half, kinds))


def numpys_own(function: Any, args: Any, kwargs: Any, few: bool = False) -> Any:
    """What NumPy's own function makes of zeros; None where it takes none. Classes are seen of a few
    numbers, as are all answers about matrices, which would be as long a computation.
    """
    small = [_of_few(zeros), _of_few(counted)] if few or _is_of_matrices(function) else []
    for numbers in small if small and not few else [*small, counted, zeros]:
        try:
            given = each(functools.partial(_stand_in, numbers), (args, kwargs))
            return like(function, given[0], given[1], numbers)
        except TypeError:  # of these dtypes
            if few:
                return None
            raise
        except Exception:  # of these numbers, which are not those of a call
            continue
    return None


def _stand_in(numbers: Any, x: Any) -> Any:
    """A stand-in that is one of Python's, or NumPy's, numbers for what stands for one."""
    if not is_traced(x):
        return x
    array = numbers(x.value)
    return array.item() if x.weak else array[()] if x.single else array


def _of_few(stand_in: Any) -> Any:
    """A stand-in of a few numbers: classes and dtypes do not depend on how many there are."""

    def smaller(value: Value) -> Any:
        return stand_in(Value(tuple(min(n, 4) for n in value.shape), value.dtype))

    return smaller


def widened(given: Any, args: Any) -> Any:
    """The arguments of a composition, as wide as what NumPy `given` of them is: it computes so."""
    results = given if isinstance(given, (tuple, list)) else (given,)
    kinds = set[str]()
    each(lambda x: kinds.add(_kind(x)) if is_traced(x) and not x.scalar else None, args)
    meant = "iu" if kinds and not kinds & {"f", "c"} else "fc"  # ints beside floats are counts
    wide = [x.dtype for x in results if _kind(x) in ("f", "c")]
    if not wide:
        return args
    dtype = np.empty(0, np.result_type(*wide)).real.dtype

    def change(x: Any) -> Any:
        if not is_traced(x) or x.weak or _kind(x) not in meant:
            return x
        target = np.result_type(x.dtype, dtype)
        return x if target == x.dtype else x.astype(target)

    return each(change, args)


def _kind(x: Any) -> str:
    if not hasattr(x, "dtype"):
        return "f" if isinstance(x, float) else ""
    return "f" if dtypes.is_bfloat16(x.dtype) else x.dtype.kind


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
