"""Elementwise functions under PyTorch's names that take more, or treat integers otherwise, than
what they record; all others are in `elementary.py`.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of
from wengert.autograd.operands import as_pythons, cast, floating, no_order, one_dtype
from wengert.autograd.record import recorder
from wengert.autograd.settings import refuse_dtype, refuses
from wengert.dispatch import as_array
from wengert.errors import DtypeError
from wengert.functions import results
from wengert.functions.arguments import (
    constant,
    into,
    numbers_first,
    of_tensors,
    one_dim,
    ordered,
    rounded_once,
    rounds,
    straight,
    takes_out,
    tensor_of,
)
from wengert.functions.declared import unsuitable
from wengert.functions.elementary import cos, exp, floor_divide, log1p, sin, sqrt, true_divide
from wengert.rules import elementwise as rules
from wengert.rules import reductions as reduction_rules
from wengert.tensor import Tensor, wrap

Function = Callable[..., Any]


def _rounding(function: Function, doc: str) -> Function:
    """A function of one tensor that gives integers back as they are."""
    record = recorder(function)

    def apply(input: Any, *, out: Any = None) -> Tensor:
        if out is not None:
            return into(out, apply, (input,), {})
        input = tensor_of(input)
        kind = input._array.dtype.kind
        if kind in "bc":
            raise _undefined(function.__name__, input)
        return input.clone() if kind in "iu" else record(input)

    apply.__doc__ = doc
    return apply


def _undefined(name: str, x: Tensor) -> DtypeError:
    return DtypeError(
        f'"{name}" is not implemented for {x.dtype}: convert it first, e.g. x.float()'
    )


# ---- arithmetic ----------------------------------------------------------------------------

_trunc_divide = recorder(rules.trunc_divide)
_add, _sub = recorder(np.add), recorder(np.subtract)
_pow = recorder(np.power)


@takes_out
@numbers_first("alpha")
def add(input: Any, other: Any, *, alpha: builtins.complex = 1) -> Tensor:
    """input + alpha * other.

    >>> import wengert as wg
    >>> wg.add(wg.tensor([1, 2]), 10, alpha=3)
    tensor([31, 32])
    """
    if type(alpha) is int and alpha == 1:
        return _operated(_add, "add", input, other)
    return _with_multiple(_add, "add", input, other, alpha)


@takes_out
@numbers_first("alpha")
def sub(input: Any, other: Any, *, alpha: builtins.complex = 1) -> Tensor:
    """input - alpha * other."""
    bools = [isinstance(x, Tensor) and x.dtype == dtypes.bool for x in (input, other)]
    if any(bools):
        instead = "`^` or `logical_xor()`" if all(bools) else "`~` or `logical_not()`"
        raise RuntimeError(
            f"Subtraction with {'two bool tensors' if all(bools) else 'a bool tensor'} is not "
            f"supported. Use {instead} to compare or invert masks, and mask.int() to count."
        )
    if type(alpha) is int and alpha == 1:
        return _operated(_sub, "sub", input, other)
    return _with_multiple(_sub, "sub", input, other, alpha)


def _with_multiple(record: Function, name: str, input: Any, other: Any, alpha: Any) -> Any:
    """Of numbers of 16 bits the multiple is one, too: then the sum is rounded once."""
    if not rounds(input, other):
        return _operated(record, name, input, other * alpha)
    common = dtypes.result_type(array_of(input), array_of(other))
    if common.itemsize == 2 and dtypes.is_floating(common):
        alpha = float(np.asarray(alpha, common))
    return rounded_once(lambda x, y: _operated(record, name, x, y * alpha))(input, other)


def _operated(record: Function, name: str, input: Any, other: Any) -> Any:
    result = record(input, other)
    if result is NotImplemented:
        raise TypeError(unsuitable(name, input, other))
    return result


subtract = sub


@of_tensors(1, takes_out=True)
def rsub(input: Any, other: Any, *, alpha: builtins.complex = 1) -> Tensor:
    """other - alpha * input."""
    return sub(other, input, alpha=alpha)


@takes_out
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """input / other, rounded to an integer if asked: "trunc" towards zero, "floor" downwards."""
    if rounding_mode is None:
        return true_divide(input, other)
    if rounding_mode == "floor":
        return floor_divide(input, other)
    if rounding_mode != "trunc":
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"{rounding_mode!r}"
        )
    kind = dtypes.result_type(array_of(input), array_of(other))
    if dtypes.is_inexact(kind):
        return _operated(_trunc_divide, "div", input, other)
    a, b = (as_array(array_of(x), kind) for x in (input, other))
    quotient = np.floor_divide(a, b)
    return constant(quotient + ((quotient < 0) & (quotient * b != a)))


divide = div


@of_tensors(0, takes_out=True)
def pow(input: Any, exponent: Any) -> Tensor:
    """input ** exponent; either may be a number."""
    return _operated(_pow, "pow", input, exponent)


@of_tensors(0, takes_out=True)
def float_power(input: Any, exponent: Any) -> Tensor:
    """input ** exponent in double precision."""
    complex_ = any(dtypes.of(array_of(x)).kind == "c" for x in (input, exponent))
    target = dtypes.complex128 if complex_ else dtypes.float64
    return _pow(cast(tensor_of(input), target), cast(tensor_of(exponent), target))


_abs, _square = recorder(np.absolute), recorder(np.square)


def abs(input: Any, *, out: Any = None) -> Tensor:
    """The absolute value; of complex numbers, the modulus."""
    if out is not None:
        return into(out, abs, (input,), {})
    input = tensor_of(input)
    if input._array.dtype.kind == "b":
        raise _undefined("abs", input)
    return _abs(input)


absolute = abs


def positive(input: Any) -> Tensor:
    """`input` itself, as +x is."""
    input = tensor_of(input)
    if input._array.dtype.kind == "b":
        raise _undefined("positive", input)
    return input


def square(input: Any, *, out: Any = None) -> Tensor:
    """x squared; of truth values, as integers."""
    if isinstance(input, Tensor) and input._array.dtype.kind == "b":
        input = cast(input, dtypes.int64)
    return _square(input) if out is None else into(out, square, (input,), {})


_reciprocal = recorder(np.reciprocal)


@takes_out
def reciprocal(input: Any) -> Tensor:
    """1 / x, of integers too."""
    return _reciprocal(floating(tensor_of(input)))


@takes_out
def rsqrt(input: Any) -> Tensor:
    """1 / sqrt(x)."""
    return _reciprocal(sqrt(input))


# ---- exponentials and logarithms -----------------------------------------------------------

_logaddexp = recorder(np.logaddexp)


@of_tensors(2, takes_out=True)
def logaddexp(input: Any, other: Any) -> Tensor:
    """log(exp(a) + exp(b)), without overflow; of complex numbers the principal value."""
    if "c" in (input._array.dtype.kind, other._array.dtype.kind):
        top = _where(real(input) >= real(other), input, other)
        rest = _where(real(input) >= real(other), other, input)
        return top + log1p(exp(rest - top))
    return _operated(_logaddexp, "logaddexp", input, other)


@of_tensors(2, takes_out=True)
@refuses(input="c", other="c")
@rounded_once
def logaddexp2(input: Any, other: Any) -> Tensor:
    """log2(2**a + 2**b), without overflow."""
    two = math.log(2)
    return logaddexp(input * two, other * two) / two


# ---- steps and kinks -----------------------------------------------------------------------

floor = _rounding(np.floor, "Rounded down.")
ceil = _rounding(np.ceil, "Rounded up.")
trunc = fix = _rounding(np.trunc, "Rounded towards zero.")
_sign = recorder(np.sign)


@of_tensors(1, takes_out=True)
def sign(input: Any) -> Tensor:
    """-1, 0 or 1."""
    if input.dtype.kind == "c":
        raise NotImplementedError(
            "Unlike NumPy, sign doesn't support complex tensors. Use sgn, which gives z / |z|."
        )
    return input.clone() if input.dtype == dtypes.bool else _sign(input)


_rint = _rounding(np.rint, "")
_heaviside = recorder(np.heaviside)


@of_tensors(2, takes_out=True)
def heaviside(input: Any, values: Any) -> Tensor:
    """0 below zero, 1 above, `values` at zero."""
    if input.dtype != values.dtype:
        raise RuntimeError(
            "heaviside is not yet implemented for tensors with different dtypes: "
            f"{input.dtype} and {values.dtype}. Convert one, as in values.to(input.dtype)."
        )
    if input.dtype.kind == "c":
        raise no_order("heaviside", input.dtype)
    if dtypes.is_inexact(input.dtype):
        below = constant(np.full((), -1, input.dtype))  # where NaN counts, in PyTorch
        return _heaviside(_where(constant(input._array == input._array), input, below), values)
    above = as_array(input._array > 0, input.dtype)
    return constant(np.where(input._array == 0, values._array, above))


@takes_out
def round(input: Any, *, decimals: int = 0) -> Tensor:
    """Rounded to the nearest, halves to even; `decimals` digits after the point.

    >>> import wengert as wg
    >>> wg.round(wg.tensor([0.5, 1.5, 2.5]))
    tensor([0., 2., 2.])
    """
    if decimals == 0:
        return _rint(input)
    refuse_dtype("round", input, "biuc")
    scale = 10.0 ** builtins_abs(decimals)
    return _rint(input * scale) / scale if decimals > 0 else _rint(input / scale) * scale


builtins_abs = int.__abs__


def frac(input: Any, *, out: Any = None) -> Tensor:
    """x - trunc(x)."""
    if out is not None:
        return into(out, frac, (input,), {})
    input = tensor_of(input)
    if input._array.dtype.kind in "biuc":
        raise _undefined("frac", input)
    return _frac(input)


_frac, _between = recorder(rules.frac), recorder(rules.between)


@of_tensors(1, takes_out=True)
def sgn(input: Any) -> Tensor:
    """sign(x); for complex numbers z / |z|, and 0 at 0."""
    if input.dtype.kind != "c":
        return sign(input)
    size = abs(input)
    zero = constant(size._array == 0)
    return where_(zero, 0 * input, input / where_(zero, wrap(np.ones((), size.dtype)), size))


_clip = recorder(np.clip)


@of_tensors(1, takes_out=True)
def clamp(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """x kept between `min` and `max`, numbers or tensors; one may be left out.

    >>> import wengert as wg
    >>> wg.clamp(wg.tensor([-1.0, 0.5, 2.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    input = ordered(input, "clamp")
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        return _clamped_by_tensors(input, min, max)
    if not clips(input, min, max):
        min, max = as_pythons(min), as_pythons(max)
        kind = dtypes.result_type(input._array, *(v for v in (min, max) if v is not None))
        input = cast(input, kind)
    return _clip(input, min, max)


_REAL = int, float, type(None)
"""Types of bounds that leave floats their dtype."""


def clips(x: Tensor, min: Any, max: Any) -> bool:
    """Whether `clamp` is np.clip as it is: of floats between Python's numbers."""
    return x._array.dtype.kind == "f" and type(min) in _REAL and type(max) in _REAL


def _clamped_by_tensors(input: Tensor, low: Any, high: Any) -> Any:
    """Each element belongs to the bound that cuts it, to the input if none does."""
    bounds = [v for v in (low, high) if v is not None]
    kind = dtypes.result_type(input._array, *(array_of(v) for v in bounds))
    input = cast(input, kind)
    if low is not None:
        low = cast(tensor_of(low), kind)
        input = where_((input < low) | isnan(low), low, input)
    if high is not None:
        high = cast(tensor_of(high), kind)
        input = where_((input > high) | isnan(high), high, input)
    return input


clip = clamp


@of_tensors(1, takes_out=True)
def clamp_min(input: Any, min: Any) -> Tensor:
    """The larger of x and a bound."""
    return clamp(input, min=min)


@of_tensors(1, takes_out=True)
def clamp_max(input: Any, max: Any) -> Tensor:
    """The smaller of x and a bound."""
    return clamp(input, max=max)


_nan_to_num = recorder(rules.nan_to_num)


@takes_out
def nan_to_num(input: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Tensor:
    """x with NaN as `nan` (0) and the infinities as the largest finite numbers, or as given."""
    return _nan_to_num(tensor_of(input), 0.0 if nan is None else nan, posinf, neginf)


# ---- activations and their kin -------------------------------------------------------------

_softmax = recorder(reduction_rules.softmax)
_log_softmax = recorder(reduction_rules.log_softmax)


@takes_out
def softmax(input: Any, dim: int | None = None, dtype: Any = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`."""
    return _normalised(_softmax, "softmax", input, dim, dtype)


@takes_out
def log_softmax(input: Any, dim: int | None = None, dtype: Any = None) -> Tensor:
    """x - log(sum(exp(x))) along `dim`."""
    return _normalised(_log_softmax, "log_softmax", input, dim, dtype)


def _normalised(record: Function, name: str, input: Any, dim: int | None, dtype: Any) -> Any:
    if not isinstance(input, Tensor):
        input = tensor_of(input)
    if dim is None:
        raise TypeError(f"{name}() needs dim, the dimension whose elements add up; often dim=-1")
    if dtype is not None:
        input = cast(input, dtypes.stated(dtype))
    array = input._array
    if not dtypes.is_floating(array.dtype):
        raise _undefined(name, input)
    dim = one_dim(dim, array.ndim)
    if array.ndim == 0:
        return record(input.reshape(1), 0).reshape(())
    if not array.size:
        return input.clone()
    return record(input, dim)


# ---- combinations --------------------------------------------------------------------------


@of_tensors(2, takes_out=True)
def lerp(input: Any, end: Any, weight: Any) -> Tensor:
    """input + weight * (end - input)."""
    one_dtype("lerp", (input, end, weight))
    return _lerp(input, end, weight)


@rounded_once
def _lerp(input: Any, end: Any, weight: Any) -> Tensor:
    if isinstance(weight, (int, float)) and dtypes.is_inexact(input.dtype):
        return _between(input, end, weight)
    # From the nearer end, so that a weight of 1 gives the other end itself.
    step, near = end - input, abs(tensor_of(weight, "weight")) < 0.5
    return _where(near, input + weight * step, end - step * (1 - weight))


_product_added = recorder(rules.product_added)
_quotient_added = recorder(rules.quotient_added)


def _are_alike(*tensors: Any) -> bool:
    """Whether these are tensors of one dtype, which numbers do not change."""
    first = tensors[0]
    return isinstance(first, Tensor) and all(
        isinstance(x, Tensor)
        and x._array.dtype is first._array.dtype
        and dtypes.is_inexact(x._array.dtype)
        for x in tensors
    )


@straight(_product_added, 3, 1)
@takes_out
@numbers_first("value")
@rounded_once
def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: builtins.complex = 1) -> Tensor:
    """input + value * tensor1 * tensor2."""
    if _are_alike(input, tensor1, tensor2):
        return _product_added(input, tensor1, tensor2, value)
    product = tensor1 * tensor2
    return input + (product if value == 1 else value * product)


@straight(_quotient_added, 3, 1)
@takes_out
@numbers_first("value")
@rounded_once
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: builtins.complex = 1) -> Tensor:
    """input + value * tensor1 / tensor2."""
    if _are_alike(input, tensor1, tensor2):
        return _quotient_added(input, tensor1, tensor2, value)
    quotient = tensor1 / tensor2
    return input + (quotient if value == 1 else value * quotient)


@of_tensors(2, takes_out=True)
@refuses(other="b")
@rounded_once
def ldexp(input: Any, other: Any) -> Tensor:
    """input * 2**other."""
    return input * 2.0**other


@of_tensors(1, takes_out=True)
def frexp(input: Any) -> results.frexp_result:
    """x = mantissa * 2**exponent with 1/2 <= |mantissa| < 1; both of 0 are 0.

    The exponent is a step function: to the gradient it is a constant.

    >>> import wengert as wg
    >>> wg.frexp(wg.tensor([5.0]))[0]
    tensor([0.6250])
    """
    if not dtypes.is_floating(input.dtype):
        raise RuntimeError(
            f"torch.frexp() only supports floating-point dtypes, got {input.dtype}. Use x.float()."
        )
    exponent = np.frexp(input._array)[1]
    one, half = np.ones((), input.dtype), -exponent // 2
    # In two steps: the smallest numbers are further from 1 than the largest power of 2 is.
    near = input * constant(np.ldexp(one, half))
    mantissa = near * constant(np.ldexp(one, -exponent - half))
    return results.frexp_result(mantissa, constant(as_array(exponent, np.int32)))


@of_tensors(2, takes_out=True)
def nextafter(input: Any, other: Any) -> Tensor:
    """The floating-point number next to x in the direction of `other`."""
    if not dtypes.is_floating(input.dtype) or not dtypes.is_floating(other.dtype):
        raise NotImplementedError(
            "nextafter is implemented for floating point tensors, got "
            f"{input.dtype} and {other.dtype}"
        )
    return _operated(_nextafter, "nextafter", input, other)


_nextafter = recorder(np.nextafter)

# ---- complex numbers -----------------------------------------------------------------------

_real, _imag, _conj, _angle = (
    recorder(np.real),
    recorder(np.imag),
    recorder(np.conjugate),
    recorder(np.angle),
)
_complex = recorder(rules.make_complex)


def real(input: Any) -> Tensor:
    """The real part, a view; a real tensor is its own."""
    input = tensor_of(input)
    return _real(input) if input.dtype.kind == "c" else input


@of_tensors(1)
def imag(input: Any) -> Tensor:
    """The imaginary part of a complex tensor, a view."""
    if input.dtype.kind != "c":
        raise RuntimeError(
            "imag is not implemented for tensors with non-complex dtypes: this one is "
            f"{input.dtype}. Use wengert.zeros_like(x) where a zero part is meant."
        )
    return _imag(input)


def conj(input: Any) -> Tensor:
    """The complex conjugate; a real tensor is its own."""
    input = tensor_of(input)
    return _conj(input) if input.dtype.kind == "c" else input


conj_physical = takes_out(conj)


def resolve_conj(input: Any) -> Tensor:
    """The tensor itself: conjugation is never postponed."""
    return tensor_of(input)


resolve_neg = resolve_conj


@takes_out
def angle(input: Any) -> Tensor:
    """The argument of a complex number; 0 or pi for real ones."""
    input = floating(tensor_of(input))
    return _angle(input if input.dtype.kind == "c" else input + 0.0)  # that of -0.0 is 0


@of_tensors(2, takes_out=True)
@refuses(real="biuc", imag="biuc")
def complex(real: Any, imag: Any) -> Tensor:
    """real + i imag, from two tensors of one floating dtype."""
    if real.dtype != imag.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {real.dtype} but got scalar type {imag.dtype} for "
            "second argument: complex() takes two parts of one floating dtype"
        )
    return _complex(real, imag)


@of_tensors(2, alike=True, takes_out=True)
@refuses(abs="biuc", angle="biuc")
def polar(abs: Any, angle: Any) -> Tensor:
    """abs * exp(i angle)."""
    return complex(abs * cos(angle), abs * sin(angle))


# ---- helpers for compositions --------------------------------------------------------------

_where = recorder(np.where)


def where_(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return _where(condition, a, b)


def isnan(x: Tensor) -> Tensor:
    return constant(np.isnan(x._array))


for _name, _value in list(globals().items()):
    if callable(_value) and _value.__name__ == "apply":
        _value.__name__ = _value.__qualname__ = _name
        _value.__module__ = __name__
