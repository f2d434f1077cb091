"""What each call makes anew: objects that the function made, and that it returns or keeps.

In eager mode each call makes its own, so whoever changes one changes that one alone. An object is
described once, by what it is made of: of containers the items, of arrays the memory that they lie
in, of functions the variables around them, of all else the attributes, or what pickle is told.
Which of these are one object, and which lead back to themselves, is part of the description.
"""

from __future__ import annotations

import copyreg
import enum
import functools
import sys
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from types import BuiltinMethodType, CellType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from wengert import tree
from wengert.arrays.memory import address
from wengert.autograd.methods import give
from wengert.compile.trace.arguments import registered_parts
from wengert.compile.trace.observe.events import MISSING
from wengert.compile.trace.observe.objects import ATOMS, contents, has_method, held_in, static
from wengert.compile.trace.observe.stubs import code_of
from wengert.compile.trace.observe.users import is_of_user
from wengert.compile.trace.world.readings import has_value
from wengert.compile.trace.world.state import TOLD, WEAK, attributes, reduced
from wengert.functions.random import Generator
from wengert.history.surroundings import KNOWING


class Anew:
    """An object that each call makes: `make(*args)`, and then `fill(it, *parts)`.

    Arguments and parts are structures of results (`results.py`); the parts may lead back to it.
    """

    __slots__ = ("args", "fill", "kind", "make", "parts")

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.make: Callable[..., Any] = kind
        self.args: tuple[Any, ...] = ()
        self.fill: Callable[..., Any] | None = None
        self.parts: tuple[Any, ...] = ()

    def named(self) -> dict[Any, Any]:
        """What it is made of, by attributes, keys and numbers."""
        named: dict[Any, Any] = {}
        for part in (*self.args, *self.parts):
            if isinstance(part, (list, tuple)):
                part = dict(enumerate(part, len(named)))
            named.update(part if type(part) is dict else {len(named): part})
        return named


class Described(NamedTuple):
    """How an object is made, of other objects: those that come first, and those that follow."""

    make: Callable[..., Any]
    args: tuple[Any, ...] = ()
    fill: Callable[..., Any] | None = None
    parts: tuple[Any, ...] = ()


class Unmakeable(Exception):
    """An object of which nobody knows how it was made."""


def is_plain(x: Any) -> bool:
    """Whether an object is a container that is nothing but its items."""
    kind = type(x)
    if kind is dict:
        return all(map(is_same_object, x))
    if kind is list or kind is tuple:
        return True
    return isinstance(x, tuple) and hasattr(kind, "_fields") and not getattr(x, "__dict__", None)


def is_same_object(x: Any) -> bool:
    """Whether something is the same object at all calls: a value, a class, what has a name."""
    kind = type(x)
    if kind is slice:
        return all(map(is_same_object, (x.start, x.stop, x.step)))
    if kind in ATOMS or isinstance(x, (*_SAME, *KNOWING)):
        return True
    if kind is frozenset:
        return all(map(is_same_object, x))
    if isinstance(x, type):
        return not is_of_user(x) or _has_name(x)
    if isinstance(x, FunctionType):
        return _has_name(x)
    if isinstance(x, BuiltinMethodType):
        return x.__self__ is None or isinstance(x.__self__, ModuleType | type)
    if isinstance(x, (tuple, frozenset, memoryview, MethodType, *WEAK)) or not has_value(kind):
        return False
    return not is_of_user(kind) or issubclass(kind, _VALUES)


_SAME = (
    *(ModuleType, np.dtype, np.generic, np.ufunc, type(np.concatenate), enum.Enum),
    type(MISSING),
)
_VALUES = str, int, float, complex, bytes


def _has_name(x: Any) -> bool:
    """Whether a function or a class is what its module has by its name."""
    item: Any = sys.modules.get(x.__module__)
    for name in x.__qualname__.split("."):
        item = getattr(item, "__dict__", {}).get(name)
        item = item.__func__ if isinstance(item, staticmethod | classmethod) else item
    return item is x


def described(x: Any, home: Any = None) -> Described:
    """How an object is made, that is not the same one at all calls.

    `home` is the array from outside in whose memory an array lies.
    """
    kind = type(x)
    if has_method(kind, "__del__"):
        raise Unmakeable("its finalizer would run when a trace lets go of its own")
    registered = registered_parts(x)
    if registered is not None:
        return Described(
            functools.partial(tree.unflattened, kind, registered[0]), ([*registered[1]],)
        )
    if kind is np.ndarray:
        return _array(x, home)
    if home is not None:
        raise Unmakeable(_IN_ANOTHER)
    for base, way in _WAYS:
        if isinstance(x, base):
            return way(x)
    reduced = _reduced(x)
    if reduced is not None:
        return reduced
    try:
        object.__new__(kind)
    except TypeError:
        raise Unmakeable(f"C keeps what a {kind.__name__} is") from None
    return Described(object.__new__, (kind,), give, (_named(x),))


# ---- containers ----------------------------------------------------------------------------------


def _mapping(x: Any) -> Described:
    held = contents(x)
    items: Any = dict(zip(held[: len(held) // 2], held[len(held) // 2 :], strict=True))
    if not is_plain(items):
        items = [*items.items()]
    base = OrderedDict if isinstance(x, OrderedDict) else dict
    named = _named(x)
    if isinstance(x, defaultdict):
        named["default_factory"] = x.default_factory
    return Described(dict.__new__, (type(x),), _fill_mapping(base), (items, named))


def _fill_mapping(base: Any) -> Callable[..., None]:
    def fill(mapping: Any, items: Any, named: Any) -> None:
        for key, value in items.items() if type(items) is dict else items:
            base.__setitem__(mapping, key, value)
        give(mapping, named)

    return fill


def _sequence(x: Any) -> Described:
    return Described(list.__new__, (type(x),), _extend(list.extend), ([*contents(x)], _named(x)))


def _set(x: Any) -> Described:
    return Described(set.__new__, (type(x),), _extend(set.update), ([*contents(x)], _named(x)))


def _deque(x: Any) -> Described:
    parts = [*contents(x)], _named(x)
    return Described(_bounded, (type(x), x.maxlen), _extend(deque.extend), parts)


def _bounded(kind: Any, most: int | None) -> Any:
    queue = deque.__new__(kind)
    deque.__init__(queue, (), most)
    return queue


def _extend(add: Callable[..., None]) -> Callable[..., None]:
    def fill(holder: Any, items: Any, named: Any) -> None:
        add(holder, items)
        give(holder, named)

    return fill


def _tuple(x: Any) -> Described:
    return Described(tuple.__new__, (type(x), [*contents(x)]), give, (_named(x),))


def _frozenset(x: Any) -> Described:
    return Described(frozenset.__new__, (type(x), [*contents(x)]), give, (_named(x),))


def _named(x: Any) -> dict[str, Any]:
    return dict(attributes(x))


# ---- arrays --------------------------------------------------------------------------------------


_IN_ANOTHER = "an array lies in the memory of another object"


def _array(x: Any, home: Any) -> Described:
    """One with memory of its own, as a copy; or a view of another."""
    if x.dtype.hasobject:
        if home is not None:
            raise Unmakeable(_IN_ANOTHER)
        items = [*x.reshape(-1)]
        return Described(_of_objects, (x.dtype, x.shape, items))
    root = x.base if home is None else home
    if root is None:
        return Described(_copied(x))
    if not isinstance(root, np.ndarray) or not root.flags.forc:
        raise Unmakeable(_IN_ANOTHER)
    start = address(x) - address(root)
    layout = x.shape, x.dtype, start, x.strides, bool(x.flags.writeable)
    return Described(functools.partial(_view, layout), (root,))


def _copied(x: Any) -> Callable[[], Any]:
    kept, writeable = np.copy(x, order="K"), bool(x.flags.writeable)

    def make() -> Any:
        array = np.copy(kept, order="K")
        array.flags.writeable = writeable
        return array

    return make


def _of_objects(dtype: Any, shape: Any, items: Any) -> Any:
    array = np.empty(len(items), dtype)
    for k, item in enumerate(items):  # an item may be an array, which is no row of this one
        array[k] = item
    return array.reshape(shape)


def _view(layout: Any, root: Any) -> Any:
    shape, dtype, start, strides, writeable = layout
    # The memory of one that is not written, or lies in another order, as bytes.
    memory = np.ndarray(root.nbytes, np.uint8, root.T if root.flags.f_contiguous else root)
    view: Any = np.ndarray(shape, dtype, memory, start, strides)
    view.flags.writeable = writeable
    return view


# ---- functions -----------------------------------------------------------------------------------


def _function(x: Any) -> Described:
    parts = x.__defaults__, x.__kwdefaults__, vars(x), x.__qualname__, x.__doc__
    make = functools.partial(FunctionType, code_of(x), x.__globals__, x.__name__, None)
    return Described(make, (x.__closure__,), _completed, parts)


def _completed(f: Any, defaults: Any, by_name: Any, named: Any, path: str, text: Any) -> None:
    f.__defaults__, f.__kwdefaults__ = defaults, by_name
    f.__qualname__, f.__doc__ = path, text
    f.__dict__.update(named)


def _cell(x: Any) -> Described:
    held = held_in(x)
    return Described(CellType) if held is MISSING else Described(CellType, (), _put, (held,))


def _put(cell: Any, value: Any) -> None:
    cell.cell_contents = value


def _method(x: Any) -> Described:
    return Described(MethodType, (x.__func__, x.__self__))


def _built_in(x: Any) -> Described:
    return Described(getattr, (x.__self__, x.__name__))


# ---- all else ------------------------------------------------------------------------------------


def _error(x: Any) -> Described:
    named = _named(x)
    for name in ("__cause__", "__context__", "__suppress_context__"):
        named[name] = getattr(x, name)
    return Described(_raisable, (type(x), [*x.args]), give, (named,))


def _raisable(kind: Any, args: Any) -> Any:
    error = kind.__new__(kind, *args)
    known = next(base for base in kind.__mro__ if not is_of_user(base))
    known.__init__(error, *args)
    return error


def _weak(x: Any) -> Described:
    held = x() if type(x) is weakref.ReferenceType else None
    if held is None or x.__callback__ is not None:
        raise Unmakeable("it holds weakly")
    return Described(weakref.ref, (held,))


def _refuse(x: Any) -> Described:
    raise Unmakeable("a program makes one once")


_WAYS: tuple[tuple[Any, Callable[[Any], Described]], ...] = (
    (dict, _mapping),
    (list, _sequence),
    (set, _set),
    (deque, _deque),
    (tuple, _tuple),
    (frozenset, _frozenset),
    (FunctionType, _function),
    (CellType, _cell),
    (MethodType, _method),
    (BuiltinMethodType, _built_in),
    (BaseException, _error),
    (WEAK, _weak),
    ((Generator, type), _refuse),
)


def _reduced(x: Any) -> Described | None:
    """What pickle would be told; None if an object is what it keeps by name."""
    kind = type(x)
    reducer = copyreg.dispatch_table.get(kind)
    methods = [static(kind, name) for name in TOLD]
    own = [m for name, m in zip(TOLD, methods, strict=True) if m is not static(object, name)]
    users = [m for m in own if type(m) is FunctionType and is_of_user(_class_with(kind, m))]
    if reducer is None and (users or (not own and _has_plain_layout(kind))):
        return None
    try:
        told = reduced(x, 4)
    except Exception as error:
        raise Unmakeable(str(error)) from None
    if isinstance(told, str):
        raise Unmakeable(f"it has the name {told}")
    make, args, state, items, pairs = (*told, None, None, None)[:5]
    if isinstance(make, type) and is_of_user(make):
        raise Unmakeable(f"{make.__name__}() would be called again")
    items = None if items is None else [*items]
    pairs = None if pairs is None else [*pairs]
    return Described(make, tuple(args), _restored, (state, items, pairs))


def _class_with(kind: type, method: Any) -> type:
    return next(base for base in kind.__mro__ if method in base.__dict__.values())


def _has_plain_layout(kind: type) -> bool:
    try:
        object.__new__(kind)
    except TypeError:
        return False
    return True


def _restored(item: Any, state: Any, items: Any, pairs: Any) -> None:
    if state is not None:
        if hasattr(item, "__setstate__"):
            item.__setstate__(state)
        else:
            named, slots = state if isinstance(state, tuple) else (state, None)
            give(item, {**(named or {}), **(slots or {})})
    if items is not None:
        item.extend(items)
    for key, value in pairs or ():
        item[key] = value
