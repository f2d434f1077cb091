"""Reductions: sums, products, extrema, norms and running sums along dimensions."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from wengert.dispatch import Function, errors_pass, primitive, quietly
from wengert.rules.blocks import (
    BLOCK,
    ENOUGH,
    by_rows,
    each_line,
    in_rows,
    many_rows,
    reducible,
)
from wengert.rules.elementwise import FEW, exponential_share
from wengert.rules.loops import (
    ADDED,
    addable,
    as_lines,
    exact_loops,
    loopable,
    loops,
    within_loops,
)
from wengert.rules.rule import general, linear
from wengert.rules.ways import implemented, way


def expand(g: Any, shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """A reduction's cotangent (or result), repeated over the dimensions that were reduced."""
    if (type(g) is np.ndarray or isinstance(g, np.generic)) and math.prod(shape) < BLOCK:
        out = np.empty(shape, g.dtype)  # in a third of a view's time, and steps after it are quick
        if shape and axis is not None and not keepdims:
            kept = list(shape)
            for a in axes_of(axis):
                kept[a] = 1
            g = g.reshape(kept)
        out[...] = g
        return out
    if axis is None:
        if not shape:
            return g
        g = np.reshape(g, (1,) * len(shape)) if not keepdims else g
    elif not keepdims:
        g = np.expand_dims(g, tuple(a % len(shape) for a in axes_of(axis)) if shape else ())
    view = np.broadcast_to(g, shape)
    # What is computed later has places of its own at no cost: it may be written in, as a small one.
    later = getattr(getattr(getattr(g, "_array", g), "kind", None), "runs_later", False)
    return np.copy(view) if later else view


def count(shape: tuple[int, ...], axis: Any) -> int:
    """How many elements go into each result."""
    if axis is None:
        return math.prod(shape)
    return math.prod(shape[a] for a in axes_of(axis)) if shape else 1


def axes_of(axis: Any) -> tuple[int, ...]:
    """One axis or several, as a tuple."""
    return tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)


linear(np.sum, lambda g, a_shape, axis, keepdims: expand(g, a_shape, axis, keepdims))
linear(
    np.mean,
    lambda g, a_shape, axis, keepdims: (
        expand(g / count(a_shape, axis), a_shape, axis, keepdims)
        if count(a_shape, axis)
        else expand(g, a_shape, axis, keepdims)
    ),
)
linear(np.cumsum, lambda g, a_shape, axis: _reverse_cumsum(g, a_shape, axis))


def _along_many_rows(a: Any, axis: Any = None, *_: Any, **__: Any) -> bool:
    return type(axis) is int and many_rows(axis, a)


def _few(a: Any, axis: Any) -> bool:
    lies = type(a) is np.ndarray and a.ndim > 0 and a.size < FEW  # NumPy takes a number for a row
    return lies and type(axis) is int and a.dtype in ADDED


@way(np.cumsum, _few)
def _cumsum_of_few(a: Any, axis: int) -> Any:
    return np.add.accumulate(a, axis)  # without the Python that NumPy has around it


@way(np.cumsum, _along_many_rows)
def _cumsum_compiled(a: Any, axis: int) -> Any:
    return by_rows(np.cumsum, a.shape[-1], [a], settings=(-1,))


def _many_in_turn(a: Any, axis: Any, *_: Any) -> bool:
    if type(a) is not np.ndarray or a.size < ENOUGH or type(axis) is not int:
        return False
    return -a.ndim <= axis < a.ndim and addable(a) and errors_pass()


@way(np.cumsum, _many_in_turn)
def _cumsum_by_loops(a: Any, axis: int) -> Any:
    """NumPy fetches the sum so far from memory, and waits for it."""
    return _accumulated(a, axis, False)


def _accumulated(a: Any, axis: int, product: bool) -> Any:
    y = np.empty(a.shape, a.dtype)
    _accumulate(*as_lines(axis, a, y), product)
    return y


@loops
def _accumulate(x, y, product):
    outer, n, inner = x.shape
    i = 0
    while inner == 1 and i + 4 <= outer:  # a sum waits for the one before it: four rows do at once
        a, b, c, d = x[i, 0, 0], x[i + 1, 0, 0], x[i + 2, 0, 0], x[i + 3, 0, 0]
        y[i, 0, 0], y[i + 1, 0, 0], y[i + 2, 0, 0], y[i + 3, 0, 0] = a, b, c, d
        for j in range(1, n):
            e, f, g, h = x[i, j, 0], x[i + 1, j, 0], x[i + 2, j, 0], x[i + 3, j, 0]
            if product:
                a, b, c, d = a * e, b * f, c * g, d * h
            else:
                a, b, c, d = a + e, b + f, c + g, d + h
            y[i, j, 0], y[i + 1, j, 0], y[i + 2, j, 0], y[i + 3, j, 0] = a, b, c, d
        i += 4
    while i < outer:
        for k in range(inner):
            y[i, 0, k] = x[i, 0, k]
        total = x[i, 0, 0]
        for j in range(1, n):
            if inner == 1:
                if product:
                    total *= x[i, j, 0]
                else:
                    total += x[i, j, 0]
                y[i, j, 0] = total
            elif product:
                for k in range(inner):
                    y[i, j, k] = y[i, j - 1, k] * x[i, j, k]
            else:
                for k in range(inner):
                    y[i, j, k] = y[i, j - 1, k] + x[i, j, k]
        i += 1


_multiplied: Function = np.multiply.reduce


@implemented
def prod(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """np.prod of a plain array."""
    return _multiplied(a, axis=axis, keepdims=bool(keepdims))


@way(prod, lambda a, axis=None, keepdims=False: reducible(a, axis, ENOUGH))
def _prod_of_lines(a: Any, axis: int, keepdims: Any = False) -> Any:
    return _each_product(a, axis, keepdims)


_each_product = each_line(np.prod)


def _is_whole(a: Any, axis: Any = None, keepdims: Any = False) -> bool:
    return axis is None and addable(a) and a.size >= ENOUGH


@way(prod, _is_whole)
def _prod_of_parts(a: Any, axis: None = None, keepdims: Any = False) -> Any:
    product = np.empty(1, a.dtype)
    _multiply_all(np.ravel(a), np.empty(1 << 8, a.dtype), product)
    return product.reshape((1,) * (a.ndim if keepdims else 0))


@loops
def _multiply_all(x, parts, out):
    """Products of parts, side by side: a running product waits for each of its steps."""
    lanes = len(parts)
    for k in range(lanes):
        parts[k] = 1
    for j in range(len(x) // lanes):
        for k in range(lanes):
            parts[k] *= x[j * lanes + k]
    for i in range(len(x) // lanes * lanes, len(x)):
        parts[0] *= x[i]
    half = lanes // 2
    while half > 0:
        for k in range(half):
            parts[k] *= parts[half + k]
        half //= 2
    out[0] = parts[0]


@way(prod, lambda a, axis=None, keepdims=False: _many_in_turn(a, axis))
def _prod_in_turn(a: Any, axis: int, keepdims: Any = False) -> Any:
    return by_lines(a, axis, keepdims, 1)


def adds_lines(a: Any, axis: Any) -> bool:
    """Whether there are several lines, each of so few numbers that `by_lines` rounds no worse."""
    return _many_in_turn(a, axis) and a.shape[axis] <= ENOUGH and axis not in (0, -a.ndim)


def by_lines(a: Any, axis: int, keepdims: Any, first: int) -> Any:
    """Sums along one axis, or products, which begin with `first`: 0 or 1."""
    (lines,) = as_lines(axis, a)
    out = np.full((lines.shape[0], lines.shape[2]), first, a.dtype)
    _reduce_lines(lines, out, first == 1)
    shape = list(a.shape)
    shape[axis : axis + 1 or None] = [1] * bool(keepdims)
    return out.reshape(shape)


@loops
def _reduce_lines(x, out, product):
    outer, n, inner = x.shape
    for i in range(outer):
        j = 0
        total = out[i, 0]
        while inner == 1 and j + 4 <= n:  # each step waits for the one before it
            a, b, c, d = x[i, j, 0], x[i, j + 1, 0], x[i, j + 2, 0], x[i, j + 3, 0]
            if product:
                total *= (a * b) * (c * d)
            else:
                total += (a + b) + (c + d)
            j += 4
        out[i, 0] = total
        while j < n:
            if product:
                for k in range(inner):
                    out[i, k] *= x[i, j, k]
            else:
                for k in range(inner):
                    out[i, k] += x[i, j, k]
            j += 1


@implemented
def _reverse_cumsum(g: Any, shape: tuple[int, ...], axis: int | None) -> Any:
    if axis is None:
        return np.reshape(np.flip(np.cumsum(np.flip(g, 0), 0), 0), shape)
    return np.flip(np.cumsum(np.flip(g, axis), axis), axis)


@way(_reverse_cumsum, lambda g, shape, axis: _along_many_rows(g, axis))
def _reverse_cumsum_compiled(g: Any, shape: tuple[int, ...], axis: int) -> Any:
    return by_rows(_reverse_cumsum, g.shape[-1], [g], settings=((), -1))


# ---- spread --------------------------------------------------------------------------------
#
# A primitive for speed: the composition takes seven steps, and normalisation layers live on it.


_add: Any = np.add.reduce


@primitive
@implemented
def variance(x: Any, axis: Any, correction: Any = 1, keepdims: bool = False) -> Any:
    """sum |x - mean(x)|^2 / (n - correction)."""
    away = x - np.mean(x, axis=axis, keepdims=True)
    return np.sum(_real_square(away), axis=axis, keepdims=keepdims) / (
        count(x.shape, axis) - correction
    )


def _real_square(x: Any) -> Any:
    """|x|^2."""
    return (x * x.conj()).real if x.dtype.kind == "c" else x * x


@way(variance, lambda x, axis, *_, **__: reducible(x, _one(axis)))
def _variance_of_lines(x: Any, axis: Any, correction: Any = 1, keepdims: bool = False) -> Any:
    return each_variance(x, _one(axis), keepdims, correction)


each_variance = each_line(lambda x, axis, n: variance.body.formula(x, axis, n))  # type: ignore[attr-defined]


def _one(axis: Any) -> Any:
    """The axis in a tuple of one."""
    return axis[0] if type(axis) is tuple and len(axis) == 1 else axis


@way(variance, lambda x, *_, **__: loopable(x) and x.ndim > 0)
def _variance_of_plain(x: Any, axis: Any, correction: Any = 1, keepdims: bool = False) -> Any:
    """Without NumPy's mean and sum, whose preparations take most of the time of few numbers."""
    n = count(x.shape, axis)
    mean = _add(x, axis=axis, keepdims=True)
    away = np.subtract(x, np.divide(mean, np.asarray(n, x.dtype), mean))
    square: Any = np.square(away, away)
    return _add(square, axis=axis, keepdims=keepdims) / (n - correction)


def _away(x: Any, axis: Any, correction: Any) -> Any:
    """The derivative of the variance by each element: 2 (x - mean(x)) / (n - correction)."""
    return (x - np.mean(x, axis=axis, keepdims=True)) * (2 / (count(x.shape, axis) - correction))


general(
    variance,
    reverse={
        "x": lambda g, x, axis, correction, keepdims: (
            expand(g, x.shape, axis, keepdims) * _away(x, axis, correction)
        )
    },
    forward={
        "x": lambda t, x, axis, correction, keepdims: np.real(
            np.sum(np.conj(_away(x, axis, correction)) * t, axis=axis, keepdims=keepdims)
        )
    },
    name="Var",
    axes=("axis",),
)

# ---- lengths -------------------------------------------------------------------------------
#
# A primitive for speed, too. At 0 the gradient is 0: the subgradient of least norm.


@primitive
@implemented
def length(x: Any, axis: Any, keepdims: bool = False) -> Any:
    """sqrt(sum |x|^2)."""
    return np.sqrt(np.sum(_real_square(x), axis=axis, keepdims=keepdims))


@way(length, lambda x, axis, keepdims=False: reducible(x, _one(axis)))
def _length_of_lines(x: Any, axis: Any, keepdims: bool = False) -> Any:
    return _each_length(x, _one(axis), keepdims)


_each_length = each_line(lambda x, axis: np.sqrt(np.sum(x * x, axis=axis)))


@way(length, lambda x, axis, keepdims=False: axis is None and not keepdims and addable(x))
def _length_of_all(x: Any, axis: None, keepdims: bool = False) -> Any:
    numbers = x.reshape(-1)
    square = np.vdot(numbers, numbers).real if x.dtype.kind == "c" else numbers.dot(numbers)
    return np.array(np.sqrt(square))


def _real_product(t: Any, x: Any) -> Any:
    """The real part of t x*."""
    return np.real(t * np.conj(x)) if x.dtype.kind == "c" else t * x


def _inverse(y: Any) -> Any:
    """1 / y, and 0 where y is 0."""
    return np.where(y == 0, 0, 1 / np.where(y == 0, 1, y))


general(
    length,
    reverse={
        "x": lambda g, x, y, axis, keepdims: expand(g * _inverse(y), x.shape, axis, keepdims) * x
    },
    forward={
        "x": lambda t, x, y, axis, keepdims: (
            np.sum(_real_product(t, x), axis=axis, keepdims=keepdims) * _inverse(y)
        )
    },
    name="LinalgVectorNorm",
    axes=("axis",),
)

# ---- extrema -------------------------------------------------------------------------------
#
# Equal extrema share the cotangent evenly: the subgradient of least norm. A NaN equals no number,
# and is the extremum of its slice: there the NaNs are the ties.


def ties(a: Any, y: Any, axis: Any, keepdims: bool) -> Any:
    """Each element's share of its reduction: 1/k for the k elements that attain it."""
    best = expand(y, a.shape, axis, keepdims)
    hit = np.where((a == best) | (a != a), np.ones_like(a), 0)
    return hit * (1 / np.sum(hit, axis=axis, keepdims=True))


for extremum, label in ((np.max, "Amax"), (np.min, "Amin")):
    general(
        extremum,
        reverse={
            "a": lambda g, a, y, axis, keepdims: (
                expand(g, a.shape, axis, keepdims) * ties(a, y, axis, keepdims)
            )
        },
        forward={
            "a": lambda t, a, y, axis, keepdims: np.sum(
                t * ties(a, y, axis, keepdims), axis=axis, keepdims=keepdims
            )
        },
        arguments=("a", "axis", "keepdims"),
        name=label,
    )


@implemented
def running_places(x: Any, axis: int, extremum: Any) -> Any:
    """Where along `axis` np.maximum or np.minimum of all so far was met, last of equal ones.

    NaN counts as more extreme than any number.
    """
    wins = (x == extremum.accumulate(x, axis=axis)) | (x != x)
    steps = np.arange(x.shape[axis]).reshape(-1, *[1] * (x.ndim - 1 - axis))
    return np.maximum.accumulate(np.where(wins, steps, 0), axis=axis)


@way(running_places, lambda x, axis, extremum: loopable(x))
def _running_places_by_loops(x: Any, axis: int, extremum: Any) -> Any:
    places = np.empty(x.shape, np.int64)
    _running_places(*as_lines(axis, x, places), 1.0 if extremum is np.maximum else -1.0)
    return places


@exact_loops
def _running_places(x, places, sign):
    outer, n, inner = x.shape
    for i in range(outer):
        for k in range(inner):
            best = x.dtype.type(sign) * x[i, 0, k]
            place = 0
            for j in range(n):
                here = x.dtype.type(sign) * x[i, j, k]
                if not here < best and (here != here or best == best):
                    best = here
                    place = j
                places[i, j, k] = place


@functools.partial(primitive, opaque=True, result=lambda rows: np.empty(rows.shape[:-1], np.int64))
def ends_of_longest_runs(rows: Any) -> Any:
    """Of each row of sorted numbers, where the first of its longest runs of equal ones ends."""
    ends = np.empty(rows.shape[:-1], np.int64)
    if rows.dtype.kind not in "biuf" or rows.dtype.itemsize == 2:
        rows = np.cumsum(np.diff(rows, axis=-1, prepend=rows[..., :1]) != 0, axis=-1)
    _ends_of_longest_runs(rows.reshape(ends.size, rows.shape[-1]), ends.reshape(-1))
    return ends


@exact_loops
def _ends_of_longest_runs(rows, ends):
    count, n = rows.shape
    for i in range(count):
        longest = 0
        start = 0
        before = rows.dtype.type(0)
        for j in range(n):
            x = rows[i, j]
            if x != before and (x == x or before == before):  # a NaN equals a NaN here
                start = j
            before = x
            if j - start >= longest:
                longest = j - start + 1
                ends[i] = j


@exact_loops
def first_of_lines(x, order, sign):
    """Where the first of each line stand, the largest ones if the sign is -1, equal ones in order.

    Those that were first so far are kept in order; most others are behind the last of them.
    """
    outer, n, inner = x.shape
    many = order.shape[1]
    for i in range(outer):
        for k in range(inner):
            last = x.dtype.type(0)
            for j in range(n):
                value = x.dtype.type(sign) * x[i, j, k]
                place = min(j, many)
                if place < many or goes_before(value, last, sign):
                    place = min(place, many - 1)
                    while place > 0 and goes_before(
                        value, x.dtype.type(sign) * x[i, order[i, place - 1, k], k], sign
                    ):
                        order[i, place, k] = order[i, place - 1, k]
                        place -= 1
                    order[i, place, k] = j
                    last = x.dtype.type(sign) * x[i, order[i, min(j, many - 1), k], k]


@within_loops
def goes_before(a, b, sign):
    """NaN is the largest number: the last where the sign is 1, the first of those turned round."""
    return a < b or (a == a and b != b if sign > 0 else a != a and b == b)


@exact_loops
def places_of_rank(x, ordered, places, rank):
    """Where the number of a rank stands in each line, in a stable order; `ordered` is sorted.

    Of rank -1 it is the middle one or a NaN, of rank -2 the middle one of those that are not NaN.
    """
    outer, n, inner = x.shape
    for i in range(outer):
        for k in range(inner):
            numbers = n
            while numbers > 0 and ordered[i, numbers - 1, k] != ordered[i, numbers - 1, k]:
                numbers -= 1
            place = rank
            if rank == -1:
                place = (n - 1) // 2 if numbers == n else numbers
            elif rank == -2:
                place = max(numbers - 1, 0) // 2
            value = ordered[i, place, k]
            equal = 0  # which of those that equal it
            if place >= numbers:
                equal = place - numbers
            else:
                while equal < place and ordered[i, place - 1 - equal, k] == value:
                    equal += 1
            at = 0
            while equal >= 0:
                here = x[i, at, k]
                if here == value or (here != here and value != value):
                    equal -= 1
                at += 1
            places[i, 0, k] = at - 1


@exact_loops
def count_bins(x, ends, counts):
    """Count the numbers in each of the equal bins between two ends, which belong to them."""
    bins = len(counts)
    low, high = ends[0], ends[1]
    for i in range(len(x)):
        value = x[i]
        if value >= low and value <= high:
            counts[min(int((value - low) * bins / (high - low)), bins - 1)] += 1


# ---- products ------------------------------------------------------------------------------
#
# The product of the other elements, by running products from both sides, so that zeros need no
# special case and derivatives of every order exist.

general(
    np.prod,
    reverse={
        "a": lambda g, a, axis, keepdims: (
            expand(g, a.shape, axis, keepdims) * np.conj(others(a, axis))
        )
    },
    forward={
        "a": lambda t, a, axis, keepdims: np.sum(t * others(a, axis), axis=axis, keepdims=keepdims)
    },
)


@implemented
def others(a: Any, axis: Any) -> Any:
    """At each element the product of all others along the axes."""
    if axis is None:
        return np.reshape(others(np.reshape(a, (-1,)), 0), a.shape)
    if isinstance(axis, (tuple, list)):
        ends = tuple(range(-len(axis), 0))
        last = np.moveaxis(a, tuple(axis), ends)
        flat = np.reshape(
            last, (*last.shape[: len(last.shape) - len(axis)], math.prod(a.shape[i] for i in axis))
        )
        return np.moveaxis(np.reshape(others(flat, -1), last.shape), ends, tuple(axis))
    if not a.shape:
        return np.ones_like(a)
    below = before(np.cumprod(a, axis), axis, 1)
    above = before(np.cumprod(np.flip(a, axis), axis), axis, 1)
    return below * np.flip(above, axis)


def _along_one(a: Any, axis: Any) -> bool:
    return type(axis) is int and addable(a) and a.size >= FEW


@way(others, _along_one)
def _others_of_plain(a: Any, axis: int) -> Any:
    """By one division, unless that would lose digits or is by 0."""
    limits, product = np.finfo(a.dtype), prod(a, axis, True)
    size = np.abs(product)
    if size.size and size.min() >= limits.tiny and size.max() <= limits.max:  # and none is NaN
        return product / a
    (lines,) = as_lines(axis, a)
    return _others_of_lines(lines).reshape(a.shape)


_LANES = 512


def _others_of_lines(x: Any) -> Any:
    """`others` along the second of three dimensions."""
    outer, n, inner = x.shape
    # A running product waits for each of its steps: what stands side by side runs meanwhile.
    if inner == 1 and outer >= 16:
        return np.ascontiguousarray(_others_of_lines(np.swapaxes(x, 0, 2).copy()).swapaxes(0, 2))
    if inner == 1 and n >= 4 * _LANES:
        parts = np.ones((outer, -(-n // _LANES), _LANES), x.dtype)
        parts.reshape(outer, -1)[:, :n] = x[..., 0]
        totals = _multiplied(parts, axis=1)
        within = _others_of_lines(parts) * _others_of_lines(totals[..., None])[:, None, :, 0]
        return within.reshape(outer, -1)[:, :n, None]
    above = _products_before(x[:, ::-1].copy())[:, ::-1]
    out = _products_before(x)
    return np.multiply(out, above, out)


def _products_before(x: Any) -> Any:
    """At each element the product of all before it, along the second of three dimensions."""
    out = np.empty(x.shape, x.dtype)
    _note_products(x, np.ones((x.shape[0], x.shape[2]), x.dtype), out)
    return out


@loops
def _note_products(x, below, out):
    """In ascending order: of another one LLVM makes no vectors."""
    outer, n, inner = x.shape
    for i in range(outer):
        for j in range(n):
            for k in range(inner):
                out[i, j, k] = below[i, k]
                below[i, k] *= x[i, j, k]


def before(x: Any, axis: int, first: float) -> Any:
    """At each element the one before it along `axis`; `first` where there is none."""
    if not x.shape[axis]:
        return x
    part = (slice(None),) * (axis % len(x.shape))
    start = np.full_like(x[(*part, slice(0, 1))], first)
    return np.concatenate([start, x[(*part, slice(None, -1))]], axis=axis)


@way(np.cumprod, _few)
def _cumprod_of_few(a: Any, axis: int) -> Any:
    return np.multiply.accumulate(a, axis)


@way(np.cumprod, _many_in_turn)
def _cumprod_by_loops(a: Any, axis: int) -> Any:
    return _accumulated(a, axis, True)


@primitive
@implemented
def recurrence(a: Any, b: Any, axis: int) -> Any:
    """y[i] = a[i] + b[i] y[i-1] along `axis`, with y[-1] = 0."""
    y = np.moveaxis(a.astype(np.result_type(a, b)), axis, 0)
    b = np.moveaxis(b, axis, 0)
    for i in range(1, len(y)):
        y[i] += b[i] * y[i - 1]
    return np.moveaxis(y, 0, axis)


def _several_in_turn(a: Any, b: Any, axis: int) -> bool:
    return a.size >= FEW and a.shape == b.shape and addable(a, b) and errors_pass()


@way(recurrence.body, _several_in_turn)  # type: ignore[attr-defined]
def _recurrence_by_loops(a: Any, b: Any, axis: int) -> Any:
    y = np.empty(a.shape, a.dtype)
    _recur(*as_lines(axis, a, b, y))
    return y


@loops
def _recur(a, b, y):
    outer, n, inner = a.shape
    for i in range(outer):
        for k in range(inner):
            y[i, 0, k] = a[i, 0, k]
        before = a[i, 0, 0]
        for j in range(1, n):
            if inner == 1:
                before = a[i, j, 0] + b[i, j, 0] * before
                y[i, j, 0] = before
            else:
                for k in range(inner):
                    y[i, j, k] = a[i, j, k] + b[i, j, k] * y[i, j - 1, k]


def _backwards(g: Any, b: Any, axis: int) -> Any:
    """The recurrence transposed: z[i] = g[i] + b[i+1] z[i+1]."""
    return np.flip(recurrence(np.flip(g, axis), before(np.flip(b, axis), axis, 0), axis), axis)


general(
    recurrence,
    reverse={
        "a": lambda g, b, axis: _backwards(g, np.conj(b), axis),
        "b": lambda g, b, y, axis: _backwards(g, np.conj(b), axis) * np.conj(before(y, axis, 0)),
    },
    forward={
        "a": lambda t, b, axis: recurrence(t, b, axis),
        "b": lambda t, b, y, axis: recurrence(t * before(y, axis, 0), b, axis),
    },
    axes=("axis",),
)

# y[i] = a[i] y[i-1], so its tangents and cotangents follow recurrences, without a division by a.
general(
    np.cumprod,
    reverse={"a": lambda g, a, y, axis: _cumprod_pull(g, a, y, axis)},
    forward={"a": lambda t, a, y, axis: _cumprod_push(t, a, y, axis)},
)


def _cumprod_pull(g: Any, a: Any, y: Any, axis: int | None) -> Any:
    if axis is None or not a.ndim:
        return np.reshape(_cumprod_pull(g, np.reshape(a, (-1,)), y, 0), a.shape)
    return _backwards(g, np.conj(a), axis) * np.conj(before(y, axis, 1))


def _cumprod_push(t: Any, a: Any, y: Any, axis: int | None) -> Any:
    if axis is None or not a.ndim:
        return _cumprod_push(np.reshape(t, (-1,)), np.reshape(a, (-1,)), y, 0)
    return recurrence(t * before(y, axis, 1), a, axis)


# ---- softmax and its kin -------------------------------------------------------------------
#
# Primitives for speed and range: exp overflows past 709 in float64, so the maximum is shifted to 0
# (Blanchard, Higham and Higham, 2021).


@primitive
@quietly
def logsumexp(x: Any, axis: Any, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) along `axis`, without overflow."""
    # Of complex numbers the real parts are shifted: the result is the principal value.
    top = np.max(x.real if x.dtype.kind == "c" else x, axis=axis, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0)
    result = np.log(np.sum(np.exp(x - shift), axis=axis, keepdims=True)) + shift
    return result if keepdims else np.squeeze(result, axis)


@primitive
def logcumsumexp(x: Any, axis: int) -> Any:
    """y[i] = log(sum of exp(x[j]) for j <= i) along `axis`, without overflow."""
    return np.logaddexp.accumulate(x, axis=axis)


_FEW_COLUMNS = 32


def tops(x: Any, axis: int) -> Any:
    """The largest along `axis`, which is kept.

    NumPy begins anew for each row of a matrix; with few columns it is ten times as fast to copy
    them and to go along them, all rows at once.
    """
    if type(x) is np.ndarray and axis == 1 and x.ndim == 2 and x.shape[1] <= _FEW_COLUMNS < x.size:
        return np.maximum.reduce(np.ascontiguousarray(x.T), axis=0)[:, None]
    return np.maximum.reduce(x, axis=axis, keepdims=True)


@primitive
@in_rows
@quietly  # inf - inf is NaN, and may be seen in the result
def softmax(x: Any, axis: int) -> Any:
    """exp(x) / sum(exp(x)) along `axis`."""
    e = np.subtract(x, tops(x, axis))
    np.exp(e, out=e)
    e /= np.add.reduce(e, axis=axis, keepdims=True)
    return e


@primitive
@in_rows
def log_softmax(x: Any, axis: int) -> Any:
    """x - log(sum(exp(x))) along `axis`."""
    out = np.subtract(x, tops(x, axis))
    out -= np.log(np.add.reduce(np.exp(out), axis=axis, keepdims=True))
    return out


def _total(t: Any, axis: Any) -> Any:
    return np.sum(t, axis=axis, keepdims=True)


@in_rows
def _softmax_pull(g: Any, y: Any, axis: int) -> Any:
    return y * (g - _total(g * y, axis))


def _weights(x: Any, y: Any, axis: Any, keepdims: bool) -> Any:
    """softmax(x), from logsumexp's own result."""
    return exponential_share(x, expand(y, x.shape, axis, keepdims))


def conjugated(w: Any) -> Any:
    """The complex conjugate; real numbers, the usual ones, are not copied for it."""
    return np.conj(w) if w.dtype.kind == "c" else w


general(
    logsumexp,
    reverse={
        "x": lambda g, x, y, axis, keepdims: (
            expand(g, x.shape, axis, keepdims) * conjugated(_weights(x, y, axis, keepdims))
        )
    },
    forward={
        "x": lambda t, x, y, axis, keepdims: np.sum(
            t * _weights(x, y, axis, keepdims), axis=axis, keepdims=keepdims
        )
    },
    axes=("axis",),
)
# With z[i] = g[i] + exp(y[i] - y[i+1]) z[i+1], the cotangent of x[i] is z[i] exp(x[i] - y[i]). The
# running sums only grow, so that no exponent is positive.
general(
    logcumsumexp,
    reverse={
        "x": lambda g, x, y, axis: (
            _backwards(g, exponential_share(before(y, axis, -np.inf), y), axis)
            * exponential_share(x, y)
        )
    },
    forward={
        "x": lambda t, x, y, axis: recurrence(
            t * exponential_share(x, y), exponential_share(before(y, axis, -np.inf), y), axis
        )
    },
    axes=("axis",),
)
general(
    softmax,
    reverse={"x": lambda g, y, axis: _softmax_pull(g, y, axis)},
    forward={"x": in_rows(lambda t, y, axis: y * (t - _total(t * y, axis)))},
    axes=("axis",),
)
general(
    log_softmax,
    reverse={"x": in_rows(lambda g, y, axis: g - np.exp(y) * _total(g, axis))},
    forward={"x": in_rows(lambda t, y, axis: t - _total(t * np.exp(y), axis))},
    axes=("axis",),
)
