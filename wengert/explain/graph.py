"""The graph of a computation as SVG: a box for each value, and what is known of it at each step.

`page.py` puts the boxes on a page with buttons. `animation` fills them by itself: values from the
arguments on, then adjoints from the result back.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from wengert.explain.layers import Point, place
from wengert.explain.notation import BAR, marked, typeset

WIDTH, WIDEST, LETTER = 116, 300, 7.6
"""Of a box in the drawing, and of a letter in it, about."""
ALONG, UPRIGHT, ACROSS = 64, 40, 20
"""Between boxes: along the edges, which have a number beside them, of drawings that lie or stand;
and beside each other."""
LONGEST = 9
"""Letters that a number beside an edge has room for."""


class Row(Protocol):
    """What is drawn of a line of a trace."""

    @property
    def name(self) -> str: ...
    @property
    def formula(self) -> str: ...
    @property
    def numbers(self) -> str: ...
    @property
    def value(self) -> Any: ...
    @property
    def chain(self) -> str: ...
    @property
    def edge(self) -> tuple[int, int] | None: ...


class Traces(Protocol):
    """What is drawn of an `Explanation`."""

    links: Any
    slopes: Any
    gradient: Any

    @property
    def primal(self) -> Sequence[Row]: ...
    @property
    def tangent(self) -> Sequence[Row]: ...
    @property
    def adjoint(self) -> Sequence[Row]: ...
    def shown(self, value: Any) -> str: ...
    def summary(self) -> str: ...


def steps(e: Traces, written: Callable[[str], str] = typeset) -> dict[str, Any]:
    """What the script needs: to which boxes each line belongs, and where its numbers come from."""
    known = {marked(row.name, BAR): k for k, row in enumerate(e.primal)}
    boxes = lambda row: [known[name] for name in (row.name, row.formula) if name in known]
    edge = lambda row: None if row.edge is None else "{}-{}".format(*row.edge)
    return {
        "links": [list(link) for link in e.links],
        "values": [_cut(e.shown(row.value)) for row in e.primal],
        "tangents": [_cut(e.shown(row.value)) for row in e.tangent],
        "adjoints": [[boxes(row), _cut(e.shown(row.value)), edge(row)] for row in e.adjoint],
        "says": {
            "p": [written(_sentence(e, row)) for row in e.primal],
            "t": [written(_sentence(e, row)) for row in e.tangent],
            "a": [written(_sentence(e, row)) for row in e.adjoint],
        },
    }


def _sentence(e: Traces, row: Row) -> str:
    parts = [row.name, row.chain, row.formula, row.numbers, e.shown(row.value)]
    return " = ".join(part for part in parts if part)


def escaped(text: str) -> str:
    return html.escape(typeset(text))


@dataclass(eq=False)
class _Box:
    """One value of the computation. `row` counts from the results back; `column` is its height."""

    inputs: list[_Box]
    row: int = 0
    column: float = 0.0


class Drawing:
    """The graph, from the arguments on the left to the results on the right; or, if it stands
    upright, as a phone has room for it, from those at the top to these below.
    """

    def __init__(self, e: Traces, upright: bool = False) -> None:
        self.e = e
        self.upright = upright
        self.mark = "u" if upright else ""
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
        self.long = self.height if upright else self.width
        self.wide = self.width if upright else self.height
        self.gap = UPRIGHT if upright else ALONG
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

    def along(self, row: float) -> float:
        """Where the boxes of a row begin, in the direction of the edges."""
        return (self.deepest - row) * (self.long + self.gap)

    def across(self, column: float) -> float:
        """The middle of a box, across the edges."""
        return (column - self.top) * (self.wide + ACROSS)

    def point(self, along: float, across: float) -> Point:
        return (across, along) if self.upright else (along, across)

    def size(self) -> Point:
        """Width and height, with a margin."""
        width, height = self.point(self.along(0) + self.long, self.across(self.bottom))
        return width + 16, height + 16 + self.below

    def svg(self) -> str:
        width, height = self.size()
        box = f'viewBox="-8 -8 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
        label = 'role="img" aria-label="The computation as a graph"'
        parts = [f"<svg{self.namespace} {box} {label}>", _TIP.format(self.mark), self.style()]
        parts += [self._edge(*way) for way in self.ways]
        parts += map(self._box, range(len(self.boxes)), self.boxes, self.e.primal)
        parts += [self._slope(*way) for way in self.ways]
        return "\n".join([*parts, *self.captions(), "</svg>"])

    namespace = ""
    """A file of SVG needs one, and a drawing in a page none."""
    below = 0
    """Room for captions."""

    def style(self) -> str:
        """Of a drawing that stands alone; a page has its own."""
        return ""

    def captions(self) -> list[str]:
        return []

    def text(self, k: int, kind: str, place: str) -> str:
        """A number in a box: its value "v", tangent "d" or adjoint "b". The page puts it in."""
        return f'<text class="{kind}" {place}></text>'

    def lit(self, edge: str) -> str:
        """What shows an edge, or its number, while a value flows along it, without a script."""
        return ""

    def marks(self, k: int, place: str) -> str:
        """What shows that a box is being computed, where the page has no script for it."""
        return ""

    def _name_of(self, source: _Box, target: _Box) -> str:
        """What an edge is called: by the places of its ends."""
        numbers = {id(box): k for k, box in enumerate(self.boxes)}
        return f"{numbers[id(source)]}-{numbers[id(target)]}"

    def _edge(self, source: _Box, target: _Box, bends: list[Point]) -> str:
        name, way = self._name_of(source, target), self._way(source, target, bends)
        tip = f'marker-end="url(#tip{self.mark})" d="{way}"'
        shown = f'<path class="edge" id="{self.mark}e{name}" {tip}/>'
        if lit := self.lit(name):
            shown += f'<path class="edge now" d="{way}" visibility="hidden">{lit}</path>'
        return shown

    def _slope(self, source: _Box, target: _Box, bends: list[Point]) -> str:
        """The local derivative, beside the middle of the edge's last piece."""
        name = self._name_of(source, target)
        text = self._factor(name)
        if not text:
            return ""
        column, row = bends[-1] if bends else (source.column, source.row)
        middle = (self.along(row) + self.long + self.along(target.row)) / 2
        x, y = self.point(middle, (self.across(column) + self.across(target.column)) / 2)
        lit = self.lit(name)
        hidden = ' visibility="hidden"' if lit else ""
        place = f'x="{x:g}" y="{y + 4:g}"{hidden}'
        return f'<text class="slope" id="{self.mark}l{name}" {place}>{text}{lit}</text>'

    def _factor(self, edge: str) -> str:
        """What flows along an edge is multiplied by, if it is a number, or a sum for each use."""
        source, target = map(int, edge.split("-"))
        pairs = zip(self.e.links[target], self.e.slopes[target], strict=True)
        slopes = [slope for link, slope in pairs if link == source]
        if None in slopes:
            return ""
        texts = [self.e.shown(slope) for slope in slopes]
        text = texts[0] if len(texts) == 1 else f"({' + '.join(texts)})"
        return f"×\N{NARROW NO-BREAK SPACE}{text}" if max(map(len, texts)) <= LONGEST else ""

    def _way(self, source: _Box, target: _Box, bends: list[Point]) -> str:
        """A curve along the drawing, straight past the boxes of the rows between."""
        pair = lambda a, c: "{:g} {:g}".format(*self.point(a, c))
        a, c = self.along(source.row) + self.long, self.across(source.column)
        text = f"M{pair(a, c)}"
        for column, row in [*bends, (target.column, target.row)]:
            u, v = self.along(row), self.across(column)
            middle = (a + u) / 2
            text += f"C{pair(middle, c)} {pair(middle, v)} {pair(u, v)}"
            a, c = u, v
            if row != target.row:
                a += self.long
                text += f"L{pair(a, c)}"
        return text

    def _box(self, k: int, box: _Box, row: Row) -> str:
        x, y = self.point(self.along(box.row), self.across(box.column) - self.wide / 2)
        left, middle, right = x + 8, x + self.width / 2, x + self.width - 8
        d, b = (54, 73) if self.stacked else (53, 53)
        whole, name = escaped(f"{row.name} = {row.formula}"), escaped(self._name(row))
        place = f'x="{x:g}" y="{y:g}" width="{self.width:g}" height="{self.height}" rx="8"'
        return (
            f'<g class="box" id="{self.mark}b{k}"><title>{whole}</title>'
            f"<rect {place}/>{self.marks(k, place)}"
            f'<text class="name" x="{middle:g}" y="{y + 17:g}">{name}</text>'
            + self.text(k, "v", f'x="{middle:g}" y="{y + 33:g}"')
            + self.text(k, "d", f'x="{left:g}" y="{y + d:g}"')
            + self.text(k, "b", f'x="{right:g}" y="{y + b:g}"')
            + "</g>"
        )

    def _name(self, row: Row) -> str:
        text = f"{row.name} = {row.formula}"
        most = int(self.width / LETTER) + 1
        return text if len(text) <= most else text[: most - 1] + "…"


def _cut(text: str) -> str:
    """A value as a box has room for it; the tables have it whole."""
    most = int((WIDEST - 16) / LETTER)
    return text if len(text) <= most else text[: most - 1] + "…"


_TIP = """<defs><marker id="tip{}" class="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="9"
 markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">
<path d="M0 0L8 4L0 8z"/></marker></defs>"""

COLOURS = """:root {
  --ink: #1c2330; --pale: #8a93a3; --paper: #fbfbf9; --line: #d5d9e0;
  --now: #fff0c2; --value: #1c2330; --tangent: #0b6e4f; --adjoint: #a4243b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e8eaf0; --pale: #7d8798; --paper: #171a21; --line: #343b48;
    --now: #4a3f1c; --value: #e8eaf0; --tangent: #5fd3a8; --adjoint: #ff8fa0;
  }
}
"""

STYLE = """.d { color: var(--tangent); fill: var(--tangent); }
.b { color: var(--adjoint); fill: var(--adjoint); }
svg text { font: 13px system-ui, sans-serif; }
svg .name { text-anchor: middle; fill: var(--pale); }
svg .v { text-anchor: middle; fill: var(--value); font-weight: 600; }
svg .b { text-anchor: end; }
svg .slope { text-anchor: middle; fill: var(--ink); font-weight: 600; stroke: var(--paper);
  stroke-width: 9; paint-order: stroke; stroke-linejoin: round; }
.box rect { fill: var(--paper); stroke: var(--line); stroke-width: 1.5; }
.edge { fill: none; stroke: var(--line); stroke-width: 1.5; }
.tip path { fill: var(--pale); }
"""

NOW = """.edge.now { stroke: var(--ink); stroke-width: 2.5; stroke-dasharray: 7 4; }
.box .now { fill: var(--now); stroke: var(--ink); }
svg .says { font-size: 15px; fill: var(--ink); }
"""


# ---- a drawing that runs by itself -------------------------------------------------------------


class Animation(Drawing):
    """Values appear from the arguments on, then adjoints from the result back, again and again.

    Viewers that know no animation show the end. The times are SVG's own (SMIL), since a picture in
    a page may not run scripts.
    """

    namespace = ' xmlns="http://www.w3.org/2000/svg"'
    below = 44
    REST = 4
    """So many steps the whole stays to be looked at."""

    def __init__(self, e: Traces, seconds: float) -> None:
        super().__init__(e)
        self.known = steps(e)
        self.rows = len(e.primal)
        self.total = self.rows + len(e.adjoint)
        self.seconds = seconds

    def style(self) -> str:
        paper = '<rect x="-8" y="-8" width="100%" height="100%" fill="var(--paper)"/>'
        return f"<style>{COLOURS}{STYLE}{NOW}</style>{paper}"

    def captions(self) -> list[str]:
        says = [*self.known["says"]["p"], *self.known["says"]["a"], typeset(self.e.summary())]
        place = f'x="0" y="{self.across(self.bottom) + 30:g}"'
        ends = [*range(2, self.total + 2), None]
        return [
            self._words("says", place, line, k + 1, end)
            for k, (line, end) in enumerate(zip(says, ends, strict=True))
        ]

    def text(self, k: int, kind: str, place: str) -> str:
        shown = {"v": [(k + 1, self.known["values"][k])], "b": self._adjoints(k)}.get(kind, [])
        ends = [*[step for step, _ in shown[1:]], None]
        return "".join(
            self._words(kind, place, value, step, end)
            for (step, value), end in zip(shown, ends, strict=False)
        )

    def _words(self, kind: str, place: str, words: str, first: int, until: int | None) -> str:
        hidden = "" if until is None else ' visibility="hidden"'
        shown = self._during((first, until))
        return f'<text class="{kind}" {place}{hidden}>{html.escape(words)}{shown}</text>'

    def _adjoints(self, k: int) -> list[tuple[int, str]]:
        """The steps at which a box's adjoint is found, or grows, and its value there."""
        return [
            (self.rows + i + 1, value)
            for i, (boxes, value, _) in enumerate(self.known["adjoints"])
            if k in boxes
        ]

    def lit(self, edge: str) -> str:
        back = [i for i, row in enumerate(self.known["adjoints"]) if row[2] == edge]
        steps = [int(edge.split("-")[1]) + 1, *[self.rows + i + 1 for i in back]]
        return self._during(*((k, k + 1) for k in steps))

    def marks(self, k: int, place: str) -> str:
        return "".join(
            f'<rect class="now" {place} visibility="hidden">{self._during((i, i + 1))}</rect>'
            for i in [k + 1, *[i for i, _ in self._adjoints(k)]]
        )

    def _during(self, *spans: tuple[int, int | None]) -> str:
        """Seen from one step on, until another or the end; so for each span."""
        all_steps = self.total + 1 + self.REST
        seen = {0: "hidden"}
        for first, until in sorted(spans):
            seen[first] = "visible"
            if until is not None:
                seen[until] = "hidden"
        return (
            f'<animate attributeName="visibility" calcMode="discrete" '
            f'values="{";".join(seen.values())}" '
            f'keyTimes="{";".join(f"{step / all_steps:.4g}" for step in seen)}" '
            f'dur="{all_steps * self.seconds:g}s" repeatCount="indefinite"/>'
        )
