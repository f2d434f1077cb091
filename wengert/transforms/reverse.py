"""Transforms that run the reverse sweep: grad, vjp, jacrev, hessian, and the products.

Read `run.py` first.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.autograd import engine
from wengert.autograd.record import cast, recorder
from wengert.errors import GradError
from wengert.history import modes
from wengert.history.node import Node
from wengert.tensor import Tensor, current_node, wrap
from wengert.transforms import calls
from wengert.transforms.calls import Results, flatten, paths, rebuild
from wengert.transforms.run import Argnums, Function, Run


def checked(name: str, f: Any, argnums: Any = 0) -> Any:
    """The argnums, after the checks that need no call."""
    if not callable(f):
        raise TypeError(f"{name} takes a function, but got {type(f).__name__}: {name}(f)(x)")
    if isinstance(argnums, (int, np.integer)) and not isinstance(argnums, bool):
        return int(argnums)
    if not isinstance(argnums, (tuple, list)) or not all(type(i) is int for i in argnums):
        raise GradError(
            f"{name}: argnums must be int or Tuple[int, ...], got: {type(argnums).__name__}"
        )
    if not argnums:
        raise GradError(f"{name}: argnums must be non-empty")
    return tuple(argnums)


def like(f: Function, name: str, transformed: Function) -> Any:
    """Give what a transform returns the name and the signature of the function it is about."""
    functools.update_wrapper(transformed, f, updated=())
    if hasattr(f, "__name__"):
        transformed.__name__ = f"{name}_{f.__name__}" if f.__name__ != "<lambda>" else name
    return transformed


# ---- gradients -----------------------------------------------------------------------------


def _gradient(
    name: str, f: Function, argnums: Argnums, has_aux: bool, args: Any, kwargs: Any
) -> tuple[Run, Any]:
    run = Run(name, f, argnums, args, kwargs, has_aux)
    y = run.scalar()
    edge = current_node(y)
    found: list[Tensor | None] = [None] * len(run.variables)
    if edge is not None:
        recorded = run.connected([y])
        one = np.ones_like(y._array)
        seed = wrap(one) if recorded else one
        found = run.pull([(edge, seed)], recorded or has_aux, recorded)
    return run, run.arranged(argnums, _derivatives(run, found))


def _derivatives(
    run: Run, found: Sequence[Tensor | None], *before: int, results: Results | None = None
) -> list[Any]:
    """In the kinds of the arguments; zeros where nothing arrived."""
    results = results or run.results
    return [
        results.like(leaf, calls.zeros(v, *before) if g is None else g)
        for leaf, v, g in zip(run.leaves, run.variables, found, strict=True)
    ]


def grad(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Any:
    """The function that computes the gradient of `f`, which returns one number.

    grad(f)(x) = df/dx, by the arguments that `argnums` names: one position, or a tuple of them,
    which gives a tuple. An argument may be a Tensor, a NumPy array, a number, or lists, tuples and
    dicts of them; its gradient is the same in kind and structure. With `has_aux`, f returns
    (output, aux), and grad(f) returns (gradient, aux).

    f may be NumPy code. It runs on tensors: arrays that it fills come from np.zeros_like(x), and it
    leaves its arguments as they are. If something that f closes over requires grad, the gradient
    has history too, and then it is a Tensor. For complex arguments the gradient is PyTorch's:
    df/dRe(x) + i df/dIm(x), the direction of steepest ascent.

    Errors: GradError if f returns anything but one real number, or if an argument has integers.

    >>> import numpy as np
    >>> grad(lambda a: np.log(a[0]) + a[0] * a[1] - np.sin(a[1]))([2.0, 5.0])
    [5.5, 1.7163378145367738]
    >>> grad(grad(lambda x: x**3))(2.0)
    12.0
    """
    return _grad("grad", f, argnums, has_aux)


def _grad(name: str, f: Function, argnums: Argnums, has_aux: bool = False) -> Any:
    argnums = checked(name, f, argnums)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        run, gradients = _gradient(name, f, argnums, has_aux, args, kwargs)
        return (gradients, run.auxiliary()) if has_aux else gradients

    return like(f, name, gradient)


def value_and_grad(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Any:
    """The function that computes (f(x), df/dx) in one pass; with `has_aux`, ((f(x), aux), df/dx).

    >>> value_and_grad(lambda x: x**2)(3.0)
    (9.0, 6.0)
    """
    return _value_and_grad("value_and_grad", f, argnums, has_aux)


def _value_and_grad(name: str, f: Function, argnums: Argnums, has_aux: bool) -> Any:
    argnums = checked(name, f, argnums)

    def both(*args: Any, **kwargs: Any) -> Any:
        run, gradients = _gradient(name, f, argnums, has_aux, args, kwargs)
        value = run.value()
        return ((value, run.auxiliary()) if has_aux else value), gradients

    return like(f, name, both)


def grad_and_value(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Any:
    """As `value_and_grad`, in PyTorch's order: (df/dx, f(x)), or (df/dx, (f(x), aux)).

    >>> grad_and_value(lambda x: x**2)(3.0)
    (6.0, 9.0)
    """
    turned = _value_and_grad("grad_and_value", f, argnums, has_aux)

    def both(*args: Any, **kwargs: Any) -> Any:
        value, gradients = turned(*args, **kwargs)
        return gradients, value

    return like(f, "grad_and_value", both)


# ---- products with a Jacobian --------------------------------------------------------------


def vjp(f: Function, *primals: Any, has_aux: bool = False) -> Any:
    """(f(*primals), pull), where pull(v) = v^T J is the tuple of cotangents of the primals.

    `v` has the structure and the shapes of the output. `pull` may be called any number of times;
    `retain_graph=False` frees what it needs. `create_graph=False` keeps it from being recorded.
    With `has_aux` f returns (output, aux), and vjp returns (output, pull, aux).

    >>> import numpy as np
    >>> y, pull = vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> pull(np.array([1.0, 10.0]))
    (array([ 2., 40.]),)
    """
    return _vjp("vjp", f, primals, has_aux)


def _vjp(name: str, f: Function, primals: tuple[Any, ...], has_aux: bool = False) -> Any:
    checked(name, f)
    run = Run(name, f, None, primals, {}, has_aux, lasting=True)
    run.check_outputs()
    # The sweep starts from where the outputs are now, whatever the caller does to them later.
    outs = [wrap(t._array, current_node(t)) for t in run.out]
    value = run.value()
    connected = run.connected(outs)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """The cotangents of the primals for those of the output."""
        given = calls.matched(run.tree, cotangents, f"{name}: the cotangents")
        where = [f"{name}: the cotangent{step and f' at {step}'}" for step in paths(run.tree)]
        gs = [cotangent(g, t, w) for g, t, w in zip(given, outs, where, strict=True)]
        wanted = modes.is_grad_enabled() if create_graph is None else create_graph
        recorded = wanted and (connected or any(g.requires_grad for g in gs))
        roots = [
            (t._node, g if recorded else g._array)
            for t, g in zip(outs, gs, strict=True)
            if t._node is not None
        ]
        found = run.pull(roots, retain_graph or recorded, recorded)
        results = Results(run.results.kind)
        return run.arranged(None, _derivatives(run, found, results=results))

    return (value, pull, run.auxiliary()) if has_aux else (value, pull)


def cotangent(g: Any, t: Tensor, where: str) -> Tensor:
    """What the user gave as the cotangent of an output, as a tensor of its shape and dtype."""
    if not isinstance(g, Tensor):
        array = calls.array_of(g, lambda: where)
        g = wrap(array.copy() if type(array) is np.ndarray else array)
    if g._array.shape != t._array.shape:
        raise GradError(
            f"{where} has shape {tuple(g.shape)}, but the output has shape {tuple(t.shape)}."
        )
    if g._array.dtype != t._array.dtype:
        if g._array.dtype.kind == "c" and t._array.dtype.kind != "c":
            raise GradError(
                f"{where} is complex ({g.dtype}), but the output is real ({t.dtype}). "
                "Pass its real part."
            )
        g = cast(g, t._array.dtype)
    return g


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


def rows(run: Run, t: Tensor, recorded: bool) -> list[Tensor | None]:
    """The Jacobians of one output by each variable: its shape, then the variable's.

    One sweep per element of the output.
    """
    array, edge = t._array, current_node(t)
    n = int(np.prod(array.shape, dtype=int))
    if edge is None or not n or not run.variables:
        return [None] * len(run.variables)
    targets = Again([(v._node, 0) for v in run.variables])
    lines = []
    for k in range(n):
        seed = np.zeros(n, array.dtype)
        seed[k] = 1
        g = seed.reshape(array.shape)
        lines.append(run.pull([(edge, wrap(g) if recorded else g)], True, recorded, targets))
    columns = zip(*lines, strict=True)
    return [_stacked(v, column, t) for v, column in zip(run.variables, columns, strict=True)]


def _stacked(v: Tensor, column: Sequence[Tensor | None], t: Tensor) -> Tensor | None:
    if all(g is None for g in column):
        return None
    filled = [calls.zeros(v) if g is None else g for g in column]
    shape = (*t._array.shape, *v._array.shape)
    if any(g._node is not None for g in filled):
        return recorder(np.reshape)(recorder(np.stack)(filled, 0), shape)
    return wrap(np.reshape(np.stack([g._array for g in filled]), shape))


def jacrev(
    f: Function, argnums: Argnums = 0, has_aux: bool = False, chunk_size: int | None = None
) -> Any:
    """The function that computes the Jacobian of `f`, one reverse sweep per output element.

    jacrev(f)(x)[i..., j...] = d f(x)[i...] / d x[j...]. For containers: the structure of the
    output, with the structure of the argument (a tuple, if `argnums` is one) in the place of each
    leaf. `chunk_size` bounds how many rows are computed together; now it is one at a time.

    >>> import numpy as np
    >>> jacrev(lambda x: x[:2] * x[1])(np.array([1.0, 2.0, 3.0]))
    array([[2., 1., 0.],
           [0., 4., 0.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    return _jacrev("jacrev", f, argnums, has_aux)


def _jacrev(name: str, f: Function, argnums: Argnums, has_aux: bool = False) -> Any:
    argnums = checked(name, f, argnums)

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        run = Run(name, f, argnums, args, kwargs, has_aux)
        run.check_outputs()
        _check_real(run)
        blocks = []
        for t in run.out:
            found = rows(run, t, run.connected([t]))
            blocks.append(run.arranged(argnums, _derivatives(run, found, *t._array.shape)))
        result = rebuild(run.tree, iter(blocks))
        return (result, run.auxiliary()) if has_aux else result

    return like(f, name, jacobian)


def _check_real(run: Run) -> None:
    for what, tensors in (("input", run.variables), ("output", run.out)):
        for t in tensors:
            if t._array.dtype.kind == "c":
                raise GradError(
                    f"{run.name}: Expected all {what}s to be real but received {t.dtype}. A "
                    "complex function has two real Jacobians: differentiate its real and its "
                    "imaginary part, or use wengert.vjp."
                )


def jacobian(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Any:
    """The function that computes the Jacobian of `f`, in the mode that suits; see `jacrev`.

    >>> import numpy as np
    >>> jacobian(np.cumsum)(np.array([1.0, 2.0]))
    array([[1., 0.],
           [1., 1.]])
    """
    return _jacrev("jacobian", f, argnums, has_aux)


def hessian(f: Function, argnums: Argnums = 0) -> Any:
    """The function that computes the second derivatives of `f`: the Jacobian of its Jacobian.

    hessian(f)(x)[i..., j...] = d2 f(x) / d x[i...] d x[j...]. With a tuple of `argnums`, a tuple of
    tuples of blocks.

    >>> import numpy as np
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    inner = _jacrev("hessian", f, argnums)
    outer = _jacrev  # the mode for the Jacobian of the Jacobian may be chosen here
    return like(f, "hessian", outer("hessian", inner, argnums))


# ---- products with a Hessian ---------------------------------------------------------------


def hvp(f: Function, primals: Any, tangents: Any) -> Any:
    """The Hessian-vector product H v: d/de grad f(x + e v) at e = 0, without forming H.

    `primals` is the argument of f, or a tuple of its arguments; `tangents` has its structure and
    shapes, and so has the result.

    >>> import numpy as np
    >>> hvp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    return _hessian_product("hvp", f, primals, tangents)


def vhp(f: Function, primals: Any, cotangents: Any) -> Any:
    """The vector-Hessian product v^T H, where `hvp` is H v; they agree, since H is symmetric.

    >>> import numpy as np
    >>> vhp(lambda x: x[0] * x[1], np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([0., 1.])
    """
    return _hessian_product("vhp", f, primals, cotangents)


def _hessian_product(name: str, f: Function, primals: Any, v: Any) -> Any:
    checked(name, f)
    several = type(primals) is tuple
    args = primals if several else (primals,)
    leaves: list[Any] = []
    tree = flatten(primals, leaves)
    given = calls.matched(tree, v, f"{name}: the vector")
    for step, x, item in zip(paths(tree), leaves, given, strict=True):
        shape, found = (
            _shape(y, f"{name}: the {what}") for y, what in ((x, "argument"), (item, "vector"))
        )
        if shape != found:
            raise GradError(
                f"{name}: the vector{step and f' at {step}'} has shape {tuple(found)}, but the "
                f"argument has shape {tuple(shape)}."
            )
    # The pullback of the gradient at v is H^T v, and H is symmetric.
    gradient = _grad(name, f, tuple(range(len(args))))
    _, pull = _vjp(name, gradient, args)
    products = pull(v if several else (v,), retain_graph=False)
    return products if several else products[0]


def _shape(x: Any, where: str) -> tuple[int, ...]:
    return tuple(x.shape if isinstance(x, Tensor) else calls.array_of(x, lambda: where).shape)
