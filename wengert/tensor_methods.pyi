"""What type checkers see of Tensor's methods; written by `python -m docs.generate.methods`."""

import builtins
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import wengert
from wengert.history.node import Node, RemovableHandle
from wengert.tensor import Size, Tensor

class Methods:
    @property
    def H(self) -> Any: ...
    @property
    def T(self) -> Tensor:
        """The dimensions in reverse order, as in `x.T`."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Any) -> Tensor: ...
    def __and__(self, other: Any) -> Tensor: ...
    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The namespace of the array API standard for tensors."""
    def __bool__(self) -> builtins.bool: ...
    def __ceil__(self) -> Any: ...
    def __complex__(self) -> builtins.complex: ...
    def __contains__(self, element: Any) -> builtins.bool: ...
    def __copy__(self) -> Any:
        """Another leaf that shares this tensor's memory."""
    def __deepcopy__(self, memo: dict[builtins.int, Any]) -> Any: ...
    def __delitem__(self, index: Any) -> None: ...
    def __dir__(self) -> builtins.list[str]: ...
    def __divmod__(self, other: Any) -> Tensor: ...
    def __dlpack__(self, *, stream: Any = None, max_version: builtins.tuple[builtins.int, builtins.int] | None = None, dl_device: builtins.tuple[builtins.int, builtins.int] | None = None, copy: builtins.bool | None = None) -> Any: ...
    def __dlpack_device__(self) -> builtins.tuple[builtins.int, builtins.int]: ...
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> builtins.float: ...
    def __floor__(self) -> Any: ...
    def __floordiv__(self, other: Any) -> Tensor: ...
    def __format__(self, spec: str) -> str: ...
    def __ge__(self, other: Any) -> Tensor: ...
    def __getitem__(self, index: Any) -> Tensor:
        """`x[index]`: a view for numbers and slices, a copy for index tensors and masks."""
    def __gt__(self, other: Any) -> Tensor: ...
    def __hash__(self) -> builtins.int: ...
    def __iadd__(self, other: Any) -> Tensor: ...
    def __iand__(self, other: Any) -> Tensor: ...
    def __ifloordiv__(self, other: Any) -> Tensor: ...
    def __ilshift__(self, other: Any) -> Tensor: ...
    def __imod__(self, other: Any) -> Tensor: ...
    def __imul__(self, other: Any) -> Tensor: ...
    def __index__(self) -> builtins.int: ...
    def __init_subclass__(cls, **kwargs: Any) -> None: ...
    def __int__(self) -> builtins.int: ...
    def __invert__(self, *, out: Any = None) -> Tensor:
        """The bits inverted; for truth values, not."""
    def __ior__(self, other: Any) -> Tensor: ...
    def __ipow__(self, other: Any) -> Tensor: ...
    def __irshift__(self, other: Any) -> Tensor: ...
    def __isub__(self, other: Any) -> Tensor: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __itruediv__(self, other: Any) -> Tensor: ...
    def __ixor__(self, other: Any) -> Tensor: ...
    def __le__(self, other: Any) -> Tensor: ...
    def __len__(self) -> builtins.int: ...
    def __lshift__(self, other: Any) -> Tensor: ...
    def __lt__(self, other: Any) -> Tensor: ...
    def __matmul__(self, other: Any) -> Tensor: ...
    def __mod__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Any) -> Tensor: ...
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __new__(cls, *args: Any, **kwargs: Any) -> Any: ...
    def __or__(self, other: Any) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: Any) -> Tensor: ...
    def __radd__(self, other: Any) -> Tensor: ...
    def __rand__(self, other: Any) -> Tensor: ...
    def __rdiv__(self, other: Any) -> Any: ...
    def __rdivmod__(self, other: Any) -> Tensor: ...
    def __reduce_ex__(self, protocol: Any) -> Any: ...
    def __repr__(self, *, tensor_contents: Any = None) -> str: ...
    def __reversed__(self) -> Any: ...
    def __rfloordiv__(self, other: Any) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Tensor: ...
    def __rmatmul__(self, other: Any) -> Tensor: ...
    def __rmod__(self, other: Any) -> Tensor: ...
    def __rmul__(self, other: Any) -> Tensor: ...
    def __ror__(self, other: Any) -> Tensor: ...
    def __round__(self, decimals: builtins.int = 0) -> Any: ...
    def __rpow__(self, other: Any) -> Tensor: ...
    def __rrshift__(self, other: Any) -> Tensor: ...
    def __rshift__(self, other: Any) -> Tensor: ...
    def __rsub__(self, other: Any) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Tensor: ...
    def __rxor__(self, other: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None:
        """`x[index] = value`, in place; value and history as PyTorch has them."""
    def __sub__(self, other: Any) -> Tensor: ...
    def __torch_function__(cls, func: Any, types: Any, args: Any = ..., kwargs: Any = None) -> Any:
        """What a function means to tensors of this class: results are of it, too."""
    def __truediv__(self, other: Any) -> Tensor: ...
    def __trunc__(self) -> Any: ...
    def __xor__(self, other: Any) -> Tensor: ...
    @property
    def _backward_hooks(self) -> Any: ...
    @_backward_hooks.deleter
    def _backward_hooks(self) -> None: ...
    @property
    def _base(self) -> Any: ...
    @property
    def _grad_fn(self) -> Node | None: ...
    @_grad_fn.deleter
    def _grad_fn(self) -> None: ...
    def _is_view(self) -> builtins.bool: ...
    def _repr_html_(self) -> str: ...
    def _typed_storage(self) -> Any:
        """The memory that this tensor looks into."""
    @property
    def _version(self) -> builtins.int:
        """How often this storage was written in place; views share the count."""
    def abs(self, *, out: Any = None) -> Any:
        """The absolute value; of complex numbers, the modulus."""
    def abs_(self) -> Tensor:
        """`abs`, in place."""
    def absolute(self, *, out: Any = None) -> Any:
        """The absolute value; of complex numbers, the modulus."""
    def absolute_(self) -> Tensor:
        """`absolute`, in place."""
    def acos(self, *, out: Any = None) -> Tensor:
        """The inverse cosine."""
    def acos_(self) -> Tensor:
        """`acos`, in place."""
    def acosh(self, *, out: Any = None) -> Tensor:
        """The inverse hyperbolic cosine."""
    def acosh_(self) -> Tensor:
        """`acosh`, in place."""
    def add(self, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
        """input + alpha * other."""
    def add_(self, other: Any, *tensor: Any, alpha: Any = 1) -> Tensor:
        """x += alpha * other; of old also called as add_(alpha, other)."""
    def addbmm(self, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Tensor:
        """beta * input + alpha * the sum of the products in two batches."""
    def addbmm_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`addbmm`, in place."""
    def addcdiv(self, tensor1: Any, tensor2: Any, *, value: Any = 1, out: Any = None) -> Any:
        """input + value * tensor1 / tensor2."""
    def addcdiv_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`addcdiv`, in place."""
    def addcmul(self, tensor1: Any, tensor2: Any, *, value: Any = 1, out: Any = None) -> Any:
        """input + value * tensor1 * tensor2."""
    def addcmul_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`addcmul`, in place."""
    def addmm(self, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Tensor:
        """beta * input + alpha * (mat1 @ mat2)."""
    def addmm_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`addmm`, in place."""
    def addmv(self, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Tensor:
        """beta * input + alpha * (mat @ vec)."""
    def addmv_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`addmv`, in place."""
    def addr(self, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Tensor:
        """beta * input + alpha * outer(vec1, vec2)."""
    def addr_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`addr`, in place."""
    def adjoint(self) -> Tensor:
        """The conjugate transpose of the last two dimensions."""
    def all(self, dim: Any = None, keepdim: builtins.bool = False, *, out: Any = None, **names: Any) -> Tensor:
        """Whether all elements are nonzero, over all or some dimensions."""
    def allclose(self, other: Any, rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = False) -> builtins.bool:
        """Whether |input - other| <= atol + rtol * |other| everywhere."""
    def amax(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, out: Any = None, **names: Any) -> Tensor:
        """The largest elements over some dimensions; ties share the gradient."""
    def amin(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, out: Any = None, **names: Any) -> Tensor:
        """The smallest elements over some dimensions; ties share the gradient."""
    def aminmax(self, *, dim: Any = None, keepdim: builtins.bool = False, out: Any = None) -> Any:
        """The smallest and the largest elements, as a pair with names."""
    def angle(self, *, out: Any = None) -> Any:
        """The argument of a complex number; 0 or pi for real ones."""
    def any(self, dim: Any = None, keepdim: builtins.bool = False, *, out: Any = None, **names: Any) -> Tensor:
        """Whether any element is nonzero, over all or some dimensions."""
    def apply_(self, callable: Any) -> Tensor:
        """x = f(x) in place, element by element, by a Python function: slow, and not recorded."""
    def arccos(self, *, out: Any = None) -> Tensor:
        """The inverse cosine."""
    def arccos_(self) -> Tensor:
        """`arccos`, in place."""
    def arccosh(self, *, out: Any = None) -> Tensor:
        """The inverse hyperbolic cosine."""
    def arccosh_(self) -> Tensor:
        """`arccosh`, in place."""
    def arcsin(self, *, out: Any = None) -> Tensor:
        """The inverse sine."""
    def arcsin_(self) -> Tensor:
        """`arcsin`, in place."""
    def arcsinh(self, *, out: Any = None) -> Tensor:
        """The inverse hyperbolic sine."""
    def arcsinh_(self) -> Tensor:
        """`arcsinh`, in place."""
    def arctan(self, *, out: Any = None) -> Tensor:
        """The inverse tangent."""
    def arctan2(self, other: Any, *, out: Any = None) -> Tensor:
        """The angle of the point (other, input), in (-pi, pi]."""
    def arctan2_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`arctan2`, in place."""
    def arctan_(self) -> Tensor:
        """`arctan`, in place."""
    def arctanh(self, *, out: Any = None) -> Tensor:
        """The inverse hyperbolic tangent."""
    def arctanh_(self) -> Tensor:
        """`arctanh`, in place."""
    def argmax(self, dim: Any = None, keepdim: builtins.bool = False, *, out: Any = None, **names: Any) -> Tensor:
        """The index of the largest element: of the flattened tensor, or along `dim`."""
    def argmin(self, dim: Any = None, keepdim: builtins.bool = False, *, out: Any = None, **names: Any) -> Tensor:
        """The index of the smallest element: of the flattened tensor, or along `dim`."""
    def argpartition(self, *args: Any, **kwargs: Any) -> Any: ...
    def argsort(self, dim: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = False) -> Tensor:
        """The indices that sort along `dim`."""
    def argwhere(self) -> Tensor:
        """The indices of the elements that are not zero, one row each."""
    def as_strided(self, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None) -> Tensor:
        """A view of the tensor's storage with the sizes and strides (in elements) given."""
    def as_strided_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`as_strided`, in place."""
    def as_strided_scatter(self, src: Any, size: Any, stride: Any, storage_offset: builtins.int | None = None) -> Tensor:
        """`input` with the elements that `as_strided` would show replaced."""
    def as_subclass(self, cls: builtins.type) -> Any:
        """This tensor as an instance of a class derived from Tensor."""
    def asin(self, *, out: Any = None) -> Tensor:
        """The inverse sine."""
    def asin_(self) -> Tensor:
        """`asin`, in place."""
    def asinh(self, *, out: Any = None) -> Tensor:
        """The inverse hyperbolic sine."""
    def asinh_(self) -> Tensor:
        """`asinh`, in place."""
    def astype(self, dtype: Any, order: str = 'K', casting: str = 'unsafe', subok: builtins.bool = True, copy: builtins.bool = True) -> Any: ...
    def atan(self, *, out: Any = None) -> Tensor:
        """The inverse tangent."""
    def atan2(self, other: Any, *, out: Any = None) -> Tensor:
        """The angle of the point (other, input), in (-pi, pi]."""
    def atan2_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`atan2`, in place."""
    def atan_(self) -> Tensor:
        """`atan`, in place."""
    def atanh(self, *, out: Any = None) -> Tensor:
        """The inverse hyperbolic tangent."""
    def atanh_(self) -> Tensor:
        """`atanh`, in place."""
    def backward(self, gradient: Any = None, retain_graph: builtins.bool | None = None, create_graph: builtins.bool = False, inputs: Any = None) -> None:
        """Add this tensor's gradients to the `.grad` of the leaves it depends on."""
    def baddbmm(self, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Tensor:
        """beta * input + alpha * bmm(batch1, batch2)."""
    def baddbmm_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`baddbmm`, in place."""
    def bernoulli(self, p: Any = None, *, generator: wengert.functions.random.Generator | None = None, out: Any = None) -> Tensor:
        """1 with the probability that `input` (or `p`) says, else 0."""
    def bernoulli_(self, p: Any = ..., *, generator: wengert.functions.random.Generator | None = None) -> Tensor:
        """Fill with 1 (probability p) and 0."""
    def bfloat16(self, memory_format: Any = None) -> Any:
        """The tensor as bfloat16, which needs the package ml_dtypes."""
    def bincount(self, weights: Any = None, minlength: builtins.int = 0) -> Tensor:
        """How often each number 0, 1, 2, ... occurs, or the sums of the weights of its places."""
    def bitwise_and(self, other: Any, *, out: Any = None) -> Tensor:
        """The bits that both have."""
    def bitwise_and_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`bitwise_and`, in place."""
    def bitwise_left_shift(self, other: Any, *, out: Any = None) -> Tensor:
        """The bits moved up."""
    def bitwise_left_shift_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`bitwise_left_shift`, in place."""
    def bitwise_not(self, *, out: Any = None) -> Tensor:
        """The bits inverted; for truth values, not."""
    def bitwise_not_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`bitwise_not`, in place."""
    def bitwise_or(self, other: Any, *, out: Any = None) -> Tensor:
        """The bits that either has."""
    def bitwise_or_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`bitwise_or`, in place."""
    def bitwise_right_shift(self, other: Any, *, out: Any = None) -> Tensor:
        """The bits moved down."""
    def bitwise_right_shift_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`bitwise_right_shift`, in place."""
    def bitwise_xor(self, other: Any, *, out: Any = None) -> Tensor:
        """The bits that exactly one has."""
    def bitwise_xor_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`bitwise_xor`, in place."""
    def bmm(self, mat2: Any, *, out: Any = None) -> Tensor:
        """The products of two batches of matrices, (b, n, m) and (b, m, p)."""
    def bool(self, memory_format: Any = None) -> Any:
        """The tensor as bool."""
    def broadcast_to(self, size: Any) -> Tensor:
        """As `expand`."""
    def byte(self, memory_format: Any = None) -> Any:
        """The tensor as uint8."""
    def cauchy_(self, median: builtins.float = 0, sigma: builtins.float = 1, *, generator: wengert.functions.random.Generator | None = None) -> Tensor:
        """Fill with Cauchy numbers."""
    def cdouble(self, memory_format: Any = None) -> Any:
        """The tensor as complex128."""
    def ceil(self, *, out: Any = None) -> Any:
        """Rounded up."""
    def ceil_(self) -> Tensor:
        """`ceil`, in place."""
    def cfloat(self, memory_format: Any = None) -> Any:
        """The tensor as complex64."""
    def chalf(self, memory_format: Any = None) -> Any:
        """An error: NumPy has no complex numbers of two half-precision parts."""
    def char(self, memory_format: Any = None) -> Any:
        """The tensor as int8."""
    def cholesky(self, upper: builtins.bool = False, *, out: Any = None) -> Tensor:
        """`linalg.cholesky`, under its older signature."""
    def cholesky_inverse(self, upper: builtins.bool = False, *, out: Any = None) -> Tensor:
        """The inverse of A, from its Cholesky factor."""
    def cholesky_solve(self, L: Any, upper: builtins.bool = False, *, out: Any = None) -> Tensor:
        """X with A X = B, from the Cholesky factor of A: two triangular systems."""
    def choose(self, *args: Any, **kwargs: Any) -> Any: ...
    def chunk(self, chunks: builtins.int, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """Up to `chunks` pieces of equal size along `dim`, the last perhaps smaller: views."""
    def clamp(self, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
        """x kept between `min` and `max`, numbers or tensors; one may be left out."""
    def clamp_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`clamp`, in place."""
    def clamp_max(self, max: Any, *, out: Any = None) -> Any:
        """The smaller of x and a bound."""
    def clamp_max_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`clamp_max`, in place."""
    def clamp_min(self, min: Any, *, out: Any = None) -> Any:
        """The larger of x and a bound."""
    def clamp_min_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`clamp_min`, in place."""
    def clip(self, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
        """x kept between `min` and `max`, numbers or tensors; one may be left out."""
    def clip_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`clip`, in place."""
    def clone(self, *, memory_format: Any = None) -> Tensor:
        """A copy, recorded: gradients flow through it."""
    def compress(self, condition: Any, axis: Any = None) -> Any: ...
    def conj(self) -> Any:
        """The complex conjugate; a real tensor is its own."""
    def conj_physical(self, *, out: Any = None) -> Any:
        """The complex conjugate; a real tensor is its own."""
    def conj_physical_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`conj_physical`, in place."""
    def conjugate(self, *args: Any, **kwargs: Any) -> Any: ...
    def contiguous(self, memory_format: Any = None) -> Tensor:
        """The input itself if its elements lie in order, else a copy in which they do."""
    def copy(self, *args: Any, **kwargs: Any) -> Any: ...
    def copy_(self, src: Any, non_blocking: builtins.bool = False) -> Tensor:
        """Make this tensor hold the values of another, cast and broadcast."""
    def copysign(self, other: Any, *, out: Any = None) -> Tensor:
        """The size of one with the sign of the other."""
    def copysign_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`copysign`, in place."""
    def corrcoef(self) -> Tensor:
        """The matrix of correlation coefficients of variables in rows: covariances over the products of the standard deviations."""
    def cos(self, *, out: Any = None) -> Tensor:
        """The cosine."""
    def cos_(self) -> Tensor:
        """`cos`, in place."""
    def cosh(self, *, out: Any = None) -> Tensor:
        """The hyperbolic cosine."""
    def cosh_(self) -> Tensor:
        """`cosh`, in place."""
    def count_nonzero(self, dim: builtins.int | Sequence[builtins.int] | None = None) -> Tensor:
        """How many elements are not zero."""
    def cov(self, *, correction: builtins.int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
        """The covariance matrix of variables in rows and observations in columns."""
    def cpu(self, memory_format: Any = None) -> Any:
        """The tensor itself: it is on the CPU."""
    def cross(self, other: Any, dim: builtins.int | None = None, *, out: Any = None) -> Tensor:
        """The vector product along a dimension of size 3."""
    def cuda(self, device: Any = None, non_blocking: builtins.bool = False, memory_format: Any = None) -> Any:
        """An error that says that there is no such device."""
    def cummax(self, dim: builtins.int, *, out: Any = None) -> Any:
        """The largest so far along `dim`, and where it was met."""
    def cummin(self, dim: builtins.int, *, out: Any = None) -> Any:
        """The smallest so far along `dim`, and where it was met."""
    def cumprod(self, dim: builtins.int, *, dtype: Any = None, out: Any = None) -> Tensor:
        """Running products along `dim`."""
    def cumprod_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`cumprod`, in place."""
    def cumsum(self, dim: builtins.int, *, dtype: Any = None, out: Any = None) -> Tensor:
        """Running sums along `dim`."""
    def cumsum_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`cumsum`, in place."""
    @property
    def data(self) -> Any:
        """This memory without history, its writes uncounted: prefer detach() or no_grad."""
    @data.setter
    def data(self, value: Any) -> None: ...
    @data.deleter
    def data(self) -> None: ...
    def data_ptr(self) -> builtins.int:
        """The address of the first element."""
    def deg2rad(self, *, out: Any = None) -> Tensor:
        """Degrees to radians."""
    def deg2rad_(self) -> Tensor:
        """`deg2rad`, in place."""
    def det(self, *, out: Any = None) -> Tensor:
        """The determinant. Its derivative, det(A) A^-H, is right at singular matrices too."""
    def detach(self) -> Any:
        """This memory without history. Changes of either are seen by both, and counted."""
    def detach_(self) -> Any:
        """Cut this tensor's history, in place. Views cannot be cut from their base."""
    @property
    def device(self) -> Any: ...
    def diag(self, diagonal: builtins.int = 0, *, out: Any = None) -> Tensor:
        """The matrix with a vector on its diagonal; of a matrix, a copy of its diagonal."""
    def diag_embed(self, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor:
        """Matrices with the last dimension of the input on their diagonals, zero elsewhere."""
    def diagflat(self, offset: builtins.int = 0) -> Tensor:
        """The matrix with all elements of the input on its diagonal."""
    def diagonal(self, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
        """The diagonal of two dimensions, as the last dimension: a view."""
    def diagonal_scatter(self, src: Any, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
        """`input` with a diagonal replaced."""
    def diff(self, n: builtins.int = 1, dim: builtins.int = -1, prepend: Any = None, append: Any = None, *, out: Any = None) -> Tensor:
        """Differences of neighbours along `dim`, n times over."""
    def digamma(self, *, out: Any = None) -> Tensor:
        """The derivative of log Gamma(x)."""
    def digamma_(self) -> Tensor:
        """`digamma`, in place."""
    def dim(self) -> builtins.int:
        """The number of dimensions."""
    def dim_order(self) -> builtins.tuple[builtins.int, ...]:
        """The dimensions from the slowest to the fastest in memory."""
    def dist(self, other: Any, p: builtins.float = 2, *, out: Any = None) -> Tensor:
        """The p-norm of the difference of two tensors."""
    def div(self, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
        """input / other, rounded to an integer if asked: "trunc" towards zero, "floor" downwards."""
    def div_(self, other: Any, *, rounding_mode: str | None = None) -> Tensor:
        """x /= other."""
    def divide(self, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
        """input / other, rounded to an integer if asked: "trunc" towards zero, "floor" downwards."""
    def divide_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`divide`, in place."""
    def dot(self, tensor: Any, *, out: Any = None) -> Tensor:
        """The sum of the products of two vectors' elements."""
    def double(self, memory_format: Any = None) -> Any:
        """The tensor as float64."""
    def dsplit(self, indices_or_sections: Any) -> builtins.tuple[Tensor, ...]:
        """`tensor_split` along the third dimension."""
    def element_size(self) -> builtins.int:
        """Bytes per element."""
    def eq(self, other: Any, *, out: Any = None) -> Tensor:
        """Where two tensors are equal."""
    def eq_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`eq`, in place."""
    def equal(self, other: Any) -> builtins.bool:
        """Whether two tensors have one shape and the same elements."""
    def erf(self, *, out: Any = None) -> Tensor:
        """The error function."""
    def erf_(self) -> Tensor:
        """`erf`, in place."""
    def erfc(self, *, out: Any = None) -> Tensor:
        """1 - erf(x), accurate where erf is close to 1."""
    def erfc_(self) -> Tensor:
        """`erfc`, in place."""
    def erfinv(self, *, out: Any = None) -> Tensor:
        """The inverse of erf; infinite at -1 and 1, NaN beyond."""
    def erfinv_(self) -> Tensor:
        """`erfinv`, in place."""
    def exp(self, *, out: Any = None) -> Tensor:
        """e to the power x."""
    def exp2(self, *, out: Any = None) -> Tensor:
        """2 to the power x."""
    def exp2_(self) -> Tensor:
        """`exp2`, in place."""
    def exp_(self) -> Tensor:
        """`exp`, in place."""
    def expand(self, *shape: Any, size: Any = None, implicit: builtins.bool = False) -> Tensor:
        """Dimensions of size 1 (and new ones in front) repeated without copying; -1 keeps a size."""
    def expand_as(self, other: Any) -> Tensor:
        """`expand` to the shape of another tensor."""
    def expm1(self, *, out: Any = None) -> Tensor:
        """exp(x) - 1, accurate near 0."""
    def expm1_(self) -> Tensor:
        """`expm1`, in place."""
    def exponential_(self, lambd: builtins.float = 1, *, generator: wengert.functions.random.Generator | None = None) -> Tensor:
        """Fill with exponential numbers of rate lambd."""
    def fill(self, value: Any) -> Tensor:
        """One number in the shape of `input`; the gradient of `input` is zero."""
    def fill_(self, value: Any) -> Tensor:
        """Make all elements one number."""
    def fill_diagonal_(self, fill_value: Any, wrap: builtins.bool = False) -> Tensor:
        """Make the diagonal one number."""
    def fix(self, *, out: Any = None) -> Any:
        """Rounded towards zero."""
    def fix_(self) -> Tensor:
        """`fix`, in place."""
    @property
    def flat(self) -> Any: ...
    def flatten(self, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
        """The dimensions from `start_dim` to `end_dim` as one."""
    def flip(self, *axes: Any, dims: Any = None) -> Tensor:
        """The order of the elements reversed along some dimensions."""
    def fliplr(self) -> Tensor:
        """Columns in reverse order."""
    def flipud(self) -> Tensor:
        """Rows in reverse order."""
    def float(self, memory_format: Any = None) -> Any:
        """The tensor as float32."""
    def float_power(self, exponent: Any, *, out: Any = None) -> Any:
        """input ** exponent in double precision."""
    def float_power_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`float_power`, in place."""
    def floor(self, *, out: Any = None) -> Any:
        """Rounded down."""
    def floor_(self) -> Tensor:
        """`floor`, in place."""
    def floor_divide(self, other: Any, *, out: Any = None) -> Tensor:
        """The quotient rounded towards minus infinity."""
    def floor_divide_(self, other: Any) -> Tensor:
        """`floor_divide`, in place."""
    def fmax(self, other: Any, *, out: Any = None) -> Tensor:
        """The larger of two; a NaN loses to a number."""
    def fmin(self, other: Any, *, out: Any = None) -> Tensor:
        """The smaller of two; a NaN loses to a number."""
    def fmod(self, other: Any, *, out: Any = None) -> Tensor:
        """The remainder with the sign of the dividend, as C's fmod."""
    def fmod_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`fmod`, in place."""
    def frac(self, *, out: Any = None) -> Any:
        """x - trunc(x)."""
    def frac_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`frac`, in place."""
    def frexp(self, *, out: Any = None) -> Any:
        """x = mantissa * 2**exponent with 1/2 <= |mantissa| < 1; both of 0 are 0."""
    def gather(self, dim: builtins.int, index: Any, *, sparse_grad: builtins.bool = False, out: Any = None) -> Tensor:
        """`out[i][j] = input[index[i][j]][j]` for dim 0, and so on along another dimension."""
    def gcd(self, other: Any, *, out: Any = None) -> Tensor:
        """The greatest common divisor."""
    def gcd_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`gcd`, in place."""
    def ge(self, other: Any, *, out: Any = None) -> Tensor:
        """Where input >= other."""
    def ge_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`ge`, in place."""
    def geometric_(self, p: builtins.float, *, generator: wengert.functions.random.Generator | None = None) -> Tensor:
        """Fill with numbers of trials until the first success of probability p."""
    def geqrf(self, *, out: Any = None) -> Any:
        """Householder's form of QR: R on and above the diagonal, the reflections below it and in tau."""
    def ger(self, vec2: Any, *, out: Any = None) -> Tensor:
        """All products of an element of one vector with one of the other."""
    def get_device(self) -> builtins.int:
        """The number of the device: -1, the CPU."""
    @property
    def grad(self) -> Any:
        """The accumulated gradient, or None."""
    @grad.setter
    def grad(self, value: Any) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor; None for a leaf."""
    @grad_fn.deleter
    def grad_fn(self) -> None: ...
    def greater(self, other: Any, *, out: Any = None) -> Tensor:
        """Where input > other."""
    def greater_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`greater`, in place."""
    def greater_equal(self, other: Any, *, out: Any = None) -> Tensor:
        """Where input >= other."""
    def greater_equal_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`greater_equal`, in place."""
    def gt(self, other: Any, *, out: Any = None) -> Tensor:
        """Where input > other."""
    def gt_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`gt`, in place."""
    def half(self, memory_format: Any = None) -> Any:
        """The tensor as float16."""
    def heaviside(self, values: Any, *, out: Any = None) -> Any:
        """0 below zero, 1 above, `values` at zero."""
    def heaviside_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`heaviside`, in place."""
    def histc(self, bins: builtins.int = 100, min: builtins.float = 0, max: builtins.float = 0, *, out: Any = None) -> Tensor:
        """Counts of the elements in `bins` equal intervals from `min` to `max`."""
    def histogram(self, bins: Any = 100, *, range: Any = None, weight: Any = None, density: builtins.bool = False, out: Any = None) -> Any:
        """Counts (or sums of weights, or a density) in intervals, and the bounds of the intervals."""
    def hsplit(self, indices_or_sections: Any) -> builtins.tuple[Tensor, ...]:
        """`tensor_split` along the second dimension (vectors: the first)."""
    def hypot(self, other: Any, *, out: Any = None) -> Tensor:
        """sqrt(a^2 + b^2), without overflow."""
    def hypot_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`hypot`, in place."""
    def i0(self, *, out: Any = None) -> Tensor:
        """The modified Bessel function I, of order 0."""
    def i0_(self) -> Tensor:
        """`i0`, in place."""
    def igamma(self, other: Any, *, out: Any = None) -> Tensor:
        """The regularised lower incomplete gamma function: 1/Gamma(a) int_0^x s^(a-1) e^-s ds."""
    def igamma_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`igamma`, in place."""
    def igammac(self, other: Any, *, out: Any = None) -> Tensor:
        """The regularised upper incomplete gamma function, 1 - gammainc(a, x); differentiable by both."""
    def igammac_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`igammac`, in place."""
    @property
    def imag(self) -> Any: ...
    @imag.setter
    def imag(self, value: Any) -> None: ...
    def index_add(self, dim: builtins.int, index: Any, source: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
        """`input` with alpha times the slices of `source` added at the slices that `index` names."""
    def index_add_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`index_add`, in place."""
    def index_copy(self, dim: builtins.int, index: Any, source: Any, *, out: Any = None) -> Tensor:
        """`input` with the slices that `index` names replaced by those of `source`."""
    def index_copy_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`index_copy`, in place."""
    def index_fill(self, dim: builtins.int, index: Any, value: Any) -> Tensor:
        """`input` with the slices that `index` names filled with a number."""
    def index_fill_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`index_fill`, in place."""
    def index_put(self, indices: Any, values: Any, accumulate: builtins.bool = False) -> Tensor:
        """`input` with `input[indices]` replaced by the values, or with the values added there."""
    def index_put_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`index_put`, in place."""
    def index_reduce(self, dim: builtins.int, index: Any, source: Any, reduce: str, *, include_self: builtins.bool = True, out: Any = None) -> Tensor:
        """Slices of `source` combined into the slices that `index` names: "prod", "mean", "amax", "amin"."""
    def index_reduce_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`index_reduce`, in place."""
    def index_select(self, dim: builtins.int, index: Any, *, out: Any = None) -> Tensor:
        """The slices along `dim` that a vector of indices names."""
    def inner(self, other: Any, *, out: Any = None) -> Tensor:
        """Sums of products along the last dimensions."""
    def int(self, memory_format: Any = None) -> Any:
        """The tensor as int32."""
    def inverse(self, *, out: Any = None) -> Tensor:
        """The inverse of a square matrix; `LinAlgError` if it has none."""
    def is_complex(self) -> builtins.bool:
        """Whether the elements are complex numbers."""
    def is_conj(self) -> builtins.bool:
        """Whether conjugation is still to be done: never, it is done at once."""
    def is_contiguous(self, memory_format: Any = None) -> builtins.bool:
        """Whether the elements lie in memory in order."""
    @property
    def is_cpu(self) -> Any: ...
    @property
    def is_cuda(self) -> Any: ...
    def is_distributed(self) -> builtins.bool:
        """Whether the elements are spread over several processes: no."""
    def is_floating_point(self) -> builtins.bool:
        """Whether the elements are floating-point numbers (not complex)."""
    def is_inference(self) -> builtins.bool:
        """Whether this tensor was made in inference mode."""
    @property
    def is_leaf(self) -> builtins.bool:
        """Whether the user made this tensor, rather than a recorded operation."""
    @property
    def is_meta(self) -> Any: ...
    @property
    def is_mkldnn(self) -> Any: ...
    @property
    def is_mps(self) -> Any: ...
    def is_neg(self) -> builtins.bool:
        """Whether conjugation is still to be done: never, it is done at once."""
    @property
    def is_nested(self) -> Any: ...
    def is_nonzero(self) -> builtins.bool:
        """Whether the single element of a tensor is not zero."""
    def is_pinned(self, device: Any = None) -> builtins.bool:
        """Whether the memory is locked for a device: no."""
    @property
    def is_quantized(self) -> Any: ...
    def is_same_size(self, other: Any) -> builtins.bool:
        """Whether two tensors have the same shape."""
    def is_set_to(self, tensor: Any) -> builtins.bool:
        """Whether two tensors have the same memory, shape and strides."""
    def is_shared(self) -> builtins.bool:
        """Whether other processes share the memory: no."""
    def is_signed(self) -> builtins.bool:
        """Whether the elements can be negative."""
    @property
    def is_sparse(self) -> Any: ...
    @property
    def is_sparse_csr(self) -> Any: ...
    @property
    def is_xpu(self) -> Any: ...
    def isclose(self, other: Any, rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = False) -> Tensor:
        """Where |input - other| <= atol + rtol * |other|."""
    def isfinite(self, *, out: Any = None) -> Tensor:
        """Where x is neither infinite nor NaN."""
    def isinf(self, *, out: Any = None) -> Tensor:
        """Where x is infinite."""
    def isnan(self, *, out: Any = None) -> Tensor:
        """Where x is NaN."""
    def isneginf(self, *, out: Any = None) -> Tensor:
        """Where x is minus infinity."""
    def isposinf(self, *, out: Any = None) -> Tensor:
        """Where x is plus infinity."""
    def isreal(self, *, out: Any = None) -> Tensor:
        """Where the imaginary part is zero."""
    def istft(self, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: Any = None, center: builtins.bool = True, normalized: builtins.bool = False, onesided: builtins.bool | None = None, length: builtins.int | None = None, return_complex: builtins.bool = False) -> Tensor:
        """The signal whose short-time transform comes closest to `input`, in the least-squares sense."""
    def item(self) -> Any:
        """The single element, as a Python number."""
    @property
    def itemsize(self) -> builtins.int: ...
    def kron(self, other: Any, *, out: Any = None) -> Tensor:
        """The Kronecker product: each element of one times all of the other."""
    def kthvalue(self, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False, *, out: Any = None) -> Any:
        """The k-th smallest element along `dim` (k counts from 1), and where it is."""
    @property
    def layout(self) -> Any: ...
    def lcm(self, other: Any, *, out: Any = None) -> Tensor:
        """The least common multiple."""
    def lcm_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`lcm`, in place."""
    def ldexp(self, other: Any, *, out: Any = None) -> Any:
        """input * 2**other."""
    def ldexp_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`ldexp`, in place."""
    def le(self, other: Any, *, out: Any = None) -> Tensor:
        """Where input <= other."""
    def le_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`le`, in place."""
    def lerp(self, end: Any, weight: Any, *, out: Any = None) -> Any:
        """input + weight * (end - input)."""
    def lerp_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`lerp`, in place."""
    def less(self, other: Any, *, out: Any = None) -> Tensor:
        """Where input < other."""
    def less_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`less`, in place."""
    def less_equal(self, other: Any, *, out: Any = None) -> Tensor:
        """Where input <= other."""
    def less_equal_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`less_equal`, in place."""
    def lgamma(self, *, out: Any = None) -> Tensor:
        """log |Gamma(x)|."""
    def lgamma_(self) -> Tensor:
        """`lgamma`, in place."""
    def log(self, *, out: Any = None) -> Tensor:
        """The natural logarithm."""
    def log10(self, *, out: Any = None) -> Tensor:
        """The logarithm to base 10."""
    def log10_(self) -> Tensor:
        """`log10`, in place."""
    def log1p(self, *, out: Any = None) -> Tensor:
        """log(1 + x), accurate near 0."""
    def log1p_(self) -> Tensor:
        """`log1p`, in place."""
    def log2(self, *, out: Any = None) -> Tensor:
        """The logarithm to base 2."""
    def log2_(self) -> Tensor:
        """`log2`, in place."""
    def log_(self) -> Tensor:
        """`log`, in place."""
    def log_normal_(self, mean: builtins.float = 1, std: builtins.float = 2, *, generator: wengert.functions.random.Generator | None = None) -> Tensor:
        """Fill with numbers whose logarithm is normal."""
    def log_softmax(self, dim: builtins.int | None = None, dtype: Any = None, *, out: Any = None) -> Any:
        """x - log(sum(exp(x))) along `dim`."""
    def logaddexp(self, other: Any, *, out: Any = None) -> Any:
        """log(exp(a) + exp(b)), without overflow; of complex numbers the principal value."""
    def logaddexp2(self, other: Any, *, out: Any = None) -> Any:
        """log2(2**a + 2**b), without overflow."""
    def logcumsumexp(self, dim: builtins.int, *, out: Any = None) -> Tensor:
        """log of the running sums of exp(x) along `dim`, without overflow."""
    def logdet(self) -> Tensor:
        """log(det A): NaN of a negative determinant, minus infinity of 0."""
    def logical_and(self, other: Any, *, out: Any = None) -> Tensor:
        """Where both are nonzero."""
    def logical_and_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`logical_and`, in place."""
    def logical_not(self, *, out: Any = None) -> Tensor:
        """Where x is zero."""
    def logical_not_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`logical_not`, in place."""
    def logical_or(self, other: Any, *, out: Any = None) -> Tensor:
        """Where either is nonzero."""
    def logical_or_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`logical_or`, in place."""
    def logical_xor(self, other: Any, *, out: Any = None) -> Tensor:
        """Where exactly one is nonzero."""
    def logical_xor_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`logical_xor`, in place."""
    def logit(self, eps: builtins.float | None = None, *, out: Any = None) -> Tensor:
        """log(x / (1 - x)), the inverse of sigmoid; `eps` keeps x within [eps, 1 - eps]."""
    def logit_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`logit`, in place."""
    def logsumexp(self, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = False, *, out: Any = None) -> Tensor:
        """log(sum(exp(x))) over some dimensions, without overflow."""
    def long(self, memory_format: Any = None) -> Any:
        """The tensor as int64."""
    def lt(self, other: Any, *, out: Any = None) -> Tensor:
        """Where input < other."""
    def lt_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`lt`, in place."""
    def lu(self, pivot: builtins.bool = True, get_infos: builtins.bool = False, *, out: Any = None) -> Any:
        """`linalg.lu_factor`, under its older signature; with `get_infos` a third result, the codes."""
    def lu_solve(self, LU_data: Any, LU_pivots: Any, *, out: Any = None) -> Tensor:
        """`linalg.lu_solve`, with its arguments in their older order."""
    @property
    def mH(self) -> Any: ...
    @property
    def mT(self) -> Any: ...
    def map2_(self, x: Tensor, y: Tensor, callable: Any) -> Tensor:
        """x = f(x, y, z) in place, element by element, by a Python function."""
    def map_(self, tensor: Tensor, callable: Any) -> Tensor:
        """x = f(x, y) in place, element by element, by a Python function."""
    def masked_fill(self, mask: Any, value: Any) -> Tensor:
        """`input` with `value` where the mask holds."""
    def masked_fill_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`masked_fill`, in place."""
    def masked_scatter(self, mask: Any, source: Any) -> Tensor:
        """`input` with the elements where the mask holds replaced by those of `source`, in order."""
    def masked_scatter_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`masked_scatter`, in place."""
    def masked_select(self, mask: Any, *, out: Any = None) -> Tensor:
        """The elements where the mask holds, in one dimension."""
    def matmul(self, other: Any, *, out: Any = None) -> Tensor:
        """The product of matrices and vectors; leading dimensions are batches, broadcast."""
    def matrix_exp(self) -> Tensor:
        """exp(A) = 1 + A + A^2/2 + ..., by scaling and squaring (Al-Mohy and Higham, 2009)."""
    def matrix_power(self, n: builtins.int, *, out: Any = None) -> Tensor:
        """The n-th power of square matrices, by repeated squaring; of the inverse if n is negative."""
    def max(self, dim: Any = None, keepdim: builtins.bool = False, *, out: Any = None, other: Any = None, **names: Any) -> Any:
        """The largest element; with `dim` the largest along it and where; of two the larger."""
    def maximum(self, other: Any, *, out: Any = None) -> Tensor:
        """The larger of two, element by element; NaN if either is."""
    def mean(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: Any = None, out: Any = None, **names: Any) -> Tensor:
        """The arithmetic mean over all elements, or over some dimensions; floating point only."""
    def median(self, dim: Any = None, keepdim: builtins.bool = False, *, out: Any = None) -> Any:
        """The middle element, the lower of two; NaN if there is one. Full reductions share ties."""
    def min(self, dim: Any = None, keepdim: builtins.bool = False, *, out: Any = None, other: Any = None, **names: Any) -> Any:
        """The smallest element; with `dim` the smallest along it and where; of two tensors the smaller."""
    def minimum(self, other: Any, *, out: Any = None) -> Tensor:
        """The smaller of two, element by element; NaN if either is."""
    def mm(self, mat2: Any, *, out: Any = None) -> Tensor:
        """The product of two matrices."""
    def mode(self, dim: builtins.int = -1, keepdim: builtins.bool = False, *, out: Any = None) -> Any:
        """The most frequent element along `dim` (the smallest of several), and where it stands last."""
    def module_load(self, other: Any, assign: builtins.bool = False) -> Any:
        """What `Module.load_state_dict` makes of this entry: `other` in its place, or a copy."""
    def moveaxis(self, source: Any, destination: Any) -> Tensor:
        """Dimensions moved to other places; the rest keep their order."""
    def movedim(self, source: Any, destination: Any) -> Tensor:
        """Dimensions moved to other places; the rest keep their order."""
    def msort(self, *, out: Any = None) -> Tensor:
        """Sorted along the first dimension."""
    def mul(self, other: Any, *, out: Any = None) -> Tensor:
        """The product of two tensors, element by element."""
    def mul_(self, other: Any) -> Tensor:
        """`mul`, in place."""
    def multinomial(self, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: wengert.functions.random.Generator | None = None, out: Any = None) -> Tensor:
        """Indices drawn with probability proportional to the weights in each row."""
    def multiply(self, other: Any, *, out: Any = None) -> Tensor:
        """The product of two tensors, element by element."""
    def multiply_(self, other: Any) -> Tensor:
        """`multiply`, in place."""
    def mv(self, vec: Any, *, out: Any = None) -> Tensor:
        """The product of a matrix and a vector."""
    def mvlgamma(self, p: builtins.int, *, out: Any = None) -> Tensor:
        """The multivariate log-gamma function of dimension p."""
    def mvlgamma_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`mvlgamma`, in place."""
    @property
    def names(self) -> Any: ...
    def nan_to_num(self, nan: Any = None, posinf: Any = None, neginf: Any = None, *, out: Any = None) -> Any:
        """x with NaN as `nan` (0) and the infinities as the largest finite numbers, or as given."""
    def nan_to_num_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`nan_to_num`, in place."""
    def nanmean(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: Any = None, out: Any = None) -> Tensor:
        """The mean of the elements that are not NaN."""
    def nanmedian(self, dim: Any = None, keepdim: builtins.bool = False, *, out: Any = None) -> Any:
        """The middle element of those that are not NaN."""
    def nanquantile(self, q: Any, dim: Any = None, keepdim: builtins.bool = False, *, interpolation: str = 'linear', out: Any = None) -> Any:
        """The q-quantile of the elements that are not NaN."""
    def nansum(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: Any = None, out: Any = None) -> Tensor:
        """The sum of the elements that are not NaN."""
    def narrow(self, dim: builtins.int, start: Any, length: builtins.int) -> Tensor:
        """`length` slices along `dim` from `start` on: a view."""
    def narrow_copy(*self, out: Any = None, **kwargs: Any) -> Any:
        """As `narrow`, but a copy."""
    @property
    def nbytes(self) -> builtins.int: ...
    def ndimension(self) -> builtins.int:
        """The number of dimensions."""
    def ne(self, other: Any, *, out: Any = None) -> Tensor:
        """Where two tensors differ."""
    def ne_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`ne`, in place."""
    def neg(self, *, out: Any = None) -> Tensor:
        """-x."""
    def neg_(self) -> Tensor:
        """`neg`, in place."""
    def negative(self, *, out: Any = None) -> Tensor:
        """-x."""
    def negative_(self) -> Tensor:
        """`negative`, in place."""
    def nelement(self) -> builtins.int:
        """The number of elements."""
    def new(self, *args: Any) -> Any:
        """The old constructor with this tensor's dtype: sizes, or data."""
    def new_empty(self, *size: Any, dtype: Any = None, **options: Any) -> Any:
        """An uninitialised tensor of this dtype."""
    def new_empty_strided(self, size: Any, stride: Any, *, dtype: Any = None, **options: Any) -> Any:
        """An uninitialised tensor of this dtype with the strides given."""
    def new_full(self, size: Any, fill_value: Any, *, dtype: Any = None, **options: Any) -> Any:
        """One number repeated, of this dtype."""
    def new_ones(self, *size: Any, dtype: Any = None, **options: Any) -> Any:
        """Ones of this dtype."""
    def new_tensor(self, data: Any, *, dtype: Any = None, layout: Any = None, **options: Any) -> Any:
        """A tensor with a copy of `data`, of this dtype unless another is given."""
    def new_zeros(self, *size: Any, dtype: Any = None, **options: Any) -> Any:
        """Zeros of this dtype."""
    def nextafter(self, other: Any, *, out: Any = None) -> Any:
        """The floating-point number next to x in the direction of `other`."""
    def nextafter_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`nextafter`, in place."""
    def nonzero(self, *, as_tuple: builtins.bool = False, out: Any = None) -> Any:
        """The indices of the elements that are not zero: one row each, or one tensor per dimension."""
    def nonzero_static(self, *, size: builtins.int, fill_value: builtins.int = -1) -> Tensor:
        """The indices of the elements that are not zero in a fixed number of rows, cut or filled up."""
    def norm(self, p: Any = 'fro', dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, dtype: Any = None, *, out: Any = None) -> Tensor:
        """The p-norm of the elements, over all or some dimensions; "fro" is the Euclidean one, "nuc" the sum of a matrix's singular values. At 0 the gradient is 0."""
    def normal_(self, mean: builtins.float = 0, std: builtins.float = 1, *, generator: wengert.functions.random.Generator | None = None) -> Tensor:
        """Fill with normal numbers."""
    def not_equal(self, other: Any, *, out: Any = None) -> Tensor:
        """Where two tensors differ."""
    def not_equal_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`not_equal`, in place."""
    def numel(self) -> builtins.int:
        """The number of elements."""
    def numpy(self, *, force: builtins.bool = False) -> Any:
        """The NumPy array inside: the same memory. `force` detaches first."""
    def orgqr(self, tau: Any, *, out: Any = None) -> Tensor:
        """The first n columns of H_1 H_2 ... H_k, with H_i = 1 - tau_i v_i v_i^H."""
    def ormqr(self, tau: Any, other: Any, left: builtins.bool = True, transpose: builtins.bool = False, *, out: Any = None) -> Tensor:
        """Q C, or Q^H C if `transpose`, or C Q and C Q^H if not `left`, Q as `geqrf` represents it."""
    def outer(self, vec2: Any, *, out: Any = None) -> Tensor:
        """All products of an element of one vector with one of the other."""
    @property
    def output_nr(self) -> builtins.int:
        """Which output of its node this tensor is."""
    def partition(self, kth: Any, axis: builtins.int = -1, kind: Any = 'introselect') -> None: ...
    def permute(self, *axes: Any, dims: Any = None) -> Tensor:
        """The dimensions in another order."""
    def pin_memory(self, device: Any = None) -> Any:
        """The tensor itself: there is no device to copy to."""
    def pinverse(self, rcond: builtins.float = ...) -> Tensor:
        """`linalg.pinv`, under its older signature."""
    def polygamma(self, n: builtins.int) -> Any:
        """The n-th derivative of digamma."""
    def polygamma_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`polygamma`, in place."""
    def positive(self, *, out: Any = None) -> Tensor:
        """x itself."""
    def pow(self, exponent: Any, *, out: Any = None) -> Any:
        """input ** exponent; either may be a number."""
    def pow_(self, other: Any) -> Tensor:
        """`pow`, in place."""
    def prod(self, dim: Any = None, keepdim: builtins.bool = False, *, dtype: Any = None, out: Any = None) -> Tensor:
        """The product over all elements, or along one dimension."""
    def ptp(self, *args: Any, **kwargs: Any) -> Any: ...
    def put(self, index: Any, source: Any, accumulate: builtins.bool = False) -> Tensor:
        """`input` with elements of its flattened form replaced, or with the source added to them."""
    def put_(self, index: Any, source: Any, accumulate: builtins.bool = False) -> Tensor:
        """Replace elements of the flattened form."""
    def qr(self, some: builtins.bool = True, *, out: Any = None) -> Any:
        """`linalg.qr`, under its older signature."""
    def quantile(self, q: Any, dim: Any = None, keepdim: builtins.bool = False, *, interpolation: str = 'linear', out: Any = None) -> Any:
        """The q-quantile: between the two nearest elements by `interpolation`. NaN if there is one."""
    def rad2deg(self, *, out: Any = None) -> Tensor:
        """Radians to degrees."""
    def rad2deg_(self) -> Tensor:
        """`rad2deg`, in place."""
    def random_(self, from_: builtins.int = 0, to: builtins.int | None = None, *, generator: wengert.functions.random.Generator | None = None, **named: Any) -> Tensor:
        """Fill with integers from `from` (0) up to but not including `to`."""
    def ravel(self) -> Tensor:
        """The elements in one dimension."""
    @property
    def real(self) -> Any: ...
    @real.setter
    def real(self, value: Any) -> None: ...
    def reciprocal(self, *, out: Any = None) -> Any:
        """1 / x, of integers too."""
    def reciprocal_(self) -> Tensor:
        """`reciprocal`, in place."""
    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad)` when this tensor's gradient is computed; a tensor returned replaces it."""
    def register_post_accumulate_grad_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(tensor)` after `.grad` of this leaf was updated."""
    def reinforce(self, reward: Any) -> None:
        """An error: the old method of stochastic nodes."""
    def relu(self, *, out: Any = None) -> Tensor:
        """max(x, 0)."""
    def relu_(self) -> Tensor:
        """`relu`, in place."""
    def remainder(self, other: Any, *, out: Any = None) -> Tensor:
        """The remainder with the sign of the divisor, as Python's %."""
    def remainder_(self, other: Any) -> Tensor:
        """`remainder`, in place."""
    def renorm(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float, *, out: Any = None) -> Tensor:
        """The input with slices along `dim` scaled down to a p-norm of at most `maxnorm`."""
    def renorm_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`renorm`, in place."""
    def repeat(self, *reps: Any, repeats: Any = None) -> Tensor:
        """Copies of the whole, side by side, as many along each dimension as said."""
    def repeat_interleave(self, repeats: Any = None, dim: builtins.int | None = None, *, output_size: builtins.int | None = None) -> Tensor:
        """Each element (or slice along `dim`) repeated; given only counts, the numbers of the places."""
    def requires_grad_(self, requires_grad: builtins.bool = True) -> Any:
        """Mark this leaf as one to differentiate by, or unmark it; returns the tensor."""
    def reshape(self, *shape: Any, **named: Any) -> Tensor:
        """The input's elements in another shape, a view where memory allows; one size may be -1."""
    def reshape_as(self, other: Any) -> Tensor:
        """`reshape` to the shape of another tensor."""
    def resize_(self, *shape: Any, memory_format: Any = None) -> Tensor:
        """Change the shape; elements are kept in order, new ones are left as they are in memory."""
    def resize_as_(self, other: Tensor, memory_format: Any = None) -> Tensor:
        """`resize_` to the shape of another tensor."""
    def resolve_conj(self) -> Any:
        """The tensor itself: conjugation is never postponed."""
    def resolve_neg(self) -> Any:
        """The tensor itself: conjugation is never postponed."""
    def retain_grad(self) -> None:
        """Keep this non-leaf's gradient in `.grad` as well. Does nothing for a leaf."""
    @property
    def retains_grad(self) -> builtins.bool: ...
    def roll(self, shifts: Any, dims: Any = None) -> Tensor:
        """Elements shifted along dimensions; those that fall off come back at the other end."""
    def rot90(self, k: builtins.int = 1, dims: Sequence[builtins.int] = ...) -> Tensor:
        """Turned by k quarter turns from the first of two dimensions towards the second."""
    def round(self, *, decimals: builtins.int = 0, out: Any = None) -> Any:
        """Rounded to the nearest, halves to even; `decimals` digits after the point."""
    def round_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`round`, in place."""
    def rsqrt(self, *, out: Any = None) -> Any:
        """1 / sqrt(x)."""
    def rsqrt_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`rsqrt`, in place."""
    def scatter(self, dim: builtins.int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None, out: Any = None) -> Tensor:
        """`out[index[i][j]][j] = src[i][j]` for dim 0, the rest as in `input`; "add" or "multiply" instead."""
    def scatter_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`scatter`, in place."""
    def scatter_add(self, dim: builtins.int, index: Any, src: Any, *, out: Any = None) -> Tensor:
        """`out[index[i][j]][j] += src[i][j]` for dim 0: `gather` transposed, added to `input`."""
    def scatter_add_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`scatter_add`, in place."""
    def scatter_reduce(self, dim: builtins.int, index: Any, src: Any, reduce: str, *, include_self: builtins.bool = True, out: Any = None) -> Tensor:
        """Elements of `src` that go to one place combined by "sum", "prod", "mean", "amax" or "amin"."""
    def scatter_reduce_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`scatter_reduce`, in place."""
    def searchsorted(self, *args: Any, **kwargs: Any) -> Any: ...
    def select(self, dim: builtins.int, index: Any) -> Tensor:
        """The slice number `index` along `dim`, without that dimension: a view."""
    def select_scatter(self, src: Any, dim: builtins.int, index: builtins.int) -> Tensor:
        """`input` with one slice along `dim` replaced."""
    def set_(self, source: Any = None, *more: Any) -> Tensor:
        """Make this tensor look into the memory of another (or, without one, be empty)."""
    def sgn(self, *, out: Any = None) -> Any:
        """sign(x); for complex numbers z / |z|, and 0 at 0."""
    def sgn_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`sgn`, in place."""
    def share_memory_(self) -> Any:
        """The tensor itself; threads share memory as it is."""
    def short(self, memory_format: Any = None) -> Any:
        """The tensor as int16."""
    def sigmoid(self, *, out: Any = None) -> Tensor:
        """1 / (1 + exp(-x))."""
    def sigmoid_(self) -> Tensor:
        """`sigmoid`, in place."""
    def sign(self, *, out: Any = None) -> Any:
        """-1, 0 or 1."""
    def sign_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`sign`, in place."""
    def signbit(self, *, out: Any = None) -> Tensor:
        """Where the sign is negative."""
    def sin(self, *, out: Any = None) -> Tensor:
        """The sine."""
    def sin_(self) -> Tensor:
        """`sin`, in place."""
    def sinc(self, *, out: Any = None) -> Tensor:
        """sin(pi x) / (pi x), and 1 at 0."""
    def sinc_(self) -> Tensor:
        """`sinc`, in place."""
    def sinh(self, *, out: Any = None) -> Tensor:
        """The hyperbolic sine."""
    def sinh_(self) -> Tensor:
        """`sinh`, in place."""
    def size(self, dim: builtins.int | None = None) -> Any:
        """The shape, or the size of one dimension."""
    def slice_scatter(self, src: Any, dim: builtins.int = 0, start: Any = None, end: Any = None, step: builtins.int = 1, *, out: Any = None) -> Tensor:
        """`input` with a range of slices along `dim` replaced."""
    def slogdet(self, *, out: Any = None) -> Any:
        """The sign (for complex matrices the phase) of the determinant, and log|det A|."""
    def softmax(self, dim: builtins.int | None = None, dtype: Any = None, *, out: Any = None) -> Any:
        """exp(x) / sum(exp(x)) along `dim`."""
    def sort(self, dim: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = False, *, out: Any = None) -> Any:
        """The elements in order along `dim`, and where each came from."""
    def split(self, split_size_or_sections: Any, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """Pieces of one size along `dim` (the last may be smaller), or of the sizes given: views."""
    def split_with_sizes(self, split_sizes: Sequence[builtins.int], dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """Pieces of the given sizes along `dim`: views."""
    def sqrt(self, *, out: Any = None) -> Tensor:
        """The square root; NaN below zero."""
    def sqrt_(self) -> Tensor:
        """`sqrt`, in place."""
    def square(self, *, out: Any = None) -> Any:
        """x squared; of truth values, as integers."""
    def square_(self) -> Tensor:
        """`square`, in place."""
    def squeeze(self, dim: Any = None) -> Tensor:
        """Without the dimensions of size 1, or those of `dim` that have it."""
    def squeeze_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`squeeze`, in place."""
    def std(self, dim: Any = None, unbiased: Any = None, keepdim: builtins.bool = False, *, correction: Any = None, out: Any = None) -> Tensor:
        """The standard deviation, the square root of `var`; where it is 0 so is its gradient."""
    def stft(self, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: Any = None, center: builtins.bool = True, pad_mode: str = 'reflect', normalized: builtins.bool = False, onesided: builtins.bool | None = None, return_complex: builtins.bool | None = None, align_to_window: builtins.bool | None = None) -> Tensor:
        """The Fourier transforms of windows of a signal, `hop_length` apart: (..., frequency, frame)."""
    def storage(self) -> Any:
        """The memory that this tensor looks into."""
    def storage_offset(self) -> builtins.int:
        """How many elements of the storage come before the first one."""
    def storage_type(self) -> builtins.type:
        """The class of the storage."""
    def stride(self, dim: builtins.int | None = None) -> Any:
        """How many elements lie between neighbours along each dimension, or along one."""
    @property
    def strides(self) -> builtins.tuple[builtins.int, ...]:
        """How many bytes lie between neighbours along each dimension."""
    def sub(self, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
        """input - alpha * other."""
    def sub_(self, other: Any, *tensor: Any, alpha: Any = 1) -> Tensor:
        """x -= alpha * other; of old also called as sub_(alpha, other)."""
    def subtract(self, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
        """input - alpha * other."""
    def subtract_(self, other: Any, *tensor: Any, alpha: Any = 1) -> Tensor:
        """x -= alpha * other; of old also called as sub_(alpha, other)."""
    def sum(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: Any = None, out: Any = None, **names: Any) -> Tensor:
        """The sum over all elements, or over some dimensions. Integers and truth values sum to int64."""
    def sum_to_size(self, *size: Any) -> Tensor:
        """Summed over the dimensions along which a tensor of `size` was repeated: expand's transpose."""
    def svd(self, some: builtins.bool = True, compute_uv: builtins.bool = True, *, out: Any = None) -> Any:
        """`linalg.svd` under its older signature: V instead of its conjugate transpose."""
    def swapaxes(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Two dimensions exchanged."""
    def swapaxes_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`swapaxes`, in place."""
    def swapdims(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Two dimensions exchanged."""
    def swapdims_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`swapdims`, in place."""
    def t(self) -> Tensor:
        """The transpose of a matrix; vectors and numbers stay as they are."""
    def t_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`t`, in place."""
    def take(self, index: Any, *, out: Any = None) -> Tensor:
        """Elements of the flattened tensor."""
    def take_along_dim(self, indices: Any, dim: builtins.int | None = None, *, out: Any = None) -> Tensor:
        """As `gather`, with the shapes broadcast; without `dim` in the flattened tensor."""
    def tan(self, *, out: Any = None) -> Tensor:
        """The tangent."""
    def tan_(self) -> Tensor:
        """`tan`, in place."""
    def tanh(self, *, out: Any = None) -> Tensor:
        """The hyperbolic tangent."""
    def tanh_(self) -> Tensor:
        """`tanh`, in place."""
    def tensor_split(self, indices_or_sections: Any, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """As many pieces as said, sizes differing by at most one, or cut at the places given: views."""
    def tile(self, *reps: Any, dims: Any = None) -> Tensor:
        """As `repeat`, with ones put in front of too few numbers."""
    def to(self, *args: Any, dtype: Any = None, device: Any = None, other: Any = None, non_blocking: builtins.bool = False, copy: builtins.bool = False, memory_format: Any = None) -> Any:
        """The tensor with another dtype (and on another device, of which there is one)."""
    def to_dense(self, dtype: Any = None) -> Any:
        """The tensor itself: it is dense."""
    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """The tensor itself: it is on the CPU, where else it could be is an error."""
    def to_sparse(self, *args: Any, layout: Any = None, **options: Any) -> Any:
        """The elements that are not zero, as a sparse tensor in COO form, or CSR."""
    def to_sparse_coo(self, *args: Any, layout: Any = None, **options: Any) -> Any:
        """The elements that are not zero, as a sparse tensor in COO form, or CSR."""
    def to_sparse_csr(self, dense_dim: Any = None) -> Any:
        """The elements that are not zero, as a sparse tensor in CSR form."""
    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
    def topk(self, k: builtins.int, dim: builtins.int = -1, largest: builtins.bool = True, sorted: builtins.bool = True, *, out: Any = None) -> Any:
        """The k largest (or smallest) elements along `dim`, and where they are."""
    def trace(self) -> Tensor:
        """The sum of a matrix's diagonal."""
    def transpose(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Two dimensions exchanged."""
    def transpose_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`transpose`, in place."""
    def triangular_solve(self, A: Any, upper: builtins.bool = True, transpose: builtins.bool = False, unitriangular: builtins.bool = False, *, out: Any = None) -> Any:
        """`linalg.solve_triangular` under its older signature; the second result is A."""
    def tril(self, diagonal: builtins.int = 0, *, out: Any = None) -> Tensor:
        """The lower triangle, zero above the diagonal (or another diagonal)."""
    def tril_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`tril`, in place."""
    def triu(self, diagonal: builtins.int = 0, *, out: Any = None) -> Tensor:
        """The upper triangle, zero below the diagonal (or another diagonal)."""
    def triu_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`triu`, in place."""
    def true_divide(self, other: Any, *, out: Any = None) -> Tensor:
        """The quotient; integers give floating-point numbers."""
    def true_divide_(self, other: Any) -> Tensor:
        """`true_divide`, in place."""
    def trunc(self, *, out: Any = None) -> Any:
        """Rounded towards zero."""
    def trunc_(self) -> Tensor:
        """`trunc`, in place."""
    def type(self, dtype: Any = None, non_blocking: builtins.bool = False) -> Any:
        """The tensor with another dtype; without one, the name of its type."""
    def type_as(self, other: Any) -> Any:
        """The tensor with the dtype of another."""
    def unbind(self, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """The slices along `dim`, without that dimension: views."""
    def unflatten(self, dim: builtins.int, sizes: Sequence[builtins.int]) -> Tensor:
        """One dimension as several."""
    def unfold(self, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Tensor:
        """Windows of `size` along a dimension, `step` apart, as a new last dimension: a view."""
    def uniform_(self, from_: builtins.float = 0, to: builtins.float = 1, *, generator: wengert.functions.random.Generator | None = None, **named: Any) -> Tensor:
        """Fill with numbers uniform on [from, to)."""
    def unique(self, sorted: builtins.bool = True, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: Any = None) -> Any:
        """The different elements (or slices along `dim`) in order; where each went; how often each is."""
    def unique_consecutive(self, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: Any = None) -> Any:
        """As `unique`, but only neighbours that are equal become one."""
    def unsafe_chunk(self, chunks: builtins.int, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """As `chunk`, but the pieces may be changed in place."""
    def unsafe_split(self, split_size: Any, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """As `split`, but the pieces may be changed in place (if the input is not used again)."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[builtins.int], dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """As `split_with_sizes`, but the pieces may be changed in place."""
    def unsqueeze(self, dim: builtins.int) -> Tensor:
        """With a new dimension of size 1 at `dim`."""
    def unsqueeze_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`unsqueeze`, in place."""
    def untyped_storage(self) -> Any:
        """The memory that this tensor looks into."""
    def var(self, dim: Any = None, unbiased: Any = None, keepdim: builtins.bool = False, *, correction: Any = None, out: Any = None) -> Tensor:
        """The variance: squared distances from the mean, summed, over n - correction (1)."""
    def vdot(self, other: Any, *, out: Any = None) -> Tensor:
        """The dot product with the first vector conjugated."""
    def view(self, *shape: Any, dtype: Any = None, size: Any = None) -> Tensor:
        """The input's memory in another shape, or, given a dtype, read as other numbers."""
    def view_as(self, other: Any) -> Tensor:
        """`view` in the shape of another tensor."""
    def vsplit(self, indices_or_sections: Any) -> builtins.tuple[Tensor, ...]:
        """`tensor_split` along the first dimension of a matrix."""
    def where(self, condition: Any, other: Any) -> Any:
        """The elements where the condition holds, those of `other` elsewhere."""
    def xlogy(self, other: Any, *, out: Any = None) -> Tensor:
        """x log(y), and 0 where x is 0 (NaN where y is NaN)."""
    def xlogy_(self, *args: Any, **kwargs: Any) -> Tensor:
        """`xlogy`, in place."""
    def zero_(self) -> Tensor:
        """Make all elements 0."""
