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
from wengert.functions.declared import composed
from wengert.functions.methods import inplace
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
        abs absolute add addcdiv_ addcmul_ angle ceil clamp clamp_max_ clamp_min_ clip conj
        conj_physical_ div divide_ fix float_power_ floor frac_ frexp heaviside_ ldexp_ lerp_
        log_softmax logaddexp logaddexp2 nan_to_num_ nextafter_ positive pow reciprocal round rsqrt_
        sgn_ sign_ softmax square sub subtract trunc
    """,
    decompositions: "cholesky_inverse cholesky_solve geqrf orgqr ormqr triangular_solve",
    linalg: "det logdet matrix_exp matrix_power pinverse slogdet",
    fft: "istft stft",
    special: "igamma_ igammac_ logit_ mvlgamma_ xlogy_",
    comparison: """
        all allclose any bitwise_and_ bitwise_left_shift_ bitwise_not_ bitwise_or_
        bitwise_right_shift_ bitwise_xor_ eq_ equal gcd_ ge_ greater_ greater_equal_ gt_ is_nonzero
        is_same_size isclose isfinite isinf isnan isneginf isposinf isreal lcm_ le_ less_
        less_equal_ logical_and_ logical_not_ logical_or_ logical_xor_ lt_ ne_ not_equal_ signbit
    """,
    reductions: """
        amax amin aminmax argmax argmin count_nonzero cummax cummin cumprod_ cumsum_ dist
        logcumsumexp logsumexp max mean min nanmean nansum norm prod renorm_ std sum var
    """,
    statistics: "bincount corrcoef cov histc histogram nanquantile quantile",
    calculus: "diff",
    sorting: """
        argsort kthvalue median mode msort nanmedian sort topk unique unique_consecutive
    """,
    shapes: """
        adjoint as_strided broadcast_to clone contiguous diag diag_embed diagflat diagonal expand
        expand_as flatten flip fliplr flipud moveaxis movedim narrow permute ravel repeat
        repeat_interleave reshape reshape_as roll rot90 select squeeze sum_to_size swapaxes swapdims
        t tile trace transpose tril_ triu_ unflatten unfold unsqueeze view view_as
    """,
    joining: """
        chunk dsplit hsplit split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split
        unsafe_split_with_sizes vsplit
    """,
    indexing: """
        argwhere fill gather index_select masked_fill masked_scatter_ masked_select nonzero take
        take_along_dim
    """,
    scattering: """
        as_strided_scatter diagonal_scatter index_add_ index_copy_ index_fill_ index_put_
        index_reduce_ nonzero_static put scatter_ scatter_add_ scatter_reduce_ select_scatter
        slice_scatter
    """,
    products: """
        addbmm_ addmm_ addmv_ addr_ baddbmm_ bmm cross dot ger inner kron matmul mm mv outer vdot
    """,
    copies: "narrow_copy",
    random: "bernoulli multinomial",
}
"""Functions that are methods under their own names, by the module they are in. Those marked by `_`
have an in-place form as well, which writes the result into the first argument: `addcdiv_`.
"""

for _module, _names in METHODS.items():
    _write = inplace.constant if _module is comparison else composed
    for _name in _names.split():
        _function = getattr(_module, _name.rstrip("_"))
        setattr(Tensor, _name.rstrip("_"), _function)
        if _name.endswith("_"):
            setattr(Tensor, _name, _write(_function, _name))


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
