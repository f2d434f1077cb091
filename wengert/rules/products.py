"""Products: of matrices, of vectors, and einsum. Linear in each factor."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from wengert.dispatch import all_true, primitive
from wengert.rules import contraction
from wengert.rules.blocks import FEW
from wengert.rules.indexing import put_along_axis
from wengert.rules.loops import addable, loopable, loops
from wengert.rules.rule import general, linear, unbroadcast
from wengert.rules.shapes import astype
from wengert.rules.stacks import matmul
from wengert.rules.ways import implemented, way

# Y = A B:  A_bar = G B^T,  B_bar = A^T G  (Giles, 2008), with vectors and batches as in NumPy.


def swap(x: Any) -> Any:
    """The transpose of the last two dimensions."""
    return x.swapaxes(-1, -2) if type(x) is np.ndarray else np.swapaxes(x, -1, -2)


def _rows(x: Any) -> Any:
    """All but the last dimension as one."""
    if len(x.shape) == 2:
        return x
    return np.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


# On few numbers the method `dot` takes half the time of np.matmul; on many, np.matmul is no slower.
SMALL = 4096


def by_matrix(x: Any, matrix: Any) -> Any:
    """x @ matrix. Of many matrices by one, np.matmul makes as many products of matrices.

    One is faster, by a half for matrices of 64 by 128.
    """
    if type(x) is type(matrix) is np.ndarray:
        if x.ndim == 2 and x.size <= SMALL:
            return x.dot(matrix)
        if x.ndim > 2 and x.flags.c_contiguous:
            return np.matmul(_rows(x), matrix).reshape(*x.shape[:-1], matrix.shape[-1])
    return np.matmul(x, matrix)


@primitive
@implemented
def cross(a: Any, b: Any) -> Any:
    """The vector products of three numbers each, in the last dimensions."""
    one, two = (np.roll(a, -k, -1) * np.roll(b, k - 3, -1) for k in (1, 2))
    return one - two


def _are_triples(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.shape[-1] == 3 and a.size >= FEW


_NEXT, _BEFORE = np.array([1, 2, 0]), np.array([2, 0, 1])


@way(cross, lambda a, b: addable(a, b) and _are_triples(a, b))
def _cross_by_loops(a: Any, b: Any) -> Any:
    out = np.empty(a.shape, a.dtype)
    _cross_each(_rows(a), _rows(b), _rows(out))
    return out


@way(cross, lambda a, b: type(a) is type(b) is np.ndarray)
def _cross_of_plain(a: Any, b: Any) -> Any:
    one = a.take(_NEXT, -1) * b.take(_BEFORE, -1)
    one -= a.take(_BEFORE, -1) * b.take(_NEXT, -1)
    return one


@loops
def _cross_each(a, b, out):
    for i in range(len(a)):
        out[i, 0] = a[i, 1] * b[i, 2] - a[i, 2] * b[i, 1]
        out[i, 1] = a[i, 2] * b[i, 0] - a[i, 0] * b[i, 2]
        out[i, 2] = a[i, 0] * b[i, 1] - a[i, 1] * b[i, 0]


linear(
    cross,
    lambda g, a_shape, b: unbroadcast(cross(b, g), a_shape),
    lambda g, a, b_shape: unbroadcast(cross(g, a), b_shape),
    name="LinalgCross",
)


def _matmul_pull_a(g: Any, a_shape: tuple[int, ...], b: Any) -> Any:
    if len(a_shape) >= 2 and len(b.shape) == 2:
        return by_matrix(g, swap(b))
    if len(b.shape) == 1:
        if len(a_shape) == 2:
            return np.multiply(np.expand_dims(g, -1), b)
        g, b = np.expand_dims(g, -1), np.expand_dims(b, -1)
    elif len(a_shape) == 1 and len(b.shape) == 2:
        return np.matmul(b, g)
    row = len(a_shape) == 1
    if row:
        g = np.expand_dims(g, -2)
    result = matmul(g, swap(b))
    return unbroadcast(result[..., 0, :] if row else result, a_shape)


def _matmul_pull_b(g: Any, a: Any, b_shape: tuple[int, ...]) -> Any:
    if len(b_shape) == 2 and len(a.shape) >= 2:
        return np.matmul(swap(_rows(a)), _rows(g))
    if len(b_shape) == 1 and len(a.shape) == 2:
        return np.matmul(g, a)
    if len(a.shape) == 1:
        if len(b_shape) == 2:
            return np.multiply(np.expand_dims(a, -1), g)
        g, a = np.expand_dims(g, -2 if len(b_shape) > 1 else -1), np.expand_dims(a, -2)
    column = len(b_shape) == 1
    if column and len(g.shape) == len(a.shape) - 1:
        g = np.expand_dims(g, -1)
    result = matmul(swap(a), g)
    return unbroadcast(result[..., 0] if column else result, b_shape)


linear(
    np.matmul,
    lambda g, a_shape, b: _matmul_pull_a(g, a_shape, b),
    lambda g, a, b_shape: _matmul_pull_b(g, a, b_shape),
    name="Mm",
    arguments=("a", "b"),
    promotes=False,
)


@primitive
def affine(x: Any, weight: Any, bias: Any) -> Any:
    """x @ weight.T + bias: a linear layer, in one step."""
    if x.ndim == 2 and bias is not None and len(x) >= _ROWS and _goes_turned(x, weight):
        out = np.empty((len(x), len(weight)), x.dtype)
        return np.add(np.matmul(weight, x.T).T, bias, out=out)
    out = by_matrix(x, weight.T)
    if bias is not None:
        rows = out[0] if len(out) == 1 and out.ndim == 2 else out  # twice as fast as broadcasting
        rows += bias
    return out


_ROWS = 12


def _goes_turned(x: Any, weight: Any) -> bool:
    """Whether (weight @ x.T).T is the faster way to x @ weight.T: for few rows and long sums.

    BLAS rearranges both factors, and of the first one the narrower rearrangement is the dearer.
    Measured with OpenBLAS: a tenth faster for 64 rows of 784, a third for 16 of 256 or more.
    """
    rows, terms = x.shape
    return _ROWS <= rows <= 64 and terms >= 256 and terms >= 12 * rows and len(weight) >= 128


def _affine_pull_weight(g: Any, x: Any) -> Any:
    if type(g) is np.ndarray and g.ndim == 2 and g.size <= SMALL:
        return g.T.dot(x)
    return np.matmul(np.transpose(_rows(g)), _rows(x))


def _affine_pull_bias(g: Any, bias_shape: tuple[int, ...]) -> Any:
    if type(g) is np.ndarray and g.ndim == 2 and bias_shape == g.shape[1:]:
        return np.add.reduce(g, 0) if len(g) != 1 else g[0].copy()
    return unbroadcast(g, bias_shape)


linear(
    affine,
    lambda g, weight: by_matrix(g, weight),
    _affine_pull_weight,
    _affine_pull_bias,
    forward={
        "x": lambda t, weight: np.matmul(t, np.transpose(weight)),
        "weight": lambda t, x: np.matmul(x, np.transpose(t)),
        "bias": lambda t, y: np.broadcast_to(t, y.shape),
    },
    name="Addmm",
    promotes=False,
)


linear(
    np.dot,
    lambda g, a_shape, b: _dot_a(g, a_shape, b),
    lambda g, a, b_shape: _dot_b(g, a, b_shape),
    arguments=("a", "b"),
)


def _dot_a(g: Any, a_shape: tuple[int, ...], b: Any) -> Any:
    if not a_shape or not np.ndim(b):
        return unbroadcast(g * b, a_shape)
    axis = max(len(b.shape) - 2, 0)
    free = [i for i in range(len(b.shape)) if i != axis]
    n = len(free)
    return np.tensordot(g, b, (list(range(len(g.shape) - n, len(g.shape))), free))


def _dot_b(g: Any, a: Any, b_shape: tuple[int, ...]) -> Any:
    if not np.ndim(a) or not b_shape:
        return unbroadcast(g * a, b_shape)
    free = list(range(len(a.shape) - 1))
    moved = np.tensordot(a, g, (free, free))  # contracted dimension first, then b's free ones
    axis = max(len(b_shape) - 2, 0)
    return np.moveaxis(moved, 0, axis)


linear(
    np.tensordot,
    lambda g, a_shape, b, axes: _tensordot_a(g, a_shape, b, axes),
    lambda g, a, b_shape, axes: _tensordot_b(g, a, b_shape, axes),
    promotes=False,
)


def _axes(axes: Any, a_ndim: int, b_ndim: int) -> tuple[list[int], list[int]]:
    if isinstance(axes, int):
        return list(range(a_ndim - axes, a_ndim)), list(range(axes))
    left, right = ([x] if isinstance(x, int) else list(x) for x in axes)
    return [i % a_ndim for i in left], [i % b_ndim for i in right]


def _tensordot_a(g: Any, a_shape: tuple[int, ...], b: Any, axes: Any) -> Any:
    left, right = _axes(axes, len(a_shape), len(b.shape))
    a_free = [i for i in range(len(a_shape)) if i not in left]
    b_free = [i for i in range(len(b.shape)) if i not in right]
    result = np.tensordot(g, b, (list(range(len(a_free), len(a_free) + len(b_free))), b_free))
    # Its dimensions: a's free ones, then b's contracted ones in increasing order.
    order = a_free + [left[right.index(i)] for i in sorted(right)]
    return np.transpose(result, np.argsort(order))


def _tensordot_b(g: Any, a: Any, b_shape: tuple[int, ...], axes: Any) -> Any:
    left, right = _axes(axes, len(a.shape), len(b_shape))
    a_free = [i for i in range(len(a.shape)) if i not in left]
    b_free = [i for i in range(len(b_shape)) if i not in right]
    result = np.tensordot(a, g, (a_free, list(range(len(a_free)))))
    order = [right[left.index(i)] for i in sorted(left)] + b_free
    return np.transpose(result, np.argsort(order))


# ---- einsum --------------------------------------------------------------------------------


@primitive
def einsum(subscripts: str, operands: Any) -> Any:
    """NumPy's einsum over a list of operands, with an explicit output and no repeated letters."""
    if len(operands) > 2:
        return contraction.in_pairs(subscripts, operands, contraction.quickest)
    if len(operands) == 2:
        inputs, output = subscripts.split("->")
        (a, b), (a_term, b_term) = operands, inputs.split(",")
        return contraction.quickest(a, a_term, b, b_term, output)
    # Of one operand NumPy may return a view; results of ours have memory of their own.
    result = np.einsum(subscripts, *operands)
    return result.copy() if result.base is not None else result


def _einsum_pull(
    g: Any, subscripts: str, operands: list[Any], operands_shape: list[Any]
) -> list[Any]:
    inputs, output = subscripts.split("->")
    terms = inputs.split(",")
    cotangents = []
    for k, term in enumerate(terms):
        others = [(t, x) for i, (t, x) in enumerate(zip(terms, operands, strict=True)) if i != k]
        # Letters that only this operand has were summed away: the cotangent repeats along them.
        known = set(output).union(*(t for t, _ in others)) if others else set(output)
        kept = "".join(c for c in term if c in known)
        spec = ",".join([output, *(t for t, _ in others)]) + "->" + kept
        result = einsum(spec, [g, *(x for _, x in others)])
        if kept != term:
            index = tuple(slice(None) if c in known else None for c in term)
            result = result[index]
        shape = operands_shape[k]  # a dimension of size 1 goes with any other
        result = unbroadcast(result, shape)
        cotangents.append(result if result.shape == shape else np.broadcast_to(result, shape))
    return cotangents


linear(einsum, None, _einsum_pull, sequence="operands")

# ---- convolution of vectors ----------------------------------------------------------------

linear(
    np.convolve,
    lambda g, a_shape, v, mode: _deconvolved(g, v, a_shape[0], mode),
    lambda g, a, v_shape, mode: _deconvolved(g, a, v_shape[0], mode),
    arguments=("a", "v", "mode"),
)


def _deconvolved(g: Any, other: Any, n: int, mode: str) -> Any:
    """The transpose: g, put where the full convolution has it, correlated with the other vector."""
    m = other.shape[0]
    start = {"full": 0, "same": (min(n, m) - 1) // 2, "valid": min(n, m) - 1}[mode]
    missing = n + m - 1 - g.shape[0] - start
    before, after = (np.zeros(k, g.dtype) for k in (start, missing))
    whole = np.concatenate([before, g, after])
    return np.convolve(whole, np.flip(other, 0), "valid")


# ---- distances -----------------------------------------------------------------------------

_CLOSE = 1e-3


@primitive
@implemented
def distances(a: Any, b: Any) -> Any:
    """The Euclidean distance of each row of `a` from each row of `b`."""
    apart = np.expand_dims(a, -2) - np.expand_dims(b, -3)
    return np.sqrt(np.sum(np.square(apart), axis=-1))


@way(distances, lambda a, b: type(a) is type(b) is np.ndarray)
def _distances_by_product(a: Any, b: Any) -> Any:
    """By |x|^2 + |y|^2 - 2 x y, a product of matrices; where that cancels, by the difference."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    size = np.vecdot(x, x)[..., :, None] + np.vecdot(y, y)[..., None, :]
    squares = np.matmul(x, -2 * swap(y))
    squares += size
    far = squares > _CLOSE * size
    if not all_true(far):  # or NaN
        (*batch, i, j) = np.nonzero(~far)
        x, y = (np.broadcast_to(z, (*squares.shape[:-2], *z.shape[-2:])) for z in (x, y))
        with np.errstate(invalid="ignore"):
            apart = x[(*batch, i)] - y[(*batch, j)]
        squares[(*batch, i, j)] = np.vecdot(apart, apart)
    return np.sqrt(squares).astype(a.dtype)


def _along(g: Any, y: Any) -> Any:
    """g / y in double precision, for the differences to come; 0 where the points are one."""
    return np.where(y == 0, 0, g / np.where(y == 0, 1, astype(y, np.float64)))


def _apart(g: Any, a: Any, b: Any, y: Any) -> Any:
    """The sum over j of g[i, j] (a[i] - b[j]) / y[i, j]."""
    s = _along(g, y)
    total = np.sum(s, axis=-1, keepdims=True) * a - np.matmul(s, astype(b, s.dtype))
    return astype(unbroadcast(total, a.shape), a.dtype)


def _closing(t: Any, a: Any, b: Any, y: Any) -> Any:
    """The tangents of distances from that of `a`: t[i] (a[i] - b[j]) / y[i, j]."""
    wide = astype(t, np.float64)
    moved = np.sum(wide * a, axis=-1, keepdims=True) - np.matmul(wide, swap(astype(b, wide.dtype)))
    return astype(_along(moved, y), y.dtype)


general(
    distances,
    reverse={
        "a": lambda g, a, b, y: _apart(g, a, b, y),
        "b": lambda g, a, b, y: _apart(swap(g), b, a, swap(y)),
    },
    forward={
        "a": lambda t, a, b, y: _closing(t, a, b, y),
        "b": lambda t, a, b, y: swap(_closing(t, b, a, swap(y))),
    },
    name="Cdist",
)


# Along the axes. NumPy would hold all differences at once.


@primitive
@implemented
def block_distances(a: Any, b: Any) -> Any:
    """The sum |a[i] - b[j]| of each row of `a` and each row of `b`."""
    return np.sum(np.absolute(np.expand_dims(a, -2) - np.expand_dims(b, -3)), axis=-1)


@implemented
def _along_axes(g: Any, a: Any, b: Any) -> Any:
    """The sum over j of g[i, j] sign(a[i] - b[j])."""
    signs = np.sign(np.expand_dims(a, -2) - np.expand_dims(b, -3))
    return unbroadcast(np.sum(np.expand_dims(g, -1) * signs, axis=-2), a.shape)


def _are_matrices(a: Any, b: Any) -> bool:
    return loopable(a, b) and a.ndim == b.ndim == 2


@way(block_distances, _are_matrices)
def _block_distances_by_loops(a: Any, b: Any) -> Any:
    out = np.zeros((len(a), len(b)), a.dtype)
    _add_distances(a, np.ascontiguousarray(b.T), out)
    return out


@way(_along_axes, lambda g, a, b: loopable(g, a) and _are_matrices(a, b))
def _along_axes_by_loops(g: Any, a: Any, b: Any) -> Any:
    out = np.zeros(a.shape, a.dtype)
    _add_signs(g, a, b, out)
    return out


@loops
def _add_distances(a, turned, out):
    n, width = a.shape
    for i in range(n):
        for k in range(width):
            x = a[i, k]
            for j in range(out.shape[1]):
                out[i, j] += abs(turned[k, j] - x)


@loops
def _add_signs(g, a, b, out):
    n, width = a.shape
    for i in range(n):
        for j in range(len(b)):
            share = g[i, j]
            for k in range(width):
                apart = a[i, k] - b[j, k]
                away = -share if apart < 0 else apart  # 0, or NaN
                out[i, k] += share if apart > 0 else away


general(
    block_distances,
    reverse={
        "a": lambda g, a, b: _along_axes(g, a, b),
        "b": lambda g, a, b: _along_axes(swap(g), b, a),
    },
    forward={
        "a": lambda t, a, b: _moved_along_axes(t, a, b),
        "b": lambda t, a, b: swap(_moved_along_axes(t, b, a)),
    },
    name="Cdist",
)


def _moved_along_axes(t: Any, a: Any, b: Any) -> Any:
    signs = np.sign(np.expand_dims(a, -2) - np.expand_dims(b, -3))
    return np.sum(np.expand_dims(t, -2) * signs, axis=-1)


# Of each pair of rows once.


@primitive
@implemented
def pair_distances(x: Any) -> Any:
    """The Euclidean distances of the rows of a matrix, in the order (0, 1), (0, 2), ..., (1, 2)."""
    return _once(distances(x, x))


@way(pair_distances, loopable)
def _pairs_by_loops(x: Any) -> Any:
    n = x.shape[0]
    out = np.empty(n * (n - 1) // 2, x.dtype)
    _pair_distances(x, np.ascontiguousarray(x.T), np.empty(n, x.dtype), out)
    return out


@loops
def _pair_distances(x, turned, squares, out):
    """Of each row to all rows after it at once; four numbers of each for one way through them."""
    n, width = x.shape
    place = 0
    for i in range(n - 1):
        for j in range(i + 1, n):
            squares[j] = 0
        k = 0
        while k + 4 <= width:
            a, b, c, d = x[i, k], x[i, k + 1], x[i, k + 2], x[i, k + 3]
            for j in range(i + 1, n):
                p, q = turned[k, j] - a, turned[k + 1, j] - b
                r, s = turned[k + 2, j] - c, turned[k + 3, j] - d
                squares[j] += (p * p + q * q) + (r * r + s * s)
            k += 4
        while k < width:
            a = x[i, k]
            for j in range(i + 1, n):
                p = turned[k, j] - a
                squares[j] += p * p
            k += 1
        for j in range(i + 1, n):
            out[place + j - i - 1] = np.sqrt(squares[j])
        place += n - 1 - i


def _few(x: Any, *others: Any) -> bool:
    """Whether they are few enough to be pulled one by one, where products would be mostly calls."""
    return x.shape[0] ** 2 * x.shape[1] <= 1 << 16 and loopable(x, *others)


@loops
def _pairs_pulled(g, x, y, out):
    n, width = x.shape
    place = 0
    for i in range(n):
        for j in range(i + 1, n):
            if y[place] != 0:
                share = g[place] / y[place]
                for k in range(width):
                    moved = share * (x[i, k] - x[j, k])
                    out[i, k] += moved
                    out[j, k] -= moved
            place += 1


def _places(n: int) -> Any:
    """Where the pairs of n things lie in a flattened square of them."""
    return _few_places(n) if n <= 512 else _few_places.__wrapped__(n)


@functools.lru_cache(8)
def _few_places(n: int) -> Any:
    places = np.flatnonzero(np.triu(np.ones((n, n), bool), 1))
    places.flags.writeable = False
    return places


def _once(square: Any) -> Any:
    """What is above the diagonal of a square, as a vector."""
    n = square.shape[0]
    return np.take_along_axis(np.reshape(square, (n * n,)), _places(n), 0)


def _twice(pairs: Any, n: int) -> Any:
    """The symmetric square with these numbers above its diagonal, which is 0."""
    above = np.reshape(put_along_axis(pairs, _places(n), (n * n,), 0), (n, n))
    return above + swap(above)


@implemented
def _pulled_together(x: Any, g: Any, y: Any) -> Any:
    n = x.shape[0]
    return _apart(_twice(g, n), x, x, _twice(y, n))


@way(_pulled_together, _few)
def _pulled_one_by_one(x: Any, g: Any, y: Any) -> Any:
    out = np.zeros(x.shape, x.dtype)
    _pairs_pulled(g, x, y, out)
    return out


def _pushed_apart(t: Any, x: Any, y: Any) -> Any:
    closing = _closing(t, x, x, _twice(y, x.shape[0]))
    return _once(closing + swap(closing))


general(
    pair_distances,
    reverse={"x": lambda g, x, y: _pulled_together(x, g, y)},
    forward={"x": lambda t, x, y: _pushed_apart(t, x, y)},
    name="Pdist",
)
