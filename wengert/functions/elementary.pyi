"""What type checkers see of `elementary.py`; written by `python -m docs.generate.methods`."""

from typing import Any

from wengert.tensor import Tensor

def acos(input: Any, *, out: Any = None) -> Tensor:
    """The inverse cosine."""
def acos_(input: Tensor) -> Tensor:
    """`acos`, in place."""
def acosh(input: Any, *, out: Any = None) -> Tensor:
    """The inverse hyperbolic cosine."""
def acosh_(input: Tensor) -> Tensor:
    """`acosh`, in place."""
def arccos(input: Any, *, out: Any = None) -> Tensor:
    """The inverse cosine."""
def arccos_(input: Tensor) -> Tensor:
    """`arccos`, in place."""
def arccosh(input: Any, *, out: Any = None) -> Tensor:
    """The inverse hyperbolic cosine."""
def arccosh_(input: Tensor) -> Tensor:
    """`arccosh`, in place."""
def arcsin(input: Any, *, out: Any = None) -> Tensor:
    """The inverse sine."""
def arcsin_(input: Tensor) -> Tensor:
    """`arcsin`, in place."""
def arcsinh(input: Any, *, out: Any = None) -> Tensor:
    """The inverse hyperbolic sine."""
def arcsinh_(input: Tensor) -> Tensor:
    """`arcsinh`, in place."""
def arctan(input: Any, *, out: Any = None) -> Tensor:
    """The inverse tangent."""
def arctan2(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The angle of the point (other, input), in (-pi, pi]."""
def arctan_(input: Tensor) -> Tensor:
    """`arctan`, in place."""
def arctanh(input: Any, *, out: Any = None) -> Tensor:
    """The inverse hyperbolic tangent."""
def arctanh_(input: Tensor) -> Tensor:
    """`arctanh`, in place."""
def asin(input: Any, *, out: Any = None) -> Tensor:
    """The inverse sine."""
def asin_(input: Tensor) -> Tensor:
    """`asin`, in place."""
def asinh(input: Any, *, out: Any = None) -> Tensor:
    """The inverse hyperbolic sine."""
def asinh_(input: Tensor) -> Tensor:
    """`asinh`, in place."""
def atan(input: Any, *, out: Any = None) -> Tensor:
    """The inverse tangent."""
def atan2(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The angle of the point (other, input), in (-pi, pi]."""
def atan_(input: Tensor) -> Tensor:
    """`atan`, in place."""
def atanh(input: Any, *, out: Any = None) -> Tensor:
    """The inverse hyperbolic tangent."""
def atanh_(input: Tensor) -> Tensor:
    """`atanh`, in place."""
def copysign(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The size of one with the sign of the other."""
def cos(input: Any, *, out: Any = None) -> Tensor:
    """The cosine."""
def cos_(input: Tensor) -> Tensor:
    """`cos`, in place."""
def cosh(input: Any, *, out: Any = None) -> Tensor:
    """The hyperbolic cosine."""
def cosh_(input: Tensor) -> Tensor:
    """`cosh`, in place."""
def deg2rad(input: Any, *, out: Any = None) -> Tensor:
    """Degrees to radians."""
def deg2rad_(input: Tensor) -> Tensor:
    """`deg2rad`, in place."""
def digamma(input: Any, *, out: Any = None) -> Tensor:
    """The derivative of log Gamma(x)."""
def digamma_(input: Tensor) -> Tensor:
    """`digamma`, in place."""
def erf(input: Any, *, out: Any = None) -> Tensor:
    """The error function."""
def erf_(input: Tensor) -> Tensor:
    """`erf`, in place."""
def erfc(input: Any, *, out: Any = None) -> Tensor:
    """1 - erf(x), accurate where erf is close to 1."""
def erfc_(input: Tensor) -> Tensor:
    """`erfc`, in place."""
def erfinv(input: Any, *, out: Any = None) -> Tensor:
    """The inverse of erf; infinite at -1 and 1, NaN beyond."""
def erfinv_(input: Tensor) -> Tensor:
    """`erfinv`, in place."""
def exp(input: Any, *, out: Any = None) -> Tensor:
    """e to the power x."""
def exp2(input: Any, *, out: Any = None) -> Tensor:
    """2 to the power x."""
def exp2_(input: Tensor) -> Tensor:
    """`exp2`, in place."""
def exp_(input: Tensor) -> Tensor:
    """`exp`, in place."""
def expm1(input: Any, *, out: Any = None) -> Tensor:
    """exp(x) - 1, accurate near 0."""
def expm1_(input: Tensor) -> Tensor:
    """`expm1`, in place."""
def floor_divide(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The quotient rounded towards minus infinity."""
def fmax(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The larger of two; a NaN loses to a number."""
def fmin(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The smaller of two; a NaN loses to a number."""
def fmod(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The remainder with the sign of the dividend, as C's fmod."""
def hypot(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """sqrt(a^2 + b^2), without overflow."""
def i0(input: Any, *, out: Any = None) -> Tensor:
    """The modified Bessel function I, of order 0."""
def i0_(input: Tensor) -> Tensor:
    """`i0`, in place."""
def lgamma(input: Any, *, out: Any = None) -> Tensor:
    """log |Gamma(x)|."""
def lgamma_(input: Tensor) -> Tensor:
    """`lgamma`, in place."""
def log(input: Any, *, out: Any = None) -> Tensor:
    """The natural logarithm."""
def log10(input: Any, *, out: Any = None) -> Tensor:
    """The logarithm to base 10."""
def log10_(input: Tensor) -> Tensor:
    """`log10`, in place."""
def log1p(input: Any, *, out: Any = None) -> Tensor:
    """log(1 + x), accurate near 0."""
def log1p_(input: Tensor) -> Tensor:
    """`log1p`, in place."""
def log2(input: Any, *, out: Any = None) -> Tensor:
    """The logarithm to base 2."""
def log2_(input: Tensor) -> Tensor:
    """`log2`, in place."""
def log_(input: Tensor) -> Tensor:
    """`log`, in place."""
def maximum(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The larger of two, element by element; NaN if either is."""
def minimum(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The smaller of two, element by element; NaN if either is."""
def mul(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The product of two tensors, element by element."""
def multiply(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The product of two tensors, element by element."""
def neg(input: Any, *, out: Any = None) -> Tensor:
    """-x."""
def neg_(input: Tensor) -> Tensor:
    """`neg`, in place."""
def negative(input: Any, *, out: Any = None) -> Tensor:
    """-x."""
def negative_(input: Tensor) -> Tensor:
    """`negative`, in place."""
def positive(input: Any, *, out: Any = None) -> Tensor:
    """x itself."""
def rad2deg(input: Any, *, out: Any = None) -> Tensor:
    """Radians to degrees."""
def rad2deg_(input: Tensor) -> Tensor:
    """`rad2deg`, in place."""
def relu(input: Any, *, out: Any = None) -> Tensor:
    """max(x, 0)."""
def relu_(input: Tensor) -> Tensor:
    """`relu`, in place."""
def remainder(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The remainder with the sign of the divisor, as Python's %."""
def sigmoid(input: Any, *, out: Any = None) -> Tensor:
    """1 / (1 + exp(-x))."""
def sigmoid_(input: Tensor) -> Tensor:
    """`sigmoid`, in place."""
def sin(input: Any, *, out: Any = None) -> Tensor:
    """The sine."""
def sin_(input: Tensor) -> Tensor:
    """`sin`, in place."""
def sinc(input: Any, *, out: Any = None) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
def sinc_(input: Tensor) -> Tensor:
    """`sinc`, in place."""
def sinh(input: Any, *, out: Any = None) -> Tensor:
    """The hyperbolic sine."""
def sinh_(input: Tensor) -> Tensor:
    """`sinh`, in place."""
def sqrt(input: Any, *, out: Any = None) -> Tensor:
    """The square root; NaN below zero."""
def sqrt_(input: Tensor) -> Tensor:
    """`sqrt`, in place."""
def tan(input: Any, *, out: Any = None) -> Tensor:
    """The tangent."""
def tan_(input: Tensor) -> Tensor:
    """`tan`, in place."""
def tanh(input: Any, *, out: Any = None) -> Tensor:
    """The hyperbolic tangent."""
def tanh_(input: Tensor) -> Tensor:
    """`tanh`, in place."""
def true_divide(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The quotient; integers give floating-point numbers."""
