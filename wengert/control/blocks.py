"""Loops in blocks of blocks, whose derivative keeps the state before each block alone.

What else it reads is computed again, block by block. n iterations that are blocks of one kind keep
2 n**(1/2) states; where they are of d - 1 kinds, d n**(1/d), and then each iteration is run d times
(Griewank and Walther, "Algorithm 799: revolve", 2000, whose blocks are of unequal lengths).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from wengert.tree import flatten, rebuild
from wengert.tree import map as tree_map

Body = Callable[[Any, Any, Any], tuple[Any, Any]]
"""The next state and a row of the results, of an iteration's number, the state, and a row."""


class First(NamedTuple):
    """The number of a loop's first iteration, and between which numbers that lies."""

    number: Any
    least: int
    most: int

    def later(self, blocks: Any, size: int, most: int) -> First:
        """That of a block: so many are before it, and at most `most`."""
        least = 0 if blocks is not most else most
        return First(
            self.number + blocks * size, self.least + least * size, self.most + most * size
        )


class Blocks(NamedTuple):
    """How a loop is cut.

    `loop(body, state, rows, n, reverse, first)` runs n iterations, whose numbers begin with
    `first`; `again(function, *args)` is what a function returns that the derivative runs again.
    """

    loop: Callable[..., tuple[Any, Any]]
    again: Callable[..., Any]
    reverse: bool

    def run(
        self, body: Body, state: Any, xs: Any, n: int, first: First, levels: int
    ) -> tuple[Any, Any]:
        """All iterations; `levels` - 1 kinds of blocks stand in each other."""
        if levels == 1 or n < 4:
            return self.loop(body, state, xs, n, self.reverse, first)
        count = count_of(n, levels)
        size = n // count
        leaves, tree = flatten(xs)

        def part(start: First, n: int, state: Any, rows: Any) -> Any:
            inside = partial(self.run, body, n=n, first=start, levels=levels - 1)
            return self.again(inside, state, rows)

        def block(number: Any, state: Any, rows: Any) -> Any:
            return part(first.later(number, size, count - 1), size, state, rows)

        def blocks(state: Any) -> Any:
            parts = [np.reshape(x[: count * size], (count, size, *x.shape[1:])) for x in leaves]
            rows = rebuild(tree, iter(parts))
            state, ys = self.loop(block, state, rows, count, self.reverse, First(0, 0, 0))
            return state, tree_map(lambda y: np.reshape(y, (count * size, *y.shape[2:])), ys)

        def rest(state: Any) -> Any:
            rows = rebuild(tree, iter([x[count * size :] for x in leaves]))
            return part(first.later(count, size, count), n - count * size, state, rows)

        if n == count * size:
            return blocks(state)
        state, one = (rest if self.reverse else blocks)(state)
        state, other = (blocks if self.reverse else rest)(state)
        early, late = (other, one) if self.reverse else (one, other)
        return state, tree_map(lambda a, b: np.concatenate([a, b]), early, late)


def count_of(n: int, levels: int) -> int:
    """Into how many blocks n iterations are cut, if there are so many kinds of blocks."""
    return next(k for k in itertools.count(1) if k**levels >= n)


def levels_for(n: int, states: int) -> int | None:
    """How many levels there are, if about so many states may be kept; None if they do not do."""
    return next((d for d in deepest(n) if d * count_of(n, d) <= states), None)


def deepest(n: int) -> range:
    """All numbers of levels that n iterations may have."""
    return range(1, max(n, 1).bit_length() + 1)
