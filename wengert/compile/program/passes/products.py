"""Products of matrices: fewer and larger ones, transposes moved to where they cost nothing.

A transposed operand is free (BLAS reads it by its strides), a product of two large matrices is
faster than a batch of small ones, and products of vectors are loops, which fuse with others.
All rules but `transpose` and `outer` may add up in another order, and agree to rounding; where
what is multiplied by a sum in `of_rows` is inf, terms of both signs are inf as that sum, not NaN.

Products of a large array of short rows, points say, and the matrix that turns them go through
memory for few operations a number. Where only loops read the result, `in_loops` makes it part of
them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.arrays.facts import REDUCED_BY
from wengert.compile.program.infer import axes_of, statement
from wengert.compile.program.operations import LAYOUTS, view
from wengert.compile.program.passes.rewrite import Rewrite, Rules, is_elementwise
from wengert.compile.program.program import Program, Shape, Statement, Value

RULES = Rules()

FEW = 3
"""Columns of a matrix that fill no vector, and numbers of a row of the other one: a loop is quicker
with so few, where it need not read the result from memory."""
LARGE = 1 << 13
"""Elements that no nearest cache holds."""
LONG = 1 << 10
"""Numbers of a narrow dtype that are added up in order: longer sums lose too many digits by it."""


def swapped(p: Rewrite, x: Value) -> Value:
    """The transpose of the last two dimensions."""
    n = len(x.shape)
    return p(np.transpose, x, (*range(n - 2), n - 1, n - 2))


def _is_swap(s: Statement) -> bool:
    axes = axes_of(s)
    n = len(axes)
    return n >= 2 and axes == (*range(n - 2), n - 1, n - 2)


@RULES.on(np.transpose)
def transpose(p: Rewrite, s: Statement) -> Any:
    """(A B)^T = B^T A^T"""
    x = s.args[0]
    m = p.maker(x, np.matmul)
    if not m or not p.once(x) or not _is_swap(s):
        return None
    a, b = m.args
    if len(a.shape) != len(b.shape):
        return None
    return p(np.matmul, swapped(p, b), swapped(p, a))


# ---- vectors -------------------------------------------------------------------------------


@RULES.on(np.matmul)
def outer(p: Rewrite, s: Statement) -> Any:
    """A column times a row is an elementwise product."""
    a, b = s.args
    return p(np.multiply, a, b) if a.shape[-1] == 1 and a.dtype.kind == "f" else None


@RULES.on(np.matmul)
def inner(p: Rewrite, s: Statement) -> Any:
    """A row times a column is the sum of an elementwise product."""
    a, b = s.args
    if a.shape[-2] != 1 or b.shape[-1] != 1 or a.dtype.kind != "f":
        return None
    terms = p(np.multiply, a, p(np.reshape, b, (*b.shape[:-2], 1, b.shape[-2])))
    return p(np.sum, terms, axis=(len(terms.shape) - 1,), keepdims=True)


# ---- batches -------------------------------------------------------------------------------


@RULES.on(np.matmul)
def narrow_batch(p: Rewrite, s: Statement) -> Any:
    """Operands that are repeated over the batch need not be: np.matmul broadcasts them."""
    a, b = (_without_repeats(p, x) for x in s.args)
    if a is s.args[0] and b is s.args[1]:
        return None
    return p(np.matmul, a, b)


def _without_repeats(p: Rewrite, x: Value) -> Value:
    m = p.maker(x, np.broadcast_to)
    same = m and len(m.args[0].shape) >= 2 and m.args[0].shape[-2:] == x.shape[-2:]
    return m.args[0] if m and same else x


@RULES.on(np.matmul)
def one_matrix_on_the_right(p: Rewrite, s: Statement) -> Any:
    """(..., T, K) @ (K, N) is one product of matrices: (... T, K) @ (K, N)."""
    a, b = s.args
    if len(s.output.shape) == 2 or not _is_one_matrix(b) or not _rows_merge(p, a):
        return None
    rows = p(np.reshape, a, (math.prod(a.shape[:-1]), a.shape[-1]))
    return p(np.reshape, p(np.matmul, rows, p(np.reshape, b, b.shape[-2:])), s.output.shape)


@RULES.on(np.matmul)
def one_matrix_on_the_left(p: Rewrite, s: Statement) -> Any:
    """(M, K) @ (..., K, 1), a matrix times many vectors, is (..., K) @ (K, M)."""
    a, b = s.args
    if len(s.output.shape) == 2 or not _is_one_matrix(a) or b.shape[-1] != 1:
        return None
    rows = p(np.reshape, b, (math.prod(b.shape[:-2]), b.shape[-2]))
    matrix = swapped(p, p(np.reshape, a, a.shape[-2:]))
    return p(np.reshape, p(np.matmul, rows, matrix), s.output.shape)


def _is_one_matrix(x: Value) -> bool:
    return math.prod(x.shape[:-2]) == 1


def _rows_merge(p: Rewrite, x: Value) -> bool:
    """Whether all dimensions but the last can become one without a copy, as far as one can tell."""
    m = p.maker(x, np.transpose, np.broadcast_to, view)
    if not m:
        return True
    if m.function is not np.transpose:
        return False
    # Dimensions of size 1 are no obstacle, and the others must stand in their old order.
    axes = [i for i in axes_of(m) if m.args[0].shape[i] != 1]
    rows = axes[:-1] if x.shape[-1] != 1 else axes
    return all(after == before + 1 for before, after in itertools.pairwise(rows))


@RULES.on(np.sum)
def weight_gradient(p: Rewrite, s: Statement) -> Any:
    """The sum of A^T G over a batch is one product, of the rows of all A and of all G."""
    x, axes, keepdims = s.args[0], s.kwargs["axis"], s.kwargs.get("keepdims", False)
    m = p.maker(x, np.matmul)
    batch = len(x.shape) - 2
    if not m or not p.once(x) or not axes or axes != tuple(range(batch)):
        return None
    at, g = m.args
    lead: Shape = x.shape[:-2]
    if at.shape[:-2] != lead or g.shape[:-2] != lead:
        return None
    a = _swapped_from(p, at)
    if a is None or not _rows_merge(p, a) or not _rows_merge(p, g):
        return None
    rows = [p(np.reshape, y, (math.prod(y.shape[:-1]), y.shape[-1])) for y in (a, g)]
    out = p(np.matmul, p(np.transpose, rows[0], (1, 0)), rows[1])
    return p(np.reshape, out, s.output.shape) if keepdims else out


def _swapped_from(p: Rewrite, x: Value) -> Value | None:
    """The array whose last two dimensions were swapped to make x."""
    m = p.maker(x, np.transpose)
    if m:
        return m.args[0] if _is_swap(m) else None
    if 1 in x.shape[-2:]:  # then the swap is a reshape
        return p(np.reshape, x, (*x.shape[:-2], x.shape[-1], x.shape[-2]))
    return None


@RULES.on(np.sum)
def of_rows(p: Rewrite, s: Statement) -> Any:
    """sum_i (A B)[i, j] = ((sum_i A[i]) B)[j], and sum_j (A B)[i, j] = (A (sum_j B[:, j]))[i]"""
    x, axes = s.args[0], s.kwargs["axis"]
    m, rank = p.maker(x, np.matmul), len(x.shape)
    if not m or not p.once(x) or x.dtype.kind not in "fc" or x.dtype.itemsize < 4:
        return None
    a, b = m.args
    rows, columns = (k in axes and x.shape[k] > 1 for k in (rank - 2, rank - 1))
    if a.dtype != x.dtype or b.dtype != x.dtype or not (rows or columns):
        return None
    if rows:
        a = p(np.sum, a, axis=(len(a.shape) - 2,), keepdims=True)
    if columns:
        b = p(np.sum, b, axis=(len(b.shape) - 1,), keepdims=True)
    return p(np.sum, p(np.matmul, a, b), **s.kwargs)


@RULES.on(np.sum)
def of_sums(p: Rewrite, s: Statement) -> Any:
    """sum_k a[i, k] b[k, j], of factors that are repeated along j and along i, is A B."""
    x, axes = s.args[0], s.kwargs["axis"]
    m = p.maker(x, np.multiply)
    if not m or not p.once(x) or not axes or s.kwargs.get("keepdims") or not _is_wide(m):
        return None
    if x.dtype.itemsize < 8 and math.prod(x.shape[k] for k in axes) > LONG:
        return None
    a, b = (p(np.reshape, y, (*[1] * (len(x.shape) - len(y.shape)), *y.shape)) for y in m.args)
    in_a, in_b = ({k for k, n in enumerate(y.shape) if n != 1} for y in (a, b))
    summed, every = set(axes), set(range(len(x.shape)))
    batch, rows, columns = (sorted(k - summed) for k in (in_a & in_b, in_a - in_b, every - in_a))
    sizes = [math.prod(x.shape[k] for k in of) for of in (rows, sorted(summed), columns)]
    if not summed <= in_a & in_b or min(sizes) <= FEW or math.prod(x.shape) < LARGE:
        return None
    lead = [x.shape[k] for k in batch]
    a = _in_order(p, a, (*batch, *rows, *sorted(summed)), (*lead, *sizes[:2]))
    b = _in_order(p, b, (*batch, *sorted(summed), *columns), (*lead, *sizes[1:]))
    out = p(np.matmul, a, b)
    order = [*batch, *rows, *columns]
    out = p(np.reshape, out, tuple(x.shape[k] for k in order))
    return p(np.transpose, out, tuple(np.argsort(order).tolist()))


def _in_order(p: Rewrite, x: Value, axes: Sequence[int], shape: Sequence[int]) -> Value:
    """An array without its other axes, which are of size 1: these in order, and then a shape."""
    kept = sorted(axes)
    x = p(np.reshape, x, tuple(x.shape[k] for k in kept))
    return p(np.reshape, p(np.transpose, x, tuple(map(kept.index, axes))), tuple(shape))


def _is_wide(s: Statement) -> bool:
    """Whether it is a product of two arrays of floats, which are no numbers."""
    return (
        all(
            type(y) is Value and not y.weak and y.dtype == s.output.dtype and y.dtype.kind == "f"
            for y in s.args
        )
        and s.output.dtype.itemsize >= 4
    )


@RULES.on(np.matmul)
def of_zeros(p: Rewrite, s: Statement) -> Any:
    """A product over an empty dimension is zero."""
    return 0 if s.args[0].shape[-1] == 0 else None


# ---- short rows ----------------------------------------------------------------------------


def in_loops(program: Program) -> bool:
    """Write products of short rows, which only loops read, as sums of elementwise products, which
    are fused with these; whether the program was changed, in place."""
    users = program.users()
    short = {s for s in program.statements if _is_short(s) and _only_loops_read(s, users, program)}
    if short:
        old = program.statements
        program.statements = [new for s in old for new in (_as_sum(s) if s in short else [s])]
    return bool(short)


def _is_short(s: Statement) -> bool:
    if s.function is not np.matmul or s.output.dtype.kind != "f" or s.output.dtype.itemsize < 4:
        return False
    return max(s.args[1].shape[-2:]) <= FEW and s.output.size >= LARGE


def _only_loops_read(s: Statement, users: dict[Value, list[Statement]], program: Program) -> bool:
    waiting = [s.output]
    while waiting:
        v = waiting.pop()
        readers = users.get(v, [])
        if not readers or v in program.results:
            return False
        for reader in readers:
            if reader.function in LAYOUTS:
                waiting.append(reader.output)
            elif not is_elementwise(reader.function) and reader.function not in REDUCED_BY:
                return False
    return True


def _as_sum(s: Statement) -> list[Statement]:
    """sum_k a[..., m, k] b[..., k, n]"""
    a, b = s.args
    rows = statement(np.reshape, a, (*a.shape[:-1], 1, a.shape[-1]))
    columns = [*range(len(b.shape) - 2), len(b.shape) - 1, len(b.shape) - 2]
    turned = statement(np.transpose, b, tuple(columns))
    shape = turned.output.shape
    beside = statement(np.reshape, turned.output, (*shape[:-2], 1, *shape[-2:]))
    terms = statement(np.multiply, rows.output, beside.output)
    axes = (len(terms.output.shape) - 1,)
    total = Statement(np.sum, (terms.output,), {"axis": axes}, s.outputs, s.code, s.at)
    return [rows, turned, beside, terms, total]
