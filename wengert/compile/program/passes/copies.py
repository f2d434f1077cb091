"""Copies: what is put between computed parts of an array as it is becomes a statement like theirs.

It is then written by the loop that writes its neighbours. By itself it would be one more loop,
which moves all lines of the array for a part of each.
"""

from __future__ import annotations

import math

import numpy as np

from wengert.compile.program.infer import statement
from wengert.compile.program.operations import LAYOUTS, full
from wengert.compile.program.program import Program, Statement, Value

LARGE = 1 << 15
"""Bytes of an array that is not at hand at once when it is written again."""
SHORT = 64
"""Bytes of a part that shares its line of memory with others."""


def copies(program: Program) -> bool:
    """Add such statements; whether the program was changed, in place."""
    makers = program.makers()
    statements: list[Statement] = []
    for s in program.statements:
        given = _given(s, makers)
        copied = {v: statement(np.positive, v) for v in given}
        statements += copied.values()
        statements.append(_replaced(s, copied) if copied else s)
    changed = len(statements) > len(program.statements)
    program.statements = statements
    return changed


def _replaced(s: Statement, copied: dict[Value, Statement]) -> Statement:
    return s.replaced(lambda v: copied[v].output if v in copied else v)


def parts_within_lines(s: Statement) -> list[Value]:
    """What a large array is joined of, as far as several parts lie in one line of memory."""
    if s.function is not np.concatenate or s.output.nbytes < LARGE:
        return []
    axis = s.kwargs["axis"] % len(s.output.shape)
    inner = math.prod(s.output.shape[axis + 1 :]) * s.output.dtype.itemsize
    return [v for v in dict.fromkeys(s.args[0]) if v.shape[axis] * inner < SHORT]


def _given(s: Statement, makers: dict[Value, Statement]) -> list[Value]:
    """The parts that nothing computes, where others are computed."""
    parts = parts_within_lines(s)
    given = [v for v in parts if not _is_computed(v, makers) and v.dtype.kind in "fiu"]
    return given if len(given) < len(parts) else []


def _is_computed(v: Value, makers: dict[Value, Statement]) -> bool:
    while (s := makers.get(v)) and s.function in LAYOUTS:
        v = s.args[0]
    return s is not None and s.function is not full
