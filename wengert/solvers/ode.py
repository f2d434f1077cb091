"""`odeint`: solutions of ordinary differential equations, differentiable in the initial state, in
parameters and in the times.

`gradient="direct"` records the steps of the solver (`runge_kutta.py`); `gradient="adjoint"` takes
the solution as one function, whose derivatives solve further equations (`trajectories.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import pairwise
from typing import Any, Literal, TypeVar, overload

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of
from wengert.autograd.forward import active
from wengert.compile.trace.world import watch
from wengert.control.recorded import tracing
from wengert.dispatch import as_array, known, require
from wengert.history import modes
from wengert.history.node import tick
from wengert.solvers.looped import chosen_steps, fixed_steps
from wengert.solvers.parameters import Call, Equations, Tensors, as_given, carries, in_rows
from wengert.solvers.runge_kutta import METHODS, steps_between
from wengert.solvers.systems import ordinarily
from wengert.solvers.trajectories import SCIPY, Options, Problem, check_times, integrated, stepwise
from wengert.tensor import Tensor, wrap
from wengert.transforms import calls
from wengert.transforms.forward import jacfwd
from wengert.transforms.run import described
from wengert.tree import rebuild

A = TypeVar("A", Tensor, np.ndarray)


@overload
def odeint(
    f: Callable[..., Any],
    y0: A,
    t: Any,
    *args: Any,
    method: str = ...,
    rtol: float | None = ...,
    atol: float | None = ...,
    gradient: Literal["adjoint", "direct"] = ...,
    step_size: float | None = ...,
    max_steps: int = ...,
    dense: Literal[False] = ...,
) -> A: ...
@overload
def odeint(
    f: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    method: str = ...,
    rtol: float | None = ...,
    atol: float | None = ...,
    gradient: Literal["adjoint", "direct"] = ...,
    step_size: float | None = ...,
    max_steps: int = ...,
    dense: Literal[True],
) -> Solution: ...
@overload
def odeint(f: Callable[..., Any], y0: Any, t: Any, *args: Any, **settings: Any) -> Any: ...
def odeint(
    f: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    method: str = "dopri5",
    rtol: float | None = None,
    atol: float | None = None,
    gradient: Literal["adjoint", "direct"] = "adjoint",
    step_size: float | None = None,
    max_steps: int = 10_000,
    dense: bool = False,
) -> Any:
    """The solution of dy/dt = f(t, y, *args) with y(t[0]) = y0, at the times t.

    y0 is a tensor, an array, a number, or containers of them; so is what f returns, and the result,
    in which each leaf has the times as its first dimension. In place of an array f may return its
    rows in a list, as in SciPy: `return [dx, dy]`. The times increase or decrease. The result is
    differentiable in y0, in t, and in args, which may be containers too.

    "dopri5", "tsit5" and "bosh3" choose their steps: the error of each is held below
    atol + rtol |y| (by default 1e-7 relative and 1e-9 absolute, in single precision 1e-4 and 1e-6);
    "rodas4" does for stiff equations, and solves linear ones with the exact df/dy in each step.
    "rk4", "midpoint" and "euler" take steps of `step_size`, or one from each time to the next.
    There are also SciPy's "LSODA", "BDF" and "Radau" for stiff equations, which are given the exact
    Jacobian, and its "RK45", "RK23" and "DOP853".

    `gradient="adjoint"` solves a second equation backwards in time: memory does not grow with the
    number of steps, any method will do, and the gradient is as accurate as the tolerances say. It
    computes y once more between each two times. `gradient="direct"` differentiates the steps
    themselves: the exact derivative of the numbers computed, for memory that grows with the steps;
    not for SciPy's methods. (Of a stiff equation take second derivatives by reverse over forward
    mode, wg.jacrev(wg.jacfwd(f)), or directly: forward mode through the adjoint equation would
    integrate y backwards.)

    With `dense` the result is the solution as a function of time, from t[0] to t[-1], for methods
    that choose their steps: `sol(t)` is y at a time, or at an array of times in any order, with the
    dimensions of the times first. It is as accurate as the steps are, and differentiable in what
    y is, and in t.

    In compiled functions the steps are a loop of the machine code, with SciPy's methods calls of
    Python. The derivative of that loop is exact, and keeps y at the times and the steps of one
    interval, so it serves for either `gradient`, and for what f closes over.

    Errors: ValueError for times that do not increase or decrease, and for options that the method
    does not have; GradError where f is not finite, where steps become too many or too short, and,
    by the adjoint method, if f uses a tensor that requires grad and is not among args.

    >>> import wengert as wg
    >>> def decay(t, y, rate):
    ...     return -rate * y
    >>> times = np.array([0.0, 1.0, 2.0])
    >>> odeint(decay, np.array([1.0]), times, 0.5).round(6).T
    array([[1.      , 0.606531, 0.367879]])
    >>> round(wg.grad(lambda rate: odeint(decay, 1.0, times, rate)[-1])(0.5), 6)  # -2 exp(-1)
    -0.735759
    >>> sol = odeint(decay, np.array([1.0]), [0.0, 2.0], 0.5, dense=True)
    >>> sol(1.0).round(6), sol([[0.5, 1.5]]).shape
    (array([0.606531]), (1, 2, 1))
    """
    if not callable(f):
        raise TypeError(f"odeint takes a function f(t, y, *args) first, but got {described(f)}")
    call = Call("odeint", f, y0, args, {})
    options = options_of(call, method, rtol, atol, step_size, max_steps, gradient)
    times = times_of(call, t)
    problem = Problem(_Derivative(call), options, len(call.unknowns))
    if dense:
        return Solution(problem, call, times, gradient)
    return results_of(call, _solved(problem, call, times, gradient))


def _solved(problem: Problem, call: Call, times: Any, gradient: str) -> list[Any]:
    """y at the times, leaf by leaf, with the history or the tangents that it has."""
    if call.is_watched() and gradient == "adjoint":
        start = tensor_of(array_of(times))[0]
        ys = [tensor_of(x) for x in call.unknowns]
        _Derivative(call).equations(start).check(ys, call.tensors)
    # A program has the loop over steps as it is, and its derivative for either gradient.
    looped = problem.options.method in METHODS and tracing() is not None
    tensors = _recorded(call, times)
    if looped or (gradient == "direct" and (tensors or not all(map(known, call.unknowns)))):
        return _directly(problem, call, times, gradient)
    if tensors:
        ys = [tensor_of(x) for x in call.unknowns]
        return problem.solution(ys, tensor_of(times), call.tensors)
    leaves = integrated(problem, times, *call.unknowns, *call.arrays)
    return list(leaves) if type(leaves) is tuple else [leaves]


def _recorded(call: Call, times: Any) -> bool:
    everything = (*call.unknowns, *call.arrays, times)
    return bool(active()) or any(isinstance(x, Tensor) for x in everything)


def tensor_of(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else wrap(x)


def results_of(call: Call, trajectories: Sequence[Any]) -> Any:
    """Trajectories in the kind of the call: those of numbers are arrays."""
    results = calls.Results(call.kind)
    outs = [tensor_of(x) for x in trajectories]
    if call.kind == calls.TENSOR:
        return rebuild(call.tree, iter(outs))
    return rebuild(
        call.tree, iter([results.like(leaf, x) for leaf, x in zip(call.given, outs, strict=True)])
    )


# ---- what is asked for ---------------------------------------------------------------------


def options_of(
    call: Call, method: str, rtol: Any, atol: Any, step_size: Any, max_steps: int, gradient: str
) -> Options:
    if method not in METHODS and method not in SCIPY:
        raise ValueError(
            f"{call.name}: there is no method {method!r}. Choose one of "
            f"{', '.join((*METHODS, *SCIPY))}."
        )
    if gradient not in ("adjoint", "direct"):
        raise ValueError(f'{call.name}: gradient is "adjoint" or "direct", not {gradient!r}')
    if gradient == "direct" and method in SCIPY:
        raise ValueError(
            f"{call.name}: the steps of SciPy's {method} are not recorded. Use "
            f'gradient="adjoint", or '
            f"one of the methods {', '.join(METHODS)}."
        )
    eps = max(np.finfo(x.dtype).eps for x in call.unknowns)
    usual = (1e-7, 1e-9) if eps < 1e-10 else (1e-4, 1e-6)
    options = Options(method, rtol or usual[0], atol or usual[1], step_size, max_steps)
    if options.chooses:
        if step_size is not None:
            raise ValueError(
                f"{call.name}: {method} chooses its steps; step_size is for euler, midpoint and "
                "rk4. Set rtol and atol."
            )
        if options.rtol < 4 * eps or options.atol < 0:
            raise ValueError(
                f"{call.name}: rtol={options.rtol:g} is below the rounding of "
                f"{call.unknowns[0].dtype} ({eps:.1e}), or atol={options.atol:g} is negative."
            )
    elif rtol is not None or atol is not None:
        raise ValueError(
            f"{call.name}: {method} takes steps of fixed length and has no tolerances: set "
            'step_size, or choose a method such as "dopri5".'
        )
    if step_size is not None and not step_size > 0:
        raise ValueError(f"{call.name}: step_size is a positive length, not {step_size!r}")
    if type(max_steps) is not int or max_steps < 1:
        raise ValueError(f"{call.name}: max_steps is a positive number of steps, not {max_steps!r}")
    return options


def times_of(call: Call, t: Any) -> Any:
    if isinstance(t, (list, tuple)):
        t = as_array(in_rows(t))
    if not hasattr(t, "shape"):
        raise TypeError(f"{call.name}: t is a vector of times, but got {described(t)}")
    if t.dtype.kind in "biu":
        t = t.to(dtypes.get_default_dtype()) if isinstance(t, Tensor) else t.astype(np.float64)
    if t.dtype.kind != "f" or len(t.shape) != 1 or t.shape[0] < 1:
        raise ValueError(
            f"{call.name}: t is a vector of real times, the first of which is that of y0; but got "
            f"dtype {t.dtype} and shape {tuple(t.shape)}."
        )
    check_times(array_of(t))
    if call.kind == calls.TENSOR and isinstance(t, np.ndarray):
        return wrap(t)
    return t


# ---- the equation --------------------------------------------------------------------------


class _Derivative:
    """The user's f on lists of tensors."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.recorded = modes.is_grad_enabled()

    def equations(self, t: Any) -> Equations:
        call = self.call

        def value(ys: Sequence[Any], arrays: Sequence[Any]) -> Any:
            args, _ = call.arguments(arrays)
            return call.f(t, rebuild(call.tree, iter(ys)), *args)

        return Equations(call, value)

    def __call__(self, t: Any, ys: Tensors, parameters: Tensors) -> Tensors:
        return self.equations(t)(ys, parameters)

    def on_arrays(self, t: float, arrays: Sequence[Any], parameters: Sequence[Any]) -> list[Any]:
        """The flow as a function of plain arrays, as the user calls f."""
        call = self.call
        ys = [as_given(leaf, x) for leaf, x in zip(call.given, arrays, strict=True)]
        given = [as_given(leaf, x) for leaf, x in zip(call.arrays, parameters, strict=True)]
        if call.kind == calls.TENSOR:
            ys = [tensor_of(np.asarray(y)) for y in ys]
        slopes = self.equations(t)(ys, given)
        if self.recorded and any(x.requires_grad for x in slopes):
            raise call.lost()
        return [x._array for x in slopes]


# ---- at any time ---------------------------------------------------------------------------


class Solution:
    """y as a function of time, between the first and the last of the times of `odeint`.

    Of numbers the steps are kept, and a call costs no evaluation of f. Where a derivative is
    recorded, in `vmap` and in compiled functions, each call integrates once for all its times.

    >>> import wengert as wg
    >>> y = wg.odeint(lambda t, y: -y, wg.tensor([1.0]), [0.0, 2.0], dense=True)
    >>> y([0.0, 1.0])
    tensor([[1.0000],
            [0.3679]])
    """

    def __init__(self, problem: Problem, call: Call, times: Any, gradient: str) -> None:
        if problem.options.method in SCIPY or not problem.options.chooses:
            chosen = ", ".join(name for name, method in METHODS.items() if method.order)
            raise ValueError(
                f"odeint: {problem.options.method} has no dense output here; choose one of {chosen}"
            )
        if times.shape[0] < 2:
            raise ValueError("odeint: with dense=True t has a first and a last time, t=[0.0, 1.0]")
        self.problem, self.call, self.times, self.gradient = problem, call, times, gradient
        self.first, self.last = array_of(times[0]), array_of(times[-1])
        eager = not _recorded(call, times) and tracing() is None
        self.steps: Any = (
            self._walked()
            if eager and all(map(known, (*call.unknowns, *call.arrays, times)))
            else None
        )

    def __repr__(self) -> str:
        return f"<solution by {self.problem.options.method} from {self.first} to {self.last}>"

    def _walked(self) -> Any:
        ends = [float(self.first), float(self.last)]
        with ordinarily(grad=True):
            call = self.call
            return self.problem.numbers(ends, call.unknowns, call.arrays, dense=True)[1].steps()

    def __call__(self, t: Any) -> Any:
        """y at the times t, with their dimensions in front.

        Errors: ValueError for a time that the solution does not reach.
        """
        t = as_array(t, np.float64) if isinstance(t, (int, float, list, tuple)) else t
        row = np.reshape(t, (-1,))
        sign = np.sign(self.last - self.first)
        inside = (sign * (array_of(row) - self.first) >= 0) & (
            sign * (self.last - array_of(row)) >= 0
        )
        require(inside, _outside, array_of(row), self.first, self.last)
        rows = self._again(row, sign) if self.steps is None else self._between(row, sign)
        leaves = [np.reshape(x, (*t.shape, *x.shape[1:])) for x in rows]
        return results_of(self.call, leaves)

    def _between(self, row: Any, sign: Any) -> list[Any]:
        """By the steps that are known."""
        starts, lengths, leaves = self.steps
        k = np.searchsorted(sign * (starts + lengths)[:-1], sign * array_of(row))
        h = wrap(lengths)[k]
        x = (row - wrap(starts)[k]) / h
        return [self._part(x, h, [wrap(table)[k] for table in tables]) for tables in leaves]

    def _part(self, x: Any, h: Any, tables: list[Any]) -> Any:
        """One leaf of y at the parts x of steps of length h."""
        before, *stages = tables
        real, ones = np.real(before).dtype, (-1, *[1] * (before.ndim - 1))
        x, h = (np.reshape(part, ones).astype(real) for part in (x, h))
        return METHODS[self.problem.options.method].between(x, before, h, stages)

    def _again(self, row: Any, sign: Any) -> list[Any]:
        """By an integration that goes through the times in order."""
        order = np.argsort(sign * array_of(row))
        times = np.concatenate([self.times[:1], np.take(row, order), self.times[-1:]])
        back = 1 + np.argsort(order)
        sorted_rows = _solved(self.problem, self.call, times, self.gradient)
        return [np.take(x, back, axis=0) for x in sorted_rows]


def _outside(t: Any, first: Any, last: Any) -> ValueError:
    low, high = sorted((float(np.ravel(first)[0]), float(np.ravel(last)[0])))
    wrong = next((x for x in np.ravel(t) if not low <= x <= high), np.ravel(t)[0])
    return ValueError(
        f"odeint: the solution goes from t={low:g} to t={high:g}, not to t={wrong:g}."
    )


# ---- directly ------------------------------------------------------------------------------


def _directly(problem: Problem, call: Call, times: Any, gradient: str) -> list[Any]:
    """The steps, recorded; several leaves are one vector."""
    ys, parameters = [tensor_of(x) for x in call.unknowns], call.tensors
    options, t = problem.options, tensor_of(times)
    method = METHODS[options.method]
    vector = Joined(ys, flat=method.diagonal > 0)

    tracked = any(x.requires_grad or carries(x) for x in (*ys, *parameters, t))
    # Then in eager mode the derivative calls f, or a step that is differentiated is tried before.
    otherwise = tracked and (gradient == "adjoint" or options.chooses)
    capture, since = watch.active() if otherwise else None, tick()

    def f(t: Any, y: Any) -> Any:
        world = capture and capture.world
        begun = world and world.done()
        with world.recorded_unasked(_UNRECORDED, since) if world else nullcontext():
            slope = vector.join(problem.flow(t, vector.split(y), parameters))
        if world and world.has_computed(begun, world.done()):
            world.refuse(_OFTEN)
        return slope

    y = vector.join(ys)
    if t.shape[0] == 1:
        return vector.columns(np.stack([y]))
    # In a compiled function what f changes or draws counts: it is not called for this alone.
    if known(array_of(t)) and known(array_of(y)) and known(array_of(f(t[0], y))):
        grid = [float(x) for x in array_of(t)]
        moments = [t[i] for i in range(len(grid))] if t.requires_grad or carries(t) else grid
        states = np.stack(stepwise(options, f, slopes_of(f), y, moments, grid))
    elif options.chooses:
        states = chosen_steps(options.control(), f, slopes_of(f), y, t)
    else:
        states = fixed_steps(method, f, y, t, options.step_size, _count(options, array_of(t)))
    return vector.columns(states)


_OFTEN = (
    "odeint, differentiated, of a function that draws random numbers or writes into arrays (but "
    'with fixed steps and gradient="direct")'
)
_UNRECORDED = "odeint of a function that asks whether it is recorded"


def _count(options: Options, t: Any) -> int | None:
    """How many steps there are from each time to the next, if that is one number and known."""
    if options.step_size is None:
        return 1
    counts = {steps_between(a, b, options.step_size) for a, b in pairwise(t)} if known(t) else ()
    return counts.pop() if len(counts) == 1 else None


def slopes_of(f: Any) -> Any:
    """The derivatives by y and by t of f(t, y), for a vector y, recorded."""

    def slopes(t: Any, y: Tensor) -> tuple[Any, Any]:
        n = y.shape[0]
        now = t if isinstance(t, Tensor) else wrap(as_array(t, y.dtype))
        point = np.concatenate([y, np.reshape(now, (1,))])
        matrix = jacfwd(lambda x: f(x[n], x[:n]))(point)
        return matrix[:, :n], matrix[:, n]

    return slopes


class Joined:
    """Tensors as one vector, recorded; a single one stays as it is, unless it is to be `flat`."""

    def __init__(self, ys: Tensors, flat: bool = False) -> None:
        self.shapes = [y._array.shape for y in ys]
        self.dtypes = [y._array.dtype for y in ys]
        self.dtype = np.result_type(*self.dtypes)
        self.ends = np.cumsum([math.prod(shape) for shape in self.shapes]).tolist()
        self.single = len(ys) == 1 and not (flat and len(self.shapes[0]) != 1)

    def join(self, ys: Any) -> Any:
        ys = [y if y.dtype == self.dtype else y.to(self.dtype) for y in ys]
        if self.single:
            return ys[0]
        return np.concatenate([np.reshape(y, (-1,)) for y in ys])

    def split(self, y: Any) -> list[Any]:
        """The tensors of a vector."""
        return self._parts(y, ())

    def columns(self, ys: Any) -> list[Any]:
        """The tensors of a matrix whose rows are vectors, each with the rows in front."""
        return self._parts(ys, ys.shape[:1])

    def _parts(self, y: Any, rows: tuple[int, ...]) -> list[Any]:
        if self.single:
            return [y]
        parts = []
        for begin, end, shape, dtype in zip(
            [0, *self.ends[:-1]], self.ends, self.shapes, self.dtypes, strict=True
        ):
            part = np.reshape(y[..., begin:end], (*rows, *shape))
            if dtype.kind != "c" and part.dtype.kind == "c":
                part = np.real(part)
            parts.append(part if part.dtype == dtype else part.astype(dtype))
        return parts


__all__ = ["odeint"]
