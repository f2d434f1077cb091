"""Standardizing: the heart of layer, batch, group and instance normalization, in one step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.dispatch import primitive
from wengert.rules import rows
from wengert.rules.rule import general, linear, unbroadcast

# y = (x - mean) r,  r = 1 / sqrt(var + eps):
#   x_bar = r (g - mean(g) - y mean(g y))  (Ioffe and Szegedy, 2015, simplified)
# The Jacobian is symmetric, so tangents are pushed by the same formula.


@primitive
def standardize(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """(x - mean) / sqrt(var + eps), with mean and variance over `axes`."""
    if type(x) is not np.ndarray:
        d = x - np.mean(x, axis=axes, keepdims=True)
        return d / np.sqrt(np.mean(d * d, axis=axes, keepdims=True) + eps)
    if _trailing(x, axes):
        return rows.standardize(x, math.prod(x.shape[axes[0] :]), eps)
    view, n = _grouped(x, axes)
    y = view - _total(view) / n
    y *= 1 / np.sqrt(_total(y, y) / n + eps)
    return y.reshape(x.shape)


def _trailing(x: Any, axes: tuple[int, ...]) -> bool:
    """Whether the axes are an array's last ones, in order, and it is plain."""
    return rows.fits(x, -1) and [a % x.ndim for a in axes] == list(range(x.ndim))[-len(axes) :]


def _grouped(x: Any, axes: tuple[int, ...]) -> tuple[Any, int]:
    """A plain array as (before, groups, within), and how many numbers a group has.

    Groups are either everything but the last dimensions, or one dimension after the first.
    """
    shape = x.shape
    if axes[0] == 0 and len(axes) < x.ndim:  # each channel over the batch
        assert axes[1:] == tuple(range(2, x.ndim))
        view = x.reshape(shape[0], shape[1], math.prod(shape[2:]))
    else:
        view = x.reshape(1, math.prod(shape[: axes[0]]), math.prod(shape[axes[0] :]))
    return view, view.shape[0] * view.shape[2] or 1


def _total(a: Any, b: Any = None) -> Any:
    """Each group's sum of `a`, or of `a * b`, without an array of products."""
    within = np.add.reduce(a, 2) if b is None else np.einsum("ngi,ngi->ng", a, b)
    return np.add.reduce(within, 0)[:, None]


def _through(g: Any, x: Any, y: Any, axes: tuple[int, ...], eps: float) -> Any:
    if type(g) is type(x) is type(y) is np.ndarray:
        if _trailing(x, axes) and rows.fits(g, -1) and rows.fits(y, -1) and g.dtype is x.dtype:
            return rows.standardize_pull(g, x, y, math.prod(x.shape[axes[0] :]), eps)
        return _through_plain(g, x, y, axes, eps)
    mean = lambda a: np.mean(a, axis=axes, keepdims=True)
    d = x - mean(x)
    r = 1 / np.sqrt(mean(d * d) + eps)
    return r * (g - mean(g) - y * mean(g * y))


def _through_plain(g: Any, x: Any, y: Any, axes: tuple[int, ...], eps: float) -> Any:
    (grouped, n), (y, _), (x, _) = (_grouped(a, axes) for a in (g, y, x))
    d = x - _total(x) / n
    r = 1 / np.sqrt(_total(d, d) / n + eps)
    np.multiply(y, _total(grouped, y) / n, out=d)
    np.subtract(grouped, d, out=d)
    d -= _total(grouped) / n
    d *= r
    return d.reshape(g.shape)


general(
    standardize,
    reverse={"x": lambda g, x, y, axes, eps: _through(g, x, y, axes, eps)},
    forward={"x": lambda t, x, y, axes, eps: _through(t, x, y, axes, eps)},
    name="NativeLayerNorm",
)

# ---- scale and shift -----------------------------------------------------------------------


@primitive
def scaled(x: Any, weight: Any, bias: Any) -> Any:
    """x * weight + bias, with weight and bias of the last dimensions' shape; bias may be None."""
    out = x * weight
    if bias is None:
        return out
    if type(out) is np.ndarray:
        out += bias
        return out
    return out + bias


def _by_columns(g: Any, weight_shape: tuple[int, ...]) -> Any:
    return g.reshape(-1, math.prod(weight_shape))


def _scaled_pull_weight(g: Any, x: Any, weight_shape: tuple[int, ...]) -> Any:
    if rows.fits(g, -1) and rows.fits(x, -1) and g.dtype is x.dtype:
        sums = rows.column_sums(_by_columns(g, weight_shape), _by_columns(x, weight_shape))
        return sums.reshape(weight_shape)
    return unbroadcast(g * x, weight_shape)


def _scaled_pull_bias(g: Any, bias_shape: tuple[int, ...]) -> Any:
    if rows.fits(g, -1):
        return rows.column_sums(_by_columns(g, bias_shape)).reshape(bias_shape)
    return unbroadcast(g, bias_shape)


linear(
    scaled,
    lambda g, weight: g * weight,
    _scaled_pull_weight,
    _scaled_pull_bias,
    forward={
        "x": lambda t, weight: t * weight,
        "weight": lambda t, x: x * t,
        "bias": lambda t, y: np.broadcast_to(t, y.shape),
    },
    name="Addcmul",
)
