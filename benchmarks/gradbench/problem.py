"""What a problem of GradBench is: the fields of its inputs, its functions, its sizes.

Each problem's file states its mathematics as a user of wengert would. The fields are described
once, such as `{"x": "n d", "gamma": "number"}`, and everything else follows: what is read from a
message, and the error that tells what is wrong with one.
"""

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Arguments = tuple[Any, ...]  # what a problem's functions take: arrays and numbers
Function = Callable[..., Any]


class InputError(ValueError):
    """What is wrong with the input of a problem: a sentence for whoever sent it."""


@dataclass(frozen=True)
class Workload:
    """One size of a problem: the name that GradBench gives it, and how its input is made."""

    name: str
    fields: Callable[[], Mapping[str, Any]]


def nested(result: Any) -> Any:
    """Arrays as the lists of numbers that JSON has.

    >>> nested({"alpha": np.arange(2.0), "rows": [np.float64(3)]})
    {'alpha': [0.0, 1.0], 'rows': [3.0]}
    """
    if isinstance(result, Mapping):
        return {name: nested(part) for name, part in result.items()}
    if isinstance(result, tuple | list):
        return [nested(part) for part in result]
    return np.asarray(result).tolist()


@dataclass(frozen=True)
class Problem:
    """One of the twelve.

    `functions` take what `prepare` makes of the fields; `answer` makes of their result what the
    protocol sends, outside the measured time. `values` and `derivatives` are their names for the
    table. `workloads` gives the sizes of the table, with the data of a folder if there is one;
    `work` what the cost of an input is in proportion to, for the plots.
    """

    fields: Mapping[str, str]
    functions: Mapping[str, Function]
    workloads: Callable[[Path | None], Iterable[Workload]]
    derivatives: tuple[str, ...]
    prepare: Callable[..., Arguments] = lambda **fields: tuple(fields.values())
    answer: Callable[[str, Any], Any] = lambda function, result: nested(result)
    work: Callable[..., int] | None = None
    repeated: bool = True  # whether inputs say how often and how long to run
    shown: int | None = None  # how many of the workloads the table chooses from; None: all

    def arguments(self, message: Any) -> Arguments:
        """What the functions take, from the fields of a message. InputError if they do not fit."""
        return self.prepare(**read(message, self.fields))


def read(message: Any, kinds: Mapping[str, str]) -> dict[str, Any]:
    """The fields as numbers and arrays, each of the kind that is described for it.

    A kind is "number", "integer", "table" (an object), "size n" (an integer that has to agree with
    the arrays), or the sizes of an array: "n d", "2l 4b" for even numbers of rows and
    multiples of four columns, "int p" for integers, where "*" stands for any size. Sizes that have
    a name are not 0, numbers neither inf nor NaN.

    >>> read({"n": 2, "x": [[1, 2, 3], [4, 5, 6]]}, {"n": "size n", "x": "n d"})["x"].shape
    (2, 3)
    >>> read({"n": 3, "x": [[1, 2, 3], [4, 5, 6]]}, {"n": "size n", "x": "n d"})
    Traceback (most recent call last):
    benchmarks.gradbench.problem.InputError: field x has 2 for its size n, which is 3 in field n
    """
    if not isinstance(message, Mapping):
        raise InputError(f"the input is an object with the fields {', '.join(kinds)}")
    if missing := [name for name in kinds if name not in message]:
        raise InputError(f"the input lacks the field {', '.join(missing)}")
    sizes: dict[str, tuple[int, str]] = {}
    return {name: _field(name, message[name], kind, sizes) for name, kind in kinds.items()}


def _field(name: str, value: Any, kind: str, sizes: dict[str, tuple[int, str]]) -> Any:
    if kind == "table":
        if not isinstance(value, Mapping):
            raise InputError(f"field {name} is an object, not {_shown(value)}")
        return value
    if kind == "number":
        if not _is_number(value):
            raise InputError(f"field {name} is a number, not {_shown(value)}")
        return float(value)
    words = kind.split()
    if kind == "integer" or words[0] == "size":
        if not _is_number(value) or value != int(value) or value < (kind != "integer"):
            positive = "an " if kind == "integer" else "a positive "
            raise InputError(f"field {name} is {positive}integer, not {_shown(value)}")
        if kind != "integer":
            _agree(name, words[1], int(value), sizes)
        return int(value)
    integers = words[0] == "int"
    array = _array(name, value, np.int64 if integers else np.float64)
    expected = words[integers:]
    if array.size == 0 and array.ndim < len(expected):  # no rows say nothing of their length
        array = array.reshape(0, *[1] * (len(expected) - 1))
        expected = [expected[0], *["*"] * (len(expected) - 1)]
    if array.ndim != len(expected):
        raise InputError(
            f"field {name} has {array.ndim} dimensions, and should have {len(expected)}: {kind}"
        )
    for size, found in zip(expected, array.shape, strict=True):
        _agree(name, size, found, sizes)
    return array


def _array(name: str, value: Any, dtype: type) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError:
        raise InputError(f"field {name} has rows of different lengths") from None
    if array.size and array.dtype.kind not in "iuf":
        raise InputError(f"field {name} holds numbers, not {_shown(value)}")
    if not np.isfinite(array).all():
        raise InputError(f"field {name} holds finite numbers, and one of its numbers is not")
    if dtype is np.int64 and array.dtype.kind == "f" and np.any(array != np.trunc(array)):
        raise InputError(f"field {name} holds integers, and one of its numbers is none")
    return np.ascontiguousarray(array, dtype).reshape(array.shape)


def _agree(name: str, size: str, found: int, sizes: dict[str, tuple[int, str]]) -> None:
    if size == "*":
        return
    if size.isdigit():
        if found != int(size):
            raise InputError(f"field {name} has {found} where it should have {size}")
        return
    pattern = re.fullmatch(r"(\d*)(\w+)", size)
    assert pattern is not None, size
    times, size = int(pattern[1] or 1), pattern[2]
    if found % times:
        raise InputError(f"field {name} has {found} where it should have a multiple of {times}")
    if not found:
        raise InputError(f"field {name} has nothing along its size {size}")
    known, where = sizes.setdefault(size, (found // times, name))
    if known != found // times:
        raise InputError(
            f"field {name} has {found // times} for its size {size}, "
            f"which is {known} in field {where}"
        )


def _is_number(value: Any) -> bool:
    """Whether it is a finite number."""
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        return False
    return abs(value) <= sys.float_info.max


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def generator() -> np.random.Generator:
    """The same numbers for every process and every peer."""
    return np.random.default_rng(31337)
