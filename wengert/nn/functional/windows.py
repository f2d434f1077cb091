"""Linear maps over windows: convolution, pooling, padding, resizing."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.misfits import misfit
from wengert.autograd.operands import cast, one_dtype
from wengert.autograd.record import recorder
from wengert.autograd.settings import refuses, settled
from wengert.errors import ShapeError
from wengert.functions.arguments import into, of_tensors, tensor_of
from wengert.nn.functional.shared import apply, check_floats, check_positive, over, reshape, sizes
from wengert.rules import convolution as rules
from wengert.rules import neural, pooling, products  # noqa: F401  (pools have ways there)
from wengert.rules.indexing import getitem, take_planes
from wengert.rules.loops import loopable
from wengert.rules.sampling import band, largest_of_bins, resize
from wengert.tensor import Tensor, wrap

Sizes = tuple[int, ...]


@settled
def linear(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """x @ weight.T + bias, for weight of shape (outputs, inputs).

    >>> import wengert as wg
    >>> linear(wg.tensor([1.0, 2.0]), wg.tensor([[3.0, 4.0]]), wg.tensor([0.5]))
    tensor([11.5000])
    """
    try:  # in the function itself: around it, as `told` has it, this took a tenth of its time
        if out is not None:
            return into(out, linear, (input, weight, bias), {})
        if weight._array.ndim == 2:
            return _affine(input, weight, bias)
        if weight._array.ndim == 1:
            product = apply(np.matmul, input, weight)
            return product if bias is None else product + bias
    except Exception as error:
        misfit(error, linear, (input, weight, bias), {} if out is None else {"out": out})
        if isinstance(error, ShapeError) and weight._array.ndim == 2:
            raise _shapes_differ(input, weight, bias, error) from None
        if isinstance(error, AttributeError):
            tensor_of(input)  # a TypeError that says what it is instead
        raise
    raise RuntimeError(f"linear: weight must be a matrix, got shape {weight.shape}")


_affine = recorder(products.affine)


def _shapes_differ(
    input: Tensor, weight: Tensor, bias: Tensor | None, error: Exception
) -> Exception:
    x, w = input._array.shape, weight._array.shape
    if x and x[-1] == w[1]:
        shown = None if bias is None else tuple(bias.shape)
        return RuntimeError(
            f"linear: bias of shape {shown} does not fit {w[0]} outputs ({error}). "
            f"It should have shape ({w[0]},)."
        )
    rows = math.prod(x[:-1])
    return RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x[-1] if x else 1} and "
        f"{w[1]}x{w[0]}): the input has shape {tuple(x)}, and the layer takes {w[1]} features in "
        f"its last dimension.{_flattened(x, w[1])}"
    )


def _flattened(shape: tuple[int, ...], features: int) -> str:
    """What to type where the last dimensions have so many features together."""
    whole = [k for k in range(len(shape) - 1) if math.prod(shape[k:]) == features]
    return f" x.flatten({whole[-1]}) has them." if whole else ""


@of_tensors(1)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """y_k = x1 W_k x2 + b_k."""
    one_dtype("bilinear", (input1, input2, weight, bias))
    left = apply(np.tensordot, input1, weight, ([input1.ndim - 1], [1]))  # (..., out, in2)
    n = left.ndim
    expanded = reshape(input2, (*input2.shape[:-1], 1, input2.shape[-1]))
    out = apply(np.sum, left * expanded, n - 1)
    return out if bias is None else out + bias


# ---- convolution ---------------------------------------------------------------------------


@over("conv{n}d", 1, 2, 3)
def _conv(n: int) -> Any:
    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        """Cross-correlation of (N, C, {space}) or (C, {space}) with weight (O, C/groups, *kernel).

        >>> import wengert as wg
        >>> x, ones = wg.ones([1, 1, *[3] * {n}]), wg.ones([1, 1, *[2] * {n}])
        >>> bool((conv{n}d(x, ones) == 2**{n}).all())
        True
        """
        x, lone = _batched(input, n, f"conv{n}d")
        stride, dilation = sizes(stride, n, "stride"), sizes(dilation, n, "dilation")
        kernel = _kernel(weight, n, "out, in/groups")
        if isinstance(padding, str):
            x, padding = _named_padding(x, padding, kernel, stride, dilation)
        padding = sizes(padding, n, "padding")
        shapes = tuple(x._array.shape), tuple(weight._array.shape)
        _check_conv(*shapes, stride, padding, dilation, groups)
        _check_bias(bias, weight, shapes[1][0])
        windows = stride, padding, dilation, groups
        out = apply(rules.convolution, x, weight, windows, bias)
        return out[0] if lone else out

    return conv


conv1d, conv2d, conv3d = _conv


def _batched(input: Tensor, n: int, name: str, refused: str = "") -> tuple[Tensor, bool]:
    """The input with a batch dimension, and whether that was missing.

    DtypeError for dtypes of the kinds `refused`.
    """
    check_floats(input, name, refused)
    ndim = input._array.ndim
    if ndim not in (n + 1, n + 2):
        raise ShapeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input "
            f"of size: {list(input.shape)}. input[None] adds a dimension."
        )
    return (input[None], True) if ndim == n + 1 else (input, False)


def _kernel(weight: Tensor, n: int, channels: str) -> Sizes:
    kernel: Sizes = weight._array.shape[2:]
    if len(kernel) != n:
        raise RuntimeError(
            f"Expected {n + 2}-dimensional weight, ({channels}, *kernel), for "
            f"{n + 2}-dimensional input, but got a weight of size {list(weight.shape)}"
        )
    return kernel


def _check_bias(bias: Tensor | None, weight: Tensor, outputs: int) -> None:
    if bias is not None and bias._array.shape != (outputs,):
        raise RuntimeError(
            f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with "
            f"{outputs} elements, but got bias of size {list(bias.shape)} instead"
        )


def _named_padding(
    x: Tensor, padding: str, kernel: Sizes, stride: Sizes, dilation: Sizes
) -> tuple[Tensor, Any]:
    if padding == "valid":
        return x, 0
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'; choose 'same' or 'valid'.")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    extra = tuple(t % 2 for t in total)
    if any(extra):  # one more on the right
        x = apply(rules.pad_with, x, (0,) * len(kernel), extra, 0)
    return x, tuple(t // 2 for t in total)


@functools.lru_cache(256)
def _check_conv(
    shape: Sizes, w: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> None:
    """Raise for what does not fit together; what fits is known the next time."""
    if groups <= 0:
        raise RuntimeError("groups must be a positive integer")
    if shape[1] != w[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w)}, expected input{list(shape)} to have "
            f"{w[1] * groups} channels, but got {shape[1]} channels instead"
            f"{_channels_last(shape, w[1] * groups)}"
        )
    if w[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size {list(w)} instead"
        )
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")
    room = [s + 2 * p for s, p in zip(shape[2:], padding, strict=True)]
    needed = [d * (k - 1) + 1 for k, d in zip(w[2:], dilation, strict=True)]
    if any(r < m for r, m in zip(room, needed, strict=True)):
        size = " x ".join(map(str, room))
        raise RuntimeError(
            f"Calculated padded input size per channel: ({size}). Kernel size: "
            f"({' x '.join(map(str, needed))}). Kernel size can't be greater than actual input size"
        )


def _channels_last(shape: tuple[int, ...], channels: int) -> str:
    """What to type where the channels are the last dimension, as in image files."""
    if shape[-1] != channels:
        return "."
    return f". The last dimension has {channels}: use x.movedim(-1, {1 - len(shape)})."


@over("conv_transpose{n}d", 1, 2, 3)
def _conv_transpose(n: int) -> Any:
    def conv_transpose(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        """The transpose of `conv{n}d` as a linear map, for weight (C, O/groups, *kernel)."""
        x, lone = _batched(input, n, f"conv_transpose{n}d")
        stride, dilation = sizes(stride, n, "stride"), sizes(dilation, n, "dilation")
        padding, extra = sizes(padding, n, "padding"), sizes(output_padding, n, "output_padding")
        one_dtype(f"conv_transpose{n}d", (input, weight, bias))
        check_positive(f"conv_transpose{n}d", stride=stride, dilation=dilation, groups=groups)
        kernel = _kernel(weight, n, "in, out/groups")
        if weight._array.shape[0] != x._array.shape[1]:
            raise RuntimeError(
                f"Given transposed=1, weight of size {list(weight.shape)}, expected "
                f"input{list(x.shape)} to have {weight.shape[0]} channels, but got {x.shape[1]} "
                "channels instead"
            )
        if any(p < 0 for p in padding):
            raise RuntimeError("negative padding is not supported")
        if any(e < 0 for e in extra):
            raise RuntimeError("negative output_padding is not supported")
        if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got "
                f"output_padding {extra}, stride {stride}, dilation {dilation}"
            )
        spatial = tuple(
            (size - 1) * s - 2 * p + d * (k - 1) + e + 1
            for size, s, p, d, k, e in zip(
                x._array.shape[2:], stride, padding, dilation, kernel, extra, strict=True
            )
        )
        shape = (x._array.shape[0], weight._array.shape[1] * groups, *spatial)
        _check_bias(bias, weight, shape[1])
        windows = stride, padding, dilation, groups
        out = apply(rules.convolution_input, x, weight, shape, windows)
        if bias is not None:
            out = out + reshape(bias, (-1, *(1,) * n))
        return out[0] if lone else out

    return conv_transpose


conv_transpose1d, conv_transpose2d, conv_transpose3d = _conv_transpose


@of_tensors(1)
@refuses(input="iu")
def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """The windows of (N, C, H, W) as columns: (N, C * KH * KW, windows)."""
    x, lone = _batched(input, 2, "unfold")
    kernel, steps = sizes(kernel_size, 2, "kernel_size"), sizes(stride, 2, "stride")
    check_positive("unfold", kernel_size=kernel, stride=steps)
    padding, dilation = sizes(padding, 2, "padding"), sizes(dilation, 2, "dilation")
    spatial = x._array.shape[2:]
    count = rules.output_sizes(spatial, kernel, steps, padding, dilation)
    if min(count) < 1:
        raise RuntimeError(
            f"unfold: an input of spatial size {spatial} has no window of kernel_size={kernel}, "
            f"with dilation={dilation} and padding={padding}: there would be {count} of them"
        )
    out = apply(rules.unfold, x, (kernel, steps, padding, dilation, count))
    return out[0] if lone else out


@of_tensors(1)
def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Columns added back into an image: the transpose of `unfold`."""
    lone = input.ndim == 2
    x = input[None] if lone else input
    kernel, steps = sizes(kernel_size, 2, "kernel_size"), sizes(stride, 2, "stride")
    padding, dilation = sizes(padding, 2, "padding"), sizes(dilation, 2, "dilation")
    spatial, channels = sizes(output_size, 2, "output_size"), x.shape[1] // math.prod(kernel)
    count = rules.output_sizes(spatial, kernel, steps, padding, dilation)
    windows = kernel, steps, padding, dilation, count
    out = apply(rules.fold, x, (x.shape[0], channels, *spatial), windows)
    return out[0] if lone else out


# ---- pooling -------------------------------------------------------------------------------


def _pool_geometry(
    x: Tensor,
    n: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    name: str,
) -> tuple[Sizes, Sizes, Sizes, Sizes, Sizes]:
    kernel = sizes(kernel_size, n, "kernel_size")
    none_given = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    stride = kernel if none_given else sizes(stride, n, "stride")
    padding, dilation = sizes(padding, n, "padding"), sizes(dilation, n, "dilation")
    shape = tuple(x._array.shape)
    out = _pooled_sizes(shape, kernel, stride, padding, dilation, bool(ceil_mode), name)
    return kernel, stride, padding, dilation, out


@functools.lru_cache(64)
def _pooled_sizes(
    shape: Sizes,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    name: str,
) -> Sizes:
    for what, size in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(size) <= 0:
            raise RuntimeError(f"{name}() {what} must be greater than zero, but got {size}")
    if any(p < 0 or 2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise RuntimeError(
            "pad should be at most half of effective kernel size, but got "
            f"padding={padding} and kernel_size={kernel}"
        )
    if 0 in shape[1:]:
        raise ShapeError(
            f"{name}: only the batch may be empty, but the input has shape {list(shape)}"
        )
    out = tuple(
        rules.output_size(*each, ceil_mode)
        for each in zip(shape[2:], kernel, stride, padding, dilation, strict=True)
    )
    if any(o <= 0 for o in out):
        raise RuntimeError(
            f"{name}: given input size {list(shape[1:])}, calculated output size "
            f"{[shape[1], *out]}. Output size is too small"
        )
    return out


@over("max_pool{n}d", 1, 2, 3)
def max_pools(n: int) -> Any:
    def max_pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Tensor:
        """The largest number in each window of (N, C, {space})."""
        name = f"max_pool{n}d"
        x, lone = _batched(input, n, name, "bc")
        geometry = _pool_geometry(x, n, kernel_size, stride, padding, dilation, ceil_mode, name)
        out = apply(rules.max_pool, x, geometry)
        result: Any = out[0] if lone else out
        if return_indices:
            places = rules.max_places(x._array, out._array, geometry)
            result = result, wrap(places[0] if lone else places)
        return result

    return max_pool


max_pool1d, max_pool2d, max_pool3d = max_pools


def _avg_pool(
    n: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    name = f"avg_pool{n}d"
    x, lone = _batched(input, n, name, "bc")
    geometry = _pool_geometry(x, n, kernel_size, stride, padding, 1, ceil_mode, name)
    kernel, stride, padding, _, out = geometry
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    total = apply(rules.sum_pool, x, geometry)
    spatial = x._array.shape[2:]
    if divisor_override:
        result = total / divisor_override
    elif count_include_pad and not ceil_mode:
        result = total / math.prod(kernel)
    else:
        counts = np.ones((1,) * n, x._array.dtype)
        for i in range(n):
            each = _counts(spatial[i], kernel[i], stride[i], padding[i], out[i], count_include_pad)
            counts = counts * each.reshape([-1 if i == j else 1 for j in range(n)])
        result = total / wrap(counts.astype(x._array.dtype))
    if not dtypes.is_inexact(x._array.dtype):
        result = cast(result, x._array.dtype)
    return result[0] if lone else result


def _counts(size: int, kernel: int, stride: int, padding: int, out: int, include_pad: bool) -> Any:
    """How many places of each window count, along one dimension."""
    start = np.arange(out) * stride - padding
    stop = np.minimum(start + kernel, size + padding)
    if include_pad:
        return stop - start
    return np.minimum(stop, size) - np.maximum(start, 0)


@of_tensors(1)
def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of (N, C, L)."""
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@over("avg_pool{n}d", 2, 3, takes_out=True)
def _avg_pools(n: int) -> Any:
    def avg_pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        """The mean of each window of (N, C, {space})."""
        settings = kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        return _avg_pool(n, input, *settings)

    return avg_pool


avg_pool2d, avg_pool3d = _avg_pools


@over("lp_pool{n}d", 1, 2, 3)
def _lp_pool(n: int) -> Any:
    def lp_pool(
        input: Tensor,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        """(sum |x|^p)^(1/p) of each window of (N, C, {space})."""
        count = math.prod(sizes(kernel_size, n, "kernel_size"))
        out = _avg_pool(n, input**norm_type, kernel_size, stride, 0, ceil_mode, True, None)
        return (out.sign() * apply(neural.relu, abs(out)) * count) ** (1.0 / norm_type)

    return lp_pool


lp_pool1d, lp_pool2d, lp_pool3d = _lp_pool


# ---- pooling to a given size ---------------------------------------------------------------


@functools.lru_cache(256)
def _bins(size: int, out: int) -> tuple[tuple[int, int], ...]:
    """Where each of `out` bins starts and stops."""
    return tuple((i * size // out, -(-(i + 1) * size // out)) for i in range(out))


def _adaptive_sizes(x: Tensor, output_size: Any, n: int) -> Sizes:
    if type(output_size) is int and output_size >= 0:
        return (output_size,) * n
    wanted = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * n
    if output_size is None:
        raise TypeError("argument 'output_size' (position 2) must be tuple of ints, not NoneType")
    if len(wanted) == 1:
        wanted = tuple(wanted) * n
    if len(wanted) != n:
        raise RuntimeError(
            f"adaptive pooling: output_size must be {n} numbers, got {tuple(wanted)}"
        )
    if any(w is not None and w < 0 for w in wanted):
        raise RuntimeError(
            f"adaptive pooling: elements of output_size must not be negative, got {tuple(wanted)}: "
            "each would be a negative dimension"
        )
    return tuple(
        size if w is None else operator.index(w)
        for size, w in zip(x._array.shape[2:], wanted, strict=True)
    )


def adaptive_avg(n: int, input: Tensor, output_size: Any) -> Tensor:
    """Means over as many bins as asked for, in each of n dimensions."""
    x, lone = _batched(input, n, f"adaptive_avg_pool{n}d", "biuc")
    out = _adaptive_sizes(x, output_size, n)
    spatial = x._array.shape[2:]
    if all(o == 1 for o in out):
        result = apply(np.mean, x, tuple(range(2, 2 + n)), True)
    elif _of_small_windows(spatial, out):
        kernel = tuple(s // o for s, o in zip(spatial, out, strict=True))
        result = _avg_pool(n, x, kernel, None, 0, False, True, None)
    else:
        result = x
        for i, (s, o) in enumerate(zip(spatial, out, strict=True)):
            result = apply(resize, result, _means(s, o, x._array.dtype), 2 + i)
    return result[0] if lone else result


def _of_small_windows(spatial: Sizes, out: Sizes) -> bool:
    """Whether bins are windows of one size, and so few numbers that adding one by one pays."""
    whole = all(o and s % o == 0 for s, o in zip(spatial, out, strict=True))
    return whole and math.prod(spatial) <= 9 * math.prod(out)


@functools.lru_cache(256)
def _means(size: int, out: int, dtype: Any) -> Any:
    """The matrix of means over bins."""
    means = np.zeros((out, size), dtype)
    for row, (start, stop) in enumerate(_bins(size, out)):
        means[row, start:stop] = 1 / (stop - start)
    return band(means)


@over("adaptive_avg_pool{n}d", 1, 2, 3)
def _adaptive_avg_pool(n: int) -> Any:
    def adaptive_avg_pool(input: Tensor, output_size: Any) -> Tensor:
        """Means over as many bins of (N, C, {space}) as asked for."""
        return adaptive_avg(n, input, output_size)

    return adaptive_avg_pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = _adaptive_avg_pool


def _largest_of_cells(array: Any, bins: list[tuple[tuple[int, int], ...]], out: Sizes) -> Any:
    lead, spatial = array.shape[:2], array.shape[2:]
    index, places = np.arange(math.prod(spatial)).reshape(spatial), []
    for cell in np.ndindex(*out):
        part = tuple(slice(*bins[i][c]) for i, c in enumerate(cell))
        within = index[part].ravel()
        flat = array[(slice(None), slice(None), *part)].reshape(*lead, within.size)
        places.append(getitem(within, flat.argmax(-1)))
    return np.stack(places, -1)


@over("adaptive_max_pool{n}d", 1, 2, 3)
def adaptive_max_pools(n: int) -> Any:
    def adaptive_max_pool(input: Tensor, output_size: Any, return_indices: bool = False) -> Tensor:
        """Maxima over as many bins of (N, C, {space}) as asked for."""
        x, lone = _batched(input, n, f"adaptive_max_pool{n}d", "biuc")
        out = _adaptive_sizes(x, output_size, n)
        array = x._array
        bins = [_bins(s, o) for s, o in zip(array.shape[2:], out, strict=True)]
        if n < 3 and loopable(array) and array.size and 0 not in out:
            places = largest_of_bins(array, bins)
        else:
            places = _largest_of_cells(array, bins, out).reshape(*array.shape[:2], *out)
        values = apply(take_planes, x, places)
        if lone:
            values, places = values[0], places[0]
        result: Any = (values, wrap(places)) if return_indices else values
        return result

    return adaptive_max_pool


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = adaptive_max_pools
