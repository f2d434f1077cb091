"""Numerical differentiation: difference quotients, with the step chosen to balance two errors.

A difference quotient with step h errs twice. *Truncation*: Taylor's series is cut, which costs
|f''| h/2 for forward differences and |f'''| h²/6 for central ones. *Rounding*: f is known to a
relative accuracy of ε (2.2e-16 in float64), and the quotient divides that error by h. The sum is
least near

    forward    h = ε^(1/2) · scale     error about ε^(1/2) = 1.5e-8
    central    h = ε^(1/3) · scale     error about ε^(2/3) = 3.7e-11

where `scale` is the length over which f changes: max(|x|, 1) here, for want of better knowledge
(Press et al., Numerical Recipes, section 5.7). Each partial derivative costs one evaluation of f
more (forward) or two (central): this is for checking derivatives, not for computing with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from wengert.errors import GradError
from wengert.tensor import Tensor, wrap

Method = Literal["central", "forward"]

_POWERS = {"forward": 1 / 2, "central": 1 / 3}


def step_size(x: Any, method: Method = "central") -> np.ndarray:
    """The step for each element of x: ε^(1/3) max(|x|, 1) for central differences.

    Rounded so that x + h and x differ by exactly h: otherwise the quotient would be off by the
    rounding of x + h, divided by h.

    >>> float(step_size(0.0))
    6.055454452393343e-06
    """
    x = np.asarray(x, np.float64)
    h = np.finfo(np.float64).eps ** _exponent(method) * np.maximum(np.abs(x), 1.0)
    return np.asarray((x + h) - x)


def _exponent(method: str) -> float:
    if method not in _POWERS:
        raise ValueError(f"method={method!r} is not known; choose 'central' or 'forward'")
    return _POWERS[method]


def gradient(
    f: Callable[[Any], Any], x: Any, *, method: Method = "central", step: float | None = None
) -> np.ndarray:
    """The gradient of a function of one array at x, by differences in each coordinate.

    central: (f(x + h eᵢ) - f(x - h eᵢ)) / 2h, with 2n evaluations for n elements;
    forward: (f(x + h eᵢ) - f(x)) / h, with n + 1. `step` replaces the chosen h. The work is done in
    float64; f gets a float64 array of x's shape (a Tensor, if x is one) and returns one number. The
    result has x's shape.

    >>> import wengert as wg
    >>> f = lambda x: np.log(x[0]) + x[0] * x[1] - np.sin(x[1])
    >>> wg.numeric.gradient(f, [2.0, 5.0]).round(6)
    array([5.5     , 1.716338])
    """
    if step is not None and not (np.isfinite(step) and step > 0):
        raise ValueError(f"step={step!r} is not a positive number")
    of_tensors = isinstance(x, Tensor)
    array = np.asarray(x.detach()._array if of_tensors else x)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"gradient works on real arrays, got dtype {array.dtype}")
    point = array.astype(np.float64)
    steps = step_size(point, method) if step is None else np.full(point.shape, float(step))

    def value(p: np.ndarray) -> float:
        return _number(f(wrap(p.copy()) if of_tensors else p.copy()))

    slopes = np.empty(point.shape)
    base = value(point) if _exponent(method) == 1 / 2 else 0.0
    for i in np.ndindex(point.shape):
        h = steps[i]
        moved = point.copy()
        moved[i] = point[i] + h
        ahead = value(moved)
        if method == "forward":
            slopes[i] = (ahead - base) / h
        else:
            moved[i] = point[i] - h
            slopes[i] = (ahead - value(moved)) / (2 * h)
    return slopes


def _number(result: Any) -> float:
    array = np.asarray(result.detach()._array if isinstance(result, Tensor) else result)
    if array.size != 1 or array.dtype.kind not in "biuf":
        raise GradError(
            f"gradient needs a function with one real number as result, but it returned shape "
            f"{array.shape} and dtype {array.dtype}. Reduce it, e.g. with .sum()."
        )
    return float(array.reshape(()))
