"""Layout: reshapes of reshapes, views of views, and those that change nothing.

All rules are exact. A transpose or a view that only moves, adds or drops dimensions of size 1 is
written as a reshape, so that one kind of statement stands for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compile.program.infer import axes_of, length
from wengert.compile.program.operations import added, astype, take, updated, view
from wengert.compile.program.passes.rewrite import Rewrite, Rules
from wengert.compile.program.program import Shape, Statement, Value

RULES = Rules()


@RULES.on(np.reshape, np.transpose, np.broadcast_to, view, take)
def of_full(p: Rewrite, s: Statement) -> Any:
    """Any layout of full(k) = full(k)"""
    return p.scalar(s.args[0]) if s.inputs == (s.args[0],) else None


@RULES.on(np.reshape)
def reshape(p: Rewrite, s: Statement) -> Any:
    x, shape = s.args[0], s.output.shape
    if x.shape == shape:
        return x
    if m := p.maker(x, np.reshape):
        return p(np.reshape, m.args[0], shape)
    if (m := p.maker(x, np.broadcast_to)) and m.args[0].size == 1:
        return p(np.broadcast_to, p(np.reshape, m.args[0], ()), shape)
    return None


@RULES.on(np.broadcast_to)
def broadcast_to(p: Rewrite, s: Statement) -> Any:
    x, shape = s.args[0], s.output.shape
    if x.shape == shape:
        return x
    m = p.maker(x, np.broadcast_to)
    return p(np.broadcast_to, m.args[0], shape) if m else None


@RULES.on(np.transpose)
def transpose(p: Rewrite, s: Statement) -> Any:
    x, axes = s.args[0], axes_of(s)
    if list(axes) == sorted(axes):
        return x
    if m := p.maker(x, np.transpose):
        inner = axes_of(m)
        return p(np.transpose, m.args[0], tuple(inner[i] for i in axes))
    large = [i for i in axes if x.shape[i] != 1]
    if large == sorted(large):
        return p(np.reshape, x, s.output.shape)
    m = p.maker(x, np.broadcast_to)
    if m and len(m.args[0].shape) == len(axes):
        return p(np.broadcast_to, p(np.transpose, m.args[0], axes), s.output.shape)
    return None


# ---- views ---------------------------------------------------------------------------------


@RULES.on(take)
def take_without_arrays(p: Rewrite, s: Statement) -> Any:
    x, index = s.args
    return p(view, x, index) if is_plain(index, x.shape) else None


@RULES.on(view)
def view_of_anything(p: Rewrite, s: Statement) -> Any:
    x, index = s.args
    if not is_plain(index, x.shape):
        return None
    if is_whole(index, x.shape):
        return p(np.reshape, x, s.output.shape)
    m = p.maker(x, view)
    if m and is_plain(m.args[1], m.args[0].shape):
        inner = composed(m.args[0].shape, m.args[1], index)
        return None if inner is None else p(view, m.args[0], inner)
    m = p.maker(x, updated)
    if m and _same_place(m, index) and _fits(m.args[2], s.output.shape):
        return _assigned(p, m.args[2], s.output)  # what was just written there
    return None


def is_plain(index: Any, shape: Shape) -> bool:
    """Whether an index has slices, ints and None only, with an entry for each dimension."""
    if type(index) is not tuple:
        return False
    kinds = [type(entry) for entry in index if entry is not None]
    return len(kinds) == len(shape) and all(kind is slice or kind is int for kind in kinds)


def is_whole(index: tuple[Any, ...], shape: Shape) -> bool:
    """Whether an index takes all of an array, in order."""
    entries = [entry for entry in index if entry is not None]
    for entry, n in zip(entries, shape, strict=True):
        if type(entry) is int:
            if n != 1:
                return False
        elif range(n)[entry] != range(n):
            return False
    return True


def composed(shape: Shape, inner: Sequence[Any], outer: Sequence[Any]) -> tuple[Any, ...] | None:
    """The one index that does what `inner` and then `outer` do; None if there is none.

    >>> composed((10, 4), (slice(2, 10, 2), 3), (slice(1, 3, 1), None))
    (slice(4, 7, 2), None, 3)
    """
    whole: list[Any] = []
    sizes = iter(shape)
    entries = iter(inner)
    for entry in outer:
        if entry is None:
            whole.append(None)
            continue
        first = next(entries)
        while type(first) is int:
            next(sizes)
            whole.append(first)
            first = next(entries)
        if first is None:
            if type(entry) is not int and length(entry, 1) != 1:
                return None
            whole += [None] if type(entry) is not int else []
        else:
            taken = range(next(sizes))[first][entry]
            whole.append(taken if type(taken) is int else _slice(taken))
    return (*whole, *entries)


def _slice(taken: range) -> slice:
    """The slice that takes these elements."""
    if len(taken) == 0:
        return slice(0, 0, 1)
    if len(taken) == 1:
        return slice(taken[0], taken[0] + 1, 1)
    stop = taken[-1] + (1 if taken.step > 0 else -1)
    return slice(taken[0], stop if stop >= 0 else None, taken.step)


# ---- writes --------------------------------------------------------------------------------


@RULES.on(updated)
def update(p: Rewrite, s: Statement) -> Any:
    x, index, value = s.args
    if not is_plain(index, x.shape):
        return None
    slices = all(type(entry) is slice for entry in index)
    if slices and is_whole(index, x.shape) and _fits(value, x.shape):
        return _assigned(p, value, x)  # all of it is overwritten
    m = p.maker(x, updated)
    if m and _same_place(m, index):
        return p(updated, m.args[0], index, value)  # the same place is overwritten
    return None


@RULES.on(updated)
def large_part_of_a_fill(p: Rewrite, s: Statement) -> Any:
    """updated(full(k), i, v) = concatenate((full(k), v, full(k))), if i is a range of one axis.

    So v is computed where it belongs, and only what is left is filled. Small parts are added where
    they belong.
    """
    x, index, value = s.args
    k = p.scalar(x)
    if k is None or type(value) is not Value or not is_plain(index, x.shape) or _is_small_part(s):
        return None
    if any(type(entry) is not slice for entry in index):
        return None
    taken = [range(n)[entry] for entry, n in zip(index, x.shape, strict=True)]
    cut = [axis for axis, part in enumerate(taken) if part != range(x.shape[axis])]
    if len(cut) != 1 or taken[cut[0]].step != 1 or not taken[cut[0]]:
        return None
    (axis,) = cut
    part = tuple(map(len, taken))
    if not _fits(value, part):
        return None
    before, after = (
        p.full((*part[:axis], n, *part[axis + 1 :]), k, x.dtype)
        for n in (taken[axis].start, x.shape[axis] - taken[axis].stop)
    )
    middle = p(np.broadcast_to, p(astype, value, x.dtype), part)
    return p(np.concatenate, (before, middle, after), axis=axis)


@RULES.on(np.add)
def add_of_a_part(p: Rewrite, s: Statement) -> Any:
    """a + updated(full(0), i, v) = added(a, i, v), if that is a small part: the others stay.

    So it is for a + added(full(0), i, v), where i may be computed: only rounding can differ where
    an element occurs in i more than once.
    """
    out = s.output
    kinds = {(v.shape, v.dtype) if type(v) is Value else None for v in s.args}
    if kinds != {(out.shape, out.dtype)} or out.dtype.kind not in "fiu":
        return None
    for a, b in (s.args, s.args[::-1]):
        parts = _parts_of(p, b)
        if parts:
            for m in reversed(parts):
                a = p(added, a, *m.args[1:])
            return a
    return None


@RULES.on(np.add)
def add_of_parts(p: Rewrite, s: Statement) -> Any:
    """updated(full(0), i, v) + updated(full(0), j, w) = updated(updated(full(0), i, v), j, w) where
    i and j have no element in common, and updated(full(0), i, v + w) where they are the same. In
    (a + updated(full(0), i, v)) + updated(full(0), j, w), a comes last.

    The elements are the same up to the sign of a zero, and none waits for the sum of others.
    """
    for a, b in (s.args, s.args[::-1]):
        m = p.maker(a, np.add)
        for first, second in (m.args, m.args[::-1]) if m and p.once(a) else ():
            if (together := _together(p, second, b)) is not None:
                return p(np.add, first, together)
    return _together(p, *s.args)


def _together(p: Rewrite, a: Any, b: Any) -> Any:
    """The sum of two arrays of writes, as one; None where they are none, or cross."""
    if type(a) is not Value or type(b) is not Value or (a.shape, a.dtype) != (b.shape, b.dtype):
        return None
    mine, yours = _writes_of(p, a), _writes_of(p, b)
    if not mine or not yours or a.dtype.kind not in "fiu":
        return None
    places = [index for index, _ in mine]
    for index, value in yours:
        if index in places:
            k = places.index(index)
            mine[k] = index, p(np.add, mine[k][1], value)
        elif all(_apart(index, place, a.shape) for place in places):
            mine.append((index, value))
        else:
            return None
    return _written(p, a, a.shape, mine)


def _written(p: Rewrite, like: Value, shape: Shape, writes: list[tuple[Any, Any]]) -> Any:
    """These writes into zeros."""
    whole = p.full(shape, 0, like.dtype)
    for index, value in writes:
        whole = p(updated, whole, index, value)
    return whole


@RULES.on(np.sum)
def sum_of_parts(p: Rewrite, s: Statement) -> Any:
    """sum(updated(full(0), i, v), axis) = updated(full(0), i without axis, sum(v, axis))"""
    x, axes = s.args[0], s.kwargs["axis"]
    writes = _writes_of(p, x) if x.dtype == s.output.dtype else []
    if len(writes) != 1 or s.kwargs.get("keepdims", False):
        return None
    ((index, value),) = writes
    part = p(np.broadcast_to, value, np.empty(x.shape)[index].shape)
    slices = [k for k, entry in enumerate(index) if type(entry) is slice]
    summed = tuple(slices.index(k) for k in axes if k in slices)
    left = tuple(entry for k, entry in enumerate(index) if k not in axes)
    total = p(np.sum, part, axis=summed, keepdims=False) if summed else part
    return _written(p, x, s.output.shape, [(left, total)])


def _writes_of(p: Rewrite, x: Value) -> list[tuple[Any, Value]]:
    """Places and values that were written there, into zeros; none if there are more readers of what
    is made on the way, or one place overlaps with another.
    """
    writes: list[tuple[Any, Value]] = []
    shape = x.shape
    while p.once(x) and (m := p.maker(x, updated)):
        x, index, value = m.args
        if type(value) is not Value or value.dtype != x.dtype or not _is_told(index, shape):
            return []
        if not all(_apart(index, other, shape) for other, _ in writes):
            return []
        writes.append((index, value))
    return writes if p.scalar(x) == 0 else []


def _is_told(index: Any, shape: Shape) -> bool:
    """Whether an index has ints and unbroken slices only, which can be told from others."""
    return is_plain(index, shape) and all(
        type(entry) is int or (type(entry) is slice and range(n)[entry].step == 1)
        for entry, n in zip(index, shape, strict=False)
    )


def _apart(a: Any, b: Any, shape: Shape) -> bool:
    """Whether no element is at both places."""

    def taken(entry: Any, n: int) -> range:
        part = range(n)[entry]
        return part if type(part) is range else range(part, part + 1)

    pairs = ((taken(x, n), taken(y, n)) for x, y, n in zip(a, b, shape, strict=True))
    return any(x.stop <= y.start or y.stop <= x.start for x, y in pairs)


def _parts_of(p: Rewrite, x: Any) -> list[Statement]:
    """The writes of small parts that made an array out of zeros, the last one first."""
    parts: list[Statement] = []
    while p.once(x):
        m = p.maker(x, updated) or p.maker(x, added)
        if m is None or not _is_small_part(m):
            return []
        parts.append(m)
        x = m.args[0]
        if p.scalar(x) == 0:
            return parts
        if m.function is updated:
            return []
    return []


def _is_small_part(m: Statement) -> bool:
    x, index, value = m.args
    if is_plain(index, x.shape):
        entries = [entry for entry in index if entry is not None]
        part = math.prod(
            length(entry, n)
            for entry, n in zip(entries, x.shape, strict=True)
            if type(entry) is slice
        )
    elif m.function is added and type(value) is Value:
        part = value.size
    else:
        return False
    return SMALL * part <= x.size


SMALL = 8
"""Parts of at most one in so many elements are added where they belong."""


def _same_place(m: Statement, index: Any) -> bool:
    """Whether a write went to this place, which slices and ints tell."""
    return is_plain(m.args[1], m.output.shape) and m.args[1] == index


def _fits(value: Any, shape: Shape) -> bool:
    return type(value) is not Value or len(value.shape) <= len(shape)


def _assigned(p: Rewrite, value: Any, out: Value) -> Any:
    """What an array of that shape and dtype holds when the value is assigned to all of it."""
    if type(value) is Value:
        return p(np.broadcast_to, p(astype, value, out.dtype), out.shape)
    k = p.scalar(value)
    if k is None or (isinstance(k, complex) and out.dtype.kind != "c"):
        return None
    return np.asarray(k).astype(out.dtype).item()


# ---- joining -------------------------------------------------------------------------------


@RULES.on(np.concatenate)
def concatenate(p: Rewrite, s: Statement) -> Any:
    values = s.args[0]
    if len(values) == 1:
        return values[0]
    axis = s.kwargs.get("axis", s.args[1] if len(s.args) > 1 else 0)
    filled = tuple(v for v in values if v.shape[axis])
    if 0 < len(filled) < len(values):
        return p(np.concatenate, filled, axis=axis)
    k = p.scalar(values[0])
    if k is not None and all(repr(p.scalar(v)) == repr(k) for v in values):
        return k
    return None
