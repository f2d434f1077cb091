"""A captured program made ready to run, for one kind of arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.autograd.engine import mark_written
from wengert.compile.call import derivative
from wengert.compile.call.derivative import CompiledBackward, Recording
from wengert.compile.call.executable import executable
from wengert.compile.call.failure import Failure
from wengert.compile.call.memory import Memory, cut, fitted
from wengert.compile.program.operations import Otherwise
from wengert.compile.program.passes import clean, finish
from wengert.compile.trace.arguments import rebuild
from wengert.compile.trace.arrays.layouts import strides_of
from wengert.compile.trace.captured import Captured
from wengert.compile.trace.parts import Part
from wengert.compile.trace.results import filled
from wengert.compile.trace.world.places import (
    Argument,
    Gradient,
    Known,
    Output,
    Place,
    array_at,
    has_history,
    history_of,
    is_number,
    is_outside,
    key_of,
    same,
)
from wengert.history.node import SharedCell
from wengert.history.uncollected import uncollected
from wengert.tensor import INFERENCE, Tensor, cell_of, wrap


class Specialization:
    """Runs a captured program on the arrays at its places, and carries out its effects.

    `forward` runs at each call; `backward`, if the function is differentiable, when cotangents
    arrive: on the arrays that `read_back` names, what `forward` saved, and the cotangents.
    """

    @uncollected()
    def __init__(self, owner: Any, captured: Captured, structure: Any, flat: list[Any]) -> None:
        self.owner = owner
        self.captured = captured
        self.structure = structure
        self.examples = [_described(x) for x in flat]
        self.forms = [_form(x) for x in flat]
        self.joint = captured.joint
        self.guards = [*captured.guards, *captured.flags()]
        self.outside = captured.outside()
        read = [p for value, p in captured.places.items() if value in captured.program.inputs]
        outside = filter(is_outside, dict.fromkeys([*read, *captured.bases()]))
        self.states = [(place, _form(place.read(()))) for place in outside]
        self.bounds = {
            place: value.bounds
            for value, place in captured.places.items()
            if value in captured.program.inputs and value.bounds is not None
        }
        self.backward: Any = None
        self.fetched: list[Place] = []
        """Where a call found what may be something else when cotangents arrive: a node keeps it."""
        self.read_back: list[Place] = []
        """Of what a node keeps: a call's arguments, then what it fetched."""
        self.tensors_back: list[Place] = []
        """Tensors whose arrays the backward program reads: they must not have changed."""
        program = captured.program
        clean(program)
        self.memory: Memory | None = None
        if owner.memory is not None:
            program, self.memory = fitted(captured, owner.memory)
            captured.program = program
        if self.joint is not None:
            parts = cut(program, self.joint, captured.replaced())
            program = captured.program = parts.forward
            places = [captured.places[v] for v in (*parts.read, *program.inputs)]
            self.fetched = [p for p in dict.fromkeys(places) if not isinstance(p, Argument | Known)]
            back = {p: Argument(k) for k, p in enumerate(self.fetched, len(flat))}
            read = [captured.places[v] for v in parts.read]
            self.read_back = [back.get(p, p) for p in read]
            self.tensors_back = [back.get(p, p) for p in read if _is_tensor(p, flat)]
            self.backward = executable(finish(parts.backward))
            self.likes = self.joint.cotangents
        self.results = len(program.outputs) - (len(parts.saved) if self.joint else 0)
        self.read = [(value, captured.places[value]) for value in program.inputs]
        inputs = {key_of(place): value for value, place in self.read}
        program.replacing = {
            w.number: inputs.get(key_of(w.place))
            for w in captured.writes
            if isinstance(w.place, Gradient) and w.number is not None
        }
        self.program = program
        self.forward = executable(finish(program))
        self.failure = Failure(self.forward.plan, owner.function)
        self.linked: set[bool] = set()
        """Whether there are entries: one for the default mode of all threads, one for others."""
        self.pull: Any = self.pulled
        self.settle: Callable[..., bool] = unsettled
        """As `pull`, but it puts the gradients where they go."""
        self.called = False

    # ---- whether it fits ---------------------------------------------------------------------

    def fits(self, flat: Sequence[Any]) -> bool:
        """Whether everything outside the arguments is as it was when this was traced, and numbers
        decide what they did.
        """
        return not self.changed(flat)

    def is_apart(self, containers: Iterable[Any]) -> bool:
        """Whether none of the arguments' containers is what it knows outside as another object."""
        return not self.outside or self.outside.isdisjoint(map(id, containers))

    def changed(self, flat: Sequence[Any]) -> str:
        """What is different outside the arguments, in words; nothing if it fits."""
        for guard in self.guards:
            if not guard.holds():
                return str(guard)
        for pair in self.captured.shared:
            first, second = (array_at(place, ()) for place in pair)
            if second is None or _lies(first) != _lies(second):
                return f"{pair[1]} from outside had the memory of another"
        for place, form in self.states:
            if _form(place.read(())) != form:
                return f"{place} had another type, shape or dtype, or required grad or not"
        for place in filter(is_outside, self.bounds):
            if not self._is_between(place, place.read(())):
                return f"{place} lay elsewhere between numbers that decide something"
        supposed = self.captured.supposed
        try:
            with np.errstate(all="ignore"):  # as machine code does
                supposed.run([array_at(self.captured.places[v], flat) for v in supposed.inputs])
        except Otherwise as otherwise:
            return str(otherwise)
        return ""

    def _is_between(self, place: Place, n: Any) -> bool:
        """Whether a value is one of the ints that may be at a place."""
        if place not in self.bounds or type(n) is not int:
            return False
        low, high = self.bounds[place]
        return low <= n <= high

    def difference(self, flat: list[Any]) -> str:
        """What is different in these arguments; nothing if each is of the kind of its example."""
        if len(flat) != len(self.examples):
            return f"there were {len(self.examples)} arguments, and are {len(flat)}"
        for i, (before, x) in enumerate(zip(self.examples, flat, strict=True)):
            now = _described(x)
            varies = is_number(x) and i not in self.owner._static
            varies = varies and before.startswith(f"{type(x).__name__} ")
            if now != before and not varies and not self._is_between(Argument(i), x):
                return f"argument {i} was {before}, and is {now}"
        return ""

    def overlap(self, flat: list[Any]) -> bool:
        """Whether something that the program writes overlaps with something else that it uses."""
        updates = self.program.updates
        if not updates:
            return False
        spans = []
        for value, place in self.read:
            array = array_at(place, flat)
            if isinstance(array, np.ndarray) and array.size:
                spans.append((*np.lib.array_utils.byte_bounds(array), value in updates))
        spans.sort()
        end, end_written = 0, 0
        for low, high, is_written in spans:
            if low < (end if is_written else end_written):
                return True
            end = max(end, high)
            end_written = max(end_written, high) if is_written else end_written
        return False

    # ---- running -----------------------------------------------------------------------------

    def run(self, flat: list[Any]) -> Any:
        """Run with these flattened arguments."""
        arrays = [array_at(place, flat) for _, place in self.read]
        for (value, _), array in zip(self.read, arrays, strict=True):
            if value in self.program.updates and not array.flags.writeable:
                raise ValueError(
                    f"a compiled function writes into an array of shape {list(array.shape)} that "
                    "is read-only. Pass a copy."
                )
        try:
            outputs = self.forward.run(arrays)
        except Exception as error:
            is_left = self.failure.unseen and not isinstance(error, MemoryError)
            if is_left or type(error) is Otherwise:
                raise Failed from error
            raise
        values = outputs[self.results :]
        captured = self.captured
        for place, writes in captured.written:
            wrote(place.read(flat), writes)
        for write in captured.writes:
            write.place.write(None if write.number is None else outputs[write.number], flat)
        tensors: dict[Any, Any] = {}
        whole = structured(captured.whole(), outputs, tensors, flat)
        if self.joint is not None:
            known = {Output(k): value for k, value in enumerate(values, self.results)}
            known |= {leaf: tensors[leaf] for leaf in self.joint.slots}
            self.recording().record(lambda x: known[x] if x in known else x.read(flat))
        elif captured.refusal is not None:
            for leaf, tensor in tensors.items():
                if type(leaf) in (Output, Part) and has_history(leaf):
                    tensor._node = derivative.refused(captured)
        if not captured.effects:
            return whole
        result, *written = whole
        for effect, value in zip(captured.effects, written, strict=True):
            effect.carry_out(value, flat)
        return result

    # ---- what a node of the history asks for ---------------------------------------------------

    def recording(self, place_of: Callable[[Any], Any] = lambda leaf: leaf) -> Recording:
        """The node of a call; `place_of` a leaf of the result is where its tensor is found."""
        assert self.joint is not None
        known = [*map(Argument, range(len(self.examples))), *self.fetched]
        saved = map(Output, range(self.results, len(self.program.outputs)))
        results = [*map(place_of, self.joint.slots)]
        return Recording(self, self.joint.leaves, [*known, *saved], results)

    def pulled(self, saved: Any, node: CompiledBackward, g: Any) -> tuple[Any, ...]:
        """Gradients, of what a node keeps of a call, and of the cotangents."""
        given = [*node.values(), *(g if node.outputs > 1 else [g])]
        arrays = [array_at(place, given) for place in self.read_back]
        return tuple(self.backward.run([*arrays, *given[self.known() :]]))

    def known(self) -> int:
        """How much of a call a node keeps, beside what the program saved."""
        return len(self.examples) + len(self.fetched)

    def recorded_gradients(self, saved: Sequence[Any], gs: list[Tensor]) -> list[Any]:
        """The gradients as tensors with a history of their own."""
        program, captured = self.captured.program, self.captured
        draws = any(getattr(s.function, "draws", False) for s in program.statements)
        if program.updates or draws or captured.effects:
            raise RuntimeError(
                "a compiled function that changes tensors, or anything else outside, or draws "
                "random numbers cannot be differentiated twice: the second derivative would run "
                "it again. Leave the function uncompiled, or move that out of it."
            )
        count = len(self.examples)
        flat, kept = saved[:count], saved[count : self.known()]
        for place, before in zip(self.fetched, kept, strict=True):
            now = place.read(flat)
            if now is not before and not same(now, before):
                raise _changed(str(place))
        if not self.fits(flat):
            raise _changed(self.changed(flat))
        assert self.joint is not None
        places = [i for i, x in enumerate(flat) if isinstance(x, Tensor) and x.requires_grad]
        states = [place.object for place in self.joint.leaves if isinstance(place, Known)]
        gradients = self.owner.gradients(states)(rebuild(self.structure, flat), gs)
        tensors = [*(flat[i] for i in places), *states]
        by_tensor = {id(x): g for x, g in zip(tensors, gradients, strict=True)}
        return [by_tensor[id(place.read(flat))] for place in self.joint.leaves]


def unsettled(*_: Any) -> bool:
    """Nothing was added to leaves: the cotangents go through the sweep."""
    return False


class Failed(Exception):
    """The program raised, and has written nothing: the function runs instead."""


def _changed(what: str) -> RuntimeError:
    return RuntimeError(
        "what a compiled function reads outside has changed since it was called, and its second "
        f"derivative would run it again: {what}. Differentiate twice before it changes, or pass it "
        "as an argument."
    )


def _lies(array: np.ndarray[Any, Any]) -> Any:
    return array.ctypes.data, array.shape, array.strides, array.dtype


def wrote(tensor: Tensor, writes: int) -> None:
    """Count the writes to a tensor; from now on machine code may do so by itself."""
    if tensor._origin is not INFERENCE:
        cell = cell_of(tensor)
        cell.count += writes - 1
        mark_written(tensor, "a compiled function")
        SharedCell.become(cell)


def _is_tensor(place: Place, flat: list[Any]) -> bool:
    return not isinstance(place, Gradient) and isinstance(place.read(flat), Tensor)


def _form(x: Any) -> Any:
    """What a program takes for granted of what it fetches."""
    array = x._array if isinstance(x, Tensor) else x
    if not isinstance(array, np.ndarray):
        return type(x)
    known = (history_of(x), x._origin is INFERENCE) if isinstance(x, Tensor) else ()
    return type(x), array.shape, array.dtype, strides_of(array), *known


def structured(item: Any, outputs: list[Any], values: dict[Any, Any], flat: list[Any]) -> Any:
    """A result's structure, filled with what its leaves are in this call, which is noted."""
    return filled(item, functools.partial(_value_of, outputs, values, flat))


def _value_of(outputs: list[Any], values: dict[Any, Any], flat: list[Any], leaf: Any) -> Any:
    if leaf not in values:
        if type(leaf) is Part:
            values[leaf] = leaf.of(_value_of(outputs, values, flat, leaf.base))
        elif type(leaf) is Output:
            values[leaf] = _returned(leaf, outputs[leaf.number])
        else:
            values[leaf] = leaf.read(flat)
    return values[leaf]


def _returned(leaf: Output, array: Any) -> Any:
    """An array of the program as what the function returns there."""
    if not leaf.tensor:
        return array.item() if leaf.weak else array[()] if leaf.scalar else array
    tensor = wrap(array)
    tensor._origin = INFERENCE if leaf.inference else None
    if leaf.leaf:
        tensor.requires_grad_()
    return tensor


def _described(x: Any) -> str:
    if isinstance(x, (Tensor, np.ndarray)):
        grad = ", requiring grad" if isinstance(x, Tensor) and x.requires_grad else ""
        return f"{type(x).__name__} of shape {list(x.shape)} and dtype {x.dtype}{grad}"
    return f"{type(x).__name__} {x!r}"[:80]
