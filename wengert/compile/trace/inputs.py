"""What a traced program reads: its inputs, and where each is found at a call.

Arguments become traced arrays and tensors before the function runs; arrays, and tensors from
outside, when it meets them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.compile.program.program import Program, Value, mapped
from wengert.compile.trace.array import Trace, TracedArray, undecided
from wengert.compile.trace.identity import ByIdentity
from wengert.compile.trace.places import Argument, Cotangent, Guard, Item, Known, Place
from wengert.compile.trace.storage import Storage
from wengert.errors import TracingError
from wengert.history.location import here, line_of
from wengert.history.node import AccumulateGrad
from wengert.tensor import Tensor, bare


class Specialize(Exception):
    """An argument becomes part of the signature: a number that decides something, or a tensor that
    the function finds in its surroundings too.

    So does, if `graded`, whether the tensor at this place has a gradient. `code` and `at` tell the
    user's line.
    """

    def __init__(self, number: int, graded: bool = False) -> None:
        self.number = number
        self.graded = graded
        self.code, self.at = here()


class Inputs:
    """A program's inputs and the places where they are found.

    A trace asks this what to do with arrays and numbers that are not its own. Nothing here holds a
    traced array, which holds its trace: so when a trace ends, no cycle keeps it.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.places: dict[Value, Place] = {}
        self.numbers: dict[Value, float] = {}
        """Inputs that are numbers, as they are now."""
        self.decisive: list[Guard] = []
        """What numbers must be, since they have decided something."""
        self.met: dict[int, tuple[Any, Any, Value]] = {}
        """Plain arrays that met traced ones, by id, with copies of what they held."""
        self.kept: ByIdentity[Storage, np.ndarray[Any, Any]] = ByIdentity()
        """State made in the trace, for later calls to go on with."""
        self.made: list[tuple[Any, Any]] = []
        """Where it is kept."""

    def add(self, place: Place, shape: Any, dtype: Any, name: str, weak: bool = False) -> Value:
        dtype = dtypes.canonical(dtype) if dtype.isnative else dtype
        value = self.program.input(shape, dtype, name, weak)
        self.places[value] = place
        return value

    def number(self, place: Item | Argument, number: Any, name: str) -> Value:
        """A number that is the caller's to change: Python's, or NumPy's."""
        weak = not isinstance(number, np.generic)
        value = self.add(place, (), np.dtype(type(number)), name, weak)
        self.numbers[value] = number
        return value

    # ---- what a trace asks ----------------------------------------------------------------------

    def external(self, array: np.ndarray[Any, Any]) -> Value:
        """The value of a plain array that meets a traced one: by reference, unless it is ours."""
        known = self.met.get(id(array))
        if known is not None and _equal(known[1], array):
            return known[2]
        if not dtypes.is_number(array.dtype) or array.dtype.byteorder == ">":
            raise TracingError(
                f"an array of dtype {array.dtype} in a compiled function at\n  {line_of(*here())}\n"
                "Convert it to numbers of the machine's byte order first, e.g. x.astype(float)."
            )
        value = Value(array.shape, dtypes.canonical(array.dtype))
        self.met[id(array)] = array, array.copy(), value
        self.program.constants[value] = array
        return value

    def decide(self, x: TracedArray, what: str) -> Any:
        """A number that the trace needs now: known only if settings and arguments decide it."""
        makers = {v: s for s in self.program.statements for v in s.outputs}
        return self._decided(x.value, makers, lambda: undecided(x, what))

    def _decided(self, value: Value, makers: Any, fail: Any) -> Any:
        """The number that `value` is, on condition that what it depends on stays as it is."""
        if value in self.program.constants:
            return self.program.constants[value]
        if value in self.numbers:
            return self._decisive(value)
        maker = makers.get(value)
        if maker is None or not value.weak:
            return fail()
        args = mapped(maker.args, lambda v: self._decided(v, makers, fail))
        return maker.function(*args, **maker.kwargs)

    def _decisive(self, value: Value) -> float:
        place, number = self.places[value], self.numbers[value]
        if isinstance(place, Argument):
            raise Specialize(place.number)
        self.decisive.append(Guard(place, number))
        return number

    def keep(self, array: np.ndarray[Any, Any], mapping: Any, key: Any) -> Storage:
        """What stands for `array`, which a tensor in `mapping[key]` is about to hold."""
        value = self.program.input(array.shape, array.dtype, str(key))
        storage = Storage.given(value, array)
        self.kept[storage] = array
        self.made.append((mapping, key))
        return storage

    def kept_array(self, array: Any) -> np.ndarray[Any, Any] | None:
        """The array itself, if this is a traced one that stands for what is kept."""
        whole = type(array) is TracedArray and not array.path
        return self.kept.get(array.storage) if whole else None

    # ---- the end --------------------------------------------------------------------------------

    def adopt(self, named: set[int]) -> None:
        """Arrays that somebody outside has are read at each call; others are constants.

        `named` has the ids of those that a guard holds.
        """
        for key in list(self.met):
            array, copy, value = self.met.pop(key)
            changed = not _equal(copy, array)
            self.program.constants[value] = copy
            # Held by this loop, and as getrefcount's own argument.
            held = key in named or (sys.getrefcount(array) > 2 and array.base is None)
            if held and array.flags.writeable and not changed:
                del self.program.constants[value]
                self.program.inputs.append(value)
                self.program.names[value] = f"array_{len(self.places)}"
                self.places[value] = Known(array)

    def keep_used(self, joint: bool) -> None:
        """Drop inputs that no statement reads; a derivative's cotangents are all given."""
        program = self.program
        used = {v for s in program.statements for v in s.inputs}
        used |= {*program.outputs, *program.updates, *program.updates.values()}
        program.inputs = [
            v
            for v in program.inputs
            if v in used or (joint and isinstance(self.places[v], Cotangent))
        ]


def _equal(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.tobytes() == b.tobytes()


# ---- arguments ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class StandIn:
    """A tensor in the place of one that the caller passed: the argument of this number."""

    number: int
    given: Tensor
    tensor: Tensor
    traced: TracedArray


class Passed:
    """What the caller passed, and what the function gets for it."""

    def __init__(self, trace: Trace, inputs: Inputs, numbers: dict[int, int]) -> None:
        self.trace = trace
        self.inputs = inputs
        self.numbers = numbers
        """Of the arguments that are tensors, by id."""
        self.arrays: dict[int, TracedArray] = {}
        """By number."""
        self.stand_ins: ByIdentity[Tensor, StandIn] = ByIdentity()
        """By the tensor that stands there."""
        self._by_number: dict[int, StandIn] = {}

    def array(self, number: int, array: Any, same: int | None) -> TracedArray:
        """A traced array for an argument's array; the one of argument `same` if that is given."""
        dtype = array.dtype
        if not dtypes.is_number(dtype) or dtype.itemsize > 16 or dtype.char in "gG":
            raise TracingError(
                f"an argument of a compiled function is an array of dtype {dtype}; those "
                "hold integers, truth values, and floating-point and complex numbers of up to 64 "
                "bits per part. Convert it, e.g. with x.astype(float), or leave the function "
                "uncompiled."
            )
        if same is not None:
            traced = self.arrays[same]
        else:
            value = self.inputs.add(Argument(number), array.shape, array.dtype, f"x{number}")
            traced = TracedArray(self.trace, Storage.given(value, array), ())
        self.arrays[number] = traced
        return traced

    def tensor(self, number: int, tensor: Tensor, same: int | None) -> Tensor:
        """A tensor in the place of one that the caller passes."""
        known = None if same is None else self._by_number.get(same)
        if known is not None and known.given is tensor:
            self._by_number[number] = known
            return known.tensor
        traced = self.array(number, tensor._array, same)
        leaf = bare(type(tensor), traced)
        if tensor.requires_grad:
            leaf._node = AccumulateGrad(leaf)
        self.stand_ins[leaf] = self._by_number[number] = StandIn(number, tensor, leaf, traced)
        return leaf

    def number(self, number: int, x: Any) -> TracedArray:
        traced = self.trace.array(self.inputs.number(Argument(number), x, f"x{number}"))
        traced.single = not traced.weak
        return traced

    def number_of(self, array: TracedArray) -> int | None:
        """Which argument this is, if it is the array of one that is no tensor."""
        numbers = (number for number, traced in self.arrays.items() if traced is array)
        return next((number for number in numbers if number not in self._by_number), None)
