"""Indexing, gathering and scattering under PyTorch's names.

An index has two parts: numbers, slices, None and `...` take a view; index tensors and masks then
pick elements of it. PyTorch takes the view first, which is not always what NumPy makes of the
mixture; `divide` below does the same.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of
from wengert.autograd import inplace
from wengert.autograd.engine import mark_written
from wengert.autograd.operands import cast
from wengert.autograd.record import recorder, usually
from wengert.dispatch import as_array, known, require, within
from wengert.functions.arguments import (
    constant,
    of_tensors,
    one_dim,
    unchecked,
)
from wengert.functions.shapes import broadcast_tensors
from wengert.history import modes
from wengert.history.location import warn
from wengert.rules import indexing as rules
from wengert.tensor import INFERENCE, NUMBERS, Tensor, carries, wrap

_get, _put = recorder(rules.getitem), recorder(rules.put)
_select, _slice = recorder(rules.select), recorder(rules.slices)
_gather, _scatter_add, _where = (
    recorder(rules.gather),
    recorder(rules.scatter_add),
    recorder(np.where),
)
_assign = recorder(rules.overwritten)

_FULL = slice(None)
_BOUND = (int, type(None))

# ---- x[index] ------------------------------------------------------------------------------


@usually(
    rules.slices,
    when=lambda x, index: (
        type(index) is slice
        and type(index.start) in _BOUND
        and type(index.stop) in _BOUND
        and index.step is None
        and x._array.ndim
    ),
    given=lambda x, index: (x, index),
    quick=lambda x, index: x[index],
)
@usually(
    rules.select,
    when=lambda index: type(index) is int,
    given=lambda x, index: (x, index),
    quick=lambda x, index: x[index, ...],
)
def get(x: Tensor, index: Any) -> Tensor:
    """`x[index]`: a view for numbers and slices, a copy for index tensors and masks."""
    try:
        if type(index) is int:
            return _select(x, index)
        if type(index) is slice and x._array.ndim:
            return _slice(x, plain_slice(index))
        if type(index) is tuple and _is_plain(index):
            return _slice(x, index)
        basic, advanced = divide(x._array.shape, index)
        if advanced is None:
            return _slice(x, (...,)) if basic is None else _view(x, basic)
        if basic is not None:
            x = _view(x, basic)
        return _get(x, lasting(advanced) if _tracked(x) else _arrays_of(advanced))
    except IndexError as error:
        raise rules.of_tensors(error, tuple(x.shape)) from None


def _view(x: Tensor, basic: tuple[Any, ...]) -> Tensor:
    """`x[basic]`, where numbers may be arrays whose values are not known yet."""
    return (_slice if rules.is_basic(basic) else _get)(x, basic)


def _is_plain(index: tuple[Any, ...]) -> bool:
    """Whether NumPy takes an index as it is: numbers, None, one ellipsis, slices of numbers."""
    dots = 0
    for p in index:
        kind = type(p)
        if kind is slice:
            if not (
                type(p.start) in _BOUND
                and type(p.stop) in _BOUND
                and (p.step is None or (type(p.step) is int and p.step > 0))
            ):
                return False
        elif p is Ellipsis:
            dots += 1
        elif kind is not int and p is not None:
            return False
    return dots < 2


def divide(shape: tuple[int, ...], index: Any) -> tuple[Any, Any]:
    """An index as (basic part or None, advanced part or None), to be applied one after the
    other.
    """
    parts = index if type(index) is tuple else (index,)
    if len(parts) <= len(shape) and all(map(_is_whole_or_places, parts)):
        return None, _only_arrays([*parts])
    parts = _as_tuple(index)
    if len(parts) <= len(shape) and all(map(_is_whole_or_places, parts)):
        return None, _only_arrays([*parts])
    used = sum(_dims_used(p) for p in parts)
    if used and not shape:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number"
        )
    if used > len(shape):
        raise IndexError(
            f"too many indices for tensor of dimension {len(shape)}: {used} were given"
        )
    dots = [i for i, p in enumerate(parts) if p is Ellipsis]
    if len(dots) != 1:  # the first one stands for what is missing, further ones for nothing
        parts = tuple(p for i, p in enumerate(parts) if i not in dots[1:]) + (
            () if dots else (Ellipsis,)
        )
    basic: list[Any] = []
    advanced: list[Any] = []
    dim = 0
    for p in parts:
        if p is Ellipsis:
            n = len(shape) - used
            basic += [_FULL] * n
            advanced += [_FULL] * n
            dim += n
        elif p is None:
            basic.append(None)
            advanced.append(_FULL)
        elif isinstance(p, slice):
            basic.append(plain_slice(p))
            advanced.append(_FULL)
            dim += 1
        elif isinstance(p, int):
            basic.append(p)
            if not -shape[dim] <= p < shape[dim]:
                error = f"index {p} is out of bounds for dimension {dim} with size {shape[dim]}"
                raise rules.of_tensors(IndexError(error), tuple(shape))
            dim += 1
        elif p.dtype == bool:
            if not p.ndim:  # a single truth value takes all or nothing, along a new dimension
                basic.append(None)
                advanced.append(np.zeros(int(p), np.int64))
                continue
            if p.shape != shape[dim : dim + p.ndim]:
                raise IndexError(
                    f"The shape of the mask {list(p.shape)} at index {dim} does not match the "
                    f"shape of the indexed tensor {list(shape)}"
                )
            basic += [_FULL] * p.ndim
            advanced.append(p)
            dim += p.ndim
        else:
            if p.ndim:
                basic.append(_FULL)
                advanced.append(p)
            else:  # a number that is not known yet
                basic.append(array_of(p).copy())
            dim += 1
    return _trivial_as_none(basic), _only_arrays(advanced)


def _is_array_of_places(part: Any) -> bool:
    array = part._array if type(part) is Tensor else part
    return type(array) is np.ndarray and array.dtype.kind == "i" and array.ndim > 0


def _is_whole_or_places(part: Any) -> bool:
    return part == _FULL if type(part) is slice else _is_array_of_places(part)


def _trivial_as_none(basic: list[Any]) -> Any:
    return (
        None
        if all(p == _FULL if isinstance(p, slice) else False for p in basic) and basic
        else tuple(basic)
    )


def _only_arrays(advanced: list[Any]) -> Any:
    while advanced and isinstance(advanced[-1], slice):
        advanced.pop()
    if not advanced:
        return None
    return advanced[0] if len(advanced) == 1 else tuple(advanced)


def _as_tuple(index: Any) -> tuple[Any, ...]:
    """The parts of an index, each a number, a slice, None, `...`, or an array of integers or
    bools.
    """
    if isinstance(index, list) and _is_tuple_in_disguise(index):
        warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated; use "
            "x[tuple(index)] instead of x[index], or x[wengert.tensor(index)] for an index tensor."
        )
        index = tuple(index)
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(
        [p if p is None or p is Ellipsis or type(p) in (int, slice) else _part(p) for p in parts]
    )  # of a list, not of a generator: in half the time


def _is_tuple_in_disguise(index: list[Any]) -> bool:
    """A list with slices, sequences or an ellipsis in it is taken as a tuple of indices."""
    return (
        any(
            p is Ellipsis or p is None or isinstance(p, (slice, list, tuple, Tensor, np.ndarray))
            for p in index
        )
        and len(index) < 32
    )


def _part(p: Any) -> Any:
    if _is_array_of_places(p):
        return p
    if isinstance(p, bool):
        return as_array(p)
    if isinstance(p, Tensor):
        array = p._array
        if array.dtype == np.uint8:
            warn("indexing with dtype uint8 is deprecated, please use a dtype bool instead")
            array = array.astype(bool)
        if array.ndim == 0 and array.dtype.kind in "iu" and isinstance(array, np.ndarray):
            return int(array)  # a single index tensor is a number
        if array is not p._array or array.dtype.kind not in "ib":
            p = array
    elif isinstance(p, (list, tuple, range)):
        p = np.asarray([array_of(i) for i in p]) if len(p) else np.zeros(0, np.int64)
    elif _is_number(p):
        return operator.index(p)
    if dtypes.is_foreign(p):
        raise dtypes.foreign(p)
    if not hasattr(p, "dtype") or not hasattr(p, "ndim"):
        raise (
            TypeError(
                "only integers, slices, ellipsis, None and long or bool tensors are indices, "
                f"not {type(p).__name__}"
            )
            if isinstance(p, (str, dict))
            else IndexError(
                "only integers, slices, ellipsis, None and long or bool tensors are valid "
                f"indices (got {type(p).__name__})"
            )
        )
    if p.dtype.kind not in "iub":
        raise IndexError(
            f"tensors used as indices must be long, int, byte or bool tensors, got {p.dtype}"
        )
    return as_array(p) if isinstance(p, np.generic) else p


def _is_number(p: Any) -> bool:
    if not hasattr(p, "__index__") or getattr(p, "dtype", None) == dtypes.bool:
        return False
    return not hasattr(p, "ndim") or (known(p) and not p.ndim)


def _dims_used(p: Any) -> int:
    if p is None or p is Ellipsis:
        return 0
    return p.ndim if getattr(p, "dtype", None) == dtypes.bool else 1


def plain_slice(s: slice) -> slice:
    if s.step is not None and operator.index(s.step) == 0:
        raise ValueError("slice step cannot be zero")
    if type(s.start) in _BOUND and type(s.stop) in _BOUND:
        return s
    start, stop, step = (
        None if v is None else operator.index(v) for v in (s.start, s.stop, s.step)
    )
    return slice(start, stop, step)


def lasting(advanced: Any) -> Any:
    """Index arrays as an operation may keep them: later writes must not reach them.

    An index tensor is kept as it is, and its writes are counted; arrays, and tensors among
    several, are copied.
    """
    if isinstance(advanced, tuple):
        return tuple([p if isinstance(p, slice) else p.copy() for p in map(array_of, advanced)])
    return advanced if isinstance(advanced, Tensor) else advanced.copy()


def _arrays_of(advanced: Any) -> Any:
    return tuple(map(array_of, advanced)) if isinstance(advanced, tuple) else array_of(advanced)


# ---- x[index] = value ----------------------------------------------------------------------


def put(x: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`, in place; value and history as PyTorch has them."""
    truth = isinstance(index, Tensor) and not index.ndim and index.dtype == bool
    if truth and not known(index._array):
        inplace.refuse(x, (value,) if isinstance(value, Tensor) else ())
        x.copy_(_where(index, value_for(value, x), x))
        return
    basic, advanced = divide(x._array.shape, index)
    if type(x._array) is np.ndarray and not _tracked(x) and not _tracked(value):
        inplace.refuse(x, (value,))
        region = x if basic is None else wrap(x._array[(*basic, ...)])
        inplace._check_memory(region)
        _store(
            region._array,
            ... if advanced is None else _arrays_of(advanced),
            _value_array(value, x._array.dtype),
        )
        if x._origin is not INFERENCE:
            mark_written(x, "index_put_")
        return
    inplace.refuse(x, (value,) if isinstance(value, Tensor) else ())
    value = value_for(value, x)
    if basic is not None and not rules.is_basic(basic):
        if advanced is not None:
            value = _put(_get(x, basic), lasting(advanced), value)
        inplace.write(x, _put_recorded, (basic, value), "index_put_")
        return
    region = x if basic is None else _slice(x, basic)
    if advanced is None:
        region.copy_(_without_leading_ones(value, region.ndim))
    else:
        inplace.write(region, _put_recorded, (lasting(advanced), value), "index_put_")


def _tracked(x: Any) -> bool:
    if not isinstance(x, Tensor):
        return False
    if not modes.special:
        return x.requires_grad
    return (modes.is_grad_enabled() and x.requires_grad) or carries(x)


def _value_array(value: Any, dtype: Any) -> Any:
    array = dtypes.number(array_of(value))
    if isinstance(array, (np.ndarray, np.generic)):
        return array.real if array.dtype.kind == "c" and dtype.kind != "c" else array
    array = as_array(array)
    if array.dtype.kind == "c" and dtype.kind != "c":
        raise RuntimeError(
            f"a complex number cannot be stored in a tensor of {dtype} without overflow: take "
            "its .real"
        )
    return array.astype(dtype) if array.dtype.kind in "biuf" and dtype.kind in "biu" else array


def _store(array: Any, index: Any, value: Any) -> None:
    try:
        array[index] = value
    except ValueError:
        have = np.shape(array[index])
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(np.shape(value))} cannot be broadcast to "
            f"indexing result of shape {list(have)}"
        ) from None
    except IndexError as error:
        raise rules.of_tensors(error, array.shape) from None


def value_for(value: Any, x: Tensor) -> Tensor:
    """A value to be written into `x`, as a tensor of its dtype."""
    if type(value) is float and x._array.dtype.kind == "f":
        return wrap(np.asarray(value, x._array.dtype))
    if not isinstance(value, Tensor):
        value = wrap(dtypes.native(as_array(_value_array(value, x._array.dtype))))
    return cast(value, x._array.dtype)


def _without_leading_ones(value: Tensor, ndim: int) -> Tensor:
    extra = value.ndim - ndim
    return (
        value.reshape(value.shape[extra:])
        if extra > 0 and set(value.shape[:extra]) == {1}
        else value
    )


def _put_recorded(old: Tensor, index: Any, value: Tensor) -> Tensor:
    return _put(old, index, value)


# ---- choosing ------------------------------------------------------------------------------


@of_tensors(1)
def masked_fill(input: Any, mask: Any, value: Any) -> Tensor:
    """`input` with `value` where the mask holds."""
    if type(mask) is Tensor and mask._array.dtype is dtypes.bool and type(value) is float:
        return _where(mask, value_for(value, input), input)
    if array_of(mask).dtype not in (dtypes.bool, dtypes.uint8):
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}"
        )
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s)."
        )
    if dtypes.of(array_of(value)).kind == "c" and input.dtype.kind != "c":
        raise RuntimeError(
            f"value cannot be converted to type {input.dtype} without overflow: it is complex"
        )
    mask = constant(as_array(array_of(mask), bool))
    return _where(mask, value_for(value, input), input)


@of_tensors(2, takes_out=True)
def masked_select(input: Any, mask: Any) -> Tensor:
    """The elements where the mask holds, in one dimension."""
    if mask.dtype != dtypes.bool:
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, got {mask.dtype}")
    if input._array.shape != mask._array.shape:
        input, mask = broadcast_tensors(input, mask)
    return _get(input, mask._array)


@of_tensors(1)
def masked_scatter(input: Any, mask: Any, source: Any) -> Tensor:
    """`input` with the elements where the mask holds replaced by those of `source`, in order."""
    if mask.dtype != dtypes.bool:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype}"
        )
    if source.dtype != input.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{input.dtype} and {source.dtype}"
        )
    if input._array.shape == mask._array.shape:
        mask = mask._array
    else:
        mask = np.broadcast_to(mask._array, np.broadcast_shapes(input.shape, mask.shape))
        input = input.expand(mask.shape)
    if not known(mask):
        if not source.numel():
            return input.clone()
        place = np.clip(np.cumsum(mask) - 1, 0, source.numel() - 1)
        drawn = source.reshape(-1)[constant(place)].reshape(mask.shape)
        return _where(constant(mask), cast(drawn, input.dtype), input)
    n = int(np.count_nonzero(mask))
    if source.numel() < n:
        raise RuntimeError(
            "masked_scatter: expected self and source to have as many elements as the mask "
            f"holds: {n}, got {source.numel()}"
        )
    return _put(input, mask, cast(source.reshape(-1)[:n], input.dtype))


@of_tensors(1, takes_out=True)
def nonzero(input: Any, *, as_tuple: bool = False) -> Tensor:
    """The indices of the elements that are not zero: one row each, or one tensor per dimension."""
    if as_tuple:
        each: Any = tuple(constant(i) for i in np.nonzero(np.atleast_1d(input._array)))
        return each
    x = input._array
    return constant(rules.places_of(x if x.dtype.kind == "b" else x != 0))


def argwhere(input: Any) -> Tensor:
    """The indices of the elements that are not zero, one row each."""
    return nonzero(input)


# ---- along one dimension -------------------------------------------------------------------


def check_index(
    name: str, input: Tensor, dim: int, index: Any, error: Any = RuntimeError, copy: bool = True
) -> tuple[int, Any]:
    """The dimension from the front, and the index as an array: a copy, if a node is to keep it."""
    shape = input._array.shape
    axis = one_dim(dim, len(shape))
    places = index._array if isinstance(index, Tensor) else as_array(array_of(index))
    if places.dtype.kind not in "iu":
        raise RuntimeError(f"{name}(): Expected dtype int64 for index, got {places.dtype}")
    if places.dtype is not dtypes.int64:
        places = places.astype(np.int64, copy=copy)
    elif copy:
        places = places.copy()
    n = shape[axis] if shape else 1
    if type(places) is not np.ndarray or rules.outside(places.ravel(), 0, n):
        require(within(places, 0, n), _out_of_bounds, places, axis, n, error)
    return axis, places


def _out_of_bounds(places: Any, axis: int, n: int, error: Any) -> Exception:
    bad = places[~within(places, 0, n)].flat[0]
    return error(f"index {bad} is out of bounds for dimension {axis} with size {n}")


def check_sizes(input: Tensor, axis: int, places: Any) -> None:
    """An index along one dimension takes places in the others as they are: they must be there."""
    if places.shape == input._array.shape:
        return
    for d, (n, m) in enumerate(zip(places.shape, input.shape, strict=False)):
        if d != axis and n > m and places.size:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(places.shape)} to be "
                f"no larger than self {list(input.shape)} apart from dimension {axis}"
            )


def _at_least_1d(x: Any) -> Any:
    return x if x.ndim else x.reshape(1)


@of_tensors(1, takes_out=True)
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Tensor:
    """`out[i][j] = input[index[i][j]][j]` for dim 0, and so on along another dimension.

    >>> import wengert as wg
    >>> wg.gather(wg.tensor([[1, 2], [3, 4]]), 1, wg.tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
    axis, places = check_index("gather", input, dim, index, copy=not isinstance(index, Tensor))
    if not places.size:
        return _get(input.reshape(-1), np.zeros(places.shape, np.int64))
    ndim = input._array.ndim
    if places.ndim != ndim and max(places.ndim, 1) != max(ndim, 1):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as input tensor: "
            f"{places.ndim} and {ndim}"
        )
    if not ndim or not places.ndim:
        return _get(_at_least_1d(input), np.atleast_1d(places)).reshape(places.shape)
    check_sizes(input, axis, places)
    return _gather(input, index if isinstance(index, Tensor) else places, axis)


_gathered = unchecked(gather)


@of_tensors(2, takes_out=True)
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Tensor:
    """As `gather`, with the shapes broadcast; without `dim` in the flattened tensor."""
    if indices.dtype.kind not in "iu":
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype}"
        )
    if dim is None:
        return input.reshape(-1)[indices.reshape(-1)]
    axis = one_dim(dim, input._array.ndim)
    if indices.ndim != input.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    n, places = input._array.shape[axis], indices._array.astype(np.int64)
    indices = constant(np.where(places < 0, places + n, places))
    if indices._array.shape == input._array.shape:
        return _gathered(input, axis, indices)
    shape = np.broadcast_shapes(
        *(tuple(1 if d == axis else n for d, n in enumerate(x.shape)) for x in (input, indices))
    )
    full = [
        tuple(x.shape[d] if d == axis else n for d, n in enumerate(shape)) for x in (input, indices)
    ]
    return _gathered(input.expand(full[0]), axis, indices.expand(full[1]))


@of_tensors(1, takes_out=True)
def index_select(input: Any, dim: int, index: Any) -> Tensor:
    """The slices along `dim` that a vector of indices names."""
    axis, places = check_index("index_select", input, dim, index, IndexError)
    if places.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not input._array.ndim:
        return _get(input.reshape(1), np.atleast_1d(places)).reshape(())
    return _get(input, (_FULL,) * axis + (_at_least_1d(places),))


@of_tensors(1, takes_out=True)
def take(input: Any, index: Any) -> Tensor:
    """Elements of the flattened tensor."""
    flat = input if input._array.ndim == 1 else input.reshape(-1)
    places = check_wrapped(flat, index)[1]
    if places.ndim:
        return _get(flat, places)
    return _get(flat, places.reshape(1)).reshape(())  # a place alone would be a view


def check_wrapped(flat: Tensor, index: Any) -> tuple[int, Any]:
    places = index._array if isinstance(index, Tensor) else as_array(array_of(index))
    if places.dtype.kind not in "iu":
        raise RuntimeError(
            f"Expected a long tensor for index, but got {places.dtype}. Use index.long()."
        )
    places = places.copy() if places.dtype is dtypes.int64 else places.astype(np.int64)
    n = flat._array.shape[0]
    if known(places) and not rules.outside(places.ravel(), 0, n):
        return 0, places
    wrong = f"out of range: tried to access an index outside of a tensor of {n} elements"
    require(within(places, -n, n), IndexError, wrong)
    return 0, places % max(n, 1)


# ---- writing -------------------------------------------------------------------------------


def overwrite(x: Tensor, value: Any, name: str, record: Any = None) -> Tensor:
    """Make `x` hold a value that its old one has no part in."""
    number = type(value) in NUMBERS
    if number and not modes.special and x._node is None and x._origin is None:
        array = x._array
        if type(array) is np.ndarray and rules.filled(array, value):
            mark_written(x, name, ours=2)
            return x
    if not number and not isinstance(value, Tensor):
        value = wrap(dtypes.native(np.asarray(value)))
    quiet = inplace.unrecorded(x, () if number else (value,))
    if type(x._array) is np.ndarray and (quiet or not (_tracked(x) or _tracked(value))):
        if not quiet:
            inplace.refuse(x, (value,))
        if not (number and rules.filled(x._array, value)):
            inplace._check_memory(x, alike=number)
            if number:
                array = np.asarray(value)
            else:
                if value._array.shape != x._array.shape:
                    _broadcastable(value, x)
                array = value._array
            x._array[...] = (
                array.real if array.dtype.kind == "c" and x._array.dtype.kind != "c" else array
            )
        if x._origin is not INFERENCE:
            mark_written(x, name, ours=2)
        return x
    value = wrap(np.asarray(value)) if number else value
    _broadcastable(value, x)
    return inplace.write(x, record or _assign, (cast(value, x._array.dtype),), name)


def _broadcastable(value: Tensor, x: Tensor) -> None:
    have, want = value._array.shape, x._array.shape
    if have == want or not have:
        return
    try:
        fits = np.broadcast_shapes(have, want) == want
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(
            f"The size of the written tensor, {list(have)}, does not match the existing size "
            f"{list(want)}: The expanded size must match at each non-singleton dimension. Target "
            f"sizes: {list(want)}. Tensor sizes: {list(have)}"
        )


_refilled = recorder(rules.refilled)


@of_tensors(1)
def fill(input: Any, value: Any) -> Tensor:
    """One number in the shape of `input`; the gradient of `input` is zero."""
    return _refilled(input, value_for(value, input)).clone()
