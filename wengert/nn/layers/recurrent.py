"""Recurrent networks: RNN, LSTM and GRU in layers and directions, and their cells."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wengert.autograd.settings import refuse_unless_truth
from wengert.functions.joining import cat, stack
from wengert.history.location import warn
from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn.functional import recurrent
from wengert.nn.functional.shared import reshape
from wengert.nn.layers.applied import beginning_with, unusual
from wengert.nn.layers.linear import new_parameter, new_parameters
from wengert.nn.module import Module
from wengert.nn.parameter import Parameter
from wengert.nn.utils.rnn import PackedSequence
from wengert.tensor import Tensor, wrap

States = tuple[Tensor, ...]


class RNNBase(Module):
    """What RNN, LSTM and GRU share: layers, directions, and the names of their weights.

    Layer k has `weight_ih_lk` (gates * hidden, inputs), `weight_hh_lk` (gates * hidden, hidden),
    `bias_ih_lk` and `bias_hh_lk`; the second direction's names end in `_reverse`. All start uniform
    within 1/sqrt(hidden_size).
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_settings(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size
        )
        refuse_unless_truth("bidirectional", bidirectional)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        rows, features = recurrent.GATES[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            inputs = features * (1 + bool(bidirectional)) if layer else input_size
            shapes: dict[str, Any] = {"weight_ih": (rows, inputs), "weight_hh": (rows, features)}
            if bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            if proj_size:
                shapes |= {"weight_hr": (proj_size, hidden_size)}
            for suffix in self._suffixes(layer):
                for name, shape in shapes.items():
                    setattr(self, name + suffix, new_parameter(shape, device, dtype))
        self.reset_parameters()

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][: 1 + bool(self.bidirectional)]

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Does nothing: the weights' layout in memory makes no difference here."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer and direction."""
        suffixes = [s for layer in range(self.num_layers) for s in self._suffixes(layer)]
        return [[w for w in self._weights(s) if w is not None] for s in suffixes]

    def _weights(self, suffix: str) -> tuple[Any, ...]:
        find = lambda name: getattr(self, name + suffix, None)
        return (
            getattr(self, "weight_ih" + suffix),
            getattr(self, "weight_hh" + suffix),
            find("bias_ih") if self.bias else None,
            find("bias_hh") if self.bias else None,
            find("weight_hr") if self.proj_size else None,
        )

    # ---- the pass -------------------------------------------------------------------------

    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 2D or 3D, got {input.ndim}D instead"
            )
        lone = input.ndim == 2
        if lone:
            input = input.unsqueeze(0 if self.batch_first else 1)
            hx = None if hx is None else self._states_of(hx, lambda s: self._widened(s))
        if self.batch_first:
            input = input.transpose(0, 1)
        times, batch, features = input.shape
        self._check_features(features, input.dtype)
        if not times:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        states = self._first_states(hx, batch, input.dtype, None)
        x, last = self._layers(reshape(input, (times * batch, features)), states, [batch] * times)
        out = reshape(x, (times, batch, x.shape[1]))
        if self.batch_first:
            out = out.transpose(0, 1)
        if lone:
            out = out.squeeze(0 if self.batch_first else 1)
            last = tuple(s.squeeze(1) for s in last)
        return out, last if self.mode == "LSTM" else last[0]

    def _packed(self, input: PackedSequence, hx: Any) -> Any:
        data, alive, order, back = input
        if data.ndim != 2:
            raise RuntimeError(f"input must have 2 dimensions, got {data.ndim}")
        self._check_features(data.shape[1], data.dtype)
        sizes = alive._array.tolist()
        states = self._first_states(hx, sizes[0], data.dtype, order)
        x, last = self._layers(data, states, sizes)
        if back is not None:
            last = tuple(s.index_select(1, back) for s in last)
        return PackedSequence(x, alive, order, back), last if self.mode == "LSTM" else last[0]

    def _layers(self, x: Tensor, states: States, sizes: list[int]) -> tuple[Tensor, States]:
        """All layers and directions; states are (layers * directions, batch, features)."""
        last: list[States] = []
        for k in range(self.num_layers):
            outs = []
            for backwards, suffix in enumerate(self._suffixes(k)):
                first = tuple(s[len(last)] for s in states)
                out, end = recurrent.layer(
                    self.mode, x, first, self._weights(suffix), sizes, bool(backwards)
                )
                outs.append(out)
                last.append(end)
            x = outs[0] if len(outs) == 1 else cat(outs, 1)
            if self.dropout and self.training and k < self.num_layers - 1:
                x = F.dropout(x, self.dropout)
        if len(last) == 1:
            return x, tuple(end.unsqueeze(0) for end in last[0])
        return x, tuple(stack(ends) for ends in zip(*last, strict=True))

    # ---- first states ---------------------------------------------------------------------

    def _states_of(self, hx: Any, change: Any) -> Any:
        return tuple(change(s) for s in hx) if self.mode == "LSTM" else change(hx)

    def _widened(self, state: Tensor) -> Tensor:
        if state.ndim != 2:
            raise RuntimeError(
                f"For unbatched 2-D input, hx should also be 2-D but got {state.ndim}-D tensor"
            )
        return state.unsqueeze(1)

    def _first_states(self, hx: Any, batch: int, dtype: Any, order: Tensor | None) -> States:
        rows = self.num_layers * (1 + bool(self.bidirectional))
        shapes = [(rows, batch, self.proj_size or self.hidden_size)]
        if self.mode == "LSTM":
            shapes.append((rows, batch, self.hidden_size))
        if hx is None:
            return tuple(wrap(np.zeros(shape, dtype)) for shape in shapes)
        if self.mode == "LSTM" and not (isinstance(hx, (tuple, list)) and len(hx) == 2):
            raise RuntimeError(
                f"LSTM: expected the pair (h_0, c_0) as first states, got {type(hx).__name__}"
            )
        states = tuple(hx) if self.mode == "LSTM" else (hx,)
        for name, state, shape in zip(("hidden[0]", "hidden[1]"), states, shapes, strict=False):
            if state.ndim != 3:
                raise RuntimeError(
                    f"For batched 3-D input, hx should also be 3-D but got {state.ndim}-D tensor"
                )
            if tuple(state.shape) != shape:
                name = name if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {name} size {shape}, got {list(state.shape)}")
        if order is not None:
            states = tuple(s.index_select(1, order) for s in states)
        return states

    def _check_features(self, features: int, dtype: Any) -> None:
        if features != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{features}"
            )
        expected = self.weight_ih_l0.dtype
        if dtype != expected:
            raise ValueError(
                f"RNN input dtype ({dtype}) does not match weight dtype ({expected}). Convert "
                f"input: input.to({expected}), or convert model: model.to({dtype})"
            )

    def extra_repr(self) -> str:
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False}
        usual |= {"dropout": 0, "bidirectional": False}
        return f"{self.input_size}, {self.hidden_size}{unusual(self, **usual)}"


def _check_settings(
    mode: str,
    input_size: Any,
    hidden_size: Any,
    num_layers: Any,
    bias: Any,
    batch_first: Any,
    dropout: Any,
    proj_size: Any,
) -> None:
    if (
        not isinstance(dropout, numbers.Real)
        or isinstance(dropout, bool)
        or not 0 <= float(dropout) <= 1
    ):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an "
            f"element being zeroed, got {dropout!r}"
        )
    if float(dropout) > 0 and num_layers == 1:
        warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}"
        )
    for name, value, kind in (
        ("bias", bias, bool),
        ("batch_first", batch_first, bool),
        ("input_size", input_size, int),
        ("hidden_size", hidden_size, int),
    ):
        if not isinstance(value, kind):
            raise TypeError(
                f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
            )
    for name, value in (
        ("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers),
    ):  # fmt: skip
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if proj_size and mode != "LSTM":
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
    if mode not in recurrent.GATES:
        raise ValueError(f"Unrecognized RNN mode: {mode}; choose one of {list(recurrent.GATES)}")


class RNN(RNNBase):
    """h_t = tanh(W x_t + b + U h_{t-1} + c), or relu, in layers.

    Takes (T, N, inputs), or (N, T, inputs) with `batch_first`, or (T, inputs), or a PackedSequence;
    returns the outputs of the last layer and the last state of each.

    >>> import wengert as wg
    >>> out, h = RNN(3, 5, num_layers=2)(wg.zeros(4, 1, 3))
    >>> out.shape, h.shape
    (torch.Size([4, 1, 5]), torch.Size([2, 1, 5]))
    """

    if TYPE_CHECKING:

        def forward(
            self, input: Tensor | PackedSequence, hx: Any = None
        ) -> tuple[Tensor, Tensor]: ...

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first,
            dropout, bidirectional, 0, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997), in layers.

    c_t = f c_{t-1} + i g and h_t = o tanh(c_t), with i, f, o = sigmoid and g = tanh of
    W x_t + b + U h_{t-1} + c. Takes what RNN takes, with first states (h, c); with `proj_size`
    h has so many features, W_hr h. Returns the outputs and (h, c).

    >>> LSTM(3, 5, num_layers=2, bidirectional=True)
    LSTM(3, 5, num_layers=2, bidirectional=True)
    """

    if TYPE_CHECKING:

        def forward(
            self, input: Tensor | PackedSequence, hx: Any = None
        ) -> tuple[Tensor, tuple[Tensor, Tensor]]: ...

    @beginning_with("LSTM", RNNBase.__init__)
    def __init__(self) -> None: ...


class GRU(RNNBase):
    """Gated recurrent units (Cho et al., 2014), in layers.

    h_t = (1 - z) n + z h_{t-1}, with n = tanh(W_n x_t + b_n + r (U_n h_{t-1} + c_n)) and r, z the
    sigmoids of W x_t + b + U h_{t-1} + c. Takes and returns what RNN does.

    >>> GRU(3, 5, batch_first=True)
    GRU(3, 5, batch_first=True)
    """

    if TYPE_CHECKING:

        def forward(
            self, input: Tensor | PackedSequence, hx: Any = None
        ) -> tuple[Tensor, Tensor]: ...

    @beginning_with("GRU", RNNBase.__init__)
    def __init__(self) -> None: ...


# ---- cells ---------------------------------------------------------------------------------


class RNNCellBase(Module):
    """What the cells share: the weights, and inputs with or without a batch."""

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter  # None without, which types pass over
    bias_hh: Parameter

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        weights = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        biases = dict.fromkeys(("bias_ih", "bias_hh"), rows if bias else None)
        new_parameters(self, device, dtype, **weights, **biases)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights anew, uniform within 1/sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(self, input: Tensor, states: Any, several: int, cell: Any, *settings: Any) -> States:
        """One step of a batch, or of a lone sample."""
        self._check(input, states)
        lone = input.ndim == 1
        if lone:
            input = input.unsqueeze(0)
        if states is None:
            zeros = wrap(np.zeros((input.shape[0], self.hidden_size), input.dtype))
            states = (zeros,) * several
        elif lone:
            states = tuple(s.unsqueeze(0) for s in states)
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        after = cell(input, tuple(states), *weights, *settings)
        return tuple(s.squeeze(0) for s in after) if lone else after

    def _check(self, input: Tensor, states: Any) -> None:
        name = self._get_name()
        if input.ndim not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{name}: input has inconsistent input_size: got {input.shape[-1]}, expected "
                f"{self.input_size}"
            )
        for i, s in enumerate(states or ()):
            which = f"hx[{i}]" if len(states) > 1 else "hidden"
            if s.ndim not in (1, 2):
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {s.ndim}D instead")
            if s.shape[-1] != self.hidden_size or s.shape[:-1] != input.shape[:-1]:
                raise RuntimeError(
                    f"{name}: Expected {which} size "
                    f"{[*input.shape[:-1], self.hidden_size]}, got {list(s.shape)}"
                )

    def extra_repr(self) -> str:
        usual = {"bias": True} | {n: "tanh" for n in ("nonlinearity",) if n in vars(self)}
        return f"{self.input_size}, {self.hidden_size}{unusual(self, **usual)}"


class RNNCell(RNNCellBase):
    """h' = tanh(W x + b + U h + c), or relu.

    >>> import wengert as wg
    >>> RNNCell(3, 5)(wg.zeros(2, 3)).shape
    torch.Size([2, 5])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}; use 'tanh' or 'relu'")
        states = None if hx is None else (hx,)
        return self._step(input, states, 1, recurrent.rnn_cell, self.nonlinearity == "relu")[0]


class _GatedCell(RNNCellBase):
    _gates: ClassVar[int]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, self._gates, device, dtype)


class LSTMCell(_GatedCell):
    """One step of an LSTM: the input and (h, c) to (h', c')."""

    _gates = 4

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        h, c = self._step(input, hx, 2, recurrent.lstm_cell)
        return h, c


class GRUCell(_GatedCell):
    """One step of a GRU: the input and h to h'."""

    _gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        states = None if hx is None else (hx,)
        return self._step(input, states, 1, recurrent.gru_cell)[0]
