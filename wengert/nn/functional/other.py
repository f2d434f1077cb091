"""Lookup tables: embeddings, and class numbers as vectors."""

from __future__ import annotations

import itertools
from typing import Any, NoReturn

import numpy as np

from wengert.autograd.settings import refuses
from wengert.dispatch import known, require, within
from wengert.dtypes import float64
from wengert.functions.arguments import of_tensors
from wengert.functions.joining import cat, stack
from wengert.functions.rows import look_up
from wengert.functions.scattering import scatter_reduce
from wengert.history import modes
from wengert.nn.functional.shared import apply, reshape, where
from wengert.nn.functional.windows import conv1d
from wengert.rules import indexing
from wengert.tensor import Tensor, wrap


@of_tensors(2)
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` that `input` names.

    Row `padding_idx` receives no gradient; with `max_norm` rows longer than that are shortened
    first, in place. `sparse` makes the gradient of `weight` a sparse tensor of the rows looked up,
    for `optim.SparseAdam`, `Adagrad` or `SGD`; where it has history it is dense all the same.

    >>> import wengert as wg
    >>> embedding(wg.tensor([1, 0]), wg.tensor([[1.0], [2.0]]))
    tensor([[2.],
            [1.]])
    """
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got shape {list(weight.shape)}")
    index, rows = input._array, weight._array.shape[0]
    if index.dtype.kind not in "iu":
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have an integer dtype, but got "
            f"{index.dtype}. Use input.long()."
        )
    if type(index) is not np.ndarray or indexing.outside(index.reshape(-1), 0, rows):
        require(within(index, 0, rows), _no_such_row, index, rows)
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if max_norm is not None:
        _shorten(weight, input, max_norm, norm_type)
    if sparse:
        if scale_grad_by_freq:
            raise RuntimeError("scale_grad_by_freq is not supported with sparse gradients")
        out = look_up(weight, index, -1 if padding_idx is None else padding_idx)
    else:
        out = apply(indexing.take_rows, weight, index)
    if scale_grad_by_freq:
        # Value out, gradient divided by how often the row occurs.
        ones = out.new_ones(input.numel(), dtype=float64)
        counts = ones.new_zeros(rows).index_add(0, input.reshape(-1), ones)[input]
        scaled = out * counts.reciprocal().to(out.dtype).unsqueeze(-1)
        out = out.detach() + (scaled - scaled.detach())
    if padding_idx is not None and out.requires_grad:
        at_padding = (index == padding_idx)[..., None]
        if not known(at_padding) or at_padding.any():
            out = where(at_padding, out.detach(), out)
    return out


def _no_such_row(index: Any, rows: int) -> IndexError:
    return IndexError(
        f"index out of range in self: embedding has {rows} rows, numbered 0 to {rows - 1}, and was "
        f"asked for row {index[~within(index, 0, rows)][0]}."
    )


def _shorten(weight: Tensor, index: Tensor, max_norm: float, norm_type: float) -> None:
    with modes.no_grad():
        places = index.reshape(-1)
        rows = weight[places]
        lengths = rows.norm(norm_type, 1, keepdim=True)
        weight[places] = where(lengths > max_norm, rows * (max_norm / (lengths + 1e-7)), rows)


@of_tensors(1)
@refuses(weight="biuc", per_sample_weights="biuc")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows: rows of `input`, or runs from `offsets`."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean or max, got {mode!r}")
    if sparse and mode == "max":
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("per_sample_weights is only supported for mode='sum'")
    index = input._array
    if index.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated as a mini-batch"
            )
        bags = index.shape[0]
        bag = np.repeat(np.arange(bags), index.shape[1])
    else:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        starts = offsets._array[: -1 if include_last_offset else None]
        bags = len(starts)
        _check_starts(starts, len(index))
        bag = np.searchsorted(starts, np.arange(len(index)), side="right") - 1
    flat = wrap(index.reshape(-1))
    rows = embedding(flat, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    counted = np.ones(len(flat._array), bool)
    if padding_idx is not None:
        counted = flat._array != padding_idx % weight.shape[0]
    if mode == "max":
        return _largest(rows, np.where(counted, bag, bags), bags)
    share = counted.astype(weight._array.dtype)
    if mode == "mean":
        share = share / np.maximum(indexing.add_rows(share, bag, (bags,)), 1)[bag]
    rows = rows * wrap(share[:, None])
    if per_sample_weights is not None:
        rows = rows * reshape(per_sample_weights, (-1, 1))
    return apply(indexing.add_rows, rows, bag, (bags, weight.shape[1]))


def _check_starts(starts: Any, count: int) -> None:
    """Where bags start among so many items."""
    require(starts[:1] == 0, RuntimeError, "offsets[0] has to be 0: the first bag starts there")
    rises = (starts[1:] >= starts[:-1]) & (starts[1:] <= count)
    wrong = f"offsets must not decrease, or be larger than the input's length, {count}"
    require(rises, RuntimeError, wrong)


def _largest(rows: Tensor, bag: Any, bags: int) -> Tensor:
    """The largest of the rows of each bag, 0 without any; those of bag `bags` do not count."""
    nothing = wrap(np.zeros((bags + 1, rows.shape[1]), rows._array.dtype))
    places = wrap(np.broadcast_to(bag[:, None], rows.shape))
    return scatter_reduce(nothing, 0, places, rows, "amax", include_self=False)[:bags]


@of_tensors(1, takes_names=True)
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the class number, 0 elsewhere: one more dimension, of `num_classes`, int64.

    >>> import wengert as wg
    >>> one_hot(wg.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    classes = tensor._array
    if classes.dtype != np.int64:
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor, got {classes.dtype}. "
            "Use .long()."
        )
    if classes.size == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if type(classes) is np.ndarray and not indexing.outside(classes.reshape(-1), 0, num_classes):
        rows = np.zeros((classes.size, num_classes), np.int64)
        rows[np.arange(classes.size), classes.reshape(-1)] = 1
        return wrap(rows.reshape(*classes.shape, num_classes))
    require(classes >= 0, RuntimeError, "Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(classes.max()) + 1
    wrong = "Class values must be smaller than num_classes."
    require(classes < num_classes, RuntimeError, wrong)
    return wrap((classes[..., None] == np.arange(num_classes)).astype(np.int64))


@of_tensors(1)
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution along time: input (T, N, C), weight (K, C, C_out)."""
    out = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return out.permute(2, 0, 1)


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: Any = None,
) -> Tensor:
    """Products of groups of matrices: `offs` says where each group of rows or columns ends.

    (n, k) by (g, k, m) gives (n, m), (g, n, k) by (k, m) gives (n, m), two matrices (g, n, m).
    """
    if offs is None:
        out = mat_a @ mat_b
    else:
        out = _grouped(mat_a, mat_b, [0, *offs.tolist()])
    out = out if bias is None else out + bias
    return out if out_dtype is None else out.to(out_dtype)


def _grouped(a: Tensor, b: Tensor, ends: list[int]) -> Tensor:
    groups = [slice(first, last) for first, last in itertools.pairwise(ends)]
    if a.ndim == b.ndim:  # the groups share rows and columns, and divide what is summed over
        return stack([a[:, part] @ b[part] for part in groups])
    if a.ndim == 2:
        return cat([a[part] @ b[k] for k, part in enumerate(groups)])
    return cat([a[k] @ b[:, part] for k, part in enumerate(groups)], -1)


def scaled_mm(*args: Any, **kwargs: Any) -> NoReturn:
    """NotImplementedError: products of 8-bit floating-point numbers, which NumPy has not."""
    raise NotImplementedError("NumPy has no 8-bit floating-point numbers. Use x @ y on float32.")


scaled_grouped_mm = ScalingType = SwizzleType = scaled_mm


def assert_int_or_pair(arg: Any, arg_name: str, message: str) -> None:
    """AssertionError, with the message about this argument, unless it is a number or two."""
    assert isinstance(arg, int) or len(arg) == 2, message.format(arg_name)
