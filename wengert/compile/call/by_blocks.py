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
from llvmlite import ir

from wengert.compile.call.entry.layouts import DATA
from wengert.compile.call.executable import aligned, executable
from wengert.compile.llvm.machine import functions
from wengert.compile.llvm.machine.control import counting
from wengert.compile.llvm.machine.host import compile_text
from wengert.compile.llvm.machine.values import I32, I64, POINTER, VOID
from wengert.compile.program.passes import clean
from wengert.compile.trace.arrays.array import Trace, TracedArray
from wengert.compile.trace.arrays.storage import Storage
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
    known = kept(function, step, blocks, shared, settings)
    return known and known.run(blocks, shared)


def kept(function: Function, step: int, blocks: Any, shared: Any, settings: Any) -> Blocks | None:
    """The code for arrays such as these, if there may be any: see `code`."""
    codes, key = _made.get(function), _key(step, blocks, shared, settings)
    if codes is None:
        codes = _made.setdefault(function, {})
    if key in codes:
        return codes[key]
    return None if len(codes) >= LIMIT else _made_by(codes, key, function, settings)


LIMIT = 32
"""So many kinds of blocks a function may have: rows of ever new lengths are not worth compiling."""


def in_turn(
    outs: Any, function: Function, step: int, blocks: Any, shared: Any, starts: Sequence[int]
) -> None:
    """Write the results of the blocks that begin at the rows `starts`, in this order."""
    blocks_of(function, step, blocks, shared).run_into(outs, blocks, shared, starts)


def blocks_of(
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
        step, blocks, shared, _ = key
        code = Blocks(function, tuple([((step, *s), d) for s, d in blocks]), shared, settings)
        codes[key] = None if code.executable.calls else code
    return codes[key]


def _key(step: int, blocks: Any, shared: Any, settings: tuple[Any, ...]) -> Any:
    kinds = tuple([(x.shape[1:], x.dtype) for x in blocks])
    # Numbers as text, since 1 is True and 0.0 is -0.0; floats that equal no others are themselves.
    chosen = tuple([x if _is_itself(x) else repr(x) for x in settings])
    return step, kinds, tuple([(x.shape, x.dtype) for x in shared]), chosen


def _is_itself(x: Any) -> bool:
    return x - x == 0 != x if type(x) is float else isinstance(x, np.dtype)


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
        self.arena = self.executable.plan.arena
        self.drive = driver(len(values) + len(self.executable.plan.outputs))
        self.facts = self._facts(len(blocks))
        self.where = _address(self.facts)
        self.places = functools.lru_cache(16)(self._places)

    def _facts(self, blocks: int) -> Ints:
        """What `driver` reads: see there."""
        slots, plan = self.executable.table, self.executable.plan
        addresses = np.zeros(slots.size, np.intp)
        for slot, address, _ in self.executable.shared():
            addresses[slot] = address
        sizes = [v.nbytes if i < blocks else 0 for i, v in enumerate(plan.inputs)]
        sizes += [v.nbytes for v in plan.outputs]
        facts = self.executable.body, slots.size, slots.arena, self.step
        return np.array([*facts, *sizes, *addresses], np.intp)

    def run(self, blocks: Any, shared: Any) -> Any:
        """Fresh results. The last block begins early enough to be a whole one."""
        kinds, count, where, _ = self.places(len(blocks[0]))
        outs = [np.empty(*kind) for kind in kinds]
        self._run((*blocks, *shared, *outs), count, where)
        return tuple(outs) if self.several else outs[0]

    def run_into(self, outs: Any, blocks: Any, shared: Any, starts: Sequence[int]) -> None:
        """Write the results of the blocks that begin at the rows `starts`, in this order.

        `outs` may overlap with `blocks`: what one block has written, those after it read.
        """
        places = np.array(starts, np.intp)
        self._run((*blocks, *shared, *outs), len(places), _address(places))

    def _places(self, rows: int) -> tuple[list[Kind], int, int, Ints]:
        """The results' shapes and dtypes; how many blocks, and the address of where they begin."""
        step, results = self.step, self.executable.plan.outputs
        starts = [min(start, rows - step) for start in range(0, rows, step)]
        kinds = [((rows * v.shape[0] // step, *v.shape[1:]), v.dtype) for v in results]
        places = np.array(starts, np.intp)
        return kinds, len(starts), _address(places), places

    def _run(self, arrays: tuple[Any, ...], count: int, starts: int) -> None:
        addresses = [_address(x) for x in arrays]
        if not self.arena:
            self.drive(self.where, starts, count, 0, *addresses)
        else:
            arena = aligned(self.arena)  # of this call alone
            self.drive(self.where, starts, count, _address(arena), *addresses)


FACTS = 4
"""How many facts stand before the arrays' bytes."""


@functools.cache
def driver(count: int) -> Any:
    """`drive(facts, starts, blocks, arena, *arrays)`: the body of each block, with its addresses.

    `facts` are whole numbers: the body's address, how many addresses its table has, which of them
    is the arena's, the rows of a block; then the bytes of a block of each of the `count` arrays,
    which come first in the table; then the table, as it is in all calls.
    """

    def write() -> ir.Module:
        module = ir.Module("blocks")
        function = functions.Function(module, ir.FunctionType(VOID, [I64] * (4 + count)), "drive")
        build = ir.IRBuilder(function.append_basic_block())
        facts, starts, blocks, arena, *arrays = function.args

        def at(address: Any, place: Any) -> Any:
            return build.gep(build.inttoptr(address, POINTER), [place], source_etype=I64)

        def fact(place: Any) -> Any:
            return build.load(at(facts, place), typ=I64)

        slots, step = fact(I64(1)), fact(I64(3))
        table = build.alloca(I64, slots)
        entries = build.ptrtoint(table, I64)
        with counting(build, I64(0), slots) as slot:
            build.store(fact(build.add(slot, I64(FACTS + count))), at(entries, slot))
        build.store(arena, at(entries, fact(I64(2))))
        body = build.inttoptr(fact(I64(0)), ir.FunctionType(I32, [I64]).as_pointer())
        sizes = [fact(I64(FACTS + slot)) for slot in range(count)]
        with counting(build, I64(0), blocks) as block:
            start = build.load(at(starts, block), typ=I64)
            for slot, (array, size) in enumerate(zip(arrays, sizes, strict=True)):
                before = build.sdiv(build.mul(start, size), step)
                build.store(build.add(array, before), at(entries, I64(slot)))
            build.call(body, [entries])
        build.ret_void()
        return module

    text = compile_text(f"blocks of {count}", write, "blocks")
    types = [ctypes.c_int64] * (4 + count)
    # Unlike an executable that may run Python, this one lets other threads run meanwhile.
    drive: Any = ctypes.CFUNCTYPE(None, *types)(text.address("drive"))
    drive.made = text  # the code lives as long as this does
    return drive


def _address(x: np.ndarray[Any, Any]) -> int:
    """x.ctypes.data, in a fraction of its time where arrays are laid out as is known."""
    return ctypes.c_int64.from_address(id(x) + DATA).value if _KNOWN else x.ctypes.data


_PROBE = np.empty(1)
_KNOWN = (
    sys.implementation.name == "cpython"
    and ctypes.c_int64.from_address(id(_PROBE) + DATA).value == _PROBE.ctypes.data
)


_made: dict[Function, dict[Any, Blocks | None]] = {}
