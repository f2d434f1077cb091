"""Loops from number to number, as machine code for plain arrays of any shape.

Running extrema, alignments of a sequence, samples between pixels: NumPy has no words for what goes
from one number to the next in an order of its own. `@loops` marks such a function. The compiler,
above this, makes machine code of its text, once for each combination of dtypes, and hands that in
as `MACHINE.loops`; without it, Python runs the text as it stands.

A function of loops takes arrays and numbers, NumPy's and arrays of one among them, writes into its
arrays, and returns nothing, or in its last line a whole number. Its text is Python: assignments,
`for` over a `range`, `while`, `if`, arithmetic, NumPy's elementwise functions, and functions marked
with `@within_loops`, which are put in where they are called. An array is indexed by one number for
each of its dimensions, none of them negative, and no index is checked: the caller answers for them.
`x.dtype.type(...)` is a number in the dtype of `x`, and a variable keeps the type of what it is
given first.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from wengert.dispatch import Function
from wengert.rules.blocks import EXACT


class _Machine:
    """What makes loops machine code; `compile/__init__.py`, above this, says so.

    `loops(function, kinds, packed, otherwise)` is a function of arguments of these dtypes and
    classes, of arrays of which all are in order, or not all. It hands all others to `otherwise`.
    None where there is no machine code.
    """

    loops: Function = staticmethod(lambda function, kinds, packed, otherwise: None)


MACHINE = _Machine()


def loops(function: Function, exact: bool = False) -> Function:
    """A function of plain arrays and numbers that is machine code.

    An `exact` one compares and moves numbers, and computes none that are not whole: its results are
    the same however it runs, and of few numbers Python runs it, without the compiler.

    >>> @loops
    ... def running_sum(x, out):
    ...     total = x.dtype.type(0)
    ...     for i in range(len(x)):
    ...         total += x[i]
    ...         out[i] = total
    >>> out = np.empty(3)
    >>> running_sum(np.array([1.0, 2.0, 4.0]), out)
    >>> out
    array([1., 3., 7.])
    """
    seen, code = 0, function

    def make(*values: Any) -> Any:
        """Machine code for these kinds of values; those for which there is some stand before it."""
        nonlocal seen, code
        if not all(map(_is_taken, values)):
            return code(*(x if _is_taken(x) else x.item() for x in values))
        arrays = [x for x in values if type(x) is np.ndarray]
        seen += sum([x.size for x in arrays])
        if exact and seen < ENOUGH:
            return function(*values)
        kinds = [x.dtype if type(x) is np.ndarray else type(x) for x in values]
        packed = all(x.flags.c_contiguous for x in arrays)
        code, seen = MACHINE.loops(function, kinds, packed, code) or function, 0
        return code(*values)

    code = make

    @functools.wraps(function)
    def run(*values: Any) -> Any:
        return code(*values)

    run.body = function  # type: ignore[attr-defined]
    return run


def _is_taken(x: Any) -> bool:
    """Whether this is an array with dimensions, or one of Python's numbers."""
    return x.ndim > 0 if type(x) is np.ndarray else type(x) in (int, float, bool)


exact_loops = functools.partial(loops, exact=True)

ENOUGH = 1 << 12
"""So many numbers are worth loading the compiler, in whose time Python goes through 100 times as
many."""


def within_loops(function: Function) -> Function:
    """A function that loops may call: its text stands where it is called."""
    function.within_loops = True  # type: ignore[attr-defined]
    return function


def _alike_among(dtypes: tuple[Any, ...]) -> Function:
    def alike(*arrays: Any) -> bool:
        dtype = arrays[0].dtype
        if dtype not in dtypes:
            return False
        for x in arrays:  # noqa: SIM110  (a generator would take thrice as long)
            if type(x) is not np.ndarray or x.dtype is not dtype:
                return False
        return True

    return alike


loopable = _alike_among(EXACT)
"""Whether these are plain arrays of one dtype, float32 or float64."""
ADDED = (*EXACT, np.dtype(np.complex64), np.dtype(np.complex128))
addable = _alike_among(ADDED)
"""Whether they are such, or complex: for loops that move numbers, add and multiply them."""


def as_lines(axis: int, *arrays: Any) -> list[Any]:
    """Arrays that are alike but along `axis`, in three dimensions with that one in the middle."""
    shape = arrays[0].shape
    axis %= len(shape)
    if len(shape) == 2:
        return [x[..., None] for x in arrays] if axis else [x[None] for x in arrays]
    before, after = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    return [x.reshape(before, x.shape[axis], after) for x in arrays]
