"""Where the Jacobian of a function has nonzeros, and its products with a few vectors.

`pattern_of` runs a function on arrays that know what they were computed from
(`arrays/dependent/`). The pattern of a Hessian is that of the Jacobian of the gradient. Vectors
are flat here: the elements of all leaves of the arguments, or of the outputs, one after the other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.arrays.dependent.array import Dependence, DependentArray, ids_of
from wengert.autograd import engine
from wengert.autograd.batching import each
from wengert.errors import BatchingError, GradError, PatternError
from wengert.history import modes
from wengert.tensor import Tensor, current_node, wrap
from wengert.transforms.forward import Push
from wengert.transforms.reverse import MOST_NUMBERS, Again
from wengert.transforms.run import Argnums, Function, Run, called, places
from wengert.tree import flatten, rebuild
from wengert.tree import leaves as leaves_of

Ints = np.ndarray[Any, np.dtype[np.int64]]


class At:
    """A function at a point: what all of this is about.

    `shape` is what its Jacobian must have, where that is known already.
    """

    def __init__(
        self,
        name: str,
        f: Function,
        argnums: Argnums,
        args: tuple[Any, ...],
        shape: tuple[int, int] | None = None,
    ) -> None:
        self.name, self.f, self.argnums, self.args = name, f, argnums, args
        self.shape = shape
        self.places = places(name, argnums, len(args))
        self.leaves = leaves_of([args[i] for i in self.places])
        self.shapes = [tuple(getattr(leaf, "shape", ())) for leaf in self.leaves]
        self.n = sum(map(math.prod, self.shapes))
        for leaf in self.leaves:
            if isinstance(leaf, Tensor) and leaf.requires_grad and modes.is_grad_enabled():
                raise GradError(
                    f"{name}: an argument requires grad, but a scipy.sparse matrix has no history. "
                    "Pass x.detach(), or call it inside wengert.no_grad()."
                )
        if shape is not None and self.n != shape[1]:
            raise self._misfit("inputs", shape[1], f"the arguments have {self.n}")

    def call(self) -> tuple[str, Function, Argnums, tuple[Any, ...], dict[str, Any]]:
        return self.name, self.f, self.argnums, self.args, {}

    # ---- the pattern ------------------------------------------------------------------------

    def pattern(self) -> tuple[tuple[int, int], Any, Any, list[str]]:
        """The shape, indptr and indices of a CSR matrix, and functions not looked into."""
        origins = Dependence(self.n)
        first = 1
        given = []
        for i, arg in enumerate(self.args):
            leaves, tree = flatten(arg)
            arrays = []
            for leaf in leaves:
                count = 0
                if i in self.places:
                    count = math.prod(np.shape(leaf))
                arrays.append(_dependent(leaf, first if count else 0, origins, i in self.places))
                first += count
            given.append(rebuild(tree, iter(arrays)))
        with modes.no_grad():
            run = Run(self.name, self.f, self.argnums, tuple(given), {})
        self._check(run)
        ids = np.concatenate([np.ravel(ids_of(y._array)) for y in run.out])
        indptr, indices = origins.rows(ids)
        return (len(ids), self.n), indptr, indices, list(origins.careful)

    # ---- products ---------------------------------------------------------------------------

    def pushed(self, seeds: Callable[[int, int], Any], count: int, chunk: int | None) -> Any:
        """J v for `count` vectors, the rows of `seeds(start, stop)`, one in each row."""

        def push(*tangents: Any) -> list[Tensor | None]:
            run = Push(*self.call(), given=tangents)
            self._check(run)
            self.out = run.out
            return run.tangents

        def several(vectors: Any) -> Any:
            split = [wrap(part) for part in _split(vectors, self.shapes)]
            products = _batched(push, len(vectors), split)
            return _joined(products, [y._array for y in self.out], len(vectors))

        with modes.no_grad():
            return _in_chunks(several, seeds, count, chunk, self.n)

    def pulled(self, seeds: Callable[[int, int], Any], count: int, chunk: int | None) -> Any:
        """u^T J for `count` vectors, the rows of `seeds(start, stop)`, one in each row."""
        with modes.no_grad():
            run = Run(*self.call())
        self._check(run)
        edges = [current_node(y) for y in run.out]
        targets = Again([(v._node, 0) for v in run.variables])
        shapes = [y._array.shape for y in run.out]

        def pull(*cotangents: Any) -> list[Tensor | None]:
            on_tensors = engine.on_tensors()
            roots = [
                (edge, g if on_tensors else g._array)
                for edge, g in zip(edges, cotangents, strict=True)
                if edge is not None
            ]
            return run.pull(roots, True, False, targets)

        def several(vectors: Any) -> Any:
            parts = zip(_split(vectors, shapes), run.out, strict=True)
            split = [wrap(part.astype(y._array.dtype, copy=False)) for part, y in parts]
            products = _batched(pull, len(vectors), split)
            return _joined(products, [v._array for v in run.variables], len(vectors))

        with modes.no_grad():
            return _in_chunks(several, seeds, count, chunk, self.n)

    def _check(self, run: Run) -> None:
        run.check_outputs()
        run.check_real()
        m = sum(math.prod(y._array.shape) for y in run.out)
        if self.shape is not None and m != self.shape[0]:
            raise self._misfit("outputs", self.shape[0], f"{called(self.f)} returned {m}")

    def _misfit(self, what: str, expected: int, actual: str) -> PatternError:
        return PatternError(
            f"{self.name}: the plan is for {expected} {what}, but {actual}. Prepare another one: "
            f"wengert.{self.name}(f, x)."
        )


def _dependent(leaf: Any, first: int, origins: Dependence, wanted: bool) -> Any:
    """An argument as a dependent array: of inputs of its own, or of none.

    Even then it is no constant, whose zeros would be taken to be zeros at every point.
    """
    array = leaf._array if isinstance(leaf, Tensor) else leaf
    if wanted and hasattr(array, "__array_function__") and not isinstance(array, np.ndarray):
        raise PatternError(
            "the pattern of a sparse matrix is found by running the function on numbers, and "
            "inside of a compiled function or a transform there are none yet. Make the plan "
            "before, plan = wengert.sparse_jacobian(f, x), and call plan(x) there; or give it "
            "pattern=..."
        )
    if wanted and not isinstance(leaf, Tensor):
        array = np.asarray(array)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fc":
        return leaf
    ids = np.arange(first, first + array.size) if first else np.zeros(array.size, np.int64)
    dependent = DependentArray(np.array(array, order="C"), ids.reshape(array.shape), origins)
    return wrap(dependent) if wanted or isinstance(leaf, Tensor) else dependent


# ---- flat vectors ----------------------------------------------------------------------------


def _split(vectors: Any, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    ends = itertools.accumulate(map(math.prod, shapes), initial=0)
    blocks = zip(itertools.pairwise(ends), shapes, strict=True)
    return [vectors[:, a:b].reshape(len(vectors), *shape) for (a, b), shape in blocks]


def _joined(tangents: Sequence[Tensor | None], like: Sequence[Any], count: int) -> Any:
    flat = [
        np.zeros((count, math.prod(x.shape)), x.dtype)
        if t is None
        else np.reshape(t._array, (count, -1))
        for t, x in zip(tangents, like, strict=True)
    ]
    return np.concatenate(flat, axis=1)


def _in_chunks(
    several: Callable[[Any], Any],
    seeds: Callable[[int, int], Any],
    count: int,
    chunk: int | None,
    length: int,
) -> Any:
    size = chunk or max(1, MOST_NUMBERS // max(length, 1))
    parts = [several(seeds(k, min(k + size, count))) for k in range(0, count, size)]
    return np.concatenate(parts) if parts else np.zeros((0, 0))


def _batched(f: Callable[..., Any], count: int, vectors: list[Tensor]) -> list[Tensor | None]:
    """`f` of so many vectors at once; one after the other where that cannot be."""
    if count > 1:
        try:
            return each(f, count, *vectors, randomness="same")
        except BatchingError:
            pass  # what branches on its tangents, a custom Function say
    lines = [f(*(wrap(v._array[k]) for v in vectors)) for k in range(count)]
    columns = zip(*lines, strict=True)
    return [
        None
        if all(t is None for t in column)
        else wrap(np.stack([t._array for t in column if t is not None]))
        for column in columns
    ]
