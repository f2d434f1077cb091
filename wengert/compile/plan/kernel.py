"""A kernel: one fused nest of loops over arrays, as data. a back end makes code of it.

The iteration space is a box. Its first `outer` loops run over rows; the remaining ones run within a
row, once per stage. A stage is a list of operations on the elements of a row; its reductions give
one number per row, which later stages may use. So a softmax is one kernel of three stages, and a
sum over the first axis is a store that accumulates. Everything is static: extents, strides, dtypes.
Kernels are hashable, and equal ones are compiled once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

INT64 = np.dtype(np.int64)
LINE = 64
"""Bytes that memory and caches exchange at a time, and of the widest vector."""


class Told:
    """Code is kept under what these tell, which is all of it. NumPy takes long to spell a dtype."""

    __slots__: tuple[str, ...] = ()

    def __repr__(self) -> str:
        told = [name for name in self.__slots__ if name[0] != "_"]
        parts = [_spelled(getattr(self, name)) for name in told]
        return f"{type(self).__name__}({', '.join(parts)})"


def _spelled(x: Any) -> str:
    if isinstance(x, np.dtype):
        return _spelled_dtype(x)
    if type(x) is tuple:
        return f"({', '.join(map(_spelled, x))})"
    return repr(x)


_spelled_dtype = functools.cache(repr)


@dataclass(frozen=True, slots=True, repr=False)
class Access(Told):
    """Where an element lies: offset + sum of (stride * loop index), in elements of the buffer.

    One stride per loop of the kernel; 0 for a loop along which the array is repeated. With
    `indices`, each (operation number, stride, size) adds a computed index times a stride: a gather.
    A negative index counts from `size`; one out of range reads or writes element 0 in its place.
    """

    buffer: int
    strides: tuple[int, ...]
    offset: int = 0
    indices: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Load(Told):
    """An element of a buffer."""

    access: Access
    dtype: np.dtype


@dataclass(frozen=True, slots=True, repr=False)
class Const(Told):
    """A number. Zeros of both signs are two: equal kernels have the same code."""

    value: complex | float | int | bool
    dtype: np.dtype

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Const) and self.dtype == other.dtype
        return same and repr(self.value) == repr(other.value)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((repr(self.value), self.dtype))


@dataclass(frozen=True, slots=True, repr=False)
class Index(Told):
    """The loop index of one loop, as an int64."""

    loop: int
    dtype: np.dtype = INT64


@dataclass(frozen=True, slots=True, repr=False)
class Apply(Told):
    """A function of earlier operations' results, by NumPy's name: "add", "exp", "where", "astype".

    `args` are numbers of operations. Operands have one dtype (but for "where"'s condition and
    "astype"); `dtype` is the result's: comparisons give bool.
    """

    name: str
    args: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True, slots=True, repr=False)
class Reduce(Told):
    """The reduction of an operation's result over a row: "add", "multiply", "maximum", "minimum",
    "logical_or", "logical_and", or "argmax"/"argmin" (dtype int64; the row must be one loop).

    Its result may be used in later stages only (or by stores after the row, see `Store`).
    """

    name: str
    arg: int
    dtype: np.dtype


@dataclass(frozen=True, slots=True, repr=False)
class Store(Told):
    """Write an operation's result.

    With `combine` ("add", "maximum", ...) the result is accumulated: the access has stride 0 along
    some outer loops, and what arrives at one element is combined in the order of the loops; the
    first arrival initialises it. With `onto`, or if the access has computed `indices`, it
    accumulates onto what the buffer holds. What meets at one computed place is written in the order
    of the loops, but for sums of floats. A buffer that is accumulated into shares its memory with
    no other.
    A store of a value that is the same for a whole row (a reduction, or what was computed from
    reductions), as its place is, happens once per row: its strides within the row are 0.
    """

    access: Access
    arg: int
    combine: str = ""
    onto: bool = False


Operation = Load | Const | Index | Apply | Reduce | Store


@dataclass(frozen=True, slots=True, repr=False)
class Kernel(Told):
    """`stages` holds lists of operations, numbered consecutively through all stages.

    An operation may use any earlier one; a value computed per element in an earlier stage is kept
    in a row buffer by the code generator. Operations that do not depend on the loops within the row
    are computed once per row, wherever they stand.
    `buffers` are the dtypes of the arrays that it is called with, `written` the numbers of those it
    writes. No two different buffers overlap, except that a buffer written may be the same memory as
    one read if both are accessed with equal strides and offsets, and visit each element once: no
    stride is 0 along a loop of several steps, because loops may run in any order.
    `parts` tells that this is one of so many alike, which together are one kernel.
    """

    extents: tuple[int, ...]
    outer: int
    stages: tuple[tuple[Operation, ...], ...]
    buffers: tuple[np.dtype, ...]
    written: tuple[int, ...]
    parts: int = 1
    _asked: dict[str, Any] = field(default_factory=dict, init=False, compare=False)
    """What steps have asked of it: those of layers have one kernel, and ask the same."""

    def __hash__(self) -> int:
        if "hash" not in self._asked:
            shape = self.extents, self.outer, self.buffers, self.written, self.parts
            self._asked["hash"] = hash((shape, self.stages))
        return self._asked["hash"]

    def accesses(self) -> Iterator[Access]:
        """All accesses to the buffers."""
        for stage in self.stages:
            for operation in stage:
                if isinstance(operation, (Load, Store)):
                    yield operation.access

    def begins(self) -> tuple[int, ...]:
        """The least offset of the accesses to each buffer, in its elements."""
        if "begins" not in self._asked:
            least: dict[int, int] = {}
            for access in self.accesses():
                least[access.buffer] = min(access.offset, least.get(access.buffer, access.offset))
            numbers = range(len(self.buffers))
            self._asked["begins"] = tuple([least.get(number, 0) for number in numbers])
        return self._asked["begins"]

    def from_its_begin(self) -> Kernel:
        """The kernel for buffers that start where it `begins` in these.

        What differs in where it reads and writes alone is then one kernel.
        """
        if not any(self.begins()):
            return self
        if "from its begin" not in self._asked:
            self._asked["from its begin"] = self._moved()
        return self._asked["from its begin"]

    def _moved(self) -> Kernel:
        begins = self.begins()

        def moved(operation: Operation) -> Operation:
            if not isinstance(operation, (Load, Store)):
                return operation
            access = operation.access
            offset = access.offset - begins[access.buffer]
            return replace(operation, access=replace(access, offset=offset))

        return replace(self, stages=tuple([tuple(map(moved, stage)) for stage in self.stages]))


class Unsupported(Exception):
    """A kernel holds what there are no loops for; the message says what. NumPy does it instead."""
