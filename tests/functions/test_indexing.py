"""Indexing: what is picked, what is written, where gradients go."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

import wengert as wg


def numbered(shape):
    return np.arange(float(np.prod(shape))).reshape(shape)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_basic_indices_pick_what_numpy_picks_and_are_views(data):
    shape = data.draw(array_shapes(max_dims=3, max_side=4))
    index = data.draw(basic_indices(shape, allow_newaxis=True))
    x = wg.tensor(numbered(shape), requires_grad=True)
    y = x[index]
    expected = numbered(shape)[index]
    assert y.shape == np.shape(expected)
    np.testing.assert_array_equal(y.detach().numpy(), expected)
    assert y._is_view()
    y.sum().backward()
    chosen = np.zeros(shape)
    chosen[index] = 1
    np.testing.assert_array_equal(x.grad.numpy(), chosen)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_basic_assignment_writes_what_numpy_writes(data):
    shape = data.draw(array_shapes(max_dims=3, max_side=4))
    index = data.draw(basic_indices(shape))
    x, expected = wg.tensor(numbered(shape)), numbered(shape)
    x[index] = 7.5
    expected[index] = 7.5
    np.testing.assert_array_equal(x.numpy(), expected)
    assert x._version == 1


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-3, 2), max_size=6))
def test_repeated_indices_add_their_gradients(places):
    x = wg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x[wg.tensor(places, dtype=wg.int64)].sum().backward()
    counts = np.bincount(np.array(places, int) % 3, minlength=3) if places else np.zeros(3)
    np.testing.assert_array_equal(x.grad.numpy(), counts)


def test_an_element_of_a_vector_is_a_view_that_can_be_written_through():
    x = wg.zeros(3)
    x[1].fill_(5)
    assert x.tolist() == [0, 5, 0]


def test_a_mixture_of_number_and_tensor_takes_the_number_first():
    # NumPy counts the number among the index arrays and moves their dimension to the front.
    x = wg.tensor(numbered((2, 3, 4)))
    assert x[0, :, wg.tensor([1, 2])].shape == (3, 2)


def test_a_list_with_sequences_is_a_tuple_of_indices_and_warns():
    x = wg.tensor(numbered((3, 2)))
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        picked = x[[[1, 2], [0, 1]]]
    assert picked.tolist() == [2.0, 5.0]


@pytest.mark.parametrize(
    ("index", "overwritten"),
    [
        ([0, 2], [0, 2]),
        (np.array([True, False, True]), [0, 2]),
        (wg.tensor(1), [1]),
        (slice(1, None), [1, 2]),
    ],
    ids=["list", "mask", "number", "slice"],
)
def test_assignment_takes_the_gradient_from_what_it_overwrote(index, overwritten):
    x = wg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    v = wg.tensor(10.0, requires_grad=True)
    y = x * 2
    y[index if not isinstance(index, np.ndarray) else wg.tensor(index)] = v
    y.sum().backward()
    assert x.grad.tolist() == [0 if i in overwritten else 2 for i in range(3)]
    assert v.grad.item() == len(overwritten)


def test_a_constant_written_everywhere_leaves_a_gradient_of_zero():
    x = wg.ones(3, requires_grad=True)
    y = x * 2
    y.copy_(wg.zeros(3))
    assert y.requires_grad
    assert y.grad_fn.name() == "CopyBackwards"
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


def test_writing_a_tracked_value_makes_the_base_tracked():
    base, v = wg.zeros(2, 3), wg.ones(3, requires_grad=True)
    base[1] = v * 2
    assert base.requires_grad
    base.sum().backward()
    assert v.grad.tolist() == [2, 2, 2]


def test_a_later_change_of_the_index_does_not_reach_the_backward():
    x, places = wg.zeros(3, requires_grad=True), np.array([0, 2])
    y = x[places]
    places[:] = 1
    y.sum().backward()
    assert x.grad.tolist() == [1, 0, 1]


def test_the_error_names_the_dimension_and_the_shape():
    with pytest.raises(IndexError, match=r"index 5 is out of bounds for dimension 1 with size 3"):
        wg.zeros(2, 3)[0, 5]
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        wg.zeros(3)[::0]
    with pytest.raises(RuntimeError, match=r"shape \[2\] cannot be broadcast"):
        wg.zeros(3)[:] = wg.zeros(2)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_gather_and_scatter_add_are_transposes(data):
    axis = data.draw(st.integers(0, 1))
    index = np.array(
        data.draw(
            st.lists(st.lists(st.integers(0, 1), min_size=2, max_size=2), min_size=2, max_size=2)
        )
    )
    rng = np.random.default_rng(0)
    x, g = wg.tensor(rng.normal(size=(2, 2))), wg.tensor(rng.normal(size=(2, 2)))
    there = (x.gather(axis, wg.tensor(index)) * g).sum()
    back = (x * wg.zeros_like(x).scatter_add(axis, wg.tensor(index), g)).sum()
    assert wg.allclose(there, back)


def test_equal_extrema_of_a_scatter_share_the_gradient():
    x = wg.tensor([1.0], requires_grad=True)
    src = wg.tensor([3.0, 3.0, 0.0], requires_grad=True)
    x.scatter_reduce(0, wg.tensor([0, 0, 0]), src, "amax").backward()
    assert src.grad.tolist() == [0.5, 0.5, 0]


@pytest.mark.parametrize("name", ["scatter", "scatter_add"])
def test_a_scatter_beyond_the_other_dimensions_is_refused(name):
    # scatter_add counted places of a flat array, and so added to elements of the next rows.
    index, source = wg.zeros(2, 3, dtype=wg.int64), wg.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"no larger than self \[4, 2\] apart from dimension 0"):
        getattr(wg.zeros(4, 2), name)(0, index, source)
