"""The native entry: one function of machine code that serves all compiled functions.

It has the signature of CPython's METH_FASTCALL | METH_KEYWORDS, reads Python's and NumPy's objects
where `layouts.py` found them, and does what `reference.py` says, driven by a table of words
(`words.py`) that `native.py` fills. It is compiled once and kept on disk.

Here are the phases of a call; what they do with one record or object is in `parts.py`, phases that
few calls have are in `phases.py`, and `writer.py` has the vocabulary.
"""

from __future__ import annotations

import functools
import sys

import numpy as np
from llvmlite import ir

from wengert.compile.call.entry import layouts as at
from wengert.compile.call.entry import parts, phases  # noqa: F401  (they fill PARTS)
from wengert.compile.call.entry.words import Field, Form, Head, History, Kind, Phase, Span
from wengert.compile.call.entry.writer import HALF, PARTS, WORD, Writer
from wengert.compile.llvm.machine.host import FEW, Code, compile_text, register
from wengert.history.location import INTERNAL
from wengert.history.node import AccumulateGrad, Output, SharedCell
from wengert.tensor import INFERENCE, Tensor, View

_NAMES = sys.intern("stamp"), sys.intern("_grad"), sys.intern("co_filename")
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
        w.need(w.phase(table, Phase.SETTLED, w.number(0)), self.slow)
        self.outputs()
        self.body()
        self.count_writes()
        self.finish_outputs()
        w.need(w.phase(table, Phase.SETTLED, w.number(1)), self.lost)
        for phase in (Phase.PIECES, Phase.RECORDED):
            w.need(w.phase(table, phase), self.lost)
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
        given = self.args, self.count, self.names
        code = w.word(table, Head.PHASES + Phase.OPENED)
        with w.build.if_else(w.differs(code, 0)) as (some, none):
            with some:
                w.need(w.phase(table, Phase.OPENED, *given), self.slow)
            with none:
                w.need(w.same(self.names, 0), self.slow)
                w.copy(self.args, w.word(table, Head.SLOTS), self.count)

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
                w.need(w.phase(self.table, Phase.UNWRITTEN, item, w.word(since, 0)), self.slow)
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
        with w.when(w.differs(status, 0)):
            otherwise, failed = w.word(table, Head.OTHERWISE), w.word(table, Head.FAILED)
            raised = w.block("raised")
            w.need(w.differs(otherwise, 0), raised)
            self.caught(otherwise, raised)
            w.build.branch(self.slow)
            w.build.position_at_end(raised)
            w.need(w.differs(failed, 0), self.lost)
            memory = w.call("python.PyErr_ExceptionMatches", w.known("entry.MemoryError"))
            w.need(w.same(memory, 0), self.lost)
            self.caught(w.known("entry.Exception"), self.lost)
            self.leave()
            given = self.args, self.count, self.names
            w.build.ret(w.call("python.PyObject_Vectorcall", failed, *given))

    def caught(self, kind: ir.Value, others: ir.Block) -> None:
        """Forget an error of a kind; others stay."""
        w = self.w
        w.need(w.differs(w.call("python.PyErr_ExceptionMatches", kind), 0), others)
        w.call("python.PyErr_Clear")

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
            with w.when(w.has_form(record, Form.ARRAY)):
                array = w.word(record, Field.ARRAY)
                w.store(w.number(0), record, Field.ARRAY)
                self.keep(record, array)
            form = w.build.sub(w.word(record, Field.FORM), w.number(Form.FLOAT))
            numeric = w.build.icmp_unsigned("<=", form, w.number(Form.SCALAR - Form.FLOAT))
            with w.when(numeric):
                code = w.word(self.table, Head.PHASES + Phase.NUMBER)
                self.keep(record, w.call_address(code, WORD, self.table, record))
            with w.when(w.has_form(record, Form.TENSOR)):
                self.wrap(record, w.word(record, Field.OBJECT), w.word(record, Field.NODE))
            with w.when(w.has_form(record, Form.GRADIENT)):
                self.set_gradient(record)
            with w.when(w.has_form(record, Form.NONE)):
                self.clear_gradient(record)

    def keep(self, record: ir.Value, value: ir.Value) -> None:
        self.w.keep(record, value, self.lost)

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
    _Entry(module, offsets, table_offset).write()
    return module


def phase_module(offsets: at.Layouts, name: str) -> ir.Module:
    module = ir.Module(name)
    PARTS[name](module, offsets)
    module.globals[name].linkage = ""
    return module


@functools.cache
def entry_code(table_offset: int) -> Code:
    """The machine code of all entries; `table_offset` is where a frame keeps its table."""
    offsets = _known()
    source = f"{offsets} {table_offset}"
    return compile_text(source, lambda: entry_module(offsets, table_offset), "entry", FEW)


@functools.cache
def phase_code(phase: Phase) -> Code:
    """The machine code of a phase, a function that has its name."""
    offsets, name = _known(), phase.name.lower()
    return compile_text(f"{offsets} {name}", lambda: phase_module(offsets, name), name, FEW)


@functools.cache
def _known() -> at.Layouts:
    """Where objects keep what is read; modules know these objects and functions by name."""
    classes = np.ndarray, Tensor, View, SharedCell, Output, AccumulateGrad, Exception, MemoryError
    for known in classes:
        register(f"entry.{known.__name__}", id(known))
    register("entry.INFERENCE", id(INFERENCE))
    register("entry.INTERNAL", id(INTERNAL))
    for name in _NAMES:
        register(f"entry.{name}", id(name))
    for name, address in at.functions().items():
        register(f"entry.{name}", address)
    return at.layouts()
