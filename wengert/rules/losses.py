"""Losses of neural networks that are primitives for speed or range.

Beside what a loss is stands what of it is computed in loops, where arrays are small, and in blocks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.dispatch import as_array, primitive, quietly
from wengert.rules.elementwise import at_least
from wengert.rules.indexing import put_along_axis
from wengert.rules.loops import as_lines, exact_loops, loopable, loops
from wengert.rules.reductions import log_softmax, softmax
from wengert.rules.rule import elementwise, general, linear, transposed
from wengert.rules.ways import implemented, way

# ---- squared error -------------------------------------------------------------------------


@primitive
def mse(x: Any, target_: Any) -> Any:
    """mean((x - target)^2)."""
    d = (x - target_).ravel()
    if type(d) is np.ndarray:
        return np.array(float(d.dot(d)) / d.size, d.dtype)
    return np.dot(d, d) / d.size


@primitive
def mse_slope(scale: Any, x: Any, target_: Any) -> Any:
    """scale * 2 (x - target) / n: the gradient of `mse`, scaled by a cotangent."""
    d = x - target_
    factor = 2 / math.prod(x.shape)
    if type(d) is type(scale) is np.ndarray:
        d *= np.array(factor * float(scale), d.dtype)
        return d
    return d * (factor * scale)


general(
    mse,
    reverse={
        "x": lambda g, x, target_: mse_slope(g, x, target_),
        "target_": lambda g, x, target_: mse_slope(g, target_, x),
    },
    forward={
        "x": lambda t, x, target_: np.mean(2 * t * (x - target_)),
        "target_": lambda t, x, target_: np.mean(2 * t * (target_ - x)),
    },
    name="MseLoss",
)
general(
    mse_slope,
    reverse={
        "scale": lambda g, x, target_: np.mean(2 * g * (x - target_)),
        "x": lambda g, scale: g * ((2 / math.prod(g.shape)) * scale),
        "target_": lambda g, scale: g * ((-2 / math.prod(g.shape)) * scale),
    },
    forward={
        "scale": lambda t, x, target_: mse_slope(t, x, target_),
        "x": lambda t, scale: t * ((2 / math.prod(t.shape)) * scale),
        "target_": lambda t, scale: t * ((-2 / math.prod(t.shape)) * scale),
    },
    name="MseLossBackward",
)

# ---- negative log likelihood ---------------------------------------------------------------


@primitive
@implemented
def picked(x: Any, target: Any, weights: Any, axis: int) -> Any:
    """`-weights x[target]` along `axis`, of log probabilities; 0 where the target is negative."""
    chosen = np.take_along_axis(x, np.expand_dims(np.maximum(target, 0), axis), axis)
    out = np.where(target < 0, 0, -np.squeeze(chosen, axis))
    return out if weights is None else out * weights


def _by_loops(x: Any, target: Any, *_: Any) -> bool:
    return loopable(x) and type(target) is np.ndarray


@way(picked, _by_loops)
def _picked_by_loops(x: Any, target: Any, weights: Any, axis: int) -> Any:
    out = np.empty(target.shape, x.dtype)
    (lines,) = as_lines(axis, x)
    places = target.reshape(lines.shape[::2])
    _pick_classes(lines, places, out.reshape(places.shape))
    return out if weights is None else out * weights


@primitive
@implemented
def unpicked(g: Any, target: Any, weights: Any, x_shape: Any, axis: int) -> Any:
    """Zeros of `x_shape` with `-weights g` at the targets along `axis`: picked transposed."""
    g = g if weights is None else g * weights
    shares = np.expand_dims(np.where(target < 0, 0, -g), axis)
    return put_along_axis(shares, np.expand_dims(np.maximum(target, 0), axis), x_shape, axis)


@way(unpicked, _by_loops)
def _unpicked_by_loops(g: Any, target: Any, weights: Any, x_shape: Any, axis: int) -> Any:
    g = g if weights is None else g * weights
    out = np.zeros(x_shape, g.dtype)
    (lines,) = as_lines(axis, out)
    places = target.reshape(lines.shape[::2])
    _unpick_classes(lines, places, g.reshape(places.shape))
    return out


@exact_loops
def _pick_classes(x, target, out):
    outer, inner = target.shape
    for i in range(outer):
        for k in range(inner):
            at = target[i, k]
            out[i, k] = x.dtype.type(0)
            if at >= 0:
                out[i, k] = -x[i, at, k]


@exact_loops
def _unpick_classes(out, target, g):
    outer, inner = target.shape
    for i in range(outer):
        for k in range(inner):
            if target[i, k] >= 0:
                out[i, target[i, k], k] = -g[i, k]


@exact_loops
def note_classes(target, classes, ignored, places):
    """The targets, -1 for those that are ignored: how many are not; -1 if one is no class."""
    kept, wrong = 0, 0
    for i in range(len(target)):
        places[i] = -1
        if target[i] != ignored:
            places[i] = target[i]
            kept += 1
            if target[i] < 0 or target[i] >= classes:
                wrong = 1
    return -1 if wrong else kept


transposed(
    *(picked, unpicked, "NllLoss", "NllLossBackward"),
    constants=("target", "weights"),
    axes=("axis",),
)


@primitive
@implemented
def mean_picked(x: Any, target: Any, count: int, axis: int) -> Any:
    """The sum of `picked` over their count: the common loss, in one step."""
    return np.sum(picked(x, target, None, axis)) / count


@way(mean_picked, _by_loops)
def _mean_picked_by_loops(x: Any, target: Any, count: int, axis: int) -> Any:
    out = np.empty(1, x.dtype)
    (lines,) = as_lines(axis, x)
    _mean_of_classes(lines, target.reshape(lines.shape[::2]), count, out)
    return out.reshape(())


@exact_loops
def _mean_of_classes(x, target, count, out):
    """In double precision and in turn, which gives the same number also in Python."""
    outer, inner = target.shape
    total = 0.0
    for i in range(outer):
        for k in range(inner):
            at = target[i, k]
            if at >= 0:
                total -= float(x[i, at, k])
    out[0] = total / count


linear(
    mean_picked,
    lambda g, target, count, x_shape, axis: unpicked(
        np.broadcast_to(g / count, target.shape), target, None, x_shape, axis
    ),
    name="NllLoss",
    constants=("target",),  # it reduces all axes: a batch is not one axis further
)


@primitive
def cross_entropy(x: Any, target: Any, kept: Any) -> Any:
    """Mean over the rows of -log softmax(x)[i, target[i]]: the common case, in one step.

    `kept` says which rows count, None that all do; `target` is in range in the others too.
    """
    losses = picked(log_softmax(x, 1), target, None, 1)
    if kept is not None:
        losses = np.where(kept, losses, 0)  # infinite or not
    return as_array(np.add.reduce(losses) / _rows(x, target, kept), x.dtype)


def _rows(x: Any, target: Any, kept: Any) -> Any:
    """How many rows count; NaN for none, whose mean is NaN."""
    if kept is None:
        return len(target)
    n = np.sum(kept).astype(x.dtype)
    return np.where(n > 0, n, as_array(np.nan, x.dtype))


@primitive
@implemented
def margins(x: Any, target: Any, margin: float, p: int) -> Any:
    """Of each row, sum max(0, margin - x[target] + x[j])^p / C over the other classes j."""
    over = _over_margin(x, target, margin)
    return np.add.reduce(over if p == 1 else over * over, axis=1) / x.shape[1]


@way(margins, _by_loops)
def _margins_by_loops(x: Any, target: Any, margin: float, p: int) -> Any:
    out = np.empty(len(x), x.dtype)
    _note_margins(x, target, margin, p, out)
    return out


@loops
def _note_margins(x, target, margin, p, out):
    for i in range(len(x)):
        total = x.dtype.type(0)
        bound = x[i, target[i]] - x.dtype.type(margin)
        for j in range(x.shape[1]):
            if j != target[i]:
                over = np.maximum(x[i, j] - bound, x.dtype.type(0))
                if p == 2:
                    over = over * over
                total += over
        out[i] = total / x.dtype.type(x.shape[1])


def _over_margin(x: Any, target: Any, margin: float) -> Any:
    own = np.arange(len(target)), target
    over = at_least(x - (x[own] - margin)[:, None], 0)
    over[own] = 0
    return over


@primitive
def margins_slope(x: Any, target: Any, margin: float, p: int) -> Any:
    """The derivatives of each row of `margins`."""
    over = _over_margin(x, target, margin)
    slope = np.sign(over) if p == 1 else 2 * over
    slope[np.arange(len(target)), target] = -np.add.reduce(slope, axis=1)
    return slope / x.shape[1]


def _margins_bent(t: Any, x: Any, target: Any, margin: float, p: int) -> Any:
    """The derivative of the slope along t: its own transpose."""
    if p == 1:
        return np.zeros_like(t)
    own = np.expand_dims(target, 1)
    away = t - np.take_along_axis(t, own, 1)
    bent = np.where(_over_margin(x, target, margin) > 0, 2 * away, 0)
    back = put_along_axis(np.sum(bent, axis=1, keepdims=True), own, x.shape, 1)
    return (bent - back) / x.shape[1]


@primitive
def cross_entropy_slope(x: Any, target: Any, kept: Any) -> Any:
    """(softmax(x) - one-hot(target)) / rows: the gradient of `cross_entropy`."""
    z = softmax(x, 1)
    z[np.arange(len(target)), target] -= 1
    z /= _rows(x, target, kept)
    return z if kept is None else np.where(np.expand_dims(kept, 1), z, 0)


general(
    margins,
    reverse={
        "x": lambda g, x, target, margin, p: (
            np.expand_dims(g, 1) * margins_slope(x, target, margin, p)
        )
    },
    forward={
        "x": lambda t, x, target, margin, p: np.sum(t * margins_slope(x, target, margin, p), axis=1)
    },
    name="MultiMarginLoss",
    constants=("target",),
)
general(
    margins_slope,
    reverse={"x": lambda g, x, target, margin, p: _margins_bent(g, x, target, margin, p)},
    forward={"x": lambda t, x, target, margin, p: _margins_bent(t, x, target, margin, p)},
    name="MultiMarginLossBackward",
    constants=("target",),
)
general(
    cross_entropy,
    reverse={"x": lambda g, x, target, kept: g * cross_entropy_slope(x, target, kept)},
    forward={"x": lambda t, x, target, kept: np.sum(t * cross_entropy_slope(x, target, kept))},
    name="NllLoss",
    constants=("target",),
)


def _softmax_push(t: Any, x: Any, target: Any, kept: Any) -> Any:
    p = softmax(x, 1)
    pushed = p * (t - np.sum(t * p, axis=1, keepdims=True)) / _rows(x, target, kept)
    return pushed if kept is None else np.where(np.expand_dims(kept, 1), pushed, 0)


# The Jacobian of the slope is symmetric, so both directions are the same.
general(
    cross_entropy_slope,
    reverse={"x": _softmax_push},
    forward={"x": _softmax_push},
    name="NllLossBackward",
    constants=("target",),
)

# ---- yes or no -----------------------------------------------------------------------------


@primitive
@quietly
def bernoulli_loss(x: Any, b: Any) -> Any:
    """-(b log x + (1 - b) log(1 - x)), each logarithm at least -100, and so finite."""
    yes, no = at_least(np.log(x), -100), at_least(np.log1p(-x), -100)
    return (b - 1) * no - b * yes


def _odds(x: Any) -> Any:
    """log(1 - x) - log(x), each at least -100."""
    return bernoulli_loss(x, np.ones_like(x)) - bernoulli_loss(x, np.zeros_like(x))


elementwise(
    bernoulli_loss,
    # At 0 and 1 the denominator counts as 1e-12: the slope is steep, and finite.
    lambda t, x, b: t * (x - b) / at_least(x * (1 - x), 1e-12),
    lambda t, x: t * _odds(x),
    name="BinaryCrossEntropy",
    promotes=False,
)
