"""`scipy.stats` on tensors: densities, distribution functions and quantiles.

A family of distributions is stated in its standard form, by the formulas that differ from family to
family: log density, distribution function, its complement, quantiles, and where the density is
not zero. Location and scale, logarithms, complements and the outside of the support are the same
for all, and stated once, in `Family`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from wengert.dispatch import as_array
from wengert.errors import BatchingError, MissingRuleError
from wengert.rules.composed import exprel, log1prel
from wengert.scipy.meaning import bare, otherwise
from wengert.scipy.standard import holds_arrays, undefined
from wengert.scipy.standard import ufuncs as sp

Formula = Callable[..., Any]


def _floating(x: Any) -> Any:
    x = as_array(x)
    return np.astype(x, np.float64) if x.dtype.kind in "biu" else x


class _Distribution:
    """A distribution of SciPy's: its own methods for numbers, ours for tensors."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.__doc__ = self.scipys.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not (holds_arrays(args) or holds_arrays(kwargs)):
            return _Frozen(self, args, kwargs, self.scipys(*args, **kwargs))
        return _Frozen(self, args, kwargs, None)

    @property
    def scipys(self) -> Any:
        """SciPy's distribution: by its name, as it holds much that none of our formulas asks.

        A compiled function would have to find all of what is held here unchanged at each call.
        """
        return getattr(scipy.stats, self.name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.scipys, name)

    def _install(self) -> None:
        """Give it all methods that SciPy's has, once."""
        theirs = self.scipys
        for name in dir(theirs):
            if not name.startswith("_") and callable(getattr(theirs, name)):
                self.__dict__.setdefault(name, self._either(name, getattr(theirs, name)))

    def _either(self, name: str, theirs: Any) -> Any:
        ours = getattr(type(self), f"_{name}", None)
        of = self.name

        def either(*args: Any, **kwargs: Any) -> Any:
            if not (holds_arrays(args) or holds_arrays(kwargs)):
                return getattr(getattr(scipy.stats, of), name)(*args, **kwargs)
            if ours is None:
                raise undefined(f"scipy.stats.{of}.{name}")
            return ours(self, *args, **kwargs)

        either.__name__, either.__qualname__ = name, f"{of}.{name}"
        either.__doc__ = theirs.__doc__
        either.defined = ours is not None and self.defines(name)  # type: ignore[attr-defined]
        return either

    def defines(self, method: str) -> bool:
        """Whether a method that is written here has what it needs."""
        return True


class _Frozen:
    """A distribution whose parameters are given."""

    def __init__(self, of: _Distribution, args: Any, kwargs: Any, scipys: Any) -> None:
        self.of, self.args, self.kwds, self.scipys = of, args, kwargs, scipys

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if getattr(type(self.of), f"_{name}", None) is None and self.scipys is not None:
            return getattr(self.scipys, name)
        method = getattr(self.of, name)
        return lambda *args, **kwargs: method(*args, *self.args, **{**self.kwds, **kwargs})


_NOT_FOR_TENSORS = (
    MissingRuleError, RuntimeError, TypeError, ValueError, IndexError, AttributeError,
)  # fmt: skip
"""What a formula of SciPy's raises that asks for more than an array of some kind."""


def _standard_form(theirs: Any) -> Any:
    """What SciPy's formulas ask of a distribution: its class, its numbers and its names.

    The rest, random numbers and vectorised searches, is much that a compiled function would have to
    find unchanged at each call.
    """
    standard = object.__new__(type(theirs))
    kept = (int, float, str, type(None))
    standard.__dict__.update({k: v for k, v in vars(theirs).items() if isinstance(v, kept)})
    return standard


class Family(_Distribution):
    """Distributions of (x - loc) / scale in a standard form with some parameters of shape.

    A formula of the standard form that is not stated here is the one that SciPy's class states:
    `_logpdf`, `_cdf`, `_ppf` and their like are what those who write distributions for SciPy
    define, in NumPy's functions and `scipy.special`'s, which ask tensors what they mean. What SciPy
    integrates, or finds by search, has no formula, and no derivative here.
    """

    def __init__(self, name: str, **stated: Formula) -> None:
        super().__init__(name)
        self.stated = stated
        self.discrete = isinstance(self.scipys, scipy.stats.rv_discrete)
        self.shapes = tuple((self.scipys.shapes or "").replace(",", " ").split())
        self.standard = _standard_form(self.scipys)
        self._install()

    def formula(self, method: str) -> Formula | None:
        """The formula of a method in the standard form, if there is one."""
        if method in self.stated:
            return self.stated[method]
        name = f"_{method}".replace("pdf", "pmf" if self.discrete else "pdf")
        general = scipy.stats.rv_discrete if self.discrete else scipy.stats.rv_continuous
        if getattr(type(self.standard), name) is getattr(general, name):
            return None
        return functools.partial(self._scipys, method, getattr(self.standard, name))

    def _scipys(self, method: str, formula: Formula, *args: Any) -> Any:
        """A formula of SciPy's, of arrays of one shape and one kind, as SciPy calls it."""
        if not holds_arrays(args):
            return formula(*args)
        shape = np.broadcast_shapes(*(tuple(a.shape) for a in args))
        zero: Any = sum(np.zeros_like(a) for a in args if holds_arrays(a))
        zero = zero + np.zeros(shape, dtype=zero.dtype)  # plain arrays may be the larger ones
        try:
            value = formula(
                *(
                    np.reshape((a if holds_arrays(a) else np.astype(a, zero.dtype)) + zero, (-1,))
                    for a in args
                )
            )
        except BatchingError as error:
            raise BatchingError(
                f"scipy.stats.{self.name}.{method} picks elements by a mask, of which examples may "
                "have different numbers, so that vmap has no one shape for them. It is "
                "elementwise: call it outside of vmap, with the whole batch."
            ) from error
        except _NOT_FOR_TENSORS as error:
            raise undefined(f"scipy.stats.{self.name}.{method}") from error
        if not holds_arrays(value):
            raise undefined(f"scipy.stats.{self.name}.{method}")
        return np.reshape(value, shape)

    def defines(self, method: str) -> bool:
        """Whether a method has its formula."""
        ways = {"pdf": ("pdf", "logpdf"), "ppf": ("ppf",), "isf": ("isf", "ppf")}
        names = ways.get(method.removeprefix("log").replace("pmf", "pdf"), _TAILS)
        return not (self.discrete and method in ("ppf", "isf")) and any(map(self.formula, names))

    def _first(self, method: str, *ways: tuple[str, Formula | None]) -> Formula:
        """The first of some formulas that is there, each with what makes of it what is wanted."""
        for where in (self.stated, _ALL):  # what SciPy states of the same may not be for tensors
            for name, after in ways:
                stated = self.formula(name) if name in where else None
                if stated is not None:
                    return stated if after is None else lambda *args, f=stated, g=after: g(f(*args))
        raise undefined(f"scipy.stats.{self.name}.{method}")

    # ---- arguments --------------------------------------------------------------------------

    def _bound(self, args: Any, kwargs: Any) -> tuple[list[Any], Any, Any]:
        """The parameters of shape, the location and the scale; SciPy's order and names."""
        names = (*self.shapes, "loc") if self.discrete else (*self.shapes, "loc", "scale")
        if len(args) > len(names) or (unknown := kwargs.keys() - {*names}):
            wrong = f"{len(args)} parameters" if len(args) > len(names) else f"{min(unknown)}="
            raise TypeError(f"scipy.stats.{self.name} takes {', '.join(names)}; got {wrong}")
        given = {"loc": 0, "scale": 1, **dict(zip(names, args, strict=False)), **kwargs}
        missing = [n for n in self.shapes if n not in given]
        if missing:
            raise TypeError(f"scipy.stats.{self.name} is missing the parameter {missing[0]}")
        shapes = [_floating(given[n]) for n in self.shapes]
        return shapes, _floating(given["loc"]), _floating(given["scale"])

    def _standard(self, x: Any, args: Any, kwargs: Any) -> tuple[Any, list[Any], Any, Any]:
        """x in the standard form, the parameters, the scale, and whether they may be so."""
        shapes, loc, scale = self._bound(args, kwargs)
        allowed = bare(scale) > 0
        if shapes:
            allowed = allowed & self.standard._argcheck(*map(bare, shapes))
        return (_floating(x) - loc) / scale, shapes, scale, allowed

    def _within(self, z: Any, shapes: list[Any]) -> tuple[Any, Any, Any]:
        """The numbers inside of the support, others replaced; which are inside, and which above."""
        low, high = self.standard._get_support(*map(bare, shapes))
        if _is_number(low) and _is_number(high) and low == -math.inf and high == math.inf:
            return z, None, None
        known = bare(z)
        kept = (known >= low) & (known <= high)
        return np.where(kept, z, self._inside(low, high)), kept, known > high

    def _inside(self, low: Any, high: Any) -> Any:
        """A number within a support."""
        bounded = np.isfinite(low), np.isfinite(high)
        if self.discrete:
            return np.where(bounded[0], low, 0.0)
        one = np.where(bounded[0], low + 1.0, np.where(bounded[1], high - 1.0, 0.0))
        # The middle of what ends at both sides: elsewhere it is infinite, or no number.
        ends = (np.where(bounded[0], low, 0.0), np.where(bounded[1], high, 0.0))
        return np.where(bounded[0] & bounded[1], (ends[0] + ends[1]) / 2, one)

    # ---- densities --------------------------------------------------------------------------

    def _density(self, formula: Formula, scaled: Formula, least: float, *given: Any) -> Any:
        z, shapes, scale, allowed = self._standard(*given)
        z, kept, _ = self._within(z, shapes)
        value = formula(z, *shapes)
        if not self.discrete:
            value = scaled(value, scale)
        else:
            whole = np.floor(bare(z)) == bare(z)
            kept = whole if kept is None else kept & whole
        value = value if kept is None else np.where(kept, value, least)
        return np.where(allowed, value, math.nan)

    def _logpdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the density."""
        formula = self._first("logpdf", ("logpdf", None), ("pdf", np.log))
        less = lambda value, scale: value - np.log(scale)
        return self._density(formula, less, -math.inf, x, args, kwargs)

    def _pdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The density."""
        formula = self._first("pdf", ("logpdf", np.exp), ("pdf", None))
        return self._density(formula, np.divide, 0.0, x, args, kwargs)

    _logpmf, _pmf = _logpdf, _pdf

    # ---- distribution functions -------------------------------------------------------------

    def _share(self, formula: Formula, ends: tuple[float, float], *given: Any) -> Any:
        z, shapes, _, allowed = self._standard(*given)
        z = np.floor(z) if self.discrete else z
        z, kept, above = self._within(z, shapes)
        value = formula(z, *shapes)
        if kept is not None:
            value = np.where(kept, value, np.where(above, ends[1], ends[0]))
        return np.where(allowed, value, math.nan)

    def _cdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability of what is not above x."""
        formula = self._first("cdf", ("cdf", None), ("logcdf", np.exp), ("sf", _rest))
        return self._share(formula, (0.0, 1.0), x, args, kwargs)

    def _sf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability of what is above x."""
        formula = self._first("sf", ("sf", None), ("logsf", np.exp), ("cdf", _rest))
        return self._share(formula, (1.0, 0.0), x, args, kwargs)

    def _logcdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of `cdf`."""
        ways = ("logcdf", None), ("cdf", np.log), ("sf", lambda above: np.log1p(-above))
        return self._share(self._first("logcdf", *ways), (-math.inf, 0.0), x, args, kwargs)

    def _logsf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of `sf`."""
        ways = ("logsf", None), ("sf", np.log), ("cdf", lambda below: np.log1p(-below))
        return self._share(self._first("logsf", *ways), (0.0, -math.inf), x, args, kwargs)

    # ---- quantiles --------------------------------------------------------------------------

    def _at(self, formula: Formula, q: Any, args: Any, kwargs: Any) -> Any:
        shapes, loc, scale = self._bound(args, kwargs)
        if self.discrete:
            raise undefined(f"scipy.stats.{self.name}.ppf")
        return formula(_floating(q), *shapes) * scale + loc

    def _ppf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """The quantile: the inverse of `cdf`."""
        return self._at(self._first("ppf", ("ppf", None)), q, args, kwargs)

    def _isf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """The inverse of `sf`."""
        if self.formula("isf") is None or "ppf" in self.stated:
            return self._ppf(1 - _floating(q), *args, **kwargs)
        return self._at(self._first("isf", ("isf", None)), q, args, kwargs)


_TAILS = ("cdf", "sf", "logcdf", "logsf")
_ALL = ("logpdf", "pdf", *_TAILS, "ppf", "isf")


def _rest(share: Any) -> Any:
    return 1 - share


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float))


# ---- formulas of our own -----------------------------------------------------------------------
#
# Where SciPy calls C, fills arrays that cannot hold a tensor, or takes the elements of a branch by
# a mask, of which neither a batch nor a compiled function knows how many there are.

_LOG_2PI = math.log(2 * math.pi)


def _log_less(x: Any, y: Any) -> Any:
    """log(exp(x) - exp(y)), y < x."""
    return x + np.log(-np.expm1(y - x))


def _log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the probability that a normal variable is between a and b.

    It is taken in the tail that is nearer, as differences of numbers near 1 have no digits.
    """
    turned = a > 0
    low, high = np.where(turned, -b, a), np.where(turned, -a, b)
    return _log_less(sp.log_ndtr(high), sp.log_ndtr(low))


def _truncated_quantile(q: Any, a: Any, b: Any) -> Any:
    turned = a > 0
    low, high = np.where(turned, -b, a), np.where(turned, -a, b)
    share = np.where(turned, 1 - q, q)
    x = sp.ndtri(sp.ndtr(low) * (1 - share) + sp.ndtr(high) * share)
    return np.where(turned, -x, x)


def _some(x: Any) -> Any:
    """x, or 1 where it is 0: what is divided by that is on a branch not taken."""
    return np.where(x == 0, 1.0, x)


truncnorm = Family(
    "truncnorm",
    logpdf=lambda x, a, b: -x * x / 2 - _LOG_2PI / 2 - _log_mass(a, b),
    logcdf=lambda x, a, b: _log_mass(a, x) - _log_mass(a, b),
    logsf=lambda x, a, b: _log_mass(x, b) - _log_mass(a, b),
    cdf=lambda x, a, b: np.exp(_log_mass(a, x) - _log_mass(a, b)),
    sf=lambda x, a, b: np.exp(_log_mass(x, b) - _log_mass(a, b)),
    ppf=_truncated_quantile,
)
beta = Family(
    "beta",
    logpdf=lambda x, a, b: sp.xlog1py(b - 1, -x) + sp.xlogy(a - 1, x) - sp.betaln(a, b),
    cdf=lambda x, a, b: sp.betainc(a, b, x),
    sf=lambda x, a, b: sp.betainc(b, a, 1 - x),
    ppf=lambda q, a, b: sp.betaincinv(a, b, q),
)
cauchy = Family(
    "cauchy",
    logpdf=lambda x: -math.log(math.pi) - np.log1p(x * x),
    ppf=lambda q: np.tan(math.pi * (q - 0.5)),
)
t = Family(
    "t",
    logpdf=lambda x, df: (
        sp.gammaln((df + 1) / 2) - sp.gammaln(df / 2) - np.log(df * math.pi) / 2
        - (df + 1) / 2 * np.log1p(x * x / df)
    ),
)  # fmt: skip
lognorm = Family(
    "lognorm", logpdf=lambda x, s: -((np.log(x) / s) ** 2) / 2 - np.log(s * x) - _LOG_2PI / 2
)
skewnorm = Family(
    "skewnorm", logpdf=lambda x, a: math.log(2) - x * x / 2 - _LOG_2PI / 2 + sp.log_ndtr(a * x)
)
vonmises = Family(
    "vonmises", logpdf=lambda x, kappa: kappa * sp.cosm1(x) - _LOG_2PI - np.log(sp.i0e(kappa))
)
genpareto = Family(
    "genpareto",
    logpdf=lambda x, c: -(c + 1) * x * log1prel(c * x),
    logsf=lambda x, c: -x * log1prel(c * x),
)
genextreme = Family(
    "genextreme",
    logpdf=lambda x, c: -np.exp(-x * log1prel(-c * x)) - (1 - c) * x * log1prel(-c * x),
    logcdf=lambda x, c: -np.exp(-x * log1prel(-c * x)),
    ppf=lambda q, c: -np.log(-np.log(q)) * exprel(c * np.log(-np.log(q))),
)
triang = Family(
    "triang",
    logpdf=lambda x, c: np.log(2 * np.where(x < c, x / _some(c), (1 - x) / _some(1 - c))),
    cdf=lambda x, c: np.where(x < c, x * x / _some(c), 1 - (1 - x) ** 2 / _some(1 - c)),
)
dgamma = Family(
    "dgamma",
    cdf=lambda x, a: 0.5 + np.sign(x) * sp.gammainc(a, np.abs(x)) / 2,
    ppf=lambda q, a: np.sign(q - 0.5) * sp.gammaincinv(a, np.abs(2 * q - 1)),
)
bernoulli = Family(
    "bernoulli",
    logpdf=lambda k, p: sp.xlogy(k, p) + sp.xlog1py(1 - k, -p),
    cdf=lambda k, p: np.where(k >= 1, 1.0, 1 - p),
)
binom = Family(
    "binom",
    cdf=lambda k, n, p: sp.betainc(n - np.where(k < n, k, 0), np.where(k < n, k, 0) + 1, 1 - p),
)
nbinom = Family(
    "nbinom",
    cdf=lambda k, n, p: sp.betainc(n, k + 1, p),
    sf=lambda k, n, p: sp.betainc(k + 1, n, 1 - p),
)

# ---- of several dimensions -------------------------------------------------------------------


class _Normals(_Distribution):
    """The normal distribution of vectors."""

    def _whitened(self, cov: Any, dim: int, singular: bool) -> tuple[Any, Any, int]:
        """(mean, a matrix W with W W^T = cov^-1 or its pseudo-inverse, log det cov, rank)."""
        cov = _floating(cov)
        if len(cov.shape) < 2:
            cov = cov * np.eye(dim)
        values, vectors = np.linalg.eigh(cov)
        known = np.asarray(bare(values))
        kept = known > 1e6 * np.finfo(known.dtype).eps * np.abs(known).max()
        if not kept.all() and not singular:
            raise np.linalg.LinAlgError(
                "When `allow_singular is False`, the input matrix must be symmetric positive "
                "definite."
            )
        if kept.all():
            lower = np.linalg.cholesky(cov)
            log_det = 2 * np.sum(np.log(np.diagonal(lower)))
            return np.swapaxes(np.linalg.inv(lower), -1, -2), log_det, dim
        values, vectors = values[kept], vectors[:, kept]
        return vectors / np.sqrt(values), np.sum(np.log(values)), int(kept.sum())

    def _logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """-(x - mean)^T cov^-1 (x - mean) / 2 - log det(2 pi cov) / 2."""
        x = _floating(x)
        shapes = [v.shape[-1] for v in map(as_array, (cov, 0 if mean is None else mean)) if v.shape]
        dim = shapes[0] if shapes else (x.shape[-1] if x.shape else 1)
        x = np.reshape(x, (*x.shape, 1)) if dim == 1 and x.shape[-1:] != (1,) else x
        away = x if mean is None else x - mean
        half, log_det, rank = self._whitened(cov, dim, allow_singular)
        z = np.matmul(away, half)
        return -np.sum(z * z, axis=-1) / 2 - (rank * _LOG_2PI + log_det) / 2

    def _pdf(self, *args: Any, **kwargs: Any) -> Any:
        """The density."""
        return np.exp(self._logpdf(*args, **kwargs))

    def _entropy(self, mean: Any = None, cov: Any = 1) -> Any:
        """log det(2 pi e cov) / 2."""
        cov = _floating(cov)
        dim = cov.shape[-1] if len(cov.shape) > 1 else np.shape(mean)[-1] if mean is not None else 1
        _, log_det, rank = self._whitened(cov, dim, True)
        return (rank * (_LOG_2PI + 1) + log_det) / 2


class _Dirichlet(_Distribution):
    """The distribution of vectors that sum to one."""

    def _logpdf(self, x: Any, alpha: Any) -> Any:
        """sum((alpha - 1) log x) - log B(alpha)."""
        x, alpha = _floating(x), _floating(alpha)
        if x.shape[0] + 1 == alpha.shape[0]:
            x = np.concatenate([x, 1 - np.sum(x, axis=0, keepdims=True)], axis=0)
        log_beta = np.sum(sp.gammaln(alpha)) - sp.gammaln(np.sum(alpha))
        powers = np.reshape(alpha - 1, (-1, *(1,) * (len(x.shape) - 1)))
        return np.sum(sp.xlogy(powers, x), axis=0) - log_beta

    def _pdf(self, x: Any, alpha: Any) -> Any:
        """The density."""
        return np.exp(self._logpdf(x, alpha))


multivariate_normal = _Normals("multivariate_normal")
dirichlet = _Dirichlet("dirichlet")
multivariate_normal._install()
dirichlet._install()

_others = otherwise("stats")


@functools.cache
def __getattr__(name: str) -> Any:
    item = getattr(scipy.stats, name)
    known = isinstance(item, (scipy.stats.rv_continuous, scipy.stats.rv_discrete))
    return Family(name) if known else _others(name)
