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
    can be differentiated by `at`, by y and by x. `bc_type` is "not-a-knot", "natural" or "clamped".

    >>> import wengert as wg
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> wg.grad(lambda y: CubicSpline(x, y)(1.5))(x**2).round(4)
    array([-0.0625,  0.5625,  0.5625, -0.0625])
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: str = "not-a-knot", extrapolate: Any = None
    ) -> None:
        if bc_type not in ("not-a-knot", "natural", "clamped"):
            raise TypeError(
                f"CubicSpline on tensors does not take bc_type={bc_type!r}: it takes 'not-a-knot', "
                "'natural' and 'clamped'"
            )
        if extrapolate not in (None, True):
            raise TypeError("CubicSpline on tensors extrapolates; extrapolate=False is not taken")
        self.axis = axis
        self.x, y = as_array(x), np.moveaxis(as_array(y), axis, 0)
        n = self.x.shape[0]
        if n < 2 or len(self.x.shape) != 1 or y.shape[0] != n:
            raise ValueError(
                "x must be a vector of at least two numbers, and y as long along its axis; got "
                f"shapes {tuple(self.x.shape)} and {tuple(y.shape)}"
            )
        further = tuple(y.shape[1:])
        self.y = np.reshape(y, (n, -1))
        slopes = np.matmul(*self._slopes(bc_type))
        h = np.reshape(np.diff(self.x), (-1, 1))
        steep = np.diff(self.y, axis=0) / h
        third = (slopes[:-1] + slopes[1:] - 2 * steep) / (h * h)
        second = (steep - slopes[:-1]) / h - third * h
        terms = [third, second, slopes[:-1], self.y[:-1]]
        self.c = [np.reshape(term, (n - 1, *further)) for term in terms]

    def _slopes(self, bc_type: str) -> tuple[Any, Any]:
        """The slopes at the points: (inverse of the system, its right side)."""
        x, y, n = self.x, self.y, self.x.shape[0]
        h = np.diff(x)
        steep = np.diff(y, axis=0) / h[:, None]
        if n == 2 and bc_type == "not-a-knot":
            return np.ones((2, 1)), steep
        if n == 3 and bc_type == "not-a-knot":  # the parabola through three points
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
        first, last = _ends(bc_type, h, steep, n)
        system = np.concatenate([first[0], inner, last[0]], axis=0)
        return np.linalg.inv(system), np.concatenate([first[1], right, last[1]], axis=0)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The value at x, or the nu-th derivative there."""
        if extrapolate not in (None, True):
            raise TypeError("CubicSpline on tensors extrapolates; extrapolate=False is not taken")
        return _piecewise(self.c, self.x, as_array(x), nu, self.axis, True)

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


def _ends(bc_type: str, h: Any, steep: Any, n: int) -> tuple[Any, Any]:
    """The first and the last row of the system, each with its right side."""

    def row(*at: tuple[int, Any]) -> Any:
        return sum(as_array(value) * np.eye(1, n, place) for place, value in at)

    if bc_type == "clamped":
        return (row((0, 1.0)), 0 * steep[:1]), (row((n - 1, 1.0)), 0 * steep[-1:])
    if bc_type == "natural":
        first = row((0, 2 * h[0]), (1, h[0])), 3 * h[0] * steep[:1]
        last = row((n - 2, h[-1]), (n - 1, 2 * h[-1])), 3 * h[-1] * steep[-1:]
        return first, last
    d, e = h[0] + h[1], h[-1] + h[-2]
    begins = ((h[0] + 2 * d) * h[1] * steep[:1] + h[0] ** 2 * steep[1:2]) / d
    ends = (h[-1] ** 2 * steep[-2:-1] + (2 * e + h[-1]) * h[-2] * steep[-1:]) / e
    return (row((0, h[1]), (1, d)), begins), (row((n - 2, e), (n - 1, h[-2])), ends)


__getattr__ = otherwise("interpolate")
