"""The graph of a computation as SVG: a box for each value, and what is known of it at each step.

`page.py` puts the boxes on a page with buttons. `animation` fills them by itself: values from the
arguments on, then adjoints from the result back.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wengert.explain.layers import Point, place
from wengert.explain.notation import BAR, marked, typeset

if TYPE_CHECKING:
    from wengert.explain.explanation import Explanation, Row

WIDTH, WIDEST, LETTER = 116, 300, 7.6
"""Of a box in the drawing, and of a letter in it, about."""
ACROSS, DOWN = 56, 20
"""Between boxes."""


def steps(e: Explanation) -> dict[str, Any]:
    """What the script needs: to which boxes each line belongs, and where its numbers come from."""
    known = {marked(row.name, BAR): k for k, row in enumerate(e.primal)}
    boxes = lambda row: [known[name] for name in (row.name, row.formula) if name in known]
    return {
        "links": [list(link) for link in e.links],
        "values": [_cut(e.shown(row.value)) for row in e.primal],
        "tangents": [_cut(e.shown(row.value)) for row in e.tangent],
        "adjoints": [[boxes(row), _cut(e.shown(row.value))] for row in e.adjoint],
        "says": {
            "p": [_sentence(e, row) for row in e.primal],
            "t": [_sentence(e, row) for row in e.tangent],
            "a": [_sentence(e, row) for row in e.adjoint],
        },
    }


def _sentence(e: Explanation, row: Row) -> str:
    parts = [row.name, row.chain, row.formula, row.numbers, e.shown(row.value)]
    return typeset(" = ".join(part for part in parts if part))


def escaped(text: str) -> str:
    return html.escape(typeset(text))


@dataclass(eq=False)
class _Box:
    """One value of the computation. `row` counts from the results back; `column` is its height."""

    inputs: list[_Box]
    row: int = 0
    column: float = 0.0


class Drawing:
    """The graph, from the arguments on the left to the results on the right."""

    def __init__(self, e: Explanation) -> None:
        self.e = e
        self.boxes: list[_Box] = []
        for link in e.links:
            self.boxes.append(_Box([self.boxes[k] for k in dict.fromkeys(link)]))
        self.ways = place(self.boxes)
        values, tangents, adjoints = (
            [len(_cut(e.shown(row.value))) for row in rows]
            for rows in (e.primal, e.tangent, e.adjoint)
        )
        below = max(tangents) + max(adjoints) + 2
        self.stacked = below * LETTER > WIDEST / 2  # tangent and adjoint on a line of their own
        longest = max(*values, *tangents, *adjoints) if self.stacked else max(*values, below)
        self.width = max(WIDTH, longest * LETTER + 16)
        self.height = 84 if self.stacked else 64
        used = {id(source) for box in self.boxes for source in box.inputs}
        deepest = max((box.row for box in self.boxes), default=0)
        for box in self.boxes[: len(e.gradient)]:
            if id(box) not in used:  # an argument that nothing depends on: to the others, below
                box.row = deepest
                box.column = 1 + max(b.column for b in self.boxes if b.row == deepest)
        self.deepest = deepest
        columns = [box.column for box in self.boxes]
        bends = [y for _, _, way in self.ways for y, _ in way]
        self.top = min(min(columns) - 0.5, min(bends, default=0.0) - 0.2)
        self.bottom = max(max(columns) + 0.5, max(bends, default=0.0) + 0.2)

    def x(self, row: float) -> float:
        """The left side of the boxes of a row."""
        return (self.deepest - row) * (self.width + ACROSS)

    def y(self, column: float) -> float:
        """The middle of a box."""
        return (column - self.top) * (self.height + DOWN)

    def svg(self) -> str:
        width = self.x(0) + self.width + 16
        height = self.y(self.bottom) + 16
        box = f'viewBox="-8 -8 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
        parts = [f'<svg {box} role="img" aria-label="The computation as a graph">', _TIP]
        numbers = {id(box): k for k, box in enumerate(self.boxes)}
        parts += [
            f'<path class="edge" id="e{numbers[id(source)]}-{numbers[id(target)]}" '
            f'marker-end="url(#tip)" d="{self._way(source, target, bends)}"/>'
            for source, target, bends in self.ways
        ]
        parts += map(self._box, range(len(self.boxes)), self.boxes, self.e.primal)
        return "\n".join([*parts, "</svg>"])

    def _way(self, source: _Box, target: _Box, bends: list[Point]) -> str:
        """A curve to the right, straight past the boxes of the rows between."""
        x, y = self.x(source.row) + self.width, self.y(source.column)
        text = f"M{x:g} {y:g}"
        for column, row in [*bends, (target.column, target.row)]:
            u, v = self.x(row), self.y(column)
            text += f"C{(x + u) / 2:g} {y:g} {(x + u) / 2:g} {v:g} {u:g} {v:g}"
            x, y = u, v
            if row != target.row:
                x += self.width
                text += f"H{x:g}"
        return text

    def _box(self, k: int, box: _Box, row: Row) -> str:
        x, y = self.x(box.row), self.y(box.column) - self.height / 2
        left, middle, right = x + 8, x + self.width / 2, x + self.width - 8
        d, b = (54, 73) if self.stacked else (53, 53)
        whole, name = escaped(f"{row.name} = {row.formula}"), escaped(self._name(row))
        return (
            f'<g class="box" id="b{k}"><title>{whole}</title>'
            f'<rect x="{x:g}" y="{y:g}" width="{self.width:g}" height="{self.height}" rx="8"/>'
            f'<text class="name" x="{middle:g}" y="{y + 17:g}">{name}</text>'
            f'<text class="v" x="{middle:g}" y="{y + 33:g}"></text>'
            f'<text class="d" x="{left:g}" y="{y + d:g}"></text>'
            f'<text class="b" x="{right:g}" y="{y + b:g}"></text></g>'
        )

    def _name(self, row: Row) -> str:
        text = f"{row.name} = {row.formula}"
        most = int(self.width / LETTER) + 1
        return text if len(text) <= most else text[: most - 1] + "…"


def _cut(text: str) -> str:
    """A value as a box has room for it; the tables have it whole."""
    most = int((WIDEST - 16) / LETTER)
    return text if len(text) <= most else text[: most - 1] + "…"


_TIP = """<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7"
 markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>"""
