"""Regions of a trace that are computed twice: what is kept of them is what they read.

The first run gives the results. To the outside it is one node of the history, a `Region`, and what
it saved is forgotten. When cotangents arrive, the function runs again, on arguments of which the
program is told that what is made of them is made then (`anew`), and they are swept back through
that second run. So regions may stand in each other, and in bodies of loops.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from wengert.arrays.kind import kind_of
from wengert.autograd import forward
from wengert.compile.trace.arrays.array import Trace
from wengert.compile.trace.loops.repeats import BodyNode, Place, edge_to, history_of, reached, swept
from wengert.history import modes
from wengert.history.node import Output, source, tick
from wengert.tensor import Tensor, View, current_node, wrap
from wengert.tree import collect, flatten, rebuild
from wengert.tree import map as tree_map

Run = Callable[[], Any]


class Region(BodyNode):
    """A function that runs again to be pulled back; its outputs are those with a history."""

    title = "Region"

    def __init__(
        self, trace: Trace, reached: list[dict[Place, None]], which: list[int], again: Run
    ) -> None:
        self.places = list(dict.fromkeys(p for places in reached for p in places))
        super().__init__(tuple(map(edge_to, self.places)), len(which))
        self.trace = trace
        self.reached = reached
        """The places that each of the outputs leads to."""
        self.which = which
        self.again = again
        self.state = modes.current()

    def edges_of(self, slot: int) -> Iterable[Any]:
        return map(edge_to, self.reached[slot])

    def pulled(self, gs: list[Any], recorded: bool) -> list[Any]:
        """The cotangents of the places; of what is recorded its own derivative keeps nothing."""
        if recorded:
            return made_again(self.trace, partial(self._swept, recorded=True), gs)
        return self._swept(gs, False)

    def _swept(self, gs: list[Any], recorded: bool) -> list[Any]:
        leaves: list[Any] = []
        levels = modes.current().duals  # those that push now, which may be others than at first
        state = modes.enter(self.state._replace(grad=True, hooks=None, duals=levels))
        try:
            collect(self.again(), leaves)
        finally:
            modes.enter(state)
        roots = [(history_of(leaves[k]), g) for k, g in zip(self.which, gs, strict=True)]
        return swept(roots, self.places, recorded)


def anew(value: Any) -> Any:
    """An argument, of which the same is to be made a second time."""
    if isinstance(value, Tensor):
        twin = wrap(kind_of(value._array).anew(value._array), current_node(value))
        for level in forward.active():
            t = forward.tangent(value, level)
            level.give(twin, None if t is None else anew(t))
        return twin
    return kind_of(value).anew(value) if hasattr(type(value), "kind") else value


def made_again(trace: Trace, function: Callable[..., Any], *args: Any) -> Any:
    """What a function returns, which runs again to be pulled back, on the same random numbers."""
    return region(
        trace, lambda: function(*args), lambda: function(*tree_map(anew, args)), draws_again=True
    )


class _Since:
    """A scope of what is made from now on."""

    def __init__(self) -> None:
        self.start = tick()

    def began(self, time: int) -> bool:
        return time > self.start


def region(
    trace: Trace,
    first: Run,
    again: Run,
    draws_again: bool,
    keeps: Callable[[], bool] = lambda: True,
) -> Any:
    """What `first` returns; its derivative keeps nothing of it, and is computed with `again`.

    The second run draws the random numbers of the first one, if that `draws_again`. Where it cannot
    have them, all is kept. There is none if the first one, once it has run, `keeps` nothing.
    """
    since, drawn = _Since(), len(trace.drawn)
    result = first()
    leaves, tree = flatten(result)
    own = [k for k, x in enumerate(leaves) if _is_made(x, since)]
    if not own or not keeps() or not modes.is_grad_enabled() or _share(leaves, since):
        return result
    numbers = [values for draw, values in trace.drawn[drawn:] if draw.again]
    if draws_again and any(v in trace.homes for values in numbers for v in values):
        return result  # drawn in loops inside, of which only the last ones are there

    def run_again() -> Any:
        with _repeating(trace, numbers) if draws_again else contextlib.nullcontext():
            return again()

    places = [reached(history_of(leaves[k]), since, {}, ()) for k in own]
    node = Region(trace, places, own, run_again)
    for slot, k in enumerate(own):
        leaf = wrap(leaves[k]._array, Output(node, slot) if slot else node)
        leaf._tangents = leaves[k]._tangents
        leaves[k] = leaf
    return rebuild(tree, iter(leaves))


def _is_made(x: Any, since: _Since) -> bool:
    """Whether a result has a history that begins here."""
    node = source(history_of(x))[0]
    return node is not None and since.began(abs(node.order))


def _share(leaves: list[Any], since: _Since) -> bool:
    """Whether a result is a view of another one, or of what was there before."""
    origins = [x._origin for x in leaves if isinstance(x, Tensor)]
    bases = [view.base for view in origins if isinstance(view, View)]
    return any(not _is_made(b, since) or any(b is x for x in leaves) for b in bases)


@contextlib.contextmanager
def _repeating(trace: Trace, numbers: list[Any]) -> Iterator[None]:
    before, trace.drawn_before = trace.drawn_before, iter(numbers)
    try:
        yield
    finally:
        trace.drawn_before = before
