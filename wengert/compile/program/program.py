"""The program: what a trace of a function is, before it becomes machine code.

A `Program` is a straight list of statements, each a call of a NumPy function (or one of the few in
`operations.py`) on values of known shape and dtype. Each value is assigned once. It prints as NumPy
source, and `run` interprets it with NumPy: what the compiled code must agree with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from wengert.compile.program.operations import OPERATIONS
from wengert.dispatch import Function
from wengert.history.location import line_of

Shape = tuple[int, ...]


class Value:
    """One array of a program: a shape and a dtype. `weak` marks a Python number's.

    `bounds` are what an int lies between, where that is known (see `trace/arrays/ints.py`). A
    `lent` input is memory that holds nothing, which a program may write at any time.
    """

    __slots__ = ("bounds", "dtype", "lent", "shape", "weak")

    def __init__(self, shape: Shape, dtype: Any, weak: bool = False) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.weak = weak
        self.bounds: tuple[int, int] | None = None
        self.lent = False

    @property
    def size(self) -> int:
        count = 1
        for n in self.shape:
            count *= n
        return count

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@dataclass(slots=True, eq=False, repr=False)
class Statement:
    """`outputs = function(*args, **kwargs)`; arguments may hold values, also in lists and tuples.

    `code` and `at` tell the user's line.
    """

    function: Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: tuple[Value, ...]
    code: Any = None
    at: int = 0
    _inputs: tuple[Value, ...] | None = field(default=None, init=False)

    @property
    def output(self) -> Value:
        (out,) = self.outputs
        return out

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The values among the arguments, in order, each as often as it occurs."""
        if self._inputs is None:  # passes ask twenty times
            self._inputs = tuple(self._found())
        return self._inputs

    def _found(self) -> list[Value]:
        values: list[Value] = []
        for arg in self.args:  # most are values
            if type(arg) is Value:
                values.append(arg)
            elif type(arg) in (tuple, list, dict):
                values.extend(values_in(arg))
        for arg in self.kwargs.values():
            values.extend(values_in(arg))
        return values

    def results(self, returned: Any) -> tuple[Any, ...]:
        """What a call has returned, one item for each output."""
        if len(self.outputs) == 1 and not isinstance(returned, (tuple, list)):
            return (returned,)
        return tuple(returned or ())

    @property
    def acts(self) -> bool:
        """Whether it is carried out even if no result needs it: a check; a random draw, for the
        next one of the generator depends on it; what other processes come to, and wait for."""
        return not self.outputs or getattr(self.function, "draws", False) or self.meets

    @property
    def meets(self) -> bool:
        """Whether other processes come to it: to all that comes before it, and may fail, too."""
        return getattr(self.function, "meets", False)

    @property
    def name(self) -> str:
        return name_of(self.function)

    def line(self) -> str:
        return line_of(self.code, self.at)

    def replaced(self, replace: Callable[[Value], Any]) -> Statement:
        """This statement with other values among its arguments."""
        args, kwargs = mapped(self.args, replace), mapped(self.kwargs, replace)
        return Statement(self.function, args, kwargs, self.outputs, self.code, self.at)

    def __repr__(self) -> str:
        return f"{', '.join(map(repr, self.outputs))} = {self.name}({self.args}, {self.kwargs})"


def values_in(item: Any) -> Iterator[Value]:
    """All values in an argument: itself, or within lists, tuples, dicts and slices."""
    kind = type(item)
    if kind is Value:
        yield item
    elif kind is tuple or kind is list:
        for part in item:
            if type(part) is not int:
                yield from values_in(part)
    elif kind is dict:
        for part in item.values():
            yield from values_in(part)


def mapped(item: Any, replace: Callable[[Value], Any]) -> Any:
    """An argument with its values replaced."""
    kind = type(item)
    if kind is Value:
        return replace(item)
    if kind is tuple or kind is list:
        return kind([mapped(part, replace) for part in item])
    if kind is dict:
        return {key: mapped(part, replace) for key, part in item.items()}
    return item


def name_of(function: Function) -> str:
    """A function as source spells it."""
    module = getattr(function, "__module__", None) or ""
    if isinstance(function, np.ufunc):
        home = "np." if getattr(np, function.__name__, None) is function else "special."
        return home + function.__name__
    if module == "scipy.special":
        return "special." + function.__name__
    if module.startswith("numpy"):
        return ("np.linalg." if "linalg" in module else "np.") + function.__name__
    return function.__name__


class Program:
    """A function as a list of statements.

    `inputs` are read from the caller's memory; `constants` hold arrays known when it was traced;
    `outputs` are handed back; `updates` says which inputs' memory receives which value at the end.
    `replacing` has the numbers of outputs that may be written over what somebody still sees, the
    gradients of the call before; and the inputs that these are, if the program reads them.
    """

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.names: dict[Value, str] = {}
        self.constants: dict[Value, np.ndarray[Any, Any]] = {}
        self.statements: list[Statement] = []
        self.outputs: list[Value] = []
        self.updates: dict[Value, Value] = {}
        self.replacing: dict[int, Value | None] = {}

    def input(self, shape: Shape, dtype: Any, name: str, weak: bool = False) -> Value:
        value = Value(shape, dtype, weak)
        self.inputs.append(value)
        self.names[value] = name
        return value

    def constant(self, array: np.ndarray[Any, Any]) -> Value:
        """The value of an array that the program keeps, in memory of its own."""
        value = Value(array.shape, array.dtype)
        self.constants[value] = np.array(array, order="C")
        return value

    @property
    def results(self) -> list[Value]:
        """All values that must exist at the end."""
        return [*self.outputs, *self.updates.values()]

    def makers(self) -> dict[Value, Statement]:
        """The statement that makes each value."""
        return {value: statement for statement in self.statements for value in statement.outputs}

    def users(self) -> dict[Value, list[Statement]]:
        """The statements that read each value."""
        users: dict[Value, list[Statement]] = {}
        for statement in self.statements:
            for value in dict.fromkeys(statement.inputs):
                users.setdefault(value, []).append(statement)
        return users

    def substitute(self, by: Mapping[Value, Any]) -> None:
        """Replace values everywhere; chains of replacements are followed."""

        def final(value: Value) -> Any:
            while type(value) is Value and value in by:
                value = by[value]
            return value

        if by:
            self.statements = [
                s if by.keys().isdisjoint(s.inputs) else s.replaced(final) for s in self.statements
            ]
            self.outputs = [final(v) for v in self.outputs]
            self.updates = {k: final(v) for k, v in self.updates.items()}

    # ---- checking ---------------------------------------------------------------------------

    def check(self) -> None:
        """AssertionError unless each value is assigned once, before it is used."""
        known = {*self.inputs, *self.constants}
        for statement in self.statements:
            for value in statement.inputs:
                assert value in known, f"{statement} uses a value before it is assigned"
            for value in statement.outputs:
                assert value not in known, f"{statement} assigns a value twice"
                known.add(value)
        for value in self.results:
            assert value in known, f"a result {value} is never assigned"
        for target, value in self.updates.items():
            assert target in self.inputs, "only inputs can be updated"
            assert (target.shape, target.dtype) == (value.shape, value.dtype), (
                f"an update of {target} with {value}"
            )

    # ---- running ----------------------------------------------------------------------------

    def run(self, arrays: list[Any]) -> list[Any]:
        """Interpret with NumPy: the outputs for these inputs, after which the updates are made."""
        store: dict[Value, Any] = dict(zip(self.inputs, arrays, strict=True))
        store |= self.constants
        for s in self.statements:
            returned = s.function(*mapped(s.args, store.__getitem__), **mapped(s.kwargs, store.get))
            for value, array in zip(s.outputs, s.results(returned), strict=True):
                store[value] = array if value.weak else np.asarray(array, value.dtype)
        outputs = [np.array(store[v]) for v in self.outputs]
        news = [(target, np.array(store[v])) for target, v in self.updates.items()]
        for target, new in news:
            store[target][...] = new
        return outputs

    # ---- printing ---------------------------------------------------------------------------

    writer: ClassVar[Callable[[Program], str]]
    """How programs are written: `source.py` says it, which leans on all else in this folder."""

    def __str__(self) -> str:
        return type(self).writer(self)

    def _repr_markdown_(self) -> str:
        """The source, as notebooks show Python."""
        return f"```python\n{self}\n```"


class Makers:
    """Which statement makes a value, asked while a program is written: each is looked at once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._seen: list[Statement] = program.statements
        self._count = 0
        self._last: Statement | None = None
        self._by_value: dict[Value, Statement] = {}

    def of(self, value: Value) -> Statement | None:
        """The maker of a value among the program's statements of now: none of an input."""
        statements, count = self.program.statements, self._count
        goes_on = statements is self._seen and count <= len(statements)
        if not goes_on or (count and statements[count - 1] is not self._last):
            count = 0  # a body is being written, or statements were taken back
            self._by_value.clear()
        if count < len(statements):
            for s in statements[count:]:
                self._by_value.update(dict.fromkeys(s.outputs, s))
            self._last = statements[-1]
        self._seen, self._count = statements, len(statements)
        return self._by_value.get(value)


assert OPERATIONS  # they are part of a program's vocabulary
