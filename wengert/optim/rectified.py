"""Two refinements of Adam: NAdam looks ahead as Nesterov does, RAdam waits for its variance."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from wengert.arrays.kind import number
from wengert.optim.moments import Moments, gradient
from wengert.optim.optimizer import Array, Group, State
from wengert.optim.settings import settings


class NAdam(Moments):
    """Adam with Nesterov's look ahead (Dozat, 2016).

    mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2), and M_t is the product of mu_1 ... mu_t:

    d = mu_{t+1} m / (1 - M_{t+1}) + (1 - mu_t) g / (1 - M_t)

    p -= lr d / (sqrt(v / (1 - beta2^t)) + eps)

    >>> import wengert as wg
    >>> p = wg.tensor([1.0], requires_grad=True)
    >>> (p * p).sum().backward()
    >>> NAdam([p], lr=0.1).step()
    >>> p
    tensor([0.8944], requires_grad=True)
    """

    scalars: ClassVar[tuple[str, ...]] = ("mu_product",)

    @settings("lr", "eps", "weight_decay", "momentum_decay")
    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None: ...

    def initial(self, group: Group, name: str, like: Array) -> Array:
        return np.ones_like(like) if name == "mu_product" else np.zeros_like(like)

    def advance(self, group: Group, t: float, scalars: dict[str, Array]) -> dict[str, Any]:
        beta1, decay = group["betas"][0], group["momentum_decay"]
        mu = beta1 * (1 - 0.5 * 0.96 ** (t * decay))
        following = beta1 * (1 - 0.5 * 0.96 ** ((t + 1) * decay))
        product = scalars["mu_product"]
        product *= mu
        so_far = number(product)
        return {
            "of_gradient": (1 - mu) / (1 - so_far),
            "of_mean": following / (1 - so_far * following),
        }

    def update(
        self, group: Group, t: float, p: Array, g: Array, state: State, a: Array, b: Array
    ) -> None:
        g = gradient(self, group, p, g, b, a)
        self.average(group, g, state, a)
        np.divide(state["exp_avg_sq"], 1 - group["betas"][1] ** t, out=a)
        np.sqrt(a, out=a)
        a += group["eps"]
        step = g * state["of_gradient"]
        np.multiply(state["exp_avg"], state["of_mean"], out=b)  # g is not needed any more
        step += b
        step *= number(group["lr"])
        step /= a
        p -= step


class RAdam(Moments):
    """Adam that steps by momentum until its estimate of the variance is trustworthy (Liu, 2020).

    rho_inf = 2 / (1 - beta2) - 1 and rho_t = rho_inf - 2 t beta2^t / (1 - beta2^t) measure how many
    gradients the estimate rests on. While rho_t <= 5, p -= lr m / (1 - beta1^t); after that the
    step is also divided by sqrt(v / (1 - beta2^t)) + eps and multiplied by the rectification

    sqrt((rho_t - 4) (rho_t - 2) rho_inf / ((rho_inf - 4) (rho_inf - 2) rho_t))

    >>> import wengert as wg
    >>> p = wg.tensor([1.0], requires_grad=True)
    >>> (p * p).sum().backward()
    >>> RAdam([p], lr=0.1).step()
    >>> p
    tensor([0.8000], requires_grad=True)
    """

    @settings("lr", "eps", "weight_decay")
    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None: ...

    def update(
        self, group: Group, t: float, p: Array, g: Array, state: State, a: Array, b: Array
    ) -> None:
        g = gradient(self, group, p, g, b, a)
        self.average(group, g, state, a)
        beta1, beta2 = group["betas"]
        correction = 1 - beta2**t
        rectified, momentum = _shares(beta2, t, correction)
        # step = m (rectified / (sqrt(v) + eps) + momentum), one of the two being 0. Where it is the
        # first, `momentum` also keeps the divisor from being 0.
        np.sqrt(state["exp_avg_sq"], out=a)
        a += group["eps"]
        a += momentum
        np.divide(rectified, a, out=a)
        a += momentum
        a *= state["exp_avg"]
        a *= number(group["lr"]) / (1 - beta1**t)
        p -= a


def _shares(beta2: float, t: Any, correction: Any) -> tuple[Any, Any]:
    """The factors of the rectified and of the momentum step: (r sqrt(correction), 0) or (0, 1).

    Written without a branch on `t`, which a compiled step only knows when it runs.
    """
    limit = 2 / (1 - beta2) - 1
    if limit <= 5:
        return 0.0, 1.0
    rho = limit - 2 * t * beta2**t / correction
    trusted = rho > 5
    r = np.maximum(rho, 5.0)
    square = (r - 4) * (r - 2) * limit / ((limit - 4) * (limit - 2) * r)
    return np.where(trusted, np.sqrt(square * correction), 0.0), np.where(trusted, 0.0, 1.0)
