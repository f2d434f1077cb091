"""How much memory a compiled function takes, and a program of it that takes no more than it may.

What is kept between the forward part and the backward part, or between the first half of a program
and the second, is one choice: the first that fits is taken, of those that compute more and more
again (`program/budget.py`). Where a checkpoint stands, the program says so itself. If none fits,
the function is traced again, with its loops in blocks of one more kind (`control/blocks.py`).
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from wengert.compile.backend import backend
from wengert.compile.program.budget import held_by, lighter
from wengert.compile.program.operations import anew
from wengert.compile.program.partition import Parts, partition
from wengert.compile.program.passes import finish
from wengert.compile.program.program import Program, Value
from wengert.compile.trace.captured import Captured, Joint


@dataclass(frozen=True)
class Memory:
    """Bytes that a call takes beside arguments and results, until its derivative has been taken:
    working memory, constants, and what is kept for the derivative. At most they may be `budget`,
    if that is not None; for that so many statements are carried out `again`, and loops are cut
    into blocks of so many `kinds`."""

    peak: int
    budget: int | None = None
    again: int = 0
    kinds: int = 0

    def __str__(self) -> str:
        most = "" if self.budget is None else f" of the {self.budget:,} that it may take"
        again = f"; {self.again} statements are computed again for that" if self.again else ""
        if self.kinds:
            again += f"; loops run in blocks of {self.kinds} kind{'s' if self.kinds > 1 else ''}"
        return f"at most {self.peak:,} bytes, with what is kept for derivatives{most}{again}"


class OverBudget(Exception):
    """What was traced does not do with a budget, but at best with the `least`."""

    def __init__(self, budget: int, least: int) -> None:
        self.budget = budget
        self.least = least

    def told(self, least: int) -> MemoryError:
        """The user's error, if nothing does with less than `least`."""
        return MemoryError(
            f"a compiled function may take {self.budget:,} bytes beside its arguments and results, "
            f"but the least that it can do with is {least:,}. Give it that much, e.g. "
            f"wg.compile(f, memory={least}), or take smaller batches."
        )


def memory_of(program: Program, joint: Joint | None) -> int:
    """The bytes that a program takes; a joint one is cut in two."""
    from wengert.compile.plan.planner import plan, taken  # not needed to import wengert

    program = copy.copy(program)
    if joint is None:
        return taken(plan(finish(program), backend()))
    parts = cut(program, joint)
    kept = sum(v.nbytes for v in parts.saved)
    return kept + taken(*(plan(finish(p), backend()) for p in (parts.forward, parts.backward)))


def cut(program: Program, joint: Joint, replaced: Collection[Value] = ()) -> Parts:
    """A program whose last outputs are gradients, as the parts that are run at different times."""
    gradients = program.outputs[len(program.outputs) - len(joint.leaves) :]
    return partition(program, gradients, joint.cotangents, replaced)


def fitted(captured: Captured, budget: int) -> tuple[Program, Memory]:
    """A program that takes no more than a budget.

    Errors: OverBudget if none does.
    """
    program, least = captured.program, sys.maxsize
    for candidate in _lighter(program):
        peak = memory_of(candidate, captured.joint)
        if peak <= budget:
            marks = sum(s.function is anew for s in candidate.statements)
            again = len(candidate.statements) - len(program.statements)
            again -= marks - sum(s.function is anew for s in program.statements)
            return candidate, Memory(peak, budget, again, captured.kinds)
        least = min(least, peak)
    raise OverBudget(budget, least)


def _lighter(program: Program) -> Iterator[Program]:
    """Programs that compute the same, with less and less room in each of two ways."""
    yield program
    most = held_by(program)
    for lasting in False, True:
        enough, least = most, 0  # with less than the least it does not do
        while enough - least > enough // 16:
            room = (enough + least) // 2 if least else enough * 3 // 4
            candidate = lighter(program, room, lasting)
            if candidate is None:
                least = room
            else:
                yield candidate
                enough = room
