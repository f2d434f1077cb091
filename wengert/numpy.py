"""NumPy's namespace, whose constructors take values that are being differentiated.

NumPy's own functions work on tensors as they are: `import numpy as np` is enough, but for what
NumPy does not let other arrays take part in. `np.array([x, y])`, `np.r_[x, y]` and functions of
lists, `np.mean([x, y])`, would make numbers of them, which is an error. Here they keep the history;
all else is NumPy's.

>>> import wengert as wg
>>> import wengert.numpy as np
>>> wg.grad(lambda x: np.prod(np.array([x, x + 1.0])))(2.0)
5.0
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import numpy

from wengert.autograd.operands import tensors_among
from wengert.dispatch import as_array, require
from wengert.tensor import Tensor

__all__ = [*numpy.__all__]


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    like: Any = None,
) -> Any:
    """An array of numbers, or a tensor of values of which some are tensors: nested lists, or one.

    Shapes and dtypes are those of `numpy.array`.

    >>> import wengert as wg
    >>> wg.jacrev(lambda x: array([[x[0], 1.0], [x[1], x[0]]])[1])(numpy.array([2.0, 3.0]))
    array([[0., 1.],
           [1., 0.]])
    """
    if not _holds_tensors(object):
        return numpy.array(
            object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin, like=like
        )
    x = _joined(object)
    if dtype is not None:
        x = numpy.astype(x, numpy.dtype(dtype))
    if x is object and copy:
        x = numpy.copy(x)
    return numpy.reshape(x, (1,) * max(ndmin - len(x.shape), 0) + tuple(x.shape))


def asarray(a: Any, dtype: Any = None, order: Any = None, **rest: Any) -> Any:
    """`array` without a copy where none is needed."""
    if not _holds_tensors(a):
        return numpy.asarray(a, dtype, order, **rest)
    return array(a, dtype, copy=False)


asanyarray = asarray


def ascontiguousarray(a: Any, dtype: Any = None, **rest: Any) -> Any:
    """`asarray` of at least one dimension."""
    if not _holds_tensors(a):
        return numpy.ascontiguousarray(a, dtype, **rest)
    return array(a, dtype, copy=False, ndmin=1)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """`asarray`, or an error if an element is infinite or no number."""
    if not _holds_tensors(a):
        return numpy.asarray_chkfinite(a, dtype, order)
    x = asarray(a, dtype, order)
    require(numpy.isfinite(x.detach()), _not_finite)
    return x


def _not_finite() -> Exception:
    return ValueError("array must not contain infs or NaNs")


class _Rows:
    """`np.r_` and `np.c_`: pieces in brackets, put together along an axis."""

    def __init__(self, numpys: Any) -> None:
        self.numpys = numpys

    def __getitem__(self, key: Any) -> Any:
        key = key if isinstance(key, tuple) else (key,)
        if not _holds_tensors(list(key)):
            return self.numpys[key]
        if isinstance(key[0], str):
            raise TypeError(
                "r_ of tensors takes no directions in a string; write np.concatenate or np.stack"
            )
        # Where each element comes from is asked of NumPy, with its place instead of its value.
        pieces = [numpy.r_[x] if isinstance(x, slice) else as_array(x) for x in key]
        starts = numpy.cumsum([0, *(p.size if isinstance(p, numpy.ndarray) else p.numel()
                                    for p in pieces)])  # fmt: skip
        places = [
            numpy.arange(start, stop).reshape(tuple(p.shape))
            for p, start, stop in zip(pieces, starts[:-1], starts[1:], strict=True)
        ]
        places = [p if p.ndim else p[()] for p in places]
        there = self.numpys[tuple(places)]
        return numpy.concatenate([numpy.ravel(p) for p in pieces])[there]

    def __len__(self) -> int:
        return 0


r_ = _Rows(numpy.r_)
c_ = _Rows(numpy.c_)


# ---- what NumPy would make numbers of ------------------------------------------------------


def _holds_tensors(x: Any) -> bool:
    """Whether there is a tensor here, or in lists of lists."""
    return bool(tensors_among([x]))


def _joined(x: Any) -> Any:
    """Nested lists as one tensor; their dtype is that of all."""
    if not isinstance(x, (list, tuple)):
        return as_array(x)
    parts = [_joined(item) for item in x]
    if len({tuple(p.shape) for p in parts}) > 1:
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous "
            f"shape: its parts have the shapes {', '.join(str(tuple(p.shape)) for p in parts)}"
        )
    return numpy.stack(parts) if parts else numpy.array([])


class _LooksInside(Exception):
    """NumPy asks the items of a list what a call means."""


class _Probe:
    """An item of a list that tells whether NumPy asks it."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise _LooksInside

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError


def _probed(x: Any, inside: bool = False) -> Any:
    """An argument with a probe for each tensor in a list, and zeros for one that stands alone."""
    if isinstance(x, (list, tuple)):
        return [_probed(item, True) for item in x]
    if not isinstance(x, Tensor):
        return x
    return _Probe() if inside else numpy.zeros(x.shape)


def _of_lists(function: Any) -> Any:
    """A function of NumPy's that takes lists of tensors wherever it takes lists of numbers."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        lists = [x for x in (*args, *kwargs.values()) if isinstance(x, (list, tuple))]
        if not any(map(_holds_tensors, lists)):
            return function(*args, **kwargs)
        try:
            function(*map(_probed, args), **{n: _probed(x) for n, x in kwargs.items()})
        except _LooksInside:
            return function(*args, **kwargs)
        except Exception:  # it would have made numbers of them: whatever it says of a probe
            joined = [_joined(x) if _holds_tensors(x) else x for x in args]
            named = {n: _joined(x) if _holds_tensors(x) else x for n, x in kwargs.items()}
            return function(*joined, **named)
        return function(*args, **kwargs)

    return called


class _Part(ModuleType):
    """A module of NumPy's, whose functions take lists of tensors too."""

    def __getattr__(self, name: str) -> Any:
        return _taken(getattr(getattr(numpy, self.__name__), name))


def _taken(item: Any) -> Any:
    if callable(item) and not isinstance(item, (type, numpy.ufunc)):
        return _of_lists(item)
    return item


linalg, fft = _Part("linalg"), _Part("fft")


def __getattr__(name: str) -> Any:
    return _taken(getattr(numpy, name))


def __dir__() -> list[str]:
    return dir(numpy)
