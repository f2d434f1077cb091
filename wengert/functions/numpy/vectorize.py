"""`np.vectorize` on Tensors: its function is called for each element, and the results are joined.

It is a class of Python's, and asks no kind of array what it means, so it is told here: a call with
a Tensor among its arguments is ours, all others are NumPy's as they were.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.dispatch import as_array
from wengert.tensor import Tensor

_numpys: Any = np.vectorize.__call__


@functools.wraps(_numpys)
def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    if any(isinstance(x, Tensor) for x in (*args, *kwargs.values())):
        return _vectorized(self, args, kwargs)
    return _numpys(self, *args, **kwargs)


np.vectorize.__call__ = _call  # type: ignore[method-assign]


def _vectorized(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results for all elements (or sub-arrays, if there is a signature) of the arguments."""
    places = [i for i in range(len(args)) if i not in self.excluded]
    names = [n for n in kwargs if n not in self.excluded]
    given = [as_array(x) for x in (*map(args.__getitem__, places), *map(kwargs.get, names))]

    def called(*values: Any) -> Any:
        whole = list(args)
        for place, value in zip(places, values, strict=False):
            whole[place] = value
        named = dict(zip(names, values[len(places) :], strict=True))
        return self.pyfunc(*whole, **(kwargs | named))

    loop, items = _broadcast(given, self.signature)
    results = [called(*(x[i] for x in items)) for i in np.ndindex(*loop)]
    if not results:
        raise ValueError("cannot call vectorize on size 0 inputs: there is nothing to join")
    if not isinstance(results[0], tuple):
        return _joined(results, loop, self.otypes and self.otypes[0])
    columns = zip(*results, strict=True)
    kinds = self.otypes or (None,) * len(results[0])
    return tuple(_joined(c, loop, kind) for c, kind in zip(columns, kinds, strict=True))


def _broadcast(given: list[Any], signature: str | None) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of the loop, and the arguments with that shape in front of what a call takes."""
    inside = [""] * len(given)
    if signature is not None:
        inside = re.findall(r"\(([^()]*)\)", signature.partition("->")[0])
    if len(inside) != len(given):
        raise TypeError(f"wrong number of arguments: {len(given)} for the signature {signature!r}")
    sizes: dict[str, int] = {}
    outer, inner = [], []
    for x, dims in zip(given, inside, strict=True):
        labels = [d.strip() for d in dims.split(",") if d.strip()]
        split = len(x.shape) - len(labels)
        if split < 0:
            raise ValueError(f"{len(x.shape)} dimensions, where {signature!r} asks for ({dims})")
        outer.append(tuple(x.shape[:split]))
        inner.append(tuple(x.shape[split:]))
        for label, size in zip(labels, inner[-1], strict=True):
            if sizes.setdefault(label, size) != size:
                raise ValueError(f"inconsistent size for core dimension {label!r}: {size} and "
                                 f"{sizes[label]}")  # fmt: skip
    loop = np.broadcast_shapes(*outer)
    both = zip(given, inner, strict=True)
    return loop, [np.broadcast_to(x, loop + own) for x, own in both]


def _joined(results: Sequence[Any], loop: tuple[int, ...], kind: Any) -> Any:
    """The results as one array, of the dtype that is asked for, or of the first as in NumPy."""
    parts = [as_array(x) for x in results]
    out = np.stack(parts)
    dtype = np.dtype(kind or parts[0].dtype)
    out = out if out.dtype == dtype else np.astype(out, dtype)
    return np.reshape(out, loop + tuple(parts[0].shape))
