"""L-BFGS with an optional line search for the strong Wolfe conditions.

Nocedal and Wright, Numerical Optimization (2nd edition, 2006): the two loops are their algorithm
7.4, the line search their algorithms 3.5 and 3.6. Constants and stopping rules are PyTorch's, so
that both take the same steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.arrays.kind import number
from wengert.history import modes
from wengert.imports import lacking as _lacking
from wengert.optim.optimizer import Array, Mark, Optimizer
from wengert.optim.settings import at_least_zero
from wengert.tensor import wrap

CURVATURE = 1e-10
"""Steps along which the gradient changes by less say nothing of the curvature: not remembered."""


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last `history_size` changes of parameters and gradients.

    Each `step(closure)` makes up to `max_iter` iterations, calling `closure`, which computes the
    loss and its gradients anew, at most about `max_eval` times (1.25 `max_iter` by default).
    Without `line_search_fn="strong_wolfe"` steps have length `lr`. There is one parameter group.

    >>> import wengert as wg
    >>> p = wg.tensor([-1.0, 2.0], requires_grad=True)
    >>> optimizer = LBFGS([p], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> for _ in range(3):
    ...     loss = optimizer.step(closure)
    >>> p.detach().round(decimals=3)
    tensor([1., 1.])
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        at_least_zero("learning rate", lr)
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError(f"only 'strong_wolfe' is supported, not {line_search_fn!r}")
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        if self.param_groups:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        super().add_param_group(param_group)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Up to `max_iter` iterations; returns the loss at their beginning."""
        if closure is None:
            raise TypeError(
                "LBFGS.step needs a closure that computes the loss and its gradients anew and "
                "returns the loss: it looks at several points in one step."
            )
        group = self.param_groups[0]
        memory = _Memory.of(self.state[group["params"][0]])
        with modes.enable_grad():
            first_loss = closure()
        loss, g = float(first_loss), self._gradient()
        memory.evaluations += 1
        if _largest(g) > group["tolerance_grad"]:
            with modes.no_grad():
                self._iterate(closure, group, memory, loss, g)
        memory.keep(self.state[group["params"][0]])
        return first_loss

    def _iterate(
        self, closure: Any, group: dict[str, Any], memory: _Memory, loss: float, g: Array
    ) -> None:
        lr, change = number(group["lr"]), group["tolerance_change"]
        evaluations = 1
        for i in range(1, group["max_iter"] + 1):
            memory.iterations += 1
            d = memory.direction(g, group["history_size"])
            memory.gradient, memory.loss = g.copy(), loss
            t = min(1.0, 1.0 / float(np.abs(g).sum())) * lr if memory.iterations == 1 else lr
            memory.length = t
            slope = float(g @ d)
            if slope > -change:
                break
            more = 0
            if group["line_search_fn"] is not None:
                start = [p._array.copy() for p in group["params"]]

                def at(t: float, d: Array = d, start: list[Array] = start) -> tuple[float, Array]:
                    value = self._evaluate(closure, t, d)
                    for p, x in zip(group["params"], start, strict=True):
                        p._array[...] = x
                    return value

                loss, g, t, more = strong_wolfe(
                    at, t, d, loss, g, slope, group["max_eval"] - evaluations
                )
                self._move(t, d)
            elif i < group["max_iter"]:  # the last point is evaluated by the next step
                loss, g = self._evaluate(closure, t, d)
                more = 1
            else:
                self._move(t, d)
            memory.length = t
            evaluations += more
            memory.evaluations += more
            if (
                evaluations >= group["max_eval"]
                or _largest(g) <= group["tolerance_grad"]
                or _largest(d * t) <= change
                or abs(loss - memory.loss) < change
            ):
                break

    def _evaluate(self, closure: Any, t: float, d: Array) -> tuple[float, Array]:
        """Move by t d; the loss and the gradient there."""
        self._move(t, d)
        with modes.enable_grad():
            loss = float(closure())
        return loss, self._gradient()

    def _gradient(self) -> Array:
        """All gradients in one real array; 0 where there is none."""
        parts = []
        for p in self.param_groups[0]["params"]:
            array = np.zeros_like(p._array) if p._grad is None else p._grad._array
            flat = array.reshape(-1)
            parts.append(flat if flat.dtype.kind == "f" else flat.view(flat.real.dtype))
        return np.concatenate(parts)

    def _move(self, t: float, d: Array) -> None:
        mark, start = Mark(), 0
        for p in self.param_groups[0]["params"]:
            array = p._array
            n = array.size * (2 if array.dtype.kind == "c" else 1)
            part = d[start : start + n]
            start += n
            array += (t * part).astype(array.real.dtype).view(array.dtype).reshape(array.shape)
            mark.written(p)


def _largest(x: Array) -> float:
    return float(np.abs(x).max())


class _Memory:
    """What is kept from step to step, in the state of the first parameter as PyTorch keeps it."""

    def __init__(self) -> None:
        self.evaluations = self.iterations = 0
        self.gradient: Array = None
        self.loss, self.length, self.scale = 0.0, 0.0, 1.0
        self.d: Array = None
        self.changes: list[Array] = []  # of the gradient: y
        self.steps: list[Array] = []  # s
        self.inverses: list[float] = []  # 1 / y.s

    @staticmethod
    def of(state: dict[str, Any]) -> _Memory:
        memory = _Memory()
        if "prev_flat_grad" in state:
            memory.evaluations, memory.iterations = state["func_evals"], state["n_iter"]
            memory.gradient, memory.d = state["prev_flat_grad"]._array, state["d"]._array
            memory.loss = float(state["prev_loss"])
            memory.length, memory.scale = float(state["t"]), float(state["H_diag"])
            memory.changes = [x._array for x in state["old_dirs"]]
            memory.steps = [x._array for x in state["old_stps"]]
            memory.inverses = [float(x) for x in state["ro"]]
        return memory

    def keep(self, state: dict[str, Any]) -> None:
        state.update(func_evals=self.evaluations, n_iter=self.iterations)
        if self.gradient is not None:
            state.update(
                d=wrap(self.d),
                t=self.length,
                old_dirs=[wrap(x) for x in self.changes],
                old_stps=[wrap(x) for x in self.steps],
                ro=list(self.inverses),
                H_diag=self.scale,
                prev_flat_grad=wrap(self.gradient),
                prev_loss=self.loss,
            )

    def direction(self, g: Array, most: int) -> Array:
        """Minus the inverse Hessian, as far as it is known, times the gradient."""
        if self.iterations == 1:
            self.d = -g
            return self.d
        y, s = g - self.gradient, self.d * self.length
        product = float(y @ s)
        if product > CURVATURE:
            if len(self.changes) == most:
                del self.changes[0], self.steps[0], self.inverses[0]
            self.changes.append(y)
            self.steps.append(s)
            self.inverses.append(1 / product)
            self.scale = product / float(y @ y)
        pairs = list(zip(self.changes, self.steps, self.inverses, strict=True))
        q, along = -g, []
        for y, s, inverse in reversed(pairs):
            alpha = float(s @ q) * inverse
            q -= alpha * y
            along.append(alpha)
        q *= self.scale
        for (y, s, inverse), alpha in zip(pairs, reversed(along), strict=True):
            q += (alpha - float(y @ q) * inverse) * s
        self.d = q
        return q


# ---- the line search -----------------------------------------------------------------------

DECREASE, FLATTER = 1e-4, 0.9
"""The constants of the two Wolfe conditions."""


@dataclass
class Point:
    """A length of the step with the loss, the gradient, and the slope along the direction there."""

    t: float
    f: float
    g: Array
    slope: float


def strong_wolfe(
    at: Callable[[float], tuple[float, Array]],
    t: float,
    d: Array,
    f: float,
    g: Array,
    slope: float,
    most: int,
    least_change: float = 1e-9,
) -> tuple[float, Array, float, int]:
    """A length t with f(t) <= f + 1e-4 t slope and |slope(t)| <= 0.9 |slope|, if it is found.

    `at(t)` is the loss and gradient at length t. Returns loss, gradient, length and how often `at`
    was called, at most `most` times after the first.
    """

    def look(t: float) -> Point:
        loss, gradient = at(t)
        return Point(t, loss, gradient, float(gradient @ d))

    start = Point(0.0, f, g, slope)
    bracket, looked = _bracket(look, start, t, most)
    low, high = sorted(bracket, key=lambda point: point.f) if len(bracket) > 1 else bracket * 2
    reach, hesitated = _largest(d), False
    # Between `low`, the best length so far, and `high` lies an acceptable one.
    while looked - 1 < most and abs(high.t - low.t) * reach >= least_change:
        t, hesitated = _inside(low, high, hesitated)
        new = look(t)
        looked += 1
        if new.f > f + DECREASE * t * slope or new.f >= low.f:
            low, high = (low, new) if low.f <= new.f else (new, low)
            continue
        if abs(new.slope) <= -FLATTER * slope:
            low = new
            break
        if new.slope * (high.t - low.t) >= 0:
            high = low
        low = new
    return low.f, low.g, low.t, looked


def _bracket(
    look: Callable[[float], Point], start: Point, t: float, most: int
) -> tuple[list[Point], int]:
    """Two lengths with an acceptable one between them, or that one; and how often was looked."""
    before, now, looked = start, look(t), 1
    while looked - 1 < most:
        rises = now.f > start.f + DECREASE * now.t * start.slope
        if rises or (looked > 2 and now.f >= before.f):
            return [before, now], looked
        if abs(now.slope) <= -FLATTER * start.slope:
            return [now], looked
        if now.slope >= 0:
            return [before, now], looked
        longer = interpolated(before, now, (now.t + 0.01 * (now.t - before.t), now.t * 10))
        before, now = now, look(longer)
        looked += 1
    return [start, now], looked


def _inside(low: Point, high: Point, hesitated: bool) -> tuple[float, bool]:
    """A length between those of two points, and whether it is too near to one of them.

    The second time in a row it is moved to a tenth of their distance from the nearer end.
    """
    least, most = sorted((low.t, high.t))
    t = interpolated(low, high, (least, most))
    margin = 0.1 * (most - least)
    if min(most - t, t - least) >= margin:
        return t, False
    if hesitated or t >= most or t <= least:
        return (most - margin if most - t < t - least else least + margin), False
    return t, True


def interpolated(one: Point, two: Point, bounds: tuple[float, float]) -> float:
    """Where the cubic through both points with their slopes is least, within the bounds."""
    low, high = bounds
    d1 = one.slope + two.slope - 3 * (one.f - two.f) / (one.t - two.t)
    square = d1 * d1 - one.slope * two.slope
    if not square >= 0:
        return (low + high) / 2
    d2 = math.sqrt(square)
    left, right = (one, two) if one.t <= two.t else (two, one)
    bend = right.slope - left.slope + 2 * d2
    if bend == 0:
        return (low + high) / 2
    t = right.t - (right.t - left.t) * ((right.slope + d2 - d1) / bend)
    return min(max(t, low), high)


_lacking(__name__)
