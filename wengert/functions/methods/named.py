"""Tensor's methods that are functions of the folder above, with nothing in between."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.operands import cast
from wengert.functions import (
    calculus,
    choosing,
    comparison,
    copies,
    decompositions,
    fft,
    indexing,
    joining,
    linalg,
    math,
    products,
    random,
    reductions,
    scattering,
    shapes,
    sorting,
    special,
    statistics,
)
from wengert.tensor import Tensor, attach


def _cast_to(dtype: np.dtype[Any]) -> Any:
    def method(self: Any, memory_format: Any = None) -> Tensor:
        return self if self._array.dtype is dtype else cast(self, dtype)

    method.__doc__ = f"The tensor as {dtype}."
    return method


def _where(self: Any, condition: Any, other: Any) -> Tensor:
    """The elements where the condition holds, those of `other` elsewhere."""
    return choosing.where(condition, self, other)


METHODS: dict[Any, str] = {
    math: """
        abs absolute add addcdiv addcmul angle ceil clamp clamp_max clamp_min clip conj
        conj_physical div divide fix float_power floor frac frexp heaviside ldexp lerp log_softmax
        logaddexp logaddexp2 nan_to_num nextafter positive pow reciprocal round rsqrt sgn sign
        softmax square sub subtract trunc
    """,
    decompositions: "cholesky_inverse cholesky_solve geqrf orgqr ormqr triangular_solve",
    linalg: "det logdet matrix_exp matrix_power pinverse slogdet",
    fft: "istft stft",
    special: "igamma igammac logit mvlgamma xlogy",
    comparison: """
        all allclose any bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
        bitwise_xor eq equal gcd ge greater greater_equal gt is_nonzero is_same_size isclose
        isfinite isinf isnan isneginf isposinf isreal lcm le less less_equal logical_and logical_not
        logical_or logical_xor lt ne not_equal signbit
    """,
    reductions: """
        amax amin aminmax argmax argmin count_nonzero cummax cummin cumprod cumsum dist logcumsumexp
        logsumexp max mean min nanmean nansum norm prod renorm std sum var
    """,
    statistics: "bincount corrcoef cov histc histogram nanquantile quantile",
    calculus: "diff",
    sorting: "argsort kthvalue median mode msort nanmedian sort topk unique unique_consecutive",
    shapes: """
        adjoint as_strided broadcast_to clone contiguous diag diag_embed diagflat diagonal expand
        expand_as flatten flip fliplr flipud moveaxis movedim narrow permute ravel repeat
        repeat_interleave reshape reshape_as roll rot90 select squeeze sum_to_size swapaxes swapdims
        t tile trace transpose tril triu unflatten unfold unsqueeze view view_as
    """,
    joining: """
        chunk dsplit hsplit split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split
        unsafe_split_with_sizes vsplit
    """,
    indexing: """
        argwhere fill gather index_select masked_fill masked_scatter masked_select nonzero take
        take_along_dim
    """,
    scattering: """
        as_strided_scatter diagonal_scatter index_add index_copy index_fill index_put index_reduce
        nonzero_static put scatter scatter_add scatter_reduce select_scatter slice_scatter
    """,
    products: """
        addbmm addmm addmv addr baddbmm bmm cross dot ger inner kron matmul mm mv outer vdot
    """,
    copies: "narrow_copy",
    random: "bernoulli multinomial",
}
"""Functions that are methods under their own names, by the module they are in."""

for _module, _names in METHODS.items():
    for _name in _names.split():
        setattr(Tensor, _name, getattr(_module, _name))


@attach
class OperatorMethods:
    """Methods that have another name than their function, or none.

    They stand in a class of their own because some are called like Python's types (`float`), which
    a class body with annotations could then not use.
    """

    __slots__ = ()

    __pos__ = math.positive
    cholesky = decompositions.old_cholesky
    inverse = linalg.inv
    lu = decompositions.old_lu
    lu_solve = decompositions.old_lu_solve
    qr = decompositions.old_qr
    svd = decompositions.old_svd
    where = _where

    def polygamma(self: Any, n: int) -> Tensor:
        """The n-th derivative of digamma."""
        return special.polygamma(n, self)

    float = _cast_to(dtypes.float32)
    double = _cast_to(dtypes.float64)
    half = _cast_to(dtypes.float16)
    long = _cast_to(dtypes.int64)
    int = _cast_to(dtypes.int32)
    short = _cast_to(dtypes.int16)
    char = _cast_to(dtypes.int8)
    byte = _cast_to(dtypes.uint8)
    bool = _cast_to(dtypes.bool)
    cfloat = _cast_to(dtypes.complex64)
    cdouble = _cast_to(dtypes.complex128)
