"""Activations as modules."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from wengert import dtypes
from wengert.autograd.record import recorder
from wengert.functions.creation import check_device
from wengert.history.location import warn
from wengert.nn import functional as F
from wengert.nn.functional.activations import relu
from wengert.nn.init import constant_
from wengert.nn.layers.applied import Applied
from wengert.nn.module import Module
from wengert.nn.parameter import Parameter
from wengert.rules import neural
from wengert.tensor import Tensor, wrap


class Sigmoid(Applied, function=F.sigmoid):
    """1 / (1 + exp(-x))."""


class Tanh(Applied, function=F.tanh):
    """The hyperbolic tangent."""


class LogSigmoid(Applied, function=F.logsigmoid):
    """log(sigmoid(x))."""


class Softsign(Applied, function=F.softsign):
    """x / (1 + |x|)."""


class Tanhshrink(Applied, function=F.tanhshrink):
    """x - tanh(x)."""


class _MaybeInplace(Applied, function=None):
    """An activation that may overwrite its input."""

    inplace: bool = False


_relu = recorder(neural.relu)


class ReLU(_MaybeInplace, function=F.relu):
    """max(x, 0).

    >>> ReLU()
    ReLU()
    """

    def forward(self, input: Tensor) -> Tensor:
        return relu(input, True) if self.inplace else _relu(input)


class SiLU(_MaybeInplace, function=F.silu):
    """x sigmoid(x)."""


class Mish(_MaybeInplace, function=F.mish):
    """x tanh(softplus(x))."""


class SELU(_MaybeInplace, function=F.selu):
    """The scaled elu that normalizes itself."""


class Hardswish(_MaybeInplace, function=F.hardswish):
    """x hardsigmoid(x)."""

    def extra_repr(self) -> str:
        return ""


class Hardsigmoid(_MaybeInplace, function=F.hardsigmoid):
    """min(max(x + 3, 0), 6) / 6."""

    def extra_repr(self) -> str:
        return ""


class GELU(Applied, function=F.gelu):
    """x Phi(x), exactly or with 'tanh'."""

    approximate: str = "none"


class LeakyReLU(Applied, function=F.leaky_relu):
    """x where x > 0, else negative_slope * x."""

    negative_slope: float = 1e-2
    inplace: bool = False


class _Alpha(Applied, function=None):
    alpha: float = 1.0
    inplace: bool = False


class ELU(_Alpha, function=F.elu):
    """x where x > 0, else alpha (exp(x) - 1)."""


class CELU(_Alpha, function=F.celu):
    """max(x, 0) + min(0, alpha (exp(x/alpha) - 1))."""


class Softplus(Applied, function=F.softplus):
    """log(1 + exp(beta x)) / beta."""

    beta: float = 1.0
    threshold: float = 20.0


class Hardtanh(Applied, function=F.hardtanh, shown="min_val max_val"):
    """x, cut off at min_val and max_val."""

    _unpassed: ClassVar[frozenset[str]] = frozenset({"min_value", "max_value"})

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False
    min_value: float | None = None
    max_value: float | None = None

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        for bound in ("min", "max"):
            if (old := settings.pop(f"{bound}_value")) is not None:
                settings[f"{bound}_val"] = old
                warn(
                    f"keyword argument `{bound}_value` is deprecated and rename to `{bound}_val`",
                    FutureWarning,
                )
        low, high = settings["min_val"], settings["max_val"]
        if high <= low:
            raise AssertionError(f"max_val must be larger than min_val, got {low} and {high}")
        return settings


class ReLU6(Hardtanh, shown=""):
    """x, cut off at 0 and 6."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class Threshold(Applied, function=F.threshold):
    """x where x > threshold, else value."""

    threshold: float
    value: float
    inplace: bool = False


class RReLU(Applied, function=F.rrelu):
    """A leaky relu with random slopes in training."""

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False


class _Lambda(Applied, function=None):
    """A shrinking function."""

    lambd: float = 0.5

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Lambda, function=F.hardshrink):
    """x where |x| > lambd, else 0."""


class Softshrink(_Lambda, function=F.softshrink):
    """x moved towards 0 by lambd."""


class PReLU(Module):
    """A leaky relu whose slope is learned: one, or one for each channel."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        check_device(device)
        dtype = dtypes.or_default(dtype)
        self.weight = Parameter(wrap(np.empty(num_parameters, dtype)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Back to the initial slope."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class _Along(Applied, function=None):
    """A function along one dimension."""

    dim: int | None = None


class Softmax(_Along, function=F.softmax):
    """exp(x) / sum(exp(x)) along `dim`."""


class LogSoftmax(_Along, function=F.log_softmax):
    """log(softmax(x)) along `dim`."""


class Softmin(_Along, function=F.softmin):
    """softmax(-x) along `dim`."""


class Softmax2d(Module):
    """Softmax over the channels at each place of an image."""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)


class GLU(Applied, function=F.glu):
    """a sigmoid(b), for the halves a and b along `dim`."""

    dim: int = -1
