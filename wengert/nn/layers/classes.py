"""Losses with weights of their own, for very many classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.dispatch import require, within
from wengert.functions.joining import cat
from wengert.nn import functional as F
from wengert.nn.containers import ModuleList, Sequential
from wengert.nn.functional.shared import apply, mean, reshape
from wengert.nn.layers.linear import Linear
from wengert.nn.module import Module
from wengert.rules.indexing import add_rows
from wengert.tensor import Tensor, wrap


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """A log-softmax in two steps: frequent classes at once, rare ones by cluster.

    Classes are sorted by frequency; `cutoffs` are where clusters begin. Cluster k has projections
    to in_features / div_value^(k+1) features (Grave et al., 2017). Returns the log probability of
    each target, and the mean loss.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cuts = list(cutoffs)
        if not cuts:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cuts != sorted(set(cuts))
            or min(cuts) <= 0
            or max(cuts) > n_classes - 1
            or any(int(c) != c for c in cuts)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an "
                "increasing order, where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cuts, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for k, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            width = int(in_features // div_value ** (k + 1))
            first = Linear(in_features, width, False, device, dtype)
            self.tail.append(Sequential(first, Linear(width, high - low, False, device, dtype)))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        lone = target_.ndim == 0
        x = input_.unsqueeze(0) if lone else input_
        target = np.atleast_1d(target_._array)
        if x.ndim != 2 or target.ndim != 1 or len(target) != len(x):
            raise RuntimeError(
                "Input and target should have the same size in the batch dimension, got "
                f"{list(input_.shape)} and {list(target_.shape)}"
            )
        require(within(target, 0, self.n_classes), _no_such_class, target, self.n_classes)
        head = F.log_softmax(self.head(x), 1)
        places = target.copy()
        for k in range(self.n_clusters):
            inside = (target >= self.cutoffs[k]) & (target < self.cutoffs[k + 1])
            places[inside] = self.shortlist_size + k
        output = apply(np.take_along_axis, head, places[:, None], 1)[:, 0]
        for k in range(self.n_clusters):
            rows = np.flatnonzero((target >= self.cutoffs[k]) & (target < self.cutoffs[k + 1]))
            if len(rows):
                log_p = F.log_softmax(self.tail[k](x[wrap(rows)]), 1)
                own = (target[rows] - self.cutoffs[k])[:, None]
                chosen = apply(np.take_along_axis, log_p, own, 1)[:, 0]
                output = output + apply(add_rows, chosen, rows, (len(target),))
        loss = -mean(output)
        return _ASMoutput(output[0] if lone else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities of all classes."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for k, tail in enumerate(self.tail):
            own = head[:, self.shortlist_size + k].unsqueeze(1)
            parts.append(F.log_softmax(tail(input), 1) + own)
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The likeliest class of each row."""
        return self.log_prob(input).argmax(1)


class LinearCrossEntropyLoss(Module):
    """The cross entropy of a linear layer's scores."""

    weight: Tensor | None

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.bias = bias
        self.reduction = reduction
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        self.register_buffer("weight", weight)
        rows = num_classes * math.prod(self.out_features)
        self.linear = Linear(in_features, rows, bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = None if self.linear.bias is None else reshape(self.linear.bias, shape)
        return F.linear_cross_entropy(
            input, reshape(self.linear.weight, (*shape, self.in_features)), target,
            linear_bias=bias, weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing,
            options=self.options,
        )  # fmt: skip

    def extra_repr(self) -> str:
        names = (
            "in_features", "num_classes", "out_features", "bias", "reduction", "ignore_index",
            "label_smoothing", "options",
        )  # fmt: skip
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


def _no_such_class(target: Any, classes: int) -> RuntimeError:
    return RuntimeError(
        f"Target values should be in [0, {classes - 1}], but values in range "
        f"[{target.min()}, {target.max()}] were found. "
    )
