"""Phases of a call that few calls have: each is machine code of its own, which a table names.

Most calls give arrays by position and get arrays, so what they need is made first, and quickly.
The first argument of a phase is the table. Those that come to their end say yes.
"""

from __future__ import annotations

from llvmlite import ir

from wengert.compile.call.entry import layouts as at
from wengert.compile.call.entry.parts import gather
from wengert.compile.call.entry.words import RECORD, Field, Form, Head, Sight, Way
from wengert.compile.call.entry.writer import BIT, BYTE, DOUBLE, HALF, WORD, Writer, part

# ---- before the body -----------------------------------------------------------------------


@part(WORD)
def opened(w: Writer, table: ir.Value, args: ir.Value, count: ir.Value, names: ir.Value) -> None:
    """Lay arguments by name in their slots too, and the parts of containers in theirs."""
    expected, more = w.word(table, Head.NAMES), w.variable()
    w.need(w.same(w.differs(names, 0), w.differs(expected, 0)))
    w.build.store(count, more)
    with w.when(w.differs(expected, 0)):
        named = w.load(expected, at.LENGTH)
        w.need(w.same(w.load(names, at.LENGTH), named))
        first = w.build.add(expected, w.number(at.TUPLE_ITEMS))
        distance = w.build.sub(names, expected)
        with w.each(first, named, 1) as place:
            name, given = w.word(place, 0), w.word(w.build.add(place, distance), 0)
            w.need(w.call("is_key", given, name))
        w.build.store(w.build.add(count, named), more)
    w.copy(args, w.word(table, Head.SLOTS), w.build.load(more))
    with w.section(table, Head.CONTAINERS) as record:
        w.need(w.call("opens", record))


@part(BIT)
def opens(w: Writer, record: ir.Value) -> None:
    """Lay a container's parts in their slots; whether it is such a container."""
    asked, given = w.block("asked"), w.block("given")
    way, count = w.word(record, Field.WAY), w.word(record, Field.COUNT)
    item = w.word(w.word(record, Field.OWNER), 0)
    w.build.cbranch(w.same(way, Way.ASKED), asked, given)

    w.build.position_at_end(asked)
    parts = w.quietly("python.PyObject_CallOneArg", w.word(record, Field.OBJECT), item)
    w.store(parts, record, Field.MADE)
    w.need(w.differs(parts, w.known("python._Py_NoneStruct")))
    w.need(w.differs(parts, 0))
    w.copy(w.build.add(parts, w.number(at.TUPLE_ITEMS)), w.word(record, Field.PARTS), count)
    w.build.ret(w.number(1, BIT))

    w.build.position_at_end(given)
    w.need(w.same(w.load(item, at.TYPE), w.word(record, Field.OBJECT)))
    w.need(w.same(w.load(item, at.LENGTH), count))
    with w.when(w.same(way, Way.DICT)):
        w.build.ret(w.call("items", record, item))
    with w.when(w.same(way, Way.LIST)):
        w.copy(w.load(item, at.ITEMS), w.word(record, Field.PARTS), count)
        w.build.ret(w.number(1, BIT))
    w.copy(w.build.add(item, w.number(at.TUPLE_ITEMS)), w.word(record, Field.PARTS), count)


@part(BIT)
def items(w: Writer, record: ir.Value, mapping: ir.Value) -> None:
    """Lay a dictionary's values in their slots; whether it has these keys."""
    with w.items(record, mapping) as (slot, value):
        w.store(value, slot)


@part(WORD)
def unwritten(w: Writer, _: ir.Value, tensor: ir.Value, node: ir.Value) -> None:
    """Whether nothing has written to a tensor since a node was made."""
    cell, stamp = w.load(tensor, w.offsets.cell), w.variable()
    with w.when(w.same(cell, w.known("python._Py_NoneStruct"))):
        w.build.ret(w.number(1))
    order = w.call("python.PyLong_AsLongLong", w.load(node, w.offsets.recorded["order"]))
    shared = w.same(w.load(cell, at.TYPE), w.known("entry.SharedCell"))
    with w.build.if_else(shared) as (here, there):
        with here:
            w.build.store(w.word(w.load(w.load(cell, w.offsets.memory), at.ITEMS), 1), stamp)
        with there:
            value = w.call("attribute", cell, w.known("entry.stamp"))
            w.build.store(w.call("python.PyLong_AsLongLong", value), stamp)
    w.need(w.build.icmp_signed("<=", w.build.load(stamp), order))


@part(WORD)
def settled(w: Writer, table: ir.Value, acts: ir.Value) -> None:
    """Whether each output can be the first gradient of the leaf at its edge; if it acts, it is."""
    begin, node = w.word(table, Head.OUTPUTS), w.word(table, Head.SETTLED)
    with w.section(table, Head.OUTPUTS) as record:
        number = w.build.udiv(w.build.sub(record, begin), w.number(8 * RECORD))
        edges = w.load(w.word(node, 0), w.offsets.recorded["edges"])
        place = w.build.add(edges, w.build.mul(number, w.number(8)))
        leaf = w.call("awaiting", record, w.load(place, at.TUPLE_ITEMS))
        w.need(w.differs(leaf, 0))
        with w.when(w.differs(acts, 0)):
            gradient = w.word(record, Field.MADE)
            done = w.call("python.PyObject_SetAttr", leaf, w.known("entry._grad"), gradient)
            w.need(w.same(done, 0))


@part(WORD)
def awaiting(w: Writer, record: ir.Value, edge: ir.Value) -> None:
    """The leaf at an edge, borrowed, if an output can be its first gradient; or 0."""
    none, slots = w.known("python._Py_NoneStruct"), w.offsets.accumulator
    w.need(w.same(w.load(edge, at.TYPE), w.known("entry.AccumulateGrad")))
    for name in ("extras", "post_hooks"):
        w.need(w.same(w.load(edge, slots[name]), none))
    leaf = w.load(w.load(edge, slots["leaf"]), at.REFERENT)
    w.need(w.differs(leaf, none))
    w.need(w.same(w.load(leaf, w.offsets.node), edge))
    w.need(w.same(w.call("attribute", leaf, w.known("entry._grad")), none))
    w.need(w.call("alike", record, w.load(leaf, w.offsets.array)))
    w.build.ret(leaf)


# ---- after the body ------------------------------------------------------------------------


@part(WORD)
def number(w: Writer, _: ir.Value, record: ir.Value) -> None:
    """A new number of what the body made; or 0."""
    place = w.word(record, Field.BUFFER)
    with w.when(w.has_form(record, Form.FLOAT)):
        w.build.ret(w.call("python.PyFloat_FromDouble", w.load(place, 0, DOUBLE)))
    with w.when(w.has_form(record, Form.COMPLEX)):
        parts = w.load(place, 0, DOUBLE), w.load(place, 8, DOUBLE)
        w.build.ret(w.call("python.PyComplex_FromDoubles", *parts))
    with w.when(w.has_form(record, Form.INT)):
        w.build.ret(w.call("python.PyLong_FromLongLong", w.word(place, 0)))
    with w.when(w.has_form(record, Form.BOOL)):
        truth = w.build.zext(w.load(place, 0, BYTE), WORD)
        w.build.ret(w.call("python.PyBool_FromLong", truth))
    array = w.word(record, Field.ARRAY)
    w.store(w.number(0), record, Field.ARRAY)  # the call takes it over
    w.build.ret(w.call("entry.scalar", array))


@part(WORD)
def pieces(w: Writer, table: ir.Value) -> None:
    """What is made of a base: in Python where that is a view, or is not counted yet."""
    with w.section(table, Head.PIECES) as record:
        base = w.call("find", record)
        with w.build.if_else(w.call("can_see", record, base)) as (here, there):
            with here:
                piece = w.call("seen", record, base, w.word(table, Head.EMPTY))
                w.keep(record, piece)
            with there:
                maker = w.word(record, Field.OBJECT)
                w.keep(record, w.call("python.PyObject_CallOneArg", maker, base))


@part(BIT)
def can_see(w: Writer, record: ir.Value, base: ir.Value) -> None:
    """Whether a piece can be made here: of a base that is no view, whose writes are counted."""
    none, sight = w.known("python._Py_NoneStruct"), w.word(record, Field.SIGHT)
    w.need(w.differs(sight, Sight.ASKED))
    with w.when(w.build.icmp_signed(">=", sight, w.number(Sight.COUNTED))):
        w.need(w.differs(w.load(base, w.offsets.cell), none))
        w.need(w.same(w.load(base, w.offsets.origin), none))


@part(WORD)
def seen(w: Writer, record: ir.Value, base: ir.Value, empty: ir.Value) -> None:
    """A piece of a base; or 0."""
    sight = w.word(record, Field.SIGHT)
    whole, origin, cell, own = (w.variable() for _ in range(4))
    w.build.store(base, whole)
    with w.when(w.differs(w.load(base, at.TYPE), w.known("entry.ndarray"))):
        w.build.store(w.load(base, w.offsets.array), whole)
    array = w.call("array_seen", record, w.build.load(whole))
    w.need(w.differs(array, 0))
    with w.when(w.same(sight, Sight.ARRAY)):
        w.build.ret(array)
    w.store(array, record, Field.ARRAY)
    w.build.store(w.word(record, Field.ORIGIN), origin)
    w.build.store(w.known("python._Py_NoneStruct"), cell)
    w.build.store(w.number(0), own)
    with w.when(w.build.icmp_signed(">=", sight, w.number(Sight.COUNTED))):
        w.build.store(w.load(base, w.offsets.cell), cell)
    with w.when(w.same(sight, Sight.VIEW)):
        view = w.call("view", record, base, empty)
        w.need(w.differs(view, 0))
        for variable in (origin, own):
            w.build.store(view, variable)
    known = w.build.load(origin), w.build.load(cell)
    node, kind = w.word(record, Field.NODE), w.known("entry.Tensor")
    tensor = w.call("wrap", record, kind, node, *known, empty)
    w.call("python.Py_DecRef", w.build.load(own))  # nothing is let go of if there is none
    w.build.ret(tensor)


@part(WORD)
def array_seen(w: Writer, record: ir.Value, whole: ir.Value) -> None:
    """The part of an array that a piece is, with a reference; or 0."""
    ndim = w.word(record, Field.NDIM)
    with w.when(w.same(ndim, -1)):
        w.call("python.Py_IncRef", whole)
        w.build.ret(whole)
    dtype, flags = w.load(whole, at.DTYPE), w.load(whole, at.FLAGS, HALF)
    w.call("python.Py_IncRef", dtype)  # the call takes one over
    seen_array = w.call(
        "entry.new_array",
        *(w.known("entry.ndarray"), dtype, w.build.trunc(ndim, HALF)),
        *(w.word(record, Field.DIMENSIONS), w.word(record, Field.STRIDES)),
        w.build.add(w.load(whole, at.DATA), w.word(record, Field.OFFSET)),
        *(w.build.and_(flags, w.number(at.WRITEABLE, HALF)), w.number(0)),
    )
    with w.when(w.differs(seen_array, 0)):
        w.call("python.Py_IncRef", whole)  # as does this one
        w.call("entry.set_base", seen_array, whole)
    w.build.ret(seen_array)


@part(WORD)
def view(w: Writer, record: ir.Value, base: ir.Value, empty: ir.Value) -> None:
    """What a new view's history knows of it; or 0."""
    time = w.call("python.PyObject_CallNoArgs", w.word(record, Field.CLOCK))
    w.need(w.differs(time, 0))
    view = w.call("entry.object_new", w.known("entry.View"), empty, w.number(0))
    with w.when(w.differs(view, 0)):
        none = w.known("python._Py_NoneStruct")
        call, creation = w.word(record, Field.CALL), w.word(record, Field.CREATION)
        held = {"base": base, "call": call, "creation": creation, "born": time, "seen": time}
        for name, value in {**held, "parent": none, "leaf": none}.items():
            w.put(view, w.offsets.view[name], value)
    w.call("python.Py_DecRef", time)
    w.build.ret(view)


@part(WORD)
def recorded(w: Writer, table: ir.Value) -> None:
    """The node of the call's results, with what derivatives need of the call."""
    offsets, empty = w.offsets.recorded, w.word(table, Head.EMPTY)
    with w.section(table, Head.RECORDING) as record:
        node = w.call("entry.object_new", w.word(record, Field.OBJECT), empty, w.number(0))
        w.keep(record, node)
        with w.each(w.word(record, Field.PARTS), w.word(record, Field.COUNT), 2) as pair:
            w.put(node, w.word(pair, 0), w.word(pair, 1))
        _fill(w, node, offsets["edges"], w.call("edges", *w.span(table, Head.EDGES)))
        _fill(w, node, offsets["saved"], w.call("gathered", *w.span(table, Head.SAVED)))
        time = w.call("python.PyObject_CallNoArgs", w.word(record, Field.CLOCK))
        _fill(w, node, offsets["order"], time)
        with w.when(w.same(w.call("called_at", node), 0)):
            line = w.call("python.PyObject_CallNoArgs", w.word(record, Field.CALL))
            w.need(w.differs(line, 0))
            for k, name in enumerate(("code", "at")):
                w.put(node, offsets[name], w.load(line, at.TUPLE_ITEMS + 8 * k))
            w.call("python.Py_DecRef", line)
        begin = w.word(table, Head.RECORDED)
        with w.section(table, Head.RECORDED) as given:
            place = w.build.udiv(w.build.sub(given, begin), w.number(8 * RECORD))
            slot = w.call("slot_of", node, place, empty)
            _fill(w, w.call("find", given), w.offsets.node, slot)


@part(HALF)
def called_at(w: Writer, node: ir.Value) -> None:
    """Note the line of the call in a node; whether it is the user's, who mostly calls himself."""
    offsets, ours = w.offsets.recorded, w.variable()
    frame = w.call("python.PyEval_GetFrame")
    w.need(w.differs(frame, 0))
    code = w.call("python.PyFrame_GetCode", frame)
    file = w.call("attribute", code, w.known("entry.co_filename"))
    w.build.store(w.number(0), ours)
    with w.when(w.differs(file, 0)):
        w.build.store(w.call("item", w.known("entry.INTERNAL"), file), ours)
    with w.when(w.differs(w.build.load(ours), w.known("python._Py_FalseStruct"))):
        w.call("python.Py_DecRef", code)
        w.build.ret(w.number(0, HALF))
    _fill(w, node, offsets["code"], code)
    offset = w.build.sext(w.call("python.PyFrame_GetLasti", frame), WORD)
    _fill(w, node, offsets["at"], w.call("python.PyLong_FromLongLong", offset))


def _fill(w: Writer, x: ir.Value, offset: int, value: ir.Value) -> None:
    """Let the slot of a new object hold this, which is ours."""
    w.need(w.differs(value, 0))
    place = w.build.add(x, w.number(offset))
    before = w.word(place, 0)
    w.store(value, place)
    with w.when(w.differs(before, 0)):
        w.call("python.Py_DecRef", before)


@part(WORD)
def edges(w: Writer, begin: ir.Value, count: ir.Value) -> None:
    """A tuple of what a node has for the tensors of records; or 0."""
    gather(w, begin, count, lambda record: w.call("edge", record, w.call("find", record)))


@part(WORD)
def edge(w: Writer, record: ir.Value, tensor: ir.Value) -> None:
    """What a node has for a tensor it is made from, with a reference; or 0."""
    view = w.block("view")
    none = w.known("python._Py_NoneStruct")
    w.need(w.same(w.load(tensor, w.offsets.origin), none), view)
    node = w.load(tensor, w.offsets.node)
    w.call("python.Py_IncRef", node)
    w.build.ret(node)
    w.build.position_at_end(view)
    w.build.ret(w.call("python.PyObject_CallOneArg", w.word(record, Field.CALL), tensor))


@part(WORD)
def slot_of(w: Writer, node: ir.Value, number: ir.Value, empty: ir.Value) -> None:
    """What the history of a node's result is, with a reference: the node itself for the first."""
    with w.when(w.same(number, 0)):
        w.call("python.Py_IncRef", node)
        w.build.ret(node)
    output = w.call("entry.object_new", w.known("entry.Output"), empty, w.number(0))
    with w.when(w.differs(output, 0)):
        w.put(output, w.offsets.output["node"], node)
        counted = w.call("python.PyLong_FromLongLong", number)
        w.store(counted, w.build.add(output, w.number(w.offsets.output["slot"])))
    w.build.ret(output)
