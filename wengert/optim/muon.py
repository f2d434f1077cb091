"""Muon: momentum whose matrices are made orthogonal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.arrays.kind import number
from wengert.optim.optimizer import Array, Group, Optimizer, State
from wengert.optim.settings import settings


class Muon(Optimizer):
    """Momentum orthogonalized by Newton-Schulz iterations (Jordan et al., 2024).

    b += (1 - momentum) (g - b);  u = g + momentum (b - g) with `nesterov`, else b

    p = (1 - lr weight_decay) p - lr' U V^T, roughly, where u = U S V^T: `ns_steps` times

    X <- a X + (b X X^T + c (X X^T)^2) X, from X = u / |u|, (a, b, c) = `ns_coefficients`

    lr' is lr sqrt(max(1, rows / columns)), or with adjust_lr_fn="match_rms_adamw" lr 0.2
    sqrt(max(rows, columns)) (Liu et al., 2025). All parameters must be matrices: give biases and
    embeddings to AdamW. The iterations keep the parameter's dtype; PyTorch rounds to bfloat16.

    >>> import wengert as wg
    >>> p = wg.zeros(2, 2, requires_grad=True)
    >>> p.grad = wg.tensor([[3.0, 0.0], [0.0, -3.0]])
    >>> Muon([p], lr=0.1).step()
    >>> p.detach().abs().mean() > 0.05
    tensor(True)
    """

    keeps = ("momentum_buffer",)
    whole = True

    @settings()
    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if not float(lr) >= 0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not momentum >= 0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(
                f"Adjust learning rate function {adjust_lr_fn} is not supported; choose "
                "'original' or 'match_rms_adamw'."
            )
        if len(ns_coefficients) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        if ns_steps >= 100:
            raise ValueError(
                "Number of steps must be less than 100 for computational efficiency; got "
                f"ns_steps={ns_steps}"
            )

    def add_param_group(self, param_group: Group) -> None:
        super().add_param_group(param_group)
        for p in self.param_groups[-1]["params"]:
            if p.ndim != 2:
                self.param_groups = self.param_groups[:-1]
                raise ValueError(
                    "Muon only supports 2D parameters whereas we found a parameter with size: "
                    f"{p.shape}. Give the others to another optimizer, AdamW for instance."
                )
            if p.is_complex():
                self.param_groups = self.param_groups[:-1]
                raise RuntimeError("Muon does not support complex parameters")

    def update(
        self, group: Group, t: float, p: Array, g: Array, state: State, a: Array, b: Array
    ) -> None:
        lr, momentum, average = number(group["lr"]), group["momentum"], state["momentum_buffer"]
        average += (1 - momentum) * (g - average)
        u = g + momentum * (average - g) if group["nesterov"] else average
        step = orthogonalized(u, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = p.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            ratio = 0.2 * math.sqrt(max(rows, columns))
        else:
            ratio = math.sqrt(max(1, rows / columns))
        p *= 1 - lr * group["weight_decay"]
        p -= (lr * ratio) * step


def orthogonalized(
    x: Array, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Array:
    """A matrix with the singular vectors of `x` and singular values near 1."""
    a, b, c = coefficients
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = np.transpose(x)
    x = x / np.maximum(np.sqrt(np.sum(x * x)), eps)
    for _ in range(steps):
        gram = x @ np.transpose(x)
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return np.transpose(x) if tall else x
