"""What programs ask and tell the compiler, as `torch.compiler` has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compile.trace.world import watch
from wengert.imports import lacking as _lacking


def is_compiling() -> bool:
    """Whether a function is being traced in this thread."""
    return watch.active() is not None


is_dynamo_compiling = is_compiling


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, **options: Any) -> Any:
    """The function itself, a decorator with and without arguments.

    Inside a compiled function it is traced like all else; call it outside to run it as it is.
    """
    return fn if fn is not None else lambda function: function


def is_exporting() -> bool:
    """Whether a program is being exported: never."""
    return False


def allow_in_graph(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself: all that a traced function calls is traced."""
    return fn


def cudagraph_mark_step_begin() -> None:
    """Accepted: there are no graphs of a GPU."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The names of ways to compile: one."""
    return ["wengert"]


def reset() -> None:
    """Forget compiled code: each compiled function keeps its own, and drops it when it goes."""


_lacking(__name__)
