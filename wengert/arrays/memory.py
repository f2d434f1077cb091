"""Memory: where NumPy's arrays lie."""

from __future__ import annotations

from typing import Any

import numpy as np


def storage(array: Any) -> Any:
    """The array that owns the memory which another looks into."""
    while True:
        base = array.base
        base = getattr(base, "owner", base)
        if not isinstance(base, np.ndarray):
            return array
        array = base


def address(array: Any) -> int:
    """Where the first element of an array is."""
    return int(array.__array_interface__["data"][0])


def offset(array: Any) -> int:
    """How many elements of the memory that an array looks into come before its first."""
    return (address(array) - address(storage(array))) // int(array.itemsize)
