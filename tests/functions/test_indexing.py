"""Indexing: what is picked, what is written, where gradients go."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

import wengert as wg
from wengert.nn import functional as F
from wengert.rules import indexing as rules


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


PARTS = {
    "number": 1,
    "tensor of a number": wg.tensor(1),
    ":": slice(None),
    "None": None,
    "...": ...,
    "row": wg.tensor([0, 1, 1]),
    "column": wg.tensor([[0], [1]]),
    "two": wg.tensor([1, 0]),
}


@pytest.mark.parametrize("first", PARTS)
def test_a_number_that_is_not_known_yet_indexes_as_a_known_one(first):
    # It was one of the index arrays, and moved their dimension to the front as NumPy does.
    x = wg.tensor(numbered((2, 3, 4)), requires_grad=True)
    for others in itertools.product(PARTS, repeat=2):
        if "tensor of a number" not in (first, *others):
            continue
        index = [PARTS[name] for name in (first, *others)]
        if index.count(...) > 1 or sum(isinstance(p, wg.Tensor) for p in index) < 2:
            continue
        given = [p for p in index if isinstance(p, wg.Tensor)]

        def pick(x, *tensors, index=index):
            rest = iter(tensors)
            return x[tuple(next(rest) if isinstance(p, wg.Tensor) else p for p in index)]

        expected, found = (
            found_or_refused(pick, x, given),
            found_or_refused(compiled(pick), x, given),
        )
        assert found == expected, (first, *others)


def compiled(function):
    return wg.compile(lambda *args: function(*args))


def found_or_refused(function, x, given):
    try:
        y = function(x, *given)
    except IndexError as error:
        return str(error)
    (g,) = wg.autograd.grad((y * numbered(y.shape)).sum(), x)
    return y.tolist(), g.tolist()


def test_a_write_at_a_number_that_is_not_known_yet_is_one_at_a_known_one():
    def write(x, i, row, value):
        y = x.clone()
        y[i, :, row] = value
        return y

    x, row = wg.tensor(numbered((2, 3, 4))), wg.tensor([[0, 1, 1]])
    value = wg.tensor(numbered((3, 1, 1)))
    expected = wg.stack([write(x, i, row, value) for i in (0, 1)])
    places = wg.tensor([0, 1])
    assert wg.equal(wg.compile(write)(x, wg.tensor(1), row, value), expected[1])
    assert wg.equal(
        wg.vmap(lambda x, i: write(x, i, row, value))(wg.stack([x, x]), places), expected
    )


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


REDUCED = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "amax": np.max, "amin": np.min}


@pytest.mark.crossed
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCED)
def test_what_goes_to_one_place_is_combined(reduce, include_self):
    # Compiled and under vmap: TracingError, since the layers were counted by the index's numbers.
    random = np.random.default_rng(0)
    x, source = random.normal(size=(4, 3)), random.normal(size=(5, 3))
    index = random.integers(0, 4, (5, 3))
    expected = x.copy()
    for row, column in np.ndindex(4, 3):
        arrived = [*x[row : row + include_self, column], *source[index[:, column] == row, column]]
        expected[row, column] = REDUCED[reduce](arrived) if arrived else x[row, column]

    def call(x, index, source):
        return x.scatter_reduce(0, index, source, reduce, include_self=include_self)

    given = [
        wg.tensor(x, requires_grad=True),
        wg.tensor(index),
        wg.tensor(source, requires_grad=True),
    ]
    slopes = []
    for f in (call, wg.compile(call)):
        y = f(*given)
        np.testing.assert_allclose(y.detach(), expected)
        slopes.append(wg.autograd.grad((y * numbered(y.shape)).sum(), [given[0], given[2]]))
    for one, other in zip(*slopes, strict=True):
        np.testing.assert_allclose(one, other)
    batched = wg.vmap(call)(*(t.detach()[None] for t in given))
    np.testing.assert_allclose(batched[0], expected)


@pytest.mark.parametrize("name", ["scatter", "scatter_add"])
def test_a_scatter_beyond_the_other_dimensions_is_refused(name):
    # scatter_add counted places of a flat array, and so added to elements of the next rows.
    index, source = wg.zeros(2, 3, dtype=wg.int64), wg.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"no larger than self \[4, 2\] apart from dimension 0"):
        getattr(wg.zeros(4, 2), name)(0, index, source)


ALONG = {
    "take": lambda x, i: x.take(i),
    "put": lambda x, i: x.put(i, x[: len(i), 0]),
    "gather": lambda x, i: x.gather(0, i[:, None]),
    "scatter": lambda x, i: x.scatter(0, i[:, None], 3.0),
    "scatter_add": lambda x, i: x.scatter_add(0, i[:, None], x),
    "index_select": lambda x, i: x.index_select(0, i),
    "index_add": lambda x, i: x.index_add(0, i, x[: len(i)]),
    "index_copy": lambda x, i: x.index_copy(0, i, x[: len(i)]),
    "index_fill": lambda x, i: x.index_fill(0, i, 2.0),
    "take_along_dim": lambda x, i: x.take_along_dim(i[:, None], 0),
    "np.take_along_axis": lambda x, i: np.take_along_axis(x, i[:, None], 0),
    "embedding": lambda x, i: F.embedding(i, x, padding_idx=3),
    "cross_entropy": lambda x, i: F.cross_entropy(x.T.expand(len(i), -1), i),
}


@pytest.mark.crossed
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16"])
@pytest.mark.parametrize("name", ALONG)
def test_indices_of_few_bits_reach_what_those_of_many_reach(name, dtype):
    # Places were computed in the index's own dtype: gradients of gather went to wrong rows.
    places = np.array([3, 100, 3, 120, 0])
    x = wg.tensor(np.random.default_rng(0).normal(size=(300, 1)), requires_grad=True)

    def found(function, index):
        y = function(x, wg.tensor(index))
        (g,) = wg.autograd.grad((y * (1 + numbered(y.shape))).sum(), x)
        return y.tolist(), g.tolist()

    expected = found(ALONG[name], places)
    assert found(ALONG[name], places.astype(dtype)) == expected
    y, g = found(compiled(ALONG[name]), places.astype(dtype))
    np.testing.assert_allclose(y, expected[0])
    np.testing.assert_allclose(g, expected[1])


@pytest.mark.parametrize("write", [lambda v: v.mul_(2), lambda v: v.add_(1), lambda v: v.pow_(2)])
def test_what_was_expanded_is_not_written_where_nothing_is_recorded(write):
    # The short way under no_grad wrote each number as often as it was shown.
    x = wg.ones(3)
    with wg.no_grad(), pytest.raises(RuntimeError, match="single memory location"):
        write(x.expand(2, 3).data)
    assert x.tolist() == [1, 1, 1]


def test_a_row_of_what_was_expanded_is_written():
    x = wg.ones(3)
    x.expand(2, 3)[0] = 5.0
    assert x.tolist() == [5, 5, 5]


@pytest.mark.parametrize("name", ["scatter", "scatter_add", "scatter_reduce"])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_scatter_refuses_a_source_of_more_dimensions_than_its_index(name, shape):
    # Its first rows were taken, and machine code wrote past the end of the index.
    index = wg.zeros(shape, dtype=wg.int64)
    more = ("sum",) if name == "scatter_reduce" else ()
    with pytest.raises(RuntimeError, match="same number of dimensions as src tensor"):
        getattr(wg, name)(wg.ones(shape), 0, index, wg.ones(4, 33), *more)


def test_what_is_added_may_be_smaller_than_its_index():
    index = np.array([[0, 1], [1, 1]])
    added = rules._added(np.ones((1, 1)), index, (3,))
    np.testing.assert_array_equal(added, [1.0, 3.0, 0.0])


def test_a_place_that_is_taken_alone_has_memory_of_its_own():
    # An index of no dimensions is a view of one element: what was written there was in both.
    x = wg.tensor([1.0, 2.0])
    for f in (lambda x: x.take(wg.tensor(1)).fill_(5), lambda x: wg.take(x, 1).fill_(5)):
        assert f(x).item() == 5
        assert wg.compile(f)(x).item() == 5
        assert x.tolist() == [1, 2]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_many_elements_where_a_mask_holds_are_those_that_numpy_takes(share, dtype):
    rng = np.random.default_rng(0)
    x, mask = rng.integers(0, 99, (80, 90)).astype(dtype), rng.random((80, 90)) < share
    new = rng.integers(0, 99, int(mask.sum())).astype(dtype)
    expected = x.copy()
    expected[mask] = new
    tensor, places = wg.tensor(x), wg.tensor(mask)
    np.testing.assert_array_equal(tensor[places], x[mask])
    np.testing.assert_array_equal(tensor.masked_scatter(places, wg.tensor(new)), expected)
    np.testing.assert_array_equal(places.nonzero(), np.argwhere(mask))
    np.testing.assert_array_equal((tensor * places).nonzero(), np.argwhere(x * mask))
