"""Pooling as modules."""

from __future__ import annotations

from typing import Any

from wengert.nn import functional as F
from wengert.nn.functional.shared import sizes
from wengert.nn.module import Module
from wengert.tensor import Tensor


class _MaxPool(Module):
    _n: int

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        function = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[self._n - 1]
        return function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest number in each window of (N, C, L)."""

    _n = 1


class MaxPool2d(_MaxPool):
    """The largest number in each window of (N, C, H, W)."""

    _n = 2


class MaxPool3d(_MaxPool):
    """The largest number in each window of (N, C, D, H, W)."""

    _n = 3


class AvgPool1d(Module):
    """The mean of each window of (N, C, L)."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = sizes(kernel_size, 1, "kernel_size")
        self.stride = self.kernel_size if stride is None else sizes(stride, 1, "stride")
        self.padding = sizes(padding, 1, "padding")
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(Module):
    _n: int

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        function = F.avg_pool2d if self._n == 2 else F.avg_pool3d
        return function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """The mean of each window of (N, C, H, W)."""

    _n = 2


class AvgPool3d(_AvgPool):
    """The mean of each window of (N, C, D, H, W)."""

    _n = 3


class _AdaptiveAvgPool(Module):
    _n: int

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        functions = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)
        return functions[self._n - 1](input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means over as many bins as asked for."""

    _n = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means over as many bins as asked for, in each of two dimensions."""

    _n = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means over as many bins as asked for, in each of three dimensions."""

    _n = 3


class _AdaptiveMaxPool(Module):
    _n: int

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        functions = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)
        return functions[self._n - 1](input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Maxima over as many bins as asked for."""

    _n = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Maxima over as many bins as asked for, in each of two dimensions."""

    _n = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Maxima over as many bins as asked for, in each of three dimensions."""

    _n = 3


class _LPPool(Module):
    _function: str

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        function = getattr(F, self._function)
        return function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """(sum |x|^p)^(1/p) of each window of (N, C, L)."""

    _function = "lp_pool1d"


class LPPool2d(_LPPool):
    """(sum |x|^p)^(1/p) of each window of (N, C, H, W)."""

    _function = "lp_pool2d"


class LPPool3d(_LPPool):
    """(sum |x|^p)^(1/p) of each window of (N, C, D, H, W)."""

    _function = "lp_pool3d"


# ---- undone, and at random places ----------------------------------------------------------


class _MaxUnpool(Module):
    _n: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        n = self._n
        self.kernel_size = sizes(kernel_size, n, "kernel_size")
        self.stride = self.kernel_size if stride is None else sizes(stride, n, "stride")
        self.padding = sizes(padding, n, "padding")

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        function = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)[self._n - 1]
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Maxima back at their places, (N, C, L)."""

    _n = 1


class MaxUnpool2d(_MaxUnpool):
    """Maxima back at their places, (N, C, H, W)."""

    _n = 2


class MaxUnpool3d(_MaxUnpool):
    """Maxima back at their places, (N, C, D, H, W)."""

    _n = 3


class _FractionalMaxPool(Module):
    _n: int

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            raise ValueError(
                f"{self._get_name()} requires specifying either an output size, or a pooling ratio"
            )
        n = self._n
        self.kernel_size = sizes(kernel_size, n, "kernel_size")
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else sizes(output_size, n, "output_size")
        ratio = output_ratio
        self.output_ratio = ratio if ratio is None or isinstance(ratio, tuple) else (ratio,) * n
        if self.output_ratio is not None and any(not 0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        function = F.fractional_max_pool2d if self._n == 2 else F.fractional_max_pool3d
        return function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima of windows at random places of (N, C, H, W)."""

    _n = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """Maxima of windows at random places of (N, C, D, H, W)."""

    _n = 3
