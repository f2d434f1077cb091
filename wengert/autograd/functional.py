"""`autograd.functional`: products and whole Jacobians of functions of Tensors, as PyTorch has them.

Inputs and outputs are Tensors or tuples of them. The results have no history unless
`create_graph=True`. `wengert.func` has the forms that nest, and that take arrays and containers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.autograd import forward
from wengert.autograd.batching import each, units
from wengert.autograd.differentiate import grad
from wengert.autograd.record import recorder
from wengert.errors import GradError
from wengert.history import modes
from wengert.rules.shapes import alias
from wengert.tensor import Size, Tensor, wrap

Tensors = Tensor | tuple[Tensor, ...]
Function = Callable[..., Tensors]

USER = "outputs of the user-provided function"
STRICT = "This is not allowed in strict mode."


# ---- in and out ----------------------------------------------------------------------------


def _tuple_of(value: Any, what: str, name: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether a tuple was given, and the tuple; TypeError unless it holds Tensors."""
    several = isinstance(value, tuple)
    items = value if several else (value,)
    for i, item in enumerate(items):
        if not isinstance(item, Tensor):
            described = f"value at index {i}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the"
                f" {described} has type {type(item)}."
            )
    return several, items


def _fresh(tensors: Sequence[Tensor], create_graph: bool, needs_grad: bool) -> tuple[Tensor, ...]:
    """Tensors of their own, so that the same ones used by the function otherwise stay apart."""
    return tuple(
        recorder(np.reshape)(t, t._array.shape)
        if create_graph and t.requires_grad
        else forward.lend(t.detach(), t).requires_grad_(needs_grad)
        for t in tensors
    )


def _vector(
    v: Any, like: Sequence[Tensor], several: bool, create_graph: bool, name: str, what: str
) -> Any:
    """The vector of a product, checked against what it multiplies; None if it is left out."""
    if v is None:
        if len(like) != 1 or like[0]._array.size != 1:
            raise RuntimeError(
                f"The vector v can only be None if {what} a single Tensor with a single element."
            )
        return None
    _, items = _tuple_of(v, "v", name)
    if len(items) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(items)}."
            if several
            else "The given v should contain a single Tensor."
        )
    for i, (mine, other) in enumerate(zip(items, like, strict=True)):
        if mine._array.shape != other._array.shape:
            raise RuntimeError(
                f"{f'Entry {i} in ' if several else ''}v has invalid size: should be "
                f"{Size(other._array.shape)} but got {Size(mine._array.shape)}."
            )
    return _fresh(items, create_graph, False)


_INPUT = "the input to the user-provided function is"
_OUTPUT = "the user-provided function returns"


def _result(tensors: Sequence[Tensor], several: bool, create_graph: bool) -> Any:
    """As the caller's own form, without history unless it was asked for."""
    items = tuple(t if create_graph else t.detach() for t in tensors)
    return items if several else items[0]


def _pulled(
    outputs: Sequence[Tensor | None],
    inputs: Sequence[Tensor],
    vectors: Sequence[Any] | None,
    create_graph: bool,
    retain_graph: bool | None = None,
    batched: bool = False,
) -> tuple[Any, ...]:
    """As `grad`, with None where an input has no influence; untracked outputs, and None, count as
    constant."""
    given = vectors or [None] * len(outputs)
    pairs = [
        (y, v) for y, v in zip(outputs, given, strict=True) if y is not None and y.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    roots, seeds = zip(*pairs, strict=True)
    return grad(
        roots, inputs, seeds, retain_graph, create_graph, True, True, is_grads_batched=batched
    )


def _filled(
    gradients: Sequence[Any], like: Sequence[Tensor], strict: str, create_graph: bool
) -> list[Tensor]:
    """Zeros for what is None; an error instead if `strict`, the name of what is differentiated."""
    filled = []
    for i, (g, x) in enumerate(zip(gradients, like, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(
                    f"The {strict} of the user-provided function is independent of input {i}. "
                    f"{STRICT}"
                )
            g = wrap(np.zeros_like(x._array))
        elif strict and create_graph and not g.requires_grad:
            what = "jacobian" if strict == "output" else "hessian"
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {i}. This is "
                "not allowed in strict mode when create_graph=True."
            )
        filled.append(g)
    return filled


def _check_tracked(outputs: Sequence[Tensor], strict: bool) -> None:
    for i, y in enumerate(outputs):
        if strict and not y.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs "
                "must be computed in a differentiable manner from the input when running in strict "
                "mode."
            )


def _check_jacobian(gradients: Sequence[Any], strict: bool) -> None:
    for i, g in enumerate(gradients):
        if strict and g is None:
            raise RuntimeError(
                f"The output of the user-provided function is independent of input {i}. {STRICT}"
            )
        if strict and not g.requires_grad:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided "
                f"function with respect to input {i} is independent of the input. {STRICT} You "
                "should ensure that your function is twice differentiable and that the jacobian "
                "depends on the inputs (this would be violated by a linear function for example)."
            )


def _one_element(outputs: Sequence[Tensor], several: bool, name: str) -> None:
    if several:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0]._array.size != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )


# ---- products ------------------------------------------------------------------------------


def vjp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(func(*inputs), v^T J). `v` may be left out for an output of one element.

    >>> import wengert as wg
    >>> vjp(lambda x: x * x, wg.tensor([1.0, 2.0]), wg.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with modes.enable_grad():
        several, given = _tuple_of(inputs, "inputs", "vjp")
        primals = _fresh(given, create_graph, True)
        several_out, outputs = _tuple_of(func(*primals), USER, "vjp")
        _check_tracked(outputs, strict)
        vectors = _vector(v, outputs, several_out, create_graph, "vjp", _OUTPUT)
        pulled = _pulled(outputs, primals, vectors, create_graph)
        product = _filled(pulled, primals, "output" if strict else "", create_graph)
    return _result(outputs, several_out, create_graph), _result(product, several, create_graph)


def jvp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(func(*inputs), J v). `v` may be left out for an input of one element.

    By reverse mode twice, since u -> J^T u is linear and J is its transpose: so it works for custom
    functions that have a backward only. `wengert.jvp` needs one run of `func`, by forward mode.

    >>> import wengert as wg
    >>> jvp(lambda x: x * x, wg.tensor([1.0, 2.0]), wg.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with modes.enable_grad():
        several, given = _tuple_of(inputs, "inputs", "jvp")
        primals = _fresh(given, create_graph, True)
        vectors = _vector(v, primals, several, create_graph, "jvp", _INPUT)
        several_out, outputs = _tuple_of(func(*primals), USER, "jvp")
        _check_tracked(outputs, strict)
        seeds = [wrap(np.zeros_like(y._array)).requires_grad_() for y in outputs]
        transposed = _pulled(outputs, primals, seeds, create_graph=True)
        for i, g in enumerate(transposed):
            if strict and (g is None or not g.requires_grad):
                what = "output" if g is None else "gradient"
                raise RuntimeError(
                    f"The {what} of the user-provided function is independent of input {i}. "
                    f"{STRICT}"
                )
        pushed = _pulled(transposed, seeds, vectors, create_graph)
        product = _filled(pushed, outputs, "output" if strict else "", create_graph)
    return _result(outputs, several_out, create_graph), _result(product, several_out, create_graph)


def vhp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(func(*inputs), v^T H), where H is the Hessian of `func`, which returns one element.

    >>> import wengert as wg
    >>> vhp(lambda x: (x**3).sum(), wg.tensor([1.0, 2.0]), wg.tensor([1.0, 0.0]))
    (tensor(9.), tensor([6., 0.]))
    """
    return _second("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(func(*inputs), H v). H is symmetric, so this is what `vhp` computes, at the same cost.

    >>> import wengert as wg
    >>> hvp(lambda x: (x**3).sum(), wg.tensor([1.0, 2.0]), wg.tensor([1.0, 0.0]))
    (tensor(9.), tensor([6., 0.]))
    """
    return _second("hvp", func, inputs, v, create_graph, strict)


def _second(
    name: str, func: Function, inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    with modes.enable_grad():
        several, given = _tuple_of(inputs, "inputs", name)
        primals = _fresh(given, create_graph, True)
        vectors = _vector(v, primals, several, create_graph, name, _INPUT)
        several_out, outputs = _tuple_of(func(*primals), USER, name)
        _check_tracked(outputs, strict)
        _one_element(outputs, several_out, name)
        gradients = _pulled(outputs, primals, None, create_graph=True)
        _check_jacobian(gradients, strict)
        pulled = _pulled(gradients, primals, vectors, create_graph)
        product = _filled(pulled, primals, "jacobian" if strict else "", create_graph)
    return _result(outputs, False, create_graph), _result(product, several, create_graph)


# ---- matrices ------------------------------------------------------------------------------


def jacobian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian, of the output's shape followed by the input's; nested, outputs outside.

    `vectorize` computes the rows together, by `vmap`; the values are the same. With
    `strategy="forward-mode"` it is the columns that are computed, all in one run of `func`: cheaper
    for few inputs. `strict` makes independence of an input an error instead of zeros.

    >>> import wengert as wg
    >>> jacobian(lambda x: x * x, wg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if _is_forward(strategy):
        return _by_columns(func, inputs, create_graph, strict)
    with modes.enable_grad():
        several, given = _tuple_of(inputs, "inputs", "jacobian")
        primals = _fresh(given, create_graph, True)
        several_out, outputs = _tuple_of(func(*primals), USER, "jacobian")
        _check_tracked(outputs, strict)
        if vectorize and strict:
            raise RuntimeError(
                "jacobian: `strict=True` and `vectorized=True` are not supported together. Please "
                "either set `strict=False` or `vectorize=False`."
            )
        blocks = [_rows(y, primals, create_graph, strict, vectorize) for y in outputs]
    matrices = tuple(_result(block, several, create_graph) for block in blocks)
    return matrices if several_out else matrices[0]


def hessian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function that returns one element; a tuple of tuples for several inputs.

    >>> import wengert as wg
    >>> hessian(lambda x: x[0] ** 2 * x[1], wg.tensor([1.0, 3.0]))
    tensor([[6., 2.],
            [2., 0.]])
    """
    several, _ = _tuple_of(inputs, "inputs", "hessian")
    _is_forward(outer_jacobian_strategy)

    def scalar(*xs: Tensor) -> Tensor:
        several_out, outputs = _tuple_of(func(*xs), USER, "hessian")
        _check_tracked(outputs, strict)
        _one_element(outputs, several_out, "hessian")
        return recorder(np.reshape)(outputs[0], ())

    def gradient(*xs: Tensor) -> Tensors:
        gradients = jacobian(scalar, xs, create_graph=True)
        _check_jacobian(gradients, strict)
        return gradients if several else gradients[0]

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def _is_forward(strategy: str) -> bool:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode", but got '
            f"{strategy!r}."
        )
    return strategy == "forward-mode"


def _by_columns(func: Function, inputs: Tensors, create_graph: bool, strict: bool) -> Any:
    """The Jacobian by forward mode: all unit vectors at once, as batched tangents."""
    if strict:
        raise RuntimeError(
            'jacobian: `strict=True` and `strategy="forward-mode"` are not supported together '
            '(yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    several, given = _tuple_of(inputs, "inputs", "jacobian")
    primals = _fresh(given, create_graph, create_graph)
    ends = list(itertools.accumulate((x._array.size for x in primals), initial=0))
    level = forward.Level()
    outputs: Sequence[Tensor] = ()
    several_out = False

    def pushed(*tangents: Tensor) -> list[Tensor | None]:
        nonlocal outputs, several_out
        duals = [recorder(alias)(x) for x in primals]
        for x, t in zip(duals, tangents, strict=True):
            level.give(x, t)
        with forward.within(level):
            several_out, columns = _tuple_of(func(*duals), USER, "jacobian")
            outputs = [forward.beneath(y, level) for y in columns]
            return [forward.tangent(y, level) for y in columns]

    with modes.set_grad_enabled(create_graph):
        unit = np.eye(ends[-1])
        seeds = [
            wrap(unit[:, a:b].reshape(-1, *x._array.shape).astype(x._array.dtype))
            for (a, b), x in zip(itertools.pairwise(ends), primals, strict=True)
        ]
        columns = each(pushed, ends[-1], *seeds, randomness="same")
        blocks = []
        for y, t in zip(outputs, columns, strict=True):
            if t is None:
                t = wrap(np.zeros_like(y._array, shape=(ends[-1], *y._array.shape)))
            last = recorder(np.moveaxis)(t, 0, -1)  # the index of the input comes last
            blocks.append(
                [
                    recorder(np.reshape)(last[..., a:b], (*y._array.shape, *x._array.shape))
                    for (a, b), x in zip(itertools.pairwise(ends), primals, strict=True)
                ]
            )
    matrices = tuple(_result(block, several, create_graph) for block in blocks)
    return matrices if several_out else matrices[0]


def _rows(
    y: Tensor, primals: Sequence[Tensor], create_graph: bool, strict: bool, vectorize: bool
) -> list[Tensor]:
    """The Jacobians of one output by each input: a sweep per element, or one for all of them."""
    array = y._array
    if array.dtype.kind == "c" and not vectorize:
        raise GradError(
            "jacobian: grad can be implicitly created only for real scalar outputs but got "
            f"{array.dtype}. Differentiate the real and the imaginary part, e.g. y.real."
        )
    rows: Sequence[Any] = [None] * len(primals)
    if vectorize and array.size > 1 and y.requires_grad:
        unit = wrap(np.eye(array.size, dtype=array.dtype).reshape(-1, *array.shape))
        rows = _pulled([y], primals, [unit], create_graph, retain_graph=True, batched=True)
    elif array.size:
        lines = []
        for seed in units(y):
            pulled = _pulled([y], primals, [wrap(seed)], create_graph, retain_graph=True)
            lines.append(_filled(pulled, primals, "output" if strict else "", create_graph))
        rows = [recorder(np.stack)(list(column), 0) for column in zip(*lines, strict=True)]
    shapes = ((*array.shape, *x._array.shape) for x in primals)
    return [
        wrap(np.zeros_like(x._array, shape=shape)) if g is None else recorder(np.reshape)(g, shape)
        for g, x, shape in zip(rows, primals, shapes, strict=True)
    ]
