"""vmap: mapping over dimensions, its compositions with derivatives, and what it refuses."""

from __future__ import annotations

import warnings
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.arrays.batched.array import _SIZE as SIZES
from wengert.errors import BatchingError
from wengert.functions.random import numbers_of
from wengert.nn import functional as F

random = np.random.default_rng(11)
A, B = random.standard_normal((4, 3)), random.standard_normal(3)


def same(found: Any, expected: Any) -> None:
    found = found.detach().numpy() if isinstance(found, wg.Tensor) else found
    expected = expected.detach().numpy() if isinstance(expected, wg.Tensor) else expected
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def tensor(x: Any) -> wg.Tensor:
    return wg.from_numpy(np.array(x)).requires_grad_()


# ---- dimensions and containers ----------------------------------------------------------------


def test_numpy_in_gives_numpy_out_and_tensors_give_tensors() -> None:
    assert type(wg.vmap(np.sum)(A)) is np.ndarray
    assert isinstance(wg.vmap(lambda x: x.sum())(wg.from_numpy(A)), wg.Tensor)
    same(wg.vmap(lambda x: F.relu(wg.as_tensor(x)))(A), np.maximum(A, 0))
    assert type(wg.vmap(lambda x: F.relu(wg.as_tensor(x)))(A)) is np.ndarray


@pytest.mark.parametrize("dim", [0, 1, -1, -2])
def test_in_and_out_dims(dim: int) -> None:
    same(wg.vmap(lambda x: 2 * x, in_dims=dim, out_dims=dim)(A), 2 * A)
    same(wg.vmap(np.dot, in_dims=(1, None))(A.T, B), A @ B)


def test_nested_containers() -> None:
    point = namedtuple("point", "x y")
    out = wg.vmap(
        lambda p, d: {"s": p.x * d["k"], "p": point(p.x, [p.y])}, in_dims=(0, {"k": None})
    )(point(A, B[[0, 1, 2, 0]]), {"k": 3.0})
    same(out["s"], 3 * A)
    assert type(out["p"]) is point
    same(out["p"].y[0], B[[0, 1, 2, 0]])


def test_an_output_that_is_the_same_for_all() -> None:
    same(wg.vmap(lambda x: 2.0)(A), np.full(4, 2.0))
    _, w = wg.vmap(lambda x: (x, B), out_dims=(0, None))(A)
    assert w.shape == (3,)
    with pytest.raises(ValueError, match="can not return a BatchedTensor when out_dim is None"):
        wg.vmap(lambda x: x, out_dims=None)(A)


@pytest.mark.parametrize("chunk", [1, 3, 4, 9])
def test_chunks(chunk: int) -> None:
    f = lambda x, b: (x * b, x.sum())
    for found, expected in zip(
        wg.vmap(f, (0, None), (1, 0), chunk_size=chunk)(A, B),
        wg.vmap(f, (0, None), (1, 0))(A, B),
        strict=True,
    ):
        same(found, expected)


def test_keyword_arguments_are_not_mapped() -> None:
    same(wg.vmap(lambda x, b: x @ b)(A, b=B), A @ B)


def test_no_examples() -> None:
    assert wg.vmap(lambda x: np.sin(x).sum())(np.zeros((0, 3))).shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "options", "phrase"),
    [
        ((), {}, "got no inputs"),
        ((A, B), {}, "same size in the mapped dimension"),
        ((A,), {"in_dims": (0, 0)}, "in_dims is not compatible with the structure"),
        ((A,), {"in_dims": 2}, "Tensor of dimensionality 2"),
        ((A,), {"in_dims": "x"}, "expected `in_dims` to be int"),
        ((A,), {"in_dims": None}, "no input to map over"),
        ((3.0,), {}, "cannot vmap over non-Tensor arguments"),
        ((A,), {"out_dims": (0, 0)}, "out_dims is not compatible with the structure"),
    ],
)
def test_arguments_that_do_not_fit(arguments: Any, options: Any, phrase: str) -> None:
    with pytest.raises(ValueError, match=phrase):
        wg.vmap(lambda *xs: xs[0], **options)(*arguments)


def test_options_that_do_not_fit() -> None:
    with pytest.raises(RuntimeError, match="Only allowed values for randomness"):
        wg.vmap(np.sum, randomness="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="chunk_size should be None or greater than 0"):
        wg.vmap(np.sum, chunk_size=0)
    with pytest.raises(ValueError, match="must only return Tensors"):
        wg.vmap(lambda x: "text")(A)
    with pytest.raises(ValueError, match="must only return Tensors"):
        wg.vmap(lambda x: None)(A)
    with pytest.raises(IndexError, match="Dimension out of range"):
        wg.vmap(np.sum, out_dims=1)(A)


# ---- compositions -------------------------------------------------------------------------------


def energy(w: Any, x: Any) -> Any:
    return (np.sin(x * w) * w).sum()


def test_gradient_of_each_example() -> None:
    expected = np.stack([wg.grad(energy)(B, a) for a in A])
    same(wg.vmap(wg.grad(energy), in_dims=(None, 0))(B, A), expected)
    w = tensor(B)
    per_sample = wg.vmap(lambda x: wg.autograd.grad(energy(w, x), w)[0])
    same(per_sample(wg.from_numpy(A)), expected)


def test_gradient_through_a_vmap_sums_what_is_shared() -> None:
    x, w = tensor(A), tensor(B)
    y = wg.vmap(lambda x: energy(w, x))(x)
    y.sum().backward()
    u, v = tensor(A), tensor(B)
    sum(energy(v, u[i]) for i in range(4)).backward()
    same(x.grad, u.grad)
    same(w.grad, v.grad)


def test_second_derivatives_through_a_vmap() -> None:
    loop = lambda w: sum(energy(w, a) for a in A)
    mapped = lambda w: wg.vmap(lambda x: energy(w, x))(A).sum()
    same(wg.hessian(mapped)(B), wg.hessian(loop)(B))
    w = tensor(B)
    (g,) = wg.autograd.grad(mapped(w), w, create_graph=True)
    (h,) = wg.autograd.grad((g**3).sum(), w)
    (e,) = wg.autograd.grad(loop(w), w, create_graph=True)
    same(h, wg.autograd.grad((e**3).sum(), w)[0])


def test_gradient_of_a_penalty_on_gradients_of_each_example() -> None:
    def penalty(w: Any) -> Any:
        return (wg.vmap(wg.grad(energy), in_dims=(None, 0))(w, A) ** 2).sum()

    def looped(w: Any) -> Any:
        return sum((wg.grad(energy)(w, a) ** 2).sum() for a in A)

    same(wg.grad(penalty)(B), wg.grad(looped)(B))


def test_a_linear_function_of_what_is_shared() -> None:
    # The cotangent of an addition is the same for all examples, and still counts for each.
    w = tensor(B)
    wg.vmap(lambda x: (w + x).sum() + (w * 2).sum())(wg.from_numpy(A)).sum().backward()
    same(w.grad, np.full(3, 12.0))


def test_nested_vmaps() -> None:
    outer = wg.vmap(wg.vmap(np.multiply, (None, 0)), (0, None))
    same(outer(B, A[:, 0]), B[:, None] * A[:, 0])
    x, y = tensor(A), tensor(B)
    wg.vmap(lambda a: wg.vmap(lambda b: (a * b).sum())(y))(x).sum().backward()
    same(y.grad, np.full(3, A.sum()))
    same(x.grad, np.full((4, 3), B.sum()))


def test_jacobian_by_many_cotangents() -> None:
    w = tensor(B)
    y = np.sin(w) * w.sum()
    (j,) = wg.autograd.grad(y, w, wg.eye(3, dtype=wg.float64), is_grads_batched=True)
    same(j, wg.jacrev(lambda w: np.sin(w) * w.sum())(B))


def test_many_cotangents_through_a_vmap() -> None:
    w = tensor(B)
    y = wg.vmap(lambda x: energy(w, x))(A)
    (j,) = wg.autograd.grad(
        y, w, wg.eye(4, dtype=wg.float64), is_grads_batched=True, create_graph=True
    )
    same(j, np.stack([wg.grad(energy)(B, a) for a in A]))
    (h,) = wg.autograd.grad(j.sum(), w)
    same(h, wg.hessian(lambda w: sum(energy(w, a) for a in A))(B).sum(0))


def test_modules_and_their_gradients_per_example() -> None:
    net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()
    x, t = wg.from_numpy(A), wg.tensor([0, 1, 1, 0])
    params = dict(net.named_parameters())

    def loss(params: Any, x: Any, t: Any) -> Any:
        out = wg.func.functional_call(net, params, (x.unsqueeze(0),))
        return F.cross_entropy(out, t.unsqueeze(0))

    found = wg.vmap(wg.grad(loss), in_dims=(None, 0, 0))(params, x, t)
    for i in range(4):
        net.zero_grad()
        F.cross_entropy(net(x[i : i + 1]), t[i : i + 1]).backward()
        for name, p in net.named_parameters():
            same(found[name][i], p.grad)


def test_a_convolution_of_each_example_with_its_own_weight() -> None:
    x, w = (
        tensor(random.standard_normal((4, 2, 3, 6, 6))),
        tensor(random.standard_normal((4, 5, 3, 3, 3))),
    )
    f = lambda x, w: F.max_pool2d(F.conv2d(x, w, padding=1), 2)
    y = wg.vmap(f)(x, w)
    e = wg.stack([f(x[i], w[i]) for i in range(4)])
    same(y, e)
    for found, expected in zip(
        wg.autograd.grad((y**2).sum(), (x, w)), wg.autograd.grad((e**2).sum(), (x, w)), strict=True
    ):
        same(found, expected)


def test_compiled() -> None:
    w = tensor(B)
    f = wg.compile(wg.vmap(lambda x: energy(w, x)))
    same(f(wg.from_numpy(A)), wg.vmap(lambda x: energy(w, x))(wg.from_numpy(A)))
    g = wg.compile(wg.vmap(wg.grad(energy), in_dims=(None, 0)))
    same(g(wg.from_numpy(B), wg.from_numpy(A)), wg.vmap(wg.grad(energy), in_dims=(None, 0))(B, A))


def test_leaves_made_inside() -> None:
    def slope(x: Any) -> Any:
        leaf = wg.ones(3, dtype=wg.float64).requires_grad_()
        (leaf * x).sum().backward()
        return leaf.grad

    same(wg.vmap(slope)(wg.from_numpy(A)), A)


def test_backward_inside_to_a_leaf_outside() -> None:
    w = tensor(B)
    with pytest.raises(BatchingError, match=r"autograd\.grad inside"):
        wg.vmap(lambda x: (w * x).sum().backward())(wg.from_numpy(A))
    assert w.grad is None


def test_custom_function() -> None:
    class Cube(wg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            ctx.save_for_backward(x, w)
            return x**3 * w

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, w = ctx.saved_tensors
            return 3 * x**2 * w * g, x**3 * g

    x, w = tensor(A), tensor(B)
    wg.vmap(lambda x: Cube.apply(x, w))(x).sum().backward()
    same(x.grad, 3 * A**2 * B)
    same(w.grad, (A**3).sum(0))


# ---- writing ------------------------------------------------------------------------------------


def test_writing_in_place() -> None:
    x = wg.from_numpy(A.copy())

    def f(x: Any) -> Any:
        out = wg.zeros_like(x)
        out[1:] = x[:-1]
        out[0] += x.sum()
        out.mul_(2)
        return out

    expected = np.stack([f(wg.from_numpy(a)).numpy() for a in A.copy()])
    same(wg.vmap(f)(x), expected)


def test_writing_a_batched_value_into_an_array_without_batch() -> None:
    with pytest.raises(RuntimeError, match="out-of-place operators instead of inplace"):
        wg.vmap(lambda x: wg.zeros(3).double().add_(x))(wg.from_numpy(A))

    def fill(x: Any) -> Any:
        out = np.zeros(3)
        out[:] = x
        return out

    with pytest.raises(BatchingError, match=r"np\.zeros_like\(x\)"):
        wg.vmap(fill)(A)


def test_writing_into_an_argument_reaches_the_caller() -> None:
    x = wg.from_numpy(A.copy())
    wg.vmap(lambda x: x.add_(1))(x)
    same(x, A + 1)
    leaf = tensor(A)
    with pytest.raises(RuntimeError, match="leaf"):
        wg.vmap(lambda x: x.add_(1))(leaf)


# ---- numbers that one example has -----------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "phrase"),
    [
        (lambda x: x if x.sum() > 0 else -x, "data-dependent control flow"),
        (lambda x: x * x.sum().item(), r"\.item\(\)"),
        (lambda x: x * float(x.sum()), "rewrite what follows|item"),
        (lambda x: x[x > 0], "mask"),
        (lambda x: np.array([x[0], x[1]]), "float|np.stack"),
    ],
)
def test_data_dependent_control_flow(f: Any, phrase: str) -> None:
    with pytest.raises(BatchingError, match=phrase):
        wg.vmap(f)(wg.from_numpy(A))


def test_an_array_that_escaped() -> None:
    kept = []
    wg.vmap(lambda x: kept.append(x) or x)(A)
    with pytest.raises(BatchingError, match="after that vmap"):
        np.asarray(kept[0])


def test_a_function_without_a_meaning_is_looped_and_says_so_once() -> None:
    f = wg.vmap(lambda x: np.histogram(x, 3, (-2, 2))[0])
    with pytest.warns(UserWarning, match=r"performance drop.*histogram"):
        found = f(A)
    same(found, np.stack([np.histogram(a, 3, (-2, 2))[0] for a in A]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(A)


# ---- random numbers -----------------------------------------------------------------------------


def test_randomness() -> None:
    x = wg.from_numpy(np.ones((4, 1000)))
    with pytest.raises(RuntimeError, match="randomness error mode"):
        wg.vmap(F.dropout)(x)
    draw = lambda x: x + wg.randn(1000, dtype=wg.float64)
    same_numbers = wg.vmap(draw, randomness="same")(x)
    same(same_numbers[0], same_numbers[1])
    other = wg.vmap(draw, randomness="different")(x)
    assert not np.allclose(other[0].numpy(), other[1].numpy())
    dropped = wg.vmap(F.dropout, randomness="different")(x).numpy()
    assert 0.4 < (dropped == 0).mean() < 0.6
    assert not np.array_equal(dropped[0], dropped[1])
    chunked = wg.vmap(draw, randomness="same", chunk_size=2)(x)
    same(chunked[0], chunked[3])


DRAWS: dict[str, tuple[Any, ...]] = {
    "beta": (2.0, 3.0, (2,)), "binomial": (5, 0.5, (2,)), "chisquare": (2.0, (2,)),
    "choice": (5, (2,)), "dirichlet": ([1.0, 2.0], 3), "exponential": (1.0, (2,)),
    "f": (2.0, 3.0, 2), "gamma": (2.0, 1.0, 2), "geometric": (0.5, 2), "gumbel": (0.0, 1.0, 2),
    "hypergeometric": (5, 4, 3, 2), "integers": (0, 9, 2), "laplace": (0.0, 1.0, 2),
    "logistic": (0.0, 1.0, 2), "lognormal": (0.0, 1.0, 2), "logseries": (0.5, 2),
    "multinomial": (5, [0.5, 0.5]), "multivariate_hypergeometric": ([5, 4], 3),
    "multivariate_normal": ([0.0, 1.0], np.eye(2)), "negative_binomial": (3, 0.5, 2),
    "noncentral_chisquare": (2.0, 1.0, 2), "noncentral_f": (2.0, 3.0, 1.0, 2),
    "normal": (0.0, 1.0, 2), "pareto": (2.0, 2), "permutation": (4,), "permuted": ([1, 2, 3],),
    "poisson": (3.0, 2), "power": (2.0, 2), "random": (2,), "rayleigh": (1.0, 2),
    "standard_cauchy": (2,), "standard_exponential": (2,), "standard_gamma": (2.0, 2),
    "standard_normal": (2,), "standard_t": (3.0, 2), "triangular": (0.0, 1.0, 2.0, 2),
    "uniform": (0.0, 1.0, 2), "vonmises": (0.0, 1.0, 2), "wald": (1.0, 1.0, 2),
    "weibull": (2.0, 2), "zipf": (2.0, 2),
}  # fmt: skip


@pytest.mark.parametrize("method", DRAWS)
def test_whatever_numpy_draws_is_drawn_for_each_example(method: str) -> None:
    # Methods that were not in a table of arguments ended in a KeyError.
    def draw(x: Any) -> Any:
        return wg.from_numpy(getattr(numbers_of(None), method)(*DRAWS[method]) + 0 * x.numpy())

    x = wg.zeros(4)
    wg.manual_seed(3)
    drawn = wg.vmap(draw, randomness="different")(x).numpy()
    wg.manual_seed(3)
    each = np.stack([getattr(numbers_of(None), method)(*DRAWS[method]) for _ in range(4)])
    assert drawn.shape == each.shape
    assert (drawn != drawn[0]).any()
    if method not in SIZES:  # those draw for all examples at once, in another order
        np.testing.assert_array_equal(drawn, each)


def test_draws_with_parameters_of_each_example() -> None:
    scale = np.array([1.0, 100.0, 10_000.0])

    def draw(s: Any) -> Any:
        generator = numbers_of(None)
        one = np.array([1.0, 2.0, 3.0]) * s
        generator.shuffle(one)
        return (
            generator.gamma(50.0, s),
            generator.gamma(50.0, scale=s),
            generator.normal(scale=s),
            one,
        )

    by_place, by_name, normal, shuffled = wg.vmap(draw, randomness="different")(scale)
    assert np.all(np.abs(by_place / scale - 50) < 50)
    assert np.all(np.abs(by_name / scale - 50) < 50)
    assert np.all(np.abs(normal / scale) < 6)
    np.testing.assert_array_equal(np.sort(shuffled), scale[:, None] * [1, 2, 3])


@pytest.mark.parametrize(
    "draw", [lambda g: g.bytes(3), lambda g: g.shuffle([1, 2]), lambda g: g.spawn(2)]
)
def test_draws_without_a_meaning_for_examples_say_so(draw: Any) -> None:
    with pytest.raises(wg.errors.BatchingError, match="has no meaning for 3 examples"):
        wg.vmap(lambda x: draw(numbers_of(None)), randomness="different")(wg.zeros(3))


def test_randomness_is_repeatable() -> None:
    f = wg.vmap(
        lambda x: wg.rand_like(x) + wg.bernoulli(wg.full_like(x, 0.5)), randomness="different"
    )
    x = wg.from_numpy(A)
    wg.manual_seed(5)
    first = f(x)
    wg.manual_seed(5)
    same(f(x), first)


# ---- functions that are not differentiable -----------------------------------------------------

OPAQUE = {
    "geqrf": lambda x: wg.geqrf(x.reshape(3, 2))[0],
    "nonzero_static": lambda x: wg.nonzero_static(x > 2, size=4),
    "histogram": lambda x: wg.histogram(x, 3)[0],
    "as_strided": lambda x: x.as_strided((2, 3), (1, 2)),
    "linspace": lambda x: wg.linspace(x[0], x[1], 4),
    "integers of linspace": lambda x: wg.linspace(x[0], x[1], 4, dtype=wg.int64),
    "logspace": lambda x: wg.logspace(x[0], x[1], 3),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", OPAQUE)
def test_functions_of_numbers_alone_are_mapped(name):
    # They asked a batched array for its numbers, or for its memory.
    f = OPAQUE[name]
    x = wg.arange(12.0).reshape(2, 6) % 7
    same(wg.vmap(f)(x), wg.stack([f(row) for row in x]))


def test_strides_within_an_example_are_of_one_piece():
    with pytest.raises(RuntimeError, match="does not lie in one piece"):
        wg.vmap(lambda x: x.as_strided((2,), (1,)), 1)(wg.ones(3, 2))


@pytest.mark.parametrize("f", [np.cumsum, np.nancumsum, np.argmax, np.nanargmin])
def test_along_a_dimension_a_number_is_a_vector_of_one_element(f):
    # Running sums that pass over NaN gave a number, and places along axis 0 were an error.
    x = np.array([1.0, 2.0, 3.0])
    for axis in (None, 0):
        found, wanted = wg.vmap(lambda a: f(a, axis=axis))(x), [f(a, axis=axis) for a in x]  # noqa: B023
        assert np.asarray(found).tolist() == np.asarray(wanted).tolist()
