"""How NumPy lays out a result in memory: asked of NumPy itself, on zeros that lie as the arrays do.

NumPy goes by the order of strides and by which extents are 1 and 0, not by how long the others are.
So large arrays are asked about by small ones, whose long extents are others, each the same wherever
it occurs. Where what comes out has not the shape of the result, as of a slice up to a number, the
question is asked again at full size.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert.compile.plan.strides import row_major
from wengert.compile.program.program import Shape
from wengert.rules import indexing

Strides = tuple[int, ...] | None
"""In elements; None for row-major arrays."""

FEW = 1 << 12
"""Elements of the arrays that are asked about as they are."""
SHORT = 16
"""Extents that stay as they are. The others become primes beyond it: no products of few agree."""
PRIMES = 17, 19, 23, 29, 31, 37, 41, 43

INDEXED = (operator.getitem, indexing.getitem)

Like = Callable[[Any], np.ndarray[Any, Any] | None]
"""An array that lies as a traced one does, without numbers to look at; None of anything else."""


def decided(function: Any) -> bool:
    """Whether NumPy decides how the result lies; of elementwise functions `kept` says it."""
    return function in INDEXED or (
        type(function) is not np.ufunc and getattr(function, "__module__", "") == "numpy"
    )


def strides_of(array: np.ndarray[Any, Any]) -> Strides:
    if array.flags.c_contiguous:
        return None
    return tuple(step // array.itemsize for step in array.strides)


def lying(shape: Shape, dtype: Any, strides: Any) -> np.ndarray[Any, Any]:
    """An array with strides in bytes. It has no numbers to look at."""
    if strides is None:
        strides = [step * dtype.itemsize for step in row_major(shape)]
    return np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, strides)


def kept(arrays: Iterable[Any]) -> Strides:
    """The strides of what is computed elementwise of these: in their order, if they agree."""
    known = [(x.shape, strides_of(x)) for x in arrays]
    if all(strides is None for _, strides in known):
        return None
    byte = np.dtype(np.int8)
    operands = [lying(shape, byte, strides) for shape, strides in known]
    walk: Any = np.nditer(  # type: ignore[call-overload]
        [*operands, None],
        ["zerosize_ok"],
        [*[["readonly"]] * len(operands), ["writeonly", "allocate"]],
        order="K",
    )
    return strides_of(walk.operands[-1])


def in_order(x: Any, order: str) -> Strides:
    """The strides of a copy of a traced array in one of NumPy's orders, or NumPy's error."""
    np.empty(0).copy(order)  # type: ignore[arg-type]  # raises, if there is none
    if order == "K":
        strides: Strides = x.trace.kept([x])
        return strides
    in_columns = order == "F" or (order == "A" and x.like.flags.fnc)
    return strides_of(lying(x.shape[::-1], x.dtype, None).T) if in_columns else None


def found(
    call: tuple[Any, Any, Any], like: Like, shape: Shape, given: list[Shape], otherwise: Strides
) -> Strides:
    """The strides of the result of a call, of a shape, where NumPy makes one of zeros.

    `given` are the shapes of the arrays among its arguments.
    """
    shapes = [shape, *given]
    if max(map(math.prod, shapes)) > FEW:
        other = _others({n for shape in shapes for n in shape})
        result = _made(call, like, other)
        if _has(result, tuple([other.get(n, n) for n in shape])):
            strides = kept([result])
            return None if strides is None else _packed(shape, strides)
    result = _made(call, like, {})
    return kept([result]) if _has(result, shape) else otherwise


def _has(result: Any, shape: Shape) -> bool:
    return isinstance(result, np.ndarray) and result.shape == shape


def _others(extents: set[int]) -> dict[int, int]:
    """Short extents for long ones; those that are products of others stay so."""
    other: dict[int, int] = {}
    primes = iter(PRIMES)
    for n in sorted(n for n in extents if n > SHORT):
        parts = (m for m in reversed(other) if n % m == 0 and n // m <= SHORT)
        m = next(parts, None)
        new = next(primes, n) if m is None else n // m * other[m]
        other[n] = min(n, new)
    return other


def _made(call: tuple[Any, Any, Any], like: Like, other: dict[int, int]) -> Any:
    """What a function makes of zeros; None if they are not what it takes."""

    def zeros(item: Any) -> Any:
        kind, lies = type(item), like(item)
        if lies is not None:
            return _zeros(lies, other)
        if kind is int:
            return other.get(item, item)
        if kind in (tuple, list):
            return kind(map(zeros, item))
        if kind is slice:
            return slice(zeros(item.start), zeros(item.stop), item.step)
        return {k: zeros(v) for k, v in item.items()} if kind is dict else item

    function, args, kwargs = call
    try:
        with np.errstate(all="ignore"):
            return function(*zeros(args), **zeros(kwargs))
    except Exception:
        return None


def _zeros(like: np.ndarray[Any, Any], other: dict[int, int]) -> np.ndarray[Any, Any]:
    if not other:
        return np.zeros_like(like)
    shape = tuple([other.get(n, n) for n in like.shape])
    zeros = np.zeros(math.prod(shape), like.dtype)
    strides = _packed(shape, np.empty_like(like).strides)
    steps = [s * like.itemsize for s in strides]
    return np.lib.stride_tricks.as_strided(zeros, shape, steps)


def _packed(shape: Shape, strides: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a whole array whose axes lie in the order of others."""
    order = sorted(range(len(shape)), key=lambda i: (-strides[i], shape[i] == 1))
    packed = dict(zip(order, row_major(tuple([shape[i] for i in order])), strict=True))
    return tuple([packed[i] for i in range(len(shape))])
