"""Which module did what, and histories in which each module is one vertex.

Every node of history has the time of its creation. While a function runs, hooks note when each
module is entered and left; a node belongs to the innermost call during which it was made. The
calls of one depth are disjoint stretches of time and an edge leads from an earlier node to a later
one, so that a graph whose calls are drawn as one vertex each has no cycles either. Where modules
are not enough, because a loop made a thousand operations without any, stretches of the program's
time are folded, so cut that they begin where the loop does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from wengert.history.location import line_number, line_of
from wengert.history.node import tick
from wengert.nn.module import Module, register_module_forward_hook, register_module_forward_pre_hook

LARGEST = 100
"""Vertices that a drawing may have where nothing can be folded by module."""
SHARED = 4
"""Readers that a leaf may have; one with more is drawn beside each, or lines bury the drawing."""


@dataclass(eq=False)
class Call:
    """One call of a module: where the module is found, its class, and when the call ran.

    Or a stretch of the program: its lines as `kind`, the function they are in as `path`, and in
    `lines` where it begins and ends.
    """

    path: str
    kind: str
    start: int
    end: int = 0
    depth: int = 0
    lines: tuple[str, ...] = ()
    seconds: float = 0.0
    """How long the call took."""


class Calls:
    """The calls of modules while a function ran, in the order in which they began."""

    def __init__(self, modules: dict[str, Module]) -> None:
        """`modules` are known by name; the one called "" is the function itself, and no box."""
        self.made: list[Call] = []
        self.names: dict[str, Any] = {}
        """Parameters of the modules, by name."""
        self._paths: dict[Module, str] = {}
        for name, module in modules.items():
            self._know(name, module)

    def _know(self, name: str, module: Module) -> None:
        for path, part in module.named_modules(prefix=name):
            self._paths.setdefault(part, path)
        for path, parameter in module.named_parameters(prefix=name):
            self.names.setdefault(path, parameter)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note the calls that this thread makes inside."""
        thread = threading.get_ident()
        open_calls: list[Call] = []

        def enter(module: Module, args: Any) -> None:
            if threading.get_ident() != thread or self._paths.get(module) == "":
                return
            if module not in self._paths:
                self._know(type(module).__name__, module)
            call = Call(self._paths[module], type(module).__name__, tick(), depth=len(open_calls))
            call.seconds = -time.perf_counter()
            open_calls.append(call)
            self.made.append(call)

        def leave(module: Module, args: Any, result: Any) -> None:
            if threading.get_ident() == thread and self._paths.get(module) != "":
                call = open_calls.pop()
                call.end = tick()
                call.seconds += time.perf_counter()

        with register_module_forward_pre_hook(enter), register_module_forward_hook(leave):
            yield

    def around(self, nodes: Iterable[Any]) -> dict[Any, tuple[Call, ...]]:
        """The calls during which each of the nodes was made, the outermost first."""
        around: dict[Any, tuple[Call, ...]] = {}
        inside: tuple[Call, ...] = ()
        begun = 0
        for node in sorted(nodes, key=lambda node: node.order):
            while begun < len(self.made) and self.made[begun].start < node.order:
                call = self.made[begun]
                inside = (*(c for c in inside if call.start < c.end), call)
                begun += 1
            inside = tuple(c for c in inside if node.order < c.end)
            around[node] = inside
        return around


class Foldable(Protocol):
    """What is needed of a vertex to fold it."""

    node: Any
    leaf: Any
    is_leaf: bool
    is_result: bool
    inputs: list[Any]

    def repeated(self) -> Any:
        """Another vertex for the same leaf."""


V = TypeVar("V", bound=Foldable)
Groups = dict[V, "V | Call"]
"""For each vertex the call in which it disappears, or itself."""


@dataclass(eq=False)
class Folded(Generic[V]):
    """What a vertex stands for: a call, its operations, and the parameters that only it reads."""

    call: Call
    operations: list[V] = field(default_factory=list)
    leaves: list[V] = field(default_factory=list)


def fold(vertices: list[V], calls: Calls, boxes: int, make: Callable[[Folded[V]], V]) -> list[V]:
    """A graph with calls of modules as single vertices, as few of them as `boxes` asks.

    Calls are folded from the innermost out until at most `boxes` vertices are left, or only
    the outermost calls remain. If these are more than `LARGEST` too, neighbours in time become one
    vertex. `make` gives the vertex that stands for a call.
    """
    around = calls.around(v.node for v in vertices if not v.is_leaf)
    chains = {v: around.get(v.node, ()) for v in vertices}
    owned = {id(p) for p in calls.names.values()}
    deepest = max(map(len, chains.values()), default=0)
    group: Groups[V] = {}
    for depth in range(deepest, -1, -1):
        group = _by_module(vertices, chains, depth, owned)
        if _count(vertices, group) <= boxes:
            break
    if _count(vertices, group) > max(boxes, LARGEST):
        leaves = [v for v in vertices if v.is_leaf]
        if len(leaves) > boxes:
            owned = {id(v.leaf) for v in leaves}
        group = _with_leaves(_by_time(vertices, group, boxes), vertices, owned)
    return _merged(*_repeated(vertices, group), make)


def _by_module(
    vertices: list[V], chains: dict[V, tuple[Call, ...]], depth: int, owned: set[int]
) -> Groups[V]:
    group: Groups[V] = {v: chains[v][depth] if len(chains[v]) > depth else v for v in vertices}
    members: dict[Any, list[V]] = {}
    for v, call in group.items():
        members.setdefault(call, []).append(v)
    for call, (v, *others) in members.items():  # a module that is one operation of the same name,
        reads_own = any(id(source.leaf) in owned for source in v.inputs)  # such as a ReLU
        if isinstance(call, Call) and not others and not reads_own and _same(call.kind, v):
            group[v] = v
    return _with_leaves(group, vertices, owned)


def _same(kind: str, vertex: Any) -> bool:
    return kind.lower() in vertex.node.name().lower()


def _with_leaves(group: Groups[V], vertices: list[V], owned: set[int]) -> Groups[V]:
    """The groups, each with the parameters that only its call reads."""
    for leaf, readers in _readers(vertices, group).items():
        if id(leaf.leaf) in owned and len(readers) == 1 and isinstance(readers[0], Call):
            group[leaf] = readers[0]
    return group


def _readers(vertices: list[V], group: Groups[V]) -> dict[V, list[V | Call]]:
    """Each leaf, with the groups that read it."""
    readers: dict[V, dict[V | Call, None]] = {v: {} for v in vertices if v.is_leaf}
    for v in vertices:
        for source in v.inputs:
            if source.is_leaf:
                readers[source][group[v]] = None
    return {leaf: list(groups) for leaf, groups in readers.items()}


def _count(vertices: list[V], group: Groups[V]) -> int:
    """How many boxes a drawing of these groups has."""
    more = 0
    for readers in _readers(vertices, group).values():
        if len(readers) > SHARED:
            more += sum(not isinstance(reader, Call) for reader in readers) - 1
    return len(set(group.values())) + more


def _repeated(vertices: list[V], group: Groups[V]) -> tuple[list[V], Groups[V]]:
    """The vertices with a leaf of many readers once for each, inside of those that are folded."""
    copies: dict[tuple[V, V | Call], V] = {}
    for leaf, readers in _readers(vertices, group).items():
        if len(readers) > SHARED:
            for reader in readers:
                copies[leaf, reader] = copy = leaf.repeated()
                group[copy] = reader if isinstance(reader, Call) else copy
    if not copies:
        return vertices, group
    shared = {leaf for leaf, _ in copies}
    for v in vertices:
        v.inputs = [copies.get((source, group[v]), source) for source in v.inputs]
    return [*(v for v in vertices if v not in shared), *copies.values()], group


# ---- by time -----------------------------------------------------------------------------------


def _by_time(vertices: list[V], group: Groups[V], boxes: int) -> Groups[V]:
    """At most `boxes` stretches of time, each of as many rounds of a loop as the others."""
    members: dict[V | Call, list[V]] = {}
    for v in sorted((v for v in vertices if not v.is_leaf), key=lambda v: v.node.order):
        members.setdefault(group[v], []).append(v)
    units = list(members)
    rounds = _rounds([members[unit][0].node for unit in units])
    if len(rounds) < boxes / 4:  # few rounds, or none: they are cut where it happens to be
        rounds = [[k] for k in range(len(units))]
    each = -(-len(rounds) // boxes)
    for k in range(0, len(rounds), each):
        inside = [units[n] for part in rounds[k : k + each] for n in part]
        if len(inside) > 1:
            stretch = _stretch(inside, [v for unit in inside for v in members[unit]])
            for unit in inside:
                for v in members[unit]:
                    group[v] = stretch
    for v in vertices:
        if v.is_leaf:
            group[v] = v
    return group


def _rounds(nodes: list[Any]) -> list[list[int]]:
    """The nodes' numbers, cut where the program went back to a line: there a loop begins again."""
    rounds: list[list[int]] = []
    latest: dict[Any, int] = {}
    for k, node in enumerate(nodes):
        if not rounds or node.at <= latest.get(node.code, -1):
            rounds.append([])
            latest.clear()
        rounds[-1].append(k)
        latest[node.code] = node.at
    return rounds


def _stretch(units: list[V | Call], inside: list[V]) -> Call:
    first, last = inside[0].node, inside[-1].node
    lines = tuple(line_of(node.code, node.at) for node in (first, last))
    modules = [unit for unit in units if isinstance(unit, Call)]
    if len(modules) == len(units):
        kinds = dict.fromkeys(call.kind for call in modules)
        name, where = ", ".join(kinds), f"{modules[0].path} … {modules[-1].path}"
        return Call(where, name, first.order, last.order, lines=lines)
    known = [v.node for v in inside if v.node.code is not None]
    numbers = [line_number(node.code, node.at) for node in known] or [0]
    low, high = min(numbers), max(numbers)
    where = ", ".join(dict.fromkeys(node.code.co_name for node in known))
    name = f"line {low}" if low == high else f"lines {low}–{high}"
    return Call(where, name, first.order, last.order, lines=lines)


# ---- the graph of the groups -------------------------------------------------------------------


def _merged(vertices: list[V], group: Groups[V], make: Callable[[Folded[V]], V]) -> list[V]:
    boxes: dict[Call, V] = {}
    stands: dict[Call, Folded[V]] = {}
    into: dict[V, V] = {}
    for v in vertices:
        call = group[v]
        if not isinstance(call, Call):
            into[v] = v
            continue
        if call not in boxes:
            stands[call] = Folded(call)
            boxes[call] = make(stands[call])
        (stands[call].leaves if v.is_leaf else stands[call].operations).append(v)
        into[v] = boxes[call]
        into[v].is_result |= v.is_result
    edges: dict[V, dict[V, None]] = {into[v]: {} for v in vertices}
    for v in vertices:
        for source in v.inputs:
            if into[source] is not into[v]:
                edges[into[v]][into[source]] = None
    for v, inputs in edges.items():
        v.inputs = list(inputs)
    return list(edges)
