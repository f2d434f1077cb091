"""Loops: what is carried from one round to the next are values, not memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from wengert.compile.llvm.machine.values import I64


@contextmanager
def rounds(builder: Any, start: Sequence[Any]) -> Iterator[tuple[list[Any], Callable[..., None]]]:
    """Code that runs once, and again while it says so.

    Gives the values that a round begins with, and a function to end it by: `end(more, values)`,
    with those for the next, if there are `more`.
    """
    before = builder.block
    inside, after = builder.append_basic_block("loop"), builder.append_basic_block("done")
    builder.branch(inside)
    builder.position_at_end(inside)
    carried = [builder.phi(value.type) for value in start]
    for phi, value in zip(carried, start, strict=True):
        phi.add_incoming(value, before)

    def end(more: Any, values: Sequence[Any]) -> None:
        for phi, value in zip(carried, values, strict=True):
            phi.add_incoming(value, builder.block)
        builder.cbranch(more, inside, after)

    yield carried, end
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


def along(builder: Any, count: int, size: int, body: Callable[[Any, int], None]) -> None:
    """Run `body(number, size)` for the parts of so many things; the last part may be smaller."""
    full, rest = divmod(count, size)
    repeat(builder, full, lambda number: body(number, size))
    if rest:
        body(I64(full), rest)
