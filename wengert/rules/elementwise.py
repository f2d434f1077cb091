"""Elementwise functions: one line each, `(t, ...) -> t * dy/dx`.

Where a function has a kink or a pole the value follows one table (docs): the derivative if there is
one; for a convex kink the subgradient of least norm, for a concave one the supergradient; else by
continuity, so that sqrt gives inf at 0; NaN where the function itself is undefined.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.dispatch import primitive
from wengert.rules.rule import elementwise, general, linear

# ---- arithmetic ----------------------------------------------------------------------------

elementwise(np.add, lambda t: t, lambda t: t, name="Add")
elementwise(np.subtract, lambda t: t, lambda t: -t, name="Sub")
elementwise(np.multiply, lambda t, b: t * b, lambda t, a: t * a, name="Mul")
elementwise(np.divide, lambda t, b: t / b, lambda t, a, b: -t * ((a / b) / b), name="Div")
elementwise(np.negative, lambda t: -t, name="Neg")
elementwise(np.positive, lambda t: t, name="Alias")
elementwise(np.reciprocal, lambda t, y: -t * y * y)
elementwise(np.square, lambda t, x: 2 * t * x)


def _power_slope(a: Any, b: Any) -> Any:
    """d(a ** b)/da; 0 where b is 0, also at a = 0."""
    if isinstance(b, (int, float, complex)):
        return 2 * a if b == 2 else b * a ** (b - 1) if b != 0 else np.zeros_like(a)
    return np.where(b == 0, 0, b * a ** np.where(b == 0, 1, b - 1))


def _power_growth(a: Any, b: Any, y: Any) -> Any:
    """d(a ** b)/db = a**b log a; 0 at a = 0 for b >= 0, minus infinity there for b < 0."""
    if isinstance(a, (int, float, complex)):
        if a == 0:
            return np.where(np.real(b) >= 0, 0.0 * y, -np.inf)
        return y * (math.log(a) if not isinstance(a, complex) and a > 0 else np.log(np.asarray(a)))
    zero = a == 0
    return np.where(zero, np.where(np.real(b) >= 0, 0, -np.inf), y * np.log(np.where(zero, 1, a)))


elementwise(
    np.power,
    lambda t, a, b: t * _power_slope(a, b),
    lambda t, a, b, y: t * _power_growth(a, b, y),
    name="Pow",
)
elementwise(np.remainder, lambda t: t, lambda t, a, b: -t * np.floor(a / b))
elementwise(np.fmod, lambda t: t, lambda t, a, b: -t * np.trunc(a / b))
elementwise(np.floor_divide, lambda t: 0 * t, lambda t: 0 * t, name="FloorDivide")

# ---- exponentials and logarithms -----------------------------------------------------------

elementwise(np.exp, lambda t, y: t * y)
elementwise(np.exp2, lambda t, y: t * y * math.log(2))
elementwise(np.expm1, lambda t, y: t * (y + 1))
elementwise(np.log, lambda t, x: t / x)
elementwise(np.log2, lambda t, x: t / (x * math.log(2)))
elementwise(np.log10, lambda t, x: t / (x * math.log(10)))
elementwise(np.log1p, lambda t, x: t / (1 + x))
elementwise(np.sqrt, lambda t, y: t / (2 * y))
elementwise(np.cbrt, lambda t, y: t / (3 * y * y))
elementwise(
    np.logaddexp,
    lambda t, a, y: t * np.exp(_difference(a, y)),
    lambda t, b, y: t * np.exp(_difference(b, y)),
)


def _difference(a: Any, y: Any) -> Any:
    """a - y, where both may be the same infinity: then exp of it must be 1."""
    return np.where(a == y, 0, a - np.where(a == y, 0, y))


# ---- trigonometry --------------------------------------------------------------------------

elementwise(np.sin, lambda t, x: t * np.cos(x))
elementwise(np.cos, lambda t, x: -t * np.sin(x))
elementwise(np.tan, lambda t, y: t * (1 + y * y))
elementwise(np.arcsin, lambda t, x: t / np.sqrt(1 - x * x), name="Asin")
elementwise(np.arccos, lambda t, x: -t / np.sqrt(1 - x * x), name="Acos")
elementwise(np.arctan, lambda t, x: t / (1 + x * x), name="Atan")
elementwise(np.sinh, lambda t, x: t * np.cosh(x))
elementwise(np.cosh, lambda t, x: t * np.sinh(x))
elementwise(np.tanh, lambda t, y: t * (1 - y * y))
elementwise(np.arcsinh, lambda t, x: t / np.sqrt(x * x + 1), name="Asinh")
elementwise(np.arccosh, lambda t, x: t / (np.sqrt(x - 1) * np.sqrt(x + 1)), name="Acosh")
elementwise(np.arctanh, lambda t, x: t / (1 - x * x), name="Atanh")
elementwise(
    np.arctan2,
    lambda t, a, b: t * b / (a * a + b * b),
    lambda t, a, b: -t * a / (a * a + b * b),
    name="Atan2",
)
elementwise(
    np.hypot,
    lambda t, a, y: t * np.where(y == 0, 0, a / np.where(y == 0, 1, y)),
    lambda t, b, y: t * np.where(y == 0, 0, b / np.where(y == 0, 1, y)),
)
elementwise(np.deg2rad, lambda t: t * (math.pi / 180))
elementwise(np.rad2deg, lambda t: t * (180 / math.pi))
elementwise(np.sinc, lambda t, x: t * _sinc_slope(x))


def _sinc_slope(x: Any) -> Any:
    safe = np.where(x == 0, 1, x)
    return np.where(x == 0, 0, (np.cos(math.pi * safe) - np.sinc(safe)) / safe)


# ---- kinks and steps -----------------------------------------------------------------------

# Where both are equal each gets half: the subgradient of least norm.
elementwise(
    np.maximum,
    lambda t, a, b: t * np.where(a > b, 1, np.where(a == b, 0.5, np.where(a != a, 1, 0))),
    lambda t, a, b: t * np.where(b > a, 1, np.where(a == b, 0.5, np.where(b != b, 1, 0))),
)
elementwise(
    np.minimum,
    lambda t, a, b: t * np.where(a < b, 1, np.where(a == b, 0.5, np.where(a != a, 1, 0))),
    lambda t, a, b: t * np.where(b < a, 1, np.where(a == b, 0.5, np.where(b != b, 1, 0))),
)
elementwise(
    np.fmax,
    lambda t, a, b: t * np.where((a >= b) | (b != b), 1, 0),
    lambda t, a, b: t * np.where((a >= b) | (b != b), 0, 1),
)
elementwise(
    np.fmin,
    lambda t, a, b: t * np.where((a <= b) | (b != b), 1, 0),
    lambda t, a, b: t * np.where((a <= b) | (b != b), 0, 1),
)
for step in (np.sign, np.floor, np.ceil, np.trunc, np.rint):
    elementwise(step, lambda t: 0 * t, name="Round" if step is np.rint else None)
elementwise(np.copysign, lambda t, a, y: t * np.sign(a) * np.sign(y), lambda t: 0 * t)
elementwise(np.heaviside, lambda t: 0 * t, lambda t, a: np.where(a == 0, t, 0 * t))

# |z| is not holomorphic: both directions are stated.
general(
    np.absolute,
    reverse={"x": lambda g, x: g * np.sign(x)},
    forward={"x": lambda t, x: np.real(np.conj(np.sign(x)) * t)},
    name="Abs",
)
elementwise(np.fabs, lambda t, x: t * np.sign(x))

# ---- complex parts -------------------------------------------------------------------------

general(
    np.conjugate,
    reverse={"x": lambda g: np.conj(g)},
    forward={"x": lambda t: np.conj(t)},
    name="Conj",
)
general(
    np.real,
    reverse={"val": lambda g, val_dtype: as_complex(g, val_dtype)},
    forward={"val": lambda t: np.real(t)},
    view=True,
)
general(
    np.imag,
    reverse={"val": lambda g, val_dtype: as_complex(g, val_dtype, 1j)},
    forward={"val": lambda t: np.imag(t)},
    view=True,
)


def as_complex(g: Any, dtype: Any, unit: complex = 1) -> Any:
    """A real cotangent as a complex one along 1 or i; unchanged if the input was real."""
    return g * dtype.type(unit) if dtype.kind == "c" else g if unit == 1 else 0 * g


general(
    np.angle,
    reverse={"z": lambda g, z: _angle_pull(g, z)},
    forward={"z": lambda t, z: np.imag(t * np.conj(z)) / np.real(z * np.conj(z))},
    arguments=["z"],
)


def _angle_pull(g: Any, z: Any) -> Any:
    if z.dtype.kind != "c":
        return 0 * g
    squared = np.real(z * np.conj(z))
    return np.where(z == 0, 0, 1j * g * z / np.where(squared == 0, 1, squared))


@primitive
def make_complex(real: Any, imag: Any) -> Any:
    """real + i imag, from two real arrays."""
    return real + 1j * imag if real.dtype != np.float32 else (real + 1j * imag).astype(np.complex64)


general(
    make_complex,
    reverse={
        "real": lambda g, real_shape: unreal(np.real(g), real_shape),
        "imag": lambda g, imag_shape: unreal(np.imag(g), imag_shape),
    },
    forward={
        "real": lambda t, imag_shape: make_complex(t + np.zeros(imag_shape, t.dtype), 0 * t),
        "imag": lambda t, real_shape: make_complex(0 * t + np.zeros(real_shape, t.dtype), t),
    },
    name="Complex",
)


def unreal(g: Any, shape: tuple[int, ...]) -> Any:
    from wengert.rules.rule import unbroadcast

    return unbroadcast(g, shape)


# ---- choosing ------------------------------------------------------------------------------

linear(
    np.where,
    None,
    lambda g, condition, a_shape: unreal(np.where(condition, g, 0), a_shape),
    lambda g, condition, b_shape: unreal(np.where(condition, 0, g), b_shape),
    arguments=("condition", "a", "b"),
)

general(
    np.clip,
    reverse={"a": lambda g, a, a_min, a_max: np.where(inside(a, a_min, a_max), g, 0)},
    forward={"a": lambda t, a, a_min, a_max: np.where(inside(a, a_min, a_max), t, 0)},
    arguments=("a", "a_min", "a_max"),
    name="Clamp",
)


def inside(a: Any, low: Any, high: Any) -> Any:
    """Where clipping leaves a as it is; the bounds belong to the inside."""
    if low is None:
        return a <= high
    return a >= low if high is None else (a >= low) & (a <= high)


@primitive
def nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """x with its NaNs and infinities replaced by finite numbers."""
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


general(
    nan_to_num,
    reverse={"x": lambda g, x: np.where(np.isfinite(x), g, 0)},
    forward={"x": lambda t, x: np.where(np.isfinite(x), t, 0)},
)
