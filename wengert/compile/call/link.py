"""Linking: from a specialization to its native entry, the quickest way to call it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.compile.call import derivative
from wengert.compile.call.entry.entries import make
from wengert.compile.call.entry.entry import Entry, Piece
from wengert.compile.call.specialization import unsettled, wrote
from wengert.compile.program.program import Value
from wengert.compile.trace.arguments import Changed, Container, Spread, applied
from wengert.compile.trace.arrays.storage import Storage
from wengert.compile.trace.parts import Part
from wengert.compile.trace.results import LEAVES, filled, leaves_of, outputs_in
from wengert.compile.trace.world import watch
from wengert.compile.trace.world.places import (
    INT64,
    Aliasing,
    Argument,
    Arithmetic,
    Array,
    Attribute,
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
    has_history,
    history_of,
    is_number,
)
from wengert.history import modes
from wengert.history.node import AccumulateGrad
from wengert.tensor import INFERENCE, Tensor

NOT_ASKED = ...
"""What there is no argument for, or none that can be asked."""


def link(spec: Any, flat: list[Any], slow: Callable[..., Any]) -> Callable[..., Any]:
    """The callable of a specialization: what machine code does, and what is left to Python."""
    executable, inputs = spec.forward, list(_inputs(spec, flat))
    if spec.backward is not None:
        spec.pull = functools.partial(_first_pull, spec)
    spread = Spread.of(spec.structure)
    pieces = _pieces(spec, flat)
    results, rebuild = _results(spec, spread, pieces)
    recording = None
    if spec.joint is not None:
        recording = spec.recording(lambda leaf: pieces.get(leaf, leaf))
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
            pieces=tuple(pieces.values()),
            recording=recording,
            results=results,
            many=rebuild is not None or type(spec.captured.result) is tuple,
            rebuild=rebuild,
            calls=executable.calls,
            supposes=bool(spec.captured.supposed.statements),
            failed=spec.failure.instead if spec.failure.unseen else None,
            keep=executable,
        )
    )


def _first_pull(spec: Any, saved: Any, node: Any, g: Any) -> Any:
    """From now on the derivative's native callable runs."""
    entry = _pull_entry(spec, node.values(), node, g)
    spec.pull = make(entry)
    leaves = all(isinstance(edge, AccumulateGrad) for edge in node.edges)
    if leaves and node.outputs == 1 and not entry.calls:
        spec.settle = make(_settling(entry))
    return spec.pull(saved, node, g)


def _settling(entry: Entry) -> Entry:
    """A pull that puts the gradients where they go, if that is all there is to do."""
    outputs = [dataclasses.replace(output, type=Tensor) for output in entry.outputs]
    return dataclasses.replace(
        entry,
        slow=unsettled,
        guards=(Guard(Length(watch.CAPTURES), 0),),
        outputs=tuple(outputs),
        settled=Argument(len(entry.spread.slots) - 1),
        results=(Known(True),),
        many=False,
    )


def _pull_entry(spec: Any, saved: tuple[Any, ...], node: Any, g: Any) -> Entry:
    """The entry of a specialization's derivative, which does what `pulled` says."""
    executable = spec.backward
    plan, table = executable.plan, executable.table
    begin, known = 3, len(saved)  # the arguments, then what their parts are
    containers = [Container(0, tuple, None, begin, known)]
    gs, values = [2], [*saved, g]
    if node.outputs > 1:
        containers.append(Container(2, list, None, begin + known, len(g)))
        gs, values = [*range(begin + known, begin + known + len(g))], [*saved, *g]
    places = [*spec.read_back, *map(Argument, range(spec.known(), len(values)))]
    return Entry(
        body=executable.body,
        buffers=table.size,
        slow=spec.pulled,
        spread=Spread(3, (), tuple(containers), (*range(begin, begin + known), *gs, 1)),
        inputs=tuple(
            [
                _anyhow(
                    _input(place, values, table.input(i), value),
                    Argument(len(values)) if place in spec.tensors_back else None,
                )
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


def _is_native(write: Write) -> bool:
    """Whether machine code puts an output in its place; else `_written` does."""
    return isinstance(write.place, Gradient) and isinstance(write.place.tensor, Known)


def _guards(spec: Any, flat: list[Any]) -> Iterator[Guard]:
    """What must hold beside the kinds of inputs.

    An entry is for one mode, and one dtype; and for no trace, which wants to see all.
    """
    if modes.special:
        yield Guard(Attribute(modes.THREAD, "state"), modes.current())
    else:
        yield Guard(Length(modes.special), 0)
    yield Guard(Length(watch.CAPTURES), 0)
    yield Guard(Arithmetic(), True)
    yield Guard(Item(vars(dtypes), "_default"), dtypes.get_default_dtype())
    yield from spec.guards
    for place, answer in spec.owner._answers(flat).items():
        if answer is not NOT_ASKED:
            is_gradient = isinstance(place, Gradient)
            yield Guard(place, None, equal=not answer) if is_gradient else Guard(place, answer)


def _inputs(spec: Any, flat: list[Any]) -> Iterator[Input | Guard]:
    """What the program reads; and arguments beside, which must be of the same kind, or the same."""
    table, updates = spec.forward.table, spec.program.updates
    writes = dict(spec.captured.written)
    for i, (value, place) in enumerate(spec.read):
        written, times = value in updates, writes.get(place, 0)
        yield _input(place, flat, table.input(i), value, written, times)
    read = {place for _, place in spec.read}
    shared = [place for pair in spec.captured.shared for place in pair]
    outside = dict.fromkeys([*writes, *shared, *spec.captured.bases()])
    beside = [place for place in outside if type(place) is not Argument and place not in read]
    for k, place in enumerate(beside):
        yield _input(place, flat, table.size + len(flat) + k, writes=writes.get(place, 0))
    for i, x in enumerate(flat):
        if Argument(i) in read:
            continue
        numeric = isinstance(x, Tensor | np.ndarray) or is_number(x)
        if i in spec.owner._static or not numeric:
            yield Guard(Argument(i), x)
        else:
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
        kind, bounds = (type(x), None) if value is None else (_number(value), value.bounds)
        return Input(place, Number(buffer, kind, bounds or INT64))
    kind = type(x) if isinstance(x, Tensor) else None
    history = history_of(x) if kind is not None else None
    origin = INFERENCE if kind is not None and x._origin is INFERENCE else None
    if isinstance(place, Known):  # what these are is guarded
        history, origin = ..., None
    strides = None if array.flags.c_contiguous else array.strides
    form = Array(buffer, array.dtype, array.shape, kind, written, history, strides, origin=origin)
    return Input(place, form, writes)


def _anyhow(read: Input, since: Argument | None) -> Input:
    """An input that is only read, in any strides and with any history."""
    form = read.form
    if isinstance(form, Array):
        form = dataclasses.replace(form, strides=..., history=..., origin=None)
    return Input(read.place, form, since=since)


def _number(value: Value) -> Any:
    """The class of numbers that a value of no dimensions is of: Python's if it is weak."""
    return type(value.dtype.type(0).item()) if value.weak else value.dtype.type


def _outputs(spec: Any) -> Iterator[Array | Number]:
    results = {output.number: output for output in outputs_in(spec.captured.whole())}
    for k, v in enumerate(spec.program.outputs):
        buffer, result = spec.forward.table.output(k), results.get(k)
        if result is None:
            yield Array(buffer, v.dtype, v.shape)
        elif result.weak:
            yield Number(buffer, type(v.dtype.type(0).item()))
        else:
            history = derivative.refused(spec.captured) if has_history(result) else None
            kind = Tensor if result.tensor else None
            origin = INFERENCE if result.inference else None
            yield Array(
                buffer, v.dtype, v.shape, kind, node=history, origin=origin, scalar=result.scalar
            )


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

    def alone(self) -> Callable[[tuple[Any, ...]], Any] | None:
        """The step, if there is but one."""
        return functools.partial(self.steps[0][1], None) if len(self.steps) == 1 else None

    def __call__(self, values: tuple[Any, ...]) -> Any:
        result = None
        for part, step in self.steps:
            result = step(result, values[part])
        return result


def _pieces(spec: Any, flat: list[Any]) -> dict[Any, Piece]:
    """Leaves of the result that are made of what a call has found, or made."""
    state = modes.current()
    unrecorded = None if state.grad else "inference" if state.inference else "no_grad"
    pieces: dict[Any, Piece] = {}
    leaves = leaves_of(spec.captured.whole())
    chains = [x for leaf in leaves if type(leaf) is Part for x in reversed([*leaf.chain()])]
    for leaf in dict.fromkeys([*chains, *leaves]):
        if type(leaf) is Output and leaf.leaf:
            pieces[leaf] = Piece(leaf, Tensor.requires_grad_)
        if type(leaf) is Part:
            known = derivative.refused(spec.captured) if has_history(leaf) else None
            of = leaf.of if known is None else functools.partial(_refusing, leaf, known)
            view = (leaf.call(_whole(spec, leaf.base, flat)), unrecorded or leaf.creation)
            base: Any = pieces.get(leaf.base, leaf.base)
            pieces[leaf] = Piece(base, of, None if leaf.leaf else leaf, known, view)
    return pieces


def _refusing(part: Part, node: Any, base: Any) -> Any:
    """A part whose history cannot be gone through."""
    tensor = part.of(base)
    tensor._node = node
    return tensor


def _whole(spec: Any, base: Any, flat: list[Any]) -> np.ndarray[Any, Any]:
    """An array that lies as a base does."""
    if type(base) is Part:
        return base.seen_in(_whole(spec, base.base, flat))
    if type(base) is Output:
        return Storage(spec.program.outputs[base.number]).like()
    return array_at(base, flat)


def _results(
    spec: Any, spread: Spread, pieces: dict[Any, Piece]
) -> tuple[tuple[Any, ...], Callable[..., Any] | None]:
    """What the entry returns, and what is made of it in Python, if anything."""
    structure = spec.captured.whole()
    leaves = tuple(dict.fromkeys(leaves_of(structure)))
    flat = [Argument(i) for i in range(len(spec.examples))]
    afterwards = _Afterwards()
    values = [pieces.get(leaf, leaf) for leaf in leaves]
    afterwards.then(values, _finished(structure, leaves))
    writes = [write for write in spec.captured.writes if not _is_native(write)]
    if writes:
        outputs = [Known(None) if w.number is None else Output(w.number) for w in writes]
        afterwards.then([*outputs, *flat], _written(writes))
    if spec.captured.effects:
        afterwards.then(flat, _carried_out(spec.captured.effects))
    if type(spec.captured.result) is Changed:
        containers = [Argument(i) for i in range(len(flat), len(spread.slots))]
        afterwards.then(containers, applied)
    if len(afterwards.steps) == 1:
        if structure is None or isinstance(structure, LEAVES):
            return tuple(values), None
        if type(structure) is tuple and all(isinstance(part, LEAVES) for part in structure):
            return tuple([pieces.get(leaf, leaf) for leaf in structure]), None
    return tuple(afterwards.places), afterwards.alone() or afterwards


def _finished(structure: Any, leaves: Any) -> Callable[[Any, tuple[Any, ...]], Any]:
    """The result around its leaves."""
    places = {leaf: k for k, leaf in enumerate(leaves)}

    def finish(_: Any, values: tuple[Any, ...]) -> Any:
        return filled(structure, lambda leaf: values[places[leaf]])

    return finish


def _carried_out(effects: list[Put | Did]) -> Callable[[Any, tuple[Any, ...]], Any]:
    """The result alone, after what the function wrote into the world."""

    def carry_out(returned: Any, flat: tuple[Any, ...]) -> Any:
        result, *values = returned
        for effect, value in zip(effects, values, strict=True):
            effect.carry_out(value, flat)
        return result

    return carry_out


def _written(writes: list[Write]) -> Callable[[Any, tuple[Any, ...]], Any]:
    """What goes to places that machine code does not reach."""

    def write(result: Any, values: tuple[Any, ...]) -> Any:
        for each, value in zip(writes, values, strict=False):
            each.place.write(value, values[len(writes) :])
        return result

    return write
