"""State that a function finds outside: tensors that are no arguments, and gradients.

A tensor from outside gets a traced array at the moment its own is first read: parameters, buffers,
optimizer state. Its slots keep the real array and its history all the time; what the tensor is in
the trace is kept here, and so is what becomes of gradients. Nothing has to be put back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.compile.trace.arrays.array import Trace, TracedArray
from wengert.compile.trace.arrays.identity import ByIdentity
from wengert.compile.trace.arrays.storage import Storage
from wengert.compile.trace.world import watch
from wengert.compile.trace.world.conditions import Conditions
from wengert.compile.trace.world.inputs import Beginning, Fixed, Inputs, Passed, Specialize, end_of
from wengert.compile.trace.world.places import Argument, Gradient, Guard, Known, Place
from wengert.errors import TracingError
from wengert.history.location import here, line_of
from wengert.history.node import AccumulateGrad, Cell
from wengert.tensor import Tensor


@dataclass(slots=True, eq=False)
class Found:
    """A tensor from outside: the traced array that stands for its own, and what it holds `now`."""

    place: Place
    tensor: Tensor
    array: Any
    traced: TracedArray
    now: TracedArray
    tracked: bool  # it had a history before

    def is_differentiable(self) -> bool:
        return self.tracked and dtypes.is_inexact(self.array.dtype)


@dataclass(slots=True, eq=False)
class History:
    """The history that a tensor from outside has in the trace; it begins as the tensor's own."""

    tensor: Tensor
    begin: Beginning
    _node: Any
    _cell: Any
    _origin: Any


@dataclass(slots=True, eq=False)
class FoundGradient:
    """The gradient of a tensor before the trace, and what it is by now."""

    tensor: Tensor
    before: Any
    now: Any
    read: bool  # what was there before is a condition

    def is_written(self) -> bool:
        return self.now is not self.before or not (self.read or self.before is not None)


class Outside:
    """What one trace has found, by the tensors that it found."""

    def __init__(
        self, trace: Trace, inputs: Inputs, passed: Passed, conditions: Conditions
    ) -> None:
        self.trace = trace
        self.inputs = inputs
        self.passed = passed
        self.conditions = conditions
        self.tensors: ByIdentity[Tensor, Found] = ByIdentity()
        self.gradients: ByIdentity[Tensor, FoundGradient] = ByIdentity()
        self._of_whom: ByIdentity[Any, Tensor] = ByIdentity()
        """Of gradients from outside, the first tensor that had them."""
        self._spans: list[tuple[int, int, TracedArray, Any]] = []
        self._overlapping: list[tuple[TracedArray, TracedArray, Any]] = []
        """Those that share memory in part, and the lines where that was met."""
        self._histories: ByIdentity[Tensor, History] = ByIdentity()
        self.recorded: ByIdentity[Tensor, tuple[CodeType, int]] = ByIdentity()
        """Where tensors got another history."""
        self._cells: dict[Cell, Cell] = {}
        """In the places of real cells: those that count the writes of the trace."""
        self._counts: dict[Cell, int] = {}
        """Where those began."""

    # ---- tensors --------------------------------------------------------------------------------

    def find(self, tensor: Tensor, array: Any) -> Found:
        """A tensor whose array is read or set."""
        entry = self.tensors.get(tensor)
        if entry is None:
            number = self.passed.numbers.get(id(tensor))
            if number is not None:
                raise Specialize(Argument(number))  # it is one too
            known = self.passed.stand_in_for(tensor)
            if known is not None:
                raise Fixed(known.place)
            with watch.aside():
                entry = self._add(tensor, array)
        return entry

    def _add(self, tensor: Tensor, array: Any) -> Found:
        """A traced array in the place of an array from outside, which the program reads."""
        place = self._place(tensor)
        traced, overlapping = self._shared(array)
        if traced is None:
            name = self.conditions.names.get(id(tensor), "state")
            value = self.inputs.add(place, array.shape, array.dtype, name)
            traced = TracedArray(self.trace, Storage.given(value, array), ())
            low, high = np.lib.array_utils.byte_bounds(array)
            self._spans.append((low, high, traced, array))
            self._overlapping += [(traced, other, here()) for other in overlapping]
        history = self.history(tensor)
        tracked = history.begin.node is not None
        entry = Found(place, tensor, array, traced, traced, tracked)
        self.tensors[tensor] = entry
        if tracked and history._node is not None:
            history._node = history.begin.end
        return entry

    def history(self, tensor: Tensor) -> History:
        known = self._histories.get(tensor)
        if known is None:
            with watch.aside():
                node, cell, origin = tensor._node, tensor._cell, tensor._origin
            begin = Beginning.of(node, end_of(tensor, node))
            first = node
            if isinstance(node, AccumulateGrad):  # what hooks it gets, it gets here
                self.conditions.hooks(node)
                first = begin.end
            known = History(tensor, begin, first, self._cell(cell), origin)
            self._histories[tensor] = known
        return known

    def _cell(self, real: Cell | None) -> Cell | None:
        """What counts the writes of the trace in the place of a real cell."""
        if real is None:
            return None
        cell = self._cells.get(real)
        if cell is None:
            cell = self._cells[real] = Cell()
            cell.hold(real.numbers())
            self._counts[cell] = cell.count
        return cell

    def _place(self, tensor: Tensor) -> Place:
        """Known, unless it is the gradient of something."""
        owner = self._of_whom.get(tensor)
        if owner is None:
            return Known(tensor)
        passed = self.passed.stand_ins.get(owner)
        return Gradient(Known(owner) if passed is None else passed.place)

    def _shared(self, array: Any) -> tuple[TracedArray | None, list[TracedArray]]:
        """What stands for the same memory already, and what for parts of it."""
        low, high = np.lib.array_utils.byte_bounds(array)
        overlapping = []
        for first, last, traced, other in self._spans:
            if low < last and first < high and array.size:
                if (low, array.shape, array.strides, array.dtype) == (
                    first, other.shape, other.strides, other.dtype,
                ):  # fmt: skip
                    return traced, []
                if np.shares_memory(array, other):
                    overlapping.append(traced)
        return None, overlapping

    def check_overlapping(self) -> None:
        """Of two ways to see the same memory a program has two inputs, so it may write neither."""
        for one, other, line in self._overlapping:
            if one.storage.writes or other.storage.writes:
                raise TracingError(
                    "a compiled function writes into one of two tensors that overlap in memory "
                    f"(one is a view of part of the other), at\n  {line_of(*line)}\nTake the view "
                    "inside the function, or clone() one of them."
                )

    def add_kept(self, tensor: Tensor, array: TracedArray, real: Any) -> None:
        """A tensor that holds state made in the trace, for later calls."""
        tensor._node = tensor._cell = tensor._origin = None  # its own: it is not real yet
        place = self.inputs.places[array.value] = Known(tensor)
        self.tensors[tensor] = Found(place, tensor, real, array, array, False)

    # ---- gradients ------------------------------------------------------------------------------

    def gradient(self, tensor: Tensor) -> Any:
        """A tensor's gradient is read."""
        entry = self.gradients.get(tensor)
        if entry is None:
            own = self._own_gradient(tensor)
            entry = self._note_gradient(tensor, FoundGradient(tensor, own, own, True))
            self._depends(tensor, None, own is None)
        return entry.now

    def _note_gradient(self, tensor: Tensor, entry: FoundGradient) -> FoundGradient:
        self.gradients[tensor] = entry
        if entry.before is not None and not self.is_gradient(entry.before):
            self._of_whom[entry.before] = tensor
        return entry

    def is_gradient(self, tensor: Tensor) -> bool:
        """Whether a tensor from outside was the gradient of another before the trace."""
        return tensor in self._of_whom

    def _depends(self, tensor: Tensor, gradient: Any, equal: bool = True) -> None:
        """Whether a tensor's gradient is this one is a condition (an argument's signature says)."""
        passed = self.passed.stand_ins.get(tensor)
        place = Known(tensor) if passed is None else passed.place
        if not isinstance(place, Argument):
            self.conditions.note(Guard(Gradient(place), gradient, equal))

    def set_gradient(self, tensor: Tensor, gradient: Any) -> None:
        entry = self.gradients.get(tensor)
        if entry is None:
            own = self._own_gradient(tensor)
            entry = self._note_gradient(tensor, FoundGradient(tensor, own, None, False))
        if gradient is entry.before is not None and not entry.read:
            self._depends(tensor, gradient)  # where it is that, nothing has to be written
        entry.now = gradient

    def _own_gradient(self, tensor: Tensor) -> Any:
        """What the tensor has, or the one passed has that it stands for, as the signature says."""
        passed = self.passed.stand_ins.get(tensor)
        if passed is not None:
            place = Gradient(passed.place)
            if isinstance(passed.place, Argument) and place not in self.inputs.asked:
                raise Specialize(place)
            tensor = passed.given
        return tensor.__dict__.get("_grad")

    # ---- the end --------------------------------------------------------------------------------

    def histories(self) -> Iterator[tuple[Beginning, Tensor]]:
        """The histories that tensors from outside began with, and those tensors."""
        yield from ((history.begin, history.tensor) for history in self._histories.values())
        yield from ((s.begin, s.tensor) for s in self.passed.stand_ins.values())

    def known(self) -> Iterator[Tensor]:
        """Tensors from outside, no gradients, whose history decides something: it was looked at."""
        tensors = (history.tensor for history in self._histories.values())
        yield from (x for x in tensors if not self.is_gradient(x))

    def shared(self) -> Iterator[tuple[Place, Place]]:
        """Tensors that lie where another does, which the program reads for both."""
        for entry in self.tensors.values():
            first = self.inputs.places[entry.traced.storage.origin]
            if first is not entry.place:
                yield first, entry.place

    def written(self) -> Iterator[tuple[Place, int]]:
        """The tensors whose versions have gone up, one for each cell, and by how much."""
        places: dict[Cell | None, Place] = {}
        for entry in self.tensors.values():
            places.setdefault(self.history(entry.tensor)._cell, entry.place)
        for passed in self.passed.stand_ins.values():
            places.setdefault(passed.tensor._cell, passed.place)
        for cell, place in places.items():
            if cell is not None and cell.count != self._counts.get(cell, 0):
                yield place, cell.count - self._counts.get(cell, 0)
