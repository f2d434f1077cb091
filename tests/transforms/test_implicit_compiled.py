"""Solutions of equations in compiled functions: the loops that find them, and their derivatives."""

import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.errors import GradError


def names(compiled):
    found, pending = set(), list(compiled.program.statements)
    while pending:
        s = pending.pop()
        found.add(s.name)
        pending += [x for body in getattr(s.function, "bodies", ()) for x in body.statements]
    return found


def outcome(f, *args):
    """What a function returns, or the sentence that it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # SciPy's, of overflows
        try:
            return f(*args)
        except GradError as error:
            return str(error)


def agrees(one, other):
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return np.allclose(one, other, rtol=1e-6, atol=1e-8)


EQUATIONS = {
    "cubic": (lambda x, p: x**3 - 2 * x - p, 1),
    "valley": (lambda x, p: np.stack([10 * (x[1] - x[0] ** 2), 1 - p * x[0]]), 2),
    "singular at the root": (
        lambda x, p: np.stack([
            x[0] + 10 * x[1], x[2] - x[3], (x[1] - 2 * x[2]) ** 2, p * (x[0] - x[3]) ** 2,
        ]),
        4,
    ),
    "banded": (
        lambda x, p: (3 - 2 * x) * x + p
        - np.concatenate([[0], x[:-1]]) - 2 * np.concatenate([x[1:], [0]]),
        8,
    ),
    "none": (lambda x, p: x**2 + p, 2),
    "many": (lambda x, p: np.sin(3 * x) - p * 0.1 * x, 3),
    "of LAPACK's size": (lambda x, p: x**3 - p + np.roll(x, 1) / 2, 40),
}  # fmt: skip


@pytest.mark.parametrize(("f", "n"), EQUATIONS.values(), ids=EQUATIONS)
def test_a_compiled_root_takes_the_steps_of_minpack(f, n):
    # It was called back in Python: 150 times as long for three unknowns. Of several roots the loops
    # have to find the same one, and where there is none, fail in the same way.
    solution = wg.implicit.root()(f)
    eager = lambda x0, p: solution(x0, p)
    compiled = wg.compile(eager)
    random = np.random.default_rng(3)
    for k in range(12):
        x0 = random.standard_normal(n) * (k / 2)
        assert agrees(outcome(eager, x0, 1.0), outcome(compiled, x0, 1.0))
    assert "until" in names(compiled)
    assert "implicit_solution" not in names(compiled)


MINIMA = {
    "valley": (
        lambda x, p: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2) * p, 6,
    ),
    "saddle": (lambda x, p: np.sum((x**2 - p) ** 2) + x[0] * x[-1], 3),
    "waves": (lambda x, p: np.sum(np.cos(x)) + p * np.sum(x**2) / 10, 2),
    "no bound": (lambda x, p: np.sum(np.exp(p * x)), 2),
    "down forever": (lambda x, p: -np.sum(x**2) * p, 2),
}  # fmt: skip


@pytest.mark.parametrize(("f", "n"), MINIMA.values(), ids=MINIMA)
def test_a_compiled_minimum_takes_the_steps_of_scipys_trust_region(f, n):
    solution = wg.implicit.argmin()(f)
    eager = lambda x0, p: solution(x0, p)
    compiled = wg.compile(eager)
    random = np.random.default_rng(3)
    for k in range(6):
        x0 = random.standard_normal(n) * (k / 2)
        assert agrees(outcome(eager, x0, 1.0), outcome(compiled, x0, 1.0))
    assert "until" in names(compiled)
    assert "implicit_solution" not in names(compiled)


def test_a_minimum_whose_slope_is_no_number_is_an_error_in_every_mode():
    # SciPy takes NaN for a slope that is small enough, so where the search began was the minimum.
    solution = wg.implicit.argmin()(lambda x, p: np.sum(np.sqrt(x - p)))
    eager = lambda p: solution(np.zeros(2), p)
    for f in (eager, wg.compile(eager)):
        with (
            np.errstate(invalid="ignore"),
            pytest.raises(GradError, match="2 of the 2 elements of the grad"),
        ):
            f(1.0)


def box(x, p):
    return {"a": x["a"] ** 2 - p * x["b"][0], "b": x["b"] ** 3 + x["a"] - 2 * p}


CALLS = {
    "a number": (wg.implicit.root(), lambda x, p: x**3 + np.sin(x) - p, 1.0),
    "an array": (wg.implicit.root(), lambda x, p: x**3 + x[::-1] - p, np.ones(3)),
    "a tensor": (wg.implicit.root(), lambda x, p: x**3 + x.flip(0) - p, wg.ones(3).double()),
    "containers": (wg.implicit.root(), box, {"a": 1.0, "b": np.ones(2)}),
    "complex": (wg.implicit.root(), lambda z, p: z**2 - (1 + 2j) * p, np.array([1 + 1j])),
    "least squares": (wg.implicit.root(linear_solver="lstsq"), lambda x, p: x**3 - p, np.ones(2)),
    "one's own": (
        wg.implicit.root(lambda f, x0: np.sqrt(-f(x0 * 0)), linear_solver="gmres"),
        lambda x, p: x**2 - p,
        np.ones(2),
    ),
    "a minimum": (wg.implicit.argmin(), lambda x, p: np.sum((x**2 - p) ** 2 + x), np.ones(2)),
    "a fixed point": (wg.implicit.fixed_point(), lambda x, p: np.cos(x * p), np.ones(2)),
    "a linear system": (
        lambda f: lambda b, p: wg.implicit.solve(f, b, p),
        lambda v, p: p * v + np.roll(v, 1) / 4,
        np.arange(3.0),
    ),
}


@pytest.mark.parametrize(("solver", "f", "x0"), CALLS.values(), ids=CALLS)
def test_compiled_solutions_have_the_derivatives_of_eager_ones(solver, f, x0):
    solution = solver(f)

    def total(p):
        leaves = solution(x0, p)
        leaves = leaves.values() if type(leaves) is dict else [leaves]
        return sum(np.sum(abs(x) ** 2) for x in leaves)

    first = wg.grad(total)
    forward = lambda p: wg.jvp(total, (p,), (np.ones_like(p),))[1]
    several = wg.vmap(first)
    p, ps = np.array(0.8), np.array([0.6, 0.8, 0.9])
    for derivative, at in (
        (total, p),
        (first, p),
        (forward, p),
        (wg.grad(first), p),
        (several, ps),
    ):
        compiled = wg.compile(derivative)
        np.testing.assert_allclose(compiled(at), derivative(at), rtol=1e-6, atol=1e-12)
        called = {"implicit_solution", "linear_solution"} & names(compiled)
        assert not called or solver in CALLED


CALLED = [CALLS[name][0] for name in ("one's own", "least squares")]


def test_single_precision_stays_single_in_a_compiled_root():
    solution = wg.implicit.root()(lambda x, p: x**3 - p)
    x0, p = np.ones(2, np.float32), np.float32([1, 8])
    compiled = wg.compile(lambda p: solution(x0, p))(p)
    assert compiled.dtype == np.float32
    np.testing.assert_allclose(compiled, [1, 2], rtol=1e-6)


def test_a_batch_of_roots_fails_where_one_of_them_does():
    solution = wg.implicit.root()(lambda x, p: x**2 - p)
    compiled = wg.compile(wg.vmap(lambda p: solution(np.array([3.0]), p)))
    np.testing.assert_allclose(compiled(np.array([1.0, 4.0, 9.0]))[:, 0], [1, 2, 3])
    with pytest.raises(GradError, match="default solver did not converge"):
        compiled(np.array([1.0, -4.0]))


def flat(x, p):
    return np.stack([x[0] + x[1] - p, 2 * (x[0] + x[1] - p)])


WRONG = {
    "is singular .*lstsq": wg.grad(
        lambda p: np.sum(wg.implicit.root(lambda f, x0: x0)(flat)(np.zeros(2), p))
    ),
    "is not linear": lambda s: wg.implicit.solve(lambda v, s: s * v + 1, np.ones(2), s),
    "not finite": lambda s: wg.implicit.solve(lambda v, s: v / s, np.ones(2), s),
}


@pytest.mark.parametrize("mode", [wg.compile, lambda f: f], ids=["compiled", "eager"])
@pytest.mark.parametrize(("message", "f"), WRONG.items(), ids=WRONG)
def test_what_is_wrong_with_a_linear_system_is_told_in_every_mode(message, f, mode):
    with (
        np.errstate(all="ignore"),
        pytest.raises((np.linalg.LinAlgError, GradError), match=message),
    ):
        mode(f)(np.array(0.0))
