"""The in-place methods: `x.add_(y)` makes x hold `x.add(y)`.

Each is its out-of-place function given to `autograd/inplace.py`, which writes the result and
rewrites the history. In-place changes of shape (`transpose_`, ...) and of memory (`set_`,
`resize_`) are here too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.autograd import inplace
from wengert.history import modes
from wengert.autograd.record import cast, lazy, recorder
from wengert.functions import comparison, indexing, math, products, random, reductions, shapes
from wengert.functions.arguments import sizes
from wengert.functions.operators import write_elementwise
from wengert.rules import indexing as rules
from wengert.rules import neural
from wengert.tensor import INFERENCE, Tensor, View, current_node, wrap

# ---- values --------------------------------------------------------------------------------

SINGLE = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "sigmoid": neural.sigmoid, "relu": neural.relu, "erf": neural.erf,
    "neg": np.negative, "negative": np.negative, "abs": np.absolute, "absolute": np.absolute,
    "square": np.square, "reciprocal": np.reciprocal, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "fix": np.trunc, "sign": np.sign, "deg2rad": np.deg2rad, "rad2deg": np.rad2deg,
}  # fmt: skip
"""Functions of one tensor that one recorder makes: their node may keep the result itself."""

COMPOSED: dict[Any, str] = {
    math: """
        acos acosh addcdiv addcmul arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan
        atan2 atanh clamp clamp_max clamp_min clip conj_physical copysign divide float_power
        fmod frac heaviside hypot lerp logit nan_to_num round rsqrt sgn sinc subtract
        true_divide xlogy""",
    reductions: "cumprod cumsum",
    shapes: "tril triu",
    indexing: """
        index_add index_copy index_fill index_put index_reduce masked_fill masked_scatter scatter
        scatter_add scatter_reduce""",
    products: "addbmm addmm addmv addr baddbmm",
}
CONSTANT: dict[Any, str] = {
    comparison: """
        bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor eq gcd ge
        greater greater_equal gt lcm le less less_equal logical_and logical_not logical_or
        logical_xor lt ne not_equal""",
}
"""Functions without derivative: writing their result cuts the history."""

ELEMENTWISE = {
    "mul": np.multiply, "multiply": np.multiply, "floor_divide": np.floor_divide, "remainder": np.remainder, "pow": np.power,
}  # fmt: skip


def _single(function: Any, name: str) -> Any:
    def method(self: Tensor) -> Tensor:
        return inplace.write(self, recorder(function), (), name)

    return method


def _elementwise(function: Any, name: str) -> Any:
    def method(self: Tensor, other: Any) -> Tensor:
        return write_elementwise(self, function, other, name)

    return method


def composed(function: Any, name: str) -> Any:
    """The in-place twin of a function that may record several nodes."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        n, names = len(args), tuple(kwargs)

        def record(old: Tensor, *given: Any) -> Any:
            return function(own(old, given), *given[:n], **dict(zip(names, given[n:], strict=True)))

        return inplace.write(self, record, (*args, *kwargs.values()), name)

    return method


def own(old: Tensor, given: tuple[Any, ...]) -> Tensor:
    """The old value in memory of its own, if a node may save it: its memory is about to change."""
    if not modes.is_grad_enabled() or not (old.requires_grad or any(map(inplace._tracked, given))):
        return old
    return wrap(old._array.copy(), current_node(old))


def _constant(function: Any, name: str) -> Any:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        result = function(self, *args, **kwargs)
        _same_shape(self, result, name)
        return indexing.overwrite(self, result, name)

    return method


def _same_shape(x: Tensor, result: Tensor, name: str) -> None:
    if result.shape != x.shape:
        raise RuntimeError(f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(result.shape)} of {name}")


def add_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """x += alpha * other."""
    return write_elementwise(self, np.add, other if alpha == 1 else other * alpha, "add_")


def sub_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """x -= alpha * other."""
    return write_elementwise(self, np.subtract, other if alpha == 1 else other * alpha, "sub_")


def div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """x /= other."""
    if rounding_mode is None:
        return write_elementwise(self, np.divide, other, "div_")
    return composed(math.div, "div_")(self, other, rounding_mode=rounding_mode)  # type: ignore[no-any-return]


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Make this tensor hold the values of another, cast and broadcast.

    Gradients flow to the source; the old value gets none.
    """
    if src is self:
        return self
    return indexing.overwrite(self, src, "copy_")


_zeroed, _refilled = lazy(rules.zeroed), lazy(rules.refilled)


def zero_(self: Tensor) -> Tensor:
    """Make all elements 0."""
    return indexing.overwrite(self, 0, "zero_", lambda old, value: _zeroed(old))


def fill_(self: Tensor, value: Any) -> Tensor:
    """Make all elements one number."""
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return indexing.overwrite(self, value, "fill_", _refilled)


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Make the diagonal one number."""
    if not wrap or self.ndim != 2:
        n = min(self.shape)
        view = shapes.as_strided(self, (n,), (sum(self.stride()),), self.storage_offset())
    else:
        step = sum(self.stride())
        view = shapes.as_strided(self, (-(-self.numel() // (self.shape[1] + 1)),), (step,), self.storage_offset())
    fill_(view, fill_value)
    return self


def put_(self: Tensor, index: Any, source: Any, accumulate: bool = False) -> Tensor:
    """Replace elements of the flattened form."""
    return composed(indexing.put_, "put_")(self, index, source, accumulate)  # type: ignore[no-any-return]


def apply_(self: Tensor, callable: Any) -> Tensor:  # noqa: A002
    """Replace each element by what a Python function makes of it; slow, and not recorded."""
    if self.requires_grad:
        raise RuntimeError("Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.")
    values = [callable(v) for v in self._array.ravel().tolist()]
    return indexing.overwrite(self, wrap(np.asarray(values).astype(self.dtype).reshape(self.shape)), "apply_")


def map_(self: Tensor, tensor: Tensor, callable: Any) -> Tensor:  # noqa: A002
    """Replace each element by what a Python function makes of it and another tensor's."""
    return _mapped(self, (tensor,), callable, "map_")


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:  # noqa: A002
    """Replace each element by what a Python function makes of it and those of two others."""
    return _mapped(self, (x, y), callable, "map2_")


def _mapped(x: Tensor, others: tuple[Tensor, ...], function: Any, name: str) -> Tensor:
    if any(t.requires_grad for t in (x, *others)):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    columns = [np.broadcast_to(t._array, x.shape).ravel().tolist() for t in (x, *others)]
    values = [function(*row) for row in zip(*columns, strict=True)]
    return indexing.overwrite(x, wrap(np.asarray(values).astype(x.dtype).reshape(x.shape)), name)


# ---- shapes --------------------------------------------------------------------------------


def _turned(change: Any, back: Any, name: str) -> Any:
    """An in-place view operation; `back(old, *args)` is what undoes it on a tensor."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return inplace.turn(self, lambda x: change(x, *args, **kwargs), back(self, *args, **kwargs), name)

    return method


def _itself_again(change: Any) -> Any:
    return lambda old, *args, **kwargs: lambda x: change(x, *args, **kwargs)


def _old_shape(old: Tensor, *args: Any, **kwargs: Any) -> Any:
    shape = old.shape
    return lambda x: shapes.reshape(x, shape)


def _old_strides(old: Tensor, *args: Any, **kwargs: Any) -> Any:
    shape, strides, offset = old.shape, old.stride(), old.storage_offset()
    return lambda x: shapes.as_strided(x, shape, strides, offset)


VIEWS = {name: _itself_again(getattr(shapes, name)) for name in ("transpose", "t", "swapaxes", "swapdims")}
VIEWS |= {"squeeze": _old_shape, "unsqueeze": _old_shape, "as_strided": _old_strides}


def set_(self: Tensor, source: Any = None, *more: Any) -> Tensor:
    """Make this tensor look into the memory of another (or, without one, be empty)."""
    if modes.is_grad_enabled():
        inplace.refuse(self)
    self._array = np.empty(0, self.dtype) if source is None else source._array
    if self._origin is not INFERENCE:
        inplace.mark_written(self, "set_")
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
    inplace.mark_written(self, "resize_")
    return self


def resize_as_(self: Tensor, other: Tensor, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of another tensor."""
    return resize_(self, other.shape)


# ---- attaching -----------------------------------------------------------------------------


def _attach(name: str, method: Any, doc: str | None = None) -> None:
    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    if doc is not None:
        method.__doc__ = doc
    setattr(Tensor, name, method)


for _name, _function in SINGLE.items():
    _attach(f"{_name}_", _single(_function, f"{_name}_"), f"`{_name}`, in place.")
for _name, _function in ELEMENTWISE.items():
    _attach(f"{_name}_", _elementwise(_function, f"{_name}_"), f"`{_name}`, in place.")
for _table, _make in ((COMPOSED, composed), (CONSTANT, _constant)):
    for _module, _names in _table.items():
        for _name in _names.split():
            _attach(f"{_name}_", _make(getattr(_module, _name), f"{_name}_"), f"`{_name}`, in place.")
for _name, _back in VIEWS.items():
    _attach(f"{_name}_", _turned(getattr(shapes, _name), _back, f"{_name}_"), f"`{_name}`, in place.")
for _symbol in ("and", "or", "xor"):
    _attach(f"__i{_symbol}__", _constant(getattr(comparison, f"bitwise_{_symbol}"), f"bitwise_{_symbol}_"))
_attach("__ilshift__", _constant(comparison.bitwise_left_shift, "bitwise_left_shift_"))
_attach("__irshift__", _constant(comparison.bitwise_right_shift, "bitwise_right_shift_"))
for _method in (
    add_, sub_, div_, copy_, zero_, fill_, fill_diagonal_, put_, apply_, map_, map2_, set_, resize_, resize_as_,
    random.uniform_, random.normal_, random.random_, random.bernoulli_, random.exponential_,
    random.cauchy_, random.geometric_, random.log_normal_,
):  # fmt: skip
    setattr(Tensor, _method.__name__, _method)
_ = cast


def fill(input: Tensor, value: Any) -> Tensor:
    """One number in the shape of `input`; gradients of the input are zero."""
    return _refilled(input, indexing.value_for(value, input))  # type: ignore[no-any-return]


setattr(Tensor, "fill", fill)
