"""Stand-ins: what a call that is asked again is given in the place of what the function computes.

A trace has no numbers, so what a library answered went by the class, the shape and the dtype of a
traced array. An array of ones that has these answers the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compile.trace.arrays.array import TracedArray
from wengert.compile.trace.arrays.numbers import class_of
from wengert.compile.trace.world import watch
from wengert.history import modes
from wengert.tensor import Tensor, wrap


class StandIns:
    """Those of one trace: one for all arrays that a library cannot tell apart."""

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}

    def of(self, x: Any) -> Any:
        """What stands for an array or a tensor that is computed; None for all else."""
        key: tuple[Any, ...]
        if type(x) is TracedArray:
            key = class_of(x), x.shape, x.dtype
        elif type(x) is Tensor and not watch.is_real(x):
            key = Tensor, x.shape, x.dtype, x.requires_grad, x.is_leaf
        else:
            return None
        if key not in self._made:
            array = x._array if type(x) is Tensor else x
            with watch.aside():
                self._made[key] = _made(key, array.shape, array.dtype)
        return self._made[key]


def _made(key: Any, shape: Any, dtype: Any) -> Any:
    ones = np.ones(shape, dtype)
    if key[0] is np.ndarray:
        return ones
    if key[0] is not Tensor:
        return key[0](ones[()])
    tensor, (requires_grad, is_leaf) = wrap(ones), key[3:]
    if not requires_grad:
        return tensor
    tensor.requires_grad_()
    with modes.enable_grad():
        return tensor if is_leaf else tensor.clone()
