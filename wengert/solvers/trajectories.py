"""The solution of a differential equation as one function, and the equations of its derivatives.

Reverse mode solves the adjoint equation from the last time to the first, forward mode the equation
of the tangent beside the solution:

    dy/dt = f(t, y, p)    da/dt = -(df/dy)^T a    dp'/dt = -(df/dp)^T a    dz/dt = df/dy z + df/dp w

(Pontryagin et al., 1962; Chen et al., "Neural ordinary differential equations", NeurIPS 2018.) The
adjoint equation needs y from the last time to the first, and y cannot be integrated backwards if it
forgets where it came from. So y is integrated forwards once more from each of the times asked for
to the next, and interpolated, as in CVODES (Hindmarsh et al., "SUNDIALS", ACM Transactions on
Mathematical Software, 2005): memory is needed for the steps of one interval only.

Numbers are found on one real vector (`systems.Packing`), by `runge_kutta.py` or SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.autograd.function import Function
from wengert.dispatch import primitive, require
from wengert.errors import GradError
from wengert.solvers.runge_kutta import METHODS, Control, Path, chosen, fixed
from wengert.solvers.systems import DENSE, Packing, Tensors, like, ordinarily, pushed, replaced
from wengert.tensor import Tensor, wrap
from wengert.transforms.reverse import vjp

SCIPY = ("LSODA", "BDF", "Radau", "RK23", "RK45", "DOP853")
"""Methods of `scipy.integrate`, by the names of their classes."""
STIFF = ("LSODA", "BDF", "Radau")
"""Those that use the Jacobian."""

Flow = Callable[[Any, Tensors, Tensors], Tensors]
Arrays = Sequence[Any]


@dataclass(frozen=True)
class Options:
    """How to integrate, apart from the equation."""

    method: str
    rtol: float
    atol: float
    step_size: float | None
    max_steps: int

    @property
    def chooses(self) -> bool:
        """Whether the method chooses its steps."""
        return self.method in SCIPY or METHODS[self.method].order > 0

    def control(self) -> Control:
        return Control(METHODS[self.method], self.rtol, self.atol, self.max_steps)


# ---- one solution --------------------------------------------------------------------------


class Problem:
    """dy/dt = flow(t, y, p) for lists of tensors; `n` is the number of leaves of y."""

    def __init__(self, flow: Flow, options: Options, n: int) -> None:
        self.flow = flow
        self.options = options
        self.n = n

    def solution(self, ys: Tensors, times: Tensor, parameters: Tensors) -> Tensors:
        """y at all times, leaf by leaf, recorded."""
        return list(OdeInt.apply(self, times, *ys, *parameters))

    def numbers(
        self, grid: list[float], ys: Arrays, parameters: Arrays, dense: bool = False
    ) -> tuple[list[Any], Any]:
        """`solution` on plain arrays; and y as a function of time, if it is to be `dense`."""
        tensors = [wrap(p) for p in parameters]
        on_arrays = getattr(self.flow, "on_arrays", None)
        return walked(
            self.options, lambda t, y: self.flow(t, y, tensors), ys, grid, dense,
            on_arrays and (lambda t, y: on_arrays(t, y, parameters)),
        )  # fmt: skip


def walked(
    options: Options, flow: Any, ys: Arrays, grid: list[float], dense: bool, on_arrays: Any = None
) -> tuple[list[Any], Any]:
    """The solution at the times, leaf by leaf, and between them, of flow(t, tensors) -> tensors.

    `on_arrays` is the flow as a function of plain arrays, where the user's function takes those.
    """
    packing = Packing(ys)

    def f(t: float, v: Any) -> Any:
        arrays = packing.arrays(v)
        if on_arrays:
            return packing.vector(on_arrays(t, arrays))
        return packing.vector([x._array for x in flow(t, [wrap(y) for y in arrays])])

    y, path = packing.vector(ys), Path()
    wanted = path if dense else None
    if grid[0] == grid[-1]:
        states = [y for _ in grid]
    elif options.method in SCIPY:
        jacobian = _jacobian(flow, packing) if packing.size <= DENSE else None
        states = _by_scipy(options, f, jacobian, y, grid, path)
    else:
        states = stepwise(options, f, _slopes(flow, packing), y, grid, grid, wanted)
    columns = zip(*(packing.arrays(v) for v in states), strict=True)
    return [np.stack(column) for column in columns], Between(packing, path)


@dataclass(frozen=True)
class Between:
    """y between the times asked for, leaf by leaf."""

    packing: Packing
    path: Path

    def __call__(self, t: Any) -> Tensors:
        state = self.path(t)
        if isinstance(state, Tensor):
            return self.packing.tensors(state)
        return [wrap(x) for x in self.packing.arrays(state)]

    def steps(self) -> tuple[Any, Any, list[list[Any]]]:
        """When steps began, their lengths, and for each leaf y before them, and their stages."""
        pieces: list[Any] = self.path.pieces
        vectors = zip(*((piece.before, *piece.stages) for piece in pieces), strict=True)
        parts = [zip(*map(self.packing.arrays, column), strict=True) for column in vectors]
        leaves = zip(*([np.stack(leaf) for leaf in part] for part in parts), strict=True)
        starts, lengths = np.array([(piece.start, piece.length) for piece in pieces]).T
        return starts, lengths, list(map(list, leaves))


def stepwise(
    options: Options, f: Any, slopes: Any, y: Any, times: Sequence[Any], grid: list[float],
    path: Path | None = None,
) -> list[Any]:  # fmt: skip
    """By one of the methods of `runge_kutta.py`: on plain arrays, or recorded."""
    if len(grid) == 1:
        return [y]
    if not options.chooses:
        return fixed(METHODS[options.method], f, y, times, grid, options.step_size, path)
    return chosen(options.control(), f, slopes, y, times, grid, path)


def _jacobian(flow: Any, packing: Packing) -> Any:
    """df/dy as a matrix, for methods that solve equations in each step."""

    def jacobian(t: float, v: Any) -> Any:
        _, pull = vjp(lambda ys: flow(t, ys), [wrap(x) for x in packing.arrays(v)])
        rows = np.empty((packing.size, packing.size), packing.dtype)
        for k, one in enumerate(np.eye(packing.size, dtype=packing.dtype)):
            rows[k] = packing.vector(
                [g._array for g in pull([wrap(x) for x in packing.arrays(one)])[0]]
            )
        return rows

    return jacobian


def _slopes(flow: Any, packing: Packing) -> Any:
    """(df/dy, df/dt) at a point, as numbers."""
    jacobian = _jacobian(flow, packing)

    def slopes(t: float, v: Any) -> Any:
        ys, now = [wrap(x) for x in packing.arrays(v)], wrap(np.asarray(t, packing.dtype))
        by_t = pushed(lambda ts: flow(ts[0], ys), [now], [wrap(np.ones((), packing.dtype))])
        return jacobian(t, v), packing.vector([x._array for x in by_t])

    return slopes


def _by_scipy(
    options: Options, f: Any, jacobian: Any, y: Any, grid: list[float], path: Path
) -> Any:
    """The steps of one of SciPy's solvers; between them by its dense output."""
    import scipy.integrate

    if not np.all(np.isfinite(f(grid[0], y))):
        raise GradError(
            f"odeint: f(t, y0) is not finite at the first time, t={grid[0]:g}. Is it defined at y0?"
        )
    stiff = {"jac": jacobian} if options.method in STIFF else {}
    solver = getattr(scipy.integrate, options.method)(
        f, grid[0], y, grid[-1], rtol=options.rtol, atol=options.atol, **stiff
    )
    out, sign = [y], math.copysign(1.0, grid[-1] - grid[0])
    for _ in range(options.max_steps):
        before = solver.t
        message = solver.step()
        if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
            raise GradError(
                f"odeint: {options.method} failed at t={solver.t:g}: {message or 'y is not finite'}"
            )
        path.add(before, solver.t, solver.dense_output())
        while len(out) < len(grid) and sign * (grid[len(out)] - solver.t) <= 0:
            out.append(path(grid[len(out)]))
        if len(out) == len(grid):
            return out
    raise GradError(
        f"odeint: {options.max_steps} steps of {options.method} did not reach t={grid[-1]:g}, only "
        f"t={solver.t:g}. Allow more (max_steps=), or loosen rtol and atol."
    )


def check_times(t: Any) -> None:
    """ValueError unless the times all increase or all decrease."""
    steps = np.diff(t)
    require(np.all(steps > 0) | np.all(steps < 0) | (t.shape[0] == 1), _not_monotonic, t)
    require(np.isfinite(t), _not_monotonic, t)


def _not_monotonic(t: Any) -> ValueError:
    """The error of the first time that is out of order, of the first vector with one."""
    for row in np.reshape(t, (-1, np.shape(t)[-1])):
        steps = np.diff(row)
        wrong = ~(steps * np.sign(steps[:1]) > 0)
        if wrong.any() or not np.isfinite(row).all():
            k = int(np.argmax(wrong)) if np.isfinite(row).all() else 0
            break
    return ValueError(
        "odeint: the times must all increase or all decrease, but after "
        f"t[{k}]={row[k]:g} comes {row[min(k + 1, len(row) - 1)]:g}."
    )


def _trajectory(problem: Problem, times: Any, *arrays: Any) -> Any:
    times = np.asarray(times, np.float64)
    with ordinarily(grad=hasattr(problem.flow, "on_arrays")):
        leaves, _ = problem.numbers(times.tolist(), arrays[: problem.n], arrays[problem.n :])
    return tuple(leaves) if len(leaves) > 1 else leaves[0]


def _like_trajectory(problem: Problem, times: Any, *arrays: Any) -> Any:
    return like(arrays[: problem.n], (len(times),))


integrated = primitive(_trajectory, opaque=True, result=_like_trajectory)


# ---- by further equations ------------------------------------------------------------------


class OdeInt(Function):
    """y(t) at several times, as a function of the times, of y0 and of the parameters."""

    @staticmethod
    def forward(ctx: Any, problem: Problem, times: Tensor, *tensors: Tensor) -> Any:
        leaves = integrated(problem, times._array, *[x._array for x in tensors])
        out = tuple(map(wrap, leaves if type(leaves) is tuple else (leaves,)))
        ctx.problem = problem
        ctx.save_for_backward(times, *tensors[problem.n :], *out)
        ctx.save_for_forward(times, *tensors[problem.n :], *out)
        return out

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        problem, n = ctx.problem, ctx.problem.n
        times, *saved = ctx.saved_tensors
        parameters, out = saved[: len(saved) - n], saved[len(saved) - n :]
        by_times = ctx.needs_input_grad[1]
        needed = [k for k, needs in enumerate(ctx.needs_input_grad[2 + n :]) if needs]
        adjoint = Adjoint(problem, len(parameters), needed)
        last = times.shape[0] - 1
        a = [np.zeros_like(g[0]) for g in cotangents]
        sums = [np.zeros_like(parameters[k]) for k in needed]
        moments: list[Any] = [None] * (last + 1)
        for i in range(last, -1, -1):
            y = [x[i] for x in out]
            if by_times:  # what is earlier moves with y(t_i); what starts at t_0, against it
                slope = problem.flow(times[i], y, parameters)
                here = [g[i] for g in cotangents] if i else [-v for v in a]
                moments[i] = sum(_inner(g, s) for g, s in zip(here, slope, strict=True))
            a = [v + g[i] for v, g in zip(a, cotangents, strict=True)]
            if i:
                start = [*y, *a, *[np.zeros_like(parameters[k]) for k in needed]]
                before = [x[i - 1].detach() for x in out]
                pair: Any = np.stack([times[i], times[i - 1]])
                ends = adjoint.solution(start, pair, [*parameters, *before])
                a = [x[1] for x in ends[n : 2 * n]]
                sums = [p + x[1] for p, x in zip(sums, ends[2 * n :], strict=True)]
        gradients: list[Any] = [None] * len(parameters)
        for k, g in zip(needed, sums, strict=True):
            gradients[k] = g
        return (None, np.stack(moments) if by_times else None, *a, *gradients)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        problem, n = ctx.problem, ctx.problem.n
        times, *saved = ctx.saved_tensors
        parameters, out = saved[: len(saved) - n], saved[len(saved) - n :]
        t, given = tangents[1], tangents[2 + n :]
        moving = [k for k, v in enumerate(given) if v is not None]
        y = [x[0] for x in out]
        d = [
            np.zeros_like(v) if u is None else u
            for u, v in zip(tangents[2 : 2 + n], y, strict=True)
        ]
        if t is not None:
            slopes = [
                problem.flow(times[i], [x[i] for x in out], parameters) for i in range(len(times))
            ]
            d = [u - s * t[0] for u, s in zip(d, slopes[0], strict=True)]
        beside = _beside(problem, len(parameters), moving)
        pushed = beside.solution([*y, *d], times, [*parameters, *[given[k] for k in moving]])[n:]
        if t is not None:
            shares = [np.stack([s[j] * t[i] for i, s in enumerate(slopes)]) for j in range(n)]
            pushed = [u + s for u, s in zip(pushed, shares, strict=True)]
        return tuple(pushed)


def _inner(g: Tensor, s: Tensor) -> Any:
    return np.sum(np.real(np.conj(g) * s)) if g._array.dtype.kind == "c" else np.sum(g * s)


class Adjoint(Problem):
    """The equation of (y, a, p'), between two neighbouring times, from the later to the earlier.

    Its parameters are those of `base` and then y at the earlier time, from which its numbers are
    found; `needed` are those of the parameters that a derivative is wanted by.
    """

    def __init__(self, base: Problem, count: int, needed: list[int]) -> None:
        self.options, self.n = base.options, 2 * base.n + len(needed)
        self.base, self.count, self.needed = base, count, needed

    def flow(self, t: Any, state: Tensors, parameters: Tensors) -> Tensors:
        base, n, needed = self.base, self.base.n, self.needed
        given = list(parameters[: self.count])

        def f(y: Tensors, chosen: Tensors) -> Tensors:
            return base.flow(t, y, replaced(given, needed, chosen))

        slope, pull = vjp(f, list(state[:n]), [given[k] for k in needed])
        by_y, by_p = pull(list(state[n : 2 * n]))
        return [*slope, *[-g for g in (*by_y, *by_p)]]

    def numbers(
        self, grid: list[float], ys: Arrays, parameters: Arrays, dense: bool = False
    ) -> tuple[list[Any], Any]:
        n, (late, early) = self.base.n, grid
        before = parameters[self.count :]
        _, y = self.base.numbers([early, late], before, parameters[: self.count], dense=True)
        tensors = [wrap(p) for p in parameters]

        def flow(t: float, rest: Tensors) -> Tensors:
            return self.flow(t, [*y(t), *rest], tensors)[n:]

        states, rest = walked(self.options, flow, ys[n:], grid, dense)
        ends = [np.stack(pair) for pair in zip(ys[:n], before, strict=True)]
        return [*ends, *states], lambda t: [*y(t), *rest(t)]


def _beside(problem: Problem, count: int, moving: list[int]) -> Problem:
    """The equation of (y, dy); the tangents of the moving parameters come after the parameters."""
    n = problem.n

    def flow(t: Any, state: Tensors, everything: Tensors) -> Tensors:
        y, d = list(state[:n]), list(state[n:])
        parameters, tangents = list(everything[:count]), list(everything[count:])

        def f(both: Tensors) -> Tensors:
            return problem.flow(t, both[:n], replaced(parameters, moving, both[n:]))

        slope = problem.flow(t, y, parameters)
        moved = pushed(f, [*y, *[parameters[k] for k in moving]], [*d, *tangents])
        return [*slope, *moved]

    return Problem(flow, problem.options, 2 * n)
