"""Rarer pools: of powers, at random places, undone, and with the places of the maxima."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.dispatch import require, within
from wengert.functions.arguments import of_tensors
from wengert.functions.random import uniform
from wengert.functions.scattering import scatter
from wengert.nn.functional import windows
from wengert.nn.functional.shared import apply, reshape, sizes
from wengert.tensor import Tensor, wrap


@of_tensors(1)
def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """(sum |x|^p)^(1/p) of each window."""
    count = math.prod(sizes(kernel_size, 3, "kernel_size"))
    out = windows.avg_pool3d(input**norm_type, kernel_size, stride, 0, ceil_mode)
    return (out.sign() * windows.relu_of(abs(out)) * count) ** (1.0 / norm_type)


# ---- with the places -----------------------------------------------------------------------


@of_tensors(1)
def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Maxima and their places, whatever `return_indices` says."""
    return windows.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


@of_tensors(1)
def max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Maxima and their places, whatever `return_indices` says."""
    return windows.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


@of_tensors(1)
def max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Maxima and their places, whatever `return_indices` says."""
    return windows.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


@of_tensors(1)
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Maxima over as many bins as asked for, and their places."""
    return windows.adaptive_max_pool1d(input, output_size, True)


@of_tensors(1)
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Maxima over as many bins as asked for, and their places."""
    return windows.adaptive_max_pool2d(input, output_size, True)


@of_tensors(1)
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Maxima over as many bins as asked for, and their places."""
    return windows.adaptive_max_pool3d(input, output_size, True)


# ---- undone --------------------------------------------------------------------------------


def _max_unpool(
    n: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any,
    output_size: Any,
) -> Tensor:  # fmt: skip
    name = f"max_unpool{n}d"
    if input.shape != indices.shape:
        raise RuntimeError(
            f"{name}(): Expected shape of indices to be same as that of the input tensor "
            f"({list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    if indices.dtype != np.int64:
        raise RuntimeError(
            f"{name}(): elements in indices should be type int64 but got {indices.dtype}"
        )
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"{name}(): expected an input of {n + 1} or {n + 2} dimensions, got {input.ndim}"
        )
    kernel, padding = sizes(kernel_size, n, "kernel_size"), sizes(padding, n, "padding")
    stride = kernel if stride is None else sizes(stride, n, "stride")
    lead, spatial = tuple(input.shape[:-n]), input.shape[-n:]
    usual = [
        (s - 1) * st + k - 2 * p
        for s, st, k, p in zip(spatial, stride, kernel, padding, strict=True)
    ]
    out = usual if output_size is None else [int(s) for s in output_size][-n:]
    if any(not u - st < o < u + st for o, u, st in zip(out, usual, stride, strict=True)):
        raise ValueError(
            f"invalid output_size {out}: each must be less than a stride {tuple(stride)} away from "
            f"{usual}"
        )
    count, places = math.prod(out), indices._array
    require(within(places, 0, count), _no_such_place, places, count, name, out)
    zeros = wrap(np.zeros((*lead, count), input.dtype))
    flat = lambda x: reshape(x, (*lead, -1))
    made = scatter(zeros, len(lead), wrap(places.reshape(*lead, -1)), flat(input))
    return reshape(made, (*lead, *out))


def _no_such_place(places: Any, count: int, name: str, out: Any) -> RuntimeError:
    wrong = places[~within(places, 0, count)][0]
    return RuntimeError(
        f"{name}(): found an invalid max index: {wrong} (output volumes are of size {out})"
    )


@of_tensors(1)
def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Each maximum back at its place, zeros elsewhere: undoes `max_pool1d`, as far as possible."""
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


@of_tensors(1)
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Each maximum back at its place, zeros elsewhere: undoes `max_pool2d`, as far as possible."""
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


@of_tensors(1)
def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Each maximum back at its place, zeros elsewhere: undoes `max_pool3d`, as far as possible."""
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)


# ---- at random places ----------------------------------------------------------------------


def _fractional(
    n: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any,
    return_indices: bool, samples: Tensor | None,
) -> Any:  # fmt: skip
    name = f"fractional_max_pool{n}d"
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    x, lone = windows._batched(input, n, name)
    kernel, spatial = sizes(kernel_size, n, "kernel_size"), tuple(x.shape[2:])
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * n
        if any(not 0 < r < 1 for r in ratios):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        output_size = [int(s * r) for s, r in zip(spatial, ratios, strict=True)]
    out = sizes(output_size, n, "output_size")
    if any(o + k - 1 > s for o, k, s in zip(out, kernel, spatial, strict=True)):
        raise ValueError(
            f"{name}(): pool sizes {kernel} are too large for inputs of {spatial} and outputs of "
            f"{out}"
        )
    batch, channels = x.shape[:2]
    drawn = uniform((batch, channels, n), x.dtype, None) if samples is None else samples._array
    if n == 2:  # PyTorch has the last dimension's sample first, of images only
        drawn = drawn[..., ::-1]
    starts = [
        _starts(drawn[..., i], s, k, o)
        for i, (s, k, o) in enumerate(zip(spatial, kernel, out, strict=True))
    ]
    flat: Any = 0
    for axis, (start, size, k) in enumerate(zip(starts, spatial, kernel, strict=True)):
        place = start[..., None] + np.arange(k)  # (N, C, out, k)
        shape = [1] * (2 * n)
        shape[axis], shape[n + axis] = place.shape[2:]
        flat = flat * size + place.reshape(batch, channels, *shape)
    flat = flat.reshape(batch, channels, math.prod(out), math.prod(kernel))
    rows = x._array.reshape(batch, channels, math.prod(spatial))
    best = np.take_along_axis(rows, flat.reshape(batch, channels, math.prod((*out, *kernel))), 2)
    best = best.reshape(flat.shape).argmax(-1)
    places = np.take_along_axis(flat, best[..., None], 3)[..., 0]
    values = apply(np.take_along_axis, reshape(x, rows.shape), places, 2)
    whole = (batch, channels, *out)
    values, indices = reshape(values, whole), wrap(places.reshape(whole))
    if lone:
        values, indices = values[0], indices[0]
    return (values, indices) if return_indices else values


def _starts(sample: Any, size: int, kernel: int, out: int) -> Any:
    """Where windows begin: steps of two neighbouring lengths, in an order that u decides.

    Graham (2014): start[i] = [a (i + u)] - [a u], and the last at the end.
    """
    last = np.full((*sample.shape, 1), size - kernel)
    if out == 1:
        return last
    step = sample.dtype.type((size - kernel) / (out - 1))
    i = np.arange(out - 1, dtype=sample.dtype)
    u = sample[..., None]
    starts = ((i + u) * step).astype(np.int64) - (u * step).astype(np.int64)
    return np.concatenate([starts, last], -1)


@of_tensors(1)
def fractional_max_pool2d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Maxima of windows at random places, as many as asked for (Graham, 2014)."""
    return _fractional(
        2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


@of_tensors(1)
def fractional_max_pool3d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Maxima of windows at random places, as many as asked for (Graham, 2014)."""
    return _fractional(
        3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


def fractional_max_pool2d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Maxima of windows at random places, and where they are."""
    return fractional_max_pool2d(*args, **(kwargs | {"return_indices": True}))


def fractional_max_pool3d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Maxima of windows at random places, and where they are."""
    return fractional_max_pool3d(*args, **(kwargs | {"return_indices": True}))
