"""A compiled function that is differentiated where arrays are given: `wg.grad(compiled)(array)`."""

import numpy as np
import pytest

import wengert as wg

X = np.linspace(0.3, 1.2, 5)
factor = wg.tensor(np.array(1.5), requires_grad=True)


def squared(x):
    return np.sum(np.tanh(x) ** 2)


def by_arrays_methods(x):
    return (x.astype(float).reshape(x.size, 1).T @ np.outer(x, x).sum(axis=0)).sum()


def of_parts(x):
    return {"sum": x.sum(), "rest": [x[1:] * 2, x[0]]}


def doubled(x):
    x *= 2.0
    return np.sin(x)


def itself(x):
    return x


def a_part(x):
    return x[1:]


def by_parameter(x):
    return np.sum(x**2) * factor


def looped(x):
    return wg.while_loop(lambda s: np.sum(s) > 0.1, lambda s: np.sin(s) * 0.8, x).sum()


def added(result):
    return result["sum"] * result["rest"][1] + np.sum(result["rest"][0] ** 2)


def written_afterwards(f, x):
    y = x * 2.0
    z = f(y)
    y[...] = 0
    return np.sum(z**2) + y.sum()


def written_before(f, x):
    y = x * 1.0
    z = y * y
    u = f(y)
    return z.sum() + np.sum(u * u) + y.sum()


def result_written(f, x):
    y = f(x * 1.0)
    z = y * y
    y[...] = 3.0
    return np.sum(z) + np.sum(y)


USES = {
    "alone": (squared, lambda f, x: f(x)),
    "as NumPy's arrays": (by_arrays_methods, lambda f, x: f(x) ** 2),
    "in containers": (of_parts, lambda f, x: added(f(x))),
    "the argument written afterwards": (np.sin, written_afterwards),
    "the argument written by it": (doubled, written_before),
    "the argument returned, and written": (itself, result_written),
    "a part returned, and written": (a_part, result_written),
    "the result written": (np.exp, result_written),
    "a tensor from outside": (by_parameter, lambda f, x: f(x)),
    "a loop": (looped, lambda f, x: f(x)),
    "one in another": (squared, lambda f, x: wg.grad(f)(x).sum() * f(x)),
}
DERIVATIVES = {
    "grad": wg.grad,
    "value and grad": lambda f: lambda x: np.append(*wg.value_and_grad(f)(x)),
    "jacrev": wg.jacrev,
    "second": lambda f: wg.grad(lambda x: np.sum(wg.grad(f)(x) ** 2)),
    "hessian": wg.hessian,
    "vmap": lambda f: lambda x: wg.vmap(wg.grad(f))(np.stack([x, x * 0.5])),
}


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("use", USES)
def test_the_derivative_of_a_compiled_function_by_arrays_is_that_of_the_function(use, derivative):
    f, uses = USES[use]
    of = DERIVATIVES[derivative]
    compiled = wg.compile(f)
    expected = of(lambda x: uses(f, x))(X)
    for _ in range(3):
        found = of(lambda x: uses(compiled, x))(X)
        assert type(found) is type(expected)
        found, wanted = (t.detach() if isinstance(t, wg.Tensor) else t for t in (found, expected))
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_a_gradient_by_arrays_of_a_compiled_function_was_that_of_the_function_run_eagerly():
    f = wg.compile(lambda x: np.sum(x**2))
    wg.grad(f)(X)
    f.function = None  # no call of the function itself any more
    for _ in range(3):
        np.testing.assert_allclose(wg.grad(f)(X), 2 * X)


def test_what_cannot_be_compiled_where_it_is_differentiated_by_arrays_runs_eagerly():
    @wg.compile
    def f(x):
        return np.sum(x) if np.sum(x) > 0 else -np.sum(x)

    np.testing.assert_allclose(wg.grad(f)(-X), -np.ones(5))
