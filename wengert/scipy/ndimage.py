"""`scipy.ndimage` on tensors: correlations at the borders of images, and what is made of them."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.ndimage

from wengert.dispatch import as_array, called
from wengert.scipy.meaning import bare, meaning, otherwise
from wengert.scipy.standard import rows

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


def _for_each(value: Any, n: int) -> list[Any]:
    """A setting for each axis, which may be given once for all."""
    return list(value) if hasattr(value, "__len__") and np.ndim(value) else [value] * n


def _seen_from(
    x: Any, shape: Any, places: Iterable[Any], mode: str, cval: Any, origin: Any
) -> list[Any]:
    """The image as each of these places in a window of a shape sees it, while that moves."""
    before = [n // 2 + o for n, o in zip(shape, _for_each(origin, len(shape)), strict=True)]
    around = [(b, n - 1 - b) for b, n in zip(before, shape, strict=True)]
    wide = _bordered(x, around, mode, cval)
    return [
        wide[tuple([slice(i, i + n) for i, n in zip(at, x.shape, strict=True)])] for at in places
    ]


@meaning("ndimage")
def correlate(
    input: Any, weights: Any, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0
) -> Any:
    """sum_j weights[j] input[i + j - center], of as many dimensions as the image has."""
    x, w = as_array(input), as_array(weights)
    places = [*itertools.product(*map(range, w.shape))]
    seen = zip(places, _seen_from(x, w.shape, places, mode, cval, origin), strict=True)
    return sum([part * w[at] for at, part in seen], 0.0)


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
    origins = zip(_for_each(origin, len(w.shape)), w.shape, strict=True)
    turned = [_turned(o, n) for o, n in origins]
    return correlate(input, np.flip(w), mode=mode, cval=cval, origin=turned)


def _turned(origin: int, n: int) -> int:
    """An even window has its center behind the middle, so that turned around it is one off."""
    return -origin - (n % 2 == 0)


def _correlated(x: Any, weights: Any, axis: int, mode: str, cval: Any, origin: int = 0) -> Any:
    w, n = as_array(weights), len(x.shape)
    along = lambda value, rest: [value if i == axis % n else rest for i in range(n)]
    origins = along(origin, 0)
    return correlate(x, np.reshape(w, along(-1, 1)), mode=mode, cval=cval, origin=origins)


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
    w = as_array(weights)
    turned = _turned(origin, w.shape[0])
    return _correlated(as_array(input), np.flip(w), axis, mode, cval, turned)


def _bell(sigma: Any, order: int, radius: int) -> Any:
    """Weights exp(-k^2 / 2 sigma^2), of sum 1; of the order-th derivative, by Hermite's formula."""
    k = np.arange(-radius, radius + 1) / sigma
    weights = np.exp(-0.5 * k * k)
    weights = weights / np.sum(weights)
    if not order:
        return weights
    powers = np.polynomial.hermite_e.herme2poly([0] * order + [1])
    return weights * sum(c * k**i for i, c in enumerate(powers) if c) / sigma**order


@meaning("ndimage")
def gaussian_filter1d(
    input: Any, sigma: Any, axis: int = -1, order: int = 0, mode: str = "reflect", cval: Any = 0.0,
    truncate: float = 4.0, radius: Any = None,
) -> Any:  # fmt: skip
    """A smoothing along one axis, by weights exp(-k^2 / 2 sigma^2), or one of its derivatives.

    sigma may have a gradient; how many weights there are follows from its number.
    """
    size = int(truncate * float(bare(sigma)) + 0.5) if radius is None else radius
    return _correlated(as_array(input), _bell(sigma, order, size), axis, mode, cval)


@meaning("ndimage")
def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, mode: str = "reflect", cval: Any = 0.0,
    truncate: float = 4.0, radius: Any = None,
) -> Any:  # fmt: skip
    """A smoothing along all axes; sigma is one number, or one for each."""
    x = as_array(input)
    n = len(x.shape)
    given = zip(_for_each(sigma, n), _for_each(order, n), _for_each(radius, n), strict=True)
    for axis, (s, o, r) in enumerate(given):
        if hasattr(s, "shape") or s > 1e-15:
            x = gaussian_filter1d(x, s, axis, o, mode=mode, cval=cval, truncate=truncate, radius=r)
    return x


# ---- derivatives of images ---------------------------------------------------------------------


def _edges(across: list[float]) -> Any:
    """A difference along one axis, smoothed along the others."""

    def edges(input: Any, axis: int = -1, mode: str = "reflect", cval: Any = 0.0) -> Any:
        x = as_array(input)
        y = _correlated(x, np.array([-1.0, 0.0, 1.0]), axis, mode, cval)
        for other in range(len(x.shape)):
            if other != axis % len(x.shape):
                y = _correlated(y, np.array(across), other, mode, cval)
        return y

    return edges


@meaning("ndimage")
def sobel(input: Any, axis: int = -1, mode: str = "reflect", cval: Any = 0.0) -> Any:
    """Sobel's derivative along one axis: a difference, smoothed by 1, 2, 1 along the others.

    >>> import wengert as wg
    >>> sobel(wg.tensor([[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]]))
    tensor([[ 4., 12.,  8.],
            [ 4., 12.,  8.]])
    """
    return _edges([1.0, 2.0, 1.0])(input, axis, mode, cval)


@meaning("ndimage")
def prewitt(input: Any, axis: int = -1, mode: str = "reflect", cval: Any = 0.0) -> Any:
    """Prewitt's derivative along one axis: a difference, summed over three along the others."""
    return _edges([1.0, 1.0, 1.0])(input, axis, mode, cval)


@meaning("ndimage")
def laplace(input: Any, mode: str = "reflect", cval: Any = 0.0) -> Any:
    """The sum of second differences."""
    x, weights = as_array(input), np.array([1.0, -2.0, 1.0])
    return sum(_correlated(x, weights, axis, mode, cval) for axis in range(len(x.shape)))


def _smoothed(input: Any, sigma: Any, order: int, mode: str, cval: Any, **options: Any) -> Any:
    """For each axis a derivative along it of the smoothed image."""
    x = as_array(input)
    n = len(x.shape)
    for axis in range(n):
        orders = [order if i == axis else 0 for i in range(n)]
        yield gaussian_filter(x, sigma, orders, mode=mode, cval=cval, **options)


@meaning("ndimage")
def gaussian_laplace(
    input: Any, sigma: Any, mode: str = "reflect", cval: Any = 0.0, **kwargs: Any
) -> Any:
    """The Laplacian of the smoothed image."""
    return sum(_smoothed(input, sigma, 2, mode, cval, **kwargs))


@meaning("ndimage")
def gaussian_gradient_magnitude(
    input: Any, sigma: Any, mode: str = "reflect", cval: Any = 0.0, **kwargs: Any
) -> Any:
    """The length of the gradient of the smoothed image."""
    return np.sqrt(sum(y * y for y in _smoothed(input, sigma, 1, mode, cval, **kwargs)))


# ---- windows -----------------------------------------------------------------------------------


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


def _windows(input: Any, size: Any, footprint: Any, mode: str, cval: Any, origin: Any) -> Any:
    """What stands at each place of a window: images, one behind another along a first axis."""
    x = as_array(input)
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        footprint = np.ones(_for_each(size, len(x.shape)), dtype=bool)
    kept = np.asarray(footprint, dtype=bool)
    places = [tuple(map(int, at)) for at in np.argwhere(kept)]
    return np.stack(_seen_from(x, kept.shape, places, mode, cval, origin))


def _of_windows(name: str, doc: str, reduce: Callable[[Any], Any]) -> Any:
    """The filter that takes what stands in each window to one number, along the first axis."""

    def filtered(
        input: Any, size: Any = None, footprint: Any = None, mode: str = "reflect",
        cval: Any = 0.0, origin: Any = 0,
    ) -> Any:  # fmt: skip
        return reduce(_windows(input, size, footprint, mode, cval, origin))

    return meaning("ndimage")(called(filtered, name, doc))


def _ranked(windows: Any, rank: int) -> Any:
    n = windows.shape[0]
    rank += n if rank < 0 else 0
    if not 0 <= rank < n:
        raise RuntimeError("rank not within filter footprint size")
    return np.sort(windows, axis=0)[rank]


@meaning("ndimage")
def rank_filter(
    input: Any, rank: int, size: Any = None, footprint: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: Any = 0,
) -> Any:  # fmt: skip
    """The element of a window around each that has so many less ones beside it."""
    return _ranked(_windows(input, size, footprint, mode, cval, origin), operator.index(rank))


@meaning("ndimage")
def percentile_filter(
    input: Any, percentile: float, size: Any = None, footprint: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: Any = 0,
) -> Any:  # fmt: skip
    """The element of a window around each that is greater than such a percentage of it."""
    windows = _windows(input, size, footprint, mode, cval, origin)
    percentile += 100.0 if percentile < 0 else 0.0
    if not 0 <= percentile <= 100:
        raise RuntimeError("invalid percentile")
    n = windows.shape[0]
    return _ranked(windows, min(int(n * percentile / 100.0), n - 1))


maximum_filter = _of_windows(
    "maximum_filter",
    "The greatest element of a window around each.",
    lambda windows: np.max(windows, axis=0),
)
minimum_filter = _of_windows(
    "minimum_filter",
    "The least element of a window around each.",
    lambda windows: np.min(windows, axis=0),
)
median_filter = _of_windows(
    "median_filter",
    "The median of a window around each element: of an even number, the upper one of two.",
    lambda windows: _ranked(windows, windows.shape[0] // 2),
)


# ---- between the pixels ------------------------------------------------------------------------


def _mapped(at: Any, n: int, mode: str) -> Any:
    """Coordinates as those within an image of n pixels that a mode takes for them."""
    if mode == "nearest":
        return np.clip(at, 0.0, n - 1.0)
    if mode in ("mirror", "reflect", "grid-mirror"):
        shift = 0.0 if mode == "mirror" else 0.5
        period = 2.0 * (n - 1 if mode == "mirror" else n)
        turned = np.remainder(at + shift, period) if period else 0 * at
        return np.where(turned > period / 2, period - turned, turned) - shift
    if mode == "grid-wrap":
        return np.remainder(at, float(n))
    if mode == "wrap":
        return np.remainder(at, n - 1.0) if n > 1 else 0 * at
    return at


def _neighbours(i: Any, n: int, mode: str) -> Any:
    """Places of the pixels beside an image, as those of the pixels within it."""
    if mode == "grid-wrap":
        return np.remainder(i, n)
    if mode in ("reflect", "grid-mirror"):
        i = np.remainder(i, 2 * n)
        return np.where(i >= n, 2 * n - 1 - i, i)
    if n == 1:
        return 0 * i
    i = np.remainder(i, 2 * (n - 1))
    return np.where(i >= n, 2 * (n - 1) - i, i)


_BASIS: dict[int, Any] = {
    0: lambda t: [1 + 0 * t],
    1: lambda t: [1 - t, t],
    2: lambda t: [(0.5 - t) ** 2 / 2, 0.75 - t * t, (0.5 + t) ** 2 / 2],
    3: lambda t: [
        (1 - t) ** 3 / 6, 2 / 3 - t * t * (1 - t / 2), 2 / 3 - (1 - t) ** 2 * (1 + t) / 2, t**3 / 6,
    ],
}  # fmt: skip
"""B-splines of an order, at the distance t from the pixel before, or the nearest one if even."""


@meaning("ndimage")
def map_coordinates(
    input: Any, coordinates: Any, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    """An image at coordinates between its pixels, by splines of an order of at most 3.

    The derivative by the coordinates is that of the spline; with order 0 it is zero.

    >>> import wengert as wg
    >>> image = np.array([[0.0, 1.0], [2.0, 5.0]])
    >>> wg.grad(lambda at: map_coordinates(image, at[:, None], order=1)[0])(np.array([0.5, 0.5]))
    array([3., 2.])
    """
    x, at = as_array(input), as_array(coordinates)
    if order not in _BASIS or mode == "grid-constant":
        raise TypeError(
            f"scipy.ndimage.map_coordinates on tensors does not take order={order}, mode={mode!r}: "
            "the order is at most 3, and the mode not 'grid-constant'"
        )
    if order > 1 and prefilter:
        if mode == "nearest":  # as SciPy does: no spline knows of a border that goes on
            x, at = np.pad(x, 12, mode="edge"), at + 12.0
        x = _coefficients(x, order, mode)
    return _splined(x, [at[i] for i in range(len(x.shape))], order, mode, cval)


def _coefficients(x: Any, order: int, mode: str) -> Any:
    """Those of the B-splines that go through the pixels: linear along each axis."""
    for axis in range(len(x.shape)):
        n = x.shape[axis]
        columns = scipy.ndimage.spline_filter1d(np.eye(n), order, axis=0, mode=mode)
        if n > 1:
            x = np.moveaxis(np.tensordot(x, columns, ((axis,), (1,))), -1, axis)
    return x


def _splined(x: Any, at: list[Any], order: int, mode: str, cval: Any) -> Any:
    weights, places, inside = [], [], True
    for n, a in zip(x.shape, at, strict=True):
        inside = inside & (bare(a) >= 0) & (bare(a) <= n - 1)
        a = _mapped(a, n, mode)
        first = np.floor(bare(a) if order % 2 else bare(a) + 0.5)
        weights.append(_BASIS[order](a - first))
        base = np.astype(first, np.int64) - order // 2
        places.append([_neighbours(base + k, n, mode) for k in range(order + 1)])
    total: Any = 0.0
    for chosen in itertools.product(range(order + 1), repeat=len(at)):
        share: Any = 1.0
        for w, k in zip(weights, chosen, strict=True):
            share = share * w[k]
        where = tuple(p[k] for p, k in zip(places, chosen, strict=True))
        total = total + share * rows(x, where)
    return np.where(inside, total, cval) if mode == "constant" else total


def _grid(shape: Any) -> Any:
    return [np.astype(i, np.float64) for i in np.indices(tuple(shape))]


@meaning("ndimage")
def shift(
    input: Any, shift: Any, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    """The image moved, by a number of pixels or one along each axis; they have derivatives."""
    x = as_array(input)
    n = len(x.shape)
    moves = as_array(shift)
    parts = [moves[i] for i in range(n)] if len(moves.shape) else [moves] * n
    at = [i - part for i, part in zip(_grid(x.shape), parts, strict=True)]
    return map_coordinates(x, np.stack(at), order=order, mode=mode, cval=cval, prefilter=prefilter)


@meaning("ndimage")
def affine_transform(
    input: Any, matrix: Any, offset: Any = 0.0, output_shape: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """The image at matrix @ o + offset, for each place o of the output."""
    x, m, b = as_array(input), as_array(matrix), as_array(offset)
    n = len(x.shape)
    if len(m.shape) == 1:
        m = m[:, None] * np.eye(n)
    if m.shape[-1] == n + 1:
        m, b = m[:n, :n], m[:n, n]
    grid = np.stack(_grid(x.shape if output_shape is None else output_shape))
    at = np.tensordot(m, grid, 1) + np.reshape(b + np.zeros(n), (-1, *[1] * n))
    return map_coordinates(x, at, order=order, mode=mode, cval=cval, prefilter=prefilter)


@meaning("ndimage")
def zoom(
    input: Any, zoom: Any, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    """The image with more pixels, or fewer, along each axis."""
    x = as_array(input)
    factors = _for_each(zoom, len(x.shape))
    shape = [round(n * float(f)) for n, f in zip(x.shape, factors, strict=True)]
    steps = [(n - 1) / (m - 1) if m > 1 else 1.0 for n, m in zip(x.shape, shape, strict=True)]
    # The last pixel stays the last one, which rounding may not put beyond the border.
    at = [
        np.minimum(i * step, n - 1.0)
        for i, step, n in zip(_grid(shape), steps, x.shape, strict=True)
    ]
    return map_coordinates(x, np.stack(at), order=order, mode=mode, cval=cval, prefilter=prefilter)


__getattr__ = otherwise("ndimage")
