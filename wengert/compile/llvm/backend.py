"""LLVM as a back end: what there is code for, and a plan as machine code of this processor.

What writes code is imported to write some: where it is kept, that takes longer than to find it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from wengert.compile.llvm import description
from wengert.compile.llvm.elementary import scalars
from wengert.compile.llvm.library import natives
from wengert.compile.llvm.machine import host
from wengert.compile.plan.outer import Outer
from wengert.compile.plan.plan import Call, Multiply, Plan, numbered
from wengert.compile.program.bodies import LOOPS

MANY = 512
"""Steps of a plan and of its bodies, above which LLVM's own pipeline takes long."""
LARGE = 1 << 21
"""Multiplications of a product that is taken in tiles, for whose numbers LLVM's own pipeline has no
registers left; beside it, what else an iteration does takes no time."""


class LLVM:
    """See `compile/backend.py` for what its methods answer."""

    def supports(self, function: str, dtypes: tuple[np.dtype, ...]) -> bool:
        return scalars.supported(function, dtypes)

    def multiplies(self, dtype: np.dtype) -> bool:
        return dtype.char in "fdFD"

    def reads(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
        """Matrices as BLAS reads them: neighbours along one axis, and no row twice."""
        (m, n), (s, t) = shape[-2:], strides[-2:]
        if min(s, t) < 0 or (s == 0 and m > 1) or (t == 0 and n > 1):
            return False
        return (t == 1 or n == 1) or (s == 1 or m == 1)

    def runs(self, step: Call) -> bool:
        return natives.is_native(step)

    def raises(self, function: Any) -> bool:
        return natives.native_of(function) is None

    def code(self, plan: Plan, name: str, timed: bool = False) -> Body:
        def write() -> ir.Module:
            from wengert.compile.llvm import body

            module = ir.Module(name)
            body.define(module, plan, timed)
            return module

        try:
            text = f"{timed} {description.told(plan)}"
        except description.Untold:
            code = host.compile_module(write(), name, _passes(plan))
        else:
            code = host.compile_text(text, write, name, _passes(plan))
        return Body(code, code.address(description.NAME))

    def outer(self, plan: Plan, function: Outer) -> Body:
        code = host.compile_module(_outer(plan, function), function.name)
        return Body(code, code.address(function.name))

    def object_file(self, plan: Plan, function: Outer) -> bytes:
        return host.object_file(_outer(plan, function))


def _passes(plan: Plan) -> tuple[str, ...]:
    """All of LLVM's where a few short steps run again and again: what is left among their arrays in
    registers costs more, time after time, than it takes to find.
    """
    steps = [step for _, step, _ in numbered(plan)]
    goes_round = any(isinstance(s, Call) and type(s.statement.function) in LOOPS for s in steps)
    short = not any(isinstance(s, Multiply) and _multiplied(s) > LARGE for s in steps)
    return host.USUAL if goes_round and short and len(steps) <= MANY else host.PASSES


def _multiplied(product: Multiply) -> int:
    """How many multiplications one of its products of matrices takes."""
    return math.prod(product.a.shape[-2:]) * product.out.shape[-1]


def _outer(plan: Plan, function: Outer) -> ir.Module:
    from wengert.compile.llvm import outer

    module = ir.Module(function.name)
    outer.define(module, plan, function)
    return module


class Body(NamedTuple):
    """The function of a plan, and the module that it is part of."""

    module: host.Code
    body: int
