"""Views, joins and splits: shapes, sharing of memory, and what may be written."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, mutually_broadcastable_shapes

import wengert as wg

VIEWS = {
    "reshape": lambda x: x.reshape(-1),
    "view": lambda x: x.view(-1),
    "t": lambda x: x.t(),
    "T": lambda x: x.T,
    "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x.permute(1, 0),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(0),
    "expand": lambda x: x.expand(1, 2, 3),
    "narrow": lambda x: x.narrow(1, 0, 2),
    "select": lambda x: x.select(0, 1),
    "diagonal": lambda x: x.diagonal(),
    "unfold": lambda x: x.unfold(1, 2, 1),
    "as_strided": lambda x: x.as_strided((2, 2), (3, 1)),
    "chunk": lambda x: x.chunk(2)[1],
    "unbind": lambda x: x.unbind()[0],
    "flatten": lambda x: x.flatten(),
    "real": lambda x: wg.view_as_real(wg.view_as_complex(x.t().contiguous().view(3, 2))),
}
COPIES = {
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(1),
    "repeat": lambda x: x.repeat(1, 1),
    "clone": lambda x: x.clone(),
    "cat": lambda x: wg.cat([x]),
    "rot90": lambda x: x.rot90(),
    "tril": lambda x: x.tril(),
}


@pytest.mark.parametrize("name", [n for n in VIEWS if n != "real"])
def test_a_view_shares_memory_and_its_changes_reach_the_base(name):
    x = wg.zeros(2, 3)
    v = VIEWS[name](x)
    assert v._is_view()
    assert v._base is x
    v.add_(1)
    assert x.sum().item() > 0
    assert x._version == v._version == 1


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_has_memory_of_its_own(name):
    x = wg.zeros(2, 3)
    COPIES[name](x).add_(1)
    assert x.sum().item() == 0


@pytest.mark.parametrize(
    "split",
    [lambda x: x.chunk(2), lambda x: x.split(1), lambda x: x.unbind()],
    ids=["chunk", "split", "unbind"],
)
def test_one_of_several_views_may_not_be_written_while_tracked(split):
    x = wg.ones(2, 3, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="returns multiple views"):
        split(x)[0].add_(1)
    part = wg.unsafe_chunk(x, 2)[0]
    assert part.add_(1).requires_grad


@settings(max_examples=80, deadline=None)
@given(mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
def test_expand_and_sum_to_size_are_transposes(shapes):
    shape, result = shapes.input_shapes[0], shapes.result_shape
    rng = np.random.default_rng(0)
    x, g = wg.tensor(rng.normal(size=shape)), wg.tensor(rng.normal(size=result))
    there = (x.expand(result) * g).sum()
    back = (x * g.sum_to_size(shape)).sum()
    assert wg.allclose(there, back)


@settings(max_examples=80, deadline=None)
@given(array_shapes(max_dims=3, max_side=4), st.integers(1, 5), st.data())
def test_joining_the_pieces_gives_the_whole(shape, size, data):
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = wg.tensor(np.arange(float(np.prod(shape))).reshape(shape), requires_grad=True)
    for pieces in (x.split(size, dim), x.chunk(size, dim), x.tensor_split(size, dim)):
        assert wg.equal(wg.cat(pieces, dim), x)
    assert wg.equal(wg.stack(x.unbind(dim), dim), x)
    (grad,) = wg.autograd.grad(wg.cat(x.split(size, dim), dim).sum(), x)
    assert wg.equal(grad, wg.ones_like(x))


def test_a_shape_change_in_place_keeps_the_history_right():
    x = wg.ones(2, 3, requires_grad=True)
    y = x * 2
    y.t_().mul_(wg.arange(3.0).unsqueeze(1))
    assert y.shape == (3, 2)
    y.sum().backward()
    assert x.grad.tolist() == [[0, 2, 4], [0, 2, 4]]


def test_a_parameter_can_be_shrunk_without_gradients():
    p = wg.ones(3, requires_grad=True)
    with wg.no_grad():
        p.set_(p[1:])
    (p * 2).sum().backward()
    assert p.grad.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wg.ones(2, 3).view(4), r"shape '\[4\]' is invalid for input of size 6"),
        (lambda: wg.ones(2, 3).t().view(6), r"Use .reshape\(...\) instead"),
        (lambda: wg.ones(2, 3).expand(4, 3), r"Target sizes: \[4, 3\]. Tensor sizes: \[2, 3\]"),
        (
            lambda: wg.cat([wg.ones(2, 2), wg.ones(3, 3)]),
            r"Sizes of tensors must match except in dimension 0",
        ),
        (
            lambda: wg.ones(2, 3) + wg.ones(2),
            r"size of tensor a \(3\) must match the size of tensor b \(2\)",
        ),
        (lambda: wg.ones(2, 3) @ wg.ones(2, 3), r"cannot be multiplied"),
        (lambda: wg.ones(2).sum(1), r"expected to be in range of \[-1, 0\], but got 1"),
    ],
)
def test_errors_say_what_does_not_fit(call, message):
    with pytest.raises((RuntimeError, IndexError), match=message):
        call()


def test_shape_errors_are_runtime_errors_for_pytorch_users_and_value_errors_for_numpy_users():
    for kind in (RuntimeError, ValueError):
        with pytest.raises(kind):
            wg.ones(3) * wg.ones(2)


@settings(max_examples=60, deadline=None)
@given(array_shapes(max_dims=3, max_side=4), st.data())
def test_reductions_agree_with_numpy_over_any_dimensions(shape, data):
    dims = data.draw(st.sets(st.integers(0, len(shape) - 1)))
    keepdim = data.draw(st.booleans())
    array = np.random.default_rng(0).normal(size=shape)
    x, axis = wg.tensor(array), tuple(dims) or None
    for name in ("sum", "mean", "amax", "amin"):
        expected = getattr(np, name)(array, axis=axis, keepdims=keepdim)
        ours = (
            getattr(wg, name)(x, tuple(dims), keepdim)
            if axis
            else getattr(wg, name)(x, None, keepdim)
        )
        np.testing.assert_allclose(ours.numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(
        x.var(axis, correction=0, keepdim=keepdim).numpy(),
        array.var(axis, keepdims=keepdim),
        atol=1e-12,
    )


EINSUMS = [
    "ij,jk->ik",
    "ij,kj",
    "ij->ji",
    "ij->",
    "ii->i",
    "i,j->ij",
    "ij,ij->i",
    "...i,...i->...",
    "ij,jk,kl->il",
    "bij,bjk->bik",
]


@pytest.mark.parametrize("equation", EINSUMS)
def test_einsum_agrees_with_numpy(equation):
    rng = np.random.default_rng(0)
    terms = equation.split("->")[0].replace("...", "b").split(",")
    arrays = [rng.normal(size=(3,) * len(term)) for term in terms]
    ours = wg.einsum(equation, *map(wg.tensor, arrays))
    np.testing.assert_allclose(ours.numpy(), np.einsum(equation, *arrays), atol=1e-12)


@pytest.mark.parametrize("named", [{"shape": (4,)}, {"size": (4,)}])
def test_reshape_refuses_what_it_would_ignore(named):
    with pytest.raises(TypeError, match="takes a shape"):
        wg.ones(2, 2).reshape(4, **named)


def test_the_history_of_a_view_of_a_view_follows_a_write_to_the_base():
    x = wg.ones(4, 3, requires_grad=True)
    y = x * 1
    part = y[1:3][0]
    y.mul_(5)
    part.sum().backward()
    expected = np.zeros((4, 3))
    expected[1] = 5
    np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_einsum_broadcasts_size_one():
    ours = wg.einsum("ij,ij->ij", wg.ones(1, 3), wg.ones(2, 3))
    assert ours.shape == (2, 3)


def test_triangles_of_negative_sizes_are_refused():
    # NumPy takes them for empty ones.
    for function in (wg.tril_indices, wg.triu_indices):
        with pytest.raises(RuntimeError, match="non-negative"):
            function(-1, 3)
