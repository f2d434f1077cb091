"""What programs ask and tell the compiler, as `torch.compiler` has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compile.trace import watch


def is_compiling() -> bool:
    """Whether a function is being traced in this thread."""
    return watch.active() is not None


is_dynamo_compiling = is_compiling


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, **options: Any) -> Any:
    """The function itself, a decorator with and without arguments.

    Inside a compiled function it is traced like all else; call it outside to run it as it is.
    """
    return fn if fn is not None else lambda function: function


def reset() -> None:
    """Forget compiled code: each compiled function keeps its own, and drops it when it goes."""
