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

import numpy as np

from wengert.arrays.kind import kind_of
from wengert.autograd import forward
from wengert.compile.program.program import Statement, Value
from wengert.compile.trace.arrays.array import NUMBERS, Trace
from wengert.compile.trace.loops.repeats import BodyNode, Place, edge_to, history_of, reached, swept
from wengert.compile.trace.world import watch
from wengert.compile.trace.world.drawn import Draw, PutBack, Stands
from wengert.compile.trace.world.places import key_of
from wengert.history import modes
from wengert.history.location import here
from wengert.history.node import Output, source, tick
from wengert.tensor import Tensor, View, current_node, wrap
from wengert.tree import collect, flatten, rebuild
from wengert.tree import map as tree_map

Run = Callable[[], Any]
Again = Callable[[bool], Any]
"""A second run, which is told whether it is recorded."""


class Region(BodyNode):
    """A function that runs again to be pulled back; its outputs are those with a history."""

    title = "Region"

    def __init__(
        self, trace: Trace, reached: list[dict[Place, None]], which: list[int], again: Again
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
            collect(self.again(recorded), leaves)
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
    """What a function returns, which runs again to be pulled back, on the same random numbers.

    One that changes something outside, as running statistics, does so once: it keeps what it made.
    """
    world = watch.active().world
    begun = world.done()
    return region(
        trace, lambda: function(*args), lambda _: function(*tree_map(anew, args)),
        lambda draw: True,
        lambda: not world.has_done(begun, begun, world.done()),
    )  # fmt: skip


def has_other_numbers(first: list[Statement], again: list[Statement]) -> bool:
    """Whether arrays are computed in a second run with numbers that the first one has changed."""
    same: dict[Value, Value] = {}
    changed = set[Value]()

    def differs(x: Any, y: Any) -> bool:
        if type(y) is Value:
            return y.weak and (y in changed or type(x) is not Value or same.get(x, x) is not y)
        return type(y) in NUMBERS and x is not y and (type(x) is not type(y) or x != y)

    for before, now in zip(first, again, strict=False):
        if before.function is not now.function:
            return bool(changed)
        given = zip(operands_of(before), operands_of(now), strict=False)
        if any(differs(x, y) for x, y in given):
            if not all(y.weak for y in now.outputs):
                return True
            changed.update(now.outputs)
        same.update(zip(before.outputs, now.outputs, strict=False))
    return False


def depends(results: list[Any], on: list[Statement], through: list[Statement]) -> bool:
    """Whether values come, through some statements, from what others have made and not drawn."""
    reached = {v for s in on for v in s.outputs if not getattr(s.function, "draws", False)}
    for s in through:
        if not reached.isdisjoint(s.inputs):
            reached.update(s.outputs)
    arrays = (x._array if isinstance(x, Tensor) else x for x in results)
    return any(getattr(x, "value", None) in reached for x in arrays)


def operands_of(statement: Statement) -> tuple[Any, ...]:
    return *statement.args, *statement.kwargs.values()


class _Since:
    """A scope of what is made from now on."""

    def __init__(self) -> None:
        self.start = tick()

    def began(self, time: int) -> bool:
        return time > self.start


def region(
    trace: Trace,
    first: Run,
    again: Again,
    repeats: Callable[[Draw], bool],
    keeps: Callable[[], bool] = lambda: True,
) -> Any:
    """What `first` returns; its derivative keeps nothing of it, and is computed with `again`.

    The second run has the random numbers of the first one, of those draws that it `repeats`. There
    is no second run if the first one, once it has run, `keeps` nothing.
    """
    since, drawn, begun = _Since(), len(trace.drawn), len(trace.program.statements)
    result = first()
    leaves, tree = flatten(result)
    own = [k for k, x in enumerate(leaves) if _is_made(x, since)]
    if not own or not keeps() or not modes.is_grad_enabled() or _share(leaves, since):
        return result
    draws = [(draw, values) for draw, values in trace.drawn[drawn:] if repeats(draw)]
    if any(v in trace.homes for _, values in draws for v in values):  # of these are the last there
        if any(draw.again is None for draw, _ in draws):
            return result  # all is kept
        generators = {key_of(draw.place): draw.place for draw, _ in draws}
        repeating = _redrawing(trace, list(generators.values()), begun)
    else:
        repeating = partial(_repeating, trace, repeats, [values for _, values in draws])

    def run_again(recorded: bool) -> Any:
        with repeating():
            return again(recorded)

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


Repeating = Callable[[], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def _repeating(
    trace: Trace, repeats: Callable[[Draw], bool], numbers: list[tuple[Value, ...]]
) -> Iterator[None]:
    """Draws give what they gave before."""
    given = iter(numbers)
    before = trace.drawn_before
    trace.drawn_before = lambda draw: next(given) if repeats(draw) else None
    try:
        yield
    finally:
        trace.drawn_before = before


def _redrawing(trace: Trace, places: list[Any], begun: int) -> Repeating:
    """Generators draw again from where they stood when so many statements were written."""

    def stand(place: Any) -> Statement:
        stands = Stands(place)
        return Statement(stands, (), {}, (Value((stands.size,), np.uint8),), *here())

    first = list(map(stand, places))
    trace.program.statements[begun:begun] = first

    def put_back(states: list[Statement]) -> None:
        for place, state in zip(places, states, strict=True):
            put = Statement(PutBack(place), (state.output,), {}, (), *here())
            trace.program.statements.append(put)

    @contextlib.contextmanager
    def again() -> Iterator[None]:
        before, trace.drawn_before = trace.drawn_before, lambda draw: None
        now = list(map(stand, places))
        trace.program.statements += now
        put_back(first)
        try:
            yield
        finally:
            put_back(now)
            trace.drawn_before = before

    return again
