"""Convolutions as modules."""

from __future__ import annotations

import math
from typing import Any

from wengert.nn import functional as F
from wengert.nn.functional.shared import sizes
from wengert.nn.layers.applied import unusual
from wengert.nn.layers.linear import draw_evenly, new_parameters
from wengert.nn.module import Module
from wengert.nn.parameter import Parameter
from wengert.tensor import Tensor

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _Convolution(Module):
    """What all convolutions share; `_n` is the number of spatial dimensions."""

    _n: int
    transposed = False
    padding: Any
    weight: Parameter
    bias: Parameter  # None without, which types pass over

    def _build(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        n = self._n
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups")
        if padding_mode not in PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {set(PADDING_MODES)}, but got "
                f"padding_mode='{padding_mode}'"
            )
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = sizes(kernel_size, n, "kernel_size")
        self.stride = sizes(stride, n, "stride")
        self.padding = padding if isinstance(padding, str) else sizes(padding, n, "padding")
        self.dilation = sizes(dilation, n, "dilation")
        self.output_padding = sizes(output_padding, n, "output_padding")
        self.groups = groups
        self.padding_mode = padding_mode
        if padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        shapes = {"weight": self._weight_shape(), "bias": out_channels if bias else None}
        new_parameters(self, device, dtype, **shapes)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, uniform within 1/sqrt(fan_in)."""
        draw_evenly(self, self.weight.shape[1] * math.prod(self.kernel_size))

    def extra_repr(self) -> str:
        n = self._n
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        none = (0,) * n
        text += unusual(self, padding=none, dilation=(1,) * n, output_padding=none, groups=1)
        text += ", bias=False" if self.bias is None else ""
        return text + unusual(self, padding_mode="zeros")


class _Conv(_Convolution):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._build(
            in_channels, out_channels, kernel_size, stride, padding, dilation, 0,
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._border(), self.padding_mode)
            padding = 0
        function = (F.conv1d, F.conv2d, F.conv3d)[self._n - 1]
        return function(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )

    def _border(self) -> list[int]:
        """Widths for `pad`, last dimension first."""
        widths: list[int] = []
        for i in reversed(range(self._n)):
            if self.padding == "same":
                total = self.dilation[i] * (self.kernel_size[i] - 1)
                widths += [total // 2, total - total // 2]
            else:
                p = 0 if self.padding == "valid" else self.padding[i]
                widths += [p, p]
        return widths


class Conv1d(_Conv):
    """Cross-correlation of (N, C, L) with `out_channels` learned kernels."""

    _n = 1


class Conv2d(_Conv):
    """Cross-correlation of (N, C, H, W) with `out_channels` learned kernels.

    >>> Conv2d(1, 4, 3, padding=1)
    Conv2d(1, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    """

    _n = 2


class Conv3d(_Conv):
    """Cross-correlation of (N, C, D, H, W) with `out_channels` learned kernels."""

    _n = 3


class _ConvTranspose(_Convolution):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._build(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding,
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self._n - 1]
        extra = self.output_padding if output_size is None else self._extra(input, output_size)
        weight, stride, padding = self.weight, self.stride, self.padding
        return function(
            input, weight, self.bias, stride, padding, extra, self.groups, self.dilation
        )

    def _extra(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """The output padding that gives a certain output size."""
        n = self._n
        wanted = tuple(output_size)[-n:]
        spatial = input._array.shape[-n:]
        smallest = [
            (size - 1) * s - 2 * p + d * (k - 1) + 1
            for size, s, p, d, k in zip(
                spatial, self.stride, self.padding, self.dilation, self.kernel_size, strict=True
            )
        ]
        largest = [m + s - 1 for m, s in zip(smallest, self.stride, strict=True)]
        for want, low, high in zip(wanted, smallest, largest, strict=True):
            if not low <= want <= high:
                raise ValueError(
                    f"requested an output size of {list(wanted)}, but valid sizes range from "
                    f"{smallest} to {largest} (for an input of {list(spatial)})"
                )
        return tuple(w - m for w, m in zip(wanted, smallest, strict=True))


class ConvTranspose1d(_ConvTranspose):
    """The transpose of Conv1d as a linear map."""

    _n = 1


class ConvTranspose2d(_ConvTranspose):
    """The transpose of Conv2d as a linear map."""

    _n = 2


class ConvTranspose3d(_ConvTranspose):
    """The transpose of Conv3d as a linear map."""

    _n = 3
