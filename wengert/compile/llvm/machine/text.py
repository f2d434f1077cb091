"""The body of a function as text, which llvmlite writes too, in three times as long.

Most instructions are of a few kinds, and have nothing set but an alignment or flags. What is of
another kind, or has more, llvmlite writes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from llvmlite.ir import instructions as kinds


def body_of(function: ir.Function) -> str:
    """What stands between the braces."""
    return _Writer().body(function)


class _Writer:
    def __init__(self) -> None:
        self.types: dict[int, str] = {}

    def body(self, function: ir.Function) -> str:
        lines = []
        for block in function.blocks:
            lines.append(f"{block.get_reference()[1:]}:\n")
            for x in block.instructions:
                line = None if x.metadata else _LINES.get(type(x), _by_llvmlite)(self, x)
                lines.append(f"  {line or x}\n")
        return "".join(lines)

    def type(self, kind: ir.Type) -> str:
        known = self.types.get(id(kind))
        if known is None:
            if type(kind) is ir.VectorType:
                known = f"<{kind.count} x {self.type(kind.element)}>"
            self.types[id(kind)] = known = known or str(kind)
        return known

    def all(self, values: Any) -> str:
        """Values, each with its type."""
        return ", ".join([f"{self.type(v.type)} {v.get_reference()}" for v in values])

    def operation(self, x: Any) -> str:
        flags = "".join([f" {flag}" for flag in x.flags])
        operands = ", ".join([v.get_reference() for v in x.operands])
        return f"{x.get_reference()} = {x.opname}{flags} {self.type(x.type)} {operands}"

    def compare(self, x: Any) -> str:
        a, b = x.operands
        flags = "".join([f" {flag}" for flag in x.flags])
        operands = f"{self.type(a.type)} {a.get_reference()}, {b.get_reference()}"
        return f"{x.get_reference()} = {x.opname}{flags} {x.op} {operands}"

    def cast(self, x: Any) -> str:
        return f"{x.get_reference()} = {x.opname} {self.all(x.operands)} to {self.type(x.type)}"

    def address(self, x: Any) -> str:
        inbounds = "inbounds " if x.inbounds else ""
        kind, operands = self.type(x.source_etype), self.all(x.operands)
        return f"{x.get_reference()} = getelementptr {inbounds}{kind}, {operands}"

    def load(self, x: Any) -> str:
        align = "" if x.align is None else f", align {x.align}"
        return f"{x.get_reference()} = load {self.type(x.type)}, {self.all(x.operands)}{align}"

    def store(self, x: Any) -> str:
        align = "" if x.align is None else f", align {x.align}"
        return f"store {self.all(x.operands)}{align}"

    def of_elements(self, x: Any) -> str:
        return f"{x.get_reference()} = {x.opname} {self.all(x.operands)}"

    def select(self, x: Any) -> str:
        flags = "".join([f" {flag}" for flag in x.flags])
        return f"{x.get_reference()} = select{flags} {self.all(x.operands)}"

    def phi(self, x: Any) -> str:
        flags = "".join([f" {flag}" for flag in x.flags])
        ways = ", ".join([f"[{v.get_reference()}, {b.get_reference()}]" for v, b in x.incomings])
        return f"{x.get_reference()} = phi{flags} {self.type(x.type)} {ways}"

    def call(self, x: Any) -> str | None:
        callee, *given = x.operands
        kind = callee.function_type
        if x.cconv or x.tail or x.fastmath or x.arg_attributes or kind.var_arg:
            return None
        name = "" if isinstance(x.type, ir.VoidType) else f"{x.get_reference()} = "
        attributes = "".join([f" {a}" for a in sorted(x.attributes)])
        result = self.type(kind.return_type)
        return f"{name}call {result} {callee.get_reference()}({self.all(given)}){attributes}"

    def end(self, x: Any) -> str:
        return f"{x.opname} {self.all(x.operands)}"


def _by_llvmlite(writer: _Writer, x: Any) -> None:
    return None


_LINES: dict[type, Any] = {
    kinds.Instruction: _Writer.operation,
    kinds.ICMPInstr: _Writer.compare,
    kinds.FCMPInstr: _Writer.compare,
    kinds.CastInstr: _Writer.cast,
    kinds.GEPInstr: _Writer.address,
    kinds.LoadInstr: _Writer.load,
    kinds.StoreInstr: _Writer.store,
    kinds.ExtractElement: _Writer.of_elements,
    kinds.InsertElement: _Writer.of_elements,
    kinds.ShuffleVector: _Writer.of_elements,
    kinds.SelectInstr: _Writer.select,
    kinds.PhiInstr: _Writer.phi,
    kinds.CallInstr: _Writer.call,
    kinds.Branch: _Writer.end,
    kinds.ConditionalBranch: _Writer.end,
}
