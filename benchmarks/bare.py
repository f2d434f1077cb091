"""What NumPy's own calls take of an operation: a bound, where functions of NumPy compute it.

The operation runs once on arrays that note each call of NumPy which it comes to, with the plain
arrays that the call is of; these calls alone are timed. Where machine code or fewer calls compute
an operation of plain arrays, it may take less.
"""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from wengert.arrays.facts import COMPOSED
from wengert.arrays.kind import Kind
from wengert.arrays.methods import ArrayMethods
from wengert.errors import TracingError
from wengert.functions.random import default_generator
from wengert.rules import RULES
from wengert.tensor import Tensor


class Heard(Kind):
    """The calls of one run, in order."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.inside: set[Any] = set()

    def answer(self, function: Any, args: Any, kwargs: Any) -> Any:
        steps = self.steps(function)
        if steps is not None and function not in self.inside:
            self.inside.add(function)
            try:
                return steps(*args, **kwargs)
            finally:
                self.inside.discard(function)
        return self.noted(function, args, kwargs)

    def noted(self, function: Any, args: Any, kwargs: Any) -> Any:
        call = partial(function, *_plain(args), **_plain(kwargs))
        result = call()
        if not isinstance(result, bool | int | np.dtype) and function is not np.shape:
            self.calls.append(call)  # not what only asks for a fact
        return self.heard(result)

    def steps(self, function: Any) -> Any:
        """What a function is written in, if that is NumPy's functions."""
        if getattr(function, "body", None) and not function.opaque:
            return function.body
        if function in COMPOSED and function not in RULES:
            return lambda *args, **kwargs: self.composed(COMPOSED[function], args, kwargs)
        return None

    def heard(self, x: Any) -> Any:
        if isinstance(x, tuple | list):
            return tuple(map(self.heard, x))
        return HeardArray(np.asarray(x), self) if isinstance(x, np.ndarray | np.generic) else x


class HeardArray(ArrayMethods):
    """A plain array, `value`, whose calls are noted."""

    __slots__ = ("kind", "value")
    base = None

    def __init__(self, value: Any, kind: Heard) -> None:
        self.value, self.kind = value, kind

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.value, dtype)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return self.value.__index__()

    def __deepcopy__(self, memo: Any) -> "HeardArray":
        return HeardArray(self.value.copy(), self.kind)

    def item(self, *index: Any) -> Any:
        return self.value.item(*index)

    def tolist(self) -> Any:
        return self.value.tolist()


for _name in ("shape", "dtype", "ndim", "strides", "flags"):
    setattr(HeardArray, _name, property(lambda self, name=_name: getattr(self.value, name)))


class _Dice(np.random.Generator):
    """A generator of NumPy's whose draws are noted."""

    def __new__(cls, numbers: np.random.Generator, kind: Heard) -> "_Dice":
        dice = super().__new__(cls)
        dice.__dict__["_noting"] = numbers, kind
        return dice

    def __init__(self, numbers: np.random.Generator, kind: Heard) -> None:
        super().__init__(numbers.bit_generator)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            return super().__getattribute__(name)
        numbers, kind = self._noting
        return lambda *args, **kwargs: kind.noted(getattr(numbers, name), args, kwargs)


def _plain(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return type(x)(map(_plain, x))
    if isinstance(x, dict):
        return {key: _plain(item) for key, item in x.items()}
    return x.value if isinstance(x, HeardArray) else x


@contextlib.contextmanager
def _drawing(kind: Heard) -> Iterator[None]:
    numbers = default_generator._numbers
    default_generator._numbers = _Dice(numbers, kind)
    try:
        yield
    finally:
        default_generator._numbers = numbers


def drawn_in(run: Callable[[], object]) -> list[Any]:
    """What a run draws of NumPy's generator, as it does without being listened to."""
    kind = Heard()
    with _drawing(kind):
        run()
    return kind.calls


def heard_in(run: Callable[[], object], tensors: list[Tensor]) -> list[Any]:
    """NumPy's calls in a run on these tensors, which keep their arrays."""
    kind, arrays = Heard(), [x._array for x in tensors]
    try:
        for x in tensors:
            x._array = HeardArray(x._array, kind)
        run()
    except TracingError:
        kind.calls.clear()  # it is machine code's alone
    finally:
        for x, array in zip(tensors, arrays, strict=True):
            x._array = array
    return kind.calls


def calls(run: Callable[[], object], tensors: list[Tensor]) -> Callable[[], None]:
    """These calls as one function: draws alone, where there are some."""
    heard = drawn_in(run) or heard_in(run, tensors)

    def again() -> None:
        for call in heard:
            call()

    return again
