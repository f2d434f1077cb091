"""Views, joins and rearrangements under PyTorch's names."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of, kind_of
from wengert.autograd.misfits import told
from wengert.autograd.record import recorder, usually
from wengert.autograd.settings import refuses
from wengert.dispatch import called, known
from wengert.errors import ShapeError
from wengert.functions.arguments import (
    constant,
    of_tensors,
    one_dim,
    only_tensors,
    sizes,
    takes_names,
    takes_out,
    tensor_of,
)
from wengert.functions.creation import check_device
from wengert.rules import shapes as rules
from wengert.rules.indexing import select as select_rule
from wengert.rules.indexing import slices as slices_rule
from wengert.tensor import Size, Tensor, View, cell_of, wrap

_reshape, _expand = recorder(np.reshape), recorder(rules.expand)
_transpose, _swapaxes = recorder(np.transpose), recorder(np.swapaxes)
_squeeze, _expand_dims = recorder(np.squeeze), recorder(np.expand_dims)
_moveaxis, _tile = recorder(np.moveaxis), recorder(np.tile)
_flip, _roll = recorder(rules.flipped), recorder(np.roll)
_tril, _triu = recorder(np.tril), recorder(np.triu)
_diagonal, _diagonal_scatter = recorder(rules.diagonal), recorder(rules.diagonal_scatter)
_split, _unbind = recorder(rules.split), recorder(rules.unbind)
_alias, _copy = recorder(rules.alias), recorder(rules.copy)
_repeat_interleave, _as_strided = recorder(rules.repeat_interleave), recorder(rules.as_strided)
_concatenate, _stack = recorder(np.concatenate), recorder(np.stack)
_select, _slices = recorder(select_rule), recorder(slices_rule)
_windows, _trace = recorder(rules.windows), recorder(rules.trace)

# ---- one shape for another -----------------------------------------------------------------


def _inferred(shape: tuple[int, ...], n: int) -> tuple[int, ...]:
    """A shape with its one -1 worked out; RuntimeError if it does not hold n elements."""
    known = math.prod(s for s in shape if s != -1)
    unknown = shape.count(-1)
    if unknown > 1:
        raise RuntimeError("only one dimension can be inferred")
    if any(s < -1 for s in shape):
        raise RuntimeError(f"invalid shape dimension {min(shape)}")
    if unknown and known == 0:
        raise RuntimeError(
            f"cannot reshape tensor of {n} elements into shape {list(shape)} because the "
            "unspecified dimension size -1 can be any value"
        )
    if (unknown and n % known) or (not unknown and known != n):
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {n}")
    return tuple(n // known if s == -1 else s for s in shape) if unknown else shape


@usually(
    np.reshape,
    when=lambda shape, named: shape and type(shape[0]) is type(shape[-1]) is int and not named,
    given=lambda input, shape: (input, shape),
    quick=lambda a, shape: a.reshape(shape),
)
def reshape(input: Any, *shape: Any, **named: Any) -> Tensor:
    """The input's elements in another shape, a view where memory allows; one size may be -1.

    >>> import wengert as wg
    >>> wg.reshape(wg.arange(6), (2, -1))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    input = tensor_of(input)
    if named.keys() != (set() if shape else {"shape"}):
        raise TypeError("reshape() takes a shape: x.reshape(2, -1), or reshape(x, shape=(2, -1))")
    shape = sizes(shape or (named["shape"],))
    try:
        return _reshape(input, shape)
    except ShapeError:
        return _reshape(input, _inferred(shape, input._array.size))  # says what is wrong


@usually(
    np.reshape,
    when=lambda input, shape, dtype, size: (
        shape
        and type(shape[0]) is type(shape[-1]) is int
        and dtype is size is None
        and input._array.flags.c_contiguous
    ),
    given=lambda input, shape: (input, shape),
    quick=lambda a, shape: a.reshape(shape),
)
def view(input: Any, *shape: Any, dtype: Any = None, size: Any = None) -> Tensor:
    """The input's memory in another shape, or, given a dtype, read as other numbers."""
    if len(shape) == 1 and isinstance(shape[0], (np.dtype, type)):
        dtype = shape[0]
    if dtype is not None:
        return _reinterpreted(input, dtypes.stated(dtype))
    out = reshape(input, *(shape or (size,)))
    array = out._array
    if out._origin is None and kind_of(array).has_layout and array.size:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return out


def _reinterpreted(input: Tensor, dtype: np.dtype[Any]) -> Tensor:
    try:
        out = wrap(input._array.view(dtype))
    except ValueError as error:
        raise ShapeError(
            f"self.size(-1) must be divisible by the new size: {list(input.shape)} of "
            f"{input.dtype} cannot be read as {dtype}. {error}"
        ) from error
    out._cell = cell_of(input)
    return out


@told
def view_as(input: Any, other: Tensor) -> Tensor:
    """`view` in the shape of another tensor."""
    return view(input, other.shape)


@told
def reshape_as(input: Any, other: Tensor) -> Tensor:
    """`reshape` to the shape of another tensor."""
    return reshape(input, other.shape)


@told
def ravel(input: Any) -> Tensor:
    """The elements in one dimension."""
    return reshape(input, -1)


@of_tensors(1)
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one."""
    start, end = one_dim(start_dim, input._array.ndim), one_dim(end_dim, input._array.ndim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not input._array.ndim:
        return reshape(input, 1)
    if start == end:
        return input
    shape = input._array.shape
    return _reshape(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@of_tensors(1)
def unflatten(input: Any, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension as several."""
    axis = one_dim(dim, input._array.ndim)
    if -1 in sizes:
        known = -math.prod(sizes)
        sizes = [input._array.shape[axis] // known if s == -1 else s for s in sizes]
    if math.prod(sizes) != input._array.shape[axis]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} "
            f"({input._array.shape[axis]}) in the input tensor"
        )
    return reshape(input, (*input.shape[:axis], *sizes, *input.shape[axis + 1 :]))


@told
def squeeze(input: Any, dim: Any = None, *, axis: Any = None) -> Tensor:
    """Without the dimensions of size 1, or those of `dim` that have it."""
    input = tensor_of(input)
    shape = input._array.shape
    if axis is not None:
        if dim is not None:
            raise TypeError("squeeze() got dim= and axis=, which are one argument")
        dim = axis
    if dim is None:
        return _squeeze(input)
    dims = [dim] if isinstance(dim, int) else list(dim)
    axes = tuple(d for d in (one_dim(d, len(shape)) for d in dims) if shape and shape[d] == 1)
    return _squeeze(input, axes)


@usually(
    np.expand_dims,
    when=lambda input, dim: type(dim) is int and 0 <= dim <= input._array.ndim,
    given=lambda input, dim: (input, dim),
)
def unsqueeze(input: Any, dim: int) -> Tensor:
    """With a new dimension of size 1 at `dim`."""
    input = tensor_of(input)
    return _expand_dims(input, one_dim(dim, input.ndim + 1))


@usually(
    np.transpose,
    when=lambda input, axes, dims: (
        axes
        and type(axes[0]) is type(axes[-1]) is int
        and len(axes) == input._array.ndim
        and dims is None
    ),
    given=lambda input, axes: (input, axes),
    quick=lambda a, axes: a.transpose(axes),
)
def permute(input: Any, *axes: Any, dims: Any = None) -> Tensor:
    """The dimensions in another order."""
    input = tensor_of(input)
    order = tuple(one_dim(d, input._array.ndim) for d in sizes(axes or (dims,)))
    if len(order) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {input.ndim} is not "
            f"equal to len(dims) = {len(order)}"
        )
    if len(set(order)) < len(order):
        raise RuntimeError(f"permute(): duplicate dims are not allowed: {list(order)}")
    return _transpose(input, order)


@usually(
    np.swapaxes,
    when=lambda input, dim0, dim1: type(dim0) is type(dim1) is int and input._array.ndim,
    given=lambda input, dim0, dim1: (input, dim0, dim1),
    quick=lambda a, axis1, axis2: a.swapaxes(axis1, axis2),
)
def transpose(input: Any, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    input = tensor_of(input)
    n = input.ndim
    dim0, dim1 = one_dim(dim0, n), one_dim(dim1, n)
    return _swapaxes(input, dim0, dim1) if n else _alias(input)


swapdims = transpose


def swapaxes(input: Any, axis0: int, axis1: int) -> Tensor:
    """Two dimensions exchanged: `transpose` under NumPy's name.

    >>> import wengert as wg
    >>> tuple(wg.zeros(2, 3, 4).swapaxes(axis0=0, axis1=-1).shape)
    (4, 3, 2)
    """
    return transpose(input, axis0, axis1)


@usually(
    np.swapaxes,
    when=lambda input: input._array.ndim == 2,
    given=lambda input: (input, 0, 1),
    quick=lambda a: a.T,
)
def t(input: Any) -> Tensor:
    """The transpose of a matrix; vectors and numbers stay as they are."""
    input = tensor_of(input)
    if input.ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D. Use x.mT for "
            "batches."
        )
    return _swapaxes(input, 0, 1) if input.ndim == 2 else _alias(input)


def adjoint(input: Any) -> Tensor:
    """The conjugate transpose of the last two dimensions."""
    input = tensor_of(input)
    if input.ndim == 1:
        raise RuntimeError(
            "adjoint() is only supported on matrices or batches of matrices, got a 1-D tensor. "
            "Use x.conj(), or x.unsqueeze(0) for a row."
        )
    return (transpose(input, -2, -1) if input.ndim else input).conj()


@usually(np.transpose, when=lambda: True, given=lambda input: (input, None), quick=lambda a: a.T)
def reversed_dims(input: Any) -> Tensor:
    """The dimensions in reverse order, as in `x.T`."""
    return _transpose(tensor_of(input))


@of_tensors(1)
def movedim(input: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Dimensions moved to other places; the rest keep their order."""
    n = input.ndim
    if type(source) is type(destination) is int and n:
        order = [*range(n)]
        order.insert(one_dim(destination, n), order.pop(one_dim(source, n)))
        return _transpose(input, order)
    source, destination = ([d] if isinstance(d, int) else list(d) for d in (source, destination))
    source, destination = ([one_dim(d, n) for d in dims] for dims in (source, destination))
    if n < 2 or not len(source) == len(destination) == len({*source}) == len({*destination}):
        return _moveaxis(input, source, destination)  # which says what is wrong with them
    places = dict(zip(destination, source, strict=True))
    rest = iter([d for d in range(n) if d not in source])
    return _transpose(input, [places[d] if d in places else next(rest) for d in range(n)])


moveaxis = movedim


def expand(input: Any, *shape: Any, size: Any = None, implicit: bool = False) -> Tensor:
    """Dimensions of size 1 (and new ones in front) repeated without copying; -1 keeps a size."""
    if not isinstance(input, Tensor):
        input = tensor_of(input)
    wanted, have = sizes(shape or (size,)), input._array.shape
    extra = len(wanted) - len(have)
    behind = wanted[extra:] if extra >= 0 else ()
    if extra < 0 or -1 in wanted or behind != have:
        wanted = _expanded(wanted, have, extra)
    return _expand(input, wanted)


def _expanded(wanted: tuple[int, ...], have: tuple[int, ...], extra: int) -> tuple[int, ...]:
    """The sizes that an expansion is to, where not only new dimensions come in front."""
    if extra < 0:
        raise RuntimeError(
            f"expand(wengert.Tensor{{{list(have)}}}, size={list(wanted)}): the number of sizes "
            f"provided ({len(wanted)}) must be greater or equal to the number of dimensions in "
            f"the tensor ({len(have)})"
        )
    target = []
    for i, n in enumerate(wanted):
        old = have[i - extra] if i >= extra else None
        if n == -1:
            if old is None:
                raise RuntimeError(
                    "The expanded size of the tensor (-1) isn't allowed in a leading, "
                    f"non-existing dimension {i}"
                )
            n = old
        if old is not None and old not in (n, 1):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({old}) at "
                f"non-singleton dimension {i}. Target sizes: {list(wanted)}. Tensor sizes: "
                f"{list(have)}"
            )
        target.append(n)
    return tuple(target)


@told
def broadcast_to(input: Any, size: Any) -> Tensor:
    """As `expand`."""
    return expand(input, size)


@told
def expand_as(input: Any, other: Tensor) -> Tensor:
    """`expand` to the shape of another tensor."""
    return expand(input, other.shape)


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of the given shapes have together; RuntimeError if there is none."""
    try:
        return Size(
            np.broadcast_shapes(*(tuple(s) if not isinstance(s, int) else (s,) for s in shapes))
        )
    except ValueError:
        raise RuntimeError(
            "Shape mismatch: objects cannot be broadcast to a single shape: "
            f"{[list(s) for s in shapes]}"
        ) from None


@told
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Tensors expanded to the shape they have together."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    tensors = only_tensors(tensors)
    shape = broadcast_shapes(*(x.shape for x in tensors))
    return tuple(expand(x, shape) for x in tensors)


@told
def sum_to_size(input: Any, *size: Any) -> Tensor:
    """Summed over the dimensions along which a tensor of `size` was repeated: expand's
    transpose.
    """
    wanted = sizes(size)
    extra = input.ndim - len(wanted)
    if extra < 0 or any(w not in (n, 1) for w, n in zip(wanted, input.shape[extra:], strict=True)):
        raise RuntimeError(f"size {list(wanted)} is not expandable to size {list(input.shape)}")
    repeated = [
        *range(extra),
        *(i + extra for i, w in enumerate(wanted) if w == 1 != input.shape[i + extra]),
    ]
    return reshape(input.sum(repeated, True) if repeated else input, wanted)


def atleast_1d(*tensors: Any) -> Tensor:
    """Each tensor with one dimension or more."""
    return _at_least(tensors, lambda x: reshape(x, 1) if x.ndim < 1 else x)


def atleast_2d(*tensors: Any) -> Tensor:
    """Each tensor with two dimensions or more; a vector becomes a row."""
    return _at_least(tensors, lambda x: reshape(x, 1, -1) if x.ndim < 2 else x)


def atleast_3d(*tensors: Any) -> Tensor:
    """Each tensor with three dimensions or more."""

    def three(x: Tensor) -> Tensor:
        if x.ndim == 2:
            return unsqueeze(x, -1)
        return reshape(x, 1, -1, 1) if x.ndim < 2 else x

    return _at_least(tensors, three)


def _at_least(tensors: tuple[Any, ...], change: Any) -> Any:
    if len(tensors) == 1:
        if isinstance(tensors[0], (list, tuple)):
            return tuple(change(tensor_of(x)) for x in tensors[0])
        return change(tensor_of(tensors[0]))
    return tuple(map(change, only_tensors(tensors)))


# ---- copies --------------------------------------------------------------------------------


@of_tensors(1)
def clone(input: Any, *, memory_format: Any = None) -> Tensor:
    """A copy, recorded: gradients flow through it."""
    return _copy(input)


def contiguous(input: Any, memory_format: Any = None) -> Tensor:
    """The input itself if its elements lie in order, else a copy in which they do."""
    return input if input.is_contiguous() else _copy(input)


def alias(input: Tensor) -> Tensor:
    """Another name for the same memory."""
    return _alias(input)


# ---- parts ---------------------------------------------------------------------------------


@of_tensors(1)
def narrow(input: Any, dim: int, start: Any, length: int) -> Tensor:
    """`length` slices along `dim` from `start` on: a view."""
    if not input._array.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    axis = one_dim(dim, input._array.ndim)
    if isinstance(start, Tensor) and (start.ndim or start.dtype.kind not in "iu"):
        raise RuntimeError(
            f"start must be an 0-dim integral Tensor, got {start.dtype} of shape "
            f"{list(start.shape)}"
        )
    start = operator.index(start)
    n = input._array.shape[axis]
    if not -n <= start <= n:
        raise IndexError(
            f"start out of range (expected to be in range of [{-n}, {n}], but got {start})"
        )
    start = start + n if start < 0 else start
    if length < 0 or start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return _slices(input, (slice(None),) * axis + (slice(start, start + length),))


@of_tensors(1)
def select(input: Any, dim: int, index: int) -> Tensor:
    """The slice number `index` along `dim`, without that dimension: a view."""
    if not input._array.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis = one_dim(dim, input._array.ndim)
    index = operator.index(index)
    if not -input._array.shape[axis] <= index < input._array.shape[axis]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at "
            f"dimension {axis}"
        )
    return _select(input, (slice(None),) * axis + (index,))


@of_tensors(1)
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last dimension: a view."""
    dim1, dim2 = one_dim(dim1, input._array.ndim), one_dim(dim2, input._array.ndim)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return _diagonal(input, offset, dim1, dim2)


@of_tensors(1, takes_out=True)
def diag(input: Any, diagonal: int = 0) -> Tensor:
    """The matrix with a vector on its diagonal; of a matrix, a copy of its diagonal."""
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return (
        diag_embed(input, diagonal) if input.ndim == 1 else clone(_diagonal(input, diagonal, 0, 1))
    )


@of_tensors(1)
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last dimension of the input on their diagonals, zero elsewhere."""
    n = input.shape[-1] + abs(offset)
    dim1, dim2 = one_dim(dim1, input.ndim + 1), one_dim(dim2, input.ndim + 1)
    shape = list(input.shape[:-1])
    for d in sorted((dim1, dim2)):
        shape.insert(d, n)
    return _diagonal_scatter(input, tuple(shape), offset, dim1, dim2)


def diagflat(input: Any, offset: int = 0) -> Tensor:
    """The matrix with all elements of the input on its diagonal."""
    return diag_embed(ravel(input), offset)


@of_tensors(1)
@refuses(input="b")
def trace(input: Any) -> Tensor:
    """The sum of a matrix's diagonal."""
    if input._array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input._array.dtype.kind in "iu":
        return _diagonal(input, 0, 0, 1).sum()
    return _trace(input)


@takes_out
def tril(input: Any, diagonal: int = 0) -> Tensor:
    """The lower triangle, zero above the diagonal (or another diagonal)."""
    return _tril(_matrices("tril", input), diagonal)


@takes_out
def triu(input: Any, diagonal: int = 0) -> Tensor:
    """The upper triangle, zero below the diagonal (or another diagonal)."""
    return _triu(_matrices("triu", input), diagonal)


def _matrices(name: str, input: Any) -> Tensor:
    input = tensor_of(input)
    if input.ndim < 2:
        raise RuntimeError(
            f"{name}: input tensor must have at least 2 dimensions, got {input.ndim}"
        )
    return input


def _triangle(name: str, doc: str, upper: bool) -> Any:
    """The function that numbers the places of a triangle."""

    def indices(
        row: int, col: int, offset: int = 0, *, dtype: Any = dtypes.int64, device: Any = None,
        layout: Any = None,
    ) -> Tensor:  # fmt: skip
        check_device(device)
        if row < 0 or col < 0:
            raise RuntimeError(f"{name}(): row and col must be non-negative, got {row} and {col}")
        before = offset if upper else offset + 1  # columns before this one lie below, in row 0
        below = _up_to(before + row) - _up_to(before)
        below -= _up_to(before + row - col) - _up_to(before - col)
        places = np.empty((2, row * col - below if upper else below), np.int64)
        rules.number_triangle(places, row, col, before, int(upper))
        return constant(places.astype(dtype, copy=False))

    return called(indices, name, doc)


def _up_to(n: int) -> int:
    """The sum of the positive numbers below n."""
    return n * (n - 1) // 2 if n > 0 else 0


tril_indices = _triangle(
    "tril_indices", "Row and column numbers of the lower triangle of a row by col matrix.", False
)
triu_indices = _triangle(
    "triu_indices", "Row and column numbers of the upper triangle of a row by col matrix.", True
)


# ---- rearranging and repeating -------------------------------------------------------------


@of_tensors(1)
def flip(input: Any, *axes: Any, dims: Any = None) -> Tensor:
    """The order of the elements reversed along some dimensions."""
    axes = tuple(one_dim(d, input._array.ndim) for d in sizes(axes or (dims,)))
    return _flip(input, axes) if input.ndim else clone(input)


@of_tensors(1)
def fliplr(input: Any) -> Tensor:
    """Columns in reverse order."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


@of_tensors(1)
def flipud(input: Any) -> Tensor:
    """Rows in reverse order."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


@of_tensors(1)
def roll(input: Any, shifts: Any, dims: Any = None) -> Tensor:
    """Elements shifted along dimensions; those that fall off come back at the other end."""
    for name, given in (("shifts", shifts), ("dims", () if dims is None else dims)):
        items = given if isinstance(given, (tuple, list)) else [given]
        if not all(hasattr(item, "__index__") for item in items):
            raise TypeError(
                f"roll(): argument '{name}' must be int or tuple of ints, not {given!r}"
            )
    if isinstance(shifts, (tuple, list)) and not shifts:
        raise RuntimeError("`shifts` required: how far to roll, a number for each of dims")
    if dims is None or dims == ():
        if isinstance(shifts, (tuple, list)) and len(shifts) > 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:0")
        return reshape(_roll(reshape(input, -1), _number(shifts), 0), input.shape)
    shifts, dims = ((v,) if isinstance(v, int) else tuple(v) for v in (shifts, dims))
    if len(shifts) != len(dims):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
        )
    return _roll(input, shifts, tuple(one_dim(d, input._array.ndim) for d in dims))


def _number(value: Any) -> int:
    return int(value) if isinstance(value, int) else int(value[0])


_rot90 = recorder(np.rot90)


@of_tensors(1)
def rot90(input: Any, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by k quarter turns from the first of two dimensions towards the second."""
    return clone(_rot90(input, k, tuple(dims)))


@of_tensors(1)
def repeat(input: Any, *reps: Any, repeats: Any = None) -> Tensor:
    """Copies of the whole, side by side, as many along each dimension as said."""
    times = sizes(reps or (repeats,))
    if len(times) < input.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    if any(n < 0 for n in times):
        raise RuntimeError(f"Trying to create tensor with negative dimension: repeat {list(times)}")
    return _tile(input, times)


@of_tensors(1)
def tile(input: Any, *reps: Any, dims: Any = None) -> Tensor:
    """As `repeat`, with ones put in front of too few numbers."""
    times = sizes(reps or (dims,))
    return repeat(input, (1,) * (input.ndim - len(times)) + times)


@takes_names
def repeat_interleave(
    input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element (or slice along `dim`) repeated; given only counts, the numbers of the
    places.
    """
    input = tensor_of(input)
    if repeats is None:
        if input.ndim != 1 or input.dtype.kind not in "iu":
            raise TypeError(
                "repeat_interleave(): without 'repeats' the input has to be a vector of counts, "
                f"integers, not {list(input.shape)} of {input.dtype}. Pass how often to repeat."
            )
        return constant(np.repeat(np.arange(len(input)), input._array))
    if dim is None:
        input, dim = reshape(input, -1), 0
    counts = array_of(repeats)
    if isinstance(counts, float):
        raise TypeError("argument 'repeats' must be a whole number, or a tensor of them, not float")
    axis = one_dim(dim, input._array.ndim)
    if isinstance(counts, np.ndarray):
        if counts.size not in (1, input._array.shape[axis]):
            raise RuntimeError(
                "repeats must have the same size as input along dim, but got repeats of "
                f"{counts.size} and input.size({axis}) = {input._array.shape[axis]}"
            )
        counts = counts.ravel() if counts.size != 1 else int(counts.item())
    return _repeat_interleave(input, counts, axis)


# ---- strides -------------------------------------------------------------------------------


@of_tensors(1)
def as_strided(
    input: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A view of the tensor's storage with the sizes and strides (in elements) given."""
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(stride)}"
        )
    start, have = _memory(input)
    offset = start if storage_offset is None else storage_offset
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if (math.prod(size) and last >= have) or offset < 0:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset} "
            f"are out of bounds for storage of {have} elements"
        )
    viewed = _speaks_of(input)
    within = offset - (start if viewed is input else viewed.storage_offset())
    return _as_strided(viewed, tuple(size), tuple(stride), within, viewed.stride())


def _speaks_of(x: Tensor) -> Tensor:
    """The tensor of which strides take a view, if they are said of `x`.

    They speak of the storage, of which a base may have more than its view. A base that is not
    differentiated through the view, or has no tangent of its own, or elements of another size, is
    left alone.
    """
    view = x._origin
    if x.requires_grad and x.is_leaf:  # differentiated itself, whatever it was a view of
        return x
    if type(view) is View and view.creation is None and not x._tangents and known(x._array):
        return view.base if view.base.dtype == x.dtype else x
    return x


def _memory(x: Tensor) -> tuple[int, int]:
    """Where a tensor begins in its storage, and how many elements that has.

    Of an example of a batch the storage is the example.
    """
    kind = kind_of(x._array)
    if kind.has_layout:
        return x.storage_offset(), kind.elements(x._array)
    if tuple(x.stride()) != tuple(math.prod(x.shape[k + 1 :]) for k in range(x.ndim)):
        raise RuntimeError(
            f"as_strided: an example of shape {list(x.shape)} inside of vmap does not lie in one "
            "piece, so that strides mean nothing. Use x.contiguous()."
        )
    return 0, math.prod(x.shape)


@of_tensors(1)
def unfold(input: Any, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` along a dimension, `step` apart, as a new last dimension: a view."""
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    axis = one_dim(dimension, input._array.ndim)
    n = input._array.shape[axis] if input._array.ndim else 1
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {axis} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return _windows(input, axis, size, step)


@of_tensors(1)
def view_as_real(input: Any) -> Tensor:
    """A complex tensor's real and imaginary parts as a last dimension of size 2: a view."""
    if input.dtype.kind != "c":
        raise RuntimeError(f"view_as_real is only supported for complex tensors, got {input.dtype}")
    return recorder(rules.real_pairs)(input)


@of_tensors(1)
def view_as_complex(input: Any) -> Tensor:
    """A last dimension of size 2 read as real and imaginary parts: a view."""
    if input.dtype.kind != "f" or not input.ndim or input.shape[-1] != 2:
        raise RuntimeError(
            "view_as_complex needs a floating point tensor with a last dimension of size 2, got "
            f"{input.dtype} of shape {list(input.shape)}"
        )
    return recorder(rules.complex_of_pairs)(input)
