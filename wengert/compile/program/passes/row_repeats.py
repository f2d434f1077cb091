"""Rows of what a loop makes: they are made by a loop over rows.

    x, s = repeat(x0, s0): x -> f(x, p), s -> s + Σ g(x)

Where iterations go element by element, a row of the state is made of the rows before, and of rows
of what the body reads. What adds up over the rows may go on from one block of them to the next:

    for each block:  x[block], s = repeat(x0[block], s)

So a state that no near cache holds need not go through memory in each iteration, nor what is kept
of all iterations for a derivative. `blocks.py` says where that is worth it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from wengert.compile.program.bodies import Repeat
from wengert.compile.program.infer import statement
from wengert.compile.program.operations import LAYOUTS, added, astype, full, updated
from wengert.compile.program.passes.picks import picked
from wengert.compile.program.passes.row_loops import Asked, Loop, Rows
from wengert.compile.program.program import Program, Statement, Value, mapped

SCALED: dict[Any, int] = {np.multiply: 2, np.divide: 1, np.true_divide: 1}
"""Functions that are linear in one argument, if the others are the same for all rows, and how many
it may be of."""
ALONE = LAYOUTS | {np.negative, astype}
"""Functions that are linear in their first argument."""


class Rowwise:
    """How a loop makes rows of some of its results, `count` in all; `fits` says whether it can.

    `axes` are the values of the body that have such rows, and the axis these are numbered along;
    `summed` those that are sums over rows, and `sums` the parts of the state, by number, that
    nothing but such sums is added to. All else that is `needed` is the same for all rows; so are
    other parts of the state, which are handed over with the sums.
    """

    def __init__(self, s: Statement, count: int, asked: Iterable[Rows], sums: bool) -> None:
        repeat: Any = s.function
        self.statement, self.repeat, self.body = s, repeat, repeat.body
        self.count = count
        first, last = 1 + repeat.carries, 1 + repeat.carries + repeat.rows
        self.state, self.xs = self.body.inputs[1:first], self.body.inputs[first:last]
        self.given = dict(zip(self.body.inputs[1:], s.args, strict=True))
        self.made = {v: t for t in self.body.statements for v in t.outputs}
        self.axes: dict[Value, int] = {}
        self.summed: set[Value] = set()
        self.sums: list[int] = []
        self.others: list[int] = []
        self.fits = not any(t.acts for t in self.body.statements)
        self.asked = list(asked)
        if self.fits:
            for v, axis in self.asked:
                self._ask(*self._inside(v, axis))
            for k in range(len(self.state)) if sums else ():
                self._sum(k)
            self.others = self._same() if self.sums else []
            self._settle()

    def _inside(self, v: Value, axis: int) -> Rows:
        """What of the body the rows of a result are rows of."""
        k = self.statement.outputs.index(v)
        if k < len(self.state):
            return self.state[k], axis
        return self.body.outputs[k - len(self.state)], axis - 1

    # ---- what has rows ------------------------------------------------------------------------

    def _ask(self, v: Value, axis: int) -> None:
        """Note what rows are needed for those of a value."""
        waiting = [(v, axis)]
        while waiting and self.fits:
            v, axis = waiting.pop()
            if v in self.axes or axis < 0:
                self.fits = self.axes.get(v) == axis
                continue
            self.axes[v] = axis
            if v in self.given:
                self.fits = type(self.given[v]) is Value and v.shape[axis] == self.count
                if v in self.body.updates:
                    waiting.append((self.body.updates[v], axis))
                continue
            t, asked = self.made.get(v), Asked(self.count)
            moves = picked(t) if t is not None and len(t.outputs) == 1 else None
            self.fits = moves is not None and moves(asked, t, axis) is not None
            waiting += asked.rows

    def _sum(self, k: int) -> None:
        """Note part k of the state as a sum, if it is one."""
        terms, through = self._terms(k) if self._may_go_on(self.state[k]) else ([], set())
        rows = [self._of_sum(v, through) for v in terms]
        if rows and all(rows):
            self.sums.append(k)
            self.summed |= through
            for v, axis in itertools.chain.from_iterable(rows):
                self._ask(v, axis)

    def _terms(self, k: int) -> tuple[list[Any], set[Value]]:
        """What an iteration adds to part k of the state, and what the part is on the way; nothing
        if it does anything else with it."""
        after = {self.state[k]}
        for t in self.body.statements:
            if not after.isdisjoint(t.inputs):
                after.update(t.outputs)
        v, chain = self.body.updates.get(self.state[k]), {self.state[k]}
        terms: list[Any] = []
        while v is not self.state[k]:
            t = self.made[v] if v in after else None
            if t is None or sum(x in after for x in t.inputs) != 1:
                return [], set()
            chain.add(v)
            if t.function is np.add and all(type(x) is Value for x in t.args):
                other, v = sorted(t.args, key=lambda x: x in after)
            elif t.function in (np.subtract, added) and t.args[0] in after:
                v, other = t.args[0], t.args[-1]
            else:
                return [], set()
            terms.append(other)
        others = {x for s, x in self.body.updates.items() if s is not self.state[k]}
        if after != chain or not after.isdisjoint({*others, *self.body.outputs}):
            return [], set()
        return terms, chain

    def _of_sum(self, v: Any, through: set[Value]) -> list[Rows]:
        """The rows that a sum, or what is linear in one, adds up; none if it is neither.

        What lies between is noted in `through`.
        """
        t = self.made.get(v) if type(v) is Value else None
        if t is None or v.dtype.kind not in "fc":
            return []
        through.add(v)
        if t.function is np.sum and len(t.args) == 1:
            x = t.args[0]
            return [(x, a) for a in t.kwargs["axis"] if x.shape[a] == self.count][:1]
        if t.function is np.matmul:
            a, b = t.args
            inner = min(len(a.shape), len(b.shape)) >= 2 and a.shape[-1] == self.count
            return [(a, len(a.shape) - 1), (b, len(b.shape) - 2)] if inner else []
        parts = [self._of_sum(x, through) for x in _linear_in(t) if not self._is_zero(x)]
        if parts:
            return [*itertools.chain.from_iterable(parts)] if all(parts) else []
        for x in t.args[: SCALED.get(t.function, 0)]:
            inside: set[Value] = set()
            if type(x) is Value and (rows := self._of_sum(x, inside)):
                through |= inside
                return rows
        return []

    def _is_zero(self, x: Any) -> bool:
        t = self.made.get(x) if type(x) is Value else None
        return t is not None and t.function is full and t.args[1] == 0

    def _may_go_on(self, v: Value) -> bool:
        """Whether a part of the state may be one of a loop around this one, too."""
        begin = self.given[v]
        return type(begin) is Value and begin.dtype == v.dtype and not v.weak

    def _same(self) -> list[int]:
        """The parts of the state that no rows are part of."""
        inputs = (*self.body.inputs, *self.body.constants)
        changing = self._after(v for v in inputs if self.count in v.shape)
        return [
            k
            for k, v in enumerate(self.state)
            if v not in changing and k not in self.sums and self._may_go_on(v)
        ]

    def _after(self, values: Iterable[Value]) -> set[Value]:
        """What depends on some values, in any iteration."""
        after, size = set(values), -1
        while size != len(after):
            size = len(after)
            for t in self.body.statements:
                if not after.isdisjoint(t.inputs):
                    after.update(t.outputs)
            after.update(v for v, new in self.body.updates.items() if new in after)
        return after

    def _settle(self) -> None:
        """Find what is needed, and see that what is the same for all rows depends on none."""
        updates = self.body.updates
        self.needed = needed = set[Value]()
        waiting = [*self.axes, *(self.state[k] for k in (*self.sums, *self.others))]
        while waiting:
            v = waiting.pop()
            if v not in needed:
                needed.add(v)
                waiting += [updates[v]] if v in updates else []
                waiting += self.made[v].inputs if v in self.made else ()
        changing = self._after((*self.axes, *(self.state[k] for k in self.sums)))
        whole = needed - self.summed - {*self.axes}
        self.fits = self.fits and whole.isdisjoint(changing) and self.summed.isdisjoint(self.axes)

    # ---- what is read around it ---------------------------------------------------------------

    @property
    def rows(self) -> list[Rows]:
        """The rows around the loop that these are made of."""
        xs = {*self.xs}
        return [
            (self.given[v], axis + (v in xs)) for v, axis in self.axes.items() if v in self.given
        ]

    @property
    def whole(self) -> set[Value]:
        """What it reads the whole of."""
        read = (x for v, x in self.given.items() if v in self.needed and v not in self.axes)
        return {x for x in read if type(x) is Value}

    @property
    def totals(self) -> list[Value]:
        """The results that are sums over the rows, or the same for all."""
        return [self.statement.outputs[k] for k in (*self.sums, *self.others)]

    @property
    def begins(self) -> list[Any]:
        return [self.statement.args[k] for k in (*self.sums, *self.others)]

    # ---- the loop over rows -------------------------------------------------------------------

    def written(self, loop: Loop, totals: dict[Value, Value]) -> dict[Value, Value]:
        """Write the loop over a block's rows down; its sums go on from `totals`."""
        old, new = self.body, _Body(loop.length)
        for v in old.inputs:
            if v in self.needed or v is old.inputs[0]:
                shape = new.shape(v.shape, self.axes[v]) if v in self.axes else v.shape
                new.known[v] = Value(shape, v.dtype, v.weak)
        for t in old.statements:
            if not self.needed.isdisjoint(t.outputs):
                self._write(new, t)
        body, known = new.body, new.known
        body.constants = {v: x for v, x in old.constants.items() if v in self.needed}
        body.inputs = [known[v] for v in old.inputs if v in known]
        states = [k for k, v in enumerate(self.state) if v in known]
        updates = ((v, old.updates[v]) for v in self.state if v in known and v in old.updates)
        body.updates = {known[v]: known.get(u, u) for v, u in updates}
        asked = dict.fromkeys(v for v, _ in self.asked)
        numbers = {k: v for k, v in enumerate(self.statement.outputs) if v in asked}
        after = {k: v for k, v in numbers.items() if k >= len(self.state)}
        body.outputs = [known[old.outputs[k - len(self.state)]] for k in after]
        args = []
        for k, v in enumerate(old.inputs[1:]):
            if v in known:
                args.append(self._argument(loop, k, v, totals))
        length, xs = self.repeat.length, sum(v in known for v in self.xs)
        repeat = Repeat(body, length, self.repeat.backwards, len(states), xs)
        finals = [Value(known[self.state[k]].shape, known[self.state[k]].dtype) for k in states]
        blocks = [Value((length, *v.shape), v.dtype) for v in body.outputs]
        s = self.statement
        loop.body.statements.append(
            Statement(repeat, tuple(args), {}, (*finals, *blocks), s.code, s.at)
        )
        loop.own.update((*finals, *blocks))
        results = dict(zip((*states, *after), (*finals, *blocks), strict=True))
        for v, axis in self.asked:
            loop.known[v, axis] = results[s.outputs.index(v)]
        return {s.outputs[k]: results[k] for k in (*self.sums, *self.others)}

    def _argument(self, loop: Loop, k: int, v: Value, totals: dict[Value, Value]) -> Any:
        given = self.given[v]
        if v in self.axes:
            return loop.known[given, self.axes[v] + (v in {*self.xs})]
        if k in self.sums:
            return totals[self.statement.outputs[k]]
        return loop._inside(given) if type(given) is Value else given

    def _write(self, new: _Body, t: Statement) -> None:
        out = t.outputs[0]
        if out in self.axes:
            new.known[out] = picked(t)(new, t, self.axes[out])
        elif out in self.summed:
            new.known[out] = new(t.function, *t.args, **t.kwargs)
        else:
            copies = {v: Value(v.shape, v.dtype, v.weak) for v in t.outputs}
            same = t.replaced(lambda v: new.known.get(v, v))
            same.outputs = tuple(copies.values())
            new.body.statements.append(same)
            new.known.update(copies)


def _linear_in(t: Statement) -> Sequence[Any]:
    """What a statement's result is linear in, taken together."""
    if t.function in ALONE:
        return t.args[:1]
    if t.function in (np.add, np.subtract):
        return t.args
    if t.function in (updated, added):
        return t.args[0], t.args[2]
    return t.args[0] if t.function is np.concatenate else ()


class _Body(Asked):
    """The body of a loop over rows, under construction: `known` are its values of the others."""

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.body = Program()
        self.known: dict[Value, Value] = {}

    def of(self, x: Value, axis: int) -> Value:
        return self.known[x]

    def __call__(self, function: Any, *args: Any, **kwargs: Any) -> Value:
        s = statement(function, *mapped(args, lambda v: self.known.get(v, v)), **kwargs)
        self.body.statements.append(s)
        return s.output
