"""Rprop, which looks at signs only, and ASGD, which averages the points it passes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from wengert.arrays.kind import number
from wengert.optim.moments import gradient
from wengert.optim.optimizer import Array, Group, Optimizer, State
from wengert.optim.settings import settings


class Rprop(Optimizer):
    """Steps of sizes of their own, by the signs of gradients alone (Riedmiller and Braun, 1993).

    A size grows by etas[1] while the sign stays, and shrinks by etas[0] where it changed, when that
    element rests for one step. For full batches: signs of noisy gradients say little.

    >>> import wengert as wg
    >>> p = wg.tensor([1.0], requires_grad=True)
    >>> (p * p).sum().backward()
    >>> Rprop([p], lr=0.1).step()
    >>> p
    tensor([0.9000], requires_grad=True)
    """

    counts = True
    keeps = ("prev", "step_size")

    @settings("lr")
    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")

    def initial(self, group: Group, name: str, like: Array) -> Array:
        if name == "prev":
            return np.zeros_like(like)
        rate = number(group["lr"])  # each part of a complex number has a size of its own
        return np.full_like(like, rate * (1 + 1j) if like.dtype.kind == "c" else rate)

    def update(
        self, group: Group, t: float, p: Array, g: Array, state: State, a: Array, b: Array
    ) -> None:
        g = gradient(self, group, p, g, a, b)
        (shrink, grow), (least, most) = group["etas"], group["step_sizes"]
        before, sizes = state["prev"], state["step_size"]
        agreement = g * before
        turned = agreement < 0
        factors = np.where(agreement > 0, grow, np.where(turned, shrink, 1.0))
        sizes *= factors.astype(p.dtype)
        np.clip(sizes, least, most, out=sizes)
        kept = np.where(turned, 0, g)
        p -= np.sign(kept) * sizes
        np.copyto(before, kept)


class ASGD(Optimizer):
    """Gradient descent whose passed points are averaged (Polyak and Juditsky, 1992).

    eta_t = lr / (1 + lambd lr t)^alpha;  p = (1 - lambd eta) p - eta g;  ax += mu (p - ax)

    with mu = 1 / max(1, t - t0). The average is `optimizer.state[p]["ax"]`.

    >>> import wengert as wg
    >>> p = wg.tensor([1.0], requires_grad=True)
    >>> (p * p).sum().backward()
    >>> ASGD([p], lr=0.1, lambd=0.0).step()
    >>> p
    tensor([0.8000], requires_grad=True)
    """

    counts = True
    keeps = ("ax",)
    scalars: ClassVar[tuple[str, ...]] = ("eta", "mu")

    @settings("lr", "weight_decay")
    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None: ...

    def initial(self, group: Group, name: str, like: Array) -> Array:
        if name == "ax":
            return np.zeros_like(like)
        return np.full_like(like, number(group["lr"]) if name == "eta" else 1.0)

    def advance(self, group: Group, t: float, scalars: dict[str, Array]) -> dict[str, Any]:
        eta, mu = scalars["eta"], scalars["mu"]
        now = {"rate": number(eta), "share": number(mu)}
        lr = number(group["lr"])
        eta[...] = lr / (1 + group["lambd"] * lr * t) ** group["alpha"]
        mu[...] = 1 / np.maximum(1.0, t - group["t0"])
        return now

    def update(
        self, group: Group, t: float, p: Array, g: Array, state: State, a: Array, b: Array
    ) -> None:
        g = gradient(self, group, p, g, a, b)
        average, rate, share = state["ax"], state["rate"], state["share"]
        p *= 1 - group["lambd"] * rate
        np.multiply(g, rate, out=b)
        p -= b
        # Not ax + mu (p - ax): with mu = 1 the average is to be `p` itself, unrounded.
        average *= 1 - share
        average += share * p
