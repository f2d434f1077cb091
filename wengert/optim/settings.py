"""Optimizers' settings: the arguments of their `__init__`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec

from wengert.autograd.settings import refuse_unless_truth
from wengert.optim.optimizer import Group, Optimizer

P = ParamSpec("P")


def settings(*at_least: str, **fixed: Any) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Decorates an optimizer's `__init__`, whose arguments are the defaults of its groups.

    The named ones are at least 0, `fixed` ones have no argument. The body has what else there is
    to check.
    """

    def decorate(init: Callable[P, None]) -> Callable[P, None]:
        check: Callable[..., None] = init
        signature = inspect.signature(init)

        @functools.wraps(init)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            defaults = bound.arguments | fixed
            del defaults["self"]
            params = defaults.pop("params")
            _check(defaults, at_least)
            Optimizer.__init__(self, params, defaults)
            check(self, *args, **kwargs)

        checked: Any = __init__
        return checked

    return decorate


_WORDS = {"lr": "learning rate", "eps": "epsilon value"}


def _check(defaults: Group, at_least: tuple[str, ...]) -> None:
    for name in at_least:
        at_least_zero(_WORDS.get(name, f"{name} value"), defaults[name])
    for i, beta in enumerate(defaults.get("betas", ())):
        if not 0.0 <= number(f"beta parameter at index {i}", beta) < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
    _check_ways(defaults)


def number(name: str, value: Any) -> float:
    """A setting as a number: TypeError for what is none, a text that spells one too."""
    if not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}: {value!r}")
    return float(value)


def at_least_zero(name: str, value: Any) -> None:
    """ValueError for a negative setting, in PyTorch's words."""
    if not number(name, value) >= 0.0:
        raise ValueError(f"Invalid {name}: {value}")


def _check_ways(defaults: Group) -> None:
    """`foreach` and `fused` choose among implementations, of which there is one here.

    So with `capturable`: `wengert.compile` captures every optimizer that can be.
    """
    differentiable = defaults.get("differentiable", False)
    refuse_unless_truth("differentiable", differentiable)
    if differentiable:
        raise NotImplementedError(
            "differentiable=True is not available: optimizers here update in place. Write the "
            "update as new = p - lr * g with autograd.grad(..., create_graph=True) to "
            "differentiate through it."
        )
    if defaults.get("foreach") and defaults.get("fused"):
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
