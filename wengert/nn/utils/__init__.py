"""`nn.utils`: gradients clipped, parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.autograd.engine import mark_written
from wengert.autograd.record import recorder
from wengert.tensor import Tensor, wrap

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
    norms = np.array([_norm(t._array, float(norm_type)) for t in items])
    total = np.linalg.norm(norms, float(norm_type))
    if error_if_nonfinite and not np.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it "
            "cannot be clipped. To disable this error and scale the gradients by the non-finite "
            "norm "
            "anyway, set `error_if_nonfinite=False`"
        )
    return wrap(np.asarray(total, items[0]._array.dtype))


def _norm(x: Any, norm_type: float) -> Any:
    return np.linalg.norm(np.abs(x).ravel(), norm_type) if x.size else 0.0


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients so that their norm, given as `total_norm`, is at most `max_norm`."""
    factor = min(float(max_norm) / (float(total_norm._array) + 1e-6), 1.0)
    if np.isnan(float(total_norm._array)):
        factor = float("nan")
    for g in _gradients(parameters):
        g._array *= factor
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


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters as one vector."""
    return recorder(np.concatenate)([p.reshape(-1) for p in parameters], 0)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give parameters their values from a vector, in order."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for p in parameters:
        n = p._array.size
        p.data = vec[start : start + n].view_as(p).data
        start += n
