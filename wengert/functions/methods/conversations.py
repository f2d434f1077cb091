"""Tensor's methods: the functions of this folder under their method names, and conversations with
Python (length, truth, numbers, indexing, printing).

A method is the function itself, taken into the class: nothing stands between. The in-place methods
are in `inplace.py`, those that are functions in `named.py`.
"""

from __future__ import annotations

import dis
import importlib
import operator
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import kind_of
from wengert.arrays.memory import storage
from wengert.autograd.misfits import told
from wengert.autograd.operands import cast
from wengert.dispatch import known
from wengert.dtypes import bfloat16
from wengert.errors import DtypeError, ShapeError
from wengert.functions import (
    comparison,
    creation,
    indexing,
    joining,
    legacy,
    math,
    printing,
    shapes,
)
from wengert.functions import device as devices
from wengert.functions.arguments import one_dim
from wengert.functions.limits import Storage
from wengert.history import modes
from wengert.history.location import (
    TOLD,
    here,
    line_of,
    lost_in_scipy,
    refuse_mixture,
    refuse_scipy,
    user_frame,
    warn,
)
from wengert.tensor import Size, Tensor, attach, carries, wrap


def _element(x: Any) -> Any:
    """The single element, as a Python number."""
    array = x._array
    if array.size != 1:
        raise ShapeError(
            f"a Tensor with {array.size} elements cannot be converted to Scalar: its shape is "
            f"{list(array.shape)}. Reduce it first, e.g. x.sum(), or use x.tolist()."
        )
    return array.item()


def element(x: Any, kind: type) -> Any:
    """The number that calling this class with a tensor converts."""
    if kind is not int and modes.special and modes.current().numpy_code:
        _check_leaving(x)
    if kind is not complex and x._array.dtype.kind == "c" and x._array.size == 1:
        raise DtypeError(
            "a complex value cannot be converted to a real number without overflow: take x.real"
        )
    return _element(x)


def _check_leaving(x: Tensor) -> None:
    """Say it if code written for arrays makes a number of a value that is being differentiated.

    Such code means no harm: it calls a function of `math`, or fills an array of NumPy's. But what
    comes of it would count as constant, and the derivative would be wrong.
    """
    if not (x.requires_grad or carries(x)):
        return
    _check_scipys(x)
    code, at = here()
    if code.co_code[at] == _STORE_SUBSCR:
        raise RuntimeError(
            "An array of NumPy's cannot hold a value that is being differentiated: the derivative "
            f"would be lost, at\n  {line_of(code, at)}\nMake the array with np.zeros_like(x) or "
            "np.empty_like(x), where x is being differentiated too, or put the values together "
            "with np.stack([...])."
        )
    scipys = lost_in_scipy(sys._getframe(1))  # in C, which may not be told of errors
    warn(
        scipys
        or "A number was made of a value that is being differentiated, by float(x) or a "
        "function of math: what is computed from it counts as constant. NumPy's functions, "
        "np.sin(x) instead of math.sin(x), keep the derivative; a comparison needs no float. "
        "Where a constant is meant, write float(wengert.as_tensor(x).detach())."
    )


def _check_scipys(x: Tensor) -> None:
    """An error if SciPy's code, run on tensors, makes a number of what has a derivative."""
    if TOLD.get() and (x.requires_grad or carries(x)):
        frame = user_frame(sys._getframe(1))
        if (frame.f_globals.get("__name__") or "").startswith("scipy."):
            refuse_scipy(frame)


_STORE_SUBSCR = dis.opmap["STORE_SUBSCR"]


def _beside(x: Tensor, new: Tensor) -> Tensor:
    """A new tensor that can hold values like those of `x`."""
    if not known(x._array):
        new._array = kind_of(x._array).alike(x._array, new._array)
    return new


def _overrides() -> Any:
    """How classes derived from Tensor are asked; most programs have none."""
    return importlib.import_module("wengert.pytorch.overrides")


@attach
class TensorMethods:
    """See the module's docstring. `self` is always a Tensor."""

    __slots__ = ()

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        tensor = creation.legacy_tensor(*args, **kwargs)
        return tensor if cls is Tensor else tensor.as_subclass(cls)

    @classmethod
    def __init_subclass__(cls: Any, **kwargs: Any) -> None:
        super(Tensor, cls).__init_subclass__(**kwargs)  # type: ignore[misc]
        if not cls.__module__.startswith("wengert."):
            _overrides().intercept()

    @classmethod
    def __torch_function__(
        cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """What a function means to tensors of this class: results are of it, too."""
        return _overrides().default(cls, func, types, args, kwargs)

    # ---- what it is -----------------------------------------------------------------------

    def size(self: Any, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        shape = self._array.shape
        if dim is None:
            return Size(shape)
        if not shape:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        return shape[one_dim(dim, len(shape))]

    def dim(self: Any) -> int:
        """The number of dimensions."""
        return self._array.ndim

    ndimension = dim

    def numel(self: Any) -> int:
        """The number of elements."""
        return int(self._array.size)

    nelement = numel

    def stride(self: Any, dim: int | None = None) -> Any:
        """How many elements lie between neighbours along each dimension, or along one."""
        array = self._array
        strides = tuple(s // array.itemsize for s in array.strides)
        return strides if dim is None else strides[dim]

    def storage_offset(self: Any) -> int:
        """How many elements of the storage come before the first one."""
        return kind_of(self._array).offset(self._array)

    def is_contiguous(self: Any, memory_format: Any = None) -> bool:
        """Whether the elements lie in memory in order."""
        flags = getattr(self._array, "flags", None)  # not all kinds of arrays have memory
        return flags is None or bool(flags.c_contiguous)

    def data_ptr(self: Any) -> int:
        """The address of the first element."""
        return kind_of(self._array).address(self._array) if self._array.size else 0

    def element_size(self: Any) -> int:
        """Bytes per element."""
        return self._array.itemsize

    @property
    def itemsize(self: Any) -> int:
        return self._array.itemsize

    @property
    def nbytes(self: Any) -> int:
        return self._array.size * self._array.itemsize

    def dim_order(self: Any) -> tuple[int, ...]:
        """The dimensions from the slowest to the fastest in memory."""
        strides = self._array.strides
        return tuple(sorted(range(len(strides)), key=lambda i: -strides[i]))

    def is_floating_point(self: Any) -> bool:
        """Whether the elements are floating-point numbers (not complex)."""
        return self._array.dtype.kind in "fV"

    def is_complex(self: Any) -> bool:
        """Whether the elements are complex numbers."""
        return self._array.dtype.kind == "c"

    def is_signed(self: Any) -> bool:
        """Whether the elements can be negative."""
        return self._array.dtype.kind not in "ub"

    def is_conj(self: Any) -> bool:
        """Whether conjugation is still to be done: never, it is done at once."""
        return False

    is_neg = is_conj

    def to_dense(self: Any, dtype: Any = None) -> Tensor:
        """The tensor itself: it is dense."""
        return self if dtype is None else self.to(dtype)

    def to_sparse(
        self: Any, sparse_dim: int | None = None, *,
        layout: Any = None, blocksize: Any = None, dense_dim: int | None = None,
    ) -> Tensor:  # fmt: skip
        """The elements that are not zero, as a sparse tensor in COO form, or CSR.

        `layout` says which; `sparse_dim` is the number of all dimensions, or NotImplementedError:
        there are no elements that are blocks, of a `blocksize`, or dense tensors, of a `dense_dim`.
        """
        if blocksize is not None or dense_dim or sparse_dim not in (None, self.ndim):
            raise NotImplementedError(
                f"to_sparse(): the elements of a sparse tensor are numbers here, at {self.ndim} "
                "indices: neither blocks nor dense slices. Use x.to_sparse()."
            )
        sparse = importlib.import_module("wengert.sparse.tensors").from_dense(self)
        return sparse.to_sparse_csr() if layout is devices.sparse_csr else sparse

    to_sparse_coo = to_sparse

    def to_sparse_csr(self: Any, dense_dim: Any = None) -> Tensor:
        """The elements that are not zero, as a sparse tensor in CSR form."""
        return self.to_sparse().to_sparse_csr()

    def to_sparse_csc(self: Any, dense_dim: Any = None) -> Tensor:
        """NotImplementedError: of layouts there are COO and CSR."""
        raise NotImplementedError(
            "sparse tensors are in COO or CSR form here. Use x.to_sparse() or x.to_sparse_csr(); "
            "x.t().to_sparse_csr() has the columns of x as its rows."
        )

    to_sparse_bsr = to_sparse_bsc = to_sparse_csc

    def sparse_mask(self: Any, mask: Any) -> Tensor:
        """The elements at the indices of a sparse tensor, as a sparse tensor.

        RuntimeError where that has another shape.
        """
        masked: Tensor = importlib.import_module("wengert.sparse.tensors").masked(self, mask)
        return masked

    def sparse_dim(self: Any) -> int:
        """How many dimensions are sparse: none."""
        return 0

    def dense_dim(self: Any) -> int:
        """How many dimensions are dense: all."""
        ndim: int = self.ndim
        return ndim

    def resolve_conj(self: Any) -> Tensor:
        """The tensor itself: conjugation is never postponed."""
        return self

    resolve_neg = resolve_conj

    def get_device(self: Any) -> int:
        """The number of the device: -1, the CPU."""
        return -1

    device = property(lambda self: devices.CPU, doc="Where the memory is: the CPU.")
    layout = property(lambda self: devices.strided, doc="How the elements lie: by strides.")
    is_cpu = property(lambda self: True, doc="Whether the memory is the CPU's: always.")
    is_ipu = is_maia = is_mtia = is_vulkan = is_xla = False
    is_cuda = is_sparse = is_sparse_csr = is_mkldnn = is_mps = is_meta = is_quantized = is_xpu = (
        is_nested
    ) = property(lambda self: False, doc="False: a tensor is dense, and in the CPU's memory.")
    names = property(lambda self: (None,) * self._array.ndim, doc="None for each dimension.")

    # ---- Python's protocols ---------------------------------------------------------------

    def __len__(self: Any) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __iter__(self: Any) -> Iterator[Tensor]:
        if not self._array.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(joining.unbind(self, 0))

    def __reversed__(self: Any) -> Tensor:
        return shapes.flip(self, 0) if self._array.ndim else self

    def __contains__(self: Any, element: Any) -> bool:
        if not isinstance(element, (Tensor, int, float, complex)):
            raise RuntimeError(
                "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
                f"{type(element)}."
            )
        return bool((self == element)._array.any())

    def __bool__(self: Any) -> bool:
        array = self._array
        if array.size != 1:
            many = "no values" if array.size == 0 else "more than one value"
            raise RuntimeError(
                f"Boolean value of Tensor with {many} is ambiguous. Use x.any(), x.all() or "
                "x.numel() > 0."
            )
        return bool(array.item() if isinstance(array, np.ndarray) else array)

    def __float__(self: Any) -> float:
        return float(element(self, float))

    def __int__(self: Any) -> int:
        return int(element(self, int))

    def __complex__(self: Any) -> complex:
        return complex(element(self, complex))

    def __index__(self: Any) -> int:
        if self._array.dtype.kind not in "iub" or self._array.size != 1:
            raise TypeError(
                "only integer tensors of a single element can be converted to an index, got "
                f"{self.dtype} of shape {list(self.shape)}"
            )
        return operator.index(int(self._array.item()))

    def __round__(self: Any, decimals: int = 0) -> Tensor:
        return math.round(self, decimals=decimals)

    def __floor__(self: Any) -> Tensor:
        return math.floor(self)

    def __ceil__(self: Any) -> Tensor:
        return math.ceil(self)

    def __trunc__(self: Any) -> Tensor:
        return math.trunc(self)

    def __format__(self: Any, spec: str) -> str:
        if not self._array.ndim and (spec or known(self._array)):
            return format(self._array.item(), spec)
        return object.__format__(self, spec)

    def __repr__(self: Any, *, tensor_contents: Any = None) -> str:
        kind = type(self)
        ours = kind.__module__.startswith("wengert.")
        return printing.tensor_text(self, "tensor(" if ours else f"{kind.__name__}(")

    def _repr_html_(self: Any) -> str:
        import html  # with all its entities

        return f"<pre>{html.escape(repr(self))}</pre>"

    def __dir__(self: Any) -> list[str]:
        return sorted({*dir(type(self)), *self.__dict__})

    def __array_namespace__(self: Any, *, api_version: str | None = None) -> Any:
        """The namespace of the array API standard for tensors."""
        from wengert.functions import array_api

        refuse_mixture(sys._getframe(1))
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(
                f"array API version {api_version!r} is not supported; the newest that is, is "
                f"{array_api.__array_api_version__!r}"
            )
        return array_api

    def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Tensor:
        """The tensor itself: it is on the CPU, where else it could be is an error."""
        creation.check_device(device)
        return self

    def __dlpack__(
        self: Any,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        array = self._array
        if (
            isinstance(array, np.ndarray)
            and not array.flags.writeable
            and max_version is None
            and copy is None
        ):
            # The first version of the protocol cannot say that memory is read-only, as JAX's is.
            array = array.copy()
        return array.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self: Any) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    __getitem__ = indexing.get
    __setitem__ = indexing.put

    def __delitem__(self: Any, index: Any) -> None:
        raise TypeError(
            "Tensor does not support deleting items. Take what is left, as in x[mask] or "
            "cat([x[:1], x[2:]])."
        )

    # ---- out of the library ---------------------------------------------------------------

    @told
    def item(self: Any) -> int | float:
        """The single element, as a Python number.

        >>> import wengert as wg
        >>> wg.tensor([[2.5]]).item()
        2.5
        """
        if modes.special and modes.current().numpy_code:
            _check_scipys(self)
        return _element(self)

    def tolist(self: Any) -> Any:
        """Nested lists of Python numbers."""
        if modes.special and modes.current().numpy_code:
            _check_scipys(self)
        return self._array.tolist()

    def numpy(self: Any, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The NumPy array inside: the same memory. `force` detaches first."""
        if force:
            return self._array
        if not self.requires_grad or not modes.is_grad_enabled():
            return self.__array__() if carries(self) else self._array
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad: NumPy would drop its history. "
            "Use tensor.detach().numpy() instead."
        )

    def cpu(self: Any, memory_format: Any = None) -> Tensor:
        """The tensor itself: it is on the CPU."""
        return self

    def cuda(
        self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None
    ) -> Tensor:
        """An error that says that there is no such device."""
        creation.check_device("cuda" if device is None else device)
        return self

    def share_memory_(self: Any) -> Tensor:
        """The tensor itself; threads share memory as it is."""
        return self

    def is_distributed(self: Any) -> bool:
        """Whether the elements are spread over several processes: no."""
        return False

    def storage_type(self: Any) -> type:
        """The class of the storage."""
        return Storage

    def module_load(self: Any, other: Any, assign: bool = False) -> Any:
        """What `Module.load_state_dict` makes of this entry: `other` in its place, or a copy."""
        return other.detach() if assign else self.copy_(other).detach()

    def reinforce(self: Any, reward: Any) -> None:
        """An error: the old method of stochastic nodes."""
        raise RuntimeError(
            "reinforce() was removed: write the loss -(log_prob * reward).sum() with the "
            "log-probability of what was drawn, and call its backward()"
        )

    def is_shared(self: Any) -> bool:
        """Whether other processes share the memory: no."""
        return False

    def pin_memory(self: Any, device: Any = None) -> Tensor:
        """The tensor itself: there is no device to copy to."""
        return self

    def is_pinned(self: Any, device: Any = None) -> bool:
        """Whether the memory is locked for a device: no."""
        return False

    def untyped_storage(self: Any) -> Any:
        """The memory that this tensor looks into."""
        return Storage(storage(self._array))

    storage = untyped_storage
    _typed_storage = untyped_storage

    def is_set_to(self: Any, tensor: Any) -> bool:
        """Whether two tensors have the same memory, shape and strides."""
        return (self.data_ptr(), self.shape, self.stride()) == (
            tensor.data_ptr(),
            tensor.shape,
            tensor.stride(),
        )

    def as_subclass(self: Any, cls: type) -> Tensor:
        """This tensor as an instance of a class derived from Tensor."""
        out: Any = object.__new__(cls)
        alias = shapes.alias(self)
        out._array, out._node = alias._array, alias._node
        for name in ("_origin", "_cell"):
            if getattr(alias, name) is not None:
                setattr(out, name, getattr(alias, name))
        return out

    @staticmethod
    def _make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Tensor:
        """The numbers of a tensor as a leaf of a class derived from Tensor."""
        return data.detach().as_subclass(cls).requires_grad_(require_grad)

    @staticmethod
    def _make_wrapper_subclass(cls: type, *args: Any, **kwargs: Any) -> Tensor:
        """Of PyTorch's, a tensor that has a shape and no numbers: NotImplementedError."""
        raise NotImplementedError(
            f"{cls.__name__}: all tensors have numbers here. Derive from one that has, with "
            "x.as_subclass(cls), or give an object that holds tensors a __torch_function__."
        )

    # ---- dtypes ---------------------------------------------------------------------------

    def to(
        self: Any,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        other: Any = None,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        """The tensor with another dtype (and on another device, of which there is one).

        Takes a dtype, a device, both, or a tensor whose dtype to take. What already fits is
        returned itself, unless `copy`.
        """
        switches = []
        for given in (*args, other):
            if isinstance(given, Tensor):
                dtype = given._array.dtype
            elif isinstance(given, (np.dtype, type)):
                dtype = legacy.dtype_of_type(given)
            elif isinstance(given, bool):
                switches.append(given)
            elif given is not None:
                device = given
        creation.check_device(device)
        copy = copy or (len(switches) > 1 and switches[1])
        if dtype is not None and self._array.dtype != dtype:
            return cast(self, dtypes.stated(dtype))
        return shapes.clone(self) if copy else self

    def type(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The tensor with another dtype; without one, the name of its type."""
        if dtype is None:
            return legacy.type_name(self._array.dtype)
        return cast(self, legacy.dtype_of_type(dtype))

    def type_as(self: Any, other: Any) -> Tensor:
        """The tensor with the dtype of another."""
        return cast(self, other._array.dtype)

    def chalf(self: Any, memory_format: Any = None) -> Tensor:
        """An error: NumPy has no complex numbers of two half-precision parts."""
        raise DtypeError(
            "complex32 is not a dtype here: NumPy has no complex numbers of half precision. Use "
            "x.cfloat(), complex64."
        )

    def bfloat16(self: Any, memory_format: Any = None) -> Tensor:
        """The tensor as bfloat16."""
        return cast(self, bfloat16())

    # ---- new tensors of the same kind -----------------------------------------------------

    def new_tensor(
        self: Any, data: Any, *, dtype: Any = None, layout: Any = None, **options: Any
    ) -> Tensor:
        """A tensor with a copy of `data`, of this dtype unless another is given."""
        creation.check_layout(layout)
        return creation.tensor(data, dtype=dtype or self.dtype, **options)

    def new(self: Any, *args: Any) -> Tensor:
        """The old constructor with this tensor's dtype: sizes, or data."""
        return creation.legacy_tensor(*args, dtype=self.dtype)

    def new_zeros(self: Any, *size: Any, dtype: Any = None, **options: Any) -> Tensor:
        """Zeros of this dtype."""
        return _beside(self, creation.zeros(*size, dtype=dtype or self.dtype, **options))

    def new_ones(self: Any, *size: Any, dtype: Any = None, **options: Any) -> Tensor:
        """Ones of this dtype."""
        return _beside(self, creation.ones(*size, dtype=dtype or self.dtype, **options))

    def new_empty(self: Any, *size: Any, dtype: Any = None, **options: Any) -> Tensor:
        """An uninitialised tensor of this dtype."""
        return _beside(self, creation.empty(*size, dtype=dtype or self.dtype, **options))

    def new_full(
        self: Any, size: Any, fill_value: Any, *, dtype: Any = None, **options: Any
    ) -> Tensor:
        """One number repeated, of this dtype."""
        return _beside(self, creation.full(size, fill_value, dtype=dtype or self.dtype, **options))

    def new_empty_strided(
        self: Any, size: Any, stride: Any, *, dtype: Any = None, **options: Any
    ) -> Tensor:
        """An uninitialised tensor of this dtype with the strides given."""
        return creation.empty_strided(size, stride, dtype=dtype or self.dtype, **options)

    # ---- shapes ---------------------------------------------------------------------------

    T = property(shapes.reversed_dims)
    mT = property(lambda self: _matrices("mT", self, shapes.transpose), doc="Matrices transposed.")
    H = property(lambda self: _hermitian(self), doc="A matrix transposed and conjugated.")
    mH = property(
        lambda self: _matrices("mH", self, lambda x, i, j: shapes.adjoint(x)),
        doc="Matrices transposed and conjugated.",
    )

    @property
    def real(self: Any) -> Tensor:
        return math.real(self)

    @real.setter
    def real(self: Any, value: Any) -> None:
        math.real(self).copy_(value if isinstance(value, Tensor) else wrap(np.asarray(value)))

    @property
    def imag(self: Any) -> Tensor:
        return math.imag(self)

    @imag.setter
    def imag(self: Any, value: Any) -> None:
        math.imag(self).copy_(value if isinstance(value, Tensor) else wrap(np.asarray(value)))

    # ---- products that operators do not cover ---------------------------------------------

    def __rdiv__(self: Any, other: Any) -> Tensor:
        return other / self

    __invert__ = comparison.bitwise_not


def _matrices(name: str, x: Any, swap: Any) -> Any:
    if x.ndim < 2:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got {x.ndim}-D "
            "tensor."
        )
    return swap(x, -2, -1)


def _hermitian(x: Any) -> Any:
    if x.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {x.ndim}-D tensor. Use "
            "x.mH for batches."
        )
    return shapes.adjoint(x) if x.ndim == 2 else x.conj()
