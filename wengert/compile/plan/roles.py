"""What part a statement plays in planning: a change of layout, a map, a reduction, a product...

A statement with loops of its own is a "map" (one result per element), a "reduce" (one per row), a
"take" (a gather), a "hit" (a scatter in which no two elements meet, which is a gather as well) or a
"gathering" (a sum at few computed places, of which nothing is known before all elements are there).
A "layout" or a "source" costs nothing: those who read it compute its elements on the way. The rest
stand alone: "multiply", "parts" (concatenations and writes into a part), "scatter", "check" and
"call".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.arrays.facts import REDUCED_BY
from wengert.compile.backend import Backend
from wengert.compile.plan.strides import Strided
from wengert.compile.program.again import map_name
from wengert.compile.program.bodies import bodies
from wengert.compile.program.operations import (
    LAYOUTS,
    SOURCES,
    added,
    astype,
    check,
    full,
    number,
    take,
    updated,
    view,
)
from wengert.compile.program.program import Program, Statement, Value

REDUCTIONS = {function: ufunc.__name__ for function, ufunc in REDUCED_BY.items()}
SEARCHES = {np.argmax: "argmax", np.argmin: "argmin"}
STARTS = {"add": 0, "multiply": 1, "logical_or": False, "logical_and": True}
"""What the reduction of no elements gives."""

CASTS = frozenset({astype, number})
INT = np.dtype(np.int64)
BOOL = np.dtype(bool)


def operands(statement: Statement) -> tuple[Any, ...]:
    """The arguments of a map that hold elements: values and Python numbers."""
    return statement.args[:1] if statement.function in CASTS else statement.args


def operand_dtypes(statement: Statement) -> tuple[np.dtype, ...]:
    """The dtypes that a map's operands have, Python numbers included."""
    args = operands(statement)
    if statement.function is np.where:
        out = statement.output.dtype
        return BOOL, out, out
    values = [a.dtype for a in args if type(a) is Value]
    common = values[0] if values else np.dtype(type(args[0]))
    return tuple(a.dtype if type(a) is Value else common for a in args)


def axes_of(statement: Statement) -> tuple[int, ...]:
    """The axes that a reduction sums over."""
    axis = statement.kwargs.get("axis", statement.args[1] if len(statement.args) > 1 else None)
    if axis is None:
        return tuple(range(len(statement.args[0].shape)))
    return axis if isinstance(axis, tuple) else (axis,)


class Roles:
    """The role of each statement of a program, for a back end that supports some functions."""

    def __init__(self, program: Program, backend: Backend) -> None:
        self.backend = backend
        self.program = program
        self.made: dict[Value, Statement] = program.makers()
        self.uses = program.users()
        self._known: dict[tuple[str, tuple[np.dtype, ...]], bool] = {}
        self.hits: dict[Statement, Hit] = {}
        self.of: dict[Statement, str] = {s: self._role(s) for s in program.statements}

    def raises(self, s: Statement) -> bool:
        """Whether a statement may raise: a check, what Python runs, a loop with one of these."""
        inside = bodies(s)
        if inside:
            each = ((Roles(body, self.backend), body) for body in inside)
            return any(any(map(roles.raises, body.statements)) for roles, body in each)
        role = self.of[s]
        draws = s.acts and role == "call" and not s.inputs  # as it has drawn before
        return role == "check" or (role == "call" and not draws and self.backend.raises(s.function))

    def _can(self, name: str, *dtypes: np.dtype) -> bool:
        key = name, dtypes
        if key not in self._known:
            self._known[key] = self.backend.supports(name, dtypes)
        return self._known[key]

    def _role(self, s: Statement) -> str:
        f = s.function
        if len(s.outputs) == 1 and not s.output.size and self._fused(f):
            return "source"
        if f is check:
            return "check"
        if f in LAYOUTS:
            return "layout"
        if f in SOURCES:
            return "source" if f is full or len(s.args) == 1 else "call"
        if f is np.matmul:
            return "multiply" if self._multiplies(s) else "call"
        if f in REDUCTIONS:
            return self._reduction(s)
        if f in SEARCHES:
            dtype = s.args[0].dtype
            fine = s.args[0].size and dtype.kind != "c" and self._can("greater", dtype, dtype)
            return "reduce" if fine else "call"
        if f is take:
            return self._take(s)
        if f is updated or f is added:
            return self._write(s)
        if f is np.concatenate:
            same = all(v.dtype == s.output.dtype for v in s.args[0])
            return "parts" if (same and "axis" in s.kwargs) or len(s.args) > 1 else "call"
        name = map_name(f)
        if name is None or s.kwargs or len(s.outputs) != 1:
            return "call"
        return "map" if self._maps(s, name) else "call"

    def _fused(self, f: Any) -> bool:
        return f in LAYOUTS or f in REDUCTIONS or f is take or map_name(f) is not None

    def _multiplies(self, s: Statement) -> bool:
        a, b = s.args
        fine = type(a) is Value and type(b) is Value and not s.kwargs
        return fine and a.dtype == b.dtype == s.output.dtype and self.backend.multiplies(a.dtype)

    def _maps(self, s: Statement, name: str) -> bool:
        args = operands(s)
        if not any(type(a) is Value for a in args):
            return False
        if not all(type(a) in (Value, int, float, bool, complex) for a in args):
            return False
        dtypes = operand_dtypes(s)
        if name == "astype":
            return self._can(name, *dtypes, s.output.dtype)
        return self._can(name, *dtypes)

    def _reduction(self, s: Statement) -> str:
        name = REDUCTIONS[s.function]
        x = s.args[0]
        if type(x) is not Value or not set(s.kwargs) <= {"axis", "keepdims"}:
            return "call"
        if x.size == 0:
            return "source" if name in STARTS else "call"
        dtype = BOOL if name.startswith("logical") else x.dtype
        if dtype != s.output.dtype:
            return "call"
        if dtype != x.dtype and not self._can("astype", x.dtype, dtype):
            return "call"
        return "reduce" if self._can(name, dtype, dtype) else "call"

    def _take(self, s: Statement) -> str:
        x, index = s.args
        entries = index if isinstance(index, tuple) else (index,)
        for entry in entries:
            if type(entry) is Value and entry.dtype.kind not in "iu":
                return "call"
            if type(entry) not in (Value, slice, int, type(None)):
                return "call"
        arrays = any(type(e) is Value for e in entries)
        return "take" if arrays and x.size else "layout" if not arrays else "call"

    def _write(self, s: Statement) -> str:
        x, index, value = s.args
        index = index if isinstance(index, tuple) else (index,)
        basic = all(type(e) in (slice, int, type(None)) for e in index)
        dtypes = type(value) is not Value or value.dtype == x.dtype
        if basic and dtypes and (s.function is updated or self._can("add", x.dtype, x.dtype)):
            return "parts"
        hit = find_hit(s, self) if dtypes and x.size else None
        if hit:
            self.hits[s] = hit
            return "hit"
        if not dtypes or not self._scatters(s, index):
            return "call"
        return "gathering" if self._gathers(s, index) else "scatter"

    def _gathers(self, s: Statement, index: tuple[Any, ...]) -> bool:
        """Whether a scatter adds single numbers to few, which are 0 before."""
        x = s.args[0]
        single = len(index) == len(x.shape) and all(type(e) is Value for e in index)
        arriving = np.broadcast_shapes(*[e.shape for e in index]) if single else ()
        few = x.size <= FEW and 0 < math.prod(arriving) <= NEAR_BY
        return (
            s.function is added and x.dtype.kind == "f" and self.is_full_of(x, 0) and single and few
        )

    def _scatters(self, s: Statement, index: tuple[Any, ...]) -> bool:
        x = s.args[0]
        kinds = {type(e) for e in index}
        whole = all(e.dtype.kind in "iu" for e in index if type(e) is Value)
        if not x.size or not whole or not kinds <= {Value, slice, int, type(None)}:
            return False
        return s.function is updated or self._can("add", x.dtype, x.dtype)

    # ---- what values are ----------------------------------------------------------------------

    def layouts(self, value: Value) -> Iterator[Statement]:
        """The statements that make a view of what a value is a view of, the last one first."""
        while (s := self.made.get(value)) is not None and self.of[s] == "layout":
            yield s
            value = s.args[0]

    def source(self, value: Value) -> Value | None:
        """What a value is a view of; None for one that is made of nothing."""
        for s in self.layouts(value):
            value = s.args[0]
        return None if value in self.made and self.of[self.made[value]] == "source" else value

    def updated_by(self, s: Statement) -> Value | None:
        """The input that is updated with what a function makes of it and another array like it."""
        if self.of[s] != "map" or len(set(s.inputs)) != 2 or len(s.args) != 2:
            return None
        if any((v.shape, v.dtype) != (s.output.shape, s.output.dtype) for v in s.inputs):
            return None
        return next((v for v in s.inputs if self.program.updates.get(v) is s.output), None)

    def can_write(self, value: Value, array: Strided) -> bool:
        """Whether what makes a value can write it to an array as that lies: loops write row after
        row, and products what the back end reads.
        """
        s = self.made.get(value)
        if s is not None and self.of[s] == "multiply":
            return self.backend.reads(array.shape, array.strides)
        return s is None or not bodies(s) or array.contiguous

    def sources(self, s: Statement) -> list[Value]:
        """What the values that a statement reads are views of."""
        sources = (self.source(v) for v in s.inputs)
        return list(dict.fromkeys(v for v in sources if v is not None))

    def is_full_of(self, value: Any, number: Any) -> bool:
        """Whether every element is this number."""
        while type(value) is Value:
            s = self.made.get(value)
            if s is None:
                array = self.program.constants.get(value)
                return array is not None and array.size < 64 and bool((array == number).all())
            if s.function is full:
                return s.args[1] == number
            if s.function not in LAYOUTS and s.function is not astype:
                return False
            value = s.args[0]
        return False

    def ramp(self, value: Value) -> int | None:
        """The axis along which an integer value counts 0, 1, 2..., if it does."""
        s = self.made.get(value)
        if s is None:
            array = self.program.constants.get(value)
            return None if array is None else _counting(array)
        if s.function is np.arange and len(s.args) == 1:
            return 0
        if s.function is astype and s.output.dtype.kind in "iu":
            return self.ramp(s.args[0])
        if s.function in LAYOUTS:
            axis = self.ramp(s.args[0])
            return None if axis is None else _moved_axis(s, axis)
        return None


def _counting(array: np.ndarray) -> int | None:
    if array.dtype.kind not in "iu" or array.size > 1 << 20:
        return None
    for axis, n in enumerate(array.shape):
        if n == array.size:
            return axis if (array.reshape(-1) == np.arange(n)).all() else None
    return None


def _moved_axis(s: Statement, axis: int) -> int | None:
    """Where the one long axis of a value lies after a change of layout; None if that is unclear."""
    x, out = s.args[0], s.output
    if x.size != out.size or x.shape[axis] != x.size or x.size <= 1:
        return None
    if s.function is view and any(isinstance(e, slice) and (e.step or 1) < 0 for e in s.args[1]):
        return None
    return out.shape.index(x.size) if x.size in out.shape else None


class Hit:
    """A scatter in which no two elements meet, seen from the element that is written.

    Axis `axis` of the result is addressed by `target`; `rows` tells which axis of the index arrays'
    common shape (`shape`) each other axis of the result runs along, None for those taken whole.
    """

    __slots__ = ("axis", "rows", "shape", "target")

    def __init__(self, axis: int, target: Value, rows: list[int | None], shape: Any) -> None:
        self.axis = axis
        self.target = target
        self.rows = rows
        self.shape = shape


FEW = 64
"""Places that are added to while their sums are at hand."""
NEAR_BY = 1 << 20
"""Elements that are added to them in the loop that makes them: of more, threads make them."""
LOOKED_THROUGH = 256
"""So large an array at most is gone through to write to one place of it."""
NEAR = 32
"""That large where nothing else of it is written, and a loop may have it in registers."""


def find_hit(s: Statement, roles: Roles) -> Hit | None:
    """Read `updated(x, (rows, target), v)` or `added(...)` as where(target == column, v, x).

    One index array is free; the others count up along the axes of their common shape, so each
    element of it writes to a row of its own.
    """
    x, index, _ = s.args
    index = index if isinstance(index, tuple) else (index,)
    arrays = [(d, e) for d, e in enumerate(index) if type(e) is Value]
    whole = [d for d, e in enumerate(index) if type(e) is slice]
    if len(index) != len(x.shape) or len(arrays) + len(whole) != len(index):
        return None
    if any(index[d] != slice(0, x.shape[d], 1) and index[d] != slice(None) for d in whole):
        return None
    if any(e.dtype.kind not in "iu" for _, e in arrays):
        return None
    # Arrays apart come first in the value's shape: only those at the front are in place.
    if not arrays or [d for d, _ in arrays] != list(range(len(arrays))):
        return None
    common = np.broadcast_shapes(*[e.shape for _, e in arrays])
    free: list[tuple[int, Value]] = []
    rows: list[int | None] = [None] * len(index)
    covered = set()
    for d, e in arrays:
        axis = roles.ramp(e)
        if axis is not None:
            axis += len(common) - len(e.shape)
        if axis is None or common[axis] != x.shape[d] or axis in covered:
            free.append((d, e))
        else:
            rows[d] = axis
            covered.add(axis)
    uncovered = [k for k, n in enumerate(common) if n != 1 and k not in covered]
    if len(free) != 1 or uncovered:
        return None
    in_place = roles.program.updates.get(x) is s.output
    if not covered and x.size > (NEAR if in_place else LOOKED_THROUGH):
        return None
    return Hit(free[0][0], free[0][1], rows, common)
