"""The table of derivatives: what a rule is, and the three families that write one down.

A rule states a function's derivative once. The first parameter of each lambda is the tangent or
cotangent; the other names say what the rule needs, and nothing else is kept alive for it:

    y                        the function's output
    x, a, b, axis, ...       an argument of the function, by its name
    a_shape, a_dtype         only the shape or dtype of that argument

Rules are written with NumPy functions that have rules themselves, so they run on any kind of array:
on plain arrays they give numbers, on Tensors a recorded computation, and so on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wengert.dispatch import Function, signature

Family = Literal["elementwise", "linear", "general"]
Lambda = Callable[..., Any]


@dataclass(frozen=True, eq=False, slots=True)
class Rule:
    """One function's derivative. `reverse` and `forward` map argument names to lambdas."""

    function: Function
    name: str
    family: Family
    arguments: tuple[str, ...]
    defaults: dict[str, Any]
    reverse: dict[str, Lambda]
    forward: dict[str, Lambda]
    view: bool = False
    sequence: str | None = None
    outputs: int | None = 1

    def __str__(self) -> str:
        return self.name

    @property
    def differentiable(self) -> tuple[str, ...]:
        return tuple(self.reverse)

    def bind(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The call's arguments by name, defaults filled in."""
        if len(args) > len(self.arguments):
            raise TypeError(
                f"{self.name.lower()} takes {len(self.arguments)} arguments, got {len(args)}"
            )
        call = dict(self.defaults)
        call.update(zip(self.arguments, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.arguments:
                raise TypeError(
                    f"{self.name.lower()}() on a Tensor does not take the argument {name}={value!r}. "
                    f"It takes {', '.join(self.arguments)}; for anything else call it on "
                    "x.detach().numpy()."
                )
            call[name] = value
        return call


RULES: dict[Function, Rule] = {}


def parameters(rule: Lambda) -> tuple[str, ...]:
    """The names of a lambda's parameters after the first, the (co)tangent."""
    return tuple(inspect.signature(rule).parameters)[1:]


# Arguments of NumPy functions that concern where a result goes, not what it is.
_MECHANICS = {"out", "where", "initial", "order", "subok", "like", "casting", "dtype", "copy", "mode"}


def _register(
    function: Function,
    family: Family,
    reverse: dict[str, Lambda],
    forward: dict[str, Lambda],
    arguments: Iterable[str] | None = None,
    name: str | None = None,
    **options: Any,
) -> None:
    names, defaults = signature(function)
    if arguments is None:
        named = {p for rule in (*reverse.values(), *forward.values()) for p in parameters(rule)}
        arguments = [n for n in names if n not in _MECHANICS or n in named]
    arguments = tuple(arguments)
    defaults = {n: _plain_default(defaults[n]) for n in arguments if n in defaults}
    RULES[function] = Rule(
        function, name or _node_name(function), family, arguments, defaults, reverse, forward, **options
    )


def _plain_default(value: Any) -> Any:
    """NumPy marks "not given" by a private object; for `keepdims` that means False."""
    return False if value is np._NoValue else value  # type: ignore[attr-defined]


def _node_name(function: Function) -> str:
    return "".join(part.capitalize() for part in function.__name__.split("_"))


def elementwise(
    function: Function, *rules: Lambda, arguments: Iterable[str] | None = None, name: str | None = None
) -> None:
    """Register `y[i] = function(x[i], ...)`: one lambda per argument, `(t, ...) -> t * dy/dx`.

    The Jacobian is diagonal, so the same lambda pushes a tangent forward and pulls a cotangent
    back. For complex arrays the family conjugates: `conj(rule(conj(g)))`; rules contain no `conj`.
    It also sums a cotangent back to the shape of an argument that was broadcast.
    """
    names = tuple(arguments or signature(function)[0])
    by_name = dict(zip(names[: len(rules)], rules, strict=True))
    _register(function, "elementwise", by_name, by_name, names, name)


def linear(function: Function, *rules: Lambda, **options: Any) -> None:
    """Register a function that is linear in each argument that has a lambda: the transposes.

    Forward mode applies the function itself to the tangent, so only the transpose is stated:
    `(g, ...) -> transpose(g)`, for complex arrays without conjugation, which the family adds.
    """
    names = tuple(options.get("arguments") or signature(function)[0])
    reverse = {n: rule for n, rule in zip(names, rules, strict=False) if rule is not None}
    _register(function, "linear", reverse, {}, **options)


def general(
    function: Function, *, reverse: dict[str, Lambda], forward: dict[str, Lambda], **options: Any
) -> None:
    """Register a function by both directions, each a lambda per differentiable argument."""
    assert reverse.keys() == forward.keys()
    _register(function, "general", reverse, forward, **options)


def unbroadcast(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum `g` over the dimensions along which an array of `shape` was repeated to give `g`.

    >>> unbroadcast(np.ones((3, 2)), (1, 2))
    array([[3., 3.]])
    """
    if g.shape == shape:
        return g
    extra = len(g.shape) - len(shape)
    if extra == 1 and type(g) is np.ndarray:
        g = np.add.reduce(g, 0)  # a bias, say: np.sum would take thrice as long on few numbers
        if g.shape == shape:
            return g
    elif extra > 0:
        g = np.sum(g, axis=tuple(range(extra)))
    repeated = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return np.sum(g, axis=repeated, keepdims=True) if repeated else g


# ---- the rules, read literally -------------------------------------------------------------
#
# `push` and `pull` apply a rule to values at hand. The eager engine compiles the same reading to
# straight-line code (`autograd/record.py`); these are its specification, and what the textbook
# traces and the tests of the table use.


def _wanted(rule: Lambda, call: dict[str, Any], y: Any) -> list[Any]:
    values = []
    for name in parameters(rule):
        if name == "y":
            values.append(y)
        elif name in call:
            values.append(call[name])
        else:
            base, _, attribute = name.rpartition("_")
            value = call[base]
            if isinstance(value, (list, tuple)):
                values.append([getattr(np.asarray(v), attribute) for v in value])
            else:
                values.append(getattr(value if hasattr(value, attribute) else np.asarray(value), attribute))
    return values


def names_values(rule: Rule, wanted: Lambda) -> bool:
    """Whether a lambda reads the values of arrays (only then does conjugation matter)."""
    arrays = {*rule.reverse, "y", rule.sequence}
    return any(name in arrays for name in parameters(wanted))


def pull(rule: Rule, argument: str, g: Any, call: dict[str, Any], y: Any) -> Any:
    """The cotangent of one argument, from the cotangent `g` of the output."""
    transpose = rule.reverse[argument]
    values = _wanted(transpose, call, y)
    conjugate = rule.family != "general" and names_values(rule, transpose)
    if conjugate and np.iscomplexobj(g):
        result = np.conj(transpose(np.conj(g), *values))
    else:
        result = transpose(g, *values)
    return unbroadcast(result, np.shape(call[argument])) if rule.family == "elementwise" else result


def push(rule: Rule, argument: str, t: Any, call: dict[str, Any], y: Any) -> Any:
    """The tangent of the output, from the tangent `t` of one argument."""
    if rule.family == "linear":
        return rule.function(**{**call, argument: t}) if not isinstance(rule.function, np.ufunc) else (
            rule.function(*{**call, argument: t}.values())
        )
    result = rule.forward[argument](t, *_wanted(rule.forward[argument], call, y))
    if rule.family == "elementwise":
        return np.broadcast_to(result, np.shape(y))
    return result
