"""Solutions of equations as functions of their parameters, by the implicit function theorem.

Where F(x, p) = 0 determines x, whoever found x need not be differentiated:

    dF/dx dx + dF/dp dp = 0,  so  dx = -(dF/dx)^-1 dF/dp dp,  p' = -(dF/dp)^T (dF/dx)^-T x'

(Griewank and Walther, "Evaluating Derivatives", 2nd ed. 2008, chapter 15; Blondel et al.,
"Efficient and modular implicit differentiation", NeurIPS 2022, whose decorators these are.) The
solver may be anything that finds x. The linear systems are those of `systems.py`, so that the
formulas are differentiated in their turn: derivatives of every order, in both directions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from wengert.arrays.kind import array_of
from wengert.autograd import forward
from wengert.autograd.function import Function
from wengert.control.loops import while_loop
from wengert.control.recorded import tracing
from wengert.dispatch import as_array, known, primitive, require
from wengert.errors import GradError, ShapeError
from wengert.functions.creation import as_tensor
from wengert.history import modes
from wengert.solvers import looped_equations, systems
from wengert.solvers.parameters import Call, Equations, as_given, fitting, in_rows
from wengert.solvers.systems import Packing, System, Tensors, checked_solver, ordinarily, pushed
from wengert.tensor import Tensor, wrap
from wengert.transforms import calls
from wengert.transforms.reverse import grad, value_and_grad, vjp
from wengert.transforms.run import called, described
from wengert.transforms.second import jacobian
from wengert.tree import flatten, matched, rebuild

Equation = Callable[..., Any]
Solver = Callable[[Equation, Any], Any]


def root(
    solver: Solver | None = None,
    *,
    linear_solver: systems.Solver | None = None,
    rtol: float | None = None,
) -> Callable[[Equation], Equation]:
    """Make of F(x, *p) the function (x0, *p) -> x with F(x, *p) = 0, differentiable in p.

    `solver(f, x0)` finds the root of f(x) = F(x, *p) from the guess x0; it may be anything: a
    routine of SciPy, a loop, a formula. It is not differentiated, and gets numbers: f answers
    arrays with arrays, tensors with tensors. Without one, SciPy's hybrid method runs on the
    Jacobian of F. x and p are tensors, arrays, numbers, or containers of them; F returns what x is.

    Derivatives solve one linear system with dF/dx at the solution, by `linear_solver`: "dense" (LU
    of the matrix, the default up to 512 unknowns), "lstsq" (least squares, for a singular one:
    exact to first order if the equation for dx has a solution), the matrix-free "gmres" (the
    default beyond), "bicgstab" or "cg", to a relative residual of `rtol`; or a function
    (matvec, b) -> x of real vectors. They do not depend on x0, nor on what the solver did; they are
    as accurate as x.

    Errors: GradError if F uses a tensor that requires grad and is not among p, or returns another
    structure than that of x; LinAlgError if dF/dx is singular.

    >>> import scipy.optimize
    >>> @root(lambda f, x0: scipy.optimize.brentq(f, 0, 10))
    ... def cube_root(x, p):
    ...     return x**3 - p
    >>> import wengert as wg
    >>> round(cube_root(1.0, 8.0), 6), round(wg.grad(cube_root, argnums=1)(1.0, 8.0), 6)
    (2.0, 0.083333)
    """
    return _decorator(ROOT, solver, linear_solver, rtol)


def fixed_point(
    solver: Solver | None = None,
    *,
    linear_solver: systems.Solver | None = None,
    rtol: float | None = None,
) -> Callable[[Equation], Equation]:
    """Make of T(x, *p) the function (x0, *p) -> x with x = T(x, *p), differentiable in p.

    As `root`, of the equation T(x, *p) - x = 0; `solver` is given x -> T(x, *p). Without one, T is
    applied until x changes no more.

    >>> import wengert as wg
    >>> @fixed_point()
    ... def square_root(x, p):
    ...     return (x + p / x) / 2
    >>> square_root(1.0, 4.0), wg.grad(square_root, argnums=1)(1.0, 4.0)
    (2.0, 0.25)
    """
    return _decorator(FIXED_POINT, solver, linear_solver, rtol)


def argmin(
    solver: Solver | None = None,
    *,
    linear_solver: systems.Solver | None = None,
    rtol: float | None = None,
) -> Callable[[Equation], Equation]:
    """Make of f(x, *p) the function (x0, *p) -> argmin_x f(x, *p), differentiable in p.

    As `root`, of the equation grad_x f(x, *p) = 0; f returns one number, and `solver` minimizes
    x -> f(x, *p). Without one, SciPy's trust-region Newton method does. The matrix of the linear
    systems is the Hessian, which is symmetric; the matrix-free default is conjugate gradients, for
    which it has to be positive definite, as it is at a proper minimum.

    >>> import wengert as wg
    >>> @argmin()
    ... def ridge(w, strength):
    ...     return np.sum((w - np.array([1.0, 2.0])) ** 2) + strength * np.sum(w**2)
    >>> ridge(np.zeros(2), 1.0).round(6)
    array([0.5, 1. ])
    >>> wg.jacrev(ridge, argnums=1)(np.zeros(2), 1.0).round(6)
    array([-0.25, -0.5 ])
    """
    return _decorator(ARGMIN, solver, linear_solver, rtol)


def solve(
    matvec: Callable[..., Any],
    b: Any,
    *parameters: Any,
    solver: systems.Solver | None = None,
    symmetric: bool = False,
    rtol: float | None = None,
) -> Any:
    """x with matvec(x, *parameters) = b, differentiable in b and in the parameters.

    `matvec(v, *parameters)` is linear in v and returns what v is: a tensor, an array, or containers
    of them, as b and the result are. The matrix need not exist: `solver` is one of the
    `linear_solver`s of `root`, and the transposed operator, which reverse mode needs, is found by
    differentiation. `symmetric` says that it is the same (for complex arrays: self-adjoint).

    Errors: GradError if `matvec` is not linear in v, for which three products are compared.

    >>> import wengert as wg
    >>> def shifted(v, s):
    ...     return s * v - np.roll(v, 1) / 2
    >>> b = np.array([1.0, 0.0, 0.0])
    >>> solve(shifted, b, 2.0, solver="gmres").round(4)
    array([0.5079, 0.127 , 0.0317])
    >>> round(wg.grad(lambda s: np.sum(solve(shifted, b, s)))(2.0), 4)
    -0.4444
    """
    checked_solver(solver, "solve")
    if not callable(matvec):
        raise TypeError(
            f"solve takes a function (v, *parameters) -> A v, but got {described(matvec)}"
        )
    call = Call("solve", matvec, b, parameters, {})
    empty = call.emptied()
    equation = Equations(empty, lambda v, others: empty.value(v, others))
    system = System(
        lambda p: lambda v: equation(v, p),
        solver,
        rtol,
        symmetric,
        f"the operator {called(matvec)}",
        said=True,
    )
    if call.kind == calls.TENSOR or forward.active():
        bs = [x if isinstance(x, Tensor) else wrap(x) for x in call.unknowns]
        if call.is_watched():
            equation.check(bs, call.tensors)
        return call.result([*system.solve(bs, call.tensors)])
    solution = systems.solved(system, len(call.unknowns), *call.unknowns, *call.arrays)
    return call.result(solution if type(solution) is tuple else (solution,))


# ---- the solution --------------------------------------------------------------------------


class _Problem:
    """One call of a decorated function: the equations, and who solves them."""

    def __init__(self, kind: _Kind, call: Call) -> None:
        self.kind, self.call = kind, call
        self.equations = Equations(call, partial(kind.residual, call))
        self.n = len(call.unknowns)
        self.recorded = modes.is_grad_enabled()
        matrix = "Hessian" if kind.of_gradient else "Jacobian"
        self.system = System(
            partial(_transposed_jacobian, self.equations, self.n),
            kind.linear_solver,
            kind.rtol,
            kind.of_gradient,
            f"the {matrix} of {called(call.f)} at the solution",
        )

    def found(self, arrays: Sequence[Any]) -> list[Any]:
        """What the solver finds, on plain arrays."""
        call, n = self.call, self.n
        guess = [as_given(leaf, x) for leaf, x in zip(call.given, arrays[:n], strict=True)]
        given = [as_given(leaf, x) for leaf, x in zip(call.arrays, arrays[n:], strict=True)]
        with ordinarily():
            answers = _Answers(call, given, self.recorded, scalar=self.kind.of_gradient)
            x = self.kind.solver(answers, rebuild(call.tree, iter(guess)))
            if type(x).__name__ in ("OptimizeResult", "RootResults"):
                raise GradError(
                    f"{call.name}: the solver returned SciPy's {type(x).__name__}. Return "
                    "the solution that is in it: .x, or .root."
                )
            leaves = matched(call.tree, x, f"{call.name}: what the solver returns")
            roots = [self._checked(x, like) for x, like in zip(leaves, arrays[:n], strict=True)]
            if self.recorded:  # the solver may have asked by tensors only, or not at all
                pairs = zip(call.given, roots, strict=True)
                given = [x if isinstance(leaf, Tensor) else as_given(leaf, x) for leaf, x in pairs]
                answers(rebuild(call.tree, iter(given)))
        return roots

    def _checked(self, x: Any, like: Any) -> Any:
        name = self.call.name
        array = as_array(array_of(x))
        if array.shape != like.shape:
            raise ShapeError(
                f"{name}: the solver returned shape {array.shape} for an unknown of shape "
                f"{like.shape}."
            )
        if array.dtype.kind == "c" and like.dtype.kind != "c":
            raise GradError(f"{name}: the solver returned complex numbers for a real unknown.")
        require(np.isfinite(array), partial(_not_finite, name))
        return array.astype(like.dtype)


def _not_finite(name: str) -> GradError:
    return GradError(
        f"{name}: the solver returned numbers that are not finite. It did not converge; "
        "try another initial guess or another solver."
    )


def _transposed_jacobian(equations: Equations, n: int, point: Tensors) -> systems.Map:
    """The map u -> (dF/dx)^T u at a point: the `n` unknowns, and the parameters."""
    x, arrays = point[:n], point[n:]
    _, pull = vjp(lambda xs: equations(xs, arrays), x)
    return lambda u: pull(list(u))[0]


class _Answers:
    """The function that a solver is given: arrays for arrays, tensors for tensors."""

    def __init__(self, call: Call, given: list[Any], recorded: bool, scalar: bool) -> None:
        self.call, self.given, self.recorded, self.scalar = call, given, recorded, scalar
        self.__name__ = called(call.f)

    def __call__(self, x: Any) -> Any:
        call = self.call
        leaves = matched(call.tree, x, f"{call.name}: what the solver asks for")
        tensors = any(isinstance(leaf, Tensor) for leaf in leaves)
        if call.kind == calls.TENSOR and not tensors:
            leaves = [wrap(calls.array_of(leaf, lambda: "the unknown")) for leaf in leaves]
        value = call.value(leaves, self.given)
        if not self.scalar:
            fitting(call, value, leaves)
        if tensors:
            return value
        out, tree = flatten(value)
        if self.recorded and any(isinstance(t, Tensor) and t.requires_grad for t in out):
            raise call.lost()
        return rebuild(tree, iter([t._array[()] if isinstance(t, Tensor) else t for t in out]))


def implicit_solution(problem: _Problem, *arrays: Any) -> Any:
    roots = problem.found(tuple(map(as_array, arrays)))  # a compiled function's floats are Python's
    return tuple(roots) if len(roots) > 1 else roots[0]


def _like_unknowns(problem: _Problem, *arrays: Any) -> Any:
    return systems.like(arrays[: problem.n])


_found = primitive(implicit_solution, opaque=True, result=_like_unknowns)


class Implicit(Function):
    """x(p), whose numbers are known already, as a function of the leaves of p."""

    @staticmethod
    def forward(ctx: Any, problem: _Problem, numbers: Sequence[Any], *arrays: Tensor) -> Any:
        x = tuple(map(wrap, numbers))
        ctx.problem = problem
        ctx.save_for_backward(*x, *arrays)
        ctx.save_for_forward(*x, *arrays)
        return x

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        problem, saved = ctx.problem, list(ctx.saved_tensors)
        x, arrays = saved[: problem.n], saved[problem.n :]
        needed = [k for k, needs in enumerate(ctx.needs_input_grad[2:]) if needs]
        w = problem.system.solve(cotangents, saved)
        _, pull = vjp(_in_parameters(problem, x, arrays, needed), [arrays[k] for k in needed])
        gradients: list[Any] = [None] * len(arrays)
        for k, g in zip(needed, pull([-v for v in w])[0], strict=True):
            gradients[k] = g
        return (None, None, *gradients)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        problem, saved = ctx.problem, list(ctx.saved_tensors)
        x, arrays = saved[: problem.n], saved[problem.n :]
        given = {k: t for k, t in enumerate(tangents[2:]) if t is not None}
        f = _in_parameters(problem, x, arrays, list(given))
        moved = pushed(f, [arrays[k] for k in given], list(given.values()))
        return tuple(problem.system.flipped().solve([-t for t in moved], saved))


def _in_parameters(problem: _Problem, x: Tensors, arrays: Tensors, places: list[int]) -> Any:
    """F at the solution as a function of some of the parameters."""
    return lambda chosen: problem.equations(x, systems.replaced(arrays, places, chosen))


# ---- the three kinds of equations ----------------------------------------------------------


@dataclass(frozen=True)
class _Kind:
    """The equation that is made of the user's function, and the choices of who solves it."""

    name: str
    residual: Callable[[Call, Sequence[Any], Sequence[Any]], Any]
    solver: Solver
    of_gradient: bool = False  # of a function of one number, so that the matrix is symmetric
    linear_solver: systems.Solver | None = None
    rtol: float | None = None

    @property
    def is_traceable(self) -> bool:
        """Whether a compiled function has the solver's iterations as they are."""
        return getattr(self.solver, "is_traceable", False)


def traceable(solver: Solver) -> Solver:
    """Say of a solver that its iterations are loops of wengert's, such as `wg.while_loop`.

    A compiled function runs them as native code, where it calls any other solver back in Python.
    It has to be a function of arrays that compiles: no `float(x)`, no `if` on what is computed.

    >>> import wengert as wg
    >>> @traceable
    ... def newton(f, x):
    ...     step = lambda x: f(x) / wg.grad(f)(x)
    ...     return wg.while_loop(lambda x: abs(step(x)) > 1e-12, lambda x: x - step(x), x)
    >>> @root(newton)
    ... def cube_root(x, p):
    ...     return x**3 - p
    >>> slope = wg.compile(wg.grad(lambda p: cube_root(1.0, p)))
    >>> round(slope(8.0), 6), "until" in [s.name for s in slope.program.statements]
    (0.083333, True)
    """
    solver.is_traceable = True  # type: ignore[attr-defined]
    return solver


def _displacement(call: Call, x: Sequence[Any], arrays: Sequence[Any]) -> Any:
    """T(x) - x."""
    image = call.value(x, arrays)
    leaves = matched(call.tree, image, f"{call.name}: what {called(call.f)} returns", in_rows)
    return rebuild(call.tree, iter([t - u for t, u in zip(leaves, x, strict=True)]))


def _slope(call: Call, x: Sequence[Any], arrays: Sequence[Any]) -> Any:
    """The gradient in x."""
    args, kwargs = call.arguments(arrays)
    return grad(call.f)(rebuild(call.tree, iter(x)), *args, **kwargs)


def _decorator(
    kind: _Kind, solver: Any, linear_solver: Any, rtol: float | None
) -> Callable[[Equation], Equation]:
    name = kind.name
    if solver is not None and not callable(solver):
        raise TypeError(f"{name}: solver is a function (f, x0) -> x, but got {described(solver)}")
    linear = checked_solver(linear_solver, name)
    kind = replace(kind, solver=solver or kind.solver, linear_solver=linear, rtol=rtol)

    def decorate(f: Equation) -> Equation:
        if not callable(f):
            raise TypeError(
                f"{name} takes the solver first and then the function: {name}(solver)(f), or "
                f"{name}()(f); but it was given {described(f)} as the function."
            )

        @functools.wraps(f, updated=())
        def solution(x0: Any, *args: Any, **kwargs: Any) -> Any:
            call = Call(name, f, x0, args, kwargs)
            problem = _Problem(kind, call.emptied())
            arrays = [array_of(x) for x in (*call.unknowns, *call.arrays)]
            if kind.is_traceable and tracing() is not None:
                numbers = tuple(problem.found(arrays))
            else:
                numbers = _found(problem, *arrays)
                numbers = numbers if type(numbers) is tuple else (numbers,)
            if call.is_watched():
                problem.equations.check([wrap(x) for x in numbers], call.tensors)
            if not call.is_tracked():
                return call.result(numbers)
            return call.result(Implicit.apply(problem, numbers, *call.tensors))

        return solution

    return decorate


# ---- solvers for those who bring none ------------------------------------------------------


class _Flat:
    """A function of containers as a function of one vector of doubles."""

    def __init__(self, f: Any, x0: Any) -> None:
        self.f = f
        leaves, self.tree = flatten(x0)
        self.tensors_given = any(isinstance(x, Tensor) for x in leaves)
        arrays = [as_array(array_of(x)) for x in leaves]
        self.packing = Packing(arrays, np.float64)
        self.eps = float(np.finfo(np.result_type(*[x.dtype for x in arrays])).eps)
        self.start = self.packing.joined(arrays)

    def point(self, v: Any) -> Any:
        leaves = self.packing.arrays(v) if known(v) else self.packing.tensors(v)
        wrapped = map(wrap, leaves) if self.tensors_given and not isinstance(v, Tensor) else leaves
        return rebuild(self.tree, iter(wrapped))

    def packed(self, value: Any) -> Any:
        """What the function returns, which has the structure of the unknowns, as a vector."""
        leaves = matched(self.tree, value, "what the function returns", in_rows)
        if any(isinstance(x, Tensor) for x in leaves):
            return self.packing.joined(list(map(as_tensor, leaves)))
        return self.packing.joined([as_array(array_of(x)) for x in leaves])

    def recorded(self, v: Tensor) -> Tensor:
        return self.packed(self.f(self.point(v)))

    def value(self, v: Any) -> Any:
        with modes.no_grad():
            return array_of(self.recorded(v))


@traceable
def _default_root(f: Any, x0: Any) -> Any:
    """Powell's hybrid method, with the exact Jacobian: of SciPy, or as a loop of a program."""
    flat = _Flat(f, x0)
    matrix = jacobian(flat.recorded)

    def slope(v: Any) -> Any:
        return array_of(matrix(v))

    if tracing() is not None:
        x, end = looped_equations.hybrid(flat.value, slope, flat.start, ROOT_TOLERANCE)
        why: Any = looped_equations.HYBRID_ENDS
    else:
        from scipy.optimize import root

        solution = root(flat.value, flat.start, jac=slope, tol=ROOT_TOLERANCE)
        x, end, why = solution.x, np.asarray(solution.status), {solution.status: solution.message}
    error = _largest([np.abs(flat.value(x))])
    scale = 1 + _largest([np.abs(x)])
    rounding = 64 * flat.eps  # what is left of a residual in single precision
    require((end == 1) | (error <= max(1e-8, rounding) * scale), partial(_no_root, why), error, end)
    return flat.point(x)


ROOT_TOLERANCE = 1e-12


@traceable
def _default_fixed_point(f: Any, x0: Any) -> Any:
    """T applied again and again, until x changes no more than rounding does."""
    leaves, tree = flatten(x0)
    dtype = np.result_type(*[as_array(array_of(x)).dtype for x in leaves])
    rounding = 4 * float(np.finfo(dtype).eps)

    def applied(xs: Any) -> list[Any]:
        values = matched(tree, f(rebuild(tree, iter(xs))), "what the function returns", in_rows)
        return [_alike(t, x) for t, x in zip(values, xs, strict=True)]

    def goes_on(state: Any) -> Any:
        xs, change, steps = state
        size = _largest([np.abs(array_of(x)) for x in xs])
        return (change > rounding * (1 + size)) & (change < np.inf) & (steps < FIXED_POINT_STEPS)

    def again(state: Any) -> Any:
        xs, _, steps = state
        news = applied(xs)
        moved = [np.abs(array_of(new) - array_of(x)) for new, x in zip(news, xs, strict=True)]
        return news, _largest(moved), steps + 1

    begun = again((leaves, None, np.zeros((), np.int64)))
    with modes.no_grad():
        xs, change, steps = while_loop(goes_on, again, begun)
    require((change < np.inf) & (steps < FIXED_POINT_STEPS), _still_changes, change)
    return rebuild(tree, iter(xs))


def _alike(new: Any, x: Any) -> Any:
    """What the function returned, in the kind and the dtype of the unknown."""
    array = as_array(array_of(new)).astype(as_array(array_of(x)).dtype)
    return wrap(array) if isinstance(x, Tensor) else array


def _largest(arrays: list[Any]) -> Any:
    maxima = [np.max(x) for x in arrays if x.size]
    return functools.reduce(np.maximum, maxima, np.zeros(()))


def _still_changes(change: Any) -> GradError:
    return GradError(
        f"fixed_point: x still changed by {change:.1e} in the last application of the function. It "
        "is no contraction near the initial guess, or a slow one: try another guess, or pass a "
        "solver, such as Anderson's mixing."
    )


FIXED_POINT_STEPS = 10_000


class _Product:
    """Products with the Hessian, several at one point."""

    def __init__(self, slope: Any) -> None:
        self.slope = slope
        self.at: tuple[Any, Any] | None = None

    def __call__(self, v: Any, p: Any) -> Any:
        if not known(v):
            return array_of(vjp(self.slope, v)[1](p)[0])
        if self.at is None or not np.array_equal(self.at[0], v):
            self.at = v.copy(), vjp(self.slope, v)[1]
        return array_of(self.at[1](p)[0])


@traceable
def _default_argmin(f: Any, x0: Any) -> Any:
    """A trust-region Newton method; products with the Hessian by differentiation."""
    flat = _Flat(f, x0)
    gradient = value_and_grad(lambda v: f(flat.point(v)))

    def both(v: Any) -> Any:
        return tuple(map(array_of, gradient(v)))

    product = _Product(grad(lambda v: f(flat.point(v))))
    begun = both(flat.start)[1]
    require(np.isfinite(begun), _no_slope, begun)
    if tracing() is not None:
        with modes.no_grad():
            x, value, last, end = looped_equations.trust_region(
                both, product, flat.start, SLOPE_TOLERANCE
            )
        why: Any = looped_equations.TRUST_ENDS
    else:
        from scipy.optimize import minimize

        solution = minimize(
            both, flat.start, jac=True, hessp=product, method="trust-ncg",
            options={"gtol": SLOPE_TOLERANCE},
        )  # fmt: skip
        x, value, last, end = solution.x, solution.fun, solution.jac, np.asarray(solution.status)
        why = {solution.status: solution.message}
    error = _largest([np.abs(last)])
    small = (end == 0) | (error <= 1e-6 * (1 + np.abs(value)))
    require(small & np.isfinite(error), partial(_no_minimum, why), error, end)
    return flat.point(x)


SLOPE_TOLERANCE = 1e-10


def _no_root(why: dict[int, str], error: Any, end: Any) -> GradError:
    return GradError(
        f"root: the default solver did not converge (largest residual {np.max(error):.1e}): "
        f"{_said(why, end)} Try another initial guess, or pass a solver."
    )


def _no_minimum(why: dict[int, str], error: Any, end: Any) -> GradError:
    return GradError(
        f"argmin: the default solver did not converge (largest slope {np.max(error):.1e}): "
        f"{_said(why, end)} Is the function bounded from below? Try another initial guess, or "
        "pass a solver."
    )


def _no_slope(slope: Any) -> GradError:
    return GradError(
        f"argmin: {np.sum(~np.isfinite(slope))} of the {np.size(slope)} elements of the gradient "
        "are not finite at the initial guess. Begin where they are."
    )


def _said(why: dict[int, str], end: Any) -> str:
    """What is said of how a search ended; of several, the worst."""
    return " ".join(why.get(int(np.max(end)), "It met numbers that are not finite.").split())


ROOT = _Kind("root", Call.value, _default_root)
FIXED_POINT = _Kind("fixed_point", _displacement, _default_fixed_point)
ARGMIN = _Kind("argmin", _slope, _default_argmin, of_gradient=True)

__all__ = ["argmin", "fixed_point", "traceable", "root", "solve"]
