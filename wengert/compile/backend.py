"""What a back end must say: the seam between a plan and the machine that runs it.

LLVM is the first, in `llvm/backend.py`. Another is a class with the methods of `Backend`, and is
used for what is compiled `with using(it)`. Neither planning nor what runs plans imports one. What
is no plan (Python's way into a call, eager mode's loops) is written for LLVM, and imports it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, Protocol

import numpy as np

from wengert.compile.plan.outer import Outer
from wengert.compile.plan.plan import Call, Plan


class Code(Protocol):
    """A plan as code in this process: good as long as this object lives."""

    @property
    def body(self) -> int:
        """The address of `int32 body(void **buffers)`; `plan.Table` says what `buffers` holds."""


class Backend(Protocol):
    """What planning depends on, and how a plan becomes code."""

    def supports(self, function: str, dtypes: tuple[np.dtype, ...]) -> bool:
        """Whether kernels may hold a function of single elements, by NumPy's name, on operands of
        these dtypes; "astype" comes with the dtype before and after.

        What is not supported, and has no code of its own, is called in Python.
        """

    def multiplies(self, dtype: np.dtype) -> bool:
        """Whether there are products of matrices of this dtype."""

    def reads(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
        """Whether products read and write matrices that lie so, the last two axes; strides are in
        elements. Others are copied first."""

    def runs(self, step: Call) -> bool:
        """Whether a statement that has no loops (a sort, a convolution) is code of its own."""

    def raises(self, function: Any) -> bool:
        """Whether a statement of a function that has no loops may raise: Python runs it."""

    def code(self, plan: Plan, name: str, timed: bool = False) -> Code:
        """The code of all steps. A timed one notes a clock before each step and at the end, as
        int64, where `Table.counters` says."""

    def outer(self, plan: Plan, function: Outer) -> Code:
        """A plan as this function of C, which needs no Python; `body` is its address."""

    def object_file(self, plan: Plan, function: Outer) -> bytes:
        """That function of C as an object file, for linkers."""


_chosen: ContextVar[Backend | None] = ContextVar("back end", default=None)


def backend() -> Backend:
    """The back end that is in use."""
    chosen = _chosen.get()
    if chosen is None:
        from wengert.compile.llvm.backend import LLVM  # it is large, and needed to compile only

        chosen = LLVM()
    return chosen


@contextlib.contextmanager
def using(other: Backend) -> Iterator[None]:
    """Compile with another back end."""
    token = _chosen.set(other)
    try:
        yield
    finally:
        _chosen.reset(token)
