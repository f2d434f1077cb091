"""A test of all samples of a rule names the samples that fail."""

import numpy as np
import pytest

from tests.rules.each import each_sample
from wengert.rules import RULES

RULE = RULES[np.sin]
CASES = [pytest.param(RULE, {"x": x}, id=f"numpy.sin-{x}") for x in range(4)]


def test_every_sample_is_tried_and_failures_are_named():
    tried = []

    @each_sample(CASES)
    def odd_numbers_fail(rule, call):
        tried.append(call["x"])
        assert call["x"] % 2 == 0

    (mark,) = odd_numbers_fail.pytestmark
    assert mark.kwargs["ids"] == ["numpy.sin"]
    with pytest.raises(ExceptionGroup, match=r"numpy\.sin-1, numpy\.sin-3") as raised:
        odd_numbers_fail(CASES)
    assert tried == [0, 1, 2, 3]
    assert raised.value.exceptions[0].__notes__ == ["in sample numpy.sin-1: {'x': 1}"]
