"""The in-place functions outside of Tensor are its in-place methods."""

from __future__ import annotations

import pytest

import wengert as wg
from wengert.functions import inplace_functions

NAMES = sorted(n for n in vars(inplace_functions) if n.endswith("_") and not n.startswith("_"))


@pytest.mark.parametrize("name", NAMES)
def test_each_is_the_method_and_public(name: str) -> None:
    assert getattr(wg, name).__wrapped__ is getattr(wg.Tensor, name)


def test_they_write_and_keep_history() -> None:
    x = wg.tensor([0.0, 1.0], requires_grad=True)
    y = x * 2
    assert wg.exp_(y) is y
    y.sum().backward()
    assert wg.allclose(x.grad, 2 * y.detach())
