"""Whole matrices in the mode that suits, and second derivatives by one mode over the other.

Read `reverse.py` and `forward.py` first.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from wengert.errors import ForwardModeError, GradError
from wengert.tensor import Tensor
from wengert.transforms import calls
from wengert.transforms.forward import Push, by_columns
from wengert.transforms.reverse import by_rows, derivatives, gradient_of, pullback, rows_of
from wengert.transforms.run import A, Argnums, Function, Run, checked, differentiates, like
from wengert.tree import flatten, matched, paths, structure


@differentiates
def jacobian(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Any:
    """The function that computes the Jacobian of `func`, in the mode that needs fewer runs.

    By forward mode if func has fewer inputs than outputs, else by reverse mode; the form is that of
    `jacrev`. (To find out how many outputs there are, func runs once more in the first case.)

    >>> import numpy as np
    >>> jacobian(np.cumsum)(np.array([1.0, 2.0]))
    array([[1., 0.],
           [1., 1.]])
    """
    argnums = checked("jacobian", func, argnums)

    def matrix(*args: Any, **kwargs: Any) -> Any:
        run = Run("jacobian", func, argnums, args, kwargs, has_aux)
        run.check_outputs()
        if _count(run.variables) < _count(run.out):
            with suppress(ForwardModeError):  # a custom Function without jvp, say
                return by_columns("jacobian", func, argnums, args, kwargs, has_aux)
        return by_rows(run, argnums, has_aux)

    return like(func, "jacobian", matrix)


def _count(tensors: Iterable[Tensor]) -> int:
    return sum([x._array.size for x in tensors])


@differentiates
def hessian(func: Function, argnums: Argnums = 0) -> Any:
    """The function that computes the second derivatives of `func`: the Jacobian of its Jacobian.

    hessian(func)(x)[i..., j...] = d2 func(x) / d x[i...] d x[j...]. With a tuple of `argnums`, a
    tuple of tuples of blocks.

    >>> import numpy as np
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    argnums = checked("hessian", func, argnums)
    inner = rows_of("hessian", func, argnums)

    def matrix(*args: Any, **kwargs: Any) -> Any:
        with suppress(ForwardModeError):
            return by_columns("hessian", inner, argnums, args, kwargs)
        return by_rows(Run("hessian", inner, argnums, args, kwargs), argnums)

    return like(func, "hessian", matrix)


# ---- products with a Hessian ---------------------------------------------------------------


def hvp(f: Function, primals: A, tangents: Any) -> A:
    """The Hessian-vector product H v: d/de grad f(x + e v) at e = 0, without forming H.

    `primals` is the argument of f, or a tuple of its arguments; `tangents` has its structure and
    shapes, and so has the result.

    >>> import numpy as np
    >>> hvp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    gradient, args, vectors = _of_gradient("hvp", f, primals, tangents)
    given = matched(structure(args), vectors, "hvp: the vector")
    try:
        run = Push("hvp", gradient, None, args, {}, given=given)
    except ForwardModeError:
        return vhp(f, primals, tangents)
    products = run.arranged(None, derivatives(run, run.tangents))
    return products if type(primals) is tuple else products[0]


def vhp(f: Function, primals: A, cotangents: Any) -> A:
    """The vector-Hessian product v^T H, where `hvp` is H v; they agree, since H is symmetric.

    >>> import numpy as np
    >>> vhp(lambda x: x[0] * x[1], np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([0., 1.])
    """
    gradient, args, vectors = _of_gradient("vhp", f, primals, cotangents)
    _, pull = pullback("vhp", gradient, args)
    products = pull(vectors, retain_graph=False)
    return products if type(primals) is tuple else products[0]


def _of_gradient(name: str, f: Function, primals: Any, vectors: Any) -> tuple[Any, Any, Any]:
    """The gradient of f as a function, the tuples of its arguments and of vectors that fit them."""
    checked(name, f)
    leaves, tree = flatten(primals)
    given = matched(tree, vectors, f"{name}: the vector")
    for step, x, v in zip(paths(tree), leaves, given, strict=True):
        shape, other = (
            _shape(y, f"{name}: the {what}") for y, what in ((x, "argument"), (v, "vector"))
        )
        if shape != other:
            raise GradError(
                f"{name}: the vector{step and f' at {step}'} has shape {other}, but the argument "
                f"has shape {shape}."
            )
    if type(primals) is not tuple:
        primals, vectors = (primals,), (vectors,)
    return gradient_of(name, f, tuple(range(len(primals)))), primals, vectors


def _shape(x: Any, where: str) -> tuple[int, ...]:
    return tuple(x.shape if isinstance(x, Tensor) else calls.array_of(x, lambda: where).shape)
