"""Loops and branches as NumPy source: functions for the bodies, and `for`, `while` and `if`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from wengert.compile.program.bodies import Choose, Repeat, Rewind, Until
from wengert.compile.program.program import Program, Statement, Value

if TYPE_CHECKING:
    from wengert.compile.program.source import Printer


def written(p: Printer, s: Statement) -> list[str]:
    """The lines of a loop or a choice."""
    return list(_WRITERS[type(s.function)](p, s, s.function))


def _function(p: Printer, body: Program, state: list[Value], hint: str) -> tuple[str, list[str]]:
    """A body as a function that returns the next state, then its outputs: name, and text."""
    pure = Program()
    pure.inputs, pure.constants = body.inputs, body.constants
    pure.statements, pure.names = body.statements, p.program.names
    pure.outputs = [*(body.updates.get(v, v) for v in state), *body.outputs]
    name = p.unique(hint)
    inside = p.within(pure)
    for value in pure.inputs:
        inside.name(value, pure.names.get(value, "x"))
    for value, array in pure.constants.items():
        inside.constant(value, array)
    lines = [*inside.statements(), *inside.ending()] or ["    pass"]
    head = f"def {name}({', '.join(inside.names[v] for v in pure.inputs)}):"
    return name, [head, *lines]


def _repeat(p: Printer, s: Statement, repeat: Repeat) -> Iterator[str]:
    n, rows = repeat.carries, repeat.rows
    name, lines = _function(p, repeat.body, repeat.body.inputs[1 : 1 + n], "iteration")
    yield from lines
    texts = [p.arg(x) for x in s.args]
    names = [p.name(v, "state" if k < n else "rows") for k, v in enumerate(s.outputs)]
    yield from (f"{a} = {b}" for a, b in zip(names, texts, strict=False) if names.index(a) < n)
    for a, v in zip(names[n:], s.outputs[n:], strict=True):
        yield f"{a} = np.empty({v.shape}, {p.dtype(v.dtype)})"
    k = p.unique("k")
    given = [k, *names[:n], *(f"{x}[{k}]" for x in texts[n : n + rows]), *texts[n + rows :]]
    made = [*names[:n], *(f"{x}[{k}]" for x in names[n:])]
    count = f"range({repeat.length})"
    yield f"for {k} in {f'reversed({count})' if repeat.backwards else count}:"
    yield f"    {_assigned(made)}{name}({', '.join(given)})"


def _assigned(names: list[str]) -> str:
    return f"{', '.join(names)} = " if names else ""


def _choose(p: Printer, s: Statement, choose: Choose) -> Iterator[str]:
    found = [_function(p, body, [], "branch") for body in choose.bodies]
    for _, lines in found:
        yield from lines
    texts = [p.arg(x) for x in s.args]
    names = [p.name(v, "chosen") for v in s.outputs]
    common = set.intersection(*map(set, choose.makes))
    for k, v in enumerate(s.outputs):
        if k not in common:
            yield f"{names[k]} = np.zeros({v.shape}, {p.dtype(v.dtype)})"
    last = len(found) - 1
    for k, (name, _) in enumerate(found):
        test = f"{texts[0]} <= {k}"
        yield "else:" if k == last else f"{'elif' if k else 'if'} {test}:"
        given = ", ".join(texts[1 + j] for j in choose.given[k])
        yield f"    {_assigned([names[j] for j in choose.makes[k]])}{name}({given})"


def _until(p: Printer, s: Statement, until: Until) -> Iterator[str]:
    test, body = until.bodies
    n = until.carries
    asks, lines = _function(p, test, [], "holds")
    yield from lines
    acts, lines = _function(p, body, body.inputs[:n], "iteration")
    yield from lines
    texts = [p.arg(x) for x in s.args]
    names = [p.name(v, "state" if k < n else "count") for k, v in enumerate(s.outputs)]
    yield from (f"{a} = {b}" for a, b in zip(names, [*texts[:n], "0"], strict=True))
    middle = len(test.inputs)
    yield f"while {asks}({', '.join([*names[:n], *texts[n:middle]])}):"
    yield f"    {_assigned(names[:n])}{acts}({', '.join([*names[:n], *texts[middle:]])})"
    yield f"    {names[n]} += 1"


def _rewind(p: Printer, s: Statement, rewind: Rewind) -> Iterator[str]:
    (body, back), n, m = rewind.bodies, rewind.carries, rewind.own
    acts, lines = _function(p, body, body.inputs[:n], "iteration")
    yield from lines
    undoes, lines = _function(p, back, back.inputs[:m], "back")
    yield from lines
    count, *texts = [p.arg(x) for x in s.args]
    names = [p.name(v, "cotangent") for v in s.outputs]
    state, states = p.unique("state"), p.unique("states")
    middle = n + m + len(body.inputs) - n
    yield f"{state}, {states} = ({', '.join(texts[:n])},), []"
    yield f"for {p.unique('step')} in range({count}):"
    yield f"    {states}.append({state})"
    got = f"{acts}({', '.join([f'*{state}', *texts[n + m : middle]])})"
    yield f"    {state} = {f'({got},)' if n == 1 else got}"
    yield from (f"{a} = {b}" for a, b in zip(names, texts[n : n + m], strict=True))
    yield f"for {state} in reversed({states}):"
    yield f"    {_assigned(names)}{undoes}({', '.join([*names, f'*{state}', *texts[middle:]])})"


_WRITERS: dict[Any, Any] = {Repeat: _repeat, Choose: _choose, Until: _until, Rewind: _rewind}
