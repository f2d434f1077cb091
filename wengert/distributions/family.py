"""A family of distributions, stated as in a textbook's table: parameters, support, formulas.

    @family(a="concentration")
    class Gamma(Family):
        concentration: Positive
        rate: Positive
        support = constraints.nonnegative

        mean = quantity(lambda a, rate: a / rate)
        cdf = pointwise(lambda x, a, rate: gammainc(a, rate * x))

A formula (`formulas.py`) may name attributes of the distribution by the letters that `family` is
told, too; what the method was called with is made ready for it.

Divergences (`kl.py`) ask some families for two more: `_mean_log()`, E[log x], and
`_log_mean_exp(t)`, log E[exp(-t x)] for t > 0.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import InitVar, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, TypeVar, dataclass_transform

from wengert.distributions import constraints
from wengert.distributions.distribution import Distribution, broadcast_all, lazy, uniforms
from wengert.distributions.formulas import (
    Expression,
    OfTensor,
    OfValue,
    Quantities,
    attribute,
    define,
    formula,
    state,
)
from wengert.distributions.transformed import TransformedDistribution
from wengert.distributions.transforms import ComposeTransform, Transform
from wengert.history.modes import no_grad
from wengert.tensor import Tensor

D = TypeVar("D", bound=Distribution)

# ---- parameters ------------------------------------------------------------------------------


class Parameter:
    """Given as a tensor, an array or a number; held as a tensor of the batch's shape."""

    if TYPE_CHECKING:

        def __get__(self, instance: Any, owner: Any = None) -> Tensor: ...
        def __set__(self, instance: Any, value: Any) -> None: ...


Real = Annotated[Parameter, constraints.real]
Positive = Annotated[Parameter, constraints.positive]
Dependent = Annotated[Parameter, constraints.dependent]


# ---- formulas --------------------------------------------------------------------------------


class Property(Protocol):
    def __get__(self, instance: Any, owner: Any = None) -> Tensor: ...


class Closed(Protocol):
    def __call__(self) -> Tensor: ...


class OfShape(Protocol):
    def __call__(self, sample_shape: Any = ()) -> Tensor: ...


def quantity(f: Expression) -> Property:
    """The mean, the mode, the variance."""
    return attribute(f)


def region(f: Callable[..., Any], is_discrete: bool = False, event_dim: int = 0) -> Any:
    """The support, where it depends on parameters."""
    kind = constraints.dependent_property(is_discrete=is_discrete, event_dim=event_dim)
    return formula(f, 0, lambda of: kind(lambda self: f(*of(self))))


def expectation(f: Expression) -> Closed:
    """A method without arguments: the entropy."""
    return formula(f, 0, lambda of: lambda self: f(*of(self)))


def pointwise(f: Expression) -> OfValue:
    """A method of a value, checked to lie in the support: log_prob, cdf."""
    return formula(f, 1, lambda of: lambda self, value: f(self._value(value), *of(self)))


def quantile(f: Expression) -> OfValue:
    """A method of a probability, checked to be one: icdf."""
    return formula(f, 1, lambda of: lambda self, value: f(self._probability(value), *of(self)))


def pathwise(f: Expression) -> OfShape:
    """A method of the shape of all that is drawn, differentiable in the parameters: rsample."""
    return formula(f, 1, lambda of: _sampler(f, of))


def draw(f: Expression) -> OfShape:
    """A method of that shape, without history: sample, where there is no rsample."""
    return formula(f, 1, lambda of: no_grad(_sampler(f, of)))


def _sampler(f: Expression, of: Quantities) -> Expression:
    return lambda self, sample_shape=(): f(self._extended_shape(sample_shape), *of(self))


def made_of(f: Callable[..., tuple[Distribution, list[Transform]]]) -> Any:
    """The base and the transforms of a `Transformed`."""
    return formula(f, 0, lambda of: lambda self: f(*of(self)))


natural = attribute
"""The natural parameters of an `ExponentialFamily`."""


def normalizer(f: Expression) -> Any:
    """Its log-normalizer, of natural parameters alone."""
    return staticmethod(f)


# ---- the class -------------------------------------------------------------------------------


@dataclass_transform(field_specifiers=(field,))
def family(**letters: str) -> Callable[[type[D]], type[D]]:
    """Decorates a class that states a family; `letters` stand for names in its formulas.

    The parameters that it annotates become its `arg_constraints` and the arguments of `__init__`.
    """

    def stated(cls: type[D]) -> type[D]:
        hints = inspect.get_annotations(cls, eval_str=True)
        parameters = {
            name: hint.__metadata__[0]
            for name, hint in hints.items()
            if hasattr(hint, "__metadata__")
        }
        if parameters:
            cls.arg_constraints = parameters
            define(cls, "__init__", _constructor(tuple(parameters)))
        state(cls, letters)
        cls.has_rsample = cls.rsample is not Distribution.rsample
        return cls

    return stated


def _constructor(parameters: tuple[str, ...]) -> Callable[..., None]:
    """Takes the parameters and broadcasts them: their shape is the batch's."""
    names = (*parameters, "validate_args")

    def __init__(self: Any, *values: Any, **named: Any) -> None:
        told = dict(zip(names, values, strict=False)) | named
        given = {"validate_args": None} | told
        if given.keys() != set(names) or len(told) != len(values) + len(named):
            raise _misfit(type(self).__name__, signature, values, named)
        tensors = broadcast_all(*[given[name] for name in parameters])
        vars(self).update(zip(parameters, tensors, strict=True))
        Distribution.__init__(self, tensors[0].shape, validate_args=given["validate_args"])

    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own, *arguments = [inspect.Parameter(name, either) for name in ("self", *names)]
    arguments[-1] = arguments[-1].replace(default=None)
    signature = inspect.Signature(arguments)
    __init__.__signature__ = inspect.Signature([own, *arguments])  # type: ignore[attr-defined]
    return __init__


def _misfit(name: str, signature: inspect.Signature, values: Any, named: Any) -> TypeError:
    try:
        signature.bind(*values, **named)
    except TypeError as error:
        return TypeError(f"{name}{signature}: {error}")
    raise AssertionError(values, named)


@family()
class Family(Distribution):
    """Base of what `family` decorates."""

    if TYPE_CHECKING:
        validate_args: InitVar[bool | None] = field(default=None, kw_only=True)

    def _uniforms(self, sample_shape: Any) -> Tensor:
        """Uniform numbers to make samples of."""
        like = getattr(self, next(iter(self.arg_constraints)))
        return uniforms(self._extended_shape(sample_shape), like)


@family()
class Quantiles(Family):
    """x = Q(u) for a uniform u; subclasses state Q, the quantile."""

    _quantile: ClassVar[OfTensor]

    def icdf(self, value: Any) -> Tensor:
        return self._quantile(self._probability(value))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._quantile(self._uniforms(sample_shape))


@family()
class Survival(Family):
    """P(x) = 1 - exp(-H(x)): subclasses state H, the cumulative hazard, and its inverse.

    H of such a variable is a standard exponential one.
    """

    _hazard: ClassVar[OfTensor]
    _at_hazard: ClassVar[OfTensor]

    def cdf(self, value: Any) -> Tensor:
        return -(-self._hazard(self._value(value))).expm1()

    def icdf(self, value: Any) -> Tensor:
        return self._at_hazard(-(-self._probability(value)).log1p())

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._at_hazard(-self._uniforms(sample_shape).log())


@family()
class Transformed(Family, TransformedDistribution):
    """y = t(x): subclasses state x and t, the base and the transforms, of their parameters.

    Of what follows from the two they state what has a better form. One whose own `__init__` gives
    a base and transforms instead of parameters, as TransformedDistribution takes them, finds the
    parameters in that base.
    """

    def _made_of(self) -> tuple[Distribution, list[Transform]]:
        raise self._lacks("_made_of")

    @lazy
    def base_dist(self) -> Distribution:
        """The distribution of x."""
        return self._made_of()[0]

    @lazy
    def transforms(self) -> list[Transform]:
        """What is done to x, one after another."""
        return self._made_of()[1]

    @lazy
    def _whole(self) -> Transform:
        return ComposeTransform(self.transforms)

    expand = Distribution.expand
    sample = Distribution.sample
    __repr__ = Distribution.__repr__

    def __getattr__(self, name: str) -> Any:
        if name in self.arg_constraints and "base_dist" in vars(self):
            return getattr(self.base_dist, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
