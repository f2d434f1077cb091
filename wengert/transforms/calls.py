"""What a transformed function is called with, and what it gives back.

Users pass Tensors, NumPy arrays, Python numbers, and lists, tuples, dicts, named tuples and
dataclasses of them. Inside, every leaf is a Tensor whose history ends at a `Primal`; on the way out
each result takes the kind that its caller used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import number
from wengert.autograd import forward
from wengert.autograd.operands import cast
from wengert.containers import Constants, named_parts, opened
from wengert.containers import made as remade
from wengert.errors import GradError
from wengert.history.node import Node
from wengert.tensor import Array, Tensor, carries, cell_of, current_node, settle, suited, wrap

# ---- containers ----------------------------------------------------------------------------


class Tree(NamedTuple):
    """A container without its leaves: its type, its keys (None for sequences) and its parts."""

    kind: type
    keys: tuple[Any, ...] | None
    parts: tuple[Any, ...]

    def __repr__(self) -> str:
        if self.kind is type(None):
            return "None"
        if type(self.keys) is Constants:
            return f"{self.kind.__name__}({', '.join(map(repr, self.parts))})"
        if self.keys is None:
            inside = ", ".join(map(repr, self.parts))
            comma = "," if len(self.parts) == 1 else ""
            return f"[{inside}]" if self.kind is list else f"({inside}{comma})"
        pairs = zip(self.keys, self.parts, strict=True)
        if issubclass(self.kind, dict):
            return "{" + ", ".join(f"{key!r}: {part!r}" for key, part in pairs) + "}"
        return f"{self.kind.__name__}(" + ", ".join(f"{k}={p!r}" for k, p in pairs) + ")"


class _Leaf:
    def __repr__(self) -> str:
        return "*"


LEAF = _Leaf()
NOTHING = Tree(type(None), None, ())
_ATOMS = frozenset({Tensor, Array, np.ndarray, float, int, bool, complex, np.float64, np.float32})


def flatten(item: Any, leaves: list[Any]) -> Any:
    """Collect the leaves of nested containers; what is returned says how to put them together.

    None is a container of nothing.

    >>> leaves = []
    >>> flatten({"a": 1.0, "b": [2.0, None]}, leaves), leaves
    ({'a': *, 'b': [*, None]}, [1.0, 2.0])
    """
    kind = type(item)
    if kind in _ATOMS:
        leaves.append(item)
        return LEAF
    if item is None:
        return NOTHING
    if kind is tuple or kind is list:
        return Tree(kind, None, tuple([flatten(part, leaves) for part in item]))
    named = named_parts(item)
    if named is None:
        registered = opened(item)
        if registered is not None:
            constants, parts = registered
            return Tree(kind, constants, tuple([flatten(part, leaves) for part in parts]))
        leaves.append(item)
        return LEAF
    return Tree(kind, tuple(named), tuple([flatten(part, leaves) for part in named.values()]))


def rebuild(tree: Any, leaves: Iterator[Any]) -> Any:
    """The containers of `flatten`, around other leaves."""
    if tree is LEAF:
        return next(leaves)
    kind, keys, parts = tree
    if kind is type(None):
        return None
    made = [rebuild(part, leaves) for part in parts]
    if keys is None:
        return kind(made)
    if type(keys) is Constants:
        return remade(kind, keys, made)
    pairs = zip(keys, made, strict=True)
    return kind(pairs) if issubclass(kind, dict) else kind(**dict(pairs))


def paths(tree: Any, before: str = "") -> Iterator[str]:
    """How to reach each leaf, as Python writes it: [0]['weight']."""
    if tree is LEAF:
        yield before
        return
    for i, part in enumerate(tree.parts):
        if tree.keys is None or type(tree.keys) is Constants:
            step = f"[{i}]"
        elif issubclass(tree.kind, dict):
            step = f"[{tree.keys[i]!r}]"
        else:
            step = f".{tree.keys[i]}"
        yield from paths(part, before + step)


def matched(tree: Any, item: Any, what: str) -> list[Any]:
    """The leaves of an item that must have the containers of `tree`; keys in any order."""
    leaves: list[Any] = []
    if not _collect(tree, item, leaves):
        got = repr(flatten(item, []))
        raise GradError(
            f"{what} must have the structure {tree!r}, but {got} was given, where each * is a "
            "tensor, an array or a number."
        )
    return leaves


def _collect(tree: Any, item: Any, leaves: list[Any]) -> bool:
    """Add the leaves of an item, in the order of `tree`; False if it has other containers."""
    if tree is LEAF:
        leaves.append(item)
        return flatten(item, []) is LEAF
    kind, keys, parts = tree
    if kind is type(None):
        return item is None
    if keys is None:
        if type(item) is not kind or len(item) != len(parts):
            return False
        given = item
    elif type(keys) is Constants:
        registered = opened(item) if type(item) is kind else None
        if registered is None or registered[0] != keys or len(registered[1]) != len(parts):
            return False
        given = registered[1]
    else:
        named = named_parts(item) if isinstance(item, (dict, kind)) else None
        if named is None or set(named) != set(keys):
            return False
        given = [named[key] for key in keys]
    return all(_collect(part, x, leaves) for part, x in zip(parts, given, strict=True))


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
    made = wrap(array, node)
    if isinstance(leaf, Tensor):
        made._cell = cell_of(leaf)  # writes by others to this memory count
        forward.lend(made, leaf)
    return made


def array_of(leaf: Any, where: Callable[[], str]) -> Any:
    """A number or an array as an array; other kinds of arrays stay what they are."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return dtypes.native(np.asarray(leaf))
    if isinstance(leaf, (bool, int, float, complex)):
        return np.asarray(leaf)
    if hasattr(type(leaf), "__array_function__") and hasattr(leaf, "dtype"):
        return leaf
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
    leaves: list[Any] = []
    flatten(values, leaves)
    kind = NUMBER
    for leaf in leaves:
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
