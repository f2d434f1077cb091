"""Rows of parameters and of results: both are containers whose leaves have a row for each call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.control.states import agreed, length_of, split, stacked
from wengert.tensor import Tensor, wrap
from wengert.tree import flatten, paths, rebuild


class Rows:
    """Containers whose leaves have one row for each call of a study's function.

    Leaves are kept as NumPy arrays, which executors can send; `tensors` says which were Tensors.
    """

    def __init__(self, tree: Any, arrays: list[Any], tensors: list[bool]) -> None:
        self.tree, self.arrays, self.tensors = tree, arrays, tensors

    @classmethod
    def of(cls, value: Any) -> Rows:
        """Of containers of tensors and arrays."""
        leaves, tree = flatten(value)
        tensors = [isinstance(x, Tensor) for x in leaves]
        return cls(tree, [_array(x) for x in leaves], tensors)

    def __len__(self) -> int:
        return len(self.arrays[0])

    def value(self) -> Any:
        """The containers, around all rows."""
        return self.around(self.arrays)

    def around(self, arrays: Any) -> Any:
        """The containers, around other arrays."""
        pairs = zip(arrays, self.tensors, strict=True)
        return rebuild(self.tree, iter([wrap(np.asarray(x)) if t else x for x, t in pairs]))

    def row(self, k: int) -> Any:
        """What row k is, without the dimension of rows."""
        return self.around([x[k] for x in self.arrays])

    def rows(self) -> Rows:
        return self

    def ranges(self, step: int) -> Iterator[range]:
        """Their numbers, so many at a time."""
        for start in range(0, len(self), step):
            yield range(start, min(start + step, len(self)))

    def leave(self, which: list[range], results: Rows) -> Rows:
        """What a worker answers who has these results of some of the rows."""
        return results

    def taken(self, which: Any) -> Rows:
        """Some of the rows, by a slice or their numbers."""
        return Rows(self.tree, [x[which] for x in self.arrays], self.tensors)

    def empty(self, count: int) -> Rows:
        """Room for so many rows like these: NaN where there can be one, else zero."""
        arrays = [
            np.full((count, *x.shape[1:]), np.nan if x.dtype.kind in "fc" else 0, x.dtype)
            for x in self.arrays
        ]
        return Rows(self.tree, arrays, self.tensors)


def _array(x: Any) -> Any:
    return x.detach().numpy() if isinstance(x, Tensor) else np.asarray(x)


def parameters(value: Any) -> Rows:
    """The rows of a study's parameters; StateError if leaves have none, or not equally many."""
    count = length_of(value, None, "studies.map", "parameters")
    if not count:
        raise ValueError("studies.map: the parameters have no rows, so there is nothing to run")
    return Rows.of(value)


def collected(results: list[Any], function: Any) -> Any:
    """Results of single calls, stacked; StateError names two that differ in form."""
    parts = [split(result, f"the result of row {k}") for k, result in enumerate(results)]
    _, form = parts[0]
    for k, (_, other) in enumerate(parts):
        form = agreed(
            form, other, "the result of a batch's row 0", f"that of its row {k}", function
        )
    return rebuild(form.tree, stacked([leaves for leaves, _ in parts], False))


def joined(parts: list[Rows], function: Any) -> Rows:
    """Results one after the other; StateError if they differ in form."""
    first = parts[0]
    if len(parts) == 1:
        return first
    for other in parts[1:]:
        checked(other, first, function)
    columns = zip(*[part.arrays for part in parts], strict=True)
    return Rows(first.tree, [np.concatenate(column) for column in columns], first.tensors)


def checked(results: Rows, like: Rows | None, function: Any) -> Rows:
    """Results whose leaves are numbers, in the form of those before; TypeError, StateError."""
    for at, x in zip(paths(results.tree), results.arrays, strict=True):
        if x.dtype.kind not in "biufc" and x.dtype.name != "bfloat16":
            raise TypeError(
                f"studies.map: the function's result{at} has dtype {x.dtype}. Results are tensors, "
                "arrays and numbers, and containers of them: return a number that says which."
            )
    if like is not None:
        agreed(_form(like), _form(results), "an earlier result", "a later one", function)
    return results


def _form(rows: Rows) -> Any:
    return split(rows.taken(slice(0, 1)).value(), "the result")[1]


def span(numbers: Any) -> Any:
    """Numbers of rows, as a slice where they follow one another."""
    first, last = int(numbers[0]), int(numbers[-1])
    return slice(first, last + 1) if last - first + 1 == len(numbers) else numbers
