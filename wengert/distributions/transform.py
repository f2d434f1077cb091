"""What a transform is, and its inverse; see `transforms.py`."""

from __future__ import annotations

from typing import Any, Self

from wengert.distributions import constraints
from wengert.distributions.constraints import Constraint
from wengert.distributions.formulas import Stated, attribute, function, slope
from wengert.functions.comparison import equal
from wengert.tensor import Tensor


class Transform(Stated):
    """A differentiable function of tensors; a bijective one has an inverse.

    A subclass defines `_call(x)` and, as far as they exist, `_inverse(y)`,
    `log_abs_det_jacobian(x, y)` and `sign`; `domain` and `codomain` are constraints.
    With `cache_size=1` it remembers its last argument and result, so that the inverse of a result
    just computed is the argument itself: exact where the inverse loses precision, as that of a
    saturated tanh does.

    >>> import wengert as wg
    >>> class Cube(Transform):
    ...     def _call(self, x):
    ...         return x**3
    >>> Cube()(wg.tensor(2.0)), Cube()
    (tensor(8.), Cube())
    """

    bijective = False
    domain: Any = constraints.real
    codomain: Any = constraints.real
    _cache_size = 0
    _cached_x_y: tuple[Any, Any] = (None, None)

    def __init__(self, cache_size: int = 0) -> None:
        self._remember(cache_size)
        super().__init__()  # of a Module, where a class of one's own is both

    def _remember(self, cache_size: int) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, not {cache_size!r}")
        self._cache_size = cache_size
        self._cached_x_y = (None, None)

    def __call__(self, x: Tensor) -> Tensor:
        known_x, known_y = self._cached_x_y
        if x is known_x:
            return known_y
        y = self._call(x)
        if self._cache_size:
            self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        known_x, known_y = self._cached_x_y
        if y is known_y:
            return known_x
        x = self._inverse(y)
        if self._cache_size:
            self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define _call")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |dy/dx| at x, where y = self(x) is known."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_abs_det_jacobian")

    @property
    def event_dim(self) -> int:
        """How many trailing dimensions are transformed together."""
        before, after = self.domain.event_dim, self.codomain.event_dim
        if before != after:
            raise ValueError(
                f"the event_dim of {type(self).__name__} is {before} of its domain, {after} of "
                "its codomain: ask one of them, as in t.domain.event_dim"
            )
        return int(before)

    @property
    def inv(self) -> Transform:
        """The inverse as a transform."""
        return _InverseTransform(self)

    @property
    def sign(self) -> Any:
        """+1 or -1: whether it increases or decreases."""
        raise NotImplementedError(f"{type(self).__name__} is neither increasing nor decreasing")

    def with_cache(self, cache_size: int = 1) -> Self:
        """This transform with another `cache_size`."""
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        new._remember(cache_size)
        return new

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        """The shape of the result for an argument of `shape`."""
        return tuple(shape)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        """The shape of the argument for a result of `shape`."""
        return tuple(shape)

    def _settings(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_cached_x_y", "_cache_size")}

    def __eq__(self, other: object) -> bool:
        """Whether two transforms are the same function: one class, equal settings."""
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        assert isinstance(other, Transform)
        mine, theirs = self._settings(), other._settings()
        return mine.keys() == theirs.keys() and all(
            _alike(value, theirs[name]) for name, value in mine.items()
        )

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a is b or (a.shape == b.shape and equal(a, b))
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return False
    if isinstance(a, Constraint):
        return repr(a) == repr(b)
    return bool(a == b)


class _InverseTransform(Transform):
    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._inv = transform

    domain = attribute(lambda _inv: _inv.codomain)
    codomain = attribute(lambda _inv: _inv.domain)
    bijective = attribute(lambda _inv: _inv.bijective)
    inv = attribute(lambda _inv: _inv)
    sign = attribute(lambda _inv: _inv.sign)
    _call = function(lambda x, _inv: _inv._inv_call(x))
    _inverse = function(lambda y, _inv: _inv(y))
    log_abs_det_jacobian = slope(lambda x, y, _inv: -_inv.log_abs_det_jacobian(y, x))

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{self._inv!r}.inv"
