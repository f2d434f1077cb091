"""Sums of exponentials that follow their maximum through a row, so that it is passed over once.

A softmax reads a row for its maximum m, and again for the sum of exp(x - m). Where a row is longer
than the caches that is twice the way to memory. Then both are found in one pass: the sum is that of
exp(x - m) with the maximum so far, and when a larger one comes, what was summed is multiplied by
exp(old - new) (Milakov & Gimelshein, "Online normalizer calculation for softmax", 2018).

This is found by the form of the operations, not by name: `stream_of` says whether two passes of a
plan are of it. The last word on what is infinite or NaN have the two passes: see `loops.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wengert.compile.kernel import Apply, Const, Load, Operation, Reduce
from wengert.compile.llvm.schedule import arguments

if TYPE_CHECKING:
    from wengert.compile.llvm.phases import Phase, Phases

LONG = 1 << 18
"""Bytes of a row from which on a second pass over it costs more than the care in one."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Two passes that may be one.

    `maximum` is the reduction of the first, `shift` what is made of it and subtracted in the
    exponents of the second: it is the maximum itself, or computed from it alone.
    """

    maximum: int
    shift: int


def stream_of(plan: Phases, first: Phase, second: Phase) -> Stream | None:
    """How the sums of a pass follow the maximum that the pass before makes; None if they do not."""
    nest, operations = plan.nest, plan.operations
    if len(nest.extents) != nest.outer + 1 or nest.vector != nest.outer:
        return None
    if len(first.reduces) != 1 or not second.reduces or first.stores or second.stores:
        return None
    if any((first.saved, second.saved, first.reloaded, second.reloaded)):
        return None
    maximum = first.reduces[0]
    top = operations[maximum]
    assert isinstance(top, Reduce)
    loads = (operations[k] for k in first.needed)
    length = sum(op.dtype.itemsize for op in loads if isinstance(op, Load)) * nest.extents[-1]
    if top.name != "maximum" or top.dtype.kind != "f" or top.dtype.itemsize < 4 or length < LONG:
        return None
    finder = _Finder(plan, maximum, top)
    shifts = {finder.shift(k) for k in second.reduces}
    shift = shifts.pop() if len(shifts) == 1 else None
    return None if shift is None else Stream(maximum, shift)


@dataclass(frozen=True, slots=True)
class _Finder:
    plan: Phases
    maximum: int
    top: Reduce

    def shift(self, number: int) -> int | None:
        """What is subtracted in the exponents of a sum, if it is a sum of c exp(x - shift)."""
        op = self.plan.operations[number]
        if not isinstance(op, Reduce) or op.name != "add" or op.dtype != self.top.dtype:
            return None
        return self._of_exponential(op.arg)

    def _of_exponential(self, number: int) -> int | None:
        """The shift of exp(x - shift), or of that times or by what does not depend on it."""
        op = self.plan.operations[number]
        if not isinstance(op, Apply) or op.dtype != self.top.dtype:
            return None
        if op.name == "exp":
            return self._of_difference(op.args[0])
        if op.name in ("multiply", "divide") and not self._follows(op.args[1]):
            return self._of_exponential(op.args[0])
        if op.name == "multiply" and not self._follows(op.args[0]):
            return self._of_exponential(op.args[1])
        return None

    def _of_difference(self, number: int) -> int | None:
        op = self.plan.operations[number]
        if not isinstance(op, Apply) or op.name != "subtract" or op.args[0] != self.top.arg:
            return None
        return op.args[1] if self._made_of_maximum(op.args[1]) else None

    def _follows(self, number: int) -> bool:
        """Whether a value depends on the maximum."""
        return self.maximum in _all_of(self.plan.operations, number)

    def _made_of_maximum(self, number: int) -> bool:
        """Whether a value is the maximum where that is finite: itself, or a guarded form of it."""
        if number == self.maximum:
            return True
        op = self.plan.operations[number]
        if not isinstance(op, Apply) or op.name != "where" or op.args[1] != self.maximum:
            return False
        condition, other = (self.plan.operations[op.args[k]] for k in (0, 2))
        return (
            isinstance(condition, Apply)
            and condition.name == "isfinite"
            and condition.args == (self.maximum,)
            and isinstance(other, Const)
            and math.isfinite(abs(other.value))
        )


def _all_of(operations: tuple[Operation, ...], number: int) -> Iterator[int]:
    """An operation, and all that its value is made of."""
    seen, stack = {number}, [number]
    while stack:
        k = stack.pop()
        yield k
        new = [i for i in arguments(operations[k]) if i not in seen]
        seen.update(new)
        stack += new
