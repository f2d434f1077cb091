"""The probability that a sequence of frames spells a text, over all alignments.

Connectionist temporal classification (Graves, Fernandez, Gomez and Schmidhuber, 2006): each frame
emits a label or a blank, a label may last for several frames, and blanks between labels may be left
out, unless the labels are equal. States are the labels of a text with a blank before, between and
behind them; from one frame to the next a path stays, goes one state on, or skips a blank.

With a[t, s] the log probability of all paths that end in state s at frame t, that of the frame
included, and b[t, s] of all that go on from there, also with that of the frame, the share of the
paths through it is exp(a + b - emitted[t, s] - total): the derivative by emitted[t, s].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dispatch import primitive
from wengert.rules.indexing import put_along_axis
from wengert.rules.loops import loopable, loops, within_loops
from wengert.rules.reductions import logsumexp
from wengert.rules.rule import general
from wengert.rules.ways import implemented, way

# Stands for log(0) in formulas: so large that no path through it counts, and finite, so that no
# inf - inf makes a NaN on the way back.
_NEVER = -1e30
_INFINITE = np.inf


@primitive
@implemented
def alignments(x: Any, states: Any, frames: Any, lengths: Any) -> Any:
    """-log of the probability of each text: x (T, N, C) are log probabilities, `states` (N, 2S + 1)
    the labels with blanks between them, `frames` and `lengths` how many of each count.

    Infinite if there are too few frames for the text.
    """
    emitted = _emitted(x, states)
    total = _total(_before(emitted, states), emitted, frames, lengths)
    return np.where(total < _NEVER / 2, np.inf, -total)


@way(
    alignments,
    lambda x, states, frames, lengths: loopable(x) and _plain_integers(states, frames, lengths),
)
def _aligned_by_loops(x: Any, states: Any, frames: Any, lengths: Any) -> Any:
    losses = np.empty(len(states), x.dtype)
    _forward(x, states, frames, lengths, _room(x, states), losses)
    return losses


@implemented
def shares(g: Any, x: Any, states: Any, frames: Any, lengths: Any) -> Any:
    """`g` times the derivative of `alignments`: -share of the paths with each label, at each frame.

    It is 0 where no path exists.
    """
    emitted = _emitted(x, states)
    before = _before(emitted, states)
    total = np.expand_dims(_total(before, emitted, frames, lengths), 1)
    after = _after(emitted, states, frames, lengths)
    parts = []
    for t in range(x.shape[0]):
        counts = (np.expand_dims(frames, 1) > t) & (total > _NEVER / 2)
        a = np.where(counts, before[t] + after[t] - emitted[t] - total, _NEVER)
        parts.append(np.where(counts, -np.exp(a), 0) * np.expand_dims(g, 1))
    index = np.broadcast_to(np.expand_dims(states, 0), (x.shape[0], *states.shape))
    return put_along_axis(np.stack(parts), index, x.shape, 2)


@way(
    shares,
    lambda g, x, states, frames, lengths: (
        loopable(x, g) and _plain_integers(states, frames, lengths)
    ),
)
def _shares_by_loops(g: Any, x: Any, states: Any, frames: Any, lengths: Any) -> Any:
    out, room = np.zeros(x.shape, x.dtype), _room(x, states)
    ahead = np.empty((2, states.shape[1]), x.dtype)
    losses = np.empty(len(states), x.dtype)
    _forward(x, states, frames, lengths, room, losses)
    _backward(x, states, frames, lengths, room, losses, ahead, g, out)
    return out


general(
    alignments,
    reverse={"x": lambda g, x, states, frames, lengths: shares(g, x, states, frames, lengths)},
    forward={
        "x": lambda t, x, states, frames, lengths: np.sum(
            t * shares(np.ones_like(x[0, :, 0]), x, states, frames, lengths), axis=(0, 2)
        )
    },
    name="CtcLoss",
    constants=("states", "frames", "lengths"),
)


def _plain_integers(*arrays: Any) -> bool:
    return all(type(a) is np.ndarray and a.dtype == np.int64 for a in arrays)


def _room(x: Any, states: Any) -> Any:
    return np.empty((*states.shape[:1], x.shape[0] + 1, states.shape[1]), x.dtype)


# ---- as a formula ------------------------------------------------------------------------------


def _emitted(x: Any, states: Any) -> Any:
    index = np.broadcast_to(np.expand_dims(states, 0), (x.shape[0], *states.shape))
    return np.take_along_axis(x, index, 2)


def _shifted(a: Any, k: int) -> Any:
    """Of each state the value of k states before (or, negative, behind)."""
    away = np.full_like(a[:, : abs(k)], _NEVER)
    return np.concatenate([away, a[:, :-k]] if k > 0 else [a[:, -k:], away], axis=1)


def _skips(states: Any) -> Any:
    """Whether a path may come from two states before: over a blank, between different labels."""
    different = states[:, 2:] != states[:, :-2]
    return np.concatenate([np.zeros_like(states[:, :2], bool), different], axis=1)


def _start(emitted: Any) -> Any:
    first = np.arange(emitted.shape[2]) < 2
    return np.where(first, emitted[0], _NEVER)


def _before(emitted: Any, states: Any) -> list[Any]:
    skips = _skips(states)
    sums = [_start(emitted)]
    for t in range(1, emitted.shape[0]):
        a = sums[-1]
        reached = np.logaddexp(a, _shifted(a, 1))
        if states.shape[1] > 2:
            reached = np.logaddexp(reached, np.where(skips, _shifted(a, 2), _NEVER))
        sums.append(reached + emitted[t])
    return sums


def _ends(emitted: Any, lengths: Any) -> Any:
    """0 in the last two states of each text, where paths end."""
    away = 2 * np.expand_dims(lengths, 1) - np.arange(emitted.shape[2])
    nothing = np.zeros_like(emitted[0])
    return np.where((away == 0) | (away == 1), nothing, nothing + _NEVER)


def _total(before: Any, emitted: Any, frames: Any, lengths: Any) -> Any:
    ends, nothing = _ends(emitted, lengths), np.zeros_like(emitted[0][:, 0])
    # Of a text without frames: the empty one is certain, any other impossible.
    total = np.where(lengths == 0, nothing, nothing + _NEVER)
    for t, a in enumerate(before):
        total = np.where(frames == t + 1, logsumexp(a + ends, 1), total)
    return total


def _after(emitted: Any, states: Any, frames: Any, lengths: Any) -> list[Any]:
    skips, ends = _skips(states), _ends(emitted, lengths)
    sums: list[Any] = []
    b = np.full_like(emitted[0], _NEVER)
    for t in reversed(range(emitted.shape[0])):
        going_on = np.logaddexp(b, _shifted(b, -1))
        if states.shape[1] > 2:
            going_on = np.logaddexp(going_on, _shifted(np.where(skips, b, _NEVER), -2))
        last = np.expand_dims(frames, 1) == t + 1
        b = np.maximum(np.where(last, ends, going_on), _NEVER) + emitted[t]
        sums.append(b)
    return sums[::-1]


# ---- as loops ----------------------------------------------------------------------------------


@within_loops
def log_of_three(a, b, c):
    """log(exp(a) + exp(b) + exp(c)); -inf stands for nothing."""
    top = np.maximum(np.maximum(a, b), c)
    total = top
    if top != -_INFINITE:
        total = top + np.log(np.exp(a - top) + np.exp(b - top) + np.exp(c - top))
    return total


@loops
def _forward(x, states, frames, lengths, before, losses):
    never = x.dtype.type(-_INFINITE)
    for n in range(len(losses)):
        count = 2 * lengths[n] + 1
        last = frames[n] - 1
        for t in range(frames[n]):
            for s in range(count):
                here = never
                if t == 0:
                    if s < 2:
                        here = x.dtype.type(0)
                else:
                    back, jump = never, never
                    if s > 0:
                        back = before[n, t - 1, s - 1]
                    if s > 1 and states[n, s] != states[n, s - 2]:
                        jump = before[n, t - 1, s - 2]
                    here = log_of_three(before[n, t - 1, s], back, jump)
                before[n, t, s] = here + x[t, n, states[n, s]]
        total = never
        if last >= 0:
            total = before[n, last, count - 1]
            if count > 1:
                total = log_of_three(total, before[n, last, count - 2], never)
        elif count == 1:
            total = x.dtype.type(0)
        losses[n] = -total


@loops
def _backward(x, states, frames, lengths, before, losses, ahead, g, out):
    never = x.dtype.type(-_INFINITE)
    for n in range(len(losses)):
        count = 2 * lengths[n] + 1
        if losses[n] == _INFINITE:
            continue
        for t in range(frames[n] - 1, -1, -1):
            row = t % 2
            for s in range(count):
                label = states[n, s]
                here = never
                if t == frames[n] - 1:
                    if s >= count - 2:
                        here = x.dtype.type(0)
                else:
                    on, jump = never, never
                    if s < count - 1:
                        on = ahead[1 - row, s + 1]
                    if s < count - 2 and label != states[n, s + 2]:
                        jump = ahead[1 - row, s + 2]
                    here = log_of_three(ahead[1 - row, s], on, jump)
                ahead[row, s] = here + x[t, n, label]
                if here != never and before[n, t, s] != never:
                    out[t, n, label] -= g[n] * np.exp(before[n, t, s] + here + losses[n])
