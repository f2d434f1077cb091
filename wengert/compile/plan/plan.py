"""The plan: what the machine does, step by step, and where in memory each array lies.

`fuse.py` makes it of a program; `llvm/body.py` makes one native function of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wengert.compile.plan.kernel import Kernel
from wengert.compile.program.program import Statement, Value


@dataclass(frozen=True, slots=True)
class Place:
    """Where an array's memory begins: `offset` bytes into an input's, an output's, a constant's
    memory, or the arena's.

    `kind` is "input", "output", "constant" or "arena"; `number` counts the inputs, the outputs or
    the constants of the plan (0 for the arena).
    """

    kind: str
    number: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """An array in memory: a place, and strides in elements (0 where it is repeated)."""

    place: Place
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype


@dataclass(slots=True)
class Loops:
    """Run a kernel on these places, one per buffer of the kernel."""

    kernel: Kernel
    places: tuple[Place, ...]
    statements: list[Statement] = field(default_factory=list)


@dataclass(slots=True)
class Multiply:
    """out = a @ b, over broadcast leading dimensions; `add` accumulates into out instead.

    All have two dimensions or more; any strides (one of the last two is 1 where BLAS is to be used,
    which `fuse.py` sees to). `out` has the broadcast shape.
    """

    a: Layout
    b: Layout
    out: Layout
    add: bool = False
    statements: list[Statement] = field(default_factory=list)


@dataclass(slots=True)
class Call:
    """Call a function in Python, on arrays that lie in these places: what has no loops of its own.

    `inputs` tell where the values among the statement's arguments are; the results are copied to
    `outputs`.
    """

    statement: Statement
    inputs: dict[Value, Layout]
    outputs: tuple[Layout, ...]


Step = Loops | Multiply | Call


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
