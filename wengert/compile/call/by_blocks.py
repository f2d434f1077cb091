"""Machine code for eager mode: one function on blocks of rows, whatever the number of rows.

`rules/blocks.py` says which functions, and of which arrays; of recurrent layers, a block is one
time. They are traced and planned as those of `wengert.compile` are. What is made is kept: by the
function, the shapes of a block, and the dtypes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compile.call.executable import aligned, executable
from wengert.compile.program.passes import clean
from wengert.compile.trace.array import Trace, TracedArray
from wengert.compile.trace.storage import Storage
from wengert.dispatch import Function

Kind = tuple[tuple[int, ...], np.dtype[Any]]


def code(
    function: Function,
    step: int,
    blocks: Sequence[np.ndarray[Any, Any]],
    shared: Sequence[np.ndarray[Any, Any]] = (),
    settings: tuple[Any, ...] = (),
) -> Any:
    """`function(*blocks, *shared, *settings)`, computed `step` rows of `blocks` at a time.

    All arrays are contiguous; the blocks have equally many rows, `step` at least. Where a result of
    a block has fewer rows than the block, sums of it, `step` must divide the number of rows.
    None if the function has been compiled for `LIMIT` other kinds of blocks.
    """
    key = _kinds(step, blocks, shared, settings)
    if key not in _made.get(function, ()) and len(_made.get(function, ())) >= LIMIT:
        return None
    return made(function, step, blocks, shared, settings).run(blocks, shared)


LIMIT = 32
"""So many kinds of blocks a function may have: rows of ever new lengths are not worth compiling."""


def in_turn(
    outs: Any, function: Function, step: int, blocks: Any, shared: Any, starts: Sequence[int]
) -> None:
    """Write the results of the blocks that begin at the rows `starts`, in this order."""
    made(function, step, blocks, shared).run_into(outs, blocks, shared, starts)


def made(
    function: Function,
    step: int,
    blocks: Sequence[np.ndarray[Any, Any]],
    shared: Sequence[np.ndarray[Any, Any]] = (),
    settings: tuple[Any, ...] = (),
) -> Blocks:
    """The code itself, for arrays such as these."""
    codes = _made.setdefault(function, {})
    key = _kinds(step, blocks, shared, settings)
    if key not in codes:
        codes[key] = Blocks(function, *key)
    return codes[key]


def _kinds(step: int, blocks: Any, shared: Any, settings: tuple[Any, ...]) -> Any:
    kinds = tuple([((step, *x.shape[1:]), x.dtype) for x in blocks])
    return kinds, tuple([(x.shape, x.dtype) for x in shared]), settings


class Blocks:
    """The code of one function for blocks of `step` rows."""

    def __init__(
        self,
        function: Function,
        blocks: tuple[Kind, ...],
        shared: tuple[Kind, ...],
        settings: tuple[Any, ...],
    ) -> None:
        trace = Trace()
        values = [trace.program.input(*kind, f"x{i}") for i, kind in enumerate(blocks + shared)]
        result = function(*[TracedArray(trace, Storage(v, v), ()) for v in values], *settings)
        self.several = type(result) is tuple
        trace.program.outputs = [x.value for x in (result if self.several else (result,))]
        self.step = blocks[0][0][0]
        self.executable = executable(clean(trace.program))
        assert not self.executable.calls, f"{function} holds a step without machine code"
        # Unlike an executable that may run Python, this one lets other threads run meanwhile.
        self.native = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self.executable.body)

    def run(self, blocks: Any, shared: Any) -> Any:
        """Fresh results. The last block begins early enough to be a whole one."""
        rows, step = len(blocks[0]), self.step
        made = self.executable.plan.outputs
        outs = [np.empty((rows * v.shape[0] // step, *v.shape[1:]), v.dtype) for v in made]
        starts = [min(start, rows - step) for start in range(0, rows, step)]
        self.run_into(outs, blocks, shared, starts)
        return tuple(outs) if self.several else outs[0]

    def run_into(self, outs: Any, blocks: Any, shared: Any, starts: Sequence[int]) -> None:
        """Write the results of the blocks that begin at the rows `starts`, in this order.

        `outs` may overlap with `blocks`: what one block has written, those after it read.
        """
        executable, slots = self.executable, self.executable.table
        arena = aligned(executable.plan.arena)
        first = np.array(starts, np.intp)
        tables = np.zeros((first.size, slots.size), np.intp)  # of addresses, one for each block
        for slot, address, _ in executable.shared():
            tables[:, slot] = address
        tables[:, slots.arena] = arena.ctypes.data
        for number, x in enumerate(shared, len(blocks)):
            tables[:, slots.input(number)] = x.ctypes.data
        for number, x in enumerate(blocks):
            tables[:, slots.input(number)] = x.ctypes.data + first * x.strides[0]
        for number, (x, v) in enumerate(zip(outs, executable.plan.outputs, strict=True)):
            tables[:, slots.output(number)] = x.ctypes.data + first * v.nbytes // self.step
        where, size = tables.ctypes.data, tables.strides[0]
        for number in range(first.size):
            self.native(where + number * size)


_made: dict[Function, dict[Any, Blocks]] = {}
