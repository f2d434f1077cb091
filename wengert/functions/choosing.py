"""`where` with functions: each evaluated only where its mask holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.record import cast
from wengert.dispatch import known
from wengert.errors import ShapeError, WengertError
from wengert.functions.arguments import array_of, constant, tensor_of
from wengert.functions.indexing import get
from wengert.functions.joining import cat
from wengert.functions.shapes import broadcast_shapes, broadcast_to, reshape
from wengert.tensor import Tensor


def evaluated(condition: Tensor, choices: tuple[Any, Any], operands: tuple[Any, ...]) -> Tensor:
    """`where`, with functions among its two choices; see there.

    The selected elements of both choices are laid end to end, and each place of the result picks
    its own: what is not selected is never computed, so no derivative of it can spoil the gradient.
    """
    if not known(array_of(condition)):
        raise WengertError(
            "wengert.where with functions needs the numbers of its condition, which are not known "
            "inside vmap or a function being compiled. Evaluate both there, and give each a "
            "harmless argument where the other is meant: "
            "wengert.where(mask, f(wengert.where(mask, x, 1)), y)."
        )
    tensors = [tensor_of(x) for x in operands]
    values = [tensor_of(x) for x in choices if not callable(x)]
    shape = broadcast_shapes(*(x.shape for x in (condition, *tensors, *values)))
    mask = np.broadcast_to(array_of(condition), shape)
    tensors = [broadcast_to(x, shape) for x in tensors]
    selected, others = (
        _chosen(choice, constant(here), tensors)
        for choice, here in zip(choices, (mask, ~mask), strict=True)
    )
    kind = dtypes.result_type(array_of(selected), array_of(others))
    count = int(mask.sum())
    places = np.empty(shape, np.int64)
    places[mask] = np.arange(count)
    places[~mask] = np.arange(count, mask.size)
    parts = cat([cast(selected, kind), cast(others, kind)])
    return get(parts, constant(places))


def _chosen(choice: Any, here: Tensor, operands: list[Tensor]) -> Tensor:
    """The values of one choice where the mask holds, in one dimension."""
    count = int(array_of(here).sum())
    if not callable(choice):
        value = tensor_of(choice)
        if not value.ndim:
            return broadcast_to(value, (count,))
        return get(broadcast_to(value, here.shape), here)
    chosen = tensor_of(choice(*(get(x, here) for x in operands)) if operands else choice(here))
    if tuple(chosen.shape) not in {(), (1,), (count,)}:
        given = (
            f"given {count} selected elements returned shape {list(chosen.shape)}. It has to be "
            "elementwise: one value for each element."
            if operands
            else f"given the mask, which selects {count} elements, returned shape "
            f"{list(chosen.shape)}. Index with the mask, as in lambda m: x[m].sqrt(), or give the "
            "operands behind the choices: wengert.where(mask, f, g, x)."
        )
        raise ShapeError(f"wengert.where: a function {given}")
    return broadcast_to(reshape(chosen, -1), (count,))
