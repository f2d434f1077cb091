"""Loops of unknown length in a trace: as many iterations as a test of the state holds.

How many that will be is not known, so nothing is saved of them. The derivative is told their
number; it runs them again, keeps the state before each, and goes back through these: of all else
that an iteration computed, it computes again what it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compile.program.bodies import Rewind, Until
from wengert.compile.program.program import Statement, Value
from wengert.compile.trace.array import Trace
from wengert.compile.trace.layers import Layers, apart, layers_of, together
from wengert.compile.trace.repeats import (
    BodyNode,
    Entry,
    Recorded,
    array_of,
    carried,
    check_alike,
    check_layers,
    history_of,
    inside,
    started,
    swept,
    term,
    total,
    values_in,
    zeros,
)
from wengert.compile.trace.scopes import Loop
from wengert.errors import TracingError
from wengert.history import modes
from wengert.history.location import here, line_of
from wengert.history.node import Output
from wengert.tensor import Tensor, wrap


class Ended(BodyNode):
    """A loop of unknown length."""

    title = "While"

    def __init__(self, loop: Recorded, until: Statement) -> None:
        super().__init__(loop.edges(), len(loop.news))
        self.loop = loop
        self.until = until

    def pulled(self, gs: list[Any], recorded: bool) -> Any:
        made = _pulled(self.loop, self.until, gs, recorded)
        if not recorded:
            return made
        pulls = [history_of(g) for g in gs if isinstance(g, Tensor)]
        node = Rewound((*self.edges, *(edge for edge in pulls if edge is not None)))
        node.code, node.at = self.code, self.at
        return [wrap(g._array, node) if isinstance(g, Tensor) else g for g in made]


class Rewound(BodyNode):
    """The derivative of such a loop, which has none itself."""

    title = "Rewound"

    def __init__(self, edges: tuple[Any, ...]) -> None:
        super().__init__(edges, 1)

    def pulled(self, gs: list[Any], recorded: bool) -> Any:
        raise TracingError(
            "a second derivative of wg.while_loop in a compiled function by reverse mode, of\n  "
            f"{line_of(self.code, self.at)}\nTake one of the two by wg.jvp or wg.jacfwd (wg.hvp "
            "and wg.hessian do), differentiate twice outside of compiled functions, or use wg.scan "
            "of a fixed length."
        )


def until(
    trace: Trace,
    test: Callable[[list[Any]], Any],
    body: Callable[[list[Any]], Any],
    inits: list[Any],
) -> list[Any]:
    """The state when the test no longer holds: tensors and traced arrays."""

    def run(layers: list[Layers]) -> Any:
        starts = apart(trace, inits, layers)
        scope, asking = Loop(trace, 0), Loop(trace, 0)
        with scope:
            recorded = Recorded(scope, Entry(), False)
            parts = [inside(trace, scope.carries, x, recorded) for x in starts]
            state = together(parts, layers)
        asking.carries = scope.carries
        with asking, modes.no_grad():
            holds = array_of(test(state)).value
        try:
            with scope:
                made = body(state)
                check_layers(layers, made)
                news = apart(trace, made, layers)
        except Exception:
            asking.abandon()
            raise
        return together(_written(recorded, asking, holds, starts, news), layers)

    return carried(inits, run)


def _written(
    loop: Recorded, asking: Loop, holds: Value, starts: list[Any], news: list[Any]
) -> list[Any]:
    """Write the loop down; returns the final state."""
    scope: Any = loop.scope
    trace = scope.trace
    values = values_in(scope, news)
    check_alike(values, scope.carries)
    loop.news = list(map(history_of, news))
    first, around = asking.program([holds])
    second, more = scope.program(values)
    first.outputs = [holds]
    second.updates = dict(zip(scope.carries, values, strict=True))
    outputs = tuple(Value(v.shape, v.dtype, v.weak) for v in scope.carries)
    count = Value((), int)
    args = (*(array_of(x).value for x in starts), *around, *more)
    function = Until(first, second, len(starts))
    statement = Statement(function, args, {}, (*outputs, count), *here())
    trace.program.statements.append(statement)
    loop.connect([history_of(x) for x in starts])
    tracked = modes.is_grad_enabled() and any(loop.results)
    node = Ended(loop, statement) if tracked else None
    made: list[Any] = []
    for k, (value, new) in enumerate(zip(outputs, news, strict=True)):
        # Where no iteration runs, the final state is the first.
        depends = loop.results[k] or k in loop.alive
        edge = None if node is None or not depends else Output(node, k) if k else node
        array = trace.array(value)
        made.append(wrap(array, edge) if isinstance(new, Tensor) else array)
    return made


def _pulled(loop: Recorded, until: Statement, gs: list[Any], recorded: bool) -> list[Any]:
    """The cotangents of the initial state, and of what the body closes over."""
    trace, forth = loop.scope.trace, loop.scope
    inits = [started(loop, k, gs[k], recorded) for k in loop.alive]
    places = [*map(loop.place, loop.alive), *(p for p, _ in loop.targets)]

    def run(layers: list[Layers]) -> Any:
        starts = apart(trace, inits, layers)
        scope = Loop(trace, 0, forth.lineage)
        with scope:
            own = Recorded(scope, Entry(), True)
            state = together([inside(trace, scope.carries, x, own) for x in starts], layers)
            roots = list(zip([loop.news[k] for k in loop.alive], state, strict=True))
            pulled = swept(roots, places, False)
            n = len(loop.alive)
            made = [total(g, None, like) for g, like in zip(pulled[:n], state, strict=True)]
            check_layers(layers, made)
            sums = [g for g in pulled[n:] if g is not None]
            kinds = [*layers, *map(layers_of, sums)]
            parts = apart(trace, [*made, *sums], kinds)
            news, terms = parts[: len(starts)], parts[len(starts) :]
            news += [term(trace, scope, g, own) for g in terms]
        finals = together(_rewound(scope, until, forth, starts, news), kinds)
        rest = iter(finals[n:])
        return [*finals[:n], *(None if g is None else next(rest) for g in pulled[n:])]

    return carried(inits, run)


def _rewound(
    scope: Loop, until: Statement, forth: Any, starts: list[Any], news: list[Any]
) -> list[Any]:
    """Write the derivative down; returns the cotangents."""
    trace = scope.trace
    values = values_in(scope, news)
    check_alike(values, scope.carries)
    begun = [array_of(x).value for x in starts]
    begun += [zeros(trace, v.shape, v.dtype).value for v in scope.carries[len(starts) :]]
    scope.rows = list(forth.carries)
    back, around = scope.program(values)
    back.updates = dict(zip(scope.carries, values, strict=True))
    function: Any = until.function
    test, body = function.bodies
    carries = function.carries
    states, invariants = until.args[:carries], until.args[len(test.inputs) :]
    outputs = tuple(Value(v.shape, v.dtype) for v in scope.carries)
    args = (until.outputs[-1], *states, *begun, *invariants, *around)
    rewind = Rewind(body, back, carries, len(begun))
    trace.program.statements.append(Statement(rewind, args, {}, outputs, *here()))
    return [
        wrap(trace.array(v)) if isinstance(x, Tensor) else trace.array(v)
        for v, x in zip(outputs, news, strict=True)
    ]
