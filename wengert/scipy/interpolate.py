"""`scipy.interpolate` on tensors: cubic splines."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate

from wengert.dispatch import as_array
from wengert.scipy.meaning import holds_arrays, otherwise


class CubicSpline:
    """The piecewise cubic function through points, twice continuously differentiable.

    `CubicSpline(x, y, axis, bc_type)(at, nu)` is SciPy's: its value, or its nu-th derivative, which
    can be differentiated by `at`, by y and by x. `bc_type` is "not-a-knot", "natural", "clamped" or
    "periodic", or a pair for the two ends, of the first three or of `(order, value)`, the first or
    second derivative there. `integrate(a, b)` is the integral.

    >>> import wengert as wg
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> wg.grad(lambda y: CubicSpline(x, y)(1.5))(x**2).round(4)
    array([-0.0625,  0.5625,  0.5625, -0.0625])
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ) -> None:
        self.axis = axis
        by_itself = "periodic" if bc_type == "periodic" else True
        self.extrapolate = by_itself if extrapolate is None else extrapolate
        self.x, y = as_array(x), np.moveaxis(as_array(y), axis, 0)
        n = self.x.shape[0]
        if n < 2 or len(self.x.shape) != 1 or y.shape[0] != n:
            raise ValueError(
                "x must be a vector of at least two numbers, and y as long along its axis; got "
                f"shapes {tuple(self.x.shape)} and {tuple(y.shape)}"
            )
        further = tuple(y.shape[1:])
        self.y = np.reshape(y, (n, -1))
        if bc_type == "periodic" and not np.allclose(_bare(y[0]), _bare(y[-1]), 1e-15, 1e-15):
            raise ValueError("the first and last value of a periodic spline have to be the same")
        slopes = np.matmul(*self._slopes(_conditions(bc_type)))
        h = np.reshape(np.diff(self.x), (-1, 1))
        steep = np.diff(self.y, axis=0) / h
        third = (slopes[:-1] + slopes[1:] - 2 * steep) / (h * h)
        second = (steep - slopes[:-1]) / h - third * h
        terms = [third, second, slopes[:-1], self.y[:-1]]
        self.c = [np.reshape(term, (n - 1, *further)) for term in terms]

    def _slopes(self, ends: Any) -> tuple[Any, Any]:
        """The slopes at the points: (inverse of the system, its right side)."""
        x, y, n = self.x, self.y, self.x.shape[0]
        h = np.diff(x)
        steep = np.diff(y, axis=0) / h[:, None]
        free = [end == _FREE for end in ends]
        if n == 2 and ends != "periodic":  # no knot is inside
            ends = [(1, steep[0]) if end == _FREE else end for end in ends]
        if n == 3 and all(free):  # the parabola through three points
            zero = 0 * h[0]
            rows = [
                [1 + zero, 1 + zero, zero],
                [h[1], 2 * (h[0] + h[1]), h[0]],
                [zero, 1 + zero, 1 + zero],
            ]
            right = [2 * steep[0], 3 * (h[0] * steep[1] + h[1] * steep[0]), 2 * steep[1]]
            return np.linalg.inv(np.stack([np.stack(r) for r in rows])), np.stack(right)
        inner = (
            _put_along(h[1:], n, 0) + _put_along(2 * (h[:-1] + h[1:]), n, 1)
            + _put_along(h[:-1], n, 2)
        )  # fmt: skip
        right = 3 * (h[:-1, None] * steep[1:] + h[1:, None] * steep[:-1])
        first, last = _ends(ends, h, steep, n)
        system = np.concatenate([first[0], inner, last[0]], axis=0)
        return np.linalg.inv(system), np.concatenate([first[1], right, last[1]], axis=0)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The value at x, or the nu-th derivative there."""
        how = self.extrapolate if extrapolate is None else extrapolate
        return _piecewise(self.c, self.x, as_array(x), nu, self.axis, how)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b, two numbers."""
        how = self.extrapolate if extrapolate is None else extrapolate
        a, b, knots = as_array(a), as_array(b), _bare(self.x)
        if how == "periodic" and not all(knots[0] <= _bare(end) <= knots[-1] for end in (a, b)):
            raise TypeError(
                "the integral of a periodic spline of tensors is taken between its points: add the "
                "integrals over whole periods"
            )
        c = [term / (len(self.c) - i) for i, term in enumerate(self.c)]
        h = np.reshape(np.diff(self.x), (-1, *[1] * len(c[0].shape[1:])))
        pieces = sum(term * h ** (len(c) - i) for i, term in enumerate(c))
        before = np.concatenate([0 * pieces[:1], np.cumsum(pieces, axis=0)[:-1]], axis=0)
        both = np.stack([a, b])
        upto = _piecewise([*c, before], self.x, both, 0, 0, bool(how))
        return upto[1] - upto[0]

    def __new__(cls, x: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        if not (holds_arrays(x) or holds_arrays(y)):
            return _Known(x, y, *args, **kwargs)
        return super().__new__(cls)


class _Known(scipy.interpolate.CubicSpline):  # type: ignore[misc]
    """SciPy's own, through points that are numbers, which may be asked at tensors as well."""

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        if not holds_arrays(x):
            return super().__call__(x, nu, extrapolate)
        how = self.extrapolate if extrapolate is None else extrapolate
        return _piecewise(list(self.c), self.x, as_array(x), nu, self.axis, how)


def _piecewise(c: list[Any], x: Any, at: Any, nu: int, axis: int, extrapolate: Any) -> Any:
    """Σ c[i][k] (at - x[k])^(n - i), or its nu-th derivative, where k is the interval of each `at`.

    Beyond the points the outer polynomials go on, or what is there is periodic, or NaN.
    """
    for _ in range(nu):
        n = len(c) - 1
        c = [(n - i) * term for i, term in enumerate(c[:-1])] or [0 * c[0]]
    knots, flat = _bare(x), np.reshape(at, (-1,))
    if extrapolate == "periodic":
        flat = x[0] + np.mod(flat - x[0], x[-1] - x[0])
    where = _bare(flat)
    k = np.clip(np.searchsorted(knots, where, side="right") - 1, 0, x.shape[0] - 2)
    further = tuple(c[0].shape[1:])
    t = np.reshape(flat - x[k], (-1, *[1] * len(further)))
    result = 0 * t + c[0][k]
    for term in c[1:]:
        result = result * t + term[k]
    if not extrapolate:
        inside = np.reshape((where >= knots[0]) & (where <= knots[-1]), (-1, *[1] * len(further)))
        result = np.where(inside, result, np.nan)
    result = np.reshape(result, (*at.shape, *further))
    axes = range(len(at.shape))
    return np.moveaxis(result, tuple(axes), tuple(axis + i for i in axes)) if axis else result


def _bare(x: Any) -> Any:
    """Without history: which interval a number lies in has no derivative."""
    return x.detach() if hasattr(x, "detach") else x


def _put_along(values: Any, n: int, k: int) -> Any:
    """The values along a diagonal of a matrix with n columns, k columns from the first one."""
    places = np.eye(n - 2, n, k)
    return as_array(values)[:, None] * places


_FREE = "not-a-knot"
_NAMED = {"clamped": (1, 0.0), "natural": (2, 0.0), _FREE: _FREE}


def _conditions(bc_type: Any) -> Any:
    """What holds at the two ends: a derivative as (order, value), or that no knot is next to it."""
    if bc_type == "periodic":
        return bc_type
    both = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    ends = [_NAMED.get(end) if isinstance(end, str) else tuple(end) for end in both]
    if len(ends) != 2 or not all(e and (e == _FREE or e[0] in (1, 2)) for e in ends):
        raise ValueError(
            f"bc_type={bc_type!r} is none of 'not-a-knot', 'natural', 'clamped', 'periodic', and "
            "no pair for the two ends of the first three or of (1, slope) or (2, second derivative)"
        )
    return ends


def _ends(ends: Any, h: Any, steep: Any, n: int) -> tuple[Any, Any]:
    """The first and the last row of the system, each with its right side."""

    def row(*at: tuple[int, Any]) -> Any:
        return sum(as_array(value) * np.eye(1, n, place) for place, value in at)

    if ends == "periodic":  # the point before the first is the last but one
        right = 3 * (h[0] * steep[-1:] + h[-1] * steep[:1])
        first = row((n - 2, h[0]), (0, 2 * (h[-1] + h[0])), (1, h[-1]))
        return (first, right), (row((n - 1, 1.0), (0, -1.0)), 0 * steep[:1])
    return tuple(
        _end(end, row, places, *seen, turn)
        for end, places, seen, turn in zip(
            ends,
            ((0, 1), (n - 1, n - 2)),
            ((h, steep), (np.flip(h, 0), np.flip(steep, 0))),
            (1, -1),
            strict=True,
        )
    )


def _end(end: Any, row: Any, places: Any, h: Any, steep: Any, turn: int) -> Any:
    """The row of one end, seen from there; in the other direction odd derivatives turn."""
    if end == _FREE:
        d = h[0] + h[1]
        right = ((h[0] + 2 * d) * h[1] * steep[:1] + h[0] ** 2 * steep[1:2]) / d
        return row((places[0], h[1]), (places[1], d)), right
    order, value = end
    value = np.reshape(as_array(value), (1, -1))
    if order == 1:
        return row((places[0], 1.0)), value + 0 * steep[:1]
    right = 3 * h[0] * steep[:1] - turn * value * h[0] ** 2 / 2
    return row((places[0], 2 * h[0]), (places[1], h[0])), right


__getattr__ = otherwise("interpolate")
