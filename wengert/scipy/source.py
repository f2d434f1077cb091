"""SciPy's functions that are written in NumPy's: their own source runs on tensors.

What keeps tensors out of most of SciPy is not its mathematics: a function makes an array of each
argument, `np.asarray(x)`, and goes on in functions that ask tensors what they mean. So its code is
run with other names around it. `again(f)` is f with the same instructions, in whose module `np` is
`wengert.numpy`, `math` is NumPy too, arrays that are made to be filled are tensors, and the
functions of SciPy's that it calls are again such ones, or those that `wengert.scipy` defines.

Where the source leaves Python for C, a tensor says so as everywhere, and so does one of which a
number is made: a result has its derivative, or there is none.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import math
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from scipy._lib import _array_api

import wengert.numpy
from wengert.arrays.kind import TENSORS
from wengert.autograd.graph import SavedCopies
from wengert.dispatch import each
from wengert.errors import MissingRuleError
from wengert.history import modes
from wengert.history.location import TOLD
from wengert.scipy.in_c import IN_C
from wengert.scipy.standard import holds_arrays
from wengert.tensor import Tensor, suited

# ---- names -------------------------------------------------------------------------------------


class _Numpy(ModuleType):
    """NumPy, whose constructors take tensors, and make tensors where an array is to be filled."""

    def isscalar(self, x: Any) -> bool:
        """Whether it is one number, as Python's are that have become tensors."""
        return np.isscalar(x) or (holds_arrays(x) and not len(x.shape))

    def __getattr__(self, name: str) -> Any:
        if name.removesuffix("_like") in ("zeros", "empty", "ones", "full"):
            return _filled(getattr(np, name))
        return getattr(wengert.numpy, name)


@functools.cache
def _filled(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def filled(*args: Any, **kwargs: Any) -> Any:
        array = make(*args, **kwargs)
        inexact = isinstance(array, np.ndarray) and array.dtype.kind in "fc"
        return TENSORS.wrap(array) if inexact else array

    return filled


class _Numbers(type):
    """A class of Python's numbers, which makes a tensor of a tensor."""

    python: type
    dtype: np.dtype[Any]

    def __call__(cls, *args: Any) -> Any:
        if holds_arrays(args):
            return np.astype(np.reshape(args[0], ()), cls.dtype)
        return cls.python(*args)

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, cls.python)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls.python)


class _Float(metaclass=_Numbers):
    python, dtype = float, np.dtype(float)


class _Complex(metaclass=_Numbers):
    python, dtype = complex, np.dtype(complex)


_NUMBERS = {"float": _Float, "complex": _Complex}


class _Math(ModuleType):
    """Python's `math`, whose functions of tensors are NumPy's."""

    def __getattr__(self, name: str) -> Any:
        return _of_numbers(getattr(math, name))


@functools.cache
def _of_numbers(function: Any) -> Any:
    if not callable(function):
        return function
    numpys = getattr(np, {"fabs": "abs"}.get(function.__name__, function.__name__), function)

    @functools.wraps(function)
    def called(*args: Any) -> Any:
        return (numpys if holds_arrays(args) else function)(*args)

    return called


class _Part(ModuleType):
    """A module of SciPy's, whose functions run again."""

    def __init__(self, of: ModuleType) -> None:
        super().__init__(of.__name__)
        self._of = of

    def __getattr__(self, name: str) -> Any:
        return again(getattr(self._of, name))


_NUMPY, _MATH = _Numpy("wengert.numpy"), _Math("math")


def _namespace(*arrays: Any, **kwargs: Any) -> Any:
    """What SciPy asks arrays for where it is written for several kinds of them."""
    return _NUMPY


# ---- functions ---------------------------------------------------------------------------------

_MADE: dict[Any, Any] = {}


def again(x: Any) -> Any:
    """What a name in a module of SciPy's is to mean to tensors."""
    if isinstance(x, ModuleType):
        if x is np or x.__name__ == _COMPATIBLE:
            return _NUMPY
        if x is math:
            return _MATH
        scipys = x.__name__.partition(".")[0] == "scipy"
        return _Part(x) if scipys and not x.__name__.startswith("scipy._") else x
    if x is _array_api.array_namespace:
        return _namespace
    if (in_numpy := IN_C.get(id(x))) is not None:
        return in_numpy[1]
    if isinstance(x, type):
        return _class(x) if can_run_again(x) else x
    if callable(x) and _is_scipys(str(getattr(x, "__module__", ""))):
        if x.__module__.startswith("scipy.optimize"):
            return _searched(x)
        return _written(x) or (_called(x) if isinstance(x, FunctionType) else x)
    if type(x) in (list, tuple):
        parts = type(x)(map(again, x))
        return x if all(a is b for a, b in zip(parts, x, strict=True)) else parts
    if type(x) is dict:
        named = {key: again(value) for key, value in x.items()}
        return x if all(named[key] is x[key] for key in x) else named
    name = getattr(x, "__name__", None)
    if isinstance(name, str):
        if str(getattr(x, "__module__", "")).startswith(_COMPATIBLE):
            return getattr(_NUMPY, name)
        for module, ours in ((np, _NUMPY), (math, _MATH)):
            if vars(module).get(name) is x:  # from numpy import zeros
                return getattr(ours, name)
    return x


_COMPATIBLE: str = _array_api.array_namespace(np.empty(0)).__name__
"""NumPy, as SciPy calls it by the array API standard."""


def _is_scipys(module: str) -> bool:
    return module.startswith("scipy.") and ".array_api_" not in module


_PLAIN = (
    int, float, complex, str, bytes, type(None), np.ndarray, np.generic, np.dtype, type, slice,
)  # fmt: skip


def _is_plain(x: Any) -> bool:
    """Whether nothing here has a derivative, or may compute with what has one."""
    if type(x) in (list, tuple):
        return all(map(_is_plain, x))
    return all(map(_is_plain, x.values())) if type(x) is dict else isinstance(x, _PLAIN)


@functools.cache
def _called(f: FunctionType) -> Callable[..., Any]:
    """SciPy's function itself on NumPy's arrays, and otherwise the same code on tensors."""
    ours: Any = None

    @functools.wraps(f)
    def called(*args: Any, **kwargs: Any) -> Any:
        nonlocal ours
        if all(map(_is_plain, args)) and all(map(_is_plain, kwargs.values())):
            return f(*args, **kwargs)
        ours = ours or _function(f)
        return ours(*args, **kwargs)

    return called


def _searched(f: Any) -> Any:
    """What is found by search has no derivative by the steps of the search."""

    @functools.wraps(f)
    def called(*args: Any, **kwargs: Any) -> Any:
        raise MissingRuleError(
            f"{f.__module__.partition('._')[0]}.{f.__name__} searches for a value: its derivative "
            "is not that of the steps"
        )

    return called


def _function(f: FunctionType) -> FunctionType:
    """A function of the same code, among other names."""
    if f in _MADE:
        function: FunctionType = _MADE[f]
        return function
    home = f.__globals__
    names = {"__builtins__": home["__builtins__"], "__name__": home["__name__"]}
    cells = None if f.__closure__ is None else tuple(map(_cell, f.__closure__))
    function = _MADE[f] = FunctionType(f.__code__, names, f.__name__, f.__defaults__, cells)
    functools.update_wrapper(function, f)
    function.__kwdefaults__ = f.__kwdefaults__
    names |= {n: home[n] for n in ("__package__", "__spec__") if n in home}
    names |= {
        n: again(home.get(n, _NUMBERS.get(n)))
        for n in _names(f.__code__)
        if n in home or n in _NUMBERS
    }
    return function


def _cell(cell: CellType) -> CellType:
    """What a decorator holds of the function that it was given is run again, too."""
    try:
        held = cell.cell_contents
    except ValueError:  # empty yet
        return cell
    if isinstance(held, type) and can_run_again(held):  # super() asks for its class
        _class(held)
        same: CellType = _MADE[held, "cell"]
        return same
    ours = again(held)
    return cell if ours is held else CellType(ours)


def _names(code: CodeType) -> Iterator[str]:
    """All names in a function, and in those that are written in it."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _written(f: Any) -> Any:
    """The function of `wengert.scipy` that is defined in the place of SciPy's, if there is one."""
    name = getattr(f, "__name__", "")
    module = ".".join(f.__module__.partition("._")[0].split(".")[:2])
    try:
        theirs, ours = (importlib.import_module(m) for m in (module, f"wengert.{module}"))
    except ImportError:
        return None
    public = getattr(theirs, name, None)
    if not callable(public) or inspect.unwrap(public) is not inspect.unwrap(f):
        return None
    # Fourier transforms go to their back end through C, whichever names are around them.
    return getattr(ours, name) if module == "scipy.fft" else vars(ours).get(name)


# ---- classes -----------------------------------------------------------------------------------


OTHERWISE = {"BarycentricInterpolator"}
"""Classes whose source takes the value itself at the points given: its derivative there is lost."""


def can_run_again(cls: type) -> bool:
    """Whether a class of SciPy's is written in Python, and is more than a name for something."""
    return (
        cls.__name__ not in OTHERWISE
        and _is_scipys(cls.__module__)
        and type(cls) is type
        and not issubclass(cls, (BaseException, tuple, dict, list))
        and ("__dict__" in vars(cls) or "__slots__" in vars(cls) or "__dict__" in dir(cls))
    )


def _class(cls: type) -> type:
    """A class of the same methods, among other names."""
    if cls in _MADE:
        rewritten: type = _MADE[cls]
        return rewritten
    bases = tuple(map(again, cls.__bases__))
    if cls in _MADE:  # whose methods name it
        return _class(cls)
    cell = _MADE[cls, "cell"] = CellType()
    slots = ("__dict__", "__weakref__", "__slots__", *getattr(cls, "__slots__", ()))
    kept = {n: v for n, v in vars(cls).items() if n not in slots}
    rewritten = _MADE[cls] = type(cls.__name__, bases, kept)
    cell.cell_contents = rewritten
    for name, member in kept.items():
        ours = _member(member)
        if ours is not member:
            setattr(rewritten, name, ours)
    return rewritten


def _member(x: Any) -> Any:
    if isinstance(x, FunctionType):
        return entered(_function(x)) if _is_scipys(x.__globals__["__name__"]) else x
    if isinstance(x, (staticmethod, classmethod)):
        return type(x)(_member(x.__func__))
    if isinstance(x, property):
        read, write, delete = (f and _member(f) for f in (x.fget, x.fset, x.fdel))
        return property(read, write, delete, x.__doc__)
    return x


# ---- calls -------------------------------------------------------------------------------------


@contextlib.contextmanager
def _as_arrays() -> Iterator[None]:
    """Tensors that are made inside have NumPy's methods, which SciPy's code means."""
    before, told = modes.enter(SavedCopies.of_arrays(modes.current())), TOLD.set(True)
    try:
        yield
    finally:
        modes.enter(before)
        TOLD.reset(told)


def _given(x: Any) -> Any:
    """A tensor with NumPy's methods."""
    if not holds_arrays(x):
        return x
    return np.reshape(x if isinstance(x, Tensor) else TENSORS.wrap(x), tuple(x.shape))


def _suited(x: Any) -> Any:
    """A result whose tensors have the methods of the code around."""
    if isinstance(x, (list, tuple)):
        for part in x:
            _suited(part)
    for part in getattr(x, "__dict__", {}).values() if not isinstance(x, type) else ():
        suited(part)
    return suited(x)


def entered(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs as code for arrays does, whoever calls it."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with _as_arrays():
            result = function(*each(_given, args), **each(_given, kwargs))
        return _suited(result)

    return called


def by_source(function: FunctionType, *args: Any, **kwargs: Any) -> Any:
    """What SciPy's function is on tensors, as its own source computes it."""
    return (_written(function) or _function(function))(*args, **kwargs)


# ---- objects -----------------------------------------------------------------------------------


def of_tensors(cls: type) -> Any:
    """A class of SciPy's whose objects may be made of tensors, and asked at tensors.

    Where all is numbers it is SciPy's own.
    """
    if cls in _KNOWN:
        return _KNOWN[cls]

    theirs_new: Any = cls.__new__

    def new(known: Any, *args: Any, **kwargs: Any) -> Any:
        if known is kind and (holds_arrays(args) or holds_arrays(kwargs)):
            return entered(again(cls))(*args, **kwargs)
        inherited = theirs_new is object.__new__
        return object.__new__(known) if inherited else theirs_new(known, *args, **kwargs)

    def asked(name: str, theirs: Any) -> Any:
        @functools.wraps(theirs)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not (holds_arrays(args) or holds_arrays(kwargs)):
                return theirs(self, *args, **kwargs)
            return getattr(_with_all_of(object.__new__(again(cls)), self, again), name)(
                *args, **kwargs
            )

        return method

    members: dict[str, Any] = {
        name: asked(name, member)
        for name in dir(cls)
        if isinstance(member := inspect.getattr_static(cls, name), FunctionType)
        and (name == "__call__" or not name.startswith("_"))
    }
    members |= {"__new__": new, "tried": True, "__doc__": cls.__doc__, "__module__": cls.__module__}
    kind = _KNOWN[cls] = type(cls.__name__, (cls,), members)
    return kind


def object_of_tensors(x: Any) -> Any:
    """An object of SciPy's own, such as a distribution, that may be asked at tensors."""
    return _with_all_of(object.__new__(of_tensors(type(x))), x)


def _with_all_of(copy: Any, x: Any, change: Any = lambda held: held) -> Any:
    """An object that holds what another one does."""
    slots = (name for cls in type(x).__mro__ for name in getattr(cls, "__slots__", ()))
    held = {name: getattr(x, name) for name in slots if hasattr(x, name)}
    for name, value in {**held, **getattr(x, "__dict__", {})}.items():
        object.__setattr__(copy, name, change(value))
    return copy


_KNOWN: dict[type, type] = {}
