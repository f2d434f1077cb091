"""How the Hurwitz zeta function depends on its exponent.

zeta(s, q) is the sum of (q + k)^-s over k = 0, 1, ... . By the formula of Euler and Maclaurin (NIST
DLMF, 2.10.1 and 25.11.5), with w = q + N,

    zeta(s, q) = sum of (q + k)^-s for k < N  +  w^(1-s) / (s - 1)  +  w^-s / 2
                 + sum over j of B_2j / (2j)!  s (s + 1) ... (s + 2j - 2)  w^(-s-2j+1).

Here each term is differentiated by s. With ten terms of either sum the rest is below the rounding
errors of float64 for s > 1 and q > 0; elsewhere the slope is NaN.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

N = 10
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_COEFFICIENTS = [b / math.factorial(2 * j) for j, b in enumerate(_BERNOULLI, 1)]


def slope(s: Any, q: Any) -> Any:
    """The derivative of zeta(s, q) by s: -sum of log(q + k) (q + k)^-s.

    >>> slope(np.array(2.0), np.array(1.0))  # -0.9375482543158438, Wolfram's zeta'(2)
    np.float64(-0.93754825431584...)
    """
    s, q = np.where(s > 1, s, np.nan), np.where(q > 0, q, np.nan)
    w = q + N
    log, power = np.log(w), w**-s
    total = -power * (w * (log / (s - 1) + 1 / (s - 1) ** 2) + log / 2)
    for k in range(N):
        total = total - np.log(q + k) * (q + k) ** -s
    # rising = s (s + 1) ... (s + 2j - 2), whose logarithm has the slope `inverses`.
    rising, inverses, power = s, 1 / s, power / w
    for j, c in enumerate(_COEFFICIENTS, 1):
        total = total + c * rising * power * (inverses - log)
        for i in (2 * j - 1, 2 * j):
            rising, inverses = rising * (s + i), inverses + 1 / (s + i)
        power = power / (w * w)
    return total
