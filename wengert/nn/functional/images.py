"""Borders and sizes: padding, resizing, and shuffling pixels."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.functions.arguments import of_tensors
from wengert.history.location import warn
from wengert.nn.functional.shared import apply, check_floats, check_positive, reshape
from wengert.nn.functional.windows import adaptive_avg
from wengert.rules import convolution as rules
from wengert.rules import shapes
from wengert.rules.sampling import Band, band, resize, tap_weights
from wengert.tensor import Tensor


@of_tensors(1)
def pad(input: Tensor, pad: Any, mode: str = "constant", value: complex | None = None) -> Tensor:
    """A border around the last dimensions: `pad` is (left, right, top, bottom, ...), last first.

    `mode` is 'constant', 'reflect', 'replicate' or 'circular'; negative widths cut off.

    >>> import wengert as wg
    >>> pad(wg.tensor([1.0, 2.0]), (1, 2))
    tensor([0., 1., 2., 0., 0.])
    """
    if not isinstance(mode, str):
        raise TypeError(
            f"pad(): argument 'mode' (position 3) must be str, not {type(mode).__name__}"
        )
    widths = tuple([w if type(w) is int else operator.index(w) for w in pad])
    shape = tuple(input._array.shape)
    before, after = _borders(shape, widths)
    if mode == "constant":
        return apply(rules.pad_with, input, before, after, dtypes.number(value or 0))
    if value:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    grows = _check_borders(shape, widths, mode)
    if mode != "circular":
        check_floats(input, f"pad_{mode}", "b")
    if grows:
        return apply(rules.bordered, input, before, after, mode)
    n = len(before)
    spatial = shape[len(shape) - n :]
    for i in range(n):
        if before[i] or after[i]:
            places = rules.repeated_places(spatial[i], before[i], after[i], mode)
            axis = input._array.ndim - n + i
            input = input[(*(slice(None),) * axis, places)]
    return input


@functools.lru_cache(256)
def _borders(shape: tuple[int, ...], widths: tuple[int, ...]) -> tuple[Any, Any]:
    """The widths before and after the last dimensions, first one first."""
    n = len(widths) // 2
    if len(widths) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if n > len(shape):
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(widths)} and input of dimension {len(shape)}"
        )
    before, after = widths[::2][::-1], widths[1::2][::-1]
    if any(s + a + b < 0 for s, a, b in zip(shape[len(shape) - n :], before, after, strict=True)):
        raise RuntimeError(
            f"The input size {list(shape)}, plus negative padding {list(widths)}, resulted in a "
            "negative output size, which is invalid."
        )
    return before, after


@functools.lru_cache(256)
def _check_borders(shape: tuple[int, ...], widths: tuple[int, ...], mode: str) -> bool:
    """Raise for borders that cannot be made of the input; whether they only add to it."""
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(
            f"Unrecognised padding mode {mode}; choose constant, reflect, replicate or circular."
        )
    n = len(widths) // 2
    if not n or len(shape) not in (n + 1, n + 2):
        raise NotImplementedError(
            f"Padding size {len(widths)} is not supported for {len(shape)}D input with mode "
            f"'{mode}': the padded dimensions come after one or two others, channels and perhaps a "
            "batch. Add them, as in x.unsqueeze(0)."
        )
    spatial = shape[len(shape) - n :]
    for size, a, b in zip(spatial, *_borders(shape, widths), strict=True):
        _check_border(size, a, b, mode)
    return min(spatial, default=1) > 0 and min(widths, default=0) >= 0


@of_tensors(1)
def constant_pad_nd(input: Tensor, pad: Any, value: complex = 0) -> Tensor:
    """A border of one value around the last dimensions: `pad` with mode="constant"."""
    return _pad(input, pad, "constant", value)


_pad = pad


def _check_border(size: int, before: int, after: int, mode: str) -> None:
    widest = max(before, after)
    if mode == "circular" and widest > size:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    if mode == "reflect" and widest >= size and (before or after):
        raise RuntimeError(
            "Padding size should be less than the corresponding input dimension, but got: padding "
            f"({before}, {after}) for a dimension of size {size}"
        )


# ---- resizing ------------------------------------------------------------------------------

_MODES = {
    "nearest": None,
    "nearest-exact": None,
    "area": None,
    "linear": 1,
    "bilinear": 2,
    "bicubic": 2,
    "trilinear": 3,
}


@of_tensors(1)
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """The input resized along its last dimensions, (N, C, *S).

    Modes: nearest, nearest-exact, linear, bilinear, bicubic, trilinear, area. With `antialias`
    (bilinear and bicubic) a smaller image takes the mean of more pixels.
    """
    if mode not in _MODES:
        raise NotImplementedError(
            f"interpolate: mode={mode!r} is not available. Modes are {', '.join(_MODES)}."
        )
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D "
            f"tensor as input, got mode={mode!r}"
        )
    check_floats(input, "interpolate", "bic")
    spatial = input._array.shape[2:]
    if not spatial:
        raise NotImplementedError(
            f"interpolate resizes the last dimensions of (N, C, *S), not {list(input.shape)}. "
            "Add the first two with x[None, None]."
        )
    n = len(spatial)
    smooth = _MODES[mode] is not None
    if align_corners is not None and not smooth:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    if smooth and _MODES[mode] != n:
        for given in (size, scale_factor):
            if isinstance(given, (tuple, list)) and len(given) != n:
                raise ValueError(
                    f"Input and output must have the same number of spatial dimensions, but got "
                    f"input of shape {list(input.shape)} and {list(given)} for {n} of them: "
                    f"{mode} mode takes {_MODES[mode] + 2}D input"  # type: ignore[operator]
                )
        raise NotImplementedError(
            f"Got {n + 2}D input, but {mode} mode needs {_MODES[mode] + 2}D input"  # type: ignore[operator]
        )
    out, scales = _resized(spatial, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        return adaptive_avg(n, input, out)
    if min(*spatial, *out) < 1:
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"{tuple(spatial)} and output {tuple(out)}"
        )
    dtype = input._array.dtype
    x = input.float() if dtype.kind == "u" else input
    if smooth:
        x = resized(x, out, scales, bool(align_corners), mode, antialias, dtype.kind == "u")
        return x.to(dtype)
    for i in range(n):
        scale = scales[i] or spatial[i] / out[i]
        x = apply(resize, x, _nearest(spatial[i], out[i], scale, mode, x._array.dtype), 2 + i)
    return x.to(dtype)


def resized(
    input: Tensor,
    out: list[int],
    scales: list[Any],
    corners: bool,
    mode: str,
    antialias: bool,
    to_bytes: bool = False,
) -> Tensor:
    """Interpolated to new sizes; scales are steps in the input, None if the sizes say so.

    Lines are resized before columns: `to_bytes` rounds after each, as PyTorch and Pillow do.
    """
    sizes = input._array.shape[2:]
    steps = list(enumerate(zip(sizes, out, scales, strict=True)))
    for i, (size, new, scale) in reversed(steps) if to_bytes else steps:
        weights = _weights(size, new, scale, corners, mode, antialias, input._array.dtype)
        input = apply(resize, input, weights, 2 + i)
        if to_bytes:
            input = (input + 0.5).floor().clamp(0, 255)
    return input


def _resized(
    spatial: Any, size: Any, scale_factor: Any, recompute: Any
) -> tuple[list[int], list[Any]]:
    """The new sizes, and the step in the input for one in the output where a factor gives it."""
    n = len(spatial)
    if (size is None) == (scale_factor is None):
        raise ValueError(
            "either size or scale_factor should be defined"
            if size is None
            else "only one of size or scale_factor should be defined"
        )
    if size is not None:
        wanted = list(size) if isinstance(size, (tuple, list)) else [size] * n
        if len(wanted) != n:
            raise ValueError(
                f"Input and output must have the same number of spatial dimensions, but got input "
                f"with spatial dimensions of {list(spatial)} and output size of {wanted}."
            )
        return [int(s) for s in wanted], [None] * n
    factors = list(scale_factor) if isinstance(scale_factor, (tuple, list)) else [scale_factor] * n
    out = [math.floor(s * f) for s, f in zip(spatial, factors, strict=True)]
    return out, [None] * n if recompute else [1.0 / f for f in factors]


@functools.lru_cache(256)
def _nearest(size: int, out: int, scale: float, mode: str, dtype: Any) -> Any:
    """Of each new pixel the old one that counts, as `resize` takes it."""
    half = 0.5 if mode == "nearest-exact" else 0.0
    if not half and out in (size, 2 * size):  # whatever the factor was before it was cut off
        places = np.arange(out) * size // out
    else:
        places = np.floor((np.arange(out) + half) * np.float32(scale)).astype(np.int64)
    return Band(np.minimum(places, size - 1), np.ones((out, 1), dtype), size)


@functools.lru_cache(256)
def _weights(
    size: int, out: int, scale: Any, corners: bool, mode: str, antialias: bool, dtype: Any
) -> Any:
    """Each new pixel's share of the old ones, as `resize` takes it."""
    if antialias:
        matrix = _smoothing_weights(size, out, scale, corners, mode)
    else:
        matrix = _tap_weights(size, out, scale, corners, mode == "bicubic")
    return band(matrix.astype(dtype))


def _tap_weights(size: int, out: int, scale: float | None, corners: bool, cubic: bool) -> Any:
    """The matrix of an interpolation from `size` points to `out`, linear unless `cubic`.

    Beyond the border its last pixel goes on. As many points as before stay as they are.
    """
    if out == size and not cubic:
        return np.eye(size)
    if corners:
        place = np.arange(out) * ((size - 1) / (out - 1) if out > 1 else 0.0)
    else:
        place = (np.arange(out) + 0.5) * (scale or size / out) - 0.5
    place = place if cubic else np.clip(place, 0, size - 1)
    low, weights = np.floor(place), np.zeros((out, size))
    taps = tap_weights("bicubic" if cubic else "bilinear")
    for k, weight in enumerate(taps, 1 - len(taps) // 2):
        columns = np.clip(low + k, 0, size - 1).astype(np.int64)
        np.add.at(weights, (np.arange(out), columns), weight(place - low))
    return weights


def _smoothing_weights(
    size: int, out: int, scale: float | None, align_corners: bool, mode: str
) -> Any:
    """The matrix of a filter as wide as an output pixel, which keeps fine detail from aliasing."""
    if align_corners:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        step = scale or size / out
    reach = 1.0 if mode == "bilinear" else 2.0
    width = max(step, 1.0)
    weights = np.zeros((out, size))
    for i in range(out):
        centre = step * (i + 0.5)
        first = max(int(centre - reach * width + 0.5), 0)
        stop = min(int(centre + reach * width + 0.5), size)
        d = np.abs((np.arange(first, stop) - centre + 0.5) / width)
        a = -0.5  # the cubic of image libraries' resizing
        if mode == "bilinear":
            row = np.maximum(1 - d, 0)
        else:
            near = ((a + 2) * d - (a + 3)) * d * d + 1
            far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
            row = np.where(d < 1, near, np.where(d < 2, far, 0))
        weights[i, first:stop] = row / row.sum()
    return weights


@of_tensors(1)
def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The old name of `interpolate`."""
    _renamed("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@of_tensors(1)
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of `interpolate(mode='nearest')`."""
    _renamed("upsample_nearest")
    return interpolate(input, size, scale_factor, "nearest")


@of_tensors(1)
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of `interpolate(mode='bilinear', align_corners=True)`."""
    _renamed("upsample_bilinear")
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)


def _renamed(name: str) -> None:
    warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")


# ---- pixels and channels -------------------------------------------------------------------


def _check_image(name: str, input: Tensor) -> None:
    if input.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {input.ndim} "
            "dimension(s): it takes (*, C, H, W)"
        )


@of_tensors(1)
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(*, C r^2, H, W) to (*, C, H r, W r)."""
    _check_image("pixel_shuffle", input)
    check_positive("pixel_shuffle", upscale_factor=upscale_factor)
    c, r = input._array.shape[-3], upscale_factor
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    return apply(shapes.pixel_shuffle, input, r)


@of_tensors(1)
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(*, C, H r, W r) to (*, C r^2, H, W)."""
    _check_image("pixel_unshuffle", input)
    check_positive("pixel_unshuffle", downscale_factor=downscale_factor)
    (h, w), r = input._array.shape[-2:], downscale_factor
    if h % r or w % r:
        raise RuntimeError(
            "pixel_unshuffle expects height and width to be divisible by downscale_factor, but got "
            f"{h} x {w} and {r}"
        )
    return apply(shapes.pixel_unshuffle, input, r)


@of_tensors(1)
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels of `groups` groups, dealt out in turn."""
    check_positive("channel_shuffle", groups=groups)
    n, c, *spatial = input.shape
    x = reshape(input, (n, groups, c // groups, *spatial))
    return reshape(apply(np.swapaxes, x, 1, 2), input.shape)


native_channel_shuffle = channel_shuffle
