"""The namespace of the Python array API standard, version 2024.12, for tensors.

Libraries written for the standard ask an array for its namespace: `x.__array_namespace__()` is this
module. NumPy's main namespace is one too, and its functions take Tensors and record what they do;
so most names are NumPy's own functions. Here are those that make arrays out of nothing, which make
tensors, and those where the standard says more than NumPy takes.

>>> import wengert as wg
>>> x = wg.tensor([1.0, 4.0], requires_grad=True)
>>> xp = x.__array_namespace__()
>>> xp.sum(xp.sqrt(x) * xp.arange(2.0)).backward()
>>> x.grad
tensor([0.0000, 0.2500])
"""

from __future__ import annotations

import inspect
from math import e, inf, nan, pi
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy import linalg, newaxis

from wengert import dtypes
from wengert.autograd.operands import cast
from wengert.dtypes import (
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from wengert.functions import creation, ranges, sorting
from wengert.functions import fft as fourier
from wengert.functions.arguments import constant, tensor_of
from wengert.functions.device import CPU
from wengert.tensor import Tensor

bool = dtypes.bool
__array_api_version__ = "2024.12"

NUMPYS = frozenset(
    {
        "abs", "acos", "acosh", "add", "all", "any", "argmax", "argmin", "asin", "asinh",
        "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert", "bitwise_left_shift",
        "bitwise_or", "bitwise_right_shift", "bitwise_xor", "broadcast_arrays", "can_cast",
        "ceil", "clip", "concat", "conj", "copysign", "cos", "cosh", "count_nonzero",
        "cumulative_prod", "cumulative_sum", "diff", "divide", "empty_like", "equal", "exp",
        "expand_dims", "expm1", "finfo", "flip", "floor", "floor_divide", "full_like",
        "greater", "greater_equal", "hypot", "iinfo", "imag", "isdtype", "isfinite",
        "isinf", "isnan", "less", "less_equal", "log", "log10", "log1p", "log2",
        "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul",
        "matrix_transpose", "max", "maximum", "mean", "meshgrid", "min", "minimum",
        "moveaxis", "multiply", "negative", "nextafter", "nonzero", "not_equal",
        "ones_like", "permute_dims", "positive", "pow", "real", "reciprocal", "remainder",
        "repeat", "reshape", "result_type", "roll", "round", "sign", "signbit", "sin",
        "sinh", "sqrt", "square", "squeeze", "stack", "subtract", "take", "take_along_axis",
        "tan", "tanh", "tensordot", "tile", "tril", "triu", "trunc", "unstack", "vecdot", "where",
        "zeros_like",
    }
)  # fmt: skip
"""Names that are NumPy's own functions."""

__all__ = [
    *sorted(NUMPYS), "arange", "argsort", "asarray", "astype", "bool", "broadcast_to", "complex128",
    "complex64", "e", "empty", "eye", "fft", "float32", "float64", "from_dlpack", "full", "inf",
    "int16", "int32", "int64", "int8", "linalg", "linspace", "nan", "newaxis", "ones", "pi", "prod",
    "searchsorted", "sort", "std", "sum", "unique_all", "unique_counts", "unique_inverse",
    "unique_values", "uint16", "uint32", "uint64", "uint8", "var", "zeros",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in NUMPYS:
        return getattr(np, name)
    raise AttributeError(f"the array API standard {__array_api_version__} has no {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


# ---- Fourier transforms --------------------------------------------------------------------


def _fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    return fourier.fftfreq(n, d, dtype=dtype, device=device)


def _rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    return fourier.rfftfreq(n, d, dtype=dtype, device=device)


fft = SimpleNamespace(**{name: getattr(np.fft, name) for name in np.fft.__all__})
fft.fftfreq, fft.rfftfreq = _fftfreq, _rfftfreq


class _Special:
    """SciPy's special functions, which SciPy looks for here where an extension is to be one day."""

    def __getattr__(self, name: str) -> Any:
        import scipy.special

        ufunc = inspect.unwrap(getattr(scipy.special, name))  # the ufunc, which asks tensors
        if not isinstance(ufunc, np.ufunc):
            raise AttributeError(name)
        return ufunc


special = _Special()

# ---- making arrays -------------------------------------------------------------------------


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Tensor:
    """`obj` as a tensor: one that is tracked stays so; memory is shared unless `copy`."""
    creation.check_device(device)
    if isinstance(obj, Tensor):
        wanted = obj.dtype if dtype is None else dtypes.stated(dtype)
        if copy is False and wanted != obj.dtype:
            raise ValueError(f"a copy is needed to make {obj.dtype} {wanted}, and copy=False")
        return cast(obj, wanted) if wanted != obj.dtype else obj.clone() if copy else obj
    shared = hasattr(type(obj), "__array__") or hasattr(type(obj), "__dlpack__")
    if copy is False and not shared:
        raise ValueError(f"a {type(obj).__name__} cannot be a tensor without a copy")
    if isinstance(obj, np.ndarray) and not copy:
        return creation.as_tensor(obj, dtype)
    return creation.tensor(obj, dtype=dtype)


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Tensor:
    """A tensor in the memory of another library's array; in its own if `copy`."""
    creation.check_device(device)
    tensor = creation.from_dlpack(x)
    return tensor.clone() if copy else tensor


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """The numbers from `start` (0 if not given) up to `stop`; none if that is not beyond."""
    start, stop = (0, start) if stop is None else (start, stop)
    if (stop - start) * step > 0:
        return ranges.arange(start, stop, step, dtype=dtype, device=device)
    return creation.zeros(0, dtype=dtype or dtypes.result_type(start, stop, step), device=device)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Tensor:
    """Zeros, with ones on the k-th diagonal."""
    creation.check_device(device)
    return constant(np.eye(n_rows, n_cols, k, dtype or dtypes.get_default_dtype()))


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of the given shape filled with 0."""
    return creation.zeros(shape, dtype=dtype, device=device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of the given shape filled with 1."""
    return creation.ones(shape, dtype=dtype, device=device)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of the given shape, not initialised."""
    return creation.empty(shape, dtype=dtype, device=device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of the given shape filled with one value."""
    return creation.full(shape, fill_value, dtype=dtype, device=device)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: Any = True,
) -> Tensor:
    """`num` numbers evenly spaced from `start` to `stop`, which is left out if not `endpoint`."""
    steps = num if endpoint else num + 1
    spaced = ranges.linspace(start, stop, steps, dtype=dtype, device=device)
    return spaced if endpoint else spaced[:-1]


# ---- where the standard says more ----------------------------------------------------------


def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Tensor:
    """`x` in another dtype, recorded."""
    return asarray(x, dtype=dtype, device=device, copy=copy or None)


def broadcast_to(x: Any, /, shape: Any) -> Any:
    """`x` repeated to a shape."""
    return np.broadcast_to(x, tuple(shape))


def _widened(x: Any, dtype: Any) -> Tensor:
    """The dtype that sums and products are in: integers are added in int64."""
    x = tensor_of(x)
    if dtype is not None:
        return cast(x, dtypes.stated(dtype))
    if x.dtype.kind in "bi":
        return cast(x, int64)
    return cast(x, uint64) if x.dtype.kind == "u" else x


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Tensor:
    """The sum over all axes, one, or several."""
    return np.sum(_widened(x, dtype), axis=axis, keepdims=keepdims)


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Tensor:
    """The product over all axes, one, or several."""
    return np.prod(_widened(x, dtype), axis=axis, keepdims=keepdims)


def var(x: Any, /, *, axis: Any = None, correction: Any = 0.0, keepdims: Any = False) -> Tensor:
    """The variance: squared distances from the mean, summed, over n - correction."""
    return np.var(x, axis=axis, ddof=correction, keepdims=keepdims)


def std(x: Any, /, *, axis: Any = None, correction: Any = 0.0, keepdims: Any = False) -> Tensor:
    """The square root of `var`."""
    return np.std(x, axis=axis, ddof=correction, keepdims=keepdims)


def sort(x: Any, /, *, axis: int = -1, descending: Any = False, stable: Any = True) -> Tensor:
    """The elements in order along an axis."""
    return sorting.sort(x, axis, descending, stable)[0]


def argsort(x: Any, /, *, axis: int = -1, descending: Any = False, stable: Any = True) -> Tensor:
    """The indices that sort along an axis."""
    return sorting.argsort(x, axis, descending, stable)


def searchsorted(x1: Any, x2: Any, /, *, side: Any = "left", sorter: Any = None) -> Tensor:
    """Where each element of `x2` would be inserted to keep `x1` sorted."""
    return sorting.searchsorted(x1, x2, side=side, sorter=sorter)


# ---- sets ----------------------------------------------------------------------------------
#
# The standard leaves the order open; NumPy's functions of these names use that, but scikit-learn
# expects what is sorted.


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Any, /) -> UniqueAll:
    """The different elements in order, where each first stands, which each is, how often it is."""
    x = tensor_of(x)
    _, *where = np.unique(
        x._array, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    indices, inverse, counts = map(constant, where)
    return UniqueAll(x.reshape(-1)[indices], indices, inverse, counts)


def unique_counts(x: Any, /) -> UniqueCounts:
    """The different elements in order, and how often each occurs."""
    unique = unique_all(x)
    return UniqueCounts(unique.values, unique.counts)


def unique_inverse(x: Any, /) -> UniqueInverse:
    """The different elements in order, and which of them each element is."""
    unique = unique_all(x)
    return UniqueInverse(unique.values, unique.inverse_indices)


def unique_values(x: Any, /) -> Tensor:
    """The different elements in order."""
    return unique_all(x).values


# ---- what there is -------------------------------------------------------------------------


class _Info:
    """What libraries may ask about this namespace."""

    def capabilities(self) -> dict[str, Any]:
        """Masks may index, and shapes may depend on values; arrays have at most 64 dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """The CPU."""
        return CPU

    def devices(self) -> list[Any]:
        """The CPU."""
        return [CPU]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes that numbers become."""
        creation.check_device(device)
        return {
            "real floating": dtypes.get_default_dtype(),
            "complex floating": dtypes.default_complex(),
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """All dtypes by name, or those of a kind (or of one of several)."""
        creation.check_device(device)
        every = (
            *(bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64),
            *(float32, float64, complex64, complex128),
        )
        return {d.name: d for d in every if kind is None or np.isdtype(d, kind)}


def __array_namespace_info__() -> _Info:
    return _Info()
