"""What a rule declares of its function: PyTorch's names of it, and what those take.

`publish` gives a rule's function the names that the rule states: functions in `elementary.py` and
in the package itself, methods of tensors, and the in-place forms of both.
"""

from __future__ import annotations

import functools
import sys
from inspect import Parameter, Signature
from types import ModuleType
from typing import Any

from wengert.autograd import forward, inplace
from wengert.autograd.operands import is_binary, is_unary, no_order
from wengert.autograd.record import recorder
from wengert.dispatch import Function, called
from wengert.functions.arguments import into, operands_of, some_dims, takes_out, tensor_of
from wengert.functions.methods.operators import write_elementwise
from wengert.history import modes
from wengert.rules.rule import PUBLISHERS, RULES, Rule
from wengert.tensor import Tensor, current_node, wrap

HOME = "wengert.functions.elementary"
"""The module where the functions are found."""
FRONT: list[ModuleType] = []
"""Modules that have all of the names too: the package itself, which says so."""


def publish(rule: Rule) -> None:
    """Give the function of a rule all the names that the rule states; ValueError if one is taken.

    >>> import numpy as np
    >>> RULES[np.arcsin].names
    ('asin', 'arcsin')
    """
    modules = (sys.modules[HOME], *FRONT)
    taken = {*rule.names, *(f"{name}_" for name in rule.names)}
    for place in (Tensor, *modules):
        for name in sorted(taken & vars(place).keys()):
            raise ValueError(f"{name!r} has a meaning in wengert already. State another name.")
    function = public(rule)
    for name in rule.names:
        setattr(Tensor, name, function)
        given = {name: function}
        if rule.inplace:
            method = inplace_method(rule, function, f"{name}_")
            vars(method)["rule"] = rule
            setattr(Tensor, method.__name__, method)
            if is_unary(rule):
                given[method.__name__] = inplace_function(method)
        for module in modules:
            vars(module).update(given)


def publish_all() -> None:
    """Publish the rules of the table now, and from now on each when it is registered."""
    for rule in RULES.values():
        if rule.names:
            publish(rule)
    PUBLISHERS.append(publish)


# ---- functions ------------------------------------------------------------------------------


def public(rule: Rule) -> Function:
    """A rule's function as PyTorch's: of tensors or numbers, with `out=`."""
    if is_unary(rule):
        function = recorder(rule.function)
    else:
        function = binary(rule) if is_binary(rule) else of_arguments(rule)
        vars(function)["rule"] = rule
    return called(function, rule.names[0], rule.doc, HOME)


def binary(rule: Rule) -> Function:
    """A function of two tensors or numbers, broadcast against each other.

    The first `rule.tensors` may not be numbers, see `of_tensors`; None lets both be.
    """
    record, tensors, ordered = recorder(rule.function), rule.tensors, rule.ordered

    def apply(input: Any, other: Any, *, out: Any = None) -> Any:
        if out is not None:
            return into(out, apply, (input, other), {})
        if tensors is not None and not (isinstance(input, Tensor) and isinstance(other, Tensor)):
            input, other = operands_of(apply, tensors, (input, other))
        result = record(input, other)
        if result is NotImplemented:
            raise TypeError(unsuitable(apply.__name__, input, other))
        if ordered and result._array.dtype.kind == "c":
            raise no_order(apply.__name__, result.dtype)
        return result

    return apply


def of_arguments(rule: Rule) -> Function:
    """A function of a tensor, `input`, and of more; an argument that is an axis is called `dim`."""
    record, axes, (first, *_) = recorder(rule.function), rule.axes or (), rule.arguments
    parameters = [
        Parameter(
            "input" if n == first else "dim" if n in axes else n,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=rule.defaults.get(n, Parameter.empty),
        )
        for n in rule.arguments
    ]
    own = {p.name: n for p, n in zip(parameters, rule.arguments, strict=True)}

    @takes_out
    def apply(*args: Any, **kwargs: Any) -> Any:
        call = rule.bind(*args, **{own.get(n, n): x for n, x in kwargs.items()})
        x = call[first] = tensor_of(call[first])
        call |= {n: some_dims(call[n], x.ndim) for n in axes}
        return record(*call.values())

    out = Parameter("out", Parameter.KEYWORD_ONLY, default=None)
    apply.__signature__ = Signature([*parameters, out])  # type: ignore[attr-defined]
    return apply


def unsuitable(name: str, *operands: Any) -> str:
    kinds = " and ".join(type(x).__name__ for x in operands)
    return (
        f"{name}() takes tensors and numbers, got {kinds}. Make a tensor with wengert.tensor(...)."
    )


# ---- in-place forms --------------------------------------------------------------------------


def inplace_method(rule: Rule, function: Function, name: str) -> Function:
    """The method that writes into its tensor: `x.sin_()`."""
    if is_unary(rule):
        return single(rule.function, name)
    numbers = is_binary(rule) and not rule.tensors
    return operator(rule.function, name) if numbers else composed(function, name)


def inplace_function(method: Function) -> Function:
    """A method as a function of a tensor, `sin_(x)`: nothing else can be written into."""

    @functools.wraps(method)
    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(input, Tensor):
            raise TypeError(
                f"{method.__name__}(): argument 'input' (position 1) must be a Tensor, to write "
                f"into, not {type(input).__name__}"
            )
        return method(input, *args, **kwargs)

    return function


def as_method(method: Any, name: str) -> Any:
    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"`{name[:-1]}`, in place."
    return method


def single(function: Any, name: str) -> Any:
    """For a function of one tensor that one recorder makes: its node may keep the result itself."""

    def method(self: Tensor) -> Tensor:
        return inplace.write_by(self, function, name)

    return as_method(method, name)


def operator(function: Any, name: str) -> Any:
    """For a function of two operands, a tensor and a tensor or number."""

    def method(self: Tensor, other: Any) -> Tensor:
        return write_elementwise(self, function, other, name)

    return as_method(method, name)


def composed(function: Any, name: str) -> Any:
    """The in-place twin of a function that may record several nodes."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if inplace.unrecorded(self, (*args, *kwargs.values())):
            return inplace.hold(self, function(self, *args, **kwargs), name)
        n, names = len(args), tuple(kwargs)

        def record(old: Tensor, *given: Any) -> Any:
            return function(own(old, given), *given[:n], **dict(zip(names, given[n:], strict=True)))

        return inplace.write(self, record, (*args, *kwargs.values()), name)

    return as_method(method, name)


def own(old: Tensor, given: tuple[Any, ...]) -> Tensor:
    """The old value in memory of its own, if a node may save it: its memory is about to change."""
    if not modes.is_grad_enabled() or not (old.requires_grad or any(map(inplace._tracked, given))):
        return old
    return forward.lend(wrap(old._array.copy(), current_node(old)), old, copies=True)
