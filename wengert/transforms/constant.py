"""`stop_gradient`: values that count as constants."""

from __future__ import annotations

from wengert.tensor import Tensor
from wengert.transforms.run import A
from wengert.tree import map as tree_map


def stop_gradient(x: A) -> A:
    """A tensor, or containers of tensors, as constants: equal numbers without a derivative.

    Inside of a transform, `x.detach()` for whole trees; arrays and numbers are given back.

    >>> import wengert as wg
    >>> wg.grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    return tree_map(lambda v: v.detach() if isinstance(v, Tensor) else v, x)
