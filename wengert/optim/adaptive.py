"""Optimizers that scale each element by its own history: Adagrad, RMSprop, Adadelta, Adamax."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.arrays.kind import number
from wengert.optim.moments import descend, gradient
from wengert.optim.optimizer import Array, Group, Optimizer, State
from wengert.optim.settings import settings


class Adagrad(Optimizer):
    """Rates divided by the root of the sum of squares (Duchi et al., 2011)."""

    counts = True
    keeps = ("sum",)

    @settings("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")
    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                self._start(group, p, self.state[p], self.buffers(group))

    def initial(self, group: Group, name: str, like: Array) -> Array:
        return np.full_like(like, self.defaults["initial_accumulator_value"])

    def leaves_rows(self, group: Group) -> bool:
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        return True

    def update(
        self, group: Group, t: float, p: Array, g: Array, state: State, a: Array, b: Array
    ) -> None:
        g = gradient(self, group, p, g, a, b)
        total = state["sum"]
        total += np.multiply(g, g, out=b)
        rate = number(group["lr"]) / (1 + (t - 1) * group["lr_decay"])
        descend(p, rate, g, total, group["eps"], b)


class RMSprop(Optimizer):
    """Rates divided by a running root mean square (Tieleman and Hinton, 2012)."""

    counts = True

    @settings("lr", "eps", "momentum", "weight_decay", "alpha")
    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None: ...

    def buffers(self, group: Group) -> tuple[str, ...]:
        names = ("square_avg",)
        if group["momentum"] > 0:
            names += ("momentum_buffer",)  # type: ignore[assignment]
        return (*names, "grad_avg") if group["centered"] else names

    def update(
        self, group: Group, t: float, p: Array, g: Array, state: State, a: Array, b: Array
    ) -> None:
        g = gradient(self, group, p, g, a, b)
        alpha, square = group["alpha"], state["square_avg"]
        square *= alpha
        np.multiply(g, g, out=b)
        b *= 1 - alpha
        square += b
        if group["centered"]:
            average = state["grad_avg"]
            np.subtract(g, average, out=b)
            b *= 1 - alpha
            average += b
            np.multiply(average, average, out=b)
            np.subtract(square, b, out=b)
            np.sqrt(b, out=b)
        else:
            np.sqrt(square, out=b)
        b += group["eps"]
        np.divide(g, b, out=b)
        if group["momentum"] > 0:
            moved = state["momentum_buffer"]
            moved *= group["momentum"]
            moved += b
            np.copyto(b, moved)
        b *= number(group["lr"])
        p -= b


class Adadelta(Optimizer):
    """Steps of the size of past steps (Zeiler, 2012)."""

    counts = True
    keeps = ("square_avg", "acc_delta")

    @settings("lr", "eps", "weight_decay")
    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")

    def update(
        self, group: Group, t: float, p: Array, g: Array, state: State, a: Array, b: Array
    ) -> None:
        g = gradient(self, group, p, g, a, b)
        rho, eps = group["rho"], group["eps"]
        square, steps = state["square_avg"], state["acc_delta"]
        square *= rho
        square += (1 - rho) * g * g
        delta = np.sqrt(steps + eps) / np.sqrt(square + eps) * g
        steps *= rho
        steps += (1 - rho) * delta * delta
        p -= number(group["lr"]) * delta


class Adamax(Optimizer):
    """Adam with the infinity norm (Kingma and Ba, 2015)."""

    counts = True
    keeps = ("exp_avg", "exp_inf")

    @settings("lr", "eps", "weight_decay")
    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None: ...

    def update(
        self, group: Group, t: float, p: Array, g: Array, state: State, a: Array, b: Array
    ) -> None:
        g = gradient(self, group, p, g, a, b)
        (beta1, beta2), m, top = group["betas"], state["exp_avg"], state["exp_inf"]
        np.subtract(g, m, out=b)
        b *= 1 - beta1
        m += b
        top *= beta2
        np.absolute(g, out=b)
        b += group["eps"]
        np.maximum(top, b, out=top)
        np.divide(m, top, out=b)
        b *= number(group["lr"]) / (1 - beta1**t)
        p -= b
