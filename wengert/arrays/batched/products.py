"""The batched meanings of products, linear algebra and Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.arrays.batched.array import BatchedArray, Level, aligned, at, generalized
from wengert.arrays.common import axes_of, axis_of
from wengert.dispatch import as_array, signature
from wengert.rules import linalg
from wengert.rules.products import einsum

means, pattern = Level.means, Level.pattern

# ---- products -------------------------------------------------------------------------------


def _no_fit(a: Any, b: Any) -> ValueError:
    return ValueError(f"matmul: shapes {a.shape} and {b.shape} do not fit")


@means(np.matmul)
def _matmul(level: Level, a: Any, b: Any, **rest: Any) -> Any:
    """Vectors among many examples are the rows of a matrix, so that one product does for all."""
    a, b = as_array(a), as_array(b)
    m, n = a.ndim, b.ndim
    if not m or not n:
        raise ValueError("matmul: an operand does not have enough dimensions (0, 1 is needed)")
    if a.shape[-1] != b.shape[-2 if n > 1 else 0]:
        raise _no_fit(a, b)
    a_alone, b_alone = not at(a, level), not at(b, level)
    x, y = a if a_alone else a.raw, b if b_alone else b.raw
    size = level.size
    if b_alone and n <= 2:
        if m == 1 or n == 1:
            return BatchedArray(np.matmul(x, y), level)
        rows = np.reshape(x, (size * math.prod(a.shape[:-1]), a.shape[-1]))
        return BatchedArray(np.reshape(np.matmul(rows, y), (*x.shape[:-1], b.shape[-1])), level)
    if a_alone and m <= 2 and n == 1:
        return BatchedArray(np.matmul(y, np.transpose(x) if m == 2 else x), level)
    if m == n == 1:
        return BatchedArray(np.sum(x * y, axis=-1), level)
    if n == 1:
        y = np.reshape(y, (size, *(1,) * (m - 2), y.shape[-1], 1))
        return BatchedArray(np.matmul(x, y)[..., 0], level)
    if m == 1:
        if not a_alone:
            x = np.reshape(x, (size, *(1,) * (n - 2), 1, x.shape[-1]))
            return BatchedArray(np.matmul(x, y)[..., 0, :], level)
        return BatchedArray(np.matmul(x, y), level)
    lead = max(m, n)
    x, y = (aligned(v, lead, level) for v in (a, b))
    if a.shape[-1] == 1:  # outer products, for which np.matmul calls BLAS once each
        return BatchedArray(x * y, level)
    return BatchedArray(np.matmul(x, y), level)


@means(np.convolve)
def _convolve(level: Level, a: Any, v: Any, mode: str = "full") -> Any:
    """One product of all examples for each number of the shorter vector."""
    a, v = as_array(a), as_array(v)
    if a.ndim != 1 or v.ndim != 1 or not a.shape[0] or not v.shape[0]:
        raise ValueError(f"convolve takes two vectors, not shapes {a.shape} and {v.shape}")
    if a.shape[0] < v.shape[0]:
        a, v = v, a
    n, m = a.shape[0], v.shape[0]
    x, y = (aligned(array, 1, level) for array in (a, v))
    whole = sum(np.pad(x * y[..., j : j + 1], ((0, 0), (j, m - 1 - j))) for j in range(m))
    start, length = {
        "full": (0, n + m - 1),
        "same": ((m - 1) // 2, n),
        "valid": (m - 1, n - m + 1),
    }[mode]
    return BatchedArray(whole[:, start : start + length], level)  # type: ignore[index]


@means(einsum)
def _contracted(level: Level, subscripts: str, operands: Any) -> Any:
    """Our einsum of a list of operands: the batch is one more letter."""
    inputs, output = subscripts.split("->")
    letter = next(c for c in "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONM" if c not in subscripts)
    terms = [
        letter + term if at(x, level) else term
        for term, x in zip(inputs.split(","), operands, strict=True)
    ]
    arrays = [x.raw if at(x, level) else x for x in operands]
    return BatchedArray(einsum(f"{','.join(terms)}->{letter}{output}", arrays), level)


# ---- linear algebra -------------------------------------------------------------------------
#
# These take a batch in front as they are.


def _of(takes: str, *functions: Any) -> None:
    """Functions of matrices, vectors, and numbers for each, as NumPy writes it of its ufuncs."""

    def meaning(function: Any, level: Level, a: Any, *args: Any, **kwargs: Any) -> Any:
        if takes.startswith("(m,n)") and a.ndim < 2:
            raise np.linalg.LinAlgError(
                f"{a.ndim}-dimensional array given. Array must be at least two-dimensional"
            )
        return generalized(level, function, (a, *args), kwargs, takes)

    pattern(*functions)(meaning)


_of(
    "(m,n)",
    np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.cholesky, np.linalg.qr,
    np.linalg.eigh, np.linalg.eig, np.linalg.eigvals, np.linalg.eigvalsh, np.linalg.svd,
    np.linalg.svdvals, np.linalg.matrix_power, np.linalg.cond,
    linalg.adjugate, linalg.matrix_exp, linalg.pivoted, linalg.indefinite_at, linalg.ldl_factored,
)  # fmt: skip
_of("(m,n),()", np.linalg.pinv, linalg.pinv)
_of("(m,n),(m,k)", linalg.adjugate_slope, linalg.solve_triangular)
_of("(m,n),(m,k),()", linalg.least_squares)
_of("(m,m),(m),(m,n)", linalg.ldl_solved)
_of("(n)", linalg.order_of)


@means(np.linalg.matrix_rank)
def _matrix_rank(level: Level, A: Any, *args: Any, **kwargs: Any) -> Any:
    if A.ndim < 2:
        return np.any(A != 0).astype(int)
    return generalized(level, np.linalg.matrix_rank, (A, *args), kwargs, "(m,n),()")


@means(np.linalg.solve)
def _solve(level: Level, a: Any, b: Any) -> Any:
    a, b = as_array(a), as_array(b)
    if b.ndim != 1:
        n = max(a.ndim, b.ndim)
        x, y = aligned(a, n, level), aligned(b, n, level)
        if y.ndim == 1:
            y = np.reshape(y, (-1, 1))
        return BatchedArray(np.linalg.solve(x, y), level)
    if not at(a, level) and a.ndim == 2:  # each example is one column
        return BatchedArray(np.transpose(np.linalg.solve(a, np.transpose(b.raw))), level)
    column = np.expand_dims(b, -1)
    n = max(a.ndim, 2)
    solution = np.linalg.solve(aligned(a, n, level), aligned(column, n, level))
    return BatchedArray(solution[..., 0], level)


@means(np.linalg.norm)
def _norm(
    level: Level, x: BatchedArray, ord: Any = None, axis: Any = None, keepdims: bool = False
) -> Any:
    if axis is None:
        if ord is None:
            flat = np.linalg.norm(np.reshape(x.raw, (level.size, -1)), axis=1)
            shape = (level.size, *(1,) * x.ndim) if keepdims else (level.size,)
            return BatchedArray(np.reshape(flat, shape), level)
        axis = tuple(range(x.ndim))
    axes = tuple(i + 1 for i in axes_of(axis, x.ndim))
    norms = np.linalg.norm(x.raw, ord, axes if len(axes) > 1 else axes[0], keepdims)
    return BatchedArray(norms, level)


# ---- Fourier transforms ---------------------------------------------------------------------


@pattern(
    np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn,
)  # fmt: skip
def _transforms(
    function: Any, level: Level, a: BatchedArray, s: Any = None, axes: Any = ..., norm: Any = None
) -> Any:
    if axes is ...:
        axes = signature(function)[1]["axes"]
    if axes is None:
        axes = range(-a.ndim if s is None else -len(s), 0)
    axes = tuple(axis_of(i, a.ndim) + 1 for i in axes)
    return BatchedArray(function(a.raw, s, axes, norm), level)
