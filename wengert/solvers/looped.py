"""The steps of `runge_kutta.py` as loops of `wengert.control`, where numbers are not known yet.

In a compiled function, or under `vmap`, how long a step is and how many there are is decided by
numbers that a trace or a batch stands for. So the loop over steps is a `while_loop`, inside of a
`scan` over the times asked for: a program has both as they are, and the derivative keeps the state
at the times, and the steps of one interval at a time (`docs/loops.md`).
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from wengert.arrays.kind import array_of
from wengert.control.choice import chosen
from wengert.control.loops import fori_loop, scan, while_loop
from wengert.dispatch import known, require
from wengert.errors import GradError
from wengert.history import modes
from wengert.solvers.runge_kutta import Control, Derivative, Method, check_start, not_finite, stuck
from wengert.tensor import Tensor, wrap


class Place(NamedTuple):
    """Where an integration is: behind a step, of which it has what dense output needs.

    y and the stages are tensors; times, which decide alone, are arrays of the times' dtype.
    """

    start: Any
    """When the step began,"""
    length: Any
    """how long it was, with its sign,"""
    before: Any
    """y then,"""
    stages: tuple[Any, ...]
    """and its stages, the last of which is the slope at its end."""
    at: Any
    """When it ended,"""
    y: Any
    """and y then."""
    ahead: Any
    """How long the next step is to be."""
    steps: Any
    """How many were tried."""


class Walk:
    """An integration by chosen steps from times[0] in the direction of `end`."""

    def __init__(
        self, control: Control, f: Derivative, slopes: Any, y: Tensor, first: Any, end: Any
    ) -> None:
        self.control, self.f, self.slopes = control, f, slopes
        self.dtype = array_of(y).real.dtype
        self.moved = first - array_of(first) if isinstance(first, Tensor) else None
        """Zero, with the derivative of all times by the first."""
        self.end = end
        self.way = end - array_of(first)
        self.sign = np.copysign(np.ones_like(self.way), self.way)

    def begin(self, y: Tensor, first: Any) -> Place:
        at = array_of(first)
        slope = self.f(self.time(at), y)
        check_start(array_of(slope), at)
        self.tracked = slope.requires_grad or y.requires_grad
        ahead = self.control.first(
            lambda t, y: array_of(self.f(t, wrap(y))),
            self.own(at), array_of(y), array_of(slope), self.own(self.way),
        )  # fmt: skip
        stages = (*[y * 0 for _ in self.control.method.dense[1:]], slope)
        one = np.ones_like(at)
        return Place(
            at, one, y, stages, at, y, ahead.astype(at.dtype), np.zeros(at.shape, np.int64)
        )

    def own(self, t: Any) -> Any:
        """A time in the precision of y."""
        return t if t.dtype == self.dtype else t.astype(self.dtype)

    def time(self, t: Any) -> Any:
        """A time as f gets it, and as it depends on the first one."""
        t = self.own(t)
        return t if self.moved is None else t + self.moved.to(self.dtype)

    def goes_on(self, place: Place, target: Any) -> Any:
        """Whether a time is still ahead, and a further step may be tried."""
        control = self.control
        lost = control.too_short(place.ahead, place.at)
        return (self.sign * (target - place.at) > 0) & (place.steps < control.max_steps) & ~lost

    def reached(self, place: Place) -> None:
        """GradError unless the end is."""
        require(
            self.sign * (self.end - place.at) <= 0, partial(stuck, self.control),
            place.at, self.end, place.ahead, place.steps,
        )  # fmt: skip

    def advance(self, place: Place) -> Place:
        """One more step is tried: behind it, if its error is small enough."""
        left = np.abs(self.end - place.at)
        size = np.minimum(place.ahead, left)
        h = self.sign * size
        after = np.where(size == left, self.end, place.at + h)
        again = self.tracked and not known(h)
        with modes.no_grad() if again else nullcontext():
            y = wrap(array_of(place.y)) if again else place.y
            new, stages, error = self._trial(place, h, after, y)
        ok, later = error <= 1, size * self.control.factor(error).astype(h.dtype)
        if again:
            # What is infinite in a step that is not taken would be multiplied by zero on the way
            # back. So what is recorded is a step that is taken, or one of length zero.
            taken = np.where(ok, h, 0.0)
            new, stages, _ = self._trial(place, taken, place.at + taken, place.y)
        behind = Place(place.at, h, place.y, tuple(stages), after, new, later, place.steps + 1)
        return chosen(ok, behind, place._replace(ahead=later, steps=place.steps + 1))

    def _trial(self, place: Place, h: Any, after: Any, y: Any) -> Any:
        slope = place.stages[-1] if y is place.y else wrap(array_of(place.stages[-1]))
        t = self.time(place.at)
        return self.control.trial(self.f, t, y, self.own(h), self.time(after), slope, self.slopes)

    def between(self, place: Place, t: Any) -> Any:
        """y at a time of the step behind."""
        x = self.own((t - place.start) / place.length)
        if self.moved is not None:
            x = x - self.moved.to(self.dtype) / self.own(place.length)
        return self.control.method.between(x, place.before, self.own(place.length), place.stages)


def chosen_steps(control: Control, f: Derivative, slopes: Any, y: Tensor, times: Any) -> Any:
    """y at all times, in steps as long as the tolerances allow; one row for each time."""
    first, end = array_of(times)[0], array_of(times)[-1]
    walk = Walk(control, f, slopes, y, times[0], end)

    def to(place: Place, t: Any) -> tuple[Place, Any]:
        # A step is taken even to the first time: before it there is none to interpolate in, and
        # a later one of the times may be that, too.
        target = array_of(t)
        place = while_loop(
            lambda p: walk.goes_on(p, np.where(p.at == first, end, target)), walk.advance, place
        )
        return place, walk.between(place, t)

    place, ys = scan(to, walk.begin(y, times[0]), times)
    walk.reached(place)
    return ys


def fixed_steps(
    method: Method, f: Derivative, y: Tensor, times: Any, step_size: float | None,
    count: int | None,
) -> Any:  # fmt: skip
    """y at all times; `count` equal steps from each to the next, or as many as `step_size` asks."""
    dtype = array_of(y).real.dtype

    def to(y: Any, ends: tuple[Any, Any]) -> tuple[Any, Any]:
        t, end = ends
        if count is not None:
            n: Any = count
        else:
            n = np.maximum(1, np.ceil(np.abs(array_of(end) - array_of(t)) / step_size - 1e-9))
        h = ((end - t) / n).astype(dtype)

        def step(i: Any, y: Any) -> Any:
            return method.step(f, t.astype(dtype) + i * h, y, h)[0]

        if count is not None:
            y = fori_loop(0, count, step, y)
        else:
            zero = np.zeros_like(n)
            y = while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, step(s[0], s[1])), (zero, y))[1]
        return y, y

    _, ys = scan(to, y, (times[:-1], times[1:]))
    array = array_of(ys)
    finite = np.all(np.isfinite(np.reshape(array, (array.shape[0], -1))), axis=1)
    require(finite, _first_not_finite, array_of(times), finite)
    return np.concatenate([y[None], ys])


def _first_not_finite(times: Any, finite: Any) -> GradError:
    """The error of the first of the times at which y is not finite; of a batch, of any of them."""
    finite = np.reshape(finite, (-1, np.shape(finite)[-1])).all(axis=0)
    return not_finite(np.reshape(times, (-1, np.shape(times)[-1]))[0, 1 + np.argmin(finite)])
