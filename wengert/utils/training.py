"""Around a training loop: taking a run up where it stopped, means, early stopping, progress."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any

import numpy as np

from wengert.functions.random import get_rng_state, set_rng_state
from wengert.serialization import load, save
from wengert.tensor import Tensor


class TrainingState:
    """All that a training run consists of, in one file, so that it can go on bit for bit.

    The parts are given by name: whatever has `state_dict` and `load_state_dict`, such as modules,
    optimizers, schedules and loaders. The generators of wengert, of Python and of NumPy are saved
    with them. The file is written atomically: a crash leaves the old one or the new one.

    >>> import os, tempfile, wengert as wg
    >>> path = os.path.join(tempfile.mkdtemp(), "run.wg")
    >>> net = wg.nn.Linear(2, 1)
    >>> state = TrainingState(net=net, optimizer=wg.optim.Adam(net.parameters()))
    >>> state.save(path, epoch=3)
    >>> drawn = wg.rand(2)
    >>> state.load(path)
    {'epoch': 3}
    >>> wg.equal(drawn, wg.rand(2))
    True
    """

    def __init__(self, **parts: Any) -> None:
        for name, part in parts.items():
            if not (hasattr(part, "state_dict") and hasattr(part, "load_state_dict")):
                raise TypeError(
                    f"TrainingState: {name} is a {type(part).__name__}, which has no state_dict "
                    f"and load_state_dict. Numbers and the like go to save(path, {name}=...)."
                )
        self.parts = parts

    def save(self, path: Any, **extra: Any) -> None:
        """Write the state; `extra` is numbers, strings and tensors that `load` gives back."""
        generators = {
            "wengert": get_rng_state(),
            "python": random.getstate(),
            "numpy": np.random.get_state(),  # noqa: NPY002  (programs in use draw from it)
        }
        parts = {name: part.state_dict() for name, part in self.parts.items()}
        save({"parts": parts, "generators": generators, "extra": extra}, path)

    def load(self, path: Any) -> dict[str, Any]:
        """Put all parts and the generators back where they were; returns what was extra.

        RuntimeError, before anything is changed, if the file has other parts than these.
        """
        content = load(path)
        if not isinstance(content, dict) or content.keys() != {"parts", "generators", "extra"}:
            raise RuntimeError(
                f"{path} was not written by TrainingState.save. Read it with wengert.load(path)."
            )
        saved, mine = set(content["parts"]), set(self.parts)
        if saved != mine:
            raise RuntimeError(
                f"{path} has other parts than this TrainingState: missing there are "
                f"{sorted(mine - saved)}, and unknown here are {sorted(saved - mine)}."
            )
        for name, part in self.parts.items():
            part.load_state_dict(content["parts"][name])
        generators = content["generators"]
        set_rng_state(generators["wengert"])
        random.setstate(generators["python"])
        np.random.set_state(generators["numpy"])  # noqa: NPY002
        return content["extra"]


# ---- metrics -------------------------------------------------------------------------------


class Mean:
    """The mean of numbers as they come, each with a weight.

    >>> loss = Mean()
    >>> loss.update(2.0, weight=3)
    >>> loss.update(4.0)
    >>> loss.value
    2.5
    """

    def __init__(self) -> None:
        self.total = self.weight = 0.0

    def update(self, value: Any, weight: float = 1) -> None:
        """Take in a number, or a tensor with one element."""
        self.total += float(value.detach() if isinstance(value, Tensor) else value) * weight
        self.weight += weight

    @property
    def value(self) -> float:
        """The mean so far; nan before the first number."""
        return self.total / self.weight if self.weight else math.nan

    def reset(self) -> None:
        """Forget all numbers."""
        self.total = self.weight = 0.0


class Accuracy(Mean):
    """The share of right answers, from scores (samples, classes) or from answers (samples).

    >>> import wengert as wg
    >>> accuracy = Accuracy()
    >>> accuracy.update(wg.tensor([[0.1, 0.9], [0.8, 0.2]]), wg.tensor([1, 1]))
    >>> accuracy.value
    0.5
    """

    def update(self, value: Any, target: Any) -> None:  # type: ignore[override]
        """Take in the answers to a batch."""
        answers = value.argmax(-1) if value.ndim == target.ndim + 1 else value
        if answers.shape != target.shape:
            raise ValueError(
                f"Accuracy.update: scores of shape {tuple(value.shape)} do not belong to targets "
                f"of shape {tuple(target.shape)}; expected (samples, classes) and (samples,), or "
                "twice (samples,)."
            )
        self.total += float((answers == target).sum())
        self.weight += target.numel()


class EarlyStopping:
    """Says when a metric has not improved by more than `min_delta` for `patience` epochs.

    `mode` is "min" or "max". The best state of `module`, if one is given, is kept, and
    `restore()` puts it back. A metric that is nan or infinite raises FloatingPointError, unless
    `check_finite` is False, when it counts as no improvement.

    >>> stopping = EarlyStopping(patience=2)
    >>> [stopping.step(loss) for loss in (3.0, 2.0, 2.5, 2.1)]
    [False, False, False, True]
    >>> stopping.best
    2.0
    """

    def __init__(
        self,
        patience: int = 10,
        min_delta: float = 0.0,
        mode: str = "min",
        module: Any = None,
        check_finite: bool = True,
    ) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode must be 'min' or 'max', got {mode!r}")
        self.patience = patience
        self.min_delta = min_delta
        self.mode = mode
        self.module = module
        self.check_finite = check_finite
        self.best = math.inf if mode == "min" else -math.inf
        self.waited = 0
        self.kept: dict[str, Any] | None = None

    def step(self, metric: Any) -> bool:
        """Note an epoch's metric; whether it is time to stop."""
        value = float(metric.detach() if isinstance(metric, Tensor) else metric)
        if self.check_finite and not math.isfinite(value):
            raise FloatingPointError(
                f"the metric has become {value}. Lower the learning rate, clip the gradients "
                "(nn.utils.clip_grad_norm_), or find the operation with "
                "autograd.set_detect_anomaly(True)."
            )
        gain = self.best - value if self.mode == "min" else value - self.best
        if gain > self.min_delta:
            self.best, self.waited = value, 0
            if self.module is not None:
                self.kept = {k: v.clone() for k, v in self.module.state_dict().items()}
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self) -> None:
        """Give the module the parameters and buffers it had when the metric was best."""
        if self.kept is None:
            raise RuntimeError(
                "EarlyStopping has kept no state: give it module=... and call step() first"
            )
        self.module.load_state_dict(self.kept)

    def state_dict(self) -> dict[str, Any]:
        """What has been seen, for `TrainingState`."""
        return {"best": self.best, "waited": self.waited, "kept": self.kept}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.best, self.waited = state_dict["best"], state_dict["waited"]
        self.kept = state_dict["kept"]


def progress(
    items: Iterable[Any], description: str = "", total: int | None = None, **metrics: Mean
) -> Iterator[Any]:
    """The items, while a bar in the terminal shows how many have passed, and the metrics' values.

    Notebooks show it too; elsewhere, where the output is no terminal, nothing is shown.

    >>> loss = Mean()
    >>> for x in progress([1.0, 2.0], "training", loss=loss):
    ...     loss.update(x)
    """
    if total is None and isinstance(items, Sized):
        total = len(items)
    with bar(total, description) as show:
        for item in items:
            yield item
            show(1, "  ".join(f"{name} {metric.value:.4g}" for name, metric in metrics.items()))


@contextmanager
def bar(total: int | None, description: str, completed: int = 0) -> Iterator[Callable[..., None]]:
    """A bar in the terminal or a notebook, and what moves it on: `show(steps, text beside it)`."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[metrics]}"),
    )
    console = Console()
    if console.is_jupyter:  # rich's own way needs ipywidgets; a line that is written again does not
        console = Console(force_jupyter=False, force_terminal=True, width=100)
    with Progress(*columns, console=console) as shown:
        shown.disable = not console.is_terminal
        task = shown.add_task(description, total=total, completed=completed, metrics="")
        yield lambda steps, text="": shown.update(task, advance=steps, metrics=text)
