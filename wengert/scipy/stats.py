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
import scipy.special as sp
import scipy.stats

from wengert.dispatch import as_array
from wengert.scipy.meaning import holds_arrays, otherwise, undefined

Formula = Callable[..., Any]


def _floating(x: Any) -> Any:
    x = as_array(x)
    return np.astype(x, np.float64) if x.dtype.kind in "biu" else x


def _bare(x: Any) -> Any:
    return x.detach() if hasattr(x, "detach") else x


class _Distribution:
    """A distribution of SciPy's: its own methods for numbers, ours for tensors."""

    methods: tuple[str, ...] = ()

    def __init__(self, name: str) -> None:
        self.name = name
        self.scipys: Any = getattr(scipy.stats, name)
        self.__doc__ = self.scipys.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not (holds_arrays(args) or holds_arrays(kwargs)):
            return _Frozen(self, args, kwargs, self.scipys(*args, **kwargs))
        return _Frozen(self, args, kwargs, None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        theirs = getattr(self.scipys, name)
        ours = getattr(type(self), f"_{name}", None)
        if not callable(theirs):
            return theirs

        @functools.wraps(theirs)
        def either(*args: Any, **kwargs: Any) -> Any:
            if not (holds_arrays(args) or holds_arrays(kwargs)):
                return theirs(*args, **kwargs)
            if ours is None:
                raise undefined(f"scipy.stats.{self.name}.{name}")
            return ours(self, *args, **kwargs)

        return either


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


class Family(_Distribution):
    """Distributions of (x - loc) / scale in a standard form with some parameters of shape.

    `support` may depend on the parameters of shape; `discrete` ones live on whole numbers, and have
    `logpmf` and `pmf`. `inside` is a number within the support, where formulas are evaluated in the
    place of those outside.
    """

    def __init__(
        self,
        name: str,
        shapes: str,
        logpdf: Formula,
        cdf: Formula | None = None,
        sf: Formula | None = None,
        ppf: Formula | None = None,
        logcdf: Formula | None = None,
        logsf: Formula | None = None,
        support: tuple[float, float] = (-math.inf, math.inf),
        inside: float = 0.5,
        discrete: bool = False,
    ) -> None:
        super().__init__(name)
        self.shapes = tuple(shapes.split())
        self.log_density, self.below, self.above, self.quantile = logpdf, cdf, sf, ppf
        self.log_below, self.log_above = logcdf, logsf
        self.low, self.high = support
        self.inside, self.discrete = inside, discrete

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
        return [_floating(given[n]) for n in self.shapes], given["loc"], given["scale"]

    def _standard(self, x: Any, args: Any, kwargs: Any) -> tuple[Any, list[Any], Any]:
        shapes, loc, scale = self._bound(args, kwargs)
        scale = _floating(scale)
        return (_floating(x) - loc) / scale, shapes, np.where(_bare(scale) > 0, scale, math.nan)

    def _within(self, z: Any) -> tuple[Any, Any]:
        """The numbers inside of the support, others replaced; and which are inside."""
        known = _bare(z)
        kept = (known >= self.low) & (known <= self.high)
        if self.low == -math.inf and self.high == math.inf:
            return z, None
        return np.where(kept, z, self.inside), kept

    # ---- densities --------------------------------------------------------------------------

    def _logpdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the density."""
        z, shapes, scale = self._standard(x, args, kwargs)
        z, kept = self._within(z)
        log = self.log_density(z, *shapes)
        if not self.discrete:
            log = log - np.log(scale)
        elif kept is not None:
            kept = kept & (np.floor(_bare(z)) == _bare(z))
        return log if kept is None else np.where(kept, log, -math.inf)

    def _pdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The density."""
        return np.exp(self._logpdf(x, *args, **kwargs))

    _logpmf, _pmf = _logpdf, _pdf

    # ---- distribution functions -------------------------------------------------------------

    def _share(self, formula: Formula, x: Any, args: Any, kwargs: Any, ends: Any) -> Any:
        z, shapes, scale = self._standard(x, args, kwargs)
        z = np.floor(z) if self.discrete else z
        beyond = _bare(z) > self.high
        z, kept = self._within(z)
        value = formula(z, *shapes)
        value = np.where(np.isnan(_bare(scale)), math.nan, value)
        if kept is None:
            return value
        return np.where(kept, value, np.where(beyond, ends[1], ends[0]))

    def _stated(self, formula: Formula | None, method: str) -> Formula:
        if formula is None:
            raise undefined(f"scipy.stats.{self.name}.{method}")
        return formula

    def _cdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability of what is not above x."""
        return self._share(self._stated(self.below, "cdf"), x, args, kwargs, (0.0, 1.0))

    def _sf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability of what is above x."""
        if self.above is None:
            return 1 - self._cdf(x, *args, **kwargs)
        return self._share(self.above, x, args, kwargs, (1.0, 0.0))

    def _logcdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of `cdf`."""
        if self.log_below is None:
            return np.log(self._cdf(x, *args, **kwargs))
        return self._share(self.log_below, x, args, kwargs, (-math.inf, 0.0))

    def _logsf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of `sf`."""
        if self.log_above is None:
            return np.log(self._sf(x, *args, **kwargs))
        return self._share(self.log_above, x, args, kwargs, (0.0, -math.inf))

    def _ppf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """The quantile: the inverse of `cdf`."""
        shapes, loc, scale = self._bound(args, kwargs)
        return self._stated(self.quantile, "ppf")(_floating(q), *shapes) * scale + loc

    def _isf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """The inverse of `sf`."""
        return self._ppf(1 - _floating(q), *args, **kwargs)


# ---- continuous families ---------------------------------------------------------------------

_LOG_2PI = math.log(2 * math.pi)
_POSITIVE = (0.0, math.inf)

norm = Family(
    "norm", "", lambda x: -x * x / 2 - _LOG_2PI / 2, sp.ndtr, lambda x: sp.ndtr(-x), sp.ndtri,
    sp.log_ndtr, lambda x: sp.log_ndtr(-x),
)  # fmt: skip
expon = Family(
    "expon", "", lambda x: -x, lambda x: -np.expm1(-x), lambda x: np.exp(-x),
    lambda q: -np.log1p(-q), logsf=lambda x: -x, support=_POSITIVE,
)  # fmt: skip
gamma = Family(
    "gamma", "a", lambda x, a: sp.xlogy(a - 1, x) - x - sp.gammaln(a),
    lambda x, a: sp.gammainc(a, x), lambda x, a: sp.gammaincc(a, x),
    lambda q, a: sp.gammaincinv(a, q), support=_POSITIVE,
)  # fmt: skip
chi2 = Family(
    "chi2", "df",
    lambda x, df: sp.xlogy(df / 2 - 1, x) - x / 2 - sp.gammaln(df / 2) - df * (math.log(2) / 2),
    lambda x, df: sp.gammainc(df / 2, x / 2), lambda x, df: sp.gammaincc(df / 2, x / 2),
    lambda q, df: 2 * sp.gammaincinv(df / 2, q), support=_POSITIVE,
)  # fmt: skip
invgamma = Family(
    "invgamma", "a", lambda x, a: -(a + 1) * np.log(x) - sp.gammaln(a) - 1 / x,
    lambda x, a: sp.gammaincc(a, 1 / x), lambda x, a: sp.gammainc(a, 1 / x), support=_POSITIVE,
)  # fmt: skip
beta = Family(
    "beta", "a b", lambda x, a, b: sp.xlog1py(b - 1, -x) + sp.xlogy(a - 1, x) - sp.betaln(a, b),
    lambda x, a, b: sp.betainc(a, b, x), lambda x, a, b: sp.betainc(b, a, 1 - x),
    lambda q, a, b: sp.betaincinv(a, b, q), support=(0.0, 1.0),
)  # fmt: skip
t = Family(
    "t", "df",
    lambda x, df: (
        sp.gammaln((df + 1) / 2) - sp.gammaln(df / 2) - np.log(df * math.pi) / 2
        - (df + 1) / 2 * np.log1p(x * x / df)
    ),
    lambda x, df: sp.stdtr(df, x), lambda x, df: sp.stdtr(df, -x), lambda q, df: sp.stdtrit(df, q),
)  # fmt: skip
f = Family(
    "f", "dfn dfd",
    lambda x, n, d: (
        d / 2 * np.log(d) + n / 2 * np.log(n) + sp.xlogy(n / 2 - 1, x)
        - (n + d) / 2 * np.log(d + n * x) - sp.betaln(n / 2, d / 2)
    ),
    lambda x, n, d: sp.betainc(n / 2, d / 2, n * x / (d + n * x)),
    lambda x, n, d: sp.betainc(d / 2, n / 2, d / (d + n * x)), support=_POSITIVE,
)  # fmt: skip
lognorm = Family(
    "lognorm", "s", lambda x, s: -((np.log(x) / s) ** 2) / 2 - np.log(s * x) - _LOG_2PI / 2,
    lambda x, s: sp.ndtr(np.log(x) / s), lambda x, s: sp.ndtr(-np.log(x) / s),
    lambda q, s: np.exp(s * sp.ndtri(q)), support=_POSITIVE,
)  # fmt: skip
uniform = Family(
    "uniform", "", lambda x: 0 * x, lambda x: x, lambda x: 1 - x, lambda q: q, support=(0.0, 1.0)
)
laplace = Family(
    "laplace", "", lambda x: -np.abs(x) - math.log(2),
    lambda x: np.where(x > 0, 1 - np.exp(-np.abs(x)) / 2, np.exp(-np.abs(x)) / 2),
    lambda x: np.where(x > 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2),
    lambda q: np.where(q > 0.5, -np.log(2 * (1 - q)), np.log(2 * q)),
)  # fmt: skip
logistic = Family(
    "logistic", "", lambda x: -np.abs(x) - 2 * np.log1p(np.exp(-np.abs(x))), sp.expit,
    lambda x: sp.expit(-x), sp.logit, sp.log_expit, lambda x: sp.log_expit(-x),
)  # fmt: skip
cauchy = Family(
    "cauchy", "", lambda x: -math.log(math.pi) - np.log1p(x * x),
    lambda x: 0.5 + np.arctan(x) / math.pi, lambda x: 0.5 - np.arctan(x) / math.pi,
    lambda q: np.tan(math.pi * (q - 0.5)),
)  # fmt: skip
weibull_min = Family(
    "weibull_min", "c", lambda x, c: np.log(c) + sp.xlogy(c - 1, x) - x**c,
    lambda x, c: -np.expm1(-(x**c)), lambda x, c: np.exp(-(x**c)),
    lambda q, c: (-np.log1p(-q)) ** (1 / c), logsf=lambda x, c: -(x**c), support=_POSITIVE,
)  # fmt: skip
pareto = Family(
    "pareto", "b", lambda x, b: np.log(b) - (b + 1) * np.log(x), lambda x, b: 1 - x**-b,
    lambda x, b: x**-b, lambda q, b: (1 - q) ** (-1 / b), logsf=lambda x, b: -b * np.log(x),
    support=(1.0, math.inf), inside=1.5,
)  # fmt: skip
halfnorm = Family(
    "halfnorm", "", lambda x: math.log(2 / math.pi) / 2 - x * x / 2,
    lambda x: sp.erf(x / math.sqrt(2)), lambda x: sp.erfc(x / math.sqrt(2)),
    lambda q: sp.ndtri((1 + q) / 2), support=_POSITIVE,
)  # fmt: skip
halfcauchy = Family(
    "halfcauchy", "", lambda x: math.log(2 / math.pi) - np.log1p(x * x),
    lambda x: 2 / math.pi * np.arctan(x), ppf=lambda q: np.tan(math.pi / 2 * q), support=_POSITIVE,
)  # fmt: skip
gumbel_r = Family(
    "gumbel_r", "", lambda x: -x - np.exp(-x), lambda x: np.exp(-np.exp(-x)),
    lambda x: -np.expm1(-np.exp(-x)), lambda q: -np.log(-np.log(q)), lambda x: -np.exp(-x),
)  # fmt: skip
gumbel_l = Family(
    "gumbel_l", "", lambda x: x - np.exp(x), lambda x: -np.expm1(-np.exp(x)),
    lambda x: np.exp(-np.exp(x)), lambda q: np.log(-np.log1p(-q)), logsf=lambda x: -np.exp(x),
)  # fmt: skip
rayleigh = Family(
    "rayleigh", "", lambda x: np.log(x) - x * x / 2, lambda x: -np.expm1(-x * x / 2),
    lambda x: np.exp(-x * x / 2), lambda q: np.sqrt(-2 * np.log1p(-q)),
    logsf=lambda x: -x * x / 2, support=_POSITIVE,
)  # fmt: skip

# ---- discrete families -----------------------------------------------------------------------


def _log_choose(n: Any, k: Any) -> Any:
    return sp.gammaln(n + 1) - sp.gammaln(k + 1) - sp.gammaln(n - k + 1)


poisson = Family(
    "poisson", "mu", lambda k, mu: sp.xlogy(k, mu) - mu - sp.gammaln(k + 1),
    lambda k, mu: sp.gammaincc(k + 1, mu), lambda k, mu: sp.gammainc(k + 1, mu),
    support=_POSITIVE, inside=1.0, discrete=True,
)  # fmt: skip
geom = Family(
    "geom", "p", lambda k, p: np.log(p) + sp.xlog1py(k - 1, -p),
    lambda k, p: -np.expm1(k * np.log1p(-p)), lambda k, p: np.exp(k * np.log1p(-p)),
    logsf=lambda k, p: k * np.log1p(-p), support=(1.0, math.inf), inside=1.0, discrete=True,
)  # fmt: skip
nbinom = Family(
    "nbinom", "n p",
    lambda k, n, p: (
        sp.gammaln(k + n) - sp.gammaln(n) - sp.gammaln(k + 1) + n * np.log(p) + sp.xlog1py(k, -p)
    ),
    lambda k, n, p: sp.betainc(n, k + 1, p), lambda k, n, p: sp.betainc(k + 1, n, 1 - p),
    support=_POSITIVE, inside=1.0, discrete=True,
)  # fmt: skip
bernoulli = Family(
    "bernoulli", "p", lambda k, p: sp.xlogy(k, p) + sp.xlog1py(1 - k, -p),
    lambda k, p: np.where(k >= 1, 1.0, 1 - p), support=(0.0, 1.0), inside=1.0, discrete=True,
)  # fmt: skip


class _Binomial(Family):
    """The number of successes among n trials: the support ends at n."""

    def _logpdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        (n, p), loc, _ = self._bound(args, kwargs)
        k = _bare(_floating(x)) - loc
        kept = (k >= 0) & (k <= _bare(n)) & (np.floor(k) == k)
        k = np.where(kept, k, 0)
        log = _log_choose(n, k) + sp.xlogy(k, p) + sp.xlog1py(n - k, -p)
        return np.where(kept, log, -math.inf)

    def _cdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        (n, p), loc, _ = self._bound(args, kwargs)
        k = np.floor(_bare(_floating(x)) - loc)
        kept = (k >= 0) & (k < _bare(n))
        value = sp.betainc(np.where(kept, n - k, 1), np.where(kept, k + 1, 1), 1 - p)
        return np.where(kept, value, np.where(k < 0, 0.0, 1.0))

    _logpmf = _logpdf

    def _pmf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return np.exp(self._logpdf(x, *args, **kwargs))


binom = _Binomial("binom", "n p", _log_choose, discrete=True)

# ---- of several dimensions -------------------------------------------------------------------


class _Normals(_Distribution):
    """The normal distribution of vectors."""

    def _whitened(self, mean: Any, cov: Any, dim: int, singular: bool) -> tuple[Any, Any, int]:
        """(mean, a matrix W with W W^T = cov^-1 or its pseudo-inverse, log det cov, rank)."""
        cov = _floating(cov)
        if len(cov.shape) < 2:
            cov = cov * np.eye(dim)
        values, vectors = np.linalg.eigh(cov)
        known = np.asarray(_bare(values))
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
        half, log_det, rank = self._whitened(mean, cov, dim, allow_singular)
        z = np.matmul(away, half)
        return -np.sum(z * z, axis=-1) / 2 - (rank * _LOG_2PI + log_det) / 2

    def _pdf(self, *args: Any, **kwargs: Any) -> Any:
        """The density."""
        return np.exp(self._logpdf(*args, **kwargs))

    def _entropy(self, mean: Any = None, cov: Any = 1) -> Any:
        """log det(2 pi e cov) / 2."""
        cov = _floating(cov)
        dim = cov.shape[-1] if len(cov.shape) > 1 else np.shape(mean)[-1] if mean is not None else 1
        _, log_det, rank = self._whitened(mean, cov, dim, True)
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

__getattr__ = otherwise("stats")
