"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.arrays.kind import number
from wengert.optim.optimizer import Array, Group, Optimizer
from wengert.optim.settings import at_least_zero, check_betas, check_ways


class Adam(Optimizer):
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

    counts = True

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
    ) -> None:
        at_least_zero("learning rate", lr)
        at_least_zero("epsilon value", eps)
        check_betas(betas)
        at_least_zero("weight_decay value", weight_decay)
        check_ways(foreach, differentiable, fused)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def buffers(self, group: Group) -> tuple[str, ...]:
        return _WITH_MAXIMUM if group["amsgrad"] else _MOMENTS

    def update(
        self,
        group: Group,
        t: float,
        first: bool,
        p: Array,
        g: Array,
        state: dict[str, Array],
        a: Array,
        b: Array,
    ) -> None:
        lr, (beta1, beta2) = number(group["lr"]), group["betas"]
        if group["maximize"]:
            g = np.negative(g, out=b)
        if group["weight_decay"]:
            if group["decoupled_weight_decay"]:
                p *= 1 - lr * group["weight_decay"]
            else:
                np.multiply(p, group["weight_decay"], out=a)
                g = np.add(g, a, out=b)
        m, v = state["exp_avg"], state["exp_avg_sq"]
        np.subtract(g, m, out=a)  # m += (1 - beta1) (g - m)
        a *= 1 - beta1
        m += a
        np.multiply(g, g, out=a)  # v = beta2 v + (1 - beta2) g^2
        a *= 1 - beta2
        v *= beta2
        v += a
        if group["amsgrad"]:
            v = np.maximum(state["max_exp_avg_sq"], v, out=state["max_exp_avg_sq"])
        # m / (sqrt(v)/root + eps), with the fraction extended by `root`: one operation fewer.
        root = (1 - beta2**t) ** 0.5
        np.sqrt(v, out=a)
        a += group["eps"] * root
        np.divide(m, a, out=a)
        a *= lr * root / (1 - beta1**t)
        p -= a


_MOMENTS = ("exp_avg", "exp_avg_sq")
_WITH_MAXIMUM = (*_MOMENTS, "max_exp_avg_sq")


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

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
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
