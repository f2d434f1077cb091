"""`wengert.compile`: a function that is traced once per kind of arguments, and then runs as one.

A call looks for a specialization whose signature and guards fit, and runs it; if there is none, the
function is captured and compiled. What cannot be captured runs eagerly.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    overload,
)

import numpy as np

from wengert import dtypes
from wengert.compile.call.among_arrays import (
    STANDS_IN,
    Declined,
    called,
    decline,
    is_apart,
    saving_copies,
    stands_in,
)
from wengert.compile.call.derivative import gradients_of
from wengert.compile.call.link import NOT_ASKED, link
from wengert.compile.call.memory import Memory, OverBudget
from wengert.compile.call.signature import (
    alike,
    holds_no_memory,
    is_numpys,
    kind_of,
    of_another_kind,
    same_memory,
    with_keys,
)
from wengert.compile.call.specialization import Failed, Specialization
from wengert.compile.program.budget import bytes_of
from wengert.compile.trace.arguments import (
    Changed,
    applied,
    are_several,
    containers,
    flatten,
    rebuild,
    tracked,
)
from wengert.compile.trace.arrays.ints import interval
from wengert.compile.trace.arrays.refusals import Postponed
from wengert.compile.trace.capture import Capture, forget
from wengert.compile.trace.captured import Captured
from wengert.compile.trace.loops.pullback import pull_back
from wengert.compile.trace.observe.loops import Unrolled
from wengert.compile.trace.world import watch
from wengert.compile.trace.world.inputs import Cut, Fixed, Retraced, Specialize, Unsettled, Varying
from wengert.compile.trace.world.places import Argument, Gradient, Place, Told, is_number, key_of
from wengert.compile.trace.world.reads import is_fetchable
from wengert.compile.trace.world.world import OF_THE_TRACE, World
from wengert.dispatch import errors_pass
from wengert.errors import InplaceError, ModifiedError, StateError, TracingError
from wengert.history import modes
from wengert.history.location import warn
from wengert.history.surroundings import KNOWING
from wengert.tensor import Tensor

LIMIT = 16
"""So many specializations a function may have; further kinds of arguments run eagerly."""


P = ParamSpec("P")
R = TypeVar("R")
Q = ParamSpec("Q")
S = TypeVar("S")
V = TypeVar("V")


class _Module(Protocol[P, R]):
    """What type checkers know a module by: a call is one of its `forward`."""

    forward: Callable[P, R]

    def named_parameters(self) -> Any: ...


if TYPE_CHECKING:
    from wengert.compile.call.report import Explanation
    from wengert.compile.program.program import Program
    from wengert.visual.drawing import Drawing

    class _Typed(Generic[P, R]):
        """A function that takes `P` and gives `R`."""
else:

    class _Typed:
        __slots__ = ()

        def __class_getitem__(cls, parameters: Any) -> Any:
            return cls


@overload
def compile(
    function: _Module[P, R], *, memory: int | str | None = None
) -> CompiledModule[P, R]: ...
@overload
def compile(
    function: Callable[P, R], *, memory: int | str | None = None
) -> CompiledFunction[P, R]: ...
@overload
def compile(
    function: None = None, *, memory: int | str | None = None
) -> Callable[[Callable[P, R]], CompiledFunction[P, R]]: ...
def compile(function: Any = None, *, memory: int | str | None = None, **options: Any) -> Any:
    """Make `function` run as one machine-code function; also works as a decorator.

    The first call with arguments of given shapes and dtypes traces it: forward pass, backward pass
    and optimizer alike become one program. Tensors from outside (parameters, optimizer state), the
    learning rate and random generators are read at each call and changed in place, as in eager
    mode. Flags such as `training` and other Python values are fixed in the program; it is compiled
    anew when they change. Of numbers that change and decide a branch each way is a program, and
    each call takes the one that it decides for. What the function writes, and what
    it prints, happens at each call.

    With `memory`, in bytes or a text like "200MB", it takes no more than that beside its arguments
    and results: of what a derivative reads, so much is computed again instead of being kept, and
    long loops are taken in blocks, as by `utils.checkpoint.checkpoint_scan`.

    Errors: TracingError where the function needs a number that is known only when it runs;
    MemoryError, at the first call, if it cannot do with so little memory.

    >>> import wengert as wg
    >>> @wg.compile
    ... def norm(x):
    ...     return (x * x).sum().sqrt()
    >>> norm(wg.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if options:
        raise TypeError(
            f"compile() takes a function and memory=, but got {', '.join(options)}. There is "
            "one way to compile here, for static shapes, of the whole function."
        )
    budget = None if memory is None else bytes_of(memory)
    if function is None:
        return compile if budget is None else functools.partial(compile, memory=budget)
    if isinstance(function, CompiledFunction):
        if budget in (None, function.memory):
            return function
        function = function.function
    if not callable(function):
        raise TypeError(
            f"compile() takes a function or a module, but got {type(function).__name__}"
        )

    # Looking up the attributes of an object that has __getattr__ is slow: only modules have it.
    kind = CompiledModule if hasattr(function, "named_parameters") else CompiledFunction
    return kind(function, budget)


class CompiledFunction(_Typed[P, R]):
    """A function and its specializations. `program` and `explain()` show what became of it.

    A call is one of `_entry`, with no Python around it: see the end of the class.
    """

    __slots__ = ("__dict__", "__weakref__", "_entry")
    __call__: Callable[P, R]

    def __init__(self, function: Callable[..., Any], memory: int | None = None) -> None:
        self.function = function
        self.memory = memory
        self.specializations: dict[Any, list[Specialization]] = {}
        self.retraces: list[str] = []
        self._static: set[int] = set()  # places of numbers that decide something
        self._asked: dict[Any, None] = {}  # what the signature knows of arguments beside their kind
        self._varying: dict[Any, Place] = {}  # whose values are fetched at each call
        self._fixed: dict[Any, Place] = {}  # whose values cannot be
        self._ints: dict[int, int] = {}  # arguments that are ints, as they were first
        self._cuts: dict[Any, set[int]] = {}  # of ints that decide something, by place
        self._unrolled: dict[Any, int] = {}  # how many steps of the user's loops are traced
        self._declined = False  # whether it runs eagerly where it is given stand-ins
        self._full = False  # whether it was compiled as often as it may be
        self._closed: set[bool] = set()  # whether no entry is missing: for special modes, and not
        self._last: Specialization | None = None
        self._gradients: CompiledFunction | None = None
        self._entry: Callable[..., Any] = self._call
        functools.update_wrapper(self, function, updated=())

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(
        self: CompiledFunction[Concatenate[S, Q], V], instance: S, owner: Any = None
    ) -> Callable[Q, V]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        """Pickled and copied as the function, or by name if it has taken its place."""
        name = getattr(self.function, "__qualname__", "")
        item: Any = sys.modules.get(getattr(self.function, "__module__", ""))
        for part in name.split("."):
            item = getattr(item, part, None)
        again = _compiled_within, (self.function, self.memory)
        return name if item is self else again

    def __repr__(self) -> str:
        return f"<compiled {getattr(self.function, '__qualname__', self.function)}>"

    @property
    def program(self) -> Program:
        """The program of the latest specialization; it prints as NumPy source."""
        return self._latest().captured.program

    def explain(self) -> Explanation:
        """The steps of the latest specialization: loops, bytes, operations, share of the time."""
        from wengert.compile.call.report import explain
        from wengert.compile.plan.planner import taken

        latest = self._latest()
        statements = len(latest.program.statements)
        memory = latest.memory
        if memory is None and latest.joint is not None:
            kept = sum(v.nbytes for v in latest.program.outputs[latest.results :])
            memory = Memory(kept + taken(latest.forward.plan, latest.backward.plan))
        return explain(self._named(), latest.forward.plan, statements, self.retraces, memory)

    def _named(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def roofline(self) -> Any:
        """How fast each loop of the latest specialization is, beside what the machine can do.

        It prints as a table, and is a picture (`save("roofline.svg")`, or by itself in a notebook):
        operations for each byte against operations in a second, below the limits of memory and of
        arithmetic, which are measured at the first call. The steps run on arrays of ones.

        Errors: TracingError if a loop ends when a condition holds, which may never be on ones.
        """
        from wengert.compile.call.roofline import roofline

        return roofline(self._named(), self._latest().forward.plan)

    def graph(self, boxes: int = 40) -> Drawing:
        """The program of the latest specialization as a picture, to look at or to `save`.

        Inputs are blue, statements grey, results orange, and a loop is one box. Where there are
        more than `boxes` of them, what a line of yours did becomes one green box, or what a
        function did. Each says its share of the time of a call, which is measured on arrays of
        ones, and the memory of its result if that is not only in registers. A title on each box
        says shape, dtype, what is inside, and your line.
        """
        from wengert.compile.call.report import measure
        from wengert.visual.drawing import Drawing
        from wengert.visual.programs import costs_of, program_graph

        plan = self._latest().forward.plan
        return Drawing(program_graph(self.program, boxes, costs_of(plan, measure(plan))))

    def save(self, path: Any, *, header: bool = False, name: str | None = None) -> None:
        """Write the machine code of the latest specialization as an object file, for C.

        The function is called `name`, by default as in Python. It takes the arguments in their
        order, numbers by value and arrays by address, and then addresses for the results; with
        `header`, a file beside it that ends in ".h" declares it and says their shapes. What it
        reads around it, such as parameters and a learning rate, becomes data that C may read and
        write: it begins as it is now, and what the function changes it changes there.

        Errors: TracingError for what is called in Python, TypeError for what C has no type for, and
        ValueError for a path that ends neither in ".o" nor in ".obj". Both files are written whole
        or not at all.

        >>> import pathlib, tempfile
        >>> import wengert as wg
        >>> @wg.compile
        ... def norm(x):
        ...     return (x * x).sum().sqrt()
        >>> norm(wg.tensor([3.0, 4.0]))
        tensor(5.)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     norm.save(f"{folder}/norm.o", header=True)
        ...     text = pathlib.Path(folder, "norm.h").read_text()
        >>> print(text[text.index("int norm") : text.index(";")])  # doctest: +SKIP
        int norm(
            const float *x,  /* [2] */
            float *result  /* one number */
        );
        """
        from wengert.compile.call.exports import save

        save(self._latest(), path, name, header)

    @property
    def lowlevel(self) -> Any:
        """The latest specialization as a `scipy.LowLevelCallable`, which SciPy calls at C's speed.

        For `scipy.integrate` it was called with numbers and returned one; for `scipy.ndimage` with
        an array of float64. What it reads around it is as it is now.

        Errors: TracingError for what is called in Python, and TypeError for other arguments.

        >>> import numpy as np
        >>> from scipy.integrate import quad
        >>> import wengert as wg
        >>> bell = wg.compile(lambda x: np.exp(-x * x))
        >>> _ = bell(0.5)
        >>> round(quad(bell.lowlevel, -np.inf, np.inf)[0] ** 2, 12) == round(np.pi, 12)
        True
        """
        from wengert.compile.call.lowlevel import lowlevel

        return lowlevel(self._latest())

    def gradients(self, states: list[Tensor]) -> CompiledFunction:
        """The compiled function from arguments and cotangents to gradients: differentiable too."""
        if self._gradients is None:
            self._gradients = CompiledFunction(gradients_of(self.function, states), self.memory)
        return self._gradients

    def _latest(self) -> Specialization:
        if self._last is None:
            raise RuntimeError(
                f"{self!r} has not been compiled yet: call it once with arguments of the shapes it "
                "is for"
            )
        return self._last

    # ---- a call -----------------------------------------------------------------------------

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        """Any call: find the specialization that fits, or make it."""
        state = modes.current()
        unusual = state.hooks or state.anomaly or state.zeros or state.duals or state.functions
        if unusual or watch.active() is not None or not errors_pass():
            return self.function(*args, **kwargs)
        if state.clone_saved is not None:
            return self._among_arrays(state, args, kwargs)
        eagerly = decline if state is STANDS_IN else self.function
        if bool(modes.special) in self._closed:  # no entry has taken the call
            return eagerly(*args, **kwargs)
        flat: list[Any] = []
        structure = flatten((args, kwargs), flat)
        given = list(containers(args, kwargs))
        if any(map(of_another_kind, flat)) or not are_several(given):
            return eagerly(*args, **kwargs)
        key = self._signature(structure, flat)
        known = self.specializations.setdefault(key, [])
        for specialization in known:
            if specialization.fits(flat):
                break
        else:
            if self._is_full():
                return eagerly(*args, **kwargs)
            for specialization in known:
                self._note_varying(specialization)
            outcome = self._specialize(args, kwargs)
            if not isinstance(outcome, tuple):
                return self._eagerly(eagerly, outcome, args, kwargs)
            specialization, key = outcome
            self.specializations.setdefault(key, []).append(specialization)
        self._last = specialization
        if specialization.overlap(flat) or not specialization.is_apart(given):
            return eagerly(*args, **kwargs)
        if state is STANDS_IN and not is_apart(specialization.captured):
            raise Declined
        special, linked = bool(modes.special), specialization.linked
        if special not in linked and specialization.called and state in modes.ORDINARY:
            # What this one is not for goes on to the entries that there were before.
            entry = specialization.failure.of(link(specialization, flat, self._entry))
            several = sum(map(holds_no_memory, given)) > 1 or (given and specialization.outside)
            self._entry = self._told_apart(entry, specialization) if several else entry
            linked.add(special)
        specialization.called = True

        def run(*args: Any, **kwargs: Any) -> Any:
            try:
                result = specialization.run([*flat, *given])
            except Failed:
                return specialization.failure.instead(*args, **kwargs)
            return applied(result, given) if type(result) is Changed else result

        return specialization.failure.of(run)(*args, **kwargs)

    def _among_arrays(self, state: modes.State, args: Any, kwargs: Any) -> Any:
        """A call by code for arrays that is being differentiated."""
        if stands_in(state) and not self._declined:
            try:
                return called(self, state, args, kwargs)
            except Declined:
                self._declined = True
        return self.function(*args, **kwargs)

    def _told_apart(
        self, entry: Callable[..., Any], specialization: Specialization
    ) -> Callable[..., Any]:
        """An entry for calls of several containers that hold no memory by which it knows them."""

        def call(*args: Any, **kwargs: Any) -> Any:
            given = list(containers(args, kwargs))
            fits = are_several(given) and specialization.is_apart(given)
            return (entry if fits else self.function)(*args, **kwargs)

        return call

    def _note_varying(self, specialization: Specialization) -> None:
        """Places whose values have changed since, and can be fetched."""
        for guard in specialization.guards:
            key = key_of(guard.place)
            now = guard.place.read(())
            changed = is_fetchable(guard.object) and is_fetchable(now) and not guard.holds()
            if changed and key not in self._fixed:
                self._varying[key] = guard.place

    def _signature(self, structure: Any, flat: list[Any]) -> Any:
        parts = [self._interval(i, x) or kind_of(x, i in self._static) for i, x in enumerate(flat)]
        parts += map(alike, self._answers(flat).values())
        state = modes.current()
        return (
            with_keys(structure),
            tuple(parts),
            same_memory(flat),
            state.grad,
            state.inference,
            state.numpy_code,
            dtypes.get_default_dtype(),
        )

    def _answers(self, flat: Any) -> dict[Any, Any]:
        """What was asked of arguments, by the place; of a gradient whether there is one."""
        return {place: _answer(place, flat) for place in self._asked}

    def _interval(self, i: int, x: Any) -> Any:
        """Where an int lies that is an input; nothing for other arguments.

        One that was seen to change is, unless it decides something but by its interval.
        """
        if type(x) is not int or i in self._static or self._ints.setdefault(i, x) == x:
            return None
        return interval(x, self._cuts.get(key_of(Argument(i)), ()))

    def _is_full(self) -> bool:
        """Whether nothing more is compiled: what was called once only is forgotten then, and where
        all others have entries, which come first, nobody looks for one any more.
        """
        if sum(map(len, self.specializations.values())) >= LIMIT:
            self._warn_limit()
            self._full = True
            for known in self.specializations.values():
                known[:] = [x for x in known if x.linked]
        if self._full:
            special = bool(modes.special)
            rest = (x for known in self.specializations.values() for x in known)
            if all(special in x.linked for x in rest):
                self._closed.add(special)
        return self._full

    def _warn_limit(self) -> None:
        reasons = "".join(f"\n  {reason}" for reason in self.retraces[-3:])
        warn(
            f"{self!r} was compiled {LIMIT} times, and now runs eagerly for what is new. The last "
            f"reasons:{reasons}\nKeep shapes the same from call to call (pad the last batch), and "
            "pass numbers that change as tensors."
        )

    def _eagerly(
        self, eagerly: Callable[..., Any], error: str | None, args: Any, kwargs: Any
    ) -> Any:
        """Run the function itself; if it raises, then after it has done what it does before."""
        result = eagerly(*args, **kwargs)
        if error is not None:
            warn(
                f"{self!r} runs eagerly for such arguments: the function could not be traced. "
                f"{error}"
            )
        return result

    # ---- compiling --------------------------------------------------------------------------

    def _specialize(self, args: Any, kwargs: Any) -> tuple[Specialization, Any] | str | None:
        """A specialization and its key; or what the function raised; or None if it is postponed.

        That is told in words, for the reason that `World.let_go` gives.
        """
        self._explain_retrace(args, kwargs)
        kinds, least = 0, sys.maxsize
        unsettled: set[Any] = set()
        while True:
            try:
                captured = self.capture(args, kwargs, kinds)
            except Specialize as decision:
                place = decision.place
                if isinstance(place, Argument):
                    self._static.add(place.number)
                else:
                    self._asked[place] = None
                continue
            except Varying as kept:
                self._varying.update(kept.places)
                continue
            except Fixed as fixed:
                self._fix(key_of(fixed.place))
                continue
            except Unsettled as changed:
                changed.begin_again(unsettled)
                continue
            except Cut as decision:
                self._cuts.setdefault(key_of(decision.place), set()).update(decision.cuts)
                continue
            except Postponed:
                return None
            except Unrolled as unrolled:
                site, steps = unrolled.args
                self._unrolled[site] = steps
                continue
            except _Moment as moment:
                raise moment.let_go() from None
            except Exception as error:
                if self._fix_numbers(args, kwargs):
                    continue
                if type(error) is _Raised:
                    return _in_words(error.__cause__)
                raise
            flat: list[Any] = []
            structure = flatten((args, kwargs), flat)
            try:
                specialization = Specialization(self, captured, structure, flat)
            except OverBudget as over:
                forget(captured.begun)
                kinds, before, least = kinds + 1, least, min(least, over.least)
                if captured.longest >> kinds and least < before:
                    continue
                raise over.told(least) from None
            except BaseException:
                forget(captured.begun)
                raise
            return specialization, self._signature(structure, flat)

    def _fix(self, key: Any) -> None:
        self._fixed[key] = self._varying.pop(key)

    def _fix_numbers(self, args: Any, kwargs: Any) -> bool:
        """Let numbers be what they are that are not floats given; whether any could be another.

        One may have been given where only a number that is known will do.
        """
        flat: list[Any] = []
        flatten((args, kwargs), flat)
        numbers = {i for i, x in enumerate(flat) if self._interval(i, x) or is_numpys(x)}
        around = ((key, place.read(())) for key, place in self._varying.items())
        outside = [key for key, x in around if is_number(x) or type(x) is int]
        varies = bool(outside) or not numbers <= self._static
        self._static |= numbers
        for key in outside:
            self._fix(key)
        return varies

    def capture(self, args: Any, kwargs: Any, kinds: int = 0) -> Captured:
        """The program of one call, not simplified yet; nothing that it would change is changed.

        Its loops are cut into blocks of so many kinds. Errors that the function catches, and whose
        cause was not seen, may have come of when it ran: those that come again are its ways.
        """
        captured, met = self._traced(args, kwargs, kinds)
        again: list[Any] = []
        try:
            if met:
                forget(captured.begun)
                captured, again = self._traced(args, kwargs, kinds)
                if [at for _, at in met] != [at for _, at in again]:
                    forget(captured.begun)
                    raise _Moment(_only_in_one(met, again))
            return captured
        finally:  # as `World.let_go` says
            met.clear()
            again.clear()

    def _traced(self, args: Any, kwargs: Any, kinds: int) -> tuple[Captured, list[Any]]:
        """The program, and errors of unknown cause."""
        # Not above: it is machine code, which takes a while to import.
        from wengert.compile.call.listener import native_listener

        flat: list[Any] = []
        structure = flatten((args, kwargs), flat)
        places = {id(x): i for i, x in enumerate(flat) if isinstance(x, Tensor)}
        passed = {k: i for k, i in places.items() if i not in self._static}
        capture = Capture(
            passed, _Answers(self._answers(flat), self._asked, flat), self._varying, self._cuts
        )
        capture.trace.kinds, capture.trace.budget = kinds, self.memory
        capture.world.unrolled = self._unrolled
        capture.world.listener = native_listener()
        same = {i: Argument(first) for i, first, _ in same_memory(flat)}
        traced = [self._stand_in(capture, i, x, same.get(i)) for i, x in enumerate(flat)]
        args, kwargs = rebuild(structure, traced)
        for k, x in enumerate(containers(args, kwargs), len(flat)):
            capture.passed.containers[id(x)] = x, Argument(k)

        def trace() -> Captured:
            run = functools.partial(_run, capture.world, self.function, traced)
            with capture.world.observing():
                result = [tracked(run, args, kwargs)]
                capture.world.check_kept(self._fixed)
                capture.back.check_histories()
                try:
                    pulled = pull_back(capture, *result)
                except (ModifiedError, InplaceError) as error:
                    if not capture.trace.may_write:
                        raise
                    raise _Raised from error
            return capture.captured(result, pulled)

        world = capture.world
        try:
            return watch.run(capture, trace), world.unexplained
        except Exception as error:
            # A refusal that the function makes an error of its own is one: it runs eagerly.
            own = type(error) is _Raised and isinstance(world.broken, TracingError)
            if world.broken is None or own:
                raise
            is_of_trace = isinstance(world.broken, OF_THE_TRACE)
            raise (world.broken if is_of_trace else _Moment(world.broken)) from None
        finally:
            world.let_go()

    def _stand_in(self, capture: Capture, place: int, x: Any, same: Argument | None) -> Any:
        if isinstance(x, Iterator):
            raise TracingError(
                f"an argument of {self!r} is a {type(x).__name__}, which can be gone through once "
                "only, while a program runs many times. Pass a list."
            )
        if place in self._static:
            return x
        if isinstance(x, Tensor):
            return capture.passed.tensor(Argument(place), x, same)
        if isinstance(x, np.ndarray):
            return capture.passed.array(Argument(place), x, same)
        if is_number(x) or self._interval(place, x):
            return capture.passed.number(Argument(place), x)
        return x

    def _explain_retrace(self, args: Any, kwargs: Any) -> None:
        if self._last is None:
            return
        flat: list[Any] = []
        flatten((args, kwargs), flat)
        self.retraces.append(
            self._last.difference(flat)
            or self._last.changed(flat)  # which reads arguments of the kinds that there were
            or "which arguments share memory, the grad mode or the default dtype changed"
        )


# The slot's descriptor finds what to call in each object: a method would cost more than the entry.
CompiledFunction.__call__ = vars(CompiledFunction)["_entry"]  # type: ignore[method-assign]


class _Raised(Exception):
    """The function raised while it was traced, which undoes what it had done; see the cause."""


def _in_words(error: BaseException | None) -> str:
    """An error of the function's; it may hold what was computed, which has no words."""
    try:
        return f"{type(error).__name__}: {error}"
    except TracingError:
        return type(error).__name__


class _Moment(BaseException):
    """Carries an error that is none of the function's ways: it came of when the function ran."""

    def let_go(self) -> BaseException:
        (error,), self.args = self.args, ()
        return error


def _only_in_one(met: list[Any], again: list[Any]) -> BaseException:
    """The first error that came in one of two traces only."""
    for (error, at), (other, now) in zip(met, again, strict=False):
        if at != now:
            return error if len(met) >= len(again) else other
    longer = max(met, again, key=len)
    return longer[min(len(met), len(again))][0]


_DECISIONS = (TracingError, StateError, Retraced, Postponed)


def _run(world: World, function: Any, traced: list[Any], /, *args: Any, **kwargs: Any) -> Any:
    try:
        with saving_copies():
            return world.run(function, traced, *args, **kwargs)
    except _DECISIONS:
        raise
    except Exception as error:
        raise _Raised from error


class _Answers(dict[Any, Any]):
    """What was asked of arguments; what is asked now becomes part of the signature."""

    def __init__(self, known: dict[Any, Any], asked: dict[Any, None], flat: list[Any]) -> None:
        super().__init__(known)
        self.asked = asked
        self.flat = flat

    def __missing__(self, place: Told) -> Any:
        self.asked[place] = None
        return self.setdefault(place, _answer(place, self.flat))


def _answer(place: Gradient | Told, flat: list[Any]) -> Any:
    try:
        answer = place.read(flat)
    except (IndexError, AttributeError):  # no such argument, or no tensor
        return NOT_ASKED
    return answer is not None if isinstance(place, Gradient) else answer


KNOWING.append(CompiledFunction)


def _compiled_within(function: Any, memory: int | None) -> Any:
    return compile(function, memory=memory)


class CompiledModule(CompiledFunction[P, R]):
    """A compiled module: its parameters, methods and settings are the module's own."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "function":
            raise AttributeError(name)
        return getattr(self.function, name)
