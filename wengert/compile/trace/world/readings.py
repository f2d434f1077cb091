"""Readings: what code answers that is not observed, asked again at each call.

A callable of a library, or of C, may go by anything in the process: a setting, a cache, a file, the
clock. Nobody can see by what. But where all that it is given lasts from call to call, it can be
asked again: with the same arguments, before a program is used again, and what it answers is
guarded like anything else that is read outside.

What a call made for the function is an argument of the next one: `p = argparse.ArgumentParser()`,
then `p.parse_args()`. So a reading is a list of such calls, its steps, which are all made again.

Not asked is what goes by its arguments alone. That is a rule and no list of functions: classes
make objects of what they are given, the language's modules in C and NumPy's functions on arrays
keep nothing, and wengert tells by itself what it goes by.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import (
    BuiltinMethodType,
    CellType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, NamedTuple

import numpy as np

from wengert import dtypes
from wengert.compile.trace.arrays.array import TracedArray
from wengert.compile.trace.observe.events import MISSING
from wengert.compile.trace.observe.objects import (
    ATOMS,
    CONTAINERS,
    PLAIN,
    Held,
    contents,
    held_in,
    name_of,
    same,
    static,
)
from wengert.compile.trace.observe.stubs import code_of
from wengert.compile.trace.observe.users import is_of_user, is_users_class, is_users_code
from wengert.compile.trace.world.state import HIDDEN, attributes, held_by, is_attributes, is_itself
from wengert.tensor import Tensor

_KEEP_NOTHING = frozenset(
    {"builtins", "math", "cmath", "_operator", "itertools", "_functools", "_collections"}
    | {"collections", "types", "_bisect", "_heapq", "_struct"}
    | {"numpy", "numpy.dtypes"}
)
"""Modules in C that keep nothing from call to call."""
_TEXTS = str, repr, format, ascii, np.array_str, np.array_repr, np.array2string
_TEXT_METHODS = frozenset({"format", "format_map"})
_FROM_FILES: frozenset[Any] = frozenset({np.fromfile, np.loadtxt, np.genfromtxt})
_DISPATCHED = np.ufunc, type(np.concatenate)
_FUNCTIONS = FunctionType, type(np.random.default_rng)
_OF_CLASSES = MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType
_BOUND = BuiltinMethodType, MethodWrapperType


@dataclass(frozen=True, slots=True)
class Made:
    """What the step of this number made, in the place of an argument; and its class."""

    step: int
    kind: str


@dataclass(frozen=True, slots=True)
class Method:
    """A method of what a step made."""

    owner: Made
    name: str


class Step(NamedTuple):
    """A call, of what lasts and of what steps before it made."""

    callee: Any
    args: tuple[Any, ...]
    named: dict[str, Any]

    def carried_out(self, objects: list[Any]) -> tuple[Any, tuple[Any, ...]]:
        """What is answered, and what was given."""
        call = self.filled(lambda x: objects[x.step])
        return call.callee(*call.args, **call.named), call.given()

    def given(self) -> tuple[Any, ...]:
        return *self.args, *self.named.values()

    def uses(self) -> set[int]:
        """The steps that made what is given to this one."""
        steps: set[int] = set()

        def note(part: Made) -> Made:
            steps.add(part.step)
            return part

        self.filled(note)
        return steps

    def filled(self, change: Callable[[Made], Any]) -> Step:
        """With something else in the place of what steps made."""
        named = {k: filled(x, change) for k, x in self.named.items()}
        return Step(filled(self.callee, change), tuple(filled(x, change) for x in self.args), named)

    def __str__(self) -> str:
        shown = [*map(_shown, self.args), *(f"{k}={_shown(x)}" for k, x in self.named.items())]
        return f"{_name(self.callee)}({', '.join(shown)})"


def filled(x: Any, change: Callable[[Made], Any]) -> Any:
    """An argument, as a copy that the call may change, with what steps made in its place."""
    kind = type(x)
    if kind is Made:
        return change(x)
    if kind is Method:
        owner = change(x.owner)
        return Method(owner, x.name) if type(owner) is Made else getattr(owner, x.name)
    if kind in (list, tuple, set, frozenset):
        return kind([filled(part, change) for part in x])
    if kind is np.ndarray:
        return x.copy()
    return {k: filled(part, change) for k, part in x.items()} if kind is dict else x


def given_back(answer: Any, given: tuple[Any, ...]) -> tuple[int, ...]:
    """Where an answer stood among what the call was given."""
    return tuple([place for place, x in enumerate(given) if x is answer])


class Reading:
    """Calls that are made again, one after the other: `answer` is what the last one answers now.

    That is the object itself if others have it too, else, as it is another one each time, what it
    holds; where it was given, if that is asked (`shared` is None); and the class of an error.
    """

    __slots__ = ("__weakref__", "latest", "shared", "steps")

    def __init__(self, steps: tuple[Step, ...], shared: bool | None) -> None:
        self.steps = steps
        self.shared = shared

    @property
    def answer(self) -> Any:
        objects: list[Any] = []
        given: tuple[Any, ...] = ()
        try:
            for step in self.steps:
                answer, given = step.carried_out(objects)
                objects.append(answer)
        except Exception as error:
            return type(error)
        # Kept: machine code compares an attribute that somebody holds.
        if self.shared is None:
            self.latest = given_back(objects[-1], given)
        else:
            self.latest = objects[-1] if self.shared else _held(objects[-1])
        return self.latest

    def __str__(self) -> str:
        return str(self.steps[-1])


def _shown(x: Any) -> str:
    if type(x) is Made:
        return f"a {x.kind}"
    return repr(x) if type(x) in ATOMS else f"a {type(x).__name__}"


def _name(callee: Any) -> str:
    if type(callee) is Method:
        return f"{callee.owner.kind}.{callee.name}"
    if isinstance(callee, BuiltinMethodType | MethodType | FunctionType):
        around = getattr(callee, "__self__", None)
        if isinstance(around, ModuleType):
            return f"{around.__name__}.{callee.__name__}"
        return str(getattr(callee, "__qualname__", callee.__name__))
    return name_of(callee) or f"a {type(callee).__name__}"


_interned: weakref.WeakValueDictionary[Any, Reading] = weakref.WeakValueDictionary()


def reading(steps: tuple[Step, ...], shared: bool | None) -> Reading:
    """The reading of a call, the same one for the same call: it stands for a place."""
    new = Reading(steps, shared)
    return _interned.setdefault((shared, *map(_key_of, steps)), new)


def _key_of(step: Step) -> Any:
    named = tuple(step.named)
    return _key(step.callee), _key(step.args), named, _key(tuple(step.named.values()))


def _key(x: Any) -> Any:
    """By what a value is found again: objects by what they are, as a reading holds them."""
    kind = type(x)
    if kind in (list, tuple):
        return kind, tuple(map(_key, x))
    if kind is dict:
        return kind, tuple(map(_key, x)), tuple(map(_key, x.values()))
    if kind is Made or kind is Method:
        return x
    if kind in ATOMS and kind is not slice:
        return kind, repr(x) if kind in (float, complex, range) else x
    if isinstance(x, MethodType | BuiltinMethodType):
        function = getattr(x, "__func__", None) or x.__name__
        return kind, _key(function), id(x.__self__)
    return id(x)


# ---- what can be asked again ---------------------------------------------------------------------


class Passing(Exception):
    """An argument that is not there at the next call."""


def _itself(x: Any) -> Any:
    return None


def lasting(
    x: Any,
    is_outside: Callable[[Any], bool],
    instead: Callable[[Any], Any] = _itself,
    around: tuple[int, ...] = (),
) -> Any:
    """What an argument is at the next call: containers and arrays by what they hold now.

    `instead` says what is given in its place, if anything is: what a step has made.
    """
    kind = type(x)
    if kind in ATOMS:
        return x
    if id(x) in around:
        raise Passing  # a function that calls itself, a list within itself
    around = (*around, id(x))

    def last(x: Any) -> Any:
        return lasting(x, is_outside, instead, around)

    given = instead(x)
    if given is not None:
        return given
    if kind in (list, tuple, set, frozenset):
        return kind([last(part) for part in x])
    if kind is dict:
        return {last(k): last(v) for k, v in x.items()}
    if kind is np.ndarray:
        return x.copy()
    if isinstance(x, MethodType | BuiltinMethodType):
        owner = last(x.__self__)
        if type(owner) is Made:
            return Method(owner, x.__name__)
        if isinstance(x, MethodType) and not _is_in_class(x):
            last(x.__func__)
        return x
    known = isinstance(x, ModuleType | type | np.generic | np.dtype) or _is_function_of_c(x)
    if known or _is_value(x) or (is_outside(x) and not _is_told_of(x)):
        return x
    if kind is FunctionType and vars(_module(x)).get(x.__name__) is x:
        return x
    if kind is FunctionType and is_users_code(code_of(x), x.__globals__):
        return _function(x, last)
    is_plain = static(kind, "__new__") is static(object, "__new__")
    if is_plain and is_users_class(kind) and is_attributes(x):
        return _instance(x, last)
    raise Passing


def _is_in_class(method: MethodType) -> bool:
    """Whether a method is that of its object's class, of no array, whose methods are traced."""
    cls = type(method.__self__)
    is_array = hasattr(cls, "__array_function__")
    return not is_array and static(cls, method.__name__) is method.__func__


def _function(function: FunctionType, last: Callable[[Any], Any]) -> FunctionType:
    """A function that was made inside, around what lasts."""
    cells = tuple([CellType(last(held_in(cell))) for cell in function.__closure__ or ()])
    defaults = function.__defaults__ and tuple(map(last, function.__defaults__))
    code, name = code_of(function), function.__name__
    twin = FunctionType(code, function.__globals__, name, defaults, cells)
    if function.__kwdefaults__:
        twin.__kwdefaults__ = {name: last(x) for name, x in function.__kwdefaults__.items()}
    for name, x in vars(function).items():
        setattr(twin, name, last(x))
    return twin


def _instance(x: Any, last: Callable[[Any], Any]) -> Any:
    """An object of the user's that was made inside, with attributes that last."""
    twin = object.__new__(type(x))
    for name, part in attributes(x):
        object.__setattr__(twin, name, last(part))
    return twin


def _is_function_of_c(x: Any) -> bool:
    return isinstance(x, (*_DISPATCHED, *_OF_CLASSES))


def _module(function: FunctionType) -> Any:
    return sys.modules.get(function.__module__, sys)


def _is_value(x: Any) -> bool:
    """Whether an object is a value, which does not change: it has a hash that is not its own."""
    return has_value(type(x))


def has_value(cls: type) -> bool:
    hashed: Any = cls.__hash__
    is_array = hasattr(cls, "_array") or hasattr(cls, "__array_function__")
    return hashed not in (None, object.__hash__) and not is_array


def _is_told_of(x: Any) -> bool:
    """Whether a trace knows otherwise what is read of an object."""
    return isinstance(x, Tensor) or (is_itself(x) and not isinstance(x, FunctionType))


def compared(answer: Any, shared: bool) -> Any:
    """What is compared of an answer, which others have too if it is `shared`; MISSING if nothing
    can be.
    """
    if shared:
        return answer
    if isinstance(answer, Tensor | type | FunctionType):
        return MISSING
    held = _held(answer)
    return MISSING if held is None or not is_seen_whole(held) else held


def always(steps: tuple[Step, ...], answer: Any) -> tuple[Any, bool]:
    """What is compared of an answer, if another time it is the same, and whether that is the very
    object, which others have; else MISSING.
    """
    again = Reading(steps, True).answer
    if same(answer, again):
        return answer, True
    held = compared(answer, False)
    return (held if same(held, compared(again, False)) else MISSING), False


def _held(answer: Any) -> Any:
    """What an object holds; of containers of atoms, which are common, a tuple."""
    try:
        return _plain(answer)
    except _NotPlain:
        return held_by(answer)


class _NotPlain(Exception):
    """Something that holds more than what is equal to it."""


def _plain(x: Any) -> Any:
    kind = type(x)
    if kind in PLAIN and kind is not tuple:
        return x
    if kind is tuple or kind is list:
        return kind.__name__, *map(_plain, x)
    if kind is dict:
        return "dict", *x, *map(_plain, x.values())
    raise _NotPlain


def is_seen_whole(held: Any) -> bool:
    """Whether there is nothing hidden in an object, or that is told of otherwise."""
    if type(held) is Held:
        return HIDDEN not in held.names and all(map(is_seen_whole, held.parts))
    return not isinstance(held, Tensor | TracedArray)


# ---- what need not be asked ----------------------------------------------------------------------


def goes_by_arguments(callee: Any, args: tuple[Any, ...]) -> bool:
    """Whether what a callable answers follows from what it is given."""
    if any(callee is text for text in _TEXTS):
        # That of a traced tensor says so, and tells nothing else.
        return not args or type(args[0]) in ATOMS or isinstance(args[0], Tensor)
    if isinstance(callee, type):
        return makes_of_arguments(callee)
    if isinstance(callee, _DISPATCHED):
        return True
    if isinstance(callee, _OF_CLASSES):
        return callee.__objclass__.__module__ in _KEEP_NOTHING
    if isinstance(callee, _BOUND):
        around = callee.__self__
        if type(around) is str and callee.__name__ in _TEXT_METHODS:
            return not args or all(type(x) in ATOMS for x in args)
        if isinstance(around, ModuleType):
            name = callee.__module__ if around.__name__.startswith("numpy.") else around.__name__
            return name in _KEEP_NOTHING and callee not in _FROM_FILES and not _asks(args)
        cls = around if isinstance(around, type) else type(around)
        return cls.__module__ in _KEEP_NOTHING and not hasattr(cls, "__get__")
    return is_ours(callee)


def makes_of_arguments(cls: type) -> bool:
    """Whether a class makes objects of what it is given alone.

    The user's are observed, and values are what they are given; an object of a library may have
    looked around, as `argparse.ArgumentParser()` does for the name of the program.
    """
    if cls.__module__ in _KEEP_NOTHING or package_of(cls) in ("wengert", "numpy", "scipy"):
        return True
    return is_users_class(cls) or issubclass(cls, _AROUND) or has_value(cls)


_AROUND = *CONTAINERS, BaseException, functools.partial


def _asks(args: Iterable[Any]) -> bool:
    """Whether builtins ask methods of a library's objects, as `abs` and `sum` do."""
    parts = (part for x in args for part in (contents(x) if isinstance(x, CONTAINERS) else (x,)))
    return any(map(is_asked, parts))


def is_asked(x: Any) -> bool:
    """Whether an operator of this object is code of a library that may read anything."""
    cls = type(x)
    if isinstance(x, np.ndarray):
        return not is_fetched(x)  # those are traced
    if cls in ATOMS or isinstance(x, (*_ANSWERING, *CONTAINERS)):
        return False
    return package_of(cls) != "wengert" and not is_users_class(cls) and not is_itself(x)


def is_fetched(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array is read at each call, and traced: NumPy's own, of numbers that tensors hold.

    What a subclass does may be anything, and its operators are asked.
    """
    dtype = array.dtype
    return type(array) is np.ndarray and dtype.isnative and dtypes.is_supported(dtype)


def asks(x: Any, name: str) -> bool:
    """Whether this operator of an object is code of a library, be it that of a user's class."""
    is_known = isinstance(x, (*_ANSWERING, *CONTAINERS))
    return is_asked(x) or (not is_known and is_users_class(type(x)) and is_inherited(x, name))


def is_inherited(x: Any, name: str) -> bool:
    """Whether a library's class has this method of an object.

    Those of `collections.abc` only call others of the object, which may all be the user's.
    """
    bases = type(x).__mro__
    names = {name, "__eq__"} if name == "__ne__" else {name}  # which object has by that
    first = next((base for base in bases[:-1] if not names.isdisjoint(vars(base))), object)
    theirs = [base for base in bases if not (is_of_user(base) or is_ours(base))]
    acting = any(base.__module__ not in ("builtins", "collections.abc") for base in theirs)
    return acting and first in theirs and first.__module__ != "builtins"


def asks_classes(classes: Any) -> bool:
    """Whether a class decides by code of its own what its instances are."""
    if isinstance(classes, tuple):
        return any(map(asks_classes, classes))
    usual = None, type.__instancecheck__, static(type, "__instancecheck__")
    return not is_ours(classes) and static(type(classes), "__instancecheck__") not in usual


def collection(cls: type) -> int:
    """Whether patterns take a class for a sequence or a mapping: it may be registered as one."""
    return cls.__flags__ & (1 << 5 | 1 << 6)


def is_for_good(cls: type) -> bool:
    """Whether a class is one of C's that are never changed."""
    return bool(cls.__flags__ & 1 << 8)


_ANSWERING = Tensor, np.generic, np.dtype, type, ModuleType


def is_computed(callee: Any, given: Iterable[Any], answer: Any) -> bool:
    """Whether an answer follows from what was given, as it is: it was computed from it.

    A function of NumPy or SciPy that answers with arrays computes them. One that tells of the
    process, as `np.geterr()` does, answers with Python's objects.
    """
    if not isinstance(callee, _FUNCTIONS) or package_of(callee) not in ("numpy", "scipy"):
        return False
    return all(map(_is_plain, given)) and _is_of_arrays(answer)


def is_of_an_atom(callee: Any) -> bool:
    """Whether this is an operator's method of a number, say, which asks what class it is given."""
    return type(callee) is MethodWrapperType and type(callee.__self__) in ATOMS


def _is_of_arrays(x: Any) -> bool:
    if type(x) in (tuple, list):
        return all(map(_is_of_arrays, x))
    return isinstance(x, _COMPUTED)


_COMPUTED = np.ndarray, np.generic, np.random.Generator, np.random.RandomState
"""What functions of NumPy compute: arrays, and generators from seeds."""


def _is_plain(x: Any) -> bool:
    if type(x) in (tuple, list):
        return all(map(_is_plain, x))
    return type(x) in ATOMS or isinstance(x, np.ndarray | np.generic | np.dtype | type)


def is_ours(callee: Any) -> bool:
    return package_of(callee) == "wengert"


def package_of(callee: Any) -> str:
    """Where a callable, or a class, comes from."""
    callee = callee.__func__ if isinstance(callee, MethodType) else callee
    if isinstance(callee, BuiltinMethodType):
        around = callee.__self__
        if isinstance(around, ModuleType):
            return around.__name__.lstrip("_").partition(".")[0]
        callee = around if isinstance(around, type) else type(around)
    elif not isinstance(callee, (*_FUNCTIONS, type)):
        callee = type(callee)
    module = getattr(callee, "__module__", None)
    return module.partition(".")[0] if type(module) is str else ""


def is_copied(x: Any, lasts: Any) -> bool:
    """Whether a function, or an object of the user's, is another one at the next call."""
    if isinstance(x, (list, tuple)):
        return any(map(is_copied, x, lasts))
    if isinstance(x, dict):
        return any(map(is_copied, x.values(), lasts.values()))
    return x is not lasts and (type(x) is FunctionType or is_users_class(type(x)))


def is_let_go_of(x: Any) -> bool:
    """Whether an object may be made again for a question, and forgotten: no open file."""
    return not hasattr(type(x), "close")
