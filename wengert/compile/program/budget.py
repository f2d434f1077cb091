"""A program that needs less memory, and computes some of its statements twice.

Most memory is needed at some time, in a derivative about where its backward half begins. What is
made before and read after lies there meanwhile. To keep less, the statements before that time are
cut into segments, where few bytes go from one to the next: only these are kept, and a segment is
carried out again when what it made is first asked for (Chen et al., 2016). The last one is not: it
has just run.
"""

from __future__ import annotations

import copy
import itertools
import re
from typing import Any

import numpy as np

from wengert.compile.program.again import computed_again
from wengert.compile.program.operations import LAYOUTS, anew
from wengert.compile.program.program import Program, Statement, Value, mapped

AS_THEY_ARE = LAYOUTS | {anew}
"""What looks into the memory of its first argument."""

COUNTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Into how many segments a program is cut, one after the other, until it needs little enough."""

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def bytes_of(memory: object) -> int:
    """How many bytes are meant.

    >>> bytes_of("200MB"), bytes_of("1.5 KiB"), bytes_of(4096)
    (200000000, 1536, 4096)
    """
    if type(memory) is int and memory > 0:
        return memory
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]i?)?b?\s*", str(memory).lower())
    if type(memory) is not str or match is None or not float(match[1]):
        raise ValueError(
            f"memory is {memory!r}, but it has to be a number of bytes, or a text like '200MB'."
        )
    return int(float(match[1]) * _UNITS[match[2] or ""])


def lighter(program: Program, count: int) -> Program:
    """An equal program that keeps of its values those that go between `count` segments."""
    times = _Times(program)
    leaner = copy.copy(program)
    leaner.statements = list(program.statements)
    inserted: dict[int, list[Statement]] = {}
    for mark, (start, stop) in enumerate(itertools.pairwise([0, *times.cuts(count)])):
        asked = [v for v in times.late if start <= times.birth[v] < stop]
        segment = _Segment(times, start, stop, mark)
        again = segment.again(asked)
        if not again:
            continue
        first = min(times.late[v] for v in asked)
        inserted.setdefault(first, []).extend(again)
        leaner.statements[first:] = [s.replaced(segment.now) for s in leaner.statements[first:]]
    leaner.statements = [
        s for k, own in enumerate(leaner.statements) for s in (*inserted.get(k, ()), own)
    ]
    return leaner


class _Times:
    """When values are made and read, by the numbers of statements; `peak` is when most are held.

    `late` are values from before the peak that can be made again and are read after it, and when
    that is first.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.makers = {v: s for s in program.statements for v in s.outputs}
        self.birth = {v: k for k, s in enumerate(program.statements) for v in s.outputs}
        self.reads: dict[Value, list[int]] = {v: [] for v in self.birth}
        for k, s in enumerate(program.statements):
            for v in dict.fromkeys(s.inputs):
                if v in self.reads:
                    self.reads[v].append(k)
                if (held := self.held(v)) is not v and held in self.reads:
                    self.reads[held].append(k)
        self.peak = self._peak()
        results = set(program.results)
        self.late: dict[Value, int] = {}
        for v, reads in self.reads.items():
            after = [k for k in reads if k > self.peak]
            if after and self.birth[v] <= self.peak and v not in results:
                self.late[v] = min(after)

    def held(self, v: Value) -> Value:
        """What holds the elements of a value."""
        while (s := self.makers.get(v)) is not None and s.function in AS_THEY_ARE:
            v = s.args[0]
        return v

    def _peak(self) -> int:
        change = np.zeros(len(self.program.statements) + 1, np.int64)
        for v, reads in self.reads.items():
            if reads and self.held(v) is v:
                change[self.birth[v]] += v.nbytes
                change[max(reads)] -= v.nbytes
        return int(np.argmax(np.cumsum(change)))

    def cuts(self, count: int) -> list[int]:
        """Where segments end: each has about as much to be made again, and hands on little."""
        kept = np.zeros(self.peak + 2, np.int64)  # what goes from before a statement to behind
        weight = np.zeros(self.peak + 2, np.int64)
        for v, reads in self.reads.items():
            born = self.birth[v]
            before = [k for k in reads if k <= self.peak]
            if self.held(v) is not v or born > self.peak:
                continue
            if before:
                kept[born + 1 : max(before) + 1] += v.nbytes
            if v in self.late:
                weight[born] += v.nbytes
        total = np.cumsum(weight)
        cuts = []
        for k in range(1, count):
            low, high = total[-1] * (k - 0.5) / count, total[-1] * (k + 0.5) / count
            places = np.nonzero((total >= low) & (total < high))[0] + 1
            places = places[places <= self.peak]
            if places.size:
                cuts.append(int(places[np.argmin(kept[places])]))
        return sorted(set(cuts))


class _Segment:
    """Statements that are carried out again; `by` says what takes the place of what they made."""

    def __init__(self, times: _Times, start: int, stop: int, mark: int) -> None:
        self.times = times
        self.start, self.stop, self.mark = start, stop, mark
        self.by: dict[Value, Value] = {}
        self.made: list[Statement] = []

    def again(self, asked: list[Value]) -> list[Statement]:
        """The statements that make again what is asked for."""
        statements = computed_again(asked, self._maker, self._price)
        own = {v for s in statements for v in s.outputs}
        for s in statements:
            for v in s.inputs:
                if v not in own and v not in self.by and not v.weak:
                    self._append(anew, (v, self.mark), {}, (v,), s)
            self._append(
                s.function, mapped(s.args, self.now), mapped(s.kwargs, self.now), s.outputs, s
            )
        kept = {v for v in self.by if v not in own}
        self.by = {v: w for v, w in self.by.items() if v not in kept}
        return self.made

    def _maker(self, v: Value) -> Statement | None:
        s = self.times.makers.get(v)
        inside = s is not None and self.start <= self.times.birth[v] < self.stop
        return s if inside and not (s and s.acts) else None

    def _price(self, v: Value) -> int:
        """What comes from before the segment is there."""
        return v.nbytes + 1 if self._maker(v) is not None else 0

    def now(self, v: Value) -> Value:
        """What takes the place of a value."""
        return self.by.get(v, v)

    def _append(
        self, function: Any, args: Any, kwargs: Any, outputs: tuple[Value, ...], s: Statement
    ) -> None:
        new = tuple([Value(v.shape, v.dtype, v.weak) for v in outputs])
        for v, w in zip(outputs, new, strict=True):
            w.bounds = v.bounds
            self.by[v] = w
        self.made.append(Statement(function, args, kwargs, new, s.code, s.at))
