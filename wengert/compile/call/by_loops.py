"""Machine code for eager mode: functions of loops, on plain arrays of any shape.

`rules/loops.py` says what such a function is; here its text becomes a native function, once for
each combination of dtypes. The objects of arrays are handed over as they are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.call.entry.layouts import DATA, DIMENSIONS, STRIDES, LayoutError, layouts
from wengert.compile.llvm.library import texts
from wengert.compile.llvm.machine.host import compile_text
from wengert.dispatch import Function

_ARGUMENTS = {int: ctypes.c_int64, float: ctypes.c_double, bool: ctypes.c_bool}


def code(function: Function, kinds: Sequence[Any]) -> Function | None:
    """A native function of the same arguments; None where Python or NumPy keep arrays otherwise."""
    try:
        layouts()
        source = texts.source(function, kinds)
    except (LayoutError, OSError):  # or the text is not at hand
        return None

    def write() -> ir.Module:
        module = ir.Module("loops")
        texts.define(module, function, kinds, (DATA, DIMENSIONS, STRIDES))
        return module

    name = f"loops.{function.__name__}"
    text = compile_text(f"{name}\n{source}", write, name)
    types: list[Any] = [
        ctypes.py_object if isinstance(k, np.dtype) else _ARGUMENTS[k] for k in kinds
    ]
    result = ctypes.c_int64 if texts.returns(function) else None
    native: Any = ctypes.CFUNCTYPE(result, *types)(text.address("loops"))
    native.made = text  # the code lives as long as this does
    return native
