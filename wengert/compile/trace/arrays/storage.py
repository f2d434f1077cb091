"""Storages and views: where the elements of traced arrays lie, and the steps from one to another.

A storage holds a value, replaced at each write. A view is a path of steps into one. Each step says
what NumPy makes of an array there, so an array of NumPy's that goes the same way tells strides and
flags, and one of numbered elements tells which of them the view shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.compile.program import operations
from wengert.compile.program.program import Shape, Value, mapped
from wengert.compile.trace.arrays.layouts import Strides, lying, strides_of
from wengert.compile.trace.arrays.lines import is_users
from wengert.dispatch import Function
from wengert.errors import TracingError
from wengert.history.location import here, line_of
from wengert.history.node import tick

if TYPE_CHECKING:
    from wengert.compile.trace.arrays.array import Trace


class Storage:
    """What an array holds: a value, replaced at each write. It lies in memory as NumPy's would."""

    __slots__ = ("born", "origin", "strides", "value", "writes")

    def __init__(self, value: Value, origin: Any = None, strides: Strides = None) -> None:
        self.value = value
        self.origin = origin
        self.strides = strides
        self.writes = 0
        # What the program reads was there before it, wherever in it that is first met.
        self.born = tick() if origin is None else 0

    @classmethod
    def given(cls, value: Value, array: np.ndarray[Any, Any]) -> Storage:
        """That of an array which the program reads."""
        return cls(value, value, strides_of(array))

    def shows_one_twice(self) -> bool:
        """Whether several elements are the same memory, as `expand` makes them."""
        pairs = zip(self.strides or (), self.value.shape, strict=False)
        return self.value.size > 0 and any(step == 0 and n > 1 for step, n in pairs)

    def like(self) -> np.ndarray[Any, Any]:
        """An array that lies in memory as this does. It has no numbers to look at."""
        shape, dtype = self.value.shape, self.value.dtype
        strides = None if self.strides is None else [s * dtype.itemsize for s in self.strides]
        return lying(shape, dtype, strides)


@dataclass(slots=True, eq=False)
class Step:
    """One step from an array into a view of it: how to look, and how to write back."""

    function: Function
    args: Any
    shape: Shape
    dtype: Any

    @property
    def is_plain(self) -> bool:
        """Whether it shows each element once, and has a way back."""
        return type(self) is Step and self.function is not np.broadcast_to

    @property
    def is_known(self) -> bool:
        """Whether it is the same at each call: no index among it is computed."""
        return type(self) is Peek or not any(type(part) is Value for part in self.args)

    def seen(self, array: Any) -> Any:
        """What NumPy makes of an array; indices that are not known yet count as 0."""
        if self.function is operations.view or self.function is operations.take:
            return array[(*mapped(self.args, lambda value: 0), ...)]
        return self.function(array, self.args)

    def look(self, trace: Trace, base: Value) -> Value:
        return trace.record(self.function, (base, self.args), self.shape, base.dtype)

    def put_back(self, trace: Trace, base: Value, new: Value) -> Value:
        """What `base` holds after this view of it was made to hold `new`, if it `is_plain`."""
        if self.function is operations.view or self.function is operations.take:
            args = (base, self.args, new)
            return trace.record(operations.updated, args, base.shape, base.dtype)
        if self.function is np.reshape:
            return trace.record(np.reshape, (new, base.shape), base.shape, base.dtype)
        axes = tuple(np.argsort(self.args).tolist())
        return trace.record(np.transpose, (new, axes), base.shape, base.dtype)


class Peek(Step):
    """A step by a function that has no like in programs: `function` of the value, when looked at.

    `args` is the function that takes such a view of an array of NumPy's.
    """

    __slots__ = ()

    def seen(self, array: Any) -> Any:
        return self.args(array)

    def look(self, trace: Trace, base: Value) -> Value:
        return self.function(base)

    def put_back(self, trace: Trace, base: Value, new: Value) -> Value:
        """What `base` holds after NumPy wrote into such a view of it."""
        return trace.append(through, (base, new, self.args), {}, [(base.shape, base.dtype)])[0]


def through(array: Any, new: Any, view_of: Function) -> Any:
    """An array as it is after a view of it was made to hold `new`."""
    array = np.array(array)
    view_of(array)[...] = new
    return array


def written(trace: Trace, base: Value, path: tuple[Step, ...], new: Value) -> Value:
    """What `base` holds after the view at the end of a path was made to hold `new`."""
    if not path:
        return new
    step, *rest = path
    if step.is_plain or base.dtype != step.dtype:  # parts of numbers have no places of their own
        if rest:
            new = written(trace, step.look(trace, base), tuple(rest), new)
        return step.put_back(trace, base, new)
    places = trace.program.constant(_places(base, path))
    row = (base.size,)
    flat = trace.record(np.reshape, (base, row), row, base.dtype)
    flat = trace.record(operations.updated, (flat, (places,), new), row, base.dtype)
    return trace.record(np.reshape, (flat, base.shape), base.shape, base.dtype)


def _places(base: Value, path: tuple[Step, ...]) -> Any:
    """Which elements a view shows."""
    places = np.arange(base.size).reshape(base.shape)
    for step in path:
        places = step.seen(places)
    known = all(step.is_known for step in path)
    if not known or len(np.unique(places)) < places.size:
        raise unwritable()
    return np.ascontiguousarray(places)


def unwritable() -> TracingError:
    return TracingError(
        f"a write into a view at\n  {line_of(*here())}\nSeveral elements of it are the same "
        "memory (it was made by expand or unfold), or which they are is known only when the "
        "function runs. Write into a copy, or into the tensor itself."
    )


class Flags:
    """What a traced array says of its memory: how it lies there. The engine may write to it."""

    def __init__(self, like: np.ndarray[Any, Any]) -> None:
        known = "c_contiguous", "f_contiguous", "contiguous", "fnc", "forc"
        vars(self).update({name: getattr(like.flags, name) for name in known})

    def __getattr__(self, name: str) -> bool:
        if is_users() and name[:2] != "__":
            raise unasked(f"flags.{name}")
        return True

    def __setattr__(self, name: str, value: Any) -> None:
        if is_users():
            raise unasked(f"flags.{name}")
        super().__setattr__(name, value)

    def __getitem__(self, name: str) -> bool:
        return bool(getattr(self, name.lower()))


def unasked(name: str) -> TracingError:
    return TracingError(
        f"{name} of an array in a compiled function, at\n  {line_of(*here())}\nIt knows how arrays "
        "lie, and not whose memory that is. Ask or change this before the call."
    )
