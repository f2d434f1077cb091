"""Custom functions: a forward and a backward written by the user.

The `ctx` that `forward` and `backward` receive is the function's own node. `apply` runs the
forward unrecorded, then ties its outputs to that node.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from wengert import dtypes
from wengert.autograd import inplace, saved
from wengert.autograd.batching import by_rule, level_among
from wengert.autograd.function_forward import Pushed, check_has_jvp
from wengert.autograd.hooks import shown
from wengert.errors import GradError
from wengert.history import modes
from wengert.history.location import here, warn
from wengert.history.node import Node, Output, tick
from wengert.imports import lacking as _lacking
from wengert.rules.half import held
from wengert.rules.rule import unbroadcast
from wengert.tensor import (
    INFERENCE,
    Tensor,
    View,
    carries,
    cell_of,
    current_node,
    is_leaf,
    suited,
    wrap,
)


class FunctionNode(Node):
    """The node of a custom Function, and its `ctx`. Any attribute may be set on it."""

    function: ClassVar[type[Function]]
    outputs = 1
    _input_likes: list[tuple[tuple[int, ...], Any] | None]  # shape and dtype, None if no tensor
    _output_likes: list[tuple[tuple[int, ...], Any] | None]

    def __init__(self) -> None:
        self.begin()
        self._to_save: tuple[Any, ...] = ()
        self._for_forward: tuple[Any, ...] = ()
        self._read_instead: tuple[Any, ...] | None = None  # inside `jvp`
        self._slots: dict[int, int] = {}
        self._dirty: tuple[Tensor, ...] = ()
        self._constant: tuple[Tensor, ...] = ()
        self.materialize_grads = True
        self.needs_input_grad: tuple[bool, ...] = ()

    # ---- what forward calls ---------------------------------------------------------------

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (or None) for the backward: inputs, outputs or intermediate ones."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but got {type(t).__name__}. "
                    "Keep other objects as attributes of ctx."
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (or None) for `jvp`: there, `saved_tensors` are these."""
        self._for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs `forward` has changed in place; they must be returned."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no derivative."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether a missing incoming gradient becomes zeros (the default) or None."""
        self.materialize_grads = value

    # ---- what backward reads --------------------------------------------------------------

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept, connected to its history."""
        if self._read_instead is not None:
            return self._read_instead
        return tuple(self._read(i, value) for i, value in enumerate(saved.kept(self)))

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        return tuple(saved.SavedTensor(self, i) for i in range(len(saved.kept(self))))

    def _read(self, i: int, value: Any) -> Any:
        slot = self._slots.get(i)
        if slot is None:
            edge = value._node if isinstance(value, Tensor) else None
        else:
            edge = Output(self, slot) if slot else self
        return saved.restored(self, value, edge)

    def release(self, freed: Any) -> None:
        if self.saved:
            self.saved = freed

    # ---- the sweep ------------------------------------------------------------------------

    def pull(self, g: Any) -> Any:
        gs = [g] if self.outputs == 1 else g
        state = modes.enter(_unrecorded())
        try:
            pulled = self._call([shown(item) for item in gs])
        finally:
            modes.enter(state)
        return [None if item is None else held(item._array) for item in pulled]

    def pull_recorded(self, g: Any) -> Any:
        return self._call([g] if self.outputs == 1 else list(g))

    def pull_undefined(self, recorded: bool) -> Any:
        nothing = None if self.outputs == 1 else [None] * self.outputs
        return self.pull_recorded(nothing) if recorded else self.pull(nothing)

    def _call(self, gs: list[Tensor | None]) -> list[Tensor | None]:
        if self.materialize_grads:
            gs = [self._zeros(i) if g is None else g for i, g in enumerate(gs)]
        results = backward_of(self.function)(self, *gs)
        return self._checked(results if isinstance(results, (tuple, list)) else (results,))

    def _zeros(self, i: int) -> Tensor | None:
        like = self._output_likes[i]
        return None if like is None else wrap(np.zeros(*like))

    def _checked(self, results: Any) -> list[Tensor | None]:
        """The returned gradients of the tensor arguments, in their shapes and dtypes."""
        expected = len(self._input_likes)
        if len(results) > expected and all(r is None for r in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients "
                f"(expected {expected}, got {len(results)}). backward returns one per argument of "
                "forward, None for those that are not tensors."
            )
        return [
            self._fit(i, result, like)
            for i, (result, like) in enumerate(zip(results, self._input_likes, strict=True))
            if like is not None or self._refuse(i, result)
        ]

    def _refuse(self, i: int, result: Any) -> bool:
        if result is not None:
            raise RuntimeError(
                f"function {self.name()} returned a gradient different than None at position "
                f"{i + 1}, but the corresponding forward input was not a Variable"
            )
        return False

    def _fit(self, i: int, result: Any, like: Any) -> Tensor | None:
        if result is None:
            return None
        if not isinstance(result, Tensor):
            raise GradError(
                f"expected Variable or None (got {type(result).__name__}): what {self.name()} "
                f"returned at position {i + 1} is no tensor"
            )
        shape, dtype = like
        if result._array.shape != shape:
            if not _reducible(result._array.shape, shape):
                raise RuntimeError(
                    f"Function {self.name()} returned an invalid gradient at index {i} - got "
                    f"{list(result.shape)} but expected shape compatible with {list(shape)}"
                )
            reduced = unbroadcast(result, shape)
            result = reduced
        if result._array.dtype != dtype:
            result = (
                result.to(dtype)
                if dtype.kind == "c" or result.dtype.kind != "c"
                else result.real.to(dtype)
            )
        return result


_UNRECORDED = modes.State(grad=False)


def _unrecorded() -> modes.State:
    """The state of this thread, but with recording off, for code that is written as PyTorch's."""
    state = modes.current()
    if state is modes.DEFAULT:
        return _UNRECORDED
    return state._replace(grad=False, numpy_code=False)


def _inside() -> modes.State:
    """An unrecorded mode without forward mode's levels: `jvp` says what the tangents are."""
    state = _unrecorded()
    return state._replace(duals=()) if state.duals else state


def _reducible(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    if len(target) > len(shape):
        return False
    tail = shape[len(shape) - len(target) :]
    return all(t in (s, 1) for s, t in zip(tail, target, strict=True))


def backward_of(function: type[Function]) -> Callable[..., Any]:
    has_backward = function.backward is not Function.backward
    has_vjp = function.vjp is not Function.vjp
    if has_backward and has_vjp:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
            "should only implement one of them."
        )
    if not has_backward and not has_vjp:
        raise RuntimeError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )
    return function.backward if has_backward else function.vjp


class _FunctionMeta(type):
    def __init__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> None:
        super().__init__(name, bases, space)
        cls._backward_cls = type(
            f"{name}Backward", (FunctionNode,), {"function": cls, "__module__": cls.__module__}
        )


class Function(metaclass=_FunctionMeta):
    """An operation with a derivative of the user's own.

    Subclass it, write static methods `forward(ctx, *args)` and `backward(ctx, *grad_outputs)`, and
    call it by `apply`. `backward` returns one gradient per argument of `forward`: g_in = J^T g_out.
    Alternatively `forward(*args)` with a separate `setup_context(ctx, inputs, output)`.

    >>> import wengert as wg
    >>> class Cube(wg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x**2 * g
    >>> x = wg.tensor(2.0, requires_grad=True)
    >>> y = Cube.apply(x)
    >>> y
    tensor(8., grad_fn=<CubeBackward>)
    >>> y.backward()
    >>> x.grad
    tensor(12.)
    """

    _backward_cls: ClassVar[type[FunctionNode]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version.",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method, and call "
            f"{type(self).__name__}.apply(...)."
        )

    # What a subclass's functions take is their own affair: to type checkers, all take anything.

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; `ctx` comes first unless `setup_context` is defined."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what the backward needs, separately from `forward`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(*args: Any, **kwargs: Any) -> Any:
        """`backward(ctx, *grad_outputs)`: the inputs' gradients, a vector-Jacobian product."""
        raise NotImplementedError

    @staticmethod
    def vjp(*args: Any, **kwargs: Any) -> Any:
        """Another name for `backward`; define one of the two."""
        raise NotImplementedError

    @staticmethod
    def jvp(*args: Any, **kwargs: Any) -> Any:
        """`jvp(ctx, *grad_inputs)`: the outputs' tangents, for forward mode, after `forward` ran.

        There is one argument per argument of `forward`: a tensor for each tensor (zeros where it
        carries no tangent), None for all others.
        """
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(*args: Any, **kwargs: Any) -> Any:
        """`vmap(info, in_dims, *args)`: the outputs for a batch, and its dimension in each.

        `in_dims` has the dimension of the batch in each argument, None where there is none; `info`
        its `batch_size`. Without it `forward` runs inside of `vmap`, on one example.
        """
        raise NotImplementedError

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` on the arguments and record it.

        Keywords and defaults are for functions with `setup_context`, whose `forward` has no `ctx`.
        """
        if cls.setup_context is not Function.setup_context:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            raise TypeError(
                f"{cls.__name__}.apply() takes no keyword arguments ({', '.join(kwargs)}): pass "
                "them by position, or define setup_context"
            )
        if cls.vmap is not Function.vmap:
            level = level_among(args)
            if level is not None:
                return by_rule(cls.vmap, args, level)
        ctx = cls._backward_cls()
        tensors = [a if isinstance(a, Tensor) else None for a in args]
        dual = bool(modes.pushing) and carries(*tensors)
        if dual:
            check_has_jvp(cls, Function, tensors)
        edges = [None if t is None else current_node(t) for t in tensors]
        tracked = modes.is_grad_enabled() and any(edge is not None for edge in edges)
        ctx.needs_input_grad = tuple(edge is not None for edge in edges)
        outcome = cls._forward(ctx, args)
        single = not isinstance(outcome, tuple)
        outputs = (outcome,) if single else outcome
        pushed = Pushed(ctx, tensors, outputs, ctx._dirty) if dual else None
        results = _Outputs(ctx, tensors, edges, tracked).tie(outputs)
        if pushed is not None:
            pushed.push(results)
        ctx._for_forward = ()
        if modes.special:
            for x in results:
                suited(x)
        return results[0] if single else tuple(results)

    @classmethod
    def _forward(cls, ctx: FunctionNode, args: tuple[Any, ...]) -> Any:
        separate = cls.setup_context is not Function.setup_context
        before = modes.enter(_inside())
        try:
            outcome = cls.forward(*args) if separate else cls.forward(ctx, *args)
            if separate:
                cls.setup_context(ctx, args, outcome)
        finally:
            modes.enter(before)
        return outcome


class _Outputs:
    """Ties what a custom forward returned to its node."""

    def __init__(
        self, ctx: FunctionNode, tensors: list[Tensor | None], edges: list[Any], tracked: bool
    ):
        self.ctx = ctx
        self.tensors = tensors
        self.edges = edges
        self.tracked = tracked
        self.inputs = {id(t) for t in tensors if t is not None}
        self.dirty = {id(x) for x in ctx._dirty} & self.inputs

    def tie(self, outputs: tuple[Any, ...]) -> list[Any]:
        ctx = self.ctx
        self._check_dirty(outputs)
        ctx._input_likes = [None if t is None else (t.shape, t.dtype) for t in self.tensors]
        ctx.edges = tuple(e for t, e in zip(self.tensors, self.edges, strict=True) if t is not None)
        ctx.outputs = len(outputs)
        ctx._output_likes = [
            (o._array.shape, o._array.dtype) if isinstance(o, Tensor) else None for o in outputs
        ]
        if self.tracked:
            ctx.code, ctx.at = here()
        given: dict[int, Any] = {}
        results = []
        ctx.order = tick()
        for slot, output in enumerate(outputs):
            if isinstance(output, Tensor):
                if id(output) not in given:
                    given[id(output)] = self._output(output, slot, len(outputs))
                output = given[id(output)]
            results.append(output)
        if self.tracked:
            self._save(outputs, results)
        self._drop_scratch()
        return results

    def _check_dirty(self, outputs: tuple[Any, ...]) -> None:
        for x in self.ctx._dirty:
            if not any(x is t for t in self.tensors):
                warn(
                    "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an "
                    "input, there is no need to pass it to mark_dirty()."
                )
            elif not any(x is o for o in outputs):
                raise RuntimeError(
                    "Some elements marked as dirty during the forward method were not returned as "
                    "output. The inputs that are modified inplace must all be outputs of the "
                    "Function."
                )

    def _output(self, x: Tensor, slot: int, several: int) -> Tensor:
        ctx = self.ctx
        constant = any(x is c for c in ctx._constant) or not dtypes.is_inexact(x._array.dtype)
        edge: Any = None if constant or not self.tracked else Output(ctx, slot) if slot else ctx
        if id(x) in self.dirty:
            return self._dirty_output(x, edge, several)
        if id(x) in self.inputs:
            alias = wrap(x._array)
            if x._origin is not INFERENCE:
                alias._cell = cell_of(x)
                parent = x._origin if isinstance(x._origin, View) else None
                state = modes.current()
                creation = "custom" if state.grad else "inference" if state.inference else "no_grad"
                alias._origin = View.of(parent.base if parent else x, parent, (_same, ()), creation)
            else:
                alias._origin = INFERENCE
            x = alias
        elif isinstance(x._origin, View) and modes.is_grad_enabled():
            x._origin.creation = "multi" if several > 1 and not constant else "custom"
        x._node = edge
        if isinstance(x._origin, View):
            x._origin.seen = tick()
        return x

    def _dirty_output(self, x: Tensor, edge: Any, several: int) -> Tensor:
        if edge is None:
            return x
        if isinstance(x._origin, View) and several > 1:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another tensor, it "
                f"must return only one Tensor, but {type(self.ctx).__name__} returns {several}."
            )
        if is_leaf(x) and x.requires_grad:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
        inplace.refuse(x)
        inplace.adopt(x, edge)
        return x

    def _save(self, outputs: tuple[Any, ...], results: list[Any]) -> None:
        ctx = self.ctx
        slots: dict[int, int] = {}
        for number, output in enumerate(outputs):
            if isinstance(output, Tensor):
                slots.setdefault(id(output), number)
        unchanged, kept = self.inputs - self.dirty, []
        for i, value in enumerate(ctx._to_save):
            slot = slots.get(id(value))
            if slot is None or id(value) in unchanged:
                kept.append(value)
            else:
                ctx._slots[i] = slot
                kept.append(saved.twin(results[slot]))
        ctx.saved = tuple(kept)
        if any(isinstance(v, Tensor) and v._origin is INFERENCE for v in kept) or modes.special:
            saved.settle_node(ctx, results)

    def _drop_scratch(self) -> None:
        ctx = self.ctx
        ctx._to_save = ()
        ctx._dirty = ()
        ctx._constant = ()


def _same(x: Tensor) -> Tensor:
    return x


class InplaceFunction(Function):
    """A Function with an `inplace` flag; kept for programs that subclass it."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


# ---- once differentiable -------------------------------------------------------------------


class _Refusing(Node):
    """Stands behind the results of a once-differentiable backward."""

    def pull(self, g: Any) -> Any:
        raise GradError(
            "trying to differentiate twice a function that was marked with @once_differentiable. "
            "Write its backward with differentiable operations and remove the decorator."
        )

    pull_recorded = pull

    def name(self) -> str:
        return "DelayedErrorBackward"


def refusing(edges: tuple[Any, ...]) -> _Refusing:
    node = _Refusing()
    node.begin(edges)
    return node


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Declare that a custom backward is not itself differentiable.

    It runs with gradients off. Differentiating its results is an error, raised when a pass reaches
    them.
    """

    @functools.wraps(backward)
    def once(ctx: Any, *grads: Any) -> Any:
        tracked = modes.is_grad_enabled() and any(
            isinstance(g, Tensor) and g.requires_grad for g in grads
        )
        with modes.no_grad():
            results = backward(ctx, *grads)
        if not tracked:
            return results
        edges = tuple(current_node(g) for g in grads if isinstance(g, Tensor))
        several = results if isinstance(results, tuple) else (results,)
        refused = tuple(
            wrap(r._array, refusing(edges)) if isinstance(r, Tensor) else r for r in several
        )
        return refused if isinstance(results, tuple) else refused[0]

    return once


FunctionCtx = FunctionNode  # PyTorch's name for what forward and backward are given

_lacking(__name__)
