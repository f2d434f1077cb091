"""Who is told, while a sweep goes on, that all that a leaf gets has arrived.

Leaves take their gradients at the end of a sweep. Gradients that travel to other processes are to
leave earlier: so a sweep that is watched looks through its graph beforehand, for the oldest node
that each watched leaf is an input of. Nodes run latest first: when that one has, nothing is left
that could add to the leaf's gradient, however often and by whatever ways the leaf was used.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from wengert.history.node import AccumulateGrad, Node, Output


class Watcher:
    """Has the leaves that it watches, and is told of each when it is complete.

    Leaves that have hooks are not told of, nor are sweeps that are recorded, restricted to some
    inputs, or in a trace.
    """

    leaves: Mapping[AccumulateGrad, Any]

    def complete(self, leaf: AccumulateGrad, g: Any) -> bool:
        """All that a leaf gets is `g`, which is not to be changed: others may have it too.

        Whether it is taken: then the sweep adds nothing to the leaf's gradient, and calls no hooks
        that wait for it.
        """
        raise NotImplementedError

    def swept(self) -> None:
        """A sweep in which leaves were complete has come to its end."""

    def watch(self) -> None:
        """Be told from now on."""
        key = id(self)
        WATCHERS[key] = weakref.ref(self, lambda _: WATCHERS.pop(key, None))

    def look_away(self) -> None:
        WATCHERS.pop(id(self), None)


WATCHERS: dict[int, weakref.ref[Watcher]] = {}
Told = tuple[AccumulateGrad, Watcher]


def due(roots: Iterable[tuple[Any, Any]]) -> dict[Node, list[Told]] | None:
    """After which nodes of a graph which leaves are complete, and who is told; None if none is."""
    watched: dict[AccumulateGrad, Told] = {}
    for reference in list(WATCHERS.values()):
        watcher = reference()
        if watcher is not None:
            watched.update({x: (x, watcher) for x in watcher.leaves if x.extras is None})
    last: dict[AccumulateGrad, Node] = {}
    waiting = [_node(edge) for edge, _ in roots]
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        for edge in node.edges or ():
            if edge is None:
                continue
            before = _node(edge)
            if type(before) is AccumulateGrad:
                if before in watched and (before not in last or node.order < last[before].order):
                    last[before] = node
            elif before not in seen:
                seen.add(before)
                waiting.append(before)
    complete: dict[Node, list[Told]] = {}
    for leaf, node in last.items():
        complete.setdefault(node, []).append(watched[leaf])
    return complete or None


def _node(edge: Any) -> Node:
    return edge.node if isinstance(edge, Output) else edge


def tell(those: list[Told], arrived: dict[Any, Any]) -> None:
    """Tell of leaves what arrived at them."""
    for leaf, watcher in those:
        g = arrived.get(leaf)
        if g is not None and watcher.complete(leaf, g):
            arrived[leaf] = None


def over(due: dict[Node, list[Told]]) -> None:
    """Tell that the sweep has come to its end."""
    for watcher in {id(w): w for those in due.values() for _, w in those}.values():
        watcher.swept()
