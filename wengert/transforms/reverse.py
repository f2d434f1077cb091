"""Transforms that run the reverse sweep: grad, vjp, jacrev.

Read `run.py` first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from wengert.autograd import engine
from wengert.autograd.batching import each
from wengert.autograd.record import recorder
from wengert.history import modes
from wengert.history.node import Node
from wengert.tensor import Tensor, current_node, wrap
from wengert.transforms import calls
from wengert.transforms.calls import Results
from wengert.transforms.run import (
    Argnums,
    Function,
    P,
    R,
    Run,
    ValueAndDerivative,
    checked,
    differentiates,
    like,
)
from wengert.tree import matched, paths, rebuild

# ---- gradients -----------------------------------------------------------------------------


def _gradient(
    name: str, f: Function, argnums: Argnums, has_aux: bool, args: Any, kwargs: Any
) -> tuple[Run, Any]:
    run = Run(name, f, argnums, args, kwargs, has_aux)
    y = run.scalar()
    edge = current_node(y)
    gradients: list[Tensor | None] = [None] * len(run.variables)
    if edge is not None:
        recorded = run.connected([y])
        one = np.ones_like(y._array)
        seed = wrap(one) if recorded else one
        gradients = run.pull([(edge, seed)], recorded or has_aux, recorded)
    return run, run.arranged(argnums, derivatives(run, gradients))


def derivatives(
    run: Run, cotangents: Sequence[Tensor | None], *before: int, results: Results | None = None
) -> list[Any]:
    """In the kinds of the arguments; zeros where nothing arrived."""
    results = results or run.results
    return [
        results.like(leaf, calls.zeros(v, *before) if g is None else g)
        for leaf, v, g in zip(run.leaves, run.variables, cotangents, strict=True)
    ]


@differentiates
def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Any:
    """The function that computes the gradient of `func`, which returns one number.

    grad(func)(x) = df/dx, by the arguments that `argnums` names: one position, or a tuple of them,
    which gives a tuple. An argument may be a Tensor, a NumPy array, a number, or lists, tuples and
    dicts of them; its gradient is the same in kind and structure. With `has_aux`, func returns
    (output, aux), and grad(func) returns (gradient, aux).

    func may be NumPy code. It runs on tensors: arrays that it fills come from np.zeros_like(x), and
    it leaves its arguments as they are. If something that func closes over requires grad, the
    gradient has history too, and then it is a Tensor. For complex arguments the gradient is
    PyTorch's: df/dRe(x) + i df/dIm(x), the direction of steepest ascent.

    Errors: GradError if func returns anything but one real number, or if an argument has integers.

    >>> import numpy as np
    >>> grad(lambda a: np.log(a[0]) + a[0] * a[1] - np.sin(a[1]))([2.0, 5.0])
    [5.5, 1.7163378145367738]
    >>> grad(grad(lambda x: x**3))(2.0)
    12.0
    """
    return gradient_of("grad", func, argnums, has_aux)


def gradient_of(name: str, f: Function, argnums: Argnums, has_aux: bool = False) -> Any:
    argnums = checked(name, f, argnums)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        run, gradients = _gradient(name, f, argnums, has_aux, args, kwargs)
        return (gradients, run.auxiliary()) if has_aux else gradients

    return like(f, name, gradient)


@overload
def value_and_grad(func: Callable[P, R]) -> ValueAndDerivative[P, R]: ...
@overload
def value_and_grad(
    func: Callable[P, Any], argnums: Argnums, has_aux: bool = ...
) -> Callable[P, tuple[Any, Any]]: ...
@overload
def value_and_grad(func: Callable[P, Any], *, has_aux: bool) -> Callable[P, tuple[Any, Any]]: ...
def value_and_grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Any:
    """The function that computes (func(x), df/dx) at once; with `has_aux`, ((func(x), aux), df/dx).

    >>> value_and_grad(lambda x: x**2)(3.0)
    (9.0, 6.0)
    """
    return value_and_gradient_of("value_and_grad", func, argnums, has_aux)


def value_and_gradient_of(name: str, f: Function, argnums: Argnums, has_aux: bool = False) -> Any:
    argnums = checked(name, f, argnums)

    def both(*args: Any, **kwargs: Any) -> Any:
        run, gradients = _gradient(name, f, argnums, has_aux, args, kwargs)
        value = run.value()
        return ((value, run.auxiliary()) if has_aux else value), gradients

    return like(f, name, both)


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Any:
    """As `value_and_grad`, in PyTorch's order: (df/dx, func(x)), or (df/dx, (func(x), aux)).

    >>> grad_and_value(lambda x: x**2)(3.0)
    (6.0, 9.0)
    """
    turned = value_and_gradient_of("grad_and_value", func, argnums, has_aux)

    def both(*args: Any, **kwargs: Any) -> Any:
        value, gradients = turned(*args, **kwargs)
        return gradients, value

    return like(func, "grad_and_value", both)


# ---- products with a Jacobian --------------------------------------------------------------


@overload
def vjp(func: Callable[..., R], *primals: Any) -> tuple[R, Callable[..., tuple[Any, ...]]]: ...
@overload
def vjp(func: Function, *primals: Any, has_aux: bool) -> Any: ...
def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """(func(*primals), pull), where pull(v) = v^T J is the tuple of cotangents of the primals.

    `v` has the structure and the shapes of the output. `pull` may be called any number of times;
    `retain_graph=False` frees what it needs. `create_graph=False` keeps it from being recorded.
    With `has_aux` func returns (output, aux), and vjp returns (output, pull, aux).

    >>> import numpy as np
    >>> y, pull = vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> pull(np.array([1.0, 10.0]))
    (array([ 2., 40.]),)
    """
    return pullback("vjp", func, primals, has_aux)


def pullback(name: str, f: Function, primals: tuple[Any, ...], has_aux: bool = False) -> Any:
    checked(name, f)
    run = Run(name, f, None, primals, {}, has_aux, lasting=True)
    run.check_outputs()
    # The sweep starts from where the outputs are now, whatever the caller does to them later.
    outs = [wrap(t._array, current_node(t)) for t in run.out]
    value = run.value()
    connected = run.connected(outs)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """The cotangents of the primals for those of the output."""
        given = matched(run.tree, cotangents, f"{name}: the cotangents")
        where = [f"{name}: the cotangent{step and f' at {step}'}" for step in paths(run.tree)]
        gs = [calls.vector(g, t, w, "output") for g, t, w in zip(given, outs, where, strict=True)]
        wanted = modes.is_grad_enabled() if create_graph is None else create_graph
        recorded = wanted and (connected or any(g.requires_grad for g in gs))
        roots = [
            (t._node, g if recorded or engine.on_tensors() else g._array)
            for t, g in zip(outs, gs, strict=True)
            if t._node is not None
        ]
        gradients = run.pull(roots, retain_graph or recorded, recorded)
        results = Results(run.results.kind)
        return run.arranged(None, derivatives(run, gradients, results=results))

    setattr(pull, "connected", connected)  # noqa: B010  (functions have no such attribute)
    return (value, pull, run.auxiliary()) if has_aux else (value, pull)


# ---- Jacobians -----------------------------------------------------------------------------


class Again(engine.Targets):
    """The targets of several sweeps from one root: which nodes run is found out once."""

    __slots__ = ("met",)

    def __init__(self, ends: Any) -> None:
        super().__init__(ends)
        self.met: set[Node] | None = None

    def find(self, roots: Any) -> set[Node]:
        self.captured = dict.fromkeys(self.captured)
        if self.met is None:
            self.met = super().find(roots)
        return self.met


def rows(run: Run, t: Tensor, recorded: bool, chunk_size: int | None) -> list[Tensor | None]:
    """The Jacobians of one output by each variable: its shape, then the variable's.

    The sweeps of all elements of the output are one, batched, or as many as there are chunks.
    """
    array, edge = t._array, current_node(t)
    n = array.size
    if edge is None or not n or not run.variables:
        return [None] * len(run.variables)
    targets = Again([(v._node, 0) for v in run.variables])

    def pulled(g: Tensor) -> list[Tensor | None]:
        on_tensors = recorded or engine.on_tensors()
        return run.pull([(edge, g if on_tensors else g._array)], True, recorded, targets)

    parts = []
    largest = max([x._array.size for x in (t, *run.variables)])
    size = chunk_size or max(1, MOST_NUMBERS // max(largest, 1))
    for start in range(0, n, size):
        seeds = np.eye(min(size, n - start), n, start, array.dtype).reshape(-1, *array.shape)
        if len(seeds) == 1:
            cotangents = pulled(wrap(seeds[0]))
            parts.append([None if g is None else np.expand_dims(g, 0) for g in cotangents])
        else:
            parts.append(each(pulled, len(seeds), wrap(seeds)))
    columns = zip(*parts, strict=True)
    return [
        None if any(g is None for g in column) else joined(column, (*array.shape, *v._array.shape))
        for v, column in zip(run.variables, columns, strict=True)
    ]


MOST_NUMBERS = 2**24
"""So many numbers may all the (co)tangents of one array be, unless `chunk_size` says otherwise."""


def joined(parts: Sequence[Tensor], shape: tuple[int, ...]) -> Tensor:
    """The chunks of a batch of rows, as an array of this shape."""
    whole: Any = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return whole if whole._array.shape == shape else recorder(np.reshape)(whole, shape)


@differentiates
def jacrev(
    func: Function, argnums: Argnums = 0, has_aux: bool = False, chunk_size: int | None = None
) -> Any:
    """The function that computes the Jacobian of `func` by reverse mode: its rows, batched.

    jacrev(func)(x)[i..., j...] = d func(x)[i...] / d x[j...]. For containers: the structure of the
    output, with the structure of the argument (a tuple, if `argnums` is one) in the place of each
    leaf. `chunk_size` bounds how many rows are computed together, to save memory.

    >>> import numpy as np
    >>> jacrev(lambda x: x[:2] * x[1])(np.array([1.0, 2.0, 3.0]))
    array([[2., 1., 0.],
           [0., 4., 0.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    return rows_of("jacrev", func, argnums, has_aux, chunk_size)


def rows_of(
    name: str, f: Function, argnums: Argnums, has_aux: bool = False, chunk_size: int | None = None
) -> Any:
    argnums = checked(name, f, argnums)

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        run = Run(name, f, argnums, args, kwargs, has_aux)
        return by_rows(run, argnums, has_aux, chunk_size)

    return like(f, name, jacobian)


def by_rows(run: Run, argnums: Argnums, has_aux: bool = False, chunk_size: Any = None) -> Any:
    """The Jacobian of a function that has run, by reverse mode."""
    run.check_outputs()
    run.check_real()
    blocks = []
    for t in run.out:
        jacobians = rows(run, t, run.connected([t]), chunk_size)
        blocks.append(run.arranged(argnums, derivatives(run, jacobians, *t._array.shape)))
    result = rebuild(run.tree, iter(blocks))
    return (result, run.auxiliary()) if has_aux else result
