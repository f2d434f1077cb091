"""One run of a function on variables: what every transform starts from.

`Run` makes fresh variables of the arguments (`calls.variable`), runs the function on them, and
pulls cotangents back to them. The function may be plain NumPy code: its arrays are Tensors then.
Nothing here knows of levels: each variable is a place in the graph of its own, so derivatives nest
to any depth without being confused. If an outer differentiation can see the result, because an
argument or a tensor that the function closes over has history, the sweep is recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from wengert import dtypes
from wengert.autograd import engine, forward
from wengert.autograd.graph import SavedCopies
from wengert.autograd.hooks import shown
from wengert.errors import GradError
from wengert.functions.rows import whole
from wengert.history import modes
from wengert.history.node import Output, tick
from wengert.rules.half import held
from wengert.tensor import Tensor, current_node, suited, wrap
from wengert.transforms import calls
from wengert.transforms.calls import Results
from wengert.tree import LEAF, NOTHING, Tree, collect, flatten, paths, rebuild

Function = Callable[..., Any]


# ---- what type checkers know of derivatives ------------------------------------------------------

A = TypeVar("A")
P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
V = TypeVar("V", covariant=True)


class Derivative(Protocol[P]):
    """A derivative takes what its function takes, and is of the kind of the first argument."""

    def __call__(
        self: Derivative[Concatenate[A, Q]], first: A, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> A: ...


class ValueAndDerivative(Protocol[P, V]):
    """A derivative behind the value: a pair."""

    def __call__(
        self: ValueAndDerivative[Concatenate[A, Q], V],
        first: A,
        /,
        *args: Q.args,
        **kwargs: Q.kwargs,
    ) -> tuple[V, A]: ...


class Differentiates(Protocol):
    """`grad`, `jacobian` and their like: by the first argument, or as is said."""

    @overload
    def __call__(self, func: Callable[P, Any]) -> Derivative[P]: ...
    @overload
    def __call__(
        self,
        func: Callable[P, Any],
        argnums: Argnums = ...,
        has_aux: bool = ...,
        *,
        chunk_size: int | None = ...,
        randomness: Literal["error", "different", "same"] = ...,
    ) -> Callable[P, Any]: ...


def differentiates(transform: Function) -> Differentiates:
    """Say of a transform that it is one of those; nothing is done to it."""
    return transform


Argnums = int | Sequence[int]


class Run:
    """One run of a function on variables: its result, and how to pull cotangents back.

    `out` holds the tensors it returned, `tree` the containers around them. `tracked` says whether
    the caller's mode records, so that outer differentiations may see what is computed here. A
    `lasting` run is pulled back after its caller has the results: it shares no memory with them.
    """

    def __init__(
        self,
        name: str,
        f: Function,
        argnums: Argnums | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        has_aux: bool = False,
        lasting: bool = False,
    ) -> None:
        self.name = name
        self.f = f
        self.tracked = modes.is_grad_enabled()
        self.begun = tick()
        self.results = Results(calls.kind_of(args, kwargs), lasting)
        self.places = places(name, argnums, len(args))
        chosen = [args[i] for i in self.places]
        self.leaves: list[Any] = []
        self.inputs = [collect(arg, self.leaves) for arg in chosen]
        self.variables = [
            self.variable(leaf, self.tracked, lasting, functools.partial(self._where, k))
            for k, leaf in enumerate(self.leaves)
        ]
        given = list(args)
        items = iter(self.variables)
        for i, tree in zip(self.places, self.inputs, strict=True):
            given[i] = rebuild(tree, items)
        with self.differentiating():
            for v in self.variables:
                suited(v)
            result = f(*given, **kwargs)
        self.aux = None
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise GradError(
                    f"{name} with has_aux=True needs {called(f)} to return a pair (output, aux), "
                    f"but it returned {described(result)}."
                )
            result, self.aux = result
        self.out, self.tree = flatten(result)

    variable = staticmethod(calls.variable)
    """What the function is given for an argument."""

    def differentiating(self) -> AbstractContextManager[Any]:
        """In which mode the function runs."""
        return recording(numpy_code=self.results.kind != calls.TENSOR)

    def _where(self, k: int) -> str:
        """Names a leaf of the arguments: argument 0 of f, or a part of it."""
        for i, tree in zip(self.places, self.inputs, strict=True):
            steps = list(paths(tree))
            if k < len(steps):
                part = f", at {steps[k]}," if steps[k] else ""
                return f"{self.name}: argument {i} of {called(self.f)}{part}"
            k -= len(steps)
        raise AssertionError(k)

    # ---- results ----------------------------------------------------------------------------

    def connected(self, tensors: Iterable[Tensor]) -> bool:
        """Whether history from before this run can be reached, and somebody may ask for it."""
        if not self.tracked:
            return False
        stack = [current_node(t) for t in tensors]
        seen: set[Any] = set()
        while stack:
            edge = stack.pop()
            node: Any = edge.node if type(edge) is Output else edge
            if node is None or node in seen:
                continue
            if node.order < self.begun:  # leaves, whose order is negative, among them
                return True
            seen.add(node)
            stack += node.edges
        return False

    def seen_outside(self, t: Tensor) -> Tensor:
        """A tensor that leaves this run: without the history that belongs to it alone."""
        array = t._array
        if t._node is None:
            return t
        node = current_node(t) if self.connected([t]) else None
        owned = type(array) is not np.ndarray or array.flags.writeable
        if owned and node is not None:
            return t
        out = wrap(array if owned else array.copy(), node)
        out._cell = t._cell if owned else None
        return forward.lend(out, t)

    def value(self) -> Any:
        """What the function returned, in the caller's kind."""
        outs = [self.results.of_kind(self.seen_outside(t)) for t in self.out]
        return rebuild(self.tree, iter(outs))

    def auxiliary(self) -> Any:
        """The other part of what it returned; tensors in the caller's kind, the rest as it is."""

        def outside(x: Any) -> Any:
            return self.results.of_kind(self.seen_outside(x)) if isinstance(x, Tensor) else x

        leaves, tree = flatten(self.aux)
        has_tensors = any(isinstance(x, Tensor) for x in leaves)
        return rebuild(tree, map(outside, leaves)) if has_tensors else self.aux

    def arranged(self, argnums: Argnums | None, derivatives: Iterable[Any]) -> Any:
        """Derivatives by the leaves in the containers of the arguments."""
        items = iter(derivatives)
        arranged = tuple([rebuild(tree, items) for tree in self.inputs])
        return arranged[0] if isinstance(argnums, int) else arranged

    # ---- checks -----------------------------------------------------------------------------

    def check_outputs(self) -> None:
        """GradError unless the function returned tensors with a derivative, and nothing else."""
        if not self.out:
            raise GradError(
                f"{self.name} needs {called(self.f)} to return a tensor or containers of tensors, "
                f"but it returned {self.tree!r}. Is a `return` missing?"
            )
        if all(isinstance(t, Tensor) and dtypes.is_inexact(t._array.dtype) for t in self.out):
            return
        for where, t in zip(paths(self.tree), self.out, strict=True):
            if not isinstance(t, Tensor):
                raise GradError(f"{self.name}: {self._untracked(t, where)}")
            if not dtypes.is_inexact(t._array.dtype):
                raise GradError(
                    f"{self.name}: {called(self.f)} returned{_at(where)} a tensor of dtype "
                    f"{t.dtype}, which has no derivative. Return it as aux, with has_aux=True."
                )

    def _untracked(self, output: Any, where: str) -> str:
        return (
            f"{called(self.f)} returned{_at(where)} {described(output)}, where a tensor computed "
            "from its arguments was expected. Functions of `math`, float(x), np.array([...]) and "
            "arrays made by np.zeros(n) drop history: use NumPy's functions, np.stack([...]) and "
            "np.zeros_like(x). A constant result may be written 0 * x + c; what is no output may "
            "be returned as aux, with has_aux=True."
        )

    def check_real(self) -> None:
        """GradError for complex numbers among arguments or results, where PyTorch has it."""
        for what, tensors in (("input", self.variables), ("output", self.out)):
            for t in tensors:
                if t._array.dtype.kind == "c":
                    raise GradError(
                        f"{self.name}: Expected all {what}s to be real but received {t.dtype}. A "
                        "complex function has two real Jacobians: differentiate its real and its "
                        "imaginary part, or use wengert.vjp."
                    )

    def scalar(self) -> Tensor:
        """The output, after the check that it is one real number."""
        name, f = self.name, called(self.f)
        if self.tree is not LEAF:
            hint = " For a pair (output, aux) pass has_aux=True." if _pair(self.tree) else ""
            if self.tree is NOTHING:
                hint = " Is a `return` missing?"
            raise GradError(
                f"{name} needs {f} to return one number, but it returned {self.tree!r}.{hint}"
            )
        (y,) = self.out
        if not isinstance(y, Tensor):
            raise GradError(f"{name}: {self._untracked(y, '')}")
        if y._array.ndim:
            raise GradError(
                f"{name} needs a scalar output, but {f} returned shape {tuple(y.shape)}. Reduce "
                "it, e.g. y.sum(), or use wengert.jacrev or wengert.vjp."
            )
        if y._array.dtype.kind == "c":
            raise GradError(
                f"{name} needs a real output, but {f} returned {y.dtype}. Differentiate np.real(y) "
                "or np.abs(y), or use wengert.vjp with a complex cotangent."
            )
        if not dtypes.is_floating(y._array.dtype):
            raise GradError(
                f"{name}: {f} returned a tensor of dtype {y.dtype}, which has no derivative."
            )
        return y

    # ---- pulling back -----------------------------------------------------------------------

    def pull(
        self, roots: list[tuple[Any, Any]], retain: bool, recorded: bool, targets: Any = None
    ) -> list[Tensor | None]:
        """Cotangents from (edge, cotangent) pairs back to the variables."""
        ends = [(v._node, 0) for v in self.variables]
        targets = targets or engine.Targets(ends)  # type: ignore[arg-type]
        if roots and ends:
            starts = [(edge, g if isinstance(g, Tensor) else held(g)) for edge, g in roots]
            engine.run(starts, retain, recorded, targets)
        return [shown(whole(targets.captured[end])) for end in ends]


def _at(where: str) -> str:
    return f", at {where}," if where else ""


def _pair(tree: Any) -> bool:
    return isinstance(tree, Tree) and tree.kind is tuple and len(tree.parts) == 2


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


class recording:
    """Operations inside are recorded, whatever the caller's mode.

    `numpy_code` fills arrays from what it has filled in already, y[i] = y[i - 1] * x[i]: what was
    saved of them is copied before it is overwritten. Code that has Tensors has PyTorch's error.
    """

    __slots__ = ("before", "wanted")

    def __init__(self, numpy_code: bool) -> None:
        self.before = wanted = modes.current()
        if not wanted.grad or wanted.inference:
            wanted = wanted._replace(grad=True, inference=False)
        self.wanted = SavedCopies.of_arrays(wanted) if numpy_code else wanted

    def __enter__(self) -> None:
        if self.wanted is not self.before:
            modes.enter(self.wanted)

    def __exit__(self, *exception: object) -> None:
        if self.wanted is not self.before:
            modes.enter(self.before)


def called(f: Any) -> str:
    """What an error calls a function."""
    name = getattr(f, "__name__", None)
    return "the function" if name in (None, "<lambda>") else str(name)


def described(value: Any) -> str:
    """What an error calls a value that has the wrong type."""
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    if hasattr(value, "shape"):
        return f"{type(value).__name__} of shape {tuple(value.shape)}"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) < 40 else text[:37] + '...'}"


def places(name: str, argnums: Argnums | None, n: int) -> list[int]:
    """The positions that `argnums` means among `n` arguments; all of them for None."""
    if argnums is None:
        return list(range(n))
    wanted = [argnums] if isinstance(argnums, int) else list(argnums)
    for i in wanted:
        if not -n <= i < n:
            raise GradError(
                f"{name}: Got argnum={i}, but only {n} positional inputs. Arguments that are "
                "differentiated by are passed by position."
            )
    positions = [i % n for i in wanted]
    if len(set(positions)) != len(positions):
        raise GradError(f"{name}: argnums elements must be unique, got {tuple(wanted)}")
    return positions
