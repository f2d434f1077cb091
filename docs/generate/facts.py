"""What the reference says of a function beside its docstring: parameters, shapes, errors.

What a parameter is that the docstring does not mention says its name: `parameters.txt` has each
name once. What a field is says the comment behind it, or its docstring. Shapes and errors are not
written down at all. The example of a function is run once more, and its call is kept: what came in
and went out has shapes, and types where no annotation says one. Then the call is repeated, each
time with one argument that cannot stand there: a word for a tensor, a dimension that does not
exist, a shape that does not fit. Functions without tensors are not called so, since they might act;
their own source says what they raise.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import inspect
import io
import re
import shutil
import tempfile
import textwrap
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from docs.generate import stubs
from docs.generate.examples import NAMES, typed
from docs.generate.signatures import running

FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
ARRAYS = (wg.Tensor, np.ndarray)


# ---- names of parameters -----------------------------------------------------------------------


class Said(NamedTuple):
    """What a parameter's name says: a type, if annotations do not, and in words."""

    kind: str
    words: str


@functools.cache
def names() -> dict[str, Said]:
    """Each name with what it says.

    >>> names()["keepdim"]
    Said(kind='bool', words='keep the dimension, with length 1')
    """
    text = (Path(__file__).parent / "parameters.txt").read_text(encoding="utf-8")
    found = re.findall(r"^([\w.]+)(?: \((.+)\))?: (.+)$", text, re.MULTILINE)
    return {name: Said(kind, words) for name, kind, words in found}


def says(item: Any, name: str) -> Said | None:
    """What a parameter's name says, of this function or class if it means something else here."""
    own = names().get(f"{item.name}.{name}") or _remarked(item, name)
    return own or names().get(name)


def _remarked(item: Any, name: str) -> Said | None:
    """What the comment behind a field of a dataclass says."""
    member = item.members.get(name) if "dataclass" in item.labels else None
    if member is None or member.lineno is None:  # a field of its base
        return None
    found = re.search(r"  # (.+)", item.lines_collection[item.filepath][member.lineno - 1])
    return Said("", found[1]) if found else None


def given(item: Any) -> list[str]:
    """The names of what a function is called with, or a class is made with."""
    made = item.all_members.get("__init__") if item.is_class else item
    found = getattr(made, "parameters", ())
    return [p.name for p in found if p.name not in ("self", "cls")]


def unmentioned(item: Any) -> list[str]:
    """The parameters that a docstring does not mention outside of its sessions.

    A field with a docstring is described beside its class.
    """
    text = FENCED.sub("", item.docstring.value)
    fields = {name for name, member in item.members.items() if member.docstring}
    return [n for n in given(item) if n not in fields and not re.search(rf"\b{n}\b", text)]


# ---- the call of an example --------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """A call of an example: what was called, its arguments and what came out."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any

    def given(self) -> dict[str, Any]:
        """The arguments by the names of parameters; several that are one's are a tuple.

        >>> list(Call(wg.sum, (wg.ones(2), 0), {"keepdim": True}, None).given())
        ['input', 'dim', 'keepdim']
        """
        try:
            bound = self.signature().bind(*self.args, **self.kwargs).arguments
        except (TypeError, ValueError):  # it has no signature
            return dict(self.kwargs)
        bag = bound.pop("kwargs", {})
        return {name: value for name, value in (bound | bag).items() if name != "self"}

    def signature(self) -> inspect.Signature:
        """As readers see it."""
        asked = getattr(self.function, "forward", self.function)
        plain = stubs.out_of_place(asked) if inspect.isfunction(asked) else asked
        found = inspect.signature(plain)
        if plain is asked:
            return found
        first, *others = found.parameters.values()
        return found.replace(parameters=[first.replace(name="self"), *others])

    def changed(self) -> Iterator[tuple[str, str, Call]]:
        """The same call with one argument that does not fit: its name, why, and the call.

        Of those that have a whole number by default, too.
        """
        try:
            parameters = list(self.signature().parameters.values())
        except (TypeError, ValueError):
            return
        names = [p.name for p in parameters if p.kind <= p.VAR_POSITIONAL]
        for k, value in enumerate(self.args):
            name = names[min(k, len(names) - 1)]
            for why, other in unfit(value) if name != "self" else ():
                args = (*self.args[:k], other, *self.args[k + 1 :])
                yield name, why, Call(self.function, args, self.kwargs, None)
        absent = {p.name: p.default for p in parameters if type(p.default) is int}
        absent = {name: value for name, value in absent.items() if name not in self.given()}
        for name, value in {**absent, **self.kwargs}.items():
            for why, other in unfit(value):
                kwargs = {**self.kwargs, name: other}
                yield name, why, Call(self.function, self.args, kwargs, None)

    def has_arrays(self) -> bool:
        return any(map(has_arrays, (*self.args, *self.kwargs.values(), self.result)))


def has_arrays(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(has_arrays, value))
    return isinstance(value, ARRAYS)


class _Noting(ast.NodeTransformer):
    """Calls go through a function that keeps them, at first not those inside of other functions."""

    def __init__(self, deep: bool) -> None:
        self.left = () if deep else (ast.FunctionDef, ast.Lambda, ast.ClassDef)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return node
        noting = ast.Call(ast.Name("__noting", ast.Load()), [node.func, *node.args], node.keywords)
        return ast.copy_location(noting, node)

    def visit(self, node: ast.AST) -> Any:
        return node if isinstance(node, self.left) else super().visit(node)


def noted(code: str, known: dict[str, Any], function: Any) -> Call | None:
    """The first call of a function, or of an instance of a class, in Python that is run.

    >>> noted("y = wg.ones(2, 3).sum(1)", {"wg": wg}, wg.Tensor.sum).result
    tensor([3., 3.])
    """
    kept: list[Call] = []

    def noting(f: Any, *args: Any, **kwargs: Any) -> Any:
        result = f(*args, **kwargs)
        own = getattr(f, "__self__", None)
        if inspect.isclass(function):
            if type(f) is function:
                kept.append(Call(f, args, kwargs, result))
        elif function in (getattr(f, "__func__", f), getattr(f, "__wrapped__", f)):
            bound = inspect.ismethod(f) and not inspect.isclass(own)
            kept.append(Call(function, (own, *args) if bound else args, kwargs, result))
        return result

    for deep in (False, True):
        tree = ast.fix_missing_locations(_Noting(deep).visit(ast.parse(code)))
        names = {**known, "__noting": noting, "__name__": "__example__"}
        with _quiet(), contextlib.suppress(Exception):  # examples may show errors
            exec(compile(tree, "<example>", "exec"), names)  # noqa: S102
        if kept:
            break
    return kept[0] if kept else None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Nothing is printed, no random number used up, no file left."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        stack.enter_context(contextlib.chdir(_folder().name))
        stack.callback(_clear, Path(_folder().name))
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(wg.random.fork_rng())
        warnings.simplefilter("ignore")
        wg.manual_seed(0)
        yield


@functools.cache
def _folder() -> Any:
    """Where examples are at work: a folder of each one's own took as long as the examples."""
    return tempfile.TemporaryDirectory()


def _clear(folder: Path) -> None:
    for left in folder.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()


def call(item: Any) -> Call | None:
    """The call of a function, method or layer in its example."""
    found = running(item.path)
    code = typed(item.docstring.value.replace("```", ""))
    if found is None or not code:
        return None
    module = item.parent
    while not module.is_module:
        module = module.parent
    return noted(code, {**vars(importlib.import_module(module.path)), **NAMES}, found)


# ---- shapes ------------------------------------------------------------------------------------


def shape(value: Any) -> str:
    """The shape of a tensor, those of several, or nothing.

    >>> shape(wg.ones(2, 3)), shape((wg.ones(2), 1.0, wg.ones(3))), shape("word")
    ('(2, 3)', '(2,), (3,)', '')
    """
    if isinstance(value, (tuple, list)):
        return ", ".join(filter(None, map(shape, value)))
    return str(tuple(value.shape)) if isinstance(value, ARRAYS) else ""


def shapes(found: Call) -> str:
    """Which shapes a call took and gave.

    >>> shapes(Call(wg.sum, (wg.ones(2, 3), 1), {}, wg.ones(2)))
    '`input` (2, 3) → (2,)'
    """
    taken = [f"`{name}` {own}" for name, value in found.given().items() if (own := shape(value))]
    made = shape(found.result)
    if not taken:
        return f"gives {made}" * bool(made)
    return ", ".join(taken) + f" → {made}" * bool(made)


# ---- errors ------------------------------------------------------------------------------------


def unfit(value: Any) -> Iterator[tuple[str, Any]]:
    """What cannot stand for a value, and what is said of it."""
    if isinstance(value, ARRAYS):
        yield "is no tensor", "word"
        yield "has a shape that does not fit", longer(value)
    elif type(value) in (tuple, list) and value and isinstance(value[0], ARRAYS):
        yield "holds no tensors", type(value)(["word"])
        yield "holds shapes that do not fit", type(value)([longer(value[0]), *value[1:]])
    elif type(value) in (int, float, bool):
        yield f"is no {'bool' if type(value) is bool else 'number'}", "word"
        if type(value) is int:
            yield "is out of range", -99
    elif type(value) is str:
        yield "is unknown", "no such word"


def longer(value: Any) -> Any:
    """A tensor that has another length along each dimension, and one dimension more."""
    return wg.ones(*(n + 3 for n in value.shape), 5, dtype=value.dtype)


def measured(found: Call) -> dict[str, list[str]]:
    """For each error what brings it, as calls with one argument that does not fit raise it.

    >>> measured(Call(wg.sum, (wg.ones(2, 3), 1), {}, None))["IndexError"]
    ['`dim` is out of range']
    """
    errors: dict[str, list[str]] = defaultdict(list)
    for name, why, other in found.changed():
        if (error := raised(other)) and f"`{name}` {why}" not in errors[error]:
            errors[error].append(f"`{name}` {why}")
    return {error: causes for error, causes in errors.items() if causes}


def raised(call: Call) -> str | None:
    """The class of a call's error that was raised on purpose, or None."""
    with _quiet():
        try:
            call.function(*call.args, **call.kwargs)
        except Exception as error:
            return next((k.__name__ for k in type(error).__mro__ if is_told(k)), None)
    return None


def is_told(kind: type) -> bool:
    """Whether a class of errors is one that callers are to know."""
    told = {"TypeError", "ValueError", "RuntimeError", "IndexError", "KeyError"}
    told |= {"NotImplementedError"}
    return kind.__module__ == wg.errors.__name__ or kind.__name__ in told


def written(function: Any, depth: int = 1) -> dict[str, list[str]]:
    """For each error that a function's own source raises, or one that it calls, what it says.

    >>> written(wg.autograd.graph.register_multi_grad_hook)
    {'ValueError': ["Expects mode to be one of ('all', 'any') but got …"]}
    """
    errors: dict[str, list[str]] = defaultdict(list)
    function = inspect.unwrap(function)
    if inspect.isclass(function):
        function = vars(function).get("__init__")
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (TypeError, OSError, SyntaxError):  # it has none
        return {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            made = node.exc if isinstance(node.exc, ast.Call) else None
            name = ast.unparse(made.func if made else node.exc).rpartition(".")[2]
            if name[:1].isupper():
                errors[name] += filter(None, [message(made)] if made else [])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and depth:
            called = getattr(function, "__globals__", {}).get(node.func.id)
            if inspect.isfunction(called) and called.__module__.startswith("wengert."):
                for error, messages in written(called, depth - 1).items():
                    errors[error] += messages
    return dict(errors)


def message(node: ast.Call) -> str:
    """The first sentence of an error's message, with dots for what it fills in.

    >>> message(ast.parse("E(f'{n} is too long. Cut it.')", mode="eval").body)
    '… is too long.'
    """
    if not node.args:
        return ""
    first = node.args[0]
    parts = first.values if isinstance(first, ast.JoinedStr) else [first]
    text = "".join(
        str(part.value) if isinstance(part, ast.Constant) else "…"
        for part in parts
        if isinstance(part, (ast.Constant, ast.FormattedValue))
    )
    return re.split(r"(?<=[.!?]) ", text)[0]


# ---- types -------------------------------------------------------------------------------------


def kind(name: str, default: Any, found: Call | None) -> str:
    """A parameter's type where no annotation says one: as its name, an example, its default says.

    >>> kind("keepdim", False, None), kind("scale", 1.0, None), kind("tree", None, None)
    ('bool', 'TensorLike', 'Any')
    """
    said = names().get(name)
    if said and said.kind not in ("", "Any"):
        return said.kind
    if found is not None and not calls_back(found):
        given = found.given().get(name)
        if has_arrays(given):
            return "TensorLike | None" if default is None else "TensorLike"
    if type(default) in (bool, int, float, str):
        return type(default).__name__
    return "Any"


def returned(found: Call | None) -> str:
    """The type of what a function gives where nothing else says it: as in the example.

    >>> returned(Call(wg.exp, (), {}, (wg.ones(2), wg.ones(2))))
    'tuple[Tensor, ...]'
    """
    if found is None or calls_back(found):
        return "Any"
    made = found.result
    if isinstance(made, tuple) and made and all(isinstance(part, wg.Tensor) for part in made):
        return "tuple[Tensor, ...]"
    return "Tensor" if isinstance(made, wg.Tensor) else "Any"


def calls_back(found: Call) -> bool:
    """Whether a function is given another one, which says what it takes and gives."""
    return any(map(callable, found.given().values()))


# ---- what stands below a docstring ---------------------------------------------------------------


def told(item: Any, found: Call | None) -> str:
    """The parameters, shapes and errors of a function, method or class, in Markdown."""
    lines = []
    if given := [f"`{n}`: {said.words}" for n in unmentioned(item) if (said := says(item, n))]:
        lines.append(f"**Parameters** {'; '.join(given)}.")
    if found is not None and (made := shapes(found)):
        lines.append(f"**Shapes** in the example: {made}.")
    if found is not None and found.has_arrays() and not acts(item):
        causes = [f"`{e}` if {_joined(c)}" for e, c in measured(found).items()]
    else:
        causes = [_cited(e, c) for e, c in written(running(item.path)).items()]
    if causes:
        lines.append(f"**Errors** {'; '.join(causes)}.")
    return "\n\n".join(lines)


def acts(item: Any) -> bool:
    """Whether a function may do something beside what it returns."""
    return item.path.split(".")[1] in ("distributed", "serialization", "studies", "utils")


def _joined(causes: list[str]) -> str:
    """Causes with the same words together.

    >>> _joined(["`a` is no tensor", "`b` is no tensor", "`b` is unknown"])
    '`a` or `b` is no tensor, `b` is unknown'
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for cause in causes:
        name, _, words = cause.partition(" ")
        groups[words].append(name)
    return ", ".join(f"{' or '.join(group)} {words}" for words, group in groups.items())


def _cited(error: str, messages: list[str]) -> str:
    said = ", ".join(f"“{text.rstrip('.')}”" for text in dict.fromkeys(messages))
    return f"`{error}`: {said}" if said else f"`{error}`"
