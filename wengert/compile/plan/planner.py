"""From a program to a plan: fused kernels, products and calls, and where their arrays lie.

`group.py` decides which statements share a kernel, `needs.py` which values go to memory, `emit.py`
makes the kernels, `memory.py` lays the arrays out. This file goes through the steps in order and
decides where each stored value goes: to an output or an updated input directly where it can, else
to the arena, in an order of its axes that suits its readers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.compile.backend import Backend
from wengert.compile.plan.emit import Target, build
from wengert.compile.plan.group import Group, Grouping
from wengert.compile.plan.indices import NeedsCopy
from wengert.compile.plan.loops import Frame, Loop, new_frame
from wengert.compile.plan.memory import Use, in_step, lay_out
from wengert.compile.plan.needs import Needs
from wengert.compile.plan.plan import Call, Layout, Loops, Multiply, Place, Plan, Step
from wengert.compile.plan.roles import SEARCHES, Roles
from wengert.compile.plan.strides import (
    Buffer,
    Strided,
    axes_of_transpose,
    in_order,
    inverse,
    part_of,
    row_major,
    through,
)
from wengert.compile.plan.terms import Built
from wengert.compile.program.infer import infer
from wengert.compile.program.operations import added, take
from wengert.compile.program.program import Program, Shape, Statement, Value, values_in


def plan(program: Program, backend: Backend, *, fuse: bool = True) -> Plan:
    """What to run for a program, on a back end.

    Without `fuse`, each statement has a kernel of its own.
    """
    return _Planner(program, backend, fuse).plan()


class _Copy:
    """A result that no step makes: an input, a constant, a view, the same value once more."""

    __slots__ = ("place", "value")

    def __init__(self, value: Value, place: tuple[str, int]) -> None:
        self.value = value
        self.place = place


Draft = tuple[Step, Use, tuple[Any, ...]]
"""A step whose places are not known yet: the arrays they will be made of come along."""


class _Planner:
    def __init__(self, program: Program, backend: Backend, fuse: bool) -> None:
        self.program = program
        self.backend = backend
        self.roles = Roles(program, backend)
        self.grouping = Grouping(program, self.roles, fuse)
        self.needs = Needs(program, self.roles, self.grouping)
        self.index = {s: k for k, s in enumerate(program.statements)}
        self.arrays: dict[Value, Strided] = {}
        self.copies: dict[Value, Strided] = {}
        self.scalars: dict[Value, Any] = {}
        self.constants: list[Any] = []
        self.drafts: list[Draft] = []
        # Where concatenations lie whose parts are being computed.
        self.begun: dict[Statement, list[Strided]] = {}
        self.late: list[tuple[Value, tuple[str, int]]] = []
        self.empty = Buffer(0, np.dtype(np.int8), Place("arena", 0))
        self.buffers: dict[tuple[str, int], Buffer] = {}
        # Where results go; what cannot be written in place comes to `late`.
        self.goals: dict[Value, list[tuple[str, int]]] = {}
        self.work: dict[int, Group | Statement | _Copy] = dict(self.needs.groups)
        self.work |= {node: s for s, node in self.grouping.nodes.items()}
        self.layouts = self._layout_users()
        multiplies = [s for s, role in self.roles.of.items() if role == "multiply"]
        self.factors = {v for s in multiplies for v in s.args}
        self.products = {s.output for s in multiplies}
        for k, v in enumerate(program.inputs):
            buffer = self.buffers["input", k] = Buffer(v.size, v.dtype, Place("input", k))
            self.arrays[v] = Strided(buffer, v.shape, row_major(v.shape))
        for k, v in enumerate(program.outputs):
            self.buffers["output", k] = Buffer(v.size, v.dtype, Place("output", k))
        for v, array in program.constants.items():
            if array.size == 1 and array.dtype.kind in "biufc":
                self.scalars[v] = array.item()
        self._set_goals()

    def _layout_users(self) -> dict[Value, list[Statement]]:
        users: dict[Value, list[Statement]] = {}
        for s, role in self.roles.of.items():
            if role == "layout":
                users.setdefault(s.args[0], []).append(s)
        return users

    # ---- where results go --------------------------------------------------------------------

    def _set_goals(self) -> None:
        order, number = self.grouping.order, {v: k for k, v in enumerate(self.program.inputs)}
        wanted = [(v, ("output", k)) for k, v in enumerate(self.program.outputs)]
        wanted += [(v, ("input", number[t])) for t, v in self.program.updates.items()]
        writers: dict[tuple[str, int], int] = {}
        for value, place in wanted:
            node = self.grouping.node_of(value)
            if node is None:
                if place[0] == "input" and self.program.inputs[place[1]] is value:
                    continue
                source = self.grouping.source(value)
                maker = self.grouping.node_of(source) if source is not None else None
                node = order.add({maker} if maker is not None else set())
                self.work[node] = _Copy(value, place)
                if source is not None:
                    self.needs.readers.setdefault(source, set()).add(node)
            else:
                self.goals.setdefault(value, []).append(place)
            writers[place] = node
        for value, place in wanted:
            if place[0] == "input" and place in writers:
                self._write_over(value, place, writers[place])

    def _write_over(self, value: Value, place: tuple[str, int], writer: int) -> None:
        """Have an input's readers run before the step that writes over it, or write later."""
        old = self.program.inputs[place[1]]
        readers, step = self.needs.readers.get(old, set()), self.work[writer]
        in_step = writer not in readers or not isinstance(step, _Copy)
        if in_step and all(r == writer or self.grouping.order.link(r, writer) for r in readers):
            return
        if isinstance(step, _Copy):
            step.place = ("late", place[1])
        else:
            self.goals[value].remove(place)
            self.late.append((value, place))

    # ---- what emitters ask --------------------------------------------------------------------

    def located(self, value: Value) -> Strided | None:
        """Where a value lies, if it is in memory, or a view of what is."""
        array = self.copies.get(value) or self.arrays.get(value)
        if array is not None:
            return array
        if value.size == 0:
            return Strided(self.empty, value.shape, row_major(value.shape))
        constant = self.program.constants.get(value)
        if constant is not None:
            return self._constant(value, constant)
        s = self.roles.made.get(value)
        if s is not None and self.roles.of[s] == "layout":
            base = self.located(s.args[0])
            return through(s, base) if base is not None else None
        return None

    def _constant(self, value: Value, constant: np.ndarray) -> Strided:
        place = Place("constant", len(self.constants))
        self.constants.append(np.array(constant, order="C"))
        buffer = Buffer(value.size, value.dtype, place)
        array = self.arrays[value] = Strided(buffer, value.shape, row_major(value.shape))
        return array

    def scalar(self, value: Value) -> Any:
        return self.scalars.get(value)

    def work_frame(self, s: Statement) -> Frame:
        return self.grouping.work[s]

    # ---- steps -------------------------------------------------------------------------------

    def plan(self) -> Plan:
        place = self.grouping.order.place
        for node in sorted(self.work, key=place.__getitem__):
            step = self.work[node]
            if isinstance(step, Group):
                self._group(step)
            elif isinstance(step, _Copy):
                self._result(step)
            else:
                self._statement(step)
        for value, goal in self.late:
            array = self.located(value)
            assert array is not None
            self._copy_to(value, array, self._whole(goal, value.shape))
        size = lay_out([use for _, use, _ in self.drafts])
        steps = [_placed(draft) for draft in self.drafts]
        program = self.program
        return Plan(steps, size, self.constants, list(program.inputs), list(program.outputs))

    def _whole(self, goal: tuple[str, int], shape: Shape) -> Strided:
        return Strided(self.buffers[goal], shape, row_major(shape))

    def _fresh(self, value: Value, order: tuple[int, ...] | None = None) -> Strided:
        """New memory in the arena for a value."""
        buffer = Buffer(value.size, value.dtype)
        strides = row_major(value.shape) if order is None else in_order(value.shape, order)
        return Strided(buffer, value.shape, strides)

    def _homes(self, value: Value) -> list[Strided]:
        """Where a stored value goes: to all its places among outputs and inputs, or the arena."""
        goals = self.goals.get(value)
        if goals:
            return [self._whole(goal, value.shape) for goal in goals]
        part = self._part_home(value)
        return [part or self._fresh(value, self._axis_order(value))]

    def _part_home(self, value: Value) -> Strided | None:
        """The place within a concatenation, of a value that is read by nothing else."""
        chain: list[Statement] = []
        users = self.grouping.uses.get(value, [])
        while len(users) == 1 and self.roles.of[users[0]] == "layout":
            chain.append(users[0])
            users = self.grouping.uses.get(users[0].output, [])
        if len(users) != 1 or users[0].function is not np.concatenate:
            return None
        s = users[0]
        end = chain[-1].output if chain else value
        if self.roles.of[s] != "parts" or s.args[0].count(end) != 1:
            return None
        if any(kind == "input" for kind, _ in self.goals.get(s.output, ())):
            return None
        homes = self.begun.get(s) or self._homes(s.output)
        home: Strided | None = _slices(s, homes[0])[s.args[0].index(end)]
        for layout in reversed(chain):
            home = inverse(layout, home) if home is not None else None
        if home is not None and (value not in self.products or self._is_matrix(home)):
            self.begun[s] = homes
            return home
        return None

    def _loops(self, built: Built, statements: list[Statement]) -> None:
        step = Loops(built.kernel, (), statements)
        self.drafts.append((step, Use(built.buffers, built), tuple(built.buffers)))

    def _built(
        self, loops: tuple[Loop, ...], inner: tuple[Loop, ...] | None, targets: list[Target]
    ) -> Built:
        """A kernel; what it cannot read where it lies is copied first."""
        while True:
            try:
                return build(self, loops, inner, targets)
            except NeedsCopy as wish:
                if wish.value in self.copies or not self._complete(wish.value):
                    raise
                self._copy(wish.value)

    def _complete(self, value: Value) -> bool:
        """Whether a value can be computed from what is in memory now, element by element."""
        source = self.grouping.source(value)
        return source is None or self.located(source) is not None or source in self.needs.again

    def _copy(self, value: Value) -> Strided:
        """The elements of a value by themselves, contiguous."""
        if value not in self.copies:
            fresh = self._fresh(value)
            self._copy_to(value, None, fresh)
            self.copies[value] = fresh
        return self.copies[value]

    def _copy_to(self, value: Value, array: Strided | None, to: Strided) -> None:
        if not value.size:
            return
        assert array is None or array.buffer is not to.buffer, "a copy onto itself"
        frame = new_frame(value.shape)
        loops = tuple(loop for axis in frame for loop in axis or ())
        s = self.roles.made.get(value)
        self._loops(self._built(loops, None, [Target(value, frame, [to])]), [s] if s else [])

    # ---- groups ------------------------------------------------------------------------------

    def _group(self, group: Group) -> None:
        group.statements.sort(key=self.index.__getitem__)
        values = [s.output for s in group.statements if s.output in self.needs.stored]
        values = [v for v in values if v.size]
        if not values:
            return
        targets = [Target(v, self.grouping.frames[v], self._homes(v)) for v in values]
        try:
            built = self._built(group.loops, group.inner, targets)
            if not self._safe(built):
                for v in values:
                    self._postpone(v)
                targets = [Target(v, self.grouping.frames[v], self._homes(v)) for v in values]
                built = self._built(group.loops, group.inner, targets)
        except NeedsCopy:
            self._one_by_one(group)
            return
        for target in targets:
            self.arrays[target.value] = target.arrays[0]
        self._loops(built, group.statements)

    def _safe(self, built: Built) -> bool:
        """Whether inputs that are written over are read in step with that."""
        touches = zip(built.buffers, built.touches, strict=True)
        return all(in_step(built.kernel, t, t) for b, t in touches if b.place and t.stores)

    def _postpone(self, value: Value) -> None:
        """Update inputs with a value at the end, not when it is computed."""
        goals = self.goals.get(value, [])
        for goal in [g for g in goals if g[0] == "input"]:
            goals.remove(goal)
            self.late.append((value, goal))

    def _one_by_one(self, group: Group) -> None:
        """A kernel for each statement: always possible."""
        for s in group.statements:
            self._postpone(s.output)
        for s in group.statements:
            work = self.grouping._begin(s)
            if not s.output.size:
                continue
            loops = tuple(loop for axis in work for loop in axis or ())
            inner = self.grouping.summed(s) if s.function in SEARCHES else None
            target = Target(s.output, self.grouping.frames[s.output], self._homes(s.output))
            self._loops(self._built(loops, inner, [target]), [s])
            self.arrays[s.output] = target.arrays[0]

    def _result(self, step: _Copy) -> None:
        kind, number = step.place
        value = step.value
        if kind != "late":
            self._copy_to(value, None, self._whole(step.place, value.shape))
        elif value.size:
            # Another step still reads what is to be written over.
            fresh = self._fresh(value)
            self._copy_to(value, None, fresh)
            held = Value(value.shape, value.dtype)
            self.arrays[held] = fresh
            self.late.append((held, ("input", number)))

    # ---- statements that stand alone ----------------------------------------------------------

    def _statement(self, s: Statement) -> None:
        role = self.roles.of[s]
        if role == "multiply":
            self._multiply(s)
        elif role == "parts":
            self._parts(s)
        elif role == "scatter":
            self._scatter(s)
        else:
            self._call(s)

    def _finish(self, value: Value, homes: list[Strided]) -> None:
        """Copy a value to the rest of its places."""
        self.arrays[value] = homes[0]
        for home in homes[1:]:
            self._copy_to(value, homes[0], home)

    def _multiply(self, s: Statement) -> None:
        out = s.output
        if not out.size:
            return
        if not s.args[0].size:
            self._fill(s)
            return
        a, b = (self._matrix(x) for x in s.args)
        self._keep_apart(s, list(s.args))
        homes = self._homes(out)
        use = Use([a.buffer, b.buffer, homes[0].buffer])
        step = Multiply(_unplaced(a), _unplaced(b), _unplaced(homes[0]), statements=[s])
        self.drafts.append((step, use, (a, b, homes[0])))
        self._finish(out, homes)

    def _fill(self, s: Statement) -> None:
        """A product over no elements is zero."""
        zero = self.program.constant(np.zeros((), s.output.dtype))
        self.scalars[zero] = 0
        homes = self._homes(s.output)
        frame = new_frame(s.output.shape)
        loops = tuple(loop for axis in frame for loop in axis or ())
        self._loops(self._built(loops, None, [Target(zero, frame, homes[:1])]), [s])
        self._finish(s.output, homes)

    def _is_matrix(self, array: Strided) -> bool:
        return self.backend.reads(array.shape, array.strides)

    def _matrix(self, value: Value) -> Strided:
        """An operand of a product, with neighbours along one of the last two axes."""
        array = self.located(value)
        if array is not None and self._is_matrix(array):
            return array
        return self._copy(value)

    def _call(self, s: Statement) -> None:
        inputs = {v: self.located(v) or self._copy(v) for v in dict.fromkeys(s.inputs)}
        self._keep_apart(s, s.inputs)
        homes = [self._homes(v) for v in s.outputs]
        outs = tuple(h[0] for h in homes)
        use = Use([a.buffer for a in (*inputs.values(), *outs)])
        step = Call(s, {}, ())
        self.drafts.append((step, use, (inputs, outs)))
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
        self._keep_apart(s, list(s.args[0]))
        homes = self.begun.get(s) or self._homes(s.output)
        for v, part in zip(s.args[0], _slices(s, homes[0]), strict=True):
            if self.located(v) != part:
                self._copy_to(v, None, part)
        self._finish(s.output, homes)

    def _scatter(self, s: Statement) -> None:
        """Write, or add, at computed places, in the order of the index."""
        out = s.output
        if not out.size:
            return
        homes = self._base(s)
        shape = infer(take, s.args[:2])[0]  # type: ignore[index]
        if 0 not in shape:
            self._write(s, shape, homes[0], s)
        self._finish(out, homes)

    def _write(
        self, s: Statement, shape: Shape, to: Strided, scatter: Statement | None = None
    ) -> None:
        """Write a statement's third argument to an array or a part of it."""
        value = s.args[2]
        if type(value) is not Value:
            number = value
            value = self.program.constant(np.array(number, s.output.dtype))
            self.scalars[value] = number
        frame = new_frame(shape)
        loops = tuple(loop for axis in frame for loop in axis or ())
        target = Target(value, frame, [to], scatter, adds=s.function is added)
        self._loops(self._built(loops, None, [target]), [s])

    def _base(self, s: Statement) -> list[Strided]:
        """The memory of a statement that writes into an array: it holds what is left as it is."""
        x, index, value = s.args
        within = self._dying(s)
        homes = self._homes(s.output)
        if within is not None and homes[0].buffer is within.buffer:
            return homes
        if within is not None and not self.goals.get(s.output):
            return [within]
        self._keep_apart(s, [x, value, *values_in(index)])
        homes = self._homes(s.output)
        self._copy_to(x, None, homes[0])
        return homes

    def _keep_apart(self, s: Statement, read: list[Any]) -> None:
        """Do not write over an input that is still read while its parts are written."""
        buffers = self._buffers_of(*read)
        for v in s.outputs:
            if any(self.buffers[goal] in buffers for goal in self.goals.get(v, ())):
                self._postpone(v)

    def _buffers_of(self, *values: Any) -> list[Buffer]:
        found = []
        for v in values:
            for leaf in self._leaves(v) if type(v) is Value else ():
                array = self.located(leaf)
                if array is not None:
                    found.append(array.buffer)
        return found

    def _leaves(self, value: Value) -> Iterator[Value]:
        source = self.grouping.source(value)
        if source is not None:
            yield source
            again = self.needs.again.get(source)
            if again is not None:
                yield from again[1]

    def _dying(self, s: Statement) -> Strided | None:
        """The array that a statement writes a part of, if nobody needs what it held before."""
        x, index, value = s.args
        array = self.arrays.get(x)
        if array is None or x in self.program.constants or x in self.program.outputs:
            return None
        if array.buffer in self._buffers_of(value, *values_in(index)):
            return None
        order, node = self.grouping.order.place, self.grouping.nodes[s]
        if any(order[r] > order[node] for r in self.needs.readers.get(x, ())):
            return None
        if any(array.buffer is other.buffer for v, other in self.arrays.items() if v is not x):
            return None
        held = array.buffer.place
        if held is None:
            return array if x not in self.program.results else None
        updates = self.program.updates
        return array if held.kind == "input" and updates.get(x) is s.output else None

    # ---- the order of axes in memory -----------------------------------------------------------

    def _axis_order(self, value: Value) -> tuple[int, ...] | None:
        """The order of the axes in which the value's readers need the fewest copies."""
        users = self.layouts.get(value)
        if not users or len(value.shape) < 2:
            return None
        ends = list(self._ends(value))
        best = self._price(value, None, ends)
        if not best:
            return None
        choice = None
        for s in users:
            if s.function is np.transpose:
                axes = axes_of_transpose(s)
                price = self._price(value, axes, ends)
                if price < best:
                    best, choice = price, axes
        return choice

    def _ends(self, value: Value) -> Iterator[tuple[list[Statement], bool]]:
        """The chains of layouts from a value to its readers, and whether a product is among
        those."""
        todo: list[tuple[Value, list[Statement]]] = [(value, [])]
        while todo:
            v, chain = todo.pop()
            yield chain, v in self.factors
            todo.extend((s.output, [*chain, s]) for s in self.layouts.get(v, ()))

    def _price(
        self, value: Value, order: tuple[int, ...] | None, ends: list[tuple[list[Statement], bool]]
    ) -> int:
        """How many readers need a copy."""
        price = 0
        start = self._fresh(value, order)
        for chain, product in ends:
            array: Strided | None = start
            for s in chain:
                array = through(s, array) if array is not None else None
            price += array is None or (product and not self._is_matrix(array))
        return price


def _slices(s: Statement, whole: Strided) -> list[Strided]:
    """The parts of a concatenation in memory."""
    axis, at, parts = _axis_of_concatenate(s), 0, []
    for v in s.args[0]:
        offset = whole.offset + at * whole.strides[axis]
        parts.append(Strided(whole.buffer, v.shape, whole.strides, offset))
        at += v.shape[axis]
    return parts


def _axis_of_concatenate(s: Statement) -> int:
    axis = s.kwargs.get("axis", s.args[1] if len(s.args) > 1 else 0)
    return axis % len(s.output.shape)


NOWHERE = Place("arena", 0)


def _unplaced(a: Strided) -> Layout:
    return Layout(NOWHERE, a.shape, a.strides, a.buffer.dtype)


def _layout(a: Strided) -> Layout:
    place = a.buffer.place
    assert place is not None
    place = Place(place.kind, place.number, place.offset + a.offset * a.buffer.dtype.itemsize)
    return Layout(place, a.shape, a.strides, a.buffer.dtype)


def _placed(draft: Draft) -> Step:
    """A step with the places of its arrays."""
    step, _, parts = draft
    if isinstance(step, Loops):
        step.places = tuple(b.place for b in parts)
    elif isinstance(step, Multiply):
        step.a, step.b, step.out = map(_layout, parts)
    else:
        inputs, outs = parts
        step.inputs = {v: _layout(a) for v, a in inputs.items()}
        step.outputs = tuple(map(_layout, outs))
    return step
