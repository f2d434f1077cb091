"""What a loop carries of one leaf: a traced array for each of its layers.

A leaf of a state may be batched, by the vmaps that the loop is in, and may carry tangents, of the
levels of forward mode. Neither is of concern to a loop: it carries the whole batch as one array,
and a tangent as one more. So leaves are taken apart before a body, put together in it, and the same
again at its end; inside they are what they were. Apart they lie outside of all vmaps, and carry no
tangents; all layers have their own history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.arrays.batched.array import BatchedArray, Level, entered, left
from wengert.autograd import batching, forward
from wengert.autograd.levels import entering, leaving
from wengert.compile.trace.arrays.array import Trace, TracedArray
from wengert.history import modes
from wengert.tensor import Tensor, current_node, wrap

inwards: Any = entered
outwards: Any = left


class _outside(batching.within):
    """What is done inside is outside of a vmap, and of those in it."""

    def _changed(self, state: modes.State) -> modes.State:
        return state._replace(level=self.level.outer)


class Layers(NamedTuple):
    """The vmaps that a leaf is batched by, the newest first, and its tangents' layers by level."""

    batches: tuple[Level, ...] = ()
    tangents: tuple[tuple[forward.Level, Layers], ...] = ()


def layers_of(x: Any) -> Layers:
    batches = []
    array = x._array if isinstance(x, Tensor) else x
    while type(array) is BatchedArray:
        batches.append(array.level)
        array = array.raw
    tangents = [(level, forward.tangent(x, level)) for level in forward.active()]
    return Layers(
        tuple(batches), tuple([(level, layers_of(t)) for level, t in tangents if t is not None])
    )


def joined(one: Layers, other: Layers) -> Layers:
    """The fewest layers that have those of both."""
    if one == other:
        return one
    batches = {*one.batches, *other.batches}
    tangents = dict(one.tangents)
    for level, inner in other.tangents:
        tangents[level] = joined(tangents.get(level, Layers()), inner)
    return Layers(
        tuple(sorted(batches, key=lambda level: -level.start)),
        tuple([(level, tangents[level]) for level in forward.active() if level in tangents]),
    )


def all_joined(column: Sequence[Any]) -> Layers:
    """The layers that some leaves have together."""
    layers = Layers()
    for x in column:
        layers = joined(layers, layers_of(x))
    return layers


def apart(trace: Trace, xs: Sequence[Any], layers: Sequence[Layers], axis: int = 0) -> list[Any]:
    """The arrays of some leaves in these layers, each the innermost first: traced ones, or tensors
    of them. A leaf that lacks a layer has its value for all examples, or zero as its tangent.

    Batches become dimensions from `axis` on.
    """
    return [part for x, own in zip(xs, layers, strict=True) for part in _apart(trace, x, own, axis)]


def _apart(trace: Trace, x: Any, layers: Layers, axis: int) -> Iterator[Any]:
    yield _whole(trace, _bare(x), layers.batches, axis)
    for level, inner in layers.tangents:
        t = forward.tangent(x, level)
        if t is None:
            t = wrap(np.zeros_like(x._array if isinstance(x, Tensor) else x))
        yield from _apart(trace, t, inner, axis)


def _bare(x: Any) -> Any:
    levels = forward.active()
    return forward.beneath(x, levels[0]) if levels else x


def _whole(trace: Trace, x: Any, batches: tuple[Level, ...], axis: int) -> Any:
    if isinstance(x, Tensor):
        x = _bridged(x)
        for level in batches:
            with batching.within(level):
                x = leaving(x, axis, level)
        return x if type(x._array) is TracedArray else wrap(trace.for_leaf(x._array), x._node)
    for level in batches:
        x = outwards.body(x, axis, level)
    return trace.for_leaf(x)


def _bridged(x: Tensor) -> Tensor:
    """A tensor of which a vmap is told if it was made before."""
    level = modes.current().level if modes.special else None
    edge = current_node(x)
    if level is None or not level.crosses(edge):
        return x
    return wrap(x._array, level.bridged((edge,))[0])


def together(parts: Sequence[Any], layers: Sequence[Layers], axis: int = 0) -> list[Any]:
    """The leaves whose arrays these are: `apart` undone."""
    given = iter(parts)
    return [_together(given.__next__, own, axis) for own in layers]


def _together(take: Callable[[], Any], layers: Layers, axis: int) -> Any:
    x = take()
    for batch in reversed(layers.batches):
        if isinstance(x, Tensor):
            with _outside(batch):
                x = entering(x, axis, batch)
        else:
            x = inwards.body(x, axis, batch)
    for level, inner in layers.tangents:
        tangent = _together(take, inner, axis)
        if not isinstance(x, Tensor):
            x = wrap(x)
        level.give(x, tangent if isinstance(tangent, Tensor) else wrap(tangent))
    return x
