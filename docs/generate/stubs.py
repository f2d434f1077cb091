"""Writes what type checkers and editors see of the public functions: python -m docs.generate.stubs

Many functions are made while the package is imported: of rules, by decorators, as methods of
tensors. What they take is read off the finished package, what their arguments are off annotations,
and where those say nothing, off their names (`TYPES`). The front of the package and the modules
that only collect names have a file of types beside them; so have the functions that rules name, and
Tensor's methods. A test fails when one is out of date.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import keyword
import operator
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import wengert as wg
from wengert.arrays import methods as arrays
from wengert.autograd import misfits, record
from wengert.autograd.methods import HistoryMethods
from wengert.functions import elementary, results
from wengert.functions.methods.conversations import TensorMethods
from wengert.pytorch import absent, overrides

ROOT = Path(wg.__file__).parent
FRONTS = [wg.linalg, wg.fft, wg.special, wg.nn.functional, wg]
"""Modules that import names and define none."""

HEAD = '''\
"""What type checkers see of {of}; written by `python -m docs.generate.stubs`."""

import builtins
import types
import typing
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, NoReturn as _NoReturn

import numpy as _np

{imports}
{body}
'''
KINDS = """\
_Number: typing.TypeAlias = builtins.complex | _np.number[_Any] | _np.bool
_TensorLike: typing.TypeAlias = (
    _Tensor | _np.ndarray[_Any, _Any] | _Number | builtins.list[_Any] | builtins.tuple[_Any, ...]
)
_Out: typing.TypeAlias = _Tensor | builtins.tuple[_Tensor, ...]
_Index: typing.TypeAlias = builtins.slice | types.EllipsisType | _TensorLike | None
_Dtype: typing.TypeAlias = _np.dtype[_Any] | builtins.type[_Any] | builtins.str
_Ints: typing.TypeAlias = builtins.int | _Tensor | _Sequence[builtins.int | _Tensor]
"""
"""What arguments are: said in the file about results, from which the others have it."""

TYPES = {
    "_TensorLike": {*misfits.TENSORS, "tensors", "operands"},
    "_Ints": [
        "size",
        "shape",
        "dims",
        "dim0",
        "dim1",
        "dilation",
        "padding",
        "stride",
        "kernel_size",
        "output_size",
        "shifts",
    ],
    "_Dtype": ["dtype"],
    "_Out": ["out"],
}
"""What arguments are whose annotation does not say it, by their names."""
KNOWN = {("__getitem__", "index"): "_Index | builtins.tuple[_Index, ...]"}
KNOWN |= {(name, "index"): KNOWN["__getitem__", "index"] for name in ("__setitem__", "__delitem__")}
NAMED = {name: kind for kind, names in TYPES.items() for name in names}


def stub() -> str:
    """The text of the file about Tensor's methods."""
    members = [member(name, vars(wg.Tensor)[name]) for name in sorted(attached())]
    body = "class Methods:\n" + textwrap.indent("\n".join(members), "    ")
    return finished("Tensor's methods", body)


def functions() -> str:
    """The text of the file about the functions that rules name."""
    found = {name: f for name, f in vars(elementary).items() if not name.startswith("_")}
    members = [definition(name, found[name], "input") for name in sorted(found)]
    return finished("`elementary.py`", "\n".join(members))


PARTS = {("histogramdd_result", "bin_edges"): "builtins.tuple[_Tensor, ...]"}


def named_results() -> str:
    """The text of the file about results with named parts."""
    lines = []
    for name, kind in vars(results).items():
        fields = getattr(kind, "_fields", ())
        lines += [f"class {name}(typing.NamedTuple):"] if fields else []
        lines += [f"    {field}: {PARTS.get((name, field), '_Tensor')}" for field in fields]
    return finished("`results.py`", "\n".join([KINDS, *lines]))


def front(module: ModuleType, known: dict[str, str]) -> str:
    """The text of the file about a module that imports what it has.

    What is `known` from the file about another module, and is the same, comes from there.
    """
    path = Path(module.__file__ or "")
    lines = [line for n in collected(path) for line in imported(module, n)]
    lines = [known.get(line, line) for line in lines]
    for line in lines:
        if name := re.match(r"def (\w+)", line):
            known[line] = f"from {module.__name__} import {name[1]} as {name[1]}"
    if module is wg:
        lines.append("bfloat16: _np.dtype[_Any]")  # made when it is asked for
    return finished(f"`{module.__name__}`", "\n".join(lines))


def collected(path: Path) -> Iterator[ast.ImportFrom | ast.Assign]:
    """What a module imports, also for type checkers only, and what it sets by itself."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If):
            yield from (n for n in node.body if isinstance(n, ast.ImportFrom))
        elif isinstance(node, (ast.ImportFrom, ast.Assign)):
            yield node


def imported(module: ModuleType, node: ast.ImportFrom | ast.Assign) -> Iterator[str]:
    """The lines for a statement that gives a module names."""
    if isinstance(node, ast.Assign):
        names = [t.id for t in node.targets if isinstance(t, ast.Name) and t.id[0] != "_"]
        yield from (f"{n}: {written(type(getattr(module, n)))}" for n in names)
        return
    for alias in node.names:
        if alias.name == "*":
            yield from everything(importlib.import_module(node.module or ""))
            continue
        name = alias.asname or alias.name
        found = getattr(module, name, None)
        kept = name if name == alias.name else f"_{name}"
        if name.startswith("_"):
            continue
        if inspect.isfunction(found) and not says_all(found):
            yield definition(name, found, "")
        else:
            yield f"from {node.module} import {alias.name} as {kept}"
            if name != alias.name:  # which would be private in a file of types
                yield f"{name} = {kept}"


def everything(module: ModuleType) -> Iterator[str]:
    """The lines for all that a module has, of which only some have a file with the types."""
    if module is elementary:
        yield f"from {module.__name__} import *"
    else:
        yield from (definition(n, getattr(module, n), "") for n in sorted(module.__all__))


def says_all(function: Any) -> bool:
    """Whether a function is as it is written, with types; what is no operation says its own."""
    if not function.__module__.startswith(("wengert.functions", "wengert.nn", "wengert.rules")):
        return True
    if hasattr(function, "__wrapped__") or rule_of(function) is not None:
        return False
    tree = getattr(function, "__annotations__", {})
    return inspect.signature(function).parameters.keys() | {"return"} == tree.keys() and (
        "Any" not in tree.values()
    )


def finished(of: str, body: str) -> str:
    """A file, with the modules that its types are in."""
    needed = sorted(set(re.findall(r"(?<!from )\b(wengert(?:\.\w+)+)\.\w+\b(?! import)", body)))
    imports = [f"import {module}" for module in needed]
    if KINDS not in body:
        names = re.findall(r"^(\w+):", KINDS, re.MULTILINE)
        imports.append("from wengert.functions import results as _results")
        imports.append(f"from {results.__name__} import {', '.join(f'{n} as {n}' for n in names)}")
    imports.append("from wengert.tensor import Size as _Size, Tensor as _Tensor\n")
    return HEAD.format(of=of, imports="\n".join(imports), body=body).replace("\n\n\n", "\n\n")


def texts() -> dict[Path, str]:
    """All files, by where they are."""
    with overrides.unasked():
        return _texts()


def _texts() -> dict[Path, str]:
    known: dict[str, str] = {}
    fronts = {Path(m.__file__ or "").with_suffix(".pyi"): front(m, known) for m in FRONTS}
    here = ROOT / "functions"
    methods, others = here / "methods" / "attached.pyi", here / "elementary.pyi"
    files = {methods: stub(), others: functions(), here / "results.pyi": named_results()}
    return {**files, **fronts, **dict(renamed())}


def renamed() -> Iterator[tuple[Path, str]]:
    """Files about PyTorch's modules whose own files have other names here, in folders that are."""
    for theirs, ours in absent.ELSEWHERE.items():
        path = ROOT.joinpath(*theirs.split(".")).with_suffix(".pyi")
        if path.name.startswith("_") or not path.parent.is_dir():
            continue  # what is PyTorch's own is in no one's types
        module = importlib.import_module(f"wengert.{ours}")
        home = lambda found: getattr(found, "__module__", "")
        own = (n for n, found in vars(module).items() if home(found) == module.__name__)
        names = sorted(name for name in own if not name.startswith("_"))
        lines = [f"from {module.__name__} import {name} as {name}" for name in names]
        head = f'"""`{module.__name__}` by PyTorch\'s name, to type checkers: see `stubs.py`."""'
        yield path, "\n".join([head, "", *lines, ""])


def attached() -> set[str]:
    """The names that Tensor has from elsewhere than its own file."""
    # Copies and pickles leave `__slotnames__` there, whoever made one before.
    return set(vars(wg.Tensor)) - own() - {"__annotations__", "__module__", "__slotnames__"}


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
    found = signature(function, first, name)
    whole = WHOLES.get(name)
    if whole and "dim" in found.parameters:
        return "\n".join(overloads(name, found, function, whole))
    text = f"def {name}{found}:"
    return f"{text} ..." if not summary(function) else f"{text}\n    {quoted(summary(function))}"


WHOLES = dict.fromkeys(("max", "min", "median", "nanmedian"), ("_Tensor", None))
WHOLES |= {"size": ("_Size", "builtins.int")}
WHOLES |= {"stride": ("builtins.tuple[builtins.int, ...]", "builtins.int")}
"""What functions give that without a dimension tell of all, and of one something else."""


def overloads(name: str, found: inspect.Signature, function: Any, whole: Any) -> Iterator[str]:
    """The two forms of a function that is asked of all dimensions or of one."""
    both = ("_Tensor | None", None, whole[0]), ("builtins.int", inspect.Parameter.empty, whole[1])
    for kind, default, result in both:
        result = result or str(found.return_annotation)
        parameters = dict(found.parameters)
        parameters["dim"] = parameters["dim"].replace(annotation=Text(kind), default=default)
        own = inspect.Signature(parameters.values(), return_annotation=Text(result))
        yield f"@typing.overload\ndef {name}{own}:\n    {quoted(summary(function))}"


def accessors(name: str, value: property) -> Iterator[str]:
    assert value.fget is not None
    text = definition(name, value.fget)
    if "-> _Any:" in text:  # what is not said is asked of a matrix
        kind = written(type(getattr(wg.ones(2, 2), name)))
        text = text.replace("-> _Any:", f"-> {kind.replace('tuple', 'tuple[_Any, ...]')}:")
    yield f"@property\n{text}"
    if value.fset is not None:
        yield f"@{name}.setter\ndef {name}(self, value: _Any) -> None: ..."
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
    others = ", other: _TensorLike" if len(inspect.signature(plain).parameters) == 2 else ""
    differs = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
    others = ", other: _Any" if differs else others
    if name == "__rmul__":  # a list times an integer is another list
        differs = "  # type: ignore[misc]"
    return f"def {name}(self{others}) -> _Tensor: ...{differs}"


# ---- signatures ------------------------------------------------------------------------------


class Text(str):
    """A text that prints without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def signature(
    function: Callable[..., Any], name: str = "self", called: str = ""
) -> inspect.Signature:
    """The parameters of a function as the file has them, the first under `name`; its result."""
    plain = out_of_place(function)
    found = inspect.signature(record.written(plain), eval_str=True)
    parameters = [p for p in found.parameters.values() if plain is function or p.name != "out"]
    others = parameters[1:] + outer(function, set(found.parameters))
    first = parameters[:1]
    if name == "self":
        kind = "cls" if first[0].name == "cls" else name
        made = [first[0].replace(name=kind)]
    else:
        made = [q for p in first for q in parameter(p.replace(name=name or p.name))]
    also = by_numpys_names(function, found, name == "self")
    others += [p for p in also if p.name not in found.parameters]
    made += [q for p in sorted(others, key=lambda p: p.kind) for q in parameter(p)]
    made = [p.replace(annotation=Text(KNOWN.get((called, p.name), p.annotation))) for p in made]
    bare = made[:1] if name == "self" else []
    named = {p.name for p in made if p.kind is not p.VAR_POSITIONAL}
    clash = [p.kind is p.VAR_POSITIONAL and p.name in named for p in made]
    made = [p.replace(name=f"{p.name}s") if c else p for p, c in zip(made, clash, strict=True)]
    made = sorted({p.name: p for p in made}.values(), key=lambda p: p.kind)
    made = [p.replace(annotation=p.empty) if p in bare else p for p in made]
    return inspect.Signature(made, return_annotation=Text(returned(function)))


def out_of_place(function: Any) -> Any:
    """The method whose arguments one takes that writes into its tensor and has a bag of its own."""
    bag = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    given = list(inspect.signature(record.written(function)).parameters.values())
    if function.__name__[-1] == "_" and {p.kind for p in given[1:]} == bag and given[2:]:
        return getattr(wg.Tensor, function.__name__.removesuffix("_"), function)
    return function


def returned(function: Any) -> str:
    """What a function returns: as its rule says, it or a layer around it, or the class of results
    that has its name.
    """
    rule = rule_of(function)
    if rule and rule.outputs == 1:
        return "_Tensor"
    named = f"{function.__name__}_result"
    while function is not None:
        module = function.__module__
        own = inspect.signature(function, follow_wrapped=False, eval_str=True).return_annotation
        if written(own) != "_Any":
            return written(own)
        function = getattr(function, "__wrapped__", None)
        if module == arrays.__name__:  # NumPy's methods, which give tensors
            return "_Tensor"
    return f"_results.{named}" if hasattr(results, named) else "_Any"


def rule_of(function: Callable[..., Any]) -> Any:
    """The rule that a recorder records."""
    return getattr(function, "rule", None)


def outer(function: Any, known: set[str]) -> list[inspect.Parameter]:
    """What the layers around a function take by name: `out`, mostly."""
    found: dict[str, inspect.Parameter] = {}
    while hasattr(function, "__wrapped__"):
        own = inspect.signature(function, follow_wrapped=False, eval_str=True).parameters.values()
        unknown = known if getattr(function, "takes_out", True) else {*known, "out"}
        found |= {p.name: p for p in own if p.kind is p.KEYWORD_ONLY and p.name not in unknown}
        function = function.__wrapped__
    return list(found.values())


def parameter(p: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """A parameter with its type and its default; keywords that are taken as a bag, one by one."""
    if p.name in BAGS and p.kind is p.VAR_KEYWORD:
        for name, kind in BAGS[p.name].items():
            kept = inspect.Parameter(name, p.KEYWORD_ONLY, default=Text("..."))
            yield kept.replace(annotation=Text(kind))
        return
    if p.name.startswith("_") and p.default is not p.empty:
        return  # nobody's but the library's
    default = p.default
    if type(default) not in (bool, int, str, type(None), type):
        default = Text("...") if default is not p.empty else default
    kind = written(p.annotation)
    if kind == "_Any" and p.name in NAMED:
        kind = NAMED[p.name] + (" | None" if p.default is None or p.name == "dtype" else "")
    if p.kind is p.KEYWORD_ONLY and p.default is p.empty:
        default = Text("...")  # given by a layer around the function
    yield p.replace(annotation=Text(kind), default=default)


def by_numpys_names(
    function: Any, found: inspect.Signature, method: bool
) -> Iterator[inspect.Parameter]:
    """Arguments that a function takes by NumPy's names, too, which its layers tell."""
    for name, own in getattr(function, "numpys_names", {}).items():
        if keyword.iskeyword(name) or (method and own == next(iter(found.parameters))):
            continue
        kept = found.parameters[own].replace(name=name, kind=inspect.Parameter.KEYWORD_ONLY)
        yield kept.replace(default=Text("..."))


BAGS = {
    "named": {"size": "_Ints"},
    "names": {"axis": "_Ints | None", "keepdims": "builtins.bool"},
}
"""Keywords that functions take beside those of their signature, by the name of the bag."""


def written(annotation: Any) -> str:
    """An annotation, with its names as the head of the file has them."""
    if annotation is inspect.Parameter.empty:
        return "_Any"
    text = "None" if annotation is None else inspect.formatannotation(annotation)
    text = text.replace("wengert.tensor.Tensor", "_Tensor").replace("wengert.tensor.Size", "_Size")
    homes, names = r"(?:typing\.|collections\.abc\.)?", "Any|Callable|Iterator|NoReturn|Sequence"
    text = re.sub(rf"(?<![\w.]){homes}({names})\b", r"_\1", text)
    if isinstance(annotation, type) and annotation.__module__ == results.__name__:
        return f"_results.{next(n for n, kind in vars(results).items() if kind is annotation)}"
    text = re.sub(r"(?<![\w.])(Literal|Optional|Union)\[", r"typing.\1[", text)
    text = text.replace("numpy.", "_np.").replace("NoneType", "None")
    names = "bool|float|int|complex|type|tuple|list|dict|str|object"
    return re.sub(rf"(?<![\w.])({names})\b", r"builtins.\1", text)


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text, encoding="utf-8")
