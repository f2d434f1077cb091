"""Whether operations are recorded: the modes of autograd, per thread.

The eager path asks one question, `if modes.special:`, whether there is a thread whose state is not
the default one. Everything rare hides behind it.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, Self, TypeVar, cast, overload

special: set[int] = set()
"""The threads in a state other than the default. None of them means: record, nothing unusual."""
pushing: set[int] = set()
"""The threads inside of a level of forward mode."""


F = TypeVar("F", bound=Callable[..., Any])


class State(NamedTuple):
    """What one thread does with the operations it runs. (Named tuples are quickest to change.)"""

    grad: bool = True
    inference: bool = False
    hooks: tuple[Callable[..., Any], Callable[..., Any]] | None = None
    hooks_refused: str | None = None
    anomaly: bool = False
    check_nan: bool = True
    check_forward: bool = False
    zeros: bool = False  # zero cotangents stay zero through singular derivatives
    clone_saved: Any = None
    numpy_code: bool = False  # code written for arrays is being differentiated
    creator: Any = None
    level: Any = None  # the innermost vmap
    duals: tuple[Any, ...] = ()  # the levels of forward mode, the outermost first
    functions: tuple[Any, ...] = ()  # who is asked first what a function means, the outermost first
    classes: bool = True  # classes of arguments are asked so


DEFAULT = State()
NO_GRAD = State(grad=False)
INFERENCE = State(grad=False, inference=True)
NUMPY = State(numpy_code=True)
ORDINARY = DEFAULT, NO_GRAD, INFERENCE, NUMPY
"""States that are one object each, however they came to be."""


class _Share:
    """What one thread has in the sets, by `key`. It may end in any mode, and takes that along."""

    __slots__ = ("entered", "key")

    def __init__(self) -> None:
        self.key = id(self)
        self.entered: list[Any] = []
        """The modes that are entered, with what they replaced, and what was entered; a mode alone
        where that is its `usual` state in the place of the default one.
        """

    def settle(self, state: State) -> None:
        """Have this thread in the sets as its state says.

        To do it again does no harm: after an interrupt in between, the next time puts it right.
        """
        (special.discard if state is DEFAULT else special.add)(self.key)
        (pushing.add if state.duals else pushing.discard)(self.key)

    def __del__(self) -> None:
        if special:
            self.settle(DEFAULT)


class _Local(threading.local):
    state = DEFAULT

    def __init__(self) -> None:
        self.share = _Share()


THREAD = _Local()


def current() -> State:
    return THREAD.state


def enter(state: State) -> State:
    """Make `state` this thread's state; gives back the one it replaces."""
    thread = THREAD
    before: State = thread.state
    if state is before:
        return before
    if state is not DEFAULT and state is not NO_GRAD and state in ORDINARY:
        state = ORDINARY[ORDINARY.index(state)]
    # In the sets for as long as the state may be another one, wherever an interrupt comes between.
    # Most have the same levels: none.
    levels = state.duals is not before.duals and bool(state.duals) != bool(before.duals)
    if state is not DEFAULT and (before is DEFAULT or levels):
        thread.share.settle(state)
    thread.state = state
    if state is DEFAULT:
        thread.share.settle(state)
    return before


def settle() -> None:
    """Have this thread in the sets as its state says, after an interrupt in between."""
    THREAD.share.settle(THREAD.state)


def is_grad_enabled() -> bool:
    """Whether operations of this thread are recorded.

    >>> is_grad_enabled()
    True
    """
    return not special or THREAD.state.grad


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`."""
    return bool(special) and THREAD.state.inference


class Mode:
    """A change of state, as a context manager and as a decorator of functions and generators.

    On the way out only the `fields` that the mode is about are put back: what was switched inside
    by a bare call, `set_grad_enabled(False)` within saved-tensor hooks, stays switched.
    """

    fields: tuple[str, ...] = ("grad",)
    usual: State | None = None
    """What it makes of the default state, if that is one object: most modes are entered there."""

    def _changed(self, state: State) -> State:
        raise NotImplementedError

    def _leave(self, before: State, entered: State) -> None:
        now = THREAD.state
        if now is not entered:
            before = now._replace(**{name: getattr(before, name) for name in self.fields})
        enter(before)

    def __enter__(self) -> Self:
        thread = THREAD
        share, before = thread.share, thread.state
        if before is DEFAULT and self.usual is not None:  # `enter`, without its calls
            special.add(share.key)
            thread.state = self.usual
            share.entered.append(self)
        else:
            enter(self._changed(before))
            share.entered.append((self, before, thread.state))
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        thread = THREAD
        share = thread.share
        entered = share.entered
        if entered and entered[-1] is self and thread.state is self.usual:
            entered.pop()
            thread.state = DEFAULT
            special.discard(share.key)
        else:
            self._leave(*self._taken(entered))

    def _taken(self, entered: list[Any]) -> tuple[State, State]:
        """What this mode, which may have been entered several times, replaced when it last was, and
        what was entered.
        """
        for k in range(len(entered) - 1, -1, -1):
            if entered[k] is self:
                del entered[k]
                return DEFAULT, cast("State", self.usual)
            if type(entered[k]) is tuple and entered[k][0] is self:
                _, before, now = entered.pop(k)
                return before, now
        return THREAD.state, THREAD.state  # a generator that another thread has begun

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            setattr(function, "__init__", self(function.__init__))  # noqa: B010  (no method is assigned)
            return function
        if inspect.isgeneratorfunction(function):
            generator: Any = self._around_generator(function)
            return generator

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        decorated: Any = inside
        return decorated

    def _around_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The mode holds while the generator's body runs, not while its caller does."""

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            body = function(*args, **kwargs)
            resume: Callable[[], Any] = functools.partial(next, body)
            while True:
                try:
                    with self:
                        item = resume()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield item
                except GeneratorExit:
                    with self:
                        body.close()
                    raise
                except BaseException as error:
                    resume = functools.partial(body.throw, error)
                else:
                    resume = functools.partial(body.send, sent)

        return inside


class _Switch(Mode):
    """A mode that decorates functions also without parentheses."""

    @overload
    def __new__(cls, function: None = None) -> Self: ...
    @overload
    def __new__(cls, function: F) -> F: ...  # type: ignore[misc]
    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        return object.__new__(cls) if function is None else object.__new__(cls)(function)


class no_grad(_Switch):
    """Operations inside are not recorded; their results do not require grad.

    Views and in-place changes of tensors that require grad are allowed. Works as a context manager
    and as a decorator.

    >>> import wengert as wg
    >>> x = wg.ones(2, requires_grad=True)
    >>> with wg.no_grad():
    ...     (2 * x).requires_grad
    False
    """

    usual = NO_GRAD

    def _changed(self, state: State) -> State:
        return NO_GRAD if state is DEFAULT or state is NO_GRAD else state._replace(grad=False)


class enable_grad(_Switch):
    """Operations inside are recorded, also within `no_grad`.

    >>> import wengert as wg
    >>> x = wg.ones(2, requires_grad=True)
    >>> with wg.no_grad(), wg.enable_grad():
    ...     (2 * x).requires_grad
    True
    """

    def _changed(self, state: State) -> State:
        return DEFAULT if state is NO_GRAD or state is DEFAULT else state._replace(grad=True)


class set_grad_enabled(Mode):
    """Switch recording on or off: at once when called, and back at the end when used in `with`.

    >>> import wengert as wg
    >>> with wg.set_grad_enabled(False):
    ...     wg.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                f"set_grad_enabled takes a bool, True or False, but got {type(mode).__name__}. "
                "As a decorator write @set_grad_enabled(False)."
            )
        self.mode = mode
        # It acts at once; `with` and decorating make it a scope after all.
        self._outer: State | None = enter(current()._replace(grad=mode))

    def _undo(self) -> None:
        if self._outer is not None:
            grad, self._outer = self._outer.grad, None
            enter(current()._replace(grad=grad))

    def __enter__(self) -> Self:
        self._undo()
        return super().__enter__()

    def __call__(self, function: F) -> F:
        self._undo()
        return super().__call__(function)

    def _changed(self, state: State) -> State:
        return state._replace(grad=self.mode)


class inference_mode(Mode):
    """Like `no_grad`, and tensors made inside may never take part in autograd later.

    They carry no version counter. `inference_mode(False)` leaves the mode within it.

    >>> import wengert as wg
    >>> with wg.inference_mode():
    ...     y = wg.ones(2) * 2
    >>> y.is_inference()
    True
    """

    fields = ("grad", "inference")

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        self.mode = True
        return self(mode) if callable(mode) else self

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def _changed(self, state: State) -> State:
        return state._replace(inference=self.mode, grad=not self.mode)
