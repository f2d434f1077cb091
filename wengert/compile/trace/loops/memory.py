"""Memory from outside that the body of a loop writes: part of its state, which nobody returns.

    n += 1        buffer[i] = x        batch_norm(x)   # its running means

Which memory that is shows once the body has run: it writes as it likes, the scope notes what was
there, and all is put back. Then the body runs again. What it writes begins as a part of the state,
like any other, and after the loop it holds the final one. Where a write gave a tensor another
history, the tensor is the part of the state, so that derivatives go through the iterations.

Eagerly a view shares what is written. So a part of the state, a row or a result that looks into
such memory is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from wengert.arrays.batched.array import BatchedArray
from wengert.arrays.kind import array_of
from wengert.autograd import forward
from wengert.compile.program.program import Value
from wengert.compile.trace.arrays.array import Trace, TracedArray
from wengert.compile.trace.arrays.scopes import Scope, refuse_write
from wengert.compile.trace.arrays.storage import Storage
from wengert.history.node import Cell, tick
from wengert.tensor import Tensor, View, cell_of, wrap


def traced_in(x: Any) -> TracedArray | None:
    """The array of the trace in a tensor or a batch; None for other arrays."""
    while not isinstance(x, TracedArray):
        if isinstance(x, Tensor):
            x = x._array
        elif isinstance(x, BatchedArray):
            x = x.raw
        else:
            return None
    return x


def storage_of(x: Any) -> Storage | None:
    """Where the elements of an array of the trace lie; None for other arrays."""
    array = traced_in(x)
    return None if array is None else array.storage


def writes_of(x: Any) -> int:
    """How often an array of the trace was written."""
    storage = storage_of(x)
    return 0 if storage is None else storage.writes


def hold(storage: Storage, value: Value) -> None:
    """Let a memory hold something else."""
    storage.value = value
    storage.writes += 1  # views have to look again


class More(Exception):
    """A body writes more than was known: it runs again."""


class Memory:
    """What the iterations of one loop write beside their state.

    >>> import wengert as wg
    >>> count = wg.zeros(2)
    >>> @wg.compile
    ... def power(x):
    ...     def body(i, y):
    ...         count[0] += 1
    ...         return y * x
    ...     return wg.fori_loop(0, 5, body, wg.ones(()))
    >>> power(wg.tensor(2.0)), count
    (tensor(32.), tensor([5., 0.]))
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.parts: dict[Storage, Tensor | None] = {}
        """What is written, and the tensor that gets another history by it."""
        self.lacking: list[tuple[Tensor, forward.Level]] = []
        """The tensors that got a tangent which they lacked."""
        self.news: list[Any] = []
        """What an iteration makes of the parts."""
        self.counts: dict[Cell, int] = {}
        """How many writes an iteration counts."""
        self.branches: list[dict[Storage, Any]] = []
        """What each branch has made of what it wrote."""
        self.stamps: list[dict[Cell, int]] = []
        """When each branch wrote last."""
        self.around: dict[Cell, tuple[int, int]] = {}
        """When a cell was written last before all branches, and when it is by one of them."""

    def starts(self) -> list[Any]:
        """What the parts begin as; what gets a tangent in the body carries zero from the start."""
        for x, level in self.lacking:
            level.give(x, wrap(np.zeros_like(x._array)))
        self.lacking = []
        return self._now()

    def _now(self) -> list[Any]:
        return [self._whole(storage, tensor) for storage, tensor in self.parts.items()]

    def _whole(self, storage: Storage, tensor: Tensor | None) -> Any:
        array = self.trace.array(storage.value)
        return array if tensor is None else wrap(array, tensor._node)

    @contextmanager
    def held(self, scope: Scope, stand_ins: list[Any]) -> Iterator[None]:
        """Run the body where these are what it writes; raises More if it writes more."""
        with self._noted(scope):
            scope.written = {storage: Stood(self.trace, storage) for storage in self.parts}
            for (storage, tensor), x in zip(self.parts.items(), stand_ins, strict=True):
                hold(storage, array_of(x).value)
                if tensor is not None:
                    _give_history(tensor, x._node)
            yield
            known = dict(self.parts)
            self._learn(scope.written)
            if self.lacking or any(
                s not in known or known[s] is not x for s, x in self.parts.items()
            ):
                raise More
            self.news = self._now()

    @contextmanager
    def _noted(self, scope: Scope) -> Iterator[None]:
        """Let a body write; in the end all is put back."""
        scope.note = partial(Stood, self.trace)
        try:
            yield
        finally:
            for stood in scope.written.values():
                stood.put_back()
            scope.note, scope.written = None, {}  # history keeps the scope, and that no tensors

    def _learn(self, written: dict[Storage, Stood]) -> None:
        for storage, stood in written.items():
            tensor = stood.changed()
            self.parts[storage] = self.parts.get(storage) if tensor is None else tensor
            self.lacking += stood.lacking()
            self.counts |= stood.counts()

    # ---- branches -------------------------------------------------------------------------------

    @contextmanager
    def branch(self, scope: Scope) -> Iterator[None]:
        """Run one of several bodies."""
        with self._noted(scope):
            yield
            self._learn(scope.written)
            if self.lacking:
                raise refuse_write("gives a tangent to a tensor that was made outside of it,")
            self.branches.append({s: self._whole(s, self.parts[s]) for s in scope.written})
            cells = [cell for stood in scope.written.values() for cell in stood.counts()]
            self.stamps.append({cell: cell.stamp for cell in cells})

    def results(self) -> list[list[Any]]:
        """What each of the branches makes of all that any of them writes."""
        return [[self._made(branch, s) for s in self.parts] for branch in self.branches]

    def _made(self, branch: dict[Storage, Any], storage: Storage) -> Any:
        tensor = self.parts[storage]
        x = branch.get(storage)
        if x is None:
            return self._whole(storage, tensor)
        return x if tensor is None or isinstance(x, Tensor) else wrap(x, tensor._node)

    # ---- the end --------------------------------------------------------------------------------

    def check_apart(self, arrays: Iterable[Any]) -> None:
        """No part of the state, row or result looks into what is written."""
        if any(storage_of(x) in self.parts for x in arrays):
            raise refuse_write("writes into memory that its state, a row or a result looks into,")

    def put(self, finals: list[Any], times: int) -> None:
        """What the loop has written once it has ended; it ran so many times."""
        for (storage, tensor), x in zip(self.parts.items(), finals, strict=True):
            TracedArray(self.trace, storage, ()).become(array_of(x).value)
            if tensor is not None:
                _give_history(tensor, x._node)
        for cell, count in self.counts.items():
            cell.count += count * times
            before, cell.stamp = cell.stamp, tick()  # what an iteration saves another overwrites
            self.around[cell] = before, cell.stamp
            self.trace.may_write |= bool(self.branches)

    @contextmanager
    def taken(self, branch: int) -> Iterator[None]:
        """Go back through one of the branches: what it saved, the others have not overwritten."""
        changed = {cell: ends for cell, ends in self.around.items() if cell.stamp == ends[1]}
        for cell, (before, _) in changed.items():
            cell.stamp = self.stamps[branch].get(cell, before)
        try:
            yield
        finally:
            for cell, (_, after) in changed.items():
                cell.stamp = after


class Stood:
    """What was in one memory before a body wrote there, and the tensors that it belongs to."""

    def __init__(self, trace: Trace, storage: Storage) -> None:
        self.storage = storage
        self.value = storage.value
        self.tensors = [x for x in trace.tensors() if storage_of(x) is storage]
        bases = [x for x in self.tensors if type(x._origin) is not View]
        levels = forward.active()
        self.bases = [
            (x, x._node, [level for level in levels if forward.tangent(x, level) is None])
            for x in bases
        ]
        cells = [x._cell for x in self.tensors]
        self.cells = {cell: cell.numbers() for cell in cells if cell is not None}

    def changed(self) -> Tensor | None:
        """The tensor that has another history by now."""
        changed = [x for x, node, _ in self.bases if x._node is not node]
        if not changed:
            return None
        x = changed[0]
        if len(changed) > 1 or type(x._array) is not TracedArray or x._array.path:
            raise refuse_write("writes with a derivative into an array made outside of it,")
        return x

    def lacking(self) -> list[tuple[Tensor, forward.Level]]:
        """The tensors that carry a tangent by now which they lacked, and of which level."""
        return [
            (x, level)
            for x, _, lacked in self.bases
            for level in lacked
            if forward.tangent(x, level) is not None
        ]

    def counts(self) -> dict[Cell, int]:
        """How often each of the cells has counted a write."""
        cells = dict.fromkeys(x._cell for x in self.tensors if x._cell is not None)
        return {cell: cell.count - self._numbers(cell)[0] for cell in cells}

    def put_back(self) -> None:
        hold(self.storage, self.value)
        for cell in self.counts():
            cell.hold(self._numbers(cell))
        for x, level in self.lacking():
            level.give(x, None)
        for x, node, _ in self.bases:
            if x._node is not node:
                _give_history(x, node)

    def _numbers(self, cell: Cell) -> Any:
        return self.cells.get(cell) or Cell().numbers()


def _give_history(x: Tensor, node: Any) -> None:
    x._node = node
    cell_of(x).rewritten = tick()  # and so have these
