"""What a transformed function is called with, and what it gives back.

Users pass Tensors, NumPy arrays, Python numbers, and lists, tuples, dicts, named tuples and
dataclasses of them. Inside, every leaf is a Tensor whose history ends at a `Primal`; on the way out
each result takes the kind that its caller used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import number
from wengert.autograd import forward
from wengert.autograd.operands import cast
from wengert.errors import GradError
from wengert.history.node import Node
from wengert.tensor import Tensor, carries, cell_of, current_node, settle, suited, wrap
from wengert.tree import leaves as leaves_of

# ---- what a function is differentiated by --------------------------------------------------


class Primal(Node):
    """An argument of a function that a transform differentiates: its sweep ends here.

    To an outer differentiation it is the identity. Each call makes its own, which is what keeps
    nested derivatives apart.
    """

    __slots__ = ()

    def pull(self, g: Any) -> Any:
        return (g,)

    def pull_recorded(self, g: Any) -> Any:
        return (g,)


def variable(leaf: Any, tracked: bool, lasting: bool, where: Callable[[], str]) -> Tensor:
    """A fresh tensor for an argument; `tracked` connects it to the history that it has.

    A `lasting` one does not change when the caller changes his array. `where` names the argument,
    for errors.
    """
    edge = None
    if isinstance(leaf, Tensor):
        array = leaf._array
        if tracked:
            edge = current_node(leaf)
    else:
        array = array_of(leaf, where)
    if not dtypes.is_inexact(array.dtype):
        raise GradError(_no_derivative(leaf, array, where()))
    node = Primal()
    node.begin((edge,))
    node.direct = node.frees = True
    return _shielded(leaf, array, node, lasting)


def primal(leaf: Any, tracked: bool, lasting: bool, where: Callable[[], str]) -> Tensor:
    """An argument in forward mode: a tensor of its own that can be given a tangent."""
    array = leaf._array if isinstance(leaf, Tensor) else array_of(leaf, where)
    if not dtypes.is_inexact(array.dtype):
        raise GradError(_no_derivative(leaf, array, where()))
    node = current_node(leaf) if tracked and isinstance(leaf, Tensor) else None
    return _shielded(leaf, array, node, lasting)


def _shielded(leaf: Any, array: Any, node: Any, lasting: bool) -> Tensor:
    """A tensor for an argument, which a function may read and not write."""
    if type(array) is np.ndarray:
        # A function that writes into its argument would change the caller's numbers, and make the
        # derivative one at another point; the error of a write says what to do instead.
        uncounted = not isinstance(leaf, Tensor)  # writes to a tensor are counted, and noticed
        array = array.copy() if lasting and uncounted else array.view()
        array.flags.writeable = False
    shielded = wrap(array, node)
    if isinstance(leaf, Tensor):
        shielded._cell = cell_of(leaf)  # writes by others to this memory count
        forward.lend(shielded, leaf)
    return shielded


def array_of(leaf: Any, where: Callable[[], str]) -> Any:
    """A number or an array as an array; other kinds of arrays stay what they are."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return dtypes.native(np.asarray(leaf))
    if isinstance(leaf, (bool, int, float, complex)):
        return np.asarray(leaf)
    if hasattr(type(leaf), "__array_function__") and hasattr(leaf, "dtype"):
        # What stands for a number is no array yet: Python's numbers raise where arrays are inf.
        return leaf.astype(leaf.dtype)[...] if _is_scalar(leaf) else leaf
    raise TypeError(
        f"{where()} is {_article(type(leaf).__name__)}, by which nothing can be differentiated: "
        "tensors, NumPy arrays, numbers, and lists, tuples, dicts, named tuples and dataclasses of "
        "them can, and objects of classes that wengert.tree.register was told of. Leave it out of "
        "argnums, pass it as a keyword argument, or close over it."
    )


def _no_derivative(leaf: Any, array: Any, where: str) -> str:
    what = (
        f"{type(leaf).__name__} {leaf!r}"
        if isinstance(leaf, (int, np.integer, np.bool_))
        else f"an array of dtype {array.dtype}"
        if isinstance(leaf, np.ndarray)
        else f"{_article(type(leaf).__name__)} of dtype {array.dtype}"
    )
    cure = f"{float(leaf)!r}" if isinstance(leaf, (int, np.integer)) else "x.astype(float)"
    if isinstance(leaf, Tensor):
        cure = "x.double()"
    return (
        f"{where} is {what}: only floating-point and complex numbers can be differentiated by. "
        f"Write {cure}; or, if it is no variable, leave it out of argnums, pass it as a keyword "
        "argument, or close over it."
    )


def _article(noun: str) -> str:
    return f"an {noun}" if noun[0].lower() in "aeiou" else f"a {noun}"


# ---- results in the caller's kind ----------------------------------------------------------

NUMBER, ARRAY, TENSOR = range(3)


def followed(t: Tensor) -> bool:
    """Whether an outer differentiation follows this value, by its history or by a tangent."""
    return t._node is not None or carries(t)


def kind_of(*values: Any) -> int:
    """What a call is about: tensors, if there is one among its arguments; else arrays; numbers."""
    if values and type(values[0]) is tuple and Tensor in map(type, values[0]):
        return TENSOR
    kind = NUMBER
    for leaf in leaves_of(values):
        if isinstance(leaf, Tensor):
            return TENSOR
        if kind == NUMBER and hasattr(leaf, "dtype") and not _is_scalar(leaf):
            kind = ARRAY
    return kind


class Results:
    """Hands out the results of one call: no two share memory that a NumPy user may write to."""

    def __init__(self, kind: int, copies: bool = False) -> None:
        self.kind = kind
        self.copies = copies
        self._given: list[Any] = []  # kept alive, so that the ids stay their own

    def like(self, leaf: Any, t: Tensor) -> Any:
        """A derivative by `leaf`, as that is."""
        if isinstance(leaf, Tensor) or followed(t):
            return suited(t)
        if isinstance(leaf, (np.ndarray, np.generic)):
            array = self.own(t._array)
            return array[()] if isinstance(leaf, np.generic) and not array.ndim else array
        if isinstance(leaf, (float, complex)) or getattr(leaf, "weak", False):
            return self.of_kind(t) if t._array.ndim else _number(t._array)
        if _is_scalar(leaf):
            return _single(t._array)
        return (
            t._array[...] if _is_scalar(t._array) else t._array
        )  # of no dimensions, and no scalar

    def of_kind(self, t: Tensor) -> Any:
        """A value or other result, as the call's arguments are."""
        if self.kind == TENSOR or followed(t):
            return suited(t)
        array = self.own(t._array)
        if array.ndim:
            return array
        return _number(array) if self.kind == NUMBER else _single(array)

    def own(self, array: Any) -> Any:
        """The array, or a copy where someone else may hold its memory."""
        if type(array) is not np.ndarray:
            return array
        flags = array.flags
        alone = flags.owndata and flags.writeable and not self.copies
        if not alone or any(array is x for x in self._given):
            return array.copy()
        self._given.append(array)
        return array


def _is_scalar(x: Any) -> bool:
    """Whether this is a scalar of NumPy's, or stands for a number."""
    return isinstance(x, np.generic) or bool(getattr(x, "scalar", False))


def _single(array: Any) -> Any:
    """A scalar of NumPy's, of an array of no dimensions."""
    known = type(array) is np.ndarray or hasattr(array, "scalar")
    return array[()] if known and not array.ndim else array


def _number(array: Any) -> Any:
    """A number of Python's; of a traced array, a traced number."""
    if type(array) is np.ndarray:
        return array.item()
    return number(array) if hasattr(array, "weak") and dtypes.is_floating(array.dtype) else array


def vector(g: Any, x: Tensor, where: str, what: str) -> Tensor:
    """What the user gave as the (co)tangent of `x`, as a tensor of its shape and dtype."""
    if not isinstance(g, Tensor):
        array = array_of(g, lambda: where)
        g = wrap(array.copy() if type(array) is np.ndarray else array)
    if g._array.shape != x._array.shape:
        raise GradError(
            f"{where} has shape {tuple(g.shape)}, but the {what} has shape {tuple(x.shape)}."
        )
    if g._array.dtype != x._array.dtype:
        if g._array.dtype.kind == "c" and x._array.dtype.kind != "c":
            raise GradError(
                f"{where} is complex ({g.dtype}), but the {what} is real ({x.dtype}). "
                "Pass its real part."
            )
        g = cast(g, x._array.dtype)
    return g


def zeros(t: Tensor, *before: int) -> Tensor:
    """A derivative by what has no influence."""
    return wrap(settle(np.zeros_like(t._array, shape=(*before, *t._array.shape))))
