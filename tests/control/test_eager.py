"""Loops and branches as plain Python: values, derivatives, batches, and what is refused."""

import numpy as np
import pytest

import wengert as wg
from wengert.errors import StateError


def test_fori_loop_is_the_python_loop_and_differentiates_as_that():
    w = wg.tensor([0.5, -0.3], dtype=wg.float64, requires_grad=True)
    x = wg.tensor([1.0, 2.0], dtype=wg.float64)

    def looped(w):
        return wg.fori_loop(0, 5, lambda i, y: (y * w + i).sin(), x).sum()

    y = x
    for i in range(5):
        y = (y * w + i).sin()
    assert wg.equal(looped(w), y.sum())
    assert wg.autograd.gradcheck(looped, (w,))
    assert wg.autograd.gradgradcheck(looped, (w,))


def test_bounds_may_be_tensors_and_an_empty_range_returns_the_state():
    start = wg.tensor(1.0)
    assert wg.fori_loop(wg.tensor(1), wg.tensor(4), lambda i, y: y * (i + 1), start) == 24
    assert wg.fori_loop(3, 3, lambda i, y: y * 0, start) == 1
    with pytest.raises(StateError, match=r"upper of wg.fori_loop is 2\.5"):
        wg.fori_loop(0, 2.5, lambda i, y: y, start)


def test_scan_carries_a_container_along_containers():
    xs = {"a": wg.tensor([1.0, 2.0, 3.0]), "b": wg.tensor([[1.0], [0.0], [2.0]])}

    def step(carry, x):
        total, count = carry
        return (total + x["a"] * x["b"], count + 1), {"seen": total.sum(), "n": count}

    (total, count), ys = wg.scan(step, (wg.zeros(1), 0), xs)
    assert total.tolist() == [7.0]
    assert count == 3
    assert ys["seen"].tolist() == [0.0, 1.0, 1.0]
    assert ys["n"].tolist() == [0, 1, 2]


def test_scan_in_reverse_leaves_results_beside_their_rows():
    total, ys = wg.scan(lambda c, x: (c + x, c), 0.0, np.array([1.0, 2.0, 3.0]), reverse=True)
    assert total == 6.0
    assert type(ys) is np.ndarray
    assert ys.tolist() == [5.0, 3.0, 0.0]


def test_scan_of_no_rows_returns_results_of_no_rows():
    carry, ys = wg.scan(lambda c, x: (c + x.sum(), x * 2), wg.tensor(1.0), wg.zeros(0, 3))
    assert carry == 1.0
    assert ys.shape == (0, 3)


def test_numpy_code_stays_numpy_code():
    made = wg.scan(lambda c, x: (c @ x, c.sum()), np.eye(2), np.full((3, 2, 2), 2.0))
    assert [type(m) for m in made] == [np.ndarray, np.ndarray]
    assert made[1].tolist() == [2.0, 8.0, 32.0]


def newton(a):
    """The square root, by Newton's method until it no longer changes."""
    return wg.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a * 1.0)


def test_while_loop_ends_when_its_condition_does_not_hold_and_is_differentiated():
    a = wg.tensor(2.0, dtype=wg.float64, requires_grad=True)
    y = newton(a)
    y.backward()
    assert np.isclose(y.item(), np.sqrt(2))
    assert np.isclose(a.grad.item(), 1 / (2 * np.sqrt(2)))
    y, t = wg.jvp(newton, (2.0,), (1.0,))
    assert np.isclose(t, 1 / (2 * np.sqrt(2)))


def test_while_loop_inside_vmap_goes_on_until_all_have_ended():
    # Each example keeps the state that it ended with, though the others go on.
    a = np.array([2.0, 9.0, 1e-4])
    assert np.allclose(wg.vmap(newton)(a), np.sqrt(a))
    assert np.allclose(wg.vmap(wg.grad(newton))(a), 0.5 / np.sqrt(a))

    def counted(a):
        return wg.while_loop(lambda s: s[0] < a, lambda s: (s[0] + 1, s[1] + 1), (a * 0, 0))[1]

    assert wg.vmap(counted)(wg.tensor([0.0, 2.0, 5.0])).tolist() == [0, 2, 5]


def test_cond_calls_one_branch_only():
    calls = []

    def told(name, x):
        calls.append(name)
        return x * 2 if name == "yes" else -x

    x = wg.tensor(3.0, requires_grad=True)
    for given in [(x,), ((x,),)]:  # one by one, or as PyTorch has it
        y = wg.cond(x > 0, lambda x: told("yes", x), lambda x: told("no", x), *given)
        assert y == 6.0
    assert calls == ["yes", "yes"]
    assert wg.cond(False, lambda: 1, lambda: 2) == 2


def test_cond_and_switch_choose_for_each_example_of_a_batch():
    x = wg.tensor([-2.0, 3.0, 0.5])
    f = lambda x: wg.cond(x > 0, lambda x: (x**2, x), lambda x: (-x, x * 3), x)[0]
    assert wg.vmap(f)(x).tolist() == [2.0, 9.0, 0.25]
    assert wg.vmap(wg.grad(f))(x).tolist() == [-1.0, 6.0, 1.0]
    pick = wg.vmap(lambda k: wg.switch(k, [lambda: 10.0, lambda: 20.0, lambda: 30.0]))
    assert pick(wg.tensor([5, -1, 1, 2])).tolist() == [30.0, 10.0, 20.0, 30.0]


def test_map_stacks_what_the_function_makes_of_each_row():
    x = wg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = wg.map(lambda row: (row.sum(), row * 2), x)
    assert y[0].tolist() == [3.0, 7.0]
    assert wg.equal(y[1], x * 2)
    y[0].prod().backward()
    assert x.grad.tolist() == [[7.0, 7.0], [3.0, 3.0]]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan_has_all_prefixes(n, reverse):
    def affine(a, b):  # first a, then b: an operation that does not commute
        return a[0] * b[0], a[1] * b[0] + b[1]

    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(2, n))
    slope, shift = wg.associative_scan(affine, (wg.tensor(a), wg.tensor(b)), reverse=reverse)
    order = range(n - 1, -1, -1) if reverse else range(n)
    k, d = 1.0, 0.0
    for i in order:
        k, d = k * a[i], d * a[i] + b[i]
        assert np.allclose([slope[i].item(), shift[i].item()], [k, d])


def test_associative_scan_along_another_axis():
    x = np.arange(12.0).reshape(3, 4)
    assert np.array_equal(wg.associative_scan(np.add, x, axis=1), np.cumsum(x, 1))


def test_loops_and_branches_nest_and_close_over_tensors():
    w = wg.tensor(0.7, dtype=wg.float64, requires_grad=True)

    def f(w):
        def outer(i, y):
            inner = wg.scan(lambda c, x: (c * w + x, c), y, wg.arange(3.0, dtype=wg.float64))[0]
            return wg.cond(inner.sum() > 1, lambda: inner * 0.5, lambda: inner + w)

        return wg.fori_loop(0, 4, outer, wg.tensor(0.1, dtype=wg.float64))

    assert wg.autograd.gradcheck(f, (w,))
    assert wg.autograd.gradgradcheck(f, (w,))


class TestRefused:
    def test_a_state_of_another_structure(self):
        with pytest.raises(StateError, match=r"structure \(\*, \*\), but .* has \[\*, \*\]") as e:
            wg.fori_loop(0, 3, lambda i, s: [s[0], s[1]], (wg.zeros(2), 0))
        assert "test_eager.py" in str(e.value)

    def test_a_state_of_another_shape_or_dtype(self):
        with pytest.raises(StateError, match=r"state of wg.scan\['a'\] .* \[2\] .* \[1, 2\]"):
            wg.scan(lambda c, x: ({"a": c["a"][None]}, None), {"a": wg.zeros(2)}, length=2)
        with pytest.raises(StateError, match=r"float32, .* float64"):
            wg.while_loop(lambda s: True, lambda s: s.double(), wg.zeros(2))
        with pytest.raises(StateError, match=r"Python number, but .*shape \[2\]"):
            wg.fori_loop(0, 2, lambda i, s: s + wg.ones(2), 0.0)

    def test_rows_that_differ_in_number(self):
        with pytest.raises(StateError, match=r"xs\[0\]: 3, xs\[1\]: 4"):
            wg.scan(lambda c, x: (c, None), 0, (wg.zeros(3), wg.zeros(4)))
        with pytest.raises(StateError, match="xs: 3, length: 2"):
            wg.scan(lambda c, x: (c, None), 0, wg.zeros(3), length=2)
        with pytest.raises(StateError, match="needs xs to go through, or length="):
            wg.scan(lambda c, x: (c, None), 0)
        with pytest.raises(StateError, match="has no rows"):
            wg.map(lambda x: x, wg.tensor(1.0))

    def test_unequal_rows_are_told_with_the_line_and_what_to_take(self):
        # Neither was said.
        told = r"\(xs\[0\]: 3, xs\[1\]: 4\) rows, at\n.*test_eager(.|\n)*e.g. xs\[1\]\[:3\]"
        scan = lambda x, y: wg.scan(lambda c, _: (c, None), 0.0, (x, y))
        for f in scan, wg.compile(scan):
            with pytest.raises(StateError, match=told):
                f(wg.zeros(3), wg.zeros(4))
        with pytest.raises(StateError, match=r"e.g. length=3"):
            wg.scan(lambda c, x: (c, None), 0, wg.zeros(3), length=5)

    def test_the_classes_of_a_trace_are_not_told(self):
        # A body was said to return a TracedArray.
        f = lambda x: wg.scan(lambda c, row: c + row, np.zeros(()), x)
        for g in f, wg.compile(f):
            with pytest.raises(StateError, match=r"returned an array, in <lambda> \(line "):
                g(np.zeros(3))

    def test_a_body_without_a_pair(self):
        with pytest.raises(StateError, match=r"has to return a pair \(carry, y\)"):
            wg.scan(lambda c, x: c, wg.zeros(2), length=2)

    def test_branches_that_differ_inside_vmap(self):
        f = wg.vmap(lambda x: wg.cond(x > 0, lambda x: x, lambda x: (x, x), x))
        told = r"true_fn of wg.cond has the structure \*, but that of false_fn .* \(\*, \*\)"
        with pytest.raises(StateError, match=told):
            f(wg.zeros(2))
        g = wg.vmap(lambda k, x: wg.switch(k, [lambda x: x, lambda x: (x, x)], x))
        with pytest.raises(StateError, match=r"branch 0 of wg.switch .* that of branch 1 has"):
            g(wg.tensor([0, 1]), wg.zeros(2))

    def test_predicates_of_several_elements_and_indices_that_are_not_whole(self):
        with pytest.raises(StateError, match=r"predicate of wg.cond is an array of shape \[2\]"):
            wg.cond(wg.zeros(2) > 0, lambda: 1, lambda: 2)
        with pytest.raises(StateError, match="dtype float32, but it counts branches"):
            wg.switch(wg.tensor(1.0), [lambda: 1])
        with pytest.raises(StateError, match="at least one branch"):
            wg.switch(0, [])

    @pytest.mark.parametrize("compiler", [lambda f: f, wg.compile], ids=["eager", "compiled"])
    def test_a_condition_that_is_no_number(self, compiler):
        # Eagerly a text was true, and a loop whose condition forgot its return never ran.
        x = wg.ones(2)
        told = "condition of wg.while_loop is None, as of a function without return, but has to"
        with pytest.raises(StateError, match=told):
            compiler(lambda x: wg.while_loop(lambda s: None, lambda s: s * 2, x))(x)
        with pytest.raises(StateError, match=r"predicate of wg.cond is str, but has to be one"):
            compiler(lambda x: wg.cond("no", lambda: x, lambda: -x))(x)
        with pytest.raises(StateError, match=r"predicate of wg.cond is list, but has to be one"):
            compiler(lambda x: wg.cond([True], lambda: x, lambda: -x))(x)

    def test_what_is_no_array(self):
        with pytest.raises(StateError, match=r"init\[1\] is a str"):
            wg.fori_loop(0, 2, lambda i, s: s, (wg.zeros(2), "no"))
