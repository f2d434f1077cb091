"""What type checkers see of `results.py`; written by `python -m docs.generate.stubs`."""

import builtins
import types
import typing
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, NoReturn as _NoReturn

import numpy as _np

from wengert.tensor import Size as _Size, Tensor as _Tensor

_Number: typing.TypeAlias = builtins.complex | _np.number[_Any] | _np.bool
_TensorLike: typing.TypeAlias = (
    _Tensor | _np.ndarray[_Any, _Any] | _Number | builtins.list[_Any] | builtins.tuple[_Any, ...]
)
_Out: typing.TypeAlias = _Tensor | builtins.tuple[_Tensor, ...]
_Index: typing.TypeAlias = builtins.slice | types.EllipsisType | _TensorLike | None
_Dtype: typing.TypeAlias = _np.dtype[_Any] | builtins.type[_Any] | builtins.str
_Ints: typing.TypeAlias = builtins.int | _Tensor | _Sequence[builtins.int | _Tensor]

class max_result(typing.NamedTuple):
    values: _Tensor
    indices: _Tensor
class min_result(typing.NamedTuple):
    values: _Tensor
    indices: _Tensor
class median_result(typing.NamedTuple):
    values: _Tensor
    indices: _Tensor
class nanmedian_result(typing.NamedTuple):
    values: _Tensor
    indices: _Tensor
class mode_result(typing.NamedTuple):
    values: _Tensor
    indices: _Tensor
class sort_result(typing.NamedTuple):
    values: _Tensor
    indices: _Tensor
class topk_result(typing.NamedTuple):
    values: _Tensor
    indices: _Tensor
class kthvalue_result(typing.NamedTuple):
    values: _Tensor
    indices: _Tensor
class cummax_result(typing.NamedTuple):
    values: _Tensor
    indices: _Tensor
class cummin_result(typing.NamedTuple):
    values: _Tensor
    indices: _Tensor
class aminmax_result(typing.NamedTuple):
    min: _Tensor
    max: _Tensor
class slogdet_result(typing.NamedTuple):
    sign: _Tensor
    logabsdet: _Tensor
class qr_result(typing.NamedTuple):
    Q: _Tensor
    R: _Tensor
class eigh_result(typing.NamedTuple):
    eigenvalues: _Tensor
    eigenvectors: _Tensor
class eig_result(typing.NamedTuple):
    eigenvalues: _Tensor
    eigenvectors: _Tensor
class svd_result(typing.NamedTuple):
    U: _Tensor
    S: _Tensor
    Vh: _Tensor
class old_svd_result(typing.NamedTuple):
    U: _Tensor
    S: _Tensor
    V: _Tensor
class old_qr_result(typing.NamedTuple):
    Q: _Tensor
    R: _Tensor
class lstsq_result(typing.NamedTuple):
    solution: _Tensor
    residuals: _Tensor
    rank: _Tensor
    singular_values: _Tensor
class inv_ex_result(typing.NamedTuple):
    inverse: _Tensor
    info: _Tensor
class solve_ex_result(typing.NamedTuple):
    result: _Tensor
    info: _Tensor
class cholesky_ex_result(typing.NamedTuple):
    L: _Tensor
    info: _Tensor
class lu_result(typing.NamedTuple):
    P: _Tensor
    L: _Tensor
    U: _Tensor
class lu_unpack_result(typing.NamedTuple):
    P: _Tensor
    L: _Tensor
    U: _Tensor
class lu_factor_result(typing.NamedTuple):
    LU: _Tensor
    pivots: _Tensor
class lu_factor_ex_result(typing.NamedTuple):
    LU: _Tensor
    pivots: _Tensor
    info: _Tensor
class ldl_factor_result(typing.NamedTuple):
    LD: _Tensor
    pivots: _Tensor
class ldl_factor_ex_result(typing.NamedTuple):
    LD: _Tensor
    pivots: _Tensor
    info: _Tensor
class geqrf_result(typing.NamedTuple):
    a: _Tensor
    tau: _Tensor
class triangular_solve_result(typing.NamedTuple):
    solution: _Tensor
    cloned_coefficient: _Tensor
class histogram_result(typing.NamedTuple):
    hist: _Tensor
    bin_edges: _Tensor
class histogramdd_result(typing.NamedTuple):
    hist: _Tensor
    bin_edges: builtins.tuple[_Tensor, ...]
class frexp_result(typing.NamedTuple):
    mantissa: _Tensor
    exponent: _Tensor
