"""Operations that are one where two are asked for: products in sums, and a sine with its cosine.

Products are rounded together with the sum that they are a part of, by one instruction. A difference
is no such sum: what is equal with NumPy differs by zero, so that a residual x x - y vanishes where
y is the rounded square, and the root of a discriminant is no NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compile.llvm.machine.lanes import mad, of_values
from wengert.compile.llvm.machine.values import B
from wengert.compile.llvm.nests.schedule import dtype_of
from wengert.compile.plan.kernel import Apply, Operation, Reduce, Store

CONTRACT = "contract"
"""Says of a product and of a sum that both may be one instruction, which rounds once."""


def products_summed(operations: Sequence[Operation]) -> set[int]:
    """The products of floats that are added up as they are."""
    summed = {
        op.arg
        for op in operations
        if (isinstance(op, Reduce) and op.name == "add")
        or (isinstance(op, Store) and op.combine == "add")
    }
    return {k for k in summed if _is_product(k, operations)}


class Sum(NamedTuple):
    """A sum of a product and something else, a b + c."""

    product: int
    factors: tuple[int, int]
    other: int

    @property
    def read(self) -> tuple[int, int, int]:
        return *self.factors, self.other

    def of(self, b: B, *args: Any) -> Any:
        """The value, of those that it reads."""
        return mad(*(of_values(b, arg) for arg in args)).value


def sums_of_products(operations: Sequence[Operation]) -> dict[int, Sum]:
    """The sums of floats of which one part is a product, by number."""
    return {k: x for k, op in enumerate(operations) if (x := _sum(op, operations))}


def _sum(op: Operation, operations: Sequence[Operation]) -> Sum | None:
    if not isinstance(op, Apply) or op.name != "add":
        return None
    products = [k for k in op.args if _is_product(k, operations)]
    alike = all(dtype_of(operations[k], operations) == op.dtype for k in op.args)
    if not products or not alike:
        return None
    last = max(products)  # the other one may be known by then
    product = operations[last]
    assert isinstance(product, Apply)
    a, b = product.args
    return Sum(last, (a, b), op.args[1 - op.args.index(last)])


def _is_product(k: int, operations: Sequence[Operation]) -> bool:
    op = operations[k]
    multiplies = isinstance(op, Apply) and op.name == "multiply"
    return multiplies and dtype_of(op, operations) in (np.float32, np.float64)


CIRCULAR = "sin", "cos"


def circular_pairs(operations: Sequence[Operation]) -> dict[int, tuple[int, int]]:
    """The sines and cosines of one value, by the number of either."""
    of_value: dict[int, dict[str, int]] = {}
    for k, op in enumerate(operations):
        if isinstance(op, Apply) and op.name in CIRCULAR and op.dtype in (np.float32, np.float64):
            of_value.setdefault(op.args[0], {})[op.name] = k
    pairs = [(both["sin"], both["cos"]) for both in of_value.values() if len(both) == 2]
    return {k: pair for pair in pairs for k in pair}
