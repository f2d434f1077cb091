"""Data types are NumPy's, with what PyTorch's know of themselves.

Promotion follows PyTorch: the category decides first.

Categories are bool < integer < floating < complex. A number or a zero-dimensional tensor changes a
result's dtype only if its category is higher than that of the tensors with dimensions.
"""

from __future__ import annotations

import builtins
import ctypes
import functools
import gc
from typing import Any

import numpy as np

float16 = half = np.dtype("float16")
float32 = float = np.dtype("float32")
float64 = double = np.dtype("float64")
complex64 = cfloat = np.dtype("complex64")
complex128 = cdouble = np.dtype("complex128")
int8 = np.dtype("int8")
int16 = short = np.dtype("int16")
int32 = int = np.dtype("int32")
int64 = long = np.dtype("int64")
uint8 = np.dtype("uint8")
uint16 = np.dtype("uint16")
uint32 = np.dtype("uint32")
uint64 = np.dtype("uint64")
bool = np.dtype("bool")

_CATEGORY = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3}
_REAL = {builtins.float, builtins.int, builtins.bool}
_default = float32


def get_default_dtype() -> np.dtype[Any]:
    """The dtype of floating-point tensors made from Python numbers: float32 at first.

    >>> get_default_dtype()
    dtype('float32')
    """
    return _default


def set_default_dtype(dtype: Any) -> None:
    """Make `dtype`, a floating-point one, the default; TypeError otherwise."""
    global _default
    if isinstance(dtype, str) or not is_floating(dtype := stated(dtype)):
        raise TypeError(
            f"only floating-point types are supported as the default dtype, got {dtype}. "
            "Try wengert.float32 or wengert.float64."
        )
    _default = dtype


def default_complex() -> np.dtype[Any]:
    return complex128 if _default == float64 else complex64


def is_inexact(dtype: np.dtype[Any]) -> Any:
    """Whether values of this dtype can have derivatives: floating point or complex."""
    return _CATEGORY[dtype.kind] >= 2


def is_floating(dtype: np.dtype[Any]) -> Any:
    """Whether values of this dtype are real and floating point."""
    return _CATEGORY[dtype.kind] == 2


def is_bfloat16(dtype: np.dtype[Any]) -> Any:
    """Whether this is the dtype that `ml_dtypes` adds, which is not imported to be asked."""
    return dtype.kind == "V" and dtype.name == "bfloat16"


def is_half(dtype: np.dtype[Any]) -> Any:
    """Whether this is float16 or bfloat16."""
    return dtype.char in "eE"


def bfloat16() -> np.dtype[Any]:
    """The dtype bfloat16, from the package ml_dtypes, which few programs need."""
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


def named(name: str) -> np.dtype[Any]:
    """The dtype of a name that a file gives, bfloat16's too, which NumPy alone does not know."""
    return bfloat16() if name == "bfloat16" else np.dtype(name)


def limits(dtype: np.dtype[Any]) -> Any:
    """What `np.finfo` says of a floating-point dtype."""
    if not is_bfloat16(dtype):
        return np.finfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


def is_number(dtype: np.dtype[Any]) -> Any:
    """Whether values of this dtype are truth values or numbers."""
    return dtype.kind in "biufc" or is_bfloat16(dtype)


def of(x: Any) -> np.dtype[Any]:
    """The dtype of an array or of a number."""
    return x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype


def same(x: Any, z: Any) -> Any:
    """Whether two operands need no promotion: equal dtypes, or nothing to promote."""
    try:
        if x.dtype is z.dtype:
            return True
    except AttributeError:
        if z is None or x is None:
            return True
    number = x if not hasattr(x, "dtype") or is_pythons_number(x) else z
    array = z if number is x else x
    # A real number takes on the dtype of a floating-point array.
    return class_of(number) in _REAL and getattr(array, "dtype", bool).kind in "fc"


def promote_types(type1: Any, type2: Any) -> np.dtype[Any]:
    """The dtype that holds both, as PyTorch decides it.

    >>> promote_types(int64, float32)
    dtype('float32')
    """
    a, b = stated(type1), stated(type2)
    if a == b:
        return a
    if is_half(a) and is_half(b):
        return float32  # neither holds the other's numbers
    low, high = sorted((a, b), key=lambda dtype: _CATEGORY[dtype.kind])
    if _CATEGORY[low.kind] == _CATEGORY[high.kind] or (is_floating(low) and high.kind == "c"):
        return np.promote_types(a, b)
    return high


def _of_number(value: Any) -> np.dtype[Any]:
    if type(value) is builtins.float:
        return _default
    if isinstance(value, np.generic):
        value = value.item()
    if value is True or value is False:
        return bool
    if isinstance(value, complex):
        return default_complex()
    return int64 if hasattr(number(value), "__index__") else _default


def number(value: Any) -> Any:
    """The value, if it is a number, an array or a sequence of numbers; TypeError otherwise."""
    if type(value) in (builtins.float, builtins.int) and abs(value) < 1 << 63:
        return value
    kind = of(value).kind
    if kind not in "biufcV":
        raise TypeError(f"a tensor or a number was expected, not {type(value).__name__} {value!r}")
    return value


def can_cast(from_: Any, to: Any) -> Any:
    """Whether results of one dtype may be written into a tensor of another, as PyTorch decides it.

    >>> can_cast(float64, float32), can_cast(float64, int64)
    (True, False)
    """
    return _CATEGORY[stated(from_).kind] <= _CATEGORY[stated(to).kind]


def is_number_to_come(x: Any) -> builtins.bool:
    """Whether an array of another kind is a number, of Python's or NumPy's, not known yet."""
    return getattr(x, "scalar", False) is True


def is_pythons_number(x: Any) -> builtins.bool:
    """Whether it is one of Python's."""
    return getattr(x, "weak", False) is True


def class_of(x: Any) -> type:
    """The class of a value; of an array of another kind that is a number to come, that number's."""
    if is_pythons_number(x):
        return type(x.dtype.type(0).item())
    return x.dtype.type if is_number_to_come(x) else getattr(type(x), "stands_for", type(x))


def result_type(*operands: Any) -> np.dtype[Any]:
    """The dtype of an operation on tensors and numbers, as PyTorch decides it.

    >>> result_type(np.ones(2, int64), 1.5)
    dtype('float32')
    """
    if len(operands) == 1 and type(operands[0]) in (builtins.float, builtins.int):
        return _of_number(operands[0])
    if len(operands) == 2:  # most often of one dtype
        a, b = operands
        if type(a) is type(b) is np.ndarray and a.dtype is b.dtype:
            return a.dtype
    best: list[np.dtype[Any] | None] = [None, None, None]
    for operand in operands:
        if hasattr(operand, "dtype") and not isinstance(operand, np.generic):
            if is_foreign(operand):
                raise foreign(operand)
            priority = 0 if len(operand.shape) else 1
            dtype = operand.dtype
            if type(operand) is not np.ndarray and is_number_to_come(operand):
                priority, dtype = 2, _of_number(dtype.type(0).item())
        else:
            priority, dtype = 2, _of_number(operand)
        known = best[priority]
        best[priority] = dtype if known is None else promote_types(known, dtype)
    result: np.dtype[Any] | None = None
    for dtype in best:
        if dtype is None:
            continue
        if result is None:
            result = dtype
        elif _CATEGORY[dtype.kind] > _CATEGORY[result.kind]:
            # Only the category comes from a number: a complex number makes float64 complex128.
            result = promote_types(dtype, result)
    assert result is not None
    return result


_SUPPORTED = frozenset(
    (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    )
)


@functools.cache  # NumPy makes the name of a dtype anew each time
def canonical(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The one object that stands for a dtype: NumPy has several for int64, and for byte orders."""
    return dtype if dtype.kind == "V" else np.dtype(dtype.name)


@functools.cache
def is_supported(dtype: np.dtype[Any]) -> builtins.bool:
    """Whether tensors hold values of this dtype."""
    return dtype.name in _SUPPORTED


def stated(dtype: Any) -> np.dtype[Any]:
    """The dtype that an argument states; TypeError if it states none that tensors have.

    >>> stated(int32), stated("uint8")
    (dtype('int32'), dtype('uint8'))
    """
    try:
        kind = (
            None if dtype is None or hasattr(type(dtype), "__array_function__") else np.dtype(dtype)
        )
    except TypeError:
        kind = None
    if kind is None or not is_supported(kind):
        raise no_dtype(dtype)
    return kind


def asked(dtype: Any) -> np.dtype[Any]:
    """`np.dtype`; what stands for a number, or an array, while tracing states no dtype either."""
    if hasattr(type(dtype), "__array_function__"):
        number = is_number_to_come(dtype)
        dtype = dtype.known("a dtype") if number else np.empty(dtype.shape, dtype.dtype)
    return np.dtype(dtype)


def or_default(dtype: Any) -> np.dtype[Any]:
    """The dtype that an argument states, the default one if it is None."""
    return _default if dtype is None else stated(dtype)


def no_dtype(dtype: Any) -> TypeError:
    """What is said of an argument that states no dtype: NumPy takes any class for objects."""
    what = dtype.__name__ if isinstance(dtype, type) else repr(dtype)
    return TypeError(
        f"argument 'dtype' must be a dtype, such as wengert.float64 or wengert.int64, not {what}"
    )


def native(array: Any) -> Any:
    """An array of numbers in this machine's byte order; TypeError for any other kind of array."""
    dtype = array.dtype
    if not is_supported(dtype):
        what = "objects" if dtype.kind == "O" else f"dtype {dtype}"
        hint = "np.asarray(x, dtype=float)" if dtype.kind in "OSU" else "x.astype(float)"
        raise TypeError(
            f"can't convert an array of {what} to a tensor: tensors hold integers, floating-point "
            f"numbers of up to 64 bits, complex numbers and truth values. Try {hint} first."
        )
    if type(array) is not np.ndarray:
        if hasattr(array, "filled"):
            raise TypeError(
                "a masked array would lose its mask as a tensor. Use x.filled(...) first."
            )
        if hasattr(array, "__array_function__") and not isinstance(array, (np.ndarray, np.generic)):
            return array
        array = np.asarray(array)
    target = canonical(dtype)
    if dtype is target:
        return array
    return array.view(target) if dtype.isnative else array.astype(target)


def foreign(x: Any) -> TypeError:
    """The error of an array of another library among tensors."""
    kind = f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}"
    return TypeError(
        f"expected a wengert Tensor, a NumPy array or a number, but got a {kind}. Convert it with "
        "wengert.tensor(x), which copies, or wengert.from_dlpack(x), which shares its memory; "
        "either leaves the history that the other library keeps."
    )


def is_foreign(x: Any) -> Any:
    """Whether this is an array of a library whose functions ours cannot call."""
    return hasattr(x, "__dlpack__") and not hasattr(x, "__array_function__")


# ---- what PyTorch's dtypes know of themselves -----------------------------------------------


def _to_real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of a complex number's parts; of others themselves."""
    return np.empty((), dtype).real.dtype if dtype.kind == "c" else dtype


def _to_complex(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The complex dtype whose parts hold such numbers."""
    if not is_inexact(dtype):
        raise RuntimeError(f"there is no complex dtype of {dtype}. Convert to float32 first.")
    return complex64 if dtype.itemsize <= 4 or dtype == complex64 else complex128


_KNOWN = {
    "is_floating_point": property(lambda dtype: is_inexact(dtype) and dtype.kind != "c"),
    "is_complex": property(lambda dtype: dtype.kind == "c"),
    "is_signed": property(lambda dtype: dtype.kind not in "bu"),
    "to_real": _to_real,
    "to_complex": _to_complex,
}


def _teach(kind: type, known: dict[str, Any]) -> None:
    """Write attributes into a class of C's making.

    NumPy's class of dtypes can be neither derived from nor assigned to. Objects of one's own that
    NumPy takes for dtypes are none to `np.result_type` and `isinstance`, are not `np.float32`'s,
    and cost a lookup wherever a tensor is asked for its dtype. So the names are added to the
    class's dictionary, to which its read-only view refers; none of them is NumPy's.
    """
    (names,) = gc.get_referents(vars(kind))
    names.update({name: known[name] for name in known.keys() - names.keys()})
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


_teach(np.dtype, _KNOWN)
