"""A normalization in evaluation mode is a linear map: it goes into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from wengert.history import modes
from wengert.imports import lacking as _lacking
from wengert.nn.functional.shared import reshape
from wengert.nn.parameter import Parameter
from wengert.tensor import Tensor


def _scale(running_var: Tensor, eps: float, weight: Tensor | None) -> Tensor:
    scale = (running_var + eps) ** -0.5
    return scale if weight is None else scale * weight


def _shifted(bias: Any, mean: Tensor, scale: Tensor, shift: Any) -> Tensor:
    """scale (bias - mean) + shift."""
    bias = -mean if bias is None else bias - mean
    return bias * scale if shift is None else bias * scale + shift


def _parameters(
    weight: Tensor, bias: Tensor, w: Tensor, b: Tensor | None
) -> tuple[Parameter, Parameter]:
    required = w.requires_grad if b is None else b.requires_grad
    return (Parameter(weight.to(w.dtype), w.requires_grad), Parameter(bias.to(w.dtype), required))


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution followed by a batch normalization with these statistics."""
    with modes.no_grad():
        scale = _scale(bn_rv, bn_eps, bn_w)
        around = (1,) * (conv_w.ndim - 2)
        shape = (1, -1, *around) if transpose else (-1, 1, *around)
        bias = _shifted(conv_b, bn_rm, scale, bn_b)
        return _parameters(conv_w * reshape(scale, shape), bias, conv_w, conv_b)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer followed by a batch normalization."""
    with modes.no_grad():
        scale = _scale(bn_rv, bn_eps, bn_w)
        bias = _shifted(linear_b, bn_rm, scale, bn_b)
        return _parameters(linear_w * reshape(scale, (-1, 1)), bias, linear_w, linear_b)


def _ready(layer: Any, bn: Any) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval! Call .eval() on both modules first.")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Fusion needs running statistics: track_running_stats=True")
    return copy.deepcopy(layer)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """One convolution that computes what `bn(conv(x))` does, both in evaluation mode.

    >>> import wengert as wg
    >>> conv, bn = wg.nn.Conv2d(1, 2, 3).eval(), wg.nn.BatchNorm2d(2).eval()
    >>> x = wg.randn(1, 1, 5, 5)
    >>> wg.allclose(fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    fused = _ready(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
        transpose or getattr(conv, "transposed", False),
    )  # fmt: skip
    return fused


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """One linear layer that computes what `bn(linear(x))` does, both in evaluation mode."""
    fused = _ready(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"{linear.out_features} and {bn.num_features}"
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(
        linear.weight, linear.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


_lacking(__name__)
