"""Standardizing: the heart of layer, batch, group and instance normalization, in one step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.dispatch import primitive
from wengert.rules.rule import general

# y = (x - mean) r,  r = 1 / sqrt(var + eps):
#   x_bar = r (g - mean(g) - y mean(g y))  (Ioffe and Szegedy, 2015, simplified)
# The Jacobian is symmetric, so tangents are pushed by the same formula.


@primitive
def standardize(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """(x - mean) / sqrt(var + eps), with mean and variance over `axes`."""
    n = math.prod(x.shape[a] for a in axes) or 1
    y = x - np.add.reduce(x, axis=axes, keepdims=True) / n
    y *= rate(y, axes, eps, n)
    return y


def rate(centred: Any, axes: tuple[int, ...], eps: float, n: int) -> Any:
    """1 / sqrt(var + eps) of numbers whose mean is 0."""
    return 1 / np.sqrt(np.sum(centred * centred, axis=axes, keepdims=True) / n + eps)


def _through(g: Any, x: Any, y: Any, axes: tuple[int, ...], eps: float) -> Any:
    mean = lambda a: np.mean(a, axis=axes, keepdims=True)
    d = x - mean(x)
    r = 1 / np.sqrt(mean(d * d) + eps)
    return r * (g - mean(g) - y * mean(g * y))


general(
    standardize,
    reverse={"x": lambda g, x, y, axes, eps: _through(g, x, y, axes, eps)},
    forward={"x": lambda t, x, y, axes, eps: _through(t, x, y, axes, eps)},
    name="NativeLayerNorm",
)
