"""Objects that files may hold beside data: modules, dataclasses, namespaces, paths.

A file has the name of an object's class, and its attributes. Loading makes an instance without
calling the class and gives it the attributes: nothing of the class runs, and nothing is imported.
Only classes that the program allows are made: the layers of `wengert.nn`, those that were named to
`add_safe_globals`, and with `weights_only=False` all modules and dataclasses that it has imported.
"""

from __future__ import annotations

import copyreg
import dataclasses
import pickle
import sys
from argparse import Namespace
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from wengert import nn
from wengert.autograd import methods
from wengert.functions import results
from wengert.functions.device import device as device
from wengert.nn.module import HOOKS, Module
from wengert.nn.parameter import Parameter, is_lazy
from wengert.sparse.tensors import SparseTensor, sparse_coo_tensor, sparse_csr_tensor
from wengert.tensor import Tensor, bare
from wengert.tree import REGISTERED

_allowed: dict[str, Any] = {}


def is_named_tuple(kind: Any) -> bool:
    """Whether this is a class of tuples whose parts have names."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


MADE: dict[type, tuple[Callable[[Any], tuple[Any, ...]], Callable[..., Any]]] = {
    slice: (lambda s: (s.start, s.stop, s.step), slice),
    range: (lambda r: (r.start, r.stop, r.step), range),
    frozenset: (lambda s: (list(s),), frozenset),
    deque: (lambda d: (list(d), d.maxlen), deque),
    defaultdict: (lambda d: (d.default_factory, dict(d)), defaultdict),
    device: (lambda d: (d.type,) if d.index is None else (d.type, d.index), device),
    bytes: (lambda b: (b.decode("latin1"),), lambda text="": text.encode("latin1")),
    bytearray: (lambda b: (b.decode("latin1"),), lambda text="": bytearray(text, "latin1")),
}
"""Values that files hold as their class and parts: what takes them apart, what makes them anew."""

FACTORIES: dict[str, type] = {kind.__name__: kind for kind in (dict, list, set, int, float, str)}
"""What a `defaultdict` may make its values with."""


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files that are loaded from now on hold instances of these classes.

    A class may be given with the name that files have for it: `(Net, "__main__.Net")`.
    """
    for item in safe_globals:
        kind, name = item if isinstance(item, tuple) else (item, name_of(item))
        if not isinstance(kind, type):
            raise TypeError(
                f"add_safe_globals expects classes, got {kind!r}: functions are not called by files"
            )
        _allowed[name] = kind


def get_safe_globals() -> list[Any]:
    """The classes that were allowed."""
    return list(_allowed.values())


def clear_safe_globals() -> None:
    """Allow no classes but the package's own."""
    _allowed.clear()


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """Allow classes in a `with` block."""
    before = dict(_allowed)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _allowed.clear()
        _allowed.update(before)


def name_of(kind: Any) -> str:
    """The name that files have for a class or a function."""
    if kind in RESULTS.values():
        return f"torch.return_types.{kind.__name__}"
    return f"{kind.__module__}.{kind.__qualname__}"


def attributes(value: Any) -> dict[str, Any] | None:
    """What a file holds of an object; None if it cannot hold such."""
    if isinstance(value, Module):
        hooks = [name for name in HOOKS if vars(value)[name]]
        state = {name: part for name, part in vars(value).items() if name not in HOOKS}
        return None if hooks else state
    is_data = isinstance(value, Namespace) or dataclasses.is_dataclass(type(value))
    allowed = is_data or type(value) in REGISTERED or type(value) in _allowed.values()
    return dict(_slots(value)) if allowed and not isinstance(value, type) else None


def _slots(value: Any) -> Iterator[tuple[str, Any]]:
    yield from getattr(value, "__dict__", {}).items()
    for name in copyreg._slotnames(type(value)):  # type: ignore[attr-defined]
        if hasattr(value, name):
            yield name, getattr(value, name)


def tensor_attributes(x: Tensor) -> dict[str, Any]:
    """What a file holds of a tensor beside its numbers; it says which hooks it does not."""
    methods.warn_of_hooks(x)
    return _no_tensors_own(methods.attributes_of(x), TypeError)


def derived(x: Tensor) -> type | None:
    """The class of a tensor, if it is not one that every program has."""
    kind = type(x)
    return None if kind.__module__.startswith("wengert.") and not is_lazy(x) else kind


def tensor(x: Tensor, kind: Any, attributes: Any) -> Any:
    """The tensor as one of a class, None for its own, with attributes."""
    if kind is not None:
        if not (isinstance(kind, type) and issubclass(kind, Tensor)):
            raise pickle.UnpicklingError(f"the file makes a tensor of {kind!r}")
        out = bare(kind, x._array)
        x = out.requires_grad_() if x.requires_grad else out
    return methods.give(x, _no_tensors_own(attributes, pickle.UnpicklingError))


def _no_tensors_own(attributes: dict[str, Any], error: type[Exception]) -> dict[str, Any]:
    for name in attributes:
        if hasattr(Parameter, name):
            raise error(
                f"a tensor has an attribute {name!r}, which all tensors have, and files do not "
                "hold it: name it otherwise, or save x.detach().clone()"
            )
    return attributes


RESULTS = {kind.__name__: kind for kind in vars(results).values() if is_named_tuple(kind)}
"""The named tuples that functions return, by the names that PyTorch has for them."""


def named_tuple(kind: Any, items: Any) -> Any:
    """The items as a named tuple, without calling its class."""
    if len(items) != len(kind._fields):
        raise ValueError(f"{kind.__name__} has {len(kind._fields)} parts, not {len(items)}")
    return tuple.__new__(kind, items)


def sparse_parts(x: SparseTensor) -> tuple[str, tuple[Any, ...]]:
    """The layout of a sparse tensor, and what it is made of: its indices, values and size."""
    if x.is_sparse_csr:
        return "sparse_csr", (x.crow_indices(), x.col_indices(), x.values(), x.shape)
    return "sparse_coo", (x._indices(), x._values(), x.shape, x.is_coalesced())


def sparse(layout: str, parts: Any) -> SparseTensor:
    """The sparse tensor that was taken apart."""
    if layout == "sparse_csr":
        return sparse_csr_tensor(*parts)
    if layout != "sparse_coo":
        raise pickle.UnpicklingError(f"tensors of layout {layout} are not read: save x.to_dense()")
    indices, values, size, *coalesced = parts
    return sparse_coo_tensor(indices, values, size, is_coalesced=bool(coalesced and coalesced[0]))


def refused(where: str, value: Any) -> str:
    """What is said of a value that files do not hold."""
    advice = ""
    if hasattr(value, "state_dict"):
        advice = " It has hooks or is no module: save its state_dict() instead."
    elif not callable(value):
        advice = " Allow its class by wengert.serialization.add_safe_globals."
    return (
        f"save: {where} is a {type(value).__name__}, and files hold tensors, numbers, strings, and "
        f"lists, tuples and dictionaries of them.{advice}"
    )


def allowed(name: str, trusted: bool) -> Any:
    """The class of this name, if a file may hold instances of it."""
    registered = {name_of(kind): kind for kind in REGISTERED}
    return (
        _allowed.get(name)
        or registered.get(name)
        or _own(name)
        or (_imported(name) if trusted else None)
    )


def require(name: str, trusted: bool) -> Any:
    """The class of this name; UnpicklingError if a file may not hold instances of it."""
    kind = allowed(name, trusted)
    if kind is None:
        raise pickle.UnpicklingError(
            f"the file holds an instance of {name}, which is not allowed. If you trust it, import "
            f"the class and call wengert.serialization.add_safe_globals([{name.split('.')[-1]}]), "
            "or load(path, weights_only=False), which takes modules and dataclasses that are "
            "imported; no code of the file is run. Or save state_dict() instead."
        )
    return kind


def blank(kind: Any) -> Any:
    """An instance of a class, without attributes."""
    if issubclass(kind, Tensor):
        raise pickle.UnpicklingError(f"the file makes a {kind.__name__} without numbers")
    item = object.__new__(kind)
    if isinstance(item, Module):
        Module.__init__(item)
    return item


def give(item: Any, state: dict[str, Any]) -> Any:
    """The object with its attributes. A module has hooks of its own, which files do not hold."""
    if isinstance(item, Module):
        if any(state.get(name) for name in HOOKS):
            raise pickle.UnpicklingError(
                f"the file holds a {type(item).__name__} with hooks, which are code: remove them "
                "before saving it, or save its state_dict()"
            )
        state = {name: value for name, value in state.items() if name not in HOOKS}
    return methods.give(item, state)


def function(name: str) -> Any:
    """A function that a layer keeps, such as its activation."""
    known = getattr(nn.functional, name, None)
    if known is None:
        raise pickle.UnpicklingError(f"the file names nn.functional.{name}, which does not exist")
    return known


def is_function(value: Any) -> bool:
    """Whether this is one of `nn.functional`."""
    return callable(value) and vars(nn.functional).get(getattr(value, "__name__", "")) is value


def is_factory(value: Any) -> bool:
    """Whether this is a class that a `defaultdict` may make its values with."""
    return isinstance(value, type) and FACTORIES.get(value.__name__) is value


def _own(name: str) -> type | None:
    if name.startswith("torch.nn.modules."):  # a layer of PyTorch's, whose attributes ours have
        return next((k for k in _layers(Module) if k.__name__ == name.rpartition(".")[2]), None)
    if name.startswith("torch.return_types."):
        return RESULTS.get(name.rpartition(".")[2])
    kind = _imported(name) if name.startswith("wengert.nn.") else None
    return Namespace if name == "argparse.Namespace" else kind


def _layers(base: type) -> Iterator[type]:
    """The package's own classes of modules."""
    kind: type
    for kind in base.__subclasses__():
        if kind.__module__.startswith("wengert.nn."):
            yield kind
        yield from _layers(kind)


def _imported(name: str) -> type | None:
    """A module's, a tensor's or a dataclass's class, if the program has imported it."""
    module, _, rest = name.rpartition(".")
    parts = [rest]
    while module and module not in sys.modules:
        module, _, rest = module.rpartition(".")
        parts.insert(0, rest)
    item: Any = sys.modules.get(module)
    for part in parts:
        item = vars(item).get(part) if item is not None else None
    data = dataclasses.is_dataclass(item) or is_named_tuple(item)
    if isinstance(item, type) and (issubclass(item, (Module, Tensor)) or data):
        return item
    return None
