"""Widening: what processors do not compute in bfloat16 is computed in float32, and rounded.

So NumPy's loops for it do. Kernels load, store, choose and cast such numbers, and no more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compile.program.infer import REDUCTIONS
from wengert.compile.program.operations import added, astype
from wengert.compile.program.passes.rewrite import (
    EVERY,
    NUMBERS,
    Rewrite,
    Rules,
    is_elementwise,
    rewrite,
)
from wengert.compile.program.program import Program, Statement, Value
from wengert.dtypes import is_bfloat16

RULES = Rules()
KEPT = frozenset({astype, np.where})
OTHERS = REDUCTIONS | {np.argmax, np.argmin, np.matmul, added}


def widen(program: Program) -> Program:
    """Compute in float32 what is bfloat16; the program is changed in place."""
    return rewrite(program, RULES)


@RULES.on(EVERY)
def in_single(p: Rewrite, s: Statement) -> Any:
    """f(x) = astype(f(astype(x, float32)), bfloat16)"""
    narrow = next((a.dtype for a in s.args if type(a) is Value and is_bfloat16(a.dtype)), None)
    if narrow is None or s.function in KEPT:
        return None
    if not (is_elementwise(s.function) or s.function in OTHERS):
        return None

    def single(x: Any) -> Any:
        if type(x) is Value:
            return p(astype, x, np.dtype(np.float32)) if x.dtype == narrow else x
        return float(narrow.type(x)) if type(x) in NUMBERS else x

    return p(astype, p(s.function, *map(single, s.args), **s.kwargs), s.output.dtype)
