"""Forward mode: tangents travel beside values.

A tensor may carry tangents, one for each level of differentiation that is running: to first order
the tensor with tangent t is x + e t, where each level has an infinitesimal e of its own, e^2 = 0.
After an operation on such tensors, `carried` applies the operation's rule to the tangents, by the
text that `pushing.py` writes for it. The eager path pays nothing for this: recorders ask
`modes.special` anyway.

Levels are entered and left like brackets. A tangent of one level is itself a tensor and may carry
tangents of the levels outside of it, so that

    x = (p + e1 q) + e2 (t + e1 s)      p + e1 q is the value beneath level 2, t + e1 s its tangent

and derivatives nest to any depth without being confused: the tangents of level 2 are computed from
values that carry level 1's only. Tangents are computed by recorded operations, so reverse mode goes
through them; and a sweep inside of a level runs on tensors, whose cotangents carry tangents.

`forward_ad.py` is what users of PyTorch's dual numbers call; `transforms/forward.py` has `jvp`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import kind_of
from wengert.autograd import engine, saved
from wengert.autograd.operands import tensors_among, unstated
from wengert.autograd.pushing import Pusher, pusher_of
from wengert.history import modes
from wengert.history.node import Node, Output, source, tick
from wengert.rules.half import held
from wengert.rules.rule import Rule
from wengert.rules.shapes import copy
from wengert.tensor import (
    INFERENCE,
    Tensor,
    View,
    cell_of,
    current_node,
    follow,
    settle,
    shares,
    wrap,
)

_MISSING: Any = object()


class Tangents(dict["Level", "Tensor | None"]):
    """The tangents of one tensor. None says that there is none, whatever its base may carry."""

    __slots__ = ("__weakref__",)
    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__


class Level:
    """One differentiation by forward mode, while it runs and as the name of its tangents.

    What was recorded before the level began is outside: a derivative by it may be asked for later,
    so tangents that depend on it are recorded. Nobody can ask for the derivative of a tangent by
    what was made inside, since tangents are looked at when the level is over. A `lasting` level is
    one whose tangents the user holds (`dual_level`): everything is recorded, and leaving it takes
    the tangents away from the tensors that carry them.
    """

    __slots__ = ("_known", "_stores", "clears", "lasting", "start")

    def __init__(self, lasting: bool = False) -> None:
        self.lasting = lasting
        self.clears = lasting  # whether it will take its tangents away, and has to know them
        self.start: float = float("inf") if lasting else tick()
        self._known: dict[int, bool] = {}
        self._stores: weakref.WeakSet[Tangents] | None = None

    def give(self, x: Tensor, tangent: Tensor | None) -> None:
        """Let `x` carry a tangent of this level; None says that it carries none."""
        store = x._tangents
        if store is None:
            store = x._tangents = Tangents()
        store[self] = tangent
        if self.clears:
            self.remember(store)  # type: ignore[arg-type]

    def remember(self, store: Tangents) -> None:
        """Have `forget` take the tangents of this level away from there."""
        if self._stores is None:
            self._stores = weakref.WeakSet()
        self._stores.add(store)

    def forget(self) -> None:
        """The level is over: take its tangents away from what would keep them."""
        for store in list(self._stores or ()):
            store.pop(self, None)

    def sees(self, edge: Node | Output | None) -> bool:
        """Whether history from before this level is reached from here."""
        node, _ = source(edge)
        if node is None:
            return False
        known, path = self._known, [node]
        while path:
            node = path[-1]
            if abs(node.order) < self.start or node.opens:  # a leaf's order is negative
                known[node.order] = True
            if node.order not in known:
                below = [child for e in node.edges if (child := source(e)[0]) is not None]
                answers = [known.get(child.order) for child in below]
                if True in answers:
                    known[node.order] = True
                elif None in answers:
                    path += [c for c, seen in zip(below, answers, strict=True) if seen is None]
                    continue
                else:
                    known[node.order] = False
            path.pop()
        return known[node.order]


class within(modes.Mode):
    """What is done inside is differentiated by this level too."""

    fields: tuple[str, ...] = ("duals",)

    def __init__(self, level: Level) -> None:
        self.level = level

    def _changed(self, state: modes.State) -> modes.State:
        return state._replace(duals=(*state.duals, self.level))


def active() -> tuple[Level, ...]:
    """The levels that this thread is inside of, the outermost first."""
    return modes.current().duals if modes.pushing else ()


# ---- what a tensor carries -----------------------------------------------------------------


def tangent(x: Any, level: Level) -> Tensor | None:
    """The tangent of a value at a level: its own, or the part of its base's that it looks into."""
    if not isinstance(x, Tensor):
        return None
    if x._tangents is not None:
        own = x._tangents.get(level, _MISSING)
        if own is not _MISSING:
            return own
    view = x._origin
    if type(view) is not View or view.base._tangents is None:
        return None
    whole = view.base._tangents.get(level)
    if whole is None:
        return None
    part = follow(view.path(), whole)
    level.give(x, part)
    return part


def lend(out: Tensor, x: Tensor, copies: bool = False) -> Tensor:
    """`out`, another tensor for the value of `x`, with the tangents of `x`, or copies of them."""
    for level in active():
        t = tangent(x, level)
        level.give(out, copy(t) if copies and t is not None else t)
    return out


def beneath(x: Any, level: Level) -> Any:
    """A value without the tangents of `level` and of those inside it."""
    if type(x) is list or type(x) is tuple:
        return type(x)([beneath(item, level) for item in x])
    levels = active()
    if not isinstance(x, Tensor) or all(tangent(x, k) is None for k in _from(level, levels)):
        return x
    out = wrap(x._array, current_node(x))
    if x._origin is INFERENCE:
        out._origin = INFERENCE
    else:
        out._cell = cell_of(x)
    for outer in outside(level):
        t = tangent(x, outer)
        if t is not None:
            outer.give(out, t)
    return out


def outside(level: Level) -> tuple[Level, ...]:
    """The levels that this thread entered before this one."""
    levels = active()
    return levels[: levels.index(level)]


def _from(level: Level, levels: tuple[Level, ...]) -> tuple[Level, ...]:
    return levels[levels.index(level) :]


# ---- after an operation --------------------------------------------------------------------


def carried(record: Any, rule: Rule, operands: Sequence[Any], result: Any) -> Any:
    """The result of an operation with the tangents that its operands give it.

    The outermost level comes first: what is beneath a level has its tangents by then.
    """
    outputs = result if type(result) is tuple else (result,)
    pusher = pusher_of(rule)
    for level in modes.current().duals:
        for n, k in pusher.unstated:
            if tangent(operands[k], level) is not None:
                raise unstated(rule, n, "carries a tangent")
        ts = [
            _tangents(operands[k], level) if n == rule.sequence else tangent(operands[k], level)
            for n, k in pusher.places
        ]
        if all(t is None for t in ts):
            x = operands[0]
            if rule.view and isinstance(x, Tensor) and x._tangents and level in x._tangents:
                for y in outputs:  # a view of what was cut from its base
                    level.give(y, None)
        elif outputs and dtypes.is_inexact(outputs[0]._array.dtype):
            pushed = _pushed(level, record, pusher, operands, ts, outputs)
            for y, t in zip(outputs, pushed, strict=True):
                level.give(y, t)
                if y._node is not None:
                    _remember(y)
    return result


def _tangents(items: Any, level: Level) -> list[Tensor | None] | None:
    """Those of a list, in which None stands for no tangent; None if there are none."""
    tangents = [tangent(item, level) for item in items]
    return tangents if any(t is not None for t in tangents) else None


def _remember(y: Tensor) -> None:
    """If the node that made `y` has saved it, let what it has saved carry the tangents as well."""
    node, slot = source(y._node)
    if node is None or "y" not in node.fields or type(node.saved) is not tuple:
        return
    k = node.fields.index("y")
    kept = node.saved[k]
    if type(kept) is tuple:
        kept = kept[slot]
    elif kept is not None and not isinstance(kept, (Tensor, saved.Packed)):
        kept = saved.twin_of(kept, node.saved[k + 1])
        node.saved = (*node.saved[:k], kept, *node.saved[k + 1 :])
    if kept is not None:
        kept._tangents = Tangents(y._tangents or {})
        for level in kept._tangents:  # else the node holds what was computed with it, for ever
            level.remember(kept._tangents)


def _pushed(
    level: Level,
    record: Any,
    pusher: Pusher,
    operands: Sequence[Any],
    given: Sequence[Any],
    outputs: Sequence[Tensor],
) -> Sequence[Tensor]:
    """The tangents of the outputs at one level, from those of some operands."""
    if pusher.views and given[0] is not None:
        return [record(given[0], *operands[1:])]  # a view of the tangent
    tangents, state, levels = tensors_among(given), modes.current(), outside(level)
    values = [*tangents, *tensors_among(operands)]
    layers = [*_layers(values, levels)] if levels else values
    recorded = state.grad and any(_seen(x, level) for x in layers)
    if recorded or len(layers) > len(values):
        if state.grad is not recorded:
            modes.enter(state._replace(grad=recorded))
        try:
            pushed = engine.quietly(
                pusher.push,
                [beneath(x, level) for x in operands],
                given,
                [beneath(y, level) for y in outputs],
            )
        finally:
            modes.enter(state)
    else:  # nobody looks at how it was made: on the arrays inside
        arrays = ([_bare(x) for x in values] for values in (operands, given, outputs))
        pushed = [wrap(settle(t)) for t in engine.quietly(pusher.push, *arrays)]
    return [_own(t, tangents) for t in pushed]


def _seen(x: Tensor, level: Level) -> bool:
    """Whether the history of a tensor reaches back before a level."""
    if x._origin is None:
        return x._node is not None and level.sees(x._node)
    return level.sees(current_node(x))


def _bare(x: Any) -> Any:
    if isinstance(x, Tensor):
        return held(x._array)
    return type(x)([_bare(item) for item in x]) if type(x) is list or type(x) is tuple else x


def _layers(values: Iterable[Tensor], levels: tuple[Level, ...]) -> Iterator[Tensor]:
    """The tensors, their tangents at these levels, and the tangents of those."""
    for x in values:
        yield x
        for level in levels:
            if (t := tangent(x, level)) is not None:
                yield from _layers([t], levels[: levels.index(level)])


def _own(t: Tensor, others: Sequence[Tensor]) -> Tensor:
    """A tangent in memory of its own: one that is written in place must not change another."""
    array = _innermost(t._array)
    if type(array) is np.ndarray and array.flags.owndata and array.flags.writeable:
        shared = any(array is _innermost(other._array) for other in others)
    else:
        array = t._array
        shared = any(shares(array, other._array) for other in others) or not array.flags.writeable
    return copy(t) if shared else t


def _innermost(array: Any) -> Any:
    """The array that a batched one is around."""
    while (inside := getattr(array, "raw", None)) is not None:
        array = inside
    return array


# ---- after a write -------------------------------------------------------------------------


def written(x: Tensor, result: Tensor) -> None:
    """`x` now holds `result`: its tangents become those of `result`, in place."""
    for level in active():
        old, new = tangent(x, level), tangent(result, level)
        if old is not None:
            old.zero_() if new is None else old.copy_(new)
        elif new is not None:
            first(x, level, new)


def first(x: Tensor, level: Level, new: Tensor) -> None:
    """A tensor without tangent gets one; so does the base that it looks into, zero elsewhere."""
    view = x._origin
    if type(view) is not View or (x._tangents and level in x._tangents):
        level.give(x, copy(new))
        return
    base = view.base._array
    zeros = in_layout_of(base, base.dtype) if type(base) is np.ndarray else np.zeros_like(base)
    whole = wrap(kind_of(new._array).alike(new._array, zeros))
    level.give(view.base, whole)
    part = follow(view.path(), whole)
    level.give(x, part)
    part.copy_(new)


def turned(x: Tensor, change: Callable[[Tensor], Tensor]) -> None:
    """`x` is now the view of itself that `change` takes: so are its tangents of theirs."""
    for level in active():
        t = tangent(x, level)
        if t is not None:
            level.give(x, change(t))


# ---- memory --------------------------------------------------------------------------------


def in_layout_of(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Zeros that lie in a memory of their own as `array` does in its: whole storage and strides.

    What was taken of `array` by strides can then be taken of the zeros as well.
    """
    offset, size = place_of(array)
    step = array.itemsize
    if any(s % step for s in array.strides) or offset % step or size % step:
        return np.zeros_like(array, dtype)
    storage = np.zeros(size // step, dtype)
    unit = storage.itemsize
    strides = [s // step * unit for s in array.strides]
    return np.ndarray(array.shape, dtype, storage, offset // step * unit, strides)


def place_of(array: np.ndarray) -> tuple[int, int]:
    """Where an array begins in the memory that it looks into, and the size of that, in bytes."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    low, high = np.lib.array_utils.byte_bounds(root)
    start: int = array.__array_interface__["data"][0]
    return start - low, high - low


def lies_alike(array: Any, other: Any) -> bool:
    """Whether two arrays of one shape lie in memory alike: strides, storage, and place in it."""
    if type(array) is not np.ndarray or type(other) is not np.ndarray:
        return True
    a, b = (
        [s // x.itemsize for s, n in zip(x.strides, x.shape, strict=True) if n != 1]
        for x in (array, other)
    )
    if not array.size:
        return True
    places = [tuple(n // x.itemsize for n in place_of(x)) for x in (array, other)]
    return a == b and places[0] == places[1]
