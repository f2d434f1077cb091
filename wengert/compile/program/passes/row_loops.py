"""A loop over rows of arrays: its body, made of the statements that make all rows at once.

`picks.py` says how rows of a result are made of rows of its operands. `Asked` notes which rows that
would be; `Loop` has the body compute with a block of them. `blocks.py` and `members.py` say what is
worth a loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wengert.compile.program.bodies import Repeat
from wengert.compile.program.infer import Calls, statement
from wengert.compile.program.operations import LAYOUTS, astype, full, view
from wengert.compile.program.passes.picks import Pick, along, picked
from wengert.compile.program.program import Program, Shape, Statement, Value, mapped

Rows = tuple[Value, int]
"""An array, and the axis that its rows are numbered along."""


def in_order(
    needed: Mapping[Rows, Statement | None], program: Program
) -> dict[Rows, Statement | None]:
    """What is read, and then what is made, as in the program."""
    number = {s: k for k, s in enumerate(program.statements)}
    items = sorted(needed.items(), key=lambda item: number[item[1]] if item[1] else -1)
    return dict(items)


def is_full(makers: Mapping[Value, Statement], v: Value) -> bool:
    """Whether an array is made of one number."""
    s = makers.get(v)
    return s is not None and s.function is full


def in_a_row(call: Calls, blocks: Value, axis: int) -> Value:
    """The rows of blocks that were made one after the other, along an axis."""
    rest = [k for k in range(len(blocks.shape)) if k]
    if axis:
        blocks = call(np.transpose, blocks, (*rest[:axis], 0, *rest[axis:]))
    shape = blocks.shape
    return call(
        np.reshape, blocks, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])
    )


class Asked(Pick):
    """Notes whose rows `picks` asks for, where it would compute with them."""

    def __init__(self, length: int) -> None:
        super().__init__(self, slice(length), length)  # type: ignore[arg-type]
        self.rows: list[Rows] = []

    def of(self, x: Value, axis: int) -> Value:
        self.rows.append((x, axis))
        return x

    def on(self, x: Value, axis: int) -> Value:
        return self.of(x, axis)

    def maker(self, value: Any, *functions: Any) -> None:
        return None

    def __call__(self, function: Any, *args: Any, **kwargs: Any) -> Value:
        return statement(function, *args, **kwargs).output


class Loop(Asked):
    """The body of a loop over blocks of rows, under construction.

    `needed` are the rows that it reads, and then those that statements make in it, in order;
    `leaves` are the arrays whose rows it hands over, and `makers` say what makes others. How loops
    make rows is said in `row_repeats.py`: those among its statements are its `repeats`.
    """

    def __init__(
        self,
        needed: Mapping[Rows, Statement | None],
        leaves: Mapping[Value, int],
        makers: Mapping[Value, Statement],
        rows: int,
        repeats: Mapping[Statement, Any] | None = None,
    ) -> None:
        super().__init__(rows)
        self.repeats, self.sums = dict(repeats or {}), dict[Value, Value]()
        self.needed, self.leaves, self.makers = needed, leaves, makers
        self.body = Program()
        self.known: dict[Rows, Value] = {}
        self.own: set[Value] = set()
        self.xs: dict[Rows, Value] = {}
        self.around: dict[Value, Value] = {}
        self.laid: dict[Value, Value] = {}

    def written(
        self, inits: Sequence[Value], sums: Sequence[Any], start: int, length: int
    ) -> tuple[list[Statement], Statement]:
        """The loop over so many blocks from a row on; before it, what it reads of each array."""
        body = self.body
        states = [self._input(init.shape, init.dtype) for init in inits]
        totals = dict(zip((v for end in sums for v in end.outputs), states, strict=True))
        self.sums = dict(totals)
        for (v, axis), s in self.needed.items():
            if (v, axis) not in self.known:
                self._make(v, axis, s)
        for end in sums:
            if end.loop:
                self._repeat(end.statement)
                continue
            part, state = end.part(self), totals[end.statement.output]
            if part.dtype != state.dtype:
                part = self(astype, part, state.dtype)
            self.sums[end.statement.output] = self(end.combine, state, part)
        news = list(self.sums.values())
        index = self._input((), np.int64)
        body.inputs = [index, *states, *self.xs.values(), *self.around.values()]
        body.updates = dict(zip(states, news, strict=True))
        body.outputs = [self.known[rows] for rows in self.leaves.items()]
        before = Calls([])
        blocks = [self._blocks(before, v, axis, start, length) for v, axis in self.xs]
        repeat = Repeat(body, length, False, len(states), len(blocks))
        rows = [Value((length, *v.shape), v.dtype) for v in body.outputs]
        outputs = (*(Value(v.shape, v.dtype) for v in states), *rows)
        args = (*inits, *blocks, *self.around)
        line = next(s for s in self.needed.values() if s)
        return before.statements, Statement(repeat, args, {}, outputs, line.code, line.at)

    def _blocks(self, call: Calls, v: Value, axis: int, start: int, length: int) -> Value:
        """The blocks of an array's rows, one after the other."""
        stop = start + length * self.length
        if stop - start != v.shape[axis]:
            v = call(view, v, along(v.shape, axis, slice(start, stop, 1)))
        return call(np.reshape, v, (length, *self.shape(v.shape, axis)))

    def _make(self, v: Value, axis: int, s: Statement | None) -> None:
        if s is not None and isinstance(s.function, Repeat):
            self._repeat(s)
        else:
            self.known[v, axis] = self._rows(v, axis, s)

    def _repeat(self, s: Statement) -> None:
        """Write a loop over rows down, once."""
        if s in self.repeats:
            self.sums |= self.repeats.pop(s).written(self, self.sums)

    def _rows(self, v: Value, axis: int, s: Statement | None) -> Value:
        if s is not None:
            moved: Value = picked(s)(self, s, axis)
            return moved
        if is_full(self.makers, v):
            return self(full, self.shape(v.shape, axis), *self.makers[v].args[1:])
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
        s = self.makers.get(v)
        if s is not None and s.function in LAYOUTS:  # it costs nothing inside, and may outside
            if v not in self.laid:
                self.laid[v] = self(s.function, *s.args, **s.kwargs)
            return self.laid[v]
        if v not in self.around:
            self.around[v] = Value(v.shape, v.dtype, v.weak)
        return self.around[v]
