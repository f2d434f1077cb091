"""Initial values of parameters: `nn.init` by PyTorch's names."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from wengert.autograd.engine import mark_written
from wengert.autograd.misfits import told
from wengert.dispatch import called
from wengert.functions.random import needs_floats, needs_range, needs_spread, numbers_of
from wengert.history.location import warn
from wengert.history.modes import no_grad
from wengert.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which an activation shrinks its input's standard deviation, inverted."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    ones = {
        "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
        "conv_transpose3d", "sigmoid",
    }  # fmt: skip
    if nonlinearity in ones:
        return 1.0
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


def _filled(tensor: Tensor, values: Any, name: str) -> Tensor:
    """Write values into a tensor, outside of any history."""
    tensor._array[...] = values
    mark_written(tensor, name)
    return tensor


@told
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform numbers between a and b."""
    needs_floats(tensor, "uniform_")
    needs_range(a, b)
    return _filled(tensor, numbers_of(generator).uniform(a, b, tensor._array.shape), "uniform_")


@told
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Normal numbers."""
    needs_floats(tensor, "normal_")
    needs_spread(std)
    return _filled(tensor, numbers_of(generator).normal(mean, std, tensor._array.shape), "normal_")


@told
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Normal numbers, drawn again where they fall outside a to b."""
    needs_floats(tensor, "trunc_normal_")
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect."
        )
    from scipy import special

    low, high = special.ndtr((a - mean) / std), special.ndtr((b - mean) / std)
    needs_range(low, high)
    uniform = numbers_of(generator).uniform(low, high, tensor._array.shape)
    return _filled(tensor, np.clip(mean + std * special.ndtri(uniform), a, b), "trunc_normal_")


@told
def constant_(tensor: Tensor, val: float | Tensor) -> Tensor:
    """One number everywhere."""
    with no_grad():
        return tensor.fill_(val)


@told
def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1.0)


@told
def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return constant_(tensor, 0.0)


@told
def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _filled(tensor, np.eye(*tensor._array.shape), "eye_")


@told
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """The identity as a convolution's weight."""
    shape = tensor._array.shape
    if len(shape) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    values = np.zeros(shape)
    each = shape[0] // groups
    centre = tuple(n // 2 for n in shape[2:])
    for group in range(groups):
        for d in range(min(each, shape[1])):
            values[(group * each + d, d, *centre)] = 1
    return _filled(tensor, values, "dirac_")


def _fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs and outputs each unit of a weight has."""
    shape = tensor._array.shape
    if len(shape) < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


_calculate_fan_in_and_fan_out = _fans


@told
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform numbers of variance 2 gain^2 / (fan_in + fan_out) (Glorot and Bengio, 2010)."""
    fan_in, fan_out = _fans(tensor)
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


@told
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal numbers of variance 2 gain^2 / (fan_in + fan_out) (Glorot and Bengio, 2010)."""
    fan_in, fan_out = _fans(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = _fans(tensor)[mode.lower() == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _is_empty(tensor: Tensor) -> bool:
    if 0 in tensor._array.shape:
        warn("Initializing zero-element tensors is a no-op")
        return True
    return False


@told
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Uniform numbers of variance gain^2 / fan (He et al., 2015)."""
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


@told
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Normal numbers of variance gain^2 / fan (He et al., 2015)."""
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


@told
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """A (semi-)orthogonal matrix, uniformly drawn (Saxe et al., 2013)."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    needs_floats(tensor, "orthogonal_")
    rows = tensor._array.shape[0]
    columns = tensor._array.size // rows if rows else 0
    flat = numbers_of(generator).standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(flat)
    q *= np.sign(np.diag(r))  # makes the distribution uniform
    q = q.T if rows < columns else q
    return _filled(tensor, gain * q.reshape(tensor._array.shape), "orthogonal_")


@told
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """A normal matrix with a fraction of each column set to 0 (Martens, 2010)."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    needs_floats(tensor, "sparse_")
    needs_spread(std)
    rng = numbers_of(generator)
    rows, columns = tensor._array.shape
    values = rng.normal(0, std, (rows, columns))
    for column in range(columns):
        values[rng.permutation(rows)[: math.ceil(sparsity * rows)], column] = 0
    return _filled(tensor, values, "sparse_")


# ---- old names -----------------------------------------------------------------------------


def _renamed(function: F, place: str = "nn.init") -> F:
    """A function by the name that it had before its underscore."""
    old = function.__name__[:-1]

    @functools.wraps(function)
    def called_so(*args: Any, **kwargs: Any) -> Any:
        warn(f"`{place}.{old}` is now deprecated in favor of `{place}.{old}_`.", FutureWarning)
        return function(*args, **kwargs)

    same: Any = called(called_so, old, f"The old name of `{old}_`.")
    return same


uniform = _renamed(uniform_)
normal = _renamed(normal_)
constant = _renamed(constant_)
eye = _renamed(eye_)
dirac = _renamed(dirac_)
xavier_uniform = _renamed(xavier_uniform_)
xavier_normal = _renamed(xavier_normal_)
kaiming_uniform = _renamed(kaiming_uniform_)
kaiming_normal = _renamed(kaiming_normal_)
orthogonal = _renamed(orthogonal_)
sparse = _renamed(sparse_)
_no_grad_trunc_normal_ = trunc_normal_  # a name that programs take from the inside of PyTorch
