"""Parameters as SciPy has them, one vector of double precision, and as their user has them.

Complex parameters are two numbers of the vector each: a gradient by a complex number is
df/da + i df/db, so that its parts are the derivatives by those two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from wengert.arrays.kind import array_of
from wengert.control.recorded import tracing
from wengert.errors import GradError, PatternError, ShapeError, TracingError
from wengert.functions.shapes import view_as_real
from wengert.solvers.parameters import as_given, in_rows
from wengert.solvers.systems import Packing
from wengert.sparse.derivatives import sparse_jacobian
from wengert.tensor import Tensor, wrap
from wengert.transforms import calls
from wengert.transforms.run import called, described
from wengert.transforms.second import jacobian
from wengert.tree import LEAF, flatten, matched, named_parts, paths, rebuild
from wengert.tree import leaves as leaves_of

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


class Vector:
    """The leaves of nested parameters, one after the other in a vector, and back."""

    def __init__(self, name: str, what: str, start: Any) -> None:
        self.name, self.what = name, what
        self.given, self.tree = flatten(start)
        if not self.given:
            raise GradError(f"{name}: {what} has no parameters in it, but is {start!r}")
        self.arrays = [
            self._checked(leaf, step)
            for leaf, step in zip(self.given, paths(self.tree), strict=True)
        ]
        self.packing = Packing(self.arrays, np.float64)
        self.n = self.packing.size

    def _checked(self, leaf: Any, step: str) -> Array:
        where = f"{self.what}{step}"
        if not isinstance(leaf, (bool, int, float, complex)) and not hasattr(leaf, "dtype"):
            raise TypeError(
                f"{self.name}: {where} is {described(leaf)}, which is no parameter: tensors, NumPy "
                "arrays, numbers and containers of them are. Pass it in args=(...)."
            )
        array = array_of(leaf) if isinstance(leaf, Tensor) else calls.array_of(leaf, lambda: where)
        if not isinstance(array, np.ndarray):
            error = GradError if tracing() is None else TracingError
            raise error(f"{self.name}: {where} has no numbers yet, and SciPy needs them")
        if array.dtype.kind not in "fc":
            cure = f"{float(array)!r}" if array.ndim == 0 else "floating-point numbers"
            raise GradError(
                f"{self.name}: {where} is {described(leaf)}, of dtype {array.dtype}: integers "
                f"cannot be varied. Write {cure}, or pass it in args=(...) if it is no parameter."
            )
        return array

    # ---- to the vector ----------------------------------------------------------------------

    def start(self) -> Array:
        """Where the user begins."""
        return self.joined(self.arrays)

    def leaves_of(self, item: Any, what: str) -> list[Any]:
        """The leaves of an item of the parameters' structure and shapes, a gradient say."""
        leaves = matched(self.tree, item, f"{self.name}: {what}", in_rows)
        for step, leaf, like in zip(paths(self.tree), leaves, self.arrays, strict=True):
            shape = tuple(np.shape(array_of(leaf)))
            if shape != like.shape:
                raise ShapeError(
                    f"{self.name}: {what} has shape {shape}{step and f' at {step}'}, where "
                    f"{self.what} has shape {like.shape}"
                )
        return leaves

    def flat(self, item: Any, what: str) -> Array:
        """The leaves of an item as one vector."""
        return self.joined(self.leaves_of(item, what))

    def joined(self, arrays: list[Any]) -> Array:
        return self.packing.vector(list(map(array_of, arrays)))

    # ---- from the vector --------------------------------------------------------------------

    def structured(self, vector: Any) -> Any:
        """The user's containers around the numbers of a vector, each in the kind that he gave."""
        return rebuild(self.tree, iter(self.leaves(vector)))

    def leaves(self, vector: Any) -> list[Any]:
        leaves = []
        for leaf, numbers in zip(self.given, self.packing.arrays(vector), strict=True):
            given = as_given(leaf, numbers)
            leaves.append(given.item() if type(leaf) in (float, complex) else given)
        return leaves

    def series(self, rows: Array) -> Any:
        """The containers around a matrix of vectors as columns: each leaf gets a last dimension."""
        pairs = zip(self.given, self.packing.series(rows), strict=True)
        leaves = [wrap(x) if isinstance(leaf, Tensor) else x for leaf, x in pairs]
        return rebuild(self.tree, iter(leaves))

    def recorded(self, vector: Tensor) -> Any:
        """The containers around pieces of a tensor, as differentiable functions of it."""
        return rebuild(self.tree, iter(self.packing.tensors(vector)))


def flat_tensor(result: Any) -> Any:
    """The leaves of what a function returned as one vector of real tensors, recorded."""
    parts = []
    for leaf in leaves_of(result):
        if isinstance(leaf, Tensor) and leaf.dtype.kind == "c":
            leaf = view_as_real(leaf)
        parts.append(np.reshape(leaf, (-1,)))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def flat_array(result: Any, name: str, f: Any) -> Array:
    """The leaves of what `f` returned as one vector of numbers."""
    parts = []
    for leaf in leaves_of(result):
        x = np.asarray(array_of(leaf))
        if x.dtype.kind not in "fciub":
            raise GradError(f"{name}: {called(f)} returned {described(leaf)}: numbers are expected")
        x = np.ascontiguousarray(x, np.complex128 if x.dtype.kind == "c" else np.float64)
        parts.append(x.view(np.float64).reshape(-1))
    if not parts:
        raise GradError(f"{name}: {called(f)} returned {result!r}. Is a `return` missing?")
    return np.concatenate(parts)


# ---- bounds ----------------------------------------------------------------------------------


def bounds_of(vector: Vector, bounds: Any, pairs: bool) -> Any:
    """`scipy.optimize.Bounds` from bounds in the parameters' structure.

    In the place of a parameter stands (low, high), each a number, an array or None, or None for a
    free one; with `pairs`, SciPy's list of one such pair for each element of a vector too.
    """
    from scipy.optimize import Bounds

    if bounds is None or isinstance(bounds, Bounds):
        return bounds
    lows, highs = [], []
    for step, like, bound in zip(
        paths(vector.tree), vector.arrays, _in_places(vector.tree, bounds, ""), strict=True
    ):
        if like.dtype.kind == "c" and bound is not None:
            raise GradError(
                f"{vector.name}: complex numbers have no order, so {vector.what}{step} has no "
                "bounds. Make parameters of its real and its imaginary part."
            )
        low, high = _pair(bound, like, pairs, f"{vector.name}: the bounds{step}")
        lows.append(low)
        highs.append(high)
    return Bounds(vector.joined(lows), vector.joined(highs))


def _in_places(tree: Any, bounds: Any, step: str) -> list[Any]:
    """What stands in the places of the leaves; parts that are left out are None."""
    if tree is LEAF:
        return [bounds]
    if bounds is None:
        bounds = [None] * len(tree.parts) if tree.keys is None else {}
    if tree.keys is None:
        if not isinstance(bounds, (list, tuple)) or len(bounds) != len(tree.parts):
            raise ValueError(
                f"the bounds{step} must have the structure of the parameters, {tree!r}, with "
                f"(low, high) in the place of each *, but they are {bounds!r}"
            )
        chosen = dict(enumerate(bounds))
        keys: Any = range(len(tree.parts))
    else:
        chosen = named_parts(bounds)  # type: ignore[assignment]
        keys = tree.keys
        if chosen is None or not set(chosen) <= set(keys):
            raise ValueError(
                f"the bounds{step} must have names out of {', '.join(map(repr, keys))}, but they "
                f"are {bounds!r}"
            )
    places = []
    for key, part in zip(keys, tree.parts, strict=True):
        places += _in_places(part, chosen.get(key), f"{step}[{key!r}]")
    return places


def _pair(bound: Any, like: Array, pairs: bool, what: str) -> tuple[Array, Array]:
    kind: Any = complex if like.dtype.kind == "c" else float
    low, high = (kind(x, x) if kind is complex else x for x in (-math.inf, math.inf))
    if bound is not None:
        if not isinstance(bound, (list, tuple, np.ndarray)):
            bound = (bound,)  # for the error below
        is_list = pairs and like.ndim == 1 and len(bound) == like.size
        if is_list and all(np.ndim(b) == 1 and len(b) == 2 for b in bound):
            bound = [
                [free if b[i] is None else b[i] for b in bound]
                for i, free in enumerate((low, high))
            ]
        if len(bound) != 2:
            raise ValueError(
                f"{what} are {bound!r}, where (low, high) was expected, each a number, an array of "
                f"shape {like.shape}, or None"
            )
        low = low if bound[0] is None else bound[0]
        high = high if bound[1] is None else bound[1]
    try:
        ends = [np.broadcast_to(np.asarray(array_of(x), kind), like.shape) for x in (low, high)]
    except ValueError:
        raise ShapeError(
            f"{what} do not have the shape of the parameter, {like.shape}: {bound!r}"
        ) from None
    return ends[0], ends[1]


# ---- Jacobians -------------------------------------------------------------------------------

How = Literal["auto", "dense", "sparse"]
SMALL = 50
"""Up to so many unknowns a sparse Jacobian is not looked for."""


def jacobian_of(
    name: str, f: Function, at: tuple[Any, ...], argnum: int, how: How, allowed: bool
) -> Function:
    """The function that computes the Jacobian of a function of vectors, prepared at a point.

    "auto" takes the sparse one, where a solver is `allowed` to get it, if it costs at most a
    quarter of the products that the dense one does and at most a tenth of it is nonzero.
    """
    if how not in ("auto", "dense", "sparse"):
        raise ValueError(f"{name}: jac is 'auto', 'dense' or 'sparse', not {how!r}")
    if how == "sparse" or (how == "auto" and allowed and at[argnum].size > SMALL):
        plan = _Sparse(f, at, argnum)
        m, n = plan.plan.shape
        cheap = 4 * plan.plan.colouring.products <= min(m, n) and 10 * plan.plan.nnz <= m * n
        if how == "sparse" or cheap:
            return plan
    return jacobian(f, argnum)


class _Sparse:
    """A sparse Jacobian whose pattern is found anew where it no longer holds."""

    def __init__(self, f: Function, at: tuple[Any, ...], argnum: int) -> None:
        self.f, self.argnum = f, argnum
        self.plan = self._prepared(at)

    def _prepared(self, at: tuple[Any, ...]) -> Any:
        return sparse_jacobian(self.f, *at, argnums=self.argnum, check=True)

    def __call__(self, *at: Any) -> Any:
        try:
            return self.plan(*at)
        except PatternError:  # another branch was taken here, say
            self.plan = self._prepared(at)
            return self.plan(*at)
