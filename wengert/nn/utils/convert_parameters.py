"""Many parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from wengert.autograd.record import recorder
from wengert.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters as one vector."""
    return recorder(np.concatenate)([p.reshape(-1) for p in parameters], 0)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give parameters their values from a vector, in order."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for p in parameters:
        n = p._array.size
        p.data = vec[start : start + n].view_as(p).data
        start += n
