"""Checks of optimizers' settings, and what there is no optimizer for."""

from __future__ import annotations

from typing import Any


def at_least_zero(name: str, value: Any) -> None:
    """ValueError for a negative setting, in PyTorch's words."""
    if not float(value) >= 0.0:
        raise ValueError(f"Invalid {name}: {value}")


def check_betas(betas: Any) -> None:
    for i, beta in enumerate(betas):
        if not 0.0 <= float(beta) < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def check_ways(foreach: Any, differentiable: bool, fused: Any) -> None:
    """`foreach` and `fused` choose among implementations, of which there is one here.

    So with `capturable`: `wengert.compile` captures every optimizer that can be.
    """
    if differentiable:
        raise NotImplementedError(
            "differentiable=True is not available: optimizers here update in place. Write the "
            "update as "
            "new = p - lr * g with autograd.grad(..., create_graph=True) to differentiate through "
            "it."
        )
    if foreach and fused:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


class SparseAdam:
    """PyTorch's Adam for sparse gradients, which do not exist here: NotImplementedError.

    >>> SparseAdam([])
    Traceback (most recent call last):
    NotImplementedError: SparseAdam needs sparse gradients, and all tensors are dense. Use Adam.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "SparseAdam needs sparse gradients, and all tensors are dense. Use Adam."
        )
