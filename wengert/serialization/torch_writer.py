"""Writing files that `torch.load` reads: a zip archive of storages, and a pickle of what they make.

The pickle names PyTorch's functions, which need not be installed. Read `torch_files.py` first.
"""

from __future__ import annotations

import codecs
import io
import pickle
import sys
import zipfile
from collections import Counter, OrderedDict
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from wengert.arrays.memory import storage
from wengert.functions.device import device
from wengert.functions.limits import Storage
from wengert.nn.parameter import Parameter, UninitializedParameter
from wengert.serialization import objects
from wengert.serialization.torch_files import MAGIC, OLD_VERSION, STORAGES, Name
from wengert.sparse.tensors import SparseTensor
from wengert.tensor import Size, Tensor

TYPED = {dtype: name for name, dtype in STORAGES.items()}


def written(obj: Any, protocol: int = 2, zipped: bool = True) -> bytes:
    """The bytes of the file: an archive, or pickles and storages one after another, as once."""
    file = io.BytesIO()
    pickled = io.BytesIO()
    pickler = _Pickler(pickled, protocol, zipped)
    try:
        pickler.dump(obj)
    except RecursionError:
        raise ValueError("save: the object is nested too deeply, or holds itself") from None
    if not zipped:
        return _in_a_row(pickler, pickled.getvalue(), protocol)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickled.getvalue())
        archive.writestr("archive/byteorder", sys.byteorder)
        for key, array in enumerate(pickler.storages.values()):
            archive.writestr(f"archive/data/{key}", array.tobytes("A"))
        archive.writestr("archive/version", "3\n")
    return file.getvalue()


def _in_a_row(pickler: _Pickler, content: bytes, protocol: int) -> bytes:
    """The form before PyTorch 1.6; see `torch_files._Stream`."""
    arrays = pickler.storages.values()
    sizes = {"short": 2, "int": 4, "long": 4}
    machine = {
        "protocol_version": OLD_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": sizes,
    }
    head = [pickle.dumps(part, protocol) for part in (MAGIC, OLD_VERSION, machine)]
    keys = pickle.dumps([str(key) for key in range(len(arrays))], protocol)
    rows = [len(a.reshape(-1)).to_bytes(8, "little") + a.tobytes("A") for a in arrays]
    return b"".join([*head, content, keys, *rows])


@dataclass(frozen=True)
class _Global:
    """A name that the pickle imports, and this program does not."""

    name: Name


@dataclass(frozen=True)
class _Storage:
    """The memory that a tensor lies in."""

    array: Any
    dtype: str


class _Call:
    """An object that the pickle makes by calling a name."""

    def __init__(self, module: str, name: str, *args: Any) -> None:
        self.made = (_Global((module, name)), args)


DATA = (
    *(type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set),
    *(OrderedDict, Counter, _Storage),
)
MAKERS = set(map(id, (OrderedDict, Counter, complex, bytes, bytearray, set, codecs.encode)))
"""What pickles of data name themselves."""


_InPython: Any = pickle._Pickler  # C's does not let names be written


class _Pickler(_InPython):  # type: ignore[misc]
    """Writes data and tensors, and refuses all else."""

    def __init__(self, file: Any, protocol: int, zipped: bool) -> None:
        super().__init__(file, protocol)
        self.storages: dict[int, Any] = {}
        self.zipped = zipped

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if isinstance(obj, Storage):
            obj = _Storage(obj._array.reshape(-1).view("u1"), "uint8")
        if isinstance(obj, np.dtype):
            obj = _Global(("torch", obj.name))
        elif objects.is_factory(obj):
            obj = _Global(("builtins", obj.__name__))
        elif objects.is_function(obj):
            obj = _Global(("torch.nn.functional", obj.__name__))
        if isinstance(obj, _Global):
            self.write(pickle.GLOBAL + "\n".join(obj.name).encode() + b"\n")
        elif id(obj) in self.memo or type(obj) in DATA or id(obj) in MAKERS:
            super().save(obj, save_persistent_id)
        elif (form := _form(obj)) is not None:
            function, args = form
            self.save(function)
            self.save(args)
            self.write(pickle.REDUCE)
            self.memoize(obj)
        elif objects.is_named_tuple(type(obj)):
            self.save_class(type(obj))
            self.save(tuple(obj))
            called = pickle.EMPTY_DICT + pickle.TUPLE2 + pickle.REDUCE
            self.write(called if type(obj) in objects.RESULTS.values() else pickle.NEWOBJ)
            self.memoize(obj)
        else:
            self.save_object(obj)

    def save_class(self, kind: Any) -> None:
        module, _, name = objects.name_of(kind).rpartition(".")
        self.save(_Global((module, name)))

    def save_object(self, obj: Any) -> None:
        state = objects.attributes(obj)
        if state is None:
            raise TypeError(objects.refused("the object", obj))
        self.save_class(type(obj))
        self.write(pickle.EMPTY_TUPLE + pickle.NEWOBJ)
        self.memoize(obj)
        self.save(state)
        self.write(pickle.BUILD)

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is not _Storage:
            return None
        array = obj.array
        self.storages.setdefault(id(array), array)
        key = str(list(self.storages).index(id(array)))
        if obj.dtype in TYPED:
            kind, count = ("torch", TYPED[obj.dtype]), array.size
        else:
            kind, count = ("torch.storage", "UntypedStorage"), array.nbytes
        return ("storage", _Global(kind), key, "cpu", count, *(() if self.zipped else (None,)))


def _form(obj: Any) -> Any:
    """A name and what it is called with, of what is neither data nor an object."""
    if type(obj) is _Call:
        return obj.made
    if isinstance(obj, SparseTensor):
        layout, parts = objects.sparse_parts(obj)
        named = _Call("torch.serialization", "_get_layout", f"torch.{layout}")
        return _made("torch._utils", "_rebuild_sparse_tensor", named, parts)
    if isinstance(obj, Parameter):
        data = _Call(*_tensor(obj.detach()))
        return _with_state(obj, "_rebuild_parameter", data, obj.requires_grad, OrderedDict())
    if isinstance(obj, Tensor):
        _, name, *place = _tensor(obj)
        return _with_state(obj, name, *place)
    if isinstance(obj, Size):
        return _made("torch", "Size", tuple(obj))
    if isinstance(obj, PurePath):
        return _made("pathlib", type(obj).__name__, *obj.parts)
    if type(obj) in objects.MADE:
        apart, _ = objects.MADE[type(obj)]
        module = "torch" if type(obj) is device else type(obj).__module__
        return _made(module, type(obj).__name__, *apart(obj))
    if isinstance(obj, np.generic):
        return _made("numpy._core.multiarray", "scalar", _dtype(obj), obj.tobytes())
    if isinstance(obj, np.ndarray):
        rest = (bytearray(obj.tobytes()), _dtype(obj), obj.shape, "C")
        return _made("numpy._core.numeric", "_frombuffer", *rest)
    return None


def _with_state(x: Tensor, name: str, *args: Any) -> tuple[Any, ...]:
    """The call that makes a tensor, of its class and with its attributes."""
    kind, state = objects.derived(x), objects.tensor_attributes(x)
    if isinstance(x, UninitializedParameter):
        options = (x.requires_grad, device("cpu"), x._array.dtype)
        return _made("torch.nn.parameter", "UninitializedParameter", *options)
    if kind is None and not state:
        return _made("torch._utils", name, *args)
    if kind is None and isinstance(x, Parameter):
        return _made("torch._utils", "_rebuild_parameter_with_state", *args, state)
    module, _, of = objects.name_of(kind).rpartition(".") if kind else ("torch", "", "Tensor")
    parts = (_Global(("torch._utils", name)), _Global((module, of)), args, state)
    return _made("torch._tensor", "_rebuild_from_type_v2", *parts)


def _dtype(array: Any) -> _Call:
    return _Call("numpy", "dtype", array.dtype.str)


def _made(module: str, name: str, *args: Any) -> tuple[Any, ...]:
    return (_Global((module, name)), args)


def _tensor(x: Tensor) -> tuple[Any, ...]:
    """The function that makes a tensor, and its arguments."""
    array = x._array
    if not isinstance(array, np.ndarray):
        raise TypeError("only tensors on NumPy arrays can be saved; detach and convert it first")
    owner = storage(array)
    if min(array.strides, default=0) < 0 or not (owner.flags.forc):
        owner = array = np.ascontiguousarray(array)  # PyTorch's tensors have no such strides
    start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    size, stride = tuple(array.shape), tuple(n // array.itemsize for n in array.strides)
    place = (_Storage(owner, array.dtype.name), start // array.itemsize, size, stride)
    grad = x.requires_grad
    if array.dtype.name in TYPED:
        return ("torch._utils", "_rebuild_tensor_v2", *place, grad, OrderedDict())
    dtype = _Global(("torch", array.dtype.name))
    return ("torch._utils", "_rebuild_tensor_v3", *place, grad, OrderedDict(), dtype)
