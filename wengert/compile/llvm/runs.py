"""Where a list goes through the same things again and again, as the steps of layers do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

PERIOD = 32
"""Things at most that come again together."""
LEAST = 3
"""Rounds from which on they are worth a loop."""


class Run(NamedTuple):
    """The things from `start` on: `period` of them, `times` over."""

    start: int
    period: int
    times: int

    @property
    def stop(self) -> int:
        return self.start + self.period * self.times


def runs(things: Sequence[Any]) -> Iterator[Run]:
    """The list in pieces; None is like nothing else.

    Of the rounds that begin at one place, those are taken that leave out the most.

    >>> [tuple(run) for run in runs("xababab")]
    [(0, 1, 1), (1, 2, 3)]
    >>> [tuple(run) for run in runs([None, None, None])]
    [(0, 1, 1), (1, 1, 1), (2, 1, 1)]
    """
    numbers: dict[int, int] = {}
    names = [
        -1 - k if x is None else numbers.setdefault(id(x), len(numbers))
        for k, x in enumerate(things)
    ]
    start = 0
    while start < len(names):
        best = Run(start, 1, 1)
        for period in range(1, PERIOD + 1):
            times = _rounds(names, start, period)
            if times >= LEAST and period * (times - 1) > best.period * (best.times - 1):
                best = Run(start, period, times)
        yield best
        start = best.stop


def _rounds(names: list[int], start: int, period: int) -> int:
    same = 0
    for one, next_ in zip(names[start:], names[start + period :], strict=False):
        if one != next_:
            break
        same += 1
    return 1 + same // period
