"""Pooling as modules."""

from __future__ import annotations

from typing import Any, ClassVar

from wengert.nn import functional as F
from wengert.nn.functional.shared import sizes
from wengert.nn.layers.applied import Applied
from wengert.tensor import Tensor


class _Windows(Applied, function=None, shown="kernel_size stride padding"):
    """A function of windows, which follow each other without a gap if no stride is given."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        if settings["stride"] is None:
            settings["stride"] = settings["kernel_size"]
        return settings


class _SizedWindows(_Windows, function=None):
    """Windows whose sizes are kept as tuples, one number for each of `_n` dimensions."""

    _n: ClassVar[int]

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        for name in ("kernel_size", "stride", "padding"):
            if settings[name] is not None:
                settings[name] = sizes(settings[name], self._n, name)
        return super()._checked(settings)


class _MaxPool(_Windows, function=None, shown="kernel_size stride padding dilation ceil_mode"):
    dilation: Any = 1
    return_indices: bool = False
    ceil_mode: bool = False


class MaxPool1d(_MaxPool, function=F.max_pool1d):
    """The largest number in each window of (N, C, L)."""


class MaxPool2d(_MaxPool, function=F.max_pool2d):
    """The largest number in each window of (N, C, H, W)."""


class MaxPool3d(_MaxPool, function=F.max_pool3d):
    """The largest number in each window of (N, C, D, H, W)."""


class AvgPool1d(_SizedWindows, function=F.avg_pool1d):
    """The mean of each window of (N, C, L)."""

    _n = 1
    ceil_mode: bool = False
    count_include_pad: bool = True


class _AvgPool(_Windows, function=None):
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None


class AvgPool2d(_AvgPool, function=F.avg_pool2d):
    """The mean of each window of (N, C, H, W)."""


class AvgPool3d(_AvgPool, function=F.avg_pool3d):
    """The mean of each window of (N, C, D, H, W)."""


class _Adaptive(Applied, function=None):
    output_size: Any


class AdaptiveAvgPool1d(_Adaptive, function=F.adaptive_avg_pool1d):
    """Means over as many bins as asked for."""


class AdaptiveAvgPool2d(_Adaptive, function=F.adaptive_avg_pool2d):
    """Means over as many bins as asked for, in each of two dimensions."""


class AdaptiveAvgPool3d(_Adaptive, function=F.adaptive_avg_pool3d):
    """Means over as many bins as asked for, in each of three dimensions."""


class _AdaptiveMaxPool(_Adaptive, function=None, shown="output_size"):
    return_indices: bool = False


class AdaptiveMaxPool1d(_AdaptiveMaxPool, function=F.adaptive_max_pool1d):
    """Maxima over as many bins as asked for."""


class AdaptiveMaxPool2d(_AdaptiveMaxPool, function=F.adaptive_max_pool2d):
    """Maxima over as many bins as asked for, in each of two dimensions."""


class AdaptiveMaxPool3d(_AdaptiveMaxPool, function=F.adaptive_max_pool3d):
    """Maxima over as many bins as asked for, in each of three dimensions."""


class _LPPool(Applied, function=None):
    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False


class LPPool1d(_LPPool, function=F.lp_pool1d):
    """(sum |x|^p)^(1/p) of each window of (N, C, L)."""


class LPPool2d(_LPPool, function=F.lp_pool2d):
    """(sum |x|^p)^(1/p) of each window of (N, C, H, W)."""


class LPPool3d(_LPPool, function=F.lp_pool3d):
    """(sum |x|^p)^(1/p) of each window of (N, C, D, H, W)."""


# ---- undone, and at random places ----------------------------------------------------------


class _MaxUnpool(_SizedWindows, function=None):
    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return super().forward(input, indices, output_size=output_size)


class MaxUnpool1d(_MaxUnpool, function=F.max_unpool1d):
    """Maxima back at their places, (N, C, L)."""

    _n = 1


class MaxUnpool2d(_MaxUnpool, function=F.max_unpool2d):
    """Maxima back at their places, (N, C, H, W)."""

    _n = 2


class MaxUnpool3d(_MaxUnpool, function=F.max_unpool3d):
    """Maxima back at their places, (N, C, D, H, W)."""

    _n = 3


class _FractionalMaxPool(Applied, function=None, shown=""):
    _n: ClassVar[int]
    kernel_size: Any
    output_size: Any = None
    output_ratio: Any = None
    return_indices: bool = False
    _random_samples: Tensor | None = None

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        size, ratio, n = settings["output_size"], settings["output_ratio"], self._n
        if (size is None) == (ratio is None):
            raise ValueError(
                f"{self._get_name()} requires specifying either an output size, or a pooling ratio"
            )
        ratios = ratio if ratio is None or isinstance(ratio, tuple) else (ratio,) * n
        if ratios is not None and any(not 0 < r < 1 for r in ratios):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {ratio})")
        return settings | {
            "kernel_size": sizes(settings["kernel_size"], n, "kernel_size"),
            "output_size": None if size is None else sizes(size, n, "output_size"),
            "output_ratio": ratios,
        }


class FractionalMaxPool2d(_FractionalMaxPool, function=F.fractional_max_pool2d):
    """Maxima of windows at random places of (N, C, H, W)."""

    _n = 2


class FractionalMaxPool3d(_FractionalMaxPool, function=F.fractional_max_pool3d):
    """Maxima of windows at random places of (N, C, D, H, W)."""

    _n = 3
