"""SciPy's functions that have no definition here: their own source runs on tensors, or not."""

from __future__ import annotations

import dis
import importlib
import inspect
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.spatial.distance
import scipy.special
import scipy.stats

import wengert as wg
import wengert.scipy
from tests.test_scipy import check

_random = np.random.default_rng(1936)
V, W = _random.uniform(0.2, 0.9, 9), _random.uniform(0.3, 0.8, 9)
X = _random.normal(size=120)
A = _random.uniform(0.1, 1.0, (4, 4)) + 2 * np.eye(4)
AT = _random.uniform(0.1, 1.9, (4, 2))
GRID = np.arange(3.0)
IMAGE = _random.normal(size=(3, 3))

CALLS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "signal.welch": (lambda s, x: s.signal.welch(x, nperseg=32)[1], (X,)),
    "signal.welch by medians": (
        lambda s, x: s.signal.welch(x, nperseg=16, average="median", detrend="linear")[1], (X,)),
    "signal.csd": (lambda s, x, y: abs(s.signal.csd(x, y, nperseg=32)[1]), (X, X[::-1])),
    "signal.coherence": (lambda s, x, y: s.signal.coherence(x, y, nperseg=16)[1], (X, X[::-1])),
    "signal.periodogram": (lambda s, x: s.signal.periodogram(x, scaling="spectrum")[1], (X[:20],)),
    "signal.spectrogram": (lambda s, x: s.signal.spectrogram(x, nperseg=32)[2], (X,)),
    "signal.stft": (lambda s, x: abs(s.signal.stft(x, nperseg=32)[2]), (X,)),
    "signal.ShortTimeFFT": (
        lambda s, x: abs(s.signal.ShortTimeFFT(np.hanning(8), 4, 1.0).stft(x)), (X[:40],)),
    "signal.medfilt": (lambda s, x: s.signal.medfilt(x, 5), (X[:20],)),
    "signal.medfilt of images": (lambda s, x: s.signal.medfilt(x, [1, 3]), (IMAGE,)),
    "signal.wiener": (lambda s, x: s.signal.wiener(x, 3), (X[:20],)),
    "signal.butter": (lambda s, at: s.signal.butter(4, at)[1], (0.4,)),
    "signal.firwin": (lambda s, at: s.signal.firwin(11, at), (0.4,)),
    "signal.freqz": (lambda s, b: abs(s.signal.freqz(b, [1.0, 0.2], 8)[1]), (V,)),
    "signal.zoom_fft": (lambda s, x: abs(s.signal.zoom_fft(x, 0.3)), (V,)),
    "signal.chirp": (lambda s, t, f: s.signal.chirp(t, f, 1.0, 5.0), (V, 3.0)),
    "signal.gauss_spline": (lambda s, x, n: s.signal.gauss_spline(x, n), (V, 2.3)),
    "ndimage.rank_filter": (lambda s, x: s.ndimage.rank_filter(x, -2, size=3), (IMAGE,)),
    "ndimage.percentile_filter": (lambda s, x: s.ndimage.percentile_filter(x, 30, 3), (IMAGE,)),
    "stats.gaussian_kde": (lambda s, d, x: s.stats.gaussian_kde(d)(x), (V, W)),
    "stats.gaussian_kde with weights": (
        lambda s, d, x, w: s.stats.gaussian_kde(d, 0.3, weights=w).logpdf(x),
        (AT.T, AT.T[:, ::-1], V[:4])),
    "stats.gaussian_kde of numbers": (lambda s, x: s.stats.gaussian_kde(AT.T)(x), (AT.T + 0.1,)),
    "stats.multivariate_t": (
        lambda s, x, m: s.stats.multivariate_t.logpdf(x, m, A[:2, :2] + A[:2, :2].T, 3.0),
        (AT, V[:2])),
    "stats.multinomial": (
        lambda s, p: s.stats.multinomial.logpmf([1, 2, 1], 4, p / p.sum()), (V[:3],)),
    "stats.linregress": (lambda s, x, y: s.stats.linregress(x, y).stderr, (V, X[:9])),
    "stats.linregress, its probability": (
        lambda s, x, y: s.stats.linregress(x, y).pvalue, (V, X[:9])),
    "stats.entropy by its base": (lambda s, p, base: s.stats.entropy(p, base=base), (V, 1.7)),
    "stats.mode": (lambda s, x: s.stats.mode(x)[0], (V,)),
    "interpolate.RegularGridInterpolator": (
        lambda s, image, at: s.interpolate.RegularGridInterpolator((GRID, GRID), image)(at),
        (IMAGE, AT)),
    "interpolate.RegularGridInterpolator of numbers": (
        lambda s, at: s.interpolate.RegularGridInterpolator((GRID, GRID), IMAGE)(at), (AT,)),
    "interpolate.RegularGridInterpolator beyond": (
        lambda s, image, at: s.interpolate.RegularGridInterpolator(
            (GRID, GRID), image, bounds_error=False, fill_value=None)(at), (IMAGE, 2 * AT - 1)),
    "interpolate.RegularGridInterpolator filled": (
        lambda s, image, at: s.interpolate.RegularGridInterpolator(
            (GRID, GRID), image, bounds_error=False, fill_value=0.5)(at), (IMAGE, 2 * AT - 1)),
    "interpolate.RegularGridInterpolator of a line": (
        lambda s, y, at: s.interpolate.RegularGridInterpolator((GRID,), y)(at),
        (IMAGE[0], AT[:, :1])),
    "interpolate.interpn": (
        lambda s, x, image, at: s.interpolate.interpn((x, GRID), image, at),
        (GRID - 0.1 * GRID, IMAGE, 0.9 * AT)),
    "interpolate.KroghInterpolator": (
        lambda s, y, at: s.interpolate.KroghInterpolator(GRID, y)(at), (V[:3], AT[0])),
    "interpolate.RBFInterpolator": (
        lambda s, y: s.interpolate.RBFInterpolator(AT, y)(AT + 0.1), (V[:4],)),
    **{
        f"linalg.{name}": (lambda s, a, name=name: getattr(s.linalg, name)(a), (A / 4,))
        for name in ("sinm", "cosm", "tanm", "sinhm", "coshm", "tanhm")
    },
    "linalg.polar": (lambda s, a: s.linalg.polar(a)[1], (A,)),
    "linalg.pinvh": (lambda s, a: s.linalg.pinvh(a + a.T), (A,)),
    "linalg.khatri_rao": (lambda s, a, b: s.linalg.khatri_rao(a, b), (A, IMAGE[:2, [0, 1, 2, 0]])),
    "linalg.companion": (lambda s, a: s.linalg.companion(a), (V,)),
    "linalg.toeplitz of rows": (lambda s, c, r: s.linalg.toeplitz(c, r), (A, V)),
    "linalg.qr of a tall matrix": (lambda s, a: s.linalg.qr(a, mode="r")[0] ** 2, (AT,)),
    "linalg.solve unchecked": (
        lambda s, a, b: s.linalg.solve(a, b, check_finite=False), (A, V[:4])),
    **{
        f"spatial.distance.{name}": (
            lambda s, u, v, name=name: getattr(s.spatial.distance, name)(u, v), (V, W))
        for name in (
            "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine",
            "euclidean", "jensenshannon", "minkowski", "sqeuclidean",
        )
    },
    "integrate.fixed_quad": (
        lambda s, p: s.integrate.fixed_quad(lambda t: np.exp(-t * p), 0.0, p)[0], (0.7,)),
    "integrate.quad_vec": (
        lambda s, a, b: s.integrate.quad_vec(lambda t: np.exp(-t * t), a, b)[0], (0.3, 1.7)),
    "integrate.romb": (lambda s, y: s.integrate.romb(y), (V,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_scipys_own_source_has_its_value_and_the_derivatives_of_differences(name: str) -> None:
    check(*CALLS[name], seed=len(name))


FEW = ("signal.stft", "signal.medfilt", "spatial.distance.cosine", "linalg.sinm", "integrate.romb")


@pytest.mark.parametrize("name", FEW)
def test_scipys_own_source_is_compiled_and_batched(name: str) -> None:
    call, args = CALLS[name]

    def total(x: Any) -> Any:
        return np.sum(np.sin(call(wengert.scipy, x, *args[1:])))

    x, other = args[0], args[0][::-1].copy()
    both = [wg.grad(total)(x), wg.grad(total)(other)]
    np.testing.assert_allclose(wg.compile(wg.grad(total))(x), both[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(wg.vmap(wg.grad(total))(np.stack([x, other])), both, atol=1e-12)


def test_tensors_of_pytorchs_kind_keep_their_kind_and_their_history() -> None:
    x = wg.tensor(V, requires_grad=True)
    y = wengert.scipy.stats.gaussian_kde(x)(x)
    assert type(y) is type(x) is wg.Tensor
    y.sum().backward()
    expected = wg.grad(lambda x: np.sum(wengert.scipy.stats.gaussian_kde(x)(x)))(V)
    np.testing.assert_allclose(x.grad, expected)


def test_objects_of_numbers_are_scipys_own() -> None:
    known = wengert.scipy.stats.gaussian_kde(V)
    assert isinstance(known, scipy.stats.gaussian_kde)
    np.testing.assert_array_equal(known(W), scipy.stats.gaussian_kde(V)(W))
    assert wengert.scipy.signal.get_window("hann", 8).flags.writeable


@pytest.mark.parametrize(
    ("call", "message"),
    [
        # Brent's steps were differentiated: the optimum's derivative was wrong in the third digit.
        (lambda x: wengert.scipy.stats.boxcox(x)[0], "scipy.stats.boxcox has no derivative"),
        (lambda x: wengert.scipy.linalg.schur(np.outer(x, x))[0], "scipy.linalg.schur has no"),
        (lambda x: wengert.scipy.linalg.logm(np.outer(x, x)), "scipy.linalg.logm has no"),
        # At a point given its derivative would have been zero.
        (
            lambda x: wengert.scipy.interpolate.BarycentricInterpolator(GRID, V[:3])(x),
            "BarycentricInterpolator makes a NumPy array",
        ),
        (lambda x: scipy.signal.welch(x)[1], "write wengert.scipy.signal.welch, which runs SciPy"),
    ],
)
def test_where_scipys_source_leaves_numpy_there_is_an_error(call: Any, message: str) -> None:
    with pytest.raises(wg.errors.MissingRuleError, match=message):
        wg.grad(lambda x: np.sum(call(x)))(V)


def test_what_scipys_source_makes_a_number_of_is_no_constant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # `wo = float(wo)` in the design of filters: their derivative by the frequency was zero.
    from wengert.scipy import source

    monkeypatch.setattr(source, "_NUMBERS", {})
    monkeypatch.setattr(source, "_MADE", {})
    source._called.cache_clear()
    with pytest.raises(wg.errors.MissingRuleError, match=r"scipy\.signal\.lp2lp_zpk"):
        wg.grad(lambda wo: wengert.scipy.signal.lp2lp_zpk([], [-1.0], 1.0, wo)[2])(0.7)
    source._called.cache_clear()


def test_memory_read_as_other_numbers_keeps_the_derivative() -> None:
    # PyTorch's meaning, which has none, was that of NumPy code too: the gradient was zero.
    x = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x.view(float) ** 2))(x), 2 * x)
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x.view()))(x), np.ones(4))
    np.testing.assert_array_equal(
        wg.grad(lambda x: np.sum((x * (1 + 2j)).view(float)))(x), 3 * np.ones(4)
    )
    np.testing.assert_array_equal(
        wg.grad(lambda x: np.sum(np.real(x.view(complex))))(x), [1.0, 0.0, 1.0, 0.0]
    )
    with pytest.raises(wg.errors.DtypeError, match=r"write x\.astype\(int64\)"):
        wg.grad(lambda x: np.sum(x * x.view(np.int64)))(x)


def test_different_elements_keep_their_gradient_by_the_standard() -> None:
    # The namespace made new tensors of their numbers: gradients of scipy.stats.mode were zero.
    x = wg.tensor([3.0, 1.0, 3.0], requires_grad=True)
    found = x.__array_namespace__().unique_counts(x)
    assert found.counts.tolist() == [1, 2]
    (found.values * wg.tensor([10.0, 1.0])).sum().backward()
    assert x.grad.tolist() == [1.0, 10.0, 0.0]


def test_correlations_are_not_beyond_one() -> None:
    # By rounding they were, and spearmanr's probability of no relation was 1 instead of 0.
    table = np.array([[1.0, 2.0], [3.0, 3.5], [4.0, 7.0], [7.0, 9.0]])
    ours = wg.jvp(lambda x: wengert.scipy.stats.spearmanr(x)[1], (table,), (table,))[0]
    assert ours == scipy.stats.spearmanr(table)[1]


def test_windows_that_slide_are_views_with_a_derivative() -> None:
    x = np.arange(12.0).reshape(3, 4)
    windows = np.lib.stride_tricks.sliding_window_view
    for shape, axis in (((2, 3), None), (2, 1), ((2, 2), (0, 0))):
        y, pull = wg.func.vjp(lambda x, s=shape, a=axis: windows(x, s, a), x)
        np.testing.assert_array_equal(y, windows(x, shape, axis))
        counts = np.zeros_like(x)
        places = windows(np.arange(12).reshape(3, 4), shape, axis)
        np.add.at(counts.reshape(-1), places.reshape(-1), 1.0)
        np.testing.assert_array_equal(pull(np.ones(y.shape))[0], counts)


# ---- arguments ---------------------------------------------------------------------------------


def _definitions() -> list[Any]:
    found = []
    for module in ("linalg", "signal", "integrate", "interpolate", "ndimage", "special", "spatial"):
        ours = importlib.import_module(f"wengert.scipy.{module}")
        for name, value in vars(ours).items():
            own = getattr(value, "__wrapped__", value)
            public = inspect.isfunction(own) and not name.startswith("_")
            if public and own.__module__ == ours.__name__:
                found.append(pytest.param(own, id=f"{module}.{name}"))
    assert len(found) > 60
    return found


@pytest.mark.parametrize("own", _definitions())
def test_no_definition_takes_an_argument_and_ignores_it(own: Any) -> None:
    used = {i.argval for i in dis.get_instructions(own) if "FAST" in i.opname} | {
        name for i in dis.get_instructions(own) if isinstance(i.argval, tuple) for name in i.argval
    }
    used |= {*own.__code__.co_cellvars}
    assert used >= {*inspect.signature(own).parameters}


@pytest.mark.parametrize("own", _definitions())
def test_what_scipy_takes_and_a_definition_does_not_is_refused(own: Any) -> None:
    """Each argument of SciPy's is that of the definition, or a hint, or an error when given."""
    from wengert.scipy.meaning import _is_a_hint

    module = own.__module__.removeprefix("wengert.")
    owner = importlib.import_module(f"{module}.distance" if module.endswith("spatial") else module)
    theirs = inspect.signature(getattr(owner, own.__name__)).parameters
    mine = inspect.signature(own).parameters
    if any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in mine.values()):
        return  # says so itself: `quad`, `odeint`; or hands all on
    assert {*mine} <= {*theirs} or any(p.kind is p.VAR_KEYWORD for p in theirs.values())
    written = getattr(importlib.import_module(own.__module__), own.__name__)
    if any(p.kind is p.VAR_POSITIONAL for p in theirs.values()):
        return
    first, *_ = theirs
    required = {n: 1.0 for n, p in theirs.items() if p.default is p.empty}
    for name in {*theirs} - {*mine} - {*required}:
        if not _is_a_hint(name):
            with pytest.raises(TypeError, match=f"does not take {name}="):
                written(**{**required, first: wg.tensor([1.0]), name: object()})
