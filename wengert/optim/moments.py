"""What several formulas begin with: the gradient as it is to be followed, and its running means."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.arrays.kind import number
from wengert.optim.optimizer import Array, Group, Optimizer, State


def gradient(
    optimizer: Optimizer, group: Group, p: Array, g: Array, out: Array, scratch: Array
) -> Array:
    """The gradient, negated to maximize, with weight decay; in `out` if it changes.

    Decoupled decay shrinks `p` instead. A group may hold settings that the optimizer has not.
    """
    known = optimizer.defaults
    if group["maximize"]:
        g = np.negative(g, out=out)
    if "weight_decay" in known and (decay := group["weight_decay"]):
        if "decoupled_weight_decay" in known and group.get("decoupled_weight_decay"):
            p *= 1 - number(group["lr"]) * decay
        else:
            np.multiply(p, decay, out=scratch)
            g = np.add(g, scratch, out=out)
    return g


def descend(p: Array, rate: Any, m: Array, v: Array, eps: float, scratch: Array) -> None:
    """p -= rate m / (sqrt(v) + eps)"""
    np.sqrt(v, out=scratch)
    scratch += eps
    np.divide(m, scratch, out=scratch)
    scratch *= rate
    p -= scratch


class Moments(Optimizer):
    """Optimizers with running means of the gradient and of its square."""

    counts = True
    keeps = ("exp_avg", "exp_avg_sq")

    def average(self, group: Group, g: Array, state: State, a: Array) -> tuple[Array, Array]:
        """m += (1 - beta1) (g - m);  v = beta2 v + (1 - beta2) g^2"""
        (beta1, beta2), m, v = group["betas"], state["exp_avg"], state["exp_avg_sq"]
        np.subtract(g, m, out=a)
        a *= 1 - beta1
        m += a
        np.multiply(g, g, out=a)
        a *= 1 - beta2
        v *= beta2
        v += a
        return m, v
