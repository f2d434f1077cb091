"""Post-training quantization: Linear and Conv layers on 8-bit integers.

Weights become int8, one scale for each output; a layer's input becomes uint8, by the range that it
had on calibration data (Jacob et al., 2018). With x = s (q - z) and w = s_w v, a layer's result is
s s_w (sum q v - z sum v) + b. The sums of products of integers are exact: they are carried out in
float64, by BLAS, where no such sum rounds. What is lost is lost in rounding weights and inputs, and
`compare` measures it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.history import modes
from wengert.nn import functional as F
from wengert.nn.layers.convolution import Conv1d, Conv2d, Conv3d
from wengert.nn.layers.linear import Linear
from wengert.nn.module import Module
from wengert.tensor import Tensor, wrap

LAYERS = (Linear, Conv1d, Conv2d, Conv3d)


class Range:
    """The least and the greatest number that passed."""

    def __init__(self) -> None:
        self.low = math.inf
        self.high = -math.inf

    def see(self, x: Any) -> None:
        self.low = min(self.low, float(x.min()))
        self.high = max(self.high, float(x.max()))

    def scale_and_zero(self) -> tuple[float, int]:
        """The step between neighbouring integers, and the integer that stands for 0.

        0 is always represented exactly, since padding and relu are full of it.
        """
        low, high = min(self.low, 0.0), max(self.high, 0.0)
        scale = (high - low) / 255 or 1.0
        return scale, round(-low / scale)


class _Quantized(Module):
    """What quantized layers share: an int8 weight, its scales, and the input's."""

    weight: Tensor
    weight_scale: Tensor
    input_scale: Tensor
    input_zero: Tensor
    bias: Tensor | None

    def __init__(self, layer: Any, seen: Range) -> None:
        super().__init__()
        weight = layer.weight.detach()._array
        largest = np.abs(weight.reshape(len(weight), -1)).max(1)
        scale = np.where(largest > 0, largest / 127, 1).astype(weight.dtype)
        column = (-1, *(1,) * (weight.ndim - 1))
        integers = np.clip(np.rint(weight / scale.reshape(column)), -127, 127).astype(np.int8)
        step, zero = seen.scale_and_zero()
        self.register_buffer("weight", wrap(integers))
        self.register_buffer("weight_scale", wrap(scale))
        self.register_buffer("input_scale", wrap(np.asarray(step, weight.dtype)))
        self.register_buffer("input_zero", wrap(np.asarray(zero, np.uint8)))
        bias = layer.bias
        self.register_buffer("bias", None if bias is None else bias.detach().clone())

    def integers(self, x: Tensor) -> Tensor:
        """The input as whole numbers less the one that stands for 0, in float64."""
        zero = int(self.input_zero.item())
        q = np.clip(np.rint(x.detach()._array / self.input_scale._array) + zero, 0, 255)
        return wrap((q - zero).astype(np.float64))

    def numbers(self, sums: Tensor, axis: int, dtype: Any) -> Tensor:
        """What exact sums of products mean, with the bias."""
        shape = [1] * sums.ndim
        shape[axis] = -1
        scale = (self.weight_scale._array * self.input_scale._array).reshape(shape)
        out = (sums._array * scale).astype(dtype)
        if self.bias is not None:
            out += self.bias._array.reshape(shape)
        return wrap(out)


class QuantizedLinear(_Quantized):
    """A Linear layer on 8-bit integers; made by `quantize`. It has no derivative."""

    def __init__(self, layer: Linear, seen: Range) -> None:
        super().__init__(layer, seen)
        self.in_features, self.out_features = layer.in_features, layer.out_features

    def forward(self, input: Tensor) -> Tensor:
        sums = F.linear(self.integers(input), self.weight.double())
        return self.numbers(sums, sums.ndim - 1, input.dtype)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype=int8"


class QuantizedConv(_Quantized):
    """A convolution on 8-bit integers; made by `quantize`. It has no derivative."""

    def __init__(self, layer: Any, seen: Range) -> None:
        super().__init__(layer, seen)
        self._n = layer._n
        self.kind = type(layer).__name__
        self.settings = layer.extra_repr()
        self.stride, self.padding = layer.stride, layer.padding
        self.dilation, self.groups = layer.dilation, layer.groups
        if layer.padding_mode != "zeros":
            raise NotImplementedError(
                f"quantize: {self.kind} with padding_mode={layer.padding_mode!r} is not available; "
                "pad in a layer of its own"
            )

    def forward(self, input: Tensor) -> Tensor:
        function = (F.conv1d, F.conv2d, F.conv3d)[self._n - 1]
        sums = function(
            self.integers(input), self.weight.double(), None, self.stride, self.padding,
            self.dilation, self.groups,
        )  # fmt: skip
        return self.numbers(sums, sums.ndim - self._n - 1, input.dtype)

    def _get_name(self) -> str:
        return f"Quantized{self.kind}"

    def extra_repr(self) -> str:
        return f"{self.settings}, dtype=int8"


def _layers(model: Module) -> dict[str, Module]:
    """The layers that can be quantized, exactly of these kinds, by their paths."""
    return {name: m for name, m in model.named_modules() if type(m) in LAYERS}


def quantize(model: Module, calibration: Iterable[Any]) -> Module:
    """A copy of a trained model whose Linear and Conv layers compute on 8-bit integers.

    `calibration` is a number of inputs, tensors or tuples of arguments, that are typical: they show
    each layer's range. The copy is in evaluation mode, and has no derivative. All other layers
    stay as they are.

    >>> import wengert as wg
    >>> net = wg.nn.Sequential(wg.nn.Linear(2, 3), wg.nn.ReLU())
    >>> quantize(net, [wg.randn(10, 2)])
    Sequential(
      (0): QuantizedLinear(in_features=2, out_features=3, dtype=int8)
      (1): ReLU()
    )
    """
    quantized = copy.deepcopy(model).eval()
    layers = _layers(quantized)
    ranges = {name: Range() for name in layers}
    if not layers:
        raise ValueError(
            f"quantize: {type(model).__name__} has no Linear or Conv layers to quantize"
        )
    watch = lambda seen: lambda module, args: seen.see(args[0].detach()._array)
    handles = [layers[n].register_forward_pre_hook(watch(r)) for n, r in ranges.items()]
    with modes.no_grad():
        for given in calibration:
            quantized(*_arguments(given))
    for handle in handles:
        handle.remove()
    unseen = [name for name, r in ranges.items() if r.low > r.high]
    if unseen:
        raise ValueError(
            f"quantize: no calibration input reached {', '.join(unseen)}; pass inputs that do"
        )
    for name, layer in layers.items():
        kind: Any = QuantizedLinear if type(layer) is Linear else QuantizedConv
        replaced = kind(layer, ranges[name]).eval()
        if not name:
            return replaced
        quantized.set_submodule(name, replaced)
    return quantized


def _arguments(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


# ---- what it costs -------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """What quantization did to a model; prints as a table.

    `layers` has, for each quantized layer, the signal-to-noise ratio of its output in decibels,
    with all errors of the layers before it; `metric` what the user's measure says of both models.
    """

    layers: dict[str, float]
    output: float
    bytes: tuple[int, int]
    metric: tuple[float, float]  # None if none was asked for, which types pass over

    def __str__(self) -> str:
        width = max(len("output"), *map(len, self.layers))
        lines = [f"{name:{width}}  {db:6.1f} dB" for name, db in self.layers.items()]
        lines.append(f"{'output':{width}}  {self.output:6.1f} dB")
        before, after = self.bytes
        lines.append(f"{'bytes':{width}}  {before:,} -> {after:,} ({after / before:.0%})")
        if self.metric is not None:
            lines.append(f"{'metric':{width}}  {self.metric[0]:.4g} -> {self.metric[1]:.4g}")
        return "\n".join(lines)


def compare(
    model: Module,
    quantized: Module,
    inputs: Iterable[Any],
    metric: Callable[[Module], float] | None = None,
) -> Report:
    """How far a quantized model is from the one it was made of, on these inputs.

    `metric(model)` may measure anything else, the accuracy on a test set, say.
    """
    names = list(_layers(model)) or [""]
    signal, noise = dict.fromkeys([*names, "output"], 0.0), dict.fromkeys([*names, "output"], 0.0)

    def outputs(net: Module, given: Any) -> dict[str, Any]:
        outputs: dict[str, Any] = {}
        keep = lambda name: lambda module, args, out: outputs.__setitem__(name, out._array)
        handles = [net.get_submodule(n).register_forward_hook(keep(n)) for n in names]
        outputs["output"] = net(*_arguments(given))._array
        for handle in handles:
            handle.remove()
        return outputs

    training = model.training
    model.eval()
    try:
        with modes.no_grad():
            for given in inputs:
                exact, rounded = outputs(model, given), outputs(quantized, given)
                for name, x in exact.items():
                    signal[name] += float((x.astype(np.float64) ** 2).sum())
                    noise[name] += float(((x.astype(np.float64) - rounded[name]) ** 2).sum())
            measured = None if metric is None else (float(metric(model)), float(metric(quantized)))
    finally:
        model.train(training)
    ratios = {n: _decibels(signal[n], noise[n]) for n in signal}
    overall = ratios.pop("output")
    return Report(ratios, overall, (_bytes(model), _bytes(quantized)), measured)  # type: ignore[arg-type]


def _decibels(signal: float, noise: float) -> float:
    if not noise:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf


def _bytes(model: Module) -> int:
    return sum(t._array.nbytes for t in (*model.parameters(), *model.buffers()))
