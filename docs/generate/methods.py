"""Writes what type checkers see of names that are given while the package is imported:
python -m docs.generate.methods

Tensor gets its methods from files that lean on it, when the package is imported; a file that it
leans on tells type checkers and editors of them. It is read off the finished class, and a test
fails when it is out of date. So are the functions whose names stand beside their derivatives.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import operator
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import wengert as wg
from wengert.autograd import record
from wengert.autograd.methods import HistoryMethods
from wengert.functions import elementary
from wengert.functions.methods.conversations import TensorMethods

STUB = Path(wg.__file__).parent / "tensor_methods.pyi"
FUNCTIONS = Path(wg.__file__).parent / "functions" / "elementary.pyi"

HEAD = '''\
"""What type checkers see of Tensor's methods; written by `python -m docs.generate.methods`."""

import builtins
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import wengert
from wengert.history.node import Node, RemovableHandle
from wengert.tensor import Size, Tensor

class Methods:
'''


def stub() -> str:
    """The text of the file."""
    members = [member(name, vars(wg.Tensor)[name]) for name in sorted(attached())]
    return HEAD + textwrap.indent("\n".join(members), "    ") + "\n"


def functions() -> str:
    """The text of the file about the functions that rules name."""
    found = {name: f for name, f in vars(elementary).items() if not name.startswith("_")}
    members = [definition(name, found[name], "input") for name in sorted(found)]
    return FUNCTIONS_HEAD + "\n".join(members) + "\n"


FUNCTIONS_HEAD = '''\
"""What type checkers see of `elementary.py`; written by `python -m docs.generate.methods`."""

from typing import Any

from wengert.tensor import Tensor

'''


def attached() -> set[str]:
    """The names that Tensor has from elsewhere than its own file."""
    return set(vars(wg.Tensor)) - own() - {"__annotations__", "__module__"}


def own() -> set[str]:
    """What the body of the class, as it is written, defines."""
    tree = ast.parse(Path(inspect.getsourcefile(wg.Tensor) or "").read_text(encoding="utf-8"))
    (body,) = (n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor")
    names = {n.name for n in body if isinstance(n, ast.FunctionDef)}
    names |= {n.target.id for n in body if isinstance(n, ast.AnnAssign)}  # type: ignore[union-attr]
    names |= {t.id for n in body if isinstance(n, ast.Assign) for t in n.targets}  # type: ignore[attr-defined]
    return names | {"__doc__", "__dict__", "__weakref__", *wg.Tensor.__slots__}


def member(name: str, value: Any) -> str:
    """The lines for one name."""
    if isinstance(value, property):
        return "\n".join(accessors(name, value))
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    if is_operator(name):
        return of_operator(name)
    if not callable(value):
        return f"{name}: {written(type(value))}"
    return definition(name, value)


def definition(name: str, function: Callable[..., Any], first: str = "self") -> str:
    text = f"def {name}{signature(function, first)}:"
    return f"{text} ..." if not summary(function) else f"{text}\n    {quoted(summary(function))}"


def accessors(name: str, value: property) -> Iterator[str]:
    assert value.fget is not None
    yield "@property\n" + definition(name, value.fget)
    if value.fset is not None:
        yield f"@{name}.setter\ndef {name}(self, value: Any) -> None: ..."
    if value.fdel is not None:
        yield f"@{name}.deleter\ndef {name}(self) -> None: ..."


def summary(function: Callable[..., Any]) -> str:
    """The first paragraph of what a function says of itself."""
    return inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].replace("\n", " ")


def quoted(text: str) -> str:
    return f'r"""{text}"""' if "\\" in text else f'"""{text}"""'


# ---- operators -------------------------------------------------------------------------------


def is_operator(name: str) -> bool:
    """Whether it was installed as one of Python's operators, for which a signature is known."""
    written = {*vars(HistoryMethods), *vars(TensorMethods)}
    return name.startswith("__") and name not in written


def of_operator(name: str) -> str:
    if name == "__hash__":
        return "def __hash__(self) -> builtins.int: ..."
    direct = name.replace("__r", "__", 1)
    plain = vars(operator).get(name) or vars(operator).get(direct) or vars(builtins)[direct[2:-2]]
    others = ", other: Any" if len(inspect.signature(plain).parameters) == 2 else ""
    differs = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
    return f"def {name}(self{others}) -> Tensor: ...{differs}"


# ---- signatures ------------------------------------------------------------------------------


class Text(str):
    """A text that prints without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def signature(function: Callable[..., Any], name: str = "self") -> inspect.Signature:
    """The parameters of a function as the file has them, the first under `name`; its result."""
    rule = rule_of(function)
    found = inspect.signature(record.written(function), eval_str=True)
    first, *others = found.parameters.values()
    others += outer(function, set(found.parameters))
    if name == "self":
        first = first.replace(name="cls" if first.name == "cls" else name, annotation=first.empty)
    else:
        first = parameter(first.replace(name=name))
    made = [parameter(p) for p in sorted(others, key=lambda p: p.kind)]
    result = "Tensor" if rule and rule.outputs == 1 else written(found.return_annotation)
    return inspect.Signature([first, *made], return_annotation=Text(result))


def rule_of(function: Callable[..., Any]) -> Any:
    """The rule that a recorder records."""
    return getattr(function, "rule", None)


def outer(function: Any, known: set[str]) -> list[inspect.Parameter]:
    """What the layers around a function take by name: `out`, mostly."""
    found: dict[str, inspect.Parameter] = {}
    while hasattr(function, "__wrapped__"):
        own = inspect.signature(function, follow_wrapped=False, eval_str=True).parameters.values()
        found |= {p.name: p for p in own if p.kind is p.KEYWORD_ONLY and p.name not in known}
        function = function.__wrapped__
    return list(found.values())


def parameter(p: inspect.Parameter) -> inspect.Parameter:
    default = p.default
    if type(default) not in (bool, int, str, type(None), type):
        default = Text("...")
    return p.replace(annotation=Text(written(p.annotation)), default=default)


def written(annotation: Any) -> str:
    """An annotation, with its names as the head of the file has them."""
    if annotation is inspect.Parameter.empty:
        return "Any"
    text = "None" if annotation is None else inspect.formatannotation(annotation)
    for module in ("typing", "collections.abc", "wengert.tensor", "wengert.history.node"):
        text = text.replace(f"{module}.", "")
    text = text.replace("numpy.", "np.").replace("NoneType", "None")
    return re.sub(r"(?<![\w.])(bool|float|int|complex|type|tuple|list)\b", r"builtins.\1", text)


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
    FUNCTIONS.write_text(functions(), encoding="utf-8")
