"""`wg.visual.draw`: a picture of what autograd recorded. Needs matplotlib, and nothing else.

A `Graph` (`visual/graph.py`) becomes boxes and curves on matplotlib's axes, which writes them as
SVG, PNG or PDF. In the SVG every box gets a title, which browsers show when the pointer is on it.
"""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from wengert.explain.layers import Point
from wengert.functions.creation import tensor
from wengert.history import modes
from wengert.history.files import ending, whole
from wengert.history.pictures import Picture
from wengert.nn.module import Module
from wengert.symbolic.expressions import Expression
from wengert.tensor import Tensor
from wengert.tree import leaves as leaves_of
from wengert.tree import map as tree_map
from wengert.visual.folding import Calls
from wengert.visual.graph import Graph, Names, Vertex, graph, tensors


def draw(what: Any, *inputs: Any, names: Names = (), boxes: int = 40, **named: Any) -> Drawing:
    """A drawing of recorded history, to look at in a notebook or to `save`.

    `what` is a result (a tensor, or a list, tuple or dict of them), or a module, a function or a
    formula as text, which is called once with the inputs, by position or by name. Those that are
    floating-point tensors, arrays or numbers are made to require grad, so that they are in the
    drawing too.

    Parameters and inputs are blue and called by name: those of modules, of the function's own
    parameters, of tensors and modules that the function finds outside, and those in `names`, a dict
    or pairs such as `net.named_parameters()`; one that more than four boxes read is drawn beside
    each of them, with a dashed border. Operations are grey, results orange. Data flows downwards.

    Where there are more than `boxes` of them, what each module did becomes one green box, from the
    innermost modules out. Where that does not help, because a loop made a thousand operations
    without a module, a green box is a stretch of the program: a few rounds of the loop.

    A title on each box says the shape, the dtype, what is saved for the backward pass, in how many
    bytes, and the line of yours that ran the operation; of a module, also how long it took. Shapes
    are learnt by a backward pass, which adds to no `.grad` but runs hooks on tensors; where that
    pass fails, the drawing says why.

    Errors: ValueError if there is no history to draw.

    >>> import wengert as wg
    >>> picture = draw(lambda x, w: (w * x).tanh(), 0.5, wg.ones(3))
    >>> picture
    <Drawing of 4 boxes: Tanh, Mul, w, x>
    >>> picture.save("product.svg")  # doctest: +SKIP
    """
    if isinstance(what, (Tensor, list, tuple, dict)):
        if inputs or named:
            raise TypeError(
                f"draw: a result was given, of type {type(what).__name__}, and inputs: give a "
                "module or a function with inputs, as in draw(net, x), or a result alone"
            )
        return Drawing(graph(what, names, boxes=boxes))
    if isinstance(what, str):
        what = Expression(what)
    if not callable(what):
        raise TypeError(
            "draw takes a result of recorded operations, a module, a function or a formula, "
            f"but {type(what).__name__} was given"
        )
    trouble = _outside(what)
    calls = Calls({name: item for name, item in trouble.items() if isinstance(item, Module)})
    args = tuple(map(_tracked, inputs))
    keywords = {name: _tracked(item) for name, item in named.items()}
    with modes.inference_mode(False), modes.enable_grad(), calls.noted():
        result = what(*args, **keywords)
    if not any(y.grad_fn is not None for y in tensors(result)):
        raise ValueError(
            "draw: the result has no history. A function is recorded where it computes with "
            "floating-point tensors: give it floating-point inputs (2.0 rather than 2), and let it "
            "return tensors that it computed from them, not detached ones or Python's numbers."
        )
    known = {
        **{name: item for name, item in trouble.items() if isinstance(item, Tensor)},
        **calls.names,
        **_named_arguments(what, args, keywords),
        **dict(names),
    }
    return Drawing(graph(result, known, calls, boxes))


def _outside(what: Callable[..., Any]) -> dict[str, Any]:
    """The tensors and modules that a function reads from outside, by name; a module is ""."""
    if isinstance(what, Module):
        return {"": what}
    try:
        seen = inspect.getclosurevars(what)
    except TypeError:  # not written in Python, or an object with __call__
        return {}
    return {
        name: item
        for name, item in {**seen.globals, **seen.nonlocals}.items()
        if isinstance(item, (Tensor, Module))
    }


def _tracked(argument: Any) -> Any:
    """The argument with what can be differentiated by as tensors that require grad."""
    return tree_map(_leaf, argument)


def _leaf(item: Any) -> Any:
    if isinstance(item, np.ndarray) or type(item) is float:
        item = tensor(item)
    if not isinstance(item, Tensor) or item.requires_grad or item._array.dtype.kind not in "fc":
        return item
    return item.detach().requires_grad_()


def _named_arguments(
    what: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
) -> dict[str, Any]:
    if isinstance(what, Expression):
        return dict(zip(what.variables, args, strict=False))
    function = what.forward if isinstance(what, Module) else what
    try:
        bound = inspect.signature(function).bind(*args, **keywords)
    except (TypeError, ValueError):  # no signature is known
        return {name: x for k, a in enumerate(args) for name, x in _leaves(f"input {k}", a)}
    return {name: x for given, a in bound.arguments.items() for name, x in _leaves(given, a)}


def _leaves(name: str, argument: Any) -> list[tuple[str, Any]]:
    leaves = leaves_of(argument)
    if len(leaves) == 1:
        return [(name, leaves[0])]
    return [(f"{name}[{k}]", leaf) for k, leaf in enumerate(leaves)]


# ---- the picture -------------------------------------------------------------------------------

COLUMN, ROW = 1.5, 0.9
"""Inches from one box to the next; columns are wider where names are long."""
WIDTH, HEIGHT = 0.86, 0.56
"""Of a box, in columns and rows."""
LEAF = {"facecolor": "#dbe9f6", "edgecolor": "#3572a5"}
OPERATION = {"facecolor": "#f4f4f2", "edgecolor": "#777777"}
MODULE = {"facecolor": "#dff0e0", "edgecolor": "#3f8a4b"}
RESULT = {"facecolor": "#fbe3d2", "edgecolor": "#c8622b"}
NOTE = 0.047
"""Inches of a letter of the note."""
LONGEST = 30
"""Characters in one line of a box; longer names lose their beginning, which the title keeps."""
_FORMATS = {".svg": "svg", ".png": "png", ".pdf": "pdf", ".html": "html", ".htm": "html"}


class Drawing(Picture):
    """A drawn graph. Notebooks show it; `save` writes it; `paint` puts it on given axes."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __repr__(self) -> str:
        names = [vertex.name for vertex in self.graph.vertices]
        shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        return f"<Drawing of {len(names)} box{'es' if len(names) != 1 else ''}: {shown}>"

    def save(self, path: str | Path, dpi: int = 150) -> Path:
        """Write the drawing: .svg, .png, .pdf, or .html, a page that needs nothing but itself.

        The file is written whole or not at all. `dpi` is the resolution of PNG files.
        """
        path = Path(path)
        kind = _FORMATS[ending(path, "a drawing", _FORMATS)]
        with whole(path) as part:
            if kind == "html":
                part.write_text(self.html(), encoding="utf-8")
            elif kind == "svg":
                part.write_text(self.svg(), encoding="utf-8")
            else:
                self.figure().savefig(part, format=kind, dpi=dpi)
        return path

    def figure(self) -> Any:
        """The drawing as a figure of matplotlib, of the size that it needs."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        left, right, rows = self._extent()
        figure = Figure(figsize=(self._column() * (right - left), ROW * (rows + 0.2)))
        FigureCanvasAgg(figure)
        self.paint(figure.add_axes((0, 0, 1, 1)))
        return figure

    def paint(self, ax: Any) -> Any:
        """Draw on axes of matplotlib, and return them."""
        left, right, rows = self._extent()
        ax.set_xlim(left, right)
        ax.set_ylim(-0.6, rows - 0.4)
        ax.set_aspect(ROW / self._column())
        ax.set_axis_off()
        for source, vertex, bends in self.graph.ways:
            _curve(ax, source, vertex, bends)
        for k, vertex in enumerate(self.graph.vertices):
            _box(ax, vertex, f"vertex-{k}")
        if self.graph.note:
            letters = int(self._column() * (right - left) / NOTE)
            lines = [part for line in self.graph.note.splitlines() for part in wrap(line, letters)]
            ax.text(
                left + 0.05, rows - 0.42, "\n".join(lines), fontsize=6, va="top", color="#aa3333"
            )  # fmt: skip
        return ax

    def svg(self) -> str:
        """The drawing as the text of an SVG file, with a title on each box."""
        titles = [html.escape(vertex.describe()) for vertex in self.graph.vertices]
        return re.sub(
            r'<g id="vertex-(\d+)">',
            lambda vertex: f"{vertex[0]}<title>{titles[int(vertex[1])]}</title>",
            self.drawn("svg", transparent=True).decode(),
        ).replace("</svg>", "<style>text {pointer-events: none}</style>\n</svg>")

    def html(self) -> str:
        """The drawing as a web page, complete in itself."""
        text = self.svg()
        return _PAGE.format(svg=text[text.index("<svg") :])

    def _extent(self) -> tuple[float, float, int]:
        columns = [vertex.column for vertex in self.graph.vertices]
        bends = [x for _, _, way in self.graph.ways for x, _ in way]
        left = min(min(columns) - 0.6, min(bends, default=0.0) - 0.15)
        right = max(max(columns) + 0.6, max(bends, default=0.0) + 0.15)
        return left, right, max(vertex.row for vertex in self.graph.vertices) + 1

    def _column(self) -> float:
        longest = max(len(_cut(line)) for v in self.graph.vertices for line in v.texts)
        return max(COLUMN, (0.078 * longest + 0.12) / WIDTH)


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Recorded graph</title>
<style>
body {{ margin: 1rem; font: 14px sans-serif; }}
svg {{ max-width: 100%; height: auto; }}
g[id^="vertex-"]:hover path {{ stroke-width: 3 !important; }}
</style>
</head>
<body>
<p>Data flows downwards. Point at a box to see its shape, what it saves, and its line.</p>
{svg}
</body>
</html>
"""


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else "…" + text[1 - LONGEST :]


def _box(ax: Any, vertex: Vertex, gid: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    style: Any = LEAF if vertex.is_leaf else RESULT if vertex.is_result else OPERATION
    if vertex.folded is not None and not vertex.is_result:
        style = MODULE
    corner = (vertex.column - WIDTH / 2, vertex.row - HEIGHT / 2)
    shape = "square,pad=0" if vertex.is_leaf else "round,pad=0,rounding_size=0.12"
    box = FancyBboxPatch(
        corner, WIDTH, HEIGHT, boxstyle=shape, mutation_aspect=0.7, linewidth=1, zorder=2,
        linestyle="--" if vertex.is_repeated else "-", gid=gid, **style,
    )  # fmt: skip
    ax.add_patch(box)
    lines = [_cut(text) for text in vertex.texts]
    step = {1: 0.2, 2: 0.2, 3: 0.165}.get(len(lines), 0.125)
    for k, line in enumerate(lines):
        first = k == 0
        ax.text(
            vertex.column, vertex.row + step * ((len(lines) - 1) / 2 - k), line,
            ha="center", va="center_baseline", zorder=3, color="black" if first else "#555555",
            fontsize=8 if first and len(line) < 16 else 6.5,
            fontweight="bold" if first and (vertex.is_leaf or vertex.folded) else "normal",
        )  # fmt: skip


def _curve(ax: Any, source: Vertex, vertex: Vertex, bends: list[Point]) -> None:
    """An arrow that leaves downwards and arrives from above, through the bends between boxes."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Way

    half = HEIGHT / 2
    stops = [(source.column, source.row - half)]
    for column, row in bends:  # straight past the boxes of the row
        stops += [(column, row + half), (column, row - half)]
    stops.append((vertex.column, vertex.row + half))
    points, codes = [stops[0]], [Way.MOVETO]
    for k, ((x0, y0), (x1, y1)) in enumerate(pairwise(stops)):
        if k % 2:
            points.append((x1, y1))
            codes.append(Way.LINETO)
        else:
            pull = (y0 - y1) / 2
            points += [(x0, y0 - pull), (x1, y1 + pull), (x1, y1)]
            codes += [Way.CURVE4] * 3
    arrow = FancyArrowPatch(
        path=Way(points, codes), arrowstyle="-|>", mutation_scale=9, shrinkA=0, shrinkB=0,
        linewidth=0.9, color="#777777", zorder=1,
    )  # fmt: skip
    ax.add_patch(arrow)
