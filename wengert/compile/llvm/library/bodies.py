"""Loops and choices, whose bodies are plans of their own, as native functions.

A body is a function of a table of addresses, as any plan is. The state of a loop lies where its
results are wanted, and the body updates it there; rows are addresses that move. A small state, and
all else that is small, lies on the stack, from where LLVM takes it into registers: what is no more
than its caller can hold becomes part of it (`body.py`). Working memory is taken once for the whole
loop, so an iteration allocates nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, zip_longest
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.machine import functions, scratch
from wengert.compile.llvm.machine.control import Merge, loop, rounds
from wengert.compile.llvm.machine.lanes import Lanes, larger, smaller, sqrt, where
from wengert.compile.llvm.machine.scratch import Variable
from wengert.compile.llvm.machine.values import BIT, BYTE, I32, I64, POINTER, VOID, B, V
from wengert.compile.plan.plan import Call, Plan, Table
from wengert.compile.program.bodies import NEAR, Choose, Repeat, Rewind, Until
from wengert.compile.program.program import Value
from wengert.compile.program.rounds import times


def define(module: ir.Module, step: Call, name: str, bodies: list[ir.Function]) -> ir.Function:
    """The function of a loop or a choice: of the addresses of its arrays, and the object that calls
    Python. The result is an i32 as that of a body; `bodies` are those of the step.
    """
    arguments = [POINTER] * (len(step.arrays) + 1)
    function, b = functions.internal(module, name, I32, arguments, "alwaysinline")
    frame = Frame(b, step, bodies)
    _EMITTERS[type(step.statement.function)](frame, step.statement.function)
    return function


class Frame(scratch.Scratch):
    """The function that is being written: where its arrays are, and its memory."""

    def __init__(self, b: B, step: Call, bodies: list[ir.Function]) -> None:
        super().__init__(b)
        function, self.module = b.function, b.module
        self.name = function.name
        self.step = step
        self.bodies = bodies
        self.given = function.args
        self.inputs = [self._input(k, x) for k, x in enumerate(step.statement.args)]
        self.outputs = list(function.args[len(step.inputs) : -1])
        self.callback = function.args[-1]
        self.states: list[tuple[V, V, int]] = []
        self.arena = self.room(max(plan.arena for plan in step.bodies))
        """Where the bodies work, one after the other."""

    def _input(self, k: int, x: Any) -> V:
        """The address of an argument; of a number, which a pass put in its place, a constant's."""
        if type(x) is Value:
            return self.given[list(self.step.inputs).index(x)]
        function: Any = self.step.statement.function
        return self.constant(np.asarray(x, function.dtype_of(k)))

    # ---- bodies ---------------------------------------------------------------------------------

    def table(self, number: int) -> Entries:
        """The table of addresses for a body, but for its inputs and outputs."""
        plan = self.step.bodies[number]
        table = Table.of(plan)
        entries = Entries(self.b, table, self.room(8 * table.size))
        for k, array in enumerate(plan.constants):
            entries.set(table.constant(k), self.constant(np.asarray(array)))
        entries.set(table.callback, self.callback)
        entries.set(table.arena, self.arena)
        return entries

    def run(self, number: int, entries: Entries) -> Lanes:
        """Its status."""
        return Lanes(self.b, self.b.call(self.bodies[number], [entries.at]))

    # ---- memory ---------------------------------------------------------------------------------

    def copy(self, to: V, source: V, nbytes: int) -> None:
        if nbytes:
            self.call("llvm.memcpy.p0.p0.i64", VOID, [to, source, I64(nbytes), BIT(0)])

    def state(self, inits: list[V], values: list[Value], results: list[V]) -> list[V]:
        """Where a state lies while its loop runs, which begins as the initial one. In the end it
        is to lie where the results do, if there are any.
        """
        places = []
        for init, v, result in zip_longest(inits[: len(values)], values, results[: len(values)]):
            near = result is None or v.nbytes <= NEAR
            place = self.room(v.nbytes) if near else result
            self.copy(place, init, v.nbytes)
            places.append(place)
            if result is not place and result is not None:
                self.states.append((result, place, v.nbytes))
        return places

    def finish(self, result: Any) -> None:
        for to, place, nbytes in self.states:
            self.copy(to, place, nbytes)
        super().finish(result)

    def constant(self, array: np.ndarray) -> V:
        name = self.module.get_unique_name(f"{self.name}.constant")
        data = scratch.constant(self.module, name, np.ascontiguousarray(array).tobytes())
        return self.b.gep(data, [I64(0)], inbounds=True, source_etype=BYTE)

    def number(self, value: int) -> Lanes:
        return Lanes(self.b, I64(value))

    def call(self, name: str, result: ir.Type, arguments: list[V]) -> V:
        return functions.call(self.b, name, result, arguments)


class Entries:
    """The table of addresses that a body gets."""

    def __init__(self, b: B, table: Table, at: V) -> None:
        self.b = b
        self.table = table
        self.at = at

    def set(self, entry: int, address: V) -> None:
        at = self.b.gep(self.at, [I64(entry)], inbounds=True, source_etype=POINTER)
        self.b.store(address, at, align=8)


# ---- loops --------------------------------------------------------------------------------------


def _repeat(frame: Frame, repeat: Repeat) -> None:
    b, (plan,) = frame.b, frame.step.bodies
    entries = frame.table(0)
    table, carries, rows = entries.table, repeat.carries, repeat.rows
    index = frame.room(8)
    entries.set(table.input(0), index)
    results, lies = frame.outputs[:carries], frame.outputs[carries:]
    values, moves = plan.inputs[1 : 1 + carries], repeat.moves
    first, following = (repeat.length - 1, -1) if repeat.backwards else (0, 1)
    begins = list(results)
    for i, j in moves.items():
        begins[i] = _far(lies[j], frame.number(first * values[i].nbytes))
    for k, at in enumerate(frame.state(frame.inputs, values, begins), 1):
        entries.set(table.input(k), at)
    for k, at in enumerate(frame.inputs[carries + rows :]):
        entries.set(table.input(1 + carries + rows + k), at)
    moving = [
        (table.input(1 + carries + k), frame.inputs[carries + k], plan.inputs[1 + carries + k])
        for k in range(rows)
    ]
    moving += [(table.input(1 + i), lies[j], values[i]) for i, j in moves.items()]
    moving += [
        (table.output(j), lies[j], v) for j, v in enumerate(plan.outputs) if j not in moves.values()
    ]

    def once(t: Lanes) -> Lanes:
        k = repeat.length - 1 - t if repeat.backwards else t
        b.store(k.value, index, align=8)
        for entry, base, value in moving:
            entries.set(entry, _far(base, k * value.nbytes))
        is_last = t.equals(repeat.length - 1)
        for i, j in moves.items():
            far = _far(lies[j], (k + following) * values[i].nbytes)
            entries.set(table.output(j), where(is_last, t.new(results[i]), t.new(far)).value)
        return frame.run(0, entries)

    breath = Breath(frame) if repeat.lasts else None
    frame.finish(_counted(frame.number(repeat.length), once, breath).value)


def _counted(
    length: Lanes,
    once: Callable[[Lanes], Lanes],
    breath: Breath | None = None,
    before: Lanes | int = 0,
) -> Lanes:
    """Run `once(number)` so many times, at least once, or until its status is not 0.

    So many iterations were `before`, with the same breath.
    """
    with rounds(length.builder, [I64(0)]) as ((t,), end):
        status = once(length.new(t))
        following = length.new(length.builder.add(t, I64(1), flags=("nuw", "nsw")))
        if breath is not None:
            status = breath.after(following + before, status)
        more = status.equals(0) & following.below(length)
        end(more.value, [following.value])
    return status


# ---- loops that last ----------------------------------------------------------------------------

OFTEN = 1 << 10
"""The clock is looked at after one iteration, then after two, and so on up to so many; after so
many, or in another second, other threads may run."""
CLOCK = "_time64" if sys.platform == "win32" else "time"


class Breath:
    """Where a loop that may run for long lets others run, and looks whether the user interrupts.

    However long an iteration takes, that is about once in a second, or more often.
    """

    def __init__(self, frame: Frame) -> None:
        self.frame, self.b = frame, frame.b
        starts = I64(1), I64(1), self._clock()
        self.following, self.steps, self.second = (Variable(frame.b, x) for x in starts)

    def _clock(self) -> V:
        """The second that it is."""
        return self.frame.call(CLOCK, I64, [ir.Constant(POINTER, None)])

    def after(self, count: Lanes, status: Lanes) -> Lanes:
        """The status after so many iterations: of the last one, or -1 if the user interrupts."""
        goes = Merge(self.b, "on")
        due = count.equals(count.new(self.following.get()))
        goes.come([status.value], unless=(due & status.equals(0)).value, mostly=True)
        now, steps = count.new(self._clock()), count.new(self.steps.get())
        same, many = now.equals(now.new(self.second.get())), ~steps.below(OFTEN)
        self.second.put(now.value)
        more = where(same, where(many, steps, steps << 1), 1)
        self.steps.put(more.value)
        self.following.put((count + more).value)
        goes.come([I32(0)], unless=(many | ~same).value)
        thread = self.frame.call("python.PyEval_SaveThread", POINTER, [])
        self.frame.call("python.PyEval_RestoreThread", ir.VoidType(), [thread])
        goes.come([self.frame.call("python.PyErr_CheckSignals", I32, [])])
        (result,) = goes.begin()
        goes.close()
        return count.new(result)


def _until(frame: Frame, until: Until) -> None:
    b, (test, body) = frame.b, frame.step.bodies
    carries, middle = until.carries, len(test.inputs)
    tables = frame.table(0), frame.table(1)
    state = frame.state(frame.inputs, body.inputs[:carries], frame.outputs)
    given = [*state, *frame.inputs[carries:middle]], [*state, *frame.inputs[middle:]]
    for entries, addresses in zip(tables, given, strict=True):
        for k, at in enumerate(addresses):
            entries.set(entries.table.input(k), at)
    holds = frame.room(1)
    tables[0].set(tables[0].table.output(0), holds)
    breath = Breath(frame)
    marks = _Marks(frame, until, state, frame.outputs[carries + 1 :])
    with loop(b, I64(0)) as runs:
        count, asked = Lanes(b, *runs.carried), frame.run(0, tables[0])
        on = asked.new(b.load(holds, typ=BYTE, align=1)).differs(0)
        runs.while_((asked.equals(0) & on).value, asked.value)
        marks.keep(count)
        following = count + 1
        acted = breath.after(following, frame.run(1, tables[1]))
        runs.while_(acted.equals(0).value, acted.value)
        runs.again(following.value)
    b.store(count.value, frame.outputs[carries], align=8)
    frame.finish(*runs.results)


class _Marks:
    """Writes down what parts of the state are before an iteration, of as many as there are rows
    for: when these are full, every second one stays, and the next are twice as far apart.
    """

    def __init__(self, frame: Frame, until: Until, state: list[V], blocks: list[V]) -> None:
        self.frame, self.rows = frame, until.rows
        parts = until.bodies[1].inputs
        self.parts = [
            (block, state[k], parts[k].nbytes) for k, block in zip(until.keeps, blocks, strict=True)
        ]
        if self.parts:
            starts = I64(0), I64(1), I64(0)
            self.next, self.apart, self.row = (Variable(frame.b, x) for x in starts)

    def keep(self, number: Lanes) -> None:
        if not self.parts:
            return
        b = self.frame.b
        with b.if_then(number.equals(number.new(self.next.get())).value):
            with b.if_then(number.new(self.row.get()).equals(self.rows).value, likely=False):
                self._halve(number)
            row, apart = number.new(self.row.get()), number.new(self.apart.get())
            for block, at, nbytes in self.parts:
                self.frame.copy(_far(block, row * nbytes), at, nbytes)
            self.row.put((row + 1).value)
            self.next.put((number + apart).value)

    def _halve(self, number: Lanes) -> None:
        half = number.full(self.rows // 2)
        with rounds(self.frame.b, [I64(0)]) as ((k,), end):
            row = number.new(k)
            for block, _, nbytes in self.parts:
                self.frame.copy(_far(block, row * nbytes), _far(block, row * (2 * nbytes)), nbytes)
            end((row + 1 < half).value, [(row + 1).value])
        self.row.put(half.value)
        self.apart.put((number.new(self.apart.get()) << 1).value)


def _rewind(frame: Frame, rewind: Rewind) -> None:
    _Rewinding(frame, rewind).emit()


class _Sweep(NamedTuple):
    """One of the loops of a `Rewind`: its plan, where its state lies, and what its body gets."""

    plan: Plan
    state: list[V]
    entries: Entries
    first: int
    """The number of its first part of the state among those of all."""
    reads: set[int]
    """The parts of states before it that it reads."""
    is_last: bool
    number: int
    """The number of its body."""
    backwards: bool


STRETCH = 1 << 20
"""Bytes for the states of one stretch of iterations: what a core's second cache holds, or less."""
TOO_LONG = (
    "The second derivative of wg.while_loop reads the states before all iterations, and within the "
    "function's budget of memory there is room for {}, but the loop ran for %lld. Give it more, "
    "e.g. wg.compile(f, memory=%lld), or use wg.fori_loop or wg.scan, whose length is "
    "known.\0"
)


class _Rewinding:
    """Writes a `Rewind`: all its loops, or the last one where the states that it reads were kept.

    The states that a loop reads lie part by part, a row for each iteration of a stretch. Of more
    than two loops that is all of them; of two, as many as there is room for within a limit, else as
    lie in near memory: more would be new pages at each call, which take longer than the iterations.
    Of those iterations that the first loop kept rows of, the last before a stretch is where it goes
    on from. If they are too far apart, it writes down its whole state a few times on its way from
    one to the next, and goes again through the iterations of a stretch from the last such mark.

    Where iterations may go back several at once (`program/rounds.py`), there is a row for so many.
    Those of a stretch that are left over go first, one by one, each with a row behind the others'.
    """

    def __init__(self, frame: Frame, rewind: Rewind) -> None:
        self.frame, self.rewind, self.b = frame, rewind, frame.b
        n = rewind.carries[0]
        self.parts = [*rewind.states[:n], *rewind.results, *rewind.states[n:]]
        self.length = Lanes(self.b, self.b.load(frame.inputs[0], typ=I64, align=8))
        self.status, self.done = Variable(self.b, I32(0)), Variable(self.b, I64(0))
        self.breath = Breath(frame)
        self.sweeps = list(self._sweeps())
        self.times = times(rewind)
        self.several = self._several() if self.times > 1 else self.sweeps
        self.rows: dict[int, V] = {}
        plans = frame.step.bodies
        self.unread = [[frame.room(v.nbytes) for v in plan.outputs] for plan in plans]
        """Where results are written that nobody reads, on the way to a stretch."""

    def _sweeps(self) -> Iterator[_Sweep]:
        """The loops, whose states are as they begin; that of the last one lies in the results."""
        frame, first = self.frame, 0
        given = iter(frame.inputs[1:])
        inits = [[next(given) for _ in range(n)] for n in self.rewind.carries]
        for j, (plan, init) in enumerate(zip(frame.step.bodies, inits, strict=False)):
            n, is_last = len(init), j == len(inits) - 1
            state = frame.state(init, plan.inputs[:n], frame.outputs if is_last else [])
            entries = frame.table(j)
            for k, at in enumerate(state):
                entries.set(entries.table.input(k), at)
            around = [next(given) for _ in self.rewind.invariants[j]]
            for k, at in enumerate(around, n + first):
                entries.set(entries.table.input(k), at)
            reads = _read(plan, n, first)
            yield _Sweep(plan, state, entries, first, reads, is_last, j, bool(j % 2))
            first += n + len(plan.outputs)

    def _alone(self) -> _Sweep:
        """The last of two loops, which makes of states alone what the first has as results."""
        last, number = self.sweeps[1], len(self.sweeps)
        plan, entries = self.frame.step.bodies[number], self.frame.table(number)
        n, own = self.rewind.carries
        first, around = self.rewind.invariants
        begin = 1 + n + own + len(first)
        given = self.frame.inputs[begin : begin + len(around)]
        for k, at in (*enumerate(last.state), *enumerate(given, own + n)):
            entries.set(entries.table.input(k), at)
        reads = _read(plan, own, n)
        return last._replace(plan=plan, entries=entries, reads=reads, number=number)

    def _several(self) -> list[_Sweep]:
        """The two loops whose iterations are several of these."""
        sweeps = []
        first, last = self.rewind.invariants
        given = self.frame.inputs[1 + len(self.parts) :]
        around = [given[: len(first)], given[len(first) : len(first) + len(last)]]
        around[1] += around[0]
        for number, (sweep, more) in enumerate(zip(self.sweeps, around, strict=True), 2):
            plan, entries = self.frame.step.bodies[number], self.frame.table(number)
            for k, at in enumerate(sweep.state):
                entries.set(entries.table.input(k), at)
            for k, at in enumerate(more, len(sweep.state) + sweep.first):
                entries.set(entries.table.input(k), at)
            reads = _read(plan, len(sweep.state), sweep.first)
            sweeps.append(sweep._replace(plan=plan, entries=entries, reads=reads, number=number))
        return sweeps

    @property
    def _reads(self) -> set[int]:
        """The parts of states before that the last loop reads."""
        return self.sweeps[-1].reads | self.several[-1].reads

    def emit(self) -> None:
        if self.rewind.alone is not None:
            self._where_kept(self._alone())
        known, blocks = self._known(self._reads)
        limit, n, two = self.rewind.limit, self.length, len(self.sweeps) == 2
        zero = n.full(0)
        if two:
            apart = self._apart(known)
            room, marks = self._room(apart, limit)
        else:
            apart = n
            room, marks = n if limit is None else zero + limit, zero
        if limit is not None and not two:
            self._refuse_beyond(room)
        self._allocate(where(known, 0, smaller(room, n) if limit is None else room))
        for k in self._reads & set(blocks):
            self.rows[k] = where(known, zero.new(blocks[k]), zero.new(self.rows[k])).value
        if two:
            self._by_stretches(known, apart, room, marks)
        else:
            with self.b.if_then((~known).value):
                for sweep in self.sweeps[:-1]:
                    self._run(sweep, zero, n)
            self._run(self.sweeps[-1], zero, n)
        self.frame.finish(self.status.get())

    def _where_kept(self, sweep: _Sweep) -> None:
        """All iterations of a loop, if the states that it reads were kept: none are left then."""
        known, self.rows = self._known(sweep.reads)
        if not sweep.reads <= set(self.rows):
            return
        with self.b.if_then(known.value):
            self._run(sweep, self.length.full(0), self.length)
        self.length, self.rows = where(known, 0, self.length), {}

    def _room(self, apart: Lanes, limit: int | None) -> tuple[Lanes, Lanes]:
        """How many states there is room for, and how many marks between two rows."""
        if limit is not None:
            return apart.full(limit - limit // 2), apart.full(limit // 2)
        near = STRETCH // max(sum(v.nbytes for v in self.parts[: self.sweeps[-1].first]), 1)
        root = sqrt(apart.to("sitofp", ir.DoubleType())).to("fptosi", I64) + 1
        room = larger(larger(root, max(near, 4 * self.times)), smaller(apart, 4 * near))
        size = self._size(room)
        return room, larger((apart + size - 1).by("udiv", size), 1)

    def _size(self, room: Lanes) -> Lanes:
        """How many iterations that many rows are enough for."""
        return (room - (self.times - 1)) * self.times

    @property
    def _blocks(self) -> dict[int, V]:
        """Where rows of states lie, by the number of the part."""
        numbers = self.rewind.blocks
        return (
            dict(zip(numbers, self.frame.inputs[-len(numbers) :], strict=True)) if numbers else {}
        )

    @property
    def _kept(self) -> int:
        """How many rows there are."""
        args = self.frame.step.statement.args
        return min((x.shape[0] for x in args[-len(self.rewind.blocks) :]), default=0)

    def _known(self, reads: set[int]) -> tuple[Lanes, dict[int, V]]:
        """Whether all states that are read were kept, and where."""
        blocks = self._blocks
        if not blocks or not reads <= set(blocks):
            return Lanes(self.b, BIT(not reads)), {}
        return self.length.below(self._kept + 1), blocks

    def _apart(self, known: Lanes) -> Lanes:
        """How far those iterations are apart that the first loop can go on from."""
        n = self.length
        if not self._goes_on:
            return n
        far = larger(n - 1, 0).by("udiv", n.full(self._kept))
        zeros = self.frame.call("llvm.ctlz.i64", I64, [far.value, BIT(0)])
        return where(known, n, n.full(1) << (64 - n.new(zeros)))

    @property
    def _goes_on(self) -> bool:
        """Whether the first loop can go on from rows: all parts of its state were kept."""
        return bool(self._blocks) and {*range(len(self.sweeps[0].state))} <= {*self._blocks}

    def _allocate(self, count: Lanes) -> None:
        """Take memory for so many states before iterations, as far as they are read."""
        read = sorted(set().union(*(sweep.reads for sweep in (*self.sweeps, *self.several))))
        self.rows = self._rows(read, count)

    def _rows(self, parts: Sequence[int], count: Lanes) -> dict[int, V]:
        sizes = (-(-self.parts[k].nbytes // 8) * 8 for k in parts)
        *begins, size = accumulate(sizes, initial=0)
        memory = self.frame.allocated((count * size).value)
        return {k: _far(memory, count * begin) for k, begin in zip(parts, begins, strict=True)}

    # ---- within a limit -------------------------------------------------------------------------

    def _by_stretches(self, known: Lanes, apart: Lanes, room: Lanes, marks: Lanes) -> None:
        """The last loop, a stretch at a time from the end, after the first one's part of each."""
        b, n, first = self.b, self.length, self.sweeps[0]
        room = self._size(room)
        long = ~known & (apart > room)
        size = where(known, n, room)
        marked = self._rows(range(len(first.state)), where(long, marks, 0))
        with b.if_then((n > 0).value), rounds(b, [n.value]) as ((last,), end):
            stop = n.new(last)
            row = (stop - 1).by("udiv", apart)
            begin = row * apart
            after = smaller(begin + apart, n)
            step = (after - begin + (marks - 1)).by("udiv", marks)
            many = ~known & (after - begin > room)
            at = (stop - 1 - begin).by("udiv", step)
            since = where(many, begin + at * step, begin)
            start = larger(since, stop - size)

            def mark(number: Lanes, begin: Lanes = begin, step: Lanes = step) -> None:
                passed = number - begin
                with b.if_then(passed.by("urem", step).equals(0).value):
                    self._copy_state(marked, passed.by("udiv", step))

            if self._goes_on:
                with b.if_then((~known & stop.equals(after)).value):
                    self._copy_state(self._blocks, row, back=True)
            with b.if_then((many & stop.equals(after)).value):
                self._run(first, begin, after, mark)
            with b.if_then(many.value):
                self._copy_state(marked, at, back=True)
                self._run(first, since, start, lambda number: None)
            self._stretch(known, start, stop)
            end((self._fine() & (start > 0)).value, [start.value])

    def _stretch(self, known: Lanes, start: Lanes, stop: Lanes) -> None:
        """The iterations between two numbers, unless their states are known, and back."""
        b, times = self.b, self.times
        blocks = (stop - start).by("udiv", start.new(I64(times)))
        middle = start + blocks * times
        zero, all_rows = start.full(0), where(known, middle - start, blocks)

        def single(number: Lanes) -> Lanes:
            return number - middle + all_rows

        def several(block: Lanes) -> Lanes:
            return where(known, block * times, block)

        with b.if_then((~known).value):
            if times > 1:
                self._run(self.several[0], zero, blocks, row=several)
            self._run(self.sweeps[0], middle if times > 1 else start, stop, row=single)
        self._run(self.sweeps[1], middle if times > 1 else start, stop, row=single)
        if times > 1:
            self._run(self.several[1], zero, blocks, row=several)

    def _copy_state(self, rows: dict[int, V], number: Lanes, back: bool = False) -> None:
        """Write the first loop's state down as a row, or make it what it was."""
        for k, at in enumerate(self.sweeps[0].state):
            row, nbytes = self._row_of(rows, k, number), self.parts[k].nbytes
            self.frame.copy(*((at, row) if back else (row, at)), nbytes)

    def _refuse_beyond(self, room: Lanes) -> None:
        """Of more loops, each reads the states of all before it: there has to be room for them."""
        b, module = self.b, self.frame.module
        with b.if_then((self.length > room).value, likely=False):
            name = "python.PyExc_MemoryError"
            error = module.globals.get(name) or ir.GlobalVariable(module, POINTER, name)
            name = "python.PyErr_Format"
            kind = ir.FunctionType(POINTER, [POINTER, POINTER], var_arg=True)
            tell = module.globals.get(name) or ir.Function(module, kind, name)
            told = np.frombuffer(TOO_LONG.format(self.rewind.limit).encode(), np.uint8)
            least = (self.length + 2) * (
                2 * sum(v.nbytes for v in self.parts[: self.sweeps[-1].first])
            )
            b.call(
                tell,
                [
                    b.load(error, typ=POINTER),
                    self.frame.constant(told),
                    self.length.value,
                    least.value,
                ],
            )
            self.frame.finish(I32(-1))

    # ---- iterations -----------------------------------------------------------------------------

    def _fine(self) -> Lanes:
        return Lanes(self.b, self.status.get()).equals(0)

    def _run(
        self,
        sweep: _Sweep,
        start: Lanes,
        stop: Lanes,
        save: Callable[[Lanes], None] | None = None,
        row: Callable[[Lanes], Lanes] = lambda number: number,
    ) -> None:
        """The iterations of a loop between two numbers, if there are any, and all went well.

        Before each `save` is called; if it is not given, states go to the `row` of the number.
        """
        count = stop - start

        def once(t: Lanes) -> Lanes:
            number = start + (count - 1 - t if sweep.backwards else t)
            if save is None:
                self._save(sweep, number, row(number))
            else:
                save(number)
            for j, at in enumerate(self.unread[sweep.number]):
                k = len(sweep.state) + j
                place = self._row_of(self.rows, k, row(number)) if save is None else at
                sweep.entries.set(sweep.entries.table.output(j), place)
            for k in sweep.reads:
                entry = sweep.entries.table.input(len(sweep.state) + k)
                sweep.entries.set(entry, self._row_of(self.rows, k, row(number)))
            return self.frame.run(sweep.number, sweep.entries)

        with self.b.if_then((self._fine() & (count > 0)).value):
            before = count.new(self.done.get())
            status = _counted(count, once, self.breath, before)
            self.done.put((before + count).value)
            self.status.put(status.value)

    def _save(self, sweep: _Sweep, number: Lanes, row: Lanes) -> None:
        """Write down what the state is before an iteration, as far as it is asked for."""
        if sweep.is_last:
            blocks = self.frame.outputs[len(sweep.state) :]
            if blocks:
                with self.b.if_then(number.below(self.rewind.rows).value):
                    for k, block in zip(self.rewind.keeps, blocks, strict=True):
                        nbytes = sweep.plan.inputs[k].nbytes
                        self.frame.copy(_far(block, number * nbytes), sweep.state[k], nbytes)
            return
        for k, at in enumerate(sweep.state, sweep.first):
            if k in self.rows:
                self.frame.copy(self._row_of(self.rows, k, row), at, self.parts[k].nbytes)

    def _row_of(self, rows: dict[int, V], k: int, row: Lanes) -> V:
        return _far(rows[k], row * self.parts[k].nbytes)


def _read(plan: Plan, own: int, before: int) -> set[int]:
    """The parts of states before its own that a body reads."""
    places = {p.number for s in plan.steps for p in s.places if p.kind == "input"}
    return {k - own for k in places if own <= k < own + before}


def _far(base: V, nbytes: Lanes) -> V:
    return nbytes.builder.gep(base, [nbytes.value], inbounds=True, source_etype=BYTE)


# ---- choices ------------------------------------------------------------------------------------


def _choose(frame: Frame, choose: Choose) -> None:
    b, step = frame.b, frame.step
    tables = [frame.table(k) for k in range(len(step.bodies))]
    last = len(step.bodies) - 1
    given = Lanes(b, b.load(frame.inputs[0], typ=I64, align=8))
    index = smaller(larger(given, 0), last).value
    after = Merge(b, "done")
    blocks = [b.append_basic_block(f"branch.{k}") for k in range(last + 1)]
    switch = b.switch(index, blocks[last])
    for k, (block, entries) in enumerate(zip(blocks, tables, strict=True)):
        if k < last:
            switch.add_case(I64(k), block)
        b.position_at_end(block)
        for j, number in enumerate(choose.given[k]):
            entries.set(entries.table.input(j), frame.inputs[1 + number])
        for j, number in enumerate(choose.makes[k]):
            entries.set(entries.table.output(j), frame.outputs[number])
        after.come([frame.run(k, entries).value])
    (status,) = after.begin()
    after.close()
    frame.finish(status)


_EMITTERS: dict[Any, Callable[[Frame, Any], None]] = {
    Repeat: _repeat,
    Choose: _choose,
    Until: _until,
    Rewind: _rewind,
}
