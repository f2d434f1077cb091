"""The types in the reference's signatures: those that type checkers see, as `stubs.py` writes them.

Most functions are made while the package is imported, so what they take is not in the source that
the reference is read from. Here each is looked up as it is when it runs; the names of types are
shortened as the overview of tensors explains them, and lead to what they name.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from griffe import Expr, ExprName, Function, Module, Parameter, ParameterKind, Parameters
from griffe import get_annotation as read

from docs.generate import stubs

KINDS = {kind: ParameterKind[kind.name.lower()] for kind in inspect._ParameterKind}
Said = Callable[[str, Any], str]
HOMES = {"Tensor": "tensor", "Size": "tensor"}
"""Modules of wengert in which types are that signatures lead to."""


def typed(item: Function, package: Module, said: Said, result: str) -> None:
    """Give a function's signature the types of its parameters and its result.

    `said` and `result` are what is known of them otherwise.
    """
    found = running(item.path)
    if not inspect.isroutine(found):
        return
    try:
        signature = _signature(found, "self" if _is_method(item) else "")
    except (TypeError, ValueError, NameError):  # it has none, or one of types for checkers only
        return
    given = [
        Parameter(
            p.name,
            kind=KINDS[p.kind],
            default=None if p.default is p.empty else repr(p.default),
            annotation=_of(p, signature, said, item, package),
        )
        for p in signature.parameters.values()
    ]
    item.parameters = Parameters(*given)
    for form in item.overloads or ():  # as a file of types has them
        for parameter in form.parameters:
            named_self = parameter.name == "self"
            own = annotation(str(parameter.annotation), item, package)
            known = own or annotation(said(parameter.name, None), item, package)
            parameter.annotation = None if named_self else known
        form.returns = annotation(str(form.returns), item, package)
    made = signature.return_annotation
    item.returns = annotation(made, item, package) or annotation(result, item, package)


def _of(p: inspect.Parameter, of: inspect.Signature, said: Said, item: Any, package: Any) -> Any:
    """The type of a parameter, which instances and classes have by themselves."""
    if p.name in ("self", "cls") and p is next(iter(of.parameters.values())):
        return None
    known = annotation(_kind(p, of), item, package)
    return known or annotation(said(p.name, p.default), item, package)


def _kind(p: inspect.Parameter, of: inspect.Signature) -> Any:
    """What a parameter is: as it is annotated, or as its name says in operations on an `input`."""
    if p.annotation not in (p.empty, Any):
        return p.annotation
    operation = next(iter(of.parameters)) == "input" or p.name == "dtype"
    named = stubs.NAMED.get(p.name) if operation else None
    return f"{named} | None" if named and p.default is None else named or p.annotation


def _is_method(item: Function) -> bool:
    """Whether the first parameter is an instance, or the class."""
    if item.parent is None or not item.parent.is_class:
        return False
    return not isinstance(vars(running(item.parent.path)).get(item.name), staticmethod)


def _signature(function: Any, first: str) -> inspect.Signature:
    """As the files of types have it, where they say more than the function itself."""
    plain = inspect.unwrap(function) if inspect.ismethod(function) else function
    if inspect.isfunction(plain) and not stubs.says_all(plain):
        return stubs.signature(plain, first, plain.__name__)
    try:
        return inspect.signature(plain, eval_str=True)
    except NameError:  # a type that is imported for checkers only
        return inspect.signature(plain)


def running(path: str) -> Any:
    """What a dotted path names once the package is imported, or None.

    >>> running("wengert.tensor.Tensor").__name__
    'Tensor'
    """
    parts = path.split(".")
    for k in [*range(len(parts) - 1, 0, -1), len(parts)]:  # a function may hide a module
        try:
            found: Any = importlib.import_module(".".join(parts[:k]))
        except ImportError:
            continue
        for part in parts[k:]:
            found = getattr(found, part, None)
        if found is not None:
            return found
    return None


# ---- types as they are shown -------------------------------------------------------------------


def shown(text: str) -> str:
    """A type as readers write it.

    >>> shown("builtins.int | _Sequence[builtins.int] | None")
    'int | Sequence[int] | None'
    >>> shown("_np.dtype[_Any] | typing.Literal['a']")
    "dtype | Literal['a']"
    """
    text = text.replace("_Out", "_Tensor")
    text = re.sub(r"\b(?:builtins|typing|collections\.abc|types|_np|numpy|np)\.", "", text)
    text = re.sub(r"\bwengert(?:\.\w+)*\.(?=\w)", "", text)
    text = re.sub(r"(?<![\w.])_(?=[A-Z])", "", text)
    text = re.sub(r"\b(dtype|ndarray|Callable|type)\[(?:Any|\.\.\.)(?:, Any)*\]", r"\1", text)
    return text.replace("_results.", "")


def annotation(kind: Any, item: Function, package: Module) -> Expr | None:
    """A type as griffe has it, its names leading to what they name; None if it says nothing."""
    if kind in (inspect.Parameter.empty, Any):
        return None
    text = shown(kind if isinstance(kind, str) else inspect.formatannotation(kind))
    if text == "" or (text == "Any" and kind != "Any"):
        return None
    found = read(ast.parse(text, mode="eval").body, item.parent)
    for name in named(found):
        if name.name in HOMES:
            name.parent = package[HOMES[name.name]]
    return found


def named(found: Any) -> Iterator[ExprName]:
    """The names in a type."""
    if isinstance(found, ExprName):
        yield found
    elif isinstance(found, Expr):
        for part in found.iterate(flat=False):
            if part is not found:
                yield from named(part)
