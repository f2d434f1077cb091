"""Places: where a call finds what it reads, and puts what the function wrote.

A *place* says how to come to an object: an argument, a known object, what a dictionary has under a
key. All that a call does is said in terms of places: an `Array` or a `Number` read from one, a
`Guard` on what must be there, and a `Write`. So one description gives what is fetched at each call,
the condition on which a program may be used again, and the sentence that says why it may not.

`call/entry/entries.py` makes a call of such a description.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from types import CellType, EllipsisType, FunctionType
from typing import Any, ClassVar, get_args

import numpy as np

from wengert.arrays.memory import offset
from wengert.compile.trace.observe.events import MISSING as MISSING
from wengert.compile.trace.observe.objects import ATOMS, CONTAINERS, base_of, contents, static
from wengert.compile.trace.observe.objects import PLAIN as PLAIN
from wengert.compile.trace.observe.objects import same as same
from wengert.compile.trace.observe.stubs import code_of
from wengert.compile.trace.observe.users import is_of_user
from wengert.compile.trace.world.readings import Reading
from wengert.compile.trace.world.state import held_by
from wengert.dispatch import errors_pass
from wengert.errors import WengertError
from wengert.history.node import AccumulateGrad, Node
from wengert.tensor import Tensor, is_leaf, wrap

INT64 = -(2**63), 2**63 - 1


def is_number(x: Any) -> bool:
    """Whether an argument is a number that programs read: a float, or one of NumPy's."""
    if isinstance(x, np.floating | np.integer | np.bool_):
        return x.dtype.kind in "fiub" and x.dtype.isbuiltin == 1 and x.dtype.itemsize <= 8
    return type(x) is float


# ---- where --------------------------------------------------------------------------------------
# `read` gives what is there now, for a call with these flattened arguments. What a user's class
# does beside is in the program already, or is asked by itself: containers are those of Python.


class _Place:
    """`words` say of its fields what is there: {1} is the class of the first one."""

    __slots__ = ()
    words: ClassVar[str]

    def __str__(self) -> str:
        held = (getattr(self, name) for name in _FIELDS[type(self)])
        return self.words.format(self, *(type(x).__name__ for x in held))


@dataclass(frozen=True, slots=True)
class Argument(_Place):
    """The argument of this number among the flattened ones."""

    number: int
    words = "argument {0.number}"

    def read(self, flat: Any) -> Any:
        return flat[self.number]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """This very object: a tensor or an array that the function found around it."""

    object: Any

    def __str__(self) -> str:
        x = self.object
        return f"a tensor of shape {list(x.shape)}" if isinstance(x, Tensor) else _shown(x)

    def read(self, flat: Any) -> Any:
        return self.object


@dataclass(frozen=True, slots=True, eq=False)
class Item(_Place):
    """What a dictionary has under a key: a global, an attribute, a setting."""

    mapping: dict[Any, Any]
    key: Any
    words = "{0.key}"

    def read(self, flat: Any) -> Any:
        return base_of(self.mapping).get(self.mapping, self.key, MISSING)

    def write(self, value: Any, flat: Any) -> None:
        own: Any = base_of(self.mapping)
        if value is not MISSING:
            own.__setitem__(self.mapping, self.key, value)
        elif own.__contains__(self.mapping, self.key):
            own.__delitem__(self.mapping, self.key)


@dataclass(frozen=True, slots=True, eq=False)
class Element(_Place):
    """What a list has at an index."""

    items: list[Any]
    index: int
    words = "element {0.index} of a list"

    def read(self, flat: Any) -> Any:
        there = self.index < list.__len__(self.items)
        return list.__getitem__(self.items, self.index) if there else MISSING

    def write(self, value: Any, flat: Any) -> None:
        list.__setitem__(self.items, self.index, value)


@dataclass(frozen=True, slots=True, eq=False)
class Length(_Place):
    """How many items a list, a dictionary or a set has."""

    container: list[Any] | dict[Any, Any] | set[Any]
    words = "the length of a {1}"

    def read(self, flat: Any) -> Any:
        return base_of(self.container).__len__(self.container)


@dataclass(frozen=True, slots=True, eq=False)
class Contents(_Place):
    """All that a container holds, in order; of a dictionary its keys, then what they lead to."""

    container: Any
    words = "what a {1} holds"

    def read(self, flat: Any) -> Any:
        return contents(self.container)


@dataclass(frozen=True, slots=True, eq=False)
class Presence(_Place):
    """Whether a container has a key."""

    owner: Any
    key: Any
    words = "whether there is {0.key!r}"

    def read(self, flat: Any) -> Any:
        try:
            return base_of(self.owner).__contains__(self.owner, self.key)
        except Exception:  # neither: the function itself meets it where it belongs
            return MISSING


@dataclass(frozen=True, slots=True, eq=False)
class Named(_Place):
    """Whether an object has an attribute."""

    owner: Any
    name: str
    words = "whether there is {0.name!r}"

    def read(self, flat: Any) -> Any:
        try:
            return hasattr(self.owner, self.name)
        except Exception:  # neither, as above
            return MISSING


@dataclass(frozen=True, slots=True, eq=False)
class State(_Place):
    """All that an object of a library holds."""

    owner: Any
    words = "what a {1} holds"

    def read(self, flat: Any) -> Any:
        return held_by(self.owner)


@dataclass(frozen=True, slots=True, eq=False)
class Bits(_Place):
    """The numbers in an array at a place."""

    array: Place
    words = "the numbers in {0.array}"

    def read(self, flat: Any) -> Any:
        return self.tell(array_at(self.array, flat))

    def tell(self, x: Any) -> Any:
        return (x.shape, x.dtype.str, x.tobytes()) if isinstance(x, np.ndarray) else MISSING


@dataclass(frozen=True, slots=True)
class Told(_Place):
    """What is told of the object at a place, by a name."""

    of: Place
    name: str
    words = "{0.name} of {0.of}"

    def read(self, flat: Any) -> Any:
        return self.tell(self.of.read(flat))

    def tell(self, x: Any) -> Any:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Offset(Told):
    """How many elements of its storage come before the first of an array."""

    name: str = "the storage offset"

    def tell(self, x: Any) -> Any:
        array = x._array if isinstance(x, Tensor) else x
        return offset(array) if isinstance(array, np.ndarray) else MISSING


@dataclass(frozen=True, slots=True)
class Past(Told):
    """What a tensor says of its past; of an object its class."""

    def tell(self, x: Any) -> Any:
        try:
            told = getattr(x, self.name)
            told = told() if callable(told) else told
        except WengertError as error:  # which the function gets where it asks
            return type(error)
        return told if type(told) in ATOMS else type(told)


@dataclass(frozen=True, slots=True)
class Own(Told):
    """An attribute that the user has given a tensor."""

    def tell(self, x: Any) -> Any:
        return getattr(x, "__dict__", {}).get(self.name, MISSING)

    def write(self, value: Any, flat: Any) -> None:
        Attribute(self.of.read(flat), self.name).write(value, flat)


@dataclass(frozen=True, slots=True)
class Recorded(Told):
    """What kind of history a tensor has."""

    name: str = "requires_grad"
    words = "{0.name} of {0.of}, or what computed it,"

    def tell(self, x: Any) -> Any:
        return history_of(x)


def history_of(x: Tensor) -> Any:
    """None where nothing is recorded, `AccumulateGrad` of a leaf, `Node` of what was computed.

    A sweep ends at a leaf, and goes on from what was computed to where no trace has been.
    """
    return (AccumulateGrad if is_leaf(x) else Node) if x.requires_grad else None


def is_own(x: Tensor, name: str) -> bool:
    """Whether an attribute is the user's, if the tensor itself has it.

    What the tensor has comes before what its class has, but for what the class keeps in a place of
    its own; and the engine keeps there what it declares of tensors.
    """
    return name not in Tensor.__annotations__ and not hasattr(
        type(static(type(x), name)), "__set__"
    )


def is_hideable(x: Tensor, name: str) -> bool:
    """Whether a tensor's class has an attribute that one of the tensor's own would hide."""
    return static(type(x), name) is not None and is_own(x, name)


def own_of(x: Tensor) -> dict[str, Any]:
    """The attributes that the user has given a tensor."""
    return {name: value for name, value in vars(x).items() if is_own(x, name)}


@dataclass(frozen=True, slots=True)
class Arithmetic(_Place):
    """Whether errors of arithmetic, as divisions by zero, pass in this thread."""

    words = "whether errors of arithmetic pass, as np.seterr says,"

    def read(self, flat: Any) -> Any:
        return errors_pass()


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """The class of an object."""

    owner: Any

    def __str__(self) -> str:
        return f"the class of {_shown(self.owner)}"

    def read(self, flat: Any) -> Any:
        return type(self.owner)


@dataclass(frozen=True, slots=True, eq=False)
class Code(_Place):
    """A function's code."""

    function: FunctionType
    words = "the code of {0.function.__name__}"

    def read(self, flat: Any) -> Any:
        return code_of(self.function)


@dataclass(frozen=True, slots=True, eq=False)
class Variable(_Place):
    """What a variable of an enclosing function holds."""

    cell: CellType
    words = "a variable of an enclosing function"

    def read(self, flat: Any) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return MISSING

    def write(self, value: Any, flat: Any) -> None:
        if value is MISSING:
            del self.cell.cell_contents
        else:
            self.cell.cell_contents = value


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """An attribute of a known object, however it comes by it."""

    owner: Any
    name: str

    def __str__(self) -> str:
        if type(self.owner) is Reading:
            return str(self.owner)
        return f"{self.name} of {Known(self.owner)}"

    def read(self, flat: Any) -> Any:
        try:
            return getattr(self.owner, self.name)
        except Exception:  # the function itself meets it where it belongs
            return MISSING

    def write(self, value: Any, flat: Any) -> None:
        if value is not MISSING:
            setattr(self.owner, self.name, value)
            return
        with contextlib.suppress(AttributeError):  # what was given and taken is not there
            delattr(self.owner, self.name)


@dataclass(frozen=True, slots=True)
class Gradient(_Place):
    """The gradient of a tensor, a tensor or None."""

    tensor: Place
    words = "the gradient of {0.tensor}"

    def read(self, flat: Any) -> Any:
        return self.tensor.read(flat)._grad

    def write(self, value: Any, flat: Any) -> None:
        given = value is None or isinstance(value, Tensor)
        self.tensor.read(flat)._grad = value if given else wrap(value)


@dataclass(frozen=True, slots=True)
class Cotangent:
    """The cotangent of a differentiable result: not there at the call, it comes from behind."""

    number: int

    def read(self, flat: Any) -> Any:
        raise AssertionError(self)


Place = (
    Argument | Known | Item | Element | Length | Contents | Presence | Named | State | Bits | Told
    | Arithmetic | Class | Code | Variable | Attribute | Gradient | Cotangent
)  # fmt: skip


def array_at(place: Place, flat: Any) -> Any:
    """The array at a place, that of the tensor if there is one; or the number."""
    x = place.read(flat)
    return x._array if isinstance(x, Tensor) else x


# ---- what is read -------------------------------------------------------------------------------
# A buffer is a number: an entry of the table of addresses that the machine code is called with.


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """An array in a buffer: in the machine's byte order, row-major and aligned.

    With a `type` it is that of a Tensor of exactly this type, with a `history` of this kind, or of
    any if that is `...`; else it is a numpy.ndarray. One that is `written` must be writeable. One
    that comes in has other `strides` (in bytes) if they are given, any if that is `...`, and is
    copied: programs are for one layout.
    """

    buffer: int
    dtype: np.dtype
    shape: tuple[int, ...]
    type: type[Tensor] | None = None
    written: bool = False
    history: Any = None
    strides: tuple[int, ...] | EllipsisType | None = None
    node: Any = None  # of one that goes out: the history that its Tensor has
    origin: Any = None  # what inference mode has marked it with
    scalar: bool = False  # of one that goes out: NumPy's number of no dimensions

    @property
    def nbytes(self) -> int:
        count = self.dtype.itemsize
        for n in self.shape:
            count *= n
        return int(count)


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A number of exactly this type, Python's or one of NumPy's; an int within these bounds."""

    buffer: int
    type: type[Any]
    bounds: tuple[int, int] = INT64


@dataclass(frozen=True, slots=True, eq=False)
class Input:
    """What a call reads: of this form, from this place.

    `writes` is how often it writes to the tensor: by so much its version goes up. Nothing may have
    written to it since the node at the place `since` was made.
    """

    place: Place
    form: Array | Number
    writes: int = 0
    since: Argument | None = None


# ---- what must hold -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """At a place must be this object; with `equal=False`, another one."""

    place: Place
    object: Any
    equal: bool = True

    def holds(self, flat: Any = ()) -> bool:
        now = self.place.read(flat)
        return same(now, self.object) is self.equal

    def __str__(self) -> str:
        other = "" if self.equal else "not "
        return f"{self.place} was {other}{_shown(self.object)} and is {_shown(self.place.read(()))}"


def unchanged(container: Any) -> Guard:
    """A container holds what it does, in this order."""
    return Guard(Contents(container), contents(container))


@dataclass(frozen=True, slots=True, eq=False)
class Aliasing:
    """What is read at `second` lies where that at `first` does, and may be the same object.

    A program that was traced for one array reads it once; so it is for such calls only.
    """

    first: Place
    second: Place
    one_object: bool


def is_outside(place: Place) -> bool:
    """Whether a place is in the world around a function: no argument, nor anything of one."""
    if isinstance(place, Gradient):
        return is_outside(place.tensor)
    if isinstance(place, Told):
        return is_outside(place.of)
    return not isinstance(place, Argument | Cotangent)


def key_of(place: Place | Any) -> Any:
    """Equal for equal places: what one leads through, by identity, and its key or index."""
    if type(place) not in _FIELDS:
        return place if type(place) in (str, int) else id(place)
    cls = type(place)
    return cls, *[key_of(getattr(place, name)) for name in _FIELDS[cls]]


def owners(place: Place) -> Iterator[Any]:
    """The objects that a place leads through."""
    for name in _FIELDS[type(place)]:
        x = getattr(place, name)
        yield from owners(x) if type(x) in _FIELDS else (x,)


_KINDS = (*get_args(Place), Offset, Past, Own, Recorded)
_FIELDS = {cls: [field.name for field in fields(cls)] for cls in _KINDS}


def _shown(x: Any) -> str:
    if isinstance(x, type):
        return x.__name__
    if type(x) is tuple:
        return f"({', '.join(map(_shown, x))})"
    has_text = x is MISSING or type(x) in PLAIN or isinstance(x, np.generic)
    return repr(x) if has_text else f"an object of class {type(x).__name__}"


# ---- what goes out ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Output:
    """Among a call's results: the program's output of this number, a tensor or an array."""

    number: int
    tensor: bool = False
    requires_grad: bool = False
    leaf: bool = False  # made by the function to differentiate by
    weak: bool = False  # a Python number
    scalar: bool = False  # one of NumPy's
    inference: bool = False  # marked as what inference mode makes


def has_history(leaf: Any) -> bool:
    """Whether an output, or what lies in it, is a tensor computed of what requires grad."""
    return bool(leaf.tensor and leaf.requires_grad and not leaf.leaf)


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    """After a call a place holds the program's output of this number, or None."""

    place: Gradient | Attribute
    number: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Put:
    """After a call a place holds this: a structure as a result's."""

    place: Place
    value: Any

    def carry_out(self, value: Any, flat: Any) -> None:
        self.place.write(value, flat)  # type: ignore[union-attr]


@dataclass(frozen=True, slots=True, eq=False)
class Did:
    """After a call this method of a container is called, with arguments like a result."""

    container: Any
    method: str
    value: Any

    def carry_out(self, value: Any, flat: Any) -> None:
        args, named = value
        bases = [base for base in type(self.container).__mro__ if not is_of_user(base)]
        own = next((base for base in bases if self.method in vars(base)), None)
        if own is not None and isinstance(self.container, CONTAINERS):
            vars(own)[self.method](self.container, *args, **named)
        else:
            getattr(self.container, self.method)(*args, **named)
