"""Loops: what is carried from one round to the next are values, not memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from wengert.compile.llvm.machine.values import I64


class Merge:
    """A place where ways through the code meet, each with values of its own."""

    def __init__(self, builder: Any, name: str) -> None:
        self.builder = builder
        self.block = builder.append_basic_block(name)
        self.ways: list[tuple[Any, Sequence[Any]]] = []

    def come(self, values: Sequence[Any] = (), unless: Any = None, mostly: bool = False) -> None:
        """Go there with these values; where a condition is given, only if it does not hold.

        What comes after a way that is `mostly` taken may be slow: it leaves the registers to that.
        """
        self.ways.append((self.builder.block, values))
        if unless is None:
            self.builder.branch(self.block)
            return
        on = self.builder.append_basic_block("on")
        branch = self.builder.cbranch(unless, on, self.block)
        if mostly:
            branch.set_weights([1, 1 << 10])
        self.builder.position_at_end(on)

    def begin(self) -> list[Any]:
        """Go on from there, with the values that came; ways may come later too, as loops do."""
        self.builder.position_at_end(self.block)
        self.values = [self.builder.phi(value.type) for value in self.ways[0][1]]
        return self.values

    def close(self) -> None:
        """No more ways come."""
        for block, values in self.ways:
            for phi, value in zip(self.values, values, strict=True):
                phi.add_incoming(value, block)


class Loop:
    """Code that runs again where it says so, and is left where it says that."""

    def __init__(self, builder: Any, start: Sequence[Any]) -> None:
        self.head, self.after = Merge(builder, "loop"), Merge(builder, "done")
        self.head.come(start)
        self.carried = self.head.begin()
        self.results: list[Any] = []

    def again(self, *values: Any) -> None:
        """Begin the next round, with what it carries."""
        self.head.come(values)

    def while_(self, condition: Any, *results: Any) -> None:
        """Leave the loop unless this holds, with these results."""
        self.after.come(results, unless=condition)

    def close(self) -> None:
        self.head.close()
        self.results = self.after.begin()
        self.after.close()


@contextmanager
def loop(builder: Any, *start: Any) -> Iterator[Loop]:
    """A loop; what it carries from round to round begins as `start`, and is its `carried`.

    Behind it, `results` are those that it was left with.
    """
    written = Loop(builder, start)
    yield written
    written.close()


@contextmanager
def rounds(builder: Any, start: Sequence[Any]) -> Iterator[tuple[list[Any], Callable[..., None]]]:
    """Code that runs once, and again while it says so.

    Gives the values that a round begins with, and a function to end it by: `end(more, values)`,
    with those for the next, if there are `more`.
    """
    head, after = Merge(builder, "loop"), builder.append_basic_block("done")
    head.come(start)

    def end(more: Any, values: Sequence[Any]) -> None:
        head.ways.append((builder.block, values))
        builder.cbranch(more, head.block, after)

    yield head.begin(), end
    head.close()
    builder.position_at_end(after)


@contextmanager
def counting(builder: Any, start: Any, stop: Any, step: int = 1) -> Iterator[Any]:
    """A loop over the numbers from `start` while below `stop`, at least once."""
    with rounds(builder, [start]) as ((index,), end):
        yield index
        following = builder.add(index, I64(step), flags=("nsw",))
        end(builder.icmp_signed("<", following, stop), [following])


def fold(builder: Any, count: int, carried: list[Any], body: Callable[..., list[Any]]) -> list[Any]:
    """Run `carried = body(index, carried)` `count` times; straight code where that is once."""
    if count <= 0:
        return carried
    if count == 1:
        return body(I64(0), carried)
    with rounds(builder, [I64(0), *carried]) as ((index, *values), end):
        news = body(index, values)
        following = builder.add(index, I64(1), flags=("nuw", "nsw"))
        end(builder.icmp_unsigned("<", following, I64(count)), [following, *news])
    return news


def repeat(builder: Any, count: int, body: Callable[[Any], None]) -> None:
    """Run `body(index)` `count` times."""

    def once(index: Any, _: list[Any]) -> list[Any]:
        body(index)
        return []

    fold(builder, count, [], once)


def nest(builder: Any, counts: Sequence[int], body: Callable[..., None]) -> None:
    """Run `body(*indices)` for all indices below the counts, the last of them the fastest."""
    if not counts:
        body()
        return
    count, *inner = counts
    repeat(builder, count, lambda i: nest(builder, inner, functools.partial(body, i)))


def evenly(count: int, most: int) -> list[tuple[int, int, int]]:
    """As few parts as can be of at most so many things, in sizes that differ by one at most.

    Gives for each size how many parts have it, where the first of them begins, and the size.

    >>> evenly(10, 4)
    [(1, 0, 4), (2, 4, 3)]
    """
    parts = -(-count // most)
    size = -(-count // parts)
    short = parts * size - count  # that many parts have one less
    kinds = (parts - short, 0, size), (short, (parts - short) * size, size - 1)
    return [kind for kind in kinds if kind[0]]


def along(builder: Any, count: int, size: int, body: Callable[[Any, int], None]) -> None:
    """Run `body(number, size)` for the parts of so many things; the last part may be smaller."""

    def some(number: Any, size: int, _: list[Any]) -> list[Any]:
        body(number, size)
        return []

    fold_along(builder, count, size, [], some)


def fold_along(
    builder: Any, count: int, size: int, carried: list[Any], body: Callable[..., list[Any]]
) -> list[Any]:
    """Run `carried = body(number, size, carried)` for the parts of so many things."""
    full, rest = divmod(count, size)
    carried = fold(builder, full, carried, lambda number, carried: body(number, size, carried))
    return body(I64(full), rest, carried) if rest else carried
