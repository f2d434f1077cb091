"""Whole statements that have machine code of their own: running sums, sorts, convolutions.

A `Call` step of a plan is carried out by what is registered here for its function, if that fits the
step's layouts and dtypes; otherwise by calling the function in Python. The files that register
what they have are imported by `body.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wengert.compile.plan.plan import Call


@dataclass(frozen=True, slots=True)
class Native:
    """How statements of one function become machine code.

    `fits` tells whether a step can; `define(module, step)` gives the function of the addresses of
    the step's distinct inputs and its outputs, in order. It returns nothing; or an i32 which is 0,
    or -1 with a Python exception set. Equal steps share a function.
    """

    fits: Callable[[Call], bool]
    define: Callable[[Any, Call], Any]


NATIVES: dict[Any, Native] = {}


def is_native(step: Call) -> bool:
    """Whether a step is machine code, rather than a call of Python: loops are."""
    if step.bodies:
        return True
    native = NATIVES.get(step.statement.function)
    return native is not None and native.fits(step)


def define(module: Any, step: Call) -> Any:
    """The function for a native step, defined in the module."""
    return NATIVES[step.statement.function].define(module, step)
