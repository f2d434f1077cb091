"""The textbook's traces: what happens, step by step, when a function is differentiated.

`explain(f, *args)` runs f on arrays that write down each step. The list of steps is Wengert's list:
the *forward primal trace*. Pushing a tangent through the same list, from the first step to the
last, gives the *forward tangent trace*; pulling a cotangent back, from the last step to the first,
gives the *reverse adjoint trace*. All numbers come from the table of rules (`rules/rule.py`, `push`
and `pull`), the same that every other way of differentiating reads; the formulas beside them come
from `notation.py`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.arrays.facts import CONSTANT, LIKE
from wengert.arrays.kind import Kind, array_of
from wengert.arrays.methods import ArrayMethods
from wengert.dispatch import each
from wengert.errors import GradError, MissingRuleError
from wengert.explain.explanation import Explanation, Row
from wengert.explain.notation import (
    BAR,
    DOT,
    marked,
    notation,
    number,
    parameters_of,
    subscript,
    variable,
    written,
)
from wengert.explain.slopes import slope
from wengert.history.location import here, line_of
from wengert.rules import RULES
from wengert.rules.indexing import getitem, put, select, slices
from wengert.rules.rule import Rule, pull, push
from wengert.tensor import Tensor, wrap

MAX_STEPS = 2000


def explain(
    f: Callable[..., Any] | str,
    *args: Any,
    wrt: str | int = 0,
    of: int = 0,
    digits: int = 3,
    **named: Any,
) -> Explanation:
    """Run `f` at `args` and show its primal, tangent and adjoint traces.

    `f` is a function of real numbers or arrays, written with operators, NumPy's functions or
    wengert's, that returns one result or a tuple of them; or a formula as text. Arguments may be
    given by name: `explain("x*y", x=2.0, y=3.0)`. Writing y[i] = v is a step: y with v at [i].

    `wrt` names the argument (or gives its position) whose tangent is 1, all others being 0: one
    forward pass gives the derivatives of all results by that argument, a column of the Jacobian.
    `of` is the position of the result whose cotangent is 1: one reverse pass gives the derivatives
    of that result by all arguments, a row of the Jacobian. For an array, 1 means an array of ones.
    `digits` is the number of decimals shown.

    >>> import wengert as wg
    >>> e = wg.explain(lambda a, b: np.log(a) + a * b, 2.0, 5.0)
    >>> print(e)
    f(a, b) at a = 2, b = 5
    <BLANKLINE>
    Forward primal trace                      Forward tangent trace, ∂/∂a
    v₋₁ = a                       = 2         v̇₋₁ = ȧ                                     = 1
    v₀  = b                       = 5         v̇₀  = ḃ                                     = 0
    v₁  = ln v₋₁    = ln 2        = 0.693     v̇₁  = v̇₋₁ / v₋₁            = 1 / 2          = 0.5
    v₂  = v₋₁ × v₀  = 2 × 5       = 10        v̇₂  = v̇₋₁ × v₀ + v̇₀ × v₋₁  = 1 × 5 + 0 × 2  = 5
    v₃  = v₁ + v₂   = 0.693 + 10  = 10.693    v̇₃  = v̇₁ + v̇₂              = 0.5 + 5        = 5.5
    y   = v₃                      = 10.693    ẏ   = v̇₃                                    = 5.5
    <BLANKLINE>
    Reverse adjoint trace of y, from the last step back
    v̄₃  = ȳ                                                 = 1
    v̄₁  = v̄₃ ∂v₃/∂v₁         = v̄₃ × 1          = 1 × 1      = 1
    v̄₂  = v̄₃ ∂v₃/∂v₂         = v̄₃ × 1          = 1 × 1      = 1
    v̄₋₁ = v̄₂ ∂v₂/∂v₋₁        = v̄₂ × v₀         = 1 × 5      = 5
    v̄₀  = v̄₂ ∂v₂/∂v₀         = v̄₂ × v₋₁        = 1 × 2      = 2
    v̄₋₁ = v̄₋₁ + v̄₁ ∂v₁/∂v₋₁  = v̄₋₁ + v̄₁ / v₋₁  = 5 + 1 / 2  = 5.5
    ā   = v̄₋₁                                               = 5.5
    b̄   = v̄₀                                                = 2
    <BLANKLINE>
    ∂y/∂a = 5.5, ∂y/∂b = 2
    >>> e.gradient
    {'a': 5.5, 'b': 2.0}
    """
    if isinstance(f, str):
        from wengert.symbolic.expressions import Expression

        f = Expression(f)
    if named:
        args = _in_order(f, args, named)
    if not args:
        raise TypeError("explain needs the values of f's arguments: explain(f, 2.0, 5.0)")
    names = _argument_names(f, len(args))
    position = _position(wrt, names)
    values = [_real(value, name) for value, name in zip(args, names, strict=True)]
    with np.errstate(all="ignore"):
        trace, returned = _run_on_traced(f, values)
        several = isinstance(returned, (tuple, list))
        outputs = [_output(item) for item in (returned if several else (returned,))]
        if not 0 <= of < len(outputs):
            raise GradError(
                f"of={of} asks for result number {of}, but f returned {len(outputs)}: "
                f"choose from 0 to {len(outputs) - 1}."
            )
        return _explained(trace, names, outputs, position, of, digits, f)


def _run_on_traced(f: Callable[..., Any], values: list[np.ndarray]) -> tuple[Trace, Any]:
    """Run f on arrays that write down; on tensors of them if it asks for what only tensors have."""
    trace = Trace(values)
    try:
        return trace, f(*(Traced(trace, index) for index in trace.inputs))
    except (AttributeError, TypeError, ValueError, MissingRuleError) as error:
        again = Trace(values)
        try:
            return again, f(*(wrap(Traced(again, index)) for index in again.inputs))
        except Exception:
            cause = error.__cause__  # NumPy says less than what it was told
            told = isinstance(cause, TypeError) and str(cause).startswith("explain")
            raise (cause if told else error) from None  # type: ignore[misc]


# ---- recording -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One line of the list: v[index] = rule(call); `sources` are the arguments that vary.

    A source is (argument, place, index): for a function of a list of arrays `place` says which.
    """

    index: int
    rule: Rule
    call: dict[str, Any]
    sources: tuple[tuple[str, int | None, int], ...]


class Trace(Kind):
    """Wengert's list. Arguments are v[1-n] ... v[0], the steps v[1], v[2], ..."""

    def __init__(self, arguments: list[np.ndarray]) -> None:
        n = len(arguments)
        self.inputs = range(1 - n, 1)
        self.values: dict[int, np.ndarray] = dict(zip(self.inputs, arguments, strict=True))
        self.steps: list[Step] = []

    def own(self, function: Any, args: Any, kwargs: Any) -> Any:
        """A function of the table is a step; a comparison or the like is no part of the trace."""
        rule = RULES.get(function)
        if rule is not None:
            return self.record(rule, args, kwargs)
        if function in CONSTANT:
            result = function(*_plain(args), **_plain(kwargs))
            return Traced(self, None, result) if function in LIKE else result
        return super().own(function, args, kwargs)

    def record(self, rule: Rule, args: Any, kwargs: Any) -> Any:
        """Run a function of the table on the values, and write the step down."""
        if len(self.steps) >= MAX_STEPS:
            raise GradError(f"explain: f has more than {MAX_STEPS} steps, too many to read")
        if rule.outputs != 1:
            raise GradError(f"explain: {rule.name.lower()} has several results; a trace has one")
        call = rule.bind(*args, **kwargs)
        sources = tuple(_sources(rule, call))
        call = _plain(call)
        y = _run(rule, call)
        if np.iscomplexobj(y):
            raise GradError("explain works on real numbers, but a step of f is complex")
        index = len(self.steps) + 1
        self.steps.append(Step(index, rule, call, sources))
        self.values[index] = np.asarray(y)
        traced = Traced(self, index)
        x = array_of(args[0]) if args else None
        if rule.view and isinstance(x, Traced) and np.may_share_memory(y, x.value):
            traced.view = View(x, rule, args[1:], kwargs, x.writes)
        return traced

    def otherwise(self, function: Any, args: Any, kwargs: Any) -> Any:
        raise MissingRuleError(
            f"explain: {getattr(function, '__name__', function)} has no derivative rule. "
            "Write f with functions that have one."
        )

    def store(self, function: Any, result: Any, targets: Any, where: Any) -> Any:
        raise GradError(
            f"explain: out=... at\n  {line_of(*here())}\n"
            "A trace follows assignments: write y[...] = np.sin(x), or leave out=... away."
        )

    def alike(self, x: Any, array: Any) -> Any:
        return Traced(self, None, array)


@Trace.means(np.copyto)
def _copyto(trace: Trace, dst: Any, src: Any, casting: Any = None, where: Any = True) -> None:
    dst[...] = src if where is True else np.where(where, src, dst)


_INDEXED = (getitem, select, slices)


@dataclass
class View:
    """What an array of a trace looks into: `rule.function(base, ...)`, as after so many writes."""

    base: Traced
    rule: Rule
    rest: tuple[Any, ...]
    settings: dict[str, Any]
    seen: int


class Traced(ArrayMethods):
    """An array that writes down what is done with it: at present the value v[index] of a trace.

    A write makes a step, whose result the array is from then on, and so is what it looks into.
    Without an index it is a constant, made to be filled.
    """

    kind = property(operator.attrgetter("trace"))

    def __init__(self, trace: Trace, index: int | None, array: Any = None) -> None:
        self.trace = trace
        self.view: View | None = None
        self._index = index
        self._made = array
        self._writes = 0

    @property
    def index(self) -> Any:
        """The step whose result it is, or None; a view of what was written into takes another."""
        view = self.view
        if view is not None and view.seen != view.base.writes:
            now = self.trace.record(view.rule, (view.base, *view.rest), view.settings)
            self._index, view.seen = now.index, view.base.writes
        return self._index

    @property
    def writes(self) -> int:
        """How often it was written into, or what it looks into."""
        return self._writes + (self.view.base.writes if self.view is not None else 0)

    @property
    def value(self) -> np.ndarray:
        index = self.index
        return self._made if index is None else self.trace.values[index]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check_writable()
        self._become(self.trace.record(RULES[put], (self, key, value), {}))

    def _check_writable(self) -> None:
        if not self._writes and self._index in self.trace.inputs:
            raise GradError(
                f"explain: f writes into its argument, at\n  {line_of(*here())}\n"
                "The derivative would be one at another point. Copy it first: x = np.copy(x)."
            )
        view = self.view
        if view is not None and view.rule.function not in _INDEXED:
            name = getattr(view.rule.function, "__name__", "a view")
            raise GradError(
                f"explain: f writes into what {name}() "
                f"returned, a view of another array, at\n  {line_of(*here())}\n"
                "A trace follows writes into x[...] only: write into the array itself, or copy "
                "first, as in np.copy(np.reshape(x, shape))."
            )

    def _become(self, written: Traced) -> None:
        self._index = written.index
        if self.view is None:
            self._writes += 1
        else:
            self.view.base[self.view.rest[0]] = written
            self.view.seen = self.view.base.writes

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError(
            "explain: the numbers of a traced array were asked for, to make a NumPy array or to "
            f"write them into one, at\n  {line_of(*here())}\n"
            "An array that is to be filled is made with np.zeros_like(x); values are joined with "
            "np.stack([...])."
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.value.dtype

    def __repr__(self) -> str:
        return f"{variable(self.index)} = {number(self.value)}"

    def __getitem__(self, index: Any) -> Any:
        return getitem(self, index)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value[()], spec)

    def detach(self) -> np.ndarray:
        """The value, constant from here on."""
        return self.value

    def __float__(self) -> float:
        raise TypeError(
            "explain: float(), or a function of the math module, would cut the trace here. "
            "Use NumPy's function instead: np.sin(x), not math.sin(x). An array that is to be "
            "filled is made with np.zeros_like(x), not np.zeros(n)."
        )

    __int__ = __index__ = __complex__ = item = tolist = __float__

    def __getattr__(self, name: str) -> Any:
        # Tensor's methods: a Tensor can hold any kind of array, also this one.
        if name.startswith("_") or not hasattr(Tensor, name):
            raise AttributeError(f"explain: arrays of a trace have no attribute {name!r}")
        return getattr(wrap(self), name)


def _in_place(name: str) -> Any:
    combine = getattr(ArrayMethods, f"__{name}__")

    def method(self: Traced, other: Any) -> Any:
        """x += y: into an array; of a number it makes another one."""
        result = combine(self, other)
        if not self.ndim or not isinstance(result, Traced):
            return result
        self._check_writable()
        if result.shape != self.shape:
            raise ValueError(f"an array of shape {self.shape} cannot hold one of {result.shape}")
        self._become(result)
        return self

    return method


for _operator in ("add", "sub", "mul", "truediv", "pow"):
    setattr(Traced, f"__i{_operator}__", _in_place(_operator))


def _sources(rule: Rule, call: dict[str, Any]) -> Any:
    for name in rule.reverse:
        value = array_of(call[name])
        if isinstance(value, Traced) and value.index is not None:
            yield name, None, value.index
        elif name == rule.sequence:
            for place, item in enumerate(map(array_of, value)):
                if isinstance(item, Traced) and item.index is not None:
                    yield name, place, item.index


def _output(value: Any) -> Any:
    value = array_of(value)
    if isinstance(value, Traced) and value.index is None:
        return value.value
    if isinstance(value, (Traced, np.ndarray, np.generic, int, float)):
        return value
    raise TypeError(
        f"explain: f returned {value!r}, but a trace ends in a number, an array, or a tuple of "
        "them. Does f lack a return?"
    )


def _plain(value: Any) -> Any:
    """The values in place of what records them."""

    def value_of(x: Any) -> Any:
        x = array_of(x)
        return x.value if isinstance(x, Traced) else x

    return each(value_of, value)


def _run(rule: Rule, call: dict[str, Any]) -> Any:
    if isinstance(rule.function, np.ufunc):
        return rule.function(*call.values())
    positional = [value for name, value in call.items() if name not in rule.defaults]
    settings = {name: value for name, value in call.items() if name in rule.defaults}
    return rule.function(*positional, **settings)


def _real(value: Any, name: str) -> np.ndarray:
    if isinstance(value, Tensor):
        value = value.detach()._array
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"explain: the argument {name} is {value!r}, not a real number or array")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _in_order(f: Any, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments by position, those given by name too."""
    names = parameters_of(f)
    missing = [name for name in names[len(args) :] if name not in named]
    if len(args) + len(named) > len(names) or missing:
        given = [f"{len(args)} by position"] * bool(args) + [f"{name}=..." for name in named]
        raise TypeError(
            f"explain: f takes the arguments {', '.join(names)}, but was given {', '.join(given)}"
        )
    return (*args, *(named[name] for name in names[len(args) :]))


def _argument_names(f: Any, count: int) -> list[str]:
    """The names of f's first arguments; x1, x2, ... where it does not tell."""
    names = parameters_of(f)
    return names[:count] if len(names) >= count else [f"x{i + 1}" for i in range(count)]


def _position(wrt: str | int, names: list[str]) -> int:
    if isinstance(wrt, str) and wrt in names:
        return names.index(wrt)
    if isinstance(wrt, int) and -len(names) <= wrt < len(names):
        return wrt % len(names)
    raise GradError(
        f"wrt={wrt!r} is none of f's arguments: choose from {', '.join(map(repr, names))}."
    )


# ---- the three traces ----------------------------------------------------------------------


def _explained(
    trace: Trace, names: list[str], outputs: list[Any], position: int, of: int, digits: int, f: Any
) -> Explanation:
    labels = _labels(len(outputs), names)
    tangents, tangent_rows = _tangent_trace(trace, names, position, digits)
    adjoints, adjoint_rows = _adjoint_trace(trace, names, outputs, of, labels[of], digits)
    primal_rows = _primal_trace(trace, names, digits)
    for label, output in zip(labels, outputs, strict=True):
        primal_rows.append(Row(label, _name(output, "", digits), "", _item(_plain(output))))
        slope = tangents[output.index] if isinstance(output, Traced) else np.zeros(np.shape(output))
        dotted = _name(output, DOT, digits) if isinstance(output, Traced) else "0"
        tangent_rows.append(Row(marked(label, DOT), dotted, "", _item(slope)))
    gradient = {
        name: _item(adjoints.get(index, np.zeros(trace.values[index].shape)))
        for name, index in zip(names, trace.inputs, strict=True)
    }
    point = (
        f"{n} = {number(trace.values[i], digits)}" for n, i in zip(names, trace.inputs, strict=True)
    )
    title = getattr(f, "text", "")
    return Explanation(
        title=f"f({', '.join(names)})" + (f" = {title}" if title else ""),
        point=", ".join(point),
        primal=primal_rows,
        tangent=tangent_rows,
        adjoint=adjoint_rows,
        wrt=names[position],
        of=labels[of],
        values=tuple(row.value for row in primal_rows[-len(outputs) :]),
        derivatives=tuple(row.value for row in tangent_rows[-len(outputs) :]),
        gradient=gradient,
        digits=digits,
        links=_links(trace, outputs),
        slopes=_slopes(trace, outputs),
    )


def _links(trace: Trace, outputs: list[Any]) -> list[tuple[int, ...]]:
    first = trace.inputs[0] if trace.inputs else 1
    links: list[tuple[int, ...]] = [() for _ in trace.inputs]
    links += [tuple(index - first for _, _, index in step.sources) for step in trace.steps]
    return links + [
        (output.index - first,) if isinstance(output, Traced) else () for output in outputs
    ]


def _slopes(trace: Trace, outputs: list[Any]) -> list[tuple[float | None, ...]]:
    """For each link the derivative of the one line by the other, if both are numbers."""
    lines: list[tuple[float | None, ...]] = [() for _ in trace.inputs]
    lines += [tuple(_slope(trace, step, source) for source in step.sources) for step in trace.steps]
    ends = (isinstance(output, Traced) for output in outputs)
    return lines + [(1.0,) if traced else () for traced in ends]


def _slope(trace: Trace, step: Step, source: tuple[str, int | None, int]) -> float | None:
    x, y = trace.values[source[2]], trace.values[step.index]
    return None if x.ndim or y.ndim else float(_pushed(step, source, np.ones(()), y))


def _labels(count: int, names: list[str]) -> list[str]:
    """The results' names: y, or y₁, y₂, ...; another letter if an argument begins with this one."""
    taken = {name[0] for name in names}
    letter = next(c for c in "yfzuwpqrst" if c not in taken or c == "t")
    return [letter] if count == 1 else [f"{letter}{subscript(k + 1)}" for k in range(count)]


def _primal_trace(trace: Trace, names: list[str], digits: int) -> list[Row]:
    rows = [
        Row(variable(i), name, "", _item(trace.values[i]))
        for i, name in zip(trace.inputs, names, strict=True)
    ]
    for step in trace.steps:
        symbols, numbers = _names(trace, step, digits)
        formula, shown = (_step_text(step, given) for given in (symbols, numbers))
        rows.append(Row(variable(step.index), formula, shown, _item(trace.values[step.index])))
    return rows


def _tangent_trace(
    trace: Trace, names: list[str], position: int, digits: int
) -> tuple[dict[int, Any], list[Row]]:
    """Each step pushes its arguments' tangents forward, and adds what they become."""
    tangents, rows = {}, []
    for k, (i, name) in enumerate(zip(trace.inputs, names, strict=True)):
        tangents[i] = np.full(trace.values[i].shape, 1.0 if k == position else 0.0)
        rows.append(Row(variable(i, DOT), marked(name, DOT), "", _item(tangents[i])))
    for step in trace.steps:
        symbols, numbers = _names(trace, step, digits)
        y = trace.values[step.index]
        total: Any = np.zeros(y.shape)
        formula, shown = "", ""
        for source in step.sources:
            _, _, index = source
            t = tangents[index]
            total = total + _pushed(step, source, t, y)
            formula = _sum(
                formula, _slope_text(step, source, {**symbols, "t": variable(index, DOT)}, True)
            )
            shown = _sum(
                shown, _slope_text(step, source, {**numbers, "t": number(t, digits)}, True)
            )
        tangents[step.index] = total
        rows.append(Row(variable(step.index, DOT), formula, shown, _item(total)))
    return tangents, rows


def _adjoint_trace(
    trace: Trace, names: list[str], outputs: list[Any], of: int, label: str, digits: int
) -> tuple[dict[int, Any], list[Row]]:
    """Each step, the last first, pulls its cotangent back; where paths meet, they add."""
    output = outputs[of]
    if not isinstance(output, Traced):
        return {}, [
            Row(marked(name, BAR), "0", "", _item(np.zeros(trace.values[i].shape)))
            for i, name in zip(trace.inputs, names, strict=True)
        ]
    adjoints = {output.index: np.ones(output.shape)}
    first, last = trace.inputs[0], len(trace.values) + of
    start = variable(output.index, BAR), marked(label, BAR), "", _item(adjoints[output.index])
    rows = [Row(*start, edge=(output.index - first, last))]
    for step in reversed(trace.steps):
        g = adjoints.get(step.index)
        if g is None:
            continue  # nothing that y depends on
        symbols, numbers = _names(trace, step, digits)
        y, me = trace.values[step.index], variable(step.index)
        for source in step.sources:
            index = source[2]
            before = adjoints.get(index)
            mine = variable(index, BAR)
            chain = f"{variable(step.index, BAR)} ∂{me}/∂{variable(index)}"
            formula = _slope_text(step, source, {**symbols, "t": variable(step.index, BAR)}, False)
            shown = _slope_text(step, source, {**numbers, "t": number(g, digits)}, False)
            part = _pulled(step, source, g, y)
            if before is not None:
                chain, formula = _sum(mine, chain), _sum(mine, formula)
                shown = _sum(number(before, digits), shown)
            adjoints[index] = part if before is None else before + part
            edge = index - first, step.index - first
            rows.append(Row(mine, formula, shown, _item(adjoints[index]), chain, edge))
    for i, name in zip(trace.inputs, names, strict=True):
        value = adjoints.get(i, np.zeros(trace.values[i].shape))
        formula = variable(i, BAR) if i in adjoints else "0"
        rows.append(Row(marked(name, BAR), formula, "", _item(value)))
    return adjoints, rows


def _pushed(step: Step, source: tuple[str, int | None, int], t: Any, y: Any) -> Any:
    name, place, _ = source
    if place is not None:  # one array of a list: the others stay, so their tangents are zero
        t = [t if k == place else np.zeros_like(v) for k, v in enumerate(step.call[name])]
    return push(step.rule, name, t, step.call, y)


def _pulled(step: Step, source: tuple[str, int | None, int], g: Any, y: Any) -> Any:
    name, place, _ = source
    cotangent = pull(step.rule, name, g, step.call, y)
    return np.asarray(cotangent if place is None else cotangent[place])


# ---- formulas ------------------------------------------------------------------------------


def _names(trace: Trace, step: Step, digits: int) -> tuple[dict[str, str], dict[str, str]]:
    """What stands for each argument of a step: in formulas, and in numbers."""
    symbols = {"y": variable(step.index)}
    numbers = {"y": number(trace.values[step.index], digits)}
    for name, value in step.call.items():
        symbols[name] = numbers[name] = _constant(value, digits)
    for name, place, index in step.sources:
        if place is None:
            symbols[name] = variable(index)
    if step.rule.sequence is not None:
        name = step.rule.sequence
        places = {place: index for _, place, index in step.sources}
        items = [
            variable(places[k]) if k in places else _constant(v, digits)
            for k, v in enumerate(step.call[name])
        ]
        symbols[name] = f"[{', '.join(items)}]"
    return symbols, numbers


def _constant(value: Any, digits: int) -> str:
    if isinstance(value, (bool, str, type(None), type(Ellipsis), slice, tuple)):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(_constant(v, digits) for v in value)}]"
    return value.name if isinstance(value, np.dtype) else number(value, digits)


def _step_text(step: Step, given: dict[str, str]) -> str:
    known = notation(step.rule)
    if known is not None and not _settings(step):
        return written(known.step, step.call, given)
    arguments = [given[name] for name in step.call if name not in step.rule.defaults]
    return f"{_function_name(step.rule)}({', '.join(arguments + _settings(step))})"


def _settings(step: Step) -> list[str]:
    """Keyword arguments that differ from their defaults: axis=0."""
    defaults = step.rule.defaults
    changed = [n for n, v in step.call.items() if n in defaults and not _same(v, defaults[n])]
    return [f"{name}={step.call[name]}" for name in changed]


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and a == b)


def _slope_text(
    step: Step, source: tuple[str, int | None, int], given: dict[str, str], forward: bool
) -> str:
    """One argument's share in a derivative; in reverse, a factor 1 or -1 is written out."""
    name, place, index = source
    known = notation(step.rule)
    template: Any = None
    if known is not None:
        template = known.pushes.get(name) if forward else None
        template = template or known.slopes.get(name)
    template = template or slope(step.rule, name)
    if template is not None and not _settings(step):
        if not forward and template in ("{t}", "-{t}"):
            template = "{t} × 1" if template == "{t}" else "{t} × (-1)"
        if forward and step.rule.family == "linear" and name not in step.rule.forward:
            return _step_text(step, {**given, name: given["t"]})
        return written(template, step.call, given)
    if step.rule.family == "linear" and place is None:
        if not forward:
            return f"{_function_name(step.rule)}ᵀ({given['t']})"
        if name not in step.rule.forward:  # it does to the tangent what it does to the value
            return _step_text(step, {**given, name: given["t"]})
    return f"{given['t']} × ∂{variable(step.index)}/∂{variable(index)}"


def _function_name(rule: Rule) -> str:
    return getattr(rule.function, "__name__", rule.name.lower())


def _sum(total: str, term: str) -> str:
    if not total:
        return term
    return f"{total} - {term[1:]}" if term.startswith("-") else f"{total} + {term}"


def _name(output: Any, mark: str, digits: int) -> str:
    return variable(output.index, mark) if isinstance(output, Traced) else _constant(output, digits)


def _item(value: Any) -> Any:
    value = np.asarray(value, dtype=np.float64)
    return value if value.ndim else float(value)


# ---- layout --------------------------------------------------------------------------------
