"""A captured program made ready to run, for one kind of arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.autograd.engine import mark_written
from wengert.compile.call import derivative
from wengert.compile.call.executable import executable
from wengert.compile.program.partition import partition
from wengert.compile.program.passes import clean
from wengert.compile.trace.arguments import rebuild
from wengert.compile.trace.captured import (
    Argument,
    ArgumentGradient,
    Captured,
    Cotangent,
    Given,
    Gradient,
    Held,
    Item,
    Outside,
    Source,
)
from wengert.compile.trace.results import filled, outputs_in
from wengert.history import modes
from wengert.tensor import Tensor, wrap


class Specialization:
    """Runs a captured program on the arrays that its sources name, and carries out its effects.

    `forward` runs at each call; `backward`, if the function is differentiable, when cotangents
    arrive: on the arrays that `read` names, what `forward` saved, and the cotangents.
    """

    def __init__(self, owner: Any, captured: Captured, structure: Any, flat: list[Any]) -> None:
        self.owner = owner
        self.captured = captured
        self.structure = structure
        self.examples = [_described(x) for x in flat]
        self.joint = captured.joint if captured.joint is not derivative.Spent else None
        self.states = [
            (s, v.shape, v.dtype, s.tensor.requires_grad)
            for v, s in captured.sources.items()
            if isinstance(s, (Held, Gradient)) and v in captured.program.inputs
        ]
        self.backward: Any = None
        self.read: list[Source] = []
        program = captured.program
        clean(program)
        if self.joint is not None:
            gradients = program.outputs[len(program.outputs) - len(self.joint.leaves) :]
            parts = partition(program, gradients, self.joint.cotangents)
            program = captured.program = parts.forward
            self.read = [captured.sources[v] for v in parts.read]
            self.backward = executable(parts.backward)
        self.results = len(program.outputs) - (len(parts.saved) if self.joint else 0)
        self.sources = [captured.sources[v] for v in program.inputs]
        self.program = program
        self.forward = executable(program)
        self.entry: Any = None
        self.called = False

    # ---- whether it fits ---------------------------------------------------------------------

    def fits(self) -> bool:
        """Whether everything outside the arguments is as it was when this was traced."""
        return not self.changed()

    def changed(self) -> str:
        """What is different outside the arguments, in words; nothing if it fits."""
        for guard in self.captured.guards:
            if not guard.holds():
                return str(guard)
        for source, shape, dtype, tracked in self.states:
            array = read(source, ())
            if array is None or array.shape != shape or array.dtype != dtype:
                return f"a tensor from outside had shape {list(shape)} and dtype {dtype}"
            if source.tensor.requires_grad is not tracked:
                return f"requires_grad of a tensor of shape {list(shape)} was {tracked}"
        return ""

    def difference(self, flat: list[Any]) -> str:
        """What is different in these arguments."""
        if len(flat) != len(self.examples):
            return f"there were {len(self.examples)} arguments, and are {len(flat)}"
        for i, (before, x) in enumerate(zip(self.examples, flat, strict=True)):
            now = _described(x)
            any_float = type(x) is float and i not in self.owner._static
            if now != before and not (any_float and before.startswith("float ")):
                return f"argument {i} was {before}, and is {now}"
        return "the grad mode or the default dtype changed"

    def overlap(self, flat: list[Any]) -> bool:
        """Whether something that the program writes overlaps with something else that it uses."""
        written = {i for i, v in enumerate(self.program.inputs) if v in self.program.updates}
        if not written:
            return False
        spans = []
        for i, source in enumerate(self.sources):
            array = read(source, flat)
            if isinstance(array, np.ndarray) and array.size:
                spans.append((*np.lib.array_utils.byte_bounds(array), i in written))
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
        arrays = [read(source, flat) for source in self.sources]
        for value, array in zip(self.program.inputs, arrays, strict=True):
            if value in self.program.updates and not array.flags.writeable:
                raise ValueError(
                    f"a compiled function writes into an array of shape {list(array.shape)} that "
                    "is read-only. Pass a copy."
                )
        outputs = self.forward.run(arrays)
        values = outputs[self.results :]
        captured = self.captured
        for owner, number in captured.gradients:
            tensor = flat[owner.place] if isinstance(owner, Argument) else owner
            tensor._grad = None if number is None else wrap(outputs[number])
        for tensor, number in captured.leaked:
            tensor._array = outputs[number]
        for tensor in captured.written:
            if tensor._cell is not None:
                mark_written(tensor, "a compiled function")
        tensors: dict[int, Tensor] = {}
        result = structured(captured.result, outputs, tensors, flat)
        if self.joint is not None and modes.is_grad_enabled():
            differentiable = [tensors[number] for number in self.joint.slots]
            derivative.record(self, flat, differentiable, values)
        elif captured.joint is derivative.Spent:
            for output in outputs_in(captured.result):
                if output.tensor and output.requires_grad:
                    tensors[output.number]._node = derivative.spent()
        return result

    # ---- what a node of the history asks for ---------------------------------------------------

    def backward_array(self, source: Source, flat: list[Any]) -> Any:
        return read(source, flat)

    def tensors_read(self, flat: list[Any]) -> list[Tensor]:
        """The tensors whose arrays the backward program reads: they must not have changed."""
        found = []
        for source in self.read:
            if isinstance(source, Held):
                found.append(source.tensor)
            elif isinstance(source, Argument) and isinstance(flat[source.place], Tensor):
                found.append(flat[source.place])
        return found

    def recorded_gradients(self, flat: list[Any], gs: list[Tensor]) -> list[Any]:
        """The gradients as tensors with a history of their own."""
        program = self.captured.program
        if program.updates or any(getattr(s.function, "draws", False) for s in program.statements):
            raise RuntimeError(
                "a compiled function that changes tensors or draws random numbers cannot be "
                "differentiated twice: the second derivative would run it again. Leave the "
                "function uncompiled, or move that out of it."
            )
        assert self.joint is not None
        places = [i for i, x in enumerate(flat) if isinstance(x, Tensor) and x.requires_grad]
        states = [s.tensor for s in self.joint.leaves if isinstance(s, Held)]
        found = self.owner.gradients(states)(rebuild(self.structure, flat), gs)
        by_source = dict(zip([*places, *map(id, states)], found, strict=True))
        return [
            by_source[s.place if isinstance(s, Argument) else id(s.tensor)]
            for s in self.joint.leaves
        ]


def read(source: Source, flat: Any) -> Any:
    """What a program reads for a source now."""
    if isinstance(source, Argument):
        x = flat[source.place]
        return x._array if isinstance(x, Tensor) else x
    if isinstance(source, Held):
        return source.tensor._array
    if isinstance(source, Gradient):
        grad = source.tensor._grad
        return None if grad is None else grad._array
    if isinstance(source, ArgumentGradient):
        grad = flat[source.place]._grad
        return None if grad is None else grad._array
    if isinstance(source, Outside):
        return source.array
    assert isinstance(source, Item), Cotangent
    return source.mapping[source.key]


def structured(item: Any, outputs: list[Any], tensors: dict[int, Tensor], flat: list[Any]) -> Any:
    """A result's structure, filled with the outputs; its tensors are noted by number."""

    def value_of(leaf: Any) -> Any:
        if type(leaf) is Given:
            return flat[leaf.place]
        array = outputs[leaf.number]
        if not leaf.tensor:
            return array.item() if leaf.weak else array[()] if leaf.scalar else array
        if leaf.number not in tensors:
            tensors[leaf.number] = wrap(array)
            if leaf.leaf:
                tensors[leaf.number].requires_grad_()
        return tensors[leaf.number]

    return filled(item, value_of)


def _described(x: Any) -> str:
    if isinstance(x, (Tensor, np.ndarray)):
        grad = ", requiring grad" if isinstance(x, Tensor) and x.requires_grad else ""
        return f"{type(x).__name__} of shape {list(x.shape)} and dtype {x.dtype}{grad}"
    return f"{type(x).__name__} {x!r}"[:80]
