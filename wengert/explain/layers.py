"""Where the vertices of a drawing go: in rows, with few crossings and straight ways.

The method is that of K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of
hierarchical system structures" (1981): rows by the longest path; edges over several rows go through
a point in each; rows are ordered by the mean place of neighbours, and what crosses least is kept.
Columns are then those of least squares to the neighbours' under the constraint of the distances,
which is isotonic regression (by pooling adjacent violators). The sources of an operation pull it as
strongly as they have a history, so that the main line of a program is straight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

Point = tuple[float, float]
SWEEPS = 12
BOX, BEND = 0.5, 0.2
"""Half the room that a box needs in its row, and a line that passes."""


@dataclass(eq=False)
class Spot:
    """A vertex, or the point where an edge passes through a row."""

    vertex: Any = None
    row: int = 0
    column: float = 0.0
    place: int = 0
    lean: float = 0.0
    """To which side of its reader it belongs: what comes the longest way stays in the middle."""
    above: dict[Spot, float] = field(default_factory=dict)
    below: dict[Spot, float] = field(default_factory=dict)
    """Neighbours, and how much each is to stand in the same column."""

    @property
    def room(self) -> float:
        return BEND if self.vertex is None else BOX

    @property
    def weight(self) -> float:
        """How much its own wish counts: lines give way beside boxes, parameters to everything."""
        if self.vertex is not None:
            return 2.0 if self.above else 0.05
        return 0.02 if any(t.vertex is not None for t in (*self.above, *self.below)) else 0.3


def place(vertices: list[Any]) -> list[tuple[Any, Any, list[Point]]]:
    """Set `row` and `column` of each vertex; the edges, with the points through which they go.

    Row 0 has the results; an edge leads from a higher row to a lower one.
    """
    for vertex in vertices:
        vertex.row = 0
    order = _consumers_first(vertices)
    for vertex in order:
        for source in vertex.inputs:
            source.row = max(source.row, vertex.row + 1)
    rows, ways = _spots(order)
    _order_rows(rows)
    _place_columns(rows)
    for row in rows:
        for spot in row:
            if spot.vertex is not None:
                spot.vertex.column = spot.column
    side = -1 if _turned(ways) else 1
    for vertex in vertices:
        vertex.column *= side
    return [
        (source, vertex, [(side * spot.column, spot.row) for spot in bends])
        for source, vertex, bends in ways
    ]


def _turned(ways: list[tuple[Any, Any, list[Spot]]]) -> bool:
    """Whether operands mostly stand from right to left, so that the mirror image reads better."""
    columns: dict[Any, list[float]] = {}
    for source, vertex, bends in ways:
        above = bends[-1].column if bends else source.column
        columns.setdefault(vertex, []).append(above)
    pairs = (pair for places in columns.values() for pair in pairwise(places))
    return sum((b > a) - (b < a) for a, b in pairs) < 0


def _consumers_first(vertices: list[Any]) -> list[Any]:
    """An order in which every vertex comes after all that use it (Kahn, 1962)."""
    waiting = dict.fromkeys(vertices, 0)
    for vertex in vertices:
        for source in vertex.inputs:
            waiting[source] += 1
    ready, order = [v for v in reversed(vertices) if not waiting[v]], []
    while ready:
        vertex = ready.pop()
        order.append(vertex)
        for source in vertex.inputs:
            waiting[source] -= 1
            if not waiting[source]:
                ready.append(source)
    return order


def _spots(order: list[Any]) -> tuple[list[list[Spot]], list[tuple[Any, Any, list[Spot]]]]:
    rows: list[list[Spot]] = [[] for _ in range(max(v.row for v in order) + 1)]

    def spot(vertex: Any, row: int) -> Spot:
        rows[row].append(here := Spot(vertex, row))
        return here

    of = {vertex: spot(vertex, vertex.row) for vertex in order}
    depth: dict[Any, int] = {}
    for vertex in reversed(order):
        depth[vertex] = max((depth[source] + 1 for source in vertex.inputs), default=0)
    ways = []
    for vertex in order:
        depths = [depth[source] for source in vertex.inputs]
        for source, lean in zip(vertex.inputs, _sides(depths), strict=True):
            bends = [spot(None, row) for row in range(source.row - 1, vertex.row, -1)]
            chain = [of[source], *bends, of[vertex]]
            chain[-2].lean = lean
            pull = 0.002 if bends else max(0.05, (depth[source] / max(1, *depths)) ** 2)
            for upper, lower in pairwise(chain):
                upper.below[lower] = lower.above[upper] = pull
            ways.append((source, vertex, bends))
    return rows, ways


def _sides(depths: list[int]) -> list[float]:
    """Where inputs go above their reader: the one of the longest history straight, others around.

    >>> _sides([5, 0, 0])
    [0.0, -0.25, 0.25]
    """
    n = len(depths)
    trunk = depths.index(max(depths)) if any(depths) else n // 2
    others = [k for k in range(n) if k != trunk]
    order = [*others[: n // 2], trunk, *others[n // 2 :]]
    return [(order.index(k) - n // 2) / (n + 1) for k in range(n)]


# ---- the order in each row ---------------------------------------------------------------------


def _order_rows(rows: list[list[Spot]]) -> None:
    _number(rows)
    best: list[list[Spot]] = []
    least = math.inf
    for sweep in range(SWEEPS):
        if not least:
            break
        upward = sweep % 2 == 0
        for row in rows[1:] if upward else rows[-2::-1]:
            wish = {s: _wished(s, upward) for s in row}
            row.sort(key=wish.__getitem__)
            _number([row])
        crossings = _crossings(rows)
        if crossings < least:
            best, least = [list(row) for row in rows], crossings
    for row, chosen in zip(rows, best, strict=True):
        row[:] = chosen
    _number(rows)


def _number(rows: list[list[Spot]]) -> None:
    for row in rows:
        for k, spot in enumerate(row):
            spot.place = k


def _wished(spot: Spot, upward: bool) -> float:
    near = spot.below if upward else spot.above
    if not near:
        return spot.place
    return sum(t.place for t in near) / len(near) + (spot.lean if upward else 0.0)


def _crossings(rows: list[list[Spot]]) -> int:
    """Pairs of edges between neighbouring rows that cross."""
    count = 0
    for row in rows:
        ends: list[int] = []
        for spot in row:
            new = [t.place for t in spot.below]
            count += sum(end > t for end in ends for t in new)
            ends += new
    return count


# ---- columns -----------------------------------------------------------------------------------


def _place_columns(rows: list[list[Spot]]) -> None:
    for row in rows:
        _settle(row, [float(s.place) for s in row], [1.0] * len(row))
    for sweep in range(2 * SWEEPS + 1):
        upward = sweep % 2 == 0
        for row in rows if upward else reversed(rows):
            wishes, weights = [], []
            for s in row:
                led = {t: pull for t, pull in s.above.items() if t.above}  # by what was computed
                near = (s.below if upward else led) or s.below or s.above
                pulls = sum(near.values())
                mean = sum(pull * t.column for t, pull in near.items()) / pulls if near else None
                wishes.append(s.column if mean is None else mean)
                weights.append(s.weight * max(near.values(), default=1.0))
            _settle(row, wishes, weights)


def _settle(row: list[Spot], wishes: list[float], weights: list[float]) -> None:
    """The columns closest to the wishes, by weighted squares, in which neighbours have room."""
    offsets, offset = [], 0.0
    for k, spot in enumerate(row):
        offset += spot.room + row[k - 1].room if k else 0.0
        offsets.append(offset)
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many
    for wish, weight, offset in zip(wishes, weights, offsets, strict=True):
        pools.append((wish - offset, weight, 1))
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            (a, v, m), (b, w, n) = pools[-2:]
            pools[-2:] = [((a * v + b * w) / (v + w), v + w, m + n)]
    levels = [mean for mean, _, count in pools for _ in range(count)]
    for spot, level, offset in zip(row, levels, offsets, strict=True):
        spot.column = level + offset
