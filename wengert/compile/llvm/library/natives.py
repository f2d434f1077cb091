"""Whole statements that have machine code of their own: running sums, sorts, convolutions.

A `Call` step of a plan is carried out by what is registered here for its function, if that fits the
step's layouts and dtypes; otherwise by calling the function in Python.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from wengert.compile.plan.plan import Call
from wengert.compile.program.operations import check


class Native(NamedTuple):
    """How statements of one function become machine code.

    `describe` says all that the code of a step depends on, None where there is no code for it;
    `define(module, step, name, description)` gives the function, of this name, of the addresses of
    the step's distinct inputs and its outputs, in order. It returns nothing; or an i32 which is 0,
    or -1 with a Python exception set.
    """

    describe: Callable[[Call], Any]
    define: Callable[[Any, Call, str, Any], Any]


NATIVES: dict[Any, Native] = {}
FILES = "convolution", "pooling", "scans", "sorts"
"""Which register what they have. They take long to import, and most programs need none."""


def native_of(function: Any) -> Native | None:
    """How a function's statements become machine code, if there is a way."""
    if function is check:  # Python is called for the error only
        return None
    _import_all()
    return NATIVES.get(function)


@functools.cache
def _import_all() -> None:
    for name in FILES:
        importlib.import_module(f"{__package__}.{name}")


def is_native(step: Call) -> bool:
    """Whether a step is machine code, rather than a call of Python: loops are."""
    if step.bodies:
        return True
    native = native_of(step.statement.function)
    return native is not None and native.describe(step) is not None


def define(module: Any, step: Call) -> Any:
    """The function for a native step, defined in the module; equal steps share one."""
    name = _name_of(step)
    native = NATIVES[step.statement.function]
    known = module.globals.get(name)
    return known or native.define(module, step, name, native.describe(step))


def _name_of(step: Call) -> str:
    """A name that equal steps, and only those, share."""
    numbers = {value: f"${number}" for number, value in enumerate(step.inputs)}
    statement = step.statement
    given = [numbers.get(arg, arg) for arg in statement.args]
    named = {key: numbers.get(arg, arg) for key, arg in statement.kwargs.items()}
    arrays = [(a.shape, a.strides, a.dtype.str) for a in (*step.inputs.values(), *step.outputs)]
    function = [*NATIVES].index(statement.function)
    return f"{function}.{statement.name}{given}{named}{arrays}".replace('"', "'")
