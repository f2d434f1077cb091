"""Linear algebra and Fourier transforms beside PyTorch's: value, dtype, shape, two derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")

from tests.parity.test_operators import compare  # noqa: E402  (needs torch)

RNG = np.random.default_rng(11)


def complexed(x):
    return x + 1j * RNG.normal(size=x.shape)


def definite(x):
    return x @ np.conj(np.swapaxes(x, -1, -2)) + np.diag(1.0 + np.arange(x.shape[-1]))


S = RNG.normal(size=(3, 3)) + 2 * np.diag([1.0, 2.0, 3.0])  # regular
R = RNG.normal(size=(3, 3))
B = RNG.normal(size=(2, 3, 3)) + 2 * np.eye(3)  # a batch
T = RNG.normal(size=(4, 3)) + np.eye(4, 3)  # tall
W = RNG.normal(size=(2, 4)) + np.eye(2, 4)  # wide
V = RNG.normal(size=3)
U = RNG.normal(size=3)
M = RNG.normal(size=(3, 2))
P = definite(R)
Q = np.stack([P, 2 * P + np.eye(3)])
Z = complexed(S)
ZB = complexed(B)
ZT = complexed(T)
ZV = complexed(V)
ZM = complexed(M)
ZP = definite(complexed(R))
L = np.linalg.cholesky(P)
ZL = np.linalg.cholesky(ZP)
SINGULAR = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.5], [1.0, 2.0, 3.5]])


def sym(x):
    return (x + x.mH) / 2 if x.is_complex() else (x + x.mT) / 2


def invariant(u, s, vh):
    """What of a decomposition does not depend on signs and phases."""
    return s, (u * s.unsqueeze(-2)) @ vh, u.abs(), vh.abs()


CALLS = {
    # systems
    "inv": (lambda t, x: t.linalg.inv(x), S),
    "inv batch": (lambda t, x: t.inverse(x), B),
    "inv complex": (lambda t, x: x.inverse(), Z),
    "inv_ex": (lambda t, x: t.linalg.inv_ex(x), S),
    "inv 0": (lambda t, x: t.linalg.inv(x), np.zeros((0, 0))),
    "solve": (lambda t, x, b: t.linalg.solve(x, b), S, M),
    "solve vector": (lambda t, x, b: t.linalg.solve(x, b), S, V),
    "solve vectors": (lambda t, x, b: t.linalg.solve(x, b), B, R[:2]),
    "solve batch": (lambda t, x, b: t.linalg.solve(x, b), B, M),
    "solve right": (lambda t, x, b: t.linalg.solve(x, b.mT, left=False), S, M),
    "solve complex": (lambda t, x, b: t.linalg.solve(x, b), Z, ZM),
    "solve_ex": (lambda t, x, b: t.linalg.solve_ex(x, b), S, M),
    "solve_triangular": (lambda t, x, b: t.linalg.solve_triangular(x, b, upper=True), S, M),
    "solve_triangular lower": (
        lambda t, x, b: t.linalg.solve_triangular(x, b.mT, upper=False, left=False),
        S,
        M,
    ),
    "solve_triangular unit": (
        lambda t, x, b: t.linalg.solve_triangular(x, b, upper=True, unitriangular=True),
        ZB,
        ZM,
    ),
    "triangular_solve": (lambda t, x, b: t.triangular_solve(b, x), S, M),
    "triangular_solve transpose": (
        lambda t, x, b: b.triangular_solve(x, upper=False, transpose=True),
        S,
        M,
    ),
    "lstsq": (lambda t, x, b: t.linalg.lstsq(x, b).solution, T, RNG.normal(size=(4, 2))),
    "lstsq wide": (lambda t, x, b: t.linalg.lstsq(x, b)[0], W, M[:2]),
    "lstsq vector": (
        lambda t, x, b: t.linalg.lstsq(x, b)[0],
        T,
        RNG.normal(size=(1, 4))[0][:, None],
    ),
    "lstsq parts": (
        lambda t, x, b: t.linalg.lstsq(x.detach(), b.detach(), driver="gelsd"),
        T,
        RNG.normal(size=(4, 2)),
    ),
    "pinv": (lambda t, x: t.linalg.pinv(x), T),
    "pinv wide": (lambda t, x: x.pinverse(), W),
    "pinv complex": (lambda t, x: t.linalg.pinv(x), ZT),
    "pinv rtol": (lambda t, x: t.linalg.pinv(x, rtol=1e-3), T),
    "pinv atol": (lambda t, x: t.linalg.pinv(x, atol=1e-3), T),
    "pinv rtol of each": (lambda t, x: t.linalg.pinv(x, rtol=t.tensor([1e-3, 0.1])), T),
    "pinv atol of each": (lambda t, x: t.linalg.pinv(x, atol=t.tensor([0.0, 0.1])), T),
    "pinv hermitian": (lambda t, x: t.linalg.pinv(sym(x), hermitian=True), P),
    "matrix_rank": (lambda t, x: t.linalg.matrix_rank(x), SINGULAR),
    "matrix_rank atol": (lambda t, x: t.linalg.matrix_rank(x, atol=2.5), B),
    "matrix_rank hermitian": (lambda t, x: t.linalg.matrix_rank(sym(x), hermitian=True), B),
    # determinants
    "det": (lambda t, x: t.linalg.det(x), S),
    "det batch": (lambda t, x: x.det(), B),
    "det complex": (lambda t, x: t.det(x), Z),
    "det 0": (lambda t, x: t.det(x), np.zeros((0, 0))),
    "slogdet": (lambda t, x: t.linalg.slogdet(x), S),
    "slogdet complex": (lambda t, x: t.slogdet(x), ZB),
    "logdet": (lambda t, x: t.logdet(x), P),
    "logdet negative": (lambda t, x: t.logdet(x.detach()), -P),
    # norms
    "norm": (lambda t, x: t.linalg.norm(x), B),
    "norm fro": (lambda t, x: t.linalg.norm(x, "fro"), T),
    "norm vector 3": (lambda t, x: t.linalg.norm(x, 3), V),
    "norm dims": (lambda t, x: t.linalg.norm(x, float("inf"), (0, 2), keepdim=True), B),
    "norm dim": (lambda t, x: t.linalg.norm(x, 1, 1), B),
    **{
        f"matrix_norm {p}": (lambda t, x, p=p: t.linalg.matrix_norm(x, p), B)
        for p in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf"))
    },
    "matrix_norm dims": (lambda t, x: t.linalg.matrix_norm(x, 2, (0, 1), keepdim=True), B),
    "matrix_norm complex": (lambda t, x: t.linalg.matrix_norm(x, "nuc"), ZT),
    **{
        f"vector_norm {p}": (lambda t, x, p=p: t.linalg.vector_norm(x, p, 1), B)
        for p in (0, 1, 2, 3.5, -1, float("inf"), -float("inf"))
    },
    "vector_norm all": (lambda t, x: t.linalg.vector_norm(x, keepdim=True), B),
    "vector_norm dtype": (lambda t, x: t.linalg.vector_norm(x.float(), dtype=t.float64), B),
    "vector_norm complex": (lambda t, x: t.linalg.vector_norm(x, 3, 0), ZT),
    "norm_except_dim": (lambda t, x: t.norm_except_dim(x, 2, 2), B),
    "norm_except_dim -1": (lambda t, x: t.norm_except_dim(x, 3, -1), B),
    "norm_except_dim 1": (lambda t, x: t.norm_except_dim(x, dim=1), B),
    "cond": (lambda t, x: t.linalg.cond(x), S),
    "cond -2": (lambda t, x: t.linalg.cond(x, -2), T),
    "cond fro": (lambda t, x: t.linalg.cond(x.detach(), "fro"), B),
    "cond 1": (lambda t, x: t.linalg.cond(x.detach(), 1), S),
    # products
    "matrix_power 3": (lambda t, x: t.linalg.matrix_power(x, 3), B),
    "matrix_power -2": (lambda t, x: x.matrix_power(-2), S),
    "matrix_power 0": (lambda t, x: t.matrix_power(x.detach(), 0), B),
    "matrix_exp": (lambda t, x: t.linalg.matrix_exp(x), R),
    "matrix_exp batch": (lambda t, x: t.matrix_exp(x), B),
    "matrix_exp complex": (lambda t, x: x.matrix_exp(), complexed(R)),
    "multi_dot": (lambda t, x, y, z: t.linalg.multi_dot([x, y, z]), T, S, M),
    "multi_dot vectors": (lambda t, x, y, z: t.linalg.multi_dot([x, y, z]), V, S, U),
    "cross": (lambda t, x, y: t.linalg.cross(x, y), S, R),
    "cross dim": (lambda t, x, y: t.linalg.cross(x, y, dim=1), B, Q),
    "vecdot": (lambda t, x, y: t.linalg.vecdot(x, y), S, R),
    "vecdot complex": (lambda t, x, y: t.linalg.vecdot(x, y, dim=0), Z, ZP),
    "diagonal": (lambda t, x: t.linalg.diagonal(x, offset=1), B),
    "vander": (lambda t, x: t.linalg.vander(x, N=4), V),
    "tensorinv": (lambda t, x: t.linalg.tensorinv(x, 1), RNG.normal(size=(4, 2, 2))),
    "tensorsolve": (
        lambda t, x, b: t.linalg.tensorsolve(x, b),
        RNG.normal(size=(2, 3, 6)),
        RNG.normal(size=(2, 3)),
    ),
    "tensorsolve dims": (
        lambda t, x, b: t.linalg.tensorsolve(x, b, dims=(0, 2)),
        RNG.normal(size=(3, 6, 2)),
        RNG.normal(size=6),
    ),
    # factorisations
    "cholesky": (lambda t, x: t.linalg.cholesky(x), P),
    "cholesky batch": (lambda t, x: t.linalg.cholesky(x), Q),
    "cholesky upper": (lambda t, x: x.cholesky(upper=True), P),
    # Of complex matrices PyTorch's gradients have a part that is not Hermitian, which says nothing.
    "cholesky complex": (lambda t, x: t.linalg.cholesky(sym(x)), ZP),
    "cholesky_ex": (lambda t, x: t.linalg.cholesky_ex(x), P),
    "cholesky_ex indefinite": (lambda t, x: t.linalg.cholesky_ex(x.detach())[1], -P),
    # Only one triangle of the factor is read, and has a gradient: PyTorch gives the other one too.
    "cholesky_solve": (lambda t, b, l: t.cholesky_solve(b, l.tril()), M, L),
    "cholesky_solve upper": (lambda t, b, l: b.cholesky_solve(l.triu(), upper=True), M, L.T.copy()),
    "cholesky_solve complex": (lambda t, b, l: t.cholesky_solve(b, l.tril()), ZM, ZL),
    "cholesky_inverse": (lambda t, l: t.cholesky_inverse(l.tril()), L),
    "cholesky_inverse upper": (lambda t, l: l.triu().cholesky_inverse(upper=True), L.T.copy()),
    "qr": (lambda t, x: t.linalg.qr(x), T),
    "qr wide": (lambda t, x: t.linalg.qr(x), W),
    "qr complete": (lambda t, x: x.qr(some=False), S),
    "qr complex": (lambda t, x: t.linalg.qr(x), ZT),
    "qr r": (lambda t, x: t.linalg.qr(x.detach(), "r"), T),
    "eigh": (lambda t, x: [y.abs() for y in t.linalg.eigh(x)], P),
    "eigh upper": (lambda t, x: t.linalg.eigh(x, UPLO="U")[0], P),
    "eigh complex": (lambda t, x: [y.abs() for y in t.linalg.eigh(sym(x))], ZP),
    "eigvalsh": (lambda t, x: t.linalg.eigvalsh(x), Q),
    "eigvalsh complex": (lambda t, x: t.linalg.eigvalsh(x), ZP),
    "eig": (lambda t, x: [_ordered(t, y) for y in t.linalg.eig(x)], S),
    "eig complex": (lambda t, x: [_ordered(t, y) for y in t.linalg.eig(x)], Z),
    "eigvals": (lambda t, x: _ordered(t, t.linalg.eigvals(x)), R),
    "svd": (lambda t, x: invariant(*t.linalg.svd(x, full_matrices=False)), T),
    "svd wide": (lambda t, x: invariant(*t.linalg.svd(x, full_matrices=False)), W),
    "svd full": (lambda t, x: [y[..., :3, :3].abs() for y in t.linalg.svd(x)[::2]], T),
    "svd batch": (lambda t, x: invariant(*t.linalg.svd(x)), B),
    "svd complex": (lambda t, x: invariant(*t.linalg.svd(x, full_matrices=False)), ZT),
    "svd old": (lambda t, x: [y.abs() for y in x.svd()], T),
    "svd values": (lambda t, x: t.svd(x.detach(), compute_uv=False), T),
    "svdvals": (lambda t, x: t.linalg.svdvals(x), B),
    "svdvals complex": (lambda t, x: t.linalg.svdvals(x), ZT),
    "lu": (lambda t, x: t.linalg.lu(x), B),
    "lu tall": (lambda t, x: t.linalg.lu(x), T),
    "lu wide": (lambda t, x: t.linalg.lu(x), W),
    "lu complex": (lambda t, x: t.linalg.lu(x), Z),
    "lu_factor": (lambda t, x: t.linalg.lu_factor(x), B),
    "lu_factor_ex": (lambda t, x: t.linalg.lu_factor_ex(x), S),
    "lu_unpack": (lambda t, x: t.lu_unpack(*t.linalg.lu_factor(x)), S),
    "lu_solve": (lambda t, x, b: t.lu_solve(b, *t.linalg.lu_factor(x)), S, M),
    "lu_solve adjoint": (
        lambda t, x, b: t.linalg.lu_solve(*t.linalg.lu_factor(x), b, adjoint=True),
        Z,
        ZM,
    ),
    "lu_solve right": (
        lambda t, x, b: t.linalg.lu_solve(*t.linalg.lu_factor(x), b.mT, left=False),
        B,
        M,
    ),
    "householder_product": (lambda t, x, y: t.linalg.householder_product(x, y), T, V),
    "orgqr complex": (lambda t, x, y: t.orgqr(x, y), ZT, ZV),
    "geqrf": (lambda t, x: t.geqrf(x.detach()), T),
    "ormqr": (lambda t, x, y, c: t.ormqr(x, y, c), T, V, RNG.normal(size=(4, 2))),
    "ormqr right": (
        lambda t, x, y, c: t.ormqr(x, y, c, left=False, transpose=True),
        T,
        V,
        RNG.normal(size=(2, 4)),
    ),
    "ldl_solve": (
        lambda t, x, b: t.linalg.ldl_solve(*t.linalg.ldl_factor(x.detach()), b.detach()),
        P,
        M,
    ),
    "ldl_solve hermitian": (
        lambda t, x, b: t.linalg.ldl_solve(
            *t.linalg.ldl_factor(x.detach(), hermitian=True), b.detach(), hermitian=True
        ),
        ZP,
        ZM,
    ),
}


def _ordered(t, y):
    """Eigenvalues in an order of their own; of eigenvectors what does not depend on one."""
    if y.ndim == 1:
        order = np.lexsort([y.detach().numpy().imag.round(6), y.detach().numpy().real.round(6)])
        return y[t.tensor(order)]
    return (y.abs() ** 4).sum(-1).sort()[0]


X = RNG.normal(size=(4, 6))
XZ = RNG.normal(size=(4, 6)) + 1j * RNG.normal(size=(4, 6))
SIGNAL = RNG.normal(size=40)
WINDOW = np.hanning(8) + 0.1

FFT = {
    **{
        f"{name} {options}": (
            lambda t, x, f=name, o=options: getattr(t.fft, f)(x, **o).resolve_conj(),
            array,
        )
        for name, array in [
            ("fft", X), ("fft", XZ), ("ifft", X), ("ifft", XZ), ("rfft", X), ("ihfft", X),
            ("irfft", XZ), ("hfft", XZ), ("irfft", X),
        ]
        for options in (
            {}, {"n": 5}, {"n": 8, "norm": "ortho"}, {"dim": 0, "norm": "forward"},
            {"n": 3, "dim": 0, "norm": "backward"},
        )
    },
    **{
        f"{name} {options} {array.dtype}": (
            lambda t, x, f=name, o=options: getattr(t.fft, f)(x, **o).resolve_conj(),
            array,
        )
        for name, array in [
            ("fft2", X), ("fftn", XZ), ("ifft2", XZ), ("ifftn", X), ("rfft2", X), ("rfftn", X),
            ("irfft2", XZ), ("irfftn", XZ), ("hfft2", XZ), ("hfftn", XZ), ("ihfft2", X),
            ("ihfftn", X),
        ]
        for options in ({}, {"s": (3, 8), "norm": "ortho"}, {"dim": (1, 0), "norm": "forward"})
    },
    "fftn s without dim": (lambda t, x: t.fft.fftn(x, s=(5,)), X),
    "fftn s -1": (lambda t, x: t.fft.rfftn(x, s=(-1, 4), dim=(0, 1)), X),
    "fftshift": (lambda t, x: t.fft.fftshift(x), X),
    "ifftshift": (lambda t, x: t.fft.ifftshift(x, dim=1), X[:, :5].copy()),
    "stft": (lambda t, x: t.stft(x, 8, return_complex=True), SIGNAL),
    "stft window": (
        lambda t, x, w: t.stft(x, 16, 5, 8, w, normalized=True, return_complex=True),
        SIGNAL,
        WINDOW,
    ),
    "stft two-sided": (
        lambda t, x: x.stft(8, onesided=False, center=False, return_complex=False),
        SIGNAL,
    ),
    "stft constant": (
        lambda t, x: t.stft(x, 8, pad_mode="constant", return_complex=True),
        SIGNAL.reshape(2, 20),
    ),
    "stft aligned": (
        lambda t, x, w: t.stft(
            x, 16, 4, 8, w, center=False, align_to_window=True, return_complex=True
        ),
        SIGNAL,
        WINDOW,
    ),
    "istft": (lambda t, x, w: t.istft(x, 8, 2, window=w), XZ[:, :5].reshape(5, 4), WINDOW),
    "istft length": (
        lambda t, x, w: t.istft(x, 8, 4, length=14, normalized=True, window=w),
        XZ[:, :5].reshape(5, 4),
        np.ones(8),
    ),
    "istft complex": (
        lambda t, x: t.istft(x, 4, 1, onesided=False, return_complex=True, center=False,
                             window=t.ones(4, dtype=t.float64)),
        XZ,
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*deprecated:UserWarning")
@pytest.mark.parametrize("name", CALLS)
def test_linear_algebra_agrees(name):
    call, *arrays = CALLS[name]
    compare(call, arrays)


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize("name", FFT)
def test_fourier_transforms_agree(name):
    call, *arrays = FFT[name]
    compare(call, arrays)


# ---- errors ------------------------------------------------------------------------------------

# name: (call, words that the message must have)
ERRORS = {
    "not square": (lambda t: t.linalg.inv(t.ones(2, 3)), "square matrices"),
    "a vector": (lambda t: t.linalg.det(t.ones(3)), "at least 2 dimensions"),
    "integers": (lambda t: t.linalg.solve(t.ones(2, 2).long(), t.ones(2).long()), "floating"),
    "half": (lambda t: t.linalg.eigh(t.ones(2, 2).half()), "Low precision"),
    "dtypes": (lambda t: t.linalg.solve(t.eye(2), t.ones(2).double()), "dtype"),
    "shapes": (lambda t: t.linalg.solve(t.eye(3), t.ones(2, 1)), "Incompatible shapes"),
    "batches": (lambda t: t.linalg.solve(t.ones(2, 3, 3), t.ones(4, 3, 1)), "broadcast"),
    "triangular shapes": (
        lambda t: t.linalg.solve_triangular(t.eye(3), t.ones(2, 1), upper=True),
        "Incompatible shapes",
    ),
    "singular inv": (lambda t: t.linalg.inv(t.zeros(2, 2)), "singular|Singular"),
    "singular solve": (lambda t: t.linalg.solve(t.ones(2, 2), t.ones(2)), "singular|Singular"),
    "inv_ex": (lambda t: t.linalg.inv_ex(t.zeros(2, 2), check_errors=True), "singular"),
    "indefinite": (lambda t: t.linalg.cholesky(-t.eye(2)), "positive-definite"),
    "cholesky_ex": (
        lambda t: t.linalg.cholesky_ex(-t.eye(2), check_errors=True),
        "positive-definite",
    ),
    "svd of nan": (lambda t: t.linalg.svd(t.full((2, 2), float("nan"))), "converge"),
    "UPLO": (lambda t: t.linalg.eigh(t.eye(2), UPLO="X"), "UPLO"),
    "qr mode": (lambda t: t.linalg.qr(t.eye(2), mode="raw"), "mode"),
    "svd driver": (lambda t: t.linalg.svd(t.eye(2), driver="gesvd"), "driver"),
    "lstsq driver": (lambda t: t.linalg.lstsq(t.eye(2), t.eye(2), driver="x"), "driver"),
    "lstsq shapes": (lambda t: t.linalg.lstsq(t.ones(3, 2), t.ones(2, 1)), "input.size"),
    "norm order": (lambda t: t.linalg.norm(t.ones(2, 2), "what"), "what"),
    "norm of a cube": (lambda t: t.linalg.norm(t.ones(2, 2, 2), 2), "1D or 2D"),
    "matrix_norm dims": (lambda t: t.linalg.matrix_norm(t.ones(2, 2), dim=(0, 0)), "dim"),
    "norm dim": (lambda t: t.linalg.vector_norm(t.ones(2, 2), dim=2), "range"),
    "norm of nothing": (lambda t: t.linalg.vector_norm(t.ones(0), float("inf")), "empty"),
    "cond": (lambda t: t.linalg.cond(t.eye(2), "x"), "norm type"),
    "multi_dot one": (lambda t: t.linalg.multi_dot([t.eye(2)]), "at least 2"),
    "multi_dot shapes": (lambda t: t.linalg.multi_dot([t.ones(2, 3), t.ones(2, 3)]), "multiplied"),
    "cross": (lambda t: t.linalg.cross(t.ones(2), t.ones(2)), "length 3"),
    "tensorinv": (lambda t: t.linalg.tensorinv(t.ones(2, 3), 1), "prod"),
    "tensorinv ind": (lambda t: t.linalg.tensorinv(t.ones(2, 2), 0), "strictly positive|> 0"),
    "tensorsolve": (lambda t: t.linalg.tensorsolve(t.ones(2, 3), t.ones(2)), "prod"),
    "lu unpivoted": (lambda t: t.linalg.lu(t.eye(2), pivot=False), "pivot"),
    "lu_unpack": (lambda t: t.lu_unpack(t.eye(2), t.ones(2).long()), "int32"),
    "householder": (
        lambda t: t.linalg.householder_product(t.ones(2, 3), t.ones(2)),
        "greater than or equal",
    ),
    "qr complete": (
        lambda t: t.linalg.qr(t.ones(3, 2, requires_grad=True), "complete")[0].sum().backward(),
        "not differentiable",
    ),
    "svd phase": (
        lambda t: t.linalg.svd(t.tensor(Z).requires_grad_())[0].real.sum().backward(),
        "ill-defined",
    ),
    "eigh phase": (
        lambda t: t.linalg.eigh(t.tensor(ZP).requires_grad_())[1].real.sum().backward(),
        "ill-defined",
    ),
    "eig phase": (
        lambda t: t.linalg.eig(t.tensor(Z).requires_grad_())[1].real.sum().backward(),
        "ill-defined",
    ),
    "out requires grad": (
        lambda t: t.linalg.inv(t.eye(2), out=t.eye(2).requires_grad_()),
        "out=",
    ),
    "fft 0": (lambda t: t.fft.fft(t.ones(4), n=0), "data points"),
    "fft dim": (lambda t: t.fft.fft(t.ones(4), dim=1), "range"),
    "fft norm": (lambda t: t.fft.fft(t.ones(4), norm="x"), "normalization"),
    "fft half": (lambda t: t.fft.fft(t.ones(4).half()), "dtype"),
    "rfft complex": (lambda t: t.fft.rfft(t.ones(4) + 0j), "real input"),
    "fftn dims": (lambda t: t.fft.fftn(t.ones(4, 4), dim=(0, 0)), "unique"),
    "fftn lengths": (lambda t: t.fft.fftn(t.ones(4, 4), s=(1,), dim=(0, 1)), "same length"),
    "fftn s": (lambda t: t.fft.fftn(t.ones(4), s=(1, 2)), "values"),
    "rfftn nothing": (lambda t: t.fft.rfftn(t.ones(4), dim=()), "at least one"),
    "irfft of one": (lambda t: t.fft.irfft(t.ones(1) + 0j), "data points"),
    "stft return_complex": (lambda t: t.stft(t.ones(16), 8), "return_complex"),
    "stft short": (
        lambda t: t.stft(t.ones(4), 8, center=False, return_complex=True, window=t.ones(8)),
        "n_fft",
    ),
    "stft window": (
        lambda t: t.stft(t.ones(16), 8, window=t.ones(4), return_complex=True),
        "window",
    ),
    "istft real": (lambda t: t.istft(t.ones(5, 4), 8, window=t.ones(8)), "complex"),
    "istft frequencies": (
        lambda t: t.istft(t.ones(4, 4) + 0j, 8, onesided=True, window=t.ones(8)),
        "frequency",
    ),
    "istft gaps": (
        lambda t: t.istft(t.ones(5, 4) + 0j, 8, 8, window=t.zeros(8)),
        "window overlap add",
    ),
}


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_of_the_same_kind_and_say_what_is_wrong(name):
    call, words = ERRORS[name]
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)) as theirs:
        call(torch)
    kind = next(k for k in (RuntimeError, IndexError, TypeError, ValueError)
                if issubclass(theirs.type, k))  # fmt: skip
    if issubclass(theirs.type, torch.linalg.LinAlgError):
        kind = wg.linalg.LinAlgError
    with pytest.raises(kind, match=words):
        call(wg)


# ---- eigenpairs of a pencil ------------------------------------------------------------------


def _pencil():
    rng = np.random.default_rng(0)
    M, N = rng.standard_normal((2, 2, 9, 9))
    return M + M.mT, N @ N.mT + np.eye(9)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("generalized", [True, False])
def test_lobpcg_finds_pytorchs_eigenpairs(largest, generalized):
    A, B = _pencil()
    E, X = wg.lobpcg(wg.tensor(A), 2, wg.tensor(B) if generalized else None, largest=largest)
    torch.manual_seed(0)
    for i in range(2):
        b = torch.tensor(B[i]) if generalized else None
        e, _ = torch.lobpcg(torch.tensor(A[i]), 2, b, niter=500, tol=1e-12, largest=largest)
        np.testing.assert_allclose(E[i].numpy(), e.numpy(), rtol=1e-6)
    B = wg.tensor(B) if generalized else wg.eye(9, dtype=wg.float64)
    A = wg.tensor(A)
    np.testing.assert_allclose((A @ X).numpy(), (B @ X * E.unsqueeze(-2)).numpy(), atol=1e-10)
    np.testing.assert_allclose((X.mT @ B @ X).numpy(), np.stack([np.eye(2)] * 2), atol=1e-10)


def test_lobpcg_is_differentiated_by_both_matrices():
    A, B = (wg.tensor(x[0, :4, :4], requires_grad=True) for x in _pencil())

    def pair(A, B):
        E, X = wg.lobpcg(A + A.mT, 2, B + B.mT)
        return E, X.abs()

    assert wg.autograd.gradcheck(pair, (A, B))


def test_lobpcg_says_what_it_cannot_do():
    A = wg.eye(3)
    for call, error in (
        (lambda: wg.lobpcg(A, 4), ValueError),
        (lambda: wg.lobpcg(A, 1, method="power"), ValueError),
        (lambda: wg.lobpcg(A, 1, tracker=print), NotImplementedError),
        (lambda: wg.lobpcg(wg.ones(2, 3), 1), RuntimeError),
    ):
        with pytest.raises(error):
            call()
