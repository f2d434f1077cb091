"""Operations under way: what `async_op=True` returns, and what can be asked of it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from wengert.distributed.transport import Pending

Timeout = float | datetime.timedelta | None

WAIT = 1800.0
"""Seconds that an operation waits for the other ranks, unless told otherwise; as in PyTorch."""


def seconds(timeout: Timeout) -> float:
    """A timeout as a number; ValueError if it is not positive.

    >>> seconds(datetime.timedelta(minutes=1)), seconds(None)
    (60.0, 1800.0)
    """
    if timeout is None:
        return WAIT
    value = timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else float(timeout)
    if not value > 0:
        raise ValueError(f"timeout={timeout} is not a positive time")
    return value


class Work:
    """An operation under way.

    What was handed to the operation must not be read or written before `wait` has returned.
    `finish` is called once, when the transfer is done, and returns the tensors that were written.
    """

    def __init__(
        self, pending: Pending, finish: Callable[[], Any] | None = None, timeout: float = WAIT
    ) -> None:
        self._pending = pending
        self._finish = finish
        self._timeout = timeout
        self._error: BaseException | None = None
        self._result: Any = None
        self._done = False

    def wait(self, timeout: Timeout = None) -> bool:
        """Return True when it is done. What went wrong is raised."""
        if self._error is not None:
            raise self._error
        try:
            self._pending.wait(self._timeout if timeout is None else seconds(timeout))
            self._end()
        except BaseException as error:
            self._error = error
            raise
        return True

    def is_completed(self) -> bool:
        """Whether it is done, or has gone wrong; never waits."""
        if self._done or self._error is not None:
            return True
        try:
            if not self._pending.poll():
                return False
            self._end()
        except Exception as error:
            self._error = error
        return True

    def go_on(self) -> None:
        """Have it go on while nobody waits."""
        self._pending.drive()

    def _end(self) -> None:
        if not self._done:
            self._done = True
            if self._finish is not None:
                self._result = self._finish()
                self._finish = None

    def is_success(self) -> bool:
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        return self._error

    def result(self) -> list[Any]:
        """The tensors that the operation wrote."""
        self.wait()
        return [] if self._result is None else self._result

    def source_rank(self) -> int:
        """The sender of what `irecv` received."""
        self.wait()
        return self._pending.source  # type: ignore[attr-defined]

    def get_future(self) -> Future:
        """The operation as a future, whose value is the list of the tensors it writes."""
        return Future(self.result)


class Future:
    """A value that is worked out when it is first waited for.

    >>> Future(lambda: 2).then(lambda future: future.wait() + 1).wait()
    3
    """

    def __init__(self, make: Callable[[], Any] | None = None) -> None:
        self._make = make
        self._value: Any = None

    def wait(self) -> Any:
        if self._make is not None:
            self._value, self._make = self._make(), None
        return self._value

    value = wait

    def done(self) -> bool:
        return self._make is None

    def set_result(self, value: Any) -> None:
        self._value, self._make = value, None

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The future of what `callback` makes of this one."""
        return Future(lambda: callback(self))
