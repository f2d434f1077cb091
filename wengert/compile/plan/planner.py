"""From a program to a plan: the stages of planning, each of which takes what is made before it."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from wengert.compile.backend import Backend
from wengert.compile.plan.group import group
from wengert.compile.plan.memory import placed
from wengert.compile.plan.needs import Needs
from wengert.compile.plan.plan import Call, Plan
from wengert.compile.plan.roles import Roles
from wengert.compile.plan.sequence import sequence
from wengert.compile.plan.steps import steps
from wengert.compile.program.bodies import Repeat
from wengert.compile.program.operations import anew
from wengert.compile.program.passes.blocks import INSIDE, LARGE, in_blocks
from wengert.compile.program.passes.members import by_members
from wengert.compile.program.program import Program


def plan(program: Program, backend: Backend, *, fuse: bool = True, inside: bool = False) -> Plan:
    """What to run for a program, on a back end.

    Without `fuse`, each statement has a kernel of its own. That of a body of a loop, `inside` of a
    program, has the memory it works in at hand, and each time other results.
    """
    whole = best = _planned(program, backend, fuse, inside)
    least, large = memory(whole) / 2, INSIDE if inside else LARGE
    for rewrite in functools.partial(in_blocks, large=large), by_members:
        if memory(whole) >= large and (other := rewrite(program)) is not None:
            loops = _planned(other, backend, fuse, inside)
            again = (1 + _multiplied(other)) / (1 + _multiplied(program))  # what takes time
            if again**2 * memory(loops) < least:
                best, least = loops, again**2 * memory(loops)
    return best


def _multiplied(program: Program) -> int:
    """How many multiplications all products of matrices take."""
    count = 0
    for s in program.statements:
        if s.function is np.matmul:
            count += s.output.size * s.args[0].shape[-1]
        elif isinstance(s.function, Repeat):
            count += s.function.length * _multiplied(s.function.body)
    return count


def memory(plan: Plan) -> int:
    """The bytes that a plan works in, beside its inputs and results."""
    return plan.arena + max((_inside(s) for s in plan.steps if isinstance(s, Call)), default=0)


def taken(*plans: Plan) -> int:
    """The bytes that plans work in, one after the other, and that they hold: the constants."""
    return sum(map(memory, plans)) + sum({id(c): c.nbytes for c in _constants(plans)}.values())


def _constants(plans: Iterable[Plan]) -> Iterator[Any]:
    for plan in plans:
        yield from plan.constants
        for step in plan.steps:
            yield from _constants(step.bodies if isinstance(step, Call) else ())


def _inside(step: Call) -> int:
    """What a loop or a choice takes; its bodies work in the same memory, one after the other."""
    function: Any = step.statement.function
    return max(map(memory, step.bodies)) + function.taken if step.bodies else 0


def _planned(program: Program, backend: Backend, fuse: bool, inside: bool) -> Plan:
    roles = Roles(without_marks(program), backend)  # what part each statement plays
    groups = group(roles, fuse)  # which statements share a kernel
    needs = Needs(groups)  # which values lie in memory, and who reads them
    tasks = sequence(groups, needs)  # in which order, and where results go
    within = functools.partial(plan, backend=backend, fuse=fuse, inside=True)  # bodies of loops
    drafts = steps(groups, needs, tasks, within)  # kernels, products and calls
    seen = range(len(program.outputs)) if inside else program.replacing
    done, arena = placed(drafts.steps, seen)  # where their arrays lie
    return Plan(done, arena, drafts.constants, list(program.inputs), list(program.outputs))


def without_marks(program: Program) -> Program:
    """The program without what keeps equal statements apart: no step merges these."""
    marks = {s.output: s.args[0] for s in program.statements if s.function is anew}
    if not marks:
        return program
    unmarked = copy.copy(program)
    unmarked.statements = [s for s in program.statements if s.function is not anew]
    unmarked.substitute(marks)
    return unmarked
