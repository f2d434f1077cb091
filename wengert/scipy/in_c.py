"""What functions of SciPy's in C compute, in NumPy's functions, where SciPy's source calls them."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.dispatch import as_array
from wengert.scipy.standard import rows
from wengert.tensor import Tensor

IN_C: dict[int, tuple[Any, Any]] = {}
"""Functions of SciPy's in C, by identity (kept beside it), and what they compute, in NumPy."""


def _in_c(module: str, name: str) -> Callable[[Any], Any]:
    def note(ours: Any) -> Any:
        with contextlib.suppress(ImportError, AttributeError):  # another version may have none
            theirs = getattr(importlib.import_module(f"scipy.{module}"), name)
            IN_C[id(theirs)] = theirs, ours
        return ours

    return note


@_in_c("interpolate._rgi_cython", "find_indices")
def _find_indices(grid: Any, xi: Any) -> Any:
    """Of each coordinate the interval of its axis, and how far it is inside, as a share."""
    below, shares = [], []
    for points, x in zip(grid, xi, strict=True):
        known = x.detach() if isinstance(x, Tensor) else x
        k = np.clip(np.searchsorted(points, known, side="right") - 1, 0, max(len(points) - 2, 0))
        low, high = rows(points, k), rows(points, np.minimum(k + 1, len(points) - 1))
        width = high - low
        below.append(k)
        shares.append(np.where(width > 0, (x - low) / np.where(width > 0, width, 1.0), 0.0 * x))
    return np.stack(below), shares


@_in_c("interpolate._rgi_cython", "evaluate_linear_2d")
def _evaluate_linear(values: Any, below: Any, shares: Any, grid: Any, out: Any) -> Any:
    """The mean of the corners of a rectangle, by how near they are."""
    total: Any = 0.0
    for corner in itertools.product((0, 1), repeat=len(below)):
        places = tuple(
            np.minimum(k + c, len(points) - 1)
            for k, c, points in zip(below, corner, grid, strict=True)
        )
        weight: Any = 1.0
        for share, c in zip(shares, corner, strict=True):
            weight = weight * (share if c else 1 - share)
        total = total + rows(values, places) * weight
    return total


@_in_c("interpolate._interpnd", "_ndim_coords_from_arrays")
def _coordinates(points: Any, ndim: int | None = None) -> Any:
    """Places with their coordinates along the last axis, which may be given one by one."""
    if isinstance(points, tuple) and len(points) == 1:
        points = points[0]
    if isinstance(points, tuple):
        return np.stack(np.broadcast_arrays(*map(as_array, points)), axis=-1)
    points = as_array(points)
    return np.reshape(points, (-1, ndim or 1)) if len(points.shape) == 1 else points


class _Kernels:
    """`gaussian_kernel_estimate[precision](...)`: sums of normal densities around points."""

    def __init__(self, logarithm: bool) -> None:
        self.logarithm = logarithm

    def __getitem__(self, precision: str) -> Any:
        return self._estimate

    def _estimate(self, points: Any, values: Any, at: Any, factor: Any, dtype: Any) -> Any:
        d = points.shape[1]
        from_there = np.linalg.inv(factor)
        z = np.matmul(at, from_there.T)[:, None] - np.matmul(points, from_there.T)[None]
        less = d / 2 * math.log(2 * math.pi) + np.sum(np.log(np.diagonal(factor)))
        heights = -np.sum(z * z, axis=-1) / 2 - less
        if not self.logarithm:
            return np.matmul(np.exp(heights), values)
        top = np.max(heights.detach(), axis=1, keepdims=True)
        return np.log(np.matmul(np.exp(heights - top), values)) + top


_in_c("stats._stats", "gaussian_kernel_estimate")(_Kernels(False))
_in_c("stats._stats", "gaussian_kernel_estimate_log")(_Kernels(True))
