"""Exponential families: entropy and divergence are derivatives of one function."""

from __future__ import annotations

from typing import Any

from wengert.autograd.differentiate import grad
from wengert.distributions.distribution import Distribution, summed
from wengert.history.modes import enable_grad, is_grad_enabled
from wengert.tensor import Tensor


class ExponentialFamily(Distribution):
    """p(x) = exp(<t(x), theta> - F(theta) + k(x)), for families of one's own.

    A subclass states theta (`_natural_params`, a tuple of tensors), F (`_log_normalizer(*theta)`,
    of the batch's shape) and E[k] (`_mean_carrier_measure`). The means of t are F's gradient, so

        H = F - <theta, grad F> - E[k],  KL(p || q) = F(q) - F(p) - <theta(q) - theta(p), grad F(p)>

    (Nielsen and Garcia, "Statistical exponential families: a digest with flash cards", 2009); the
    second is what `kl_divergence` of two members of one class is. wengert's own distributions have
    closed forms of both. Without an E[k] there is no entropy: NotImplementedError.

    >>> import wengert as wg
    >>> class Exponential(ExponentialFamily):
    ...     _mean_carrier_measure = 0.0
    ...     def __init__(self, rate):
    ...         self.rate = rate
    ...         super().__init__(rate.shape)
    ...     @property
    ...     def _natural_params(self):
    ...         return (-self.rate,)
    ...     def _log_normalizer(self, theta):
    ...         return -(-theta).log()
    >>> Exponential(wg.tensor(1.0)).entropy()
    tensor(1.)
    """

    _mean_carrier_measure: Any = None

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise self._lacks("_natural_params")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise self._lacks("_log_normalizer")

    def _bregman(self) -> tuple[Tensor, tuple[Tensor, ...], tuple[Tensor, ...]]:
        """F, theta, and the gradient of F, with their history."""
        recorded = is_grad_enabled() and any(p.requires_grad for p in self._natural_params)
        with enable_grad():
            theta = tuple(
                p if p.requires_grad else p.detach().requires_grad_() for p in self._natural_params
            )
            value = self._log_normalizer(*theta)
            means = grad(value.sum(), theta, create_graph=recorded)
        return (value if recorded else value.detach()), theta, means

    def _event(self, x: Tensor) -> Tensor:
        """Summed over the dimensions that the batch has not."""
        return summed(x, x.ndim - len(self.batch_shape))

    def entropy(self) -> Tensor:
        if self._mean_carrier_measure is None:
            raise self._lacks("entropy")
        value, theta, means = self._bregman()
        for p, mean in zip(theta, means, strict=True):
            value = value - self._event((p if value.requires_grad else p.detach()) * mean)
        return value - self._mean_carrier_measure

    def divergence(self, other: ExponentialFamily) -> Tensor:
        """KL(self || other), of the same class."""
        value, theta, means = self._bregman()
        result = other._log_normalizer(*other._natural_params) - value
        for p, q, mean in zip(theta, other._natural_params, means, strict=True):
            p = p if value.requires_grad else p.detach()
            result = result - self._event((q - p) * mean)
        return result
