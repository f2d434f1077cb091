"""Choices in a trace: each branch is run once, and all become one statement; so do derivatives.

A branch reads what it closes over directly, and the history of its results leads there. Its
derivative is a sweep through that history; of all branches, a choice by the same number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compile.program.program import Value
from wengert.compile.trace.arrays.array import Trace, TracedArray
from wengert.compile.trace.arrays.scopes import Branch, chosen
from wengert.compile.trace.loops.layers import all_joined, apart, together
from wengert.compile.trace.loops.memory import Memory
from wengert.compile.trace.loops.repeats import (
    BodyNode,
    Place,
    edge_to,
    history_of,
    is_single,
    reached,
    swept,
    values_in,
    with_history,
)
from wengert.history import modes


class Chosen(BodyNode):
    """A choice."""

    title = "Chosen"

    def __init__(self, choice: Choice) -> None:
        super().__init__(tuple(map(edge_to, choice.targets)), len(choice.results[0]))
        self.choice = choice

    def pulled(self, gs: list[Any], recorded: bool) -> Any:
        return self.choice.pulled(gs, recorded)

    def inner(self) -> list[Any]:
        return [history_of(x) for returned in self.choice.results for x in returned]


class Choice:
    """The branches that were run, what each returned, and which is taken: `index` is its number.

    `memory` is what they have written.
    """

    def __init__(
        self,
        trace: Trace,
        index: Value,
        branches: list[Branch],
        results: list[list[Any]],
        memory: Memory,
    ) -> None:
        self.trace = trace
        self.memory = memory
        self.index = index
        self.branches = branches
        self.layers = list(map(all_joined, zip(*results, strict=True)))
        self.results = []
        for branch, returned in zip(branches, results, strict=True):
            with branch:
                self.results.append(apart(trace, returned, self.layers))
        results = self.results
        around: dict[Place, None] = {}
        self.tracked = []
        for column in zip(*results, strict=True):
            places: dict[Place, None] = {}
            for branch, x in zip(branches, column, strict=True):
                places |= reached(history_of(x), branch, {}, ())
            self.tracked.append(bool(places))
            around |= places
        self.targets = list(around)

    def outputs(self) -> list[Any]:
        """What the choice as a whole returns."""
        values = list(map(values_in, self.branches, self.results))
        outputs = chosen(self.trace, self.index, self.branches, values)
        tracked = modes.is_grad_enabled() and any(self.tracked)
        node = Chosen(self) if tracked else None
        columns = zip(*self.results, strict=True)
        insides = [next((x for x in column if not is_single(x)), column[0]) for column in columns]
        leaves = with_history(node, self.tracked, map(self.trace.array, outputs), insides)
        return together(leaves, self.layers)

    def pulled(self, gs: list[Any], recorded: bool) -> list[Any]:
        """The cotangents of what lies around, by a choice between sweeps."""
        branches, cotangents = [], []
        for k, (branch, returned) in enumerate(zip(self.branches, self.results, strict=True)):
            scope = Branch(self.trace, branch.lineage)
            with scope, self.memory.taken(k):
                roots = [(history_of(x), g) for x, g in zip(returned, gs, strict=True)]
                cotangents.append(swept(roots, self.targets, recorded))
            branches.append(scope)
        columns = list(zip(*cotangents, strict=True))
        kept = [k for k, column in enumerate(columns) if any(g is not None for g in column)]
        results: list[list[Any]] = []
        for scope, pulled in zip(branches, cotangents, strict=True):
            results.append([])
            for k in kept:
                like, g = next(g for g in columns[k] if g is not None), pulled[k]
                with scope:
                    results[-1].append(np.zeros_like(like) if g is None else g)
        if not kept:
            return [None] * len(self.targets)
        outputs = Choice(self.trace, self.index, branches, results, self.memory).outputs()
        taken = iter(outputs)
        return [next(taken) if k in kept else None for k in range(len(self.targets))]


def choice(
    trace: Trace,
    index: TracedArray,
    functions: list[Callable[[], list[Any]]],
    alike: Callable[[list[list[Any]]], list[Callable[[Any], Any]]],
) -> list[Any]:
    """What one of some functions returns, a list of tensors and traced arrays: that of the number
    `index`, or the first or the last if it is beyond.

    `alike` tells of what all have returned how each of the results is made what all others are.
    """
    number = index.astype(np.int64).value
    branches, returned, memory = [], [], Memory(trace)
    for function in functions:
        branches.append(Branch(trace))
        with branches[-1], memory.branch(branches[-1]):
            returned.append(function())
    memory.check_apart(x for leaves in returned for x in leaves)
    changes = alike(returned)
    results = []
    for branch, leaves, written in zip(branches, returned, memory.results(), strict=True):
        with branch:
            results.append([change(x) for change, x in zip(changes, leaves, strict=True)])
            results[-1] += written
    outputs = Choice(trace, number, branches, results, memory).outputs()
    memory.put(outputs[len(changes) :], 1)
    return outputs[: len(changes)]
