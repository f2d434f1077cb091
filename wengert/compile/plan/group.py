"""Grouping: which statements share a kernel.

Statements are taken in order. Each begins a group of its own, which is then merged with the groups
that made what it reads, and with those that read the same large value, wherever that is legal:

- the loops can be identified, so that each value that one statement hands to another is read by the
  iteration that computes it (`loops.Match`, `fit.py`);
- a reduction whose result is used again in the same group sums exactly the loops within a row, and
  a row is walked in the order of memory, and fits in cache or is little work (`fit.py`);
- every statement runs either for each element or once per row, so nothing is computed twice;
- no step outside the group lies between two in it (`Order`).

What only adds a sum to an array that it updates, as loops do with their state, is part of the sum,
which then begins with what is there.

Groups that write parts of one array which lie close to each other are merged in the same way.
"""

from __future__ import annotations

import itertools
import math

from wengert.compile.plan.fit import ROW, Shared, fit
from wengert.compile.plan.groups import Group, Groups
from wengert.compile.plan.loops import Frame, along, new_frame, resolved
from wengert.compile.plan.reads import operand_frames, own_frames, trace
from wengert.compile.plan.roles import REDUCTIONS, SEARCHES, Roles, axes_of
from wengert.compile.program.again import map_name
from wengert.compile.program.bodies import bodies
from wengert.compile.program.operations import check
from wengert.compile.program.passes.copies import parts_within_lines
from wengert.compile.program.program import Statement, Value

MOST = 800
"""The largest group, in statements."""

DEEP = 100
"""The longest chain of statements in a group: their terms are made by recursion."""

FAR = 300
"""The most steps between two that are merged because they read the same."""

NEARBY = 32
"""Among so many values made of a reduction it is looked who reads its rows again."""

FUSED = frozenset({"map", "reduce", "take", "hit", "gathering"})


def group(roles: Roles, fuse: bool = True) -> Groups:
    """The groups of a program; without `fuse`, one for each statement."""
    grouping = _Grouping(roles, fuse)
    for s in roles.program.statements:
        grouping.add(s)
    for s in roles.program.statements if fuse else ():
        grouping.combine_onto(s)
    return grouping.groups


def _acts(s: Statement) -> tuple[str, ...]:
    """In which orders a statement stands; a loop that acts may do both, and so does who is met."""
    if not s.acts:
        return ()
    if s.function is check:
        return ("check",)
    return ("check", "draw") if bodies(s) or s.meets else ("draw",)


class _Grouping:
    def __init__(self, roles: Roles, fuse: bool) -> None:
        self.roles = roles
        self.fuse = fuse
        self.groups = Groups(roles)
        self.phase = 0
        self.acted: dict[str, int] = {}
        """What acted last: checks stay in their order, and so do random draws, for themselves."""
        self.readers: dict[Value, list[Group]] = {}
        # How many statements of its group a value comes after.
        self.depth: dict[Value, int] = {}

    def add(self, s: Statement) -> None:
        role, groups = self.roles.of[s], self.groups
        if role in FUSED:
            self._join(s)
        elif role not in ("layout", "source"):
            ways = _acts(s)
            # What the program begins with is found wrong before a number is drawn: what a check
            # reads is computed with nothing that comes after a draw.
            follows = {*ways, "check"} if ways else ()
            earlier = {self.acted[way] for way in follows if way in self.acted}
            node = groups.order.add(groups.makers(self.roles.sources(s)) | earlier)
            groups.nodes[s] = node
            self.acted |= dict.fromkeys(ways, node)
            if role == "parts":
                self._merge_makers(s)
            if role != "check":
                self.phase += 1

    def _join(self, s: Statement) -> None:
        groups = self.groups
        groups.frames[s.output], work = own_frames(s, self.roles)
        reads: dict[Value, list[Frame]] = {}
        for value, frame in operand_frames(s, work, self.roles):
            read = trace(value, frame, self.roles)
            if read is not None:
                reads.setdefault(read[0], []).append(read[1])
        group = Group(groups.order.add(groups.makers(reads)), s, along(work), self.phase)
        group.reads = dict(reads)
        if self.roles.of[s] == "reduce":
            groups.work[s] = work
            group.reductions.append(s)
            if s.function in SEARCHES:
                group.inner = groups.summed(s)
        if self.roles.of[s] == "gathering":
            groups.work[s] = work
        groups.of[s] = group
        self.depth[s.output] = 1
        if self.fuse:
            group = self._merge_all(group, list(reads))
        for value in reads:
            self.readers.setdefault(value, []).append(group)

    def _merge_all(self, group: Group, reads: list[Value]) -> Group:
        group_of = self.groups.group_of
        computed = [v for v in reads if group_of(v) is not None]
        waits = self._is_read_again(group)
        for value in sorted(computed, key=lambda v: -v.nbytes):
            other = group_of(value)
            assert other is not None
            if waits and self._crosses_rows(other, group, value):
                continue
            if other is not group and self._gains(other, group, value):
                group = self._merge(other, group, None)
        for value in [v for v in reads if v.size > 1]:
            for reader in list(dict.fromkeys(g.now for g in self.readers.get(value, ())))[-3:]:
                other = reader.now  # which may be in this group by now
                if other is group or not self._near(other, group):
                    continue
                if self._gains(other, group, None):
                    frames = other.reads[value][0], group.reads[value][0]
                    group = self._merge(other, group, frames)
        return group

    def _merge_makers(self, s: Statement) -> None:
        """Merge the groups that make parts of one array which lie within a line of memory: each for
        itself would move all lines of the array.
        """
        place = self.groups.order.place
        rows = (self._rows_of(part, s.kwargs["axis"]) for part in parts_within_lines(s))
        for (a, x), (b, y) in itertools.pairwise(filter(None, rows)):
            first, second = a.now, b.now
            if place[first.node] > place[second.node]:
                first, second, x, y = second, first, y, x
            if first is second:
                continue
            early = sum(one.output.nbytes for one in second.statements)
            if early * 4 <= s.output.nbytes or self._gains(first, second, None):
                self._merge(first, second, (x, y))

    def _rows_of(self, part: Value, axis: int) -> tuple[Group, Frame] | None:
        """The group that makes a part, and its loops along the axes that the part shares with the
        others; None where a loop is along something else.
        """
        frame, axis = new_frame(part.shape), axis % len(part.shape)
        read = trace(part, frame, self.roles)
        group = self.groups.group_of(read[0]) if read is not None else None
        if read is None or group is None:
            return None
        loops_of = dict(zip(read[1], self.groups.frames[read[0]], strict=True))
        rows = [loops for k, loops in enumerate(frame) if k != axis and loops]
        if any(loops not in loops_of for loops in rows):
            return None
        return group, tuple(loops_of[loops] for loops in rows)

    def _gains(self, a: Group, b: Group, value: Value | None) -> bool:
        """Whether it is good for `b` to run early, with `a`.

        It is if nothing else has run since. Otherwise what it makes has to be kept until it is used
        (in a backward pass, say), which pays if it is small, or if it is kept in place of `value`.
        """
        nbytes = sum(s.output.nbytes for s in b.statements)
        if b.phase <= a.phase or nbytes <= 64:
            return True
        if value is None and not b.reads:
            return False
        if value is None:
            value = max(b.reads, key=lambda v: v.nbytes)
        return nbytes * 2 <= value.nbytes or (nbytes <= value.nbytes and self._once(value))

    def _is_read_again(self, group: Group) -> bool:
        """Whether a group is a reduction along rows that are read again once its result is known.

        These are walked twice then, and come from afar once: nothing is gained by reducing them
        where they are made.
        """
        (s,) = group.statements
        if self.roles.of[s] != "reduce" or len(s.args[0].shape) - 1 not in axes_of(s):
            return False
        if math.prod(k.extent for k in self.groups.summed(s)) > ROW:
            return False
        after, uses = {s.output}, self.roles.uses
        reached = [s.output]
        for value in reached:
            for user in uses.get(value, ()):
                near = len(reached) < NEARBY and self.roles.of[user] in ("layout", "map")
                if near and user.output not in after:
                    after.add(user.output)
                    reached.append(user.output)
        source = self.roles.source(s.args[0])
        readers = uses.get(source, ()) if source is not None else ()
        return any(v in after for user in readers if user is not s for v in user.outputs)

    def _crosses_rows(self, maker: Group, reader: Group, value: Value) -> bool:
        """Whether what the reader reduces are not the loops within the maker's rows."""
        (s,) = reader.statements
        own = [r for r in maker.reductions if r.output is value]
        inner = maker.inner or tuple(k for r in own for k in self.groups.summed(r))
        summed = set(self.groups.summed(s))
        axes = zip(reader.reads[value][0], self.groups.frames[value], strict=True)
        along = {
            k
            for mine, theirs in axes
            if summed.intersection(mine or ())
            for k in resolved(theirs or ())
        }
        return bool(inner) and not along.intersection(resolved(inner))

    def _once(self, value: Value) -> bool:
        """Whether a value has one reader."""
        uses = self.roles.uses
        users = uses[value]
        while len(users) == 1 and self.roles.of[users[0]] == "layout":
            users = uses.get(users[0].output, [])
        return len(users) == 1

    def _merge(self, a: Group, b: Group, shared: Shared | None) -> Group:
        """The merged group, or `b` if they stay apart."""
        assert a.now is not b.now, "a group merged with itself"
        few = len(a.statements) + len(b.statements) <= MOST
        fitting = fit(self.groups, a, b, shared) if few else None
        if fitting is None or self._too_deep(a, b) or not self.groups.order.merge(a.node, b.node):
            return b
        fitting.match.commit()
        self._deepen(a, b)
        a.loops = tuple(dict.fromkeys((*resolved(a.loops), *resolved(b.loops))))
        a.phase = max(a.phase, b.phase)
        a.inner = resolved(fitting.inner) if fitting.inner is not None else None
        a.fast = fitting.fast
        a.absorb(b)
        return a

    def combine_onto(self, s: Statement) -> None:
        """Have a reduction begin with what an array holds, which `s` updates with its result."""
        groups, state = self.groups, self.roles.updated_by(s)
        if state is None:
            return
        (result,) = [v for v in s.args if v is not state]
        r = self.roles.made.get(result)
        alone = self.roles.uses[result] == [s] and result not in self.roles.program.results
        if r is None or self.roles.of[r] != "reduce" or not alone:
            return
        a, b = groups.of[r].now, groups.of[s].now
        alike = REDUCTIONS.get(r.function) == map_name(s.function)
        within = set(groups.summed(r)) == set(resolved(a.inner or ()))
        if a is b or not alike or within or len(b.statements) > 1 or state in a.reads:
            return
        if groups.order.merge(a.node, b.node):
            frame = groups.frames[s.output] = groups.frames[result]
            b.loops, b.reads = a.loops, {state: [frame]}
            a.absorb(b)
            groups.onto[s] = r, state

    def _near(self, a: Group, b: Group) -> bool:
        place = self.groups.order.place
        return abs(place[a.node] - place[b.node]) <= FAR

    # ---- how long chains of statements are -----------------------------------------------------

    def _below(self, reader: Group, maker: Group) -> int:
        """How deep the values lie that one group reads of another's."""
        return max((self.depth[v] for v, _ in reader.reads_of(maker)), default=0)

    def _too_deep(self, a: Group, b: Group) -> bool:
        if len(a.statements) + len(b.statements) <= DEEP:
            return False
        deepest = max(self.depth[s.output] for s in b.statements)
        return deepest + self._below(b, a) > DEEP or self._below(a, b) > 0

    def _deepen(self, a: Group, b: Group) -> None:
        for reader, more in ((b, self._below(b, a)), (a, self._below(a, b))):
            for s in reader.statements if more else ():
                self.depth[s.output] += more
