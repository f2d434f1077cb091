"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.arrays.kind import number
from wengert.imports import lacking as _lacking
from wengert.optim.moments import Moments, descend, gradient
from wengert.optim.optimizer import Array, Group, State
from wengert.optim.settings import settings


class Adam(Moments):
    """Adaptive moment estimation (Kingma and Ba, 2015).

    m += (1 - beta1) (g - m);  v += (1 - beta2) (g^2 - v)
    p -= lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)

    `amsgrad` takes the largest v so far (Reddi et al., 2018); `weight_decay` is added to the
    gradient, or with `decoupled_weight_decay` shrinks the parameter itself.

    >>> import wengert as wg
    >>> p = wg.tensor([1.0], requires_grad=True)
    >>> (p * p).sum().backward()
    >>> Adam([p], lr=0.1).step()
    >>> p
    tensor([0.9000], requires_grad=True)
    """

    @settings("lr", "eps", "weight_decay")
    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None: ...

    def buffers(self, group: Group) -> tuple[str, ...]:
        names = super().buffers(group)
        return (*names, "max_exp_avg_sq") if group["amsgrad"] else names

    def update(
        self, group: Group, t: float, p: Array, g: Array, state: State, a: Array, b: Array
    ) -> None:
        lr, (beta1, beta2) = number(group["lr"]), group["betas"]
        g = gradient(self, group, p, g, b, a)
        m, v = self.average(group, g, state, a)
        if group["amsgrad"]:
            v = np.maximum(state["max_exp_avg_sq"], v, out=state["max_exp_avg_sq"])
        # m / (sqrt(v)/root + eps), with the fraction extended by `root`: one operation fewer.
        root = (1 - beta2**t) ** 0.5
        descend(p, lr * root / (1 - beta1**t), m, v, group["eps"] * root, a)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    @settings("lr", "eps", "weight_decay", decoupled_weight_decay=True)
    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None: ...


_lacking(__name__)
