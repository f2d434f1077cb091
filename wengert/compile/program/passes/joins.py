"""Joins: what is computed of joined arrays, element by element, is computed part by part.

`np.roll` joins two parts of an array, and the derivative of a slice puts what it is given among
zeros. Each such array would be written, and read again by a loop over all of it. Instead the loop
is cut where parts begin: each piece of the result is a loop of its own over views, and only the
result is joined, which is computed where it lies. The elements are the same ones.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wengert.compile.program.infer import Calls
from wengert.compile.program.operations import full, updated, view
from wengert.compile.program.passes.picks import along, own_axis
from wengert.compile.program.passes.rewrite import is_elementwise
from wengert.compile.program.program import Program, Statement, Value

LARGE = 1 << 17
"""Bytes of an array that is worth some loops: it is not at hand at once when it is read again."""
FOR_EACH = 4
"""Statements that are cut for each array that is not joined, at most."""
PIECES = 32
"""Loops that a result is computed in at most."""


class Cut(NamedTuple):
    """An array in parts along an axis: where each begins and ends, and what it is."""

    axis: int
    parts: list[tuple[int, int, Item]]


Item: TypeAlias = Value | Cut


def part_by_part(program: Program) -> bool:
    """Compute part by part what is joined for that alone; whether the program was changed."""
    cutter = _Cutter(program)
    cutter.met = cutter.meeting()
    if not cutter.met:
        return False
    cutter.run()
    return True


@dataclass(eq=False)
class _Meeting:
    """Joined arrays, where the parts of each begin, and the statements that would be cut."""

    joined: list[Value]
    edges: list[frozenset[tuple[int, int]]]
    maps: int
    into: _Meeting | None = None

    @property
    def now(self) -> _Meeting:
        """The one that this has become part of."""
        return self if self.into is None else self.into.now

    def take_in(self, other: _Meeting) -> _Meeting:
        mine, more = self.now, other.now
        if mine is not more:
            mine.joined += more.joined
            mine.edges += more.edges
            mine.maps += more.maps
            more.into = mine
        return mine

    def pays(self) -> bool:
        return len(set(self.edges)) > 1 and self.maps <= FOR_EACH * len(self.joined)


class _Cutter:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.users = program.users()
        self.results = set(program.results)
        self.made = program.makers()
        self.cuts: dict[Value, Cut] = {}
        self.by: dict[Value, Value] = {}
        self.met: set[Value] = set()
        self.statements: list[Statement] = []
        self.calls = Calls(self.statements)

    def meeting(self) -> set[Value]:
        """The joined arrays that meet others whose parts begin elsewhere, in few statements.

        One alone is computed where it lies, and what reads it stays a single loop, with others; so
        do many statements beside few of them.
        """
        groups: dict[Value, _Meeting] = {}
        for s in self.program.statements:
            if self._is_joined(s):
                groups[s.output] = _Meeting([s.output], [self._edges_of(s)], 0)
            elif is_elementwise(s.function) and not s.kwargs:
                cut = [groups[x] for x in s.inputs if x in groups and x.shape == s.output.shape]
                if cut:
                    group = functools.reduce(_Meeting.take_in, cut)
                    group.maps += 1
                    if self._is_mapped(s.output):
                        groups[s.output] = group
        together = {id(group): group for group in (g.now for g in groups.values())}.values()
        return {v for group in together if group.pays() for v in group.joined}

    def _edges_of(self, s: Statement) -> frozenset[tuple[int, int]]:
        """Where parts of a joined array begin, along which axis."""
        if s.function is np.concatenate:
            axis = s.kwargs["axis"] % len(s.output.shape)
            ends = itertools.accumulate(v.shape[axis] for v in s.args[0])
            return frozenset((axis, end) for end in ends)
        return frozenset(
            (axis, edge)
            for axis, (part, n) in enumerate(zip(s.args[1], s.output.shape, strict=True))
            for edge in (range(n)[part].start, range(n)[part].stop)
        )

    def run(self) -> None:
        program = self.program
        for s in program.statements:
            self.calls.line = s.code, s.at
            if s.function in (np.concatenate, updated) and s.output in self.met:
                self.cuts[s.output] = self._joined(s)
            elif self._maps_parts(s):
                item = self._map(s, [self.cuts.get(x, x) for x in map(self._known, s.args)])
                self._note(s.output, item)
            else:
                self.statements.append(s.replaced(self._whole))
        program.outputs = [self._whole(v) for v in program.outputs]
        program.updates = {k: self._whole(v) for k, v in program.updates.items()}
        program.statements = self.statements

    def _note(self, value: Value, item: Item) -> None:
        """What a value is: parts, as long as it is read part by part."""
        if isinstance(item, Cut) and self._is_mapped(value):
            self.cuts[value] = item
        else:
            self.by[value] = self._together(item)

    # ---- what is cut --------------------------------------------------------------------------

    def _is_joined(self, s: Statement) -> bool:
        """Whether a statement only joins arrays for others to compute with, element by element."""
        if s.function is np.concatenate:
            # What is computed for a place in a joined array is computed there.
            at_hand = not any(map(self._is_computed, s.args[0]))
            fine = at_hand and s.kwargs.get("axis") is not None and len(s.args[0]) <= PIECES
        else:
            fine = s.function is updated and self._is_placed(s)
        if not fine or s.output.nbytes < LARGE:
            return False
        # Each reader would compute the parts again.
        return len(self.users.get(s.output, [])) == 1 and self._is_mapped(s.output)

    def _is_computed(self, value: Value) -> bool:
        s = self.made.get(value)
        return s is not None and is_elementwise(s.function)

    def _is_placed(self, s: Statement) -> bool:
        """Whether an array is written into a box of another."""
        x, index, v = s.args
        if type(x) is not Value or type(v) is not Value or len(index) != len(x.shape):
            return False
        slices = all(type(e) is slice and e.step in (None, 1) for e in index)
        return (
            slices
            and v.dtype == x.dtype
            and v.shape == tuple(len(range(n)[e]) for e, n in zip(index, x.shape, strict=True))
        )

    def _is_mapped(self, value: Value) -> bool:
        """Whether a value is read element by element alone."""
        users = self.users.get(value, [])
        return value not in self.results and all(
            is_elementwise(user.function) and not user.kwargs and user.output.shape == value.shape
            for user in users
        )

    def _maps_parts(self, s: Statement) -> bool:
        if not is_elementwise(s.function) or s.kwargs or len(s.outputs) != 1:
            return False
        cuts = [self.cuts[x] for x in s.args if type(x) is Value and x in self.cuts]
        edges: dict[int, set[int]] = {}
        for cut in cuts:
            _edges(cut, edges)
        return bool(cuts) and math.prod(map(len, edges.values())) <= PIECES

    # ---- parts ----------------------------------------------------------------------------------

    def _joined(self, s: Statement) -> Cut:
        if s.function is updated:
            x, index, v = s.args
            item = self._placed(self._whole(x), index, self._whole(v), 0)
            assert isinstance(item, Cut) or s.output.shape == v.shape
            return item if isinstance(item, Cut) else Cut(0, [(0, s.output.shape[0], item)])
        axis = s.kwargs["axis"] % len(s.output.shape)
        ends = list(itertools.accumulate(v.shape[axis] for v in s.args[0]))
        values = map(self._whole, s.args[0])
        places = zip([0, *ends], ends, values, strict=False)
        return Cut(axis, [(a, b, v) for a, b, v in places if a < b])

    def _placed(self, x: Value, index: tuple[slice, ...], v: Value, axis: int) -> Item:
        """`x` with `v` at a box, of which the axes before this one are all of x."""
        if axis == len(index):
            return v
        n = x.shape[axis]
        inside = range(n)[index[axis]]
        a, b = inside.start, inside.stop
        middle = self._placed(self._part(x, axis, a, b), index, v, axis + 1)
        if (a, b) == (0, n):
            return middle
        around = [(0, a, self._part(x, axis, 0, a)), (b, n, self._part(x, axis, b, n))]
        parts = [around[0], (a, b, middle), around[1]]
        return Cut(axis, [part for part in parts if part[0] < part[1]])

    def _part(self, item: Item, axis: int, a: int, b: int) -> Any:
        """Elements a to b along an axis."""
        if not isinstance(item, Cut):
            return self._viewed(item, axis, a, b)
        if item.axis != axis:
            return Cut(item.axis, [(c, d, self._part(v, axis, a, b)) for c, d, v in item.parts])
        parts = [
            (max(a, c) - a, min(b, d) - a, self._part(v, axis, max(a, c) - c, min(b, d) - c))
            for c, d, v in item.parts
            if c < b and a < d
        ]
        return parts[0][2] if len(parts) == 1 else Cut(axis, parts)

    def _viewed(self, x: Value, axis: int, a: int, b: int) -> Value:
        if (a, b) == (0, x.shape[axis]):
            return x
        s = self.made.get(x)
        if s is not None and s.function is full:
            return self._call(full, (*x.shape[:axis], b - a, *x.shape[axis + 1 :]), *s.args[1:])
        return self._call(view, x, along(x.shape, axis, slice(a, b, 1)))

    def _map(self, s: Statement, operands: list[Any]) -> Item:
        """A statement's result for operands in parts."""
        axes = [x.axis for x in operands if isinstance(x, Cut)]
        if not axes:
            return self._call(s.function, *operands)
        axis, rank = axes[0], len(s.output.shape)
        cuts = [x for x in operands if isinstance(x, Cut) and x.axis == axis]
        edges = sorted({edge for x in cuts for a, b, _ in x.parts for edge in (a, b)})
        parts: list[tuple[int, int, Item]] = []
        for a, b in itertools.pairwise(edges):
            own = [self._of_operand(x, axis, a, b, rank) for x in operands]
            parts.append((a, b, self._map(s, own)))
        return Cut(axis, parts)

    def _of_operand(self, x: Any, axis: int, a: int, b: int, rank: int) -> Any:
        """Of what is broadcast to an array of a rank."""
        if isinstance(x, Cut):
            return self._part(x, axis, a, b)
        own = own_axis(x, axis, rank)
        return x if own is None else self._viewed(x, own, a, b)

    # ---- whole arrays ---------------------------------------------------------------------------

    def _known(self, x: Any) -> Any:
        return self.by.get(x, x) if type(x) is Value else x

    def _whole(self, value: Value) -> Value:
        if value not in self.by and value in self.cuts:
            self.by[value] = self._together(self.cuts[value])
        return self.by.get(value, value)

    def _together(self, item: Item) -> Value:
        if not isinstance(item, Cut):
            return item
        parts = [self._together(v) for _, _, v in item.parts]
        if len(parts) == 1:
            return parts[0]
        return self._call(np.concatenate, tuple(parts), axis=item.axis)

    def _call(self, function: Any, *args: Any, **kwargs: Any) -> Value:
        value = self.calls(function, *args, **kwargs)
        self.made[value] = self.statements[-1]
        return value


def _edges(item: Item, edges: dict[int, set[int]]) -> None:
    """Where parts begin along each axis."""
    if isinstance(item, Cut):
        for a, _, v in item.parts:
            edges.setdefault(item.axis, set()).add(a)
            _edges(v, edges)
