"""What the code of a plan is written from, as text: plans of equal text have equal code.

The text is told in a fraction of the time that writing the code takes, so where the code is kept,
on disk or in memory, nothing is written. It has to tell everything that the other files of this
folder ask of a plan; what it cannot tell it refuses, and the code is written then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from wengert.compile.llvm.library.natives import NATIVES, is_native
from wengert.compile.plan.kernel import Kernel
from wengert.compile.plan.plan import Call, Loops, Multiply, Plan, Step, Table
from wengert.compile.program.operations import check
from wengert.compile.program.program import Program, Value
from wengert.history import threads

NAME = "body"
"""What the function of a plan is called in its module."""

_SPELLED = bool, int, float, complex, str, NoneType, EllipsisType
"""What Python's own `repr` tells in full."""


class Untold(Exception):
    """A plan holds what has no text; the message says what."""


def told(plan: Plan) -> str:
    """The text. `Untold` if there is none.

    It begins with what decides beside the plan: of the threads that there are for products, and
    of BLAS's, follows which of them are left to it.
    """
    return "\n".join([f"{threads.AT_FIRST} {threads.of_blas()}", *_plan(plan, {})])


def _plan(plan: Plan, kernels: dict[Kernel, int]) -> Iterator[str]:
    """A kernel is told once; then it is a number."""
    yield f"{Table.of(plan)} {plan.arena}"
    for step in plan.steps:
        yield from _step(step, kernels)


def _step(step: Step, kernels: dict[Kernel, int]) -> Iterator[str]:
    if isinstance(step, Loops):
        count = len(kernels)
        number = kernels.setdefault(step.kernel, count)
        if number == count:
            yield f"kernel {step.kernel}"
        yield f"loops {number} {step.places}"
    elif isinstance(step, Multiply):
        yield f"multiply {step.a} {step.b} {step.out} {step.add}"
    elif step.bodies:
        function: Any = step.statement.function
        yield f"{_called(step)} {function.__name__} {_item(vars(function), {})}"
        for body in step.bodies:
            yield f"body {_item([*body.inputs, None, *body.outputs, None, *body.constants], {})}"
            yield from _plan(body, kernels)
        yield "end"
    elif is_native(step):
        yield f"{_called(step)} native {[*NATIVES].index(step.statement.function)}"
    else:  # in Python: only the arrays matter
        yield f"call {step.statement.function is check} {step.arrays}"


def _called(step: Call) -> str:
    """A statement, whose values are the numbers of arrays."""
    numbers = {value: number for number, value in enumerate(step.inputs)}
    statement = step.statement
    given = _item([statement.args, statement.kwargs], numbers)
    return f"{given} {len(numbers)} {step.arrays}"


def _item(x: Any, numbers: Mapping[Value, int]) -> str:
    kind = type(x)
    if kind is Value:
        return f"${numbers.get(x)} {x} {x.weak}"
    if kind in _SPELLED or isinstance(x, np.dtype) or (kind is type and issubclass(x, np.generic)):
        return repr(x)
    if kind is tuple or kind is list:
        return f"{kind.__name__}({', '.join([_item(part, numbers) for part in x])})"
    if kind is dict:
        return f"dict({', '.join([f'{k!r}: {_item(part, numbers)}' for k, part in x.items()])})"
    if kind is slice:
        return f"slice{_item([x.start, x.stop, x.step], numbers)}"
    if kind is Program:  # its statements are the steps of a plan
        own = {value: number for number, value in enumerate(x.inputs)}
        return f"program {_item([x.inputs, x.outputs, list(x.updates.items())], own)}"
    if isinstance(x, (np.ndarray, np.generic)) and not x.dtype.hasobject:
        data = hashlib.blake2b(x.tobytes(), digest_size=20).hexdigest()
        return f"array {x.dtype!r} {x.shape} {data}"
    raise Untold(f"There is no text for {x!r}.")
