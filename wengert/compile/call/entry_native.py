"""Native entries: the table that tells the machine code of `entry_code.py` what one entry does."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compile.call import layouts as at
from wengert.compile.call.entry import (
    KEPT,
    Argument,
    ArrayOutput,
    AttributeIs,
    CellIs,
    CellNumber,
    Entry,
    FixedArgument,
    Gradient,
    Guard,
    ItemIs,
    NoGradient,
    Number,
    NumberArgument,
    Output,
    Result,
    State,
    TensorArgument,
    TensorState,
    conflicts,
    keeps,
    nbytes,
)
from wengert.compile.call.entry_code import RECORD, Field, Head, Kind, entry_code

_PLAIN = at.C_CONTIGUOUS | at.ALIGNED
_OWN = _PLAIN | at.WRITEABLE | at.OWNS_DATA
_KINDS = {"float": Kind.FLOAT, "int": Kind.INT, "bool": Kind.BOOL}
_FAST_WITH_KEYWORDS = 0x0080 | 0x0002  # METH_FASTCALL | METH_KEYWORDS
_GRAD = sys.intern("_grad")

Record = dict[Field, int]


class _Frame:
    """What the machine code gets as `self`: the table, and what must live as long as it does."""

    __slots__ = ("keep", "table")

    def __init__(self, table: np.ndarray, keep: list[Any]) -> None:
        self.table = table
        self.keep = keep


class _Method(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@functools.cache
def _table_offset() -> int:
    """Where a frame's slot `table` is: by looking for what was put there."""
    table = np.zeros(1)
    frame = _Frame(table, [])
    for offset in range(0, _Frame.__basicsize__, 8):
        if ctypes.c_int64.from_address(id(frame) + offset).value == id(table):
            return offset
    raise at.LayoutError("The slots of a class are not where they are expected.")


@functools.cache
def _method(name: str) -> _Method:
    """The definition of a function of this name. Kept for ever: functions read it as they die."""
    address = entry_code(_table_offset()).address("entry")
    return _Method(name.encode(), address, _FAST_WITH_KEYWORDS, None)


@functools.cache
def _new_function() -> Callable[[int, Any, Any], Any]:
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )


def native_entry(entry: Entry) -> Callable[..., Any]:
    """The callable of an entry, a builtin function whose machine code reads its table."""
    table = _Table(entry)
    frame = _Frame(table.words(), table.keep)
    return _new_function()(ctypes.addressof(_method(entry.name)), frame, None)


class _Table:
    """Builds the words of one entry. `keep` collects all objects whose address they hold."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.keep: list[Any] = [entry]
        self.buffers = np.zeros(max(entry.buffers, 1), np.uintp)
        self.keep.append(self.buffers)
        for fixed in entry.fixed:
            self.buffers[fixed.buffer] = fixed.address

    def words(self) -> np.ndarray:
        entry = self.entry
        always, moved = conflicts(entry)
        sections: list[tuple[Head, list[Record]]] = [
            (Head.ARGUMENTS, [self.argument(a) for a in entry.arguments]),
            (Head.GUARDS, [self.guard(g) for g in entry.guards]),
            (Head.STATES, [self.state(s) for s in entry.states]),
            (Head.NUMBERS, [self.number(n) for n in entry.numbers]),
            (Head.ALWAYS, self.pairs(always)),
            (Head.MOVED, self.pairs(moved)),
            (Head.OUTPUTS, [self.output(o) for o in entry.outputs]),
            (Head.GRADIENTS, [self.gradient(g) for g in entry.gradients]),
        ]
        count = sum(len(records) for _, records in sections) + len(entry.results)
        table = np.zeros(Head.WORDS + count * RECORD, np.int64)
        base = table.ctypes.data
        at_word, begins = int(Head.WORDS), {}
        for section, records in sections:
            begins[section] = base + 8 * at_word
            at_word = self.put(table, section, at_word, records)
        results = [self.result(r, begins[Head.OUTPUTS]) for r in entry.results]
        self.put(table, Head.RESULTS, at_word, results)
        self.head(table)
        return table

    def put(self, table: np.ndarray, section: Head, at_word: int, records: list[Record]) -> int:
        """Write a section's records from this word on; gives the word after them."""
        table[section] = table.ctypes.data + 8 * at_word
        table[section + 1] = len(records)
        for record in records:
            for field, value in record.items():
                table[at_word + field] = value
            at_word += RECORD
        return at_word

    def head(self, table: np.ndarray) -> None:
        entry = self.entry
        table[Head.BODY] = entry.body
        table[Head.BUFFERS] = self.buffers.ctypes.data
        table[Head.SLOW] = self.object(entry.slow)
        table[Head.FAILED] = self.object(entry.failed)
        table[Head.WROTE] = self.object(entry.wrote)
        table[Head.REBUILD] = 0 if entry.rebuild is None else self.object(entry.rebuild)
        table[Head.MANY] = entry.many
        table[Head.CALLS] = entry.calls
        table[Head.EMPTY] = self.object(())

    # ---- addresses ----

    def object(self, value: Any) -> int:
        self.keep.append(value)
        return id(value)

    def place(self, buffer: int) -> int:
        """Where the address of a buffer is put."""
        return int(self.buffers.ctypes.data) + 8 * buffer

    def cell(self, buffer: int) -> int:
        """Memory for a number, as a buffer."""
        cell = np.zeros(1, np.int64)
        self.keep.append(cell)
        self.buffers[buffer] = cell.ctypes.data
        return int(cell.ctypes.data)

    def array(self, described: Any, flags: int) -> Record:
        """What an array with a buffer must be."""
        dtype = np.dtype(described.dtype)
        dimensions = np.array(described.shape, np.int64)
        self.keep.append(dimensions)
        return {
            Field.PLACE: self.place(described.buffer),
            Field.DTYPE: self.object(dtype),
            Field.TYPE_NUMBER: dtype.num,
            Field.NDIM: len(described.shape),
            Field.DIMENSIONS: dimensions.ctypes.data,
            Field.FLAGS: flags,
        }

    def incoming(self, described: Any) -> Record:
        return self.array(described, _PLAIN | (at.WRITEABLE if described.written else 0))

    # ---- records ----

    def argument(self, argument: Argument) -> Record:
        if isinstance(argument, FixedArgument):
            return {Field.KIND: Kind.OBJECT, Field.OBJECT: self.object(argument.object)}
        if isinstance(argument, NumberArgument):
            place = self.cell(argument.buffer)
            return {Field.KIND: _KINDS[argument.kind], Field.PLACE: place}
        record = self.incoming(argument)
        if isinstance(argument, TensorArgument):
            record[Field.KIND] = Kind.TENSOR
            record[Field.OBJECT] = self.object(argument.type)
            record[Field.HISTORY] = argument.history
            record[Field.WRITTEN] = argument.written
        else:
            record[Field.KIND] = Kind.ARRAY
        return record

    def guard(self, guard: Guard) -> Record:
        expected = self.object(guard.object)
        if isinstance(guard, ItemIs):
            owner, key = self.object(guard.dict), self.object(guard.key)
            record: Record = {Field.KIND: Kind.ITEM, Field.OWNER: owner, Field.KEY: key}
            return {**record, Field.OBJECT: expected}
        if isinstance(guard, AttributeIs):
            owner, key = self.object(guard.owner), self.object(guard.name)
            record = {Field.KIND: Kind.ATTRIBUTE, Field.OWNER: owner, Field.KEY: key}
            return {**record, Field.OBJECT: expected}
        offsets = at.layouts()
        if isinstance(guard, CellIs):
            address, kind = self.object(guard.cell) + offsets.contents, Kind.POINTER
        else:
            slot = getattr(offsets, guard.slot.removeprefix("_"))
            address = self.object(guard.tensor) + slot
            kind = Kind.POINTER if guard.equal else Kind.OTHER
        return {Field.KIND: kind, Field.OWNER: address, Field.OBJECT: expected}

    def state(self, state: State) -> Record:
        record = self.incoming(state)
        if isinstance(state, TensorState):
            record[Field.KIND] = Kind.TENSOR
            record[Field.OBJECT] = self.object(state.tensor)
            record[Field.WRITTEN] = state.written
        else:
            record[Field.KIND] = Kind.ARRAY
            record[Field.OBJECT] = self.object(state.array)
        return record

    def number(self, number: Number) -> Record:
        record = {Field.NUMBER: int(_KINDS[number.kind]), Field.PLACE: self.cell(number.buffer)}
        if isinstance(number, CellNumber):
            owner = self.object(number.cell) + at.layouts().contents
            return {**record, Field.KIND: Kind.POINTER, Field.OWNER: owner}
        owner, key = self.object(number.dict), self.object(number.key)
        return {**record, Field.KIND: Kind.ITEM, Field.OWNER: owner, Field.KEY: key}

    def pairs(self, pairs: Sequence[tuple[Any, Any]]) -> list[Record]:
        return [
            {
                Field(0): self.place(a.buffer),
                Field(1): nbytes(a),
                Field(2): self.place(b.buffer),
                Field(3): nbytes(b),
            }
            for a, b in pairs
        ]

    def output(self, output: Output) -> Record:
        if isinstance(output, ArrayOutput):
            kind = 0 if output.type is None else self.object(output.type)
            record = {**self.array(output, _OWN), Field.KIND: Kind.ARRAY, Field.OBJECT: kind}
            if keeps(output):
                kept = np.full(KEPT, None)  # its words are references, which die with it
                self.keep.append(kept)
                record[Field.KEPT] = kept.ctypes.data
            return record
        return {Field.KIND: _KINDS[output.kind], Field.PLACE: self.cell(output.buffer)}

    def gradient(self, gradient: Gradient | NoGradient) -> Record:
        # The dict stays the tensor's own, as it is held here.
        where = {
            Field.OWNER: self.object(gradient.tensor.__dict__),
            Field.KEY: self.object(_GRAD),
        }
        if isinstance(gradient, NoGradient):
            return {**where, Field.KIND: Kind.NONE}
        return {**where, **self.array(gradient, _OWN), Field.KIND: Kind.TENSOR}

    def result(self, result: Result, outputs: int) -> Record:
        if result.kind == "output":
            address = outputs + 8 * RECORD * result.number
            return {Field.KIND: Kind.OUTPUT, Field.OBJECT: address}
        if result.kind == "argument":
            return {Field.KIND: Kind.ARGUMENT, Field.OBJECT: result.number}
        return {Field.KIND: Kind.OBJECT, Field.OBJECT: self.object(result.object)}
