"""Special functions: SciPy's, with their derivatives.

Each is a primitive under SciPy's name. The body imports SciPy, so that importing this package does
not, and so that SciPy's own function, called on a Tensor, finds its rule here by name (`SCIPY`).
Formulas are those of the NIST Digital Library of Mathematical Functions (https://dlmf.nist.gov);
numbers in parentheses are its equations.

Where a derivative could be written with the function itself, divided by x, the recurrence over the
order stands instead: it has no pole at 0, so that derivatives of every order are right there too.
"""

from __future__ import annotations

import functools
import math
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from wengert.dispatch import Function, called, primitive, quietly, signature
from wengert.dispatch import as_array as _as_array
from wengert.rules import formulas, incomplete_beta, incomplete_gamma, neural, reductions
from wengert.rules.elementwise import FEW
from wengert.rules.rule import elementwise
from wengert.rules.ways import implemented, way
from wengert.rules.zeta import slope as zeta_slope

SCIPY: dict[str, Function] = {
    "erf": neural.erf,
    "expit": neural.sigmoid,
    "log_expit": neural.log_sigmoid,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "cbrt": np.cbrt,
    "softmax": reductions.softmax,
    "logsumexp": reductions.logsumexp,
}
"""Functions of `scipy.special` by name: ours, or NumPy's that do the same."""


def _scipy(name: str, *arguments: str) -> Function:
    """The primitive that is `scipy.special.NAME` of arrays, with `arguments` for its parameters."""

    def function(*values: Any) -> Any:
        from scipy import special

        return _narrow(getattr(special, name)(*values), values)

    doc = f"`scipy.special.{name}`, element by element."
    dispatched = SCIPY[name] = _named(function, name, doc, *(arguments or ("x",)))
    return dispatched


def _named(function: Function, name: str, doc: str, *arguments: str) -> Function:
    function.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(n, Parameter.POSITIONAL_OR_KEYWORD) for n in arguments]
    )
    return primitive(called(function, name, doc))


def _narrow(y: Any, values: Any) -> Any:
    """`y` in the precision of floating-point arguments: SciPy may compute in a higher one."""
    kinds = [x.dtype for x in values if hasattr(x, "dtype") and x.dtype.kind in "fcV"]
    if not kinds or y.dtype == (kind := np.result_type(*kinds)):
        return y
    return y.astype(kind)


def _of_last(name: str, *arguments: str) -> Function:
    """SciPy's `NAME(..., x)`, whose other arguments, as an order, are constants; with x first."""

    def function(x: Any, *others: Any) -> Any:
        from scipy import special

        return _narrow(getattr(special, name)(*others, x), [x])

    doc = f"`scipy.special.{name}({', '.join(arguments)}, x)`, element by element."
    return _named(function, name, doc, "x", *arguments)


def _by_x(function: Function, rule: Function) -> None:
    """Register a function that is differentiated by its first argument, and by no other."""
    _, *others = signature(function)[0]
    elementwise(function, rule, constants=tuple(others), unstated=tuple(others))


# ---- the gamma function and its kin ----------------------------------------------------------

gammaln = _scipy("gammaln")
gamma = _scipy("gamma")
digamma = SCIPY["digamma"] = _scipy("psi")
beta = _scipy("beta", "a", "b")
betaln = _scipy("betaln", "a", "b")
zeta = _scipy("zeta", "a", "b")
gammainc = _scipy("gammainc", "a", "b")
gammaincc = _scipy("gammaincc", "a", "b")
gammaincinv = _scipy("gammaincinv", "a", "b")
gammainccinv = _scipy("gammainccinv", "a", "b")


@primitive
def polygamma(x: Any, order: int) -> Any:
    """The derivative of digamma of the given order: (-1)^(n+1) n! zeta(n+1, x) (5.15.1)."""
    if order < 2:
        return formulas.trigamma(x) if order else digamma(x)
    return zeta(order + 1.0, x) * float(math.factorial(order) * (-1) ** (order + 1))


elementwise(gammaln, lambda t, x: t * digamma(x), names="lgamma", doc="log |Gamma(x)|.")
elementwise(gamma, lambda t, x, y: t * y * digamma(x))
rgamma = _scipy("rgamma")
# 1 / Gamma has zeros where digamma has poles: there the derivative is (-1)^n n! (5.7.1).
elementwise(rgamma, lambda t, x, y: t * _rgamma_slope(x, y))
gammasgn = _scipy("gammasgn")
elementwise(gammasgn, lambda t, x: np.zeros_like(t))


def _rgamma_slope(x: Any, y: Any) -> Any:
    pole = (x <= 0) & (np.floor(x) == x)
    n = np.where(pole, -x, 0)
    at_pole = (1 - 2 * np.remainder(n, 2)) * gamma(n + 1)
    return np.where(pole, at_pole, -y * digamma(np.where(pole, 1, x)))


elementwise(
    digamma,
    lambda t, x: t * polygamma(x, 1),
    names="digamma",
    doc="The derivative of log Gamma(x).",
)
elementwise(polygamma, lambda t, x, order: t * polygamma(x, order + 1))
elementwise(
    beta,
    lambda t, a, b, y: t * y * (digamma(a) - digamma(a + b)),
    lambda t, a, b, y: t * y * (digamma(b) - digamma(a + b)),
)
elementwise(
    betaln,
    lambda t, a, b: t * (digamma(a) - digamma(a + b)),
    lambda t, a, b: t * (digamma(b) - digamma(a + b)),
)
elementwise(zeta, lambda t, a, b: t * zeta_slope(a, b), lambda t, a, b: -t * a * zeta(a + 1, b))


def _gamma_density(a: Any, x: Any) -> Any:
    """x^(a-1) e^-x / Gamma(a), the slope of the regularised incomplete gamma function (8.8.13)."""
    scale = gammaln(a) if hasattr(a, "dtype") else math.lgamma(a)
    return np.exp(xlogy(a - 1, x) - x - scale)


@functools.partial(primitive, opaque=True, result=lambda a, b, order: (a + b) * 1.0)
def gamma_moment(a: Any, b: Any, order: int) -> Any:
    """int_0^b p(t) (log t - digamma(a))^order dt for the gamma density p of shape a."""
    return _narrow(incomplete_gamma.moment(a, b, order), [a, b])


def _gamma_moment_by_shape(t: Any, a: Any, b: Any, order: int) -> Any:
    """The density's logarithm moves by log t - digamma(a), what it weighs by -trigamma(a)."""
    slope = gamma_moment(a, b, order + 1)
    if order > 0:
        slope = slope - order * polygamma(_as_array(a), 1) * gamma_moment(a, b, order - 1)
    return t * slope


elementwise(
    gamma_moment,
    _gamma_moment_by_shape,
    lambda t, a, b, order: t * _gamma_density(a, b) * (np.log(b) - digamma(_as_array(a))) ** order,
)
elementwise(
    gammainc,
    lambda t, a, b: t * gamma_moment(a, b, 1),
    lambda t, a, b: t * _gamma_density(a, b),
    name="Igamma",
)
elementwise(
    gammaincc,
    lambda t, a, b: -t * gamma_moment(a, b, 1),
    lambda t, a, b: -t * _gamma_density(a, b),
    name="Igammac",
)
# The quantile y of a gamma distribution: P(a, y) = b stays as it is when a and y move together
# (Figurnov, Mohamed, Mnih, 2018).
elementwise(
    gammaincinv,
    lambda t, a, y: -t * (gamma_moment(a, y, 1) / _gamma_density(a, y)),
    lambda t, a, y: t / _gamma_density(a, y),
)
elementwise(
    gammainccinv,
    lambda t, a, y: -t * (gamma_moment(a, y, 1) / _gamma_density(a, y)),
    lambda t, a, y: -t / _gamma_density(a, y),
)


@functools.partial(primitive, opaque=True, result=lambda a, b, drawn: (a + b + drawn) * 1.0)
def moved_gamma(a: Any, b: Any, drawn: Any) -> Any:
    """The gamma variable b of shape `drawn`, moved to the shape a: to the same quantile there.

    Where nothing moves, as for a sample just drawn, that is b itself.
    """
    if np.array_equal(a, drawn):
        return _narrow(np.broadcast_to(b, np.broadcast_shapes(np.shape(a), np.shape(b))), [a, b])
    return gammaincinv(a, gammainc(drawn, b))


# P(a, y) = P(drawn, b) stays as it is.
elementwise(
    moved_gamma,
    lambda t, a, y: -t * (gamma_moment(a, y, 1) / _gamma_density(a, y)),
    lambda t, a, b, drawn, y: t * (_gamma_density(drawn, b) / _gamma_density(a, y)),
    lambda t, a, b, drawn, y: t * (gamma_moment(drawn, b, 1) / _gamma_density(a, y)),
)

# ---- the incomplete beta function and Student's distribution ---------------------------------

betainc = _scipy("betainc", "a", "b", "x")
betaincinv = _scipy("betaincinv", "a", "b", "p")
stdtr = _scipy("stdtr", "a", "b")
stdtrit = _scipy("stdtrit", "a", "b")


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    """x^(a-1) (1-x)^(b-1) / B(a, b), the slope of the regularised incomplete beta function."""
    return np.exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(_as_array(a), b))


@functools.partial(primitive, opaque=True, result=lambda a, b, x, m, n: (a + b + x) * 1.0)
def beta_moment(a: Any, b: Any, x: Any, m: int, n: int) -> Any:
    """The central moment m, n of log t and log(1 - t) over the beta density p(t) from 0 to x."""
    return _narrow(incomplete_beta.moment(a, b, x, m, n), [a, b, x])


def _beta_moment_by_a(t: Any, a: Any, b: Any, x: Any, m: int, n: int) -> Any:
    """The density's logarithm moves by log t - E log t; the means move by trigammas."""
    slope, both = beta_moment(a, b, x, m + 1, n), polygamma(_as_array(a + b), 1)
    if m > 0:
        slope = slope - m * (polygamma(_as_array(a), 1) - both) * beta_moment(a, b, x, m - 1, n)
    return t * (slope + n * both * beta_moment(a, b, x, m, n - 1) if n > 0 else slope)


def _beta_moment_by_b(t: Any, a: Any, b: Any, x: Any, m: int, n: int) -> Any:
    slope, both = beta_moment(a, b, x, m, n + 1), polygamma(_as_array(a + b), 1)
    if n > 0:
        slope = slope - n * (polygamma(_as_array(b), 1) - both) * beta_moment(a, b, x, m, n - 1)
    return t * (slope + m * both * beta_moment(a, b, x, m - 1, n) if m > 0 else slope)


def _beta_moment_by_x(t: Any, a: Any, b: Any, x: Any, m: int, n: int) -> Any:
    both = digamma(_as_array(a + b))
    slope = t * _beta_density(a, b, x)
    if m > 0:
        slope = slope * (np.log(x) - digamma(_as_array(a)) + both) ** m
    return slope * (np.log1p(-x) - digamma(_as_array(b)) + both) ** n if n > 0 else slope


elementwise(beta_moment, _beta_moment_by_a, _beta_moment_by_b, _beta_moment_by_x)
elementwise(
    betainc,
    lambda t, a, b, x: t * beta_moment(a, b, x, 1, 0),
    lambda t, a, b, x: t * beta_moment(a, b, x, 0, 1),
    lambda t, a, b, x: t * _beta_density(a, b, x),
)

# The quantile y: I_y(a, b) = p stays as it is when a or b moves.
elementwise(
    betaincinv,
    lambda t, a, b, y: -t * (beta_moment(a, b, y, 1, 0) / _beta_density(a, b, y)),
    lambda t, a, b, y: -t * (beta_moment(a, b, y, 0, 1) / _beta_density(a, b, y)),
    lambda t, a, b, y: t / _beta_density(a, b, y),
)


def _student_density(a: Any, b: Any) -> Any:
    """Student's density at b with a degrees of freedom: (1 + b^2/a)^(-(a+1)/2) / norm."""
    a = _as_array(a)
    norm = 0.5 * np.log(a) + betaln(a / 2, np.full_like(a / 2, 0.5))
    return np.exp(-0.5 * (a + 1) * np.log1p(b * b / a) - norm)


def _student_by_degrees(a: Any, b: Any) -> Any:
    """dF/da: with w = a / (a + b^2) fixed, F is an incomplete beta function, and db = b / 2a da."""
    a, w = _as_array(a), a / (a + b * b)
    moved = beta_moment(a / 2, np.full_like(a / 2, 0.5), w, 1, 0)
    return -np.sign(b) * moved / 4 - _student_density(a, b) * b / (2 * a)


elementwise(
    stdtr, lambda t, a, b: t * _student_by_degrees(a, b), lambda t, a, b: t * _student_density(a, b)
)
elementwise(
    stdtrit,
    lambda t, a, y: -t * _student_by_degrees(a, y) / _student_density(a, y),
    lambda t, a, y: t / _student_density(a, y),
)

# ---- error functions, the normal distribution --------------------------------------------------

erfc = _scipy("erfc")
erfcx = _scipy("erfcx")
erfi = _scipy("erfi")


@primitive
@neural.in_single
@implemented
def erfinv(x: Any) -> Any:
    """The inverse of erf."""
    from scipy import special

    return special.erfinv(x)


way(erfinv, lambda x: x.dtype == np.float32 and (type(x) is not np.ndarray or x.size > FEW))(
    formulas.erfinv
)

SCIPY["erfinv"] = erfinv
erfcinv = _scipy("erfcinv")
dawsn = _scipy("dawsn")
ndtr = _scipy("ndtr")
ndtri = _scipy("ndtri")
log_ndtr = _scipy("log_ndtr")

_SLOPE = 2 / math.sqrt(math.pi)  # of erf at 0

elementwise(
    erfc,
    lambda t, x: t * -_SLOPE * np.exp(-x * x),
    names="erfc",
    doc="1 - erf(x), accurate where erf is close to 1.",
)
elementwise(erfcx, lambda t, x, y: t * (2 * x * y - _SLOPE))
elementwise(erfi, lambda t, x: t * _SLOPE * np.exp(x * x))
elementwise(
    erfinv,
    lambda t, x: t * np.exp(np.square(erfinv(x))) / _SLOPE,
    names="erfinv",
    doc="The inverse of erf; infinite at -1 and 1, NaN beyond.",
)
elementwise(erfcinv, lambda t, y: -t * np.exp(y * y) / _SLOPE)
elementwise(dawsn, lambda t, x, y: t * (1 - 2 * x * y))
elementwise(ndtr, lambda t, x: t * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi))
elementwise(ndtri, lambda t, y: t * np.exp(0.5 * y * y) * math.sqrt(2 * math.pi))
# The ratio of density and distribution underflows in both; erfcx is their scaled form.
elementwise(
    log_ndtr, lambda t, x: t * math.sqrt(2 / math.pi) / erfcx(x * -math.sqrt(0.5)), name="LogNdtr"
)

# ---- logarithms --------------------------------------------------------------------------------


@primitive
@neural.in_single
@quietly  # infinite at 0 and 1, NaN outside
def logit(x: Any) -> Any:
    """log(x / (1 - x)); near 1/2, where the quotient is near 1, by log1p."""
    away, apart = 1 - x, x + x - 1
    near, far = np.log1p(apart / away), np.log(x / away)
    return np.where(np.absolute(apart) < 0.5, near, far)


SCIPY["logit"] = logit
xlogy = _scipy("xlogy", "a", "b")
xlog1py = _scipy("xlog1py", "a", "b")
entr = _scipy("entr")
rel_entr = _scipy("rel_entr", "a", "b")
kl_div = _scipy("kl_div", "a", "b")


def _log_beside(a: Any, outside: Any, slope: Any) -> Any:
    """The logarithm that a multiplies; where it is infinite and a is 0, so is the product."""
    return np.where((a == 0) & outside, 0, slope)


elementwise(logit, lambda t, x: t / (x * (1 - x)))
elementwise(
    xlogy,
    lambda t, a, b: t * _log_beside(a, b <= 0, np.log(np.where((a == 0) & (b <= 0), 1, b))),
    lambda t, a, b: t * (a / np.where((a == 0) & (b == 0), 1, b)),
)
elementwise(
    xlog1py,
    lambda t, a, b: t * _log_beside(a, b <= -1, np.log1p(np.where((a == 0) & (b <= -1), 0, b))),
    lambda t, a, b: t * (a / np.where((a == 0) & (b == -1), 1, 1 + b)),
)
elementwise(entr, lambda t, x: t * (-1 - np.log(x)))
elementwise(rel_entr, lambda t, a, b: t * (np.log(a / b) + 1), lambda t, a, b: -t * (a / b))
elementwise(kl_div, lambda t, a, b: t * np.log(a / b), lambda t, a, b: t * (1 - a / b))

# ---- exponential integrals ---------------------------------------------------------------------

exp1 = _scipy("exp1")
expi = _scipy("expi")
elementwise(exp1, lambda t, x: -t * np.exp(-x) / x)
elementwise(expi, lambda t, x: t * np.exp(x) / x)

# ---- Bessel functions --------------------------------------------------------------------------
#
# 2 J_v' = J_{v-1} - J_{v+1}, and Y likewise (10.6.1); 2 I_v' = I_{v-1} + I_{v+1} and
# -2 K_v' = K_{v-1} + K_{v+1} (10.29.1). Scaled ones are e^-|x| I_v and e^x K_v.

jv, yv, iv, ive, kv, kve = (
    _of_last(name, "order") for name in ("jv", "yv", "iv", "ive", "kv", "kve")
)
j0, j1, y0, y1 = _scipy("j0"), _scipy("j1"), _scipy("y0"), _scipy("y1")
i0, i1, i0e, i1e = _scipy("i0"), _scipy("i1"), _scipy("i0e"), _scipy("i1e")
k0, k1, k0e, k1e = _scipy("k0"), _scipy("k1"), _scipy("k0e"), _scipy("k1e")

for _function in (jv, yv):
    _by_x(
        _function,
        (lambda f: lambda t, x, order: t * (f(x, order - 1) - f(x, order + 1)) / 2)(_function),
    )
_by_x(iv, lambda t, x, order: t * (iv(x, order - 1) + iv(x, order + 1)) / 2)
_by_x(kv, lambda t, x, order: -t * (kv(x, order - 1) + kv(x, order + 1)) / 2)
_by_x(
    ive, lambda t, x, order, y: t * ((ive(x, order - 1) + ive(x, order + 1)) / 2 - np.sign(x) * y)
)
_by_x(kve, lambda t, x, order, y: t * (y - (kve(x, order - 1) + kve(x, order + 1)) / 2))
elementwise(j0, lambda t, x: -t * j1(x))
elementwise(j1, lambda t, x: t * (j0(x) - jv(x, 2)) / 2)
elementwise(y0, lambda t, x: -t * y1(x))
elementwise(y1, lambda t, x: t * (y0(x) - yv(x, 2)) / 2)
elementwise(
    i0, lambda t, x: t * i1(x), names="i0", doc="The modified Bessel function I, of order 0."
)
elementwise(i1, lambda t, x: t * (i0(x) + iv(x, 2)) / 2)
elementwise(i0e, lambda t, x, y: t * (i1e(x) - np.sign(x) * y))
elementwise(i1e, lambda t, x, y: t * ((i0e(x) + ive(x, 2)) / 2 - np.sign(x) * y))
elementwise(k0, lambda t, x: -t * k1(x))
elementwise(k1, lambda t, x: -t * (k0(x) + kv(x, 2)) / 2)
elementwise(k0e, lambda t, x, y: t * (y - k1e(x)))
elementwise(k1e, lambda t, x, y: t * (y - (k0e(x) + kve(x, 2)) / 2))


@primitive
def airy_ai(x: Any) -> Any:
    """The Airy function Ai."""
    from scipy import special

    return _narrow(special.airy(x)[0], [x])


@primitive
def airy_aip(x: Any) -> Any:
    """The derivative of the Airy function Ai."""
    from scipy import special

    return _narrow(special.airy(x)[1], [x])


elementwise(airy_ai, lambda t, x: t * airy_aip(x))
elementwise(airy_aip, lambda t, x: t * x * airy_ai(x))  # Ai'' = x Ai (9.2.1)

# ---- orthogonal polynomials --------------------------------------------------------------------
#
# All families of PyTorch come from three: Gegenbauer's C^(a) holds Chebyshev's U = C^(1) and
# Legendre's P = C^(1/2), and C^(a)' = 2 a C^(a+1) one degree lower (18.9.19).


def _polynomial(name: str, *parameters: str) -> Function:
    """`scipy.special.NAME(degree, ..., x)` with x first; 0 for negative degrees."""

    def function(x: Any, order: Any, *rest: Any) -> Any:
        from scipy import special

        order = np.asarray(order).astype(np.int64)  # with integers SciPy runs the recurrence
        value = getattr(special, name)(np.maximum(order, 0), *rest, x)
        return _narrow(np.where(order < 0, 0, value), [x])

    doc = f"`scipy.special.{name}`, with the degree as `order`; 0 if that is negative."
    return _named(function, name.removeprefix("eval_"), doc, "x", "order", *parameters)


chebyt = _polynomial("eval_chebyt")
gegenbauer = _polynomial("eval_gegenbauer", "parameter")
genlaguerre = _polynomial("eval_genlaguerre", "parameter")
hermite = _polynomial("eval_hermite")
hermitenorm = _polynomial("eval_hermitenorm")


def _factor(order: Any, dtype: Any) -> Any:
    """Degrees to multiply by; an array of integers would make single precision double."""
    return order.astype(dtype) if hasattr(order, "dtype") else order


_by_x(chebyt, lambda t, x, order: t * _factor(order, t.dtype) * gegenbauer(x, order - 1, 1.0))
_by_x(
    gegenbauer,
    lambda t, x, order, parameter: t * 2 * parameter * gegenbauer(x, order - 1, parameter + 1),
)
_by_x(genlaguerre, lambda t, x, order, parameter: -t * genlaguerre(x, order - 1, parameter + 1))
_by_x(hermite, lambda t, x, order: t * 2 * _factor(order, t.dtype) * hermite(x, order - 1))
_by_x(hermitenorm, lambda t, x, order: t * _factor(order, t.dtype) * hermitenorm(x, order - 1))

# ---- hypergeometric functions ------------------------------------------------------------------
#
# Kummer's function M(a, b, x), and Gauss' function F(a, b; c; x).

hyp1f1 = _of_last("hyp1f1", "a", "b")
hyp2f1 = _of_last("hyp2f1", "a", "b", "c")

_by_x(hyp1f1, lambda t, x, a, b: t * a / b * hyp1f1(x, a + 1, b + 1))  # 13.3.15
_by_x(
    hyp2f1,
    lambda t, x, a, b, c: t * a * b / c * hyp2f1(x, a + 1, b + 1, c + 1),  # 15.5.1
)

# ---- SciPy's functions whose constant argument comes first -------------------------------------


def _turned(function: Function) -> Function:
    def meaning(order: Any, x: Any) -> Any:
        return function(x, order)

    return meaning


ORDER_FIRST: dict[str, Function] = {
    name: _turned(function)
    for name, function in {
        "jv": jv, "jn": jv, "yv": yv, "yn": yv, "iv": iv, "ive": ive, "kv": kv, "kn": kv,
        "kve": kve, "eval_chebyt": chebyt, "eval_hermite": hermite,
        "eval_hermitenorm": hermitenorm,
    }.items()
}  # fmt: skip
"""Functions of `scipy.special` called `NAME(order, x)`, differentiable by x only."""


def of_scipy(function: Any) -> Function | None:
    """What stands here for a function of `scipy.special`; None for any other function.

    >>> from scipy import special
    >>> of_scipy(special.gammaln) is gammaln
    True
    """
    if not isinstance(function, np.ufunc) or getattr(np, function.__name__, None) is function:
        return None
    from wengert.rules.composed import COMPOSED

    name = function.__name__
    return SCIPY.get(name) or ORDER_FIRST.get(name) or COMPOSED.get(name)
