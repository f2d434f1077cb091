"""Bodies as machine code runs them: several iterations at once, where a loop goes back.

Where bodies only walk through arrays, element by element, so do several of them in a row: one
kernel, which reads and writes each part of the state once, and computes the states between from the
first, in registers. Of those only the first has to be kept.
"""

from __future__ import annotations

from itertools import chain

from wengert.compile.program.again import FREE, is_cheap, map_name
from wengert.compile.program.bodies import NEAR, Repeat, Rewind, bodies
from wengert.compile.program.program import Program, Statement, Value, mapped

MOST = 48
"""Statements of a kernel: more values than there are registers go through memory."""


def run(statement: Statement) -> list[Program]:
    """The programs that machine code runs for a statement."""
    function = statement.function
    if isinstance(function, Repeat):
        return [function.moving]
    if isinstance(function, Rewind) and (count := times(function)) > 1:
        return [*function.bodies, *together(function, count)]
    if isinstance(function, Rewind) and function.alone is not None:
        return [*function.bodies, function.alone]
    return bodies(statement)


def times(rewind: Rewind) -> int:
    """How many iterations go back at once; 1 if that is of no use."""
    if len(rewind.bodies) != 2:
        return 1
    first, back = rewind.bodies
    far = any(v.nbytes > NEAR for v in rewind.states[: rewind.carries[0]])
    if not far or not all(map(is_cheap, first.statements)):
        return 1
    if any(s.acts or not _walks(s) for s in chain(first.statements, back.statements)):
        return 1
    count = len(first.statements) + len(back.statements)
    most = 1 << (MOST // max(count, 1)).bit_length() >> 1
    room = most if rewind.limit is None else rewind.limit // 8
    return max(min(most, room, 8), 1)


def _walks(s: Statement) -> bool:
    return s.function in FREE or map_name(s.function) is not None


def together(rewind: Rewind, count: int) -> list[Program]:
    """So many iterations of the loop, and so many back, as bodies.

    The first is given what one iteration is; the other what one iteration back is, but the state
    before the first of them, and what the first is given beside the state.
    """
    first, back = rewind.bodies
    n, own = rewind.carries
    onwards, backwards = Program(), Program()
    onwards.inputs = list(first.inputs)
    state = first.inputs[:n]
    news = state
    for _ in range(count):
        news = _carried_out(onwards, first, [*news, *first.inputs[n:]], n)
    onwards.updates = dict(zip(state, news, strict=True))
    around = list(map(_like, first.inputs[n:]))
    backwards.inputs = [*back.inputs, *around]
    befores = [back.inputs[own : own + n]]
    for _ in range(count - 1):
        befores.append(_carried_out(backwards, first, [*befores[-1], *around], n))
    news = back.inputs[:own]
    for before in reversed(befores):
        given = [*news, *before, *back.inputs[own + n :]]
        news = _carried_out(backwards, back, given, own)
    backwards.updates = dict(zip(back.inputs[:own], news, strict=True))
    return [onwards, backwards]


def _carried_out(program: Program, body: Program, given: list[Value], carries: int) -> list[Value]:
    """The state after the statements of a body, which a program gets."""
    now = dict(zip(body.inputs, given, strict=True))
    program.constants.update(body.constants)
    for s in body.statements:
        args, kwargs = (mapped(x, lambda v: now.get(v, v)) for x in (s.args, s.kwargs))
        outputs = tuple(map(_like, s.outputs))
        program.statements.append(Statement(s.function, args, kwargs, outputs, s.code, s.at))
        now.update(zip(s.outputs, outputs, strict=True))
    return [now.get(new := body.updates.get(v, v), new) for v in body.inputs[:carries]]


def _like(v: Value) -> Value:
    return Value(v.shape, v.dtype, v.weak)
