"""autograd.functional against torch.autograd.functional: values, structures, strictness, errors."""

import itertools
import warnings

import numpy as np
import pytest

import wengert as wg
from tests.parity.test_func import plain, same

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(3)
X, Y, V = (RNG.standard_normal(3) for _ in range(3))

FUNCTIONS = {
    "elementwise": lambda T: lambda x: x.sin() * x,
    "scalar": lambda T: lambda x: (x**3).sum(),
    "one element": lambda T: lambda x: (x**3).sum().reshape(1, 1, 1),
    "two outputs": lambda T: lambda x: (x * x, x.sum()),
    "one in a tuple": lambda T: lambda x: (x * x,),
    "linear": lambda T: lambda x: (2 * x).sum(),
    "constant": lambda T: lambda x: T.ones(1, dtype=T.float64, requires_grad=True).sum(),
    "detached": lambda T: lambda x: x.detach().sum(),
    "no tensor": lambda T: lambda x: 3.0,
    "matrix": lambda T: lambda x: x.reshape(3, 1) * x,
    "complex": lambda T: lambda x: x * 1j,
    "empty": lambda T: lambda x: x[:0],
}


def attempt(call):
    """The result, or the type of error: the one of ours derives from theirs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(call())
        except (RuntimeError, TypeError, NotImplementedError, AssertionError) as error:
            return error


def agree(call):
    """Both give the same, or fail in the same way."""
    ours, theirs = attempt(lambda: call(wg)), attempt(lambda: call(torch))
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert isinstance(ours, type(theirs)), (ours, theirs)
        return
    same(ours, theirs)


@pytest.mark.parametrize("flags", list(itertools.product([False, True], repeat=2)), ids=str)
@pytest.mark.parametrize("name", ["vjp", "jvp", "hvp", "vhp"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_products(function, name, flags):
    create_graph, strict = flags

    def call(T):
        x = T.tensor(X, requires_grad=True)
        f = FUNCTIONS[function](T)
        v = None
        if name != "vjp" or function in ("elementwise", "one in a tuple"):
            v = T.tensor(V)
        elif function == "two outputs":
            v = (T.tensor(V), T.tensor(V)[0])
        return getattr(T.autograd.functional, name)(f, x, v, create_graph, strict)

    agree(call)


@pytest.mark.parametrize("flags", list(itertools.product([False, True], repeat=3)), ids=str)
@pytest.mark.parametrize("name", ["jacobian", "hessian"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_matrices(function, name, flags):
    create_graph, strict, vectorize = flags
    if function == "empty" or (vectorize and function == "complex"):
        pytest.skip("PyTorch cannot stack nothing, and vectorized drops imaginary parts")

    def call(T):
        x = T.tensor(X, requires_grad=True)
        matrix = getattr(T.autograd.functional, name)
        return matrix(FUNCTIONS[function](T), x, create_graph, strict, vectorize)

    agree(call)


@pytest.mark.parametrize("name", ["vjp", "jvp", "hvp", "vhp", "jacobian", "hessian"])
def test_several_inputs(name):
    def call(T):
        inputs = (T.tensor(X), T.tensor(Y, requires_grad=True))
        more = () if name in ("jacobian", "hessian") else ((T.tensor(V), T.tensor(X)),)
        if name == "vjp":
            more = (None,)
        return getattr(T.autograd.functional, name)(
            lambda x, y: (x * y * y).sum() * x[0], inputs, *more
        )

    agree(call)


@pytest.mark.parametrize("name", ["vjp", "jvp", "hvp", "vhp"])
@pytest.mark.parametrize(
    "v",
    [
        lambda T: None,
        lambda T: T.ones(2),
        lambda T: (T.ones(3), T.ones(3)),
        lambda T: [1.0, 2.0, 3.0],
        lambda T: T.ones(()),
    ],
    ids=["none", "size", "count", "list", "scalar"],
)
def test_vectors_that_do_not_fit(name, v):
    agree(lambda T: getattr(T.autograd.functional, name)(lambda x: (x**2).sum(), T.tensor(X), v(T)))


@pytest.mark.parametrize("name", ["vjp", "jvp", "hvp", "vhp", "jacobian", "hessian"])
def test_inputs_that_are_no_tensors(name):
    agree(lambda T: getattr(T.autograd.functional, name)(lambda x: x.sum(), 3.0))
    agree(lambda T: getattr(T.autograd.functional, name)(lambda x: x.sum(), [T.tensor(X)]))
    agree(lambda T: getattr(T.autograd.functional, name)(lambda x, y: x.sum(), (T.tensor(X), 2)))


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", ["vjp", "jvp", "hvp", "vhp", "jacobian", "hessian"])
def test_history_only_where_asked_for(name, create_graph):
    found = []
    for T, grad in itertools.product((wg, torch), (True, False)):
        x, v = T.tensor(X, requires_grad=True), T.tensor(V, requires_grad=True)
        args = () if name in ("jacobian", "hessian", "vjp") else (v,)
        with T.set_grad_enabled(grad):
            result = getattr(T.autograd.functional, name)(
                lambda x: (x**3).sum(), x, *args, create_graph=create_graph
            )
        flat = result if isinstance(result, tuple) else (result,)
        sums = sum(t.sum() for t in flat)
        gradients = (
            [g.numpy() for g in T.autograd.grad(sums, (x, *args))] if sums.requires_grad else []
        )
        found.append(([t.requires_grad for t in flat], gradients))
        assert x.grad is None
    assert [flags for flags, _ in found[:2]] == [flags for flags, _ in found[2:]]
    for (_, ours), (_, theirs) in zip(found[:2], found[2:], strict=True):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10)


def test_strategies():
    F = wg.autograd.functional
    x = wg.tensor(X)
    with pytest.raises(AssertionError, match="Expected strategy to be either"):
        F.jacobian(lambda x: x, x, strategy="x")


@pytest.mark.parametrize(
    "function", ["elementwise", "scalar", "two outputs", "one in a tuple", "matrix", "linear"]
)
def test_forward_mode_strategies(function):
    def call(T, name, **strategy):
        matrix = getattr(T.autograd.functional, name)
        x = T.tensor(X, requires_grad=True)
        return matrix(FUNCTIONS[function](T), x, vectorize=True, **strategy)

    agree(lambda T: call(T, "jacobian", strategy="forward-mode"))
    if function == "scalar":  # PyTorch's fails where the gradient is constant
        agree(lambda T: call(T, "hessian", outer_jacobian_strategy="forward-mode"))


def test_forward_mode_of_several_inputs_has_the_dtype_of_the_output():
    def call(T):
        blocks = T.autograd.functional.jacobian(
            lambda x, y: (x * y, (x * 2).to(T.float32)),
            (T.tensor(X), T.tensor(Y)),
            vectorize=True,
            strategy="forward-mode",
        )
        return tuple(map(tuple, blocks))

    agree(call)


def test_strict_and_forward_mode_exclude_each_other():
    agree(
        lambda T: T.autograd.functional.jacobian(
            lambda x: x, T.tensor(X), strict=True, strategy="forward-mode", vectorize=True
        )
    )
