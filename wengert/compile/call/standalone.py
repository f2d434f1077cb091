"""A captured program as a function that runs without this package: NumPy, SciPy and nothing else.

The arguments keep their names and their containers, and so does the result. Functions of this
package that NumPy lacks (a convolution, say) are written out above the function that calls them.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.compile.program.operations import astype
from wengert.compile.program.program import Statement, Value
from wengert.compile.program.source import Printer
from wengert.compile.trace.anew import Anew
from wengert.compile.trace.arguments import Changed, named_parts_of
from wengert.compile.trace.captured import Captured
from wengert.compile.trace.parts import Part
from wengert.compile.trace.world.inputs import equal
from wengert.compile.trace.world.places import Argument, Known, Output, array_at
from wengert.errors import TracingError
from wengert.history.location import here
from wengert.history.uncollected import parsed

_OWN = __name__.partition(".")[0]


class Standalone(Printer):
    """Writes one captured program as the function `name` of these parameters.

    `arguments` are the example's, one per parameter. `arrays` collects what the text cannot hold:
    parameters of their own behind the others, by name.
    """

    def __init__(
        self, captured: Captured, name: str, parameters: list[str], arguments: tuple[Any, ...]
    ) -> None:
        super().__init__(captured.program)
        self.captured = captured
        self.title = name
        self.caller = here()[0]
        self.parameters = [self.unique(p) for p in parameters]
        self.unpacking: list[str] = []
        self.places = list(self._places(zip(self.parameters, arguments, strict=True)))
        self.arrays: dict[str, Any] = {}
        self.inlined: dict[Any, str] = {}
        self.scalars: set[Value] = set()
        """Python's numbers by their type that the text computes as NumPy's."""
        self.taken.add(name)

    def text(self, about: str = "") -> str:
        """The module: imports, what is written out, the function."""
        for value in self.program.inputs:
            self.names[value] = self._input(value)
        for value, array in self.program.constants.items():
            same = [name for name, other in self.arrays.items() if equal(other, array)]
            if same:
                self.names[value] = same[0]
            else:
                self.constant(value, array)
        body = [*self.unpacking, *self.statements(), *self.ending()]
        for name, item in self.bound.items():
            if not isinstance(item, np.ndarray):
                raise TracingError(
                    f"the source of {self.title} would need {name}, {_kind(item)} that has no "
                    "text. Pass it as an argument, or write that part with NumPy's functions."
                )
            self.arrays[name] = item
        head = self.wrapped(f"def {self.title}({', '.join([*self.parameters, *self.arrays])}):", "")
        lines = textwrap.indent(f'"""{about}"""', "    ").splitlines() if about else []
        imports = sorted({"import numpy as np", *self.imports.values()}, key=_import_order)
        written = [text for text in self.inlined.values() if text.startswith("def ")]
        settings = [text for text in self.inlined.values() if not text.startswith("def ")]
        parts = [
            "\n".join(imports),
            *(["\n".join(settings)] if settings else []),
            *(f"\n{text}" for text in written),
            "\n" + "\n".join([*head, *lines, *body]),
        ]
        return "\n".join(part + "\n" for part in parts)

    # ---- what goes in ---------------------------------------------------------------------------

    def _places(self, pairs: Any) -> Iterator[str]:
        """How each flattened argument is reached, in order; parts of containers get names."""
        for name, item in pairs:
            kind = type(item)
            named_parts = None if kind in (tuple, list) else named_parts_of(item)
            if kind in (tuple, list):
                parts = [(f"{name}_{i}", f"{name}[{i}]", part) for i, part in enumerate(item)]
            elif named_parts is None:
                yield name
                continue
            elif isinstance(item, dict):
                parts = [(str(k), f"{name}[{k!r}]", part) for k, part in named_parts.items()]
            else:
                parts = [(k, f"{name}.{k}", part) for k, part in named_parts.items()]
            named = [(self.unique(hint), text, part) for hint, text, part in parts]
            self.unpacking += [f"    {own} = {text}" for own, text, _ in named]
            yield from self._places((own, part) for own, _, part in named)

    def _input(self, value: Any) -> str:
        place = self.captured.places[value]
        if isinstance(place, Argument):
            return self.places[place.number]
        if isinstance(place, Known):
            name = self.unique(self.program.names.get(value, "constant"))
            self.arrays[name] = np.array(array_at(place, ()))
            return name
        raise TracingError(
            f"the source of {self.title} would read something that its arguments do not hold (a "
            "gradient, a setting of an optimizer). Pass what it needs as arguments."
        )

    def statement(self, s: Statement) -> list[str]:
        """As ever, without casts of numbers that NumPy has made floats already."""
        x = s.args[0] if s.function is astype else None
        if x in self.scalars and x.dtype == s.output.dtype:
            self.names[s.output] = self.names[x]
            return []
        lines = super().statement(s)
        called = lines[0].partition(" = ")[2].startswith("np.")
        if called or any(value in self.scalars for value in s.inputs):
            self.scalars.update(out for out in s.outputs if out.weak and out.dtype.kind == "f")
        return lines

    def comment(self, s: Any) -> str:
        """The line of the function: not the one that asks for the text."""
        return "" if s.code is self.caller else super().comment(s)

    # ---- what comes out -------------------------------------------------------------------------

    def returned(self, texts: list[str]) -> str:
        result = self.captured.result
        if type(result) is Changed:
            raise TracingError(
                "the function changes a list, a dictionary or a dataclass that it is given, which "
                "the text would not. Copy it first, and return what is new."
            )
        if type(result) is tuple and len(result) > 1:
            return ", ".join(self._structured(part, texts) for part in result)
        return self._structured(result, texts)

    def _structured(self, item: Any, texts: list[str]) -> str:
        if type(item) is Output:
            return texts[item.number]
        if type(item) is Part:
            axes = item.axes()
            if axes is not None:
                return f"{texts[item.base.number]}.transpose{axes}"  # type: ignore[union-attr]
            raise TracingError(
                "the function returns a view of what it is given, or of another result, which the "
                "text would not. Return a clone()."
            )
        if type(item) is Argument:
            return self.places[item.number]
        if type(item) is dict:
            parts = (f"{k!r}: {self._structured(part, texts)}" for k, part in item.items())
            return "{" + ", ".join(parts) + "}"
        if type(item) in (tuple, list):
            inside = ", ".join(self._structured(part, texts) for part in item)
            if type(item) is list:
                return f"[{inside}]"
            return f"({inside},)" if len(item) == 1 else f"({inside})"
        if type(item) is Anew:
            raise TracingError(
                f"the function returns a {item.kind.__name__}, which text for plain NumPy "
                "cannot make. Return a tuple or a dictionary."
            )
        return self.arg(item)

    # ---- functions that NumPy lacks -------------------------------------------------------------

    def _found(self, function: Callable[..., Any]) -> str:
        home = getattr(function, "__module__", None) or ""
        if home.partition(".")[0] != _OWN:
            return super()._found(function)
        return self._inlined(function)

    def _inlined(self, function: Callable[..., Any]) -> str:
        """The name of a function of this package, whose text goes above."""
        body: Any = inspect.unwrap(getattr(function, "body", function))
        name = body.__name__
        if not isinstance(body, types.FunctionType):
            raise TracingError(
                f"the source of {self.title} would need {name}, {_kind(body)} that has no text: "
                "it draws random numbers, or keeps something between calls. Draw them outside, "
                "and pass them as an argument."
            )
        if body in self.inlined:
            return name
        if name in self.taken:
            raise TracingError(
                f"the source of {self.title} would need {name}, which is the name of something "
                "else in it. Rename that."
            )
        self.taken.add(name)
        self.inlined[body] = ""  # its place, behind what calls it; functions may call each other
        tree = _stripped(body)
        for used in _globals_of(tree, body):
            self._provide(used, body.__globals__.get(used, getattr(builtins, used, None)))
        self.inlined[body] = ast.unparse(tree)
        return name

    def _provide(self, name: str, item: Any) -> None:
        """Bind a global name that written-out text uses."""
        if isinstance(item, types.ModuleType) and item.__name__.partition(".")[0] != _OWN:
            self.imports[name] = f"import {item.__name__}" + (
                "" if item.__name__ == name else f" as {name}"
            )
        elif isinstance(inspect.unwrap(item), types.FunctionType):  # as it is without its cache
            self._inlined(item)
        elif isinstance(item, (bool, int, float, str, tuple, type(None))):
            self.inlined[name] = f"{name} = {self.arg(item)}"
        else:
            raise TracingError(
                f"the source of {self.title} cannot be written out: it needs {name}, "
                f"{_kind(item)} of this package. Leave that part out of the function."
            )


def _stripped(function: Callable[..., Any]) -> ast.Module:
    """A function's text without decorators, annotations and docstring."""
    tree = parsed(textwrap.dedent(inspect.getsource(function)))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list, node.returns = [], None
            if ast.get_docstring(node, clean=False) is not None and len(node.body) > 1:
                del node.body[0]
        elif isinstance(node, ast.arg):
            node.annotation = None
    return _Plain().visit(tree)


class _Plain(ast.NodeTransformer):
    """`x: int = 3` becomes `x = 3`, and `x: int` nothing."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)


def _globals_of(tree: ast.Module, function: Callable[..., Any]) -> list[str]:
    """The names from outside that a text without annotations uses, builtins left out."""
    bound = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    names = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    bound |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
    used = dict.fromkeys(n.id for n in names if n.id not in bound)
    return [name for name in used if name in function.__globals__ and name != function.__name__]


def _kind(item: Any) -> str:
    return f"an object of class {type(item).__name__}"


@functools.cache
def _import_order(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line
