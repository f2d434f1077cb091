"""A graph of steps that is kept in topological order while steps are merged.

Merging two steps is allowed unless a third one lies between them. The order is maintained as in
Pearce and Kelly (2007): an edge against it moves only the nodes between its ends.
"""

from __future__ import annotations

PATIENCE = 400
"""How many nodes to look at before a merge is given up: correct, and never slow."""


class Order:
    """Nodes are numbers; `place[n]` orders them so that every edge goes forward."""

    def __init__(self) -> None:
        self.place: list[int] = []
        self.after: list[set[int]] = []
        self.before: list[set[int]] = []
        # Bits of the nodes merged into one, and of those known to lie before it. The latter may
        # lack some, so a set bit is proof and an unset one is not.
        self.bits: list[int] = []
        self.above: list[int] = []

    def add(self, before: set[int]) -> int:
        """A new node behind all others."""
        node = len(self.place)
        self.place.append(node)
        self.after.append(set())
        self.before.append(set(before))
        self.bits.append(1 << node)
        above = 0
        for p in before:
            self.after[p].add(node)
            above |= self.above[p] | self.bits[p]
        self.above.append(above)
        return node

    def link(self, a: int, b: int) -> bool:
        """Put `a` before `b`; False if `b` is before `a` already, or that takes too long to see."""
        if b in self.after[a]:
            return True
        if self.place[a] > self.place[b]:
            ahead = self._reach(b, self.after, self.place[a], a)
            if ahead is None:
                return False
            behind = self._reach(a, self.before, -self.place[b], b, sign=-1)
            if behind is None:
                return False
            self._rearrange(behind | {a}, [], ahead | {b})
        self.after[a].add(b)
        self.before[b].add(a)
        self.above[b] |= self.above[a] | self.bits[a]
        return True

    def merge(self, a: int, b: int) -> bool:
        """Make `b` part of `a`; False if another node lies between them."""
        first, last = (a, b) if self.place[a] < self.place[b] else (b, a)
        if any(p != first and self.above[p] & self.bits[first] for p in self.before[last]):
            return False
        ahead = self._reach(first, self.after, self.place[last], last, direct=True)
        if ahead is None:
            return False
        place = self.place[last]
        if ahead:
            behind = self._reach(last, self.before, -self.place[first], first, -1, direct=True)
            if behind is None:
                return False
            place = self._rearrange(behind, [first, last], ahead)
        self._contract(a, b)
        self.place[a] = place
        return True

    def _contract(self, a: int, b: int) -> None:
        after = (self.after[a] | self.after[b]) - {a, b}
        before = (self.before[a] | self.before[b]) - {a, b}
        for n in self.after[b]:
            self.before[n].discard(b)
        for n in self.before[b]:
            self.after[n].discard(b)
        for n in after:
            self.before[n].add(a)
        for n in before:
            self.after[n].add(a)
        self.after[a], self.before[a] = after, before
        self.after[b], self.before[b] = set(), set()
        self.bits[a] |= self.bits[b]
        self.above[a] = (self.above[a] | self.above[b]) & ~self.bits[a]

    def _reach(
        self,
        start: int,
        edges: list[set[int]],
        limit: int,
        target: int,
        sign: int = 1,
        direct: bool = False,
    ) -> set[int] | None:
        """The nodes reached from `start` that come before `limit`; None if `target` is among them
        (other than by a direct edge, if that is `direct`), or after too many nodes."""
        reached: set[int] = set()
        todo = [start]
        while todo:
            node = todo.pop()
            for n in edges[node]:
                if n == target:
                    if direct and node == start:
                        continue
                    return None
                if sign * self.place[n] < limit and n not in reached:
                    reached.add(n)
                    todo.append(n)
            if len(reached) > PATIENCE:
                return None
        return reached

    def _rearrange(self, early: set[int], middle: list[int], late: set[int]) -> int:
        """Give the same places anew: `early` ones, then `middle` (one place), then `late` ones."""
        places = sorted(self.place[n] for n in (*early, *middle, *late))
        by_place = self.place.__getitem__
        early_list, late_list = sorted(early, key=by_place), sorted(late, key=by_place)
        for node, place in zip(early_list, places, strict=False):
            self.place[node] = place
        for node, place in zip(reversed(late_list), reversed(places), strict=False):
            self.place[node] = place
        return places[len(early_list)]
