"""Operators by the names that PyTorch's own library, ATen, has for them.

`torch.ops.aten.addmm.default(x, a, b)` is what exported programs write, `torch._C._nn.gelu` and
`torch._VF.lstm` what layers do. Most are functions of the public packages, whose name stands before
theirs (`special_erf`, `linalg_det`), or methods of tensors. The others are written out below.
"""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from wengert import dtypes
from wengert.autograd.misfits import told
from wengert.autograd.out import into
from wengert.autograd.settings import refuses
from wengert.dispatch import signature
from wengert.functions.arguments import one_dim
from wengert.functions.creation import empty, zeros_like
from wengert.functions.joining import cat
from wengert.functions.scattering import index_put, scatter_add
from wengert.nn import functional as F
from wengert.nn.functional.images import resized
from wengert.pytorch.absent import NoCounterpart
from wengert.pytorch.native import native_batch_norm
from wengert.tensor import Tensor

FAMILIES = ("special", "linalg", "fft")
"""Packages whose functions have the package's name before theirs."""


class SchemaError(RuntimeError, TypeError):
    """Arguments that an operator does not take: PyTorch's dispatcher raises a RuntimeError, and
    the same function of its Python module a TypeError."""


class Operator:
    """A function by its name in ATen; `operator.default`, `operator.Tensor` and so on are it too.

    PyTorch has one for each kind of arguments: here the function tells them apart. All take `out=`.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.__name__ = name
        self._function = function

    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        try:
            return self._called(args, kwargs, out)
        except TypeError as error:
            if isinstance(error, RuntimeError):
                raise
            raise SchemaError(f"aten::{self.__name__}: {error}") from error

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        if out is None:
            return self._function(*args, **kwargs)
        if "out" in signature(self._function)[0]:
            return self._function(*args, out=out, **kwargs)
        return into(out, self._function, args, kwargs)

    def __getattr__(self, overload: str) -> Operator:
        if overload.startswith("_"):
            raise AttributeError(overload)
        return self

    def __repr__(self) -> str:
        return f"aten.{self.__name__}"


def __getattr__(name: str) -> Operator:
    if name.startswith("__"):
        raise AttributeError(name)
    return operator(name)


def operator(name: str) -> Operator:
    """What is called this in ATen; an error that is an AttributeError if nothing is.

    >>> import wengert as wg
    >>> operator("linalg_det")(2 * wg.eye(3)), operator("_safe_softmax").default(wg.zeros(2), 0)
    (tensor(8.), tensor([0.5000, 0.5000]))
    """
    family, _, short = name.partition("_")
    front = importlib.import_module("wengert")
    places: list[tuple[Any, str]] = [(OWN, name), (front, name), (F, name), (Tensor, name)]
    if family in FAMILIES:
        places.append((getattr(front, family), short))
    for place, wanted in places:
        function = getattr(place, wanted, None)
        if callable(function) and not isinstance(function, type):
            return Operator(name, function)
    raise NoCounterpart(
        f"torch.ops.aten.{name} has no counterpart in wengert: no function of the package, of "
        "nn.functional or of tensors is called this. Write it with functions that are, or make "
        "one of your own differentiable with wengert.primitive."
    )


# ---- what has no public name ----------------------------------------------------------------


def slice(self: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    """`self[start:end:step]` along a dimension: a view."""
    return self[
        (builtins.slice(None),) * one_dim(dim, self.ndim) + (builtins.slice(start, end, step),)
    ]


def index(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """`self[i, :, j]`: None stands for a whole dimension."""
    return self[tuple(builtins.slice(None) if i is None else i for i in indices)]


def alias(self: Tensor) -> Tensor:
    """A view of all of it."""
    return self.view(self.shape)


def _to_copy(self: Tensor, *, dtype: Any = None, **options: Any) -> Tensor:
    """`to` that always copies."""
    return self.to(dtype=dtype or self.dtype, copy=True, **options)


def _safe_softmax(self: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """`softmax`, and 0 instead of NaN where all is minus infinity."""
    hidden = (self == -float("inf")).all(dim, keepdim=True)
    return F.softmax(self.masked_fill(hidden, 0), dim, dtype=dtype).masked_fill(hidden, 0)


@refuses(grad_output="biuc", output="biuc")
def _softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any
) -> Tensor:
    """The cotangent of softmax's input, by the one of its output and the output itself."""
    carried = grad_output * output
    return (carried - output * carried.sum(dim, keepdim=True)).to(input_dtype)


def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """What is kept, scaled."""
    return grad_output * mask * scale


def _native_batch_norm_legit(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, *more: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """`native_batch_norm`, whose running statistics may be left out."""
    running = () if isinstance(more[0], Tensor) else (None, None)
    return native_batch_norm(input, weight, bias, *running, *more)


def _batch_norm_with_update(
    input: Tensor, weight: Tensor | None, bias: Tensor | None,
    running_mean: Tensor, running_var: Tensor, momentum: float, eps: float,
) -> tuple[Tensor, ...]:  # fmt: skip
    """`native_batch_norm` in training; the last result is room that only a GPU needs."""
    y = native_batch_norm(*(input, weight, bias, running_mean, running_var), True, momentum, eps)
    return *y, empty(0, dtype=dtypes.uint8)


@refuses(grad_output="biuc")
def max_pool2d_with_indices_backward(
    grad_output: Tensor, self: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, indices: Tensor,
) -> Tensor:  # fmt: skip
    """The cotangent of max pooling's input: what arrives goes to where each maximum was."""
    nothing = zeros_like(self).flatten(-2)
    places, arriving = indices.flatten(-2), grad_output.flatten(-2)
    return scatter_add(nothing, -1, places, arriving).reshape(self.shape)


@refuses(self="biuc")
def _upsample_bilinear2d_aa(
    self: Tensor, output_size: Sequence[int] | None, align_corners: bool,
    scales_h: float | None = None, scales_w: float | None = None,
    *, scale_factors: Sequence[float] | None = None,
) -> Tensor:  # fmt: skip
    """`nn.functional.interpolate` with antialias, to a size and by factors that are given both."""
    if output_size is None and scale_factors is None:
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    factors = scale_factors or (scales_h, scales_w)
    pairs = zip(self.shape[2:], factors, strict=True)
    size = output_size or [int(n * (factor or 1)) for n, factor in pairs]
    steps = [factor and 1 / factor for factor in factors]
    return resized(self, list(size), steps, align_corners, "bilinear", True)


def _unsafe_masked_index(self: Tensor, mask: Tensor, indices: Any, fill: Any) -> Tensor:
    """`self[indices]` with indices cut off at the borders, and a number where the mask is False."""
    return self[_inside(self, indices)].masked_fill(~mask, fill)


def _unsafe_masked_index_put_accumulate(
    self: Tensor, mask: Tensor, indices: Any, values: Tensor
) -> Tensor:
    """`self` with values added at such indices, where the mask is True."""
    return index_put(self, _inside(self, indices), values.masked_fill(~mask, 0), accumulate=True)


def _inside(x: Tensor, indices: Any) -> tuple[Any, ...]:
    """Indices cut off at the borders of the dimensions that they stand for."""
    return tuple(
        i if i is None else i.clamp(-n, n - 1) for i, n in zip(indices, x.shape, strict=False)
    )


def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Tensors cut into pieces along a dimension, filled up with 0, and joined piece by piece."""
    if num_chunks < 1 or any(dim >= x.ndim or not x.numel() for x in tensors):
        raise RuntimeError(
            "_chunk_cat expects positive num_chunks, tensors with elements, and dim < ndim, got "
            f"{num_chunks} chunks along {dim} of shapes {[tuple(x.shape) for x in tensors]}"
        )
    rows = []
    for x in tensors:
        axis = one_dim(dim, x.ndim)
        missing = -x.shape[axis] % num_chunks
        x = F.pad(x, [0, 0] * (x.ndim - axis - 1) + [0, missing])
        rows.append(x.reshape(*x.shape[:axis], num_chunks, -1))
    return cat(rows, -1)


OWN = SimpleNamespace(**{f.__name__: told(f) for f in (
    slice, index, alias, _to_copy, _safe_softmax, _softmax_backward_data, native_dropout_backward,
    _native_batch_norm_legit, _batch_norm_with_update, max_pool2d_with_indices_backward,
    _upsample_bilinear2d_aa, _unsafe_masked_index, _unsafe_masked_index_put_accumulate, _chunk_cat,
)})  # fmt: skip
"""The functions of this file."""
