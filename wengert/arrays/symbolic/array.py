"""SymbolicArray: an array of terms. What NumPy code computes with it are formulas.

The terms lie in a NumPy array of objects, so functions that move numbers about are NumPy's own. An
elementwise function is applied to the terms, sums and products are written out. The rules of
differentiation run on these arrays as on any others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.arrays.methods import ArrayMethods
from wengert.arrays.symbolic.terms import Term, apply, term
from wengert.errors import TracingError
from wengert.history.location import here, line_of
from wengert.rules.indexing import add_at
from wengert.rules.neural import erf, relu, sigmoid

Function = Callable[..., Any]


class SymbolicArray(ArrayMethods):
    """An array whose elements are terms; see the module."""

    __slots__ = ("cells",)
    __array_priority__ = 400
    dtype = np.dtype(np.float64)

    def __init__(self, cells: Any) -> None:
        self.cells: np.ndarray[Any, Any] = cells

    shape = property(lambda self: self.cells.shape)
    ndim = property(lambda self: self.cells.ndim)
    real = property(lambda self: self)

    def __getitem__(self, index: Any) -> SymbolicArray:
        return SymbolicArray(_objects(self.cells[_plain_index(index)]))

    def __setitem__(self, index: Any, value: Any) -> None:
        self.cells[_plain_index(index)] = cells_of(value)

    def __repr__(self) -> str:
        return repr(self.item()) if not self.ndim else f"SymbolicArray({self.cells.tolist()})"

    def item(self) -> Term:
        """The term of an array with one element."""
        found = self.cells.item()
        assert isinstance(found, Term)
        return found

    def astype(self, dtype: Any, **rest: Any) -> SymbolicArray:
        return SymbolicArray(self.cells.copy())

    def copy(self) -> SymbolicArray:
        return SymbolicArray(self.cells.copy())

    # ---- what is not known -----------------------------------------------------------------

    def __bool__(self) -> bool:
        raise _unknown("a branch")

    def __float__(self) -> float:
        value = self.item()
        if value.is_number:
            return float(value.value)
        raise _unknown("a conversion to a number")

    def __int__(self) -> int:
        return int(float(self))

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise _unknown("a conversion to an array")

    # ---- what NumPy asks -------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        meaning: dict[str, Function] = {
            "__call__": _elementwise,
            "reduce": _reduced,
            "accumulate": _accumulated,
        }
        if method not in meaning or ufunc.nout != 1:
            raise _unavailable(f"{ufunc.__name__}.{method}")
        if ufunc is np.matmul:
            result = _wrapped(np.matmul(*map(cells_of, inputs)))
        else:
            result = meaning[method](ufunc, *inputs, **kwargs)
        if out is None:
            return result
        out[0].cells[...] = result.cells
        return out[0]

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        meaning = _MEANINGS.get(function)
        if meaning is not None:
            return meaning(*args, **kwargs)
        plain = getattr(function, "plain", None)
        if function in _NAMED:
            return _elementwise(function, *args, **kwargs)
        if plain is not None and not getattr(function, "opaque", False):
            return plain(*args, **kwargs)
        if function in _MOVING:
            return _moved(function, args, kwargs)
        raise _unavailable(getattr(function, "__name__", str(function)))


def symbols(name: str, shape: tuple[int, ...] = ()) -> SymbolicArray:
    """An array of symbols: `name`, or name_0, name_1, ... for one that has a shape."""
    from wengert.arrays.symbolic.terms import symbol

    cells = np.empty(shape, object)
    for index in np.ndindex(*shape):
        cells[index] = symbol("_".join([name, *map(str, index)]))
    return SymbolicArray(cells)


def cells_of(x: Any) -> Any:
    """The terms of an array, a number or a nested list."""
    if isinstance(x, SymbolicArray):
        return x.cells
    if isinstance(x, (list, tuple)):
        parts = [cells_of(part) for part in x]
        return np.stack(parts) if parts else np.empty(0, object)
    return _objects(np.asarray(x))


def _objects(x: Any) -> Any:
    """An array of terms, of an array of numbers or of terms, or of one of them."""
    if isinstance(x, np.ndarray) and x.dtype == object:
        made = [term(item) for item in x.ravel().tolist()]
    else:
        made = [term(item) for item in np.asarray(x, object).ravel().tolist()]
    cells = np.empty(np.shape(x) if isinstance(x, np.ndarray) else (), object)
    if not cells.ndim:
        cells[()] = made[0]
    elif made:
        cells[...] = np.array([*made, None], object)[:-1].reshape(cells.shape)
    return cells


def _wrapped(x: Any) -> Any:
    """The result of a function of cells."""
    if isinstance(x, (tuple, list)):
        return type(x)(map(_wrapped, x))
    return SymbolicArray(_objects(x))


def _elements(cells: Any) -> list[Any]:
    return [_objects(item) for item in cells.ravel().tolist()]


def _plain_index(index: Any) -> Any:
    parts = index if isinstance(index, tuple) else (index,)
    if any(isinstance(p, SymbolicArray) for p in parts):
        raise _unknown("an index")
    return index


# ---- functions of elements ---------------------------------------------------------------------


def _elementwise(function: Function, *inputs: Any, **kwargs: Any) -> SymbolicArray:
    kwargs = {k: v for k, v in kwargs.items() if k not in ("dtype", "casting", "order", "subok")}
    if kwargs:
        raise _unavailable(f"{function.__name__} with {', '.join(kwargs)}")
    arrays: Any = np.broadcast_arrays(*map(cells_of, inputs))
    made = np.empty(arrays[0].shape, object)
    for index in np.ndindex(made.shape):
        made[index] = apply(function, *(a[index] for a in arrays))
    return SymbolicArray(made)


def _rows(x: Any, axis: Any) -> tuple[np.ndarray[Any, Any], tuple[int, ...], tuple[int, ...]]:
    """The cells with the reduced axes last, as one; the shapes without them, and kept."""
    cells = cells_of(x)
    n = cells.ndim
    axes = tuple(range(n)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(a % n for a in axes)
    rest = tuple(i for i in range(n) if i not in axes)
    kept = tuple(1 if i in axes else size for i, size in enumerate(cells.shape))
    shape = tuple(cells.shape[i] for i in rest)
    count = int(np.prod([cells.shape[a] for a in axes], dtype=int))
    return np.transpose(cells, (*rest, *axes)).reshape(*shape, count), shape, kept


def _reduced(
    ufunc: Any, x: Any, axis: Any = 0, keepdims: bool = False, **rest: Any
) -> SymbolicArray:
    rows, shape, kept = _rows(x, axis)
    made = np.empty(shape, object)
    for index in np.ndindex(shape):
        row = rows[index].tolist()
        if not row:
            row = [term(ufunc.identity)]
        made[index] = functools.reduce(functools.partial(apply, ufunc), row)
    return SymbolicArray(made.reshape(kept) if keepdims else made)


def _accumulated(ufunc: Any, x: Any, axis: int = 0, **rest: Any) -> SymbolicArray:
    cells = np.moveaxis(cells_of(x), axis, 0).copy()
    for i in range(1, len(cells)):
        cells[i] = _elementwise(
            ufunc, SymbolicArray(_objects(cells[i - 1])), SymbolicArray(_objects(cells[i]))
        ).cells
    return SymbolicArray(np.moveaxis(cells, 0, axis))


def _reduction(ufunc: Any) -> Function:
    def meaning(x: Any, axis: Any = None, *, keepdims: Any = False, **rest: Any) -> Any:
        return _reduced(ufunc, x, axis, keepdims is True)

    return meaning


def _mean(x: Any, axis: Any = None, *, keepdims: Any = False, **rest: Any) -> Any:
    total = _reduced(np.add, x, axis, keepdims is True)
    return total / (np.size(cells_of(x)) // max(total.size, 1))


def _where(condition: Any, x: Any, y: Any) -> Any:
    return _elementwise(np.where, condition, x, y)


def _clip(x: Any, low: Any = None, high: Any = None, **rest: Any) -> Any:
    low, high = rest.get("min", low), rest.get("max", high)
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _cumulative(ufunc: Any) -> Function:
    def meaning(x: Any, axis: Any = None, **rest: Any) -> Any:
        x = np.reshape(x, (-1,)) if axis is None else x
        return _accumulated(ufunc, x, axis or 0)

    return meaning


def _like(number: float) -> Function:
    def meaning(x: Any, dtype: Any = None, shape: Any = None, **rest: Any) -> Any:
        return SymbolicArray(
            _objects(np.full(cells_of(x).shape if shape is None else shape, number))
        )

    return meaning


def _full_like(x: Any, value: Any, dtype: Any = None, shape: Any = None, **rest: Any) -> Any:
    return _wrapped(np.broadcast_to(cells_of(value), cells_of(x).shape if shape is None else shape))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord not in (None, 2, "fro") or (ord == 2 and np.ndim(cells_of(x)) > 1):
        raise _unavailable(f"np.linalg.norm with ord={ord}")
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


def _moved(function: Function, args: Any, kwargs: Any) -> Any:
    return _wrapped(function(*_cells_in(args), **{k: _cells_in(v) for k, v in kwargs.items()}))


def _cells_in(item: Any) -> Any:
    if isinstance(item, SymbolicArray):
        return item.cells
    if isinstance(item, (tuple, list)):
        return type(item)(map(_cells_in, item))
    return item


def _added_at(g: Any, index: Any, shape: Any) -> Any:
    out = _objects(np.zeros(shape))
    np.add.at(out, _plain_index(index), cells_of(g))
    return SymbolicArray(out)


_NAMED = frozenset({sigmoid, relu, erf})
"""Functions that NumPy lacks and that have a name in formulas; others show what they consist of."""

_MEANINGS: dict[Function, Function] = {
    add_at: _added_at,
    np.sum: _reduction(np.add),
    np.prod: _reduction(np.multiply),
    np.max: _reduction(np.maximum),
    np.min: _reduction(np.minimum),
    np.amax: _reduction(np.maximum),
    np.amin: _reduction(np.minimum),
    np.mean: _mean,
    np.where: _where,
    np.clip: _clip,
    np.cumsum: _cumulative(np.add),
    np.cumprod: _cumulative(np.multiply),
    np.zeros_like: _like(0),
    np.empty_like: _like(0),
    np.ones_like: _like(1),
    np.full_like: _full_like,
    np.linalg.norm: _norm,
    np.real: lambda x: x,
    np.imag: lambda x: np.zeros_like(x),
    np.iscomplexobj: lambda x: False,
    np.isrealobj: lambda x: True,
    np.may_share_memory: lambda *arrays, **rest: True,
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.size: lambda x, axis=None: np.size(x.cells, axis),
    np.copy: lambda x, **rest: x.copy(),
    np.asarray: lambda x, *args, **rest: x,
}

_MOVING = {
    *(np.append, np.array_split, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_arrays),
    *(np.broadcast_to, np.column_stack, np.concatenate, np.cross, np.diag, np.diagonal, np.dot),
    *(np.dstack, np.einsum, np.expand_dims, np.flip, np.fliplr, np.flipud, np.hsplit, np.hstack),
    *(np.inner, np.kron, np.moveaxis, np.outer, np.pad, np.ravel, np.repeat, np.reshape, np.roll),
    *(np.rollaxis, np.rot90, np.split, np.squeeze, np.stack, np.swapaxes, np.take, np.tensordot),
    *(np.tile, np.trace, np.transpose, np.tril, np.triu, np.vdot, np.vsplit, np.vstack),
}
"""Functions that move terms about, or add and multiply them: NumPy's own do so for objects."""


# ---- errors ------------------------------------------------------------------------------------


def _unknown(what: str) -> TracingError:
    return TracingError(
        f"{what} needs the number of a symbol, at\n  {line_of(*here())}\nA formula holds for all "
        "numbers: choose between values with np.where(condition, a, b), or give the number itself "
        "instead of a symbol."
    )


def _unavailable(name: str) -> TracingError:
    return TracingError(
        f"{name} has no formula in terms of its elements, at\n  {line_of(*here())}\nWrite it with "
        "arithmetic and elementary functions, or differentiate it numerically or by wg.grad."
    )
