"""An entry: the Python callable of a compiled function, described as data.

An entry checks that its call is one that the machine code was made for, hands the addresses of all
arrays to it, and wraps what it leaves. Whatever it does not expect it leaves to `slow`, which is
called with the same arguments, before anything was written. `make` gives the fastest kind there is:
`entry_native.py` where CPython's and NumPy's objects are laid out as known, else
`entry_reference.py`, plain Python that does the same.

A *buffer* is a number: a place in the table of addresses that the machine code is called with.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import CellType
from typing import Any, Literal

import numpy as np

from wengert.tensor import Tensor

Kind = Literal["float", "int", "bool"]
"""A Python number, of exactly this type; in memory a float64, an int64 or a bool."""

Shape = tuple[int, ...]


# ---- what comes in -------------------------------------------------------------------------
# Arrays must be exactly numpy.ndarray, of this dtype in the machine's byte order and this shape,
# row-major and aligned; and writeable if `written`.


@dataclass(frozen=True, slots=True, eq=False)
class TensorArgument:
    """A Tensor of exactly this type, without history unless `history` is allowed.

    A view has none if what it is a view of has none.
    """

    buffer: int
    dtype: np.dtype
    shape: Shape
    written: bool = False
    history: bool = False
    type: type[Tensor] = Tensor


@dataclass(frozen=True, slots=True, eq=False)
class ArrayArgument:
    """An array."""

    buffer: int
    dtype: np.dtype
    shape: Shape
    written: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class NumberArgument:
    """A Python number; an int must fit 64 bits."""

    buffer: int
    kind: Kind


@dataclass(frozen=True, slots=True, eq=False)
class FixedArgument:
    """This very object."""

    object: Any


Argument = TensorArgument | ArrayArgument | NumberArgument | FixedArgument


@dataclass(frozen=True, slots=True, eq=False)
class TensorState:
    """The array that a known Tensor holds at the time of the call."""

    tensor: Tensor
    buffer: int
    dtype: np.dtype
    shape: Shape
    written: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ArrayState:
    """A known array."""

    array: np.ndarray
    buffer: int
    dtype: np.dtype
    shape: Shape
    written: bool = False


State = TensorState | ArrayState


@dataclass(frozen=True, slots=True, eq=False)
class ItemNumber:
    """The number that `dict[key]` is at the time of the call."""

    dict: dict[Any, Any]
    key: Any
    buffer: int
    kind: Kind


@dataclass(frozen=True, slots=True, eq=False)
class CellNumber:
    """The number in a closure's cell at the time of the call."""

    cell: CellType
    buffer: int
    kind: Kind


Number = ItemNumber | CellNumber


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """A buffer that lies at one address as long as `keep` lives: the arena, a constant."""

    buffer: int
    address: int
    keep: Any = None


# ---- what must hold ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ItemIs:
    """`dict[key] is object`: a global, an attribute in an instance's `__dict__`."""

    dict: dict[Any, Any]
    key: Any
    object: Any


@dataclass(frozen=True, slots=True, eq=False)
class CellIs:
    """A closure's cell holds this object."""

    cell: CellType
    object: Any


@dataclass(frozen=True, slots=True, eq=False)
class AttributeIs:
    """`owner.name is object`. `ItemIs` is faster where the instance's `__dict__` has it."""

    owner: Any
    name: str
    object: Any


@dataclass(frozen=True, slots=True, eq=False)
class SlotIs:
    """A Tensor's slot, such as `_node`, is this object; with `equal=False`, is not."""

    tensor: Tensor
    slot: Literal["_array", "_node", "_origin", "_cell"]
    object: Any = None
    equal: bool = True


Guard = ItemIs | CellIs | AttributeIs | SlotIs


# ---- what goes out -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ArrayOutput:
    """A fresh array; wrapped in a fresh Tensor of the given type, if any.

    An entry keeps the last `KEPT` large arrays that it gave out for an output, as long as it lives,
    and gives one out again if nobody else can see it any more: the pages of fresh memory cost as
    much as writing them.
    """

    buffer: int
    dtype: np.dtype
    shape: Shape
    type: type[Tensor] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class NumberOutput:
    """A Python number."""

    buffer: int
    kind: Kind


Output = ArrayOutput | NumberOutput


@dataclass(frozen=True, slots=True, eq=False)
class Gradient:
    """After the call `tensor._grad` is a Tensor that holds this buffer.

    The memory of the gradient before is used again if nobody else can see it.
    """

    tensor: Tensor
    buffer: int
    dtype: np.dtype
    shape: Shape


@dataclass(frozen=True, slots=True, eq=False)
class NoGradient:
    """After the call `tensor._grad` is None."""

    tensor: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One of what the call returns: an output or an argument, by number, or a known object."""

    kind: Literal["output", "argument", "object"]
    number: int = 0
    object: Any = None


KEPT = 2
"""Two arrays: in `y = f(x)` the old y lives until the call returns."""

LARGE = 1 << 18
"""Bytes from which on an output's memory is used again."""


def keeps(output: Output) -> bool:
    """Whether an output's memory is used again."""
    return isinstance(output, ArrayOutput) and nbytes(output) >= LARGE


def nothing(*_: Any) -> None:
    """What an entry calls where nothing need be done."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """All that a call does. `body` is the address of `i32 body(i8** buffers)`.

    The body returns 0; or -1 having set a Python exception; or a positive number, and then the call
    ends as `failed(number)` does, which raises. `calls` says that it runs Python code, or lets
    other threads run. `wrote(tensor)` is called for each Tensor whose array was written and whose
    `_cell` somebody else has too, a node that saved it or a view: others do not see the write. A
    call returns the one of `results`, or a tuple of them if `many`; with `rebuild`, what that makes
    of it.
    """

    body: int
    buffers: int
    slow: Callable[..., Any]
    failed: Callable[[int], Any]
    wrote: Callable[[Tensor], Any] = nothing
    arguments: tuple[Argument, ...] = ()
    guards: tuple[Guard, ...] = ()
    states: tuple[State, ...] = ()
    numbers: tuple[Number, ...] = ()
    fixed: tuple[Fixed, ...] = ()
    outputs: tuple[Output, ...] = ()
    gradients: tuple[Gradient | NoGradient, ...] = ()
    results: tuple[Result, ...] = ()
    many: bool = False
    rebuild: Callable[[Any], Any] | None = None
    calls: bool = False
    name: str = "compiled"
    keep: Any = None  # lives as long as the entry: the `Code` of the body


# ---- which memory may not meet -------------------------------------------------------------

Memory = TensorArgument | ArrayArgument | TensorState | ArrayState


def memories(entry: Entry) -> list[Memory]:
    """The arrays that come in, arguments first."""
    arrays: list[Any] = [*entry.arguments, *entry.states]
    return [a for a in arrays if not isinstance(a, NumberArgument | FixedArgument)]


def nbytes(array: Any) -> int:
    count = array.dtype.itemsize
    for n in array.shape:
        count *= n
    return int(count)


def conflicts(entry: Entry) -> tuple[list[tuple[Memory, Memory]], list[tuple[Memory, Memory]]]:
    """Pairs whose memory must not overlap, as one of them is written.

    The first list has an argument in each pair. The second, of states only, needs a check only
    after one of them moved.
    """
    always: list[tuple[Memory, Memory]] = []
    moved: list[tuple[Memory, Memory]] = []
    arrays = [array for array in memories(entry) if nbytes(array)]
    for i, a in enumerate(arrays):
        for b in arrays[i + 1 :]:
            if a.written or b.written:
                of_states = isinstance(a, TensorState | ArrayState)  # then b is one as well
                (moved if of_states else always).append((a, b))
    return always, moved


# ---- making --------------------------------------------------------------------------------


def make(entry: Entry) -> Callable[..., Any]:
    """The callable."""
    if is_native():
        from wengert.compile.call.entry_native import native_entry

        return native_entry(entry)
    from wengert.compile.call.entry_reference import reference_entry

    return reference_entry(entry)


@functools.cache
def is_native() -> bool:
    """Whether entries are native here."""
    from wengert.compile.call.layouts import LayoutError, layouts

    try:
        layouts()
    except LayoutError:
        return False
    return True
