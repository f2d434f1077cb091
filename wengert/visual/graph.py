"""What there is to draw of recorded history: operations, leaves, and what leads to what.

`graph(y)` walks `grad_fn` and `next_functions` from a result back to its leaves. A history of many
operations is folded: what a module did becomes one vertex (`folding.py`). `explain/layers.py` says
where each vertex goes, and `drawing.py` draws it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wengert.autograd.differentiate import grad
from wengert.explain.layers import Point, place
from wengert.history.location import line_of
from wengert.history.node import AccumulateGrad
from wengert.tensor import Tensor, wrap
from wengert.visual.folding import Calls, Folded, fold

Names = Mapping[str, Any] | Iterable[tuple[str, Any]]


@dataclass(frozen=True)
class Cost:
    """What a box takes: bytes of memory, and of the time a share or, where measured, seconds."""

    bytes: int = 0
    share: float | None = None
    seconds: float = 0.0
    kept: str = "in memory"
    """What the bytes are for."""
    told: str = ""
    """What else is to be said."""

    @property
    def short(self) -> str:
        """For the box, where shares of the time are known: 12% · 1.5 kB."""
        if self.share is None:
            return ""
        size = f"{scaled(self.bytes)}B" if self.bytes else ""
        return " · ".join(part for part in (f"{self.share:.0%}", size) if part)

    def describe(self) -> list[str]:
        parts = [f"{scaled(self.bytes)}B {self.kept}"] if self.bytes else []
        parts += [f"{self.share:.1%} of the time"] if self.share is not None else []
        parts += [f"took {scaled(self.seconds)}s"] if self.seconds else []
        return [", ".join(parts), self.told]


def total(costs: Iterable[Cost | None]) -> Cost | None:
    """What several boxes take together."""
    known = [cost for cost in costs if cost is not None]
    if not known:
        return None
    shares = [cost.share for cost in known if cost.share is not None]
    return Cost(
        sum(cost.bytes for cost in known), sum(shares) if shares else None, kept=known[0].kept
    )


def scaled(number: float) -> str:
    """A number in three digits, and the letter of its thousands.

    >>> scaled(1536), scaled(0.00025), scaled(0)
    ('1.54 k', '250 µ', '0 ')
    """
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0), ("m", 1e-3), ("µ", 1e-6)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number / 1e-9:.3g} n" if number else "0 "


@dataclass(eq=False)
class Vertex:
    """One operation, leaf or folded module in a drawing. Data flows from higher rows to row 0."""

    node: Any
    name: str
    is_leaf: bool
    is_result: bool = False
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    leaf: Any = None
    path: str = ""
    folded: Folded[Vertex] | None = None
    cost: Cost | None = None
    """What it takes, where that is known: of a folded box, all in it."""
    inputs: list[Vertex] = field(default_factory=list)
    is_repeated: bool = False
    row: int = 0
    column: float = 0.0

    def repeated(self) -> Vertex:
        """Another box for the same leaf."""
        return replace(self, is_repeated=True)

    @property
    def detail(self) -> str:
        """Of a folded module: its path, and how many operations it stands for."""
        if self.folded is None:
            return ""
        n = len(self.folded.operations)
        count = f"{n} op{'s' if n > 1 else ''}"
        return f"{self.path} · {count}" if self.path else count

    @property
    def size(self) -> str:
        """The shape: 3 × 4, or nothing for a single number."""
        return " × ".join(map(str, self.shape or ()))

    @property
    def label(self) -> str:
        """The name, and under it what else the box says."""
        return "\n".join(self.texts)

    @property
    def texts(self) -> list[str]:
        """The lines in the box."""
        cost = self.cost.short if self.cost else ""
        return [part for part in (self.name, self.detail, self.size, cost) if part]

    def describe(self) -> str:
        """Several lines: the shape and dtype, what it costs, what is saved, and the user's line."""
        cost = self.cost.describe() if self.cost else []
        known = self.dtype and f"{self.size or 'a number'}, {self.dtype}"
        if self.folded is not None:
            return _lines(
                f"{self.name}{f' {self.path}' if self.path else ''}", known,
                *_summary(self.folded), *cost,
            )  # fmt: skip
        if self.is_leaf:
            often = "read in several places, and drawn beside each" if self.is_repeated else ""
            return _lines(self.name, known, often)
        return _lines(
            self.node.name(),
            known and f"result: {known}",
            f"in module {self.path}" if self.path else "",
            *(f"saves {name}: {value}" for name, value in _saved(self.node)),
            *cost,
            line_of(self.node.code, self.node.at),
        )


@dataclass(frozen=True)
class Graph:
    """What a drawing shows: the vertices, the results' first, and the ways of the edges."""

    vertices: list[Vertex]
    ways: list[tuple[Vertex, Vertex, list[Point]]]
    """Each edge with the points (column, row) between its ends that it goes through."""
    note: str = ""
    """What is to be said below: why shapes are not known, or that boxes are stretches of time."""

    @property
    def edges(self) -> list[tuple[Vertex, Vertex]]:
        """Pairs (from, to), as the data flows."""
        return [(source, vertex) for vertex in self.vertices for source in vertex.inputs]


def graph(output: Any, names: Names = (), calls: Calls | None = None, boxes: int = 40) -> Graph:
    """The history of `output`, a tensor or several, with the place of each node in a drawing.

    `names` gives the leaves' names, as `module.named_parameters()` does; others are called "leaf".
    `calls` says which module did what: so a history of more than `boxes` vertices can be folded.
    The shapes of intermediate results are not kept in history: a backward pass, which adds to no
    `.grad`, meets them as the shapes of cotangents.

    >>> import wengert as wg
    >>> w = wg.tensor([1.0, 2.0], requires_grad=True)
    >>> [vertex.label for vertex in graph((w * w).sum(), {"w": w}).vertices]
    ['Sum', 'Mul\\n2', 'w\\n2']
    """
    outputs = [y for y in tensors(output) if y.grad_fn is not None]
    if not outputs:
        raise ValueError(
            "the tensor has no history to draw: it is a leaf, or was computed under no_grad(). "
            "Draw a result of operations on tensors with requires_grad=True."
        )
    pairs = names.items() if isinstance(names, Mapping) else names
    known = {id(tensor): name for name, tensor in pairs}
    vertices = _vertices([y.grad_fn for y in outputs], known)
    calls = calls or Calls({})
    around = calls.around(vertex.node for vertex in vertices if not vertex.is_leaf)
    for vertex in vertices:
        if chain := around.get(vertex.node):
            vertex.path = chain[-1].path or chain[-1].kind
    shown = fold(vertices, calls, boxes, box_of)
    note = _find_shapes(outputs, vertices)
    for vertex in shown:
        if vertex.folded is not None:
            summarize(vertex, vertex.folded)
            held = _held(v.node for v in vertex.folded.operations)
            vertex.cost = replace(vertex.cost or Cost(), bytes=held)
    if any(vertex.folded is not None and vertex.folded.call.lines for vertex in shown):
        note = _lines(f"{len(vertices):,} operations and leaves, folded in order of time", note)
    return Graph(shown, place(shown), note)


def summarize(box: Vertex, inside: Folded[Vertex]) -> None:
    """Say of a folded box what its last operation returns, and what all of them take."""
    last = max(inside.operations, key=lambda v: v.node.order)
    box.shape, box.dtype = last.shape, last.dtype
    cost = total(v.cost for v in inside.operations)
    if cost is not None or inside.call.seconds:
        box.cost = replace(cost or Cost(), seconds=inside.call.seconds)


def tensors(item: Any) -> list[Tensor]:
    """The tensors in containers."""
    if isinstance(item, Tensor):
        return [item]
    if isinstance(item, Mapping):
        return [y for part in item.values() for y in tensors(part)]
    if isinstance(item, (tuple, list)):
        return [y for part in item for y in tensors(part)]
    return []


def _vertices(roots: list[Any], names: dict[int, str]) -> list[Vertex]:
    vertices = {root: _vertex(root, names) for root in roots}
    for vertex in vertices.values():
        vertex.is_result = True
    waiting = list(vertices)
    while waiting:
        node = waiting.pop()
        for source, _ in node.next_functions:
            if source is None:
                continue
            if source not in vertices:
                vertices[source] = _vertex(source, names)
                waiting.append(source)
            if vertices[source] not in vertices[node].inputs:
                vertices[node].inputs.append(vertices[source])
    return list(vertices.values())


def _vertex(node: Any, names: dict[int, str]) -> Vertex:
    if not isinstance(node, AccumulateGrad):
        name = node.name().removesuffix("0").removesuffix("Backward")
        cost = Cost(_held([node]), kept="kept to go back")
        return Vertex(node, name.lstrip("_"), False, cost=cost)
    leaf = node.variable
    if leaf is None:  # nobody holds the leaf any more
        return Vertex(node, "leaf", True)
    shape, dtype = tuple(leaf.shape), str(leaf._array.dtype)
    return Vertex(node, names.get(id(leaf), "leaf"), True, shape=shape, dtype=dtype, leaf=leaf)


def box_of(inside: Folded[Vertex]) -> Vertex:
    return Vertex(None, inside.call.kind, False, path=inside.call.path, folded=inside)


def _find_shapes(outputs: list[Tensor], vertices: list[Vertex]) -> str:
    """Note the shape of the cotangent that each operation receives: that of its result.

    Returns why the pass failed, if it did: an erroneous history is worth a picture too.
    """

    def note(vertex: Vertex) -> Any:
        def hook(cotangents: Any) -> None:
            if len(cotangents) == 1 and cotangents[0] is not None:
                vertex.shape = tuple(cotangents[0].shape)
                vertex.dtype = str(cotangents[0]._array.dtype)

        return hook

    operations = [vertex for vertex in vertices if not vertex.is_leaf]
    leaves = [vertex.leaf for vertex in vertices if vertex.leaf is not None]
    hooks = [vertex.node.register_prehook(note(vertex)) for vertex in operations]
    ones = [wrap(np.ones_like(y._array)) for y in outputs]
    try:
        grad(outputs, leaves, ones, retain_graph=True, allow_unused=True)
    except RuntimeError as error:
        return f"shapes unknown: {str(error).splitlines()[0]}"
    finally:
        for hook in hooks:
            hook.remove()
    return ""


# ---- what is said about a vertex ---------------------------------------------------------------


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _saved(node: Any) -> list[tuple[str, str]]:
    """What `_saved_*` of a node would show: names and descriptions."""
    values = node.saved
    if not isinstance(values, tuple):
        return [("", "nothing any more: a backward pass has freed it")]
    names = type(node).fields or [f"tensor {k}" for k in range(len(values))]
    return [
        (name, _kept(value))
        for name, value in zip(names, values, strict=False)
        if value is not None and not name.endswith(_NOT_VALUES)
    ]


_NOT_VALUES = ("shapes", "_shape", "_dtype", "_cell")
"""How the names of fields end that hold what is known of an array rather than its numbers."""


def _held(nodes: Iterable[Any]) -> int:
    """The bytes of the arrays that nodes save; one that several save counts once."""
    values = [value for node in nodes if isinstance(node.saved, tuple) for value in node.saved]
    arrays = [value._array if isinstance(value, Tensor) else value for value in values]
    different = {id(array): array for array in arrays if isinstance(array, np.ndarray)}
    return sum(array.nbytes for array in different.values())


def _kept(value: Any) -> str:
    array = value._array if isinstance(value, Tensor) else value
    if isinstance(array, np.ndarray):
        return f"{' × '.join(map(str, array.shape)) or 'a number'}, {array.dtype}"
    text = repr(value)
    return text if len(text) <= 60 else f"{type(value).__name__}"


def _summary(inside: Folded[Vertex]) -> list[str]:
    counts: dict[str, int] = {}
    for vertex in inside.operations:
        counts[vertex.name] = counts.get(vertex.name, 0) + 1
    often = sorted(counts.items(), key=lambda pair: -pair[1])
    listed = ", ".join(f"{n} {name}" if n > 1 else name for name, n in often[:8])
    more = ", …" if len(often) > 8 else ""
    leaves = {id(v.leaf): v for v in inside.leaves}.values()
    parameters = [f"{v.name}: {v.size or 'a number'}" for v in leaves]
    numbers = sum(int(np.prod(v.shape or ())) for v in leaves)
    return [
        *(f"{end} {line}" for end, line in zip(("from", "to"), inside.call.lines, strict=False)),
        f"operations: {listed}{more}",
        *([f"parameters ({numbers:,} numbers):", *parameters[:12]] if parameters else []),
        *([f"and {len(parameters) - 12} more"] if len(parameters) > 12 else []),
    ]
