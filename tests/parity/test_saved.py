"""What an operation keeps: its result may be overwritten where PyTorch lets it be.

Of some operations PyTorch saves the result for the derivative (exp, sqrt, softmax), of others
something else (the input, or where the maxima were), and a network may go on in place: max-pooling
and a rectifier, a normalization and a rectifier. Each operator of PyTorch's table is run here, with
`add_(1)` behind each of its results.
"""

from __future__ import annotations

from typing import Any

import pytest

import wengert as wg

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from tests.parity.op_db import comparable, our_function, samples, tensors, translated  # noqa: E402
from tests.parity.test_extremes import NOT_HERE  # noqa: E402

LIMIT = 6
NOT_WRITTEN = {
    "as_strided": "the samples share memory that a copy does not have",
    "linalg.vander": "a number is an error",
    "double": "channels last is no reason to copy",
    "to": "channels last is no reason to copy",
    "linalg.pinv": "a sample is made of two factors",
    "nn.functional.batch_norm": "one dimension of no elements is an error",
    "nn.functional.pixel_shuffle": "by a factor of 1 it is a view",
    "nn.functional.pixel_unshuffle": "by a factor of 1 it is a view",
    "ravel": "a view wherever that is possible",
    "sum_to_size": "a view where there is nothing to sum",
    "svd_lowrank": "random",
    "pca_lowrank": "random",
}
OPERATORS = [
    op
    for op in op_db
    if op.supports_autograd and op.name not in (*NOT_HERE, *NOT_WRITTEN) and comparable(op)
]


def overwritable(library: Any, function: Any, call: tuple[Any, ...]) -> list[bool]:
    """For each tracked result, whether a sweep succeeds after a write into it."""
    x, args, kwargs = call
    count = len(tracked(function(x, *args, **kwargs)))
    found = []
    for k in range(count):
        ys = tracked(function(x, *args, **kwargs))
        try:
            ys[k].add_(1)
            total = sum((y.real if y.is_complex() else y).sum() for y in ys)
            library.autograd.grad(total, tracked(list(call)), allow_unused=True)
            found.append(True)
        except RuntimeError:
            found.append(False)
    return found


def tracked(x: Any) -> list[Any]:
    return [t for t in tensors(x) if t.requires_grad]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.formatted_name)
def test_results_may_be_overwritten_where_pytorch_lets_them_be(op: Any) -> None:
    for sample in samples(op, torch.float64, LIMIT):
        call = (sample.input, tuple(sample.args), dict(sample.kwargs))
        try:
            theirs = overwritable(torch, op.op, call)
        except Exception:
            continue  # some samples are errors in PyTorch
        ours = overwritable(wg, our_function(op), tuple(map(translated, call)))
        pairs = enumerate(zip(theirs, ours, strict=len(theirs) == len(ours)))
        refused = [k for k, (allowed, here) in pairs if allowed and not here]
        assert not refused, f"results {refused} may not be overwritten"


# ---- networks that did not train --------------------------------------------------------------

BLOCKS = {
    "max-pooling": (lambda n: n.MaxPool2d(2), (2, 3, 4, 4)),
    "max-pooling in 1d": (lambda n: n.MaxPool1d(2, 1, 1), (2, 3, 4)),
    "max-pooling in 3d": (lambda n: n.MaxPool3d(2), (2, 3, 4, 4, 4)),
    "instance normalization": (lambda n: n.InstanceNorm2d(3), (2, 3, 4, 4)),
    "group normalization": (lambda n: n.GroupNorm(1, 3, affine=False), (2, 3, 4, 4)),
    "layer normalization": (lambda n: n.LayerNorm(4, elementwise_affine=False), (2, 3, 4)),
    "batch normalization": (lambda n: n.BatchNorm1d(3, affine=False), (5, 3)),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_rectifier_in_place_trains_behind(name):
    # What was computed was saved, and the rectifier overwrote it: ModifiedError at the first step.
    make, shape = BLOCKS[name]
    wg.manual_seed(0)
    values = wg.randn(shape, dtype=wg.float64).numpy()
    gradients = []
    for library in (wg, torch):
        x = library.tensor(values, requires_grad=True)
        block = library.nn.Sequential(make(library.nn), library.nn.ReLU(inplace=True)).double()
        y = (block(x) * library.tensor(3.0)).square().sum()
        (first,) = library.autograd.grad(y, x, create_graph=True)
        (second,) = library.autograd.grad(first.square().sum(), x)
        gradients.append([g.detach().numpy() for g in (first, second)])
    for ours, theirs in zip(*gradients, strict=True):
        assert abs(ours - theirs).max() <= 1e-9 * abs(theirs).max()


@pytest.mark.parametrize("layer", ["RNN", "GRU", "LSTM"])
def test_results_of_recurrent_layers_may_be_overwritten(layer):
    x = wg.randn(4, 2, 3, requires_grad=True)
    y, _ = getattr(wg.nn, layer)(3, 5)(x)
    expected = wg.autograd.grad(y.sum(), x, retain_graph=True)[0]
    y.add_(1)
    assert wg.allclose(wg.autograd.grad(y.sum(), x)[0], expected)


def test_a_result_that_was_overwritten_with_its_argument_is_still_refused():
    # It is computed again from the argument, which has to be what it was.
    x = wg.randn(1, 2, 4, requires_grad=True)
    z = x * 1
    y = wg.nn.functional.max_pool1d(z, 2)
    y.add_(1)
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.sum().backward()


def test_parts_of_tensor_split_may_be_written():
    # They were marked as those of split, which PyTorch refuses to write.
    x = wg.ones(5, requires_grad=True)
    y = x * 1
    y.tensor_split(2)[1].mul_(3)
    y.hsplit([1])[0].mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [2, 1, 1, 3, 3]
