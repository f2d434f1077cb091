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

from wengert.arrays.facts import REDUCTIONS, RUNNING
from wengert.arrays.kind import Kind
from wengert.arrays.methods import ArrayMethods
from wengert.arrays.symbolic.terms import Term, apply, symbol, term
from wengert.dispatch import each
from wengert.errors import TracingError
from wengert.history.location import here, line_of
from wengert.rules.indexing import add_at
from wengert.rules.neural import erf, relu, sigmoid

Function = Callable[..., Any]


class Formulas(Kind):
    """What functions mean on symbolic arrays: NumPy's own move terms about, and combine them."""

    def elementwise(self, function: Any, args: Any, kwargs: Any) -> Any:
        named = isinstance(function, np.ufunc) or function in _NAMED
        if not (named or getattr(function, "opaque", False)) or getattr(function, "nout", 1) != 1:
            return NotImplemented
        return _elementwise(function, *args, **kwargs)

    def composed(self, meaning: Any, args: Any, kwargs: Any) -> Any:
        return NotImplemented  # of what has a formula, NumPy's own function says how

    def otherwise(self, function: Any, args: Any, kwargs: Any) -> Any:
        raise _unavailable(getattr(function, "__name__", str(function)))

    def store(self, function: Any, result: Any, targets: tuple[Any, ...], where: Any) -> Any:
        if where is not True:
            raise _unavailable(f"{function.__name__} with where")
        targets[0].cells[...] = result.cells
        return targets[0]


class SymbolicArray(ArrayMethods):
    """An array whose elements are terms; see the module."""

    __slots__ = ("cells",)
    dtype = np.dtype(np.float64)
    kind = Formulas()

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
        cell = self.cells.item()
        assert isinstance(cell, Term)
        return cell

    def astype(self, dtype: Any, **rest: Any) -> SymbolicArray:  # type: ignore[override]
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


def symbols(name: str, shape: tuple[int, ...] = ()) -> SymbolicArray:
    """An array of symbols: `name`, or name_0, name_1, ... for one that has a shape."""
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
        terms = [term(item) for item in x.ravel().tolist()]
    else:
        terms = [term(item) for item in np.asarray(x, object).ravel().tolist()]
    cells = np.empty(np.shape(x) if isinstance(x, np.ndarray) else (), object)
    if not cells.ndim:
        cells[()] = terms[0]
    elif terms:
        cells[...] = np.array([*terms, None], object)[:-1].reshape(cells.shape)
    return cells


def _wrapped(x: Any) -> Any:
    """The result of a function of cells."""
    return each(lambda cells: SymbolicArray(_objects(cells)), x)


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
    cells = np.empty(arrays[0].shape, object)
    for index in np.ndindex(cells.shape):
        cells[index] = apply(function, *(a[index] for a in arrays))
    return SymbolicArray(cells)


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
    cells = np.empty(shape, object)
    for index in np.ndindex(shape):
        row = rows[index].tolist()
        if not row:
            row = [term(ufunc.identity)]
        cells[index] = functools.reduce(functools.partial(apply, ufunc), row)
    return SymbolicArray(cells.reshape(kept) if keepdims else cells)


def _accumulated(ufunc: Any, x: Any, axis: int = 0, **rest: Any) -> SymbolicArray:
    cells = np.moveaxis(cells_of(x), axis, 0).copy()
    for i in range(1, len(cells)):
        cells[i] = _elementwise(
            ufunc, SymbolicArray(_objects(cells[i - 1])), SymbolicArray(_objects(cells[i]))
        ).cells
    return SymbolicArray(np.moveaxis(cells, 0, axis))


def _cells_in(item: Any) -> Any:
    return each(lambda x: x.cells if isinstance(x, SymbolicArray) else x, item)


_NAMED = frozenset({np.where, sigmoid, relu, erf})
"""Functions beside ufuncs and opaque ones that have a name in formulas; others show what they
consist of."""

means, pattern = Formulas.means, Formulas.pattern


@pattern(
    np.append, np.array_split, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_arrays,
    np.broadcast_to, np.column_stack, np.concatenate, np.cross, np.diag, np.diagonal, np.dot,
    np.dstack, np.einsum, np.expand_dims, np.flip, np.fliplr, np.flipud, np.hsplit, np.hstack,
    np.inner, np.kron, np.matmul, np.moveaxis, np.outer, np.pad, np.ravel, np.repeat, np.reshape,
    np.roll, np.rollaxis, np.rot90, np.split, np.squeeze, np.stack, np.swapaxes, np.take,
    np.tensordot, np.tile, np.trace, np.transpose, np.tril, np.triu, np.vdot, np.vsplit, np.vstack,
)  # fmt: skip
def _moved(function: Any, kind: Formulas, *args: Any, **kwargs: Any) -> Any:
    """Functions that move terms about, or add and multiply them: NumPy's own do so for objects."""
    return _wrapped(function(*_cells_in(args), **_cells_in(kwargs)))


@means(np.ufunc.reduce)
def _reduce(
    kind: Formulas, ufunc: Any, x: Any, axis: Any = 0, keepdims: bool = False, **rest: Any
) -> Any:
    return _reduced(ufunc, x, axis, keepdims is True)


@means(np.ufunc.accumulate)
def _accumulate(kind: Formulas, ufunc: Any, x: Any, axis: Any = 0, **rest: Any) -> Any:
    return _accumulated(ufunc, x, axis)


def _by(ufunc: Any) -> Function:
    def meaning(kind: Formulas, x: Any, axis: Any = None, **rest: Any) -> Any:
        return _reduced(ufunc, x, axis, rest.get("keepdims") is True)

    return meaning


def _running(ufunc: Any) -> Function:
    def meaning(kind: Formulas, x: Any, axis: Any = None, **rest: Any) -> Any:
        x = np.reshape(x, (-1,)) if axis is None else x
        return _accumulated(ufunc, x, axis or 0)

    return meaning


for _ufunc, _function in REDUCTIONS.items():
    means(_function)(_by(_ufunc))
for _ufunc, _function in RUNNING.items():
    means(_function)(_running(_ufunc))


@means(np.mean)
def _mean(kind: Formulas, x: Any, axis: Any = None, *, keepdims: Any = False, **rest: Any) -> Any:
    total = _reduced(np.add, x, axis, keepdims is True)
    return total / (np.size(cells_of(x)) // max(total.size, 1))


@means(np.clip)
def _clip(kind: Formulas, x: Any, low: Any = None, high: Any = None, **rest: Any) -> Any:
    low, high = rest.get("min", low), rest.get("max", high)
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


@pattern(np.zeros_like, np.empty_like, np.ones_like)
def _like(
    function: Any, kind: Formulas, x: Any, dtype: Any = None, shape: Any = None, **rest: Any
) -> Any:
    number = int(function is np.ones_like)
    return SymbolicArray(_objects(np.full(cells_of(x).shape if shape is None else shape, number)))


@means(np.full_like)
def _full_like(
    kind: Formulas, x: Any, value: Any, dtype: Any = None, shape: Any = None, **rest: Any
) -> Any:
    return _wrapped(np.broadcast_to(cells_of(value), cells_of(x).shape if shape is None else shape))


@means(np.linalg.norm)
def _norm(kind: Formulas, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord not in (None, 2, "fro") or (ord == 2 and np.ndim(cells_of(x)) > 1):
        raise _unavailable(f"np.linalg.norm with ord={ord}")
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


@means(np.real, np.asarray)
def _itself(kind: Formulas, x: Any, *args: Any, **rest: Any) -> Any:
    return x


@means(np.imag)
def _imag(kind: Formulas, x: Any) -> Any:
    return np.zeros_like(x)


@means(np.copy)
def _copy(kind: Formulas, x: Any, **rest: Any) -> Any:
    return x.copy()


@means(np.may_share_memory)
def _shares(kind: Formulas, *arrays: Any, **rest: Any) -> bool:
    return True


@means(add_at)
def _added_at(kind: Formulas, g: Any, index: Any, shape: Any) -> Any:
    out = _objects(np.zeros(shape))
    np.add.at(out, _plain_index(index), cells_of(g))
    return SymbolicArray(out)


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
