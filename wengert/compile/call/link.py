"""Linking: from a specialization to its native entry, the quickest way to call it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.compile.call import derivative
from wengert.compile.call.entries import make
from wengert.compile.call.entry import Entry
from wengert.compile.call.specialization import wrote
from wengert.compile.program.program import Value
from wengert.compile.trace import watch
from wengert.compile.trace.arguments import Changed, Spread, applied
from wengert.compile.trace.parts import Part
from wengert.compile.trace.places import (
    Aliasing,
    Argument,
    Array,
    Did,
    Gradient,
    Guard,
    Input,
    Item,
    Known,
    Length,
    Number,
    Output,
    Place,
    Put,
    Write,
    array_at,
    is_number,
)
from wengert.compile.trace.results import filled, leaves_of, outputs_in
from wengert.history import modes
from wengert.tensor import Tensor


def link(spec: Any, flat: list[Any], slow: Callable[..., Any]) -> Callable[..., Any]:
    """The callable of a specialization: what machine code does, and what is left to Python."""
    executable, inputs = spec.forward, list(_inputs(spec, flat))
    if spec.backward is not None:
        spec.pull = functools.partial(_first_pull, spec)
    spread = Spread.of(spec.structure)
    results, rebuild = _results(spec, spread)
    return make(
        Entry(
            body=executable.body,
            buffers=executable.table.size + len(flat) + len(inputs),
            slow=slow,
            wrote=wrote,
            spread=spread,
            guards=(*_guards(spec, flat), *(i for i in inputs if type(i) is Guard)),
            inputs=tuple([i for i in inputs if type(i) is Input]),
            aliasing=tuple(_aliasing(inputs, flat)),
            fixed=tuple(executable.fixed),
            outputs=tuple(_outputs(spec)),
            writes=tuple(filter(_is_native, spec.captured.writes)),
            results=results,
            many=rebuild is not None,
            rebuild=rebuild,
            calls=executable.calls,
            keep=executable,
        )
    )


def _first_pull(spec: Any, *given: Any) -> Any:
    """From now on the derivative's native callable runs."""
    spec.pull = _link_pull(spec, given)
    return spec.pull(*given)


def _link_pull(spec: Any, given: tuple[Any, ...]) -> Callable[..., Any]:
    """The callable of a specialization's derivative, which does what `pulled` says."""
    executable = spec.backward
    plan, table = executable.plan, executable.table
    places = [*spec.read_back, *map(Argument, range(len(spec.examples), len(given)))]
    return make(
        Entry(
            body=executable.body,
            buffers=table.size,
            slow=spec.pulled,
            spread=Spread(len(given), slots=tuple(range(len(given)))),
            inputs=tuple(
                [
                    _anyhow(_input(place, given, table.input(i), value))
                    for i, (place, value) in enumerate(zip(places, plan.inputs, strict=True))
                ]
            ),
            aliasing=None,
            fixed=tuple(executable.fixed),
            outputs=tuple(
                [Array(table.output(k), v.dtype, v.shape) for k, v in enumerate(plan.outputs)]
            ),
            results=tuple(map(Output, range(len(plan.outputs)))),
            many=True,
            calls=executable.calls,
            keep=executable,
        )
    )


def _is_native(write: Write) -> bool:
    """Whether machine code puts an output in its place; else `_written` does."""
    return isinstance(write.place, Gradient) and isinstance(write.place.tensor, Known)


def _guards(spec: Any, flat: list[Any]) -> Iterator[Guard]:
    """What must hold beside the kinds of inputs.

    An entry is for the usual modes, and one dtype; and for no trace, which wants to see all.
    """
    yield Guard(Item(vars(modes), "special"), 0)
    yield Guard(Length(watch.CAPTURES), 0)
    yield Guard(Item(vars(dtypes), "_default"), dtypes.get_default_dtype())
    yield from spec.guards
    for i in spec.owner._graded:
        if i < len(flat) and isinstance(flat[i], Tensor):
            yield Guard(Gradient(Argument(i)), None, equal=flat[i]._grad is None)


def _inputs(spec: Any, flat: list[Any]) -> Iterator[Input | Guard]:
    """What the program reads; and arguments beside, which must be of the same kind, or the same."""
    table, updates = spec.forward.table, spec.program.updates
    writes = dict(spec.captured.written)
    for i, (value, place) in enumerate(spec.read):
        written, times = value in updates, writes.get(place, 0)
        yield _input(place, flat, table.input(i), value, written, times)
    read = {place for _, place in spec.read}
    outside = dict.fromkeys([*writes, *(place for pair in spec.captured.shared for place in pair)])
    beside = [place for place in outside if type(place) is not Argument and place not in read]
    for k, place in enumerate(beside):
        yield _input(place, flat, table.size + len(flat) + k, writes=writes.get(place, 0))
    for i, x in enumerate(flat):
        numeric = isinstance(x, Tensor | np.ndarray) or is_number(x)
        if i in spec.owner._static or not numeric:
            yield Guard(Argument(i), x)
        elif Argument(i) not in read:
            yield _input(Argument(i), flat, table.size + i, writes=writes.get(Argument(i), 0))


def _aliasing(inputs: list[Input | Guard], flat: list[Any]) -> Iterator[Aliasing]:
    """The arrays that lie where an earlier one does."""
    first: dict[int, Place] = {}
    for i in inputs:
        if type(i) is Input and type(i.form) is Array and i.form.nbytes:
            place = first.setdefault(array_at(i.place, flat).ctypes.data, i.place)
            if place is not i.place:
                yield Aliasing(place, i.place, place.read(flat) is i.place.read(flat))


def _input(
    place: Any,
    flat: Sequence[Any],
    buffer: int,
    value: Value | None = None,
    written: bool = False,
    writes: int = 0,
) -> Input:
    """What is at a place now, in the form that a program's input has if it is one."""
    x, array = place.read(flat), array_at(place, flat)
    if not isinstance(array, np.ndarray):
        return Input(place, Number(buffer, type(x) if value is None else _number(value)))
    kind = type(x) if isinstance(x, Tensor) else None
    # What states require is guarded.
    history = (kind is not None and x.requires_grad) if isinstance(place, Argument) else None
    strides = None if array.flags.c_contiguous else array.strides
    form = Array(buffer, array.dtype, array.shape, kind, written, history, strides)
    return Input(place, form, writes)


def _anyhow(read: Input) -> Input:
    """An input that is only read, in any strides and with any history."""
    form = read.form
    if isinstance(form, Array):
        form = dataclasses.replace(form, strides=..., history=None)
    return Input(read.place, form)


def _number(value: Value) -> Any:
    """The class of numbers that a value of no dimensions is of: Python's if it is weak."""
    return type(value.dtype.type(0).item()) if value.weak else value.dtype.type


def _outputs(spec: Any) -> Iterator[Array | Number]:
    results = {output.number: output for output in outputs_in(spec.captured.whole())}
    refusal = spec.captured.refusal
    node = None if refusal is None else derivative.refused(refusal)
    for k, v in enumerate(spec.program.outputs):
        buffer, result = spec.forward.table.output(k), results.get(k)
        if result is None:
            yield Array(buffer, v.dtype, v.shape)
        elif result.weak:
            yield Number(buffer, type(v.dtype.type(0).item()))
        else:
            history = node if result.requires_grad else None
            kind = Tensor if result.tensor else None
            yield Array(buffer, v.dtype, v.shape, kind, node=history, scalar=result.scalar)


# ---- results ------------------------------------------------------------------------------------


class _Afterwards:
    """What Python makes of the values that the machine code leaves: the result, and other effects.

    Each step is given what the steps before it made, and the values at the places it asked for.
    """

    def __init__(self) -> None:
        self.places: list[Any] = []
        self.steps: list[tuple[slice, Callable[[Any, tuple[Any, ...]], Any]]] = []

    def then(self, places: Iterable[Any], step: Callable[[Any, tuple[Any, ...]], Any]) -> None:
        start = len(self.places)
        self.places += places
        self.steps.append((slice(start, len(self.places)), step))

    def __call__(self, values: tuple[Any, ...]) -> Any:
        result = None
        for part, step in self.steps:
            result = step(result, values[part])
        return result


def _results(spec: Any, spread: Spread) -> tuple[tuple[Any, ...], Callable[..., Any] | None]:
    """What the entry returns, and what is made of it in Python, if anything."""
    structure, joint = spec.captured.whole(), spec.captured.joint
    leaves = tuple(dict.fromkeys(leaves_of(structure)))
    found = [leaf.base if type(leaf) is Part else leaf for leaf in leaves]
    saved = [] if joint is None else range(spec.results, len(spec.program.outputs))
    flat = [Argument(i) for i in range(len(spec.examples))]
    afterwards = _Afterwards()
    one = type(structure) in (Argument, Output) and not getattr(structure, "leaf", False)
    recorded = [] if joint is None else [*map(Output, saved), *flat]
    afterwards.then([*found, *recorded], _finished(spec, leaves, len(saved), one))
    writes = [write for write in spec.captured.writes if not _is_native(write)]
    if writes:
        outputs = [Known(None) if w.number is None else Output(w.number) for w in writes]
        afterwards.then([*outputs, *flat], _written(writes))
    if spec.captured.effects:
        afterwards.then(flat, _carried_out(spec.captured.effects))
    if type(spec.captured.result) is Changed:
        containers = [Argument(i) for i in range(len(flat), len(spread.slots))]
        afterwards.then(containers, applied)
    if len(afterwards.steps) == 1 and (one or structure is None) and joint is None:
        return leaves, None
    return tuple(afterwards.places), afterwards


def _finished(
    spec: Any, leaves: Any, saved: int, one: bool
) -> Callable[[Any, tuple[Any, ...]], Any]:
    """The result around what its leaves are, or are made of, with the history of this call."""
    structure, joint, refusal = spec.captured.whole(), spec.captured.joint, spec.captured.refusal
    places = {leaf: k for k, leaf in enumerate(leaves)}
    slots = [] if joint is None else [places[leaf] for leaf in joint.slots]
    begin, end = len(leaves), len(leaves) + saved
    refused = [k for k, x in enumerate(leaves) if type(x) is Part and x.requires_grad]
    node = None if refusal is None else derivative.refused(refusal)

    def finish(_: Any, values: tuple[Any, ...]) -> Any:
        made = values if one else list(map(_made, leaves, values))
        if joint is not None:
            results, kept = [made[k] for k in slots], list(values[begin:end])
            derivative.record(spec, list(values[end:]), results, kept)
        elif node is not None:
            for k in refused:
                made[k]._node = node
        return made[0] if one else filled(structure, lambda leaf: made[places[leaf]])

    return finish


def _carried_out(effects: list[Put | Did]) -> Callable[[Any, tuple[Any, ...]], Any]:
    """The result alone, after what the function wrote into the world."""

    def carry_out(made: Any, flat: tuple[Any, ...]) -> Any:
        result, *values = made
        for effect, value in zip(effects, values, strict=True):
            effect.carry_out(value, flat)
        return result

    return carry_out


def _made(leaf: Any, x: Any) -> Any:
    if type(leaf) is Part:
        return leaf.of(x)
    return x.requires_grad_() if type(leaf) is Output and leaf.leaf else x


def _written(writes: list[Write]) -> Callable[[Any, tuple[Any, ...]], Any]:
    """What goes to places that machine code does not reach."""

    def write(result: Any, values: tuple[Any, ...]) -> Any:
        for each, value in zip(writes, values, strict=False):
            each.place.write(value, values[len(writes) :])
        return result

    return write
