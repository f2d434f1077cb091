"""Whose code it is: the user's, or a library's, which is trusted and not observed."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from wengert.history.location import INTERNAL

_INSTALLED = {"site-packages", "dist-packages"}
"""What folders of installed packages are called: an environment may have several, such as those of
the system and of the user."""

_LIBRARY = tuple(
    sorted(
        {
            str(Path(os.__file__).parent),
            *map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")),
            *(path for path in sys.path if Path(path).name in _INSTALLED),
        }
    )
)


def is_users_class(cls: type) -> bool:
    """Whether this is the class of an object of the user's program."""
    return not issubclass(cls, type | ModuleType) and is_of_user(cls)


def is_of_user(cls: type) -> bool:
    """Whether a class is of the user's program, as its module is."""
    module = sys.modules.get(cls.__module__)
    return module is not None and not is_library(vars(module))


def is_of_a_module(namespace: dict[str, Any]) -> bool:
    """Whether these are the globals of a module, and not a dictionary that code runs in."""
    module = sys.modules.get(namespace.get("__name__", ""))
    return module is not None and vars(module) is namespace


def is_library(namespace: dict[str, Any]) -> bool:
    """Whether these are the globals of one of a library's modules, or of Python's."""
    file = namespace.get("__file__")
    if file is None:
        # Where the module has another name than its file would, as "io" for "_io".
        name = getattr(namespace.get("__spec__"), "name", namespace.get("__name__"))
        return name in sys.builtin_module_names or namespace is vars(sys)
    return file in INTERNAL or file.startswith(_LIBRARY)


def is_users_code(code: CodeType, namespace: dict[str, Any]) -> bool:
    """Whether code is of the user's program: not of Python, nor of a library.

    Code made from text, as the `__init__` of a dataclass, belongs to the module it was made for;
    that of a named tuple is made for none, and reads nothing.
    """
    file = code.co_filename
    if file.startswith("<"):
        if str(namespace.get("__name__")).startswith("namedtuple_"):
            return False
        file = namespace.get("__file__", file)
    return file not in INTERNAL and not file.startswith((*_LIBRARY, "<frozen"))
