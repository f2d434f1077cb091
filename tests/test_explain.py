"""The textbook traces: the lecture's example to the last digit, and rules against notation."""

import io
import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.special

import wengert as wg
from wengert.errors import GradError, MissingRuleError
from wengert.explain import explain
from wengert.explain.mathml import math as math_ml
from wengert.explain.notation import SIGNS, ascii_only, notation, number, written
from wengert.explain.slopes import slope
from wengert.rules import RULES, special
from wengert.rules.products import affine
from wengert.rules.rule import push
from wengert.symbolic.expressions import FUNCTIONS, Expression

LECTURE = "log(x1) + x1*x2 - sin(x2)"


def lecture(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


def values(rows):
    return [round(row.value, 3) for row in rows]


def test_the_primal_trace_is_the_lectures_with_the_true_value_of_sin_5():
    e = explain(LECTURE, 2.0, 5.0)
    assert values(e.primal) == [2, 5, 0.693, 10, -0.959, 10.693, 11.652, 11.652]
    assert [f"{row.name} = {row.formula}" for row in e.primal] == [
        "v₋₁ = x1",
        "v₀ = x2",
        "v₁ = ln v₋₁",
        "v₂ = v₋₁ × v₀",
        "v₃ = sin v₀",
        "v₄ = v₁ + v₂",
        "v₅ = v₄ - v₃",
        "y = v₅",
    ]
    assert e.primal[6].numbers == "10.693 - (-0.959)"


def test_the_tangent_trace_is_the_lectures():
    e = explain(LECTURE, 2.0, 5.0)
    assert values(e.tangent) == [1, 0, 0.5, 5, 0, 5.5, 5.5, 5.5]
    formulas = {row.name: row.formula for row in e.tangent}
    assert formulas["v̇₁"] == "v̇₋₁ / v₋₁"
    assert formulas["v̇₂"] == "v̇₋₁ × v₀ + v̇₀ × v₋₁"
    assert formulas["v̇₃"] == "v̇₀ × cos v₀"
    assert formulas["v̇₅"] == "v̇₄ - v̇₃"
    assert e.derivatives == (5.5,)


def test_the_adjoint_trace_is_the_lectures_with_fan_out_as_accumulation():
    e = explain(LECTURE, 2.0, 5.0)
    assert [(row.name, row.chain, row.formula, round(row.value, 3)) for row in e.adjoint] == [
        ("v̄₅", "", "ȳ", 1),
        ("v̄₄", "v̄₅ ∂v₅/∂v₄", "v̄₅ × 1", 1),
        ("v̄₃", "v̄₅ ∂v₅/∂v₃", "v̄₅ × (-1)", -1),
        ("v̄₁", "v̄₄ ∂v₄/∂v₁", "v̄₄ × 1", 1),
        ("v̄₂", "v̄₄ ∂v₄/∂v₂", "v̄₄ × 1", 1),
        ("v̄₀", "v̄₃ ∂v₃/∂v₀", "v̄₃ × cos v₀", -0.284),
        ("v̄₋₁", "v̄₂ ∂v₂/∂v₋₁", "v̄₂ × v₀", 5),
        ("v̄₀", "v̄₀ + v̄₂ ∂v₂/∂v₀", "v̄₀ + v̄₂ × v₋₁", 1.716),
        ("v̄₋₁", "v̄₋₁ + v̄₁ ∂v₁/∂v₋₁", "v̄₋₁ + v̄₁ / v₋₁", 5.5),
        ("x̄1", "", "v̄₋₁", 5.5),
        ("x̄2", "", "v̄₀", 1.716),
    ]
    assert e.gradient == {"x1": 5.5, "x2": pytest.approx(2 - np.cos(5))}


def test_wrt_seeds_another_argument_by_name_or_position():
    for wrt in ("x2", 1, -1):
        e = explain(lecture, 2.0, 5.0, wrt=wrt)
        assert e.wrt == "x2"
        assert e.derivatives == (pytest.approx(2 - np.cos(5)),)
    with pytest.raises(
        GradError, match=r"wrt='x3' is none of f's arguments: choose from 'x1', 'x2'"
    ):
        explain(lecture, 2.0, 5.0, wrt="x3")


def test_a_python_function_is_traced_in_the_order_in_which_it_runs():
    e = explain(lecture, 2.0, 5.0)
    assert [row.formula for row in e.primal[2:7]] == [
        "ln v₋₁", "v₋₁ × v₀", "v₁ + v₂", "sin v₀", "v₃ - v₄",
    ]  # fmt: skip
    assert e.values == explain(LECTURE, 2.0, 5.0).values


def test_several_results_give_a_column_per_tangent_trace_and_a_row_per_adjoint_trace():
    f = lambda a, b: (a * b, a + b, a)
    assert explain(f, 2.0, 3.0, wrt="a").derivatives == (3, 1, 1)
    assert explain(f, 2.0, 3.0, wrt="b").derivatives == (2, 1, 0)
    assert explain(f, 2.0, 3.0, of=0).gradient == {"a": 3, "b": 2}
    assert explain(f, 2.0, 3.0, of=1).gradient == {"a": 1, "b": 1}
    assert explain(f, 2.0, 3.0, of=2).gradient == {"a": 1, "b": 0}
    with pytest.raises(GradError, match="result number 3, but f returned 3: choose from 0 to 2"):
        explain(f, 2.0, 3.0, of=3)


def test_an_argument_or_constant_may_itself_be_the_result():
    assert explain(lambda x: x, 2.0).gradient == {"x": 1}
    e = explain(lambda x: 3.0, 2.0)
    assert e.values == (3,)
    assert e.gradient == {"x": 0}
    assert "∂y/∂x = 0" in str(e)


def test_results_get_a_letter_that_no_argument_has():
    assert explain(lambda x, y: x * y, 2.0, 3.0).primal[-1].name == "f"


def test_small_arrays_work_through_indexing_products_and_sums():
    e = explain(lambda a: np.log(a[0]) + a[0] * a[1] - np.sin(a[1]), [2.0, 5.0])
    np.testing.assert_allclose(e.gradient["a"], [5.5, 2 - np.cos(5)])
    W, x = np.array([[1.0, 2.0], [-0.5, 0.25]]), np.array([0.5, -1.0])
    e = explain(lambda W, x: np.sum(np.tanh(W @ x)), W, x)
    slope = 1 - np.tanh(W @ x) ** 2
    np.testing.assert_allclose(e.gradient["W"], np.outer(slope, x))
    np.testing.assert_allclose(e.gradient["x"], W.T @ slope)
    assert e.adjoint[3].formula == "v̄₁ v₀ᵀ"
    np.testing.assert_allclose(e.derivatives[0], np.sum(slope * (np.ones((2, 2)) @ x)))


def test_lists_of_arrays_send_each_cotangent_to_its_item():
    e = explain(lambda a, b: np.sum(np.concatenate([a, b, a]) ** 2), [1.0, 2.0], [3.0])
    np.testing.assert_allclose(e.gradient["a"], [4, 8])
    np.testing.assert_allclose(e.gradient["b"], [6])
    np.testing.assert_allclose(e.derivatives[0], 4 + 8)


def test_functions_may_use_tensors_and_control_flow():
    def f(x):
        y = wg.tensor(3.0, dtype=wg.float64) * x
        return y * y if y > 0 else y

    assert explain(f, 2.0).gradient == {"x": 36}
    assert explain(f, wg.tensor(-2.0)).gradient == {"x": 3}


def test_augmented_assignment_makes_a_new_value():
    def f(x):
        total = power = 1
        for _ in range(3):
            power *= x
            total += power
        return total

    assert explain(f, 2.0).gradient == {"x": 1 + 2 * 2 + 3 * 4}


def filled(x):
    y = np.zeros_like(x)
    y[0] = x[0] ** 2
    for i in range(1, len(x)):
        y[i] = y[i - 1] * x[i]
    return np.sum(y * x)


def through_views(x):
    y = x * 1
    part = y[1:]
    part[0] = 5.0
    part[1:] *= x[0]
    y[0] = part[1]
    part += 1
    return np.sum(y * y)


def read_late(x):
    y = x * 1
    turned = np.reshape(y, (-1, 1))
    y[:2] = x[1:] * x[0]
    return np.sum(turned * turned)


def with_tensors(x):
    y = wg.zeros_like(x)
    y[0] = x[1] * x[0]
    y[1:] = x[1:].sin()
    y.mul_(2.0)
    return (y * y).sum()


def a_whole_array(x):
    y = np.empty_like(x)
    y[...] = np.sin(x)
    np.copyto(y, x, where=x > 2.5)
    y -= x[0]
    y[x > 3.5] = 0.0
    return np.sum(y**2)


@pytest.mark.parametrize("f", [filled, through_views, read_late, with_tensors, a_whole_array])
def test_writes_in_place_are_steps(f):
    # They were refused: arrays of a trace had no item assignment.
    x = np.array([2.0, 3.0, 4.0])
    e = explain(f, x)
    argument = wg.tensor(x) if f is with_tensors else x
    np.testing.assert_allclose(e.gradient["x"], wg.grad(f)(argument))
    _, slope = wg.jvp(f, (argument,), (0 * argument + 1,))
    np.testing.assert_allclose(float(e.derivatives[0]), float(slope))
    np.testing.assert_array_equal(x, [2, 3, 4])


def test_a_write_is_shown_with_its_place():
    def f(x):
        y = np.zeros_like(x)
        y[1] = x[0] * 3
        return np.sum(y)

    text = str(explain(f, np.array([2.0, 5.0])))
    assert "v₃ = [0, 0] with v₂ at [1]" in text
    assert "v̇₃ = v̇₂ at [1]" in text
    assert "v̄₂ = v̄₃ ∂v₃/∂v₂  = v̄₃[1]" in text


@pytest.mark.parametrize(
    ("f", "kind", "message"),
    [
        (lambda x: x.__setitem__(0, 1.0), GradError, r"writes into its argument.*x = np.copy\(x\)"),
        (
            lambda x: np.reshape(x * 2, (3, 1)).__setitem__(0, 1.0),
            GradError,
            r"what reshape\(\) returned, a view .*write into the array itself",
        ),
        (lambda x: np.sin(x, out=x), GradError, r"write y\[\.\.\.\] = np.sin\(x\)"),
        (lambda x: np.zeros(3).__setitem__(0, x[0]), TypeError, r"np.zeros_like\(x\), not"),
        (lambda x: np.array([x[0], x[1]]), TypeError, r"np.zeros_like\(x\)"),
    ],
    ids=["argument", "reshaped", "out", "plain array", "array of values"],
)
def test_writes_that_a_trace_cannot_follow_say_what_to_type(f, kind, message):
    with pytest.raises(kind, match=f"(?s){message}"):
        explain(f, np.array([2.0, 3.0, 4.0]))


def test_a_detached_value_is_a_constant():
    assert explain(lambda x: x.detach() * x, 3.0).gradient == {"x": 3}


def test_values_print_while_f_runs():
    seen = []
    explain(lambda x: seen.append(f"{x * 2:.2f}") or x, 3.0)
    assert seen == ["6.00"]


def test_functions_that_numpy_composes_are_traced_through():
    e = explain(lambda x: np.var(x), [1.0, 2.0, 6.0])
    np.testing.assert_allclose(e.gradient["x"], 2 / 3 * np.array([-2, -1, 3]))


def test_the_math_module_is_refused_with_the_function_to_use():
    with pytest.raises(TypeError, match=r"np\.sin\(x\), not math\.sin\(x\)"):
        explain(lambda x: math.sin(x), 2.0)


def test_functions_without_a_rule_and_bad_arguments_are_refused():
    with pytest.raises(MissingRuleError, match="packbits has no derivative rule"):
        explain(lambda x: np.packbits(x), 0.5)
    with pytest.raises(TypeError, match="argument x is 'two'"):
        explain(lambda x: x, "two")
    with pytest.raises(TypeError, match=r"f returned None.*Does f lack a return\?"):
        explain(lambda x: None, 2.0)
    with pytest.raises(TypeError, match="needs the values"):
        explain(lambda x: x)


def test_endless_programs_are_stopped():
    def f(x):
        while True:
            x = x + 1

    with pytest.raises(GradError, match="more than 2000 steps"):
        explain(f, 1.0)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_of_formulas_gives_the_librarys_derivative(name):
    count, function = FUNCTIONS[name]
    point = (1.3, 0.7)[:count] if function is np.arccosh or count == 2 else (0.7,)
    e = explain(function, *point)
    x = [wg.tensor(v, dtype=wg.float64, requires_grad=True) for v in point]
    try:
        y = function(*x)
    except MissingRuleError:
        pytest.fail(f"{name} has no rule")
    y.backward()
    np.testing.assert_allclose(list(e.gradient.values()), [v.grad.numpy() for v in x])
    np.testing.assert_allclose(e.derivatives[0], next(iter(e.gradient.values())))


# What the templates' signs mean, to check the formulas against the rules.
MEANING = {
    **vars(scipy.special),
    **{name: getattr(np, name) for name in ("sign", "sqrt", "floor", "trunc", *SIGNS.split()[1:])},
    "zeta": lambda a, b: scipy.special.zeta(a, b),
    "gamma_moment": lambda *x: special.gamma_moment(*map(np.asarray, x)),
    "beta_moment": lambda *x: special.beta_moment(*map(np.asarray, x)),
    "ln": np.log, "abs": np.absolute, "σ": scipy.special.expit, "max": max, "min": min, "np": np,
}  # fmt: skip


def python(text):
    """A template's text as Python: × and ² and √ spelled out, arguments in parentheses."""
    text = text.replace("×", "*").replace("²", "**2").replace("^", "**").replace("π", "np.pi")
    text = re.sub(r"\[([^\]]*)\]", r"float(\1)", text)
    text = re.sub(r"√(np\.pi)", r"sqrt(\1)", text).replace("√", "sqrt")
    words = "|".join(("sign", "floor", "erf", *SIGNS.split()))
    return re.sub(rf"\b({words}) ([\w.]+|\([^)]*\))", r"\1(\2)", text)


def share(rule, argument):
    """The template of an argument's share, as the traces choose it; or None."""
    known = notation(rule)
    return (known and known.slopes.get(argument)) or slope(rule, argument)


SLOPES = [
    (rule.function, argument)
    for rule in RULES.values()
    if rule.family == "elementwise"
    for argument in rule.forward
    if share(rule, argument) and hasattr(rule.function, "__name__")
]


@pytest.mark.parametrize(("function", "argument"), SLOPES, ids=lambda p: getattr(p, "__name__", p))
def test_the_formula_beside_a_number_has_that_number_as_its_value(function, argument):
    rule = RULES[function]
    first = 1.3 if "cosh" in function.__name__ else 0.3
    last = 0.6 if function in (special.gammaincinv, special.gammainccinv) else 2.2  # a probability
    point = dict(zip(rule.arguments, (first, last, 0.7, 1.9), strict=False))
    if "order" in point:
        point["order"] = 2
    call = {name: np.float64(value) for name, value in point.items()}
    try:
        y = np.float64(function(*call.values()))
        expected = push(rule, argument, np.float64(0.6), call, y)
    except (TypeError, ValueError):
        pytest.skip("not a function of these numbers")
    names = {**{name: str(float(v)) for name, v in call.items()}, "y": str(float(y)), "t": "0.6"}
    formula = written(share(rule, argument), call, names)
    result = eval(python(formula), MEANING)  # noqa: S307  our own templates
    np.testing.assert_allclose(result, expected, rtol=2e-5, err_msg=formula)


def test_a_formula_is_read_off_the_rule():
    # Written by hand beside each rule, they could say something else than the rule did.
    for function, argument, text in [
        (np.tan, "x", "{t} × (1 + {y}²)"),
        (np.cbrt, "x", "{t} / (3 × {y}²)"),
        (np.arccos, "x", "-{t} / √(1 - {x}²)"),
        (np.log2, "x", "{t} / ({x} × ln 2)"),
        (special.erfc, "x", "-{t} × 2/√π × exp(-{x}²)"),
        (special.erfinv, "x", "{t} × exp(erfinv({x})²) / (2/√π)"),
        (special.gammaln, "x", "{t} × psi({x})"),
        (np.fmax, "a", None),  # which has cases
        (np.sum, "a", None),
    ]:
        assert slope(RULES[function], argument) == text


def test_arguments_may_be_given_by_name():
    assert explain("x - y", y=3.0, x=2.0).values == (-1.0,)
    assert explain(lecture, 2.0, x2=5.0).gradient == explain(lecture, 2.0, 5.0).gradient
    for wrong in ({"x": 1.0}, {"x": 1.0, "z": 2.0}, {"x": 1.0, "y": 2.0, "z": 3.0}):
        with pytest.raises(TypeError, match=r"f takes the arguments x, y, but was given x=\.\.\."):
            explain("x - y", **wrong)


def test_a_layer_is_written_without_its_bias_where_a_tangent_passes():
    e = explain(affine, np.array([1.0, 2.0]), np.array([[3.0, 4.0]]), np.array([5.0]))
    assert e.primal[3].formula == "v₋₂ v₋₁ᵀ + v₀"
    assert e.tangent[3].formula == "v̇₋₂ v₋₁ᵀ + v₋₂ v̇₋₁ᵀ + v̇₀"
    assert [row.formula for row in e.adjoint[1:4]] == ["v̄₁ v₋₁", "v̄₁ᵀ v₋₂", "v̄₁"]
    assert float(e.tangent[3].value[0]) == 7  # 1 * 3 + 1 * 4, and nothing of the bias


F = wg.nn.functional
OF_TENSORS = {
    "a layer": lambda x, w: F.linear(x, w).sum(),
    "the loss of a classifier": lambda x, w: F.cross_entropy(x @ w, wg.tensor([0, 1])),
    "a normalization": lambda x, w: F.layer_norm(x, (2,), w[0]).tanh().sum(),
    "a choice": lambda x, w: wg.where(x > 0.5, x * w, 0.0).sum(),
    "a branch": lambda x, w: F.softmax(x @ w, -1)[0, 0] if x[0, 0] > 0 else x.sum(),
}


@pytest.mark.parametrize("name", OF_TENSORS)
def test_functions_that_ask_for_tensors_are_explained_as_well(name):
    f = OF_TENSORS[name]
    x, w = np.array([[1.0, -2.0], [0.3, 0.7]]), np.array([[0.5, 0.1], [0.2, 0.3]])
    found = explain(f, x, w).gradient
    expected = wg.grad(f, argnums=(0, 1))(x, w)
    np.testing.assert_allclose(found["x"], expected[0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found["w"], expected[1], rtol=1e-12, atol=1e-15)


def test_an_error_of_the_function_itself_is_the_one_that_is_shown():
    with pytest.raises(TypeError, match=r"not math\.sin"):
        explain(lambda x: math.sin(x), 1.0)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        explain(lambda x: x.nonsense(), 1.0)


def test_what_is_only_affine_is_not_shown_as_doing_to_tangents_what_it_does_to_values():
    e = explain(lambda x: np.where(np.array([True, False]), x, 1.0), np.array([2.0, 3.0]))
    (row,) = e.tangent[1:-1]
    assert row.formula == "v̇₀ × ∂v₁/∂v₀"
    assert row.value.tolist() == [1, 0]


def test_numbers_print_as_in_textbooks():
    shown = [
        number(x) for x in (10.693147, 0.5, 0, -0.0, 1e-7, 123456789.0, np.nan, -np.inf, 0.00123)
    ]
    assert shown == ["10.693", "0.5", "0", "0", "1e-07", "1.23e+08", "nan", "-inf", "0.00123"]
    assert number(np.array([[1.0, 2.5]])) == "[[1, 2.5]]"
    assert number(np.zeros((3, 50))) == "array of 3 × 50"
    assert number(2 / 3, digits=6) == "0.666667"


def test_negative_numbers_stand_in_parentheses_where_a_sign_precedes():
    assert written("{a} - {b}", {}, {"a": "-1", "b": "-2"}) == "-1 - (-2)"
    assert written("{x}²", {}, {"x": "-3"}) == "(-3)²"


def test_text_is_aligned_and_stacks_where_there_is_no_room():
    e = explain(LECTURE, 2.0, 5.0)
    wide, narrow = e.text(120).splitlines(), e.text(60).splitlines()
    assert wide[2].split("  ")[0] == "Forward primal trace"
    assert "Forward tangent trace, ∂/∂x1" in wide[2]
    assert "Forward tangent trace, ∂/∂x1" in narrow
    bare = [line.replace("\u0307", "").replace("\u0304", "") for line in narrow[3:11]]
    assert len({line.rindex("=") for line in bare}) == 1


def test_ascii_text_is_aligned_and_pure():
    text = explain("x*sqrt(x)", 2.0).text(ascii=True)
    assert text.isascii()
    lines = text.splitlines()[3:7]
    assert len({line.index("dot(") for line in lines}) == 1
    assert ascii_only("v̄₀ = v̄₀ + v̄₂ ∂v₂/∂v₋₁") == "bar(v_0) = bar(v_0) + bar(v_2) dv_2/dv_-1"


def test_markdown_and_html_escape_what_would_be_markup():
    e = explain(Expression("a_b * a_b"), 2.0)
    assert r"a\_b \* a\_b" in e.markdown()
    assert e.markdown().count("\n|:--") == 2
    html = explain("max(x, 2)", 1.0)._repr_html_()
    assert "[1 &gt; 2]" in html
    assert html.count("<table>") == html.count("</table>") == 2


def test_rich_shows_the_same_numbers():
    from rich.console import Console

    for width in (130, 70):
        console = Console(width=width, record=True, file=io.StringIO())
        console.print(explain(LECTURE, 2.0, 5.0))
        text = console.export_text()
        assert "v̄₀  = v̄₀ + v̄₂ ∂v₂/∂v₀" in text
        assert "∂y/∂x1 = 5.5, ∂y/∂x2 = 1.716" in text


def test_a_network_is_explained_in_its_own_dtype():
    # The arguments were made float64, which a layer of float32 refuses.
    net = wg.nn.Sequential(wg.nn.Linear(3, 2), wg.nn.Tanh(), wg.nn.Linear(2, 1))
    x = wg.ones(1, 3)
    assert explain(net, x).values[0].item() == pytest.approx(net(x).item())
    both = explain(lambda x: wg.tensor(3.0, dtype=wg.float64) * x, wg.tensor(2.0))
    assert "float64" in str(both)


@pytest.mark.parametrize("f", [np.maximum, np.minimum])
def test_a_tie_is_written_as_what_is_computed(f):
    # It read 1 × [1 > 1] = 0.5.
    rows = wg.explain(lambda a, b: f(a, b), 1.0, 1.0).adjoint
    assert [row.value for row in rows[1:3]] == [0.5, 0.5]
    assert all("[1 = 1] / 2" in row.numbers for row in rows[1:3])


@pytest.mark.parametrize(
    ("text", "typeset"),
    [
        ("-(-3)", "−(−3)"),
        ("v₁ / 2 × 3", "[v1|2]×3"),
        ("v̄₅ ∂v₅/∂v₄", "v¯5[∂v5|∂v4]"),
        ("t / (1 + x²)", "[t|1+x{2}]"),
        ("x**-2 + 1e-07", "x{−2}+1·10{−7}"),
        ("√(a² + b²)", "√<a{2}+b{2}>"),
        ("array of 3 × 4", "arrayof3×4"),
        (") oops (a", ")oops(a"),
        ("", ""),
    ],
)
def test_a_formula_is_typeset_by_precedence_and_nothing_is_lost(text, typeset):
    shown = re.sub(r"&#8289;|^<math[^>]*>|</math>", "", math_ml(text))
    root = ElementTree.fromstring(f"<mrow>{shown}</mrow>")
    assert linear(root) == typeset


def linear(element):
    """MathML on one line: [above|below], base{power}, √<root>."""
    parts = [linear(part) for part in element]
    shapes = {"mfrac": "[{}|{}]", "msup": "{}{{{}}}", "msqrt": "√<{}>"}
    if element.tag == "msqrt":
        parts = ["".join(parts)]
    if element.tag in shapes:
        return shapes[element.tag].format(*parts)
    return (element.text or "") + "".join(parts)
