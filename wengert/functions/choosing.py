"""`where`, and what it does with functions: each is evaluated only where its mask holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of
from wengert.autograd.operands import cast
from wengert.autograd.record import recorder
from wengert.dispatch import as_array, known
from wengert.errors import ShapeError, WengertError
from wengert.functions.arguments import constant, takes_out, tensor_of
from wengert.functions.indexing import get, nonzero
from wengert.functions.joining import cat
from wengert.functions.shapes import broadcast_shapes, broadcast_to, reshape
from wengert.tensor import Tensor, wrap

Choice = Tensor | np.ndarray | Callable[..., Any] | complex
_where = recorder(np.where)


@takes_out
def where(
    condition: Any, input: Choice | None = None, other: Choice | None = None, *operands: Any
) -> Tensor:
    """`input` where the condition holds, `other` elsewhere; given only the condition, its indices.

    >>> import wengert as wg
    >>> wg.where(wg.tensor([True, False]), wg.tensor([1.0, 2.0]), 0)
    tensor([1., 0.])

    Either may be a function, which is evaluated only where it is chosen. It is called once, with
    those elements of the `operands`, in one dimension, and returns one value for each; without
    operands it is called with the mask, to index with. (Both are called even if they are chosen
    nowhere, with no elements, so that the dtype of the result does not depend on the data.) Where a
    function is singular outside its mask, this keeps NaN out of the gradient, which computing both
    and choosing does not:

    >>> x = wg.tensor([0.0, 4.0], requires_grad=True)
    >>> wg.where(x > 0, wg.sqrt, 0.0, x).sum().backward()
    >>> x.grad
    tensor([0.0000, 0.2500])
    >>> wg.where(x > 0, lambda at: x[at].log(), lambda at: x[at] - 1).tolist()
    [-1.0, 1.3862943649291992]

    Errors: ShapeError if a function is not elementwise, WengertError inside vmap and compile, where
    the condition has no numbers yet.
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    condition = tensor_of(condition, "condition")
    if condition.dtype != dtypes.bool:
        if condition.dtype != dtypes.uint8:
            raise RuntimeError(
                "where expected condition to be a boolean tensor, but got a tensor with dtype "
                f"{condition.dtype}"
            )
        condition = constant(condition._array.astype(bool))
    if callable(input) or callable(other):
        return _evaluated(condition, (input, other), operands)
    if operands:
        raise TypeError(
            f"where() takes {len(operands)} operands only for functions, to be evaluated on them: "
            "where(mask, f, g, x)"
        )
    kind = dtypes.result_type(array_of(input), array_of(other))
    input, other = (
        cast(x, kind) if isinstance(x, Tensor) else wrap(as_array(x, kind)) for x in (input, other)
    )
    return _where(condition, input, other)


def _evaluated(condition: Tensor, choices: tuple[Any, Any], operands: tuple[Any, ...]) -> Tensor:
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
