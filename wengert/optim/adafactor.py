"""Adafactor: a second moment of matrices kept as its row and column means."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.history import modes
from wengert.optim.optimizer import Array, Group, Optimizer
from wengert.optim.settings import at_least_zero, settings
from wengert.tensor import Tensor


class Adafactor(Optimizer):
    """Adam with little memory (Shazeer and Stern, 2018), as PyTorch has it.

    v += t^beta2_decay (g^2 - v), of matrices estimated by R C / mean(R) from row and column means

    u = g / sqrt(v);  p -= max(eps2, rms(p)) min(lr, 1 / sqrt(t)) u / max(1, rms(u) / d)

    >>> import wengert as wg
    >>> p = wg.ones(2, 2, requires_grad=True)
    >>> p.grad = wg.tensor([[1.0, 2.0], [2.0, 4.0]])
    >>> Adafactor([p], lr=0.1).step()
    >>> p
    tensor([[0.9000, 0.9000],
            [0.9000, 0.9000]], requires_grad=True)
    """

    counts = True

    @settings("lr", "weight_decay")
    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if not beta2_decay <= 0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if not d >= 1:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        at_least_zero("epsilon1", 0 if eps[0] is None else eps[0])
        at_least_zero("epsilon2", eps[1])

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step for each parameter that has a gradient; returns what the closure does."""
        loss = None
        if closure is not None:
            with modes.enable_grad():
                loss = closure()
        with modes.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None and p.grad.is_sparse:
                        self.leaves_rows(group)
                    if p.grad is not None:
                        self._move(group, p, -p.grad if group["maximize"] else p.grad)
        return loss

    def initial(self, group: Group, name: str, like: Array) -> Array:
        if name in ("row_var", "col_var"):
            like = like[..., :1] if name == "row_var" else like[..., :1, :]
        return np.zeros_like(like)

    def _move(self, group: Group, p: Tensor, g: Tensor) -> None:
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        lr, (eps, least) = group["lr"], group["eps"]
        eps = float(np.finfo(p._array.dtype).eps) if eps is None else eps
        state = self.state[p]
        self._start(group, p, state, ("variance",) if p.ndim < 2 else ("row_var", "col_var"))
        state["step"] += 1
        t = state["step"].double()
        size = _rms(p).clamp(min=least) * t.rsqrt().clamp(max=lr)
        p *= 1 - lr * group["weight_decay"]
        variance = _averaged(state, g, t ** group["beta2_decay"], eps)
        u = g * variance.clamp(min=eps * eps).rsqrt()
        p -= u * (size / (_rms(u) / group["d"]).clamp(min=1.0))


def _rms(x: Tensor) -> Tensor:
    return x.norm() / math.sqrt(x.numel())


def _averaged(state: Group, g: Tensor, weight: Tensor, eps: float) -> Tensor:
    """The second moment after this gradient."""

    def follow(name: str, now: Tensor) -> Tensor:
        kept: Tensor = state[name]
        kept += weight * (now - kept)
        return kept

    squares = g * g
    if g.ndim < 2:
        return follow("variance", squares)
    rows = follow("row_var", squares.mean(-1, keepdim=True))
    columns = follow("col_var", squares.mean(-2, keepdim=True))
    return rows @ columns / rows.mean(-2, keepdim=True).clamp(min=eps)
