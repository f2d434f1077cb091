"""Products of stacks of small matrices.

BLAS multiplies large matrices well, and has to be called for each matrix of a stack; on small ones
its preparations cost as much as the arithmetic. The compiler's own product of a size that is
known takes half to nine tenths of that time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.rules import blocks
from wengert.rules.ways import implemented, way

ENOUGH = 1 << 22
"""So many multiplications in all are worth making code for."""
LARGE = 1 << 20
"""A product of more multiplications is left to BLAS, which may use several threads for it."""
MEDIUM = 1 << 19
"""A product of fewer is slower than that of BLAS, unless the second factor is transposed."""


def _pays(a: Any, b: Any) -> bool:
    if not (type(a) is type(b) is np.ndarray and a.ndim > 2 and _are_small_and_many(a, b)):
        return False
    turned = _turned(b)
    return None not in (_turned(a), turned) and (turned or _work(a, b) >= MEDIUM)


matmul = implemented(np.matmul)


@way(matmul, _pays)
def _compiled(a: Any, b: Any) -> Any:
    factors = [_turned(x) for x in (a, b)]
    arrays = [
        (np.swapaxes(x, -1, -2) if turned else x).reshape(-1, *_sizes(x, bool(turned)))
        for x, turned in zip((a, b), factors, strict=True)
    ]
    products = blocks.by_samples(_product, arrays, settings=tuple(factors))
    return products.reshape(*a.shape[:-1], b.shape[-1])


def _product(a: Any, b: Any, turn_a: bool, turn_b: bool) -> Any:
    return np.matmul(np.swapaxes(a, 1, 2) if turn_a else a, np.swapaxes(b, 1, 2) if turn_b else b)


def _are_small_and_many(a: Any, b: Any) -> bool:
    if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2]:
        return False  # repeated against each other, or an error
    count, work = math.prod(a.shape[:-2]), _work(a, b)
    return (
        a.dtype is b.dtype
        and a.dtype in blocks.EXACT
        and work <= LARGE
        and count > 1
        and count * work >= ENOUGH
    )


def _work(a: Any, b: Any) -> int:
    return a.shape[-2] * a.shape[-1] * b.shape[-1]


def _turned(x: Any) -> bool | None:
    """Whether matrices lie in memory transposed; None if in another way."""
    if x.flags.c_contiguous:
        return False
    return True if np.swapaxes(x, -1, -2).flags.c_contiguous else None


def _sizes(x: Any, turned: bool | None) -> tuple[int, ...]:
    return x.shape[:-3:-1] if turned else x.shape[-2:]
