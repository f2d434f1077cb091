"""Pictures of a network in training: how gradients flow through it, and how its weights lie.

Each function draws into a new figure of matplotlib, or into `axes`, and returns the figure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.tensor import Tensor


def gradient_flow(named_parameters: Any, axes: Any = None) -> Any:
    """The mean and the largest size of each parameter's gradient, from the first layer to the last.

    Call it after `backward` with a module or its `named_parameters()`. The scale is logarithmic:
    bars that shrink from right to left are gradients that vanish on their way. ValueError if no
    parameter has a gradient.

    >>> import wengert as wg
    >>> net = wg.nn.Sequential(wg.nn.Linear(2, 3), wg.nn.Tanh(), wg.nn.Linear(3, 1))
    >>> net(wg.ones(1, 2)).sum().backward()
    >>> [text.get_text() for text in gradient_flow(net).axes[0].get_xticklabels()]
    ['0.weight', '0.bias', '2.weight', '2.bias']
    """
    gradients = [(name, p._grad) for name, p in _named(named_parameters) if p._grad is not None]
    if not gradients:
        raise ValueError("gradient_flow: no parameter has a gradient; call loss.backward() first")
    names = [name for name, _ in gradients]
    sizes = [np.abs(g._array) for _, g in gradients if g is not None]
    figure, axes = _axes(axes)
    places = np.arange(len(names))
    axes.bar(places, [x.max() if x.size else 0 for x in sizes], 0.8, alpha=0.35, label="largest")
    axes.bar(places, [x.mean() if x.size else 0 for x in sizes], 0.5, label="mean")
    axes.set_yscale("log")
    axes.set_ylabel("size of the gradient")
    axes.set_xticks(places, names, rotation=60, ha="right")
    axes.legend()
    return figure


def weights(named_parameters: Any, bins: int = 40, axes: Any = None) -> Any:
    """How the numbers of each parameter are distributed: one outline each.

    Call it with a module or its `named_parameters()`. Parameters whose numbers are not finite are
    named in the title, and drawn as far as they are.

    >>> import wengert as wg
    >>> figure = weights(wg.nn.Linear(4, 4))
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['weight', 'bias']
    """
    figure, axes = _axes(axes)
    broken = []
    for name, p in _named(named_parameters):
        numbers = p._array.reshape(-1)
        finite = numbers[np.isfinite(numbers)]
        if finite.size < numbers.size:
            broken.append(name)
        counts, edges = np.histogram(np.abs(finite) if finite.dtype.kind == "c" else finite, bins)
        axes.stairs(counts / max(1, counts.sum()), edges, label=name)
    axes.set_xlabel("value")
    axes.set_ylabel("share")
    if broken:
        axes.set_title(f"not finite: {', '.join(broken)}")
    axes.legend()
    return figure


def _named(parameters: Any) -> Iterable[tuple[str, Tensor]]:
    if hasattr(parameters, "named_parameters"):
        return list(parameters.named_parameters())
    return list(parameters)


def _axes(axes: Any) -> tuple[Any, Any]:
    if axes is None:
        from matplotlib.figure import Figure

        axes = Figure(figsize=(7, 4), layout="constrained").subplots()
    return axes.figure, axes
