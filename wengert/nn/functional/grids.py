"""Images sampled at any points: the grid of an affine map, and values between pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.autograd.record import recorder
from wengert.functions.arguments import of_tensors
from wengert.history.location import warn
from wengert.nn.functional.shared import reshape
from wengert.rules.sampling import sample
from wengert.tensor import Tensor, wrap

_matmul, _sample = recorder(np.matmul), recorder(sample)


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
        warn(
            f"Default {name} behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired."
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
    return _sample(input, grid, mode, padding_mode, corners, (0,) * n)


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
    shape, points = input._array.shape, grid._array.shape
    if n not in (2, 3) or len(points) != len(shape):
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
            f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if n == 3 and mode == "bicubic":
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if shape[0] != points[0] or points[-1] != n:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have the batch size {shape[0]} and size {n} "
            f"in last dimension, but got grid with sizes {list(grid.shape)}"
        )
    if 0 in shape[2:]:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
            f"sizes {list(input.shape)}"
        )
