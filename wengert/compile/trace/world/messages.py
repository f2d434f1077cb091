"""Messages: what `print` and loggers are told, each call of the program tells them anew.

They come when all else is done, in their order, from the user's line. Values are told as they were
when the message was given: one that is written later is refused.
"""

from __future__ import annotations

import functools
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from wengert.compile.trace.arrays.array import TracedArray
from wengert.compile.trace.arrays.storage import Storage
from wengert.compile.trace.observe.objects import ATOMS
from wengert.compile.trace.world.readings import package_of
from wengert.errors import TracingError
from wengert.history.location import line_of
from wengert.tensor import Tensor

SPEAKS = frozenset(
    {"print", "warn", "warn_explicit", "debug", "info", "warning", "error", "exception"}
    | {"critical", "fatal", "log", "write", "writelines", "flush", "show"}
)


def speaks(callee: Any) -> bool:
    """Whether what a call does is to give a message."""
    return getattr(callee, "__name__", "") in SPEAKS


def is_of_place(callee: Any) -> bool:
    """Whether a message is given once for each line, as warnings are: then the trace gives it."""
    return package_of(callee) == "warnings"


def is_told(x: Any) -> bool:
    """Whether a message can be given of a value later: it holds nothing that may change, or what
    is known to have changed.
    """
    if type(x) is list or isinstance(x, tuple):
        return all(map(is_told, x))
    if type(x) is dict:
        return all(map(is_told, (*x, *x.values())))
    known = type(x) in ATOMS or isinstance(x, type | np.generic | np.dtype)
    return known or _array(x) is not None


def _array(x: Any) -> TracedArray | None:
    array = x._array if isinstance(x, Tensor) else x
    return array if type(array) is TracedArray else None


def arrays_in(x: Any) -> list[TracedArray]:
    if isinstance(x, list | tuple):
        return [array for part in x for array in arrays_in(part)]
    if type(x) is dict:
        return arrays_in([*x, *x.values()])
    array = _array(x)
    return [] if array is None else [array]


class Message:
    """Gives a message from a line of the user's: loggers tell where they are called."""

    def __init__(self, callee: Any, frame: Any, given: Any) -> None:
        code = _speak.__code__.replace(
            co_filename=frame.f_code.co_filename,
            co_name=frame.f_code.co_name,
            co_qualname=frame.f_code.co_qualname,
            co_firstlineno=frame.f_lineno,
        )
        speak = FunctionType(code, frame.f_globals, frame.f_code.co_name)
        self.give = functools.partial(speak, callee)
        self.at: tuple[CodeType, int] = frame.f_code, frame.f_lasti
        self.told: list[tuple[Storage, Any]] = [
            (array.storage, array.storage.value) for array in arrays_in(given)
        ]

    def __call__(self, *args: Any, **named: Any) -> None:
        self.give(*args, **named)

    def check(self) -> None:
        """What is told is as it was."""
        for storage, value in self.told:
            if storage.value is not value:
                raise TracingError(
                    "a message tells a tensor or an array that is written afterwards, at\n"
                    f"  {line_of(*self.at)}\nA compiled function gives its messages when all else "
                    "is done. Give a clone(), or give the message at the end."
                )
        self.told.clear()


# On one line, which becomes the user's.
_speak: Any = lambda callee, /, *args, **named: callee(*args, **named)
