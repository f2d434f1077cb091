"""The native entry: one function of machine code that serves all compiled functions.

It has the signature of CPython's METH_FASTCALL | METH_KEYWORDS, reads Python's and NumPy's objects
where `layouts.py` found them, and does what `entry_reference.py` says, driven by a table of words
(of 8 bytes) that `entry_native.py` fills. It is compiled once and kept on disk.

All addresses are integers here: the code reads memory at known distances from them.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.call import entry
from wengert.compile.call import layouts as at
from wengert.compile.call.entry import KEPT
from wengert.compile.llvm.machine.host import Code, compile_module, compile_text, register

WORD = ir.IntType(64)
HALF = ir.IntType(32)
BYTE = ir.IntType(8)
BIT = ir.IntType(1)
DOUBLE = ir.DoubleType()

RECORD = 19  # words


class Head(IntEnum):
    """The first words of a table. From ARGUMENTS on: an address, and in the next word a count."""

    BODY = 0
    BUFFERS = 1
    BUSY = 2
    SLOW = 3
    TICK = 4  # the clock, if something is written
    REBUILD = 5
    MANY = 6
    CALLS = 7
    EMPTY = 8  # the empty tuple
    ARGUMENTS = 9  # how many are given by position
    NAMES = 10  # of the others: a tuple, or 0
    SLOTS = 11
    CONTAINERS = 13
    GUARDS = 15
    INPUTS = 17
    REGIONS = 19
    OUTPUTS = 21
    RESULTS = 23
    ALIASING = 25
    WORDS = 27


class Kind(IntEnum):
    """How to come to the object that a record is about."""

    OBJECT = 0  # the owner itself
    POINTER = 1  # what lies at an address
    ITEM = 2  # of a dict, under a key
    ELEMENT = 3  # so many bytes after the first item of a list
    ATTRIBUTE = 4
    MEMBER = 5  # an attribute of what lies at an address


class Way(IntEnum):
    """How to come to the parts of a container."""

    TUPLE = 0
    LIST = 1
    DICT = 2
    ASKED = 3  # a Python function gives them in a tuple, or None


class Form(IntEnum):
    """What the object has to be, or is made to be."""

    TENSOR = 0
    ARRAY = 1
    BITS = 2  # of a number of a type that holds so many words
    FLOAT = 3
    COMPLEX = 4
    INT = 5
    BOOL = 6
    SCALAR = 7  # NumPy's number of an array of no dimensions
    SAME = 8  # as the one expected
    EQUAL = 9  # that, or one that a Python function finds equal
    OTHER = 10
    GRADIENT = 11  # a Tensor, put where the record says
    NONE = 12  # put there


class Field(IntEnum):
    """The words of a record; each section uses some."""

    KIND = 0
    WAY = 0  # of a container
    OWNER = 1  # a dict, the owner of an attribute, or an address
    KEY = 2
    KEYS = 2  # of a container: where they lie
    FORM = 3
    OBJECT = 4  # expected; or a Tensor's type, or 0
    BUFFER = 5  # where the buffer's address goes, or where a number lies
    DTYPE = 6
    EQUAL = 6  # of a guard: the function to ask
    TYPE_NUMBER = 7
    NDIM = 8
    COUNT = 8  # of a container's parts, or a number's words
    DIMENSIONS = 9
    PARTS = 9  # the slots of a container's parts
    FLAGS = 10  # that an array must have
    WRITES = 11  # by how much a tensor's version goes up
    NODE = 11  # of an output: the history that it gets
    HISTORY = 12  # of an input: that it has none (0), has one (1), or either (2)
    KEPT = 12  # of an output: the place of references to arrays given out before, if any are kept
    LAST = 13  # where an input's data was at the last call
    ARRAY = 14  # while a call runs
    MADE = 15  # while a call runs: an output's object, or a container's parts; ours
    FOUND = 15  # while a call runs: an input's object
    WROTE = 16  # to be called with it, if something is written
    STRIDES = 18  # that an array must have; 0 if it is row-major, -1 if any will do
    COPY = 17  # while a call runs: of an input that is not laid out as the body reads it; ours


class Span(IntEnum):
    """The words of a region."""

    BUFFER = 0  # where its address is put
    NBYTES = 1
    WRITTEN = 2  # all bits, or none
    BEGIN = 3  # while it is looked at
    WORDS = 4


_SIGNATURES: dict[str, tuple[ir.Type, tuple[ir.Type, ...]]] = {
    "python.Py_IncRef": (ir.VoidType(), (WORD,)),
    "python.Py_DecRef": (ir.VoidType(), (WORD,)),
    "python.PyErr_Clear": (ir.VoidType(), ()),
    "python.PyObject_Vectorcall": (WORD, (WORD, WORD, WORD, WORD)),
    "python.PyObject_CallOneArg": (WORD, (WORD, WORD)),
    "python.PyObject_CallNoArgs": (WORD, (WORD,)),
    "python.PyObject_GetAttr": (WORD, (WORD, WORD)),
    "python.PyDict_GetItemWithError": (WORD, (WORD, WORD)),
    "python.PyDict_SetItem": (HALF, (WORD, WORD, WORD)),
    "python.PyDict_Next": (HALF, (WORD, WORD, WORD, WORD)),
    "python.PyUnicode_Compare": (HALF, (WORD, WORD)),
    "python.PyTuple_New": (WORD, (WORD,)),
    "python.PyTuple_SetItem": (HALF, (WORD, WORD, WORD)),
    "python.PyFloat_FromDouble": (WORD, (DOUBLE,)),
    "python.PyComplex_FromDoubles": (WORD, (DOUBLE, DOUBLE)),
    "python.PyLong_AsLongLong": (WORD, (WORD,)),
    "python.PyLong_FromLongLong": (WORD, (WORD,)),
    "python.PyBool_FromLong": (WORD, (WORD,)),
    "python.PyErr_Occurred": (WORD, ()),
    "entry.object_new": (WORD, (WORD, WORD, WORD)),
    "entry.scalar": (WORD, (WORD,)),
    "entry.copy": (WORD, (WORD, HALF)),
    "entry.new_array": (WORD, (WORD, WORD, HALF, WORD, WORD, WORD, HALF, WORD)),
}


class Writer:
    """Writes one function: words in, words out."""

    def __init__(self, module: ir.Module, name: str, returns: ir.Type, *args: ir.Type) -> None:
        self.module = module
        self.function = ir.Function(module, ir.FunctionType(returns, args), name)
        self.function.attributes.add("nounwind")
        self.build = ir.IRBuilder(self.function.append_basic_block("start"))

    def variable(self) -> ir.Value:
        """A word that may change, for `build.load` and `build.store`; it becomes a register."""
        with self.build.goto_entry_block():
            return self.build.alloca(WORD)

    def number(self, value: int, kind: ir.Type = WORD) -> ir.Value:
        return ir.Constant(kind, int(value))

    def load(self, base: ir.Value, distance: int, kind: ir.Type = WORD) -> ir.Value:
        address = self.build.add(base, self.number(distance))
        return self.build.load(self.build.inttoptr(address, kind.as_pointer()), align=1)

    def word(self, base: ir.Value, index: int) -> ir.Value:
        return self.load(base, 8 * index)

    def store(self, value: ir.Value, base: ir.Value, index: int = 0) -> None:
        address = self.build.add(base, self.number(8 * index))
        self.build.store(value, self.build.inttoptr(address, value.type.as_pointer()), align=1)

    def same(self, a: ir.Value, b: ir.Value | int) -> ir.Value:
        return self.build.icmp_signed("==", a, self.number(b, a.type) if isinstance(b, int) else b)

    def differs(self, a: ir.Value, b: ir.Value | int) -> ir.Value:
        return self.build.icmp_signed("!=", a, self.number(b, a.type) if isinstance(b, int) else b)

    def maximum(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.build.select(self.build.icmp_unsigned(">", a, b), a, b)

    def known(self, name: str) -> ir.Value:
        """The address of an object of the process."""
        if name not in self.module.globals:
            ir.GlobalVariable(self.module, BYTE, name)
        return self.build.ptrtoint(self.module.globals[name], WORD)

    def call(self, name: str, *args: ir.Value) -> Any:
        if name not in self.module.globals:
            returns, kinds = _SIGNATURES[name]
            ir.Function(self.module, ir.FunctionType(returns, kinds), name)
        return self.build.call(self.module.globals[name], args)

    def call_address(self, address: ir.Value, returns: ir.Type, *args: ir.Value) -> ir.Value:
        kind = ir.FunctionType(returns, [arg.type for arg in args])
        return self.build.call(self.build.inttoptr(address, kind.as_pointer()), args)

    def when(self, true: ir.Value) -> contextlib.AbstractContextManager[Any]:
        return self.build.if_then(true)

    def need(self, true: ir.Value, otherwise: ir.Block) -> None:
        """Go on if this is true, else there."""
        on = self.function.append_basic_block("on")
        self.build.cbranch(true, on, otherwise)
        self.build.position_at_end(on)

    def block(self, name: str) -> ir.Block:
        return self.function.append_basic_block(name)

    @contextlib.contextmanager
    def each(self, begin: ir.Value, count: ir.Value, words: int = RECORD) -> Iterator[ir.Value]:
        """A loop over records."""
        step = self.number(8 * words)
        end = self.build.add(begin, self.build.mul(count, step))
        before = self.build.block
        head, inside, after = self.block("each"), self.block("inside"), self.block("after")
        self.build.branch(head)
        self.build.position_at_end(head)
        record = self.build.phi(WORD)
        record.add_incoming(begin, before)
        self.build.cbranch(self.differs(record, end), inside, after)
        self.build.position_at_end(inside)
        yield record
        record.add_incoming(self.build.add(record, step), self.build.block)
        self.build.branch(head)
        self.build.position_at_end(after)

    def section(
        self, table: ir.Value, section: Head
    ) -> contextlib.AbstractContextManager[ir.Value]:
        return self.each(*self.span(table, section))

    def span(self, table: ir.Value, section: Head) -> tuple[ir.Value, ir.Value]:
        """Where a section begins, and how many records it has."""
        return self.word(table, section), self.word(table, section + 1)

    def copy(self, source: ir.Value, target: ir.Value, count: ir.Value) -> None:
        """So many words."""
        distance = self.build.sub(source, target)
        with self.each(target, count, 1) as place:
            self.store(self.word(self.build.add(place, distance), 0), place)

    def has_form(self, record: ir.Value, *forms: Form) -> ir.Value:
        found = self.word(record, Field.FORM)
        true = self.same(found, forms[0])
        for form in forms[1:]:
            true = self.build.or_(true, self.same(found, form))
        return true


# ---- small functions -----------------------------------------------------------------------


def _write_alike(module: ir.Module) -> None:
    """alike(record, array): whether the array is one of the record's dtype, shape and strides."""
    w = Writer(module, "alike", BIT, WORD, WORD)
    w.function.linkage = "internal"
    w.function.attributes.add("alwaysinline")
    record, array = w.function.args
    no = w.block("no")
    w.need(w.differs(array, 0), no)  # an empty slot
    w.need(w.same(w.load(array, at.TYPE), w.known("entry.ndarray")), no)
    dtype = w.load(array, at.DTYPE)
    other, shape = w.block("other"), w.block("shape")
    w.build.cbranch(w.same(dtype, w.word(record, Field.DTYPE)), shape, other)
    # Unpickling makes dtypes that are equal to NumPy's own without being them.
    w.build.position_at_end(other)
    type_number = w.build.sext(w.load(dtype, at.TYPE_NUMBER, HALF), WORD)
    w.need(w.same(type_number, w.word(record, Field.TYPE_NUMBER)), no)
    order = w.load(dtype, at.BYTE_ORDER, BYTE)
    native = w.build.or_(w.same(order, ord("=")), w.same(order, ord("|")))
    w.need(w.build.or_(native, w.same(order, ord("<"))), no)
    w.build.branch(shape)
    w.build.position_at_end(shape)
    ndim = w.word(record, Field.NDIM)
    w.need(w.same(w.build.sext(w.load(array, at.NDIM, HALF), WORD), ndim), no)
    expected = w.word(record, Field.DIMENSIONS)
    distance = w.build.sub(w.load(array, at.DIMENSIONS), expected)
    with w.each(expected, ndim, 1) as dimension:
        w.need(w.same(w.word(dimension, 0), w.word(w.build.add(dimension, distance), 0)), no)
    strides = w.word(record, Field.STRIDES)
    with w.when(w.same(strides, 0)):
        flags = w.build.zext(w.load(array, at.FLAGS, HALF), WORD)
        w.build.ret(w.differs(w.build.and_(flags, w.number(at.C_CONTIGUOUS)), 0))
    with w.when(w.same(strides, -1)):
        w.build.ret(w.number(1, BIT))
    distance = w.build.sub(w.load(array, at.STRIDES), strides)
    with w.each(strides, ndim, 1) as stride:
        w.need(w.same(w.word(stride, 0), w.word(w.build.add(stride, distance), 0)), no)
    w.build.ret(w.number(1, BIT))
    w.build.position_at_end(no)
    w.build.ret(w.number(0, BIT))


def _write_flagged(module: ir.Module) -> None:
    """flagged(record, array): whether the array has the record's flags."""
    w = Writer(module, "flagged", BIT, WORD, WORD)
    w.function.linkage = "internal"
    w.function.attributes.add("alwaysinline")
    record, array = w.function.args
    flags = w.build.zext(w.load(array, at.FLAGS, HALF), WORD)
    wanted = w.word(record, Field.FLAGS)
    w.build.ret(w.same(w.build.and_(flags, wanted), wanted))


def _write_fits(module: ir.Module) -> None:
    """fits(record, array): whether the array is one of the record's dtype, shape and flags."""
    w = Writer(module, "fits", BIT, WORD, WORD)
    w.function.linkage = "internal"
    record, array = w.function.args
    no = w.block("no")
    w.need(w.call("alike", record, array), no)
    w.build.ret(w.call("flagged", record, array))
    w.build.position_at_end(no)
    w.build.ret(w.number(0, BIT))


def _write_clear(module: ir.Module) -> None:
    """clear(table, array): whether an array of any strides lies apart from what is written."""
    w = Writer(module, "clear", BIT, WORD, WORD)
    w.function.linkage = "internal"
    table, array = w.function.args
    low, high = w.variable(), w.variable()
    data, itemsize = w.load(array, at.DATA), w.load(w.load(array, at.DTYPE), at.ITEMSIZE)
    w.build.store(data, low)
    w.build.store(w.build.add(data, itemsize), high)
    dimensions, strides = w.load(array, at.DIMENSIONS), w.load(array, at.STRIDES)
    distance = w.build.sub(strides, dimensions)
    ndim = w.build.sext(w.load(array, at.NDIM, HALF), WORD)
    with w.each(dimensions, ndim, 1) as place:
        last = w.build.sub(w.word(place, 0), w.number(1))
        reach = w.build.mul(last, w.word(w.build.add(place, distance), 0))
        down = w.build.icmp_signed("<", reach, w.number(0))
        for variable, way in ((low, down), (high, w.build.not_(down))):
            step = w.build.select(way, reach, w.number(0))
            w.build.store(w.build.add(w.build.load(variable), step), variable)
    no = w.block("no")
    with w.each(*w.span(table, Head.REGIONS), Span.WORDS) as region:
        begin = w.word(w.word(region, Span.BUFFER), 0)
        end = w.build.add(begin, w.word(region, Span.NBYTES))
        before = w.build.icmp_unsigned("<=", w.build.load(high), begin)
        after = w.build.icmp_unsigned("<=", end, w.build.load(low))
        apart = w.build.or_(before, after)
        w.need(w.build.or_(apart, w.same(w.word(region, Span.WRITTEN), 0)), no)
    w.build.ret(w.number(1, BIT))
    w.build.position_at_end(no)
    w.build.ret(w.number(0, BIT))


def _write_fresh(module: ir.Module) -> None:
    """fresh(record): a new array of the record's dtype and shape, or 0."""
    w = Writer(module, "fresh", WORD, WORD)
    w.function.linkage = "internal"
    (record,) = w.function.args
    dtype = w.word(record, Field.DTYPE)
    w.call("python.Py_IncRef", dtype)  # the call takes one over
    zero, none = w.number(0), w.number(0, HALF)
    ndim = w.build.trunc(w.word(record, Field.NDIM), HALF)
    dimensions = w.word(record, Field.DIMENSIONS)
    array = w.known("entry.ndarray")
    w.build.ret(w.call("entry.new_array", array, dtype, ndim, dimensions, zero, zero, none, zero))


def _write_output(module: ir.Module) -> None:
    """output(record): an array for an output, one given out before if nobody else can see it; or 0.

    A kept array has the one reference that is kept. A new one takes the first place; the last goes.
    """
    w = Writer(module, "output", WORD, WORD)
    w.function.linkage = "internal"
    (record,) = w.function.args
    begin = w.word(record, Field.KEPT)
    with w.when(w.same(begin, 0)):
        w.build.ret(w.call("fresh", record))
    with w.each(begin, w.number(KEPT), 1) as place:
        following = w.block("following")
        array = w.word(place, 0)
        w.need(w.call("fits", record, array), following)
        w.need(w.same(w.load(array, at.COUNT, HALF), 1), following)
        for part in (at.BASE, at.WEAK_REFERENCES):
            w.need(w.same(w.load(array, part), 0), following)
        w.call("python.Py_IncRef", array)
        w.build.ret(array)
        w.build.position_at_end(following)
    made = w.call("fresh", record)
    with w.when(w.differs(made, 0)):
        last = w.word(begin, KEPT - 1)
        for k in reversed(range(1, KEPT)):
            w.store(w.word(begin, k - 1), begin, k)
        w.call("python.Py_IncRef", made)
        w.store(made, begin)
        w.call("python.Py_DecRef", last)
    w.build.ret(made)


def _write_wrap(module: ir.Module, offsets: at.Layouts) -> None:
    """wrap(type, array, node, empty): a new Tensor, which takes over the array; or 0."""
    w = Writer(module, "wrap", WORD, WORD, WORD, WORD, WORD)
    w.function.linkage = "internal"
    kind, array, node, empty = w.function.args
    tensor = w.call("entry.object_new", kind, empty, w.number(0))
    failed = w.block("failed")
    w.need(w.differs(tensor, 0), failed)
    none = w.known("python._Py_NoneStruct")
    w.store(array, w.build.add(tensor, w.number(offsets.array)))
    for slot, value in ((offsets.node, node), (offsets.origin, none), (offsets.cell, none)):
        w.call("python.Py_IncRef", value)
        w.store(value, w.build.add(tensor, w.number(slot)))
    w.build.ret(tensor)
    w.build.position_at_end(failed)
    w.call("python.Py_DecRef", array)
    w.build.ret(tensor)


def _write_item(module: ir.Module) -> None:
    """item(dict, key): what is there, borrowed; or 0, with no exception set."""
    w = Writer(module, "item", WORD, WORD, WORD)
    w.function.linkage = "internal"
    found = w.call("python.PyDict_GetItemWithError", *w.function.args)
    with w.when(w.same(found, 0)):
        w.call("python.PyErr_Clear")
    w.build.ret(found)


def _write_attribute(module: ir.Module) -> None:
    """attribute(owner, name): its value, borrowed of the owner; or 0, with no exception set."""
    w = Writer(module, "attribute", WORD, WORD, WORD)
    w.function.linkage = "internal"
    value = w.call("python.PyObject_GetAttr", *w.function.args)
    with w.when(w.same(value, 0)):
        w.call("python.PyErr_Clear")
        w.build.ret(value)
    w.call("python.Py_DecRef", value)
    w.build.ret(value)


def _write_find(module: ir.Module) -> None:
    """find(record): the object that a record is about, borrowed; or 0, with no exception set."""
    w = Writer(module, "find", WORD, WORD)
    w.function.linkage = "internal"
    (record,) = w.function.args
    owner, key = w.word(record, Field.OWNER), w.word(record, Field.KEY)
    attribute = w.block("attribute")
    choice = w.build.switch(w.word(record, Field.KIND), attribute)

    def found(kind: Kind, value: Callable[[], ir.Value]) -> None:
        choice.add_case(w.number(kind), block := w.block(kind.name.lower()))
        w.build.position_at_end(block)
        w.build.ret(value())

    found(Kind.ITEM, lambda: w.call("item", owner, key))
    found(Kind.POINTER, lambda: w.word(owner, 0))
    found(Kind.OBJECT, lambda: owner)
    found(Kind.ELEMENT, lambda: w.word(w.build.add(w.word(owner, 0), key), 0))
    found(Kind.MEMBER, lambda: w.call("attribute", w.word(owner, 0), key))
    w.build.position_at_end(attribute)
    w.build.ret(w.call("attribute", owner, key))


def _write_is_key(module: ir.Module) -> None:
    """is_key(a, b): whether two keys are one object, or equal strings."""
    w = Writer(module, "is_key", BIT, WORD, WORD)
    w.function.linkage = "internal"
    a, b = w.function.args
    with w.when(w.same(a, b)):
        w.build.ret(w.number(1, BIT))
    no = w.block("no")
    for key in (a, b):
        w.need(w.same(w.load(key, at.TYPE), w.known("python.PyUnicode_Type")), no)
    w.build.ret(w.same(w.call("python.PyUnicode_Compare", a, b), 0))
    w.build.position_at_end(no)
    w.build.ret(w.number(0, BIT))


def _write_items(module: ir.Module) -> None:
    """items(record, dict): lay a dictionary's values in their slots; whether it has these keys."""
    w = Writer(module, "items", BIT, WORD, WORD)
    w.function.linkage = "internal"
    record, mapping = w.function.args
    position, key, value = (w.variable() for _ in range(3))
    w.build.store(w.number(0), position)
    addresses = [w.build.ptrtoint(x, WORD) for x in (position, key, value)]
    no, begin = w.block("no"), w.word(record, Field.PARTS)
    distance = w.build.sub(w.word(record, Field.KEYS), begin)
    with w.each(begin, w.word(record, Field.COUNT), 1) as slot:
        w.need(w.differs(w.call("python.PyDict_Next", mapping, *addresses), 0), no)
        expected = w.word(w.build.add(slot, distance), 0)
        w.need(w.call("is_key", w.build.load(key), expected), no)
        w.store(w.build.load(value), slot)
    w.build.ret(w.number(1, BIT))
    w.build.position_at_end(no)
    w.build.ret(w.number(0, BIT))


def _write_opens(module: ir.Module) -> None:
    """opens(record): lay a container's parts in their slots; whether it is such a container."""
    w = Writer(module, "opens", BIT, WORD)
    w.function.linkage = "internal"
    (record,) = w.function.args
    no, asked, given = w.block("no"), w.block("asked"), w.block("given")
    way, count = w.word(record, Field.WAY), w.word(record, Field.COUNT)
    item = w.word(w.word(record, Field.OWNER), 0)
    w.build.cbranch(w.same(way, Way.ASKED), asked, given)

    w.build.position_at_end(asked)
    made = w.call("python.PyObject_CallOneArg", w.word(record, Field.OBJECT), item)
    w.store(made, record, Field.MADE)
    with w.when(w.same(made, 0)):
        w.call("python.PyErr_Clear")
    w.need(w.differs(made, w.known("python._Py_NoneStruct")), no)
    w.need(w.differs(made, 0), no)
    w.copy(w.build.add(made, w.number(at.TUPLE_ITEMS)), w.word(record, Field.PARTS), count)
    w.build.ret(w.number(1, BIT))

    w.build.position_at_end(given)
    w.need(w.same(w.load(item, at.TYPE), w.word(record, Field.OBJECT)), no)
    w.need(w.same(w.load(item, at.LENGTH), count), no)
    with w.when(w.same(way, Way.DICT)):
        w.build.ret(w.call("items", record, item))
    with w.when(w.same(way, Way.LIST)):
        w.copy(w.load(item, at.ITEMS), w.word(record, Field.PARTS), count)
        w.build.ret(w.number(1, BIT))
    w.copy(w.build.add(item, w.number(at.TUPLE_ITEMS)), w.word(record, Field.PARTS), count)
    w.build.ret(w.number(1, BIT))
    w.build.position_at_end(no)
    w.build.ret(w.number(0, BIT))


def _write_accept(module: ir.Module) -> None:
    """accept(record, object): put a number's value in its place; whether it is as expected."""
    w = Writer(module, "accept", BIT, WORD, WORD)
    w.function.linkage = "internal"
    record, value = w.function.args
    no, place = w.block("no"), w.word(record, Field.BUFFER)
    w.need(w.differs(value, 0), no)
    w.need(w.same(w.load(value, at.TYPE), w.word(record, Field.OBJECT)), no)
    with w.when(w.has_form(record, Form.BITS)):
        w.copy(w.build.add(value, w.number(at.NUMBER)), place, w.word(record, Field.COUNT))
        w.build.ret(w.number(1, BIT))
    with w.when(w.has_form(record, Form.BOOL)):
        w.store(w.build.zext(w.same(value, w.known("python._Py_TrueStruct")), BYTE), place)
        w.build.ret(w.number(1, BIT))
    number = w.call("python.PyLong_AsLongLong", value)
    with w.when(w.same(number, -1)), w.when(w.differs(w.call("python.PyErr_Occurred"), 0)):
        w.call("python.PyErr_Clear")
        w.build.branch(no)
    w.store(number, place)
    w.build.ret(w.number(1, BIT))
    w.build.position_at_end(no)
    w.build.ret(w.number(0, BIT))


def _write_holds(module: ir.Module) -> None:
    """holds(record, object): whether a guard's object is as the record says."""
    w = Writer(module, "holds", BIT, WORD, WORD)
    w.function.linkage = "internal"
    record, value = w.function.args
    expected = w.word(record, Field.OBJECT)
    with w.when(w.same(value, expected)):
        w.build.ret(w.build.not_(w.has_form(record, Form.OTHER)))
    with w.when(w.has_form(record, Form.OTHER)):
        w.build.ret(w.number(1, BIT))
    no = w.block("no")
    w.need(w.has_form(record, Form.EQUAL), no)
    w.need(w.differs(value, 0), no)
    w.need(w.same(w.load(value, at.TYPE), w.load(expected, at.TYPE)), no)
    answer = w.call("python.PyObject_CallOneArg", w.word(record, Field.EQUAL), value)
    with w.when(w.same(answer, 0)):
        w.call("python.PyErr_Clear")
        w.build.branch(no)
    w.call("python.Py_DecRef", answer)
    w.build.ret(w.same(answer, w.known("python._Py_TrueStruct")))
    w.build.position_at_end(no)
    w.build.ret(w.number(0, BIT))


def _write_reusable(module: ir.Module, offsets: at.Layouts) -> None:
    """reusable(record): the gradient whose memory may be used again, borrowed; or 0."""
    w = Writer(module, "reusable", WORD, WORD)
    w.function.linkage = "internal"
    (record,) = w.function.args
    no = w.block("no")
    found = w.call("item", w.word(record, Field.OWNER), w.word(record, Field.KEY))
    w.need(w.differs(found, 0), no)
    w.need(w.same(w.load(found, at.TYPE), w.known("entry.Tensor")), no)
    w.need(w.same(w.load(found, at.COUNT, HALF), 1), no)
    none = w.known("python._Py_NoneStruct")
    for slot in (offsets.node, offsets.origin, offsets.cell):
        w.need(w.same(w.load(found, slot), none), no)
    array = w.load(found, offsets.array)
    w.need(w.call("fits", record, array), no)
    w.need(w.same(w.load(array, at.COUNT, HALF), 1), no)
    w.need(w.same(w.load(array, at.BASE), 0), no)
    w.build.ret(found)
    w.build.position_at_end(no)
    w.build.ret(w.number(0))


def _write_release(module: ir.Module) -> None:
    """release(table): let go of what the call made and still holds."""
    w = Writer(module, "release", ir.VoidType(), WORD)
    w.function.linkage = "internal"
    (table,) = w.function.args
    for section, field in (
        (Head.CONTAINERS, Field.MADE),
        (Head.INPUTS, Field.COPY),
        (Head.OUTPUTS, Field.ARRAY),
        (Head.OUTPUTS, Field.MADE),
    ):
        with w.section(table, section) as record:
            reference = w.word(record, field)
            with w.when(w.differs(reference, 0)):
                w.store(w.number(0), record, field)
                w.call("python.Py_DecRef", reference)
    w.build.ret_void()


def _write_apart(module: ir.Module) -> None:
    """apart(begin, end): whether regions begin at different places, and what is written overlaps
    with nothing. They stay sorted from call to call: where little moved there is little to do.
    """
    w = Writer(module, "apart", BIT, WORD, WORD)
    w.function.linkage = "internal"
    begin, end = w.function.args
    count = w.build.udiv(w.build.sub(end, begin), w.number(8 * Span.WORDS))
    last, reached, written = (w.variable() for _ in range(3))
    for variable in (last, reached, written):
        w.build.store(w.number(0), variable)
    with w.each(begin, count, Span.WORDS) as region:
        w.store(w.word(w.word(region, Span.BUFFER), 0), region, Span.BEGIN)
        w.call("settle", begin, region)
    no = w.block("no")
    with w.each(begin, count, Span.WORDS) as region:
        at, is_written = w.word(region, Span.BEGIN), w.word(region, Span.WRITTEN)
        over = w.build.add(at, w.word(region, Span.NBYTES))
        w.need(w.differs(at, w.build.load(last)), no)
        w.build.store(at, last)
        free = w.maximum(w.build.load(written), w.build.and_(w.build.load(reached), is_written))
        w.need(w.build.icmp_unsigned("<=", free, at), no)
        w.build.store(w.maximum(w.build.load(reached), over), reached)
        ends = w.build.and_(over, is_written)
        w.build.store(w.maximum(w.build.load(written), ends), written)
    w.build.ret(w.number(1, BIT))
    w.build.position_at_end(no)
    w.build.ret(w.number(0, BIT))


def _write_settle(module: ir.Module) -> None:
    """settle(begin, region): move a region down to its place among the sorted ones before it."""
    w = Writer(module, "settle", ir.VoidType(), WORD, WORD)
    w.function.linkage = "internal"
    begin, region = w.function.args
    words = [w.word(region, field) for field in range(Span.WORDS)]
    place = w.variable()
    w.build.store(region, place)
    look, compare, move, done = map(w.block, ("look", "compare", "move", "done"))
    w.build.branch(look)
    w.build.position_at_end(look)
    here = w.build.load(place)
    before = w.build.sub(here, w.number(8 * Span.WORDS))
    w.build.cbranch(w.same(here, begin), done, compare)
    w.build.position_at_end(compare)
    sorted_ = w.build.icmp_unsigned("<=", w.word(before, Span.BEGIN), words[Span.BEGIN])
    w.build.cbranch(sorted_, done, move)
    w.build.position_at_end(move)
    for field in range(Span.WORDS):
        w.store(w.word(before, field), here, field)
    w.build.store(before, place)
    w.build.branch(look)
    w.build.position_at_end(done)
    for field, word in enumerate(words):
        w.store(word, here, field)
    w.build.ret_void()


# ---- the entry -----------------------------------------------------------------------------


class _Entry:
    """The entry, phase by phase. `slow` is where to go before the body ran, `lost` after."""

    def __init__(self, module: ir.Module, offsets: at.Layouts, table_offset: int) -> None:
        self.w = w = Writer(module, "entry", WORD, WORD, WORD, WORD, WORD)
        self.offsets = offsets
        frame, self.args, self.count, self.names = w.function.args
        self.array, self.copied = w.variable(), w.variable()
        self.table = w.load(w.load(frame, table_offset), at.DATA)
        self.none = w.known("python._Py_NoneStruct")
        self.slow, self.lost = w.block("slow"), w.block("lost")

    def write(self) -> None:
        w, table = self.w, self.table
        busy = w.block("busy")
        w.need(w.same(w.word(table, Head.BUSY), 0), busy)
        w.store(w.number(1), table, Head.BUSY)
        self.arguments()
        self.guards()
        self.inputs()
        self.outputs()
        self.body()
        self.count_writes()
        self.finish_outputs()
        self.result()
        w.build.position_at_end(self.slow)
        self.leave()
        w.build.branch(busy)
        w.build.position_at_end(busy)
        slow = w.word(table, Head.SLOW)
        w.build.ret(w.call("python.PyObject_Vectorcall", slow, self.args, self.count, self.names))
        w.build.position_at_end(self.lost)
        self.leave()
        w.build.ret(w.number(0))

    def leave(self) -> None:
        self.w.call("release", self.table)
        self.w.store(self.w.number(0), self.table, Head.BUSY)

    def find(self, record: ir.Value) -> ir.Value:
        return self.w.call("find", record)

    # ---- before the body ----

    def arguments(self) -> None:
        """Lay the arguments in their slots, and the parts of the containers among them."""
        w, table = self.w, self.table
        w.need(w.same(self.count, w.word(table, Head.ARGUMENTS)), self.slow)
        expected, more = w.word(table, Head.NAMES), w.variable()
        w.need(w.same(w.differs(self.names, 0), w.differs(expected, 0)), self.slow)
        w.build.store(self.count, more)
        with w.when(w.differs(expected, 0)):
            named = w.load(expected, at.LENGTH)
            w.need(w.same(w.load(self.names, at.LENGTH), named), self.slow)
            first, distance = (
                w.build.add(expected, w.number(at.TUPLE_ITEMS)),
                w.build.sub(self.names, expected),
            )
            with w.each(first, named, 1) as place:
                name, given = w.word(place, 0), w.word(w.build.add(place, distance), 0)
                w.need(w.call("is_key", given, name), self.slow)
            w.build.store(w.build.add(self.count, named), more)
        w.copy(self.args, w.word(table, Head.SLOTS), w.build.load(more))
        with w.section(table, Head.CONTAINERS) as record:
            w.need(w.call("opens", record), self.slow)

    def guards(self) -> None:
        w = self.w
        with w.section(self.table, Head.GUARDS) as record:
            w.need(w.call("holds", record, self.find(record)), self.slow)

    def inputs(self) -> None:
        """Arrays and numbers that come in, and that no memory that is written is another's."""
        w, table = self.w, self.table
        moved = w.variable()
        for variable in (moved, self.copied):
            w.build.store(w.number(0), variable)
        with w.section(table, Head.INPUTS) as record:
            found = self.find(record)
            w.need(w.differs(found, 0), self.slow)
            is_array = w.has_form(record, Form.TENSOR, Form.ARRAY)
            with w.build.if_else(is_array) as (array, number):
                with array:
                    distance = w.build.xor(self.take(record, found), w.word(record, Field.LAST))
                    w.build.store(w.build.or_(w.build.load(moved), distance), moved)
                with number:
                    w.need(w.call("accept", record, found), self.slow)
        self.aliasing()
        with w.when(w.differs(w.build.load(moved), 0)):
            w.need(w.call("apart", w.word(table, Head.REGIONS), self.end_of_regions()), self.slow)
            with w.section(table, Head.INPUTS) as record:
                data = w.word(w.word(record, Field.BUFFER), 0)
                w.store(data, record, Field.LAST)
        self.originals_apart()

    def take(self, record: ir.Value, found: ir.Value) -> ir.Value:
        """Put where an array's data is into the table of buffers, if it is as expected."""
        w = self.w
        w.build.store(found, self.array)
        with w.when(w.has_form(record, Form.TENSOR)):
            w.need(w.same(w.load(found, at.TYPE), w.word(record, Field.OBJECT)), self.slow)
            with w.when(w.same(w.word(record, Field.HISTORY), 0)):
                w.need(w.same(w.load(found, self.offsets.node), self.none), self.slow)
                self.without_history(w.load(found, self.offsets.origin))
            with w.when(w.same(w.word(record, Field.HISTORY), 1)):
                w.need(w.differs(w.load(found, self.offsets.node), self.none), self.slow)
            w.store(found, record, Field.FOUND)
            w.build.store(w.load(found, self.offsets.array), self.array)
        array = w.build.load(self.array)
        w.need(w.call("alike", record, array), self.slow)
        w.store(array, record, Field.ARRAY)
        with w.when(w.build.not_(w.call("flagged", record, array))):
            self.copy(record, array)
        data = w.load(w.build.load(self.array), at.DATA)
        w.store(data, w.word(record, Field.BUFFER))
        return data

    def copy(self, record: ir.Value, array: ir.Value) -> None:
        """An array of other strides is read from a copy; one that is written has to lie right."""
        w = self.w
        writeable = w.build.and_(w.word(record, Field.FLAGS), w.number(at.WRITEABLE))
        w.need(w.same(writeable, 0), self.slow)
        made = w.call("entry.copy", array, w.number(0, HALF))
        w.store(made, record, Field.COPY)
        w.need(w.differs(made, 0), self.lost)
        w.build.store(made, self.array)
        w.build.store(w.number(1), self.copied)

    def originals_apart(self) -> None:
        """What was copied is not changed by the body: it lies apart from what is written."""
        w, table = self.w, self.table
        with (
            w.when(w.differs(w.build.load(self.copied), 0)),
            w.section(table, Head.INPUTS) as record,
            w.when(w.differs(w.word(record, Field.COPY), 0)),
        ):
            w.need(w.call("clear", table, w.word(record, Field.ARRAY)), self.slow)

    def without_history(self, origin: ir.Value) -> None:
        """None, or a view of a tensor that has no history either."""
        w = self.w
        with w.when(w.differs(origin, self.none)):
            w.need(w.same(w.load(origin, at.TYPE), w.known("entry.View")), self.slow)
            base = w.load(origin, self.offsets.base)
            w.need(w.same(w.load(base, self.offsets.node), self.none), self.slow)

    def aliasing(self) -> None:
        """Inputs that are one object, or lie in one place, as they were when traced."""
        w = self.w
        with w.section(self.table, Head.ALIASING) as record:
            a, b = (self.find(w.word(record, field)) for field in (0, 1))
            w.need(w.same(w.build.zext(w.same(a, b), WORD), w.word(record, 2)), self.slow)
            a, b = (w.word(w.word(record, field), Field.ARRAY) for field in (0, 1))
            w.need(w.same(w.load(a, at.DATA), w.load(b, at.DATA)), self.slow)

    def end_of_regions(self) -> ir.Value:
        w, table = self.w, self.table
        nbytes = w.build.mul(w.word(table, Head.REGIONS + 1), w.number(8 * Span.WORDS))
        return w.build.add(w.word(table, Head.REGIONS), nbytes)

    def outputs(self) -> None:
        """Memory for what the body makes."""
        w = self.w
        with w.section(self.table, Head.OUTPUTS) as record:
            with w.when(w.has_form(record, Form.TENSOR, Form.ARRAY, Form.SCALAR)):
                self.give(record, "output")
            with w.when(w.has_form(record, Form.GRADIENT)):
                self.give_gradient(record)

    def give(self, record: ir.Value, maker: str) -> None:
        w = self.w
        array = w.call(maker, record)
        w.need(w.differs(array, 0), self.lost)
        w.store(array, record, Field.ARRAY)
        w.store(w.load(array, at.DATA), w.word(record, Field.BUFFER))

    def give_gradient(self, record: ir.Value) -> None:
        """MADE is the gradient whose memory is used again, if it must be held; ARRAY likewise, or
        a fresh array."""
        w = self.w
        found = w.call("reusable", record)
        with w.build.if_else(w.same(found, 0)) as (then, otherwise):
            with then:
                self.give(record, "fresh")
            with otherwise:
                array = w.load(found, self.offsets.array)
                w.store(w.load(array, at.DATA), w.word(record, Field.BUFFER))
                with w.when(w.differs(w.word(self.table, Head.CALLS), 0)):
                    w.call("python.Py_IncRef", found)
                    w.call("python.Py_IncRef", array)
                    w.store(found, record, Field.MADE)
                    w.store(array, record, Field.ARRAY)

    # ---- the body ----

    def body(self) -> None:
        w, table = self.w, self.table
        self.hold("python.Py_IncRef")
        status = w.call_address(w.word(table, Head.BODY), HALF, w.word(table, Head.BUFFERS))
        self.hold("python.Py_DecRef")
        w.need(w.same(status, 0), self.lost)

    def hold(self, what: str) -> None:
        """While Python code runs in the body it could let go of what the call uses."""
        w, table = self.w, self.table
        with w.when(w.differs(w.word(table, Head.CALLS), 0)):
            with w.section(table, Head.INPUTS) as record:
                w.call(what, w.word(record, Field.ARRAY))
            with w.each(w.word(table, Head.SLOTS), w.word(table, Head.SLOTS + 1), 1) as slot:
                w.call(what, w.word(slot, 0))

    def finish(self, function: ir.Value, value: ir.Value) -> None:
        """Return function(value), where value is ours and may be 0, an error."""
        w = self.w
        with w.when(w.same(value, 0)):
            w.build.ret(w.number(0))
        made = w.call("python.PyObject_CallOneArg", function, value)
        w.call("python.Py_DecRef", value)
        w.build.ret(made)

    # ---- after the body ----

    def count_writes(self) -> None:
        """Versions go up, and the time is noted: by `wrote` where a cell is Python's alone."""
        w, table = self.w, self.table
        clock = w.word(table, Head.TICK)
        with w.when(w.differs(clock, 0)):
            now = w.call("python.PyObject_CallNoArgs", clock)
            w.need(w.differs(now, 0), self.lost)
            time = w.call("python.PyLong_AsLongLong", now)
            w.call("python.Py_DecRef", now)
            with (
                w.section(table, Head.INPUTS) as record,
                w.when(w.differs(w.word(record, Field.WRITES), 0)),
            ):
                self.count_write(record, time)

    def count_write(self, record: ir.Value, time: ir.Value) -> None:
        w = self.w
        tensor, wrote = w.word(record, Field.FOUND), w.word(record, Field.WROTE)
        cell = w.load(tensor, self.offsets.cell)
        shared = w.same(w.load(cell, at.TYPE), w.known("entry.SharedCell"))
        own = w.same(w.load(tensor, self.offsets.origin), self.none)
        with w.build.if_else(w.build.and_(shared, own)) as (here, there):
            with here:
                numbers = w.load(w.load(cell, self.offsets.memory), at.ITEMS)
                count = w.build.add(w.word(numbers, 0), w.word(record, Field.WRITES))
                w.store(count, numbers, 0)
                w.store(time, numbers, 1)
                with w.when(w.same(w.load(tensor, self.offsets.node), self.none)):
                    w.store(time, numbers, 2)
            with there:
                told = w.call("python.PyObject_CallOneArg", wrote, tensor)
                w.need(w.differs(told, 0), self.lost)
                w.call("python.Py_DecRef", told)

    def finish_outputs(self) -> None:
        """Python's objects around what the body made: for the results, and in gradients' places."""
        w = self.w
        with w.section(self.table, Head.OUTPUTS) as record:
            place = w.word(record, Field.BUFFER)
            with w.when(w.has_form(record, Form.FLOAT)):
                number = w.load(place, 0, DOUBLE)
                self.made(record, w.call("python.PyFloat_FromDouble", number))
            with w.when(w.has_form(record, Form.COMPLEX)):
                parts = w.load(place, 0, DOUBLE), w.load(place, 8, DOUBLE)
                self.made(record, w.call("python.PyComplex_FromDoubles", *parts))
            with w.when(w.has_form(record, Form.INT)):
                self.made(record, w.call("python.PyLong_FromLongLong", w.word(place, 0)))
            with w.when(w.has_form(record, Form.BOOL)):
                number = w.build.zext(w.load(place, 0, BYTE), WORD)
                self.made(record, w.call("python.PyBool_FromLong", number))
            with w.when(w.has_form(record, Form.ARRAY, Form.SCALAR)):
                array = w.word(record, Field.ARRAY)
                w.store(w.number(0), record, Field.ARRAY)
                self.made(record, array)
            with w.when(w.has_form(record, Form.SCALAR)):  # the call takes the array over
                self.made(record, w.call("entry.scalar", w.word(record, Field.MADE)))
            with w.when(w.has_form(record, Form.TENSOR)):
                self.wrap(record, w.word(record, Field.OBJECT), w.word(record, Field.NODE))
            with w.when(w.has_form(record, Form.GRADIENT)):
                self.set_gradient(record)
            with w.when(w.has_form(record, Form.NONE)):
                self.clear_gradient(record)

    def made(self, record: ir.Value, value: ir.Value) -> None:
        self.w.store(value, record, Field.MADE)
        self.w.need(self.w.differs(value, 0), self.lost)

    def wrap(self, record: ir.Value, kind: ir.Value, node: ir.Value) -> None:
        """The array becomes that of a fresh Tensor."""
        w = self.w
        array, empty = w.word(record, Field.ARRAY), w.word(self.table, Head.EMPTY)
        w.store(w.number(0), record, Field.ARRAY)
        self.made(record, w.call("wrap", kind, array, node, empty))

    def set_gradient(self, record: ir.Value) -> None:
        w = self.w
        array, held = w.word(record, Field.ARRAY), w.word(record, Field.MADE)
        with w.when(w.build.and_(w.same(held, 0), w.differs(array, 0))):
            self.wrap(record, w.known("entry.Tensor"), self.none)
        made = w.word(record, Field.MADE)
        with w.when(w.differs(made, 0)):  # else it stands there already
            self.set_item(record, made)

    def clear_gradient(self, record: ir.Value) -> None:
        w = self.w
        found = self.find(record)
        with w.when(w.build.and_(w.differs(found, 0), w.differs(found, self.none))):
            self.set_item(record, self.none)

    def set_item(self, record: ir.Value, value: ir.Value) -> None:
        w = self.w
        owner, key = w.word(record, Field.OWNER), w.word(record, Field.KEY)
        done = w.call("python.PyDict_SetItem", owner, key, value)
        w.need(w.same(done, 0), self.lost)

    def result(self) -> None:
        w, table = self.w, self.table
        value = w.variable()
        with w.build.if_else(w.same(w.word(table, Head.MANY), 0)) as (one, many):
            with one:
                w.build.store(self.none, value)
                with w.section(table, Head.RESULTS) as record:
                    w.build.store(self.find(record), value)
                w.call("python.Py_IncRef", w.build.load(value))
            with many:
                made = w.call("python.PyTuple_New", w.word(table, Head.RESULTS + 1))
                w.need(w.differs(made, 0), self.lost)
                w.build.store(made, value)
                begin = w.word(table, Head.RESULTS)
                with w.section(table, Head.RESULTS) as record:
                    item = self.find(record)
                    w.call("python.Py_IncRef", item)
                    number = w.build.udiv(w.build.sub(record, begin), w.number(8 * RECORD))
                    w.call("python.PyTuple_SetItem", made, number, item)
        self.leave()
        rebuild = w.word(table, Head.REBUILD)
        with w.when(w.differs(rebuild, 0)):
            self.finish(rebuild, w.build.load(value))
        w.build.ret(w.build.load(value))


# ---- compiling -----------------------------------------------------------------------------


def entry_module(offsets: at.Layouts, table_offset: int) -> ir.Module:
    module = ir.Module("entry")
    _write_alike(module)
    _write_flagged(module)
    _write_fits(module)
    _write_clear(module)
    _write_fresh(module)
    _write_output(module)
    _write_wrap(module, offsets)
    _write_item(module)
    _write_attribute(module)
    _write_find(module)
    _write_is_key(module)
    _write_items(module)
    _write_opens(module)
    _write_accept(module)
    _write_holds(module)
    _write_reusable(module, offsets)
    _write_release(module)
    _write_settle(module)
    _write_apart(module)
    _Entry(module, offsets, table_offset).write()
    return module


@functools.cache
def entry_code(table_offset: int) -> Code:
    """The machine code of all entries; `table_offset` is where a frame keeps its table."""
    from wengert.history.node import SharedCell
    from wengert.tensor import Tensor, View

    offsets = at.layouts()
    for known in (np.ndarray, Tensor, View, SharedCell):
        register(f"entry.{known.__name__}", id(known))
    for name, address in at.functions().items():
        register(f"entry.{name}", address)
    try:
        texts = [inspect.getsource(part) for part in (sys.modules[__name__], at, entry)]
    except OSError:  # Python runs without them: what is written says as much, but takes longer
        return compile_module(entry_module(offsets, table_offset), "entry")
    source = "\n".join([*texts, f"{offsets} {table_offset}"])
    return compile_text(source, lambda: entry_module(offsets, table_offset), "entry")
