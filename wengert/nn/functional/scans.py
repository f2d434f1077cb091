"""Recurrent layers on plain arrays: one pass over time, and one back.

The rows of all times lie one below the other; `runs` says which rows belong to each time, in the
order in which the times are visited. A batch of sequences of different lengths has fewer rows at
later times (those of the longest sequences come first), and `h[:n]` is what is still, or already,
alive.

What can be done for all times at once is done outside of the loops: the products with the inputs
before, the slopes and the products for the weights after. Inside remain one small matrix product
and a few operations per time.

With a = W x + b + U h + c, what comes from the input and from the state before, and a_bar its
cotangent: U_bar = a_bar^T h and h_bar = a_bar U (backpropagation through time; Werbos, 1990).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dispatch import primitive

Runs = list[tuple[int, int]]


def opaque(function: Any) -> Any:
    """Compiled functions call these as a whole: they are loops over arrays that they write into."""
    return primitive(function, opaque=True)


def runs_of(sizes: Any, backwards: bool) -> Runs:
    """The rows of each time, `sizes[t]` of them, in the order of the visits."""
    stops = np.cumsum(sizes).tolist()
    runs = list(zip([0, *stops[:-1]], stops, strict=True))
    return runs[::-1] if backwards else runs


# ---- tanh and relu -------------------------------------------------------------------------


@opaque
def simple(
    x: Any, w_ih: Any, w: Any, b_ih: Any, b: Any, states: Any, runs: Runs, relu: bool = False
) -> Any:
    """h = tanh(W x + b + U h + c), or relu: all h, the last ones, and what the way back needs."""
    (h,) = states
    a = _from_inputs(x, w_ih, b_ih, b)
    before, wt, h = np.empty((len(a), h.shape[1]), a.dtype), np.ascontiguousarray(w.T), h.copy()
    product = np.empty_like(a[: len(h)])
    for start, stop in runs:
        n, out = stop - start, a[start:stop]
        before[start:stop] = h[:n]
        out += np.matmul(h[:n], wt, out=product[:n])
        np.maximum(out, 0, out=out) if relu else np.tanh(out, out=out)
        h[:n] = out
    return a, h, before


def _from_inputs(x: Any, w_ih: Any, *biases: Any) -> Any:
    """What the inputs of all times contribute to the sums."""
    a = x * w_ih.T if x.shape[1] == 1 else np.matmul(x, w_ih.T)
    bias = [b for b in biases if b is not None]
    if bias:
        a += sum(bias[1:], bias[0])
    return a


@opaque
def simple_back(
    g: Any, ends: Any, x: Any, w_ih: Any, w: Any, out: Any, memory: Any, runs: Runs,
    need_x: bool, relu: bool = False,
) -> Any:  # fmt: skip
    """Cotangents of the first states, of W, U, b and c, and of x if it needs one."""
    (before,) = memory
    slope = (out > 0).astype(out.dtype) if relu else 1 - out * out
    dh = ends[0].copy()
    for start, stop in reversed(runs):
        n, da = stop - start, slope[start:stop]
        dh[:n] += g[start:stop]
        da *= dh[:n]
        np.matmul(da, w, out=dh[:n])
    db = np.add.reduce(slope, 0)
    found = dh, slope.T @ x, slope.T @ before, db, db
    return (*found, slope @ w_ih) if need_x else found


# ---- LSTM ----------------------------------------------------------------------------------
#
# Each gate has an array of its own, (4, rows, size), so that what is done to a gate is done to
# numbers that lie side by side. They are kept in the order o, i, f, g, and the cells before each
# step beside them: i g and f c are then one product of two neighbours with the next two.
# sigmoid(x) = tanh(x/2)/2 + 1/2: with the sums of three gates halved, one tanh serves all four.
# All weights are one matrix, which goes with rows of the state before, the input and, if there are
# biases, 1: one product in each step, and one for all their cotangents.

_ORDER = [3, 0, 1, 2]
_BACK = [1, 2, 3, 0]


def _by_gate(w: Any) -> Any:
    """Rows for the gates i, f, g, o as (o, i, f, g) times rows of each."""
    return w.reshape(4, -1, *w.shape[1:])[_ORDER]


def _as_rows(parts: Any) -> Any:
    """What is kept by gate, (o, i, f, g), as rows for the gates i, f, g, o."""
    return parts[_BACK].reshape(-1, *parts.shape[2:])


@opaque
def lstm(x: Any, w_ih: Any, w: Any, b_ih: Any, b: Any, states: Any, runs: Runs) -> Any:
    """c = f c + i g, h = o tanh(c), for gates (i, f, g, o) of W x + b + U h + c."""
    h, c = states
    size, rows = h.shape[1], len(x)
    given = np.ones((rows, size + x.shape[1] + (b is not None)), x.dtype)
    given[:, size : size + x.shape[1]] = x
    columns = [w, w_ih] if b is None else [w, w_ih, (b_ih + b)[:, None]]
    weight = _by_gate(np.concatenate(columns, 1)).swapaxes(1, 2).copy()
    weight[:3] *= 0.5
    gates = np.empty((5, rows, size), x.dtype)
    tanhs, out = np.empty((2, rows, size), x.dtype)
    h, last = h.copy(), np.empty((5, *h.shape), x.dtype)  # what one step works on stays in cache
    last[4] = c
    terms = np.empty((2, *h.shape), x.dtype)
    half = np.asarray(0.5, x.dtype)
    for start, stop in runs:
        n = stop - start
        hn, now, row = h[:n], last[:, :n], given[start:stop]
        row[:, :size] = hn
        a = np.matmul(row, weight, out=now[:4])
        np.tanh(a, out=a)
        a = now[:3]
        np.multiply(a, half, out=a)
        np.add(a, half, out=a)
        gates[:, start:stop] = now
        new = np.multiply(now[1:3], now[3:], out=terms[:, :n])
        c = np.add(new[0], new[1], out=now[4])
        t = np.tanh(c, out=tanhs[start:stop])
        np.multiply(now[0], t, out=hn)
        out[start:stop] = hn
    return out, h, last[4].copy(), gates, given, tanhs


@opaque
def lstm_back(
    g: Any, ends: Any, x: Any, w_ih: Any, w: Any, out: Any, memory: Any, runs: Runs, need_x: bool
) -> Any:
    """Cotangents of the first states, of W, U, b and c, and of x if it needs one."""
    gates, given, tanhs = memory
    o, i, f, new, _ = gates
    # da = (dh, dc, dc, dc) * slopes, and dc += dh * inner.
    slopes = np.empty_like(gates[:4])
    np.multiply(gates[:3], gates[:3], out=slopes[:3])
    np.subtract(gates[:3], slopes[:3], out=slopes[:3])
    np.multiply(new, new, out=slopes[3])
    np.subtract(1, slopes[3], out=slopes[3])
    slopes[0] *= tanhs
    slopes[1:3] *= gates[3:]
    slopes[3] *= i
    inner = tanhs * tanhs
    np.subtract(1, inner, out=inner)
    inner *= o
    w = _by_gate(w)
    dh, dc = (e.copy() for e in ends)
    products = np.empty((4, *dh.shape), dh.dtype)
    for start, stop in reversed(runs):
        n = stop - start
        dhn, dcn, within = dh[:n], dc[:n], inner[start:stop]
        np.add(dhn, g[start:stop], out=dhn)
        np.multiply(within, dhn, out=within)
        np.add(dcn, within, out=dcn)
        da = slopes[:, start:stop]
        np.multiply(da[0], dhn, out=da[0])
        np.multiply(da[1:], dcn, out=da[1:])
        np.add.reduce(np.matmul(da, w, out=products[:, :n]), 0, out=dhn)
        np.multiply(dcn, f[start:stop], out=dcn)
    size, inputs = dh.shape[1], x.shape[1]
    dw = np.matmul(slopes.swapaxes(1, 2), given)
    db = _as_rows(dw[:, :, -1])
    found = dh, dc, _as_rows(dw[:, :, size : size + inputs]), _as_rows(dw[:, :, :size]), db, db
    return (*found, np.add.reduce(np.matmul(slopes, _by_gate(w_ih)), 0)) if need_x else found


# ---- GRU -----------------------------------------------------------------------------------


@opaque
def gru(x: Any, w_ih: Any, w: Any, b_ih: Any, b: Any, states: Any, runs: Runs) -> Any:
    """h = n + z (h - n), n = tanh((W x + b)_n + r (U h + c)_n), for gates (r, z, n)."""
    (h,) = states
    a = _from_inputs(x, w_ih, b_ih)
    size = h.shape[1]
    two = 2 * size
    a[:, :two] *= 0.5
    half = np.ones(3 * size, a.dtype)
    half[:two] = 0.5
    wt = np.ascontiguousarray((w * half[:, None]).T)
    b = np.zeros(3 * size, a.dtype) if b is None else b * half
    h = h.copy()
    before, inner, out = np.empty((3, len(a), size), a.dtype)
    product, fresh = np.empty_like(a[: len(h)]), np.empty_like(h)
    for start, stop in runs:
        n, gates = stop - start, a[start:stop]
        hn, new, p = h[:n], fresh[:n], product[:n]
        before[start:stop] = hn
        np.matmul(hn, wt, out=p)
        p += b
        rz = gates[:, :two]
        rz += p[:, :two]
        np.tanh(rz, out=rz)
        rz *= 0.5
        rz += 0.5
        inner[start:stop] = p[:, two:]
        np.multiply(p[:, two:], rz[:, :size], out=new)
        gates[:, two:] += new
        fresh_n = np.tanh(gates[:, two:], out=gates[:, two:])
        hn -= fresh_n
        hn *= rz[:, size:]
        hn += fresh_n
        out[start:stop] = hn
    return out, h, a, before, inner


@opaque
def gru_back(
    g: Any, ends: Any, x: Any, w_ih: Any, w: Any, out: Any, memory: Any, runs: Runs, need_x: bool
) -> Any:
    """Cotangents of the first states, of W, U, b and c, and of x if it needs one."""
    gates, before, inner = memory
    size = before.shape[1]
    gates = gates.reshape(-1, 3, size)
    r, z, n = (gates[:, k] for k in range(3))
    # What reaches the gates through W: dh * (cr, cz, cn r); what reaches a's last third: dh * cn.
    cn = (1 - z) * (1 - n * n)
    slopes = np.empty_like(gates)
    np.multiply(cn, r, out=slopes[:, 2])
    slopes[:, 0] = slopes[:, 2] * (1 - r) * inner
    slopes[:, 1] = (before - n) * z * (1 - z)
    flat = slopes.reshape(-1, 3 * size)
    (dh,) = (e.copy() for e in ends)
    fresh = np.empty_like(dh)
    for start, stop in reversed(runs):
        m = stop - start
        dhm = dh[:m]
        dhm += g[start:stop]
        slopes[start:stop] *= dhm[:, None]
        cn[start:stop] *= dhm
        dhm *= z[start:stop]
        dhm += np.matmul(flat[start:stop], w, out=fresh[:m])
    dw, db = flat.T @ before, np.add.reduce(flat, 0)
    slopes[:, 2] = cn
    found = dh, flat.T @ x, dw, np.add.reduce(flat, 0), db
    return (*found, flat @ w_ih) if need_x else found
