"""Recurrent layers on plain arrays: one pass over time, and one back.

The rows of all times lie one below the other; `runs` says which rows belong to each time, in the
order in which the times are visited. A batch of sequences of different lengths has fewer rows at
later times (those of the longest sequences come first), and a state's first n rows are what is
still, or already, alive.

What happens at one time is a formula, and so is the way back through it. `over_times` repeats it,
as machine code where there is enough to do. The cotangents of the weights are products over all
times at once.

With a = W x + b + U h + c, what comes from the input and from the state before, and a_bar its
cotangent: U_bar = a_bar^T h and h_bar = a_bar U (backpropagation through time; Werbos, 1990).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.dispatch import primitive
from wengert.rules.blocks import MACHINE
from wengert.rules.neural import sigmoid

Runs = list[tuple[int, int]]
Step = Callable[..., tuple[Any, ...]]

ENOUGH = 1 << 11
"""From so many numbers on that a state has in all times, machine code is worth making."""


def opaque(function: Any) -> Any:
    """Compiled functions call these as a whole: they hold loops."""
    return primitive(function, opaque=True)


def runs_of(sizes: Any, backwards: bool) -> Runs:
    """The rows of each time, `sizes[t]` of them, in the order of the visits."""
    stops = np.cumsum(sizes).tolist()
    runs = list(zip([0, *stops[:-1]], stops, strict=True))
    return runs[::-1] if backwards else runs


# ---- over time -----------------------------------------------------------------------------


def over_times(
    step: Step,
    runs: Runs,
    rows: Sequence[Any],
    states: Sequence[Any],
    shared: Sequence[Any],
    outs: Sequence[Any] = (),
) -> list[tuple[Any, Any, Any]]:
    """Repeat `step(*rows, *states, *shared) -> (*outs, *states)`, with each time's part of `rows`.

    Writes `outs`; returns of each state its values before every time, after it, and at the end.
    """
    if len(rows[0]) * states[0].shape[1] < ENOUGH:
        way = _one_by_one
    else:
        way = _by_machine if len(runs) * len(states[0]) == len(rows[0]) else _padded
    return way(step, runs, rows, states, shared, outs)


def _by_machine(
    step: Step, runs: Runs, rows: Any, states: Any, shared: Any, outs: Any
) -> list[tuple[Any, Any, Any]]:
    """What one time leaves of a state is what the next one finds, in the same memory."""
    (start, stop), (end, _) = runs[0], runs[-1]
    n = stop - start
    before, after = slice(None, -n), slice(n, None)
    if end < start:
        before, after = after, before
    kept = [np.empty((len(rows[0]) + n, s.shape[1]), s.dtype) for s in states]
    for whole, first in zip(kept, states, strict=True):
        whole[before][start:stop] = first
    given = [*map(np.ascontiguousarray, rows), *(whole[before] for whole in kept)]
    written = [*outs, *(whole[after] for whole in kept)]
    shared = [np.ascontiguousarray(x) for x in shared]
    MACHINE.in_turn(written, step, n, given, shared, [first for first, _ in runs])
    return [(k[before], k[after], k[after][end : end + n].copy()) for k in kept]


def _padded(
    step: Step, runs: Runs, rows: Any, states: Any, shared: Any, outs: Any
) -> list[tuple[Any, Any, Any]]:
    """As if all sequences were as long as the longest: the state of one that has ended stays."""
    n, times = len(states[0]), range(len(runs))
    forth = runs[0] < runs[-1]
    even = [(t * n, t * n + n) for t in (times if forth else reversed(times))]
    alive = np.zeros((n * len(runs), 1), bool)
    for (start, stop), (first, _) in zip(runs, even, strict=True):
        alive[first : first + stop - start] = True
    (places,) = alive[:, 0].nonzero()

    def spread(x: Any) -> Any:
        wide = np.zeros((len(alive), x.shape[1]), x.dtype)
        wide[places] = x
        return wide

    wide_outs = [np.empty((len(alive), x.shape[1]), x.dtype) for x in outs]
    masked = _masked(step, len(rows), len(states))
    results = _by_machine(masked, even, [alive, *map(spread, rows)], states, shared, wide_outs)
    for out, wide in zip(outs, wide_outs, strict=True):
        out[...] = wide[places]
    return [(before[places], after[places], end) for before, after, end in results]


@functools.cache
def _masked(step: Step, rows: int, states: int) -> Step:
    """The step where a mask, its first argument, holds; elsewhere the state stays."""

    def masked(alive: Any, *call: Any) -> tuple[Any, ...]:
        results, old = step(*call), call[rows : rows + states]
        kept = (np.where(alive, y, x) for x, y in zip(old, results[-states:], strict=True))
        return *results[:-states], *kept

    return masked


def _one_by_one(
    step: Step, runs: Runs, rows: Any, states: Any, shared: Any, outs: Any
) -> list[tuple[Any, Any, Any]]:
    befores = [np.empty((len(rows[0]), s.shape[1]), s.dtype) for s in states]
    afters, ends = [np.empty_like(b) for b in befores], [s.copy() for s in states]
    for start, stop in runs:
        now = [s[: stop - start] for s in ends]
        for before, s in zip(befores, now, strict=True):
            before[start:stop] = s
        results = step(*(x[start:stop] for x in rows), *now, *shared)
        for target, result in zip((*outs, *afters), results, strict=True):
            target[start:stop] = result
        for s, after in zip(now, afters, strict=True):
            s[...] = after[start:stop]
    return list(zip(befores, afters, ends, strict=True))


def _weights(w_ih: Any, w: Any, b_ih: Any, b: Any) -> list[Any]:
    """W and U, transposed, and b and c, zeros where there are none."""
    zeros = np.zeros(len(w), w.dtype)
    return [w_ih.T, w.T, *(zeros if bias is None else bias for bias in (b_ih, b))]


def _affine(x: Any, wt: Any, bias: Any) -> Any:
    # A product with single numbers is faster than what BLAS makes of it.
    return (x * wt if x.shape[1] == 1 else np.matmul(x, wt)) + bias


def _empty(x: Any, width: int) -> Any:
    return np.empty((len(x), width), x.dtype)


def _parts(a: Any, n: int) -> list[Any]:
    size = a.shape[1] // n
    return [a[:, k * size : (k + 1) * size] for k in range(n)]


def _cotangents(
    a_bar: Any, u_bar: Any, before: Any, x: Any, w_ih: Any, needs_x: bool
) -> tuple[Any, ...]:
    """Those of W, U, b and c, and of x if it needs one, from those of W x + b and of U h + c."""
    ones = np.ones(len(a_bar), a_bar.dtype)
    sums = a_bar.T.dot(x), u_bar.T.dot(before), ones.dot(a_bar), ones.dot(u_bar)
    return (*sums, a_bar.dot(w_ih)) if needs_x else sums


# ---- tanh and relu -------------------------------------------------------------------------


def _tanh_step(x: Any, h: Any, w_ih: Any, w: Any, b_ih: Any, b: Any) -> Any:
    return (np.tanh(_affine(x, w_ih, b_ih) + _affine(h, w, b)),)


def _relu_step(x: Any, h: Any, w_ih: Any, w: Any, b_ih: Any, b: Any) -> Any:
    return (np.maximum(_affine(x, w_ih, b_ih) + _affine(h, w, b), 0),)


def _tanh_back(g: Any, y: Any, dh: Any, w: Any) -> Any:
    da = (dh + g) * (1 - y * y)
    return da, np.matmul(da, w)


def _relu_back(g: Any, y: Any, dh: Any, w: Any) -> Any:
    da = np.where(y > 0, dh + g, 0)
    return da, np.matmul(da, w)


@opaque
def simple(
    x: Any, w_ih: Any, w: Any, b_ih: Any, b: Any, states: Any, runs: Runs, relu: bool = False
) -> Any:
    """h = tanh(W x + b + U h + c), or relu: all h, the last ones, and what the way back needs."""
    step, weights = _relu_step if relu else _tanh_step, _weights(w_ih, w, b_ih, b)
    ((before, after, last),) = over_times(step, runs, [x], states, weights)
    return after.copy(), last, before, after


@opaque
def simple_back(
    g: Any, ends: Any, x: Any, w_ih: Any, w: Any, memory: Any, runs: Runs, needs_x: bool,
    relu: bool = False,
) -> Any:  # fmt: skip
    """Cotangents of the first states, of W, U, b and c, and of x if it needs one."""
    before, after = memory
    da, step = np.empty_like(after), _relu_back if relu else _tanh_back
    ((_, _, dh),) = over_times(step, runs[::-1], [g, after], ends, [w], [da])
    return dh, *_cotangents(da, da, before, x, w_ih, needs_x)


# ---- LSTM ----------------------------------------------------------------------------------


def _lstm_step(x: Any, h: Any, c: Any, w_ih: Any, w: Any, b_ih: Any, b: Any) -> Any:
    """The gates and tanh(c), which the way back needs, h and c."""
    i, f, g, o = _parts(_affine(x, w_ih, b_ih) + _affine(h, w, b), 4)
    i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
    c = f * c + i * g
    t = np.tanh(c)
    return np.concatenate([i, f, g, o], 1), t, o * t, c


def _lstm_back(grad: Any, gates: Any, t: Any, c: Any, dh: Any, dc: Any, w: Any) -> Any:
    i, f, g, o = _parts(gates, 4)
    dh = dh + grad
    dc = dc + dh * o * (1 - t * t)
    di, df = dc * g * i * (1 - i), dc * c * f * (1 - f)
    dg, do = dc * i * (1 - g * g), dh * t * o * (1 - o)
    da = np.concatenate([di, df, dg, do], 1)
    return da, np.matmul(da, w), dc * f


@opaque
def lstm(x: Any, w_ih: Any, w: Any, b_ih: Any, b: Any, states: Any, runs: Runs) -> Any:
    """c = f c + i g, h = o tanh(c), for gates (i, f, g, o) of W x + b + U h + c."""
    outs = gates, t = _empty(x, len(w)), _empty(x, w.shape[1])
    hs, cs = over_times(_lstm_step, runs, [x], states, _weights(w_ih, w, b_ih, b), outs)
    (before, after, h), (cells, _, c) = hs, cs
    return after.copy(), h, c, before, cells, gates, t


@opaque
def lstm_back(
    g: Any, ends: Any, x: Any, w_ih: Any, w: Any, memory: Any, runs: Runs, needs_x: bool
) -> Any:
    """Cotangents of the first states, of W, U, b and c, and of x if it needs one."""
    before, cells, gates, t = memory
    da = np.empty_like(gates)
    rows = [g, gates, t, cells]
    (_, _, dh), (_, _, dc) = over_times(_lstm_back, runs[::-1], rows, ends, [w], [da])
    return dh, dc, *_cotangents(da, da, before, x, w_ih, needs_x)


# ---- GRU -----------------------------------------------------------------------------------
#
# n = tanh((W x + b)_n + r (U h + c)_n): the last third of U h + c is not simply added.


def _gru_step(x: Any, h: Any, w_ih: Any, w: Any, b_ih: Any, b: Any) -> Any:
    """The gates and (U h + c)_n, which the way back needs, and h."""
    (ar, az, an), (ur, uz, un) = (_parts(a, 3) for a in (_affine(x, w_ih, b_ih), _affine(h, w, b)))
    r, z = sigmoid(ar + ur), sigmoid(az + uz)
    n = np.tanh(an + r * un)
    return np.concatenate([r, z, n], 1), un, n + z * (h - n)


def _gru_back(g: Any, gates: Any, un: Any, h: Any, dh: Any, w: Any) -> Any:
    r, z, n = _parts(gates, 3)
    dh = dh + g
    dn = dh * (1 - z) * (1 - n * n)
    dr, dz = dn * un * r * (1 - r), dh * (h - n) * z * (1 - z)
    du = np.concatenate([dr, dz, dn * r], 1)
    return np.concatenate([dr, dz, dn], 1), du, dh * z + np.matmul(du, w)


@opaque
def gru(x: Any, w_ih: Any, w: Any, b_ih: Any, b: Any, states: Any, runs: Runs) -> Any:
    """h = n + z (h - n), n = tanh((W x + b)_n + r (U h + c)_n), for gates (r, z, n)."""
    outs, weights = (_empty(x, len(w)), _empty(x, w.shape[1])), _weights(w_ih, w, b_ih, b)
    ((before, after, h),) = over_times(_gru_step, runs, [x], states, weights, outs)
    return after.copy(), h, before, *outs


@opaque
def gru_back(
    g: Any, ends: Any, x: Any, w_ih: Any, w: Any, memory: Any, runs: Runs, needs_x: bool
) -> Any:
    """Cotangents of the first states, of W, U, b and c, and of x if it needs one."""
    before, gates, un = memory
    outs = da, du = np.empty_like(gates), np.empty_like(gates)
    ((_, _, dh),) = over_times(_gru_back, runs[::-1], [g, gates, un, before], ends, [w], outs)
    return dh, *_cotangents(da, du, before, x, w_ih, needs_x)
