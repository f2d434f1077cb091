"""Saving and loading: tensors as safetensors, structure as JSON beside them. No code, no pickle.

The file is a safetensors file. Its tensors have the names of the places where they occur first
(a state dict's are its keys), each stored once however often it occurs; its metadata holds, under
"wengert", the JSON text of the saved object, in which

    {"t": "name"}               stands for a tensor ("p": 1 a parameter, "g": 1 requires grad,
                                "k": its class, "a": [[name, v]...] its attributes)
    [...], {"d": [[k, v]...]}   for a list and a dictionary
    {"i": [class, [[name, v]...]]}  for an object, {"j": 2} for one that occurred before
    {"x": [class, parts]}   for a named tuple, {"v": [layout, parts]} for a sparse tensor
    {"m": [class, parts]}   for a range, a deque, ...: see `objects.MADE`
    {"o": ...}, {"u": ...}, ... for other things that JSON does not have: see `packed`
"""

from __future__ import annotations

import json
import os
import pickle
import re
from collections import Counter, OrderedDict
from pathlib import Path, PurePath
from typing import Any, Literal

import numpy as np

from wengert.dtypes import named
from wengert.functions.creation import check_device
from wengert.functions.limits import Storage
from wengert.history.files import whole
from wengert.nn.parameter import Parameter
from wengert.serialization import objects, torch_files, torch_writer
from wengert.sparse.tensors import SparseTensor
from wengert.tensor import Size, Tensor, bare, wrap

Place = tuple[Any, ...]
"""The keys and numbers that lead to a value in the saved object."""

FORMAT = 1
KEY = "wengert"


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int | None = None,
    _use_new_zipfile_serialization: bool = True,
    *,
    format: Literal["wengert", "torch"] | None = None,
) -> None:
    """Write tensors, numbers, strings, and containers and objects of them to a file.

    Objects are modules, dataclasses, namespaces, and instances of classes that were named to
    `serialization.add_safe_globals`; a file has their attributes and the names of their classes.
    `f` is a path or a file open for binary writing. A path is written beside its place first and
    then renamed, so that a crash leaves either the old file or the new one. `format="torch"` is
    PyTorch's form, which `torch.load` reads, and so is a path that ends in .pt or .pth, if nothing
    is said. That form's pickle is of `pickle_protocol` (2, which `torch.load` asks for), written
    without `pickle_module`, and the file is not zipped, as before PyTorch 1.6, where
    `_use_new_zipfile_serialization` is False: who gives these means that form. TypeError for
    anything else than such objects.

    >>> import tempfile, os, wengert as wg
    >>> path = os.path.join(tempfile.mkdtemp(), "x.wg")
    >>> save({"weights": wg.ones(2), "epoch": 3}, path)
    >>> load(path)
    {'weights': tensor([1., 1.]), 'epoch': 3}
    """
    path = None if hasattr(f, "write") else Path(os.fspath(f))
    if pickle_module not in (None, pickle):
        raise ValueError("save: no other module's pickles are written; leave pickle_module out")
    options = (2 if pickle_protocol is None else pickle_protocol, _use_new_zipfile_serialization)
    if format is None:
        theirs = options != (2, True) or (path is not None and path.suffix in (".pt", ".pth"))
        format = "torch" if theirs else "wengert"
    if format not in ("wengert", "torch"):
        raise ValueError(f'save: format is "wengert" or "torch", not {format!r}')
    data = torch_writer.written(obj, *options) if format == "torch" else _bytes(obj)
    if path is None:
        f.write(data)
        return
    with whole(path) as part:
        part.write_bytes(data)


def _bytes(obj: Any) -> bytes:
    from safetensors.numpy import save as to_bytes

    writer = _Writer()
    try:
        structure = {"format": FORMAT, "object": writer.packed(obj, "the object", ())}
        text = json.dumps(structure)
    except RecursionError:
        raise ValueError("save: the object is nested too deeply, or holds itself") from None
    arrays = {name: np.asarray(a, order="C") for name, a in writer.arrays.items()}
    return to_bytes(arrays, {KEY: text})


class _Writer:
    """Turns an object into JSON, and collects its tensors."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self.known: dict[int, str] = {}
        self.objects: dict[int, Any] = {}

    def tensor(self, array: Any, path: Place) -> str:
        name = self.known.get(id(array))
        return name or self.known.setdefault(id(array), self.stored(array, path))

    def stored(self, array: Any, path: Place) -> str:
        """The name under which an array is stored: its place, and a number if that is taken."""
        place = ".".join(map(str, path)) or "tensor"
        name, number = place, 0
        while name in self.arrays or name == "__metadata__":
            name, number = f"{place}#{number}", number + 1
        self.arrays[name] = array
        return name

    def packed(self, value: Any, where: str, path: Place) -> Any:
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int) and type(value) is int:
            return value
        if isinstance(value, float) and type(value) is float:
            return value if np.isfinite(value) else {"f": repr(value)}
        if isinstance(value, SparseTensor):
            layout, made_of = objects.sparse_parts(value)
            return {"v": [layout, self.packed(made_of, where, path)]}
        if isinstance(value, Tensor):
            return self._packed_tensor(value, where, path)
        if isinstance(value, Storage):
            return {"h": self.tensor(value._array.reshape(-1).view("u1"), path)}
        if objects.is_named_tuple(type(value)):
            return {"x": [objects.name_of(type(value)), self.packed(tuple(value), where, path)]}
        if isinstance(value, (np.ndarray, np.generic)):
            array = np.asarray(value)
            if array.dtype.kind not in "biufc":
                raise TypeError(objects.refused(where, value))
            return {"n": self.tensor(array, path), "s": int(isinstance(value, np.generic))}
        if type(value) in _SEQUENCES:
            items = [self.packed(v, f"{where}[{i}]", (*path, i)) for i, v in enumerate(value)]
            return items if type(value) is list else {_SEQUENCES[type(value)]: items}
        if type(value) in _MAPPINGS:
            pairs = [
                [
                    self.packed(k, f"a key of {where}", (*path, "key")),
                    self.packed(v, f"{where}[{k!r}]", (*path, k)),
                ]
                for k, v in value.items()
            ]
            return {_MAPPINGS[type(value)]: pairs}
        if isinstance(value, complex):
            return {"c": [value.real, value.imag]}
        if isinstance(value, np.dtype):
            return {"y": value.name}
        if isinstance(value, PurePath):
            return {"q": str(value)}
        if objects.is_function(value):
            return {"w": value.__name__}
        if objects.is_factory(value):
            return {"b": value.__name__}
        if type(value) in objects.MADE:
            apart, _ = objects.MADE[type(value)]
            parts = [self.packed(part, where, path) for part in apart(value)]
            return {"m": [objects.name_of(type(value)), parts]}
        return self._packed_object(value, where, path)

    def _packed_object(self, value: Any, where: str, path: Place) -> Any:
        if id(value) in self.objects:
            return {"j": list(self.objects).index(id(value))}
        state = objects.attributes(value)
        if state is None:
            raise TypeError(objects.refused(where, value))
        return {"i": [objects.name_of(type(value)), self._parts(value, state, where, path)]}

    def _parts(self, value: Any, state: dict[str, Any], where: str, path: Place) -> Any:
        self.objects[id(value)] = value  # first: its parts may refer to it
        return [
            [name, self.packed(part, f"{where}.{name}", (*path, name))]
            for name, part in state.items()
        ]

    def _packed_tensor(self, x: Tensor, where: str, path: Place) -> Any:
        if id(x) in self.objects:
            return {"j": list(self.objects).index(id(x))}
        array = x._array
        if not isinstance(array, np.ndarray):
            raise TypeError(
                "only tensors on NumPy arrays can be saved; detach and convert it first"
            )
        stored = array
        packed: dict[str, Any] = {}
        if array.dtype.kind == "c":  # safetensors has no complex numbers
            packed["c"] = array.dtype.name
            stored = np.stack([array.real, array.imag], -1)
            packed["t"] = self.stored(stored, path)
        else:
            packed["t"] = self.tensor(stored, path)
        if isinstance(x, Parameter):
            packed["p"] = 1
        if x.requires_grad:
            packed["g"] = 1
        if (kind := objects.derived(x)) is not None:
            packed["k"] = objects.name_of(kind)
        if state := objects.tensor_attributes(x):
            packed["a"] = self._parts(x, state, where, path)
        return packed


_MAPPINGS: dict[type, str] = {dict: "d", OrderedDict: "o", Counter: "k"}
_SEQUENCES: dict[type, str] = {list: "l", tuple: "u", set: "e", Size: "z"}


# ---- loading -------------------------------------------------------------------------------


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
) -> Any:
    """Read what `save` wrote, from a path or a file open for binary reading.

    Plain safetensors files give a dictionary of their tensors. The files of PyTorch's `torch.save`
    are read too, if they hold tensors, parameters, numbers, strings and containers of them:
    tensors keep their strides, and those that shared memory share it again. Nothing in a file is
    ever run. Of objects, the layers of `nn` are read and what `serialization.add_safe_globals`
    allows; with `weights_only=False` all modules and dataclasses that the program has imported.
    RuntimeError for a damaged file, UnpicklingError for one that holds more, NotImplementedError
    for a dtype that does not exist here (float8).

    `map_location` says where tensors go, as in PyTorch: a device, a dictionary of devices, or a
    function; all end on the CPU. Without it, tensors saved from a GPU are an error.
    """
    if isinstance(map_location, str) or hasattr(map_location, "type"):
        check_device(map_location)
    elif isinstance(map_location, dict):
        for place in map_location.values():
            check_device(place)
    elif map_location is not None and not callable(map_location):
        raise TypeError(
            "map_location should be a device, a dictionary of devices or a function, not a "
            f"{type(map_location).__name__}"
        )
    if pickle_module not in (None, pickle):
        raise ValueError("load: no other module reads the pickles; leave pickle_module out")
    name = getattr(f, "name", "the file") if hasattr(f, "read") else os.fspath(f)
    data = f.read() if hasattr(f, "read") else Path(os.fspath(f)).read_bytes()
    # A safetensors file may begin with any eight bytes; but then comes JSON.
    if data.startswith((b"PK\x03\x04", pickle.PROTO)) and data[8:9] != b"{":
        return torch_files.read(data, name, map_location, weights_only is False)
    header = _header(data, name)
    arrays = _arrays(data, name)
    text = header.get("__metadata__", {}).get(KEY)
    if text is None:
        return {key: wrap(array) for key, array in arrays.items()}
    try:
        structure = json.loads(text)
        version = structure["format"]
        if version != FORMAT:
            raise RuntimeError(
                f"{name} has format {version}, and this version of wengert reads format {FORMAT}. "
                "Update wengert."
            )
        return _Reader(arrays, weights_only is False).unpacked(structure["object"])
    except (AttributeError, RecursionError, KeyError, ValueError, TypeError, IndexError) as error:
        raise RuntimeError(
            f"{name} is damaged: its description of the saved object does not fit its tensors "
            f"({error!r}). Load another copy."
        ) from error


def _header(data: bytes, name: str) -> Any:
    """The JSON head of a safetensors file."""
    if len(data) < 8:
        raise RuntimeError(
            f"{name} has {len(data)} bytes, too few for a saved object: was it cut off?"
        )
    n = int.from_bytes(data[:8], "little")
    if n > len(data) - 8:
        raise RuntimeError(
            f"{name} is not a file that wengert.save wrote, or it was cut off: its head should "
            f"have {n} bytes, and {len(data) - 8} follow."
        )
    try:
        return json.loads(data[8 : 8 + n])
    except (ValueError, RecursionError) as error:
        raise RuntimeError(f"{name} is damaged: its head is no JSON ({error}).") from error


def _arrays(data: bytes, name: str) -> dict[str, Any]:
    from safetensors import SafetensorError, deserialize

    try:
        return {
            key: np.array(np.ndarray(part["shape"], _dtype(key, part["dtype"]), part["data"]))
            for key, part in deserialize(data)
        }
    except (SafetensorError, ValueError, KeyError) as error:
        raise RuntimeError(
            f"{name} is damaged: its tensors cannot be read ({error}). Was it copied completely?"
        ) from error


def _dtype(key: str, code: str) -> np.dtype[Any]:
    """The dtype of a safetensors code, a kind and a number of bits: F32, BF16, BOOL."""
    kind, bits = re.findall(r"^([A-Z]*)(.*)", code)[0]
    try:
        return named(_KINDS.get(kind, code) + bits)
    except TypeError:
        raise NotImplementedError(
            f"the tensor {key!r} has the dtype {code}, which wengert does not have. Write the file "
            "anew where it came from, with x.float(), or leave that tensor out."
        ) from None


_KINDS = {"F": "float", "BF": "bfloat", "C": "complex", "I": "int", "U": "uint", "BOOL": "bool"}


class _Reader:
    """Turns JSON back into the object; a tensor that occurs twice becomes one array again."""

    def __init__(self, arrays: dict[str, Any], trusted: bool) -> None:
        self.arrays = arrays
        self.trusted = trusted
        self.parameters: dict[str, Tensor] = {}
        self.objects: list[Any] = []

    def unpacked(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.unpacked(v) for v in value]
        if not isinstance(value, dict):
            return value
        if "t" in value:
            return self._tensor(value)
        if "n" in value:
            array = self.arrays[value["n"]]
            return array[()] if value["s"] else array
        ((kind, content),) = value.items()
        for mapping, name in _MAPPINGS.items():
            if kind == name:
                return mapping({self.unpacked(k): self.unpacked(v) for k, v in content})
        if kind == "f":
            return float(content)
        if kind == "c":
            return complex(*content)
        if kind == "y":
            return named(content)
        if kind == "q":
            return Path(content)
        if kind == "w":
            return objects.function(content)
        if kind == "b":
            return objects.FACTORIES[content]
        if kind == "v":
            return objects.sparse(content[0], self.unpacked(content[1]))
        if kind == "h":
            return Storage(self.arrays[content])
        if kind == "x":
            named_tuple = objects.require(content[0], self.trusted)
            return objects.named_tuple(named_tuple, self.unpacked(content[1]))
        if kind == "m":
            makers = {objects.name_of(kind): make for kind, (_, make) in objects.MADE.items()}
            return makers[content[0]](*map(self.unpacked, content[1]))
        if kind == "j":
            return self.objects[content]
        if kind == "i":
            return self._object(*content)
        make = {name: sequence for sequence, name in _SEQUENCES.items()}[kind]
        return make(self.unpacked(v) for v in content)

    def _object(self, name: str, parts: Any) -> Any:
        item = objects.blank(objects.require(name, self.trusted))
        self.objects.append(item)  # first: its parts may refer to it
        return objects.give(item, {name: self.unpacked(part) for name, part in parts})

    def _tensor(self, value: Any) -> Tensor:
        if "p" in value and value["t"] in self.parameters:
            return self.parameters[value["t"]]  # tied weights are one
        array = self.arrays[value["t"]]
        if "c" in value:
            array = (array[..., 0] + 1j * array[..., 1]).astype(value["c"])
        out: Tensor = bare(Parameter if "p" in value else Tensor, array)
        if "g" in value:
            out.requires_grad_()
        if "k" in value:
            out = objects.tensor(out, objects.require(value["k"], self.trusted), {})
        if "p" in value:
            self.parameters[value["t"]] = out
        if "a" in value:
            self.objects.append(out)
            objects.tensor(out, None, {name: self.unpacked(part) for name, part in value["a"]})
        return out
