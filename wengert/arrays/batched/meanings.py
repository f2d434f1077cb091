"""What a call means on batched arrays: how one is found, ufuncs, indexing, and the loop.

A function is answered, in this order, by its batched meaning (`MEANINGS`, filled here and by
the other files of this folder); if it is elementwise, by the function itself on aligned arrays; by
the body of a primitive, which is written in functions that have a meaning; by the meaning it has
on Tensors; or by calling it for each example in turn, which is slow, and said once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert.arrays.batched.array import (
    BatchedArray,
    Level,
    entered,
    left,
    left_view,
    same,
    total,
)
from wengert.arrays.translated import through_tensors
from wengert.dispatch import PLAIN, as_array, meanings
from wengert.errors import BatchingError
from wengert.history.location import here, line_of, stacklevel
from wengert.rules import RULES

MEANINGS: dict[Any, Callable[..., Any]] = {}
ELEMENTWISE: dict[Any, int] = {}
"""Functions that take each element by itself, and how many of their arguments are arrays."""
SLOW: set[Any] = set()
"""Primitives whose bodies fill arrays that they make: without a meaning they are looped."""
_told: set[Any] = set()


means = meanings(MEANINGS)
"""Say what functions mean on batched arrays; the level is passed first."""


for _function in (entered, left, left_view, total, same):
    MEANINGS[_function] = (lambda plain: lambda level, *args: plain(*args))(_function.plain)  # type: ignore[attr-defined]


# ---- finding a meaning ----------------------------------------------------------------------


def of_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a NumPy function or a primitive with batched arrays among its arguments."""
    level = level_of((*args, *kwargs.values()) if kwargs else args)
    if level is None:
        return NotImplemented
    if kwargs:
        out = kwargs.pop("out", None)
        if out is not None:
            return _into(level, out, of_function(function, args, kwargs), function)
        kwargs = {k: v for k, v in kwargs.items() if v is not np._NoValue}
    if not SLOW:
        _fill()
    meaning = MEANINGS.get(function)
    if meaning is not None:
        return meaning(level, *args, **kwargs)
    arrays = ELEMENTWISE.get(function)
    if arrays is not None:
        return elementwise(level, function, arrays, args, kwargs)
    plain = getattr(function, "plain", None)
    if plain is not None and function not in SLOW and not function.opaque:
        return plain(*(_batched(level, x) for x in args), **kwargs)
    from wengert.functions.numpy.calls import TRANSLATIONS  # it is above this

    if function in TRANSLATIONS and function not in RULES:
        return through_tensors(BatchedArray, TRANSLATIONS[function], args, kwargs)
    return loop(level, function, args, kwargs)


def _fill() -> None:
    """Fill the table, when a vmap first looks something up."""
    from wengert.arrays.batched import functions as _  # noqa: F401  (fills it on import)
    from wengert.arrays.batched import layers, primitives

    primitives.primitives()
    layers.primitives()


def level_of(values: Iterable[Any]) -> Level | None:
    """The newest level among some arguments; None if a Tensor is there, which then takes over."""
    found = _newest(values, None)
    return None if found is _TENSOR else found


_TENSOR: Any = object()


def _newest(values: Iterable[Any], found: Any) -> Any:
    for x in values:
        kind = type(x)
        if kind is np.ndarray or kind in PLAIN:
            continue
        if kind is BatchedArray:
            if found is None or x.level.start > found.start:
                found = x.level
        elif kind is list or kind is tuple:
            found = _newest(x, found)
        elif hasattr(kind, "_node") and hasattr(kind, "__array_function__"):
            return _TENSOR
        if found is _TENSOR:
            break
    return found


# ---- helpers of the meanings ----------------------------------------------------------------


def at(x: Any, level: Level) -> bool:
    """Whether `x` has values of its own for each example of this level."""
    return type(x) is BatchedArray and x.level is level


def raw(x: Any, level: Level) -> Any:
    """All examples of `x` as an array with the batch in front, repeated if there is only one."""
    if at(x, level):
        return x.raw
    x = as_array(x)
    return np.broadcast_to(x, (level.size, *x.shape))


def _batched(level: Level, x: Any) -> Any:
    """An argument of a primitive: arrays are batched, whatever else there is stays."""
    if at(x, level) or not (isinstance(x, np.ndarray) or hasattr(type(x), "__array_function__")):
        return x
    return BatchedArray(raw(x, level), level)


def aligned(x: Any, ndim: int, level: Level) -> Any:
    """`x` for broadcasting against examples of `ndim` dimensions: the batch comes before those."""
    if not at(x, level):
        return x
    shape = x.raw.shape
    if len(shape) > ndim:
        return x.raw
    return np.reshape(x.raw, (shape[0], *(1,) * (ndim + 1 - len(shape)), *shape[1:]))


def ndim_of(x: Any) -> int:
    return len(x.shape) if hasattr(x, "shape") else np.ndim(x)


def results(level: Level, made: Any) -> Any:
    """Arrays with the batch in front, as batched ones."""
    if type(made) in (list, tuple):
        return type(made)(results(level, item) for item in made)
    if isinstance(made, tuple):  # a named one
        return type(made)(*(results(level, item) for item in made))
    return BatchedArray(made, level)


def elementwise(level: Level, function: Any, arrays: int, args: Any, kwargs: Any) -> Any:
    """A function that takes each element by itself: on aligned arrays it is what it always is."""
    n = max(ndim_of(x) for x in (*args[:arrays], *kwargs.values()) if x is not None)
    given = [aligned(x, n, level) for x in args]
    return results(level, function(*given, **{k: aligned(v, n, level) for k, v in kwargs.items()}))


# ---- one example after the other ------------------------------------------------------------


def loop(level: Level, function: Any, args: Any, kwargs: Any) -> Any:
    """The function of each example in turn; a function that writes does so in each."""
    if not getattr(function, "opaque", False):  # whoever said so knows
        tell(level, function)

    def one(x: Any, i: int) -> Any:
        if at(x, level):
            return x.raw[i]
        if type(x) in (list, tuple):
            return type(x)(one(item, i) for item in x)
        return x

    made = [
        function(*one(args, i), **{k: one(v, i) for k, v in kwargs.items()})
        for i in range(level.size)
    ]
    if not made:
        raise BatchingError(
            f"vmap over no examples: {name_of(function)} has no batched meaning, so that what it "
            "would return is not known"
        )
    try:
        return _stacked(level, made)
    except ValueError as error:
        raise BatchingError(
            f"vmap: the results of {name_of(function)} differ in shape from example to example, at"
            f"\n  {line_of(*here())}\nKeep the full shape and choose, as in np.where(mask, x, 0)."
        ) from error


def _stacked(level: Level, made: list[Any]) -> Any:
    first = made[0]
    if first is None:
        return None
    if isinstance(first, (tuple, list)):
        if len({len(item) for item in made}) > 1:
            raise ValueError("results of several lengths")
        parts = [_stacked(level, list(part)) for part in zip(*made, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    return BatchedArray(np.stack([as_array(item) for item in made]), level)


def name_of(function: Any) -> str:
    """What a message calls a function: numpy.linalg.lstsq, numpy.logaddexp.reduce."""
    ufunc = getattr(function, "__self__", None)
    if isinstance(ufunc, np.ufunc):
        return f"numpy.{ufunc.__name__}.{function.__name__}"
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module}.{getattr(function, '__name__', function)}"


def tell(level: Level, function: Any) -> None:
    """Warn of a loop, once for each function."""
    if function not in _told:
        _told.add(function)
        warnings.warn(
            "There is a performance drop because we have not yet implemented the batching rule "
            f"for {name_of(function)}: vmap calls it once for each of {level.size} examples. "
            "Write it with functions that have one, if this is too slow.",
            UserWarning,
            stacklevel=stacklevel(),
        )


# ---- writing --------------------------------------------------------------------------------


def _into(level: Level, out: Any, result: Any, function: Any) -> Any:
    """`out=`: the arrays named take the results."""
    targets = out if isinstance(out, tuple) else (out,)
    made = result if isinstance(result, tuple) else (result,)
    for target, value in zip(targets, made, strict=True):
        if target is None:
            continue
        check_target(level, target, name_of(function))
        if value.shape != target.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {target.shape} doesn't match the "
                f"broadcast shape {value.shape}"
            )
        np.copyto(target.raw, aligned(value, target.ndim, level), casting="same_kind")
    return out[0] if isinstance(out, tuple) and len(out) == 1 else out


def check_target(level: Level, target: Any, name: str) -> None:
    """Raise if an array without batch is to take batched values."""
    if at(target, level):
        return
    raise BatchingError(
        f"vmap: inplace arithmetic ({name}) is not possible because there exists an operand that "
        f"has more elements than the array written to, at\n  {line_of(*here())}\n"
        "This happened due to the operand being vmapped over but the array not being vmapped over "
        "in a vmap. Please try to use out-of-place operators instead of inplace arithmetic (x = x "
        "+ y), or write into an array that is batched too: np.zeros_like(x), x.new_zeros(shape)."
    )


# ---- ufuncs ---------------------------------------------------------------------------------

_REDUCTIONS: dict[Any, Any] = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
    np.logical_or: np.any, np.logical_and: np.all,
}  # fmt: skip


def of_ufunc(ufunc: np.ufunc, method: str, inputs: Any, kwargs: Any) -> Any:
    """A call of a ufunc, or of its methods."""
    level = level_of((*inputs, *kwargs.values()) if kwargs else inputs)
    if level is None:
        return NotImplemented
    if not SLOW:
        _fill()
    if not kwargs and method == "__call__":
        return _call(level, ufunc, inputs, kwargs)
    out = kwargs.pop("out", None)
    if method == "at":
        return _at(level, ufunc, *inputs)
    if method == "__call__":
        where = kwargs.pop("where", True)
        result = _call(level, ufunc, inputs, kwargs)
        if where is not True:
            if out is None:
                raise BatchingError(f"np.{ufunc.__name__} with where= needs out= inside of vmap")
            result = np.where(where, result, out[0])
    elif method == "reduce":
        result = _reduce(level, ufunc, *inputs, **kwargs)
    elif method in ("accumulate", "reduceat"):
        x = inputs[0]
        if not at(x, level) or (method == "reduceat" and at(inputs[1], level)):
            return loop(level, getattr(ufunc, method), inputs, kwargs)
        rest = {"axis": 0, **kwargs}
        if len(inputs) > 1 and method == "accumulate":
            rest["axis"] = inputs[1]
        rest["axis"] = axis_of(rest["axis"], x.ndim) + 1
        more = inputs[1:] if method == "reduceat" else ()
        result = BatchedArray(getattr(ufunc, method)(x.raw, *more, **rest), level)
    else:  # outer
        a, b = (as_array(x) for x in inputs)
        result = ufunc(np.reshape(a, (*a.shape, *(1,) * b.ndim)), b)
    return result if out is None else _into(level, out, result, ufunc)


def _call(level: Level, ufunc: np.ufunc, inputs: Any, kwargs: Any) -> Any:
    if ufunc is np.matmul:
        return MEANINGS[np.matmul](level, *inputs)
    if ufunc.signature is not None:
        return _generalized(level, ufunc, inputs, kwargs)
    dims = [x.raw.ndim - 1 if at(x, level) else ndim_of(x) for x in inputs]
    n = max(dims)
    given = [
        x.raw if d == n and at(x, level) else aligned(x, n, level)
        for x, d in zip(inputs, dims, strict=True)
    ]
    return results(level, ufunc(*given, **kwargs))


def _generalized(level: Level, ufunc: Any, inputs: Any, kwargs: Any) -> Any:
    """A function of vectors or matrices: what is before those dimensions broadcasts."""
    if "axes" in kwargs or "axis" in kwargs or "?" in ufunc.signature:
        return loop(level, ufunc, inputs, kwargs)
    cores = [
        len([name for name in part.strip("()").split(",") if name])
        for part in ufunc.signature.split("->")[0].replace("),(", ");(").split(";")
    ]
    n = max(ndim_of(x) - core for x, core in zip(inputs, cores, strict=True))
    given = [aligned(x, n + core, level) for x, core in zip(inputs, cores, strict=True)]
    return results(level, ufunc(*given, **kwargs))


def _reduce(
    level: Level, ufunc: Any, a: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False,
    **rest: Any,
) -> Any:  # fmt: skip
    if not at(a, level):
        return loop(level, ufunc.reduce, (a,), {"axis": axis, "keepdims": keepdims, **rest})
    rest = {k: _aligned_option(v, a, level) for k, v in rest.items() if v is not np._NoValue}
    axes = axes_of(axis, a.ndim)
    made = ufunc.reduce(
        a.raw, axis=tuple(i + 1 for i in axes), dtype=dtype, keepdims=keepdims, **rest
    )
    return BatchedArray(made, level)


def _aligned_option(x: Any, a: BatchedArray, level: Level) -> Any:
    return aligned(x, a.ndim, level) if at(x, level) else x


def _at(level: Level, ufunc: np.ufunc, x: Any, index: Any, *values: Any) -> None:
    """`ufunc.at`: each example's own element, each time its index occurs."""
    check_target(level, x, f"np.{ufunc.__name__}.at")
    place = Place(level, x.shape, index, target=True)
    if not place.advanced:
        region = x.raw[place.index]
        region[...] = ufunc(region, *(aligned(v, region.ndim - 1, level) for v in values))
        return
    ufunc.at(x.raw, place.index, *(place.put(v) for v in values))


# ---- dimensions -----------------------------------------------------------------------------


def axis_of(axis: Any, ndim: int) -> int:
    """A dimension counted from the front."""
    axis = axis.__index__()
    if not -max(ndim, 1) <= axis < max(ndim, 1):
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim if ndim else 0


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Several dimensions; all for None, and none of an array that has none."""
    if axis is None:
        return tuple(range(ndim))
    if not ndim:
        return ()
    found = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(axis_of(i, ndim) for i in found)


# ---- indexing -------------------------------------------------------------------------------


class Place:
    """An index of examples of some shape as one of their whole batch.

    `index` is for the array with the batch in front, or, where that is not batched and the index
    is, for the array itself. What it takes has the batch and the dimensions of the index arrays
    where NumPy puts them; `take` moves them to where they belong, and `put` moves a value there.
    """

    def __init__(
        self, level: Level, shape: tuple[int, ...], index: Any, target: bool, batched: bool = True
    ) -> None:
        self.level = level
        parts = _parts(level, shape, index)
        arrays = [p for p in parts if hasattr(p, "ndim")]
        self.advanced = bool(arrays)
        self.moves: tuple[Any, Any] | None = None
        if not arrays:
            self.index: Any = (slice(None), *parts)
            return
        n = max(p.ndim for p in arrays)
        self.shape = _taken(shape, parts)
        numbers = [i for i, p in enumerate(parts) if isinstance(p, int) or hasattr(p, "ndim")]
        together = numbers == list(range(numbers[0], numbers[-1] + 1))
        before = numbers[0] if together else 0  # dimensions of the result ahead of the arrays'
        own = any(at(p, level) for p in arrays)
        parts = [aligned(p, n, level) if at(p, level) else p for p in parts]
        if not own:
            self.index = (slice(None), *parts)
            if not together:
                self.moves = n, 0
        elif batched:
            rows = np.reshape(np.arange(level.size), (level.size, *(1,) * n))
            self.index = (rows, *parts)
            if before and together:
                self.moves = tuple(range(1, 1 + n)), tuple(range(1 + before, 1 + before + n))
        else:
            self.index = tuple(parts)
            if before:
                self.moves = before, 0

    def take(self, x: Any) -> Any:
        """From an array (with the batch in front) to the result with the batch in front."""
        made = x[self.index]
        return made if self.moves is None else np.moveaxis(made, *self.moves)

    def put(self, value: Any) -> Any:
        """A value in the order in which the index takes dimensions."""
        if not at(value, self.level) and not ndim_of(value):
            return value
        n = len(self.shape)
        wide = aligned(value, n, self.level) if at(value, self.level) else as_array(value)
        extra = len(wide.shape) - (n + at(value, self.level))
        if extra > 0:  # leading ones may be dropped on assignment
            first = int(at(value, self.level))
            wide = np.reshape(wide, wide.shape[:first] + wide.shape[first + extra :])
        wide = np.broadcast_to(wide, (self.level.size, *self.shape))
        return wide if self.moves is None else np.moveaxis(wide, self.moves[1], self.moves[0])


def _taken(shape: tuple[int, ...], parts: list[Any]) -> tuple[int, ...]:
    """The shape of what an index takes, learned on an array without memory."""
    sample = np.broadcast_to(np.False_, tuple(max(n, 1) for n in shape))
    index = tuple(np.zeros(p.shape, np.int64) if hasattr(p, "ndim") else p for p in parts)
    if all(shape):
        index = tuple(0 if isinstance(p, int) else p for p in index)
        return sample[index].shape
    return np.empty(shape, bool)[index].shape


def _parts(level: Level, shape: tuple[int, ...], index: Any) -> list[Any]:
    """An index with one entry per dimension or None: numbers, slices and arrays of integers."""
    given = list(index) if isinstance(index, tuple) else [index]
    parts = [q for p in given for q in _part(level, p)]
    used = sum(p is not None and p is not Ellipsis for p in parts)
    if used > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {used} were "
            "indexed"
        )
    dots = [i for i, p in enumerate(parts) if p is Ellipsis]
    at_ = dots[0] if dots else len(parts)
    parts[at_ : at_ + bool(dots)] = [slice(None)] * (len(shape) - used)
    if any(p is Ellipsis for p in parts):
        raise IndexError("an index can only have a single ellipsis ('...')")
    return parts


def _part(level: Level, p: Any) -> list[Any]:
    if p is None or p is Ellipsis or isinstance(p, slice):
        return [p]
    if isinstance(p, (int, np.integer)) and not isinstance(p, (bool, np.bool_)):
        return [int(p)]
    p = _listed(p) if isinstance(p, (list, tuple)) else as_array(p)
    if p.dtype == bool:
        if at(p, level):
            raise BatchingError(
                f"vmap: a batched mask as an index, at\n  {line_of(*here())}\n"
                "How many elements it takes may differ from example to example. Keep the full "
                "shape and choose, as in wg.where(mask, x, 0) or np.where."
            )
        if not p.ndim and isinstance(p, np.ndarray):
            return [None] if p else [None, np.zeros(0, np.int64)]
        return list(np.nonzero(p))
    if not p.size and p.dtype.kind == "f":
        p = p.astype(np.int64)
    if p.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return [p]


def _listed(p: Any) -> Any:
    return np.stack([as_array(x) for x in p]) if level_of(p) is not None else np.asarray(p)


def getitem(x: Any, index: Any) -> Any:
    """`x[index]` with a batched array, a batched index, or both; a view for basic indices."""
    parts = index if isinstance(index, tuple) else (index,)
    level = level_of((x, *parts))
    if level is None:  # a Tensor as an index
        from wengert.rules import indexing
        from wengert.tensor import Tensor

        bare = tuple(p._array if isinstance(p, Tensor) else p for p in parts)
        return indexing.getitem(x, bare)
    if any(p is False or p is np.False_ for p in parts):
        return getitem(x, tuple(None if p is False or p is np.False_ else p for p in parts))[:0]
    batched = at(x, level)
    place = Place(level, x.shape, index, target=False, batched=batched)
    return BatchedArray(place.take(x.raw if batched else x), level)


def setitem(x: Any, index: Any, value: Any) -> None:
    """`x[index] = value`."""
    from wengert.tensor import Tensor

    value = value._array if isinstance(value, Tensor) else value
    parts = index if isinstance(index, tuple) else (index,)
    parts = tuple(p._array if isinstance(p, Tensor) else p for p in parts)
    level = level_of((x, value, *parts))
    assert level is not None
    check_target(level, x, "x[index] = value")
    if len(parts) == 1 and at(parts[0], level) and parts[0].dtype == bool:
        mask = parts[0]
        if ndim_of(value):
            raise BatchingError(
                f"vmap: values written where a batched mask holds, at\n  {line_of(*here())}\n"
                "How many there are may differ from example to example. Write a single number, or "
                "choose with np.where(mask, values, x), with values in the shape of x."
            )
        mask = np.reshape(mask, (*mask.shape, *(1,) * (x.ndim - mask.ndim)))
        x[...] = np.where(mask, value, x)
        return
    place = Place(level, x.shape, parts, target=True)
    if not place.advanced:
        region = x.raw[place.index]
        wide = aligned(value, region.ndim - 1, level)
        extra = ndim_of(wide) - region.ndim
        if at(value, level) and extra > 0:
            wide = np.reshape(wide, (wide.shape[0], *wide.shape[1 + extra :]))
        x.raw[place.index] = wide
        return
    x.raw[place.index] = place.put(value)
