"""GradBench's problems as PyTorch computes them: values and derivatives are the same to 1e-10."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from benchmarks.gradbench import in_torch, named
from benchmarks.gradbench.table import check
from tests.test_gradbench import SMALL, given, uncompiled

# PyTorch warns of a part of its own when its transforms are first used.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


@pytest.mark.parametrize("name", ["hello", *SMALL])
def test_values_and_derivatives_are_those_of_pytorch(name):
    arguments = named(name).arguments(given(name))
    for function, ours in named(name).functions.items():
        theirs = in_torch.FUNCTIONS[name][function](*in_torch.given(name, arguments))
        check(f"{name} {function}", {"PyTorch": theirs, "wengert": uncompiled(ours)(*arguments)})
