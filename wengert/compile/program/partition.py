"""Cutting a program in two: what runs forward, and what runs when cotangents arrive.

The joint program computes results and, from cotangents, gradients. The forward part keeps what it
must for the results; of what the backward part reads, little is saved: inputs are read again, and
what is only another view of a saved value, or a cast of it, is made again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from wengert.compile.program.again import FREE
from wengert.compile.program.operations import astype
from wengert.compile.program.program import Program, Statement, Value


@dataclass
class Parts:
    """`saved` are values of the forward program that are also inputs of the backward one.

    The inputs of `backward` are inputs of the joint program that it reads (`read`), `saved` and the
    cotangents, in this order. Those among `saved` that are not inputs themselves are the last
    outputs of `forward`.
    """

    forward: Program
    backward: Program
    read: list[Value]
    saved: list[Value]


def partition(
    joint: Program,
    gradients: list[Value],
    cotangents: list[Value],
    replaced: Collection[Value] = (),
) -> Parts:
    """Cut a program whose outputs are results followed by `gradients`.

    Where the inputs that are `replaced` lie there is something else after the call.
    """
    results = joint.outputs[: len(joint.outputs) - len(gradients)]
    makers = joint.makers()
    now, then = _acting(joint, cotangents)
    asked = [v for s in now for v in s.inputs]
    first = {*now, *_ancestors([*results, *asked, *joint.updates.values()], makers)}
    overwritten = {*joint.updates, *replaced}
    available = {*joint.inputs, *joint.constants} - overwritten
    later = set(then)
    saved: dict[Value, None] = {}
    pending = [*gradients, *(v for s in then for v in s.inputs)]
    seen: set[Value] = set()
    while pending:
        value = pending.pop()
        if value in seen or value in available:
            continue
        seen.add(value)
        maker = makers.get(value)
        if maker is None or (maker in first and not _made_again(maker)):
            saved[value] = None
            continue
        later.add(maker)
        pending += maker.inputs
    order = [s for s in joint.statements if s in first]
    forward = _program(joint, order, [*results, *saved], joint.updates)
    backward = _program(joint, [s for s in joint.statements if s in later], gradients, {})
    known = {*saved, *cotangents}
    read = [v for v in backward.inputs if v not in known]
    forward.inputs = [v for v in joint.inputs if v not in cotangents]
    backward.inputs = [*read, *saved, *cotangents]
    return Parts(forward, backward, read, list(saved))


def _acting(joint: Program, cotangents: list[Value]) -> tuple[list[Statement], list[Statement]]:
    """Checks and random draws: those that need no cotangent, and the others."""
    late = set(cotangents)
    now: list[Statement] = []
    then: list[Statement] = []
    for s in joint.statements:
        if not late.isdisjoint(s.inputs):
            late.update(s.outputs)
            then += [s] if s.acts else []
        elif s.acts:
            now.append(s)
    return now, then


def _made_again(s: Statement) -> bool:
    widens = s.function is astype and all(v.nbytes <= s.output.nbytes for v in s.inputs)
    return widens or s.function in FREE


def _ancestors(values: list[Value], makers: dict[Value, Statement]) -> set[Statement]:
    before: set[Statement] = set()
    pending = [makers[v] for v in values if v in makers]
    while pending:
        statement = pending.pop()
        if statement not in before:
            before.add(statement)
            pending += [makers[v] for v in statement.inputs if v in makers]
    return before


def _program(
    joint: Program, statements: list[Statement], outputs: list[Value], updates: dict[Value, Value]
) -> Program:
    part = Program()
    part.statements = statements
    part.outputs = outputs
    used = {v for s in statements for v in s.inputs} | set(outputs)
    used.update(*updates.items())
    part.updates = updates
    part.inputs = [v for v in joint.inputs if v in used]
    part.constants = {v: a for v, a in joint.constants.items() if v in used}
    part.names = joint.names
    return part
