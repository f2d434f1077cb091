"""NumPy's elementwise functions on LLVM values, scalars or vectors: what needs no series.

`apply` gives a function's result as NumPy does: integers wrap around and a division by zero of
theirs is 0, NaN goes through `maximum`, comparisons with NaN are false. Functions such as exp come
from `math.py`. float16 is computed in float32 and rounded after each operation, as NumPy does.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.elementary import math as series
from wengert.compile.llvm.elementary.casts import FLOAT32, cast, truth
from wengert.compile.llvm.elementary.complexes import COMPLEX
from wengert.compile.llvm.machine.lanes import (
    INT1,
    Lanes,
    absolute,
    copysign,
    element,
    like,
    of_values,
    sqrt,
    values_of,
    where,
)
from wengert.compile.llvm.machine.values import B, number, part
from wengert.compile.plan.kernel import Unsupported
from wengert.dtypes import is_number

Formula: TypeAlias = Callable[..., Lanes]


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
    given = [of_values(b, x) for x in args]
    kind = kinds[0]
    if name == "where":
        return values_of(_where(truth(given[0], kind), *given[1:]))
    if kind.kind == "c":
        return values_of(COMPLEX[name](*given))
    if kind.kind == "f" and kind.itemsize == 2 and name not in _EXACT:
        args = [cast(b, x, kind, FLOAT32) for x in args]
        out = apply(b, name, FLOAT32, (FLOAT32,) * len(args), args)
        return cast(b, out, FLOAT32, dtype)
    formula = _TABLES[kind.kind].get(name) or series.formula(name)
    return values_of(formula(*given))


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


def _where(condition: Lanes, x: Any, y: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(where(condition, p, q) for p, q in zip(x, y, strict=True))
    return where(condition, x, y)


# ---- floats --------------------------------------------------------------------------------


def _same(x: Lanes) -> Lanes:
    return x


def _is_plain(x: Lanes) -> bool:
    """Whether a value is a constant other than NaN."""
    return isinstance(x.value, ir.Constant) and "0x7ff8" not in x.value.get_reference()


def _extremum(better: Formula) -> Formula:
    """maximum and minimum: NaN if either is."""

    def build(x: Lanes, y: Lanes) -> Lanes:
        if _is_plain(x):
            x, y = y, x
        if _is_plain(y):  # a select of this form is one instruction; it gives x if that is NaN
            return where(better(y, x), y, x)
        # Not x itself: LLVM would make one select of both, by a mask that takes longer to make.
        return where(x.is_nan(), x.full(math.nan), where(better(x, y), x, y))

    return build


def _extremum_of_numbers(better: Formula) -> Formula:
    """fmax and fmin: the other one if one is NaN."""
    return lambda x, y: where(y.is_nan(), x, where(better(x, y), x, y))


def _sign(x: Lanes) -> Lanes:
    return where(x < 0.0, -1.0, where(x > 0.0, 1.0, x))


def _heaviside(x: Lanes, at_zero: Lanes) -> Lanes:
    step = where(x > 0.0, x.full(1.0), 0.0)
    return where(x.is_nan(), x, where(x.equals(0.0), at_zero, step))


def _clip(maximum: Formula, minimum: Formula) -> Formula:
    return lambda x, low, high: minimum(maximum(x, low), high)


_LOGICAL: dict[str, Formula] = {
    "logical_and": operator.and_,
    "logical_or": operator.or_,
    "logical_xor": operator.xor,
    "logical_not": operator.invert,
}
_OF_TRUTH: dict[str, Formula] = {
    name: lambda *args, f=formula: f(*(x.differs(0) for x in args))
    for name, formula in _LOGICAL.items()
}
_ORDER: dict[str, Formula] = {
    "equal": Lanes.equals,
    "not_equal": Lanes.differs,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
_ARITHMETIC: dict[str, Formula] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "negative": operator.neg,
    "square": lambda x: x * x,
    "positive": _same,
    "conjugate": _same,
    "real": _same,
    "imag": lambda x: x.full(0),
}

_FLOAT: dict[str, Formula] = {
    **_ARITHMETIC,
    **_ORDER,
    **_OF_TRUTH,
    "divide": operator.truediv,
    "absolute": absolute,
    "fabs": absolute,
    "sqrt": sqrt,
    "reciprocal": lambda x: 1.0 / x,
    "floor": lambda x: x.call("floor"),
    "ceil": lambda x: x.call("ceil"),
    "trunc": lambda x: x.call("trunc"),
    "rint": lambda x: x.call("rint"),
    "copysign": copysign,
    "sign": _sign,
    "signbit": Lanes.sign_bit,
    "isnan": Lanes.is_nan,
    "isinf": lambda x: absolute(x).equals(math.inf),
    "isfinite": lambda x: absolute(x) < math.inf,
    "maximum": _extremum(operator.gt),
    "minimum": _extremum(operator.lt),
    "fmax": _extremum_of_numbers(operator.gt),
    "fmin": _extremum_of_numbers(operator.lt),
    "clip": _clip(_extremum(operator.gt), _extremum(operator.lt)),
    "heaviside": _heaviside,
    "deg2rad": lambda x: x * (np.pi / 180),
    "radians": lambda x: x * (np.pi / 180),
    "rad2deg": lambda x: x * (180 / np.pi),
    "degrees": lambda x: x * (180 / np.pi),
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


def _width(x: Lanes) -> int:
    return element(x.type).width


def _quotient(x: Lanes, y: Lanes, signed: bool) -> tuple[Lanes, Lanes, Lanes]:
    """Truncated quotient and remainder by a divisor that cannot trap, and where it was 0."""
    zero = unsafe = y.equals(0)
    if signed:  # the least integer has no negative: it stays itself, divided by 1
        unsafe = zero | (x.equals(1 << (_width(x) - 1)) & y.equals(-1))
    safe = where(unsafe, 1, y)
    quotient = x.by("sdiv" if signed else "udiv", safe)
    return quotient, x - quotient * safe, zero


def _floored(signed: bool, which: int) -> Formula:
    def build(x: Lanes, y: Lanes) -> Lanes:
        quotient, rest, zero = _quotient(x, y, signed)
        if signed:
            crossed = rest.differs(0) & ((rest ^ y) < 0)
            quotient = where(crossed, quotient - 1, quotient)
            rest = where(crossed, rest + y, rest)
        return where(zero, 0, (quotient, rest)[which])

    return build


def _truncated_rest(signed: bool) -> Formula:
    def build(x: Lanes, y: Lanes) -> Lanes:
        _, rest, zero = _quotient(x, y, signed)
        return where(zero, 0, rest)

    return build


def _shift(left: bool, signed: bool) -> Formula:
    """Shifts by as many bits as there are, or more, or a negative number, leave nothing."""

    def build(x: Lanes, y: Lanes) -> Lanes:
        inside = y.below(_width(x))
        if signed and not left:
            return x.by("ashr", where(inside, y, _width(x) - 1))
        safe = where(inside, y, 0)
        return where(inside, x << safe if left else x >> safe, 0)

    return build


def _always(truth: bool) -> Formula:
    return lambda x: x.new(number(like(x.type, INT1), truth))


_UNSIGNED: dict[str, Formula] = {
    "less": Lanes.below,
    "less_equal": lambda x, y: ~y.below(x),
    "greater": lambda x, y: y.below(x),
    "greater_equal": lambda x, y: ~x.below(y),
    "absolute": _same,
    "sign": lambda x: where(x.differs(0), x.full(1), 0),
}
_SIGNED: dict[str, Formula] = {
    "absolute": lambda x: where(x < 0, 0 - x, x),
    "sign": lambda x: where(x > 0, 1, where(x < 0, x.full(-1), 0)),
}


def _integers(signed: bool) -> dict[str, Formula]:
    letter = "s" if signed else "u"
    maximum: Formula = lambda x, y: x.call(f"{letter}max", y)
    minimum: Formula = lambda x, y: x.call(f"{letter}min", y)
    return {
        **_ARITHMETIC,
        **_ORDER,
        **_OF_TRUTH,
        **(_SIGNED if signed else _UNSIGNED),
        "floor": _same,
        "ceil": _same,
        "trunc": _same,
        "isnan": _always(False),
        "isinf": _always(False),
        "isfinite": _always(True),
        "maximum": maximum,
        "minimum": minimum,
        "fmax": maximum,
        "fmin": minimum,
        "clip": _clip(maximum, minimum),
        "floor_divide": _floored(signed, 0),
        "remainder": _floored(signed, 1),
        "fmod": _truncated_rest(signed),
        "bitwise_and": operator.and_,
        "bitwise_or": operator.or_,
        "bitwise_xor": operator.xor,
        "invert": operator.invert,
        "left_shift": _shift(True, signed),
        "right_shift": _shift(False, signed),
    }


# ---- bools ---------------------------------------------------------------------------------

_BOOL: dict[str, Formula] = {
    **_LOGICAL,
    **dict.fromkeys(("add", "maximum", "fmax", "bitwise_or"), operator.or_),
    **dict.fromkeys(("multiply", "minimum", "fmin", "bitwise_and"), operator.and_),
    **dict.fromkeys(("absolute", "conjugate", "real"), _same),
    "bitwise_xor": operator.xor,
    "invert": operator.invert,
    "isnan": _always(False),
    "isinf": _always(False),
    "isfinite": _always(True),
    "equal": Lanes.equals,
    "not_equal": operator.xor,
    "less": lambda x, y: ~x & y,
    "less_equal": lambda x, y: ~x | y,
    "greater": lambda x, y: x & ~y,
    "greater_equal": lambda x, y: x | ~y,
}

_TABLES = {"f": _FLOAT, "i": _integers(True), "u": _integers(False), "b": _BOOL}

_SPELLINGS = {"conj": "conjugate", "abs": "absolute", "mod": "remainder", "true_divide": "divide"}
"""NumPy's other names of functions."""
