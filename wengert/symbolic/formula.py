"""Symbolic differentiation: formulas of functions, their derivatives by the table of rules, sizes.

A function of NumPy code, or of Tensors, that is run on symbols gives its formula; a derivative
rule that is run on formulas gives the formula of the derivative. Printing for people and LaTeX are
done here; simplification is SymPy's (`pip install "wengert[symbolic]"`).

    f = formula(lambda x1, x2: np.log(x1) + x1 * x2 - np.sin(x2))
    f.derivative("x1")          # 1/x1 + x2

Source of the method and of its trouble, expression swell: A. G. Baydin, B. A. Pearlmutter, A. A.
Radul, J. M. Siskind, "Automatic differentiation in machine learning: a survey" (2018), section 2.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.arrays.facts import CONSTANT
from wengert.arrays.symbolic import formulas, terms
from wengert.arrays.symbolic.array import SymbolicArray, symbols
from wengert.arrays.symbolic.terms import Term
from wengert.errors import TracingError
from wengert.rules.rule import RULES, push
from wengert.symbolic.expressions import Expression
from wengert.tensor import Tensor, wrap

Function = Callable[..., Any]


class Formula:
    """A number as a formula of named variables.

    Printed as Python text; `_repr_latex_` shows it typeset in notebooks. Call it with numbers or
    arrays for its variables, in order or by name.

    >>> f = formula(lambda x: 4 * x * (1 - x))
    >>> f
    4*x*(1 - x)
    >>> f.derivative()
    4*(1 - x) - 4*x
    >>> f(x=0.25), f.size, f.variables
    (0.75, 3, ('x',))
    """

    def __init__(self, root: Term, variables: Iterable[str]) -> None:
        self.root = root
        self.variables = tuple(variables)

    def __repr__(self) -> str:
        return formulas.text(self.root)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Formula) and self.root is other.root

    def __hash__(self) -> int:
        return hash(self.root)

    def latex(self) -> str:
        """The formula in LaTeX's mathematics."""
        return formulas.latex(self.root)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def __call__(self, *numbers: Any, **values: Any) -> Any:
        """The formula's value, of its variables in order or by name; arrays element by element."""
        if len(numbers) > len(self.variables):
            raise TypeError(
                f"the formula's variables are {', '.join(self.variables)}: {len(numbers)} numbers "
                "were given"
            )
        values = {**dict(zip(self.variables, numbers, strict=False)), **values}
        known = {a.value for a in terms.ordered([self.root]) if a.is_symbol}
        missing = sorted(known - values.keys())
        unknown = sorted(values.keys() - known - set(self.variables))
        if missing or unknown:
            trouble = f"no value for {', '.join(missing)}" if missing else f"unknown {unknown[0]}"
            raise TypeError(f"the formula's variables are {', '.join(self.variables)}: {trouble}")
        (value,) = terms.evaluated([self.root], values)
        is_number = isinstance(value, (np.generic, np.ndarray)) and not value.ndim
        return value.item() if is_number else value

    @property
    def size(self) -> int:
        """How many operations stand in the formula written out."""
        return terms.written_size(self.root)

    @property
    def shared_size(self) -> int:
        """How many operations there are when equal parts are computed once."""
        return terms.shared_size([self.root])

    def derivative(self, variable: str | None = None) -> Formula:
        """The formula's derivative, not simplified; the name may be left out if there is one."""
        if variable is None:
            if len(self.variables) != 1:
                raise TypeError(
                    f"the formula has the variables {', '.join(self.variables) or 'none'}: say by "
                    "which to differentiate, as in derivative('x')"
                )
            (variable,) = self.variables
        if variable not in self.variables:
            raise ValueError(
                f"{variable!r} is no variable of the formula; those are {', '.join(self.variables)}"
            )
        return Formula(_derivative(self.root, terms.symbol(variable)), self.variables)

    def gradient(self) -> dict[str, Formula]:
        """The derivatives by all variables."""
        return {name: self.derivative(name) for name in self.variables}

    def sympy(self) -> Any:
        """The formula as an expression of SymPy."""
        _sympy()
        return formulas.to_sympy(self.root)

    def simplified(self) -> Any:
        """What SymPy makes of it: an expression of SymPy."""
        return _sympy().simplify(self.sympy())


def formula(f: Function | str, **shapes: tuple[int, ...]) -> Any:
    """What `f` computes, as a `Formula` of its parameters; arrays of them where it returns arrays.

    `f` is a function, written with NumPy's functions or with tensors', or a formula as text.
    Parameters are numbers named as in `f`, or arrays of the shapes given by keyword, whose elements
    are called x_0, x_1, ...

    Errors: TracingError where `f` needs numbers (a branch, a sort), with the line.

    >>> formula(lambda w, x: np.tanh(w @ x), w=(2,), x=(2,))
    tanh(w_0*x_0 + w_1*x_1)
    """
    if isinstance(f, str):
        f = Expression(f)
    known = getattr(f, "variables", None) or inspect.signature(f).parameters
    parameters = list(known)
    unknown = sorted(shapes.keys() - set(parameters))
    if unknown:
        raise TypeError(
            f"the function has no parameter {unknown[0]}; those are {', '.join(parameters)}"
        )
    arguments = [symbols(name, shapes.get(name, ())) for name in parameters]
    names = [term.value for x in arguments for term in x.cells.ravel()]
    try:
        return _formulas(_run(f, arguments), names)
    except (ValueError, IndexError) as error:
        if numbers := [name for name in parameters if not shapes.get(name)]:
            error.add_note(
                f"{', '.join(numbers)}: a number, since no shape was given. An array of three "
                f"would be formula(f, {numbers[0]}=(3,))."
            )
        raise


def _run(f: Function, arguments: list[SymbolicArray]) -> Any:
    """Run on arrays of symbols; on tensors of them if the function asks for tensors' methods."""
    try:
        return f(*arguments)
    except (AttributeError, TypeError):
        return f(*map(wrap, arguments))


def _formulas(item: Any, names: list[str]) -> Any:
    if isinstance(item, Tensor):
        item = item._array
    if isinstance(item, SymbolicArray):
        if not item.ndim:
            return Formula(item.item(), names)
        formulas: Any = np.empty(item.shape, object)
        cells: Any = item.cells
        for index in np.ndindex(*item.shape):
            formulas[index] = Formula(cells[index], names)
        return formulas
    if isinstance(item, (tuple, list)):
        return type(item)(_formulas(part, names) for part in item)
    if isinstance(item, dict):
        return {key: _formulas(part, names) for key, part in item.items()}
    if isinstance(item, (int, float, np.number)):
        return Formula(terms.term(item), names)
    raise TracingError(
        f"the function returned {type(item).__name__}, which is no formula of its arguments"
    )


# ---- derivatives by the table ------------------------------------------------------------------


def _derivative(root: Term, by: Term) -> Term:
    """The chain rule over the parts of a formula: what is pushed forward are formulas."""
    tangents: dict[Term, SymbolicArray | None] = {}
    for a in terms.ordered([root]):
        if a.function is None:
            tangents[a] = _array(terms.term(1)) if a is by else None
        else:
            tangents[a] = _pushed(a, [tangents[part] for part in a.args])
    tangent = tangents[root]
    return terms.term(0) if tangent is None else tangent.item()


def _pushed(a: Term, parts: list[SymbolicArray | None]) -> SymbolicArray | None:
    if all(t is None for t in parts):
        return None
    rule = RULES.get(a.function)  # type: ignore[arg-type]
    if rule is None:
        if a.function in CONSTANT:
            return None
        raise TracingError(
            f"{formulas.name_of(a.function)} has no rule, so no derivative of the formula is known"  # type: ignore[arg-type]
        )
    call = dict(zip(rule.arguments, map(_array, a.args), strict=False))
    call = rule.defaults | call
    total = None
    for name, t in zip(rule.arguments, parts, strict=False):
        if t is None or name not in rule.differentiable:
            continue
        share = push(rule, name, t, call, _array(a))
        total = share if total is None else total + share
    return total


def _array(a: Term) -> SymbolicArray:
    cell = np.empty((), object)
    cell[()] = a
    return SymbolicArray(cell)


# ---- expression swell --------------------------------------------------------------------------


@dataclass(frozen=True)
class Swell:
    """One row of the table: a formula after n steps, its derivative, and their operations."""

    n: int
    formula: Formula
    derivative: Formula
    simplified: Any
    size: int  # of the formula
    derivative_size: int  # of the derivative, as the product rule gives it
    simplified_size: int | None  # of the simplified one, if that was asked for
    shared_size: int  # of the derivative, equal parts computed once
    forward_mode: int  # of formula and derivative together, in one pass of forward mode


class Swelling(list[Swell]):
    """The rows of `swell`, printed as a table of sizes."""

    def __repr__(self) -> str:
        heads = ("n", "formula", "derivative", "simplified", "shared", "forward mode")
        lines: list[tuple[Any, ...]] = [heads]
        for r in self:
            sizes = (r.size, r.derivative_size, r.simplified_size, r.shared_size)
            lines.append((r.n, *sizes, r.forward_mode))
        return "\n".join(
            "  ".join(
                f"{'' if cell is None else cell:>{len(head)}}"
                for cell, head in zip(line, heads, strict=True)
            )
            for line in lines
        )


def swell(step: Function, n: int, simplify: int = 4) -> Swelling:
    """How formulas grow when a step is repeated: l_1 = x, l_{k+1} = step(l_k), for k up to n.

    The first `simplify` derivatives are also simplified by SymPy, which takes longer and longer.
    The formula of the derivative more than doubles with each step, while automatic differentiation,
    which works on numbers, adds a constant number of operations.

    >>> swell(lambda l: 4 * l * (1 - l), 4)
    n  formula  derivative  simplified  shared  forward mode
    1        0           0           0       0             0
    2        3           4           3       4             6
    3        9          20           9      11            12
    4       21          64          21      18            18
    """
    x = symbols("x")
    value: Any = x
    rows = Swelling()
    operations = 0
    for k in range(1, n + 1):
        if k > 1:
            value = step(value)
            operations += _operations(step)
        f = Formula(value.item(), ["x"])
        d = f.derivative()
        simple = _simplified(d) if k <= simplify else None
        size = None if simple is None else int(simple.count_ops())
        rows.append(Swell(k, f, d, simple, f.size, d.size, size, d.shared_size, operations))
    return rows


def _operations(step: Function) -> int:
    """The operations of one step and of its tangent, on numbers: formula and derivative apart."""
    x = symbols("l")
    y = step(x).item()
    t = terms.symbol("t")
    slope = _derivative(y, x.item())
    return terms.shared_size([y, terms.apply(np.multiply, slope, t)])


def _simplified(d: Formula) -> Any:
    sympy = _sympy()
    return sympy.factor_terms(sympy.expand(d.sympy()))


def _sympy() -> Any:
    try:
        import sympy

        return sympy
    except ImportError:
        raise ImportError(
            'this needs SymPy, which simplifies formulas: pip install "wengert[symbolic]"'
        ) from None
