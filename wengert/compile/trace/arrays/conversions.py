"""NumPy's functions that make an array of anything, of what is a traced array already."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compile.trace.arrays.array import Trace, TracedArray
from wengert.errors import TracingError
from wengert.tensor import Tensor

CONVERSIONS = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray)


def is_conversion(function: Any, named: dict[str, Any]) -> bool:
    """Whether this is such a function, called with no more than how its result is to be."""
    return named.keys() <= {"dtype", "copy", "order", "ndmin"} and any(
        function is conversion for conversion in CONVERSIONS
    )


def stacked(x: Any) -> Any:
    """The array in a tensor, or of a list of traced ones and numbers, or of such lists; anything
    else as it is.
    """
    if isinstance(x, Tensor):
        return x.numpy()
    if not isinstance(x, list | tuple):
        return x
    parts = [*map(stacked, x)]
    if not any(type(part) is TracedArray for part in parts):
        return x
    return np.stack([x.astype(x.dtype) if type(x) is TracedArray else np.asarray(x) for x in parts])


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
    x = x[...] if x.single else x
    in_rows = order == "C" or function is np.ascontiguousarray
    if order not in (None, "K", "A", "C"):
        raise TracingError(
            f"{function.__name__}() with order={order!r} in a compiled function: programs keep "
            "arrays in rows. Leave the order out, or convert before the call."
        )
    copies = function is np.array if copy is None else copy
    array = x.astype(x.dtype if dtype is None else dtype, copy=copies)
    if in_rows and not array.flags.c_contiguous:
        array = array.copy("C")
    least = max(ndmin, 1 if function is np.ascontiguousarray else 0)
    return (
        array if array.ndim >= least else array.reshape((1,) * (least - array.ndim) + array.shape)
    )


@Trace.pattern(np.array_str, np.array_repr, np.array2string)
def _text(function: Any, trace: Trace, a: Any, *args: Any, **kwargs: Any) -> Any:
    known = a.known(f"np.{function.__name__}()") if type(a) is TracedArray else a
    return function(known, *args, **kwargs)
