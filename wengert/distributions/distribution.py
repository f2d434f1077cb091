"""What all distributions share: shapes, validation, expansion, and where random numbers come from.

A sample's shape is sample_shape + batch_shape + event_shape: how many are drawn, how many different
distributions there are, and the shape of one outcome. `log_prob` sums over the event.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from wengert import dtypes
from wengert.dispatch import known, require
from wengert.distributions.constraints import Constraint, is_dependent, unit_interval
from wengert.errors import DtypeError, ShapeError
from wengert.functions import random
from wengert.functions.arguments import constant
from wengert.functions.creation import as_tensor, tensor, zeros_like
from wengert.functions.math import logaddexp
from wengert.functions.shapes import broadcast_tensors
from wengert.history.location import warn
from wengert.history.modes import enable_grad, no_grad
from wengert.tensor import Size, Tensor, wrap

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
EULER = 0.57721566490153286


class Distribution:
    """A probability distribution over tensors; see the module for what its shapes mean.

    Subclasses define `log_prob` and `rsample` (differentiable in the parameters) or `sample`.
    With `validate_args` (the default; see `set_default_validate_args`) parameters and values are
    checked against `arg_constraints` and `support`: ValueError.

    >>> import wengert as wg
    >>> from wengert.distributions import Normal
    >>> d = Normal(wg.zeros(3), 1.0)  # three distributions of numbers
    >>> d.batch_shape, d.event_shape, d.sample((2,)).shape
    (torch.Size([3]), torch.Size([]), torch.Size([2, 3]))
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    support: Any = None
    _related: ClassVar[dict[str, Callable[[Any], Constraint]]] = {}
    """What a parameter satisfies besides, in view of the other ones."""
    _validate_args = True

    def __init__(
        self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        # Others may be computed later and kept; these are what the distribution was made of.
        self._given = [name for name in self.arg_constraints if name in vars(self)]
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their arguments unless told otherwise."""
        if value not in (True, False):
            raise ValueError(f"expected True or False, got {value!r}")
        Distribution._validate_args = value

    # ---- shapes -----------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Size:
        """The shape of the distributions that this one holds side by side."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one outcome."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        drawn = lengths(sample_shape, "sample_shape")
        return Size((*drawn, *self._batch_shape, *self._event_shape))

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """What `expand` of a class of one's own fills: `_instance`, or a new one."""
        if _instance is None and type(self).__init__ is not vars(cls).get("__init__"):
            raise NotImplementedError(
                f"{type(self).__name__} derives from {cls.__name__} and has an __init__ of its "
                "own, so it needs an expand() of its own."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _fresh(self, _instance: Any) -> Self:
        """What `expand` fills: what a class derived from this one hands up, or a new one."""
        return object.__new__(type(self)) if _instance is None else _instance

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """This distribution with its batch broadcast to `batch_shape`; nothing is copied.

        A class of one's own that overrides it may hand up an `_instance` to be filled.
        """
        batch_shape = lengths(batch_shape, "batch_shape")
        new = self._fresh(_instance)
        before = len(self._batch_shape)
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                value = value.expand((*batch_shape, *value.shape[before:]))
            elif isinstance(value, Distribution):
                value = value.expand((*batch_shape, *value.batch_shape[before:]))
            vars(new)[name] = value
        new._batch_shape = batch_shape
        return new

    # ---- moments ----------------------------------------------------------------------------

    @property
    def mean(self) -> Tensor:
        raise self._lacks("mean")

    @property
    def mode(self) -> Tensor:
        raise self._lacks("mode")

    @property
    def variance(self) -> Tensor:
        raise self._lacks("variance")

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    # ---- draws and densities ----------------------------------------------------------------

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Outcomes of shape sample_shape + batch_shape + event_shape, without history."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Outcomes that are differentiable functions of the parameters."""
        raise NotImplementedError(
            f"{type(self).__name__} has no reparameterised samples (has_rsample is False). Use "
            "sample(), and weigh gradients by log_prob of what was drawn."
        )

    def sample_n(self, n: int) -> Tensor:
        """`sample((n,))`, as older programs write it."""
        warn("sample_n(n) is deprecated. Use sample((n,)).")
        return self.sample((n,))

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density, or of the probability, at `value`."""
        raise self._lacks("log_prob")

    def cdf(self, value: Any) -> Tensor:
        """The probability of an outcome of at most `value`."""
        raise self._lacks("cdf")

    def icdf(self, value: Any) -> Tensor:
        """The quantile: where `cdf` is `value`."""
        raise self._lacks("icdf")

    def entropy(self) -> Tensor:
        """The expectation of -log_prob, in nats."""
        raise self._lacks("entropy")

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All outcomes of a finite discrete distribution, along a new first dimension."""
        raise self._lacks("enumerate_support")

    def _lacks(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} does not implement {what}")

    # ---- validation -------------------------------------------------------------------------

    def _value(self, value: Any) -> Tensor:
        """A value to judge, as a tensor, checked; Python's numbers take the parameters' dtype."""
        number = self._tensor(value)
        if self._validate_args:
            self._validate_sample(number)
            if number.dtype.kind in "bc":
                self._validate_kind(self.support, number)
        return number

    def _probability(self, value: Any) -> Tensor:
        """The argument of a quantile, likewise."""
        probability = self._tensor(value, TypeError)
        if self._validate_args:
            self._check(unit_interval, probability, "value argument")
            if probability.dtype.kind in "bc":
                self._validate_kind(unit_interval, probability)
        return probability

    def _tensor(self, value: Any, error: type[Exception] = ValueError) -> Tensor:
        _refuse_words(value, error)
        number = as_tensor(value)
        if number.dtype.kind == "f" and not hasattr(value, "dtype"):
            return tensor(value, dtype=self._dtype())
        return number

    def _dtype(self) -> Any:
        """The dtype of the parameters."""
        for held in vars(self).values():
            if isinstance(held, Distribution):
                return held._dtype()
            if isinstance(held, Tensor) and dtypes.is_inexact(held.dtype):
                return held.dtype
        return dtypes.get_default_dtype()

    def _validate_parameters(self) -> None:
        """ValueError unless the parameters given satisfy their constraints."""
        wanted = [(n, c) for n, c in self.arg_constraints.items() if not is_dependent(c)]
        wanted += [(name, related(self)) for name, related in self._related.items()]
        for name, constraint in wanted:
            value = vars(self).get(name)
            if value is not None:
                self._check(constraint, as_tensor(value), f"parameter {name}")

    def _validate_kind(self, support: Any, value: Tensor) -> None:
        """DtypeError for complex values, and for truth values (0 and 1) unless the set is discrete.

        Where there is no support of the whole, the parts judge.
        """
        real = value.dtype.kind != "c"
        if not real or not getattr(support, "is_discrete", True):
            raise DtypeError(
                f"values of {type(self).__name__} are real numbers, but some of {value.dtype} were "
                f"given. Use their {'.float()' if real else '.real'}"
            )

    def _validate_sample(self, value: Tensor) -> None:
        """ValueError unless a value has the right shape and lies in the support."""
        event = len(self._event_shape)
        tail = tuple(value.shape[value.ndim - event :])
        if value.ndim < event or any(
            m != n and 1 not in (m, n) for m, n in zip(tail, self._event_shape, strict=True)
        ):
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{tuple(value.shape)} vs {tuple(self._event_shape)}."
            )
        try:
            np.broadcast_shapes(tuple(value.shape[: value.ndim - event]), tuple(self._batch_shape))
        except ValueError:
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {tuple(value.shape)} "
                f"vs {tuple(self._extended_shape())}."
            ) from None
        support = self.support
        if support is not None:
            self._check(support, value, "value argument")

    def _check(self, constraint: Constraint, value: Tensor, what: str) -> None:
        fine = constraint.check(value.detach())
        held = self._held()
        arrays = [x._array for x in held.values()]
        about = type(self).__name__, constraint, what, list(held)
        require(fine._array, _invalid, value._array, *about, *arrays)

    def _held(self) -> dict[str, Tensor]:
        """The parameters that it was made of."""
        held = {name: vars(self).get(name) for name in self._given}
        return {name: x for name, x in held.items() if isinstance(x, Tensor)}

    def __repr__(self) -> str:
        return _described(type(self).__name__, self._held())


def _described(name: str, held: dict[str, Tensor]) -> str:
    parts = []
    for key, value in held.items():
        small = value.numel() == 1 and known(value._array)
        parts.append(f"{key}: {value.item() if small else value.shape}")
    return f"{name}({', '.join(parts)})"


def _invalid(
    value: Any, name: str, constraint: Constraint, what: str, keys: list[str], *arrays: Any
) -> ValueError:
    held = dict(zip(keys, map(wrap, arrays), strict=True))
    return ValueError(
        f"Expected {what} (Tensor of shape {value.shape}) of distribution "
        f"{_described(name, held)} to satisfy the constraint {constraint!r}, but found invalid "
        f"values:\n{wrap(value)!r}"
    )


def lengths(shape: Any, name: str) -> Size:
    """A shape that was given; TypeError unless it is one, ShapeError for a negative length."""
    try:
        lengths = Size(map(operator.index, shape))
    except TypeError:
        raise TypeError(f"{name} is a tuple of integers, such as (3,), but got {shape!r}") from None
    if any(n < 0 for n in lengths):
        raise ShapeError(f"{name} cannot have a negative length: {list(lengths)}")
    return lengths


def _refuse_words(value: Any, error: type[Exception] = ValueError) -> None:
    if isinstance(value, (str, bytes, type(None))):
        raise error(
            f"parameters and values are tensors, arrays or numbers, but {value!r} was given"
        )


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Parameters as floating-point tensors of one shape.

    They get the dtype of the tensors and arrays among them, to which numbers and lists adapt.
    """
    for value in values:
        _refuse_words(value)
    fixed = [as_tensor(v) if hasattr(v, "dtype") else None for v in values]
    kinds = [t.dtype for t in fixed if t is not None and dtypes.is_inexact(t.dtype)]
    kind = functools.reduce(dtypes.promote_types, kinds) if kinds else dtypes.get_default_dtype()
    if kind.kind == "c":
        raise DtypeError(f"parameters are real numbers, but one is of {kind}. Use its .real")
    parameters = [
        tensor(v, dtype=kind) if t is None else t.to(kind)
        for v, t in zip(values, fixed, strict=True)
    ]
    shapes = {t.shape for t in parameters}
    if len(shapes) < 2:
        return tuple(parameters)
    if len(shapes) == 2 and () in shapes:  # numbers beside tensors of one shape
        (shape,) = shapes - {()}
        return tuple([t if t.shape == shape else t.expand(shape) for t in parameters])
    return tuple(broadcast_tensors(*parameters))


def one_of(**parameters: Any) -> tuple[str, Any]:
    """The one of some parameters that was given, after its name; ValueError unless it is one."""
    given = [(name, value) for name, value in parameters.items() if value is not None]
    if len(given) != 1:
        raise ValueError(
            f"Exactly one of {' or '.join(parameters)} may be specified, but "
            f"{' and '.join(name for name, _ in given) or 'none'} was given."
        )
    return given[0]


class lazy:
    """An attribute computed when it is first asked for, with its history, and then kept."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute = compute
        functools.update_wrapper(self, compute)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.compute(instance)
        vars(instance)[self.compute.__name__] = value
        return value


def summed(x: Tensor, dims: int) -> Tensor:
    """Summed over the last dimensions."""
    return x.sum(tuple(range(-dims, 0))) if dims else x


def finite(numerator: Tensor, denominator: Tensor) -> Tensor:
    """A moment that exists where the denominator is positive, and is infinite elsewhere."""
    infinite = denominator <= 0
    return (numerator / denominator.masked_fill(infinite, 1.0)).masked_fill(infinite, math.inf)


def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x))."""
    return logaddexp(x, zeros_like(x))


# ---- random numbers --------------------------------------------------------------------------


def uniforms(shape: Any, like: Tensor) -> Tensor:
    """Uniform on the open interval (0, 1), in the dtype of `like`, from the default generator."""
    numbers = random.uniform(tuple(shape), like.dtype, None)
    # A draw of 0 stands for the interval [0, eps): in its middle, logarithms are finite.
    eps = float(np.finfo(like.dtype).eps)
    return constant(np.minimum(np.maximum(numbers, eps / 4), 1 - eps / 2))


def normals(shape: Any, like: Tensor) -> Tensor:
    """Standard normal numbers in the dtype of `like`."""
    return constant(random.gaussian(tuple(shape), like.dtype, None))


def numbers() -> Any:
    """NumPy's generator inside the default one."""
    return random.numbers_of(None)


def tiny(like: Tensor) -> float:
    """The smallest positive normal number of the dtype."""
    return float(np.finfo(like.dtype).tiny)


def eps(like: Tensor) -> float:
    """The spacing at 1 of the dtype."""
    return float(np.finfo(like.dtype).eps)
