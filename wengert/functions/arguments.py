"""What the PyTorch-named functions share: operands, dimensions, NumPy's argument names.

Read `autograd/record.py` first: a function here normalises its arguments and calls a recorder.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.misfits import misfit, numbered
from wengert.autograd.operands import cast, no_order, one_dtype
from wengert.autograd.out import into as into
from wengert.autograd.out import numpys_names, refuse_unless, renamed
from wengert.autograd.out import takes_names as takes_names
from wengert.autograd.out import takes_out as takes_out
from wengert.autograd.settings import checked_settings, settled
from wengert.dispatch import Function, signature
from wengert.functions import creation
from wengert.history import modes
from wengert.rules.loops import ADDED
from wengert.tensor import INFERENCE, NUMBERS, Size, Tensor, settle, wrap

Dim = int | Sequence[int] | None


def tensor_of(x: Any, name: str = "input") -> Tensor:
    """A function's operand as a Tensor, at no cost to tensors: arrays and numbers are taken too.

    A list is none, as in PyTorch: TypeError.
    """
    if isinstance(x, Tensor):
        return x
    number = isinstance(x, (np.ndarray, np.generic)) or dtypes.is_pythons_number(x)
    if hasattr(x, "__array_function__") and not number:
        return wrap(x)  # another kind of array
    if not (type(x) in NUMBERS or hasattr(x, "__array__")):
        raise TypeError(
            f"argument '{name}' must be a Tensor, got {type(x).__name__}. "
            "Make one with wengert.tensor(...)."
        )
    return creation.as_tensor(x)


def only_tensors(items: Sequence[Any]) -> tuple[Tensor, ...]:
    """The items of an argument that is a list of tensors, or of arrays; numbers are a TypeError."""
    for k, x in enumerate(items):
        if type(x) in NUMBERS or dtypes.is_pythons_number(x):
            raise TypeError(
                f"expected Tensor as element {k} in argument 0, but got {type(x).__name__}. "
                "Make one with wengert.tensor(...)."
            )
    return tuple(tensor_of(x, "tensors") for x in items)


def ordered(x: Any, name: str) -> Tensor:
    """The operand of a function that looks for the larger number: DtypeError for complex ones.

    NumPy orders them by their real parts first, which is the order of no one's mathematics.
    """
    x = x if isinstance(x, Tensor) else tensor_of(x)
    if x._array.dtype.kind == "c":
        raise no_order(name, x.dtype)
    return x


def of_tensors(
    count: int, alike: bool = False, takes_out: bool = False, takes_names: bool = False
) -> Callable[[Function], Function]:
    """The first `count` arguments of a function are tensors, or arrays: TypeError for others.

    Of `count` 0, any one of the first two. If they have to be `alike`, tensors of different dtypes
    are a DtypeError. One that `takes_out`, or `takes_names`, does so as if decorated by that.
    """

    def decorate(function: Function) -> Function:
        names, (glance, check) = signature(function)[0][:count], checked_settings(function)
        renames = numpys_names(function) if takes_out or takes_names else {}
        tensors, lone, least = slice(count or 2), count == 1, 1 if count == 1 else 2
        seconds = () if count > 2 else Tensor if count else (Tensor, *NUMBERS)

        @functools.wraps(function)
        def checked(*args: Any, out: Any = None, **kwargs: Any) -> Any:
            given = kwargs
            try:
                if kwargs and renames:
                    kwargs = renamed(function.__name__, renames, kwargs)
                n = len(args)
                if (
                    n >= least
                    and out is None
                    and isinstance(args[0], Tensor)
                    and (lone or isinstance(args[1], seconds))
                    and not (alike and args[0]._array.dtype is not args[1]._array.dtype)
                ):  # the commonest calls take the fewest steps
                    if kwargs:
                        check(args, kwargs)
                        return function(*args, **kwargs)
                    for i, at_once in glance:
                        if i < n and type(args[i]) not in at_once:
                            check(args, kwargs)
                            break
                    return function(*args)
                if out is not None:
                    refuse_unless(takes_out, function)
                    return into(out, checked, args, kwargs)
                if kwargs:
                    by_name(args, kwargs)
                elif alike:
                    one_dtype(function.__name__, args[tensors])
                if not lone or (args and not isinstance(args[0], Tensor)):
                    for x in args[tensors]:
                        if not isinstance(x, Tensor):
                            args = tuple(operands_of(function, count, args))
                            break
                check(args, kwargs)
                return function(*args, **kwargs)
            except Exception as error:
                if numbers := numbered(function, args, kwargs):
                    return checked(*numbers[0], out=out, **numbers[1])
                put = {} if out is None else {"out": out}
                misfit(error, function, args, kwargs | put, given | put)
                raise

        def by_name(args: Any, kwargs: dict[str, Any]) -> None:
            if alike:
                named = map(kwargs.get, names[len(args) :])
                one_dtype(function.__name__, (*args[tensors], *named))
            for i, n in enumerate(names[len(args) :], len(args)):
                if n in kwargs:
                    kwargs[n] = _tensor(kwargs[n], function, i)

        vars(checked)["takes_out"] = takes_out
        if takes_out or takes_names:
            vars(checked)["numpys_names"] = renames
        return settled(checked)

    return decorate


def operands_of(function: Function, count: int, args: Sequence[Any]) -> list[Any]:
    """The arguments of a function of which the first `count` are tensors; see `of_tensors`."""
    given, numbers = [*args], 0
    for i, x in enumerate(args[: count or 2]):
        if isinstance(x, Tensor):
            continue
        if i >= count and (isinstance(x, _NUMBERS) or dtypes.is_number_to_come(x)):
            numbers += type(x) in NUMBERS or dtypes.is_pythons_number(x)
        else:
            given[i] = _tensor(x, function, i)
    if numbers and numbers == len(args[:2]):
        names = signature(function)[0]
        raise TypeError(
            f"{function.__name__}(): argument '{names[0]}' (position 1) or '{names[1]}' (position "
            f"2) must be a Tensor, not {' and '.join(type(x).__name__ for x in args[:2])}. Make "
            "one with wengert.tensor(...)."
        )
    return given


_NUMBERS = (float, int, complex, np.bool_, Number)  # last what takes thrice as long to ask


def unchecked(function: Function) -> Function:
    """A public function as it is written, for calls from here: without what checks a user's call.

    >>> unchecked(tensor_of) is tensor_of
    True
    """
    return inspect.unwrap(function)


def rounds(*args: Any) -> bool:
    """Whether steps on these would be rounded in between: they have several dtypes, or 16 bits."""
    first = None
    for x in args:
        if isinstance(x, Tensor):
            dtype = x._array.dtype
            if dtype.itemsize == 2 or (first is not None and dtype is not first):
                return True
            first = dtype
    return False


def rounded_once(function: Function) -> Function:
    """A function of several steps, which are one in PyTorch, of floats: they are taken in their
    common dtype, those of 16 bits in 32, and rounded last.
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not rounds(*args):
            return function(*args, **kwargs)
        given = [x._array for x in args if isinstance(x, Tensor)]
        common = dtypes.result_type(*given)
        if not dtypes.is_inexact(common):
            return function(*args, **kwargs)
        wide = _SINGLE if common.itemsize == 2 else common
        tensors = [cast(cast(x, common), wide) if isinstance(x, Tensor) else x for x in args]
        return cast(function(*tensors, **kwargs), common)

    return run


_SINGLE = np.dtype(np.float32)


def straight(record: Function, count: int, *settings: Any) -> Callable[[Function], Function]:
    """A decorator: a call of so many tensors, of one dtype of 32 bits and more, and of nothing else
    is recorded without a layer between, with these settings; if that fails, the function says why.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def taken(*args: Any, **kwargs: Any) -> Any:
            if len(args) == count and not kwargs:
                dtype = getattr(getattr(args[0], "_array", None), "dtype", None)
                for x in args:
                    if not isinstance(x, Tensor) or x._array.dtype is not dtype:
                        break
                else:
                    if dtype in ADDED:
                        try:
                            return record(*args, *settings)
                        except (TypeError, ValueError, RuntimeError):
                            pass
            return function(*args, **kwargs)

        return taken

    return decorate


def numbers_first(*names: str) -> Callable[[Function], Function]:
    """Numbers among too many positional arguments are those `names`: an order that PyTorch takes.

    `addmm(beta, M, alpha, A, B)` is `addmm(M, A, B, beta=beta, alpha=alpha)`; alpha may be missing.
    """

    def decorate(function: Function) -> Function:
        count = len(signature(function)[0]) - len(signature(function)[1])

        @functools.wraps(function)
        def taken(*args: Any, **kwargs: Any) -> Any:
            if len(args) > count:
                numbers = [x for x in args if type(x) in NUMBERS]
                args = tuple(x for x in args if type(x) not in NUMBERS)
                if len(numbers) > len(names):
                    raise TypeError(
                        f"{function.__name__}() takes the numbers {' and '.join(names)} beside "
                        f"its tensors, got {len(numbers)}"
                    )
                kwargs.update(zip(names, numbers, strict=False))
            return function(*args, **kwargs)

        return taken

    return decorate


def _tensor(x: Any, function: Function, place: int) -> Tensor:
    if dtypes.is_foreign(x):
        raise dtypes.foreign(x)
    if isinstance(x, Tensor) or (hasattr(x, "__array__") and not dtypes.is_pythons_number(x)):
        return tensor_of(x)
    raise TypeError(
        f"{function.__name__}(): argument '{signature(function)[0][place]}' (position "
        f"{place + 1}) must be a Tensor, not {type(x).__name__}. Make one with wengert.tensor(...)."
    )


def constant(array: Any) -> Tensor:
    """A result outside the graph: indices, counts, truth values."""
    out = wrap(array if type(array) is np.ndarray else settle(array))
    if modes.special and modes.current().inference:
        out._origin = INFERENCE
    return out


# ---- dimensions ----------------------------------------------------------------------------


def one_dim(dim: Any, ndim: int) -> int:
    """A dimension counted from the front; IndexError if the tensor has no such dimension.

    >>> one_dim(-1, 3)
    2
    """
    if type(dim) is int and 0 <= dim < ndim:
        return dim
    dim = operator.index(dim)
    n = ndim or 1  # a zero-dimensional tensor answers to 0 and -1
    if not -n <= dim < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
        )
    return dim % n


def some_dims(dim: Any, ndim: int) -> Any:
    """NumPy's `axis` for `dim`: None for all dimensions, a number, or a tuple without
    repetition.
    """
    if dim is None:
        return None
    if isinstance(dim, int):
        dim = one_dim(dim, ndim)
        return dim if ndim else None
    if not isinstance(dim, (tuple, list)) and hasattr(dim, "__index__"):
        return some_dims(operator.index(dim), ndim)
    dims = tuple(one_dim(d, ndim) for d in dim)
    repeated = [d for d in dims if dims.count(d) > 1]
    if repeated:
        raise RuntimeError(f"dim {repeated[0]} appears multiple times in the list of dims")
    return dims if dims and ndim else None


def sizes(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one or as one sequence; -1 is let through."""
    if not shape:
        raise TypeError("missing the size: one number for each dimension, or ()")
    if len(shape) == 1 and isinstance(shape[0], (tuple, list, Size)):
        shape = tuple(shape[0])
    elif len(shape) == 1 and isinstance(shape[0], Tensor) and shape[0].ndim == 1:
        shape = tuple(shape[0].tolist())
    for n in shape:
        if type(n) is not int:
            return tuple(operator.index(n) for n in shape)
    return shape


def numpy_names(dim: Any, keepdim: Any, names: dict[str, Any], function: str) -> tuple[Any, Any]:
    """`axis=` and `keepdims=`, which PyTorch takes for `dim=` and `keepdim=`."""
    dim = names.pop("axis", dim)
    keepdim = names.pop("keepdims", keepdim)
    if names:
        raise TypeError(f"{function}() got an unexpected keyword argument {next(iter(names))!r}")
    return dim, keepdim
