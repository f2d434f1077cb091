"""`import wengert.interop.einops`: einops' functions take Tensors, and are differentiated.

einops asks its backends which of them knows an array's type; this is one for Tensors. (Its module
`einops.array_api` needs none.)

>>> import einops
>>> import wengert as wg
>>> import wengert.interop.einops
>>> einops.rearrange(wg.arange(6), "(a b) -> b a", a=2)
tensor([[0, 3],
        [1, 4],
        [2, 5]])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from einops._backends import AbstractBackend  # where all its backends are

from wengert.functions.creation import from_numpy
from wengert.functions.joining import cat, stack
from wengert.functions.products import einsum
from wengert.functions.ranges import arange
from wengert.tensor import Tensor


class Backend(AbstractBackend):
    """What einops needs to know."""

    framework_name = "wengert"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: Any) -> Tensor:
        return from_numpy(x)

    def to_numpy(self, x: Any) -> Any:
        return x.detach().numpy()

    def arange(self, start: int, stop: int) -> Tensor:
        return arange(start, stop)

    def transpose(self, x: Any, axes: Any) -> Any:
        return x.permute(axes)

    def reduce(self, x: Any, operation: str, axes: Any) -> Any:
        """The largest and the smallest share their gradient, as in `amax` and `amin`."""
        return getattr(np, operation)(x, axis=tuple(axes))

    def stack_on_zeroth_dimension(self, tensors: list[Any]) -> Tensor:
        return stack(tensors)

    def add_axis(self, x: Any, new_position: int) -> Any:
        return x.unsqueeze(new_position)

    def tile(self, x: Any, repeats: Any) -> Any:
        return x.repeat(repeats)

    def concat(self, tensors: Any, axis: int) -> Tensor:
        return cat(tensors, axis)

    def is_float_type(self, x: Any) -> bool:
        return x.is_floating_point()

    def einsum(self, pattern: str, *x: Any) -> Tensor:
        return einsum(pattern, *x)
