"""Regions in which products may be computed with fewer bits, and are not."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.functions.device import device
from wengert.history.location import warn

_state = threading.local()
_told: set[str] = set()


class autocast:
    """A region, or a function, in which PyTorch computes some operations in `dtype`.

    Here all operations keep the dtypes of their inputs, with a warning the first time. For a GPU,
    of which there is none, it is switched off with a warning, as PyTorch does.

    >>> with autocast("cpu", enabled=False):
    ...     is_autocast_enabled("cpu")
    False
    """

    def __init__(
        self,
        device_type: str,
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(
                f"Expected `device_type` of type `str`, got: `{type(device_type).__name__}`"
            )
        kind = device(device_type).type
        if enabled and kind != "cpu":
            _tell(
                f"User provided device_type of '{kind}', but {kind.upper()} is not available. "
                "Disabling"
            )
            enabled = False
        if enabled and (dtype is None or np.dtype(dtype).itemsize < 4):
            _tell(
                "autocast: on the CPU wengert computes in the dtypes it is given, since NumPy's "
                "products of 16-bit numbers are slower. Results are at least as exact."
            )
        self.device = kind
        self.fast_dtype = dtype
        self._enabled = enabled
        self._cache_enabled = cache_enabled

    def __enter__(self) -> autocast:
        _stack().append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _stack().pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inside


def _stack() -> list[autocast]:
    """The regions that the current thread is in."""
    if not hasattr(_state, "stack"):
        _state.stack = []
    return _state.stack


def _tell(message: str) -> None:
    if message not in _told:
        warn(message)
        _told.add(message)


def is_autocast_enabled(device_type: str = "cpu") -> bool:
    """Whether the current thread is in a region of `autocast` for that device."""
    regions = [region for region in _stack() if region.device == device_type]
    return bool(regions) and regions[-1]._enabled


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` knows the device."""
    return device_type == "cpu"


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype in which the region asked to compute; without one, that of the results: float32."""
    regions = [region for region in _stack() if region.device == device_type]
    dtype = regions[-1].fast_dtype if regions else None
    return np.dtype(np.float32) if dtype is None else dtype


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """For `forward` of a custom Function: no inputs are cast here, so it stays as it is."""
    return fwd if fwd is not None else lambda function: function


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """For `backward` of a custom Function: it runs in the dtypes of `forward` anyway."""
    return bwd if bwd is not None else lambda function: function
