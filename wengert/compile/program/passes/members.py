"""Members of a batch: what is made of each by itself is made of one after the other.

A product of batches of matrices, and what is computed of it element by element, is the same for
each member: components of a mixture, heads of attention, networks of an ensemble. Together they are
large arrays that go through memory time after time. Instead a loop goes over the members, some at a
time, and keeps what others read of each. What needs something of all members, as a log-sum-exp over
components does, comes between two loops; the second one makes large arrays again rather than read
them, where that takes no longer. `picks.py` says how members of a result are made of members of its
operands.
"""

from __future__ import annotations

import copy

import numpy as np

from wengert.compile.program.infer import Calls
from wengert.compile.program.operations import check
from wengert.compile.program.passes.blocks import (
    BLOCK,
    FEWEST,
    LARGE,
    NARROW,
)
from wengert.compile.program.passes.dead import dead
from wengert.compile.program.passes.picks import picked
from wengert.compile.program.passes.row_loops import (
    Asked,
    Loop,
    Rows,
    in_a_row,
    in_order,
    is_full,
)
from wengert.compile.program.program import Program, Statement, Value

SMALL = LARGE // 8
"""Bytes of an array that is computed for all members at once, and lies in memory."""


def by_members(program: Program) -> Program | None:
    """An equal program that makes large arrays some members of a batch at a time; None if there
    are none."""
    if any(s.acts and s.function is not check for s in program.statements):
        return None  # what draws stays in its order
    products = [s for s in program.statements if s.function is np.matmul]
    batches = [v for s in products for v in (s.output, *s.args) if len(v.shape) > 2]
    batches = [v for v in batches if v.nbytes >= LARGE and v.shape[0] >= FEWEST]
    if not batches:
        return None
    batch = _Batch(program, max(batches, key=lambda v: v.nbytes))
    return batch.program_of() if batch.loops else None


class _Batch:
    """What is made of each member by itself, and when.

    `axes` are the arrays that loops make, and the axis that their members are numbered along.
    `levels` are how many loops come before what makes a value, or before a statement. `loops` say
    for each level what a loop hands over.
    """

    def __init__(self, program: Program, largest: Value) -> None:
        self.program = program
        self.made = program.makers()
        self.users = program.users()
        self.results = set(program.results)
        self.count = largest.shape[0]
        most = max(1, BLOCK * self.count // largest.nbytes)
        self.together = max(n for n in range(1, most + 1) if self.count % n == 0)
        self.axes: dict[Value, int] = {}
        self.levels: dict[Value, int] = {}
        self.times: dict[Statement, int] = {}
        self._settle(self._found(largest))
        self._settle(self._without_ends())
        self.leaves = self._read_whole()
        self.loops = self._planned() if self.together < self.count else {}
        if not all(
            s or self._lies_in_reach(*row) for n in self.loops.values() for row, s in n.items()
        ):
            self.loops = {}

    # ---- which arrays -------------------------------------------------------------------------

    def _rows(self, v: Value, axis: int) -> list[Rows] | None:
        """What an array's members are made of, by members; None if they are not."""
        s = self.made.get(v)
        if s is None or len(s.outputs) != 1 or not picked(s):
            return None
        asked = Asked(self.count)
        if picked(s)(asked, s, axis) is None:
            return None
        shared = s.function is np.matmul and len(asked.rows) < 2
        return None if shared and s.args[0].shape[-1] > NARROW else asked.rows

    def _of(self, user: Statement, v: Value, axis: int) -> Rows | None:
        """What a statement makes of members of an array, if it makes members."""
        for out in user.outputs:
            for k, n in enumerate(out.shape):
                if n == self.count and (v, axis) in (self._rows(out, k) or ()):
                    return out, k
        return None

    def _found(self, largest: Value) -> dict[Value, int]:
        """The arrays that members of one are made of, and all that is made of members of these."""
        axes: dict[Value, int] = {}
        waiting = [(largest, 0)]
        while waiting:
            v, axis = waiting.pop()
            if v not in axes:
                axes[v] = axis
                waiting += [(x, k) for x, k in self._rows(v, axis) or () if x.nbytes >= SMALL]
                outs = [self._of(user, v, axis) for user in self.users.get(v, ())]
                waiting += [out for out in outs if out]
        return axes

    def _settle(self, axes: dict[Value, int]) -> None:
        """Which of them loops make, and after how many loops."""
        self.axes = {}
        for s in self.program.statements:
            level = self._level(s, [])
            v = s.outputs[0] if s.outputs else None
            rows = self._rows(v, axes[v]) if v in axes else None
            if v is not None and rows is not None and all(self._in_reach(*row) for row in rows):
                inside = self._level(s, [x for x, _ in rows])
                follows = any(x in self.axes and self.levels[x] == inside for x, _ in rows)
                if inside == 0 or follows or v.nbytes >= LARGE:  # others lie between two loops
                    level, self.axes[v] = inside, axes[v]
            self.levels.update(dict.fromkeys(s.outputs, level))
            self.times[s] = level

    def _level(self, s: Statement, apart: list[Value]) -> int:
        """How many loops come before a statement, if it needs members of some arrays apart."""
        pairs = ((self.levels.get(x, 0), x in self.axes and x not in apart) for x in s.inputs)
        return max((level + whole for level, whole in pairs), default=0)

    def _without_ends(self) -> dict[Value, int]:
        """What is left for loops, if others make what these do not go on from: of all members at
        once, where it is made of no more than it is itself."""
        left = dict(self.axes)

        def is_read(x: Value, inside: bool) -> bool:
            users = self.users.get(x, ())
            return any((user.outputs[:1] and user.outputs[0] in left) == inside for user in users)

        for s in reversed(self.program.statements):
            v = s.outputs[0] if s.outputs else None
            if v not in left or v.nbytes >= LARGE or is_read(v, inside=True):
                continue
            own = [x for x, _ in self._needs(s) if x in left and not is_read(x, inside=False)]
            if sum(x.nbytes for x in own) <= v.nbytes:
                del left[v]
        return left

    def _in_reach(self, x: Value, axis: int) -> bool:
        """Whether a loop can take members of an array along an axis."""
        return self.axes[x] == axis if x in self.axes else self._lies_in_reach(x, axis)

    def _lies_in_reach(self, x: Value, axis: int) -> bool:
        """Whether members follow one another in memory."""
        return is_full(self.made, x) or all(n == 1 for n in x.shape[:axis])

    # ---- what loops do ------------------------------------------------------------------------

    def _read_whole(self) -> set[Value]:
        """The arrays made by loops that others need whole."""
        whole = self.results & self.axes.keys()
        for s in self.program.statements:
            rows = self._needs(s)
            whole.update(x for x in s.inputs if x in self.axes and (x, self.axes[x]) not in rows)
        return whole

    def _needs(self, s: Statement) -> list[Rows]:
        """The members that a statement in a loop needs."""
        v = s.outputs[0] if s.outputs else None
        return (self._rows(v, self.axes[v]) or []) if v in self.axes else []

    def _planned(self) -> dict[int, dict[Rows, Statement | None]]:
        """For each loop, what it makes, or reads where there is no statement."""
        loops: dict[int, dict[Rows, Statement | None]] = {}
        for level in sorted({self.levels[v] for v in self.axes}, reverse=True):
            needed: dict[Rows, Statement | None] = {}
            waiting = list(self._leaves(level).items())
            while waiting:
                v, axis = waiting.pop()
                if (v, axis) in needed:
                    continue
                later = self.levels.get(v, 0) < level
                if v not in self.axes or (later and self._stays(v)):
                    needed[v, axis] = None
                    self.leaves |= {v} & self.axes.keys()
                else:
                    needed[v, axis] = self.made[v]
                    waiting += self._needs(self.made[v])
            if needed:
                loops[level] = needed
        return loops

    def _leaves(self, level: int) -> dict[Value, int]:
        """What a loop hands over, in the order of the program."""
        axes = self.axes.items()
        return {v: k for v, k in axes if v in self.leaves and self.levels[v] == level}

    def _stays(self, v: Value) -> bool:
        """Whether an array lies in memory from one loop to another: it is small beside what it is
        made of, others read it, or to make it again would take longer."""
        if v in self.leaves:
            return True
        making, seen = [v], {v}
        for x in making:
            s = self.made[x]
            if s.function is np.matmul and s.args[0].shape[-1] > NARROW:
                return True
            for y, _ in self._needs(s):
                if y in self.axes and y not in self.leaves and y not in seen:
                    making.append(y)
                    seen.add(y)
        return FEWEST * v.nbytes <= max(x.nbytes for x in making)

    def program_of(self) -> Program:
        """The program with the loops, each after all that it reads."""
        program = copy.copy(self.program)
        program.constants = dict(program.constants)
        program.statements = []
        by: dict[Value, Value] = {}
        for level in range(max(self.times.values()) + 1):
            program.statements += [
                s for s, time in self.times.items() if time == level and not self._is_made_inside(s)
            ]
            if level in self.loops:
                leaves = self._leaves(level)
                needed = in_order(self.loops[level], self.program)
                makers = {v: s for v, s in self.made.items() if v not in self.axes}
                makers |= {v: s for (v, _), s in needed.items() if s}
                loop = Loop(needed, leaves, makers, self.together)
                before, repeat = loop.written([], [], 0, self.count // self.together)
                program.statements += [*before, repeat]
                for (v, axis), piece in zip(leaves.items(), repeat.outputs, strict=True):
                    by[v] = in_a_row(Calls(program.statements), piece, axis)
        program.substitute(by)
        return dead(program)

    def _is_made_inside(self, s: Statement) -> bool:
        return any(v in self.axes for v in s.outputs)
