"""Working memory of a function, and constant data of a module."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from wengert.compile.llvm.machine.functions import call
from wengert.compile.llvm.machine.values import BYTE, I32, I64, POINTER, VOID
from wengert.compile.plan.kernel import LINE

STACK = 1 << 16
"""Bytes of working memory that are taken from the stack; more are allocated."""


def stack(b: ir.IRBuilder, kind: ir.Type, align: int | None = None) -> ir.Value:
    """The address of memory for such a value as long as the function runs.

    It is taken where that begins: LLVM takes it apart, into registers.
    """
    with b.goto_entry_block():
        room = b.alloca(kind)
    room.align = align
    room.type = POINTER  # llvmlite gives it a type that knows its contents
    return room


class Variable:
    """A value that changes: a place on the stack, which LLVM makes a register."""

    def __init__(self, b: ir.IRBuilder, start: ir.Value) -> None:
        self.b = b
        self.kind, self.place = start.type, stack(b, start.type)
        self.put(start)

    def get(self) -> ir.Value:
        return self.b.load(self.place, typ=self.kind)

    def put(self, value: ir.Value) -> None:
        self.b.store(value, self.place)


class Scratch:
    """The working memory of a function whose result is an i32; it ends by `finish`."""

    def __init__(self, b: ir.IRBuilder) -> None:
        self.b = b
        self.borrowed: list[ir.Value] = []

    def room(self, size: int) -> ir.Value:
        """Memory that is good as long as the function runs."""
        if size > STACK:
            return self.allocated(I64(size))
        return stack(self.b, ir.ArrayType(BYTE, max(size, 1)), LINE)

    def allocated(self, size: ir.Value) -> ir.Value:
        """Memory of the C library's; without it, the function returns with a MemoryError set."""
        b = self.b
        memory = call(b, "malloc", POINTER, [b.add(size, I64(LINE))])
        with b.if_then(b.icmp_unsigned("==", memory, ir.Constant(POINTER, None)), likely=False):
            call(b, "python.PyErr_NoMemory", POINTER, [])
            self.finish(I32(-1))
        self.borrowed.append(memory)
        number = b.add(b.ptrtoint(memory, I64), I64(LINE - 1))
        return b.inttoptr(b.and_(number, I64(-LINE)), POINTER)

    def finish(self, result: Any) -> None:
        """Give the memory back, and return."""
        self.free()
        self.b.ret(result)

    def free(self) -> None:
        for memory in self.borrowed:
            call(self.b, "free", VOID, [memory])


def constant(module: ir.Module, name: str, data: bytes, shown: bool = False) -> ir.GlobalVariable:
    """Bytes that are part of the module; those that are `shown` may be written from outside."""
    data = data or b"\0"  # what is empty has an address too
    kind = ir.ArrayType(BYTE, len(data))
    variable = ir.GlobalVariable(module, kind, name)
    variable.linkage = "" if shown else "internal"
    variable.global_constant = not shown
    variable.align = LINE
    variable.initializer = ir.Constant(kind, bytearray(data))
    return variable
