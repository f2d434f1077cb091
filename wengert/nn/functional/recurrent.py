"""Recurrent layers: one layer in one direction, over the times of a batch of sequences.

`layer` has two ways to the same numbers. The whole pass over time is one custom function with loops
over plain arrays (`scans.py`), which compiled functions call. On other kinds of arrays, in forward
mode and for derivatives of derivatives, it is the formulas of the cell, composed of recorded
functions, time after time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.autograd.differentiate import grad
from wengert.autograd.function import Function
from wengert.autograd.record import recorder
from wengert.functions.shapes import alias
from wengert.history import modes
from wengert.nn.functional import scans
from wengert.nn.functional.windows import linear
from wengert.rules import neural
from wengert.rules.indexing import slices
from wengert.tensor import Tensor, wrap

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
States = tuple[Tensor, ...]

_sigmoid = recorder(neural.sigmoid)
_tanh = recorder(np.tanh)
_relu = recorder(neural.relu)
_slices = recorder(slices)
_join = recorder(np.concatenate)


# ---- cells ---------------------------------------------------------------------------------


def lstm_cell(
    x: Tensor, state: States, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None,
    w_hr: Any = None,
) -> States:  # fmt: skip
    """c' = f c + i g, h' = o tanh(c'), with gates i, f, g, o of W x + U h (Gers et al., 2000).

    `w_hr` projects h' to fewer features (Sak et al., 2014).
    """
    h, c = state
    return _lstm_step(linear(x, w_ih, b_ih) + linear(h, w_hh, b_hh), c, w_hr)


def _lstm_step(a: Tensor, c: Tensor, w_hr: Any) -> States:
    i, f, g, o = _parts(a, 4)
    c = _sigmoid(f) * c + _sigmoid(i) * _tanh(g)
    h = _sigmoid(o) * _tanh(c)
    return (h if w_hr is None else linear(h, w_hr)), c


def gru_cell(
    x: Tensor, state: States, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> States:
    """h' = (1 - z) n + z h, n = tanh(W_n x + r (U_n h)) (Cho et al., 2014)."""
    return _gru_step(linear(x, w_ih, b_ih), state[0], w_hh, b_hh)


def _gru_step(a: Tensor, h: Tensor, w_hh: Any, b_hh: Any) -> States:
    (ar, az, an), (br, bz, bn) = _parts(a, 3), _parts(linear(h, w_hh, b_hh), 3)
    z = _sigmoid(az + bz)
    n = _tanh(an + _sigmoid(ar + br) * bn)
    return (n + z * (h - n),)


def rnn_cell(
    x: Tensor, state: States, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None,
    relu: bool = False,
) -> States:  # fmt: skip
    """h' = tanh(W x + U h), or relu (Elman, 1990)."""
    a = linear(x, w_ih, b_ih) + linear(state[0], w_hh, b_hh)
    return (_relu(a) if relu else _tanh(a),)


def _parts(a: Tensor, n: int) -> list[Tensor]:
    size = a.shape[-1] // n
    return [_slices(a, (Ellipsis, slice(k * size, (k + 1) * size))) for k in range(n)]


# ---- layers --------------------------------------------------------------------------------


def layer(
    mode: str, x: Tensor, state: States, weights: tuple[Any, ...], sizes: list[int], backwards: bool
) -> tuple[Tensor, States]:
    """All outputs and the last states of a layer.

    `x` has one row for each sequence that is alive at each time, the times one below the other:
    sizes[0] rows, then sizes[1] and so on, the longest sequences first. `weights` are w_ih, w_hh,
    b_ih, b_hh, w_hr, the last three None if there are none.
    """
    given = (x, *state, *(w for w in weights if w is not None))
    forward_mode = modes.pushing and modes.current().duals
    if weights[4] is not None or forward_mode or not _looped(given):
        return _composed(mode, x, state, weights, sizes, backwards)
    out, *last = _Scan.apply(mode, sizes, backwards, x, *state, *weights[:4])
    return out, tuple(last)


def _looped(tensors: tuple[Tensor, ...]) -> bool:
    """Whether the loops compute it: numbers of one real dtype, in arrays that loops can take."""
    dtype = tensors[0]._array.dtype
    return dtype in (np.float32, np.float64) and all(
        _takes_loops(type(t._array)) and t._array.dtype is dtype for t in tensors
    )


def _takes_loops(kind: type) -> bool:
    return kind is np.ndarray or getattr(kind, "takes_loops", False)


def _composed(
    mode: str, x: Tensor, state: States, weights: tuple[Any, ...], sizes: list[int], backwards: bool
) -> tuple[Tensor, States]:
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    a = linear(x, w_ih, b_ih)
    runs = scans.runs_of(sizes, backwards)
    outs = []
    for start, stop in runs:
        n = stop - start
        now, rows = tuple(_slices(s, slice(0, n)) for s in state), _slices(a, slice(start, stop))
        if mode == "GRU":
            new: States = _gru_step(rows, now[0], w_hh, b_hh)
        else:
            rows = rows + linear(now[0], w_hh, b_hh)
            if mode == "LSTM":
                new = _lstm_step(rows, now[1], w_hr)
            else:
                new = (_relu(rows) if mode == "RNN_RELU" else _tanh(rows),)
        outs.append(new[0])
        if n < len(state[0]):  # the states of sequences that have ended, or not begun, stay
            new = tuple(
                _join([moved, _slices(s, slice(n, None))], 0)
                for moved, s in zip(new, state, strict=True)
            )
        state = new
    return _join(outs[::-1] if backwards else outs, 0), state


class _Scan(Function):
    """A layer by the loops. What the pass back needs is saved beside the arguments."""

    @staticmethod
    def forward(ctx: Any, mode: str, sizes: Any, backwards: bool, x: Any, *rest: Any) -> Any:
        ctx.mode, ctx.sizes, ctx.backwards = mode, sizes, backwards
        ctx.runs = runs = scans.runs_of(sizes, backwards)
        ctx.several = several = 2 if mode == "LSTM" else 1
        arrays = [None if t is None else t._array for t in rest]
        states, weights = arrays[:several], arrays[several:]
        forward, _, settings = _loops(mode)
        outputs = [wrap(y) for y in forward(x._array, *weights, states, runs, *settings)]
        # The states before each time and so on: not the results, which may be overwritten.
        ctx.save_for_backward(x, *rest, *outputs[1 + several :])
        ctx.set_materialize_grads(False)
        return tuple(outputs[: 1 + several])

    @staticmethod
    def backward(ctx: Any, g: Any, *ends: Any) -> Any:
        n = 5 + ctx.several
        saved = ctx.saved_tensors
        given, memory = saved[:n], saved[n:]
        if modes.is_grad_enabled():
            return None, None, None, *_recorded(ctx, given, (g, *ends))
        x, states, w_ih, w_hh = given[0], given[1 : n - 4], given[n - 4], given[n - 3]
        like = lambda g, t: np.zeros_like(t._array) if g is None else g._array
        _, back, settings = _loops(ctx.mode)
        needs_x = ctx.needs_input_grad[3]
        gradients = back(
            like(g, memory[0]),
            [like(e, s) for e, s in zip(ends, states, strict=True)],
            x._array,
            w_ih._array,
            w_hh._array,
            [m._array for m in memory],
            ctx.runs,
            needs_x,
            *settings,
        )
        *others, dx = gradients if needs_x else (*gradients, None)
        return (
            None,
            None,
            None,
            None if dx is None else wrap(dx),
            *(None if t is None else wrap(d) for t, d in zip(given[1:], others, strict=True)),
        )


def _loops(mode: str) -> tuple[Any, Any, tuple[bool, ...]]:
    if mode == "LSTM":
        return scans.lstm, scans.lstm_back, ()
    if mode == "GRU":
        return scans.gru, scans.gru_back, ()
    return scans.simple, scans.simple_back, (mode == "RNN_RELU",)


def _recorded(ctx: Any, given: tuple[Any, ...], gs: tuple[Any, ...]) -> list[Any]:
    """The cotangents as functions that can be differentiated again: of the composed formulas.

    Each argument gets another name first, so that paths between the arguments do not count.
    """
    named: list[Any] = [None if t is None else alias(t) for t in given]
    x, *rest = named
    state, weights = tuple(rest[: ctx.several]), (*rest[ctx.several :], None)
    out, last = _composed(ctx.mode, x, state, weights, ctx.sizes, ctx.backwards)
    pairs = [(y, g) for y, g in zip((out, *last), gs, strict=True) if g is not None]
    wanted = [t for t in named if t is not None and t.requires_grad]
    tensors = iter(
        grad(
            [y for y, _ in pairs], wanted, [g for _, g in pairs], create_graph=True,
            allow_unused=True,
        )
    )  # fmt: skip
    return [next(tensors) if t is not None and t.requires_grad else None for t in named]
