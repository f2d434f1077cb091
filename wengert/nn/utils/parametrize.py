"""Parametrizations: a parameter or buffer that is computed from others whenever it is read.

`register_parametrization(module, "weight", f)` moves the weight to
`module.parametrizations.weight.original` and makes `module.weight` mean f(original).
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from typing import Any

from wengert.autograd.engine import mark_written
from wengert.history import modes
from wengert.nn.containers import ModuleDict, ModuleList
from wengert.nn.module import Module
from wengert.nn.parameter import Parameter
from wengert.tensor import Tensor


class _Cache:
    """What was computed inside of `cached()`."""

    depth = 0
    values: dict[tuple[int, str], Tensor]

    def __init__(self) -> None:
        self.values = {}


_cache = _Cache()


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Inside, each parametrized tensor is computed once, when it is first read."""
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.values.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, and what they start from.

    That is `original`, or `original0`, `original1`, ... if the `right_inverse` of the first returns
    several.
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        undone = _undone(list(modules), original)
        self.is_tensor = isinstance(undone, Tensor)
        self.ntensors = 1 if isinstance(undone, Tensor) else len(undone)
        learned = isinstance(original, Parameter)
        if isinstance(undone, Tensor):
            if undone.dtype != original.dtype or (not unsafe and undone.shape != original.shape):
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype or shape "
                    f"of the tensor: {original.dtype} {tuple(original.shape)} became "
                    f"{undone.dtype} {tuple(undone.shape)}. Pass unsafe=True to change the shape."
                )
            if undone is not original:
                original.data = undone.detach()
            self._keep("original", original, learned)
        else:
            for i, x in enumerate(undone):
                if not isinstance(x, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors, but "
                        f"element {i} is {type(x).__name__}."
                    )
                kept = Parameter(x.detach(), original.requires_grad) if learned else x
                self._keep(f"original{i}", kept, learned)
        if not unsafe:
            self._check(original)

    def _keep(self, name: str, x: Tensor, learned: bool) -> None:
        if learned:
            self.register_parameter(name, x)  # type: ignore[arg-type]
        else:
            self.register_buffer(name, x)

    def _check(self, original: Tensor) -> None:
        value = self()
        if not isinstance(value, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
        if value.dtype != original.dtype:
            raise ValueError(
                "Registering a parametrization may not change the dtype of the tensor, unless the "
                f"`unsafe` flag is enabled.\nunparametrized dtype: {original.dtype}\n"
                f"parametrized dtype: {value.dtype}"
            )
        if self.is_tensor and value.shape != self.original.shape:
            raise ValueError(
                "Registering a parametrization may not change the shape of the tensor, unless the "
                f"`unsafe` flag is enabled.\nunparametrized shape: {self.original.shape}\n"
                f"parametrized shape: {value.shape}"
            )

    def _originals(self) -> list[Tensor]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Give the originals values from which (about) `value` is computed."""
        with modes.no_grad():
            undone = _undone(list(self), value)
            items = [undone] if isinstance(undone, Tensor) else list(undone)
            if len(items) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length "
                    f"{self.ntensors}. Got one of length {len(items)}."
                )
            for original, x in zip(self._originals(), items, strict=True):
                if x.dtype != original.dtype:
                    raise ValueError(
                        f"The dtype of what `right_inverse` returned, {x.dtype}, is not that of "
                        f"the original, {original.dtype}."
                    )
                if x.shape == original.shape:
                    original._array[...] = x._array
                    mark_written(original, "right_inverse")
                else:
                    original.data = x.detach()

    def forward(self) -> Tensor:
        modules = list(self)
        x = modules[0](*self._originals())
        for module in modules[1:]:
            x = module(x)
        return x


def _undone(modules: list[Any], value: Tensor) -> Any:
    """The `right_inverse`s, the last parametrization's first; the value itself where none is."""
    undone: Any = value
    with modes.no_grad():
        for module in reversed(modules):
            if hasattr(module, "right_inverse"):
                undone = module.right_inverse(undone)
    if not isinstance(undone, (Tensor, Sequence)):
        raise ValueError(
            "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
            f"{type(undone).__name__}"
        )
    return undone


# ---- modules with parametrized tensors -----------------------------------------------------


def _inject_class(module: Module) -> None:
    """Give the module a class of its own, on which properties can be put."""
    kind = type(module)

    def getstate(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(): save "
            "module.state_dict(), and load it into a module parametrized alike."
        )

    def deepcopy(self: Any, memo: Any) -> Any:
        twin: Any = object.__new__(type(self))
        memo[id(self)] = twin
        twin.__dict__ = copy.deepcopy(self.__dict__, memo)
        return twin

    members: dict[str, Any] = {
        "__getstate__": getstate,
        "__deepcopy__": deepcopy,
        "_parametrized": True,
    }
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), members)


def _inject_property(module: Module, name: str) -> None:
    def read(self: Any) -> Tensor:
        if not _cache.depth:
            return self.parametrizations[name]()
        key = (id(self), name)
        value = _cache.values.get(key)
        if value is None:
            value = _cache.values[key] = self.parametrizations[name]()
        return value

    def write(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """From now on `module.tensor_name` is `parametrization(original)`; returns the module.

    A second one is applied to the result of the first. A parametrization with a method
    `right_inverse` gives the original its first value, and lets the tensor be assigned. `unsafe`
    allows it to change shape and dtype.

    >>> import wengert as wg
    >>> class Positive(wg.nn.Module):
    ...     def forward(self, x):
    ...         return x.exp()
    ...     def right_inverse(self, y):
    ...         return y.log()
    >>> layer = wg.nn.Linear(2, 1, bias=False)
    >>> _ = wg.nn.init.constant_(layer.weight, 2.0)
    >>> _ = register_parametrization(layer, "weight", Positive())
    >>> layer.weight
    tensor([[2., 2.]], grad_fn=<ExpBackward0>)
    >>> list(layer.state_dict())
    ['parametrizations.weight.original']
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        _append(module, tensor_name, parametrization, unsafe)
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{type(module).__name__}' does not have a parameter, a buffer, or a "
            f"parametrized element with name '{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    parametrizations = ParametrizationList([parametrization], original, unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _inject_class(module)
        module.parametrizations = ModuleDict()
    _inject_property(module, tensor_name)
    module.parametrizations[tensor_name] = parametrizations
    return module


def _append(module: Any, name: str, parametrization: Module, unsafe: bool) -> None:
    parametrizations = module.parametrizations[name]
    if not unsafe:
        before = getattr(module, name)
        after = parametrization(before)
        if not isinstance(after, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
        if after.dtype != before.dtype or after.shape != before.shape:
            raise ValueError(
                "Registering a parametrization may not change the dtype or shape of the tensor, "
                f"unless the `unsafe` flag is enabled: {before.dtype} {tuple(before.shape)} became "
                f"{after.dtype} {tuple(after.shape)}"
            )
        if hasattr(parametrization, "right_inverse"):
            with modes.no_grad():
                parametrizations.right_inverse(parametrization.right_inverse(before))
    parametrizations.append(parametrization)
    parametrizations.unsafe |= unsafe


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the module has a parametrization, or this tensor of it has one."""
    parametrizations = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return bool(len(parametrizations)) if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make the tensor an ordinary one again: with its present value, or with the original's."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"Module {type(module).__name__} does not have a parametrization on {tensor_name}"
        )
    parametrizations: Any = module.parametrizations[tensor_name]
    originals = parametrizations._originals()
    if leave_parametrized:
        with modes.no_grad():
            value = getattr(module, tensor_name).detach()
        if parametrizations.is_tensor:
            original = originals[0]
            original.data = value
        else:
            learned = isinstance(originals[0], Parameter)
            required = any(t.requires_grad for t in originals)
            original = Parameter(value, required) if learned else value
    elif not parametrizations.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    else:
        original = originals[0]
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        del module.parametrizations
        module.__class__ = type_before_parametrizations(module)
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that the module had before it was parametrized."""
    kind = type(module)
    return kind.__bases__[0] if "_parametrized" in vars(kind) else kind


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give another module the parametrizations, and the originals, of this one."""
    if not is_parametrized(from_module):
        return to_module
    source: Any = from_module.parametrizations
    names = list(source) if tensor_name is None else [tensor_name]
    for name in names:
        if name not in source:
            continue
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for parametrization in source[name]:
            register_parametrization(to_module, name, parametrization)
        mine = to_module.parametrizations[name]._originals()
        for x, y in zip(mine, source[name]._originals(), strict=True):
            x.data = y.detach().clone()
    return to_module
