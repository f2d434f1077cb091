"""DependentArray: numbers that know which inputs they were computed from.

Each element carries, beside its value, a name for the set of inputs that it depends on
(`origins.py`). A function run on such arrays shows the sparsity pattern of its Jacobian; the
gradient of a function, run on them, shows that of its Hessian, since the engine runs on any kind of
array. Values are there, so branches and indices work; the pattern is that of the branches taken.

A function is answered, in this order, by its meaning (`functions.py`), as a function that
takes each element by itself, by the body of a primitive, by what it is composed of, or with care:
everything that it returns depends on everything that it was given.

What depends on nothing is left out only where that holds at every point: a number multiplied by a
zero of a constant, but never by a zero that was computed from the inputs.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.dependent.origins import Ids, Origins
from wengert.arrays.kind import Kind, array_of
from wengert.arrays.methods import ArrayMethods
from wengert.dispatch import each, numpy, writes
from wengert.errors import PatternError
from wengert.history.location import here, line_of
from wengert.rules import RULES


class Dependence(Origins, Kind):
    """What the arrays of one run have in common: names given, and what functions mean on them."""

    def store(self, function: Any, result: Any, targets: Any, where: Any) -> Any:
        """`out=`: the arrays named take the results, where they are to."""
        results = result if isinstance(result, tuple) else (result,)
        where = values_of(where)
        for target, value in zip(targets, results, strict=True):
            if target is None:
                continue
            if type(target) is not DependentArray:
                _written(target, int(value.ids.any()))
                np.copyto(target, value.value, where=where, casting="same_kind")
            else:
                np.copyto(target.value, value.value, where=where, casting="same_kind")
                np.copyto(target.ids, value.ids, where=where)
        if targets[0] is None:
            return result
        return targets[0] if len(targets) == 1 else targets

    def elementwise(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Each element of the result depends on what its arguments do, those with a derivative."""
        rule = RULES.get(function)
        value = function(*values_of(args), **values_of(kwargs))
        given = [*args, *kwargs.values()]
        if rule is not None:
            named = {**dict(zip(rule.arguments, args, strict=False)), **kwargs}
            given = [x for name, x in named.items() if name in rule.reverse]
        ids: Any = np.zeros((), np.int64)
        for x in dependent_in(given):
            ids = self.either(ids, x.ids)
        return each_dependent(self, value, ids)

    def body(self, function: Any, args: Any, kwargs: Any) -> Any:
        return self._tried(super().body, function, args, kwargs)

    def composed(self, meaning: Any, args: Any, kwargs: Any) -> Any:
        return self._tried(super().composed, meaning, args, kwargs)

    def _tried(self, step: Any, function: Any, args: Any, kwargs: Any) -> Any:
        try:
            with _watched(self):
                return step(function, args, kwargs)
        except Exception:  # whatever is wrong with the call itself is wrong with it on values too
            return NotImplemented

    def otherwise(self, function: Any, args: Any, kwargs: Any) -> Any:
        """With care: every result depends on every argument, and what is written to as well."""
        name = self.everything([x.ids for x in dependent_in([args, kwargs])])
        value = function(*values_of(args), **values_of(kwargs))
        if writes(function) or function is np.copyto:
            target = args[0]
            if type(target) is not DependentArray:
                _written(target, name)
            elif dtypes.is_inexact(target.dtype):
                target.ids[...] = name
            return value
        if name:
            if isinstance(value, (float, complex)) and not isinstance(value, np.generic):
                raise PatternError(
                    f"while the sparsity pattern was looked for, {_name(function)} made a Python "
                    f"number of numbers that depend on the inputs, at\n  {line_of(*here())}\n"
                    "Give the pattern yourself: pattern=..., a sparse matrix."
                )
            self.careful.setdefault(_name(function))
        return each_dependent(self, value, name)

    # ---- what the engine asks -----------------------------------------------------------------

    def alike(self, x: Any, array: Any) -> Any:
        return dependent(self, values_of(array), ids_of(array))

    def number(self, x: Any) -> Any:
        return x


class DependentArray(ArrayMethods):
    """An array, `value`, and for each element the name of what it depends on, `ids`."""

    __slots__ = ("ids", "origins", "value")
    base = None
    kind = property(operator.attrgetter("origins"))

    def __init__(self, value: Any, ids: Ids, origins: Dependence) -> None:
        self.value = value
        self.ids = ids
        self.origins = origins

    # ---- state --------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.value.dtype

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def strides(self) -> tuple[int, ...]:
        return self.value.strides

    @property
    def flags(self) -> Any:
        return self.value.flags

    @property
    def constant(self) -> bool:
        """Whether no element depends on an input."""
        return not self.ids.any()

    # ---- numbers ------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self._dropped("a NumPy array")
        return np.array(self.value, dtype=dtype)

    def _dropped(self, what: str) -> None:
        if not self.constant:
            raise PatternError(
                f"while the sparsity pattern was looked for, {what} was made of numbers that "
                f"depend on the inputs, at\n  {line_of(*here())}\n"
                "which would lose what they depend on. Use NumPy's functions on the numbers as "
                "they are, np.zeros_like(x) for arrays to be filled and np.stack([...]) to join; "
                "or give the pattern yourself: pattern=..., a sparse matrix."
            )

    def item(self, *index: Any) -> Any:
        return self._number().item(*index)

    def tolist(self) -> Any:
        return self._number().tolist()

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return self.value.__index__()

    def _number(self) -> Any:
        """The values, for one who knows that Python's numbers have no derivative."""
        if self.origins.watched:  # the body of a function of ours does not mean to
            self._dropped("a number")
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value[()], spec) if not self.shape else repr(self)

    def __repr__(self) -> str:
        return f"<dependent {self.value!r}>"

    # ---- parts --------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        index = _whole(values_of(index))
        return DependentArray(self.value[index], self.ids[index], self.origins)

    def __setitem__(self, index: Any, value: Any) -> None:
        value, index = array_of(value), values_of(index)
        self.value[index] = values_of(value)
        if dtypes.is_inexact(self.dtype):
            self.ids[index] = ids_of(value) if isinstance(value, DependentArray) else 0

    # ---- methods ------------------------------------------------------------------------------

    @property
    def real(self) -> Any:
        return numpy.real(self)

    @property
    def imag(self) -> Any:
        return numpy.imag(self)

    def astype(self, dtype: Any, copy: bool = True, **kwargs: Any) -> DependentArray:  # type: ignore[override]
        return dependent(self.origins, self.value.astype(dtype), self.ids.copy())

    def copy(self, order: str = "C") -> DependentArray:
        return dependent(self.origins, self.value.copy(), self.ids.copy())

    def __copy__(self) -> DependentArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> DependentArray:
        return self.copy()


def _whole(index: Any) -> Any:
    """An index that takes a view of one element too, where NumPy would take a number."""
    parts = index if isinstance(index, tuple) else (index,)
    return index if any(p is Ellipsis for p in parts) else (*parts, Ellipsis)


# ---- helpers of the meanings ----------------------------------------------------------------


def dependent(origins: Dependence, value: Any, ids: Any) -> DependentArray:
    """A result; only real and complex numbers can depend on anything in a way that has a slope.

    Names lie in memory as the values do, so that views of one are views of the other.
    """
    value = np.asarray(value)
    if not dtypes.is_inexact(value.dtype):
        return DependentArray(value, np.zeros(value.shape, np.int64), origins)
    names = np.empty_like(value, np.int64)
    names[...] = ids
    return DependentArray(value, names, origins)


def each_dependent(origins: Dependence, value: Any, ids: Any) -> Any:
    """One or several results as dependent arrays, all with these names."""

    def named(x: Any) -> Any:
        return dependent(origins, x, ids) if isinstance(x, (np.ndarray, np.generic)) else x

    return each(named, value)


def values_of(x: Any) -> Any:
    """An argument with arrays of values in the place of dependent ones."""
    return each(lambda x: x.value if type(x) is DependentArray else array_of(x), x)


def ids_of(x: Any) -> Any:
    """The names of an array's elements: 0 for constants."""
    return x.ids if type(x) is DependentArray else np.zeros(np.shape(x), np.int64)


def constant(x: Any) -> bool:
    """Whether an argument is the same at every point, and its zeros may be relied on."""
    return type(x) is not DependentArray


def dependent_in(x: Any) -> Iterator[DependentArray]:
    """The dependent arrays among some arguments."""
    if type(x) is DependentArray:
        yield x
    elif isinstance(x, (list, tuple)):
        for item in x:
            yield from dependent_in(item)
    elif type(x) is dict:
        yield from dependent_in(list(x.values()))


@contextmanager
def _watched(origins: Dependence) -> Iterator[None]:
    before, origins.watched = origins.watched, True
    try:
        yield
    finally:
        origins.watched = before


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", getattr(function, "__name__", function)))


def _written(target: Any, name: int) -> None:
    if name:
        raise PatternError(
            f"while the sparsity pattern was looked for, numbers that depend on the inputs were "
            f"written into {type(target).__name__} of shape {np.shape(target)}, which does not, "
            f"at\n  {line_of(*here())}\nMake what is to be filled with np.zeros_like(x) of an "
            "argument."
        )
