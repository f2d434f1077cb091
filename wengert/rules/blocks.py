"""Large plain arrays, in eager mode: whole formulas as machine code, a block at a time.

A formula in NumPy goes through memory once for each of its steps. The compiler, above this, runs
the same formula on traced arrays and makes one loop of it, for a block of a fixed number of rows:
so the code fits arrays of any number of rows, and is made once per length of the rows. It hands
that in, as `MACHINE.run`; without it, formulas run step by step.
"""

from __future__ import annotations

import functools
import math
import sys
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.dispatch import Function, errors_pass
from wengert.rules.ways import implemented, way

BLOCK = 1 << 15
"""So many numbers are worked on at a time; fewer are left to NumPy."""
SEVERAL = 1 << 13
"""So many are worth blocks of `ENOUGH` where a formula is elementwise."""
FEW = 96
"""So many are worth machine code there, and loading the compiler, which takes a tenth of a second;
they are the shortest block, which is entered without Python.
"""
ENOUGH = 1 << 12
"""So many are worth it where NumPy goes from number to number; they are a block, too."""

EXACT = (np.dtype(np.float32), np.dtype(np.float64))
HALF = np.dtype(np.float16)
FLOATING = (*EXACT, HALF)


def _in_turn(
    outs: Any, function: Function, step: int, blocks: Any, shared: Any, starts: Sequence[int]
) -> None:
    for start in starts:
        rows = slice(start, start + step)
        results = function(*[x[rows] for x in blocks], *shared)
        for out, result in zip(outs, results, strict=True):
            out[rows] = result


class Rows(NamedTuple):
    """Arrays as rows, or as matrices, each of which a function treats alone."""

    shape: tuple[int, ...]  # of a row or a matrix
    shared: tuple[Any, ...]  # the arrays that all rows share, after the others
    reduces: bool  # whether a row's result is a number, and a matrix's a row: of its columns

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class _Machine:
    """What runs functions as machine code; `compile/__init__.py`, above this, says so.

    `run(function, step, blocks, shared, settings)` gives `function(*blocks, *shared, *settings)`,
    computed `step` rows of `blocks` at a time, or None where that is left to NumPy.

    `in_turn(outs, function, step, blocks, shared, starts)` writes the results of the blocks that
    begin at the rows `starts`, in this order. `outs` may overlap with `blocks`: what one block has
    written, those after it read.

    `elements(function, step, arrays, settings, sizes, body, otherwise, rows)` is what computes
    `function(*arrays, *settings)` of arrays that are in order, of as many numbers as `sizes` holds,
    without asking here; it hands arrays of several shapes to `body`, and few numbers that are not
    in order, and all else to `otherwise`. A step is a number, or a row if `rows` are told of. None
    where there is no such code.
    """

    run: Function = staticmethod(lambda *call: None)
    elements: Function = staticmethod(lambda *call: None)
    in_turn: Function = staticmethod(_in_turn)


MACHINE = _Machine()


def many(*arrays: Any, enough: int | None = None) -> bool:
    """Whether these are plain arrays, of one shape and floating dtype, and of so many numbers.

    Formulas in 16 bits are left to NumPy, which rounds at each step; `ENOUGH` is for single steps.
    """
    first = arrays[0]
    least = BLOCK if enough is None else enough
    if type(first) is not np.ndarray or first.size < least or _thread.in_steps:
        return False
    if not errors_pass():
        return False
    shape, dtype = first.shape, first.dtype
    for x in arrays[1:]:
        if type(x) is not np.ndarray or x.shape != shape or x.dtype is not dtype:
            return False
    return dtype in (FLOATING if enough == ENOUGH else EXACT)


def many_rows(axis: int, *arrays: Any) -> bool:
    """Whether they are many, `axis` is the last dimension, and they make several rows."""
    first = arrays[0]
    return axis in (-1, first.ndim - 1) and many(*arrays) and first.size >= 2 * first.shape[-1]


def at_once(function: Function, enough: int | None = None) -> Function:
    """An elementwise function of arrays, then settings, that is machine code for many numbers.

    >>> x = np.linspace(0, 1, 100_000)
    >>> bool(np.all(at_once(lambda x, y, n: n * x + y)(x, x, 2) == 3 * x))
    True
    """
    body = getattr(function, "body", function)
    least = enough or FEW
    quickly: Function = body
    seen: set[Any] = set()

    def run(*values: Any) -> Any:
        x = values[0]
        if (type(x) is np.ndarray and x.size < least) or _thread.in_steps or not errors_pass():
            return body(*values)
        return quickly(*values)

    def look(*values: Any) -> Any:
        if type(values[0]) is np.ndarray and values[0].dtype not in FLOATING:
            return body(*values)  # told at once: few complex numbers take as long as many questions
        count = 0
        while count < len(values) and isinstance(values[count], np.ndarray):
            if values[count].shape != values[0].shape:
                return body(*values)
            count += 1
        arrays, settings = values[:count], values[count:]
        if not count or not many(*arrays, enough=least):
            return body(*values)
        if any(isinstance(x, np.ndarray) for x in settings):
            return body(*values)
        if type(function) is not np.ufunc or not settings:
            step, sizes = _block(arrays[0].size, least)
            known = code(step, sizes, arrays, settings)
            if step > FEW:
                return by_elements(function, *arrays, settings=settings)
            in_order = known and all(x.flags.c_contiguous for x in arrays)
            return (known if in_order else body)(*values)
        if all(type(x) in (int, float) for x in settings):
            # The code reads numbers from memory, and serves all of them.
            shared = [np.asarray(x, arrays[0].dtype) for x in settings]
            return by_elements(function, *arrays, shared=shared)
        return body(*values)

    def code(step: int, sizes: range, arrays: Any, settings: Any) -> Any:
        """What serves calls like this one without Python, when the first of them comes."""
        nonlocal least, quickly
        kind = step, arrays[0].dtype, len(arrays), *map(repr, settings)
        if kind in seen:
            return None
        seen.add(kind)
        known = MACHINE.elements(function, step, arrays, settings, sizes, body, quickly)
        if known is None and quickly is look and step == FEW:
            least = SEVERAL  # there is no such code of this function
        quickly = known or quickly
        return known

    quickly = look
    return run


def _block(count: int, least: int) -> tuple[int, range]:
    """How many numbers a block has of an array of so many, and the numbers of which it is that."""
    middle = max(SEVERAL, least) if least < ENOUGH else least
    if count < middle:
        return FEW, range(least, middle)
    return (ENOUGH, range(middle, BLOCK)) if count < BLOCK else (BLOCK, range(BLOCK, sys.maxsize))


def each_row(
    function: Function, arrays: int = 1, shared: int = 0, reduces: bool = False, ndim: int = 1
) -> Function:
    """`function(*arrays, *shared, *settings)`, which treats each row of the arrays alone.

    It is machine code for plain arrays in order, of one dtype in `EXACT`; the `shared` ones are as
    long as a row. What comes out is an array of rows, or of a number for each. With `ndim` 2 the
    function treats each matrix alone: it goes along the columns.

    >>> x = np.ones((4, 40), np.float32)
    >>> each_row(lambda x, axis: np.sum(x, axis=axis), reduces=True)(x, -1)
    array([40., 40., 40., 40.], dtype=float32)
    >>> each_row(lambda x, axis: np.sum(x, axis=axis), reduces=True, ndim=2)(x.T, -2)
    array([40., 40., 40., 40.], dtype=float32)
    """
    held = arrays + shared
    quickly: Function = function
    seen: dict[Any, bool] = {}

    def run(*values: Any) -> Any:
        return function(*values) if _thread.in_steps or not errors_pass() else quickly(*values)

    def look(*values: Any) -> Any:
        nonlocal quickly
        x = values[0]
        if not fit(x, values[:arrays], values[arrays:held]):
            return function(*values)
        rows, settings = Rows(x.shape[-ndim:], values[arrays:held], reduces), values[held:]
        step, sizes = _block_of_rows(x.size, rows.size, BLOCK if ndim == 1 else ENOUGH)
        kind = step, rows.shape, x.dtype, *map(repr, settings)
        if kind not in seen:
            if len(seen) > _LIMIT:
                return function(*values)
            known = MACHINE.elements(
                function, step, values[:arrays], settings, sizes, function, quickly, rows
            )
            seen[kind] = known is None
            if known is not None:
                quickly = known
                return known(*values)
        if seen[kind]:  # what is between its steps may have no room on the stack
            items = [a.reshape(-1, *rows.shape) for a in values[:arrays]]
            results = MACHINE.run(function, step, items, rows.shared, settings)
            if results is not None:
                return results.reshape(*x.shape[:-ndim], *results.shape[1:])
            seen[kind] = False
        return function(*values)

    def fit(x: Any, rows: Any, others: Any) -> bool:
        if type(x) is not np.ndarray or x.dtype not in EXACT or x.ndim < ndim or x.size < FEW:
            return False
        return (
            all(type(a) is np.ndarray and a.dtype is x.dtype for a in (*rows, *others))
            and all(a.flags.c_contiguous for a in (*rows, *others))
            and all(a.shape == x.shape for a in rows)
            and all(a.shape == x.shape[-1:] for a in others)
        )

    quickly = look
    return run


_LIMIT = 16
"""So many kinds of rows are looked for: those of ever new lengths are not worth compiling."""


def _block_of_rows(count: int, length: int, most: int) -> tuple[int, range]:
    """How many rows a block has of an array of so many numbers, and of how many it is the block."""
    bounds = [FEW, *(max(1, n // length) * length for n in (_SHORT, most)), sys.maxsize]
    at = next(k for k in (2, 1, 0) if count >= bounds[k] or not k)
    return max(1, bounds[at] // length) if at else 1, range(bounds[at], bounds[at + 1])


_SHORT = 1 << 8
"""So many numbers are a block of some rows."""


class Steps(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for every argument of a formula, and counts what is made of it."""

    dtype = EXACT[0]

    def __init__(self) -> None:
        self.count = 0

    def __array_ufunc__(self, ufunc: Any, *call: Any, **settings: Any) -> Steps:
        # SciPy's go from number to number, as long as several of NumPy's.
        self.count += 1 if getattr(np, ufunc.__name__, None) is ufunc else 2
        return self

    def __array_function__(self, *call: Any, **settings: Any) -> Steps:
        self.count += 2  # a primitive: it has steps of its own
        return self


def has_steps(formula: Function, arguments: int) -> bool:
    """Whether a formula goes through memory more than once, so that machine code is faster."""
    steps = Steps()
    try:
        formula(*[steps] * arguments)
    except (TypeError, AttributeError):  # it looks into its arguments
        return True
    return steps.count > 1


def in_rows(formula: Function) -> Function:
    """A `formula(*arrays, axis)`, `implemented`; its first ways: machine code of each row of the
    last dimension, and of the columns of another one.
    """
    function = implemented(formula)
    arrays = formula.__code__.co_argcount - 1
    rows, columns = each_row(formula, arrays), each_row(formula, arrays, ndim=2)

    def of_rows(x: Any, *rest: Any) -> bool:
        return rest[-1] in (-1, x.ndim - 1) and in_order(x, *rest[:-1])

    @way(function, of_rows)
    def compiled(*call: Any) -> Any:
        return rows(*[x if x.flags.c_contiguous else x.copy() for x in call[:-1]], -1)

    @way(function, lambda x, *rest: has_columns(x, rest[-1]) and in_order(x, *rest[:-1]))
    def compiled_along(*call: Any) -> Any:
        *given, axis = call
        return columns(*[as_columns(x, axis) for x in given], -2).reshape(given[0].shape)

    return function


def has_columns(x: Any, axis: Any) -> bool:
    """Whether `axis` is a dimension before the last one."""
    return type(axis) is int and -x.ndim <= axis < x.ndim - 1 and axis != -1


def as_columns(x: Any, axis: int) -> Any:
    """An array in order, as matrices along whose columns `axis` goes."""
    x = x if x.flags.c_contiguous else x.copy()
    axis %= x.ndim
    if axis == x.ndim - 2:
        return x
    return x.reshape(*x.shape[: axis + 1], math.prod(x.shape[axis + 1 :]))


def reducible(a: Any, axis: Any, least: int | None = None) -> bool:
    """Whether this is a plain array in order, of so many floats, and `axis` one dimension of it."""
    return (
        type(a) is np.ndarray
        and a.size >= (FEW if least is None else least)
        and type(axis) is int
        and -a.ndim <= axis < a.ndim
        and a.dtype in EXACT
        and a.flags.c_contiguous
    )


def each_line(function: Function) -> Function:
    """`reduced(a, axis, keepdims, *settings)`, of a `function(a, axis, *settings)` that reduces one
    dimension: machine code for what is `reducible`, along rows and along columns.

    >>> each_line(lambda a, axis: np.max(a, axis=axis))(np.eye(30), 0, True).shape
    (1, 30)
    """
    rows, columns = (each_row(function, reduces=True, ndim=n) for n in (1, 2))

    def reduced(a: Any, axis: int, keepdims: Any = False, *settings: Any) -> Any:
        if axis in (-1, a.ndim - 1):
            results = rows(a, -1, *settings)
            return results[..., None] if keepdims else results
        results = columns(as_columns(a, axis), -2, *settings)
        axis %= a.ndim
        if not keepdims and axis == a.ndim - 2:
            return results
        return results.reshape(*a.shape[:axis], *(1,) * bool(keepdims), *a.shape[axis + 1 :])

    return reduced


def in_order(*arrays: Any) -> bool:
    """Whether these are plain arrays of several numbers: in order, or worth being put in order."""
    for x in arrays:
        if type(x) is not np.ndarray or x.size < (FEW if x.flags.c_contiguous else BLOCK):
            return False
    return True


def by_elements(function: Function, *arrays: Any, shared: Any = (), settings: Any = ()) -> Any:
    """`function(*arrays, *shared, *settings)` of many numbers each, element by element."""
    flat, shape = [x.ravel() for x in arrays], arrays[0].shape
    step = BLOCK if flat[0].size >= BLOCK else ENOUGH
    results = _run(function, step, flat, shared, settings)
    return results if len(shape) == 1 else results.reshape(shape)


def by_rows(
    function: Function, length: int, arrays: Any, shared: Any = (), settings: Any = ()
) -> Any:
    """`function(*arrays, *shared, *settings)` of arrays as rows of `length` numbers.

    It treats each row alone, and gives one array of rows. `shared` arrays serve all rows.

    >>> x = np.ones((400, 200), np.float32)
    >>> by_rows(lambda x, w: x * w, 200, [x], [np.arange(200.0)])[-1, -1]
    np.float64(199.0)
    """
    matrices = [np.ascontiguousarray(x).reshape(-1, length) for x in arrays]
    return by_samples(function, matrices, shared, settings).reshape(arrays[0].shape)


def by_samples(function: Function, arrays: Any, shared: Any = (), settings: Any = ()) -> Any:
    """A function of the samples along the arrays' first dimension, as machine code.

    The function may return several arrays, of one item for each sample.
    """
    blocks = [np.ascontiguousarray(x) for x in arrays]
    count = len(blocks[0])
    step = min(max(1, BLOCK * count // blocks[0].size), count)
    return _run(function, step, blocks, shared, settings)


def sum_of_rows(function: Function, arrays: Any, shared: Any = (), settings: Any = ()) -> Any:
    """The sum over all rows of `function(*arrays, *shared, *settings)`, an array of rows.

    >>> x = np.ones((400, 200), np.float32)
    >>> sum_of_rows(lambda x: 2 * x, [x])[:3]
    array([800., 800., 800.], dtype=float32)
    """
    return sum_of_samples(_summed(function), arrays, settings, shared)


def sum_of_samples(function: Function, arrays: Any, settings: Any = (), shared: Any = ()) -> Any:
    """The sum of what a function gives for blocks of samples: one row for each block."""
    sums, rest = _whole_and_rest(function, arrays, shared, settings)
    total = np.add.reduce(sums, 0)
    return total if rest is None else total + rest[0]


@functools.cache
def _summed(function: Function) -> Function:
    return lambda *call: np.sum(function(*call), axis=0, keepdims=True)


def rows_and_sums(function: Function, arrays: Any, shared: Any = (), settings: Any = ()) -> Any:
    """Of a function with several results, all arrays of rows: the first, and the others' sums.

    >>> x = np.ones((400, 200), np.float32)
    >>> twice, sums = rows_and_sums(lambda x: (2 * x, x), [x])
    >>> twice.shape, sums[:3]
    ((400, 200), array([400., 400., 400.], dtype=float32))
    """
    (first, *partial), rest = _whole_and_rest(_summed_but_one(function), arrays, shared, settings)
    sums = [np.add.reduce(x, 0) for x in partial]
    if rest is not None:
        first = np.concatenate([first, rest[0]])
        sums = [total + more[0] for total, more in zip(sums, rest[1:], strict=True)]
    return first, *sums


@functools.cache
def _summed_but_one(function: Function) -> Function:
    def run(*call: Any) -> Any:
        first, *others = function(*call)
        return first, *[np.sum(x, axis=0, keepdims=True) for x in others]

    return run


def _whole_and_rest(function: Function, arrays: Any, shared: Any, settings: Any) -> Any:
    """The results of a function for all whole blocks, and those for the rows that are left or None.

    Sums of a block are one row: each block gives another.
    """
    blocks = [np.ascontiguousarray(x) for x in arrays]
    step = max(1, BLOCK * len(blocks[0]) // blocks[0].size)
    whole = len(blocks[0]) // step * step
    results = _run(function, step, [x[:whole] for x in blocks], shared, settings)
    rest = [x[whole:] for x in blocks]
    return results, function(*rest, *shared, *settings) if len(rest[0]) else None


def _run(function: Function, step: int, blocks: Any, shared: Any = (), settings: Any = ()) -> Any:
    shared = shared and [np.ascontiguousarray(x) for x in shared]
    results = MACHINE.run(function, step, blocks, shared, settings)
    if results is not None:
        return results
    _thread.in_steps = True
    try:
        return function(*blocks, *shared, *settings)
    finally:
        _thread.in_steps = False


class _Thread(threading.local):
    in_steps = False  # whether NumPy is to do it, step by step


_thread = _Thread()
