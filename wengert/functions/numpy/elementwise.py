"""What NumPy's elementwise functions and choices mean on Tensors: compositions, as NumPy's are.

Read `calls.py` first. Several arguments may be tensors, or only one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.arrays.facts import composed
from wengert.arrays.kind import array_of
from wengert.autograd.record import recorder
from wengert.dispatch import as_array, known, require, within
from wengert.functions.math import frexp
from wengert.functions.numpy.calls import no_more
from wengert.rules import indexing, shapes
from wengert.rules import special as special_rules
from wengert.tensor import Tensor, wrap

# ---- other names ---------------------------------------------------------------------------


@composed(np.i0)
def _i0(x: Any) -> Any:
    return recorder(special_rules.i0)(x)


@composed(np.astype)
def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    if x.dtype == np.dtype(dtype):
        return np.copy(x) if copy else x
    return recorder(shapes.astype)(x, np.dtype(dtype))


# ---- ufuncs made of others -----------------------------------------------------------------


@composed(np.float_power)
def _float_power(a: Any, b: Any) -> Any:
    a, b = as_array(a), as_array(b)
    kind = np.dtype(np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64)
    return np.power(*(np.astype(x, kind) for x in (a, b)))


@composed(np.logaddexp2)
def _logaddexp2(a: Any, b: Any) -> Any:
    return np.logaddexp(a * math.log(2), b * math.log(2)) / math.log(2)


@composed(np.ldexp)
def _ldexp(x: Any, exponent: Any) -> Any:
    power = exponent._array if isinstance(exponent, Tensor) else exponent
    return x * np.ldexp(np.ones((), as_array(x).dtype), power)


@composed(np.divmod)
def _divmod(a: Any, b: Any) -> Any:
    return np.floor_divide(a, b), np.remainder(a, b)


@composed(np.modf)
def _modf(x: Any) -> Any:
    whole = np.trunc(x)
    return x - whole, whole


@composed(np.frexp)
def _frexp(x: Any) -> Any:
    return tuple(frexp(x))


# ---- choices -------------------------------------------------------------------------------


@composed(np.choose)
def _choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """The choice that each element of `a` numbers."""
    a = a._array if isinstance(a, Tensor) else np.asarray(a)
    n = len(choices)
    if mode == "raise":
        require(within(a, 0, n), ValueError, "invalid entry in choice array")
    a = a % n if mode == "wrap" else np.clip(a, 0, n - 1)
    result = as_array(choices[0])  # as NumPy makes one of each: numbers alone are no float32
    for k in range(1, n):
        result = np.where(a == k, choices[k], result)
    shape = np.broadcast_shapes(a.shape, *(as_array(c).shape for c in choices))
    return np.broadcast_to(result, shape)


@composed(np.select)
def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """The choice whose condition is the first to hold."""
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"select: as many choices as conditions are needed, got {len(choicelist)} and "
            f"{len(condlist)}"
        )
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = np.where(condition, choice, result)
    return result


@composed(np.piecewise)
def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Each element by the function whose condition is the last to hold; one more is for the rest.

    A function sees only the elements that are its own.
    """
    x = as_array(x)
    many = isinstance(condlist, (list, tuple)) and len(condlist) and np.ndim(condlist[0])
    conditions = [
        np.asarray(c._array if isinstance(c, Tensor) else c, bool)
        for c in (condlist if many or isinstance(condlist, (list, tuple)) else [condlist])
    ]
    if len(funclist) == len(conditions) + 1:
        conditions.append(~np.any(conditions, axis=0))
    elif len(funclist) != len(conditions):
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or "
            f"{len(conditions) + 1} functions are expected, got {len(funclist)}"
        )
    result = np.zeros_like(x)
    put = recorder(indexing.put)
    for condition, function in zip(conditions, funclist, strict=True):
        condition = np.broadcast_to(condition, x.shape)
        own = function(x[condition], *args, **kw) if callable(function) else function
        result = put(result, condition, np.astype(own, x.dtype) if _differs(own, x) else own)
    return result


def _differs(value: Any, x: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype != x.dtype


# ---- interpolation and phases --------------------------------------------------------------


@composed(np.interp)
def _interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Straight lines through the points (xp, fp), which may have gradients too.

    At a point itself the slope is that of the line to its right.
    """
    x, xp, fp = (as_array(v) for v in (x, xp, fp))
    if not all(isinstance(array_of(v), np.ndarray) for v in (x, xp)):  # they index tensors only
        xp, fp = (v if isinstance(v, Tensor) else wrap(v) for v in (xp, fp))
    if len(xp.shape) != 1 or xp.shape != fp.shape or not xp.shape[0]:
        raise ValueError(
            "interp: xp and fp must be vectors of one length, which is not 0; got shapes "
            f"{list(xp.shape)} and {list(fp.shape)}"
        )
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period, left, right = abs(period), None, None
        x, xp = x % period, xp % period
        order = np.argsort(array_of(xp))
        xp, fp = xp[order], fp[order]
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
    n = xp.shape[0]
    where, known_points = array_of(x), array_of(xp)
    low = np.clip(_points_up_to(known_points, where) - 1, 0, max(n - 2, 0))
    high = np.minimum(low + 1, n - 1)
    width = xp[high] - xp[low]
    width = np.where(array_of(width) == 0, 1, width)
    between = fp[low] + (x - xp[low]) / width * (fp[high] - fp[low])
    below, above = where < known_points[0], where > known_points[-1]
    result = np.where(below, fp[0] if left is None else left, between)
    at_end = where == known_points[-1]
    result = np.where(at_end, fp[-1] + 0 * between, result)
    return np.where(above, fp[-1] if right is None else right, result)


def _points_up_to(points: Any, x: Any) -> Any:
    """How many of the sorted points are not above each x."""
    if known(points):
        return np.searchsorted(points, x, side="right")
    return np.sum(points <= np.expand_dims(x, -1), axis=-1)  # points of another kind, compared


@composed(np.unwrap)
def _unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 2 * math.pi) -> Any:
    """Jumps of more than half a period between neighbours replaced by their complement."""
    d = np.diff(p, axis=axis)
    half = period / 2
    steps = np.floor((d + half) / period)  # how many periods each step is off
    inside = d - steps * period
    steps = np.where((array_of(inside) == -half) & (array_of(d) > 0), steps - 1, steps)
    limit = half if discont is None else max(discont, half)
    steps = np.where(np.absolute(array_of(d)) < limit, 0, steps)
    shift = np.cumsum(steps, axis=axis) * period
    first = (slice(None),) * (axis % len(p.shape)) + (slice(0, 1),)
    return p - np.concatenate([np.zeros_like(p[first]), shift], axis=axis)


# ---- along an axis -------------------------------------------------------------------------


@composed(np.apply_along_axis)
def _apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """`func1d` of each row along an axis, the results joined in its place."""
    n = len(arr.shape)
    last = np.moveaxis(arr, axis, -1)
    rows = np.reshape(last, (-1, last.shape[-1]))
    results = [func1d(rows[i], *args, **kwargs) for i in range(rows.shape[0])]
    if not results:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    one = as_array(results[0])
    stacked = np.reshape(np.stack([as_array(y) for y in results]), (*last.shape[:-1], *one.shape))
    size = len(one.shape)
    ends = tuple(range(n - 1, n - 1 + size))
    return np.moveaxis(stacked, ends, tuple(axis % n + i for i in range(size)))


@composed(np.apply_over_axes)
def _apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """`func(a, axis)` for each axis in turn; a dimension that it removes is put back."""
    n = len(a.shape)
    for axis in np.atleast_1d(axes).tolist():
        result = func(a, axis % n)
        a = result if len(result.shape) == n else np.expand_dims(result, axis % n)
    return a


@composed(np.real_if_close)
def _real_if_close(a: Any, tol: float = 100) -> Any:
    """The real part if all imaginary ones are within `tol` machine epsilons of 0."""
    if a.dtype.kind != "c":
        return a
    bound = tol * np.finfo(a.dtype).eps if tol > 1 else tol
    return np.real(a) if np.all(np.absolute(np.imag(array_of(a))) < bound) else a


@composed(np.sort_complex)
def _sort_complex(a: Any) -> Any:
    return np.sort(a) + 0j


for _function in (np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.power):

    def _outer(a: Any, b: Any, function: Any = _function, **rest: Any) -> Any:
        no_more(rest)
        a, b = as_array(a), as_array(b)
        return function(np.reshape(a, (*a.shape, *(1,) * len(b.shape))), b)

    composed(_function.outer)(_outer)
