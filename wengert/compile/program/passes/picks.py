"""Picks: what nobody picks is not computed.

Where some elements along an axis are taken of a result that has no other reader, by an index or as
a slice, they are taken of its operands instead, and on from there: take(f(x, y)) = f(take(x),
take(y)). A function of all vertices of which a few are looked at becomes a function of those few.
The elements are the same ones, computed the same way (products may add up in another order).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.arrays.facts import REDUCED_BY
from wengert.compile.program.infer import axes_of
from wengert.compile.program.operations import added, take, updated, view
from wengert.compile.program.passes.layout import is_plain
from wengert.compile.program.passes.rewrite import Rewrite, Rules, is_elementwise
from wengert.compile.program.program import Shape, Statement, Value

RULES = Rules()


@dataclass
class Pick:
    """`take` along one axis, at a vector of places, or `view` of a slice: so many elements."""

    p: Rewrite
    places: Value | slice
    length: int

    def of(self, x: Value, axis: int) -> Any:
        index = along(x.shape, axis, self.places)
        return self.p(take if type(self.places) is Value else view, x, index)

    def on(self, x: Value, axis: int) -> Any:
        """What is picked of what a view is taken of, to go on from there: None where that ends.
        Views go before what takes at places (see `_gathered`)."""
        return _moved(self, x, axis)

    def shape(self, shape: Shape, axis: int) -> Shape:
        """A shape with as many elements along an axis as are picked."""
        return (*shape[:axis], self.length, *shape[axis + 1 :])

    def of_operand(self, x: Any, axis: int, rank: int) -> Any:
        """Of what is broadcast to an array of a rank, along an axis of that."""
        own = own_axis(x, axis, rank)
        return x if own is None else self.of(x, own)


def along(shape: Shape, axis: int, entry: Any) -> tuple[Any, ...]:
    """The index that takes all but along one axis."""
    return tuple(entry if k == axis else slice(0, n, 1) for k, n in enumerate(shape))


def own_axis(x: Any, axis: int, rank: int) -> int | None:
    """Which of its axes an operand has along an axis of what it is broadcast to, of this rank; None
    where it is the same all along it."""
    own = axis - rank + len(x.shape) if type(x) is Value else -1
    return own if own >= 0 and x.shape[own] != 1 else None


@RULES.on(take)
def taken(p: Rewrite, s: Statement) -> Any:
    """take(f(x)) = f(take(x)), if nobody else reads f(x) and it has more elements."""
    x, index = s.args
    index = index if isinstance(index, tuple) else (index,)
    if len(index) != len(x.shape):
        return None
    cut = [k for k, (e, n) in enumerate(zip(index, x.shape, strict=True)) if e != slice(0, n, 1)]
    places = index[cut[0]] if len(cut) == 1 else None
    if type(places) is not Value or places.dtype.kind not in "iu":
        return None
    flat = p(np.reshape, places, (places.size,)) if len(places.shape) != 1 else places
    moved = _moved(Pick(p, flat, places.size), x, cut[0])
    if moved is None or moved.shape == s.output.shape:
        return moved
    return p(np.reshape, moved, s.output.shape)


@RULES.on(view)
def sliced(p: Rewrite, s: Statement) -> Any:
    """f(x)[a:b] = f(x[a:b]), along one axis after the other."""
    x, index = s.args
    if p.maker(x, view) or not is_plain(index, x.shape):
        return None
    axis = 0
    for at, entry in enumerate(index):
        if type(entry) is slice and entry != slice(0, x.shape[axis], 1):
            length = len(range(x.shape[axis])[entry])
            moved = _moved(Pick(p, entry, length), x, axis)
            if moved is not None:
                return p(view, moved, (*index[:at], slice(0, length, 1), *index[at + 1 :]))
        axis += entry is not None
    return None


def _moved(pick: Pick, x: Value, axis: int) -> Any:
    """What is picked of a result, computed of what is picked; None if that cannot be, or is not
    worth it.
    """
    m = pick.p.made.get(x)
    if m is None or not pick.p.once(x) or len(m.outputs) != 1:
        return None
    move = picked(m)
    return move(pick, m, axis) if move and 0 < pick.length < x.shape[axis] else None


def picked(m: Statement) -> Any:
    """How what is picked of a statement's result is computed; None if that is not known."""
    return _map if is_elementwise(m.function) else MOVES.get(m.function)


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
    for k, n in enumerate(x.shape):
        if n == out[axis] and math.prod(x.shape[:k]) == before:
            return pick.p(np.reshape, pick.of(x, k), pick.shape(out, axis))
    product = pick.p.maker(x, np.matmul)
    if product is None or not pick.p.once(x) or len(x.shape) != 2:
        return None
    a, b = product.args
    ways = (k for k in range(1, len(out)) if math.prod(out[:k]) == x.shape[0])
    middle = next(ways, None)
    if len(a.shape) != 2 or len(b.shape) != 2 or middle is None:
        return None
    if axis < middle:
        rows = pick.of(pick.p(np.reshape, a, (*out[:middle], a.shape[1])), axis)
        a = pick.p(np.reshape, rows, (-(-rows.size // a.shape[1]), a.shape[1]))
    else:
        columns = pick.of(pick.p(np.reshape, b, (b.shape[0], *out[middle:])), axis - middle + 1)
        b = pick.p(np.reshape, columns, (b.shape[0], -(-columns.size // b.shape[0])))
    return pick.p(np.reshape, pick.p(np.matmul, a, b), pick.shape(out, axis))


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
                moved = pick.on(x, source)
                places = (*index[:at], slice(0, pick.length, 1), *index[at + 1 :])
                return None if moved is None else pick.p(view, moved, places)
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
    return pick.p(np.broadcast_to, x, pick.shape(shape, axis))


def _reduced(pick: Pick, m: Statement, axis: int) -> Any:
    """Along an axis that is not summed over."""
    x, summed = m.args[0], m.kwargs.get("axis")
    if len(m.args) != 1 or summed is None:
        return None
    gone = summed if isinstance(summed, tuple) else (summed,)
    kept = [k for k in range(len(x.shape)) if k not in gone]
    own = axis if m.kwargs.get("keepdims") else kept[axis]
    return None if own in gone else pick.p(m.function, pick.of(x, own), **m.kwargs)


def _gathered(pick: Pick, m: Statement, axis: int) -> Any:
    """Along an axis that is taken whole, before all that something is taken of."""
    x, index = m.args
    within = _within(pick, index, x.shape, axis)
    return within and pick.p(take, pick.of(x, axis), within)


def _written(pick: Pick, m: Statement, axis: int) -> Any:
    """Along an axis that is written whole, before all that something is written at."""
    x, index, value = m.args
    within = _within(pick, index, x.shape, axis)
    if within is None:
        return None
    if type(value) is Value:
        places = np.broadcast_shapes(*(e.shape for e in index if type(e) is Value))
        rank = len(places) + len(x.shape) - sum(type(e) is Value for e in index)
        value = pick.of_operand(value, axis, rank)
    return pick.p(m.function, pick.of(x, axis), within, value)


def _within(pick: Pick, index: Any, shape: Shape, axis: int) -> tuple[Any, ...] | None:
    """The index for what is picked: arrays of places beside one another, after the axis."""
    if type(index) is not tuple or len(index) != len(shape):
        return None
    kinds = [type(entry) for entry in index]
    places = [k for k, entry in enumerate(kinds) if entry is Value]
    if not places or set(kinds) - {Value, slice} or places[-1] - places[0] != len(places) - 1:
        return None
    if any(index[k] != slice(0, shape[k], 1) for k in range(axis + 1)):
        return None
    return (*index[:axis], slice(0, pick.length, 1), *index[axis + 1 :])


MOVES: dict[Any, Callable[[Pick, Statement, int], Any]] = {
    np.matmul: _product,
    np.transpose: _transposed,
    np.reshape: _reshaped,
    view: _viewed,
    np.concatenate: _joined,
    np.broadcast_to: _repeated,
    take: _gathered,
    **dict.fromkeys((updated, added), _written),
    **dict.fromkeys((*REDUCED_BY, np.argmin, np.argmax), _reduced),
}
