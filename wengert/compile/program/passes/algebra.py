"""Algebra: x * 1 = x, --x = x, x ** 2 = x * x, and their like.

What the rules keep. Results are those of IEEE arithmetic, with these exceptions:

- Zeros may change their sign: x + 0 is x and 0 - x is -x, although -0.0 + 0.0 is 0.0. A sum that
  starts from an explicit zero is so common in derivatives, and -0.0 == 0.0.
- Powers become products, roots and quotients: x ** 3 = x * x * x and x ** -0.5 = 1 / sqrt(x)
  round differently in the last place, and x ** 0.5 = sqrt(x) is NaN at -inf, as it is in NumPy's
  and PyTorch's operators.
- The derivative of a root, g / (2 * sqrt(x)), is g * (0.5 / sqrt(x)), which rounds twice: in a loop
  the quotient does not wait for g. For the same reason, and since a processor divides slowly, what
  is divided by a root that is read elsewhere too is multiplied by its one reciprocal. Neither a
  root nor its reciprocal is a subnormal number, so none is inf too early or has fewer digits.
- A power of two goes from the larger factor to the smaller one, which may become inf or subnormal
  in its place: a * (b * 2) = (a * 2) * b.

Multiplication by zero stays, for NaN and inf. Rules that hold for real numbers only are not applied
to complex ones: (inf + 0j) * (1 + 0j) has a NaN in it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.compile.program.operations import astype, full, number
from wengert.compile.program.passes.rewrite import ELEMENTWISE, Rewrite, Rules
from wengert.compile.program.program import Statement, Value
from wengert.dispatch import Function

RULES = Rules()


def _real(x: Any) -> bool:
    return type(x) is Value and x.dtype.kind != "c"


def _float(x: Any) -> bool:
    return type(x) is Value and x.dtype.kind == "f"


def _bool(x: Any) -> bool:
    return type(x) is Value and x.dtype.kind == "b"


def _negated(p: Rewrite, x: Any) -> Any:
    """a, if x is -a."""
    s = p.maker(x, np.negative)
    return s.args[0] if s else None


# ---- sums ----------------------------------------------------------------------------------


@RULES.on(np.add)
def add(p: Rewrite, s: Statement) -> Any:
    a, b = s.args
    if _is_zero(p.scalar(b)) and not _bool(a):
        return a  # a + 0 = a, up to the sign of a zero
    if _is_zero(p.scalar(a)) and not _bool(b):
        return b  # 0 + b = b
    if (c := _negated(p, b)) is not None:
        return p(np.subtract, a, c)  # a + -c = a - c
    if (c := _negated(p, a)) is not None:
        return p(np.subtract, b, c)  # -c + b = b - c
    return None


@RULES.on(np.subtract)
def subtract(p: Rewrite, s: Statement) -> Any:
    a, b = s.args
    if _is_zero(p.scalar(b)):
        return a  # a - 0 = a
    if _is_zero(p.scalar(a)) and type(b) is Value and b.dtype.kind in "fc":
        return p(np.negative, b)  # 0 - b = -b, up to the sign of a zero
    if (c := _negated(p, b)) is not None:
        return p(np.add, a, c)  # a - -c = a + c
    return None


@RULES.on(np.negative)
def negative(p: Rewrite, s: Statement) -> Any:
    (x,) = s.args
    if (a := _negated(p, x)) is not None:
        return a  # --a = a
    if not _float(x) or not p.once(x):
        return None
    if m := p.maker(x, np.subtract):
        return p(np.subtract, *reversed(m.args))  # -(a - b) = b - a, up to the sign of a zero
    if m := p.maker(x, np.multiply, np.divide):
        a, b = m.args
        if (k := p.scalar(b)) is not None:
            return p(m.function, a, -float(k))  # -(a * k) = a * -k
        if (k := p.scalar(a)) is not None:
            return p(m.function, -float(k), b)
    return None


def _is_zero(k: Any) -> bool:
    return k is not None and k == 0


# ---- products ------------------------------------------------------------------------------


@RULES.on(np.multiply)
def multiply(p: Rewrite, s: Statement) -> Any:
    for x, other in (s.args, s.args[::-1]):
        k = p.scalar(other)
        if k is None or not _real(x):
            continue
        if k == 1:
            return x  # x * 1 = x
        if k == -1 and _float(x):
            return p(np.negative, x)  # x * -1 = -x
        if _float(x) and (a := _negated(p, x)) is not None:
            return p(np.multiply, a, -float(k))  # -a * k = a * -k
    product = _of_multiple(p, s)
    return product if product is not None else _of_negatives(p, s)


def _of_multiple(p: Rewrite, s: Statement) -> Any:
    """a * (b * 2**n) = (a * 2**n) * b, if a has fewer elements"""
    for a, x in (s.args, s.args[::-1]):
        m = p.maker(x, np.multiply)
        if not m or not _float(x) or not _float(a) or a.size >= x.size or not p.once(x):
            continue
        for b, other in (m.args, m.args[::-1]):
            k = p.scalar(other)
            if k is not None and _reciprocal_is_exact(k, x.dtype):
                return p(np.multiply, p(np.multiply, a, float(k)), b)
    return None


@RULES.on(np.divide)
def divide(p: Rewrite, s: Statement) -> Any:
    x, other = s.args
    k = p.scalar(other)
    if k is not None and _float(x):
        if k == 1:
            return x  # x / 1 = x
        if k == -1:
            return p(np.negative, x)
        if _reciprocal_is_exact(k, x.dtype):
            return p(np.multiply, x, 1 / float(k))  # x / 2**n = x * 2**-n
        if (a := _negated(p, x)) is not None:
            return p(np.divide, a, -float(k))
    if (root := _doubled_root(p, other)) is not None and _float(x):
        return p(np.multiply, x, p(np.divide, 0.5, root))
    if _is_shared_root(p, other, s.output.dtype) and not (type(x) is float and x == 1):
        once = p(np.divide, 1.0, other)
        return once if p.scalar(x) == 1 else p(np.multiply, x, once)  # a / root = a * (1 / root)
    return _of_negatives(p, s)


def _is_shared_root(p: Rewrite, x: Any, dtype: np.dtype) -> bool:
    """Whether x is a root of a real dtype that another statement reads, too."""
    return _float(x) and x.dtype == dtype and bool(p.maker(x, np.sqrt)) and not p.once(x)


def _doubled_root(p: Rewrite, x: Any) -> Any:
    """y, if x is 2 * y, and y a root."""
    if (m := p.maker(x, np.multiply)) is None:
        return None
    for k, y in (m.args, m.args[::-1]):
        if p.scalar(k) == 2 and _float(y) and p.maker(y, np.sqrt):
            return y
    return None


def _of_negatives(p: Rewrite, s: Statement) -> Any:
    """-a * -b = a * b, -a / -b = a / b"""
    a, b = (_negated(p, x) for x in s.args)
    return None if a is None or b is None or not _float(a) else p(s.function, a, b)


def _reciprocal_is_exact(k: Any, dtype: np.dtype) -> bool:
    """Whether k is a power of two whose reciprocal is a normal number of the dtype."""
    if isinstance(k, complex) or k == 0 or not math.isfinite(k) or abs(math.frexp(k)[0]) != 0.5:
        return False
    if dtype not in (np.float16, np.float32, np.float64):
        return False
    limits = np.finfo(dtype)
    return all(limits.tiny <= abs(x) <= limits.max for x in (float(k), 1 / float(k)))


@RULES.on(np.floor_divide)
def floor_divide(p: Rewrite, s: Statement) -> Any:
    x, k = s.args
    whole = type(x) is Value and x.dtype.kind in "iu"
    return x if whole and p.scalar(k) == 1 else None  # x // 1 = x


@RULES.on(np.square)
def square(p: Rewrite, s: Statement) -> Any:
    (x,) = s.args
    return p(np.multiply, x, x) if _real(x) else None


@RULES.on(np.reciprocal)
def reciprocal(p: Rewrite, s: Statement) -> Any:
    (x,) = s.args
    return p(np.divide, 1.0, x) if _float(x) else None


# ---- powers --------------------------------------------------------------------------------


@RULES.on(np.power, np.float_power)
def power(p: Rewrite, s: Statement) -> Any:
    x, exponent = s.args
    k = p.scalar(exponent)
    if k is None or type(x) is not Value or x.dtype != s.output.dtype:
        return None
    if k == 1:
        return x
    if k == 2:
        return p(np.multiply, x, x)
    if x.dtype.kind == "c":
        return None
    if k == 0:
        return 1  # for NaN too
    if k == 3:
        return p(np.multiply, p(np.multiply, x, x), x)
    if k == 4:
        y = p(np.multiply, x, x)
        return p(np.multiply, y, y)
    return _root(p, x, k) if _float(x) else None


def _root(p: Rewrite, x: Value, k: Any) -> Any:
    if k == 0.5:
        return p(np.sqrt, x)
    if k == -0.5:
        return p(np.divide, 1.0, p(np.sqrt, x))
    if k == -1:
        return p(np.divide, 1.0, x)
    if k in (-2, -3, -4):  # a power of x itself may be inf where this is a subnormal number
        return p(np.power, p(np.divide, 1.0, x), -int(k))
    return None


# ---- functions applied twice, or for nothing -----------------------------------------------


@RULES.on(np.positive)
def positive(p: Rewrite, s: Statement) -> Any:
    return s.args[0]


@RULES.on(np.conjugate)
def conjugate(p: Rewrite, s: Statement) -> Any:
    (x,) = s.args
    if type(x) is Value and x.dtype.kind in "biuf":
        return x
    m = p.maker(x, np.conjugate)
    return m.args[0] if m else None


@RULES.on(np.absolute)
def absolute(p: Rewrite, s: Statement) -> Any:
    (x,) = s.args
    if m := p.maker(x, np.negative):
        return p(np.absolute, m.args[0])  # |-a| = |a|
    return x if p.maker(x, np.absolute) and _real(x) else None


@RULES.on(np.maximum, np.minimum, np.logical_and, np.logical_or, np.bitwise_and, np.bitwise_or)
def idempotent(p: Rewrite, s: Statement) -> Any:
    a, b = s.args
    return a if a is b else None


@RULES.on(np.maximum, np.minimum)
def bounded_by_infinity(p: Rewrite, s: Statement) -> Any:
    """max(x, -inf) = x, min(x, inf) = x"""
    bound = -math.inf if s.function is np.maximum else math.inf
    for x, k in (s.args, s.args[::-1]):
        if _real(x) and p.scalar(k) == bound:
            return x
    return None


# ---- truth ---------------------------------------------------------------------------------


@RULES.on(np.logical_and, np.bitwise_and, np.logical_or, np.bitwise_or)
def with_a_known_truth(p: Rewrite, s: Statement) -> Any:
    """x & True = x, x & False = False, x | False = x, x | True = True"""
    conjunction = s.function in (np.logical_and, np.bitwise_and)
    for x, known in (s.args, s.args[::-1]):
        k = p.scalar(known)
        if type(k) is bool and _bool(x):
            return x if k is conjunction else k
    return None


_OPPOSITE: dict[Function, Function] = {np.equal: np.not_equal, np.not_equal: np.equal}


@RULES.on(np.logical_not, np.invert)
def logical_not(p: Rewrite, s: Statement) -> Any:
    (x,) = s.args
    if not _bool(x):
        return None
    if m := p.maker(x, np.logical_not, np.invert):
        return m.args[0] if _bool(m.args[0]) else None  # not not a = a
    if (m := p.maker(x, *_OPPOSITE)) and p.once(x):
        return p(_OPPOSITE[m.function], *m.args)  # not a == b: a != b, for NaN too
    return None


@RULES.on(np.where)
def where(p: Rewrite, s: Statement) -> Any:
    c, a, b = s.args
    dtype = s.output.dtype
    k = p.scalar(c)
    if k is not None or a is b:
        chosen = a if k or a is b else b
        return chosen if type(chosen) is Value and chosen.dtype == dtype else p.scalar(chosen)
    if (m := p.maker(c, np.logical_not)) and _bool(m.args[0]):
        return _where(p, m.args[0], b, a, dtype)  # where(not c, a, b) = where(c, b, a)
    if (m := p.maker(a, np.where)) and m.args[0] is c:
        return _where(p, c, m.args[1], b, dtype)  # where(c, where(c, a, _), b) = where(c, a, b)
    if (m := p.maker(b, np.where)) and m.args[0] is c:
        return _where(p, c, a, m.args[2], dtype)
    if _bool(c) and p.scalar(a) == 1 and _is_zero(p.scalar(b)) and not _signed_zero(p.scalar(b)):
        return p(astype, c, dtype)  # where(c, 1, 0) = astype(c)
    return None


def _where(p: Rewrite, c: Any, a: Any, b: Any, dtype: np.dtype) -> Any:
    if type(a) is not Value and type(b) is not Value:
        b = p.full((), b, dtype)  # a number takes the other one's dtype
    return p(np.where, c, a, b)


def _signed_zero(k: Any) -> bool:
    return isinstance(k, float) and math.copysign(1, k) < 0


# ---- casts ---------------------------------------------------------------------------------


@RULES.on(astype)
def cast(p: Rewrite, s: Statement) -> Any:
    x, dtype = s.args[0], s.output.dtype
    if type(x) is not Value:
        return None
    if x.dtype == dtype and not x.weak:
        return x
    if (m := p.maker(x, astype)) and is_exact(m.args[0], x.dtype):
        return p(astype, m.args[0], dtype)  # a wider dtype on the way changes nothing
    if (m := p.maker(x, number)) and is_exact(m.args[0], x.dtype):
        return p(astype, p(np.reshape, m.args[0], ()), dtype)
    return None


def is_exact(x: Any, dtype: np.dtype) -> bool:
    """Whether each number of x's dtype is one of `dtype` as well."""
    if type(x) is not Value or x.dtype.kind not in "biufc" or dtype.kind not in "biufc":
        return False
    rounded = x.dtype.kind in "iu" and x.dtype.itemsize == 8 and dtype.kind in "fc"
    return np.can_cast(x.dtype, dtype, "safe") and not rounded


# ---- operands that broadcast anyway --------------------------------------------------------


@RULES.on(ELEMENTWISE)
def narrow_operands(p: Rewrite, s: Statement) -> Any:
    """f(broadcast_to(x), y) = f(x, y), broadcast afterwards if need be; f(full(k), y) = f(k, y)."""
    if s.kwargs or not any(p.maker(arg, np.broadcast_to, full) for arg in s.args):
        return None
    args = [_narrow(p, arg) for arg in s.args]
    first = 1 if s.function is np.where else 0
    others = [a for a in args[first:] if type(a) is Value and p.scalar(a) is None and not a.weak]
    for i, arg in enumerate(args):
        k = p.scalar(arg)
        if k is None or type(arg) is not Value:
            continue
        if i >= first and others and all(other.dtype == arg.dtype for other in others):
            args[i] = k
        elif arg.shape:
            args[i] = p.full((), k, arg.dtype)
    if all(a is b for a, b in zip(args, s.args, strict=True)):
        return None
    return p(s.function, *args)


def _narrow(p: Rewrite, arg: Any) -> Any:
    m = p.maker(arg, np.broadcast_to)
    return m.args[0] if m else arg
