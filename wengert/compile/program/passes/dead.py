"""Statements that no result needs, constants that nobody reads, and updates that change nothing.

Random draws stay in any case: the next one of the generator depends on them.
"""

from __future__ import annotations

from wengert.compile.program.program import Program, Value


def dead(program: Program) -> Program:
    """Remove what no result needs; the program is changed in place."""
    program.updates = {k: value for k, value in program.updates.items() if k is not value}
    needed: set[Value] = set(program.results)
    kept = []
    for s in reversed(program.statements):
        if any(value in needed for value in s.outputs) or getattr(s.function, "draws", False):
            needed.update(s.inputs)
            kept.append(s)
    kept.reverse()
    program.statements = kept
    program.constants = {v: a for v, a in program.constants.items() if v in needed}
    return program
