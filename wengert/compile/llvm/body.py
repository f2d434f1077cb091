"""A plan as one native function: `i32 body(i8** buffers)`, which runs all steps in order.

What `buffers` holds and what the result means is said beside `Table` in `plan.py`. This file lowers
the steps: loops by `nests`, products by `matmul.py`, and the calls that `natives.py` knows; other
calls run in Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.description import NAME
from wengert.compile.llvm.library import matmul, natives
from wengert.compile.llvm.library.natives import is_native
from wengert.compile.llvm.machine import functions
from wengert.compile.llvm.machine import host as machine
from wengert.compile.llvm.machine.control import repeat
from wengert.compile.llvm.machine.functions import call, internal
from wengert.compile.llvm.machine.scratch import STACK, constant, stack
from wengert.compile.llvm.machine.values import BYTE, I32, I64, POINTER
from wengert.compile.llvm.nests import kernels, parts
from wengert.compile.llvm.runs import Run, runs
from wengert.compile.plan.kernel import Kernel
from wengert.compile.plan.plan import Call, Loops, Multiply, Place, Plan, Step, Table, numbered
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
        self.functions: dict[Hashable, ir.Function] = {}  # of equal steps

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
        codes = [self._code(step) for step in steps]
        alike = codes if self.long and not self.timed else [None] * len(codes)
        for run in runs(alike):
            if run.times > 1:
                self._repeat(run, codes)
            else:
                self._note_time(run.start)
                self._step(steps[run.start], codes[run.start])
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

    def _entry(self, slot: Any) -> Any:
        number = I64(slot) if isinstance(slot, int) else slot
        at = self.builder.gep(self.buffers, [number], inbounds=True, source_etype=POINTER)
        return self.builder.load(at, typ=POINTER, align=8)

    def _at(self, place: Place) -> Any:
        slot = self.table.slot(place)
        base = self.bases[slot] if slot in self.bases else self._entry(slot)
        if place.offset == 0:
            return base
        return self._by(base, I64(place.offset))

    def _by(self, base: Any, nbytes: Any) -> Any:
        return self.builder.gep(base, [nbytes], inbounds=True, source_etype=BYTE)

    # ---- steps ------------------------------------------------------------------------------

    def _code(self, step: Step) -> ir.Function | None:
        """The function of a step that needs the addresses of its arrays, and nothing else."""
        if isinstance(step, Loops):
            kernel = step.kernel.from_its_begin()
            return self._once(kernel, lambda: self._kernel(kernel))
        if isinstance(step, Multiply):
            operands = [(x.shape, x.strides, x.dtype) for x in (step.a, step.b, step.out)]
            return self._once((*operands, step.add), lambda: self._product(step))
        if step.bodies or not is_native(step):
            return None
        return natives.define(self.module, step)

    def _step(self, step: Any, code: ir.Function | None) -> None:
        if code is not None:
            self._run(code, [self._at(place) for place in _begins(step)])
        elif step.bodies:
            self._run_bodies(step)
        elif step.statement.function is check:
            self._check(self.numbers[id(step)][0], step)
        else:
            self._call(self.numbers[id(step)][0], step)

    def _run(self, code: ir.Function, addresses: list[Any]) -> None:
        status = self.builder.call(code, addresses)
        self.called.append(status)
        if status.type == I32:
            self._stop_if(self.builder.icmp_signed("!=", status, I32(0)), status)

    def _repeat(self, run: Run, codes: list[ir.Function | None]) -> None:
        """Steps that call the same functions time after time, as those of layers do: a loop, with
        a table of where their arrays are.
        """
        steps = self.plan.steps[run.start : run.stop]
        places = [place for step in steps for place in _begins(step)]
        rows = np.array([(self.table.slot(x), x.offset) for x in places], np.int64)
        name = self.module.get_unique_name(f"{self.function.name}.places")
        table = constant(self.module, name, rows.tobytes())

        def once(number: Any) -> None:
            row = self._by(table, self.builder.mul(number, I64(rows.nbytes // run.times)))
            entry = 0
            for step, code in zip(steps[: run.period], codes[run.start :], strict=False):
                addresses = []
                for _ in step.places:
                    base = self._entry(self._number(row, entry))
                    addresses.append(self._by(base, self._number(row, entry + 1)))
                    entry += 2
                assert code is not None
                self._run(code, addresses)

        repeat(self.builder, run.times, once)

    def _number(self, row: Any, entry: int) -> Any:
        return self.builder.load(self._by(row, I64(8 * entry)), typ=I64, align=8)

    def _once(self, key: Hashable, define: Callable[[], ir.Function]) -> ir.Function:
        if key not in self.functions:
            self.functions[key] = define()
        return self.functions[key]

    def _kernel(self, kernel: Kernel) -> ir.Function:
        parted = parts.kernel_in_parts(self.module, kernel, self.alone)
        return parted or kernels.define(self.module, kernel, machine.vector_bytes())

    def _product(self, step: Multiply) -> ir.Function:
        parted = None if self.alone else parts.product_in_parts(self.module, step)
        return parted or matmul.define(self.module, step)

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
        for k, (plan, first) in enumerate(zip(step.bodies, begins, strict=True)):
            name = f"{self.function.name}.{number}.{k}"
            body, builder = internal(self.module, name, I32, [POINTER], "alwaysinline")
            _Body(builder, plan, first, alone=self.alone).emit()
            inside.append(body)
        function = bodies.define(self.module, step, f"{self.function.name}.{number}", inside)
        self._run(function, [*map(self._at, step.places), self.callback])

    def _stop_if(self, condition: Any, status: Any) -> None:
        with self.builder.if_then(condition, likely=False):
            self.builder.ret(status)


def _begins(step: Step) -> tuple[Place, ...]:
    """Where the arrays of a step begin, as its function takes them."""
    if not isinstance(step, Loops):
        return step.places
    begins = zip(step.places, step.kernel.begins(), step.kernel.buffers, strict=True)
    return tuple([place.after(n * dtype.itemsize) for place, n, dtype in begins])


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
