"""Linear systems without a matrix, and how their solutions depend on the operator.

A `System` is a linear map A(p) that is known only by what it does to a vector, and x = A(p)^-1 b.
Where x is differentiated, A is needed once more, transposed for reverse mode:

    dx = A^-1 (db - dA x)          b' = A^-T x',   p' = -(d(A(p) x)/dp)^T b'

and the transposed map is the pullback of the map itself, so that nobody has to write it down
(Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008). The systems in these formulas are solved by the same function, so there are
derivatives of every order.

Vectors are lists of tensors. The numbers are found on one real vector, in which a complex element
is two: what the maps of complex tensors do is linear for real factors, which is all they promise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from wengert.autograd.function import Function
from wengert.control.recorded import tracing
from wengert.dispatch import as_array, primitive, require
from wengert.errors import GradError
from wengert.history import modes
from wengert.solvers.dense import solved as solved_by_loops
from wengert.tensor import Tensor, wrap
from wengert.transforms.forward import jvp
from wengert.transforms.reverse import vjp
from wengert.transforms.vmap import vmap

Tensors = list[Tensor]
Map = Callable[[Tensors], Tensors]
Vector = np.ndarray[Any, Any]
Solver = str | Callable[[Callable[[Vector], Vector], Vector], Vector]

DENSE = 512
"""Up to so many unknowns the matrix is written out, if nobody says otherwise."""


class System:
    """A(p), solved by `solver`: `of(p)` is the map that it is at the parameters p.

    `transposed` asks for A^T, `symmetric` says that there is no difference. `what` names the matrix
    for errors. A map that is only `said` to be linear is tried before it is solved; derivatives are
    linear. The factors of the last matrix are kept: several rows of a Jacobian share them.
    """

    def __init__(
        self, of: Callable[[Tensors], Map], solver: Solver | None, rtol: float | None,
        symmetric: bool = False, what: str = "the operator", said: bool = False,
    ) -> None:  # fmt: skip
        self.of = of
        self.solver = solver
        self.rtol = rtol
        self.symmetric = symmetric
        self.what = what
        self.said = said
        self.transposed = False
        self.factors = _Factors()

    def flipped(self) -> System:
        """The system of the transposed map; it has the same factors."""
        if self.symmetric:
            return self
        other = System(self.of, self.solver, self.rtol, False, self.what)
        other.transposed, other.factors = not self.transposed, self.factors
        return other

    def map(self, parameters: Tensors, like: Tensors, transposed: bool | None = None) -> Map:
        """What the system multiplies a vector like `like` by."""
        apply = self.of(parameters)
        if not (self.transposed if transposed is None else transposed):
            return apply
        return transpose(apply, like)

    def solve(self, b: Sequence[Tensor], parameters: Sequence[Tensor]) -> Tensors:
        """x = A^-1 b, recorded."""
        solution = LinearSolve.apply(self, len(b), *b, *parameters)
        return list(solution)


def transpose(apply: Map, like: Tensors) -> Map:
    """The transpose of a linear map of vectors like `like`: its pullback, anywhere."""
    zeros = [wrap(np.zeros_like(x._array)) for x in like]
    _, pull = vjp(lambda v: list(apply(v)), zeros)
    return lambda u: pull(list(u))[0]


def pushed(f: Callable[[Tensors], Tensors], x: Tensors, t: Tensors) -> Tensors:
    """The tangents of f(x) for tangents t of x."""
    return jvp(lambda v: list(f(v)), (x,), (t,))[1]


class LinearSolve(Function):
    """x = A(p)^-1 b, of the leaves of b and then those of p."""

    @staticmethod
    def forward(ctx: Any, system: System, n: int, *tensors: Tensor) -> Any:
        solution = solved(system, n, *[t._array for t in tensors])
        x = tuple(map(wrap, solution if type(solution) is tuple else (solution,)))
        ctx.system, ctx.n, ctx.some = system, n, len(tensors) > n
        ctx.save_for_backward(*tensors[n:], *x)
        ctx.save_for_forward(*tensors[n:], *x)
        return x

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        system, n = ctx.system, ctx.n
        saved = ctx.saved_tensors
        parameters, x = list(saved[: len(saved) - n]), list(saved[len(saved) - n :])
        b = system.flipped().solve(cotangents, parameters)
        needed = [k for k, needs in enumerate(ctx.needs_input_grad[2 + n :]) if needs]
        gradients: list[Any] = [None] * len(parameters)
        if needed:

            def product(chosen: Tensors) -> Tensors:
                """A(p) x, as a function of those parameters."""
                return system.map(replaced(parameters, needed, chosen), x)(x)

            _, pull = vjp(product, [parameters[k] for k in needed])
            for k, g in zip(needed, pull([-g for g in b])[0], strict=True):
                gradients[k] = g
        return (None, None, *b, *gradients)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        system, n = ctx.system, ctx.n
        saved = ctx.saved_tensors
        parameters, x = list(saved[: len(saved) - n]), list(saved[len(saved) - n :])
        right = [
            wrap(np.zeros_like(v._array)) if t is None else t
            for t, v in zip(tangents[2 : 2 + n], x, strict=True)
        ]
        given = {k: t for k, t in enumerate(tangents[2 + n :]) if t is not None}
        if given:

            def product(chosen: Tensors) -> Tensors:
                return system.map(replaced(parameters, list(given), chosen), x)(x)

            moved = pushed(product, [parameters[k] for k in given], list(given.values()))
            right = [r - m for r, m in zip(right, moved, strict=True)]
        return tuple(system.solve(right, parameters))


def replaced(items: Tensors, places: Sequence[int], new: Sequence[Tensor]) -> Tensors:
    """A list with other items in some places."""
    out = list(items)
    for k, item in zip(places, new, strict=True):
        out[k] = item
    return out


# ---- the numbers ---------------------------------------------------------------------------


@contextmanager
def ordinarily(grad: bool = True) -> Any:
    """Inside of a derivative, the mode in which a user's code runs by itself."""
    before = modes.enter(modes.DEFAULT if grad else modes.NO_GRAD)
    try:
        yield
    finally:
        modes.enter(before)


def like(arrays: Sequence[Any], rows: tuple[int, ...] = ()) -> Any:
    """Zeros of these shapes, or of so many rows of them: what a primitive is to return of them."""
    zeros = tuple(np.zeros((*rows, *x.shape), x.dtype) for x in arrays)
    return zeros if len(zeros) > 1 else zeros[0]


def _like_b(system: System, n: int, *arrays: Any) -> Any:
    return like(arrays[:n])


def solved(system: System, n: int, *arrays: Any) -> Any:
    """A^-1 b of the arrays of b, n in number, and those of the parameters."""
    packing = Packing(arrays[:n])
    if tracing() is None or not packing.size or _chosen(system, packing) != "dense":
        return _found(system, n, *arrays)
    with ordinarily(grad=False):
        x = packing.tensors(_traced(system, packing, n, arrays))
    return tuple(x) if n > 1 else x[0]


def linear_solution(system: System, n: int, *arrays: Any) -> Any:
    with ordinarily(grad=False):
        arrays = tuple(map(as_array, arrays))  # a compiled function's floats are Python's
        b, parameters = arrays[:n], [wrap(x) for x in arrays[n:]]
        packing = Packing(b)
        x = packing.arrays(_numbers(system, packing, packing.vector(b), parameters))
    return tuple(x) if n > 1 else x[0]


_found = primitive(linear_solution, opaque=True, result=_like_b)


def _traced(system: System, packing: Packing, n: int, arrays: Sequence[Any]) -> Any:
    """The solution by the whole matrix, in a trace, which has all of it as it is."""
    parameters = [wrap(x) for x in arrays[n:]]
    b = packing.joined(arrays[:n])
    if system.said and not system.transposed:
        _check_linear(system, packing, b, parameters)
    product = _product(system, packing, parameters, transposed=False)
    rows = vmap(product)(np.eye(packing.size, dtype=packing.dtype))
    matrix = rows if system.transposed else np.transpose(rows)
    size, what, one = len(b), system.what, np.eye(len(b), dtype=b.dtype)
    require(np.isfinite(matrix), _not_finite, what, size)
    x = solved_by_loops(matrix, np.concatenate([b[:, None], one], axis=1))
    lengths = [np.max(np.sum(np.abs(a), axis=0)) for a in (matrix, x[:, 1:])]
    reciprocal = 1 / (lengths[0] * lengths[1])
    require(reciprocal >= np.finfo(b.dtype).eps, _singular, what, size, reciprocal)
    return x[:, 0]


def _not_finite(what: str, n: int) -> Exception:
    return np.linalg.LinAlgError(f"{what}, of size {n}, has entries that are not finite")


def _singular(what: str, n: int, reciprocal: Any) -> Exception:
    return np.linalg.LinAlgError(
        f"{what}, of size {n}, is singular (reciprocal condition number "
        f"{np.min(reciprocal):.1e}): what is asked for is not determined by it, and has no "
        'derivative. Ask for "lstsq" if the solution of least norm will do.'
    )


class Packing:
    """Arrays as one real vector, and back; a complex element is two numbers.

    The vector's dtype is the widest of the arrays', if no other is given.
    """

    def __init__(self, arrays: Sequence[Any], dtype: Any = None) -> None:
        self.likes = [(x.shape, x.dtype) for x in arrays]
        self.dtype = np.dtype(dtype or np.result_type(*(_real(x.dtype) for x in arrays)))
        sizes = (math.prod(x.shape) * (1 + (x.dtype.kind == "c")) for x in arrays)
        self.ends = list(itertools.accumulate(sizes, initial=0))
        self.size = self.ends[-1]

    def vector(self, arrays: Sequence[Any]) -> Vector:
        pairs = zip(arrays, self.likes, strict=True)
        wide = [np.ascontiguousarray(x, np.result_type(like, self.dtype)) for x, (_, like) in pairs]
        return np.concatenate([x.reshape(-1).view(self.dtype) for x in wide])

    def joined(self, arrays: Sequence[Any]) -> Any:
        """`vector`, of arrays of any kind, or with the derivatives of tensors."""
        parts = [np.stack([x.real, x.imag], -1) if x.dtype.kind == "c" else x for x in arrays]
        return np.concatenate([np.reshape(x.astype(self.dtype), (-1,)) for x in parts])

    def parts(self, vector: Any) -> Iterator[tuple[Any, tuple[int, ...], np.dtype[Any]]]:
        """The numbers of each array, its shape, and its dtype."""
        for (start, end), like in zip(itertools.pairwise(self.ends), self.likes, strict=True):
            yield vector[start:end], *like

    def arrays(self, vector: Vector) -> list[Any]:
        parts = self.parts(np.asarray(vector).reshape(-1))
        return [np.array(x, _real(dtype)).view(dtype).reshape(shape) for x, shape, dtype in parts]

    def series(self, columns: Vector) -> list[Any]:
        """Arrays with one dimension more, the last, of the columns of a matrix."""
        count, series = columns.shape[1], []
        for x, shape, dtype in self.parts(columns):
            rows = np.array(x.T, _real(dtype), order="C").view(dtype).reshape(count, *shape)
            series.append(np.ascontiguousarray(np.moveaxis(rows, 0, -1)))
        return series

    def tensors(self, vector: Tensor) -> Tensors:
        """`arrays`, with the derivatives of a vector."""
        arrays: list[Any] = []
        for part, shape, dtype in self.parts(vector):
            whole = part[::2] + 1j * part[1::2] if dtype.kind == "c" else part
            arrays.append(np.reshape(whole, shape).astype(dtype))
        return arrays


def _real(dtype: Any) -> np.dtype[Any]:
    return np.empty(0, dtype).real.dtype


def _chosen(system: System, packing: Packing) -> Solver:
    if system.solver is not None:
        return system.solver
    return "dense" if packing.size <= DENSE else "cg" if system.symmetric else "gmres"


def _numbers(system: System, packing: Packing, b: Vector, parameters: Tensors) -> Vector:
    solver = _chosen(system, packing)
    if not packing.size:
        return b
    if system.said and not system.transposed:
        _check_linear(system, packing, b, parameters)
    if solver in ("dense", "lstsq"):
        matrix = system.factors.of(
            [p._array for p in parameters], lambda: _matrix(system, packing, parameters)
        )
        return matrix.solve(b, system.transposed, solver == "lstsq", system.what)
    product = _product(system, packing, parameters)
    if callable(solver):
        x = np.asarray(solver(product, b))
        if x.shape != b.shape:
            raise ValueError(
                f"the linear solver for {system.what} returned shape {x.shape}, but the right-hand "
                f"side is a vector of shape {b.shape}"
            )
        return x
    return _krylov(solver, product, b, system)


def _product(
    system: System, packing: Packing, parameters: Tensors, transposed: bool | None = None
) -> Callable[[Any], Any]:
    """What the system multiplies real vectors by."""
    like = [wrap(np.zeros(shape, dtype)) for shape, dtype in packing.likes]
    apply = system.map(parameters, like, transposed)

    def product(v: Any) -> Any:
        return packing.joined([t._array for t in apply([wrap(x) for x in packing.tensors(v)])])

    return product


def _check_linear(system: System, packing: Packing, b: Any, parameters: Tensors) -> None:
    """GradError if A(b - 2 r) is not A(b) - 2 A(r), for some vector r that has no pattern.

    What the solvers would make of such a map is the solution of no equation at all.
    """
    product = _product(system, packing, parameters)
    largest = np.max(np.abs(b))
    random = np.random.default_rng(0).standard_normal(len(b))
    r = (np.where(largest == 0, 1.0, largest) * random).astype(b.dtype)
    of_b, of_r, of_both = product(b), product(r), product(b - 2 * r)
    expected = of_b - 2 * of_r
    error = np.max(np.abs(of_both - expected))
    scale = np.max(np.abs(of_b)) + np.max(np.abs(of_r))
    # Rounding is far below this, and so are operators that solve something themselves.
    small = ~(error > max(1e-4, 1e4 * float(np.finfo(b.dtype).eps)) * scale)
    require(small, _not_linear, system.what, of_both, expected)


def _not_linear(what: str, one: Any, other: Any) -> GradError:
    k = np.unravel_index(np.argmax(np.abs(one - other)), np.shape(one))
    return GradError(
        f"{what} is not linear: A(b - 2 r) should be A(b) - 2 A(r), but for some vector r element "
        f"{k[-1]} is {one[k]:.6g} instead of {other[k]:.6g}. A constant in it belongs to b. The "
        "solution of a nonlinear equation is found, and differentiated, by wengert.implicit.root."
    )


def _krylov(name: str, product: Callable[[Vector], Vector], b: Vector, system: System) -> Vector:
    from scipy.sparse import linalg

    n = len(b)
    rtol = system.rtol or (1e-5 if b.dtype == np.float32 else 1e-10)
    operator = linalg.LinearOperator((n, n), matvec=product, dtype=b.dtype)
    options: dict[str, Any] = {"restart": min(n, 50)} if name == "gmres" else {}
    x, info = getattr(linalg, name)(operator, b, rtol=rtol, atol=0.0, **options)
    if info != 0 or not np.all(np.isfinite(x)):
        raise np.linalg.LinAlgError(
            f"{name} did not solve the linear system with {system.what} of size {n} to "
            f"rtol={rtol:g}: it is singular or ill-conditioned"
            + (", or not symmetric and positive definite, as cg needs. " if name == "cg" else ". ")
            + 'Ask for "dense" or "lstsq", or pass a solver with a preconditioner, a function of '
            "(matvec, b)."
        )
    return x


def _matrix(system: System, packing: Packing, parameters: Tensors) -> Vector:
    """The map that is not transposed, column by column."""
    product = _product(system, packing, parameters, transposed=False)
    return np.stack([product(one) for one in np.eye(packing.size, dtype=packing.dtype)], axis=1)


class _Factors:
    """The matrix of a system at one point, and its factors."""

    def __init__(self) -> None:
        self.last: tuple[list[Any], Matrix] | None = None

    def of(self, arrays: list[Any], make: Callable[[], Vector]) -> Matrix:
        last = self.last
        if last is not None and all(map(_same, arrays, last[0])):
            return last[1]
        matrix = Matrix(make())
        self.last = [x.copy() for x in arrays], matrix
        return matrix


def _same(x: Any, y: Any) -> bool:
    return x.dtype == y.dtype and np.array_equal(x, y)


class Matrix:
    """A square matrix that is solved for several right-hand sides."""

    def __init__(self, numbers: Vector) -> None:
        self.numbers = numbers
        self.lu: Any = None

    def solve(self, b: Vector, transposed: bool, least: bool, what: str) -> Vector:
        """A x = b, or A^T x = b; the x of least norm among those of least error, if asked for."""
        n = len(b)
        if not np.all(np.isfinite(self.numbers)):
            raise _not_finite(what, n)
        if least:
            return np.linalg.lstsq(self.numbers.T if transposed else self.numbers, b, rcond=None)[0]
        from scipy.linalg import get_lapack_funcs

        factor, condition, back = get_lapack_funcs(("getrf", "gecon", "getrs"), (self.numbers,))
        if self.lu is None:
            lu, pivots, info = factor(self.numbers)
            norm = np.abs(self.numbers).sum(axis=0).max()
            reciprocal = condition(lu, norm)[0] if info == 0 else 0.0
            self.lu = lu, pivots, reciprocal
        lu, pivots, reciprocal = self.lu
        if reciprocal < np.finfo(self.numbers.dtype).eps:
            raise _singular(what, n, reciprocal)
        return back(lu, pivots, b, trans=int(transposed))[0]


SOLVERS = ("dense", "lstsq", "gmres", "bicgstab", "cg")


def checked_solver(solver: Any, name: str) -> Any:
    """The solver that a user chose, if there is such a one."""
    if solver is None or callable(solver) or solver in SOLVERS:
        return solver
    raise ValueError(
        f"{name}: there is no linear solver {solver!r}. Choose one of {', '.join(SOLVERS)}, or "
        "pass a function (matvec, b) -> x of real vectors."
    )


__all__ = ["Packing", "System", "Tensors", "checked_solver", "ordinarily", "pushed", "transpose"]
