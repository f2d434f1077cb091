"""Partial moments of log t and log(1 - t) under the beta distribution: what the incomplete beta
function's derivatives by its parameters are made of.

With p(t) = t^(a-1) (1-t)^(b-1) / B(a, b) and psi the digamma function,

    M_mn(a, b, x) = int_0^x p(t) (log t - psi(a) + psi(a+b))^m (log(1-t) - psi(b) + psi(a+b))^n dt,

so that M_00 = I_x(a, b), M_10 = dI/da and M_01 = dI/db, and further derivatives lead to further
moments: the set is closed (`rules/special.py`). SciPy has M_00 only.

Up to the mean of p the integral is computed as it stands, above it as what is missing from the
whole one: so the smaller tail is integrated. With t = x / (1 + exp(pi sinh s)) it runs over all s
and falls double-exponentially on both sides, whatever the exponents of t and 1 - t (Takahasi and
Mori, 1974). Logarithms of t and 1 - t are computed from s itself: neither end is rounded away.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_DROP = 40.0  # exp(-40) is below the precision of double
_NODES = 200
_BLOCK = 1 << 8


def moment(a: Any, b: Any, x: Any, m: int, n: int) -> Any:
    """M_mn(a, b, x), element by element; NaN unless a, b > 0 and 0 <= x <= 1.

    >>> float(moment(1.0, 1.0, 0.5, 1, 0).round(6))  # int_0^x (1 + log t) dt = x log x
    -0.346574
    """
    from scipy import special

    a, b, x = np.broadcast_arrays(*[np.asarray(v, np.float64) for v in (a, b, x)])
    if m == n == 0:
        return special.betainc(a, b, x)
    result = np.full(a.shape, np.nan)
    fine = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)
    result[fine & (x == 0)] = 0.0
    whole = fine & (x == 1)
    result[whole] = _complete(a[whole], b[whole], m, n)
    inside = fine & (x > 0) & (x < 1)
    below = inside & (x * (a + b) <= a)
    above = inside & ~below
    result[below] = _integral(a[below], b[below], x[below], 1 - x[below], m, n)
    a, b, x = a[above], b[above], x[above]
    result[above] = _complete(a, b, m, n) - _integral(b, a, 1 - x, x, n, m)
    return result[()]


def _complete(a: Any, b: Any, m: int, n: int) -> Any:
    """M_mn(a, b, 1): the central moments, from the cumulants, which are polygammas."""
    from scipy import special

    def cumulant(i: int, j: int) -> Any:
        both = special.polygamma(i + j - 1, a + b)
        own = special.polygamma(i - 1, a) if not j else special.polygamma(j - 1, b) if not i else 0
        return own - both

    def central(m: int, n: int) -> Any:
        if m == n == 0:
            return np.ones_like(a)
        if m == 0:
            return sum(
                math.comb(n - 1, j - 1) * cumulant(0, j) * central(0, n - j)
                for j in range(2, n + 1)
            ) + np.zeros_like(a)
        return sum(
            math.comb(m - 1, i - 1) * math.comb(n, j) * cumulant(i, j) * central(m - i, n - j)
            for i in range(1, m + 1)
            for j in range(n + 1)
            if i + j > 1
        ) + np.zeros_like(a)

    return central(m, n)


def _integral(a: Any, b: Any, x: Any, rest: Any, m: int, n: int) -> Any:
    """The part below x, where rest = 1 - x."""
    total = np.empty_like(a)
    for first in range(0, len(a), _BLOCK):
        part = slice(first, first + _BLOCK)
        total[part] = _quadrature(a[part], b[part], x[part], rest[part], m, n)
    return total


def _quadrature(a: Any, b: Any, x: Any, rest: Any, m: int, n: int) -> Any:
    """The quadrature of so few elements that they stay in cache, with a row of nodes for each."""
    from scipy import special

    # Beyond these, t^a or 1 - t / x has fallen to exp(-40).
    high = np.arcsinh(np.maximum(_DROP / a, 1) / math.pi)
    low = -np.arcsinh((_DROP - np.log(rest)) / math.pi)
    step = (high - low) / _NODES
    s = low[:, None] + step[:, None] * np.arange(_NODES + 1)
    a, b, x, rest = (v[:, None] for v in (a, b, x, rest))
    q = math.pi * np.sinh(s)
    share = special.expit(q)  # 1 - t / x
    log_t = np.log(x) + special.log_expit(-q)
    log_rest = np.log(rest + x * share)
    inside = np.exp(a * log_t + (b - 1) * log_rest - special.betaln(a, b))
    inside *= share * (math.pi * np.cosh(s))
    both = special.psi(a + b)
    if m:
        inside *= (log_t - special.psi(a) + both) ** m
    if n:
        inside *= (log_rest - special.psi(b) + both) ** n
    return step * inside.sum(axis=1)
