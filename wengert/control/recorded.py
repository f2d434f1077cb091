"""Loops of which a trace makes one statement: containers are taken apart here, and put together.

The body is run once, on traced arrays. A part of the state that begins as a Python number, or as an
array where the body returns a tensor, is what the body makes of it from the start: then the body is
run once more.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.arrays.batched.array import BatchedArray
from wengert.arrays.kind import array_of
from wengert.compile.trace.arrays.array import Trace, TracedArray
from wengert.compile.trace.world import watch
from wengert.compile.trace.world.places import key_of
from wengert.control.blocks import Blocks, First
from wengert.control.choice import anywhere, chosen, is_batched, one_number
from wengert.control.states import Form, agreed, place, split, split_branch
from wengert.errors import StateError, TracingError
from wengert.functions.creation import as_tensor
from wengert.history.location import here, line_of
from wengert.history.node import tick
from wengert.rules.shapes import astype
from wengert.tensor import Tensor, wrap
from wengert.tree import NOTHING, flatten, rebuild


def tracing() -> Trace | None:
    """The trace that writes loops down as they are."""
    capture = watch.active()
    return None if capture is None else capture.trace


def is_traced(predicate: Any) -> bool:
    """Whether a predicate has no number yet."""
    return type(predicate) is TracedArray and (
        predicate.value not in predicate.trace.program.constants
    )


def undecided(predicate: Any) -> Trace | None:
    """The trace in which a predicate has no number yet."""
    return tracing() if is_traced(predicate) else None


class Again(Exception):
    """The state has to begin as something else."""

    def __init__(self, leaves: list[Any]) -> None:
        self.leaves = leaves


class Loop:
    """One loop in a trace, on the containers that the user sees."""

    def __init__(
        self, trace: Trace, what: str, function: Any, call: Any, apart: bool = True
    ) -> None:
        self.trace = trace
        self.apart = apart
        """Whether the state is in memory of its own, as that of `wg.scan`; or it is variables."""
        self.what = what
        self.function = function
        self.call = call
        self.tensors = False
        self.tree: Any = None
        self.begun: list[Any] = []

    def run(
        self, init: Any, xs: Any, length: int, backwards: bool = False, first: int = 0
    ) -> tuple[Any, Any]:
        """The final state, and the rows of the results; `call(index, state, row)` is the body."""
        from wengert.compile.trace.loops.regions import made_again

        trace = self.trace
        trace.longest = max(trace.longest, length)
        begins = First(first, first, first)
        if not trace.kinds:
            return self._run(init, xs, length, backwards, begins)

        def loop(call: Any, init: Any, xs: Any, length: int, backwards: bool, first: First) -> Any:
            one = Loop(trace, self.what, self.function, call, self.apart)
            return one._run(init, xs, length, backwards, first)

        blocks = Blocks(loop, partial(made_again, trace), backwards)
        return blocks.run(self.call, init, xs, length, begins, trace.kinds + 1)

    def _run(
        self, init: Any, xs: Any, length: int, backwards: bool, first: First
    ) -> tuple[Any, Any]:
        """As one statement."""
        from wengert.compile.trace.loops.repeats import repeated

        leaves, form = split(init, f"the state of {self.what}: init")
        rows, self.rows_tree = flatten(xs)
        self.tensors = any(isinstance(x, Tensor) for x in (*leaves, *rows))
        leaves = [self._begun(x) for x in leaves]
        rows = [_held(x, self.trace) for x in rows]

        def write(leaves: list[Any]) -> Any:
            of, variables = (self.trace, self._body, leaves, rows, length), not self.apart
            return repeated(*of, backwards, first=first, variables=variables)

        part = "state, or give the loop unroll=True"
        finals, ys, _ = self._written(leaves, form, write, part)
        return rebuild(form.tree, iter(finals)), rebuild(self.tree, iter(ys))

    def _written(self, leaves: list[Any], form: Form, write: Any, part: str) -> Any:
        """What `write` makes of a first state, once that begins as the body goes on with it."""
        while True:
            self.begun = leaves
            self.first = Form(form.tree, tuple(map(_form_of, leaves)))
            effects = Effects()
            try:
                written = write(leaves)
            except Again as again:
                leaves = again.leaves
                continue
            effects.check(f"the body of {self.what}", "once", part)
            return written

    def run_while(self, init: Any, test: Any) -> Any:
        """The final state of a loop of unknown length."""
        from wengert.compile.trace.loops.memory import writes_of
        from wengert.compile.trace.loops.whiles import until

        leaves, form = split(init, f"the state of {self.what}: init")
        leaves = [self._begun(x) for x in leaves]
        self.rows_tree = NOTHING

        def asked(state: list[Any]) -> Any:
            """The condition, for each example of the vmaps around."""
            before = list(map(writes_of, state))
            holds = test(rebuild(form.tree, iter(state)))
            if before != list(map(writes_of, state)):
                raise self._refused(
                    "its state while its condition is asked", "Copy the state first"
                )
            truth = one_number(holds, f"the condition of {self.what}")
            return np.not_equal(_held(truth, self.trace), 0)

        batched = False

        def holds(state: list[Any]) -> Any:
            nonlocal batched
            truth = asked(state)
            batched = is_batched(truth)
            if batched and any(s.acts and s.outputs for s in self.trace.program.statements):
                raise TracingError(
                    f"the condition of {self.what} draws random numbers inside of vmap in a "
                    f"compiled function, at\n  {line_of(*here())}\nIt is asked twice there: draw "
                    "them in the body, and keep them in the state."
                )
            return self.trace.as_array(anywhere(truth))

        def following(state: list[Any]) -> list[Any]:
            news = self._body(None, state, []).state
            return chosen(asked(state), news, state) if batched else news

        write = partial(until, self.trace, holds, following)
        return rebuild(form.tree, iter(self._written(leaves, form, write, "state")))

    def _begun(self, x: Any) -> Any:
        """A leaf of the first state: a tensor, or a traced array."""
        if isinstance(x, Tensor):
            return x
        array = _held(x, self.trace)
        if isinstance(x, bool | int | float | complex) and not isinstance(x, np.generic):
            array.value.weak = True
        return array

    def _body(self, index: Any, state: list[Any], row: list[Any]) -> Any:
        from wengert.compile.trace.loops.repeats import Made

        begun = tick()
        now = rebuild(self.first.tree, iter(state))
        new, y = self.call(index, now, rebuild(self.rows_tree, iter(row)))
        news, form = split(new, f"the state of {self.what}: result")
        one, other = f"the state of {self.what}", "what the body returns"
        agreed(self.first, form, one, other, self.function)
        self._check_kinds(state, news)
        ys, known = split(y, f"what the body of {self.what} returns: y")
        self.tree = known.tree
        if self.apart:
            self._check_writes(state, row, [*news, *ys], begun)
        news = [_like(x, before, self.trace) for x, before in zip(news, state, strict=True)]
        return Made(news, [x if isinstance(x, Tensor) else self._row(x) for x in ys])

    def _check_writes(
        self, state: list[Any], row: list[Any], results: list[Any], begun: int
    ) -> None:
        """Eagerly an iteration that writes into its state does so in what the one before returned,
        which then has to be memory of its own.
        """
        from wengert.compile.trace.loops.memory import storage_of

        own = [s for s in map(storage_of, state) if s is not None]
        passed = [s for s in map(storage_of, row) if s is not None]
        if any(s.writes for s in passed):
            raise self._refused("the rows that it goes through", "Copy the row first")
        if not any(s.writes for s in own):
            return
        news = [None if _is_weak(x) else storage_of(x) for x in results]
        for k, s in enumerate(news):
            carried = s in own and k < len(state)
            if s is not None and (news.count(s) > 1 or (s.born < begun and not carried)):
                what = "its state, and returns memory that is not its own or is another's as well"
                raise self._refused(what, "Return a copy")

    def _refused(self, what: str, cure: str) -> TracingError:
        return TracingError(
            f"{self.what} writes into {what}, {place(self.function)}\n{cure}, with .clone() or "
            "np.copy: eager mode would write there once more."
        )

    def _row(self, x: Any) -> Any:
        if not self.tensors:
            return _held(x, self.trace)
        return wrap(_held(as_tensor(x)._array, self.trace))  # in which a float has the dtype of all

    def _check_kinds(self, state: list[Any], news: list[Any]) -> None:
        """Begin with what the body returns, where that is not what the state began as."""
        pairs = list(zip(self.begun, map(array_of, state), news, strict=True))
        begun = [_restarted(x, before, after) for x, before, after in pairs]
        if any(x is not new for (x, _, _), new in zip(pairs, begun, strict=True)):
            raise Again(begun)


class Effects:
    """What a body writes to places outside of it: all of them hold in the end what they held."""

    def __init__(self) -> None:
        self.world = watch.active().world
        runs = sys._getframe(1).f_code
        self.world.bodies[id(runs)] = runs  # an error that comes through it may not be caught
        self.count = len(self.world.effects)
        places = [place for place, _ in self.world.written_places.values()]
        self.stood = {key_of(place): place.read(()) for place in places}

    def check(self, what: str, when: str, part: str) -> None:
        if all(place is not None and self._holds(place) for place in self._written()):
            return
        raise StateError(
            f"{what} writes to something outside of it, which a compiled function would do "
            f"{when}, at\n  {line_of(*here())}\nReturn it as part of the {part}."
        )

    def _written(self) -> list[Any]:
        return [place for place, _ in self.world.effects[self.count :]]

    def _holds(self, place: Any) -> bool:
        """Whether something is there again: an array in which a body counts (`self.n += 1`)."""
        key = key_of(place)
        before = self.stood[key] if key in self.stood else self.world.written_places[key][1]
        now = place.read(())
        passed = self.world.passed.stand_ins.get(now) if isinstance(now, Tensor) else None
        return before is (now if passed is None else passed.given)


def _held(x: Any, trace: Trace) -> Any:
    """A leaf as an array, unless it is a tensor."""
    if isinstance(x, Tensor | BatchedArray):
        return x
    array = trace.for_leaf(x)
    if isinstance(x, np.generic):
        array.single = True
    return array


def _is_weak(x: Any) -> bool:
    return getattr(array_of(x), "weak", False)


def _form_of(x: Any) -> Any:
    return split(x, "state")[1].leaves[0]


def _restarted(x: Any, before: Any, after: Any) -> Any:
    """What a part of the state begins as, if the body makes `after` of it; `x` itself if it can."""
    form = _form_of(after)
    if _is_weak(before) and form is not None:
        x = astype(x, form[1])
    elif _is_weak(before):
        dtype = getattr(array_of(after), "dtype", np.dtype(type(after)))
        dtype = np.promote_types(dtype, before.dtype)
        x = x if dtype == before.dtype else x.trace.number_like(x, dtype)
    return wrap(x) if isinstance(after, Tensor) and not isinstance(x, Tensor) else x


def _like(x: Any, before: Any, trace: Trace) -> Any:
    """A leaf of the next state, as an array of the trace."""
    if isinstance(x, Tensor):
        return x
    array = _held(x, trace)
    if _is_weak(before) and array.dtype != array_of(before).dtype:
        array = array.astype(array_of(before).dtype)
    return wrap(array) if isinstance(before, Tensor) else array


def branched(
    trace: Trace,
    index: TracedArray,
    functions: list[Any],
    operands: Any,
    what: str,
    names: Sequence[str],
) -> Any:
    """What the branch of a number returns that is not known yet."""
    from wengert.compile.trace.loops.choices import choice

    effects = Effects()
    form: Form | None = None

    def run(k: int) -> list[Any]:
        nonlocal form
        result = functions[k](*operands)
        leaves, form = split_branch(result, form, what, names, k, functions[k])
        return leaves

    def alike(results: list[list[Any]]) -> list[Any]:
        return [_converter(trace, column) for column in zip(*results, strict=True)]

    taken = choice(trace, index, [partial(run, k) for k in range(len(functions))], alike)
    effects.check(f"a branch of {what}", "in any case", "result")
    assert form is not None
    return rebuild(form.tree, iter(taken))


def _converter(trace: Trace, column: Any) -> Any:
    """How a result of one branch becomes what it is in all: a tensor, or an array, of one dtype."""
    arrays = [array_of(x) for x in column]
    known = [a.dtype for a in arrays if hasattr(a, "dtype") and not getattr(a, "weak", False)]
    kinds = [getattr(a, "dtype", np.dtype(type(a))) for a in arrays]
    dtype = known[0] if known else np.result_type(*kinds)
    tensor = any(isinstance(x, Tensor) for x in column)

    def convert(x: Any) -> Any:
        if isinstance(x, Tensor):
            return x
        array = _held(x, trace)
        if array.dtype != dtype:
            array = array.astype(dtype)
        if not known:
            array = trace.number_like(array, dtype)
        return wrap(array) if tensor else array

    return convert
