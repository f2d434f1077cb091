"""Capturing a call: run the function once on traced arrays, and keep what it did as a program.

Arguments become traced arrays (`world/inputs.py`). So does every tensor from outside at the moment
its array is first read (`world/outside.py`). What the function reads beside, by being what it is,
becomes a condition on later calls (`world/conditions.py`). All that the function changed is put
back when the trace ends, however it ends; the changes are in the program (`handed.py`), and happen
when it runs.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.compile.program.program import Value
from wengert.compile.trace.arguments import Changed
from wengert.compile.trace.arrays.array import Trace, TracedArray, heard
from wengert.compile.trace.arrays.refusals import Postponed, lost
from wengert.compile.trace.arrays.scopes import refuse_write
from wengert.compile.trace.arrays.storage import Storage
from wengert.compile.trace.captured import Captured
from wengert.compile.trace.handed import Born, HandedBack
from wengert.compile.trace.world import watch
from wengert.compile.trace.world.conditions import Conditions
from wengert.compile.trace.world.drawn import Numbers, done
from wengert.compile.trace.world.inputs import Asked, Inputs, Passed
from wengert.compile.trace.world.outside import Outside
from wengert.compile.trace.world.places import Attribute, Known, Place
from wengert.compile.trace.world.readings import is_fetched
from wengert.compile.trace.world.world import World
from wengert.errors import TracingError
from wengert.history.location import here, line_of
from wengert.tensor import Tensor, bare


class Capture:
    """One trace of a function: what the watch tells goes to those whose subject it is.

    `tensors` numbers the arguments that are tensors, by id; `asked` has what the signature knows of
    arguments beside their kind; `varying` the places that are fetched from at each call,
    `cuts` where the intervals of ints end.
    """

    def __init__(
        self,
        tensors: dict[int, int],
        asked: Mapping[Asked, Any],
        varying: Mapping[Any, Place],
        cuts: Mapping[Any, set[int]],
    ) -> None:
        self.trace = trace = Trace()
        self.program = trace.program
        self.inputs = inputs = Inputs(trace.program, trace.makers, cuts, asked)
        trace.external, trace.decide, trace.keep = inputs.external, inputs.decide, inputs.keep
        trace.fix, trace.is_outside = inputs.fix, inputs.is_outside
        trace.begins = inputs.offset
        self.passed = Passed(trace, inputs, tensors)
        self.conditions = Conditions(trace, inputs)
        self.outside = Outside(trace, inputs, self.passed, self.conditions)
        self.born = Born()
        self.world = World(inputs, self.passed, self.conditions, self.outside, varying)
        trace.showed, trace.unheard = self.world.showed, self.world.unheard
        trace.tensors = self.tensors
        self.back = HandedBack(trace, inputs, self.passed, self.outside, self.world, self.born)
        self.complete = False
        self.has_returned = False
        """Whether the function has: a sweep is that of whoever pulls its result back."""

    # ---- what the watch tells -------------------------------------------------------------------

    def array_of(self, tensor: Tensor, array: Any) -> Any:
        """A tensor's array is read."""
        self.world.check_acted(tensor)
        return self.outside.find(tensor, array).now if type(array) is np.ndarray else array

    def array_for(self, tensor: Tensor, array: Any) -> Any:
        """A tensor's array is set; what its slot receives. A tensor from outside keeps its own."""
        if type(array) is np.ndarray and dtypes.is_number(array.dtype):
            with watch.aside():
                array = self._traced(array)
        if type(array) is TracedArray and array.single:
            array = TracedArray(array.trace, array.storage, array.path)  # of no dimensions
        try:
            before = watch.SLOT.__get__(tensor)
        except AttributeError:
            return self._first_array(tensor, array)
        if type(before) is not np.ndarray:
            return array
        self.outside.find(tensor, before).now = array
        return before

    def _traced(self, array: np.ndarray[Any, Any]) -> TracedArray:
        """What stands for an array that a tensor gets: one from outside, or numbers."""
        if self.world.around(array) is not None and is_fetched(array):
            return self.passed.array(Known(array), array)
        return self.trace.array(self.inputs.external(array))

    def _first_array(self, tensor: Tensor, array: Any) -> Any:
        """That of a new tensor: made by the function, or to hold state from now on."""
        real = self.inputs.kept_array(array)
        if real is None:
            self.born.add(tensor)
            return array
        self.outside.add_kept(tensor, array, real)
        return real

    def history_of(self, tensor: Tensor, own: Any, name: str) -> Any:
        """A part of a tensor's history is read."""
        return getattr(self.outside.history(tensor), name) if watch.is_real(tensor) else own

    def history_for(self, tensor: Tensor, value: Any, name: str) -> Any:
        """A part of a tensor's history is set; one from outside keeps its own."""
        real = watch.is_real(tensor)
        if name == "_node" and (real or tensor in self.passed.stand_ins):
            self.outside.recorded[tensor] = here()
        if not real:
            return value
        setattr(self.outside.history(tensor), name, value)
        with watch.aside():
            return getattr(tensor, name)

    def gradient_of(self, tensor: Tensor, own: Any) -> Any:
        """A tensor's gradient is read."""
        known = self.outside.gradients.get(tensor)
        if known is not None:
            return known.now
        return own if tensor in self.born else self.outside.gradient(tensor)

    def gradient_for(self, tensor: Tensor, gradient: Any) -> Any:
        """A tensor's gradient is set; one from outside keeps its own."""
        if tensor in self.born:
            return gradient
        if self.trace.scopes:
            raise refuse_write("sets a gradient of a tensor from outside,")
        self.outside.set_gradient(tensor, gradient)
        return tensor.__dict__.get("_grad")

    def hash_of(self, tensor: Tensor) -> None:
        """Something looks for a tensor by itself, as a dictionary does for its key."""
        self.world.known_by_itself(tensor)

    def attribute_of(self, owner: Any, name: str, value: Any) -> Any:
        """An attribute of a module is read: by the library, unless the world is reading it."""
        if self.world.reading == (id(owner), name):
            return value
        return self.world.read_by_library(owner, name, value)

    def attribute_for(self, owner: Any, put: Any, name: str, *value: Any) -> None:
        """An attribute of a module is set or deleted: by the library, unless the world does it."""
        if self.world.writing == (id(owner), name):
            put(owner, name, *value)
        else:
            self.world.written_by_library(owner, put, name, *value)

    def groups_of(self, optimizer: Any, groups: Any) -> Any:
        """The groups of an optimizer are read: by the library, unless the world is reading them."""
        if self.world.reading == (id(optimizer), "param_groups"):
            return groups
        self.world.check_acted(optimizer)
        return self.conditions.settings.groups_of(optimizer, groups, self.world.check_acted)

    def groups_for(self, optimizer: Any, groups: Any) -> Any:
        """The groups of an optimizer are set."""
        before = optimizer.__dict__.get("param_groups")
        if not self.conditions.settings.may_set(optimizer, before):
            self.refuse("giving an optimizer other param_groups")
        return groups

    def numbers_of(self, generator: Any, numbers: Any) -> Any:
        """A generator's numbers are asked for."""
        return Numbers(self.world, Attribute(generator, "_numbers"))

    def numbers_for(self, generator: Any, numbers: Any) -> Any:
        """A generator's numbers are set, but by what it does itself."""
        self.refuse("giving a generator other numbers")

    def generator_does(self, generator: Any, name: str, *args: Any) -> Any:
        """A generator is seeded, or tells where it stands, or is put there."""
        if name == "_unforeseen":
            self.refuse("an unpredictable seed")
        if "_seed" not in vars(generator):  # it is being made
            with watch.aside():
                getattr(generator, name)(*args)
        return done(self.world, generator, name, args)

    def refuse(self, what: str) -> None:
        raise TracingError(
            f"{what} inside a compiled function at\n  {line_of(*here())}\nDo it before the call."
        )

    # ---- the end --------------------------------------------------------------------------------

    def tensors(self) -> Iterator[Tensor]:
        """The tensors of this trace that live: arguments, those from outside, and those it made."""
        yield from (passed.tensor for passed in self.passed.stand_ins.values())
        yield from (entry.tensor for entry in self.outside.tensors.values())
        yield from self.born.alive()

    def lend(self, tensor: Tensor) -> None:
        """Nobody reads what a tensor from outside holds: a program may write it at any time."""
        entry = self.outside.tensors.get(tensor)
        assert entry is not None
        entry.traced.storage.origin.lent = True

    def trusted(self, value: Value) -> Tensor:
        """A tensor for an input of the program."""
        tensor = bare(Tensor, None)
        watch.SLOT.__set__(tensor, TracedArray(self.trace, Storage(value, value), ()))
        self.born.discard(tensor)
        return tensor

    def captured(self, result: list[Any], pulled: Any) -> Captured:
        """The program, complete with its effects, once the function has returned.

        `result` is a list that holds what it returned, and is emptied; `pulled` is what
        `pull_back` found.
        """
        back, inputs, conditions = self.back, self.inputs, self.conditions
        if inputs.begun and conditions.settings.forgets(self.world.before):
            raise Postponed  # an optimizer that forgets begins anew, each time
        with watch.aside():
            self.world.check_library()
            self.world.check_messages()
        returned, effects = back.returned(result.pop(), self.world.effects)
        captured = Captured(self.program, inputs.places, returned, effects=effects)
        changes = type(captured.result) is Changed or bool(effects)
        captured.identifies = self.world.identifies or changes
        with watch.aside():
            self.world.put_back()
            self.world.check_readings()
        self.outside.check_overlapping()
        captured.joint, gradients = back.joint(pulled)
        captured.refusal = pulled.refusal
        captured.writes += back.writes()
        conditions.settings.check()
        back.updates()
        captured.written += self.outside.written()
        captured.known += self.outside.known()
        captured.shared += self.outside.shared()
        for level in self.trace.levels:
            level.forget()
        self.world.behind.clear()  # it keeps what libraries got, frames among that
        if self.trace.homes and any(True for _ in self.born.alive()):
            gc.collect()  # the history of a body is never freed, and may be a cycle: nobody has it
        captured.writes += back.leaked()
        self.program.outputs += gradients
        captured.supposed = inputs.supposed.program
        self.program.statements[:0] = captured.supposed.statements
        self.program.constants |= captured.supposed.constants
        with watch.aside():
            inputs.adopt({id(g.object) for g in conditions.guards.values()})
            begun = [*inputs.begun, *conditions.settings.begun()]
            captured.guards = conditions.final(bool(begun))
            if captured.joint is None:
                inputs.without_cotangents()
        captured.begun = begun
        captured.longest, captured.kinds = self.trace.longest, self.trace.kinds
        for value, bounds in self.trace.counters.items():
            value.bounds = bounds
        self.complete = True
        return captured

    def restore(self) -> None:
        """Put everything back as it was before the trace; a second time does no harm.

        State that was made in vain is taken away, and what was computed has no numbers.
        """
        self.world.put_back()
        self.trace.showed = self.trace.tensors = list  # no cycle keeps the capture
        self.trace.unheard = heard
        self.trace.homes.clear()  # bodies know their trace: no cycle keeps it
        if not self.complete:
            self.trace.decide = self.trace.fix = lost
            forget([*self.inputs.begun, *self.conditions.settings.begun()])


def forget(entries: list[tuple[Any, Any]]) -> None:
    for mapping, key in entries:
        mapping.pop(key, None)
