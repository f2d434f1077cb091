"""The collectives: each is what every rank brings and what every rank gets, and all else follows.

Data come in blocks. `x` is one block, `xs` a stack of one block for each rank, and `@root` says
that only one rank, the root, brings or gets it. Then

    the meaning      rank r gets the pieces meant for it: stacked, where it gets `xs`; combined by
                     an operation, such as the sum, where it gets `x` from several
    the transpose    the arrow turned round: of all_gather, reduce_scatter; of broadcast, reduce
    the shapes       a stack has one axis more, in front, as long as there are ranks
    MPI's arguments  an operation if pieces are combined, a root if there is one

Nothing here knows how blocks travel: read `transport.py` next.
"""

from __future__ import annotations

import copy
import enum
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import ShapeError


class Side(NamedTuple):
    """What each rank has at one end of a collective."""

    stacked: bool  # one block for each rank, or one
    rooted: bool  # only the root has it, or each rank

    @staticmethod
    def read(text: str) -> Side:
        name, _, root = text.strip().partition("@")
        return Side(name == "xs", root == "root")


class Collective:
    """One collective: its name, the arrow that defines it, and MPI's name for it."""

    def __init__(self, name: str, arrow: str, mpi: str) -> None:
        self.name = name
        self.mpi = mpi
        self.brings, self.gets = map(Side.read, arrow.split("->"))
        self.rooted = self.brings.rooted or self.gets.rooted
        self.combines = not (self.brings.rooted or self.gets.stacked)

    def __repr__(self) -> str:
        return self.name

    @functools.cached_property
    def transpose(self) -> Collective:
        """The collective that takes cotangents back, which are summed where blocks were copied."""
        (back,) = (
            c for c in COLLECTIVES.values() if (c.brings, c.gets) == (self.gets, self.brings)
        )
        return back

    def result_shape(self, shape: Sequence[int], size: int) -> tuple[int, ...]:
        """The shape of what a rank gets that brings an array of this shape."""
        return self.gets_shape(self.block_shape(shape, size), size)

    def block_shape(self, shape: Sequence[int], size: int) -> tuple[int, ...]:
        """The shape of a block of what is brought; ShapeError if it is no stack."""
        if not self.brings.stacked:
            return tuple(shape)
        if not shape or shape[0] != size:
            raise ShapeError(
                f"{self.name} takes one block for each of {size} ranks, stacked, but was given an "
                f"array of shape {list(shape)}."
            )
        return tuple(shape[1:])

    def gets_shape(self, block: Sequence[int], size: int) -> tuple[int, ...]:
        return (size, *block) if self.gets.stacked else tuple(block)

    def result(
        self, brought: Sequence[Any], rank: int, root: int, combine: Callable[[Any], Any]
    ) -> Any:
        """What a rank gets, of all that the ranks bring: the meaning.

        >>> brought = [np.array([1, 2]), np.array([30, 40])]
        >>> [COLLECTIVES["reduce_scatter"].result(brought, r, 0, sum) for r in (0, 1)]
        [np.int64(31), np.int64(42)]
        """
        sources = [root] if self.brings.rooted else range(len(brought))
        pieces = [brought[s][rank] if self.brings.stacked else brought[s] for s in sources]
        if self.gets.stacked:
            return np.stack(pieces)
        return combine(pieces) if self.combines else pieces[0]


COLLECTIVES = {
    name: Collective(name, arrow, mpi)
    for name, arrow, mpi in (
        ("all_reduce", "x -> x", "allreduce"),
        ("broadcast", "x@root -> x", "bcast"),
        ("reduce", "x -> x@root", "reduce"),
        ("all_gather", "x -> xs", "allgather"),
        ("reduce_scatter", "xs -> x", "reduce_scatter_block"),
        ("gather", "x -> xs@root", "gather"),
        ("scatter", "xs@root -> x", "scatter"),
        ("all_to_all", "xs -> xs", "alltoall"),
    )
}


@functools.cache
def part_of(what: str, collective: Collective) -> Collective:
    """A collective that is part of something else, by whose name errors call it."""
    part = copy.copy(collective)
    part.name = what
    return part


class ReduceOp(enum.Enum):
    """How blocks are combined: PyTorch's name, NumPy's function, and MPI's name.

    AVG is the sum, divided by the number of ranks by each rank that gets it.
    """

    SUM = (np.add, "SUM")
    AVG = (np.add, "SUM", "AVG")
    PRODUCT = (np.multiply, "PROD")
    MIN = (np.minimum, "MIN")
    MAX = (np.maximum, "MAX")
    BAND = (np.bitwise_and, "BAND")
    BOR = (np.bitwise_or, "BOR")
    BXOR = (np.bitwise_xor, "BXOR")
    __hash__ = object.__hash__  # each is one object; that of Enum is a function of Python's

    @property
    def function(self) -> np.ufunc:
        return self.value[0]

    @property
    def mpi(self) -> str:
        return self.value[1]

    def combined(self, blocks: Sequence[Any]) -> Any:
        """The blocks, combined in the order of the ranks."""
        total = blocks[0].copy()
        for block in blocks[1:]:
            total = self.function(total, block)
        return total
