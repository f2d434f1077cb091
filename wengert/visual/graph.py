"""A drawing of recorded history: which operations led from the parameters to a result.

`graph(y)` walks `grad_fn` and `next_functions` from a result back to its leaves and says where each
node goes; `draw(y)` draws that with matplotlib, which is imported only then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_NODES = 400


@dataclass(eq=False)
class Vertex:
    """One operation or leaf in a drawing; the result's is in row 0. Columns may be fractional."""

    node: Any
    name: str
    is_leaf: bool
    shape: tuple[int, ...] | None = None
    inputs: list[Vertex] = field(default_factory=list)
    row: int = 0
    column: float = 0.0

    @property
    def label(self) -> str:
        """The name, and under it the shape: 3 × 4, or nothing for a single number."""
        size = " × ".join(map(str, self.shape or ()))
        return f"{self.name}\n{size}" if size else self.name


@dataclass(frozen=True)
class Graph:
    """The vertices of a drawing, the result's first."""

    vertices: list[Vertex]

    @property
    def edges(self) -> list[tuple[Vertex, Vertex]]:
        """Pairs (from, to), as the data flows."""
        return [(source, vertex) for vertex in self.vertices for source in vertex.inputs]


def graph(output: Any, names: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> Graph:
    """The history of one number, `output`, with the place of each node in a drawing.

    `names` gives the leaves' names, as `module.named_parameters()` does; others are called "leaf".
    The shapes of intermediate results are not kept in history: a backward pass, which adds to no
    `.grad`, meets them as the shapes of cotangents.

    >>> import wengert as wg
    >>> w = wg.tensor([1.0, 2.0], requires_grad=True)
    >>> [vertex.label for vertex in graph((w * w).sum(), {"w": w}).vertices]
    ['Sum', 'Mul\\n2', 'w\\n2']
    """
    if output.grad_fn is None:
        raise ValueError(
            "the tensor has no history to draw: it is a leaf, or was computed under no_grad(). "
            "Draw a result of operations on tensors with requires_grad=True."
        )
    pairs = names.items() if isinstance(names, Mapping) else names
    vertices = _vertices(output.grad_fn, {id(tensor): name for name, tensor in pairs})
    _find_shapes(output, vertices)
    _place(vertices)
    return Graph(vertices)


def _vertices(root: Any, names: dict[int, str]) -> list[Vertex]:
    found = {root: _vertex(root, names)}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for source, _ in node.next_functions:
            if source is None:
                continue
            if source not in found:
                if len(found) == MAX_NODES:
                    raise ValueError(
                        f"the history has more than {MAX_NODES} nodes, too many for a drawing. "
                        "Draw the result of fewer operations: one layer, or one step of a loop."
                    )
                found[source] = _vertex(source, names)
                waiting.append(source)
            if found[source] not in found[node].inputs:
                found[node].inputs.append(found[source])
    return list(found.values())


def _vertex(node: Any, names: dict[int, str]) -> Vertex:
    leaf = getattr(node, "variable", None)
    if leaf is None:
        return Vertex(node, node.name().removesuffix("0").removesuffix("Backward"), False)
    return Vertex(node, names.get(id(leaf), "leaf"), True, tuple(leaf.shape))


def _find_shapes(output: Any, vertices: list[Vertex]) -> None:
    """Note the shape of the cotangent that each operation receives: that of its result."""

    def note(vertex: Vertex) -> Any:
        def hook(cotangents: Any) -> None:
            if len(cotangents) == 1 and cotangents[0] is not None:
                vertex.shape = tuple(cotangents[0].shape)

        return hook

    from wengert.autograd.differentiate import grad

    operations = [vertex for vertex in vertices if not vertex.is_leaf]
    leaves = [vertex.node.variable for vertex in vertices if vertex.is_leaf]
    hooks = [vertex.node.register_prehook(note(vertex)) for vertex in operations]
    try:
        grad(output, leaves, retain_graph=True, allow_unused=True)
    finally:
        for hook in hooks:
            hook.remove()


# ---- places --------------------------------------------------------------------------------


def _place(vertices: list[Vertex]) -> None:
    """Rows by the longest way to the result; columns so that the longest chain runs straight."""
    order = _consumers_first(vertices)
    for vertex in order:
        for source in vertex.inputs:
            source.row = max(source.row, vertex.row + 1)
    depth: dict[Vertex, int] = {}
    for vertex in reversed(order):
        depth[vertex] = max((depth[source] + 1 for source in vertex.inputs), default=0)

    wanted = dict.fromkeys(vertices, 0.0)
    placed = set(order[:1])
    for vertex in order:
        above = [v for v in vertex.inputs if v.row == vertex.row + 1 and v not in placed]
        for source, offset in zip(above, _offsets([depth[v] for v in above]), strict=True):
            wanted[source] = wanted[vertex] + offset
            placed.add(source)
    rows: dict[int, list[Vertex]] = {}
    for vertex in order:
        rows.setdefault(vertex.row, []).append(vertex)
    for row in rows.values():
        _spread(sorted(row, key=wanted.__getitem__), wanted, depth)


def _offsets(depths: list[int]) -> list[float]:
    """Where inputs go above their operation: the longest history straight, the others around.

    >>> _offsets([5, 0, 0])
    [0.0, -1.0, 1.0]
    """
    n = len(depths)
    if not any(depths):  # leaves alone: side by side
        return [k - (n - 1) / 2 for k in range(n)]
    trunk = depths.index(max(depths))
    others = [k for k in range(n) if k != trunk]
    order = [*others[: n // 2], trunk, *others[n // 2 :]]
    return [float(order.index(k) - n // 2) for k in range(n)]


def _consumers_first(vertices: list[Vertex]) -> list[Vertex]:
    """An order in which every vertex comes after all that use it (Kahn, 1962)."""
    waiting = dict.fromkeys(vertices, 0)
    for vertex in vertices:
        for source in vertex.inputs:
            waiting[source] += 1
    ready, order = [vertices[0]], []
    while ready:
        vertex = ready.pop()
        order.append(vertex)
        for source in vertex.inputs:
            waiting[source] -= 1
            if not waiting[source]:
                ready.append(source)
    return order


def _spread(row: list[Vertex], wanted: dict[Vertex, float], depth: dict[Vertex, int]) -> None:
    """Columns at least 1 apart; the vertex with the longest history stays where it wants to be."""
    fixed = max(range(len(row)), key=lambda k: depth[row[k]])
    row[fixed].column = wanted[row[fixed]]
    for k in range(fixed + 1, len(row)):
        row[k].column = max(wanted[row[k]], row[k - 1].column + 1)
    for k in range(fixed - 1, -1, -1):
        row[k].column = min(wanted[row[k]], row[k + 1].column - 1)


# ---- drawing -------------------------------------------------------------------------------

COLUMN, ROW = 1.5, 0.9  # inches from one to the next
WIDTH, HEIGHT = 0.86, 0.56  # of a box, in columns and rows
LEAF = {"facecolor": "#dbe9f6", "edgecolor": "#3572a5"}
OPERATION = {"facecolor": "#f4f4f2", "edgecolor": "#777777"}
RESULT = {"facecolor": "#fbe3d2", "edgecolor": "#c8622b"}


def draw(
    output: Any, names: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), ax: Any = None
) -> Any:
    """Draw the history of one number: parameters in blue, operations in grey, the result in orange.

    Data flows downwards. Returns the matplotlib axes, new ones unless `ax` is given; save the
    drawing with `draw(loss, net.named_parameters()).figure.savefig("graph.png")`.
    """
    made = graph(output, names)
    columns = [vertex.column for vertex in made.vertices]
    rows = max(vertex.row for vertex in made.vertices) + 1
    margin = 1.0 if any(a.row > b.row + 1 for a, b in made.edges) else 0.6  # room for bows
    if ax is None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        size = (COLUMN * (max(columns) - min(columns) + 2 * margin), ROW * (rows + 0.2))
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()
    ax.set_xlim(min(columns) - margin, max(columns) + margin)
    ax.set_ylim(-0.6, rows - 0.4)
    ax.set_aspect(ROW / COLUMN)
    ax.set_axis_off()
    for source, vertex in made.edges:
        _arrow(ax, source, vertex)
    for vertex in made.vertices:
        _box(ax, vertex, vertex is made.vertices[0])
    return ax


def _box(ax: Any, vertex: Vertex, is_result: bool) -> None:
    from matplotlib.patches import FancyBboxPatch

    style: Any = LEAF if vertex.is_leaf else RESULT if is_result else OPERATION
    corner = (vertex.column - WIDTH / 2, vertex.row - HEIGHT / 2)
    shape = "square,pad=0" if vertex.is_leaf else "round,pad=0,rounding_size=0.16"
    box = FancyBboxPatch(
        corner, WIDTH, HEIGHT, boxstyle=shape, mutation_aspect=0.7, linewidth=1, zorder=2, **style
    )
    ax.add_patch(box)
    name, _, size = vertex.label.partition("\n")
    lift = 0.11 if size else 0.0
    long = len(name) > 11
    ax.text(
        vertex.column, vertex.row + lift, name, ha="center", va="center", zorder=3,
        fontsize=6.5 if long else 8, fontweight="bold" if vertex.is_leaf else "normal",
    )  # fmt: skip
    if size:
        ax.text(
            vertex.column, vertex.row - 0.14, size, ha="center", va="center", zorder=3,
            fontsize=6.5, color="#555555",
        )  # fmt: skip


def _arrow(ax: Any, source: Vertex, vertex: Vertex) -> None:
    from matplotlib.patches import FancyArrowPatch

    start = (source.column, source.row - HEIGHT / 2)
    end = (vertex.column, vertex.row + HEIGHT / 2)
    bend, rows = 0.0, source.row - vertex.row
    if rows > 1:  # in a bow, around the boxes between, which stand near column 0
        side = -1 if source.column + vertex.column < 0 else 1
        bend = -side * min(0.3, 1.2 / rows)
        start = (source.column + side * WIDTH / 2, source.row)
        if side * (vertex.column - source.column) < 0.5:
            end = (vertex.column + side * WIDTH / 2, vertex.row)
    arrow = FancyArrowPatch(
        start, end, arrowstyle="-|>", mutation_scale=9, shrinkA=0, shrinkB=0, linewidth=0.9,
        color="#777777", connectionstyle=f"arc3,rad={bend}", zorder=1,
    )  # fmt: skip
    ax.add_patch(arrow)
