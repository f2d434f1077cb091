"""Averages of the weights passed in training: `AveragedModel`, and what goes with it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

from wengert.arrays.kind import kind_of
from wengert.functions.choosing import where
from wengert.functions.creation import tensor
from wengert.history.modes import no_grad
from wengert.imports import lacking as _lacking
from wengert.nn.layers.normalization import _BatchNorm
from wengert.nn.module import Module
from wengert.optim.lr_scheduler import LRScheduler, per_group
from wengert.optim.optimizer import Optimizer
from wengert.tensor import Tensor

Average = Callable[[Tensor, Tensor, Any], Tensor]
AverageAll = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def get_swa_avg_fn() -> Average:
    """The function (average, value, n) that makes an average of n values one of n + 1."""

    def average(averaged: Tensor, current: Tensor, n: Any) -> Tensor:
        return averaged + (current - averaged) / (n + 1)

    return no_grad()(average)


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The function that gives decay * average + (1 - decay) * value."""
    if not 0.0 <= decay <= 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )

    def average(averaged: Tensor, current: Tensor, n: Any) -> Tensor:
        return decay * averaged + (1 - decay) * current

    return no_grad()(average)


def get_swa_multi_avg_fn() -> AverageAll:
    """As `get_swa_avg_fn`, for lists of tensors, in place."""
    return _for_all(get_swa_avg_fn())


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageAll:
    """As `get_ema_avg_fn`, for lists of tensors, in place."""
    return _for_all(get_ema_avg_fn(decay))


def _for_all(average: Average) -> AverageAll:
    def average_all(averaged: Sequence[Tensor], current: Sequence[Tensor], n: Any) -> None:
        for mean, value in zip(averaged, current, strict=True):
            mean.copy_(average(mean, value, n))

    return no_grad()(average_all)


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of those it was shown.

    The mean of all (stochastic weight averaging: Izmailov et al., 2018), or what `avg_fn(average,
    value, n)` or `multi_avg_fn(averages, values, n)` makes of them, n being the number averaged so
    far. Buffers are copied, or with `use_buffers` averaged too.

    >>> import wengert as wg
    >>> net = wg.nn.Linear(1, 1, bias=False)
    >>> mean = AveragedModel(net)
    >>> for value in (1.0, 2.0, 6.0):
    ...     _ = wg.nn.init.constant_(net.weight, value)
    ...     mean.update_parameters(net)
    >>> mean.module.weight.item()
    3.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: AverageAll | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take one more state of `model` into the average; the first is copied."""
        mine: list[Tensor] = list(self.module.parameters())
        its: list[Tensor] = list(model.parameters())
        my_buffers, its_buffers = list(self.module.buffers()), list(model.buffers())
        if self.use_buffers:
            mine, its = [*mine, *my_buffers], [*its, *its_buffers]
        with no_grad():
            first = self.n_averaged == 0
            values = [x.detach() for x in its]
            average_all = self.multi_avg_fn or _for_all(self.avg_fn or get_swa_avg_fn())
            if kind_of(first._array).runs_later:  # nobody knows yet
                averages = [x.detach().clone() for x in mine]
                average_all(averages, values, self.n_averaged)
                _copy(mine, map(where, [first] * len(mine), values, averages))
            elif first:
                _copy(mine, its)
            else:
                average_all([x.detach() for x in mine], values, self.n_averaged)
            if not self.use_buffers:
                _copy(my_buffers, its_buffers)
            self.n_averaged += 1


def _copy(to: Sequence[Tensor], values: Iterable[Tensor]) -> None:
    for x, value in zip(to, values, strict=True):
        x.copy_(value)


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Make the running means and variances of batch norms anew, from one pass over `loader`.

    A batch is a tensor, or a list or tuple that begins with one.
    """
    momenta = {m: m.momentum for m in model.modules() if isinstance(m, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for layer in momenta:
        layer.reset_running_stats()
        layer.momentum = None  # the mean over all batches
    with no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    for layer, momentum in momenta.items():
        layer.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """The rate brought to `swa_lr` in `anneal_epochs` epochs, and kept there."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | Sequence[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must by one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        rates = per_group(optimizer, swa_lr, "swa_lr")
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _done(self, epoch: int) -> float:
        """The share of the way to `swa_lr` that is behind after so many epochs."""
        done = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return done if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2

    def get_lr(self) -> list[float]:
        epoch = self._step_count - 1
        if self.anneal_epochs == 0:
            epoch = max(1, epoch)
        before = self._done(max(0, min(epoch - 1, self.anneal_epochs)))
        now = self._done(epoch)
        rates = []
        for group in self.optimizer.param_groups:
            target, rate = group["swa_lr"], group["lr"]
            # Where the way began follows from where it has got to.
            start = target if before == 1 else (rate - before * target) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates

    def step(self, epoch: int | None = None) -> None:
        """Go on by one epoch."""
        with warnings.catch_warnings():
            if self._is_initial:
                warnings.simplefilter("ignore")
            super().step(epoch)


_lacking(__name__)
