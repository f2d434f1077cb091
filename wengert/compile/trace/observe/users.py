"""Whose code it is: the user's, or a library's, which is trusted and not observed."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from wengert.history.location import is_internal

_INSTALLED = "site-packages", "dist-packages"
"""What folders of installed packages are called: an environment may have several, such as those of
the system and of the user."""

_KNOWN = ("numpy", "scipy", "llvmlite", "ml_dtypes", "mpi4py")
"""Installed packages that are trusted: what the engine is made of. Others may keep anything that
decides what they do, and are observed as the user's own modules are, which may be installed too."""


def _folders(package: str) -> Iterator[str]:
    spec = importlib.util.find_spec(package)
    for place in (spec and spec.submodule_search_locations) or ():
        yield str(Path(place)) + os.sep


_PYTHON = tuple(
    {
        str(Path(os.__file__).parent) + os.sep,
        *(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")),
    }
)
_PACKAGES = tuple(folder for name in _KNOWN for folder in _folders(name))


@functools.cache
def _is_library_file(file: str) -> bool:
    """Whether a file is of Python's library, or of a package that is known."""
    if is_internal(file) or file.startswith(_PACKAGES):
        return True
    return file.startswith(_PYTHON) and not any(f"{os.sep}{x}{os.sep}" in file for x in _INSTALLED)


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
    return _is_library_file(file)


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
    return not (file.startswith("<frozen") or _is_library_file(file))
