"""Native entries: the table that tells the machine code of `entry_code.py` what one entry does."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.compile.call import layouts as at
from wengert.compile.call.entry import KEPT, Entry, Region, keeps, regions
from wengert.compile.call.entry_code import entry_code
from wengert.compile.call.entry_words import RECORD, Field, Form, Head, Kind, Span, Way
from wengert.compile.trace.arguments import Container
from wengert.compile.trace.places import (
    MISSING,
    PLAIN,
    Aliasing,
    Argument,
    Array,
    Attribute,
    Bits,
    Class,
    Contents,
    Element,
    Gradient,
    Guard,
    Input,
    Item,
    Known,
    Length,
    Number,
    Output,
    Place,
    Presence,
    Variable,
    same,
)
from wengert.history.node import tick
from wengert.tensor import Tensor

_PLAIN = at.C_CONTIGUOUS | at.ALIGNED
_OWN = _PLAIN | at.WRITEABLE | at.OWNS_DATA
_TAKEN = {int: Form.INT, bool: Form.BOOL}  # all others hold their bits
_MADE = {float: Form.FLOAT, complex: Form.COMPLEX, **_TAKEN}
_WAYS = {list: Way.LIST, dict: Way.DICT}
_FAST_WITH_KEYWORDS = 0x0080 | 0x0002  # METH_FASTCALL | METH_KEYWORDS
_GRAD = sys.intern("_grad")

_SEVERAL = 4  # guards of one dictionary, from which on its version is looked at first

Record = dict[Field | Span, int]


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


_methods: dict[str, _Method] = {}


def _method(name: str) -> _Method:
    """The definition of a function of this name. Kept for ever: functions read it as they die."""
    if name not in _methods:
        address = entry_code(_table_offset()).address("entry")
        made = _Method(name.encode(), address, _FAST_WITH_KEYWORDS, None)
        _methods.setdefault(name, made)  # the first one, whichever thread it comes from
    return _methods[name]


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
        self.slots = np.zeros(max(entry.spread.size(), 1), np.uintp)
        self.keep += [self.buffers, self.slots]
        for buffer, address, _ in entry.fixed:
            self.buffers[buffer] = address

    def words(self) -> np.ndarray:
        entry = self.entry
        sections: list[tuple[Head, list[Record]]] = [
            (Head.CONTAINERS, [self.container(c) for c in entry.spread.containers]),
            (Head.GUARDS, list(self.guards())),
            (Head.INPUTS, [self.input(i) for i in entry.inputs]),
            (Head.REGIONS, [self.region(r) for r in regions(entry)]),
            (Head.OUTPUTS, self.outputs()),
        ]
        count = sum(len(records) for _, records in sections)
        count += len(entry.aliasing or ()) + len(entry.results)
        table = np.zeros(Head.WORDS + count * RECORD, np.int64)
        at_word = int(Head.WORDS)
        for section, records in sections:
            at_word = self.put(table, section, at_word, records)
        aliasing = [self.aliasing(a, table) for a in entry.aliasing or ()]
        at_word = self.put(table, Head.ALIASING, at_word, aliasing)
        self.put(table, Head.RESULTS, at_word, [self.result(r, table) for r in entry.results])
        self.head(table)
        return table

    def put(self, table: np.ndarray, section: Head, at_word: int, records: list[Record]) -> int:
        """Write a section's records from this word on; gives the word after them."""
        size = Span.WORDS if section is Head.REGIONS else RECORD
        table[section] = table.ctypes.data + 8 * at_word
        table[section + 1] = len(records)
        for record in records:
            for field, value in record.items():
                table[at_word + field] = value
            at_word += size
        return at_word

    def head(self, table: np.ndarray) -> None:
        entry = self.entry
        table[Head.BODY] = entry.body
        table[Head.BUFFERS] = self.buffers.ctypes.data
        table[Head.SLOW] = self.object(entry.slow)
        if any(i.writes for i in entry.inputs):
            table[Head.TICK] = self.object(tick)
        table[Head.REBUILD] = 0 if entry.rebuild is None else self.object(entry.rebuild)
        table[Head.MANY] = entry.many
        table[Head.CALLS] = entry.calls
        table[Head.EMPTY] = self.object(())
        spread = entry.spread
        table[Head.ARGUMENTS] = spread.arguments
        table[Head.NAMES] = self.object(spread.keywords) if spread.keywords else 0
        table[Head.SLOTS], table[Head.SLOTS + 1] = self.slots.ctypes.data, spread.size()

    # ---- addresses ----

    def object(self, value: Any) -> int:
        self.keep.append(value)
        return id(value)

    def numbers(self, values: tuple[int, ...]) -> int:
        """Where these are."""
        memory = np.array(values, np.int64)
        self.keep.append(memory)
        return int(memory.ctypes.data)

    def buffer(self, number: int) -> int:
        """Where the address of a buffer is put."""
        return int(self.buffers.ctypes.data) + 8 * number

    def slot(self, number: int) -> int:
        """Where what a call has in a slot is put."""
        return int(self.slots.ctypes.data) + 8 * number

    # ---- containers: how the code comes to their parts ----

    def container(self, container: Container) -> Record:
        kind, keys = container.kind, container.keys or ()
        way = _WAYS.get(kind, Way.TUPLE if not container.can_change() else Way.ASKED)
        expected = container.parts if way is Way.ASKED else kind
        return {
            Field.WAY: way,
            Field.OWNER: self.slot(container.slot),
            Field.KEYS: self.object(keys) + at.TUPLE_ITEMS,
            Field.OBJECT: self.object(expected),
            Field.COUNT: container.count,
            Field.PARTS: self.slot(container.first),
        }

    # ---- places: how the code comes to an object ----

    def place(self, place: Place) -> Record:
        if isinstance(place, Argument):
            return {
                Field.KIND: Kind.POINTER,
                Field.OWNER: self.slot(self.entry.spread.slots[place.number]),
            }
        if isinstance(place, Known):
            return {Field.KIND: Kind.OBJECT, Field.OWNER: self.object(place.object)}
        if isinstance(place, Item):
            return self.item(place.mapping, place.key)
        if isinstance(place, Element):
            owner = self.object(place.items) + at.ITEMS
            return {Field.KIND: Kind.ELEMENT, Field.OWNER: owner, Field.KEY: 8 * place.index}
        if isinstance(place, Length):
            return self.pointer(place.container, at.LENGTH)
        if isinstance(place, Gradient):
            if isinstance(place.tensor, Argument):
                owner = self.place(place.tensor)[Field.OWNER]
                name = self.object(_GRAD)
                return {Field.KIND: Kind.MEMBER, Field.OWNER: owner, Field.KEY: name}
            assert isinstance(place.tensor, Known), place
            members = place.tensor.object.__dict__
            members.setdefault(_GRAD, None)
            return self.item(members, _GRAD)
        if isinstance(place, Variable):
            return self.pointer(place.cell, at.layouts().contents)
        assert isinstance(place, Attribute), place
        if isinstance(place.owner, Tensor) and place.name in at.SLOTS:
            return self.pointer(place.owner, at.layouts().slot(place.name))
        member = at.member(place.owner, place.name)
        if member is not None:
            return self.pointer(place.owner, member)
        owner, name = self.object(place.owner), self.object(place.name)
        return {Field.KIND: Kind.ATTRIBUTE, Field.OWNER: owner, Field.KEY: name}

    def item(self, mapping: dict[Any, Any], key: Any) -> Record:
        # An instance's dict stays its own, as it is held here.
        owner = self.object(mapping)
        return {Field.KIND: Kind.ITEM, Field.OWNER: owner, Field.KEY: self.object(key)}

    def pointer(self, owner: Any, offset: int) -> Record:
        return {Field.KIND: Kind.POINTER, Field.OWNER: self.object(owner) + offset}

    # ---- forms: what the object has to be ----

    def array(self, array: Array, flags: int) -> Record:
        dtype = np.dtype(array.dtype)
        strides = -1 if array.strides is ... else 0
        return {
            Field.STRIDES: self.numbers(array.strides) if type(array.strides) is tuple else strides,
            Field.FORM: Form.ARRAY if array.type is None else Form.TENSOR,
            Field.OBJECT: 0 if array.type is None else self.object(array.type),
            Field.BUFFER: self.buffer(array.buffer),
            Field.DTYPE: self.object(dtype),
            Field.TYPE_NUMBER: dtype.num,
            Field.NDIM: len(array.shape),
            Field.DIMENSIONS: self.numbers(array.shape),
            Field.FLAGS: flags | (at.WRITEABLE if array.written else 0),
        }

    def number(self, number: Number, form: Form) -> Record:
        """A number lies in memory of its own, as a buffer."""
        kind = np.dtype(number.type)
        cell = np.zeros(2, np.int64)
        self.keep.append(cell)
        self.buffers[number.buffer] = cell.ctypes.data
        return {
            Field.FORM: form,
            Field.OBJECT: self.object(number.type),
            Field.BUFFER: int(cell.ctypes.data),
            Field.COUNT: -(-kind.itemsize // 8),
        }

    # ---- records ----

    def guards(self) -> Iterator[Record]:
        """All guards; those of a dictionary that has several are between two records about it."""
        by_dict: dict[int, list[Guard]] = {}
        for guard in self.entry.guards:
            if isinstance(guard.place, Item) and at.layouts().version:
                by_dict.setdefault(id(guard.place.mapping), []).append(guard)
            else:
                yield self.guard(guard)
        for guards in by_dict.values():
            records = [self.guard(guard) for guard in guards]
            if len(records) >= _SEVERAL:
                version = records[0][Field.OWNER] + at.layouts().version
                pair: Record = {Field.OWNER: version, Field.FAR: 8 * RECORD * (len(records) + 1)}
                records.insert(0, {**pair, Field.KIND: Kind.UNCHANGED})
                records.append({**pair, Field.KIND: Kind.SEEN})
            yield from records

    def guard(self, guard: Guard) -> Record:
        place, expected, equal = guard.place, guard.object, guard.equal
        flagged = _flagged(place)
        if flagged is not None:  # it requires grad if it has a node
            place, expected, equal = Attribute(flagged, "_node"), None, not expected
        if isinstance(place, Class):
            record = self.pointer(place.owner, at.TYPE)
            return {**record, Field.FORM: Form.SAME, Field.OBJECT: self.object(expected)}
        if isinstance(place, _ASKED) or _is_far(place):  # by an attribute that works out the answer
            place, expected, equal = Attribute(guard, "held"), True, True
        record = {**self.place(place), Field.FORM: Form.SAME if equal else Form.OTHER}
        record[Field.OBJECT] = expected if isinstance(place, Length) else self.object(expected)
        if expected is MISSING:
            record[Field.OBJECT] = 0
        elif equal and not isinstance(place, Length) and type(expected) in PLAIN:
            record[Field.FORM] = Form.EQUAL
            record[Field.EQUAL] = self.object(functools.partial(same, expected))
        return record

    def input(self, input: Input) -> Record:
        place, form = self.place(input.place), input.form
        if isinstance(form, Number):
            return {**place, **self.number(form, _TAKEN.get(form.type, Form.BITS))}
        record = {**place, **self.array(form, _PLAIN)}
        if form.type is not None:
            record[Field.HISTORY] = 2 if form.history is None else form.history
        if input.writes:
            record[Field.WRITES] = input.writes
            record[Field.WROTE] = self.object(functools.partial(_tell, self.entry, input.writes))
        return record

    def region(self, region: Region) -> Record:
        return {
            Span.BUFFER: self.buffer(region.buffer),
            Span.NBYTES: region.nbytes,
            Span.WRITTEN: -region.written,
        }

    def aliasing(self, aliasing: Aliasing, table: np.ndarray) -> Record:
        places = [i.place for i in self.entry.inputs]
        first, second = (
            int(table[Head.INPUTS]) + 8 * RECORD * places.index(place)
            for place in (aliasing.first, aliasing.second)
        )
        return {Field(0): first, Field(1): second, Field(2): aliasing.one_object}

    def outputs(self) -> list[Record]:
        """All outputs by number, then the gradients that go."""
        records = [self.output(output) for output in self.entry.outputs]
        for write in self.entry.writes:
            place = self.place(write.place)
            if write.number is None:
                records.append({**place, Field.FORM: Form.NONE})
            else:
                records[write.number] |= {**place, Field.FORM: Form.GRADIENT, Field.KEPT: 0}
        return records

    def output(self, output: Array | Number) -> Record:
        if isinstance(output, Number):
            return self.number(output, _MADE[output.type])
        record = {**self.array(output, _OWN), Field.NODE: self.object(output.node)}
        if output.scalar:
            record[Field.FORM] = Form.SCALAR
        if keeps(output):
            kept = np.full(KEPT, None)  # its words are references, which die with it
            self.keep.append(kept)
            record[Field.KEPT] = kept.ctypes.data
        return record

    def result(self, result: Output | Argument | Known, table: np.ndarray) -> Record:
        if isinstance(result, Output):
            record = int(table[Head.OUTPUTS]) + 8 * RECORD * result.number
            return {Field.KIND: Kind.POINTER, Field.OWNER: record + 8 * Field.MADE}
        return self.place(result)


def _is_far(place: Place) -> bool:
    return isinstance(place, Gradient) and not isinstance(place.tensor, Argument | Known)


_ASKED = Contents | Presence | Bits


def _tell(entry: Entry, writes: int, tensor: Tensor) -> None:
    entry.wrote(tensor, writes)


def _flagged(place: Place) -> Tensor | None:
    """The tensor, if this is its `requires_grad`; not that of a view, which follows its base."""
    if not isinstance(place, Attribute) or place.name != "requires_grad":
        return None
    x = place.owner
    return x if isinstance(x, Tensor) and x._origin is None else None
