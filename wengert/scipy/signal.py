"""`scipy.signal` on tensors: convolutions and correlations, in any number of dimensions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from wengert.dispatch import as_array
from wengert.scipy.meaning import meaning, otherwise


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
    b = np.flip(as_array(in2))
    b = np.conj(b) if b.dtype.kind == "c" else b
    a = as_array(in1)
    whole = convolve(a, b, "full", method)
    return _of_mode(whole, a, b, mode)


@meaning("signal")
def convolve2d(in1: Any, in2: Any, mode: str = "full") -> Any:
    """The convolution of two matrices."""
    return convolve(in1, in2, mode)


__getattr__ = otherwise("signal")
