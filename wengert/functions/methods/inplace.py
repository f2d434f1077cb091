"""The in-place methods: `x.add_(y)` makes x hold `x.add(y)`.

Each is its out-of-place function given to `autograd/inplace.py`, which writes the result and
rewrites the history. In-place changes of shape (`transpose_`, ...) and of memory (`set_`,
`resize_`) are here too.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd import inplace
from wengert.autograd.engine import mark_written
from wengert.autograd.misfits import told
from wengert.autograd.record import recorder
from wengert.autograd.settings import refuse_tracked
from wengert.dispatch import known
from wengert.functions import (
    comparison,
    indexing,
    math,
    random,
    scattering,
    shapes,
    special,
)
from wengert.functions.arguments import rounds, sizes
from wengert.functions.declared import as_method, composed, single
from wengert.functions.methods.operators import write_elementwise
from wengert.history import modes
from wengert.rules import indexing as rules
from wengert.rules.blocks import ENOUGH
from wengert.tensor import INFERENCE, Tensor, attach, wrap

# ---- values --------------------------------------------------------------------------------


def constant(function: Any, name: str) -> Any:
    """For a function without derivative: writing its result cuts the history."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        result = function(self, *args, **kwargs)
        _same_shape(self, result, name)
        return indexing.overwrite(self, result, name)

    return as_method(method, name)


def _same_shape(x: Tensor, result: Tensor, name: str) -> None:
    if result.shape != x.shape:
        raise RuntimeError(
            f"output with shape {list(x.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)} of {name}"
        )


def add_(self: Tensor, other: Any, *tensor: Any, alpha: complex = 1) -> Tensor:
    """x += alpha * other; of old also called as add_(alpha, other)."""
    return _with_multiple(np.add, _added, "add_", self, (other, *tensor), alpha)


def sub_(self: Tensor, other: Any, *tensor: Any, alpha: complex = 1) -> Tensor:
    """x -= alpha * other; of old also called as sub_(alpha, other)."""
    return _with_multiple(np.subtract, _subtracted, "sub_", self, (other, *tensor), alpha)


def _with_multiple(ufunc: Any, rounded_once: Any, name: str, x: Any, given: Any, alpha: Any) -> Any:
    if len(given) > 1:
        alpha, *given = given
    (other,) = given
    if isinstance(alpha, Tensor):
        refuse_tracked("alpha", alpha)
    if alpha != 1 and rounds(x, other):
        return rounded_once(x, other, alpha=alpha)
    return write_elementwise(x, ufunc, other if alpha == 1 else other * alpha, name)


_added, _subtracted = composed(math.add, "add_"), composed(math.sub, "sub_")


def div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """x /= other."""
    if rounding_mode is None:
        return write_elementwise(self, np.divide, other, "div_")
    return composed(math.div, "div_")(self, other, rounding_mode=rounding_mode)


def pow_(self: Tensor, exponent: Any) -> Tensor:
    """x **= exponent."""
    return write_elementwise(self, np.power, exponent, "pow_")


def clamp_(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """x kept between `min` and `max`."""
    if math.clips(self, min, max) and not (min is None and max is None):
        return inplace.write_by(self, np.clip, "clamp_", min, max)
    return _clamp(self, min, max)


def round_(self: Tensor, *, decimals: int = 0) -> Tensor:
    """x rounded to so many digits after the point."""
    if decimals == 0 and self._array.dtype.kind == "f":
        return inplace.write_by(self, np.rint, "round_")
    return _round(self, decimals=decimals)


_clamp, _round = composed(math.clamp, "clamp_"), composed(math.round, "round_")


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Make this tensor hold the values of another, cast and broadcast.

    Gradients flow to the source; the old value gets none.
    """
    return indexing.overwrite(self, src, "copy_")


def masked_fill_(self: Tensor, mask: Any, value: Any) -> Tensor:
    """`value` where the mask holds; into few numbers without history it is written at once."""
    array, holds = self._array, getattr(mask, "_array", None)
    if (
        type(value) is float
        and type(holds) is np.ndarray
        and holds.dtype is dtypes.bool
        and holds.shape == array.shape
        and inplace.takes_out(array, "fc")
        and array.size < ENOUGH
        and inplace.unrecorded(self, (mask,))
    ):
        array[holds] = value
        mark_written(self, "masked_fill_")
        return self
    return _masked_fill(self, mask, value)


_masked_fill = composed(indexing.masked_fill, "masked_fill_")
_zeroed, _refilled = recorder(rules.zeroed), recorder(rules.refilled)


def _zeroed_by(old: Tensor, value: Any) -> Any:
    return _zeroed(old)


def zero_(self: Tensor) -> Tensor:
    """Make all elements 0."""
    return indexing.overwrite(self, 0, "zero_", _zeroed_by)


def fill_(self: Tensor, value: Any) -> Tensor:
    """Make all elements one number."""
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} "
            "dimensions."
        )
    return indexing.overwrite(self, value, "fill_", _refilled)


@told
def fill_diagonal_(self: Tensor, fill_value: complex, wrap: bool = False) -> Tensor:
    """Make the diagonal one number."""
    if not self.numel():
        return self
    if not known(self._array):
        if wrap and self.ndim == 2:
            view = self.view(-1)[:: sum(self.stride())]
        else:
            view = functools.reduce(lambda x, _: x.diagonal(), range(self.ndim - 1), self)
        fill_(view, fill_value)
        return self
    if not wrap or self.ndim != 2:
        n = min(self.shape)
        view = shapes.as_strided(self, (n,), (sum(self.stride()),), self.storage_offset())
    else:
        step = sum(self.stride())
        view = shapes.as_strided(
            self, (-(-self.numel() // (self.shape[1] + 1)),), (step,), self.storage_offset()
        )
    fill_(view, fill_value)
    return self


def put_(self: Tensor, index: Any, source: Any, accumulate: bool = False) -> Tensor:
    """Replace elements of the flattened form."""
    return composed(scattering.put, "put_")(self, index, source, accumulate)


def apply_(self: Tensor, callable: Any) -> Tensor:
    """x = f(x) in place, element by element, by a Python function: slow, and not recorded."""
    if self.requires_grad:
        raise RuntimeError(
            "Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead."
        )
    values = [callable(v) for v in self._array.ravel().tolist()]
    return indexing.overwrite(
        self, wrap(np.asarray(values).astype(self.dtype).reshape(self.shape)), "apply_"
    )


@told
def map_(self: Tensor, tensor: Tensor, callable: Any) -> Tensor:
    """x = f(x, y) in place, element by element, by a Python function."""
    return _mapped(self, (tensor,), callable, "map_")


@told
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """x = f(x, y, z) in place, element by element, by a Python function."""
    return _mapped(self, (x, y), callable, "map2_")


def _mapped(x: Tensor, others: tuple[Tensor, ...], function: Any, name: str) -> Tensor:
    if any(t.requires_grad for t in (x, *others)):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
            "instead."
        )
    columns = [np.broadcast_to(t._array, x.shape).ravel().tolist() for t in (x, *others)]
    values = [function(*row) for row in zip(*columns, strict=True)]
    return indexing.overwrite(x, wrap(np.asarray(values).astype(x.dtype).reshape(x.shape)), name)


# ---- shapes --------------------------------------------------------------------------------


def _turned(change: Any, back: Any, name: str) -> Any:
    """An in-place view operation; `back(old, *args)` is what undoes it on a tensor."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return inplace.turn(
            self, lambda x: change(x, *args, **kwargs), back(self, *args, **kwargs), name
        )

    return as_method(method, name)


def _old_shape(old: Tensor, *args: Any, **kwargs: Any) -> Any:
    shape = old.shape
    return lambda x: shapes.reshape(x, shape)


def _old_strides(old: Tensor, *args: Any, **kwargs: Any) -> Any:
    shape, strides, offset = old.shape, old.stride(), old.storage_offset()
    return lambda x: shapes.as_strided(x, shape, strides, offset)


def _swap(function: Any, name: str) -> Any:
    """An exchange of dimensions, which done twice changes nothing."""
    return _turned(
        function, lambda old, *args, **kwargs: lambda x: function(x, *args, **kwargs), name
    )


@told
def set_(self: Tensor, source: Tensor | None = None, *more: Any) -> Tensor:
    """Make this tensor look into the memory of another (or, without one, be empty)."""
    if modes.is_grad_enabled():
        inplace.refuse(self)
    self._array = np.empty(0, self.dtype) if source is None else source._array
    if self._origin is not INFERENCE:
        mark_written(self, "set_")
    return self


def resize_(self: Tensor, *shape: Any, memory_format: Any = None) -> Tensor:
    """Change the shape; elements are kept in order, new ones are left as they are in memory."""
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    wanted = sizes(shape)
    n = int(np.prod(wanted))
    flat = self._array.reshape(-1)
    if n > flat.size:
        larger = np.empty(n, flat.dtype)
        larger[: flat.size] = flat
        flat = larger
    self._array = flat[:n].reshape(wanted)
    mark_written(self, "resize_")
    return self


@told
def resize_as_(self: Tensor, other: Tensor, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of another tensor."""
    return resize_(self, other.shape)


# ---- attaching -----------------------------------------------------------------------------


@attach
class InplaceMethods:
    """See the module's docstring."""

    __slots__ = ()

    add_, sub_, div_ = add_, sub_, div_
    subtract_ = sub_
    polygamma_ = composed(lambda x, n: special.polygamma(n, x), "polygamma_")
    abs_ = single(np.absolute, "abs_")
    absolute_ = single(np.absolute, "absolute_")
    square_ = single(np.square, "square_")
    reciprocal_ = single(np.reciprocal, "reciprocal_")
    floor_ = single(np.floor, "floor_")
    ceil_ = single(np.ceil, "ceil_")
    trunc_ = single(np.trunc, "trunc_")
    fix_ = single(np.trunc, "fix_")

    pow_, round_ = pow_, round_
    clamp_ = clip_ = clamp_
    masked_fill_ = masked_fill_

    __iand__ = constant(comparison.bitwise_and, "bitwise_and_")
    __ior__ = constant(comparison.bitwise_or, "bitwise_or_")
    __ixor__ = constant(comparison.bitwise_xor, "bitwise_xor_")
    __ilshift__ = constant(comparison.bitwise_left_shift, "bitwise_left_shift_")
    __irshift__ = constant(comparison.bitwise_right_shift, "bitwise_right_shift_")

    copy_, zero_, fill_, fill_diagonal_, put_ = copy_, zero_, fill_, fill_diagonal_, put_
    apply_, map_, map2_ = apply_, map_, map2_
    uniform_, normal_, random_ = random.uniform_, random.normal_, random.random_
    bernoulli_, exponential_ = random.bernoulli_, random.exponential_
    cauchy_, geometric_, log_normal_ = random.cauchy_, random.geometric_, random.log_normal_

    transpose_ = _swap(shapes.transpose, "transpose_")
    t_ = _swap(shapes.t, "t_")
    swapaxes_ = _swap(shapes.swapaxes, "swapaxes_")
    swapdims_ = _swap(shapes.swapdims, "swapdims_")
    squeeze_ = _turned(shapes.squeeze, _old_shape, "squeeze_")
    unsqueeze_ = _turned(shapes.unsqueeze, _old_shape, "unsqueeze_")
    as_strided_ = _turned(shapes.as_strided, _old_strides, "as_strided_")
    set_, resize_, resize_as_ = set_, resize_, resize_as_
