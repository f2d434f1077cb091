"""The functions that the native entry is made of: each looks at one record, object or section.

Those of phases that few calls have are in `phases.py`.

The first line of each says what it returns; all that they get are words. One that comes to its end
says yes; what it needs and does not find is no, or 0.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from wengert.compile.call.entry import layouts as at
from wengert.compile.call.entry.entry import KEPT
from wengert.compile.call.entry.words import Field, Form, Head, Kind, Span
from wengert.compile.call.entry.writer import BIT, BYTE, HALF, WORD, Writer, part
from wengert.compile.llvm.machine.control import loop


@part(BIT, inline=True)
def alike(w: Writer, record: ir.Value, array: ir.Value) -> None:
    """Whether the array is one of the record's dtype, shape and strides."""
    w.need(w.differs(array, 0))  # an empty slot
    w.need(w.same(w.load(array, at.TYPE), w.known("entry.ndarray")))
    dtype = w.load(array, at.DTYPE)
    other, shape = w.block("other"), w.block("shape")
    w.build.cbranch(w.same(dtype, w.word(record, Field.DTYPE)), shape, other)
    # Unpickling makes dtypes that are equal to NumPy's own without being them.
    w.build.position_at_end(other)
    type_number = w.build.sext(w.load(dtype, at.TYPE_NUMBER, HALF), WORD)
    w.need(w.same(type_number, w.word(record, Field.TYPE_NUMBER)))
    order = w.load(dtype, at.BYTE_ORDER, BYTE)
    native = w.build.or_(w.same(order, ord("=")), w.same(order, ord("|")))
    w.need(w.build.or_(native, w.same(order, ord("<"))))
    w.build.branch(shape)
    w.build.position_at_end(shape)
    ndim = w.word(record, Field.NDIM)
    w.need(w.same(w.build.sext(w.load(array, at.NDIM, HALF), WORD), ndim))
    expected = w.word(record, Field.DIMENSIONS)
    distance = w.build.sub(w.load(array, at.DIMENSIONS), expected)
    with w.each(expected, ndim, 1) as dimension:
        w.need(w.same(w.word(dimension, 0), w.word(w.build.add(dimension, distance), 0)))
    strides = w.word(record, Field.STRIDES)
    with w.when(w.same(strides, 0)):
        flags = w.build.zext(w.load(array, at.FLAGS, HALF), WORD)
        w.build.ret(w.differs(w.build.and_(flags, w.number(at.C_CONTIGUOUS)), 0))
    with w.when(w.same(strides, -1)):
        w.build.ret(w.number(1, BIT))
    distance = w.build.sub(w.load(array, at.STRIDES), strides)
    with w.each(strides, ndim, 1) as stride:
        w.need(w.same(w.word(stride, 0), w.word(w.build.add(stride, distance), 0)))


@part(BIT, inline=True)
def flagged(w: Writer, record: ir.Value, array: ir.Value) -> None:
    """Whether the array has the record's flags."""
    flags = w.build.zext(w.load(array, at.FLAGS, HALF), WORD)
    wanted = w.word(record, Field.FLAGS)
    w.build.ret(w.same(w.build.and_(flags, wanted), wanted))


@part(BIT)
def fits(w: Writer, record: ir.Value, array: ir.Value) -> None:
    """Whether the array is one of the record's dtype, shape and flags."""
    w.need(w.call("alike", record, array))
    w.build.ret(w.call("flagged", record, array))


@part(BIT)
def clear(w: Writer, table: ir.Value, array: ir.Value) -> None:
    """Whether an array of any strides lies apart from what is written."""
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
    with w.each(*w.span(table, Head.REGIONS), Span.WORDS) as region:
        begin = w.word(w.word(region, Span.BUFFER), 0)
        end = w.build.add(begin, w.word(region, Span.NBYTES))
        before = w.build.icmp_unsigned("<=", w.build.load(high), begin)
        after = w.build.icmp_unsigned("<=", end, w.build.load(low))
        apart = w.build.or_(before, after)
        w.need(w.build.or_(apart, w.same(w.word(region, Span.WRITTEN), 0)))


@part(WORD)
def fresh(w: Writer, record: ir.Value) -> None:
    """A new array of the record's dtype and shape, or 0."""
    dtype = w.word(record, Field.DTYPE)
    w.call("python.Py_IncRef", dtype)  # the call takes one over
    zero, none = w.number(0), w.number(0, HALF)
    ndim = w.build.trunc(w.word(record, Field.NDIM), HALF)
    dimensions = w.word(record, Field.DIMENSIONS)
    array = w.known("entry.ndarray")
    w.build.ret(w.call("entry.new_array", array, dtype, ndim, dimensions, zero, zero, none, zero))


@part(WORD)
def output(w: Writer, record: ir.Value) -> None:
    """An array for an output, one given out before if nobody else can see it; or 0.

    A kept array has the one reference that is kept. A new one takes the first place; the last goes.
    """
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
    new = w.call("fresh", record)
    with w.when(w.differs(new, 0)):
        last = w.word(begin, KEPT - 1)
        for k in reversed(range(1, KEPT)):
            w.store(w.word(begin, k - 1), begin, k)
        w.call("python.Py_IncRef", new)
        w.store(new, begin)
        w.call("python.Py_DecRef", last)
    w.build.ret(new)


@part(WORD)
def wrap(
    w: Writer, record: ir.Value, kind: ir.Value, node: ir.Value, origin: ir.Value, cell: ir.Value,
    empty: ir.Value,
) -> None:  # fmt: skip
    """A new Tensor, which takes over the array of an output; or 0."""
    array = w.word(record, Field.ARRAY)
    w.store(w.number(0), record, Field.ARRAY)
    tensor = w.call("entry.object_new", kind, empty, w.number(0))
    failed = w.block("failed")
    w.need(w.differs(tensor, 0), failed)
    w.store(array, w.build.add(tensor, w.number(w.offsets.array)))
    for slot, value in (
        (w.offsets.node, node), (w.offsets.origin, origin), (w.offsets.cell, cell),
    ):  # fmt: skip
        w.put(tensor, slot, value)
    w.build.ret(tensor)
    w.build.position_at_end(failed)
    w.call("python.Py_DecRef", array)
    w.build.ret(tensor)


@part(WORD)
def item(w: Writer, mapping: ir.Value, key: ir.Value) -> None:
    """What is there, borrowed; or 0, with no exception set."""
    w.build.ret(w.quietly("python.PyDict_GetItemWithError", mapping, key))


@part(WORD)
def attribute(w: Writer, owner: ir.Value, name: ir.Value) -> None:
    """Its value, borrowed of the owner; or 0, with no exception set.

    What only this call holds was made by asking, and is gone after it: 0, and Python compares it.
    """
    value = w.quietly("python.PyObject_GetAttr", owner, name)
    w.need(w.differs(value, 0))
    held = w.differs(w.load(value, at.COUNT, HALF), 1)
    w.call("python.Py_DecRef", value)
    w.need(held)
    w.build.ret(value)


@part(WORD)
def own(w: Writer, owner: ir.Value, name: ir.Value) -> None:
    """An attribute that an object itself has, borrowed; or 0, with no exception set."""
    place = w.call("python._PyObject_GetDictPtr", owner)
    w.need(w.differs(place, 0))
    mapping = w.word(place, 0)
    w.need(w.differs(mapping, 0))
    w.build.ret(w.call("item", mapping, name))


@part(WORD)
def in_context(w: Writer, variable: ir.Value) -> None:
    """What a context variable that has a default holds, borrowed."""
    place = w.variable()
    w.build.store(w.number(0), place)
    address = w.build.ptrtoint(place, WORD)
    w.call("python.PyContextVar_Get", variable, w.number(0), address)
    value = w.build.load(place)
    w.call("python.Py_DecRef", value)
    w.build.ret(value)


@part(WORD)
def find(w: Writer, record: ir.Value) -> None:
    """The object that a record is about, borrowed; or 0, with no exception set."""
    owner, key = w.word(record, Field.OWNER), w.word(record, Field.KEY)
    attribute = w.block("attribute")
    choice = w.build.switch(w.word(record, Field.KIND), attribute)

    def case(kind: Kind, value: Callable[[], ir.Value]) -> None:
        choice.add_case(w.number(kind), block := w.block(kind.name.lower()))
        w.build.position_at_end(block)
        w.build.ret(value())

    case(Kind.ITEM, lambda: w.call("item", owner, key))
    case(Kind.POINTER, lambda: w.word(owner, 0))
    case(Kind.OBJECT, lambda: owner)
    case(Kind.ELEMENT, lambda: _element(w, owner, key))
    case(Kind.MEMBER, lambda: w.call("attribute", w.word(owner, 0), key))
    case(Kind.OWN, lambda: w.call("own", w.word(owner, 0), key))
    case(Kind.CONTEXT, lambda: w.call("in_context", owner))
    w.build.position_at_end(attribute)
    w.build.ret(w.call("attribute", owner, key))


@part(BIT)
def accept(w: Writer, record: ir.Value, value: ir.Value) -> None:
    """Put a number's value in its place; whether it is as expected."""
    place = w.word(record, Field.BUFFER)
    w.need(w.differs(value, 0))
    w.need(w.same(w.load(value, at.TYPE), w.word(record, Field.OBJECT)))
    with w.when(w.has_form(record, Form.BITS)):
        w.copy(w.build.add(value, w.number(at.NUMBER)), place, w.word(record, Field.COUNT))
        w.build.ret(w.number(1, BIT))
    with w.when(w.has_form(record, Form.BOOL)):
        w.store(w.build.zext(w.same(value, w.known("python._Py_TrueStruct")), BYTE), place)
        w.build.ret(w.number(1, BIT))
    number = w.call("python.PyLong_AsLongLong", value)
    with w.when(w.same(number, -1)), w.when(w.differs(w.call("python.PyErr_Occurred"), 0)):
        w.call("python.PyErr_Clear")
        w.build.branch(w.no)
    w.need(w.build.icmp_signed("<=", w.word(record, Field.LEAST), number))
    w.need(w.build.icmp_signed("<=", number, w.word(record, Field.GREATEST)))
    w.store(number, place)


@part(BIT)
def is_key(w: Writer, a: ir.Value, b: ir.Value) -> None:
    """Whether two keys are one object, or equal strings."""
    with w.when(w.same(a, b)):
        w.build.ret(w.number(1, BIT))
    for key in (a, b):
        w.need(w.same(w.load(key, at.TYPE), w.known("python.PyUnicode_Type")))
    w.build.ret(w.same(w.call("python.PyUnicode_Compare", a, b), 0))


@part(WORD)
def entries(w: Writer, mapping: ir.Value) -> None:
    """Where the entries of a dictionary are, if its keys are strings and none went; or 0."""
    if not w.offsets.entries:
        w.build.ret(w.number(0))
        return
    table = w.load(mapping, at.TABLE)
    w.need(w.same(w.load(mapping, at.OWN_VALUES), 0))
    w.need(w.same(w.load(table, at.TABLE_KIND, BYTE), at.STRINGS))
    w.need(w.same(w.load(table, at.TABLE_LENGTH), w.load(mapping, at.LENGTH)))
    logarithm = w.build.zext(w.load(table, at.LOG_INDEX, BYTE), WORD)
    index = w.build.shl(w.number(1), logarithm)
    w.build.ret(w.build.add(w.build.add(table, w.number(at.INDEX)), index))


@part(BIT)
def has_parts(w: Writer, record: ir.Value, container: ir.Value) -> None:
    """Whether these very parts are in a list, or in a dictionary under these keys, in order."""
    begin = w.word(record, Field.PARTS)
    w.need(w.differs(container, 0))
    count = w.word(record, Field.COUNT)
    w.need(w.same(w.load(container, at.LENGTH), count))
    with w.when(w.same(w.word(record, Field.KEYS), 0)):
        distance = w.build.sub(w.load(container, at.ITEMS), begin)
        with w.each(begin, count, 1) as part:
            w.need(w.same(w.word(w.build.add(part, distance), 0), w.word(part, 0)))
        w.build.ret(w.number(1, BIT))
    with w.items(record, container) as (part, value):
        w.need(w.same(value, w.word(part, 0)))


@part(BIT)
def holds(w: Writer, record: ir.Value, value: ir.Value) -> None:
    """Whether a guard's object is as the record says."""
    expected = w.word(record, Field.OBJECT)
    ask = w.block("ask")
    with w.when(w.has_form(record, Form.ASKED)):
        with w.when(w.call("has_parts", record, expected)):
            w.build.ret(w.number(1, BIT))
        w.build.branch(ask)
    with w.when(w.same(value, expected)):
        w.build.ret(w.build.not_(w.has_form(record, Form.OTHER)))
    with w.when(w.has_form(record, Form.OTHER)):
        w.build.ret(w.number(1, BIT))
    w.need(w.has_form(record, Form.EQUAL))
    w.need(w.differs(value, 0))
    w.need(w.same(w.load(value, at.TYPE), w.load(expected, at.TYPE)))
    w.build.branch(ask)
    w.build.position_at_end(ask)
    answer = w.quietly("python.PyObject_CallOneArg", w.word(record, Field.EQUAL), value)
    w.call("python.Py_DecRef", answer)
    w.build.ret(w.same(answer, w.known("python._Py_TrueStruct")))


@part(WORD)
def reusable(w: Writer, record: ir.Value) -> None:
    """The gradient whose memory may be used again, borrowed; or 0."""
    tensor = w.call("item", w.word(record, Field.OWNER), w.word(record, Field.KEY))
    w.need(w.differs(tensor, 0))
    w.need(w.same(w.load(tensor, at.TYPE), w.known("entry.Tensor")))
    w.need(w.same(w.load(tensor, at.COUNT, HALF), 1))
    none = w.known("python._Py_NoneStruct")
    for slot in (w.offsets.node, w.offsets.origin, w.offsets.cell):
        w.need(w.same(w.load(tensor, slot), none))
    array = w.load(tensor, w.offsets.array)
    w.need(w.call("fits", record, array))
    w.need(w.same(w.load(array, at.COUNT, HALF), 1))
    w.need(w.same(w.load(array, at.BASE), 0))
    w.build.ret(tensor)


@part(ir.VoidType())
def release(w: Writer, table: ir.Value) -> None:
    """Let go of what the call made and still holds."""
    w.let_go(table, Head.CONTAINERS, Field.MADE)
    w.let_go(table, Head.INPUTS, Field.COPY)
    for section in (Head.OUTPUTS, Head.PIECES):
        w.let_go(table, section, Field.ARRAY, Field.MADE)
    w.let_go(table, Head.RECORDING, Field.MADE)
    w.build.ret_void()


@part(ir.VoidType())
def settle(w: Writer, begin: ir.Value, region: ir.Value) -> None:
    """Move a region down to its place among the sorted ones before it."""
    words = [w.word(region, field) for field in range(Span.WORDS)]
    with loop(w.build, region) as moves:
        (here,) = moves.carried
        moves.while_(w.differs(here, begin))
        before = w.build.sub(here, w.number(8 * Span.WORDS))
        moves.while_(w.build.icmp_unsigned(">", w.word(before, Span.BEGIN), words[Span.BEGIN]))
        for field in range(Span.WORDS):
            w.store(w.word(before, field), here, field)
        moves.again(before)
    for field, word in enumerate(words):
        w.store(word, here, field)
    w.build.ret_void()


@part(BIT)
def apart(w: Writer, begin: ir.Value, end: ir.Value) -> None:
    """Whether regions begin at different places, and what is written overlaps
    with nothing. They stay sorted from call to call: where little moved there is little to do.
    """
    count = w.build.udiv(w.build.sub(end, begin), w.number(8 * Span.WORDS))
    last, reached, written = (w.variable() for _ in range(3))
    for variable in (last, reached, written):
        w.build.store(w.number(0), variable)
    with w.each(begin, count, Span.WORDS) as region:
        w.store(w.word(w.word(region, Span.BUFFER), 0), region, Span.BEGIN)
        w.call("settle", begin, region)
    with w.each(begin, count, Span.WORDS) as region:
        at, is_written = w.word(region, Span.BEGIN), w.word(region, Span.WRITTEN)
        over = w.build.add(at, w.word(region, Span.NBYTES))
        w.need(w.differs(at, w.build.load(last)))
        w.build.store(at, last)
        free = w.maximum(w.build.load(written), w.build.and_(w.build.load(reached), is_written))
        w.need(w.build.icmp_unsigned("<=", free, at))
        w.build.store(w.maximum(w.build.load(reached), over), reached)
        ends = w.build.and_(over, is_written)
        w.build.store(w.maximum(w.build.load(written), ends), written)


@part(WORD)
def gathered(w: Writer, begin: ir.Value, count: ir.Value) -> None:
    """A tuple of what records are about; or 0."""

    def held(record: ir.Value) -> ir.Value:
        item = w.call("find", record)
        w.call("python.Py_IncRef", item)
        return item

    gather(w, begin, count, held)


def gather(w: Writer, begin: ir.Value, count: ir.Value, of: Callable[[ir.Value], ir.Value]) -> None:
    """Return a tuple of what each record gives, with a reference; or 0."""
    failed = w.block("failed")
    items = w.call("python.PyTuple_New", count)
    w.need(w.differs(items, 0), failed)
    place = w.variable()
    w.build.store(w.build.add(items, w.number(at.TUPLE_ITEMS)), place)
    with w.each(begin, count) as record:
        item, here = of(record), w.build.load(place)
        w.store(item, here)
        w.need(w.differs(item, 0), failed)
        w.build.store(w.build.add(here, w.number(8)), place)
    w.build.ret(items)
    w.build.position_at_end(failed)
    w.call("python.Py_DecRef", items)
    w.build.ret(w.number(0))


def _element(w: Writer, owner: ir.Value, key: ir.Value) -> ir.Value:
    """The item so many bytes after a list's first; 0 if the list ends before."""
    end = w.build.mul(w.load(owner, at.LENGTH - at.ITEMS), w.number(8))
    w.need(w.build.icmp_signed("<", key, end))
    return w.word(w.build.add(w.word(owner, 0), key), 0)
