"""Reading the files of `torch.save` without running anything in them.

Such a file is a zip archive: one record per storage, and a pickle that says how tensors, lists and
dictionaries are made of them. A pickle is a program for a small machine whose instructions include
"import this, call it"; Python's own machine obeys. The one below knows the instructions that data
need. A name to import must be in one of its two tables, and what it may call are the few functions
of this file: nothing in a file can reach anything else, nor change these.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import warnings
import zipfile
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wengert.dtypes import named
from wengert.functions import limits
from wengert.nn.parameter import Parameter, UninitializedParameter
from wengert.serialization import objects
from wengert.tensor import Size, Tensor, bare, wrap

Name = tuple[str, str]
"""A module and what is to be imported from it."""


def read(data: bytes, name: str, map_location: Any = None, trusted: bool = False) -> Any:
    """The object in the bytes of such a file; `name` is the file's, for messages.

    UnpicklingError for what is no data, RuntimeError for a damaged file and for tensors of a GPU
    where `map_location` does not say to put them on the CPU.
    """
    try:
        if data[:1] == pickle.PROTO:
            return _Stream(data, name, map_location, trusted).read()
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            archive = _Archive(file, name, map_location, trusted)
            return archive.object(io.BytesIO(archive.bytes("data.pkl")))
    except _ZIP_ERRORS as error:
        raise RuntimeError(
            f"{name} is damaged, or was cut off: {error}. Was it copied completely?"
        ) from error


_ZIP_ERRORS = (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError, LookupError)
"""What zipfile raises for damaged archives."""


class _File:
    """Where pickles find the memory of their tensors."""

    big_endian = False
    sizing = False
    """Whether only the sizes of storages are looked for, whose memory is all 0 yet."""

    def __init__(self, name: str, map_location: Any, trusted: bool) -> None:
        self.name = name
        self.map_location = map_location
        self.trusted = trusted
        self.storages: dict[str, Any] = {}

    def object(self, stream: Any) -> Any:
        """What the pickle makes that begins where the stream is."""
        try:
            with warnings.catch_warnings():  # of escapes in strings, and of old dtypes' names
                warnings.simplefilter("ignore")
                return _Machine(self).run(stream)
        except (IndexError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as e:
            raise RuntimeError(
                f"{self.name} is damaged: its description of the saved object makes no sense "
                f"({e!r})."
            ) from e

    def storage(self, reference: Any) -> Any:
        """The storage that the pickle refers to; in old files a class with its source, too."""
        if reference[0] == "module":
            return reference[1]
        kind, storage_type, key, location, count, *_ = reference
        if kind != "storage" or not isinstance(storage_type, StorageType):
            raise pickle.UnpicklingError(f"{self.name} refers to an unknown kind of data: {kind!r}")
        _check_location(location, self.map_location)
        if key not in self.storages:
            self.storages[key] = self.memory(key, storage_type, count)
        return Storage(self.storages[key], storage_type.dtype, self.big_endian)

    def memory(self, key: str, kind: StorageType, count: int) -> Any:
        """The bytes of a storage, which nothing has asked for before."""
        raise NotImplementedError


class _Stream(_File):
    """A file of the form before PyTorch 1.6: pickles one after another, then the storages.

    Their sizes follow from the main pickle alone, which is therefore gone through twice.
    """

    def __init__(self, data: bytes, name: str, map_location: Any, trusted: bool) -> None:
        super().__init__(name, map_location, trusted)
        self.data = data
        self.sizes: dict[str, int] = {}

    def read(self) -> Any:
        stream = io.BytesIO(self.data)
        try:
            known = self.object(stream) == MAGIC
        except pickle.UnpicklingError:
            known = False
        if not known:
            raise pickle.UnpicklingError(
                f"{self.name} is a pickle, and not of torch.save: such files can run code when "
                "read, and are not. Save what it holds with torch.save, or as safetensors."
            )
        if self.object(stream) != OLD_VERSION or not self.object(stream)["little_endian"]:
            raise RuntimeError(f"{self.name} is of a version, or a machine, that is not known.")
        start = stream.tell()
        self.sizing = True
        self.object(stream)
        self.sizing = False
        keys = self.object(stream)
        at = stream.tell()
        for key in keys:
            end = at + 8 + self.sizes[key]
            if end > len(self.data):
                raise RuntimeError(f"{self.name} is damaged: it was cut off in a storage.")
            self.storages[key] = np.frombuffer(bytearray(self.data[at + 8 : end]), "u1")
            at = end
        stream.seek(start)
        return self.object(stream)

    def memory(self, key: str, kind: StorageType, count: int) -> Any:
        size = self.sizes[key] = count * named(kind.dtype or "uint8").itemsize
        if not 0 <= size <= len(self.data):
            raise ValueError(f"a storage of {size} bytes in a file of {len(self.data)}")
        return np.zeros(size, "u1")


MAGIC, OLD_VERSION = 0x1950A86A20F9469CFC6C, 1001
"""What files of the form before PyTorch 1.6 begin with."""


class _Archive(_File):
    """The records of a file."""

    def __init__(
        self, archive: zipfile.ZipFile, name: str, map_location: Any, trusted: bool
    ) -> None:
        super().__init__(name, map_location, trusted)
        self.archive = archive
        self.records = {info.filename: info for info in archive.infolist()}
        pickles = [record for record in self.records if record.endswith("data.pkl")]
        if len(pickles) != 1:
            raise RuntimeError(
                f"{name} is a zip archive, but not of torch.save: it should hold one data.pkl and "
                f"holds {len(pickles)}."
            )
        self.folder = pickles[0].removesuffix("data.pkl")
        if f"{self.folder}constants.pkl" in self.records:
            raise pickle.UnpicklingError(
                f"{name} is a TorchScript archive, which holds a program. In PyTorch write "
                "torch.save(torch.jit.load(path).state_dict(), new_path), and load that."
            )
        order = self.bytes("byteorder") if f"{self.folder}byteorder" in self.records else b"little"
        self.big_endian = order == b"big"

    def bytes(self, record: str) -> bytes:
        info = self.records.get(self.folder + record)
        if info is None:
            raise RuntimeError(f"{self.name} is damaged: its record {record!r} is missing.")
        if info.compress_type != zipfile.ZIP_STORED:
            raise RuntimeError(
                f"{self.name}: record {record!r} is compressed, which torch.save never does."
            )
        return self.archive.read(info)

    def memory(self, key: str, kind: StorageType, count: int) -> Any:
        return np.frombuffer(bytearray(self.bytes(f"data/{key}")), "u1")


def _check_location(location: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        location = wanted.get(location, location)
    elif wanted is not None:
        location = "cpu"  # `load` has checked that it can be nothing else
    if location != "cpu":
        raise RuntimeError(
            f"Attempting to deserialize object on a {location} device, and wengert has tensors on "
            "the CPU only. Use load(..., map_location='cpu')."
        )


@dataclass(frozen=True)
class StorageType:
    """A type of storages: the dtype of their elements, None where each tensor states its own."""

    dtype: Any


class Storage(limits.Storage):
    """Bytes that tensors lie in, several of them perhaps."""

    def __init__(self, data: Any, dtype: Any, big_endian: bool) -> None:
        super().__init__(data)
        self.dtype, self.big_endian = dtype, big_endian

    def elements(self, dtype: Any) -> Any:
        dtype = named(self.dtype if dtype is None else dtype)
        array = self._array.view(dtype)
        if self.big_endian and dtype.itemsize > 1:
            array = array.byteswap()
        return array


# ---- what may be called --------------------------------------------------------------------


def _tensor(
    storage: Storage,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool = False,
    hooks: Any = None,
    metadata: Any = None,
    dtype: Any = None,
) -> Tensor:
    """A tensor: a view of its storage, as it was when it was saved."""
    flat = storage.elements(dtype)
    size, stride = tuple(map(int, size)), tuple(map(int, stride))
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    inside = offset >= 0 and last < flat.size and min((*size, *stride, 0)) >= 0
    if not inside and 0 not in size:
        raise ValueError(f"a tensor of shape {size} reaches outside of its storage")
    if 0 in size:
        array = np.empty(size, flat.dtype)
    else:
        steps = tuple(step * flat.itemsize for step in stride)
        array = np.lib.stride_tricks.as_strided(flat[offset:], size, steps)
    if metadata:  # PyTorch's conjugates and negatives are views, of which the file has the base
        array = np.conj(array) if metadata.get("conj") else array
        array = -array if metadata.get("neg") else array
    tensor = wrap(array)
    return tensor.requires_grad_() if requires_grad else tensor


def _tensor_of_dtype(
    storage: Storage,
    offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    name = np.dtype(dtype).name
    return _tensor(storage, offset, size, stride, requires_grad, metadata=metadata, dtype=name)


def _parameter(data: Tensor, requires_grad: bool, hooks: Any = None) -> Tensor:
    out: Tensor = bare(Parameter, data._array)
    return out.requires_grad_() if requires_grad else out


def _of_type(function: Any, kind: Any, args: Any, state: Any) -> Any:
    """A tensor of a class of its own, or with attributes, which may have no name of the class's."""
    tensor: Any = CALLS[function.name](*args) if isinstance(function, Named) else None
    if isinstance(kind, Named):
        own = kind.name == ("torch.nn.parameter", "Parameter")
        tensor, kind = _parameter(tensor, tensor.requires_grad) if own else tensor, None
    return objects.tensor(tensor, kind, _attributes(state))


def _parameter_of_state(data: Tensor, requires_grad: bool, hooks: Any, state: Any) -> Any:
    return objects.tensor(_parameter(data, requires_grad), None, _attributes(state))


def _attributes(state: Any) -> dict[str, Any]:
    """A tensor's attributes, those in slots apart from the others."""
    parts = state if type(state) is tuple else (state,)
    return {str(name): value for part in parts for name, value in dict(part or {}).items()}


def _layout(name: str) -> str:
    return name.rpartition(".")[2]


def _size(values: Any = ()) -> Size:
    return Size(tuple(values))


def _with_default(kind: Any = None, pairs: Any = ()) -> Any:
    if kind is None:
        return defaultdict(None, pairs)
    return defaultdict(objects.FACTORIES[kind.name[1]], pairs)


def _encoded(text: str, encoding: str) -> bytes:
    """How old pickles write bytes."""
    return text.encode({"latin1": "latin1"}[encoding])


def _bytearray(data: Any = b"", encoding: str = "latin1") -> bytearray:
    return bytearray(_encoded(data, encoding) if isinstance(data, str) else memoryview(data))


def _numpy_dtype(name: str, *_: Any) -> np.dtype[Any]:
    dtype = np.dtype(name)
    if dtype.kind not in "biufc" or dtype.subdtype is not None:
        raise pickle.UnpicklingError(f"NumPy arrays of dtype {name!r} are not read")
    return dtype


def _numpy_scalar(dtype: np.dtype[Any], data: bytes) -> Any:
    return np.frombuffer(data, _numpy_dtype(dtype.str), count=1)[0]


def _numpy_array(*_: Any) -> Any:
    return np.empty(0, np.uint8)


def _numpy_buffer(data: Any, dtype: np.dtype[Any], shape: Any, order: str, *_: Any) -> Any:
    flat = np.frombuffer(bytearray(memoryview(data)), _numpy_dtype(dtype.str))
    return flat.reshape(shape, order="F" if order == "F" else "C")


CALLS: dict[Name, Callable[..., Any]] = {
    **{(kind.__module__, kind.__name__): make for kind, (_, make) in objects.MADE.items()},
    **{("__builtin__", kind.__name__): make for kind, (_, make) in objects.MADE.items()},
    ("__builtin__", "xrange"): range,
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "Counter"): Counter,
    ("collections", "defaultdict"): _with_default,
    ("torch._utils", "_rebuild_tensor"): _tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_tensor_v3"): _tensor_of_dtype,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _parameter_of_state,
    ("torch.nn.parameter", "UninitializedParameter"): UninitializedParameter,
    ("torch._utils", "_rebuild_sparse_tensor"): objects.sparse,
    ("torch.serialization", "_get_layout"): _layout,
    ("torch._tensor", "_rebuild_from_type"): _of_type,
    ("torch._tensor", "_rebuild_from_type_v2"): _of_type,
    ("torch", "Size"): _size,
    ("torch", "device"): objects.device,
    ("_codecs", "encode"): _encoded,
    **{("pathlib", kind): Path for kind in ("Path", "PosixPath", "WindowsPath")},
    ("numpy", "dtype"): _numpy_dtype,
    **{(f"numpy.{core}.multiarray", "scalar"): _numpy_scalar for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _numpy_array for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _numpy_buffer for core in ("core", "_core")},
    **{(module, "bytearray"): _bytearray for module in ("builtins", "__builtin__")},
    **{(m, kind.__name__): kind for m in ("builtins", "__builtin__") for kind in (complex, set)},
}
"""Names that mean these functions, whatever the file says them to be."""

_NAMED = {
    *((module, name) for module in ("builtins", "__builtin__") for name in objects.FACTORIES),
    ("numpy", "ndarray"),
    ("torch", "Tensor"),
    ("torch.nn.parameter", "Parameter"),
}
"""Names that files pass to those functions, and that mean nothing by themselves."""

STORAGES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}
_DTYPES = (
    "float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32",
    "uint64", "bool", "complex64", "complex128",
)  # fmt: skip


def _values() -> dict[Name, Any]:
    """Names that mean values: dtypes and types of storages."""
    values: dict[Name, Any] = {("torch", name): np.dtype(name) for name in _DTYPES}
    for name, dtype in STORAGES.items():
        values["torch", name] = StorageType(dtype)
    values["torch.storage", "UntypedStorage"] = StorageType(None)
    return values


VALUES = _values()


# ---- the machine ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Named:
    """A name from one of the tables: it can be called, or passed on, and nothing else."""

    name: Name


@dataclass
class _Machine:
    """Carries out the instructions of a pickle that make data; refuses all others."""

    archive: _File
    stack: list[Any] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)
    objects: list[Any] = field(default_factory=list)

    def run(self, stream: Any) -> Any:
        try:
            for opcode, argument, position in pickletools.genops(stream):
                if opcode.name == "STOP":
                    (result,) = self.stack
                    return result
                step = getattr(self, f"do_{opcode.name.lower()}", None)
                if opcode.name in _PUSHED:
                    self.stack.append(argument)
                elif opcode.name in _MADE:
                    self.stack.append(_MADE[opcode.name]())
                elif opcode.name in _MADE_OF:
                    self.stack.append(_MADE_OF[opcode.name](self.since_mark()))
                elif opcode.name in _TUPLES:
                    n = _TUPLES.index(opcode.name) + 1
                    self.stack[-n:] = [tuple(self.stack[-n:])]
                elif step is None:
                    raise self.refusal(f"the instruction {opcode.name} at byte {position}")
                else:
                    step(argument)
        except UnicodeDecodeError as error:
            raise ValueError(str(error)) from error
        raise ValueError("the pickle has no end")

    def refusal(self, what: str) -> pickle.UnpicklingError:
        return pickle.UnpicklingError(
            f"{self.archive.name} holds more than data: {what}. Nothing of it was run. wengert "
            "reads tensors, parameters, numbers, strings, and lists, tuples, sets and dictionaries "
            "of them; of a module, save its state_dict(). Classes that you trust are named to "
            "wengert.serialization.add_safe_globals."
        )

    def since_mark(self) -> list[Any]:
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def top(self, *kinds: type) -> Any:
        """What lies on top, to be filled: an instance of one of some types."""
        container = self.stack[-1]
        if not isinstance(container, kinds):
            raise self.refusal(f"an instruction that fills a {type(container).__name__}")
        return container

    # ---- the stack and the memo -----------------------------------------------------------

    def do_proto(self, version: int) -> None:
        pass

    do_frame = do_proto

    def do_mark(self, _: Any) -> None:
        self.marks.append(len(self.stack))

    def do_pop(self, _: Any) -> None:
        self.stack.pop()

    def do_pop_mark(self, _: Any) -> None:
        self.since_mark()

    def do_dup(self, _: Any) -> None:
        self.stack.append(self.stack[-1])

    def do_binput(self, number: int) -> None:
        self.memo[number] = self.stack[-1]

    do_long_binput = do_put = do_binput

    def do_memoize(self, _: Any) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def do_binget(self, number: int) -> None:
        self.stack.append(self.memo[number])

    do_long_binget = do_get = do_binget

    # ---- values without references ---------------------------------------------------------

    def do_bytearray8(self, data: bytes) -> None:
        self.stack.append(bytearray(data))

    def do_append(self, _: Any) -> None:
        item = self.stack.pop()
        self.top(list, deque).append(item)

    def do_appends(self, _: Any) -> None:
        items = self.since_mark()
        self.top(list, deque).extend(items)

    def do_additems(self, _: Any) -> None:
        items = self.since_mark()
        self.top(set).update(items)

    def do_setitem(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.top(dict)[key] = value

    def do_setitems(self, _: Any) -> None:
        items = self.since_mark()
        mapping = self.top(dict)
        for key, value in zip(items[::2], items[1::2], strict=True):
            mapping[key] = value

    # ---- names, calls, storages -----------------------------------------------------------

    def do_global(self, text: str) -> None:
        module, _, name = text.partition(" ")
        self.named((module, name))

    def do_stack_global(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.named((str(module), str(name)))

    def named(self, name: Name) -> None:
        if name in VALUES:
            self.stack.append(VALUES[name])
        elif name[0] == "torch.nn.functional":
            self.stack.append(objects.function(name[1]))
        elif name == ("torch", "bfloat16"):
            self.stack.append(named("bfloat16"))
        elif name in CALLS or name in _NAMED:
            self.stack.append(Named(name))
        elif kind := objects.allowed(".".join(name), self.archive.trusted):
            self.stack.append(kind)
        else:
            raise self.refusal(f"it asks for {'.'.join(name)}")

    def do_reduce(self, _: Any) -> None:
        args, function = self.stack.pop(), self.stack.pop()
        if objects.is_named_tuple(function):
            self.stack.append(objects.named_tuple(function, args[0]))
            return
        if not isinstance(function, Named) or function.name not in CALLS:
            raise self.refusal(f"it calls {function!r}")
        if self.archive.sizing and CALLS[function.name] is objects.sparse:
            args = ("sparse_coo", ([[]], [], (0,)))  # indices that are all 0 would be refused
        self.stack.append(CALLS[function.name](*args))

    def do_newobj(self, _: Any) -> None:
        if objects.is_named_tuple(self.stack[-2]):
            self.stack[-2:] = [objects.named_tuple(*self.stack[-2:])]
        elif isinstance(self.stack[-2], type):
            self.stack[-2:] = [objects.blank(self.stack[-2])]
            self.objects.append(self.stack[-1])
        else:
            self.do_reduce(_)

    def do_build(self, _: Any) -> None:
        """The state of an object just made: of NumPy's arrays, and of a state dict its versions."""
        state, built = self.stack.pop(), self.stack[-1]
        if type(built) is np.ndarray:
            version, shape, dtype, fortran, data = state
            dtype = _numpy_dtype(dtype.str)
            if not isinstance(data, bytes):
                raise self.refusal("an array that holds objects")
            array: Any = built
            array.__setstate__((int(version), tuple(shape), dtype, bool(fortran), data))
        elif isinstance(built, np.dtype):
            order = state[1]
            self.stack[-1] = built.newbyteorder(order) if order in ("<", ">") else built
        elif any(built is item for item in self.objects):
            objects.give(built, state)
        elif type(built) is OrderedDict and type(state) is dict and state.keys() <= {"_metadata"}:
            vars(built).update(state)
        else:
            raise self.refusal(f"it changes a {type(built).__name__}")

    def do_binpersid(self, _: Any) -> None:
        self.stack.append(self.archive.storage(self.stack.pop()))


_PUSHED = frozenset(
    {
        *("INT", "LONG", "LONG1", "LONG4", "BININT", "BININT1", "BININT2", "FLOAT", "BINFLOAT"),
        *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
        *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    }
)
"""Instructions whose argument is the value to put on the stack."""
_MADE: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    **{f"EMPTY_{kind.__name__.upper()}": kind for kind in (list, tuple, dict, set)},
}
"""What instructions put on the stack that have no argument."""
_MADE_OF: dict[str, Callable[[list[Any]], Any]] = {
    "LIST": list,
    "TUPLE": tuple,
    "FROZENSET": frozenset,
    "DICT": lambda items: dict(zip(items[::2], items[1::2], strict=True)),
}
"""And those whose parts lie there, since the mark."""
_TUPLES = ("TUPLE1", "TUPLE2", "TUPLE3")
