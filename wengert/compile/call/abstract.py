"""`eval_shape`: what a function would return, without its numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert import tree
from wengert.compile.call.function import CompiledFunction


class ShapeDtype(NamedTuple):
    """The shape and the dtype of an array that need not exist."""

    shape: tuple[int, ...]
    dtype: Any


tree.ATOMS.add(ShapeDtype)


def eval_shape(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of `f(*args, **kwargs)`, in the containers that it returns.

    `f` is traced as `wengert.compile` traces it, and nothing is computed: an argument may be a
    `ShapeDtype(shape, dtype)` in the place of an array, and be larger than the memory. What a
    compiled function cannot have, a branch on a value, is the same error here.

    >>> import wengert as wg
    >>> big = ShapeDtype((10**6, 10**6), np.dtype(float))
    >>> eval_shape(lambda x, y: {"product": x @ y}, big, np.ones((10**6, 3)))
    {'product': ShapeDtype(shape=(1000000, 3), dtype=dtype('float64'))}
    """
    shapes: list[Any] = []

    def described(*args: Any, **kwargs: Any) -> Any:
        result = f(*args, **kwargs)
        shapes.append(_shapes(result))
        return result

    CompiledFunction(described).capture(
        tuple(map(_stand_in, args)), {name: _stand_in(x) for name, x in kwargs.items()}
    )
    return shapes[-1]


def _stand_in(item: Any) -> Any:
    """Arrays of one number, repeated, for shapes; other arguments as they are."""

    def array(x: Any) -> Any:
        if type(x) is ShapeDtype:
            return np.broadcast_to(np.zeros((), x.dtype), x.shape)
        return x

    return tree.map(array, item)


def _shapes(result: Any) -> Any:
    def shape(x: Any) -> Any:
        if isinstance(x, (str, bytes)):
            return x
        x = x if hasattr(x, "shape") else np.asarray(x)
        return ShapeDtype(tuple(x.shape), np.dtype(x.dtype))

    return tree.map(shape, result)
