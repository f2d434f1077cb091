"""Rows of several arrays at once, for functions that work along one axis or on single elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np

from wengert.compile.llvm.machine.control import repeat
from wengert.compile.llvm.machine.memory import offset
from wengert.compile.llvm.machine.values import I64, B, V

Axis: TypeAlias = tuple[int, tuple[int, ...]]
"""An axis that all arrays have: its extent, and each one's stride along it, in elements."""


def axes_of(
    shape: Sequence[int], *strides: Sequence[int], without: int | None = None
) -> list[Axis]:
    """All axes but one, and but those of one element."""
    axes = enumerate(zip(shape, zip(*strides, strict=True), strict=True))
    return [axis for i, axis in axes if i != without and axis[0] != 1]


def merged(axes: Iterable[Axis]) -> list[Axis]:
    """Axes in the order in which the last array lies, neighbours as one where all walk them so."""
    out: list[Axis] = []
    for n, strides in sorted(axes, key=lambda axis: -abs(axis[1][-1])):
        if out and out[-1][1] == tuple(n * s for s in strides):
            out[-1] = (out[-1][0] * n, strides)
        else:
            out.append((n, strides))
    return out


def moved(
    b: B, pointers: Sequence[V], index: V, strides: Sequence[int], dtypes: Sequence[np.dtype]
) -> list[V]:
    """The addresses `index` steps further on."""
    return [
        offset(b, p, b.mul(index, I64(s)), d) if s else p
        for p, s, d in zip(pointers, strides, dtypes, strict=True)
    ]


def each_row(
    b: B,
    rows: Sequence[Axis],
    pointers: list[V],
    dtypes: Sequence[np.dtype],
    body: Callable[[list[V]], None],
) -> None:
    """`body(addresses)` for all rows; their axes come outermost first."""
    if not rows:
        body(pointers)
        return
    (extent, strides), *inner = rows
    here = lambda i: moved(b, pointers, i, strides, dtypes)
    repeat(b, extent, lambda i: each_row(b, inner, here(i), dtypes, body))
