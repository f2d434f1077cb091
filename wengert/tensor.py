"""Tensor: an array that remembers how it was made.

A Tensor wraps one array and knows the node that made it. This file has its state, its views and
its conversation with NumPy; the methods come from the functions they are short for, and are
attached by `autograd/methods.py` (history) and `functions/methods.py` (operators and the rest).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert import dtypes
from wengert.history import modes
from wengert.history.node import AccumulateGrad, Cell, Node, Output, move_retainer
from wengert.errors import InferenceError

if TYPE_CHECKING:
    from wengert.autograd.methods import HistoryMethods
    from wengert.functions.methods import TensorMethods

    class _Methods(HistoryMethods, TensorMethods): ...
else:
    _Methods = object

NUMBERS = frozenset({int, float, bool, complex})
_new = object.__new__


class Size(tuple[int, ...]):
    """A shape: a tuple that prints as PyTorch prints it.

    >>> Size([2, 3])
    torch.Size([2, 3])
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def numel(self) -> int:
        """The number of elements: the product of the dimensions."""
        count = 1
        for n in self:
            count *= n
        return count

    def __getitem__(self, key: Any) -> Any:
        item = tuple.__getitem__(self, key)
        return Size(item) if isinstance(key, slice) else item

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))


class View:
    """How a tensor looks into its base: what to replay, and whether it may be written through."""

    __slots__ = ("base", "call", "creation", "parent", "seen")

    def __init__(self, base: Tensor, parent: Tensor, call: tuple[Any, ...], creation: str | None):
        self.base = base
        self.parent = parent
        self.call = call
        self.creation = creation
        self.seen = base._cell.history

    def replay(self, base: Tensor) -> Tensor:
        """The same view of another tensor in the base's place."""
        calls = []
        view: View | None = self
        while view is not None:
            calls.append(view.call)
            origin = view.parent._origin
            view = origin if isinstance(origin, View) and origin.base is self.base else None
        for record, args in reversed(calls):
            base = record(base, *args)
        return base


class _Inference:
    """The origin of tensors made in inference mode."""

    __slots__ = ()
    base = None


INFERENCE = _Inference()


class Tensor(_Methods):
    """An n-dimensional array whose operations can be differentiated.

    Make one with `wengert.tensor`, `wengert.zeros`, `wengert.from_numpy` and the like. NumPy's
    functions work on it as they do on arrays, and are recorded.

    >>> import wengert as wg
    >>> x = wg.tensor([2.0, 5.0], requires_grad=True)
    >>> y = x[0].log() + x[0] * x[1] - x[1].sin()
    >>> y.backward()
    >>> x.grad
    tensor([5.5000, 1.7163])
    """

    __slots__ = ("__dict__", "__weakref__", "_array", "_node")
    __array_priority__ = 1000

    _array: Any
    _node: Node | Output | None
    # What few tensors have stands here once; an instance that has it carries its own.
    _origin: View | _Inference | None = None
    _cell: Cell | None = None
    _grad: Tensor | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        from wengert.functions import creation  # the constructor is a convenience on top

        made = creation.legacy_tensor(*args, **kwargs)
        return made if cls is Tensor else made.as_subclass(cls)

    # ---- state ----------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        return Size(self._array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._array.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        return self._array.ndim  # type: ignore[no-any-return]

    @property
    def requires_grad(self) -> bool:
        if self._origin is not None:
            return requires_grad(self)
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad cannot be deleted; set it to False")

    # ---- NumPy's protocols ----------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self.requires_grad and modes.is_grad_enabled():
            raise RuntimeError(
                "Can't call numpy() on a Tensor that requires grad: NumPy would drop its history. "
                "Use tensor.detach().numpy(), or NumPy's functions on the tensor itself."
            )
        array = self._array
        return np.array(array, dtype=dtype, copy=copy) if dtype is not None or copy else array

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return numpy_call(ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return numpy_call(function, args, kwargs)


numpy_call: Callable[..., Any]
"""What a NumPy function means on Tensors; set by `functions/numpy.py`."""


def attach(methods: type) -> type:
    """Give Tensor the methods of a class written elsewhere, under the same names."""
    for name, member in vars(methods).items():
        if name not in {"__dict__", "__weakref__", "__module__", "__doc__", "__qualname__"}:
            setattr(Tensor, name, member)
    return methods


# ---- wrapping ------------------------------------------------------------------------------


def wrap(array: Any, node: Node | Output | None = None) -> Tensor:
    """A Tensor around an array; no copy, no history unless a node is given."""
    out = _new(Tensor)
    out._array = array
    out._node = node
    return out


def settle(array: Any) -> Any:
    """The array a Tensor holds for what a function returned: NumPy's scalars become 0-d arrays."""
    return np.asarray(array) if isinstance(array, (np.generic, np.ndarray)) else array


def may_record(out: Tensor) -> bool:
    """Whether this thread's mode lets `out` have history; marks what inference mode makes."""
    state = modes.current()
    if state.inference:
        if not isinstance(out._origin, View):
            out._origin = INFERENCE
        return False
    return state.grad


def cell_of(x: Tensor) -> Cell:
    """The cell that counts writes to this tensor's storage, made on first need."""
    cell = x._cell
    if cell is None:
        cell = x._cell = Cell()
    return cell


# ---- views ---------------------------------------------------------------------------------


def view_of(out: Tensor, x: Tensor, record: Any, args: tuple[Any, ...], creation: str | None = None) -> None:
    """Note that `out`, made as `record(x, *args)`, looks into the storage of `x`, if it does."""
    array, base_array = out._array, x._array
    if type(array) is np.ndarray and not _shares(array, base_array):
        return
    origin = x._origin
    if origin is INFERENCE:
        out._origin = INFERENCE
        return
    out._cell = cell_of(x)
    base = x
    if isinstance(origin, View):
        base = origin.base
        creation = creation or origin.creation
    if modes.special and creation is None:
        state = modes.current()
        creation = "inference" if state.inference else None if state.grad else "no_grad"
    out._origin = View(base, x, (record, args), creation)


def _shares(array: np.ndarray[Any, Any], other: Any) -> bool:
    if array is other:
        return True
    base = array.base
    return base is not None and (base is other or base is other.base or np.may_share_memory(array, other))


def current_node(x: Tensor) -> Node | Output | None:
    """The node of a tensor that has an origin, brought up to date if its base was rewritten."""
    view = x._origin
    if isinstance(view, View) and view.base is not x and view.seen != view.base._cell.history:  # type: ignore[union-attr]
        if view.creation == "inference":
            raise InferenceError(
                "the base of this view, created in inference mode, was changed outside of it, so "
                "its history cannot be rebuilt. Take the view again, outside inference_mode."
            )
        view.seen = view.base._cell.history  # type: ignore[union-attr]
        before = modes.enter(modes.DEFAULT)
        try:
            node = view.replay(view.base)._node
            move_retainer(x, node)
            x._node = node
        finally:
            modes.enter(before)
    return x._node


def requires_grad(x: Tensor) -> bool:
    """As the attribute says; a view made under `no_grad` reports what its base does."""
    if current_node(x) is not None:
        return True
    view = x._origin
    untracked = isinstance(view, View) and view.creation in ("no_grad", "inference")
    return untracked and view.base.requires_grad  # type: ignore[union-attr]


def is_leaf(x: Tensor) -> bool:
    node = x._node if x._origin is None else current_node(x)
    return node is None or isinstance(node, AccumulateGrad)


def tensors_in(values: Iterable[Any]) -> Sequence[Tensor]:
    return [value for value in values if isinstance(value, Tensor)]
