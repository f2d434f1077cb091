"""Names that are imported when they are first asked for, and modules that go by several names.

A package that has more to offer than most programs use names it under `if TYPE_CHECKING:`, where
readers and type checkers look, and takes `__getattr__` and `__dir__` from `later(__name__)`, which
reads these lines: each name stands once. A module may have other names than its file's: `Aliases`
is what `import` asks about those, here and in `pytorch/as_torch.py`.
"""

from __future__ import annotations
import __future__

import importlib
import importlib.machinery
import importlib.util
import re
import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

MOVED = {
    "wengert.data": "wengert.datasets",
    "wengert.demo": "wengert.cli.demo",
    "wengert.explanation": "wengert.explain.explanation",
    "wengert.expressions": "wengert.symbolic.expressions",
    "wengert.files": "wengert.history.files",
    "wengert.implicit": "wengert.solvers",
    "wengert.notation": "wengert.explain.notation",
    "wengert.optimize.equations": "wengert.optimize.roots",
    "wengert.primitive": "wengert.autograd.primitive",
    "wengert.serialization.files": "wengert.history.files",
    "wengert.transforms.colouring": "wengert.sparse.colouring",
    "wengert.transforms.equations": "wengert.solvers.parameters",
    "wengert.transforms.implicit": "wengert.solvers.implicit",
    "wengert.transforms.ode": "wengert.solvers.ode",
    "wengert.transforms.runge_kutta": "wengert.solvers.runge_kutta",
    "wengert.transforms.sparse": "wengert.sparse.derivatives",
    "wengert.transforms.sparsity": "wengert.sparse.sparsity",
    "wengert.transforms.systems": "wengert.solvers.systems",
    "wengert.transforms.trajectories": "wengert.solvers.trajectories",
    "wengert.visual.layers": "wengert.explain.layers",
    "wengert.visual.page": "wengert.explain.page",
    "wengert.visual.tables": "wengert.explain.tables",
}
"""Modules that can be imported by the names they had before, too."""

_LATER = re.compile(r"^ +from (\S+) import \(?\s*(\w+) as (\w+)", re.MULTILINE)


def later(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package: they know what stands under `if TYPE_CHECKING:`."""
    module = sys.modules[package]
    where: dict[str, tuple[str, str]] = {}

    def lines() -> dict[str, tuple[str, str]]:
        if not where:
            where.update(_lines(module))
        return where

    def get(name: str) -> Any:
        if name == "__all__":
            return [name for name in names() if not (name.startswith("_") or is_module(name))]
        if name not in lines():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        item = _imported(*lines()[name], package)
        setattr(module, name, item)
        return item

    def names() -> list[str]:
        return sorted({*vars(module), *lines()})

    def is_module(name: str) -> bool:
        """Whose names may be those of a program's own modules: `numpy`, `random`, `signal`."""
        return isinstance(getattr(module, name), ModuleType)

    return get, names


def _lines(module: ModuleType) -> dict[str, tuple[str, str]]:
    """For each name under `if TYPE_CHECKING:`, where it comes from and what it is called there."""
    assert module.__file__ is not None
    text = module.__loader__.get_data(module.__file__).decode()  # type: ignore[union-attr]
    block = text.partition("TYPE_CHECKING:\n")[2]
    return {name: (source, there) for source, there, name in _LATER.findall(block)}


def _imported(source: str, name: str, package: str) -> Any:
    """What `from source import name` gives in the package, whose own attributes are not asked."""
    if source != package:
        item = getattr(importlib.import_module(source), name, None)
        if item is not None:
            return item
    return importlib.import_module(f"{source}.{name}")


class _Keeping(ModuleType):
    """A package that keeps an object, the next time a module is set by the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and name in vars(self):
            super().__setattr__("__class__", ModuleType)
        else:
            super().__setattr__(name, value)


def kept(module: str) -> Any:
    """What has a module's name in its package, if that is no module; importing leaves it there."""
    package, _, name = module.rpartition(".")
    parent = sys.modules.get(package)
    held = vars(parent).get(name) if parent else None
    if isinstance(held, ModuleType | None | __future__._Feature):
        return None
    if type(parent) is ModuleType:
        parent.__class__ = _Keeping
    return held


class Aliases:
    """Finds modules under other names than their own: the module is the same, and loaded once."""

    def __init__(self, own_name: Callable[[str], str | None], packages: bool = False) -> None:
        self.own_name = own_name
        self.packages = packages  # a single file here may be a folder there, of modules to import

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        own = self.own_name(fullname)
        spec = None if own is None else importlib.util.find_spec(own)
        if spec is None:
            return None
        return importlib.machinery.ModuleSpec(
            fullname,
            self,  # type: ignore[arg-type]  # the base class would cost more than all of this
            origin=spec.origin,
            loader_state=spec,
            is_package=spec.submodule_search_locations is not None,
        )

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(spec.loader_state.name)
        if self.packages:
            vars(module).setdefault("__path__", [])
            if not hasattr(module, "__all__"):
                vars(module)["__all__"] = public(module)
        return module

    def exec_module(self, module: ModuleType) -> None:
        # It has run already; the import system has just put the other name's spec in its place,
        # and sets it in its parent next, where `autograd.gradcheck` is the function.
        spec = module.__spec__
        assert spec is not None
        module.__spec__ = spec.loader_state
        kept(spec.name)

    def get_code(self, fullname: str) -> Any:
        """What `python -m` runs."""
        own = importlib.util.find_spec(str(self.own_name(fullname)))
        return own.loader.get_code(own.name)  # type: ignore[union-attr]


def like_its_parent(name: str) -> str | None:
    """`wengert.pytorch.cuda.amp` for `wengert.cuda.amp`, where `wengert.cuda` is an alias."""
    parent, _, child = name.rpartition(".")
    if not parent.startswith("wengert.") or parent not in sys.modules:
        return None
    own = sys.modules[parent].__name__
    return None if own == parent else f"{own}.{child}"


def elsewhere(name: str) -> str | None:
    """The name that a module of the package has now, or has in the folder of PyTorch's modules."""
    package, _, module = name.partition(".")
    if name in MOVED or package != "wengert" or "." in module:
        return MOVED.get(name)
    return f"wengert.pytorch.{module}"


def public(module: ModuleType) -> list[str]:
    """The names of a module that a star takes: of objects of NumPy's and of this package's."""
    names = (name for name in vars(module) if not name.startswith("_"))
    return [name for name in names if _home(vars(module)[name]) in ("wengert", "numpy", "builtins")]


def _home(item: Any) -> str:
    """The package that defines an object, or its class; none for a module."""
    if isinstance(item, ModuleType):
        return ""
    return (getattr(item, "__module__", None) or type(item).__module__).partition(".")[0]


def of_pytorch(module: str, name: str) -> Any:
    """What stands for a name of PyTorch's that a module does not define; AttributeError."""
    return importlib.import_module("wengert.pytorch.absent").answer(module, name)


def lacking(module: str) -> None:
    """Let a module answer for all names that PyTorch's has: `pytorch/absent.py` says how.

    Here and not by a function in the module, which would hide wrong names from type checkers. Only
    modules with gaps ask for it: Python looks names up slowly in a module with `__getattr__`.
    """
    names = vars(sys.modules[module])
    names.setdefault("__path__", [])  # what is a file here is a folder there
    names["__getattr__"] = partial(of_pytorch, module)


# A module that is an alias has a folder, in which its children would be found a second time.
sys.meta_path.insert(0, Aliases(like_its_parent))
sys.meta_path.append(Aliases(elsewhere))
