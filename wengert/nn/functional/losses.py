"""Losses, by PyTorch's names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of
from wengert.autograd.operands import cast, one_dtype
from wengert.autograd.record import recorder
from wengert.autograd.settings import refuse_unless_truth, refuses
from wengert.dispatch import as_array, known, require, within
from wengert.functions.arguments import of_tensors, one_dim
from wengert.functions.reductions import vector_norm
from wengert.functions.shapes import broadcast_shapes
from wengert.nn.functional.activations import log_softmax, logsigmoid
from wengert.nn.functional.shared import (
    apply,
    check_floats,
    matched,
    mean,
    reduced,
    reduction_of,
    reshape,
    total,
    where,
)
from wengert.rules import losses as rules
from wengert.rules import neural, special
from wengert.rules.loops import loopable
from wengert.rules.products import pair_distances
from wengert.tensor import Tensor, wrap

# ---- squares and absolute values -----------------------------------------------------------


@of_tensors(1)
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of (input - target)^2.

    >>> import wengert as wg
    >>> mse_loss(wg.tensor([1.0, 2.0]), wg.tensor([1.0, 4.0]))
    tensor(2.)
    """
    if reduction == "mean" and weight is None and size_average is None and reduce is None:
        a, b = input._array, target._array
        dtype = a.dtype
        if dtype is b.dtype and a.shape == b.shape and dtype.kind == "f" and a.size:
            return _mse(input, target)
    reduction = reduction_of(size_average, reduce, reduction)
    input, target = matched(input, target, "mse_loss", "c")
    return _weighted(apply(np.square, input - target), weight, reduction)


_mse = recorder(rules.mse)


def _weighted(loss: Any, weight: Tensor | None, reduction: str) -> Tensor:
    if weight is None:
        return reduced(loss, reduction)
    loss = loss * weight
    if reduction == "mean":
        return total(loss) / total(weight)
    return reduced(loss, reduction)


@of_tensors(1)
@refuses(input="b", target="b")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of |input - target|."""
    reduction = reduction_of(size_average, reduce, reduction)
    input, target = matched(input, target, "l1_loss")
    return _weighted(abs(input - target), weight, reduction)


@of_tensors(1)
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d^2 / (2 beta) where |d| < beta, else |d| - beta/2, for d = input - target."""
    reduction = reduction_of(size_average, reduce, reduction)
    input, target = matched(input, target, "smooth_l1_loss", "c")
    if not beta >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if not beta:
        return reduced(abs(input - target), reduction)
    loss = apply(neural.huber, input, target, float(beta))
    return reduced(loss if beta == 1 else loss / beta, reduction)


@of_tensors(1)
@refuses(input="biuc")
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """d^2 / 2 where |d| < delta, else delta (|d| - delta/2), for d = input - target."""
    reduction = reduction_of(None, None, reduction)
    input, target = matched(input, target, "huber_loss", "c")
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    loss = cast(apply(neural.huber, input, target, float(delta)), input._array.dtype)
    return _weighted(loss, weight, reduction)


# ---- classes -------------------------------------------------------------------------------


@of_tensors(2)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log softmax(input)[target]: scores (N, C, ...) and class numbers (N, ...).

    `target` may hold probabilities of the shape of `input` instead. Raises IndexError for a class
    number outside 0 <= target < C that is not `ignore_index`.

    >>> import wengert as wg
    >>> cross_entropy(wg.tensor([[0.0, 0.0]]), wg.tensor([1]))
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None or reduction != "mean":
        reduction = reduction_of(size_average, reduce, reduction)
    x, t = input._array, target._array
    if (
        x.ndim == 2
        and t.ndim == 1
        and reduction == "mean"
        and weight is None
        and not label_smoothing
        and t.dtype.kind in "iu"
        and len(t) == len(x) > 0
        and x.dtype.kind == "f"
    ):
        return _mean_cross_entropy(input, target, ignore_index)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    classes = 0 if x.ndim < 2 else 1
    if t.shape == x.shape and t.dtype.kind == "f":
        return _with_probabilities(input, target, weight, reduction, label_smoothing, classes)
    log_p = log_softmax(input, classes)
    if not label_smoothing:
        return nll_loss(log_p, target, weight, None, ignore_index, None, reduction)
    return _smoothed(log_p, target, weight, ignore_index, reduction, label_smoothing, classes)


def _mean_cross_entropy(input: Tensor, target: Tensor, ignore_index: int) -> Tensor:
    t, classes = target._array, input._array.shape[1]
    if not 0 <= ignore_index < classes and _all_classes(t, classes):
        return apply(rules.cross_entropy, input, target, None)
    kept = t != ignore_index
    _check_classes(t, kept, classes, ignore_index)
    return apply(rules.cross_entropy, input, wrap(np.where(kept, t, 0)), kept)


def _all_classes(target: Any, classes: int) -> Any:
    """Whether every target is known to be a class number: none is ignored, and none is wrong."""
    if type(target) is not np.ndarray:
        return False
    # Seen as unsigned, negative numbers are large ones: one comparison instead of two.
    if target.dtype == np.int64:
        return np.maximum.reduce(target.view(np.uint64)) < classes
    return target.min() >= 0 and target.max() < classes


def _with_probabilities(
    input: Tensor, target: Tensor, weight: Any, reduction: str, smoothing: float, classes: int
) -> Tensor:
    n = input._array.shape[classes]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / n
    log_p = log_softmax(input, classes)
    if weight is not None:
        log_p = log_p * _per_class(weight, input._array.ndim, classes)
    loss = -total(log_p * target, classes)
    if reduction == "mean":
        return total(loss) / max(input._array.size // n, 1)
    return reduced(loss, reduction)


def _per_class(weight: Tensor, ndim: int, classes: int) -> Tensor:
    return reshape(weight, [-1 if i == classes else 1 for i in range(ndim)])


def _smoothed(
    log_p: Tensor,
    target: Tensor,
    weight: Any,
    ignore_index: int,
    reduction: str,
    smoothing: float,
    classes: int,
) -> Tensor:
    """(1 - s) nll + s/C sum over classes of the weighted nll."""
    nll = nll_loss(log_p, target, weight, None, ignore_index, None, "none")
    weighted = log_p if weight is None else log_p * _per_class(weight, log_p._array.ndim, classes)
    smooth = -total(weighted, classes)
    t = target._array
    kept = t != ignore_index
    if not (known(kept) and kept.all()):
        smooth = where(kept, smooth, 0)
    per = smoothing / log_p._array.shape[classes]
    if reduction == "mean":
        count: Any
        if weight is None:
            count = kept.sum()
        else:
            count = (weight._array[np.where(kept, t, 0)] * kept).sum()
        if known(count):
            count = float(count) or math.nan
        else:
            count = wrap(count.astype(log_p._array.dtype))
        return ((1 - smoothing) * total(nll) + per * total(smooth)) / count
    return reduced((1 - smoothing) * nll + per * smooth, reduction)


@of_tensors(2)
@refuses(input="biuc")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-weight[target] input[target]: log probabilities (N, C, ...) and class numbers (N, ...)."""
    if size_average is not None or reduce is not None or reduction != "mean":
        reduction = reduction_of(size_average, reduce, reduction)
    x, t = input._array, target._array
    classes = 0 if x.ndim == 1 else 1
    if weight is not None:
        one_dtype("nll_loss", (input, weight))
    _check_nll(x, t, weight, classes)
    given = None if weight is None else array_of(weight)
    if type(t) is np.ndarray and (loopable(x) if given is None else loopable(x, given)):
        places = np.empty(t.shape, np.int64)
        flat = t.reshape(-1), x.shape[classes], ignore_index, places.reshape(-1)
        kept = rules.note_classes(*flat)
        if kept >= 0:
            return _nll_of(input, places, kept, given, classes, reduction)
    kept = t != ignore_index
    _check_classes(t, kept, x.shape[classes], ignore_index)
    safe = np.where(kept, t, 0).astype(np.int64)
    losses = -apply(np.take_along_axis, input, np.expand_dims(safe, classes), classes)
    losses = apply(np.squeeze, losses, classes)
    weights = kept.astype(x.dtype) if weight is None else weight._array[safe] * kept
    everything = weight is None and known(kept) and bool(kept.all())
    if not everything:
        # Where a target is ignored the input counts for nothing, infinite or not.
        losses = where(kept, losses, 0)
        if weight is not None:
            losses = losses * wrap(weights.astype(x.dtype))
    if reduction != "mean":
        return reduced(losses, reduction)
    if everything and losses._array.size:
        return mean(losses)
    with np.errstate(invalid="ignore", divide="ignore"):
        return total(losses) / wrap(as_array(weights.sum(), x.dtype))


def _nll_of(
    input: Tensor, places: Any, kept: int, weight: Any, classes: int, reduction: str
) -> Tensor:
    """The loss of targets that are known to be classes, or -1 if they are ignored."""
    if weight is None and reduction == "mean" and kept:
        return _mean_picked(input, places, kept, classes)
    weights = None if weight is None else np.where(places < 0, 0, weight[places])
    losses = _picked(input, places, weights, classes)
    if reduction != "mean":
        return reduced(losses, reduction)
    with np.errstate(invalid="ignore", divide="ignore"):
        n = kept if weights is None else weights.sum()
        return total(losses) / wrap(as_array(n, losses._array.dtype))


_picked, _mean_picked = recorder(rules.picked), recorder(rules.mean_picked)


def _check_nll(x: Any, t: Any, weight: Any, classes: int) -> None:
    if t.dtype.kind not in "iu":
        raise RuntimeError(
            f"expected class numbers of an integer dtype as target, but got {t.dtype}. Use "
            "target.long(); probabilities need the shape of the input."
        )
    expected = x.shape[:classes] + x.shape[classes + 1 :]
    if x.ndim == 0 or t.shape != expected:
        if x.ndim and t.ndim and x.shape[0] != t.shape[0]:
            raise ValueError(
                f"Expected input batch_size ({x.shape[0]}) to match target batch_size "
                f"({t.shape[0]})."
            )
        raise RuntimeError(
            f"Expected target size {list(expected)}, got {list(t.shape)}: one class number for "
            f"each of the input's score vectors along dimension {classes}"
        )
    if weight is not None and weight._array.shape != (x.shape[classes],):
        raise RuntimeError(
            f"weight tensor should be defined either for all {x.shape[classes]} classes or no "
            f"classes but got weight tensor of shape: {list(weight.shape)}"
        )


def _check_classes(t: Any, kept: Any, classes: int, ignore_index: int) -> None:
    require(within(t, 0, classes) | ~kept, _no_such_class, t, kept, classes, ignore_index)


def _no_such_class(t: Any, kept: Any, classes: int, ignore_index: int) -> IndexError:
    wrong = t[kept & ~within(t, 0, classes)]
    return IndexError(
        f"Target {wrong[0]} is out of bounds: there are {classes} classes, numbered 0 to "
        f"{classes - 1} (and ignore_index={ignore_index}). {wrong.size} of {t.size} targets are "
        "wrong."
    )


@of_tensors(2)
@refuses(input="biuc", target="biuc")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target (log target - input): the input holds log probabilities.

    `reduction` may also be 'batchmean', the sum divided by the first dimension: the divergence
    proper; 'mean' divides by the number of elements.
    """
    batchmean = reduction == "batchmean"
    reduction = reduction_of(size_average, reduce, "sum" if batchmean else reduction)
    if log_target:
        loss = apply(np.exp, target) * (target - input)
    else:
        loss = apply(special.xlogy, target, target) - target * input
    out = reduced(loss, reduction)
    return out / input.shape[0] if batchmean and input._array.ndim else out


# ---- yes or no -----------------------------------------------------------------------------


@of_tensors(1)
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(t log p + (1 - t) log(1 - p)), for probabilities p; logarithms stop at -100."""
    reduction = reduction_of(size_average, reduce, reduction)
    _same_size(input, target)
    x = input._array
    require((x >= 0) & (x <= 1), RuntimeError, _NO_PROBABILITY)
    loss = apply(rules.bernoulli_loss, input, target)
    if weight is not None:
        loss = cast(loss * weight, input._array.dtype)
    return reduced(loss, reduction)


_NO_PROBABILITY = (
    "all elements of input should be between 0 and 1: binary_cross_entropy takes probabilities. "
    "Use binary_cross_entropy_with_logits for scores."
)


def _same_size(input: Tensor, target: Tensor) -> None:
    if input._array.shape != target._array.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )


@of_tensors(1)
@refuses(target="biu")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of sigmoid(input), without overflow; `pos_weight` weighs target 1."""
    reduction = reduction_of(size_average, reduce, reduction)
    if input._array.shape != target._array.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    if pos_weight is None:
        # (1 - t) x + log(1 + exp(-x))
        loss = (1 - target) * input - logsigmoid(input)
    else:
        loss = (1 - target) * input - (1 + (pos_weight - 1) * target) * logsigmoid(input)
    if weight is not None:
        loss = loss * weight
    return reduced(loss, reduction)


@of_tensors(2)
@refuses(input="biuc", target="c")
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-t x)), for t of 1 or -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    if tuple(broadcast_shapes(input._array.shape, target._array.shape)) != input._array.shape:
        raise RuntimeError(
            f"soft_margin_loss: a target of shape {list(target.shape)} is not of the input's, "
            f"{list(input.shape)}. Use squeeze()."
        )
    loss = apply(neural.softplus, -target * input)
    return reduced(cast(loss, input._array.dtype), reduction)


@of_tensors(1)
@refuses(target="b")
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of the binary cross entropy with logits."""
    reduction = reduction_of(size_average, reduce, reduction)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    axis = input._array.ndim - 1
    return reduced(total(loss, axis) / input._array.shape[axis], reduction)


@of_tensors(2)
@refuses(input="biuc")
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Sums of max(0, 1 - (x[j] - x[i])) over target classes j and others i, divided by C.

    `target` has class numbers in each row, up to the first -1.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    x, t = input._array, target._array
    if x.shape != t.shape or x.ndim not in (0, 1, 2):
        raise RuntimeError(f"inconsistent target size: {list(t.shape)} for input {list(x.shape)}")
    classes = x.shape[-1] if x.ndim else 1
    rows, t = reshape(input, (-1, classes)), t.reshape(-1, classes)
    wrong = f"argument #2 'target' is out of range: classes are 0 to {classes - 1}"
    require(within(t, -1, classes), RuntimeError, wrong)
    meant = np.cumsum(t < 0, 1) == 0  # those before the first -1
    places = np.where(meant, t, 0)
    hits = np.any((places[:, :, None] == np.arange(classes)) & meant[:, :, None], axis=1)
    wanted = apply(np.take_along_axis, rows, places, 1)
    gaps = 1 - (apply(np.expand_dims, wanted, 2) - apply(np.expand_dims, rows, 1))
    counted = meant[:, :, None] & ~hits[:, None]
    losses = total(where(counted, apply(neural.relu, gaps), 0), (1, 2)) / classes
    losses = losses if x.ndim == 2 else losses[0]
    return reduced(losses, reduction)


# ---- distributions -------------------------------------------------------------------------


@of_tensors(1)
@refuses(input="b", target="b", var="biuc")
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """(log var + (input - target)^2 / var) / 2, with var at least eps and without its constant."""
    reduction = reduction_of(None, None, reduction)
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = wrap(np.full(input._array.shape, var, input._array.dtype))
    if var._array.shape != input._array.shape:
        if input._array.shape[:-1] == var._array.shape:
            var = reshape(var, (*var.shape, 1))
        elif var.ndim != input.ndim or any(
            n not in (1, m) for n, m in zip(var.shape, input.shape, strict=True)
        ):
            raise ValueError("var is of incorrect size")
    require(~(var._array < 0), ValueError, "var has negative entry/entries")
    # The bound is not differentiated: the slope is that of the variance as it was.
    lift = np.maximum(var._array, eps) - var._array
    var = var + wrap(lift.astype(var._array.dtype))
    loss = 0.5 * (apply(np.log, var) + apply(np.square, input - target) / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


@of_tensors(2)
@refuses(target="bc")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """exp(x) - target x, or x - target log(x + eps); `full` adds Stirling's term."""
    refuse_unless_truth("full", full)
    reduction = reduction_of(size_average, reduce, reduction)
    if log_input:
        loss = apply(np.exp, input) - target * input
    else:
        loss = input - target * apply(np.log, input + eps)
    if full:
        large = target._array > 1
        t = where(large, target, 1)
        stirling = t * apply(np.log, t) - t + 0.5 * apply(np.log, 2 * math.pi * t)
        loss = cast(loss + where(large, stirling, 0), loss._array.dtype)
    return reduced(loss, reduction)


# ---- margins and distances -----------------------------------------------------------------


def _above_zero(x: Tensor) -> Tensor:
    """max(x, 0); a margin that is just kept has a slope, as in PyTorch."""
    return apply(np.clip, x, 0, None)


@of_tensors(2)
@refuses(input="bc")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """x where t = 1, max(0, margin - x) where t = -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    t = target._array
    positive = where(t != -1, input, 0)
    negative = where(t != 1, _above_zero(margin - input), 0)
    return reduced(positive + negative, reduction)


@of_tensors(1)
@refuses(input1="bc", input2="bc", target="c")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -t (x1 - x2) + margin)."""
    reduction = reduction_of(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss: the tensors need as many dimensions, but have shapes "
            f"{list(input1.shape)}, {list(input2.shape)} and {list(target.shape)}. Use squeeze()."
        )
    return reduced(_above_zero(-target * (input1 - input2) + float(margin)), reduction)


@of_tensors(2)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along `dim`."""
    common = dtypes.result_type(x1._array, x2._array)
    x1, x2 = cast(x1, common), cast(x2, common)
    if x1._array.shape != x2._array.shape:
        shape = broadcast_shapes(x1._array.shape, x2._array.shape)
        x1, x2 = (apply(np.broadcast_to, x, shape) for x in (x1, x2))
    check_floats(x1, "cosine_similarity")
    axis = one_dim(dim, x1._array.ndim)
    return total((x1 / _length(x1, axis, eps)) * (x2 / _length(x2, axis, eps)), axis)


def _length(x: Tensor, axis: int, eps: float) -> Tensor:
    """The Euclidean norm along `axis`, at least eps."""
    squares = total(x * x, axis, True)
    small = squares._array < eps * eps
    if known(small) and not np.count_nonzero(small):
        return apply(np.sqrt, squares)
    return where(small, eps, apply(np.sqrt, where(small, 1, squares)))


@of_tensors(1)
@refuses(input1="c", input2="c")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos(x1, x2) where t = 1, max(0, cos(x1, x2) - margin) where t = -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    eps = 1e-12
    axis = input1._array.ndim - 1
    if target.ndim > 1 or max(input1.ndim, input2.ndim) != target.ndim + 1:
        raise RuntimeError(
            "cosine_embedding_loss: one target for each pair of vectors, so a 0D target for 1D "
            f"inputs or a 1D one for 2D inputs, not shapes {list(input1.shape)}, "
            f"{list(input2.shape)} and {list(target.shape)}"
        )
    dot = total(input1 * input2, axis)
    squares = (total(input1 * input1, axis) + eps) * (total(input2 * input2, axis) + eps)
    cosine = dot / apply(np.sqrt, squares)
    t = target._array
    positive = where(t == 1, 1 - cosine, 0)
    negative = where(t == -1, _above_zero(cosine - margin), 0)
    return reduced(positive + negative, reduction)


@of_tensors(1)
@refuses(x1="b", x2="b")
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension."""
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


@of_tensors(1)
@refuses(input="biuc")
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distance of every pair of rows, in the order (0,1), (0,2), ..., (1,2), ..."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if p == 2:
        return apply(pair_distances, input)
    first, second = np.triu_indices(input.shape[0], 1)
    return vector_norm(input[first] - input[second], p, 1)


@of_tensors(1)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    reduction = reduction_of(size_average, reduce, reduction)
    distance = lambda a, b: pairwise_distance(a, b, p, eps)
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


@of_tensors(1)
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Any = None,
    margin: float | Tensor = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of one's own."""
    reduction = reduction_of(None, None, reduction)
    distance = distance_function or pairwise_distance
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def _triplet(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance: Any,
    margin: float | Tensor,
    swap: bool,
    reduction: str,
) -> Tensor:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
            f"{negative.ndim}D inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = apply(np.minimum, far, distance(positive, negative))
    return reduced(_above_zero(near - far + margin), reduction)


@of_tensors(2)
@refuses(input="biuc")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """sum over other classes j of max(0, margin - x[t] + x[j])^p / C."""
    reduction = reduction_of(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"weight must be one-dimensional, but has shape {list(weight.shape)}")
    x, t = input._array, target._array
    if t.ndim > 1 or t.size != (len(x) if x.ndim > 1 else 1) or t.dtype.kind not in "iu":
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D, of integers, one for each row of the "
            f"input, but got shape {list(t.shape)} and dtype {t.dtype} for an input of shape "
            f"{list(x.shape)}"
        )
    lone = x.ndim < 2
    scores = reshape(input, (1, x.size)) if lone else input
    labels = target if t.ndim else reshape(target, (1,))
    n = scores._array.shape[1]
    if not _all_classes(labels._array, n):
        _check_classes(labels._array, np.ones(labels.shape, bool), n, -100)
    loss = apply(rules.margins, scores, labels, margin, p)
    if weight is not None:
        loss = loss * weight[labels]
    if lone:
        loss = loss[0]
    return reduced(loss, reduction)
