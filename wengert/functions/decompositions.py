"""Factorisations of matrices under PyTorch's names, and what solves systems by their factors.

Read `linalg.py` first. Vectors of complex eigenvalues and singular values are determined up to a
phase: a loss that depends on it is refused in the backward pass. Where two eigenvalues, or two
singular values, are equal, derivatives of their vectors are infinite or NaN, as in PyTorch; those
of the values, and of what depends on the values alone, are not.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from wengert.autograd.misfits import told
from wengert.autograd.operands import cast, one_dtype
from wengert.autograd.record import recorder
from wengert.dispatch import primitive, require
from wengert.functions import joining, random, results
from wengert.functions.arguments import constant, takes_out, tensor_of
from wengert.functions.linalg import (
    alike,
    broadcast,
    checked,
    failed,
    inexact,
    matrices,
    solve_triangular,
    square,
    square_system,
    untracked,
)
from wengert.rules import linalg as rules
from wengert.tensor import Tensor, wrap

_cholesky, _qr, _svd = (
    recorder(np.linalg.cholesky),
    recorder(np.linalg.qr),
    recorder(np.linalg.svd),
)
_eigh, _eigvalsh, _eig = (
    recorder(np.linalg.eigh),
    recorder(np.linalg.eigvalsh),
    recorder(np.linalg.eig),
)
_svdvals, _lu = recorder(np.linalg.svdvals), recorder(rules.lu_unpivoted)
_take_along_axis = recorder(np.take_along_axis)


def _adjoint(x: Tensor) -> Tensor:
    return x.mH if x.dtype.kind == "c" else x.mT


# ---- Cholesky ----------------------------------------------------------------------------------


@takes_out
def cholesky(input: Any, *, upper: bool = False) -> Tensor:
    """The lower triangular L with A = L L^H (or the upper U with A = U^H U) of a positive definite
    matrix; `LinAlgError` if it is not. Only that triangle of A is read; the gradient is Hermitian.

    >>> import wengert as wg
    >>> wg.linalg.cholesky(wg.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return _cholesky(square(input, "linalg.cholesky"), upper)


@takes_out
def cholesky_ex(
    input: Any, *, upper: bool = False, check_errors: bool = False
) -> results.cholesky_ex_result:
    """What `cholesky` gives, and for each matrix a code: 0, or the order of a leading minor that is
    not positive definite; the factor is NaN there.
    """
    A = square(input, "linalg.cholesky_ex")
    info = rules.indefinite_at(A._array, upper)
    factor = checked(A, info, math.nan, lambda A: _cholesky(A, upper), _INDEFINITE, check_errors)
    return results.cholesky_ex_result(factor, constant(info))


_INDEFINITE = (
    "linalg.cholesky_ex: The factorization could not be completed because the input is not "
    "positive-definite (the leading minor of order {0} is not positive-definite)."
)


@told
def old_cholesky(input: Any, upper: bool = False, *, out: Any = None) -> Tensor:
    """`linalg.cholesky`, under its older signature."""
    return cholesky(input, upper=upper, out=out)


@takes_out
def cholesky_solve(B: Any, L: Any, upper: bool = False) -> Tensor:
    """X with A X = B, from the Cholesky factor of A: two triangular systems."""
    B, L = matrices(B, "cholesky_solve", "B"), square(L, "cholesky_solve", "L")
    if L.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"cholesky_solve: Incompatible matrix sizes: the factor is {list(L.shape)}, B is "
            f"{list(B.shape)}"
        )
    first, second = (_adjoint(L), L) if upper else (L, _adjoint(L))
    return solve_triangular(second, solve_triangular(first, B, upper=False), upper=True)


@takes_out
def cholesky_inverse(input: Any, upper: bool = False) -> Tensor:
    """The inverse of A, from its Cholesky factor."""
    L = square(input, "cholesky_inverse", "L")
    return cholesky_solve(wrap(np.eye(L.shape[-1], dtype=L.dtype)), L, upper)


# ---- QR ----------------------------------------------------------------------------------------


@takes_out
def qr(A: Any, mode: str = "reduced") -> results.qr_result:
    """A = Q R: Q with orthonormal columns, R upper triangular.

    `mode` "reduced" gives Q the shape (m, min(m, n)), "complete" (m, m), and "r" leaves Q empty.
    Differentiable if the first min(m, n) columns of A are independent (Walter and Lehmann, 2010).
    """
    A = matrices(A, "linalg.qr")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    Q, R = _qr(A, "reduced" if mode == "r" else mode)
    return results.qr_result(constant(np.empty(0, A.dtype)) if mode == "r" else Q, R)


@told
def old_qr(input: Any, some: bool = True, *, out: Any = None) -> results.old_qr_result:
    """`linalg.qr`, under its older signature."""
    return results.old_qr_result(*qr(input, "reduced" if some else "complete", out=out))


@told
def householder_product(input: Any, tau: Any, *, out: Any = None) -> Tensor:
    """The first n columns of H_1 H_2 ... H_k, with H_i = 1 - tau_i v_i v_i^H.

    v_i is column i of the input below its diagonal, with a 1 on it and zeros above: what `geqrf`
    returns.
    """
    name = "linalg.householder_product"
    A, tau = matrices(input, name), inexact(tau, name, "tau")
    one_dtype(name, (A, tau))
    m, n = A.shape[-2:]
    if m < n:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1], got "
            f"{list(A.shape)}"
        )
    if tau.shape[-1] > n:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1], got {n} and "
            f"{tau.shape[-1]}"
        )
    start = np.broadcast_to(np.eye(m, n, dtype=A.dtype), A.shape)
    product = _reflected(A, tau, wrap(np.array(start)), reversed(range(tau.shape[-1])))
    return product if out is None else out.resize_(product.shape).copy_(product)


orgqr = householder_product


def _reflected(A: Tensor, tau: Tensor, x: Tensor, order: Any, adjoint: bool = False) -> Tensor:
    """Reflections of the columns of x, one after the other."""
    below = A.tril(-1)
    for i in order:
        one = np.zeros((A.shape[-2], 1), A.dtype)
        one[i] = 1
        v = below[..., :, i : i + 1] + wrap(one)
        scale = tau[..., i, None, None]
        if adjoint and scale.dtype.kind == "c":
            scale = scale.conj()
        x = x - scale * (v @ (_adjoint(v) @ x))
    return x


@takes_out
def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Tensor:
    """Q C, or Q^H C if `transpose`, or C Q and C Q^H if not `left`, Q as `geqrf` represents it."""
    A, C = matrices(input, "ormqr"), matrices(other, "ormqr", "other")
    alike("ormqr", A, C)
    if C.shape[-2 if left else -1] != A.shape[-2]:
        raise RuntimeError(
            f"ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2], got "
            f"{list(C.shape)} and {list(A.shape)}"
        )
    tau = inexact(tau, "ormqr", "tau")
    k = range(tau.shape[-1])
    if left:
        return _reflected(A, tau, C, k if transpose else reversed(k), transpose)
    return _adjoint(_reflected(A, tau, _adjoint(C), reversed(k) if transpose else k, not transpose))


@takes_out
def geqrf(input: Any) -> results.geqrf_result:
    """Householder's form of QR: R on and above the diagonal, the reflections below it and in tau.

    A constant; `linalg.qr` is differentiable.
    """
    A = matrices(input, "geqrf")
    a = untracked(A, "geqrf", "Use linalg.qr, or pass x.detach().")
    return results.geqrf_result(*map(constant, _reflections(a)))


@functools.partial(primitive, opaque=True)
def _reflections(a: Any) -> tuple[Any, Any]:
    from scipy.linalg.lapack import get_lapack_funcs

    (factor,) = get_lapack_funcs(("geqrf",), (a,))
    packed = np.empty_like(a)
    tau = np.empty((*a.shape[:-2], min(a.shape[-2:])), a.dtype)
    for place in np.ndindex(*a.shape[:-2]):
        if a[place].size:
            packed[place], tau[place], _, _ = factor(a[place])
    return packed, tau


# ---- eigenvalues -------------------------------------------------------------------------------


def _triangle(UPLO: str, name: str) -> str:
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"{name}: Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper()


@takes_out
def eigh(input: Any, UPLO: str = "L") -> results.eigh_result:
    """A = V diag(w) V^H of a Hermitian matrix: its real eigenvalues, in ascending order, and
    orthonormal eigenvectors, the columns of V. Only one triangle of A is read.

    >>> import wengert as wg
    >>> wg.linalg.eigh(wg.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    A = square(input, "linalg.eigh")
    return results.eigh_result(*_eigh(A, _triangle(UPLO, "linalg.eigh")))


@takes_out
def eigvalsh(input: Any, UPLO: str = "L") -> Tensor:
    """The eigenvalues of a Hermitian matrix, in ascending order; the gradient is V diag(g) V^H."""
    return _eigvalsh(square(input, "linalg.eigvalsh"), _triangle(UPLO, "linalg.eigvalsh"))


@takes_out
def eig(input: Any) -> results.eig_result:
    """A V = V diag(w): eigenvalues and eigenvectors of norm 1, complex, in no particular order.

    Differentiable where the eigenvalues are distinct (Boeddeker et al., 2017).
    """
    A = square(input, "linalg.eig")
    kind = np.result_type(A.dtype, np.complex64)
    w, v = _eig(A)
    return results.eig_result(cast(w, kind), cast(v, kind))


@takes_out
def eigvals(input: Any) -> Tensor:
    """The eigenvalues of a square matrix, complex, in no particular order."""
    return eig(square(input, "linalg.eigvals"))[0]


# ---- singular values ---------------------------------------------------------------------------


def _driver(driver: str | None, name: str) -> None:
    if driver is not None:
        raise RuntimeError(
            f"{name}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER "
            f"backend, got {driver!r}. Leave it out."
        )


@takes_out
def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> results.svd_result:
    """A = U diag(S) Vh, the singular values in descending order.

    U is (m, m) and Vh (n, n), or (m, k) and (k, n) with k = min(m, n) unless `full_matrices`; what
    is beyond k is arbitrary and gets no gradient (Giles, 2008).
    """
    _driver(driver, "linalg.svd")
    return results.svd_result(*_svd(matrices(A, "linalg.svd"), full_matrices))


@takes_out
def svdvals(A: Any, *, driver: str | None = None) -> Tensor:
    """The singular values, in descending order. Their gradient is U diag(g) Vh."""
    _driver(driver, "linalg.svdvals")
    return _svdvals(matrices(A, "linalg.svdvals"))


@takes_out
def old_svd(input: Any, some: bool = True, compute_uv: bool = True) -> results.old_svd_result:
    """`linalg.svd` under its older signature: V instead of its conjugate transpose.

    Without `compute_uv` U and V are zeros.
    """
    A = matrices(input, "svd")
    if compute_uv:
        U, S, Vh = _svd(A, not some)
        return results.old_svd_result(U, S, _adjoint(Vh))
    m, n = A.shape[-2:]
    u, v = (np.zeros((*A.shape[:-2], k, k), A.dtype) for k in (m, n))
    return results.old_svd_result(constant(u), _svdvals(A), constant(v))


def svd_lowrank(
    A: Any, q: int | None = 6, niter: int = 2, M: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The q largest singular values of A - M, with their vectors U and V, approximately.

    From a random sketch of the range, refined by `niter` power iterations (Halko, Martinsson and
    Tropp, 2011, algorithms 4.4 and 5.1).
    """
    A = matrices(A, "svd_lowrank")
    if M is not None:
        A = A - tensor_of(M)
    q = 6 if q is None else q
    m, n = A.shape[-2:]
    wide = m < n
    if wide:
        A = _adjoint(A)
    sketch = random.randn(*A.shape[:-2], A.shape[-1], q, dtype=A.dtype)
    Q = qr(A @ sketch).Q
    for _ in range(niter):
        Q = qr(A @ qr(_adjoint(A) @ Q).Q).Q
    U, S, Vh = _svd(_adjoint(Q) @ A, False)
    U, V = Q @ U, _adjoint(Vh)
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(
    A: Any, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """The q principal components of the rows of A, as `svd_lowrank`: of A less its mean row."""
    A = matrices(A, "pca_lowrank")
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than {min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


def lobpcg(
    A: Any,
    k: int | None = None,
    B: Any = None,
    X: Any = None,
    n: int | None = None,
    iK: Any = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues of A v = w B v, and their vectors: V^H B V = 1.

    A is Hermitian and B positive definite, the identity if it is left out: with B = L L^H these are
    the eigenvalues of L^-1 A L^-H, and V = L^-H U of its vectors U. PyTorch approaches them from X
    by `niter` iterations with the preconditioner iK, to `tol`; matrices here are dense, and all
    pairs are found at once, to rounding, so that nothing is left for those settings to choose. X
    says how many there are if k does not; one otherwise. Differentiable by A and B.

    Errors: ValueError for a k that A does not have, NotImplementedError for a `tracker`, which is
    called after each iteration.

    >>> import wengert as wg
    >>> values, vectors = wg.lobpcg(wg.tensor([[2.0, 0.0], [0.0, 3.0]]), k=1)
    >>> values, vectors.abs()
    (tensor([3.]), tensor([[0.],
            [1.]]))
    """
    A = square(A, "lobpcg")
    if tracker is not None:
        raise NotImplementedError("lobpcg: there are no iterations that a tracker could follow")
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"lobpcg: method is 'basic' or 'ortho', not {method!r}")
    size = A.shape[-1]
    k = k if k is not None else 1 if X is None else X.shape[-1]
    if not 0 < k <= size:
        raise ValueError(f"lobpcg: k={k} eigenpairs of a matrix of size {size}: from 1 to {size}")
    if B is None:
        values, vectors = eigh(A)
    else:
        L = cholesky(square(B, "lobpcg", "B"))
        left = solve_triangular(L, A, upper=False)
        values, vectors = eigh(solve_triangular(L, left.mH, upper=False))
        vectors = solve_triangular(L.mH, vectors, upper=True)
    if largest or largest is None:
        return values[..., -k:].flip(-1), vectors[..., -k:].flip(-1)
    return values[..., :k], vectors[..., :k]


# ---- LU ----------------------------------------------------------------------------------------


def _factored(A: Any, pivot: bool, name: str) -> tuple[Tensor, Any]:
    """L and U in one tensor, and LAPACK's exchanges of rows."""
    A = matrices(A, name)
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented on the CPU")
    packed, pivots = rules.pivoted(A._array)
    m, n = A.shape[-2:]
    rows = _take_along_axis(A, rules.order_of(pivots, m)[..., None], -2)
    if m == n:
        return _lu(rows, packed), pivots
    k = min(m, n)
    corner = _lu(rows[..., :k, :k], packed[..., :k, :k])
    if m > n:
        return joining.cat(
            [corner, solve_triangular(corner, rows[..., k:, :], upper=True, left=False)], -2
        ), pivots
    rest = solve_triangular(corner, rows[..., k:], upper=False, unitriangular=True)
    return joining.cat([corner, rest], -1), pivots


@takes_out
def lu_factor(A: Any, *, pivot: bool = True) -> results.lu_factor_result:
    """L (below the diagonal) and U in one matrix, and LAPACK's pivots, counted from 1.

    `linalg.lu_solve` solves systems with them.
    """
    LU, pivots = _factored(A, pivot, "linalg.lu_factor")
    return results.lu_factor_result(LU, constant(pivots))


@takes_out
def lu_factor_ex(
    A: Any, *, pivot: bool = True, check_errors: bool = False
) -> results.lu_factor_ex_result:
    """What `lu_factor` gives, and for each matrix a code: 0, or the place of a 0 in U."""
    LU, pivots = _factored(A, pivot, "linalg.lu_factor_ex")
    info = rules.zero_at(LU._array)
    if check_errors:
        require(info == 0, failed, _ZERO_IN_U, info)
    return results.lu_factor_ex_result(LU, constant(pivots), constant(info))


_ZERO_IN_U = (
    "linalg.lu_factor_ex: U[{0},{0}] is zero and using it on lu_solve would result in a division "
    "by zero."
)


@takes_out
def lu(A: Any, *, pivot: bool = True) -> results.lu_result:
    """A = P L U: a permutation, a lower triangle with ones on its diagonal, an upper one."""
    LU, pivots = _factored(A, pivot, "linalg.lu")
    return results.lu_result(*lu_unpack(LU, constant(pivots)))


@told
def old_lu(
    A: Any, pivot: bool = True, get_infos: bool = False, *, out: Any = None
) -> tuple[Tensor, ...]:
    """`linalg.lu_factor`, under its older signature; with `get_infos` a third result, the codes."""
    return tuple((lu_factor_ex if get_infos else lu_factor)(A, pivot=pivot, out=out))


@takes_out
def lu_unpack(
    LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> results.lu_unpack_result:
    """P, L and U from what `lu_factor` gives; what is not asked for is empty."""
    LU = matrices(LU_data, "lu_unpack", "LU_data")
    pivots = _pivots(LU_pivots, "lu_unpack")
    m, n = LU.shape[-2:]
    k = min(m, n)
    empty = constant(np.empty(0, LU.dtype))
    P = L = U = empty
    if unpack_data:
        L = LU[..., :k].tril(-1) + wrap(np.eye(m, k, dtype=LU.dtype))
        U = LU[..., :k, :].triu()
    if unpack_pivots:
        order = rules.order_of(pivots, m)
        P = constant((order[..., None, :] == np.arange(m)[:, None]).astype(LU.dtype))
    return results.lu_unpack_result(P, L, U)


def _pivots(pivots: Any, name: str) -> Any:
    pivots = tensor_of(pivots, "pivots")
    if pivots.dtype != np.int32:
        raise RuntimeError(
            f"{name}: pivots are expected to be of dtype int32, as lu_factor gives them, got "
            f"{pivots.dtype}. Convert them, as in pivots.int()."
        )
    return pivots._array


@takes_out
def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with A X = B, A^H X = B if `adjoint`, X A = B or X A^H = B if not `left`, by factors of A.

    `LU` and `pivots` are what `lu_factor` gives.
    """
    name = "linalg.lu_solve"
    LU, B = square_system(LU, B, name, left, "LU")
    batch = broadcast(name, LU, B)
    if not left:
        return _adjoint(lu_solve(LU, pivots, _adjoint(B), adjoint=not adjoint))
    order = rules.order_of(_pivots(pivots, name), LU.shape[-1])
    B = B.expand(*batch, *B.shape[-2:])
    if not adjoint:
        rows = _taken(B, order)
        lower = solve_triangular(LU, rows, upper=False, unitriangular=True)
        return solve_triangular(LU, lower, upper=True)
    turned = _adjoint(LU)
    upper = solve_triangular(turned, B, upper=False)
    return _taken(
        solve_triangular(turned, upper, upper=True, unitriangular=True), np.argsort(order)
    )


def _taken(x: Tensor, order: Any) -> Tensor:
    places = np.broadcast_to(order[..., None], x.shape)
    return _take_along_axis(x, places, -2)


@takes_out
def old_lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Tensor:
    """`linalg.lu_solve`, with its arguments in their older order."""
    return lu_solve(LU_data, LU_pivots, b)


@takes_out
def triangular_solve(
    b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> results.triangular_solve_result:
    """`linalg.solve_triangular` under its older signature; the second result is A."""
    B, A = matrices(b, "triangular_solve", "b"), square(A, "triangular_solve")
    turned, side = (A.mT, not upper) if transpose else (A, upper)
    X = solve_triangular(turned, B, upper=side, unitriangular=unitriangular)
    return results.triangular_solve_result(X, A.clone())


# ---- L D L^H -----------------------------------------------------------------------------------


@takes_out
def ldl_factor(input: Any, *, hermitian: bool = False) -> results.ldl_factor_result:
    """L D L^T (L D L^H if `hermitian`) of a symmetric matrix that need not be definite, as LAPACK
    packs it (Bunch and Kaufman, 1977): for `linalg.ldl_solve`. A constant.
    """
    LD, pivots, _ = ldl_factor_ex(input, hermitian=hermitian)
    return results.ldl_factor_result(LD, pivots)


@takes_out
def ldl_factor_ex(
    input: Any, *, hermitian: bool = False, check_errors: bool = False
) -> results.ldl_factor_ex_result:
    """What `ldl_factor` gives, and for each matrix a code: 0, or the place of a 0 in D."""
    A = square(input, "linalg.ldl_factor_ex")
    a = untracked(A, "linalg.ldl_factor", "Use linalg.lu_factor, or pass x.detach().")
    LD, pivots, info = rules.ldl_factored(a, hermitian)
    if check_errors:
        require(info == 0, failed, "linalg.ldl_factor_ex: D[{0},{0}] is zero.", info)
    return results.ldl_factor_ex_result(*map(constant, (LD, pivots, info)))


@takes_out
def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False) -> Tensor:
    """X with A X = B, from what `ldl_factor` gives. A constant."""
    name = "linalg.ldl_solve"
    LD, B = square(LD, name, "LD"), matrices(B, name, "B")
    alike(name, LD, B)
    batch = broadcast(name, LD, B)
    instead = "Use linalg.solve, or pass x.detach()."
    a, b = untracked(LD, name, instead), untracked(B, name, instead)
    a = np.broadcast_to(a, (*batch, *a.shape[-2:]))
    order = np.broadcast_to(_pivots(pivots, name), a.shape[:-1])
    b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    return constant(rules.ldl_solved(a, order, b, hermitian))
