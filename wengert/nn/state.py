"""A module's state: collected under dotted names, and loaded from there."""

from __future__ import annotations

import functools
import itertools
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from wengert.autograd.engine import mark_written
from wengert.history.node import RemovableHandle
from wengert.nn.parameter import Parameter
from wengert.tensor import Tensor

_EXTRA = "_extra_state"


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` found missing or left over."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()


class _Loading(NamedTuple):
    """One call of `load_state_dict`, which goes from a module to those in it."""

    metadata: Any
    assign: bool
    keys: _IncompatibleKeys
    errors: list[str]

    def load(self, module: Any, part: Any, prefix: str) -> None:
        local = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            local["assign_to_params_buffers"] = self.assign
        module._load_from_state_dict(part, prefix, local, True, *self.keys, self.errors)
        for name, child in module._modules.items():
            if child is not None:
                inner = f"{prefix}{name}."
                self.load(child, {k: v for k, v in part.items() if k.startswith(inner)}, inner)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, self.keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                    "expected to return new values, if incompatible_keys need to be modified, "
                    "it should be done inplace."
                )


class StateMethods:
    """What a Module can do with its state. `self` is always a Module."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _version: int
    _state_dict_pre_hooks: Any
    _state_dict_hooks: Any
    _load_state_dict_pre_hooks: Any
    _load_state_dict_post_hooks: Any

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """All parameters and persistent buffers by their dotted names; they share memory."""
        if args:
            given: Any = (*args, *(destination, prefix, keep_vars)[len(args) :])
            destination, prefix, keep_vars = given
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local)
            if result is not None:
                destination = result
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not StateMethods.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    def get_extra_state(self) -> Any:
        """Further state to save; override it together with `set_extra_state`."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` returned."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called."
        )

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the state is collected."""
        return RemovableHandle(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after the state is collected."""
        return RemovableHandle(self._state_dict_hooks, hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, ...)` before this module's state is loaded."""
        return RemovableHandle(self._load_state_dict_pre_hooks, functools.partial(hook, self))

    def _register_load_state_dict_pre_hook(
        self, hook: Any, with_module: bool = False
    ) -> RemovableHandle:
        bound = functools.partial(hook, self) if with_module else hook
        return RemovableHandle(self._load_state_dict_pre_hooks, bound)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after this module's state is loaded."""
        return RemovableHandle(self._load_state_dict_post_hooks, hook)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Copy values into parameters and buffers by name, or `assign` the given tensors.

        With `strict`, RuntimeError if names are missing or left over; always for wrong shapes.
        Returns the missing and the unexpected names.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"Expected state_dict to be dict-like, got {type(state_dict)}. Use wengert.load "
                "to read a file."
            )
        metadata = getattr(state_dict, "_metadata", None)
        state = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata  # type: ignore[attr-defined]
        keys, errors = _IncompatibleKeys([], []), list[str]()
        _Loading(metadata, assign, keys, errors).load(self, state, "")
        missing, unexpected = keys
        if strict:
            if unexpected:
                names = ", ".join(f'"{k}"' for k in unexpected)
                errors.insert(0, f"Unexpected key(s) in state_dict: {names}. ")
            if missing:
                names = ", ".join(f'"{k}"' for k in missing)
                errors.insert(0, f"Missing key(s) in state_dict: {names}. ")
            if missing and unexpected:
                errors += _cure(missing, unexpected, state)
        if errors:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(
                    type(self).__name__, "\n\t".join(errors)
                )
            )
        return keys

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        assign = local_metadata.get("assign_to_params_buffers", False)
        buffers = {
            n: b for n, b in self._buffers.items() if n not in self._non_persistent_buffers_set
        }
        own = {
            n: v
            for n, v in itertools.chain(self._parameters.items(), buffers.items())
            if v is not None
        }
        for name, value in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            self._load_one(name, value, state_dict[key], key, assign, error_msgs)
        extra = prefix + _EXTRA
        has_extra = type(self).set_extra_state is not StateMethods.set_extra_state
        if has_extra:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        if strict:
            for key in state_dict:
                if not key.startswith(prefix) or (has_extra and key == extra):
                    continue
                head = key[len(prefix) :].split(".", 1)
                # A name with a dot belongs to a submodule, if there is one of that name.
                if (len(head) > 1 and head[0] not in self._modules) or (
                    len(head) == 1 and head[0] not in own
                ):
                    unexpected_keys.append(key)

    def _load_one(
        self, name: str, value: Tensor, given: Any, key: str, assign: bool, errors: list[str]
    ) -> None:
        if not isinstance(given, Tensor):
            errors.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or '
                f"Tensor-like object from checkpoint but received {type(given)}"
            )
            return
        if given._array.shape != value._array.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from "
                f"checkpoint, the shape in current model is {value.shape}."
            )
            return
        if assign:
            if isinstance(value, Parameter) and not isinstance(given, Parameter):
                given = Parameter(given, value.requires_grad)
            setattr(self, name, given)
            return
        value._array[...] = given._array
        mark_written(value, "copy_")


def _cure(missing: list[str], unexpected: list[str], state: Any) -> list[str]:
    """What to type if the keys differ by a prefix, or are those of something inside."""
    for key in unexpected:
        if isinstance(state[key], Mapping) and set(missing) <= state[key].keys():
            return [f"They are in state_dict[{key!r}]: load that."]
    for prefix, changed in (
        (_prefix(unexpected, missing), "k.removeprefix({!r})"),
        (_prefix(missing, unexpected), "{!r} + k"),
    ):
        if prefix:
            keys = changed.format(prefix)
            return [f"All differ by {prefix!r}: load {{{keys}: v for k, v in state_dict.items()}}."]
    return []


def _prefix(longer: list[str], shorter: list[str]) -> str:
    """What the longer names have before the shorter ones; empty if it is not the same for all."""
    prefixes = [k.removesuffix(shorter[0]) for k in longer if k.endswith(shorter[0])]
    return next((p for p in prefixes if {p + k for k in shorter} == set(longer)), "")
