"""Rules of the user's own: in both directions, to third order, batched and compiled."""

import numpy as np
import pytest
import scipy.special

import wengert as wg
from tests.transforms import numeric
from wengert.errors import BatchingError, MissingRuleError, ShapeError, TracingError
from wengert.rules import RULES

X = np.array([0.3, -0.7, 1.2])
W = np.array([1.0, -2.0, 0.5])


@wg.primitive.elementwise(lambda t, y: t * y * (1 - y))
def logistic(x):
    """The logistic function."""
    return 1 / (1 + np.exp(-x))


@wg.primitive.elementwise(lambda t, y: t * y * (1 - y), opaque=True)
def logistic_by_scipy(x):
    assert type(x) in (np.ndarray, float, np.float64), type(x)
    return scipy.special.expit(x)


@wg.primitive.elementwise(
    lambda t, a, b: t * b * np.power(a, b - 1), lambda t, a, y: t * y * np.log(a), opaque=True
)
def power(a, b):
    return np.asarray(a) ** np.asarray(b)


@wg.primitive.linear(lambda g, x_shape, axis: np.broadcast_to(np.expand_dims(g, axis), x_shape))
def total(x, axis=0):
    return np.sum(x, axis)


@wg.primitive.linear(
    lambda g, b: np.outer(g, b), lambda g, a: np.matmul(np.transpose(a), g), opaque=True
)
def times(a, b):
    return np.asarray(a) @ np.asarray(b)


@wg.primitive.general(
    reverse={"x": lambda g, x: g[0] * np.cos(x) - g[1] * np.sin(x)},
    forward={"x": lambda t, x: [t * np.cos(x), -t * np.sin(x)]},
    outputs=2,
)
def sine_and_cosine(x):
    return np.sin(x), np.cos(x)


@wg.primitive.general(reverse={"x": lambda g: g}, forward={"x": lambda t: t})
def rounded(x):
    return np.round(x)  # a straight-through estimator


@wg.primitive.linear(lambda g, mask: g * mask)
def masked(x, mask):
    return x * mask


@wg.primitive.linear(lambda g, mask: g * mask, None)
def masked_by_a_constant(x, mask):
    return x * mask


MINE = [
    logistic,
    logistic_by_scipy,
    power,
    total,
    times,
    sine_and_cosine,
    rounded,
    masked,
    masked_by_a_constant,
]
TAKEN_OUT = {function: RULES.pop(function) for function in MINE}


@pytest.fixture(autouse=True)
def table():
    """The table with the functions above; the tests of the table itself see it without them."""
    before = dict(RULES)
    RULES.update(TAKEN_OUT)
    yield
    RULES.clear()
    RULES.update(before)


LOSSES = {
    "elementwise": (lambda x: np.sum(logistic(x) * W), lambda x: np.sum(W / (1 + np.exp(-x)))),
    "opaque": (
        lambda x: np.sum(logistic_by_scipy(x) * W),
        lambda x: np.sum(W / (1 + np.exp(-x))),
    ),
    "two arguments": (
        lambda x: np.sum(power(x + 2, x) + power(x + 2, 2.0) * power(2.0, x)),
        lambda x: np.sum((x + 2) ** x + (x + 2) ** 2 * 2**x),
    ),
    "linear": (lambda x: np.sum(total(x * x) ** 2), lambda x: np.sum(x * x) ** 2),
    "bilinear": (
        lambda x: np.sum(times(np.outer(x, W), np.sin(x)) ** 2),
        lambda x: np.sum((np.outer(x, W) @ np.sin(x)) ** 2),
    ),
    "general": (
        lambda x: np.sum(sine_and_cosine(x)[0] * W + sine_and_cosine(x)[1] ** 3),
        lambda x: np.sum(np.sin(x) * W + np.cos(x) ** 3),
    ),
}
EACH = pytest.mark.parametrize(("f", "plain"), LOSSES.values(), ids=LOSSES)


@EACH
def test_values_and_gradients_in_both_directions_are_those_of_the_formula(f, plain):
    assert np.allclose(f(X), plain(X))
    expected = numeric.gradient(plain, X)
    np.testing.assert_allclose(wg.grad(f)(X), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(wg.jacfwd(f)(X), expected, rtol=1e-6, atol=1e-8)


@EACH
def test_second_and_third_derivatives_exist_in_all_mixes(f, plain):
    hessian = numeric.jacobian(wg.grad(plain), X)
    for one in (wg.jacrev, wg.jacfwd):
        for other in (wg.jacrev, wg.jacfwd):
            np.testing.assert_allclose(one(other(f))(X), hessian, rtol=1e-6, atol=1e-7)
    third = wg.grad(lambda x: wg.hvp(plain, x, W)[0])(X)
    np.testing.assert_allclose(
        wg.grad(lambda x: wg.hvp(f, x, W)[0])(X), third, rtol=1e-9, atol=1e-9
    )


@EACH
def test_vmap_gives_the_gradient_of_each_example(f, plain):
    points = np.stack([X, X / 2, -X])
    expected = np.stack([wg.grad(plain)(x) for x in points])
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(points), expected, rtol=1e-12)


@EACH
def test_compiled_gradients_are_the_eager_ones(f, plain):
    compiled = wg.compile(wg.grad(f))
    for x in (X, X / 2, -X):
        np.testing.assert_allclose(compiled(x), wg.grad(plain)(x), rtol=1e-12, atol=1e-12)


def test_the_compiler_looks_into_numpy_code_and_calls_back_what_is_opaque():
    through, back = wg.compile(lambda x: logistic(x)), wg.compile(lambda x: logistic_by_scipy(x))
    np.testing.assert_array_equal(back(X), scipy.special.expit(X))
    np.testing.assert_allclose(through(X), scipy.special.expit(X))
    assert "np.exp" in str(through.program)
    assert "logistic_by_scipy(x0)" in str(back.program)


def test_tensors_are_recorded_under_the_name_of_the_function():
    x = wg.tensor([0.5, 1.5], requires_grad=True)
    y = logistic_by_scipy(x)
    assert "LogisticByScipyBackward0" in repr(y)
    assert y.dtype == wg.float32
    y.sum().backward()
    np.testing.assert_allclose(x.grad, (y * (1 - y)).detach(), rtol=1e-6)
    assert logistic.__doc__ == "The logistic function."


def test_a_rule_may_state_another_derivative_than_the_true_one():
    assert wg.grad(lambda x: rounded(x) ** 2)(1.7) == 4.0
    assert wg.jvp(rounded, (1.7,), (3.0,)) == (2.0, 3.0)


def test_complex_rules_are_written_without_conjugation():
    z = wg.tensor([0.3 + 0.4j], dtype=wg.complex128, requires_grad=True)
    logistic(z).abs().sum().backward()
    w = z.detach().requires_grad_()
    (1 / (1 + np.exp(-w))).abs().sum().backward()
    np.testing.assert_allclose(z.grad, w.grad)


def test_gradients_have_the_dtype_of_the_argument():
    @wg.primitive.linear(lambda g: 2 * g, opaque=True)
    def doubled(x):
        return 2 * np.asarray(x, np.float64)

    x = wg.tensor([1.0], requires_grad=True)
    doubled(2 * x).sum().backward()
    assert x.grad.dtype == wg.float32


def test_a_number_or_a_number_of_numpy_is_a_result_too():
    @wg.primitive.linear(lambda g, x_shape: np.broadcast_to(g, x_shape), opaque=True)
    def summed(x):
        return float(np.sum(x))

    assert summed(X) == pytest.approx(0.8)
    np.testing.assert_array_equal(wg.grad(summed)(X), np.ones(3))


def test_a_result_that_is_the_argument_itself_is_another_array():
    @wg.primitive.linear(lambda g: -g)
    def reversal(x):
        return x

    x = wg.tensor([1.0, 2.0])
    y = reversal(x)
    y[0] = 5.0
    assert x.tolist() == [1.0, 2.0]
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(reversal(x)))(X), -np.ones(3))


def test_result_says_what_an_opaque_function_returns_where_it_cannot_be_run_on_zeros():
    def refuses_zeros(x):
        assert np.all(x != 0), "called on made-up numbers"
        return 1 / x

    made = wg.primitive.elementwise(
        lambda t, y: -t * y * y, opaque=True, result=lambda x: np.empty_like(x)
    )(refuses_zeros)
    compiled = wg.compile(lambda x: made(x) * 2)
    np.testing.assert_array_equal(compiled(X), 2 / X)


# ---- arguments without a rule --------------------------------------------------------------


def test_arguments_without_a_rule_may_be_tensors():
    x = wg.tensor([1.0, 2.0], requires_grad=True)
    masked(x, wg.tensor([0.0, 1.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]


def test_an_argument_without_a_rule_that_requires_grad_is_an_error():
    x, mask = wg.ones(2, requires_grad=True), wg.ones(2, requires_grad=True)
    with pytest.raises(MissingRuleError, match=r"its argument mask requires grad.*mask\.detach"):
        masked(x, mask)
    with pytest.raises(MissingRuleError, match=r"its argument mask requires grad"):
        wg.grad(lambda mask: np.sum(masked(X, mask)))(X)
    with wg.no_grad():
        assert masked(x, mask).tolist() == [1.0, 1.0]


def test_none_in_the_place_of_a_rule_makes_an_argument_constant():
    x, mask = wg.ones(2, requires_grad=True), wg.ones(2, requires_grad=True)
    masked_by_a_constant(x, mask).sum().backward()
    assert mask.grad is None
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_result_that_depends_on_a_hidden_tensor_is_an_error():
    weight = wg.ones(3, requires_grad=True)

    @wg.primitive.linear(lambda g: g)
    def weighed(x):
        return wg.tensor(x) * weight

    with pytest.raises(MissingRuleError, match="not among its arguments"):
        weighed(wg.ones(3))


# ---- bad input -----------------------------------------------------------------------------


def _of(declare):
    return lambda: declare(lambda x, a=1: x * a)


general, linear, elementwise = wg.primitive.general, wg.primitive.linear, wg.primitive.elementwise
ID = {"x": lambda g: g}
REGISTRATIONS = {
    "no lambda": (_of(elementwise()), r"has no rule.*@elementwise\(lambda t, x: \.\.\.\)"),
    "only None": (_of(linear(None)), "has no rule"),
    "too many": (
        _of(linear(*[lambda g: g] * 3)),
        r"3 rules were given, for the 2 argument\(s\) x, a",
    ),
    "unknown name": (_of(elementwise(lambda t, x_shap: t)), r"'x_shap'.*Did you mean x_shape\?"),
    "no tangent": (
        _of(elementwise(lambda x: x)),
        "first parameter .* called t or g by custom, but it is x",
    ),
    "nothing named": (_of(elementwise(lambda: 1)), "it is missing"),
    "not a lambda": (_of(elementwise(3)), r"the rule for x is int 3"),
    "no forward": (
        _of(general(reverse=ID, forward={})),
        r"reverse has a rule for x, and forward has none.*forward=\{'x': lambda t",
    ),
    "no reverse": (
        _of(general(reverse={}, forward=ID)),
        r"forward has a rule for x, and reverse has none",
    ),
    "unknown argument": (
        _of(general(reverse={"z": ID["x"]}, forward={"z": ID["x"]})),
        r"'z', which is no argument of it. They are x, a",
    ),
    "unknown in forward": (
        _of(linear(ID["x"], forward={"q": ID["x"]})),
        "forward has a rule for 'q'",
    ),
    "outputs": (_of(general(reverse=ID, forward=ID, outputs=0)), "outputs is a number"),
    "not a function": (lambda: elementwise(lambda t: t)(3), "then a function, but was given int"),
    "star": (lambda: linear(ID["x"])(lambda *xs: xs), r"\*xs has none"),
    "keyword": (lambda: linear(ID["x"])(lambda x, *, n: x), "a kind that rules cannot call"),
    "called y": (
        lambda: linear(ID["x"])(lambda x, y: x),
        "which means the result of the function.*y_",
    ),
    "reserved": (lambda: linear(ID["x"])(lambda x, shapes: x), "called shapes, .* kept beside it"),
    "no names": (
        lambda: elementwise(lambda t: t)(max),
        "Write a function around it",
    ),
}


@pytest.mark.parametrize(("declare", "message"), REGISTRATIONS.values(), ids=REGISTRATIONS)
def test_a_declaration_that_does_not_fit_says_what_is_wrong(declare, message):
    with pytest.raises(TypeError, match=message):
        declare()


def test_arguments_may_have_the_names_that_the_recorder_uses_itself():
    # In the text that was written for a rule, an argument called `saved` hid what a node keeps.
    @general(
        reverse={
            "node": lambda g, result, node: g * result,
            "result": lambda g, result, node: g * node,
        },
        forward={
            "node": lambda t, result: t * result,
            "result": lambda t, node: t * node,
        },
    )
    def product(node, result, saved=0, node_array=1, type=2, self=3, cotangent=4, plan=5, own=6):
        return node * result + 0 * (saved + node_array + type + self + cotangent + plan + own)

    x, y = (wg.tensor(v, dtype=wg.float64, requires_grad=True) for v in (3.0, 5.0))
    assert [g.item() for g in wg.autograd.grad(product(x, y, type=7), [x, y])] == [5, 3]
    assert wg.jvp(product, (x.detach(), y.detach()), (x.detach(), y.detach()))[1].item() == 30
    g = wg.autograd.grad(product(x, y), x, create_graph=True)[0]
    assert wg.autograd.grad(g, y)[0].item() == 1


def test_a_cotangent_or_tangent_of_the_wrong_shape_is_an_error():
    @general(reverse={"x": lambda g: np.concatenate([g, g])}, forward={"x": lambda t: t[:1]})
    def wrong(x):
        return np.sin(x)

    with pytest.raises(
        ShapeError, match=r"cotangent of x, .* wrong, has shape \(6,\), where \(3,\)"
    ):
        wg.grad(lambda x: np.sum(wrong(x)))(X)
    with pytest.raises(ShapeError, match=r"tangent of @general of wrong has shape \(1,\)"):
        wg.jvp(wrong, (X,), (X,))


def test_a_rule_that_returns_nothing_is_an_error():
    @linear(lambda g: None)
    def wrong(x):
        return x + 0

    with pytest.raises(TypeError, match="must be an array, but is NoneType"):
        wg.grad(lambda x: np.sum(wrong(x)))(X)


def test_a_function_that_is_not_elementwise_is_an_error():
    @elementwise(lambda t: t)
    def wrong(x):
        return np.sum(x)

    with pytest.raises(ShapeError, match=r"result of shape \(\), so it is not elementwise"):
        wrong(X)


@pytest.mark.parametrize("returned", [None, "text"], ids=["None", "text"])
def test_a_function_that_returns_no_array_is_an_error(returned):
    wrong = linear(lambda g: g)(lambda x: returned)
    with pytest.raises(TypeError, match="must return an array, but returned"):
        wrong(wg.ones(2))


def test_the_wrong_number_of_outputs_is_an_error():
    wrong = general(reverse=ID, forward=ID, outputs=2)(lambda x: (x, x, x))
    with pytest.raises(TypeError, match="must return a tuple of 2 arrays"):
        wrong(X)


def test_a_body_that_needs_numbers_is_told_of_opaque():
    @elementwise(lambda t: t)
    def needs_numbers(x):
        return x if float(x[0]) > 0 else -x

    with pytest.raises(TracingError, match=r"body of @elementwise of needs_numbers.*opaque=True"):
        wg.compile(lambda x: needs_numbers(x))(X)

    @linear(lambda g: g)
    def needs_examples(x):
        return x if float(x[0]) > 0 else -x

    with pytest.raises(BatchingError, match=r"body of @linear of needs_examples.*opaque=True"):
        wg.vmap(needs_examples)(np.stack([X, X]))


def test_gradcheck_tests_a_rule():
    x = wg.tensor(X, requires_grad=True)
    assert wg.autograd.gradcheck(logistic, x, check_forward_ad=True, check_batched_grad=True)
    assert wg.autograd.gradgradcheck(logistic_by_scipy, x)

    @elementwise(lambda t, y: 2 * t * y)
    def wrong(x):
        return np.exp(x)

    assert not wg.autograd.gradcheck(wrong, x, raise_exception=False)
