"""Blocks of rows: what is summed over its many rows is made some rows at a time.

A matrix of distances between points and centres has a row for each point. Where a derivative reads
it again and again, and sums over the points in the end, it goes through memory each time. Instead a
loop goes over the points, block by block, makes the rows of all that depends on them, which stay in
a near cache, and adds to the sums. `picks.py` says how rows of a result are made of rows of its
operands; what cannot be made so lies in memory before, and its rows are read.

Sums are taken in another order; those of narrow floats are kept in float64 meanwhile.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from wengert.arrays.facts import REDUCED_BY
from wengert.compile.program.bodies import Repeat
from wengert.compile.program.infer import statement
from wengert.compile.program.operations import astype, check, full, view
from wengert.compile.program.passes.dead import dead
from wengert.compile.program.passes.picks import MOVES
from wengert.compile.program.passes.rewrite import is_elementwise
from wengert.compile.program.program import Program, Shape, Statement, Value, mapped

LARGE = 1 << 22
"""Bytes of an array that no near cache holds."""
BLOCK = 1 << 18
"""Bytes of a block of the largest array that lies in memory meanwhile: it stays in a near cache."""
ROWS = 8
"""A block has a multiple of so many rows: loops over rows read others together with that many."""
FEWEST = 4
"""Blocks that are worth a loop."""
TRIED = 4
"""Sums, those of the largest arrays, whose rows are looked at."""
LAYOUTS = frozenset({np.reshape, np.transpose, np.broadcast_to, view})

Rows = tuple[Value, int]
"""An array, and the axis that its rows are numbered along."""


def in_blocks(program: Program) -> Program | None:
    """An equal program that makes large arrays some rows at a time; None if that cannot be."""
    if any(s.acts and s.function is not check for s in program.statements):
        return None  # what draws stays in its order
    sums = [(s, a) for s in program.statements for a in _long_axes(s)]
    sums.sort(key=lambda end: -end[0].args[0].nbytes)
    context = _Context(program, sums) if sums else None
    for s, axis in sums[:TRIED]:
        region = _Region(context, s, axis)  # type: ignore[arg-type]
        if region.rows and region.can_be_left():
            return region.program_of()
    return None


def _long_axes(s: Statement) -> list[int]:
    """The axes that a statement sums a large array over."""
    if s.function not in REDUCED_BY or len(s.args) != 1:
        return []
    x, axes = s.args[0], s.kwargs.get("axis")
    if type(x) is not Value or x.nbytes < LARGE or x.dtype.kind not in "fiu":
        return []
    return [a for a in axes or () if x.shape[a] >= FEWEST * ROWS]


class _Context:
    """A program, which sums over many rows there are in it, and what is asked about it often."""

    def __init__(self, program: Program, sums: list[tuple[Statement, int]]) -> None:
        self.program = program
        self.sums = sums
        self.number = {s: k for k, s in enumerate(program.statements)}
        self.made = {v: s for s in program.statements for v in s.outputs}
        self.users = program.users()


class _Region:
    """What a loop over `count` rows makes: sums over them, and all rows that these need.

    `needed` are the arrays whose rows are needed, in no order: made of others', or read.
    """

    def __init__(self, context: _Context, first: Statement, axis: int) -> None:
        self.program, self.number = context.program, context.number
        self.made, self.users = context.made, context.users
        self.count = first.args[0].shape[axis]
        self.ends = {first: axis}
        self.needed = self._needed_for((first.args[0], axis))
        for s, other in context.sums:
            self._join(s, other)
        large = [v.nbytes for v, _ in self.needed if self._lies(v)]
        self.rows = self._rows_of_a_block(max(large, default=0) // self.count)

    def _join(self, s: Statement, axis: int) -> None:
        """Have another sum over the same rows, if neither needs the other's result."""
        x = s.args[0]
        if s in self.ends or x.shape[axis] != self.count:
            return
        needed = self._needed_for((x, axis))
        shares = any(v.nbytes >= LARGE and (v, a) in self.needed for v, a in needed)
        if shares and not self._depend([*self.ends, s]):
            self.ends[s] = axis
            self.needed |= needed

    def _depend(self, statements: list[Statement]) -> bool:
        """Whether one of some statements needs what another makes."""
        own, last = set(statements), max(map(self.number.__getitem__, statements))
        after = {v for s in statements for v in s.outputs}
        for s in self.program.statements[: last + 1]:
            if any(v in after for v in s.inputs):
                if s in own:
                    return True
                after.update(s.outputs)
        return False

    # ---- which rows ---------------------------------------------------------------------------

    def _needed_for(self, rows: Rows) -> dict[Rows, Statement | None]:
        """The arrays whose rows are needed for those of one, each with what makes these."""
        needed: dict[Rows, Statement | None] = {}
        waiting = [rows]
        while waiting:
            v, axis = waiting.pop()
            if (v, axis) in needed:
                continue
            asked = _Asked(self.count)
            maker = self._moves(v)
            moved = MOVES[_kind(maker)](asked, maker, axis) if maker else None  # type: ignore[arg-type]
            needed[v, axis] = maker if moved is not None else None
            waiting += asked.rows if moved is not None else []
        return needed

    def _moves(self, v: Value) -> Statement | None:
        """What makes an array, if its rows may be made of others'. Products stay whole."""
        s = self.made.get(v)
        fine = s is not None and len(s.outputs) == 1 and s.function is not np.matmul
        return s if s is not None and fine and _kind(s) in MOVES else None

    def _lies(self, v: Value) -> bool:
        """Whether what is made block by block lies in memory, as what others compute of it."""
        s = self._moves(v)
        return s is not None and s.function in REDUCED_BY

    def _rows_of_a_block(self, nbytes: int) -> int:
        """How many rows are made at a time, of so many bytes each; 0 if that is not worth it."""
        most = min(BLOCK // max(nbytes, 1), self.count // FEWEST) // ROWS * ROWS
        if most < ROWS or not nbytes:
            return 0
        whole = (n for n in range(most, most // 2, -ROWS) if self.count % n == 0)
        return next(whole, most)

    def can_be_left(self) -> bool:
        """Whether nobody else reads what the loop makes, and all that it reads is in order."""
        own = {*self.ends, *(s for s in self.needed.values() if s)}
        results = set(self.program.results)
        for (v, axis), s in self.needed.items():
            if s is None:
                if any(n != 1 for n in v.shape[:axis]) and not self._is_full(v):
                    return False
            elif s.function not in LAYOUTS and not self._is_small(v):
                outside = any(user not in own for user in self.users[v])
                if outside or v in results:
                    return False
        return True

    def _is_full(self, v: Value) -> bool:
        s = self.made.get(v)
        return s is not None and s.function is full

    def _is_small(self, v: Value) -> bool:
        """Whether an array may be made once more for those who read it outside of the loop."""
        return v.nbytes < LARGE // 8

    # ---- the program --------------------------------------------------------------------------

    def program_of(self) -> Program:
        """The program with the loop, and another one for the rows that are left over."""
        whole, rest = divmod(self.count, self.rows)
        state = {s: self._begin(s) for s in self.ends}
        new = list(state.values())
        finals: dict[Statement, Value] = {s: begin.output for s, begin in state.items()}
        for start, length, rows in ((0, whole, self.rows), (whole * self.rows, 1, rest)):
            if rows:
                loop = _Loop(self, rows)
                before, repeat = loop.written(finals, start, length)
                new += [*before, repeat]
                finals = dict(zip(self.ends, repeat.outputs, strict=False))
        by = {}
        for s, final in finals.items():
            if final.dtype != s.output.dtype:
                new.append(statement(astype, final, s.output.dtype))
                final = new[-1].output
            by[s.output] = final
        return self._with(new, by)

    def _begin(self, s: Statement) -> Statement:
        """What a sum begins with."""
        out = s.output
        return statement(full, out.shape, _identity(s, out.dtype), _kept_as(s))

    def _with(self, new: list[Statement], by: dict[Value, Value]) -> Program:
        """The program with new statements, after all that do not depend on what they make."""
        program = copy.copy(self.program)
        program.constants = dict(program.constants)
        after = set(by)
        early: list[Statement] = []
        late: list[Statement] = []
        for s in self.program.statements:
            depends = any(v in after for v in s.inputs)
            if depends:
                after.update(s.outputs)
            if s not in self.ends:
                (late if depends else early).append(s)
        program.statements = [*early, *new, *late]
        program.substitute(by)
        return dead(program)


def _kind(s: Statement) -> Any:
    return "map" if is_elementwise(s.function) else s.function


def _kept_as(s: Statement) -> np.dtype[Any]:
    """The dtype of a sum under way."""
    dtype = s.output.dtype
    narrow = s.function is np.sum and dtype.kind in "fc"
    return np.result_type(dtype, np.float64) if narrow else dtype


def _identity(s: Statement, dtype: np.dtype[Any]) -> Any:
    """What changes nothing when it is combined with others."""
    if s.function in (np.max, np.min):
        lowest = s.function is np.max
        if dtype.kind == "f":
            return -np.inf if lowest else np.inf
        limits = np.iinfo(dtype)
        return limits.min if lowest else limits.max
    return dtype.type(REDUCED_BY[s.function].identity).item()


class _Asked:
    """Notes whose rows `picks` asks for, where it would compute with them."""

    def __init__(self, length: int) -> None:
        self.p = self
        self.length = length
        self.rows: list[Rows] = []

    def of(self, x: Value, axis: int) -> Value:
        self.rows.append((x, axis))
        return x

    def of_operand(self, x: Any, axis: int, rank: int) -> Any:
        own = axis - rank + len(x.shape) if type(x) is Value else -1
        return self.of(x, own) if own >= 0 and x.shape[own] != 1 else x

    def shape(self, shape: Shape, axis: int) -> Shape:
        return (*shape[:axis], self.length, *shape[axis + 1 :])

    def maker(self, value: Any, *functions: Any) -> None:
        return None

    def __call__(self, function: Any, *args: Any, **kwargs: Any) -> Value:
        return statement(function, *args, **kwargs).output


class _Loop(_Asked):
    """The body of a loop over blocks of rows, under construction."""

    def __init__(self, region: _Region, rows: int) -> None:
        super().__init__(rows)
        self.region = region
        self.body = Program()
        self.known: dict[Rows, Value] = {}
        self.own: set[Value] = set()
        self.xs: dict[Rows, Value] = {}
        self.around: dict[Value, Value] = {}

    def written(
        self, inits: dict[Statement, Value], start: int, length: int
    ) -> tuple[list[Statement], Statement]:
        """The loop over so many blocks from a row on; before it, what it reads of each array."""
        region, body = self.region, self.body
        number = region.number
        for (v, axis), s in sorted(
            region.needed.items(), key=lambda item: number[item[1]] if item[1] else -1
        ):
            self.known[v, axis] = self._rows(v, axis, s)
        states = {s: self._input(init.shape, init.dtype) for s, init in inits.items()}
        news = {}
        for s, axis in region.ends.items():
            part = self(s.function, self.of(s.args[0], axis), **s.kwargs)
            if part.dtype != states[s].dtype:
                part = self(astype, part, states[s].dtype)
            news[s] = self(REDUCED_BY[s.function], states[s], part)
        index = self._input((), np.int64)
        body.inputs = [index, *states.values(), *self.xs.values(), *self.around.values()]
        body.updates = {states[s]: news[s] for s in states}
        before: list[Statement] = []
        blocks = [self._blocks(before, v, axis, start, length) for v, axis in self.xs]
        repeat = Repeat(body, length, False, len(states), len(blocks))
        outputs = tuple(Value(v.shape, v.dtype) for v in states.values())
        args = (*inits.values(), *blocks, *self.around)
        first = next(iter(region.ends))
        return before, Statement(repeat, args, {}, outputs, first.code, first.at)

    def _blocks(
        self, before: list[Statement], v: Value, axis: int, start: int, length: int
    ) -> Value:
        """The blocks of an array's rows, one after the other."""
        stop = start + length * self.length
        if stop - start != v.shape[axis]:
            index = [slice(0, n, 1) for n in v.shape]
            index[axis] = slice(start, stop, 1)
            before.append(statement(view, v, tuple(index)))
            v = before[-1].output
        before.append(statement(np.reshape, v, (length, *self.shape(v.shape, axis))))
        return before[-1].output

    def _rows(self, v: Value, axis: int, s: Statement | None) -> Value:
        if s is not None:
            moved: Value = MOVES[_kind(s)](self, s, axis)  # type: ignore[arg-type]
            return moved
        if self.region._is_full(v):
            return self(full, self.shape(v.shape, axis), *self.region.made[v].args[1:])
        self.xs[v, axis] = self._input(self.shape(v.shape, axis), v.dtype)
        return self.xs[v, axis]

    def of(self, x: Value, axis: int) -> Value:
        return self.known[x, axis]

    def _input(self, shape: Shape, dtype: Any) -> Value:
        value = Value(shape, dtype)
        self.own.add(value)
        return value

    def __call__(self, function: Any, *args: Any, **kwargs: Any) -> Value:
        s = statement(function, *mapped(args, self._inside), **kwargs)
        self.body.statements.append(s)
        self.own.add(s.output)
        return s.output

    def _inside(self, v: Value) -> Value:
        """A value of the body, or what the body calls one from around it."""
        if v in self.own:
            return v
        if v not in self.around:
            self.around[v] = Value(v.shape, v.dtype, v.weak)
        return self.around[v]
