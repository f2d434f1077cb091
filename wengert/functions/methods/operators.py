"""Python's operators on Tensors, and the arithmetic of PyTorch's names.

Operators call straight into what records NumPy's function; nothing stands between.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd import inplace
from wengert.autograd.engine import mark_written
from wengert.autograd.operands import no_order, unsuited
from wengert.autograd.record import recorder
from wengert.dispatch import ORDERS
from wengert.history import modes
from wengert.tensor import NUMBERS, Tensor, may_record, settle, wrap


def install(name: str, function: Any) -> None:
    """Make `function`'s recorder an operator of Tensor."""
    setattr(Tensor, name, recorder(function))


def install_reflected(name: str, function: Any) -> None:
    """The operator with its operands exchanged."""
    record = recorder(function)

    def reflected(self: Tensor, other: Any) -> Any:
        return record(other, self)

    setattr(Tensor, name, reflected)


def install_inplace(name: str, function: Any, label: str) -> None:
    """`x op= y`, written into x."""

    def in_place(self: Tensor, other: Any) -> Tensor:
        return write_elementwise(self, function, other, label)

    setattr(Tensor, name, in_place)


def write_elementwise(x: Tensor, function: Any, other: Any, label: str) -> Tensor:
    """x = function(x, other) in place; straight into the memory where nothing is tracked."""
    if inplace.unrecorded(x, (other,)) or (
        modes.special
        and x._origin is None
        and not modes.is_grad_enabled()
        and modes.current().clone_saved is None
        and not modes.current().duals
    ):
        array = other._array if isinstance(other, Tensor) else other
        fits = type(other) in NUMBERS or (
            getattr(array, "dtype", None) is x._array.dtype and array.shape in ((), x._array.shape)
        )
        if fits and isinstance(function, np.ufunc) and inplace.takes_out(x._array, "fc"):
            try:
                function(x._array, array, out=x._array, casting="same_kind")
            except TypeError:  # it has no meaning for these, which is said below
                pass
            else:
                mark_written(x, label, ours=2)
                return x
    return inplace.write(x, recorder(function), (other,), label)


OPERATORS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.divide,
    "pow": np.power,
    "mod": np.remainder,
    "floordiv": np.floor_divide,
    "matmul": np.matmul,
}
_LABELS = {"truediv": "div_", "mod": "remainder_", "floordiv": "floor_divide_"}
_COMMUTATIVE = {"add", "mul"}

for _name, _function in OPERATORS.items():
    install(f"__{_name}__", _function)
    if _name in _COMMUTATIVE:
        install(f"__r{_name}__", _function)
    else:
        install_reflected(f"__r{_name}__", _function)
    if _name != "matmul":
        install_inplace(f"__i{_name}__", _function, _LABELS.get(_name, _name + "_"))
install("__neg__", np.negative)
install("__abs__", np.absolute)


# ---- comparisons and bits ------------------------------------------------------------------


_COMPLEX, _DOUBLE_COMPLEX = np.dtype(np.complex64), np.dtype(np.complex128)


def untracked(function: Any, x: Any, other: Any) -> Any:
    """A function without derivative on two operands, with PyTorch's promotion."""
    a = x._array if isinstance(x, Tensor) else x
    b = other._array if isinstance(other, Tensor) else other
    if dtypes.is_foreign(b):
        raise dtypes.foreign(b)
    known = hasattr(b, "dtype") or isinstance(b, (bool, int, float, complex))
    if not known and not (isinstance(b, (list, tuple)) and _are_numbers(b)):
        return NotImplemented
    kind = getattr(a, "dtype", None)
    if kind is not getattr(b, "dtype", None) and type(b) not in NUMBERS and type(a) not in NUMBERS:
        kind = dtypes.result_type(a, b)
        a = a.astype(kind) if hasattr(a, "astype") else a
        b = np.asarray(b).astype(kind) if not hasattr(b, "astype") else b.astype(kind)
    elif type(b) is float and kind is not None and dtypes.is_bfloat16(kind):
        b = kind.type(b)  # as NumPy rounds a number beside its own dtypes
    if (kind is _COMPLEX or kind is _DOUBLE_COMPLEX) and function in ORDERS:
        raise no_order(function.__name__, kind)
    try:
        array = function(a, b)
    except (ValueError, TypeError) as error:
        raise unsuited(function.__name__, error, (x, other)) from None
    out = wrap(settle(array))
    if modes.special:
        may_record(out)
    return out


def _are_numbers(items: Any) -> bool:
    """Whether a list of operands could be a tensor."""
    try:
        return np.asarray(items).dtype.kind in "biufcV"
    except ValueError:  # rows of several lengths
        return False


def comparison(function: Any, reflected: bool = False) -> Callable[[Tensor, Any], Any]:
    def compare(self: Tensor, other: Any) -> Any:
        return untracked(_turned(function) if reflected else function, self, other)

    return compare


@functools.cache
def _turned(function: Any) -> Any:
    """The function with its operands the other way around."""

    @functools.wraps(function)
    def turned(a: Any, b: Any) -> Any:
        return function(b, a)

    return turned


COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
BITS = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
for _name, _function in COMPARISONS.items():
    setattr(Tensor, f"__{_name}__", comparison(_function))
for _name, _function in BITS.items():
    setattr(Tensor, f"__{_name}__", comparison(_function))
    setattr(Tensor, f"__r{_name}__", comparison(_function, reflected=True))
Tensor.__hash__ = object.__hash__  # type: ignore[method-assign]

REFLECTED = {
    **{function: f"__r{name}__" for name, function in {**OPERATORS, **BITS}.items()},
    np.equal: "__eq__",
    np.not_equal: "__ne__",
    np.less: "__gt__",
    np.less_equal: "__ge__",
    np.greater: "__lt__",
    np.greater_equal: "__le__",
}
"""The method by which a tensor answers to an operator whose left operand it is not."""
