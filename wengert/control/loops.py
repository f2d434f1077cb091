"""Loops that carry a state: a given number of times, along the rows of arrays, or as long as
something holds.

Eagerly each is the Python loop that its docstring shows, from a copy of the state to a copy of the
last one, and differentiates as that does.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.arrays.kind import array_of
from wengert.control import choice
from wengert.control.recorded import Loop, tracing
from wengert.control.states import Form, agreed, apart, length_of, place, row, split, stacked
from wengert.errors import StateError, TracingError
from wengert.functions.creation import zeros
from wengert.tensor import Tensor, wrap
from wengert.tree import flatten, rebuild
from wengert.tree import leaves as leaves_of


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Any, *, unroll: bool = False
) -> Any:
    """The state after `body_fun(i, state)` was applied for each i from `lower` up to `upper`.

        state = init_val
        for i in range(lower, upper):
            state = body_fun(i, state)

    The state is a tensor, an array, a number, or a container of them. Each iteration returns one of
    the same structure, with the same shapes and dtypes. The body may close over tensors and
    parameters, draw random numbers, and take derivatives. In a compiled function it is traced once,
    whatever the number of iterations, and becomes a loop of the machine code; with `unroll` each
    iteration is compiled by itself. A bound that is a computed number there, or one of each example
    of `vmap`, makes it a `while_loop` that counts.

    Errors: StateError if the state changes its form, or in a compiled function if the body writes
    to an object of outside; it may write into arrays.

    >>> import wengert as wg
    >>> x = wg.tensor(2.0, requires_grad=True)
    >>> y = wg.fori_loop(0, 3, lambda i, y: y * x, wg.tensor(1.0))
    >>> y.backward()
    >>> y, x.grad
    (tensor(8., grad_fn=<CloneBackward0>), tensor(12.))
    """
    first, last = _whole(lower, "lower"), _whole(upper, "upper")
    if type(first) is not int or type(last) is not int:
        return _counted(first, last, body_fun, init_val)
    steps = range(first, last)
    trace = None if unroll or len(steps) < 2 else tracing()
    if trace is not None:
        loop = Loop(trace, "wg.fori_loop", body_fun, lambda i, s, _: (body_fun(i, s), None))
        return loop.run(init_val, None, len(steps), first=steps.start)[0]
    state = _State(init_val, body_fun, "wg.fori_loop")
    for i in steps:
        state.follow(body_fun(i, state.now))
    return apart(state.now)


def _whole(bound: Any, name: str) -> Any:
    """A bound of a loop: an int; or an array, if it is not known yet or differs among examples."""
    what = f"{name} of wg.fori_loop"
    array = choice.one_number(bound, what)
    try:
        if not choice.is_batched(array):
            return operator.index(array.item() if hasattr(array, "item") else array)
    except TracingError:
        pass
    except TypeError:
        raise StateError(f"{what} is {bound!r}, but it has to be a whole number.") from None
    if array.dtype.kind not in "iu":
        raise StateError(f"{what} is of dtype {array.dtype}, but it has to be a whole number.")
    return array


def _counted(first: Any, last: Any, body_fun: Callable[..., Any], init: Any) -> Any:
    """A loop between bounds that are not known. It counts for all examples of a batch together, and
    each takes what lies between its own bounds.
    """
    most = choice.outermost(np.max, last)
    ends = choice.is_batched(first) or choice.is_batched(last)

    def step(counted: Any) -> Any:
        i, state = counted
        after = body_fun(i, state)
        if ends:
            after = choice.chosen(np.logical_and(first <= i, i < last), after, state)
        return i + 1, after

    begin = choice.outermost(np.min, first)
    if hasattr(begin, "item"):
        begin = begin.item()
    goes_on = lambda counted: counted[0] < most
    return _repeated("wg.fori_loop", goes_on, step, (begin, init), body_fun)[1]


class _State:
    """What a loop carries, and the form that it keeps."""

    def __init__(self, now: Any, function: Any, what: str) -> None:
        self.now = apart(now)  # what an iteration writes into its state is not the caller's
        self.function = function
        self.what = what
        self.form: Form = split(now, f"the state of {what}: init")[1]

    def follow(self, after: Any) -> None:
        """The next state, after a check that it has the form of the one before."""
        form = split(after, f"the state of {self.what}: result")[1]
        one, other = f"the state of {self.what}", "what the body returns"
        self.form = agreed(self.form, form, one, other, self.function)
        self.now = after


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """The state after `body_fun` was applied to it as long as `cond_fun` of it holds.

        state = init_val
        while cond_fun(state):
            state = body_fun(state)

    Inside `vmap`, where examples end after different numbers of iterations, the loop goes on until
    the last has ended; the others keep the state that they ended with. Reverse mode remembers all
    states. A loop that does not end can be interrupted.

    Errors: StateError if the state changes its form, or the condition has several elements.

    >>> import wengert as wg
    >>> x = wg.tensor(3.0, requires_grad=True)
    >>> y = wg.while_loop(lambda y: y < 50, lambda y: y * x, wg.tensor(1.0))
    >>> y.backward()
    >>> y, x.grad
    (tensor(81., grad_fn=<CloneBackward0>), tensor(108.))
    """
    return _repeated("wg.while_loop", cond_fun, body_fun, init_val, body_fun)


def _repeated(
    what: str,
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    function: Callable[..., Any],
) -> Any:
    """A loop as long as a condition holds. Errors tell of the body as of the user's `function`."""
    trace = tracing()
    if trace is not None:
        loop = Loop(trace, what, function, lambda _, state, row: (body_fun(state), None))
        return loop.run_while(init_val, cond_fun)
    state = _State(init_val, function, what)
    on: Any = True
    while True:
        holds = choice.one_number(cond_fun(state.now), f"the condition of {what}")
        if choice.is_batched(on) or choice.is_batched(holds):
            on = np.logical_and(on, holds)
            if not choice.anywhere(on):
                return apart(state.now)
            before = state.now
            state.follow(body_fun(before))
            state.now = choice.chosen(on, state.now, before)
        elif not holds:
            return apart(state.now)
        else:
            state.follow(body_fun(state.now))


def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    *,
    unroll: bool = False,
) -> tuple[Any, Any]:
    """A state carried along rows: `f(carry, x)` returns the next carry, and one row of the results.

        carry, ys = init, []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, stack(ys)

    `xs` is an array or a container of arrays, all with the same first extent, whose rows f gets;
    None if there are none, and then `length` is the number of iterations. The last carry is
    returned, and the results of all iterations, stacked along a new first dimension. With `reverse`
    it goes from the last row to the first; results stay beside their rows. The carry keeps its
    structure, shapes and dtypes. Of no rows at all f sees zeros once, to learn of the results.
    Compiled functions take it as they take `fori_loop`.

    Errors: StateError if the carry changes its form, if rows of xs differ in number, or if f
    returns no pair.

    >>> import wengert as wg
    >>> def running(total, x):
    ...     return total + x, total * x
    >>> wg.scan(running, wg.tensor(0.0), wg.tensor([1.0, 2.0, 3.0]))
    (tensor(6.), tensor([0., 2., 9.]))
    """
    n = length_of(xs, length, "wg.scan")
    trace = None if unroll or n < 2 else tracing()
    if trace is not None:
        loop = Loop(trace, "wg.scan", f, lambda _, carry, x: _pair(f(carry, x), f))
        return loop.run(init, xs, n, reverse)
    state = _State(init, f, "wg.scan")
    rows: list[list[Any]] = []
    known: Form | None = None
    tree: Any = None
    order = range(n - 1, -1, -1) if reverse else range(n)
    for k in order:
        carry, y = _pair(f(state.now, row(xs, k)), f)
        state.follow(carry)
        leaves, form = split(y, "what the body of wg.scan returns: y")
        one, other = "a result of wg.scan", "that of a later iteration"
        known = form if known is None else agreed(known, form, one, other, f)
        tree = form.tree
        rows.append(leaves)
    tensors = _has_tensors(init, xs)
    if not n:
        return apart(state.now), _no_rows(f, init, xs, tensors)
    return apart(state.now), rebuild(tree, stacked(rows[::-1] if reverse else rows, tensors))


def _pair(pair: Any, f: Any) -> Any:
    if type(pair) is not tuple or len(pair) != 2:
        raise StateError(
            f"the body of wg.scan, {getattr(f, '__name__', f)}, has to return a pair (carry, y), "
            f"but returned {_called(pair)}, {place(f)}\nReturn (carry, None) if there is no y."
        )
    return pair


def _called(x: Any) -> str:
    """What something is, for errors: whether an array is traced is no concern of the user's."""
    if type(x) is tuple:
        return f"a tuple of {len(x)}"
    is_array = hasattr(x, "shape") and not isinstance(x, Tensor)
    return "an array" if is_array else type(x).__name__


def _has_tensors(*states: Any) -> bool:
    return any(isinstance(x, Tensor) for x in leaves_of(states))


def _no_rows(f: Any, init: Any, xs: Any, tensors: bool) -> Any:
    """Results of no iterations: their form is that of one iteration on zeros."""
    leaves, tree = flatten(xs)
    blank = [_zeros(x, x.shape[1:]) for x in leaves]
    ys, structure = flatten(_pair(f(init, rebuild(tree, iter(blank))), f)[1])
    empty = (_zeros(y, (0, *np.shape(array_of(y))), tensors) for y in ys)
    return rebuild(structure, empty)


def _zeros(like: Any, shape: Any, tensors: bool = False) -> Any:
    if isinstance(like, Tensor):
        return zeros(tuple(shape), dtype=like.dtype)
    array = np.zeros(shape, getattr(like, "dtype", np.dtype(type(like))))
    return wrap(array) if tensors else array


def map(f: Callable[[Any], Any], xs: Any, *, unroll: bool = False) -> Any:
    """What f makes of each row of `xs`, stacked: like `vmap`, but one row after the other.

    It takes the memory of one row at a time, and f may decide by numbers (`wg.cond`) at the cost of
    one branch.

    Errors: StateError as those of `scan`.

    >>> import wengert as wg
    >>> wg.map(lambda x: x @ x, wg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([ 5., 25.])
    """
    if xs is None:
        raise StateError("wg.map needs xs, whose rows f is called with.")
    body = functools.wraps(f)(lambda carry, x: (carry, f(x)))
    return scan(body, None, xs, unroll=unroll)[1]


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """All prefixes of `elems` along an axis, combined by an associative function.

    y[0] = x[0],  y[k] = fn(y[k - 1], x[k]), in about 2 log2(n) calls of `fn` on whole slices: pairs
    are combined, their prefixes found in the same way, and what lies between them filled in
    (Blelloch, 1990). `fn` takes two containers like `elems`, whose leaves have any number of rows
    along the axis, and combines row by row. With `reverse` it starts at the last.

    Errors: StateError if there is nothing to combine, if numbers of rows differ, or if fn returns
    another form.

    >>> import wengert as wg
    >>> wg.associative_scan(wg.mul, wg.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([ 1.,  2.,  6., 24.])
    """
    leaves, form = split(elems, "elems")
    if not leaves:
        raise StateError("wg.associative_scan needs elems to combine.")
    axes = [axis % max(len(known[0]), 1) if known else 0 for known in form.leaves]
    n = length_of(elems if axis == 0 else _turned(leaves, axes), None, "wg.associative_scan")
    if n < 2:
        return apart(elems)
    prefixes = _Prefixes(fn, form, axes)
    if reverse:
        leaves = prefixes.backwards(leaves)
    prefix = prefixes.of(leaves)
    return rebuild(form.tree, iter(prefixes.backwards(prefix) if reverse else prefix))


def _turned(leaves: list[Any], axes: list[int]) -> list[Any]:
    for leaf, axis in zip(leaves, axes, strict=True):
        if not len(leaf.shape):
            return leaves  # which is told of there
        assert axis < len(leaf.shape)
    return [np.moveaxis(leaf, axis, 0) for leaf, axis in zip(leaves, axes, strict=True)]


class _Prefixes:
    """The recursion of `associative_scan`, on leaves."""

    def __init__(self, fn: Any, form: Form, axes: list[int]) -> None:
        self.fn = fn
        self.form = form
        self.axes = axes

    def of(self, leaves: list[Any]) -> list[Any]:
        n = leaves[0].shape[self.axes[0]]
        if n == 1:
            return leaves
        pairs = self._combined(
            self._part(leaves, 0, n - 1, 2), self._part(leaves, 1, n, 2)
        )  # x0 x1, x2 x3, ...
        odd = self.of(pairs)  # the prefixes that end at 1, 3, ...
        first = self._part(leaves, 0, 1)
        if n == 2:
            return self._joined(first, odd)
        m = (n - 1) // 2
        even = self._combined(self._part(odd, 0, m), self._part(leaves, 2, n, 2))
        return self._alternating(self._joined(first, even), odd)

    def backwards(self, leaves: list[Any]) -> list[Any]:
        return [np.flip(x, a) for x, a in zip(leaves, self.axes, strict=True)]

    def _part(self, leaves: list[Any], *bounds: int) -> list[Any]:
        return [
            x[(*(slice(None),) * a, slice(*bounds))] for x, a in zip(leaves, self.axes, strict=True)
        ]

    def _combined(self, a: list[Any], b: list[Any]) -> list[Any]:
        tree = self.form.tree
        combined = self.fn(rebuild(tree, iter(a)), rebuild(tree, iter(b)))
        parts, form = split(combined, "what fn of wg.associative_scan returns: result")
        one, other = "a part of elems of wg.associative_scan", "what fn returns"
        agreed(split(rebuild(tree, iter(b)), "elems")[1], form, one, other, self.fn)
        return parts

    def _joined(self, *parts: list[Any]) -> list[Any]:
        columns = zip(*parts, strict=True)
        return [np.concatenate(c, a) for c, a in zip(columns, self.axes, strict=True)]

    def _alternating(self, even: list[Any], odd: list[Any]) -> list[Any]:
        """Rows of both in turns; there may be one more of the first."""
        m = odd[0].shape[self.axes[0]]
        rows = []
        for a, b, axis in zip(even, odd, self.axes, strict=True):
            before = (slice(None),) * axis
            pairs = np.stack([a[(*before, slice(0, m))], b], axis + 1)
            shape = (*b.shape[:axis], 2 * m, *b.shape[axis + 1 :])
            rows.append(
                np.concatenate([np.reshape(pairs, shape), a[(*before, slice(m, None))]], axis)
            )
        return rows
