"""Picks: what nobody picks is not computed.

Where some elements along an axis are taken of a result that has no other reader, they are taken of
its operands instead, and on from there: take(f(x, y)) = f(take(x), take(y)). A function of all
vertices of which a few are looked at becomes a function of those few. The elements are the same
ones, computed the same way (products may add up in another order).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.compile.program.infer import axes_of
from wengert.compile.program.operations import take, view
from wengert.compile.program.passes.rewrite import Rewrite, Rules, is_elementwise
from wengert.compile.program.program import Statement, Value

RULES = Rules()

FEWER = 2
"""A pick is moved where it takes at most one of so many elements."""


class Pick(NamedTuple):
    """`take` along one axis, at a vector of places."""

    p: Rewrite
    places: Value

    def of(self, x: Value, axis: int) -> Any:
        index = tuple(self.places if k == axis else slice(0, n, 1) for k, n in enumerate(x.shape))
        return self.p(take, x, index)

    def of_operand(self, x: Any, axis: int, rank: int) -> Any:
        """Of what is broadcast to an array of a rank, along an axis of that."""
        own = axis - rank + len(x.shape) if type(x) is Value else -1
        return self.of(x, own) if own >= 0 and x.shape[own] != 1 else x


@RULES.on(take)
def first(p: Rewrite, s: Statement) -> Any:
    """take(f(x)) = f(take(x)), if nobody else reads f(x) and it has many more elements."""
    x, index = s.args
    index = index if isinstance(index, tuple) else (index,)
    arrays = [k for k, e in enumerate(index) if type(e) is Value]
    m = p.made.get(x)
    if m is None or len(arrays) != 1 or len(index) != len(x.shape) or not p.once(x):
        return None
    (axis,) = arrays
    whole = [e == slice(0, n, 1) for e, n in zip(index, x.shape, strict=True) if type(e) is slice]
    places = index[axis]
    if len(whole) != len(index) - 1 or not all(whole) or places.dtype.kind not in "iu":
        return None
    moves = MOVES.get("map" if is_elementwise(m.function) else m.function)
    if moves is None or len(m.outputs) != 1 or not 0 < FEWER * places.size <= x.shape[axis]:
        return None
    pick = Pick(p, p(np.reshape, places, (places.size,)) if len(places.shape) != 1 else places)
    made = moves(pick, m, axis)
    if made is None or made.shape == s.output.shape:
        return made
    return p(np.reshape, made, s.output.shape)


def _map(pick: Pick, m: Statement, axis: int) -> Any:
    rank = len(m.output.shape)
    return pick.p(m.function, *(pick.of_operand(x, axis, rank) for x in m.args), **m.kwargs)


def _product(pick: Pick, m: Statement, axis: int) -> Any:
    """Rows are those of the first matrix, columns those of the second."""
    a, b = m.args
    rank = len(m.output.shape)
    if axis != rank - 1:
        a = pick.of_operand(a, axis, rank)
    if axis != rank - 2:
        b = pick.of_operand(b, axis, rank)
    return pick.p(np.matmul, a, b)


def _transposed(pick: Pick, m: Statement, axis: int) -> Any:
    axes = axes_of(m)
    return pick.p(np.transpose, pick.of(m.args[0], axes[axis]), axes)


def _reshaped(pick: Pick, m: Statement, axis: int) -> Any:
    """Of a reshape that leaves the axis whole, or of a product whose rows were merged."""
    x, out = m.args[0], m.output.shape
    before = math.prod(out[:axis])
    count = pick.places.size
    for k, n in enumerate(x.shape):
        if n == out[axis] and math.prod(x.shape[:k]) == before:
            return pick.p(np.reshape, pick.of(x, k), (*out[:axis], count, *out[axis + 1 :]))
    product = pick.p.maker(x, np.matmul)
    rows = pick.p.maker(product.args[0], np.reshape) if product else None
    if product is None or rows is None or not pick.p.once(x) or not pick.p.once(rows.output):
        return None
    a, b = rows.args[0], product.args[1]
    if a.shape[:-1] != out[:-1] or len(b.shape) != 2 or len(x.shape) != 2 or axis == len(out) - 1:
        return None
    return pick.p(np.matmul, pick.of(a, axis), b)


def _viewed(pick: Pick, m: Statement, axis: int) -> Any:
    x, index = m.args
    source, out = 0, 0
    for at, entry in enumerate(index):
        if entry is None:
            out += 1
            continue
        if type(entry) is slice:
            if out == axis:
                if entry != slice(0, x.shape[source], 1):
                    return None
                places = (*index[:at], slice(0, pick.places.size, 1), *index[at + 1 :])
                return pick.p(view, pick.of(x, source), places)
            out += 1
        source += 1
    return None


def _joined(pick: Pick, m: Statement, axis: int) -> Any:
    along = m.kwargs.get("axis")
    if along is None or along % len(m.output.shape) == axis:
        return None
    return pick.p(np.concatenate, tuple(pick.of(v, axis) for v in m.args[0]), axis=along)


def _repeated(pick: Pick, m: Statement, axis: int) -> Any:
    shape = m.output.shape
    x = pick.of_operand(m.args[0], axis, len(shape))
    return pick.p(np.broadcast_to, x, (*shape[:axis], pick.places.size, *shape[axis + 1 :]))


MOVES: dict[Any, Callable[[Pick, Statement, int], Any]] = {
    "map": _map,
    np.matmul: _product,
    np.transpose: _transposed,
    np.reshape: _reshaped,
    view: _viewed,
    np.concatenate: _joined,
    np.broadcast_to: _repeated,
}
