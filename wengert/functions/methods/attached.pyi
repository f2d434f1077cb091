"""What type checkers see of Tensor's methods; written by `python -m docs.generate.stubs`."""

import builtins
import types
import typing
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, NoReturn as _NoReturn

import numpy as _np

import wengert.functions.device
import wengert.functions.random
import wengert.history.node
from wengert.functions import results as _results
from wengert.functions.results import _Number as _Number, _TensorLike as _TensorLike, _Out as _Out, _Index as _Index, _Dtype as _Dtype, _Ints as _Ints
from wengert.tensor import Size as _Size, Tensor as _Tensor

class Methods:
    @property
    def H(self) -> _Tensor: ...
    @property
    def T(self) -> _Tensor:
        """The dimensions in reverse order, as in `x.T`."""
    def __abs__(self) -> _Tensor: ...
    def __add__(self, other: _TensorLike) -> _Tensor: ...
    def __and__(self, other: _TensorLike) -> _Tensor: ...
    def __array_namespace__(self, *, api_version: builtins.str | None = None) -> _Any:
        """The namespace of the array API standard for tensors."""
    def __bool__(self) -> builtins.bool: ...
    def __ceil__(self) -> _Tensor: ...
    def __complex__(self) -> builtins.complex: ...
    def __contains__(self, element: _Any) -> builtins.bool: ...
    def __copy__(self) -> _Tensor:
        """Another leaf that shares this tensor's memory, and has no gradient yet."""
    def __deepcopy__(self, memo: builtins.dict[builtins.int, _Any]) -> _Tensor: ...
    def __delitem__(self, index: _Index | builtins.tuple[_Index, ...]) -> None: ...
    def __dir__(self) -> builtins.list[builtins.str]: ...
    def __divmod__(self, other: _TensorLike) -> _Tensor: ...
    def __dlpack__(self, *, stream: _Any = None, max_version: builtins.tuple[builtins.int, builtins.int] | None = None, dl_device: builtins.tuple[builtins.int, builtins.int] | None = None, copy: builtins.bool | None = None) -> _Any: ...
    def __dlpack_device__(self) -> builtins.tuple[builtins.int, builtins.int]: ...
    def __eq__(self, other: _Any) -> _Tensor: ...  # type: ignore[override]
    def __float__(self) -> builtins.float: ...
    def __floor__(self) -> _Tensor: ...
    def __floordiv__(self, other: _TensorLike) -> _Tensor: ...
    def __format__(self, spec: builtins.str) -> builtins.str: ...
    def __ge__(self, other: _TensorLike) -> _Tensor: ...
    def __getitem__(self, index: _Index | builtins.tuple[_Index, ...]) -> _Tensor:
        """`x[index]`: a view for numbers and slices, a copy for index tensors and masks."""
    def __gt__(self, other: _TensorLike) -> _Tensor: ...
    def __hash__(self) -> builtins.int: ...
    def __iadd__(self, other: _TensorLike) -> _Tensor: ...
    def __iand__(self, other: _TensorLike) -> _Tensor: ...
    def __ifloordiv__(self, other: _TensorLike) -> _Tensor: ...
    def __ilshift__(self, other: _TensorLike) -> _Tensor: ...
    def __imod__(self, other: _TensorLike) -> _Tensor: ...
    def __imul__(self, other: _TensorLike) -> _Tensor: ...
    def __index__(self) -> builtins.int: ...
    def __init_subclass__(cls, **kwargs: _Any) -> None: ...
    def __int__(self) -> builtins.int: ...
    def __invert__(self, *, out: _Out | None = None) -> _Tensor:
        """The bits inverted; for truth values, not."""
    def __ior__(self, other: _TensorLike) -> _Tensor: ...
    def __ipow__(self, other: _TensorLike) -> _Tensor: ...
    def __irshift__(self, other: _TensorLike) -> _Tensor: ...
    def __isub__(self, other: _TensorLike) -> _Tensor: ...
    def __iter__(self) -> _Iterator[_Tensor]: ...
    def __itruediv__(self, other: _TensorLike) -> _Tensor: ...
    def __ixor__(self, other: _TensorLike) -> _Tensor: ...
    def __le__(self, other: _TensorLike) -> _Tensor: ...
    def __len__(self) -> builtins.int: ...
    def __lshift__(self, other: _TensorLike) -> _Tensor: ...
    def __lt__(self, other: _TensorLike) -> _Tensor: ...
    def __matmul__(self, other: _TensorLike) -> _Tensor: ...
    def __mod__(self, other: _TensorLike) -> _Tensor: ...
    def __mul__(self, other: _TensorLike) -> _Tensor: ...
    def __ne__(self, other: _Any) -> _Tensor: ...  # type: ignore[override]
    def __neg__(self) -> _Tensor: ...
    def __new__(cls, *args: _Any, **kwargs: _Any) -> _Any: ...
    def __or__(self, other: _TensorLike) -> _Tensor: ...
    def __pos__(self) -> _Tensor: ...
    def __pow__(self, other: _TensorLike) -> _Tensor: ...
    def __radd__(self, other: _TensorLike) -> _Tensor: ...
    def __rand__(self, other: _TensorLike) -> _Tensor: ...
    def __rdiv__(self, other: _TensorLike) -> _Tensor: ...
    def __rdivmod__(self, other: _TensorLike) -> _Tensor: ...
    def __reduce_ex__(self, protocol: _Any) -> _Any: ...
    def __repr__(self, *, tensor_contents: _Any = None) -> builtins.str: ...
    def __reversed__(self) -> _Tensor: ...
    def __rfloordiv__(self, other: _TensorLike) -> _Tensor: ...
    def __rlshift__(self, other: _TensorLike) -> _Tensor: ...
    def __rmatmul__(self, other: _TensorLike) -> _Tensor: ...
    def __rmod__(self, other: _TensorLike) -> _Tensor: ...
    def __rmul__(self, other: _TensorLike) -> _Tensor: ...  # type: ignore[misc]
    def __ror__(self, other: _TensorLike) -> _Tensor: ...
    def __round__(self, decimals: builtins.int = 0) -> _Tensor: ...
    def __rpow__(self, other: _TensorLike) -> _Tensor: ...
    def __rrshift__(self, other: _TensorLike) -> _Tensor: ...
    def __rshift__(self, other: _TensorLike) -> _Tensor: ...
    def __rsub__(self, other: _TensorLike) -> _Tensor: ...
    def __rtruediv__(self, other: _TensorLike) -> _Tensor: ...
    def __rxor__(self, other: _TensorLike) -> _Tensor: ...
    def __setitem__(self, index: _Index | builtins.tuple[_Index, ...], value: _TensorLike) -> None:
        """`x[index] = value`, in place; value and history as PyTorch has them."""
    def __sub__(self, other: _TensorLike) -> _Tensor: ...
    def __torch_function__(cls, func: _Any, types: _Any, args: _Any = ..., kwargs: _Any = None) -> _Any:
        """What a function means to tensors of this class: results are of it, too."""
    def __truediv__(self, other: _TensorLike) -> _Tensor: ...
    def __trunc__(self) -> _Tensor: ...
    def __xor__(self, other: _TensorLike) -> _Tensor: ...
    @property
    def _backward_hooks(self) -> None: ...
    @_backward_hooks.deleter
    def _backward_hooks(self) -> None: ...
    @property
    def _base(self) -> None: ...
    @property
    def _grad_fn(self) -> wengert.history.node.Node | None: ...
    @_grad_fn.deleter
    def _grad_fn(self) -> None: ...
    def _is_view(self) -> builtins.bool: ...
    def _make_subclass(cls, data: _Tensor, require_grad: builtins.bool = False) -> _Tensor:
        """The numbers of a tensor as a leaf of a class derived from Tensor."""
    def _make_wrapper_subclass(cls, *args: _Any, **kwargs: _Any) -> _Tensor:
        """Of PyTorch's, a tensor that has a shape and no numbers: NotImplementedError."""
    def _repr_html_(self) -> builtins.str: ...
    def _typed_storage(self) -> _Any:
        """The memory that this tensor looks into."""
    @property
    def _version(self) -> builtins.int:
        """How often this storage was written in place; views share the count."""
    def abs(self, *, out: _Out | None = None) -> _Tensor:
        """The absolute value; of complex numbers, the modulus."""
    def abs_(self) -> _Tensor:
        """`abs`, in place."""
    def absolute(self, *, out: _Out | None = None) -> _Tensor:
        """The absolute value; of complex numbers, the modulus."""
    def absolute_(self) -> _Tensor:
        """`absolute`, in place."""
    def acos(self, *, out: _Out | None = None) -> _Tensor:
        """The inverse cosine."""
    def acos_(self) -> _Tensor:
        """`acos`, in place."""
    def acosh(self, *, out: _Out | None = None) -> _Tensor:
        """The inverse hyperbolic cosine."""
    def acosh_(self) -> _Tensor:
        """`acosh`, in place."""
    def add(self, other: _TensorLike, *, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
        """input + alpha * other."""
    def add_(self, other: _TensorLike, *tensor: _TensorLike, alpha: builtins.complex = 1) -> _Tensor:
        """x += alpha * other; of old also called as add_(alpha, other)."""
    def addbmm(self, batch1: _TensorLike, batch2: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
        """beta * input + alpha * the sum of the products in two batches."""
    def addbmm_(self, batch1: _TensorLike, batch2: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1) -> _Tensor:
        """`addbmm`, in place."""
    def addcdiv(self, tensor1: _TensorLike, tensor2: _TensorLike, *, value: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
        """input + value * tensor1 / tensor2."""
    def addcdiv_(self, tensor1: _TensorLike, tensor2: _TensorLike, *, value: builtins.complex = 1) -> _Tensor:
        """`addcdiv`, in place."""
    def addcmul(self, tensor1: _TensorLike, tensor2: _TensorLike, *, value: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
        """input + value * tensor1 * tensor2."""
    def addcmul_(self, tensor1: _TensorLike, tensor2: _TensorLike, *, value: builtins.complex = 1) -> _Tensor:
        """`addcmul`, in place."""
    def addmm(self, mat1: _TensorLike, mat2: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
        """beta * input + alpha * (mat1 @ mat2)."""
    def addmm_(self, mat1: _TensorLike, mat2: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1) -> _Tensor:
        """`addmm`, in place."""
    def addmv(self, mat: _TensorLike, vec: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
        """beta * input + alpha * (mat @ vec)."""
    def addmv_(self, mat: _TensorLike, vec: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1) -> _Tensor:
        """`addmv`, in place."""
    def addr(self, vec1: _TensorLike, vec2: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
        """beta * input + alpha * outer(vec1, vec2)."""
    def addr_(self, vec1: _TensorLike, vec2: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1) -> _Tensor:
        """`addr`, in place."""
    def adjoint(self) -> _Tensor:
        """The conjugate transpose of the last two dimensions."""
    def all(self, dim: _Any = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """Whether all elements are nonzero, over all or some dimensions."""
    def allclose(self, other: _TensorLike, rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = False) -> builtins.bool:
        """Whether |input - other| <= atol + rtol * |other| everywhere."""
    def amax(self, dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The largest elements over some dimensions; ties share the gradient."""
    def amin(self, dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The smallest elements over some dimensions; ties share the gradient."""
    def aminmax(self, *, dim: _Any = None, keepdim: builtins.bool = False, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _results.aminmax_result:
        """The smallest and the largest elements, as a pair with names."""
    def angle(self, *, out: _Out | None = None) -> _Tensor:
        """The argument of a complex number; 0 or pi for real ones."""
    def any(self, dim: _Any = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """Whether any element is nonzero, over all or some dimensions."""
    def apply_(self, callable: _Any) -> _Tensor:
        """x = f(x) in place, element by element, by a Python function: slow, and not recorded."""
    def arccos(self, *, out: _Out | None = None) -> _Tensor:
        """The inverse cosine."""
    def arccos_(self) -> _Tensor:
        """`arccos`, in place."""
    def arccosh(self, *, out: _Out | None = None) -> _Tensor:
        """The inverse hyperbolic cosine."""
    def arccosh_(self) -> _Tensor:
        """`arccosh`, in place."""
    def arcsin(self, *, out: _Out | None = None) -> _Tensor:
        """The inverse sine."""
    def arcsin_(self) -> _Tensor:
        """`arcsin`, in place."""
    def arcsinh(self, *, out: _Out | None = None) -> _Tensor:
        """The inverse hyperbolic sine."""
    def arcsinh_(self) -> _Tensor:
        """`arcsinh`, in place."""
    def arctan(self, *, out: _Out | None = None) -> _Tensor:
        """The inverse tangent."""
    def arctan2(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The angle of the point (other, input), in (-pi, pi]."""
    def arctan2_(self, other: _TensorLike) -> _Tensor:
        """`arctan2`, in place."""
    def arctan_(self) -> _Tensor:
        """`arctan`, in place."""
    def arctanh(self, *, out: _Out | None = None) -> _Tensor:
        """The inverse hyperbolic tangent."""
    def arctanh_(self) -> _Tensor:
        """`arctanh`, in place."""
    def argmax(self, dim: _Any = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The index of the largest element: of the flattened tensor, or along `dim`."""
    def argmin(self, dim: _Any = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The index of the smallest element: of the flattened tensor, or along `dim`."""
    def argpartition(self, *args: _Any, **kwargs: _Any) -> _Tensor: ...
    def argsort(self, dim: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = False, *, axis: builtins.int = ...) -> _Tensor:
        """The indices that sort along `dim`."""
    def argwhere(self) -> _Tensor:
        """The indices of the elements that are not zero, one row each."""
    def as_strided(self, size: _Sequence[builtins.int], stride: _Sequence[builtins.int], storage_offset: builtins.int | None = None) -> _Tensor:
        """A view of the tensor's storage with the sizes and strides (in elements) given."""
    def as_strided_(self, size: _Sequence[builtins.int], stride: _Sequence[builtins.int], storage_offset: builtins.int | None = None) -> _Tensor:
        """`as_strided`, in place."""
    def as_strided_scatter(self, src: _TensorLike, size: _Ints, stride: _Ints, storage_offset: builtins.int | None = None) -> _Tensor:
        """`input` with the elements that `as_strided` would show replaced."""
    def as_subclass(self, cls: builtins.type) -> _Tensor:
        """This tensor as an instance of a class derived from Tensor."""
    def asin(self, *, out: _Out | None = None) -> _Tensor:
        """The inverse sine."""
    def asin_(self) -> _Tensor:
        """`asin`, in place."""
    def asinh(self, *, out: _Out | None = None) -> _Tensor:
        """The inverse hyperbolic sine."""
    def asinh_(self) -> _Tensor:
        """`asinh`, in place."""
    def astype(self, dtype: _Dtype | None, order: builtins.str = 'K', casting: builtins.str = 'unsafe', subok: builtins.bool = True, copy: builtins.bool = True) -> _Tensor: ...
    def atan(self, *, out: _Out | None = None) -> _Tensor:
        """The inverse tangent."""
    def atan2(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The angle of the point (other, input), in (-pi, pi]."""
    def atan2_(self, other: _TensorLike) -> _Tensor:
        """`atan2`, in place."""
    def atan_(self) -> _Tensor:
        """`atan`, in place."""
    def atanh(self, *, out: _Out | None = None) -> _Tensor:
        """The inverse hyperbolic tangent."""
    def atanh_(self) -> _Tensor:
        """`atanh`, in place."""
    def backward(self, gradient: _Any = None, retain_graph: builtins.bool | None = None, create_graph: builtins.bool = False, inputs: _Any = None) -> None:
        """Add this tensor's gradients to the `.grad` of the leaves it depends on."""
    def baddbmm(self, batch1: _TensorLike, batch2: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
        """beta * input + alpha * bmm(batch1, batch2)."""
    def baddbmm_(self, batch1: _TensorLike, batch2: _TensorLike, *, beta: builtins.complex = 1, alpha: builtins.complex = 1) -> _Tensor:
        """`baddbmm`, in place."""
    def bernoulli(self, p: _Any = None, *, generator: wengert.functions.random.Generator | None = None, out: _Out | None = None) -> _Tensor:
        """1 with the probability that `input` (or `p`) says, else 0."""
    def bernoulli_(self, p: _Any = ..., *, generator: wengert.functions.random.Generator | None = None) -> _Tensor:
        """Fill with 1 (probability p) and 0."""
    def bfloat16(self, memory_format: _Any = None) -> _Tensor:
        """The tensor as bfloat16."""
    def bincount(self, weights: _TensorLike | None = None, minlength: builtins.int = 0) -> _Tensor:
        """How often each number 0, 1, 2, ... occurs, or the sums of the weights of its places."""
    def bitwise_and(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The bits that both have."""
    def bitwise_and_(self, other: _TensorLike) -> _Tensor:
        """`bitwise_and`, in place."""
    def bitwise_left_shift(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The bits moved up."""
    def bitwise_left_shift_(self, other: _TensorLike) -> _Tensor:
        """`bitwise_left_shift`, in place."""
    def bitwise_not(self, *, out: _Out | None = None) -> _Tensor:
        """The bits inverted; for truth values, not."""
    def bitwise_not_(self) -> _Tensor:
        """`bitwise_not`, in place."""
    def bitwise_or(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The bits that either has."""
    def bitwise_or_(self, other: _TensorLike) -> _Tensor:
        """`bitwise_or`, in place."""
    def bitwise_right_shift(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The bits moved down."""
    def bitwise_right_shift_(self, other: _TensorLike) -> _Tensor:
        """`bitwise_right_shift`, in place."""
    def bitwise_xor(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The bits that exactly one has."""
    def bitwise_xor_(self, other: _TensorLike) -> _Tensor:
        """`bitwise_xor`, in place."""
    def bmm(self, mat2: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The products of two batches of matrices, (b, n, m) and (b, m, p)."""
    def bool(self, memory_format: _Any = None) -> _Tensor:
        """The tensor as bool."""
    def broadcast_to(self, size: _Ints) -> _Tensor:
        """As `expand`."""
    def byte(self, memory_format: _Any = None) -> _Tensor:
        """The tensor as uint8."""
    def cauchy_(self, median: builtins.float = 0, sigma: builtins.float = 1, *, generator: wengert.functions.random.Generator | None = None) -> _Tensor:
        """Fill with Cauchy numbers."""
    def cdouble(self, memory_format: _Any = None) -> _Tensor:
        """The tensor as complex128."""
    def ceil(self, *, out: _Out | None = None) -> _Tensor:
        """Rounded up."""
    def ceil_(self) -> _Tensor:
        """`ceil`, in place."""
    def cfloat(self, memory_format: _Any = None) -> _Tensor:
        """The tensor as complex64."""
    def chalf(self, memory_format: _Any = None) -> _Tensor:
        """An error: NumPy has no complex numbers of two half-precision parts."""
    def char(self, memory_format: _Any = None) -> _Tensor:
        """The tensor as int8."""
    def cholesky(self, upper: builtins.bool = False, *, out: _Out | None = None) -> _Tensor:
        """`linalg.cholesky`, under its older signature."""
    def cholesky_inverse(self, upper: builtins.bool = False, *, out: _Out | None = None) -> _Tensor:
        """The inverse of A, from its Cholesky factor."""
    def cholesky_solve(self, L: _TensorLike, upper: builtins.bool = False, *, out: _Out | None = None) -> _Tensor:
        """X with A X = B, from the Cholesky factor of A: two triangular systems."""
    def choose(self, *args: _Any, **kwargs: _Any) -> _Tensor: ...
    def chunk(self, chunks: builtins.int, dim: builtins.int = 0, *, axis: builtins.int = ...) -> builtins.tuple[_Tensor, ...]:
        """Up to `chunks` pieces of equal size along `dim`, the last perhaps smaller: views."""
    def clamp(self, min: _Any = None, max: _Any = None, *, out: _Out | None = None) -> _Tensor:
        """x kept between `min` and `max`, numbers or tensors; one may be left out."""
    def clamp_(self, min: _Any = None, max: _Any = None) -> _Tensor:
        """x kept between `min` and `max`."""
    def clamp_max(self, max: _Any, *, out: _Out | None = None) -> _Tensor:
        """The smaller of x and a bound."""
    def clamp_max_(self, max: _Any) -> _Tensor:
        """`clamp_max`, in place."""
    def clamp_min(self, min: _Any, *, out: _Out | None = None) -> _Tensor:
        """The larger of x and a bound."""
    def clamp_min_(self, min: _Any) -> _Tensor:
        """`clamp_min`, in place."""
    def clip(self, min: _Any = None, max: _Any = None, *, out: _Out | None = None) -> _Tensor:
        """x kept between `min` and `max`, numbers or tensors; one may be left out."""
    def clip_(self, min: _Any = None, max: _Any = None) -> _Tensor:
        """x kept between `min` and `max`."""
    def clone(self, *, memory_format: _Any = None) -> _Tensor:
        """A copy, recorded: gradients flow through it."""
    def compress(self, condition: _TensorLike, axis: _Any = None) -> _Tensor: ...
    def conj(self) -> _Tensor:
        """The complex conjugate; a real tensor is its own."""
    def conj_physical(self, *, out: _Out | None = None) -> _Tensor:
        """The complex conjugate; a real tensor is its own."""
    def conj_physical_(self) -> _Tensor:
        """`conj_physical`, in place."""
    def conjugate(self) -> _Tensor:
        """NumPy's method gives a real array itself, as its function does not."""
    def contiguous(self, memory_format: _Any = None) -> _Tensor:
        """The input itself if its elements lie in order, else a copy in which they do."""
    def copy(self, *args: _Any, **kwargs: _Any) -> _Tensor: ...
    def copy_(self, src: _TensorLike, non_blocking: builtins.bool = False) -> _Tensor:
        """Make this tensor hold the values of another, cast and broadcast."""
    def copysign(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The size of one with the sign of the other."""
    def copysign_(self, other: _TensorLike) -> _Tensor:
        """`copysign`, in place."""
    def corrcoef(self) -> _Tensor:
        """The matrix of correlation coefficients of variables in rows: covariances over the products of the standard deviations."""
    def cos(self, *, out: _Out | None = None) -> _Tensor:
        """The cosine."""
    def cos_(self) -> _Tensor:
        """`cos`, in place."""
    def cosh(self, *, out: _Out | None = None) -> _Tensor:
        """The hyperbolic cosine."""
    def cosh_(self) -> _Tensor:
        """`cosh`, in place."""
    def count_nonzero(self, dim: builtins.int | _Sequence[builtins.int] | None = None, *, axis: builtins.int | _Sequence[builtins.int] | None = ...) -> _Tensor:
        """How many elements are not zero."""
    def cov(self, *, correction: builtins.int = 1, fweights: _TensorLike | None = None, aweights: _TensorLike | None = None) -> _Tensor:
        """The covariance matrix of variables in rows and observations in columns."""
    def cpu(self, memory_format: _Any = None) -> _Tensor:
        """The tensor itself: it is on the CPU."""
    def cross(self, other: _TensorLike, dim: builtins.int | None = None, *, out: _Out | None = None, axis: builtins.int | None = ...) -> _Tensor:
        """The vector product along a dimension of size 3."""
    def cuda(self, device: _Any = None, non_blocking: builtins.bool = False, memory_format: _Any = None) -> _Tensor:
        """An error that says that there is no such device."""
    def cummax(self, dim: builtins.int, *, out: _Out | None = None, axis: builtins.int = ...) -> _results.cummax_result:
        """The largest so far along `dim`, and where it was met."""
    def cummin(self, dim: builtins.int, *, out: _Out | None = None, axis: builtins.int = ...) -> _results.cummin_result:
        """The smallest so far along `dim`, and where it was met."""
    def cumprod(self, dim: builtins.int, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
        """Running products along `dim`."""
    def cumprod_(self, dim: builtins.int, *, dtype: _Dtype | None = None) -> _Tensor:
        """`cumprod`, in place."""
    def cumsum(self, dim: builtins.int, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
        """Running sums along `dim`."""
    def cumsum_(self, dim: builtins.int, *, dtype: _Dtype | None = None) -> _Tensor:
        """`cumsum`, in place."""
    @property
    def data(self) -> _Tensor:
        """This memory without history, its writes uncounted: prefer detach() or no_grad."""
    @data.setter
    def data(self, value: _Any) -> None: ...
    @data.deleter
    def data(self) -> None: ...
    def data_ptr(self) -> builtins.int:
        """The address of the first element."""
    def deg2rad(self, *, out: _Out | None = None) -> _Tensor:
        """Degrees to radians."""
    def deg2rad_(self) -> _Tensor:
        """`deg2rad`, in place."""
    def dense_dim(self) -> builtins.int:
        """How many dimensions are dense: all."""
    def det(self, *, out: _Out | None = None) -> _Tensor:
        """The determinant. Its derivative, det(A) A^-H, is right at singular matrices too."""
    def detach(self) -> _Tensor:
        """This memory without history. Changes of either are seen by both, and counted."""
    def detach_(self) -> _Tensor:
        """Cut this tensor's history, in place. Views cannot be cut from their base."""
    @property
    def device(self) -> wengert.functions.device.device: ...
    def diag(self, diagonal: builtins.int = 0, *, out: _Out | None = None) -> _Tensor:
        """The matrix with a vector on its diagonal; of a matrix, a copy of its diagonal."""
    def diag_embed(self, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> _Tensor:
        """Matrices with the last dimension of the input on their diagonals, zero elsewhere."""
    def diagflat(self, offset: builtins.int = 0) -> _Tensor:
        """The matrix with all elements of the input on its diagonal."""
    def diagonal(self, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> _Tensor:
        """The diagonal of two dimensions, as the last dimension: a view."""
    def diagonal_scatter(self, src: _TensorLike, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> _Tensor:
        """`input` with a diagonal replaced."""
    def diff(self, n: builtins.int = 1, dim: builtins.int = -1, prepend: _Any = None, append: _Any = None, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
        """Differences of neighbours along `dim`, n times over."""
    def digamma(self, *, out: _Out | None = None) -> _Tensor:
        """The derivative of log Gamma(x)."""
    def digamma_(self) -> _Tensor:
        """`digamma`, in place."""
    def dim(self) -> builtins.int:
        """The number of dimensions."""
    def dim_order(self) -> builtins.tuple[builtins.int, ...]:
        """The dimensions from the slowest to the fastest in memory."""
    def dist(self, other: _TensorLike, p: builtins.float = 2, *, out: _Out | None = None) -> _Tensor:
        """The p-norm of the difference of two tensors."""
    def div(self, other: _TensorLike, *, rounding_mode: builtins.str | None = None, out: _Out | None = None) -> _Tensor:
        """input / other, rounded to an integer if asked: "trunc" towards zero, "floor" downwards."""
    def div_(self, other: _TensorLike, *, rounding_mode: builtins.str | None = None) -> _Tensor:
        """x /= other."""
    def divide(self, other: _TensorLike, *, rounding_mode: builtins.str | None = None, out: _Out | None = None) -> _Tensor:
        """input / other, rounded to an integer if asked: "trunc" towards zero, "floor" downwards."""
    def divide_(self, other: _TensorLike, *, rounding_mode: builtins.str | None = None) -> _Tensor:
        """`divide`, in place."""
    def dot(self, tensor: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The sum of the products of two vectors' elements."""
    def double(self, memory_format: _Any = None) -> _Tensor:
        """The tensor as float64."""
    def dsplit(self, indices_or_sections: _Any, *, indices: _TensorLike = ..., sections: _Any = ..., tensor_indices_or_sections: _Any = ...) -> builtins.tuple[_Tensor, ...]:
        """`tensor_split` along the third dimension."""
    def element_size(self) -> builtins.int:
        """Bytes per element."""
    def eq(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Where two tensors are equal."""
    def eq_(self, other: _TensorLike) -> _Tensor:
        """`eq`, in place."""
    def equal(self, other: _TensorLike) -> builtins.bool:
        """Whether two tensors have one shape and the same elements."""
    def erf(self, *, out: _Out | None = None) -> _Tensor:
        """The error function."""
    def erf_(self) -> _Tensor:
        """`erf`, in place."""
    def erfc(self, *, out: _Out | None = None) -> _Tensor:
        """1 - erf(x), accurate where erf is close to 1."""
    def erfc_(self) -> _Tensor:
        """`erfc`, in place."""
    def erfinv(self, *, out: _Out | None = None) -> _Tensor:
        """The inverse of erf; infinite at -1 and 1, NaN beyond."""
    def erfinv_(self) -> _Tensor:
        """`erfinv`, in place."""
    def exp(self, *, out: _Out | None = None) -> _Tensor:
        """e to the power x."""
    def exp2(self, *, out: _Out | None = None) -> _Tensor:
        """2 to the power x."""
    def exp2_(self) -> _Tensor:
        """`exp2`, in place."""
    def exp_(self) -> _Tensor:
        """`exp`, in place."""
    def expand(self, *shape: _Ints, size: _Ints | None = None, implicit: builtins.bool = False) -> _Tensor:
        """Dimensions of size 1 (and new ones in front) repeated without copying; -1 keeps a size."""
    def expand_as(self, other: _Tensor) -> _Tensor:
        """`expand` to the shape of another tensor."""
    def expm1(self, *, out: _Out | None = None) -> _Tensor:
        """exp(x) - 1, accurate near 0."""
    def expm1_(self) -> _Tensor:
        """`expm1`, in place."""
    def exponential_(self, lambd: builtins.float = 1, *, generator: wengert.functions.random.Generator | None = None) -> _Tensor:
        """Fill with exponential numbers of rate lambd."""
    def fill(self, value: _TensorLike) -> _Tensor:
        """One number in the shape of `input`; the gradient of `input` is zero."""
    def fill_(self, value: _TensorLike) -> _Tensor:
        """Make all elements one number."""
    def fill_diagonal_(self, fill_value: builtins.complex, wrap: builtins.bool = False) -> _Tensor:
        """Make the diagonal one number."""
    def fix(self, *, out: _Out | None = None) -> _Tensor:
        """Rounded towards zero."""
    def fix_(self) -> _Tensor:
        """`fix`, in place."""
    @property
    def flat(self) -> _Tensor: ...
    def flatten(self, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> _Tensor:
        """The dimensions from `start_dim` to `end_dim` as one."""
    def flip(self, *axes: _Any, dims: _Ints | None = None) -> _Tensor:
        """The order of the elements reversed along some dimensions."""
    def fliplr(self) -> _Tensor:
        """Columns in reverse order."""
    def flipud(self) -> _Tensor:
        """Rows in reverse order."""
    def float(self, memory_format: _Any = None) -> _Tensor:
        """The tensor as float32."""
    def float_power(self, exponent: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """input ** exponent in double precision."""
    def float_power_(self, exponent: _TensorLike) -> _Tensor:
        """`float_power`, in place."""
    def floor(self, *, out: _Out | None = None) -> _Tensor:
        """Rounded down."""
    def floor_(self) -> _Tensor:
        """`floor`, in place."""
    def floor_divide(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The quotient rounded towards minus infinity."""
    def floor_divide_(self, other: _TensorLike) -> _Tensor:
        """`floor_divide`, in place."""
    def fmax(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The larger of two; a NaN loses to a number."""
    def fmin(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The smaller of two; a NaN loses to a number."""
    def fmod(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The remainder with the sign of the dividend, as C's fmod."""
    def fmod_(self, other: _TensorLike) -> _Tensor:
        """`fmod`, in place."""
    def frac(self, *, out: _Out | None = None) -> _Tensor:
        """x - trunc(x)."""
    def frac_(self) -> _Tensor:
        """`frac`, in place."""
    def frexp(self, *, out: _Out | None = None) -> _results.frexp_result:
        """x = mantissa * 2**exponent with 1/2 <= |mantissa| < 1; both of 0 are 0."""
    def gather(self, dim: builtins.int, index: _TensorLike, *, sparse_grad: builtins.bool = False, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
        """`out[i][j] = input[index[i][j]][j]` for dim 0, and so on along another dimension."""
    def gcd(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The greatest common divisor."""
    def gcd_(self, other: _TensorLike) -> _Tensor:
        """`gcd`, in place."""
    def ge(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Where input >= other."""
    def ge_(self, other: _TensorLike) -> _Tensor:
        """`ge`, in place."""
    def geometric_(self, p: builtins.float, *, generator: wengert.functions.random.Generator | None = None) -> _Tensor:
        """Fill with numbers of trials until the first success of probability p."""
    def geqrf(self, *, out: _Out | None = None) -> _results.geqrf_result:
        """Householder's form of QR: R on and above the diagonal, the reflections below it and in tau."""
    def ger(self, vec2: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """All products of an element of one vector with one of the other."""
    def get_device(self) -> builtins.int:
        """The number of the device: -1, the CPU."""
    @property
    def grad(self) -> _Tensor:
        """The accumulated gradient, or None."""
    @grad.setter
    def grad(self, value: _Any) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    @property
    def grad_fn(self) -> wengert.history.node.Node:
        """The node that made this tensor; None for a leaf."""
    @grad_fn.deleter
    def grad_fn(self) -> None: ...
    def greater(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Where input > other."""
    def greater_(self, other: _TensorLike) -> _Tensor:
        """`greater`, in place."""
    def greater_equal(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Where input >= other."""
    def greater_equal_(self, other: _TensorLike) -> _Tensor:
        """`greater_equal`, in place."""
    def gt(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Where input > other."""
    def gt_(self, other: _TensorLike) -> _Tensor:
        """`gt`, in place."""
    def half(self, memory_format: _Any = None) -> _Tensor:
        """The tensor as float16."""
    def heaviside(self, values: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """0 below zero, 1 above, `values` at zero."""
    def heaviside_(self, values: _TensorLike) -> _Tensor:
        """`heaviside`, in place."""
    def histc(self, bins: builtins.int = 100, min: builtins.float = 0, max: builtins.float = 0, *, out: _Out | None = None) -> _Tensor:
        """Counts of the elements in `bins` equal intervals from `min` to `max`."""
    def histogram(self, bins: _Any = 100, *, range: _Any = None, weight: _TensorLike | None = None, density: builtins.bool = False, out: _Out | None = None) -> _results.histogram_result:
        """Counts (or sums of weights, or a density) in intervals, and the bounds of the intervals."""
    def hsplit(self, indices_or_sections: _Any, *, indices: _TensorLike = ..., sections: _Any = ..., tensor_indices_or_sections: _Any = ...) -> builtins.tuple[_Tensor, ...]:
        """`tensor_split` along the second dimension (vectors: the first)."""
    def hypot(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """sqrt(a^2 + b^2), without overflow."""
    def hypot_(self, other: _TensorLike) -> _Tensor:
        """`hypot`, in place."""
    def i0(self, *, out: _Out | None = None) -> _Tensor:
        """The modified Bessel function I, of order 0."""
    def i0_(self) -> _Tensor:
        """`i0`, in place."""
    def igamma(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The regularised lower incomplete gamma function: 1/Gamma(a) int_0^x s^(a-1) e^-s ds."""
    def igamma_(self, other: _TensorLike) -> _Tensor:
        """`igamma`, in place."""
    def igammac(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The regularised upper incomplete gamma function, 1 - gammainc(a, x); differentiable by both."""
    def igammac_(self, other: _TensorLike) -> _Tensor:
        """`igammac`, in place."""
    @property
    def imag(self) -> _Tensor: ...
    @imag.setter
    def imag(self, value: _Any) -> None: ...
    def index_add(self, dim: builtins.int, index: _TensorLike, source: _TensorLike, *, alpha: builtins.complex = 1, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
        """`input` with alpha times the slices of `source` added at the slices that `index` names."""
    def index_add_(self, dim: builtins.int, index: _TensorLike, source: _TensorLike, *, alpha: builtins.complex = 1) -> _Tensor:
        """`index_add`, in place."""
    def index_copy(self, dim: builtins.int, index: _TensorLike, source: _TensorLike, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
        """`input` with the slices that `index` names replaced by those of `source`."""
    def index_copy_(self, dim: builtins.int, index: _TensorLike, source: _TensorLike) -> _Tensor:
        """`index_copy`, in place."""
    def index_fill(self, dim: builtins.int, index: _TensorLike, value: _TensorLike) -> _Tensor:
        """`input` with the slices that `index` names filled with a number."""
    def index_fill_(self, dim: builtins.int, index: _TensorLike, value: _TensorLike) -> _Tensor:
        """`index_fill`, in place."""
    def index_put(self, indices: _Sequence[_Any], values: _TensorLike, accumulate: builtins.bool = False) -> _Tensor:
        """`input` with `input[indices]` replaced by the values, or with the values added there."""
    def index_put_(self, indices: _Sequence[_Any], values: _TensorLike, accumulate: builtins.bool = False) -> _Tensor:
        """`index_put`, in place."""
    def index_reduce(self, dim: builtins.int, index: _TensorLike, source: _TensorLike, reduce: builtins.str, *, include_self: builtins.bool = True, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
        """Slices of `source` combined into the slices that `index` names: "prod", "mean", "amax", "amin"."""
    def index_reduce_(self, dim: builtins.int, index: _TensorLike, source: _TensorLike, reduce: builtins.str, *, include_self: builtins.bool = True) -> _Tensor:
        """`index_reduce`, in place."""
    def index_select(self, dim: builtins.int, index: _TensorLike, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
        """The slices along `dim` that a vector of indices names."""
    def inner(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Sums of products along the last dimensions."""
    def int(self, memory_format: _Any = None) -> _Tensor:
        """The tensor as int32."""
    def inverse(self, *, out: _Out | None = None) -> _Tensor:
        """The inverse of a square matrix; `LinAlgError` if it has none."""
    def is_complex(self) -> builtins.bool:
        """Whether the elements are complex numbers."""
    def is_conj(self) -> builtins.bool:
        """Whether conjugation is still to be done: never, it is done at once."""
    def is_contiguous(self, memory_format: _Any = None) -> builtins.bool:
        """Whether the elements lie in memory in order."""
    @property
    def is_cpu(self) -> builtins.bool: ...
    @property
    def is_cuda(self) -> builtins.bool: ...
    def is_distributed(self) -> builtins.bool:
        """Whether the elements are spread over several processes: no."""
    def is_floating_point(self) -> builtins.bool:
        """Whether the elements are floating-point numbers (not complex)."""
    def is_inference(self) -> builtins.bool:
        """Whether this tensor was made in inference mode."""
    is_ipu: builtins.bool
    @property
    def is_leaf(self) -> builtins.bool:
        """Whether the user made this tensor, rather than a recorded operation."""
    is_maia: builtins.bool
    @property
    def is_meta(self) -> builtins.bool: ...
    @property
    def is_mkldnn(self) -> builtins.bool: ...
    @property
    def is_mps(self) -> builtins.bool: ...
    is_mtia: builtins.bool
    def is_neg(self) -> builtins.bool:
        """Whether conjugation is still to be done: never, it is done at once."""
    @property
    def is_nested(self) -> builtins.bool: ...
    def is_nonzero(self) -> builtins.bool:
        """Whether the single element of a tensor is not zero."""
    def is_pinned(self, device: _Any = None) -> builtins.bool:
        """Whether the memory is locked for a device: no."""
    @property
    def is_quantized(self) -> builtins.bool: ...
    def is_same_size(self, other: _TensorLike) -> builtins.bool:
        """Whether two tensors have the same shape."""
    def is_set_to(self, tensor: _TensorLike) -> builtins.bool:
        """Whether two tensors have the same memory, shape and strides."""
    def is_shared(self) -> builtins.bool:
        """Whether other processes share the memory: no."""
    def is_signed(self) -> builtins.bool:
        """Whether the elements can be negative."""
    @property
    def is_sparse(self) -> builtins.bool: ...
    @property
    def is_sparse_csr(self) -> builtins.bool: ...
    is_vulkan: builtins.bool
    is_xla: builtins.bool
    @property
    def is_xpu(self) -> builtins.bool: ...
    def isclose(self, other: _TensorLike, rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = False) -> _Tensor:
        """Where |input - other| <= atol + rtol * |other|."""
    def isfinite(self, *, out: _Out | None = None) -> _Tensor:
        """Where x is neither infinite nor NaN."""
    def isinf(self, *, out: _Out | None = None) -> _Tensor:
        """Where x is infinite."""
    def isnan(self, *, out: _Out | None = None) -> _Tensor:
        """Where x is NaN."""
    def isneginf(self, *, out: _Out | None = None) -> _Tensor:
        """Where x is minus infinity."""
    def isposinf(self, *, out: _Out | None = None) -> _Tensor:
        """Where x is plus infinity."""
    def isreal(self, *, out: _Out | None = None) -> _Tensor:
        """Where the imaginary part is zero."""
    def istft(self, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: _TensorLike | None = None, center: builtins.bool = True, normalized: builtins.bool = False, onesided: builtins.bool | None = None, length: builtins.int | None = None, return_complex: builtins.bool = False) -> _Tensor:
        """The signal whose short-time transform comes closest to `input`, in the least-squares sense."""
    def item(self) -> builtins.int | builtins.float:
        """The single element, as a Python number."""
    @property
    def itemsize(self) -> builtins.int: ...
    def kron(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The Kronecker product: each element of one times all of the other."""
    def kthvalue(self, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: builtins.int = ..., keepdims: builtins.bool = ...) -> _results.kthvalue_result:
        """The k-th smallest element along `dim` (k counts from 1), and where it is."""
    @property
    def layout(self) -> wengert.functions.device.layout: ...
    def lcm(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The least common multiple."""
    def lcm_(self, other: _TensorLike) -> _Tensor:
        """`lcm`, in place."""
    def ldexp(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """input * 2**other."""
    def ldexp_(self, other: _TensorLike) -> _Tensor:
        """`ldexp`, in place."""
    def le(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Where input <= other."""
    def le_(self, other: _TensorLike) -> _Tensor:
        """`le`, in place."""
    def lerp(self, end: _Any, weight: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """input + weight * (end - input)."""
    def lerp_(self, end: _Any, weight: _TensorLike) -> _Tensor:
        """`lerp`, in place."""
    def less(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Where input < other."""
    def less_(self, other: _TensorLike) -> _Tensor:
        """`less`, in place."""
    def less_equal(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Where input <= other."""
    def less_equal_(self, other: _TensorLike) -> _Tensor:
        """`less_equal`, in place."""
    def lgamma(self, *, out: _Out | None = None) -> _Tensor:
        """log |Gamma(x)|."""
    def lgamma_(self) -> _Tensor:
        """`lgamma`, in place."""
    def log(self, *, out: _Out | None = None) -> _Tensor:
        """The natural logarithm."""
    def log10(self, *, out: _Out | None = None) -> _Tensor:
        """The logarithm to base 10."""
    def log10_(self) -> _Tensor:
        """`log10`, in place."""
    def log1p(self, *, out: _Out | None = None) -> _Tensor:
        """log(1 + x), accurate near 0."""
    def log1p_(self) -> _Tensor:
        """`log1p`, in place."""
    def log2(self, *, out: _Out | None = None) -> _Tensor:
        """The logarithm to base 2."""
    def log2_(self) -> _Tensor:
        """`log2`, in place."""
    def log_(self) -> _Tensor:
        """`log`, in place."""
    def log_normal_(self, mean: builtins.float = 1, std: builtins.float = 2, *, generator: wengert.functions.random.Generator | None = None) -> _Tensor:
        """Fill with numbers whose logarithm is normal."""
    def log_softmax(self, dim: builtins.int | None = None, dtype: _Dtype | None = None, *, out: _Out | None = None, axis: builtins.int | None = ...) -> _Tensor:
        """x - log(sum(exp(x))) along `dim`."""
    def logaddexp(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """log(exp(a) + exp(b)), without overflow; of complex numbers the principal value."""
    def logaddexp2(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """log2(2**a + 2**b), without overflow."""
    def logcumsumexp(self, dim: builtins.int, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
        """log of the running sums of exp(x) along `dim`, without overflow."""
    def logdet(self) -> _Tensor:
        """log(det A): NaN of a negative determinant, minus infinity of 0."""
    def logical_and(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Where both are nonzero."""
    def logical_and_(self, other: _TensorLike) -> _Tensor:
        """`logical_and`, in place."""
    def logical_not(self, *, out: _Out | None = None) -> _Tensor:
        """Where x is zero."""
    def logical_not_(self) -> _Tensor:
        """`logical_not`, in place."""
    def logical_or(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Where either is nonzero."""
    def logical_or_(self, other: _TensorLike) -> _Tensor:
        """`logical_or`, in place."""
    def logical_xor(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Where exactly one is nonzero."""
    def logical_xor_(self, other: _TensorLike) -> _Tensor:
        """`logical_xor`, in place."""
    def logit(self, eps: builtins.float | None = None, *, out: _Out | None = None) -> _Tensor:
        """log(x / (1 - x)), the inverse of sigmoid; `eps` keeps x within [eps, 1 - eps]."""
    def logit_(self, eps: builtins.float | None = None) -> _Tensor:
        """`logit`, in place."""
    def logsumexp(self, dim: builtins.int | _Sequence[builtins.int] | None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: builtins.int | _Sequence[builtins.int] | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """log(sum(exp(x))) over some dimensions, without overflow."""
    def long(self, memory_format: _Any = None) -> _Tensor:
        """The tensor as int64."""
    def lt(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Where input < other."""
    def lt_(self, other: _TensorLike) -> _Tensor:
        """`lt`, in place."""
    def lu(self, pivot: builtins.bool = True, get_infos: builtins.bool = False, *, out: _Out | None = None) -> builtins.tuple[_Tensor, ...]:
        """`linalg.lu_factor`, under its older signature; with `get_infos` a third result, the codes."""
    def lu_solve(self, LU_data: _TensorLike, LU_pivots: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """`linalg.lu_solve`, with its arguments in their older order."""
    @property
    def mH(self) -> _Tensor: ...
    @property
    def mT(self) -> _Tensor: ...
    def map2_(self, x: _Tensor, y: _Tensor, callable: _Any) -> _Tensor:
        """x = f(x, y, z) in place, element by element, by a Python function."""
    def map_(self, tensor: _Tensor, callable: _Any) -> _Tensor:
        """x = f(x, y) in place, element by element, by a Python function."""
    def masked_fill(self, mask: _TensorLike, value: _TensorLike) -> _Tensor:
        """`input` with `value` where the mask holds."""
    def masked_fill_(self, mask: _TensorLike, value: _TensorLike) -> _Tensor:
        """`value` where the mask holds; into few numbers without history it is written at once."""
    def masked_scatter(self, mask: _TensorLike, source: _TensorLike) -> _Tensor:
        """`input` with the elements where the mask holds replaced by those of `source`, in order."""
    def masked_scatter_(self, mask: _TensorLike, source: _TensorLike) -> _Tensor:
        """`masked_scatter`, in place."""
    def masked_select(self, mask: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The elements where the mask holds, in one dimension."""
    def matmul(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The product of matrices and vectors; leading dimensions are batches, broadcast."""
    def matrix_exp(self) -> _Tensor:
        """exp(A) = 1 + A + A^2/2 + ..., by scaling and squaring (Al-Mohy and Higham, 2009)."""
    def matrix_power(self, n: builtins.int, *, out: _Out | None = None) -> _Tensor:
        """The n-th power of square matrices, by repeated squaring; of the inverse if n is negative."""
    @typing.overload
    def max(self, dim: _Tensor | None = None, keepdim: builtins.bool = False, *, out: _Out | None = None, other: _TensorLike | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The largest element; with `dim` the largest along it and where; of two the larger."""
    @typing.overload
    def max(self, dim: builtins.int, keepdim: builtins.bool = False, *, out: _Out | None = None, other: _TensorLike | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _results.max_result:
        """The largest element; with `dim` the largest along it and where; of two the larger."""
    def maximum(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The larger of two, element by element; NaN if either is."""
    def mean(self, dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The arithmetic mean over all elements, or over some dimensions; floating point only."""
    @typing.overload
    def median(self, dim: _Tensor | None = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The middle element, the lower of two; NaN if there is one. Full reductions share ties."""
    @typing.overload
    def median(self, dim: builtins.int, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _results.median_result:
        """The middle element, the lower of two; NaN if there is one. Full reductions share ties."""
    @typing.overload
    def min(self, dim: _Tensor | None = None, keepdim: builtins.bool = False, *, out: _Out | None = None, other: _TensorLike | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The smallest element; with `dim` the smallest along it and where; of two tensors the smaller."""
    @typing.overload
    def min(self, dim: builtins.int, keepdim: builtins.bool = False, *, out: _Out | None = None, other: _TensorLike | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _results.min_result:
        """The smallest element; with `dim` the smallest along it and where; of two tensors the smaller."""
    def minimum(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The smaller of two, element by element; NaN if either is."""
    def mm(self, mat2: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The product of two matrices."""
    def mode(self, dim: builtins.int = -1, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: builtins.int = ..., keepdims: builtins.bool = ...) -> _results.mode_result:
        """The most frequent element along `dim` (the smallest of several), and where it stands last."""
    def module_load(self, other: _TensorLike, assign: builtins.bool = False) -> _Any:
        """What `Module.load_state_dict` makes of this entry: `other` in its place, or a copy."""
    def moveaxis(self, source: builtins.int | _Sequence[builtins.int], destination: builtins.int | _Sequence[builtins.int]) -> _Tensor:
        """Dimensions moved to other places; the rest keep their order."""
    def movedim(self, source: builtins.int | _Sequence[builtins.int], destination: builtins.int | _Sequence[builtins.int]) -> _Tensor:
        """Dimensions moved to other places; the rest keep their order."""
    def msort(self, *, out: _Out | None = None) -> _Tensor:
        """Sorted along the first dimension."""
    def mul(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The product of two tensors, element by element."""
    def mul_(self, other: _TensorLike) -> _Tensor:
        """`mul`, in place."""
    def multinomial(self, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: wengert.functions.random.Generator | None = None, out: _Out | None = None) -> _Tensor:
        """Indices drawn with probability proportional to the weights in each row."""
    def multiply(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The product of two tensors, element by element."""
    def multiply_(self, other: _TensorLike) -> _Tensor:
        """`multiply`, in place."""
    def mv(self, vec: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The product of a matrix and a vector."""
    def mvlgamma(self, p: builtins.int, *, out: _Out | None = None) -> _Tensor:
        """The multivariate log-gamma function of dimension p."""
    def mvlgamma_(self, p: builtins.int) -> _Tensor:
        """`mvlgamma`, in place."""
    @property
    def names(self) -> builtins.tuple[_Any, ...]: ...
    def nan_to_num(self, nan: _Any = None, posinf: _Any = None, neginf: _Any = None, *, out: _Out | None = None) -> _Tensor:
        """x with NaN as `nan` (0) and the infinities as the largest finite numbers, or as given."""
    def nan_to_num_(self, nan: _Any = None, posinf: _Any = None, neginf: _Any = None) -> _Tensor:
        """`nan_to_num`, in place."""
    def nanmean(self, dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: builtins.int | _Sequence[builtins.int] | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The mean of the elements that are not NaN."""
    @typing.overload
    def nanmedian(self, dim: _Tensor | None = None, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The middle element of those that are not NaN."""
    @typing.overload
    def nanmedian(self, dim: builtins.int, keepdim: builtins.bool = False, *, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _results.nanmedian_result:
        """The middle element of those that are not NaN."""
    def nanquantile(self, q: builtins.float | _Tensor, dim: _Any = None, keepdim: builtins.bool = False, *, interpolation: builtins.str = 'linear', out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The q-quantile of the elements that are not NaN."""
    def nansum(self, dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: builtins.int | _Sequence[builtins.int] | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The sum of the elements that are not NaN."""
    def narrow(self, dim: builtins.int, start: _Any, length: builtins.int) -> _Tensor:
        """`length` slices along `dim` from `start` on: a view."""
    def narrow_copy(self, dim: builtins.int, start: _Any, length: builtins.int, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
        """As `narrow`, but a copy."""
    @property
    def nbytes(self) -> builtins.int: ...
    def ndimension(self) -> builtins.int:
        """The number of dimensions."""
    def ne(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Where two tensors differ."""
    def ne_(self, other: _TensorLike) -> _Tensor:
        """`ne`, in place."""
    def neg(self, *, out: _Out | None = None) -> _Tensor:
        """-x."""
    def neg_(self) -> _Tensor:
        """`neg`, in place."""
    def negative(self, *, out: _Out | None = None) -> _Tensor:
        """-x."""
    def negative_(self) -> _Tensor:
        """`negative`, in place."""
    def nelement(self) -> builtins.int:
        """The number of elements."""
    def new(self, *args: _Any) -> _Tensor:
        """The old constructor with this tensor's dtype: sizes, or data."""
    def new_empty(self, *size: _Ints, dtype: _Dtype | None = None, **options: _Any) -> _Tensor:
        """An uninitialised tensor of this dtype."""
    def new_empty_strided(self, size: _Ints, stride: _Ints, *, dtype: _Dtype | None = None, **options: _Any) -> _Tensor:
        """An uninitialised tensor of this dtype with the strides given."""
    def new_full(self, size: _Ints, fill_value: _Any, *, dtype: _Dtype | None = None, **options: _Any) -> _Tensor:
        """One number repeated, of this dtype."""
    def new_ones(self, *size: _Ints, dtype: _Dtype | None = None, **options: _Any) -> _Tensor:
        """Ones of this dtype."""
    def new_tensor(self, data: _Any, *, dtype: _Dtype | None = None, layout: _Any = None, **options: _Any) -> _Tensor:
        """A tensor with a copy of `data`, of this dtype unless another is given."""
    def new_zeros(self, *size: _Ints, dtype: _Dtype | None = None, **options: _Any) -> _Tensor:
        """Zeros of this dtype."""
    def nextafter(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The floating-point number next to x in the direction of `other`."""
    def nextafter_(self, other: _TensorLike) -> _Tensor:
        """`nextafter`, in place."""
    def nonzero(self, *, as_tuple: builtins.bool = False, out: _Out | None = None) -> _Tensor:
        """The indices of the elements that are not zero: one row each, or one tensor per dimension."""
    def nonzero_static(self, *, size: builtins.int = ..., fill_value: builtins.int = -1) -> _Tensor:
        """The indices of the elements that are not zero in a fixed number of rows, cut or filled up."""
    def norm(self, p: builtins.float | builtins.str | None = 'fro', dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, dtype: _Dtype | None = None, *, out: _Out | None = None, axis: builtins.int | _Sequence[builtins.int] | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The p-norm of the elements, over all or some dimensions; "fro" is the Euclidean one, "nuc" the sum of a matrix's singular values. At 0 the gradient is 0."""
    def normal_(self, mean: builtins.float = 0, std: builtins.float = 1, *, generator: wengert.functions.random.Generator | None = None) -> _Tensor:
        """Fill with normal numbers."""
    def not_equal(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Where two tensors differ."""
    def not_equal_(self, other: _TensorLike) -> _Tensor:
        """`not_equal`, in place."""
    def numel(self) -> builtins.int:
        """The number of elements."""
    def numpy(self, *, force: builtins.bool = False) -> _np.ndarray[_Any, _Any]:
        """The NumPy array inside: the same memory. `force` detaches first."""
    def orgqr(self, tau: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The first n columns of H_1 H_2 ... H_k, with H_i = 1 - tau_i v_i v_i^H."""
    def ormqr(self, tau: _TensorLike, other: _TensorLike, left: builtins.bool = True, transpose: builtins.bool = False, *, out: _Out | None = None) -> _Tensor:
        """Q C, or Q^H C if `transpose`, or C Q and C Q^H if not `left`, Q as `geqrf` represents it."""
    def outer(self, vec2: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """All products of an element of one vector with one of the other."""
    @property
    def output_nr(self) -> builtins.int:
        """Which output of its node this tensor is."""
    def partition(self, kth: _Any, axis: builtins.int = -1, kind: _Any = 'introselect') -> None: ...
    def permute(self, *axes: _Any, dims: _Ints | None = None) -> _Tensor:
        """The dimensions in another order."""
    def pin_memory(self, device: _Any = None) -> _Tensor:
        """The tensor itself: there is no device to copy to."""
    def pinverse(self, rcond: builtins.float = ...) -> _Tensor:
        """`linalg.pinv`, under its older signature."""
    def polygamma(self, n: builtins.int) -> _Tensor:
        """The n-th derivative of digamma."""
    def polygamma_(self, n: builtins.int) -> _Tensor:
        """`polygamma`, in place."""
    def positive(self) -> _Tensor:
        """`input` itself, as +x is."""
    def pow(self, exponent: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """input ** exponent; either may be a number."""
    def pow_(self, exponent: _TensorLike) -> _Tensor:
        """x **= exponent."""
    def prod(self, dim: _Any = None, keepdim: builtins.bool = False, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The product over all elements, or along one dimension."""
    def ptp(self, *args: _Any, **kwargs: _Any) -> _Tensor: ...
    def put(self, index: _TensorLike, source: _TensorLike, accumulate: builtins.bool = False) -> _Tensor:
        """`input` with elements of its flattened form replaced, or with the source added to them."""
    def put_(self, index: _TensorLike, source: _TensorLike, accumulate: builtins.bool = False) -> _Tensor:
        """Replace elements of the flattened form."""
    def qr(self, some: builtins.bool = True, *, out: _Out | None = None) -> _results.old_qr_result:
        """`linalg.qr`, under its older signature."""
    def quantile(self, q: builtins.float | _Tensor, dim: _Any = None, keepdim: builtins.bool = False, *, interpolation: builtins.str = 'linear', out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The q-quantile: between the two nearest elements by `interpolation`. NaN if there is one."""
    def rad2deg(self, *, out: _Out | None = None) -> _Tensor:
        """Radians to degrees."""
    def rad2deg_(self) -> _Tensor:
        """`rad2deg`, in place."""
    def random_(self, from_: builtins.int = 0, to: builtins.int | None = None, *, generator: wengert.functions.random.Generator | None = None) -> _Tensor:
        """Fill with integers from `from` (0) up to but not including `to`."""
    def ravel(self) -> _Tensor:
        """The elements in one dimension."""
    @property
    def real(self) -> _Tensor: ...
    @real.setter
    def real(self, value: _Any) -> None: ...
    def reciprocal(self, *, out: _Out | None = None) -> _Tensor:
        """1 / x, of integers too."""
    def reciprocal_(self) -> _Tensor:
        """`reciprocal`, in place."""
    def register_hook(self, hook: _Callable[..., _Any]) -> wengert.history.node.RemovableHandle:
        """Call `hook(grad)` when this tensor's gradient is computed; a tensor returned replaces it."""
    def register_post_accumulate_grad_hook(self, hook: _Callable[..., _Any]) -> wengert.history.node.RemovableHandle:
        """Call `hook(tensor)` after `.grad` of this leaf was updated."""
    def reinforce(self, reward: _Any) -> None:
        """An error: the old method of stochastic nodes."""
    def relu(self, *, out: _Out | None = None) -> _Tensor:
        """max(x, 0)."""
    def relu_(self) -> _Tensor:
        """`relu`, in place."""
    def remainder(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The remainder with the sign of the divisor, as Python's %."""
    def remainder_(self, other: _TensorLike) -> _Tensor:
        """`remainder`, in place."""
    def renorm(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
        """The input with slices along `dim` scaled down to a p-norm of at most `maxnorm`."""
    def renorm_(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float) -> _Tensor:
        """`renorm`, in place."""
    def repeat(self, *reps: _Any, repeats: _TensorLike | None = None) -> _Tensor:
        """Copies of the whole, side by side, as many along each dimension as said."""
    def repeat_interleave(self, repeats: _TensorLike | None = None, dim: builtins.int | None = None, *, output_size: builtins.int | None = None, axis: builtins.int | None = ...) -> _Tensor:
        """Each element (or slice along `dim`) repeated; given only counts, the numbers of the places."""
    def requires_grad_(self, requires_grad: builtins.bool = True) -> _Tensor:
        """Mark this leaf as one to differentiate by, or unmark it; returns the tensor."""
    def reshape(self, *shape: _Ints, size: _Ints = ...) -> _Tensor:
        """The input's elements in another shape, a view where memory allows; one size may be -1."""
    def reshape_as(self, other: _Tensor) -> _Tensor:
        """`reshape` to the shape of another tensor."""
    def resize_(self, *shape: _Ints, memory_format: _Any = None) -> _Tensor:
        """Change the shape; elements are kept in order, new ones are left as they are in memory."""
    def resize_as_(self, other: _Tensor, memory_format: _Any = None) -> _Tensor:
        """`resize_` to the shape of another tensor."""
    def resolve_conj(self) -> _Tensor:
        """The tensor itself: conjugation is never postponed."""
    def resolve_neg(self) -> _Tensor:
        """The tensor itself: conjugation is never postponed."""
    def retain_grad(self) -> None:
        """Keep this non-leaf's gradient in `.grad` as well. Does nothing for a leaf."""
    @property
    def retains_grad(self) -> builtins.bool:
        """Whether `retain_grad` was called on what is no leaf."""
    def roll(self, shifts: _Ints, dims: _Ints | None = None) -> _Tensor:
        """Elements shifted along dimensions; those that fall off come back at the other end."""
    def rot90(self, k: builtins.int = 1, dims: _Sequence[builtins.int] = ...) -> _Tensor:
        """Turned by k quarter turns from the first of two dimensions towards the second."""
    def round(self, *, decimals: builtins.int = 0, out: _Out | None = None) -> _Tensor:
        """Rounded to the nearest, halves to even; `decimals` digits after the point."""
    def round_(self, *, decimals: builtins.int = 0) -> _Tensor:
        """x rounded to so many digits after the point."""
    def rsqrt(self, *, out: _Out | None = None) -> _Tensor:
        """1 / sqrt(x)."""
    def rsqrt_(self) -> _Tensor:
        """`rsqrt`, in place."""
    def scatter(self, dim: builtins.int, index: _TensorLike, src: _Tensor | builtins.float | None = None, *, value: _TensorLike | None = None, reduce: builtins.str | None = None, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
        """`out[index[i][j]][j] = src[i][j]` for dim 0, the rest as in `input`; "add" or "multiply" instead."""
    def scatter_(self, dim: builtins.int, index: _TensorLike, src: _Tensor | builtins.float | None = None, *, value: _TensorLike | None = None, reduce: builtins.str | None = None) -> _Tensor:
        """`scatter`, in place."""
    def scatter_add(self, dim: builtins.int, index: _TensorLike, src: _TensorLike, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
        """`out[index[i][j]][j] += src[i][j]` for dim 0: `gather` transposed, added to `input`."""
    def scatter_add_(self, dim: builtins.int, index: _TensorLike, src: _TensorLike) -> _Tensor:
        """`scatter_add`, in place."""
    def scatter_reduce(self, dim: builtins.int, index: _TensorLike, src: _TensorLike, reduce: builtins.str, *, include_self: builtins.bool = True, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
        """Elements of `src` that go to one place combined by "sum", "prod", "mean", "amax" or "amin"."""
    def scatter_reduce_(self, dim: builtins.int, index: _TensorLike, src: _TensorLike, reduce: builtins.str, *, include_self: builtins.bool = True) -> _Tensor:
        """`scatter_reduce`, in place."""
    def searchsorted(self, *args: _Any, **kwargs: _Any) -> _Tensor: ...
    def select(self, dim: builtins.int, index: builtins.int) -> _Tensor:
        """The slice number `index` along `dim`, without that dimension: a view."""
    def select_scatter(self, src: _TensorLike, dim: builtins.int, index: builtins.int) -> _Tensor:
        """`input` with one slice along `dim` replaced."""
    def set_(self, source: _Tensor | None = None, *more: _Any) -> _Tensor:
        """Make this tensor look into the memory of another (or, without one, be empty)."""
    def sgn(self, *, out: _Out | None = None) -> _Tensor:
        """sign(x); for complex numbers z / |z|, and 0 at 0."""
    def sgn_(self) -> _Tensor:
        """`sgn`, in place."""
    def share_memory_(self) -> _Tensor:
        """The tensor itself; threads share memory as it is."""
    def short(self, memory_format: _Any = None) -> _Tensor:
        """The tensor as int16."""
    def sigmoid(self, *, out: _Out | None = None) -> _Tensor:
        """1 / (1 + exp(-x))."""
    def sigmoid_(self) -> _Tensor:
        """`sigmoid`, in place."""
    def sign(self, *, out: _Out | None = None) -> _Tensor:
        """-1, 0 or 1."""
    def sign_(self) -> _Tensor:
        """`sign`, in place."""
    def signbit(self, *, out: _Out | None = None) -> _Tensor:
        """Where the sign is negative."""
    def sin(self, *, out: _Out | None = None) -> _Tensor:
        """The sine."""
    def sin_(self) -> _Tensor:
        """`sin`, in place."""
    def sinc(self, *, out: _Out | None = None) -> _Tensor:
        """sin(pi x) / (pi x), and 1 at 0."""
    def sinc_(self) -> _Tensor:
        """`sinc`, in place."""
    def sinh(self, *, out: _Out | None = None) -> _Tensor:
        """The hyperbolic sine."""
    def sinh_(self) -> _Tensor:
        """`sinh`, in place."""
    @typing.overload
    def size(self, dim: _Tensor | None = None) -> _Size:
        """The shape, or the size of one dimension."""
    @typing.overload
    def size(self, dim: builtins.int) -> builtins.int:
        """The shape, or the size of one dimension."""
    def slice_scatter(self, src: _TensorLike, dim: builtins.int = 0, start: _Any = None, end: _Any = None, step: builtins.int = 1, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
        """`input` with a range of slices along `dim` replaced."""
    def slogdet(self, *, out: _Out | None = None) -> _results.slogdet_result:
        """The sign (for complex matrices the phase) of the determinant, and log|det A|."""
    def softmax(self, dim: builtins.int | None = None, dtype: _Dtype | None = None, *, out: _Out | None = None, axis: builtins.int | None = ...) -> _Tensor:
        """exp(x) / sum(exp(x)) along `dim`."""
    def sort(self, dim: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = False, *, out: _Out | None = None, axis: builtins.int = ...) -> _results.sort_result:
        """The elements in order along `dim`, and where each came from."""
    def sparse_dim(self) -> builtins.int:
        """How many dimensions are sparse: none."""
    def sparse_mask(self, mask: _TensorLike) -> _Tensor:
        """The elements at the indices of a sparse tensor, as a sparse tensor."""
    def split(self, split_size_or_sections: _Any, dim: builtins.int = 0, *, axis: builtins.int = ..., split_size: _Any = ...) -> builtins.tuple[_Tensor, ...]:
        """Pieces of one size along `dim` (the last may be smaller), or of the sizes given: views."""
    def split_with_sizes(self, split_sizes: _Sequence[builtins.int], dim: builtins.int = 0) -> builtins.tuple[_Tensor, ...]:
        """Pieces of the given sizes along `dim`: views."""
    def sqrt(self, *, out: _Out | None = None) -> _Tensor:
        """The square root; NaN below zero."""
    def sqrt_(self) -> _Tensor:
        """`sqrt`, in place."""
    def square(self, *, out: _Out | None = None) -> _Tensor:
        """x squared; of truth values, as integers."""
    def square_(self) -> _Tensor:
        """`square`, in place."""
    def squeeze(self, dim: _Any = None, *, axis: _Any = None) -> _Tensor:
        """Without the dimensions of size 1, or those of `dim` that have it."""
    def squeeze_(self, dim: _Any = None, *, axis: _Any = None) -> _Tensor:
        """`squeeze`, in place."""
    def std(self, dim: _Any = None, unbiased: _Any = None, keepdim: builtins.bool = False, *, correction: builtins.float | None = None, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The standard deviation, the square root of `var`; where it is 0 so is its gradient."""
    def stft(self, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: _TensorLike | None = None, center: builtins.bool = True, pad_mode: builtins.str = 'reflect', normalized: builtins.bool = False, onesided: builtins.bool | None = None, return_complex: builtins.bool | None = None, align_to_window: builtins.bool | None = None) -> _Tensor:
        """The Fourier transforms of windows of a signal, `hop_length` apart: (..., frequency, frame)."""
    def storage(self) -> _Any:
        """The memory that this tensor looks into."""
    def storage_offset(self) -> builtins.int:
        """How many elements of the storage come before the first one."""
    def storage_type(self) -> builtins.type:
        """The class of the storage."""
    @typing.overload
    def stride(self, dim: _Tensor | None = None) -> builtins.tuple[builtins.int, ...]:
        """How many elements lie between neighbours along each dimension, or along one."""
    @typing.overload
    def stride(self, dim: builtins.int) -> builtins.int:
        """How many elements lie between neighbours along each dimension, or along one."""
    @property
    def strides(self) -> builtins.tuple[builtins.int, ...]:
        """How many bytes lie between neighbours along each dimension."""
    def sub(self, other: _TensorLike, *, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
        """input - alpha * other."""
    def sub_(self, other: _TensorLike, *tensor: _TensorLike, alpha: builtins.complex = 1) -> _Tensor:
        """x -= alpha * other; of old also called as sub_(alpha, other)."""
    def subtract(self, other: _TensorLike, *, alpha: builtins.complex = 1, out: _Out | None = None) -> _Tensor:
        """input - alpha * other."""
    def subtract_(self, other: _TensorLike, *tensor: _TensorLike, alpha: builtins.complex = 1) -> _Tensor:
        """x -= alpha * other; of old also called as sub_(alpha, other)."""
    def sum(self, dim: builtins.int | _Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _Dtype | None = None, out: _Out | None = None, axis: _Ints | None = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The sum over all elements, or over some dimensions. Integers and truth values sum to int64."""
    def sum_to_size(self, *size: _Ints) -> _Tensor:
        """Summed over the dimensions along which a tensor of `size` was repeated: expand's transpose."""
    def svd(self, some: builtins.bool = True, compute_uv: builtins.bool = True, *, out: _Out | None = None) -> _results.old_svd_result:
        """`linalg.svd` under its older signature: V instead of its conjugate transpose."""
    def swapaxes(self, axis0: builtins.int, axis1: builtins.int) -> _Tensor:
        """Two dimensions exchanged: `transpose` under NumPy's name."""
    def swapaxes_(self, axis0: builtins.int, axis1: builtins.int) -> _Tensor:
        """`swapaxes`, in place."""
    def swapdims(self, dim0: builtins.int, dim1: builtins.int) -> _Tensor:
        """Two dimensions exchanged."""
    def swapdims_(self, dim0: builtins.int, dim1: builtins.int) -> _Tensor:
        """`swapdims`, in place."""
    def t(self) -> _Tensor:
        """The transpose of a matrix; vectors and numbers stay as they are."""
    def t_(self) -> _Tensor:
        """`t`, in place."""
    def take(self, index: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """Elements of the flattened tensor."""
    def take_along_dim(self, indices: _TensorLike, dim: builtins.int | None = None, *, out: _Out | None = None, axis: builtins.int | None = ...) -> _Tensor:
        """As `gather`, with the shapes broadcast; without `dim` in the flattened tensor."""
    def tan(self, *, out: _Out | None = None) -> _Tensor:
        """The tangent."""
    def tan_(self) -> _Tensor:
        """`tan`, in place."""
    def tanh(self, *, out: _Out | None = None) -> _Tensor:
        """The hyperbolic tangent."""
    def tanh_(self) -> _Tensor:
        """`tanh`, in place."""
    def tensor_split(self, indices_or_sections: _Any, dim: builtins.int = 0, *, axis: builtins.int = ..., indices: _TensorLike = ..., sections: _Any = ..., tensor_indices_or_sections: _Any = ...) -> builtins.tuple[_Tensor, ...]:
        """As many pieces as said, sizes differing by at most one, or cut at the places given: views."""
    def tile(self, *reps: _Any, dims: _Ints | None = None) -> _Tensor:
        """As `repeat`, with ones put in front of too few numbers."""
    def to(self, *args: _Any, dtype: _Dtype | None = None, device: _Any = None, other: _TensorLike | None = None, non_blocking: builtins.bool = False, copy: builtins.bool = False, memory_format: _Any = None) -> _Tensor:
        """The tensor with another dtype (and on another device, of which there is one)."""
    def to_dense(self, dtype: _Dtype | None = None) -> _Tensor:
        """The tensor itself: it is dense."""
    def to_device(self, device: _Any, /, *, stream: _Any = None) -> _Tensor:
        """The tensor itself: it is on the CPU, where else it could be is an error."""
    def to_sparse(self, sparse_dim: builtins.int | None = None, *, layout: _Any = None, blocksize: _Any = None, dense_dim: builtins.int | None = None) -> _Tensor:
        """The elements that are not zero, as a sparse tensor in COO form, or CSR."""
    def to_sparse_bsc(self, dense_dim: _Any = None) -> _Tensor:
        """NotImplementedError: of layouts there are COO and CSR."""
    def to_sparse_bsr(self, dense_dim: _Any = None) -> _Tensor:
        """NotImplementedError: of layouts there are COO and CSR."""
    def to_sparse_coo(self, sparse_dim: builtins.int | None = None, *, layout: _Any = None, blocksize: _Any = None, dense_dim: builtins.int | None = None) -> _Tensor:
        """The elements that are not zero, as a sparse tensor in COO form, or CSR."""
    def to_sparse_csc(self, dense_dim: _Any = None) -> _Tensor:
        """NotImplementedError: of layouts there are COO and CSR."""
    def to_sparse_csr(self, dense_dim: _Any = None) -> _Tensor:
        """The elements that are not zero, as a sparse tensor in CSR form."""
    def tolist(self) -> _Any:
        """Nested lists of Python numbers."""
    def topk(self, k: builtins.int, dim: builtins.int = -1, largest: builtins.bool = True, sorted: builtins.bool = True, *, out: _Out | None = None, axis: builtins.int = ...) -> _results.topk_result:
        """The k largest (or smallest) elements along `dim`, and where they are."""
    def trace(self) -> _Tensor:
        """The sum of a matrix's diagonal."""
    def transpose(self, dim0: builtins.int, dim1: builtins.int) -> _Tensor:
        """Two dimensions exchanged."""
    def transpose_(self, dim0: builtins.int, dim1: builtins.int) -> _Tensor:
        """`transpose`, in place."""
    def triangular_solve(self, A: _TensorLike, upper: builtins.bool = True, transpose: builtins.bool = False, unitriangular: builtins.bool = False, *, out: _Out | None = None) -> _results.triangular_solve_result:
        """`linalg.solve_triangular` under its older signature; the second result is A."""
    def tril(self, diagonal: builtins.int = 0, *, out: _Out | None = None) -> _Tensor:
        """The lower triangle, zero above the diagonal (or another diagonal)."""
    def tril_(self, diagonal: builtins.int = 0) -> _Tensor:
        """`tril`, in place."""
    def triu(self, diagonal: builtins.int = 0, *, out: _Out | None = None) -> _Tensor:
        """The upper triangle, zero below the diagonal (or another diagonal)."""
    def triu_(self, diagonal: builtins.int = 0) -> _Tensor:
        """`triu`, in place."""
    def true_divide(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The quotient; integers give floating-point numbers."""
    def true_divide_(self, other: _TensorLike) -> _Tensor:
        """`true_divide`, in place."""
    def trunc(self, *, out: _Out | None = None) -> _Tensor:
        """Rounded towards zero."""
    def trunc_(self) -> _Tensor:
        """`trunc`, in place."""
    def type(self, dtype: _Dtype | None = None, non_blocking: builtins.bool = False) -> _Any:
        """The tensor with another dtype; without one, the name of its type."""
    def type_as(self, other: _TensorLike) -> _Tensor:
        """The tensor with the dtype of another."""
    def unbind(self, dim: builtins.int = 0, *, axis: builtins.int | None = None) -> builtins.tuple[_Tensor, ...]:
        """The slices along `dim`, without that dimension: views."""
    def unflatten(self, dim: builtins.int, sizes: _Sequence[builtins.int]) -> _Tensor:
        """One dimension as several."""
    def unfold(self, dimension: builtins.int, size: builtins.int, step: builtins.int) -> _Tensor:
        """Windows of `size` along a dimension, `step` apart, as a new last dimension: a view."""
    def uniform_(self, from_: builtins.float = 0, to: builtins.float = 1, *, generator: wengert.functions.random.Generator | None = None) -> _Tensor:
        """Fill with numbers uniform on [from, to)."""
    def unique(self, sorted: builtins.bool = True, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: _Any = None) -> _Tensor:
        """The different elements (or slices along `dim`) in order; where each went; how often each is."""
    def unique_consecutive(self, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: _Any = None) -> _Tensor:
        """As `unique`, but only neighbours that are equal become one."""
    def unsafe_chunk(self, chunks: builtins.int, dim: builtins.int = 0) -> builtins.tuple[_Tensor, ...]:
        """As `chunk`, but the pieces may be changed in place."""
    def unsafe_split(self, split_size: _Any, dim: builtins.int = 0, *, axis: builtins.int = ...) -> builtins.tuple[_Tensor, ...]:
        """As `split`, but the pieces may be changed in place (if the input is not used again)."""
    def unsafe_split_with_sizes(self, split_sizes: _Sequence[builtins.int], dim: builtins.int = 0) -> builtins.tuple[_Tensor, ...]:
        """As `split_with_sizes`, but the pieces may be changed in place."""
    def unsqueeze(self, dim: builtins.int) -> _Tensor:
        """With a new dimension of size 1 at `dim`."""
    def unsqueeze_(self, dim: builtins.int) -> _Tensor:
        """`unsqueeze`, in place."""
    def untyped_storage(self) -> _Any:
        """The memory that this tensor looks into."""
    def var(self, dim: _Any = None, unbiased: _Any = None, keepdim: builtins.bool = False, *, correction: builtins.float | None = None, out: _Out | None = None, axis: _Any = ..., keepdims: builtins.bool = ...) -> _Tensor:
        """The variance: squared distances from the mean, summed, over n - correction (1)."""
    def vdot(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """The dot product with the first vector conjugated."""
    def view(self, *shape: _Ints, dtype: _Dtype | None = None, size: _Ints | None = None) -> _Tensor:
        """The input's memory in another shape, or, given a dtype, read as other numbers."""
    def view_as(self, other: _Tensor) -> _Tensor:
        """`view` in the shape of another tensor."""
    def vsplit(self, indices_or_sections: _Any, *, indices: _TensorLike = ..., sections: _Any = ..., tensor_indices_or_sections: _Any = ...) -> builtins.tuple[_Tensor, ...]:
        """`tensor_split` along the first dimension of a matrix."""
    def where(self, condition: _TensorLike, other: _TensorLike) -> _Tensor:
        """The elements where the condition holds, those of `other` elsewhere."""
    def xlogy(self, other: _TensorLike, *, out: _Out | None = None) -> _Tensor:
        """x log(y), and 0 where x is 0 (NaN where y is NaN)."""
    def xlogy_(self, other: _TensorLike) -> _Tensor:
        """`xlogy`, in place."""
    def zero_(self) -> _Tensor:
        """Make all elements 0."""
