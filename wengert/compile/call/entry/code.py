"""The native entry: one function of machine code that serves all compiled functions.

It has the signature of CPython's METH_FASTCALL | METH_KEYWORDS, reads Python's and NumPy's objects
where `layouts.py` found them, and does what `reference.py` says, driven by a table of words
(`words.py`) that `native.py` fills. It is compiled once and kept on disk.

Here are the phases of a call; what they do with one record or object is in `parts.py`, and
`writer.py` has the vocabulary.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator

import numpy as np
from llvmlite import ir

from wengert.compile.call.entry import layouts as at
from wengert.compile.call.entry.parts import PARTS
from wengert.compile.call.entry.words import RECORD, Field, Form, Head, History, Kind, Span
from wengert.compile.call.entry.writer import BYTE, DOUBLE, HALF, WORD, Writer
from wengert.compile.llvm.machine.host import Code, compile_text, register

_NAMES = sys.intern("stamp"), sys.intern("_grad")
"""Of attributes that it asks for."""


class _Entry:
    """The entry, phase by phase. `slow` is where to go before the body ran, `lost` after."""

    def __init__(self, module: ir.Module, offsets: at.Layouts, table_offset: int) -> None:
        self.w = w = Writer(module, offsets, "entry", WORD, WORD, WORD, WORD, WORD)
        self.offsets = offsets
        frame, self.args, self.count, self.names = w.function.args
        self.array, self.copied, self.skipped = w.variable(), w.variable(), w.variable()
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
        with self.leaves() as (_, leaf):
            w.need(w.differs(leaf, 0), self.slow)
        self.outputs()
        self.body()
        self.count_writes()
        self.finish_outputs()
        with self.leaves() as (record, leaf):
            self.settle(record, leaf)
        self.pieces()
        self.recording()
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
        """Objects that must be there; those in a dictionary that did not change are there still."""
        w = self.w
        w.build.store(w.number(0), self.skipped)
        with w.section(self.table, Head.GUARDS) as record:
            looked_at = w.build.icmp_unsigned(">=", record, w.build.load(self.skipped))
            version = w.build.icmp_signed(
                ">=", w.word(record, Field.KIND), w.number(Kind.UNCHANGED)
            )
            with w.when(w.build.and_(looked_at, version)):
                self.version(record)
            with w.when(w.build.and_(looked_at, w.build.not_(version))):
                w.need(w.call("holds", record, self.find(record)), self.slow)

    def version(self, record: ir.Value) -> None:
        w = self.w
        now, far = w.word(w.word(record, Field.OWNER), 0), w.word(record, Field.FAR)
        is_begin = w.same(w.word(record, Field.KIND), Kind.UNCHANGED)
        with w.build.if_else(is_begin) as (begin, end):
            with begin:
                same = w.same(now, w.word(record, Field.LAST))
                after = w.build.add(record, w.build.select(same, far, w.number(0)))
                w.build.store(after, self.skipped)
            with end:
                w.store(now, w.build.sub(record, far), Field.LAST)

    def inputs(self) -> None:
        """Arrays and numbers that come in, and that no memory that is written is another's."""
        w, table = self.w, self.table
        moved = w.variable()
        for variable in (moved, self.copied):
            w.build.store(w.number(0), variable)
        with w.section(table, Head.INPUTS) as record:
            item = self.find(record)
            w.need(w.differs(item, 0), self.slow)
            is_array = w.has_form(record, Form.TENSOR, Form.ARRAY)
            with w.build.if_else(is_array) as (array, number):
                with array:
                    distance = w.build.xor(self.take(record, item), w.word(record, Field.LAST))
                    w.build.store(w.build.or_(w.build.load(moved), distance), moved)
                with number:
                    w.need(w.call("accept", record, item), self.slow)
        self.aliasing()
        with w.when(w.differs(w.build.load(moved), 0)):
            w.need(w.call("apart", w.word(table, Head.REGIONS), self.end_of_regions()), self.slow)
            with w.section(table, Head.INPUTS) as record:
                data = w.word(w.word(record, Field.BUFFER), 0)
                w.store(data, record, Field.LAST)
        self.originals_apart()

    def take(self, record: ir.Value, item: ir.Value) -> ir.Value:
        """Put where an array's data is into the table of buffers, if it is as expected."""
        w = self.w
        w.build.store(item, self.array)
        with w.when(w.has_form(record, Form.TENSOR)):
            w.need(w.same(w.load(item, at.TYPE), w.word(record, Field.OBJECT)), self.slow)
            history, node = w.word(record, Field.HISTORY), w.load(item, self.offsets.node)
            origin = w.load(item, self.offsets.origin)
            with w.when(w.same(history, History.NONE)):
                w.need(w.same(node, self.none), self.slow)
                self.without_history(origin)
            is_leaf = w.same(w.load(node, at.TYPE), w.known("entry.AccumulateGrad"))
            with w.when(w.same(history, History.LEAF)):
                w.need(is_leaf, self.slow)
            with w.when(w.same(history, History.COMPUTED)):
                computed = w.build.and_(w.differs(node, self.none), w.build.not_(is_leaf))
                w.need(computed, self.slow)
            with w.when(w.same(history, History.MARK)):
                w.need(w.same(node, self.none), self.slow)
                w.need(w.same(origin, w.known("entry.INFERENCE")), self.slow)
            w.store(item, record, Field.FOUND)
            since = w.word(record, Field.SINCE)
            with w.when(w.differs(since, 0)):
                w.need(w.call("unwritten", item, w.word(since, 0)), self.slow)
            w.build.store(w.load(item, self.offsets.array), self.array)
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
        copy = w.call("entry.copy", array, w.number(0, HALF))
        w.store(copy, record, Field.COPY)
        w.need(w.differs(copy, 0), self.lost)
        w.build.store(copy, self.array)
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
            base = w.load(origin, self.offsets.view["base"])
            w.need(w.same(w.load(base, self.offsets.node), self.none), self.slow)

    def aliasing(self) -> None:
        """Inputs that are one object, or lie in one place, as they were when traced."""
        w = self.w
        with w.section(self.table, Head.ALIASING) as record:
            a, b = (self.find(w.word(record, field)) for field in (0, 1))
            w.need(w.same(w.build.zext(w.same(a, b), WORD), w.word(record, 2)), self.slow)
            a, b = (w.word(w.word(record, field), Field.ARRAY) for field in (0, 1))
            w.need(w.same(w.load(a, at.DATA), w.load(b, at.DATA)), self.slow)

    @contextlib.contextmanager
    def leaves(self) -> Iterator[tuple[ir.Value, ir.Value]]:
        """For each output the leaf that it becomes the gradient of, or 0; if that is wanted."""
        w, node = self.w, self.w.word(self.table, Head.SETTLED)
        begin, offset = w.word(self.table, Head.OUTPUTS), self.offsets.recorded["edges"]
        with (
            w.when(w.differs(node, 0)),
            w.section(self.table, Head.OUTPUTS) as record,
        ):
            number = w.build.udiv(w.build.sub(record, begin), w.number(8 * RECORD))
            edges = w.load(w.word(node, 0), offset)
            edge = w.load(w.build.add(edges, w.build.mul(number, w.number(8))), at.TUPLE_ITEMS)
            yield record, w.call("awaiting", record, edge)

    def settle(self, record: ir.Value, leaf: ir.Value) -> None:
        w = self.w
        w.need(w.differs(leaf, 0), self.lost)
        gradient = w.word(record, Field.MADE)
        done = w.call("python.PyObject_SetAttr", leaf, w.known("entry._grad"), gradient)
        w.need(w.same(done, 0), self.lost)

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
        tensor = w.call("reusable", record)
        with w.build.if_else(w.same(tensor, 0)) as (then, otherwise):
            with then:
                self.give(record, "fresh")
            with otherwise:
                array = w.load(tensor, self.offsets.array)
                w.store(w.load(array, at.DATA), w.word(record, Field.BUFFER))
                with w.when(w.differs(w.word(self.table, Head.CALLS), 0)):
                    w.call("python.Py_IncRef", tensor)
                    w.call("python.Py_IncRef", array)
                    w.store(tensor, record, Field.MADE)
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
        result = w.call("python.PyObject_CallOneArg", function, value)
        w.call("python.Py_DecRef", value)
        w.build.ret(result)

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
                self.keep(record, w.call("python.PyFloat_FromDouble", number))
            with w.when(w.has_form(record, Form.COMPLEX)):
                parts = w.load(place, 0, DOUBLE), w.load(place, 8, DOUBLE)
                self.keep(record, w.call("python.PyComplex_FromDoubles", *parts))
            with w.when(w.has_form(record, Form.INT)):
                self.keep(record, w.call("python.PyLong_FromLongLong", w.word(place, 0)))
            with w.when(w.has_form(record, Form.BOOL)):
                number = w.build.zext(w.load(place, 0, BYTE), WORD)
                self.keep(record, w.call("python.PyBool_FromLong", number))
            with w.when(w.has_form(record, Form.ARRAY, Form.SCALAR)):
                array = w.word(record, Field.ARRAY)
                w.store(w.number(0), record, Field.ARRAY)
                self.keep(record, array)
            with w.when(w.has_form(record, Form.SCALAR)):  # the call takes the array over
                self.keep(record, w.call("entry.scalar", w.word(record, Field.MADE)))
            with w.when(w.has_form(record, Form.TENSOR)):
                self.wrap(record, w.word(record, Field.OBJECT), w.word(record, Field.NODE))
            with w.when(w.has_form(record, Form.GRADIENT)):
                self.set_gradient(record)
            with w.when(w.has_form(record, Form.NONE)):
                self.clear_gradient(record)

    def keep(self, record: ir.Value, value: ir.Value) -> None:
        self.w.store(value, record, Field.MADE)
        self.w.need(self.w.differs(value, 0), self.lost)

    def wrap(self, record: ir.Value, kind: ir.Value, node: ir.Value) -> None:
        """The array becomes that of a fresh Tensor."""
        w = self.w
        origin, empty = w.word(record, Field.ORIGIN), w.word(self.table, Head.EMPTY)
        self.keep(record, w.call("wrap", record, kind, node, origin, self.none, empty))

    def set_gradient(self, record: ir.Value) -> None:
        w = self.w
        array, held = w.word(record, Field.ARRAY), w.word(record, Field.MADE)
        with w.when(w.build.and_(w.same(held, 0), w.differs(array, 0))):
            self.wrap(record, w.known("entry.Tensor"), self.none)
        gradient = w.word(record, Field.MADE)
        with w.when(w.differs(gradient, 0)):  # else it stands there already
            self.set_item(record, gradient)

    def clear_gradient(self, record: ir.Value) -> None:
        w = self.w
        gradient = self.find(record)
        with w.when(w.build.and_(w.differs(gradient, 0), w.differs(gradient, self.none))):
            self.set_item(record, self.none)

    def set_item(self, record: ir.Value, value: ir.Value) -> None:
        w = self.w
        owner, key = w.word(record, Field.OWNER), w.word(record, Field.KEY)
        done = w.call("python.PyDict_SetItem", owner, key, value)
        w.need(w.same(done, 0), self.lost)

    def pieces(self) -> None:
        """What is made of a base: in Python where that is a view, or is not counted yet."""
        w, table = self.w, self.table
        with w.section(table, Head.PIECES) as record:
            base = self.find(record)
            with w.build.if_else(w.call("can_see", record, base)) as (here, there):
                with here:
                    self.keep(record, w.call("seen", record, base, w.word(table, Head.EMPTY)))
                with there:
                    maker = w.word(record, Field.OBJECT)
                    self.keep(record, w.call("python.PyObject_CallOneArg", maker, base))

    def recording(self) -> None:
        """The node of the call's results, with what derivatives need of the call."""
        w, table, offsets = self.w, self.table, self.offsets.recorded
        with w.section(table, Head.RECORDING) as record:
            empty = w.word(table, Head.EMPTY)
            node = w.call("entry.object_new", w.word(record, Field.OBJECT), empty, w.number(0))
            self.keep(record, node)
            with w.each(w.word(record, Field.PARTS), w.word(record, Field.COUNT), 2) as pair:
                value = w.word(pair, 1)
                w.call("python.Py_IncRef", value)
                w.store(value, w.build.add(node, w.word(pair, 0)))
            for name, section in (("edges", Head.EDGES), ("saved", Head.SAVED)):
                self.fill(node, name, w.call("gathered", *w.span(table, section)))
            time = w.call("python.PyObject_CallNoArgs", w.word(record, Field.CLOCK))
            self.fill(node, "order", time)
            line = w.call("python.PyObject_CallNoArgs", w.word(record, Field.CALL))
            w.need(w.differs(line, 0), self.lost)
            for k, name in enumerate(("code", "at")):
                w.put(node, offsets[name], w.load(line, at.TUPLE_ITEMS + 8 * k))
            w.call("python.Py_DecRef", line)
            begin = w.word(table, Head.RECORDED)
            with w.section(table, Head.RECORDED) as given:
                number = w.build.udiv(w.build.sub(given, begin), w.number(8 * RECORD))
                self.fill(self.find(given), None, w.call("slot_of", node, number, empty))

    def fill(self, x: ir.Value, name: str | None, value: ir.Value) -> None:
        """Let the slot of a new node hold this, which is ours; with no name, a tensor's history."""
        w = self.w
        w.need(w.differs(value, 0), self.lost)
        place = w.build.add(x, w.number(self.offsets.recorded[name] if name else self.offsets.node))
        before = w.word(place, 0)
        w.store(value, place)
        with w.when(w.differs(before, 0)):
            w.call("python.Py_DecRef", before)

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
                results = w.call("gathered", *w.span(table, Head.RESULTS))
                w.need(w.differs(results, 0), self.lost)
                w.build.store(results, value)
        self.leave()
        rebuild = w.word(table, Head.REBUILD)
        with w.when(w.differs(rebuild, 0)):
            self.finish(rebuild, w.build.load(value))
        w.build.ret(w.build.load(value))


# ---- compiling -----------------------------------------------------------------------------


def entry_module(offsets: at.Layouts, table_offset: int) -> ir.Module:
    module = ir.Module("entry")
    for define in PARTS:
        define(module, offsets)
    _Entry(module, offsets, table_offset).write()
    return module


@functools.cache
def entry_code(table_offset: int) -> Code:
    """The machine code of all entries; `table_offset` is where a frame keeps its table."""
    from wengert.history.node import AccumulateGrad, Output, SharedCell
    from wengert.tensor import INFERENCE, Tensor, View

    offsets = at.layouts()
    for known in (np.ndarray, Tensor, View, SharedCell, Output, AccumulateGrad):
        register(f"entry.{known.__name__}", id(known))
    register("entry.INFERENCE", id(INFERENCE))
    for name in _NAMES:
        register(f"entry.{name}", id(name))
    for name, address in at.functions().items():
        register(f"entry.{name}", address)
    source = f"{offsets} {table_offset}"
    return compile_text(source, lambda: entry_module(offsets, table_offset), "entry")
