"""`scipy.spatial` on tensors: `distance.cdist` and its like."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dispatch import as_array
from wengert.functions.numpy.calls import root
from wengert.scipy.meaning import meaning, otherwise


def _cosine(a: Any, b: Any, p: Any) -> Any:
    lengths = np.sqrt(np.sum(a * a, -1)) * np.sqrt(np.sum(b * b, -1))
    return 1 - np.sum(a * b, -1) / lengths


_METRICS: dict[str, Any] = {
    "euclidean": lambda a, b, p: root(np.sum((a - b) ** 2, -1)),
    "sqeuclidean": lambda a, b, p: np.sum((a - b) ** 2, -1),
    "cityblock": lambda a, b, p: np.sum(np.abs(a - b), -1),
    "chebyshev": lambda a, b, p: np.max(np.abs(a - b), -1),
    "minkowski": lambda a, b, p: np.sum(np.abs(a - b) ** p, -1) ** (1 / p),
    "cosine": _cosine,
    "canberra": lambda a, b, p: np.sum(np.abs(a - b) / (np.abs(a) + np.abs(b)), -1),
    "braycurtis": lambda a, b, p: np.sum(np.abs(a - b), -1) / np.sum(np.abs(a + b), -1),
}
"""Distances between vectors along the last axis; `p` is that of Minkowski's."""


def _measured(metric: str, a: Any, b: Any, settings: dict[str, Any]) -> Any:
    known = _METRICS.get(metric)
    if known is None:
        raise TypeError(
            f"distances of tensors by metric={metric!r} are not there; those that are: "
            f"{', '.join(_METRICS)}"
        )
    p = settings.pop("p", 2)
    if settings:
        raise TypeError(f"distances of tensors do not take {next(iter(settings))}=")
    return known(a, b, p)


@meaning("spatial.distance")
def cdist(XA: Any, XB: Any, metric: str = "euclidean", p: Any = 2) -> Any:
    """The distances between the rows of two matrices.

    >>> import wengert as wg
    >>> distance.cdist(wg.tensor([[0.0, 0.0]]), wg.tensor([[3.0, 4.0], [0.0, 0.0]]))
    tensor([[5., 0.]])
    """
    a, b = as_array(XA), as_array(XB)
    return _measured(metric, a[:, None, :], b[None, :, :], {"p": p})


@meaning("spatial.distance")
def pdist(X: Any, metric: str = "euclidean", p: Any = 2) -> Any:
    """The distances between the rows of a matrix, each pair once."""
    x = as_array(X)
    i, j = np.triu_indices(x.shape[0], 1)
    return _measured(metric, x[i], x[j], {"p": p})


@meaning("spatial.distance")
def squareform(X: Any) -> Any:
    """A matrix of distances from the vector that `pdist` gives, or that from the matrix."""
    x = as_array(X)
    if len(x.shape) == 2:
        return x[np.triu_indices(x.shape[0], 1)]
    n = round((1 + (1 + 8 * x.shape[0]) ** 0.5) / 2)
    i, j = np.triu_indices(n, 1)
    places = np.full((n, n), x.shape[0])
    places[i, j] = places[j, i] = np.arange(x.shape[0])
    return np.concatenate([x, np.zeros_like(x[:1])])[places]


class _Distance:
    """`scipy.spatial.distance`, as a namespace."""

    cdist = staticmethod(cdist)
    pdist = staticmethod(pdist)
    squareform = staticmethod(squareform)

    def __getattr__(self, name: str) -> Any:
        return otherwise("spatial.distance")(name)


distance = _Distance()
__getattr__ = otherwise("spatial")
