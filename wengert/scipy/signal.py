"""`scipy.signal` on tensors: convolutions in any number of dimensions, filters along an axis."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.signal

from wengert.autograd import primitive
from wengert.dispatch import as_array
from wengert.rules.reductions import conjugated
from wengert.scipy.meaning import linear, meaning, otherwise


def _full(a: Any, b: Any) -> Any:
    """sum_j a[i - j] b[j]: one shifted copy for each element of the smaller array."""
    if np.prod(a.shape) < np.prod(b.shape):
        a, b = b, a
    total: Any = None
    for at in itertools.product(*map(range, b.shape)):
        around = [(i, n - 1 - i) for i, n in zip(at, b.shape, strict=True)]
        term = np.pad(a * b[at], around) if b.shape else a * b
        total = term if total is None else total + term
    return total


def _by_transforms(a: Any, b: Any) -> Any:
    sizes = [m + n - 1 for m, n in zip(a.shape, b.shape, strict=True)]
    axes = tuple(range(len(sizes)))
    if a.dtype.kind == "c" or b.dtype.kind == "c":
        return np.fft.ifftn(np.fft.fftn(a, sizes, axes) * np.fft.fftn(b, sizes, axes), sizes, axes)
    return np.fft.irfftn(np.fft.rfftn(a, sizes, axes) * np.fft.rfftn(b, sizes, axes), sizes, axes)


def _of_mode(whole: Any, a: Any, b: Any, mode: str) -> Any:
    """The part of a full convolution that a mode means."""
    if mode == "full":
        return whole
    if mode == "same":
        sizes = a.shape
    elif mode == "valid":
        sizes = [abs(m - n) + 1 for m, n in zip(a.shape, b.shape, strict=True)]
    else:
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    starts = [(n - size) // 2 for n, size in zip(whole.shape, sizes, strict=True)]
    return whole[tuple(slice(s, s + n) for s, n in zip(starts, sizes, strict=True))]


@meaning("signal")
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The convolution of two arrays of as many dimensions.

    >>> import wengert as wg
    >>> convolve(wg.tensor([1.0, 2.0, 3.0]), wg.tensor([1.0, -1.0]), mode="valid")
    tensor([1., 1.])
    """
    a, b = as_array(in1), as_array(in2)
    if len(a.shape) != len(b.shape):
        raise ValueError("in1 and in2 should have the same dimensionality")
    if len(a.shape) == 1 and method != "fft":
        return _of_mode(np.convolve(a, b, "full"), a, b, mode)
    few = min(np.prod(a.shape), np.prod(b.shape)) <= 50
    direct = few if method == "auto" else method == "direct"
    return _of_mode((_full if direct else _by_transforms)(a, b), a, b, mode)


@meaning("signal")
def fftconvolve(in1: Any, in2: Any, mode: str = "full") -> Any:
    """The convolution, by Fourier transforms."""
    a, b = as_array(in1), as_array(in2)
    return _of_mode(_by_transforms(a, b), a, b, mode)


@meaning("signal")
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The correlation of two arrays: a convolution with the second one turned around."""
    b = conjugated(np.flip(as_array(in2)))
    a = as_array(in1)
    whole = convolve(a, b, "full", method)
    return _of_mode(whole, a, b, mode)


@meaning("signal")
def convolve2d(in1: Any, in2: Any, mode: str = "full") -> Any:
    """The convolution of two matrices."""
    return convolve(in1, in2, mode)


# ---- filters -----------------------------------------------------------------------------------


def _delayed(x: Any, k: int) -> Any:
    """x, k later along the last axis, after zeros."""
    n = x.shape[-1]
    around = [(0, 0)] * (len(x.shape) - 1) + [(min(k, n), 0)]
    return np.pad(x[..., : n - min(k, n)], around)


def _fed_back(g: Any, a: Any) -> Any:
    return np.flip(_recursion(np.flip(g, -1), a), -1)


def _by_coefficients(g: Any, a: Any, y: Any) -> Any:
    g = _fed_back(g, a)
    return np.stack([-np.sum(g * _delayed(y, k)) for k in range(a.shape[0])])


@primitive.general(
    reverse={"x": _fed_back, "a": _by_coefficients},
    forward={
        "x": lambda t, a: _recursion(t, a),
        "a": lambda t, a, y: _recursion(-sum(t[k] * _delayed(y, k) for k in range(a.shape[0])), a),
    },
    opaque=True,
    result=lambda x, a: x * 1.0,
)
def _recursion(x: Any, a: Any) -> Any:
    """y[n] = x[n] - sum_{k > 0} a[k] y[n - k] along the last axis; a[0] is 1."""
    return scipy.signal.lfilter(np.ones(1, dtype=a.dtype), a, x)


@meaning("signal")
def lfilter(b: Any, a: Any, x: Any, axis: int = -1) -> Any:
    """A rational filter: sum_k a[k] y[n - k] = sum_k b[k] x[n - k]; all three have derivatives.

    >>> import wengert as wg
    >>> wg.grad(lambda a: lfilter([1.0], np.stack([1.0, a]), np.ones(3))[-1])(-0.5)
    -2.0
    """
    b, a, x = as_array(b), as_array(a), np.moveaxis(as_array(x), axis, -1)
    fed = sum(b[k] * _delayed(x, k) for k in range(b.shape[0])) / a[0]
    y = _recursion(fed, a / a[0]) if a.shape[0] > 1 else fed
    return np.moveaxis(y, -1, axis)


savgol_filter = linear("signal", "savgol_filter", "x")
detrend = linear("signal", "detrend", "data")
decimate = linear("signal", "decimate", "x")
resample_poly = linear("signal", "resample_poly", "x")
filtfilt = linear("signal", "filtfilt", "x")
sosfilt = linear("signal", "sosfilt", "x")
sosfiltfilt = linear("signal", "sosfiltfilt", "x")
upfirdn = linear("signal", "upfirdn", "x")
czt = linear("signal", "czt", "x")

__getattr__ = otherwise("signal")
