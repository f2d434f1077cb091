"""Transforms of unconstrained numbers onto a constraint: for parameters that an optimizer varies.

`biject_to(constraint)` is one to one, and its determinant is known: for changes of variables, as
Hamiltonian Monte Carlo needs them. `transform_to(constraint)` may be many to one, and cheaper: for
optimization.

>>> import wengert as wg
>>> from wengert.distributions import Gamma
>>> positive = transform_to(Gamma.arg_constraints["rate"])
>>> positive(wg.tensor([-1.0, 0.0, 1.0]))
tensor([0.3679, 1.0000, 2.7183])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from wengert.distributions import constraints, transforms
from wengert.distributions.constraints import Constraint
from wengert.distributions.transforms import Transform

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """Which transform goes to which class of constraints."""

    def __init__(self) -> None:
        self._factories: dict[type[Constraint], Factory] = {}

    @overload
    def register(self, constraint: Any) -> Callable[[Factory], Factory]: ...

    @overload
    def register(self, constraint: Any, factory: Factory) -> Factory: ...

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Say how the transform onto a constraint, or onto any of its class, is made of it.

        Called with both, or as a decorator of the factory.
        """
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, Constraint)):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint!r}"
            )
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        self._factories[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """The transform from unconstrained numbers onto a constraint."""
        factory = self._factories.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints. Add a transform onto "
                "them with .register(constraint, factory)."
            )
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Any) -> Callable[[Factory], Factory]:
    def decorate(factory: Factory) -> Factory:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return decorate


@_both(constraints.real)
def _real(constraint: Any) -> Transform:
    return transforms.identity_transform


@biject_to.register(constraints.independent)
def _independently(constraint: Any) -> Transform:
    base = biject_to(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


@transform_to.register(constraints.independent)
def _independently_to(constraint: Any) -> Transform:
    base = transform_to(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


@_both(constraints.greater_than, constraints.greater_than_eq)
def _above(constraint: Any) -> Transform:
    if _is(constraint.lower_bound, 0):
        return transforms.ExpTransform()
    above = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), above])


@_both(constraints.less_than)
def _below(constraint: Any) -> Transform:
    below = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), below])


@_both(constraints.interval, constraints.half_open_interval)
def _between(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if _is(low, 0) and _is(high, 1):
        return transforms.SigmoidTransform()
    stretched = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), stretched])


def _is(bound: Any, number: int) -> bool:
    return isinstance(bound, (int, float)) and bound == number


@biject_to.register(constraints.simplex)
def _simplex(constraint: Any) -> Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _simplex_to(constraint: Any) -> Transform:
    return transforms.SoftmaxTransform()


@_both(constraints.corr_cholesky)
def _correlations(constraint: Any) -> Transform:
    return transforms.CorrCholeskyTransform()


@transform_to.register(constraints.lower_cholesky)
def _factor(constraint: Any) -> Transform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _definite(constraint: Any) -> Transform:
    return transforms.PositiveDefiniteTransform()


@biject_to.register(constraints.Beside)
def _beside(constraint: Any) -> Transform:
    return _pieces(constraint, biject_to)


@transform_to.register(constraints.Beside)
def _beside_to(constraint: Any) -> Transform:
    return _pieces(constraint, transform_to)


def _pieces(constraint: Any, registry: ConstraintRegistry) -> Transform:
    parts = [registry(part) for part in constraint.cseq]
    if constraint.lengths is None:
        return transforms.StackTransform(parts, constraint.dim)
    return transforms.CatTransform(parts, constraint.dim, constraint.lengths)
