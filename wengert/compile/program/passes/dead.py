"""Statements that no result needs, constants that nobody reads, and updates that change nothing."""

from __future__ import annotations

from wengert.compile.program.operations import check, full
from wengert.compile.program.program import Program, Statement, Value


def dead(program: Program) -> Program:
    """Remove what no result needs; the program is changed in place."""
    program.updates = {k: value for k, value in program.updates.items() if k is not value}
    makers = {v: s for s in program.statements for v in s.outputs}
    needed: set[Value] = set(program.results)
    kept = []
    for s in reversed(program.statements):
        acts = s.acts and not (s.function is check and _holds(makers.get(s.args[0])))
        if acts or any(value in needed for value in s.outputs):
            needed.update(s.inputs)
            kept.append(s)
    kept.reverse()
    program.statements = kept
    program.constants = {v: a for v, a in program.constants.items() if v in needed}
    return program


def _holds(condition: Statement | None) -> bool:
    """Whether the condition of a check is known to be true."""
    return condition is not None and condition.function is full and condition.args[1] is True
