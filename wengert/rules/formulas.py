"""Special functions as formulas of NumPy's functions.

SciPy's go from number to number. A formula is as long for every number, without a branch, so that
the compiler makes loops of it that work on whole vectors; of few numbers it is about as fast.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.dispatch import quietly

# erfinv(x) = x P(w) with w = -log(1 - x²) for w < 5, and x Q(sqrt(w)) from there on: so erfinv
# grows as sqrt(w). P and Q were fitted to thirty digits of erfinv (Lawson's iteration), with
# relative errors of 9e-8; float32 has w < 16.7, but for 1, where erfinv is infinite.
_NEAR = (
    2.85351067219608e-08, 3.4372604318377853e-07, -3.528864226609585e-06,
    -4.396772510517621e-06, 0.00021860221750102937, -0.001253707567229867,
    -0.004177707713097334, 0.24664072692394257, 1.5014094114303589,
)  # fmt: skip
_FAR = (
    -0.0001503524399595335, 7.594737689942122e-05, 0.0012789820320904255,
    -0.0036498114932328463, 0.005771809723228216, -0.0076280622743070126,
    0.009434040635824203, 1.0016742944717407, 2.832977056503296,
)  # fmt: skip


@quietly  # infinite at -1 and 1, NaN beyond
def erfinv(x: Any) -> Any:
    """The inverse of erf, of float32.

    >>> bool(abs(erfinv(np.array([0.5], np.float32))[0] - 0.4769362762) < 1e-7)
    True
    """
    w = -np.log((1 - x) * (1 + x))
    near = _polynomial(np.minimum(w, 5) - 2.5, _NEAR)
    far = _polynomial(np.sqrt(np.clip(w, 5, 17)) - 3, _FAR)
    y = x * np.where(w < 5, near, far)
    return np.where(np.absolute(x) < 1, y, np.where(np.absolute(x) == 1, x * math.inf, math.nan))


def _polynomial(t: Any, coefficients: tuple[float, ...]) -> Any:
    total = t * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        total = total * t + c
    return total


_SHIFT = 10
_BERNOULLI = (7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6)  # B_14 to B_2


@quietly  # at the poles; of infinite x
def trigamma(x: Any) -> Any:
    """The derivative of digamma: the sum of (x + k)^-2 over k = 0, 1, ... (5.15.1).

    Ten terms are added up. The rest is the sum at x + 10, by the formula of Euler and Maclaurin
    (5.15.8). Below 1/2 it is reflected: psi'(x) + psi'(1 - x) = pi² / sin(pi x)² (5.15.6).

    >>> trigamma(np.array([1.0, 0.0]))
    array([1.64493407,        inf])
    """
    left = x < 0.5
    z = np.where(left, 1 - x, x)
    total = np.reciprocal(z * z)
    for k in range(1, _SHIFT):
        total = total + np.reciprocal((z + k) * (z + k))
    inverse = np.reciprocal(z + _SHIFT)
    square = inverse * inverse
    rest = inverse + square / 2 + inverse * square * _polynomial(square, _BERNOULLI)
    total = total + rest
    sine = np.sin((x - np.round(x)) * math.pi)
    return np.where(left, math.pi**2 / (sine * sine) - total, total)
