"""A user's equation, and the arguments of one call of it, taken apart.

`implicit.py` and `ode.py` differentiate functions that a solver evaluates as often as it likes.
What they have in common is here: which leaves of the arguments are unknowns, which are tensors that
a derivative may be asked by, and how to call the user's function around others in their place.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of
from wengert.autograd import forward
from wengert.control.states import NUMBERS
from wengert.dispatch import as_array
from wengert.errors import GradError, ShapeError
from wengert.functions.joining import stack
from wengert.history import modes
from wengert.tensor import Tensor, wrap
from wengert.transforms import calls
from wengert.transforms.run import Run, called
from wengert.tree import flatten, matched, paths, rebuild

Tensors = list[Tensor]
Equation = Callable[..., Any]


class Call:
    """The arguments of one call, taken apart: the unknowns, the tensors, and what stays as it is.

    `unknowns` are the leaves of the first argument. `others` are the leaves of the other arguments;
    those that are tensors, or arrays of another kind than NumPy's, are `arrays`, at `places`.
    """

    def __init__(self, name: str, f: Equation, x: Any, args: tuple[Any, ...], kwargs: Any) -> None:
        self.name, self.f = name, f
        self.kind = calls.kind_of(x, args, kwargs)
        self.given, self.tree = flatten(x)
        if not self.given:
            raise GradError(f"{name}: the unknown {self.tree!r} has no numbers in it.")
        self.others, self.rest = flatten((args, kwargs))
        self.unknowns = [self._unknown(leaf) for leaf in self.given]
        self.places = [k for k, leaf in enumerate(self.others) if _is_array(leaf)]
        self.arrays = [self.others[k] for k in self.places]

    def _unknown(self, leaf: Any) -> Any:
        """A leaf of the first argument as a tensor or an array of numbers that can move."""
        array = leaf._array if isinstance(leaf, Tensor) else calls.array_of(leaf, lambda: self.name)
        if array.dtype.kind not in "biufc":
            raise GradError(
                f"{self.name}: the unknown has dtype {array.dtype}: it must be numbers."
            )
        dtype = array.dtype
        if dtype.kind in "biu" or not hasattr(leaf, "dtype"):
            dtype = self._dtype(dtype.kind == "c")
        if isinstance(leaf, Tensor):
            return leaf if leaf.dtype == dtype else leaf.to(dtype)
        return as_array(array, dtype)

    def _dtype(self, is_complex: bool) -> np.dtype[Any]:
        """For integers and Python numbers: that of the tensors around them, or the usual one."""
        kinds = [x.dtype for x in (*self.given, *self.others) if _is_array(x)]
        kinds = [dtype for dtype in kinds if dtype.kind in "fc"]
        if not kinds:
            tensors = self.kind == calls.TENSOR
            kinds = [np.dtype(dtypes.get_default_dtype() if tensors else np.float64)]
        dtype = np.empty(0, np.result_type(*kinds)).real.dtype
        return np.result_type(dtype, np.complex64) if is_complex else dtype

    @property
    def tensors(self) -> Tensors:
        return [x if isinstance(x, Tensor) else wrap(x) for x in self.arrays]

    def emptied(self) -> Call:
        """This call with stand-ins for the tensors and what has no numbers: a program that calls
        back may keep it, where tensors that it keeps are results of every call.
        """
        other = copy.copy(self)
        for name in ("given", "unknowns", "others", "arrays"):
            setattr(other, name, list(map(_stand_in, getattr(self, name))))
        return other

    def is_tracked(self) -> bool:
        return any(isinstance(x, Tensor) for x in self.arrays)

    def is_watched(self) -> bool:
        """Whether a derivative may be asked for, by the arguments or by what f closes over."""
        return bool(forward.active()) or (self.is_tracked() and modes.is_grad_enabled())

    def lost(self) -> GradError:
        """The error of what f closes over, which no derivative would reach."""
        return GradError(
            f"{self.name}: {called(self.f)} uses a tensor that requires grad, or has a tangent, "
            "and is not among its arguments, so its derivative would be lost. Pass it as one: "
            "f(x, tensor); for a module, its parameters, with wengert.func.functional_call."
        )

    def arguments(self, arrays: Sequence[Any]) -> tuple[Any, Any]:
        """The arguments after the first, around other arrays."""
        leaves = list(self.others)
        for k, x in zip(self.places, arrays, strict=True):
            leaves[k] = x
        args, kwargs = rebuild(self.rest, iter(leaves))
        return args, kwargs

    def value(self, x: Sequence[Any], arrays: Sequence[Any]) -> Any:
        args, kwargs = self.arguments(arrays)
        return self.f(rebuild(self.tree, iter(x)), *args, **kwargs)

    def result(self, solution: Sequence[Any]) -> Any:
        """The solution in the kind of the call."""
        results = calls.Results(self.kind)
        outs = []
        for leaf, x in zip(self.given, solution, strict=True):
            t = x if isinstance(x, Tensor) else wrap(x)
            outs.append(t if self.kind == calls.TENSOR else results.like(leaf, t))
        if self.kind == calls.NUMBER:
            outs = [x.item() if isinstance(x, np.ndarray) and not x.ndim else x for x in outs]
        return rebuild(self.tree, iter(outs))


def _stand_in(leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        return _EMPTY
    return _EMPTY._array if _is_array(leaf) else leaf


_EMPTY = wrap(np.zeros(()))


def _is_array(leaf: Any) -> bool:
    return hasattr(type(leaf), "__array_function__") and not isinstance(leaf, np.ndarray)


class Equations:
    """F of lists of tensors: what is zero at the solution, leaf by leaf like the unknown."""

    def __init__(self, call: Call, value: Callable[[Any, Any], Any]) -> None:
        self.call = call
        self.value = value

    def __call__(self, x: Sequence[Any], arrays: Sequence[Any]) -> Tensors:
        leaves = fitting(self.call, self.value(x, arrays), x)
        name = self.call.name
        return [
            t if isinstance(t, Tensor) else wrap(calls.array_of(t, lambda: name)) for t in leaves
        ]

    def check(self, x: Sequence[Tensor], tensors: Tensors) -> None:
        """Once, while recording: the shapes, and that all it depends on is among the arguments."""
        call = self.call
        arrays = [t.detach() for t in tensors]
        run = Run(call.name, lambda xs: self(xs, arrays), 0, ([t.detach() for t in x],), {})
        out = [t for t in run.out if isinstance(t, Tensor)]
        if run.connected(out) or carries(*out):
            raise call.lost()


def fitting(call: Call, value: Any, x: Sequence[Any]) -> list[Any]:
    """The leaves of what f returned; ShapeError unless they are like those of the unknown."""
    leaves = matched(call.tree, value, f"{call.name}: what {called(call.f)} returns", in_rows)
    for step, leaf, like in zip(paths(call.tree), leaves, x, strict=True):
        own, shape = tuple(np.shape(array_of(leaf))), tuple(np.shape(array_of(like)))
        if own != shape:
            raise ShapeError(
                f"{call.name}: {called(call.f)} returned shape {own}{step and f' at {step}'}, "
                f"but the unknown has shape {shape}: there is one equation for each unknown."
            )
    return leaves


def in_rows(value: Any) -> Any:
    """A list or tuple of numbers, or of arrays of one shape, as an array: SciPy's form of what a
    function of a vector returns. Anything else as it is."""
    if type(value) not in (list, tuple):
        return value
    parts = [in_rows(x) for x in value]
    if len({getattr(x, "shape", () if isinstance(x, NUMBERS) else None) for x in parts}) != 1:
        return value
    if not all(hasattr(x, "dtype") or isinstance(x, NUMBERS) for x in parts):
        return value
    # A Python number takes the precision of what is beside it.
    dtype = np.result_type(*[getattr(x, "dtype", x) for x in parts])
    whole = [x if hasattr(x, "dtype") else np.asarray(x, dtype) for x in parts]
    if any(isinstance(x, Tensor) for x in whole):
        return stack([x if isinstance(x, Tensor) else wrap(as_array(x)) for x in whole])
    return np.stack(whole)


def as_given(leaf: Any, x: Any) -> Any:
    """An array as what the user gave in its place: a tensor, an array, a number."""
    if isinstance(leaf, Tensor):
        return wrap(x)
    return x if hasattr(leaf, "dtype") and not isinstance(leaf, np.generic) else x[()]


def carries(*values: Any) -> bool:
    """Whether a value has a tangent at a level of forward mode that is running."""
    return any(forward.tangent(x, level) is not None for level in forward.active() for x in values)
