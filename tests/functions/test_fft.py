"""Fourier transforms: adjoints, NumPy's names, batches, compiled functions, the short-time one."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

RNG = np.random.default_rng(19)
X = RNG.normal(size=(4, 6))
Z = X + 1j * RNG.normal(size=(4, 6))


def transform(name, options):
    return lambda x: getattr(np.fft, name)(x, **options)


NUMPY = {
    f"{name} {options}": (transform(name, options), x)
    for names, x in [
        (("fft", "ifft", "irfft", "hfft"), Z),
        (("fft", "ifft", "rfft", "ihfft"), X),
    ]
    for name in names
    for options in ({}, {"n": 5}, {"n": 8, "norm": "ortho"}, {"axis": 0, "norm": "forward"})
}
NUMPY |= {
    f"{name} {options}": (transform(name, options), x)
    for names, x in [
        (("fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn"), Z),
        (("fft2", "ifftn", "rfft2", "rfftn"), X),
    ]
    for name in names
    for options in (
        {},
        {"axes": (1, 0), "norm": "ortho"},
        {"s": (3, 8), "axes": (0, 1), "norm": "forward"},
    )
}
NUMPY |= {
    "fftshift": (np.fft.fftshift, X),
    "fftshift axes": (lambda x: np.fft.fftshift(x, axes=0), X),
    "ifftshift": (lambda x: np.fft.ifftshift(x, axes=(1,)), Z[:, :5]),
}


def inner(a, b):
    return np.vdot(a, b).real


@pytest.mark.parametrize("name", NUMPY)
def test_numpys_transforms_give_numpys_results_and_their_adjoints(name):
    call, x = NUMPY[name]
    expected = call(x)
    leaf = wg.tensor(x, requires_grad=True)
    y = call(leaf)
    assert y.dtype == expected.dtype
    np.testing.assert_allclose(y.detach(), expected, rtol=1e-12, atol=1e-12)
    w = RNG.normal(size=expected.shape) + (
        1j * RNG.normal(size=expected.shape) if y.is_complex() else 0
    )
    t = RNG.normal(size=x.shape) + (1j * RNG.normal(size=x.shape) if x.dtype.kind == "c" else 0)
    (g,) = wg.autograd.grad(y, leaf, wg.tensor(w))
    assert g.dtype == x.dtype
    assert inner(g.numpy(), t) == pytest.approx(inner(w, call(t)), rel=1e-11)  # linear: exact


@pytest.mark.parametrize("name", NUMPY)
def test_vmap_of_a_transform_is_a_loop(name):
    call, x = NUMPY[name]
    many = np.stack([x, 2 * x, x[::-1]])
    np.testing.assert_allclose(
        wg.vmap(call)(wg.tensor(many)), np.stack([call(y) for y in many]), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft2", "irfft", "hfft2", "ihfftn", "fftshift"])
def test_compiled_transforms_agree(name):
    f = getattr(wg.fft, name)
    x = wg.tensor(X if name in ("rfft2", "ihfftn") else Z)

    def loss(x):
        y = f(x)
        return ((y.abs() if y.is_complex() else y) ** 3).sum()

    value, g = wg.compile(wg.value_and_grad(loss))(x)
    expected, slope = wg.value_and_grad(loss)(x)
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    np.testing.assert_allclose(g, slope, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("norm", ["backward", "forward", "ortho", None])
def test_inverses_undo_transforms(norm):
    z, x = wg.tensor(Z), wg.tensor(X)
    for forth, back in (("fft", "ifft"), ("fft2", "ifft2"), ("fftn", "ifftn")):
        there = getattr(wg.fft, forth)(z, norm=norm)
        np.testing.assert_allclose(getattr(wg.fft, back)(there, norm=norm), Z, atol=1e-12)
    for forth, back in (("rfft", "irfft"), ("rfft2", "irfft2"), ("rfftn", "irfftn"),
                        ("ihfft", "hfft"), ("ihfft2", "hfft2"), ("ihfftn", "hfftn")):  # fmt: skip
        there = getattr(wg.fft, forth)(x, norm=norm)
        np.testing.assert_allclose(getattr(wg.fft, back)(there, norm=norm), X, atol=1e-12)


def test_single_precision_stays_single():
    x = wg.tensor(X, dtype=wg.float32)
    assert wg.fft.fft(x).dtype == wg.complex64
    assert wg.fft.irfft(wg.fft.rfft(x)).dtype == wg.float32
    assert wg.fft.rfft(wg.tensor([1, 2, 3])).dtype == wg.complex64


def test_frequencies_are_numpys():
    np.testing.assert_allclose(wg.fft.fftfreq(5, 0.5), np.fft.fftfreq(5, 0.5), rtol=1e-6)
    assert wg.fft.rfftfreq(6, dtype=wg.float64).dtype == wg.float64
    np.testing.assert_allclose(wg.fft.rfftfreq(6), np.fft.rfftfreq(6), rtol=1e-6)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
def test_the_inverse_short_time_transform_gives_the_signal_back(center, onesided, normalized):
    x = wg.tensor(RNG.normal(size=(2, 64)), requires_grad=True)
    window = wg.tensor(np.hanning(18)[1:-1])
    options = {"hop_length": 4, "window": window, "center": center}
    options |= {"onesided": onesided, "normalized": normalized}
    y = wg.istft(wg.stft(x, 16, return_complex=True, **options), 16, **options)
    n = y.shape[-1]
    assert n == 64
    np.testing.assert_allclose(y.detach(), x.detach(), atol=1e-12)
    w = wg.tensor(RNG.normal(size=(2, 64)))
    (g,) = wg.autograd.grad((y * w).sum(), x)
    np.testing.assert_allclose(g, w, atol=1e-10)


def test_the_window_of_a_short_time_transform_has_a_gradient():
    x, window = wg.tensor(RNG.normal(size=32)), wg.tensor(np.ones(8), requires_grad=True)
    power = wg.stft(x, 8, 2, window=window, return_complex=True).abs().pow(2).sum()
    (g,) = wg.autograd.grad(power, window)
    h = np.zeros(8)
    h[3] = 1e-6
    up, down = (
        wg.stft(x, 8, 2, window=wg.tensor(np.ones(8) + s * h), return_complex=True)
        .abs()
        .pow(2)
        .sum()
        .item()
        for s in (1, -1)
    )
    assert g[3].item() == pytest.approx((up - down) / 2e-6, rel=1e-6)


def test_a_message_names_the_transform_for_complex_numbers():
    with pytest.raises(RuntimeError, match=r"rfft expects a real input.*complex128.*x.real"):
        wg.fft.rfft(wg.tensor(Z))


def test_out_takes_the_result():
    out = wg.empty(0, dtype=wg.complex128)
    assert wg.fft.fft(wg.tensor(Z), out=out) is out
    np.testing.assert_allclose(out, np.fft.fft(Z))
