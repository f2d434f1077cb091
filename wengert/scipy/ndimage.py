"""`scipy.ndimage` on tensors: correlations at the borders of images, and what is made of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from wengert.dispatch import as_array
from wengert.scipy.meaning import meaning, otherwise

MODES = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "nearest": "edge", "mirror": "reflect",
    "wrap": "wrap", "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip
"""What NumPy calls SciPy's ways to go on beyond a border."""


def _bordered(x: Any, around: Any, mode: str, cval: Any) -> Any:
    if mode not in MODES:
        raise RuntimeError(f"boundary mode not supported: {mode!r}")
    if MODES[mode] == "constant":
        return np.pad(x, around, constant_values=cval)
    numpy_mode: Any = MODES[mode]
    return np.pad(x, around, numpy_mode)


@meaning("ndimage")
def correlate(
    input: Any, weights: Any, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0
) -> Any:
    """sum_j weights[j] input[i + j - center], of as many dimensions as the image has."""
    x, w = as_array(input), as_array(weights)
    origins = [origin] * len(w.shape) if isinstance(origin, int) else list(origin)
    before = [n // 2 + o for n, o in zip(w.shape, origins, strict=True)]
    around = [(b, n - 1 - b) for b, n in zip(before, w.shape, strict=True)]
    wide = _bordered(x, around, mode, cval)
    total: Any = 0.0
    for at in itertools.product(*map(range, w.shape)):
        part = tuple(slice(i, i + n) for i, n in zip(at, x.shape, strict=True))
        total = total + wide[part] * w[at]
    return total


@meaning("ndimage")
def convolve(
    input: Any, weights: Any, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0
) -> Any:
    """The correlation with the weights turned around.

    >>> import wengert as wg
    >>> convolve(wg.tensor([1.0, 2.0, 4.0]), wg.tensor([1.0, 0.0, 0.0]), mode="constant")
    tensor([2., 4., 0.])
    """
    w = as_array(weights)
    origins = [origin] * len(w.shape) if isinstance(origin, int) else list(origin)
    # An even window has its center behind the middle, so that turned around it is one off.
    turned = [-o - (n % 2 == 0) for o, n in zip(origins, w.shape, strict=True)]
    return correlate(input, np.flip(w), mode=mode, cval=cval, origin=turned)


def _of_one_axis(correlation: Any) -> Any:
    def along(x: Any, weights: Any, axis: int, mode: str, cval: Any, origin: int = 0) -> Any:
        w = as_array(weights)
        shape = [1] * len(x.shape)
        shape[axis % len(shape)] = w.shape[0]
        origins = [0] * len(shape)
        origins[axis % len(shape)] = origin
        return correlation(x, np.reshape(w, shape), mode=mode, cval=cval, origin=origins)

    return along


_correlated, _convolved = _of_one_axis(correlate), _of_one_axis(convolve)


@meaning("ndimage")
def correlate1d(
    input: Any, weights: Any, axis: int = -1, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """The correlation along one axis."""
    return _correlated(as_array(input), weights, axis, mode, cval, origin)


@meaning("ndimage")
def convolve1d(
    input: Any, weights: Any, axis: int = -1, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """The convolution along one axis."""
    return _convolved(as_array(input), weights, axis, mode, cval, origin)


@meaning("ndimage")
def gaussian_filter1d(
    input: Any, sigma: Any, axis: int = -1, mode: str = "reflect", cval: Any = 0.0,
    truncate: float = 4.0,
) -> Any:  # fmt: skip
    """A smoothing along one axis, by weights exp(-k^2 / 2 sigma^2); sigma may have a gradient."""
    bare = sigma.detach() if hasattr(sigma, "detach") else sigma
    radius = int(truncate * float(bare) + 0.5)
    k = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 * (k / sigma) ** 2)
    return _correlated(as_array(input), weights / np.sum(weights), axis, mode, cval)


@meaning("ndimage")
def gaussian_filter(
    input: Any, sigma: Any, mode: str = "reflect", cval: Any = 0.0, truncate: float = 4.0
) -> Any:
    """A smoothing along all axes; sigma is one number, or one for each."""
    x = as_array(input)
    n = len(x.shape)
    sigmas = list(sigma) if hasattr(sigma, "__len__") and np.ndim(sigma) else [sigma] * n
    for axis, s in enumerate(sigmas):
        if hasattr(s, "shape") or s > 1e-15:
            x = gaussian_filter1d(x, s, axis, mode=mode, cval=cval, truncate=truncate)
    return x


@meaning("ndimage")
def uniform_filter1d(
    input: Any, size: int, axis: int = -1, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Any:
    """The mean of a window along one axis."""
    return _correlated(as_array(input), np.full(size, 1 / size), axis, mode, cval, origin)


@meaning("ndimage")
def uniform_filter(input: Any, size: Any = 3, mode: str = "reflect", cval: Any = 0.0) -> Any:
    """The mean of a window along all axes."""
    x = as_array(input)
    sizes = [size] * len(x.shape) if isinstance(size, int) else list(size)
    for axis, n in enumerate(sizes):
        x = uniform_filter1d(x, n, axis, mode=mode, cval=cval)
    return x


__getattr__ = otherwise("ndimage")
