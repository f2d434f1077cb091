"""The plan: what the machine does, step by step, and where in memory each array lies.

`planner.py` makes it of a program, a back end makes one native function of it: see `Table`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wengert.compile.plan.kernel import Kernel
from wengert.compile.program.program import Statement, Value


@dataclass(frozen=True, slots=True, repr=False)
class Place:
    """Where an array's memory begins: `offset` bytes into an input's, an output's, a constant's
    memory, or the arena's.

    `kind` is "input", "output", "constant" or "arena"; `number` counts the inputs, the outputs or
    the constants of the plan (0 for the arena).
    """

    kind: str
    number: int
    offset: int = 0

    def after(self, count: int) -> Place:
        """The place so many bytes further on."""
        return Place(self.kind, self.number, self.offset + count)

    def __repr__(self) -> str:
        """Short: the texts that code is kept under hold thousands."""
        return f"{self.kind} {self.number} + {self.offset}"


_spelled = functools.cache(repr)  # NumPy takes microseconds to spell a dtype


@dataclass(frozen=True, slots=True, repr=False)
class Layout:
    """An array in memory: a place, and strides in elements (0 where it is repeated)."""

    place: Place
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype

    def __repr__(self) -> str:
        return f"{self.place} {self.shape} by {self.strides} of {_spelled(self.dtype)}"


@dataclass(slots=True)
class Loops:
    """Run a kernel on these places, one per buffer of the kernel."""

    kernel: Kernel
    places: tuple[Place, ...]
    statements: list[Statement] = field(default_factory=list)

    @property
    def written(self) -> list[Place]:
        return [self.places[number] for number in self.kernel.written]


@dataclass(slots=True)
class Multiply:
    """out = a @ b, over broadcast leading dimensions; `add` accumulates into out instead.

    All have two dimensions or more; any strides (one of the last two is 1 where BLAS is to be used,
    which the planner sees to). `out` has the broadcast shape.
    """

    a: Layout
    b: Layout
    out: Layout
    add: bool = False
    statements: list[Statement] = field(default_factory=list)

    @property
    def places(self) -> tuple[Place, ...]:
        return self.a.place, self.b.place, self.out.place

    @property
    def written(self) -> list[Place]:
        return [self.out.place]


@dataclass(slots=True)
class Call:
    """Call a function in Python, on arrays that lie in these places: what has no loops of its own.

    `inputs` tell where the values among the statement's arguments are; the results are copied to
    `outputs`. A check is called, to raise its error, if the first of them, a truth value, is false.
    A loop or a choice is no call of Python: the back end runs the plans of its `bodies`.
    """

    statement: Statement
    inputs: dict[Value, Layout]
    outputs: tuple[Layout, ...]
    bodies: tuple[Plan, ...] = ()

    @property
    def arrays(self) -> list[Layout]:
        """What it reads and writes, in the order in which its code receives the addresses."""
        return [*self.inputs.values(), *self.outputs]

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(layout.place for layout in self.arrays)

    @property
    def written(self) -> list[Place]:
        return [layout.place for layout in self.outputs]


Step = Loops | Multiply | Call
"""Each tells the `places` that it touches, and which of those are `written`."""


@dataclass(slots=True)
class Plan:
    """All steps, in order; `arena` is the size of the shared working memory in bytes.

    `constants` are arrays that the plan reads and nobody writes. A weak input (a Python number) is
    handed over as a float64, int64 or bool of its dtype in memory like any other input.
    """

    steps: list[Step]
    arena: int
    constants: list[Any]
    inputs: list[Value]
    outputs: list[Value]


def numbered(plan: Plan, first: int = 0) -> Iterator[tuple[int, Step, list[int]]]:
    """All steps with their numbers, and those of the first steps of the bodies that a step has.

    Those of a plan come first, then those of the bodies in it.
    """
    after = first + len(plan.steps)
    bodies = []
    for number, step in enumerate(plan.steps, first):
        begins = []
        for body in step.bodies if isinstance(step, Call) else ():
            begins.append(after)
            inside = list(numbered(body, after))
            bodies += inside
            after += len(inside)
        yield number, step, begins
    yield from bodies


# ---- how its code is called ----------------------------------------------------------------------

# A plan becomes a function `int32 body(void **buffers)`. `buffers` is a table of addresses: inputs,
# outputs, constants, the arena, the Python object that `Call` steps call, and counters. The result
# is 0, or -1 with a Python exception set. The caller holds the interpreter's lock throughout if
# steps call Python.


@dataclass(frozen=True, slots=True)
class Table:
    """Which entry of the table of addresses is what."""

    inputs: int
    outputs: int
    constants: int

    @staticmethod
    def of(plan: Plan) -> Table:
        return Table(len(plan.inputs), len(plan.outputs), len(plan.constants))

    def input(self, number: int) -> int:
        return number

    def output(self, number: int) -> int:
        return self.inputs + number

    def constant(self, number: int) -> int:
        return self.inputs + self.outputs + number

    @property
    def arena(self) -> int:
        return self.inputs + self.outputs + self.constants

    @property
    def callback(self) -> int:
        """The object called for `Call` steps: `callback(step number, addresses as bytes)`."""
        return self.arena + 1

    @property
    def counters(self) -> int:
        """Of a timed body: room for the processor's clock before each step and at the end."""
        return self.arena + 2

    @property
    def size(self) -> int:
        return self.arena + 3

    def slot(self, place: Place) -> int:
        """The entry that a place is relative to."""
        if place.kind == "arena":
            return self.arena
        if place.kind == "input":
            return self.input(place.number)
        return (self.output if place.kind == "output" else self.constant)(place.number)
