"""Branches: which of several functions is called depends on a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.control import choice
from wengert.control.recorded import branched, undecided
from wengert.control.states import Form, apart, split_branch
from wengert.errors import StateError


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any
) -> Any:
    """What `true_fn` makes of the operands if `pred` holds, and what `false_fn` does otherwise.

    cond(p, f, g, x) = f(x) if p else g(x). Only one of the two runs; inside `vmap`, where the
    predicate differs between examples, both do, and each example takes what belongs to it.

    `pred` is a truth value or a number: Python's, or an array or a tensor with one element. The
    operands are given one by one, or as PyTorch does in one tuple or list. The functions may close
    over tensors and parameters. The result is a copy of what the function returns.

    Errors: StateError if `pred` has several elements, or if both functions run and their results
    differ in structure, shape or dtype.

    >>> import wengert as wg
    >>> x = wg.tensor(-2.0, requires_grad=True)
    >>> y = wg.cond(x > 0, lambda x: x**2, lambda x: -x, x)
    >>> y.backward()
    >>> y, x.grad
    (tensor(2., grad_fn=<CloneBackward0>), tensor(-1.))
    """
    given = _given(operands)
    array = choice.one_number(pred, "the predicate of wg.cond")
    if choice.is_batched(array):
        return _both(array, true_fn, false_fn, given)
    trace = undecided(array)
    if trace is not None:
        index, functions = np.not_equal(array, 0), [false_fn, true_fn]
        return branched(trace, index, functions, given, "wg.cond", NAMES[::-1])
    return apart(true_fn(*given) if array else false_fn(*given))


def _given(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    one = operands[0] if len(operands) == 1 else None
    return tuple(one) if isinstance(one, tuple | list) else operands


NAMES = "true_fn", "false_fn"


def _both(predicate: Any, f: Any, g: Any, operands: tuple[Any, ...]) -> Any:
    return choice.chosen(predicate, *results_of([f, g], operands, "wg.cond", NAMES))


def results_of(
    functions: Sequence[Any], operands: Any, what: str, names: Sequence[str]
) -> list[Any]:
    """What all branches return, after a check that it has one form."""
    results = [f(*operands) for f in functions]
    form: Form | None = None
    for k, result in enumerate(results):
        _, form = split_branch(result, form, what, names, k, functions[k])
    return results


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """What one of several functions makes of the operands: that with the number `index`.

    switch(k, [f0, f1, ...], x) = f_k(x). An index below 0 counts as 0, one beyond the last as the
    last. Inside `vmap`, where the index differs between examples, all of them run.

    Errors: StateError if there are no branches, if the index is no whole number, or if all run and
    their results differ in structure, shape or dtype.

    >>> import wengert as wg
    >>> wg.switch(wg.tensor(1), [lambda x: x, lambda x: x * 10, lambda x: -x], wg.tensor(2.0))
    tensor(20.)
    """
    branches = tuple(branches)
    if not branches:
        raise StateError("wg.switch needs at least one branch to choose from.")
    given = _given(operands)
    array = choice.one_number(index, "the index of wg.switch")
    dtype = getattr(array, "dtype", np.dtype(type(array)))
    if dtype.kind not in "iub":
        raise StateError(
            f"the index of wg.switch is of dtype {dtype}, but it counts branches: round and "
            "convert it, e.g. with .long()."
        )
    names = [f"branch {k}" for k in range(len(branches))]
    trace = undecided(array)
    if trace is not None:
        return branched(trace, array, list(branches), given, "wg.switch", names)
    last = len(branches) - 1
    if not choice.is_batched(array):
        return apart(branches[min(max(int(array), 0), last)](*given))
    results = results_of(branches, given, "wg.switch", names)
    chosen = results[last]
    for k in range(last - 1, -1, -1):
        chosen = choice.chosen(array <= k, results[k], chosen)
    return chosen
