"""An extension for the reference: what it shows of the modules, and sessions as blocks of code.

Public names are those that a namespace exports. The modules in which they are written have helpers
beside them; a helper loses its docstring here, and mkdocstrings shows only what has one. Functions
that other functions make, `exp = _unary(np.exp, "e to the power x.")`, are attributes to those who
only read the source; they are looked up as they are when it runs. Docstrings hold doctest sessions
as plain text, which Markdown would read as quotations.
"""

import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # MkDocs is a program of its own

from griffe import (
    Attribute,
    Docstring,
    Extension,
    Function,
    Module,
    Object,
    Parameter,
    ParameterKind,
)
from griffe import Parameters as Given

from docs.generate import examples, signatures

SESSION = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)

OPEN = {
    "autograd.forward_ad", "autograd.functional", "autograd.graph", "autograd.primitive",
    "datasets", "distributed.functional", "distributed.hooks", "distributed.model",
    "distributions.elementwise_transforms", "distributions.transform",
    "distributions.vector_transforms", "errors", "functions.elementary", "nn.distributed",
    "primitive",
    "nn.init", "nn.utils.parametrizations", "nn.utils.parametrize", "nn.utils.prune",
    "nn.utils.rnn", "nn.utils.stateless", "numeric", "optim.lr_scheduler", "optim.swa_utils",
    "profiler", "pytorch.masked", "pytorch.signal.windows", "rules.rule", "serialization.archive",
    "symbolic.formula",
    "tape.math", "tape.optimizers", "utils.checkpoint", "utils.tensorboard", "utils.training",
}  # fmt: skip
"""Modules whose own functions and classes are public."""


class Sessions(Extension):
    """Leaves the public names, and fences each `>>>` session up to the next empty line."""

    def on_module_members(self, *, mod: Module, **kwargs: Any) -> None:
        if str(mod.filepath).endswith(".pyi") and _inner(mod) not in OPEN:  # for type checkers
            mod.members.clear()

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:
        modules = list(_modules(pkg))
        exported = {  # by folders, and by files that hold nothing of their own
            path
            for module in modules
            if module.is_init_module or all(item.is_alias for item in module.members.values())
            for path in module.imports.values()
        } | {f"{module.path}.{name}" for module in modules for name in module.exports or ()}
        for module in modules:
            if module.docstring is not None and _inner(module) not in OPEN:
                # What follows is for readers of the source.
                module.docstring.value = module.docstring.value.partition("\n\n")[0]
            for path in sorted(exported):  # of several names that are set at once griffe sees none
                home, _, name = path.rpartition(".")
                if home == module.path and name not in module.members:
                    module.set_member(name, Attribute(name))
            for item in [*module.members.values()]:
                if item.is_alias or item.is_module:
                    continue
                if item.is_attribute and (_inner(module) in OPEN or item.path in exported):
                    item = _made(item, module)
                if item.is_attribute or not (_inner(module) in OPEN or item.path in exported):
                    _hide(item)
                else:
                    _typed(item, pkg)
                    _exemplified(item)


def fenced(text: str) -> str:
    """A docstring with its sessions as blocks of code; one that has them already, as it is.

    >>> fenced(fenced("Add.\\n\\n>>> 1 + 1\\n2")).splitlines()
    ['Add.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    return text if "```pycon" in text else SESSION.sub(r"```pycon\n\g<0>\n```", text)


def _made(item: Any, module: Module) -> Any:
    """The function that an attribute is when the module runs, if it is one of its own."""
    made = getattr(importlib.import_module(module.path), item.name, None)
    if not inspect.isroutine(made) or not made.__doc__ or made.__module__ != module.path:
        return item
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


def _typed(item: Any, package: Module) -> None:
    """Types in the signatures of a function, or of a class's methods."""
    if item.is_function and item.docstring is not None:
        signatures.typed(item, package)
    elif item.is_class:
        for inner in item.members.values():
            if not inner.is_alias:
                _typed(inner, package)


def _exemplified(item: Any) -> None:
    """An example, if there is none in the docstring of a function or class."""
    if item.docstring is None or SESSION.search(item.docstring.value):
        return
    if found := examples.example(item.path):
        item.docstring.value = fenced(f"{item.docstring.value}\n\n{found.session()}")


def _hide(item: Any) -> None:
    """Take the docstrings of something, and of all in it."""
    item.docstring = None
    for inner in item.members.values():
        if not inner.is_alias:
            _hide(inner)


def _modules(module: Module) -> Any:
    yield module
    for inner in module.modules.values():
        if not inner.is_alias:
            yield from _modules(inner)


def _inner(module: Module) -> str:
    return module.path.removeprefix("wengert.")
