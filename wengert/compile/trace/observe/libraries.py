"""What is known of the callables of Python and of libraries: which keep a function that they get,
which call it, and which are an operation by another name."""

from __future__ import annotations

import operator
import os
import re
import sys
import types
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

BUILTIN = (BuiltinMethodType, type(re.compile("").match))
"""Of C's functions and methods; Python has no name for the type of those that know their class."""

SLOTS = (types.WrapperDescriptorType, types.MethodWrapperType)

PLAIN_CALLABLES = frozenset(
    {FunctionType, *BUILTIN, types.MethodDescriptorType, types.ClassMethodDescriptorType, *SLOTS}
)
"""Kinds of callables with no attributes of their own that would matter, and object's hash."""

BOUND = (MethodType, *BUILTIN, types.MethodWrapperType)

DUNDERS = frozenset(
    f"__{verb}{noun}__" for verb in ("get", "set", "del") for noun in ("attr", "item")
) | {"__getattribute__"}

OPERATIONS: dict[Any, str | None] = {
    getattr: "_getattr",
    hasattr: "_hasattr",
    setattr: "_setattr",
    delattr: "_delattr",
    vars: "_vars",
    dir: "_dir",
    len: "_len",
    bool: "_bool",
    iter: "_iter",
    next: "_next",
    operator.getitem: "_getitem",
    os.getenv: "_getenv",
    __import__: "_import",
    operator.setitem: "_setitem",
    isinstance: "_class",
    id: "_identity",
    type: "_class",
    callable: None,
    issubclass: "_subclass",
    super: None,
    locals: None,
    globals: "_globals",
    sys._getframe: None,
    property: None,
    staticmethod: None,
    classmethod: None,
}
"""Builtins that are an operation by another name; None: they read nothing of what they get, or run
as part of the frame that called them."""

BY_FRAME = frozenset({vars, dir, super})
