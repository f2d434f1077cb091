"""Activations as modules."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.record import recorder
from wengert.nn import functional as F
from wengert.nn.functional.activations import relu
from wengert.nn.init import constant_
from wengert.nn.module import Module
from wengert.nn.parameter import Parameter
from wengert.rules import neural
from wengert.tensor import Tensor, wrap


class _Plain(Module):
    """An activation without settings."""

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input)

    _function: str


class Sigmoid(_Plain):
    """1 / (1 + exp(-x))."""

    _function = "sigmoid"


class Tanh(_Plain):
    """The hyperbolic tangent."""

    _function = "tanh"


class LogSigmoid(_Plain):
    """log(sigmoid(x))."""

    _function = "logsigmoid"


class Softsign(_Plain):
    """x / (1 + |x|)."""

    _function = "softsign"


class Tanhshrink(_Plain):
    """x - tanh(x)."""

    _function = "tanhshrink"


class _MaybeInplace(Module):
    """An activation that may overwrite its input."""

    _function: str

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


_relu = recorder(neural.relu)


class ReLU(_MaybeInplace):
    """max(x, 0).

    >>> ReLU()
    ReLU()
    """

    def forward(self, input: Tensor) -> Tensor:
        return relu(input, True) if self.inplace else _relu(input)


class SiLU(_MaybeInplace):
    """x sigmoid(x)."""

    _function = "silu"


class Mish(_MaybeInplace):
    """x tanh(softplus(x))."""

    _function = "mish"


class SELU(_MaybeInplace):
    """The scaled elu that normalizes itself."""

    _function = "selu"


class Hardswish(_MaybeInplace):
    """x hardsigmoid(x)."""

    _function = "hardswish"

    def extra_repr(self) -> str:
        return ""


class Hardsigmoid(_MaybeInplace):
    """min(max(x + 3, 0), 6) / 6."""

    _function = "hardsigmoid"

    def extra_repr(self) -> str:
        return ""


def _and_inplace(text: str, inplace: bool) -> str:
    return f"{text}, inplace=True" if inplace else text


class GELU(Module):
    """x Phi(x), exactly or with 'tanh'."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class LeakyReLU(Module):
    """x where x > 0, else negative_slope * x."""

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return _and_inplace(f"negative_slope={self.negative_slope}", self.inplace)


class _Alpha(Module):
    """An elu or celu."""

    _function: str

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return _and_inplace(f"alpha={self.alpha}", self.inplace)


class ELU(_Alpha):
    """x where x > 0, else alpha (exp(x) - 1)."""

    _function = "elu"


class CELU(_Alpha):
    """max(x, 0) + min(0, alpha (exp(x/alpha) - 1))."""

    _function = "celu"


class Softplus(Module):
    """log(1 + exp(beta x)) / beta."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Hardtanh(Module):
    """x, cut off at min_val and max_val."""

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for old, new in ((min_value, "min"), (max_value, "max")):
            if old is not None:
                warnings.warn(
                    f"keyword argument `{new}_value` is deprecated and rename to `{new}_val`",
                    FutureWarning,
                    stacklevel=2,
                )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val must be larger than min_val, got {self.min_val} and {self.max_val}"
            )

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return _and_inplace(f"min_val={self.min_val}, max_val={self.max_val}", self.inplace)


class ReLU6(Hardtanh):
    """x, cut off at 0 and 6."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Threshold(Module):
    """x where x > threshold, else value."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return _and_inplace(f"threshold={self.threshold}, value={self.value}", self.inplace)


class RReLU(Module):
    """A leaky relu with random slopes in training."""

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return _and_inplace(f"lower={self.lower}, upper={self.upper}", self.inplace)


class _Lambda(Module):
    """A shrinking function."""

    _function: str

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Lambda):
    """x where |x| > lambd, else 0."""

    _function = "hardshrink"


class Softshrink(_Lambda):
    """x moved towards 0 by lambd."""

    _function = "softshrink"


class PReLU(Module):
    """A leaky relu whose slope is learned: one, or one for each channel."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        dtype = dtypes.get_default_dtype() if dtype is None else dtype
        self.weight = Parameter(wrap(np.full(num_parameters, init, dtype)))

    def reset_parameters(self) -> None:
        """Back to the initial slope."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class _Along(Module):
    """A function along one dimension."""

    _function: str
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_Along):
    """exp(x) / sum(exp(x)) along `dim`."""

    _function = "softmax"


class LogSoftmax(_Along):
    """log(softmax(x)) along `dim`."""

    _function = "log_softmax"


class Softmin(_Along):
    """softmax(-x) along `dim`."""

    _function = "softmin"


class Softmax2d(Module):
    """Softmax over the channels at each place of an image."""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)


class GLU(Module):
    """a sigmoid(b), for the halves a and b along `dim`."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
