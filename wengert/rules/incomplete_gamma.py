"""Partial moments of log t under the gamma distribution: what the incomplete gamma function's
derivatives by its first argument are made of.

With p(t) = t^(a-1) e^-t / Gamma(a), psi the digamma function and L = log x - psi(a),

    M_n(a, x) = int_0^x p(t) (log t - psi(a))^n dt,    M_0 = P(a, x),    M_1 = dP/da,

and further derivatives lead to further moments: the set is closed (`rules/special.py`). SciPy has
M_0 only. Here t = x e^(-v) below the mean and t = x e^v above it, so that in both cases

    int p(t) (...)^n dt = x p(x) int_0^oo exp(h(v)) (L -+ v)^n dv

with an exponent h that is concave and falls from h(0) = 0: the tail that is integrated is the
smaller one, and its relative precision does not suffer from the other.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

_DROP = 40.0  # exp(-40) is below the precision of double
_NODES = 32
_BLOCK = 1 << 10
_SERIES_BELOW = 2.0  # the series alternates: it loses exp(2 x) in precision
_TERMS = 30  # 2^30 / 30! < 1e-23


def moment(a: Any, x: Any, n: int) -> Any:
    """M_n(a, x), element by element, in double precision; NaN unless a > 0 and x >= 0.

    >>> float(moment(1.0, np.inf, 2).round(6))  # the variance of log t: pi^2 / 6
    1.644934
    """
    from scipy import special

    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    if n == 0:
        return special.gammainc(a, x)
    result = np.full(a.shape, np.nan)
    fine = (a > 0) & np.isfinite(a)
    result[fine & (x == 0)] = 0.0
    whole = fine & (x == np.inf)
    result[whole] = _complete(a[whole], n)
    inside = fine & (x > 0) & (x < np.inf)
    above = inside & (x > a)
    series = inside & ~above & (a <= _SERIES_BELOW)
    below = inside & ~above & ~series
    result[series] = _series(a[series], x[series], n)
    result[below] = _integral(a[below], x[below], n, -1)
    result[above] = _complete(a[above], n) - _integral(a[above], x[above], n, 1)
    return result[()]


def _complete(a: Any, n: int) -> Any:
    """M_n(a, oo): the central moments of log t, from its cumulants, which are polygammas."""
    from scipy import special

    moments = [np.ones_like(a), np.zeros_like(a)]
    for m in range(2, n + 1):
        moments.append(
            sum(
                math.comb(m - 1, k - 1) * special.polygamma(k - 1, a) * moments[m - k]
                for k in range(2, m + 1)
            )
        )
    return moments[n]


def _scale(a: Any, x: Any) -> tuple[Any, Any]:
    """x p(x), and log x - psi(a)."""
    from scipy import special

    return np.exp(a * np.log(x) - x - special.gammaln(a)), np.log(x) - special.psi(a)


def _series(a: Any, x: Any, n: int) -> Any:
    """exp(-t) expanded in powers of t = x e^(-v), each term integrated by parts n times."""
    scale, start = _scale(a, x)
    total, factor = np.zeros_like(a), np.ones_like(a)
    for k in range(_TERMS):
        term = 1 / (a + k)
        for m in range(1, n + 1):
            term = (start**m - m * term) / (a + k)
        total += factor * term
        factor *= -x / (k + 1)
    return scale * np.exp(x) * total


def _integral(a: Any, x: Any, n: int, sign: int) -> Any:
    """The part below x (sign -1) or above it (+1), by Gauss's rule up to where exp(h) vanishes."""
    total = np.empty_like(a)
    for first in range(0, len(a), _BLOCK):
        part = slice(first, first + _BLOCK)
        total[part] = _quadrature(a[part], x[part], n, sign)
    return total


def _quadrature(a: Any, x: Any, n: int, sign: int) -> Any:
    """The quadrature of so few elements that they stay in cache, with a row of nodes for each."""
    scale, start = _scale(a, x)
    end = _end(a, x, sign)
    nodes, weights = _gauss()
    v = (sign * end)[:, None] * nodes
    # exp(v) - 1 has an absolute error of eps, which x multiplies, and costs a third of expm1.
    h = np.exp(v) - 1 if x.max(initial=0) < 1e3 else np.expm1(v)
    h *= -x[:, None]
    h += a[:, None] * v
    np.exp(h, out=h)
    if n:
        v += start[:, None]
        h *= v**n
    return scale * end * (h @ weights)


@functools.cache
def _gauss() -> tuple[Any, Any]:
    """Nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1) / 2, weights / 2


def _end(a: Any, x: Any, sign: int) -> Any:
    """Where h(v) = sign a v - x (exp(sign v) - 1) has fallen to -40.

    Newton's method from a point beyond, which it approaches from the right as h is concave: the
    bounds come from v - 1 + e^-v >= v^2 / (2 + v), and e^v - 1 - v >= v^2 / 2 or (e^v - 1) / 4.
    """
    if sign < 0:
        c = _DROP / a
        v = (c + np.sqrt(c * c + 8 * c)) / 2
    else:
        c = _DROP / x
        v = np.minimum(np.sqrt(2 * c), np.maximum(0.6, np.log1p(4 * c)))
    for _ in range(3):
        height = sign * a * v - x * np.expm1(sign * v) + _DROP
        v = v - height / (sign * (a - x * np.exp(sign * v)))
    return v
