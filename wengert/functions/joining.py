"""Joining tensors and splitting them, under PyTorch's names."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.autograd.misfits import told
from wengert.autograd.operands import cast, one_dtype
from wengert.autograd.record import recorder
from wengert.dispatch import numpy
from wengert.dtypes import get_default_dtype, result_type
from wengert.errors import ShapeError
from wengert.functions.arguments import (
    of_tensors,
    one_dim,
    only_tensors,
    takes_names,
    takes_out,
    tensor_of,
    unchecked,
)
from wengert.functions.shapes import atleast_1d, atleast_2d, atleast_3d, reshape
from wengert.rules import shapes as rules
from wengert.rules.indexing import slices
from wengert.tensor import Tensor, wrap

_split, _unbind = recorder(rules.split), recorder(rules.unbind)
_expand, _get, _WHOLE = recorder(rules.expand), recorder(slices), slice(None)
_concatenate, _stack = recorder(np.concatenate), recorder(np.stack)
_reshape = recorder(np.reshape)

# ---- joining -------------------------------------------------------------------------------


@takes_out
def cat(tensors: Any, dim: int = 0, *, axis: int | None = None) -> Tensor:
    """Tensors one after another along a dimension they have.

    >>> import wengert as wg
    >>> wg.cat([wg.ones(2), wg.zeros(1)])
    tensor([1., 1., 0.])
    """
    dim = dim if axis is None else axis
    items = _items("cat", tensors)
    shapes = [x._array.shape for x in items]
    if shapes.count(shapes[0]) < len(shapes) or not shapes[0]:
        common = result_type(*(x._array for x in items))  # those that are left out count too
        items, shapes = _joinable(items, shapes, dim)
        items = [cast(x, common) for x in items]
    return _concatenate(items, one_dim(dim, len(shapes[0])))


def _joinable(items: list[Tensor], shapes: list[Any], dim: int) -> tuple[list[Tensor], list[Any]]:
    """Tensors of different shapes, and these: those that (0,) joins, as it joins anything."""
    ndim = max(map(len, shapes))
    if () in shapes:
        raise RuntimeError("zero-dimensional tensor cannot be concatenated: use wengert.stack")
    dim = one_dim(dim, ndim)
    full = [x for x, shape in zip(items, shapes, strict=True) if shape != (0,) or ndim == 1]
    first = full[0].shape
    for i, x in enumerate(full):
        if x.ndim != len(first) or any(
            m != n for k, (m, n) in enumerate(zip(first, x.shape, strict=True)) if k != dim
        ):
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected shape like "
                f"{list(first)} but got {list(x.shape)} for tensor number {i} in the list."
            )
    return full, [x._array.shape for x in full]


def _items(name: str, tensors: Any) -> list[Tensor]:
    if isinstance(tensors, Tensor):
        raise TypeError(
            f"{name}(): argument 'tensors' must be a tuple of Tensors, not Tensor: write "
            f"{name}([x, y])"
        )
    items = [x if isinstance(x, Tensor) else tensor_of(x) for x in tensors]
    if not items:
        raise ShapeError(f"{name}(): expected a non-empty list of Tensors")
    return items


concat = concatenate = cat
_cat = unchecked(cat)


@takes_out
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors of one shape along a new dimension."""
    items = _items("stack", tensors)
    first = items[0]._array.shape
    for i, x in enumerate(items):
        if x._array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at "
                f"entry 0 and {list(x.shape)} at entry {i}"
            )
    return _stack(items, one_dim(dim, len(first) + 1))


@takes_out
def hstack(tensors: Any) -> Tensor:
    """Joined along the second dimension (vectors: the first)."""
    items = [x if x._array.ndim else atleast_1d(x) for x in _items("hstack", tensors)]
    return _cat(items, 0 if items[0]._array.ndim == 1 else 1)


@takes_out
def vstack(tensors: Any) -> Tensor:
    """Joined as rows."""
    return _cat(atleast_2d(_items("vstack", tensors)), 0)


row_stack = vstack


@takes_out
def dstack(tensors: Any) -> Tensor:
    """Joined along the third dimension."""
    return _cat(atleast_3d(_items("dstack", tensors)), 2)


@takes_out
def column_stack(tensors: Any) -> Tensor:
    """Joined as columns."""
    items = _items("column_stack", tensors)
    return _cat([reshape(x, -1, 1) if x.ndim < 2 else x for x in items], 1)


@told
def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given ones along its diagonal."""
    given = only_tensors(tensors)
    if not given:
        return wrap(np.zeros((1, 0), get_default_dtype()))
    common = result_type(*(x._array for x in given))
    blocks = [cast(atleast_2d(x), common) for x in given]
    _at_most("block_diag", blocks, 2)
    width = sum(x.shape[1] for x in blocks)
    rows, before = [], 0
    for x in blocks:
        n, m = x.shape
        left, right = (wrap(np.zeros((n, k), x.dtype)) for k in (before, width - before - m))
        rows.append(cat([left, x, right], 1))
        before += m
    return cat(rows, 0)


def _at_most(name: str, tensors: Sequence[Tensor], dims: int) -> None:
    for i, x in enumerate(tensors):
        if x.ndim > dims:
            raise ShapeError(
                f"{name}: tensors must have {dims} or fewer dimensions, but number {i} has shape "
                f"{list(x.shape)}. Use x.flatten() of each where vectors are meant."
            )


def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of one element from each vector, as rows."""
    items = [tensor_of(x, "tensors") for x in tensors]
    if len(items) == 1:
        return items[0]
    return _stack([_reshape(x, (-1,)) for x in meshgrid(*items, indexing="ij")], 1)


@of_tensors(1)
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to choose r elements of a vector, as rows."""
    _at_most("combinations", [input], 1)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = list(choose(range(len(input)), r))
    return input[wrap(np.array(places, np.int64).reshape(-1, r))] if r else input[:0]


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinate grids of several vectors; "ij" (rows first) is the default, "xy" swaps the
    first two.
    """
    items = (
        list(tensors[0])
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple))
        else list(tensors)
    )
    items = [tensor_of(x, "tensors") for x in items]
    _at_most("meshgrid", items, 1)
    items = [x if x._array.ndim else x.reshape(1) for x in items]
    one_dtype("meshgrid", items)
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(
            f'meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    swap = indexing == "xy" and len(items) > 1
    if swap:
        items[:2] = items[1::-1]
    shape = tuple([len(x._array) for x in items])
    grids = []
    for left, x in enumerate(items, 1 - len(items)):  # so many dimensions behind its own
        grids.append(_expand(_get(x, (_WHOLE,) + (None,) * -left) if left else x, shape))
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)


# ---- splitting -----------------------------------------------------------------------------


@takes_names
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of one size along `dim` (the last may be smaller), or of the sizes given: views."""
    tensor = tensor_of(tensor)
    pieces = split_size_or_sections
    if not isinstance(pieces, int):
        return split_with_sizes(tensor, pieces, dim)
    axis = _splittable(tensor, dim)
    return _split(tensor, _equal_pieces(tensor._array.shape[axis], pieces), axis)


def _splittable(tensor: Tensor, dim: int) -> int:
    ndim = tensor._array.ndim
    if not ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    return one_dim(dim, ndim)


def _equal_pieces(n: int, size: int) -> tuple[int, ...]:
    if size < 0 or (size == 0 and n):
        raise RuntimeError(
            "split expects split_size be non-negative, and zero only for an empty dimension; "
            f"got {size} for size {n}"
        )
    whole, rest = divmod(n, size) if size else (1, 0)
    return (size,) * whole + ((rest,) if rest else ()) or (0,)


def split_with_sizes(input: Any, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of the given sizes along `dim`: views."""
    input = tensor_of(input)
    axis = _splittable(input, dim)
    pieces = tuple(operator.index(n) for n in split_sizes)
    if sum(pieces) != input._array.shape[axis]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input.shape[axis]} (input "
            f"tensor's size at dimension {axis}), but got split_sizes={list(pieces)}"
        )
    return _split(input, pieces, axis)


@of_tensors(1, takes_names=True)
def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Up to `chunks` pieces of equal size along `dim`, the last perhaps smaller: views."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    axis = _splittable(input, dim)
    n = input._array.shape[axis]
    if n == 0:
        return _split(input, (0,) * chunks, axis)
    return _split(input, _equal_pieces(n, -(-n // chunks)), axis)


@of_tensors(1, takes_names=True)
def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """As many pieces as said, sizes differing by at most one, or cut at the places given: views."""
    axis = _splittable(input, dim)
    cuts = (
        indices_or_sections.tolist()
        if isinstance(indices_or_sections, Tensor)
        else indices_or_sections
    )
    if isinstance(cuts, int) and cuts <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {cuts}")
    return tuple(numpy.array_split(input, cuts, axis))


@of_tensors(1, takes_names=True)
def hsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """`tensor_split` along the second dimension (vectors: the first)."""
    return _split_evenly("hsplit", input, indices_or_sections, 0 if input.ndim == 1 else 1)


@takes_names
def vsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """`tensor_split` along the first dimension of a matrix."""
    return _split_evenly("vsplit", input, indices_or_sections, 0)


@takes_names
def dsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """`tensor_split` along the third dimension."""
    return _split_evenly("dsplit", input, indices_or_sections, 2)


_LEAST = {"hsplit": 1, "vsplit": 2, "dsplit": 3}


def _split_evenly(name: str, input: Any, sections: Any, axis: int) -> tuple[Tensor, ...]:
    """`tensor_split` where a number of sections must divide the size."""
    input = tensor_of(input)
    if input.ndim < _LEAST[name]:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {_LEAST[name]} dimension, but got a "
            f"tensor with {input.ndim} dimensions!"
        )
    if isinstance(sections, int) and (sections <= 0 or input._array.shape[axis] % sections):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {axis}, but the size of the "
            f"dimension {input._array.shape[axis]} is not divisible by the split_size {sections}!"
        )
    return tensor_split(input, sections, axis)


@told
def unbind(input: Any, dim: int = 0, *, axis: int | None = None) -> tuple[Tensor, ...]:
    """The slices along `dim`, without that dimension: views."""
    if axis is not None:
        if dim:
            raise TypeError("unbind() got dim= and axis=, which are one argument")
        dim = axis
    input = tensor_of(input)
    if not input._array.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return _unbind(input, one_dim(dim, input._array.ndim))


@takes_names
def unsafe_split(tensor: Any, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """As `split`, but the pieces may be changed in place (if the input is not used again)."""
    return _unmarked(split(tensor, split_size, dim))


def unsafe_split_with_sizes(
    input: Any, split_sizes: Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """As `split_with_sizes`, but the pieces may be changed in place."""
    return _unmarked(split_with_sizes(input, split_sizes, dim))


@of_tensors(1)
def unsafe_chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """As `chunk`, but the pieces may be changed in place."""
    return _unmarked(chunk(input, chunks, dim))


def _unmarked(pieces: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Forget that the pieces are views: what is written into one is nobody else's concern."""
    for piece in pieces:
        piece._origin = None
        piece._cell = None
    return pieces
