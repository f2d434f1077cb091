"""Settings of calls: truth values and whole numbers are nothing else."""

import inspect

import numpy as np
import pytest

import wengert as wg

X = wg.tensor([[3.0, 1.0], [2.0, 4.0]])


@pytest.mark.parametrize(
    "call",
    [
        lambda: X.sort(-1, "stable"),
        lambda: X.sort(descending=1),
        lambda: X.topk(1, largest="no"),
        lambda: wg.unique(X, return_inverse="yes"),
        lambda: wg.linalg.svd(X, full_matrices="a"),
        lambda: wg.zeros(2, requires_grad="no"),
        lambda: X.clone().requires_grad_(1),
    ],
)
def test_a_flag_takes_truth_values_alone(call):
    # Anything has a truth value in Python: NumPy's "stable" sorted in descending order.
    with pytest.raises(TypeError, match=r"must be bool, not (str|int)"):
        call()


@pytest.mark.parametrize(
    "call", [lambda: wg.kthvalue(X, 1.5), lambda: X.cumsum(True), lambda: X.transpose(0, True)]
)
def test_a_whole_number_is_neither_a_fraction_nor_a_truth_value(call):
    # kthvalue(x, 1.5) picked by a rounded place, and True was dimension 1.
    with pytest.raises(TypeError, match=r"must be int, not (float|bool)"):
        call()


@pytest.mark.parametrize(
    "call", [lambda: wg.cdist(X, X, None), lambda: wg.nn.functional.threshold(X, 0.0, None)]
)
def test_a_number_without_a_default_is_not_none(call):
    # cdist(x, y, None) was the 2-norm, and threshold(x, 0, None) wrote NaN.
    with pytest.raises(TypeError, match="must be float, not NoneType"):
        call()


@pytest.mark.parametrize("value", [2, True, np.float32(2), wg.tensor(2.0), np.array(2)])
def test_a_number_is_of_any_kind(value):
    assert wg.cdist(X, X, value).shape == (2, 2)


def test_whole_numbers_of_other_kinds_are_taken():
    for one in (1, np.int64(1), wg.tensor(1), np.array(1)):
        assert X.topk(one, -1).indices.tolist() == [[0], [1]]
    assert X.sort(descending=np.True_).values.tolist() == [[3, 1], [4, 2]]


def test_more_numbers_than_an_operation_has_are_a_type_error():
    # zip() said that an argument of its own was too long.
    with pytest.raises(TypeError, match="takes the numbers"):
        wg.addmm(X, X, X, 1, 2, 3, 4)


@pytest.mark.parametrize(
    "call", [wg.zeros, wg.rand, X.new_ones, X.reshape, X.repeat, X.permute, X.sum_to_size]
)
def test_a_call_without_sizes_is_a_type_error(call):
    # Each took it for the shape of a single number.
    with pytest.raises(TypeError, match=r"missing|must|cannot|takes"):
        call()


def test_what_functions_refuse_is_asked_of_each_call():
    # gradient() was marked, and nothing looked at the mark.
    marked = [
        function
        for space in (wg, wg.linalg, wg.special, wg.fft, wg.nn.functional)
        for function in vars(space).values()
        if inspect.isfunction(function) and "refused" in vars(inspect.unwrap(function))
    ]
    assert len(marked) > 50
    assert [f.__name__ for f in marked if not hasattr(f, "settings_checked")] == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: wg.nn.functional.softmax(X * 1j, -1),
        lambda: wg.nn.functional.nll_loss(X.long(), wg.tensor([0, 1])),
        lambda: wg.nn.functional.huber_loss(input=X.long(), target=X),
        lambda: wg.special.xlogy(X * 1j, X),
        lambda: (X > 2).topk(1),
        lambda: wg.unique(X * 1j),
        lambda: (X * 1j).exponential_(),
    ],
)
def test_functions_refuse_the_dtypes_for_which_they_are_not_defined(call):
    # Each gave numbers: of the order of real parts, of integers' logarithms, of cut-off weights.
    with pytest.raises(wg.errors.DtypeError, match=r"is not (implemented|defined) for"):
        call()
