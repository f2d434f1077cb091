"""Compiled functions outside of Python: `f.save("step.o", header=True)`.

A specialization is taken out of its surroundings: a program of its arguments, results, and what it
finds around it, which becomes data of its own. From that follow the function of C and its header
here, and the functions that SciPy calls in `lowlevel.py`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wengert.compile.backend import backend
from wengert.compile.call.specialization import Specialization
from wengert.compile.plan.outer import Data, Given, Outer, Parameter, Source, failures
from wengert.compile.plan.plan import Call, Plan, numbered
from wengert.compile.program.infer import Calls
from wengert.compile.program.operations import astype, check, take
from wengert.compile.program.passes import clean, finish
from wengert.compile.program.program import Program, Statement, Value
from wengert.compile.trace.arguments import Changed
from wengert.compile.trace.parts import Part
from wengert.compile.trace.results import named_leaves
from wengert.compile.trace.world.messages import Message
from wengert.compile.trace.world.places import (
    Argument,
    Did,
    Gradient,
    Item,
    Known,
    Output,
    Place,
    Put,
    array_at,
    key_of,
)
from wengert.errors import TracingError
from wengert.history.files import ending, whole
from wengert.history.location import line_of


@dataclass
class Named:
    """A value of a program under the name that C knows it by."""

    name: str
    value: Value


class Alone:
    """A specialization by itself.

    `arguments` are those that are arrays or numbers; `results` are computed, and so are those of
    `kept`, which lie where the function has its data. `data` are what it found around it, by input.
    `fixed` are the other arguments, in words. With a `dtype`, all results have that.
    """

    def __init__(
        self, specialization: Specialization, name: str, dtype: np.dtype | None = None
    ) -> None:
        captured = specialization.captured
        self.specialization = specialization
        self.source = specialization.program
        self.function = specialization.owner.function
        self.name = name
        self.taken = {name}
        self.program = _copy(self.source)
        self._call = Calls(self.program.statements)
        self.places = {v: p for v, p in captured.places.items() if v in self.source.inputs}
        self.known = {key_of(place): v for v, place in self.places.items()}
        self.fixed: list[str] = []
        self.arguments = list(self._arguments())
        self._called = _names_around(specialization)
        self.data = {
            v: Named(self._unique(f"{name}_{self._hint(place)}"), v)
            for v, place in self.places.items()
            if not isinstance(place, Argument)
        }
        whole = captured.whole()
        result, *written = whole if captured.effects else [whole]
        if type(result) is Changed:
            raise self._refused("changes a list, a dictionary or a dataclass that it is given")
        self.results = [
            Named(self._unique("_".join(map(str, path))), self._in(dtype, self._value(leaf)))
            for path, leaf in named_leaves(result, ("result",))
        ]
        self.kept: list[Named] = []
        for effect, value in zip(captured.effects, written, strict=True):
            if isinstance(effect, Did) and type(effect.container) is Message:
                continue  # C gives none
            if not isinstance(effect, Put) or not isinstance(value, Output | Part):
                raise self._refused("changes an object around it in a way that C has no data for")
            self._write(effect.place, self._value(value))
        for write in captured.writes:
            if isinstance(write.place, Gradient) and write.number is not None:
                self._write(write.place, self.source.outputs[write.number])
        if not self.results and not self.kept and not self.program.updates:
            raise self._refused("computes nothing that C could see: it returns no array or number")
        self.program.outputs = [x.value for x in (*self.results, *self.kept)]
        self.plan = self._plan()

    def _refused(self, why: str) -> TracingError:
        return TracingError(
            f"{self.name} cannot leave Python: it {why}. Pass what it needs as arguments, return "
            "what it computes, and do the rest outside."
        )

    # ---- what goes in ---------------------------------------------------------------------------

    def _arguments(self) -> Iterator[Named]:
        names = argument_names(self.function, self.specialization.structure)
        forms = self.specialization.forms
        for number, (name, form) in enumerate(zip(names, forms, strict=True)):
            value = self._argument(number, form)
            if value is None:
                self.fixed.append(f"{name} ({self.specialization.examples[number]})")
            else:
                yield Named(self._unique(name), value)

    def _argument(self, number: int, form: Any) -> Value | None:
        """What C has to pass for an argument; nothing for one that the code is made for."""
        place = Argument(number)
        value = self.known.get(key_of(place))
        if value is not None or number in self.specialization.owner._static:
            return value
        if isinstance(form, tuple):
            return self._input(place, *form[1:3])
        free = issubclass(form, float | np.number)
        return self._input(place, (), np.dtype(form)) if free else None

    def _input(self, place: Place, shape: Any, dtype: Any) -> Value:
        """An input that the program did not read."""
        value = self.program.input(shape, dtype, "unread")
        self.places[value] = place
        self.known[key_of(place)] = value
        return value

    # ---- what comes out -------------------------------------------------------------------------

    def _value(self, leaf: Any) -> Value:
        """The value that a leaf of the result is."""
        if type(leaf) is Output:
            return self.source.outputs[leaf.number]
        if type(leaf) is Part:
            whole, axes = self._value(leaf.base), leaf.axes()
            if axes is not None:
                return self._call(np.transpose, whole, axes)
            return whole if leaf.lies is None else self._seen(whole, *leaf.lies)
        value = self.known.get(key_of(leaf))
        if value is None:
            array = np.asarray(array_at(leaf, ()))
            value = self._input(leaf, array.shape, array.dtype)
            self.data[value] = Named(self._unique(f"{self.name}_{self._hint(leaf)}"), value)
        return value

    def _seen(self, whole: Value, shape: Any, strides: Any, offset: int) -> Value:
        """Elements of a value, by where they lie in its memory: gathered in their order."""
        at = np.full(shape, offset, np.int64)
        for axis, (n, step) in enumerate(zip(shape, strides, strict=True)):
            at += (np.arange(n) * step).reshape([-1 if k == axis else 1 for k in range(len(shape))])
        flat = self._call(np.reshape, whole, (whole.size,))
        return self._call(take, flat, (self.program.constant(at),))

    def _in(self, dtype: np.dtype | None, value: Value) -> Value:
        if dtype is None or value.dtype == dtype:
            return value
        if value.dtype.kind == "c":
            raise TypeError(f"{self.name} returns complex numbers, and {dtype} cannot hold them")
        return self._call(astype, value, dtype)

    def _write(self, place: Place, value: Value) -> None:
        """Let a place hold a value after each call: it is updated if the function reads it."""
        read = self.known.get(key_of(place))
        if read is None:
            self.kept.append(Named(self._unique(f"{self.name}_{self._hint(place)}"), value))
        elif (read.shape, read.dtype) == (value.shape, value.dtype):
            self.program.updates[read] = value
        else:
            raise self._refused(f"gives {place} another shape or dtype at each call")

    def _hint(self, place: Place) -> str:
        """What to call the data that stands for a place around the function."""
        if isinstance(place, Gradient):
            return f"{self._hint(place.tensor)}_grad"
        if isinstance(place, Argument):
            return argument_names(self.function, self.specialization.structure)[place.number]
        own = self.source.names.get(self.known.get(key_of(place)), "state")  # type: ignore[arg-type]
        if isinstance(place, Known):
            return self._called.get(id(place.object), own)
        return place.key if isinstance(place, Item) and type(place.key) is str else own

    def _unique(self, hint: str) -> str:
        return unique(hint, self.taken)

    # ---- its plan -------------------------------------------------------------------------------

    def _plan(self) -> Plan:
        from wengert.compile.plan.planner import plan  # not needed to import wengert

        machine = backend()
        whole = plan(finish(clean(self.program)), machine)
        for _, step, _ in numbered(whole):
            if not isinstance(step, Call) or machine.runs(step):
                continue
            if step.statement.function is not check:
                raise TracingError(
                    f"{self.name} cannot leave Python: {step.statement.name} has no machine code "
                    "of its own, and is called in Python. Compute that outside, and pass it as an "
                    f"argument.\n{step.statement.line()}"
                )
        return whole

    def is_number(self, value: Value) -> bool:
        """Whether an argument is a number of Python or of NumPy, rather than an array of one."""
        place = self.places[value]
        assert isinstance(place, Argument)
        return isinstance(self.specialization.forms[place.number], type)

    def array(self, value: Value) -> np.ndarray:
        """What is at the place of an input now."""
        return np.array(array_at(self.places[value], ()), value.dtype, order="C")


def _copy(program: Program) -> Program:
    copy = Program()
    copy.inputs, copy.names = list(program.inputs), dict(program.names)
    copy.constants, copy.statements = dict(program.constants), list(program.statements)
    copy.outputs, copy.updates = list(program.outputs), dict(program.updates)
    return copy


def _names_around(specialization: Specialization) -> dict[int, str]:
    """What the function, modules and dictionaries call the objects that they hold, by id."""
    names: dict[int, str] = {}
    function = specialization.owner.function
    for place, held in ((g.place, g.object) for g in specialization.guards):
        if isinstance(place, Item) and type(place.key) is str:
            names.setdefault(id(held), place.key)
    cells = getattr(function, "__closure__", None) or ()
    for name, cell in zip(function.__code__.co_freevars if cells else (), cells, strict=True):
        names.setdefault(id(cell.cell_contents), name)
    return names


def argument_names(function: Any, structure: Any) -> list[str]:
    """Names for the flattened arguments of a call: those of the parameters, and ways into them."""
    called = function.forward if hasattr(function, "named_parameters") else function
    try:
        parameters = list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):  # a function that C wrote
        parameters = []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    more = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "x")
    _, _, ((_, _, given), (_, keys, by_name)) = structure
    names = named[: len(given)] + [f"{more}_{i}" for i in range(len(given) - len(named))]
    pairs = [*zip(names, given, strict=True), *zip(keys, by_name, strict=True)]
    return [word for name, part in pairs for word in _names(name, part)]


def _names(name: str, part: Any) -> Iterator[str]:
    if part is None:
        yield name
        return
    _, keys, parts = part
    for key, inside in zip(_keys(keys, parts), parts, strict=True):
        yield from _names(f"{name}_{key}", inside)


def _keys(keys: Any, parts: Any) -> Any:
    return keys if type(keys) is tuple else range(len(parts))


_RESERVED = frozenset(
    re.findall(
        r"\w+",
        "auto break case char const continue default do double else enum extern float for goto if "
        "inline int long register restrict return short signed sizeof static struct switch typedef "
        "union unsigned void volatile while bool class new delete template this private public",
    )
)
"""Words of C and C++ that Python leaves free for names."""


def unique(hint: str, taken: set[str]) -> str:
    """A name that C allows, and that is not taken yet."""
    name = re.sub(r"\W|[^\x00-\x7f]", "_", hint)
    if not name or name[0].isdigit() or name in _RESERVED:
        name = f"{name}_" if name and not name[0].isdigit() else f"x{name}"
    number, free = 2, name
    while free in taken:
        number, free = number + 1, f"{name}_{number}"
    taken.add(free)
    return free


# ---- the function of C --------------------------------------------------------------------------


@dataclass
class Exported:
    """A function of C, and the header that declares it."""

    alone: Alone
    outer: Outer
    declared: list[str] = field(default_factory=list)
    """Its parameters as C declares them."""

    def object_file(self) -> bytes:
        return backend().object_file(self.alone.plan, self.outer)


def exported(specialization: Specialization, name: str) -> Exported:
    """The function of C that computes what a specialization does.

    Its parameters are the arguments, numbers by value and arrays by address, and then addresses for
    the results.
    """
    alone = Alone(specialization, name)
    export = Exported(alone, Outer(name, (), (), (), ()))
    parameters: list[Parameter] = []
    sources: dict[Value, Source] = {}
    outputs: list[Source] = []

    def parameter(x: Named, address: bool, const: bool) -> Source:
        value = x.value
        kind = c_type(value.dtype, name)
        if address:
            shape = f"[{']['.join(map(str, value.shape))}]" if value.shape else "one number"
            export.declared.append(f"{'const ' * const}{kind} *{x.name}  /* {shape} */")
        else:
            lies = value.bounds and f"  /* from {value.bounds[0]} to {value.bounds[1]} */"
            export.declared.append(f"{kind} {x.name}{lies or ''}")
        parameters.append(Parameter(value.dtype, address))
        return Given(len(parameters) - 1)

    for x in alone.arguments:
        written = x.value in alone.program.updates
        sources[x.value] = parameter(x, not alone.is_number(x.value), not written)
    for x in alone.results:
        outputs.append(parameter(x, True, False))
    sources |= {v: Data(alone.array(v), x.name) for v, x in alone.data.items()}
    outputs += [Data(np.zeros(x.value.shape, x.value.dtype), x.name) for x in alone.kept]
    inputs = tuple(sources[v] for v in alone.plan.inputs)
    constants = tuple(Data(np.asarray(c)) for c in alone.plan.constants)
    export.outer = Outer(name, tuple(parameters), inputs, tuple(outputs), constants)
    return export


_KINDS = {"f": {4: "float", 8: "double"}, "c": {8: "float _Complex", 16: "double _Complex"}}


def c_type(dtype: np.dtype, name: str) -> str:
    """C's type for the elements of an array."""
    if dtype.kind in "iu":
        return f"{'u' * (dtype.kind == 'u')}int{8 * dtype.itemsize}_t"
    kind = "bool" if dtype.kind == "b" else _KINDS.get(dtype.kind, {}).get(dtype.itemsize)
    if kind is None:
        raise TypeError(
            f"{name} cannot be a function of C: it takes, returns or reads {dtype}, and C has no "
            "such type. Convert outside, and inside begin with x.half() or x.bfloat16() and end "
            "with y.float()."
        )
    return kind


# ---- the header ---------------------------------------------------------------------------------


def header(export: Exported) -> str:
    """The text of a C header that declares a function and its data."""
    alone, name = export.alone, export.outer.name
    about = [f"{name}: {_origin(alone)}, as machine code for this kind of processor.", ""]
    about += ["Arrays are row-major, and what is written overlaps with nothing else. The result is"]
    elsewhere = ", -2 where an int lies elsewhere than said" * any(
        v.bounds is not None for v in alone.plan.inputs
    )
    missing = "-1 where memory was missing" + elsewhere
    about += [f"0; {missing}; or else the number of what did not hold:"]
    codes = failures(alone.plan)
    about += [f"  {n}: {_line(s)}" for n, s in sorted(codes.items())]
    if not codes:
        about[-1] = f"0, or {missing}."
    if alone.fixed:
        about += ["", "It is made for these arguments:", *(f"  {text}" for text in alone.fixed)]
    about += ["", "Link with the mathematics (-lm), and where there is a gemm_ missing, a BLAS."]
    guard = f"WENGERT_{name.upper()}_H"
    lines = ["/* " + "\n   ".join(about).replace("*/", "* /") + "\n*/", "", f"#ifndef {guard}"]
    lines += [f"#define {guard}", "", "#include <stdbool.h>", "#include <stdint.h>", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    shown = [*alone.data.values(), *alone.kept]
    if shown:
        lines += ["/* What it found around it, as that was when this was written. */"]
        lines += [f"extern {_declared(x, name)};" for x in shown] + [""]
    lines += [f"int {name}(" + _parameters(export.declared) + ");", ""]
    lines += ["#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {guard} */", ""]
    return re.sub(r" +$", "", "\n".join(lines), flags=re.M)


def _origin(alone: Alone) -> str:
    function = alone.specialization.owner.function
    code = getattr(inspect.unwrap(function), "__code__", None)
    home = f" of {Path(code.co_filename).name}, line {code.co_firstlineno}" if code else ""
    return f"{getattr(function, '__qualname__', type(function).__name__)}{home}"


def _line(s: Statement) -> str:
    where, _, text = line_of(s.code, s.at).partition("\n")
    file = re.sub(r'"(.*)"', lambda file: Path(file[1]).name, where)
    return f"{file.rstrip(':')}: {text.strip()}"


def _declared(x: Named, name: str) -> str:
    return f"{c_type(x.value.dtype, name)} {x.name}" + "".join(f"[{n}]" for n in x.value.shape)


def _parameters(declared: list[str]) -> str:
    texts = [text.partition("  ") for text in declared]
    commas = ["," * (k + 1 < len(texts)) for k in range(len(texts))]
    return "".join(
        f"\n    {text}{comma}{'  ' if note else ''}{note}"
        for (text, _, note), comma in zip(texts, commas, strict=True)
    ) + ("\n" if texts else "void")


def save(specialization: Specialization, path: Any, name: str | None, with_header: bool) -> None:
    """Write the object file, and the header beside it."""
    path = Path(path)
    cure = "; wengert.onnx.export writes ONNX files, of functions too"
    ending(path, "machine code", (".o", ".obj"), cure if path.suffix == ".onnx" else "")
    function = specialization.owner.function
    own = getattr(function, "__name__", type(function).__name__)
    name = name or (path.stem if own == "<lambda>" else own)
    export = exported(specialization, unique(name, set()))
    with whole(path) as part:
        part.write_bytes(export.object_file())
        if with_header:
            with whole(path.with_suffix(".h")) as declared:
                declared.write_text(header(export), encoding="utf-8")
