"""Normalization and dropout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.engine import mark_written
from wengert.autograd.inplace import unrecorded
from wengert.autograd.operands import cast, one_dtype
from wengert.autograd.settings import refuses
from wengert.functions.arguments import of_tensors
from wengert.functions.reductions import vector_norm
from wengert.nn.functional import chance
from wengert.nn.functional.shared import (
    apply,
    check_floats,
    check_positive,
    over,
    reshape,
    where,
    written_by,
)
from wengert.rules import convolution
from wengert.rules import normalization as rules
from wengert.rules.loops import loopable
from wengert.tensor import Tensor, wrap

# ---- dropout -------------------------------------------------------------------------------


def check_probability(p: float) -> None:
    """ValueError unless a fraction can be dropped."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _dropped(
    input: Tensor, p: float, training: bool, inplace: bool, shape: Any, name: str
) -> Tensor:
    """The input with a fraction p set to 0 and the rest divided by 1 - p."""
    check_probability(p)
    if not training or p == 0:
        return input
    if p == 1:
        formula = lambda x: x * 0.0
    else:
        scale = np.asarray(1 / (1 - p), input._array.dtype)
        factor = wrap(chance.kept(shape, p) * scale)
        formula = lambda x: x * factor
    return written_by(input, formula, name) if inplace else formula(input)


@of_tensors(1, takes_names=True)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element set to 0 with probability `p`, the others divided by 1 - p."""
    return _dropped(input, p, training, inplace, input._array.shape, "dropout_")


@over("dropout{n}d", 1, 2, 3)
def _channel_dropout(n: int) -> Any:
    def dropout(
        input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> Tensor:
        """Whole channels of (N, C, {space}) or (C, {space}) set to 0."""
        if n == 1 and input.ndim not in (2, 3):
            raise RuntimeError(
                f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note "
                "that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial "
                "dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D "
                "inputs)."
            )
        shape = input._array.shape
        lead = shape[: max(len(shape) - n, 1)]
        kept = (*lead, *(1,) * (len(shape) - len(lead)))
        return _dropped(input, p, training, inplace, kept, f"dropout{n}d_")

    return dropout


dropout1d, dropout2d, dropout3d = _channel_dropout


def _alpha_dropped(input: Tensor, p: float, training: bool, inplace: bool, shape: Any) -> Tensor:
    """Dropped elements take selu's lowest value, so that mean and variance stay."""
    check_probability(p)
    if not training or p == 0:
        return input
    if p == 1:
        formula = lambda x: x * 0.0
    else:
        alpha = 1.7580993408473766  # selu's scale times its alpha
        a = 1 / math.sqrt((alpha * alpha * p + 1) * (1 - p))
        kept = chance.kept(shape, p)
        dtype = input._array.dtype
        factor = wrap((kept * a).astype(dtype))
        shift = wrap(((kept - 1.0) * (alpha * a) + alpha * a * p).astype(dtype))
        formula = lambda x: x * factor + shift
    return written_by(input, formula, "alpha_dropout_") if inplace else formula(input)


@of_tensors(1, takes_names=True)
def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean and variance behind a selu (Klambauer et al., 2017)."""
    return _alpha_dropped(input, p, training, inplace, input._array.shape)


@of_tensors(1, takes_names=True)
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels."""
    shape = input._array.shape
    channels = (*shape[:2], *(1,) * (len(shape) - 2))
    return _alpha_dropped(input, p, training, inplace, channels)


# ---- normalization -------------------------------------------------------------------------


def _in_dtype_of(input: Tensor, name: str, *parameters: Any) -> tuple[Any, ...]:
    """Parameters for an input: float32 ones serve numbers of 16 bits, else the dtypes are one."""
    dtype = input._array.dtype
    if dtype.itemsize == 2:
        parameters = tuple(
            cast(p, dtype) if isinstance(p, Tensor) and p.dtype == np.float32 else p
            for p in parameters
        )
    one_dtype(name, (input, *parameters))
    return parameters


def _scaled(x: Any, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is not None and weight._array.shape == x._array.shape[-weight._array.ndim :]:
        return apply(rules.scaled, x, weight, bias)
    if weight is not None:
        x = x * weight
    return x if bias is None else x + bias


def _scaled_by_channel(x: Any, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is not None:
        return apply(rules.scaled_channels, x, weight, bias)
    return x if bias is None else x + reshape(bias, (-1, *(1,) * (x.ndim - 2)))


@of_tensors(1)
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) over the last dimensions, then weight and bias."""
    axes = _normalized_axes(input, normalized_shape, weight, bias)
    weight, bias = _in_dtype_of(input, "layer_norm", weight, bias)
    if weight is not None and bias is not None and loopable(input._array):
        return apply(rules.layer_norm, input, weight, bias, eps)
    return _scaled(apply(rules.standardize, input, axes, eps), weight, bias)


def _normalized_axes(
    input: Tensor, normalized_shape: Any, weight: Any, bias: Any
) -> tuple[int, ...]:
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    x = input._array
    if not shape or x.shape[x.ndim - len(shape) :] != shape or len(shape) > x.ndim:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape "
            f"[*, {', '.join(map(str, shape))}], but got input of size{list(x.shape)}"
        )
    for name, item in (("weight", weight), ("bias", bias)):
        if item is not None and item._array.shape != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(item.shape)} and normalized_shape = {list(shape)}"
            )
    return tuple(range(x.ndim - len(shape), x.ndim))


@of_tensors(1)
def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """x / sqrt(mean(x^2) + eps) over the last dimensions, then weight."""
    axes = _normalized_axes(input, normalized_shape, weight, None)
    eps = float(dtypes.limits(input._array.dtype).eps) if eps is None else eps
    single = dtypes.is_half(input._array.dtype)  # the squares of which may overflow
    x = cast(input, dtypes.float32) if single else input
    y = cast(apply(rules.to_unit_square, x, axes, eps), input._array.dtype)
    if weight is not None and weight._array.dtype.kind == input._array.dtype.kind:
        weight = cast(weight, input._array.dtype)
    return _scaled(y, weight, None)


@of_tensors(1)
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) for each channel (dimension 1), then weight and bias.

    In training the mean and variance are the batch's, and the running ones move towards them, the
    variance without bias; otherwise they are the running ones.
    """
    x = input._array
    given = running_mean, running_var, weight, bias
    if x.ndim > 1:
        _check_channels(x.shape[1], given)
    _check_both(running_mean, running_var)
    axes = (0, *range(2, x.ndim))
    *_, weight, bias = _in_dtype_of(input, "batch_norm", *given)
    if training:
        if not eps > 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
        count = x.size // x.shape[1]
        if count == 1:
            raise ValueError(
                "Expected more than 1 value per channel when training, got input size "
                f"{input.shape}: the variance of one is zero. Use net.eval() to predict, and "
                "DataLoader(..., drop_last=True) if this is the rest of the data."
            )
        _update(x, count, running_mean, running_var, momentum)
        out = apply(rules.standardize, input, axes, eps)
    else:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "Expected running_mean and running_var to be defined when training=False"
            )
        return _by_given_moments(input, *given, eps)
    return _scaled_by_channel(out, weight, bias)


def _by_given_moments(
    x: Tensor, mean: Any, var: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """One scale and one shift for each channel, as PyTorch has it: one way through the numbers."""
    dtype, single = x._array.dtype, dtypes.is_half(x._array.dtype)
    if single:  # of which a difference has few digits
        x, mean, var = (cast(t, dtypes.float32) for t in (x, mean, var))
        weight, bias = (t if t is None else cast(t, dtypes.float32) for t in (weight, bias))
    given = mean, var, weight, bias
    if unrecorded(mean, (var, weight, bias)):
        arrays = [None if t is None else t._array for t in given]
        inverse_root = lambda v: np.reciprocal(np.sqrt(v))
        scale, shift = map(wrap, _scale_and_shift(inverse_root, eps, *arrays))
    else:
        scale, shift = _scale_and_shift(lambda v: 1 / apply(np.sqrt, v), eps, *given)
    out = apply(rules.scaled_channels, x, scale, shift)
    return cast(out, dtype) if single else out


def _scale_and_shift(
    inverse_root: Any, eps: float, mean: Any, var: Any, weight: Any, bias: Any
) -> tuple[Any, Any]:
    scale = inverse_root(var + eps)
    scale = scale if weight is None else scale * weight
    return scale, -mean * scale if bias is None else bias - mean * scale


def _check_both(running_mean: Any, running_var: Any) -> None:
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")


def _check_channels(channels: int, parameters: tuple[Tensor | None, ...]) -> None:
    for i, p in enumerate(parameters):
        if p is not None and p._array.size != channels:
            name = ("running_mean", "running_var", "weight", "bias")[i]
            raise RuntimeError(
                f"{name} should contain {channels} elements not {p._array.size}: the input has "
                f"{channels} channels, its second dimension."
            )


def _update(x: Any, count: int, running_mean: Any, running_var: Any, momentum: float) -> None:
    """running += momentum (batch - running), counted as a write."""
    if not count or running_mean is None:
        return
    mean, var = rules.moments(x)
    _move(running_mean, mean, momentum)
    _move(running_var, var * (count / (count - 1)), momentum)


def _move(running: Tensor, value: Any, momentum: float) -> None:
    array = running._array
    array *= 1 - momentum
    array += (momentum * value).astype(array.dtype)
    mark_written(running, "batch_norm")


@of_tensors(1)
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalization of each channel of each sample, over the spatial dimensions."""
    x = input._array
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    check_floats(input, "instance_norm")
    _check_both(running_mean, running_var)
    weight, bias, *_ = _in_dtype_of(input, "instance_norm", weight, bias, running_mean, running_var)
    axes = tuple(range(2, x.ndim))
    count = math.prod(x.shape[2:])
    if count == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.shape}"
        )
    if running_mean is not None:
        _move(running_mean, np.mean(x, axis=(0, *axes)), momentum)
    if running_var is not None:
        each = np.var(x, axis=axes) * (count / (count - 1))
        _move(running_var, each.mean(axis=0), momentum)
    out = apply(rules.standardize, input, axes, eps)
    return _scaled_by_channel(out, weight, bias)


@of_tensors(1)
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalization of each group of channels of each sample."""
    if input.ndim < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.ndim}: "
            "group_norm takes (N, C, ...)"
        )
    weight, bias = _in_dtype_of(input, "group_norm", weight, bias)
    check_positive("group_norm", num_groups=num_groups)
    c = input._array.shape[1]
    if c % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(input.shape)} and num_groups={num_groups}"
        )
    out = apply(rules.standardize_groups, input, num_groups, eps)
    return _scaled_by_channel(out, weight, bias)


@of_tensors(1)
@refuses(input="bc")
def local_response_norm(
    input: Tensor,
    size: int,
    alpha: float | Tensor = 1e-4,
    beta: float | Tensor = 0.75,
    k: float | Tensor = 1.0,
) -> Tensor:
    """x / (k + alpha mean of x^2 over `size` neighbouring channels)^beta."""
    check_positive("local_response_norm", size=size)
    n, c, *spatial = input._array.shape
    squares = reshape(input * input, (n, 1, c, math.prod(spatial)))
    after = (size - 1) // 2
    wide = apply(convolution.pad_with, squares, (size // 2, 0), (after, 0), 0)
    windows = (size, 1), (1, 1), (0, 0), (1, 1), (c, wide.shape[3])
    sums = apply(convolution.sum_pool, wide, windows)
    divisor = reshape(sums * (alpha / size) + k, (n, c, *spatial)) ** beta
    return input / divisor


@of_tensors(1, takes_out=True)
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float | Tensor = 1e-12) -> Tensor:
    """x / max(|x|_p, eps) along `dim`."""
    length = vector_norm(input, p, dim, True)
    small = length._array < eps
    return input / where(small, eps, length)
