"""An entry: the Python callable of a compiled function, described as data.

An entry checks that its call is one that the machine code was made for, hands the addresses of all
arrays to it, and wraps what it leaves. Whatever it does not expect it leaves to `slow`, which is
called with the same arguments, before anything was written. `entries.py` makes the fastest kind
there is. `trace/world/places.py` has the words for all that is read, checked and written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wengert.compile.call.derivative import Recording
from wengert.compile.trace.arguments import Spread
from wengert.compile.trace.parts import Part
from wengert.compile.trace.world.places import (
    Aliasing,
    Argument,
    Array,
    Guard,
    Input,
    Number,
    Output,
    Place,
    Write,
)
from wengert.tensor import Tensor

KEPT = 2
"""Two arrays: in `y = f(x)` the old y lives until the call returns."""

LARGE = 1 << 18
"""Bytes from which on an output's memory is used again."""


def nothing(*_: Any) -> None:
    """What an entry calls where nothing need be done."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """What a call makes of a base that it has found or made: `of` that, in Python.

    Machine code makes a `part` by itself, if the base is no view, and its writes are counted.
    `view` has what the history of one holds: what makes it again, and why it may not be written.
    """

    base: Output | Piece | Place
    of: Callable[[Any], Any]
    part: Part | None = None
    node: Any = None
    view: tuple[Any, Any] = (None, None)


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """All that a call does. `body` is the address of `i32 body(i8** buffers)`.

    The body returns 0, or -1 having set a Python exception. `calls` says that it runs Python code,
    or lets other threads run. `wrote(tensor, writes)` is called for each Tensor that was written,
    unless its cell is a `SharedCell`: in those an entry counts by itself. A call returns the one of
    `results`, or a tuple of them if `many`; with `rebuild`, what that makes of it.

    Each of the outputs goes into fresh memory: an array, or one in a fresh Tensor, or a number. An
    entry keeps the last `KEPT` large arrays that it gave out for an output, as long as it lives,
    and gives one out again if nobody else can see it any more: the pages of fresh memory cost as
    much as writing them. An output that a gradient is to hold takes the memory of the gradient
    before, if nobody else can see that; it is no result.
    """

    body: int
    buffers: int
    slow: Callable[..., Any]
    wrote: Callable[[Tensor, int], Any] = nothing
    spread: Spread = Spread(0)  # noqa: RUF009  (it is frozen)
    """Where a call's arguments are found: `Argument(n)` is what the slot n of them has."""
    guards: tuple[Guard, ...] = ()
    inputs: tuple[Input, ...] = ()
    aliasing: tuple[Aliasing, ...] | None = ()
    """Inputs that lie where an earlier one does. All others begin elsewhere: see `regions`. None
    where nothing is written, and it does not matter."""
    fixed: tuple[tuple[int, int, Any], ...] = ()
    """Buffers that lie at an address as long as something lives: the arena, a constant."""
    outputs: tuple[Array | Number, ...] = ()
    writes: tuple[Write, ...] = ()
    pieces: tuple[Piece, ...] = ()
    recording: Recording | None = None
    """The history that results get; its edges are places, the rest is found as results are."""
    settled: Argument | None = None
    """A node: the outputs become the gradients of the leaves that it was made from, which must have
    none yet, nor hooks, and lie as the outputs do."""
    results: tuple[Output | Piece | Place, ...] = ()
    many: bool = False
    rebuild: Callable[[Any], Any] | None = None
    calls: bool = False
    supposes: bool = False
    """Whether the body leaves a call to `slow`, by raising Otherwise, before it writes anything."""
    failed: Callable[..., Any] | None = None
    """What is called instead where the body raises any other Exception but MemoryError: nothing is
    written then."""
    name: str = "compiled"
    keep: Any = None  # lives as long as the entry: the `Code` of the body


def keeps(output: Array) -> bool:
    """Whether an output's memory is used again."""
    return output.nbytes >= LARGE


# ---- which memory may not meet -------------------------------------------------------------


@dataclass(slots=True)
class Region:
    """Memory from where a buffer lies on."""

    buffer: int
    nbytes: int
    written: bool


def regions(entry: Entry) -> list[Region]:
    """Memory that inputs lie in: each begins elsewhere, and none overlaps with a written one."""
    memory: dict[Place, Region] = {}
    if entry.aliasing is None:
        return []
    first = {a.second: a.first for a in entry.aliasing}
    for place, form in ((i.place, i.form) for i in entry.inputs):
        if isinstance(form, Array) and form.nbytes:
            region = memory.setdefault(
                first.get(place, place), Region(form.buffer, form.nbytes, form.written)
            )
            region.nbytes = max(region.nbytes, form.nbytes)
            region.written |= form.written
    return list(memory.values())
