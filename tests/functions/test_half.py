"""bfloat16: each function computes in float32 and rounds its result, in every mode."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

F = wg.nn.functional
wg_randn = lambda *shape: wg.randn(*shape, generator=wg.Generator().manual_seed(0))


def test_sums_do_not_stop_at_256():
    # Each partial sum was rounded: 256 + 1 is 256.
    x = wg.ones(1000, dtype=wg.bfloat16).requires_grad_()
    assert x.sum() == 1000
    assert x.mean() == 1
    assert x.cumsum(0)[-1] == 1000
    weight = wg.ones(1, dtype=wg.bfloat16, requires_grad=True)
    (x.detach() * weight).sum().backward()  # the gradient is such a sum
    assert weight.grad == 1000


LAYERS = {
    "LayerNorm": (lambda: wg.nn.LayerNorm(6), (4, 6)),
    "RMSNorm": (lambda: wg.nn.RMSNorm(6), (4, 6)),
    "GroupNorm": (lambda: wg.nn.GroupNorm(2, 6), (4, 6, 3)),
    "BatchNorm": (lambda: wg.nn.BatchNorm1d(6), (8, 6)),
    "attention": (lambda: wg.nn.TransformerEncoderLayer(6, 2, 8, 0.0), (4, 3, 6)),
    "convolution": (lambda: wg.nn.Conv1d(6, 2, 3), (4, 6, 5)),
    "GRU": (lambda: wg.nn.GRU(6, 3), (4, 2, 6)),
    "GELU": (lambda: wg.nn.GELU(), (4, 6)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_keep_the_dtype_in_both_directions_and_in_a_batch(name):
    # einsum and random numbers refused it; products, erf and lgamma gave float32 or float64.
    make, shape = LAYERS[name]
    wg.manual_seed(0)
    net, x = make(), wg_randn(*shape)
    wide = net(x)[0] if name == "GRU" else net(x)
    net = net.bfloat16()
    f = lambda x: net(x)[0] if name == "GRU" else net(x)
    x = x.bfloat16().requires_grad_()
    y = f(x)
    y.square().mean().backward()
    _, tangent = wg.jvp(f, (x.detach(),), (x.detach(),))
    everything = [y, x.grad, tangent, *(p.grad for p in net.parameters())]
    assert {t.dtype for t in everything} == {wg.bfloat16}
    assert wg.allclose(y.float(), wide, atol=0.05, rtol=0.05)
    if name != "BatchNorm":  # which moves its averages
        assert (
            wg.vmap(lambda x: f(x[None])[0] if name == "GELU" else f(x))(x[None]).dtype == y.dtype
        )


@pytest.mark.parametrize("f", [F.gelu, wg.erf, F.elu, lambda x: F.layer_norm(x, (6,))])
def test_the_gradient_of_a_transform_begins_as_a_cotangent_of_half_precision(f):
    # It began as an array that NumPy took for its own: gelu gave float32, layer_norm an error.
    x = wg_randn(4, 6).bfloat16()
    found = wg.grad(lambda x: f(x).sum())(x)
    assert found.dtype == wg.bfloat16
    wide = wg.grad(lambda x: f(x).sum())(x.float())
    assert wg.allclose(found.float(), wide, atol=0.02, rtol=0.02)
    assert wg.vjp(f, x)[1](wg.ones_like(x))[0].dtype == wg.bfloat16


def test_a_number_beside_bfloat16_is_not_rounded_first():
    # 1.002 was made bfloat16, which is 1.
    x = wg.full((), 128.0, dtype=wg.bfloat16)
    assert x * 1.01 == (x.float() * 1.01).bfloat16()
    assert (x * 2.0).dtype == (2 / x).dtype == wg.bfloat16


def test_random_numbers_are_below_one():
    # 2047 / 2048 was rounded to 1.
    wg.manual_seed(0)
    x = wg.rand(10000, dtype=wg.bfloat16)
    assert x.max() < 1
    assert wg.randn(3, dtype=wg.bfloat16).dtype == wg.bfloat16


HALF = {
    "cumsum": lambda t, x: t.ones(4000).to(x.dtype).cumsum(0)[-1],
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (6,)),
    "rms_norm": lambda t, x: t.nn.functional.rms_norm(x, (6,)),
    "norm": lambda t, x: x.norm(),
    "normalize": lambda t, x: t.nn.functional.normalize(x, dim=-1),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", HALF)
def test_what_overflows_or_stops_on_the_way_is_computed_in_single_precision(name, dtype):
    # layer_norm of float16 gave zeros, its norm infinity; a running sum of ones stopped at 2048.
    torch = pytest.importorskip("torch")
    found, expected = (
        HALF[name](t, (t.arange(6.0) * 200).to(getattr(t, dtype))).float().numpy()
        for t in (wg, torch)
    )
    assert abs(found - expected).max() <= 0.01 * abs(expected).max()


@pytest.mark.parametrize(
    "how", [{}, {"is_causal": True}, {"attn_mask": wg.linspace(-3, 3, 16).reshape(4, 4)}]
)
@pytest.mark.parametrize("dtype", [wg.float16, wg.bfloat16])
def test_attention_is_rounded_once(dtype, how):
    # Scores, mask, weights and products each were rounded: an error 14 times PyTorch's.
    wg.manual_seed(0)
    q, k, v = (wg.randn(2, 4, 8).to(dtype) for _ in range(3))
    half = {n: x.to(dtype) if isinstance(x, wg.Tensor) else x for n, x in how.items()}
    single = {n: x.float() if isinstance(x, wg.Tensor) else x for n, x in half.items()}
    attend = wg.nn.functional.scaled_dot_product_attention
    found = attend(q, k, v, **half)
    assert found.dtype == dtype
    assert wg.equal(found, attend(q.float(), k.float(), v.float(), **single).to(dtype))


def test_many_numbers_become_bfloat16_as_few_do():
    # Halfway cases go to the even neighbour, NaN stays NaN, and what is too large becomes infinite.
    bits = np.random.default_rng(0).integers(0, 1 << 32, 20_000, dtype=np.uint32)
    bits[:4] = 0x3F808000, 0x3F818000, 0x7F7FFFFF, 0x7F800001
    x = wg.from_numpy(bits.view(np.float32))
    with np.errstate(invalid="ignore"):
        few = wg.cat([part.bfloat16() for part in x.split(500)])
        assert np.array_equal(x.bfloat16().view(wg.int16).numpy(), few.view(wg.int16).numpy())
