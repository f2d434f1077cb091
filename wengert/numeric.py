"""Numerical differentiation: difference quotients, with the step chosen to balance two errors.

A difference quotient with step h errs twice. *Truncation*: Taylor's series is cut, which costs
|f''| h/2 for forward differences and |f'''| h²/6 for central ones. *Rounding*: f is known to a
relative accuracy of ε (2.2e-16 in float64), and the quotient divides that error by h: at most
2 ε|f|/h and ε|f|/h. The sum of both is least at

    forward    h = 2 (ε |f| / |f''|)^(1/2)       ≈ ε^(1/2) · scale     error about ε^(1/2) = 1.5e-8
    central    h = (3 ε |f| / |f'''|)^(1/3)      ≈ ε^(1/3) · scale     error about ε^(2/3) = 3.7e-11

where `scale` is the length over which f changes. `step_size` takes it to be max(|x|, 1), for want
of better knowledge (Press et al., Numerical Recipes, section 5.7); `balanced_step` estimates |f|
and the higher derivative, and uses the formula as it stands. Two methods get around the dilemma:

    richardson  central differences with h, h/2, h/4, ... are extrapolated to h = 0 (Richardson
                1911); the entry of the tableau with the least estimated error counts (Ridders 1982)
    complex     Im f(x + ih) / h subtracts nothing, so h may be 1e-20 and the result is exact to
                rounding (Squire and Trapp 1998); f must be analytic and take complex numbers

For n inputs, central differences cost 2n evaluations of f and forward ones n + 1, where a gradient
by reverse mode costs a few: this is for checking derivatives, not for computing with them.
`autograd.gradcheck` stands on this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wengert.errors import GradError
from wengert.history.pictures import Picture
from wengert.tensor import Tensor, wrap

Method = Literal["central", "forward", "richardson", "complex"]
Line = Callable[[Any], np.ndarray]
"""f along a straight line through the point: its value at a distance, which may be imaginary."""

EPS = float(np.finfo(np.float64).eps)
LEVELS = 8
"""So many central differences enter an extrapolation, each with half the step of the last."""

_RELATIVE_STEP = {"forward": EPS ** (1 / 2), "central": EPS ** (1 / 3), "richardson": 1 / 16}
_COMPLEX_STEP = 1e-20


# ---- steps ---------------------------------------------------------------------------------


def step_size(x: Any, method: Method = "central") -> np.ndarray:
    """The step for each element of x: ε^(1/3) max(|x|, 1) for central differences.

    ε^(1/2) max(|x|, 1) for forward ones; max(|x|, 1)/16 where an extrapolation starts. These are
    rounded so that x + h and x differ by exactly h: otherwise the quotient would be off by the
    rounding of x + h, divided by h. A complex step, 1e-20 max(|x|, 1), is added to nothing.

    >>> float(step_size(0.0))
    6.055454452393343e-06
    """
    _check_method(method)
    x = np.asarray(x, np.float64)
    scale = np.maximum(np.abs(x), 1.0)
    if method == "complex":
        return np.asarray(_COMPLEX_STEP * scale)
    return _exact(x, _RELATIVE_STEP[method] * scale)


def balanced_step(
    f: Callable[[Any], Any], x: Any, method: Literal["central", "forward"] = "central"
) -> np.ndarray:
    """The step for each element of x at which truncation and rounding balance, both estimated.

    central: (3 ε |f| / |f'''|)^(1/3), with f''' from four values of f around x, at distances
    ε^(1/5) max(|x|, 1) apart; forward: 2 (ε |f| / |f''|)^(1/2), with f'' from three. |f| is the
    largest of these values. No step exceeds max(|x|, 1)/10, nor falls below 1e-3 of the one that
    `step_size` gives, which stands where f is zero throughout. f may return an array: its largest
    entries count. Give the result as `step=` to `gradient`, `jacobian` or `estimate`.

    sin(100 x) changes a hundred times as fast as x, which the quick rule does not know:

    >>> bool(balanced_step(lambda x: np.sin(100 * x), 1.0) < step_size(1.0) / 10)
    True
    """
    _check_method(method)
    if method not in ("central", "forward"):
        raise ValueError(f"{method!r} differences have no step to balance; see step_size")
    function = _Function(f, x)
    quick = step_size(function.point, method)
    steps = np.empty_like(quick)
    for i, line in function.lines():
        scale = max(abs(function.point[i]), 1.0)
        h = _balance(line, scale, method) or quick[i]
        steps[i] = min(max(h, 1e-3 * quick[i]), 0.1 * scale)
    return _exact(function.point, steps)


def _balance(line: Line, scale: float, method: str) -> float:
    """The step at which the two errors along a line balance; 0 where nothing is known."""
    k = EPS ** (1 / 5 if method == "central" else 1 / 4) * scale
    if method == "central":
        values = [line(t) for t in (-2 * k, -k, k, 2 * k)]
        higher = (values[3] - 2 * values[2] + 2 * values[1] - values[0]) / (2 * k**3)
    else:
        values = [line(t) for t in (-k, 0.0, k)]
        higher = (values[2] - 2 * values[1] + values[0]) / k**2
    size, slope = _largest(*values), _largest(higher)
    if not (math.isfinite(size) and math.isfinite(slope) and size):
        return 0.0
    # A derivative this small is the rounding of its own difference quotient.
    slope = max(slope, 4 * EPS * size / (2 * k**3 if method == "central" else k**2))
    if method == "central":
        return float((3 * EPS * size / slope) ** (1 / 3))
    return 2 * math.sqrt(EPS * size / slope)


def _exact(x: np.ndarray, h: Any) -> np.ndarray:
    return np.asarray((x + h) - x)


def _largest(*arrays: Any) -> float:
    return max((float(np.abs(a).max(initial=0.0)) for a in arrays), default=0.0)


def _check_method(method: str) -> None:
    if method not in (*_RELATIVE_STEP, "complex"):
        raise ValueError(
            f"method={method!r} is not known; choose 'central' or 'forward', 'richardson' or "
            "'complex'"
        )


# ---- quotients along a line ----------------------------------------------------------------


def forward(line: Line, h: float, base: Any) -> Any:
    """(f(x + h) - f(x)) / h, where `base` is f(x)."""
    return (line(h) - base) / h


def central(line: Line, h: float) -> Any:
    """(f(x + h) - f(x - h)) / 2h."""
    return (line(h) - line(-h)) / (2 * h)


def complex_step(line: Line, h: float) -> Any:
    """Im f(x + ih) / h."""
    value = line(1j * h)
    if not np.iscomplexobj(value):
        raise GradError(
            "the complex-step method gave f a complex number, and f returned a real one: something "
            "in it drops the imaginary part (abs, real, a comparison, an array made real). Write f "
            "with analytic functions, or use method='richardson'."
        )
    return value.imag / h


def richardson(line: Line, h: float) -> tuple[Any, Any]:
    """Central differences with h, h/2, ..., extrapolated to 0, and an estimate of the error.

        T[i, 0] = central(h / 2^i)
        T[i, j] = T[i, j-1] + (T[i, j-1] - T[i-1, j-1]) / (4^j - 1)

    Each column cancels one more even power of h. The error of an entry is taken to be its distance
    from the two it is made of, plus the rounding of its differences; entry by entry of f's result
    the least counts. Steps that lead outside the domain of f (NaN) do not.
    """
    value, error = np.asarray(np.nan), np.asarray(np.inf)
    above: list[Any] = []
    with np.errstate(all="ignore"):  # a first step may lead out of the domain of f
        for i in range(LEVELS):
            k = h / 2**i
            ahead, behind = line(k), line(-k)
            row = [(ahead - behind) / (2 * k)]
            noise = EPS * np.maximum(np.abs(ahead), np.abs(behind)) / k
            for j, before in enumerate(above, start=1):
                estimate = row[-1] + (row[-1] - before) / (4**j - 1)
                doubt = noise + np.maximum(np.abs(estimate - row[-1]), np.abs(estimate - before))
                row.append(estimate)
                better = doubt < error  # False for NaN
                value, error = np.where(better, estimate, value), np.where(better, doubt, error)
            above = row
    return value, error


# ---- functions of arrays -------------------------------------------------------------------


class _Function:
    """f as a function of arrays around a point, counting how often it is evaluated."""

    def __init__(self, f: Callable[[Any], Any], x: Any) -> None:
        self.f = f
        self.of_tensors = isinstance(x, Tensor)
        array = np.asarray(x.detach()._array if isinstance(x, Tensor) else x)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"numerical derivatives work on real arrays, got dtype {array.dtype}")
        self.point = array.astype(np.float64)
        self.evaluations = 0

    def __call__(self, point: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        result = self.f(wrap(point) if self.of_tensors else point)
        array = np.asarray(result.detach()._array if isinstance(result, Tensor) else result)
        if array.dtype.kind not in "biufc":
            raise GradError(
                f"numerical derivatives need a function that returns numbers, but it returned "
                f"{type(result).__name__}"
            )
        return np.array(array, np.complex128 if array.dtype.kind == "c" else np.float64)

    def line(self, i: tuple[int, ...]) -> Line:
        """f as entry i moves away from the point, by a real or imaginary distance."""

        def along(t: Any) -> np.ndarray:
            moved = self.point.astype(np.result_type(t, np.float64))
            moved[i] = self.point[i] + t
            return self(moved)

        return along

    def lines(self) -> Iterator[tuple[tuple[int, ...], Line]]:
        for i in np.ndindex(self.point.shape):
            yield i, self.line(i)

    def steps(self, method: Method, step: Any) -> np.ndarray:
        if step is None:
            return step_size(self.point, method)
        steps = np.asarray(step, np.float64)
        if not (np.isfinite(steps).all() and (steps > 0).all()):
            raise ValueError(f"step={step!r} is not a positive number")
        return np.broadcast_to(steps, self.point.shape)

    def columns(self, method: Method, step: Any) -> Iterator[Any]:
        """The derivative by each entry in turn."""
        _check_method(method)
        steps = self.steps(method, step)
        base = self(self.point.copy()) if method == "forward" else None
        for i, line in self.lines():
            if method == "richardson":
                yield richardson(line, steps[i])[0]
            else:
                yield _quotient(line, steps[i], method, base)


def _quotient(line: Line, h: float, method: Method, base: Any = None) -> Any:
    if method == "forward":
        return forward(line, h, line(0.0) if base is None else base)
    if method == "richardson":
        return richardson(line, h)[0]
    return (complex_step if method == "complex" else central)(line, h)


def gradient(
    f: Callable[[Any], Any], x: Any, *, method: Method = "central", step: Any = None
) -> np.ndarray:
    """The gradient of a function of one array at x, by differences in each coordinate.

    central: (f(x + h eᵢ) - f(x - h eᵢ)) / 2h, with 2n evaluations for n elements;
    forward: (f(x + h eᵢ) - f(x)) / h, with n + 1;
    richardson: central differences extrapolated to h = 0, with 16n;
    complex: Im f(x + i h eᵢ) / h, with n, for analytic f.

    `step`, a number or one for each element, replaces the chosen h. The work is done in float64; f
    gets a float64 array of x's shape (a Tensor, if x is one), complex128 for complex steps, and
    returns one number. The result has x's shape.

    >>> import wengert as wg
    >>> f = lambda x: np.log(x[0]) + x[0] * x[1] - np.sin(x[1])
    >>> wg.numeric.gradient(f, [2.0, 5.0]).round(6)
    array([5.5     , 1.716338])
    """
    function = _Function(f, x)
    slopes = [_number(column) for column in function.columns(method, step)]
    return np.array(slopes, np.float64).reshape(function.point.shape)


def jacobian(
    f: Callable[[Any], Any], x: Any, *, method: Method = "central", step: Any = None
) -> np.ndarray:
    """The Jacobian of a function from an array to an array: shape f(x).shape + x.shape.

    Methods, steps and costs are those of `gradient`.

    >>> jacobian(lambda x: np.array([x[0] * x[1], x[0] + x[1]]), [2.0, 5.0]).round(6)
    array([[5., 2.],
           [1., 1.]])
    """
    function = _Function(f, x)
    columns = list(function.columns(method, step))
    return _assembled(columns, function)


def _assembled(columns: Sequence[Any], function: _Function) -> np.ndarray:
    if not columns:
        return np.empty((*function(function.point.copy()).shape, *function.point.shape))
    return np.stack(columns, -1).reshape((*columns[0].shape, *function.point.shape))


def _number(result: np.ndarray) -> float:
    if result.size != 1 or result.dtype.kind == "c":
        raise GradError(
            f"gradient needs a function with one real number as result, but it returned shape "
            f"{result.shape} and dtype {result.dtype}. Reduce it, e.g. with .sum(), or use "
            "wengert.numeric.jacobian."
        )
    return float(result.reshape(()))


# ---- with estimates of the error -----------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """A numerical derivative, its estimated absolute error, the steps, and what it cost."""

    value: np.ndarray  # the derivative
    error: np.ndarray
    step: np.ndarray  # the step of each entry
    evaluations: int  # how often the function was called


def estimate(
    f: Callable[[Any], Any], x: Any, *, method: Method = "richardson", step: Any = None
) -> Estimate:
    """The Jacobian of f at x with an estimate of its error, entry by entry.

    forward     |D(2h) - D(h)| + 2 ε|f|/h, as D is off linearly in h     2n + 1 evaluations
    central     |D(2h) - D(h)|/3 + ε|f|/h, as it is quadratically        4n
    richardson  what `richardson` says of its extrapolation              16n
    complex     4 ε|D|, as nothing is subtracted                         n

    Values and errors have shape f(x).shape + x.shape. The estimates hold for functions that are
    smooth within the step; at a kink the one of forward differences, say, is about their error.

    >>> found = estimate(np.exp, 1.0)
    >>> bool(abs(found.value - np.e) <= found.error < 1e-11), found.evaluations
    (True, 16)
    """
    _check_method(method)
    function = _Function(f, x)
    steps = function.steps(method, step)
    base = function(function.point.copy()) if method == "forward" else None
    pairs = [_with_error(line, steps[i], method, base) for i, line in function.lines()]
    values = _assembled([value for value, _ in pairs], function)
    errors = _assembled([error for _, error in pairs], function)
    return Estimate(values, errors, steps, function.evaluations)


def _with_error(line: Line, h: float, method: Method, base: Any) -> tuple[Any, Any]:
    if method == "richardson":
        return richardson(line, h)
    if method == "complex":
        value = complex_step(line, h)
        return value, 4 * EPS * np.abs(value)
    if method == "forward":
        ahead = line(h)
        value = (ahead - base) / h
        twice = (line(2 * h) - base) / (2 * h)
        return value, np.abs(twice - value) + 2 * EPS * np.abs(ahead) / h
    ahead = line(h)
    value = (ahead - line(-h)) / (2 * h)
    return value, np.abs(central(line, 2 * h) - value) / 3 + EPS * np.abs(ahead) / h


# ---- the error as a function of the step ---------------------------------------------------


@dataclass(frozen=True)
class ErrorCurve(Picture):
    """How far a difference quotient is from `exact`, for many steps.

    `chosen` is the step that would be used, `best` the index of the step with the least error.
    `print` shows a line for each step, of many steps one for each power of ten; `plot` draws them.
    """

    method: Method  # the formula of the quotient
    exact: Any
    chosen: float
    steps: np.ndarray
    values: np.ndarray  # the quotient for each step
    errors: np.ndarray  # how far each of them is from `exact`

    @property
    def best(self) -> int:
        errors = np.where(np.isnan(self.errors), np.inf, self.errors)
        return int(np.argmin(errors))

    @property
    def best_step(self) -> float:
        return float(self.steps[self.best])

    @property
    def best_error(self) -> float:
        return float(self.errors[self.best])

    def __str__(self) -> str:
        nearest = int(np.argmin(np.abs(np.log(self.steps / self.chosen))))
        lines = [f"{'step':>10}  {self.method + ' difference':<26} {'error':>9}"]
        for k, (h, value, error) in enumerate(
            zip(self.steps, self.values, self.errors, strict=True)
        ):
            if len(self.steps) > MOST_LINES and k not in (self.best, nearest) and not _round(h):
                continue
            notes = ["least error"] * (k == self.best) + ["the step used"] * (k == nearest)
            note = f"  <- {', '.join(notes)}" if notes else ""
            lines.append(f"{h:10.1e}  {_shown(value):<26} {error:9.1e}{note}")
        return "\n".join(lines)

    def figure(self) -> Any:
        """The plot, which notebooks show."""
        from matplotlib.figure import Figure

        return self.plot(axes=Figure(figsize=(6, 4), layout="constrained").subplots()).figure

    def plot(self, file: Any = None, axes: Any = None) -> Any:
        """Draw error against step, both logarithmic, the minimum marked; matplotlib's axes.

        With `file` the picture is written there and its figure closed.
        """
        import matplotlib.pyplot as plt

        if axes is None:
            _, axes = plt.subplots(figsize=(6, 4), layout="constrained")
        seen = np.maximum(self.errors, np.finfo(float).tiny)
        axes.loglog(self.steps, seen, ".-", linewidth=1, label=f"{self.method} differences")
        axes.plot(self.best_step, max(self.best_error, np.finfo(float).tiny), "o", color="C3",
                  label=f"least: {self.best_error:.1e} at h = {self.best_step:.1e}")  # fmt: skip
        axes.axvline(self.chosen, color="0.6", linestyle="--", linewidth=1,
                     label=f"chosen: h = {self.chosen:.1e}")  # fmt: skip
        axes.set(xlabel="step h", ylabel="error of the derivative")
        axes.legend(fontsize="small")
        if file is not None:
            axes.figure.savefig(file, dpi=120)
            plt.close(axes.figure)
        return axes


MOST_LINES = 30


def _round(h: float) -> bool:
    """Whether a step is a power of ten."""
    return math.isclose(math.log10(h), round(math.log10(h)), abs_tol=1e-9)


def _shown(value: Any) -> str:
    return f"{complex(value):.12g}" if np.iscomplexobj(value) else f"{float(value):.15g}"


def curve(
    slope: Callable[[float], Any], exact: Any, steps: Any, chosen: float, method: Method
) -> ErrorCurve:
    """The error curve of `slope`, a difference quotient as a function of its step."""
    steps = np.asarray(steps, np.float64)
    with np.errstate(all="ignore"):  # large steps may lead out of the domain of f
        values = np.array([slope(float(h)) for h in steps])
        return ErrorCurve(method, exact, chosen, steps, values, np.abs(values - exact))


def error_curve(
    f: Callable[[Any], Any],
    x: Any,
    exact: float | None = None,
    *,
    method: Method = "central",
    at: int | tuple[int, ...] | None = None,
    steps: Any = None,
) -> ErrorCurve:
    """The error of difference quotients for steps from 1 to 1e-16: the dilemma as numbers.

    f returns one number; x is a number, or an array and `at` the index of the entry that moves.
    `exact` is the true derivative, by Richardson's extrapolation if it is not given (errors below
    those of the extrapolation, about 1e-13 relatively, then mean little). `steps` replaces the
    default, three to a decade.

    >>> dilemma = error_curve(np.exp, 1.0, exact=np.e)
    >>> 1e-6 < dilemma.best_step < 1e-4, dilemma.best_error < 1e-9
    (True, True)
    """
    _check_method(method)
    function = _Function(f, x)
    index = () if at is None else at if isinstance(at, tuple) else (at,)
    if np.ndim(function.point[index]) != 0:
        raise ValueError(
            f"error_curve moves one entry, but x has shape {function.point.shape} and at={at}. "
            "Say which entry, e.g. at=0."
        )
    line = function.line(index)
    scale = max(abs(float(function.point[index])), 1.0)
    if exact is None:
        exact = _number(richardson(line, float(step_size(function.point, "richardson")[index]))[0])
    if steps is None:
        steps = scale * 10.0 ** -(np.arange(49) / 3)
    chosen = float(step_size(function.point, method)[index])
    return curve(lambda h: _number(_quotient(line, h, method)), exact, steps, chosen, method)
