"""Modules made, or laid out, in other ways."""

from __future__ import annotations

from typing import Any

from wengert.functions.random import fork_rng
from wengert.nn.module import Module


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """Make a module whose values are to be loaded: the random generator stays where it was."""
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    with fork_rng():
        return module_cls(*args, **kwargs)


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """The module itself: arrays here have one layout, whatever `memory_format` says."""
    return module


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """The module itself: arrays here have one layout, whatever `memory_format` says."""
    return module
