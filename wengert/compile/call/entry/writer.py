"""Writing the machine code of entries: memory, objects of Python, loops over records.

All addresses are integers: the code reads memory at known distances from them.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir

from wengert.compile.call.entry import layouts as at
from wengert.compile.call.entry.words import RECORD, Field, Form, Head, Phase
from wengert.compile.llvm.machine import functions
from wengert.compile.llvm.machine.control import loop

WORD = ir.IntType(64)
HALF = ir.IntType(32)
BYTE = ir.IntType(8)
BIT = ir.IntType(1)
DOUBLE = ir.DoubleType()

_SIGNATURES: dict[str, tuple[ir.Type, tuple[ir.Type, ...]]] = {
    "python.Py_IncRef": (ir.VoidType(), (WORD,)),
    "python.Py_DecRef": (ir.VoidType(), (WORD,)),
    "python.PyErr_Clear": (ir.VoidType(), ()),
    "python.PyErr_ExceptionMatches": (HALF, (WORD,)),
    "python.PyObject_Vectorcall": (WORD, (WORD, WORD, WORD, WORD)),
    "python.PyObject_CallOneArg": (WORD, (WORD, WORD)),
    "python.PyObject_CallNoArgs": (WORD, (WORD,)),
    "python.PyObject_GetAttr": (WORD, (WORD, WORD)),
    "python._PyObject_GetDictPtr": (WORD, (WORD,)),
    "python.PyObject_SetAttr": (HALF, (WORD, WORD, WORD)),
    "python.PyDict_GetItemWithError": (WORD, (WORD, WORD)),
    "python.PyDict_SetItem": (HALF, (WORD, WORD, WORD)),
    "python.PyDict_Next": (HALF, (WORD, WORD, WORD, WORD)),
    "python.PyUnicode_Compare": (HALF, (WORD, WORD)),
    "python.PyTuple_New": (WORD, (WORD,)),
    "python.PyFloat_FromDouble": (WORD, (DOUBLE,)),
    "python.PyComplex_FromDoubles": (WORD, (DOUBLE, DOUBLE)),
    "python.PyLong_AsLongLong": (WORD, (WORD,)),
    "python.PyLong_FromLongLong": (WORD, (WORD,)),
    "python.PyBool_FromLong": (WORD, (WORD,)),
    "python.PyErr_Occurred": (WORD, ()),
    "python.PyEval_SaveThread": (WORD, ()),
    "python.PyEval_RestoreThread": (ir.VoidType(), (WORD,)),
    "python.PyContextVar_Get": (HALF, (WORD, WORD, WORD)),
    "python.PyFrame_GetBack": (WORD, (WORD,)),
    "python.PyFrame_GetCode": (WORD, (WORD,)),
    "python.PyFrame_GetLasti": (HALF, (WORD,)),
    "python.PyEval_GetFrame": (WORD, ()),
    "listener.get_extra": (HALF, (WORD, WORD, WORD)),
    "entry.object_new": (WORD, (WORD, WORD, WORD)),
    "entry.scalar": (WORD, (WORD,)),
    "entry.copy": (WORD, (WORD, HALF)),
    "entry.set_base": (HALF, (WORD, WORD)),
    "entry.new_array": (WORD, (WORD, WORD, HALF, WORD, WORD, WORD, HALF, WORD)),
}

PARTS: dict[str, Callable[[ir.Module, at.Layouts], None]] = {}
"""What writes a function of the module, by its name: it is there once it was called."""


class Writer:
    """Writes one function: words in, words out. `offsets` say where objects keep what it reads, if
    it reads any.
    """

    def __init__(
        self,
        module: ir.Module,
        offsets: at.Layouts | None,
        name: str,
        returns: ir.Type,
        *args: ir.Type,
    ) -> None:
        self.module = module
        self.offsets: Any = offsets
        self.function = functions.Function(module, ir.FunctionType(returns, args), name)
        self.function.attributes.add("nounwind")
        self.build = ir.IRBuilder(self.function.append_basic_block("start"))

    def variable(self) -> ir.Value:
        """A word that may change, for `build.load` and `build.store`; it becomes a register."""
        with self.build.goto_entry_block():
            return self.build.alloca(WORD)

    def number(self, value: int, kind: ir.Type = WORD) -> ir.Value:
        return ir.Constant(kind, int(value))

    def load(self, base: ir.Value, distance: int, kind: ir.Type = WORD) -> ir.Value:
        address = self.build.add(base, self.number(distance)) if distance else base
        return self.build.load(self.build.inttoptr(address, kind.as_pointer()), align=1)

    def word(self, base: ir.Value, index: int) -> ir.Value:
        return self.load(base, 8 * index)

    def put(self, base: ir.Value, offset: int | ir.Value, value: ir.Value) -> None:
        """Let a slot of a new object refer to another one."""
        self.call("python.Py_IncRef", value)
        distance = self.number(offset) if isinstance(offset, int) else offset
        self.store(value, self.build.add(base, distance))

    def store(self, value: ir.Value, base: ir.Value, index: int = 0) -> None:
        address = self.build.add(base, self.number(8 * index)) if index else base
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
        if name not in self.module.globals and name in PARTS:
            PARTS[name](self.module, self.offsets)
        elif name not in self.module.globals:
            returns, kinds = _SIGNATURES[name]
            ir.Function(self.module, ir.FunctionType(returns, kinds), name)
        return self.build.call(self.module.globals[name], args)

    def quietly(self, name: str, *args: ir.Value) -> ir.Value:
        """What the call gives; where that is 0, no exception is left."""
        result = self.call(name, *args)
        with self.when(self.same(result, 0)):
            self.call("python.PyErr_Clear")
        return result

    def call_address(self, address: ir.Value, returns: ir.Type, *args: ir.Value) -> ir.Value:
        kind = ir.FunctionType(returns, [arg.type for arg in args])
        return self.build.call(self.build.inttoptr(address, kind.as_pointer()), args)

    def phase(self, table: ir.Value, phase: Phase, *args: ir.Value) -> ir.Value:
        """What a phase says of this, with the table in front; yes where the table has none."""
        code, answer = self.word(table, Head.PHASES + phase), self.variable()
        self.build.store(self.number(1), answer)
        with self.when(self.differs(code, 0)):
            self.build.store(self.call_address(code, WORD, table, *args), answer)
        return self.differs(self.build.load(answer), 0)

    def when(self, true: ir.Value) -> contextlib.AbstractContextManager[Any]:
        return self.build.if_then(true)

    @functools.cached_property
    def no(self) -> ir.Block:
        """Where the function returns 0."""
        return self.block("no")

    def need(self, true: ir.Value, otherwise: ir.Block | None = None) -> None:
        """Go on if this is true, else there, or return 0."""
        on = self.function.append_basic_block("on")
        self.build.cbranch(true, on, self.no if otherwise is None else otherwise)
        self.build.position_at_end(on)

    def finish(self) -> None:
        """Return 1 at the end, and 0 where something was needed."""
        returns = self.function.function_type.return_type
        if not self.build.block.is_terminated:
            self.build.ret(self.number(1, returns))
        if "no" in vars(self):
            self.build.position_at_end(self.no)
            self.build.ret(self.number(0, returns))

    def block(self, name: str) -> ir.Block:
        return self.function.append_basic_block(name)

    @contextlib.contextmanager
    def each(self, begin: ir.Value, count: ir.Value, words: int = RECORD) -> Iterator[ir.Value]:
        """A loop over records."""
        step = self.number(8 * words)
        end = self.build.add(begin, self.build.mul(count, step))
        with loop(self.build, begin) as records:
            (record,) = records.carried
            records.while_(self.differs(record, end))
            yield record
            records.again(self.build.add(record, step))

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

    @contextlib.contextmanager
    def items(self, record: ir.Value, mapping: ir.Value) -> Iterator[Any]:
        """Each of a record's parts, and what a dictionary has there; 0 if keys differ."""
        position, key, value, entry = (self.variable() for _ in range(4))
        self.build.store(self.number(0), position)
        self.build.store(self.call("entries", mapping), entry)
        addresses = [self.build.ptrtoint(x, WORD) for x in (position, key, value)]
        begin = self.word(record, Field.PARTS)
        distance = self.build.sub(self.word(record, Field.KEYS), begin)
        with self.each(begin, self.word(record, Field.COUNT), 1) as part:
            here, ways = self.build.load(entry), []
            with self.build.if_else(self.differs(here, 0)) as (there, asked):
                with there:
                    self.build.store(self.build.add(here, self.number(16)), entry)
                    ways.append((self.build.block, self.word(here, 0), self.word(here, 1)))
                with asked:
                    more = self.call("python.PyDict_Next", mapping, *addresses)
                    self.need(self.differs(more, 0))
                    ways.append((self.build.block, self.build.load(key), self.build.load(value)))
            # What Python has the address of is in memory: what lies in the table never goes there.
            given, held = (self.build.phi(WORD) for _ in range(2))
            for block, *pair in ways:
                for phi, x in zip((given, held), pair, strict=True):
                    phi.add_incoming(x, block)
            expected = self.word(self.build.add(part, distance), 0)
            with self.when(self.differs(given, expected)):
                self.need(self.call("is_key", given, expected))
            yield part, held

    def has_form(self, record: ir.Value, *forms: Form) -> ir.Value:
        of_record = self.word(record, Field.FORM)
        true = self.same(of_record, forms[0])
        for form in forms[1:]:
            true = self.build.or_(true, self.same(of_record, form))
        return true

    def keep(self, record: ir.Value, value: ir.Value, otherwise: ir.Block | None = None) -> None:
        """What a call made is the record's; without it go there, or return 0."""
        self.store(value, record, Field.MADE)
        self.need(self.differs(value, 0), otherwise)

    def let_go(self, table: ir.Value, section: Head, *fields: Field) -> None:
        """Of what the records of a section hold."""
        with self.section(table, section) as record:
            for field in fields:
                reference = self.word(record, field)
                with self.when(self.differs(reference, 0)):
                    self.store(self.number(0), record, field)
                    self.call("python.Py_DecRef", reference)


def part(returns: ir.Type, inline: bool = False) -> Callable[[Callable[..., None]], None]:
    """A function of modules, by the name of the one that writes it."""

    def add(write: Callable[..., None]) -> None:
        def define(module: ir.Module, offsets: at.Layouts) -> None:
            words = [WORD] * (write.__code__.co_argcount - 1)
            w = Writer(module, offsets, write.__name__, returns, *words)
            w.function.linkage = "internal"
            if inline:
                w.function.attributes.add("alwaysinline")
            write(w, *w.function.args)
            w.finish()

        PARTS[write.__name__] = define

    return add
