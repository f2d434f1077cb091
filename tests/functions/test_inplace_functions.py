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


@pytest.mark.parametrize("write", [lambda x: x.zero_(), lambda x: x.fill_(3)], ids=["zero", "fill"])
def test_an_expanded_tensor_can_be_filled_with_one_number(write):
    # As in PyTorch: what is written twice is the same. It was refused, as other writes are.
    x = wg.arange(3.0)
    expanded = x[:1].expand(4)
    assert write(expanded).tolist() == [float(x[0])] * 4
    assert x.tolist()[1:] == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="more than one element"):
        expanded.copy_(wg.ones(4))


@pytest.mark.parametrize("dtype", [wg.float32, wg.float16, wg.complex128, wg.int64])
def test_masked_fill_writes_what_masked_fill_gives_and_counts_it(dtype):
    # Few numbers without history are written at once, all others by way of a copy.
    for shape in ((3, 4), (80, 90), ()):
        numbers = wg.arange(float(wg.Size(shape).numel())).reshape(shape).to(dtype)
        for turned in (lambda x: x, lambda x: x.t(), lambda x: x[1:] if x.ndim else x):
            x = turned(numbers.clone())
            mask, expected = x.real % 2 == 0, x.masked_fill(x.real % 2 == 0, 7.0)
            before = x._version
            assert x.masked_fill_(mask, 7.0) is x
            assert wg.equal(x, expected)
            assert x._version == before + 1
    y = wg.ones(3, requires_grad=True) * 2
    y.masked_fill_(wg.tensor([True, False, True]), 5.0).sum().backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        wg.ones(3, requires_grad=True).masked_fill_(wg.tensor([True, False, True]), 5.0)
    with pytest.raises(RuntimeError, match="single memory location"):
        wg.ones(1).expand(3).masked_fill_(wg.tensor([True, False, True]), 5.0)
