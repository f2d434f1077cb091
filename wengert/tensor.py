"""Tensor: an array that remembers how it was made.

A Tensor wraps one array and knows the node that made it. This file has its state, its views and
its conversation with NumPy; the methods come from the functions they are short for, and are
attached by `autograd/methods.py` (history) and `functions/methods/` (operators and the rest);
`functions/methods/attached.pyi` tells type checkers of them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import TENSORS
from wengert.arrays.memory import storage
from wengert.errors import MissingRuleError
from wengert.history import modes
from wengert.history.location import refuse_scipy
from wengert.history.node import AccumulateGrad, Cell, Node, Output, move_retainer, tick
from wengert.history.refusals import refusal
from wengert.tree import ATOMS

if TYPE_CHECKING:
    from wengert.functions.methods.attached import Methods
else:
    Methods = object

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
        return math.prod(self)

    if not TYPE_CHECKING:  # to whom it is a tuple's

        def __getitem__(self, key: Any) -> Any:
            item = tuple.__getitem__(self, key)
            return Size(item) if isinstance(key, slice) else item

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))


Call = tuple[Callable[..., Any], tuple[Any, ...]]
"""A recorded function and its further arguments: what to run to take a view again."""


class View:
    """How a tensor looks into its base: what to replay, and whether it may be written through.

    `parent` is the view that this is a view of, None if it was taken of the base itself. `creation`
    says why it may not be written while tracked (a key of `REASONS`), None if it may. `born` is
    the time when it was taken, `seen` the latest at which its tensor's node is known to be right.
    """

    __slots__ = ("base", "born", "call", "creation", "leaf", "parent", "seen")

    base: Tensor
    parent: View | None
    call: Call
    creation: str | None
    leaf: AccumulateGrad | None
    born: int
    seen: int

    @staticmethod
    def of(base: Tensor, parent: View | None, call: Call, creation: str | None) -> View:
        """A new view: a function, since a class with an `__init__` takes thrice as long to call."""
        view = View()
        view.base = base
        view.parent = parent
        view.call = call
        view.creation = creation
        view.leaf = None
        view.born = view.seen = tick()
        return view

    def path(self) -> list[Call]:
        """The calls that lead from the base, as it is now, to this view."""
        calls = []
        view = self
        while view.parent is not None:
            calls.append(view.call)
            view = view.parent
        calls.append(view.call)
        undone = [call for time, call in self.base._turns if time > view.born]
        return [*undone, *reversed(calls)]


def follow(calls: list[Call], base: Tensor) -> Tensor:
    """The view of `base` that these calls lead to."""
    for record, args in calls:
        base = record(base, *args)
    return base


class Mark:
    """An origin other than a view: of inference tensors, and of what stands in for an output."""

    __slots__ = ()
    base = None


INFERENCE = Mark()


class Tensor(Methods):
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

    __slots__ = ("__dict__", "__weakref__", "_array", "_cell", "_node", "_origin")
    __array_priority__ = 1000

    _array: Any
    _node: Node | Output | None
    _origin: View | Mark | None  # views and inference tensors have one
    _cell: Cell | None  # made when a write, or a view, first needs it
    # What few have stands here once; an instance that has it carries its own in its __dict__.
    _grad: Tensor | None = None
    _tangents: dict[Any, Tensor | None] | None = None  # by level; see `autograd/forward.py`
    copied_alone = False  # whether a deep copy leaves .grad, and what shares its memory, behind
    _hooked: Any = None  # the node with its hooks, while it does not require grad
    # When in-place view operations changed a base, and how its views undo that; latest first.
    _turns: tuple[tuple[int, Call], ...] = ()

    # ---- state ----------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        return Size(self._array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._array.dtype

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded; it may be set on a leaf."""
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
            refuse_scipy(sys._getframe(1))
            raise RuntimeError(
                "Can't call numpy() on a Tensor that requires grad: NumPy would drop its history. "
                "Use tensor.detach().numpy(), or NumPy's functions on the tensor itself. An array "
                "to be filled is made with np.zeros_like(x), one of results with np.stack([...])."
            )
        if carries(self):
            refuse_scipy(sys._getframe(1))
            raise RuntimeError(
                "Can't call numpy() on a Tensor that carries a tangent of forward mode: NumPy "
                "would drop it, and the derivative would be wrong. Use tensor.detach().numpy(), or "
                "NumPy's functions on the tensor itself. An array to be filled is made with "
                "np.zeros_like(x), one of results with np.stack([...])."
            )
        array = self._array
        if not isinstance(array, np.ndarray):
            array = array.__array__()  # other kinds of arrays convert themselves, or say why not
        return np.array(array, dtype=dtype, copy=copy) if dtype is not None or copy else array

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        if kwargs and (out := kwargs.pop("out", None)) is not None:
            return MEANINGS.into(out, function, inputs, kwargs)
        return MEANINGS[function](*inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if kwargs and (out := kwargs.pop("out", None)) is not None:
            return MEANINGS.into(out, function, args, kwargs)
        return MEANINGS[function](*args, **kwargs)


class Array(Tensor):
    """A tensor in code that was written for arrays: `x.std()`, `x.max(0)` and `x.size` are NumPy's.

    Transforms hand it to a function that is called with NumPy's arrays or numbers, and operations
    make others of it there; outside they are tensors. See `functions/methods/arrays.py`.
    """

    __slots__ = ()


ATOMS.update((Tensor, Array))


class _Meanings(dict[Any, Callable[..., Any]]):
    """What NumPy's functions mean on Tensors: `functions/numpy/`, above this, decides it once."""

    decide: Callable[[Any], Callable[..., Any]]
    into: Callable[..., Any]

    def __missing__(self, function: Any) -> Callable[..., Any]:
        return self.decide(function)


MEANINGS = _Meanings()


def attach(methods: type) -> type:
    """Give Tensor the methods of a class written elsewhere, under the same names."""
    for name, member in vars(methods).items():
        if name not in {"__dict__", "__weakref__", "__module__", "__doc__", "__qualname__"}:
            setattr(Tensor, name, member)
    return methods


# ---- wrapping ------------------------------------------------------------------------------


def wrap(array: Any, node: Node | Output | None = None) -> Tensor:
    """A Tensor around an array; no copy, no history unless a node is given.

    Whatever makes tensors makes them here, or by `bare`; only the generated recorders set the four
    slots themselves.
    """
    out = _new(Array if modes.special and modes.current().numpy_code else Tensor)
    out._array = array
    out._node = node
    out._origin = None
    out._cell = None
    return out


def bare(cls: type[Tensor], array: Any, node: Node | Output | None = None) -> Any:
    """What `wrap` does, for a subclass."""
    out = _new(cls)
    out._array = array
    out._node = node
    out._origin = None
    out._cell = None
    return out


def suited(x: Any) -> Any:
    """A tensor of the class that the code around has: its methods are NumPy's, or PyTorch's."""
    if type(x) is Tensor or type(x) is Array:
        x.__class__ = Array if modes.special and modes.current().numpy_code else Tensor
    return x


def _detached(x: Tensor) -> Any:
    """The array of a tensor of which only the numbers are wanted."""
    if carries(x):
        raise MissingRuleError(
            "a number is made of a tensor that carries a tangent, which would be lost. Pass "
            "x.detach() if no derivative is wanted."
        )
    return x._array


TENSORS.type, TENSORS.wrap, TENSORS.detached = Tensor, wrap, _detached


def settle(array: Any) -> Any:
    """The array a Tensor holds for what a function returned: NumPy's scalars become 0-d arrays."""
    return np.asarray(array) if isinstance(array, (np.generic, np.ndarray)) else array


def may_record(out: Tensor) -> bool:
    """Whether this thread's mode lets `out` have history; marks what inference mode makes."""
    state = modes.current()
    if state.numpy_code and type(out) is Tensor:
        out.__class__ = Array
    if state.inference:
        if not isinstance(out._origin, View):
            out._origin = INFERENCE
        return False
    return state.grad


def carries(*values: Any) -> bool:
    """Whether a value has a tangent, at a level of forward mode that this thread is inside of."""
    levels = modes.current().duals if modes.pushing else ()
    return any(_carries(x, level) for level in levels for x in values)


def _carries(x: Any, level: Any) -> bool:
    if not isinstance(x, Tensor):
        return False
    if x._tangents is not None and level in x._tangents:
        return x._tangents[level] is not None
    view = x._origin
    return type(view) is View and (view.base._tangents or {}).get(level) is not None


def cell_of(x: Tensor) -> Cell:
    """The cell that counts writes to this tensor's storage, made on first need."""
    cell = x._cell
    if cell is None:
        cell = x._cell = Cell()
    return cell


# ---- views ---------------------------------------------------------------------------------


def view_of(
    out: Tensor, x: Tensor, record: Any, args: tuple[Any, ...], creation: str | None = None
) -> None:
    """Note that `out`, made as `record(x, *args)`, looks into the storage of `x`, if it does."""
    array, base_array = out._array, x._array
    owner = array.base if type(array) is np.ndarray else array
    # What NumPy took as a view names the array, or the one that owns the memory of both.
    if owner is not base_array and not shares(array, base_array):
        return
    origin = x._origin
    if origin is INFERENCE:
        out._origin = INFERENCE
        return
    out._cell = x._cell or cell_of(x)
    if modes.special:
        state = modes.current()
        if not state.grad:
            creation = "inference" if state.inference else "no_grad"
    if type(origin) is View:
        out._origin = View.of(origin.base, origin, (record, args), creation or origin.creation)
    else:
        out._origin = View.of(x, None, (record, args), creation)


def views_of(
    results: tuple[Tensor, ...], x: Tensor, pick: Any, record: Any, rest: tuple[Any, ...]
) -> None:
    """`view_of` for all outputs of a function, of which `pick` takes one."""
    array, origin = x._array, x._origin
    usual = type(array) is np.ndarray and not modes.special and not isinstance(origin, Mark)
    base, parent = (origin.base, origin) if type(origin) is View else (x, None)
    for slot, out in enumerate(results):
        owner = getattr(out._array, "base", None)
        if usual and owner is not None and (owner is array or owner is array.base):
            view = View()
            view.base = base
            view.parent = parent
            view.call = pick, (record, slot, *rest)
            view.creation = "multi"
            view.leaf = None
            view.born = view.seen = tick()
            out._origin = view
            out._cell = x._cell or cell_of(x)
        else:
            view_of(out, x, pick, (record, slot, *rest), "multi")


def shares(array: Any, other: Any) -> bool:
    """Whether two arrays look into the same memory."""
    if array is other:
        return True
    if type(array) is not np.ndarray:
        return np.may_share_memory(array, other)
    base = array.base
    if base is None or base is other.base:
        return base is not None
    return np.may_share_memory(array, other) or (
        type(other) is np.ndarray and storage(array) is storage(other)  # of two parts of it
    )


def current_node(x: Tensor) -> Node | Output | None:
    """The node of a tensor that has an origin, brought up to date if its base was rewritten."""
    view = x._origin
    if type(view) is View:
        if view.seen < view.base._cell.rewritten:  # type: ignore[union-attr]
            _catch_up(x, view)
        if x._node is None and _follows_its_base(x, view):
            # Taken unrecorded, or before the base was tracked: it counts as a leaf of its own.
            if view.leaf is None:
                view.leaf = AccumulateGrad(x)
            return view.leaf
    return x._node


def _catch_up(x: Tensor, view: View) -> None:
    """The base's history was rewritten by a write: rewrite the view's by taking it again."""
    base = view.base
    if base._node is None and (x._node is None or isinstance(x._node, AccumulateGrad)):
        view.seen = base._cell.rewritten  # type: ignore[union-attr]
        return  # nothing was recorded on either side
    if view.creation is not None and base._node is not None:
        if not modes.is_grad_enabled():
            return  # nobody records
        raise refusal(x._node, view.creation, indirect=True)
    view.seen = base._cell.rewritten  # type: ignore[union-attr]
    before = modes.enter(modes.DEFAULT) if modes.special else None
    try:
        node = follow(view.path(), base)._node
    finally:
        if before is not None:
            modes.enter(before)
    move_retainer(x, node)
    x._node = node


def _follows_its_base(x: Tensor, view: View) -> bool:
    return (
        view.base._node is not None
        and view.creation != "custom"  # such a function says itself what is differentiable
        and bool(dtypes.is_inexact(x._array.dtype))
    )


def requires_grad(x: Tensor) -> bool:
    """As the attribute says; an unrecorded view reports what its base does."""
    view = x._origin
    return x._node is not None or (type(view) is View and _follows_its_base(x, view))


def require(x: Tensor) -> Tensor:
    """Mark a leaf: history ends here, and gradients are added here."""
    if not dtypes.is_inexact(x._array.dtype):
        raise RuntimeError(
            "only Tensors of floating point and complex dtype can require gradients, but this one "
            f"is {x._array.dtype}. Use x.float() or dtype=wengert.float32."
        )
    x._node = AccumulateGrad(x)
    return x


def is_leaf(x: Tensor) -> bool:
    node = x._node if x._origin is None else current_node(x)
    return node is None or isinstance(node, AccumulateGrad)


# ---- views that may not be written ---------------------------------------------------------
