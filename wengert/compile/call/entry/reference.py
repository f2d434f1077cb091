"""An entry in Python: what the native one must agree with, and stands in where it cannot be.

Each method is one of the phases that `code.py` writes in machine code.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compile.call.entry.entry import KEPT, Entry, Piece, keeps, regions
from wengert.compile.program.operations import Otherwise
from wengert.compile.trace.world.places import (
    Aliasing,
    Array,
    Gradient,
    Input,
    Number,
    Output,
    array_at,
)
from wengert.history.node import AccumulateGrad, Node
from wengert.tensor import Tensor, View, bare

NUMBERS = {float: np.float64, int: np.int64, bool: np.bool_, complex: np.complex128}
_count = getattr(sys, "getrefcount", lambda _: -1)


def reference_entry(entry: Entry) -> Callable[..., Any]:
    """The callable of an entry, in Python."""
    running = _Running(entry)

    def compiled(*args: Any, **kwargs: Any) -> Any:
        if not running.free.acquire(blocking=False):
            return entry.slow(*args, **kwargs)
        value: Any = None
        instead: Callable[..., Any] | None = entry.slow
        try:
            flat = entry.spread.flat(args, kwargs)
            if flat is not None and running.fits(flat):
                instead = running.runs()
                if instead is None:
                    value = running.result(flat)
        finally:
            running.release()
        if instead is not None:
            return instead(*args, **kwargs)
        return value if entry.rebuild is None else entry.rebuild(value)

    compiled.__name__ = compiled.__qualname__ = entry.name
    return compiled


def _has_history(x: Tensor, form: Array) -> bool:
    """Whether a tensor has such a history; if none, what it is a view of has none either."""
    if form.history is not None:
        leaf = isinstance(x._node, AccumulateGrad)
        return form.history is ... or (x._node is not None and leaf is (form.history is not Node))
    view = x._origin
    if form.origin is not None or type(view) is not View:
        return x._node is None and view is form.origin
    return x._node is None and view.base._node is None


def _written_since(x: Tensor, node: Any) -> bool:
    return x._cell is not None and x._cell.stamp > node.order


def _awaits(edge: Any, form: Any) -> bool:
    """Whether a leaf awaits its first gradient, of such a form, and nothing else happens to it."""
    if type(edge) is not AccumulateGrad or edge.extras is not None or edge.post_hooks is not None:
        return False
    leaf = edge.leaf()
    if leaf is None or leaf._node is not edge or leaf._grad is not None:
        return False
    return _is_alike(leaf._array, form)


class _Running:
    """One call at a time: the table of addresses, and the arrays that lie at them."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.free = threading.Lock()
        self.table = np.zeros(max(entry.buffers, 1), np.uintp)
        self.body = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(entry.body)
        self.cells: dict[int, Any] = {}
        for form in (*(i.form for i in entry.inputs), *entry.outputs):
            if isinstance(form, Number):
                cell = self.cells[form.buffer] = np.zeros((), NUMBERS.get(form.type, form.type))
                self.table[form.buffer] = cell.ctypes.data
        for buffer, address, _ in entry.fixed:
            self.table[buffer] = address
        self.regions = regions(entry)
        self.gradients = {w.number: w.place for w in entry.writes}
        self.held: list[Any] = []
        self.copied: list[np.ndarray] = []  # arrays that are read from copies
        self.made: list[Any] = []  # per output: a new array, or the Tensor whose memory is used
        self.kept: dict[int, list[Any]] = {}  # by buffer: large arrays given out before

    def release(self) -> None:
        self.held, self.made, self.copied = [], [], []
        self.free.release()

    # ---- before the body ----

    def fits(self, args: list[Any]) -> bool:
        entry = self.entry
        return (
            all(guard.holds(args) for guard in entry.guards)
            and all(self._takes(i, args) for i in entry.inputs)
            and all(self._alias_as(aliasing, args) for aliasing in entry.aliasing or ())
            and self._apart()
            and self._awaited(args)
        )

    def _awaited(self, args: list[Any]) -> bool:
        """Whether the outputs can become the gradients of a node's leaves."""
        node = self.entry.settled
        edges = () if node is None else node.read(args).edges
        return all(map(_awaits, edges, self.entry.outputs))

    def _takes(self, input: Input, args: list[Any]) -> bool:
        value, form = input.place.read(args), input.form
        if isinstance(form, Number):
            return self._number(form, value)
        if form.type is not None:
            if type(value) is not form.type or not _has_history(value, form):
                return False
            if input.since is not None and _written_since(value, input.since.read(args)):
                return False
            value = value._array
        return self._lies(form, value)

    def _number(self, form: Number, value: Any) -> bool:
        if type(value) is not form.type:
            return False
        if form.type is int and not form.bounds[0] <= value <= form.bounds[1]:
            return False
        self.cells[form.buffer][...] = value
        return True

    def _lies(self, form: Array, array: Any) -> bool:
        if not _is_alike(array, form):
            return False
        if not _is_plain(array):
            if form.written:
                return False
            self.copied.append(array)
            array = np.array(array, order="C")
        if form.written and not array.flags.writeable:
            return False
        self.table[form.buffer] = array.ctypes.data
        self.held.append(array)
        return True

    def _alias_as(self, aliasing: Aliasing, args: list[Any]) -> bool:
        first, second = aliasing.first.read(args), aliasing.second.read(args)
        at, other = (
            array_at(place, args).ctypes.data for place in (aliasing.first, aliasing.second)
        )
        return (first is second) is aliasing.one_object and at == other

    def _apart(self) -> bool:
        end = end_written = last = 0
        for region in sorted(self.regions, key=lambda r: int(self.table[r.buffer])):
            begin = int(self.table[region.buffer])
            if begin == last or begin < (end if region.written else end_written):
                return False
            last, end = begin, max(end, begin + region.nbytes)
            end_written = max(end_written, end) if region.written else end_written
        return all(map(self._is_clear, self.copied))

    def _is_clear(self, array: np.ndarray) -> bool:
        """Whether an array, of any strides, lies apart from all that is written."""
        low, high = np.lib.array_utils.byte_bounds(array)
        return not any(
            region.written
            and int(self.table[region.buffer]) < high
            and low < int(self.table[region.buffer]) + region.nbytes
            for region in self.regions
        )

    # ---- the body ----

    def runs(self) -> Callable[..., Any] | None:
        """Run the body; what is called instead where it raises."""
        for number, output in enumerate(self.entry.outputs):
            result = None
            if number in self.gradients:
                result = self._gradient(self.gradients[number], output)
            elif isinstance(output, Array):
                result = self._array(output)
            if result is not None:
                array = result._array if isinstance(result, Tensor) else result
                self.table[output.buffer] = array.ctypes.data
            self.made.append(result)
        try:
            self.body(self.table.ctypes.data)
        except Exception as error:
            if self.entry.supposes and type(error) is Otherwise:
                return self.entry.slow
            if self.entry.failed is None or isinstance(error, MemoryError):
                raise
            return self.entry.failed
        return None

    def _array(self, output: Array) -> np.ndarray:
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

    def _gradient(self, gradient: Any, output: Any) -> Any:
        """The Tensor whose memory may be used again, or a new array."""
        members = _members(gradient)
        if not _is_unshared(members, output):
            return np.empty(output.shape, output.dtype)
        used = members["_grad"]
        self.held.append(used._array)
        return used

    # ---- after the body ----

    def result(self, args: list[Any]) -> Any:
        entry = self.entry
        for input in entry.inputs:
            if input.writes:
                self.entry.wrote(input.place.read(args), input.writes)
        outputs = list(map(self._output, entry.outputs, self.made))
        for write in entry.writes:
            _set_gradient(write.place, None if write.number is None else self.made[write.number])

        if entry.settled is not None:
            for edge, gradient in zip(entry.settled.read(args).edges, outputs, strict=True):
                edge.leaf()._grad = gradient
        pieces: dict[Piece, Any] = {}

        def value_of(x: Any) -> Any:
            if isinstance(x, Piece):
                return pieces[x]
            return outputs[x.number] if isinstance(x, Output) else x.read(args)

        for piece in entry.pieces:
            pieces[piece] = piece.of(value_of(piece.base))
        if entry.recording is not None:
            entry.recording.record(value_of)
        values = tuple(map(value_of, entry.results))
        return values if entry.many else values[0] if values else None

    def _output(self, output: Array | Number, result: Any) -> Any:
        if isinstance(output, Number):
            return self.cells[output.buffer].item()
        if output.type is None:
            return result[()] if output.scalar else result
        tensor = bare(output.type, result)
        tensor._node, tensor._origin = output.node, output.origin
        return tensor


def _is_alike(array: Any, form: Array) -> bool:
    """Whether this is an array of such a dtype, shape and strides."""
    return (
        type(array) is np.ndarray
        and array.dtype.num == form.dtype.num
        and array.dtype.isnative
        and array.shape == form.shape
        and _has_strides(array, form.strides)
    )


def _has_strides(array: np.ndarray, strides: Any) -> bool:
    if strides is None:
        return bool(array.flags.c_contiguous)
    return strides is ... or array.strides == strides


def _is_plain(array: np.ndarray) -> bool:
    """Whether an array is row-major and aligned."""
    return bool(array.flags.c_contiguous and array.flags.aligned)


def _members(gradient: Any) -> dict[str, Any]:
    """Where a known tensor keeps its gradient."""
    assert isinstance(gradient, Gradient), gradient
    return vars(gradient.tensor.read(()))


def _set_gradient(gradient: Any, result: Any) -> None:
    fresh = type(result) is np.ndarray
    _members(gradient)["_grad"] = bare(Tensor, result) if fresh else result


# ---- who else holds an array ---------------------------------------------------------------


def _holders_in(arrays: list[Any], k: int) -> int:
    """How many hold an array of a list, this call included."""
    return _count(arrays[k])


_ONLY_LISTED = _holders_in([np.zeros(1)], 0)


def _is_free(kept: list[Any], k: int, output: Array) -> bool:
    """Whether an array given out before can be seen by nobody else."""
    if _holders_in(kept, k) != _ONLY_LISTED or _ONLY_LISTED < 0:
        return False
    array = kept[k]
    own = _is_alike(array, output) and _is_plain(array) and _is_its_own(array)
    return own and weakref.getweakrefcount(array) == 0


def _is_its_own(array: np.ndarray) -> bool:
    """Whether an array's memory is not that of something else, and may be written."""
    return bool(array.flags.owndata and array.flags.writeable and array.base is None)


def _holders(members: dict[str, Any]) -> tuple[int, int]:
    """How many hold the gradient in an instance's `__dict__`, and its array, this call included."""
    before = members["_grad"]
    return _count(before), _count(before._array)


_ALONE = _holders({"_grad": bare(Tensor, np.zeros(1))})


def _is_unshared(members: dict[str, Any], output: Array) -> bool:
    """Whether the gradient that is there has memory that nobody else can see."""
    if type(members.get("_grad")) is not Tensor or _holders(members) != _ALONE or _ALONE[0] < 0:
        return False
    before = members["_grad"]
    if before._node is not None or before._origin is not None or before._cell is not None:
        return False
    array = before._array
    return _is_alike(array, output) and _is_plain(array) and _is_its_own(array)
