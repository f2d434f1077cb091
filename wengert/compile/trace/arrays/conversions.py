"""NumPy's functions that make an array of anything, of what is a traced array already."""

from __future__ import annotations

import functools
import operator
from types import BuiltinMethodType
from typing import Any

import numpy as np

from wengert.compile.trace.arrays.array import Trace, TracedArray, stacked
from wengert.dtypes import asked
from wengert.errors import TracingError
from wengert.tensor import Tensor

CONVERSIONS = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray)


def is_conversion(function: Any, named: dict[str, Any]) -> bool:
    """Whether this is such a function, called with no more than how its result is to be."""
    return named.keys() <= {"dtype", "copy", "order", "ndmin"} and any(
        function is conversion for conversion in CONVERSIONS
    )


def array_of(
    function: Any,
    x: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    copy: bool | None = None,
    ndmin: int = 0,
) -> Any:
    """What `function(x, ...)` returns: the array itself if nothing asks for another."""
    if x.scalar:
        x = x.astype(x.dtype)[...]
    in_rows = order == "C" or function is np.ascontiguousarray
    if order not in (None, "K", "A", "C"):
        raise TracingError(
            f"{function.__name__}() with order={order!r} in a compiled function: programs keep "
            "arrays in rows. Leave the order out, or convert before the call."
        )
    copies = function is np.array if copy is None else copy
    array = x.astype(x.dtype if dtype is None else asked(dtype), copy=copies)
    if in_rows and not array.flags.c_contiguous:
        array = array.copy("C")
    least = max(ndmin, 1 if function is np.ascontiguousarray else 0)
    return (
        array if array.ndim >= least else array.reshape((1,) * (least - array.ndim) + array.shape)
    )


# ---- lists in the place of arrays -----------------------------------------------------------


def taken_for_arrays(function: Any, args: Any, named: Any) -> set[int]:
    """The ids of the lists with traced arrays or numbers that a function of NumPy's takes for
    arrays. NumPy tells: it asks whatever it takes for an array whether that would rather answer.
    """
    if _is_of_ufunc(function):
        return {id(x) for x in args if _holds_traced(x)}
    if any(callable(x) and not isinstance(x, type) for x in (*args, *named.values())):
        return set()  # that might be called with what stands for a list here
    probes: dict[int, type] = {}
    probe = functools.partial(_probe, probes)
    try:
        taken = function(*map(probe, args), **{name: probe(x) for name, x in named.items()})
    except Exception:  # it takes none for an array, and looks into a list
        return set()
    classes = frozenset(taken) if type(taken) is _Taken else frozenset()
    return {i for i, cls in probes.items() if cls in classes}


def holds_traced(function: Any, args: Any, named: Any) -> bool:
    """Whether a function of NumPy's is called with a list that has traced arrays, or numbers."""
    if not (_is_of_ufunc(function) or type(function) is _DISPATCHED):
        return False
    return any(map(_holds_traced, (*args, *named.values())))


def with_arrays(taken: set[int], read: Any, x: Any) -> Any:
    """An argument with arrays for those of its lists; `read` gives what stands for each."""
    if id(x) in taken:
        return stacked(read(x))
    if not _holds_traced(x):
        return x
    parts = [with_arrays(taken, read, part) for part in x]
    return x if all(map(operator.is_, parts, x)) else parts


_DISPATCHED = type(np.sum)


def _is_of_ufunc(function: Any) -> bool:
    owner = function.__self__ if type(function) is BuiltinMethodType else function
    return type(owner) is np.ufunc


def _is_traced(x: Any) -> bool:
    return type(x) is TracedArray or (isinstance(x, Tensor) and type(x._array) is TracedArray)


def _holds_traced(x: Any) -> bool:
    return isinstance(x, list | tuple) and any(_is_traced(y) or _holds_traced(y) for y in x)


class _Taken(tuple[type, ...]):
    """The classes of what a function takes for arrays."""


class _Probe:
    """Stands for a traced array, and has no numbers."""

    def __array_function__(self, function: Any, types: Any, args: Any, named: Any) -> _Taken:
        return _Taken(types)

    def __array__(self, *args: Any, **named: Any) -> Any:
        raise TypeError


def _probe(probes: dict[int, type], x: Any) -> Any:
    """What stands for an argument while NumPy is asked; for each list one of a class of its own,
    which `probes` has by the list's id.
    """
    if _is_traced(x):
        return _Probe()
    if not _holds_traced(x):
        return x
    kind = list if isinstance(x, list) else tuple
    protocol = {"__array_function__": _Probe.__array_function__}
    probes[id(x)] = cls = type("_Listed", (kind,), protocol)
    return cls([_probe(probes, part) for part in x])


@Trace.pattern(np.array_str, np.array_repr, np.array2string)
def _text(function: Any, trace: Trace, a: Any, *args: Any, **kwargs: Any) -> Any:
    known = a.known(f"np.{function.__name__}()") if type(a) is TracedArray else a
    return function(known, *args, **kwargs)
