"""Special functions under PyTorch's names: gamma, error, Bessel functions, orthogonal polynomials.

The derivatives, and where they come from, are in `rules/special.py`. `pytorch/special.py` is the
namespace; the names that PyTorch has in the package itself are taken from here too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of
from wengert.autograd.operands import cast, floating
from wengert.autograd.record import recorder
from wengert.autograd.settings import refuses
from wengert.dispatch import Function, called, require
from wengert.functions.arguments import constant, operands_of, takes_out, tensor_of
from wengert.functions.elementary import digamma, i0, lgamma, sigmoid
from wengert.functions.math import clamp
from wengert.functions.shapes import broadcast_shapes
from wengert.rules import special as rules
from wengert.rules.elementwise import spherical_bessel
from wengert.tensor import Tensor, wrap


def _one(function: Function, name: str, doc: str) -> Function:
    """A function of one tensor: what records it takes PyTorch's arguments itself."""
    record = recorder(function)
    return called(record, name, doc, __name__)


def _two(function: Function, name: str, doc: str, tensors: int = 0) -> Function:
    """A function of two tensors, broadcast; one may be a number if not all `tensors` have to be."""
    record = recorder(function)

    @refuses(input="c", other="c")
    def apply(input: Any, other: Any) -> Tensor:
        if (
            type(input) is type(other) is Tensor
            and input._array.dtype is other._array.dtype
            and dtypes.is_inexact(input._array.dtype)
        ):
            return record(input, other)
        return record(*_pair(*operands_of(apply, tensors, (input, other))))

    return takes_out(called(apply, name, doc, __name__))


def _pair(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Two operands as floating tensors of one dtype."""
    for name, x in (("input", a), ("other", b)):
        if isinstance(x, (str, type(None))):
            raise TypeError(
                f"argument '{name}' must be a Tensor or a number, not {type(x).__name__}"
            )
    a, b = (tensor_of(x) if isinstance(x, (list, tuple)) else x for x in (a, b))
    kind = dtypes.result_type(array_of(a), array_of(b))
    kind = kind if dtypes.is_inexact(kind) else dtypes.get_default_dtype()
    a, b = (x if isinstance(x, Tensor) else wrap(np.asarray(x, kind)) for x in (a, b))
    return cast(a, kind), cast(b, kind)


# ---- gamma functions -------------------------------------------------------------------------

gammaln, psi, expit = lgamma, digamma, sigmoid
gammainc = igamma = _two(
    rules.gammainc,
    "igamma",
    """The regularised lower incomplete gamma function: 1/Gamma(a) int_0^x s^(a-1) e^-s ds.

    `input` is a, `other` is x; differentiable by both.

    >>> import wengert as wg
    >>> wg.special.gammainc(wg.tensor(1.0), wg.tensor(2.0))  # 1 - exp(-2)
    tensor(0.8647)
    """,
    2,
)
gammaincc = igammac = _two(
    rules.gammaincc,
    "igammac",
    "The regularised upper incomplete gamma function, 1 - gammainc(a, x); differentiable by both.",
    2,
)


@takes_out
def betainc(a: Any, b: Any, x: Any) -> Tensor:
    """The regularised incomplete beta function: 1/B(a, b) int_0^x t^(a-1) (1-t)^(b-1) dt.

    Differentiable by all three. (JAX and SciPy have it by this name.)

    >>> import wengert as wg
    >>> wg.special.betainc(wg.tensor(1.0), 2.0, 0.5)  # 1 - (1 - x)^2
    tensor(0.7500)
    """
    a, b = _pair(a, b)
    a, x = _pair(a, x)
    return recorder(rules.betainc)(a, cast(b, a.dtype), x)


zeta = _two(
    rules.zeta,
    "zeta",
    "The Hurwitz zeta function: the sum of (k + q)^-x over k = 0, 1, ...; differentiable by both.",
)
_polygamma = recorder(rules.polygamma)


@takes_out
@refuses(input="c")
def polygamma(n: int, input: Any) -> Tensor:
    """The n-th derivative of digamma: (-1)^(n+1) n! zeta(n+1, x).

    >>> import wengert as wg
    >>> wg.polygamma(1, wg.tensor(1.0))  # pi^2 / 6
    tensor(1.6449)
    """
    if isinstance(n, Tensor):
        raise TypeError(
            "polygamma(): argument 'n' must be an int, not a Tensor: the order comes first, as in "
            "polygamma(1, x); the method is x.polygamma(1)"
        )
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, got n = {n}.")
    return _polygamma(floating(tensor_of(input)), int(n))


@takes_out
@refuses(input="b")
def multigammaln(input: Any, p: int) -> Tensor:
    """The multivariate log-gamma function of dimension p.

    log(pi) p (p-1) / 4 + the sum of lgamma(x - j/2) over j = 0 ... p-1; x must exceed (p-1)/2.
    """
    input = floating(tensor_of(input))
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, got p = {p}")
    require(~(input._array <= (p - 1) / 2), _too_small, input._array, (p - 1) / 2)
    steps = wrap(np.arange(p, dtype=input.dtype) / 2)
    total = lgamma(input.unsqueeze(-1) - steps).sum(-1)
    return total + math.log(math.pi) * p * (p - 1) / 4


def _too_small(x: Any, bound: float) -> RuntimeError:
    return RuntimeError(
        f"All elements must be greater than (p-1)/2 = {bound}, but the smallest is {x.min()}"
    )


mvlgamma = multigammaln

# ---- error functions, the normal distribution ------------------------------------------------

erfcx = _one(rules.erfcx, "erfcx", "exp(x^2) erfc(x), which does not underflow.")
ndtr = _one(rules.ndtr, "ndtr", "The standard normal distribution function.")
ndtri = _one(rules.ndtri, "ndtri", "The quantiles of the standard normal distribution.")
log_ndtr = _one(rules.log_ndtr, "log_ndtr", "log(ndtr(x)), accurate far to the left.")

# ---- logarithms ------------------------------------------------------------------------------

xlogy = _two(rules.xlogy, "xlogy", "x log(y), and 0 where x is 0 (NaN where y is NaN).")
xlog1py = _two(rules.xlog1py, "xlog1py", "x log(1 + y), and 0 where x is 0 (NaN where y is NaN).")
entr = _one(rules.entr, "entr", "-x log(x): 0 at 0, minus infinity below.")
_logit = recorder(rules.logit)


@takes_out
@refuses(input="c")
def logit(input: Any, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), the inverse of sigmoid; `eps` keeps x within [eps, 1 - eps]."""
    input = floating(tensor_of(input))
    if eps is None:
        return _logit(input)
    if eps <= 0.5:
        return _logit(clamp(input, eps, 1 - eps))
    # PyTorch looks at the lower bound first, and at the upper one where x is above.
    low, high = (constant(np.full((), bound, input.dtype)) for bound in (eps, 1 - eps))
    return _logit(_where(input < eps, low, _where(input > 1 - eps, high, input)))


_where = recorder(np.where)


# ---- Bessel and Airy functions ---------------------------------------------------------------

bessel_j0 = _one(rules.j0, "bessel_j0", "The Bessel function of the first kind, of order 0.")
bessel_j1 = _one(rules.j1, "bessel_j1", "The Bessel function of the first kind, of order 1.")
bessel_y0 = _one(rules.y0, "bessel_y0", "The Bessel function of the second kind, of order 0.")
bessel_y1 = _one(rules.y1, "bessel_y1", "The Bessel function of the second kind, of order 1.")
modified_bessel_i0 = i0
i1 = modified_bessel_i1 = _one(rules.i1, "i1", "The modified Bessel function I, of order 1.")
i0e = _one(rules.i0e, "i0e", "exp(-|x|) i0(x), which does not overflow.")
i1e = _one(rules.i1e, "i1e", "exp(-|x|) i1(x), which does not overflow.")
modified_bessel_k0 = _one(rules.k0, "modified_bessel_k0", "The modified Bessel function K_0.")
modified_bessel_k1 = _one(rules.k1, "modified_bessel_k1", "The modified Bessel function K_1.")
scaled_modified_bessel_k0 = _one(rules.k0e, "scaled_modified_bessel_k0", "exp(x) K_0(x).")
scaled_modified_bessel_k1 = _one(rules.k1e, "scaled_modified_bessel_k1", "exp(x) K_1(x).")
airy_ai = _one(rules.airy_ai, "airy_ai", "The Airy function Ai.")
_spherical_bessel = recorder(spherical_bessel)


@takes_out
@refuses(input="c")
def spherical_bessel_j0(input: Any) -> Tensor:
    """sin(x) / x, the spherical Bessel function of the first kind, of order 0."""
    return _spherical_bessel(floating(tensor_of(input)), 0)


# ---- orthogonal polynomials ------------------------------------------------------------------
#
# PyTorch's signature is (x, n): the degree, a number or a tensor, is a constant.

_chebyt, _gegenbauer = recorder(rules.chebyt), recorder(rules.gegenbauer)
_hermite, _hermitenorm = recorder(rules.hermite), recorder(rules.hermitenorm)
_genlaguerre = recorder(rules.genlaguerre)


def _degree(x: Any, n: Any) -> tuple[Tensor, Any]:
    """x, broadcast against the degrees, and these as an array or a number."""
    x = tensor_of(x) if isinstance(x, Tensor) or not isinstance(n, Tensor) else wrap(np.asarray(x))
    order = array_of(n)
    if not hasattr(order, "shape"):
        return floating(x), order
    shape = broadcast_shapes(x.shape, order.shape)
    x = floating(cast(x, dtypes.result_type(x._array, order)))
    return (x if x.shape == shape else x.expand(shape)), np.trunc(order)


def _polynomial(name: str, doc: str, value: Any) -> Function:
    @refuses(x="c", n="c")
    def apply(x: Any, n: Any) -> Tensor:
        return value(*_degree(*operands_of(apply, 0, (x, n))))

    return takes_out(called(apply, name, doc, __name__))


def _second_kind(x: Any, n: Any) -> Tensor:
    return _gegenbauer(x, n, 1.0)


chebyshev_polynomial_t = _polynomial(
    "chebyshev_polynomial_t", "T_n(x) = cos(n arccos(x)), of the first kind.", _chebyt
)
chebyshev_polynomial_u = _polynomial(
    "chebyshev_polynomial_u", "U_n(x), of the second kind: T_n' = n U_(n-1).", _second_kind
)
chebyshev_polynomial_v = _polynomial(
    "chebyshev_polynomial_v",
    "V_n(x) = U_n(x) - U_(n-1)(x), of the third kind.",
    lambda x, n: _second_kind(x, n) - _second_kind(x, n - 1),
)
chebyshev_polynomial_w = _polynomial(
    "chebyshev_polynomial_w",
    "W_n(x) = U_n(x) + U_(n-1)(x), of the fourth kind.",
    lambda x, n: _second_kind(x, n) + _second_kind(x, n - 1),
)
hermite_polynomial_h = _polynomial(
    "hermite_polynomial_h", "H_n(x), Hermite's, orthogonal under exp(-x^2).", _hermite
)
hermite_polynomial_he = _polynomial(
    "hermite_polynomial_he", "He_n(x), Hermite's, orthogonal under exp(-x^2/2).", _hermitenorm
)
laguerre_polynomial_l = _polynomial(
    "laguerre_polynomial_l",
    "L_n(x), Laguerre's, orthogonal under exp(-x).",
    lambda x, n: _genlaguerre(x, n, 0.0),
)
legendre_polynomial_p = _polynomial(
    "legendre_polynomial_p",
    "P_n(x), Legendre's, orthogonal on [-1, 1].",
    lambda x, n: _gegenbauer(x, n, 0.5),
)


def _shifted(polynomial: Function) -> Function:
    letter = polynomial.__name__[-1]
    return _polynomial(
        f"shifted_{polynomial.__name__}",
        f"{letter.upper()}_n(2x - 1), Chebyshev's on [0, 1].",
        lambda x, n: polynomial(2 * x - 1, n),
    )


shifted_chebyshev_polynomial_t = _shifted(chebyshev_polynomial_t)
shifted_chebyshev_polynomial_u = _shifted(chebyshev_polynomial_u)
shifted_chebyshev_polynomial_v = _shifted(chebyshev_polynomial_v)
shifted_chebyshev_polynomial_w = _shifted(chebyshev_polynomial_w)
