"""Random numbers for dropout and its kin, from the library's generator."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dispatch import as_array
from wengert.functions.random import numbers_of


def uniform_array(like: Any) -> Any:
    """Uniform numbers in [0, 1) of the shape and dtype of an array."""
    dtype = np.float64 if like.dtype == np.float64 else np.float32
    return as_array(numbers_of(None).random(like.shape, dtype), like.dtype)


def kept(shape: Any, p: float) -> Any:
    """A mask that is True with probability 1 - p."""
    return numbers_of(None).random(shape, np.float32) >= np.float32(p)
