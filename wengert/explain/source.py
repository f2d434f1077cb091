"""`wg.source`: the derivative of a function as a NumPy program to read, keep and run elsewhere."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from wengert.compile.call.function import CompiledFunction
from wengert.compile.call.standalone import Standalone
from wengert.compile.program.operations import supposes
from wengert.compile.program.passes import clean
from wengert.compile.trace.world.inputs import Specialize
from wengert.errors import TracingError
from wengert.explain.notation import parameters_of
from wengert.history.location import line_of
from wengert.history.modes import no_grad
from wengert.tensor import Tensor
from wengert.transforms.forward import jvp
from wengert.transforms.reverse import value_and_grad, vjp
from wengert.tree import LEAF, structure
from wengert.tree import leaves as leaves_of
from wengert.tree import map as tree_map


class Source:
    """A function as text. Print it, write it to a file, or call it: it runs as it is written."""

    def __init__(self, text: str, name: str, arrays: dict[str, Any]) -> None:
        self.text = text
        self.name = name
        self.arrays = arrays
        """What the function read from outside: its last parameters, by name."""
        filename = f"<{name} {id(self):x}>"
        linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
        space: dict[str, Any] = {"__name__": name}
        exec(compile(text, filename, "exec"), space)  # noqa: S102 - our own text
        self.function: Callable[..., Any] = space[name]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **{**self.arrays, **kwargs})

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def source(
    f: Callable[..., Any] | str, *example: Any, mode: Literal["reverse", "forward"] = "reverse"
) -> Source:
    """A NumPy function that computes `f` and its derivative, as text that runs without wengert.

    `f` is a function, or a formula as text such as "x*y + sin(x)". It is run once on arguments like
    the `example`, whose shapes and dtypes are those of the text: what Python decided on the way is
    decided in it. Beside the statements stands the line of `f` that they come from. Common
    subexpressions are shared, and what is not needed is gone.

    mode="reverse" gives `f_and_gradient(...)`, which returns (value, gradient): the gradient by the
    argument, or the tuple of them if there are several that have one. If the value of `f` is not a
    single number, it gives `f_and_vjp(..., cotangent)` and multiplies v^T J, `cotangent` having the
    structure of the value. mode="forward" gives `f_and_jvp(..., tangents)`, which returns (value,
    J t); `tangents` is the tuple of tangents of the arguments that have a derivative.

    Arrays that `f` reads from outside become parameters behind the others; `arrays` holds what they
    were, and calling the result passes them on.

    Errors: TracingError where `f` asks for numbers that are known only when it runs, and where it
    uses what cannot be written with NumPy and SciPy.

    >>> import numpy as np
    >>> def f(x):
    ...     return np.sum(np.sin(x) * x)
    >>> text = source(f, np.array([1.0, 2.0, 3.0]))
    >>> print(text)  # doctest: +SKIP
    >>> value, gradient = text(np.array([0.5, 1.0, 1.5]))
    >>> np.allclose(gradient, np.cos([0.5, 1, 1.5]) * [0.5, 1, 1.5] + np.sin([0.5, 1, 1.5]))
    True
    """
    if mode not in ("reverse", "forward"):
        raise ValueError(f"source: mode is 'reverse' or 'forward', but {mode!r} was given")
    called = "f"
    if isinstance(f, str):
        from wengert.symbolic.expressions import Expression

        f = Expression(f)
    else:
        called = getattr(f, "__name__", type(f).__name__)
    example = tuple(_array_code(item) for item in example)
    names = _parameters(f, len(example))
    places = [i for i, item in enumerate(example) if _differentiable(item)]
    if not places:
        raise TypeError(
            "source: none of the example's arguments is a floating-point number or array, so "
            "there is nothing to differentiate by. Pass e.g. 2.0 or np.ones(3)."
        )
    called = called if called.isidentifier() else "function"
    if mode == "forward":
        function, more, title = _forward(f, example, places)
        names.append("tangents")
    elif _is_scalar(_value(f, example, places)):
        argnums = places[0] if len(places) == 1 else tuple(places)
        function, more, title = value_and_grad(f, argnums), (), "gradient"
    else:
        function, more, title = _backward(f, example, places)
        names.append("cotangent")
    args = (*example, *more)
    captured = _captured(function, args)
    printer = Standalone(captured, f"{called}_and_{title}", names, args)
    text = printer.text(f"{called}, and its {_TITLES[title]}.")
    return Source(text, printer.title, printer.arrays)


_TITLES = {
    "gradient": "gradient",
    "vjp": "vector-Jacobian product: the cotangents of the arguments",
    "jvp": "Jacobian-vector product: the tangent of the value",
}


def _backward(f: Any, example: Any, places: list[int]) -> Any:
    """v^T J as a function of the arguments and of v; an example of v; what it is called."""

    def function(*args: Any) -> Any:
        *args, cotangent = args  # type: ignore[assignment]
        value, pull = vjp(_of(f, args, places), *(args[i] for i in places))
        gradients = pull(cotangent)
        return value, gradients[0] if len(places) == 1 else gradients

    return function, (tree_map(np.ones_like, _value(f, example, places)),), "vjp"


def _value(f: Any, example: Any, places: list[int]) -> Any:
    """What `f` gives for the example, in NumPy's arrays."""
    with no_grad():
        return _array_code(vjp(_of(f, example, places), *(example[i] for i in places))[0])


def _forward(f: Any, example: Any, places: list[int]) -> Any:
    """J t as a function of the arguments and of t; an example of t; what it is called."""

    def function(*args: Any) -> Any:
        *args, tangents = args  # type: ignore[assignment]
        return jvp(_of(f, args, places), tuple(args[i] for i in places), tangents)

    return function, (_ones(tuple(example[i] for i in places)),), "jvp"


def _of(f: Any, args: Any, places: list[int]) -> Any:
    """`f` as a function of some of its arguments."""

    def inner(*chosen: Any) -> Any:
        given = list(args)
        for i, item in zip(places, chosen, strict=True):
            given[i] = item
        return f(*given)

    inner.__name__ = getattr(f, "__name__", type(f).__name__)  # errors say it
    return inner


def _captured(function: Any, args: tuple[Any, ...]) -> Any:
    def alone(*args: Any) -> Any:
        with no_grad():  # tensors of outside that require grad concern someone else
            return function(*args)

    try:
        captured = CompiledFunction(alone).capture(args, {})
    except Specialize as asked:
        raise _decided(line_of(asked.code, asked.at)) from None
    for s in filter(supposes, captured.program.statements):
        raise _decided(s.line())
    clean(captured.program)
    return captured


def _decided(line: str) -> TracingError:
    return TracingError(
        f"source: a branch or a conversion depends on a number among the arguments, at\n  {line}\n"
        "so that no single text computes it everywhere. Choose between values with "
        "np.where(condition, a, b), or bind the number: wg.source(lambda x: f(x, 2.0), x)."
    )


def _array_code(item: Any) -> Any:
    """An argument as NumPy code has it."""
    return tree_map(lambda x: x.detach().numpy() if isinstance(x, Tensor) else x, item)


def _differentiable(item: Any) -> bool:
    leaves = leaves_of(item)
    return bool(leaves) and all(
        isinstance(x, (float, complex)) or getattr(x, "dtype", np.dtype(int)).kind in "fc"
        for x in leaves
    )


def _ones(item: Any) -> Any:
    return tree_map(lambda x: np.ones_like(x) if np.ndim(x) else 1.0, item)


def _is_scalar(value: Any) -> bool:
    return structure(value) is LEAF and np.size(value) == 1


def _parameters(f: Any, count: int) -> list[str]:
    """What `f` calls its arguments."""
    names = parameters_of(f)[:count]
    return names + [f"x{i}" for i in range(len(names), count)]
