"""TorchScript's names, those of `torch.jit`: functions stay what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from wengert.pytorch.absent import Unavailable

__all__ = [
    "Final", "ScriptFunction", "ScriptModule", "export", "ignore", "is_scripting", "is_tracing",
    "load", "save", "script", "trace", "unused",
]  # fmt: skip


ScriptModule = Unavailable("ScriptModule", (), {"__module__": "torch.jit"})
ScriptFunction = Unavailable("ScriptFunction", (), {"__module__": "torch.jit"})


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


unused = export


def ignore(drop: Any = False, **options: Any) -> Any:
    """The method itself; a decorator with and without arguments."""
    return drop if callable(drop) else lambda function: function


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
