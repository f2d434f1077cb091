"""An extension for the reference: what it shows of the modules, and sessions as blocks of code.

Public names are those that a namespace exports. The modules in which they are written have helpers
beside them; a helper loses its docstring here, and mkdocstrings shows only what has one. Functions
that other functions make, `exp = _unary(np.exp, "e to the power x.")`, are attributes to those who
only read the source; they are looked up as they are when it runs. Docstrings hold doctest sessions
as plain text, which Markdown would read as quotations.
"""

import copy
import importlib
import inspect
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # MkDocs is a program of its own

from griffe import (
    Attribute,
    Class,
    DataclassesExtension,
    Docstring,
    Extension,
    Function,
    Module,
    Object,
    Parameter,
    ParameterKind,
)
from griffe import Parameters as Given

from docs.generate import examples, facts, methods, public, signatures
from docs.generate.signatures import running

SESSION = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)


class Sessions(Extension):
    """Leaves the public names, and fences each `>>>` session up to the next empty line."""

    def on_module_members(self, *, mod: Module, **kwargs: Any) -> None:
        if str(mod.filepath).endswith(".pyi") and mod.path not in public.OPEN:  # for type checkers
            mod.members.clear()

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:
        DataclassesExtension().on_package(pkg=pkg)  # what they are made with is described, too
        modules = list(public.modules(pkg))
        open_, exported = public.names(modules)
        homes: dict[str, list[str]] = defaultdict(list)
        for path in sorted(exported):
            homes[path.rpartition(".")[0]].append(path.rpartition(".")[2])
        waiting: dict[str, Any] = {}
        shown: list[Any] = []
        for module in modules:
            if module.docstring is not None and module.path not in open_:
                # What follows is for readers of the source.
                module.docstring.value = module.docstring.value.partition("\n\n")[0]
            for name in homes[module.path]:  # of several that are set at once griffe sees none
                if name not in module.members:
                    module.set_member(name, Attribute(name))
            for item in [*module.members.values()]:
                if item.is_alias or item.is_module:
                    continue
                asked = item.path in exported or (
                    module.path in open_ and not item.name.startswith("_")
                )
                if item.is_attribute:
                    item = _made(item, module) if asked else item
                if asked and item.docstring is not None:
                    shown.append(item)
                else:
                    waiting[item.path] = item
        methods.given(pkg["tensor.Tensor"])
        classes = []
        while shown:
            for item in shown:
                if item.is_class:
                    classes.append(item)
                    _as_properties(item)
                for part in (item, *_inner(item)):
                    _exemplified(part)
                    _explained(part, pkg)
            returned = {path for item in shown for path in public.results(item)}
            shown = [waiting.pop(path) for path in sorted(returned & waiting.keys())]
        for item in classes:
            _shown_with(item, classes)
        for item in waiting.values():
            _hide(item)


def _as_properties(kind: Class) -> None:
    """What a decorator makes a property of is shown as one, and not as the function that it was."""
    for name, item in [*kind.members.items()]:
        if item.is_alias or not item.is_function or not item.docstring:
            continue
        if isinstance(running(item.path), property):
            made = Attribute(name, lineno=item.lineno, endlineno=item.endlineno)
            made.labels.add("property")
            made.docstring = Docstring(item.docstring.value, parent=made)
            kind.set_member(name, made)


def fenced(text: str) -> str:
    """A docstring with its sessions as blocks of code; one that has them already, as it is.

    >>> fenced(fenced("Add.\\n\\n>>> 1 + 1\\n2")).splitlines()
    ['Add.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    return text if "```pycon" in text else SESSION.sub(r"```pycon\n\g<0>\n```", text)


def _made(item: Any, module: Module) -> Any:
    """What an attribute is when the module runs: a function, a class or an object of its own."""
    made = getattr(importlib.import_module(module.path), item.name, None)
    if inspect.isclass(made) and made.__module__ == module.path and item.name != made.__name__:
        return _renamed(item, module, made.__name__)
    if inspect.isroutine(made) and made.__doc__ and made.__module__ == module.path:
        return _function(item, module, made)
    item.docstring = None
    if type(made).__module__ == module.path and type(made).__doc__:
        item.docstring = Docstring(fenced(inspect.getdoc(type(made)) or ""), parent=item)
        item.value = None  # as it is made is for readers of the source
    return item


def _renamed(item: Any, module: Module, name: str) -> Any:
    """A class by its public name."""
    own = module.members[name]
    found = Class(item.name, lineno=own.lineno, endlineno=own.endlineno)
    found.docstring = Docstring(own.docstring.value, parent=found) if own.docstring else None
    module.set_member(item.name, found)
    for inner in own.members.values():
        found.set_member(inner.name, copy.copy(inner))
    return found


def _function(item: Any, module: Module, made: Any) -> Any:
    kinds = {kind: ParameterKind[kind.name.lower()] for kind in inspect._ParameterKind}
    given = [
        Parameter(
            p.name, kind=kinds[p.kind], default=None if p.default is p.empty else repr(p.default)
        )
        for p in inspect.signature(made).parameters.values()
    ]
    text = fenced(inspect.getdoc(made) or "")
    function = Function(
        item.name, parameters=Given(*given), lineno=item.lineno, endlineno=item.endlineno
    )
    function.docstring = Docstring(text, parent=function)
    module.set_member(item.name, function)
    return function


def _inner(item: Any) -> list[Any]:
    """What of a class is described with it."""
    found = item.members.values() if item.is_class else ()
    return [inner for inner in found if not inner.is_alias and not inner.name.startswith("_")]


def _exemplified(item: Any) -> None:
    """An example, if a function, a class or one of its methods has none in its docstring."""
    if item.docstring is None or SESSION.search(item.docstring.value):
        return
    if found := examples.example(item.path):
        item.docstring.value = fenced(f"{item.docstring.value}\n\n{found.session()}")


def _explained(item: Any, package: Module) -> None:
    """Types in the signature, and below the text parameters, shapes and errors."""
    if item.docstring is None or not (item.is_function or item.is_class):
        return
    item.docstring.value = fenced(item.docstring.value)
    found = facts.call(item)
    if item.is_function:
        said = lambda name, default: facts.kind(name, default, found)
        signatures.typed(item, package, said, facts.returned(found))
    if text := facts.told(item, found):
        item.docstring.value += f'\n\n<div class="facts" markdown>\n\n{text}\n\n</div>'


def _shown_with(item: Class, classes: list[Class]) -> None:
    """Say of methods without an example where those of the class, or of its kind, use them."""
    kind = running(item.path)
    kinds = [c for c in classes if c.docstring and kind in getattr(running(c.path), "__mro__", ())]
    kinds.sort(key=lambda c: c is not item)
    for inner in item.members.values():
        if inner.is_alias or inner.docstring is None or SESSION.search(inner.docstring.value):
            continue
        uses = re.compile(rf"^(?:>>>|\.\.\.) .*\.{inner.name}\b", re.MULTILINE)
        if found := next((c for c in kinds if uses.search(c.docstring.value)), None):
            link = f"[`{found.name}`][{found.path}]"
            inner.docstring.value += f"\n\nIn use in the example of {link}."


def _hide(item: Any) -> None:
    """Take the docstrings of something, and of all in it."""
    item.docstring = None
    for inner in item.members.values():
        if not inner.is_alias:
            _hide(inner)
