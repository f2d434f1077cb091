"""`torch.overrides`: classes derived from Tensor, and functions that ask them what they mean.

A class may define `__torch_function__(cls, func, types, args, kwargs)`; the one that it inherits
runs the function and gives the results the class. Plain tensors pay nothing for that: when the
first class is derived from Tensor in a program, or the first mode entered, each public function
takes over the code of one that asks its arguments first, and its own code moves into a copy. The
function stays the same object, so that a program may compare `func` with `torch.add`.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial, wraps
from types import FunctionType
from typing import Any, Self

from wengert import dtypes
from wengert.autograd.record import MOVED, take_over
from wengert.dispatch import each
from wengert.history import modes
from wengert.history.modes import Mode, State
from wengert.imports import lacking as _lacking
from wengert.nn import functional
from wengert.nn.layers import activations, linear
from wengert.tensor import Tensor

NAMESPACES = (
    "wengert",
    "wengert.nn.functional",
    "wengert.pytorch.fft",
    "wengert.linalg",
    "wengert.pytorch.special",
)
OURS = ("wengert.functions", "wengert.nn.functional", "wengert.autograd.methods", "None")
"""Where functions that are asked about come from; recorders have no module."""
PROPERTIES = ("T", "mT", "H", "mH", "real", "imag", "data")
"""Those that are tensors of the same kind."""
SHORT = {linear._affine: functional.linear, activations._relu: functional.relu}
"""What layers call instead of the functions that they are said to call."""
KEPT = {"__hash__", "__reduce_ex__", "__dir__", "__new__", "as_subclass", "is_tensor", "typename"}
"""What concerns the object and not its numbers."""


class _Within(Mode):
    """What is asked in a `with` block."""

    def __init__(self, **changes: Any) -> None:
        self.changes = changes
        self.fields = tuple(changes)

    def _changed(self, state: State) -> State:
        return state._replace(**self.changes)


class DisableTorchFunctionSubclass(_Within):
    """Classes are not asked in a `with` block."""

    def __init__(self) -> None:
        super().__init__(classes=False)


class DisableTorchFunction(_Within):
    """Neither classes nor modes are asked in a `with` block."""

    def __init__(self) -> None:
        super().__init__(classes=False, functions=())


class TorchFunctionMode(Mode):
    """Derive a class and define `__torch_function__`: in a `with` block it is asked first."""

    fields = ("functions",)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has to define __torch_function__")

    def _changed(self, state: State) -> State:
        return state._replace(functions=(*state.functions, self))

    def __enter__(self) -> Self:
        intercept()
        return super().__enter__()


# ---- who is asked ---------------------------------------------------------------------------


@cache
def _overrides(kind: Any) -> bool:
    """Whether a class has a say: of the package's own only those that define what they say.

    PyTorch's own tensors would call the function again, which would ask them again.
    """
    handler = getattr(kind, "__torch_function__", None)
    ours = kind.__module__.startswith("wengert.") and "__torch_function__" not in vars(kind)
    if kind is Tensor or ours or dtypes.is_foreign(kind):
        return False
    return handler not in (None, disabled)


def _asked(args: Iterable[Any]) -> Iterator[Any]:
    """The arguments whose classes have a say; lists are looked into."""
    for x in args:
        kind: Any = type(x)
        if kind is list or kind is tuple:
            yield from _asked(x)
        elif _overrides(kind):
            yield x


def _in_order(arguments: Iterable[Any]) -> list[Any]:
    """One argument of each class: from left to right, derived classes before their bases."""
    order: list[Any] = []
    for x in arguments:
        if all(type(x) is not type(y) for y in order):
            place = next((i for i, y in enumerate(order) if issubclass(type(x), type(y))), None)
            order.insert(len(order) if place is None else place, x)
    return order


def _ask(public: Any, own: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a public function does: its own code, unless a mode or an argument has a say."""
    state = modes.current()
    order = _in_order(_asked((*args, *kwargs.values()))) if state.classes else []
    if state.functions:
        *outer, mode = state.functions
        with _Within(functions=tuple(outer)):
            return mode.__torch_function__(public, tuple(map(type, order)), args, kwargs)
    return handle_torch_function(public, order, *args, **kwargs) if order else own(*args, **kwargs)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], /, *args: Any, **kwargs: Any
) -> Any:
    """What the first of these arguments that knows makes of a call; TypeError if none does."""
    order = _in_order(_asked(relevant_args))
    types = tuple(map(type, order))
    for x in order:
        result = x.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = getattr(public_api, "__name__", public_api)
    raise TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: "
        f"{[kind.__name__ for kind in types]}. Return super().__torch_function__(...) for what a "
        "class does not define."
    )


def default(cls: type, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Tensor's own `__torch_function__`: run the function, and give results the class."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    if others := [*filter(dtypes.is_foreign, args)]:  # who asked, and whose function would again
        raise dtypes.foreign(others[0])
    with DisableTorchFunctionSubclass():
        return _as(func(*args, **(kwargs or {})), cls)


def _as(result: Any, cls: type) -> Any:
    if cls is Tensor:
        return result
    own = lambda x: x.as_subclass(cls) if isinstance(x, Tensor) and not isinstance(x, cls) else x
    return each(own, result)


def disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of parameters: results are no parameters."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


# ---- taking functions over ------------------------------------------------------------------


def intercept() -> None:
    """Have each public function ask its arguments from now on."""
    if not MOVED:
        for function, public in ({function: function for function in _public()} | SHORT).items():
            _move(function, public)


def restore() -> None:
    """Give the functions their code back."""
    while MOVED:
        function, own = MOVED.popitem()
        take_over(function, own)
        if function.__wrapped__ is own:
            del function.__wrapped__


@contextlib.contextmanager
def unasked() -> Iterator[None]:
    """The functions as they are written, for whoever reads their signatures."""
    asking = bool(MOVED)
    restore()
    try:
        yield
    finally:
        if asking:
            intercept()


def _public() -> Iterator[Any]:
    spaces = [Tensor, *map(importlib.import_module, NAMESPACES)]
    items = [item for space in spaces for item in vars(space).items()]
    items += [(name, getattr(Tensor, name).fget) for name in PROPERTIES]
    for name, function in items:
        ours = isinstance(function, FunctionType) and str(function.__module__).startswith(OURS)
        if ours and name not in KEPT:
            yield function


def _move(function: Any, public: Any) -> None:
    code, closure = function.__code__, function.__closure__
    own = FunctionType(code, function.__globals__, function.__name__, closure=closure)
    take_over(own, function)
    MOVED[function] = own
    vars(function).setdefault("__wrapped__", own)  # for its signature
    function.__defaults__, function.__kwdefaults__ = None, {"_ask": partial(_ask, public, own)}
    function.__code__ = _asking.__code__.replace(
        co_freevars=code.co_freevars, co_name=code.co_name, co_qualname=code.co_qualname
    )


def _asking(*args: Any, _ask: Any, **kwargs: Any) -> Any:
    return _ask(args, kwargs)


# ---- what programs ask ----------------------------------------------------------------------


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of these arguments has a say in what functions mean."""
    return modes.current().classes and any(True for _ in _asked(relevant_args))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """`has_torch_function` of single arguments."""
    return has_torch_function(relevant_args)


has_torch_function_unary = has_torch_function_variadic


def is_tensor_like(inp: Any) -> bool:
    """Whether functions take this for a tensor: it is one, or its class says what they mean."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of tensors, or gets a property of theirs."""
    members = vars(Tensor).values()
    return any(func is getattr(member, "fget", member) for member in members)


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: asks the arguments that `dispatcher` names before the function runs."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def asking(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(asking, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return asking

    return decorate


_lacking(__name__)
