"""NumPy's elementwise functions on LLVM values, scalars or vectors: what needs no series.

`apply` gives a function's result as NumPy does: integers wrap around and a division by zero of
theirs is 0, NaN goes through `maximum`, comparisons with NaN are false. Functions such as exp come
from `math.py`. float16 is computed in float32 and rounded after each operation, as NumPy does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.elementary import math as series
from wengert.compile.llvm.elementary.casts import FLOAT32, cast, is_nan, nonzero
from wengert.compile.llvm.elementary.complexes import COMPLEX, apply_complex
from wengert.compile.llvm.machine.values import (
    BIT,
    intrinsic,
    lanes_of,
    like,
    number,
    part,
    scalar_type,
    wide,
)
from wengert.compile.plan.kernel import Unsupported
from wengert.dtypes import is_number

B: TypeAlias = ir.IRBuilder
V: TypeAlias = ir.Value


def supported(name: str, dtypes: tuple[np.dtype, ...]) -> bool:
    """Whether loops can hold this function of operands of these dtypes."""
    if not all(is_number(d) and d.isnative and part(d).itemsize <= 8 for d in dtypes):
        return False
    if name in ("where", "astype"):
        return True
    if dtypes[0].kind == "V" or (name == "nextafter" and dtypes[0].itemsize == 2):
        return False  # a step of float32 is lost when it is rounded to float16
    name, kind = _SPELLINGS.get(name, name), dtypes[0].kind
    if kind == "c":
        return name in COMPLEX
    return name in _TABLES[kind] or (kind == "f" and name in series.NAMES)


def apply(b: B, name: str, dtype: np.dtype, kinds: tuple[np.dtype, ...], args: list[Any]) -> Any:
    """The function `name` of values of dtypes `kinds`, with a result of `dtype`."""
    name = _SPELLINGS.get(name, name)
    if not supported(name, kinds):
        raise Unsupported(f"{name} of {', '.join(map(str, kinds))} has no loops.")
    if name == "astype":
        return cast(b, args[0], kinds[0], dtype)
    if name == "where":
        return _where(b, nonzero(b, args[0], kinds[0]), args[1], args[2])
    kind = kinds[0]
    if kind.kind == "c":
        return apply_complex(b, name, kind, args)
    if kind.kind == "f" and kind.itemsize == 2 and name not in _EXACT:
        args = [cast(b, x, kind, FLOAT32) for x in args]
        out = apply(b, name, FLOAT32, (FLOAT32,) * len(args), args)
        return cast(b, out, FLOAT32, dtype)
    known = _TABLES[kind.kind].get(name)
    if known is not None:
        return known(b, *args)
    return series.call(b, name, *args)


def identity(name: str, dtype: np.dtype) -> Any:
    """What leaves every number as it is, combined with it."""
    if name == "add":
        return -0.0 if dtype.kind in "fc" else 0
    if name == "multiply":
        return 1
    if name in ("logical_or", "logical_and"):
        return name == "logical_and"
    highest = name in ("minimum", "argmin", "fmin")
    if dtype.kind == "b":
        return highest
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.max if highest else limits.min
    return float("inf") if highest else -float("inf")


def _where(b: B, condition: V, x: Any, y: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(b.select(condition, p, q) for p, q in zip(x, y, strict=True))
    return b.select(condition, x, y)


# ---- floats --------------------------------------------------------------------------------


def _float_intrinsic(name: str) -> Callable[..., V]:
    return lambda b, *args: intrinsic(b, name, [args[0].type], args[0].type, list(args))


def _compare(how: str) -> Callable[[B, V, V], V]:
    # Only != holds of NaN.
    if how == "!=":
        return lambda b, x, y: b.fcmp_unordered(how, x, y)
    return lambda b, x, y: b.fcmp_ordered(how, x, y)


def _is_plain(value: V) -> bool:
    """Whether a value is a constant other than NaN."""
    return isinstance(value, ir.Constant) and "0x7ff8" not in value.get_reference()


def _extremum(how: str) -> Callable[[B, V, V], V]:
    """maximum and minimum: NaN if either is."""

    def build(b: B, x: V, y: V) -> V:
        if _is_plain(x):
            x, y = y, x
        if _is_plain(y):  # a select of this form is one instruction; it gives x if that is NaN
            return b.select(b.fcmp_ordered(how, y, x), y, x)
        best = b.select(b.fcmp_ordered(how, x, y), x, y)
        return b.select(is_nan(b, x), x, best)

    return build


def _extremum_of_numbers(how: str) -> Callable[[B, V, V], V]:
    """fmax and fmin: the other one if one is NaN."""

    def build(b: B, x: V, y: V) -> V:
        best = b.select(b.fcmp_ordered(how, x, y), x, y)
        return b.select(is_nan(b, y), x, best)

    return build


def _sign(b: B, x: V) -> V:
    zero, one = like(x, 0.0), like(x, 1.0)
    signed = b.select(b.fcmp_ordered(">", x, zero), one, x)
    return b.select(b.fcmp_ordered("<", x, zero), like(x, -1.0), signed)


_floor = _float_intrinsic("floor")
_copysign = _float_intrinsic("copysign")


def _signbit(b: B, x: V) -> V:
    bits = _bits(b, x)
    return b.icmp_signed("<", bits, like(bits, 0))


def _bits(b: B, x: V) -> V:
    width = {"half": 16, "float": 32, "double": 64}[str(scalar_type(x))]
    return b.bitcast(x, wide(ir.IntType(width), lanes_of(x)))


def _is_infinite(b: B, x: V) -> V:
    return b.fcmp_ordered("==", _absolute(b, x), like(x, float("inf")))


def _is_finite(b: B, x: V) -> V:
    return b.fcmp_ordered("<", _absolute(b, x), like(x, float("inf")))


_absolute = _float_intrinsic("fabs")


def _heaviside(b: B, x: V, at_zero: V) -> V:
    step = b.select(b.fcmp_ordered(">", x, like(x, 0.0)), like(x, 1.0), like(x, 0.0))
    step = b.select(b.fcmp_ordered("==", x, like(x, 0.0)), at_zero, step)
    return b.select(is_nan(b, x), x, step)


def _clip(maximum: Callable[..., V], minimum: Callable[..., V]) -> Callable[..., V]:
    return lambda b, x, low, high: minimum(b, maximum(b, x, low), high)


def _times(factor: float) -> Callable[[B, V], V]:
    return lambda b, x: b.fmul(x, like(x, factor))


_LOGICAL: dict[str, Callable[..., V]] = {
    "logical_and": lambda b, x, y: b.and_(x, y),
    "logical_or": lambda b, x, y: b.or_(x, y),
    "logical_xor": lambda b, x, y: b.xor(x, y),
    "logical_not": lambda b, x: b.not_(x),
}


def _of_truth(build: Callable[..., V], dtype: np.dtype) -> Callable[..., V]:
    return lambda b, *args: build(b, *(nonzero(b, x, dtype) for x in args))


_FLOAT: dict[str, Callable[..., V]] = {
    "add": lambda b, x, y: b.fadd(x, y),
    "subtract": lambda b, x, y: b.fsub(x, y),
    "multiply": lambda b, x, y: b.fmul(x, y),
    "divide": lambda b, x, y: b.fdiv(x, y),
    "negative": lambda b, x: b.fneg(x),
    "positive": lambda b, x: x,
    "conjugate": lambda b, x: x,
    "real": lambda b, x: x,
    "imag": lambda b, x: like(x, 0.0),
    "absolute": _absolute,
    "fabs": _absolute,
    "square": lambda b, x: b.fmul(x, x),
    "sqrt": _float_intrinsic("sqrt"),
    "reciprocal": lambda b, x: b.fdiv(like(x, 1.0), x),
    "floor": _floor,
    "ceil": _float_intrinsic("ceil"),
    "trunc": _float_intrinsic("trunc"),
    "rint": _float_intrinsic("rint"),
    "copysign": _copysign,
    "sign": _sign,
    "signbit": _signbit,
    "isnan": is_nan,
    "isinf": _is_infinite,
    "isfinite": _is_finite,
    "maximum": _extremum(">"),
    "minimum": _extremum("<"),
    "fmax": _extremum_of_numbers(">"),
    "fmin": _extremum_of_numbers("<"),
    "clip": _clip(_extremum(">"), _extremum("<")),
    "heaviside": _heaviside,
    "deg2rad": _times(np.pi / 180),
    "radians": _times(np.pi / 180),
    "rad2deg": _times(180 / np.pi),
    "degrees": _times(180 / np.pi),
    "equal": _compare("=="),
    "not_equal": _compare("!="),
    "less": _compare("<"),
    "less_equal": _compare("<="),
    "greater": _compare(">"),
    "greater_equal": _compare(">="),
    **{name: _of_truth(build, FLOAT32) for name, build in _LOGICAL.items()},
}

_EXACT = frozenset(
    [
        "negative", "positive", "conjugate", "real", "absolute", "fabs", "copysign", "signbit",
        "isnan", "isinf", "isfinite", "equal", "not_equal", "less", "less_equal", "greater",
        "greater_equal", "logical_and", "logical_or", "logical_xor", "logical_not",
    ]
)  # fmt: skip
"""What needs no rounding: done in float16 itself."""


# ---- integers ------------------------------------------------------------------------------


def _quotient(signed: bool) -> Callable[[B, V, V], tuple[V, V, V]]:
    """Truncated quotient and remainder by a divisor that cannot trap, and where it was 0."""

    def build(b: B, x: V, y: V) -> tuple[V, V, V]:
        zero = b.icmp_unsigned("==", y, like(y, 0))
        unsafe = zero
        if signed:  # the least integer has no negative: it stays itself, divided by 1
            least = like(x, 1 << (scalar_type(x).width - 1))
            overflow = b.and_(b.icmp_signed("==", x, least), b.icmp_signed("==", y, like(y, -1)))
            unsafe = b.or_(zero, overflow)
        safe = b.select(unsafe, like(y, 1), y)
        quotient = b.sdiv(x, safe) if signed else b.udiv(x, safe)
        return quotient, b.sub(x, b.mul(quotient, safe)), zero

    return build


def _floored(signed: bool, which: int) -> Callable[[B, V, V], V]:
    divide = _quotient(signed)

    def build(b: B, x: V, y: V) -> V:
        quotient, rest, zero = divide(b, x, y)
        if signed:
            some = b.icmp_signed("!=", rest, like(rest, 0))
            crossed = b.and_(some, b.icmp_signed("<", b.xor(rest, y), like(rest, 0)))
            quotient = b.select(crossed, b.sub(quotient, like(x, 1)), quotient)
            rest = b.select(crossed, b.add(rest, y), rest)
        return b.select(zero, like(x, 0), (quotient, rest)[which])

    return build


def _truncated_rest(signed: bool) -> Callable[[B, V, V], V]:
    divide = _quotient(signed)

    def build(b: B, x: V, y: V) -> V:
        _, rest, zero = divide(b, x, y)
        return b.select(zero, like(x, 0), rest)

    return build


def _shift(left: bool, signed: bool) -> Callable[[B, V, V], V]:
    """Shifts by as many bits as there are, or more, or a negative number, leave nothing."""

    def build(b: B, x: V, y: V) -> V:
        width = scalar_type(x).width
        inside = b.icmp_unsigned("<", y, like(y, width))
        if signed and not left:
            return b.ashr(x, b.select(inside, y, like(y, width - 1)))
        safe = b.select(inside, y, like(y, 0))
        return b.select(inside, b.shl(x, safe) if left else b.lshr(x, safe), like(x, 0))

    return build


def _integer_extremum(name: str) -> Callable[[B, V, V], V]:
    return lambda b, x, y: intrinsic(b, name, [x.type], x.type, [x, y])


def _integer_sign(b: B, x: V) -> V:
    zero = like(x, 0)
    negative = b.select(b.icmp_signed("<", x, zero), like(x, -1), zero)
    return b.select(b.icmp_signed(">", x, zero), like(x, 1), negative)


def _integers(signed: bool) -> dict[str, Callable[..., V]]:
    def compare(how: str) -> Callable[[B, V, V], V]:
        if signed:
            return lambda b, x, y: b.icmp_signed(how, x, y)
        return lambda b, x, y: b.icmp_unsigned(how, x, y)

    def absolute(b: B, x: V) -> V:
        zero = like(x, 0)
        return b.select(b.icmp_signed("<", x, zero), b.sub(zero, x), x) if signed else x

    def sign(b: B, x: V) -> V:
        if signed:
            return _integer_sign(b, x)
        return b.select(b.icmp_unsigned("!=", x, like(x, 0)), like(x, 1), like(x, 0))

    def never(b: B, x: V) -> V:
        return number(wide(BIT, lanes_of(x)), 0)

    maximum = _integer_extremum("smax" if signed else "umax")
    minimum = _integer_extremum("smin" if signed else "umin")
    same: Callable[..., V] = lambda b, x: x
    return {
        "add": lambda b, x, y: b.add(x, y),
        "subtract": lambda b, x, y: b.sub(x, y),
        "multiply": lambda b, x, y: b.mul(x, y),
        "negative": lambda b, x: b.sub(like(x, 0), x),
        "positive": same,
        "conjugate": same,
        "real": same,
        "floor": same,
        "ceil": same,
        "trunc": same,
        "imag": lambda b, x: like(x, 0),
        "absolute": absolute,
        "square": lambda b, x: b.mul(x, x),
        "sign": sign,
        "isnan": never,
        "isinf": never,
        "isfinite": lambda b, x: number(wide(BIT, lanes_of(x)), 1),
        "maximum": maximum,
        "minimum": minimum,
        "fmax": maximum,
        "fmin": minimum,
        "clip": _clip(maximum, minimum),
        "floor_divide": _floored(signed, 0),
        "remainder": _floored(signed, 1),
        "fmod": _truncated_rest(signed),
        "bitwise_and": lambda b, x, y: b.and_(x, y),
        "bitwise_or": lambda b, x, y: b.or_(x, y),
        "bitwise_xor": lambda b, x, y: b.xor(x, y),
        "invert": lambda b, x: b.not_(x),
        "left_shift": _shift(True, signed),
        "right_shift": _shift(False, signed),
        "equal": compare("=="),
        "not_equal": compare("!="),
        "less": compare("<"),
        "less_equal": compare("<="),
        "greater": compare(">"),
        "greater_equal": compare(">="),
        **{name: _of_truth(build, np.dtype(np.int64)) for name, build in _LOGICAL.items()},
    }


# ---- bools ---------------------------------------------------------------------------------

_BOOL: dict[str, Callable[..., V]] = {
    **_LOGICAL,
    "add": _LOGICAL["logical_or"],
    "multiply": _LOGICAL["logical_and"],
    "maximum": _LOGICAL["logical_or"],
    "minimum": _LOGICAL["logical_and"],
    "fmax": _LOGICAL["logical_or"],
    "fmin": _LOGICAL["logical_and"],
    "absolute": lambda b, x: x,
    "conjugate": lambda b, x: x,
    "real": lambda b, x: x,
    "bitwise_and": _LOGICAL["logical_and"],
    "bitwise_or": _LOGICAL["logical_or"],
    "bitwise_xor": _LOGICAL["logical_xor"],
    "invert": _LOGICAL["logical_not"],
    "isnan": lambda b, x: like(x, 0),
    "isinf": lambda b, x: like(x, 0),
    "isfinite": lambda b, x: like(x, 1),
    "equal": lambda b, x, y: b.icmp_unsigned("==", x, y),
    "not_equal": lambda b, x, y: b.xor(x, y),
    "less": lambda b, x, y: b.and_(b.not_(x), y),
    "less_equal": lambda b, x, y: b.or_(b.not_(x), y),
    "greater": lambda b, x, y: b.and_(x, b.not_(y)),
    "greater_equal": lambda b, x, y: b.or_(x, b.not_(y)),
}

_TABLES = {"f": _FLOAT, "i": _integers(True), "u": _integers(False), "b": _BOOL}

_SPELLINGS = {"conj": "conjugate", "abs": "absolute", "mod": "remainder", "true_divide": "divide"}
"""NumPy's other names of functions."""
