"""Every operator beside PyTorch's: value, dtype, shape, first and second derivatives.

A sample is a call written once, `lambda t, x, ...: ...`, run with `t` torch and then wengert, on
the same numbers. In-place variants are run on clones.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(7)
V = RNG.normal(size=4)  # a vector
M = RNG.normal(size=(3, 4))  # a matrix
N = RNG.normal(size=(3, 4))
P = RNG.uniform(0.3, 2.0, size=(3, 4))  # positive
U = RNG.uniform(-0.8, 0.8, size=(3, 4))  # within the unit interval
Q = RNG.uniform(0.1, 0.9, size=(3, 4))  # probabilities
C = RNG.normal(size=(2, 3, 4))  # a cube
D = RNG.normal(size=(2, 4, 5))
S = RNG.normal(size=(3, 3))
Z = RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))  # complex
ONE = np.array(1.7)  # zero-dimensional
I = np.array([[0, 2, 1, 0], [1, 1, 0, 2]])  # indices into three rows
J = np.array([2, 0, 2])
MASK = M > 0
B = RNG.integers(0, 5, size=(3, 4))

UNARY = {
    "exp": M,
    "exp2": M,
    "expm1": M,
    "log": P,
    "log2": P,
    "log10": P,
    "log1p": P,
    "sqrt": P,
    "rsqrt": P,
    "sin": M,
    "cos": M,
    "tan": U,
    "asin": U,
    "acos": U,
    "atan": M,
    "sinh": M,
    "cosh": M,
    "tanh": M,
    "asinh": M,
    "acosh": P + 1,
    "atanh": U,
    "abs": M,
    "neg": M,
    "square": M,
    "reciprocal": P,
    "sigmoid": M,
    "relu": M,
    "erf": M,
    "floor": M,
    "ceil": M,
    "round": M,
    "trunc": M,
    "frac": M,
    "sign": M,
    "sgn": M,
    "deg2rad": M,
    "rad2deg": M,
    "sinc": M,
    "logit": Q,
    "nan_to_num": M,
    "positive": M,
    "arcsin": U,
    "arccos": U,
    "arctan": M,
    "arcsinh": M,
    "arccosh": P + 1,
    "arctanh": U,
    "negative": M,
    "absolute": M,
    "fix": M,
}
NO_INPLACE = {"positive"}
BINARY = {
    "add": (M, N),
    "sub": (M, N),
    "mul": (M, V),
    "div": (M, P),
    "pow": (P, N),
    "maximum": (M, N),
    "minimum": (M, N),
    "fmax": (M, N),
    "fmin": (M, N),
    "atan2": (M, N),
    "hypot": (M, N),
    "logaddexp": (M, N),
    "logaddexp2": (M, N),
    "fmod": (M, P),
    "remainder": (M, P),
    "xlogy": (M, P),
    "copysign": (M, N),
    "true_divide": (M, P),
    "multiply": (M, N),
    "subtract": (M, N),
    "divide": (M, P),
    "dist": (M, N),
    "float_power": (P, N),
}
INPLACE_BINARY = {
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "atan2",
    "hypot",
    "fmod",
    "remainder",
    "xlogy",
    "copysign",
    "true_divide",
    "multiply",
    "subtract",
    "divide",
}

# name: (call, arrays); a call takes the module and one tensor per array.
CALLS = {
    # pointwise
    "add alpha": (lambda t, x, y: t.add(x, y, alpha=2.5), M, N),
    "sub alpha": (lambda t, x, y: x.sub(y, alpha=2.5), M, N),
    "rsub": (lambda t, x, y: t.rsub(x, y), M, N),
    "div floor": (lambda t, x, y: t.div(x, y, rounding_mode="trunc"), M, P),
    "pow 2": (lambda t, x: x**2, M),
    "pow 3": (lambda t, x: t.pow(x, 3), M),
    "pow -0.5": (lambda t, x: x**-0.5, P),
    "pow 0": (lambda t, x: x**0, M),
    "2 pow x": (lambda t, x: t.pow(2, x), M),
    "rpow": (lambda t, x: 3.0**x, M),
    "rsub operator": (lambda t, x: 1 - x, M),
    "rdiv": (lambda t, x: 1 / x, P),
    "zero-dimensional": (lambda t, x, y: x * y + y / x, ONE, ONE),
    "clamp": (lambda t, x: t.clamp(x, -0.5, 0.5), M),
    "clamp min": (lambda t, x: x.clamp(min=-0.5), M),
    "clamp_max": (lambda t, x: x.clamp_max(0.5), M),
    "clamp tensor": (lambda t, x, y: x.clamp(y, y + 1), M, N),
    "lerp": (lambda t, x, y: t.lerp(x, y, 0.3), M, N),
    "lerp tensor": (lambda t, x, y, w: t.lerp(x, y, w), M, N, Q),
    "addcmul": (lambda t, x, y, z: t.addcmul(x, y, z, value=0.5), M, N, P),
    "addcdiv": (lambda t, x, y, z: t.addcdiv(x, y, z, value=0.5), M, N, P),
    "round decimals": (lambda t, x: t.round(x, decimals=2), M),
    "softmax": (lambda t, x: x.softmax(-1), M),
    "softmax 0": (lambda t, x: t.softmax(x, 0), M),
    "log_softmax": (lambda t, x: t.log_softmax(x, dim=1), M),
    "where": (lambda t, x, y: t.where(x > 0, x, y), M, N),
    "where scalar": (lambda t, x: t.where(x > 0, x, 0.0), M),
    "where broadcast": (lambda t, x, y: t.where(x > 0, y, x), M, V),
    # reductions
    "sum": (lambda t, x: x.sum(), M),
    "sum 0": (lambda t, x: x.sum(0), M),
    "sum dims": (lambda t, x: t.sum(x, (0, 2), keepdim=True), C),
    "sum axis": (lambda t, x: x.sum(axis=1, keepdims=True), M),
    "sum []": (lambda t, x: x.sum(dim=[]), M),
    "mean": (lambda t, x: x.mean(), M),
    "mean -1": (lambda t, x: x.mean(-1, keepdim=True), C),
    "mean dims": (lambda t, x: x.mean(dim=(0, 1)), C),
    "prod": (lambda t, x: x.prod(), M),
    "prod 1": (lambda t, x: x.prod(1), M),
    "prod zero": (lambda t, x: x.prod(1), np.where(M > 1, 0, M)),
    "max": (lambda t, x: x.max(), M),
    "min": (lambda t, x: x.min(), M),
    "max ties": (lambda t, x: x.max(), np.round(M)),
    "min ties": (lambda t, x: x.min(), np.round(M)),
    "max 1": (lambda t, x: x.max(1), M),
    "min 0": (lambda t, x: t.min(x, 0, True), M),
    "max two": (lambda t, x, y: t.max(x, y), M, N),
    "amax": (lambda t, x: x.amax(1), np.round(M)),
    "amin": (lambda t, x: x.amin((0, 1), keepdim=True), np.round(M)),
    "aminmax": (lambda t, x: t.aminmax(x, dim=1), M),
    "argmax": (lambda t, x: x.argmax(), M),
    "argmax 1": (lambda t, x: x.argmax(1, keepdim=True), M),
    "argmin": (lambda t, x: x.argmin(dim=0), M),
    "std": (lambda t, x: x.std(), M),
    "std 1": (lambda t, x: x.std(1), M),
    "var": (lambda t, x: x.var(1, unbiased=False, keepdim=True), M),
    "var correction": (lambda t, x: t.var(x, dim=(0, 2), correction=0), C),
    "var_mean": (lambda t, x: t.var_mean(x, 1), M),
    "std_mean": (lambda t, x: t.std_mean(x), M),
    "norm": (lambda t, x: x.norm(), M),
    "norm 1": (lambda t, x: t.norm(x, p=1, dim=1), M),
    "norm 3": (lambda t, x: t.norm(x, 3, 0), M),
    "norm inf": (lambda t, x: x.norm(float("inf"), 1), M),
    "norm 0": (lambda t, x: x.norm(0), M),
    "logsumexp": (lambda t, x: x.logsumexp(1), M),
    "logsumexp 2": (lambda t, x: t.logsumexp(x, (0, 1), keepdim=True), M),
    "cumsum": (lambda t, x: x.cumsum(1), M),
    "cumprod": (lambda t, x: x.cumprod(1), M),
    "logcumsumexp": (lambda t, x: x.logcumsumexp(1), M),
    "cummax": (lambda t, x: x.cummax(1), M),
    "cummin": (lambda t, x: t.cummin(x, 0), M),
    "nansum": (lambda t, x: x.nansum(1), np.where(M > 1, np.nan, M)),
    "nanmean": (lambda t, x: x.nanmean(1), np.where(M > 1, np.nan, M)),
    "median": (lambda t, x: x.median(), M),
    "median ties": (lambda t, x: x.median(), np.round(M)),
    "median 1": (lambda t, x: x.median(1), M),
    "nanmedian": (lambda t, x: x.nanmedian(1, keepdim=True), np.where(M > 1, np.nan, M)),
    "mode": (lambda t, x: x.mode(0), np.arange(12.0).reshape(3, 4) // 5),
    "quantile": (lambda t, x: x.quantile(0.3, dim=1), M),
    "quantiles": (
        lambda t, x: t.quantile(x, t.tensor([0.1, 0.5], dtype=t.float64), dim=1, keepdim=True),
        M,
    ),
    "quantile all": (lambda t, x: x.quantile(0.6, interpolation="lower"), M),
    "nanquantile": (lambda t, x: x.nanquantile(0.4, dim=1), np.where(M > 1, np.nan, M)),
    "kthvalue": (lambda t, x: x.kthvalue(2, 1), M),
    "topk": (lambda t, x: x.topk(2), M),
    "topk smallest": (lambda t, x: x.topk(2, dim=0, largest=False), M),
    "sort": (lambda t, x: x.sort(), M),
    "sort descending": (lambda t, x: t.sort(x, 0, descending=True), M),
    "argsort": (lambda t, x: x.argsort(dim=0), M),
    "msort": (lambda t, x: x.msort(), M),
    "unique": (lambda t, x: x.unique(return_inverse=True, return_counts=True)[1:], np.round(M)),
    "diff": (lambda t, x: x.diff(n=2), M),
    "trapezoid": (lambda t, x: t.trapezoid(x, dx=0.5, dim=0), M),
    "cov": (lambda t, x: t.cov(x), M),
    "corrcoef": (lambda t, x: t.corrcoef(x), M),
    "count_nonzero": (lambda t, x: x.count_nonzero(1), np.round(M)),
    "all": (lambda t, x: (x > -1).all(1), M),
    "any": (lambda t, x: (x > 1).any(), M),
    # shapes
    "reshape": (lambda t, x: x.reshape(2, -1), M),
    "view": (lambda t, x: x.view(4, 3), M),
    "flatten": (lambda t, x: x.flatten(1), C),
    "unflatten": (lambda t, x: x.unflatten(1, (2, 2)), M),
    "squeeze": (lambda t, x: x.unsqueeze(1).squeeze(), M),
    "squeeze dim": (lambda t, x: x.unsqueeze(1).squeeze(1).squeeze(0), M),
    "permute": (lambda t, x: x.permute(2, 0, 1), C),
    "transpose": (lambda t, x: x.transpose(0, -1), C),
    "t": (lambda t, x: x.t(), M),
    "T": (lambda t, x: x.T, M),
    "mT": (lambda t, x: x.mT, C),
    "movedim": (lambda t, x: t.movedim(x, 0, 2), C),
    "expand": (lambda t, x: x.expand(3, -1), V),
    "expand_as": (lambda t, x, y: x.expand_as(y) * y, V, M),
    "broadcast_to": (lambda t, x: t.broadcast_to(x, (2, 3, 4)), V),
    "repeat": (lambda t, x: x.repeat(2, 1, 3), M),
    "tile": (lambda t, x: t.tile(x, (2,)), M),
    "repeat_interleave": (lambda t, x: x.repeat_interleave(2, dim=0), M),
    "repeat_interleave tensor": (lambda t, x: x.repeat_interleave(t.tensor([1, 0, 2]), dim=0), M),
    "cat": (lambda t, x, y: t.cat([x, y, x], dim=1), M, N),
    "stack": (lambda t, x, y: t.stack([x, y], -1), M, N),
    "hstack": (lambda t, x, y: t.hstack([x, y]), M, N),
    "vstack": (lambda t, x, y: t.vstack([x, y]), M, V),
    "dstack": (lambda t, x, y: t.dstack([x, y]), M, N),
    "column_stack": (lambda t, x, y: t.column_stack([x, y]), V, V),
    "block_diag": (lambda t, x, y: t.block_diag(x, y), M, V),
    "split": (lambda t, x: x.split(3, 1), M),
    "split sizes": (lambda t, x: t.split(x, [1, 3], dim=1), M),
    "chunk": (lambda t, x: x.chunk(3, 1), M),
    "tensor_split": (lambda t, x: x.tensor_split(3, 1), M),
    "unbind": (lambda t, x: x.unbind(1), M),
    "narrow": (lambda t, x: x.narrow(1, 1, 2), M),
    "select": (lambda t, x: x.select(1, 2), M),
    "flip": (lambda t, x: x.flip(0, 1), M),
    "fliplr": (lambda t, x: x.fliplr(), M),
    "roll": (lambda t, x: x.roll(1), M),
    "roll dims": (lambda t, x: t.roll(x, (1, -2), (0, 1)), M),
    "rot90": (lambda t, x: x.rot90(1, (0, 1)), M),
    "tril": (lambda t, x: x.tril(-1), M),
    "triu": (lambda t, x: t.triu(x, 1), C),
    "diag": (lambda t, x: t.diag(x, 1), V),
    "diag of matrix": (lambda t, x: x.diag(1), M),
    "diagonal": (lambda t, x: x.diagonal(1, -1, 0), C),
    "diag_embed": (lambda t, x: x.diag_embed(1), M),
    "trace": (lambda t, x: x.trace(), S),
    "meshgrid": (lambda t, x, y: t.meshgrid(x, y, indexing="xy"), V, V[:3]),
    "unfold": (lambda t, x: x.unfold(1, 3, 1), M),
    "unfold step": (lambda t, x: x.unfold(2, 2, 2), C),
    "as_strided": (lambda t, x: x.as_strided((2, 2), (3, 1), 1), M),
    "cartesian_prod": (lambda t, x, y: t.cartesian_prod(x, y), V, V),
    "combinations": (lambda t, x: t.combinations(x, 2), V),
    "clone": (lambda t, x: x.clone(), M),
    "contiguous": (lambda t, x: x.t().contiguous(), M),
    "sum_to_size": (lambda t, x: x.sum_to_size(1, 4), M),
    "atleast_3d": (lambda t, x: t.atleast_3d(x), M),
    # indexing
    "int": (lambda t, x: x[1], M),
    "ints": (lambda t, x: x[1, -2], M),
    "slice": (lambda t, x: x[1:, ::2], M),
    "ellipsis": (lambda t, x: x[..., None, 1], C),
    "list": (lambda t, x: x[[0, 2, 0]], M),
    "tensor": (lambda t, x: x[t.tensor([[0, 2], [1, 1]])], M),
    "two tensors": (lambda t, x: x[t.tensor([0, 2]), t.tensor([1, 1])], M),
    "tensor and int": (lambda t, x: x[0, :, t.tensor([1, 1, 3])], C),
    "int and tensor apart": (lambda t, x: x[t.tensor([0, 1, 1]), :, 2], C),
    "tensors apart": (lambda t, x: x[t.tensor([0, 1, 1]), :, t.tensor([1, 2, 0])], C),
    "none and tensor": (lambda t, x: x[None, t.tensor([0, 1])], M),
    "mask": (lambda t, x: x[x > 0], M),
    "mask of rows": (lambda t, x: x[t.tensor([True, False, True])], M),
    "mask and int": (lambda t, x: x[:, t.tensor([True, False, True]), 1], C),
    "true": (lambda t, x: x[True], M),
    "zero-dimensional index": (lambda t, x: x[t.tensor(1)], M),
    "gather": (lambda t, x: x.gather(0, t.tensor(I)), M),
    "gather 1": (lambda t, x: t.gather(x, 1, t.tensor(I[:, :2])), M),
    "index_select": (lambda t, x: x.index_select(0, t.tensor(J)), M),
    "masked_fill": (lambda t, x: x.masked_fill(t.tensor(MASK), 2.0), M),
    "masked_fill tensor": (lambda t, x, v: x.masked_fill(t.tensor(MASK), v), M, ONE),
    "masked_select": (lambda t, x: x.masked_select(t.tensor(MASK)), M),
    "masked_scatter": (lambda t, x, y: x.masked_scatter(t.tensor(MASK), y), M, N),
    "take": (lambda t, x: x.take(t.tensor([0, 5, 5])), M),
    "take_along_dim": (lambda t, x: x.take_along_dim(t.tensor([[0], [2], [1]]), 1), M),
    "nonzero": (lambda t, x: (x > 0).nonzero(), M),
    "where condition": (lambda t, x: t.where(x > 0), M),
    "scatter": (lambda t, x, y: x.scatter(0, t.tensor([[0, 2, 1, 0]]), y), M, N[:1]),
    "scatter number": (lambda t, x: x.scatter(0, t.tensor([[0, 2, 1, 0]]), 3.0), M),
    "scatter_add": (lambda t, x, y: x.scatter_add(0, t.tensor(I), y), M, N[:2]),
    "index_add": (lambda t, x, y: x.index_add(0, t.tensor(J), y, alpha=2), M, N),
    "index_copy": (lambda t, x, y: x.index_copy(0, t.tensor([2, 0, 1]), y), M, N),
    "index_fill": (lambda t, x: x.index_fill(1, t.tensor([0, 2]), 5.0), M),
    "index_put": (lambda t, x, v: x.index_put((t.tensor([0, 2]), t.tensor([1, 1])), v), M, ONE),
    "index_put accumulate": (lambda t, x, v: x.index_put((t.tensor(J),), v, accumulate=True), M, V),
    "select_scatter": (lambda t, x, v: x.select_scatter(v, 0, 1), M, V),
    "slice_scatter": (lambda t, x, y: x.slice_scatter(y[:2], 0, 1), M, N),
    "diagonal_scatter": (lambda t, x, y: x.diagonal_scatter(y[:3], 1), M, V),
    "scatter_reduce sum": (lambda t, x, y: x.scatter_reduce(0, t.tensor(I), y, "sum"), M, N[:2]),
    "scatter_reduce mean": (
        lambda t, x, y: x.scatter_reduce(0, t.tensor(I), y, "mean", include_self=False),
        M,
        N[:2],
    ),
    "scatter_reduce prod": (lambda t, x, y: x.scatter_reduce(0, t.tensor(I), y, "prod"), M, N[:2]),
    "scatter_reduce amax": (
        lambda t, x, y: x.scatter_reduce(0, t.tensor(I), y, "amax"),
        np.round(M),
        np.round(N[:2]),
    ),
    "scatter_reduce amin": (
        lambda t, x, y: x.scatter_reduce(0, t.tensor(I), y, "amin", include_self=False),
        M,
        N[:2],
    ),
    "index_reduce": (
        lambda t, x, y: x.index_reduce(0, t.tensor(J), y, "amax"),
        np.round(M),
        np.round(N),
    ),
    "searchsorted": (
        lambda t, x: t.searchsorted(t.tensor([-1.0, 0.0, 1.0], dtype=t.float64), x.detach()),
        M,
    ),
    "bucketize": (
        lambda t, x: t.bucketize(x.detach(), t.tensor([-1.0, 0.0, 1.0], dtype=t.float64)),
        M,
    ),
    # products
    "matmul": (lambda t, x, y: x @ y.T, M, N),
    "matmul vectors": (lambda t, x, y: x @ y, V, V),
    "matmul matrix vector": (lambda t, x, y: t.matmul(x, y), M, V),
    "matmul vector matrix": (lambda t, x, y: x @ y.T, V, M),
    "matmul batches": (lambda t, x, y: x @ y, C, D),
    "matmul broadcast": (lambda t, x, y: x @ y, M, D),
    "mm": (lambda t, x, y: t.mm(x, y.t()), M, N),
    "bmm": (lambda t, x, y: t.bmm(x, y), C, D),
    "mv": (lambda t, x, y: x.mv(y), M, V),
    "dot": (lambda t, x, y: x.dot(y), V, V),
    "vdot": (lambda t, x, y: t.vdot(x, y), V, V),
    "inner": (lambda t, x, y: t.inner(x, y), M, N),
    "outer": (lambda t, x, y: t.outer(x, y), V, V),
    "addmm": (lambda t, b, x, y: t.addmm(b, x, y.T, beta=0.5, alpha=2), S, M, N),
    "addmv": (lambda t, b, x, y: t.addmv(b[:3], x, y), V, M, V),
    "addr": (lambda t, b, x, y: t.addr(b, x[:3], y), M, V, V),
    "baddbmm": (lambda t, b, x, y: t.baddbmm(b, x, y), RNG.normal(size=(2, 3, 5)), C, D),
    "addbmm": (lambda t, b, x, y: t.addbmm(b, x, y), RNG.normal(size=(3, 5)), C, D),
    "kron": (lambda t, x, y: t.kron(x, y), M, V),
    "cross": (lambda t, x, y: t.cross(x, y, dim=1), S, S + 1),
    "tensordot": (lambda t, x, y: t.tensordot(x, y, dims=([2, 0], [1, 0])), C, D),
    "tensordot 1": (lambda t, x, y: t.tensordot(x, y, 1), M, V),
    "einsum matmul": (lambda t, x, y: t.einsum("ij,kj->ik", x, y), M, N),
    "einsum implicit": (lambda t, x, y: t.einsum("bij,bjk", x, y), C, D),
    "einsum ellipsis": (lambda t, x, y: t.einsum("...ij,...jk->...ik", x, y), C, D),
    "einsum trace": (lambda t, x: t.einsum("ii", x), S),
    "einsum diagonal": (lambda t, x: t.einsum("ii->i", x), S),
    "einsum three": (lambda t, x, y, z: t.einsum("i,ij,j->", x[:3], y, z), V, M, V),
    "einsum sum": (lambda t, x: t.einsum("ijk->k", x), C),
    "einsum sublists": (lambda t, x, y: t.einsum(x, [0, 1], y, [2, 1], [0, 2]), M, N),
    # complex
    "complex mul": (lambda t, x, y: x * y, Z, Z + 1),
    "complex div": (lambda t, x, y: x / y, Z, Z + 1),
    "complex exp": (lambda t, x: x.exp(), Z),
    "complex abs": (lambda t, x: x.abs(), Z),
    "complex angle": (lambda t, x: x.angle(), Z),
    "complex real": (lambda t, x: x.real * x.imag, Z),
    "complex conj": (lambda t, x: x.conj() * x, Z),
    "complex sgn": (lambda t, x: x.sgn(), Z),
    "complex sum": (lambda t, x: x.sum(0), Z),
    "complex prod": (lambda t, x: x.prod(0), Z),
    "complex matmul": (lambda t, x, y: x @ y.mH, Z, Z + 1),
    "complex var": (lambda t, x: x.var(1), Z),
    "complex norm": (lambda t, x: x.norm(), Z),
    "complex from parts": (lambda t, x, y: t.complex(x, y) ** 2, M, N),
    "polar": (lambda t, x, y: t.polar(x, y), P, N),
    "view_as_real": (lambda t, x: t.view_as_real(x), Z),
    "view_as_complex": (lambda t, x: t.view_as_complex(x), C[..., :2].copy()),
    "real times complex": (lambda t, x, y: x * y, M, Z),
    "cat real complex": (lambda t, x, y: t.cat([x, y]), M, Z),
    # dtypes
    "to float": (lambda t, x: x.float(), M),
    "to": (lambda t, x: x.to(t.float32).to(t.float64), M),
    "mixed": (lambda t, x: x * t.tensor([1, 2, 3, 4]) + 1, M),
    "type_as": (lambda t, x: x.type_as(t.zeros(1)), M),
}
for _name, _x in UNARY.items():
    CALLS[_name] = (lambda t, x, f=_name: getattr(t, f)(x), _x)
    CALLS[f"{_name} method"] = (lambda t, x, f=_name: getattr(x, f)(), _x)
    if _name not in NO_INPLACE and not _name.endswith(
        ("sinh", "cosh", "tanh")
    ):  # PyTorch lacks some
        CALLS[f"{_name}_"] = (lambda t, x, f=_name: getattr(x.clone(), f"{f}_")(), _x)
for _name, (_x, _y) in BINARY.items():
    CALLS[_name] = (lambda t, x, y, f=_name: getattr(t, f)(x, y), _x, _y)
    CALLS[f"{_name} method"] = (lambda t, x, y, f=_name: getattr(x, f)(y), _x, _y)
    if _name in INPLACE_BINARY:
        CALLS[f"{_name}_"] = (lambda t, x, y, f=_name: getattr(x.clone(), f"{f}_")(y), _x, _y)

# name: (call that changes its first argument, arrays); the argument is a clone, then a view of one.
WRITES = {
    "copy_": (lambda t, x, v: x.copy_(v), M, V),
    "zero_": (lambda t, x: x.zero_(), M),
    "fill_": (lambda t, x, v: x.fill_(v), M, ONE),
    "fill_ number": (lambda t, x: x.fill_(3), M),
    "clamp_": (lambda t, x: x.clamp_(-0.5, 0.5), M),
    "lerp_": (lambda t, x, y, w: x.lerp_(y, w), M, N, Q),
    "addcmul_": (lambda t, x, y, z: x.addcmul_(y, z), M, N, P),
    "addcdiv_": (lambda t, x, y, z: x.addcdiv_(y, z, value=2), M, N, P),
    "masked_fill_": (lambda t, x: x.masked_fill_(t.tensor(MASK), 2.0), M),
    "cumsum_": (lambda t, x: x.cumsum_(1), M),
    "cumprod_": (lambda t, x: x.cumprod_(1), M),
    "tril_": (lambda t, x: x.tril_(), M),
    "scatter_": (lambda t, x, y: x.scatter_(0, t.tensor([[0, 2, 1, 0]]), y), M, N[:1]),
    "scatter_add_": (lambda t, x, y: x.scatter_add_(0, t.tensor(I), y), M, N[:2]),
    "index_add_": (lambda t, x, y: x.index_add_(0, t.tensor(J), y), M, N),
    "index_copy_": (lambda t, x, y: x.index_copy_(0, t.tensor([2, 0, 1]), y), M, N),
    "index_fill_": (lambda t, x: x.index_fill_(1, t.tensor([0, 2]), 5.0), M),
    "index_put_": (lambda t, x, v: x.index_put_((t.tensor([0, 2]),), v), M, V),
    "addmm_": (lambda t, x, y: x.addmm_(y, y.T[:, :1].expand(-1, 4)), M, N),
    "x[0] = ": (lambda t, x, v: _set(x, 0, v), M, V),
    "x[:, 1] = ": (lambda t, x: _set(x, (slice(None), 1), 7), M),
    "x[list] = ": (lambda t, x, v: _set(x, [0, 2], v), M, V),
    "x[mask] = ": (lambda t, x, v: _set(x, t.tensor(MASK), v), M, ONE),
    "x[..., tensor] = ": (lambda t, x, v: _set(x, (..., t.tensor([1, 3])), v), M, ONE),
    "x[1, tensor] = ": (lambda t, x, v: _set(x, (1, t.tensor([1, 3])), v), M, ONE),
    "x[tensor(0)] = ": (lambda t, x, v: _set(x, t.tensor(0), v), M, V),
    "x[0] *= ": (lambda t, x, v: x[0].mul_(v), M, V),
    "eq_": (lambda t, x, y: x.eq_(y), M, N),
    "t_": (lambda t, x: x.t_(), M),
    "unsqueeze_": (lambda t, x: x.unsqueeze_(0).mul_(2), M),
    "fill_diagonal_": (lambda t, x: x.fill_diagonal_(3.0), M),
    "put_": (lambda t, x, v: x.put_(t.tensor([0, 5, 7, 2]), v), M, V),
}


def _set(x, index, value):
    x[index] = value


def outputs_of(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def is_tracked(y):
    return y.requires_grad


def derivatives(t, call, arrays, tensor):
    """Outputs, first and second derivatives of a call, as NumPy arrays."""
    xs = [tensor(a).requires_grad_() for a in arrays]
    ys = outputs_of(call(t, *xs))
    shown = [
        (str(y.dtype).replace("torch.", ""), tuple(y.shape), y.detach().numpy().copy()) for y in ys
    ]
    tracked = [y for y in ys if y.requires_grad]
    if not tracked:
        return shown, None, None
    rng = np.random.default_rng(1)
    weights = [tensor(rng.normal(size=tuple(y.shape))).to(y.dtype) for y in tracked]
    first = t.autograd.grad(tracked, xs, weights, create_graph=True, allow_unused=True)
    if not any(g is not None and g.requires_grad for g in first):
        return shown, first, None
    rng = np.random.default_rng(2)
    total = 0
    for g in first:
        if g is not None and g.requires_grad:
            w = tensor(rng.normal(size=tuple(g.shape)))
            total = total + ((g * w).real.sum() if g.is_complex() else (g * w).sum())
    second = t.autograd.grad(total, xs, allow_unused=True)
    return shown, first, second


def tensors(array):
    return torch.tensor(array), wg.tensor(array)


def compare(call, arrays):
    theirs = derivatives(torch, call, arrays, torch.tensor)
    ours = derivatives(wg, call, arrays, wg.tensor)
    for (dtype, shape, value), (our_dtype, our_shape, our_value) in zip(
        theirs[0], ours[0], strict=True
    ):
        assert (our_dtype, our_shape) == (dtype, shape)
        np.testing.assert_allclose(
            our_value, value, rtol=1e-6 if dtype == "float32" else 1e-9, atol=1e-12
        )
    for order, (their_gs, our_gs) in enumerate(zip(theirs[1:], ours[1:], strict=True), 1):
        same_gradients(order, their_gs, our_gs, arrays)


def same_gradients(order, theirs, ours, arrays):
    """Gradients agree; one that is missing counts as zero."""
    for k, array in enumerate(arrays):
        zero = np.zeros_like(array)
        their_g, our_g = (
            zero if gs is None or gs[k] is None else gs[k].numpy(force=True)
            for gs in (theirs, ours)
        )
        np.testing.assert_allclose(
            our_g, their_g, rtol=1e-5, atol=1e-8, err_msg=f"order {order}, argument {k}"
        )


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("name", CALLS)
def test_call_agrees_in_value_dtype_shape_and_derivatives(name):
    call, *arrays = CALLS[name]
    compare(call, arrays)


@pytest.mark.parametrize("name", WRITES)
def test_write_into_a_clone_agrees(name):
    call, *arrays = WRITES[name]

    def through_clone(t, x, *rest):
        y = x.clone()
        call(t, y, *rest)
        return y * y

    compare(through_clone, arrays)


@pytest.mark.parametrize("name", [n for n in WRITES if n not in ("t_", "unsqueeze_")])
def test_write_into_a_view_agrees_for_the_base(name):
    call, *arrays = WRITES[name]

    def through_view(t, x, *rest):
        base = t.stack([x, 2 * x])
        call(t, base[0], *rest)
        return base * base

    compare(through_view, arrays)


INTEGER = {
    "add": lambda t, x, y: x + y,
    "div": lambda t, x, y: x / (y + 1),
    "floor_divide": lambda t, x, y: x // (y + 1),
    "remainder": lambda t, x, y: (x - 2) % (y + 1),
    "div trunc": lambda t, x, y: t.div(x - 3, y + 1, rounding_mode="trunc"),
    "pow": lambda t, x, y: x**y,
    "pow 2": lambda t, x, y: x**2,
    "times float": lambda t, x, y: x * 1.5,
    "sqrt": lambda t, x, y: x.sqrt(),
    "exp": lambda t, x, y: x.exp(),
    "sigmoid": lambda t, x, y: x.sigmoid(),
    "reciprocal": lambda t, x, y: (x + 1).reciprocal(),
    "floor": lambda t, x, y: x.floor(),
    "round": lambda t, x, y: x.round(),
    "sum": lambda t, x, y: x.sum(),
    "prod": lambda t, x, y: x.prod(1),
    "cumsum": lambda t, x, y: x.cumsum(0),
    "max": lambda t, x, y: x.max(1),
    "median": lambda t, x, y: x.median(),
    "clamp": lambda t, x, y: x.clamp(1, 3),
    "clamp float": lambda t, x, y: x.clamp(min=0.5),
    "eq": lambda t, x, y: x == y,
    "lt": lambda t, x, y: x < 2.5,
    "bits": lambda t, x, y: (x & y, x | 1, x ^ y, ~x, x << 1, x >> 1),
    "logical": lambda t, x, y: t.logical_and(x, y),
    "not": lambda t, x, y: t.logical_not(x),
    "matmul": lambda t, x, y: x @ y.T,
    "float": lambda t, x, y: (x.float(), x.double(), x.bool(), x.to(t.int32), x.byte()),
    "where": lambda t, x, y: t.where(x > y, x, 0),
    "where float": lambda t, x, y: t.where(x > y, x, 0.5),
    "sort": lambda t, x, y: x.sort(dim=1, stable=True),
    "sort descending": lambda t, x, y: x.sort(dim=1, descending=True, stable=True),
    "unique": lambda t, x, y: t.unique(x, return_inverse=True, return_counts=True),
    "unique 0": lambda t, x, y: t.unique(x, dim=0),
    "unique_consecutive": lambda t, x, y: t.unique_consecutive(x, return_counts=True),
    "bincount": lambda t, x, y: t.bincount(x.flatten(), minlength=7),
    "isin": lambda t, x, y: t.isin(x, t.tensor([1, 2])),
    "bool sum": lambda t, x, y: (x > 1).sum(0),
    "bool mean": lambda t, x, y: (x > 1).float().mean(),
    "neg": lambda t, x, y: -x,
    "abs": lambda t, x, y: (x - 2).abs(),
    "sign": lambda t, x, y: (x - 2).sign(),
    "gcd": lambda t, x, y: t.gcd(x, y),
    "arange": lambda t, x, y: (t.arange(5), t.arange(1, 4, 0.5), t.linspace(0, 1, 5)),
    "int32 + int64": lambda t, x, y: x.to(t.int32) + y,
    "uint8 + int8": lambda t, x, y: x.to(t.uint8) + y.to(t.int8),
    "int + float32": lambda t, x, y: x + t.ones(4),
    "0-d double": lambda t, x, y: t.ones(2) * t.tensor(2.0, dtype=t.float64),
    "0-d float with ints": lambda t, x, y: x * t.tensor(2.0),
    "bool + int": lambda t, x, y: (x > 1) + 1,
    "bool * bool": lambda t, x, y: (x > 1) * (y > 1),
    "all": lambda t, x, y: ((x > 0).all(), x.all(1), x.any(0), x.byte().any()),
    "tril_indices": lambda t, x, y: (t.tril_indices(3, 4), t.triu_indices(3, 3, 1)),
    "take max": lambda t, x, y: (x.argmax(), x.argmin(1), x.amax(0)),
    "histc": lambda t, x, y: t.histc(x.float(), 4, 0, 4),
    "heaviside": lambda t, x, y: t.heaviside(x.float() - 2, t.tensor(0.5)),
    "nonzero tuple": lambda t, x, y: t.nonzero(x, as_tuple=True),
    "broadcast_tensors": lambda t, x, y: t.broadcast_tensors(x, y[0]),
    "isclose": lambda t, x, y: t.isclose(x.float(), y.float()),
    "signbit": lambda t, x, y: t.signbit(x - 2),
    "logsumexp": lambda t, x, y: t.logsumexp(x, 1),
    "repeat_interleave": lambda t, x, y: t.repeat_interleave(t.tensor([1, 2, 0, 1])),
    "full": lambda t, x, y: (t.full((2,), 1), t.full((2,), 1.5), t.full((2,), True)),
    "eye": lambda t, x, y: (t.eye(2), t.eye(2, 3), t.zeros(2, 3), t.ones_like(x)),
    "median even": lambda t, x, y: x.median(1),
    "true divide": lambda t, x, y: t.true_divide(x, 2),
    "float_power": lambda t, x, y: t.float_power(x, 2),
}


@pytest.mark.parametrize("name", INTEGER)
def test_integers_and_promotion_agree(name):
    other = np.roll(B, 1)
    theirs = outputs_of(INTEGER[name](torch, torch.tensor(B), torch.tensor(other)))
    ours = outputs_of(INTEGER[name](wg, wg.tensor(B), wg.tensor(other)))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert (str(a.dtype), tuple(a.shape)) == (
            str(b.dtype).replace("torch.", ""),
            tuple(b.shape),
        )
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)
