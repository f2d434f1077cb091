"""The batched meanings of what neural networks are made of.

Samples are independent in most layers, so a batch of them is folded into the one that is there; a
batch of weights becomes groups of channels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.arrays.batched.array import BatchedArray, Level, at, raw
from wengert.rules import losses
from wengert.rules.convolution import (
    convolution,
    convolution_input,
    convolution_weight,
    fold,
    pad_with,
    unfold,
)

means = Level.means

# ---- losses ---------------------------------------------------------------------------------


@means(losses.mse)
def _mse(level: Level, x: Any, target_: Any) -> Any:
    d = x - target_
    return np.mean(d * d)


@means(losses.mse_slope)
def _mse_slope(level: Level, scale: Any, x: Any, target_: Any) -> Any:
    return (x - target_) * (2 / math.prod(x.shape) * scale)


# ---- convolution ----------------------------------------------------------------------------


def _merged(x: Any, level: Level) -> Any:
    """Examples as more samples: (B, N, ...) as (B N, ...)."""
    return np.reshape(x, (level.size * x.shape[1], *x.shape[2:]))


def _parted(x: Any, level: Level) -> Any:
    return np.reshape(x, (level.size, x.shape[0] // max(level.size, 1), *x.shape[1:]))


def _channels(x: Any, level: Level) -> Any:
    """Examples as more channels: (B, N, C, ...) as (N, B C, ...)."""
    x = np.moveaxis(x, 0, 1)
    return np.reshape(x, (x.shape[0], level.size * x.shape[2], *x.shape[3:]))


def _unchannelled(x: Any, level: Level) -> Any:
    n, c = x.shape[:2]
    x = np.reshape(x, (n, level.size, c // max(level.size, 1), *x.shape[2:]))
    return np.moveaxis(x, 1, 0)


@means(convolution)
def _convolution(level: Level, x: Any, weight: Any, windows: Any, bias: Any = None) -> Any:
    inside = None if at(bias, level) or at(weight, level) else bias
    if not at(weight, level):
        if at(x, level):
            y = convolution(_merged(x.raw, level), weight, windows, bias=inside)
            out = BatchedArray(_parted(y, level), level)
        else:  # only the bias is batched
            out = convolution(x, weight, windows)
    elif windows[-1] == 1 and not at(x, level):
        y = convolution(x, _merged(weight.raw, level), windows)
        out = BatchedArray(_unchannelled(y, level), level)
    else:
        many = _channels(raw(x, level), level)
        y = convolution(many, _merged(weight.raw, level), _in_groups(level, windows))
        out = BatchedArray(_unchannelled(y, level), level)
    if bias is None or inside is not None:
        return out
    return out + np.reshape(bias, (-1, *(1,) * (len(out.shape) - 2)))


def _in_groups(level: Level, windows: Any) -> Any:
    """The windows of a convolution whose examples are groups of channels."""
    return *windows[:-1], windows[-1] * level.size


@means(convolution_input)
def _input(level: Level, g: Any, weight: Any, shape: Any, windows: Any) -> Any:
    if not at(weight, level):
        whole = (level.size * shape[0], *shape[1:])
        pulled = convolution_input(_merged(g.raw, level), weight, whole, windows)
        return BatchedArray(_parted(pulled, level), level)
    whole = (shape[0], level.size * shape[1], *shape[2:])
    many, windows = _channels(raw(g, level), level), _in_groups(level, windows)
    pulled = convolution_input(many, _merged(weight.raw, level), whole, windows)
    return BatchedArray(_unchannelled(pulled, level), level)


@means(convolution_weight)
def _weight(level: Level, g: Any, x: Any, shape: Any, windows: Any) -> Any:
    many, there = _channels(raw(g, level), level), _channels(raw(x, level), level)
    whole = (level.size * shape[0], *shape[1:])
    pulled = convolution_weight(many, there, whole, _in_groups(level, windows))
    return BatchedArray(_parted(pulled, level), level)


# ---- windows --------------------------------------------------------------------------------


@means(unfold)
def _unfold(level: Level, x: BatchedArray, *rest: Any) -> Any:
    return BatchedArray(_parted(unfold(_merged(x.raw, level), *rest), level), level)


@means(fold)
def _fold(level: Level, g: BatchedArray, shape: Any, *rest: Any) -> Any:
    whole = (level.size * shape[0], *shape[1:])
    return BatchedArray(_parted(fold(_merged(g.raw, level), whole, *rest), level), level)


@means(pad_with)
def _pad_with(level: Level, x: BatchedArray, before: Any, after: Any, value: Any) -> Any:
    return BatchedArray(pad_with(x.raw, before, after, value), level)
