"""Functions of a module: those that it defines for itself, and those that it calls."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir


def internal(
    module: ir.Module, name: str, result: ir.Type, arguments: Sequence[ir.Type], *attributes: str
) -> tuple[ir.Function, ir.IRBuilder]:
    """A function that only its module calls, and what writes it. No exceptions pass through it."""
    function = ir.Function(module, ir.FunctionType(result, arguments), name)
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
    return b.call(declare(b.module, name, result, [x.type for x in arguments]), arguments)
