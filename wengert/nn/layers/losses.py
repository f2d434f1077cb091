"""Losses as modules."""

from __future__ import annotations

from typing import Any, ClassVar

from wengert.nn import functional as F
from wengert.nn.functional.shared import reduction_of
from wengert.nn.layers.applied import KW_ONLY, Applied
from wengert.tensor import Tensor


class _Loss(Applied, function=None, shown=""):
    """A loss of input and target, reduced."""

    _unpassed: ClassVar[frozenset[str]] = frozenset({"size_average", "reduce"})

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        average, reduce = settings.pop("size_average", None), settings.pop("reduce", None)
        if average is not None or reduce is not None:
            settings["reduction"] = reduction_of(average, reduce, settings["reduction"])
        return settings


class _Reduced(_Loss, function=None):
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class _Weighted(_Loss, function=None):
    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class _Margin(_Loss, function=None):
    margin: float = 0.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class MSELoss(_Reduced, function=F.mse_loss):
    """The mean of (input - target)^2."""


class L1Loss(_Reduced, function=F.l1_loss):
    """The mean of |input - target|."""


class SoftMarginLoss(_Reduced, function=F.soft_margin_loss):
    """log(1 + exp(-t x)), for t of 1 or -1."""


class MultiLabelSoftMarginLoss(_Weighted, function=F.multilabel_soft_margin_loss):
    """The mean over classes of the binary cross entropy with logits."""


class SmoothL1Loss(_Reduced, function=F.smooth_l1_loss):
    """Quadratic within beta, linear outside."""

    beta: float = 1.0


class HuberLoss(_Loss, function=F.huber_loss):
    """Quadratic within delta, linear outside."""

    reduction: str = "mean"
    delta: float = 1.0


class CrossEntropyLoss(_Loss, function=F.cross_entropy):
    """-log softmax(input)[target]: scores (N, C, ...), class numbers (N, ...) or probabilities.

    >>> CrossEntropyLoss()
    CrossEntropyLoss()
    """

    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"
    label_smoothing: float = 0.0


class NLLLoss(_Loss, function=F.nll_loss):
    """-input[target]: log probabilities (N, C, ...) and class numbers (N, ...)."""

    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"


class BCELoss(_Weighted, function=F.binary_cross_entropy):
    """Binary cross entropy of probabilities."""


class BCEWithLogitsLoss(_Weighted, function=F.binary_cross_entropy_with_logits):
    """Binary cross entropy of scores."""

    pos_weight: Tensor | None = None


class KLDivLoss(_Reduced, function=F.kl_div):
    """target (log target - input), for an input of log probabilities."""

    log_target: bool = False


class GaussianNLLLoss(_Loss, function=F.gaussian_nll_loss):
    """(log var + (input - target)^2 / var) / 2."""

    _: KW_ONLY
    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"


class PoissonNLLLoss(_Loss, function=F.poisson_nll_loss):
    """exp(input) - target input."""

    log_input: bool = True
    full: bool = False
    size_average: bool | None = None
    eps: float = 1e-8
    reduce: bool | None = None
    reduction: str = "mean"


class HingeEmbeddingLoss(_Margin, function=F.hinge_embedding_loss):
    """x where t = 1, max(0, margin - x) where t = -1."""

    margin: float = 1.0


class MarginRankingLoss(_Margin, function=F.margin_ranking_loss):
    """max(0, -t (x1 - x2) + margin)."""


class CosineEmbeddingLoss(_Margin, function=F.cosine_embedding_loss):
    """1 - cos(x1, x2) where t = 1, max(0, cos(x1, x2) - margin) where t = -1."""


class TripletMarginLoss(_Loss, function=F.triplet_margin_loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        if settings["margin"] <= 0:
            raise ValueError(
                "TripletMarginLoss: expected margin to be greater than 0, got "
                f"{settings['margin']} instead"
            )
        return super()._checked(settings)


class TripletMarginWithDistanceLoss(_Loss, function=F.triplet_margin_with_distance_loss):
    """The triplet margin loss with a distance of one's own."""

    _: KW_ONLY
    distance_function: Any = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        if settings["distance_function"] is None:
            settings["distance_function"] = F.pairwise_distance
        return super()._checked(settings)


class MultiMarginLoss(_Loss, function=F.multi_margin_loss):
    """sum over other classes j of max(0, margin - x[t] + x[j])^p / C."""

    p: int = 1
    margin: float = 1.0
    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        if settings["p"] not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        return super()._checked(settings)


class MultiLabelMarginLoss(_Reduced, function=F.multilabel_margin_loss):
    """Sums of max(0, 1 - (x[j] - x[i])) over target classes j and others i, divided by C."""


class CTCLoss(_Loss, function=F.ctc_loss):
    """-log of the probability that the inputs spell the targets, over all alignments."""

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False
