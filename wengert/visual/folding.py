"""Which module did what, and histories in which each module is one vertex.

Every node of history has the time of its creation. While a function runs, hooks note when each
module is entered and left; a node belongs to the innermost call during which it was made. The
calls of one depth are disjoint stretches of time and an edge leads from an earlier node to a later
one, so that a graph whose calls are drawn as one vertex each has no cycles either.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from wengert.history.node import tick
from wengert.nn.module import (
    Module,
    register_module_forward_hook,
    register_module_forward_pre_hook,
)


@dataclass(eq=False)
class Call:
    """One call of a module: where the module is found, its class, and when the call ran."""

    path: str
    kind: str
    start: int
    end: int = 0
    depth: int = 0


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
            open_calls.append(call)
            self.made.append(call)

        def leave(module: Module, args: Any, result: Any) -> None:
            if threading.get_ident() == thread and self._paths.get(module) != "":
                open_calls.pop().end = tick()

        with register_module_forward_pre_hook(enter), register_module_forward_hook(leave):
            yield

    def around(self, order: int) -> list[Call]:
        """The calls during which a node of this order was made, the outermost first."""
        return [call for call in self.made if call.start < order < call.end]


class Foldable(Protocol):
    """What is needed of a vertex to fold it."""

    node: Any
    leaf: Any
    is_leaf: bool
    is_result: bool
    inputs: list[Any]


V = TypeVar("V", bound=Foldable)


@dataclass(eq=False)
class Folded(Generic[V]):
    """What a vertex stands for: a call, its operations, and the parameters that only it reads."""

    call: Call
    operations: list[V] = field(default_factory=list)
    leaves: list[V] = field(default_factory=list)


def fold(vertices: list[V], calls: Calls, boxes: int, make: Callable[[Folded[V]], V]) -> list[V]:
    """The same graph with calls of modules as single vertices, as few of them as `boxes` asks.

    Calls are folded from the innermost out until at most `boxes` vertices are left, or only
    the outermost calls remain. `make` gives the vertex that stands for a call.
    """
    chains = {v: [] if v.is_leaf else calls.around(v.node.order) for v in vertices}
    owned = {id(p) for p in calls.names.values()}
    deepest = max(map(len, chains.values()), default=0)
    shown = vertices
    for depth in range(deepest, -1, -1):
        group = _groups(vertices, chains, depth, owned)
        if len(set(group.values())) <= boxes or depth == 0:
            shown = _merged(vertices, group, make)
            break
    return shown


def _groups(
    vertices: list[V], chains: dict[V, list[Call]], depth: int, owned: set[int]
) -> dict[V, V | Call]:
    """For each vertex the call it disappears in, or itself."""
    group: dict[V, V | Call] = {
        v: chains[v][depth] if len(chains[v]) > depth else v for v in vertices
    }
    members: dict[Any, int] = {}
    for call in group.values():
        members[call] = members.get(call, 0) + 1
    readers: dict[V, set[V | Call]] = {}
    for v in vertices:
        for source in v.inputs:
            readers.setdefault(source, set()).add(group[v])
    reads_own = {group[v] for v in vertices for source in v.inputs if id(source.leaf) in owned}
    for v in vertices:  # a module of one operation says no more than the operation
        call = group[v]
        if isinstance(call, Call) and members[call] == 1 and call not in reads_own:
            group[v] = v
    for v in vertices:
        if v.is_leaf and id(v.leaf) in owned and len(readers.get(v, ())) == 1:
            (reader,) = readers[v]
            if isinstance(reader, Call):
                group[v] = reader
    return group


def _merged(vertices: list[V], group: dict[V, V | Call], make: Callable[[Folded[V]], V]) -> list[V]:
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
