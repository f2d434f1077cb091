"""`scipy.integrate` on tensors: integrals of samples and of functions, differential equations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from wengert.dispatch import as_array
from wengert.scipy.meaning import bare, meaning, otherwise
from wengert.scipy.standard import holds_arrays
from wengert.solvers.ode import odeint as solve


@meaning("integrate")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples by straight lines."""
    return np.trapezoid(as_array(y), x, dx, axis)


@meaning("integrate")
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """The integrals up to each sample, by straight lines."""
    y = np.moveaxis(as_array(y), axis, -1)
    width = dx if x is None else np.diff(_along(x, y, axis))
    sums = np.cumsum(width * (y[..., 1:] + y[..., :-1]) / 2, axis=-1)
    if initial is not None:
        if initial != 0:
            raise ValueError("`initial` must be `None` or `0`.")
        sums = np.concatenate([np.zeros_like(sums[..., :1]), sums], axis=-1)
    return np.moveaxis(sums, -1, axis)


def _along(x: Any, y: Any, axis: int) -> Any:
    """The places of samples along the last axis, to which the samples' own was moved."""
    x = as_array(x)
    return np.moveaxis(x, axis, -1) if len(x.shape) == len(y.shape) > 1 else x


@meaning("integrate")
def simpson(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples by parabolas; with an even number of them the last interval is
    corrected (Cartwright, 2017).

    >>> import wengert as wg
    >>> simpson(wg.tensor([0.0, 1.0, 4.0, 9.0]))
    tensor(9.)
    """
    y = np.moveaxis(as_array(y), axis, -1)
    n = y.shape[-1]
    if x is None:
        h = dx * np.ones(n - 1, y.dtype if y.dtype.kind == "f" else None)
    else:
        h = np.diff(_along(x, y, axis))
    if n < 3:
        return np.sum(h * (y[..., 1:] + y[..., :-1]) / 2, axis=-1)
    last: Any = 0.0
    if n % 2 == 0:
        a, b = h[..., -2], h[..., -1]
        last = (
            (2 * b * b + 3 * a * b) / (6 * (a + b)) * y[..., -1]
            + (b * b + 3 * a * b) / (6 * a) * y[..., -2]
            - b**3 / (6 * a * (a + b)) * y[..., -3]
        )
        y, h = y[..., :-1], h[..., :-1]
    left, right = h[..., ::2], h[..., 1::2]
    both = left + right
    parts = (both / 6) * (
        y[..., :-2:2] * (2 - right / left)
        + y[..., 1:-1:2] * (both * both / (left * right))
        + y[..., 2::2] * (2 - left / right)
    )
    return np.sum(parts, axis=-1) + last


# ---- integrals of functions ----------------------------------------------------------------

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(21)


def quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), **options: Any) -> Any:
    """(the integral of func(x, *args) from a to b, an estimate of its error).

    SciPy's `quad` finds the intervals; on each of them Gauss's rule of 21 points is taken of
    `func` itself, so that the integral has derivatives by a, b, `args` and what `func` closes over,
    in both modes and of every order. Options are SciPy's; a `weight` is a factor of the function,
    between finite ends, and `wvar` has derivatives too.

    >>> import wengert as wg
    >>> slope = wg.grad(lambda k: quad(lambda x, k: np.exp(-k * x), 0, np.inf, args=(k,))[0])
    >>> round(slope(2.0), 6)
    -0.25
    """
    if not callable(func):
        raise TypeError(f"scipy.integrate.quad: func must be a function, not {func!r}")
    args = args if isinstance(args, tuple) else (args,)
    weight, wvar = options.pop("weight", None), options.pop("wvar", None)
    if unknown := options.keys() - {"epsabs", "epsrel", "limit", "points"}:
        raise TypeError(
            f"wengert.scipy.integrate.quad does not take {min(unknown)}=; it takes epsabs, epsrel, "
            "limit, points, weight and wvar."
        )
    if weight is not None:
        func = _weighted(func, a, b, weight, wvar)
    whole, low, high, scale = _finite(func, a, b, args)
    answer = scipy.integrate.quad(
        lambda s: float(bare(whole(s))), bare(low), bare(high), full_output=1, **options
    )
    value, error, record = answer[:3]
    if len(answer) > 3:
        raise scipy.integrate.IntegrationWarning(answer[3])
    if not holds_arrays([low, high, whole(0.5 * (bare(low) + bare(high)))]):
        return value, error
    n = record["last"]
    length = bare(high) - bare(low)
    parts = list(zip(record["alist"][:n], record["blist"][:n], strict=True))
    total: Any = 0.0
    for start, stop in parts or [(bare(low), bare(high))]:  # there are none from a to a
        middle, half = (start + stop) / 2, (stop - start) / 2
        shares = (middle + half * _NODES - bare(low)) / (length or 1.0)
        values = np.stack([as_array(whole(low + (high - low) * s)) for s in shares])
        total = total + np.sum(values * _WEIGHTS) * (abs(half / length) if length else 0.5)
    return total * scale, error


_FACTORS: dict[str, Callable[[Any], Any]] = {"cos": np.cos, "sin": np.sin}
"""SciPy's weights that are smooth, by name: functions of wvar x. Gauss's rule, by which derivatives
are taken, would be wrong in the third digit for those that are infinite at an end."""


def _weighted(func: Any, a: Any, b: Any, weight: str, wvar: Any) -> Any:
    factor = _FACTORS.get(weight)
    if factor is None or not all(math.isfinite(float(bare(end))) for end in (a, b)):
        raise TypeError(
            f"wengert.scipy.integrate.quad has no weight={weight!r} from {bare(a)} to {bare(b)}: "
            f"it has {' and '.join(_FACTORS)} between finite ends. Write the integral so that the "
            "weight is a factor of the function, or take SciPy's where nothing is differentiated."
        )
    return lambda x, *args: func(x, *args) * factor(wvar * x)


def _finite(func: Any, a: Any, b: Any, args: Any) -> tuple[Any, Any, Any, Any]:
    """A function on a finite interval with the same integral: (function, low, high, high - low)."""
    below, above = float(bare(a)) == -math.inf, float(bare(b)) == math.inf
    if below and above:

        def both(s: Any) -> Any:
            x = (1 - s) / s
            return (func(x, *args) + func(-x, *args)) / (s * s)

        return both, 0.0, 1.0, 1.0
    if above or below:
        end, sign = (a, 1.0) if above else (b, -1.0)

        def half(s: Any) -> Any:
            return func(end + sign * (1 - s) / s, *args) / (s * s)

        return half, 0.0, 1.0, 1.0
    return (lambda x: func(x, *args)), a, b, b - a


# ---- differential equations ----------------------------------------------------------------


def odeint(func: Callable[..., Any], y0: Any, t: Any, args: Any = (), **options: Any) -> Any:
    """y at the times t, where dy/dt = func(y, t, *args); SciPy's order of arguments.

    It is `wengert.odeint`, which says more; `rtol` and `atol` are its own, `tfirst` is SciPy's.
    """
    swapped = options.pop("tfirst", False)
    if unknown := options.keys() - {"rtol", "atol"}:
        raise TypeError(
            f"wengert.scipy.integrate.odeint does not take {min(unknown)}=; see wengert.odeint"
        )
    args = args if isinstance(args, tuple) else (args,)
    settings = {"rtol": 1.49012e-8, "atol": 1.49012e-8} | options

    def f(time: Any, y: Any, *args: Any) -> Any:
        return func(time, y, *args) if swapped else func(y, time, *args)

    return solve(f, y0, t, *args, **settings)


__getattr__ = otherwise("integrate")
