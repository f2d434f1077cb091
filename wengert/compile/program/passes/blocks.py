"""Blocks of rows: what many rows come together from is made some rows at a time.

A matrix of distances between points and centres has a row for each point. Where a derivative reads
it again and again, and sums over the points in the end, it goes through memory each time; so does a
product of matrices of which the least of each row is looked for. Instead a loop goes over the
points, block by block, makes the rows of all that depends on them, which stay in a near cache, adds
to the sums, and hands over the few numbers of each row that others read. `picks.py` says how rows
of a result are made of rows of its operands; what cannot be made so lies in memory before, and its
rows are read. A product of matrices is a row of results for each of the first one's, and a sum over
the rows of both, where it adds these up.

Sums are taken in another order; those of narrow floats are kept in float64 meanwhile.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from wengert.arrays.facts import REDUCED_BY
from wengert.compile.program.bodies import Repeat
from wengert.compile.program.infer import Calls, statement
from wengert.compile.program.operations import LAYOUTS, astype, check, full, view
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
from wengert.compile.program.passes.row_repeats import Rowwise
from wengert.compile.program.program import Program, Statement, Value

LARGE = 1 << 22
"""Bytes of an array that no near cache holds."""
INSIDE = 1 << 18
"""Bytes that are large in the body of a loop, which goes through them time after time."""
BLOCK = 1 << 17
"""Bytes of a block of the largest array that lies in memory meanwhile: it stays in a near cache."""
OF_PRODUCTS = 1 << 20
"""That many where matrices are multiplied, which takes long for few rows."""
NARROW = 64
"""A product of matrices adds up so many products at most, if it is made in blocks: to write its
result, and read it again, takes as long as to compute it."""
ROWS = 8
"""A block has a multiple of so many rows: loops over rows read others together with that many."""
FEWEST = 4
"""Blocks that are worth a loop."""
TRIED = 4
"""Ends, those of the largest arrays, whose rows are looked at."""
POSITIONS = frozenset({np.argmin, np.argmax})


def in_blocks(program: Program, large: int) -> Program | None:
    """An equal program that makes arrays that are `large` some rows at a time; None if that cannot
    be. Of the largest it takes the most rows."""
    if any(s.acts and s.function is not check for s in program.statements):
        return None  # what draws stays in its order
    ends = [end for s in program.statements for end in _ends(s, large)]
    ends.sort(key=lambda end: (-end.nbytes, -end.extent))
    context = _Context(program, ends, large) if ends else None
    for end in ends[:TRIED]:
        if end.nbytes >= large:
            region = _Region(context, end)  # type: ignore[arg-type]
            if region.rows and region.can_be_left():
                return region.program_of()
    return None


class _End(NamedTuple):
    """Where rows come together: in a sum over them, or in the rows of a small result.

    `rows` are those that it needs. A sum is combined by a function, other results by none. Sums
    that a loop over rows makes go on from one block to the next.
    """

    statement: Statement
    rows: tuple[Rows, ...]
    combine: Any = None
    loop: Rowwise | None = None

    @property
    def extent(self) -> int:
        x, axis = self.rows[0]
        return x.shape[axis]

    @property
    def nbytes(self) -> int:
        return max(v.nbytes for v in self.statement.inputs)

    @property
    def outputs(self) -> list[Value]:
        return self.loop.totals if self.loop else [self.statement.output]

    def begin(self, new: list[Statement]) -> list[Value]:
        """What sums begin with."""
        if self.loop:
            return self.loop.begins
        out = self.statement.output
        new.append(statement(full, out.shape, _identity(self.combine, out.dtype), self.kept_as))
        return [new[-1].output]

    @property
    def kept_as(self) -> np.dtype[Any]:
        """The dtype of a sum under way."""
        dtype = self.statement.output.dtype
        narrow = self.statement.function is np.sum and dtype.kind in "fc"
        return np.result_type(dtype, np.float64) if narrow else dtype

    def part(self, loop: Loop) -> Value:
        """The sum of a block."""
        s = self.statement
        return loop(s.function, *(loop.of(*rows) for rows in self.rows), **s.kwargs)


def _ends(s: Statement, large: int) -> list[_End]:
    """The ways that a statement may be the end of rows: sums over them, and few numbers of each."""
    if isinstance(s.function, Repeat):
        ways = [Rowwise(s, n, (), sums=True) for n in _lengths(s.function) if _is_long(n)]
        return [
            _End(s, tuple(loop.rows), np.add, loop)
            for loop in ways
            if loop.fits and loop.sums and loop.rows
        ]
    if s.function is np.matmul:
        a, b = s.args
        fits = min(len(a.shape), len(b.shape)) >= 2 and a.dtype.kind == "f"
        rows = (a, len(a.shape) - 1), (b, len(b.shape) - 2)
        return [_End(s, rows, np.add)] if fits and _is_long(a.shape[-1]) else []
    if (s.function not in REDUCED_BY and s.function not in POSITIONS) or len(s.args) != 1:
        return []
    x, axes = s.args[0], s.kwargs.get("axis")
    if type(x) is not Value or x.dtype.kind not in "fiu" or axes is None:
        return []
    axes = axes if isinstance(axes, tuple) else (axes,)
    over = axes if s.function in REDUCED_BY else ()
    sums = [_End(s, ((x, a),), REDUCED_BY[s.function]) for a in over if _is_long(x.shape[a])]
    out = s.output
    if x.nbytes < large or out.nbytes >= large:
        return sums
    return [*sums, *(_End(s, ((out, a),)) for a, n in enumerate(out.shape) if _is_long(n))]


def _lengths(repeat: Repeat) -> set[int]:
    """How many are added up in the body of a loop."""
    summed = [s for s in repeat.body.statements if s.function in (np.sum, np.matmul)]
    axes = ((s, s.kwargs.get("axis", (-1,))) for s in summed)
    return {s.args[0].shape[a] for s, over in axes for a in over if s.args[0].shape}


def _is_long(n: int) -> bool:
    return n >= FEWEST * ROWS


class _Context:
    """A program, the ends of rows in it, and what is asked about it often."""

    def __init__(self, program: Program, ends: list[_End], large: int) -> None:
        self.program, self.large = program, large
        self.ends = ends
        self.number = {s: k for k, s in enumerate(program.statements)}
        self.made = program.makers()
        self.users = program.users()


class _Region:
    """What a loop over `count` rows makes: sums over them, some of their numbers, and all rows that
    these need.

    `needed` are the arrays whose rows are needed, in no order: made of others', or read. `whole`
    are those of which each row needs all.
    """

    def __init__(self, context: _Context, first: _End) -> None:
        self.program, self.number, self.large = context.program, context.number, context.large
        self.made, self.users = context.made, context.users
        self.results = set(self.program.results)
        self.count = first.extent
        self.needed: dict[Rows, Statement | None] = {}
        self.whole: set[Value] = set()
        self.sums: list[_End] = []
        self.leaves: dict[Value, int] = {}
        if not self._joined(first):
            self.rows = 0
            return
        for end in context.ends:
            if end.combine:
                self._join(end)
        large = [v.nbytes for (v, _), s in self.needed.items() if s and self._lies(v, s)]
        self.rows = self._rows_of_a_block(max(large, default=0) // self.count)

    def _join(self, end: _End) -> None:
        """Have another end of the same rows, if the loop needs no result of its own whole."""
        if end.extent == self.count and all(end.statement is not s.statement for s in self.sums):
            needed, _ = self._needed_for(end.rows)
            shares = any(v.nbytes >= self.large and (v, a) in self.needed for v, a in needed)
            loops = {one.statement for one in self._repeats()}
            if shares or not loops.isdisjoint((end.statement, *needed.values())):
                self._joined(end)

    def _joined(self, end: _End) -> bool:
        """Take an end in, if what the loop then needs is there before it."""
        needed, whole = self._needed_for(end.rows)
        whole |= end.loop.whole if end.loop else set()
        before = self.needed, self.whole, self.sums, self.leaves
        self.needed, self.whole = self.needed | needed, self.whole | whole
        self.sums = [*self.sums, end] if end.combine else self.sums
        self.leaves = self.leaves if end.combine else self.leaves | dict(end.rows)
        if self._is_ready():
            return True
        self.needed, self.whole, self.sums, self.leaves = before
        return False

    def _is_ready(self) -> bool:
        """Whether nothing that is read, whole or by rows, depends on what the loop makes."""
        after = {*self.leaves, *(v for end in self.sums for v in end.outputs)}
        read = self.whole | {v for (v, _), s in self.needed.items() if s is None}
        first = min(self.number[self.made[v]] for v in after)
        for s in self.program.statements[first + 1 :]:
            if any(v in after for v in s.inputs):
                after.update(s.outputs)
        return read.isdisjoint(after)

    # ---- which rows ---------------------------------------------------------------------------

    def _needed_for(
        self, rows: tuple[Rows, ...]
    ) -> tuple[dict[Rows, Statement | None], set[Value]]:
        """The arrays whose rows are needed for some, each with what makes these; and those of which
        all is needed.
        """
        needed: dict[Rows, Statement | None] = {}
        whole: set[Value] = set()
        waiting = list(rows)
        while waiting:
            v, axis = waiting.pop()
            if (v, axis) in needed:
                continue
            asked = Asked(self.count)
            maker = self._moves(v)
            if maker and isinstance(maker.function, Repeat):
                loop = Rowwise(maker, self.count, [(v, axis)], sums=False)
                needed[v, axis] = maker if loop.fits else None
                waiting += loop.rows if loop.fits else ()
                whole |= loop.whole if loop.fits else set()
                continue
            moved = picked(maker)(asked, maker, axis) if maker else None
            needed[v, axis] = maker if moved is not None else None
            if maker and moved is not None:
                waiting += asked.rows
                others = list(maker.inputs)
                for x, _ in asked.rows:
                    others.remove(x)
                whole.update(others)
        return needed, whole

    def _moves(self, v: Value) -> Statement | None:
        """What makes an array, if its rows may be made of others'. Wide products stay whole."""
        s = self.made.get(v)
        if s is not None and isinstance(s.function, Repeat):
            return s
        if s is None or len(s.outputs) != 1 or not picked(s):
            return None
        if s.function is view and self._moves(s.args[0]) is None:
            return None  # its rows may lie together where those of all do not
        return None if s.function is np.matmul and s.args[0].shape[-1] > NARROW else s

    def _lies(self, v: Value, s: Statement) -> bool:
        """Whether what is made block by block lies in memory, as what others compute of it."""
        multiplied = any(user.function is np.matmul for user in self.users.get(v, ()))
        whole = s.function in REDUCED_BY or s.function is np.matmul
        return whole or multiplied or isinstance(s.function, Repeat)

    def _rows_of_a_block(self, nbytes: int) -> int:
        """How many rows are made at a time, of so many bytes each; 0 if that is not worth it."""
        own = [end.statement for end in self.sums] + [s for s in self.needed.values() if s]
        block = OF_PRODUCTS if any(s.function is np.matmul for s in own) else BLOCK
        most = min(block // max(nbytes, 1), self.count // FEWEST) // ROWS * ROWS
        if most < ROWS or not nbytes:
            return 0
        whole = (n for n in range(most, most // 2, -ROWS) if self.count % n == 0)
        return next(whole, most)

    def can_be_left(self) -> bool:
        """Whether nobody else reads what is large, and all that the loop reads is in order.

        What others read of it, and is small, it hands over; or it is made once more for them.
        """
        self._hand_over_states()
        for (v, axis), s in self.needed.items():
            if s is None and any(n != 1 for n in v.shape[:axis]) and not is_full(self.made, v):
                return False
        large, loops = self._of_large(), self._repeats()  # these keep more than a result
        for (v, axis), s in self.needed.items():
            if s is None or not self._is_read_outside(v):
                continue
            may = v.nbytes < self.large or (loops and not axis)
            if v not in large:
                if s.function not in LAYOUTS and not self._is_small(v):
                    return False
            elif not (may and self._joined(_End(s, ((v, axis),)))):
                return False
        self.leaves = {v: axis for v, axis in self.leaves.items() if self._is_read_outside(v)}
        return all(map(self._may_go, self._repeats()))

    def _hand_over_states(self) -> None:
        """Have the loop make the rows of what others read of a state."""
        for loop in self._repeats():
            s = loop.statement
            for v in s.outputs[: loop.repeat.carries]:
                if v not in loop.totals and self.count in v.shape and self._is_read_outside(v):
                    self._joined(_End(s, ((v, v.shape.index(self.count)),)))

    def _repeats(self) -> list[Rowwise]:
        """How loops make what is needed of them."""
        asked: dict[Statement, list[Rows]] = {}
        for rows, s in self.needed.items():
            if s and isinstance(s.function, Repeat):
                asked.setdefault(s, []).append(rows)
        summed = [end.statement for end in self.sums if end.loop]
        return [
            Rowwise(s, self.count, asked.get(s, ()), s in summed)
            for s in dict.fromkeys((*asked, *summed))
        ]

    def _may_go(self, loop: Rowwise) -> bool:
        """Whether a loop makes all that is needed of it, and nothing else is read of it."""
        handed = {*self.leaves, *loop.totals}
        left = [v for v in loop.statement.outputs if v not in handed]
        return loop.fits and not any(map(self._is_read_outside, left))

    def _of_large(self) -> set[Value]:
        """What the loop makes that is large, or that loops make, or that is computed of such."""
        rows = {v: s for (v, _), s in self.needed.items() if s}
        large: set[Value] = set()
        for v, s in sorted(rows.items(), key=lambda item: self.number[item[1]]):
            own = v.nbytes >= self.large and s.function not in LAYOUTS
            own = own or isinstance(s.function, Repeat)
            if own or any(x in large for x in s.inputs):
                large.add(v)
        return large

    def _is_read_outside(self, v: Value) -> bool:
        own = {*(end.statement for end in self.sums), *(s for s in self.needed.values() if s)}
        outside = any(user not in own for user in self.users.get(v, ()))
        return outside or v in self.results

    def _is_small(self, v: Value) -> bool:
        """Whether an array may be made once more for those who read it outside of the loop."""
        return v.nbytes < self.large // 8

    # ---- the program --------------------------------------------------------------------------

    def program_of(self) -> Program:
        """The program with the loop, and another one for the rows that are left over."""
        whole, rest = divmod(self.count, self.rows)
        new: list[Statement] = []
        call = Calls(new)
        finals = [v for end in self.sums for v in end.begin(new)]
        sums = [v for end in self.sums for v in end.outputs]
        parts: dict[Value, list[Value]] = {v: [] for v in self.leaves}
        for start, length, rows in ((0, whole, self.rows), (whole * self.rows, 1, rest)):
            if rows:
                repeats = {one.statement: one for one in self._repeats()}
                needed = in_order(self.needed, self.program)
                loop = Loop(needed, self.leaves, self.made, rows, repeats)
                before, repeat = loop.written(finals, self.sums, start, length)
                new += [*before, repeat]
                finals = list(repeat.outputs[: len(finals)])
                leaves = zip(self.leaves.items(), repeat.outputs[len(finals) :], strict=True)
                for (v, axis), piece in leaves:
                    parts[v].append(in_a_row(call, piece, axis))
        by = {}
        for out, final in zip(sums, finals, strict=True):
            if final.dtype != out.dtype:
                final = call(astype, final, out.dtype)
            by[out] = final
        for v, pieces in parts.items():
            several = len(pieces) > 1
            by[v] = (
                call(np.concatenate, tuple(pieces), axis=self.leaves[v]) if several else pieces[0]
            )
        return self._with(new, by)

    def _with(self, new: list[Statement], by: dict[Value, Value]) -> Program:
        """The program with new statements, after all that do not depend on what they make."""
        program = copy.copy(self.program)
        program.constants = dict(program.constants)
        ends = {self.made[v] for v in by}
        after = set(by)
        early: list[Statement] = []
        late: list[Statement] = []
        for s in self.program.statements:
            depends = any(v in after for v in s.inputs)
            if depends:
                after.update(s.outputs)
            if s not in ends:
                (late if depends else early).append(s)
        program.statements = [*early, *new, *late]
        program.substitute(by)
        return dead(program)


def _identity(combine: Any, dtype: np.dtype[Any]) -> Any:
    """What changes nothing when it is combined with others."""
    if combine in (np.maximum, np.minimum):
        lowest = combine is np.maximum
        if dtype.kind == "f":
            return -np.inf if lowest else np.inf
        limits = np.iinfo(dtype)
        return limits.min if lowest else limits.max
    return dtype.type(combine.identity).item()
