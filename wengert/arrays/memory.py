"""Memory: where NumPy's arrays lie, and that what was freed stays with the process."""

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


def keep_what_is_freed() -> None:
    """Let glibc keep up to 64 MB of freed memory, instead of giving it back at once.

    A step of training frees its arrays, and the next one takes as many again. Memory that went back
    to the system comes as new pages, each of which it has to find and clear: a sixth of the time of
    a step that works on 30 MB. glibc learns from the first large array that is freed to expect
    more (mallopt(3), M_MMAP_THRESHOLD), and this is the largest that it learns from. Nothing
    is written to it, so it costs no memory itself. Settings in the environment (MALLOC_...)
    prevail, and other C libraries are as they were.
    """
    np.empty(31 << 20, np.uint8)
