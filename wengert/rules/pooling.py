"""Pools of few numbers, window by window.

`convolution.py` computes a pool by one step of NumPy's for each place in the window, over all
windows at once. On few numbers these steps are what takes the time: here is one loop for all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.rules import convolution as c
from wengert.rules.loops import exact_loops, loopable, loops
from wengert.rules.ways import way

Sizes = tuple[int, ...]
_FEW = 1 << 12
"""So many numbers one loop goes through faster; of so many twice, for a derivative."""


def _are_few(x: Any, kernel: Sizes, few: int = _FEW) -> bool:
    return len(kernel) < 3 and 0 < x.size <= few and loopable(x)


@way(c.max_pool, lambda x, kernel, *_, **__: _are_few(x, kernel))
def _max_pool(
    x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes
) -> Any:
    n = len(kernel)
    y = np.empty((*x.shape[: x.ndim - n], *out), x.dtype)
    windows = c.numbers(kernel, stride, padding, dilation)
    _note_largest(c.planes(x, n), windows, -math.inf, c.planes(y, n))
    return y


@exact_loops
def _note_largest(x, windows, lowest, out):
    for i in range(len(x)):
        for a in range(out.shape[1]):
            for b in range(out.shape[2]):
                largest = x.dtype.type(lowest)
                for r in range(windows[0, 0]):
                    row = a * windows[1, 0] - windows[2, 0] + r * windows[3, 0]
                    for s in range(windows[0, 1]):
                        column = b * windows[1, 1] - windows[2, 1] + s * windows[3, 1]
                        if 0 <= row < x.shape[1] and 0 <= column < x.shape[2]:
                            largest = np.maximum(largest, x[i, row, column])
                out[i, a, b] = largest


@way(
    c.max_spread,
    lambda g, condition, target, kernel, *_, **__: (
        _are_few(condition, kernel, 2 * _FEW) and loopable(g, condition)
    ),
)
def _max_spread(
    g: Any, condition: Any, target: Any, kernel: Sizes, stride: Sizes, padding: Sizes,
    dilation: Sizes, out: Sizes,
) -> Any:  # fmt: skip
    n = len(kernel)
    result = np.zeros(condition.shape, g.dtype)
    windows = c.numbers(kernel, stride, padding, dilation)
    planes = c.planes(g, n), c.planes(condition, n)
    _spread_to_largest(*planes, windows, -math.inf, c.planes(result, n))
    return result


@loops
def _spread_to_largest(g, x, windows, lowest, out):
    for i in range(len(x)):
        for a in range(g.shape[1]):
            for b in range(g.shape[2]):
                largest = x.dtype.type(lowest)
                place = -1
                for r in range(windows[0, 0]):
                    row = a * windows[1, 0] - windows[2, 0] + r * windows[3, 0]
                    for s in range(windows[0, 1]):
                        column = b * windows[1, 1] - windows[2, 1] + s * windows[3, 1]
                        if 0 <= row < x.shape[1] and 0 <= column < x.shape[2]:
                            # Chosen, not branched to, which a processor would often mispredict.
                            value = x[i, row, column]
                            here = row * x.shape[2] + column
                            unless = here if largest == largest else place
                            place = here if place < 0 else here if value > largest else place
                            place = unless if value != value else place
                            largest = np.maximum(largest, value)
                if place >= 0:
                    out[i, place // x.shape[2], place % x.shape[2]] += g[i, a, b]


@way(c.sum_pool, lambda x, kernel, *_, **__: _are_few(x, kernel))
def _sum_pool(
    x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes
) -> Any:
    n = len(kernel)
    y = np.empty((*x.shape[: x.ndim - n], *out), x.dtype)
    windows = c.numbers(kernel, stride, padding, dilation)
    _add_windows(c.planes(x, n), windows, c.planes(y, n))
    return y


@loops
def _add_windows(x, windows, out):
    for i in range(len(x)):
        for a in range(out.shape[1]):
            for b in range(out.shape[2]):
                total = x.dtype.type(0)
                for r in range(windows[0, 0]):
                    row = a * windows[1, 0] - windows[2, 0] + r * windows[3, 0]
                    for s in range(windows[0, 1]):
                        column = b * windows[1, 1] - windows[2, 1] + s * windows[3, 1]
                        if 0 <= row < x.shape[1] and 0 <= column < x.shape[2]:
                            total += x[i, row, column]
                out[i, a, b] = total


@way(c.sum_spread, lambda g, x_shape, kernel, *_, **__: _are_few(g, kernel))
def _sum_spread(
    g: Any, x_shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
    out: Sizes,
) -> Any:  # fmt: skip
    n = len(kernel)
    result = np.zeros(x_shape, g.dtype)
    windows = c.numbers(kernel, stride, padding, dilation)
    _add_to_windows(c.planes(g, n), windows, c.planes(result, n))
    return result


@loops
def _add_to_windows(g, windows, out):
    for i in range(len(g)):
        for a in range(g.shape[1]):
            for b in range(g.shape[2]):
                for r in range(windows[0, 0]):
                    row = a * windows[1, 0] - windows[2, 0] + r * windows[3, 0]
                    for s in range(windows[0, 1]):
                        column = b * windows[1, 1] - windows[2, 1] + s * windows[3, 1]
                        if 0 <= row < out.shape[1] and 0 <= column < out.shape[2]:
                            out[i, row, column] += g[i, a, b]
