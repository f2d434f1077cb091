"""Gradients made shorter: by their norm, or each number by itself."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.autograd.engine import mark_written
from wengert.nn.init import _renamed
from wengert.tensor import Tensor, settle, wrap

Tensors = Tensor | Iterable[Tensor]


def _gradients(parameters: Tensors) -> list[Tensor]:
    tensors = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p._grad for p in tensors if p._grad is not None]


def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of several tensors taken as one vector."""
    items = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not items:
        return wrap(np.zeros((), np.float32))
    dtype = items[0]._array.dtype
    order = float(norm_type)
    total = _norm(np.stack([_norm(t._array, order) for t in items]), order)
    if error_if_nonfinite and not np.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return wrap(settle(total.astype(np.real(np.zeros((), dtype)).dtype)))


def _norm(x: Any, order: float) -> Any:
    """The norm of all numbers of an array as one vector, of no dimensions."""
    size = np.abs(x)
    if not x.size:
        return np.sum(size)
    if math.isinf(order):
        return np.max(size) if order > 0 else np.min(size)
    if order == 0:
        return np.sum((size != 0).astype(size.dtype))
    return np.sqrt(np.sum(size * size)) if order == 2 else np.sum(size**order) ** (1 / order)


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients so that their norm, given as `total_norm`, is at most `max_norm`."""
    factor = np.minimum(float(max_norm) / (total_norm._array + 1e-6), 1.0)  # NaN stays NaN
    for g in _gradients(parameters):
        np.multiply(g._array, factor.astype(g._array.dtype), out=g._array)
        mark_written(g, "clip_grad_norm_")


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients so that their norm, all together, is at most `max_norm`; returns it.

    >>> import wengert as wg
    >>> p = wg.zeros(2, requires_grad=True)
    >>> p.grad = wg.tensor([3.0, 4.0])
    >>> clip_grad_norm_(p, 1.0)
    tensor(5.)
    >>> p.grad
    tensor([0.6000, 0.8000])
    """
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    gradients = _gradients(parameters)
    total = get_total_norm(gradients, norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Cut every gradient off at -clip_value and clip_value."""
    bound = float(clip_value)
    for g in _gradients(parameters):
        np.clip(g._array, -bound, bound, out=g._array)
        mark_written(g, "clip_grad_value_")


clip_grad_norm = _renamed(clip_grad_norm_, "nn.utils")
