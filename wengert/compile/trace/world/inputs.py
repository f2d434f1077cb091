"""What a traced program reads: its inputs, and where each is found at a call.

Arguments become traced arrays and tensors before the function runs; arrays, and tensors from
outside, when it meets them.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wengert import dtypes
from wengert.autograd.engine import node_of
from wengert.compile.program.intervals import Bounds
from wengert.compile.program.program import Makers, Program, Value, mapped
from wengert.compile.trace.arrays.array import Trace, TracedArray
from wengert.compile.trace.arrays.identity import ByIdentity
from wengert.compile.trace.arrays.ints import cuts, interval
from wengert.compile.trace.arrays.refusals import undecided
from wengert.compile.trace.arrays.returned import has_numpys_operators
from wengert.compile.trace.arrays.storage import Storage
from wengert.compile.trace.world import watch
from wengert.compile.trace.world.places import (
    Argument,
    Bits,
    Cotangent,
    Gradient,
    Guard,
    Known,
    Offset,
    Place,
    Told,
    history_of,
    is_outside,
    key_of,
)
from wengert.compile.trace.world.suppositions import Suppositions
from wengert.errors import TracingError
from wengert.history.location import here, line_of
from wengert.history.node import AccumulateGrad, Node
from wengert.tensor import INFERENCE, Tensor, bare, current_node

CUTS = 16
"""Where an int decides more than so many things, it has to be known, and what changes so many times
by itself is refused."""


Asked = Argument | Gradient | Told
"""What a signature may know of an argument: all of it, that it has a gradient, where it lies, or
what it says of its past."""


class Retraced(Exception):
    """The trace has to begin again, and to know something."""


class Specialize(Retraced):
    """What is at a place becomes part of the signature: a number that decides something, a tensor
    that the function finds in its surroundings too, or something that is asked of an argument.

    `code` and `at` tell the user's line.
    """

    def __init__(self, place: Asked) -> None:
        self.place = place
        self.code, self.at = here()


class Fixed(Retraced):
    """A tensor that is fetched from this place is met otherwise too: it stays what it is."""

    def __init__(self, place: Place) -> None:
        self.place = place


class Unsettled(Retraced):
    """What was read has changed during the trace, and the function has not written it."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard

    def begin_again(self, known: set[Any]) -> None:
        """Remember it: what changes the second time, too, would at each."""
        key = key_of(self.guard.place)
        if key in known or len(known) == CUTS:
            raise TracingError(
                "a compiled function reads what changes each time it is called, though nothing "
                f"is seen to write it: {self.guard}. Read it before the call, and pass it."
            )
        known.add(key)


class Cut(Retraced):
    """An int at this place decides something: it matters between which of these it is."""

    def __init__(self, place: Place, cuts: set[int]) -> None:
        self.place = place
        self.cuts = cuts


class Varying(Retraced):
    """The function keeps something at these places for its next call: they are fetched from."""

    def __init__(self, places: dict[Any, Place]) -> None:
        self.places = places


class Inputs:
    """A program's inputs and the places where they are found.

    A trace asks this what to do with arrays and numbers that are not its own. Nothing here holds a
    traced array, which holds its trace: so when a trace ends, no cycle keeps it.
    """

    def __init__(
        self,
        program: Program,
        makers: Makers,
        cuts: Mapping[Any, set[int]],
        asked: Mapping[Asked, Any],
    ) -> None:
        self.program = program
        self.maker = makers.of
        self.asked = asked
        """What the signature knows of arguments."""
        self.cuts = cuts
        """Of the intervals of ints, by the key of the place."""
        self.places: dict[Value, Place] = {}
        self.fetched: dict[Any, Any] = {}
        """Tensors and arrays that are inputs, by the keys of their places."""
        self.numbers: dict[Value, float] = {}
        """Inputs that are numbers, as they are now."""
        self.decisive: list[Guard] = []
        """What numbers must be, since they have decided something."""
        self.met: dict[int, tuple[Any, Any, Value]] = {}
        """Plain arrays that met traced ones, by id, with copies of what they held."""
        self.outside = functools.partial(_outside, self.places, self.fetched)
        self.supposed = Suppositions(makers, self.numbers, self.outside, self.met)
        self.kept: ByIdentity[Storage, np.ndarray[Any, Any]] = ByIdentity()
        """State made in the trace, for later calls to go on with."""
        self.begun: list[tuple[Any, Any]] = []
        """Where it is kept."""

    def add(self, place: Place, shape: Any, dtype: Any, name: str, weak: bool = False) -> Value:
        dtype = dtypes.canonical(dtype) if dtype.isnative else dtype
        value = self.program.input(shape, dtype, name, weak)
        self.places[value] = place
        return value

    def number(self, place: Place, number: Any, name: str) -> Value:
        """A number that is the caller's to change: Python's, or NumPy's."""
        weak = not isinstance(number, np.generic)
        value = self.add(place, (), np.dtype(type(number)), name, weak)
        value.bounds = self.interval(place, number) if type(number) is int else None
        self.numbers[value] = number
        return value

    def interval(self, place: Place, n: int) -> Bounds | None:
        """That of an int which is an input; None for one that has to be known."""
        return interval(n, self.cuts.get(key_of(place), ()))

    # ---- what a trace asks ----------------------------------------------------------------------

    def external(self, array: np.ndarray[Any, Any]) -> Value:
        """The value of a plain array that meets a traced one: by reference, unless it is ours."""
        known = self.met.get(id(array))
        if known is not None and equal(known[1], array):
            return known[2]
        if not dtypes.is_number(array.dtype) or array.dtype.byteorder == ">":
            raise TracingError(
                f"an array of dtype {array.dtype} in a compiled function at\n  {line_of(*here())}\n"
                "Convert it to numbers of the machine's byte order first, e.g. x.astype(float)."
            )
        if not has_numpys_operators(array):
            raise TracingError(
                f"an array of class {type(array).__name__} meets one that a compiled function "
                f"computes, at\n  {line_of(*here())}\nWhat comes of that its class says. Write "
                "np.asarray(x) for the numbers alone, or do it before the call."
            )
        value = Value(array.shape, dtypes.canonical(array.dtype))
        self.met[id(array)] = array, array.copy(), value
        self.program.constants[value] = array
        return value

    def is_outside(self, array: np.ndarray[Any, Any]) -> bool:
        """Whether a plain array was met, which somebody outside may have."""
        return id(array) in self.met

    def decide(self, x: TracedArray, what: str) -> Any:
        """A number that the trace needs now, if others than results decide it: what is computed of
        numbers is supposed to be what it is, and all else stays as it is.
        """
        if what == "bool()":
            self._cut(*cuts(x.value, self.maker(x.value)))
            if x.value.bounds is not None and not x.value.bounds[0] <= 0 <= x.value.bounds[1]:
                return True
        supposed = self.supposed.decided(x.value, what == "bool()")
        if supposed is not NotImplemented:
            return supposed
        return self.fix(x, what)

    def fix(self, x: TracedArray, what: str) -> Any:
        """A number, on condition that those stay as they are that it is computed of."""
        noted = len(self.decisive)
        try:
            return self._decided(x.value, lambda: undecided(x, what))
        except TracingError:
            del self.decisive[noted:]  # whoever can do without goes on
            raise

    def _decided(self, value: Value, fail: Any) -> Any:
        """The number that `value` is, on condition that what it depends on stays as it is."""
        if value in self.program.constants:
            return self.program.constants[value]
        if value in self.numbers:
            return self._decisive(value)
        array = self.outside(value)
        if array is not None:
            return self._guarded(value, array)
        maker = self.maker(value)
        if maker is None or getattr(maker.function, "draws", False):
            return fail()
        args = mapped(maker.args, lambda v: self._decided(v, fail))
        results = maker.results(maker.function(*args, **maker.kwargs))
        return next(x for v, x in zip(maker.outputs, results, strict=True) if v is value)

    def _cut(self, value: Value, at: set[int]) -> None:
        """Let an input decide something by its interval, which is cut there."""
        if value.bounds is not None and value in self.numbers:
            low, high = value.bounds
            place = self.places[value]
            if len(self.cuts.get(key_of(place), ())) < CUTS and any(low < n <= high for n in at):
                raise Cut(place, at)

    def _decisive(self, value: Value) -> float:
        place, number = self.places[value], self.numbers[value]
        if isinstance(place, Argument):
            raise Specialize(place)
        if value.bounds is not None:
            raise Fixed(place)
        self.decisive.append(Guard(place, number))
        return number

    def offset(self, value: Value) -> int:
        """Where in its storage an array begins that the program reads."""
        return int(self.told(Offset(self.places[value])))

    def told(self, place: Told) -> Any:
        """What is told of something at a place, on condition that it stays so."""
        with watch.aside():
            if not is_outside(place):
                return self.asked[place]
            told = place.tell(self.at_first(place.of))
        self.decisive.append(Guard(place, told))
        return told

    def _guarded(self, value: Value, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The numbers of an array from outside, on condition that they stay what they are."""
        bits = Bits(self.places[value])
        self.decisive.append(Guard(bits, bits.tell(array)))
        return array.copy()

    def at_first(self, place: Place) -> Any:
        """What was at a place when it was fetched: the function may have put another there."""
        return _at_first(self.fetched, place)

    def keep(self, array: np.ndarray[Any, Any], mapping: Any, key: Any) -> Storage:
        """What stands for `array`, which a tensor in `mapping[key]` is about to hold."""
        value = self.program.input(array.shape, array.dtype, str(key))
        storage = Storage.given(value, array)
        self.kept[storage] = array
        self.begun.append((mapping, key))
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
            changed = not equal(copy, array)
            self.program.constants[value] = copy
            # Held by this loop, and as getrefcount's own argument.
            held = key in named or (sys.getrefcount(array) > 2 and array.base is None)
            if held and array.flags.writeable and not changed:
                del self.program.constants[value]
                self.program.inputs.append(value)
                self.program.names[value] = f"array_{len(self.places)}"
                self.places[value] = Known(array)

    def without_cotangents(self) -> None:
        """Drop those of a derivative that there is not. All else that was fetched is asked for at
        each call, though no statement reads it: by being what it is it may have decided something.
        """
        inputs = self.program.inputs
        inputs[:] = [v for v in inputs if not isinstance(self.places[v], Cotangent)]


def _at_first(fetched: Mapping[Any, Any], place: Place) -> Any:
    key = key_of(place)
    return fetched[key] if key in fetched else place.read(())


def _outside(
    places: Mapping[Value, Place], fetched: Mapping[Any, Any], value: Value
) -> np.ndarray[Any, Any] | None:
    """What an array from outside holds at the call, or a tensor that needs no gradient: one that
    does changes with each step.
    """
    place = places.get(value)
    if place is None or isinstance(place, Argument | Cotangent | Gradient):
        return None
    x = _at_first(fetched, place)
    if isinstance(x, Tensor) and watch.is_real(x) and not x.requires_grad:
        with watch.aside():
            x = x._array
    return x if isinstance(x, np.ndarray) else None


def equal(a: Any, b: Any) -> bool:
    """Whether two arrays are the same to the last bit."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


# ---- where the history of a trace ends -----------------------------------------------------------


class Behind(Node):
    """Stands for the history that a tensor from outside has: no call knows where that leads. It is
    as old as that, so that transforms see it was there before them.
    """

    __slots__ = ()

    def __init__(self, order: int) -> None:
        self.begin()
        self.order = order

    def name(self) -> str:
        raise TracingError(
            "a compiled function asks what computed a tensor that it was given, or found, at\n"
            f"  {line_of(*here())}\nThat is another node at each call. Ask it before the call."
        )

    def pull(self, g: Any) -> Any:
        raise TracingError(
            "backward() in a compiled function comes to a tensor that it was given, or found, and "
            f"that was computed outside, at\n  {line_of(*here())}\nReturn the loss and call "
            "backward() after the call, compute that tensor in the function too, or ask for the "
            "gradient by it with autograd.grad()."
        )

    pull_recorded = pull


def end_of(tensor: Tensor, node: Any) -> Node | None:
    """Where history ends in the trace: with a leaf's hooks, to which others may be added for the
    trace alone, or with what is behind.
    """
    if not isinstance(node, AccumulateGrad):
        return None if node is None else Behind(node_of(node).order)
    leaf = AccumulateGrad(tensor)
    leaf.order, leaf.post_hooks = node.order, copy(node.post_hooks)
    if node.extras is not None:
        leaf.extras = node.extras.copy()
    return leaf


class Beginning(NamedTuple):
    """The history that a tensor begins the trace with: its node, the end that stands for it in the
    trace, and what hooks they have.
    """

    node: Any
    end: Any
    hooks: tuple[Any, ...]

    @classmethod
    def of(cls, node: Any, end: Any) -> Beginning:
        return cls(node, end, tuple(_hooks(end)))

    def is_as_before(self, node: Any) -> bool:
        own = self.node if isinstance(self.node, AccumulateGrad) else self.end
        hooks = [tuple(_hooks(x)) for x in (node, own)]
        return self.is_there(node) and hooks == [self.hooks] * 2

    def is_there(self, node: Any) -> bool:
        return node is self.node or node is self.end


def _hooks(node: Any) -> Iterator[Any]:
    if isinstance(node, AccumulateGrad):
        yield from node.post_hooks or ()
    if isinstance(node, Node) and node.extras is not None:
        yield from (*node.extras.prehooks, *node.extras.posthooks, *node.extras.retainers)
        for hooks in node.extras.tensor_hooks.values():
            yield from hooks


# ---- what is fetched at each call ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class StandIn:
    """A tensor in the place of one that is fetched at each call: an argument, or state."""

    place: Place
    given: Tensor
    tensor: Tensor
    traced: TracedArray
    begin: Beginning


class Passed:
    """What each call fetches, and what the function gets for it."""

    def __init__(self, trace: Trace, inputs: Inputs, numbers: dict[int, int]) -> None:
        self.trace = trace
        self.inputs = inputs
        self.numbers = numbers
        """Of the arguments that are tensors, by id."""
        self.arrays: dict[Any, tuple[Place, TracedArray, Any]] = {}
        """By the key of the place."""
        self.stand_ins: ByIdentity[Tensor, StandIn] = ByIdentity()
        """By the tensor that stands there."""
        self.containers: dict[int, tuple[Any, Argument]] = {}
        """By the id of what stands for a container among the arguments: where that is."""
        self._by_place: dict[Any, StandIn] = {}
        self._numbers: dict[Any, TracedArray] = {}

    def array(self, place: Place, array: Any, same: Place | None = None) -> TracedArray:
        """A traced array for one that is fetched; that of the place `same` if it is given."""
        known = self.arrays.get(key_of(place if same is None else same))
        if known is not None:
            _, traced, given = known
            if array is not given:  # another view of this memory
                traced = TracedArray(self.trace, traced.storage, ())
        else:
            value = self.inputs.add(place, array.shape, array.dtype, _name(place))
            traced = TracedArray(self.trace, Storage.given(value, array), ())
        self.arrays[key_of(place)] = place, traced, array
        self.inputs.fetched.setdefault(key_of(place), array)
        return traced

    def tensor(self, place: Place, tensor: Tensor, same: Place | None = None) -> Tensor:
        """A tensor in the place of one that is fetched."""
        known = self._by_place.get(key_of(place if same is None else same))
        if known is not None and known.given is tensor:
            self._by_place[key_of(place)] = known
            return known.tensor
        self.inputs.fetched[key_of(place)] = tensor
        traced = self.array(place, tensor._array, same)
        leaf = bare(type(tensor), traced)
        if tensor.requires_grad:
            edge, leaf._node = current_node(tensor), AccumulateGrad(leaf)
            if edge is not None and history_of(tensor) is Node:
                leaf._node = Behind(node_of(edge).order)
        if tensor._origin is INFERENCE:
            leaf._origin = INFERENCE
        stand_in = StandIn(place, tensor, leaf, traced, Beginning.of(leaf._node, leaf._node))
        self.stand_ins[leaf] = self._by_place[key_of(place)] = stand_in
        return leaf

    def number(self, place: Place, x: Any) -> TracedArray:
        known = self._numbers.get(key_of(place))
        if known is None:
            value = self.inputs.number(place, x, _name(place))
            known = self._numbers[key_of(place)] = self.trace.array(value)
            known.single = not known.weak
        return known

    def place_of(self, array: TracedArray) -> Place | None:
        """Where this is fetched from, if it is the array of one that is no tensor."""
        keys = (key for key, (_, traced, _) in self.arrays.items() if traced is array)
        key = next((key for key in keys if key not in self._by_place), None)
        return None if key is None else self.arrays[key][0]

    def stand_in_for(self, tensor: Tensor) -> StandIn | None:
        """What stands for this tensor."""
        return next((s for s in self.stand_ins.values() if s.given is tensor), None)


def _name(place: Place) -> str:
    return f"x{place.number}" if isinstance(place, Argument) else "state"
