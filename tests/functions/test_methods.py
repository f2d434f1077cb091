"""Tensors as Python objects: protocols, dtypes, `out=`, memory, and promotion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert as wg

DTYPES = [
    wg.bool,
    wg.uint8,
    wg.int8,
    wg.int32,
    wg.int64,
    wg.float16,
    wg.float32,
    wg.float64,
    wg.complex64,
    wg.complex128,
]


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_promotion_is_symmetric_and_operators_follow_it(a, b):
    kind = wg.promote_types(a, b)
    assert wg.promote_types(b, a) == kind
    x, y = wg.ones(2, dtype=a), wg.ones(2, dtype=b)
    assert (x + y).dtype == (y * x).dtype == kind
    assert (x == y).dtype == wg.bool
    assert wg.cat([x, y]).dtype == kind
    # A zero-dimensional operand counts only by its category.
    assert (x + wg.ones((), dtype=b)).dtype == wg.result_type(x, wg.ones((), dtype=b))


@given(
    st.sampled_from([d for d in DTYPES if d.kind in "fc"]),
    st.sampled_from([d for d in DTYPES if d.kind in "fc"]),
)
@settings(max_examples=60, deadline=None)
def test_gradients_come_back_in_the_dtype_of_each_operand(a, b):
    x, y = wg.ones(2, dtype=a, requires_grad=True), wg.ones(2, dtype=b, requires_grad=True)
    total = (x * y).sum()
    (total.real if total.is_complex() else total).backward()
    assert (x.grad.dtype, y.grad.dtype) == (a, b)


def test_casts_give_the_tensor_itself_where_nothing_changes():
    x = wg.ones(2)
    assert x.float() is x
    assert x.to(wg.float32) is x
    assert x.to("cpu") is x
    assert x.to(wg.float32, copy=True) is not x
    assert x.contiguous() is x
    assert x.type(wg.FloatTensor) is x
    assert x.to(wg.ones(1, dtype=wg.float64)).dtype == wg.float64


def test_another_device_is_an_error_that_says_so():
    with pytest.raises(RuntimeError, match="computes on the CPU"):
        wg.ones(2).to("cuda")
    assert not wg.cuda.is_available()


def test_legacy_types():
    assert isinstance(wg.ones(2), wg.FloatTensor)
    assert not isinstance(wg.ones(2), wg.LongTensor)
    assert wg.LongTensor([0, 2]).dtype == wg.int64
    assert wg.BoolTensor(2, 3).shape == (2, 3)
    x = wg.ones(2)
    v = wg.Variable(x, requires_grad=True)
    assert v.requires_grad
    assert not x.requires_grad
    with wg.no_grad():
        v.add_(1)
    assert x.tolist() == [2, 2]
    assert x._version == v._version == 1


def test_out_is_filled_resized_and_refused_while_tracked():
    out = wg.zeros(3)
    assert wg.exp(wg.zeros(3), out=out) is out
    assert out.tolist() == [1, 1, 1]
    wg.add(wg.ones(2, 2), 1, out=out)
    assert out.shape == (2, 2)
    x = wg.ones(2, requires_grad=True)
    for call in (
        lambda: wg.exp(x, out=wg.zeros(2)),
        lambda: wg.exp(wg.ones(2), out=x),
        lambda: wg.sum(x, 0, out=wg.zeros(())),
    ):
        with pytest.raises(RuntimeError, match="out="):
            call()
    with wg.no_grad():
        wg.exp(x, out=wg.zeros(2))
    values, indices = wg.zeros(2), wg.zeros(2, dtype=wg.int64)
    wg.max(wg.tensor([[1.0, 2.0], [4.0, 3.0]]), 1, out=(values, indices))
    assert (values.tolist(), indices.tolist()) == ([2, 4], [1, 0])


def test_numpy_shares_memory_and_refuses_tracked_tensors():
    x = wg.zeros(2)
    x.numpy()[0] = 5
    assert x.tolist() == [5, 0]
    tracked = wg.zeros(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\)"):
        tracked.numpy()
    with wg.no_grad():
        tracked.numpy()
    assert tracked.numpy(force=True).tolist() == [0, 0]


def test_dlpack_goes_both_ways():
    x = wg.arange(3.0)
    assert np.from_dlpack(x).tolist() == [0, 1, 2]
    assert wg.from_dlpack(np.arange(2.0)).tolist() == [0, 1]
    with pytest.raises(BufferError, match="detach"):
        np.from_dlpack(wg.ones(2, requires_grad=True))


def test_array_namespace_is_numpy():
    x = wg.ones(3, requires_grad=True)
    xp = x.__array_namespace__()
    xp.sum(xp.exp(x)).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.e, rtol=1e-6)


def test_in_place_operators_keep_the_object_and_count_a_version():
    x = original = wg.ones(3)
    x += 1
    x *= 2
    x -= 1
    x /= 3
    x **= 2
    assert x is original
    assert x.tolist() == [1, 1, 1]
    assert x._version == 5
    b = original = wg.tensor([True, False])
    b |= wg.tensor([False, True])
    b &= True
    b ^= True
    assert b is original
    assert b.tolist() == [False, False]


def test_composed_in_place_methods_keep_the_old_value_for_their_backward():
    # clamp_, lerp_ and the like record several nodes, which may save what is overwritten.
    x = wg.tensor([1.0, 2.0], requires_grad=True)
    w = wg.tensor([0.25, 0.5], requires_grad=True)
    y = x * 1
    y.lerp_(wg.zeros(2), w)
    y.sum().backward()
    assert w.grad.tolist() == [-1, -2]
    assert x.grad.tolist() == [0.75, 0.5]


def test_named_results():
    result = wg.tensor([[1.0, 5.0], [7.0, 2.0]]).max(dim=1)
    assert result.values.tolist() == [5, 7]
    assert result.indices.tolist() == [1, 0]
    assert repr(result).startswith("wengert.return_types.max(\nvalues=")
    assert not result.indices.requires_grad


def test_ties():
    nan = float("nan")
    for values, expected in (([1.0, 3.0, 3.0], [0, 0.5, 0.5]), ([nan, nan, nan], [1 / 3] * 3)):
        for name in ("max", "median"):
            x = wg.tensor(values if name == "max" else sorted(values), requires_grad=True)
            getattr(x, name)().backward()
            np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-6)


def test_html_shows_the_text():
    assert wg.tensor([1.0])._repr_html_() == "<pre>tensor([1.])</pre>"


def test_saving_indices_and_storage():
    x = wg.zeros(2, 3)
    assert x[1].data_ptr() == x.data_ptr() + 3 * x.element_size()
    assert x[1].storage_offset() == 3
    assert x.t().stride() == (1, 3)
    assert x[1].untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert x.nbytes == x.numel() * x.itemsize == 24


@pytest.mark.parametrize("other", [wg.tensor([1, 2]), wg.tensor([True, False])])
def test_a_number_is_shifted_by_a_tensor(other):
    # The tensor was shifted by the number.
    expected = [3 << n for n in map(int, other.tolist())]
    assert (3 << other).tolist() == expected
    assert (48 >> other).tolist() == [48 >> n for n in map(int, other.tolist())]
    assert (5 ^ other).tolist() == [5 ^ n for n in map(int, other.tolist())]


def test_a_result_is_not_written_over_a_part_of_what_it_is_made_of():
    # The old values were used, where PyTorch refuses to say which are.
    x = wg.arange(6.0)
    for out, call in ((x[1:], x[:5]), (x[:5], x[1:]), (x.reshape(2, 3).t(), x.reshape(2, 3))):
        with pytest.raises(RuntimeError, match="single memory location"):
            wg.sin(call, out=out)
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    wg.add(x, x, out=x)
    assert x.tolist() == [0, 2, 4, 6, 8, 10]
    wg.add(x[:3], 1, out=x[3:])
    assert x.tolist() == [0, 2, 4, 1, 3, 5]
