"""Grouping: which statements share a kernel.

Statements are taken in order. Each begins a group of its own, which is then merged with the groups
that made what it reads, and with those that read the same large value, wherever that is legal:

- the loops can be identified, so that each value that one statement hands to another is read by the
  iteration that computes it (`loops.Match`);
- a reduction whose result is used again in the same group sums exactly the loops within a row, and
  a row is walked in the order of memory, and fits in cache or is little work;
- every statement runs either for each element or once per row, so nothing is computed twice;
- no step outside the group lies between two in it (`Order`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.compile.plan import loops as frames
from wengert.compile.plan.indices import of_operand
from wengert.compile.plan.loops import Axis, Frame, Loop, Match, current, new_frame, resolved
from wengert.compile.plan.order import Order
from wengert.compile.plan.roles import CHEAP, SEARCHES, Roles, axes_of, operands
from wengert.compile.plan.strides import entries_of_view
from wengert.compile.program.program import Program, Statement, Value

ROW = 1 << 17
"""The longest row, in elements, that several stages walk again and again, whatever they compute.
It stays in cache; of a longer one each stage computes again what it needs of those before."""

LIGHT = 8
"""So many statements on the elements of a longer row may be computed again, one exp among them."""

CACHED = 1 << 10
"""This many elements may be walked in any order, for they stay in the nearest cache."""

MOST = 400
"""The largest group, in statements."""

DEEP = 100
"""The longest chain of statements in a group: their terms are made by recursion."""

FUSED = frozenset({"map", "reduce", "take", "hit"})


class Group:
    """Statements that run in one kernel."""

    __slots__ = (
        "_into",
        "fast",
        "inner",
        "loops",
        "node",
        "phase",
        "reads",
        "reductions",
        "statements",
    )

    def __init__(
        self, node: int, statement: Statement, loops: tuple[Loop, ...], phase: int
    ) -> None:
        self.node = node
        # How many steps that stand alone come before it in the program.
        self.phase = phase
        self.statements = [statement]
        self.loops = loops
        self.inner: tuple[Loop, ...] | None = None
        # The loop along which the largest values lie contiguous.
        self.fast: Loop | None = loops[-1] if loops else None
        self.reads: dict[Value, list[Frame]] = {}
        self.reductions: list[Statement] = []
        self._into: Group | None = None

    @property
    def now(self) -> Group:
        """The group that this one was merged into."""
        group = self
        while group._into is not None:
            group = group._into
        if group is not self:
            self._into = group
        return group

    def absorb(self, other: Group) -> None:
        other._into = self
        self.statements += other.statements
        self.reductions += other.reductions
        for value, frames_ in other.reads.items():
            self.reads.setdefault(value, []).extend(frames_)


class Grouping:
    """The groups of a program, and the graph of steps in which they stand."""

    def __init__(self, program: Program, roles: Roles, fuse: bool = True) -> None:
        self.program = program
        self.roles = roles
        self.fuse = fuse
        self.phase = 0
        self.order = Order()
        self.frames: dict[Value, Frame] = {}
        self.work: dict[Statement, Frame] = {}
        self.groups: dict[Statement, Group] = {}
        self.nodes: dict[Statement, int] = {}
        self.readers: dict[Value, list[Group]] = {}
        # How many statements of its group a value comes after.
        self.depth: dict[Value, int] = {}
        self.uses = program.users()
        for s in program.statements:
            role = roles.of[s]
            if role in FUSED:
                self._join(s)
            elif role not in ("layout", "source"):
                self.nodes[s] = self.order.add(self._makers(self.sources(s)))
                self.phase += 1

    # ---- reading ----------------------------------------------------------------------------

    def group_of(self, value: Value) -> Group | None:
        s = self.roles.made.get(value)
        group = self.groups.get(s) if s is not None else None
        return group.now if group else None

    def node_of(self, value: Value) -> int | None:
        """The step that makes a value; None for inputs, constants and what costs nothing."""
        s = self.roles.made.get(value)
        if s is None:
            return None
        group = self.groups.get(s)
        return group.now.node if group else self.nodes.get(s)

    def source(self, value: Value) -> Value | None:
        """What a value is a view of; None for one that is made of nothing."""
        while True:
            s = self.roles.made.get(value)
            role = self.roles.of[s] if s is not None else ""
            if role == "source":
                return None
            if role != "layout":
                return value
            assert s is not None
            value = s.args[0]

    def sources(self, s: Statement) -> list[Value]:
        found = (self.source(v) for v in s.inputs)
        return list(dict.fromkeys(v for v in found if v is not None))

    def _makers(self, values: list[Value]) -> set[int]:
        return {n for n in map(self.node_of, values) if n is not None}

    def trace(self, value: Value, frame: Frame) -> tuple[Value, Frame] | None:
        """What a value is a view of, and the frame in which that is read."""
        while True:
            s = self.roles.made.get(value)
            role = self.roles.of[s] if s is not None else ""
            if role == "source":
                return None
            if role != "layout":
                return value, frame
            assert s is not None
            frame = frames.before(s, frame)
            value = s.args[0]

    # ---- joining ----------------------------------------------------------------------------

    def _join(self, s: Statement) -> None:
        work = self._begin(s)
        loops = tuple(loop for axis in work for loop in axis or ())
        reads: dict[Value, list[Frame]] = {}
        for value, frame in operand_frames(s, work, self.roles):
            read = self.trace(value, frame)
            if read is not None:
                reads.setdefault(read[0], []).append(read[1])
        group = Group(self.order.add(self._makers(list(reads))), s, loops, self.phase)
        group.reads = reads
        if self.roles.of[s] == "reduce":
            group.reductions.append(s)
            if s.function in SEARCHES:
                group.inner = self.summed(s)
        self.groups[s] = group
        self.depth[s.output] = 1
        if self.fuse:
            group = self._merge_all(group, reads)
        for value in reads:
            self.readers.setdefault(value, []).append(group)

    def _begin(self, s: Statement) -> Frame:
        """Loops for a statement alone."""
        if self.roles.of[s] != "reduce":
            self.frames[s.output] = work = new_frame(s.output.shape)
            return work
        x, axes = s.args[0], axes_of(s)
        self.work[s] = work = new_frame(x.shape, whole=s.function in SEARCHES)
        if len(x.shape) == len(s.output.shape):
            self.frames[s.output] = tuple(() if k in axes else a for k, a in enumerate(work))
        else:
            self.frames[s.output] = tuple(a for k, a in enumerate(work) if k not in axes)
        return work

    def summed(self, s: Statement) -> tuple[Loop, ...]:
        """The loops that a reduction combines over."""
        work = self.work[s]
        return resolved([loop for k in axes_of(s) for loop in work[k] or ()])

    def _merge_all(self, group: Group, reads: dict[Value, list[Frame]]) -> Group:
        made = [v for v in reads if self.group_of(v) is not None]
        for value in sorted(made, key=lambda v: -v.nbytes):
            other = self.group_of(value)
            assert other is not None
            if other is not group and self._gains(other, group, value):
                group = self._merge(other, group, None)
        large = [v for v in reads if v.size > 1]
        for value in large:
            for reader in list(dict.fromkeys(g.now for g in self.readers.get(value, ())))[-3:]:
                other = reader.now  # which may be in this group by now
                if other is not group and self._gains(other, group, None):
                    group = self._merge(other, group, value)
        return group

    def _gains(self, a: Group, b: Group, value: Value | None) -> bool:
        """Whether it is good for `b` to run early, with `a`.

        It is if nothing else has run since. Otherwise what it makes has to be kept until it is used
        (in a backward pass, say), which pays if it is small, or if it is kept in place of `value`.
        """
        made = sum(s.output.nbytes for s in b.statements)
        if b.phase <= a.phase or made <= 64:
            return True
        if value is None:
            value = max(b.reads, key=lambda v: v.nbytes)
        return made * 2 <= value.nbytes or (made <= value.nbytes and self._once(value))

    def _once(self, value: Value) -> bool:
        """Whether a value has one reader."""
        users = self.uses[value]
        while len(users) == 1 and self.roles.of[users[0]] == "layout":
            users = self.uses.get(users[0].output, [])
        return len(users) == 1

    def _merge(self, a: Group, b: Group, shared: Value | None) -> Group:
        """The merged group, or `b` if they stay apart; `shared` is a value that both read."""
        assert a.now is not b.now, "a group merged with itself"
        fit = self._fit(a, b, shared)
        if fit is None or self._too_deep(a, b) or not self.order.merge(a.node, b.node):
            return b
        match, inner, fast = fit
        match.commit()
        self._deepen(a, b)
        a.loops = tuple(dict.fromkeys((*resolved(a.loops), *resolved(b.loops))))
        a.phase = max(a.phase, b.phase)
        a.inner = resolved(inner) if inner is not None else None
        a.fast = fast
        a.absorb(b)
        return a

    def _below(self, reader: Group, maker: Group) -> int:
        """How deep the values lie that one group reads of another's."""
        made = (v for v in reader.reads if self.group_of(v) is maker)
        return max((self.depth[v] for v in made), default=0)

    def _too_deep(self, a: Group, b: Group) -> bool:
        if len(a.statements) + len(b.statements) <= DEEP:
            return False
        deepest = max(self.depth[s.output] for s in b.statements)
        return deepest + self._below(b, a) > DEEP or self._below(a, b) > 0

    def _deepen(self, a: Group, b: Group) -> None:
        for reader, more in ((b, self._below(b, a)), (a, self._below(a, b))):
            for s in reader.statements if more else ():
                self.depth[s.output] += more

    # ---- whether two groups fit --------------------------------------------------------------

    def _links(self, a: Group, b: Group) -> Iterator[tuple[Value, Frame]]:
        """What one group reads of the other's values."""
        for reader, maker in ((b, a), (a, b)):
            for value, reads in reader.reads.items():
                if self.group_of(value) is maker:
                    for frame in reads:
                        yield value, frame

    def _fit(
        self, a: Group, b: Group, shared: Value | None
    ) -> tuple[Match, tuple[Loop, ...] | None, Loop | None] | None:
        if len(a.statements) + len(b.statements) > MOST:
            return None
        match = Match()
        links = list(self._links(a, b))
        foreign: list[tuple[Value, Frame]] = []
        if shared is not None and not self._shares(match, a, b, shared):
            return None
        for value, frame in links:
            for mine, theirs in zip(frame, self.frames[value], strict=True):
                if mine is None:
                    foreign.append((value, frame))
                elif not match.same(mine, theirs or ()):
                    return None
        by = match.by
        left = [k for k in resolved(a.loops, by) if k not in match.common]
        right = [k for k in resolved(b.loops, by) if k not in match.common]
        if left and right:
            if not match.same(left, right):
                return None
            left, right = [], []
        if (not a.loops and right) or (shared is not None and (left or right)):
            return None
        fast = (b if right else a).fast
        inner = self._inner(a, b, match, set(right), set(left), [v for v, _ in links], fast)
        if inner is False:
            return None
        if any(not self._admits(a, b, match, v, f) for v, f in foreign):
            return None
        return match, inner, fast

    def _shares(self, match: Match, a: Group, b: Group, shared: Value) -> bool:
        """Identify the loops of two groups that read the same value, all of it in step."""
        if abs(self.order.place[a.node] - self.order.place[b.node]) > 300:
            return False
        first, second = a.reads[shared][0], b.reads[shared][0]
        if any(x is None or y is None for x, y in zip(first, second, strict=True)):
            return False
        for group, frame in ((a, first), (b, second)):
            if {k for axis in frame for k in resolved(axis or ())} != set(resolved(group.loops)):
                return False
        return all(match.same(x or (), y or ()) for x, y in zip(first, second, strict=True))

    def _inner(
        self,
        a: Group,
        b: Group,
        match: Match,
        missing_a: set[Loop],
        missing_b: set[Loop],
        links: list[Value],
        fast: Loop | None,
    ) -> Any:
        """The loops within a row of the merged group, None if nothing says; False if impossible."""
        by = match.by
        needs: list[frozenset[Loop]] = []
        strict, given = False, False
        for group, missing in ((a, missing_a), (b, missing_b)):
            if group.inner is not None:
                if missing:
                    return False
                needs.append(frozenset(resolved(group.inner, by)))
                given = True
            elif missing:
                needs.append(frozenset(missing))
                strict = True
        for value in links:
            s = self.roles.made[value]
            if s in self.work:
                summed = frozenset(resolved(self.summed(s), by))
                if summed:
                    needs.append(summed)
                    strict = given = True
        inner = needs[0] if needs else None
        if any(need != inner for need in needs):
            return False
        if inner is None:
            return None
        for s in (*a.reductions, *b.reductions):
            summed = frozenset(resolved(self.summed(s), by))
            if not inner <= summed and inner & summed:
                return False
            if s.function in SEARCHES and (summed != inner or len(inner) != 1):
                return False
        if strict and not self._walks_well(a, b, inner, match, fast, given):
            return False
        order = dict.fromkeys((*resolved(a.loops, by), *resolved(b.loops, by)))
        return tuple(k for k in order if k in inner)

    def _walks_well(
        self,
        a: Group,
        b: Group,
        inner: frozenset[Loop],
        match: Match,
        fast: Loop | None,
        little: bool,
    ) -> bool:
        """Whether rows fit in cache, and are walked in the order of memory."""
        length = math.prod(k.extent for k in inner)
        every = {*resolved(a.loops, match.by), *resolved(b.loops, match.by)}
        total = math.prod(k.extent for k in every)
        if length > ROW and not _is_light([*a.statements, *b.statements], length):
            return False
        if length == total and total > ROW // 2 and len(every) > 1:
            return False
        last = resolved([fast], match.by)[-1] if fast else None
        return last in inner or (little and total <= CACHED)

    def _admits(self, a: Group, b: Group, match: Match, value: Value, frame: Frame) -> bool:
        """Whether a value may be computed once more for another element of it.

        That is where a gather picks few elements of what the group computes anyway: cheap, as long
        as no reduction would have to run for another row.
        """
        reader = next((g for g in (a, b) if value in g.reads), b)
        picked = math.prod(k.extent for k in resolved(reader.loops))
        if picked * 8 > value.size and value.size > 64:
            return False
        budget = [24]
        return self._reachable(a, b, match, value, frame, budget)

    def _reachable(
        self, a: Group, b: Group, match: Match, value: Value, frame: Frame, budget: list[int]
    ) -> bool:
        if self.group_of(value) not in (a, b):
            return True
        budget[0] -= 1
        if budget[0] < 0:
            return False
        own = current(self.frames[value], match.by)
        if current(frame, match.by) == own:
            return True
        s = self.roles.made[value]
        role = self.roles.of[s]
        if role != "map":
            return False
        for operand, part in operand_frames(s, frame, self.roles):
            read = self.trace(operand, part)
            if read is not None and not self._reachable(a, b, match, *read, budget):
                return False
        return True


def _is_light(statements: list[Statement], length: int) -> bool:
    """Whether it is quicker to compute these again for a long row than to keep them in memory."""
    for_each = [s.function.__name__ for s in statements if s.output.size >= length]
    slow = [name for name in for_each if name not in CHEAP and name != "divide"]
    return len(for_each) <= LIGHT and slow in ([], ["exp"])


def operand_frames(s: Statement, work: Frame, roles: Roles) -> Iterator[tuple[Value, Frame]]:
    """The values that a statement reads, and the frame it reads each in."""
    role = roles.of[s]
    if role == "map":
        for x in operands(s):
            if type(x) is Value:
                yield x, of_operand(work, x.shape, ())
    elif role == "reduce":
        yield s.args[0], work
    elif role == "take":
        yield from _take_frames(s, work, roles)
    else:
        hit = roles.hits[s]
        common: list[Axis] = [()] * len(hit.shape)
        for d, k in enumerate(hit.rows):
            if k is not None:
                common[k] = work[d]
        yield hit.target, of_operand(tuple(common), hit.target.shape, ())
        x, index, value = s.args
        index = index if isinstance(index, tuple) else (index,)
        yield x, work
        if type(value) is Value:
            whole = [work[d] for d, e in enumerate(index) if type(e) is slice]
            yield value, of_operand((*common, *whole), value.shape, ())


def _take_frames(s: Statement, work: Frame, roles: Roles) -> Iterator[tuple[Value, Frame]]:
    x = s.args[0]
    rest, picked = take_axes(s, work)
    read: list[Axis] = [() if n == 1 else None for n in x.shape]
    for entry, k in entries_of_view(s):
        n = x.shape[k] if k < len(x.shape) else 0
        if type(entry) is slice and n != 1 and entry.indices(n) == (0, n, 1):
            read[k] = rest[k]
        elif type(entry) is Value:
            frame = of_operand(picked, entry.shape, ())
            ramp = roles.ramp(entry)
            if ramp is not None and entry.shape[ramp] == n and n != 1:
                read[k] = frame[ramp]
            yield entry, frame
    yield x, tuple(read)


def take_axes(s: Statement, axes: tuple[Any, ...]) -> tuple[dict[int, Any], tuple[Any, ...]]:
    """The axes of a gather's result: those of the sliced axes of the operand, by their number,
    and those of the index arrays' common shape.

    They stand where the arrays are, or first if something stands between these.
    """
    entries = list(entries_of_view(s))
    arrays = [e for e, _ in entries if type(e) is Value]
    rank = len(np.broadcast_shapes(*[e.shape for e in arrays]))
    picks = [i for i, (e, _) in enumerate(entries) if e is not None and type(e) is not slice]
    together = picks == list(range(picks[0], picks[-1] + 1))
    start = picks[0] if together else 0
    rest: dict[int, Any] = {}
    left = iter([*axes[:start], *axes[start + rank :]])
    for entry, k in entries:
        if entry is None:
            next(left)
        elif type(entry) is slice:
            rest[k] = next(left)
    return rest, tuple(axes[start : start + rank])
