"""Transforms that push tangents forward: jvp, jacfwd.

Read `autograd/forward.py` and `run.py` first. A function runs once, on arguments that carry
tangents; a whole Jacobian is one run with many tangents at a time, batched by `vmap`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, overload

import numpy as np

from wengert.arrays.kind import kind_of
from wengert.autograd import forward
from wengert.autograd.batching import each
from wengert.autograd.graph import SavedCopies
from wengert.autograd.record import recorder
from wengert.errors import GradError
from wengert.history import modes
from wengert.tensor import Tensor, wrap
from wengert.transforms import calls
from wengert.transforms.calls import Results
from wengert.transforms.reverse import MOST_NUMBERS, derivatives, pullback
from wengert.transforms.run import (
    Argnums,
    Function,
    R,
    Run,
    called,
    checked,
    differentiates,
    like,
    places,
)
from wengert.tree import flatten, matched, paths, rebuild, structure
from wengert.tree import leaves as leaves_of


class _Pushing(forward.within):
    """The mode in which a function runs; `numpy_code` fills arrays, see `run.recording`."""

    fields: tuple[str, ...] = ("clone_saved", "duals", "numpy_code")

    def __init__(self, level: forward.Level, numpy_code: bool) -> None:
        super().__init__(level)
        self.numpy_code = numpy_code

    def _changed(self, state: modes.State) -> modes.State:
        state = super()._changed(state)
        return SavedCopies.of_arrays(state) if self.numpy_code else state


class Push(Run):
    """One run of a function on arguments that carry tangents, one for each leaf.

    `tangents` are those of `out` then, None where it does not depend on the arguments.
    """

    variable = staticmethod(calls.primal)

    def __init__(
        self,
        name: str,
        f: Function,
        argnums: Argnums | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        given: Sequence[Any],
        has_aux: bool = False,
    ) -> None:
        self.level = forward.Level()
        self.given = given
        super().__init__(name, f, argnums, args, kwargs, has_aux)
        self.check_outputs()
        with forward.within(self.level):
            self.tangents = [forward.tangent(y, self.level) for y in self.out]
            self.out = [forward.beneath(y, self.level) for y in self.out]
        self.level.forget()

    def differentiating(self) -> AbstractContextManager[Any]:
        leaves = [step for tree in self.inputs for step in paths(tree)]
        for x, t, step in zip(self.variables, self.given, leaves, strict=True):
            where = f"{self.name}: the tangent{step and f' at {step}'}"
            t = calls.vector(t, x, where, "argument")
            if type(t._array) is np.ndarray and type(x._array) is not np.ndarray:
                t = wrap(kind_of(x._array).alike(x._array, t._array), t._node)
            self.level.give(x, t)
        return _Pushing(self.level, numpy_code=self.results.kind != calls.TENSOR)

    def pushed(self, results: Results) -> Any:
        """The tangents of the output, in its structure; zeros where it is constant."""
        return rebuild(
            self.tree,
            iter(
                results.of_kind(calls.zeros(y) if t is None else t)
                for y, t in zip(self.out, self.tangents, strict=True)
            ),
        )


@overload
def jvp(
    func: Callable[..., R], primals: Any, tangents: Any, *, strict: bool = ...
) -> tuple[R, R]: ...
@overload
def jvp(
    func: Function, primals: Any, tangents: Any, *, strict: bool = ..., has_aux: bool
) -> Any: ...
def jvp(
    func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """(func(*primals), J v): the value of `func`, and its derivative in the direction `tangents`.

    `primals` is the tuple of arguments of func (or its only argument), `tangents` has its structure
    and shapes. Both results are computed in one run: J v costs about as much as func. With
    `has_aux`, func returns (output, aux), and jvp returns (output, J v, aux). With `strict`, an
    output that does not depend on the primals is an error; without, its tangent is zero.

    Errors: GradError for tangents that do not fit, for integers, and if func returns anything but
    tensors computed from its arguments.

    >>> import numpy as np
    >>> jvp(lambda x: x * x, (np.array([1.0, 2.0]),), (np.array([1.0, 10.0]),))
    (array([1., 4.]), array([ 2., 40.]))
    """
    checked("jvp", func)
    args = primals if type(primals) is tuple else (primals,)
    if type(primals) is tuple and type(tangents) is list:
        tangents = tuple(tangents)
    given = matched(structure(primals), tangents, "jvp: the tangents")
    run = Push("jvp", func, None, args, {}, given=given, has_aux=has_aux)
    for where, t in zip(paths(run.tree), run.tangents, strict=True):
        if strict and t is None:
            raise GradError(
                f"jvp: the output of {called(func)}{where and f' at {where}'} is independent of "
                "its arguments. Leave out strict=True for a tangent of zeros."
            )
    value, pushed = run.value(), run.pushed(run.results)
    return (value, pushed, run.auxiliary()) if has_aux else (value, pushed)


def linearize(func: Function, *primals: Any) -> Any:
    """(func(*primals), push), where push(*tangents) = J v without running `func` again.

    func runs once; each call of `push` computes with what that run has left: u -> J^T u is a linear
    function, which is recorded, and its transpose is J (so func needs rules for reverse mode,
    twice). For a single direction `jvp` is cheaper.

    >>> import numpy as np
    >>> y, push = linearize(np.sin, 0.0)
    >>> push(1.0), push(2.0)
    (1.0, 2.0)
    """
    value, pull = pullback("linearize", func, primals)
    _, transposed = pullback("linearize", pull, (value,))
    leaves, tree = flatten(primals)
    points = [wrap(np.asarray(x)) if not isinstance(x, Tensor) else x for x in leaves]

    def push(*tangents: Any) -> Any:
        """The derivative in the direction of the tangents, one for each primal."""
        given = matched(tree, tangents, "linearize: the tangents")
        where = [f"linearize: the tangent{step and f' at {step}'}" for step in paths(tree)]
        vectors = [
            calls.vector(t, x, w, "argument") for t, x, w in zip(given, points, where, strict=True)
        ]
        # Its own history is not the caller's, unless something outside has a part in it.
        recorded = pull.connected or any(v.requires_grad for v in vectors)
        (pushed,) = transposed(
            rebuild(tree, iter(vectors)), create_graph=recorded and modes.is_grad_enabled()
        )
        return pushed

    return value, push


# ---- Jacobians -----------------------------------------------------------------------------


@differentiates
def jacfwd(
    func: Function,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    randomness: Literal["error", "different", "same"] = "error",
) -> Any:
    """The function that computes the Jacobian of `func` by forward mode: its columns, batched.

    The same Jacobian as `jacrev`, in the same structure; cheaper where func has fewer inputs than
    outputs. func runs once on all unit vectors as tangents; `chunk_size` bounds how many of them at
    a time, to save memory. `randomness` is that of `vmap`.

    >>> import numpy as np
    >>> jacfwd(lambda x: x[:2] * x[1])(np.array([1.0, 2.0, 3.0]))
    array([[2., 1., 0.],
           [0., 4., 0.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacfwd: `chunk_size` should be greater than 0.")
    argnums = checked("jacfwd", func, argnums)

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        return by_columns("jacfwd", func, argnums, args, kwargs, has_aux, chunk_size, randomness)

    return like(func, "jacfwd", jacobian)


def by_columns(
    name: str,
    f: Function,
    argnums: Argnums,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    has_aux: bool = False,
    chunk_size: int | None = None,
    randomness: Literal["error", "different", "same"] = "same",
) -> Any:
    """The Jacobian of a function at a point, by forward mode."""
    chosen = [args[i] for i in places(name, argnums, len(args))]
    leaves = leaves_of(chosen)
    shapes = [tuple(getattr(leaf, "shape", ())) for leaf in leaves]
    ends = list(itertools.accumulate((math.prod(shape) for shape in shapes), initial=0))
    run: Any = None

    def pushed(*tangents: Any) -> list[Tensor | None]:
        nonlocal run
        run = Push(name, f, argnums, args, kwargs, given=tangents, has_aux=has_aux)
        run.check_real()
        return run.tangents

    parts = []
    size = chunk_size or max(1, MOST_NUMBERS // max(ends[-1], 1))
    for start in range(0, ends[-1], size):
        vectors = np.eye(min(size, ends[-1] - start), ends[-1], start)
        blocks = zip(itertools.pairwise(ends), shapes, strict=True)
        seeds = [wrap(vectors[:, a:b].reshape(-1, *shape)) for (a, b), shape in blocks]
        if len(vectors) > 1:
            parts.append(each(pushed, len(vectors), *seeds, randomness=randomness))
        else:
            alone = pushed(*(wrap(seed._array[0]) for seed in seeds))
            parts.append([None if t is None else recorder(np.expand_dims)(t, 0) for t in alone])
    if not parts:  # nothing to differentiate by, but the shape of the output is asked for
        pushed(*(wrap(np.zeros(shape)) for shape in shapes))
    columns = zip(*parts, strict=True) if parts else [()] * len(run.out)
    by_output = []
    for y, column in zip(run.out, columns, strict=True):
        jacobians: list[Any] = [None] * len(leaves)
        if column and not any(t is None for t in column):
            whole = column[0] if len(column) == 1 else recorder(np.concatenate)(column)
            last = recorder(np.moveaxis)(whole, 0, -1)  # the index of the input comes last
            jacobians = [
                recorder(np.reshape)(last[..., a:b], (*y._array.shape, *shape))
                for (a, b), shape in zip(itertools.pairwise(ends), shapes, strict=True)
            ]
        by_output.append(run.arranged(argnums, derivatives(run, jacobians, *y._array.shape)))
    result = rebuild(run.tree, iter(by_output))
    return (result, run.auxiliary()) if has_aux else result
