"""Reductions: sums, products, extrema, norms and running sums along dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.dispatch import primitive
from wengert.rules.rule import general, linear


def expand(g: Any, shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """A reduction's cotangent (or result), repeated over the dimensions that were reduced."""
    if axis is None:
        if not shape:
            return g
        return np.broadcast_to(np.reshape(g, (1,) * len(shape)) if not keepdims else g, shape)
    if not keepdims:
        axes = (axis,) if isinstance(axis, int) else axis
        g = np.expand_dims(g, tuple(a % len(shape) for a in axes) if shape else ())
    return np.broadcast_to(g, shape)


def count(shape: tuple[int, ...], axis: Any) -> int:
    """How many elements go into each result."""
    if axis is None:
        return math.prod(shape)
    axes = (axis,) if isinstance(axis, int) else axis
    return math.prod(shape[a] for a in axes)


linear(np.sum, lambda g, a_shape, axis, keepdims: expand(g, a_shape, axis, keepdims))
linear(
    np.mean,
    lambda g, a_shape, axis, keepdims: expand(g / count(a_shape, axis), a_shape, axis, keepdims)
    if count(a_shape, axis)
    else expand(g, a_shape, axis, keepdims),
)
linear(np.cumsum, lambda g, a_shape, axis: _reverse_cumsum(g, a_shape, axis))


def _reverse_cumsum(g: Any, shape: tuple[int, ...], axis: int | None) -> Any:
    if axis is None:
        return np.reshape(np.flip(np.cumsum(np.flip(g, 0), 0), 0), shape)
    return np.flip(np.cumsum(np.flip(g, axis), axis), axis)


# ---- extrema -------------------------------------------------------------------------------
#
# Equal extrema share the cotangent evenly: the subgradient of least norm. A NaN equals no number,
# so all-NaN slices count their NaNs as ties.


def ties(a: Any, y: Any, axis: Any, keepdims: bool) -> Any:
    """Each element's share of its reduction: 1/k for the k elements that attain it."""
    best = expand(y, a.shape, axis, keepdims)
    hit = (a == best) | ((a != a) & (best != best))
    hits = np.sum(hit, axis=axis, keepdims=True)
    return np.divide(hit, hits).astype(a.dtype) if isinstance(hits, np.ndarray) else hit / hits


for extremum, label in ((np.max, "Amax"), (np.min, "Amin")):
    general(
        extremum,
        reverse={
            "a": lambda g, a, y, axis, keepdims: expand(g, a.shape, axis, keepdims)
            * ties(a, y, axis, keepdims)
        },
        forward={
            "a": lambda t, a, y, axis, keepdims: np.sum(
                t * ties(a, y, axis, keepdims), axis=axis, keepdims=keepdims
            )
        },
        arguments=("a", "axis", "keepdims"),
        name=label,
    )

# ---- products ------------------------------------------------------------------------------
#
# The product of the other elements, by running products from both sides, so that zeros need no
# special case and derivatives of every order exist.


def others(a: Any, axis: Any) -> Any:
    """At each element the product of all others along `axis`."""
    if axis is None:
        return np.reshape(others(np.reshape(a, (-1,)), 0), a.shape)
    n = a.shape[axis]
    one = np.ones_like(_part(a, axis, slice(0, 1)))
    below, above = [one], [one]
    for i in range(n - 1):
        below.append(below[-1] * _part(a, axis, slice(i, i + 1)))
        above.append(above[-1] * _part(a, axis, slice(n - 1 - i, n - i)))
    return np.concatenate(below, axis) * np.concatenate(above[::-1], axis)


def _part(a: Any, axis: int, piece: slice) -> Any:
    return a[(slice(None),) * (axis % len(a.shape)) + (piece,)]


general(
    np.prod,
    reverse={"a": lambda g, a, axis, keepdims: expand(g, a.shape, axis, keepdims) * np.conj(others(a, axis))},
    forward={"a": lambda t, a, axis, keepdims: np.sum(t * others(a, axis), axis=axis, keepdims=keepdims)},
)

# ---- softmax and its kin -------------------------------------------------------------------
#
# Primitives for speed and range: exp overflows past 709 in float64, so the maximum is shifted to 0
# (Blanchard, Higham and Higham, 2021).


@primitive
def logsumexp(x: Any, axis: Any, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) along `axis`, without overflow."""
    top = np.max(x, axis=axis, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        result = np.log(np.sum(np.exp(x - shift), axis=axis, keepdims=True)) + shift
    return result if keepdims else np.squeeze(result, axis)


@primitive
def softmax(x: Any, axis: int) -> Any:
    """exp(x) / sum(exp(x)) along `axis`."""
    e = np.subtract(x, np.maximum.reduce(x, axis=axis, keepdims=True))
    np.exp(e, out=e)
    e /= np.add.reduce(e, axis=axis, keepdims=True)
    return e


@primitive
def log_softmax(x: Any, axis: int) -> Any:
    """x - log(sum(exp(x))) along `axis`."""
    out = np.subtract(x, np.maximum.reduce(x, axis=axis, keepdims=True))
    out -= np.log(np.add.reduce(np.exp(out), axis=axis, keepdims=True))
    return out


def _total(t: Any, axis: Any) -> Any:
    return np.sum(t, axis=axis, keepdims=True)


def _weights(x: Any, y: Any, axis: Any, keepdims: bool) -> Any:
    """softmax(x), from logsumexp's own result; NaN-free where a whole slice is -inf."""
    top = expand(y, x.shape, axis, keepdims)
    return np.where(np.isinf(top) & (x == top), np.where(x > 0, 1, 0), np.exp(x - np.where(np.isinf(top), 0, top)))


general(
    logsumexp,
    reverse={
        "x": lambda g, x, y, axis, keepdims: expand(g, x.shape, axis, keepdims)
        * _weights(x, y, axis, keepdims)
    },
    forward={
        "x": lambda t, x, y, axis, keepdims: np.sum(
            t * _weights(x, y, axis, keepdims), axis=axis, keepdims=keepdims
        )
    },
)
general(
    softmax,
    reverse={"x": lambda g, y, axis: y * (g - _total(g * y, axis))},
    forward={"x": lambda t, y, axis: y * (t - _total(t * y, axis))},
)
general(
    log_softmax,
    reverse={"x": lambda g, y, axis: g - np.exp(y) * _total(g, axis)},
    forward={"x": lambda t, y, axis: t - _total(t * np.exp(y), axis)},
)
