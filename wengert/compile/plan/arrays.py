"""Where values lie so far: what has been computed, and what is a view of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compile.plan.plan import Place
from wengert.compile.plan.roles import Roles
from wengert.compile.plan.strides import Buffer, Strided, in_order, row_major, through
from wengert.compile.program.program import Shape, Value

Goal = tuple[str, int]
"""A place for a result: ("output", 2), or ("input", 0) for an update."""


def fresh(value: Value, order: tuple[int, ...] | None = None) -> Strided:
    """New memory in the arena for a value, its axes in some order."""
    strides = row_major(value.shape) if order is None else in_order(value.shape, order)
    return Strided(Buffer(value.size, value.dtype), value.shape, strides)


class Arrays:
    """The memory of values: `of` each that has been computed, and `copies` of some that are views.

    `constants` are the arrays that the plan reads; numbers become part of the kernels, which are
    known by what they are made of (`Draft.kernel`).
    """

    def __init__(self, roles: Roles) -> None:
        program = roles.program
        self.roles = roles
        self.of: dict[Value, Strided] = {}
        self.copies: dict[Value, Strided] = {}
        self.constants: list[Any] = []
        self.kernels: dict[Any, Any] = {}
        self._scalars: dict[Value, Any] = {}
        self._buffers: dict[Goal, Buffer] = {}
        for kind, values in (("input", program.inputs), ("output", program.outputs)):
            for k, v in enumerate(values):
                self._buffers[kind, k] = Buffer(v.size, v.dtype, Place(kind, k))
        for k, v in enumerate(program.inputs):
            self.of[v] = self.whole(("input", k), v.shape)
        for v, array in program.constants.items():
            if array.size == 1 and array.dtype.kind in "biufc":
                self._scalars[v] = array.item()

    def whole(self, goal: Goal, shape: Shape) -> Strided:
        """The memory of an output or an input."""
        return Strided(self._buffers[goal], shape, row_major(shape))

    def number(self, number: Any, dtype: np.dtype) -> Value:
        """A number as a value."""
        value = Value((), dtype)
        self._scalars[value] = number
        return value

    def scalar(self, value: Value) -> Any:
        """The number that a value is, if it is known."""
        return self._scalars.get(value)

    def located(self, value: Value) -> Strided | None:
        """Where a value lies, if it is in memory, or a view of what is."""
        array = self.copies.get(value) or self.of.get(value)
        if array is not None:
            return array
        if value.size == 0:
            nothing = Buffer(0, value.dtype, Place("arena", 0))
            return Strided(nothing, value.shape, row_major(value.shape))
        constant = self.roles.program.constants.get(value)
        if constant is not None:
            return self._constant(value, constant)
        s = self.roles.made.get(value)
        if s is not None and self.roles.of[s] == "layout":
            base = self.located(s.args[0])
            return through(s, base) if base is not None else None
        return None

    def _constant(self, value: Value, constant: np.ndarray) -> Strided:
        place = Place("constant", len(self.constants))
        self.constants.append(np.asarray(constant, order="C"))
        buffer = Buffer(value.size, value.dtype, place)
        array = self.of[value] = Strided(buffer, value.shape, row_major(value.shape))
        return array
