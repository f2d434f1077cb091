"""Sparse tensors: the places of the elements that are not zero, and their values.

The values are a tensor with history, and all that is computed with a sparse tensor is computed with
them; so gradients come by themselves. A function of tensors means on a sparse one what the method
of its name does here; one of single elements that keeps zero is applied to the values. All else
refuses and says `to_dense()`. COO and CSR differ in how their places are told, and printed.
"""

from __future__ import annotations

import importlib
from typing import Any, Self

import numpy as np

from wengert.autograd.misfits import told
from wengert.autograd.operands import one_dtype
from wengert.errors import LayoutError
from wengert.functions import creation, device
from wengert.functions.arguments import one_dim, tensor_of
from wengert.functions.joining import cat
from wengert.functions.legacy import TYPES, TensorType
from wengert.functions.printing import tensor_text
from wengert.functions.rows import RowsArray
from wengert.functions.scattering import index_reduce
from wengert.sparse.products import meetings, product
from wengert.tensor import Size, Tensor, wrap


class SparseTensor(Tensor):
    """A tensor of which only some elements are stored; see the module's docstring.

    >>> import wengert as wg
    >>> x = wg.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> x.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    >>> x @ wg.ones(3, 1)
    tensor([[3.],
            [4.]])
    """

    _places: Any  # an array of integers: (dimensions, elements)
    _elements: Tensor
    _extent: Size
    _sorted: bool
    _rows_compressed: bool

    def __new__(
        cls, places: Any, values: Tensor, size: Any, coalesced: bool = False, csr: bool = False
    ) -> Self:
        importlib.import_module("wengert.pytorch.overrides").intercept()
        self: Any = object.__new__(cls)
        self._places, self._elements, self._extent = places, values, Size(size)
        self._sorted, self._rows_compressed = coalesced or csr, csr
        self._origin = self._node = self._cell = None  # its values have a history, not itself
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__
        if name in vars(SparseTensor):
            return vars(SparseTensor)[name](*args, **(kwargs or {}))
        x = args[0]
        if isinstance(x, SparseTensor) and _keeps_zero(func, args[1:], kwargs or {}, x.dtype):
            return x._with(func(x.coalesce()._elements, *args[1:], **(kwargs or {})))
        raise NotImplementedError(
            f"{name} is not defined for sparse tensors. Use x.to_dense(), or x.values()."
        )

    def _with(self, values: Tensor) -> Self:
        """Other values at the same places."""
        x = self if len(values) == len(self._elements) else self.coalesce()
        return type(self)(x._places, values, x._extent, x._sorted, x._rows_compressed)

    # ---- what it is -------------------------------------------------------------------------

    @property
    def _array(self) -> Any:
        if len(self._places) != 1:
            raise NotImplementedError(
                "a sparse tensor has no array of all its elements. Use x.to_dense(), or x.values()."
            )
        return RowsArray(self._places[0], self._elements._array, self._extent)

    @_array.setter
    def _array(self, value: Any) -> None:
        if not isinstance(value, RowsArray):
            raise LayoutError("a sparse tensor cannot become a dense one. Use x.to_dense().")
        if value.rows is not self._elements._array:
            self._places, self._elements = value.index[None], wrap(value.rows)
            self._sorted = False

    shape = property(lambda self: self._extent)
    ndim = property(lambda self: len(self._extent))
    dtype = property(lambda self: self._elements.dtype)
    device = property(lambda self: device.CPU)
    is_sparse = property(lambda self: not self._rows_compressed)
    is_sparse_csr = property(lambda self: self._rows_compressed)
    grad_fn = property(lambda self: self._elements.grad_fn)
    is_leaf = property(lambda self: self._elements.is_leaf)
    T = mT = property(lambda self: self.t())

    @property
    def layout(self) -> Any:
        return device.sparse_csr if self._rows_compressed else device.sparse_coo

    @property
    def requires_grad(self) -> bool:
        return self._elements.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._elements.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        self._elements.requires_grad_(requires_grad)
        return self

    @property
    def grad(self) -> Any:
        g = self._elements.grad
        return None if g is None else self._with(g)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._elements.grad = None if value is None else value._elements

    def size(self, dim: int | None = None) -> Any:
        return self._extent if dim is None else self._extent[dim]

    def dim(self) -> int:
        return len(self._extent)

    def numel(self) -> int:
        return self._extent.numel()

    def __len__(self) -> int:
        return self._extent[0]

    def sparse_dim(self) -> int:
        return len(self._places)

    def dense_dim(self) -> int:
        return len(self._extent) - len(self._places)

    def _check_no_dense(self, name: str) -> None:
        if self.dense_dim():
            raise NotImplementedError(
                f"{name} is not defined for a sparse tensor of {self.sparse_dim()} sparse and "
                f"{self.dense_dim()} dense dimensions. Use x.to_dense()."
            )

    def _nnz(self) -> int:
        return len(self._elements)

    def is_coalesced(self) -> bool:
        return self._sorted

    def _indices(self) -> Tensor:
        return creation.from_numpy(self._places)

    def _values(self) -> Tensor:
        return self._elements

    def indices(self) -> Tensor:
        self._check_coalesced("indices")
        return self._indices()

    def values(self) -> Tensor:
        self._check_coalesced("values")
        return self._elements

    def _check_coalesced(self, name: str) -> None:
        if not self._sorted:
            raise RuntimeError(
                f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
            )

    def crow_indices(self) -> Tensor:
        """Where each row begins among the elements, and where the last one ends."""
        counts = np.bincount(self.coalesce()._places[0], minlength=self._extent[0])
        return creation.from_numpy(np.concatenate([[0], np.cumsum(counts)]))

    def col_indices(self) -> Tensor:
        return creation.from_numpy(self.coalesce()._places[1])

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        names = ("crow_indices", "col_indices") if self._rows_compressed else ("_indices",)
        parts = [f"{name.strip('_')}={getattr(self, name)()}" for name in names]
        parts += [f"values={tensor_text(self._elements.detach())}", f"size={tuple(self._extent)}"]
        parts += [f"nnz={self._nnz()}", f"layout={self.layout}"]
        if self.requires_grad:
            parts.append("requires_grad=True")
        return f"tensor({', '.join(parts)})"

    # ---- other forms ------------------------------------------------------------------------

    def coalesce(self) -> Self:
        """Each place once, in order; the values of equal places are added."""
        if self._sorted:
            return self
        extent = self._extent[: len(self._places)]
        flat = np.ravel_multi_index(tuple(self._places), extent)
        unique, inverse = np.unique(flat, return_inverse=True)
        places = np.stack(np.unravel_index(unique, extent))
        values = _gathered(self._elements, inverse, len(unique))
        return type(self)(places, values, self._extent, True)

    def to_dense(self, dtype: Any = None) -> Tensor:
        values = self._elements if dtype is None else self._elements.to(dtype)
        zeros = creation.zeros(self._extent, dtype=values.dtype)
        return zeros.index_put(tuple(self._indices()), values, accumulate=True)

    def to_sparse(self, *args: Any, **kwargs: Any) -> Self:
        return type(self)(self._places, self._elements, self._extent, self._sorted)

    to_sparse_coo = to_sparse

    def to_sparse_csr(self, dense_dim: Any = None) -> Self:
        self._check_no_dense("to_sparse_csr")
        x = self.coalesce()
        return type(self)(x._places, x._elements, x._extent, csr=True)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        return self._with(self._elements.to(*args, **kwargs))

    def detach(self) -> Self:
        return self._with(self._elements.detach())

    def clone(self, **options: Any) -> Self:
        return self._with(self._elements.clone())

    def cpu(self) -> Self:
        return self

    def double(self) -> Self:
        return self._with(self._elements.double())

    def float(self) -> Self:
        return self._with(self._elements.float())

    def transpose(self, dim0: int, dim1: int) -> Self:
        self._check_no_dense("transpose")
        order = list(range(self.ndim))
        order[dim0], order[dim1] = order[dim1], order[dim0]
        size = [self._extent[k] for k in order]
        turned = type(self)(self._places[order], self._elements, size)
        return turned.to_sparse_csr() if self._rows_compressed else turned

    def t(self) -> Self:
        return self.transpose(0, 1)

    # ---- arithmetic -------------------------------------------------------------------------

    def add(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        if not isinstance(self, SparseTensor):
            return self + alpha * other.to_dense()
        if not isinstance(other, SparseTensor):
            raise RuntimeError(
                "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
            )
        if self._extent != other._extent:
            raise RuntimeError(f"sizes {self._extent} and {other._extent} of sparse tensors differ")
        places = np.concatenate([self._places, other._places], 1)
        values = cat((self._elements, other._elements * alpha))
        return type(self)(places, values, self._extent).coalesce()

    def sub(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        return SparseTensor.add(self, other, alpha=-alpha)

    def mul(self: Any, other: Any) -> Any:
        if not isinstance(self, SparseTensor):
            self, other = other, self
        if isinstance(other, SparseTensor):
            other = other.to_dense()
        x = self.coalesce()
        if np.ndim(other):
            other = tensor_of(other).expand(x._extent)[tuple(x._indices())]
        return x._with(x._elements * other)

    def div(self, other: Any, *, rounding_mode: Any = None) -> Any:
        if isinstance(other, SparseTensor):
            raise RuntimeError("division by a sparse tensor: most of its elements are zero")
        return SparseTensor.mul(self, 1 / tensor_of(other))

    def mul_(self, other: Any) -> Self:
        """In place, as all that programs do with gradients."""
        return self._become(self * other)

    def div_(self, other: Any) -> Self:
        return self._become(self / other)

    def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        if not isinstance(self, SparseTensor):
            return self.add_(other.to_dense(), alpha=alpha)
        return self._become(self.add(other, alpha=alpha))

    def zero_(self) -> Self:
        return self._become(type(self)(self._places[:, :0], self._elements[:0], self._extent, True))

    def _become(self, other: Self) -> Self:
        self._places, self._elements, self._sorted = other._places, other._elements, other._sorted
        return self

    def sum(self, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        return sum(self, dim, dtype)

    def matmul(self: Any, other: Any) -> Any:
        if not isinstance(self, SparseTensor):
            return SparseTensor.matmul(other.t(), self.t()).t()
        if isinstance(other, SparseTensor):
            return _of_sparse(self, other)
        self._check_no_dense("matmul")
        if other.ndim == 1:
            return SparseTensor.matmul(self, other.unsqueeze(1)).squeeze(1)
        if self.ndim != 2 or other.ndim != 2 or self._extent[1] != other.shape[0]:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({self._extent} and {other.shape})"
            )
        one_dtype("sparse.mm", (self._elements, other))
        rows, columns = self._places
        return product(self._elements, other, rows, columns, self._extent[0])

    mm = mv = dot = matmul
    __add__ = add
    __sub__ = sub
    __mul__ = __rmul__ = multiply = mul
    __truediv__ = true_divide = divide = div
    __matmul__ = matmul

    def __radd__(self, other: Any) -> Any:
        return SparseTensor.add(other, self)

    def __rmatmul__(self, other: Any) -> Any:
        return SparseTensor.matmul(other, self)

    def __neg__(self) -> Self:
        return self._with(-self._elements)

    neg = __neg__


def _keeps_zero(func: Any, args: Any, kwargs: Any, dtype: Any) -> bool:
    """Whether a function is one of single elements, and maps zero to zero: it is tried out."""
    if func.__name__.endswith("_") and not func.__name__.startswith("__"):
        return False  # writes in place
    trial = creation.tensor([0, 1, 2], dtype=dtype)
    try:
        whole = func(trial, *args, **kwargs)
        single = [func(part, *args, **kwargs).numpy() for part in trial.split(1)]
        return bool(np.array_equal(whole.numpy(), np.concatenate(single)) and whole[0] == 0)
    except (TypeError, ValueError, RuntimeError, AttributeError, IndexError):
        return False


def _of_sparse(x: SparseTensor, z: SparseTensor) -> SparseTensor:
    p, q = meetings(x._places[1], z._places[0])
    places = np.stack([x._places[0][p], z._places[1][q]])
    values = x._elements[creation.from_numpy(p)] * z._elements[creation.from_numpy(q)]
    return SparseTensor(places, values, (x._extent[0], z._extent[1])).coalesce()


def _gathered(values: Tensor, numbers: Any, count: int) -> Tensor:
    zeros = creation.zeros((count, *values.shape[1:]), dtype=values.dtype)
    return zeros.index_add(0, creation.from_numpy(numbers), values)


_CSR = device.sparse_csr


# ---- making them ----------------------------------------------------------------------------


def _values_of(values: Any, dtype: Any, requires_grad: bool) -> Tensor:
    out = creation.as_tensor(values) if dtype is None else creation.as_tensor(values, dtype)
    return out.detach().clone().requires_grad_() if requires_grad else out


def _array_of(indices: Any) -> Any:
    return np.asarray(creation.as_tensor(indices).detach().numpy(), np.int64)


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """A tensor with these values at the places that the columns of `indices` name.

    Values of a place that occurs twice are added. The size is the smallest, if none is given.
    """
    creation.check_device(device)
    if values is None:  # sparse_coo_tensor(size)
        indices, values, size = np.empty((len(indices), 0), np.int64), np.empty(0), indices
        dtype = dtype or creation.zeros(0).dtype
    places, elements = _array_of(indices), _values_of(values, dtype, requires_grad)
    if elements.ndim < 1 or places.ndim != 2 or places.shape[1] != len(elements):
        raise NotImplementedError(
            f"sparse_coo_tensor: values of shape {elements.shape} for indices of shape "
            f"{places.shape}; one number, or array, for each column of indices is expected."
        )
    least = np.array([*places.max(1, initial=-1) + 1, *elements.shape[1:]], np.int64)
    size = least.tolist() if size is None else size
    if places.min(initial=0) < 0 or len(size) != len(least) or (least > np.asarray(size)).any():
        raise RuntimeError(f"the indices reach outside of size {tuple(size)}: {least.tolist()}")
    return SparseTensor(places, elements, size, bool(is_coalesced))


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:
    """A matrix whose row k has the elements crow_indices[k] to crow_indices[k + 1].

    These begin with 0, do not decrease, and end with the number of elements.
    """
    if layout not in (None, _CSR):
        raise RuntimeError(
            f"sparse_csr_tensor: layout must be SparseCsr but got {layout}; the layout of a tensor "
            "is changed by to_sparse_coo() and to_sparse_csr()."
        )
    ends, columns = _array_of(crow_indices), _array_of(col_indices)
    counts = np.diff(ends)
    if ends.ndim != 1 or not len(ends) or ends[0] or (counts < 0).any() or ends[-1] != columns.size:
        raise RuntimeError(
            "sparse_csr_tensor: crow_indices must begin with 0, not decrease, and end with the "
            f"number of elements, {columns.size}; got {ends.tolist()}."
        )
    if size is not None and len(counts) != size[0]:
        raise RuntimeError(
            f"sparse_csr_tensor: crow_indices of {len(ends)} numbers are those of {len(counts)} "
            f"rows, but the size is {tuple(size)}."
        )
    places = np.stack([np.repeat(np.arange(len(counts)), counts), columns])
    size = (len(counts), int(places[1].max(initial=-1)) + 1) if size is None else size
    matrix = sparse_coo_tensor(
        places, values, size, dtype=dtype, device=device, pin_memory=pin_memory,
        requires_grad=requires_grad,
    )  # fmt: skip
    return SparseTensor(matrix._places, matrix._elements, matrix._extent, csr=True)


def of_rows(index: Any, rows: Any, size: Any) -> SparseTensor:
    """The gradient of a table: see `functions/rows.py`."""
    return SparseTensor(index[None], wrap(rows), size)


def from_dense(x: Tensor) -> SparseTensor:
    """The elements of a tensor that are not zero."""
    places = np.stack(np.nonzero(x.detach().numpy())) if x.ndim else np.empty((0, 1), np.int64)
    return SparseTensor(places, x[tuple(map(creation.from_numpy, places))], x.shape, True)


class _SparseType(TensorType):
    """A class whose instances are the sparse tensors of one dtype."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, SparseTensor) and x.dtype == cls.dtype

    def __call__(cls, *args: Any) -> SparseTensor:
        sizes = all(isinstance(n, int) for n in args)
        return sparse_coo_tensor(*([args] if sizes else args), dtype=cls.dtype)


(
    FloatTensor,
    DoubleTensor,
    HalfTensor,
    LongTensor,
    IntTensor,
    ShortTensor,
    CharTensor,
    ByteTensor,
) = (
    _SparseType(name, (), {"dtype": kind.dtype, "__module__": __name__})
    for name, kind in list(TYPES.items())[:8]
)


# ---- torch.sparse ---------------------------------------------------------------------------


def masked(x: Tensor, mask: SparseTensor) -> SparseTensor:
    """The elements of a dense tensor at the indices of a sparse one."""
    if not isinstance(mask, SparseTensor) or tuple(x.shape) != tuple(mask.shape):
        raise RuntimeError(
            f"sparse_mask(): a sparse tensor of the shape {list(x.shape)} is expected, not "
            f"{type(mask).__name__} of {list(getattr(mask, 'shape', ()))}"
        )
    at = mask.coalesce()
    return at._with(x[tuple(at._indices())])


@told
def mm(mat1: Any, mat2: Any, reduce: str = "sum") -> Any:
    """The product of matrices of which one is sparse, or both.

    With another `reduce` than "sum", of a sparse and a dense matrix, the terms of each sum are
    combined by "mean", "amax" or "amin", those that are stored; a row without any is 0.

    >>> import wengert as wg
    >>> x = wg.sparse_coo_tensor([[0, 0], [0, 1]], [1.0, 2.0], (2, 2))
    >>> mm(x, wg.ones(2, 1), "amax")
    tensor([[2.],
            [0.]])
    """
    if reduce == "sum":
        return SparseTensor.matmul(mat1, mat2)
    if reduce not in ("mean", "amax", "amin"):
        raise ValueError(f"reduce is 'sum', 'mean', 'amax' or 'amin', not {reduce!r}")
    if not isinstance(mat1, SparseTensor) or isinstance(mat2, SparseTensor):
        raise NotImplementedError(
            f"sparse.mm with reduce={reduce!r} takes a sparse and a dense matrix, in this order. "
            "Use mat2.to_dense()."
        )
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"sparse.mm: {list(mat1.shape)} and {list(mat2.shape)} are no shapes of two matrices "
            "that can be multiplied"
        )
    x = mat1.coalesce()
    rows, columns = (wrap(place) for place in x._places)
    terms = x._elements.unsqueeze(1) * mat2[columns]
    out = creation.zeros((mat1.shape[0], mat2.shape[1]), dtype=terms.dtype)
    return index_reduce(out, 0, rows, terms, reduce, include_self=False)


@told
def addmm(mat: Tensor, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2)."""
    return beta * mat + alpha * mm(mat1, mat2)


@told
def sum(input: SparseTensor, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of all elements, or along dimensions: sparse again."""
    x = input if dtype is None else input.to(dtype)
    if dim is None:
        return x._elements.sum()
    x._check_no_dense("sum")
    gone = {one_dim(k, x.ndim) for k in ([dim] if isinstance(dim, int) else dim)}
    left = [k for k in range(x.ndim) if k not in gone]
    if not left:
        return x._elements.sum()
    return SparseTensor(x._places[left], x._elements, [x._extent[k] for k in left]).coalesce()


@told
def softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """softmax along a dimension of the elements that are stored; the others stay zero."""
    x = log_softmax(input, dim, dtype=dtype)
    return x._with(x._elements.exp())


@told
def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """The logarithm of `softmax`."""
    x = (input if dtype is None else input.to(dtype)).coalesce()
    x._check_no_dense("softmax")
    axis = one_dim(dim, x.ndim)
    others = [k for k in range(x.ndim) if k != axis]
    size = [x._extent[k] for k in others]
    group = np.ravel_multi_index(tuple(x._places[others]), size) if others else x._places[0] * 0
    count = int(np.prod(size))
    largest = np.full(count, -np.inf, x.dtype)
    np.maximum.at(largest, group, x._elements.detach().numpy())  # exp must not overflow
    shifted = x._elements - creation.from_numpy(largest[group])
    totals = _gathered(shifted.exp(), group, count)[creation.from_numpy(group)]
    return x._with(shifted - totals.log())
