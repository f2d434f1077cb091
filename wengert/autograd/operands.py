"""Operands that are not tensors of one dtype: what they become, or their error.

NumPy's scalars, arrays and lists become tensors or Python numbers; tensors of several dtypes are
cast to the one that promotion gives, as PyTorch decides it, by recorded casts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import kind_of
from wengert.dispatch import known
from wengert.errors import DtypeError, LinAlgError, MissingRuleError, ShapeError
from wengert.history import modes
from wengert.rules.rule import Rule
from wengert.tensor import NUMBERS, Array, Tensor, wrap

Recorder = Callable[..., Any]


class _Casting:
    """The recorder of `astype`, which `record.py` hands in, and what it knows of rules."""

    record: Recorder
    frees: Callable[[Rule, str], bool]
    """Whether a node saves arrays where an argument is a Python number."""


casting = _Casting()


def is_unary(rule: Rule) -> bool:
    return rule.family == "elementwise" and len(rule.arguments) == 1


def is_binary(rule: Rule) -> bool:
    return rule.family == "elementwise" and len(rule.arguments) == len(rule.reverse) == 2


def keeps_integers(rule: Rule) -> bool:
    """Whether integers stay integers, as in a product and not in a quotient."""
    try:
        with np.errstate(all="ignore"):
            result = rule.function(*[np.ones(1, np.int32)] * len(rule.arguments))
        return bool(result.dtype == np.int32)
    except Exception:  # of integers: TypeError, or what a function of the user's own may raise
        return False


def refuse(rule: Rule, argument: str) -> None:
    """MissingRuleError, if this is recorded: an argument requires grad that has no rule."""
    if modes.is_grad_enabled():
        raise unstated(rule, argument, "requires grad")


def unstated(rule: Rule, argument: str, has: str) -> MissingRuleError:
    """The error of an argument that has a derivative, of which the rule says nothing."""
    name = rule.function.__name__
    return MissingRuleError(
        f"{name}: its argument {argument} {has}, but no rule says how {name} depends on it. "
        f"State one, or None for an argument to count as constant, or pass {argument}.detach()."
    )


def unsuited(rule: Rule | str, error: Exception, operands: tuple[Any, ...]) -> Exception:
    """The error of operands that NumPy refused, in terms of tensors and their shapes."""
    shapes = [list(x.shape) for x in operands if isinstance(x, Tensor)]
    if isinstance(error, LinAlgError):
        return error
    if isinstance(error, np.linalg.LinAlgError):
        name = rule.function.__name__ if isinstance(rule, Rule) else rule
        return LinAlgError(f"linalg.{name}: {error}. {_linalg_hint(str(error))}".rstrip())
    if isinstance(error, TypeError):
        kinds = " and ".join(str(x.dtype) for x in operands if isinstance(x, Tensor))
        return DtypeError(f"{rule} is not defined for tensors of dtype {kinds}: {error}")
    if "negative integer powers" in str(error):
        return RuntimeError(
            "Integers to negative integer powers are not allowed: they would not be integers. Make "
            "one a float, as in x.float() ** y."
        )
    strangers = [x for x in operands if x is None or isinstance(x, (str, bytes, dict, set))]
    if strangers and len(shapes) < 2:
        return TypeError(
            f"{rule} takes tensors, but got {type(strangers[0]).__name__}. Make one with "
            "wengert.tensor(...)."
        )
    if isinstance(error, IndexError) or len(shapes) < 2:
        return error if isinstance(error, IndexError) else ShapeError(f"{rule}: {error}")
    listed = " and ".join(map(str, shapes))
    if isinstance(rule, Rule) and rule.function is np.matmul:
        return ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({listed}): the last size of the first "
            "must be the last but one of the second. Transpose one, e.g. b.mT."
        )
    if isinstance(rule, str) or rule.family == "elementwise":
        a, b = shapes[0][::-1], shapes[1][::-1]
        for i, (m, n) in enumerate(zip(a, b, strict=False)):
            if m != n and 1 not in (m, n):
                dimension = max(len(a), len(b)) - 1 - i
                return ShapeError(
                    f"The size of tensor a ({m}) must match the size of tensor b ({n}) at "
                    f"non-singleton dimension {dimension}: shapes {listed} do not broadcast. "
                    "Compare x.shape of both; unsqueeze(dim) adds a dimension of size 1."
                )
    return ShapeError(f"{rule} does not take shapes {listed}: {error}")


def _linalg_hint(message: str) -> str:
    """What to do about a matrix that NumPy refused."""
    if "Singular" in message:
        return (
            "It has no inverse, nor has a system with it a unique solution. linalg.lstsq and "
            "linalg.pinv take such matrices."
        )
    if "positive definite" in message:
        return (
            "The factorization could not be completed because the input is not positive-definite; "
            "adding a small multiple of the identity may make it so. Is it symmetric?"
        )
    if "converge" in message:
        return "The matrix may contain NaN or infinity: see x.isfinite()."
    return ""


def needs_floating(array: Any, x: Any) -> bool:
    """Whether NumPy turned integers into its own float64, where PyTorch takes the default dtype."""
    return array.dtype.kind == "f" and x.dtype.kind in "biu"


def floating(x: Any) -> Any:
    """An integer tensor as the default floating dtype; anything else as it is."""
    if isinstance(x, Tensor) and x._array.dtype.kind in "biu":
        return cast(x, _floating_dtype(x))
    return x


def _floating_dtype(*operands: Any) -> Any:
    """What integers become in a quotient: NumPy says float64, PyTorch the default dtype."""
    return np.dtype(np.float64) if Array in map(type, operands) else dtypes.get_default_dtype()


def alone(record: Recorder, rule: Rule, x: Any) -> Any:
    """The operand of a function of one: a number or an array, or a TypeError."""
    result = foreign(record, rule, (x,))
    if result is NotImplemented:
        name = getattr(rule.function, "__name__", rule.name.lower())
        raise TypeError(
            f"{name}() takes a tensor or a number, but got {type(x).__name__}. "
            "Make a tensor with wengert.tensor(...)."
        )
    return result


def cast(x: Tensor, dtype: Any) -> Tensor:
    """A recorded change of dtype; none if there is nothing to change."""
    return x if x._array.dtype is dtype else casting.record(x, dtype)


def foreign(record: Recorder, rule: Rule, operands: tuple[Any, ...]) -> Any:
    """Operands that are neither tensors nor Python numbers: NumPy scalars, arrays, lists."""
    tensors = []
    number = None
    for name, x in zip(rule.arguments, operands, strict=False):
        if isinstance(x, np.generic):
            x = x.item()
        elif isinstance(x, np.ndarray):
            x = dtypes.native(x)
            x = wrap(x) if x.ndim else x.item()
        elif type(x) not in NUMBERS and not isinstance(x, Tensor):
            if hasattr(x, "__array_function__"):
                number = number if x.ndim else name
                x = wrap(x if x.ndim else kind_of(x).met(x))
            elif isinstance(x, (bool, int, float, complex)):
                x = next(kind(x) for kind in (bool, int, float, complex) if isinstance(x, kind))  # type: ignore[arg-type]
            elif dtypes.is_foreign(x):
                raise dtypes.foreign(x)
            elif isinstance(x, (list, tuple)) and Array in map(type, operands):
                x = _joined(x)  # as NumPy's arrays take lists
            else:
                return NotImplemented
        tensors.append(x)
    if not any(isinstance(x, Tensor) and not _is_number(x) for x in tensors):
        tensors[0] = _of_number(tensors[0])
    result = record(*tensors)
    if number is not None and is_binary(rule) and result._node is not None:
        result._node.frees = casting.frees(rule, number)
    return result


def number_in(x: Tensor) -> Any:
    """The number of a tensor, as `item()` gives it; the array where it has several: under vmap."""
    return x.item() if known(x._array) or kind_of(x._array).runs_later else x._array


def as_pythons(x: Any) -> Any:
    """One of NumPy's numbers as the Python's as which it meets a tensor; anything else as it is."""
    if isinstance(x, np.generic):
        return x.item()
    return kind_of(x).met(x) if dtypes.is_number_to_come(x) else x


def _is_number(x: Tensor) -> bool:
    """Whether a tensor stands for a number of Python's that is not known yet."""
    return dtypes.is_pythons_number(x._array)


def _of_number(x: Any) -> Tensor:
    """A tensor of a number, of the dtype that tensors of such numbers have."""
    array = x._array if isinstance(x, Tensor) else np.asarray(x)
    return wrap(array.astype(dtypes.result_type(array if isinstance(x, Tensor) else x)))


def _joined(items: Any) -> Any:
    """An array of the items of a list, which may be lists, and of which some may be tensors."""
    parts = [_joined(x) if isinstance(x, (list, tuple)) else x for x in items]
    return np.stack(parts) if any(isinstance(x, Tensor) for x in parts) else wrap(np.asarray(parts))


def promoted(record: Recorder, rule: Rule, operands: tuple[Any, ...]) -> Any:
    """Operands of several dtypes: cast to the one that promotion gives, and call again."""
    tracked = {rule.arguments.index(n) for n in rule.differentiable}
    these = [x for i, x in enumerate(operands) if i in tracked and x is not None]
    target = dtypes.canonical(
        dtypes.result_type(*(x._array if isinstance(x, Tensor) else x for x in these))
    )
    if not rule.promotes:
        one_dtype(rule.name, these)
    if is_binary(rule) and not dtypes.is_inexact(target) and not keeps_integers(rule):
        target = _floating_dtype(*operands)
    alike = []
    for i, x in enumerate(operands):
        if i in tracked and x is not None:
            if isinstance(x, Tensor):
                x = cast(x, target)
            elif isinstance(x, np.ndarray) and x.dtype != target:
                x = x.astype(target)
            elif type(x) in NUMBERS and len(these) == 2 and target.kind == "c":
                x = complex(x)
        alike.append(x)
    if all(x is y for x, y in zip(alike, operands, strict=True)):
        # Nothing to cast, yet the result changed its dtype: two zero-dimensional operands, say.
        return record(*(_as_array(x, target) if i in tracked else x for i, x in enumerate(alike)))
    return record(*alike)


def one_dtype(name: str, tensors: Iterable[Any]) -> None:
    """DtypeError if there are tensors of different dtypes among these values."""
    first = None
    for x in tensors:
        if not isinstance(x, Tensor) or x._array.dtype is first:
            continue
        if first is None or x._array.dtype == first:
            first = x._array.dtype
            continue
        kinds = [x._array.dtype for x in tensors if isinstance(x, Tensor)]
        raise DtypeError(
            f"{name}: expected tensors to have the same dtype, but got "
            f"{' and '.join(map(str, dict.fromkeys(kinds)))}. "
            "Convert one, as in b.to(a.dtype), or a layer, as in layer.double()."
        )


def no_order(name: str, dtype: Any) -> DtypeError:
    """The error of a function that asks which of two complex numbers is the larger."""
    return DtypeError(
        f"{name} is not defined for {dtype}: complex numbers have no order. Compare x.abs(), or "
        "x.real."
    )


def wrapped(number: Any, x: Any) -> Tensor:
    """A number that is out of the range of the array's integers, as PyTorch counts: -1 as 255."""
    return wrap(np.asarray(number).astype(x.dtype))


def _as_array(x: Any, dtype: Any) -> Any:
    if isinstance(x, Tensor) or x is None:
        return x
    if isinstance(x, str):
        raise TypeError("a tensor or a number was expected, not a str. Is it an argument's name?")
    try:
        return wrap(np.asarray(x, dtype))
    except ValueError as error:
        raise TypeError(f"a tensor or a number was expected, not {x!r}: {error}") from None


def uniform(items: list[Any]) -> list[Any]:
    """The items of a list argument, cast to one dtype."""
    kinds = {x._array.dtype if isinstance(x, Tensor) else dtypes.of(x) for x in items}
    if len(kinds) < 2:
        return items
    target = dtypes.result_type(*(x._array if isinstance(x, Tensor) else x for x in items))
    return [cast(x, target) if isinstance(x, Tensor) else np.asarray(x, target) for x in items]


def tensors_among(values: Iterable[Any]) -> list[Tensor]:
    """The tensors among some values, and in lists, tuples and dictionaries of them."""
    tensors: list[Tensor] = []
    for x in values:
        if isinstance(x, Tensor):
            tensors.append(x)
        elif isinstance(x, (list, tuple)):
            tensors += tensors_among(x)
        elif isinstance(x, dict):
            tensors += tensors_among(x.values())
    return tensors
