"""Activations, by PyTorch's names. Each is a primitive or a line of composition."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.inplace import write_by
from wengert.autograd.record import recorder
from wengert.autograd.settings import refuses
from wengert.functions.arguments import of_tensors, one_dim
from wengert.history.location import warn
from wengert.nn.functional import chance as random
from wengert.nn.functional.shared import apply, check_floats, reshape, where, written, written_by
from wengert.rules import gates, neural, reductions
from wengert.tensor import Tensor, wrap

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0), elementwise; its derivative at 0 is 0.

    >>> import wengert as wg
    >>> relu(wg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if inplace:
        return write_by(input, neural.relu, "relu_")
    return _relu(input)


_relu = recorder(neural.relu)


@of_tensors(1)
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return apply(neural.sigmoid, input)


@of_tensors(1)
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return apply(np.tanh, input)


@of_tensors(1, takes_out=True)
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x Phi(x), with the normal distribution function Phi; 'tanh' approximates it."""
    check_floats(input, "gelu")
    if approximate == "none":
        return apply(neural.gelu, input)
    if approximate != "tanh":
        raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate!r}")
    return apply(neural.gelu_tanh, input)


@of_tensors(1)
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x sigmoid(x), also known as swish."""
    check_floats(input, "silu", "biu")
    if inplace:
        return written(input, neural.silu, (), "silu_")
    return apply(neural.silu, input)


@of_tensors(1)
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x tanh(log(1 + exp(x)))."""
    check_floats(input, "mish")
    if inplace:
        return written(input, neural.mish, (), "mish_")
    return apply(neural.mish, input)


@of_tensors(1)
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where x > 0, else negative_slope * x."""
    check_floats(input, "leaky_relu")
    if inplace:
        return written(input, neural.leaky_relu, (negative_slope,), "leaky_relu_")
    return apply(neural.leaky_relu, input, negative_slope)


@of_tensors(1)
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha (exp(x) - 1)."""
    check_floats(input, "elu")
    return _elu(input, (alpha, 1.0, 1.0), inplace, "elu_")


@of_tensors(1)
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """A scaled elu that keeps mean 0 and variance 1 (Klambauer et al., 2017)."""
    check_floats(input, "selu")
    return _elu(input, (SELU_ALPHA, SELU_SCALE, 1.0), inplace, "selu_")


@of_tensors(1)
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(x, 0) + min(0, alpha (exp(x/alpha) - 1))."""
    check_floats(input, "celu")
    return _elu(input, (alpha, 1.0, 1.0 / alpha), inplace, "celu_")


def _elu(input: Tensor, settings: tuple[float, ...], inplace: bool, name: str) -> Tensor:
    if inplace:
        return written(input, neural.elu, settings, name)
    return apply(neural.elu, input, *settings)


@of_tensors(1, takes_out=True)
def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x exceeds `threshold`."""
    check_floats(input, "softplus")
    return apply(neural.softplus, input, beta, threshold)


@of_tensors(1, takes_out=True)
def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), without overflow."""
    check_floats(input, "logsigmoid")
    return apply(neural.log_sigmoid, input)


@of_tensors(1)
def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """x, cut off at `min_val` and `max_val`."""
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val, got {min_val} and {max_val}")
    check_floats(input, "hardtanh", "bc")
    if input._array.dtype.kind in "iu":
        if input._array.dtype.kind == "u" and min_val < 0:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        min_val, max_val = int(min_val), int(max_val)
    if inplace:
        return written(input, neural.hardtanh, (min_val, max_val), "hardtanh_")
    return apply(neural.hardtanh, input, min_val, max_val)


@of_tensors(1)
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x, cut off at 0 and 6."""
    return hardtanh(input, 0.0, 6.0, inplace)


@of_tensors(1)
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x + 3, 0), 6) / 6."""
    check_floats(input, "hardsigmoid")
    if inplace:
        return written(input, neural.hardsigmoid, (), "hardsigmoid_")
    return apply(neural.hardsigmoid, input)


@of_tensors(1)
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x hardsigmoid(x)."""
    check_floats(input, "hardswish")
    if inplace:
        return written(input, neural.hardswish, (), "hardswish_")
    return apply(neural.hardswish, input)


@of_tensors(1)
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a sigmoid(b), for the halves a and b of the input along `dim`."""
    check_floats(input, "glu")
    shape = input._array.shape
    if not shape:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    dim = one_dim(dim, len(shape))
    n = shape[dim]
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {n}")
    return apply(gates.glu, input, dim)


@of_tensors(2, alike=True)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where x > 0, else weight * x: one weight, or one for each channel (dimension 1)."""
    check_floats(input, "prelu")
    if not input.ndim:
        weight = reshape(weight, ())
    if weight._array.size > 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if weight._array.size != channels:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight._array.size} and channel size = {channels}."
            )
        weight = weight[(slice(None), *(None,) * (input.ndim - 2))]
    return apply(neural.prelu, input, weight)


@of_tensors(1)
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where x > threshold, else `value`."""
    check_floats(input, "threshold", "bc")
    if inplace:
        return written(input, neural.threshold, (threshold, value), "threshold_")
    return apply(neural.threshold, input, threshold, value)


@of_tensors(1)
@refuses(input="b")
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return input / (1 + abs(input))


@of_tensors(1)
@refuses(input="b")
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    return input - tanh(input)


@of_tensors(1, takes_out=True)
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x where |x| > lambd, else 0."""
    check_floats(input, "hardshrink")
    return apply(neural.hardshrink, input, lambd)


@of_tensors(1, takes_out=True)
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by `lambd`, 0 where |x| <= lambd."""
    check_floats(input, "softshrink")
    if not lambd >= 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return apply(neural.softshrink, input, lambd)


@of_tensors(1)
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """A leaky relu whose slope is random in training, and the middle of its range otherwise."""
    check_floats(input, "rrelu")
    if lower > upper:
        raise RuntimeError(
            f"rrelu: Lower bound should be less than or equal to the upper bound, got {lower} and "
            f"{upper}"
        )
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    uniform = random.uniform_array(input._array)
    slope = wrap((uniform * (upper - lower) + lower).astype(input._array.dtype))
    formula = lambda x: where(x._array > 0, x, x * slope)
    return written_by(input, formula, "rrelu_") if inplace else formula(input)


# ---- softmax and its kin -------------------------------------------------------------------


def _unseen_stacklevel(function: Callable[..., Any]) -> Callable[..., Any]:
    """An argument that PyTorch's own callers pass, and that means nothing: signatures are
    without it.
    """
    signature = inspect.signature(function, eval_str=True)
    shown = [p for p in signature.parameters.values() if p.name != "_stacklevel"]
    vars(function)["__signature__"] = signature.replace(parameters=shown)
    return function


@_unseen_stacklevel
@of_tensors(1)
def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`.

    >>> import wengert as wg
    >>> softmax(wg.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return _along(reductions.softmax, input, dim, dtype, "softmax")


@_unseen_stacklevel
@of_tensors(1)
def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """x - log(sum(exp(x))) along `dim`."""
    return _along(reductions.log_softmax, input, dim, dtype, "log_softmax")


@_unseen_stacklevel
@of_tensors(1)
def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """softmax(-x)."""
    return _along(reductions.softmax, -input, dim, dtype, "softmin")


def _along(function: Any, input: Tensor, dim: int | None, dtype: Any, name: str) -> Tensor:
    if dtype is not None:
        input = input.to(dtype)
    else:
        check_floats(input, name)
    n = input._array.ndim
    if dim is None:
        # What PyTorch chose before it asked for the argument.
        dim = 0 if n in (0, 1, 3) else 1
        warn(
            f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
            "dim=X as an argument."
        )
    if not -max(n, 1) <= dim < max(n, 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(n, 1)}, {max(n, 1) - 1}], "
            f"but got {dim})"
        )
    if n == 0:
        return _along(function, input[None], 0, None, name)[0]
    if input._array.size == 0:
        return input.clone()
    return apply(function, input, dim)


@of_tensors(1)
@refuses(logits="biuc")
def gumbel_softmax(
    logits: Tensor, tau: float | Tensor = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample of the Gumbel-softmax distribution (Jang et al., 2017); one-hot if `hard`."""
    tiny = dtypes.limits(logits._array.dtype).tiny
    uniform = np.maximum(random.uniform_array(logits._array), tiny)
    gumbels = -np.log(np.maximum(-np.log(uniform), tiny))
    soft = softmax((logits + wrap(gumbels.astype(logits._array.dtype))) / tau, dim)
    if not hard:
        return soft
    best = np.argmax(soft._array, axis=dim, keepdims=True)
    one_hot = np.zeros_like(soft._array)
    np.put_along_axis(one_hot, best, 1, dim)
    # One-hot forward, soft backward.
    return wrap(one_hot) - soft.detach() + soft


@of_tensors(1)
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu`, written into the input."""
    return leaky_relu(input, negative_slope, inplace=True)


@of_tensors(1)
def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu`, written into the input."""
    return elu(input, alpha, inplace=True)


@of_tensors(1)
def selu_(input: Tensor) -> Tensor:
    """`selu`, written into the input."""
    return selu(input, inplace=True)


@of_tensors(1)
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu`, written into the input."""
    return celu(input, alpha, inplace=True)


@of_tensors(1)
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh`, written into the input."""
    return hardtanh(input, min_val, max_val, inplace=True)


@of_tensors(1)
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold`, written into the input."""
    return _threshold(input, threshold, value, inplace=True)


@of_tensors(1)
def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """`rrelu`, written into the input."""
    return rrelu(input, lower, upper, training, inplace=True)


_threshold = threshold  # the name is an argument of functions here
