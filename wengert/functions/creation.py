"""Making tensors: from data, and filled with something."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.history import modes
from wengert.history.node import AccumulateGrad
from wengert.tensor import INFERENCE, Tensor, wrap

Shape = Any


def finish(array: Any, requires_grad: bool = False) -> Tensor:
    """A new leaf around an array."""
    out = wrap(array)
    if modes.special and modes.current().inference:
        out._origin = INFERENCE
    if requires_grad:
        require(out)
    return out


def require(x: Tensor) -> Tensor:
    """Mark a leaf: history ends here, and gradients are added here."""
    if not dtypes.is_inexact(x._array.dtype):
        raise RuntimeError(
            "only Tensors of floating point and complex dtype can require gradients, but this one "
            f"is {x._array.dtype}. Use x.float() or dtype=wengert.float32."
        )
    x._node = AccumulateGrad(x)
    return x


def native(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array of numbers in this machine's byte order; TypeError for any other kind."""
    if array.dtype.kind not in "biufcV" or (array.dtype.kind == "V" and array.dtype.name != "bfloat16"):
        kind = "objects" if array.dtype.kind == "O" else f"dtype {array.dtype}"
        raise TypeError(
            f"can't convert an array of {kind} to a tensor: tensors hold numbers. "
            "Try np.asarray(x, dtype=float) first, or build it from lists of equal length."
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def to_array(data: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """A new array of what the user gave: nested lists, numbers, arrays, tensors."""
    if isinstance(data, Tensor):
        array = np.array(data._array)
    elif hasattr(data, "__array__") or isinstance(data, np.generic):
        array = native(np.array(data))
    elif hasattr(data, "__dlpack__"):
        array = native(np.array(np.from_dlpack(data)))
    else:
        array = _from_python(data, dtype)
    if dtype is not None and array.dtype != dtype:
        if array.dtype.kind == "c" and np.dtype(dtype).kind not in "cb":
            array = array.real
        array = array.astype(dtype)
    return array


def _from_python(data: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    plain = _plain(data)
    try:
        array = np.array(plain)
    except ValueError as error:
        raise ValueError(
            f"could not build a tensor from nested lists of different lengths ({error}). "
            "Pad the rows to one length."
        ) from None
    array = native(array)
    if dtype is not None:
        return array  # on its way to that dtype, at full precision
    if array.dtype.kind == "f" and not _has_numpy_floats(plain):
        array = array.astype(dtypes.get_default_dtype())
    elif array.dtype.kind == "c":
        array = array.astype(dtypes.default_complex())
    elif array.size == 0 and array.dtype.kind == "f":
        array = array.astype(dtypes.get_default_dtype())
    return array


def _plain(data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return [_plain(item) for item in data]
    if isinstance(data, Tensor):
        return data._array.tolist()
    if not isinstance(data, (numbers.Number, np.generic, np.ndarray, str)) and hasattr(data, "__len__") and hasattr(data, "__getitem__"):
        return [_plain(data[i]) for i in range(len(data))]
    return data


def _has_numpy_floats(data: Any) -> bool:
    while isinstance(data, list):
        if not data:
            return False
        data = data[0]
    return isinstance(data, (np.floating, np.ndarray)) and not isinstance(data, float)


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor with a copy of `data`: numbers, nested lists, a NumPy array, a tensor of any library.

    Python floats become the default dtype, integers int64; NumPy arrays keep theirs.

    >>> import wengert as wg
    >>> wg.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    check_device(device)
    return finish(to_array(data, dtype), requires_grad)


def check_device(device: Any) -> None:
    """Accept the CPU, in any spelling; anything else is a clear error."""
    if device is None or str(getattr(device, "type", device)).split(":")[0] in ("cpu", "meta"):
        return
    raise RuntimeError(
        f"wengert computes on the CPU; device {device!s} is not available. Use device='cpu', or "
        "choose it with 'cuda' if wengert.cuda.is_available() else 'cpu'."
    )


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing memory with a NumPy array or tensor where that is possible."""
    check_device(device)
    if isinstance(data, Tensor):
        return data if dtype is None or data.dtype == dtype else data.to(dtype)
    if isinstance(data, np.ndarray) and (dtype is None or data.dtype == dtype):
        return finish(native(data))
    return tensor(data, dtype=dtype)


def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False) -> Tensor:
    """`obj` as a tensor; memory is shared unless `copy` is true."""
    out = tensor(obj, dtype=dtype) if copy else as_tensor(obj, dtype, device)
    return out.requires_grad_() if requires_grad else out


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares the memory of a NumPy array.

    >>> import numpy as np, wengert as wg
    >>> a = np.zeros(2)
    >>> wg.from_numpy(a).add_(1)
    tensor([1., 1.], dtype=wengert.float64)
    >>> a
    array([1., 1.])
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__}). Use wengert.tensor for other data.")
    return finish(native(np.asarray(array)))


def from_dlpack(x: Any) -> Tensor:
    """A tensor that shares the memory of any array that speaks DLPack."""
    return finish(native(np.from_dlpack(x)))


def legacy_tensor(*args: Any, **kwargs: Any) -> Tensor:
    """The old constructor `Tensor(2, 3)` or `Tensor([1, 2])`: sizes, or data as the default dtype."""
    dtype = kwargs.pop("dtype", None) or dtypes.get_default_dtype()
    if not args:
        return finish(np.empty(0, dtype))
    if len(args) == 1 and not isinstance(args[0], int):
        if isinstance(args[0], Size):
            return finish(np.zeros(args[0], dtype))
        return finish(to_array(args[0], dtype))
    return finish(np.zeros(shape_of(args), dtype))


from wengert.tensor import Size  # noqa: E402


def shape_of(size: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given as separate numbers or as one sequence."""
    if len(size) == 1 and not hasattr(size[0], "__index__"):
        size = tuple(size[0])
    elif len(size) == 1 and isinstance(size[0], Tensor) and size[0].ndim == 1:
        size = tuple(size[0].tolist())
    shape = tuple(int(n) for n in size)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def _factory(fill: Any, doc: str) -> Any:
    def make(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, layout: Any = None, pin_memory: bool = False, out: Any = None, memory_format: Any = None, **named: Any) -> Tensor:
        check_device(device)
        if "size" in named:
            size = (named.pop("size"),)
        if named:
            raise TypeError(f"unexpected keyword argument {next(iter(named))!r}")
        array = fill(shape_of(size), np.dtype(dtype) if dtype is not None else dtypes.get_default_dtype())
        return finish(array, requires_grad) if out is None else out.copy_(wrap(array))

    make.__doc__ = doc
    return make


zeros = _factory(np.zeros, "A tensor of the given shape filled with 0.")
ones = _factory(np.ones, "A tensor of the given shape filled with 1.")
empty = _factory(np.empty, "A tensor of the given shape, its values left as they are in memory.")
for made, name in ((zeros, "zeros"), (ones, "ones"), (empty, "empty")):
    made.__name__ = made.__qualname__ = name


def full(size: Shape, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **ignored: Any) -> Tensor:
    """A tensor of the given shape filled with one value, whose kind decides the dtype."""
    check_device(device)
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    dtype = dtype if dtype is not None else dtypes.result_type(value)
    return finish(np.full(shape_of((size,)), value, dtype), requires_grad)


def _like(fill: Any, doc: str) -> Any:
    def make(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, layout: Any = None, pin_memory: bool = False, memory_format: Any = None) -> Tensor:
        check_device(device)
        array = fill(tuple(input.shape), dtype if dtype is not None else input.dtype)
        return finish(array, requires_grad)

    make.__doc__ = doc
    return make


zeros_like = _like(np.zeros, "Zeros of the shape and dtype of `input`.")
ones_like = _like(np.ones, "Ones of the shape and dtype of `input`.")
empty_like = _like(np.empty, "An uninitialised tensor of the shape and dtype of `input`.")


def full_like(input: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **ignored: Any) -> Tensor:
    """One value repeated in the shape and dtype of `input`."""
    return full(tuple(input.shape), fill_value, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)


def arange(start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **ignored: Any) -> Tensor:
    """Numbers from `start` (0) up to but not including `end`, `step` apart.

    >>> import wengert as wg
    >>> wg.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    check_device(device)
    if end is None:
        start, end = 0, start
    start, end, step = (v.item() if isinstance(v, (Tensor, np.generic)) else v for v in (start, end, step))
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * (1 if step > 0 else -1) < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is None:
        whole = all(isinstance(v, int) for v in (start, end, step))
        dtype = dtypes.int64 if whole else dtypes.get_default_dtype()
    n = math.ceil((end - start) / step)
    return finish((start + step * np.arange(n)).astype(dtype), requires_grad)


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **ignored: Any) -> Tensor:
    """`steps` numbers evenly spaced from `start` to `end`, both included."""
    check_device(device)
    dtype = dtype if dtype is not None else dtypes.get_default_dtype()
    return finish(np.linspace(float(start), float(end), steps).astype(dtype), requires_grad)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **ignored: Any) -> Tensor:
    """The identity matrix, n by n, or n by m with ones on the diagonal."""
    check_device(device)
    return finish(np.eye(n, m, dtype=dtype if dtype is not None else dtypes.get_default_dtype()), requires_grad)
