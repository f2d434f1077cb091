"""Rarer pools: at random places, undone, and with the places of the maxima."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from wengert.dispatch import require, signature, within
from wengert.functions.arguments import tensor_of
from wengert.functions.random import uniform
from wengert.functions.scattering import scatter
from wengert.nn.functional import windows
from wengert.nn.functional.shared import apply, check_floats, over, reshape, sizes
from wengert.tensor import Tensor, wrap

# ---- with the places -----------------------------------------------------------------------


def _with_places(pool: Any) -> Any:
    """A pool that returns maxima and their places, whatever `return_indices` says."""
    place = signature(pool)[0].index("return_indices")

    @functools.wraps(pool)
    def with_indices(*args: Any, **kwargs: Any) -> Any:
        if len(args) > place:
            return pool(*args[:place], True, *args[place + 1 :], **kwargs)
        return pool(*args, **(kwargs | {"return_indices": True}))

    with_indices.__name__ = with_indices.__qualname__ = f"{pool.__name__}_with_indices"
    with_indices.__module__ = __name__
    with_indices.__annotations__ = {**pool.__annotations__, "return": "tuple[Tensor, Tensor]"}
    with_indices.__doc__ = f"{pool.__doc__.removesuffix('.')}; and their places."
    return with_indices


(max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices) = map(
    _with_places, windows.max_pools
)
(
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d_with_indices,
) = map(_with_places, windows.adaptive_max_pools)


# ---- undone --------------------------------------------------------------------------------


def _no_such_place(places: Any, count: int, name: str, out: Any) -> RuntimeError:
    wrong = places[~within(places, 0, count)][0]
    return RuntimeError(
        f"{name}(): found an invalid max index: {wrong} (output volumes are of size {out})"
    )


@over("max_unpool{n}d", 1, 2, 3)
def _max_unpool(n: int) -> Any:
    def max_unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Tensor:
        """Each maximum back at its place, zeros elsewhere: nearly undoes `max_pool{n}d`."""
        name = f"max_unpool{n}d"
        check_floats(input, name)
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
                f"invalid output_size {out}: each must be less than a stride {tuple(stride)} away "
                f"from {usual}"
            )
        count, places = math.prod(out), indices._array
        require(within(places, 0, count), _no_such_place, places, count, name, out)
        zeros = wrap(np.zeros((*lead, count), input.dtype))
        flat = lambda x: reshape(x, (*lead, -1))
        spread = scatter(zeros, len(lead), wrap(places.reshape(*lead, -1)), flat(input))
        return reshape(spread, (*lead, *out))

    return max_unpool


max_unpool1d, max_unpool2d, max_unpool3d = _max_unpool


# ---- at random places ----------------------------------------------------------------------


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


def _shares(spatial: tuple[int, ...], ratio: Any) -> list[int]:
    """The sizes that are these shares of others."""
    ratios = ratio if isinstance(ratio, (tuple, list)) else (ratio,) * len(spatial)
    if any(not 0 < r < 1 for r in ratios):
        raise ValueError(f"output_ratio must be between 0 and 1 (got {ratio})")
    return [int(s * r) for s, r in zip(spatial, ratios, strict=True)]


def _samples(x: Tensor, n: int, given: Tensor | None, name: str) -> Any:
    """A random number for each channel and dimension, the first dimension's first."""
    batch, channels = x.shape[:2]
    drawn = (
        uniform((batch, channels, n), x.dtype, None)
        if given is None
        else tensor_of(given, "_random_samples")._array
    )
    if drawn.dtype != x.dtype:
        raise RuntimeError(
            f"{name}(): _random_samples are of {drawn.dtype} and the input is of {x.dtype}: "
            "both have to have the same dtype"
        )
    if drawn.shape[1:] != (channels, n) or len(drawn) < batch:
        raise RuntimeError(
            f"{name}(): _random_samples have the shape {drawn.shape}, and numbers for "
            f"{batch} images of {channels} channels are expected: ({batch}, {channels}, {n})"
        )
    drawn = drawn[:batch]  # as in PyTorch, which allows for more
    return drawn[..., ::-1] if n == 2 else drawn  # PyTorch has the last one first, of images only


def _at_random(drawn: Any, spatial: Any, kernel: Any, out: Any) -> Any:
    """Where the numbers of windows lie that begin at random: (N, C, windows, numbers of each)."""
    n, flat = len(spatial), np.zeros((), np.int64)
    for axis, (size, k, o) in enumerate(zip(spatial, kernel, out, strict=True)):
        place = _starts(drawn[..., axis], size, k, o)[..., None] + np.arange(k)  # (N, C, out, k)
        shape = [1] * (2 * n)
        shape[axis], shape[n + axis] = place.shape[2:]
        flat = flat * size + place.reshape(*drawn.shape[:2], *shape)
    return flat.reshape(*drawn.shape[:2], math.prod(out), math.prod(kernel))


@over("fractional_max_pool{n}d", 2, 3)
def _fractional(n: int) -> Any:
    def fractional_max_pool(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Tensor:
        """Maxima of windows at random places, as many as asked for (Graham, 2014)."""
        name = f"fractional_max_pool{n}d"
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        x, lone = windows._batched(input, n, name, "c")
        kernel, spatial = sizes(kernel_size, n, "kernel_size"), tuple(x.shape[2:])
        if output_size is None:
            output_size = _shares(spatial, output_ratio)
        out = sizes(output_size, n, "output_size")
        pairs = zip(out, kernel, spatial, strict=True)
        if min(out) < 0 or any(o + k - 1 > s for o, k, s in pairs):
            raise RuntimeError(
                f"{name}(): pool sizes {kernel} are too large for inputs of {spatial} and outputs "
                f"of {out}"
            )
        batch, channels = x.shape[:2]
        flat = _at_random(_samples(x, n, _random_samples, name), spatial, kernel, out)
        rows = x._array.reshape(batch, channels, math.prod(spatial))
        best = np.take_along_axis(
            rows, flat.reshape(batch, channels, math.prod((*out, *kernel))), 2
        )
        best = best.reshape(flat.shape).argmax(-1)
        places = np.take_along_axis(flat, best[..., None], 3)[..., 0]
        values = apply(np.take_along_axis, reshape(x, rows.shape), places, 2)
        whole = (batch, channels, *out)
        values, indices = reshape(values, whole), wrap(places.reshape(whole))
        if lone:
            values, indices = values[0], indices[0]
        result: Any = (values, indices) if return_indices else values
        return result

    return fractional_max_pool


fractional_max_pool2d, fractional_max_pool3d = _fractional
fractional_max_pool2d_with_indices, fractional_max_pool3d_with_indices = map(
    _with_places, _fractional
)
