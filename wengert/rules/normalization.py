"""Standardizing: the heart of layer, batch, group and instance normalization, in one step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.dispatch import errors_pass, primitive
from wengert.rules import rows
from wengert.rules.blocks import (
    BLOCK,
    ENOUGH,
    FEW,
    by_rows,
    by_samples,
    each_line,
    each_row,
    in_order,
    many,
    reducible,
    rows_and_sums,
    sum_of_rows,
)
from wengert.rules.loops import loopable, loops
from wengert.rules.reductions import conjugated, each_variance
from wengert.rules.rule import general, linear, unbroadcast
from wengert.rules.ways import implemented, way

# y = (x - mean) r,  r = 1 / sqrt(var + eps):
#   x_bar = r (g - mean(g) - y mean(g y))  (Ioffe and Szegedy, 2015, simplified)
# The Jacobian is symmetric, so tangents are pushed by the same formula.


@primitive
@implemented
def standardize(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """(x - mean) / sqrt(var + eps), with mean and variance over `axes`."""
    d = x - np.mean(x, axis=axes, keepdims=True)
    return d * (1 / np.sqrt(np.mean(d * d, axis=axes, keepdims=True) + eps))


@way(standardize, lambda x, axes, eps: _trailing(x, axes))
def _of_rows(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    return _each_standardized(_rows(x, axes), _LAST, eps).reshape(x.shape)


_LAST = (-1,)
_each_standardized = each_row(standardize.body.formula)  # type: ignore[attr-defined]


@way(standardize, lambda x, axes, eps: axes == (0,) and _is_matrix(x))
def _of_columns(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    return _columns_standardized(np.ascontiguousarray(x), _DOWN, eps)


_DOWN = (-2,)
_columns_standardized = each_row(standardize.body.formula, ndim=2)  # type: ignore[attr-defined]


def _is_matrix(*arrays: Any) -> bool:
    return arrays[0].ndim == 2 and in_order(*arrays)


@way(standardize, lambda x, axes, eps: many(x) and _is_channel(axes, x))
def _of_channels(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    mean, var = moments(x)
    r = 1 / np.sqrt(var + eps)
    standardized = by_samples(_shifted, [_by_channel(x)], [mean[:, None], r[:, None]])
    return standardized.reshape(x.shape)


@way(standardize, lambda x, axes, eps: loopable(x) and x.size >= FEW and _is_channel(axes, x))
def _of_few_channels(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    return _as_before(_each_standardized(_channel_rows(x), _LAST, eps), x)


def _channel_rows(x: Any) -> Any:
    """Each channel's numbers as a row, beside each other."""
    rows = x.swapaxes(0, 1).reshape(x.shape[1], x.size // x.shape[1])
    return np.ascontiguousarray(rows)


def _as_before(rows: Any, x: Any) -> Any:
    """Such rows in the shape of `x`."""
    shape = x.shape[1], x.shape[0], *x.shape[2:]
    return np.ascontiguousarray(rows.reshape(shape).swapaxes(0, 1))


@way(standardize, lambda x, axes, eps: type(x) is np.ndarray)
def _of_groups(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    view, n = _grouped(x, axes)
    y = view - _total(view) / n
    y *= 1 / np.sqrt(_total(y, y) / n + eps)
    return y.reshape(x.shape)


def _rows(x: Any, axes: tuple[int, ...]) -> Any:
    """An array as rows of the numbers that each mean is of, where the axes are the last ones."""
    return x if len(axes) == 1 else x.reshape(-1, math.prod(x.shape[axes[0] :]))


def _trailing(x: Any, axes: tuple[int, ...]) -> bool:
    """Whether the axes are the last ones, in order, of a plain array that is in order."""
    return rows.fits(x, -1) and [a % x.ndim for a in axes] == list(range(x.ndim))[-len(axes) :]


def _grouped(x: Any, axes: tuple[int, ...]) -> tuple[Any, int]:
    """A plain array as (before, groups, within), and how many numbers a group has.

    Groups are either everything but the last dimensions, or one dimension after the first.
    """
    shape = x.shape
    if _is_channel(axes, x):
        assert axes[1:] == tuple(range(2, x.ndim))
        view = _by_channel(x)
    else:
        view = x.reshape(1, math.prod(shape[: axes[0]]), math.prod(shape[axes[0] :]))
    return view, view.shape[0] * view.shape[2] or 1


def _total(a: Any, b: Any = None) -> Any:
    """Each group's sum of `a`, or of `a * b`, without an array of products."""
    within = np.add.reduce(a, 2) if b is None else np.einsum("ngi,ngi->ng", a, b)
    return np.add.reduce(within, 0)[:, None]


# ---- each channel over a batch -------------------------------------------------------------


def _is_channel(axes: tuple[int, ...], x: Any) -> bool:
    return axes[0] == 0 and len(axes) < x.ndim


def _by_channel(x: Any) -> Any:
    """(batch, channels, all the rest)."""
    return x.reshape(x.shape[0], x.shape[1], math.prod(x.shape[2:]))


@implemented
def moments(x: Any) -> tuple[Any, Any]:
    """Mean and variance, without correction, of each channel of a plain array."""
    axes = (0, *range(2, x.ndim))
    return np.mean(x, axis=axes), np.var(x, axis=axes)


@way(moments, lambda x: _is_matrix(x) and reducible(x, 0))
def _moments_of_columns(x: Any) -> tuple[Any, Any]:
    return _each_mean(x, 0), each_variance(x, 0, False, 0)


_each_mean = each_line(np.mean)


@way(moments, lambda x: FEW <= x.size < BLOCK and loopable(x))
def _moments_of_rows(x: Any) -> tuple[Any, Any]:
    rows = _channel_rows(x)
    return _each_mean(rows, -1), each_variance(rows, -1, False, 0)


@way(moments, lambda x: many(x))
def _moments_compiled(x: Any) -> tuple[Any, Any]:
    view, n = _by_channel(x), x.size // x.shape[1]
    mean = np.add.reduce(by_samples(_sums, [view]), 0) / n
    squares = by_samples(_squares, [view], [mean[:, None]])
    return mean, np.add.reduce(squares, 0) / n


def _sums(x: Any) -> Any:
    return np.sum(x, axis=2)


def _squares(x: Any, mean: Any) -> Any:
    d = x - mean
    return np.sum(d * d, axis=2)


def _shifted(x: Any, mean: Any, r: Any) -> Any:
    return (x - mean) * r


def _sums_of_three(g: Any, x: Any, y: Any) -> Any:
    return np.sum(g, axis=2), np.sum(g * y, axis=2), np.sum(x * y, axis=2)


def _through_given(g: Any, y: Any, r: Any, mean_g: Any, mean_gy: Any) -> Any:
    return r * (g - mean_g - y * mean_gy)


@implemented
def _through(g: Any, x: Any, y: Any, axes: tuple[int, ...], eps: float) -> Any:
    mean = lambda a: np.mean(a, axis=axes, keepdims=True)
    d = x - mean(x)
    r = 1 / np.sqrt(mean(d * d) + eps)
    return _through_given(g, y, r, mean(g), mean(g * y))


@way(
    _through,
    lambda g, x, y, axes, eps: (
        _trailing(x, axes) and rows.fits(g, -1) and rows.fits(y, -1) and g.dtype is x.dtype
    ),
)
def _through_rows(g: Any, x: Any, y: Any, axes: tuple[int, ...], eps: float) -> Any:
    of_rows = [_rows(a, axes) for a in (g, x, y)]
    return _each_through(*of_rows, _LAST, eps).reshape(g.shape)


_each_through = each_row(_through.formula, 3)  # type: ignore[attr-defined]


@way(_through, lambda g, x, y, axes, eps: axes == (0,) and _is_matrix(g, x, y))
def _through_columns(g: Any, x: Any, y: Any, axes: tuple[int, ...], eps: float) -> Any:
    return _each_through_columns(*map(np.ascontiguousarray, (g, x, y)), _DOWN, eps)


_each_through_columns = each_row(_through.formula, 3, ndim=2)  # type: ignore[attr-defined]


@way(_through, lambda g, x, y, axes, eps: many(g, x, y) and _is_channel(axes, x))
def _through_channels(g: Any, x: Any, y: Any, axes: tuple[int, ...], eps: float) -> Any:
    shape = g.shape
    g, x, y = (_by_channel(a) for a in (g, x, y))
    sums = by_samples(_sums_of_three, [g, x, y])
    of_g, of_gy, of_xy = (np.add.reduce(a, 0)[:, None] / (len(x) * x.shape[2]) for a in sums)
    r = rows.inverse_deviation(of_xy, eps)
    return by_samples(_through_given, [g, y], [r, of_g, of_gy]).reshape(shape)


@way(
    _through,
    lambda g, x, y, axes, eps: loopable(g, x, y) and x.size >= FEW and _is_channel(axes, x),
)
def _through_few_channels(g: Any, x: Any, y: Any, axes: tuple[int, ...], eps: float) -> Any:
    of_rows = [_channel_rows(a) for a in (g, x, y)]
    return _as_before(_each_through(*of_rows, _LAST, eps), g)


@way(_through, lambda g, x, y, axes, eps: type(g) is type(x) is type(y) is np.ndarray)
def _through_groups(g: Any, x: Any, y: Any, axes: tuple[int, ...], eps: float) -> Any:
    (grouped, n), (y, _), (x, _) = (_grouped(a, axes) for a in (g, y, x))
    d = x - _total(x) / n
    r = 1 / np.sqrt(_total(d, d) / n + eps)
    np.multiply(y, _total(grouped, y) / n, out=d)
    np.subtract(grouped, d, out=d)
    d -= _total(grouped) / n
    d *= r
    return d.reshape(g.shape)


general(standardize, reverse={"x": _through}, forward={"x": _through}, name="NativeLayerNorm")


@primitive
def standardize_groups(x: Any, groups: int, eps: float) -> Any:
    """`standardize` of each group of the channels of (N, C, ...)."""
    return standardize(_in_groups(x, groups), (2,), eps).reshape(x.shape)


def _in_groups(x: Any, groups: int) -> Any:
    n, channels = x.shape[:2]
    return x.reshape(n, groups, channels // groups * math.prod(x.shape[2:]))


def _groups_through(g: Any, x: Any, y: Any, groups: int, eps: float) -> Any:
    grouped = [_in_groups(a, groups) for a in (g, x, y)]
    return _through(*grouped, (2,), eps).reshape(x.shape)


general(
    standardize_groups,
    reverse={"x": _groups_through},
    forward={"x": _groups_through},
    name="NativeGroupNorm",
)

# ---- by the root of the mean square alone ---------------------------------------------------


@primitive
@implemented
def to_unit_square(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """x / sqrt(mean(x^2) + eps), with the mean over `axes`."""
    return x * (1 / np.sqrt(np.mean(x * x, axis=axes, keepdims=True) + eps))


@way(to_unit_square, lambda x, axes, eps: _trailing(x, axes))
def _rows_to_unit_square(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    return _each_to_unit_square(_rows(x, axes), _LAST, eps).reshape(x.shape)


_each_to_unit_square = each_row(to_unit_square.body.formula)  # type: ignore[attr-defined]


@implemented
def _through_unit_square(g: Any, x: Any, axes: tuple[int, ...], eps: float) -> Any:
    r = 1 / np.sqrt(np.mean(x * x, axis=axes, keepdims=True) + eps)
    y = x * r
    return r * (g - y * np.mean(g * y, axis=axes, keepdims=True))


@way(
    _through_unit_square,
    lambda g, x, axes, eps: _trailing(x, axes) and rows.fits(g, -1) and g.dtype is x.dtype,
)
def _rows_through_unit_square(g: Any, x: Any, axes: tuple[int, ...], eps: float) -> Any:
    return _each_through_unit_square(_rows(g, axes), _rows(x, axes), _LAST, eps).reshape(g.shape)


_each_through_unit_square = each_row(_through_unit_square.formula, 2)  # type: ignore[attr-defined]

general(
    to_unit_square,
    reverse={"x": lambda g, x, axes, eps: _through_unit_square(g, conjugated(x), axes, eps)},
    forward={"x": _through_unit_square},
    name="FusedRmsNorm",
)

# ---- scale and shift -----------------------------------------------------------------------


def _scaled_row(x: Any, weight: Any, bias: Any = None) -> Any:
    return x * weight if bias is None else x * weight + bias


@primitive
@implemented
def scaled(x: Any, weight: Any, bias: Any = None) -> Any:
    """x * weight + bias, with weight and bias of the last dimensions' shape; bias may be None."""
    out = x * weight
    if bias is None:
        return out
    if type(out) is np.ndarray:
        out += bias
        return out
    return out + bias


def _are_many_rows(x: Any, weight: Any, bias: Any = None) -> bool:
    return many(x) and type(weight) is np.ndarray and 1 < weight.size < x.size


@way(scaled, _are_many_rows)
def _scaled_compiled(x: Any, weight: Any, bias: Any = None) -> Any:
    shared = [a.reshape(-1) for a in (weight, bias) if a is not None]
    return by_rows(_scaled_row, weight.size, [x], shared)


def _by_columns(g: Any, weight_shape: tuple[int, ...]) -> Any:
    return g.reshape(-1, math.prod(weight_shape))


@implemented
def _pull_weight(g: Any, x: Any, weight_shape: tuple[int, ...]) -> Any:
    return unbroadcast(g * x, weight_shape)


@way(
    _pull_weight,
    lambda g, x, weight_shape: rows.fits(g, -1) and rows.fits(x, -1) and g.dtype is x.dtype,
)
def _pull_weight_by_products(g: Any, x: Any, weight_shape: tuple[int, ...]) -> Any:
    sums = rows.column_sums(_by_columns(g, weight_shape), _by_columns(x, weight_shape))
    return sums.reshape(weight_shape)


@implemented
def _pull_bias(g: Any, bias_shape: tuple[int, ...]) -> Any:
    return unbroadcast(g, bias_shape)


@way(_pull_bias, lambda g, bias_shape: rows.fits(g, -1))
def _pull_bias_by_products(g: Any, bias_shape: tuple[int, ...]) -> Any:
    return rows.column_sums(_by_columns(g, bias_shape)).reshape(bias_shape)


linear(
    scaled,
    lambda g, weight: scaled.body(g, weight),  # type: ignore[attr-defined]
    _pull_weight,
    _pull_bias,
    forward={
        "x": lambda t, weight: t * weight,
        "weight": lambda t, x: x * t,
        "bias": lambda t, y: np.broadcast_to(t, y.shape),
    },
    name="Addcmul",
    promotes=False,
)


# ---- both, for many numbers ----------------------------------------------------------------
#
# In one step nothing as large as x is kept but x itself: the two above keep what is between them.


@primitive
@implemented
def layer_norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Standardized over the last dimensions, those of weight; then x * weight + bias."""
    return standardize(x, _last(weight.shape), eps) * weight + bias


def _last(weight_shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(range(-len(weight_shape), 0))


@way(layer_norm, lambda x, weight, bias, eps: in_order(x))
def _layer_norm_of_rows(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    shared = [a.reshape(-1) for a in (weight, bias)]
    return _each_layer_norm(_by_columns(x, weight.shape), *shared, eps).reshape(x.shape)


_each_layer_norm = each_row(layer_norm.body.formula, 1, 2)  # type: ignore[attr-defined]


@implemented
def _layer_norm_pull(g: Any, x: Any, weight: Any, eps: float) -> Any:
    axes = _last(weight.shape)
    return _through(g * weight, x, standardize(x, axes, eps), axes, eps)


@way(_layer_norm_pull, lambda g, x, weight, eps: in_order(g, x))
def _layer_norm_pull_of_rows(g: Any, x: Any, weight: Any, eps: float) -> Any:
    of_rows = [_by_columns(a, weight.shape) for a in (g, x)]
    return _each_layer_norm_pull(*of_rows, weight.reshape(-1), eps).reshape(g.shape)


_each_layer_norm_pull = each_row(_layer_norm_pull.formula, 2, 1)  # type: ignore[attr-defined]


@implemented
def _layer_norm_pull_weight(g: Any, x: Any, weight_shape: tuple[int, ...], eps: float) -> Any:
    return _pull_weight(g, standardize(x, _last(weight_shape), eps), weight_shape)


@way(_layer_norm_pull_weight, lambda g, x, weight_shape, eps: many(g, x))
def _weight_compiled(g: Any, x: Any, weight_shape: tuple[int, ...], eps: float) -> Any:
    matrices = [_by_columns(a, weight_shape) for a in (g, x)]
    return sum_of_rows(_weighed, matrices, settings=(eps,)).reshape(weight_shape)


def _weighed(g: Any, x: Any, eps: float) -> Any:
    return g * standardize(x, (-1,), eps)


def _layer_norm_pull_all(g: Any, x: Any, weight: Any, bias_shape: Any, eps: float) -> Any:
    """All three at once of many numbers: they share the statistics, and the way through memory."""
    if not many(g, x):
        return None
    matrices = [_by_columns(a, weight.shape) for a in (g, x)]
    of_x, of_weight, of_bias = rows_and_sums(_pulled, matrices, [weight.reshape(-1)], (eps,))
    return of_x.reshape(x.shape), of_weight.reshape(weight.shape), of_bias.reshape(bias_shape)


def _pulled(g: Any, x: Any, weight: Any, eps: float) -> Any:
    y = standardize(x, (-1,), eps)
    return _through(g * weight, x, y, (-1,), eps), g * y, g


def _layer_norm_push(t: Any, x: Any, weight: Any, eps: float) -> Any:
    axes = _last(weight.shape)
    return _through(t, x, standardize(x, axes, eps), axes, eps) * weight


general(
    layer_norm,
    reverse={"x": _layer_norm_pull, "weight": _layer_norm_pull_weight, "bias": _pull_bias},
    forward={
        "x": _layer_norm_push,
        "weight": lambda t, x, eps: t * standardize(x, _last(t.shape), eps),
        "bias": lambda t, y: np.broadcast_to(t, y.shape),
    },
    together=_layer_norm_pull_all,
    name="NativeLayerNorm",
    promotes=False,
)

# ---- with a weight and a bias for each channel, the second dimension -------------------------


@primitive
@implemented
def scaled_channels(x: Any, weight: Any, bias: Any = None) -> Any:
    """x * weight + bias, with a weight and a bias (or None) for each channel of (N, C, ...)."""
    out = x * _column(weight, x)
    return out if bias is None else out + _column(bias, x)


def _several_channels(x: Any, weight: Any, bias: Any = None) -> bool:
    if (
        type(x) is not np.ndarray
        or x.ndim == 2
        or x.size < (ENOUGH if bias is None else FEW)
        or not errors_pass()
    ):
        return False
    return loopable(x, weight, weight if bias is None else bias)


@way(scaled_channels, _several_channels)
def _channels_by_loops(x: Any, weight: Any, bias: Any = None) -> Any:
    out = np.empty(x.shape, x.dtype)
    if bias is None:
        bias = np.negative(np.zeros(weight.shape, weight.dtype))  # 0 would change -0
    _scale_channels(_by_channel(x), weight.reshape(-1), bias.reshape(-1), _by_channel(out))
    return out


@loops
def _scale_channels(x, weight, bias, out):
    outer, channels, inner = x.shape
    for i in range(outer):
        for j in range(channels):
            for k in range(inner):
                out[i, j, k] = x[i, j, k] * weight[j] + bias[j]


@way(scaled_channels, lambda x, weight, bias=None: many(x) and type(weight) is np.ndarray)
def _channels_compiled(x: Any, weight: Any, bias: Any = None) -> Any:
    columns = [a[:, None] for a in (weight, bias) if a is not None]
    return by_samples(_scaled_row, [_by_channel(x)], columns).reshape(x.shape)


def _column(a: Any, x: Any) -> Any:
    if len(x.shape) == 2 == len(a.shape) + 1:
        return a
    shape = -1, *(1,) * (len(x.shape) - 2)
    return a.reshape(shape) if type(a) is np.ndarray else np.reshape(a, shape)


@implemented
def _channel_sums(x: Any) -> Any:
    return np.sum(x, axis=(0, *range(2, len(x.shape))))


@way(_channel_sums, lambda x: many(x))
def _channel_sums_compiled(x: Any) -> Any:
    return np.add.reduce(by_samples(_sums, [_by_channel(x)]), 0)


@implemented
def _channel_products(g: Any, x: Any) -> Any:
    return _channel_sums(g * x)


@way(_channel_products, lambda g, x: many(g, x))
def _channel_products_compiled(g: Any, x: Any) -> Any:
    return np.add.reduce(by_samples(_products, [_by_channel(g), _by_channel(x)]), 0)


def _products(g: Any, x: Any) -> Any:
    return np.sum(g * x, axis=2)


linear(
    scaled_channels,
    lambda g, weight: scaled_channels.body(g, weight),  # type: ignore[attr-defined]
    _channel_products,
    _channel_sums,
    forward={
        "x": lambda t, weight: t * _column(weight, t),
        "weight": lambda t, x: x * _column(t, x),
        "bias": lambda t, y: np.broadcast_to(_column(t, y), y.shape),
    },
    name="Addcmul",
    promotes=False,
)
