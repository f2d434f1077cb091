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
    assert [parameter.id for parameter in mark.args[1]] == ["numpy.sin"]
    with pytest.raises(ExceptionGroup, match=r"numpy\.sin-1, numpy\.sin-3") as raised:
        odd_numbers_fail(CASES)
    assert tried == [0, 1, 2, 3]
    assert raised.value.exceptions[0].__notes__ == ["in sample numpy.sin-1: {'x': 1}"]


def test_a_plain_run_tries_some_samples_of_each_rule_and_the_full_run_all():
    cases = [*CASES, pytest.param(RULES[np.cos], {"x": 0}, id="numpy.cos-0")]

    @each_sample(cases, one_in=3)
    def test(rule, call): ...

    (mark,) = test.pytestmark
    tried = {p.id: ([case.id for case in p.values[0]], p.marks) for p in mark.args[1]}
    assert tried == {
        "numpy.sin": (["numpy.sin-0", "numpy.sin-3"], ()),
        "numpy.cos": (["numpy.cos-0"], ()),
        "numpy.sin (others)": (["numpy.sin-1", "numpy.sin-2"], (pytest.mark.sweep,)),
    }
