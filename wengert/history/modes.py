"""Whether operations are recorded: the modes of autograd, per thread.

The eager path asks one question, `if modes.special:`, an integer that counts the threads whose
state is not the default one. Everything rare hides behind it.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

special = 0
"""How many threads are in a state other than the default. Zero means: record, nothing unusual."""


@dataclass(frozen=True, slots=True)
class State:
    """What one thread does with the operations it runs."""

    grad: bool = True
    inference: bool = False
    hooks: tuple[Callable[..., Any], Callable[..., Any]] | None = None
    hooks_refused: str | None = None
    anomaly: bool = False
    check_nan: bool = True
    clone_saved: Any = None
    creator: Any = None


DEFAULT = State()
_lock = threading.Lock()


class _Local(threading.local):
    state = DEFAULT


_local = _Local()


def current() -> State:
    return _local.state


def enter(state: State) -> State:
    """Make `state` this thread's state; gives back the one it replaces."""
    global special
    before = _local.state
    if state == DEFAULT:
        state = DEFAULT
    with _lock:
        special += (state is not DEFAULT) - (before is not DEFAULT)
    _local.state = state
    return before


def is_grad_enabled() -> bool:
    """Whether operations of this thread are recorded.

    >>> is_grad_enabled()
    True
    """
    return not special or _local.state.grad


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`."""
    return bool(special) and _local.state.inference


class Mode:
    """A change of state, as a context manager and as a decorator of functions and generators."""

    def _changed(self, state: State) -> State:
        raise NotImplementedError

    def __enter__(self) -> Self:
        # One object may be entered again while it is active (a recursive decorated function).
        stack = self.__dict__.setdefault("_before", [])
        stack.append(enter(self._changed(current())))
        return self

    def __exit__(self, *exception: object) -> None:
        enter(self.__dict__["_before"].pop())

    def _again(self) -> Mode:
        return self

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(function):
            function.__init__ = self(function.__init__)  # type: ignore[misc]
            return function
        if inspect.isgeneratorfunction(function):
            return self._around_generator(function)

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return inside

    def _around_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The mode holds while the generator's body runs, not while its caller does."""

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            body = function(*args, **kwargs)
            resume: Callable[[], Any] = functools.partial(next, body)
            while True:
                try:
                    with self._again():
                        item = resume()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield item
                except GeneratorExit:
                    with self._again():
                        body.close()
                    raise
                except BaseException as error:
                    resume = functools.partial(body.throw, error)
                else:
                    resume = functools.partial(body.send, sent)

        return inside


class no_grad(Mode):
    """Operations inside are not recorded; their results do not require grad.

    Views and in-place changes of tensors that require grad are allowed. Works as a context manager
    and as a decorator.

    >>> import wengert as wg
    >>> x = wg.ones(2, requires_grad=True)
    >>> with wg.no_grad():
    ...     (2 * x).requires_grad
    False
    """

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        mode = super().__new__(cls)
        return mode if function is None else mode(function)

    def _changed(self, state: State) -> State:
        return replace(state, grad=False)


class enable_grad(Mode):
    """Operations inside are recorded, also within `no_grad`.

    >>> import wengert as wg
    >>> x = wg.ones(2, requires_grad=True)
    >>> with wg.no_grad(), wg.enable_grad():
    ...     (2 * x).requires_grad
    True
    """

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        mode = super().__new__(cls)
        return mode if function is None else mode(function)

    def _changed(self, state: State) -> State:
        return replace(state, grad=True)


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
                f"set_grad_enabled takes True or False, got {type(mode).__name__}. As a decorator "
                "write @set_grad_enabled(False)."
            )
        self.mode = mode
        self._outer = enter(replace(current(), grad=mode))
        self._entered = False

    def __enter__(self) -> Self:
        if self._entered:
            return super().__enter__()
        self._entered = True
        self.__dict__.setdefault("_before", []).append(self._outer)
        enter(replace(current(), grad=self.mode))
        return self

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        enter(self._outer)  # as a decorator it must not act at once
        return super().__call__(function)

    def _again(self) -> Mode:
        return no_grad() if not self.mode else enable_grad()

    def _changed(self, state: State) -> State:
        return replace(state, grad=self.mode)


class inference_mode(Mode):
    """Like `no_grad`, and tensors made inside may never take part in autograd later.

    They carry no version counter. `inference_mode(False)` leaves the mode within it.

    >>> import wengert as wg
    >>> with wg.inference_mode():
    ...     y = wg.ones(2) * 2
    >>> y.is_inference()
    True
    """

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        self.mode = True
        return self(mode) if callable(mode) else self

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def _changed(self, state: State) -> State:
        return replace(state, inference=self.mode, grad=not self.mode)
