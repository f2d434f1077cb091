"""Module: parameters, buffers and submodules under one name, and a forward pass.

Calling a module without hooks goes straight to `forward`; everything else here serves the tree of
modules: walking it, casting it, saving and loading it, printing it.
"""

from __future__ import annotations

import importlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, Self, TypeVar

import numpy as np

from wengert import dtypes
from wengert.autograd.methods import clear_gradients
from wengert.functions.creation import check_device
from wengert.history import modes
from wengert.history.location import warn
from wengert.history.node import RemovableHandle
from wengert.history.surroundings import BEGINNING, DECIDING, EVER, EVERYWHERE
from wengert.nn.hooks import BackwardHooks
from wengert.nn.parameter import Buffer, Parameter
from wengert.nn.state import StateMethods
from wengert.tensor import Tensor, suited, wrap

Hooks = OrderedDict[int, Callable[..., Any]]
P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class _Forward(Protocol[P, R]):
    """Any module, by what its `forward` takes and gives."""

    def forward(self, *args: P.args, **kwargs: P.kwargs) -> R: ...


class Seen:
    """Whether any module of this process ever had a hook: until then calls need not ask."""

    def __init__(self) -> None:
        self.hooks = False  # of the instance, where Python finds it quickest


seen = Seen()


class _Hooks(OrderedDict[int, Callable[..., Any]]):
    """The hooks of one kind, in order."""

    def __setitem__(self, key: int, hook: Callable[..., Any]) -> None:
        seen.hooks = True
        super().__setitem__(key, hook)


def located(error: Exception, module: Any) -> None:
    """Note in an error that passes where in `module` it comes from: "in layer2.0.conv1: ..."."""
    state = error.__dict__
    inner = state.setdefault("_module", module)
    if inner is module:
        return
    for path, child in module.named_modules():
        if child is inner:
            shown = inner._get_name() if inner._modules else repr(inner)
            note = f"(in {path}: {shown})"
            notes = [n for n in state.get("__notes__", ()) if n != state.get("_where")]
            error.__notes__ = [*notes, note]
            state["_where"] = note
            return


_everywhere_before: Hooks = _Hooks()
_everywhere_after: Hooks = _Hooks()


class Module(StateMethods):
    """Base of all networks: subclass it, give it parameters and submodules, write `forward`.

    >>> import wengert as wg
    >>> class Doubled(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.inner = wg.nn.Linear(2, 1)
    ...     def forward(self, x):
    ...         return 2 * self.inner(x)
    >>> Doubled()
    Doubled(
      (inner): Linear(in_features=2, out_features=1, bias=True)
    )
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _version: int = 1
    call_super_init: bool = False
    __getattribute__ = object.__getattribute__  # in its own place: traces watch what is read

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (args or kwargs) and not self.call_super_init:
            unexpected = next(iter(kwargs), None)
            detail = (
                f"got an unexpected keyword argument '{unexpected}'"
                if unexpected
                else f"takes 1 positional argument but {len(args) + 1} were given"
            )
            raise TypeError(f"{type(self).__name__}.__init__() {detail}")
        for tell in BEGINNING:
            tell(self)
        state = self.__dict__
        state["training"] = True
        state["_parameters"] = {}
        state["_buffers"] = {}
        state["_non_persistent_buffers_set"] = set()
        state["_modules"] = {}
        for name in HOOKS:
            state[name] = _Hooks()
        if self.call_super_init:  # of the class that a class of one's own names after Module
            super().__init__(*args, **kwargs)

    if TYPE_CHECKING:
        forward: Callable[..., Any]

        # A module takes what its `forward` takes, and gives what that gives.
        def __call__(self: _Forward[P, R], *args: P.args, **kwargs: P.kwargs) -> R: ...

    else:

        def forward(self, *input: Any) -> Any:
            """What the module computes; subclasses write it."""
            raise NotImplementedError(
                f'Module [{type(self).__name__}] is missing the required "forward" function'
            )

    # ---- calling --------------------------------------------------------------------------

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if modes.special and modes.current().numpy_code:
                return self._call_from_numpy_code(args, kwargs)
            if seen.hooks and self._has_hooks():
                return self._call_with_hooks(args, kwargs)
            if kwargs:
                return self.forward(*args, **kwargs)
            if len(args) == 1:  # the common case: a call without a star is cheaper
                return self.forward(args[0])
            return self.forward(*args)
        except Exception as error:
            located(error, self)
            raise

    if not TYPE_CHECKING:
        __call__ = _call

    def _call_from_numpy_code(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call by code written for arrays: a module's is PyTorch's, and so are methods there."""
        before = modes.enter(modes.current()._replace(numpy_code=False))
        try:
            result = self(*args, **kwargs)
        finally:
            modes.enter(before)
        for x in result if isinstance(result, (tuple, list)) else (result,):
            suited(x)
        return result

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Have `forward` compiled from now on: `wengert.compile` with the same arguments."""
        compile = importlib.import_module("wengert").compile  # stands on networks, not they on it
        self.forward = compile(self.forward, *args, **kwargs)

    def _has_hooks(self) -> bool:
        return bool(
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _everywhere_before
            or _everywhere_after
        )

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        done: set[int] = set()
        try:
            return self._hooked(args, kwargs, done)
        except Exception:
            # Hooks that asked for it run even when the forward pass failed, and their own errors
            # give way.
            for key, hook in list(self._forward_hooks.items()):
                if key in self._always_called and key not in done:
                    try:
                        self._run_hook(key, hook, args, kwargs, None)
                    except Exception as error:
                        warn(
                            "module forward hook with ``always_call=True`` raised an exception "
                            f"that was silenced as another error was raised in forward: {error}"
                        )
            raise

    def _hooked(self, args: tuple[Any, ...], kwargs: dict[str, Any], done: set[int]) -> Any:
        for hook in list(_everywhere_before.values()):
            result = hook(self, args)
            if result is not None:
                args = result if isinstance(result, tuple) else (result,)
        for key, hook in list(self._forward_pre_hooks.items()):
            if key in self._forward_pre_hooks_with_kwargs:
                result = hook(self, args, kwargs)
                if result is not None:
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple of (new_args, "
                            f"new_kwargs), but got {result}."
                        )
                    args, kwargs = result
            else:
                result = hook(self, args)
                if result is not None:
                    args = result if isinstance(result, tuple) else (result,)
        watch = None
        if self._backward_hooks or self._backward_pre_hooks:
            before, after = self._backward_pre_hooks.values(), self._backward_hooks.values()
            watch = BackwardHooks(self, list(before), list(after))
            args = watch.around_inputs(args)
        result = self.forward(*args, **kwargs)
        for hook in list(_everywhere_after.values()):
            changed = hook(self, args, result)
            result = result if changed is None else changed
        for key, hook in list(self._forward_hooks.items()):
            done.add(key)
            changed = self._run_hook(key, hook, args, kwargs, result)
            result = result if changed is None else changed
        return watch.around_outputs(result) if watch is not None else result

    def _run_hook(self, key: int, hook: Any, args: Any, kwargs: Any, result: Any) -> Any:
        if key in self._forward_hooks_with_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; what it returns replaces the arguments."""
        handle = RemovableHandle(self._forward_pre_hooks, hook, prepend)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; a result replaces the output."""
        handle = RemovableHandle(self._forward_hooks, hook, prepend)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._always_called[handle.id] = True
        return handle

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the inputs' gradients are known.

        A tuple that it returns replaces `grad_input`.
        """
        return RemovableHandle(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` with the outputs' gradients, which it may replace."""
        return RemovableHandle(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The old name; does what `register_full_backward_hook` does."""
        return self.register_full_backward_hook(hook)

    # ---- attributes -----------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        for store in ("_parameters", "_buffers", "_modules"):
            items = state.get(store)
            if items is not None and name in items:
                return items[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        parameters = state.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected). Wrap it: wengert.nn.Parameter(value)."
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if state.get("_modules") is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_modules")
            self._modules[name] = value
        elif name in (state.get("_modules") or ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            self._modules[name] = value
        elif isinstance(value, Buffer) or name in (state.get("_buffers") or ()):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{_type_name(value)}' as buffer '{name}' (torch.nn.Buffer, "
                "torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)  # type: ignore[attr-defined]
        else:
            self._buffers[name] = value

    def _forget(self, name: str, but: str) -> None:
        """Remove `name` wherever else it stands."""
        self.__dict__.pop(name, None)
        for store in ("_parameters", "_buffers", "_modules"):
            if store != but:
                self.__dict__[store].pop(name, None)
        if but != "_buffers":
            self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {
            *dir(type(self)),
            *self.__dict__,
            *self._parameters,
            *self._buffers,
            *self._modules,
        }
        return sorted(n for n in names if not n[:1].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in HOOKS:
            self.__dict__.setdefault(name, _Hooks())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Make `param` the parameter `name`; None reserves the name."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name(name, "parameter", self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{_type_name(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must "
                    f"be created explicitly. To express '{name}' as a function of another Tensor, "
                    "compute the value in the forward() method."
                )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Make `tensor` part of the module's state, though not a parameter."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' (torch Tensor or "
                "None required)"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Make `module` the submodule `name`."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        self._check_name(name, "module", self._modules)
        self._modules[name] = module

    register_module = add_module

    def _check_name(self, name: Any, kind: str, known: Mapping[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in known and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # ---- walking the tree -----------------------------------------------------------------

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, with their dotted names, each once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all below it, each once."""
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The submodules one level below, with their names."""
        memo = set()
        for name, module in self._modules.items():
            if module is not None and module not in memo:
                memo.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The submodules one level below."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        members_of: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        memo: set[int] = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, value in members_of(module):
                if value is None or id(value) in memo:
                    continue
                if remove_duplicate:
                    memo.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters of this module and those below, with their dotted names."""
        members = lambda module: module._parameters.items()
        yield from self._named_members(members, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of this module and those below."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers of this module and those below, with their dotted names."""
        members = lambda module: module._buffers.items()
        yield from self._named_members(members, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module and those below."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """The submodule with a dotted name; '' is this module."""
        module: Module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` in the place with a dotted name."""
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with a dotted name."""
        member = self._member(target)
        if not isinstance(member, Parameter):
            raise AttributeError(f"`{target.rpartition('.')[2]}` is not an nn.Parameter")
        return member

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with a dotted name."""
        path, _, name = target.rpartition(".")
        member = self._member(target)
        if name not in self.get_submodule(path)._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return member

    def _member(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        return getattr(module, name)

    # ---- changing all of it ---------------------------------------------------------------

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` on every submodule, then on this module; returns the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace every parameter's and buffer's values by `fn` of them."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                parameter._array = fn(parameter.data)._array
                if parameter._grad is not None:
                    parameter._grad = fn(parameter._grad.detach())
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Cast floating-point parameters and buffers: `to(dtype)`, `to(device)`, `to(tensor)`."""
        dtype = kwargs.pop("dtype", None)
        device = kwargs.pop("device", None)
        for argument in args:
            if isinstance(argument, Tensor):
                dtype = argument._array.dtype
            elif isinstance(argument, (np.dtype, type)):
                dtype = dtypes.stated(argument)
            elif not isinstance(argument, bool):
                device = argument
        check_device(device)
        if dtype is None:
            return self
        if not dtypes.is_inexact(dtype):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}"
            )
        return self._cast(dtypes.stated(dtype))

    def _cast(self, dtype: Any) -> Self:
        change = lambda t: t.to(dtype) if dtypes.is_inexact(t._array.dtype) else t
        return self._apply(change)

    def float(self) -> Self:
        """Cast floating-point parameters and buffers to float32."""
        return self._cast(dtypes.float32)

    def double(self) -> Self:
        """Cast floating-point parameters and buffers to float64."""
        return self._cast(dtypes.float64)

    def half(self) -> Self:
        """Cast floating-point parameters and buffers to float16."""
        return self._cast(dtypes.float16)

    def bfloat16(self) -> Self:
        """Cast floating-point parameters and buffers to bfloat16, which needs `ml_dtypes`."""
        return self._apply(lambda t: t.bfloat16() if dtypes.is_inexact(t._array.dtype) else t)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Parameters and buffers as new memory on a device, with zeros in it."""
        check_device(device)
        return self._apply(lambda t: wrap(np.zeros_like(t._array)), recurse)

    def type(self, dst_type: Any) -> Self:
        """Cast all parameters and buffers."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self) -> Self:
        """The module itself: everything is on the CPU."""
        return self

    def cuda(self, device: Any = None) -> Self:
        """Refused: wengert computes on the CPU."""
        check_device("cuda")
        return self

    def share_memory(self) -> Self:
        return self

    def train(self, mode: bool = True) -> Self:
        """Put this module and all below it in training mode, or out of it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Put this module and all below it in evaluation mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Let autograd record operations on the parameters, or not."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the parameters' gradients, or set them to 0."""
        clear_gradients(self.parameters(), set_to_none)

    # ---- printing -------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What to show between the parentheses; subclasses write it."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [
            f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()
        ]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        if not lines and not children:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


HOOKS = (
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_always_called",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_state_dict_pre_hooks",
    "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def _type_name(value: Any) -> str:
    kind = type(value)
    return (
        "torch.FloatTensor"
        if kind is Tensor
        else f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    )


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before the forward pass of every module."""
    return RemovableHandle(_everywhere_before, hook)


def register_module_forward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward pass of every module."""
    return RemovableHandle(_everywhere_after, hook)


DECIDING.append(Module)
EVERYWHERE.extend((_everywhere_before, _everywhere_after))
EVER.append(vars(seen))
