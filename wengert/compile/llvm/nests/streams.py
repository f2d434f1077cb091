"""Sums of exponentials that follow their maximum through a row, so that it is passed over once.

A softmax reads a row for its maximum m, and again for the sum of exp(x - m). Both are found in one
pass, unless a row is short: the sum is that of exp(x - m) with the maximum so far, and when a
larger one comes, what was summed is multiplied by exp(old - new) (Milakov & Gimelshein, "Online
normalizer calculation for softmax", 2018). For a row longer than the caches that is half the way to
memory; of others it takes two thirds of the time.

This is found by the form of the operations, not by name: `stream_of` says whether two passes of a
plan are of it. The last word on what is infinite or NaN have the two passes: see `loops.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from wengert.compile.llvm.nests.schedule import Nest, Phase, arguments, made_of
from wengert.compile.plan.kernel import Apply, Const, Index, Load, Operation, Reduce

LONG = 1 << 9
"""Bytes from which on a row is passed over once: shorter ones are not worth the code."""


class Stream(NamedTuple):
    """Two passes that may be one.

    `maximum` is the reduction of the first, `shifts` what is subtracted in the exponents of the
    second: the maximum itself, or another number where that is not finite. `exponentials` are these
    operations.
    """

    maximum: int
    shifts: frozenset[int]
    exponentials: frozenset[int]


def stream_of(nest: Nest, first: Phase, second: Phase) -> Stream | None:
    """How the sums of a pass follow the maximum that the pass before makes; None if they do not."""
    operations = nest.operations
    if len(nest.extents) != nest.outer + 1 or nest.vector != nest.outer:
        return None
    if len(first.reduces) != 1 or not second.reduces or first.stores or second.stores:
        return None
    if any((first.saved, second.saved, first.reloaded, second.reloaded)):
        return None
    loads = (operations[k] for k in first.needed)
    length = sum(op.dtype.itemsize for op in loads if isinstance(op, Load)) * nest.extents[-1]
    return (
        sums_of_exponentials(operations, first.reduces, second.reduces) if length >= LONG else None
    )


def sums_of_exponentials(
    operations: tuple[Operation, ...], first: list[int], second: list[int]
) -> Stream | None:
    """Whether the first reductions are one, a maximum, and the others sums relative to it."""
    top = operations[first[0]]
    assert isinstance(top, Reduce)
    if len(first) > 1 or top.name != "maximum" or top.dtype.kind != "f" or top.dtype.itemsize < 4:
        return None
    finder = _Finder(operations, canonical(operations), first[0], top)
    if not all(map(finder.adds_exponentials, second)):
        return None
    return Stream(first[0], frozenset(finder.shifts), frozenset(finder.exponentials))


def canonical(operations: tuple[Operation, ...]) -> list[int]:
    """For each operation the first that is equal to it: stages repeat loads and what is cheap."""
    first: dict[object, int] = {}
    firsts: list[int] = []
    for k, op in enumerate(operations):
        args = tuple(firsts[i] for i in arguments(op))
        key: object = k  # no store is like another
        if isinstance(op, Load):
            sizes = tuple(sizes for _, *sizes in op.access.indices)
            key = replace(op.access, indices=()), str(sizes), args, op.dtype
        elif isinstance(op, Const):
            key = Const, repr(op.value), op.dtype
        elif isinstance(op, Index):
            key = op
        elif isinstance(op, Apply | Reduce):
            key = type(op), op.name, args, op.dtype
        firsts.append(first.setdefault(key, k))
    return firsts


def falling(operations: tuple[Operation, ...]) -> set[int]:
    """Exponentials of what is at most 0: of x less the maximum of x."""
    below: set[int] = set()
    same = canonical(operations)
    for k, op in enumerate(operations):
        if not isinstance(op, Apply) or op.name != "exp" or op.dtype.itemsize < 4:
            continue
        difference = operations[op.args[0]]
        if op.dtype.kind != "f" or not _is_difference(difference):
            continue
        x, top = difference.args  # type: ignore[union-attr]
        maximum = operations[top]
        if not isinstance(maximum, Reduce) or maximum.name != "maximum":
            continue
        if same[x] == same[maximum.arg]:
            below.add(k)
    return below


def _is_difference(op: Operation) -> bool:
    return isinstance(op, Apply) and op.name == "subtract"


@dataclass(slots=True)
class _Finder:
    """Looks through a pass, and notes the exponentials in it and what is subtracted in them."""

    operations: tuple[Operation, ...]
    same: list[int]
    maximum: int
    top: Reduce
    shifts: set[int] = field(default_factory=set)
    exponentials: set[int] = field(default_factory=set)

    def adds_exponentials(self, number: int) -> bool:
        """Whether a reduction is a sum of c exp(x - shift)."""
        op = self.operations[number]
        if not isinstance(op, Reduce) or op.name != "add" or op.dtype != self.top.dtype:
            return False
        return self._is_scaled(op.arg)

    def _is_scaled(self, number: int) -> bool:
        """exp(x - shift), or that times or by what does not depend on the maximum."""
        op = self.operations[number]
        if not isinstance(op, Apply) or op.dtype != self.top.dtype:
            return False
        if op.name == "exp" and self._is_shifted(op.args[0]):
            self.exponentials.add(number)
            return True
        if op.name in ("multiply", "divide") and not self._follows(op.args[1]):
            return self._is_scaled(op.args[0])
        if op.name == "multiply" and not self._follows(op.args[0]):
            return self._is_scaled(op.args[1])
        return False

    def _is_shifted(self, number: int) -> bool:
        op = self.operations[number]
        if not isinstance(op, Apply) or op.name != "subtract":
            return False
        x, shift = op.args
        if self.same[x] != self.same[self.top.arg] or not self._is_maximum(shift):
            return False
        self.shifts.add(shift)
        return True

    def _is_maximum(self, number: int) -> bool:
        """Whether a value is the maximum where that is finite: itself, or a guarded form of it."""
        if number == self.maximum:
            return True
        op = self.operations[number]
        if not isinstance(op, Apply) or op.name != "where" or op.args[1] != self.maximum:
            return False
        condition, other = (self.operations[op.args[k]] for k in (0, 2))
        return (
            isinstance(condition, Apply)
            and condition.name == "isfinite"
            and condition.args == (self.maximum,)
            and isinstance(other, Const)
        )

    def _follows(self, number: int) -> bool:
        """Whether a value depends on the maximum."""
        return self.maximum in made_of(self.operations, [number])
