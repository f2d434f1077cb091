"""Loops of unknown length in a trace: as many iterations as a test of the state holds.

How many that will be is not known, so of what an iteration computes nothing is saved but, of as
many as there is room for, the state before them. The derivative is told their number; where it
must, it runs them again. It goes back through the states, and computes again from each what else it
needs.

A derivative of such a derivative meets the states of both. So these loops form a chain, each of
which goes through the iterations in the other direction, and reads in each what the state of the
loops before it was. The last loop's final state is a function of what all of them start with, and
of what their bodies close over; its derivative adds one more loop for each of them, from the last
to the first. That is a chain again, and so on to every order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.arrays.kind import array_of
from wengert.autograd import engine
from wengert.compile.program.again import is_cheap, map_name
from wengert.compile.program.bodies import Rewind, Until, limit, room
from wengert.compile.program.program import Program, Statement, Value
from wengert.compile.trace.arrays.array import Trace
from wengert.compile.trace.arrays.scopes import Loop, Scope
from wengert.compile.trace.loops.layers import Layers, apart, layers_of, together
from wengert.compile.trace.loops.memory import Memory
from wengert.compile.trace.loops.repeats import (
    BodyNode,
    Entry,
    Place,
    Recorded,
    Tracked,
    carried,
    check_layers,
    first_state,
    heard,
    history_of,
    inside,
    next_state,
    started,
    swept,
    term,
    total,
    with_history,
)
from wengert.history import modes
from wengert.history.location import here


class Sweep:
    """One loop of a chain: how it was recorded, and the statement that runs it."""

    def __init__(self, loop: Recorded, statement: Statement, body: Program, around: int) -> None:
        self.loop = loop
        self.statement = statement
        self.body = body
        self.around = around
        """The number of the statement's first argument that the body closes over."""
        self.reads: list[tuple[Sweep, int]] = []
        """Which parts of states before it a derivative by it leads to."""
        self.kept: dict[int, Value] = {}

    @property
    def carries(self) -> list[Value]:
        return self.loop.scope.carries

    @property
    def inits(self) -> tuple[Any, ...]:
        function: Any = self.statement.function
        if type(function) is Until:
            return self.statement.args[: function.carries]
        last = 1 + sum(function.carries)
        return self.statement.args[last - function.carries[-1] : last]

    @property
    def invariants(self) -> tuple[Any, ...]:
        """The arrays of outside that the body gets."""
        scope = self.loop.scope
        closed = len(self.body.inputs) - len(scope.carries) - len(scope.rows)
        return self.statement.args[self.around : self.around + closed]

    def edges(self) -> list[Any]:
        """What the loop depends on, but for the loops before it."""
        loop = self.loop
        return [*(loop.initial[k] for k in loop.alive), *(edge for _, edge in loop.targets)]

    def keep(self, k: int) -> Value:
        """One more result of the statement: rows of part k of the state."""
        if k not in self.kept:
            function: Any = self.statement.function
            v, trace = self.carries[k], self.loop.scope.trace
            function.rows = rows = _room(trace, self)
            trace.longest = max(trace.longest, rows)
            self.kept[k] = Value((rows, *v.shape), v.dtype)
            function.keeps.append(k)
            self.statement.outputs = (*self.statement.outputs, self.kept[k])
        return self.kept[k]


class Chained(BodyNode):
    """The last loop of a chain, whose results are its final state."""

    def __init__(self, chain: list[Sweep], count: Value) -> None:
        edges = [edge for sweep in chain for edge in sweep.edges()]
        super().__init__(tuple(edges), len(chain[-1].loop.news))
        self.title = "Rewind" if len(chain) > 1 else "While"
        self.chain = chain
        self.count = count

    def pulled(self, gs: list[Any], recorded: bool) -> Any:
        """The cotangents of the edges, by one more loop for each of the chain."""
        chain = list(self.chain)
        hidden: dict[tuple[Sweep, int], list[Any]] = {}
        pulled: dict[Sweep, list[Any]] = {}
        for sweep in reversed(self.chain):
            loop = sweep.loop
            ends = gs if sweep is self.chain[-1] else [None] * len(loop.news)
            given = [k for k in loop.alive if ends[k] is not None or (sweep, k) in hidden]
            fed = loop.fed(given)
            if not fed:
                pulled[sweep] = [None] * len(sweep.edges())
                continue
            begun = [started(loop, k, ends[k], recorded) for k in fed]
            after = _pulled(chain, sweep, self.count, fed, begun, hidden, recorded)
            by_number = dict(zip(fed, after, strict=False))
            pulled[sweep] = [*map(by_number.get, loop.alive), *after[len(fed) :]]
        return [g for sweep in self.chain for g in pulled[sweep]]

    def inner(self) -> list[Any]:
        return [edge for sweep in self.chain for edge in sweep.loop.news]


def until(
    trace: Trace,
    test: Callable[[list[Any]], Any],
    body: Callable[[list[Any]], Any],
    inits: list[Any],
) -> list[Any]:
    """The state when the test no longer holds: tensors and traced arrays."""

    memory, tracked = Memory(trace), Tracked()

    def run(layers: list[Layers]) -> Any:
        starts, parts = apart(trace, inits, layers), memory.starts()
        scope, asking = Loop(trace, 0), Loop(trace, 0)
        with scope:
            recorded = Recorded(scope, Entry(tracked, [*starts, *parts]), False)
            insides = [inside(trace, scope.carries, x, recorded) for x in (*starts, *parts)]
            state = together(insides[: len(starts)], layers)
        asking.carries = scope.carries
        try:
            with memory.held(scope, insides[len(starts) :]):
                with asking, modes.no_grad():
                    holds = array_of(heard(tracked, lambda: test(state))).value
                with scope:
                    after = heard(tracked, lambda: body(state))
                    check_layers(layers, after)
                    news = apart(trace, after, layers)
                    memory.check_apart([*starts, *news])
        except Exception:
            asking.abandon()
            raise
        tracked.check(recorded, [*news, *memory.news])
        news = _written(recorded, asking, holds, [*starts, *parts], [*news, *memory.news])
        memory.put(news[len(starts) :], 1)
        return together(news[: len(starts)], layers)

    return carried(inits, run)


def _written(
    loop: Recorded, asking: Loop, holds: Value, starts: list[Any], news: list[Any]
) -> list[Any]:
    """Write the loop down; returns the final state."""
    scope: Any = loop.scope
    trace = scope.trace
    values = next_state(scope, news)
    loop.news = list(map(history_of, news))
    first, around = asking.program([holds])
    second, more = scope.program(values)
    first.outputs = [holds]
    second.updates = dict(zip(scope.carries, values, strict=True))
    outputs = tuple(Value(v.shape, v.dtype, v.weak) for v in scope.carries)
    count = Value((), int)
    args = (*first_state(scope, starts), *around, *more)
    function = Until(first, second, len(starts))
    statement = Statement(function, args, {}, (*outputs, count), *here())
    trace.program.statements.append(statement)
    loop.connect(starts)
    sweep = Sweep(loop, statement, second, len(first.inputs))
    return _results([sweep], outputs, count, news)


def _results(chain: list[Sweep], outputs: Any, count: Value, news: list[Any]) -> list[Any]:
    """The final state of the last loop of a chain: tensors or arrays, as the body's are."""
    loop = chain[-1].loop
    trace = loop.scope.trace
    tracked = modes.is_grad_enabled() and any(loop.results)
    node = Chained(chain, count) if tracked else None
    # Where no iteration runs, the final state is the first.
    depends = [result or k in loop.alive for k, result in enumerate(loop.results)]
    return with_history(node, depends, map(trace.array, outputs), news)


def _pulled(
    chain: list[Sweep],
    sweep: Sweep,
    count: Value,
    fed: list[int],
    inits: list[Any],
    hidden: dict[tuple[Sweep, int], list[Any]],
    recorded: bool,
) -> list[Any]:
    """Add the loop that goes through `sweep` in the other direction: the cotangents of those parts
    of the initial state that are `fed`, and of what else it depends on.

    In the body of each such loop the states before that it reads get cotangents, too. They are
    `hidden`: those of a state are added to the state's own, once its loop is gone through.
    """
    loop = sweep.loop
    trace = loop.scope.trace
    places = [*map(loop.place, fed), *(p for p, _ in loop.targets)]
    places += [one.loop.place(k) for one, k in sweep.reads]
    n, m = len(fed), len(fed) + len(loop.targets)

    def run(layers: list[Layers]) -> Any:
        starts = apart(trace, inits, layers)
        scope = Loop(trace, 0, _lineage(chain))
        with scope:
            own = Recorded(scope, Entry(), True)
            state = together([inside(trace, scope.carries, x, own) for x in starts], layers)
            roots = list(zip([loop.news[k] for k in fed], state, strict=True))
            pulled = swept(roots, places, recorded)
            totals = []
            for k, g, like in zip(fed, pulled, state, strict=False):
                for h in hidden.get((sweep, k), ()):
                    g = engine.add(g, h)
                totals.append(total(g, None, like))
            check_layers(layers, totals)
            sums = [g for g in pulled[n:m] if g is not None]
            kinds = [*layers, *map(layers_of, sums)]
            parts = apart(trace, [*totals, *sums], kinds)
            news, terms = parts[: len(starts)], parts[len(starts) :]
            news += [term(trace, scope, g, own) for g in terms]
            seen = _computed(trace, pulled[m:])
        finals = together(_rewound(chain, own, count, starts, news), kinds)
        for key, g in zip(sweep.reads, seen, strict=True):
            if g is not None:
                hidden.setdefault(key, []).append(g)
        rest = iter(finals[n:])
        return [*finals[:n], *(None if g is None else next(rest) for g in pulled[n:m])]

    return carried(inits, run)


def _computed(trace: Trace, gs: list[Any]) -> list[Any]:
    """Cotangents that the bodies of other loops read: a view is taken here, not where it is met."""
    arrived = [g for g in gs if g is not None]
    kinds = list(map(layers_of, arrived))
    parts = apart(trace, arrived, kinds)
    for part in parts:
        _ = array_of(part).value
    leaves = iter(together(parts, kinds))
    return [None if g is None else next(leaves) for g in gs]


def _lineage(chain: list[Sweep]) -> tuple[Scope, ...]:
    """The bodies that one iteration of the next loop goes along with."""
    return tuple(dict.fromkeys(s for sweep in chain for s in sweep.loop.scope.lineage))


def _rewound(
    chain: list[Sweep], own: Recorded, count: Value, starts: list[Any], news: list[Any]
) -> list[Any]:
    """Write one more loop of a chain down, and add it there; returns its final state."""
    scope: Any = own.scope
    trace = scope.trace
    values, begun = next_state(scope, news), first_state(scope, starts)
    own.news = list(map(history_of, news))
    scope.rows = [v for sweep in chain for v in sweep.carries]
    back, around = scope.program(values)
    back.updates = dict(zip(scope.carries, values, strict=True))
    inits = [*(x for sweep in chain for x in sweep.inits), *begun]
    invariants = [x for sweep in chain for x in sweep.invariants]
    blocks = _blocks(trace, chain, {v for s in back.statements for v in s.inputs} | {*values})
    carries = [len(sweep.carries) for sweep in chain]
    function = Rewind(
        [*(sweep.body for sweep in chain), back], [*carries, len(begun)], list(blocks)
    )
    if trace.budget is not None:
        states = function.states[: -len(begun)]
        function.limit = limit(states, trace.kinds, len(chain), trace.budget)
        trace.longest = max(trace.longest, function.limit)
    outputs = tuple(Value(v.shape, v.dtype) for v in scope.carries)
    args = (count, *inits, *invariants, *around, *blocks.values())
    statement = Statement(function, args, {}, outputs, *here())
    trace.program.statements.append(statement)
    known = _connect(chain, own, starts)
    chain.append(Sweep(own, statement, back, 1 + len(inits) + len(invariants)))
    chain[-1].reads = known
    return _results(list(chain), outputs, count, news)


def _connect(chain: list[Sweep], own: Recorded, starts: list[Any]) -> list[tuple[Sweep, int]]:
    """Find what the results depend on; of that, which parts of states before."""
    befores: dict[Place, tuple[Sweep, int]] = {
        sweep.loop.place(k): (sweep, k) for sweep in chain for k in sweep.loop.alive
    }
    own.steps = dict.fromkeys(befores)
    own.connect(starts)
    own.targets = [(p, edge) for p, edge in own.targets if p not in befores]
    return [key for p, key in befores.items() if p in own.found]


def _room(trace: Trace, sweep: Sweep) -> int:
    cheap = all(is_cheap(s) or map_name(s.function) for s in sweep.body.statements)
    return room(sweep.carries, None if trace.budget is None else trace.kinds, cheap)


def _blocks(trace: Trace, chain: list[Sweep], read: set[Value]) -> dict[int, Value]:
    """Those parts of states before that are read, if rows of all of them are kept.

    They are not where they were made in another loop's iterations: each would have to keep them.
    Of one loop all parts are kept, for it goes on from its rows.
    """
    blocks: dict[int, Value] = {}
    numbered = [(sweep, k) for sweep in chain for k in range(len(sweep.carries))]
    whole = len(chain) == 1 and not read.isdisjoint(chain[0].carries)
    for number, (sweep, k) in enumerate(numbered):
        if whole or sweep.carries[k] in read:
            beside = any(s is sweep.statement for s in trace.program.statements)
            if not beside or not _room(trace, sweep):
                return {}
            blocks[number] = sweep.carries[k]
    for number in blocks:
        sweep, k = numbered[number]
        blocks[number] = sweep.keep(k)
    return blocks
