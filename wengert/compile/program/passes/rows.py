"""Rows that loops need not go through, as their bodies make them, and results that are alike.

Of an array of one number, or of one row again and again, each iteration reads the same; and a row
of what is computed element by element is computed of rows. So such arrays need not lie in memory,
if no one else reads them and they cost no more than moving them. An array of one number that all
iterations read is made in each, where what is made of it is known to be that number for the most
part, as what is added to a part of zeros. And what a loop makes twice it writes once.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from wengert.compile.program.again import is_cheap
from wengert.compile.program.bodies import Repeat
from wengert.compile.program.operations import full
from wengert.compile.program.passes.rewrite import is_elementwise
from wengert.compile.program.program import Program, Statement, Value, mapped

Pairs = list[tuple[Any, Value]]
"""Arguments of a loop, and what stands for them in its body."""


def rows(program: Program) -> bool:
    """Have loops make such rows; whether the program was changed, in place."""
    alike = _alike(program)
    program.substitute(alike)
    makers = program.makers()
    users, results = program.users(), set(program.results)
    alone = {v for v, readers in users.items() if len(readers) == 1} - results
    changed = False
    for k, s in enumerate(program.statements):
        while isinstance(s.function, Repeat) and (leaner := _leaner(s, makers, alone)) is not None:
            program.statements[k], s, changed = leaner, leaner, True
    return changed or bool(alike)


def _alike(program: Program) -> dict[Value, Value]:
    """The results whose rows are those of another one of the same loop, which takes their place."""
    alike: dict[Value, Value] = {}
    for s in program.statements:
        if isinstance(s.function, Repeat):
            firsts: dict[Value, Value] = {}
            for row, v in zip(
                s.function.body.outputs, s.outputs[s.function.carries :], strict=True
            ):
                if (first := firsts.setdefault(row, v)) is not v:
                    alike[v] = first
    return alike


def _leaner(s: Statement, makers: dict[Value, Statement], alone: set[Value]) -> Statement | None:
    """A loop that goes through the rows of one array less; None if it has to."""
    loop: Any = s.function
    first, last = loop.carries, loop.carries + loop.rows
    pairs = list(zip(s.args, loop.body.inputs[1:], strict=True))
    for k, (x, row) in enumerate(pairs[first:last], first):
        given, around = pairs[first:k] + pairs[k + 1 : last], pairs[last:]
        body = copy.copy(loop.body)
        twin = next((w for y, w in given if y is x), None)
        if twin is not None:
            body.substitute({row: twin})
        elif not _made_inside(body, makers.get(x), row, x in alone, given, around):
            continue
        return _given(s, body, pairs[:first], given, around)
    for k, (x, v) in enumerate(pairs[last:], last):
        maker = makers.get(x)
        if maker is not None and maker.function is full and not maker.inputs:
            body = copy.copy(loop.body)
            one = Statement(full, maker.args, {}, (v,), maker.code, maker.at)
            body.statements = [one, *body.statements]
            around = [*pairs[last:k], *pairs[k + 1 :]]
            return _given(s, body, pairs[:first], pairs[first:last], around)
    return None


def _given(s: Statement, body: Program, states: Pairs, rows: Pairs, around: Pairs) -> Statement:
    """The loop with another body, which is given this."""
    loop: Any = s.function
    pairs = [*states, *rows, *around]
    body.inputs = [body.inputs[0], *(v for _, v in pairs)]
    function = Repeat(body, loop.length, loop.backwards, len(states), len(rows))
    args = tuple(x for x, _ in pairs)
    return Statement(function, args, s.kwargs, s.outputs, s.code, s.at)


def _made_inside(
    body: Program, maker: Statement | None, row: Value, alone: bool, given: Pairs, around: Pairs
) -> bool:
    """Have the body make a row of what a statement makes, if it may, of rows that are `given` and
    of what is `around`. It goes through one more array at most."""
    args = None if maker is None else _arguments(maker, row, alone)
    if maker is None or args is None:
        return False
    count = len(given)
    inside: dict[Value, Value] = {}
    for v in maker.inputs:
        by_rows = len(v.shape) > len(row.shape)
        there = given if by_rows else around
        inside[v] = next((w for y, w in there if y is v), None) or Value(
            v.shape[by_rows:], v.dtype, v.weak
        )
        if (v, inside[v]) not in there:
            there.append((v, inside[v]))
    args = mapped(args, inside.__getitem__)
    statement = Statement(maker.function, args, {}, (row,), maker.code, maker.at)
    body.statements = [statement, *body.statements]
    return len(given) <= count + 1


def _arguments(maker: Statement, row: Value, alone: bool) -> tuple[Any, ...] | None:
    """The arguments for one row of what a statement makes; None if it is not made of rows, or costs
    more than it would to read it.
    """
    if maker.function is full:
        return (row.shape, *maker.args[1:])
    if maker.function is np.broadcast_to:
        (x, _) = maker.args
        return (x, row.shape) if len(x.shape) <= len(row.shape) else None
    if not alone or maker.kwargs or not is_elementwise(maker.function) or not is_cheap(maker):
        return None
    higher = [v for v in maker.inputs if len(v.shape) > len(row.shape)]
    same = all(v.shape[0] == maker.output.shape[0] for v in higher)
    return maker.args if higher and same else None
