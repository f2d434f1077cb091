"""Writes into arrays of zeros, as the gradients of elements are: sums of them, and along them."""

import numpy as np
import pytest

from tests.compile.programs import Builder
from wengert.compile.program.operations import updated
from wengert.compile.program.passes import clean


@pytest.mark.parametrize("seed", range(60))
def test_sums_of_what_was_written_into_zeros_are_those_sums(seed):
    random = np.random.default_rng(seed)
    b, shape = Builder(), tuple(map(int, random.integers(1, 5, random.integers(1, 3))))
    given: list[np.ndarray] = []
    total = _written(b, random, shape, given, random.integers(1, 4))
    for _ in range(random.integers(1, 4)):
        total = b(np.add, total, _written(b, random, shape, given, random.integers(1, 4)))
    program = b.result(total)
    (known,) = program.run(given)
    assert np.array_equal(clean(program).run(given)[0], known)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_written_into_zeros_is_summed_before_it_is_written(seed):
    # As gradients of elements in several directions: each was an array of zeros that was summed,
    # and waited for the sum of those before it.
    random = np.random.default_rng(seed)
    b, shape = Builder(), tuple(map(int, random.integers(1, 5, random.integers(1, 4))))
    axes = tuple(np.flatnonzero(random.integers(0, 2, len(shape))).tolist()) or (0,)
    given: list[np.ndarray] = [random.integers(1, 9, np.zeros(shape).sum(axes).shape) * 1.0]
    total = b.input(given[0].shape)
    for _ in range(3):
        part = _written(b, random, shape, given, 1)
        total = b(np.add, total, b(np.sum, part, axis=axes, keepdims=False))
    program = b.result(total)
    (known,) = program.run(given)
    assert np.array_equal(clean(program).run(given)[0], known)


def _written(b, random, shape, given, times):
    """Random writes into zeros."""

    def place(n):
        start, stop = sorted(random.integers(0, n + 1, 2))
        step = random.choice([1, 1, 1, 2])
        kinds = slice(None), int(random.integers(-n, n)), slice(int(start), int(stop), int(step))
        return kinds[random.integers(3)]

    whole = b.full(shape, 0.0)
    for _ in range(times):
        index = tuple(map(place, shape))
        part = np.zeros(shape)[index].shape
        given.append(random.integers(1, 9, part) * 1.0)
        whole = b(updated, whole, index, b.input(part))
    return whole
