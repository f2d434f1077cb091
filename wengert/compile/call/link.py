"""Linking: from a specialization to its native entry, the quickest way to call it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.engine import mark_written
from wengert.compile.call import derivative
from wengert.compile.program.program import Value
from wengert.compile.trace.captured import (
    Argument,
    CellIs,
    Given,
    Held,
    Item,
    ItemIs,
    Output,
    Outside,
)
from wengert.compile.trace.results import filled, leaves_of, outputs_in
from wengert.history import modes
from wengert.tensor import Tensor

_KINDS = {"f": "float", "i": "int", "b": "bool"}


class NoEntry(Exception):
    """What a specialization needs has no native entry: its calls go through Python."""


def link(specialization: Any, flat: list[Any], slow: Callable[..., Any]) -> Any:
    """The native callable of a specialization; None if it has to be called from Python."""
    try:
        return _Link(specialization, flat, slow).entry()
    except NoEntry:
        return None


class _Link:
    """What one specialization's entry consists of."""

    def __init__(self, specialization: Any, flat: list[Any], slow: Callable[..., Any]) -> None:
        from wengert.compile.call import entry as form

        self.form = form
        self.spec = specialization
        self.captured = specialization.captured
        self.program = specialization.program
        self.executable = specialization.forward
        self.table = self.executable.table
        self.flat = flat
        self.slow = slow
        self.spare = self.table.size

    def entry(self) -> Callable[..., Any]:
        form, executable = self.form, self.executable
        args, kwargs = self.spec.structure[1]
        if kwargs[1] or any(part is not None for part in args[1]) or self.captured.leaked:
            raise NoEntry
        if any(isinstance(owner, Argument) for owner, _ in self.captured.gradients):
            raise NoEntry
        leaves = leaves_of(self.captured.result)
        if any(type(x) is Given or x.leaf or x.weak for x in leaves):
            raise NoEntry
        arguments = self._arguments()
        states, numbers = self._sources()
        results, rebuild, many = self._results()
        made = form.Entry(
            body=executable.body,
            slow=self.slow,
            failed=executable.failed,
            wrote=_wrote,
            arguments=arguments,
            guards=self._guards(),
            states=states,
            numbers=numbers,
            fixed=tuple(form.Fixed(*fixed) for fixed in executable.fixed),
            outputs=self._outputs(),
            gradients=self._gradients(),
            results=results,
            many=many,
            rebuild=rebuild,
            calls=executable.calls,
            keep=executable,
            buffers=self.spare,
        )
        return form.make(made)

    # ---- in ---------------------------------------------------------------------------------

    def _arguments(self) -> tuple[Any, ...]:
        form = self.form
        at: dict[int, tuple[int, Value]] = {}
        for i, (value, source) in enumerate(self._inputs()):
            if isinstance(source, Argument):
                at[source.place] = self.table.input(i), value
        found: list[Any] = []
        for place, x in enumerate(self.flat):
            buffer, value = at.get(place, (-1, None))
            if isinstance(x, (Tensor, np.ndarray)) and buffer < 0:  # not read, but looked at
                buffer, self.spare = self.spare, self.spare + 1
            if place in self.spec.owner._static:
                found.append(form.FixedArgument(x))
            elif isinstance(x, Tensor):
                written = value in self.program.updates
                array = x._array
                found.append(
                    form.TensorArgument(
                        buffer, array.dtype, array.shape, written, x.requires_grad, type(x)
                    )
                )
            elif isinstance(x, np.ndarray):
                written = value in self.program.updates
                found.append(form.ArrayArgument(buffer, x.dtype, x.shape, written))
            elif type(x) is float and buffer >= 0:
                found.append(form.NumberArgument(buffer, "float"))
            else:
                found.append(form.FixedArgument(x))
        return tuple(found)

    def _inputs(self) -> Any:
        return zip(self.program.inputs, self.spec.sources, strict=True)

    def _sources(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        form = self.form
        states: list[Any] = []
        numbers: list[Any] = []
        for i, (value, source) in enumerate(self._inputs()):
            buffer, written = self.table.input(i), value in self.program.updates
            if isinstance(source, Held):
                states.append(
                    form.TensorState(source.tensor, buffer, value.dtype, value.shape, written)
                )
            elif isinstance(source, Outside):
                states.append(form.ArrayState(source.array, buffer, value.dtype, value.shape))
            elif isinstance(source, Item):
                kind = _KINDS[value.dtype.kind]
                numbers.append(form.ItemNumber(source.mapping, source.key, buffer, kind))
            elif not isinstance(source, Argument):
                raise NoEntry
        return tuple(states), tuple(numbers)

    def _guards(self) -> tuple[Any, ...]:
        form = self.form
        guards: list[Any] = [
            form.ItemIs(vars(modes), "special", 0),
            form.ItemIs(vars(dtypes), "_default", dtypes.get_default_dtype()),
        ]
        for guard in self.captured.guards:
            if isinstance(guard, ItemIs):
                guards.append(form.ItemIs(guard.mapping, guard.key, guard.value))
            elif isinstance(guard, CellIs):
                guards.append(form.CellIs(guard.cell, guard.value))
            elif guard.has:
                raise NoEntry
            else:
                own = guard.tensor.__dict__
                own.setdefault("_grad", None)
                guards.append(form.ItemIs(own, "_grad", None))
        for source, _, _, tracked in self.spec.states:
            if isinstance(source, Held):
                guards.append(form.SlotIs(source.tensor, "_node", None, equal=not tracked))
        return tuple(guards)

    # ---- out --------------------------------------------------------------------------------

    def _outputs(self) -> tuple[Any, ...]:
        """Fresh arrays for all outputs but the gradients, whose memory may be used again."""
        form = self.form
        tensors = {o.number for o in outputs_in(self.captured.result) if o.tensor}
        gradients = {number for _, number in self.captured.gradients}
        return tuple(
            form.ArrayOutput(
                self.table.output(k), v.dtype, v.shape, Tensor if k in tensors else None
            )
            for k, v in enumerate(self.program.outputs)
            if k not in gradients
        )

    def _gradients(self) -> tuple[Any, ...]:
        form = self.form
        found = []
        for tensor, number in self.captured.gradients:
            if number is None:
                found.append(form.NoGradient(tensor))
            else:
                value = self.program.outputs[number]
                buffer = self.table.output(number)
                found.append(form.Gradient(tensor, buffer, value.dtype, value.shape))
        return tuple(found)

    def _results(self) -> tuple[tuple[Any, ...], Any, bool]:
        """What the entry returns, and what is made of it in Python."""
        form, captured, spec = self.form, self.captured, self.spec
        gradients = {number for _, number in captured.gradients}
        kept = [k for k in range(len(self.program.outputs)) if k not in gradients]
        position = {k: i for i, k in enumerate(kept)}
        outs = outputs_in(captured.result)
        if any(o.number in gradients for o in outs):
            raise NoEntry
        simple = captured.joint is None
        if simple and captured.result is None:
            return (), None, False
        if simple and type(captured.result) is Output and not captured.result.scalar:
            return (form.Result("output", position[captured.result.number]),), None, False
        everything = tuple(form.Result("output", position[k]) for k in kept)
        if captured.joint is derivative.Spent:
            return everything, _spent(captured.result, position), True
        if captured.joint is not None:
            given = tuple(form.Result("argument", i) for i in range(len(self.flat)))
            count = len(everything)
            joint = captured.joint
            first = sum(1 for k in kept if k < spec.results)

            def record(values: tuple[Any, ...]) -> Any:
                result = _filled(captured.result, values, position)
                slots = [values[position[k]] for k in joint.slots]
                flat = list(values[count:])
                derivative.record(spec, flat, slots, list(values[first:count]))
                return result

            return (*everything, *given), record, True
        return everything, lambda values: _filled(captured.result, values, position), True


def _wrote(tensor: Tensor) -> None:
    mark_written(tensor, "a compiled function")


def _spent(structure: Any, position: dict[int, int]) -> Any:
    """Results whose history the function has gone through."""
    node = derivative.spent()
    tracked = [position[o.number] for o in outputs_in(structure) if o.tensor and o.requires_grad]
    alone = position[structure.number] if type(structure) is Output else None

    def one(values: tuple[Any, ...]) -> Any:
        tensor = values[alone]  # type: ignore[index]
        tensor._node = node
        return tensor

    def several(values: tuple[Any, ...]) -> Any:
        for i in tracked:
            values[i]._node = node
        return _filled(structure, values, position)

    return one if alone is not None and tracked else several


def _filled(structure: Any, values: tuple[Any, ...], position: dict[int, int]) -> Any:
    def value_of(output: Output) -> Any:
        value = values[position[output.number]]
        return value[()] if output.scalar else value

    return filled(structure, value_of)
