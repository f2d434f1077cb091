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

_FEW = 1 << 12
"""So many numbers one loop goes through faster; of so many twice, for a derivative."""
_TERMS = 1 << 17
"""Of so many terms it is noted where they lie."""


def _are_few(x: Any, windows: c.Windows, few: int = _FEW) -> bool:
    return 0 < x.size <= few and x.size * math.prod(windows[0]) <= _TERMS and loopable(x)


@way(c.max_pool, _are_few)
def _max_pool(x: Any, windows: c.Windows) -> Any:
    return _reduced(_note_largest, x, windows)


def _reduced(loop: Any, x: Any, windows: c.Windows) -> Any:
    """What a loop makes of the numbers of each window."""
    kernel, out = windows[0], windows[-1]
    before, spatial = x.shape[: -len(kernel)], x.shape[-len(kernel) :]
    y = np.empty((*before, *out), x.dtype)
    loop(c.lines(x, spatial), c.places(spatial, *windows), c.lines(y, out))
    return y


@exact_loops
def _note_largest(x, places, out):
    for i in range(len(x)):
        for w in range(len(places)):
            largest = x.dtype.type(-math.inf)
            for k in range(places.shape[1]):
                if places[w, k] >= 0:
                    largest = np.maximum(largest, x[i, places[w, k]])
            out[i, w] = largest


@way(
    c.max_spread,
    lambda g, condition, target, windows: (
        _are_few(condition, windows, 2 * _FEW) and loopable(g, condition)
    ),
)
def _max_spread(g: Any, condition: Any, target: Any, windows: c.Windows) -> Any:
    return _spread(_spread_to_largest, g, condition.shape, [condition], windows)


def _spread(loop: Any, g: Any, shape: Any, beside: list[Any], windows: c.Windows) -> Any:
    """What a loop adds of `g` to the numbers of each window."""
    spatial, result = shape[-len(windows[0]) :], np.zeros(shape, g.dtype)
    x = [c.lines(x, spatial) for x in (*beside, result)]
    loop(c.lines(g, windows[-1]), *x[:-1], c.places(spatial, *windows), x[-1])
    return result


@loops
def _spread_to_largest(g, x, places, out):
    for i in range(len(x)):
        for w in range(len(places)):
            largest = x.dtype.type(-math.inf)
            place = -1
            for k in range(places.shape[1]):
                here = places[w, k]
                if here >= 0:
                    # Chosen, not branched to, which a processor would often mispredict.
                    value = x[i, here]
                    unless = here if largest == largest else place
                    place = here if place < 0 else here if value > largest else place
                    place = unless if value != value else place
                    largest = np.maximum(largest, value)
            if place >= 0:
                out[i, place] += g[i, w]


@way(c.sum_pool, _are_few)
def _sum_pool(x: Any, windows: c.Windows) -> Any:
    return _reduced(_add_windows, x, windows)


@loops
def _add_windows(x, places, out):
    for i in range(len(x)):
        for w in range(len(places)):
            total = x.dtype.type(0)
            for k in range(places.shape[1]):
                if places[w, k] >= 0:
                    total += x[i, places[w, k]]
            out[i, w] = total


@way(c.sum_spread, lambda g, x_shape, windows: _are_few(g, windows))
def _sum_spread(g: Any, x_shape: Any, windows: c.Windows) -> Any:
    return _spread(_add_to_windows, g, x_shape, [], windows)


@loops
def _add_to_windows(g, places, out):
    for i in range(len(g)):
        for w in range(len(places)):
            for k in range(places.shape[1]):
                if places[w, k] >= 0:
                    out[i, places[w, k]] += g[i, w]
