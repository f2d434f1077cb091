"""Saving and loading: tensors as safetensors, structure as JSON beside them. No code, no pickle.

The file is a safetensors file. Its tensors are numbered, each stored once however often it occurs;
its metadata holds, under "wengert", the JSON text of the saved object, in which

    {"t": 3}                    stands for tensor 3 ("p": 1 a parameter, "g": 1 requires grad)
    [...], {"d": [[k, v]...]}   for a list and a dictionary
    {"o": ...}, {"u": ...}, ... for other things that JSON does not have: see `_packed`
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from wengert.tensor import Size, Tensor, bare, wrap

FORMAT = 1
KEY = "wengert"


def save(obj: Any, f: Any) -> None:
    """Write tensors, numbers, strings and nested lists, tuples and dictionaries of them to a file.

    `f` is a path or a file open for binary writing. A path is written beside its place first and
    then renamed, so that a crash leaves either the old file or the new one. TypeError for anything
    else, modules among them: save `module.state_dict()`.

    >>> import tempfile, os, wengert as wg
    >>> path = os.path.join(tempfile.mkdtemp(), "x.wg")
    >>> save({"weights": wg.ones(2), "epoch": 3}, path)
    >>> load(path)
    {'weights': tensor([1., 1.]), 'epoch': 3}
    """
    from safetensors.numpy import save as to_bytes

    writer = _Writer()
    structure = {"format": FORMAT, "object": writer.packed(obj, "the object")}
    arrays = {str(i): np.asarray(a, order="C") for i, a in enumerate(writer.arrays)}
    data = to_bytes(arrays, {KEY: json.dumps(structure)})
    if hasattr(f, "write"):
        f.write(data)
    else:
        _write_atomically(Path(os.fspath(f)), data)


def _write_atomically(path: Path, data: bytes) -> None:
    """The file's old content stays until the new one is safely on the disk."""
    import tempfile  # not needed to load

    handle, name = tempfile.mkstemp(prefix=path.name + ".", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o666 & ~_umask())  # mkstemp lets the owner read only
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class _Writer:
    """Turns an object into JSON, and collects its tensors."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self.known: dict[int, int] = {}

    def tensor(self, array: Any) -> int:
        number = self.known.setdefault(id(array), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(array)
        return number

    def packed(self, value: Any, where: str) -> Any:
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int) and type(value) is int:
            return value
        if isinstance(value, float) and type(value) is float:
            return value if np.isfinite(value) else {"f": repr(value)}
        if isinstance(value, Tensor):
            return self._packed_tensor(value)
        if isinstance(value, (np.ndarray, np.generic)):
            array = np.asarray(value)
            if array.dtype.kind not in "biufc":
                raise TypeError(_refused(where, value))
            return {"n": self.tensor(array), "s": int(isinstance(value, np.generic))}
        if type(value) in _SEQUENCES:
            items = [self.packed(v, f"{where}[{i}]") for i, v in enumerate(value)]
            return items if type(value) is list else {_SEQUENCES[type(value)]: items}
        if isinstance(value, dict) and type(value) in (dict, OrderedDict):
            pairs = [
                [self.packed(k, f"a key of {where}"), self.packed(v, f"{where}[{k!r}]")]
                for k, v in value.items()
            ]
            return {"d" if type(value) is dict else "o": pairs}
        if isinstance(value, complex):
            return {"c": [value.real, value.imag]}
        if isinstance(value, np.dtype):
            return {"y": value.name}
        raise TypeError(_refused(where, value))

    def _packed_tensor(self, x: Tensor) -> Any:
        from wengert.nn.parameter import Parameter

        array = x._array
        if not isinstance(array, np.ndarray):
            raise TypeError(
                "only tensors on NumPy arrays can be saved; detach and convert it first"
            )
        kind, stored = array.dtype, array
        packed: dict[str, Any] = {}
        if kind.kind == "c":  # safetensors has no complex numbers
            packed["c"] = kind.name
            stored = np.stack([array.real, array.imag], -1)
            self.arrays.append(stored)
            packed["t"] = len(self.arrays) - 1
        else:
            packed["t"] = self.tensor(stored)
        if isinstance(x, Parameter):
            packed["p"] = 1
        if x.requires_grad and x.is_leaf:
            packed["g"] = 1
        return packed


_SEQUENCES: dict[type, str] = {list: "l", tuple: "u", set: "e", Size: "z"}


def _refused(where: str, value: Any) -> str:
    advice = ""
    if hasattr(value, "state_dict"):
        advice = " Save its state_dict() instead."
    return (
        f"save: {where} is a {type(value).__name__}, and files hold tensors, numbers, strings, "
        "and lists, "
        f"tuples and dictionaries of them.{advice}"
    )


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

    Plain safetensors files give a dictionary of their tensors. Files never hold code, so loading
    one is safe whatever `weights_only` says. RuntimeError for a damaged file.
    """
    from wengert.functions.creation import check_device

    if isinstance(map_location, str) or hasattr(map_location, "type"):
        check_device(map_location)
    if pickle_module is not None:
        raise ValueError(
            "load: files hold no pickles, so pickle_module has no meaning; leave it out"
        )
    name = getattr(f, "name", "the file") if hasattr(f, "read") else os.fspath(f)
    data = f.read() if hasattr(f, "read") else Path(os.fspath(f)).read_bytes()
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
        return _Reader(arrays).unpacked(structure["object"])
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise RuntimeError(
            f"{name} is damaged: its description of the saved object does not fit its tensors "
            f"({error!r}). "
            "Load another copy."
        ) from error


def _header(data: bytes, name: str) -> Any:
    """The JSON head of a safetensors file."""
    if len(data) < 8:
        raise RuntimeError(
            f"{name} has {len(data)} bytes, too few for a saved object: was it cut off?"
        )
    n = int.from_bytes(data[:8], "little")
    # Such a file may begin with any length, and so with a pickle's first byte; but then comes JSON.
    if data[8:9] != b"{" and (data[:2] == b"PK" or data[:1] == b"\x80"):
        raise RuntimeError(
            f"{name} looks like a file of pickled objects (PyTorch's own format), which can run "
            "code when "
            "read. Convert it where it was made: safetensors.torch.save_file(state_dict, path)."
        )
    if n > len(data) - 8:
        raise RuntimeError(
            f"{name} is not a file that wengert.save wrote, or it was cut off: its head should "
            f"have {n} "
            f"bytes, and {len(data) - 8} follow."
        )
    try:
        return json.loads(data[8 : 8 + n])
    except ValueError as error:
        raise RuntimeError(f"{name} is damaged: its head is no JSON ({error}).") from error


def _arrays(data: bytes, name: str) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    try:
        return {key: np.array(array) for key, array in from_bytes(data).items()}
    except (SafetensorError, ValueError, KeyError) as error:
        raise RuntimeError(
            f"{name} is damaged: its tensors cannot be read ({error}). Was it copied completely?"
        ) from error


class _Reader:
    """Turns JSON back into the object; a tensor that occurs twice becomes one array again."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self.arrays = arrays

    def unpacked(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.unpacked(v) for v in value]
        if not isinstance(value, dict):
            return value
        if "t" in value:
            return self._tensor(value)
        if "n" in value:
            array = self.arrays[str(value["n"])]
            return array[()] if value["s"] else array
        ((kind, content),) = value.items()
        if kind in ("d", "o"):
            pairs = [(self.unpacked(k), self.unpacked(v)) for k, v in content]
            return dict(pairs) if kind == "d" else OrderedDict(pairs)
        if kind == "f":
            return float(content)
        if kind == "c":
            return complex(*content)
        if kind == "y":
            return np.dtype(content)
        make = {name: sequence for sequence, name in _SEQUENCES.items()}[kind]
        return make(self.unpacked(v) for v in content)

    def _tensor(self, value: Any) -> Tensor:
        from wengert.nn.parameter import Parameter

        array = self.arrays[str(value["t"])]
        if "c" in value:
            array = (array[..., 0] + 1j * array[..., 1]).astype(value["c"])
        out: Tensor = bare(Parameter if "p" in value else Tensor, array)
        return out.requires_grad_() if "g" in value else out
