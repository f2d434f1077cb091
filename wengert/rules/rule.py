"""The table of derivatives: what a rule is, and the three families that write one down.

A rule states a function's derivative once. The first parameter of each lambda is the tangent or
cotangent; the other names say what the rule needs, and nothing else is kept alive for it:

    y                        the function's output
    x, a, b, axis, ...       an argument of the function, by its name
    a_shape, a_dtype         only the shape or dtype of that argument

What has parameters of these names is a rule as it is: a function's transpose, say.

Rules are written with NumPy functions that have rules themselves, so they run on any kind of array:
on plain arrays they give numbers, on Tensors a recorded computation, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from wengert.dispatch import Function, signature
from wengert.errors import MissingRuleError

Family = Literal["elementwise", "linear", "general"]
Lambda = Callable[..., Any]


@dataclass(frozen=True, eq=False, slots=True)
class Rule:
    """One function's derivative. `reverse` and `forward` map argument names to lambdas."""

    function: Function
    name: str  # of the nodes that it makes
    family: Family  # how the derivative is stated: elementwise, linear or general
    arguments: tuple[str, ...]  # the names of the function's arguments, in order
    defaults: dict[str, Any]  # values of arguments that need not be given
    reverse: dict[str, Lambda]
    forward: dict[str, Lambda]
    view: bool = False  # whether the result shares the memory of its first argument
    sequence: str | None = None  # the argument that is a list of tensors, if one is
    outputs: int | None = 1  # how many results there are; None: as many as the call says
    promotes: bool = True  # tensors of several dtypes are cast to one; else they are refused
    casts: bool = False  # its result may be an integer one, which is outside the graph
    constants: tuple[str, ...] = ()  # other arguments that may be tensors: indices, conditions
    unstated: tuple[str, ...] = ()  # those of them that nothing was said about
    together: Lambda | None = None  # all of `reverse` in one lambda, for large arrays
    formulas: bool = False  # elementwise throughout, so that a block of numbers may stand for all
    names: tuple[str, ...] = ()  # PyTorch's, of the function and the method
    inplace: bool = False  # whether those have an in-place form
    tensors: int | None = None  # so many arguments are tensors and no numbers; None: any may be
    boxes: bool = False  # a number beside a tensor is one, too, with a place in the graph
    ordered: bool = False  # whether it looks for the larger number: complex ones have no order
    doc: str = ""  # what the function under those names says of itself
    axes: tuple[str, ...] | None = None  # arguments that count dimensions, none if empty
    shape: str | None = None  # the argument that is the shape of the result
    parts: dict[str, tuple[str, ...]] = field(default_factory=dict)  # what arguments consist of

    def __str__(self) -> str:
        return self.name

    @property
    def differentiable(self) -> tuple[str, ...]:
        return tuple(self.reverse)

    def bind(self, /, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The call's arguments by name, in the function's order, defaults filled in."""
        if len(args) > len(self.arguments):
            raise TypeError(
                f"{self.name.lower()} takes {len(self.arguments)} arguments, got {len(args)}"
            )
        call = dict(self.defaults)
        call.update(zip(self.arguments, args, strict=False))
        for name, value in kwargs.items():
            if name in self.arguments[: len(args)]:
                raise TypeError(f"{self.name.lower()}() got multiple values for argument {name!r}")
            if name not in self.arguments:
                raise TypeError(
                    f"{self.name.lower()}() on a Tensor does not take the argument "
                    f"{name}={value!r}. It takes {', '.join(self.arguments)}; for anything else "
                    "call it on x.detach().numpy()."
                )
            call[name] = value
        missing = [name for name in self.arguments if name not in call]
        if missing:
            raise TypeError(f"{self.name.lower()}() is missing the argument {missing[0]}")
        return {name: call[name] for name in self.arguments}

    @property
    def positional(self) -> list[str]:
        """The arguments without a default, which are given by position; others by name."""
        every = isinstance(self.function, np.ufunc)
        return [n for n in self.arguments if every or n not in self.defaults]

    def apply(self, call: dict[str, Any]) -> Any:
        """The function of its arguments, given by name."""
        by_position = self.positional
        settings = {n: call[n] for n in self.arguments if n not in by_position and n in call}
        return self.function(*(call[n] for n in by_position), **settings)


RULES: dict[Function, Rule] = {}


def parameters(rule: Lambda) -> tuple[str, ...]:
    """The names of a lambda's parameters after the first, the (co)tangent."""
    return signature(rule)[0][1:]


# Arguments of NumPy functions that concern where a result goes, not what it is.
_MECHANICS = {
    "out",
    "where",
    "initial",
    "order",
    "subok",
    "like",
    "casting",
    "dtype",
    "copy",
    "mode",
}


def register(
    function: Function,
    family: Family,
    reverse: dict[str, Lambda],
    forward: dict[str, Lambda],
    arguments: Iterable[str] | None = None,
    name: str | None = None,
    names: str = "",
    **options: Any,
) -> None:
    """Put a rule in the table; the families below say what its parts are.

    `axes` names the arguments that count dimensions (none, if the function does so from the back):
    then all examples of a batch are one call, with axes one further, and with the batch in front of
    the argument that is the `shape` of the result. `names`, separated by spaces, are PyTorch's: of
    the function, of the method, and, if it is `inplace`, of their in-place forms; `doc` is what
    they say of themselves.
    """
    own, defaults = signature(function)
    if arguments is None:
        named = {p for rule in (*reverse.values(), *forward.values()) for p in parameters(rule)}
        arguments = [n for n in own if n not in _MECHANICS or n in named]
    arguments = tuple(arguments)
    defaults = {n: _plain_default(n, defaults[n]) for n in arguments if n in defaults}
    public = tuple(names.split())
    rule = RULES[function] = Rule(
        function,
        name or _node_name(public[0] if public else function.__name__),
        family,
        arguments,
        defaults,
        reverse,
        forward,
        names=public,
        **options,
    )
    try:
        for publish in PUBLISHERS if public else ():
            publish(rule)
    except ValueError:  # a name is taken: then there is no such rule
        del RULES[function]
        raise


PUBLISHERS: list[Callable[[Rule], None]] = []
"""What gives a rule's function the names that it states; filled from above, by `functions/`."""


def _plain_default(name: str, value: Any) -> Any:
    """NumPy marks "not given" by a private object; for `keepdims` that means False, else None."""
    if value is not np._NoValue:
        return value
    return False if name == "keepdims" else None


def _node_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def elementwise(
    function: Function,
    *rules: Lambda,
    arguments: Iterable[str] | None = None,
    inplace: bool = True,
    **options: Any,
) -> None:
    """Register `y[i] = function(x[i], ...)`: one lambda per argument, `(t, ...) -> t * dy/dx`.

    The Jacobian is diagonal, so the same lambda pushes a tangent forward and pulls a cotangent
    back. For complex arrays the family conjugates: `conj(rule(conj(g)))`; rules contain no `conj`.
    It also sums a cotangent back to the shape of an argument that was broadcast.
    """
    names = tuple(arguments or signature(function)[0])
    by_name = dict(zip(names[: len(rules)], rules, strict=True))
    options |= {"formulas": True, "inplace": inplace}
    register(function, "elementwise", by_name, by_name, names, **options)


def linear(
    function: Function,
    *rules: Lambda | None,
    forward: dict[str, Lambda] | None = None,
    **options: Any,
) -> None:
    """Register a function that is linear in each argument that has a lambda: the transposes.

    Forward mode applies the function itself to the tangent, so only the transpose is stated:
    `(g, ...) -> transpose(g)`, for complex arrays without conjugation, which the family adds.
    Where the other arguments contribute a sum (`where`, a bias), the function is only affine in
    this one, and `forward` states what is linear in it.
    """
    names = tuple(options.get("arguments") or signature(function)[0])
    reverse = {n: rule for n, rule in zip(names, rules, strict=False) if rule is not None}
    register(function, "linear", reverse, forward or {}, **options)


def transposed(
    function: Function, back: Function, name: str | None = None, back_name: str | None = None,
    view: bool = False, **options: Any,
) -> None:  # fmt: skip
    """Register two functions that are each other's transpose in their first argument.

    What else `back` takes are arguments of `function`, and `x_shape` where that is lost, which is
    the shape of its result; `name` and
    `back_name` are those of their nodes. Of the first it may be said that it is a `view`, and what
    `options` say of both.

    >>> first = lambda x: x[:1]
    >>> transposed(first, lambda g, x_shape: np.pad(g, (0, x_shape[0] - 1)), "First", "Put")
    >>> pull(RULES[first], "x", np.ones(1), {"x": np.ones(3)}, None)
    array([1., 0., 0.])
    """
    linear(function, back, name=name, view=view, **options)
    shape = "x_shape" if "x_shape" in signature(back)[0] else None
    linear(back, function, name=back_name, shape=shape, **options)


def general(
    function: Function,
    *,
    reverse: dict[str, Lambda],
    forward: dict[str, Lambda] | None = None,
    **options: Any,
) -> None:
    """Register a function by both directions, each a lambda per differentiable argument.

    Without `forward`, forward mode through the function is an error that says so.

    With `together=`, a lambda may state again all that `reverse` gives, in its order: for arrays so
    large that going through them once pays. Where it does not, its result is None.
    """
    if forward is None:
        forward = {name: no_forward(function, name) for name in reverse}
    assert reverse.keys() == forward.keys()
    register(function, "general", reverse, forward, **options)


def no_forward(function: Function, argument: str) -> Lambda:
    """What stands for a lambda that was not stated: an error."""

    def push(t: Any) -> Any:
        name = function.__name__
        raise MissingRuleError(
            f"{name} has a rule for reverse mode alone: no tangent of {argument} can be pushed "
            f"through it. State forward={{{argument!r}: lambda t, ...: ...}} beside reverse=, or "
            "use reverse mode, as wengert.grad and wengert.jacrev do."
        )

    return push


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
# straight-line code (`autograd/record.py`, `pushing.py`); these are its specification, and what the
# textbook traces and the tests of the table use.


def _wanted(rule: Lambda, call: dict[str, Any], y: Any) -> list[Any]:
    values = []
    for name in parameters(rule):
        if name == "y":
            values.append(y)
        elif name in call:
            values.append(call[name])
        else:
            base, _, attribute = name.rpartition("_")
            values.append(fact(call[base], attribute))
    return values


def fact(value: Any, attribute: str) -> Any:
    """The shape or dtype of an array, of a number, or of each array of a list."""
    if isinstance(value, (list, tuple)):
        return [getattr(np.asarray(v), attribute) for v in value]
    return getattr(value if hasattr(value, attribute) else np.asarray(value), attribute)


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
        result = transpose(np.conj(g), *values)
        result = [np.conj(x) for x in result] if isinstance(result, list) else np.conj(result)
    else:
        result = transpose(g, *values)
    return unbroadcast(result, np.shape(call[argument])) if rule.family == "elementwise" else result


def push(rule: Rule, argument: str, t: Any, call: dict[str, Any], y: Any) -> Any:
    """The tangent of the output, from the tangent `t` of one argument.

    For a list argument `t` is a list too, with None where an item has no tangent.
    """
    if argument == rule.sequence:
        return push_sequence(rule, t, call)
    if argument in rule.forward:
        result = rule.forward[argument](t, *_wanted(rule.forward[argument], call, y))
    else:
        result = rule.apply({**call, argument: t})
    if rule.family == "elementwise" and np.shape(result) != np.shape(y):
        return np.broadcast_to(result, np.shape(y))
    return result


def push_sequence(rule: Rule, tangents: list[Any], call: dict[str, Any]) -> Any:
    """Lists are joined, which is linear in all items at once, or multiplied, linear in each."""
    name = rule.sequence
    assert name is not None
    items = call[name]
    if not names_values(rule, rule.reverse[name]):
        pairs = zip(tangents, items, strict=True)
        return rule.apply({**call, name: [np.zeros_like(x) if t is None else t for t, x in pairs]})
    result = None
    for k, t in enumerate(tangents):
        if t is not None:
            term = rule.apply({**call, name: [*items[:k], t, *items[k + 1 :]]})
            result = term if result is None else result + term
    return result
