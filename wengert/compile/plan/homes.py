"""Where stored values go: to an output or an updated input, into a concatenation, or the arena.

In the arena the axes lie in the order in which their readers need the fewest copies.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wengert.compile.plan.arrays import Arrays, fresh
from wengert.compile.plan.sequence import Sequence
from wengert.compile.plan.strides import Strided, axes_of_transpose, inverse, through
from wengert.compile.program.program import Statement, Value


class Homes:
    """The memory that values are computed in. `late` are updates to be written at the end."""

    def __init__(self, arrays: Arrays, sequence: Sequence) -> None:
        self.arrays = arrays
        self.roles = arrays.roles
        self.goals = sequence.goals
        self.late = sequence.late
        multiplies = [s for s, role in self.roles.of.items() if role == "multiply"]
        self._factors = {v for s in multiplies for v in s.args}
        self._products = {s.output for s in multiplies}
        # Where concatenations lie whose parts are being computed.
        self._begun: dict[Statement, list[Strided]] = {}

    def of(self, value: Value) -> list[Strided]:
        """Where a stored value goes: to all its places among outputs and inputs, or the arena."""
        goals = self.goals.get(value)
        if goals:
            return [self.arrays.whole(goal, value.shape) for goal in goals]
        part = self._part(value)
        return [part or fresh(value, self._axis_order(value))]

    def of_concatenation(self, s: Statement) -> list[Strided]:
        return self._begun.get(s) or self.of(s.output)

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

    def _part(self, value: Value) -> Strided | None:
        """The place within a concatenation, of a value that is read by nothing else."""
        chain, s = self._only_reader(value)
        if s is None or s.function is not np.concatenate:
            return None
        end = chain[-1].output if chain else value
        if self.roles.of[s] != "parts" or s.args[0].count(end) != 1:
            return None
        if any(kind == "input" for kind, _ in self.goals.get(s.output, ())):
            return None
        homes = self.of_concatenation(s)
        home: Strided | None = slices(s, homes[0])[s.args[0].index(end)]
        for layout in reversed(chain):
            home = inverse(layout, home) if home is not None else None
        if home is not None and (value not in self._products or self.is_matrix(home)):
            self._begun[s] = homes
            return home
        return None

    def _only_reader(self, value: Value) -> tuple[list[Statement], Statement | None]:
        """The one statement that reads a value, and the changes of layout on the way to it."""
        chain: list[Statement] = []
        users = self.roles.uses.get(value, [])
        while len(users) == 1 and self.roles.of[users[0]] == "layout":
            chain.append(users[0])
            users = self.roles.uses.get(users[0].output, [])
        return chain, users[0] if len(users) == 1 else None

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
                axes = axes_of_transpose(s)
                price = self._price(value, axes, ends)
                if price < best:
                    best, choice = price, axes
        return choice

    def _ends(self, value: Value) -> Iterator[tuple[list[Statement], bool]]:
        """The chains of layouts from a value to its readers, and whether a product is among
        those."""
        todo: list[tuple[Value, list[Statement]]] = [(value, [])]
        while todo:
            v, chain = todo.pop()
            yield chain, v in self._factors
            todo.extend((s.output, [*chain, s]) for s in self._layouts(v))

    def _price(
        self, value: Value, order: tuple[int, ...] | None, ends: list[tuple[list[Statement], bool]]
    ) -> int:
        """How many readers need a copy."""
        price = 0
        start = fresh(value, order)
        for chain, product in ends:
            array: Strided | None = start
            for s in chain:
                array = through(s, array) if array is not None else None
            price += array is None or (product and not self.is_matrix(array))
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
