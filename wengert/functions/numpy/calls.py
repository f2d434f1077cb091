"""What NumPy's functions mean on Tensors.

NumPy hands a call with a Tensor among its arguments to what `meaning` decided for it, once.
One with a rule is recorded; one that is composed of others runs so; one without a derivative
(comparisons, shapes, searches) runs on the arrays inside. What is left is an error that says so, if
some argument requires grad, and NumPy's own result otherwise.

Results and dtypes are NumPy's here; the `wengert.` names follow PyTorch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from wengert import dtypes
from wengert.arrays.facts import COMPOSED, CONSTANT, REDUCTIONS, RUNNING, composed
from wengert.arrays.kind import array_of, name_of
from wengert.autograd import inplace
from wengert.autograd.engine import mark_written
from wengert.autograd.operands import cast, tensors_among
from wengert.autograd.out import refuse_tracked_out
from wengert.autograd.record import recorder
from wengert.dispatch import as_array, each, signature, writes
from wengert.errors import MissingRuleError
from wengert.functions.joining import meshgrid
from wengert.functions.methods.operators import REFLECTED
from wengert.functions.numpy.arguments import described
from wengert.functions.products import einsum, from_sublists
from wengert.functions.shapes import diag
from wengert.functions.sorting import stable_order
from wengert.history import modes
from wengert.rules import RULES
from wengert.rules.elementwise import nan_to_num
from wengert.rules.rule import Rule
from wengert.rules.shapes import difference
from wengert.rules.special import of_scipy
from wengert.tensor import MEANINGS, NUMBERS, Array, Tensor, carries, settle, wrap


def meaning(function: Any) -> Callable[..., Any]:
    """What a function means on Tensors, noted for its further calls if it is one that we know."""
    own = of_scipy(function) or function
    rule = RULES.get(own)
    if function in COMPOSED:
        answer = COMPOSED[function]
        if _of_numpy(function):
            answer = described(function, signature(answer)[0], answer)
    elif rule is not None:
        answer = _recorded(rule)
    elif own is not function:
        answer = own
    elif function in CONSTANT:
        answer = _operated(function, functools.partial(_inside, function))
    else:
        return functools.partial(_without_rule, function)
    MEANINGS[function] = answer
    return answer


MEANINGS.decide = meaning


def _recorded(rule: Rule) -> Callable[..., Any]:
    """The recorder, of arguments as NumPy promotes them."""
    record, count = recorder(rule.function), len(rule.arguments)
    needed = sum(n not in rule.defaults for n in rule.arguments)
    places = [k for k, n in enumerate(rule.arguments) if n in rule.reverse]
    settings = [{*rule.arguments[k:]} - rule.reverse.keys() for k in range(count + 1)]

    def fits(args: Any, kwargs: Any) -> bool:
        """Whether tensors of one dtype stand where tensors do, and settings have their names."""
        given = len(args)
        if not needed <= given <= count or (kwargs and not kwargs.keys() <= settings[given]):
            return False
        dtype = None
        for k in places:
            if k < given:
                if not isinstance(args[k], Tensor):
                    return False
                mine = args[k]._array.dtype
                if not dtypes.is_inexact(mine) or (dtype is not None and mine is not dtype):
                    return False
                dtype = mine
        return True

    def bound(*args: Any, **kwargs: Any) -> Any:
        if rule.sequence is None and fits(args, kwargs):
            return record(*args, **kwargs)
        return record(*_one_dtype(rule, rule.bind(*args, **kwargs)).values())

    general = bound
    if _of_numpy(rule.function):
        general = described(rule.function, rule.arguments, bound)
    general = _operated(rule.function, general)

    def elementwise(*args: Any, **kwargs: Any) -> Any:
        dtype = None
        for x in args:  # floating tensors of one dtype, and numbers, need no promotion
            if isinstance(x, Tensor):
                mine = x._array.dtype
                if (mine is not dtype and dtype is not None) or not dtypes.is_inexact(mine):
                    break
                dtype = mine
            elif type(x) not in NUMBERS:
                break
        else:
            if not kwargs and len(args) == count:
                return record(*args)
        return general(*args, **kwargs)

    return elementwise if rule.family == "elementwise" else general


def _operated(function: Any, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """The function of an operator: NumPy's numbers hand it `s * x`, which is what `x * s` is."""
    if function not in REFLECTED:
        return otherwise
    method = getattr(Tensor, REFLECTED[function])

    def operated(*args: Any, **kwargs: Any) -> Any:
        x = args[1] if len(args) == 2 and not kwargs else None
        if isinstance(x, Tensor) and not isinstance(x, Array) and _is_numpys_number(args[0]):
            return method(x, args[0])
        return otherwise(*args, **kwargs)

    return operated


def _is_numpys_number(x: Any) -> bool:
    """Whether this is a number of NumPy's, or an array of no dimensions, of any kind."""
    array = hasattr(type(x), "__array_ufunc__") and not isinstance(x, Tensor)
    return isinstance(x, np.generic) or (array and not x.ndim and not dtypes.is_pythons_number(x))


def _of_numpy(function: Any) -> bool:
    """Whether a function has NumPy's own signature, which says what its arguments are."""
    module = getattr(function, "__module__", None) or ""
    return isinstance(function, np.ufunc) or module.partition(".")[0] == "numpy"


def _inside(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A function without a derivative, of the arrays inside."""
    return each(_wrapped, function(*each(array_of, args), **each(array_of, kwargs)))


def _declared(function: Any) -> str:
    """How a rule is given to a function of somebody else's."""
    if isinstance(function, np.ufunc) and function.signature is None:
        one = "elementwise" if function.nout == 1 else "general"
        return f"wengert.primitive.{one}(...)({name_of(function)})"
    return (
        "a function of your own that calls it, with @wengert.primitive.elementwise, linear or "
        "general"
    )


def _without_rule(function: Any, *args: Any, **kwargs: Any) -> Any:
    tensors = tensors_among((args, kwargs))
    tracked = modes.is_grad_enabled() and any(x.requires_grad for x in tensors)
    if tracked or carries(*tensors):
        has = "requires grad" if tracked else "carries a tangent"
        raise MissingRuleError(
            f"{name_of(function)} has no derivative rule, and an argument {has}. Write it "
            f"with functions that have one, give it a rule ({_declared(function)}), or pass "
            "x.detach() if no derivative is wanted."
        )
    if writes(function) and isinstance(args[0], Tensor):
        inplace.refuse(args[0])
        _inside(function, *args, **kwargs)
        mark_written(args[0], name_of(function))
        return None
    return _inside(function, *args, **kwargs)


def into(out: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`out=`: the result is written into a tensor or an array that exists."""
    out = out[0] if isinstance(out, tuple) else out
    where = kwargs.pop("where", True) if isinstance(function, np.ufunc) else True
    refuse_tracked_out(getattr(function, "__name__", str(function)), ((*args, out), kwargs))
    result = MEANINGS[function](*args, **kwargs)
    if where is not True:
        result = np.where(where, result, out)
    if isinstance(out, Tensor):
        return out.copy_(result)
    out[...] = result._array if isinstance(result, Tensor) else result
    return out


MEANINGS.into = into


def _one_dtype(rule: Rule, call: dict[str, Any]) -> dict[str, Any]:
    """Tensors of several dtypes among the differentiable arguments, cast as NumPy promotes them."""
    if rule.sequence is not None:
        return call
    given = {
        n: call[n]
        for n in rule.reverse
        if hasattr(type(call[n]), "__array_ufunc__") and not dtypes.is_number_to_come(call[n])
    }
    kinds = {x.dtype for x in given.values()}
    if len(kinds) > 1 and not (
        rule.family == "elementwise" and all(kind.kind in "biu" for kind in kinds)
    ):
        target = np.result_type(*(x._array if isinstance(x, Tensor) else x for x in given.values()))
        for n, x in given.items():
            call[n] = _cast(x, target)
    if rule.family == "elementwise" and all(kind.kind in "biu" for kind in kinds):
        # NumPy's own floating dtype for integers, where the wengert name takes the default one.
        samples = {n: np.ones(1, x.dtype) for n, x in given.items()}
        with np.errstate(all="ignore"):
            target = as_array(rule.function(*{**call, **samples}.values())).dtype
        if dtypes.is_floating(target):
            for n, x in given.items():
                call[n] = _cast(x, target)
    return call


def _cast(x: Any, dtype: Any) -> Tensor:
    return cast(x, dtype) if isinstance(x, Tensor) else wrap(as_array(x, dtype))


def promoted(operands: Any) -> list[Any]:
    """Operands of functions that take one dtype, in the one that NumPy gives their result."""
    target = np.result_type(
        *(dtypes.of(x._array if isinstance(x, Tensor) else x) for x in operands)
    )
    return [_cast(x, target) for x in operands]


def _wrapped(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return wrap(settle(value))
    if hasattr(type(value), "__array_function__") and not isinstance(value, Tensor):
        return value if dtypes.is_pythons_number(value) else wrap(value)
    return value


# ---- writing, and the methods of ufuncs --------------------------------------------------------


for _other, _own in (
    (np.degrees, np.rad2deg), (np.radians, np.deg2rad), (np.fix, np.trunc),
    (np.linalg.outer, np.outer), (np.linalg.matmul, np.matmul), (np.linalg.cross, np.cross),
    (np.linalg.tensordot, np.tensordot),
):  # fmt: skip
    composed(_other)(_own)


@composed(np.copyto)
def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if where is not True:
        src = np.where(where, src, dst)
    if isinstance(dst, Tensor):
        dst.copy_(src)
    else:
        np.copyto(dst, np.asarray(src), casting=casting)  # type: ignore[arg-type]


def _of_methods() -> None:
    """Sums and their like, called as methods of ufuncs: np.add.reduce(x), np.add.accumulate(x)."""

    def reduced(function: Any) -> Any:
        def meaning(a: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False) -> Any:
            return function(a, axis=axis, keepdims=keepdims)

        return meaning

    def running(function: Any) -> Any:
        return lambda a, axis=0, dtype=None: function(a, axis=axis)

    for ufunc, function in REDUCTIONS.items():
        if function not in CONSTANT:
            composed(ufunc.reduce)(reduced(function))
    for ufunc, function in RUNNING.items():
        composed(ufunc.accumulate)(running(function))


_of_methods()


@composed(np.clip)
def _clip(
    a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None, **rest: Any
) -> Any:
    """Numbers as bounds are constants; arrays may have gradients of their own, and broadcast."""
    no_more(rest)
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if isinstance(a, Tensor) and all(b is None or type(b) in NUMBERS for b in (low, high)):
        return recorder(np.clip)(a, low, high)
    a = a if low is None else np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


# ---- NumPy's compositions, in terms of functions that have rules ---------------------------


def _each(arrays: Any, change: Callable[[Any], Any]) -> Any:
    changed = tuple(map(change, arrays))
    return changed[0] if len(changed) == 1 else changed


@composed(np.atleast_1d)
def _atleast_1d(*arys: Any) -> Any:
    return _each(arys, lambda x: x if len(x.shape) else np.reshape(x, (1,)))


@composed(np.atleast_2d)
def _atleast_2d(*arys: Any) -> Any:
    return _each(arys, lambda x: x if len(x.shape) > 1 else np.reshape(x, (1, -1)))


@composed(np.atleast_3d)
def _atleast_3d(*arys: Any) -> Any:
    def three(x: Any) -> Any:
        x = x if len(x.shape) > 1 else np.reshape(x, (1, -1))
        return x if len(x.shape) > 2 else np.expand_dims(x, 2)

    return _each(arys, three)


def _list(arrays: Any, change: Callable[[Any], Any]) -> list[Any]:
    return [change(x if isinstance(x, Tensor) else np.asarray(x)) for x in arrays]


@composed(np.vstack)
def _vstack(tup: Any) -> Any:
    return np.concatenate(_list(tup, np.atleast_2d), 0)


@composed(np.hstack)
def _hstack(tup: Any) -> Any:
    items = _list(tup, np.atleast_1d)
    return np.concatenate(items, 0 if len(items[0].shape) == 1 else 1)


@composed(np.dstack)
def _dstack(tup: Any) -> Any:
    return np.concatenate(_list(tup, np.atleast_3d), 2)


@composed(np.column_stack)
def _column_stack(tup: Any) -> Any:
    return np.concatenate(
        _list(tup, lambda x: x if len(x.shape) > 1 else np.reshape(x, (-1, 1))), 1
    )


@composed(np.fliplr)
def _fliplr(m: Any) -> Any:
    return np.flip(m, 1)


@composed(np.flipud)
def _flipud(m: Any) -> Any:
    return np.flip(m, 0)


@composed(np.outer)
def _outer(a: Any, b: Any) -> Any:
    return np.multiply(np.reshape(a, (-1, 1)), np.reshape(b, (1, -1)))


@composed(np.trace)
def _trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, **rest: Any
) -> Any:
    no_more(rest)
    a = a if dtype is None else a.to(np.dtype(dtype))
    return np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1)


@composed(np.rollaxis)
def _rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    n = len(a.shape)
    axis, start = axis % n, start + n if start < 0 else start
    return np.moveaxis(a, axis, start - (start > axis))


def no_more(rest: dict[str, Any]) -> None:
    """TypeError for an argument of NumPy's that has no meaning on Tensors."""
    for name, value in rest.items():
        if value is not None and value is not np._NoValue:
            raise TypeError(f"{name}= is not supported on Tensors; apply it before or after")


def root(square: Any) -> Any:
    """The square root of a sum of squares: where that is 0, a convex kink, the gradient is 0."""
    zero = square == 0
    return np.where(zero, 0, np.sqrt(np.where(zero, 1, square)))


@composed(np.split)
def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if not np.ndim(indices_or_sections) and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return _array_split(ary, indices_or_sections, axis)


@composed(np.array_split)
def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    bounds = np.array_split(np.arange(ary.shape[axis]), np.asarray(indices_or_sections))
    before = (slice(None),) * (axis % ary.ndim)
    return [
        ary[(*before, slice(int(b[0]), int(b[-1]) + 1) if len(b) else slice(0, 0))] for b in bounds
    ]


@composed(np.einsum)
def _einsum(subscripts: Any, *operands: Any, optimize: Any = False) -> Any:
    """The axes are named in a string, or by a list of numbers after each operand."""
    if not isinstance(subscripts, str):
        subscripts, operands = from_sublists((subscripts, *operands))
    return einsum(subscripts, *promoted(operands))


@composed(np.inner)
def _inner(a: Any, b: Any) -> Any:
    a, b = as_array(a), as_array(b)
    if not (a.shape and b.shape):
        return np.multiply(a, b)
    return np.tensordot(a, b, (-1 % max(len(a.shape), 1), -1 % max(len(b.shape), 1)))


@composed(np.vdot)
def _vdot(a: Any, b: Any) -> Any:
    return np.sum(np.multiply(np.conj(np.ravel(a)), np.ravel(b)))


@composed(np.diag)
def _diag(v: Any, k: int = 0) -> Any:
    return diag(v, k)


@composed(np.copy)
def _copy(a: Any) -> Any:
    return a.clone()


@composed(np.nan_to_num)
def _nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    return recorder(nan_to_num)(x, nan, posinf, neginf)


@composed(np.take)
def _take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise", **rest: Any) -> Any:
    no_more(rest)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = normalize_axis_index(axis, a.ndim)
    if mode == "clip":
        indices = np.clip(as_array(indices), 0, a.shape[axis] - 1)
    elif mode == "wrap":
        indices = np.remainder(as_array(indices), a.shape[axis])
    return a[(*(slice(None),) * axis, indices)]


@composed(np.diff)
def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    a = as_array(a)
    axis = normalize_axis_index(axis, a.ndim)
    slab = [1 if d == axis else size for d, size in enumerate(a.shape)]
    ends = [
        np.broadcast_to(x, slab) if x is not None and not np.ndim(x) else x
        for x in (prepend, append)
    ]
    parts = [x for x in (ends[0], a, ends[1]) if x is not None]
    a = np.concatenate(parts, axis=axis) if len(parts) > 1 else a
    for _ in range(n):
        a = difference(a, axis)
    return a


@composed(np.meshgrid)
def _meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if sparse:
        along = [*range(len(xi))]
        if indexing == "xy" and len(xi) > 1:
            along[:2] = 1, 0
        grids: list[Any] = [
            np.reshape(x, [-1 if k == d else 1 for k in range(len(xi))])
            for d, x in zip(along, xi, strict=True)
        ]
    else:
        grids = list(meshgrid(*map(np.ravel, xi), indexing=indexing))
    return list(map(np.copy, grids)) if copy else grids


@composed(np.broadcast_arrays)
def _broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    args = tuple(map(as_array, args))
    shape = np.broadcast_shapes(*(x.shape for x in args))
    return tuple(np.broadcast_to(x, shape) for x in args)


@composed(np.sort)
def _sort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """Always the stable order, which every kind allows; `order` names fields, which none has."""
    no_more({"order": order})
    a, axis = (np.ravel(a), 0) if axis is None else (a, axis)
    return np.take_along_axis(a, stable_order(a._array, axis), axis)


@composed(np.pad)
def _pad(array: Any, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    """Any mode, by padding the indices: each result element is an input element or a constant."""
    value = options.pop("constant_values", 0)
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap"):
        raise MissingRuleError(f"numpy.pad with mode={mode!r} is not supported on Tensors")
    if options.get("reflect_type", "even") != "even":
        raise MissingRuleError("numpy.pad with reflect_type='odd' is not supported on Tensors")
    places = np.arange(array._array.size).reshape(array.shape)
    if mode == "constant":
        places = np.pad(places, pad_width, constant_values=-1)
        if not array._array.size:
            zeros = np.zeros(array.shape, array.dtype)
            return wrap(np.pad(zeros, pad_width, constant_values=value))
        picked = np.ravel(array)[np.maximum(places, 0)]
        around = np.pad(np.zeros(array.shape, array.dtype), pad_width, constant_values=value)
        return np.where(places < 0, around, picked)
    return np.ravel(array)[np.pad(places, pad_width, mode=mode, **options)]  # type: ignore[call-overload]
