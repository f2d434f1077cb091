"""Whether two groups can be one kernel, and along which loops.

The loops have to be identified so that each value that one group hands to the other is read by the
iteration that computes it; what is reduced within a row must be reduced there in both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from wengert.compile.plan.groups import Group, Groups
from wengert.compile.plan.loops import Frame, Loop, Match, current, resolved
from wengert.compile.plan.reads import operand_frames, trace
from wengert.compile.plan.roles import SEARCHES
from wengert.compile.program.again import CHEAP
from wengert.compile.program.program import Statement, Value

ROW = 1 << 17
"""The longest row, in elements, that several stages walk again and again, whatever they compute.
It stays in cache; of a longer one each stage computes again what it needs of those before."""

LIGHT = 12
"""So many statements on the elements of a longer row may be computed again, one exp among them."""

CACHED = 1 << 10
"""This many elements may be walked in any order, for they stay in the nearest cache."""


class Fit(NamedTuple):
    """How two groups become one: the loops that are the same, those within a row (None if nothing
    says), and the one along which the largest values lie contiguous."""

    match: Match
    inner: tuple[Loop, ...] | None
    fast: Loop | None


Shared = tuple[Frame, Frame]
"""The loops of two groups along the axes of something: a value that both read and neither makes, or
an array that both write parts of."""


def fit(groups: Groups, a: Group, b: Group, shared: Shared | None) -> Fit | None:
    """How two groups fit, or None."""
    return _Pair(groups, a, b).fit(shared)


class _Demand(NamedTuple):
    """Which loops must be those within a row: `strict` if that changes how memory is walked,
    `given` if a reduction asks for it."""

    loops: frozenset[Loop]
    strict: bool
    given: bool


class _Pair:
    def __init__(self, groups: Groups, a: Group, b: Group) -> None:
        self.groups = groups
        self.a = a
        self.b = b
        self.match = Match()

    def fit(self, shared: Shared | None) -> Fit | None:
        if shared is not None and not self._shares(*shared):
            return None
        links = list(self._links())
        if any(self.groups.roles.of[self.groups.roles.made[v]] == "gathering" for v, _ in links):
            return None  # it is known once all loops have run
        foreign = self._identify(links)
        if foreign is None:
            return None
        left, right = self._not_common(self.a), self._not_common(self.b)
        if left and right:
            if not self.match.same(left, right):
                return None
            left, right = [], []
        if (not self.a.loops and right) or (shared is not None and (left or right)):
            return None
        demands = self._demands([(self.a, right), (self.b, left)], [v for v, _ in links])
        fast = (self.b if right else self.a).fast
        if demands is None or not self._agree(demands, fast):
            return None
        if any(not self._admits(v, f) for v, f in foreign):
            return None
        return Fit(self.match, self._in_order(demands[0].loops) if demands else None, fast)

    # ---- loops that are the same --------------------------------------------------------------

    def _links(self) -> Iterator[tuple[Value, Frame]]:
        """What one group reads of the other's values."""
        for reader, maker in ((self.b, self.a), (self.a, self.b)):
            for value, reads in reader.reads_of(maker):
                for frame in reads:
                    yield value, frame

    def _identify(self, links: list[tuple[Value, Frame]]) -> list[tuple[Value, Frame]] | None:
        """Identify the loops of what is handed over; those read out of step, None if impossible."""
        foreign = []
        for value, frame in links:
            for mine, theirs in zip(frame, self.groups.frames[value], strict=True):
                if mine is None:
                    foreign.append((value, frame))
                elif not self.match.same(mine, theirs or ()):
                    return None
        return foreign

    def _shares(self, first: Frame, second: Frame) -> bool:
        """Identify the loops of two groups along the same axes, all of them in step."""
        if any(x is None or y is None for x, y in zip(first, second, strict=True)):
            return False
        for group, frame in ((self.a, first), (self.b, second)):
            if {k for axis in frame for k in resolved(axis or ())} != set(resolved(group.loops)):
                return False
        return all(self.match.same(x or (), y or ()) for x, y in zip(first, second, strict=True))

    def _not_common(self, group: Group) -> list[Loop]:
        return [k for k in self._resolved(group.loops) if k not in self.match.common]

    def _resolved(self, loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
        return resolved(loops, self.match.by)

    # ---- the loops within a row ----------------------------------------------------------------

    def _demands(
        self, missing: list[tuple[Group, list[Loop]]], values: list[Value]
    ) -> list[_Demand] | None:
        """What asks for certain loops within a row; `missing` are the other group's own loops."""
        demands = []
        for group, others in missing:
            if group.inner is not None:
                if others:
                    return None
                inner = frozenset(self._resolved(group.inner))
                demands.append(_Demand(inner, strict=False, given=True))
            elif others:
                demands.append(_Demand(frozenset(others), strict=True, given=False))
        for value in values:
            s = self.groups.roles.made[value]
            if s in self.groups.work and (summed := self._summed(s)):
                demands.append(_Demand(summed, strict=True, given=True))
        return demands

    def _agree(self, demands: list[_Demand], fast: Loop | None) -> bool:
        """Whether rows of the same loops suit all that asks for them, and all reductions."""
        if not demands:
            return True
        inner = demands[0].loops
        if any(demand.loops != inner for demand in demands):
            return False
        for s in (*self.a.reductions, *self.b.reductions):
            summed = self._summed(s)
            if not inner <= summed and inner & summed:
                return False
            if s.function in SEARCHES and (summed != inner or len(inner) != 1):
                return False
        given = any(demand.given for demand in demands)
        return not any(d.strict for d in demands) or self._walks_well(inner, fast, given)

    def _summed(self, s: Statement) -> frozenset[Loop]:
        return frozenset(self._resolved(self.groups.summed(s)))

    def _every_loop(self) -> dict[Loop, None]:
        return dict.fromkeys((*self._resolved(self.a.loops), *self._resolved(self.b.loops)))

    def _in_order(self, inner: frozenset[Loop]) -> tuple[Loop, ...]:
        return tuple(k for k in self._every_loop() if k in inner)

    def _walks_well(self, inner: frozenset[Loop], fast: Loop | None, little: bool) -> bool:
        """Whether rows fit in cache, and are walked in the order of memory."""
        every = self._every_loop()
        length, total = (math.prod(k.extent for k in loops) for loops in (inner, every))
        if length > ROW and not _is_light([*self.a.statements, *self.b.statements], length):
            return False
        if length == total and total > ROW // 2 and len(every) > 1:
            return False
        last = self._resolved((fast,))[-1] if fast else None
        return last in inner or (little and total <= CACHED)

    # ---- what is read out of step ----------------------------------------------------------------

    def _admits(self, value: Value, frame: Frame) -> bool:
        """Whether a value may be computed once more for another element of it.

        That is where a gather picks few elements of what the group computes anyway: cheap, as long
        as no reduction would have to run for another row.
        """
        reader = next((g for g in (self.a, self.b) if value in g.reads), self.b)
        picked = math.prod(k.extent for k in resolved(reader.loops))
        if picked * 8 > value.size and value.size > 64:
            return False
        return self._reachable(value, frame, [24])

    def _reachable(self, value: Value, frame: Frame, budget: list[int]) -> bool:
        roles, by = self.groups.roles, self.match.by
        if self.groups.group_of(value) not in (self.a, self.b):
            return True
        budget[0] -= 1
        if budget[0] < 0:
            return False
        if current(frame, by) == current(self.groups.frames[value], by):
            return True
        s = roles.made[value]
        if roles.of[s] != "map":
            return False
        for operand, part in operand_frames(s, frame, roles):
            read = trace(operand, part, roles)
            if read is not None and not self._reachable(*read, budget):
                return False
        return True


def _is_light(statements: list[Statement], length: int) -> bool:
    """Whether it is quicker to compute these again for a long row than to keep them in memory."""
    for_each = [s.function.__name__ for s in statements if s.output.size >= length]
    slow = [name for name in for_each if name not in CHEAP and name != "divide"]
    return len(for_each) <= LIGHT and slow in ([], ["exp"])
