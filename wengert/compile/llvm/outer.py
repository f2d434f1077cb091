"""Outer functions as machine code that needs no Python: see `plan/outer.py`.

What a body would ask of the interpreter is answered here: an exception is set by nobody, and no
signal has come. What a body would call in Python is for the caller to refuse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.llvm import body
from wengert.compile.llvm.machine import scratch
from wengert.compile.llvm.machine.values import BYTE, FLOATS, I32, I64, POINTER, stored
from wengert.compile.plan.outer import Data, Entry, Outer, Parameter, Returned, Source
from wengert.compile.plan.plan import Plan, Table


def define(module: ir.Module, plan: Plan, outer: Outer) -> None:
    """Add an outer function of a plan to a module that holds nothing else."""
    inside = module.globals[body.define(module, plan, alone=True)]
    returned = FLOATS[8] if outer.returns == "number" else I32
    function = ir.Function(
        module, ir.FunctionType(returned, [_kind(p) for p in outer.parameters]), outer.name
    )
    function.attributes.add("nounwind")
    _Outer(function, plan, outer).emit(inside)
    inside.linkage = "internal"
    _answer_for_python(module)


def _kind(parameter: Parameter) -> ir.Type:
    if parameter.address or parameter.dtype is None:
        return POINTER
    return stored(parameter.dtype)


class _Outer(scratch.Scratch):
    def __init__(self, function: ir.Function, plan: Plan, outer: Outer) -> None:
        super().__init__(ir.IRBuilder(function.append_basic_block("entry")))
        self.module = function.module
        self.given = function.args
        self.plan = plan
        self.outer = outer
        self.result: Any = None

    def emit(self, inside: ir.Function) -> None:
        b, outer, table = self.b, self.outer, Table.of(self.plan)
        for number, expected in outer.expected:
            other = b.icmp_signed("!=", self.given[number], self.given[number].type(expected))
            with b.if_then(other, likely=False):
                self.finish(I32(-1))
        entries = scratch.stack(b, ir.ArrayType(POINTER, table.size), 8)
        sources = [*outer.inputs, *outer.outputs, *outer.constants]
        addresses = [*map(self._address, sources), self.room(self.plan.arena)]
        for slot, address in enumerate(addresses):
            at = b.gep(entries, [I64(slot)], inbounds=True, source_etype=POINTER)
            b.store(address, at, align=8)
        for value, address in zip(self.plan.inputs, addresses, strict=False):
            if value.bounds is not None:
                self._lies_between(address, stored(value.dtype), *value.bounds)
        self.finish(b.call(inside, [entries]))

    def _lies_between(self, address: Any, kind: Any, low: int, high: int) -> None:
        """Return unless an int is one that the code is made for."""
        b = self.b
        n = b.load(address, typ=kind, align=1)
        below, above = b.icmp_signed("<", n, kind(low)), b.icmp_signed(">", n, kind(high))
        with b.if_then(b.or_(below, above), likely=False):
            self.finish(I32(-2))

    def _address(self, source: Source) -> Any:
        b = self.b
        if isinstance(source, Returned):
            self.result = scratch.stack(b, FLOATS[8])
            return self.result
        if isinstance(source, Data):
            name = source.name or self.module.get_unique_name(f"{self.outer.name}.constant")
            known = self.module.globals.get(name)
            data = np.ascontiguousarray(source.array).tobytes()
            return known or scratch.constant(self.module, name, data, shown=bool(source.name))
        given = self.given[source.parameter]
        if isinstance(source, Entry):
            at = b.gep(given, [I64(source.index)], inbounds=True, source_etype=POINTER)
            return b.load(at, typ=POINTER, align=8)
        if self.outer.parameters[source.parameter].address:
            return b.gep(given, [I64(source.offset)], inbounds=True, source_etype=BYTE)
        return scratch.Variable(b, given).place

    def finish(self, result: Any) -> None:
        """Return, after a status, what the function is to return."""
        b, returns = self.b, self.outer.returns
        fine = b.icmp_signed("==", result, I32(0))
        if returns == "success":
            result = b.zext(fine, I32)
        elif returns == "number":
            number = b.load(self.result, typ=FLOATS[8]) if self.result else FLOATS[8](0.0)
            result = b.select(fine, number, FLOATS[8](float("nan")))
        super().finish(result)


def _answer_for_python(module: ir.Module) -> None:
    """Define what is asked of Python: nothing happens, and the answer is zero."""
    for function in list(module.globals.values()):
        if function.name.startswith("python.") and function.is_declaration:
            function.linkage = "internal"
            b = ir.IRBuilder(function.append_basic_block("entry"))
            kind = function.function_type.return_type
            if isinstance(kind, ir.VoidType):
                b.ret_void()
            else:
                b.ret(ir.Constant(kind, None if kind == POINTER else 0))
