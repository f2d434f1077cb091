"""Linear algebra: solving, determinants, factorisations of matrices and of batches of them.

Notation: A is the input, dA its tangent, G the cotangent of the output, and X^H the conjugate
transpose. Cotangents refer to the inner product Re tr(G^H dA), so complex numbers need no separate
formulas. Most are in Giles (2008), "Collected matrix derivative results for forward and reverse
mode algorithmic differentiation"; others stand beside the rules: Walter and Lehmann (2010),
"Algorithmic differentiation of linear algebra functions"; Seeger et al. (2017),
"Auto-differentiating linear algebra"; Boeddeker et al. (2017), "On the computation of
complex-valued gradients with application to statistically optimum beamforming".

Decompositions into eigenvectors and singular vectors divide by gaps between eigenvalues: where two
are equal, the derivative of their vectors is infinite or NaN. A part of a cotangent that is 0 stays
0 there, so what depends on the values alone, or on the space they span, has its derivative.

Functions of Hermitian matrices read one triangle; their cotangents are Hermitian, as if both
triangles moved together.

Decompositions by eigenvectors are in `eigen.py`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from wengert.dispatch import known, primitive
from wengert.errors import MissingRuleError
from wengert.rules.products import swap
from wengert.rules.rule import general, unbroadcast
from wengert.rules.ways import quick, way

# ---- parts of matrices -------------------------------------------------------------------------


def H(x: Any) -> Any:
    """The conjugate transpose of the last two dimensions."""
    return np.conj(swap(x)) if x.dtype.kind == "c" else swap(x)


def diagonal(x: Any) -> Any:
    return np.diagonal(x, 0, -2, -1)


def eye_like(x: Any) -> Any:
    """The identity matrix of the size of x's last two dimensions, as truth values."""
    return np.eye(x.shape[-2], x.shape[-1], dtype=bool)


def embedded(d: Any) -> Any:
    """Matrices with `d` on their diagonals."""
    return np.where(np.eye(d.shape[-1], dtype=bool), np.expand_dims(d, -1), 0)


def trace(x: Any) -> Any:
    return np.sum(diagonal(x), axis=-1)


def scalars(x: Any) -> Any:
    """Numbers, one for each matrix of a batch, as they multiply matrices."""
    return np.expand_dims(x, (-2, -1))


def hermitian(x: Any) -> Any:
    """The Hermitian part."""
    return (x + H(x)) / 2


# ---- inverse, solve ----------------------------------------------------------------------------
#
# For one large matrix LAPACK as SciPy calls it takes a third of the time of NumPy's functions,
# which are made for batches.

LARGE = 64
"""From which size on."""


def _alone(a: Any) -> bool:
    """Whether these are the numbers of one large matrix."""
    if type(a) is not np.ndarray or a.ndim != 2:
        return False
    return a.shape[0] == a.shape[1] >= LARGE and a.dtype.kind in "fc"


@way(np.linalg.inv, _alone)
def _inverse(a: Any) -> Any:
    factor, invert, work = _lapack(a, "getrf", "getri", "getri_lwork")
    packed, pivots, info = factor(a.T)  # transposed, it is in the order that LAPACK reads
    if info == 0:
        packed, info = invert(packed, pivots, lwork=int(work(len(a))[0].real), overwrite_lu=True)
    return _regular(info, packed.T)


def _one_system(a: Any, b: Any) -> bool:
    """Whether this is one large matrix, and b columns for it, or a vector."""
    if not _alone(a) or type(b) is not np.ndarray or b.ndim not in (1, 2):
        return False
    return b.dtype == a.dtype and len(b) == len(a) and b.size > 0


@way(np.linalg.solve, _one_system)
def _solution(a: Any, b: Any) -> Any:
    (solve,) = _lapack(a, "gesv")
    _, _, x, info = solve(a, b)
    return _regular(info, np.ascontiguousarray(x).reshape(b.shape))


def _lapack(a: Any, *names: str) -> list[Any]:
    """LAPACK's functions for the dtype of an array."""
    from scipy.linalg.lapack import get_lapack_funcs

    return get_lapack_funcs(names, (a,))


def _regular(info: int, solution: Any) -> Any:
    if info:
        raise np.linalg.LinAlgError("Singular matrix")
    return solution


inverse, solve = quick(np.linalg.inv), quick(np.linalg.solve)

general(
    np.linalg.inv,
    reverse={"a": lambda g, y: -np.matmul(H(y), np.matmul(g, H(y)))},
    forward={"a": lambda t, y: -np.matmul(y, np.matmul(t, y))},
    name="LinalgInvEx",
)


def _columns(solve: Any, a: Any, b: Any, vector: bool) -> Any:
    """The solution for columns, or for a vector; as NumPy has it, b is one if it has one dim."""
    return solve(a, np.expand_dims(b, -1))[..., 0] if vector else solve(a, b)


def _outer(a: Any, b: Any, vector: bool) -> Any:
    """a b^H, of columns or of vectors."""
    if vector:
        return np.expand_dims(a, -1) * np.expand_dims(np.conj(b), -2)
    return np.matmul(a, H(b))


def _times(a: Any, x: Any, vector: bool) -> Any:
    return np.matmul(a, np.expand_dims(x, -1))[..., 0] if vector else np.matmul(a, x)


def _solve_pull_a(g: Any, a: Any, b_shape: Any, y: Any) -> Any:
    vector = len(b_shape) == 1
    b_bar = _columns(solve, H(a), g, vector)
    return unbroadcast(-_outer(b_bar, y, vector), a.shape)


# x = A^-1 b:  b_bar = A^-H g,  A_bar = -b_bar x^H.
general(
    np.linalg.solve,
    reverse={
        "a": _solve_pull_a,
        "b": lambda g, a, b_shape: unbroadcast(
            _columns(solve, H(a), g, len(b_shape) == 1), b_shape
        ),
    },
    forward={
        "a": lambda t, a, b_shape, y: (
            -_columns(solve, a, _times(t, y, len(b_shape) == 1), len(b_shape) == 1)
        ),
        "b": lambda t, a: solve(a, t),
    },
    name="LinalgSolveEx",
)


@primitive
def solve_triangular(a: Any, b: Any, upper: bool, unitriangular: bool = False) -> Any:
    """X with A X = B, A read in one triangle only; a 0 on its diagonal gives infinities."""
    if a.ndim == b.ndim == 2 and a.dtype == b.dtype and b.size:
        return _one_triangle(a, b, upper, unitriangular)
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*shape, *b.shape[-2:])), np.result_type(a, b))
    n, count = a.shape[-1], math.prod(shape)
    if not x.size:
        return x
    if count > 2 * n:  # many small ones: all at once, row by row
        return _substituted(np.broadcast_to(a, (*shape, n, n)), x, upper, unitriangular)
    many = np.broadcast_to(a, (*shape, n, n)).reshape(count, n, n).astype(x.dtype, copy=False)
    columns = x.reshape(count, *x.shape[-2:])
    for k in range(count):
        columns[k] = _one_triangle(many[k], columns[k], upper, unitriangular)
    return columns.reshape(x.shape)


def _one_triangle(a: Any, b: Any, upper: bool, unitriangular: bool) -> Any:
    """X^T A^T = B^T: the transposes of arrays in C's order are what BLAS reads without a copy."""
    from scipy.linalg import blas

    solve = getattr(blas, {"f": "strsm", "d": "dtrsm", "F": "ctrsm", "D": "ztrsm"}[a.dtype.char])
    return solve(1, a.T, b.T, 1, upper, 0, unitriangular).T


def _substituted(a: Any, x: Any, upper: bool, unitriangular: bool) -> Any:
    n = a.shape[-1]
    with np.errstate(all="ignore"):
        for i in reversed(range(n)) if upper else range(n):
            before = slice(i + 1, n) if upper else slice(i)
            x[..., i, :] -= np.matmul(a[..., i, None, before], x[..., before, :])[..., 0, :]
            if not unitriangular:
                x[..., i, :] /= a[..., i, i, None]
    return x


def triangle(x: Any, upper: bool, unitriangular: bool = False) -> Any:
    """What of x a triangular matrix has."""
    return np.triu(x, int(unitriangular)) if upper else np.tril(x, -int(unitriangular))


def _solve_triangular_pull_a(
    g: Any, a: Any, b_shape: Any, y: Any, upper: bool, unitriangular: bool
) -> Any:
    b_bar = solve_triangular(H(a), g, not upper, unitriangular)
    return unbroadcast(triangle(-np.matmul(b_bar, H(y)), upper, unitriangular), a.shape)


general(
    solve_triangular,
    reverse={
        "a": _solve_triangular_pull_a,
        "b": lambda g, a, b_shape, upper, unitriangular: unbroadcast(
            solve_triangular(H(a), g, not upper, unitriangular), b_shape
        ),
    },
    forward={
        "a": lambda t, a, y, upper, unitriangular: (
            -solve_triangular(
                a, np.matmul(triangle(t, upper, unitriangular), y), upper, unitriangular
            )
        ),
        "b": lambda t, a, upper, unitriangular: solve_triangular(a, t, upper, unitriangular),
    },
    name="LinalgSolveTriangular",
)

# ---- determinants ------------------------------------------------------------------------------
#
# d det(A) = tr(adj(A) dA) (Jacobi). The adjugate is a polynomial in A, so it exists for singular
# matrices too, where det(A) A^-1 does not.


@primitive
def adjugate(a: Any) -> Any:
    """adj(A) = det(A) A^-1, and for singular A its limit, by singular values: V adj(S) U^H."""
    if a.size and (regular := _regular_adjugate(a)) is not None:
        return regular
    u, s, vh = np.linalg.svd(a)
    turn = scalars(np.linalg.det(u) * np.linalg.det(vh))
    return turn * np.matmul(H(vh) * np.expand_dims(_without_one(s), -2), H(u))


def _regular_adjugate(a: Any) -> Any:
    """det(A) A^-1, at a tenth of the cost, if that is accurate: None for matrices close to
    singular, by the condition number in the 1-norm."""
    if not known(a):
        return None
    with np.errstate(all="ignore"):
        try:
            inverted = inverse(a)
        except np.linalg.LinAlgError:
            return None
        size = np.max(np.sum(np.absolute(a), axis=-2), axis=-1)
        condition = size * np.max(np.sum(np.absolute(inverted), axis=-2), axis=-1)
        if not np.all(condition * condition * np.finfo(a.dtype).eps < 1):
            return None
        return scalars(np.linalg.det(a)) * inverted


def _without_one(s: Any) -> Any:
    """For each i the product of all s_j but s_i."""
    n = s.shape[-1]
    return np.prod(np.where(np.eye(n, dtype=bool), 1, np.expand_dims(s, -2)), axis=-1)


@primitive
def adjugate_slope(a: Any, t: Any) -> Any:
    """d adj(A) along T, exact for singular A too.

    For A = diag(s), with P_ij the product of all s but s_i and s_j, it is -P_ij T_ij off the
    diagonal and the sum over k of P_ik T_kk on it.
    """
    u, s, vh = np.linalg.svd(a)
    n = s.shape[-1]
    turn = scalars(np.linalg.det(u) * np.linalg.det(vh))
    keep = np.eye(n, dtype=bool)
    left_out = keep[:, None, :] | keep[None, :, :]
    pairs = np.prod(np.where(left_out, 1, s[..., None, None, :]), axis=-1)
    pairs = np.where(keep, 0, pairs)
    inside = np.matmul(H(u), np.matmul(t, H(vh)))
    on = np.matmul(pairs, diagonal(inside)[..., None])
    return turn * np.matmul(H(vh), np.matmul(np.where(keep, on, -pairs * inside), H(u)))


def _adjugate_bend(a: Any, t: Any, d: Any) -> Any:
    """The second derivative of adj(A), along T and D: symmetric in them. A must be regular here."""
    inverted = inverse(a)
    it, id_ = np.matmul(inverted, t), np.matmul(inverted, d)
    both, turned = np.matmul(it, id_), np.matmul(id_, it)
    factor = trace(it) * trace(id_) - trace(both)
    inside = both + turned - scalars(trace(id_)) * it - scalars(trace(it)) * id_
    return scalars(np.linalg.det(a)) * (scalars(factor) * inverted + np.matmul(inside, inverted))


general(
    np.linalg.det,
    reverse={"a": lambda g, a: scalars(g) * H(adjugate(a))},
    forward={"a": lambda t, a: np.sum(swap(adjugate(a)) * t, axis=(-2, -1))},
)
general(
    adjugate,
    reverse={"a": lambda g, a: H(adjugate_slope(a, H(g)))},
    forward={"a": lambda t, a: adjugate_slope(a, t)},
)
general(
    adjugate_slope,
    reverse={
        "a": lambda g, a, t: H(_adjugate_bend(a, H(g), t)),
        "t": lambda g, a: H(adjugate_slope(a, H(g))),
    },
    forward={"a": lambda d, a, t: _adjugate_bend(a, t, d), "t": lambda d, a: adjugate_slope(a, d)},
)


def _slogdet_pull(g: Any, a: Any, y: Any) -> Any:
    """log|det A| has cotangent A^-H; the phase of a complex determinant turns by Im tr(A^-1 dA)."""
    g_sign, g_log = g
    if a.dtype.kind == "c":
        g_log = g_log + 1j * np.imag(g_sign * np.conj(y[0]))
    return scalars(g_log) * H(inverse(a))


def _slogdet_push(t: Any, a: Any, y: Any) -> Any:
    change = trace(solve(a, t))
    if a.dtype.kind == "c":
        return y[0] * (1j * np.imag(change)), np.real(change)
    return np.zeros_like(y[0]), change


general(
    np.linalg.slogdet,
    reverse={"a": _slogdet_pull},
    forward={"a": _slogdet_push},
    outputs=None,
    name="LinalgSlogdet",
)

# ---- Cholesky ----------------------------------------------------------------------------------


def _half_lower(x: Any) -> Any:
    """The lower triangle, with half the diagonal."""
    return np.where(eye_like(x), x / 2, np.tril(x))


def _cholesky_pull(g: Any, y: Any, upper: bool) -> Any:
    """A = L L^H:  A_bar = L^-H half(L^H L_bar) L^-1, its Hermitian part (Murray, 2016)."""
    L, g = (H(y), H(g)) if upper else (y, g)
    inside = _half_lower(np.matmul(H(L), g))
    left = solve_triangular(H(L), inside, True)
    return hermitian(H(solve_triangular(H(L), H(left), True)))


def _cholesky_push(t: Any, y: Any, upper: bool) -> Any:
    L = H(y) if upper else y
    inside = solve_triangular(L, H(solve_triangular(L, hermitian(t), False)), False)
    change = np.matmul(L, _half_lower(H(inside)))
    return H(change) if upper else change


general(
    np.linalg.cholesky,
    reverse={"a": _cholesky_pull},
    forward={"a": _cholesky_push},
    name="LinalgCholeskyEx",
)

# ---- QR ----------------------------------------------------------------------------------------


def _right_solved(x: Any, r: Any) -> Any:
    """X R^-H, of an upper triangular R."""
    return H(solve_triangular(r, H(x), True))


def _qr_tall_pull(g_q: Any, g_r: Any, q: Any, r: Any) -> Any:
    """Walter and Lehmann (2010); Seeger et al. (2017). The diagonal of R is real."""
    x = np.triu(np.matmul(g_r, H(r)) - np.matmul(H(q), g_q))
    symmetric = np.where(eye_like(x), np.real(x), x + H(x))
    return _right_solved(g_q + np.matmul(q, symmetric), r)


def _square_q(a_shape: Any, mode: str) -> None:
    if mode == "complete" and a_shape[-2] > a_shape[-1]:
        raise MissingRuleError(
            "linalg_qr_backward: The QR decomposition is not differentiable when mode='complete' "
            f"and nrows > ncols, as for the shape {list(a_shape)}: the last columns of Q are "
            "arbitrary. Use mode='reduced'."
        )


def _qr_pull(g: Any, y: Any, a_shape: Any, mode: str) -> Any:
    _square_q(a_shape, mode)
    (g_q, g_r), (q, r) = g, y
    m, n = a_shape[-2:]
    if m >= n:
        return _qr_tall_pull(g_q, g_r, q, r)
    # A = [A1 A2]: the square A1 = Q R1, then R2 = Q^H A2.
    r1, r2, g1, g2 = r[..., :m], r[..., m:], g_r[..., :m], g_r[..., m:]
    g_q = g_q + np.matmul(q, np.matmul(r2, H(g2)))
    return np.concatenate([_qr_tall_pull(g_q, g1, q, r1), np.matmul(q, g2)], -1)


def _qr_push(t: Any, y: Any, a_shape: Any, mode: str) -> Any:
    _square_q(a_shape, mode)
    q, r = y
    m, n = a_shape[-2:]
    k = min(m, n)
    r1 = r[..., :k]
    outside = H(solve_triangular(H(r1), H(t[..., :k]), False))  # dA1 R1^-1 = dQ + Q dR1 R1^-1
    x = np.matmul(H(q), outside)
    x = np.where(eye_like(x), np.real(x), np.triu(x + H(x), 1))
    dq, dr = outside - np.matmul(q, x), np.matmul(x, r1)
    if m < n:
        rest = np.matmul(H(q), t[..., k:]) + np.matmul(H(dq), np.matmul(q, r[..., k:]))
        dr = np.concatenate([dr, rest], -1)
    return dq, dr


general(
    np.linalg.qr,
    reverse={"a": _qr_pull},
    forward={"a": _qr_push},
    arguments=("a", "mode"),
    outputs=None,
    name="LinalgQr",
)

# ---- LU ----------------------------------------------------------------------------------------


@primitive
def lu_unpivoted(x: Any, packed: Any = None) -> Any:
    """L and U in one matrix, for square matrices whose rows are in the order of their pivots.

    Whoever found that order has the factors already, and passes them as `packed`.
    """
    if packed is not None:
        return packed
    out = np.array(x)
    for k in range(out.shape[-1] - 1):
        out[..., k + 1 :, k] /= out[..., k, k, None]
        out[..., k + 1 :, k + 1 :] -= out[..., k + 1 :, k, None] * out[..., k, None, k + 1 :]
    return out


def _lu_pull(g: Any, y: Any) -> Any:
    """A_bar = L^-H (lower(L^H L_bar) + upper(U_bar U^H)) U^-H."""
    lower = np.where(eye_like(y), 1, np.tril(y))
    inside = np.tril(np.matmul(H(lower), np.tril(g, -1)), -1)
    inside = inside + np.triu(np.matmul(np.triu(g), H(np.triu(y))))
    left = solve_triangular(H(y), inside, True, True)  # L^H has ones on its diagonal
    return _right_solved(left, y)


def _lu_push(t: Any, y: Any) -> Any:
    x = solve_triangular(y, t, False, True)
    x = H(solve_triangular(H(y), H(x), False))  # L^-1 dA U^-1
    lower = np.where(eye_like(y), 1, np.tril(y))
    return np.matmul(lower, np.tril(x, -1)) + np.matmul(np.triu(x), np.triu(y))


general(
    lu_unpivoted, reverse={"x": _lu_pull}, forward={"x": _lu_push}, name="LinalgLuFactorEx", axes=()
)


@primitive
def pivoted(a: Any) -> Any:
    """LAPACK's LU: both factors in one matrix, and for each row the one that it was exchanged
    with, counted from 1. Constants; `lu_unpivoted` has the derivative."""
    (getrf,) = _lapack(a, "getrf")
    many = a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])
    packed = np.empty_like(many)
    pivots = np.empty((len(many), min(a.shape[-2:])), np.int32)
    for k, matrix in enumerate(many):
        if matrix.size:
            packed[k], pivots[k], _ = getrf(matrix)
    return packed.reshape(a.shape), (pivots + np.int32(1)).reshape(*a.shape[:-2], pivots.shape[1])


def zero_at(packed: Any) -> Any:
    """For each matrix 0, or the place of the first 0 on its diagonal, counted from 1."""
    before = np.sum(np.cumprod(diagonal(packed) != 0, -1), -1)
    return ((before + 1) % (min(packed.shape[-2:]) + 1)).astype(np.int32)


@primitive
def ldl_factored(a: Any, hermitian: bool) -> Any:
    """LAPACK's L D L^T of matrices, packed, its exchanges of rows, and its codes."""
    (factor,) = _lapack(a, "hetrf" if hermitian and a.dtype.kind == "c" else "sytrf")
    packed, info = np.empty_like(a), np.zeros(a.shape[:-2], np.int32)
    pivots = np.empty(a.shape[:-1], np.int32)
    for place in np.ndindex(*a.shape[:-2]):
        if a[place].size:
            packed[place], pivots[place], info[place] = factor(a[place], lower=True)
    return np.tril(packed), pivots, info


def _like_b(packed: Any, pivots: Any, b: Any, hermitian: bool) -> Any:
    return np.empty_like(b)


@functools.partial(primitive, result=_like_b)  # LAPACK does not check exchanges
def ldl_solved(packed: Any, pivots: Any, b: Any, hermitian: bool) -> Any:
    """X with A X = B, from what `ldl_factored` gives."""
    (solve,) = _lapack(packed, "hetrs" if hermitian and packed.dtype.kind == "c" else "sytrs")
    x = np.array(b)
    for place in np.ndindex(*x.shape[:-2]):
        if x[place].size:
            x[place], _ = solve(packed[place], pivots[place], x[place], lower=True)
    return x


@primitive
def indefinite_at(a: Any, upper: bool) -> Any:
    """For each matrix 0, or the order of the first leading minor that is not positive definite."""
    info = np.zeros(a.shape[:-2], np.int32)
    try:
        np.linalg.cholesky(a, upper=upper)
    except np.linalg.LinAlgError:
        for place in np.ndindex(*info.shape):
            info[place] = _first_indefinite(a[place], upper)
    return info


def _first_indefinite(a: Any, upper: bool) -> int:
    for k in range(1, len(a) + 1):
        try:
            np.linalg.cholesky(a[:k, :k], upper=upper)
        except np.linalg.LinAlgError:
            return k
    return 0


@primitive
def order_of(pivots: Any, n: int) -> Any:
    """The rows of A in the order in which L U has them, from LAPACK's exchanges."""
    many = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    order = np.tile(np.arange(n), (len(many), 1))
    rows = np.arange(len(many))
    for i in range(many.shape[-1]):
        j = many[:, i] - 1
        order[rows, i], order[rows, j] = order[rows, j], order[rows, i]
    return order.reshape(*pivots.shape[:-1], n)


# ---- eigenvectors in a compiled program ---------------------------------------------------------


def complex_eig(a: Any) -> Any:
    """`np.linalg.eig` with complex results, also where all eigenvalues are real: NumPy's dtype
    depends on the numbers, which are not known while a function is compiled.
    """
    w, v = np.linalg.eig(a)
    kind = np.result_type(a.dtype, np.complex64)
    return w.astype(kind, copy=False), v.astype(kind, copy=False)


# ---- pseudo-inverse, least squares -------------------------------------------------------------
#
# Golub and Pereyra (1973): for matrices of constant rank, with P = A^+,
#   dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P.


@primitive
def pinv(a: Any, rcond: Any, hermitian: bool = False) -> Any:
    """The pseudo-inverse; singular values below rcond times the largest count as 0."""
    shape = np.broadcast_shapes(a.shape[:-2], np.shape(rcond))
    return np.linalg.pinv(np.broadcast_to(a, (*shape, *a.shape[-2:])), rcond, hermitian)


def _pinv_pull(g: Any, a: Any, y: Any) -> Any:
    ph = H(y)
    first = np.matmul(y, np.matmul(ph, g))
    second = np.matmul(np.matmul(g, ph), y)
    first = first - np.matmul(np.matmul(first, a), y)
    second = second - np.matmul(y, np.matmul(a, second))
    return unbroadcast(H(first + second) - np.matmul(ph, np.matmul(g, ph)), a.shape)


def _pinv_push(t: Any, a: Any, y: Any) -> Any:
    ph, th = H(y), H(t)
    first = np.matmul(np.matmul(y, ph), th)
    second = np.matmul(th, np.matmul(ph, y))
    first = first - np.matmul(np.matmul(first, a), y)
    second = second - np.matmul(y, np.matmul(a, second))
    return first + second - np.matmul(y, np.matmul(t, y))


general(
    pinv, reverse={"a": _pinv_pull}, forward={"a": _pinv_push}, name="LinalgPinv",
    constants=("rcond",), unstated=("rcond",),
)  # fmt: skip


@primitive
def least_squares(a: Any, b: Any, rcond: Any) -> Any:
    """The x of least norm among those that make |A x - b| least: A^+ b, without forming A^+."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    keep = s > np.expand_dims(rcond, -1) * s[..., :1]
    scale = np.where(keep, 1 / np.where(keep, s, 1), 0)
    return np.matmul(H(vh), np.expand_dims(scale, -1) * np.matmul(H(u), b))


def _least_squares_pull_a(g: Any, a: Any, b: Any, y: Any, rcond: Any) -> Any:
    p = pinv(a, rcond)
    pg = np.matmul(H(p), g)
    rest = b - np.matmul(a, y)
    outside = g - np.matmul(H(a), pg)  # (1 - P A) g; it is Hermitian
    within = np.matmul(rest, H(np.matmul(p, pg))) - np.matmul(pg, H(y))
    return unbroadcast(within + np.matmul(np.matmul(H(p), y), H(outside)), a.shape)


def _least_squares_push_a(t: Any, a: Any, b: Any, y: Any, rcond: Any) -> Any:
    p, th = pinv(a, rcond), H(t)
    inside = np.matmul(th, np.matmul(H(p), y))
    outside = np.matmul(p, np.matmul(H(p), np.matmul(th, b - np.matmul(a, y))) - np.matmul(t, y))
    return outside + inside - np.matmul(p, np.matmul(a, inside))


general(
    least_squares,
    reverse={
        "a": _least_squares_pull_a,
        "b": lambda g, a, b_shape, rcond: unbroadcast(np.matmul(H(pinv(a, rcond)), g), b_shape),
    },
    forward={"a": _least_squares_push_a, "b": lambda t, a, rcond: least_squares(a, t, rcond)},
    name="LinalgLstsq",
    constants=("rcond",),
    unstated=("rcond",),
)

# ---- the matrix exponential --------------------------------------------------------------------


@primitive
def matrix_exp(a: Any) -> Any:
    """exp(A) = 1 + A + A^2 / 2 + ..., by scaling and squaring (Al-Mohy and Higham, 2009)."""
    from scipy.linalg import expm

    return expm(a).astype(a.dtype, copy=False) if a.size else np.array(a)


def matrix_exp_slope(a: Any, t: Any) -> Any:
    """d exp(A) along T: the corner of exp([[A, T], [0, A]]) (Najfeld and Havel, 1995)."""
    n = a.shape[-1]
    upper = np.concatenate([a, t], -1)
    lower = np.concatenate([np.zeros_like(a), a], -1)
    return matrix_exp(np.concatenate([upper, lower], -2))[..., :n, n:]


general(
    matrix_exp,
    reverse={"a": lambda g, a: matrix_exp_slope(H(a), g)},
    forward={"a": lambda t, a: matrix_exp_slope(a, t)},
    name="LinalgMatrixExp",
)
