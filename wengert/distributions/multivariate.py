"""Normal vectors, and matrices: covariances (Wishart) and correlations (LKJ)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from wengert.distributions import constraints
from wengert.distributions.constraints import Constraint
from wengert.distributions.distribution import (
    HALF_LOG_2PI,
    Distribution,
    broadcast_all,
    lazy,
    normals,
    one_of,
    tiny,
)
from wengert.distributions.exp_family import ExponentialFamily
from wengert.distributions.family import (
    Family,
    expectation,
    family,
    natural,
    pathwise,
    pointwise,
    quantity,
)
from wengert.distributions.gamma import Beta, standard_gamma
from wengert.functions.creation import as_tensor, ones_like, zeros_like
from wengert.functions.decompositions import cholesky
from wengert.functions.elementary import digamma, lgamma
from wengert.functions.joining import cat
from wengert.functions.linalg import inv, slogdet, solve_triangular
from wengert.functions.ranges import arange, eye
from wengert.functions.special import multigammaln
from wengert.history.modes import no_grad
from wengert.tensor import Tensor


def _log_det(triangular: Tensor) -> Tensor:
    """The logarithm of the determinant of a triangular matrix of positive diagonal."""
    return triangular.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class ByCovariance(Family):
    """Given by one of a covariance matrix L L^T, its inverse (the precision), and L, triangular.

    The others are computed when they are asked for.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }

    @staticmethod
    def _one_matrix(covariance: Any, precision: Any, scale_tril: Any) -> tuple[str, Tensor]:
        """The one that was given, after its name."""
        name, given = one_of(
            covariance_matrix=covariance, precision_matrix=precision, scale_tril=scale_tril
        )
        (matrix,) = broadcast_all(given)
        if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
            raise ValueError(
                f"{name} must have the shape (..., k, k), but it has {tuple(matrix.shape)}"
            )
        return name, matrix

    @lazy
    def scale_tril(self) -> Tensor:
        """The lower triangular L with covariance L L^T."""
        if "covariance_matrix" in vars(self):
            return cholesky(self.covariance_matrix)
        # P = U U^T with U upper triangular, so that L = U^-T; U is Cholesky's factor of P with its
        # rows and columns in reverse.
        factor = cholesky(self.precision_matrix.flip((-2, -1)))
        upper = factor.flip((-2, -1))
        identity = eye(self._event_shape[0], dtype=upper.dtype)
        return solve_triangular(upper.mT, identity, upper=False)

    @lazy
    def covariance_matrix(self) -> Tensor:
        """L L^T."""
        return self.scale_tril @ self.scale_tril.mT

    @lazy
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        inverse = inv(self.scale_tril)
        return inverse.mT @ inverse

    def _half_log_det(self) -> Tensor:
        return _log_det(self.scale_tril)


@family(half_log_det="_half_log_det", shape="_event_shape")
class NormalVectors(Family):
    """Subclasses state the covariance: its quadratic form, its determinant and its factors."""

    support = constraints.real_vector

    mean = mode = quantity(lambda loc: loc)
    entropy = expectation(
        lambda half_log_det, shape: half_log_det() + shape[0] * (0.5 + HALF_LOG_2PI)
    )

    @pointwise
    def log_prob(x: Any, _squares: Any, mean: Any, half_log_det: Any, shape: Any) -> Tensor:
        squares = _squares((x - mean).unsqueeze(-1))
        return -0.5 * squares - half_log_det() - shape[0] * HALF_LOG_2PI

    def _squares(self, columns: Tensor) -> Tensor:
        """The sum of x^T covariance^-1 x over the columns x of a matrix."""
        raise NotImplementedError

    def _half_log_det(self) -> Tensor:
        """log sqrt |covariance|."""
        raise NotImplementedError

    def _factors(self) -> list[Tensor]:
        """Matrices A with sum A A^T = covariance."""
        raise NotImplementedError


@family(L="scale_tril")
class MultivariateNormal(ByCovariance, NormalVectors):
    """The normal distribution on vectors, p(x) = exp(-|L^-1 (x - loc)|^2 / 2) / (|L| (2 pi)^(k/2)).

    It is given by exactly one of its covariance matrix L L^T, that one's inverse (the precision),
    or L, its lower triangular factor, which is the cheapest. `loc` is (..., k), the matrix
    (..., k, k). The others are computed when they are asked for.

    >>> import wengert as wg
    >>> MultivariateNormal(wg.zeros(2), wg.eye(2)).log_prob(wg.zeros(2))  # -log(2 pi)
    tensor(-1.8379)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real_vector,
        **ByCovariance.arg_constraints,
    }

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        (loc,) = broadcast_all(loc)
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = self._one_matrix(covariance_matrix, precision_matrix, scale_tril)
        k = matrix.shape[-1]
        if loc.shape[-1] not in (1, k):
            wanted = loc.shape[-1]
            raise ValueError(
                f"{name} must have the shape (..., {wanted}, {wanted}), as loc has "
                f"{tuple(loc.shape)}, but it has {tuple(matrix.shape)}"
            )
        batch = np.broadcast_shapes(tuple(loc.shape[:-1]), tuple(matrix.shape[:-2]))
        self.loc = loc.expand((*batch, k))
        vars(self)[name] = matrix.expand((*batch, k, k))
        Distribution.__init__(self, batch, (k,), validate_args)

    variance = quantity(lambda L: (L**2).sum(-1))
    rsample = pathwise(
        lambda shape, loc, L: loc + (L @ normals(shape, loc).unsqueeze(-1)).squeeze(-1)
    )

    def _squares(self, columns: Tensor) -> Tensor:
        z = solve_triangular(self.scale_tril, columns, upper=False)
        return (z * z).sum((-2, -1))

    def _factors(self) -> list[Tensor]:
        return [self.scale_tril]


@family(W="cov_factor", D="cov_diag")
class LowRankMultivariateNormal(NormalVectors):
    """Normal vectors of covariance W W^T + diag(D), W = `cov_factor` (..., k, m), D = `cov_diag`.

    A sample is loc + W u + sqrt(D) v. Densities and divergences cost k m^2 instead of k^3: by
    Woodbury's identity they need the Cholesky factor of C = I + W^T D^-1 W only, which is m x m.

    >>> import wengert as wg
    >>> d = LowRankMultivariateNormal(wg.zeros(3), wg.ones(3, 1), wg.ones(3))
    >>> d.variance
    tensor([2., 2., 2.])
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }

    def __init__(
        self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None
    ) -> None:
        loc, factor, diagonal = (broadcast_all(x)[0] for x in (loc, cov_factor, cov_diag))
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        k = loc.shape[-1]
        for name, x, rank in (("cov_factor", factor, 2), ("cov_diag", diagonal, 1)):
            if x.ndim < rank or x.shape[-rank] != k:
                wanted = f"(..., {k}, m)" if rank == 2 else f"(..., {k})"
                raise ValueError(
                    f"{name} must have the shape {wanted}, as loc has {tuple(loc.shape)}, but it "
                    f"has {tuple(x.shape)}"
                )
        shapes = loc.shape[:-1], factor.shape[:-2], diagonal.shape[:-1]
        batch = np.broadcast_shapes(*map(tuple, shapes))
        self.loc, self.cov_diag = loc.expand((*batch, k)), diagonal.expand((*batch, k))
        self.cov_factor = factor.expand((*batch, k, factor.shape[-1]))
        Distribution.__init__(self, batch, (k,), validate_args)

    @lazy
    def _capacitance_tril(self) -> Tensor:
        """The Cholesky factor of C = I + W^T D^-1 W."""
        inner = self.cov_factor.mT @ (self.cov_factor / self.cov_diag.unsqueeze(-1))
        return cholesky(inner + eye(inner.shape[-1], dtype=inner.dtype))

    @lazy
    def covariance_matrix(self) -> Tensor:
        """W W^T + diag(D)."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @lazy
    def scale_tril(self) -> Tensor:
        """The lower triangular L with covariance L L^T."""
        return cholesky(self.covariance_matrix)

    @lazy
    def precision_matrix(self) -> Tensor:
        """D^-1 - A^T A with A = C^(-1/2) W^T D^-1."""
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        half = solve_triangular(self._capacitance_tril, scaled, upper=False)
        return (1 / self.cov_diag).diag_embed() - half.mT @ half

    variance = quantity(lambda W, D: (W**2).sum(-1) + D)

    @pathwise
    def rsample(shape: Any, W: Any, loc: Any, D: Any) -> Tensor:
        u = normals((*shape[:-1], W.shape[-1]), loc)
        v = normals(shape, loc)
        spread = (W @ u.unsqueeze(-1)).squeeze(-1)
        return loc + spread + D.sqrt() * v

    def _half_log_det(self) -> Tensor:
        return _log_det(self._capacitance_tril) + 0.5 * self.cov_diag.log().sum(-1)

    def _squares(self, columns: Tensor) -> Tensor:
        scaled = columns / self.cov_diag.unsqueeze(-1)
        half = solve_triangular(self._capacitance_tril, self.cov_factor.mT @ scaled, upper=False)
        return (columns * scaled).sum((-2, -1)) - (half * half).sum((-2, -1))

    def _factors(self) -> list[Tensor]:
        return [self.cov_factor, self.cov_diag.sqrt().diag_embed()]


@family(V="covariance_matrix", n="_scaled_df")
class Wishart(ByCovariance, ExponentialFamily):
    """X = sum of `df` outer products of normal vectors: covariances, as samples have them.

    p(X) = |X|^((df-k-1) / 2) exp(-tr(V^-1 X) / 2) / (2^(df k / 2) |V|^(df / 2) Gamma_k(df / 2)),
    df > k - 1, for k x k matrices. V is given as the `covariance_matrix`, as its inverse
    (`precision_matrix`) or as its lower triangular factor (`scale_tril`). Samples are L A A^T L^T,
    with a random triangular A (Bartlett, 1933); their derivatives are those of gamma variables.

    >>> import wengert as wg
    >>> Wishart(wg.tensor(5.0), wg.eye(2)).mean
    tensor([[5., 0.],
            [0., 5.]])
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        **ByCovariance.arg_constraints,
        "df": constraints.greater_than(0),
    }
    _related: ClassVar[Any] = {
        "df": lambda self: constraints.greater_than(self._event_shape[0] - 1)
    }
    support = constraints.positive_definite

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = self._one_matrix(covariance_matrix, precision_matrix, scale_tril)
        k = matrix.shape[-1]
        df = df if hasattr(df, "dtype") else as_tensor(df, matrix.dtype)
        (df,) = broadcast_all(df)
        batch = np.broadcast_shapes(tuple(df.shape), tuple(matrix.shape[:-2]))
        self.df = df.expand(batch)
        vars(self)[name] = matrix.expand((*batch, k, k))
        Distribution.__init__(self, batch, (k, k), validate_args)

    @property
    def _scaled_df(self) -> Tensor:
        return self.df[..., None, None]

    mean = quantity(lambda n, V: n * V)

    @quantity
    def mode(n: Any, _event_shape: Any, V: Any) -> Tensor:
        """NaN where the density is unbounded: df < k + 1."""
        factor = n - _event_shape[0] - 1
        return factor.masked_fill(factor <= 0, math.nan) * V

    @quantity
    def variance(n: Any, V: Any) -> Tensor:
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        return n * (V**2 + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    @pathwise
    def rsample(shape: Any, _event_shape: Any, df: Any, scale_tril: Any) -> Tensor:
        k = _event_shape[0]
        freedom = df.unsqueeze(-1) - arange(k).to(df.dtype)
        squares = 2 * standard_gamma(freedom / 2, shape[:-1])
        below = normals(shape, df).tril(-1)
        half = scale_tril @ (below + squares.sqrt().diag_embed())
        return half @ half.mT

    def _log_constant(self) -> Tensor:
        k, df = self._event_shape[0], self.df
        return df * (k / 2 * math.log(2) + self._half_log_det()) + multigammaln(df / 2, k)

    @natural
    def _natural_params(df: Any, precision_matrix: Any, _event_shape: Any) -> Any:
        return -precision_matrix / 2, (df - _event_shape[0] - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        k = self._event_shape[0]
        half = y + (k + 1) / 2
        return multigammaln(half, k) - half * slogdet(-x).logabsdet

    _mean_carrier_measure = 0.0

    @pointwise
    def log_prob(x: Any, _event_shape: Any, scale_tril: Any, df: Any, _log_constant: Any) -> Tensor:
        k = _event_shape[0]
        factor = cholesky(x)
        half = solve_triangular(scale_tril, factor, upper=False)
        trace = (half * half).sum((-2, -1))
        return (df - k - 1) * _log_det(factor) - trace / 2 - _log_constant()

    @expectation
    def entropy(_event_shape: Any, _half_log_det: Any, _log_constant: Any, df: Any) -> Tensor:
        k = _event_shape[0]
        steps = arange(k).to(df.dtype) / 2
        mean_log = (
            digamma(df.unsqueeze(-1) / 2 - steps).sum(-1)
            + k * math.log(2) + 2 * _half_log_det()
        )  # fmt: skip
        return _log_constant() - (df - k - 1) / 2 * mean_log + df * k / 2


class LKJCholesky(Distribution):
    """Cholesky factors L of correlation matrices C = L L^T with p(C) = |C|^(concentration - 1).

    A `concentration` of 1 is uniform over correlation matrices, a larger one prefers those near the
    identity (Lewandowski, Kurowicka and Joe, 2009, whose onion method draws the samples).

    >>> import wengert as wg
    >>> L = LKJCholesky(3, 2.0).sample()
    >>> wg.allclose((L @ L.mT).diagonal(), wg.ones(3))
    True
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            shape = self._extended_shape(sample_shape)
            # Row i + 1 is a direction in i + 1 dimensions times the root of a beta variable.
            i = arange(1, self.dim).to(self.concentration.dtype)
            concentration = self.concentration.unsqueeze(-1) + (self.dim - 1 - i) / 2
            squares = Beta(i / 2, concentration).sample(
                shape[: len(shape) - 2 - len(self._batch_shape)]
            )
            directions = normals(shape, self.concentration).tril(-1)[..., 1:, :]
            directions = directions / directions.norm(dim=-1, keepdim=True)
            rows = squares.sqrt().unsqueeze(-1) * directions
            rest = (1 - squares).clamp(min=tiny(squares)).sqrt()
            below = cat([zeros_like(rows[..., :1, :]), rows], -2)
            return below + cat([ones_like(rest[..., :1]), rest], -1).diag_embed()

    def log_prob(self, value: Any) -> Tensor:
        factor, n = self._value(value), self.dim
        order = arange(2, n + 1).to(self.concentration.dtype)
        exponents = 2 * (self.concentration - 1).unsqueeze(-1) + n - order
        logs = factor.diagonal(dim1=-2, dim2=-1)[..., 1:].log()
        # The normalizer on page 1999 of Lewandowski, Kurowicka and Joe.
        less, alpha = n - 1, self.concentration + (n - 1) / 2
        constant = (
            less / 2 * math.log(math.pi) + multigammaln(alpha - 0.5, less) - lgamma(alpha) * less
        )
        return (exponents * logs).sum(-1) - constant
