"""`backward` and `grad`: what users call, and the checks before the sweep starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from wengert import dtypes
from wengert.autograd import engine
from wengert.autograd.batching import each
from wengert.autograd.hooks import shown
from wengert.errors import GradError
from wengert.history import modes
from wengert.history.location import line_of, warn
from wengert.history.node import AccumulateGrad, Node, Output, source
from wengert.rules.half import held
from wengert.tensor import Size, Tensor, current_node, wrap


class GradientEdge(NamedTuple):
    """A place in the graph: output `output_nr` of `node`. Made by `graph.get_gradient_edge`."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def as_sequence(value: Any) -> tuple[Any, ...]:
    if type(value) is tuple:  # a GradientEdge is a tuple too, of another type
        return value
    if type(value) is list:
        return tuple(value)
    if value is None or isinstance(value, (Tensor, GradientEdge, np.ndarray)):
        return (value,)
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(
            f"expected a tensor or a sequence of tensors, got {type(value).__name__} {value!r}. "
            "Make it a tensor first, with wengert.tensor."
        )
    return tuple(value)


def edge_of(x: Any) -> Node | Output | None:
    """The edge a root or input stands for."""
    if isinstance(x, Tensor):
        return x._node if x._origin is None else current_node(x)
    if isinstance(x, GradientEdge):
        return Output(x.node, x.output_nr) if x.output_nr else x.node
    raise TypeError(f"expected a Tensor or a GradientEdge, got {type(x).__name__}")


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves they depend on.

    `grad_tensors` are the cotangents of the roots, needed unless a root has one element.
    `retain_graph` keeps saved values for another pass; `create_graph` records this one, so that it
    can be differentiated. With `inputs` only those tensors receive gradients.

    Raises GradError if no root requires grad, or a root with several elements is given no
    cotangent; FreedGraphError and ModifiedError as their docstrings say. If a pass fails, no
    `.grad` of a leaf has changed.
    """
    retain = create_graph if retain_graph is None else retain_graph
    starts = starting(as_sequence(tensors), grad_tensors, create_graph)
    if create_graph:
        warn(
            "Using backward() with create_graph=True will create a reference cycle between the "
            "parameter and its gradient which can cause a memory leak. Use autograd.grad when "
            "creating the graph, or reset the .grad fields of your parameters to None after use."
        )
    if inputs is None:
        engine.run(starts, retain, create_graph)
        return
    wanted = as_sequence(inputs)
    if not wanted:
        raise RuntimeError(
            "`inputs` argument to `backward()` cannot be empty. Leave it out for all leaves."
        )
    places = [_place(x, i) for i, x in enumerate(wanted)]
    for x, (node, _) in zip(wanted, places, strict=True):
        if isinstance(x, Tensor) and not isinstance(node, AccumulateGrad):
            x.retain_grad()
    engine.run(starts, retain, create_graph, engine.Targets(places, accumulates=True))


_ONE = {dtype: np.ones((), dtype) for dtype in (dtypes.float32, dtypes.float64)}
for _one in _ONE.values():
    _one.flags.writeable = False


def usual_seed(root: Tensor, g: Any) -> Any:
    """The cotangent of one root in the usual cases; None where a closer look is needed."""
    array = root._array
    if g is None:
        return _ONE.get(array.dtype) if type(array) is ndarray and array.shape == () else None
    fits = type(g) is Tensor and g._array.dtype is array.dtype and g._array.shape == array.shape
    return held(g._array) if fits else None


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:  # or None of what was not used, which types pass over
    """The gradients of `outputs` with respect to `inputs`, as a tuple; no `.grad` is touched.

    g_i = sum_j  grad_outputs_j^T  d outputs_j / d inputs_i

    An input that the outputs do not depend on is an error, unless `allow_unused=True` (then None)
    or `materialize_grads=True` (then zeros). With `is_grads_batched` each grad output has one extra
    leading dimension, and so has each result.

    >>> import wengert as wg
    >>> x = wg.tensor(3.0, requires_grad=True)
    >>> (g,) = grad(x**3, x, create_graph=True)
    >>> grad(g, x)
    (tensor(18.),)
    """
    if not only_inputs:
        warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True)",
            FutureWarning,
        )
    roots, wanted = as_sequence(outputs), as_sequence(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if materialize_grads:
        if allow_unused is False:
            raise ValueError(
                "Expected allow_unused to be True or not passed when materialize_grads=True, but "
                "got: allow_unused=False."
            )
        allow_unused = True
    if is_grads_batched:
        return _batched(
            roots, wanted, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads
        )
    retain = create_graph if retain_graph is None else retain_graph
    starts = starting(roots, grad_outputs, create_graph)
    places = [_place(x, i) for i, x in enumerate(wanted)]
    targets = engine.Targets(places)
    engine.run(starts, retain, create_graph, targets)
    gradients = [targets.captured[place] for place in places]
    if materialize_grads:
        return tuple(
            _zeros(x, create_graph) if g is None else _given(g)
            for x, g in zip(wanted, gradients, strict=True)
        )
    return _used(gradients, bool(allow_unused))


def _place(x: Any, i: int) -> tuple[Node, int]:
    """Where in the graph the gradient of an input arrives."""
    node, slot = source(edge_of(x))
    if node is None:
        raise GradError(
            f"One of the differentiated Tensors does not require grad: the input at index {i}. "
            "Mark it with requires_grad_() before computing the outputs."
        )
    return node, slot


def _used(gradients: list[Any], allow_unused: bool) -> tuple[Any, ...]:
    for i, g in enumerate(gradients):
        if g is None and not allow_unused:
            raise GradError(
                f"The differentiated Tensor at index {i} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior: its gradient is "
                "then None, or zeros with materialize_grads=True. Otherwise compute the outputs "
                "from this very tensor: a clone, a slice or x.to(...) of it made elsewhere is "
                "another."
            )
    return (*map(_given, gradients),)


def _given(g: Any) -> Any:
    """A gradient as it is returned, which is its caller's to change: a cotangent that repeats
    elements, or that nobody may write in, is copied.
    """
    if isinstance(g, Tensor):  # recorded: the steps that made it are part of it
        return g
    read_only = type(g) is ndarray and not g.flags.writeable
    return shown(np.copy(g) if read_only or 0 in getattr(g, "strides", ()) else g)


def _zeros(x: Any, tracked: bool, *batch: int) -> Tensor:
    """The gradient of an input without influence."""
    if not isinstance(x, Tensor):
        raise RuntimeError(
            "materialize_grads cannot be used when the given input is a GradientEdge"
        )
    zeros = wrap(np.zeros_like(x._array, shape=(*batch, *x._array.shape)))
    return zeros.requires_grad_() if tracked else zeros


def _batched(
    roots: Any,
    wanted: Any,
    grad_outputs: Any,
    retain: Any,
    create_graph: bool,
    unused: Any,
    materialize: bool,
) -> tuple[Any, ...]:
    """One pass over all entries of the leading dimension at once."""
    given = as_sequence(grad_outputs)
    for root, g in zip(roots, given, strict=True):
        if g is not None and (not g.shape or tuple(g.shape[1:]) != tuple(root.shape)):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                "match the shape of corresponding output, but a mismatch was detected: grad_output "
                f"has a shape of {Size(g.shape)} and output has a shape of {Size(root.shape)}."
            )
    n = next(len(g) for g in given if g is not None)
    if not n:
        return tuple(_zeros(x, create_graph, 0) for x in wanted)

    def one(*gs: Any) -> Any:
        cast = [None if g is None else g.to(r.dtype) for r, g in zip(roots, gs, strict=True)]
        return grad(roots, wanted, cast, retain, create_graph, allow_unused=unused)

    gradients = each(one, n, *given)
    return tuple(
        _zeros(x, create_graph, n) if g is None and materialize else g
        for x, g in zip(wanted, gradients, strict=True)
    )


# ---- roots ---------------------------------------------------------------------------------


def starting(roots: Sequence[Any], given: Any, recorded: bool) -> list[tuple[Any, Any]]:
    """Each root's edge with its cotangent, checked; as Tensors for a sweep that runs on Tensors."""
    cotangents: Sequence[Any] = (None,) * len(roots) if given is None else as_sequence(given)
    if len(cotangents) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(cotangents)} gradients")
    if len(roots) == 1 and type(roots[0]) is Tensor and not (recorded or modes.pushing):
        seed = usual_seed(roots[0], cotangents[0])
        edge = None if seed is None else edge_of(roots[0])
        if edge is not None:
            return [(edge, seed)]
    tensors = recorded or engine.on_tensors()
    return [
        (edge_with_graph(root, i), _cotangent(root, g, i, tensors))
        for i, (root, g) in enumerate(zip(roots, cotangents, strict=True))
    ]


def edge_with_graph(root: Any, i: int) -> Node | Output:
    edge = edge_of(root)
    if edge is None:
        raise GradError(_no_graph(root, i))
    return edge


def _no_graph(root: Tensor, i: int) -> str:
    if not modes.is_grad_enabled():
        cause = "This thread is inside no_grad or inference_mode, where nothing is recorded."
    elif root.dtype.kind in "biu":
        cause = f"It has dtype {root.dtype}; integers and booleans have no derivative."
    else:
        cause = (
            "Nothing it was computed from requires grad, or the history was cut on the way: by "
            "detach(), .data, .item(), .numpy(), tensor(...), an integer operation, or a "
            "computation inside no_grad."
        )
    return (
        f"element {i} of tensors does not require grad and does not have a grad_fn. {cause} Mark "
        "inputs with requires_grad_()."
    )


def _cotangent(root: Any, g: Any, i: int, tensors: bool) -> Any:
    """The cotangent of a root, checked, as the sweep carries it: a Tensor or an array."""
    if isinstance(root, GradientEdge):
        if root.ownership_token is None:
            if g is None:
                raise RuntimeError(
                    "a GradientEdge made by hand has no shape: pass grad_outputs, or take the edge "
                    "from autograd.graph.get_gradient_edge."
                )
            return g if tensors else held(g._array)
        root = root.ownership_token  # the tensor that stands there
    array = root._array
    if g is None:
        if array.size != 1:
            raise GradError(
                "grad can be implicitly created only for scalar outputs, but this one has shape "
                f"{Size(array.shape)}. "
                "Reduce it, e.g. y.sum().backward(), or pass gradient= a tensor of its shape."
            )
        if array.dtype.kind == "c":
            raise GradError(
                "grad can be implicitly created only for real scalar outputs but got "
                f"{array.dtype}. Pass gradient=, or differentiate y.real or y.abs()."
            )
        g = np.ones(array.shape, array.dtype) if type(array) is np.ndarray else np.ones_like(array)
        return wrap(g) if tensors else held(g)
    if not isinstance(g, Tensor):
        if isinstance(g, np.ndarray):
            g = wrap(g)
        else:
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if g._array.shape != array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {Size(g._array.shape)} and "
            f"output[{i}] has a shape of {Size(array.shape)}."
        )
    if g._array.dtype != array.dtype:
        if (g._array.dtype.kind == "c") != (array.dtype.kind == "c"):
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same "
                f"dtype. Mismatch in dtype: grad_output[{i}] has a dtype of {g.dtype} and "
                f"output[{i}] has a dtype of {array.dtype}."
            )
        g = g.to(array.dtype)
    return g if tensors else held(g._array)


def explain_non_leaf(x: Tensor) -> str:
    """The warning of reading `.grad` where none is kept, with the line that made the tensor."""
    node, _ = source(x._node)
    origin = (
        f" It was made by {node.name()} at\n  {line_of(node.code, node.at)}\n"
        if node is not None
        else " "
    )
    return (
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
        f"attribute won't be populated during autograd.backward().{origin}"
        "If you want its gradient, call .retain_grad() on it before backward(); if you meant a "
        "parameter, make sure it is the leaf itself (x = f(...).detach().requires_grad_())."
    )
