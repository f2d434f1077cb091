"""Loops whose body is a plan of its own, as native functions.

The body is a function of a table of addresses, as any plan is. The state lies where the loop's
results are wanted, and the body updates it there; rows are addresses that move. Working memory is
taken once for the whole loop, so an iteration allocates nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.machine.values import BYTE, I32, I64, POINTER
from wengert.compile.plan.plan import Call, Plan, Table
from wengert.compile.program.program import Value

B: TypeAlias = ir.IRBuilder
V: TypeAlias = ir.Value

STACK = 1 << 16
"""Bytes of working memory that are taken from the stack; more are allocated."""
ALIGNMENT = 64


def define(
    module: ir.Module, step: Call, name: str, first: int, emit: Callable[[Any, Plan, int], None]
) -> ir.Function:
    """The function of a loop, of the addresses of its arrays and the object that calls Python.

    `emit(function, plan, first)` writes the body, whose steps are numbered from `first` on. The
    result is an i32 as that of a body.
    """
    assert step.body is not None
    inside = ir.Function(module, ir.FunctionType(I32, [POINTER]), f"{name}.body")
    inside.linkage = "internal"
    inside.attributes.add("alwaysinline")
    emit(inside, step.body, first)
    kind = ir.FunctionType(I32, [POINTER] * (len(step.arrays) + 1))
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    _Emitter(function, step, inside).emit()
    return function


class _Emitter:
    def __init__(self, function: ir.Function, step: Call, inside: ir.Function) -> None:
        assert step.body is not None
        self.module = function.module
        self.name = function.name
        self.b: B = ir.IRBuilder(function.append_basic_block("entry"))
        self.repeat: Any = step.statement.function
        self.plan = step.body
        self.table = Table.of(self.plan)
        self.inside = inside
        order = list(step.inputs)
        self.inputs = [
            function.args[order.index(x)] if type(x) is Value else self._number(k, x)
            for k, x in enumerate(step.statement.args)
        ]
        self.outputs = list(function.args[len(order) : -1])
        self.callback = function.args[-1]

    def emit(self) -> None:
        b, repeat, plan, table = self.b, self.repeat, self.plan, self.table
        carries, rows = repeat.carries, repeat.rows
        self.entries = b.alloca(ir.ArrayType(POINTER, table.size))
        self.entries.align = 8
        self.entries.type = POINTER  # llvmlite gives it a type that knows its contents
        index = b.alloca(I64)
        index.type = POINTER
        memory = self._memory()
        self._set(table.input(0), index)
        for k, (state, init) in enumerate(zip(self.outputs[:carries], self.inputs, strict=False)):
            self._copy(state, init, plan.inputs[1 + k].nbytes)
            self._set(table.input(1 + k), state)
        for k, at in enumerate(self.inputs[carries + rows :]):
            self._set(table.input(1 + carries + rows + k), at)
        for k, array in enumerate(plan.constants):
            self._set(table.constant(k), self._global(f"constant.{k}", np.asarray(array)))
        self._set(table.callback, self.callback)
        moving = [
            (table.input(1 + carries + k), self.inputs[carries + k], plan.inputs[1 + carries + k])
            for k in range(rows)
        ]
        moving += [
            (table.output(k), self.outputs[carries + k], v) for k, v in enumerate(plan.outputs)
        ]
        self._loop(index, moving, memory)

    def _loop(self, index: V, moving: list[tuple[int, V, Value]], memory: V | None) -> None:
        b, length = self.b, self.repeat.length
        before = b.block
        inside, after = b.append_basic_block("iteration"), b.append_basic_block("done")
        b.branch(inside)
        b.position_at_end(inside)
        t = b.phi(I64)
        t.add_incoming(I64(0), before)
        k = b.sub(I64(length - 1), t) if self.repeat.backwards else t
        b.store(k, index, align=8)
        for entry, base, value in moving:
            far = b.mul(k, I64(value.nbytes))
            self._set(entry, b.gep(base, [far], inbounds=True, source_etype=BYTE))
        status = b.call(self.inside, [self.entries])
        following = b.add(t, I64(1), flags=("nuw", "nsw"))
        t.add_incoming(following, b.block)
        fine = b.icmp_signed("==", status, I32(0))
        more = b.icmp_unsigned("<", following, I64(length))
        b.cbranch(b.and_(fine, more), inside, after)
        b.position_at_end(after)
        if memory is not None:
            self._call("free", ir.VoidType(), [memory])
        b.ret(status)

    # ---- memory ---------------------------------------------------------------------------------

    def _memory(self) -> V | None:
        """Working memory for the body; what is to be freed in the end."""
        b, size = self.b, self.plan.arena
        if size <= STACK:
            room = b.alloca(ir.ArrayType(BYTE, max(size, 1)))
            room.align = ALIGNMENT
            room.type = POINTER
            self._set(self.table.arena, room)
            return None
        memory = self._call("malloc", POINTER, [I64(size + ALIGNMENT)])
        with b.if_then(b.icmp_unsigned("==", memory, ir.Constant(POINTER, None)), likely=False):
            self._call("python.PyErr_NoMemory", POINTER, [])
            b.ret(I32(-1))
        number = b.add(b.ptrtoint(memory, I64), I64(ALIGNMENT - 1))
        aligned = b.inttoptr(b.and_(number, I64(-ALIGNMENT)), POINTER)
        self._set(self.table.arena, aligned)
        return memory

    def _set(self, entry: int, address: V) -> None:
        at = self.b.gep(self.entries, [I64(entry)], inbounds=True, source_etype=POINTER)
        self.b.store(address, at, align=8)

    def _copy(self, to: V, source: V, nbytes: int) -> None:
        if nbytes:
            self._call("memcpy", POINTER, [to, source, I64(nbytes)])

    def _number(self, k: int, x: Any) -> V:
        """The address of a number, which a pass has put in the place of a value."""
        return self._global(f"number.{k}", np.asarray(x, self.plan.inputs[1 + k].dtype))

    def _global(self, name: str, array: np.ndarray) -> V:
        data = bytearray(np.ascontiguousarray(array).tobytes())
        kind = ir.ArrayType(BYTE, len(data))
        made = ir.GlobalVariable(self.module, kind, f"{self.name}.{name}")
        made.linkage = "internal"
        made.global_constant = True
        made.align = ALIGNMENT
        made.initializer = ir.Constant(kind, data)
        return self.b.gep(made, [I64(0)], inbounds=True, source_etype=BYTE)

    def _call(self, name: str, result: ir.Type, arguments: list[V]) -> V:
        function = self.module.globals.get(name)
        if function is None:
            kind = ir.FunctionType(result, [x.type for x in arguments])
            function = ir.Function(self.module, kind, name)
        return self.b.call(function, arguments)
