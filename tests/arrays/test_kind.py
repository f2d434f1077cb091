"""A kind of array is one class: what functions mean on it, and in which order that is asked."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import wengert as wg
from wengert import nn, optim
from wengert.arrays.facts import COMPOSED
from wengert.arrays.kind import NUMPY, Kind, kind_of
from wengert.arrays.methods import ArrayMethods
from wengert.dispatch import primitive
from wengert.errors import MissingRuleError
from wengert.pytorch.overrides import unasked


class Counting(Kind):
    """Counts the operations on its arrays."""

    def __init__(self):
        self.count = 0

    def otherwise(self, function, args, kwargs):
        self.count += 1
        return around(self, function(*within(args), **within(kwargs)))

    elementwise = otherwise

    def store(self, function, result, targets, where):
        for target in targets:
            np.copyto(target.array, result.array, where=within(where))
        return targets[0]


class CountedArray(ArrayMethods):
    kind: Kind = None
    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)
    ndim = property(lambda self: self.array.ndim)
    flags = property(lambda self: self.array.flags)
    strides = property(lambda self: self.array.strides)
    base = None

    def __init__(self, kind, array):
        self.kind, self.array = kind, array

    def copy(self, order="C"):
        return CountedArray(self.kind, self.array.copy())


def within(x):
    """Arguments with NumPy's arrays in the place of counted ones."""
    if isinstance(x, (tuple, list)):
        return type(x)(map(within, x))
    if isinstance(x, dict):
        return {name: within(value) for name, value in x.items()}
    return x.array if isinstance(x, CountedArray) else x


def around(kind, x):
    if isinstance(x, tuple):
        return tuple(around(kind, item) for item in x)
    return CountedArray(kind, np.asarray(x)) if isinstance(x, (np.ndarray, np.generic)) else x


def trained(array):
    """The loss and the parameters of a small network, after three steps on arrays of some kind."""
    wg.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    for p in network.parameters():
        p._array = array(p._array)
    optimizer = optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    x = wg.tensor(np.linspace(-1, 1, 15).reshape(5, 3), dtype=wg.float32)
    x._array = array(x._array)
    for _ in range(3):
        optimizer.zero_grad()
        loss = (network(x) ** 2).mean()
        loss.backward()
        optimizer.step()
    return [loss._array, *(p._array for p in network.parameters())]


def test_a_network_trains_on_a_kind_of_array_that_was_made_in_twenty_lines():
    counting = Counting()
    counted = trained(lambda x: CountedArray(counting, x))
    assert all(isinstance(x, CountedArray) for x in counted)
    assert counting.count > 50
    for x, expected in zip(counted, trained(lambda x: x), strict=True):
        np.testing.assert_array_equal(x.array, expected)


@pytest.fixture
def kind():
    class Words(Kind):
        """Answers with the name of what answered."""

        def elementwise(self, function, args, kwargs):
            return "elementwise" if function is not np.heaviside else NotImplemented

        def body(self, plain, args, kwargs):
            return "body"

        def composed(self, meaning, args, kwargs):
            return "composed"

        def otherwise(self, function, args, kwargs):
            return "otherwise"

    return Words


@primitive
def doubled(x):
    return 2 * x


def test_a_function_is_asked_for_its_own_meaning_then_its_elements_body_composition_and_rest(kind):
    x = CountedArray(kind(), np.ones(2))
    assert np.tanh(x) == "elementwise"
    assert doubled(x) == "body"
    assert np.fliplr in COMPOSED
    assert np.fliplr(x) == "composed"
    assert np.lexsort(x) == "otherwise"
    assert np.heaviside(x, x) == "otherwise"  # NotImplemented passes it on

    @kind.means(np.tanh, doubled, np.fliplr, np.lexsort)
    def _own(kind, x, *rest):
        return "own"

    assert np.tanh(x) == doubled(x) == np.fliplr(x) == np.lexsort(x) == "own"


def test_a_meaning_of_a_method_of_all_ufuncs_yields_to_that_of_one_ufunc(kind):
    kind.means(np.ufunc.reduce)(lambda kind, ufunc, x, axis=0: f"reduced by {ufunc.__name__}")
    kind.means(np.add.reduce)(lambda kind, x, axis=0: "a sum")
    x = CountedArray(kind(), np.ones(2))
    assert np.multiply.reduce(x) == "reduced by multiply"
    assert np.add.reduce(x) == "a sum"


def test_functions_of_one_pattern_share_a_meaning_that_is_told_which_one_it_is(kind):
    @kind.pattern(np.sum, np.prod)
    def _named(function, kind, x):
        return function.__name__

    x = CountedArray(kind(), np.ones(2))
    assert (np.sum(x), np.prod(x)) == ("sum", "prod")


def test_questions_about_shapes_have_meanings_on_every_kind(kind):
    x = CountedArray(kind(), np.ones((2, 3)))
    assert (np.shape(x), np.ndim(x), np.size(x), np.iscomplexobj(x)) == ((2, 3), 2, 6, False)


def test_meanings_of_one_kind_are_not_those_of_another(kind):
    class Other(kind):
        pass

    kind.means(np.tanh)(lambda kind, x: "own")
    assert np.tanh(CountedArray(Other(), np.ones(2))) == "elementwise"


def test_the_kind_of_higher_priority_answers(kind):
    class Higher(kind):
        priority = 700

        def elementwise(self, function, args, kwargs):
            return "higher"

    class HigherArray(CountedArray):
        __array_priority__ = Higher.priority

    low, high = CountedArray(kind(), np.ones(2)), HigherArray(Higher(), np.ones(2))
    assert np.add(low, high) == np.add(high, low) == "higher"


def test_a_tensor_around_an_array_of_a_kind_takes_over():
    counting = Counting()
    x = CountedArray(counting, np.ones(2))
    y = np.add(x, wg.tensor(np.ones(2)))
    assert isinstance(y, wg.Tensor)
    assert isinstance(y._array, CountedArray)


def test_a_kind_that_has_no_answer_refuses_and_says_what_to_do():
    class Mute(Kind):
        pass

    x = CountedArray(Mute(), np.ones(2))
    with pytest.raises(MissingRuleError, match=r"numpy\.tanh has no meaning on arrays of the kind"):
        np.tanh(x)
    with pytest.raises(MissingRuleError, match=r"what it means: @Mute\.means\(numpy\.lexsort\)"):
        np.lexsort(x)


def test_arrays_and_numbers_are_of_numpys_kind_which_changes_nothing():
    x, state = np.ones(2), {}
    assert kind_of(x) is kind_of(1.5) is kind_of(np.float64(1)) is NUMPY
    assert (
        NUMPY.lasting(x, state, "x") is NUMPY.once(x) is NUMPY.met(x) is NUMPY.arriving(x, 0) is x
    )
    assert NUMPY.alike(x, state) is state
    assert NUMPY.number(np.array(2)) == 2.0


def calls_until_recorded(f, x):
    """The Python functions that run until a recorder does."""
    f(x)
    called = []

    def note(frame, event, arg):
        if event == "call":
            called.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        f(x)
    finally:
        sys.setprofile(None)
    return called[: called.index("record") + 1]


@pytest.mark.parametrize("f", [np.tanh, np.exp, np.negative, lambda x: np.multiply(x, 2.0)])
def test_numpys_function_on_a_tensor_reaches_its_recorder_in_at_most_four_calls(f):
    with unasked():  # a class with __torch_function__, which a test before made, is asked too
        called = calls_until_recorded(f, wg.tensor(np.ones(3), requires_grad=True))
    assert len([name for name in called if name != "<lambda>"]) <= 4
