"""Angles: the von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.arrays.kind import array_of
from wengert.distributions import constraints
from wengert.distributions.distribution import numbers
from wengert.distributions.family import (
    Family,
    Positive,
    Real,
    expectation,
    family,
    pointwise,
    quantity,
)
from wengert.functions.arguments import constant
from wengert.functions.special import i0e, i1e
from wengert.tensor import Tensor


@family(k="concentration", log_C="_log_normalizer")
class VonMises(Family):
    """p(x) = exp(k cos(x - loc)) / (2 pi I0(k)), k = `concentration`, for angles x in radians.

    The normal distribution of the circle: near loc for a large concentration, uniform for a small
    one. Values count modulo 2 pi; samples lie in [-pi, pi). The mean is the angle of E[exp(i x)],
    the variance 1 - |E[exp(i x)]|: the circular ones.

    >>> import wengert as wg
    >>> VonMises(0.0, 2.0).log_prob(wg.tensor([0.0, 2 * wg.pi]))
    tensor([-0.6619, -0.6619])
    """

    loc: Real
    concentration: Positive
    support = constraints.real

    mean = mode = quantity(lambda loc: loc)
    variance = quantity(lambda k: 1 - i1e(k) / i0e(k))
    # log(2 pi I0(k)), by the function that does not overflow
    _log_normalizer = quantity(lambda k: math.log(2 * math.pi) + i0e(k).log() + k)
    entropy = expectation(lambda k, log_C: log_C - k * i1e(k) / i0e(k))
    log_prob = pointwise(lambda x, loc, k, log_C: k * (x - loc).cos() - log_C)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = tuple(self._extended_shape(sample_shape))
        loc, k = (array_of(x.detach()).astype(np.float64) for x in (self.loc, self.concentration))
        angles = (numbers().vonmises(0.0, k, shape) + loc + np.pi) % (2 * np.pi) - np.pi
        return constant(angles.astype(self.loc.dtype))
