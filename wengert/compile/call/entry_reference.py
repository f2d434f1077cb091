"""An entry in plain Python: what the native one must agree with, and stands in where it cannot be.

Each method is one of the phases that `entry_code.py` writes in machine code.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compile.call.entry import (
    KEPT,
    Argument,
    ArrayOutput,
    AttributeIs,
    CellIs,
    CellNumber,
    Entry,
    FixedArgument,
    Gradient,
    Guard,
    ItemIs,
    Memory,
    NoGradient,
    NumberArgument,
    NumberOutput,
    TensorArgument,
    TensorState,
    conflicts,
    keeps,
    nbytes,
)
from wengert.tensor import Tensor, View, bare

NUMBERS = {"float": (float, np.float64), "int": (int, np.int64), "bool": (bool, np.bool_)}
_MISSING = object()
_count = getattr(sys, "getrefcount", lambda _: -1)


def reference_entry(entry: Entry) -> Callable[..., Any]:
    """The callable of an entry, in Python."""
    running = _Running(entry)

    def compiled(*args: Any, **kwargs: Any) -> Any:
        if kwargs or not running.free.acquire(blocking=False):
            return entry.slow(*args, **kwargs)
        value: Any = None
        try:
            fits = running.fits(args)
            status = running.run() if fits else 0
            if fits and status == 0:
                value = running.result(args)
        finally:
            running.release()
        if not fits:
            return entry.slow(*args)
        if status != 0:
            return entry.failed(status)
        return value if entry.rebuild is None else entry.rebuild(value)

    compiled.__name__ = compiled.__qualname__ = entry.name
    return compiled


def _without_history(x: Tensor) -> bool:
    """Neither the tensor nor what it is a view of has a history."""
    view = x._origin
    return x._node is None and (view is None or (type(view) is View and view.base._node is None))


class _Running:
    """One call at a time: the table of addresses, and the arrays that lie at them."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.free = threading.Lock()
        self.table = np.zeros(max(entry.buffers, 1), np.uintp)
        self.body = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(entry.body)
        self.cells: dict[int, Any] = {}
        numbers = [n for n in entry.arguments if isinstance(n, NumberArgument)]
        for number in (*numbers, *entry.numbers):
            self._cell(number.buffer, number.kind)
        for output in entry.outputs:
            if isinstance(output, NumberOutput):
                self._cell(output.buffer, output.kind)
        for fixed in entry.fixed:
            self.table[fixed.buffer] = fixed.address
        self.always, self.moved = conflicts(entry)
        self.last = [0] * len(entry.states)
        self.held: list[Any] = []
        self.arrays: list[Any] = []  # per output
        self.kept: dict[int, list[Any]] = {}  # by buffer: large arrays given out before
        self.fresh: list[Any] = []  # per gradient: a new array, or the Tensor whose memory is used

    def _cell(self, buffer: int, kind: str) -> None:
        cell = self.cells[buffer] = np.zeros((), NUMBERS[kind][1])
        self.table[buffer] = cell.ctypes.data

    def release(self) -> None:
        self.held, self.arrays, self.fresh = [], [], []
        self.free.release()

    # ---- before the body ----

    def fits(self, args: tuple[Any, ...]) -> bool:
        entry = self.entry
        return (
            len(args) == len(entry.arguments)
            and all(map(_holds, entry.guards))
            and all(map(self._takes, entry.arguments, args))
            and all(
                self._lies(s, s.tensor._array if isinstance(s, TensorState) else s.array)
                for s in entry.states
            )
            and all(self._number(n.buffer, n.kind, _read(n)) for n in entry.numbers)
            and self._apart()
        )

    def _takes(self, argument: Argument, value: Any) -> bool:
        if isinstance(argument, FixedArgument):
            return value is argument.object
        if isinstance(argument, NumberArgument):
            return self._number(argument.buffer, argument.kind, value)
        if isinstance(argument, TensorArgument):
            if type(value) is not argument.type:
                return False
            if not argument.history and not _without_history(value):
                return False
            value = value._array
        return self._lies(argument, value)

    def _number(self, buffer: int, kind: str, value: Any) -> bool:
        if type(value) is not NUMBERS[kind][0]:
            return False
        try:
            self.cells[buffer][...] = value
        except OverflowError:
            return False
        return True

    def _lies(self, memory: Memory, array: Any) -> bool:
        if not _is_plain(array, memory.dtype, memory.shape):
            return False
        if memory.written and not array.flags.writeable:
            return False
        self.table[memory.buffer] = array.ctypes.data
        self.held.append(array)
        return True

    def _apart(self) -> bool:
        table = self.table
        now = [int(table[state.buffer]) for state in self.entry.states]
        pairs = self.always if now == self.last else [*self.always, *self.moved]
        for a, b in pairs:
            if table[a.buffer] < table[b.buffer] + nbytes(b) and table[b.buffer] < table[
                a.buffer
            ] + nbytes(a):
                return False
        self.last = now
        return True

    # ---- the body ----

    def run(self) -> int:
        for output in self.entry.outputs:
            array = None
            if isinstance(output, ArrayOutput):
                array = self._array(output)
                self.table[output.buffer] = array.ctypes.data
            self.arrays.append(array)
        for gradient in self.entry.gradients:
            if isinstance(gradient, Gradient):
                self.fresh.append(self._gradient(gradient))
            else:
                self.fresh.append(None)
        return int(self.body(self.table.ctypes.data))

    def _array(self, output: ArrayOutput) -> np.ndarray:
        """An array given out before that nobody else can see any more, or a new one."""
        if not keeps(output):
            return np.empty(output.shape, output.dtype)
        kept = self.kept.setdefault(output.buffer, [])
        for k in range(len(kept)):
            if _is_free(kept, k, output):
                return kept[k]
        array = np.empty(output.shape, output.dtype)
        kept.insert(0, array)
        del kept[KEPT:]
        return array

    def _gradient(self, gradient: Gradient) -> Any:
        """The Tensor whose memory may be used again, or a new array."""
        members = gradient.tensor.__dict__
        if _is_unshared(members, gradient):
            used = members["_grad"]
            array = used._array
            self.held.append(array)
        else:
            used = array = np.empty(gradient.shape, gradient.dtype)
        self.table[gradient.buffer] = array.ctypes.data
        return used

    # ---- after the body ----

    def result(self, args: tuple[Any, ...]) -> Any:
        entry = self.entry
        for argument, value in zip(entry.arguments, args, strict=True):
            if isinstance(argument, TensorArgument) and argument.written:
                self._written(value)
        for state in entry.states:
            if isinstance(state, TensorState) and state.written:
                self._written(state.tensor)
        outputs = list(map(self._output, entry.outputs, self.arrays))
        for gradient, fresh in zip(entry.gradients, self.fresh, strict=True):
            _set_gradient(gradient, fresh)
        values = tuple(
            {"output": outputs, "argument": args}[r.kind][r.number]
            if r.kind != "object"
            else r.object
            for r in entry.results
        )
        return values if entry.many else values[0] if values else None

    def _written(self, tensor: Tensor) -> None:
        if tensor._cell is not None and _count(tensor._cell) != 2:  # the slot's, and the call's
            self.entry.wrote(tensor)

    def _output(self, output: Any, array: Any) -> Any:
        if isinstance(output, NumberOutput):
            return self.cells[output.buffer].item()
        return array if output.type is None else bare(output.type, array)


def _holds(guard: Guard) -> bool:
    """Whether a guard's condition is true now."""
    if isinstance(guard, ItemIs):
        return guard.dict.get(guard.key, _MISSING) is guard.object
    if isinstance(guard, CellIs):
        return _contents(guard.cell) is guard.object
    if isinstance(guard, AttributeIs):
        try:
            return getattr(guard.owner, guard.name) is guard.object
        except Exception:  # the slow way meets it where it belongs
            return False
    return (getattr(guard.tensor, guard.slot) is guard.object) is guard.equal


def _read(number: Any) -> Any:
    if isinstance(number, CellNumber):
        return _contents(number.cell)
    return number.dict.get(number.key, _MISSING)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return _MISSING


def _is_plain(array: Any, dtype: np.dtype, shape: tuple[int, ...]) -> bool:
    """Whether this is such an array, row-major and aligned."""
    return (
        type(array) is np.ndarray
        and array.dtype.num == dtype.num
        and array.dtype.isnative
        and array.shape == shape
        and array.flags.c_contiguous
        and array.flags.aligned
    )


def _set_gradient(gradient: Gradient | NoGradient, fresh: Any) -> None:
    if isinstance(gradient, NoGradient):
        if gradient.tensor.__dict__.get("_grad") is not None:
            gradient.tensor.__dict__["_grad"] = None
    else:
        made = bare(Tensor, fresh) if type(fresh) is np.ndarray else fresh
        gradient.tensor.__dict__["_grad"] = made


# ---- who else holds an array ---------------------------------------------------------------


def _holders_in(arrays: list[Any], k: int) -> int:
    """How many hold an array of a list, this call included."""
    return _count(arrays[k])


_ONLY_LISTED = _holders_in([np.zeros(1)], 0)


def _is_free(kept: list[Any], k: int, output: ArrayOutput) -> bool:
    """Whether an array given out before can be seen by nobody else."""
    if _holders_in(kept, k) != _ONLY_LISTED or _ONLY_LISTED < 0:
        return False
    array = kept[k]
    return (
        _is_plain(array, output.dtype, output.shape)
        and _is_its_own(array)
        and weakref.getweakrefcount(array) == 0
    )


def _is_its_own(array: np.ndarray) -> bool:
    """Whether an array's memory is not that of something else, and may be written."""
    return bool(array.flags.owndata and array.flags.writeable and array.base is None)


def _holders(members: dict[str, Any]) -> tuple[int, int]:
    """How many hold the gradient in an instance's `__dict__`, and its array, this call included."""
    before = members["_grad"]
    return _count(before), _count(before._array)


_ALONE = _holders({"_grad": bare(Tensor, np.zeros(1))})


def _is_unshared(members: dict[str, Any], gradient: Gradient) -> bool:
    """Whether the gradient that is there has memory that nobody else can see."""
    if type(members.get("_grad")) is not Tensor or _holders(members) != _ALONE or _ALONE[0] < 0:
        return False
    before = members["_grad"]
    if before._node is not None or before._origin is not None or before._cell is not None:
        return False
    array = before._array
    return _is_plain(array, gradient.dtype, gradient.shape) and _is_its_own(array)
