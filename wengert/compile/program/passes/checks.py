"""Checks: what a program finds wrong it finds before it draws random numbers, where it can.

A call that fails is made again, eagerly, with the same random numbers: best where none are drawn.
What other processes have come to it does before it fails, or they would wait for it.
"""

from __future__ import annotations

import itertools

from wengert.compile.program.operations import check
from wengert.compile.program.program import Program


def checks_first(program: Program) -> bool:
    """Move checks, and what they read, before all that draws; whether it was changed, in place."""
    statements = program.statements
    if not any(s.acts and s.function is not check for s in statements):
        return False
    makers = {v: k for k, s in enumerate(statements) for v in s.outputs}
    drawn: set[int] = set()
    alone = [*itertools.takewhile(lambda s: not s.meets, statements)]
    for k, s in enumerate(alone):
        draws = s.acts and s.function is not check
        if draws or any(makers.get(v) in drawn for v in s.inputs):
            drawn.add(k)
    if not drawn:
        return False
    first: set[int] = set()
    waiting = [k for k, s in enumerate(alone) if s.function is check and k not in drawn]
    while waiting:
        k = waiting.pop()
        if k not in first:
            first.add(k)
            waiting += [makers[v] for v in statements[k].inputs if v in makers]
    order = sorted(range(len(statements)), key=lambda k: k not in first)
    program.statements = [statements[k] for k in order]
    return bool(first)
