"""`scipy.interpolate` on tensors: cubic splines and their kin, lines between points."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import scipy.interpolate

from wengert.dispatch import as_array, require
from wengert.scipy.meaning import bare, otherwise
from wengert.scipy.standard import holds_arrays, rows


class _Piecewise:
    """A piecewise polynomial: sum c[i][k] (at - x[k])^(n - i), k the interval of `at`.

    `SciPy's name(...)(at, nu)` is its value, or its nu-th derivative; where the points and values
    are numbers it is SciPy's own object, which may be asked at tensors as well.
    """

    c: list[Any]
    x: Any
    axis = 0
    extrapolate: Any = True

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if not (holds_arrays(args) or holds_arrays(kwargs)):
            return _known(getattr(scipy.interpolate, cls.__name__))(*args, **kwargs)
        return super().__new__(cls)

    def _points(self, x: Any, y: Any, axis: int) -> Any:
        """Keep the points, and give the values with their axis first."""
        self.axis = axis
        self.x, y = as_array(x), np.moveaxis(as_array(y), axis, 0)
        n = self.x.shape[0]
        if n < 2 or len(self.x.shape) != 1 or y.shape[0] != n:
            raise ValueError(
                "x must be a vector of at least two numbers, and y as long along its axis; got "
                f"shapes {tuple(self.x.shape)} and {tuple(y.shape)}"
            )
        return y

    def _through(self, y: Any, slopes: Any) -> None:
        """The cubic polynomials of these values and slopes at the points."""
        h = _along(np.diff(self.x), y)
        steep = np.diff(y, axis=0) / h
        third = (slopes[:-1] + slopes[1:] - 2 * steep) / (h * h)
        self.c = [third, (steep - slopes[:-1]) / h - third * h, slopes[:-1], y[:-1]]

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The value at x, or the nu-th derivative there."""
        how = self.extrapolate if extrapolate is None else extrapolate
        return _piecewise(self.c, self.x, as_array(x), nu, self.axis, how)

    def derivative(self, nu: int = 1) -> _Piecewise:
        """The nu-th derivative, as a function."""
        slope = object.__new__(_Piecewise)
        slope.x, slope.axis, slope.extrapolate = self.x, self.axis, self.extrapolate
        slope.c = _derivative(self.c, nu)
        return slope

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b, two numbers."""
        how = self.extrapolate if extrapolate is None else extrapolate
        a, b, knots = as_array(a), as_array(b), bare(self.x)
        if how == "periodic" and not all(knots[0] <= bare(end) <= knots[-1] for end in (a, b)):
            raise TypeError(
                "the integral of a periodic spline of tensors is taken between its points: add the "
                "integrals over whole periods"
            )
        c = [term / (len(self.c) - i) for i, term in enumerate(self.c)]
        h = _along(np.diff(self.x), c[0])
        pieces = sum(term * h ** (len(c) - i) for i, term in enumerate(c))
        before = np.concatenate([0 * pieces[:1], np.cumsum(pieces, axis=0)[:-1]], axis=0)
        both = np.stack([a, b])
        upto = _piecewise([*c, before], self.x, both, 0, 0, bool(how))
        return upto[1] - upto[0]


@functools.cache
def _known(theirs: Any) -> Any:
    """SciPy's own, of numbers, which may be asked at tensors as well."""

    class Known(theirs):  # type: ignore[misc]
        def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
            if not holds_arrays(x):
                return super().__call__(x, nu, extrapolate)
            how = self.extrapolate if extrapolate is None else extrapolate
            return _piecewise(list(self.c), self.x, as_array(x), nu, self.axis, how)

    Known.__name__, Known.__qualname__, Known.__doc__ = (theirs.__name__,) * 2 + (theirs.__doc__,)
    return Known


class PPoly(_Piecewise):
    """A piecewise polynomial of given coefficients c[i, k], the highest power first."""

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        self.x, self.axis = as_array(x), axis
        whole = np.moveaxis(as_array(c), (axis, axis + 1), (0, 1)) if axis else as_array(c)
        self.c = [whole[i] for i in range(whole.shape[0])]
        self.extrapolate = True if extrapolate is None else extrapolate


class CubicHermiteSpline(_Piecewise):
    """The piecewise cubic function of given values and slopes at points."""

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        y = self._points(x, y, axis)
        self._through(y, np.moveaxis(as_array(dydx), axis, 0))
        self.extrapolate = True if extrapolate is None else extrapolate


class PchipInterpolator(_Piecewise):
    """The piecewise cubic function through points that is monotone where they are.

    The slope at a point is a harmonic mean of those of the lines beside it, and 0 at an extremum
    (Fritsch and Butland, 1984); where two lines change from rising to falling it has a kink.

    >>> import wengert as wg
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> wg.grad(lambda y: PchipInterpolator(x, y)(1.5))(x**2).round(4)
    array([-0.1406,  0.7227,  0.4531, -0.0352])
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        y = self._points(x, y, axis)
        h = _along(np.diff(self.x), y)
        steep = np.diff(y, axis=0) / h
        self._through(y, _monotone(h, steep))
        self.extrapolate = True if extrapolate is None else extrapolate


def _monotone(h: Any, steep: Any) -> Any:
    """Slopes at points from the lengths and slopes of the lines between them."""
    if steep.shape[0] == 1:
        return np.concatenate([steep, steep], axis=0)
    before, after = steep[:-1], steep[1:]
    same = bare(before) * bare(after) > 0
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    mean = (w1 + w2) / (w1 / np.where(same, before, 1.0) + w2 / np.where(same, after, 1.0))
    inner = np.where(same, mean, 0.0)
    ends = [_monotone_end(h[0], h[1], steep[0], steep[1])]
    ends += [_monotone_end(h[-1], h[-2], steep[-1], steep[-2])]
    return np.concatenate([ends[0][None], inner, ends[1][None]], axis=0)


def _monotone_end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    """The slope at an end: of the parabola through three points, unless it turns too early."""
    slope = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    known, line, further = bare(slope), bare(m0), bare(m1)
    turns = np.sign(known) != np.sign(line)
    steep = (np.sign(line) != np.sign(further)) & (np.abs(known) > 3 * np.abs(line))
    return np.where(turns, 0.0, np.where(steep, 3 * m0, slope))


class Akima1DInterpolator(_Piecewise):
    """The piecewise cubic function of Akima (1970), or `method="makima"` of its modification.

    The slope at a point is a mean of those of the lines beside it, each weighted by how little the
    other one's side bends.

    >>> import wengert as wg
    >>> x = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    >>> wg.grad(lambda at: Akima1DInterpolator(x, x**2)(at))(1.5)
    3.0
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
    ) -> None:
        if method not in ("akima", "makima"):
            raise NotImplementedError(f"`method`={method} is unsupported: 'akima' or 'makima'")
        y = self._points(x, y, axis)
        steep = np.diff(y, axis=0) / _along(np.diff(self.x), y)
        self._through(y, _akima(steep, method))
        self.extrapolate = False if extrapolate is None else extrapolate


def _akima(steep: Any, method: str) -> Any:
    """Slopes at points from those of the lines between them, with two more lines at each end."""
    if steep.shape[0] == 1:
        return np.concatenate([steep, steep], axis=0)
    first = 2 * steep[0] - steep[1]
    last = 2 * steep[-1] - steep[-2]
    outer = [2 * first - steep[0], first], [last, 2 * last - steep[-1]]
    m = np.concatenate([np.stack(outer[0]), steep, np.stack(outer[1])], axis=0)
    bends = np.abs(np.diff(m, axis=0))
    if method == "makima":
        bends = bends + np.abs(m[1:] + m[:-1]) / 2
    before, after = bends[:-2], bends[2:]
    both = before + after
    bent = bare(both) > 1e-9 * np.max(bare(both))
    weighted = (after * m[1:-2] + before * m[2:-1]) / np.where(bent, both, 1.0)
    # Where nothing bends, SciPy takes the mean of the outer lines, or, modified, of the inner ones.
    straight = (m[3:] + m[:-3]) / 2 if method == "akima" else 0 * weighted
    return np.where(bent, weighted, straight)


class CubicSpline(_Piecewise):
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
        by_itself = "periodic" if bc_type == "periodic" else True
        self.extrapolate = by_itself if extrapolate is None else extrapolate
        y = self._points(x, y, axis)
        if bc_type == "periodic":
            first, last = bare(y[0]), bare(y[-1])
            require(np.abs(first - last) <= 1e-15 * (1 + np.abs(last)), _not_periodic)
        self.y = np.reshape(y, (y.shape[0], -1))
        slopes = np.matmul(*self._slopes(_conditions(bc_type)))
        self._through(y, np.reshape(slopes, tuple(y.shape)))

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


class interp1d:
    """A function through points: lines, steps or a cubic spline between them.

    `kind` is "linear", "cubic", "nearest", "nearest-up", "previous" or "next". Beyond the points it
    is an error, or `fill_value`: a number, a pair for below and above, or "extrapolate".

    >>> import wengert as wg
    >>> wg.grad(lambda y: interp1d([0.0, 1.0, 2.0], y)(1.25))(np.array([1.0, 3.0, 2.0]))
    array([0.  , 0.75, 0.25])
    """

    def __init__(
        self, x: Any, y: Any, kind: Any = "linear", axis: int = -1, copy: bool = True,
        bounds_error: bool | None = None, fill_value: Any = math.nan, assume_sorted: bool = False,
    ) -> None:  # fmt: skip
        if kind not in _KINDS:
            raise NotImplementedError(
                f"interp1d of tensors has no kind={kind!r}; it has {', '.join(_KINDS)}"
            )
        x, y = as_array(x), np.moveaxis(as_array(y), axis, 0)
        if len(x.shape) != 1 or y.shape[0] != x.shape[0]:
            raise ValueError("x and y arrays must be equal in length along interpolation axis.")
        if not assume_sorted:
            order = np.argsort(bare(x), kind="mergesort")
            x, y = x[order], y[order]
        self.x, self.y, self.kind, self.axis = x, y, kind, axis % len(y.shape)
        self.extrapolate = isinstance(fill_value, str) and fill_value == "extrapolate"
        given = self.extrapolate or not (isinstance(fill_value, float) and math.isnan(fill_value))
        self.bounds_error = not given if bounds_error is None else bounds_error
        self.fill = fill_value if isinstance(fill_value, tuple) else (fill_value, fill_value)

    def __new__(cls, x: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        if not (holds_arrays(x) or holds_arrays(y)):
            return _KnownLines(x, y, *args, **kwargs)
        return super().__new__(cls)

    def __call__(self, x: Any) -> Any:
        """The value at x."""
        at = as_array(x)
        flat = np.reshape(at, (-1,))
        known, low, high = bare(flat), bare(self.x[0]), bare(self.x[-1])
        below, above = known < low, known > high
        if self.bounds_error:
            require(~(below | above), _outside)
        value = self._between(flat)
        if not self.extrapolate:
            for beyond, fill in zip((below, above), self.fill, strict=True):
                value = np.where(_along(beyond, value), fill, value)
        value = np.reshape(value, (*at.shape, *self.y.shape[1:]))
        axes = range(len(at.shape))
        places = tuple(self.axis + i for i in axes)
        return np.moveaxis(value, tuple(axes), places) if self.axis else value

    def _between(self, at: Any) -> Any:
        x, n, known = bare(self.x), self.x.shape[0], bare(at)
        if self.kind == "cubic":
            return CubicSpline(self.x, self.y)(at)
        if self.kind in ("linear", "slinear"):
            steep = np.diff(self.y, axis=0) / _along(np.diff(self.x), self.y)
            return _piecewise([steep, self.y[:-1]], self.x, at, 0, 0, True)
        if self.kind == "next":
            k = np.searchsorted(x, known, side="left")
        elif self.kind in ("previous", "zero"):
            k = np.searchsorted(x, known, side="right") - 1
        else:
            side: Any = "left" if self.kind == "nearest" else "right"
            k = np.searchsorted((x[1:] + x[:-1]) / 2, known, side=side)
        # The derivatives by x and by `at` are zero, and are there to be asked for.
        still = 0 * (np.clip(at, x[0], x[-1]) + self.x[0])
        still = np.where((k >= 0) & (k < n), still, math.nan)  # no point before, or none after
        return rows(self.y, np.clip(k, 0, n - 1)) + _along(still, self.y)


def _not_periodic() -> Exception:
    return ValueError("the first and last value of a periodic spline have to be the same")


def _outside() -> Exception:
    return ValueError(
        "A value to interpolate at is outside of the points; pass bounds_error=False or "
        'fill_value="extrapolate"'
    )


_KINDS = (
    "linear", "slinear", "cubic", "nearest", "nearest-up", "previous", "zero", "next",
)  # fmt: skip


class _KnownLines(scipy.interpolate.interp1d):  # type: ignore[misc]
    """SciPy's own through numbers, which may be asked at tensors as well."""

    def __init__(self, x: Any, y: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(x, y, *args, **kwargs)
        self._given = (x, y, args, kwargs)

    def __call__(self, x: Any) -> Any:
        if not holds_arrays(x):
            return super().__call__(x)
        points, values, args, kwargs = self._given
        ours = object.__new__(interp1d)
        interp1d.__init__(ours, np.asarray(points), np.asarray(values), *args, **kwargs)
        return ours(x)


def _piecewise(c: list[Any], x: Any, at: Any, nu: int, axis: int, extrapolate: Any) -> Any:
    """Σ c[i][k] (at - x[k])^(n - i), or its nu-th derivative, where k is the interval of each `at`.

    Beyond the points the outer polynomials go on, or what is there is periodic, or NaN.
    """
    c = _derivative(c, nu)
    knots, flat = bare(x), np.reshape(at, (-1,))
    if extrapolate == "periodic":
        flat = x[0] + np.mod(flat - x[0], x[-1] - x[0])
    where = bare(flat)
    k = np.clip(np.searchsorted(knots, where, side="right") - 1, 0, x.shape[0] - 2)
    further = tuple(c[0].shape[1:])
    t = np.reshape(flat - rows(x, k), (-1, *[1] * len(further)))
    result = 0 * t + rows(c[0], k)
    for term in c[1:]:
        result = result * t + rows(term, k)
    if not extrapolate:
        inside = np.reshape((where >= knots[0]) & (where <= knots[-1]), (-1, *[1] * len(further)))
        result = np.where(inside, result, np.nan)
    result = np.reshape(result, (*at.shape, *further))
    axes = range(len(at.shape))
    return np.moveaxis(result, tuple(axes), tuple(axis + i for i in axes)) if axis else result


def _derivative(c: list[Any], nu: int) -> list[Any]:
    """The coefficients of the nu-th derivative."""
    for _ in range(nu):
        n = len(c) - 1
        c = [(n - i) * term for i, term in enumerate(c[:-1])] or [0 * c[0]]
    return c


def _along(values: Any, like: Any) -> Any:
    """A vector along the first axis of an array."""
    return np.reshape(values, (-1, *[1] * (len(like.shape) - 1)))


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
