"""Which inputs each number was computed from: a graph of sets, put together as a program runs.

The numbers of a computation are named by integers. 0 depends on nothing, 1 to n are the inputs, and
each name after those stands for the union of some earlier ones. Numbers with the same origins may
share a name: what an elementwise function returns is named as its argument was. So a union costs
its parents, not the size of the sets, and moving numbers about costs nothing. The sets themselves
are found at the end, of the names that are asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Ids = np.ndarray[Any, np.dtype[np.int64]]


class Origins:
    """The names given so far, and the parents of each.

    >>> origins = Origins(3)
    >>> both = origins.either(np.array([1, 2]), np.array([2, 3]))
    >>> origins.rows(both)
    (array([0, 2, 4]), array([0, 1, 1, 2]))
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.size = n + 1
        self.careful: dict[str, None] = {}  # functions answered without looking inside, in order
        self.watched = False  # whether numbers that would lose their origins are an error
        self._children: list[Ids] = []  # ascending, within a block and from block to block
        self._parents: list[Ids] = []

    # ---- making names -----------------------------------------------------------------------

    def either(self, a: Any, b: Any) -> Any:
        """The names of unions, element by element; the arrays broadcast."""
        if a is b:
            return a
        both = (a != b) & (a != 0) & (b != 0)
        names = np.where(a == 0, b, a)
        if not both.any():
            return names
        a, b = np.broadcast_arrays(a, b)
        pairs = np.stack([a[both], b[both]], axis=-1)
        pairs.sort(axis=-1)
        if a.size > 1 and (0 in a.strides or 0 in b.strides):  # repeated: the same pairs again
            pairs, place = np.unique(pairs, axis=0, return_inverse=True)
        else:
            place = np.arange(len(pairs))
        names[both] = self._named(np.repeat(np.arange(len(pairs)), 2), pairs.reshape(-1))[
            place.reshape(-1)
        ]
        return names

    def union(self, targets: Ids, sources: Ids, count: int) -> Ids:
        """`count` names: the k-th for all `sources[i]` with `targets[i] == k`."""
        some = sources != 0
        keys = _distinct(targets[some] * np.int64(self.size) + sources[some])
        targets, sources = np.divmod(keys, self.size)
        numbers = np.bincount(targets, minlength=count)
        names = np.zeros(count, np.int64)
        single = numbers[targets] == 1
        names[targets[single]] = sources[single]
        several = ~single
        if several.any():
            rank = np.cumsum(numbers > 1) - 1
            names[numbers > 1] = self._named(rank[targets[several]], sources[several])
        return names

    def along(self, ids: Any, axes: tuple[int, ...]) -> Any:
        """The unions along some dimensions, which stay with size 1."""
        if not axes or not ids.size:
            shape = tuple(1 if i in axes else n for i, n in enumerate(ids.shape))
            return np.zeros(shape, np.int64) if not ids.size else ids
        kept = [i for i in range(ids.ndim) if i not in axes]
        lanes = np.transpose(ids, (*kept, *axes)).reshape(
            int(np.prod([ids.shape[i] for i in kept], dtype=int)), -1
        )
        targets = np.repeat(np.arange(len(lanes)), lanes.shape[1])
        names = self.union(targets, lanes.reshape(-1), len(lanes))
        return names.reshape([1 if i in axes else n for i, n in enumerate(ids.shape)])

    def prefixes(self, ids: Any, axis: int) -> Any:
        """The unions of all elements up to each one along a dimension.

        In log2(n) steps, each of which doubles how far back it looks (Hillis and Steele, 1986).
        """
        ids = np.moveaxis(ids, axis, 0)
        step = 1
        while step < len(ids):
            ids = np.concatenate([ids[:step], self.either(ids[step:], ids[:-step])])
            step *= 2
        return np.moveaxis(ids, 0, axis)

    def everything(self, arrays: list[Any]) -> int:
        """One name for all that is in some arrays of names."""
        flat = np.concatenate([np.ravel(ids) for ids in arrays])
        return int(self.union(np.zeros(len(flat), np.int64), flat, 1)[0])

    def _named(self, targets: Ids, sources: Ids) -> Ids:
        """New names; `targets` counts from 0, ascending."""
        count = int(targets[-1]) + 1
        self._children.append(self.size + targets)
        self._parents.append(sources)
        names = np.arange(self.size, self.size + count)
        self.size += count
        return names

    # ---- finding sets -----------------------------------------------------------------------

    def rows(self, ids: Any) -> tuple[Any, Any]:
        """The inputs that each of some names stands for, as (indptr, indices) of a CSR matrix.

        Row k has the columns `indices[indptr[k]:indptr[k + 1]]`, ascending, counted from 0.
        """
        ids = np.ravel(ids)
        wanted, place = np.unique(ids, return_inverse=True)
        sets = self._sets(wanted)
        return sets.taken(place.reshape(-1))

    def _sets(self, wanted: Ids) -> _Ragged:
        """The sets of names that ascend, level by level: a level's parents lie on lower ones."""
        children, parents, levels = self._reached(wanted)
        last = np.zeros(int(levels.max(initial=0)) + 1, np.int64)  # the level that needs one last
        np.maximum.at(last, levels[parents], levels[children])
        last[levels[wanted]] = len(last)

        row = np.zeros(self.size, np.int64)  # where on its level a name stands
        row[: self.n + 1] = np.arange(self.n + 1)
        leaves = np.arange(self.n)
        kept = {0: _Ragged(np.concatenate([[0], np.arange(self.n + 1)]), leaves)}
        order = np.argsort(levels[children], kind="stable")
        bounds = np.searchsorted(levels[children[order]], np.arange(1, len(last) + 1))
        for level in range(1, len(last)):
            edges = order[bounds[level - 1] : bounds[level]]
            names, which = np.unique(children[edges], return_inverse=True)
            row[names] = np.arange(len(names))
            kept[level] = _gathered(which, row, parents[edges], levels, kept, len(names), self.n)
            for done in [k for k in kept if last[k] <= level]:
                del kept[done]
        which = np.arange(len(wanted))
        return _gathered(which, row, wanted, levels, kept, len(wanted), self.n)

    def _reached(self, wanted: Ids) -> tuple[Ids, Ids, Ids]:
        """The edges that lead to some names, as (children, parents), and the level of each name."""
        needed = np.zeros(self.size, bool)
        needed[wanted] = True
        blocks = []
        for children, parents in zip(self._children[::-1], self._parents[::-1], strict=True):
            some = needed[children]
            if some.any():
                if not some.all():
                    children, parents = children[some], parents[some]
                needed[parents] = True
                blocks.append((children, parents))
        levels = np.zeros(self.size, np.int64)
        for children, parents in reversed(blocks):
            starts = np.flatnonzero(np.diff(children, prepend=-1))
            levels[children[starts]] = 1 + np.maximum.reduceat(levels[parents], starts)
        if not blocks:
            none = np.zeros(0, np.int64)
            return none, none, levels
        children = np.concatenate([children for children, _ in reversed(blocks)])
        parents = np.concatenate([parents for _, parents in reversed(blocks)])
        return children, parents, levels


class _Ragged:
    """Rows of several lengths: `indices[indptr[k]:indptr[k + 1]]`."""

    __slots__ = ("indices", "indptr")

    def __init__(self, indptr: Any, indices: Any) -> None:
        self.indptr, self.indices = indptr, indices

    def taken(self, rows: Ids) -> tuple[Any, Any]:
        """Some rows, one after the other."""
        starts = self.indptr[rows]
        lengths = self.indptr[rows + 1] - starts
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        within = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)
        return indptr, self.indices[np.repeat(starts, lengths) + within]


def _gathered(
    which: Ids, row: Ids, parents: Ids, levels: Ids, kept: dict[int, _Ragged], count: int, n: int
) -> _Ragged:
    """The union of the parents' sets for each of `count` names; edge i belongs to `which[i]`."""
    keys = []
    depths = levels[parents]
    for level in np.unique(depths):
        some = depths == level
        indptr, indices = kept[int(level)].taken(row[parents[some]])
        keys.append(np.repeat(which[some], np.diff(indptr)) * np.int64(max(n, 1)) + indices)
    merged = _distinct(np.concatenate(keys)) if keys else np.zeros(0, np.int64)
    rows, indices = np.divmod(merged, max(n, 1))
    return _Ragged(np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))]), indices)


def _distinct(keys: Ids) -> Ids:
    """The different numbers, ascending; sorts in place, which np.unique's hashing takes thrice."""
    keys.sort()
    first = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]
