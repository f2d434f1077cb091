"""Sets that parameters and samples lie in: `constraint.check(value)` says which entries do.

`event_dim` is how many trailing dimensions are judged together: a probability vector is in the
simplex as a whole, so `simplex.check` of a (3, 4) tensor has shape (3,).

>>> import wengert as wg
>>> unit_interval.check(wg.tensor([0.5, 2.0])), simplex.check(wg.tensor([0.5, 0.5]))
(tensor([ True, False]), tensor(True))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.distributions.formulas import Stated, attribute, holds
from wengert.functions import joining
from wengert.functions.creation import full
from wengert.functions.decompositions import cholesky_ex, eigvalsh
from wengert.imports import lacking as _lacking
from wengert.tensor import Tensor


class Constraint(Stated):
    """A set of values. Subclasses say in `check` which values are in it."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Truth values, of the shape of `value` without its last `event_dim` dimensions."""
        raise NotImplementedError(f"{type(self).__name__} does not define check()")

    def __repr__(self) -> str:
        settings = ", ".join(f"{k}={v}" for k, v in vars(self).items())
        return f"{type(self).__name__.lstrip('_')}({settings})"


class _Dependent(Constraint):
    """A set that depends on parameters: ask the instance, not the class.

    `dependent(is_discrete=True, event_dim=1)` says what is known of it beforehand.
    """

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, *, is_discrete: bool = False, event_dim: int = 0) -> _Dependent:
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, value: Tensor) -> Tensor:
        raise ValueError(
            "this support depends on the distribution's parameters; ask an instance for it: "
            "Uniform(0.0, 2.0).support.check(value)"
        )


class dependent_property(property, _Dependent):
    """A property of distributions whose value is a constraint: the support, say.

    Of the class, it is a dependent constraint; of an instance, the one that it has. It is written
    `@dependent_property` or `@dependent_property(is_discrete=True, event_dim=1)`.
    """

    def __init__(self, fget: Any = None, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        super().__init__(fget)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, fget: Any) -> Any:  # type: ignore[override]
        return dependent_property(fget, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on parameters, and so cannot be checked."""
    return isinstance(constraint, _Dependent)


class _Real(Constraint):
    """Every number but NaN."""

    check = holds(lambda value: value == value)


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    check = holds(lambda value: (value == 0) | (value == 1))


class _OneHot(Constraint):
    """Vectors of zeros and a single 1."""

    is_discrete = True
    event_dim = 1

    check = holds(lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1))


@dataclass(eq=False, repr=False)
class _IntegerInterval(Constraint):
    """The integers from one bound to the other, both included."""

    is_discrete = True

    lower_bound: Any
    upper_bound: Any
    check = holds(
        lambda x, lower_bound, upper_bound: (x % 1 == 0) & (lower_bound <= x) & (x <= upper_bound)
    )


@dataclass(eq=False, repr=False)
class _IntegerGreaterThan(Constraint):
    """The integers from a bound on."""

    is_discrete = True

    lower_bound: Any
    check = holds(lambda x, lower_bound: (x % 1 == 0) & (x >= lower_bound))


@dataclass(eq=False, repr=False)
class _GreaterThan(Constraint):
    """The numbers above a bound."""

    lower_bound: Any
    check = holds(lambda x, lower_bound: x > lower_bound)


@dataclass(eq=False, repr=False)
class _GreaterThanEq(Constraint):
    """The numbers from a bound on."""

    lower_bound: Any
    check = holds(lambda x, lower_bound: x >= lower_bound)


@dataclass(eq=False, repr=False)
class _LessThan(Constraint):
    """The numbers below a bound."""

    upper_bound: Any
    check = holds(lambda x, upper_bound: x < upper_bound)


@dataclass(eq=False, repr=False)
class _Interval(Constraint):
    """The numbers from one bound to the other, both included."""

    lower_bound: Any
    upper_bound: Any
    check = holds(lambda x, lower_bound, upper_bound: (lower_bound <= x) & (x <= upper_bound))


class _HalfOpenInterval(_Interval):
    """The numbers from one bound, included, to the other, which is not."""

    check = holds(lambda x, lower_bound, upper_bound: (lower_bound <= x) & (x < upper_bound))


class _Simplex(Constraint):
    """Vectors of probabilities: none is negative, and their sum is 1."""

    event_dim = 1

    check = holds(lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6))


@dataclass(eq=False, repr=False)
class _Multinomial(Constraint):
    """Vectors of counts, none negative, whose sum is at most a bound."""

    is_discrete = True
    event_dim = 1

    upper_bound: int
    check = holds(lambda x, upper_bound: (x >= 0).all(-1) & (x.sum(-1) <= upper_bound))


class _LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    event_dim = 2

    check = holds(lambda value: (value.tril() == value).flatten(-2).all(-1))


class _LowerCholesky(_LowerTriangular):
    """Lower triangular with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Lower triangular with a positive diagonal and rows of length 1."""

    def check(self, value: Tensor) -> Tensor:
        tolerance = float(np.finfo(value.dtype).eps) * value.shape[-1] * 10
        unit = (((value * value).sum(-1) - 1).abs() < tolerance).all(-1)
        return super().check(value) & unit


class _Square(Constraint):
    """Matrices with as many rows as columns."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=bool)


class _Symmetric(Constraint):
    """Equal to its transpose, to 1e-5 of its largest entry: sums in another order are forgiven."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        if value.shape[-2] != value.shape[-1]:
            return square.check(value)
        scale = value.abs().amax((-2, -1), keepdim=True)
        equal = ((value - value.mT).abs() <= 1e-5 * scale).flatten(-2).all(-1)
        return self._has_signs(equal, value)

    def _has_signs(self, symmetric: Tensor, value: Tensor) -> Tensor:
        """Whether it is symmetric, and its eigenvalues have the signs that are asked for."""
        return symmetric


class _PositiveSemidefinite(_Symmetric):
    """Symmetric, without a negative eigenvalue."""

    def _has_signs(self, symmetric: Tensor, value: Tensor) -> Tensor:
        values = eigvalsh(value)
        return symmetric & (values[..., 0] >= -1e-5 * values.abs().amax(-1))


class _PositiveDefinite(_Symmetric):
    """Symmetric, with positive eigenvalues only."""

    def _has_signs(self, symmetric: Tensor, value: Tensor) -> Tensor:
        return symmetric & (cholesky_ex(value).info == 0)


class _Independent(Constraint):
    """`base` held in each of the last dimensions, judged together."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    is_discrete = attribute(lambda base_constraint: base_constraint.is_discrete)
    event_dim = attribute(
        lambda base_constraint, reinterpreted_batch_ndims: (
            base_constraint.event_dim + reinterpreted_batch_ndims
        )
    )

    def check(self, value: Tensor) -> Tensor:
        holds = self.base_constraint.check(value)
        n = self.reinterpreted_batch_ndims
        if holds.ndim < n:
            raise ValueError(
                f"expected a value with at least {self.event_dim} dimensions, "
                f"got shape {tuple(value.shape)}"
            )
        return holds.flatten(-n).all(-1) if n else holds

    def __repr__(self) -> str:
        return f"Independent({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


def independently(constraint: Constraint, dims: int) -> Constraint:
    """`independent`, but the constraint itself where no dimension is added."""
    return _Independent(constraint, dims) if dims else constraint


class Beside(Constraint):
    """Constraints on parts that lie beside each other along dimension `dim`."""

    def __init__(self, cseq: Any, dim: int, lengths: list[int] | None) -> None:
        self.cseq, self.dim, self.lengths = list(cseq), dim, lengths

    is_discrete = attribute(lambda cseq: any(c.is_discrete for c in cseq))
    event_dim = attribute(lambda cseq: max((c.event_dim for c in cseq), default=0))

    def check(self, value: Tensor) -> Tensor:
        if self.lengths is None:
            pairs = zip(self.cseq, value.unbind(self.dim), strict=True)
            return joining.stack([c.check(part) for c, part in pairs], self.dim)
        pairs = zip(self.cseq, value.split(self.lengths, self.dim), strict=True)
        return joining.cat([c.check(part) for c, part in pairs], self.dim)

    def __repr__(self) -> str:
        return f"{'Stack' if self.lengths is None else 'Cat'}({self.cseq!r}, dim={self.dim})"


def cat(cseq: Any, dim: int = 0, lengths: Any = None) -> Constraint:
    """Constraints on consecutive pieces of a dimension, of the given lengths (1 each)."""
    cseq = list(cseq)
    return Beside(cseq, dim, [1] * len(cseq) if lengths is None else list(lengths))


def stack(cseq: Any, dim: int = 0) -> Constraint:
    """One constraint for each index of a dimension."""
    return Beside(cseq, dim, None)


dependent = _Dependent()
boolean: Constraint = _Boolean()
one_hot: Constraint = _OneHot()
nonnegative_integer: Constraint = _IntegerGreaterThan(0)
positive_integer: Constraint = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real: Constraint = _Real()
independent = _Independent
real_vector: Constraint = independent(real, 1)
positive: Constraint = _GreaterThan(0.0)
nonnegative: Constraint = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
unit_interval: Constraint = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex: Constraint = _Simplex()
multinomial = _Multinomial
lower_triangular: Constraint = _LowerTriangular()
lower_cholesky: Constraint = _LowerCholesky()
corr_cholesky: Constraint = _CorrCholesky()
square: Constraint = _Square()
symmetric: Constraint = _Symmetric()
positive_semidefinite: Constraint = _PositiveSemidefinite()
positive_definite: Constraint = _PositiveDefinite()

_lacking(__name__)
