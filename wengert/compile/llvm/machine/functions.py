"""Functions of a module: those that it defines for itself, and those that it calls."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from wengert.compile.llvm.machine.text import body_of


class Function(ir.Function):  # type: ignore[misc]
    """A function that is named and written in less time than llvmlite takes."""

    def __init__(self, module: ir.Module, kind: ir.FunctionType, name: str) -> None:
        super().__init__(module, kind, name)
        self.scope: Any = _Names(vars(self)["scope"])

    def descr_body(self, buf: list[str]) -> None:
        buf.append(body_of(self))


class _Names:
    """The names in a function: what is given none gets a number, of which there is no other."""

    def __init__(self, scope: Any) -> None:
        self.scope = scope
        self.numbers = itertools.count()

    def register(self, name: str, deduplicate: bool = False) -> str:
        return self.scope.register(name, deduplicate) if name else str(next(self.numbers))


def internal(
    module: ir.Module, name: str, result: ir.Type, arguments: Sequence[ir.Type], *attributes: str
) -> tuple[ir.Function, ir.IRBuilder]:
    """A function that only its module calls, and what writes it. No exceptions pass through it."""
    function = Function(module, ir.FunctionType(result, arguments), name)
    function.linkage = "internal"
    for attribute in ("nounwind", *attributes):
        function.attributes.add(attribute)
    return function, ir.IRBuilder(function.append_basic_block("entry"))


def declare(
    module: ir.Module, name: str, result: ir.Type, arguments: Sequence[ir.Type]
) -> ir.Function:
    """The module's function `name`, declared when it is not there yet."""
    known = module.globals.get(name)
    if known is None:
        known = ir.Function(module, ir.FunctionType(result, arguments), name)
    return known


def call(b: ir.IRBuilder, name: str, result: ir.Type, arguments: list[ir.Value]) -> ir.Value:
    """Call a function of the C library, or of Python's (`python.NAME`), or an intrinsic."""
    # Of addresses alone, whatever lies there: two constants may differ in length.
    kinds = [ir.PointerType() if isinstance(x.type, ir.PointerType) else x.type for x in arguments]
    return b.call(declare(b.module, name, result, kinds), arguments)


class Weight(NamedTuple):
    """What becomes part of a caller: instructions, and bytes of its stack."""

    instructions: int
    stack: int


def weight(function: ir.Function) -> Weight:
    """The weight of a function, and of those that become part of it."""
    instructions = stack = 0
    for block in function.blocks:
        instructions += len(block.instructions)
        for x in block.instructions:
            if isinstance(x, ir.AllocaInstr):
                stack += getattr(x.allocated_type, "count", 1)
            elif isinstance(x, ir.CallInstr) and _joins(x.callee):
                more = weight(x.callee)
                instructions, stack = instructions + more.instructions, stack + more.stack
    return Weight(instructions, stack)


def _joins(callee: ir.Value) -> bool:
    return isinstance(callee, ir.Function) and "alwaysinline" in callee.attributes
