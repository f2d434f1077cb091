"""Facts about NumPy's functions that hold for every kind of array; `functions/numpy/` adds to them.

They lie on the ground, so that kinds of arrays and Tensors read the same ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.dispatch import COMPARISONS, Function
from wengert.rules.elementwise import make_complex, nan_to_num
from wengert.rules.rule import RULES

COMPOSED: dict[Any, Function] = {}
"""Functions in terms of others that have rules: what they mean on Tensors, and so on every kind."""


def composed(*functions: Any) -> Callable[[Function], Function]:
    """A decorator: so are these functions composed of others that have rules.

    >>> @composed(np.fabs)
    ... def _fabs(x):
    ...     return np.maximum(x, -x)
    >>> COMPOSED.pop(np.fabs) is _fabs
    True
    """

    def note(meaning: Function) -> Function:
        assert COMPOSED.keys().isdisjoint(functions), "each function has one meaning"
        COMPOSED.update(dict.fromkeys(functions, meaning))
        return meaning

    return note


CONSTANT = {
    np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.argmax, np.argmin, np.argsort,
    np.argwhere, np.nonzero, np.searchsorted, np.digitize, np.count_nonzero, np.isclose,
    np.allclose,
    np.array_equal, np.isreal, np.iscomplex, np.iscomplexobj, np.isrealobj, np.all, np.any, np.isin,
    np.shape, np.ndim, np.size, np.result_type, np.may_share_memory, np.shares_memory,
    *COMPARISONS, np.logical_and,
    np.logical_or, np.logical_not, np.logical_xor, np.isnan, np.isinf, np.isfinite, np.isposinf,
    np.isneginf, np.signbit, np.array_str, np.array_repr, np.array2string, np.bitwise_and,
    np.bitwise_or, np.bitwise_xor, np.invert, np.spacing,
    np.linalg.matrix_rank, np.round, np.around, np.argpartition, np.array_equiv, np.flatnonzero,
    np.lexsort, np.nanargmax, np.nanargmin, np.iscomplex, np.common_type, np.tril_indices_from,
    np.triu_indices_from, np.diag_indices_from,
}  # fmt: skip
"""Functions that are constant almost everywhere, or about shapes."""

LIKE = frozenset({np.zeros_like, np.ones_like, np.empty_like, np.full_like})
"""Functions that make an array in the likeness of another, to be filled."""

ELEMENTWISE = {
    np.where, np.clip, np.isclose, np.real, np.imag, np.angle, np.round, np.around, np.sinc, np.i0,
    np.nan_to_num, np.isreal, np.iscomplex, np.isposinf, np.isneginf, np.fix,
    make_complex, nan_to_num,
}  # fmt: skip
"""Functions that take each element by itself, beside the ufuncs and the rules of that family."""


def takes_elements(function: Any) -> bool:
    """Whether a function takes each element by itself, its arguments broadcast."""
    if isinstance(function, np.ufunc):
        return function.signature is None
    rule = RULES.get(function)
    return function in ELEMENTWISE or (rule is not None and rule.family == "elementwise")


REDUCTIONS: dict[Any, Any] = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
    np.logical_or: np.any, np.logical_and: np.all,
}  # fmt: skip
"""The functions that reduce by a ufunc."""
REDUCED_BY = {function: ufunc for ufunc, function in REDUCTIONS.items()}
"""And the ufunc of each."""
RUNNING: dict[Any, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}
"""The functions that accumulate by one."""
