"""A plan as one native function: `i32 body(i8** buffers)`, which runs all steps in order.

What `buffers` holds and what the result means is said beside `Table` in `plan.py`. This file lowers
the steps: loops by `nests`, products by `matmul.py`, and the calls that `natives.py` knows; other
calls run in Python.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from llvmlite import ir

from wengert.compile.llvm.description import NAME
from wengert.compile.llvm.library import matmul, natives
from wengert.compile.llvm.library.natives import is_native
from wengert.compile.llvm.machine import functions
from wengert.compile.llvm.machine import host as machine
from wengert.compile.llvm.machine.functions import call, internal
from wengert.compile.llvm.machine.scratch import STACK, stack
from wengert.compile.llvm.machine.values import BYTE, I32, I64, POINTER
from wengert.compile.llvm.nests import loops, parts
from wengert.compile.plan.kernel import Kernel
from wengert.compile.plan.plan import Call, Loops, Multiply, Place, Plan, Table, numbered
from wengert.compile.program.operations import check, supposes

INLINED = 6000
"""Instructions of steps that may become part of the body."""
LONG = 128
"""Steps above which a body that runs once only calls them: that takes them no longer, and LLVM
needs not look at what comes between."""
SHARED = 12
"""Instructions of a function from which on several steps of a body that runs once call it."""


def define(module: ir.Module, plan: Plan, timed: bool = False, alone: bool = False) -> str:
    """Add the body of a plan to a module; returns its name.

    One that is `timed` notes when its steps begin. One that is `alone` calls nothing in Python: a
    check that fails makes its number and 1 the result.
    """
    function, builder = internal(module, NAME, I32, [POINTER])
    function.linkage = ""  # the process calls it
    _Body(builder, plan, 0, timed, alone).emit()
    return NAME


class _Body:
    def __init__(
        self, builder: Any, plan: Plan, first: int, timed: bool = False, alone: bool = False
    ) -> None:
        self.runs_once = builder.function.name == NAME
        self.long = self.runs_once and len(plan.steps) > LONG
        self.timed = timed
        self.alone = alone
        self.numbers = {
            id(step): (number, inside) for number, step, inside in numbered(plan, first)
        }
        self.function = builder.function
        self.module = builder.module
        self.plan = plan
        self.table = Table.of(plan)
        self.buffers = self.function.args[0]
        self.builder = builder
        self.bases: dict[int, Any] = {}
        self.called: list[ir.CallInstr] = []  # the function of each step
        self.functions: dict[Kernel, ir.Function] = {}

    def emit(self) -> None:
        steps = self.plan.steps
        slots = {self.table.slot(p) for step in steps for p in step.places}
        # A long body reads an address where it needs it, as there are more of them than registers;
        # apart from the arena's, which nearly all steps need.
        for slot in sorted(slots & {self.table.arena} if self.long else slots):
            self.bases[slot] = self._entry(slot)
        calls = [s for s in steps if isinstance(s, Call) and not is_native(s)]
        most = max((len(s.arrays) for s in calls), default=0)
        if calls or any(isinstance(s, Call) and s.bodies for s in steps):
            self.callback = self._entry(self.table.callback)
        if calls:
            self.addresses = stack(self.builder, ir.ArrayType(POINTER, most))
        for number, step in enumerate(steps):
            self._note_time(number)
            if isinstance(step, Loops):
                self._loops(step)
            elif isinstance(step, Multiply):
                self._multiply(step)
            elif step.bodies:
                self._run_bodies(step)
            elif step.statement.function is check:
                self._check(self.numbers[id(step)][0], step)
            else:
                self._call(self.numbers[id(step)][0], step)
        self._note_time(len(steps))
        self.builder.ret(I32(0))
        self._limit_inlining()

    def _note_time(self, number: int) -> None:
        if self.timed:
            now = call(self.builder, "llvm.readcyclecounter", I64, [])
            at = self.builder.gep(
                self._entry(self.table.counters), [I64(number)], inbounds=True, source_etype=I64
            )
            self.builder.store(now, at, align=8)

    def _limit_inlining(self) -> None:
        """Code that runs once need not be fast at any price: it takes time to compile.

        The lightest steps become part of the body; of a loop so did what is in it, before. What
        several steps share stays one function, unless the body is a loop's: there steps that
        follow each other have their arrays in registers.
        """
        if self.long:
            for x in self.called:
                x.callee.attributes.discard("alwaysinline")
            for attribute in ("noinline", "optnone"):
                self.function.attributes.add(attribute)
            return
        inlined = [x for x in self.called if "alwaysinline" in x.callee.attributes]
        weighed = [(functions.weight(x.callee), x) for x in inlined]
        times = Counter(id(x.callee) for x in inlined)
        instructions = stack = 0
        for weight, x in sorted(weighed, key=lambda pair: pair[0].instructions):
            if self.runs_once and times[id(x.callee)] > 1 and weight.instructions > SHARED:
                x.attributes.add("noinline")
                continue
            instructions, stack = instructions + weight.instructions, stack + weight.stack
            if instructions > INLINED or stack > STACK:
                x.callee.attributes.discard("alwaysinline")
                x.callee.attributes.add("noinline")

    # ---- addresses --------------------------------------------------------------------------

    def _entry(self, slot: int) -> Any:
        at = self.builder.gep(self.buffers, [I64(slot)], inbounds=True, source_etype=POINTER)
        return self.builder.load(at, typ=POINTER, align=8)

    def _at(self, place: Place) -> Any:
        slot = self.table.slot(place)
        base = self.bases[slot] if slot in self.bases else self._entry(slot)
        if place.offset == 0:
            return base
        return self.builder.gep(base, [I64(place.offset)], inbounds=True, source_etype=BYTE)

    # ---- steps ------------------------------------------------------------------------------

    def _loops(self, step: Loops) -> None:
        begins = zip(step.places, step.kernel.begins(), step.kernel.buffers, strict=True)
        bases = [self._at(place.after(n * dtype.itemsize)) for place, n, dtype in begins]
        kernel = step.kernel.from_its_begin()
        function = self.functions.get(kernel)
        if function is None:
            function = self.functions[kernel] = self._define(kernel)
        self.called.append(self.builder.call(function, bases))

    def _define(self, kernel: Kernel) -> ir.Function:
        parted = parts.kernel_in_parts(self.module, kernel, self.alone)
        return parted or loops.define(self.module, kernel, machine.vector_bytes())

    def _multiply(self, step: Multiply) -> None:
        bases = [self._at(x.place) for x in (step.a, step.b, step.out)]
        function = None if self.alone else parts.product_in_parts(self.module, step)
        if function is None:
            function = matmul.define(self.module, step)
        self.called.append(self.builder.call(function, bases))

    def _check(self, number: int, step: Call) -> None:
        if self.timed and supposes(step.statement):
            return  # it is timed on ones, whatever they decide
        holds = self.builder.load(self._at(step.arrays[0].place), typ=BYTE, align=1)
        fails = self.builder.icmp_unsigned("==", holds, BYTE(0))
        if self.alone:
            self._stop_if(fails, I32(number + 1))
            return
        with self.builder.if_then(fails, likely=False):
            self._call(number, step)

    def _call(self, number: int, step: Call) -> None:
        builder, layouts = self.builder, step.arrays
        if is_native(step):
            function = natives.define(self.module, step)
            status = builder.call(function, [self._at(layout.place) for layout in layouts])
            self.called.append(status)
            if status.type == I32:
                self._stop_if(builder.icmp_signed("!=", status, I32(0)), status)
            return
        for position, layout in enumerate(layouts):
            at = builder.gep(self.addresses, [I64(position)], inbounds=True, source_etype=POINTER)
            builder.store(self._at(layout.place), at, align=8)
        caller = _caller(self.module)
        arguments = [self.callback, I64(number), self.addresses, I64(8 * len(layouts))]
        status = builder.call(caller, arguments)
        self._stop_if(builder.icmp_signed("!=", status, I32(0)), status)

    def _run_bodies(self, step: Call) -> None:
        """A loop or a choice: a function of its own, which calls those of its bodies."""
        from wengert.compile.llvm.library import bodies  # few programs need it

        number, begins = self.numbers[id(step)]
        inside = []
        for plan, first in zip(step.bodies, begins, strict=True):
            name = f"{self.function.name}.{number}.{first}"
            body, builder = internal(self.module, name, I32, [POINTER], "alwaysinline")
            _Body(builder, plan, first, alone=self.alone).emit()
            inside.append(body)
        function = bodies.define(self.module, step, f"{self.function.name}.{number}", inside)
        arguments = [*(self._at(layout.place) for layout in step.arrays), self.callback]
        status = self.builder.call(function, arguments)
        self.called.append(status)
        self._stop_if(self.builder.icmp_signed("!=", status, I32(0)), status)

    def _stop_if(self, condition: Any, status: Any) -> None:
        with self.builder.if_then(condition, likely=False):
            self.builder.ret(status)


def _caller(module: ir.Module) -> Any:
    """A function (object, step, addresses, bytes) that calls `object(step, bytes)` in Python."""
    name = "call in Python"
    function = module.globals.get(name)
    if function is not None:
        return function
    kinds = [POINTER, I64, POINTER, I64]
    function, builder = internal(module, name, I32, kinds, "noinline")
    callee, step, addresses, count = function.args
    null = ir.Constant(POINTER, None)

    def python(member: str, result: Any, arguments: list[Any]) -> Any:
        return call(builder, f"python.{member}", result, arguments)

    def is_null(value: Any) -> Any:
        return builder.icmp_unsigned("==", value, null)

    both = stack(builder, ir.ArrayType(POINTER, 2))
    second = builder.gep(both, [I64(1)], inbounds=True, source_etype=POINTER)
    number = python("PyLong_FromSsize_t", POINTER, [step])
    with builder.if_then(is_null(number), likely=False):
        builder.ret(I32(-1))
    text = python("PyBytes_FromStringAndSize", POINTER, [addresses, count])
    with builder.if_then(is_null(text), likely=False):
        python("Py_DecRef", ir.VoidType(), [number])
        builder.ret(I32(-1))
    builder.store(number, both, align=8)
    builder.store(text, second, align=8)
    result = python("PyObject_Vectorcall", POINTER, [callee, both, I64(2), null])
    python("Py_DecRef", ir.VoidType(), [number])
    python("Py_DecRef", ir.VoidType(), [text])
    with builder.if_then(is_null(result), likely=False):
        builder.ret(I32(-1))
    python("Py_DecRef", ir.VoidType(), [result])
    builder.ret(I32(0))
    return function
