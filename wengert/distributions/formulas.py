"""Formulas that classes are stated by: expressions in attributes, which become members.

    class _GreaterThan(Constraint):
        lower_bound: Any
        check = holds(lambda x, lower_bound: x > lower_bound)

A formula's arguments are attributes of the instance, by their names. Before them comes what the
method was called with. One that takes statements to compute is a function, which `@function` and
the others decorate.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from wengert.tensor import Tensor

Expression = Callable[..., Any]
Quantities = Callable[[Any], tuple[Any, ...]]


class Formula(NamedTuple):
    """An expression in some `arguments` and in quantities, which its other arguments name."""

    expression: Expression
    arguments: int
    build: Callable[[Quantities], Any]

    def member(self, letters: dict[str, str]) -> Any:
        """The property or the method that it becomes."""
        names = list(inspect.signature(self.expression).parameters)[self.arguments :]
        attributes = [letters.get(name, name) for name in names]
        if len(attributes) > 1:
            return self.build(operator.attrgetter(*attributes))
        return self.build(_one(*attributes) if attributes else lambda d: ())


def _one(name: str) -> Quantities:
    get: Any = operator.attrgetter(name)
    return lambda d: (get(d),)


def formula(*parts: Any) -> Any:
    """A formula, which the type checker takes for the member that it becomes."""
    return Formula(*parts)


class OfValue(Protocol):
    def __call__(self, value: Any) -> Tensor: ...


class OfTensor(Protocol):
    def __call__(self, x: Tensor, /) -> Tensor: ...


class OfBoth(Protocol):
    def __call__(self, x: Tensor, y: Tensor) -> Tensor: ...


def attribute(f: Expression) -> Any:
    """A property."""
    return formula(f, 0, lambda of: property(lambda self: f(*of(self))))


def function(f: Expression) -> Any:
    """A method of a tensor, taken as it is."""
    return formula(f, 1, lambda of: lambda self, x: f(x, *of(self)))


def holds(f: Expression) -> OfValue:
    """Whether values are in a set: `check`."""
    return formula(f, 1, lambda of: lambda self, value: f(value, *of(self)))


def slope(f: Expression) -> OfBoth:
    """A method of an argument and a result."""
    return formula(f, 2, lambda of: lambda self, x, y: f(x, y, *of(self)))


def state(cls: type, letters: dict[str, str]) -> None:
    """Let the formulas of a class become its members; `letters` stand for names in them."""
    for name, stated in list(vars(cls).items()):
        if isinstance(stated, Formula):
            member = stated.member(letters)
            member.__doc__ = stated.expression.__doc__
            define(cls, name, member)


def define(cls: type, name: str, member: Any) -> None:
    if not isinstance(member, property):
        member.__name__, member.__module__ = name, cls.__module__
        member.__qualname__ = f"{cls.__qualname__}.{name}"
    setattr(cls, name, member)


class Stated:
    """Base of classes whose formulas become their members."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        state(cls, {})
