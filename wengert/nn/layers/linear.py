"""Linear maps and lookup tables."""

from __future__ import annotations

import math
from typing import Any, Self, TypeVar

import numpy as np

from wengert import dtypes
from wengert.autograd.record import recorder
from wengert.functions.creation import check_device, shape_of
from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn.functional.windows import linear
from wengert.nn.layers.applied import unusual
from wengert.nn.module import Module
from wengert.nn.parameter import Parameter
from wengert.rules import products
from wengert.tensor import Tensor, wrap

_affine = recorder(products.affine)


T = TypeVar("T")


def new_parameter(shape: Any, device: Any = None, dtype: Any = None) -> Parameter:
    """A parameter whose values are still to be drawn."""
    check_device(device)
    array = np.zeros(shape_of((shape,)), dtypes.or_default(dtype))
    return Parameter(wrap(array))


def new_parameters(module: Module, device: Any, dtype: Any, **shapes: Any) -> None:
    """Give a module parameters of these shapes, and None for a shape that is None."""
    for name, shape in shapes.items():
        parameter = None if shape is None else new_parameter(shape, device, dtype)
        module.register_parameter(name, parameter)


def draw_evenly(module: Module, fan_in: int) -> None:
    """Draw weight and bias anew, uniform within 1/sqrt(fan_in)."""
    bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
    for parameter in (module.weight, module.bias):
        if parameter is not None:
            init.uniform_(parameter, -bound, bound)


class Identity(Module):
    """Returns its input; takes any arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: T) -> T:
        return input


class Linear(Module):
    """y = x W^T + b, with W of shape (out_features, in_features).

    Both start uniform within 1/sqrt(in_features).

    >>> Linear(3, 2)
    Linear(in_features=3, out_features=2, bias=True)
    """

    weight: Parameter
    bias: Parameter  # None without, which types pass over

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        shapes = {"weight": (out_features, in_features), "bias": out_features if bias else None}
        new_parameters(self, device, dtype, **shapes)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        draw_evenly(self, self.in_features)

    def forward(self, input: Tensor) -> Tensor:
        try:
            # The dictionary is asked first: an attribute that Python does not find costs a call.
            parameters = self._parameters
            weight, bias = parameters["weight"], parameters["bias"]
            if weight is not None and bias is not None and weight._array.ndim == 2:
                return _affine(input, weight, bias)  # what `linear` does, without the call
        except (KeyError, RuntimeError, AttributeError):
            pass  # reparametrized, or shapes that differ, or no tensor: `linear` says so
        return linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Bilinear(Module):
    """y_k = x1 W_k x2 + b_k."""

    weight: Parameter
    bias: Parameter  # None without, which types pass over

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        new_parameters(self, device, dtype, weight=shape, bias=out_features if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        draw_evenly(self, self.in1_features)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


# ---- lookup tables -------------------------------------------------------------------------

_USUAL = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}


class _Table(Module):
    """A table of vectors, or the one that is given; that of `padding_idx` is 0."""

    weight: Parameter

    def _hold(
        self, rows: int, width: int, weight: Tensor | None, device: Any, dtype: Any,
        padding_idx: int | None, **settings: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if padding_idx is not None:
            if not -rows <= padding_idx < rows:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= rows
        self.num_embeddings, self.embedding_dim, self.padding_idx = rows, width, padding_idx
        for name, setting in settings.items():
            setattr(self, name, setting)
        if weight is None:
            self.weight = new_parameter((rows, width), device, dtype)
            self.reset_parameters()
        elif list(weight.shape) != [rows, width]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        else:
            self.weight = Parameter(weight)

    def reset_parameters(self) -> None:
        """Draw the table anew; the padding row is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight._array[self.padding_idx] = 0


class Embedding(_Table):
    """A table of vectors, looked up by number."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        self._hold(
            num_embeddings, embedding_dim, _weight, device, dtype, padding_idx, max_norm=max_norm,
            norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse,
        )  # fmt: skip
        if _freeze:
            self.weight.requires_grad_(False)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

    def extra_repr(self) -> str:
        usual = {"padding_idx": None, **_USUAL, "sparse": False}
        return f"{self.num_embeddings}, {self.embedding_dim}{unusual(self, **usual)}"

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """An Embedding around a given table."""
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, width = embeddings.shape
        settings = padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
        return cls(rows, width, *settings, embeddings, freeze)


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of embeddings."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        self._hold(
            num_embeddings, embedding_dim, _weight, device, dtype, padding_idx, max_norm=max_norm,
            norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq, mode=mode, sparse=sparse,
            include_last_offset=include_last_offset,
        )  # fmt: skip

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}{unusual(self, **_USUAL)}"
        return f"{text}, mode={self.mode!r}{unusual(self, padding_idx=None)}"
