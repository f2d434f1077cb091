"""Losses of sequences and of very many classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.misfits import told
from wengert.autograd.record import recorder
from wengert.autograd.settings import refuses
from wengert.dispatch import known, require, within
from wengert.errors import ShapeError
from wengert.functions.arguments import of_tensors
from wengert.nn.functional.losses import cross_entropy
from wengert.nn.functional.shared import mean, reduction_of, reshape, total, where
from wengert.nn.functional.windows import linear
from wengert.rules.alignment import alignments
from wengert.tensor import Tensor, wrap

_alignments = recorder(alignments)


@told
@refuses(log_probs="biuc")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """-log of the probability that the inputs spell the targets, over all alignments.

    Connectionist temporal classification (Graves et al., 2006). `log_probs` is (T, N, C) or (T, C),
    `targets` (N, S), or the targets of all samples one after the other. 'mean' divides each loss
    by its target's length first. `zero_infinity` counts samples whose target is too long as 0.
    """
    reduction = reduction_of(None, None, reduction)
    lone = log_probs.ndim == 2
    if lone:
        log_probs = log_probs.unsqueeze(1)
    times, batch, classes = log_probs.shape
    inputs, lengths = _numbers(input_lengths), _numbers(target_lengths)
    labels = _labels(targets._array, lengths, batch)
    unused = np.arange(labels.shape[1]) >= lengths[:, None]
    _check(labels, unused, inputs, lengths, times, batch, classes, blank)
    labels = np.where(unused, blank, labels)
    blanks = np.full_like(labels, blank)
    pairs = np.stack([blanks, labels], -1).reshape(batch, -1)
    last = np.full((batch, 1), blank, labels.dtype)
    states = np.concatenate([pairs, last], 1).astype(np.int64)
    losses = _alignments(log_probs, states, inputs, lengths)
    if zero_infinity:
        losses = where(np.isinf(losses._array), 0.0, losses)
    if reduction == "sum":
        return total(losses)
    if reduction == "mean":
        return mean(losses / wrap(np.maximum(lengths, 1).astype(losses.dtype)))
    return losses[0] if lone else losses


def _numbers(lengths: Any) -> np.ndarray:
    array = lengths._array if isinstance(lengths, Tensor) else np.asarray(lengths)
    return np.reshape(array, (-1,)).astype(np.int64)


def _labels(targets: Any, lengths: Any, batch: int) -> Any:
    """Targets as (N, S)."""
    if known(lengths):
        longest = int(lengths.max(initial=0))
    else:  # some number of those that there may be, from which on nothing is looked at
        longest = targets.shape[-1]
    if targets.ndim == 2:
        if targets.shape[0] != batch or targets.shape[1] < longest:
            raise RuntimeError(
                f"Expected tensor to have size at least {longest} at dimension 1 and {batch} at "
                f"dimension 0, but got targets of size {list(targets.shape)}"
            )
        return targets[:, :longest]
    if targets.ndim == 1 and batch == 1 and len(lengths) == 1:
        return targets[None, :longest]
    require(targets.ndim == 1, _wrong_count, targets, lengths)
    ends = np.cumsum(lengths)
    require(ends[-1:] == len(targets), _wrong_count, targets, lengths)
    places = (ends - lengths)[:, None] + np.arange(longest)
    return np.append(targets, 0)[np.minimum(places, len(targets))]


def _wrong_count(targets: Any, lengths: Any) -> RuntimeError:
    return RuntimeError(
        f"ctc_loss: targets of size {list(targets.shape)} do not hold the {lengths.sum()} labels "
        "that target_lengths counts"
    )


def _check(
    labels: Any, unused: Any, inputs: Any, lengths: Any,
    times: int, batch: int, classes: int, blank: int,
) -> None:  # fmt: skip
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range: got {blank} with {classes} classes")
    for name, given in (("input_lengths", inputs), ("target_lengths", lengths)):
        if len(given) != batch:
            raise RuntimeError(f"{name} must be of size batch_size {batch}, got {len(given)}")
    require(within(inputs, 0, times + 1), _too_long, inputs, times)
    holds = unused | within(labels, 0, classes)
    require(holds, _no_such_label, labels, holds, classes)


def _too_long(inputs: Any, times: int) -> RuntimeError:
    return RuntimeError(
        f"Expected input_lengths to have value at most {times}, but got value {inputs.max()}"
    )


def _no_such_label(labels: Any, holds: Any, classes: int) -> RuntimeError:
    return RuntimeError(
        f"ctc_loss: label {labels[~holds][0]} is out of range: there are {classes} classes, "
        f"numbered 0 to {classes - 1}"
    )


@of_tensors(1)
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """cross_entropy(linear(input, linear_weight, linear_bias), target, ...).

    PyTorch's chunked way of computing it, which `options` asks for, is not available.
    """
    if options is not None:
        raise NotImplementedError(
            "linear_cross_entropy: only options=None, the composition of linear and "
            "cross_entropy, is available"
        )
    if linear_weight.ndim < 2:
        raise ShapeError(
            "linear_cross_entropy: expected linear_weight with dimensionality at least 2, got "
            f"{linear_weight.ndim}"
        )
    if ignore_index is not None and dtypes.is_inexact(target.dtype):
        raise RuntimeError(
            "linear_cross_entropy: ignore_index cannot be specified when target contains "
            "probabilities: give those that are to be ignored weight 0"
        )
    classes, *places, features = linear_weight.shape
    if places and input.ndim < 2:
        raise ShapeError(
            f"linear_cross_entropy: a linear_weight of shape {list(linear_weight.shape)} requires "
            f"batched input, (N, {features}), got shape {list(input.shape)}. Use input[None]."
        )
    rows = reshape(linear_weight, (-1, features))
    bias = None if linear_bias is None else reshape(linear_bias, (-1,))
    scores = linear(input, rows, bias)
    if places:
        scores = reshape(scores, (*scores.shape[:-1], classes, *places))
    return cross_entropy(
        scores, target, weight, None, -100 if ignore_index is None else ignore_index, None,
        reduction, label_smoothing,
    )  # fmt: skip
