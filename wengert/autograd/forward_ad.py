"""Dual numbers: `wengert.autograd.forward_ad`, as PyTorch has it.

Inside a `dual_level` a tensor is made dual, x + e t; what is computed from it carries the
derivative in the direction t, and `unpack_dual` takes it out. `wengert.jvp` does this for a
function.

>>> import wengert as wg
>>> with dual_level():
...     x = make_dual(wg.tensor(3.0), wg.tensor(1.0))
...     unpack_dual(x * x)
UnpackedDualTensor(primal=tensor(9.), tangent=tensor(6.))
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from wengert import dtypes
from wengert.autograd import forward
from wengert.autograd.forward import Level
from wengert.autograd.function_forward import different_size
from wengert.autograd.record import recorder
from wengert.history import modes
from wengert.rules.shapes import alias
from wengert.tensor import Tensor, wrap


class UnpackedDualTensor(NamedTuple):
    """The two parts of a dual tensor; the tangent is None for a tensor that carries none."""

    primal: Tensor
    tangent: Tensor | None


class _Entered(threading.local):
    """The level that this thread has entered, if any. PyTorch has one, with the number 0."""

    level: Level | None = None


_entered = _Entered()


def enter_dual_level() -> int:
    """Enter the level of dual tensors; its number is 0. `dual_level` does so for a block.

    Raises RuntimeError inside of the level: nest by `wengert.jvp`.
    """
    if _entered.level is not None:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment: there is one level of dual "
            "tensors, and it has been entered. wengert.jvp nests to any depth."
        )
    level = _entered.level = Level(lasting=True)
    modes.enter(modes.current()._replace(duals=(*modes.current().duals, level)))
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the level, and take the tangents away from all tensors that were made dual in it."""
    if level not in (None, 0) or (level is None and _entered.level is None):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is "
            "not supported."
            if _entered.level is not None
            else "Dual level must be a positive number: no level has been entered."
        )
    entered, _entered.level = _entered.level, None
    if entered is None:
        raise RuntimeError("Trying to exit a forward AD level, but none has been entered.")
    duals = tuple(k for k in modes.current().duals if k is not entered)
    modes.enter(modes.current()._replace(duals=duals))
    entered.forget()


class dual_level:
    """The block in which dual tensors exist; a context manager, and a decorator of functions.

    >>> import wengert as wg
    >>> @dual_level()
    ... def slope(x):
    ...     return unpack_dual(wg.sin(make_dual(x, wg.ones_like(x)))).tangent
    >>> slope(wg.tensor(0.0))
    tensor(1.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()

    def __call__(self, function: Any) -> Any:
        import functools

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with dual_level():
                return function(*args, **kwargs)

        return inside


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor that shares the memory of `tensor` and carries `tangent`: x + e t.

    The tangent is used as it is if it lies in memory as the tensor does, and copied otherwise: then
    views of the one are views of the other. Gradients of the parts go to `tensor` and `tangent`.

    Raises RuntimeError outside of a level, for different sizes, and if one of the two is dual
    already; ValueError unless both are floating point or complex.
    """
    entered = _entered.level
    if entered is None or level not in (None, 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first: with forward_ad.dual_level(): ..."
        )
    for what, x in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(x, Tensor):
            raise TypeError(f"make_dual takes tensors, but the {what} is {type(x).__name__}.")
        if not dtypes.is_inexact(x._array.dtype):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {x.dtype}")
    if forward.tangent(tensor, entered) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            "same level 0 is not supported. Take unpack_dual(tensor).primal, or tensor.detach()."
        )
    if forward.tangent(tangent, entered) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level 0 is not "
            "supported. Take unpack_dual(tangent).primal; for second derivatives nest wengert.jvp."
        )
    if tensor._array.shape != tangent._array.shape:
        raise RuntimeError(different_size(tensor, tangent))
    dual = recorder(alias)(tensor)
    if not forward.lies_alike(tensor._array, tangent._array):
        laid_out = wrap(forward.in_layout_of(tensor._array, tangent._array.dtype))
        tangent = laid_out.copy_(tangent)
    entered.give(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The parts of a dual tensor: a view of it that carries no tangent, and the tangent itself.

    The tangent is None for a tensor that is not dual, and outside of a level.
    """
    entered = _entered.level
    if entered is None or level not in (None, 0):
        return UnpackedDualTensor(tensor, None)
    tangent = forward.tangent(tensor, entered)
    state = modes.enter(modes.current()._replace(duals=forward.outside(entered)))
    try:
        primal = recorder(alias)(tensor)
    finally:
        modes.enter(state)
    entered.give(primal, None)
    return UnpackedDualTensor(primal, tangent)
