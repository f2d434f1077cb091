"""Statements that no result needs, constants that nobody reads, and updates that change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from wengert.compile.program.operations import check, full
from wengert.compile.program.program import Program, Statement, Value


def dead(program: Program) -> Program:
    """Remove what no result needs; the program is changed in place."""
    program.updates = {k: value for k, value in program.updates.items() if k is not value}
    program.statements, needed = left(program, program.results)
    program.constants = {v: a for v, a in program.constants.items() if v in needed}
    return program


def left(
    program: Program,
    results: Iterable[Value],
    narrowed: Callable[[Statement, set[Value]], Statement] | None = None,
) -> tuple[list[Statement], set[Value]]:
    """The statements of a program that act, or that results need, and all that is needed.

    `narrowed` is what is left of a statement, of whose results only some are needed.
    """
    makers = program.makers()
    needed: set[Value] = set(results)
    kept = []
    for s in reversed(program.statements):
        is_needed = not needed.isdisjoint(s.outputs)
        if is_needed or (s.acts and not (s.function is check and _holds(makers.get(s.args[0])))):
            if narrowed is not None:
                s = narrowed(s, needed)
            needed.update(s.inputs)
            kept.append(s)
    kept.reverse()
    return kept, needed


def _holds(condition: Statement | None) -> bool:
    """Whether the condition of a check is known to be true."""
    return condition is not None and condition.function is full and condition.args[1] is True
