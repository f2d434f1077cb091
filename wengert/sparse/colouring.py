"""Colourings: which columns, or rows, of a sparse matrix can be found together, by one product.

A product with a sum of unit vectors adds up columns. Where no two of them have a nonzero in one
row, each number of the sum is an entry of the matrix (Curtis, Powell and Reid, 1974): such columns
may have one colour. To use few colours is a problem of graph colouring (Coleman and More, 1983;
surveyed by Gebremedhin, Manne and Pothen, "What color is your Jacobian?", 2005). These are greedy
algorithms, one pass over the nonzeros each: a vertex takes the lowest colour that is free.

Sets of colours are Python integers, whose bits say which are in use: as rows of 100,000 nonzeros
occur, a loop over pairs of neighbours must not.
"""

from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Order = Literal["natural", "largest_first", "smallest_last", "incidence_degree"]
Ints = np.ndarray[Any, np.dtype[np.int64]]
NONE = -1
"""The colour of a row or column that no product includes."""


@dataclass(frozen=True)
class Colouring:
    """Colours of rows and columns, and for each nonzero the product that tells it.

    `row_colours[i]` is the number of the product u^T A that includes row i, `column_colours[j]` of
    the product A v that includes column j. Nonzero k is element `place[k]` of product `product[k]`,
    of the first kind if `by_row[k]`.
    """

    row_colours: Ints
    column_colours: Ints
    by_row: Any
    product: Ints
    place: Ints

    @property
    def vjps(self) -> int:
        """How many products u^T A there are."""
        return int(self.row_colours.max(initial=NONE)) + 1

    @property
    def jvps(self) -> int:
        """How many products A v there are."""
        return int(self.column_colours.max(initial=NONE)) + 1

    @property
    def products(self) -> int:
        return self.vjps + self.jvps

    @staticmethod
    def of(rows: Ints, columns: Ints, row_colours: Ints, column_colours: Ints, by_row: Any) -> Any:
        """Nonzeros that are told by the colour of their row, where `by_row`, or of their column."""
        product = np.where(by_row, row_colours[rows], column_colours[columns])
        place = np.where(by_row, columns, rows)
        return Colouring(row_colours, column_colours, by_row, product, place)

    def entries(self, by_rows: Any, by_columns: Any) -> Any:
        """The nonzeros, from the products: one in each row of `by_rows`, and of `by_columns`."""
        both = [np.reshape(part, -1) for part in (by_rows, by_columns)]
        parts = [part for part in both if np.size(part)] or both[:1]
        products = np.concatenate(parts) if len(parts) > 1 else parts[0]
        return products[self._index]

    @functools.cached_property
    def _index(self) -> Ints:
        """Where each nonzero stands when all products are one long vector."""
        m, n = len(self.row_colours), len(self.column_colours)
        after = self.vjps * n + self.product * np.int64(m)
        return np.where(self.by_row, self.product * np.int64(n), after) + self.place


def seeds(colours: Ints, start: int, stop: int, dtype: Any) -> Any:
    """The sums of unit vectors of the colours from `start` to `stop`, one in each row."""
    vectors = np.zeros((stop - start, len(colours)), dtype)
    included = np.flatnonzero((colours >= start) & (colours < stop))
    vectors[colours[included] - start, included] = 1
    return vectors


# ---- orders ----------------------------------------------------------------------------------


class Graph:
    """The vertices to be coloured: how many neighbours each has, at most, and which."""

    def __init__(self, degrees: Ints, matrix: Callable[[], Any]) -> None:
        self.degrees = degrees
        self._matrix = matrix

    def neighbours(self) -> list[list[int]]:
        matrix = self._matrix().tocsr()
        matrix.setdiag(0)
        matrix.eliminate_zeros()
        starts, members = matrix.indptr.tolist(), matrix.indices.tolist()
        return [members[i:j] for i, j in itertools.pairwise(starts)]


def _natural(graph: Graph) -> Any:
    return range(len(graph.degrees))


def _largest_first(graph: Graph) -> Any:
    """By falling degree (Welsh and Powell, 1967)."""
    return np.argsort(-graph.degrees, kind="stable").tolist()


def _smallest_last(graph: Graph) -> Any:
    """Last the vertex of least degree, before it that of least degree in the rest, and so on.

    (Matula and Beck, 1983.)
    """
    return _picked(graph, lambda degree: degree, -1)[::-1]


def _incidence_degree(graph: Graph) -> Any:
    """Next the vertex with most neighbours among those before (Coleman and More, 1983)."""
    return _picked(graph, lambda degree: 0, -1)


def _picked(graph: Graph, start: Callable[[int], int], step: int) -> list[int]:
    """Vertices by rising keys, where each one that goes changes the keys of its neighbours."""
    around = graph.neighbours()
    keys = [start(len(mine)) for mine in around]
    heap = [(key, v) for v, key in enumerate(keys)]
    heapq.heapify(heap)
    gone = [False] * len(keys)
    order = []
    while heap:
        key, v = heapq.heappop(heap)
        if gone[v] or key != keys[v]:
            continue  # the key has changed since
        gone[v] = True
        order.append(v)
        for w in around[v]:
            if not gone[w]:
                keys[w] += step
                heapq.heappush(heap, (keys[w], w))
    return order


ORDERS: dict[str, Callable[[Graph], Any]] = {
    "natural": _natural,
    "largest_first": _largest_first,
    "smallest_last": _smallest_last,
    "incidence_degree": _incidence_degree,
}


def _orders(order: Order | None) -> tuple[str, ...]:
    """Without a wish, natural and largest-first: one suits bands, the other most of the rest."""
    return ("natural", "largest_first") if order is None else (order,)


# ---- one side --------------------------------------------------------------------------------


def by_columns(rows: Ints, columns: Ints, shape: tuple[int, int], order: Order | None) -> Ints:
    """Colours of columns, such that no two of one colour have a nonzero in the same row.

    No colouring has fewer colours than the fullest row has nonzeros: the search ends there.
    """
    n = shape[1]
    starts, members = _lists(columns, rows, n)
    lengths = np.bincount(rows, minlength=shape[0])
    least = int(lengths.max(initial=0))
    degrees = np.bincount(columns, lengths[rows] - 1, n).astype(np.int64)
    graph = Graph(degrees, lambda: _met(rows, columns, shape))
    best: Ints | None = None
    for one in _orders(order):
        colours = _first_fit(starts, members, shape[0], ORDERS[one](graph))
        if best is None or colours.max(initial=NONE) < best.max(initial=NONE):
            best = colours
        if best.max(initial=NONE) + 1 <= least:
            break
    assert best is not None
    return best


def _first_fit(starts: list[int], members: list[int], m: int, order: Any) -> Ints:
    """The lowest colour for each column that no other one in its rows has."""
    used = [0] * m  # the colours in each row
    colours = np.full(len(starts) - 1, NONE)
    for j in order:
        mine = members[starts[j] : starts[j + 1]]
        if not mine:
            continue  # an empty column needs no product
        taken = 0
        for i in mine:
            taken |= used[i]
        bit = ~taken & (taken + 1)
        for i in mine:
            used[i] |= bit
        colours[j] = bit.bit_length() - 1
    return colours


def _met(rows: Ints, columns: Ints, shape: tuple[int, int]) -> Any:
    """The columns that meet in some row, as a sparse matrix."""
    from scipy.sparse import csr_array

    matrix = csr_array((np.ones(len(rows), np.int64), (rows, columns)), shape)
    return matrix.T @ matrix


def _lists(keys: Ints, values: Ints, count: int) -> tuple[list[int], list[int]]:
    """The values of each key: `values[starts[k]:starts[k + 1]]`."""
    members = values[np.argsort(keys, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=count))])
    return starts.tolist(), members.tolist()


# ---- both sides ------------------------------------------------------------------------------


def bidirectional(
    rows: Ints, columns: Ints, shape: tuple[int, int], order: Order | None
) -> Colouring:
    """The cheaper of two: columns with the fullest rows apart, rows with the fullest columns apart.

    One full row forbids any two columns the same colour. Told by its own product it forbids nothing
    (Coleman and Verma, 1998, choose the part to be told by rows in a like manner). With the k
    fullest rows apart it takes at least as many columns' colours as the next row has nonzeros; the
    best k is found from that bound.
    """
    upright = Colouring.of(rows, columns, *_rows_apart(rows, columns, shape, order))
    by_column, by_row, apart = _rows_apart(columns, rows, shape[::-1], order)
    turned = Colouring.of(rows, columns, by_row, by_column, ~apart)
    return min(upright, turned, key=lambda colouring: colouring.products)


def _rows_apart(
    rows: Ints, columns: Ints, shape: tuple[int, int], order: Order | None
) -> tuple[Ints, Ints, Any]:
    lengths = np.bincount(rows, minlength=shape[0])
    fullest = np.argsort(-lengths, kind="stable")
    bound = np.arange(shape[0] + 1) + np.append(lengths[fullest], 0)
    chosen = np.zeros(shape[0], bool)
    chosen[fullest[: int(np.argmin(bound))]] = True
    by_row = chosen[rows]
    return (
        by_columns(columns[by_row], rows[by_row], shape[::-1], order),
        by_columns(rows[~by_row], columns[~by_row], shape, order),
        by_row,
    )


def one_sided(
    rows: Ints, columns: Ints, shape: tuple[int, int], order: Order | None, by_rows: bool
) -> Colouring:
    """Colours of the rows alone, or of the columns alone."""
    row_colours, column_colours = (np.full(n, NONE) for n in shape)
    if by_rows:
        row_colours = by_columns(columns, rows, shape[::-1], order)
    else:
        column_colours = by_columns(rows, columns, shape, order)
    return Colouring.of(rows, columns, row_colours, column_colours, np.full(len(rows), by_rows))


# ---- symmetric matrices ----------------------------------------------------------------------


def symmetric(rows: Ints, columns: Ints, n: int, order: Order | None) -> Colouring:
    """A star colouring of the graph of a symmetric matrix, whose entries are told by its rows.

    Neighbours have different colours, and each path of four vertices has at least three. Then of
    the entries (i, j) and (j, i), which are equal, one is alone in its product (Coleman and More,
    1984). Products that tell nothing are left out.
    """
    off = rows != columns
    starts, neighbours = _lists(rows[off], columns[off], n)
    graph = Graph(np.diff(starts), lambda: _symmetric_matrix(rows, columns, n))
    best: Colouring | None = None
    for one in _orders(order):
        colours = _star(starts, neighbours, ORDERS[one](graph))
        told = _told(rows, columns, n, colours)
        if best is None or told.products < best.products:
            best = told
    assert best is not None
    return best


def _star(starts: list[int], neighbours: list[int], order: Any) -> Ints:
    """The lowest colour for each vertex that leaves no path of four vertices with two colours.

    A vertex v may not end such a path, v-w-x-y: `ends[w]` are the colours of those x beside w that
    have another neighbour of the colour of w. Nor may it be inside one, u-w-v-x with w and x of one
    colour: `beside[w]` are the colours around w. With both kept up to date, a vertex of high degree
    costs its degree once, not at each of its neighbours.
    """
    n = len(starts) - 1
    colours = [NONE] * n
    beside, ends = [0] * n, [0] * n
    first: dict[tuple[int, int], int] = {}  # of the neighbours of x that have a colour, the first
    for v in order:
        around = [w for w in neighbours[starts[v] : starts[v + 1]] if colours[w] != NONE]
        seen = twice = taken = 0
        for w in around:
            bit = 1 << colours[w]
            twice |= seen & bit
            seen |= bit
            taken |= bit | ends[w]
        if twice:
            for w in around:
                if twice >> colours[w] & 1:
                    taken |= beside[w]
        bit = ~taken & (taken + 1)
        colours[v] = colour = bit.bit_length() - 1
        beside[v] = seen
        for w in around:
            beside[w] |= bit
            if twice >> colours[w] & 1:
                ends[w] |= bit  # beside w is v, which has another neighbour like w
            if (w, colour) in first:  # and w has another neighbour like v
                ends[v] |= 1 << colours[w]
                ends[first[w, colour]] |= 1 << colours[w]
            else:
                first[w, colour] = v
            first.setdefault((v, colours[w]), w)
    return np.array(colours, np.int64)


def _symmetric_matrix(rows: Ints, columns: Ints, n: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(rows), np.int64), (rows, columns)), (n, n))


def _told(rows: Ints, columns: Ints, n: int, colours: Ints) -> Colouring:
    """Which product tells each entry, and only the colours that are needed for that.

    The product with row i tells entry (i, j) if no other row of its colour has a nonzero in column
    j; else the product with row j tells (j, i). Where both do, the lower colour is taken.
    """
    count = int(colours.max(initial=0)) + 1
    mine = _alone(columns * np.int64(count) + colours[rows])
    other = _alone(rows * np.int64(count) + colours[columns])
    direct = mine & (~other | (colours[rows] <= colours[columns]))
    product = np.where(direct, colours[rows], colours[columns])
    needed, product = np.unique(product, return_inverse=True)
    renamed = np.full(count, NONE)
    renamed[needed] = np.arange(len(needed))
    return Colouring(
        row_colours=renamed[colours],
        column_colours=np.full(n, NONE),
        by_row=np.ones(len(rows), bool),
        product=product.reshape(-1),
        place=np.where(direct, columns, rows),
    )


def _alone(keys: Ints) -> Any:
    """Where a key occurs once."""
    _, place, number = np.unique(keys, return_inverse=True, return_counts=True)
    return number[place.reshape(-1)] == 1
