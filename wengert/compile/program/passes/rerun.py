"""What a loop of unknown length computes on its way to the states that its derivative reads.

    first   s -> exp(s) w                    first   s -> exp(s) w, and e = exp(s)
    back    g, s -> g w exp(s)       =       back    g, e -> g w e

The derivative goes back through states that are computed again, and makes of each what else it
needs. What of that is no cheaper than to write it down is made beside the state: functions that the
next state takes too, and those of the same arguments, are computed once. How little is written down
is said in `program/again.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from wengert.compile.program.again import computed_again, is_cheap
from wengert.compile.program.bodies import NEAR, Rewind, bodies, draws
from wengert.compile.program.passes.common import key
from wengert.compile.program.program import Program, Statement, Value, mapped


def made_beside(program: Program) -> bool:
    """Have loops make it; whether the program was changed, in place."""
    changed = False
    for k, s in enumerate(program.statements):
        changed |= any(made_beside(body) for body in bodies(s))
        if type(s.function) is Rewind and (new := _with_results(s, s.function)) is not None:
            program.statements[k] = new
            changed = True
    return changed


def _with_results(s: Statement, rewind: Rewind) -> Statement | None:
    """The statement whose first loop has results; None if they are of no use.

    Small states are all kept, and iterations of cheap ones go back several at once. Within a budget
    there are few rows.
    """
    if len(rewind.bodies) != 2 or rewind.results or rewind.limit is not None:
        return None
    first, back = rewind.bodies
    n, own = rewind.carries
    if not any(v.nbytes > NEAR for v in first.inputs[:n]) or all(map(is_cheap, first.statements)):
        return None
    befores, around = back.inputs[own : own + n], back.inputs[own + n :]
    makers = _made_of(back, {*befores, *around, *back.constants})
    parted = _parted(back, makers, {*around, *back.constants})
    if parted is None:
        return None
    saved, statements = parted
    given = dict(rewind.arguments(s.args))
    inside = {given[v]: v for v in first.inputs[n:] if type(given[v]) is Value}
    now: dict[Value, Value] = dict(zip(befores, first.inputs, strict=False))
    extra: dict[Value, Any] = {}
    for v in around:
        x = given[v]
        if type(x) is not Value or x not in inside:
            extra[inside.setdefault(x, _like(v)) if type(x) is Value else _like(v)] = x
        now[v] = inside[x] if type(x) is Value else list(extra)[-1]
    new = copy.copy(rewind)
    new.bodies = [_making(first, back, saved, makers, now), copy.copy(back)]
    used = {v for t in new.bodies[0].statements for v in t.inputs}
    more = [v for v in extra if v in used]
    new.bodies[0].inputs = [*first.inputs, *more]
    new.bodies[1].inputs = [*back.inputs[: own + n], *saved, *around]
    new.bodies[1].statements = statements
    new.alone = back if rewind.blocks else None
    at = 1 + own + len(first.inputs)
    args = (*s.args[:at], *(extra[v] for v in more), *s.args[at:])
    return Statement(new, args, s.kwargs, s.outputs, s.code, s.at)


def _made_of(back: Program, known: set[Value]) -> dict[Value, Statement]:
    """What is made of the states before, and of what is the same in all iterations."""
    makers: dict[Value, Statement] = {}
    for t in back.statements:
        if t.outputs and not t.acts and not draws(t) and known.issuperset(t.inputs):
            makers.update(dict.fromkeys(t.outputs, t))
            known.update(t.outputs)
    return makers


def _parted(
    back: Program, makers: dict[Value, Statement], around: set[Value]
) -> tuple[list[Value], list[Statement]] | None:
    """What to write down beside the states, and the statements that are left; None if nothing."""
    rest = [t for t in back.statements if not t.outputs or t.outputs[0] not in makers]
    ends = [*(v for t in rest for v in t.inputs), *back.updates.values(), *back.outputs]
    asked = [v for v in dict.fromkeys(ends) if v in makers]

    def maker(v: Value) -> Statement | None:
        t = makers.get(v)
        return t if t is not None and is_cheap(t) else None

    again = computed_again(asked, maker, lambda v: 0 if v in around else v.nbytes)
    remade = {v for t in again for v in t.outputs}
    read = [*asked, *(v for t in again for v in t.inputs)]
    saved = [v for v in dict.fromkeys(read) if v in makers and v not in remade]
    if not saved or any(v.weak for v in saved):
        return None
    left = {*rest, *again}
    return saved, [t for t in back.statements if t in left]


def _making(
    first: Program,
    back: Program,
    saved: list[Value],
    makers: dict[Value, Statement],
    now: dict[Value, Value],
) -> Program:
    """The loop's body, which makes what is written down too; `now` are its values of others."""
    body = copy.copy(first)
    body.statements, body.constants = list(first.statements), {**first.constants, **back.constants}
    known = {key(t): t for t in body.statements}
    for t in _before(saved, makers):
        args, kwargs = (mapped(x, lambda v: now.get(v, v)) for x in (t.args, t.kwargs))
        moved = Statement(t.function, args, kwargs, tuple(map(_like, t.outputs)), t.code, t.at)
        equal = known.setdefault(key(moved), moved)
        if equal is moved:
            body.statements.append(moved)
        now.update(zip(t.outputs, equal.outputs, strict=True))
    body.outputs = [now[v] for v in saved]
    return body


def _before(saved: list[Value], makers: dict[Value, Statement]) -> Iterator[Statement]:
    """The statements that some values are made by, in order."""
    needed = set(saved)
    for t in reversed(dict.fromkeys(makers.values())):
        if not needed.isdisjoint(t.outputs):
            needed.update(t.inputs)
    yield from (t for t in dict.fromkeys(makers.values()) if not needed.isdisjoint(t.outputs))


def _like(v: Value) -> Any:
    return Value(v.shape, v.dtype, v.weak)
