"""NaNs explained: what made them, what hid it, and two ways to be rid of them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.autograd import zeros_stay_zero


@contextlib.contextmanager
def detecting(**options: Any) -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with wg.autograd.detect_anomaly(**options):
            yield


def leaf(*values: float) -> Any:
    return wg.tensor(list(values), requires_grad=True)


def told(f: Any, x: Any, **options: Any) -> str:
    """What anomaly mode says of the gradient of f."""
    with detecting(**options), pytest.raises(wg.errors.WengertError) as caught:
        f(x).sum().backward()
    return str(caught.value)


# ---- anomaly mode --------------------------------------------------------------------------


def test_the_entry_and_the_values_are_shown():
    text = told(lambda x: (x * 0) / x, leaf(1.0, 0.0))
    assert "returned nan values in its 0th output" not in text
    assert "1 of 2 entries is NaN, the first at index (1,)" in text
    assert "There the incoming gradient is 1.0 and a = 0.0, b = 0.0." in text


@pytest.mark.parametrize(
    ("hide", "name"),
    [
        (lambda x: wg.where(x > 0, x.sqrt(), 0.0), "WhereBackward0"),  # hidden here
        (lambda x: wg.where(x > 0, (x.sqrt() * 2 + 1) * 3, 0.0), "WhereBackward0"),  # hidden here
        (lambda x: x.sqrt() * (x > 0), "MulBackward0"),  # hidden here
        (lambda x: x.sqrt().masked_fill(x <= 0, 0.0), "MaskedFillBackward0"),  # hidden here
        (lambda x: x.sqrt()[x > 0], "IndexBackward0"),  # hidden here
        (lambda x: x.sqrt()[1:], "SliceBackward0"),  # hidden here
        (lambda x: x.sqrt().clamp(min=1.0), "ClampBackward1"),  # hidden here
        (lambda x: np.where(x > 0, np.sqrt(x), 0), "WhereBackward0"),  # hidden here
    ],
)
def test_what_hid_the_entry_is_named_with_its_line(hide, name):
    text = told(hide, leaf(0.0, 4.0))
    assert "'SqrtBackward0' returned nan values" in text
    assert "the incoming gradient is 0.0 and y = 0.0" in text
    assert "Zero times an infinite derivative is NaN. The zero comes from '" in text
    assert "# hidden here" in text
    assert "wengert.where(mask, f, g, x)" in text
    if name != "ClampBackward1":  # whatever clamp is made of
        assert name.replace("MaskedFill", "Where") in text.replace("MaskedFill", "Where")


def test_a_zero_that_the_user_passed_in_is_not_blamed_on_a_function():
    x = leaf(0.0, 4.0)
    with detecting(), pytest.raises(wg.errors.WengertError) as caught:
        x.sqrt().backward(wg.tensor([0.0, 1.0]))
    assert "Zero times an infinite derivative is NaN." in str(caught.value)
    assert "The zero comes from" not in str(caught.value)


def test_the_first_nan_of_the_forward_is_named():
    def f(x):
        y = x.log()  # the root of it
        return y * 2 + x / x

    text = told(lambda x: wg.where(x > 0, f(x), 0.0), leaf(0.0, 4.0, -1.0))
    assert "In the forward the first NaN or inf was returned by 'LogBackward0'" in text
    assert "where x = -1.0" in text
    assert "# the root of it" in text


def test_the_first_infinity_of_the_pass_is_named():
    text = told(lambda x: (x * 0).sqrt() + x, leaf(0.0))  # inf from sqrt, then inf · 0
    assert "'MulBackward0' returned nan values" in text
    assert "The first infinity of this pass was returned by 'SqrtBackward0'" in text
    assert "1 of 1 entries is inf" in text


def test_check_forward_stops_where_the_first_nan_or_infinity_is_made():
    x = leaf(2.0, 0.0)
    with detecting(check_forward=True), pytest.raises(wg.errors.WengertError) as caught:
        wg.where(x > 0, x.log(), 0.0)  # right here
    text = str(caught.value)
    assert "Function 'LogBackward0' returned inf values in the forward" in text
    assert "1 of 2 entries is inf, the first at index (1,), where x = 0.0" in text
    assert "# right here" in text


def test_check_forward_is_off_unless_asked_for_and_ends_with_the_mode():
    with detecting():
        leaf(0.0).log()
    with detecting(check_forward=True):
        pass
    with detecting():
        leaf(0.0).log()


def test_outputs_of_several_valued_functions_and_of_custom_ones_are_looked_at():
    class Breaks(wg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * float("inf")

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    for f in (lambda x: (x / 0).sort(), Breaks.apply):
        with detecting(check_forward=True), pytest.raises(wg.errors.WengertError, match="forward"):
            f(leaf(1.0, 2.0))


def test_a_recorded_pass_is_explained_too():
    x = leaf(0.0, 4.0)
    with detecting(), pytest.raises(wg.errors.WengertError, match="The zero comes from 'Where"):
        wg.autograd.grad(wg.where(x > 0, x.sqrt(), 0.0).sum(), x, create_graph=True)


# ---- where with functions ------------------------------------------------------------------


def test_functions_are_called_on_the_selected_elements_only():
    seen = []

    def f(x):
        seen.append(x.tolist())
        return x.sqrt()

    x = leaf(0.0, 4.0, -1.0, 9.0)
    y = wg.where(x > 0, f, lambda x: x * 10, x)
    assert y.tolist() == [0.0, 2.0, -10.0, 3.0]
    assert seen == [[4.0, 9.0]]
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 0.25, 10.0, np.float32(1 / 6)]


def test_operands_and_plain_choices_broadcast():
    x = wg.tensor([[1.0], [-1.0]], requires_grad=True)
    scale = wg.tensor([2.0, 3.0, 4.0], requires_grad=True)
    y = wg.where(x > 0, lambda x, s: x * s, wg.tensor([7.0, 8.0, 9.0]), x, scale)
    assert y.tolist() == [[2.0, 3.0, 4.0], [7.0, 8.0, 9.0]]
    y.sum().backward()
    assert x.grad.tolist() == [[9.0], [0.0]]
    assert scale.grad.tolist() == [1.0, 1.0, 1.0]


def test_without_operands_a_function_gets_the_mask():
    x, y = leaf(0.0, 4.0), leaf(1.0, 2.0)
    z = wg.where(x > 0, lambda at: x[at].log() * y[at], lambda at: y[at])
    np.testing.assert_allclose(z.tolist(), [1.0, 2 * np.log(4)], rtol=1e-6)
    z.sum().backward()
    assert x.grad.tolist() == [0.0, 0.5]


@pytest.mark.parametrize("values", [[1.0, 2.0], [-1.0, -2.0]])
def test_the_dtype_does_not_depend_on_the_data(values):
    x = wg.tensor(values, dtype=wg.float64)
    y = wg.where(x > 0, lambda x: x.sqrt(), 0, x)
    assert y.dtype == wg.float64
    assert y.shape == (2,)


def test_derivatives_of_every_order_and_mode_are_right():
    x = wg.tensor([[0.2, 4.0], [-1.0, 9.0]], requires_grad=True, dtype=wg.float64)
    y = wg.tensor([2.0, 3.0], requires_grad=True, dtype=wg.float64)

    def f(x, y):
        return wg.where(x > 1, lambda x, y: x.log() * y, lambda x, y: x * y**2, x, y)

    assert wg.autograd.gradcheck(f, (x, y), check_forward_ad=True)
    assert wg.autograd.gradgradcheck(f, (x, y), check_fwd_over_rev=True)


def test_numpy_functions_on_numpy_arrays_serve():
    gradient = wg.grad(lambda x: wg.where(x > 0, np.sqrt, 0.0, x).sum())
    assert gradient(np.array([0.0, 4.0])).tolist() == [0.0, 0.25]


def test_mistakes_with_functions_are_named():
    x = leaf(1.0, 2.0, -1.0)
    with pytest.raises(
        wg.errors.ShapeError, match=r"given 2 selected elements returned shape \[3\]"
    ):
        wg.where(x > 0, lambda s: wg.zeros(3), 0.0, x)
    with pytest.raises(TypeError, match="only for functions"):
        wg.where(x > 0, x, 0.0, x)
    with pytest.raises(wg.errors.WengertError, match="harmless argument"):
        wg.vmap(lambda x: wg.where(x > 0, wg.sqrt, 0.0, x))(x)


def test_a_function_without_operands_is_told_that_it_gets_the_mask():
    x = wg.tensor([0.0, 4.0, 9.0])
    with pytest.raises(wg.errors.ShapeError, match=r"given the mask, .* lambda m: x\[m\].sqrt\(\)"):
        wg.where(x > 0, lambda x: x.float(), 0.0)
    assert wg.where(x > 0, lambda m: x[m].sqrt(), 0.0).tolist() == [0, 2, 3]


# ---- zeros stay zero -----------------------------------------------------------------------

MASKED = {
    "where": lambda x: wg.where(x > 0, x.sqrt(), 0.0),
    "log and a chain": lambda x: wg.where(x > 0, (x.log() * 2 + 1).exp() / x, 0.0),
    "power": lambda x: wg.where(x > 0, x**0.5, 0.0),
    "a mask that multiplies": lambda x: x.sqrt() * (x > 0),
    "an operand that was broadcast": lambda x: wg.where(x > 0, (x * wg.ones(3, 1)).sqrt(), 0.0),
    "a broadcast operand of the singular function": lambda x: wg.where(
        x > 0, wg.ones(3, 1) / x, 0.0
    ),
    "numpy's functions": lambda x: np.where(x > 0, np.sqrt(x), 0),
}


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("recorded", [False, True])
def test_masked_singularities_give_zero(name, recorded):
    f = MASKED[name]
    x = leaf(0.0, 4.0)
    with np.errstate(all="ignore"):
        (safe,) = wg.autograd.grad(f(x[1:]).sum(), x)
        (plain,) = wg.autograd.grad(f(x).sum(), x)
        with zeros_stay_zero():
            (kept,) = wg.autograd.grad(f(x).sum(), x, create_graph=recorded)
    assert plain[0].isnan()
    assert kept[0].item() == 0
    assert kept[1].item() == pytest.approx(safe[1].item(), rel=1e-6)


def test_a_function_that_is_not_elementwise_keeps_a_zero_that_is_whole():
    m = wg.zeros(2, 2, requires_grad=True)
    with np.errstate(all="ignore"), zeros_stay_zero():
        (m.prod(0).log() * wg.zeros(2)).sum().backward()
    assert m.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_the_mode_is_for_the_pass_and_ends_with_the_block():
    x = leaf(0.0)
    y = (x.sqrt() * 0).sum()
    with zeros_stay_zero():
        (kept,) = wg.autograd.grad(y, x, retain_graph=True)
    (after,) = wg.autograd.grad(y, x)
    assert kept.tolist() == [0.0]
    assert after.isnan().all()


def test_where_nothing_is_singular_the_mode_changes_nothing():
    x = wg.tensor([0.0, 0.5, -2.0], requires_grad=True, dtype=wg.float64)

    def f(x):
        return (x**2).sum() * (x * 3).sin()

    with zeros_stay_zero():
        assert wg.autograd.gradcheck(f, x)
        assert wg.autograd.gradgradcheck(f, x)


def test_what_is_infinite_for_a_cotangent_that_is_not_zero_stays_infinite():
    x = leaf(0.0)
    with zeros_stay_zero():
        x.sqrt().sum().backward()
    assert x.grad.isinf().all()


def test_transforms_and_compiled_functions_obey_the_mode():
    def f(x):
        return np.where(x > 0, np.sqrt(x), 0).sum()

    x = np.array([0.0, 4.0])
    compiled = wg.compile(wg.grad(f))
    with np.errstate(all="ignore"):
        for _ in range(3):
            with zeros_stay_zero():
                assert wg.grad(f)(x).tolist() == [0.0, 0.25]
                assert compiled(x).tolist() == [0.0, 0.25]
            assert np.isnan(compiled(x)[0])
