"""Capturing a call: run the function once on traced arrays, and keep what it did as a program.

Arguments become traced arrays. So does every tensor from outside at the moment its array is first
read: parameters, buffers, gradients, optimizer state. The program reads and writes those by
reference. All that the function changed is put back when the trace ends, however it ends; the
changes are in the program, and happen when it runs.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.compile.program import operations
from wengert.compile.program.program import Value, mapped
from wengert.compile.trace import watch
from wengert.compile.trace.array import Storage, Trace, TracedArray, undecided
from wengert.compile.trace.captured import Captured, Joint
from wengert.compile.trace.places import (
    PLAIN,
    Argument,
    Attribute,
    Cotangent,
    Gradient,
    Guard,
    Item,
    Known,
    Output,
    Place,
    Variable,
    Write,
)
from wengert.compile.trace.results import Filled, leaves_of, named_parts, sequence
from wengert.errors import TracingError
from wengert.history.location import here, line_of
from wengert.history.node import AccumulateGrad, Cell
from wengert.history.surroundings import DECIDING, SETTINGS
from wengert.tensor import Tensor, bare, current_node

_MEMBERS = ("_modules", "_parameters", "_buffers")  # where a module keeps what it consists of


class Capture:
    """One trace of a function."""

    def __init__(self, places: dict[int, int] | None = None) -> None:
        self.places = places or {}  # of the arguments that are tensors, by id
        self.trace = Trace()
        self.trace.external = self.external
        self.trace.decide = self.decide
        self.trace.keep = self.keep
        self.program = self.trace.program
        self.sources: dict[Value, Place] = {}
        self.guards: dict[Any, Guard] = {}
        self.lifted: dict[int, Lifted] = {}  # by the tensor's id
        self.spans: list[tuple[int, int, TracedArray, Any]] = []
        self.arrays: dict[int, tuple[Any, Any, Value]] = {}
        self.grads: dict[int, Grad] = {}
        self.born: dict[int, weakref.ref[Tensor]] = {}
        self.arguments: dict[int, TracedArray] = {}  # by place
        self.given: dict[int, Any] = {}  # what the caller passed, by place
        self.stand_ins: dict[int, tuple[int, Tensor]] = {}  # for tensors passed, by their own id
        self.graded: set[int] = set()  # places whose tensors' gradients the signature knows of
        self.outputs: dict[int, int] = {}  # of result tensors, by id
        self.kept: dict[int, tuple[TracedArray, Any]] = {}  # state made in the trace, by id
        self.made: list[tuple[Any, Any]] = []  # where it is kept
        self.named: dict[int, str] = {}  # what modules call their tensors
        self.settings: list[tuple[list[Value], list[Guard]]] = []
        self.cells: list[tuple[Cell, Any]] = []
        self.numbers: dict[Value, tuple[Item | Argument, Any]] = {}
        self.borrowed: list[tuple[dict[str, Any], str, Any]] = []

    # ---- inputs ---------------------------------------------------------------------------------

    def input(self, source: Place, shape: Any, dtype: Any, name: str, weak: bool = False) -> Value:
        dtype = dtypes.canonical(dtype) if dtype.isnative else dtype
        value = self.program.input(shape, dtype, name, weak)
        self.sources[value] = source
        return value

    def argument(self, place: int, array: Any, name: str, same: int | None) -> TracedArray:
        """A traced array for an argument's array; the one of argument `same` if that is given."""
        if array.dtype.kind not in "biufc" or array.dtype.itemsize > 16 or array.dtype.char in "gG":
            raise TracingError(
                f"an argument of a compiled function is an array of dtype {array.dtype}; those "
                "hold integers, truth values, and floating-point and complex numbers of up to 64 "
                "bits per part. Convert it, e.g. with x.astype(float), or leave the function "
                "uncompiled."
            )
        if same is not None:
            self.arguments[place] = self.arguments[same]
            return self.arguments[place]
        value = self.input(Argument(place), array.shape, array.dtype, name)
        traced = TracedArray(self.trace, Storage(value, value), ())
        self.arguments[place] = traced
        return traced

    def stand_in(self, place: int, tensor: Tensor, name: str, same: int | None) -> Tensor:
        """A tensor in the place of one that the caller passes."""
        self.given[place] = tensor
        if same is not None and self.given.get(same) is tensor:
            return next(t for at, t in self.stand_ins.values() if at == same)
        traced = leaf(
            self.argument(place, tensor._array, name, same), type(tensor), tensor.requires_grad
        )
        self.stand_ins[id(traced)] = place, traced
        return traced

    def number(self, source: Item | Argument, number: float, name: str) -> TracedArray:
        """A traced number, whose value is the caller's to change."""
        value = self.input(source, (), np.dtype(type(number)), name, weak=True)
        self.numbers[value] = source, number
        return self.trace.array(value)

    def external(self, array: np.ndarray[Any, Any]) -> Value:
        """The value of a plain array that meets a traced one: by reference, unless it is ours."""
        known = self.arrays.get(id(array))
        if known is not None and (known[1] is None or _equal(known[1], array)):
            return known[2]
        if array.dtype.kind not in "biufc" or array.dtype.byteorder == ">":
            raise TracingError(
                f"an array of dtype {array.dtype} in a compiled function at\n  {line_of(*here())}\n"
                "Convert it to numbers of the machine's byte order first, e.g. x.astype(float)."
            )
        value = Value(array.shape, dtypes.canonical(array.dtype))
        self.arrays[id(array)] = array, array.copy(), value
        self.program.constants[value] = array
        return value

    def decide(self, x: TracedArray, what: str) -> Any:
        """A number that the trace needs now: known only if settings and arguments decide it."""
        makers = {v: s for s in self.program.statements for v in s.outputs}
        return self._decided(x.value, makers, lambda: undecided(x, what))

    def _decided(self, value: Value, makers: Any, fail: Any) -> Any:
        """The number that `value` is, on condition that what it depends on stays as it is."""
        constants = self.program.constants
        if value in constants:
            return constants[value]
        if value in self.numbers:
            source, number = self.numbers[value]
            if isinstance(source, Argument):
                raise Specialize(source.number)
            self.note(Guard(source, number), (id(source.mapping), source.key))
            return number
        maker = makers.get(value)
        if maker is None or not value.weak:
            return fail()
        args = mapped(maker.args, lambda v: self._decided(v, makers, fail))
        return maker.function(*args, **maker.kwargs)

    def keep(self, array: np.ndarray[Any, Any], mapping: Any, key: Any) -> TracedArray:
        """A traced array for `array`, which a tensor in `mapping[key]` is about to hold."""
        value = self.program.input(array.shape, array.dtype, str(key))
        traced = TracedArray(self.trace, Storage(value, value), ())
        self.kept[id(traced)] = traced, array
        self.made.append((mapping, key))
        return traced

    # ---- what the watch tells -------------------------------------------------------------------

    def array_of(self, tensor: Tensor, array: Any) -> Any:
        """A tensor's array is read."""
        if type(array) is not np.ndarray:
            return array
        lifted = self.lifted.get(id(tensor))
        if lifted is None:
            place = self.places.get(id(tensor))
            if place is not None:
                raise Specialize(place)  # it is an argument too
            with watch.aside():
                lifted = self.lift(tensor, array)
        return lifted.now

    def array_for(self, tensor: Tensor, array: Any) -> Any:
        """A tensor's array is set; what its slot receives. A tensor from outside keeps its own."""
        if type(array) is np.ndarray and array.dtype.kind in "biufc" and id(array) not in self.kept:
            with watch.aside():
                traced = self.trace.array(self.external(array))
        else:
            traced = array
        try:
            before = watch.SLOT.__get__(tensor)
        except AttributeError:
            if id(array) not in self.kept:
                self.born[id(tensor)] = weakref.ref(tensor)
                return traced
            _, real = self.kept[id(array)]
            self.lifted[id(tensor)] = Lifted(tensor, real, array, fresh=True)
            self.sources[array.value] = Known(tensor)
            return real
        if type(before) is not np.ndarray:
            return traced
        self.array_of(tensor, before)
        self.lifted[id(tensor)].now = traced
        return before

    def lift(self, tensor: Tensor, array: Any) -> Lifted:
        """A traced array in the place of an array from outside, which the program reads."""
        traced = self._shared(array)
        if traced is None:
            owner = next((g.tensor for g in self.grads.values() if g.before is tensor), None)
            source: Place = Known(tensor)
            if id(owner) in self.stand_ins:
                source = Gradient(Argument(self.stand_ins[id(owner)][0]))
            elif owner is not None:
                source = Gradient(Known(owner))
            value = self.input(source, array.shape, array.dtype, self._name(tensor))
            traced = TracedArray(self.trace, Storage(value, value), ())
            low, high = np.lib.array_utils.byte_bounds(array)
            self.spans.append((low, high, traced, array))
        lifted = self.lifted[id(tensor)] = Lifted(tensor, array, traced)
        if tensor._cell is not None:
            self.cells.append((tensor._cell, dict(vars(tensor._cell))))
        return lifted

    def _shared(self, array: Any) -> TracedArray | None:
        """What stands for the same memory already."""
        low, high = np.lib.array_utils.byte_bounds(array)
        for first, last, traced, other in self.spans:
            if low < last and first < high and array.size:
                if (low, array.shape, array.strides, array.dtype) == (
                    first, other.shape, other.strides, other.dtype,
                ):  # fmt: skip
                    return traced
                if np.shares_memory(array, other):
                    raise TracingError(
                        "two tensors that a compiled function uses overlap in memory (one is a "
                        f"view of part of the other), at\n  {line_of(*here())}\nTake the view "
                        "inside the function, or clone() one of them."
                    )
        return None

    def _name(self, tensor: Tensor) -> str:
        return self.named.get(id(tensor), "state")

    def grad_of(self, tensor: Tensor, own: Any) -> Any:
        """A tensor's gradient is read."""
        grad = self.grads.get(id(tensor))
        if grad is not None:
            return grad.now
        if self._is_born(tensor):
            return own
        if id(tensor) in self.stand_ins:
            own = self._grad_of_argument(tensor)
            self.grads[id(tensor)] = Grad(tensor, own, own)
            return own
        self.grads[id(tensor)] = Grad(tensor, own, own)
        self.note(Guard(Gradient(Known(tensor)), None, equal=own is None), (id(tensor), "grad"))
        return own

    def grad_for(self, tensor: Tensor, grad: Any) -> bool:
        """A tensor's gradient is set; whether this is kept here."""
        if self._is_born(tensor):
            return False
        known = self.grads.get(id(tensor))
        if known is None and id(tensor) in self.stand_ins:
            own = self._grad_of_argument(tensor)
            known = self.grads[id(tensor)] = Grad(tensor, own, own)
        if known is None:
            known = self.grads[id(tensor)] = Grad(tensor, tensor.__dict__.get("_grad"), None)
        known.now = grad
        return True

    def _grad_of_argument(self, stand_in: Tensor) -> Any:
        """The gradient that the tensor passed has; the signature says whether it has one."""
        place, _ = self.stand_ins[id(stand_in)]
        if place not in self.graded:
            raise Specialize(place, graded=True)
        return self.given[place].__dict__.get("_grad")

    def _is_born(self, tensor: Tensor) -> bool:
        ref = self.born.get(id(tensor))
        return ref is not None and ref() is tensor

    def numbers_of(self, generator: Any, numbers: Any) -> Any:
        return Numbers(self, generator)

    def refuse(self, what: str) -> None:
        raise TracingError(
            f"{what} inside a compiled function at\n  {line_of(*here())}\nDo it before the call."
        )

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """An attribute of a module is read."""
        if type(value) is dict and name in _MEMBERS:
            for key, member in value.items():
                self.note(Guard(Item(value, key), member), (id(value), key))
                if isinstance(member, Tensor):
                    self.named.setdefault(id(member), key)
        elif _guarded(value):
            attributes = object.__getattribute__(owner, "__dict__")
            for mapping in (attributes, *(attributes.get(name, {}) for name in _MEMBERS)):
                if name in mapping:
                    self.note(Guard(Item(mapping, name), value), (id(mapping), name))
                    if isinstance(value, Tensor):
                        self.named.setdefault(id(value), name)
                    return

    def outside(self, mapping: dict[str, Any], key: str, value: Any) -> None:
        """A user's function reads a global."""
        if _guarded(value):
            self.note(Guard(Item(mapping, key), value), (id(mapping), key))

    def inside(self, owner: Any, names: Iterable[Any]) -> None:
        """A user's function names these attributes of an object, or keys of a dictionary."""
        mapping = owner if type(owner) is dict else getattr(owner, "__dict__", None)
        if type(mapping) is dict:
            for name in names:
                if _guarded(mapping.get(name, self)):
                    self.note(Guard(Item(mapping, name), mapping[name]), (id(mapping), name))

    def enclosed(self, cell: Any) -> None:
        """A user's function has a variable of an enclosing one."""
        try:
            value = cell.cell_contents
        except ValueError:
            return
        if _guarded(value):
            self.note(Guard(Variable(cell), value), (id(cell), ""))

    def note(self, guard: Guard, key: Any) -> None:
        self.guards.setdefault(key, guard)

    # ---- settings of optimizers -------------------------------------------------------------

    def borrow_settings(self) -> None:
        """Put traced numbers in the place of optimizers' settings."""
        for holder in list(SETTINGS):
            values: list[Value] = []
            guards: list[Guard] = [Guard(Item(vars(holder), "param_groups"), holder.param_groups)]
            for i, group in enumerate(holder.param_groups):
                for key, number in list(group.items()):
                    if type(number) is float:
                        name = f"{key}_{i}" if i else key
                        traced = self.number(Item(group, key), number, name)
                        values.append(traced.value)
                        self.borrowed.append((group, key, number))
                        group[key] = traced
                    elif type(number) in PLAIN:
                        guards.append(Guard(Item(group, key), number))
            self.settings.append((values, guards))

    # ---- the end ----------------------------------------------------------------------------

    def forget(self) -> None:
        """Take away the state that a trace has made in vain."""
        forget(self.made)

    def restore(self) -> None:
        """Put everything back as it was before the trace."""
        for group, key, number in self.borrowed:
            group[key] = number
        for lifted in self.lifted.values():
            lifted.restore()
        for cell, state in self.cells:
            vars(cell).clear()
            vars(cell).update(state)

    def captured(self, result: list[Any], pulled: Any) -> Captured:
        """The program, complete with its effects, once the function has returned.

        `result` is a list that holds what it returned, and is emptied; `pulled` is what
        `pull_back` found.
        """
        program = self.program
        captured = Captured(program, self.sources, None, spent=pulled.spent)
        captured.result = self._structure(result.pop())
        captured.joint, gradients = self._joint(pulled)
        for grad in self.grads.values():
            if grad.now is grad.before:
                continue
            number = None if grad.now is None else self._output(grad.now)
            place, _ = self.stand_ins.get(id(grad.tensor), (None, None))
            target = Known(grad.tensor) if place is None else Argument(place)
            captured.writes.append(Write(Gradient(target), number))
            grad.now = None
        self._check_flags()
        for lifted in self.lifted.values():
            target = lifted.traced.storage.origin
            value = self._final(lifted.now, lifted.traced)
            if value is not target:
                program.updates[target] = value
                captured.written.append(lifted.tensor)
        for traced in self.arguments.values():
            if traced.storage.value is not traced.storage.origin:
                program.updates[traced.storage.origin] = traced.storage.value
        for place, tensor in self.stand_ins.values():
            traced = self.arguments[place]
            value = self._final(watch.SLOT.__get__(tensor), traced)
            if value is not traced.storage.value:  # it was given another array
                program.updates[traced.storage.origin] = value
        for ref in list(self.born.values()):
            leaked = ref()
            if leaked is not None:
                captured.writes.append(Write(Attribute(leaked, "_array"), self._output(leaked)))
        program.outputs += gradients
        self._adopt_arrays()
        self._keep_used(bool(gradients))
        captured.made = self.made
        # What the function itself has changed is no condition on later calls.
        kept = (g for g in self.guards.values() if type(g.place) is Gradient or g.holds())
        captured.guards = list(kept)
        return captured

    def _joint(self, pulled: Any) -> tuple[Joint | None, list[Value]]:
        """The derivative in terms of the program, and the values of the gradients."""
        if not pulled.leaves:
            return None, []
        slots = [self.outputs[id(t)] for t in pulled.outs]
        gradients = [g.value for g in pulled.gradients]
        pulled.outs.clear()  # what is alive after this has outlived the function
        return Joint(slots, pulled.leaves, pulled.cotangents), gradients

    def trusted(self, value: Value) -> Tensor:
        """A tensor for an input of the program."""
        tensor = bare(Tensor, None)
        watch.SLOT.__set__(tensor, TracedArray(self.trace, Storage(value, value), ()))
        del self.born[id(tensor)]
        return tensor

    def _keep_used(self, joint: bool) -> None:
        """Drop inputs that no statement reads, and what was noted about settings unused."""
        program = self.program
        used = {v for s in program.statements for v in s.inputs}
        for values, guards in self.settings:
            if not used.isdisjoint(values):
                for guard in guards:
                    assert isinstance(guard.place, Item)
                    self.note(guard, (id(guard.place.mapping), guard.place.key))
        used |= {*program.outputs, *program.updates, *program.updates.values()}
        program.inputs = [
            v
            for v in program.inputs
            if v in used or (joint and isinstance(self.sources[v], Cotangent))
        ]

    def _check_flags(self) -> None:
        """Whether a tensor requires grad is its owner's to decide, and no program changes it."""
        pairs = [(lifted.node is not None, lifted.tensor) for lifted in self.lifted.values()]
        pairs += [(self.given[k].requires_grad, tensor) for k, tensor in self.stand_ins.values()]
        for before, tensor in pairs:
            if before is not (tensor._node is not None):
                raise TracingError(
                    f"requires_grad of a tensor of shape {list(tensor.shape)} that the compiled "
                    f"function was given, or found, was {before} and became {not before}: by "
                    "requires_grad_(), or because something that requires grad was written into "
                    "it. Call requires_grad_() before; write under no_grad(), or what was "
                    "detached, or into a clone()."
                )

    def _final(self, now: TracedArray, traced: TracedArray) -> Value:
        if now is not traced:
            if (now.shape, now.dtype) != (traced.shape, traced.dtype):
                raise TracingError(
                    f"a tensor from outside was given an array of shape {list(now.shape)} and "
                    f"dtype {now.dtype} in the place of {list(traced.shape)} and {traced.dtype} "
                    "inside a compiled function; return the new one instead."
                )
            return now.value
        return traced.value

    def _array(self, tensor: Tensor) -> Any:
        lifted = self.lifted.get(id(tensor))
        return watch.SLOT.__get__(tensor) if lifted is None else lifted.now

    def _output(self, tensor: Any) -> int:
        array = self._array(tensor) if isinstance(tensor, Tensor) else tensor
        if type(array) is not TracedArray:
            array = self.trace.array(self.external(np.asarray(array)))
        value = array.value
        if array.weak:
            value = self.trace.record(operations.astype, (value, value.dtype), (), value.dtype)
        self.program.outputs.append(value)
        return len(self.program.outputs) - 1

    def _structure(self, item: Any) -> Any:
        if isinstance(item, Tensor):
            if id(item) in self.stand_ins:
                return Argument(self.stand_ins[id(item)][0])
            if self.is_held(item):
                return item
            if id(item) not in self.outputs:
                self.outputs[id(item)] = self._output(item)
            node = current_node(item)  # of a view, after what was written into its base
            kind = isinstance(node, AccumulateGrad)
            return Output(self.outputs[id(item)], True, node is not None, kind)
        if type(item) is TracedArray:
            for place, traced in self.arguments.items():
                if item is traced and place not in self.given:
                    return Argument(place)
            return Output(self._output(item), False, weak=item.weak, scalar=item.single)
        if isinstance(item, (list, tuple)):
            return sequence(type(item), [self._structure(part) for part in item])
        named = named_parts(item)
        if named is not None:
            parts = {key: self._structure(part) for key, part in named.items()}
            if type(item) is dict:
                return parts
            # An object that holds nothing of this call is the same one each time.
            return Filled.like(item, parts) if leaves_of(parts) else item
        if isinstance(item, Iterator):
            raise TracingError(
                f"a compiled function returned a {type(item).__name__}, whose items would be "
                "computed after it has ended. Return a list."
            )
        self._check_holds_nothing(item)
        return item

    def _check_holds_nothing(self, item: Any) -> None:
        """Later calls return the same object: it must not hold what this one computes."""
        for name, value in getattr(item, "__dict__", {}).items():
            if type(value) is TracedArray or (isinstance(value, Tensor) and self._is_born(value)):
                raise TracingError(
                    f"a compiled function returned a {type(item).__name__} whose attribute "
                    f"{name!r} is computed in it. Return the numbers themselves, in a tuple, a "
                    "dictionary or a dataclass, and make the object of them outside."
                )

    def is_made(self, tensor: Tensor) -> bool:
        """Whether a result was computed by the function: no argument, or tensor from outside."""
        if id(tensor) in self.stand_ins or self.is_held(tensor):
            return False
        return not isinstance(tensor._node, AccumulateGrad)

    def is_held(self, tensor: Tensor) -> bool:
        """Whether a tensor was there before the trace, and is no gradient (these are replaced)."""
        if self._is_born(tensor) or id(tensor) in self.stand_ins:
            return False
        return not any(grad.before is tensor for grad in self.grads.values())

    def _adopt_arrays(self) -> None:
        """Arrays that somebody outside holds are read at each call; others are constants."""
        named = {id(g.object) for g in self.guards.values()}
        for key in list(self.arrays):
            array, copy, value = self.arrays.pop(key)
            changed = not _equal(copy, array)
            self.program.constants[value] = copy
            # Held by this loop, and as getrefcount's own argument.
            held = key in named or (sys.getrefcount(array) > 2 and array.base is None)
            if held and array.flags.writeable and not changed:
                del self.program.constants[value]
                self.program.inputs.append(value)
                self.program.names[value] = f"array_{len(self.sources)}"
                self.sources[value] = Known(array)


def forget(made: list[tuple[Any, Any]]) -> None:
    for mapping, key in made:
        mapping.pop(key, None)


def _equal(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def _guarded(value: Any) -> bool:
    return (
        type(value) in PLAIN
        or isinstance(value, (Tensor, np.ndarray, *DECIDING))
        or hasattr(type(value), "add_param_group")
    )


class Specialize(Exception):
    """An argument becomes part of the signature: a number that decides something, or a tensor that
    the function finds in its surroundings too.

    So does, if `graded`, whether the tensor at this place has a gradient. `code` and `at` tell the
    user's line.
    """

    def __init__(self, place: int, graded: bool = False) -> None:
        self.place = place
        self.graded = graded
        self.code, self.at = here()


@dataclass(slots=True)
class Grad:
    """A tensor's gradient before the trace, and what it is by now."""

    tensor: Tensor
    before: Any
    now: Any


class Lifted:
    """A tensor from outside: the traced array that stands for its own, and what it holds `now`."""

    __slots__ = ("array", "cell", "node", "now", "origin", "tensor", "traced")

    def __init__(
        self, tensor: Tensor, array: Any, traced: TracedArray, fresh: bool = False
    ) -> None:
        self.tensor = tensor
        self.array = array
        self.traced = self.now = traced
        self.node = self.cell = self.origin = None
        if fresh:
            return
        self.node = tensor._node
        self.cell = tensor._cell
        self.origin = tensor._origin
        if self.node is not None and not isinstance(self.node, AccumulateGrad):
            tensor._node = AccumulateGrad(tensor)  # its history is no part of this function's

    def restore(self) -> None:
        tensor = self.tensor
        tensor._node, tensor._cell, tensor._origin = self.node, self.cell, self.origin


class Numbers:
    """A generator's numbers while tracing: each draw is a statement that draws when it runs."""

    def __init__(self, capture: Capture, generator: Any) -> None:
        self.capture = capture
        self.generator = generator

    def __getattr__(self, method: str) -> Any:
        from wengert.compile.trace.meanings import opaque

        def draw(*args: Any, **kwargs: Any) -> Any:
            return opaque(self.capture.trace, Draw(self.generator, method), args, kwargs)

        return draw


class Draw:
    """Draws random numbers from a generator, as it is when the program runs."""

    draws = True
    __module__ = "wengert"

    def __init__(self, generator: Any, method: str) -> None:
        self.generator = generator
        self.method = method
        self.__name__ = f"draw_{method}"
        self.learning = True  # the first call, while tracing, is about the shape only

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        numbers = self.generator._numbers
        if self.learning:
            self.learning = False
            numbers = np.random.Generator(np.random.Philox(0))
        return getattr(numbers, self.method)(*args, **kwargs)


def leaf(array: TracedArray, cls: type[Tensor], requires_grad: bool) -> Tensor:
    """A tensor around an argument's traced array."""
    tensor = bare(cls, array)
    if requires_grad:
        tensor._node = AccumulateGrad(tensor)
    return tensor
