"""Making tensors: logarithmic ranges, buffers, and the window functions of signal processing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.functions.creation import check_device, finish
from wengert.tensor import Tensor


def _kind(dtype: Any) -> np.dtype[Any]:
    return dtypes.get_default_dtype() if dtype is None else np.dtype(dtype)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """`steps` powers of `base`, their exponents evenly spaced from `start` to `end`.

    >>> import wengert as wg
    >>> wg.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    check_device(device)
    exponents = np.linspace(float(start), float(end), steps)
    return finish((base**exponents).astype(_kind(dtype)), requires_grad)


def range(
    start: float = 0,
    end: float | None = None,
    step: float = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Numbers from `start` up to and including `end`; `arange`, which leaves it out, is usual."""
    check_device(device)
    if end is None:
        start, end = 0, start
    n = math.floor((end - start) / step) + 1
    return finish((start + step * np.arange(n)).astype(_kind(dtype)), requires_grad)


def scalar_tensor(
    s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **ignored: Any
) -> Tensor:
    """A zero-dimensional tensor of one number."""
    check_device(device)
    return finish(np.asarray(s, _kind(dtype)), requires_grad)


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A vector that shares the memory of an object with the buffer protocol."""
    return finish(np.frombuffer(buffer, dtype, count, offset), requires_grad)


# ---- windows -------------------------------------------------------------------------------


def _window(
    length: int, periodic: bool, shape: Any, dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    """`shape` of the places 0 ... 1; a periodic window is a symmetric one without its last
    point.
    """
    check_device(device)
    n = length + 1 if periodic else length
    if length == 0:
        return finish(np.zeros(0, _kind(dtype)), requires_grad)
    places = np.arange(n) / (n - 1) if n > 1 else np.zeros(1)
    values = shape(places) if n > 1 else np.ones(1)
    return finish(values[:length].astype(_kind(dtype)), requires_grad)


def _cosines(*amplitudes: float) -> Any:
    """A sum of cosines: a - b cos(2 pi t) + c cos(4 pi t)."""
    return lambda t: sum(
        (-1) ** k * a * np.cos(2 * math.pi * k * t) for k, a in enumerate(amplitudes)
    )


def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """(1 - cos(2 pi t)) / 2 for t from 0 to 1."""
    return _window(window_length, periodic, _cosines(0.5, 0.5), dtype, device, requires_grad)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """alpha - beta cos(2 pi t) for t from 0 to 1."""
    return _window(window_length, periodic, _cosines(alpha, beta), dtype, device, requires_grad)


def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t) for t from 0 to 1."""
    return _window(window_length, periodic, _cosines(0.42, 0.5, 0.08), dtype, device, requires_grad)


def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """A triangle: 1 - |2 t - 1| for t from 0 to 1."""
    return _window(
        window_length, periodic, lambda t: 1 - np.abs(2 * t - 1), dtype, device, requires_grad
    )


def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """I0(beta sqrt(1 - (2 t - 1)^2)) / I0(beta) for t from 0 to 1."""
    return _window(
        window_length,
        periodic,
        lambda t: np.i0(beta * np.sqrt(1 - (2 * t - 1) ** 2)) / np.i0(beta),
        dtype,
        device,
        requires_grad,
    )
