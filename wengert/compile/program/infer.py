"""The shape and dtype of a statement's result, worked out from its arguments.

It covers the core vocabulary of programs (`program.py`); of any other function it knows nothing.
The passes use it for the statements they make, and `check_types` holds a whole program against it.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.arrays.facts import REDUCED_BY
from wengert.compile.program.operations import (
    Special,
    added,
    anew,
    astype,
    full,
    number,
    take,
    updated,
    view,
)
from wengert.compile.program.program import Program, Shape, Statement, Value
from wengert.dispatch import Function

Type = tuple[Shape, np.dtype, bool]
"""A shape, a dtype, and whether it is a Python number's (`Value.weak`)."""

REDUCTIONS: frozenset[Function] = frozenset(REDUCED_BY)


def infer(
    function: Function, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
) -> Type | None:
    """The type of a call's one result, or None of a function outside the vocabulary."""
    if is_ufunc(function):
        return _elementwise(function, args)
    rule = _RULES.get(function)
    return rule(*args, **(kwargs or {})) if rule else None


def is_ufunc(function: Function) -> bool:
    """Whether it is a NumPy function of single elements with one result."""
    kind = isinstance(function, (np.ufunc, Special))
    return kind and function.signature is None and function.nout == 1  # type: ignore[attr-defined]


def check_types(program: Program) -> None:
    """AssertionError unless `check` passes and each statement's output is what `infer` says."""
    program.check()
    for s in program.statements:
        expected = infer(s.function, s.args, s.kwargs)
        if expected is None:
            continue
        shape, dtype, _ = expected
        assert len(s.outputs) == 1, f"{s} has one result, not {len(s.outputs)}"
        out = s.output
        assert (out.shape, out.dtype) == (shape, dtype), f"{s} should give {dtype}{list(shape)}"


# ---- elementwise ---------------------------------------------------------------------------


def _elementwise(function: Any, args: tuple[Any, ...]) -> Type:
    values = [a for a in args if type(a) is Value]
    kinds = tuple(a.dtype if type(a) is Value else type(a) for a in args)
    weak = all(v.weak for v in values)
    return broadcast(*[v.shape for v in values]), loop_dtype(function, kinds), weak


@functools.lru_cache(4096)
def loop_dtype(function: Any, kinds: tuple[Any, ...]) -> np.dtype:
    """The dtype of a ufunc's result; `kinds` are dtypes, or the types of Python numbers."""
    if all(isinstance(kind, type) for kind in kinds):  # numbers alone: as NumPy takes them
        kinds = tuple(np.dtype(kind) for kind in kinds)
    kinds = tuple(np.dtype(bool) if kind is bool else kind for kind in kinds)
    return function.resolve_dtypes((*kinds, None))[-1]


def broadcast(*shapes: Shape) -> Shape:
    """The common shape.

    >>> broadcast((3, 1), (4,), ())
    (3, 4)
    """
    if not shapes:
        return ()
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    return np.broadcast_shapes(*shapes)


def _where(condition: Any, a: Any, b: Any) -> Type:
    values = [v for v in (condition, a, b) if type(v) is Value]
    choices = [v for v in (a, b) if type(v) is Value]
    dtype = np.result_type(*(v.dtype if type(v) is Value else v for v in (a, b)))
    weak = all(v.weak for v in (choices or values))
    return broadcast(*[v.shape for v in values]), dtype, weak


def _astype(x: Any, dtype: Any) -> Type:
    return (x.shape if type(x) is Value else ()), np.dtype(dtype), False


# ---- reductions ----------------------------------------------------------------------------


def reduced(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """The shape after a reduction.

    >>> reduced((2, 3, 4), (1,), True)
    (2, 1, 4)
    """
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def _reduction(x: Value, *, axis: tuple[int, ...], keepdims: bool = False) -> Type:
    return reduced(x.shape, axis, keepdims), x.dtype, False


def _truth(x: Value, *, axis: tuple[int, ...], keepdims: bool = False) -> Type:
    return reduced(x.shape, axis, keepdims), np.dtype(bool), False


def _position(x: Value, *, axis: int, keepdims: bool = False) -> Type:
    return reduced(x.shape, (axis,), keepdims), np.dtype(np.intp), False


# ---- layout --------------------------------------------------------------------------------


def _reshape(x: Value, shape: Shape) -> Type:
    if math.prod(shape) != x.size:
        raise AssertionError(f"np.reshape of {x} to {list(shape)}: the sizes differ")
    return tuple(shape), x.dtype, False


def _transpose(x: Value, axes: tuple[int, ...] | None = None) -> Type:
    axes = axes or tuple(reversed(range(len(x.shape))))
    return tuple(x.shape[i] for i in axes), x.dtype, False


def _broadcast_to(x: Value, shape: Shape) -> Type:
    if broadcast(x.shape, tuple(shape)) != tuple(shape):
        raise AssertionError(f"np.broadcast_to of {x} to {list(shape)}: the shapes disagree")
    return tuple(shape), x.dtype, False


def length(index: slice, n: int) -> int:
    """How many elements a slice takes of a dimension of n.

    >>> length(slice(1, None, 2), 6)
    3
    """
    return len(range(*index.indices(n)))


def _view(x: Value, index: tuple[Any, ...]) -> Type:
    return tuple(itertools.chain(*_sizes(x.shape, index))), x.dtype, False


def _sizes(shape: Shape, entries: Sequence[Any]) -> Iterator[Shape]:
    """What stands in the place of each entry of an index, and after them."""
    sizes = iter(shape)
    for entry in entries:
        n = 1 if entry is None else next(sizes)
        if entry is None or isinstance(entry, slice):
            yield (n if entry is None else length(entry, n),)
        else:
            yield ()
    yield tuple(sizes)


def _take(x: Value, index: Any) -> Type | None:
    """Indexing with arrays: their common shape stands where they are, or first if apart."""
    entries = index if isinstance(index, tuple) else (index,)
    arrays = [e for e in entries if _is_array(e)]
    if not arrays:
        return _view(x, entries)
    if any(e is Ellipsis or _is_mask(e) for e in entries):
        return None
    advanced = [i for i, e in enumerate(entries) if _is_array(e) or isinstance(e, int)]
    together = advanced == list(range(advanced[0], advanced[-1] + 1))
    common = broadcast(*[a.shape for a in arrays])
    sizes = [*_sizes(x.shape, entries)]
    sizes.insert(advanced[0] if together else 0, common)
    return tuple(itertools.chain(*sizes)), x.dtype, False


def _is_array(entry: Any) -> bool:
    return isinstance(entry, (Value, np.ndarray))


def _is_mask(entry: Any) -> bool:
    return _is_array(entry) and entry.dtype.kind == "b"


# ---- the rest ------------------------------------------------------------------------------


def _matmul(a: Value, b: Value) -> Type:
    if a.shape[-1] != b.shape[-2]:
        raise AssertionError(f"np.matmul of {a} and {b}: the inner dimensions differ")
    lead = broadcast(a.shape[:-2], b.shape[:-2])
    return (*lead, a.shape[-2], b.shape[-1]), np.result_type(a.dtype, b.dtype), False


def _concatenate(values: Any, axis: int = 0) -> Type:
    shape = list(values[0].shape)
    shape[axis] = sum(v.shape[axis] for v in values)
    return tuple(shape), np.result_type(*[v.dtype for v in values]), False


def _same(x: Value, *_: Any) -> Type:
    return x.shape, x.dtype, False


_RULES: dict[Function, Callable[..., Type | None]] = {
    np.where: _where,
    astype: _astype,
    np.sum: _reduction,
    np.prod: _reduction,
    np.max: _reduction,
    np.min: _reduction,
    np.any: _truth,
    np.all: _truth,
    np.argmax: _position,
    np.argmin: _position,
    np.reshape: _reshape,
    np.transpose: _transpose,
    np.broadcast_to: _broadcast_to,
    view: _view,
    take: _take,
    updated: _same,
    added: _same,
    anew: _same,
    np.matmul: _matmul,
    np.concatenate: _concatenate,
    full: lambda shape, number, dtype: (tuple(shape), np.dtype(dtype), False),
    np.arange: lambda n, dtype=None: ((n,), np.dtype(dtype or np.intp), False),
    number: lambda x, dtype: ((), np.dtype(dtype), True),
}


def axes_of(transpose: Statement) -> tuple[int, ...]:
    """The axes of a transpose's operand, in the order in which its result has them."""
    s, rank = transpose, len(transpose.output.shape)
    axes = s.args[1] if len(s.args) > 1 else s.kwargs.get("axes")
    return tuple(a % rank for a in axes) if axes is not None else tuple(reversed(range(rank)))


def statement(function: Function, *args: Any, **kwargs: Any) -> Statement:
    """A statement of the vocabulary, with the output it must have."""
    expected = infer(function, args, kwargs)
    assert expected is not None, f"{function.__name__} is outside the vocabulary of programs"
    return Statement(function, args, kwargs, (Value(*expected),))


class Calls:
    """Appends statements to a list, and gives their values; `line` is the user's."""

    def __init__(self, statements: list[Statement]) -> None:
        self.statements = statements
        self.line: tuple[Any, int] = (None, 0)

    def __call__(self, function: Function, *args: Any, **kwargs: Any) -> Value:
        s = statement(function, *args, **kwargs)
        s.code, s.at = self.line
        self.statements.append(s)
        return s.output

    def every(self, truths: Value) -> Value:
        return self(np.all, truths, axis=tuple(range(len(truths.shape))))
