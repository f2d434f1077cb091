"""Whose code it is: the user's, or a library's, which is trusted and not observed."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from types import CodeType
from typing import Any

from wengert.history.location import INTERNAL

_LIBRARY = tuple(
    sorted(
        {
            str(Path(os.__file__).parent),
            *map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")),
        }
    )
)


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
