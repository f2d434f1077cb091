"""A plan made ready to run: machine code, its working memory, and the way back into Python.

`Executable.run` takes and returns arrays. The fast way in is `entry.py`, which calls the same
native function with a table of its own: see `table`, `fixed`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.autograd.operands import unsuited
from wengert.compile.backend import Backend, backend
from wengert.compile.plan.kernel import LINE
from wengert.compile.plan.plan import Call, Layout, Plan, Table, numbered
from wengert.compile.program.program import Program, Statement, Value, mapped
from wengert.history.uncollected import uncollected

# One class for all: each is a cycle, which would wait for the collector.
_BODY = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class Executable:
    """A plan as code of the back end. `body` is the address of its function (see `Table`).

    `table` says which entry of the buffers is what; `calls` whether steps run in Python.
    """

    def __init__(self, plan: Plan, name: str = "compiled", timed: bool = False) -> None:
        machine = backend()
        self.plan = plan
        self.name = name
        self.constants = [np.array(c, order="C", copy=None, subok=False) for c in plan.constants]
        self.code = machine.code(plan, name, timed)
        self.body = self.code.body
        self.table = Table.of(plan)
        self.callback = Callback(plan, machine)
        lasting = any(says(step, "lasts") for _, step, _ in numbered(plan))
        self.calls = bool(self.callback.steps) or lasting  # signals run handlers in Python
        self._fixed: list[tuple[int, int, Any]] | None = None
        self._native = _BODY(self.body)
        self._written = {
            place.number for step in plan.steps for place in step.written if place.kind == "input"
        }

    # ---- for the native entry ---------------------------------------------------------------

    @property
    def fixed(self) -> list[tuple[int, int, Any]]:
        """Entries of the table that are the same in every call: (entry, address, what to keep).

        The arena among them belongs to one caller, which must not run twice at once.
        """
        if self._fixed is None:
            arena = aligned(self.plan.arena)
            self._fixed = [*self.shared(), (self.table.arena, arena.ctypes.data, arena)]
        return self._fixed

    def shared(self) -> list[tuple[int, int, Any]]:
        constants = [
            (self.table.constant(i), c.ctypes.data, c) for i, c in enumerate(self.constants)
        ]
        return [*constants, (self.table.callback, id(self.callback), self.callback)]

    # ---- running ----------------------------------------------------------------------------

    def run(
        self, arrays: list[Any], counters: int = 0, arena: np.ndarray | None = None
    ) -> list[Any]:
        """Fresh outputs for these inputs; those that the plan updates are written in place.

        Each call has its own arena unless it is given one, so calls may overlap. A timed body notes
        the time of its steps at the address `counters`.
        """
        given = [self._input(x, v) for x, v in zip(arrays, self.plan.inputs, strict=True)]
        self._separate(given)
        outputs = [np.empty(v.shape, v.dtype) for v in self.plan.outputs]
        arena = aligned(self.plan.arena) if arena is None else arena
        table = np.zeros(self.table.size, np.uintp)
        for slot, address, _ in self.shared():
            table[slot] = address
        table[self.table.arena] = arena.ctypes.data
        table[self.table.counters] = counters
        for number, array in enumerate(given):
            table[self.table.input(number)] = array.ctypes.data
        for number, array in enumerate(outputs):
            table[self.table.output(number)] = array.ctypes.data
        self._native(table.ctypes.data)
        for number in self._written:
            if given[number] is not arrays[number]:
                arrays[number][...] = given[number]
        return [
            array.item() if value.weak else array
            for array, value in zip(outputs, self.plan.outputs, strict=True)
        ]

    def _input(self, x: Any, value: Value) -> np.ndarray:
        """An input as the native code reads it."""
        array = np.asarray(x)
        if not value.weak and (array.shape, array.dtype) != (value.shape, value.dtype):
            raise TypeError(
                f"{self.name} was compiled for {value}, but received {array.dtype}"
                f"{list(array.shape)}. Compile it again for these arrays."
            )
        return np.require(array, value.dtype, ["C", "A"])

    def _separate(self, given: list[np.ndarray]) -> None:
        """Copy what lies in memory that a step writes through another input."""
        spans = sorted(
            (array.ctypes.data, array.ctypes.data + array.nbytes, number)
            for number, array in enumerate(given)
            if array.nbytes
        )
        for number in self._written:
            start = given[number].ctypes.data
            end = start + given[number].nbytes
            for first, last, other in spans:
                if other != number and first < end and start < last:
                    given[other] = given[other].copy()


@uncollected()
def executable(program: Program) -> Executable:
    """A program made ready to run."""
    from wengert.compile.plan.planner import plan  # not needed to import wengert

    return Executable(plan(program, backend()))


def aligned(size: int) -> np.ndarray:
    """Uninitialised memory that begins at a line of the cache; a byte at least."""
    size = max(size, 1)  # an empty array has no address
    try:
        memory = np.empty(size + LINE, np.uint8)
    except MemoryError:
        raise MemoryError(
            f"a compiled function works in {size:,} bytes, which this process does not get. Let "
            'it do with less, e.g. wg.compile(f, memory="1GB"), or take smaller batches.'
        ) from None
    skip = -memory.ctypes.data % LINE
    return memory[skip : skip + size]


# ---- steps in Python ----------------------------------------------------------------------------


def says(step: Any, fact: str) -> bool:
    """What a step's function says of itself: that it `lasts` long, and lets itself be interrupted,
    or for ever, being `endless`; or that it `meets` other processes, which have to come to it, too.
    """
    return isinstance(step, Call) and getattr(step.statement.function, fact, False)


class Callback:
    """What native code calls for a `Call` step: with its number and the addresses of its arrays."""

    def __init__(self, plan: Plan, machine: Backend) -> None:
        self.steps = {
            number: _PythonStep(step)
            for number, step, _ in numbered(plan)
            if isinstance(step, Call) and not machine.runs(step)
        }

    def __call__(self, number: int, addresses: bytes) -> None:
        self.steps[number].run(addresses)


@dataclass(frozen=True, slots=True)
class _Arrays:
    """A step's arrays at some addresses."""

    addresses: bytes
    inputs: dict[Value, np.ndarray]
    outputs: list[np.ndarray]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class _PythonStep:
    """Runs a statement on arrays in place. Arrays are made anew only where addresses changed."""

    def __init__(self, step: Call) -> None:
        self.statement = step.statement
        self.inputs = step.inputs
        self.outputs = step.outputs
        self.into = getattr(step.statement.function, "into", None)  # it writes its outputs itself
        # Numbers are made anew. What is opaque takes arrays only.
        self.weak = any(value.weak for value in step.inputs) and not _is_opaque(step.statement)
        self.last: _Arrays | None = None

    def run(self, addresses: bytes) -> None:
        statement = self.statement
        arrays = self.last
        if arrays is None or arrays.addresses != addresses:
            arrays = self.last = self._arrays(addresses)
        args, kwargs = arrays.args, arrays.kwargs
        if self.weak:
            args, kwargs = _arguments(statement, arrays.inputs)
        try:
            if self.into is not None:
                self.into(arrays.outputs, *args, **kwargs)
            else:
                results = statement.function(*args, **kwargs)
                self._store(statement.results(results), arrays.outputs)
        except np.linalg.LinAlgError as error:
            raise self._noted(unsuited(statement.function.__name__, error, ())) from None
        except Exception as error:
            self._noted(error)
            raise

    def _noted(self, error: Exception) -> Exception:
        if self.statement.code is not None:
            error.add_note(f"In a compiled function, {self.statement.line()}")
        return error

    def _arrays(self, addresses: bytes) -> _Arrays:
        numbers = memoryview(addresses).cast("P").tolist()
        inputs = {}
        for (value, layout), address in zip(self.inputs.items(), numbers, strict=False):
            inputs[value] = array = array_at(address, layout)
            array.flags.writeable = False
        places = zip(self.outputs, numbers[len(inputs) :], strict=True)
        outputs = [array_at(address, layout) for layout, address in places]
        return _Arrays(addresses, inputs, outputs, *_arguments(self.statement, inputs))

    def _store(self, results: Any, outputs: list[np.ndarray]) -> None:
        for result, output in zip(results, outputs, strict=True):
            if np.shape(result) != output.shape:
                raise ValueError(
                    f"{self.statement.name} returned shape {np.shape(result)}; when it was traced, "
                    f"it returned {output.shape}. A compiled function needs shapes that depend on "
                    "the arguments' shapes only."
                )
            if np.iscomplexobj(result) and output.dtype.kind != "c":  # which bfloat16 would take
                raise TypeError(f"{self.statement.name} returned complex numbers")
            np.copyto(output, result, casting="same_kind")


def _is_opaque(statement: Statement) -> bool:
    return getattr(statement.function, "opaque", False)


def _arguments(
    statement: Statement, arrays: dict[Value, np.ndarray]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A statement's arguments, with arrays in place of values, and numbers of weak ones."""
    only_arrays = _is_opaque(statement)

    def of(value: Value) -> Any:
        return arrays[value].item() if value.weak and not only_arrays else arrays[value]

    replace: Callable[[Value], Any] = of
    return mapped(statement.args, replace), mapped(statement.kwargs, replace)


def array_at(address: int, layout: Layout) -> np.ndarray:
    """An array over memory that somebody else keeps alive."""
    size = layout.dtype.itemsize
    if 0 in layout.shape:
        return np.empty(layout.shape, layout.dtype)
    steps = [(n - 1) * s for n, s in zip(layout.shape, layout.strides, strict=True)]
    before = -sum(step for step in steps if step < 0) * size
    after = sum(step for step in steps if step > 0) * size + size
    memory: Any = (ctypes.c_char * (before + after)).from_address(address - before)
    strides = [s * size for s in layout.strides]
    return np.ndarray(layout.shape, layout.dtype, memory, before, strides)
