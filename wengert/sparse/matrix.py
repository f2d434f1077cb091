"""The matrix that a plan makes: SciPy's, whose numbers may wait until a compiled function runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from wengert.tree import register


class Pattern:
    """Where the entries of a sparse matrix stand, row by row."""

    def __init__(self, indices: Any, indptr: Any, shape: tuple[int, int]) -> None:
        self.indices, self.indptr, self.shape = indices, indptr, shape

    @staticmethod
    def of(columns: Any, ends: Any, shape: tuple[int, int]) -> Pattern:
        index = np.int32 if max(*shape, len(columns)) < 2**31 else np.int64
        return Pattern(columns.astype(index), ends.astype(index), shape)

    def matrix(self, entries: Any) -> Matrix:
        return Matrix.tree_unflatten(self, (entries,))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Pattern)
            and self.shape == other.shape
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
        )

    def __hash__(self) -> int:
        return hash((self.shape, len(self.indices)))

    def rows(self) -> Any:
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))


class Matrix(csr_array):  # type: ignore[misc]
    """A `scipy.sparse.csr_array`; a container, whose one part is the array of its entries.

    In a compiled function the entries are not known yet: products with vectors and matrices,
    `toarray()` and `data` are there, and it may be returned; what else SciPy does with numbers is
    an error.
    """

    def tree_flatten(self) -> tuple[tuple[Any], Pattern]:
        return (self.data,), Pattern(self.indices, self.indptr, self.shape)

    @classmethod
    def tree_unflatten(cls, pattern: Pattern, parts: tuple[Any, ...]) -> Matrix:
        (data,) = parts
        data = getattr(data, "_array", data)
        matrix = cls(pattern.shape, dtype=data.dtype)
        # SciPy may write into these, as eliminate_zeros() does.
        matrix.indices, matrix.indptr = pattern.indices.copy(), pattern.indptr.copy()
        matrix.data = data
        matrix.has_canonical_format = True
        return matrix

    @property
    def _waits(self) -> bool:
        return not isinstance(self.data, np.ndarray)

    def _pattern(self) -> Pattern:
        return Pattern(self.indices, self.indptr, self.shape)

    def __matmul__(self, other: Any) -> Any:
        waits = self._waits or _waits(other)
        return _times(self._pattern(), self.data, other) if waits else super().__matmul__(other)

    def dot(self, other: Any) -> Any:
        return self @ other

    @property
    def T(self) -> Any:
        return Turned(self) if self._waits else super().transpose()

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        if not self._waits:
            return super().toarray(order, out)
        places = self._pattern().rows(), self.indices
        dense = np.zeros_like(self.data, shape=self.shape)
        dense[places] = self.data
        return dense


class Turned:
    """The transposed matrix in a compiled function: its products."""

    def __init__(self, matrix: Matrix) -> None:
        self.T = matrix
        self.shape = matrix.shape[::-1]

    def __matmul__(self, other: Any) -> Any:
        return _times(self.T._pattern(), self.T.data, other, turned=True)


def _waits(x: Any) -> bool:
    return hasattr(x, "__array_function__") and not isinstance(x, np.ndarray)


def _times(pattern: Pattern, entries: Any, dense: Any, turned: bool = False) -> Any:
    """S @ dense, or S.T @ dense."""
    rows, columns, shape = pattern.rows(), pattern.indices.astype(np.int64), pattern.shape
    if turned:
        rows, columns, shape = columns, rows, shape[::-1]
    if np.ndim(dense) not in (1, 2) or np.shape(dense)[0] != shape[1]:
        raise ValueError(
            f"matmul: a sparse matrix of shape {shape} and an array of shape {np.shape(dense)}: "
            f"its first dimension should be {shape[1]}, and it has one or two"
        )
    picked = dense[columns]
    terms = entries * picked if np.ndim(dense) == 1 else entries[:, None] * picked
    out = np.zeros_like(terms, shape=(shape[0], *terms.shape[1:]))
    np.add.at(out, rows, terms)
    return out


register(Matrix)
