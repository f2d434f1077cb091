"""Modules that change shapes: flattening, padding, resizing, unfolding, distances."""

from __future__ import annotations

from typing import Any, ClassVar

from wengert.functions.arguments import one_dim
from wengert.functions.shapes import flatten
from wengert.nn import functional as F
from wengert.nn.functional.shared import reshape
from wengert.nn.layers.applied import Applied
from wengert.nn.module import Module
from wengert.tensor import Tensor


class Flatten(Applied, function=flatten):
    """Dimensions `start_dim` to `end_dim` made one.

    >>> import wengert as wg
    >>> Flatten()(wg.zeros(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    start_dim: int = 1
    end_dim: int = -1


class Unflatten(Module):
    """Dimension `dim` made several, of sizes `unflattened_size`."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)) or not all(
            isinstance(n, int) for n in unflattened_size
        ):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found {unflattened_size!r}"
            )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        shape = list(input.shape)
        axis = one_dim(self.dim, len(shape))
        return reshape(input, (*shape[:axis], *self.unflattened_size, *shape[axis + 1 :]))

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


# ---- padding -------------------------------------------------------------------------------


class _Pad(Module):
    """A border around the last `n` dimensions."""

    _n: ClassVar[int]
    _mode: ClassVar[str]

    def __init_subclass__(cls, n: int = 0, mode: str = "constant", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if n:
            cls._n, cls._mode = n, mode

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self._n) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_ConstantPad, n=1):
    """A border of one number around the last dimension."""


class ConstantPad2d(_ConstantPad, n=2):
    """A border of one number around the last two dimensions."""


class ConstantPad3d(_ConstantPad, n=3):
    """A border of one number around the last three dimensions."""


class ZeroPad1d(_ZeroPad, n=1):
    """A border of zeros around the last dimension."""


class ZeroPad2d(_ZeroPad, n=2):
    """A border of zeros around the last two dimensions."""


class ZeroPad3d(_ZeroPad, n=3):
    """A border of zeros around the last three dimensions."""


class ReflectionPad1d(_Pad, n=1, mode="reflect"):
    """The input mirrored at its ends."""


class ReflectionPad2d(_Pad, n=2, mode="reflect"):
    """The input mirrored at its edges."""


class ReflectionPad3d(_Pad, n=3, mode="reflect"):
    """The input mirrored at its faces."""


class ReplicationPad1d(_Pad, n=1, mode="replicate"):
    """The input's ends repeated."""


class ReplicationPad2d(_Pad, n=2, mode="replicate"):
    """The input's edges repeated."""


class ReplicationPad3d(_Pad, n=3, mode="replicate"):
    """The input's faces repeated."""


class CircularPad1d(_Pad, n=1, mode="circular"):
    """The input continued from its other end."""


class CircularPad2d(_Pad, n=2, mode="circular"):
    """The input continued from its opposite edges."""


class CircularPad3d(_Pad, n=3, mode="circular"):
    """The input continued from its opposite faces."""


# ---- resizing ------------------------------------------------------------------------------


class Upsample(Applied, function=F.interpolate):
    """The input resized: see `nn.functional.interpolate`."""

    size: Any = None
    scale_factor: Any = None
    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        factor = settings["scale_factor"]
        if isinstance(factor, tuple):
            settings["scale_factor"] = tuple(float(f) for f in factor)
        else:
            settings["scale_factor"] = float(factor) if factor else None
        self.name = type(self).__name__
        return settings

    def extra_repr(self) -> str:
        what = (
            f"scale_factor={self.scale_factor!r}"
            if self.scale_factor is not None
            else f"size={self.size!r}"
        )
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Nearest-neighbour resizing of images."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Bilinear resizing of images, corners aligned."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", align_corners=True)


class PixelShuffle(Applied, function=F.pixel_shuffle):
    """(*, C r^2, H, W) to (*, C, H r, W r)."""

    upscale_factor: int


class PixelUnshuffle(Applied, function=F.pixel_unshuffle):
    """(*, C, H r, W r) to (*, C r^2, H, W)."""

    downscale_factor: int


class ChannelShuffle(Applied, function=F.channel_shuffle):
    """Channels of `groups` groups, dealt out in turn."""

    groups: int


class Unfold(Applied, function=F.unfold):
    """The windows of images as columns."""

    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


class Fold(Applied, function=F.fold):
    """Columns added back into images."""

    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


# ---- distances -----------------------------------------------------------------------------


class CosineSimilarity(Applied, function=F.cosine_similarity, shown=""):
    """The cosine of the angle between vectors along `dim`."""

    dim: int = 1
    eps: float = 1e-8


class PairwiseDistance(Applied, function=F.pairwise_distance, shown=""):
    """The p-norm of differences along the last dimension."""

    p: float = 2.0
    eps: float = 1e-6
    keepdim: bool = False

    @property
    def norm(self) -> float:
        """The p of the norm."""
        return self.p
