"""Compiled functions that SciPy calls at C's speed: `f.lowlevel`.

SciPy calls functions of a few signatures. Each is one line here: which of its parameters are the
arguments, the result, and their sizes; the last one leads to what the function found around it.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.compile.backend import backend
from wengert.compile.call.exports import Alone, Named, unique
from wengert.compile.call.specialization import Specialization
from wengert.compile.plan.outer import Entry, Given, Outer, Returned, Source, parameters_of
from wengert.compile.program.operations import supposes
from wengert.compile.program.program import Value
from wengert.errors import TracingError

FLOAT, INT = np.dtype(float), np.dtype(np.intp)


@dataclass(frozen=True, slots=True)
class Form:
    """A signature that SciPy calls. `takes` are the numbers or the array that are the arguments,
    from parameter `given` on, and `gives` is what the result is, at parameter `result` or returned;
    `sizes` are the parameters that say how many there are of each.
    """

    signature: str
    takes: str
    gives: str
    given: int
    result: int | None = None
    sizes: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.takes} -> {self.gives}"


FORMS = [
    Form("double (double, void *)", "a number", "a number", 0),
    Form("double (int, double *, void *)", "numbers", "a number", 1, None, (0,)),
    Form("int (double *, npy_intp, double *, void *)", "an array", "a number", 0, 2, (1,)),
    Form(
        "int (double *, npy_intp, double *, npy_intp, void *)", "an array", "an array", 0, 2, (1, 3)
    ),
    Form("int (npy_intp *, double *, int, int, void *)", "indices", "an array", 0, 1, (2, 3)),
]
"""Of integrate.quad and nquad; of ndimage.generic_filter, generic_filter1d, geometric_transform."""


def lowlevel(specialization: Specialization) -> Any:
    """The callable for a specialization, by the form of its arguments and its result."""
    from scipy import LowLevelCallable

    function = specialization.owner.function
    name = unique(getattr(function, "__name__", type(function).__name__), set())
    alone = Alone(specialization, name, FLOAT)
    for s in filter(supposes, alone.source.statements):
        raise TracingError(
            f"{name} goes one way or another by what its numbers are, at\n  {s.line()}\nand SciPy "
            "would call the one way that was traced. Write np.where, wg.cond or wg.switch."
        )
    form = _form(alone)
    around = [alone.array(v) for v in alone.data] + list(alone.plan.constants)
    code = backend().outer(alone.plan, _outer(alone, form))
    return LowLevelCallable(_FUNCTION(code.body), _Table(code, around), form.signature)


_FUNCTION = ctypes.CFUNCTYPE(None)


class _Table(ctypes.c_void_p):
    """The address of a table of addresses of arrays; it keeps these alive, and the code."""

    def __init__(self, code: Any, arrays: list[Any]) -> None:
        self.code = code
        self.arrays = [np.ascontiguousarray(x) for x in arrays]
        self.table = np.array([x.ctypes.data for x in self.arrays] + [0], np.uintp)
        super().__init__(self.table.ctypes.data)


def _form(alone: Alone) -> Form:
    shape = _taken(alone), _given(alone)
    for form in FORMS:
        if (form.takes, form.gives) == shape:
            return form
    raise TypeError(
        f"{alone.name} was called as {shape[0]} -> {shape[1]}, and SciPy calls functions of these "
        f"forms only: {'; '.join(map(str, FORMS))}. Numbers are Python's floats, an array is "
        "one of float64 with one axis, and indices are one of int64. Call it once with such."
    )


def _taken(alone: Alone) -> str:
    values = [x.value for x in alone.arguments]
    if alone.fixed:
        return f"something with {', '.join(alone.fixed)}"
    if all(v.shape == () and v.dtype == FLOAT for v in values) and all(
        map(alone.is_number, values)
    ):
        return "a number" if len(values) == 1 else "numbers"
    if len(values) == 1 and len(values[0].shape) == 1 and values[0].dtype in (FLOAT, INT):
        return "an array" if values[0].dtype == FLOAT else "indices"
    return ", ".join(f"{v.dtype}{list(v.shape)}" for v in values) or "nothing"


def _given(alone: Alone) -> str:
    if alone.kept or alone.program.updates:
        raise TracingError(
            f"{alone.name} changes something around it at each call, which SciPy's calls do not "
            "reach. Return it, and keep it outside."
        )
    values = [x.value for x in alone.results]
    if len(values) == 1 and values[0].size == 1 and values[0].shape in ((), (1,)):
        return "a number"
    if len(values) == 1 and len(values[0].shape) == 1:
        return "an array"
    return ", ".join(f"{v.dtype}{list(v.shape)}" for v in values)


def _outer(alone: Alone, form: Form) -> Outer:
    parameters = parameters_of(form.signature)
    last = len(parameters) - 1
    sources: dict[Value, Source] = {}
    for k, x in enumerate(alone.arguments):
        sources[x.value] = Given(form.given, 8 * k)
    for k, v in enumerate(alone.data):
        sources[v] = Entry(last, k)
    constants = range(len(alone.data), len(alone.data) + len(alone.plan.constants))
    (result,) = alone.results
    counts = [_count(alone.arguments), _count([result])]
    return Outer(
        alone.name,
        parameters,
        tuple(sources[v] for v in alone.plan.inputs),
        (Returned() if form.result is None else Given(form.result),),
        tuple(Entry(last, k) for k in constants),
        "number" if form.result is None else "success",
        tuple(zip(form.sizes, counts, strict=False)),
    )


def _count(values: list[Named]) -> int:
    return sum(x.value.size for x in values)
