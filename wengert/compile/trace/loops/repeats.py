"""Loops in a trace: the body is run once, and becomes one statement; so does its derivative.

A loop is a function of its initial state, the rows that it goes through, and what its body closes
over. In reverse, cotangents of the state go from the last iteration to the first: a loop again,
whose body is a sweep through the history of the body's one run. That sweep meets arrays of that
run, and these belong to the iteration at hand (`arrays/scopes.py`). Where the sweep is recorded,
the second loop has a history as the first has, and so on to every order.

Inside of a body each input of it is an output of an `Entry`. To the outside the whole loop is one
node, a `Repeated`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of
from wengert.autograd import engine, saved
from wengert.autograd.hooks import shown
from wengert.compile.program import operations
from wengert.compile.program.program import Value
from wengert.compile.trace.arrays.array import Trace, TracedArray
from wengert.compile.trace.arrays.scopes import Scope
from wengert.compile.trace.arrays.storage import Storage
from wengert.compile.trace.loops.layers import Layers, apart, joined, layers_of, together
from wengert.compile.trace.loops.memory import Memory, More
from wengert.errors import TracingError
from wengert.history import modes
from wengert.history.location import here, line_of
from wengert.history.node import AccumulateGrad, Node, Output, source
from wengert.tensor import Tensor, current_node, may_record, wrap

Place = tuple[Node, int]
"""An output of a node, by its number."""
Body = Callable[[Any, list[Any], list[Any]], "Made"]


class Made:
    """What one run of a body made: the next state, one row of each result, and what is to be added
    up over all iterations."""

    def __init__(self, state: list[Any], rows: list[Any], terms: list[Any] | None = None) -> None:
        self.state, self.rows, self.terms = state, rows, terms or []


class Tracked:
    """Which parts of a state have a history inside of the body, over all of its runs.

    They all have one, whether the first state does or not, unless the body asks: then each has it
    that does so from the start. Where an iteration gives one to a part, or takes it, the first
    iteration would be told another answer than the others: to ask is an error.
    """

    def __init__(self, variables: bool = False) -> None:
        self.variables = variables
        """Whether the first iteration finds the first state itself, which may be leaves."""
        self.asked = False
        self.exact = False
        self.joined: set[int] = set()
        """Parts that an iteration gives a history, or takes it."""

    def check(self, loop: Recorded, news: list[Any]) -> None:
        """Have the body run again where it was told what may not be so."""
        if self.asked and not self.exact:
            self.exact = True
            raise More
        pairs = zip(loop.carried, news, strict=True)
        changed = {k for k, (p, x) in enumerate(pairs) if (p is None) != (history_of(x) is None)}
        if self.exact and not changed <= self.joined:
            self.joined |= changed
            raise More


class Entry(Node):
    """Where the history of a body begins: its outputs are the state and the rows."""

    opens = True

    def __init__(self, tracked: Tracked | None = None, around: Iterable[Any] = ()) -> None:
        self.begin()
        self.outputs = 0
        self.tracked = tracked or Tracked()
        self.around = [edge for edge in map(history_of, around) if edge is not None]

    def ask(self) -> None:
        """The body asks whether something has a history, that leads here."""
        leaves = self.tracked.variables and any(type(x) is AccumulateGrad for x in self.around)
        if self.tracked.joined or leaves:
            raise TracingError(
                "the body of a loop asks for the history of its state, which the first iteration "
                f"finds otherwise than the others, at\n  {line_of(*here())}\nBegin with a state "
                "that requires grad as the next one does, or give the loop unroll=True, which "
                "compiles each iteration by itself."
            )
        self.tracked.asked = True
        ask_history(self.around)

    def output(self) -> Node | Output:
        """An edge to one more output."""
        self.outputs += 1
        return Output(self, self.outputs - 1) if self.outputs > 1 else self


class BodyNode(Node):
    """A loop or a choice as one node of the history around it; `pulled` is its derivative."""

    title = ""

    def __init__(self, edges: tuple[Any, ...], outputs: int) -> None:
        self.begin()
        self.edges = edges  # `apart` has told the vmaps around of all that was made before them
        self.outputs = outputs
        self.frees = True
        self.code, self.at = here()

    def name(self) -> str:
        return f"{self.title}Backward0"

    def pull(self, g: Any) -> Any:
        return self._pulled(g, False)

    def pull_recorded(self, g: Any) -> Any:
        return self._pulled(g, modes.is_grad_enabled())

    def _pulled(self, g: Any, recorded: bool) -> Any:
        saved.kept(self)
        pulled = self.pulled(g if self.outputs > 1 else [g], recorded)
        inner = self.inner()
        self.frees = inner is None or any(
            map(_frees, engine.reachable((x, None) for x in inner if x is not None))
        )
        return pulled

    def edges_of(self, slot: int) -> Iterable[Any]:
        """The edges that an output's cotangent may lead to."""
        return self.edges

    def inner(self) -> list[Any] | None:
        """The edges of what its bodies make; None if these are not known."""
        return None

    def pulled(self, gs: list[Any], recorded: bool) -> Any:
        """What the edges get for the outputs' cotangents."""
        raise NotImplementedError


def _frees(node: Node) -> bool:
    """Whether a sweep through a node frees something."""
    return node.frees or (type(node).release is not Node.release and bool(node.saved))


class Repeated(BodyNode):
    """A loop of known length.

    Its outputs are the final state and the rows of all results; then, for derivatives of
    derivatives, the state before each iteration.
    """

    title = "Repeated"

    def __init__(self, loop: Recorded, edges: tuple[Any, ...]) -> None:
        super().__init__(edges, len(loop.news) + len(loop.ys) + len(loop.news))
        self.loop = loop

    def pulled(self, gs: list[Any], recorded: bool) -> Any:
        return self.loop.pulled(self, gs, recorded)

    def edges_of(self, slot: int) -> Iterable[Any]:
        count = len(self.loop.news) + len(self.loop.ys)
        return self.loop.edges_of(slot if slot < count else slot - count)

    def inner(self) -> list[Any]:
        return [*self.loop.news, *self.loop.ys]


def ask_history(edges: Iterable[Any]) -> None:
    """Someone asks whether there is a history, or which: it may begin with a loop's iteration."""
    for node in engine.reachable((edge, None) for edge in edges if edge is not None):
        if type(node) is Entry:
            node.ask()


class Recorded:
    """What the derivative of a loop is made of: the history of one run of its body.

    `news` and `ys` are the edges of the next state and the results inside of the body, None where
    they have no history. `steps` tells for places inside of it that belong to an iteration, which
    edge around the loop their rows lead to; `carried` are the places of the state.
    """

    def __init__(self, scope: Scope, entry: Entry, backwards: bool) -> None:
        self.scope = scope
        self.entry = entry
        self.backwards = backwards
        self.steps: dict[Place, Any] = {}
        self.carried: list[Place | None] = []
        self.news: list[Any] = []
        self.ys: list[Any] = []
        self.alive: list[int] = []
        """Which parts of the state have a derivative."""
        self.targets: list[tuple[Place, Any]] = []
        """Where a sweep through the body goes, beside the state, and the edge around the loop."""
        self.found: dict[Place, None] = {}
        """The places of these."""
        self.initial: list[Any] = []
        self.results: list[bool] = []
        """Which of the results have a derivative."""
        self.reached: list[dict[Place, None]] = []
        """What each of `news` and `ys` leads to."""
        self.leads: list[set[int]] = []
        """To which parts of the state with a derivative."""

    # ---- what depends on what -------------------------------------------------------------------

    def connect(self, starts: list[Any]) -> None:
        """Find what the results depend on; terms of a sum have no part in the initial state."""
        initial = [*map(history_of, starts), *[None] * (len(self.news) - len(starts))]
        self.reached = reached = [self._reached(edge) for edge in (*self.news, *self.ys)]
        number = {place: k for k, place in enumerate(self.carried) if place is not None}
        alive = {k for k, edge in enumerate(initial) if edge is not None}

        def leads(places: Any) -> bool:
            return any(p not in number or number[p] in alive for p in places)

        while not (more := {k for k in range(len(self.news)) if leads(reached[k])}) <= alive:
            alive |= more
        self.alive = sorted(k for k in alive if self.carried[k] is not None)
        self.leads = [{number[p] for p in places if number.get(p) in alive} for places in reached]
        self.initial = initial
        self.found = dict.fromkeys(p for places in reached for p in places if p not in number)
        self.targets = [(p, self.steps[p] if p in self.steps else edge_to(p)) for p in self.found]
        self.results = [leads(places) for places in reached]

    def _reached(self, edge: Any) -> dict[Place, None]:
        known = {**self.steps, **dict.fromkeys(p for p in self.carried if p is not None)}
        return reached(edge, self.scope, known, {self.entry, *(node for node, _ in self.steps)})

    def fed(self, given: Iterable[int]) -> list[int]:
        """The parts of the state that get cotangents in any iteration, if those of `news` and `ys`
        with these numbers do at the end, or in each.
        """
        fed: set[int] = set()
        pending = list(given)
        while pending:
            k = pending.pop()
            if k < len(self.news):
                fed.add(k)
            pending += self.leads[k] - fed
        return [k for k in self.alive if k in fed]

    def edges_of(self, k: int) -> list[Any]:
        """What the last one of a part of the state, or a result, depends on."""
        fed = self.fed([k])
        places = {p for one in (*fed, k) for p in self.reached[one]}
        return [*(self.initial[k] for k in fed), *(e for p, e in self.targets if p in places)]

    # ---- pulling back ---------------------------------------------------------------------------

    def edges(self) -> tuple[Any, ...]:
        """What the loop as a whole depends on: its initial state, then the targets."""
        return (*(self.initial[k] for k in self.alive), *(edge for _, edge in self.targets))

    def pulled(self, node: Repeated, gs: list[Any], recorded: bool) -> tuple[Any, ...]:
        """The cotangents of `edges`, by a loop in the other direction."""
        trace, count = self.scope.trace, len(self.news)
        hidden = {k: gs[-count + k] for k in self.alive if count and gs[-count + k] is not None}
        rows = {
            j: gs[count + j]
            for j, edge in enumerate(self.ys)
            if edge is not None and gs[count + j] is not None
        }
        given = (k for k in range(count) if gs[k] is not None)
        fed = self.fed([*given, *hidden, *(count + j for j in rows)])
        inits = [started(self, k, gs[k], recorded) for k in fed]
        places = [*map(self.place, fed), *(p for p, _ in self.targets)]
        summed = [p not in self.steps for p, _ in self.targets]
        arrived: list[bool] = []

        def body(index: Any, state: list[Any], given: list[Any]) -> Made:
            roots = [(self.news[k], g) for k, g in zip(fed, state, strict=True)]
            roots += [(self.ys[j], g) for j, g in zip(rows, given, strict=False)]
            pulled = swept(roots, places, recorded)
            before = pulled[: len(fed)]
            extra = dict(zip(hidden, given[len(rows) :], strict=True))
            state = [
                total(g, extra.get(k), like) for k, g, like in zip(fed, before, state, strict=True)
            ]
            others = list(zip(pulled[len(fed) :], summed, strict=True))
            arrived[:] = [g is not None for g, _ in others]
            return Made(
                state,
                [g for g, term in others if g is not None and not term],
                [g for g, term in others if g is not None and term],
            )

        steps = self.steps
        if recorded:
            begin = len(self.news) + len(self.ys)
            steps = {**steps, **{self.place(k): Output(node, begin + k) for k in self.alive}}
        finals, ys, sums = repeated(
            trace, body, inits, [*rows.values(), *hidden.values()], self.scope.length,
            not self.backwards, self, steps,
        )  # fmt: skip
        blocks, totals = iter(ys), iter(sums)
        rest = [
            None if not kept else next(totals) if term else next(blocks)
            for kept, term in zip(arrived, summed, strict=True)
        ]
        by_number = dict(zip(fed, finals, strict=True))
        return (*map(by_number.get, self.alive), *rest)

    def place(self, k: int) -> Place:
        place = self.carried[k]
        assert place is not None
        return place


def started(loop: Recorded, k: int, g: Any, recorded: bool) -> Any:
    """The cotangent of a part of the final state."""
    if g is None:
        v = loop.scope.carries[k]
        g = zeros(loop.scope.trace, v.shape, v.dtype)
    return shown(g) if recorded or engine.on_tensors() else g


def reached(edge: Any, scope: Any, known: dict[Place, Any], entries: Any) -> dict[Place, None]:
    """The places that an edge in a body leads to: `known` ones of `entries`, and those around."""
    places: dict[Place, None] = {}
    seen: set[Place] = set()
    pending = [] if edge is None else [source(edge)]
    while pending:
        node, slot = pending.pop()
        assert node is not None
        if node in entries:
            if (node, slot) in known:
                places[node, slot] = None
        elif not scope.began(abs(node.order)):
            places[node, slot] = None
        elif (node, slot) not in seen:
            seen.add((node, slot))
            edges = node.edges_of(slot) if isinstance(node, BodyNode) else node.edges
            pending += [source(e) for e in edges if e is not None]
    return places


def edge_to(place: Place) -> Node | Output:
    node, slot = place
    return Output(node, slot) if slot else node


def zeros(trace: Trace, shape: Any, dtype: Any) -> TracedArray:
    return trace.array(trace.record(operations.full, (shape, 0, dtype), shape, dtype))


class Ends(engine.Targets):
    """Where a sweep through a body ends: not even a path to another target leads on from there.

    What lies around a body is pulled back by the sweep around it: the one value that two others
    come from would get its cotangents twice, and so would its hooks.
    """

    inner = True

    def find(self, roots: Any) -> set[Node]:
        seen: dict[Node, None] = {}
        pending = [source(edge)[0] for edge, _ in roots]
        while pending:
            node = pending.pop()
            if node is not None and node not in seen and node not in self.ends:
                seen[node] = None
                pending += [source(edge)[0] for edge in node.edges if edge is not None]
        for node in sorted(seen, key=lambda node: node.order):
            children = (source(edge)[0] for edge in node.edges if edge is not None)
            if any(child in self.passed or child in self.ends for child in children):
                self.passed.add(node)
        return self.passed | self.ends


def swept(roots: list[Any], places: list[Any], recorded: bool) -> list[Any]:
    """What a sweep from those roots that are tracked and have a cotangent brings to some places."""
    targets = Ends(places)
    roots = [(edge, g) for edge, g in roots if edge is not None and g is not None]
    if roots:
        engine.run(roots, True, recorded, targets)
    return [targets.captured[p] for p in places]


def total(g: Any, h: Any, like: Any) -> Any:
    """The sum of two cotangents, either of which may be missing."""
    added = engine.add(g, h)
    if added is None:
        return wrap(np.zeros_like(like._array)) if isinstance(like, Tensor) else np.zeros_like(like)
    return added


# ---- a loop --------------------------------------------------------------------------------------


class Wider(Exception):
    """A state gets more layers in an iteration: it has them from the start."""

    def __init__(self, layers: list[Layers]) -> None:
        self.layers = layers


def carried(inits: list[Any], run: Callable[[list[Layers]], Any]) -> Any:
    """What `run` makes of the layers of a state, once the next one has no others."""
    layers = list(map(layers_of, inits))
    while True:
        try:
            return run(layers)
        except Wider as wider:
            layers = wider.layers
        except More:
            pass


def heard(tracked: Tracked, body: Callable[[], Any]) -> Any:
    """What a body returns; where it raises after it was told what may not be so, it runs again."""
    try:
        return body()
    except Exception:
        if tracked.asked and not tracked.exact:
            tracked.exact = True
            raise More from None
        raise


def check_layers(layers: list[Layers], news: list[Any]) -> None:
    """Begin again if the next state has layers that the state lacks, by what the body reads."""
    wider = [joined(own, layers_of(x)) for own, x in zip(layers, news, strict=True)]
    if wider != layers:
        raise Wider(wider)


def repeated(
    trace: Trace,
    body: Body,
    inits: list[Any],
    xs: list[Any],
    length: int,
    backwards: bool = False,
    along: Recorded | None = None,
    steps: dict[Any, Any] | None = None,
    first: tuple[Any, int, int] = (0, 0, 0),
    variables: bool = False,
) -> tuple[list[Any], list[Any], list[Any]]:
    """Write a loop: the final state, the rows of the results, and the sums of the terms.

    `inits` and `xs` are arrays or tensors; the body gets the like, and the number of the iteration,
    counted from `first`: a number, and between which that lies. `along` is the loop whose history
    the body goes through, and `steps` where places in that lead to. `variables` says that the first
    iteration finds `inits` themselves.
    """
    row_layers = list(map(layers_of, xs))
    rows = apart(trace, xs, row_layers, axis=1)

    memory, tracked = Memory(trace), Tracked(variables)

    def run(layers: list[Layers]) -> Any:
        starts, parts = apart(trace, inits, layers), memory.starts()
        scope = Scope(trace, length, () if along is None else along.scope.lineage)
        with scope:
            recorded = Recorded(scope, Entry(tracked, [*starts, *parts]), backwards)
            recorded.steps = dict(steps or {})
            index = trace.array(scope.index)
            index = index + first[0] if any(first[1:]) else index
            state = [inside(trace, scope.carries, x, recorded) for x in starts]
            given = [inside(trace, scope.rows, x, recorded, row=True) for x in rows]
            stand_ins = [inside(trace, scope.carries, x, recorded) for x in parts]
            with memory.held(scope, stand_ins):
                given = together(given, row_layers)
                turn = heard(tracked, lambda: body(index, together(state, layers), given))
                check_layers(layers, turn.state)
                kinds = layers, list(map(layers_of, turn.rows)), list(map(layers_of, turn.terms))
                leaves = turn.state, turn.rows, turn.terms
                state, ys, terms = [apart(trace, *pair) for pair in zip(leaves, kinds, strict=True)]
                memory.check_apart([*starts, *rows, *state, *ys, *terms])
            tracked.check(recorded, [*state, *memory.news])
            terms = [term(trace, scope, t, recorded) for t in terms]
        trace.counters[scope.index] = 0, length - 1
        trace.counters[index.value] = first[1], first[2] + length - 1
        results = _closed(recorded, [*starts, *parts], rows, [*state, *memory.news, *terms], ys)
        n, k, m = len(starts), len(starts) + len(parts), len(starts) + len(parts) + len(terms)
        memory.put(results[n:k], length)
        split = results[:n], results[m:], results[k:m]
        return [together(*x) for x in zip(split, kinds, (0, 1, 0), strict=True)]

    return carried(inits, run)


def _closed(
    loop: Recorded, starts: list[Any], rows: list[Any], news: list[Any], ys: list[Any]
) -> list[Any]:
    """Write the loop down, whose body was run: what it makes of the next state and the results."""
    scope = loop.scope
    trace = scope.trace
    updates, row = next_state(scope, news), values_in(scope, ys)
    loop.news, loop.ys = list(map(history_of, news)), list(map(history_of, ys))
    begun = first_state(scope, starts)
    given = [array_of(x).value for x in rows]
    outputs = scope.close(begun, given, updates, row, loop.backwards)
    loop.connect(starts)
    tracked = modes.is_grad_enabled() and any(loop.results)
    node = Repeated(loop, loop.edges()) if tracked else None
    return with_history(node, loop.results, map(trace.array, outputs), [*news, *ys])


def with_history(node: Any, depends: Sequence[bool], arrays: Any, insides: list[Any]) -> list[Any]:
    """The results as what they are inside of the body: arrays, or tensors of the loop's node, which
    have the mark of the mode.
    """
    results: list[Any] = []
    for k, (array, inside) in enumerate(zip(arrays, insides, strict=True)):
        array.single = is_single(inside)
        if isinstance(inside, Tensor):
            array = wrap(array, edge_to((node, k)) if node and depends[k] else None)
            may_record(array)
        results.append(array)
    return results


def is_single(x: Any) -> bool:
    """Whether a result of a body is a number of NumPy's, and no array of no dimensions."""
    return type(x) is TracedArray and x.single


def history_of(x: Any) -> Any:
    return current_node(x) if isinstance(x, Tensor) else None


def values_in(scope: Scope, xs: list[Any]) -> list[Value]:
    """What some arrays of a body hold."""
    with scope:  # which makes what is a view
        return [array_of(x).value for x in xs]


def first_state(scope: Scope, starts: list[Any]) -> list[Value]:
    """What a loop begins with; terms of a sum, which are its last parts, with zero."""
    zero = [zeros(scope.trace, v.shape, v.dtype) for v in scope.carries[len(starts) :]]
    return [array_of(x).value for x in (*starts, *zero)]


def next_state(scope: Scope, news: list[Any]) -> list[Value]:
    """What the state becomes in an iteration."""
    values = values_in(scope, news)
    for value, like in zip(values, scope.carries, strict=True):
        assert (value.shape, value.dtype) == (like.shape, like.dtype), f"{value} follows {like}"
    return values


def inside(trace: Trace, values: list[Value], x: Any, recorded: Recorded, row: bool = False) -> Any:
    """What stands in the body for a part of the state, or for one row."""
    around = array_of(x)
    shape = around.shape[1:] if row else around.shape
    value = Value(shape, around.dtype, around.weak)
    values.append(value)
    array = TracedArray(trace, Storage(value), ())
    array.single = not row and around.single
    edge = history_of(x)
    tracked = isinstance(x, Tensor) and modes.is_grad_enabled() and dtypes.is_inexact(value.dtype)
    kept = recorded.entry.tracked
    exact = row or (kept.exact and len(recorded.carried) not in kept.joined)
    node = recorded.entry.output() if tracked and (edge is not None or not exact) else None
    place: Any = None if node is None else source(node)
    if not row:
        recorded.carried.append(place)
    elif place is not None:
        recorded.steps[place] = edge
    return wrap(array, node) if isinstance(x, Tensor) else array


def term(trace: Trace, scope: Scope, x: Any, recorded: Recorded) -> Any:
    """A sum over the iterations: one more part of the state, which begins with zero."""
    around = array_of(x)
    like = TracedArray(trace, Storage(Value(around.shape, around.dtype)), ())
    begun: Any = wrap(like) if isinstance(x, Tensor) else like
    return inside(trace, scope.carries, begun, recorded) + x
