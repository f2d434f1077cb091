"""What type checkers see of `wengert.pytorch.special`; written by `python -m docs.generate.stubs`."""

import builtins
import types
import typing
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, NoReturn as _NoReturn

import numpy as _np

from wengert.functions import results as _results
from wengert.functions.results import _Number as _Number, _TensorLike as _TensorLike, _Out as _Out, _Index as _Index, _Dtype as _Dtype, _Ints as _Ints
from wengert.tensor import Size as _Size, Tensor as _Tensor

def digamma(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The derivative of log Gamma(x)."""
def erf(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The error function."""
def erfc(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """1 - erf(x), accurate where erf is close to 1."""
def erfinv(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The inverse of erf; infinite at -1 and 1, NaN beyond."""
def exp2(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """2 to the power x."""
def expm1(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """exp(x) - 1, accurate near 0."""
def i0(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The modified Bessel function I, of order 0."""
def log1p(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """log(1 + x), accurate near 0."""
def sinc(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
def log_softmax(input: _TensorLike, dim: builtins.int | None = None, dtype: _Dtype | None = None, *, out: _Out | None = None, axis: builtins.int | None = ...) -> _Tensor:
    """x - log(sum(exp(x))) along `dim`."""
def round(input: _TensorLike, *, decimals: builtins.int = 0, out: _Out | None = None) -> _Tensor:
    """Rounded to the nearest, halves to even; `decimals` digits after the point."""
def softmax(input: _TensorLike, dim: builtins.int | None = None, dtype: _Dtype | None = None, *, out: _Out | None = None, axis: builtins.int | None = ...) -> _Tensor:
    """exp(x) / sum(exp(x)) along `dim`."""
def logsumexp(input: _TensorLike, dim: builtins.int | _Sequence[builtins.int] | None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: builtins.int | _Sequence[builtins.int] | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """log(sum(exp(x))) over some dimensions, without overflow."""
def airy_ai(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The Airy function Ai."""
def bessel_j0(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The Bessel function of the first kind, of order 0."""
def bessel_j1(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The Bessel function of the first kind, of order 1."""
def bessel_y0(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The Bessel function of the second kind, of order 0."""
def bessel_y1(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The Bessel function of the second kind, of order 1."""
def betainc(a: _Any, b: _Any, x: _Any, *, out: _Out | None = None) -> _Tensor:
    """The regularised incomplete beta function: 1/B(a, b) int_0^x t^(a-1) (1-t)^(b-1) dt."""
def chebyshev_polynomial_t(x: _Any, n: _Any, *, out: _Out | None = None) -> _Tensor:
    """T_n(x) = cos(n arccos(x)), of the first kind."""
def chebyshev_polynomial_u(x: _Any, n: _Any, *, out: _Out | None = None) -> _Tensor:
    """U_n(x), of the second kind: T_n' = n U_(n-1)."""
def chebyshev_polynomial_v(x: _Any, n: _Any, *, out: _Out | None = None) -> _Tensor:
    """V_n(x) = U_n(x) - U_(n-1)(x), of the third kind."""
def chebyshev_polynomial_w(x: _Any, n: _Any, *, out: _Out | None = None) -> _Tensor:
    """W_n(x) = U_n(x) + U_(n-1)(x), of the fourth kind."""
def entr(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """-x log(x): 0 at 0, minus infinity below."""
def erfcx(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """exp(x^2) erfc(x), which does not underflow."""
def expit(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """1 / (1 + exp(-x))."""
def gammainc(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The regularised lower incomplete gamma function: 1/Gamma(a) int_0^x s^(a-1) e^-s ds."""
def gammaincc(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The regularised upper incomplete gamma function, 1 - gammainc(a, x); differentiable by both."""
def gammaln(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """log |Gamma(x)|."""
def hermite_polynomial_h(x: _Any, n: _Any, *, out: _Out | None = None) -> _Tensor:
    """H_n(x), Hermite's, orthogonal under exp(-x^2)."""
def hermite_polynomial_he(x: _Any, n: _Any, *, out: _Out | None = None) -> _Tensor:
    """He_n(x), Hermite's, orthogonal under exp(-x^2/2)."""
def i0e(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """exp(-|x|) i0(x), which does not overflow."""
def i1(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The modified Bessel function I, of order 1."""
def i1e(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """exp(-|x|) i1(x), which does not overflow."""
def laguerre_polynomial_l(x: _Any, n: _Any, *, out: _Out | None = None) -> _Tensor:
    """L_n(x), Laguerre's, orthogonal under exp(-x)."""
def legendre_polynomial_p(x: _Any, n: _Any, *, out: _Out | None = None) -> _Tensor:
    """P_n(x), Legendre's, orthogonal on [-1, 1]."""
def log_ndtr(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """log(ndtr(x)), accurate far to the left."""
def logit(input: _TensorLike, eps: builtins.float | None = None, *, out: _Out | None = None) -> _Tensor:
    """log(x / (1 - x)), the inverse of sigmoid; `eps` keeps x within [eps, 1 - eps]."""
def modified_bessel_i0(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The modified Bessel function I, of order 0."""
def modified_bessel_i1(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The modified Bessel function I, of order 1."""
def modified_bessel_k0(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The modified Bessel function K_0."""
def modified_bessel_k1(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The modified Bessel function K_1."""
def multigammaln(input: _TensorLike, p: builtins.int, *, out: _Out | None = None) -> _Tensor:
    """The multivariate log-gamma function of dimension p."""
def ndtr(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The standard normal distribution function."""
def ndtri(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The quantiles of the standard normal distribution."""
def polygamma(n: builtins.int, input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The n-th derivative of digamma: (-1)^(n+1) n! zeta(n+1, x)."""
def psi(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The derivative of log Gamma(x)."""
def scaled_modified_bessel_k0(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """exp(x) K_0(x)."""
def scaled_modified_bessel_k1(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """exp(x) K_1(x)."""
def shifted_chebyshev_polynomial_t(x: _Any, n: _Any, *, out: _Out | None = None) -> _Tensor:
    """T_n(2x - 1), Chebyshev's on [0, 1]."""
def shifted_chebyshev_polynomial_u(x: _Any, n: _Any, *, out: _Out | None = None) -> _Tensor:
    """U_n(2x - 1), Chebyshev's on [0, 1]."""
def shifted_chebyshev_polynomial_v(x: _Any, n: _Any, *, out: _Out | None = None) -> _Tensor:
    """V_n(2x - 1), Chebyshev's on [0, 1]."""
def shifted_chebyshev_polynomial_w(x: _Any, n: _Any, *, out: _Out | None = None) -> _Tensor:
    """W_n(2x - 1), Chebyshev's on [0, 1]."""
def spherical_bessel_j0(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """sin(x) / x, the spherical Bessel function of the first kind, of order 0."""
def xlog1py(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """x log(1 + y), and 0 where x is 0 (NaN where y is NaN)."""
def xlogy(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """x log(y), and 0 where x is 0 (NaN where y is NaN)."""
def zeta(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The Hurwitz zeta function: the sum of (k + q)^-x over k = 0, 1, ...; differentiable by both."""
