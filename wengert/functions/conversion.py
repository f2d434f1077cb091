"""From what users have (numbers, nested lists, arrays of any library) to an array.

Python's numbers have no size of their own, so they take PyTorch's defaults: int64, and the default
floating dtype. Numbers and arrays that have a dtype keep it, promoted with the others in a list.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.dispatch import known, quietly
from wengert.errors import DtypeError
from wengert.tensor import NUMBERS, Tensor

_PYTHON = {bool: dtypes.bool, int: dtypes.int64}


def to_array(data: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """A new array of what the user gave: nested lists, numbers, arrays, tensors."""
    if isinstance(data, Tensor):
        data = data._array
    if _is_of_another_kind(data):
        array = np.copy(data)  # an array of another kind stays one
        if dtype is None and dtypes.is_pythons_number(data):
            dtype = dtypes.result_type(data)
    elif isinstance(data, (np.ndarray, np.generic)) or (
        hasattr(data, "__array__") and not isinstance(data, type)
    ):
        array = np.array(dtypes.native(data if isinstance(data, np.ndarray) else np.asarray(data)))
    elif hasattr(data, "__dlpack__"):
        array = dtypes.native(np.array(np.from_dlpack(data)))
    else:
        return _from_python(data, None if dtype is None else dtypes.stated(dtype))
    if dtype is not None and array.dtype != dtype:
        if array.dtype.kind == "c" and dtypes.stated(dtype).kind not in "cb":
            array = array.real
        array = array.astype(dtype)
    return array


def _from_python(data: Any, dtype: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    kinds: set[Any] = set()
    nested = _nested(data, kinds)
    try:
        array = _joined(nested)
    except ValueError as error:
        raise ValueError(
            f"could not build a tensor from nested lists of different lengths ({error}). "
            "Pad the rows to one length."
        ) from None
    target = _promoted(kinds) if dtype is None else dtype
    if array.dtype == object or (array.dtype == np.uint64 and target == np.int64):
        raise ValueError(
            f"Overflow: an integer here does not fit {target}. Write it as a float, or give "
            "dtype=wengert.uint64 for whole numbers up to 2**64 - 1."
        )
    if array.dtype != target:
        _check_fits(array, target)
        array = _converted(array, target)
    return array


@quietly
def _converted(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array in another dtype; what is too large for float32 is infinite there."""
    return array.astype(dtype)


def _nested(data: Any, kinds: set[Any]) -> Any:
    """Nested lists of numbers, and in `kinds` the types or dtypes that were met."""
    if isinstance(data, (list, tuple, range)):
        types = set(map(type, data))
        if all(kind in (int, float, bool, complex) for kind in types):
            kinds |= types
            return data
        return [_nested(item, kinds) for item in data]
    if isinstance(data, Tensor):
        return _nested(data._array, kinds)
    if isinstance(data, (np.ndarray, np.generic)):
        kinds.add(dtypes.native(np.asarray(data)).dtype)
        return data
    if _is_of_another_kind(data):
        kinds.add(_of_item(data) if dtypes.is_pythons_number(data) else data.dtype)
        return data
    if isinstance(data, (bool, int, float, complex)):
        kinds.add(next(kind for kind in (bool, int, float, complex) if isinstance(data, kind)))
        return data
    if hasattr(data, "__array__"):
        return _nested(np.asarray(data), kinds)
    if (
        hasattr(data, "__len__")
        and hasattr(data, "__getitem__")
        and not isinstance(data, (dict, str, bytes))
    ):
        return [_nested(data[i], kinds) for i in range(len(data))]
    hint = (
        "use None as 0.0 or NaN"
        if data is None
        else "wrap it in list(...)"
        if hasattr(data, "__iter__")
        else "use float(...)"
    )
    if isinstance(data, (str, bytes)):
        hint = "tensors hold numbers; encode text as integers"
    elif isinstance(data, dict):
        hint = "build a tensor from list(d.values())"
    elif isinstance(data, numbers.Number):
        hint = "convert it with float(...)"
    raise DtypeError(
        f"Could not infer dtype of {type(data).__name__}: cannot make a tensor of it; {hint}."
    )


def _is_of_another_kind(x: Any) -> bool:
    return not known(x) and hasattr(type(x), "__array_function__")


def _of_item(number: Any) -> type:
    """The class of Python's number that an array of another kind stands for."""
    return type(np.zeros((), number.dtype).item())


def _joined(nested: Any) -> Any:
    """The array of nested lists, in which arrays of another kind may be."""
    if isinstance(nested, list) and any(map(_holds_another_kind, nested)):
        return np.stack([_joined(part) for part in nested])
    return nested if _is_of_another_kind(nested) else np.array(nested)


def _holds_another_kind(nested: Any) -> bool:
    if type(nested) in NUMBERS:
        return False
    return (
        any(map(_holds_another_kind, nested))
        if isinstance(nested, list)
        else _is_of_another_kind(nested)
    )


def _promoted(kinds: set[Any]) -> np.dtype[Any]:
    result: np.dtype[Any] | None = None
    for kind in kinds:
        if kind is float:
            dtype = dtypes.get_default_dtype()
        elif kind is complex:
            dtype = dtypes.default_complex()
        else:
            dtype = _PYTHON.get(kind, kind)
        result = dtype if result is None else dtypes.promote_types(result, dtype)
    return dtypes.get_default_dtype() if result is None else result


def _check_fits(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> None:
    """RuntimeError if numbers written out by the user have no counterpart in `dtype`."""
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        raise TypeError(
            f"must be real number, not complex, for dtype {dtype}. Use a complex dtype, or "
            "write x.real."
        )
    if dtype.kind not in "iu" or not array.size or array.dtype.kind == "b":
        return
    low, high = (
        (float(array.min()), float(array.max()))
        if dtypes.is_floating(array.dtype)
        else (int(array.min()), int(array.max()))
    )
    limits = np.iinfo(dtype)
    lowest = (
        -int(limits.max) if dtype.kind == "u" else int(limits.min)
    )  # -1 is the largest, as in C
    if not (low >= lowest and high <= limits.max):  # NaN fails both
        wrong = low if not low >= lowest else high
        raise RuntimeError(
            f"value cannot be converted to type {dtype} without overflow: {wrong}. "
            "Choose a larger dtype."
        )
