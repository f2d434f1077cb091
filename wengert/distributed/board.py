"""Where the ranks of one machine stand: what each has begun, in memory that they share.

MPI trusts that all ranks do the same, and mixes up operations whose messages are of one size. So
each rank writes down what it begins, and compares with the others what it has carried out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

LINE = 8
"""Words of 8 bytes of which a cache moves no fewer: each rank's row begins with so many."""
COUNTS, READ_COUNT = 4 * LINE, 2 * LINE
"""Words of a rank's row before the numbers of its slots: first what it has written, and apart from
that what it has read, or who writes one would wait for those who look at the other."""
KEPT = 256
"""So many operations are written down, the newest in the place of the oldest."""
FACTOR = 0x9E3779B97F4A7C15
"""An odd number: the golden ratio's bits (Knuth's multiplicative hashing)."""
COMPARISON = 2**62
"""Number of the comparison before an operation that is new to a rank: it counts as one too."""
_ALL = 2**64 - 1


class Board:
    """For each rank how many operations it has begun, and which: `code(n)` of the n-th of them.

        code(n) = code(n - 1) FACTOR + number(n) + 1   modulo 2^64

    with the number that ranks have given that operation. A code says whether all up to it were
    the same, and two of them what the last one was.
    """

    def __init__(self, memory: Any, ranks: Sequence[int], mine: int) -> None:
        self.ranks = ranks
        self.rows: Any = np.frombuffer(memory, np.uint64).reshape(len(ranks), -1)
        width = LINE + KEPT
        self.mine = mine
        self.row: Any = memoryview(memory).cast("Q")[width * mine : width * (mine + 1)]
        self.address = self.rows[mine].ctypes.data

    @staticmethod
    def size(ranks: int) -> int:
        return 8 * (LINE + KEPT) * ranks

    def note(self, number: int) -> int:
        """This rank begins an operation: how many it has begun."""
        row = self.row
        last = row[0]
        code = row[LINE + last % KEPT] * FACTOR + number + 1
        row[LINE + (last + 1) % KEPT] = code & _ALL
        row[0] = last + 1
        return last + 1

    @property
    def count(self) -> int:
        return self.row[0]

    def leave(self, process: int) -> None:
        """This rank begins no more operations; a process forked of it has nothing to say."""
        if os.getpid() == process:
            self.row[1] = 1

    def absent(self, place: int) -> int | None:
        """A rank that has left before it came to an operation of this place."""
        for rank, row in zip(self.ranks, self.rows, strict=True):
            if row[1] and row[0] < place:
                return rank
        return None

    def gone(self, ranks: Sequence[int]) -> int | None:
        """One of these ranks if all of them have left; None of those that are not on the board."""
        left = [rank for rank, row in zip(self.ranks, self.rows, strict=True) if row[1]]
        return ranks[0] if ranks and set(ranks) <= set(left) else None

    def differing(self, place: int) -> tuple[int, int] | None:
        """A rank whose operation of this place was another one, and the number of that.

        None if all were the same that are known: those of ranks that have come as far.
        """
        codes = self.rows[:, LINE + place % KEPT]
        if (codes == codes[self.mine]).all():
            return None
        code = int(codes[self.mine])
        for rank, row in zip(self.ranks, self.rows, strict=True):
            theirs = int(row[LINE + place % KEPT])
            # After the code: what lies there may be overwritten meanwhile, before it is counted.
            if theirs != code and place <= row[0] < place + KEPT - 1:
                return rank, self._number(row, place)
        return None

    @staticmethod
    def _number(row: Any, place: int) -> int:
        code, before = (int(row[LINE + n % KEPT]) for n in (place, place - 1))
        return (code - before * FACTOR - 1) & _ALL

    def where(self, words: Callable[[int], str]) -> str:
        """Where the ranks stand that are not as far as this one, or at another operation."""
        mine = self.count
        lines = [f"; this is the operation {mine} of the group."]
        for k, (rank, row) in enumerate(zip(self.ranks, self.rows, strict=True)):
            count = int(row[0]) if k != self.mine else mine + 1  # this one is not told of itself
            if count > mine:
                continue
            last = self._number(row, count) if count else None
            if count < mine or last is None or last != self._number(self.row, mine):
                what = "none of them in this group" if last is None else words(last)
                said = what if last is None else f"the last of them {what}"
                lines.append(f"\n  rank {rank} has begun {count} operations, {said}")
        return "".join(lines)
