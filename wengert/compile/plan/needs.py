"""Which values lie in memory, and which are computed again by each of their readers."""

from __future__ import annotations

import math
from itertools import repeat

import numpy as np

from wengert.compile.plan.groups import Group, Groups
from wengert.compile.plan.loops import resolved
from wengert.compile.plan.roles import operands
from wengert.compile.program.again import CHEAP, map_name
from wengert.compile.program.operations import astype
from wengert.compile.program.program import Statement, Value, values_in

DEPTH, DEEP = 4, 8
"""The most functions that are computed again in place of one load, and of one from afar."""
AFAR = 1 << 17
"""Elements of an array from which on it is read from afar: it fits no near cache."""


class Needs:
    """For each value: the steps that read it, and whether it is stored.

    A value that another group reads is computed there again if that moves fewer bytes: a cast, a
    comparison, a scaled gradient.
    """

    def __init__(self, groups: Groups) -> None:
        self.roles = groups.roles
        self.made_in_groups = groups.of
        self.nodes = groups.nodes
        self.joins = {node for s, node in groups.nodes.items() if s.function is np.concatenate}
        self.side_by_side = self._side_by_side(groups)
        self.readers: dict[Value, set[int]] = {}
        self.stored: set[Value] = set()
        # For values that may be computed again: how many functions, of which values in memory,
        # and how many bytes of each.
        self.again: dict[Value, tuple[int, dict[Value, int]]] = {}
        distinct = dict.fromkeys(g.now for g in groups.of.values())
        self.groups: dict[int, Group] = {g.node: g for g in distinct}
        forced = self._read(groups)
        for s in self.roles.program.statements:
            if s in groups.of:
                self._decide(s, s.output in forced)

    def _read(self, groups: Groups) -> set[Value]:
        """Note who reads what; the values that have to lie in memory."""
        roles = self.roles
        # A result that is a view is copied from what it is a view of.
        forced = {v for r in roles.program.results if (v := roles.source(r)) is not None}
        for node, group in self.groups.items():
            for v in group.reads:
                if groups.group_of(v) is not group:
                    self.readers.setdefault(v, set()).add(node)
        for s, node in groups.nodes.items():
            for v in roles.sources(s):
                self.readers.setdefault(v, set()).add(node)
                if roles.of[s] not in ("parts", "scatter"):
                    forced.add(v)
        return forced

    def _side_by_side(self, groups: Groups) -> set[Value]:
        """What groups make of which several parts of one concatenation are."""
        beside: set[Value] = set()
        for s in groups.nodes:
            if s.function is np.concatenate:
                makers: dict[int, set[Value]] = {}
                for v in self.roles.sources(s):
                    group = groups.group_of(v)
                    if group is not None:
                        makers.setdefault(group.node, set()).add(v)
                beside.update(*(values for values in makers.values() if len(values) > 1))
        return beside

    def _decide(self, s: Statement, forced: bool) -> None:
        value = s.output
        readers = self.readers.get(value, set())
        again = self._again(s)
        # What is joined with others of its group is computed where it belongs, in one kernel.
        forced = forced or (value in self.side_by_side and readers <= self.joins)
        if forced or (readers and (again is None or not self._pays(value, *again, readers))):
            narrow = None if forced else self._cast_of(s)
            if narrow is None:
                self.stored.add(value)
                return
            self.stored.add(narrow)
            self.again.pop(narrow, None)
            again = 1, {narrow: narrow.nbytes}
        if again is None:
            return
        self.again[value] = again
        if readers:
            self.stored.update(v for v in again[1] if self._is_extra(v))
            for leaf in again[1]:
                self.readers.setdefault(leaf, set()).update(readers)
            del self.readers[value]

    def _again(self, s: Statement) -> tuple[int, dict[Value, int]] | None:
        """What it takes to compute a statement's result from values in memory."""
        role, size = self.roles.of[s], s.output.nbytes
        if role == "take":
            reads = [(s.args[0], size), *((v, v.nbytes) for v in values_in(s.args[1]))]
        elif role == "map" and map_name(s.function) in CHEAP:
            reads = [(x, x.nbytes) for x in operands(s) if type(x) is Value]
        else:
            return None
        count, leaves = 1, {}
        for x, moved in reads:
            source = self.roles.source(x)
            if source is None or (role == "take" and self.roles.ramp(x) is not None):
                continue
            maker = self.roles.made.get(source)
            if maker not in self.made_in_groups or self._may_lie(source):
                leaves[source] = min(moved, source.nbytes)
            elif source in self.again:
                count += self.again[source][0]
                leaves |= self.again[source][1]
            else:
                return None
        return (count, leaves) if count <= DEEP else None

    def _cast_of(self, s: Statement) -> Value | None:
        """What a cast makes longer numbers of, which may lie in memory instead of these."""
        x = s.args[0] if s.function is astype else None
        if type(x) is not Value or x.nbytes >= s.output.nbytes:
            return None
        maker = self.made_in_groups.get(self.roles.made.get(x))  # type: ignore[arg-type]
        return x if maker is not None and maker.now is self.made_in_groups[s].now else None

    def _may_lie(self, value: Value) -> bool:
        """Whether what a group makes lies in memory, or may do so for those who compute of it."""
        return value in self.stored or self.roles.of[self.roles.made[value]] == "reduce"

    def _is_extra(self, value: Value) -> bool:
        """Whether a value that others are computed again of would lie in memory only for that."""
        return self.roles.made.get(value) in self.made_in_groups and value not in self.stored

    def _pays(self, value: Value, count: int, leaves: dict[Value, int], readers: set[int]) -> bool:
        groups = [self.groups.get(node) for node in readers]
        if count > DEPTH and (value.size < AFAR or any(map(_walks_more, groups, repeat(value)))):
            return False
        moved = sum(1 + v.nbytes for v in leaves if self._is_extra(v))
        for group in groups:
            moved += sum(n for v, n in leaves.items() if group is None or v not in group.reads)
        return moved <= (1 + len(readers)) * value.nbytes


def _walks_more(group: Group | None, value: Value) -> bool:
    """Whether a group needs an element of a value for more than one of its iterations."""
    return group is not None and math.prod(k.extent for k in resolved(group.loops)) > value.size
