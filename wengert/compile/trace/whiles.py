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
from wengert.compile.trace.repeats import (
    BodyNode,
    Entry,
    Recorded,
    array_of,
    history_of,
    inside,
    started,
    swept,
    term,
    total,
    traced,
    value_like,
    zeros,
)
from wengert.compile.trace.scopes import Back, Loop
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
        return _pulled(self.loop, self.until, gs)

    def pull_recorded(self, g: Any) -> Any:
        raise TracingError(
            "a second derivative of wg.while_loop in a compiled function, recorded at\n  "
            f"{line_of(self.code, self.at)}\nThere are first ones only: differentiate twice "
            "outside of compiled functions, or use wg.scan of a fixed length."
        )


def until(
    trace: Trace,
    test: Callable[[list[Any]], Any],
    body: Callable[[list[Any]], Any],
    inits: list[Any],
) -> list[Any]:
    """The state when the test no longer holds: tensors and traced arrays."""
    inits = [traced(trace, x) for x in inits]
    scope, asking = Loop(trace, 0), Loop(trace, 0)
    with scope:
        recorded = Recorded(scope, Entry(), False)
        state = [inside(trace, scope.carries, x, recorded) for x in inits]
    asking.carries = scope.carries
    with asking, modes.no_grad():
        holds = array_of(test(state)).value
    with scope:
        news = body(state)
        values = [value_like(x, v) for x, v in zip(news, scope.carries, strict=True)]
    recorded.news = [history_of(x) for x in news]
    first, around = asking.program([holds])
    second, more = scope.program(values)
    first.outputs = [holds]
    second.updates = dict(zip(scope.carries, values, strict=True))
    outputs = tuple(Value(v.shape, v.dtype, v.weak) for v in scope.carries)
    count = Value((), int)
    starts = [array_of(x).value for x in inits]
    function = Until(first, second, len(inits))
    statement = Statement(function, (*starts, *around, *more), {}, (*outputs, count), *here())
    trace.program.statements.append(statement)
    recorded.connect([history_of(x) for x in inits])
    tracked = modes.is_grad_enabled() and any(recorded.results)
    node = Ended(recorded, statement) if tracked else None
    made: list[Any] = []
    for k, (value, new) in enumerate(zip(outputs, news, strict=True)):
        # Where no iteration runs, the final state is the first.
        depends = recorded.results[k] or k in recorded.alive
        edge = None if node is None or not depends else Output(node, k) if k else node
        array = trace.array(value)
        made.append(wrap(array, edge) if isinstance(new, Tensor) else array)
    return made


def _pulled(loop: Recorded, until: Statement, gs: list[Any]) -> list[Any]:
    """The cotangents of the initial state, and of what the body closes over."""
    trace, forth = loop.scope.trace, loop.scope
    inits = [started(loop, k, gs[k]) for k in loop.alive]
    places = [*map(loop.place, loop.alive), *(p for p, _ in loop.targets)]
    scope = Back(trace, 0, forth.lineage)
    with scope:
        own = Recorded(scope, Entry(), True)
        state = [inside(trace, scope.carries, x, own) for x in inits]
        roots = list(zip([loop.news[k] for k in loop.alive], state, strict=True))
        pulled = swept([r for r in roots if r[0] is not None], places, False)
        n = len(loop.alive)
        news = [total(g, None, like) for g, like in zip(pulled[:n], state, strict=True)]
        news += [term(trace, scope, g, own) for g in pulled[n:] if g is not None]
        values = [value_like(x, v) for x, v in zip(news, scope.carries, strict=True)]
    starts = [array_of(x).value for x in inits]
    starts += [zeros(trace, v.shape, v.dtype).value for v in scope.carries[n:]]
    scope.rows = list(forth.carries)
    back, around = scope.program(values)
    back.updates = dict(zip(scope.carries, values, strict=True))
    function: Any = until.function
    test, body = function.bodies
    carries = function.carries
    states, invariants = until.args[:carries], until.args[len(test.inputs) :]
    outputs = tuple(Value(v.shape, v.dtype) for v in scope.carries)
    args = (until.outputs[-1], *states, *starts, *invariants, *around)
    rewind = Rewind(body, back, carries, len(starts))
    trace.program.statements.append(Statement(rewind, args, {}, outputs, *here()))
    results = iter([trace.array(v) for v in outputs])
    finals = [next(results) for _ in loop.alive]
    return [*finals, *(None if g is None else next(results) for g in pulled[n:])]
