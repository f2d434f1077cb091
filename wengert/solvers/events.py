"""`odeint_event`: when something happens to the solution of a differential equation, and where it
is then; differentiable as the solution is.

The steps are those of `looped.py`. An event lies in a step in which a function changes its sign; it
is bisected on the dense output, and two steps of Newton's method, recorded, give its derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from wengert.arrays.kind import array_of
from wengert.control.choice import one_number
from wengert.control.loops import fori_loop, while_loop
from wengert.dispatch import require
from wengert.errors import GradError
from wengert.solvers.looped import Place, Walk
from wengert.solvers.ode import Joined, options_of, results_of, slopes_of, tensor_of, times_of
from wengert.solvers.parameters import Call, Equations
from wengert.solvers.runge_kutta import Control, stuck
from wengert.tensor import Tensor, wrap
from wengert.transforms import calls
from wengert.transforms.forward import jvp
from wengert.transforms.run import called, described
from wengert.tree import rebuild

HALVINGS = 60  # of a step: down to the rounding of its ends


def odeint_event(
    f: Callable[..., Any],
    y0: Any,
    t0: Any,
    event: Callable[..., Any],
    *args: Any,
    end: float = math.inf,
    direction: int = 0,
    method: str = "dopri5",
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 10_000,
) -> tuple[Any, Any]:
    """(t, y): the first time after t0 at which event(t, y, *args) is zero, and y then.

    y is the solution of dy/dt = f(t, y, *args) with y(t0) = y0; see `odeint` for what these are.
    The event is a number that changes its sign there: from minus to plus with `direction` 1, from
    plus to minus with -1, either with 0. An event that begins at zero, as that of a ball which was
    just thrown from the floor, is the next one. `end` is when to give up: before t0, time runs
    backwards. The method chooses its steps; an event that changes its sign twice within a step is
    not seen.

    t and y are differentiable in y0, t0 and args, up to third derivatives: dt = -dg / (dg/dt),
    where g is the event along the solution. Compiled functions, and `vmap`, take it as they do
    `odeint`; of what happens again and again make a `wg.scan`.

    Errors: ValueError for options that the method does not have; GradError where the event is not
    reached, where it touches zero without a change of sign, and as by `odeint`.

    >>> import wengert as wg
    >>> def fall(t, y):
    ...     return [y[1], -9.81]
    >>> landing = lambda h: wg.odeint_event(fall, np.stack([h, 0.0]), 0.0, lambda t, y: y[0])[0]
    >>> round(landing(2.0), 6), round(wg.grad(landing)(2.0), 6)  # sqrt(2 h / g), 1 / sqrt(2 g h)
    (0.638551, 0.159638)
    """
    for function, what in (
        (f, "a function f(t, y, *args) first"),
        (event, "an event(t, y, *args)"),
    ):
        if not callable(function):
            raise TypeError(f"odeint_event takes {what}, but got {described(function)}")
    if direction not in (-1, 0, 1):
        raise ValueError(f"odeint_event: direction is -1, 0 or 1, not {direction!r}")
    call = Call("odeint_event", f, y0, args, {})
    options = options_of(call, method, rtol, atol, None, max_steps, "direct")
    if not options.chooses:
        raise ValueError(f'odeint_event: {method} does not choose its steps; take "dopri5", say.')
    first = tensor_of(times_of(call, [t0]))[0]
    ys, parameters = [tensor_of(x) for x in call.unknowns], call.tensors
    vector = Joined(ys, flat=True)

    def flow(t: Any, y: Any) -> Any:
        equations = Equations(call, lambda ys, arrays: _at(call, f, t, ys, arrays))
        return vector.join(equations(vector.split(y), parameters))

    def value(t: Any, y: Any) -> Any:
        return _at(call, event, t, vector.split(y), parameters)

    y = vector.join(ys)
    walk = Walk(options.control(), flow, slopes_of(flow), y, first, np.full_like(first._array, end))
    place = _Search(walk, value, direction, called(event)).behind(y, first)
    t, y = _Within(walk, value, place, called(event)).found()
    own = calls.Results(call.kind)
    when = t if call.kind == calls.TENSOR else own.like(1.0 if isinstance(t0, int) else t0, t)
    return when, results_of(call, vector.split(y))


def _at(call: Call, function: Any, t: Any, ys: Any, arrays: Any) -> Any:
    args, _ = call.arguments(arrays)
    return function(t, rebuild(call.tree, iter(ys)), *args)


class _State(NamedTuple):
    place: Place
    value: Any
    """The event behind the last step, as a number."""
    crossed: Any


class _Search:
    """Steps until the event changes its sign."""

    def __init__(self, walk: Walk, event: Any, direction: int, name: str) -> None:
        self.walk, self.event, self.direction, self.name = walk, event, direction, name

    def number(self, place: Place) -> Any:
        value = self.event(self.walk.time(place.at), place.y)
        return one_number(value, f"the event {self.name}") * np.ones((), self.walk.dtype)

    def behind(self, y: Tensor, first: Any) -> Place:
        """The place behind the step in which the event is."""
        place = self.walk.begin(y, first)
        value = self.number(place)
        state = while_loop(
            self.goes_on, self.advance, _State(place, value, np.not_equal(value, value))
        )
        place, value, crossed = state
        require(
            crossed, partial(_missed, self.walk.control, self.name), crossed,
            self.walk.sign * (self.walk.end - place.at) <= 0,
            place.at, self.walk.end, place.ahead, place.steps, value,
        )  # fmt: skip
        return place

    def goes_on(self, state: _State) -> Any:
        return self.walk.goes_on(state.place, self.walk.end) & ~state.crossed

    def advance(self, state: _State) -> _State:
        place = self.walk.advance(state.place)
        value, before = self.number(place), state.value
        rises, falls = (before < 0) & (value >= 0), (before > 0) & (value <= 0)
        crossed = (rises, rises | falls, falls)[1 - self.direction]
        return _State(place, value, crossed)


class _Within:
    """The event in the step behind a place, as a function of the part of the step."""

    def __init__(self, walk: Walk, event: Any, place: Place, name: str) -> None:
        self.walk, self.event, self.place, self.name = walk, event, place, name
        self.bare = Place(*(_bare(x) for x in place))

    def solution(self, x: Any, place: Place) -> tuple[Any, Any]:
        """(t, y) at t = start + x length."""
        walk = self.walk
        y = walk.control.method.between(
            walk.own(x), place.before, walk.own(place.length), place.stages
        )
        return walk.time(place.start + x * place.length), y

    def value(self, x: Any, place: Place) -> Any:
        return self.event(*self.solution(x, place))

    def found(self) -> tuple[Any, Any]:
        one = np.ones_like(self.place.length)
        begun = array_of(self.value(one * 0, self.bare))

        def halved(_: Any, ends: tuple[Any, Any]) -> tuple[Any, Any]:
            low, high = ends
            middle = 0.5 * (low + high)
            ahead = array_of(self.value(middle, self.bare)) * begun > 0
            return np.where(ahead, middle, low), np.where(ahead, high, middle)

        x: Any = wrap(fori_loop(0, HALVINGS, halved, (one * 0, one))[1])
        for _ in range(2):  # each doubles the order of the derivatives that are exact
            value, slope = jvp(lambda x: self.value(x, self.place), (x,), (wrap(one),))
            require(array_of(slope) != 0, _touches, self.name, array_of(self.place.at))
            x = x - value / slope
        return self.solution(x, self.place)


def _bare(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(_bare, x))
    return wrap(x._array) if isinstance(x, Tensor) else x


def _missed(
    control: Control,
    name: str,
    crossed: Any,
    over: Any,
    t: Any,
    end: Any,
    h: Any,
    n: Any,
    value: Any,
) -> GradError:
    """The error of an event that was not reached, or of the first such of a batch."""
    everything = map(np.ravel, np.broadcast_arrays(crossed, over, t, end, h, n, value))
    crossed, over, t, end, h, n, value = next(
        row for row in zip(*everything, strict=True) if not row[0]
    )
    if over:
        return GradError(
            f"odeint_event: {name} did not change its sign until t={end:g}, where it is {value:g}. "
            "Is `direction` right? Give it more time (end=), or a condition that is reached."
        )
    return stuck(control, t, end, h, n, f"There {name} is {value:g}. ")


def _touches(name: str, t: Any) -> GradError:
    return GradError(
        f"odeint_event: {name} does not change with time where it is zero, before "
        f"t={np.ravel(t)[0]:g}: a time at which it only touches zero has no derivative."
    )
