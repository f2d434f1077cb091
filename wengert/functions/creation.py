"""Making tensors: from data, and filled with something."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.dispatch import alike, known
from wengert.functions.conversion import to_array
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


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of `data`: numbers, nested lists, an array or tensor of any library.

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
    if _is_array(data) and (dtype is None or data.dtype == dtype):
        return finish(dtypes.native(data))
    return tensor(data, dtype=dtype)


def _is_array(x: Any) -> bool:
    """Whether this is an array, of NumPy's or of another kind that may stand for one."""
    return isinstance(x, np.ndarray) or hasattr(type(x), "__array_function__")


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
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
    if not _is_array(array):
        raise TypeError(
            f"expected np.ndarray (got {type(array).__name__}). Use wengert.tensor for other data."
        )
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order, so its memory "
            "cannot be shared. Use wengert.tensor, which copies and converts it."
        )
    return finish(dtypes.native(array))


def from_dlpack(x: Any) -> Tensor:
    """A tensor that shares the memory of any array that speaks DLPack."""
    return finish(dtypes.native(np.from_dlpack(x)))


def legacy_tensor(*args: Any, **kwargs: Any) -> Tensor:
    """The old constructor `Tensor(2, 3)` or `Tensor([1, 2])`: sizes, or data in the default dtype.

    The elements of a tensor made of sizes are 0.
    """
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
        if not hasattr(size[0], "__iter__") or isinstance(size[0], str):
            raise TypeError(f"argument 'size' must be tuple of ints, not {type(size[0]).__name__}")
        size = tuple(size[0])
    elif len(size) == 1 and isinstance(size[0], Tensor) and size[0].ndim == 1:
        size = tuple(size[0].tolist())
    shape = tuple(operator.index(n) for n in size)
    if any(n < 0 for n in shape):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )
    return shape


def _factory(fill: Any, doc: str) -> Any:
    def make(
        *size: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
        pin_memory: bool = False,
        out: Any = None,
        memory_format: Any = None,
        **named: Any,
    ) -> Tensor:
        check_device(device)
        if "size" in named:
            size = (named.pop("size"),)
        if named:
            raise TypeError(f"unexpected keyword argument {next(iter(named))!r}")
        array = fill(
            shape_of(size), np.dtype(dtype) if dtype is not None else dtypes.get_default_dtype()
        )
        return finish(array, requires_grad) if out is None else out.copy_(wrap(array))

    make.__doc__ = doc
    return make


zeros = _factory(np.zeros, "A tensor of the given shape filled with 0.")
ones = _factory(np.ones, "A tensor of the given shape filled with 1.")
empty = _factory(np.empty, "A tensor of the given shape, its values left as they are in memory.")
for made, name in ((zeros, "zeros"), (ones, "ones"), (empty, "empty")):
    made.__name__ = made.__qualname__ = name


def full(
    size: Shape,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """A tensor of the given shape filled with one value, whose kind decides the dtype."""
    check_device(device)
    value = fill_value
    if isinstance(value, Tensor):
        value = value.item() if known(value._array) else value._array
    dtype = dtype if dtype is not None else dtypes.result_type(value)
    if isinstance(value, (np.ndarray, np.generic)) or not _is_array(value):
        return finish(np.full(shape_of((size,)), value, dtype), requires_grad)
    return finish(np.full_like(value, value, dtype, shape=shape_of((size,))), requires_grad)


def _like(fill: Any, doc: str) -> Any:
    def make(
        input: Any,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
        pin_memory: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        check_device(device)
        array = fill(tuple(input.shape), dtype if dtype is not None else input.dtype)
        return finish(alike(input._array, array), requires_grad)

    make.__doc__ = doc
    return make


zeros_like = _like(np.zeros, "Zeros of the shape and dtype of `input`.")
ones_like = _like(np.ones, "Ones of the shape and dtype of `input`.")
empty_like = _like(np.empty, "An uninitialised tensor of the shape and dtype of `input`.")


def full_like(
    input: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """One value repeated in the shape and dtype of `input`."""
    return full(
        tuple(input.shape),
        fill_value,
        dtype=dtype or input.dtype,
        device=device,
        requires_grad=requires_grad,
    )


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Numbers from `start` (0) up to but not including `end`, `step` apart.

    >>> import wengert as wg
    >>> wg.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    check_device(device)
    if end is None:
        start, end = 0, start
    start, end, step = (
        v.item() if isinstance(v, (Tensor, np.generic)) else v for v in (start, end, step)
    )
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * (1 if step > 0 else -1) < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is None:
        whole = all(isinstance(v, int) for v in (start, end, step))
        dtype = dtypes.int64 if whole else dtypes.get_default_dtype()
    n = math.ceil((end - start) / step)
    return finish((start + step * np.arange(n)).astype(dtype), requires_grad)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """`steps` numbers evenly spaced from `start` to `end`, both included."""
    check_device(device)
    dtype = dtype if dtype is not None else dtypes.get_default_dtype()
    return finish(np.linspace(float(start), float(end), steps).astype(dtype), requires_grad)


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """The identity matrix, n by n, or n by m with ones on the diagonal."""
    check_device(device)
    return finish(
        np.eye(n, m, dtype=dtype if dtype is not None else dtypes.get_default_dtype()),
        requires_grad,
    )
