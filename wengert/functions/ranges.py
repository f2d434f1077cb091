"""Making tensors: ranges, identity matrices, numbers and buffers."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.operands import number_in
from wengert.autograd.settings import refuse_tracked
from wengert.functions.creation import factory, finish, kind
from wengert.tensor import Tensor

_MANTISSA = 1 << 52


def _is_real(x: Any) -> bool:
    """Whether this is one of Python's numbers that a float holds exactly."""
    return type(x) is float or (type(x) is int and -_MANTISSA < x < _MANTISSA)


def _number(x: Any) -> Any:
    """A bound given as a number or as a tensor with one element; an array if it is not known."""
    if isinstance(x, Tensor):
        x = number_in(x)
        of_several = hasattr(type(x), "__array_function__") and not dtypes.is_pythons_number(x)
        dtype = np.complex128 if of_several and x.dtype.kind == "c" else np.float64
        return np.reshape(x, ()).astype(dtype) if of_several else x
    return x.item() if isinstance(x, (np.ndarray, np.generic)) else x


def _spaced(start: Any, end: Any, step: Any, dtype: Any, name: str) -> tuple[Any, Any, Any]:
    """Bounds and step as numbers, whole ones for an integer dtype; RuntimeError if they misfit."""
    parts = False
    if not type(start) is type(end) is type(step) is int:
        start, end, step = _number(start), _number(end), _number(step)
        parts = any(issubclass(dtypes.class_of(v), complex) for v in (start, end, step))
    if parts or (dtype is not None and dtype.kind in "bc"):
        raise NotImplementedError(
            f"{name} is not implemented for {'complex numbers' if dtype is None else dtype}: "
            "make a range of integers or floats and convert it"
        )
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if dtype is not None and dtype.kind in "iu":
        start, end, step = int(start), int(end), int(step)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * (1 if step > 0 else -1) < 0:
        raise RuntimeError(
            f"upper bound and lower bound inconsistent with step sign: {start} -> {end} by {step}"
        )
    return start, end, step


@factory
def arange(start: Any, end: Any = None, step: Any = 1, *, dtype: Any) -> Tensor:
    """Numbers from `start` (0) up to but not including `end`, `step` apart.

    >>> import wengert as wg
    >>> wg.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    if end is None:
        if not (type(step) is int and step == 1):
            raise TypeError("arange() takes (end), (start, end) or (start, end, step)")
        start, end = 0, start
    if not type(start) is type(end) is type(step) is int:
        for name, bound in {"start": start, "end": end, "step": step}.items():
            refuse_tracked(name, bound)
    start, end, step = _spaced(start, end, step, dtype, "arange")
    if dtype is None:
        are_whole = all(issubclass(dtypes.class_of(v), int) for v in (start, end, step))
        dtype = dtypes.int64 if are_whole else dtypes.get_default_dtype()
    whole_numbers = type(start) is type(end) is type(step) is int
    if whole_numbers and max(abs(start), abs(end), abs(step)) < _MANTISSA:
        whole: Any = np.arange(start, end, step, dtype=dtypes.int64)
        return whole.astype(dtype, copy=False)
    n = math.ceil((end - start) / step)
    return (start + step * np.arange(n)).astype(dtype)


@factory
def range(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any) -> Tensor:
    """Numbers from `start` up to and including `end`; `arange`, which leaves it out, is usual."""
    if end is None:
        start, end = 0, start
    start, end, step = _spaced(start, end, step, dtype, "range")
    n = math.floor((end - start) / step) + 1
    return (start + step * np.arange(n)).astype(kind(dtype))


def _evenly(start: Any, end: Any, steps: Any, whole: bool) -> Any:
    """`steps` numbers from `start` to `end`, in double precision, or whole ones."""
    start, end, steps = _number(start), _number(end), operator.index(steps)
    if steps < 0:
        raise RuntimeError(f"number of steps must be non-negative, got {steps}")
    if whole:
        start, end = (np.trunc(x) if hasattr(x, "dtype") else int(x) for x in (start, end))
        # Counted from the nearer end, and cut: the whole numbers mirror when the ends are swapped.
        if steps > 1:
            width, k = (end - start) / (steps - 1), np.arange(steps)
            return np.trunc(np.where(k < steps / 2, start + width * k, end - width * k[::-1]))
    if _is_real(start) and _is_real(end):
        return _from_to(float(start), float(end), steps)
    return np.linspace(start, end, steps)


def _from_to(start: float, end: float, steps: int) -> Any:
    """np.linspace of Python's numbers, without the Python around it."""
    spaced, width = np.arange(steps, dtype=np.float64), end - start
    if steps > 1 and (step := width / (steps - 1)):
        spaced *= step
    else:  # the whole is so small that its parts are none
        spaced /= max(steps - 1, 1)
        spaced *= width
    spaced += start
    if steps > 1:
        spaced[-1] = end
    return spaced


def _with_parts(start: Any, end: Any, dtype: Any) -> np.dtype[Any]:
    """The dtype asked for; else the default one, complex if a bound is."""
    if _is_real(start) and _is_real(end):
        return kind(dtype)
    if any(dtypes.result_type(_number(v)).kind == "c" for v in (start, end)):
        if dtype is not None and dtype.kind != "c":
            raise RuntimeError(
                f"the numbers from {start} to {end} are complex, and {dtype} was asked for. Pass "
                "real bounds, or a complex dtype."
            )
        return dtypes.default_complex() if dtype is None else dtype
    return kind(dtype)


@factory
def linspace(start: Any, end: Any, steps: int, *, dtype: Any) -> Tensor:
    """`steps` numbers evenly spaced from `start` to `end`, both included."""
    if type(steps) is int and steps >= 0 and _is_real(start) and _is_real(end):
        dtype = kind(dtype)
        if dtype.kind == "f":
            return _from_to(float(start), float(end), steps).astype(dtype)
    dtype = _with_parts(start, end, dtype)
    return _evenly(start, end, steps, dtype.kind in "iu").astype(dtype)


@factory
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any) -> Tensor:
    """`steps` powers of `base`, their exponents evenly spaced from `start` to `end`.

    >>> import wengert as wg
    >>> wg.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    dtype = _with_parts(start, end, dtype)
    if dtype.kind in "iu":
        start, end = int(_number(start)), int(_number(end))
    return (base ** _evenly(start, end, steps, False)).astype(dtype)


@factory
def eye(n: int, m: int | None = None, *, dtype: Any) -> Any:
    """The identity matrix, n by n, or n by m with ones on the diagonal."""
    for name, size in (("n", n), ("m", m)):
        if size is not None and size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return np.eye(n, m, dtype=kind(dtype))


@factory
def scalar_tensor(s: Any, *, dtype: Any) -> Any:
    """A zero-dimensional tensor of one number."""
    return np.asarray(dtypes.number(_number(s)), kind(dtype))


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A vector that shares the memory of an object with the buffer protocol."""
    try:
        memoryview(buffer)
    except TypeError as error:
        raise ValueError(
            f"frombuffer() takes an object with the buffer protocol: {error}"
        ) from error
    return finish(np.frombuffer(buffer, dtype, count, offset), requires_grad)
