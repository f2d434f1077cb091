"""What functions mean on dependent arrays: which elements of a result depend on which arguments.

Read `array.py` first. Ufuncs and elementwise rules need no word here. What moves numbers about
is a list of names. A function that adds numbers up where another one takes them from is answered by
running that other one on the numbers of the places. The rest is said one by one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.common import axes_of, axis_of
from wengert.arrays.dependent.array import (
    Dependence,
    DependentArray,
    constant,
    dependent,
    each_dependent,
    ids_of,
    values_of,
)
from wengert.arrays.facts import RUNNING
from wengert.arrays.kind import Decorator
from wengert.dispatch import Function, each, signature
from wengert.rules import convolution as c
from wengert.rules import indexing, products, reductions, shapes

means, pattern = Dependence.means, Dependence.pattern


def names(*functions: Any) -> Decorator:
    """A decorator: what the results of functions depend on, `(origins, *args, **kwargs) -> ids`.

    The values are those that the functions themselves give; several results have the same names.
    """

    def note(ids: Function) -> Function:
        def meaning(function: Any, origins: Dependence, *args: Any, **kwargs: Any) -> Any:
            value = function(*values_of(args), **values_of(kwargs))
            return each_dependent(origins, value, ids(origins, *args, **kwargs))

        pattern(*functions)(meaning)
        return ids

    return note


@pattern(
    np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.squeeze,
    np.expand_dims, np.broadcast_to, np.flip, np.fliplr, np.flipud, np.roll, np.rot90, np.tril,
    np.triu, np.tile, np.repeat, np.diagonal, np.diag, np.diagflat, np.copy, np.take,
    np.take_along_axis, np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.delete,
    np.resize, np.lib.stride_tricks.sliding_window_view,
    shapes.repeat_interleave, shapes.diagonal, shapes.diagonal_scatter, shapes.copy, shapes.alias,
    shapes.split, shapes.unbind, shapes.flipped, shapes.expand, shapes.windows,
    indexing.getitem, indexing.select, indexing.slices, indexing.gather, indexing.pick,
    indexing.take_rows, c.unfold,
)  # fmt: skip
def _moved(function: Any, origins: Dependence, x: Any, *rest: Any, **kwargs: Any) -> Any:
    """Names go where their numbers go; what is filled in is 0, and depends on nothing."""
    rest, kwargs = values_of(rest), values_of(kwargs)
    value, ids = function(values_of(x), *rest, **kwargs), function(ids_of(x), *rest, **kwargs)
    if isinstance(value, (list, tuple)):
        return type(value)(DependentArray(v, i, origins) for v, i in zip(value, ids, strict=True))
    if not dtypes.is_inexact(value.dtype) or ids.strides == _scaled(value):
        return DependentArray(value, ids, origins)
    return dependent(origins, value, ids)


def _scaled(value: Any) -> tuple[int, ...]:
    return tuple(s // value.itemsize * 8 for s in value.strides)


@names(
    np.floor, np.ceil, np.trunc, np.rint, np.round, np.around, np.fix, np.zeros_like,
    np.ones_like, np.empty_like, np.spacing, np.floor_divide, indexing.zeroed, np.argsort,
    np.argmax, np.argmin, np.nonzero, np.argwhere, np.searchsorted, np.digitize, np.isclose,
    np.count_nonzero, np.all, np.any, np.argpartition, np.isin, np.linalg.matrix_rank,
    np.logical_and.reduce, np.logical_or.reduce, c.max_places,
)  # fmt: skip
def _step(origins: Dependence, *args: Any, **kwargs: Any) -> Any:
    """Of functions that are constant almost everywhere, or return others of the same shape."""
    return 0


@pattern(
    np.allclose, np.array_equal, np.result_type, np.can_cast, np.min_scalar_type, np.array_repr,
    np.array_str, np.array2string, np.may_share_memory, np.shares_memory,
)  # fmt: skip
def _fact(function: Any, origins: Dependence, *args: Any, **kwargs: Any) -> Any:
    """A function about arrays whose result is no array."""
    return function(*values_of(args), **values_of(kwargs))


names(np.sign)(lambda origins, x, **_: x.ids if x.dtype.kind == "c" else 0)  # a step, or a turn
names(np.full_like)(lambda origins, a, fill_value, *_, **__: ids_of(fill_value))
names(shapes.astype)(lambda origins, x, dtype: x.ids)
names(shapes.real_pairs)(lambda origins, x: x.ids[..., None])
names(shapes.complex_of_pairs)(lambda origins, x: origins.either(x.ids[..., 0], x.ids[..., 1]))


@means(shapes.as_strided)
def _as_strided(origins: Dependence, x: Any, *where: Any) -> Any:
    """Both lie in memory in the same way."""
    value, step = x.value, x.value.itemsize
    if tuple(s // step * 8 for s in value.strides) != x.ids.strides:
        return origins.otherwise(shapes.as_strided, (x, *where), {})
    return DependentArray(
        shapes.as_strided(value, *where), shapes.as_strided(x.ids, *where), origins
    )


# ---- choices and joints ----------------------------------------------------------------------


def _passes(x: Any) -> Any:
    """Where a factor leaves something of the other: not at the zeros of a constant array.

    A number, or an array of zeros alone, is more likely to be a parameter than a structure.
    """
    if constant(x) and isinstance(x, np.ndarray) and x.ndim and x.any():
        return np.not_equal(x, 0)
    return np.ones(np.shape(x), bool)


@names(np.multiply)
def _multiply(origins: Dependence, a: Any, b: Any, **kwargs: Any) -> Any:
    if not (constant(a) or constant(b)):
        return origins.either(ids_of(a), ids_of(b))
    one, other = (a, b) if constant(a) else (b, a)
    return np.where(_passes(one), other.ids, 0)


@names(np.where)
def _where(origins: Dependence, condition: Any, *choices: Any) -> Any:
    """One of two; either, if the choice was computed from the inputs."""
    if not choices:
        return 0
    a, b = map(ids_of, choices)
    return np.where(condition, a, b) if constant(condition) else origins.either(a, b)


def _nested_ids(arrays: Any) -> Any:
    return [_nested_ids(x) if isinstance(x, list) else ids_of(x) for x in arrays]


@pattern(
    np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block,
)  # fmt: skip
def _join(function: Any, origins: Dependence, arrays: Any, *args: Any, **kwargs: Any) -> Any:
    value = function(values_of(list(arrays)), *args, **kwargs)
    options = {k: v for k, v in kwargs.items() if k == "axis"}
    ids = function(_nested_ids(arrays), *args, **options)
    return dependent(origins, value, ids)


@names(c.pad_with)
def _pad_with(origins: Dependence, x: Any, before: Any, after: Any, value: Any) -> Any:
    ids = c.pad_with(ids_of(x), before, after, 0)
    if constant(value):
        return ids
    edge = c.pad_with(np.zeros(ids_of(x).shape, np.int64), before, after, 1) == 1
    return np.where(edge, value.ids, ids)


@names(indexing.put)
def _put(origins: Dependence, x: Any, index: Any, value: Any) -> Any:
    return indexing.put(ids_of(x), values_of(index), ids_of(value))


@means(indexing.overwritten, indexing.refilled)
def _overwritten(origins: Dependence, old: Any, value: Any) -> Any:
    result = np.broadcast_to(values_of(value), np.shape(old)).copy()
    return dependent(origins, result, ids_of(value))


@means(np.copyto)
def _copyto(
    origins: Dependence, dst: Any, src: Any, casting: Any = "same_kind", where: Any = True
) -> None:
    if type(dst) is not DependentArray:
        origins.otherwise(np.copyto, (dst, src, casting, where), {})
        return
    np.copyto(dst.value, values_of(src), casting=casting, where=values_of(where))
    if dtypes.is_inexact(dst.dtype):
        np.copyto(dst.ids, ids_of(src), where=values_of(where))


# ---- adding into places ----------------------------------------------------------------------


def _added(origins: Dependence, places: Any, ids: Any, shape: Any) -> Any:
    """The names in an array of `shape` to which numbers named `ids` were added.

    `places` says where, counted from 1; what was added at 0 is lost.
    """
    places, ids = (x.ravel() for x in np.broadcast_arrays(places, ids))
    kept = places > 0
    count = math.prod(shape)
    return origins.union(places[kept] - 1, ids[kept], count).reshape(shape)


def _places(shape: Any) -> Any:
    """The numbers of the places in an array of `shape`, counted from 1."""
    return np.arange(1, math.prod(shape) + 1).reshape(tuple(shape))


def _adds(adding: Any, taking: Any) -> None:
    """`adding(g, *args)` is the transpose of what `taking(places, g, *args)` takes from places."""

    def meaning(origins: Dependence, g: Any, *args: Any) -> Any:
        given = values_of(args)
        value = adding(values_of(g), *given)
        return dependent(origins, value, _added(origins, taking(g, *given), ids_of(g), value.shape))

    means(adding)(meaning)


_adds(indexing.add_at, lambda g, index, shape: indexing.getitem(_places(shape), index))
_adds(indexing.add_rows, lambda g, index, shape: indexing.take_rows(_places(shape), index))
_adds(
    indexing.scatter_add, lambda g, index, shape, axis: indexing.gather(_places(shape), index, axis)
)
_adds(indexing.unpick, lambda g, index, shape, axis: indexing.pick(_places(shape), index, axis))
_adds(
    indexing.put_along_axis,
    lambda g, indices, shape, axis: np.take_along_axis(_places(shape), indices, axis),
)
_adds(
    shapes.overlapped,
    lambda g, shape, axis, step: (
        shapes.windows(_places(shape), axis, g.shape[-1], step) if shape else _places((1,))
    ),
)
_adds(c.fold, lambda g, shape, *windows: c.unfold(_places(shape), *windows))


@means(np.ufunc.at)
def _at(origins: Dependence, ufunc: Any, x: Any, index: Any, *values: Any) -> None:
    """`ufunc.at(x, index, value)` writes into `x`."""
    index = values_of(index)
    if type(x) is not DependentArray:
        origins.otherwise(ufunc.at, (x, index, *values), {})
        return
    ufunc.at(x.value, index, *values_of(values))
    places = _places(x.shape)[index]
    for value in values:
        added = _added(origins, places, ids_of(value), x.shape)
        x.ids[...] = origins.either(x.ids, added)


# ---- reductions ------------------------------------------------------------------------------


def _lanes(origins: Dependence, value: Any, x: Any, axis: Any) -> Any:
    """Each element of a reduction depends on all along the dimensions that went."""
    ids = ids_of(x)
    names = origins.along(ids, axes_of(axis, ids.ndim))
    return each_dependent(origins, value, names.reshape(np.shape(value)))


@pattern(
    np.sum, np.prod, np.max, np.min, np.mean, np.std, np.var, np.nansum, np.nanprod, np.nanmax,
    np.nanmin, np.nanmean, np.nanstd, np.nanvar, np.median, np.nanmedian, np.ptp,
    reductions.variance, reductions.logsumexp,
)  # fmt: skip
def _reduction(
    function: Any, origins: Dependence, a: Any, axis: Any = None, *args: Any, **kwargs: Any
) -> Any:
    value = function(values_of(a), axis, *values_of(args), **values_of(kwargs))
    if type(a) is not DependentArray:
        return origins.otherwise(function, (a, axis, *args), kwargs)
    return _lanes(origins, value, a, axis)


@means(np.ufunc.reduce)
def _reduce(origins: Dependence, ufunc: Any, a: Any, axis: Any = 0, *args: Any, **rest: Any) -> Any:
    return _reduction(ufunc.reduce, origins, a, axis, *args, **rest)


@pattern(*RUNNING.values(), np.nancumsum, np.nancumprod, reductions.logcumsumexp)
def _running(
    function: Any, origins: Dependence, a: Any, axis: Any = None, *args: Any, **kwargs: Any
) -> Any:
    """A function whose results each depend on what comes before them along a dimension."""
    value = function(values_of(a), axis, *args, **kwargs)
    ids = np.ravel(a.ids) if axis is None or not a.ids.ndim else a.ids
    names = origins.prefixes(ids, 0 if axis is None else axis)
    return dependent(origins, value, names.reshape(value.shape))


@means(np.ufunc.accumulate)
def _accumulate(origins: Dependence, ufunc: Any, a: Any, axis: Any = 0, *args: Any) -> Any:
    return _running(ufunc.accumulate, origins, a, axis, *args)


@names(reductions.recurrence)
def _recurrence(origins: Dependence, a: Any, b: Any, axis: int) -> Any:
    return origins.prefixes(origins.either(ids_of(a), ids_of(b)), axis)


@pattern(
    np.sort, np.partition, reductions.softmax, reductions.log_softmax,
    np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft,
)  # fmt: skip
def _mixing(function: Any, origins: Dependence, a: Any, *args: Any, **kwargs: Any) -> Any:
    """A function along one dimension, each of whose results depends on all of it."""
    given = dict(zip(signature(function)[0][1:], args, strict=False)) | kwargs
    axis = given.get("axis", -1)
    if axis is None or type(a) is not DependentArray or not a.ndim:
        return origins.otherwise(function, (a, *args), kwargs)
    value = function(a.value, *values_of(args), **values_of(kwargs))
    return dependent(origins, value, origins.along(a.ids, (axis_of(axis, a.ndim),)))


@pattern(
    np.linalg.solve, np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.cholesky,
    np.linalg.qr, np.linalg.svd, np.linalg.eigh, np.linalg.eigvalsh, np.linalg.eig,
    np.linalg.eigvals, np.linalg.pinv, np.linalg.matrix_power,
)  # fmt: skip
def _of_matrices(function: Any, origins: Dependence, *args: Any, **kwargs: Any) -> Any:
    """A function of the last two dimensions; what is before them is a batch."""
    names: Any = np.zeros((), np.int64)
    for x in args:
        if type(x) is DependentArray and x.ndim >= 2:
            mine = origins.along(x.ids, (x.ndim - 2, x.ndim - 1))
            names = origins.either(names, mine.reshape(x.shape[:-2]))
        elif type(x) is DependentArray:
            names = origins.either(names, origins.everything([x.ids]))

    def named(part: Any) -> Any:
        core = (1,) * (np.ndim(part) - names.ndim)
        return dependent(origins, part, np.reshape(names, (*names.shape, *core)))

    return each(named, function(*values_of(args), **values_of(kwargs)))


# ---- products --------------------------------------------------------------------------------


@names(np.matmul)
def _matmul(origins: Dependence, a: Any, b: Any, **kwargs: Any) -> Any:
    left, right = ids_of(a), ids_of(b)
    gone = (-2,) * (left.ndim == 1) + (-1,) * (right.ndim == 1)
    left = left[None] if left.ndim == 1 else left
    right = right[:, None] if right.ndim == 1 else right
    if _sieve(a, right):
        whole = _through(origins, np.reshape(a, left.shape), right)
    elif _sieve(b, left):
        whole = _through(origins, np.reshape(b, right.shape).T, left.T).T
    else:
        rows = origins.along(left, (left.ndim - 1,))
        whole = origins.either(rows, origins.along(right, (right.ndim - 2,)))
    return np.squeeze(whole, gone)


_MOST_EDGES = 2**24


def _sieve(matrix: Any, ids: Any) -> bool:
    """Whether a factor is a constant matrix with zeros, as a difference quotient's is."""
    if not constant(matrix) or matrix.ndim > 2 or ids.ndim > 2:
        return False
    nonzeros = np.count_nonzero(matrix)
    return 0 < nonzeros < matrix.size and nonzeros * max(ids.shape) <= _MOST_EDGES


def _through(origins: Dependence, matrix: Any, ids: Any) -> Any:
    """The names of `matrix @ x`, for a constant matrix, whose zeros let nothing through."""
    i, j = np.nonzero(matrix)
    n = ids.shape[1]
    targets = (i[:, None] * n + np.arange(n)).ravel()
    return origins.union(targets, ids[j].ravel(), matrix.shape[0] * n).reshape(-1, n)


@names(products.einsum)
def _einsum(origins: Dependence, subscripts: str, operands: Any) -> Any:
    inputs, output = subscripts.split("->")
    whole: Any = np.zeros((), np.int64)
    for term, x in zip(inputs.split(","), operands, strict=True):
        ids = origins.along(ids_of(x), tuple(i for i, k in enumerate(term) if k not in output))
        ids = ids.reshape([n for n, k in zip(ids.shape, term, strict=True) if k in output])
        kept = [k for k in term if k in output]
        order = sorted(range(len(kept)), key=lambda i: output.index(kept[i]))
        ids = np.transpose(ids, order)
        sizes = iter(ids.shape)
        whole = origins.either(
            whole, ids.reshape([next(sizes) if k in kept else 1 for k in output])
        )
    return whole


# ---- windows ---------------------------------------------------------------------------------


@means(c.convolution)
def _convolution(origins: Dependence, x: Any, weight: Any, windows: Any, bias: Any = None) -> Any:
    value, groups = c.convolution(*values_of((x, weight, windows, bias))), windows[-1]
    columns = c.unfold(ids_of(x), _as_columns(weight, windows, np.shape(value)))
    columns = columns.reshape(len(columns), groups, columns.shape[1] // groups, columns.shape[-1])
    names = np.repeat(origins.along(columns, (2,)), value.shape[1] // groups, 2)
    names = names.reshape(value.shape)
    for parameter in (weight, bias):
        if type(parameter) is DependentArray:
            spread = origins.along(parameter.ids, tuple(range(1, parameter.ndim)))
            names = origins.either(names, spread.reshape(-1, *(1,) * (value.ndim - 2)))
    return dependent(origins, value, names)


def _as_columns(weight: Any, windows: Any, shape: Any) -> Any:
    """The windows of a convolution as those of columns; its result has that shape."""
    return np.shape(weight)[2:], *windows[:-1], shape[2:]


@means(c.convolution_input)
def _convolution_input(origins: Dependence, g: Any, weight: Any, shape: Any, windows: Any) -> Any:
    value, groups = c.convolution_input(*values_of((g, weight, shape, windows))), windows[-1]
    places = c.unfold(_places(shape), _as_columns(weight, windows, np.shape(g)))
    n, rows, positions = places.shape
    places = places.reshape(n, groups, rows // groups, positions)
    sources = ids_of(g).reshape(n, groups, np.shape(g)[1] // groups, positions)
    names = _added(origins, places, origins.along(sources, (2,)), value.shape)
    if type(weight) is DependentArray:
        names = origins.either(names, origins.everything([weight.ids]))
    return dependent(origins, value, names)


@means(c.convolution_weight)
def _convolution_weight(origins: Dependence, g: Any, x: Any, shape: Any, windows: Any) -> Any:
    value, groups = c.convolution_weight(*values_of((g, x, shape, windows))), windows[-1]
    spatial = tuple(range(2, value.ndim))
    outward = origins.along(ids_of(g), (0, *spatial)).reshape(groups, -1, 1)
    inward = origins.along(ids_of(x), (0, *spatial)).reshape(groups, 1, -1)
    names = origins.either(outward, inward)
    return dependent(origins, value, names.reshape(*value.shape[:2], *(1,) * len(spatial)))


@names(c.max_pool, c.sum_pool)
def _pooled(origins: Dependence, x: Any, windows: Any) -> Any:
    ids = c._bordered(ids_of(x), 0, *windows)
    whole: Any = np.zeros((), np.int64)
    for window in c._pieces(*windows):
        whole = origins.either(whole, ids[window])
    return whole


names(c.max_collect)(lambda origins, h, condition, target, w: _pooled(origins, h, w))


@names(c.sum_spread)
def _unpooled(origins: Dependence, g: Any, shape: Any, windows: Any) -> Any:
    places = c._bordered(_places(shape), 0, *windows)
    pieces = [places[window] for window in c._pieces(*windows)]
    return _added(origins, np.stack(pieces), ids_of(g), shape)


names(c.max_spread)(lambda origins, g, x, target, w: _unpooled(origins, g, np.shape(x), w))


@means(np.convolve)
def _convolve(origins: Dependence, a: Any, v: Any, mode: Any = "full") -> Any:
    """Element i + j of the whole depends on a[i] and v[j]."""
    a, v = (x if type(x) is DependentArray else np.asarray(x) for x in (a, v))
    value = np.convolve(values_of(a), values_of(v), mode)
    n, m = a.size, v.size
    left = np.where(_passes(v)[None], ids_of(a)[:, None], 0)
    right = np.where(_passes(a)[:, None], ids_of(v)[None], 0)
    targets = np.add.outer(np.arange(n), np.arange(m))
    whole = origins.union(targets.ravel(), origins.either(left, right).ravel(), n + m - 1)
    short = min(n, m)
    start = {"full": 0, "same": (short - 1) // 2, "valid": short - 1}[mode]
    return dependent(origins, value, whole[start : start + len(value)])
