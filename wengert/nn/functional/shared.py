"""What the functions here share: reductions of losses, old arguments, writes in place."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert.autograd import inplace
from wengert.autograd.record import RECORDERS, recorder
from wengert.dispatch import called
from wengert.errors import DtypeError
from wengert.functions.arguments import of_tensors
from wengert.functions.shapes import broadcast_tensors
from wengert.history.location import warn
from wengert.tensor import Tensor, wrap

REDUCTIONS = ("none", "mean", "sum")


def apply(function: Any, *args: Any) -> Any:
    """Run a function of the table on Tensors, recorded."""
    return (RECORDERS.get(function) or recorder(function))(*args)


def check_floats(input: Any, name: str, refused: str = "biuc") -> None:
    """DtypeError for dtypes of which PyTorch has no such function: their kinds, as NumPy's."""
    if input._array.dtype.kind in refused:
        raise DtypeError(
            f'"{name}" is not implemented for {input.dtype}. Convert the input first, e.g. with '
            "x.float()."
        )


def total(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum along `axis`, an int or tuple, recorded; over everything if None."""
    return recorder(np.sum)(x, axis, keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return recorder(np.mean)(x, axis, keepdims)


def reshape(x: Any, shape: Iterable[int]) -> Any:
    return recorder(np.reshape)(x, tuple(shape))


def rows_of(weight: Any, dim: int) -> Any:
    """A weight with its outputs, which `dim` counts, as rows."""
    return reshape(weight.movedim(dim, 0), (weight.shape[dim], -1))


def where(condition: Any, a: Any, b: Any) -> Tensor:
    """np.where, recorded; numbers take the dtype of the tensor beside them."""
    if not isinstance(a, Tensor):
        a = wrap(np.asarray(a, b._array.dtype))
    elif not isinstance(b, Tensor):
        b = wrap(np.asarray(b, a._array.dtype))
    return recorder(np.where)(condition, a, b)


def written(x: Tensor, function: Any, args: tuple[Any, ...], name: str) -> Tensor:
    """`inplace=True`: the result goes into `x` itself."""
    return inplace.write(x, recorder(function), args, name)


def written_by(x: Tensor, composite: Callable[..., Any], name: str) -> Tensor:
    """`inplace=True` of a composition: its result goes into `x` itself."""
    return inplace.write(x, composite, (), name)


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction, also from the two arguments that it replaced long ago."""
    if size_average is not None or reduce is not None:
        average = size_average is None or size_average
        reduction = "none" if reduce is False else "mean" if average else "sum"
        warn(
            "size_average and reduce args will be deprecated, please use "
            f"reduction='{reduction}' instead."
        )
    if reduction not in REDUCTIONS:
        raise ValueError(
            f"{reduction} is not a valid value for reduction; choose 'none', 'mean' or 'sum'."
        )
    return reduction


def reduced(loss: Any, reduction: str) -> Any:
    """The loss of each element, or their mean or sum."""
    if reduction == "mean":
        return mean(loss)
    return total(loss) if reduction == "sum" else loss


def matched(input: Any, target: Any, name: str, refused: str = "") -> Any:
    """Both, of one shape; warn where a loss would broadcast: almost always a missing squeeze().

    DtypeError for operands of the kinds `refused`.
    """
    check_floats(input, name, refused)
    check_floats(target, name, refused)
    if input._array.shape != target._array.shape:
        warn(
            f"{name}: using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size."
        )
        return broadcast_tensors(input, target)
    return input, target


_SPACES = ("L", "H, W", "D, H, W")


def over(
    name: str, *counts: int, takes_out: bool = False
) -> Callable[[Callable[[int], Any]], tuple[Any, ...]]:
    """Functions of so many spatial dimensions, `{n}` in their name, of what makes one of them.

    Their first argument is a tensor. In their docstrings, too, `{n}` is the number of dimensions;
    `{space}` are the dimensions' sizes.
    """

    def decorate(make: Callable[[int], Any]) -> tuple[Any, ...]:
        functions = (_called(make(n), name.format(n=n), n) for n in counts)
        return tuple(map(of_tensors(1, takes_out=takes_out), functions))

    return decorate


def _called(function: Any, name: str, n: int) -> Any:
    return called(function, name, function.__doc__.format(n=n, space=_SPACES[n - 1]))


def check_positive(function: str, **given: Any) -> None:
    """RuntimeError for numbers, or several of them, by which a function divides or steps."""
    for name, value in given.items():
        if type(value) is int and value > 0:
            continue
        if any(_whole(v, name) <= 0 for v in (value if isinstance(value, tuple) else (value,))):
            raise RuntimeError(f"{function} expects a positive {name}, but got {value}")


def sizes(value: Any, n: int, name: str) -> tuple[int, ...]:
    """A number for each of `n` spatial dimensions, from one number or a sequence."""
    if type(value) is int:
        return (value,) * n
    if isinstance(value, (tuple, list)):
        if len(value) == 1:
            value = tuple(value) * n
        if len(value) != n:
            raise RuntimeError(f"{name} must be one number or {n} of them, got {tuple(value)}")
        return tuple([_whole(v, name) for v in value])
    return (_whole(value, name),) * n


def _whole(value: Any, name: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"{name} must be a whole number or several of them, not {type(value).__name__}"
        ) from None


def _repeated(n: int) -> Callable[[Any], tuple[Any, ...]]:
    return lambda x: tuple(x) if isinstance(x, Iterable) else (x,) * n


one, two, three = _repeated(1), _repeated(2), _repeated(3)
