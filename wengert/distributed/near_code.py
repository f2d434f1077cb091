"""The machine code of a ring: parts of a block are written, waited for and combined in one call.

    turn(block, may, spins)     go on with a block, as far as it can be (`Turn`)
    begin(self, tensor)         a method of Python's: go on with a block that is a tensor, in place
    end(self)                   wait a moment until it is done (`Entered`, both)

All read tables of words: that of the ring, `Words`, and that of a block, `Blocks`. Parts are
combined by the loop of NumPy's own that `np.add` and its like have for a dtype, so that they are
as NumPy would make them.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from wengert.compile.call.entry import layouts
from wengert.compile.llvm.machine.control import counting, rounds
from wengert.compile.llvm.machine.functions import call, declare
from wengert.compile.llvm.machine.host import Code, Method, compile_module
from wengert.compile.llvm.machine.memory import prefetch
from wengert.compile.llvm.machine.values import I32, I64, POINTER, VOID
from wengert.distributed.board import COUNTS, FACTOR, KEPT, LINE, READ_COUNT
from wengert.tensor import Tensor

WRITES, READS = 1, 2
"""What a turn may do."""
FETCHED = 2**12
"""So many bytes are taken from other caches ahead, while others are waited for."""


class Words(enum.IntEnum):
    """The words of a ring's table."""

    SIZE, ROWS, ROW, DATA, SLOT, SLOTS = range(6)  # addresses, bytes, and how many
    MINE, WRITTEN, READ, FREE, READY = range(6, 11)  # see `Ring`
    OTHER, THEIRS = 11, 12  # the rank at another operation, and the number of that
    BUSY, OPEN = 13, 14  # whether blocks are under way; that which `begin` has opened
    RANK, SPINS = 15, 16


class Blocks(enum.IntEnum):
    """The words of a block's table."""

    RING, NUMBER, SOURCE, TARGET, PARTS, STEP, LAST, ITEM = range(8)  # bytes, of an element last
    LOOP, LOOPS_DATA, PUT, GOT = range(8, 12)
    BOARD, ARRAY = 12, 13  # for `begin`, as what follows: what it takes
    TENSOR, NONE, TYPE, DTYPE, NDIM, DIMENSIONS = range(14, 20)  # as many words as dimensions


class Turn(enum.IntEnum):
    LEFT, DONE, DIFFERS = range(3)


class Entered(enum.IntEnum):
    """What came of a block: nothing was begun, it is open, or done."""

    NOT, LEFT, DONE = range(3)


# ---- NumPy's loops ------------------------------------------------------------------------------


class _Function(ctypes.Structure):
    """What begins NumPy's PyUFuncObject, by its header ufuncobject.h."""

    _fields_ = (
        ("head", ctypes.c_byte * object.__basicsize__),
        *((name, ctypes.c_int) for name in ("inputs", "outputs", "arguments", "identity")),
        ("loops", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("count", ctypes.c_int),
    )


_LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


@functools.cache
def loop(function: np.ufunc, dtype: Any) -> tuple[int, int] | None:
    """The address of the loop by which two arrays of a dtype are combined, and of its data.

    None if NumPy has none, or does not keep it where its header says.
    """
    form = f"{dtype.char * 2}->{dtype.char}"
    if sys.implementation.name != "cpython" or form not in function.types or not dtype.isnative:
        return None
    known = _Function.from_address(id(function))
    counts = known.inputs, known.outputs, known.arguments, known.count
    if counts != (2, 1, 3, len(function.types)) or dtype.hasobject:
        return None
    place = function.types.index(form)
    addresses = int(known.loops[place] or 0), int(known.data[place] or 0)
    return addresses if addresses[0] and _combines(addresses, function, dtype) else None


def _combines(addresses: tuple[int, int], function: np.ufunc, dtype: Any) -> bool:
    """Whether a loop does as its function does."""
    x = np.ones((3, 5), dtype)
    places = (ctypes.c_void_p * 3)(*[row.ctypes.data for row in x])
    counts = (ctypes.c_ssize_t * 1)(5)
    steps = (ctypes.c_ssize_t * 3)(*[dtype.itemsize] * 3)
    x[1] += np.ones((), dtype)
    _LOOP(addresses[0])(places, counts, steps, addresses[1])
    return np.array_equal(x[2], function(x[0], x[1]))


# ---- Python's side ------------------------------------------------------------------------------

_WHOLE = layouts.C_CONTIGUOUS | layouts.ALIGNED | layouts.WRITEABLE
"""The flags of an array in one piece, aligned, that may be written."""
_ONE_ARGUMENT, _NO_ARGUMENT = 0x0008, 0x0004  # METH_O, METH_NOARGS


@functools.cache
def code() -> Code:
    module = ir.Module("ring")
    turn = _turn(module)
    if (known := _known()) is not None:
        _begin(module, turn, known)
        _end(module, turn)
    return compile_module(module, "ring")


def _known() -> layouts.Layouts | None:
    """Where tensors and arrays keep what they have, if that can be made out."""
    try:
        return layouts.layouts()
    except layouts.LayoutError:
        return None


@functools.cache
def turn() -> Callable[[int, int, int], int]:
    """`turn(block, may, spins)`; other threads run meanwhile."""
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return prototype(code().address("turn"))


class AtOnce(NamedTuple):
    """How one operation combines arrays: what `begin` has begun, `end` ends, in the same thread.

    In between the others may come.
    """

    begin: Callable[[Any], int]
    end: Callable[[], int]

    @property
    def words(self) -> Any:
        """The block's table."""
        return self.begin.__self__  # type: ignore[attr-defined]


@functools.cache
def _methods() -> tuple[Method, Method]:
    address = code().address
    return (
        Method(b"begin", address("begin"), _ONE_ARGUMENT, None),
        Method(b"end", address("end"), _NO_ARGUMENT, None),
    )


def at_once(words: np.ndarray[Any, Any], dtype: Any) -> AtOnce | None:
    """The methods of a block's table that combine a tensor, where they can be called so."""
    if _known() is None:
        return None
    words[Blocks.TENSOR], words[Blocks.NONE] = id(Tensor), id(None)
    words[Blocks.TYPE] = id(np.ndarray)
    words[Blocks.DTYPE] = id(dtype)
    words[Blocks.NDIM] = len(words) - Blocks.DIMENSIONS
    return AtOnce(*[method.of(words) for method in _methods()])


def taken(words: np.ndarray[Any, Any]) -> Any:
    """The array that `begin` has left open, which it had kept."""
    array = ctypes.cast(int(words[Blocks.ARRAY]), ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(array))
    return array


# ---- the machine code ---------------------------------------------------------------------------


class _Table:
    """A table of words at an address."""

    def __init__(self, b: ir.IRBuilder, address: Any) -> None:
        self.b = b
        self.address = address

    def at(self, word: int) -> Any:
        return _place(self.b, self.address, I64(8 * word))

    def get(self, word: int) -> Any:
        return self.b.load(self.at(word), typ=I64, align=8)

    def put(self, word: int, value: Any) -> None:
        self.b.store(value if isinstance(value, ir.Value) else I64(value), self.at(word), align=8)


_WORD = I64.as_pointer()  # llvmlite's atomic operations ask for what is there


def _place(b: ir.IRBuilder, address: Any, offset: Any, kind: ir.Type = POINTER) -> Any:
    """A pointer so many bytes behind an address, which is a number."""
    return b.inttoptr(b.add(address, offset), kind)


def _turn(module: ir.Module) -> ir.Function:
    function = ir.Function(module, ir.FunctionType(I32, [I64, I64, I64]), "turn")
    function.attributes.add("nounwind")
    _Turn(function).write()
    return function


class _Turn:
    """`i32 turn(block, may, spins)`"""

    def __init__(self, function: ir.Function) -> None:
        self.b = b = ir.IRBuilder(function.append_basic_block("entry"))
        block, self.may, self.spins = function.args
        self.block = _Table(b, block)
        self.ring = _Table(b, self.block.get(Blocks.RING))
        self.size = self.ring.get(Words.SIZE)
        self.rank = self.ring.get(Words.RANK)
        self.mine = self.ring.get(Words.MINE)
        self.parts = self.block.get(Blocks.PARTS)
        self.number = self.block.get(Blocks.NUMBER)
        self.moved, self.patience = b.alloca(I64), b.alloca(I64)
        self.places, self.count, self.steps = (self._table(n) for n in (3, 1, 3))
        item = self.block.get(Blocks.ITEM)
        for k in range(3):
            self._entry(self.steps, k, item)

    def write(self) -> None:
        b = self.b
        b.store(self.spins, self.patience)
        with rounds(b, []) as (_, again):
            b.store(I64(0), self.moved)
            with b.if_then(self._has(WRITES)):
                self._write()
            with b.if_then(self._has(READS)):
                self._read()
            got = self.block.get(Blocks.GOT)
            with b.if_then(b.icmp_signed("==", got, self.parts)):
                b.ret(I32(Turn.DONE))
            moved = b.icmp_signed("!=", b.load(self.moved), I64(0))
            left = b.select(moved, self.spins, b.sub(b.load(self.patience), I64(1)))
            b.store(left, self.patience)
            again(b.or_(moved, b.icmp_signed(">=", left, I64(0))), [])
        b.ret(I32(Turn.LEFT))

    def _has(self, bit: int) -> Any:
        return self.b.icmp_signed("!=", self.b.and_(self.may, I64(bit)), I64(0))

    def _table(self, size: int) -> Any:
        table = self.b.alloca(ir.ArrayType(I64, size))
        table.type = POINTER  # llvmlite gives it a type that knows its contents
        return table

    def _entry(self, table: Any, k: int, value: Any) -> None:
        at = self.b.gep(table, [I64(k)], inbounds=True, source_etype=I64)
        self.b.store(value, at, align=8)

    def _bytes(self, part: Any) -> Any:
        last = self.b.icmp_signed("==", part, self.b.sub(self.parts, I64(1)))
        return self.b.select(last, self.block.get(Blocks.LAST), self.block.get(Blocks.STEP))

    def _of(self, what: Blocks, part: Any) -> Any:
        """Where a part of what is brought or got lies."""
        return self.b.add(self.block.get(what), self.b.mul(part, self.block.get(Blocks.STEP)))

    def _slot(self, count: Any) -> Any:
        return self.b.urem(count, self.ring.get(Words.SLOTS))

    def _in_slot(self, slot: Any, rank: Any) -> Any:
        """Where a rank's part lies."""
        b = self.b
        place = b.add(b.mul(rank, self.ring.get(Words.SLOTS)), slot)
        return b.add(self.ring.get(Words.DATA), b.mul(place, self.ring.get(Words.SLOT)))

    def _row(self, rank: Any) -> Any:
        return self.b.add(self.ring.get(Words.ROWS), self.b.mul(rank, self.ring.get(Words.ROW)))

    def _number_at(self, row: Any, slot: Any) -> Any:
        return _place(self.b, row, self.b.mul(self.b.add(slot, I64(COUNTS)), I64(8)))

    def _shown(self, word: int, value: Any) -> None:
        """Let others see a count, and all that was written before."""
        at = _place(self.b, self.mine, I64(8 * word), _WORD)
        self.b.store_atomic(value, at, "release", 8)

    def _least(self, word: int) -> Any:
        """The least count of all ranks."""
        b = self.b
        with rounds(b, [I64(0), I64(2**62)]) as ((rank, least), end):
            at = _place(b, self._row(rank), I64(8 * word), _WORD)
            seen = b.load_atomic(at, "acquire", 8)
            least = b.select(b.icmp_signed("<", seen, least), seen, least)
            after = b.add(rank, I64(1))
            end(b.icmp_signed("<", after, self.size), [after, least])
        return least

    def _write(self) -> None:
        b, ring = self.b, self.ring
        part = self.block.get(Blocks.PUT)
        with b.if_then(b.icmp_signed("<", part, self.parts)):
            written = ring.get(Words.WRITTEN)
            with b.if_then(b.icmp_signed("==", written, ring.get(Words.FREE))):
                ring.put(Words.FREE, b.add(self._least(READ_COUNT), ring.get(Words.SLOTS)))
            with b.if_then(b.icmp_signed("!=", written, ring.get(Words.FREE))):
                slot = self._slot(written)
                to, source = self._in_slot(slot, self.rank), self._of(Blocks.SOURCE, part)
                with b.if_then(b.icmp_signed("!=", to, source)):  # it may have been made there
                    ends = [b.inttoptr(at, POINTER) for at in (to, source)]
                    call(b, "memcpy", POINTER, [*ends, self._bytes(part)])
                b.store(self.number, self._number_at(self.mine, slot), align=8)
                after = b.add(written, I64(1))
                ring.put(Words.WRITTEN, after)
                self._shown(0, after)
                with b.if_then(b.icmp_signed("!=", to, source)):
                    self._fetch(self._in_slot(self._slot(after), self.rank), self._bytes(part))
                self.block.put(Blocks.PUT, b.add(part, I64(1)))
                b.store(I64(1), self.moved)

    def _fetch(self, slot: Any, size: Any) -> None:
        """Take the lines of the slot that comes next from the others, who have read it."""
        b = self.b
        few = b.icmp_signed("<", size, I64(FETCHED))
        end = b.add(slot, b.select(few, size, I64(FETCHED)))
        with counting(b, slot, end, 8 * LINE) as at:
            prefetch(b, b.inttoptr(at, POINTER), 1, writes=True)

    def _read(self) -> None:
        b, ring = self.b, self.ring
        read = ring.get(Words.READ)
        with b.if_then(b.icmp_signed("==", read, ring.get(Words.READY))):
            ring.put(Words.READY, self._least(0))
        with b.if_then(b.icmp_signed("!=", read, ring.get(Words.READY))):
            slot = self._slot(read)
            self._compare(slot)
            self._combine(slot)
            after = b.add(read, I64(1))
            ring.put(Words.READ, after)
            self._shown(READ_COUNT, after)
            self.block.put(Blocks.GOT, b.add(self.block.get(Blocks.GOT), I64(1)))
            b.store(I64(1), self.moved)

    def _compare(self, slot: Any) -> None:
        """See that all have written of the same operation."""
        b = self.b
        with rounds(b, [I64(0)]) as ((rank,), end):
            number = b.load(self._number_at(self._row(rank), slot), typ=I64, align=8)
            with b.if_then(b.icmp_signed("!=", number, self.number), likely=False):
                self.ring.put(Words.OTHER, rank)
                self.ring.put(Words.THEIRS, number)
                b.ret(I32(Turn.DIFFERS))
            after = b.add(rank, I64(1))
            end(b.icmp_signed("<", after, self.size), [after])

    def _combine(self, slot: Any) -> None:
        """All ranks' parts, in the order of the ranks."""
        b = self.b
        part = self.block.get(Blocks.GOT)
        into = self._of(Blocks.TARGET, part)
        self._entry(self.count, 0, b.sdiv(self._bytes(part), self.block.get(Blocks.ITEM)))
        own = self._of(Blocks.SOURCE, part)  # until it is written over, it is what is in the slot
        for k in (0, 1):
            mine = b.icmp_signed("==", self.rank, I64(k))
            self._entry(self.places, k, b.select(mine, own, self._in_slot(slot, I64(k))))
        self._entry(self.places, 2, into)
        self._loop()
        more = b.icmp_signed(">", self.size, I64(2))
        with b.if_then(more), rounds(b, [I64(2)]) as ((rank,), end):
            self._entry(self.places, 0, into)
            self._entry(self.places, 1, self._in_slot(slot, rank))
            self._loop()
            after = b.add(rank, I64(1))
            end(b.icmp_signed("<", after, self.size), [after])

    def _loop(self) -> None:
        b = self.b
        kind = ir.FunctionType(VOID, [POINTER] * 4)
        data = b.inttoptr(self.block.get(Blocks.LOOPS_DATA), POINTER)
        function = b.inttoptr(self.block.get(Blocks.LOOP), ir.PointerType(kind))
        b.call(function, [self.places, self.count, self.steps, data])


def _begin(module: ir.Module, inside: ir.Function, known: layouts.Layouts) -> None:
    """`PyObject *begin(table, tensor)`: what of a block can be done at once; of `Entered`."""
    function = ir.Function(module, ir.FunctionType(I64, [I64, I64]), "begin")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    table, tensor = function.args
    words = _Table(b, _word(b, table, layouts.DATA))
    _unless(b, b.icmp_signed("==", _word(b, tensor, layouts.TYPE), words.get(Blocks.TENSOR)))
    _unless(b, b.icmp_signed("==", _word(b, tensor, known.node), words.get(Blocks.NONE)))
    array = _word(b, tensor, known.array)
    ring = _Table(b, words.get(Blocks.RING))
    half = lambda offset: b.load(_place(b, array, I64(offset)), typ=I32, align=4)
    ndim, whole = words.get(Blocks.NDIM), I32(_WHOLE)
    for right in (
        lambda: b.icmp_signed("==", _word(b, array, layouts.TYPE), words.get(Blocks.TYPE)),
        lambda: b.icmp_signed("==", _word(b, array, layouts.DTYPE), words.get(Blocks.DTYPE)),
        lambda: b.icmp_signed("==", b.sext(half(layouts.NDIM), I64), ndim),
        lambda: _alike(b, _word(b, array, layouts.DIMENSIONS), words.at(Blocks.DIMENSIONS), ndim),
        lambda: b.icmp_signed("==", b.and_(half(layouts.FLAGS), whole), whole),
        lambda: b.icmp_signed("==", ring.get(Words.BUSY), I64(0)),
    ):
        _unless(b, right())
    address = _word(b, array, layouts.DATA)
    for word, value in (
        (Blocks.SOURCE, address),
        (Blocks.TARGET, address),
        (Blocks.PUT, 0),
        (Blocks.GOT, 0),
    ):
        words.put(word, value)
    _note(b, _Table(b, words.get(Blocks.BOARD)), words.get(Blocks.NUMBER))
    status = b.call(inside, [words.address, I64(WRITES | READS), I64(0)])
    with b.if_then(b.icmp_signed("==", status, I32(Turn.DONE))):
        b.ret(_number(b, Entered.DONE))
    ring.put(Words.BUSY, 1)
    ring.put(Words.OPEN, words.address)
    words.put(Blocks.ARRAY, array)
    b.call(declare(module, "python.Py_IncRef", VOID, [I64]), [array])
    b.ret(_number(b, Entered.LEFT))


def _end(module: ir.Module, inside: ir.Function) -> None:
    """`PyObject *end(table, NULL)`: the rest of the block, if the others come; of `Entered`."""
    function = ir.Function(module, ir.FunctionType(I64, [I64, I64]), "end")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    words = _Table(b, _word(b, function.args[0], layouts.DATA))
    ring = _Table(b, words.get(Blocks.RING))
    is_open = b.icmp_signed("==", ring.get(Words.OPEN), words.address)
    with b.if_then(is_open):  # else it is done, or somebody else goes on with it
        status = b.call(inside, [words.address, I64(WRITES | READS), ring.get(Words.SPINS)])
        with b.if_then(b.icmp_signed("==", status, I32(Turn.DONE))):
            ring.put(Words.BUSY, 0)
            ring.put(Words.OPEN, 0)
            given = words.get(Blocks.ARRAY)
            b.call(declare(module, "python.Py_DecRef", VOID, [I64]), [given])
    done = b.icmp_signed("==", words.get(Blocks.GOT), words.get(Blocks.PARTS))
    b.ret(_number(b, b.select(done, I64(Entered.DONE), I64(Entered.LEFT))))


def _unless(b: ir.IRBuilder, right: Any) -> None:
    """Nothing is begun unless that holds."""
    with b.if_then(b.not_(right), likely=False):
        b.ret(_number(b, Entered.NOT))


def _word(b: ir.IRBuilder, thing: Any, offset: int) -> Any:
    """A word of an object at an address."""
    return b.load(_place(b, thing, I64(offset)), typ=I64, align=8)


def _alike(b: ir.IRBuilder, some: Any, others: Any, count: Any) -> Any:
    """Whether so many words at an address are those at another one."""
    places = [b.inttoptr(some, POINTER), others]
    return b.icmp_signed("==", call(b, "memcmp", I32, [*places, b.mul(count, I64(8))]), I32(0))


def _note(b: ir.IRBuilder, board: _Table, number: Any) -> None:
    """`Board.note`."""
    last = board.get(0)
    count = b.add(last, I64(1))
    before, code = (
        _place(b, board.address, b.mul(b.add(b.urem(n, I64(KEPT)), I64(LINE)), I64(8)))
        for n in (last, count)
    )
    begun = b.mul(b.load(before, typ=I64, align=8), I64(FACTOR))
    b.store(b.add(begun, b.add(number, I64(1))), code, align=8)
    b.store_atomic(count, _place(b, board.address, I64(0), _WORD), "release", 8)


def _number(b: ir.IRBuilder, value: Any) -> Any:
    value = value if isinstance(value, ir.Value) else I64(value)
    return call(b, "python.PyLong_FromLongLong", I64, [value])
