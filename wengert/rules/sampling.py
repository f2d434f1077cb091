"""Values between pixels: images sampled at any points, and resized along one dimension.

Between pixels an image is a sum of its pixels nearby, the taps, with weights that are polynomials
in t, the distance from the pixel below. So is each of its derivatives by the points: `orders` says
how often it is differentiated along each dimension, and the functions here are closed under
differentiation, in every direction and order.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.dispatch import primitive
from wengert.rules.indexing import add_at, getitem, put_along_axis
from wengert.rules.loops import as_lines, exact_loops, loopable, loops, within_loops
from wengert.rules.rule import general, transposed
from wengert.rules.ways import implemented, way

CUBIC = -0.75
"""The free parameter of cubic interpolation, as PyTorch and OpenCV choose it (Keys, 1981)."""
PADDING = ("zeros", "border", "reflection")
Orders = tuple[int, ...]


def tap_weights(mode: str) -> list[Any]:
    """The weights of the pixels around a point, as polynomials in t."""
    if mode == "nearest":
        return [np.poly1d([1])]
    if mode == "bilinear":
        return [np.poly1d([-1, 1]), np.poly1d([1, 0])]
    near = np.poly1d([CUBIC + 2, -CUBIC - 3, 0, 1])
    far = np.poly1d([CUBIC, -5 * CUBIC, 8 * CUBIC, -4 * CUBIC])
    ahead, behind = np.poly1d([1, 1]), np.poly1d([-1, 1])
    return [far(ahead), near, near(behind), far(behind + 1)]


@functools.cache
def weights_of(mode: str, orders: Orders) -> Any:
    """The polynomials' coefficients, differentiated: (dimension, tap, power)."""
    weights = tap_weights(mode)
    table = np.zeros((len(orders), len(weights), len(weights)))
    for axis, order in enumerate(orders):
        for k, weight in enumerate(weights):
            coefficients = np.polyder(weight, order).coefficients[::-1]
            table[axis, k, : len(coefficients)] = coefficients
    table.flags.writeable = False
    return table


# ---- at any points ---------------------------------------------------------------------------


@primitive
@implemented
def sample(x: Any, grid: Any, mode: str, padding: str, corners: bool, orders: Orders) -> Any:
    """The values of x, (N, C, *S), at the points of grid, (N, *P, n): (N, C, *P).

    A point has the last dimension's coordinate first, with the input between -1 and 1.
    """
    total: Any = 0
    for index, weight in _corners(grid, x.shape[2:], mode, padding, corners, orders):
        flat, batch = np.reshape(index, (x.shape[0], 1, -1)), x.shape[:2]
        rows = np.reshape(x, (*batch, math.prod(x.shape[2:])))
        pixels = np.take_along_axis(rows, np.broadcast_to(flat, (*batch, flat.shape[2])), 2)
        total = total + np.reshape(pixels, (*batch, *grid.shape[1:-1])) * np.expand_dims(weight, 1)
    return total


def _is_pick(x: Any, grid: Any, mode: str, padding: str, corners: bool, orders: Orders) -> bool:
    return mode == "nearest" and not any(orders) and loopable(x, grid)


@way(sample, _is_pick)
def _picked_by_loops(x: Any, grid: Any, *how: Any) -> Any:
    batch, spatial, points = x.shape[:2], x.shape[2:], grid.shape[1:-1]
    grid = grid.reshape(batch[0], math.prod(points), len(spatial))
    places = np.empty(grid.shape[:2], np.int64)
    _nearest(grid, places, _settings(spatial, *how)[1])
    out = np.empty((*batch, math.prod(points)), x.dtype)
    _picked(x.reshape(*batch, math.prod(spatial)), places, grid, out)
    return out.reshape(*batch, *points)


@way(sample, lambda x, grid, *_: loopable(x, grid))
def _sampled_by_loops(x: Any, grid: Any, *how: Any) -> Any:
    batch, spatial, points = x.shape[:2], x.shape[2:], grid.shape[1:-1]
    around = _pixels(grid, spatial, *how)
    out = np.empty((*batch, math.prod(points)), x.dtype)
    _gathered(x.reshape(*batch, math.prod(spatial)), *around, out)
    return out.reshape(*batch, *points)


@primitive
@implemented
def spread(
    g: Any, grid: Any, x_shape: Any, mode: str, padding: str, corners: bool, orders: Orders
) -> Any:
    """`g`, (N, C, *P), added to the pixels of `x_shape` it came from: `sample` transposed."""
    count, total = math.prod(x_shape[2:]), 0
    for index, weight in _corners(grid, x_shape[2:], mode, padding, corners, orders):
        shares = np.reshape(g * np.expand_dims(weight, 1), (*g.shape[:2], -1))
        flat = np.broadcast_to(np.reshape(index, (x_shape[0], 1, -1)), shares.shape)
        total = total + put_along_axis(shares, flat, (*x_shape[:2], count), 2)
    return np.reshape(total, x_shape)


@way(spread, lambda g, grid, *_: loopable(g, grid))
def _spread_by_loops(g: Any, grid: Any, x_shape: Any, *how: Any) -> Any:
    batch, spatial, points = x_shape[:2], x_shape[2:], g.shape[2:]
    around = _pixels(grid, spatial, *how)
    out = np.zeros((*batch, math.prod(spatial)), g.dtype)
    _scattered(g.reshape(*batch, math.prod(points)), *around, out)
    return out.reshape(x_shape)


def _pull(g: Any, x: Any, grid: Any, mode: str, padding: str, corners: bool, orders: Orders) -> Any:
    """The cotangent of the grid: of each coordinate."""
    if mode == "nearest":
        return np.zeros_like(grid)
    each = (sample(x, grid, mode, padding, corners, more) for more in _once_more(orders))
    return np.stack([np.sum(g * slope, axis=1) for slope in each], -1)


def _push(t: Any, function: Any, *how: Any) -> Any:
    """A tangent of the grid, pushed through `function(tangent of each coordinate, orders)`."""
    *_, orders = how
    parts = [
        function(np.expand_dims(t[..., k], 1), more) for k, more in enumerate(_once_more(orders))
    ]
    return functools.reduce(np.add, parts)


def _once_more(orders: Orders) -> list[Orders]:
    """Differentiated by each of the coordinates, in their order in a point."""
    return [
        tuple(order + (d == axis) for d, order in enumerate(orders))
        for axis in reversed(range(len(orders)))
    ]


general(
    sample,
    reverse={"x": spread, "grid": _pull},
    forward={
        "x": sample,
        "grid": lambda t, x, grid, mode, padding, corners, orders: _push(
            t, lambda s, more: s * sample(x, grid, mode, padding, corners, more), orders
        ),
    },
    name="GridSampler",
    promotes=False,
)
general(
    spread,
    reverse={
        "g": sample,
        "grid": lambda h, g, grid, mode, padding, corners, orders: _pull(
            g, h, grid, mode, padding, corners, orders
        ),
    },
    forward={
        "g": spread,
        "grid": lambda t, g, grid, x_shape, mode, padding, corners, orders: _push(
            t, lambda s, more: spread(s * g, grid, x_shape, mode, padding, corners, more), orders
        ),
    },
    name="GridSamplerBackward",
    promotes=False,
)


# ---- as a formula ------------------------------------------------------------------------------


def _corners(grid: Any, sizes: Any, mode: str, padding: str, corners: bool, orders: Orders) -> Any:
    """The pixels around each point: where they lie in the flattened image, and their weights."""
    n = len(sizes)
    taps = [
        _taps(grid[..., n - 1 - axis], size, weights, order, mode, padding, corners)
        for axis, (size, weights, order) in enumerate(
            zip(sizes, weights_of(mode, orders), orders, strict=True)
        )
    ]
    for corner in itertools.product(*taps):
        flat, weight = 0, 1
        for (index, share), size in zip(corner, sizes, strict=True):
            flat, weight = flat * size + index, weight * share
        yield flat, weight


def _taps(
    x: Any, size: int, weights: Any, order: int, mode: str, padding: str, corners: bool
) -> Any:
    """Along one dimension: the pixels around places, and their weights, 0 outside of the image."""
    slope = (size - 1) / 2 if corners else size / 2
    x = (x + 1) * slope if corners else ((x + 1) * size - 1) * 0.5
    slope = np.ones_like(x) * slope
    if mode != "bicubic":
        x, slope = _padded(x, slope, size, padding, corners)
    below = np.rint(x) if mode == "nearest" else np.floor(x)
    t = x - below
    for k, weight in enumerate(weights):
        at = below + (k - 1 if mode == "bicubic" else k)
        if mode == "bicubic":
            at = np.rint(_padded(at, slope, size, padding, corners)[0])
        inside = (at >= 0) & (at < size)
        share = functools.reduce(lambda y, c: y * t + c, weight[::-1].tolist(), t * 0)
        share = np.where(inside | (at != at), share * slope**order, 0)  # NaN stays
        yield np.where(inside, at, 0).astype(np.int64), share


def _padded(x: Any, slope: Any, size: int, padding: str, corners: bool) -> Any:
    """Places brought back into the image, unless beyond it lie zeros; and their slopes."""
    if padding == "reflection":
        low, span = (0, size - 1) if corners else (-0.5, size)
        if not span:
            return x * 0, slope * 0
        x = x - low
        slope = np.where(x < 0, -slope, slope)
        turns = np.floor(np.absolute(x) / span)
        rest = np.absolute(x) - turns * span
        even = turns % 2 == 0
        x, slope = np.where(even, rest, span - rest) + low, np.where(even, slope, -slope)
    if padding != "zeros":
        slope = np.where((x > 0) & (x < size - 1), slope, 0)
        x = np.clip(x, 0, size - 1)
    return x, slope


# ---- as loops ----------------------------------------------------------------------------------


def _pixels(grid: Any, spatial: Any, mode: str, padding: str, corners: bool, orders: Orders) -> Any:
    """The pixels around points, (N, pixels, P): places in a flattened image, and weights.

    A place outside of the image is -1.
    """
    weights, how = _settings(spatial, mode, padding, corners, orders)
    axes, taps, _ = weights.shape
    grid = grid.reshape(len(grid), math.prod(grid.shape[1:-1]), axes)
    places = np.empty((len(grid), taps**axes, grid.shape[1]), np.int64)
    shares = np.empty(places.shape, grid.dtype)
    room = np.empty((3, 2 * taps + 3, grid.shape[1]), grid.dtype)
    _around(grid, places, shares, room, weights, how)
    return places, shares


@functools.lru_cache(256)
def _settings(spatial: Any, mode: str, padding: str, corners: bool, orders: Orders) -> Any:
    """The weights, and what else `_around` goes by: numbers in one array are handed over sooner."""
    lead = (0,) * (3 - len(orders))
    how = (*lead, *orders, *(n + 1 for n in lead), *spatial, PADDING.index(padding), corners)
    return weights_of(mode, orders), np.array(how)


@loops
def _around(grid, places, shares, room, weights, how):
    """Of all points of a sample at once: each step goes through all of them.

    `room` has of each axis the pixels of the taps, their weights, and three rows more.
    """
    axes, taps, points = weights.shape[0], weights.shape[1], grid.shape[1]
    deep = taps if axes == 3 else 1
    height, width, padding, corners = how[4], how[5], how[6], how[7] > 0
    zero, one = grid.dtype.type(0), grid.dtype.type(1)
    below, off, slopes = 2 * taps, 2 * taps + 1, 2 * taps + 2
    for i in range(len(grid)):
        for p in range(points):
            room[0, 0, p] = zero
            room[0, taps, p] = one
        for row in range(3 - axes, 3):
            n = grid.dtype.type(how[row + 3])
            for p in range(points):
                x = grid[i, p, 2 - row]
                slope = (n - 1) / 2 if corners else n / 2
                at = (x + 1) * ((n - 1) / 2) if corners else ((x + 1) * n - 1) / 2
                if padding > 0 and taps < 4:
                    slope *= reflected_slope(at, n, padding, corners)
                    at = reflected(at, n, padding, corners)
                room[row, below, p] = np.rint(at) if taps == 1 else np.floor(at)
                room[row, off, p] = at - room[row, below, p]
                room[row, slopes, p] = slope
            for k in range(taps):
                for p in range(points):
                    room[row, taps + k, p] = zero
                for power in range(taps - 1, -1, -1):
                    weight = grid.dtype.type(weights[row + axes - 3, k, power])
                    for p in range(points):
                        share = room[row, taps + k, p]
                        room[row, taps + k, p] = share * room[row, off, p] + weight
                for _ in range(how[row]):
                    for p in range(points):
                        room[row, taps + k, p] *= room[row, slopes, p]
                for p in range(points):
                    place = room[row, below, p] + (k - 1 if taps == 4 else k)
                    if padding > 0 and taps == 4:
                        place = np.rint(reflected(place, n, padding, corners))
                    at = place if place < n else -one
                    at = at if place >= 0 else -one
                    room[row, k, p] = zero if place != place else at  # NaN stays
        pixel = 0
        for a in range(deep):
            for b in range(taps):
                for c in range(taps):
                    for p in range(points):
                        z, v, u = room[0, a, p], room[1, b, p], room[2, c, p]
                        place = (int(z) * height + int(v)) * width + int(u)
                        place = place if z >= 0 else -1
                        place = place if v >= 0 else -1
                        places[i, pixel, p] = place if u >= 0 else -1
                        share = room[0, taps + a, p] * room[1, taps + b, p]
                        shares[i, pixel, p] = share * room[2, taps + c, p]
                    pixel += 1


@loops
def _nearest(grid, places, how):
    """The place of the pixel at each point: -1 outside of the image, -2 where a point is NaN."""
    samples, points, axes = grid.shape
    padding, corners = how[6], how[7] > 0
    for i in range(samples):
        for p in range(points):
            place = 0
            for axis in range(axes):
                n = how[6 - axes + axis]
                size = grid.dtype.type(n)
                x = grid[i, p, axes - 1 - axis] + 1
                at = x * ((size - 1) / 2) if corners else (x * size - 1) / 2
                if padding > 0:
                    at = reflected(at, size, padding, corners)
                at = np.rint(at)
                if at >= 0 and at < size:
                    place = place * n + int(at) if place >= 0 else place
                elif place != -2:
                    place = -2 if at != at else -1
            places[i, p] = place


@loops
def _picked(x, places, grid, y):
    samples, channels, points = y.shape
    for i in range(samples):
        for channel in range(channels):
            for p in range(points):
                at = places[i, p]
                value = x.dtype.type(0)
                if at >= 0:
                    value = x[i, channel, at]
                elif at == -2:
                    for axis in range(grid.shape[2]):
                        value += grid[i, p, axis]  # NaN
                y[i, channel, p] = value


@loops
def _gathered(x, places, shares, y):
    samples, channels, points = y.shape
    many = places.shape[1]
    for i in range(samples):
        for p in range(points):
            inside = many == 4
            for k in range(many):
                inside = inside and places[i, k, p] >= 0
            if inside:  # what most points are: the pixels' places stay in registers
                a, b, c, d = places[i, 0, p], places[i, 1, p], places[i, 2, p], places[i, 3, p]
                s, t, u, v = shares[i, 0, p], shares[i, 1, p], shares[i, 2, p], shares[i, 3, p]
                for channel in range(channels):
                    total = s * x[i, channel, a] + t * x[i, channel, b]
                    y[i, channel, p] = total + u * x[i, channel, c] + v * x[i, channel, d]
            else:
                for channel in range(channels):
                    total = x.dtype.type(0)
                    for k in range(many):
                        at = places[i, k, p]
                        if at >= 0:
                            total += shares[i, k, p] * x[i, channel, at]
                    y[i, channel, p] = total


@loops
def _scattered(y, places, shares, x):
    samples, channels, points = y.shape
    for i in range(samples):
        for channel in range(channels):
            for p in range(points):
                for k in range(places.shape[1]):
                    at = places[i, k, p]
                    if at >= 0:
                        x[i, channel, at] += shares[i, k, p] * y[i, channel, p]


@within_loops
def reflected(x, n, padding, corners):
    """The place within an image of n pixels."""
    low = x * 0 if corners else x * 0 - 0.5
    span = n - 1 if corners else n
    at = x
    if padding == 2 and span > 0:
        away = abs(at - low)
        turns = np.floor(away / span)
        rest = away - turns * span
        at = low + (rest if turns == 2 * np.floor(turns / 2) else span - rest)
    if not at > 0 and at == at:
        at = n * 0
    if at > n - 1:
        at = n - 1
    return at


@within_loops
def reflected_slope(x, n, padding, corners):
    """How `reflected` changes with x: by 1, -1 or not at all."""
    low = x * 0 if corners else x * 0 - 0.5
    span = n - 1 if corners else n
    at = reflected(x, n, padding, corners)
    slope = x * 0 + 1
    if padding == 2 and span > 0:
        if x < low:
            slope = -slope
        turns = np.floor(abs(x - low) / span)
        if turns != 2 * np.floor(turns / 2):
            slope = -slope
        inside = at > 0 and at < n - 1
    else:
        inside = x > 0 and x < n - 1
    if not inside:
        slope = x * 0
    return slope


# ---- along one dimension -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Band:
    """A constant matrix whose rows are zero but for a few neighbours.

    Row i has `weights[i]` in the columns from `starts[i]` on; there are `size` columns.
    """

    starts: Any
    weights: Any
    size: int


def band(matrix: Any) -> Band:
    """A matrix as a band.

    >>> found = band(np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]))
    >>> found.starts, found.weights
    (array([0, 1]), array([[1. , 0. ],
           [0.5, 0.5]]))
    """
    n = matrix.shape[1]
    used = matrix != 0
    first, last = used.argmax(1), n - 1 - used[:, ::-1].argmax(1)
    width = int(np.where(used.any(1), last - first, 0).max(initial=0)) + 1
    starts = np.minimum(first, n - width)
    weights = np.take_along_axis(matrix, starts[:, None] + np.arange(width), 1)
    return Band(starts, weights, n)


@primitive
@implemented
def resize(x: Any, by: Band, axis: int) -> Any:
    """The matrix `by` applied along `axis`."""
    taps = getitem(x, _reading(by, axis))
    return np.sum(_weighted(taps, _weights(by, x.dtype), axis), axis + 1)


def _along_lines(x: Any, by: Band, axis: int) -> bool:
    return loopable(x, _weights(by, x.dtype))


@way(resize, _along_lines)
def _resized_by_loops(x: Any, by: Band, axis: int) -> Any:
    out = np.zeros((*x.shape[:axis], len(by.starts), *x.shape[axis + 1 :]), x.dtype)
    _resized(*as_lines(axis, x, out), by.starts, _weights(by, x.dtype))
    return out


@primitive
@implemented
def unresize(g: Any, by: Band, axis: int) -> Any:
    """`g` added to what it was made of: resize transposed."""
    shares = _weighted(np.expand_dims(g, axis + 1), _weights(by, g.dtype), axis)
    return add_at(shares, _reading(by, axis), _before(g, by, axis))


def _before(g: Any, by: Band, axis: int) -> tuple[int, ...]:
    """The shape of what became `g`."""
    return (*g.shape[:axis], by.size, *g.shape[axis + 1 :])


@way(unresize, _along_lines)
def _unresized_by_loops(g: Any, by: Band, axis: int) -> Any:
    out = np.zeros(_before(g, by, axis), g.dtype)
    _unresized(*as_lines(axis, g, out), by.starts, _weights(by, g.dtype))
    return out


def _weights(by: Band, dtype: Any) -> Any:
    """In the dtype of real numbers that goes with a dtype."""
    real = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
    return by.weights if real.kind != "f" or by.weights.dtype == real else by.weights.astype(real)


def _reading(by: Band, axis: int) -> Any:
    """An index of what each row reads along an axis, which becomes two: rows and taps."""
    return (*(slice(None),) * axis, by.starts[:, None] + np.arange(by.weights.shape[1]))


def _weighted(x: Any, weights: Any, axis: int) -> Any:
    """`x` times the weights of rows and taps, which are the dimensions from `axis` on."""
    shape = (*weights.shape, *(1,) * (len(x.shape) - axis - 2))
    weighted = x * np.reshape(weights, shape)
    if weights.all():
        return weighted
    return np.where(np.reshape(weights != 0, shape), weighted, np.zeros((), x.dtype))


# What has no weight is not read, nor written to: 0 * nan would reach into neighbouring rows.


@loops
def _resized(x, out, starts, weights):
    outer, count, inner = out.shape
    for i in range(outer):
        for j in range(count):
            start = starts[j]
            for tap in range(weights.shape[1]):
                weight = weights[j, tap]
                if weight != 0:
                    for k in range(inner):
                        out[i, j, k] += weight * x[i, start + tap, k]


@loops
def _unresized(g, out, starts, weights):
    outer, count, inner = g.shape
    for i in range(outer):
        for j in range(count):
            start = starts[j]
            for tap in range(weights.shape[1]):
                weight = weights[j, tap]
                if weight != 0:
                    for k in range(inner):
                        out[i, start + tap, k] += weight * g[i, j, k]


transposed(resize, unresize, "Upsample", "UpsampleBackward")


# ---- bins ----------------------------------------------------------------------------------


def largest_of_bins(x: Any, bins: Sequence[tuple[tuple[int, int], ...]]) -> Any:
    """Where in each bin of the last one or two dimensions the largest number is, as if one.

    `bins` holds pairs of where each begins and stops, for each of these dimensions. NaN counts as
    the largest; of equal numbers it is the first.

    >>> largest_of_bins(np.array([[1.0, 3.0, 2.0, 5.0]]), [((0, 2), (1, 4))])
    array([[1, 3]])
    """
    spatial = x.shape[x.ndim - len(bins) :]
    lines = x.reshape(-1, *(1,) * (2 - len(bins)), *spatial)
    rows, columns = map(_ends, (*(((0, 1),),) * (2 - len(bins)), *bins))
    places = np.empty((len(lines), len(rows), len(columns)), np.int64)
    room = np.empty((2, lines.shape[2]), x.dtype)
    _largest_of_bins(lines, rows, columns, room, places)
    return places.reshape(*x.shape[: x.ndim - len(bins)], *map(len, bins))


@functools.lru_cache(256)
def _ends(pairs: tuple[tuple[int, int], ...]) -> Any:
    return np.array(pairs)


@exact_loops
def _largest_of_bins(x, rows, columns, room, places):
    """Down all columns side by side, then along each bin's."""
    width = x.shape[2]
    for i in range(len(x)):
        for a in range(len(rows)):
            start = rows[a, 0]
            for c in range(width):
                room[0, c] = x[i, start, c]
                room[1, c] = 0
            for r in range(start + 1, rows[a, 1]):
                down = x.dtype.type(r - start)
                for c in range(width):
                    value, largest = x[i, r, c], room[0, c]
                    larger = value > largest
                    missing = value != value
                    wins = (largest == largest) if missing else larger
                    room[0, c] = value if wins else largest
                    room[1, c] = down if wins else room[1, c]
            for b in range(len(columns)):
                column = columns[b, 0]
                largest = room[0, column]
                down = room[1, column]
                for c in range(columns[b, 0] + 1, columns[b, 1]):
                    value = room[0, c]
                    wins = value > largest or (value != value and largest == largest)
                    if not wins and (value == largest or (value != value and largest != largest)):
                        wins = room[1, c] < down  # it comes before, in the order of rows
                    if wins:
                        largest = value
                        down = room[1, c]
                        column = c
                places[i, a, b] = (start + int(down)) * width + column
