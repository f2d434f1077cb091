"""A program that needs less memory, and computes some of its statements more than once.

The statements are gone through in their order, with room for so many bytes. Where a value does not
fit beside those that are held, others are let go, and made again when one of their readers comes.
Let go is first what is cheap to make again, is large, and is not read for long (as in Kirisame et
al., "Dynamic tensor rematerialization", 2021; but here all readers are known). What it costs to
make a value again is all that has been let go around it: so what a chain of steps keeps lies about
evenly in it, be that a function, its derivative, or the derivative of that.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable

from wengert.compile.program.bodies import operations
from wengert.compile.program.operations import LAYOUTS, anew
from wengert.compile.program.program import Program, Statement, Value, mapped

AS_THEY_ARE = LAYOUTS | {anew}
"""What looks into the memory of its first argument."""

SMALL = 500
"""What takes less than this part of the room is always kept."""

OFTEN = 4
"""So many times the statements of a program are carried out at most."""

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


def held_by(program: Program) -> int:
    """How many bytes of values a program holds at most, one statement after the other."""
    return _Run(program, None).most


def lighter(program: Program, room: int, lasting: bool = False) -> Program | None:
    """An equal program that holds no more than so many bytes of values at a time.

    With `lasting` it also holds, while there is room, what is read no more, but would be to make
    others again: a second derivative goes along with chains that are none of what it reads. None if
    it takes too long, or a single statement needs more.
    """
    run = _Run(program, room, lasting)
    if run.most > room:
        return None
    leaner = copy.copy(program)
    leaner.statements = run.written
    return leaner


class _Costs:
    """What it costs to make again what has been let go: neighbours are made together.

    Those that are there again leave their groups, whose others stay one.
    """

    def __init__(self) -> None:
        self.away: set[Value] = set()
        self.above: dict[Value, Value] = {}
        self.costs: dict[Value, int] = {}

    def group(self, v: Value) -> Value:
        while (above := self.above[v]) is not v:
            self.above[v] = v = self.above[above]
        return v

    def add(self, v: Value, cost: int, neighbours: Iterable[Value]) -> None:
        self.away.add(v)
        self.costs.setdefault(one := self.group(v) if v in self.above else v, 0)
        self.above.setdefault(v, v)
        self.costs[one] += cost
        for other in {self.group(w) for w in neighbours if w in self.away} - {one}:
            self.above[other] = one
            self.costs[one] += self.costs.pop(other)

    def remove(self, v: Value, cost: int) -> None:
        if v in self.away:
            self.away.remove(v)
            self.costs[self.group(v)] -= cost

    def around(self, neighbours: Iterable[Value]) -> int:
        return sum(self.costs[g] for g in {self.group(w) for w in neighbours if w in self.away})


class _Run:
    """One walk through a program with room for so many bytes, or for all; `written` is what it
    carries out, and `most` how much it has held.
    """

    def __init__(self, program: Program, room: int | None, lasting: bool = False) -> None:
        self.room = room
        self.lasting = lasting
        self.makers = program.makers()
        # Both look through the bodies of loops: once for each statement, not at each choice.
        self.cost = {
            v: cost for s in program.statements for cost in [operations(s) + 1] for v in s.outputs
        }
        self.once = {v for s in program.statements if s.acts for v in s.outputs}
        self.reads: dict[Value, list[int]] = {}
        """Which statements read a value, or a view of it, the next one last."""
        self.beside: dict[Value, dict[Value, None]] = {}
        """What a value is made of, and what is made of it."""
        for k, s in reversed(list(enumerate(program.statements))):
            for v in dict.fromkeys(self.held(v) for v in s.inputs):
                if v in self.makers:
                    self.reads.setdefault(v, []).append(k)
                    for w in map(self.held, s.outputs):
                        if w is not v:
                            self.beside.setdefault(v, {})[w] = None
                            self.beside.setdefault(w, {})[v] = None
        self.kept = {self.held(v) for v in program.results}
        self.needed: dict[Value, int] = {}
        """The last statement that reads a value, or what is made of it, and so on."""
        for k, s in reversed(list(enumerate(program.statements))):
            last = max((self.needed[v] for v in s.outputs if v in self.needed), default=k)
            for v in s.inputs:
                self.needed[v] = max(last, self.needed.get(v, k))
        self.now: dict[Value, Value] = {}
        """What stands for each of the values that are there."""
        self.views: dict[Value, list[Value]] = {}
        """The views of each that are there."""
        self.costs = _Costs()
        self.bytes = self.most = self.mark = 0
        self.written: list[Statement] = []
        self.bound: set[Value] = set()
        """What is about to be read."""
        for k, s in enumerate(program.statements):
            if len(self.written) > OFTEN * len(program.statements):
                self.most = 1 << 62
                break
            self._carry_out(k, s)

    def held(self, v: Value) -> Value:
        """What holds the elements of a value."""
        while (s := self.makers.get(v)) is not None and s.function in AS_THEY_ARE:
            v = s.args[0]
        return v

    # ---- one statement --------------------------------------------------------------------------

    def _carry_out(self, k: int, s: Statement) -> None:
        self._bring([v for v in s.inputs if self._is_away(v)], k)
        self.bound = {self.held(v) for v in s.inputs}
        self._write(s.replaced(self._stands), s.outputs, k)
        self.bound = set()
        for v in {self.held(v) for v in (*s.inputs, *s.outputs)}:
            reads = self.reads.get(v, [])
            while reads and reads[-1] <= k:
                reads.pop()
            self._drop(v, k)

    def _drop(self, v: Value, k: int) -> None:
        """Let a value go that is read no more."""
        if not self.reads.get(v) and not (self.lasting and self.needed.get(v, k) > k):
            self._let_go(v)

    def _stands(self, v: Value) -> Value:
        return self.now.get(v, v)

    def _is_away(self, v: Value) -> bool:
        return v in self.makers and v not in self.now

    def _write(self, s: Statement, values: tuple[Value, ...], k: int) -> None:
        """Carry out a statement that makes these values, once there is room for them."""
        if s.function in AS_THEY_ARE:
            self.views.setdefault(self.held(values[0]), []).append(values[0])
        else:
            size = sum(map(self._size, values))
            self._make_room(size, k)
            self.bytes += size
            self.most = max(self.most, self.bytes)
        self.written.append(s)
        for v, w in zip(values, s.outputs, strict=True):
            self.now[v] = w
            self.costs.remove(v, self.cost[v])

    def _size(self, v: Value) -> int:
        """What is made of nothing is not in memory, results lie elsewhere, and what is small does
        not count."""
        small = self.room is not None and SMALL * v.nbytes < self.room
        return 0 if small or v in self.kept or not self.makers[v].inputs else v.nbytes

    # ---- what is let go, and made again ----------------------------------------------------------

    def _can_go(self, v: Value) -> bool:
        s = self.makers.get(v)
        return (
            s is not None
            and v in self.now
            and v not in self.bound
            and bool(self._size(v))
            and v not in self.once
            and s.function not in AS_THEY_ARE
        )

    def _let_go(self, v: Value) -> None:
        if not self._can_go(v):
            return
        self.bytes -= self._size(v)
        for view in (v, *self.views.pop(v, ())):
            self.now.pop(view, None)
        self.costs.add(v, self.cost[v], self.beside.get(v, ()))

    def _make_room(self, size: int, k: int) -> None:
        while self.room is not None and self.bytes + size > self.room:
            going = [v for v in self.now if self._can_go(v)]
            if not going:
                return
            self._let_go(min(going, key=lambda v: self._worth(v, k)))

    def _worth(self, v: Value, k: int) -> float:
        """What it costs to let a value go, for each byte and statement."""
        reads = self.reads.get(v)
        wait = (reads[-1] if reads else self.needed.get(v, k)) - k
        cost = self.cost[v] + self.costs.around(self.beside.get(v, ()))
        return cost / (v.nbytes * max(wait, 1))

    def _bring(self, asked: list[Value], k: int) -> None:
        """Make some values again, of what is there."""
        again, self.bound = self._again(asked)
        self.mark += 1
        left: dict[Value, int] = {}
        """By how many statements each value is still read."""
        reads = [[self.held(v) for v in dict.fromkeys(s.inputs)] for s in again]
        for v in (*map(self.held, asked), *(v for read in reads for v in read)):
            left[v] = left.get(v, 0) + 1
        marked: dict[Value, Value] = {}
        own = {v for s in again for v in s.outputs}
        for s, read in zip(again, reads, strict=True):
            for v in s.inputs:
                if v not in own and v not in marked and not v.weak:
                    marked[v] = _like(v)
                    args = (self._stands(v), self.mark)
                    self.written.append(Statement(anew, args, {}, (marked[v],), s.code, s.at))
            by = {v: marked.get(v) or self._stands(v) for v in s.inputs}
            new = tuple(map(_like, s.outputs))
            args, kwargs = mapped(s.args, by.__getitem__), mapped(s.kwargs, by.__getitem__)
            self._write(Statement(s.function, args, kwargs, new, s.code, s.at), s.outputs, k)
            self.bound.update(map(self.held, s.outputs))
            for v in read:
                left[v] -= 1
            for v in {*read, *map(self.held, s.outputs)}:
                if not left.get(v):
                    self.bound.discard(v)
                    self._drop(v, k)

    def _again(self, asked: list[Value]) -> tuple[list[Statement], set[Value]]:
        """The statements that make some values, and of what is there they do."""
        again: dict[Statement, None] = {}
        there: set[Value] = set()
        pending = [(v, False) for v in asked]
        while pending:  # depth first, each once: a statement comes after the makers of its inputs
            v, ready = pending.pop()
            if not self._is_away(v):
                there.add(self.held(v))
                continue
            s = self.makers[v]
            if ready:
                again[s] = None
            elif s not in again:
                pending.append((v, True))
                pending += [(x, False) for x in s.inputs]
        return list(again), there


def _like(v: Value) -> Value:
    new = Value(v.shape, v.dtype, v.weak)
    new.bounds = v.bounds
    return new
