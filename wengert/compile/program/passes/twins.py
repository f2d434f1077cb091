"""Twins: of loops and choices that are equal one runs, which a branch may be told the results of.

A function and its derivative, each called by itself, bring one loop along that differs in what it
keeps: the same test, the same body, the same initial state. Where the first comes before the choice
in whose branch the second is, as where a line search goes on from a point that it has tried, the
first one keeps what the branch reads; but no more than lies near, for the branch may not be taken.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from wengert.compile.program.bodies import NEAR, Choose, Repeat, Until, bodies, given
from wengert.compile.program.operations import astype
from wengert.compile.program.passes.common import SMALL, key
from wengert.compile.program.passes.dead import dead
from wengert.compile.program.passes.included import Place, included, is_worth_it
from wengert.compile.program.program import Program, Statement, Value


def twins(program: Program) -> bool:
    """Leave out loops and choices that run already; whether the program was changed, in place."""
    if sum(1 for _ in _with_bodies(program)) < 2:
        return False
    program.statements = list(map(_own, program.statements))
    return _Around(program, _Alike()).visit()


def _with_bodies(program: Program) -> Iterator[Statement]:
    for s in program.statements:
        if inside := bodies(s):
            yield s
        for body in inside:
            yield from _with_bodies(body)


def _own(s: Statement) -> Statement:
    """A statement whose bodies are no other's: what a derivative makes again is the same object."""
    if not bodies(s):
        return s
    s = s.replaced(lambda v: v)
    function: Any = copy.copy(s.function)
    vars(function).update({k: [*x] for k, x in vars(function).items() if type(x) is list})
    function.bodies = list(map(_own_body, function.bodies))
    if isinstance(function, Repeat):
        (function.body,) = function.bodies
    s.function = function
    return s


def _own_body(program: Program) -> Program:
    program = copy.copy(program)
    program.inputs, program.outputs = list(program.inputs), list(program.outputs)
    program.names, program.updates = dict(program.names), dict(program.updates)
    program.statements = list(map(_own, program.statements))
    return program


class _Alike:
    """The first of values that are computed alike, in whichever programs, stands for all."""

    def __init__(self) -> None:
        self._firsts: dict[Hashable, tuple[Value, ...]] = {}

    def inputs(self, program: Program) -> dict[Value, Any]:
        """What a program is given, where nothing is known of it but its place and its kind."""
        places = enumerate(program.inputs)
        return {v: self._first((k, *_kind(v)), (v,))[0] for k, v in places}

    def constants(self, program: Program) -> dict[Value, Any]:
        small = {v: a for v, a in program.constants.items() if a.nbytes <= SMALL}
        return {v: self._first((*_kind(v), a.tobytes()), (v,))[0] for v, a in small.items()}

    def statement(self, s: Statement, known: dict[Value, Any]) -> Hashable:
        """What equal statements have in common, given what stands for the values that they read.

        What stands for its results is known from now on; those of a draw are equal to no others.
        """
        if s.acts:
            return None
        told = s.replaced(lambda v: known.get(v, v))
        if s.function is astype and s.inputs and _kind(s.inputs[0]) == _kind(s.output):
            known[s.output] = told.args[0]  # a Python number as an array's
            return None
        if inside := bodies(s):
            settings = self._settings(s.function, inside)
            told.function, told.kwargs = type(s.function), {"what": settings}
        same = key(told), *map(_kind, s.outputs[: _finals(s)])
        known.update(zip(s.outputs, self._first(same, s.outputs), strict=False))
        return same

    def _settings(self, function: Any, inside: list[Program]) -> tuple[Any, ...]:
        settings = [getattr(function, name) for name in function.settings]
        return (*map(repr, settings), *map(self._body, inside))

    def _body(self, program: Program) -> int:
        """A number that equal bodies have in common."""
        known = self.inputs(program) | self.constants(program)
        for s in program.statements:
            self.statement(s, known)
        ends = [known.get(v, v) for v in (*program.outputs, *program.updates.values())]
        places = [program.inputs.index(v) for v in program.updates]
        same = len(program.inputs), len(program.outputs), *places, *ends
        return id(self._first(same, (Value((), bool),))[0])

    def _first(self, same: Hashable, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return self._firsts.setdefault(same, values)


def _kind(v: Value) -> tuple[Any, ...]:
    """What a value is, whether it is a Python number or not: that shows in what is made of it."""
    return v.shape, v.dtype


def _finals(s: Statement) -> int | None:
    """How many of the results are those of all equal statements."""
    return s.function.carries + 1 if isinstance(s.function, Until) else None


class _Around:
    """A program, and what is known where it runs: of a branch, also what ran before its choice."""

    def __init__(self, program: Program, alike: _Alike) -> None:
        self.program = program
        self.alike = alike
        self.outer: _Around | None = None
        self.choice: Any = None
        """Of a branch: the choice, and its own number there."""
        self.ran: dict[Hashable, tuple[_Around, Statement]] = {}
        self.known = {v: v for v in program.inputs} | alike.constants(program)

    def inside(self, s: Statement, number: int) -> _Around:
        """A body of a statement."""
        body = bodies(s)[number]
        around = _Around(body, self.alike)
        for v, x in zip(reversed(body.inputs), reversed(given(s, number)), strict=False):
            around.known[v] = self.known.get(x, x) if type(x) is Value else x
        if isinstance(s.function, Choose):
            around.outer, around.choice, around.ran = self, (s, number), dict(self.ran)
        return around

    def learn(self, constants: Iterable[Value], statements: list[Statement]) -> None:
        """What stands for values that have come to the program."""
        told = self.alike.constants(self.program)
        self.known.update({v: told[v] for v in constants if v in told})
        for s in statements:
            self.alike.statement(s, self.known)

    def visit(self) -> bool:
        by: dict[Value, Value] = {}
        changed = False
        for s in [*self.program.statements]:
            same, inside = self.alike.statement(s, self.known), bodies(s)
            if not inside:
                continue
            if same in self.ran:
                results = self._results(*self.ran[same], s)
            else:
                results = self._of_included(same, s)
            if results is not None:
                by.update(zip(s.outputs, results, strict=True))
                continue
            if same is not None:
                self.ran[same] = self, s
            for number, _ in enumerate(inside):
                changed |= self.inside(s, number).visit()
        if by:
            self.program.substitute(by)
            dead(self.program)
        return changed or bool(by)

    def _results(
        self, around: _Around, first: Statement, s: Statement, pairs: dict[int, int] | None = None
    ) -> list[Value] | None:
        """Those of the first of two equal statements, here; None if it cannot have them all.

        Of a loop the state may be a part of the first one's: that of its number in `pairs`.
        """
        places = _places(first, s, around is self, pairs)
        if places is not None:
            outputs = [first.outputs[k] for k in places]
            if any(v.weak != w.weak for v, w in zip(outputs, s.outputs, strict=True)):
                places = None
        return None if places is None else [self._here(around, first.outputs[k]) for k in places]

    def _of_included(self, same: Hashable, s: Statement) -> list[Value] | None:
        """Those of a loop that does what another does, and more, of which the larger one is run."""
        if not isinstance(s.function, Until):
            return None
        for known, (around, first) in [*self.ran.items()]:
            if not isinstance(first.function, Until):
                continue
            if first.function.carries > s.function.carries:
                pairs = included(s, self.known, first, around.known, _Alike())
                if pairs is not None:
                    return self._results(around, first, s, pairs)
                continue
            pairs = included(first, around.known, s, self.known, _Alike())
            if pairs is None:
                continue
            if around is not self and not is_worth_it(first, s):
                continue
            results = Place(self, around, first).enlarged(s, pairs)
            if results is None:
                continue
            for outer in self._up_to(around):
                outer.ran = {k: ran for k, ran in outer.ran.items() if k != known}
                outer.ran[same] = around, first
            for v, result in zip(s.outputs, results, strict=True):
                told = around.known.setdefault(result, self.known.get(v, v))
                self.known[v] = told
            return [self._here(around, v) for v in results]
        return None

    def _up_to(self, around: _Around) -> Iterator[_Around]:
        """This program and those around it, as far as that one."""
        level: _Around | None = self
        while level is not None:
            yield level
            level = None if level is around else level.outer

    def _here(self, around: _Around, v: Value) -> Value:
        """A value of a program around this one, handed in with the choice."""
        if around is self:
            return v
        assert self.outer is not None
        v = self.outer._here(around, v)
        choice, number = self.choice
        for place, x in zip(self.program.inputs, given(choice, number), strict=True):
            if x is v:
                return place
        choice.function.given[number] = [*choice.function.given[number], len(choice.args) - 1]
        choice.args, choice._inputs = (*choice.args, v), None
        place = self.program.input(v.shape, v.dtype, "x", v.weak)
        self.known[place] = self.outer.known.get(v, v)
        return place


def _places(
    first: Statement, s: Statement, beside: bool, pairs: dict[int, int] | None
) -> list[int] | None:
    """Which results of the first are those of the other. It keeps what the other does."""
    mine, yours = first.function, s.function
    if not isinstance(mine, Until) or not isinstance(yours, Until):
        return list(range(len(s.outputs)))
    body, n = mine.bodies[1], mine.carries + 1
    pairs = pairs or {k: k for k in range(yours.carries)}
    more = [pairs[k] for k in yours.keeps if pairs[k] not in mine.keeps]
    if more and mine.keeps and mine.rows != yours.rows:
        return None
    if not beside and sum(body.inputs[k].nbytes for k in (*mine.keeps, *more)) > NEAR:
        return None
    for k in more:
        mine.rows = yours.rows
        mine.keeps.append(k)
        v = body.inputs[k]
        first.outputs = (*first.outputs, Value((mine.rows, *v.shape), v.dtype))
    kept = [n + mine.keeps.index(pairs[k]) for k in yours.keeps]
    return [*(pairs[k] for k in range(yours.carries)), n - 1, *kept]
