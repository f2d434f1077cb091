"""Machine code for eager mode: one function on blocks of rows, whatever the number of rows.

`rules/blocks.py` says which functions, and of which arrays; of recurrent layers, a block is one
time. They are traced and planned as those of `wengert.compile` are. What is made is kept: by the
function, the shapes of a block, and the dtypes.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compile.call.executable import aligned, executable
from wengert.compile.call.layouts import DATA
from wengert.compile.program.passes import clean
from wengert.compile.trace.array import Trace, TracedArray
from wengert.compile.trace.storage import Storage
from wengert.dispatch import Function

Ints = np.ndarray[Any, np.dtype[np.intp]]
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
    None if the function has a step without machine code, or has been compiled for `LIMIT` other
    kinds of blocks.
    """
    codes, key = _made.get(function), _key(step, blocks, shared, settings)
    if codes is None:
        codes = _made.setdefault(function, {})
    if key in codes:
        known = codes[key]
    else:
        known = None if len(codes) >= LIMIT else _made_by(codes, key, function, settings)
    return known and known.run(blocks, shared)


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
    key = _key(step, blocks, shared, settings)
    known = _made_by(_made.setdefault(function, {}), key, function, settings)
    assert known, f"{function} holds a step without machine code"
    return known


def _made_by(codes: Any, key: Any, function: Function, settings: tuple[Any, ...]) -> Blocks | None:
    if key not in codes:
        made = Blocks(function, key[0], key[1], settings)
        codes[key] = None if made.executable.calls else made
    return codes[key]


def _key(step: int, blocks: Any, shared: Any, settings: tuple[Any, ...]) -> Any:
    kinds = tuple([((step, *x.shape[1:]), x.dtype) for x in blocks])
    # Numbers as text, since 1 is True and 0.0 is -0.0.
    chosen = tuple([x if isinstance(x, np.dtype) else repr(x) for x in settings])
    return kinds, tuple([(x.shape, x.dtype) for x in shared]), chosen


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
        # Unlike an executable that may run Python, this one lets other threads run meanwhile.
        self.native = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self.executable.body)
        self.addresses, self.sizes = self._table(len(blocks))
        self.offsets = functools.lru_cache(16)(self._offsets)

    def _table(self, blocks: int) -> tuple[Ints, Ints]:
        """The addresses that all calls share, and the bytes of a block of each array in blocks."""
        slots, plan = self.executable.table, self.executable.plan
        addresses, sizes = np.zeros((2, slots.size), np.intp)
        for slot, address, _ in self.executable.shared():
            addresses[slot] = address
        sizes[:blocks] = [v.nbytes for v in plan.inputs[:blocks]]
        sizes[slots.inputs : slots.inputs + slots.outputs] = [v.nbytes for v in plan.outputs]
        return addresses, sizes

    def run(self, blocks: Any, shared: Any) -> Any:
        """Fresh results. The last block begins early enough to be a whole one."""
        rows, step = len(blocks[0]), self.step
        made = self.executable.plan.outputs
        outs = [np.empty((rows * v.shape[0] // step, *v.shape[1:]), v.dtype) for v in made]
        self._run((*blocks, *shared, *outs), self.offsets(rows))
        return tuple(outs) if self.several else outs[0]

    def run_into(self, outs: Any, blocks: Any, shared: Any, starts: Sequence[int]) -> None:
        """Write the results of the blocks that begin at the rows `starts`, in this order.

        `outs` may overlap with `blocks`: what one block has written, those after it read.
        """
        self._run((*blocks, *shared, *outs), self._from(starts))

    def _offsets(self, rows: int) -> Ints:
        starts = [min(start, rows - self.step) for start in range(0, rows, self.step)]
        return self._from(starts)

    def _from(self, starts: Sequence[int]) -> Ints:
        return np.multiply.outer(starts, self.sizes) // self.step

    def _run(self, arrays: tuple[Any, ...], offsets: Ints) -> None:
        addresses = self.addresses.copy()
        for slot, x in enumerate(arrays):
            addresses[slot] = _address(x)
        if size := self.executable.plan.arena:
            arena = aligned(size)  # of this call alone
            addresses[self.executable.table.arena] = _address(arena)
        tables = addresses + offsets
        where, native = _address(tables), self.native
        for table in range(where, where + tables.nbytes, tables.strides[0]):
            native(table)


def _address(x: np.ndarray[Any, Any]) -> int:
    """x.ctypes.data, in a fraction of its time where arrays are laid out as is known."""
    return ctypes.c_int64.from_address(id(x) + DATA).value if _KNOWN else x.ctypes.data


_PROBE = np.empty(1)
_KNOWN = (
    sys.implementation.name == "cpython"
    and ctypes.c_int64.from_address(id(_PROBE) + DATA).value == _PROBE.ctypes.data
)


_made: dict[Function, dict[Any, Blocks | None]] = {}
