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
from functools import partial
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


def _above(constraint: Any) -> Transform:
    if _is(constraint.lower_bound, 0):
        return transforms.ExpTransform()
    above = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), above])


def _below(constraint: Any) -> Transform:
    below = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), below])


def _between(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if _is(low, 0) and _is(high, 1):
        return transforms.SigmoidTransform()
    stretched = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), stretched])


def _is(bound: Any, number: int) -> bool:
    return isinstance(bound, (int, float)) and bound == number


def _independently(registry: ConstraintRegistry, constraint: Any) -> Transform:
    base = registry(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


def _pieces(registry: ConstraintRegistry, constraint: Any) -> Transform:
    parts = [registry(part) for part in constraint.cseq]
    if constraint.lengths is None:
        return transforms.StackTransform(parts, constraint.dim)
    return transforms.CatTransform(parts, constraint.dim, constraint.lengths)


for _registry in (biject_to, transform_to):
    _registry.register(constraints.real, lambda _: transforms.identity_transform)
    _registry.register(constraints.greater_than, _above)
    _registry.register(constraints.greater_than_eq, _above)
    _registry.register(constraints.less_than, _below)
    _registry.register(constraints.interval, _between)
    _registry.register(constraints.half_open_interval, _between)
    _registry.register(constraints.corr_cholesky, lambda _: transforms.CorrCholeskyTransform())
    _registry.register(constraints.independent, partial(_independently, _registry))
    _registry.register(constraints.Beside, partial(_pieces, _registry))

biject_to.register(constraints.simplex, lambda _: transforms.StickBreakingTransform())

transform_to.register(constraints.simplex, lambda _: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda _: transforms.LowerCholeskyTransform())
for _definite in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_definite, lambda _: transforms.PositiveDefiniteTransform())
