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
    yield from _room(p, s, names, n)
    k = p.unique("k")
    given = [k, *names[:n], *(f"{x}[{k}]" for x in texts[n : n + rows]), *texts[n + rows :]]
    targets = [*names[:n], *(f"{x}[{k}]" for x in names[n:])]
    count = f"range({repeat.length})"
    yield f"for {k} in {f'reversed({count})' if repeat.backwards else count}:"
    yield f"    {_assigned(targets)}{name}({', '.join(given)})"


def _assigned(names: list[str]) -> str:
    return f"{', '.join(names)} = " if names else ""


def _choose(p: Printer, s: Statement, choose: Choose) -> Iterator[str]:
    branches = [_function(p, body, [], "branch") for body in choose.bodies]
    for _, lines in branches:
        yield from lines
    texts = [p.arg(x) for x in s.args]
    names = [p.name(v, "chosen") for v in s.outputs]
    common = set.intersection(*map(set, choose.makes))
    for k, v in enumerate(s.outputs):
        if k not in common:
            yield f"{names[k]} = np.zeros({v.shape}, {p.dtype(v.dtype)})"
    last = len(branches) - 1
    for k, (name, _) in enumerate(branches):
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
    hints = [*["state"] * n, "count", *["kept"] * len(until.keeps)]
    names = [p.name(v, hint) for v, hint in zip(s.outputs, hints, strict=True)]
    yield from (f"{a} = {b}" for a, b in zip(names, [*texts[:n], "0"], strict=False))
    yield from _room(p, s, names, n + 1)
    middle = len(test.inputs)
    yield f"while {asks}({', '.join([*names[:n], *texts[n:middle]])}):"
    yield from _kept(s, names, n + 1, until.keeps, names[n])
    yield f"    {_assigned(names[:n])}{acts}({', '.join([*names[:n], *texts[middle:]])})"
    yield f"    {names[n]} += 1"


def _room(p: Printer, s: Statement, names: list[str], first: int) -> Iterator[str]:
    """Room for results that are filled row by row."""
    for name, v in zip(names[first:], s.outputs[first:], strict=True):
        yield f"{name} = np.empty({v.shape}, {p.dtype(v.dtype)})"


def _kept(s: Statement, names: list[str], first: int, keeps: list[int], k: str) -> Iterator[str]:
    """The lines that keep the state before the first iterations: others are computed again."""
    for name, v, number in zip(names[first:], s.outputs[first:], keeps, strict=True):
        yield f"    if {k} < {v.shape[0]}:"
        yield f"        {name}[{k}] = {names[number]}"


def _rewind(p: Printer, s: Statement, rewind: Rewind) -> Iterator[str]:
    """All states are computed again, as those that were not kept are."""
    count, *texts = [p.arg(x) for x in s.args]
    rest = iter(texts)
    inits = [[next(rest) for _ in range(n)] for n in rewind.carries]
    names = [p.name(v, "cotangent") for v in s.outputs]
    k, rows = p.unique("k"), p.unique("states")
    last = len(rewind.bodies) - 1
    yield f"{rows} = [()] * {count}"
    for j, (body, n) in enumerate(zip(rewind.bodies, rewind.carries, strict=True)):
        name, lines = _function(p, body, body.inputs[:n], "back" if j % 2 else "iteration")
        yield from lines
        own = names[:n] if j == last else [p.unique("state") for _ in range(n)]
        yield from (f"{a} = {b}" for a, b in zip(own, inits[j], strict=True))
        given = [next(rest) for _ in rewind.invariants[j]]
        if j == last:
            yield from _room(p, s, names, n)
        yield f"for {k} in {f'reversed(range({count}))' if j % 2 else f'range({count})'}:"
        if j == last:
            yield from _kept(s, names, n, rewind.keeps, k)
        else:
            before = p.unique("before")
            yield f"    {before} = {rows}[{k}] + ({''.join(f'{x}, ' for x in own)})"
        results = [p.unique("result") for _ in body.outputs]
        targets = _assigned([*own, *results])
        yield f"    {targets}{name}({', '.join([*own, f'*{rows}[{k}]', *given])})"
        if j < last:
            more = f" + ({''.join(f'{x}, ' for x in results)})" if results else ""
            yield f"    {rows}[{k}] = {before}{more}"


_WRITERS: dict[Any, Any] = {Repeat: _repeat, Choose: _choose, Until: _until, Rewind: _rewind}
