"""Where stored values go: to an output or an updated input, into a concatenation, or the arena.

In the arena the axes lie in the order in which their readers need the fewest copies.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wengert.compile.plan.arrays import Arrays, Goal, fresh
from wengert.compile.plan.needs import Needs
from wengert.compile.plan.sequence import Sequence
from wengert.compile.plan.strides import Strided, inverse, through
from wengert.compile.program.infer import axes_of
from wengert.compile.program.program import Statement, Value


class Homes:
    """The memory that values are computed in. `late` are updates to be written at the end."""

    def __init__(self, arrays: Arrays, sequence: Sequence, needs: Needs) -> None:
        self.arrays = arrays
        self.needs = needs
        self.roles = arrays.roles
        self.goals = sequence.goals
        self.late = sequence.late
        self.views = sequence.views
        multiplies = [s for s, role in self.roles.of.items() if role == "multiply"]
        self._factors = {v for s in multiplies for v in s.args}
        # Where concatenations lie whose parts are being computed, and which of these were.
        self._begun: dict[Statement, list[Strided]] = {}
        self._filled: set[tuple[Statement, int]] = set()

    def of(self, value: Value) -> list[Strided]:
        """Where a stored value goes: to all its places among outputs and inputs, or the arena.

        No two of them overlap: several in one buffer are different parts of a concatenation.
        """
        goals = self.goals.get(value)
        if goals:
            return [self._at(value, goal) for goal in goals]
        parts = self._parts(value)
        if parts:
            return list(parts.values())
        ordered = fresh(value, self._axis_order(value))
        return [ordered if self.roles.can_write(value, ordered) else fresh(value)]

    def _at(self, value: Value, goal: Goal) -> Strided:
        """Where a value lies that is a result, or a view of which is one."""
        chain = self.views.get(goal, [])
        shape = chain[-1].output.shape if chain else value.shape
        place = self._before(chain, self.arrays.whole(goal, shape))
        assert place is not None
        return place

    def of_concatenation(self, s: Statement) -> list[Strided]:
        return self._begun.get(s) or self.of(s.output)

    def fill(self, value: Value, arrays: list[Strided]) -> None:
        """Note that a value was written to these places."""
        places = self._parts(value).items()
        self._filled.update(part for part, place in places if place in arrays)

    def is_filled(self, s: Statement, number: int) -> bool:
        """Whether a part of a concatenation was computed where it belongs."""
        return (s, number) in self._filled

    def postpone(self, value: Value) -> None:
        """Update inputs with a value at the end, not when it is computed."""
        goals = self.goals.get(value, [])
        for goal in [g for g in goals if g[0] == "input"]:
            goals.remove(goal)
            self.late.append((value, goal))

    def is_matrix(self, array: Strided) -> bool:
        """Whether products read an array as it lies."""
        return self.roles.backend.reads(array.shape, array.strides)

    # ---- parts of concatenations -----------------------------------------------------------------

    def _parts(self, value: Value) -> dict[tuple[Statement, int], Strided]:
        """The places in concatenations of a value that no other step reads."""
        places: dict[tuple[Statement, int], Strided] = {}
        others = set(self.needs.readers.get(value, ()))
        for chain, end in self._ends(value):
            for s in self.roles.uses.get(end, ()):
                whole = self._joined(s)
                if whole is None:
                    continue
                others.discard(self.needs.nodes[s])
                for k, part in enumerate(slices(s, whole[0])):
                    if s.args[0][k] is end:
                        place = self._before(chain, part)
                        if place is None:
                            return {}
                        places[s, k] = place
        if others or not all(self.roles.can_write(value, place) for place in places.values()):
            return {}
        return places

    def _joined(self, s: Statement) -> list[Strided] | None:
        """Where a concatenation lies whose parts can be computed there."""
        if s.function is not np.concatenate or self.roles.of[s] != "parts":
            return None
        inputs = self.roles.program.inputs
        goals = self.goals.get(s.output, ())
        if any(kind == "input" and not inputs[k].lent for kind, k in goals):
            return None
        if s not in self._begun:
            self._begun[s] = self.of(s.output)
        return self._begun[s]

    def _before(self, chain: list[Statement], place: Strided | None) -> Strided | None:
        """Where a value lies whose view lies at a place."""
        for layout in reversed(chain):
            place = inverse(layout, place) if place is not None else None
        return place

    # ---- the order of axes in memory -------------------------------------------------------------

    def _layouts(self, value: Value) -> list[Statement]:
        """The changes of layout that read a value."""
        return [s for s in self.roles.uses.get(value, ()) if self.roles.of[s] == "layout"]

    def _axis_order(self, value: Value) -> tuple[int, ...] | None:
        """The order of the axes in which the value's readers need the fewest copies."""
        users = self._layouts(value)
        if not users or len(value.shape) < 2:
            return None
        ends = list(self._ends(value))
        best, choice = self._price(value, None, ends), None
        for s in users if best else ():
            if s.function is np.transpose:
                axes = axes_of(s)
                price = self._price(value, axes, ends)
                if price < best:
                    best, choice = price, axes
        return choice

    def _ends(self, value: Value) -> Iterator[tuple[list[Statement], Value]]:
        """The views of a value, itself among them, with the changes of layout that make them."""
        todo: list[tuple[Value, list[Statement]]] = [(value, [])]
        while todo:
            v, chain = todo.pop()
            yield chain, v
            todo.extend((s.output, [*chain, s]) for s in self._layouts(v))

    def _price(
        self, value: Value, order: tuple[int, ...] | None, ends: list[tuple[list[Statement], Value]]
    ) -> int:
        """How many readers need a copy."""
        price = 0
        start = fresh(value, order)
        for chain, end in ends:
            array: Strided | None = start
            for s in chain:
                array = through(s, array) if array is not None else None
            price += array is None or (end in self._factors and not self.is_matrix(array))
        return price


def slices(s: Statement, whole: Strided) -> list[Strided]:
    """The parts of a concatenation in memory."""
    axis = s.kwargs.get("axis", s.args[1] if len(s.args) > 1 else 0) % len(s.output.shape)
    at, parts = 0, []
    for v in s.args[0]:
        offset = whole.offset + at * whole.strides[axis]
        parts.append(Strided(whole.buffer, v.shape, whole.strides, offset))
        at += v.shape[axis]
    return parts
