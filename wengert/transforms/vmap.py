"""vmap: a function of one example, run on a whole batch of them at once.

The function runs once, on arrays that show one example and hold all (`arrays/batched/`). Nothing
here is about derivatives: the engine runs on those arrays too, so vmap(grad(f)), grad(vmap(f)) and
vmap(vmap(f)) come out by themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from wengert.arrays.batched.array import BatchedArray, Level, entered, is_batched, left
from wengert.autograd.batching import running, within
from wengert.autograd.levels import entering, leaving, leaving_view
from wengert.errors import BatchingError
from wengert.functions import random
from wengert.tensor import Tensor, View, carries, wrap
from wengert.transforms.run import P, R
from wengert.tree import LEAF, NOTHING, flatten, rebuild, structure

Dims = Any  # an int, None, or (nested) tuples, lists and dicts of them
_PLAIN = (int, float, complex, bool, np.generic)


def vmap(
    func: Callable[P, R],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: Literal["error", "different", "same"] = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[P, R]:
    """The function that maps `func` over a dimension of its arguments, in one run.

    vmap(func)(x)[i] = func(x[i]), where func sees x[i], without the batch, and computes all at
    once.

    `in_dims` says which dimension of each argument is the batch, None for an argument that is the
    same for all examples: one for all arguments, or a tuple with one for each, nested as the
    arguments are. `out_dims` says the same of the results. Keyword arguments are not mapped over.
    `randomness` says what random functions inside draw: other numbers for each example
    ("different"), the "same" for all, or an error. With `chunk_size` so many examples run at a
    time, to save memory.

    Arguments are Tensors, arrays, and containers of them. Tensors give Tensors, NumPy gives NumPy.

    Errors: ValueError for in_dims or out_dims that do not fit, BatchingError where func needs the
    numbers of one example (`if x > 0`, `x.item()`) or writes batched values into an array that is
    not batched.

    >>> import numpy as np
    >>> dot = vmap(np.dot, in_dims=(0, None))
    >>> dot(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    if not callable(func):
        raise TypeError(f"vmap takes a function, but got {type(func).__name__}: vmap(f)(x)")
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. "
            f"Got {randomness}"
        )
    if chunk_size is not None and (chunk_size != int(chunk_size) or chunk_size <= 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    @functools.wraps(func, updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, dims, tree, size = _inputs(name, in_dims, args)
        tensors = any(isinstance(x, Tensor) for x in leaves)
        call = _Call(func, name, tree, kwargs, out_dims, randomness, tensors)
        if chunk_size is None or size <= chunk_size:
            return rebuild(*call(leaves, dims, size)[:2])
        return _in_chunks(call, leaves, dims, size, int(chunk_size))

    return mapped


class _Call:
    """One use of a mapped function, apart from its arguments."""

    def __init__(
        self, f: Any, name: str, tree: Any, kwargs: Any, out_dims: Dims, randomness: Any,
        tensors: bool,
    ) -> None:  # fmt: skip
        self.f, self.name, self.tree, self.kwargs = f, name, tree, kwargs
        self.out_dims, self.randomness, self.tensors = out_dims, randomness, tensors

    def __call__(self, leaves: list[Any], dims: list[Any], size: int) -> Any:
        """The results: their containers, an iterator of the leaves, and the leaves' dimensions."""
        with running(size, self.randomness) as level:
            inside = [_entered(x, d, level) for x, d in zip(leaves, dims, strict=True)]
            with within(level):
                result = self.f(*rebuild(self.tree, iter(inside)), **self.kwargs)
            returned, tree = flatten(result)
            places = _places(self.name, self.out_dims, tree, len(returned), result)
            outs = [self.taken_out(x, d, level) for x, d in zip(returned, places, strict=True)]
        return tree, iter(outs), places

    def taken_out(self, x: Any, dim: int | None, level: Level) -> Any:
        """One result with its batch, of the kind that the caller uses."""
        if not isinstance(x, (Tensor, BatchedArray, np.ndarray, *_PLAIN)) and not hasattr(
            type(x), "__array_function__"
        ):
            raise ValueError(
                f"vmap({self.name}, ...): `{self.name}` must only return Tensors, arrays and "
                f"numbers, got type {type(x)}. Did you mean to set out_dims= to None for some "
                "output, or to return less?"
            )
        array = x._array if isinstance(x, Tensor) else x
        if dim is None:
            if is_batched(array, level):
                raise ValueError(
                    f"vmap({self.name}, ...): `{self.name}` can not return a BatchedTensor when "
                    "out_dim is None: it has a value for each example"
                )
            return self.of_kind(x)
        ndim = len(np.shape(array)) + 1
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but "
                f"got {dim}): out_dims of vmap({self.name}, ...) names a dimension of the result"
            )
        dim %= ndim
        if isinstance(x, Tensor):
            shared = type(x._origin) is View
            return self.of_kind((leaving_view if shared else leaving)(x, dim, level))
        return self.of_kind(left(x, dim, level))

    def of_kind(self, x: Any) -> Any:
        if isinstance(x, Tensor):
            return x if self.tensors or x.requires_grad or carries(x) else x._array
        return wrap(np.asarray(x) if isinstance(x, _PLAIN) else x) if self.tensors else x


def _entered(x: Any, dim: int | None, level: Level) -> Any:
    if dim is None:
        return x
    if isinstance(x, Tensor):
        return entering(x, dim % x.ndim, level)
    return entered(x, dim % len(x.shape), level)


# ---- arguments and results ------------------------------------------------------------------


def _inputs(name: str, in_dims: Dims, args: tuple[Any, ...]) -> Any:
    """The leaves of the arguments, the batch dimension of each, and the size of the batch."""
    head = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not (in_dims is None or isinstance(in_dims, (int, list, tuple, dict))) or isinstance(
        in_dims, bool
    ):
        raise ValueError(
            f"{head}expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, tree = flatten(args)
    dims: list[Any] = []
    if isinstance(in_dims, list):
        in_dims = tuple(in_dims)
    if not _spread(tree, in_dims, dims):
        raise ValueError(
            f"{head}in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {structure(in_dims)!r} but inputs has structure {tree!r}."
        )
    sizes = []
    for x, dim in zip(leaves, dims, strict=True):
        if dim is None:
            continue
        if type(dim) is not int:
            raise ValueError(
                f"{head}Got in_dim={dim} for an input but in_dim must be either an integer "
                "dimension or None."
            )
        if not hasattr(x, "shape") or isinstance(x, np.generic):
            raise ValueError(
                f"{head}Got in_dim={dim} for an input but the input is of type {type(x)}. We "
                "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        n = len(x.shape)
        if not -n <= dim < n:
            raise ValueError(
                f"{head}Got in_dim={dim} for some input, but that input is a Tensor of "
                f"dimensionality {n} so expected in_dim to satisfy -{n} <= in_dim < {n}."
            )
        sizes.append(x.shape[dim])
    if not sizes:
        raise ValueError(
            f"{head}vmap: got no input to map over: every in_dim is None. At least one argument "
            "needs a batch dimension."
        )
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return leaves, dims, tree, sizes[0]


def _spread(tree: Any, dims: Dims, each: list[Any]) -> bool:
    """One dimension for each leaf: an int or None stands for all the leaves below it."""
    if tree is LEAF:
        each.append(dims)
        return not isinstance(dims, (tuple, list, dict))
    if dims is None or not isinstance(dims, (tuple, list, dict)):
        return all(_spread(part, dims, each) for part in tree.parts)
    if isinstance(dims, dict):
        if tree.keys is None or set(dims) != set(tree.keys):
            return False
        dims = [dims[key] for key in tree.keys]
    if len(dims) != len(tree.parts):
        return False
    return all(_spread(part, d, each) for part, d in zip(tree.parts, dims, strict=True))


def _places(name: str, out_dims: Dims, tree: Any, count: int, result: Any) -> list[Any]:
    """The batch dimension of each result."""
    if not count and tree is NOTHING:
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(result)}. Is a "
            "`return` missing?"
        )
    places: list[Any] = []
    if isinstance(out_dims, (tuple, list)) and len(out_dims) == 1 and tree is LEAF:
        out_dims = out_dims[0]
    if not _spread(tree, out_dims, places):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): out_dims is not compatible with the "
            f"structure of `outputs`. out_dims has structure {structure(out_dims)!r} but outputs "
            f"has structure {tree!r}."
        )
    for dim in places:
        if dim is not None and (type(dim) is not int):
            raise ValueError(
                f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a "
                "python collection of ints representing where in the outputs the vmapped "
                f"dimension should appear, got {dim!r}."
            )
    return places


def _in_chunks(call: _Call, leaves: list[Any], dims: list[Any], size: int, chunk: int) -> Any:
    """So many examples at a time, and their results joined."""
    state = random.get_rng_state() if call.randomness == "same" else None
    parts = []
    for start in range(0, size, chunk):
        if state is not None:
            random.set_rng_state(state)
        stop = min(start + chunk, size)
        pieces = [
            x if d is None else x[(*(slice(None),) * (d % len(x.shape)), slice(start, stop))]
            for x, d in zip(leaves, dims, strict=True)
        ]
        tree, outs, places = call(pieces, dims, stop - start)
        parts.append(list(outs))
    joined = [
        column[0] if d is None else np.concatenate(column, d % len(column[0].shape))
        for column, d in zip(zip(*parts, strict=True), places, strict=True)
    ]
    return rebuild(tree, iter(joined))


__all__ = ["BatchingError", "vmap"]
