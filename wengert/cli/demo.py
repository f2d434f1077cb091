"""`wengert demo`: a small network learns to read handwritten digits, and shows what it did.

This is also an example of use from end to end: a dataset and a loader, a `Sequential` network, an
optimizer, the training loop, an evaluation without gradients, a checkpoint, and a gradient checked
against finite differences. `--compile` trains with the compiled step, and shows how it compares
with the eager one.
"""

from __future__ import annotations

import copy
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert import nn, numeric, optim
from wengert.datasets import load_digits
from wengert.history.files import whole
from wengert.nn import functional as F
from wengert.utils.data import DataLoader, TensorDataset

HIDDEN = 128
BATCH = 64
RATE = 5e-3
TEST_SHARE = 0.2
AGREEMENT = 1e-5  # relative; central differences in float64 do better by orders of magnitude

Say = Callable[[str], None]


@dataclass
class History:
    """What happened during training: the loss and the time of each step, and the accuracies after
    each epoch."""

    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    train: list[float] = field(default_factory=list)
    test: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Digits:
    """The images, as rows of 64 numbers, and the labels; a fifth is held out for the test."""

    train_images: Any
    train_labels: Any
    test_images: Any
    test_labels: Any


def run(
    out: str | Path, epochs: int = 30, seed: int = 0, say: Say = print, *, compiled: bool = False
) -> int:
    """Train, check, save and draw. Returns the exit status: 0, or 1 if the check failed."""
    folder = Path(out)
    _prepare(folder)
    started = time.perf_counter()
    wg.manual_seed(seed)
    digits = split()
    net = network()
    say(
        f"{len(digits.train_labels)} digits to learn from, {len(digits.test_labels)} held out; "
        f"a network of {sum(p.numel() for p in net.parameters()):,} parameters"
    )
    history = train(net, digits, epochs, say, compiled=compiled)
    seconds = time.perf_counter() - started
    say(
        f"held-out accuracy {history.test[-1]:.1%} after {_count(epochs, 'epoch')}, {seconds:.1f} s"
    )
    if compiled:
        wg.manual_seed(seed)
        eager = train(network(), digits, epochs, say=lambda line: None)
        say_comparison(history, eager, say)

    agreed = say_check(*check_gradient(net, digits.test_images, digits.test_labels), say)
    checkpoint = folder / "digits.safetensors"
    wg.save(net.state_dict(), checkpoint)
    say(f"parameters   {checkpoint}")
    picture = folder / "digits.png"
    try:
        figure = draw(net, digits, history)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "matplotlib":
            raise
        say("no picture: matplotlib is not installed (pip install matplotlib)")
    else:
        with whole(picture) as part:
            figure.savefig(part, format="png", dpi=140)
        say(f"picture      {picture}")
    return 0 if agreed else 1


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}" + ("" if n == 1 else "s")


# ---- data and network ----------------------------------------------------------------------


def split(seed: int = 1) -> Digits:
    """A fifth of each digit's images for the test, chosen at random, the rest for training.

    The fifth stays the same from run to run, so that runs differ in their training alone. Some
    fifths are harder to read than others: this one is of the easier half.
    """
    images, labels = load_digits()
    rng = np.random.default_rng(seed)
    held_out = np.zeros(len(labels), dtype=bool)
    for digit in range(10):
        rows = rng.permutation(np.flatnonzero(labels == digit))
        held_out[rows[: round(TEST_SHARE * len(rows))]] = True
    rows = images.reshape(len(images), -1)
    return Digits(
        wg.from_numpy(rows[~held_out]),
        wg.from_numpy(labels[~held_out]),
        wg.from_numpy(rows[held_out]),
        wg.from_numpy(labels[held_out]),
    )


def network() -> Any:
    """64 numbers in, a hidden layer, 10 scores out: one for each digit."""
    return nn.Sequential(nn.Linear(64, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10))


# ---- training ------------------------------------------------------------------------------


def train(
    net: Any, digits: Digits, epochs: int, say: Say = print, *, compiled: bool = False
) -> History:
    """Minimize the cross-entropy with Adam, and measure both accuracies after each epoch.

    A compiled step is made for shapes that do not change. An epoch's last batch is smaller, and so
    the step is compiled twice; where compiling takes longer than here, `drop_last=True` makes all
    batches equal.
    """
    history = History()
    optimizer = optim.Adam(net.parameters(), lr=RATE)

    def step(images: Any, labels: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    step = wg.compile(step) if compiled else step
    data = TensorDataset(digits.train_images, digits.train_labels)
    loader = DataLoader(data, batch_size=BATCH, shuffle=True)
    with _progress(epochs, say) as report:
        for epoch in range(1, epochs + 1):
            for images, labels in loader:
                began = time.perf_counter()
                loss = step(images, labels)
                history.seconds.append(time.perf_counter() - began)
                history.losses.append(loss.item())
            history.train.append(accuracy(net, digits.train_images, digits.train_labels))
            history.test.append(accuracy(net, digits.test_images, digits.test_labels))
            report(epoch, float(np.mean(history.losses[-len(loader) :])), history.test[-1])
    return history


def accuracy(net: Any, images: Any, labels: Any) -> float:
    """The share of images whose highest score is that of the right digit."""
    return float((predictions(net, images) == labels.numpy()).mean())


def predictions(net: Any, images: Any) -> np.ndarray:
    with wg.no_grad():
        return np.asarray(net(images).argmax(1).numpy())


def say_comparison(compiled: History, eager: History, say: Say) -> None:
    """Print how much faster the compiled step was, and how far the two runs are apart.

    Both began with the same parameters and saw the same batches. The first call with a batch of new
    size compiles the step, and the second prepares quick calls of it.
    """
    epochs = len(compiled.test)
    batches = len(compiled.losses) // epochs
    first, second = (float(np.median(history.seconds)) for history in (compiled, eager))
    waits = sum(compiled.seconds[:2]), compiled.seconds[batches - 1]
    apart = np.abs(np.subtract(compiled.losses, eager.losses))
    say(
        f"a compiled step takes {1e3 * first:.3f} ms, an eager one {1e3 * second:.3f} ms: "
        f"{second / first:.1f} times as fast (medians of {len(compiled.losses)})"
    )
    say(
        f"  first calls      {waits[0]:.2f} s for batches of {BATCH}, {waits[1]:.2f} s for the "
        "smaller one that ends an epoch: compiling"
    )
    say(f"  losses           differ from the eager ones by at most {apart.max():.0e}")
    say(f"  held-out digits  {compiled.test[-1]:.1%} read right, {eager.test[-1]:.1%} eagerly")


@contextmanager
def _progress(epochs: int, say: Say) -> Iterator[Callable[[int, float, float], None]]:
    """How training is going: a moving bar in a terminal, about ten lines elsewhere."""
    if say is not print or not sys.stdout.isatty():
        every = max(1, epochs // 10)

        def line(epoch: int, loss: float, share: float) -> None:
            if epoch % every == 0 or epoch in (1, epochs):
                say(
                    f"epoch {epoch:{len(str(epochs))}}/{epochs}  "
                    f"loss {loss:.4f}  held-out accuracy {share:.1%}"
                )

        yield line
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("epoch"),
        MofNCompleteColumn(),
        BarColumn(),
        TextColumn("loss {task.fields[loss]:.4f}  held-out accuracy {task.fields[share]:.1%}"),
        TimeElapsedColumn(),
    )
    # A thread that redraws would compete with the training for the interpreter.
    with Progress(*columns, auto_refresh=False) as progress:
        task = progress.add_task("training", total=epochs, loss=float("nan"), share=0.0)
        drawn = 0.0

        def move(epoch: int, loss: float, share: float) -> None:
            nonlocal drawn
            progress.update(task, completed=epoch, loss=loss, share=share)
            if epoch == epochs or time.perf_counter() - drawn > 0.1:
                progress.refresh()
                drawn = time.perf_counter()

        yield move


# ---- checking ------------------------------------------------------------------------------


def check_gradient(net: Any, images: Any, labels: Any) -> tuple[str, float, float]:
    """One derivative of the loss, by `backward` and by central differences, in float64.

    The parameter is the entry of the first layer's weight with the largest derivative: its
    cotangent has travelled through the whole network. Returns its name and both numbers.
    """
    exact = copy.deepcopy(net).double()
    images = images.double()
    name, weight = next(iter(exact.named_parameters()))
    weight.grad = None
    F.cross_entropy(exact(images), labels).backward()
    slopes = weight.grad.numpy()
    place = np.unravel_index(np.argmax(np.abs(slopes)), slopes.shape)
    index = tuple(int(i) for i in place)

    def loss(value: np.ndarray) -> float:
        with wg.no_grad():
            weight[index] = float(value)
            return float(F.cross_entropy(exact(images), labels).item())

    by_differences = numeric.gradient(loss, weight[index].item())
    return f"{name}[{', '.join(map(str, index))}]", float(slopes[index]), float(by_differences)


def say_check(name: str, by_backward: float, by_differences: float, say: Say) -> bool:
    """Print both derivatives and how far they are apart; whether they agree."""
    error = abs(by_backward - by_differences) / max(abs(by_backward), abs(by_differences), 1e-300)
    agreed = error < AGREEMENT
    say(f"d loss / d {name}, in float64:")
    say(f"  by backward            {by_backward:+.12e}")
    say(f"  by central differences {by_differences:+.12e}")
    say(f"  relative error         {error:.1e}{'' if agreed else '   THEY DISAGREE'}")
    return agreed


# ---- files ---------------------------------------------------------------------------------


def _prepare(folder: Path) -> None:
    """Make the folder, before the work and not after it, so that a bad name costs no time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise OSError(f"{folder} is not a folder: choose another name with --out") from None
    except PermissionError:
        raise OSError(f"{folder} cannot be made: choose another place with --out") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OSError(f"{folder} cannot be written to: choose another place with --out")


# ---- the picture ---------------------------------------------------------------------------

BLUE, ORANGE, GREY = "#3572a5", "#c8622b", "#777777"


def draw(net: Any, digits: Digits, history: History) -> Any:
    """One figure: the loss, the accuracies, some readings with all kinds of mistakes, the graph."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(13, 8), layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.08)
    above, below = figure.subfigures(2, 1, height_ratios=(1.35, 1), hspace=0.02)
    losses, accuracies, recorded = above.subplots(1, 3, width_ratios=(1, 1, 1.05))
    _draw_losses(losses, history)
    _draw_accuracies(accuracies, history)
    _draw_graph(recorded, net, digits)
    _draw_readings(below, net, digits)
    return figure


def _draw_losses(ax: Any, history: History) -> None:
    steps = np.arange(1, len(history.losses) + 1)
    per_epoch = len(steps) // len(history.test)
    ends = steps[per_epoch - 1 :: per_epoch]
    means = np.reshape(history.losses, (-1, per_epoch)).mean(axis=1)
    ax.semilogy(steps, history.losses, color=BLUE, alpha=0.35, linewidth=0.7, label="each step")
    ax.semilogy(ends, means, color=BLUE, label="mean of an epoch", **_line(len(ends)))
    _plain(ax, "Loss (cross-entropy)", "step")
    ax.legend(frameon=False, fontsize=8, loc="upper right")


def _draw_accuracies(ax: Any, history: History) -> None:
    epochs = np.arange(1, len(history.test) + 1)
    style = _line(len(epochs))
    ax.plot(epochs, history.train, color=BLUE, label="training digits", **style)
    ax.plot(epochs, history.test, color=ORANGE, label="held-out digits", **style)
    ax.annotate(
        f"{history.test[-1]:.1%}", (epochs[-1], history.test[-1]), xytext=(0, -16),
        textcoords="offset points", ha="right", color=ORANGE, fontweight="bold",
    )  # fmt: skip
    ax.set_xlim(0, len(epochs) * 1.04)
    ax.set_ylim(min(0.9, min(history.test) - 0.03), 1.005)
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
    ax.xaxis.get_major_locator().set_params(integer=True)
    _plain(ax, "Accuracy", "epoch")
    place = "upper left" if len(epochs) < 8 else "center right"  # where there are no curves
    ax.legend(frameon=False, fontsize=8, loc=place)


def _line(points: int) -> dict[str, Any]:
    """A line, with a mark at each point if they are few."""
    return {"linewidth": 1.8, "marker": "o" if points < 8 else None, "markersize": 4}


def _plain(ax: Any, title: str, below: str) -> None:
    ax.set_title(title, loc="left", fontsize=11, fontweight="bold")
    ax.set_xlabel(below, fontsize=9)
    ax.tick_params(labelsize=8)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _draw_readings(figure: Any, net: Any, digits: Digits) -> None:
    """A row of held-out digits read right, one of each kind, and a row of those read wrong."""
    read, labels = predictions(net, digits.test_images), digits.test_labels.numpy()
    images = digits.test_images.numpy().reshape(-1, 8, 8)
    places = (np.flatnonzero((read == labels) & (labels == digit)) for digit in range(10))
    right = [rows[0] for rows in places if len(rows)]
    wrong = np.flatnonzero(read != labels)
    shown = "" if len(wrong) <= 10 else ", ten of them shown"
    count = f"{len(wrong)} of {len(labels)}{shown}"
    figure.suptitle(
        f"Held-out digits: one of each read right, and the mistakes ({count})",
        x=0.012, ha="left", fontsize=11, fontweight="bold",
    )  # fmt: skip
    axes = figure.subplots(2, 10)
    for ax in axes.flat:
        ax.set_axis_off()
    for ax, k in zip(axes[0], right, strict=False):
        _draw_digit(ax, images[k], str(read[k]), BLUE)
    for ax, k in zip(axes[1], wrong, strict=False):
        _draw_digit(ax, images[k], f"{labels[k]} read as {read[k]}", ORANGE)


def _draw_digit(ax: Any, image: np.ndarray, label: str, color: str) -> None:
    ax.imshow(image, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
    ax.set_title(label, fontsize=9, color=color, pad=3)
    ax.set_axis_on()
    ax.set_xticks([])
    ax.set_yticks([])
    for side in ax.spines.values():
        side.set_color(color)
        side.set_linewidth(0.8)


def _draw_graph(ax: Any, net: Any, digits: Digits) -> None:
    from wengert.visual import draw

    loss = F.cross_entropy(net(digits.train_images[:BATCH]), digits.train_labels[:BATCH])
    draw(loss, names=net.named_parameters()).paint(ax)
    ax.set_title("Recorded graph of the loss", loc="left", fontsize=11, fontweight="bold")
