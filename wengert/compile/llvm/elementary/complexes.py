"""NumPy's elementwise functions on complex numbers: pairs of lanes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from wengert.compile.llvm.elementary import math as series
from wengert.compile.llvm.machine.lanes import Lanes, absolute, sqrt, where

Pair = tuple[Lanes, Lanes]


def _multiply(x: Pair, y: Pair) -> Pair:
    (a, b), (c, d) = x, y
    return a * c - b * d, a * d + b * c


def _divide(x: Pair, y: Pair) -> Pair:
    """Smith's way: the ratio of the divisor's parts keeps squares from overflowing."""
    (a, b), (c, d) = x, y
    larger = absolute(c) >= absolute(d)
    # With larger real part: r = d/c, and (a + b r, b - a r) / (c + d r); else the parts swap roles.
    top, bottom = where(larger, c, d), where(larger, d, c)
    p, q = where(larger, a, b), where(larger, b, a)
    ratio = bottom / top
    scale = 1.0 / (top + bottom * ratio)
    real = (p + q * ratio) * scale
    imag = (q - p * ratio) * scale
    imag = where(larger, imag, -imag)
    # Both parts zero: infinities or NaN, part by part.
    zero, size = top.equals(0.0), absolute(top)
    return where(zero, a / size, real), where(zero, b / size, imag)


def _absolute(x: Pair) -> Lanes:
    """The larger part times sqrt(1 + ratio**2)."""
    p, q = map(absolute, x)
    first = p > q
    large, small = where(first, p, q), where(first, q, p)
    ratio = small / large
    size = large * sqrt(1.0 + ratio * ratio)
    size = where(large.equals(0.0), large + small, size)
    return where(p.equals(math.inf) | q.equals(math.inf), math.inf, size)


def _exp(x: Pair) -> Pair:
    size, cos, sin = (series.formula(name) for name in ("exp", "cos", "sin"))
    real, imag = x
    length = size(real)
    return length * cos(imag), where(imag.equals(0.0), imag, length * sin(imag))


def _each(formula: Callable[..., Lanes]) -> Callable[..., Pair]:
    return lambda *args: tuple(formula(*parts) for parts in zip(*args, strict=True))


COMPLEX: dict[str, Callable[..., Any]] = {
    "add": _each(operator.add),
    "subtract": _each(operator.sub),
    "negative": _each(operator.neg),
    "positive": lambda x: x,
    "multiply": _multiply,
    "square": lambda x: _multiply(x, x),
    "divide": _divide,
    "reciprocal": lambda x: _divide((x[0].full(1.0), x[0].full(0.0)), x),
    "conjugate": lambda x: (x[0], -x[1]),
    "real": lambda x: x[0],
    "imag": lambda x: x[1],
    "absolute": _absolute,
    "exp": _exp,
    "equal": lambda x, y: x[0].equals(y[0]) & x[1].equals(y[1]),
    "not_equal": lambda x, y: x[0].differs(y[0]) | x[1].differs(y[1]),
    "isnan": lambda x: x[0].is_nan() | x[1].is_nan(),
}
