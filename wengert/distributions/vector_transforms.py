"""Transforms of vectors: onto the simplex, and onto triangular matrices; see `transforms.py`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.distributions import constraints
from wengert.distributions.distribution import eps, softplus, tiny
from wengert.distributions.elementwise_transforms import log_slope_of_tanh
from wengert.distributions.formulas import function
from wengert.distributions.transform import Transform
from wengert.functions.creation import as_tensor, full_like, zeros_like
from wengert.functions.decompositions import cholesky
from wengert.functions.elementary import sigmoid
from wengert.functions.joining import cat
from wengert.functions.math import softmax
from wengert.functions.ranges import arange, eye
from wengert.functions.shapes import tril_indices
from wengert.tensor import Tensor


class SoftmaxTransform(Transform):
    """y = softmax(x) along the last dimension; its inverse, log y, is one of many."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    _call = function(lambda x: softmax(x, -1))
    _inverse = function(lambda y: y.log())


class StickBreakingTransform(Transform):
    """K numbers to K + 1 probabilities: each takes its share of what is left of a stick.

    y_i = z_i prod_(j<i) (1 - z_j),  z_i = sigmoid(x_i - log(K - i)),  so that x = 0 breaks evenly
    (the Stan reference manual, "Unit simplex").

    >>> import wengert as wg
    >>> StickBreakingTransform()(wg.zeros(3))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    bijective = True
    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        z = sigmoid(x - self._offset(x))
        left = (1 - z).cumprod(-1)
        one = full_like(x[..., :1], 1.0)
        return cat([z, one], -1) * cat([one, left], -1)

    @staticmethod
    def _offset(x: Tensor) -> Tensor:
        """log of how many pieces are to come."""
        n = x.shape[-1]
        return (n - arange(n).to(x.dtype)).log()

    def _inverse(self, y: Tensor) -> Tensor:
        left = (1 - y[..., :-1].cumsum(-1)).clamp(min=tiny(y))
        x = y[..., :-1].log() - left.log()
        return x + self._offset(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # dy_i / dx_i = y_i (1 - z_i), and the matrix is triangular.
        return (y[..., :-1].log() - softplus(x - self._offset(x))).sum(-1)

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """A square matrix to a lower triangular one with the exponentials of its diagonal.

    What is above the diagonal is lost; the inverse puts zeros there.

    >>> import wengert as wg
    >>> LowerCholeskyTransform()(wg.tensor([[0.0, 5.0], [2.0, 0.0]]))
    tensor([[1., 0.],
            [2., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    _call = function(lambda x: x.tril(-1) + x.diagonal(0, -2, -1).exp().diag_embed())
    _inverse = function(lambda y: y.tril(-1) + y.diagonal(0, -2, -1).log().diag_embed())


class PositiveDefiniteTransform(Transform):
    """A square matrix to L L^T, where L is what `LowerCholeskyTransform` makes of it."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    @function
    def _call(x: Any) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    _inverse = function(lambda y: LowerCholeskyTransform().inv(cholesky(y)))


class CorrCholeskyTransform(Transform):
    """D (D - 1) / 2 numbers to the Cholesky factor of a D x D correlation matrix.

    Row i of the factor is a unit vector: with z = tanh(x), each entry takes its share of the length
    that is left, L_ij = z_ij prod_(k<j) sqrt(1 - z_ik^2) for j < i, and the diagonal takes the rest
    (the Stan reference manual, "Correlation matrix transform").

    >>> import wengert as wg
    >>> CorrCholeskyTransform()(wg.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    bijective = True
    domain = constraints.real_vector
    codomain = constraints.corr_cholesky

    def _call(self, x: Tensor) -> Tensor:
        z = _strict_lower(x.tanh(), self.forward_shape(x.shape)[-1])
        left = (1 - z * z).sqrt().cumprod(-1)
        # The diagonal's share is 1: z of it is 0 so far, and of what is above it too.
        whole = z + eye(z.shape[-1], dtype=z.dtype)
        return whole * cat([full_like(left[..., :1], 1.0), left[..., :-1]], -1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        before = cat([full_like(left[..., :1], 1.0), left[..., :-1]], -1)
        n = y.shape[-1]
        rows, columns = tril_indices(n, n, -1)
        share = y[..., rows, columns] / before[..., rows, columns].clamp(min=tiny(y)).sqrt()
        return share.clamp(min=-1 + eps(y) / 2, max=1 - eps(y) / 2).atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Of the strictly lower entries of y by x."""
        slope = log_slope_of_tanh(x)
        n = self.forward_shape(x.shape)[-1]
        # Each entry was scaled by the root of what the entries before it in its row had left.
        left = _strict_lower(slope, n).cumsum(-1)
        rows, columns = tril_indices(n, n, -1)
        before = cat([zeros_like(left[..., :1]), left[..., :-1]], -1)[..., rows, columns]
        return (slope + before / 2).sum(-1)

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        if not shape:
            raise ValueError("CorrCholeskyTransform takes vectors, but a number was given")
        n = round((1 + math.sqrt(1 + 8 * shape[-1])) / 2)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError(
                "CorrCholeskyTransform takes D (D - 1) / 2 numbers, 1, 3, 6, 10, ..., but the "
                f"last dimension of {tuple(shape)} is {shape[-1]}"
            )
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ValueError(f"the factor is a square matrix, but the shape is {tuple(shape)}")
        n = shape[-1]
        return (*shape[:-2], n * (n - 1) // 2)


def _strict_lower(entries: Tensor, n: int) -> Tensor:
    """The n x n matrix with these below its diagonal, row by row, and zeros elsewhere."""
    place = np.zeros((n, n), np.int64)
    place[np.tril_indices(n, -1)] = np.arange(1, n * (n - 1) // 2 + 1)
    return cat([zeros_like(entries[..., :1]), entries], -1)[..., as_tensor(place)]
