"""The multivariate normal distribution."""

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
)
from wengert.functions.decompositions import cholesky
from wengert.functions.linalg import inv, solve_triangular
from wengert.functions.ranges import eye
from wengert.tensor import Tensor


class MultivariateNormal(Distribution):
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
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

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
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = {name: matrix for name, matrix in given.items() if matrix is not None}
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        ((name, matrix),) = given.items()
        (matrix,) = broadcast_all(matrix)
        k = loc.shape[-1]
        if matrix.ndim < 2 or (k != 1 and tuple(matrix.shape[-2:]) != (k, k)):
            raise ValueError(
                f"{name} must have the shape (..., {k}, {k}), as loc has {tuple(loc.shape)}, "
                f"but it has {tuple(matrix.shape)}"
            )
        k = matrix.shape[-1]
        batch = np.broadcast_shapes(tuple(loc.shape[:-1]), tuple(matrix.shape[:-2]))
        self.loc = loc.expand((*batch, k))
        vars(self)[name] = matrix.expand((*batch, k, k))
        super().__init__(batch, (k,), validate_args=validate_args)

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

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return (self.scale_tril**2).sum(-1)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        z = normals(self._extended_shape(sample_shape), self.loc)
        return self.loc + (self.scale_tril @ z.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Tensor:
        return self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Any) -> Tensor:
        difference = (self._value(value) - self.loc).unsqueeze(-1)
        z = solve_triangular(self.scale_tril, difference, upper=False)
        k = self._event_shape[0]
        return -0.5 * (z * z).sum((-2, -1)) - self._half_log_det() - k * HALF_LOG_2PI

    def entropy(self) -> Tensor:
        return self._half_log_det() + self._event_shape[0] * 0.5 * (1 + math.log(2 * math.pi))
