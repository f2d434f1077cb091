"""What can be told about a NaN: which entries, from which values, and what had hidden it.

Most NaNs in a backward pass are 0 · inf. A `where` passes a zero cotangent to the branch it does
not use; that branch was evaluated all the same, at a point where its derivative is infinite. So
beside the function that made the NaN, the one that made the zero is looked for. `anomaly.py` asks.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.errors import WengertError
from wengert.history.location import line_of
from wengert.history.node import Node
from wengert.tensor import Tensor

Index = tuple[int, ...]
_FOLLOWED = 10_000
"""So many functions are looked at, at most, for the one that made a zero."""


@dataclass(frozen=True)
class Found:
    """The NaNs of an array, or its infinities if it has no NaN."""

    kind: str
    count: int
    size: int
    index: Index
    value: Any

    def __str__(self) -> str:
        are = "entries is" if self.count == 1 else "entries are"
        return f"{self.count} of {self.size} {are} {self.kind}, the first at index {self.index}"


def find(item: Any, infinite: bool = True) -> Found | None:
    """What is not finite in a tensor or an array that has numbers; None if all is."""
    array = getattr(item, "_array", item)
    if type(array) is not np.ndarray or array.dtype.kind not in "fc" or np.isfinite(array).all():
        return None
    for kind, bad in (("NaN", np.isnan(array)), ("inf", np.isinf(array))):
        if bad.any() and (kind == "NaN" or infinite):
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            return Found(kind, int(bad.sum()), array.size, index, array[index])
    return None


def at(item: Any, index: Index, shape: tuple[int, ...]) -> Any:
    """A value beside entry `index` of an array of `shape`; None if none is there."""
    array = getattr(item, "_array", item)
    if isinstance(array, np.ndarray) and array.dtype.kind in "biufc":
        if array.shape == shape:
            return array[index]
        return array.reshape(()) if array.size == 1 else None
    return array if isinstance(array, (int, float, complex)) else None


def values(node: Node, index: Index, shape: tuple[int, ...]) -> str:
    """What a node saved, at one entry: "x = 0.0, y = 0.0"."""
    if not isinstance(node.saved, tuple):
        return ""
    pairs = zip(node.fields, node.saved, strict=False)
    numbers = {n: at(v, index, shape) for n, v in pairs if isinstance(v, (Tensor, np.ndarray))}
    return ", ".join(f"{n} = {v}" for n, v in numbers.items() if v is not None)


# ---- forward -------------------------------------------------------------------------------


def note(node: Node, output: Any, refuse: bool) -> None:
    """Remember that a recorded function returned something that is not finite, or refuse it."""
    for item in output if isinstance(output, (tuple, list)) else (output,):
        place = find(item)
        if place is None:
            continue
        given = values(node, place.index, np.shape(item))
        where = f"{place}" + (f", where {given}" if given else "")
        if refuse:
            raise WengertError(
                f"Function '{node.name()}' returned {place.kind.lower()} values in the forward: "
                f"{where}. It was run at\n  {line_of(node.code, node.at)}"
            )
        node.metadata["not_finite_"] = where
        return


def first_noted(nodes: Iterable[Node]) -> Node | None:
    """The earliest function in the history of these that returned NaN or infinity."""
    seen: set[Node] = set()
    waiting, first = list(nodes), None
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.extras is not None and "not_finite_" in node.extras.metadata:
            first = node if first is None or node.order < first.order else first
        waiting += [getattr(edge, "node", edge) for edge in node.edges if edge is not None]
    return first


# ---- backward ------------------------------------------------------------------------------


class Trail:
    """What one sweep has done so far: who passed cotangents to whom, who made zeros of them, and
    where the first infinity came from."""

    def __init__(self) -> None:
        self.consumers: dict[Node, list[Node]] = {}
        self.hidings: dict[Node, list[tuple[Node, Any]]] = {}
        self.infinite: tuple[Node, int, Found] | None = None

    def add(self, node: Node, g: Any, pulled: Any) -> None:
        """A step of the sweep: what a node was given and what it returned."""
        given = getattr(g, "_array", g)
        for position, (edge, item) in enumerate(zip(node.edges, pulled, strict=False)):
            if edge is None or item is None:
                continue
            child = getattr(edge, "node", edge)
            self.consumers.setdefault(child, []).append(node)
            array = getattr(item, "_array", item)
            if type(array) is not np.ndarray:
                continue
            hidden = array == 0
            if type(given) is np.ndarray and given.shape == array.shape:
                hidden &= given != 0
            if hidden.any():
                self.hidings.setdefault(child, []).append((node, hidden))
            if self.infinite is None and (place := find(array)) is not None:
                self.infinite = node, position, place

    def hid(self, node: Node, index: Index, shape: tuple[int, ...]) -> Node | None:
        """The function that turned the cotangent of an entry into the zero that came to `node`."""
        waiting = deque([node])
        seen: set[Node] = set()
        while waiting and len(seen) < _FOLLOWED:
            child = waiting.popleft()
            if child in seen:
                continue
            seen.add(child)
            for maker, hidden in self.hidings.get(child, ()):
                if hidden.shape == shape and hidden[index]:
                    return maker
            waiting.extend(self.consumers.get(child, ()))
        return None


def explain(trail: Trail, node: Node, g: Any, nans: Found, shape: tuple[int, ...]) -> str:
    """The story of a NaN that `node` returned for a cotangent `g`, sentence by sentence."""
    told = []
    incoming = at(g, nans.index, shape)
    given = values(node, nans.index, shape)
    there = [f"the incoming gradient is {incoming}"] * (incoming is not None) + [given] * bool(
        given
    )
    if there:
        told.append(f"There {' and '.join(there)}.")
    if incoming is not None and incoming == 0:
        told.append(_zero_times_infinity(trail, node, nans.index, shape))
    first = first_noted({node, *itertools.chain.from_iterable(trail.consumers.values())})
    if first is not None:
        told.append(
            f"In the forward the first NaN or inf was returned by '{first.name()}' "
            f"({first.metadata['not_finite_']}), at\n  {line_of(first.code, first.at)}"
        )
    if trail.infinite is not None and trail.infinite[0] is not node:
        source, position, infinity = trail.infinite
        told.append(
            f"The first infinity of this pass was returned by '{source.name()}' in its "
            f"{position}th output ({infinity}), recorded at\n  {line_of(source.code, source.at)}"
        )
    return "\n".join(told)


def _zero_times_infinity(trail: Trail, node: Node, index: Index, shape: tuple[int, ...]) -> str:
    told = "Zero times an infinite derivative is NaN."
    maker = trail.hid(node, index, shape)
    if maker is None:
        return told
    return (
        f"{told} The zero comes from '{maker.name()}', which does not use this entry, at\n"
        f"  {line_of(maker.code, maker.at)}\n"
        f"'{node.name()}' was evaluated there all the same. Evaluate it only where it is used, "
        "with wengert.where(mask, f, g, x), which takes functions; or give it a harmless argument "
        "there, f(wengert.where(mask, x, 1)); or let zeros stay zero, with "
        "wengert.autograd.zeros_stay_zero()."
    )
