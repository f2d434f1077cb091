"""Sample calls of every differentiable function of NumPy's main namespace, by its NumPy name.

A sample is a call of real arrays; the same call with complex ones is tried too. `tests/functions/
numpy_coverage.py` runs them in every reading and writes the table in docs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

_random = np.random.default_rng(1822)
V = _random.normal(size=4)
W = _random.normal(size=4)
M = _random.normal(size=(3, 4))
N = _random.normal(size=(3, 4))
S = _random.normal(size=(3, 3))
C = _random.normal(size=(2, 3, 4))
D = _random.normal(size=(2, 4, 3))
P = _random.uniform(0.4, 2.0, size=(3, 4))  # positive
Q = _random.uniform(0.4, 2.0, size=(3, 4))
U = _random.uniform(-0.8, 0.8, size=(3, 4))  # within the unit interval
T = _random.normal(size=(5, 3))
INDEX = np.array([[0, 2, 1, 0]])
MASK = U > 0
HOLES = np.where(M > 0.8, np.nan, M)
KNOTS = np.array([-2.0, -0.5, 0.3, 1.1, 2.5])


class Sample(NamedTuple):
    """A call of `arrays`; `real` where NumPy's function has no meaning on complex numbers."""

    call: Callable[..., Any]
    arrays: tuple[np.ndarray, ...]
    real: bool = False


SAMPLES: dict[str, Sample] = {}


def sample(name: str, call: Callable[..., Any], *arrays: np.ndarray, real: bool = False) -> None:
    SAMPLES[name] = Sample(call, arrays, real)


def _unary(x: np.ndarray, names: str, real: bool = False) -> None:
    for name in names.split():
        sample(name, getattr(np, name), x, real=real)


def _binary(x: np.ndarray, y: np.ndarray, names: str, real: bool = False) -> None:
    for name in names.split():
        sample(name, getattr(np, name), x, y, real=real)


# ---- elementwise ---------------------------------------------------------------------------

_unary(M, "exp exp2 expm1 sin cos tan sinh cosh tanh arctan arcsinh")
_unary(M, "negative positive square absolute conjugate conj real imag")
_unary(M, "abs sign angle floor ceil trunc rint", real=False)
_unary(M, "fabs cbrt degrees radians deg2rad rad2deg fix i0", real=True)
_unary(P, "log log2 log10 log1p sqrt reciprocal")
_unary(U, "arcsin arccos arctanh sinc asin acos atanh")
_unary(M, "atan asinh")
_unary(P + 1, "arccosh acosh")
_unary(M, "nan_to_num real_if_close")
_unary(P, "frexp modf", real=True)
_binary(M, N, "add subtract multiply")
_binary(M, P, "divide true_divide")
_binary(P, N, "power pow float_power")
_binary(M, N, "maximum minimum fmax fmin", real=True)
_binary(M, N, "arctan2 atan2 hypot logaddexp logaddexp2 copysign nextafter heaviside", real=True)
_binary(M, P, "remainder mod fmod floor_divide divmod", real=True)
sample("ldexp", lambda x: np.ldexp(x, 3), M, real=True)
sample("clip", lambda x: np.clip(x, -0.5, 0.7), M, real=True)
sample("astype", lambda x: np.astype(x, np.float64) * x, M, real=True)
sample("where", lambda x, y: np.where(MASK, x, y), M, N)
sample("choose", lambda x, y: np.choose(MASK.astype(int), [x, y]), M, N)
sample("select", lambda x, y: np.select([M > 0.5, M > -0.5], [x * y, y], 1.0), M, N)
sample("piecewise", lambda x: np.piecewise(x, [MASK], [np.exp, lambda v: v * v]), U)
sample("interp", lambda x, xp, fp: np.interp(x, xp, fp), M, KNOTS, KNOTS**2, real=True)
sample("unwrap", lambda x: np.unwrap(3 * x), M, real=True)
sample("copy", np.copy, M)

# ---- reductions, running reductions, statistics --------------------------------------------

_unary(M, "sum mean prod std var")
_unary(M, "max min amax amin ptp median", real=True)
sample("cumsum", lambda x: np.cumsum(x, axis=1), M)
sample("cumprod", lambda x: np.cumprod(x, axis=1), M)
sample("cumulative_sum", lambda x: np.cumulative_sum(x, axis=1, include_initial=True), M)
sample("cumulative_prod", lambda x: np.cumulative_prod(x, axis=0), M)
_unary(HOLES, "nansum nanprod nanmean nanstd nanvar nancumsum nancumprod")
_unary(HOLES, "nanmax nanmin nanmedian", real=True)
sample("quantile", lambda x: np.quantile(x, [0.2, 0.55], axis=1), M, real=True)
sample("percentile", lambda x: np.percentile(x, 37.0), M, real=True)
sample("nanquantile", lambda x: np.nanquantile(x, 0.3, axis=1), HOLES, real=True)
sample("nanpercentile", lambda x: np.nanpercentile(x, 30.0), HOLES, real=True)
sample("average", lambda x, w: np.average(x, axis=0, weights=w), M, P)
sample("cov", lambda x: np.cov(x), M)
sample("corrcoef", lambda x: np.corrcoef(x), M)
sample("trace", np.trace, S)

# ---- differences, integrals, products ------------------------------------------------------

sample("diff", lambda x: np.diff(x, n=2), M)
sample("ediff1d", lambda x, y: np.ediff1d(x, to_end=y), M, V)
sample("gradient", lambda x: np.gradient(x, 0.5, np.array([0.0, 1.0, 1.5, 3.0])), M)
sample("trapezoid", lambda y, x: np.trapezoid(y, x), M, np.cumsum(P[0]))
sample("convolve", lambda a, v: np.convolve(a, v, "same"), T[:, 0].copy(), V)
sample("correlate", lambda a, v: np.correlate(a, v, "full"), T[:, 0].copy(), V)
_binary(V, W, "dot inner outer vdot vecdot kron")
_binary(C, D, "matmul")
sample("tensordot", lambda a, b: np.tensordot(a, b, axes=([0, 2], [0, 1])), C, D)
sample("einsum", lambda a, b: np.einsum("bij,bjk->ik", a, b), C, D)
sample("matvec", np.matvec, M, V)
sample("vecmat", lambda a, b: np.vecmat(a, b), V, M.T.copy())
sample("cross", np.cross, T, T[::-1].copy())
sample("vander", lambda x: np.vander(x, 3), V)
sample("polyval", np.polyval, V, M)
_binary(V, W[:3], "polyadd polysub polymul")
sample("roots", lambda p: np.sort(np.abs(np.roots(p))), V)
sample("polyder", lambda p: np.polyder(p), V)
sample("polyint", lambda p: np.polyint(p), V)
sample("poly", np.poly, V)
sample("linspace", lambda a, b: np.linspace(a, b, 5), V, W)
sample("logspace", lambda a, b: np.logspace(a, b, 4, base=2.0), V, W)
sample("geomspace", lambda a, b: np.geomspace(a, b, 4), P[0].copy(), Q[0].copy())

# ---- shapes, joining, splitting ------------------------------------------------------------

sample("reshape", lambda x: np.reshape(x, (2, 6)), M)
_unary(M, "ravel transpose permute_dims matrix_transpose flip fliplr flipud rot90 squeeze")
_unary(M, "atleast_1d atleast_2d atleast_3d")
sample("swapaxes", lambda x: np.swapaxes(x, 0, 2), C)
sample("moveaxis", lambda x: np.moveaxis(x, 0, 2), C)
sample("rollaxis", lambda x: np.rollaxis(x, 2), C)
sample("expand_dims", lambda x: np.expand_dims(x, 1), M)
sample("broadcast_to", lambda x: np.broadcast_to(x, (2, 4)), V)
sample("broadcast_arrays", lambda x, y: np.broadcast_arrays(x, y), V, M)
sample("tile", lambda x: np.tile(x, (2, 2)), M)
sample("repeat", lambda x: np.repeat(x, 2, axis=1), M)
sample("roll", lambda x: np.roll(x, 1, axis=1), M)
sample("resize", lambda x: np.resize(x, (5, 3)), M)
sample("pad", lambda x: np.pad(x, ((1, 0), (2, 1)), mode="reflect"), M)
sample("concatenate", lambda x, y: np.concatenate([x, y], axis=1), M, N)
sample("concat", lambda x, y: np.concat([x, y]), M, N)
for _join in (np.stack, np.vstack, np.hstack, np.dstack, np.column_stack):
    sample(_join.__name__, lambda x, y, join=_join: join([x, y]), M, N)
sample("block", lambda x, y: np.block([[x, y], [y, x]]), M, N)
sample("append", lambda x, y: np.append(x, y, axis=0), M, N)
sample("insert", lambda x, y: np.insert(x, [1, 2], y, axis=1), M, N[:, :2].copy())
sample("delete", lambda x: np.delete(x, [0, 2], axis=1), M)
sample("split", lambda x: np.split(x, 2, axis=1), M)
sample("array_split", lambda x: np.array_split(x, 3, axis=1), M)
sample("hsplit", lambda x: np.hsplit(x, 2), M)
sample("vsplit", lambda x: np.vsplit(x, 3), M)
sample("dsplit", lambda x: np.dsplit(x, [1, 3]), C)
sample("unstack", lambda x: np.unstack(x, axis=1), M)
sample("meshgrid", lambda x, y: np.meshgrid(x, y), V, W[:3])
sample("tril", np.tril, M)
sample("triu", lambda x: np.triu(x, 1), M)
sample("diag", lambda x: np.diag(x, 1), V)
sample("diagflat", np.diagflat, M)
sample("diagonal", lambda x: np.diagonal(x, 1), M)

# ---- picking, sorting, applying ------------------------------------------------------------

sample("take", lambda x: np.take(x, [0, 2, 2], axis=1), M)
sample("take_along_axis", lambda x: np.take_along_axis(x, INDEX, axis=0), M)
sample("compress", lambda x: np.compress([True, False, True, True], x, axis=1), M)
sample("extract", lambda x: np.extract(MASK, x), M)
sample("trim_zeros", lambda x: np.trim_zeros(np.concatenate([x * 0, x])), V)
sample("sort", lambda x: np.sort(x, axis=0), M)
sample("partition", lambda x: np.partition(x, 1, axis=1)[:, 1], M)
sample("sort_complex", np.sort_complex, V)
sample("apply_along_axis", lambda x: np.apply_along_axis(lambda r: r * np.sum(r), 1, x), M)
sample("apply_over_axes", lambda x: np.apply_over_axes(np.sum, x, [0, 2]), C)
