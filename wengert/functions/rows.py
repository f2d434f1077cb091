"""Rows: the gradient of a large table, which is zero but for the rows that were looked up.

The gradient of `embedding(sparse=True)` is such an array, until it meets what is none. To a user it
is a sparse tensor; optimizers that can, take the rows alone. Under `create_graph=True`, vmap and
the compiler it is dense.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from wengert.arrays.kind import Kind
from wengert.arrays.methods import ArrayMethods
from wengert.autograd import primitive
from wengert.dispatch import each
from wengert.rules.indexing import add_rows, take_rows


class Rows(Kind):
    """What functions mean on rows. Without a meaning, they are computed with all elements."""

    __slots__ = ()

    def arriving(self, g: Any, born: int) -> Any:
        return g  # `tensor` copies its rows

    def answer(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        meaning = self.meanings.get(function)
        result = NotImplemented if meaning is None else meaning(self, *args, **kwargs)
        if result is not NotImplemented:
            return result
        return function(*whole(args), **whole(kwargs))

    def tensor(self, x: Any) -> Any:
        sparse = importlib.import_module("wengert.sparse.tensors")
        return sparse.of_rows(x.index, x.rows.copy(), x.shape)


ROWS = Rows()


def whole(x: Any) -> Any:
    """An argument with all elements of the arrays of rows in it."""
    return each(lambda x: x.dense() if isinstance(x, RowsArray) else x, x)


class RowsArray(ArrayMethods):
    """Zeros of a shape, with `rows` added at `index` along the first dimension."""

    __slots__ = ("_shape", "index", "rows")

    def __init__(self, index: Any, rows: Any, shape: tuple[int, ...]) -> None:
        self.index, self.rows, self._shape = index, rows, shape

    kind = property(lambda self: ROWS)
    shape = property(lambda self: self._shape)
    dtype = property(lambda self: self.rows.dtype)

    def dense(self) -> Any:
        return add_rows(self.rows, self.index, self._shape)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.dense().astype(dtype or self.dtype, copy=False)

    def summed(self) -> tuple[Any, Any]:
        """Each row's number once, in order, and the sums of their rows."""
        index, place = np.unique(self.index, return_inverse=True)
        return index, add_rows(self.rows, place, (len(index), *self._shape[1:]))

    def __setitem__(self, index: Any, value: Any) -> None:
        if index is not Ellipsis:
            raise NotImplementedError(
                "single elements of a sparse gradient cannot be written. Use grad.to_dense()."
            )
        self.rows[...] = value

    def __iadd__(self, other: Any) -> Any:
        return self + other


@Rows.means(np.add)
def _added(kind: Rows, x: Any, y: Any, out: Any = (None,)) -> Any:
    if isinstance(x, RowsArray) and isinstance(y, RowsArray):
        if x.shape != y.shape or out[0] is not None:
            return NotImplemented
        index, rows = np.concatenate([x.index, y.index]), np.concatenate([x.rows, y.rows])
        return RowsArray(index, rows, x.shape)
    if not isinstance(y, RowsArray):
        x, y = y, x
    if type(x) is not np.ndarray or x.shape != y.shape:
        return NotImplemented
    if out[0] is not None and out[0] is not x:
        return NotImplemented
    total = x.astype(np.result_type(x, y.rows)) if out[0] is None else x
    index, rows = y.summed()
    total[index] += rows
    return total


def _scaled(function: Any, kind: Rows, x: Any, *number: Any, out: Any = (None,)) -> Any:
    """Rows times a number: in place, if they are their own result."""
    if not isinstance(x, RowsArray) or not all(np.ndim(n) == 0 for n in number):
        return NotImplemented
    if out[0] is None:
        return RowsArray(x.index, function(x.rows, *number), x.shape)
    if not isinstance(out[0], RowsArray) or out[0].rows is not x.rows:
        return NotImplemented
    function(x.rows, *number, out=x.rows)
    return out[0]


Rows.pattern(np.multiply, np.true_divide, np.negative)(_scaled)


def _named(g: Any, index: Any, padding: int, x_shape: Any) -> Any:
    if type(g) is not np.ndarray or type(index) is not np.ndarray:
        return add_rows(g, index, x_shape)
    index, rows = index.reshape(-1), g.reshape(-1, *x_shape[1:])
    if padding >= 0:
        index, rows = index[index != padding], rows[index != padding]
    return RowsArray(index, rows, tuple(x_shape))


@primitive.linear(_named, None, None)
def look_up(x: Any, index: Any, padding: int) -> Any:
    """`x[index]` along the first dimension, whose gradient is rows, but those of `padding`."""
    return take_rows(x, index)
