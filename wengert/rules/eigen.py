"""Eigenvalues and singular values, with their vectors. Read `linalg.py` first.

Vectors are determined up to a phase (real ones up to a sign). NumPy picks one, by conventions of
LAPACK's that are no function of the matrix one would want to differentiate; so derivatives are
given for what does not depend on it, and a cotangent of complex vectors that does depend on it is
refused, as in PyTorch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dispatch import known
from wengert.errors import GradError, MissingRuleError
from wengert.rules.fft import fitting
from wengert.rules.linalg import H, diagonal, embedded, eye_like, hermitian
from wengert.rules.rule import general


def _gaps(w: Any) -> Any:
    """w_j - w_i, off the diagonal."""
    return np.expand_dims(w, -2) - np.expand_dims(w, -1)


def _off_diagonal(x: Any, gaps: Any) -> Any:
    """x / gaps off the diagonal, 0 on it; 0 / 0 is 0: that part of the vectors nobody asked for."""
    on = eye_like(x)
    x = np.where(on, 0, x)
    return x / np.where(on | ((x == 0) & (gaps == 0)), 1, gaps)


def _over(x: Any, s: Any) -> Any:
    """x / s, where 0 / 0 is 0."""
    return x / np.where((s == 0) & (x == 0), 1, s)


def _refuse_phase(name: str, vectors: str, phase: Any, other: Any = 0.0) -> None:
    """GradError if a cotangent turns complex vectors along their own phase."""
    while hasattr(phase, "_array"):  # in a recorded pass these are Tensors
        phase = phase._array
    if known(phase) and not np.allclose(phase, other, rtol=1e-2, atol=1e-2):
        raise GradError(
            f"{name}_backward: The {vectors} in the complex case are specified up to "
            "multiplication by e^{i phi}. The specified loss function depends on this quantity, so "
            "it is ill-defined. Use what does not depend on phi, such as abs() of the vectors, or "
            "products in which it cancels."
        )


# ---- Hermitian matrices ------------------------------------------------------------------------


def _eigh_pull(g: Any, y: Any) -> Any:
    """A_bar = V (diag(w_bar) + skew(V^H V_bar) / gaps) V^H (Giles, 2008)."""
    (g_w, g_v), (w, v) = g, y
    inside = np.matmul(H(v), g_v)
    if inside.dtype.kind == "c":
        _refuse_phase("linalg_eigh", "eigenvectors", np.imag(diagonal(inside)))
    turn = _off_diagonal((inside - H(inside)) / 2, _gaps(w))
    return np.matmul(np.matmul(v, embedded(g_w) + turn), H(v))


def _eigh_push(t: Any, y: Any) -> Any:
    w, v = y
    inside = np.matmul(H(v), np.matmul(hermitian(t), v))
    return np.real(diagonal(inside)), np.matmul(v, _off_diagonal(inside, _gaps(w)))


general(
    np.linalg.eigh,
    reverse={"a": _eigh_pull},
    forward={"a": _eigh_push},
    arguments=("a", "UPLO"),
    outputs=None,
    name="LinalgEigh",
)


def _eigvalsh_pull(g: Any, a: Any, UPLO: Any) -> Any:
    v = np.linalg.eigh(a, UPLO)[1]
    return np.matmul(v * np.expand_dims(g, -2), H(v))


def _eigvalsh_push(t: Any, a: Any, UPLO: Any) -> Any:
    v = np.linalg.eigh(a, UPLO)[1]
    return np.real(np.sum(np.conj(v) * np.matmul(hermitian(t), v), axis=-2))


general(
    np.linalg.eigvalsh,
    reverse={"a": _eigvalsh_pull},
    forward={"a": _eigvalsh_push},
    arguments=("a", "UPLO"),
    name="LinalgEigh",
)

# ---- any square matrix -------------------------------------------------------------------------
#
# np.linalg.eigvals has no rule: LAPACK may give eigenvalues in another order when it is not asked
# for vectors, so that they are taken from np.linalg.eig where a derivative is wanted.


def _eig_pull(g: Any, y: Any, a_dtype: Any) -> Any:
    """A_bar = V^-H (diag(w_bar) + P / conj(gaps)) V^H, P = V^H V_bar - V^H V Re diag(V^H V_bar).

    Boeddeker et al. (2017), for eigenvectors of norm 1.
    """
    (g_w, g_v), (w, v) = g, y
    inside = np.matmul(H(v), g_v)
    if inside.dtype.kind == "c":
        _refuse_phase("linalg_eig", "eigenvectors", np.imag(diagonal(inside)))
    stretch = np.matmul(H(v), v) * np.expand_dims(np.real(diagonal(inside)), -2)
    turn = _off_diagonal(inside - stretch, np.conj(_gaps(w)))
    return fitting(np.linalg.solve(H(v), np.matmul(embedded(g_w) + turn, H(v))), a_dtype)


def _eig_push(t: Any, y: Any) -> Any:
    w, v = y
    inside = np.linalg.solve(v, np.matmul(t, v))
    turned = np.matmul(v, _off_diagonal(inside, _gaps(w)))
    growth = np.real(np.sum(np.conj(v) * turned, axis=-2))
    return diagonal(inside), turned - v * np.expand_dims(growth, -2)


general(
    np.linalg.eig,
    reverse={"a": _eig_pull},
    forward={"a": _eig_push},
    outputs=None,
    name="LinalgEig",
)


# ---- singular values ---------------------------------------------------------------------------


def _svd_pull(g: Any, y: Any) -> Any:
    """With K = skew(U^H U_bar) / gaps, L = skew(V^H V_bar) / gaps, gaps those of s^2:

    A_bar = U (K S + S L + diag(s_bar)) V^H + (1 - U U^H) U_bar S^-1 V^H
            + U S^-1 V_bar^H (1 - V V^H).

    Vectors beyond the smaller size of A, which are arbitrary, are left out.
    """
    u, s, vh = y
    k = s.shape[-1]
    u, vh, g_u, g_v = u[..., :k], vh[..., :k, :], g[0][..., :k], H(g[2][..., :k, :])
    left, right = np.matmul(H(u), g_u), np.matmul(vh, g_v)
    rows, columns = np.expand_dims(s, -1), np.expand_dims(s, -2)
    gaps = (columns - rows) * (columns + rows)  # of the squares, without cancellation
    inside = (
        _off_diagonal(left - H(left), gaps) * columns
        + rows * _off_diagonal(right - H(right), gaps)
        + embedded(g[1])
    )
    if left.dtype.kind == "c":
        turn, back = np.imag(diagonal(left)), -np.imag(diagonal(right))
        _refuse_phase("svd", "singular vectors", turn, back)
        inside = inside + embedded(1j * _over((turn + back) / 2, s))
    result = np.matmul(u, np.matmul(inside, vh))
    if u.shape[-2] > k:
        result = result + np.matmul(_over(g_u - np.matmul(u, left), columns), vh)
    if vh.shape[-1] > k:
        outside = g_v - np.matmul(H(vh), right)
        result = result + np.matmul(u, H(_over(outside, columns)))
    return result


def _svd_push(t: Any, y: Any) -> Any:
    u, s, vh = y
    k = s.shape[-1]
    if u.shape[-1] > k or vh.shape[-2] > k:
        raise MissingRuleError(
            "svd with full_matrices=True has no forward derivative for matrices that are not "
            "square: the vectors beyond the smaller size are arbitrary. Use full_matrices=False."
        )
    v = H(vh)
    inside = np.matmul(H(u), np.matmul(t, v))
    rows, columns = np.expand_dims(s, -1), np.expand_dims(s, -2)
    gaps = (columns - rows) * (columns + rows)
    left, right = inside * columns, rows * inside
    turn, back = _off_diagonal(left + H(left), gaps), _off_diagonal(right + H(right), gaps)
    if t.dtype.kind == "c":
        phase = embedded(1j * _over(np.imag(diagonal(inside)) / 2, s))
        turn, back = turn + phase, back - phase
    du, dv = np.matmul(u, turn), np.matmul(v, back)
    if u.shape[-2] > k:
        du = du + _over(np.matmul(t, v) - np.matmul(u, inside), columns)
    if vh.shape[-1] > k:
        dv = dv + _over(np.matmul(H(t), u) - np.matmul(v, H(inside)), columns)
    return du, np.real(diagonal(inside)), H(dv)


general(
    np.linalg.svd,
    reverse={"a": _svd_pull},
    forward={"a": _svd_push},
    arguments=("a", "full_matrices"),
    outputs=None,
    name="LinalgSvd",
)


def _svdvals_pull(g: Any, x: Any) -> Any:
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return np.matmul(u * np.expand_dims(g, -2), vh)


def _svdvals_push(t: Any, x: Any) -> Any:
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return np.real(np.sum(np.conj(u) * np.matmul(t, H(vh)), axis=-2))


general(
    np.linalg.svdvals, reverse={"x": _svdvals_pull}, forward={"x": _svdvals_push}, name="LinalgSvd"
)
