"""Calls that PyTorch takes in older orders of arguments, numbers that wrap, and errors in words."""

from __future__ import annotations

import pytest

import wengert as wg

ONES = wg.ones(2, 2)
ORDERS = {
    "add_": (lambda: wg.ones(2).add_(-0.5, wg.ones(2)), [0.5, 0.5]),
    "sub_": (lambda: wg.ones(2).sub_(2, wg.ones(2)), [-1, -1]),
    "add": (lambda: wg.add(wg.ones(2), 2, wg.ones(2)), [3, 3]),
    "addcmul_": (lambda: wg.ones(2).addcmul_(2, wg.ones(2), wg.ones(2)), [3, 3]),
    "addcdiv_": (lambda: wg.ones(2).addcdiv_(2, wg.ones(2), wg.ones(2)), [3, 3]),
    "addmm": (lambda: wg.addmm(2, ONES, 3, ONES, ONES)[0], [8, 8]),
    "addmm with beta": (lambda: wg.addmm(2, ONES, ONES, ONES)[0], [4, 4]),
    "addmm_ with beta": (lambda: wg.ones(2, 2).addmm_(2, ONES, ONES)[0], [4, 4]),
    "addmm_": (lambda: wg.ones(2, 2).addmm_(2, 3, ONES, ONES)[0], [8, 8]),
}


@pytest.mark.parametrize("name", ORDERS)
def test_a_number_may_come_before_the_tensor_that_it_scales(name):
    call, expected = ORDERS[name]
    assert call().tolist() == expected


WRAPPED = {
    "sum": (lambda x: x + (-1), [0, 255]),
    "difference": (lambda x: 256 - x, [255, 0]),
    "product": (lambda x: x * 300, [44, 0]),
    "in place": (lambda x: x.add_(-2), [255, 254]),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_numbers_out_of_the_range_of_integers_wrap(name):
    # NumPy refuses them: OverflowError.
    call, expected = WRAPPED[name]
    found = call(wg.tensor([1, 0], dtype=wg.uint8))
    assert found.dtype == wg.uint8
    assert found.tolist() == expected


def test_what_is_no_tensor_and_what_cannot_be_done_is_a_type_error():
    with pytest.raises(TypeError, match="must be a Tensor, not NoneType"):
        wg.nn.Linear(4, 2)(None)
    with pytest.raises(TypeError, match="does not support deleting items"):
        del wg.ones(2)[0]


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_says_how_many_channels_it_found(training):
    with pytest.raises(RuntimeError, match="running_mean should contain 4 elements not 3"):
        wg.nn.BatchNorm1d(3).train(training)(wg.ones(2, 4))


def test_a_number_has_one_slope_in_prelu():
    # The result had the weight's dimension.
    assert wg.nn.PReLU()(wg.tensor(-2.0)).shape == ()


def test_variances_broadcast_in_the_gaussian_loss():
    x, y = wg.zeros(2, 3), wg.ones(2, 3)
    expected = wg.nn.functional.gaussian_nll_loss(x, y, wg.full((2, 3), 2.0))
    assert wg.nn.functional.gaussian_nll_loss(x, y, wg.full((1, 3), 2.0)) == expected


def test_random_integers_like_take_only_an_upper_bound():
    assert wg.randint_like(wg.zeros(50), high=1).tolist() == [0] * 50


def test_an_empty_tensor_is_seen_with_strides_and_a_filled_one_is_written():
    # Nothing was within the bounds of no storage; the filled one was a view of one number.
    assert wg.zeros(0).as_strided((2, 0), (1, 1)).shape == (2, 0)
    assert wg.fill(wg.zeros(2), 1).add_(1).tolist() == [2, 2]


def test_max_and_min_of_two_tensors_are_found_where_functions_of_two_are_stated():
    # They were looked for in a module that the functions of two tensors had left.
    assert wg.max(wg.tensor([1, 4]), wg.tensor([3, 2])).tolist() == [3, 4]
    assert wg.tensor([1, 4]).min(wg.tensor([3, 2])).tolist() == [1, 2]


@pytest.mark.parametrize("name", ["equal", "isclose", "allclose", "flatten", "movedim"])
def test_a_function_without_out_refuses_it(name: str) -> None:
    # It was taken by all functions of tensors, and a result written.
    x, out = wg.zeros(2, 2), wg.ones(2, 2)
    given = {"movedim": (x, 0, 1), "flatten": (x,)}.get(name, (x, x))
    with pytest.raises(TypeError, match=rf"{name}\(\) got an unexpected keyword argument 'out'"):
        getattr(wg, name)(*given, out=out)
    assert (out == 1).all()
