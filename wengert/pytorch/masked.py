"""Reductions of the elements that a mask leaves, as `torch.masked` has them.

With running reductions and normalisations. An element where the mask is False counts as the
neutral element of the operation (0 for a sum, -inf for a maximum), so that a slice with nothing
left gives that element, or NaN for a mean. Masks broadcast to the input's shape; without one these
are the functions of tensors.

>>> import wengert as wg
>>> x = wg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
>>> wg.masked.mean(x, 1, mask=wg.tensor([True, False, True]))
tensor([2., 5.])
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.misfits import told
from wengert.autograd.operands import cast, no_order
from wengert.dispatch import called, taking
from wengert.functions import indexing, reductions, sorting
from wengert.functions import math as elementwise
from wengert.functions.arguments import Dim, some_dims, tensor_of
from wengert.functions.shapes import expand
from wengert.imports import lacking as _lacking
from wengert.tensor import Tensor


def _prepared(input: Any, dtype: Any, mask: Any) -> tuple[Tensor, Any]:
    """The input in the dtype asked for, and the mask in its shape; TypeError for another dtype."""
    input = tensor_of(input)
    if dtype is not None:
        input = cast(input, np.dtype(dtype))
    if mask is None:
        return input, None
    mask = tensor_of(mask, "mask")
    if mask.dtype != dtypes.bool:
        raise TypeError(
            f"mask must be a tensor of truth values, got {mask.dtype}. Use mask.bool()."
        )
    if mask.ndim > input.ndim:
        raise IndexError(f"the mask has {mask.ndim} dimensions, more than the input's {input.ndim}")
    return input, expand(mask, input.shape)


def _filled(input: Tensor, mask: Any, value: Any) -> Tensor:
    return input if mask is None else indexing.masked_fill(input, ~mask, value)


def _lowest(dtype: Any, sign: int) -> Any:
    """What is less than all numbers of a dtype (or greater, for sign -1)."""
    if dtypes.is_floating(dtype):
        return -sign * math.inf
    if dtype.kind == "c":
        raise no_order("amax" if sign > 0 else "amin", dtype)
    if dtype.kind == "b":
        return sign < 0
    info = np.iinfo(dtype)
    return int(info.min if sign > 0 else info.max)


def _wide(name: str, input: Any, dtype: Any) -> Any:
    """The dtype asked for; int64 for sums and products of integers."""
    summed = dtype is None and name.removeprefix("cum") in ("sum", "prod")
    return dtypes.int64 if summed and tensor_of(input).dtype.kind in "biu" else dtype


# ---- reductions ----------------------------------------------------------------------------


def _reduction(name: str, neutral: Any, doc: str) -> Any:
    """A reduction in which what the mask leaves out is `neutral`, by the dtype if that differs."""

    def reduce(
        input: Any, dim: Dim = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
    ) -> Tensor:
        input, mask = _prepared(input, _wide(name, input, dtype), mask)
        value = neutral(input.dtype) if callable(neutral) else neutral
        filled = _filled(input, mask, value)
        if name == "prod" and not filled.ndim:
            return filled  # the product is taken dimension by dimension, of which there are none
        return getattr(reductions, name)(filled, dim, keepdim)

    return called(reduce, name, doc, __name__)


_least, _most = partial(_lowest, sign=1), partial(_lowest, sign=-1)
sum = _reduction("sum", 0, "The sum of the elements left; 0 of none.")
prod = _reduction("prod", 1, "The product of the elements left; 1 of none.")
amax = _reduction(
    "amax", _least, "The largest of the elements left; -inf of none. Equal ones share the gradient."
)
amin = _reduction(
    "amin", _most, "The smallest of the elements left; inf of none. Equal ones share the gradient."
)
argmax = _reduction("argmax", _least, "The index of the largest of the elements left.")
argmin = _reduction("argmin", _most, "The index of the smallest of the elements left.")


def _count(input: Tensor, mask: Any, dim: Dim, keepdim: bool) -> Tensor:
    """How many elements are left, in the input's real dtype."""
    real = np.empty(0, input.dtype).real.dtype
    return reductions.sum(cast(mask, real), dim, keepdim)


def _needs_floats(name: str, input: Tensor) -> None:
    if not dtypes.is_inexact(input.dtype):
        raise ValueError(
            f"{name}(): Could not infer output dtype. Input dtype must be either a floating point "
            f"or complex dtype. Got: {input.dtype}. Use x.float(), or dtype=."
        )


def mean(
    input: Any, dim: Dim = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """The mean of the elements left; NaN of none."""
    input, mask = _prepared(input, dtype, mask)
    _needs_floats("mean", input)
    if mask is None:
        return reductions.mean(input, dim, keepdim)
    total = reductions.sum(_filled(input, mask, 0), dim, keepdim)
    return total * _inverse(_count(input, mask, dim, keepdim))


def _inverse(n: Tensor) -> Tensor:
    """1 / n, NaN where n is not positive: without a division that warns."""
    safe = n.clamp(min=1).reciprocal()
    return safe.masked_fill(n <= 0, math.nan)


def var(
    input: Any,
    dim: Dim = None,
    unbiased: bool | None = None,
    *,
    correction: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """Squared distances of the elements left from their mean, summed, over n - correction (1)."""
    input, mask = _prepared(input, dtype, mask)
    if not dtypes.is_inexact(input.dtype):
        input = cast(input, dtypes.get_default_dtype())
    if unbiased is not None and correction is not None:
        raise ValueError("Only one of unbiased and correction may be given")
    less = correction if correction is not None else int(unbiased is not False)
    if mask is None:
        axis = some_dims(dim, input.ndim)
        return reductions.var(input, axis, correction=less, keepdim=keepdim)
    center = mean(input, dim, keepdim=True, mask=mask).masked_fill(
        _count(input, mask, dim, True) == 0, 0
    )
    away = _filled(input - center, mask, 0)
    total = reductions.sum(reductions.real_square(away), dim, keepdim)
    return total * _inverse(_count(input, mask, dim, keepdim) - less)


@taking(var)
def std(*args: Any, **kwargs: Any) -> Tensor:
    """The square root of `var`."""
    return reductions.root(var(*args, **kwargs))


def median(
    input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """The middle one of the elements left, the lower of two; NaN of none."""
    input, mask = _prepared(input, dtype, mask)
    if not dtypes.is_floating(input.dtype):
        if mask is None:
            return sorting.median(input, dim, keepdim)[0]
        raise ValueError(
            f"median with a mask expects a floating point input, got {input.dtype}: use x.float()"
        )
    return sorting.nanmedian(_filled(input, mask, math.nan), dim, keepdim)[0]


@told
def norm(
    input: Any,
    ord: float | None = 2.0,
    dim: Dim = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """The p-norm of the elements left."""
    input, mask = _prepared(input, dtype, mask)
    p = 2.0 if ord is None else ord
    return reductions.vector_norm(
        _filled(input, mask, math.inf if p == -math.inf else 0), p, dim, keepdim
    )


def logsumexp(
    input: Any, dim: Dim = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """log(sum(exp(x))) of the elements left; -inf of none."""
    input, mask = _prepared(input, dtype, mask)
    if not dtypes.is_inexact(input.dtype):
        input = cast(input, dtypes.get_default_dtype())
    return reductions.logsumexp(_filled(input, mask, -math.inf), dim, keepdim)


# ---- element by element --------------------------------------------------------------------


def _along(home: Any, name: str, neutral: float, doc: str) -> Any:
    """A function along `dim` to which what the mask leaves out is `neutral`."""

    def function(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
        input, mask = _prepared(input, _wide(name, input, dtype), mask)
        return getattr(home, name)(_filled(input, mask, neutral), dim)

    return called(function, name, doc, __name__)


cumsum = _along(reductions, "cumsum", 0, "Running sums along `dim`, over the elements left.")
cumprod = _along(reductions, "cumprod", 1, "Running products along `dim`, over the elements left.")
softmax = _along(
    elementwise,
    "softmax",
    -math.inf,
    "exp(x) / sum(exp(x)) along `dim`, 0 for what is masked out; NaN where nothing is left.",
)
log_softmax = _along(
    elementwise,
    "log_softmax",
    -math.inf,
    "x - log(sum(exp(x))) along `dim`, -inf for what is masked out.",
)


def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """exp(-x) / sum(exp(-x)) along `dim`, 0 for what is masked out."""
    input, mask = _prepared(input, dtype, mask)
    return elementwise.softmax(-_filled(input, mask, math.inf), dim)


@told
def normalize(
    input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None
) -> Tensor:
    """The elements left over their p-norm along `dim`, which is taken to be at least `eps`."""
    input, mask = _prepared(input, dtype, mask)
    size = norm(input, ord, dim, keepdim=True, mask=mask)
    return _filled(input, mask, 0) / size.clamp(min=eps)


def logaddexp(
    input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None
) -> Tensor:
    """log(exp(a) + exp(b)), where what is masked out adds nothing."""
    input, input_mask = _prepared(input, dtype, input_mask)
    other, other_mask = _prepared(other, dtype, other_mask)
    return elementwise.logaddexp(
        _filled(input, input_mask, -math.inf), _filled(other, other_mask, -math.inf)
    )


_lacking(__name__)
