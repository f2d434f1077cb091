"""What type checkers see of `wengert`; written by `python -m docs.generate.stubs`."""

import builtins
import types
import typing
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, NoReturn as _NoReturn

import numpy as _np

import wengert.functions.random
from wengert.functions import results as _results
from wengert.functions.results import _Number as _Number, _TensorLike as _TensorLike, _Out as _Out, _Index as _Index, _Dtype as _Dtype, _Ints as _Ints
from wengert.tensor import Size as _Size, Tensor as _Tensor

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from numpy import dtype as dtype
from wengert import autograd as autograd
from wengert.dtypes import bool as bool
from wengert.dtypes import can_cast as can_cast
from wengert.dtypes import cdouble as cdouble
from wengert.dtypes import cfloat as cfloat
from wengert.dtypes import complex64 as complex64
from wengert.dtypes import complex128 as complex128
from wengert.dtypes import double as double
from wengert.dtypes import float as float
from wengert.dtypes import float16 as float16
from wengert.dtypes import float32 as float32
from wengert.dtypes import float64 as float64
from wengert.dtypes import get_default_dtype as get_default_dtype
from wengert.dtypes import half as half
from wengert.dtypes import int as int
from wengert.dtypes import int8 as int8
from wengert.dtypes import int16 as int16
from wengert.dtypes import int32 as int32
from wengert.dtypes import int64 as int64
from wengert.dtypes import long as long
from wengert.dtypes import promote_types as promote_types
from wengert.dtypes import set_default_dtype as set_default_dtype
from wengert.dtypes import short as short
from wengert.dtypes import uint8 as uint8
from wengert.dtypes import uint16 as uint16
from wengert.dtypes import uint32 as uint32
from wengert.dtypes import uint64 as uint64
def cumulative_trapezoid(y: _Any, x: _Any = None, *, dx: builtins.float | None = None, dim: builtins.int = -1) -> _Tensor:
    """The running integral of sampled values by the trapezoidal rule, one element shorter."""
def diff(input: _TensorLike, n: builtins.int = 1, dim: builtins.int = -1, prepend: _Any = None, append: _Any = None, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """Differences of neighbours along `dim`, n times over."""
def gradient(input: _TensorLike, *, spacing: _Any = None, dim: _Any = None, edge_order: builtins.int = 1) -> builtins.tuple[_Tensor, ...]:
    """Central differences within, one-sided ones at the ends, along each dimension asked for."""
def trapezoid(y: _Any, x: _Any = None, *, dx: builtins.float | None = None, dim: builtins.int = -1) -> _Tensor:
    """The integral of sampled values by the trapezoidal rule: sum (x1 - x0) (y0 + y1) / 2."""
def trapz(y: _Any, x: _Any = None, *, dx: builtins.float | None = None, dim: builtins.int = -1) -> _Tensor:
    """The integral of sampled values by the trapezoidal rule: sum (x1 - x0) (y0 + y1) / 2."""
def vander(x: _Any, N: builtins.int | None = None, increasing: builtins.bool = False) -> _Tensor:
    """The powers of a vector's elements as columns, highest first unless `increasing`."""
def where(condition: _TensorLike, input: _Tensor | _np.ndarray | _Callable[..., _Any] | builtins.complex | None = None, other: _Tensor | _np.ndarray | _Callable[..., _Any] | builtins.complex | None = None, *operands: _TensorLike, out: _Out | None = None) -> _Tensor:
    """`input` where the condition holds, `other` elsewhere; given only the condition, its indices."""
def all(input: _TensorLike, dim: _Any = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """Whether all elements are nonzero, over all or some dimensions."""
def allclose(input: _TensorLike, other: _TensorLike, rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = False) -> builtins.bool:
    """Whether |input - other| <= atol + rtol * |other| everywhere."""
def any(input: _TensorLike, dim: _Any = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """Whether any element is nonzero, over all or some dimensions."""
def bitwise_and(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The bits that both have."""
def bitwise_left_shift(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The bits moved up."""
def bitwise_not(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The bits inverted; for truth values, not."""
def bitwise_or(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The bits that either has."""
def bitwise_right_shift(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The bits moved down."""
def bitwise_xor(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The bits that exactly one has."""
def eq(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where two tensors are equal."""
def equal(input: _TensorLike, other: _TensorLike) -> builtins.bool:
    """Whether two tensors have one shape and the same elements."""
def gcd(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The greatest common divisor."""
def ge(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where input >= other."""
def greater(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where input > other."""
def greater_equal(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where input >= other."""
def gt(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where input > other."""
def is_nonzero(input: _TensorLike) -> builtins.bool:
    """Whether the single element of a tensor is not zero."""
def is_same_size(input: _TensorLike, other: _TensorLike) -> builtins.bool:
    """Whether two tensors have the same shape."""
def isclose(input: _TensorLike, other: _TensorLike, rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = False) -> _Tensor:
    """Where |input - other| <= atol + rtol * |other|."""
def isfinite(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where x is neither infinite nor NaN."""
def isin(elements: _TensorLike, test_elements: _TensorLike, *, assume_unique: builtins.bool = False, invert: builtins.bool = False, out: _Out | None = None) -> _Tensor:
    """Which elements occur among the test elements."""
def isinf(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where x is infinite."""
def isnan(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where x is NaN."""
def isneginf(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where x is minus infinity."""
def isposinf(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where x is plus infinity."""
def isreal(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where the imaginary part is zero."""
def lcm(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The least common multiple."""
def le(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where input <= other."""
def less(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where input < other."""
def less_equal(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where input <= other."""
def logical_and(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where both are nonzero."""
def logical_not(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where x is zero."""
def logical_or(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where either is nonzero."""
def logical_xor(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where exactly one is nonzero."""
def lt(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where input < other."""
def ne(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where two tensors differ."""
def not_equal(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where two tensors differ."""
def signbit(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Where the sign is negative."""
def alias_copy(input: _Tensor, *, out: _Out | None = None) -> _Tensor:
    """As `alias`, but a copy."""
def as_strided_copy(input: _TensorLike, size: _Sequence[builtins.int], stride: _Sequence[builtins.int], storage_offset: builtins.int | None = None, *, out: _Out | None = None) -> _Tensor:
    """As `as_strided`, but a copy."""
def detach_copy(input: _Tensor, *, out: _Out | None = None) -> _Tensor:
    """As `detach`, but a copy."""
def diagonal_copy(input: _TensorLike, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1, *, out: _Out | None = None) -> _Tensor:
    """As `diagonal`, but a copy."""
def expand_copy(input: _TensorLike, *shape: _Ints, size: _Ints | None = None, implicit: builtins.bool = False, out: _Out | None = None) -> _Tensor:
    """As `expand`, but a copy."""
def narrow_copy(input: _TensorLike, dim: builtins.int, start: _Any, length: builtins.int, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """As `narrow`, but a copy."""
def permute_copy(input: _TensorLike, *axes: _Any, dims: _Ints | None = None, out: _Out | None = None) -> _Tensor:
    """As `permute`, but a copy."""
def select_copy(input: _TensorLike, dim: builtins.int, index: builtins.int, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """As `select`, but a copy."""
def slice_copy(input: _TensorLike, dim: builtins.int = 0, start: _Any = None, end: _Any = None, step: builtins.int = 1, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """As `x[start:end:step]`, but a copy."""
def split_copy(tensor: _TensorLike, split_size_or_sections: _Any, dim: builtins.int = 0, *, out: _Out | None = None, axis: builtins.int = ..., split_size: _Any = ..., input: _TensorLike = ...) -> builtins.tuple[_Tensor, ...]:
    """As `split`, but a copy."""
def split_with_sizes_copy(input: _TensorLike, split_sizes: _Sequence[builtins.int], dim: builtins.int = 0, *, out: _Out | None = None, axis: builtins.int = ...) -> builtins.tuple[_Tensor, ...]:
    """As `split_with_sizes`, but a copy."""
def squeeze_copy(input: _TensorLike, dim: _Any = None, *, axis: _Any = None, out: _Out | None = None) -> _Tensor:
    """As `squeeze`, but a copy."""
def t_copy(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """As `t`, but a copy."""
def transpose_copy(input: _TensorLike, dim0: builtins.int, dim1: builtins.int, *, out: _Out | None = None) -> _Tensor:
    """As `transpose`, but a copy."""
def unbind_copy(input: _TensorLike, dim: builtins.int = 0, *, axis: builtins.int | None = None, out: _Out | None = None) -> builtins.tuple[_Tensor, ...]:
    """As `unbind`, but a copy."""
def unfold_copy(input: _TensorLike, dimension: builtins.int, size: builtins.int, step: builtins.int, *, out: _Out | None = None) -> _Tensor:
    """As `unfold`, but a copy."""
def unsqueeze_copy(input: _TensorLike, dim: builtins.int, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """As `unsqueeze`, but a copy."""
def view_as_complex_copy(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """As `view_as_complex`, but a copy."""
def view_as_real_copy(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """As `view_as_real`, but a copy."""
def view_copy(input: _TensorLike, *shape: _Ints, dtype: _Dtype | None = None, size: _Ints | None = None, out: _Out | None = None) -> _Tensor:
    """As `view`, but a copy."""
def as_tensor(data: _Any, dtype: _Dtype | None = None, device: _Any = None) -> _Tensor:
    """`data` as a tensor, sharing memory with a NumPy array or tensor where that is possible."""
def asarray(obj: _Any, *, dtype: _Dtype | None = None, device: _Any = None, copy: builtins.bool | None = None, requires_grad: builtins.bool = False) -> _Tensor:
    """`obj` as a tensor; memory is shared unless `copy` is true."""
def empty(*sizes: _Ints, dtype: _Dtype | None = ..., memory_format: _Any = None, device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None, size: _Ints = ...) -> _Tensor:
    """A tensor of the given shape, its values left as they are in memory."""
def empty_like(input: _TensorLike, *, dtype: _Dtype | None = None, device: _Any = None, requires_grad: builtins.bool = False, layout: _Any = None, pin_memory: builtins.bool = False, memory_format: _Any = None) -> _Tensor:
    """An uninitialised tensor of the shape and dtype of `input`."""
def empty_permuted(size: _Ints, physical_layout: _Any, **options: _Any) -> _Tensor:
    """An uninitialised tensor whose dimensions lie in memory in the order given, outermost first."""
def empty_strided(size: _Ints, stride: _Ints, *, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """An uninitialised tensor with the sizes and strides (in elements) given."""
def from_dlpack(x: _Any) -> _Tensor:
    """A tensor that shares the memory of any array that speaks DLPack, or of a capsule of one."""
from wengert.functions.creation import from_numpy as from_numpy
def full(size: _Ints, fill_value: builtins.complex, *, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """A tensor of the given shape filled with one value, whose kind decides the dtype."""
def full_like(input: _TensorLike, fill_value: _Any, *, dtype: _Dtype | None = None, **options: _Any) -> _Tensor:
    """One value repeated in the shape and dtype of `input`."""
def ones(*sizes: _Ints, dtype: _Dtype | None = ..., memory_format: _Any = None, device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None, size: _Ints = ...) -> _Tensor:
    """A tensor of the given shape filled with 1."""
def ones_like(input: _TensorLike, *, dtype: _Dtype | None = None, device: _Any = None, requires_grad: builtins.bool = False, layout: _Any = None, pin_memory: builtins.bool = False, memory_format: _Any = None) -> _Tensor:
    """Ones of the shape and dtype of `input`."""
def tensor(data: _Any, *, dtype: _Dtype | None = None, device: _Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> _Tensor:
    """A tensor with a copy of `data`: numbers, nested lists, an array or tensor of any library."""
def to_dlpack(tensor: _Tensor) -> _Any:
    """The tensor's memory as a DLPack capsule, which `from_dlpack` of another library takes."""
def zeros(*sizes: _Ints, dtype: _Dtype | None = ..., memory_format: _Any = None, device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None, size: _Ints = ...) -> _Tensor:
    """A tensor of the given shape filled with 0."""
def zeros_like(input: _TensorLike, *, dtype: _Dtype | None = None, device: _Any = None, requires_grad: builtins.bool = False, layout: _Any = None, pin_memory: builtins.bool = False, memory_format: _Any = None) -> _Tensor:
    """Zeros of the shape and dtype of `input`."""
def cholesky_inverse(input: _TensorLike, upper: builtins.bool = False, *, out: _Out | None = None) -> _Tensor:
    """The inverse of A, from its Cholesky factor."""
def cholesky_solve(B: _TensorLike, L: _TensorLike, upper: builtins.bool = False, *, out: _Out | None = None, input: _TensorLike = ...) -> _Tensor:
    """X with A X = B, from the Cholesky factor of A: two triangular systems."""
def geqrf(input: _TensorLike, *, out: _Out | None = None) -> _results.geqrf_result:
    """Householder's form of QR: R on and above the diagonal, the reflections below it and in tau."""
def lobpcg(A: _TensorLike, k: builtins.int | None = None, B: _TensorLike | None = None, X: _Any = None, n: builtins.int | None = None, iK: _Any = None, niter: builtins.int | None = None, tol: builtins.float | None = None, largest: builtins.bool | None = None, method: builtins.str | None = None, tracker: _Any = None, ortho_iparams: _Any = None, ortho_fparams: _Any = None, ortho_bparams: _Any = None) -> builtins.tuple[_Tensor, _Tensor]:
    """The k largest (or smallest) eigenvalues of A v = w B v, and their vectors: V^H B V = 1."""
def lu_unpack(LU_data: _TensorLike, LU_pivots: _TensorLike, unpack_data: builtins.bool = True, unpack_pivots: builtins.bool = True, *, out: _Out | None = None) -> _results.lu_unpack_result:
    """P, L and U from what `lu_factor` gives; what is not asked for is empty."""
def cholesky(input: _TensorLike, upper: builtins.bool = False, *, out: _Out | None = None) -> _Tensor:
    """`linalg.cholesky`, under its older signature."""
def lu(A: _TensorLike, pivot: builtins.bool = True, get_infos: builtins.bool = False, *, out: _Out | None = None) -> builtins.tuple[_Tensor, ...]:
    """`linalg.lu_factor`, under its older signature; with `get_infos` a third result, the codes."""
def lu_solve(b: _Any, LU_data: _TensorLike, LU_pivots: _TensorLike, *, out: _Out | None = None, input: _TensorLike = ...) -> _Tensor:
    """`linalg.lu_solve`, with its arguments in their older order."""
def qr(input: _TensorLike, some: builtins.bool = True, *, out: _Out | None = None) -> _results.old_qr_result:
    """`linalg.qr`, under its older signature."""
def svd(input: _TensorLike, some: builtins.bool = True, compute_uv: builtins.bool = True, *, out: _Out | None = None) -> _results.old_svd_result:
    """`linalg.svd` under its older signature: V instead of its conjugate transpose."""
def orgqr(input: _TensorLike, tau: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The first n columns of H_1 H_2 ... H_k, with H_i = 1 - tau_i v_i v_i^H."""
def ormqr(input: _TensorLike, tau: _TensorLike, other: _TensorLike, left: builtins.bool = True, transpose: builtins.bool = False, *, out: _Out | None = None) -> _Tensor:
    """Q C, or Q^H C if `transpose`, or C Q and C Q^H if not `left`, Q as `geqrf` represents it."""
def pca_lowrank(A: _TensorLike, q: builtins.int | None = None, center: builtins.bool = True, niter: builtins.int = 2) -> builtins.tuple[_Tensor, _Tensor, _Tensor]:
    """The q principal components of the rows of A, as `svd_lowrank`: of A less its mean row."""
def svd_lowrank(A: _TensorLike, q: builtins.int | None = 6, niter: builtins.int = 2, M: _Any = None) -> builtins.tuple[_Tensor, _Tensor, _Tensor]:
    """The q largest singular values of A - M, with their vectors U and V, approximately."""
def triangular_solve(b: _Any, A: _TensorLike, upper: builtins.bool = True, transpose: builtins.bool = False, unitriangular: builtins.bool = False, *, out: _Out | None = None, input: _TensorLike = ...) -> _results.triangular_solve_result:
    """`linalg.solve_triangular` under its older signature; the second result is A."""
from wengert.functions.device import channels_last as channels_last
from wengert.functions.device import channels_last_3d as channels_last_3d
from wengert.functions.device import contiguous_format as contiguous_format
from wengert.functions.device import device as device
from wengert.functions.device import layout as layout
from wengert.functions.device import memory_format as memory_format
from wengert.functions.device import preserve_format as preserve_format
from wengert.functions.device import sparse_coo as sparse_coo
from wengert.functions.device import sparse_csr as sparse_csr
from wengert.functions.device import strided as strided
from wengert.functions.elementary import *
def istft(input: _TensorLike, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: _TensorLike | None = None, center: builtins.bool = True, normalized: builtins.bool = False, onesided: builtins.bool | None = None, length: builtins.int | None = None, return_complex: builtins.bool = False) -> _Tensor:
    """The signal whose short-time transform comes closest to `input`, in the least-squares sense."""
def stft(input: _TensorLike, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: _TensorLike | None = None, center: builtins.bool = True, pad_mode: builtins.str = 'reflect', normalized: builtins.bool = False, onesided: builtins.bool | None = None, return_complex: builtins.bool | None = None, align_to_window: builtins.bool | None = None) -> _Tensor:
    """The Fourier transforms of windows of a signal, `hop_length` apart: (..., frequency, frame)."""
def argwhere(input: _TensorLike) -> _Tensor:
    """The indices of the elements that are not zero, one row each."""
def fill(input: _TensorLike, value: _TensorLike) -> _Tensor:
    """One number in the shape of `input`; the gradient of `input` is zero."""
def gather(input: _TensorLike, dim: builtins.int, index: _TensorLike, *, sparse_grad: builtins.bool = False, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """`out[i][j] = input[index[i][j]][j]` for dim 0, and so on along another dimension."""
def index_select(input: _TensorLike, dim: builtins.int, index: _TensorLike, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """The slices along `dim` that a vector of indices names."""
def masked_fill(input: _TensorLike, mask: _TensorLike, value: _TensorLike) -> _Tensor:
    """`input` with `value` where the mask holds."""
def masked_scatter(input: _TensorLike, mask: _TensorLike, source: _TensorLike) -> _Tensor:
    """`input` with the elements where the mask holds replaced by those of `source`, in order."""
def masked_select(input: _TensorLike, mask: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The elements where the mask holds, in one dimension."""
def nonzero(input: _TensorLike, *, as_tuple: builtins.bool = False, out: _Out | None = None) -> _Tensor:
    """The indices of the elements that are not zero: one row each, or one tensor per dimension."""
def take(input: _TensorLike, index: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Elements of the flattened tensor."""
def take_along_dim(input: _TensorLike, indices: _TensorLike, dim: builtins.int | None = None, *, out: _Out | None = None, axis: builtins.int | None = ...) -> _Tensor:
    """As `gather`, with the shapes broadcast; without `dim` in the flattened tensor."""
def abs_(self: _Tensor) -> _Tensor:
    """`abs`, in place."""
def addmv_(input: _TensorLike, mat: _TensorLike, vec: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1) -> _Tensor:
    """`addmv`, in place."""
def as_strided_(input: _TensorLike, size: _Sequence[builtins.int], stride: _Sequence[builtins.int], storage_offset: builtins.int | None = None) -> _Tensor:
    """`as_strided`, in place."""
def ceil_(self: _Tensor) -> _Tensor:
    """`ceil`, in place."""
def clamp_(self: _Tensor, min: _Any = None, max: _Any = None) -> _Tensor:
    """x kept between `min` and `max`."""
def clamp_max_(input: _TensorLike, max: _Any) -> _Tensor:
    """`clamp_max`, in place."""
def clamp_min_(input: _TensorLike, min: _Any) -> _Tensor:
    """`clamp_min`, in place."""
def clip_(self: _Tensor, min: _Any = None, max: _Any = None) -> _Tensor:
    """x kept between `min` and `max`."""
def conj_physical_(input: _TensorLike) -> _Tensor:
    """`conj_physical`, in place."""
def detach_(self: _Any) -> _Tensor:
    """Cut this tensor's history, in place. Views cannot be cut from their base."""
def fill_(self: _Tensor, value: _TensorLike) -> _Tensor:
    """Make all elements one number."""
def fix_(self: _Tensor) -> _Tensor:
    """`fix`, in place."""
def floor_(self: _Tensor) -> _Tensor:
    """`floor`, in place."""
def frac_(input: _TensorLike) -> _Tensor:
    """`frac`, in place."""
def gcd_(input: _TensorLike, other: _TensorLike) -> _Tensor:
    """`gcd`, in place."""
def index_put_(input: _TensorLike, indices: _Sequence[_Any], values: _TensorLike, accumulate: builtins.bool = False) -> _Tensor:
    """`index_put`, in place."""
def lcm_(input: _TensorLike, other: _TensorLike) -> _Tensor:
    """`lcm`, in place."""
def ldexp_(input: _TensorLike, other: _TensorLike) -> _Tensor:
    """`ldexp`, in place."""
def logit_(input: _TensorLike, eps: builtins.float | None = None) -> _Tensor:
    """`logit`, in place."""
def nan_to_num_(input: _TensorLike, nan: _Any = None, posinf: _Any = None, neginf: _Any = None) -> _Tensor:
    """`nan_to_num`, in place."""
def reciprocal_(self: _Tensor) -> _Tensor:
    """`reciprocal`, in place."""
def resize_as_(self: _Tensor, other: _Tensor, memory_format: _Any = None) -> _Tensor:
    """`resize_` to the shape of another tensor."""
def round_(self: _Tensor, *, decimals: builtins.int = 0) -> _Tensor:
    """x rounded to so many digits after the point."""
def rsqrt_(input: _TensorLike) -> _Tensor:
    """`rsqrt`, in place."""
def square_(self: _Tensor) -> _Tensor:
    """`square`, in place."""
def trunc_(self: _Tensor) -> _Tensor:
    """`trunc`, in place."""
def xlogy_(input: _TensorLike, other: _TensorLike) -> _Tensor:
    """`xlogy`, in place."""
def zero_(self: _Tensor) -> _Tensor:
    """Make all elements 0."""
def block_diag(*tensors: _TensorLike) -> _Tensor:
    """A matrix with the given ones along its diagonal."""
def cartesian_prod(*tensors: _TensorLike) -> _Tensor:
    """All combinations of one element from each vector, as rows."""
def cat(tensors: _TensorLike, dim: builtins.int = 0, *, axis: builtins.int | None = None, out: _Out | None = None) -> _Tensor:
    """Tensors one after another along a dimension they have."""
def chunk(input: _TensorLike, chunks: builtins.int, dim: builtins.int = 0, *, axis: builtins.int = ...) -> builtins.tuple[_Tensor, ...]:
    """Up to `chunks` pieces of equal size along `dim`, the last perhaps smaller: views."""
def column_stack(tensors: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Joined as columns."""
def combinations(input: _TensorLike, r: builtins.int = 2, with_replacement: builtins.bool = False) -> _Tensor:
    """All ways to choose r elements of a vector, as rows."""
def concat(tensors: _TensorLike, dim: builtins.int = 0, *, axis: builtins.int | None = None, out: _Out | None = None) -> _Tensor:
    """Tensors one after another along a dimension they have."""
def concatenate(tensors: _TensorLike, dim: builtins.int = 0, *, axis: builtins.int | None = None, out: _Out | None = None) -> _Tensor:
    """Tensors one after another along a dimension they have."""
def dsplit(input: _TensorLike, indices_or_sections: _Any, *, indices: _TensorLike = ..., sections: _Any = ..., tensor_indices_or_sections: _Any = ...) -> builtins.tuple[_Tensor, ...]:
    """`tensor_split` along the third dimension."""
def dstack(tensors: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Joined along the third dimension."""
def hsplit(input: _TensorLike, indices_or_sections: _Any, *, indices: _TensorLike = ..., sections: _Any = ..., tensor_indices_or_sections: _Any = ...) -> builtins.tuple[_Tensor, ...]:
    """`tensor_split` along the second dimension (vectors: the first)."""
def hstack(tensors: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Joined along the second dimension (vectors: the first)."""
def meshgrid(*tensors: _TensorLike, indexing: builtins.str | None = None) -> builtins.tuple[_Tensor, ...]:
    """Coordinate grids of several vectors; "ij" (rows first) is the default, "xy" swaps the first two."""
def row_stack(tensors: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Joined as rows."""
def split(tensor: _TensorLike, split_size_or_sections: _Any, dim: builtins.int = 0, *, axis: builtins.int = ..., split_size: _Any = ..., input: _TensorLike = ...) -> builtins.tuple[_Tensor, ...]:
    """Pieces of one size along `dim` (the last may be smaller), or of the sizes given: views."""
def split_with_sizes(input: _TensorLike, split_sizes: _Sequence[builtins.int], dim: builtins.int = 0) -> builtins.tuple[_Tensor, ...]:
    """Pieces of the given sizes along `dim`: views."""
def stack(tensors: _TensorLike, dim: builtins.int = 0, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """Tensors of one shape along a new dimension."""
def tensor_split(input: _TensorLike, indices_or_sections: _Any, dim: builtins.int = 0, *, axis: builtins.int = ..., indices: _TensorLike = ..., sections: _Any = ..., tensor_indices_or_sections: _Any = ...) -> builtins.tuple[_Tensor, ...]:
    """As many pieces as said, sizes differing by at most one, or cut at the places given: views."""
def unbind(input: _TensorLike, dim: builtins.int = 0, *, axis: builtins.int | None = None) -> builtins.tuple[_Tensor, ...]:
    """The slices along `dim`, without that dimension: views."""
def unsafe_chunk(input: _TensorLike, chunks: builtins.int, dim: builtins.int = 0) -> builtins.tuple[_Tensor, ...]:
    """As `chunk`, but the pieces may be changed in place."""
def unsafe_split(tensor: _TensorLike, split_size: _Any, dim: builtins.int = 0, *, axis: builtins.int = ..., input: _TensorLike = ...) -> builtins.tuple[_Tensor, ...]:
    """As `split`, but the pieces may be changed in place (if the input is not used again)."""
def unsafe_split_with_sizes(input: _TensorLike, split_sizes: _Sequence[builtins.int], dim: builtins.int = 0) -> builtins.tuple[_Tensor, ...]:
    """As `split_with_sizes`, but the pieces may be changed in place."""
def vsplit(input: _TensorLike, indices_or_sections: _Any, *, indices: _TensorLike = ..., sections: _Any = ..., tensor_indices_or_sections: _Any = ...) -> builtins.tuple[_Tensor, ...]:
    """`tensor_split` along the first dimension of a matrix."""
def vstack(tensors: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Joined as rows."""
from wengert.functions.legacy import BoolTensor as BoolTensor
from wengert.functions.legacy import ByteTensor as ByteTensor
from wengert.functions.legacy import CharTensor as CharTensor
from wengert.functions.legacy import ComplexDoubleTensor as ComplexDoubleTensor
from wengert.functions.legacy import ComplexFloatTensor as ComplexFloatTensor
from wengert.functions.legacy import DoubleTensor as DoubleTensor
from wengert.functions.legacy import FloatTensor as FloatTensor
from wengert.functions.legacy import HalfTensor as HalfTensor
from wengert.functions.legacy import IntTensor as IntTensor
from wengert.functions.legacy import LongTensor as LongTensor
from wengert.functions.legacy import ShortTensor as ShortTensor
from wengert.functions.legacy import Variable as Variable
def set_default_tensor_type(t: _Any) -> None:
    """Make the dtype of a floating tensor class the default dtype."""
from wengert.functions.limits import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
def detach(input: _Tensor) -> _Tensor:
    """A tensor on the input's memory without history."""
from wengert.functions.limits import finfo as finfo
def get_default_device() -> _Any:
    """The device of new tensors: the CPU."""
def get_device(input: _Tensor) -> builtins.int:
    """The number of the device: -1, the CPU."""
from wengert.functions.limits import get_float32_matmul_precision as get_float32_matmul_precision
from wengert.functions.limits import get_num_threads as get_num_threads
from wengert.functions.limits import iinfo as iinfo
def is_complex(input: _Tensor) -> builtins.bool:
    """Whether the elements are complex numbers."""
def is_conj(input: _Tensor) -> builtins.bool:
    """Whether conjugation is still to be done: never, it is done at once."""
def is_distributed(input: _Tensor) -> builtins.bool:
    """Whether the elements are spread over several processes: no."""
def is_floating_point(input: _Tensor) -> builtins.bool:
    """Whether the elements are floating-point numbers (not complex)."""
def is_inference(input: _Tensor) -> builtins.bool:
    """Whether a tensor was made in inference mode."""
def is_neg(input: _Tensor) -> builtins.bool:
    """Whether negation is still to be done: never, it is done at once."""
def is_signed(input: _Tensor) -> builtins.bool:
    """Whether the elements can be negative."""
def is_storage(obj: _Any) -> builtins.bool:
    """Whether an object is the memory behind tensors."""
def is_tensor(obj: _Any) -> builtins.bool:
    """Whether an object is a Tensor."""
def numel(input: _Tensor) -> builtins.int:
    """The number of elements."""
def result_type(tensor1: _TensorLike, tensor2: _TensorLike) -> _np.dtype[_Any]:
    """The dtype of an operation on two tensors or numbers."""
def set_default_device(device: _Any) -> None:
    """Say where new tensors are made: the CPU, or an error."""
from wengert.functions.limits import set_float32_matmul_precision as set_float32_matmul_precision
from wengert.functions.limits import set_flush_denormal as set_flush_denormal
from wengert.functions.limits import set_num_threads as set_num_threads
def typename(obj: _Any) -> builtins.str:
    """The name of an object's type; of a tensor, that of its legacy type."""
from wengert.functions.limits import use_deterministic_algorithms as use_deterministic_algorithms
from wengert.linalg import det as det
def inverse(A: _TensorLike, *, out: _Out | None = None, input: _TensorLike = ...) -> _Tensor:
    """The inverse of a square matrix; `LinAlgError` if it has none."""
def logdet(input: _TensorLike) -> _Tensor:
    """log(det A): NaN of a negative determinant, minus infinity of 0."""
from wengert.linalg import matrix_exp as matrix_exp
from wengert.linalg import matrix_power as matrix_power
def norm_except_dim(v: _Any, pow: builtins.int = 2, dim: builtins.int = 0) -> _Tensor:
    """The norm of each slice along `dim`, with that dimension kept; of all elements if it is -1."""
def pinverse(input: _TensorLike, rcond: builtins.float = ...) -> _Tensor:
    """`linalg.pinv`, under its older signature."""
from wengert.linalg import slogdet as slogdet
def abs(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The absolute value; of complex numbers, the modulus."""
def absolute(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The absolute value; of complex numbers, the modulus."""
def add(input: _TensorLike, other: _TensorLike, *, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
    """input + alpha * other."""
def addcdiv(input: _TensorLike, tensor1: _TensorLike, tensor2: _TensorLike, *, value: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
    """input + value * tensor1 / tensor2."""
def addcmul(input: _TensorLike, tensor1: _TensorLike, tensor2: _TensorLike, *, value: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
    """input + value * tensor1 * tensor2."""
def angle(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The argument of a complex number; 0 or pi for real ones."""
def ceil(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Rounded up."""
def clamp(input: _TensorLike, min: _Any = None, max: _Any = None, *, out: _Out | None = None) -> _Tensor:
    """x kept between `min` and `max`, numbers or tensors; one may be left out."""
def clamp_max(input: _TensorLike, max: _Any, *, out: _Out | None = None) -> _Tensor:
    """The smaller of x and a bound."""
def clamp_min(input: _TensorLike, min: _Any, *, out: _Out | None = None) -> _Tensor:
    """The larger of x and a bound."""
def clip(input: _TensorLike, min: _Any = None, max: _Any = None, *, out: _Out | None = None) -> _Tensor:
    """x kept between `min` and `max`, numbers or tensors; one may be left out."""
def complex(real: _TensorLike, imag: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """real + i imag, from two tensors of one floating dtype."""
def conj(input: _TensorLike) -> _Tensor:
    """The complex conjugate; a real tensor is its own."""
def conj_physical(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The complex conjugate; a real tensor is its own."""
def div(input: _TensorLike, other: _TensorLike, *, rounding_mode: builtins.str | None = None, out: _Out | None = None) -> _Tensor:
    """input / other, rounded to an integer if asked: "trunc" towards zero, "floor" downwards."""
def divide(input: _TensorLike, other: _TensorLike, *, rounding_mode: builtins.str | None = None, out: _Out | None = None) -> _Tensor:
    """input / other, rounded to an integer if asked: "trunc" towards zero, "floor" downwards."""
def fix(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Rounded towards zero."""
def float_power(input: _TensorLike, exponent: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """input ** exponent in double precision."""
def floor(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Rounded down."""
def frac(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """x - trunc(x)."""
def frexp(input: _TensorLike, *, out: _Out | None = None) -> _results.frexp_result:
    """x = mantissa * 2**exponent with 1/2 <= |mantissa| < 1; both of 0 are 0."""
def heaviside(input: _TensorLike, values: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """0 below zero, 1 above, `values` at zero."""
def imag(input: _TensorLike) -> _Tensor:
    """The imaginary part of a complex tensor, a view."""
def ldexp(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """input * 2**other."""
def lerp(input: _TensorLike, end: _Any, weight: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """input + weight * (end - input)."""
from wengert.pytorch.special import log_softmax as log_softmax
def logaddexp(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """log(exp(a) + exp(b)), without overflow; of complex numbers the principal value."""
def logaddexp2(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """log2(2**a + 2**b), without overflow."""
def nan_to_num(input: _TensorLike, nan: _Any = None, posinf: _Any = None, neginf: _Any = None, *, out: _Out | None = None) -> _Tensor:
    """x with NaN as `nan` (0) and the infinities as the largest finite numbers, or as given."""
def nextafter(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The floating-point number next to x in the direction of `other`."""
def polar(abs: _Any, angle: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """abs * exp(i angle)."""
def positive(input: _TensorLike) -> _Tensor:
    """`input` itself, as +x is."""
def pow(input: _TensorLike, exponent: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """input ** exponent; either may be a number."""
def real(input: _TensorLike) -> _Tensor:
    """The real part, a view; a real tensor is its own."""
def reciprocal(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """1 / x, of integers too."""
def resolve_conj(input: _TensorLike) -> _Tensor:
    """The tensor itself: conjugation is never postponed."""
def resolve_neg(input: _TensorLike) -> _Tensor:
    """The tensor itself: conjugation is never postponed."""
from wengert.pytorch.special import round as round
def rsqrt(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """1 / sqrt(x)."""
def rsub(input: _TensorLike, other: _TensorLike, *, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
    """other - alpha * input."""
def sgn(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """sign(x); for complex numbers z / |z|, and 0 at 0."""
def sign(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """-1, 0 or 1."""
from wengert.pytorch.special import softmax as softmax
def square(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """x squared; of truth values, as integers."""
def sub(input: _TensorLike, other: _TensorLike, *, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
    """input - alpha * other."""
def subtract(input: _TensorLike, other: _TensorLike, *, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
    """input - alpha * other."""
def trunc(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Rounded towards zero."""
from wengert.functions.printing import set_printoptions as set_printoptions
def addbmm(input: _TensorLike, batch1: _TensorLike, batch2: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
    """beta * input + alpha * the sum of the products in two batches."""
def addmm(input: _TensorLike, mat1: _TensorLike, mat2: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
def addmv(input: _TensorLike, mat: _TensorLike, vec: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
    """beta * input + alpha * (mat @ vec)."""
def addr(input: _TensorLike, vec1: _TensorLike, vec2: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
    """beta * input + alpha * outer(vec1, vec2)."""
def baddbmm(input: _TensorLike, batch1: _TensorLike, batch2: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
    """beta * input + alpha * bmm(batch1, batch2)."""
def bmm(input: _TensorLike, mat2: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The products of two batches of matrices, (b, n, m) and (b, m, p)."""
def cdist(x1: _TensorLike, x2: _TensorLike, p: builtins.float = ..., compute_mode: builtins.str | None = None) -> _Tensor:
    """The p-norm distances of each row of one matrix from each row of another (batched)."""
def chain_matmul(*matrices: _Any, out: _Out | None = None) -> _Tensor:
    """The product of several matrices, from left to right."""
def cross(input: _TensorLike, other: _TensorLike, dim: builtins.int | None = None, *, out: _Out | None = None, axis: builtins.int | None = ...) -> _Tensor:
    """The vector product along a dimension of size 3."""
def dot(input: _TensorLike, tensor: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The sum of the products of two vectors' elements."""
def einsum(equation: _Any, *operands: _TensorLike) -> _Tensor:
    """Sums of products, spelled with one letter per dimension."""
def ger(input: _TensorLike, vec2: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """All products of an element of one vector with one of the other."""
def inner(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Sums of products along the last dimensions."""
def kron(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The Kronecker product: each element of one times all of the other."""
from wengert.linalg import matmul as matmul
def mm(input: _TensorLike, mat2: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The product of two matrices."""
def mv(input: _TensorLike, vec: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The product of a matrix and a vector."""
def outer(input: _TensorLike, vec2: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """All products of an element of one vector with one of the other."""
def tensordot(a: _Any, b: _Any, dims: _Ints = 2, *, out: _Out | None = None) -> _Tensor:
    """Sums of products over pairs of dimensions: the last of `a` with the first of `b`, or as listed."""
def vdot(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The dot product with the first vector conjugated."""
from wengert.functions.random import Generator as Generator
def bernoulli(input: _TensorLike, p: _Any = None, *, generator: wengert.functions.random.Generator | None = None, out: _Out | None = None) -> _Tensor:
    """1 with the probability that `input` (or `p`) says, else 0."""
def binomial(count: _Any, prob: _Any, generator: wengert.functions.random.Generator | None = None) -> _Tensor:
    """Binomial random numbers: successes in `count` trials of probability `prob`."""
from wengert.functions.random import default_generator as default_generator
from wengert.functions.random import get_rng_state as get_rng_state
from wengert.functions.random import initial_seed as initial_seed
from wengert.functions.random import manual_seed as manual_seed
def multinomial(input: _TensorLike, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: wengert.functions.random.Generator | None = None, out: _Out | None = None) -> _Tensor:
    """Indices drawn with probability proportional to the weights in each row."""
def normal(mean: _Any = ..., std: _Any = ..., size: _Ints | None = None, *, generator: wengert.functions.random.Generator | None = None, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """Normal random numbers with the means and standard deviations given, numbers or tensors."""
def poisson(input: _TensorLike, generator: wengert.functions.random.Generator | None = None) -> _Tensor:
    """Poisson random numbers with the rates given."""
def rand(*sizes: _Ints, generator: wengert.functions.random.Generator | None = None, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None, size: _Ints = ...) -> _Tensor:
    """Random numbers, uniform on [0, 1)."""
def rand_like(input: _TensorLike, *, generator: wengert.functions.random.Generator | None = None, dtype: _Dtype | None = None, device: _Any = None, requires_grad: builtins.bool = False, layout: _Any = None, pin_memory: builtins.bool = False, memory_format: _Any = None) -> _Tensor:
    """Random numbers, uniform on [0, 1), in the shape and dtype of `input`."""
def randint(low: _Any, high: _Any = None, size: _Ints | None = None, *, generator: wengert.functions.random.Generator | None = None, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """Random integers from `low` (0 if left out) up to but not including `high`."""
def randint_like(input: _TensorLike, low: _Any = None, high: _Any = None, *, dtype: _Dtype | None = None, **options: _Any) -> _Tensor:
    """Random integers in the shape and dtype of `input`, from `low` (0) up to `high`."""
def randn(*sizes: _Ints, generator: wengert.functions.random.Generator | None = None, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None, size: _Ints = ...) -> _Tensor:
    """Random numbers, standard normal."""
def randn_like(input: _TensorLike, *, generator: wengert.functions.random.Generator | None = None, dtype: _Dtype | None = None, device: _Any = None, requires_grad: builtins.bool = False, layout: _Any = None, pin_memory: builtins.bool = False, memory_format: _Any = None) -> _Tensor:
    """Random numbers, standard normal, in the shape and dtype of `input`."""
def randperm(n: builtins.int, *, generator: wengert.functions.random.Generator | None = None, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """The numbers 0 to n - 1 in random order."""
from wengert.functions.random import seed as seed
from wengert.functions.random import set_rng_state as set_rng_state
def arange(start: _Any, end: _Any = None, step: _Any = 1, *, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """Numbers from `start` (0) up to but not including `end`, `step` apart."""
def eye(n: builtins.int, m: builtins.int | None = None, *, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """The identity matrix, n by n, or n by m with ones on the diagonal."""
def frombuffer(buffer: _Any, *, dtype: _Dtype | None = ..., count: builtins.int = -1, offset: builtins.int = 0, requires_grad: builtins.bool = False) -> _Tensor:
    """A vector that shares the memory of an object with the buffer protocol."""
def linspace(start: _Any, end: _Any, steps: builtins.int, *, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """`steps` numbers evenly spaced from `start` to `end`, both included."""
def logspace(start: _Any, end: _Any, steps: builtins.int, base: builtins.float = ..., *, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """`steps` powers of `base`, their exponents evenly spaced from `start` to `end`."""
def range(start: _Any = 0, end: _Any = None, step: _Any = 1, *, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """Numbers from `start` up to and including `end`; `arange`, which leaves it out, is usual."""
def scalar_tensor(s: _Any, *, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """A zero-dimensional tensor of one number."""
def amax(input: _TensorLike, dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The largest elements over some dimensions; ties share the gradient."""
def amin(input: _TensorLike, dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The smallest elements over some dimensions; ties share the gradient."""
def aminmax(input: _TensorLike, *, dim: _Any = None, keepdim: builtins.bool = False, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _results.aminmax_result:
    """The smallest and the largest elements, as a pair with names."""
def argmax(input: _TensorLike, dim: _Any = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The index of the largest element: of the flattened tensor, or along `dim`."""
def argmin(input: _TensorLike, dim: _Any = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The index of the smallest element: of the flattened tensor, or along `dim`."""
def count_nonzero(input: _TensorLike, dim: builtins.int | _Sequence[builtins.int] | None = None, *, axis: builtins.int | _Sequence[builtins.int] | None = ...) -> _Tensor:
    """How many elements are not zero."""
def cummax(input: _TensorLike, dim: builtins.int, *, out: _Out | None = None, axis: builtins.int = ...) -> _results.cummax_result:
    """The largest so far along `dim`, and where it was met."""
def cummin(input: _TensorLike, dim: builtins.int, *, out: _Out | None = None, axis: builtins.int = ...) -> _results.cummin_result:
    """The smallest so far along `dim`, and where it was met."""
def cumprod(input: _TensorLike, dim: builtins.int, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """Running products along `dim`."""
def cumsum(input: _TensorLike, dim: builtins.int, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """Running sums along `dim`."""
def dist(input: _TensorLike, other: _TensorLike, p: builtins.float = 2, *, out: _Out | None = None) -> _Tensor:
    """The p-norm of the difference of two tensors."""
def frobenius_norm(input: _TensorLike, dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: builtins.int | _Sequence[builtins.int] | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The Euclidean norm of the elements, over all or some dimensions."""
def logcumsumexp(input: _TensorLike, dim: builtins.int, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """log of the running sums of exp(x) along `dim`, without overflow."""
from wengert.pytorch.special import logsumexp as logsumexp
@typing.overload
def max(input: _TensorLike, dim: _Tensor | None = None, keepdim: builtins.bool = False, *, out: _Out | None = None, other: _TensorLike | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The largest element; with `dim` the largest along it and where; of two the larger."""
@typing.overload
def max(input: _TensorLike, dim: builtins.int, keepdim: builtins.bool = False, *, out: _Out | None = None, other: _TensorLike | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _results.max_result:
    """The largest element; with `dim` the largest along it and where; of two the larger."""
def mean(input: _TensorLike, dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The arithmetic mean over all elements, or over some dimensions; floating point only."""
@typing.overload
def min(input: _TensorLike, dim: _Tensor | None = None, keepdim: builtins.bool = False, *, out: _Out | None = None, other: _TensorLike | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The smallest element; with `dim` the smallest along it and where; of two tensors the smaller."""
@typing.overload
def min(input: _TensorLike, dim: builtins.int, keepdim: builtins.bool = False, *, out: _Out | None = None, other: _TensorLike | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _results.min_result:
    """The smallest element; with `dim` the smallest along it and where; of two tensors the smaller."""
def nanmean(input: _TensorLike, dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: builtins.int | _Sequence[builtins.int] | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The mean of the elements that are not NaN."""
def nansum(input: _TensorLike, dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: builtins.int | _Sequence[builtins.int] | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The sum of the elements that are not NaN."""
def norm(input: _TensorLike, p: builtins.float | builtins.str | None = 'fro', dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, dtype: _Dtype | None = None, *, out: _Out | None = None, axis: builtins.int | _Sequence[builtins.int] | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The p-norm of the elements, over all or some dimensions; "fro" is the Euclidean one, "nuc" the sum of a matrix's singular values. At 0 the gradient is 0."""
def nuclear_norm(input: _TensorLike, dim: _Any = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The sum of a matrix's singular values."""
def prod(input: _TensorLike, dim: _Any = None, keepdim: builtins.bool = False, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The product over all elements, or along one dimension."""
def renorm(input: _TensorLike, p: builtins.float, dim: builtins.int, maxnorm: builtins.float, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """The input with slices along `dim` scaled down to a p-norm of at most `maxnorm`."""
def std(input: _TensorLike, dim: _Any = None, unbiased: _Any = None, keepdim: builtins.bool = False, *, correction: builtins.float | None = None, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The standard deviation, the square root of `var`; where it is 0 so is its gradient."""
def std_mean(input: _TensorLike, dim: _Any = None, unbiased: _Any = None, keepdim: builtins.bool = False, *, correction: builtins.float | None = None) -> builtins.tuple[_Tensor, _Tensor]:
    """The standard deviation and the mean."""
def sum(input: _TensorLike, dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The sum over all elements, or over some dimensions. Integers and truth values sum to int64."""
def var(input: _TensorLike, dim: _Any = None, unbiased: _Any = None, keepdim: builtins.bool = False, *, correction: builtins.float | None = None, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The variance: squared distances from the mean, summed, over n - correction (1)."""
def var_mean(input: _TensorLike, dim: _Any = None, unbiased: _Any = None, keepdim: builtins.bool = False, *, correction: builtins.float | None = None) -> builtins.tuple[_Tensor, _Tensor]:
    """The variance and the mean."""
def as_strided_scatter(input: _TensorLike, src: _TensorLike, size: _Ints, stride: _Ints, storage_offset: builtins.int | None = None) -> _Tensor:
    """`input` with the elements that `as_strided` would show replaced."""
def diagonal_scatter(input: _TensorLike, src: _TensorLike, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> _Tensor:
    """`input` with a diagonal replaced."""
def index_add(input: _TensorLike, dim: builtins.int, index: _TensorLike, source: _TensorLike, *, alpha: builtins.complex = 1, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """`input` with alpha times the slices of `source` added at the slices that `index` names."""
def index_copy(input: _TensorLike, dim: builtins.int, index: _TensorLike, source: _TensorLike, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """`input` with the slices that `index` names replaced by those of `source`."""
def index_fill(input: _TensorLike, dim: builtins.int, index: _TensorLike, value: _TensorLike) -> _Tensor:
    """`input` with the slices that `index` names filled with a number."""
def index_put(input: _TensorLike, indices: _Sequence[_Any], values: _TensorLike, accumulate: builtins.bool = False) -> _Tensor:
    """`input` with `input[indices]` replaced by the values, or with the values added there."""
def index_reduce(input: _TensorLike, dim: builtins.int, index: _TensorLike, source: _TensorLike, reduce: builtins.str, *, include_self: builtins.bool = True, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """Slices of `source` combined into the slices that `index` names: "prod", "mean", "amax", "amin"."""
def nonzero_static(input: _TensorLike, *, size: builtins.int = ..., fill_value: builtins.int = -1) -> _Tensor:
    """The indices of the elements that are not zero in a fixed number of rows, cut or filled up."""
def put(input: _TensorLike, index: _TensorLike, source: _TensorLike, accumulate: builtins.bool = False) -> _Tensor:
    """`input` with elements of its flattened form replaced, or with the source added to them."""
def scatter(input: _TensorLike, dim: builtins.int, index: _TensorLike, src: _Tensor | builtins.float | None = None, *, value: _TensorLike | None = None, reduce: builtins.str | None = None, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """`out[index[i][j]][j] = src[i][j]` for dim 0, the rest as in `input`; "add" or "multiply" instead."""
def scatter_add(input: _TensorLike, dim: builtins.int, index: _TensorLike, src: _TensorLike, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """`out[index[i][j]][j] += src[i][j]` for dim 0: `gather` transposed, added to `input`."""
def scatter_reduce(input: _TensorLike, dim: builtins.int, index: _TensorLike, src: _TensorLike, reduce: builtins.str, *, include_self: builtins.bool = True, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """Elements of `src` that go to one place combined by "sum", "prod", "mean", "amax" or "amin"."""
def segment_reduce(data: _Any, reduce: builtins.str, *, lengths: _Any = None, indices: _TensorLike | None = None, offsets: _Any = None, axis: builtins.int = 0, unsafe: builtins.bool = False, initial: _Any = None, out: _Out | None = None) -> _Tensor:
    """Neighbours along `axis` combined by "sum", "mean", "max", "min" or "prod"."""
def select_scatter(input: _TensorLike, src: _TensorLike, dim: builtins.int, index: builtins.int) -> _Tensor:
    """`input` with one slice along `dim` replaced."""
def slice_scatter(input: _TensorLike, src: _TensorLike, dim: builtins.int = 0, start: _Any = None, end: _Any = None, step: builtins.int = 1, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """`input` with a range of slices along `dim` replaced."""
def unravel_index(indices: _TensorLike, shape: _Ints) -> builtins.tuple[_Tensor, ...]:
    """Places in the flattened tensor as one index per dimension."""
def adjoint(input: _TensorLike) -> _Tensor:
    """The conjugate transpose of the last two dimensions."""
def as_strided(input: _TensorLike, size: _Sequence[builtins.int], stride: _Sequence[builtins.int], storage_offset: builtins.int | None = None) -> _Tensor:
    """A view of the tensor's storage with the sizes and strides (in elements) given."""
def atleast_1d(*tensors: _TensorLike) -> _Tensor:
    """Each tensor with one dimension or more."""
def atleast_2d(*tensors: _TensorLike) -> _Tensor:
    """Each tensor with two dimensions or more; a vector becomes a row."""
def atleast_3d(*tensors: _TensorLike) -> _Tensor:
    """Each tensor with three dimensions or more."""
def broadcast_shapes(*shapes: _Any) -> _Size:
    """The shape that tensors of the given shapes have together; RuntimeError if there is none."""
def broadcast_tensors(*tensors: _TensorLike) -> builtins.tuple[_Tensor, ...]:
    """Tensors expanded to the shape they have together."""
def broadcast_to(input: _TensorLike, size: _Ints) -> _Tensor:
    """As `expand`."""
def clone(input: _TensorLike, *, memory_format: _Any = None) -> _Tensor:
    """A copy, recorded: gradients flow through it."""
def diag(input: _TensorLike, diagonal: builtins.int = 0, *, out: _Out | None = None) -> _Tensor:
    """The matrix with a vector on its diagonal; of a matrix, a copy of its diagonal."""
def diag_embed(input: _TensorLike, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> _Tensor:
    """Matrices with the last dimension of the input on their diagonals, zero elsewhere."""
def diagflat(input: _TensorLike, offset: builtins.int = 0) -> _Tensor:
    """The matrix with all elements of the input on its diagonal."""
def diagonal(input: _TensorLike, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> _Tensor:
    """The diagonal of two dimensions, as the last dimension: a view."""
def flatten(input: _TensorLike, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> _Tensor:
    """The dimensions from `start_dim` to `end_dim` as one."""
def flip(input: _TensorLike, *axes: _Any, dims: _Ints | None = None) -> _Tensor:
    """The order of the elements reversed along some dimensions."""
def fliplr(input: _TensorLike) -> _Tensor:
    """Columns in reverse order."""
def flipud(input: _TensorLike) -> _Tensor:
    """Rows in reverse order."""
def moveaxis(input: _TensorLike, source: builtins.int | _Sequence[builtins.int], destination: builtins.int | _Sequence[builtins.int]) -> _Tensor:
    """Dimensions moved to other places; the rest keep their order."""
def movedim(input: _TensorLike, source: builtins.int | _Sequence[builtins.int], destination: builtins.int | _Sequence[builtins.int]) -> _Tensor:
    """Dimensions moved to other places; the rest keep their order."""
def narrow(input: _TensorLike, dim: builtins.int, start: _Any, length: builtins.int) -> _Tensor:
    """`length` slices along `dim` from `start` on: a view."""
def permute(input: _TensorLike, *axes: _Any, dims: _Ints | None = None) -> _Tensor:
    """The dimensions in another order."""
def ravel(input: _TensorLike) -> _Tensor:
    """The elements in one dimension."""
def repeat_interleave(input: _TensorLike, repeats: _TensorLike | None = None, dim: builtins.int | None = None, *, output_size: builtins.int | None = None, axis: builtins.int | None = ...) -> _Tensor:
    """Each element (or slice along `dim`) repeated; given only counts, the numbers of the places."""
def reshape(input: _TensorLike, *shape: _Ints, size: _Ints = ...) -> _Tensor:
    """The input's elements in another shape, a view where memory allows; one size may be -1."""
def roll(input: _TensorLike, shifts: _Ints, dims: _Ints | None = None) -> _Tensor:
    """Elements shifted along dimensions; those that fall off come back at the other end."""
def rot90(input: _TensorLike, k: builtins.int = 1, dims: _Sequence[builtins.int] = ...) -> _Tensor:
    """Turned by k quarter turns from the first of two dimensions towards the second."""
def select(input: _TensorLike, dim: builtins.int, index: builtins.int) -> _Tensor:
    """The slice number `index` along `dim`, without that dimension: a view."""
def squeeze(input: _TensorLike, dim: _Any = None, *, axis: _Any = None) -> _Tensor:
    """Without the dimensions of size 1, or those of `dim` that have it."""
def swapaxes(input: _TensorLike, axis0: builtins.int, axis1: builtins.int) -> _Tensor:
    """Two dimensions exchanged: `transpose` under NumPy's name."""
def swapdims(input: _TensorLike, dim0: builtins.int, dim1: builtins.int) -> _Tensor:
    """Two dimensions exchanged."""
def t(input: _TensorLike) -> _Tensor:
    """The transpose of a matrix; vectors and numbers stay as they are."""
def tile(input: _TensorLike, *reps: _Any, dims: _Ints | None = None) -> _Tensor:
    """As `repeat`, with ones put in front of too few numbers."""
def trace(input: _TensorLike) -> _Tensor:
    """The sum of a matrix's diagonal."""
def transpose(input: _TensorLike, dim0: builtins.int, dim1: builtins.int) -> _Tensor:
    """Two dimensions exchanged."""
def tril(input: _TensorLike, diagonal: builtins.int = 0, *, out: _Out | None = None) -> _Tensor:
    """The lower triangle, zero above the diagonal (or another diagonal)."""
def tril_indices(row: builtins.int, col: builtins.int, offset: builtins.int = 0, *, dtype: _Dtype | None = ..., device: _Any = None, layout: _Any = None) -> _Tensor:
    """Row and column numbers of the lower triangle of a row by col matrix."""
def triu(input: _TensorLike, diagonal: builtins.int = 0, *, out: _Out | None = None) -> _Tensor:
    """The upper triangle, zero below the diagonal (or another diagonal)."""
def triu_indices(row: builtins.int, col: builtins.int, offset: builtins.int = 0, *, dtype: _Dtype | None = ..., device: _Any = None, layout: _Any = None) -> _Tensor:
    """Row and column numbers of the upper triangle of a row by col matrix."""
def unflatten(input: _TensorLike, dim: builtins.int, sizes: _Sequence[builtins.int]) -> _Tensor:
    """One dimension as several."""
def unsqueeze(input: _TensorLike, dim: builtins.int) -> _Tensor:
    """With a new dimension of size 1 at `dim`."""
def view_as_complex(input: _TensorLike) -> _Tensor:
    """A last dimension of size 2 read as real and imaginary parts: a view."""
def view_as_real(input: _TensorLike) -> _Tensor:
    """A complex tensor's real and imaginary parts as a last dimension of size 2: a view."""
def argsort(input: _TensorLike, dim: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = False, *, axis: builtins.int = ...) -> _Tensor:
    """The indices that sort along `dim`."""
def bucketize(input: _TensorLike, boundaries: _TensorLike, *, out_int32: builtins.bool = False, right: builtins.bool = False, out: _Out | None = None) -> _Tensor:
    """The number of the interval between boundaries in which each element lies."""
def kthvalue(input: _TensorLike, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: builtins.int = ..., keepdims: builtins.bool = ...) -> _results.kthvalue_result:
    """The k-th smallest element along `dim` (k counts from 1), and where it is."""
@typing.overload
def median(input: _TensorLike, dim: _Tensor | None = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The middle element, the lower of two; NaN if there is one. Full reductions share ties."""
@typing.overload
def median(input: _TensorLike, dim: builtins.int, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _results.median_result:
    """The middle element, the lower of two; NaN if there is one. Full reductions share ties."""
def mode(input: _TensorLike, dim: builtins.int = -1, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: builtins.int = ..., keepdims: builtins.bool = ...) -> _results.mode_result:
    """The most frequent element along `dim` (the smallest of several), and where it stands last."""
def msort(input: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """Sorted along the first dimension."""
@typing.overload
def nanmedian(input: _TensorLike, dim: _Tensor | None = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The middle element of those that are not NaN."""
@typing.overload
def nanmedian(input: _TensorLike, dim: builtins.int, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _results.nanmedian_result:
    """The middle element of those that are not NaN."""
def searchsorted(sorted_sequence: _TensorLike, input: _TensorLike, *, out_int32: builtins.bool = False, right: builtins.bool = False, side: builtins.str | None = None, sorter: _TensorLike | None = None, out: _Out | None = None) -> _Tensor:
    """Where each element would be inserted to keep the (last dimension of the) sequence sorted."""
def sort(input: _TensorLike, dim: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = False, *, out: _Out | None = None, axis: builtins.int = ...) -> _results.sort_result:
    """The elements in order along `dim`, and where each came from."""
def topk(input: _TensorLike, k: builtins.int, dim: builtins.int = -1, largest: builtins.bool = True, sorted: builtins.bool = True, *, out: _Out | None = None, axis: builtins.int = ...) -> _results.topk_result:
    """The k largest (or smallest) elements along `dim`, and where they are."""
def unique(input: _TensorLike, sorted: builtins.bool = True, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: _Any = None) -> _Tensor:
    """The different elements (or slices along `dim`) in order; where each went; how often each is."""
def unique_consecutive(input: _TensorLike, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: _Any = None) -> _Tensor:
    """As `unique`, but only neighbours that are equal become one."""
def igamma(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The regularised lower incomplete gamma function: 1/Gamma(a) int_0^x s^(a-1) e^-s ds."""
def igammac(input: _TensorLike, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
    """The regularised upper incomplete gamma function, 1 - gammainc(a, x); differentiable by both."""
from wengert.pytorch.special import logit as logit
def mvlgamma(input: _TensorLike, p: builtins.int, *, out: _Out | None = None) -> _Tensor:
    """The multivariate log-gamma function of dimension p."""
from wengert.pytorch.special import polygamma as polygamma
from wengert.pytorch.special import xlogy as xlogy
def bincount(input: _TensorLike, weights: _TensorLike | None = None, minlength: builtins.int = 0) -> _Tensor:
    """How often each number 0, 1, 2, ... occurs, or the sums of the weights of its places."""
def corrcoef(input: _TensorLike) -> _Tensor:
    """The matrix of correlation coefficients of variables in rows: covariances over the products of the standard deviations."""
def cov(input: _TensorLike, *, correction: builtins.int = 1, fweights: _TensorLike | None = None, aweights: _TensorLike | None = None) -> _Tensor:
    """The covariance matrix of variables in rows and observations in columns."""
def histc(input: _TensorLike, bins: builtins.int = 100, min: builtins.float = 0, max: builtins.float = 0, *, out: _Out | None = None) -> _Tensor:
    """Counts of the elements in `bins` equal intervals from `min` to `max`."""
def histogram(input: _TensorLike, bins: _Any = 100, *, range: _Any = None, weight: _TensorLike | None = None, density: builtins.bool = False, out: _Out | None = None) -> _results.histogram_result:
    """Counts (or sums of weights, or a density) in intervals, and the bounds of the intervals."""
def histogramdd(input: _TensorLike, bins: _Any, *, range: _Sequence[builtins.float] | None = None, weight: _TensorLike | None = None, density: builtins.bool = False) -> _results.histogramdd_result:
    """Counts of points, the rows of the input, in boxes, and the bounds of the boxes."""
def nanquantile(input: _TensorLike, q: builtins.float | _Tensor, dim: _Any = None, keepdim: builtins.bool = False, *, interpolation: builtins.str = 'linear', out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The q-quantile of the elements that are not NaN."""
def quantile(input: _TensorLike, q: builtins.float | _Tensor, dim: _Any = None, keepdim: builtins.bool = False, *, interpolation: builtins.str = 'linear', out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _Tensor:
    """The q-quantile: between the two nearest elements by `interpolation`. NaN if there is one."""
def bartlett_window(window_length: builtins.int, periodic: builtins.bool = True, *, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """A triangle: 1 - |2 t - 1| for t from 0 to 1."""
def blackman_window(window_length: builtins.int, periodic: builtins.bool = True, *, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t) for t from 0 to 1."""
def hamming_window(window_length: builtins.int, periodic: builtins.bool = True, alpha: builtins.float = ..., beta: builtins.float = ..., *, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """alpha - beta cos(2 pi t) for t from 0 to 1."""
def hann_window(window_length: builtins.int, periodic: builtins.bool = True, *, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """(1 - cos(2 pi t)) / 2 for t from 0 to 1."""
def kaiser_window(window_length: builtins.int, periodic: builtins.bool = True, beta: builtins.float = ..., *, dtype: _Dtype | None = ..., device: _Any = None, requires_grad: _Any = False, layout: _Any = None, pin_memory: _Any = False, out: _Out | None = None) -> _Tensor:
    """I0(beta sqrt(1 - (2 t - 1)^2)) / I0(beta) for t from 0 to 1."""
from wengert.history.modes import enable_grad as enable_grad
from wengert.history.modes import inference_mode as inference_mode
from wengert.history.modes import is_grad_enabled as is_grad_enabled
from wengert.history.modes import is_inference_mode_enabled as is_inference_mode_enabled
from wengert.history.modes import no_grad as no_grad
from wengert.history.modes import set_grad_enabled as set_grad_enabled
from wengert.tensor import Size as Size
from wengert.tensor import Tensor as Tensor
from wengert import datasets as datasets
from wengert import distributed as distributed
from wengert import distributions as distributions
from wengert import errors as errors
from wengert import func as func
from wengert import interop as interop
from wengert import linalg as linalg
from wengert import nn as nn
from wengert import numeric as numeric
from wengert import numpy as numpy
from wengert import optim as optim
from wengert import optimize as optimize
from wengert import profiler as profiler
from wengert import rules as rules
from wengert import scipy as scipy
from wengert import solvers as _implicit
implicit = _implicit
from wengert import solvers as solvers
from wengert import sparse as sparse
from wengert import studies as studies
from wengert import symbolic as symbolic
from wengert import tape as tape
from wengert import tree as tree
from wengert import utils as utils
from wengert import visual as visual
from wengert.autograd import primitive as primitive
from wengert.autograd.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from wengert.autograd.anomaly import is_anomaly_enabled as is_anomaly_enabled
from wengert.compile.call.abstract import ShapeDtype as ShapeDtype
from wengert.compile.call.abstract import eval_shape as eval_shape
from wengert.compile.call.function import compile as compile
from wengert.control.branches import cond as cond
from wengert.control.branches import switch as switch
from wengert.control.loops import associative_scan as associative_scan
from wengert.control.loops import fori_loop as fori_loop
from wengert.control.loops import map as map
from wengert.control.loops import scan as scan
from wengert.control.loops import while_loop as while_loop
from wengert.explain import explain as explain
from wengert.explain.explanation import Explanation as Explanation
from wengert.explain.source import source as source
from wengert.functions import array_api as array_api
from wengert.nn.containers import ModuleDict as ModuleDict
from wengert.nn.containers import ParameterDict as ParameterDict
from wengert.nn.functional import adaptive_avg_pool1d as adaptive_avg_pool1d
from wengert.nn.functional import alpha_dropout as alpha_dropout
from wengert.nn.functional import avg_pool1d as avg_pool1d
from wengert.nn.functional import bilinear as bilinear
from wengert.nn.functional import celu as celu
from wengert.nn.functional import celu_ as celu_
from wengert.nn.functional import channel_shuffle as channel_shuffle
from wengert.nn.functional import conv1d as conv1d
from wengert.nn.functional import conv2d as conv2d
from wengert.nn.functional import conv3d as conv3d
from wengert.nn.functional import conv_tbc as conv_tbc
from wengert.nn.functional import conv_transpose1d as conv_transpose1d
from wengert.nn.functional import conv_transpose2d as conv_transpose2d
from wengert.nn.functional import conv_transpose3d as conv_transpose3d
from wengert.nn.functional import cosine_similarity as cosine_similarity
from wengert.nn.functional import dropout as dropout
from wengert.nn.functional import feature_alpha_dropout as feature_alpha_dropout
from wengert.nn.functional import group_norm as group_norm
from wengert.nn.functional import hardshrink as hardshrink
from wengert.nn.functional import layer_norm as layer_norm
from wengert.nn.functional import max_pool1d as max_pool1d
from wengert.nn.functional import max_pool2d as max_pool2d
from wengert.nn.functional import max_pool3d as max_pool3d
from wengert.nn.functional import pairwise_distance as pairwise_distance
from wengert.nn.functional import pdist as pdist
from wengert.nn.functional import pixel_shuffle as pixel_shuffle
from wengert.nn.functional import pixel_unshuffle as pixel_unshuffle
from wengert.nn.functional import prelu as prelu
from wengert.nn.functional import rms_norm as rms_norm
from wengert.nn.functional import rrelu as rrelu
from wengert.nn.functional import rrelu_ as rrelu_
from wengert.nn.functional import selu as selu
from wengert.nn.functional import selu_ as selu_
from wengert.nn.functional import threshold as threshold
from wengert.nn.functional import threshold_ as threshold_
def constant_pad_nd(input: _Tensor, pad: _Any, value: builtins.complex = 0) -> _Tensor:
    """A border of one value around the last dimensions: `pad` with mode="constant"."""
from wengert.nn.functional import native_channel_shuffle as native_channel_shuffle
from wengert.pytorch import accelerator as accelerator
from wengert.pytorch import amp as amp
from wengert.pytorch import as_torch as as_torch
from wengert.pytorch import backends as backends
from wengert.pytorch import compiler as compiler
from wengert.pytorch import cuda as cuda
from wengert.pytorch import fft as fft
from wengert.pytorch import jit as jit
from wengert.pytorch import masked as masked
from wengert.pytorch import multiprocessing as multiprocessing
from wengert.pytorch import onnx as onnx
from wengert.pytorch import ops as ops
from wengert.pytorch import overrides as overrides
from wengert.pytorch import random as random
from wengert.pytorch import signal as signal
from wengert.pytorch import special as special
from wengert.pytorch import testing as testing
from wengert.pytorch import version as version
from wengert.pytorch.amp import GradScaler as GradScaler
from wengert.pytorch.amp import autocast as autocast
from wengert.pytorch.amp import get_autocast_dtype as get_autocast_dtype
from wengert.pytorch.amp import is_autocast_enabled as is_autocast_enabled
from wengert.pytorch.native import adaptive_max_pool1d as adaptive_max_pool1d
from wengert.pytorch.native import affine_grid_generator as affine_grid_generator
from wengert.pytorch.native import alpha_dropout_ as alpha_dropout_
from wengert.pytorch.native import batch_norm as batch_norm
from wengert.nn.functional import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from wengert.pytorch.native import convolution as convolution
from wengert.nn.functional import cosine_embedding_loss as cosine_embedding_loss
from wengert.nn.functional import ctc_loss as ctc_loss
from wengert.pytorch.native import dropout_ as dropout_
from wengert.pytorch.native import embedding as embedding
from wengert.pytorch.native import feature_alpha_dropout_ as feature_alpha_dropout_
from wengert.pytorch.native import feature_dropout as feature_dropout
from wengert.pytorch.native import grid_sampler as grid_sampler
from wengert.pytorch.native import grid_sampler_2d as grid_sampler_2d
from wengert.pytorch.native import grid_sampler_3d as grid_sampler_3d
from wengert.pytorch.native import gru as gru
from wengert.pytorch.native import gru_cell as gru_cell
from wengert.nn.functional import hinge_embedding_loss as hinge_embedding_loss
from wengert.pytorch.native import instance_norm as instance_norm
from wengert.nn.functional import kl_div as kl_div
from wengert.pytorch.native import lstm as lstm
from wengert.pytorch.native import lstm_cell as lstm_cell
from wengert.nn.functional import margin_ranking_loss as margin_ranking_loss
from wengert.pytorch.native import max_pool1d_with_indices as max_pool1d_with_indices
from wengert.pytorch.native import native_batch_norm as native_batch_norm
from wengert.pytorch.native import native_group_norm as native_group_norm
from wengert.pytorch.native import native_layer_norm as native_layer_norm
from wengert.nn.functional import poisson_nll_loss as poisson_nll_loss
from wengert.pytorch.native import rnn_relu as rnn_relu
from wengert.pytorch.native import rnn_relu_cell as rnn_relu_cell
from wengert.pytorch.native import rnn_tanh as rnn_tanh
from wengert.pytorch.native import rnn_tanh_cell as rnn_tanh_cell
from wengert.pytorch.native import set_anomaly_enabled as set_anomaly_enabled
from wengert.nn.functional import triplet_margin_loss as triplet_margin_loss
from wengert.pytorch.overrides import DisableTorchFunction as DisableTorchFunction
from wengert.pytorch.overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from wengert.serialization import load as load
from wengert.serialization import save as save
from wengert.solvers import odeint as odeint
from wengert.solvers import odeint_event as odeint_event
from wengert.sparse.derivatives import sparse_hessian as sparse_hessian
from wengert.sparse.derivatives import sparse_jacobian as sparse_jacobian
from wengert.sparse.tensors import mm as _dsmm
dsmm = _dsmm
from wengert.sparse.tensors import mm as _spmm
spmm = _spmm
from wengert.sparse.tensors import sparse_coo_tensor as sparse_coo_tensor
from wengert.sparse.tensors import sparse_csr_tensor as sparse_csr_tensor
from wengert.transforms.constant import stop_gradient as stop_gradient
from wengert.transforms.forward import jacfwd as jacfwd
from wengert.transforms.forward import jvp as jvp
from wengert.transforms.reverse import grad as grad
from wengert.transforms.reverse import jacrev as jacrev
from wengert.transforms.reverse import value_and_grad as value_and_grad
from wengert.transforms.reverse import vjp as vjp
from wengert.transforms.second import hessian as hessian
from wengert.transforms.second import hvp as hvp
from wengert.transforms.second import jacobian as jacobian
from wengert.transforms.second import vhp as vhp
from wengert.transforms.vmap import vmap as vmap
newaxis: None
bfloat16: _np.dtype[_Any]
