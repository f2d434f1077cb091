"""Loops and choices without what nobody reads: rows and states that are no one's results, and what
bodies are given for these alone.

A part of a state is read if it is in the end, by what acts or is a result, or by the next state of
a part that is read: as for statements in a row, but around the loop until nothing is added.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

from wengert.compile.program.bodies import Choose, Repeat, Rewind, Until
from wengert.compile.program.passes.dead import dead, left
from wengert.compile.program.program import Program, Statement, Value


def unread(program: Program) -> bool:
    """Leave it out; whether the program was changed, in place."""
    statements, _ = left(program, program.results, _narrowed)
    if statements == program.statements:
        return False
    program.statements = statements
    dead(program)
    return True


def _narrowed(s: Statement, needed: set[Value]) -> Statement:
    """A statement whose results are those of its own that are needed."""
    narrow = _NARROW.get(type(s.function))
    return s if narrow is None else narrow(s, needed, s.function)


def _numbers(values: Iterable[Value], needed: set[Value], first: int = 0) -> list[int]:
    """Which of some values are needed."""
    return [k for k, v in enumerate(values, first) if v in needed]


def _part(
    body: Program, inputs: Iterable[int], outputs: list[Value], statements: list[Statement]
) -> Program:
    """A body that is given only some of its inputs, and makes these outputs."""
    part = copy.copy(body)
    part.inputs = [body.inputs[k] for k in inputs]
    part.outputs, part.statements = outputs, statements
    part.updates = {v: new for v, new in body.updates.items() if v in part.inputs}
    read = {*outputs, *part.updates.values(), *(v for s in statements for v in s.inputs)}
    part.constants = {v: array for v, array in body.constants.items() if v in read}
    return part


def _alive(
    body: Program, state: list[Value], ends: list[Value], alive: Iterable[int]
) -> tuple[list[int], list[Statement], set[Value]]:
    """The parts of a state that are needed if some are, and `ends` are; the statements that the
    body is left with, and what is needed in it.
    """
    parts = sorted(alive)
    while True:
        news = [body.updates.get(state[k], state[k]) for k in parts]
        statements, needed = left(body, [*ends, *news], _narrowed)
        more = _numbers(state, {*needed, *(state[k] for k in parts)})
        if more == parts:
            return parts, statements, needed
        parts = more


def _with(s: Statement, function: Any, args: list[Any], outputs: list[Value]) -> Statement:
    return Statement(function, tuple(args), s.kwargs, tuple(outputs), s.code, s.at)


def _repeat(s: Statement, needed: set[Value], loop: Repeat) -> Statement:
    body, carries = loop.body, loop.carries
    state, finals, rows = body.inputs[1 : 1 + carries], s.outputs[:carries], s.outputs[carries:]
    read = _numbers(rows, needed)
    ends = [body.outputs[j] for j in read]
    alive, statements, inside = _alive(body, state, ends, _numbers(finals, needed))
    given = [*alive, *_numbers(body.inputs[1 + carries :], inside, carries)]
    outputs = [*(finals[k] for k in alive), *(rows[j] for j in read)]
    if _is_same(s, given, outputs, [(body, statements)]):
        return s
    part = _part(body, [0, *(1 + k for k in given)], ends, statements)
    count = sum(carries <= k < carries + loop.rows for k in given)
    new = Repeat(part, loop.length, loop.backwards, len(alive), count)
    return _with(s, new, [s.args[k] for k in given], outputs)


def _until(s: Statement, needed: set[Value], loop: Until) -> Statement:
    (test, body), n = loop.bodies, loop.carries
    asks, asked = left(test, test.outputs, _narrowed)
    finals, kept = s.outputs[:n], _numbers(s.outputs[n + 1 :], needed)
    keeps = [loop.keeps[i] for i in kept]
    begun = {*_numbers(test.inputs[:n], asked), *_numbers(finals, needed), *keeps}
    alive, statements, inside = _alive(body, body.inputs[:n], [], begun)
    first, second = _numbers(test.inputs[n:], asked, n), _numbers(body.inputs[n:], inside, n)
    given = [*alive, *first, *(k + len(test.inputs) - n for k in second)]
    outputs = [*(finals[k] for k in alive), s.outputs[n], *(s.outputs[n + 1 + i] for i in kept)]
    if _is_same(s, given, outputs, [(test, asks), (body, statements)]):
        return s
    new = copy.copy(loop)
    new.bodies = [
        _part(test, [*alive, *first], test.outputs, asks),
        _part(body, [*alive, *second], [], statements),
    ]
    new.carries, new.keeps = len(alive), [alive.index(k) for k in keeps]
    return _with(s, new, [s.args[k] for k in given], outputs)


def _rewind(s: Statement, needed: set[Value], loop: Rewind) -> Statement:
    """From the last loop to the first: each reads states of those before it."""
    if loop.results:  # nothing was left that is not read
        return s
    *firsts, total = accumulate(loop.carries, initial=0)
    n, own = loop.carries[-1], firsts[-1]
    finals, kept = s.outputs[:n], _numbers(s.outputs[n:], needed)
    keeps = [loop.keeps[i] for i in kept]
    alive = {own + k for k in (*_numbers(finals, needed), *keeps)}
    read: set[int] = set()
    """What the last loop reads of states before it."""
    parts: list[tuple[list[int], list[int], list[Statement]]] = []
    for body, first, count in reversed(list(zip(loop.bodies, firsts, loop.carries, strict=True))):
        mine = [k - first for k in alive if first <= k < first + count]
        state, statements, inside = _alive(body, body.inputs[:count], [], mine)
        before = set(_numbers(body.inputs[count : count + first], inside))
        read = read if parts else before
        alive |= {*before, *(first + k for k in state)}
        rest = _numbers(body.inputs[count + first :], inside)
        parts.append((state, rest, statements))
    parts.reverse()
    bodies, given, at = [], [0, *(1 + k for k in sorted(alive))], 1 + total
    for body, first, count, (state, rest, statements) in zip(
        loop.bodies, firsts, loop.carries, parts, strict=True
    ):
        before_it = [count + k for k in sorted(alive) if k < first]
        inputs = [*state, *before_it, *(count + first + k for k in rest)]
        bodies.append(_part(body, inputs, [], statements))
        given += [at + k for k in rest]
        at += len(body.inputs) - count - first
    rows = alive if len(loop.bodies) == 2 else read  # from which one loop goes on, or all read
    blocks = [i for i, k in enumerate(loop.blocks) if k in rows]
    given += [at + i for i in blocks]
    outputs = [*(finals[k] for k in parts[-1][0]), *(s.outputs[n + i] for i in kept)]
    if _is_same(s, given, outputs, list(zip(loop.bodies, (p[2] for p in parts), strict=True))):
        return s
    new = copy.copy(loop)
    order = sorted(alive)
    new.bodies, new.carries = bodies, [len(state) for state, _, _ in parts]
    new.blocks = [order.index(loop.blocks[i]) for i in blocks]
    new.keeps = [parts[-1][0].index(k) for k in keeps]
    return _with(s, new, [s.args[k] for k in given], outputs)


def _choose(s: Statement, needed: set[Value], choose: Choose) -> Statement:
    read = _numbers(s.outputs, needed)
    bodies, numbers, makes, done = [], [], [], []
    for body, given, makes_ in zip(choose.bodies, choose.given, choose.makes, strict=True):
        own = [i for i, j in enumerate(makes_) if j in read]
        outputs = [body.outputs[i] for i in own]
        statements, inside = left(body, outputs, _narrowed)
        places = _numbers(body.inputs, inside)
        bodies.append(_part(body, places, outputs, statements))
        numbers.append([given[k] for k in places])
        makes.append([read.index(makes_[i]) for i in own])
        done.append((body, statements))
    args = sorted({k for given in numbers for k in given})
    outputs = [s.outputs[j] for j in read]
    if _is_same(s, [0, *(1 + k for k in args)], outputs, done):
        return s
    new = Choose(bodies, [[args.index(k) for k in given] for given in numbers], makes)
    new.likes = [choose.likes[j] for j in read]
    return _with(s, new, [s.args[0], *(s.args[1 + k] for k in args)], outputs)


def _is_same(
    s: Statement,
    given: list[int],
    outputs: list[Value],
    bodies: list[tuple[Program, list[Statement]]],
) -> bool:
    """Whether nothing was left out."""
    whole = len(given) == len(s.args) and len(outputs) == len(s.outputs)
    return whole and all(body.statements == statements for body, statements in bodies)


_NARROW: dict[Any, Callable[[Statement, set[Value], Any], Statement]] = {
    Repeat: _repeat,
    Until: _until,
    Rewind: _rewind,
    Choose: _choose,
}
