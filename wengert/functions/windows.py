"""Window functions under PyTorch's older names; `wengert.signal.windows` has more of them.

A window of M points is a shape on the places t = 0, 1/(n-1), ..., 1. A symmetric one has n = M of
them; a periodic one, for spectra, is a symmetric one of n = M + 1 points without its last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.functions.creation import factory, kind
from wengert.tensor import Tensor

Shape = Callable[[Any], Any]


def places(length: int, periodic: bool) -> Any:
    """The places 0 ... 1 of a window's points; a window of one point stands at its middle."""
    n = length + 1 if periodic else length
    return np.arange(n)[:length] / (n - 1) if length > 1 else np.full(length, 0.5)


def cosines(amplitudes: Iterable[float]) -> Shape:
    """A sum of cosines: a - b cos(2 pi t) + c cos(4 pi t) - ..."""
    a = list(amplitudes)
    return lambda t: sum((-1) ** k * a_k * np.cos(2 * math.pi * k * t) for k, a_k in enumerate(a))


def triangle(t: Any) -> Any:
    """Rising from 0 to 1 in the middle, and falling again."""
    return 1 - np.abs(2 * t - 1)


def kaiser_shape(beta: float) -> Shape:
    """I0(beta sqrt(1 - (2 t - 1)^2)) / I0(beta); Kaiser (1974)."""
    return lambda t: np.i0(beta * np.sqrt(1 - (2 * t - 1) ** 2)) / np.i0(beta)


def _window(name: str, length: int, periodic: bool, shape: Shape, dtype: Any) -> Any:
    dtype = kind(dtype)
    if length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={length}"
        )
    if not dtypes.is_floating(dtype):
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    # One point is 1 whatever the shape, also where the shape's middle is not.
    values = shape(places(length, periodic)) if length != 1 else np.ones(1)
    return values.astype(dtype)


@factory
def hann_window(window_length: int, periodic: bool = True, *, dtype: Any) -> Tensor:
    """(1 - cos(2 pi t)) / 2 for t from 0 to 1.

    >>> import wengert as wg
    >>> wg.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("hann_window", window_length, periodic, cosines((0.5, 0.5)), dtype)


@factory
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any,
) -> Tensor:
    """alpha - beta cos(2 pi t) for t from 0 to 1."""
    return _window("hamming_window", window_length, periodic, cosines((alpha, beta)), dtype)


@factory
def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any) -> Tensor:
    """0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t) for t from 0 to 1."""
    return _window("blackman_window", window_length, periodic, cosines((0.42, 0.5, 0.08)), dtype)


@factory
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: Any) -> Tensor:
    """A triangle: 1 - |2 t - 1| for t from 0 to 1."""
    return _window("bartlett_window", window_length, periodic, triangle, dtype)


@factory
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any
) -> Tensor:
    """I0(beta sqrt(1 - (2 t - 1)^2)) / I0(beta) for t from 0 to 1."""
    return _window("kaiser_window", window_length, periodic, kaiser_shape(beta), dtype)
