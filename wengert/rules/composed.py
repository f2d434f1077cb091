"""Functions of `scipy.special` that are made of others: no rule, only what they are.

Read `special.py` first. What is composed has derivatives of every order and direction by its parts.
Forms are chosen such that no digits are lost where SciPy loses none: `expm1` instead of `exp - 1`,
the complement of a distribution function instead of one minus it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.dispatch import Function
from wengert.rules import special as sp


def exprel(x: Any) -> Any:
    """(e^x - 1) / x, which is 1 at 0."""
    near = np.abs(x) < 0.5
    far = np.where(near, 1.0, x)
    return np.where(near, sp.hyp1f1(np.where(near, x, 0.0), 1.0, 2.0), np.expm1(far) / far)


def log1prel(x: Any) -> Any:
    """log(1 + x) / x, which is 1 at 0."""
    near = np.abs(x) < 0.5
    far = np.where(near, 1.0, x)
    return np.where(near, sp.hyp2f1(np.where(near, -x, 0.0), 1.0, 1.0, 2.0), np.log1p(far) / far)


def _boxcox(x: Any, lmbda: Any) -> Any:
    log = np.log(x)
    return log * exprel(lmbda * log)


def _boxcox1p(x: Any, lmbda: Any) -> Any:
    log = np.log1p(x)
    return log * exprel(lmbda * log)


def powm1(x: Any, y: Any) -> Any:
    """x^y - 1."""
    above = x > 0
    positive = np.where(above, x, 1.0)
    return np.where(above, np.expm1(y * np.log(positive)), np.power(np.where(above, 1.0, x), y) - 1)


def cosm1(x: Any) -> Any:
    """cos(x) - 1."""
    half = np.sin(x / 2)
    return -2 * half * half


def _ratio(n: Any, d: Any, x: Any) -> tuple[Any, Any]:
    """What F's distribution function is an incomplete beta function of, and its complement."""
    whole = d + n * x
    return n * x / whole, d / whole


def _fdtri(n: Any, d: Any, p: Any) -> Any:
    y = sp.betaincinv(n / 2, d / 2, p)
    return d * y / (n * (1 - y))


def _huber(delta: Any, r: Any) -> Any:
    size = np.abs(r)
    return np.where(size <= delta, r * r / 2, delta * (size - delta / 2))


def _pseudo_huber(delta: Any, r: Any) -> Any:
    scaled = r / delta
    root = np.sqrt(1 + scaled * scaled)
    return delta * delta * (scaled * scaled / (1 + root))


COMPOSED: dict[str, Function] = {
    "betaincc": lambda a, b, x: sp.betainc(b, a, 1 - x),
    "betainccinv": lambda a, b, p: 1 - sp.betaincinv(b, a, p),
    "chdtr": lambda v, x: sp.gammainc(v / 2, x / 2),
    "chdtrc": lambda v, x: sp.gammaincc(v / 2, x / 2),
    "chdtri": lambda v, p: 2 * sp.gammainccinv(v / 2, p),
    "gdtr": lambda a, b, x: sp.gammainc(b, a * x),
    "gdtrc": lambda a, b, x: sp.gammaincc(b, a * x),
    "fdtr": lambda n, d, x: sp.betainc(n / 2, d / 2, _ratio(n, d, x)[0]),
    "fdtrc": lambda n, d, x: sp.betainc(d / 2, n / 2, _ratio(n, d, x)[1]),
    "fdtri": _fdtri,
    "pdtr": lambda k, m: sp.gammaincc(np.floor(k) + 1, m),
    "pdtrc": lambda k, m: sp.gammainc(np.floor(k) + 1, m),
    "boxcox": _boxcox, "boxcox1p": _boxcox1p, "exprel": exprel,
    "inv_boxcox": lambda y, lmbda: np.exp(y * log1prel(lmbda * y)),
    "inv_boxcox1p": lambda y, lmbda: np.expm1(y * log1prel(lmbda * y)),
    "powm1": powm1, "cosm1": cosm1, "huber": _huber, "pseudo_huber": _pseudo_huber,
    "hyp1f1": lambda a, b, x: sp.hyp1f1(x, a, b),
    "hyp2f1": lambda a, b, c, x: sp.hyp2f1(x, a, b, c),
    "cosdg": lambda x: np.cos(x * (math.pi / 180)),
    "sindg": lambda x: np.sin(x * (math.pi / 180)),
    "tandg": lambda x: np.tan(x * (math.pi / 180)),
}  # fmt: skip
"""Functions by their names in `scipy.special`; arguments in SciPy's order."""
