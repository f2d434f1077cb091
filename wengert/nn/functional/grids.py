"""Images sampled at any points: the grid of an affine map, and values between pixels."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np

from wengert.autograd.record import recorder
from wengert.functions.arguments import of_tensors
from wengert.history.location import stacklevel
from wengert.nn.functional.shared import apply, reshape, where
from wengert.rules import neural
from wengert.tensor import Tensor, wrap

_matmul = recorder(np.matmul)
CUBIC = -0.75
"""The free parameter of cubic interpolation, as PyTorch and OpenCV choose it (Keys, 1981)."""


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Where each pixel of an output of `size` lies in the input, by the affine maps `theta`.

    theta (N, 2, 3) and size (N, C, H, W) give (N, H, W, 2), points (x, y) with the input between -1
    and 1; theta (N, 3, 4) and size (N, C, D, H, W) give (N, D, H, W, 3).
    """
    n = len(size) - 2
    if n not in (2, 3):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms. Got "
            f"size {tuple(size)}."
        )
    if tuple(theta.shape) != (size[0], n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape {(size[0], n, n + 1)} for size "
            f"{tuple(size)}. Got {tuple(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")
    corners = _told(align_corners, "affine_grid")
    axes = [_between(s, corners) for s in size[2:]]
    places = np.meshgrid(*axes, indexing="ij")[::-1]  # x first: along the last dimension
    points = np.stack([*places, np.ones(tuple(size[2:]))], -1).astype(theta.dtype)
    flat = wrap(points.reshape(1, -1, n + 1))
    return reshape(_matmul(flat, theta.mT), (size[0], *size[2:], n))


def _between(n: int, corners: bool) -> Any:
    """The places of n pixels between -1 and 1: of their centres, or with those at the ends."""
    line = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
    return line if corners or n <= 1 else line * (n - 1) / n


def _told(align_corners: bool | None, name: str) -> bool:
    if align_corners is None:
        warnings.warn(
            f"Default {name} behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired.",
            UserWarning,
            stacklevel=stacklevel(),
        )
    return bool(align_corners)


@of_tensors(2, alike=True)
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The values of (N, C, H, W) at the points of grid, (N, H', W', 2): (N, C, H', W').

    A point is (x, y), with the input between -1 and 1; or (x, y, z) for (N, C, D, H, W). `mode` is
    'bilinear', 'nearest' or (for images) 'bicubic'. Beyond the border lie zeros, or the nearest
    border pixel, or the reflected image: `padding_mode` 'zeros', 'border', 'reflection'.

    >>> import wengert as wg
    >>> x = wg.tensor([[[[1.0, 3.0]]]])
    >>> grid_sample(x, wg.zeros(1, 1, 1, 2), align_corners=False)
    tensor([[[[2.]]]])
    """
    n = input.ndim - 2
    _check(input, grid, mode, padding_mode, n)
    corners = _told(align_corners, "grid_sample")
    spatial = tuple(input.shape[2:])
    # One coordinate for each dimension, in the input's order: the grid has x, the last, first.
    places = []
    for axis, size in enumerate(spatial):
        x = grid[..., n - 1 - axis]
        x = (x + 1) * ((size - 1) / 2) if corners else ((x + 1) * size - 1) * 0.5
        places.append(x if mode == "bicubic" else _padded(x, size, padding_mode, corners))
    if mode == "nearest":
        nearest = [np.rint(x._array).astype(np.int64) for x in places]
        return _values(input, nearest, None)
    if mode == "bilinear":
        taps = [_linear_taps(x) for x in places]
    else:
        taps = [
            _cubic_taps(x, s, padding_mode, corners) for x, s in zip(places, spatial, strict=True)
        ]
    out: Any = None
    for corner in itertools.product(*taps):
        weight = corner[0][1]
        for _, more in corner[1:]:
            weight = weight * more
        term = _values(input, [index for index, _ in corner], weight)
        out = term if out is None else out + term
    return out


def _check(input: Tensor, grid: Tensor, mode: str, padding_mode: str, n: int) -> None:
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    if n not in (2, 3) or grid.ndim != input.ndim:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
            f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if n == 3 and mode == "bicubic":
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.shape[0] != grid.shape[0] or grid.shape[-1] != n:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have the batch size {input.shape[0]} and size {n} "
            f"in last dimension, but got grid with sizes {list(grid.shape)}"
        )
    if min(input.shape[2:]) == 0:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
            f"sizes {list(input.shape)}"
        )


def _padded(x: Tensor, size: int, padding_mode: str, corners: bool) -> Tensor:
    """Coordinates brought back into the input, unless beyond it lie zeros."""
    if padding_mode == "zeros":
        return x
    if padding_mode == "reflection":
        x = _reflected(x, *((0, size - 1) if corners else (-0.5, size - 0.5)))
    return apply(neural.hardtanh, x, 0, size - 1)


def _reflected(x: Tensor, low: float, high: float) -> Tensor:
    span = high - low
    if span == 0:
        return x * 0
    x = (x - low).abs()
    turns = np.floor(x._array / span)
    rest = x - wrap((turns * span).astype(x.dtype))
    return where(turns % 2 == 0, rest + low, (span + low) - rest)


def _linear_taps(x: Tensor) -> list[tuple[Any, Tensor]]:
    below = np.floor(x._array)
    share = x - wrap(below)
    index = below.astype(np.int64)
    return [(index, 1 - share), (index + 1, share)]


def _cubic_taps(x: Tensor, size: int, padding_mode: str, corners: bool) -> list[tuple[Any, Tensor]]:
    below = np.floor(x._array)
    t = x - wrap(below)
    taps = []
    for k, weight in zip((-1, 0, 1, 2), _cubic_weights(t), strict=True):
        place = _padded(wrap(below + k), size, padding_mode, corners)
        taps.append((np.rint(place._array).astype(np.int64), weight))
    return taps


def _cubic_weights(t: Any) -> list[Any]:
    """Of the four neighbours of a place that is t behind the second."""
    a = CUBIC
    near = lambda d: ((a + 2) * d - (a + 3)) * d * d + 1
    far = lambda d: ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _values(input: Tensor, index: list[Any], weight: Tensor | None) -> Tensor:
    """The input's values at whole places, times a weight; zero outside of it."""
    spatial = input.shape[2:]
    inside: Any = True
    flat: Any = 0
    for i, size in zip(index, spatial, strict=True):
        inside = inside & (i >= 0) & (i < size)
        flat = flat * size + np.clip(i, 0, size - 1)
    batch, channels = input.shape[:2]
    count = math.prod(flat.shape[1:])
    rows = reshape(input, (batch, channels, math.prod(spatial)))
    where_ = np.broadcast_to(flat.reshape(batch, 1, count), (batch, channels, count))
    pixels = reshape(apply(np.take_along_axis, rows, where_, 2), (batch, channels, *flat.shape[1:]))
    kept = wrap(inside.astype(input.dtype))
    return pixels * (kept if weight is None else weight * kept).unsqueeze(1)
