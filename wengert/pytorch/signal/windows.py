"""Window functions: symmetric unless `sym=False` asks for a periodic one, for spectra.

Shapes are stated on t from 0 to 1 over the points, as in `functions/windows.py`; widths are in
points. Harris (1978), "On the use of windows for harmonic analysis with the discrete Fourier
transform", compares them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.functions.creation import factory, kind
from wengert.functions.windows import Shape, cosines, kaiser_shape, places, triangle
from wengert.imports import lacking as _lacking


def _window(name: str, M: int, sym: bool, shape: Shape, dtype: Any) -> Any:
    dtype = kind(dtype)
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    if M < 2:
        return np.ones(M, dtype)  # a window of one point is 1, whatever its shape
    return shape(places(M, not sym)).astype(dtype)


@factory
def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, dtype: Any) -> Any:
    """A sum of cosines, a[0] - a[1] cos(2 pi t) + a[2] cos(4 pi t) - ..."""
    amplitudes = list(a)
    if not amplitudes:
        raise ValueError("general_cosine: coefficients cannot be empty; a=(0.5, 0.5) is hann")
    return _window("general_cosine", M, sym, cosines(amplitudes), dtype)


@factory
def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any) -> Any:
    """alpha - (1 - alpha) cos(2 pi t)."""
    return _window("general_hamming", M, sym, cosines((alpha, 1 - alpha)), dtype)


@factory
def hamming(M: int, *, sym: bool = True, dtype: Any) -> Any:
    """0.54 - 0.46 cos(2 pi t)."""
    return _window("hamming", M, sym, cosines((0.54, 0.46)), dtype)


@factory
def hann(M: int, *, sym: bool = True, dtype: Any) -> Any:
    """(1 - cos(2 pi t)) / 2.

    >>> import wengert as wg
    >>> wg.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window("hann", M, sym, cosines((0.5, 0.5)), dtype)


@factory
def blackman(M: int, *, sym: bool = True, dtype: Any) -> Any:
    """0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t)."""
    return _window("blackman", M, sym, cosines((0.42, 0.5, 0.08)), dtype)


_NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)


@factory
def nuttall(M: int, *, sym: bool = True, dtype: Any) -> Any:
    """Four cosines with little leakage; Nuttall (1981), "Some windows with very good sidelobe
    behavior".
    """
    return _window("nuttall", M, sym, cosines(_NUTTALL), dtype)


@factory
def bartlett(M: int, *, sym: bool = True, dtype: Any) -> Any:
    """A triangle, 1 - |2 t - 1|."""
    return _window("bartlett", M, sym, triangle, dtype)


@factory
def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any) -> Any:
    """I0(beta sqrt(1 - (2 t - 1)^2)) / I0(beta)."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _window("kaiser", M, sym, kaiser_shape(beta), dtype)


@factory
def cosine(M: int, *, sym: bool = True, dtype: Any) -> Any:
    """Half a wave, sin(pi (n + 1/2) / M) for point n; no point of it is 0."""
    n = M if sym else M + 1
    return _window("cosine", M, sym, lambda t: np.sin(math.pi / n * (np.arange(M) + 0.5)), dtype)


@factory
def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: Any) -> Any:
    """exp(-((n - c) / std)^2 / 2), n - c points from the centre."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    center = _center(M, sym)
    return _window(
        "gaussian", M, sym, lambda t: np.exp(-0.5 * ((np.arange(M) - center) / std) ** 2), dtype
    )


@factory
def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any
) -> Any:
    """exp(-|n - center| / tau) for point n; the centre is the middle."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = _center(M, sym) if center is None else center
    return _window(
        "exponential", M, sym, lambda t: np.exp(-np.abs(np.arange(M) - middle) / tau), dtype
    )


def _center(M: int, sym: bool) -> float:
    return (M - 1) / 2 if sym else M / 2


_lacking(__name__)
