"""Comparisons, logic and bits: functions without a derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of
from wengert.autograd.misfits import told
from wengert.autograd.settings import refuse_dtype, refuses
from wengert.dispatch import all_true, called
from wengert.functions.arguments import (
    constant,
    into,
    of_tensors,
    operands_of,
    some_dims,
    tensor_of,
)
from wengert.functions.methods.operators import untracked
from wengert.functions.shapes import broadcast_shapes
from wengert.tensor import Tensor

Function = Callable[..., Any]


def _binary(function: Function, doc: str, tensors: int) -> Function:
    """The first `tensors` arguments may not be numbers: see `of_tensors`."""

    def apply(input: Any, other: Any, *, out: Any = None) -> Tensor:
        if out is not None:
            return into(out, apply, (input, other), {})
        if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
            input, other = operands_of(apply, tensors, (input, other))
        result = (
            NotImplemented
            if isinstance(other, (list, tuple))
            else untracked(function, input, other)
        )
        if result is NotImplemented:
            raise TypeError(
                f"{function.__name__}(): argument 'other' must be a Tensor or a number, not "
                f"{type(other).__name__}"
            )
        return result

    apply.__doc__ = doc
    return apply


def _unary(function: Function, doc: str, refused: str = "") -> Function:
    def apply(input: Any, *, out: Any = None) -> Tensor:
        if out is not None:
            return into(out, apply, (input,), {})
        refuse_dtype(apply.__name__, input, refused)
        return constant(function(tensor_of(input)._array))

    apply.__doc__ = doc
    return apply


eq = _binary(np.equal, "Where two tensors are equal.", 1)
ne = not_equal = _binary(np.not_equal, "Where two tensors differ.", 1)
lt = less = _binary(np.less, "Where input < other.", 1)
le = less_equal = _binary(np.less_equal, "Where input <= other.", 1)
gt = greater = _binary(np.greater, "Where input > other.", 1)
ge = greater_equal = _binary(np.greater_equal, "Where input >= other.", 1)
logical_and = _binary(np.logical_and, "Where both are nonzero.", 2)
logical_or = _binary(np.logical_or, "Where either is nonzero.", 2)
logical_xor = _binary(np.logical_xor, "Where exactly one is nonzero.", 2)
logical_not = _unary(np.logical_not, "Where x is zero.")
bitwise_and = _binary(np.bitwise_and, "The bits that both have.", 0)
bitwise_or = _binary(np.bitwise_or, "The bits that either has.", 0)
bitwise_xor = _binary(np.bitwise_xor, "The bits that exactly one has.", 0)
bitwise_not = _unary(np.invert, "The bits inverted; for truth values, not.", refused="fcV")
bitwise_left_shift = _binary(np.left_shift, "The bits moved up.", 0)
bitwise_right_shift = _binary(np.right_shift, "The bits moved down.", 0)
gcd = _binary(np.gcd, "The greatest common divisor.", 2)
lcm = _binary(np.lcm, "The least common multiple.", 2)
isnan = _unary(np.isnan, "Where x is NaN.")
isinf = _unary(np.isinf, "Where x is infinite.")
isfinite = _unary(np.isfinite, "Where x is neither infinite nor NaN.")
isposinf = _unary(np.isposinf, "Where x is plus infinity.", refused="c")
isneginf = _unary(np.isneginf, "Where x is minus infinity.", refused="c")
isreal = _unary(np.isreal, "Where the imaginary part is zero.")
signbit = _unary(
    lambda x: np.signbit(x) if dtypes.is_floating(x.dtype) else x < 0,
    "Where the sign is negative.",
    refused="c",
)

for _name, _value in list(globals().items()):
    if callable(_value) and getattr(_value, "__name__", "") == "apply":
        _value.__name__ = _value.__qualname__ = _name


@of_tensors(2)
def isclose(
    input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Where |input - other| <= atol + rtol * |other|."""
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    a, b = input, other
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{a.dtype} did not match {b.dtype}: isclose compares tensors of one dtype"
        )
    broadcast_shapes(a.shape, b.shape)
    return constant(np.isclose(a._array, b._array, rtol, atol, equal_nan))


@of_tensors(2)
def allclose(
    input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether |input - other| <= atol + rtol * |other| everywhere.

    >>> import wengert as wg
    >>> wg.allclose(wg.tensor([1.0]), wg.tensor([1.0 + 1e-7]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan)._array.all())


@of_tensors(2)
def equal(input: Any, other: Any) -> bool:
    """Whether two tensors have one shape and the same elements."""
    a, b = input._array, other._array
    if a.shape != b.shape:
        return False
    hit = a == b
    return all_true(hit) if type(hit) is np.ndarray else bool(np.all(hit))


@of_tensors(0, takes_out=True)
@refuses(elements="bc", test_elements="bc")
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Which elements occur among the test elements."""
    x, tests = array_of(elements), array_of(test_elements)
    if type(x) is type(tests) is np.ndarray and x.size * tests.size <= _FEW:
        if 0 < tests.size <= _SHORT:
            first, *rest = tests.reshape(-1)
            are_there = np.equal(x, first)
            for test in rest:
                are_there = are_there | np.equal(x, test)
        else:
            pairs = np.equal(x[..., None], tests.reshape(-1))
            are_there = np.logical_or.reduce(pairs, -1)  # without what NumPy has around it
        return constant(~are_there if invert else are_there)
    return constant(np.isin(x, tests, assume_unique, invert))


_SHORT = 4
_FEW = 1 << 12
"""So few pairs are compared one by one; of more, NumPy's isin sorts."""


def _truth(function: Function, reduce: Function, name: str, doc: str) -> Function:
    def apply(
        input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None, **names: Any
    ) -> Tensor:
        if out is not None:
            return into(out, apply, (input, dim, keepdim), names)
        dim, keepdim = names.pop("axis", dim), names.pop("keepdims", keepdim)
        if names:
            raise TypeError(f"{name}() got an unexpected keyword argument {next(iter(names))!r}")
        input = tensor_of(input)
        none = isinstance(dim, (tuple, list)) and not dim  # asks of each element, unlike a sum
        axis = () if none else some_dims(dim, input._array.ndim)
        array = input._array
        find = reduce if type(array) is np.ndarray else function  # without what NumPy has around it
        result = find(array, axis=axis, keepdims=keepdim)
        # uint8 was the type of masks once: it stays.
        return constant(result.astype(input.dtype) if input.dtype == dtypes.uint8 else result)

    return told(called(apply, name, doc))


all = _truth(
    np.all,
    np.logical_and.reduce,
    "all",
    "Whether all elements are nonzero, over all or some dimensions.",
)
any = _truth(
    np.any,
    np.logical_or.reduce,
    "any",
    "Whether any element is nonzero, over all or some dimensions.",
)


def is_nonzero(input: Any) -> bool:
    """Whether the single element of a tensor is not zero."""
    return bool(tensor_of(input))


@of_tensors(2)
def is_same_size(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape."""
    return input.shape == other.shape
