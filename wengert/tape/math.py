"""TensorFlow's names for what a small training program computes; `tf.math`, and in `tf` itself."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.autograd.record import recorder
from wengert.functions import creation, elementary, joining, math, products, reductions, shapes
from wengert.tape.variables import EagerTensor, eager, read
from wengert.tensor import Tensor

# The names are TensorFlow's, and some of them Python's.


def constant(value: Any, dtype: Any = None, shape: Any = None) -> EagerTensor:
    """A tensor of numbers, lists or an array; `shape` fills or reshapes.

    >>> constant([1.0, 2.0])
    tensor([1., 2.])
    """
    x = creation.tensor(np.asarray(value) if isinstance(value, Tensor) else value)
    if dtype is not None:
        x = x.to(dtype)
    if shape is not None:
        x = x.expand(shape).clone() if x.numel() == 1 else shapes.reshape(x, tuple(shape))
    return eager(x)


def convert_to_tensor(value: Any, dtype: Any = None) -> Any:
    """A tensor of `value`; tensors stay what they are, variables give their value."""
    if isinstance(value, Tensor):
        x = eager(read(value))
        return x if dtype is None or x.dtype == dtype else eager(x.to(dtype))
    if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
        return stack(value)
    return constant(value, dtype)


def _of(*args: Any) -> list[Any]:
    """Operands: tensors as they are now, numbers as numbers, anything else as tensors."""
    numbers = (int, float, complex)
    operands = [x if isinstance(x, numbers) else convert_to_tensor(x) for x in args]
    if not any(isinstance(x, Tensor) for x in operands):
        operands[0] = constant(operands[0])
    return operands


def _named(function: Callable[..., Any], name: str, said: str) -> Callable[..., EagerTensor]:
    @functools.wraps(function)
    def called(*args: Any) -> EagerTensor:
        return eager(function(*_of(*args)))

    called.__name__ = called.__qualname__ = name
    called.__module__ = __name__
    called.__doc__ = said
    return called


sqrt = _named(elementary.sqrt, "sqrt", "The square root.")
exp = _named(elementary.exp, "exp", "The exponential function.")
log = _named(elementary.log, "log", "The natural logarithm.")
sin = _named(elementary.sin, "sin", "The sine.")
cos = _named(elementary.cos, "cos", "The cosine.")
tan = _named(elementary.tan, "tan", "The tangent.")
tanh = _named(elementary.tanh, "tanh", "The hyperbolic tangent.")
sigmoid = _named(elementary.sigmoid, "sigmoid", "1 / (1 + exp(-x)).")
square = _named(math.square, "square", "x².")
abs = _named(math.abs, "abs", "The absolute value.")
negative = _named(elementary.neg, "negative", "-x.")
add = _named(math.add, "add", "x + y.")
subtract = _named(math.sub, "subtract", "x - y.")
multiply = _named(elementary.mul, "multiply", "x y, entry by entry.")
divide = _named(math.div, "divide", "x / y.")
pow = _named(recorder(np.power), "pow", "x to the power of y.")
maximum = _named(recorder(np.maximum), "maximum", "The larger of x and y.")
minimum = _named(recorder(np.minimum), "minimum", "The smaller of x and y.")
matmul = _named(products.matmul, "matmul", "The matrix product.")
zeros_like = _named(creation.zeros_like, "zeros_like", "Zeros of the shape and dtype of x.")
ones_like = _named(creation.ones_like, "ones_like", "Ones of the shape and dtype of x.")


def identity(x: Any) -> EagerTensor:
    """x itself, as another tensor."""
    return eager(_of(x)[0].clone())


def stop_gradient(x: Any) -> EagerTensor:
    """x as a constant: no gradient passes."""
    return eager(Tensor.detach(_of(x)[0]))


def cast(x: Any, dtype: Any) -> EagerTensor:
    """x in another dtype."""
    return eager(_of(x)[0].to(dtype))


def zeros(shape: Sequence[int], dtype: Any = None) -> EagerTensor:
    """Zeros; float32 unless told otherwise."""
    return eager(creation.zeros(tuple(shape), dtype=dtype))


def ones(shape: Sequence[int], dtype: Any = None) -> EagerTensor:
    """Ones; float32 unless told otherwise."""
    return eager(creation.ones(tuple(shape), dtype=dtype))


def reshape(x: Any, shape: Sequence[int]) -> EagerTensor:
    """The elements of x in another shape."""
    return eager(shapes.reshape(_of(x)[0], tuple(shape)))


def transpose(x: Any, perm: Sequence[int] | None = None) -> EagerTensor:
    """Dimensions in the order `perm`, reversed by default."""
    x = _of(x)[0]
    return eager(shapes.permute(x, tuple(perm or range(x.ndim)[::-1])))


def concat(values: Sequence[Any], axis: int) -> EagerTensor:
    """Tensors joined along a dimension that they have."""
    return eager(joining.cat([convert_to_tensor(x) for x in values], axis))


def stack(values: Sequence[Any], axis: int = 0) -> EagerTensor:
    """Tensors joined along a new dimension."""
    return eager(joining.stack([convert_to_tensor(x) for x in values], axis))


# ---- reductions ----------------------------------------------------------------------------


def reduce_sum(x: Any, axis: Any = None, keepdims: bool = False) -> EagerTensor:
    """The sum over dimensions, all of them by default."""
    return eager(reductions.sum(_of(x)[0], axis, keepdims))


def reduce_mean(x: Any, axis: Any = None, keepdims: bool = False) -> EagerTensor:
    """The mean over dimensions, all of them by default."""
    return eager(reductions.mean(_of(x)[0], axis, keepdims))


def reduce_max(x: Any, axis: Any = None, keepdims: bool = False) -> EagerTensor:
    """The largest element over dimensions, all of them by default."""
    return eager(reductions.amax(_of(x)[0], () if axis is None else axis, keepdims))


def reduce_min(x: Any, axis: Any = None, keepdims: bool = False) -> EagerTensor:
    """The smallest element over dimensions, all of them by default."""
    return eager(reductions.amin(_of(x)[0], () if axis is None else axis, keepdims))


def reduce_prod(x: Any, axis: int | None = None, keepdims: bool = False) -> EagerTensor:
    """The product over one dimension, over all of them by default."""
    x = _of(x)[0]
    if axis is not None:
        return eager(reductions.prod(x, axis, keepdims))
    product = reductions.prod(x)
    return eager(shapes.reshape(product, (1,) * x.ndim) if keepdims else product)
