"""From tasks in order to steps: kernels, products and calls, on arrays that lie somewhere.

What a kernel cannot read where it lies is copied first.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.compile.plan.arrays import Arrays, fresh
from wengert.compile.plan.emit import Job, Target, build
from wengert.compile.plan.groups import Group, Groups, summed
from wengert.compile.plan.homes import Homes, slices
from wengert.compile.plan.indices import NeedsCopy
from wengert.compile.plan.kernel import LINE
from wengert.compile.plan.loops import Frame, along, new_frame
from wengert.compile.plan.memory import Draft, in_step
from wengert.compile.plan.needs import Needs
from wengert.compile.plan.plan import Plan
from wengert.compile.plan.reads import arriving, own_frames
from wengert.compile.plan.roles import SEARCHES
from wengert.compile.plan.sequence import Copy, Sequence, Task
from wengert.compile.plan.strides import Buffer, Strided, part_of
from wengert.compile.plan.terms import Built
from wengert.compile.program.operations import added
from wengert.compile.program.program import Program, Shape, Statement, Value, values_in
from wengert.compile.program.rounds import run

TOGETHER = 32
"""The most parts of a concatenation that one kernel copies."""


@dataclass(slots=True)
class Drafts:
    """The steps of a plan whose arrays have no places yet, and the constants that they read."""

    steps: list[Draft]
    constants: list[Any]


def steps(
    groups: Groups, needs: Needs, sequence: Sequence, plan: Callable[[Program], Plan]
) -> Drafts:
    """All steps of a program; `plan` plans the bodies of its loops."""
    writer = _Writer(groups, needs, sequence, plan)
    for number, task in enumerate(sequence.tasks):
        writer.carry_out(task, number)
    writer.write_late()
    return Drafts(writer.drafts, writer.arrays.constants)


class _Writer:
    def __init__(self, groups: Groups, needs: Needs, sequence: Sequence, plan: Any) -> None:
        self.plan = plan
        self.roles = groups.roles
        self.program = groups.roles.program
        self.groups = groups
        self.needs = needs
        self.last = sequence.last
        self.number = 0
        self.arrays = Arrays(groups.roles)
        self.homes = Homes(self.arrays, sequence, needs)
        self.drafts: list[Draft] = []
        self.index = {s: k for k, s in enumerate(self.program.statements)}

    def carry_out(self, task: Task, number: int) -> None:
        self.number = number
        if isinstance(task, Group):
            self._group(task)
        elif isinstance(task, Copy):
            self._result(task)
        else:
            ALONE[self.roles.of[task]](self, task)

    def write_late(self) -> None:
        for value, goal in self.homes.late:
            array, to = self.arrays.located(value), self.arrays.whole(goal, value.shape)
            assert array is not None
            assert not value.size or array.buffer is not to.buffer, "a copy onto itself"
            self._copy_to(value, to)

    # ---- kernels ---------------------------------------------------------------------------------

    def _kernel(self, built: Built, statements: list[Statement]) -> None:
        self.drafts.append(Draft.kernel(built, statements))

    def _built(self, job: Job) -> Built:
        """A kernel; what it cannot read where it lies is copied first."""
        while True:
            try:
                return build(job, self.arrays)
            except NeedsCopy as wish:
                if wish.value in self.arrays.copies or not self._complete(wish.value):
                    raise
                self._copy(wish.value)

    def _complete(self, value: Value) -> bool:
        """Whether a value can be computed from what is in memory now, element by element."""
        source = self.roles.source(value)
        if source is None:
            return True
        _, leaves = self.needs.again.get(source, (0, (source,)))
        return all(self.arrays.located(leaf) is not None for leaf in leaves)

    def _copy(self, value: Value) -> Strided:
        """The elements of a value by themselves, contiguous."""
        copies = self.arrays.copies
        if value not in copies:
            array = fresh(value)
            self._copy_to(value, array)
            copies[value] = array
        return copies[value]

    def _copy_to(self, value: Value, to: Strided) -> None:
        if value.size:
            s = self.roles.made.get(value)
            self._compute(value, value.shape, to, [s] if s else [])

    def _compute(
        self,
        value: Value,
        shape: Shape,
        to: Strided,
        statements: list[Statement],
        scatter: Statement | None = None,
        adds: bool = False,
    ) -> None:
        """A kernel of loops along a shape, for one value."""
        frame = new_frame(shape)
        target = Target(value, frame, [to], scatter, adds)
        self._kernel(self._built(Job([target], along(frame))), statements)

    # ---- groups ----------------------------------------------------------------------------------

    def _group(self, group: Group) -> None:
        group.statements.sort(key=self.index.__getitem__)
        values = [s.output for s in group.statements if s.output in self.needs.stored]
        values = [v for v in values if v.size]
        if not values:
            return
        try:
            built, targets = self._together(group, values)
        except NeedsCopy:
            self._one_by_one(group)
            return
        for value, target in zip(values, targets, strict=True):
            self._begin(self.roles.made[value], target.arrays)
            self._stored(value, target.arrays)
        self._kernel(built, group.statements)

    def _together(self, group: Group, values: list[Value]) -> tuple[Built, list[Target]]:
        """One kernel for a group."""
        job = self._job(group, values)
        built = self._built(job)
        if not _safe(built):
            for v in values:
                self.homes.postpone(v)
            job = self._job(group, values)
            built = self._built(job)
        return built, job.targets

    def _begin(self, s: Statement, arrays: list[Strided]) -> None:
        """Put what a kernel only adds to, or the like, where it writes that."""
        gathers = self.roles.of[s] == "gathering"
        if gathers or s in self.groups.onto:
            state = s.args[0] if gathers else self.groups.onto[s][1]
            before = self.arrays.located(state)
            for array in arrays:
                if before is None or array.buffer is not before.buffer:
                    self._copy_to(state, array)

    def _target(self, s: Statement, frame: Frame, work: Frame) -> Target:
        """What a kernel stores for a statement."""
        homes = self.homes.of(s.output)
        if self.roles.of[s] == "gathering":
            return Target(self._given(s), work, homes, s)
        return Target(s.output, frame, homes)

    def _job(self, group: Group, values: list[Value]) -> Job:
        makers, work, frames = self.roles.made, self.groups.work, self.groups.frames
        targets = [self._target(s, frames[v], work.get(s, ())) for v in values for s in [makers[v]]]
        return Job(targets, group.loops, group.inner, self.groups.work, self.groups.onto)

    def _one_by_one(self, group: Group) -> None:
        """A kernel for each statement: always possible."""
        for s in group.statements:
            self.homes.postpone(s.output)
        for s in group.statements:
            if not s.output.size:
                continue
            frame, work = own_frames(s, self.roles)
            inner = summed(s, work) if s.function in SEARCHES else None
            target = self._target(s, frame, work)
            self._begin(s, target.arrays)
            self._kernel(self._built(Job([target], along(work), inner, {s: work})), [s])
            self._stored(s.output, target.arrays)

    def _result(self, task: Copy) -> None:
        value = task.value
        if not task.held:
            self._copy_to(value, self.arrays.whole(task.goal, value.shape))
        elif value.size:
            array, held = fresh(value), Value(value.shape, value.dtype)
            self._copy_to(value, array)
            self.arrays.of[held] = array
            self.homes.late.append((held, task.goal))

    # ---- statements that stand alone -------------------------------------------------------------

    def _stored(self, value: Value, homes: list[Strided]) -> None:
        self.arrays.of[value] = homes[0]
        self.homes.fill(value, homes)

    def _finish(self, value: Value, homes: list[Strided]) -> None:
        """Copy a value to the rest of its places: they lie apart, if in one buffer too."""
        self._stored(value, homes)
        for home in homes[1:]:
            self._copy_to(value, home)

    def _multiply(self, s: Statement) -> None:
        out = s.output
        if not out.size:
            return
        if not s.args[0].size:
            self._fill(s)
            return
        a, b = (self._matrix(x) for x in s.args)
        self._keep_apart(s, list(s.args))
        homes = self.homes.of(out)
        self.drafts.append(Draft.product(s, a, b, homes[0]))
        self._finish(out, homes)

    def _fill(self, s: Statement) -> None:
        """A product over no elements is zero."""
        homes = self.homes.of(s.output)
        zero = self.arrays.number(0, s.output.dtype)
        self._compute(zero, s.output.shape, homes[0], [s])
        self._finish(s.output, homes)

    def _matrix(self, value: Value) -> Strided:
        """An operand of a product, as the back end reads it."""
        array = self.arrays.located(value)
        return array if array is not None and self.homes.is_matrix(array) else self._copy(value)

    def _call(self, s: Statement) -> None:
        programs = run(s)
        inputs = {v: self.arrays.located(v) or self._copy(v) for v in dict.fromkeys(s.inputs)}
        if programs:  # they read and write whole arrays
            inputs = {v: a if a.contiguous else self._copy(v) for v, a in inputs.items()}
        self._keep_apart(s, [*s.inputs])
        homes = [self._over(s, k) or self.homes.of(v) for k, v in enumerate(s.outputs)]
        plans = tuple(map(self.plan, programs))
        self.drafts.append(Draft.call(s, inputs, [h[0] for h in homes], plans))
        for value, own in zip(s.outputs, homes, strict=True):
            self._finish(value, own)

    def _parts(self, s: Statement) -> None:
        """Write the parts of an array one after the other."""
        if not s.output.size:
            return
        if s.function is np.concatenate:
            self._concatenate(s)
            return
        homes = self._base(s)
        part = part_of(homes[0], s)
        if 0 not in part.shape:
            self._write(s, part.shape, part)
        self._finish(s.output, homes)

    def _concatenate(self, s: Statement) -> None:
        is_filled = functools.partial(self.homes.is_filled, s)
        self._keep_apart(s, [v for k, v in enumerate(s.args[0]) if not is_filled(k)])
        homes = self.homes.of_concatenation(s)
        left: dict[Shape, list[tuple[Value, Strided]]] = {}
        for k, (v, part) in enumerate(zip(s.args[0], slices(s, homes[0]), strict=True)):
            if not is_filled(k) and v.size:
                left.setdefault(v.shape, []).append((v, part))
        at_once = TOGETHER if _interleave(s) else 1
        for shape, parts in left.items():
            for k in range(0, len(parts), at_once):
                self._copy_parts(shape, parts[k : k + at_once])
        self._finish(s.output, homes)

    def _copy_parts(self, shape: Shape, parts: list[tuple[Value, Strided]]) -> None:
        """One kernel for several parts of one shape."""
        frame = new_frame(shape)
        targets = [Target(v, frame, [part]) for v, part in parts]
        makers = [self.roles.made.get(v) for v, _ in parts]
        self._kernel(self._built(Job(targets, along(frame))), [s for s in makers if s])

    def _scatter(self, s: Statement) -> None:
        """Write, or add, at computed places, in the order of the index."""
        out = s.output
        if not out.size:
            return
        homes = self._base(s)
        shape = arriving(s)
        if 0 not in shape:
            self._write(s, shape, homes[0], s)
        self._finish(out, homes)

    def _write(
        self, s: Statement, shape: Shape, to: Strided, scatter: Statement | None = None
    ) -> None:
        """Write a statement's third argument to an array or a part of it."""
        self._compute(self._given(s), shape, to, [s], scatter, adds=s.function is added)

    def _given(self, s: Statement) -> Value:
        """What a statement writes."""
        value = s.args[2]
        return value if type(value) is Value else self.arrays.number(value, s.output.dtype)

    # ---- writing over what is read ---------------------------------------------------------------

    def _base(self, s: Statement) -> list[Strided]:
        """The memory of a statement that writes into an array: it holds what is left as it is."""
        x, index, value = s.args
        read = [value, *values_in(index)]
        within = self._dying(x, read, s.output)
        homes = self.homes.of(s.output)
        if within is not None and homes[0].buffer is within.buffer:
            return homes
        if within is not None and not self.homes.goals.get(s.output):
            return [within]
        self._keep_apart(s, [x, *read])
        homes = self.homes.of(s.output)
        self._copy_to(x, homes[0])
        return homes

    def _over(self, s: Statement, k: int) -> list[Strided]:
        """The memory of an argument over which an output of a call lies, if there is one."""
        over: dict[int, int] = getattr(s.function, "over", {})
        if k not in over or self.homes.goals.get(s.outputs[k]):
            return []
        x = s.args[over[k]]
        within = self._dying(x, [v for v in s.inputs if v is not x], s.outputs[k])
        return [] if within is None else [within]

    def _keep_apart(self, s: Statement, read: list[Any]) -> None:
        """Do not write over an input that is still read while its parts are written."""
        buffers = self._buffers_of(*read)
        for v in s.outputs:
            goals = self.homes.goals.get(v, ())
            if any(self.arrays.whole(goal, v.shape).buffer in buffers for goal in goals):
                self.homes.postpone(v)

    def _buffers_of(self, *values: Any) -> list[Buffer]:
        leaves = (leaf for v in values if type(v) is Value for leaf in self._leaves(v))
        return [array.buffer for leaf in leaves if (array := self.arrays.located(leaf)) is not None]

    def _leaves(self, value: Value) -> Iterator[Value]:
        source = self.roles.source(value)
        if source is not None:
            yield source
            again = self.needs.again.get(source)
            if again is not None:
                yield from again[1]

    def _dying(self, x: Value, read: list[Any], output: Value) -> Strided | None:
        """The array of a value over which an output may be written, while others are `read`, if
        nobody needs what it held before.
        """
        array, program = self.arrays.of.get(x), self.program
        if array is None or x in program.constants or x in program.outputs:
            return None
        if array.buffer in self._buffers_of(*read):
            return None
        if self.last.get(x, 0) > self.number:
            return None
        if any(array.buffer is other.buffer for v, other in self.arrays.of.items() if v is not x):
            return None
        place = array.buffer.place
        if place is None:
            return array if x not in program.results else None
        goals = self.homes.goals.get(output, ())  # without those that are written late
        return (
            array
            if any(self.arrays.whole(g, x.shape).buffer is array.buffer for g in goals)
            else None
        )


ALONE = {
    "multiply": _Writer._multiply,
    "parts": _Writer._parts,
    "scatter": _Writer._scatter,
    "check": _Writer._call,
    "call": _Writer._call,
}


def _interleave(concatenation: Statement) -> bool:
    """Whether cache lines of the result hold elements of several parts.

    Written one part after the other, each line comes from memory once for every part.
    """
    s = concatenation
    axis = s.kwargs.get("axis", s.args[1] if len(s.args) > 1 else 0) % len(s.output.shape)
    narrow = min(math.prod(v.shape[axis:]) for v in s.args[0]) * s.output.dtype.itemsize
    return narrow < LINE and math.prod(s.output.shape[:axis]) > 1


def _safe(built: Built) -> bool:
    """Whether inputs that are written over are read in step with that."""
    touches = zip(built.buffers, built.touches, strict=True)
    return all(in_step(built.kernel, t, t) for b, t in touches if b.place and t.stores)
