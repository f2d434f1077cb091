"""Where CPython and NumPy keep what a native entry reads: offsets into their objects.

Nothing here is believed: each offset is found or checked on a known object of this process, so a
Python or NumPy that lays its objects out otherwise gives `LayoutError`, and entries in Python
instead of native ones.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import sys
import sysconfig
import types
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.compile.call.derivative import CompiledBackward
from wengert.compile.llvm.machine.host import capsule_pointer
from wengert.history.node import AccumulateGrad, Cell, Node, Output, SharedCell
from wengert.tensor import Tensor, View, wrap


class LayoutError(RuntimeError):
    """This Python or NumPy keeps its objects in a way that native entries do not know.

    Nothing needs to be done: compiled functions are then entered through Python code, which costs a
    few microseconds more per call.
    """


@dataclass(frozen=True, slots=True)
class Layouts:
    """Offsets in bytes. `array` is where a Tensor keeps its `_array`, and so on."""

    array: int
    node: int
    origin: int
    cell: int
    view: dict[str, int]  # the slots of a View
    recorded: dict[str, int]  # those of a CompiledBackward
    output: dict[str, int]  # those of a node's Output
    accumulator: dict[str, int]  # those of an AccumulateGrad
    memory: int  # of a SharedCell
    contents: int  # of a closure's cell
    version: int  # of a dict: a number that each change makes another; 0 if it has none
    entries: bool  # whether those of a dict lie as `ENTRIES` says

    def slot(self, name: str) -> int:
        """Where a Tensor keeps one of `SLOTS`."""
        return int(getattr(self, name.removeprefix("_")))


SLOTS = ("_array", "_node", "_origin", "_cell")
# CPython's objects begin with these two; the count's lower half is where it always was.
COUNT, TYPE = 0, 8
# A tuple's, list's or dictionary's number of items; where a list's, or an array.array's, are, and
# where a tuple's begin.
LENGTH, ITEMS, TUPLE_ITEMS = 16, 24, 24
LENGTH_OF_SET = 24  # after its items and what it keeps of those that went
# Where a dictionary's table is, and the values of one that shares keys with others; in it the
# logarithm of the bytes of its index, the kind (`STRINGS` if all keys are), the number of entries
# with those that went, and the index. The entries follow: of strings a key and a value each.
TABLE, OWN_VALUES = 32, 40
LOG_INDEX, TABLE_KIND, TABLE_LENGTH, INDEX, STRINGS = 9, 10, 24, 32, 1
# What a weak reference refers to, or None.
REFERENT = 16
# Where a float's, a complex number's and a NumPy number's bits are.
NUMBER = 16
# NumPy's array: PyArrayObject_fields in its header ndarraytypes.h, kept stable for all who compile
# against it; then what begins a dtype.
DATA, NDIM, DIMENSIONS, STRIDES, BASE, DTYPE, FLAGS, WEAK_REFERENCES = (
    16,
    24,
    32,
    40,
    48,
    56,
    64,
    72,
)
_MEMBER, _MEMBER_OFFSET = 40, 16  # of a slot's descriptor, and in what that leads to
BYTE_ORDER, TYPE_NUMBER, ITEMSIZE = 26, 28, 40
KIND_TO_NUMBER = 24  # a word: its kind, its letter, the byte order, flags, and the number

C_CONTIGUOUS, OWNS_DATA, ALIGNED, WRITEABLE = 0x1, 0x4, 0x100, 0x400

# Their places in NumPy's table of C functions.
_NEW_FROM_DESCR, _RETURN, _NEW_COPY, _SET_BASE = 94, 76, 85, 282
_TP_NEW = 65  # Py_tp_new in CPython's typeslots.h


@functools.cache
def layouts() -> Layouts:
    """The offsets of this process; `LayoutError` if they cannot be made out."""
    if sys.implementation.name != "cpython":
        raise LayoutError(f"Native entries are for CPython, but this is {sys.implementation.name}.")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise LayoutError("Native entries rely on the global interpreter lock.")
    if sys.maxsize != 2**63 - 1 or sys.byteorder != "little" or hasattr(sys, "getobjects"):
        raise LayoutError("Native entries are for 64-bit little-endian builds without debugging.")
    _check_objects()
    _check_references()
    _check_numbers()
    _check_arrays()
    functions()
    return Layouts(
        *(*_slots(), _all_slots(View), _all_slots(CompiledBackward, Node), _all_slots(Output)),
        *(_all_slots(AccumulateGrad, Node), _memory(), _contents(), _version(), _has_entries()),
    )


@functools.cache
def functions() -> dict[str, int]:
    """Where functions begin that CPython and NumPy do not export: what makes an object of a class,
    which is `tp_new` of `object`, and NumPy's PyArray_NewFromDescr, _Return, _NewCopy
    and _SetBaseObject.
    """
    return {"object_new": _object_new(), **_array_functions()}


# ---- reading memory ------------------------------------------------------------------------


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def _half(address: int) -> int:
    return ctypes.c_int32.from_address(address).value


def _expect(true: bool, what: str) -> None:
    if not true:
        raise LayoutError(f"This Python or NumPy does not keep {what} where it is expected.")


def _check_objects() -> None:
    marker = object.__new__(Tensor)
    address = id(marker)
    _expect(_word(address + TYPE) == id(Tensor), "the type of an object")
    before = _half(address + COUNT)
    more = [marker] * 5
    _expect(_half(address + COUNT) == before + len(more), "the reference count of an object")
    for container in (more, tuple(more), dict.fromkeys(range(7))):
        _expect(_word(id(container) + LENGTH) == len(container), "the length of a container")
    numbers = set(range(7))
    numbers.discard(3)
    _expect(_word(id(numbers) + LENGTH_OF_SET) == len(numbers), "the length of a set")
    _expect(_word(_word(id(more) + ITEMS) + 8) == address, "the items of a list")
    pair = (None, marker)
    _expect(_word(id(pair) + TUPLE_ITEMS + 8) == address, "the items of a tuple")


def _check_references() -> None:
    marker = object.__new__(Tensor)
    reference = weakref.ref(marker)
    _expect(_word(id(reference) + REFERENT) == id(marker), "what a weak reference refers to")
    del marker
    _expect(_word(id(reference) + REFERENT) == id(None), "what a weak reference refers to")


def _check_numbers() -> None:
    numbers = [77.25, 77.25 + 33j, *(np.array(77, char)[()] for char in "?bBhHiIlLqQefdFD")]
    for number in numbers:
        bits = np.array(number).tobytes()
        stored = ctypes.string_at(id(number) + NUMBER, len(bits))
        _expect(stored == bits, "the bits of a number")


def _check_arrays() -> None:
    array = np.zeros((3, 5), np.float32)
    address = id(array)
    _expect(_word(address + DATA) == array.ctypes.data, "an array's data")
    _expect(_half(address + NDIM) == 2, "an array's number of dimensions")
    dimensions = _word(address + DIMENSIONS)
    shape = (_word(dimensions), _word(dimensions + 8))
    _expect(shape == array.shape, "an array's dimensions")
    strides = _word(address + STRIDES)
    _expect((_word(strides), _word(strides + 8)) == array.strides, "an array's strides")
    _expect(_word(address + BASE) == 0, "an array's base")
    part = array[1:]
    _expect(_word(id(part) + BASE) == id(array), "an array's base")
    _expect(_word(address + DTYPE) == id(array.dtype), "an array's dtype")
    _expect(_half(address + FLAGS) == array.flags.num, "an array's flags")
    flags = C_CONTIGUOUS | OWNS_DATA | ALIGNED | WRITEABLE
    _expect(array.flags.num & flags == flags, "an array's flags")
    _expect(_word(address + WEAK_REFERENCES) == 0, "an array's weak references")
    reference = weakref.ref(array)
    _expect(_word(address + WEAK_REFERENCES) == id(reference), "an array's weak references")
    del part, reference
    array.flags.writeable = False
    _expect(array.T.flags.num & flags == ALIGNED, "an array's flags")
    for dtype in (np.dtype("=f4"), np.dtype("=i8"), np.dtype("b1"), np.dtype(">f4")):
        order = ctypes.c_char.from_address(id(dtype) + BYTE_ORDER).value.decode()
        _expect(order == dtype.byteorder, "a dtype's byte order")
        _expect(_half(id(dtype) + TYPE_NUMBER) == dtype.num, "a dtype's number")
        _expect(_word(id(dtype) + ITEMSIZE) == dtype.itemsize, "a dtype's size")
        letters = ctypes.string_at(id(dtype) + KIND_TO_NUMBER, 2).decode()
        _expect(letters == dtype.kind + dtype.char, "a dtype's kind")


def _slots() -> tuple[int, int, int, int]:
    tensor = wrap(None)
    array, node, origin, cell = (_slot(tensor, name) for name in SLOTS)
    return array, node, origin, cell


def member(owner: Any, name: str) -> int | None:
    """Where an object keeps an attribute that is a slot of its class, or None."""
    slot: Any = getattr(type(owner), name, None)
    if type(slot) is not types.MemberDescriptorType:
        return None
    offset = _word(_word(id(slot) + _MEMBER) + _MEMBER_OFFSET)
    known = 16 <= offset < type(owner).__basicsize__
    return offset if known and _word(id(owner) + offset) == id(getattr(owner, name, None)) else None


def _all_slots(kind: Any, *bases: Any) -> dict[str, int]:
    item = kind.__new__(kind)
    names = [name for cls in (kind, *bases) for name in cls.__slots__ if name[0] != "_"]
    return {name: _slot(item, name) for name in names}


def _slot(x: Any, name: str) -> int:
    """Where an object keeps this slot: by putting something there and looking for it."""
    value = object()
    setattr(x, name, value)
    words = [_word(id(x) + at) for at in range(0, type(x).__basicsize__, 8)]
    _expect(words.count(id(value)) == 1, "the slots of a class")
    return 8 * words.index(id(value))


def _memory() -> int:
    """Where a shared cell keeps its numbers."""
    cell = Cell()
    SharedCell.become(cell)
    cell.count = 7
    _expect(_word(_word(id(cell.memory) + ITEMS)) == 7, "the items of an array.array")
    words = [_word(id(cell) + at) for at in range(0, Cell.__basicsize__, 8)]
    _expect(words.count(id(cell.memory)) == 1, "the slots of a class")
    return 8 * words.index(id(cell.memory))


def _contents() -> int:
    value = object()
    cell = types.CellType(value)
    offset = 16
    _expect(_word(id(cell) + offset) == id(value), "the contents of a cell")
    return offset


def _version() -> int:
    """PEP 509 put it after the number of items; Python 3.13 took it away again."""
    holder = types.SimpleNamespace(a=0.5)
    members, offset, seen = vars(holder), 24, [0]

    def change(value: Any) -> None:
        holder.a = value

    def noted() -> bool:
        seen.append(_word(id(members) + offset))
        return seen[-1] not in seen[:-1]

    changed = noted()
    for k in range(20):  # the interpreter has quicker ways for what runs often
        change(k + 0.5)
        changed &= noted()
        members["b"] = k
        changed &= noted()
        del members["b"]
        changed &= noted()
    for key in ("a", "c"):
        members.get(key)
    return offset if changed and _word(id(members) + offset) == seen[-1] else 0


def _has_entries() -> bool:
    """Whether the entries of dictionaries lie as in Python 3.11 and later."""
    value = object()
    for count in (1, 5, 6, 40, 300):
        mapping: dict[Any, Any] = {f"key{k}": value for k in range(count)}
        if _entries(mapping) != [word for key in mapping for word in (id(key), id(value))]:
            return False
        mapping["gone"] = 0
        del mapping["gone"]
        if _entries(mapping) is not None or _entries({**mapping, count: 0}) is not None:
            return False
    instance = type("Holder", (), {})()
    instance.a = value
    return _entries(vars(instance)) in (None, [id(next(iter(vars(instance)))), id(value)])


def _entries(mapping: dict[Any, Any]) -> list[int] | None:
    """The words of a dictionary's entries; None if it has others than of strings, or some went."""
    table = _word(id(mapping) + TABLE)
    kind = ctypes.c_uint8.from_address(table + TABLE_KIND).value
    if kind != STRINGS or _word(id(mapping) + OWN_VALUES):
        return None
    if _word(table + TABLE_LENGTH) != len(mapping):
        return None
    begin = table + INDEX + (1 << ctypes.c_uint8.from_address(table + LOG_INDEX).value)
    return [_word(begin + 8 * k) for k in range(2 * len(mapping))]


def _object_new() -> int:
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_int)(
        ("PyType_GetSlot", ctypes.pythonapi)
    )
    address = get(object, _TP_NEW)
    _expect(address is not None, "the constructor of object")
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_void_p)(
        address
    )
    _expect(type(make(Tensor, (), None)) is Tensor, "the constructor of object")
    return int(address)


def _array_functions() -> dict[str, int]:
    module = importlib.import_module("numpy._core._multiarray_umath")
    table = capsule_pointer(module._ARRAY_API)
    _expect(_word(table + 8 * 2) == id(np.ndarray), "its table of functions")
    address, scalar, copy, set_base = (
        _word(table + 8 * number) for number in (_NEW_FROM_DESCR, _RETURN, _NEW_COPY, _SET_BASE)
    )
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p),
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p),
    )(address)
    dtype = np.dtype(np.float32)
    _own(dtype)  # the call takes one over
    dimensions = (ctypes.c_int64 * 2)(3, 5)
    array = make(id(np.ndarray), id(dtype), 2, ctypes.addressof(dimensions), None, None, 0, None)
    _expect(type(array) is np.ndarray and array.shape == (3, 5), "the function that makes arrays")
    number = _own(np.array(2.5))
    returned = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(scalar)(id(number))
    _expect(type(returned) is np.float64 and returned == 2.5, "the function that makes numbers")
    take = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_int)(copy)
    dense = take(array.T, 0)
    _expect(dense.shape == (5, 3) and dense.flags.c_contiguous, "the function that copies arrays")
    whole = np.zeros(3)
    look = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.py_object)(set_base)
    done = look(dense, _own(whole))
    _expect(done == 0 and dense.base is whole, "the function that gives an array a base")
    return {"new_array": address, "scalar": scalar, "copy": copy, "set_base": set_base}


def _own(x: Any) -> Any:
    """An object with a reference more, which a call takes over."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))
    return x
