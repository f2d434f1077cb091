"""`wengert.scipy`: values are SciPy's, derivatives are those of differences, in both modes."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.sparse
import scipy.spatial.distance
import scipy.special
import scipy.stats

import wengert as wg
import wengert.scipy
from tests.sweeps import swept

_random = np.random.default_rng(1964)
A = _random.normal(size=(3, 3)) + 3 * np.eye(3)
B = _random.normal(size=(3, 2))
V = _random.normal(size=7)
W = _random.normal(size=4)
M = _random.normal(size=(4, 5))
K = _random.normal(size=(2, 3))
T = np.array([0.0, 0.4, 1.0, 1.3, 2.1, 2.2, 3.0])
AT = np.array([[-0.3, 0.2], [1.0, 3.4]])
PLACES = _random.uniform(-0.7, 4.6, size=(2, 9))


def _positive(a: Any) -> Any:
    return a @ a.T + np.eye(3)


CALLS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "linalg.solve": (lambda s, a, b: s.linalg.solve(a, b), (A, B)),
    "linalg.solve pos": (
        lambda s, a, b: s.linalg.solve(_positive(a), b, assume_a="pos", lower=True), (A, B)),
    "linalg.solve transposed": (
        lambda s, a, b: s.linalg.solve(a, b, transposed=True), (A, B[:, 0])),
    "linalg.solve_triangular": (
        lambda s, a, b: s.linalg.solve_triangular(a, b, trans="T", lower=True), (A, B)),
    "linalg.inv": (lambda s, a: s.linalg.inv(a), (A,)),
    "linalg.det": (lambda s, a: s.linalg.det(a), (A,)),
    "linalg.pinv": (lambda s, a: s.linalg.pinv(a), (M,)),
    "linalg.cholesky": (lambda s, a: s.linalg.cholesky(_positive(a)), (A,)),
    "linalg.cholesky lower": (lambda s, a: s.linalg.cholesky(_positive(a), lower=True), (A,)),
    "linalg.cho_solve": (
        lambda s, a, b: s.linalg.cho_solve(s.linalg.cho_factor(_positive(a)), b), (A, B)),
    "linalg.expm": (lambda s, a: s.linalg.expm(a), (A / 3,)),
    "linalg.sqrtm": (lambda s, a: s.linalg.sqrtm(_positive(a)), (A,)),
    "linalg.eigh": (lambda s, a: np.abs(s.linalg.eigh(a + a.T)[1]), (A,)),
    "linalg.eigvalsh of two": (
        lambda s, a: s.linalg.eigh(a + a.T, _positive(a), eigvals_only=True), (A,)),
    "linalg.svdvals": (lambda s, a: s.linalg.svdvals(a), (M,)),
    "linalg.qr": (lambda s, a: s.linalg.qr(a, mode="economic")[1] ** 2, (M.T,)),
    "linalg.lstsq": (lambda s, a, b: s.linalg.lstsq(a, b)[0], (M.T, V[:5])),
    "linalg.norm": (lambda s, a: s.linalg.norm(a, 1, axis=0), (M,)),
    "linalg.block_diag": (lambda s, a, b: s.linalg.block_diag(a, b), (A, B)),
    "linalg.toeplitz": (lambda s, c, r: s.linalg.toeplitz(c, r), (V, W)),
    "linalg.circulant": (lambda s, c: s.linalg.circulant(c), (V,)),
    "linalg.solve_sylvester": (
        lambda s, a, b, q: s.linalg.solve_sylvester(a, b, q), (A, A[:2, :2], B)),
    "linalg.solve_banded": (
        lambda s, ab, b: s.linalg.solve_banded((1, 1), ab, b), (M[:3] + 3, V[:5])),
    "special.logsumexp": (
        lambda s, a, b: s.special.logsumexp(a, axis=1, b=b * b, keepdims=True), (M, M[:, ::-1])),
    "special.softmax": (lambda s, a: s.special.softmax(a, axis=0), (M,)),
    "special.log_softmax": (lambda s, a: s.special.log_softmax(a, axis=1), (M,)),
    "special.multigammaln": (lambda s, a: s.special.multigammaln(a, 3), (np.abs(V) + 2,)),
    "special.polygamma": (lambda s, a: s.special.polygamma(1, a), (np.abs(V) + 1,)),
    "special.rgamma": (lambda s, a: s.special.rgamma(a), (V + 0.1,)),
    **{
        f"signal.{name} {mode}": (
            lambda s, a, b, name=name, mode=mode: getattr(s.signal, name)(a, b, mode=mode), (M, K))
        for name in ("convolve", "fftconvolve", "correlate", "convolve2d")
        for mode in ("full", "same", "valid")
    },
    "signal.convolve of vectors": (lambda s, a, b: s.signal.convolve(a, b, "same"), (V, W)),
    "signal.correlate of vectors": (lambda s, a, b: s.signal.correlate(b, a, "same"), (V, W)),
    "integrate.trapezoid": (lambda s, y, x: s.integrate.trapezoid(y, x), (V, T)),
    "integrate.cumulative_trapezoid": (
        lambda s, y: s.integrate.cumulative_trapezoid(y, dx=0.3, axis=0, initial=0), (M,)),
    "integrate.simpson": (lambda s, y, x: s.integrate.simpson(y, x), (V, T)),
    "integrate.simpson even": (lambda s, y, x: s.integrate.simpson(y, x), (V[:6], T[:6])),
    "integrate.simpson of rows": (lambda s, y: s.integrate.simpson(y, dx=0.2, axis=0), (M,)),
    "integrate.quad": (
        lambda s, a, b, p: s.integrate.quad(lambda x, p: np.exp(-p * x * x), a, b, args=(p,))[0],
        (0.1, 1.9, 0.7)),
    "integrate.quad weighted": (
        lambda s, p, w: s.integrate.quad(
            lambda x: np.exp(-p * x), 0.5, 2, weight="cos", wvar=w)[0], (0.7, 3.0)),
    "integrate.quad infinite": (
        lambda s, p: s.integrate.quad(lambda x: np.exp(-p * x * x), -np.inf, np.inf)[0], (0.7,)),
    "integrate.quad half": (
        lambda s, a: s.integrate.quad(lambda x: np.exp(-x) * x, a, np.inf)[0], (0.7,)),
    "integrate.quad by its ends": (
        lambda s, a, b: s.integrate.quad(lambda x: np.exp(-x * x), a, b)[0], (0.1, 1.9)),
    "integrate.quad backwards": (
        lambda s, a, b, p: s.integrate.quad(lambda x: np.exp(-p * x * x), a, b)[0],
        (1.9, -0.4, 0.8)),
    "integrate.quad of an empty interval": (
        lambda s, a, b: s.integrate.quad(lambda x: np.exp(-x * x), a, b)[0], (0.4, 0.4)),
    "interpolate.CubicSpline": (
        lambda s, x, y, at: s.interpolate.CubicSpline(x, y)(at), (T, V, AT)),
    "interpolate.CubicSpline through numbers": (
        lambda s, at: s.interpolate.CubicSpline(T, V)(at, 1), (AT,)),
    "interpolate.CubicSpline through columns of numbers": (
        lambda s, at: s.interpolate.CubicSpline(T[:5], M, axis=1)(at), (AT[0],)),
    "interpolate.CubicSpline of a period": (
        lambda s, at: s.interpolate.CubicSpline(T, np.sin(T * np.pi / 1.5), bc_type="periodic")(at),
        (AT,)),
    "interpolate.CubicSpline that ends": (
        lambda s, at: s.interpolate.CubicSpline(T, V, extrapolate=False)(at), (AT[1:, 0],)),
    "interpolate.CubicSpline natural": (
        lambda s, x, y, at: s.interpolate.CubicSpline(x, y, bc_type="natural")(at, 1), (T, V, AT)),
    "interpolate.CubicSpline clamped": (
        lambda s, x, y: s.interpolate.CubicSpline(x, y, bc_type="clamped")(1.1, 2), (T, V)),
    "interpolate.CubicSpline through tensors of a period": (
        lambda s, x, y, at: s.interpolate.CubicSpline(
            x, np.concatenate([y, y[:1]]), bc_type="periodic")(3 * at - 1, 1), (T, V[:-1], AT)),
    "interpolate.CubicSpline with a slope and a curvature": (
        lambda s, x, y, at: s.interpolate.CubicSpline(
            x, y, bc_type=((1, 0.5), (2, -0.3)))(at), (T, V, AT)),
    "interpolate.CubicSpline with a free end and one at rest": (
        lambda s, y, at: s.interpolate.CubicSpline(
            T[:5], y, bc_type=("not-a-knot", "clamped"))(at), (M.T, AT[0])),
    "interpolate.CubicSpline of tensors that ends": (
        lambda s, y: s.interpolate.CubicSpline(T, y, extrapolate=False)(AT[1:, 0]), (V,)),
    "interpolate.CubicSpline, its integral": (
        lambda s, x, y, b: s.interpolate.CubicSpline(x, y).integrate(0.1, b), (T, V, AT[0, 0])),
    "interpolate.CubicSpline of columns": (
        lambda s, y, at: s.interpolate.CubicSpline(T[:5], y, axis=1)(at), (M, AT[0])),
    "interpolate.CubicSpline of three": (
        lambda s, x, y, at: s.interpolate.CubicSpline(x, y)(at), (T[:3], V[:3], AT)),
    "spatial.distance.pdist": (lambda s, x: s.spatial.distance.pdist(x, "cosine"), (M,)),
    "spatial.distance.squareform": (
        lambda s, x: s.spatial.distance.squareform(s.spatial.distance.pdist(x)), (M,)),
    **{
        f"spatial.distance.cdist {metric}": (
            lambda s, a, b, metric=metric: s.spatial.distance.cdist(a, b, metric),
            (M, M[:3] * 0.7 + 0.3))
        for metric in (
            "euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine", "canberra",
            "braycurtis",
        )
    },
    **{
        f"ndimage.{name} {mode}": (
            lambda s, x, w, name=name, mode=mode: getattr(s.ndimage, name)(x, w, mode=mode), (M, K))
        for name in ("convolve", "correlate")
        for mode in ("reflect", "nearest", "mirror", "wrap", "constant")
    },
    "ndimage.gaussian_filter": (
        lambda s, x: s.ndimage.gaussian_filter(x, 0.8, mode="nearest"), (M,)),
    "ndimage.gaussian_filter1d": (lambda s, x: s.ndimage.gaussian_filter1d(x, 0.6, axis=0), (M,)),
    "ndimage.uniform_filter": (lambda s, x: s.ndimage.uniform_filter(x, (2, 3)), (M,)),
    "ndimage.convolve1d": (
        lambda s, x, w: s.ndimage.convolve1d(x, w, axis=0, mode="wrap"), (M, W[:2])),
    "ndimage.gaussian_filter of orders": (
        lambda s, x: s.ndimage.gaussian_filter(x, 0.8, order=(1, 3), radius=2), (M,)),
    "ndimage.sobel": (lambda s, x: s.ndimage.sobel(x, 0), (M,)),
    "ndimage.prewitt": (lambda s, x: s.ndimage.prewitt(x, mode="wrap"), (M,)),
    "ndimage.laplace": (lambda s, x: s.ndimage.laplace(x, mode="constant", cval=1.0), (M,)),
    "ndimage.gaussian_laplace": (lambda s, x: s.ndimage.gaussian_laplace(x, 1.2), (M,)),
    "ndimage.gaussian_gradient_magnitude": (
        lambda s, x: s.ndimage.gaussian_gradient_magnitude(x, 0.8), (M,)),
    "ndimage.maximum_filter": (lambda s, x: s.ndimage.maximum_filter(x, 2), (M,)),
    "ndimage.minimum_filter": (
        lambda s, x: s.ndimage.minimum_filter(x, footprint=[[0, 1, 0], [1, 1, 1]]), (M,)),
    "ndimage.median_filter": (lambda s, x: s.ndimage.median_filter(x, 3), (M,)),
    **{
        f"ndimage.map_coordinates {order} {mode}": (
            lambda s, x, order=order, mode=mode: s.ndimage.map_coordinates(
                x, PLACES, order=order, mode=mode, cval=0.3), (M,))
        for order, mode in (
            (0, "constant"), (1, "reflect"), (1, "wrap"), (2, "mirror"), (3, "constant"),
            (3, "nearest"), (3, "grid-wrap"),
        )
    },
    "ndimage.map_coordinates at tensors": (
        lambda s, at: s.ndimage.map_coordinates(M, at), (PLACES * 0.4 + 0.7,)),
    "ndimage.shift": (lambda s, x: s.ndimage.shift(x, (0.4, -1.3)), (M,)),
    "ndimage.affine_transform": (
        lambda s, x: s.ndimage.affine_transform(x, [[0.9, 0.13], [-0.21, 1.1]], (0.3, 0.2)), (M,)),
    "ndimage.zoom": (lambda s, x: s.ndimage.zoom(x, (1.7, 0.6)), (M,)),
    "signal.lfilter": (
        lambda s, b, a, x: s.signal.lfilter(b, a, x, axis=0),
        (W[:3], np.array([1.3, 0.4, -0.2]), M)),
    "signal.savgol_filter": (lambda s, x: s.signal.savgol_filter(x, 5, 2, axis=0), (V,)),
    "signal.detrend": (lambda s, x: s.signal.detrend(x, axis=0), (M,)),
    "signal.decimate": (lambda s, x: s.signal.decimate(x, 2, ftype="fir"), (V,)),
    "signal.resample_poly": (lambda s, x: s.signal.resample_poly(x, 3, 2), (M,)),
    "signal.filtfilt": (lambda s, x: s.signal.filtfilt([0.2, 0.3], [1.0, -0.4], x, padlen=3), (V,)),
    "signal.sosfilt": (
        lambda s, x: s.signal.sosfilt(np.array([[0.1, 0.2, 0.1, 1.0, -0.3, 0.1]]), x), (M,)),
    "signal.upfirdn": (lambda s, x: s.signal.upfirdn([1.0, 2.0, 1.0], x, 2), (V,)),
    "signal.hilbert": (lambda s, x: np.abs(s.signal.hilbert(x)), (V,)),
    "signal.resample": (lambda s, x: s.signal.resample(x, 11), (V,)),
    "fft.dct": (lambda s, x: s.fft.dct(x, 2, axis=0, norm="ortho"), (M,)),
    "fft.idst": (lambda s, x: s.fft.idst(x, 3), (M,)),
    "fft.fft": (lambda s, x: np.abs(s.fft.fft(x)), (M,)),
    "integrate.cumulative_simpson": (lambda s, y: s.integrate.cumulative_simpson(y, dx=0.1), (M,)),
    "stats.zscore": (lambda s, x: s.stats.zscore(x, axis=1), (M,)),
    "stats.skew": (lambda s, x: s.stats.skew(x), (M,)),
    "stats.pearsonr": (lambda s, x: s.stats.pearsonr(x, W[:4] * 2)[0], (M[:, 0],)),
    "interpolate.PchipInterpolator": (
        lambda s, x, y, at: s.interpolate.PchipInterpolator(x, y)(at), (T, V, AT)),
    "interpolate.PchipInterpolator through numbers": (
        lambda s, at: s.interpolate.PchipInterpolator(T, V).derivative()(at), (AT + 0.03,)),
    "interpolate.Akima1DInterpolator": (
        lambda s, x, y, at: s.interpolate.Akima1DInterpolator(x, y)(at), (T, V, AT[1:, 0])),
    "interpolate.Akima1DInterpolator modified": (
        lambda s, y: s.interpolate.Akima1DInterpolator(T[:5], y, method="makima")(1.1), (M.T,)),
    "interpolate.CubicHermiteSpline": (
        lambda s, x, y, dydx: s.interpolate.CubicHermiteSpline(x, y, dydx)(AT + 0.03, 1),
        (T, V, V[::-1])),
    "interpolate.PPoly": (
        lambda s, c, at: s.interpolate.PPoly(c, T[:6])(at), (M, AT + 0.03)),
    **{
        f"interpolate.interp1d {kind}": (
            lambda s, x, y, at, kind=kind: s.interpolate.interp1d(
                x, y, kind, fill_value="extrapolate")(at), (T, V, AT[:, :1] + 0.43))
        for kind in ("linear", "cubic", "nearest", "previous", "next")
    },
    "interpolate.interp1d of columns": (
        lambda s, y, at: s.interpolate.interp1d(
            T[:5], y, bounds_error=False, fill_value=(1.0, 2.0))(at), (M, AT + 0.03)),
    "interpolate.interp1d through numbers": (
        lambda s, at: s.interpolate.interp1d(T, V)(at), (AT[1:, 0] + 0.03,)),
}  # fmt: skip

X = np.array([0.2, 0.7, 1.4, 3.1, -0.6])
FAMILIES = {
    "norm": (), "expon": (), "gamma": (2.2,), "chi2": (3.1,), "invgamma": (2.4,),
    "beta": (2.1, 3.2),
    "t": (4.5,), "f": (3.2, 5.1), "lognorm": (0.8,), "uniform": (), "laplace": (), "logistic": (),
    "cauchy": (), "weibull_min": (1.7,), "pareto": (2.3,), "halfnorm": (), "halfcauchy": (),
    "gumbel_r": (), "gumbel_l": (), "rayleigh": (),
}  # fmt: skip
DISCRETE = {"poisson": (1.7,), "geom": (0.3,), "nbinom": (3.0, 0.4), "bernoulli": (0.3,),
            "binom": (5.0, 0.3)}  # fmt: skip
# SciPy has no exact derivative in the parameters of t's distribution function, nor have we.
for _name, _shapes in FAMILIES.items():
    for _method in ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf"):
        _kept = (1.05 if _name == "pareto" else 0) < X if _method[:3] == "log" else X < 9
        _inside = (
            _kept & (X < 1) if _name in ("beta", "uniform") and _method[:3] == "log" else _kept
        )
        CALLS[f"stats.{_name}.{_method}"] = (
            lambda s, x, loc, scale, name=_name, method=_method, shapes=_shapes: getattr(
                getattr(s.stats, name), method
            )(x, *shapes, loc=loc, scale=scale),
            (X[_inside], -0.02, 1.1),
        )
        if (_shapes and _name not in ("t", "f")) or (_method.endswith("pdf") and _shapes):
            CALLS[f"stats.{_name}.{_method} by shapes"] = (
                lambda s, *shapes, name=_name, method=_method, x=X[_inside]: getattr(
                    getattr(s.stats, name), method
                )(x, *shapes),
                _shapes,
            )
for _name, _shapes in DISCRETE.items():
    for _method in ("logpmf", "pmf", "cdf"):
        _k = np.array([1.0, 1.0]) if _name == "bernoulli" else np.array([1.0, 2.0, 4.0])
        CALLS[f"stats.{_name}.{_method}"] = (
            lambda s, p, name=_name, method=_method, first=_shapes[:-1], k=_k: getattr(
                getattr(s.stats, name), method
            )(k, *first, p),
            _shapes[-1:],
        )
CALLS |= {
    "stats.multivariate_normal.logpdf": (
        lambda s, x, m, a: s.stats.multivariate_normal.logpdf(x, m, _positive(a)),
        (M[:, :3], V[:3], A)),
    "stats.multivariate_normal.entropy": (
        lambda s, a: s.stats.multivariate_normal.entropy(V[:3], _positive(a)), (A,)),
    "stats.dirichlet.logpdf": (
        lambda s, a: s.stats.dirichlet.logpdf(np.array([0.2, 0.3, 0.5]), a),
        (np.array([1.2, 2.0, 3.0]),)),
    "stats frozen": (lambda s, m: s.stats.norm(m, 2.0).logpdf(X), (0.4,)),
}  # fmt: skip


# Of each family the log density and the distribution function; the rest follows from those.
LONG = [n for n in CALLS if n.startswith("stats.") and not n.endswith((".logpdf", ".cdf"))]


@pytest.mark.parametrize("name", swept([*CALLS], *(n for n in CALLS if n not in LONG)))
def test_value_is_scipys_and_derivatives_are_those_of_differences(name: str) -> None:
    check(*CALLS[name], seed=len(name))


def check(call: Any, args: tuple[Any, ...], seed: int) -> None:
    """The value of a call is SciPy's, its derivatives those of differences, in both modes."""
    random = np.random.default_rng(seed)

    def ours(*xs: Any) -> Any:
        return call(wengert.scipy, *xs)

    with np.errstate(all="ignore"):
        expected = np.asarray(call(scipy, *args))
        ts = [np.asarray(random.normal(size=np.shape(x)))[()] for x in args]
        y, pushed = wg.jvp(ours, args, tuple(ts))
        np.testing.assert_allclose(y, expected, rtol=1e-7, atol=1e-10)
        h = 1e-6
        up, down = (call(scipy, *(x + s * t for x, t in zip(args, ts, strict=True)))
                    for s in (h, -h))  # fmt: skip
        quotient = (np.asarray(up) - np.asarray(down)) / (2 * h)
        scale = max(1.0, float(np.max(np.abs(quotient))))
        np.testing.assert_allclose(pushed, quotient, rtol=1e-5, atol=3e-6 * scale)
        weights = np.cos(np.arange(expected.size)).reshape(expected.shape)
        pulled = wg.func.vjp(ours, *args)[1](weights)
    found = sum(np.sum(g * t) for g, t in zip(pulled, ts, strict=True))
    assert found == pytest.approx(np.sum(weights * pushed), rel=1e-7, abs=1e-9)


def test_plain_arrays_are_scipys_own_business() -> None:
    assert wengert.scipy.linalg.lu(A)[0].shape == (3, 3)
    assert wengert.scipy.stats.norm.rvs(size=3, random_state=0).shape == (3,)
    assert wengert.scipy.linalg.solve(A, B, check_finite=False).shape == (3, 2)


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda x: scipy.linalg.solve(x, B), r"wengert\.scipy\.linalg\.solve"),
        (lambda x: scipy.linalg.expm(x), r"wengert\.scipy\.linalg\.expm"),
        (lambda x: scipy.signal.convolve(x, K), r"wengert\.scipy\.signal\.convolve"),
        (lambda x: scipy.integrate.simpson(x), r"wengert\.scipy\.integrate\.simpson"),
        (lambda x: scipy.stats.norm.logpdf(x), r"wengert\.scipy\.stats\.norm\.logpdf"),
        (lambda x: scipy.spatial.distance.cdist(x, B.T), r"scipy\.spatial\.distance\.cdist"),
        (lambda x: scipy.ndimage.gaussian_filter(x, 1), r"scipy\.ndimage\.gaussian_filter"),
        (lambda x: scipy.sparse.csr_array(A) @ x, r"wengert\.scipy\.sparse\.matrix\(A\) @ x"),
        (lambda x: scipy.interpolate.CubicSpline(T[:3], x), r"wengert\.scipy\.interpolate\.CubicS"),
        # Its error called it `__init__`, and sent to wengert.scipy.interpolate, which has none.
        (
            lambda x: scipy.interpolate.RBFInterpolator(T[:3, None], x),
            r"RBFInt.*wengert\.primitive",
        ),
        # Methods and what is in packages with private parts had no name, and errors did not say it.
        (lambda x: scipy.interpolate.CubicSpline(T, V)(x), r"wengert\.scipy\.interpolate\.CubicS"),
        (
            lambda x: scipy.stats.gaussian_kde(V).evaluate(x[0]),
            r"write wengert\.scipy\.stats\.gaussian_kde, which runs .*primitive",
        ),
        (
            lambda x: scipy.stats.multivariate_normal.logpdf(x, np.zeros(3), A @ A.T),
            r"wengert\.scipy\.stats\.multivariate_normal\.logpdf",
        ),
        (
            lambda x: scipy.integrate.solve_ivp(lambda t, y: -y * x[0, 0], (0, 1), [1.0]).y,
            r"scipy\.integrate\.solve_ivp .*write wengert\.odeint",
        ),
        (lambda x: scipy.linalg.logm(x), r"scipy\.linalg\.logm .*wengert\.primitive"),
        (lambda x: scipy.special.wofz(x), r"scipy\.special\.wofz .*wengert\.primitive"),
        (lambda x: wengert.scipy.linalg.logm(x), r"scipy\.linalg\.logm .*wengert\.primitive"),
    ],
)
def test_scipys_own_function_says_which_one_was_found_and_what_to_write(
    call: Any, instead: str
) -> None:
    with pytest.raises(wg.errors.MissingRuleError, match=instead):
        wg.grad(lambda x: np.sum(call(x)))(A)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, x: s.linalg.pinv(x, return_rank=True), "return_rank"),
        (lambda s, x: s.signal.convolve2d(x, K, boundary="wrap"), "boundary"),
        (lambda s, x: s.spatial.distance.cdist(x, x, "jaccard"), "jaccard"),
        (
            lambda s, x: s.interpolate.CubicSpline(T[:3], x * 0, bc_type="periodic").integrate(
                0, 9
            ),
            "whole periods",
        ),
        (lambda s, x: s.stats.norm.logpdf(x, sigma=2), "sigma"),
    ],
)
def test_an_argument_that_has_no_meaning_on_tensors_is_an_error(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(wengert.scipy, wg.from_numpy(A))


@pytest.mark.parametrize(
    ("bc_type", "message"),
    [("periodic", "have to be the same"), ("loose", "none of"), (("clamped", (3, 0)), "none of")],
)
def test_a_spline_that_cannot_be_says_why(bc_type: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wengert.scipy.interpolate.CubicSpline(T[:3], wg.from_numpy(A), bc_type=bc_type)


def test_what_is_outside_of_a_support_has_no_density_and_no_gradient_of_nan() -> None:
    x = wg.tensor([-1.0, 0.5, 2.0], dtype=wg.float64, requires_grad=True)
    y = wengert.scipy.stats.beta.pdf(x, 2.0, 2.0)
    y.sum().backward()
    assert y.tolist() == pytest.approx([0.0, 1.5, 0.0])
    assert x.grad.tolist() == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)


def test_quantiles_are_the_inverse_of_the_distribution_function() -> None:
    for name, shapes in FAMILIES.items():
        ours = getattr(wengert.scipy.stats, name)
        if not ours.defines("ppf"):
            continue
        q = wg.tensor([0.2, 0.7], dtype=wg.float64, requires_grad=True)
        x = ours.ppf(q, *shapes, loc=0.5, scale=2.0)
        expected = getattr(scipy.stats, name).ppf(q.detach().numpy(), *shapes, loc=0.5, scale=2.0)
        np.testing.assert_allclose(x.detach().numpy(), expected, rtol=1e-10)


def test_a_product_with_a_sparse_matrix_is_differentiated_in_both_modes() -> None:
    sparse = scipy.sparse.csr_array(np.where(M > 0, M, 0))
    ours, x = wengert.scipy.sparse.matrix(sparse), _random.normal(size=(5, 2))
    y, pushed = wg.jvp(lambda x: ours @ x, (x,), (2 * x,))
    np.testing.assert_allclose(y, sparse @ x)
    np.testing.assert_allclose(pushed, 2 * y)
    np.testing.assert_allclose(wg.func.vjp(lambda x: ours @ x, x)[1](y)[0], sparse.T @ y)
    np.testing.assert_allclose(wg.hessian(lambda v: np.sum((ours @ v) ** 2))(V[:5]),
                               2 * (sparse.T @ sparse).toarray())  # fmt: skip


def test_spline_can_be_compiled_and_batched() -> None:
    def at(y: Any) -> Any:
        return np.sum(wengert.scipy.interpolate.CubicSpline(T, y)(AT[0]))

    rows = np.stack([V, V * V])
    expected = [scipy.interpolate.CubicSpline(T, y)(AT[0]).sum() for y in rows]
    np.testing.assert_allclose(wg.vmap(at)(rows), expected)
    np.testing.assert_allclose(wg.compile(wg.grad(at))(V), wg.grad(at)(V))


def test_modules_have_all_of_scipys_names() -> None:
    for name in ("linalg", "signal", "integrate", "interpolate", "stats", "ndimage", "special"):
        ours, theirs = (importlib.import_module(f"{p}scipy.{name}") for p in ("wengert.", ""))
        assert all(hasattr(ours, n) for n in theirs.__all__)


def test_a_spline_that_ends_is_nan_at_tensors_beyond_its_points_as_at_numbers():
    from wengert.scipy.interpolate import CubicSpline

    spline = CubicSpline(T, V, extrapolate=False)
    np.testing.assert_array_equal(spline(wg.tensor(AT)).numpy(), spline(AT))
    assert np.isnan(spline(AT)).sum() == 2


DERIVED = {
    "alpha": (3.6,), "anglit": (), "arcsine": (), "argus": (1.0,), "betaprime": (5.0, 6.0),
    "bradford": (0.3,), "burr": (4.5, 3.3), "burr12": (4.0, 3.0), "chi": (4.0,), "cosine": (),
    "crystalball": (2.0, 3.0), "dgamma": (1.1,), "dweibull": (2.1,), "erlang": (3.0,),
    "exponnorm": (1.5,), "exponpow": (2.7,), "exponweib": (2.9, 1.95), "fatiguelife": (2.9,),
    "fisk": (3.1,), "foldcauchy": (4.7,), "foldnorm": (1.95,), "genextreme": (-0.1,),
    "gengamma": (4.4, 3.1), "genhyperbolic": (0.5, 1.5, -0.5), "genlogistic": (0.4,),
    "gennorm": (1.3,), "genpareto": (0.1,), "gompertz": (0.95,), "halflogistic": (),
    "hypsecant": (), "invgauss": (0.15,), "invweibull": (5.6,), "johnsonsb": (4.3, 3.2),
    "johnsonsu": (2.55, 2.25), "kappa3": (1.0,), "ksone": (10.0,), "landau": (),
    "laplace_asymmetric": (2.0,), "levy": (), "levy_stable": (1.8, -0.5), "loggamma": (0.4,),
    "loglaplace": (3.25,), "loguniform": (0.01, 1.25), "lomax": (1.9,), "maxwell": (),
    "mielke": (4.4, 4.6), "moyal": (), "nakagami": (4.9,), "ncx2": (4.0, 1.1), "nct": (5.0, 0.2),
    "norminvgauss": (1.25, 0.5), "pearson3": (0.1,), "powerlaw": (1.66,), "powernorm": (4.4,),
    "rdist": (1.6,), "rice": (0.8,), "semicircular": (), "skewcauchy": (0.5,), "skewnorm": (4.0,),
    "trapezoid": (0.2, 0.8), "triang": (0.16,), "truncexpon": (4.7,), "truncnorm": (-1.1, 2.7),
    "truncpareto": (1.8, 5.3), "truncweibull_min": (2.5, 0.25, 1.75), "tukeylambda": (3.1,),
    "vonmises": (4.0,), "wald": (), "weibull_max": (2.9,), "wrapcauchy": (0.03,),
}  # fmt: skip
"""Distributions whose formulas are SciPy's own, and parameters of theirs."""
REFUSED = (
    "genhyperbolic", "ksone", "landau", "levy_stable", "ncx2", "nct", "pearson3", "trapezoid",
    "truncpareto",
)  # fmt: skip
"""Of these SciPy computes all in C, or by filling arrays."""
FEW = ("chi", "genpareto", "maxwell", "skewnorm", "triang", "truncnorm", "vonmises")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", swept([*DERIVED], *FEW))
def test_a_distribution_of_scipys_is_differentiated_by_its_own_formulas_or_refused(
    name: str,
) -> None:
    shapes, defined = DERIVED[name], 0
    theirs, ours = (getattr(s.stats, name) for s in (scipy, wengert.scipy))
    q = np.array([0.2, 0.45, 0.7])
    with np.errstate(all="ignore"):
        x = theirs.ppf(q, *shapes, loc=0.1, scale=1.3)
        for method in ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf"):
            args = (q if method in ("ppf", "isf") else x, *shapes, 0.1, 1.3)
            # Shapes beyond a few move less, so that none leaves what is allowed.
            ts = tuple(
                np.cos(np.arange(np.size(a)) + i).reshape(np.shape(a)) for i, a in enumerate(args)
            )
            try:
                y, pushed = wg.jvp(getattr(ours, method), args, ts)
            except wg.errors.MissingRuleError:
                continue
            defined += 1
            np.testing.assert_allclose(y, getattr(theirs, method)(*args), rtol=1e-7, atol=1e-9)
            up, down = (
                getattr(theirs, method)(*(a + s * t for a, t in zip(args, ts, strict=True)))
                for s in (1e-6, -1e-6)
            )
            np.testing.assert_allclose(pushed, (up - down) / 2e-6, rtol=2e-4, atol=2e-5)
    assert (defined > 0) is (name not in REFUSED)


def test_a_formula_by_masks_says_what_to_do_inside_of_vmap() -> None:
    # It was "has no derivative rule", of a function that has one.
    rows = np.array([[0.2, 0.7], [1.4, 0.3]])
    with pytest.raises(wg.errors.BatchingError, match=r"burr\.logpdf picks .* the whole batch"):
        wg.vmap(lambda x: wengert.scipy.stats.burr.logpdf(x, 4.5, 3.3))(rows)


def test_far_tails_of_a_truncated_normal_keep_their_digits() -> None:
    x = wg.tensor([30.5], dtype=wg.float64, requires_grad=True)
    y = wengert.scipy.stats.truncnorm.logpdf(x, 30.0, math.inf)
    np.testing.assert_allclose(y.detach(), scipy.stats.truncnorm.logpdf(30.5, 30.0, np.inf))
    assert float(wg.autograd.grad(y.sum(), x)[0]) == -30.5


@pytest.mark.parametrize(
    "f",
    [
        lambda x: scipy_stats().maxwell.logpdf(x, 0.0, 1.2),
        lambda x: scipy_stats().gamma.cdf(x, 2.0),
        lambda x: scipy_stats().zscore(x),
        lambda x: wengert.scipy.interpolate.PchipInterpolator(T, x)(AT[1]),
        lambda x: wengert.scipy.interpolate.interp1d(T, V)(x / 9),
        lambda x: wengert.scipy.interpolate.CubicSpline(
            T, np.concatenate([x[:-1], x[:1]]), bc_type="periodic"
        )(AT[1]),
        lambda x: wengert.scipy.interpolate.CubicSpline(T, V, bc_type="clamped")(x),
        lambda x: wengert.scipy.ndimage.shift(x, 0.4),
        lambda x: wengert.scipy.signal.lfilter([1.0, 0.4], [1.0, -0.5], x),
        lambda x: wengert.scipy.signal.detrend(x),
        lambda x: wengert.scipy.special.boxcox(x, 0.3),
    ],
)
def test_scipys_functions_are_compiled_and_batched(f: Any) -> None:
    def total(x: Any) -> Any:
        return np.sum(np.sin(f(x)))

    x = np.array([0.7, 1.2, 0.4, 2.2, 1.9, 3.1, 0.2])
    np.testing.assert_allclose(
        wg.compile(wg.grad(total))(x), wg.grad(total)(x), rtol=1e-12, atol=1e-14
    )
    rows = np.stack([x, x[::-1]])
    np.testing.assert_allclose(wg.vmap(total)(rows), [total(x), total(x[::-1])], rtol=1e-12)


def scipy_stats() -> Any:
    return wengert.scipy.stats


def test_a_compiled_interpolation_outside_of_its_points_raises_the_same_error() -> None:
    f = wg.compile(lambda at: wengert.scipy.interpolate.interp1d(T, V)(at))
    np.testing.assert_allclose(f(np.array([0.3])), scipy.interpolate.interp1d(T, V)([0.3]))
    with pytest.raises(ValueError, match=r"A value \(3\.3\) in x_new is above"):
        f(np.array([3.3]))


def test_a_callback_of_c_that_loses_a_derivative_is_named() -> None:
    def f(x: Any) -> Any:
        return scipy.integrate.quad(lambda t: t * x, 0, 1)[0] + 0 * x

    with pytest.warns(UserWarning, match=r"write wengert\.scipy\.integrate\.quad"):
        wg.grad(f)(2.0)


def test_a_compiled_density_looks_at_nothing_that_scipys_distribution_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # All of it was compared at each call: 6 ms instead of a microsecond.
    from wengert.compile.trace.world import places

    f = wg.compile(lambda x: np.sum(wengert.scipy.stats.norm.logpdf(x, 0.0, 2.0)))
    x = np.ones(3)
    expected = f(x)
    monkeypatch.setattr(places, "held_by", lambda owner: pytest.fail(f"{owner} was looked at"))
    assert f(x) == expected
