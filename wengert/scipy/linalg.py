"""`scipy.linalg` on tensors: systems of equations, factors, functions of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from wengert.autograd import primitive
from wengert.dispatch import as_array
from wengert.rules import linalg as rules
from wengert.rules.reductions import conjugated
from wengert.scipy.meaning import meaning, otherwise


def _adjoint(a: Any) -> Any:
    return conjugated(np.swapaxes(a, -1, -2))


def _whole(a: Any, lower: bool) -> Any:
    """A symmetric or Hermitian matrix of which one triangle is given."""
    a = as_array(a)
    strict = np.tril(a, -1) if lower else np.triu(a, 1)
    return strict + _adjoint(strict) + (np.tril(a) - np.tril(a, -1))


_TRIANGLES = {"lower triangular": np.tril, "upper triangular": np.triu}
_SYMMETRIC = {"sym", "symmetric", "her", "hermitian", "pos", "positive definite"}


@meaning("linalg")
def solve(
    a: Any, b: Any, lower: bool = False, assume_a: str | None = None, transposed: bool = False
) -> Any:
    """x with a x = b.

    >>> import wengert as wg
    >>> x = wg.tensor([[2.0, 0.0], [0.0, 4.0]], requires_grad=True)
    >>> solve(x, wg.tensor([2.0, 2.0])).sum().backward()
    >>> x.grad
    tensor([[-0.5000, -0.2500],
            [-0.2500, -0.1250]])
    """
    a, b = as_array(a), as_array(b)
    if assume_a in _SYMMETRIC:
        a = _whole(a, lower)
    elif assume_a in _TRIANGLES:
        a = _TRIANGLES[assume_a](a)
    a = np.swapaxes(a, -1, -2) if transposed else a
    if len(b.shape) == 1:
        return np.linalg.solve(a, b[:, None])[..., 0]
    return np.linalg.solve(a, b)


@meaning("linalg")
def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False
) -> Any:
    """x with a x = b, of which only one triangle is looked at."""
    a = np.tril(as_array(a)) if lower else np.triu(as_array(a))
    if unit_diagonal:
        a = (np.tril(a, -1) if lower else np.triu(a, 1)) + np.eye(a.shape[-1])
    a = np.swapaxes(a, -1, -2) if trans in (1, "T") else _adjoint(a) if trans in (2, "C") else a
    return solve(a, b)


@meaning("linalg")
def inv(a: Any) -> Any:
    """The inverse of a matrix."""
    return np.linalg.inv(a)


@meaning("linalg")
def det(a: Any) -> Any:
    """The determinant of a matrix."""
    return np.linalg.det(a)


@meaning("linalg")
def pinv(a: Any, rtol: Any = None) -> Any:
    """The Moore-Penrose inverse of a matrix."""
    a = as_array(a)
    limit = max(a.shape[-2:]) * np.finfo(a.dtype).eps if rtol is None else rtol
    return np.linalg.pinv(a, limit)


@meaning("linalg")
def cholesky(a: Any, lower: bool = False) -> Any:
    """The triangular factor of a positive definite matrix: the upper one, or the lower."""
    factor = np.linalg.cholesky(_whole(a, lower))
    return factor if lower else _adjoint(factor)


@meaning("linalg")
def cho_factor(a: Any, lower: bool = False) -> Any:
    """The factor of `cholesky`, and which it is, for `cho_solve`."""
    return cholesky(a, lower), lower


@meaning("linalg")
def cho_solve(c_and_lower: Any, b: Any) -> Any:
    """x with a x = b, where `cho_factor` has factored a."""
    c, lower = c_and_lower
    first = solve_triangular(c, b, trans=0 if lower else 2, lower=lower)
    return solve_triangular(c, first, trans=2 if lower else 0, lower=lower)


@meaning("linalg")
def lstsq(a: Any, b: Any, cond: Any = None) -> Any:
    """x with |a x - b| least, the residues, the rank and the singular values."""
    return np.linalg.lstsq(a, b, cond)


@meaning("linalg")
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of a vector or of a matrix."""
    return np.linalg.norm(a, ord, axis, keepdims)


@meaning("linalg")
def eigh(a: Any, b: Any = None, lower: bool = True, eigvals_only: bool = False) -> Any:
    """Eigenvalues and eigenvectors of a Hermitian matrix; of a v = w b v, if b is given."""
    if b is None:
        values, vectors = np.linalg.eigh(_whole(a, lower))
    else:
        half = np.linalg.cholesky(_whole(b, lower))
        inner = solve_triangular(half, _whole(a, lower), lower=True)
        inner = _adjoint(solve_triangular(half, _adjoint(inner), lower=True))
        values, vectors = np.linalg.eigh((inner + _adjoint(inner)) / 2)
        vectors = solve_triangular(_adjoint(half), vectors)
    return values if eigvals_only else (values, vectors)


@meaning("linalg")
def eigvalsh(a: Any, b: Any = None, lower: bool = True) -> Any:
    """The eigenvalues of a Hermitian matrix."""
    return eigh(a, b, lower=lower, eigvals_only=True)


@meaning("linalg")
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular values, and the matrices of the left and right singular vectors."""
    return np.linalg.svd(a, full_matrices) if compute_uv else svdvals(a)


@meaning("linalg")
def svdvals(a: Any) -> Any:
    """The singular values of a matrix."""
    return np.linalg.svd(a, compute_uv=False)


@meaning("linalg")
def qr(a: Any, mode: str = "full") -> Any:
    """Q and R of a matrix; `mode` "economic", or only "r"."""
    a = as_array(a)
    if mode not in ("full", "economic", "r"):
        raise TypeError(
            f"scipy.linalg.qr on tensors does not take mode={mode!r}: it takes 'full', 'economic' "
            "and 'r'"
        )
    if mode == "r":
        r: Any = np.linalg.qr(a, "r")
        below = a.shape[-2] - r.shape[-2]
        return (np.pad(r, [*[(0, 0)] * (len(r.shape) - 2), (0, below), (0, 0)]),)
    return tuple(np.linalg.qr(a, "reduced" if mode == "economic" else "complete"))


@meaning("linalg")
def expm(A: Any) -> Any:
    """The exponential of a matrix.

    >>> import wengert as wg
    >>> expm(wg.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return rules.matrix_exp(A)


@meaning("linalg")
def sqrtm(A: Any) -> Any:
    """The principal square root of a matrix."""
    if len(A.shape) != 2:
        raise TypeError("scipy.linalg.sqrtm on tensors takes one matrix")
    return _sqrtm(A)


@meaning("linalg")
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """x with a x + x b = q."""
    a, b, q = as_array(a), as_array(b), as_array(q)
    m, n = a.shape[0], b.shape[0]
    # (a (x) I + I (x) b^T) vec(x) = vec(q), rows after rows.
    whole = np.kron(a, np.eye(n)) + np.kron(np.eye(m), np.transpose(b))
    return np.reshape(np.linalg.solve(whole, np.reshape(q, (-1, 1))), (m, n))


@meaning("linalg")
def solve_banded(l_and_u: Any, ab: Any, b: Any) -> Any:
    """x with a x = b, where the diagonals of a are the rows of `ab`."""
    below, above = l_and_u
    ab = as_array(ab)
    n = ab.shape[1]
    a: Any = 0.0
    for row, k in enumerate(range(above, -below - 1, -1)):
        a = a + np.diag(ab[row, max(k, 0) : n + min(k, 0)], k)
    return solve(a, b)


@meaning("linalg")
def block_diag(*arrs: Any) -> Any:
    """Matrices along the diagonal of one matrix, and zeros elsewhere."""
    given = [np.atleast_2d(as_array(a)) for a in arrs]
    width, left, rows = sum(a.shape[1] for a in given), 0, []
    for a in given:
        rows.append(np.pad(a, ((0, 0), (left, width - left - a.shape[1]))))
        left += a.shape[1]
    return np.concatenate(rows, 0)


@meaning("linalg")
def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with constant diagonals whose first column is c, and whose first row is r."""
    c = np.atleast_1d(as_array(c))
    r = np.conj(c) if r is None else np.atleast_1d(as_array(r))
    m, n = c.shape[-1], r.shape[-1]
    batch = np.broadcast_shapes(tuple(c.shape[:-1]), tuple(r.shape[:-1]))
    c, r = np.broadcast_to(c, (*batch, m)), np.broadcast_to(r, (*batch, n))
    values = np.concatenate([np.flip(c, -1), r[..., 1:]], axis=-1)
    return values[..., m - 1 - np.arange(m)[:, None] + np.arange(n)]


@meaning("linalg")
def circulant(c: Any) -> Any:
    """The matrix each of whose columns is the one before, shifted down and around."""
    c = as_array(c)
    n = c.shape[-1]
    return c[..., (np.arange(n)[:, None] - np.arange(n)) % n]


def _sqrtm_pulled(g: Any, y: Any) -> Any:
    return solve_sylvester(_adjoint(y), _adjoint(y), g)


@primitive.general(
    reverse={"a": _sqrtm_pulled},
    forward={"a": lambda t, y: solve_sylvester(y, y, t)},  # y dy + dy y = da
    opaque=True,
)
def _sqrtm(a: Any) -> Any:
    return scipy.linalg.sqrtm(a)


__getattr__ = otherwise("linalg")
