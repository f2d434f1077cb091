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

from wengert.arrays.kind import array_of
from wengert.dispatch import require
from wengert.errors import GradError
from wengert.tensor import Tensor, wrap

Derivative = Callable[[Any, Any], Any]
Row = tuple[float, ...]


@dataclass(frozen=True)
class Method:
    """A Butcher table: y + h sum(b k), where k_i = f(t + c_i h, y + h sum(a_ij k_j)).

    Methods that choose their steps have error weights, for the difference to the embedded method,
    and a dense output: y(t + x h) = y + h sum_j k_j (dense_j0 x + dense_j1 x^2 + ...). The slope at
    the end of a step is one more stage, the first of the next step; the error is of order `order`
    in h.

    With a `diagonal` d the method is Rosenbrock's, for stiff equations: the right-hand sides r_i of
    the above make stages by (1 - h d J) k_i = d (r_i + sum(coupling_ij k_j) + h in_time_i df/dt).
    """

    c: Row
    a: tuple[Row, ...]
    b: Row
    error: Row = ()
    dense: tuple[Row, ...] = ()
    order: int = 0
    diagonal: float = 0.0
    coupling: tuple[Row, ...] = ()
    in_time: Row = ()

    def step(
        self, f: Derivative, t: Any, y: Any, h: Any, slope: Any = None, slopes: Any = None
    ) -> tuple[Any, list[Any]]:
        """y after one step of length h, and the stages; `slope` is f(t, y), if that is known.

        `slopes(t, y)` are the derivatives of f by y and by t, for methods with a diagonal.
        """
        stages: list[Any] = []
        solved = self._solver(slopes, t, y, h) if self.diagonal else None
        for i, (c, row) in enumerate(zip(self.c, self.a, strict=True)):
            if row:
                k = f(t + c * h, y + combined(row, stages) * h)
            else:
                k = f(t, y) if slope is None else slope
            stages.append(solved(i, k, stages) if solved else k)
        return y + combined(self.b, stages) * h, stages

    def _solver(self, slopes: Any, t: Any, y: Any, h: Any) -> Any:
        by_y, by_t = slopes(t, y)
        # The inverse is as good as factors here: for a stable J it is no larger than about 1.
        inverse = np.linalg.inv(np.eye(y.shape[0], dtype=y.dtype) - by_y * (h * self.diagonal))

        def solved(i: int, k: Any, stages: Sequence[Any]) -> Any:
            if self.coupling[i]:
                k = k + combined(self.coupling[i], stages)
            if self.in_time[i]:
                k = k + by_t * (h * self.in_time[i])
            return np.matmul(inverse, k * self.diagonal)

        return solved

    def between(self, x: Any, y: Any, h: Any, stages: Sequence[Any]) -> Any:
        """y at t + x h, by the dense output."""
        weights = []
        for row in self.dense:
            weight: Any = 0.0
            for coefficient in reversed(row if any(row) else ()):
                weight = (weight + coefficient) * x  # Horner
            weights.append(weight * h if any(row) else 0)
        return y + combined(weights, stages)


def _product(scale: float, *factors: Row) -> Row:
    """The coefficients of x, x^2, ... in a product of polynomials that is 0 at 0."""
    total = np.array([scale])
    for factor in factors:
        total = np.convolve(total, factor)
    return tuple(total[1:].tolist())


def _blended(ends: Row, linear: Row, quadratic: Row) -> tuple[Row, ...]:
    """Dense output x ends + x (1 - x) (linear + x quadratic), and none of the slope at the end."""
    rows = zip(ends, linear, quadratic, strict=True)
    return (*((e + p, q - p, -q) for e, p, q in rows), ())


_RODAS = (1.221224509226641, 6.019134481288629, 12.53708333932087, -0.6878860361058950)

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
            -71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40,
        ),
        dense=(
            (
                1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432,
            ),
            (0, 0, 0, 0),
            (
                0, 131558114200 / 32700410799, -68118460800 / 10900136933,
                87487479700 / 32700410799,
            ),
            (0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072),
            (
                0, 127303824393 / 49829197408, -318862633887 / 49829197408,
                701980252875 / 199316789632,
            ),
            (0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844),
            (0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423),
        ),
        order=5,
    ),
    # Ch. Tsitouras, "Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying
    # assumption", Computers and Mathematics with Applications, 2011.
    "tsit5": Method(
        (0, 0.161, 0.327, 0.9, 0.9800255409045097, 1),
        (
            (),
            (0.161,),
            (-0.008480655492356989, 0.335480655492357),
            (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
            (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
            (
                5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401,
                -0.028269050394068383,
            ),
        ),
        (
            0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081,
            2.324710524099774,
        ),
        error=(
            -0.00178001105222577714, -0.0008164344596567469, 0.007880878010261995,
            -0.1447110071732629, 0.5823571654525552, -0.45808210592918697, 1 / 66,
        ),
        dense=(
            _product(
                -1.0530884977290216,
                (0, 1),
                (-1.3299890189751412, 1),
                (0.7139816917074209, -1.4364028541716351, 1),
            ),
            _product(0.1017, (0, 0, 1), (1.2949852507374631, -2.1966568338249754, 1)),
            _product(
                2.490627285651252793, (0, 0, 1), (1.57803468208092486, -2.38535645472061657, 1)
            ),
            _product(
                -16.54810288924490272,
                (0, 0, 1),
                (-1.21712927295533244, 1),
                (-0.61620406037800089, 1),
            ),
            _product(
                47.37952196281928122,
                (0, 0, 1),
                (-1.203071208372362603, 1),
                (-0.658047292653547382, 1),
            ),
            _product(-34.87065786149660974, (0, 0, 1), (-1.2, 1), (-2 / 3, 1)),
            _product(2.5, (0, 0, 1), (-1, 1), (-0.6, 1)),
        ),
        order=5,
    ),
    # E. Hairer and G. Wanner, "Solving Ordinary Differential Equations II", 2nd ed. 1996, IV.7:
    # RODAS, stiffly accurate and L-stable, of order 4(3).
    "rodas4": Method(
        (0, 0.386, 0.21, 0.63, 1, 1),
        (
            (),
            (1.544,),
            (0.9466785280815826, 0.2557011698983284),
            (3.314825187068521, 2.896124015972201, 0.9986419139977817),
            _RODAS,
            (*_RODAS, 1),
        ),
        (*_RODAS, 1, 1),
        error=(0, 0, 0, 0, 0, 1, 0),
        dense=_blended(
            (*_RODAS, 1, 1),
            (
                10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823,
                1.025137723295662, 0,
            ),
            (
                -0.6762803392806898, 6.087714651680015, 16.43084320892478, 24.76722511418386,
                -6.594389125716872, 0,
            ),
        ),
        order=4,
        diagonal=0.25,
        coupling=(
            (),
            (-5.6688,),
            (-2.430093356833875, -0.2063599157091915),
            (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
            (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160),
            (
                8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136,
                -6.058818238834054,
            ),
        ),
        in_time=(0.25, -0.1043, 0.1035, -0.0362, 0, 0),
    ),
}  # fmt: skip


def combined(weights: Sequence[Any], stages: Sequence[Any]) -> Any:
    """sum(w k), without the terms of weight zero."""
    total: Any = 0.0
    for w, k in zip(weights, stages, strict=True):
        if not isinstance(w, (int, float)) or w != 0:
            total = k * w if type(total) is float else total + k * w
    return total


class Path:
    """y between the ends of the steps: for each a function of time."""

    def __init__(self) -> None:
        self.sign = 0.0
        self.ends: list[float] = []
        self.pieces: list[Callable[[Any], Any]] = []

    def add(self, start: float, end: float, piece: Callable[[Any], Any]) -> None:
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
        count = 1 if step_size is None else steps_between(a, b, step_size)
        h = (end - t) / count
        for i in range(count):
            now = t + i * h
            new, stages = method.step(f, now, y, h)
            if path is not None:
                path.add(now, now + h, _hermite(now, h, y, stages[0], new, f(now + h, new)))
            y = new
        require(np.isfinite(array_of(y)), not_finite, b)
        out.append(y)
    return out


def steps_between(a: float, b: float, step_size: float) -> int:
    """How many equal steps of at most this length it takes."""
    return max(1, math.ceil(abs(b - a) / step_size - 1e-9))


def not_finite(t: Any) -> GradError:
    return GradError(
        f"odeint: the solution is not finite at t={t:g}. The steps may be too long for the "
        "method (step_size=), or the solution grows without bound."
    )


# ---- chosen steps --------------------------------------------------------------------------


@dataclass
class Control:
    """How long a step may be: its error, relative to the tolerances, is to be about 1 at most.

    Its numbers need not be known: they may be those of a trace, or of a batch.
    """

    method: Method
    rtol: float
    atol: float
    max_steps: int

    def error(self, change: Any, y: Any, new: Any) -> Any:
        """The root mean square of the error estimate in units of the tolerance."""
        scale = self.atol + self.rtol * np.maximum(np.abs(y), np.abs(new))
        return _rms(change / scale)

    def factor(self, error: Any) -> Any:
        """By how much the next step is longer, or this one shorter; an error of nan shortens it."""
        usual = 0.9 * np.maximum(error, 1e-10) ** (-1 / self.method.order)
        return np.where(np.isfinite(error), np.minimum(10.0, np.maximum(0.2, usual)), 0.2)

    def first(self, f: Derivative, t: Any, y: Any, slope: Any, way: Any) -> Any:
        """The length of the first step; `way` is how far it is to the end, with its sign."""
        scale = self.atol + self.rtol * np.abs(y)
        d0, d1 = _rms(y / scale), _rms(slope / scale)
        blind = (d0 < 1e-5) | (d1 < 1e-5)
        h = np.where(blind, 1e-6, 0.01 * d0 / np.where(blind, 1.0, d1))
        h = np.minimum(h, np.abs(way))
        signed = np.copysign(h, way)
        ahead = f(t + signed, y + (signed * slope).astype(y.dtype))
        d2 = _rms((ahead - slope) / scale) / h
        steepest = np.maximum(d1, d2)
        flat = steepest <= 1e-15
        longer = np.where(
            flat,
            np.maximum(1e-6, h * 1e-3),
            (0.01 / np.where(flat, 1.0, steepest)) ** (1 / self.method.order),
        )
        longer = np.minimum(np.minimum(100 * h, longer), np.abs(way))
        return np.where(np.isfinite(d2), longer, h * 1e-3)

    def trial(
        self, f: Derivative, t: Any, y: Any, h: Any, after: Any, slope: Any, slopes: Any
    ) -> tuple[Any, list[Any], Any]:
        """y after a step of signed length h, the stages and the slope at its end, and the error."""
        new, stages = self.method.step(f, t, y, h, slope, slopes)
        stages.append(f(after, new))
        change = combined(self.method.error, [array_of(k) for k in stages]) * array_of(h)
        return new, stages, self.error(change, array_of(y), array_of(new))

    def too_short(self, h: Any, t: Any) -> Any:
        """Whether a step of length h is lost in the rounding of t."""
        return ~(h >= 10 * EPSILON * np.abs(t))


EPSILON = float(np.finfo(np.float64).eps)


def _rms(x: Any) -> Any:
    return np.sqrt(np.mean(np.abs(x) ** 2)) if x.size else np.float64(0.0)


def chosen(
    control: Control, f: Derivative, slopes: Any, y: Any, times: Sequence[Any],
    grid: Sequence[float], path: Path | None = None,
) -> list[Any]:  # fmt: skip
    """y at all times, in steps as long as the tolerances allow; between them by dense output.

    `times` may be tensors, by which one differentiates; `grid` are their numbers. `slopes(t, y)`
    are the derivatives of f by y and by t, for methods that ask for them. `path`, if one is wanted,
    learns y in between.
    """
    out = [y]
    start, end = grid[0], grid[-1]
    sign = math.copysign(1.0, end - start)
    at, slope = start, f(times[0], y)
    check_start(array_of(slope), start)
    flow = lambda t, y: array_of(f(t, like(y, slope)))
    h = float(control.first(flow, at, array_of(y), array_of(slope), end - start))
    steps = 0
    while len(out) < len(grid):
        left = abs(end - at)
        steps += 1
        if steps > control.max_steps or control.too_short(h, at):
            raise stuck(control, at, end, h, steps - 1)
        h = min(h, left)
        t = times[0] + (at - start)
        after = end if h == left else at + sign * h
        new, stages, error = control.trial(
            f, t, y, sign * h, times[0] + (after - start), slope, slopes
        )
        length, h = sign * h, h * float(control.factor(error))
        if not error <= 1:  # nan as well: out of where f is defined
            continue
        piece = Piece(control.method, t, length, y, stages)
        while len(out) < len(grid) and sign * (grid[len(out)] - after) <= 0:
            out.append(piece(times[len(out)]))
        if path is not None:
            path.add(at, after, piece)
        y, slope, at = new, stages[-1], after
    return out


@dataclass(frozen=True)
class Piece:
    """y within a step, by the method's dense output."""

    method: Method
    start: Any
    length: float
    before: Any
    stages: Sequence[Any]

    def __call__(self, t: Any) -> Any:
        return self.method.between(
            (t - self.start) / self.length, self.before, self.length, self.stages
        )


def like(y: Any, other: Any) -> Any:
    """An array as a tensor, if another value is one."""
    return wrap(y) if isinstance(other, Tensor) else y


def check_start(slope: Any, t: Any) -> None:
    require(np.isfinite(slope), _undefined, t)


def _undefined(t: Any) -> GradError:
    return GradError(
        f"odeint: f(t, y0) is not finite at the first time, t={np.ravel(t)[0]:g}. Is it defined at "
        "y0?"
    )


def stuck(control: Control, t: Any, end: Any, h: Any, steps: Any, more: str = "") -> GradError:
    """The error of a solution that did not reach the end, or of the first such of a batch."""
    everything = np.broadcast_arrays(*map(np.asarray, (t, end, h, steps)))
    rows = zip(*map(np.ravel, everything), strict=True)
    t, end, h, steps = next(row for row in rows if row[0] != row[1])
    if steps >= control.max_steps:
        goal = f"t={end:g}, only " if math.isfinite(end) else ""
        trouble = f"{control.max_steps} steps did not reach {goal}t={t:g}"
        cure = "Allow more (max_steps=), loosen rtol and atol, or"
    else:
        trouble = f"no step is short enough at t={t:g} (length {h:.1e})"
        cure = "The solution may grow without bound or leave where f is defined; or"
    return GradError(
        f"odeint: {trouble}. {more}{cure} choose a method for stiff equations, such as "
        'method="rodas4", or SciPy\'s "LSODA" or "BDF".'
    )
