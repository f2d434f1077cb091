"""Loops that are a part of others: a tangent's loop does what the function's own does, and more.

Which parts of the states of two loops are the same is told as in a minimal automaton: first those
that begin alike, then of these those that are updated alike, and so on until nothing differs any
more (Alpern, Wegman and Zadeck, "Detecting equality of variables in programs", 1988).
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from wengert.compile.program.bodies import NEAR, Until, bodies, draws, given, operations
from wengert.compile.program.program import Program, Statement, Value, mapped

MORE = 3
"""So many times the operations of a loop, at most, are run for a branch that may not be taken. The
next state is waited for, and what else is done for some few numbers runs meanwhile."""

Known = dict[Value, Any]
"""What stands for a value: the same for values that are computed alike."""
Numbering = Any
"""`twins._Alike`: numbers what is computed."""


@dataclass
class _Side:
    """One of the two loops, and what stands for its arguments."""

    s: Statement
    known: Known

    @property
    def loop(self) -> Until:
        loop: Any = self.s.function
        return loop

    @property
    def body(self) -> Program:
        return self.loop.bodies[1]

    @property
    def carries(self) -> int:
        return self.loop.carries

    def told(self, arg: Any) -> Any:
        return self.known.get(arg, arg) if type(arg) is Value else repr(arg)

    def begin(self) -> list[Hashable]:
        state = self.body.inputs[: self.carries]
        return [
            (v.shape, v.dtype, v.weak, self.told(x))
            for v, x in zip(state, self.s.args, strict=False)
        ]

    def run(self, number: int, numbering: Numbering, state: list[Value]) -> Known:
        """What is known in the test or the body, for states for which these stand."""
        program = self.loop.bodies[number]
        known = numbering.constants(program) | dict(zip(program.inputs, state, strict=False))
        places = program.inputs[self.carries :]
        known |= dict(zip(places, map(self.told, given(self.s, number)), strict=True))
        for s in program.statements:
            numbering.statement(s, known)
        return known


def included(
    small: Statement, known_small: Known, large: Statement, known_large: Known, numbering: Numbering
) -> dict[int, int] | None:
    """Which parts of the state of the large loop are those of the small one; None if it has others.

    `numbering` begins anew.
    """
    if not isinstance(small.function, Until) or not isinstance(large.function, Until):
        return None
    if draws(small) or draws(large):
        return None
    sides = _Side(small, known_small), _Side(large, known_large)
    if len({side.carries for side in sides}) == 1 or not {*sides[0].begin()} <= {*sides[1].begin()}:
        return None
    colours = [side.begin() for side in sides]
    stands: dict[Hashable, Value] = {}
    while True:
        for colour in (c for side in colours for c in side):
            stands.setdefault(colour, Value((), bool))
        states = [[stands[c] for c in side] for side in colours]
        after = [
            [(state, told) for state, told in zip(now, _updates(side, numbering, now), strict=True)]
            for side, now in zip(sides, states, strict=True)
        ]
        if len({c for side in after for c in side}) == len({c for side in colours for c in side}):
            break
        colours = after  # type: ignore[assignment]
    tests = [_test(side, numbering, now) for side, now in zip(sides, states, strict=True)]
    return _paired(*colours) if tests[0] == tests[1] else None


def _updates(side: _Side, numbering: Numbering, state: list[Value]) -> Iterator[Any]:
    known, body = side.run(1, numbering, state), side.body
    for v in body.inputs[: side.carries]:
        new = body.updates.get(v, v)
        yield known.get(new, new)


def _test(side: _Side, numbering: Numbering, state: list[Value]) -> list[Any]:
    known = side.run(0, numbering, state)
    return [known.get(v, v) for v in side.loop.bodies[0].outputs]


def _paired(small: list[Hashable], large: list[Hashable]) -> dict[int, int] | None:
    """For each of the small loop's parts one of the large one's, each taken once."""
    pairs: dict[int, int] = {}
    for i, colour in enumerate(small):
        free = [j for j, c in enumerate(large) if c == colour and j not in pairs.values()]
        if not free:
            return None
        pairs[i] = free[0]
    return pairs


def is_worth_it(small: Statement, large: Statement) -> bool:
    """Whether the large loop may run where perhaps only the small one has to."""
    loop: Any = large.function
    state = loop.bodies[1].inputs[: loop.carries]
    near = sum(v.nbytes for v in state) <= NEAR
    return near and operations(large) <= MORE * operations(small)


class Place:
    """Where a loop has run, in a program around that of a larger one, which is to run there.

    `here` and `around` are those two programs as `twins._Around` knows them.
    """

    def __init__(self, here: Any, around: Any, first: Statement) -> None:
        self.here = here
        self.around = around
        self.first = first
        statements = around.program.statements
        self.before = statements[: next(k for k, s in enumerate(statements) if s is first)]
        self.there = {*around.program.inputs, *around.program.constants}
        self.there.update(v for s in self.before for v in s.outputs)
        self.done: dict[Value, Any] = {}
        self.added: list[Statement] = []
        self.constants: dict[Value, Any] = {}

    def enlarged(self, s: Statement, pairs: dict[int, int]) -> list[Value] | None:
        """The results of the large loop, which the small one is made; None if it cannot be."""
        mine: Any = self.first.function
        yours: Any = s.function
        own = {j: i for i, j in pairs.items()}
        if mine.keeps and yours.keeps and mine.rows != yours.rows:
            return None
        first, here = self.first, self.here
        args = [first.args[own[k]] if k in own else self.of(here, x) for k, x in enumerate(s.args)]
        if any(x is None for x in args):
            return None
        function = copy.copy(yours)
        more = (j for i in mine.keeps if (j := pairs[i]) not in yours.keeps)
        function.keeps, function.rows = [*yours.keeps, *more], yours.rows or mine.rows
        known = dict(zip(_results(mine), first.outputs, strict=True))
        outputs = [
            known.get((what, own.get(k, -1))) or Value(*self.likes(function, what, k))
            for what, k in _results(function)
        ]
        first.function, first.args, first.outputs = function, tuple(args), tuple(outputs)
        first._inputs = None
        program = self.around.program
        program.statements = [*self.before, *self.added, *program.statements[len(self.before) :]]
        program.constants.update(self.constants)
        self.around.learn(self.constants, self.added)
        return outputs[: len(s.outputs)]

    @staticmethod
    def likes(function: Until, what: str, k: int) -> tuple[Any, Any]:
        """Shape and dtype of a result."""
        v = function.bodies[1].inputs[k]
        return (v.shape if what == "final" else (function.rows, *v.shape)), v.dtype

    def of(self, level: Any, x: Any) -> Any:
        """An argument of a level's statements, there; None if it cannot be."""
        if type(x) is not Value:
            return x
        if x not in self.done:
            self.done[x] = self._of(level, x)
        return self.done[x]

    def _of(self, level: Any, v: Value) -> Any:
        program = level.program
        if level is self.around and v in self.there:
            return v
        if v in program.constants:
            constant = Value(v.shape, v.dtype, v.weak)
            self.constants[constant] = program.constants[v]
            return constant
        if v in program.inputs:
            assert level.outer is not None
            choice, number = level.choice
            return self.of(level.outer, given(choice, number)[program.inputs.index(v)])
        maker = next(s for s in program.statements if v in s.outputs)
        args = {x: self.of(level, x) for x in maker.inputs}
        if not _is_simple(maker) or any(x is None for x in args.values()):
            return None
        copied = _again(maker, args)
        self.added.append(copied)
        self.done.update(zip(maker.outputs, copied.outputs, strict=True))
        return self.done[v]


def _results(function: Until) -> list[tuple[str, int]]:
    """What the results are: final parts of the state, how many iterations, and parts kept."""
    finals = [("final", k) for k in range(function.carries)]
    return [*finals, ("count", -1), *(("kept", k) for k in function.keeps)]


def _is_simple(s: Statement) -> bool:
    """Whether it may as well run earlier, and always."""
    return not bodies(s) and not s.acts and all(v.nbytes <= NEAR for v in s.outputs)


def _again(s: Statement, args: dict[Value, Any]) -> Statement:
    """A statement in another program."""
    outputs = tuple([Value(v.shape, v.dtype, v.weak) for v in s.outputs])
    inputs = mapped(s.args, args.__getitem__), mapped(s.kwargs, args.__getitem__)
    return Statement(s.function, *inputs, outputs, s.code, s.at)
