"""BatchedArray: one example that stands for a whole batch.

Inside `vmap` a function sees arrays without their batch. A `BatchedArray` holds an array whose
axis 0 is the batch, `raw`, and shows the rest of its shape; NumPy's functions on it work on all
examples at once. The array beneath may be NumPy's, a traced one, or batched itself: vmaps nest,
and the newest level lies outermost.

What each NumPy function means here is said in `meanings.py` and in the files named after their
functions.
"""

from __future__ import annotations

import operator
from typing import Any, Literal

import numpy as np

from wengert.arrays.methods import ArrayMethods
from wengert.dispatch import as_array, primitive
from wengert.errors import BatchingError
from wengert.history.location import INTERNAL, here, line_of
from wengert.history.node import Node, tick

INTERNAL.add(np.lib.mixins.__file__)  # where the operators are written
numpy: Any = np  # its functions return what its arguments say; its types know only its own arrays
Randomness = Literal["error", "different", "same"]


class Level:
    """One vmap while it runs, and afterwards the name of its batch.

    `start` is when it began: arrays of a later level contain those of earlier ones. While `alive`,
    cotangents of its examples are kept apart; what arrives outside later is their sum.
    """

    __slots__ = ("alive", "outer", "randomness", "size", "start")

    def __init__(self, size: int, randomness: Randomness = "error", outer: Level | None = None):
        self.size = size
        self.randomness = randomness
        self.outer = outer
        self.start = tick()
        self.alive = True

    def crosses(self, edge: Any) -> bool:
        """Whether an edge leads to a node that was made before this level."""
        if edge is None:
            return False
        return abs(getattr(edge, "node", edge).order) < self.start  # a leaf's order is negative

    def bridged(self, edges: Any) -> Any:
        """The edges of a node made inside, those to outside with a bridge each."""
        return tuple(Bridge(self, edge) if self.crosses(edge) else edge for edge in edges)

    def enclose(self, node: Node) -> None:
        """Give a node that has its edges a bridge for each that leads outside."""
        if any(map(self.crosses, node.edges)):
            node.edges = self.bridged(node.edges)
            node.order = tick()  # later than the nodes its edges lead to

    def numbers(self, generator: Any) -> Any:
        """What draws random numbers inside; see `wengert.functions.random.numbers_of`."""
        if self.outer is not None:
            generator = self.outer.numbers(generator)
        if self.randomness == "same":
            return generator
        return Numbers(self, generator)


class Bridge(Node):
    """Between an operation inside of a vmap and a tensor of outside that it reads.

    The cotangents of the examples pass while the vmap runs, and are summed once it is over.
    """

    __slots__ = ("level",)

    def __init__(self, level: Level, edge: Any) -> None:
        self.begin()
        self.edges = (edge,) if level.outer is None else level.outer.bridged((edge,))
        self.order = tick()
        self.direct = True
        self.level = level

    def pull(self, g: Any) -> Any:
        return (g if self.level.alive else total(g, self.level),)

    pull_recorded = pull

    def name(self) -> str:
        return "OutOfVmapBackward0"


class BatchedArray(ArrayMethods):
    """An array without the batch that it has; see the module."""

    __slots__ = ("level", "raw")
    __array_priority__ = 600
    base = None

    def __init__(self, raw: Any, level: Level) -> None:
        self.raw = raw
        self.level = level

    # ---- state --------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self.raw.shape[1:]

    @shape.setter
    def shape(self, shape: Any) -> None:
        raise BatchingError("assign a reshaped array instead of its .shape: x = x.reshape(...)")

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.raw.dtype

    @property
    def ndim(self) -> int:
        return self.raw.ndim - 1

    @property
    def strides(self) -> tuple[int, ...]:
        return self.raw.strides[1:]

    @property
    def flags(self) -> Any:
        return self.raw.flags

    # ---- numbers ------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if not self.level.alive:
            raise BatchingError(
                f"an array that was batched by a vmap is used after that vmap, at\n  "
                f"{line_of(*here())}\n"
                "Return it from the function that is vmapped, instead of keeping it elsewhere."
            )
        raise BatchingError(
            "vmap: the numbers of a batched array were asked for, to make a NumPy array or to "
            f"write them into an array that is not batched, at\n  {line_of(*here())}\n"
            "One array cannot hold the values of all examples. Use out-of-place functions, or "
            "write into an array that is batched too: np.zeros_like(x), x.new_zeros(shape). To "
            "join batched values use np.stack; to look one up in a table, wg.as_tensor(table)[i]."
        )

    def item(self, *index: Any) -> Any:
        raise _wanted(".item()")

    def tolist(self) -> Any:
        raise _wanted(".tolist()")

    def tobytes(self) -> bytes:
        raise _wanted(".tobytes()")

    def __float__(self) -> float:
        raise _wanted("float()")

    def __int__(self) -> int:
        raise _wanted("int()")

    def __complex__(self) -> complex:
        raise _wanted("complex()")

    def __index__(self) -> int:
        raise _wanted("an index, as in range(x) or a_list[x],")

    def __bool__(self) -> bool:
        raise BatchingError(
            "vmap: It looks like you're attempting to use a batched value in some data-dependent "
            f"control flow, at\n  {line_of(*here())}\n"
            "Its examples may disagree. Choose between values with wg.where(condition, a, b) or "
            "np.where, or map over this argument with a loop."
        )

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return f"<batched {self.dtype}{list(self.shape)}, {self.level.size} examples>"

    # ---- NumPy's protocols --------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs and ufunc.signature is None and ufunc.nout == 1:
            level, n, given = self.level, self.raw.ndim, []
            for x in inputs:
                kind = type(x)
                if kind is BatchedArray and x.level is level and x.raw.ndim == n:
                    given.append(x.raw)
                elif (kind is np.ndarray and x.ndim < n) or kind is float or kind is int:
                    given.append(x)
                else:
                    break
            else:  # they broadcast as they are, and the batch stays in front
                return BatchedArray(ufunc(*given), level)
        from wengert.arrays.batched.meanings import of_ufunc

        return of_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from wengert.arrays.batched.meanings import of_function

        return of_function(function, args, kwargs)

    def __getitem__(self, index: Any) -> Any:
        from wengert.arrays.batched.meanings import getitem

        return getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        from wengert.arrays.batched.meanings import setitem

        setitem(self, index, value)

    # ---- methods ------------------------------------------------------------------------------

    @property
    def real(self) -> Any:
        return numpy.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        numpy.real(self)[...] = value

    @property
    def imag(self) -> Any:
        return numpy.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        numpy.imag(self)[...] = value

    def astype(self, dtype: Any, copy: bool = True, **kwargs: Any) -> BatchedArray:
        return BatchedArray(self.raw.astype(dtype, copy=copy), self.level)

    def copy(self, order: str = "C") -> BatchedArray:
        return BatchedArray(self.raw.copy(), self.level)

    def view(self, *args: Any) -> BatchedArray:
        return BatchedArray(self.raw.view(*args), self.level)

    def __copy__(self) -> BatchedArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> BatchedArray:
        return self.copy()


def _wanted(what: str) -> BatchingError:
    return BatchingError(
        f"vmap: It looks like you're calling {what} on a batched value, at\n  "
        f"{line_of(*here())}\n"
        "We don't support vmap over that, since there is one number for each example. Keep the "
        "value as an array, and rewrite what follows with array operations. An array that is to "
        "be filled is made with np.zeros_like(x)."
    )


# ---- into a level and out of it -------------------------------------------------------------
#
# Each looks for the level beneath newer ones: vmap(f)(x) with a batched x, or the derivative of
# a vmap that is long over, inside of another vmap.


@primitive
def entered(x: Any, axis: int, level: Level) -> Any:
    """One example of `x`, whose dimension `axis` is the batch."""
    if isinstance(x, BatchedArray) and x.level.start > level.start:
        return BatchedArray(entered(x.raw, axis % x.ndim + 1, level), x.level)
    return BatchedArray(np.moveaxis(x, axis, 0) if axis else x, level)


@primitive
def left(x: Any, axis: int, level: Level) -> Any:
    """All examples of `x`, with the batch as dimension `axis`."""
    if isinstance(x, BatchedArray) and x.level.start > level.start:
        return BatchedArray(left(x.raw, axis % (x.ndim + 1) + 1, level), x.level)
    if isinstance(x, BatchedArray) and x.level is level:
        return np.moveaxis(x.raw, 0, axis) if axis else x.raw
    x = as_array(x)
    spread = np.broadcast_to(x, (level.size, *x.shape))
    return np.moveaxis(spread, 0, axis).copy()


@primitive
def left_view(x: Any, axis: int, level: Level) -> Any:
    """`left`, of an array that others look into."""
    return left(x, axis, level)


@primitive
def total(x: Any, level: Level) -> Any:
    """The sum of `x` over the examples."""
    if isinstance(x, BatchedArray) and x.level.start > level.start:
        return BatchedArray(total(x.raw, level), x.level)
    if isinstance(x, BatchedArray) and x.level is level:
        return np.sum(x.raw, axis=0)
    return x * level.size


@primitive
def same(x: Any, level: Level) -> Any:
    """`x` as each example's value."""
    if isinstance(x, BatchedArray) and x.level.start > level.start:
        return BatchedArray(same(x.raw, level), x.level)
    return BatchedArray(np.broadcast_to(x, (level.size, *x.shape)), level)


def is_batched(x: Any, level: Level) -> bool:
    """Whether an array has values of its own for each of the level's examples."""
    while isinstance(x, BatchedArray) and x.level.start > level.start:
        x = x.raw
    return isinstance(x, BatchedArray) and x.level is level


# ---- random numbers -------------------------------------------------------------------------

_SIZE = {
    "random": 0, "standard_normal": 0, "standard_exponential": 0, "standard_cauchy": 0,
    "integers": 2, "uniform": 2, "normal": 2, "lognormal": 2, "exponential": 1, "poisson": 1,
    "geometric": 1, "binomial": 2, "vonmises": 2, "standard_gamma": 1, "gumbel": 2, "laplace": 2,
}  # fmt: skip
"""Which argument of NumPy's drawing methods is the size; others draw for one example at a time."""


class Numbers:
    """A generator's numbers inside a vmap: other ones for each example, or an error."""

    def __init__(self, level: Level, generator: Any) -> None:
        self._level = level
        self._generator = generator

    def __getattr__(self, method: str) -> Any:
        level = self._level
        draw = getattr(self._generator, method)
        if not callable(draw):
            return draw

        def drawn(*args: Any, **kwargs: Any) -> Any:
            if level.randomness == "error":
                raise BatchingError(
                    "vmap: called random operation while in randomness error mode, at\n  "
                    f"{line_of(*here())}\n"
                    "Please either use the 'same' or 'different' randomness flags on vmap, or "
                    "perform the randomness operation out of vmap."
                )
            place = _SIZE.get(method)
            if place is None or any(type(x) is BatchedArray for x in kwargs.values()):
                return _drawn_singly(level, method, draw, args, kwargs)
            given = list(args)
            size = given.pop(place) if len(given) > place else kwargs.pop("size", None)
            rest = given[place:]
            if rest:
                kwargs["dtype"] = rest[0]
            size = _drawn_shape(size, given[:place], level)
            given = [_raw_of(x, len(size), level) for x in given[:place]]
            return BatchedArray(draw(*given, size=(level.size, *size), **kwargs), level)

        return drawn


def _drawn_singly(level: Level, method: str, draw: Any, args: Any, kwargs: Any) -> Any:
    """One draw after the other, with the arguments of each example."""

    def one(x: Any, i: int) -> Any:
        return x.raw[i] if type(x) is BatchedArray and x.level is level else x

    shuffled = method == "shuffle" and bool(args) and type(args[0]) is BatchedArray
    if method in ("bytes", "spawn") or (method == "shuffle" and not shuffled):
        raise BatchingError(
            f"vmap: {method}() of a random generator has no meaning for {level.size} examples, at"
            f"\n  {line_of(*here())}\n"
            "Methods that return arrays have, such as random, choice and permutation. Call this "
            "one outside of the function that is vmapped."
        )
    made = [
        draw(*[one(x, i) for x in args], **{name: one(x, i) for name, x in kwargs.items()})
        for i in range(level.size)
    ]
    return None if shuffled else BatchedArray(np.stack(made), level)


def _drawn_shape(size: Any, parameters: list[Any], level: Level) -> tuple[int, ...]:
    if size is None:
        return np.broadcast_shapes(*(np.shape(p) for p in parameters))
    try:
        return (operator.index(size),)
    except TypeError:
        return tuple(size)


def _raw_of(x: Any, ndim: int, level: Level) -> Any:
    if isinstance(x, BatchedArray) and x.level is level:
        shape = x.shape
        return np.reshape(x.raw, (level.size, *(1,) * (ndim - len(shape)), *shape))
    return x
