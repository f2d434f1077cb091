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
import warnings
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any

import numpy as np

from wengert.errors import MissingRuleError

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


INTERNAL = {np.lib.mixins.__file__: True}  # where our arrays' operators are written
"""Whether a file is ours, of those that `is_internal` was asked of: no line in it is the user's."""


def is_internal(file: str) -> bool:
    """Whether this is one of our own files, or a text that we compile."""
    ours = INTERNAL.get(file)
    if ours is None:
        ours = INTERNAL[file] = file.startswith(_PACKAGE)
    return ours


TOLD: ContextVar[bool] = ContextVar("told", default=False)
"""Whether SciPy's code is run on tensors, and is to be told if it makes numbers of them."""


def user_frame(frame: FrameType) -> FrameType:
    """The nearest frame outward that runs the user's code."""
    outer: Any = frame
    while outer is not None:
        try:  # one look at each file: this is a good part of what a write costs
            while INTERNAL[outer.f_code.co_filename]:
                outer = outer.f_back
            return outer
        except KeyError:
            is_internal(outer.f_code.co_filename)  # which notes it
        except AttributeError:  # of None: no frame is left
            break
    return frame


def here() -> tuple[CodeType, int]:
    """The user's current line, as cheaply as it can be kept: a code object and an offset."""
    try:  # each frame that is looked at is made an object: not that of who asks, it is ours
        frame = sys._getframe(2)
    except ValueError:  # nobody called it
        frame = sys._getframe(1)
    frame = user_frame(frame)
    return frame.f_code, frame.f_lasti


def function_of_scipy(frame: FrameType | None) -> str | None:
    """The public name of SciPy's function that the user called, if one of SciPy's is running."""
    name = None
    while frame is not None:
        module = frame.f_globals.get("__name__") or ""
        package = module.partition(".")[0]
        if package not in ("scipy", "numpy", "wengert"):
            break
        if package == "scipy":
            name = _public_name(module, frame) or name
        frame = frame.f_back
    return name


def _public_name(module: str, frame: FrameType) -> str | None:
    """How what is called of SciPy is imported: scipy.linalg.solve, scipy.stats.norm.logpdf."""
    name = frame.f_code.co_name
    if name == "__init__":
        name = type(frame.f_locals.get("self")).__name__
    parts = module.split(".")
    public = _without_private(module)
    if parts[1:2] == ["sparse"] and "matmul" in name:
        return "scipy.sparse's A @ x"
    owner = frame.f_locals.get("self")
    known = getattr(owner, "name", None)
    if parts[1:2] == ["stats"] and isinstance(known, str) and not name.startswith("_"):
        return f"scipy.stats.{known}.{name}"
    if callable(getattr(sys.modules.get(public), name, None)):
        return f"{public}.{name}"
    for value in [*frame.f_locals.values()]:  # a decorator, around the function that was called
        home, inner = getattr(value, "__module__", None), getattr(value, "__name__", "")
        if callable(value) and isinstance(home, str) and home.startswith("scipy."):
            public = _without_private(home)
            if callable(getattr(sys.modules.get(public), inner, None)):
                return f"{public}.{inner}"
    return _name_of_method(owner, name)


def _without_private(module: str) -> str:
    """The module by whose name users know what is in a private one: scipy.integrate._ivp.base."""
    return module.partition("._")[0]


def _name_of_method(owner: Any, name: str) -> str | None:
    """The method of an object that SciPy has by name, or of an instance of one of its classes."""
    for kind in type(owner).__mro__:
        home = sys.modules.get(_without_private(kind.__module__))
        held = [
            n
            for n, value in getattr(home, "__dict__", {}).items()
            if value is owner or value is kind
        ]
        if held and kind.__module__.startswith("scipy."):
            whole = f"{_without_private(kind.__module__)}.{held[0]}"
            return whole if name == "__call__" else f"{whole}.{name}"
    return None


def lost_in_scipy(frame: FrameType | None) -> str | None:
    """What to say if a function of SciPy's makes a number of what is being differentiated."""
    name = function_of_scipy(frame)
    return name and (
        f"{name} makes a NumPy array of a tensor that is being differentiated, and its derivative "
        f"would be lost: {_instead(name)}. Pass x.detach().numpy() if no derivative is wanted."
    )


def refuse_scipy(frame: FrameType | None) -> None:
    """The error of a function of SciPy's that makes an array of what is being differentiated."""
    message = lost_in_scipy(frame)
    if message is not None:
        raise MissingRuleError(message)


def refuse_mixture(frame: FrameType) -> None:
    """The error of a function of SciPy's that was given tensors and arrays of NumPy's.

    `frame` asks a tensor for its namespace, on behalf of all the arrays that it was given.
    """
    others = frame.f_locals.get("xs", ())
    name = function_of_scipy(frame) if any(type(x) is np.ndarray for x in others) else None
    if name is not None:
        raise TypeError(
            f"{name} was given tensors and NumPy's arrays, which SciPy does not mix: "
            f"{_instead(name)}, or make tensors of all arrays, with wengert.as_tensor"
        )


def _instead(name: str) -> str:
    """What to write in the place of a function of SciPy's."""
    if name.endswith("A @ x"):
        return "import wengert.scipy.sparse, and write wengert.scipy.sparse.matrix(A) @ x"
    if _is_written(name):
        module = f"wengert.{'.'.join(name.split('.')[:2])}"
        return f"import {module}, and write wengert.{name}, which keeps the derivative"
    if (ours := _instead_of(name)) is not None:
        return f"write {ours}, which keeps the derivative"
    tried = None if TOLD.get() else _is_tried(name)
    return (
        f"import wengert.{tried.rpartition('.')[0]}, and write wengert.{tried}, which runs SciPy's "
        "code on tensors as far as that is written in NumPy's functions; or "
        if tried
        else ""
    ) + (
        "give it a rule: a function of your own that calls it, with @wengert.primitive.general "
        "(or elementwise, or linear)"
    )


def _instead_of(name: str) -> str | None:
    """What does here, under another name, what a function of SciPy's does."""
    _, module, last = name.split(".")[:3]
    if name == "scipy.integrate.solve_ivp":
        return "wengert.odeint"
    ours = sys.modules["wengert"]
    exists = module == "optimize" and hasattr(ours.optimize, last)
    return f"wengert.optimize.{last}" if exists else None


def _is_tried(name: str) -> str | None:
    """What `wengert.scipy` tries to run on tensors in SciPy's own words, if that may be."""
    item: Any
    item, whole = importlib.import_module("wengert.scipy"), "scipy"
    for part in name.split(".")[1:]:
        item, whole = getattr(item, part, None), f"{whole}.{part}"
        if getattr(item, "tried", False):
            return whole
    return None


def _is_written(name: str) -> bool:
    """Whether what is called so takes tensors in `wengert.scipy`, and is not only handed on."""
    item: Any = importlib.import_module("wengert.scipy")
    for part in name.split(".")[1:]:
        item = getattr(item, part, None)
    ours = getattr(item, "__module__", "").startswith("wengert.scipy.")
    return getattr(item, "defined", ours)


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


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the user's line."""
    warnings.warn(message, category, stacklevel=stacklevel())


def stacklevel() -> int:
    """What the caller gives to `warnings.warn` so that the warning names the user's line."""
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    return level
