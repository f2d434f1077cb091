"""Small agreements with PyTorch on what programs do with tensors, each beside PyTorch."""

from __future__ import annotations

import copy

import pytest

import wengert as wg

torch = pytest.importorskip("torch")


def deep_copies(t):
    x = t.arange(6.0).reshape(2, 3).T
    y, part, again = copy.deepcopy((x, x[1:], [x[0]]))
    part.fill_(7)
    again[0].add_(1)
    return [x, y, part, again[0], t.tensor(y.stride())]


def by_batches(t):
    class Scaled(t.autograd.Function):
        @staticmethod
        def forward(x, factor):
            raise AssertionError("the batch has a rule")

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x, factor):
            return (x.sin() * info.batch_size, factor), (in_dims[0], in_dims[1])

    x = t.arange(6.0).reshape(2, 3).requires_grad_()
    y, factor = t.vmap(lambda x: Scaled.apply(x, t.ones(2)), out_dims=(0, None))(x)
    y.sum().backward()
    return [y, factor, x.grad]


def prehooks(t):
    x, ran = t.ones(2, requires_grad=True), []
    node = (x * 2).grad_fn
    handles = [node.register_prehook(lambda g: handles[1].remove())]
    handles.append(node.register_prehook(lambda g: ran.append(1)))
    node(t.ones(2))
    return [t.tensor(ran)]


def spectra(t):
    # Of a two-sided spectrum the second half was used too: it was thought conjugate.
    x = t.view_as_complex(t.arange(40.0).sin().reshape(10, 2, 2))
    return [t.istft(x, 10, window=t.ones(10))]


def into_tensors(t):
    F, x = t.nn.functional, t.arange(-4.0, 4).reshape(1, 2, 2, 2)
    gelu = t._C._nn.gelu if t is torch else F.gelu
    outs = [t.empty(0) for _ in range(6)]
    gelu(x, out=outs[0])
    F.softplus(x, out=outs[1])
    F.linear(x, t.ones(3, 2), out=outs[2])
    F.logsigmoid(x, out=outs[3])
    F.hardshrink(x, 2.0, out=outs[4])
    F.softshrink(x, 2.0, out=outs[5])
    return outs


def integer_means(t):
    x = t.arange(-9, 9).reshape(1, 2, 3, 3)
    return [t.nn.functional.avg_pool2d(x, 2, 1), t.nn.functional.avg_pool1d(x[0], 2)]


CASES = [deep_copies, by_batches, prehooks, spectra, into_tensors, integer_means]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_programs_give_what_they_give_in_pytorch(case):
    for ours, theirs in zip(case(wg), case(torch), strict=True):
        assert str(ours.dtype) == str(theirs.dtype).replace("torch.", "")
        assert ours.shape == theirs.shape
        expected = wg.tensor(theirs.detach().tolist(), dtype=ours.dtype)
        assert wg.allclose(ours.detach(), expected, rtol=5e-3)  # their gelu of -4 is not exact


def test_what_index_tensors_take_out_is_contiguous():
    # x[:, i] had NumPy's strides, and x[:, i].view(-1) was refused.
    x = wg.arange(24.0).reshape(2, 3, 4)
    theirs = torch.arange(24.0).reshape(2, 3, 4)
    i, mask = [1, 0], [True, False, True]
    whole = slice(None)
    for index in (
        (Ellipsis, i), (whole, i), (whole, mask), (whole, i, i), (i, whole, i),
        (whole, [[0], [1]], i), (whole, None, i),
    ):  # fmt: skip
        own = tuple(wg.tensor(p) if isinstance(p, list) else p for p in index)
        other = tuple(torch.tensor(p) if isinstance(p, list) else p for p in index)
        assert x[own].stride() == theirs[other].stride()
        assert x[own].view(-1).tolist() == theirs[other].view(-1).tolist()
