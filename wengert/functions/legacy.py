"""Names of older programs: tensor classes by dtype, and Variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.variable import Variable as Variable
from wengert.functions import creation
from wengert.tensor import Tensor


class TensorType(type):
    """A class whose instances are the tensors of one dtype."""

    dtype: np.dtype[Any]

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and x.dtype == cls.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        return creation.legacy_tensor(*args, dtype=cls.dtype, **kwargs)


def _tensor_type(name: str, dtype: np.dtype[Any]) -> Any:
    return TensorType(
        name, (), {"dtype": dtype, "__module__": "wengert", "__doc__": f"Tensors of {dtype}."}
    )


FloatTensor = _tensor_type("FloatTensor", dtypes.float32)
DoubleTensor = _tensor_type("DoubleTensor", dtypes.float64)
HalfTensor = _tensor_type("HalfTensor", dtypes.float16)
LongTensor = _tensor_type("LongTensor", dtypes.int64)
IntTensor = _tensor_type("IntTensor", dtypes.int32)
ShortTensor = _tensor_type("ShortTensor", dtypes.int16)
CharTensor = _tensor_type("CharTensor", dtypes.int8)
ByteTensor = _tensor_type("ByteTensor", dtypes.uint8)
BoolTensor = _tensor_type("BoolTensor", dtypes.bool)
ComplexFloatTensor = _tensor_type("ComplexFloatTensor", dtypes.complex64)
ComplexDoubleTensor = _tensor_type("ComplexDoubleTensor", dtypes.complex128)

TYPES = {
    kind.__name__: kind
    for kind in (
        FloatTensor, DoubleTensor, HalfTensor, LongTensor, IntTensor, ShortTensor, CharTensor,
        ByteTensor, BoolTensor, ComplexFloatTensor, ComplexDoubleTensor,
    )
}  # fmt: skip


def type_name(dtype: np.dtype[Any]) -> str:
    """What `x.type()` says, as PyTorch spells it."""
    names = {kind.dtype: name for name, kind in TYPES.items()}
    return f"torch.{names[dtype]}" if dtype in names else f"torch.{dtype}"


def dtype_of_type(kind: Any) -> np.dtype[Any]:
    """The dtype that a tensor class, its name, or a dtype stands for."""
    if isinstance(kind, str):
        place, _, name = kind.rpartition(".")
        if place.endswith("cuda"):
            creation.check_device("cuda")
        if name == "Tensor":
            return dtypes.get_default_dtype()
        if name not in TYPES:
            raise ValueError(f"invalid type: {kind!r}. Use one of {', '.join(TYPES)}, or a dtype.")
        return TYPES[name].dtype
    if kind is Tensor:
        return dtypes.get_default_dtype()
    return kind.dtype if isinstance(kind, TensorType) else dtypes.stated(kind)


def set_default_tensor_type(t: Any) -> None:
    """Make the dtype of a floating tensor class the default dtype."""
    dtypes.set_default_dtype(dtype_of_type(t))
