"""Angles: the von Mises distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from wengert.distributions import constraints
from wengert.distributions.constraints import Constraint
from wengert.distributions.distribution import Distribution, broadcast_all, numbers
from wengert.functions.arguments import array_of, constant
from wengert.functions.special import i0e, i1e
from wengert.tensor import Tensor


class VonMises(Distribution):
    """p(x) = exp(k cos(x - loc)) / (2 pi I0(k)), k = `concentration`, for angles x in radians.

    The normal distribution of the circle: near loc for a large concentration, uniform for a small
    one. Values count modulo 2 pi; samples lie in [-pi, pi).

    >>> import wengert as wg
    >>> VonMises(0.0, 2.0).log_prob(wg.tensor([0.0, 2 * wg.pi]))
    tensor([-0.6619, -0.6619])
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real,
        "concentration": constraints.positive,
    }
    support = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The circular mean: the angle of E[exp(i x)]."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance, 1 - |E[exp(i x)]| = 1 - I1(k) / I0(k)."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = tuple(self._extended_shape(sample_shape))
        loc, k = (array_of(x.detach()).astype(np.float64) for x in (self.loc, self.concentration))
        angles = (numbers().vonmises(0.0, k, shape) + loc + np.pi) % (2 * np.pi) - np.pi
        return constant(angles.astype(self.loc.dtype))

    def _log_normalizer(self) -> Tensor:
        """log(2 pi I0(k)), by the function that does not overflow."""
        return math.log(2 * math.pi) + i0e(self.concentration).log() + self.concentration

    def log_prob(self, value: Any) -> Tensor:
        aligned = (self._value(value) - self.loc).cos()
        return self.concentration * aligned - self._log_normalizer()

    def entropy(self) -> Tensor:
        k = self.concentration
        return self._log_normalizer() - k * i1e(k) / i0e(k)
