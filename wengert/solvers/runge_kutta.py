"""Runge-Kutta methods: their tables, one step, and integration with fixed and with chosen steps.

Everything here is NumPy code about y' = f(t, y): on plain arrays numbers come out; on tensors the
steps are recorded, which is direct differentiation. Only how long a step is, is decided by numbers
alone (Hairer, Norsett and Wanner, "Solving Ordinary Differential Equations I", 2nd ed. 1993, II.4),
so a derivative is that of the method with the steps that it took.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.dispatch import known
from wengert.errors import GradError
from wengert.tensor import Tensor

Derivative = Callable[[Any, Any], Any]
Row = tuple[float, ...]


@dataclass(frozen=True)
class Method:
    """A Butcher table: y + h sum(b k), where k_i = f(t + c_i h, y + h sum(a_ij k_j)).

    Methods that choose their steps have error weights, for the difference to the embedded method,
    and a dense output: y(t + x h) = y + h sum_j k_j (dense_j0 x + dense_j1 x^2 + ...). Their last
    stage is the first of the next step, and the error is of order `order` in h.
    """

    c: Row
    a: tuple[Row, ...]
    b: Row
    error: Row = ()
    dense: tuple[Row, ...] = ()
    order: int = 0


METHODS = {
    "euler": Method((0,), ((),), (1,)),
    "midpoint": Method((0, 1 / 2), ((), (1 / 2,)), (0, 1)),
    "rk4": Method(
        (0, 1 / 2, 1 / 2, 1), ((), (1 / 2,), (0, 1 / 2), (0, 0, 1)), (1 / 6, 1 / 3, 1 / 3, 1 / 6)
    ),
    # P. Bogacki and L. F. Shampine, "A 3(2) pair of Runge-Kutta formulas", 1989.
    "bosh3": Method(
        (0, 1 / 2, 3 / 4),
        ((), (1 / 2,), (0, 3 / 4)),
        (2 / 9, 1 / 3, 4 / 9),
        error=(5 / 72, -1 / 12, -1 / 9, 1 / 8),
        dense=((1, -4 / 3, 5 / 9), (0, 1, -2 / 3), (0, 4 / 3, -8 / 9), (0, -1, 1)),
        order=3,
    ),
    # J. R. Dormand and P. J. Prince, "A family of embedded Runge-Kutta formulae", 1980; the dense
    # output is that of L. F. Shampine, "Some practical Runge-Kutta formulas", 1986.
    "dopri5": Method(
        (0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1),
        (
            (),
            (1 / 5,),
            (3 / 40, 9 / 40),
            (44 / 45, -56 / 15, 32 / 9),
            (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
            (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        ),
        (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
        error=(
            -71 / 57600,
            0,
            71 / 16695,
            -71 / 1920,
            17253 / 339200,
            -22 / 525,
            1 / 40,
        ),
        dense=(
            (
                1,
                -8048581381 / 2820520608,
                8663915743 / 2820520608,
                -12715105075 / 11282082432,
            ),
            (0, 0, 0, 0),
            (
                0,
                131558114200 / 32700410799,
                -68118460800 / 10900136933,
                87487479700 / 32700410799,
            ),
            (0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072),
            (
                0,
                127303824393 / 49829197408,
                -318862633887 / 49829197408,
                701980252875 / 199316789632,
            ),
            (0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844),
            (0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423),
        ),
        order=5,
    ),
}


def combined(weights: Sequence[Any], stages: Sequence[Any]) -> Any:
    """sum(w k), without the terms of weight zero."""
    total = None
    for w, k in zip(weights, stages, strict=True):
        if isinstance(w, (int, float)) and w == 0:
            continue
        total = k * w if total is None else total + k * w
    return total


def stepped(method: Method, f: Derivative, t: Any, y: Any, h: Any, first: Any = None) -> Any:
    """y after one step of length h, and the stages; `first` is f(t, y), if that is known."""
    stages: list[Any] = []
    for c, row in zip(method.c, method.a, strict=True):
        if not row:
            stages.append(f(t, y) if first is None else first)
        else:
            stages.append(f(t + c * h, y + combined(row, stages) * h))
    return y + combined(method.b, stages) * h, stages


def numbers(x: Any) -> Any:
    """The array inside, which decides about steps; an error if its numbers are not known."""
    array = x._array if isinstance(x, Tensor) else x
    if not known(array) and not isinstance(array, float):
        raise GradError(
            "odeint: how long a step is, is decided by numbers, which are not known inside of vmap "
            'and wengert.compile. With gradient="direct" choose a method of fixed steps there, '
            'such as "rk4"; gradient="adjoint" works with all of them.'
        )
    return array


class Path:
    """y between the ends of the steps: for each a function of time."""

    def __init__(self) -> None:
        self.sign = 0.0
        self.ends: list[float] = []
        self.pieces: list[Callable[[float], Any]] = []

    def add(self, start: float, end: float, piece: Callable[[float], Any]) -> None:
        self.sign = math.copysign(1.0, end - start)
        self.ends.append(self.sign * end)
        self.pieces.append(piece)

    def __call__(self, t: float) -> Any:
        k = bisect.bisect_left(self.ends, self.sign * t)
        return self.pieces[min(k, len(self.pieces) - 1)](t)


def _hermite(start: float, h: float, y: Any, slope: Any, new: Any, after: Any) -> Any:
    """The cubic with these values and slopes at the ends of a step."""

    def piece(t: float) -> Any:
        x = (t - start) / h
        left, right = (1 + 2 * x) * (1 - x) ** 2, x * x * (3 - 2 * x)
        return left * y + right * new + h * x * (1 - x) * ((1 - x) * slope - x * after)

    return piece


# ---- fixed steps ---------------------------------------------------------------------------


def fixed(
    method: Method, f: Derivative, y: Any, times: Sequence[Any], grid: Sequence[float],
    step_size: float | None, path: Path | None = None,
) -> list[Any]:  # fmt: skip
    """y at all times; each interval is divided into equal steps of at most `step_size`.

    `times` may be tensors, by which one differentiates; `grid` are their numbers. `path`, if one is
    wanted, learns y in between.
    """
    out = [y]
    for t, end, a, b in zip(times[:-1], times[1:], grid[:-1], grid[1:], strict=True):
        count = 1 if step_size is None else max(1, math.ceil(abs(b - a) / step_size - 1e-9))
        h = (end - t) / count
        for i in range(count):
            now = t + i * h
            new, stages = stepped(method, f, now, y, h)
            if path is not None:
                path.add(now, now + h, _hermite(now, h, y, stages[0], new, f(now + h, new)))
            y = new
        array = y._array if isinstance(y, Tensor) else y
        if known(array) and not np.all(np.isfinite(array)):
            raise GradError(
                f"odeint: the solution is not finite at t={b:g}. The steps may be too long for the "
                "method (step_size=), or the solution grows without bound."
            )
        out.append(y)
    return out


# ---- chosen steps --------------------------------------------------------------------------


@dataclass
class Control:
    """How long a step may be: its error, relative to the tolerances, is to be about 1 at most."""

    method: Method
    rtol: float
    atol: float
    max_steps: int

    def error(self, change: Any, y: Any, new: Any) -> float:
        """The root mean square of the error estimate in units of the tolerance."""
        scale = self.atol + self.rtol * np.maximum(np.abs(y), np.abs(new))
        return _rms(change / scale)

    def factor(self, error: float) -> float:
        """By how much the next step is longer, or this one shorter."""
        return float(min(10.0, max(0.2, 0.9 * max(error, 1e-10) ** (-1 / self.method.order))))

    def first(self, f: Derivative, t: float, y: Any, slope: Any, way: float) -> float:
        """The length of the first step; `way` is how far it is to the end, with its sign."""
        scale = self.atol + self.rtol * np.abs(y)
        d0, d1 = _rms(y / scale), _rms(slope / scale)
        h = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        h = min(h, abs(way))
        ahead = np.asarray(f(t + math.copysign(h, way), y + math.copysign(h, way) * slope))
        d2 = _rms((ahead - slope) / scale) / h
        if not math.isfinite(d2):
            return h * 1e-3
        steepest = max(d1, d2)
        longer = max(1e-6, h * 1e-3) if steepest <= 1e-15 else (0.01 / steepest) ** (
            1 / self.method.order
        )  # fmt: skip
        return min(100 * h, longer, abs(way))


def _rms(x: Any) -> float:
    return float(np.sqrt(np.mean(np.abs(x) ** 2))) if x.size else 0.0


def chosen(
    control: Control, f: Derivative, y: Any, times: Sequence[Any], grid: Sequence[float],
    path: Path | None = None,
) -> list[Any]:  # fmt: skip
    """y at all times, in steps as long as the tolerances allow; between them by dense output.

    `times` may be tensors, by which one differentiates; `grid` are their numbers. `path`, if one is
    wanted, learns y in between.
    """
    method, out = control.method, [y]
    start, end = grid[0], grid[-1]
    sign = math.copysign(1.0, end - start)
    at, slope = start, f(times[0], y)
    _check_start(numbers(slope), start)
    h = control.first(
        lambda t, y: numbers(f(t, _as(y, slope))), at, numbers(y), numbers(slope), end - start
    )
    steps = 0
    while len(out) < len(grid):
        left = abs(end - at)
        h = min(h, left)
        steps += 1
        if steps > control.max_steps or h < 10 * np.spacing(abs(at)):
            raise _stuck(at, end, h, steps, control)
        t = times[0] + (at - start)
        new, stages = stepped(method, f, t, y, sign * h, slope)
        after = end if h == left else at + sign * h
        ahead = f(times[0] + (after - start), new)
        stages.append(ahead)
        estimate = numbers(combined(method.error, [numbers(k) for k in stages])) * h
        error = control.error(estimate, numbers(y), numbers(new))
        if not error <= 1:  # nan as well: out of where f is defined
            h *= control.factor(error) if math.isfinite(error) else 0.2
            continue
        piece = _piece(method, t, sign * h, y, stages)
        while len(out) < len(grid) and sign * (grid[len(out)] - after) <= 0:
            out.append(piece(times[len(out)]))
        if path is not None:
            path.add(at, after, piece)
        y, slope, at = new, ahead, after
        h *= control.factor(error)
    return out


def _piece(method: Method, start: Any, h: float, y: Any, stages: Sequence[Any]) -> Any:
    """y within a step, by the method's dense output."""

    def piece(t: Any) -> Any:
        x = (t - start) / h
        total = y
        for row, k in zip(method.dense, stages, strict=True):
            if any(row):
                share: Any = 0.0
                for coefficient in reversed(row):
                    share = (share + coefficient) * x  # Horner
                total = total + k * (share * h)
        return total

    return piece


def _as(y: Any, like: Any) -> Any:
    from wengert.tensor import wrap

    return wrap(y) if isinstance(like, Tensor) else y


def _check_start(slope: Any, t: float) -> None:
    if not np.all(np.isfinite(slope)):
        raise GradError(
            f"odeint: f(t, y0) is not finite at the first time, t={t:g}. Is it defined at y0?"
        )


def _stuck(t: float, end: float, h: float, steps: int, control: Control) -> GradError:
    if steps > control.max_steps:
        found = f"{control.max_steps} steps did not reach t={end:g}, only t={t:g}"
        cure = "Allow more (max_steps=), loosen rtol and atol, or"
    else:
        found = f"no step is short enough at t={t:g} (length {h:.1e})"
        cure = "The solution may grow without bound or leave where f is defined; or"
    return GradError(
        f"odeint: {found}. {cure} choose a method for stiff equations, such as "
        'method="LSODA" or "BDF".'
    )
