"""BatchedArray: one example that stands for a whole batch.

Inside `vmap` a function sees arrays without their batch. A `BatchedArray` holds an array whose
axis 0 is the batch, `raw`, and shows the rest of its shape; NumPy's functions on it work on all
examples at once. The array beneath may be NumPy's, a traced one, or batched itself: vmaps nest,
and the newest level lies outermost.

A function is answered by its batched meaning, which the other files of this folder say; if it
takes elements by themselves, by the function itself on aligned arrays; by the body of a primitive;
by what it is composed of; or by calling it for each example in turn, which is slow, and said once.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from wengert.arrays.common import axes_of, axis_of
from wengert.arrays.kind import Kind, kind_of, name_of
from wengert.arrays.methods import ArrayMethods
from wengert.dispatch import PLAIN, Function, as_array, each, numpy, primitive, signature
from wengert.errors import BatchingError
from wengert.history.location import here, line_of, warn
from wengert.history.node import Node, tick
from wengert.rules.half import held
from wengert.rules.rule import RULES

Randomness = Literal["error", "different", "same"]


class Level(Kind):
    """One vmap while it runs, and afterwards the name of its batch: what its arrays have in common.

    `start` is when it began: arrays of a later level contain those of earlier ones. While `alive`,
    cotangents of its examples are kept apart; what arrives outside later is their sum.
    """

    __slots__ = ("alive", "outer", "randomness", "size", "start")
    priority = 600

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

    @classmethod
    def noted(cls, function: Any, meaning: Function) -> None:
        super().noted(function, _for_batched(function, meaning))

    # ---- answering --------------------------------------------------------------------------

    def among(self, values: Iterable[Any]) -> Level | None:
        """The newest level among some arguments."""
        newest = _newest(values, self)
        return None if newest is _ABOVE else newest

    def own(self, function: Any, args: Any, kwargs: Any) -> Any:
        result = super().own(function, args, kwargs)
        if result is NotImplemented and (rule := RULES.get(function)) and rule.axes is not None:
            return further(self, function, args, kwargs)
        return result

    def elementwise(self, function: Any, args: Any, kwargs: Any) -> Any:
        """On aligned arrays a function that takes each element by itself is what it always is."""
        if isinstance(function, np.ufunc):
            n = max(map(ndim_of, args))
            return results(self, function(*(aligned(x, n, self) for x in args), **kwargs))
        numbers = [x for x in (*args, *kwargs.values()) if x is not None and type(x) is not type]
        if set_apart(self, function, args, kwargs):
            return loop(self, function, args, kwargs)
        n = max(map(ndim_of, numbers))
        given = [aligned(x, n, self) for x in args]
        named = {name: aligned(x, n, self) for name, x in kwargs.items()}
        return results(self, function(*given, **named))

    def body(self, function: Any, args: Any, kwargs: Any) -> Any:
        return function(*(_batched(self, x) for x in args), **kwargs)

    def composed(self, meaning: Any, args: Any, kwargs: Any) -> Any:
        """What asks for numbers, as for those that fall into a bin, is done for each example."""
        try:
            return super().composed(meaning, args, kwargs)
        except BatchingError:
            return loop(self, meaning, args, kwargs)

    def otherwise(self, function: Any, args: Any, kwargs: Any) -> Any:
        if isinstance(function, np.ufunc):
            return generalized(self, function, args, kwargs)
        return loop(self, function, args, kwargs)

    def store(self, function: Any, result: Any, targets: tuple[Any, ...], where: Any) -> Any:
        """`out=`: the arrays named take the results."""
        name = name_of(function)
        if where is not True:
            if targets[0] is None:
                raise BatchingError(f"{name} with where= needs out= inside of vmap")
            result = np.where(where, result, targets[0])
        results = result if isinstance(result, tuple) else (result,)
        for target, value in zip(targets, results, strict=True):
            if target is None:
                continue
            check_target(self, target, name)
            if value.shape != target.shape:
                raise ValueError(
                    f"non-broadcastable output operand with shape {target.shape} doesn't match the "
                    f"broadcast shape {value.shape}"
                )
            np.copyto(target.raw, aligned(value, target.ndim, self), casting="same_kind")
        return targets[0] if len(targets) == 1 else targets

    # ---- what the engine asks ----------------------------------------------------------------

    def anew(self, x: Any) -> Any:
        raw_x = raw(x, self)
        return BatchedArray(kind_of(raw_x).anew(raw_x), self)

    def alike(self, x: Any, array: Any) -> Any:
        raw_x = raw(x, self)
        return BatchedArray(kind_of(raw_x).alike(raw_x, raw(array, self).copy()), self)

    def arriving(self, g: Any, born: int) -> Any:
        if self.alive and born < self.start:
            raise BatchingError(
                "vmap: backward() inside reached a tensor that was made outside, whose .grad "
                "cannot take one value per example. Use wengert.autograd.grad inside, and return "
                "what it gives; or call backward() on what vmap returns, which adds up the "
                "examples."
            )
        return super().arriving(g, born)


def _for_batched(function: Any, meaning: Function) -> Function:
    """A meaning whose parameters say what is batched: each `BatchedArray`, and none of the others.

    A call with other arguments batched, a setting or an index, is one of each example in turn.
    """
    patterned = isinstance(meaning, functools.partial)
    written: Any = meaning.func if patterned else meaning  # type: ignore[attr-defined]
    said, code = written.__annotations__, written.__code__
    names = code.co_varnames[1 + patterned : code.co_argcount]
    taken = {name: said.get(name) == "BatchedArray" for name in names}
    if not any(taken.values()):
        return meaning

    def checked(level: Level, *args: Any, **kwargs: Any) -> Any:
        for x, name in zip(args, names, strict=False):
            if at(x, level) != taken[name]:
                return loop(level, function, args, kwargs)
        for name, x in kwargs.items():
            if name in taken and at(x, level) != taken[name]:
                return loop(level, function, args, kwargs)
        return meaning(level, *args, **kwargs)

    return checked


def set_apart(level: Level, function: Any, args: Any, kwargs: Any) -> bool:
    """Whether an argument is batched that a function's rule knows as a setting: as no array."""
    rule = RULES.get(function)
    if rule is None or function is np.clip:  # whose bounds may be arrays, of no derivative
        return False
    given = *zip(rule.arguments, args, strict=False), *kwargs.items()
    arrays = *rule.reverse, *rule.constants
    return any(at(x, level) and name not in arrays for name, x in given)


_ABOVE: Any = object()


def _newest(values: Iterable[Any], newest: Any) -> Any:
    for x in values:
        kind = type(x)
        if kind is np.ndarray or kind in PLAIN:
            continue
        if kind is BatchedArray:
            if newest is None or x.level.start > newest.start:
                newest = x.level
        elif kind is list or kind is tuple:
            newest = _newest(x, newest)
        elif (
            hasattr(kind, "__array_function__")
            and getattr(x, "__array_priority__", 0) > Level.priority
        ):
            return _ABOVE
        if newest is _ABOVE:
            break
    return newest


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
    __array_priority__ = Level.priority
    base = None
    kind = property(operator.attrgetter("level"))

    def __init__(self, raw: Any, level: Level) -> None:
        self.raw = held(raw)
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
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return self.level.answer(function, inputs, kwargs)

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

    def astype(self, dtype: Any, copy: bool = True, **kwargs: Any) -> BatchedArray:  # type: ignore[override]
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


# ---- helpers of the meanings ----------------------------------------------------------------


def at(x: Any, level: Level) -> bool:
    """Whether `x` has values of its own for each example of this level."""
    return type(x) is BatchedArray and x.level is level


def raw(x: Any, level: Level) -> Any:
    """All examples of `x` as an array with the batch in front, repeated if there is only one."""
    if at(x, level):
        return x.raw
    x = as_array(x)
    return np.broadcast_to(x, (level.size, *x.shape))


def _batched(level: Level, x: Any) -> Any:
    """An argument of a primitive: arrays are batched, whatever else there is stays."""
    if at(x, level) or not (isinstance(x, np.ndarray) or hasattr(type(x), "__array_function__")):
        return x
    return BatchedArray(raw(x, level), level)


def aligned(x: Any, ndim: int, level: Level) -> Any:
    """`x` for broadcasting against examples of `ndim` dimensions: the batch comes before those."""
    if not at(x, level):
        return x
    shape = x.raw.shape
    if len(shape) > ndim:
        return x.raw
    return np.reshape(x.raw, (shape[0], *(1,) * (ndim + 1 - len(shape)), *shape[1:]))


def ndim_of(x: Any) -> int:
    return len(x.shape) if hasattr(x, "shape") else np.ndim(x)


def results(level: Level, arrays: Any) -> Any:
    """Arrays with the batch in front, as batched ones."""
    if not isinstance(arrays, (tuple, list)):
        return BatchedArray(arrays, level)
    return each(lambda x: BatchedArray(x, level), arrays)


def generalized(level: Level, function: Any, args: Any, kwargs: Any, takes: str = "") -> Any:
    """A function of vectors or matrices: what is before those dimensions broadcasts.

    `takes` says so of its first arguments as NumPy does of its ufuncs: "(m,n),()" are matrices, and
    a number for each. Others are settings.
    """
    takes = takes or function.signature
    cores = [
        len([name for name in part.strip("()").split(",") if name])
        for part in takes.split("->")[0].replace("),(", ");(").split(";")
    ]
    given = list(args)
    if kwargs and not isinstance(function, np.ufunc):  # an array may be given by its name
        names = signature(function)[0][len(args) : len(cores)]
        given += [kwargs.pop(name) for name in names if name in kwargs]
    rest = *given[len(cores) :], *kwargs.values()
    if "axes" in kwargs or "axis" in kwargs or "?" in takes or any(at(x, level) for x in rest):
        return loop(level, function, given, kwargs)
    n = max(ndim_of(x) - core for x, core in zip(given, cores, strict=False))
    given[: len(cores)] = [
        aligned(x, n + core, level) for x, core in zip(given, cores, strict=False)
    ]
    return results(level, function(*given, **kwargs))


# ---- one example after the other ------------------------------------------------------------


_signature = functools.lru_cache(256)(signature)


def by_name(
    function: Any, args: Any, kwargs: Any, counting: tuple[str, ...]
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """What a function's arguments are called, and those of a call, with the defaults of those that
    count dimensions."""
    names, defaults = _signature(function)
    known = {n: defaults[n] for n in counting if n in defaults}
    return names, {**known, **dict(zip(names, args, strict=False)), **kwargs}


def further(level: Level, function: Any, args: Any, kwargs: Any) -> Any:
    """A function of which it is known what counts dimensions: one call for all examples.

    The batch lies in front, so an axis is one further, and a shape begins with it. What counts
    dimensions from the back stays as it is.
    """
    if set_apart(level, function, args, kwargs):
        return loop(level, function, args, kwargs)
    rule = RULES.get(function)
    counting = (rule and rule.axes) or ()
    names, call = by_name(function, args, kwargs, counting)
    shape = None if rule is None else rule.shape
    ndim = ndim_of(call[names[0]]) if shape is None else len(call[shape])
    axes = [n for n in counting if n in call]
    if axes and not ndim and hasattr(function, "body") and not function.opaque:
        return level.body(function.body, args, kwargs)  # there is nothing to count
    for name, value in call.items():
        if name in axes:
            several = value is None or isinstance(value, (tuple, list))
            places = tuple(i + 1 for i in axes_of(value, ndim))
            call[name] = places if several else axis_of(value, ndim) + 1
        elif name == shape:
            call[name] = (level.size, *value)
        elif hasattr(type(value), "__array_function__"):
            call[name] = raw(value, level)
    given = [call.pop(name) for name in names[: len(args)]]
    return results(level, function(*given, **call))


def loop(level: Level, function: Any, args: Any, kwargs: Any) -> Any:
    """The function of each example in turn; a function that writes does so in each."""
    if not getattr(function, "opaque", False):  # whoever said so knows
        tell(level, function)
    return in_turn(level, function, args, kwargs)


def _of_example(level: Level, i: int, function: Any, args: Any, kwargs: Any) -> Any:
    own = lambda x: x.raw[i] if at(x, level) else x
    return function(*each(own, args), **each(own, kwargs))


def in_turn(level: Level, function: Any, args: Any, kwargs: Any) -> Any:
    """The function of each example in turn, and the results as a batch."""
    examples = [_of_example(level, i, function, args, kwargs) for i in range(level.size)]
    if not examples:
        raise BatchingError(
            f"vmap over no examples: {name_of(function)} has no batched meaning, so that what it "
            "would return is not known"
        )
    try:
        return _stacked(level, examples)
    except ValueError as error:
        raise BatchingError(
            f"vmap: the results of {name_of(function)} differ in shape from example to example, at"
            f"\n  {line_of(*here())}\nKeep the full shape and choose, as in np.where(mask, x, 0)."
        ) from error


def _stacked(level: Level, examples: list[Any]) -> Any:
    first = examples[0]
    if first is None:
        return None
    if isinstance(first, (tuple, list)):
        if len({len(item) for item in examples}) > 1:
            raise ValueError("results of several lengths")
        parts = [_stacked(level, list(part)) for part in zip(*examples, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    return BatchedArray(np.stack([as_array(item) for item in examples]), level)


_told: set[Any] = set()


def tell(level: Level, function: Any) -> None:
    """Warn of a loop, once for each function."""
    if function not in _told:
        _told.add(function)
        warn(
            "There is a performance drop because we have not yet implemented the batching rule "
            f"for {name_of(function)}: vmap calls it once for each of {level.size} examples. "
            "Write it with functions that have one, if this is too slow."
        )


def check_target(level: Level, target: Any, name: str) -> None:
    """Raise if an array without batch is to take batched values."""
    if at(target, level):
        return
    raise BatchingError(
        f"vmap: inplace arithmetic ({name}) is not possible because there exists an operand that "
        f"has more elements than the array written to, at\n  {line_of(*here())}\n"
        "This happened due to the operand being vmapped over but the array not being vmapped over "
        "in a vmap. Please try to use out-of-place operators instead of inplace arithmetic (x = x "
        "+ y), or write into an array that is batched too: np.zeros_like(x), x.new_zeros(shape)."
    )


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
            size = _drawn_shape(size, given[:place])
            given = [_raw_of(x, len(size), level) for x in given[:place]]
            return BatchedArray(draw(*given, size=(level.size, *size), **kwargs), level)

        return drawn


def _drawn_singly(level: Level, method: str, draw: Any, args: Any, kwargs: Any) -> Any:
    """One draw after the other, with the arguments of each example."""
    shuffled = method == "shuffle" and bool(args) and type(args[0]) is BatchedArray
    if method in ("bytes", "spawn") or (method == "shuffle" and not shuffled):
        raise BatchingError(
            f"vmap: {method}() of a random generator has no meaning for {level.size} examples, at"
            f"\n  {line_of(*here())}\n"
            "Methods that return arrays have, such as random, choice and permutation. Call this "
            "one outside of the function that is vmapped."
        )
    draws = [_of_example(level, i, draw, args, kwargs) for i in range(level.size)]
    return None if shuffled else BatchedArray(np.stack(draws), level)


def _drawn_shape(size: Any, parameters: list[Any]) -> tuple[int, ...]:
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
