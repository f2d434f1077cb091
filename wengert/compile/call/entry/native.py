"""Native entries: the table that tells the machine code of `code.py` what one entry does."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.compile.call.derivative import CompiledBackward, Recording
from wengert.compile.call.entry import layouts as at
from wengert.compile.call.entry.code import entry_code, phase_code
from wengert.compile.call.entry.entry import KEPT, Entry, Piece, Region, keeps, regions
from wengert.compile.call.entry.words import (
    RECORD,
    Field,
    Form,
    Head,
    History,
    Kind,
    Phase,
    Sight,
    Span,
    Way,
)
from wengert.compile.llvm.machine.host import Method
from wengert.compile.program.operations import Otherwise
from wengert.compile.trace.arguments import Container
from wengert.compile.trace.observe.objects import Held
from wengert.compile.trace.parts import Part
from wengert.compile.trace.world.places import (
    MISSING,
    PLAIN,
    Aliasing,
    Argument,
    Arithmetic,
    Array,
    Attribute,
    Class,
    Code,
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
    Own,
    Place,
    Recorded,
    Told,
    Variable,
    same,
)
from wengert.dispatch import ERRORS, errors_pass
from wengert.history.location import here
from wengert.history.node import AccumulateGrad, Node, tick
from wengert.tensor import INFERENCE, Tensor, current_node

_PLAIN = at.C_CONTIGUOUS | at.ALIGNED
_OWN = _PLAIN | at.WRITEABLE | at.OWNS_DATA
_TAKEN = {int: Form.INT, bool: Form.BOOL}  # all others hold their bits
_MADE = {float: Form.FLOAT, complex: Form.COMPLEX, **_TAKEN}
_WAYS = {list: Way.LIST, dict: Way.DICT}
_FAST_WITH_KEYWORDS = 0x0080 | 0x0002  # METH_FASTCALL | METH_KEYWORDS
_GRAD = sys.intern("_grad")

Record = dict[Field | Span, int]


class _Frame:
    """What the machine code gets as `self`: the table, and what must live as long as it does."""

    __slots__ = ("keep", "table")

    def __init__(self, table: np.ndarray, keep: list[Any]) -> None:
        self.table = table
        self.keep = keep


@functools.cache
def _table_offset() -> int:
    """Where a frame's slot `table` is: by looking for what was put there."""
    table = np.zeros(1)
    frame = _Frame(table, [])
    for offset in range(0, _Frame.__basicsize__, 8):
        if ctypes.c_int64.from_address(id(frame) + offset).value == id(table):
            return offset
    raise at.LayoutError("The slots of a class are not where they are expected.")


_methods: dict[str, Method] = {}


def _method(name: str) -> Method:
    """The definition of a function of this name. Kept for ever: functions read it as they die."""
    if name not in _methods:
        address = entry_code(_table_offset()).address("entry")
        method = Method(name.encode(), address, _FAST_WITH_KEYWORDS, None)
        _methods.setdefault(name, method)  # the first one, whichever thread it comes from
    return _methods[name]


def native_entry(entry: Entry) -> Callable[..., Any]:
    """The callable of an entry, a builtin function whose machine code reads its table."""
    table = _Table(entry)
    frame = _Frame(table.words(), table.keep)
    return _method(entry.name).of(frame)


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
        entry, history = self.entry, self.entry.recording
        sections: list[tuple[Head, list[Record]]] = [
            (Head.CONTAINERS, [self.container(c) for c in entry.spread.containers]),
            (Head.GUARDS, list(self.guards())),
            (Head.INPUTS, [self.input(i) for i in entry.inputs]),
            (Head.REGIONS, [self.region(r) for r in regions(entry)]),
            (Head.OUTPUTS, self.outputs()),
            (Head.RECORDING, [] if history is None else [self.recording(history)]),
            (Head.EDGES, [] if history is None else [*map(self.edge, history.edges)]),
        ]
        places_of = {
            Head.RESULTS: entry.results,
            Head.SAVED: () if history is None else history.saved,
            Head.RECORDED: () if history is None else history.results,
        }
        count = sum(len(records) for _, records in sections) + sum(map(len, places_of.values()))
        count += len(entry.aliasing or ()) + len(entry.pieces)
        table = np.zeros(Head.WORDS + count * RECORD, np.int64)
        at_word = int(Head.WORDS)
        for section, records in sections:
            at_word = self.put(table, section, at_word, records)
        aliasing = [self.aliasing(a, table) for a in entry.aliasing or ()]
        at_word = self.put(table, Head.ALIASING, at_word, aliasing)
        table[Head.PIECES] = table.ctypes.data + 8 * at_word  # a piece may lie in another one
        pieces = [self.piece(p, table) for p in entry.pieces]
        at_word = self.put(table, Head.PIECES, at_word, pieces)
        for section, places in places_of.items():
            at_word = self.put(table, section, at_word, [self.found(x, table) for x in places])
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
        if entry.settled is not None:
            table[Head.SETTLED] = self.argument(entry.settled.number)
        table[Head.CALLS] = entry.calls
        table[Head.OTHERWISE] = id(Otherwise) if entry.supposes else 0
        table[Head.FAILED] = 0 if entry.failed is None else self.object(entry.failed)
        table[Head.EMPTY] = self.object(())
        spread = entry.spread
        table[Head.ARGUMENTS] = spread.arguments
        table[Head.NAMES] = self.object(spread.keywords) if spread.keywords else 0
        table[Head.SLOTS], table[Head.SLOTS + 1] = self.slots.ctypes.data, spread.size()
        for phase in self.phases():
            table[Head.PHASES + phase] = self.phase(phase)

    def phases(self) -> Iterator[Phase]:
        """Those that calls of this entry have, or may have."""
        entry, spread = self.entry, self.entry.spread
        numbers = any(isinstance(output, Number) or output.scalar for output in entry.outputs)
        needed = {
            Phase.OPENED: spread.keywords or spread.containers,
            Phase.UNWRITTEN: any(i.since is not None for i in entry.inputs),
            Phase.NUMBER: numbers,
            Phase.SETTLED: entry.settled is not None,
            Phase.PIECES: entry.pieces,
            Phase.RECORDED: entry.recording is not None,
        }
        return (phase for phase, need in needed.items() if need)

    def phase(self, phase: Phase) -> int:
        """Where its code begins."""
        code = phase_code(phase)
        self.keep.append(code)
        return code.address(phase.name.lower())

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
        near = self.near(place)
        assert near is not None, place
        return near

    def near(self, place: Place) -> Record | None:
        """How the code comes to what is at a place; None if Python has to be asked."""
        match place:
            case Argument(number):
                return {Field.KIND: Kind.POINTER, Field.OWNER: self.argument(number)}
            case Known(owner):
                return {Field.KIND: Kind.OBJECT, Field.OWNER: self.object(owner)}
            case Item(mapping, key):
                return self.item(mapping, key)
            case Element(items, index):
                owner = self.object(items) + at.ITEMS
                return {Field.KIND: Kind.ELEMENT, Field.OWNER: owner, Field.KEY: 8 * index}
            case Length(list() | dict() as container):
                return self.pointer(container, at.LENGTH)
            case Length(set() as container):
                return self.pointer(container, at.LENGTH_OF_SET)
            case Class(owner):
                return self.pointer(owner, at.TYPE)
            case Code(function):
                return self.attribute(function, "__code__")
            case Variable(cell):
                return self.pointer(cell, at.layouts().contents)
            case Attribute(owner, name):
                return self.attribute(owner, name)
            case Gradient(Argument(number)):
                return self.member(Kind.MEMBER, number, _GRAD)
            case Own(Argument(number), name):
                return self.member(Kind.OWN, number, name)
            case Gradient(Known(tensor)):
                tensor.__dict__.setdefault(_GRAD, None)
                return self.item(tensor.__dict__, _GRAD)
        return None

    def member(self, kind: Kind, number: int, name: str) -> Record:
        """An attribute of an argument."""
        owner, key = self.argument(number), self.object(name)
        return {Field.KIND: kind, Field.OWNER: owner, Field.KEY: key}

    def argument(self, number: int) -> int:
        return self.slot(self.entry.spread.slots[number])

    def attribute(self, owner: Any, name: str) -> Record:
        if isinstance(owner, Tensor) and name in at.SLOTS:
            return self.pointer(owner, at.layouts().slot(name))
        member = at.member(owner, name)
        if member is not None:
            return self.pointer(owner, member)
        kind, key = Kind.ATTRIBUTE, self.object(name)
        return {Field.KIND: kind, Field.OWNER: self.object(owner), Field.KEY: key}

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
            Field.LEAST: number.bounds[0],
            Field.GREATEST: number.bounds[1],
        }

    # ---- records ----

    def guards(self) -> Iterator[Record]:
        """All guards; those of a dictionary are between two records about its version."""
        by_dict: dict[int, list[Guard]] = {}
        for guard in self.entry.guards:
            mapping = _dictionary_of(guard.place)
            if mapping is not None and at.layouts().version:
                by_dict.setdefault(id(mapping), []).append(guard)
            else:
                yield self.guard(guard)
        for address, guards in by_dict.items():
            records = [self.guard(guard) for guard in guards]
            version = address + at.layouts().version
            pair: Record = {Field.OWNER: version, Field.FAR: 8 * RECORD * (len(records) + 1)}
            records.insert(0, {**pair, Field.KIND: Kind.UNCHANGED})
            records.append({**pair, Field.KIND: Kind.SEEN})
            yield from records

    def guard(self, guard: Guard) -> Record:
        place, expected, equal = guard.place, guard.object, guard.equal
        if isinstance(place, Arithmetic) and equal and expected:
            return self.arithmetic()
        if isinstance(place, Contents) and isinstance(place.container, set) and not expected:
            place, expected = Length(place.container), 0  # of no parts nothing else can differ
        recorded = _recorded(place)
        if recorded is not None:
            return self.recorded(guard, recorded)
        record = self.near(place)
        if record is None or type(expected) is Held:
            return self.asked(guard)
        record[Field.FORM] = Form.SAME if equal else Form.OTHER
        record[Field.OBJECT] = expected if isinstance(place, Length) else self.object(expected)
        if expected is MISSING:
            record[Field.OBJECT] = 0
        elif equal and not isinstance(place, Length) and type(expected) in PLAIN:
            record[Field.FORM] = Form.EQUAL
            record[Field.EQUAL] = self.object(functools.partial(same, expected))
        return record

    def recorded(self, guard: Guard, x: Tensor) -> Record:
        """A known tensor has no node, or that of a leaf."""
        record, node = self.near(Attribute(x, "_node")), x._node
        if record is None or (guard.object is not None and type(node) is not guard.object):
            return self.asked(guard)
        record[Field.OBJECT] = self.object(None if guard.object is None else node)
        record[Field.FORM] = Form.SAME if guard.object is None else Form.EQUAL
        record[Field.EQUAL] = self.object(_is_of_leaf)
        return record

    def arithmetic(self) -> Record:
        """NumPy's settings are these, or others that let errors of arithmetic pass."""
        return {
            Field.KIND: Kind.CONTEXT,
            Field.OWNER: self.object(ERRORS),
            Field.FORM: Form.EQUAL,
            Field.OBJECT: self.object(ERRORS.get()),
            Field.EQUAL: self.object(errors_pass),
        }

    def asked(self, guard: Guard) -> Record:
        """Python is asked: of an argument, or with none; of a container if its parts are others."""
        place: Place = Known(())
        holds: Callable[..., bool] = guard.holds
        if isinstance(guard.place, Told) and isinstance(guard.place.of, Argument):
            place, holds = guard.place.of, functools.partial(_tells, guard)
        record: Record = {
            **self.place(place),
            Field.FORM: Form.ASKED,
            Field.EQUAL: self.object(holds),
        }
        if isinstance(guard.place, Contents) and is_in_order(guard.place.container):
            record |= self.parts(guard.place.container, guard.object)
        return record

    def parts(self, container: list[Any] | dict[Any, Any], held: tuple[Any, ...]) -> Record:
        count = len(held) // 2 if isinstance(container, dict) else len(held)
        record: Record = {
            Field.OBJECT: self.object(container),
            Field.COUNT: count,
            Field.PARTS: self.object(held[-count:]) + at.TUPLE_ITEMS,
        }
        if isinstance(container, dict):
            record[Field.KEYS] = self.object(held[:count]) + at.TUPLE_ITEMS
        return record

    def input(self, input: Input) -> Record:
        place, form = self.place(input.place), input.form
        if isinstance(form, Number):
            return {**place, **self.number(form, _TAKEN.get(form.type, Form.BITS))}
        record = {**place, **self.array(form, _PLAIN)}
        if form.type is not None:
            record[Field.HISTORY] = _history(form)
        if input.since is not None:
            record[Field.SINCE] = self.argument(input.since.number)
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
        record[Field.ORIGIN] = self.object(output.origin)
        if output.scalar:
            record[Field.FORM] = Form.SCALAR
        if keeps(output):
            kept = np.full(KEPT, None)  # its words are references, which die with it
            self.keep.append(kept)
            record[Field.KEPT] = kept.ctypes.data
        return record

    def found(self, x: Output | Piece | Place, table: np.ndarray) -> Record:
        """What a call has made, or what is at a place."""
        if isinstance(x, Piece):
            slot = int(table[Head.PIECES]), self.entry.pieces.index(x)
        elif isinstance(x, Output):
            slot = int(table[Head.OUTPUTS]), x.number
        else:
            return self.place(x)
        begin, number = slot
        return {Field.KIND: Kind.POINTER, Field.OWNER: begin + 8 * (RECORD * number + Field.MADE)}

    def recording(self, recording: Recording) -> Record:
        offsets = at.layouts().recorded
        slots = [(offsets[k], self.object(x)) for k, x in recording.attributes().items()]
        return {
            Field.OBJECT: self.object(CompiledBackward),
            Field.PARTS: self.numbers(tuple(word for pair in slots for word in pair)),
            Field.COUNT: len(slots),
            Field.CLOCK: self.object(tick),
            Field.CALL: self.object(here),
        }

    def edge(self, place: Place) -> Record:
        return {**self.place(place), Field.CALL: self.object(current_node)}

    def piece(self, piece: Piece, table: np.ndarray) -> Record:
        record = {
            **self.found(piece.base, table),
            Field.OBJECT: self.object(piece.of),
            Field.SIGHT: Sight.ASKED if piece.part is None else _sight(piece.part),
            Field.NODE: self.object(piece.node),
            Field.NDIM: -1,
        }
        part = piece.part
        if part is None:
            return record
        record[Field.ORIGIN] = self.object(INFERENCE if part.inference else None)
        if part.lies is not None:
            size = part.itemsize
            shape, strides, offset = part.lies
            record |= {Field.NDIM: len(shape), Field.DIMENSIONS: self.numbers(shape)}
            record[Field.STRIDES] = self.numbers(tuple(size * step for step in strides))
            record[Field.OFFSET] = size * offset
        call, creation = map(self.object, piece.view)
        return record | {Field.CALL: call, Field.CREATION: creation, Field.CLOCK: self.object(tick)}


def _tells(guard: Guard, x: Any) -> bool:
    place: Any = dataclasses.replace(guard.place, of=Argument(0))  # type: ignore[arg-type]
    return dataclasses.replace(guard, place=place).holds([x])


def _history(form: Array) -> History:
    if form.history is None and form.origin is not None:
        return History.MARK
    return _HISTORIES[form.history]


_HISTORIES = {
    None: History.NONE,
    AccumulateGrad: History.LEAF,
    Node: History.COMPUTED,
    ...: History.ANY,
}


def _sight(part: Part) -> Sight:
    if part.view:
        return Sight.VIEW
    if part.versions:
        return Sight.COUNTED
    return Sight.TENSOR if part.tensor else Sight.ARRAY


def _dictionary_of(place: Place) -> dict[Any, Any] | None:
    """The dictionary whose version tells that nothing at a place has changed."""
    match place:
        case Item(mapping):
            return mapping
        case Contents(dict() as mapping) if is_in_order(mapping):
            return mapping
    return None


def is_in_order(container: Any) -> bool:
    """Whether machine code finds the parts of a container, in its order."""
    if isinstance(container, OrderedDict):
        return len(container) < 2
    return isinstance(container, list | dict)


def _tell(entry: Entry, writes: int, tensor: Tensor) -> None:
    entry.wrote(tensor, writes)


def _recorded(place: Place) -> Tensor | None:
    """The tensor, if this is its history; not that of a view, which follows its base."""
    if not isinstance(place, Recorded) or not isinstance(place.of, Known):
        return None
    x: Tensor = place.of.object
    return x if x._origin is None else None


def _is_of_leaf(node: Any) -> bool:
    """Whether this is the node of a leaf: it gets another when it requires grad again."""
    return isinstance(node, AccumulateGrad)
