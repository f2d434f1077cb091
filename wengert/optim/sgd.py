"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.arrays.kind import kind_of, number
from wengert.imports import lacking as _lacking
from wengert.optim.moments import gradient
from wengert.optim.optimizer import Array, Group, Optimizer, State
from wengert.optim.settings import settings


class SGD(Optimizer):
    """Gradient descent, with momentum if asked for (Sutskever et al., 2013, for Nesterov's).

    b = momentum b + (1 - dampening) g;  p -= lr b, or lr (g + momentum b) with `nesterov`; `g` is
    the gradient plus weight_decay * p, negated to `maximize`.

    >>> import wengert as wg
    >>> p = wg.tensor([1.0], requires_grad=True)
    >>> (p * p).sum().backward()
    >>> SGD([p], lr=0.1).step()
    >>> p
    tensor([0.8000], requires_grad=True)
    """

    @settings("lr", "momentum", "weight_decay")
    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")

    def buffers(self, group: Group) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] else ()

    def leaves_rows(self, group: Group) -> bool:
        if group["weight_decay"]:
            raise RuntimeError("weight_decay changes every row, and the gradient is sparse")
        return not group["momentum"]

    def update(
        self, group: Group, t: float, p: Array, g: Array, state: State, a: Array, b: Array
    ) -> None:
        g = gradient(self, group, p, g, a, b)
        momentum = group["momentum"]
        if momentum:
            average = state["momentum_buffer"]
            if t == 1 and group["dampening"]:  # the first gradient is taken whole
                np.copyto(average, kind_of(g).once(g))
            else:
                average *= momentum
                average += (
                    g if not group["dampening"] else np.multiply(g, 1 - group["dampening"], out=b)
                )
            if group["nesterov"]:
                np.multiply(average, momentum, out=b)
                g = np.add(b, g, out=a)
            else:
                g = average
        np.multiply(g, number(group["lr"]), out=b)
        p -= b


_lacking(__name__)
