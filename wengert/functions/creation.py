"""Making tensors: from data, and filled with something."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import kind_of
from wengert.autograd.misfits import told
from wengert.autograd.operands import number_in
from wengert.autograd.out import fill_out
from wengert.autograd.settings import refuse_unless_truth, settled
from wengert.dispatch import called
from wengert.errors import LayoutError
from wengert.functions.conversion import to_array
from wengert.functions.device import strided
from wengert.history import modes
from wengert.rules import indexing as rules
from wengert.tensor import INFERENCE, NUMBERS, Size, Tensor, require, wrap

Shape = Any


def finish(array: Any, requires_grad: bool = False) -> Tensor:
    """A new leaf around an array, which was made of what a program stated."""
    if array.dtype.kind in "OSUMm":
        raise dtypes.no_dtype(array.dtype)
    out = wrap(array)
    if modes.special and modes.current().inference:
        out._origin = INFERENCE
    if requires_grad:
        refuse_unless_truth("requires_grad", requires_grad)
        require(out)
    return out


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
    shared = _is_array(data) and not dtypes.is_pythons_number(data)
    if shared and (dtype is None or data.dtype == dtype):
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
    return out.requires_grad_(requires_grad) if requires_grad else out


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
    """A tensor that shares the memory of any array that speaks DLPack, or of a capsule of one."""
    if not hasattr(x, "__dlpack__"):
        if type(x).__name__ != "PyCapsule":
            raise TypeError(
                "from_dlpack() takes an array with __dlpack__, or a capsule, not "
                f"{type(x).__name__}"
            )
        x = _Capsule(x)
    return finish(dtypes.native(np.from_dlpack(x)))


class _Capsule:
    """A capsule as what it came from: an array on the CPU."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def to_dlpack(tensor: Tensor) -> Any:
    """The tensor's memory as a DLPack capsule, which `from_dlpack` of another library takes."""
    return tensor.__dlpack__()


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


_SIZES = frozenset({tuple, list, Size})


def shape_of(size: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given as separate numbers or as one sequence; of a tensor of one number, ()."""
    if not size:
        raise TypeError("missing the size: one number for each dimension, or (), as in zeros(())")
    if len(size) == 1 and type(size[0]) in _SIZES:
        size = tuple(size[0])
    elif len(size) == 1 and not hasattr(size[0], "__index__"):
        if not hasattr(size[0], "__iter__") or isinstance(size[0], str):
            raise TypeError(f"argument 'size' must be tuple of ints, not {type(size[0]).__name__}")
        size = tuple(size[0])
    elif len(size) == 1 and isinstance(size[0], Tensor) and size[0].ndim == 1:
        size = tuple(size[0].tolist())
    shape = tuple(map(operator.index, size))
    if shape and min(shape) < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )
    return shape


def factory(make: Callable[..., Any]) -> Callable[..., Tensor]:
    """Give a function that makes an array the keywords of PyTorch's factories.

    `make` is called with `dtype`, the one asked for (or that of `out=`), or None.
    """

    checked = told(make)

    @functools.wraps(make)
    def factory(
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
        pin_memory: bool = False,
        out: Any = None,
        **kwargs: Any,
    ) -> Tensor:
        if device is not None or layout is not None:
            check_device(device)
            check_layout(layout)
        wanted = None if dtype is out is None else wanted_dtype(dtype, out)
        array = checked(*args, dtype=wanted, **kwargs)
        if out is None:
            return finish(array, requires_grad)
        filled = fill_out(out, finish(array))
        return filled.requires_grad_(requires_grad) if requires_grad else filled

    factory.__annotations__ |= {"return": Tensor}  # not the array that `make` gives
    return settled(factory)


def wanted_dtype(dtype: Any, out: Any) -> np.dtype[Any] | None:
    """The dtype asked for, which must be that of `out` if there is one."""
    if out is None:
        return None if dtype is None else dtypes.stated(dtype)
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be a Tensor, not {type(out).__name__}")
    if dtype is not None and dtypes.stated(dtype) != out.dtype:
        raise RuntimeError(
            f"dtype {dtypes.stated(dtype)} does not match dtype of out parameter ({out.dtype})"
        )
    return out.dtype


def check_layout(layout: Any) -> None:
    """Accept the strided layout; there is no other."""
    if layout is not None and layout is not strided:
        raise LayoutError(
            f"this is implemented for strided tensors only, got: {layout}. Leave layout= out."
        )


def kind(dtype: np.dtype[Any] | None) -> np.dtype[Any]:
    """A dtype, the default one if none was asked for."""
    return dtypes.or_default(dtype)


def filled(shape: tuple[int, ...], value: float, dtype: Any) -> Any:
    """An array of one number."""
    array = np.empty(shape, dtype)
    if not rules.filled(array, value):
        array.fill(value)
    return array


def _filled(make_filled: Any, name: str, doc: str) -> Any:
    def make(*size: Any, dtype: Any, memory_format: Any = None, **named: Any) -> Any:
        if "size" in named:
            size = (named.pop("size"),)
        if named:
            raise TypeError(f"{name}() got an unexpected keyword argument {next(iter(named))!r}")
        return make_filled(shape_of(size), kind(dtype))

    return factory(called(make, name, doc))


zeros = _filled(np.zeros, "zeros", "A tensor of the given shape filled with 0.")
ones = _filled(
    lambda shape, dtype: filled(shape, 1, dtype),
    "ones",
    "A tensor of the given shape filled with 1.",
)
empty = _filled(
    np.empty, "empty", "A tensor of the given shape, its values left as they are in memory."
)


_NO_NUMBERS = (str, bytes, list, tuple, dict, set, type(None))


@factory
def full(size: Shape, fill_value: complex, *, dtype: Any) -> Any:
    """A tensor of the given shape filled with one value, whose kind decides the dtype."""
    value: Any = fill_value
    number = type(value) in NUMBERS
    if not number and isinstance(value, _NO_NUMBERS):
        raise TypeError(
            f"full(): argument 'fill_value' must be a number, not {type(value).__name__}. A tensor "
            "of given numbers is made by wengert.tensor(...), and repeated by expand(...)."
        )
    if not number and isinstance(value, Tensor):
        value = number_in(value)
    dtype = dtype if dtype is not None else dtypes.result_type(value)
    dtypes.number(value)
    if number or isinstance(value, (np.ndarray, np.generic)) or not _is_array(value):
        array = np.empty(shape_of((size,)), dtype)
        if not rules.filled(array, value):
            np.copyto(array, value, casting="unsafe")
        return array
    return np.full_like(value, value, dtype, shape=shape_of((size,)))


def empty_permuted(size: Any, physical_layout: Any, **options: Any) -> Tensor:
    """An uninitialised tensor whose dimensions lie in memory in the order given, outermost first.

    >>> import wengert as wg
    >>> wg.empty_permuted((2, 3, 4), (2, 0, 1)).stride()
    (3, 1, 6)
    """
    shape, order = shape_of((size,)), tuple(physical_layout)
    if sorted(order) != list(range(len(shape))):
        raise RuntimeError(
            f"empty_permuted: physical_layout must name each of the {len(shape)} dimensions once, "
            f"got {list(order)}"
        )
    memory = empty([shape[d] for d in order], **options)
    return memory.permute([order.index(d) for d in range(len(order))]).detach()


@factory
def empty_strided(size: Any, stride: Any, *, dtype: Any) -> Any:
    """An uninitialised tensor with the sizes and strides (in elements) given."""
    size, stride, dtype = shape_of((size,)), tuple(stride), kind(dtype)
    if len(size) != len(stride):
        raise RuntimeError(
            f"empty_strided: the dimensionality of sizes ({len(size)}) must match dimensionality "
            f"of strides ({len(stride)})"
        )
    if any(step < 0 for step in stride):
        raise RuntimeError(f"empty_strided: strides must be non-negative, got {list(stride)}")
    extent = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    memory = np.empty(extent if 0 not in size else 0, dtype)
    return np.ndarray(size, dtype, memory, strides=[step * dtype.itemsize for step in stride])


def _check_tensor(input: Any) -> None:
    if not isinstance(input, Tensor):
        raise TypeError(
            f"argument 'input' must be a Tensor, not {type(input).__name__}. Make one with "
            "wengert.tensor(...)."
        )


def _like(filling: Any, doc: str) -> Any:
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
        check_layout(layout)
        _check_tensor(input)
        array = filling(tuple(input.shape), dtype if dtype is not None else input.dtype)
        return finish(kind_of(input._array).alike(input._array, array), requires_grad)

    make.__doc__ = doc
    return make


zeros_like = _like(np.zeros, "Zeros of the shape and dtype of `input`.")
ones_like = _like(np.ones, "Ones of the shape and dtype of `input`.")
empty_like = _like(np.empty, "An uninitialised tensor of the shape and dtype of `input`.")


def full_like(input: Any, fill_value: Any, *, dtype: Any = None, **options: Any) -> Tensor:
    """One value repeated in the shape and dtype of `input`."""
    options.pop("memory_format", None)
    _check_tensor(input)
    return full(tuple(input.shape), fill_value, dtype=dtype or input.dtype, **options)
