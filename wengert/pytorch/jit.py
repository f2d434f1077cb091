"""TorchScript's names, those of `torch.jit`: functions stay what they are."""

from __future__ import annotations

import builtins
from collections import namedtuple
from collections.abc import Callable
from typing import Any, Final, get_origin

from wengert.imports import lacking as _lacking

__all__ = [
    "Attribute", "Final", "annotate", "export", "fork", "freeze", "ignore", "is_scripting",
    "is_tracing", "isinstance", "load", "optimize_for_inference", "save", "script",
    "script_if_tracing", "trace", "trace_module", "unused", "wait",
]  # fmt: skip

_lacking(__name__)


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """The function or module itself, which runs as Python runs it.

    >>> @script
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """
    return obj


def trace(func: Callable[..., Any], example_inputs: Any = None, **options: Any) -> Any:
    """The function or module itself: its Python code runs each time."""
    return func


def export(function: Any) -> Any:
    """The method itself."""
    return function


unused = _overload = _overload_method = export


def ignore(drop: Any = False, **options: Any) -> Any:
    """The method itself; a decorator with and without arguments."""
    return drop if callable(drop) else lambda function: function


def trace_module(mod: Any, inputs: Any = None, **options: Any) -> Any:
    """The module itself."""
    return mod


freeze = optimize_for_inference = trace_module


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself."""
    return fn


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value."""
    return the_value


Attribute = namedtuple("Attribute", ("value", "type"))


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's, which asks the value itself."""
    return builtins.isinstance(obj, get_origin(target_type) or target_type)


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What the function returns: it runs at once; `wait` gives it back."""
    return func(*args, **kwargs)


def wait(future: Any) -> Any:
    return future


def is_scripting() -> bool:
    """Whether code is being turned into TorchScript: never."""
    return False


is_tracing = is_scripting


def save(module: Any, f: Any, *args: Any, **kwargs: Any) -> None:
    """NotImplementedError: save the state."""
    raise NotImplementedError(
        "jit.save: there is no format for programs here. Use save(module.state_dict(), path)."
    )


def load(f: Any, *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError: such files hold programs, which are not run."""
    raise NotImplementedError(
        "jit.load: TorchScript files hold programs. In PyTorch, save the module's state_dict() and "
        "load that."
    )
