"""Waits: what other processes take part in is started early and waited for late.

A function with `parts` becomes a statement that starts it, where its argument is known, and one
that waits, where nothing is left to do that does not need the result. In between it is asked after
where something takes long, since some engines go on only when they are.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from wengert.compile.program.bodies import bodies
from wengert.compile.program.program import Program, Statement, Value
from wengert.dispatch import Function, Parts


def waits(program: Program) -> bool:
    """Take such functions apart; whether the program was changed, in place."""
    if not any(parts_of(s) for s in program.statements):
        return False
    program.statements = _Ordering().ordered(starting_early(program.statements))
    return True


def starting_early(statements: list[Statement]) -> list[Statement]:
    """What leads to the first of them comes first, then what leads to the second..., then the rest.

    All that acts stays in its order: all ranks start the same things one after the other.
    """
    makers = {v: k for k, s in enumerate(statements) for v in s.outputs}
    acting = [k for k, s in enumerate(statements) if s.acts]
    before = dict(itertools.pairwise(reversed(acting)))  # what acts, by what acts next
    order: dict[int, None] = {}
    for started in acting:
        if not parts_of(statements[started]):
            continue
        ahead, waiting = {started}, [started]
        while waiting:
            k = waiting.pop()
            led = [makers[v] for v in statements[k].inputs if v in makers]
            led += [before[k]] if k in before else []
            new = {n for n in led if n not in order} - ahead
            ahead |= new
            waiting += new
        order.update(dict.fromkeys(sorted(ahead)))
    order.update(dict.fromkeys(range(len(statements))))
    return [statements[k] for k in order]


def parts_of(s: Statement) -> Parts | None:
    parts: Parts | None = getattr(s.function, "parts", None)
    return parts


class _Ordering:
    """Statements in the order in which they run: those that wait for nothing come first."""

    def __init__(self) -> None:
        self.done: list[Statement] = []
        self.underway: list[tuple[Statement, Parts, Value, Value]] = []
        """Statements that were started, the first of them first, their parts, tickets and room."""

    def ordered(self, statements: list[Statement]) -> list[Statement]:
        while statements or self.underway:
            if self.underway:
                self.wait(*self.underway.pop(0))
            statements = self.without_waiting(statements)
        return self.done

    def without_waiting(self, statements: list[Statement]) -> list[Statement]:
        """Do what needs no wait, and return what is left; what acts stays in its order."""
        missing = {v for s, *_ in self.underway for v in s.outputs}
        left: list[Statement] = []
        acted = False  # whether something that acts is left
        for s in statements:
            parts = parts_of(s)
            if (acted and s.acts) or not missing.isdisjoint(s.inputs):
                left.append(s)
                missing.update(s.outputs)
                acted |= s.acts
            elif parts is not None:
                self.start(s, parts)
                missing.update(s.outputs)
            else:
                self.done.append(s)
                if s.function is np.matmul or bodies(s):  # they take long
                    self.go_on()
        return left

    def start(self, s: Statement, parts: Parts) -> None:
        ticket, room = Value((), np.int64), Value(s.output.shape, s.output.dtype)
        self.add(parts.start, s.args, s, ticket, room)
        self.underway.append((s, parts, ticket, room))

    def go_on(self) -> None:
        """Ask after what was started first: that has the others go on, too."""
        if self.underway:
            s, parts, ticket, room = self.underway[0]
            after = Value((), np.int64)
            self.add(parts.go_on, (ticket, *s.args[1:]), s, after)
            self.underway[0] = s, parts, after, room

    def wait(self, s: Statement, parts: Parts, ticket: Value, room: Value) -> None:
        self.add(parts.wait, (ticket, room, *s.args), s, *s.outputs)

    def add(self, function: Function, args: Any, s: Statement, *outputs: Value) -> None:
        """A part of a statement, at its line."""
        self.done.append(Statement(function, args, s.kwargs, outputs, s.code, s.at))
