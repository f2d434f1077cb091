"""What type checkers see of `elementary.py`; written by `python -m docs.generate.stubs`."""

import builtins
import types
import typing
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, NoReturn as _NoReturn

import numpy as _np

from wengert.functions import results as _results
from wengert.functions.results import _Number as _Number, _TensorLike as _TensorLike, _Out as _Out, _Index as _Index, _Dtype as _Dtype, _Ints as _Ints
from wengert.tensor import Size as _Size, Tensor as _Tensor

def acos(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The inverse cosine."""
def acos_(input: _Tensor) -> _Tensor:
    """`acos`, in place."""
def acosh(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The inverse hyperbolic cosine."""
def acosh_(input: _Tensor) -> _Tensor:
    """`acosh`, in place."""
def arccos(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The inverse cosine."""
def arccos_(input: _Tensor) -> _Tensor:
    """`arccos`, in place."""
def arccosh(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The inverse hyperbolic cosine."""
def arccosh_(input: _Tensor) -> _Tensor:
    """`arccosh`, in place."""
def arcsin(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The inverse sine."""
def arcsin_(input: _Tensor) -> _Tensor:
    """`arcsin`, in place."""
def arcsinh(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The inverse hyperbolic sine."""
def arcsinh_(input: _Tensor) -> _Tensor:
    """`arcsinh`, in place."""
def arctan(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The inverse tangent."""
def arctan2(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The angle of the point (other, input), in (-pi, pi]."""
def arctan_(input: _Tensor) -> _Tensor:
    """`arctan`, in place."""
def arctanh(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The inverse hyperbolic tangent."""
def arctanh_(input: _Tensor) -> _Tensor:
    """`arctanh`, in place."""
def asin(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The inverse sine."""
def asin_(input: _Tensor) -> _Tensor:
    """`asin`, in place."""
def asinh(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The inverse hyperbolic sine."""
def asinh_(input: _Tensor) -> _Tensor:
    """`asinh`, in place."""
def atan(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The inverse tangent."""
def atan2(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The angle of the point (other, input), in (-pi, pi]."""
def atan_(input: _Tensor) -> _Tensor:
    """`atan`, in place."""
def atanh(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The inverse hyperbolic tangent."""
def atanh_(input: _Tensor) -> _Tensor:
    """`atanh`, in place."""
def copysign(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The size of one with the sign of the other."""
def cos(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The cosine."""
def cos_(input: _Tensor) -> _Tensor:
    """`cos`, in place."""
def cosh(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The hyperbolic cosine."""
def cosh_(input: _Tensor) -> _Tensor:
    """`cosh`, in place."""
def deg2rad(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Degrees to radians."""
def deg2rad_(input: _Tensor) -> _Tensor:
    """`deg2rad`, in place."""
def digamma(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The derivative of log Gamma(x)."""
def digamma_(input: _Tensor) -> _Tensor:
    """`digamma`, in place."""
def erf(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The error function."""
def erf_(input: _Tensor) -> _Tensor:
    """`erf`, in place."""
def erfc(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """1 - erf(x), accurate where erf is close to 1."""
def erfc_(input: _Tensor) -> _Tensor:
    """`erfc`, in place."""
def erfinv(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The inverse of erf; infinite at -1 and 1, NaN beyond."""
def erfinv_(input: _Tensor) -> _Tensor:
    """`erfinv`, in place."""
def exp(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """e to the power x."""
def exp2(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """2 to the power x."""
def exp2_(input: _Tensor) -> _Tensor:
    """`exp2`, in place."""
def exp_(input: _Tensor) -> _Tensor:
    """`exp`, in place."""
def expm1(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """exp(x) - 1, accurate near 0."""
def expm1_(input: _Tensor) -> _Tensor:
    """`expm1`, in place."""
def floor_divide(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The quotient rounded towards minus infinity."""
def fmax(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The larger of two; a NaN loses to a number."""
def fmin(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The smaller of two; a NaN loses to a number."""
def fmod(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The remainder with the sign of the dividend, as C's fmod."""
def hypot(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """sqrt(a^2 + b^2), without overflow."""
def i0(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The modified Bessel function I, of order 0."""
def i0_(input: _Tensor) -> _Tensor:
    """`i0`, in place."""
def lgamma(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """log |Gamma(x)|."""
def lgamma_(input: _Tensor) -> _Tensor:
    """`lgamma`, in place."""
def log(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The natural logarithm."""
def log10(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The logarithm to base 10."""
def log10_(input: _Tensor) -> _Tensor:
    """`log10`, in place."""
def log1p(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """log(1 + x), accurate near 0."""
def log1p_(input: _Tensor) -> _Tensor:
    """`log1p`, in place."""
def log2(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The logarithm to base 2."""
def log2_(input: _Tensor) -> _Tensor:
    """`log2`, in place."""
def log_(input: _Tensor) -> _Tensor:
    """`log`, in place."""
def maximum(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The larger of two, element by element; NaN if either is."""
def minimum(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The smaller of two, element by element; NaN if either is."""
def mul(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The product of two tensors, element by element."""
def multiply(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The product of two tensors, element by element."""
def neg(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """-x."""
def neg_(input: _Tensor) -> _Tensor:
    """`neg`, in place."""
def negative(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """-x."""
def negative_(input: _Tensor) -> _Tensor:
    """`negative`, in place."""
def rad2deg(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Radians to degrees."""
def rad2deg_(input: _Tensor) -> _Tensor:
    """`rad2deg`, in place."""
def relu(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """max(x, 0)."""
def relu_(input: _Tensor) -> _Tensor:
    """`relu`, in place."""
def remainder(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The remainder with the sign of the divisor, as Python's %."""
def sigmoid(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """1 / (1 + exp(-x))."""
def sigmoid_(input: _Tensor) -> _Tensor:
    """`sigmoid`, in place."""
def sin(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The sine."""
def sin_(input: _Tensor) -> _Tensor:
    """`sin`, in place."""
def sinc(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
def sinc_(input: _Tensor) -> _Tensor:
    """`sinc`, in place."""
def sinh(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The hyperbolic sine."""
def sinh_(input: _Tensor) -> _Tensor:
    """`sinh`, in place."""
def sqrt(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The square root; NaN below zero."""
def sqrt_(input: _Tensor) -> _Tensor:
    """`sqrt`, in place."""
def tan(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The tangent."""
def tan_(input: _Tensor) -> _Tensor:
    """`tan`, in place."""
def tanh(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The hyperbolic tangent."""
def tanh_(input: _Tensor) -> _Tensor:
    """`tanh`, in place."""
def true_divide(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The quotient; integers give floating-point numbers."""
