"""NumPy's elementwise functions on complex numbers: pairs of LLVM values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.elementary import math as series
from wengert.compile.llvm.machine.values import intrinsic, like

B: TypeAlias = ir.IRBuilder
V: TypeAlias = ir.Value
Pair = tuple[V, V]


def apply_complex(b: B, name: str, dtype: np.dtype, args: list[Pair]) -> Any:
    return COMPLEX[name](b, *args)


def _multiply(b: B, x: Pair, y: Pair) -> Pair:
    (a, c), (d, e) = x, y
    return b.fsub(b.fmul(a, d), b.fmul(c, e)), b.fadd(b.fmul(a, e), b.fmul(c, d))


def _divide(b: B, x: Pair, y: Pair) -> Pair:
    """Smith's way: the ratio of the divisor's parts keeps squares from overflowing."""
    (a, c), (d, e) = x, y
    larger = b.fcmp_ordered(">=", _abs(b, d), _abs(b, e))
    # With larger real part: r = e/d, and (a + c r, c - a r) / (d + e r); else the parts swap roles.
    top, bottom = b.select(larger, d, e), b.select(larger, e, d)
    p, q = b.select(larger, a, c), b.select(larger, c, a)
    zero = b.fcmp_ordered("==", top, like(top, 0.0))
    ratio = b.fdiv(bottom, top)
    scale = b.fdiv(like(top, 1.0), b.fadd(top, b.fmul(bottom, ratio)))
    real = b.fmul(b.fadd(p, b.fmul(q, ratio)), scale)
    imag = b.fmul(b.fsub(q, b.fmul(p, ratio)), scale)
    imag = b.select(larger, imag, b.fneg(imag))
    # Both parts zero: infinities or NaN, part by part.
    return (
        b.select(zero, b.fdiv(a, _abs(b, top)), real),
        b.select(zero, b.fdiv(c, _abs(b, top)), imag),
    )


def _abs(b: B, x: V) -> V:
    return intrinsic(b, "fabs", [x.type], x.type, [x])


def _absolute(b: B, x: Pair) -> V:
    """The larger part times sqrt(1 + ratio**2)."""
    p, q = _abs(b, x[0]), _abs(b, x[1])
    first = b.fcmp_ordered(">", p, q)
    large, small = b.select(first, p, q), b.select(first, q, p)
    ratio = b.fdiv(small, large)
    one = like(p, 1.0)
    root = intrinsic(b, "sqrt", [p.type], p.type, [b.fadd(one, b.fmul(ratio, ratio))])
    size = b.fmul(large, root)
    infinite = like(p, float("inf"))
    size = b.select(b.fcmp_ordered("==", large, like(p, 0.0)), b.fadd(large, small), size)
    either = b.or_(b.fcmp_ordered("==", p, infinite), b.fcmp_ordered("==", q, infinite))
    return b.select(either, infinite, size)


def _exp(b: B, x: Pair) -> Pair:
    size = series.call(b, "exp", x[0])
    cos, sin = series.call(b, "cos", x[1]), series.call(b, "sin", x[1])
    real = b.fcmp_ordered("==", x[1], like(x[1], 0.0))
    return b.fmul(size, cos), b.select(real, x[1], b.fmul(size, sin))


def _each(build: Callable[..., V]) -> Callable[..., Pair]:
    return lambda b, *args: tuple(build(b, *parts) for parts in zip(*args, strict=True))


COMPLEX: dict[str, Callable[..., Any]] = {
    "add": _each(lambda b, x, y: b.fadd(x, y)),
    "subtract": _each(lambda b, x, y: b.fsub(x, y)),
    "negative": _each(lambda b, x: b.fneg(x)),
    "positive": lambda b, x: x,
    "multiply": _multiply,
    "square": lambda b, x: _multiply(b, x, x),
    "divide": _divide,
    "reciprocal": lambda b, x: _divide(b, (like(x[0], 1.0), like(x[0], 0.0)), x),
    "conjugate": lambda b, x: (x[0], b.fneg(x[1])),
    "real": lambda b, x: x[0],
    "imag": lambda b, x: x[1],
    "absolute": _absolute,
    "exp": _exp,
    "equal": lambda b, x, y: b.and_(
        b.fcmp_ordered("==", x[0], y[0]), b.fcmp_ordered("==", x[1], y[1])
    ),
    "not_equal": lambda b, x, y: b.or_(
        b.fcmp_unordered("!=", x[0], y[0]), b.fcmp_unordered("!=", x[1], y[1])
    ),
    "isnan": lambda b, x: b.or_(*(b.fcmp_unordered("uno", p, p) for p in x)),
}
