"""Where the user is: the line of the user's program that ran an operation.

What is kept is a code object and an offset into it, two attribute reads; the line number and its
text are worked out only when an error needs them. Frames are never kept: they would keep the
user's variables alive.
"""

from __future__ import annotations

import importlib
import linecache
import os
import sys
from types import CodeType, FrameType
from typing import Any

from wengert.errors import MissingRuleError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INTERNAL = {
    os.path.join(folder, file)
    for folder, _, files in os.walk(_PACKAGE)
    for file in files
    if file.endswith(".py")
}
"""Our own files, and the texts we compile: a line in them is not the user's line."""


def user_frame(frame: FrameType) -> FrameType:
    """The nearest frame outward that runs the user's code."""
    outer: FrameType | None = frame
    while outer is not None:
        if outer.f_code.co_filename not in INTERNAL:
            return outer
        outer = outer.f_back
    return frame


def here() -> tuple[CodeType, int]:
    """The user's current line, as cheaply as it can be kept: a code object and an offset."""
    frame = user_frame(sys._getframe(1))
    return frame.f_code, frame.f_lasti


def function_of_scipy(frame: FrameType | None) -> str | None:
    """The public name of SciPy's function that the user called, if one of SciPy's is running."""
    found = None
    while frame is not None:
        module = frame.f_globals.get("__name__") or ""
        package = module.partition(".")[0]
        if package not in ("scipy", "numpy", "wengert"):
            break
        if package == "scipy":
            found = _public_name(module, frame) or found
        frame = frame.f_back
    return found


def _public_name(module: str, frame: FrameType) -> str | None:
    """How what is called of SciPy is imported: scipy.linalg.solve, scipy.stats.norm.logpdf."""
    name = frame.f_code.co_name
    if name == "__init__":
        name = type(frame.f_locals.get("self")).__name__
    parts = module.split(".")
    public = ".".join(part for part in parts if not part.startswith("_"))
    if parts[1:2] == ["sparse"] and "matmul" in name:
        return "scipy.sparse's A @ x"
    owner = getattr(frame.f_locals.get("self"), "name", None)
    if parts[1:2] == ["stats"] and isinstance(owner, str) and not name.startswith("_"):
        return f"scipy.stats.{owner}.{name}"
    if callable(getattr(sys.modules.get(public), name, None)):
        return f"{public}.{name}"
    for value in [*frame.f_locals.values()]:  # a decorator, around the function that was called
        home, name = getattr(value, "__module__", None), getattr(value, "__name__", "")
        if callable(value) and isinstance(home, str) and home.startswith("scipy."):
            public = ".".join(part for part in home.split(".") if not part.startswith("_"))
            if callable(getattr(sys.modules.get(public), name, None)):
                return f"{public}.{name}"
    return None


def refuse_scipy(frame: FrameType | None) -> None:
    """The error of a function of SciPy's that makes an array of what is being differentiated."""
    name = function_of_scipy(frame)
    if name is None:
        return
    if name.endswith("A @ x"):
        instead = "import wengert.scipy.sparse, and write wengert.scipy.sparse.matrix(A) @ x"
    elif _is_written(f"wengert.{name}"):
        module = f"wengert.{'.'.join(name.split('.')[:2])}"
        instead = f"import {module}, and write wengert.{name}, which keeps the derivative"
    else:
        instead = (
            "give it a rule: a function of your own that calls it, with @wengert.primitive.general "
            "(or elementwise, or linear)"
        )
    raise MissingRuleError(
        f"{name} makes a NumPy array of a tensor that is being differentiated, and its derivative "
        f"would be lost: {instead}. Pass x.detach().numpy() if no derivative is wanted."
    )


def _is_written(name: str) -> bool:
    """Whether `wengert.scipy` itself defines what is called so, and does not only hand it on."""
    found: Any = importlib.import_module("wengert.scipy")
    for part in name.split(".")[2:]:
        found = (
            vars(found).get(part)
            or getattr(type(found), f"_{part}", None)
            or vars(type(found)).get(part)
        )
        if found is None:
            return False
    return True


def line_number(code: CodeType, at: int) -> int:
    """The number of the line at an offset into a code object."""
    number = next((line for start, end, line in code.co_lines() if start <= at < end), None)
    return code.co_firstlineno if number is None else number


def line_of(code: CodeType | None, at: int) -> str:
    """A kept location as text: file, line number, and the line itself."""
    if code is None:
        return "an unknown line"
    number = line_number(code, at)
    text = linecache.getline(code.co_filename, number).strip()
    where = f'"{code.co_filename}", line {number}, in {code.co_name}'
    return f"{where}:\n    {text}" if text else where


def stacklevel() -> int:
    """What the caller gives to `warnings.warn` so that the warning names the user's line."""
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in INTERNAL:
        frame = frame.f_back
        level += 1
    return level
