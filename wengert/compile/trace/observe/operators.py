"""Operators: their methods, and how an operator is made to return what is known already."""

from __future__ import annotations

from typing import Any

_ARITHMETIC = (
    *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow"),
    *("lshift", "rshift", "and", "or", "xor"),
)
_MIRRORED = {"lt": "gt", "le": "ge", "eq": "eq", "ne": "ne", "ge": "le", "gt": "lt"}

OPERATORS = {name: (f"__{name}__", f"__r{name}__") for name in _ARITHMETIC} | {
    name: (f"__{name}__", f"__{back}__") for name, back in _MIRRORED.items()
}
"""By an operator's name: the method of its left operand, and that of its right one."""
METHODS = {name for pair in OPERATORS.values() for name in pair} | {"__divmod__", "__rdivmod__"}


class Decided:
    """An operand of which every operator makes what was decided before."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, result: Any) -> None:
        self.result = result


def _result(left: Decided, right: Any) -> Any:
    return left.result


def _alone(decided: Decided) -> Any:
    return decided.result


for _method, _ in OPERATORS.values():
    setattr(Decided, _method, _result)
for _name in ("neg", "pos", "invert"):
    setattr(Decided, f"__{_name}__", _alone)
