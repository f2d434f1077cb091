"""What dtypes can hold, which dtype an operation gives, and settings of the whole program."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of
from wengert.functions.arguments import of_tensors
from wengert.functions.creation import check_device
from wengert.functions.device import CPU
from wengert.history import threads
from wengert.tensor import Tensor

MOST_THREADS = 1024


class finfo:
    """The limits of a floating-point dtype (the default one if none is given).

    >>> import wengert as wg
    >>> wg.finfo(wg.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: Any = None) -> None:
        kind = dtypes.stated(type) if type is not None else dtypes.get_default_dtype()
        if not dtypes.is_inexact(kind):
            raise TypeError(
                f"wengert.finfo() requires a floating point input type, not {kind}. Use "
                "wengert.iinfo."
            )
        info = dtypes.limits(kind)
        self.bits = info.bits
        self.dtype = str(info.dtype)
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = float(info.resolution)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo:
    """The limits of an integer dtype.

    >>> import wengert as wg
    >>> wg.iinfo(wg.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    def __init__(self, type: Any) -> None:
        kind = dtypes.stated(type)
        if kind.kind not in "iu":
            raise TypeError(
                f"wengert.iinfo() requires an integer input type, not {kind}. Use wengert.finfo."
            )
        info = np.iinfo(kind)
        self.bits, self.dtype = info.bits, str(kind)
        self.min, self.max = int(info.min), int(info.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def is_tensor(obj: Any) -> bool:
    """Whether an object is a Tensor."""
    return isinstance(obj, Tensor)


class Storage:
    """The memory that one or more tensors look into."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._array.__array_interface__["data"][0]

    def nbytes(self) -> int:
        """The size in bytes."""
        return self._array.nbytes

    def size(self) -> int:
        """The size in bytes."""
        return self._array.nbytes

    __len__ = size


def is_storage(obj: Any) -> bool:
    """Whether an object is the memory behind tensors."""
    return isinstance(obj, Storage)


def _asked(name: str, doc: str, result: type = bool) -> Any:
    """A function of a tensor that is its method of the same name."""

    def ask(input: Tensor) -> Any:
        return getattr(input, name)()

    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = doc
    ask.__annotations__["return"] = result
    return of_tensors(1)(ask)


is_floating_point = _asked(
    "is_floating_point", "Whether the elements are floating-point numbers (not complex)."
)
is_complex = _asked("is_complex", "Whether the elements are complex numbers.")
is_signed = _asked("is_signed", "Whether the elements can be negative.")
is_inference = _asked("is_inference", "Whether a tensor was made in inference mode.")
is_conj = _asked("is_conj", "Whether conjugation is still to be done: never, it is done at once.")
is_neg = _asked("is_neg", "Whether negation is still to be done: never, it is done at once.")
is_distributed = _asked(
    "is_distributed", "Whether the elements are spread over several processes: no."
)
get_device = _asked("get_device", "The number of the device: -1, the CPU.", int)
numel = _asked("numel", "The number of elements.", int)


@of_tensors(1)
def detach(input: Tensor) -> Tensor:
    """A tensor on the input's memory without history."""
    return input.detach()


def result_type(tensor1: Any, tensor2: Any) -> np.dtype[Any]:
    """The dtype of an operation on two tensors or numbers.

    >>> import wengert as wg
    >>> wg.result_type(wg.tensor([1, 2]), 1.0)
    dtype('float32')
    """
    return dtypes.result_type(array_of(tensor1), array_of(tensor2))


def typename(obj: Any) -> str:
    """The name of an object's type; of a tensor, that of its legacy type."""
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else dtypes.class_of(obj)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def get_num_threads() -> int:
    """How many threads share the work of one large loop or product of a compiled function: what
    `set_num_threads` said, else OMP_NUM_THREADS in the environment, else one.
    """
    return threads.number()


def set_num_threads(num: int) -> None:
    """Let so many threads share the work of large loops and products of compiled functions.

    Results are the same, to the last bit, for every number. Work that is too small for it is done
    by one thread. NumPy's own products keep the number of threads that OMP_NUM_THREADS said when
    NumPy was imported.

    >>> import wengert as wg
    >>> wg.set_num_threads(2)
    >>> wg.get_num_threads()
    2
    >>> wg.set_num_threads(1)
    """
    if not isinstance(num, int) or isinstance(num, bool) or not 0 < num <= MOST_THREADS:
        raise RuntimeError(
            f"set_num_threads expects a positive integer of at most {MOST_THREADS}, got {num!r}"
        )
    threads.use(num)


def get_default_device() -> Any:
    """The device of new tensors: the CPU."""
    return CPU


def set_default_device(device: Any) -> None:
    """Say where new tensors are made: the CPU, or an error."""
    check_device(device)


_PRECISIONS = ("highest", "high", "medium")
_matmul_precision = "highest"


def set_float32_matmul_precision(precision: str) -> None:
    """Allow products of float32 matrices to round more; on the CPU they never do."""
    global _matmul_precision
    if precision not in _PRECISIONS:
        raise RuntimeError(
            f"{precision!r} is not one of {', '.join(map(repr, _PRECISIONS))}, the precisions of "
            "float32 matrix products"
        )
    _matmul_precision = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` allowed last; "highest" at first."""
    return _matmul_precision


def set_flush_denormal(mode: bool) -> bool:
    """Ask the processor to treat the smallest numbers as 0. NumPy has no way to: False, it is as
    it was.
    """
    return False


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that repeat exactly: they always do."""


def are_deterministic_algorithms_enabled() -> bool:
    """Whether results repeat exactly: always."""
    return True
