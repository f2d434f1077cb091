"""Derivatives of and by complex numbers.

The gradient of a real function l of z = x + iy is dl/dx + i dl/dy: twice the derivative by the
conjugate of z, in Wirtinger's terms, and the direction in which l grows fastest, so that z -= lr *
grad descends. Cotangents travel by that convention through functions from complex to complex,
complex to real and real to complex alike. After the reference page on autograd's mechanics.
"""

import argparse

import numpy as np

import wengert as wg

Z = 0.6 + 0.8j


def difference_quotient(loss, z, h=1e-6):
    """dl/dx + i dl/dy, by central differences."""
    along = lambda step: (loss(z + step) - loss(z - step)) / (2 * h)
    return along(h) + 1j * along(1j * h)


def gradient(loss, z):
    t = wg.tensor(z, dtype=wg.complex128, requires_grad=True)
    loss(t).backward()
    return t.grad.item()


LOSSES = {
    "C -> C, holomorphic     Re(z^3)": lambda z: np.real(z**3),
    "C -> C, holomorphic     |exp(z)|^2": lambda z: np.abs(np.exp(z)) ** 2,
    "C -> C, not holomorphic Im(z conj(z)^2)": lambda z: np.imag(z * np.conj(z) ** 2),
    "C -> R                  |z - 1|": lambda z: np.abs(z - 1),
    "C -> R                  angle(z)": lambda z: np.angle(z),
}


def gradients():
    print(f"Gradients dl/dx + i dl/dy at z = {Z}:")
    for name, loss in LOSSES.items():
        found, expected = gradient(loss, Z), difference_quotient(loss, Z)
        assert abs(found - expected) < 1e-8
        print(f"  {name:42} {found.real:+.4f} {found.imag:+.4f}i")


def real_to_complex():
    """A real leaf has a real gradient, though what lies between is complex."""
    t = wg.tensor(0.3, dtype=wg.float64, requires_grad=True)
    circle = wg.exp(1j * t)
    (circle - Z).abs().backward()
    loss = lambda t: abs(np.exp(1j * t) - Z)
    expected = (loss(0.3 + 1e-6) - loss(0.3 - 1e-6)) / 2e-6
    assert t.grad.dtype == wg.float64
    assert abs(t.grad.item() - expected) < 1e-8
    print(
        f"  R -> C -> R             |exp(it) - z|      dl/dt = {t.grad.item():+.4f}, a real number"
    )


def holomorphic_derivative():
    """For holomorphic f the pullback of 1 is conj(f'(z)), the pushforward of 1 is f'(z)."""
    f = lambda z: z**3 - 2 * z
    exact = 3 * Z**2 - 2
    _, pull = wg.vjp(f, Z)
    _, pushed = wg.jvp(f, (Z,), (1 + 0j,))
    assert abs(pull(1 + 0j)[0] - np.conj(exact)) < 1e-12
    assert abs(pushed - exact) < 1e-12
    print(f"f = z^3 - 2z: f'(z) = {exact:.4f}; vjp(1) is its conjugate, jvp(1) is itself")


def stepper(w, optimizer):
    """Least squares for the filter with the complex weights w."""

    def step(inputs, responses):
        optimizer.zero_grad()
        loss = (inputs @ w - responses).abs().square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def descend(steps=300, lr=0.05):
    """Complex weights of a filter, found from its response: a least-squares fit by descent."""
    rng = np.random.default_rng(0)
    true = rng.normal(size=4) + 1j * rng.normal(size=4)
    signals = rng.normal(size=(64, 4)) + 1j * rng.normal(size=(64, 4))
    responses = wg.tensor(signals @ true)
    inputs = wg.tensor(signals)
    w = wg.zeros(4, dtype=wg.complex128, requires_grad=True)
    step = stepper(w, wg.optim.SGD([w], lr=lr))
    losses = [step(inputs, responses).item() for _ in range(steps)]
    error = float(np.abs(w.detach().numpy() - true).max())
    print(f"Descent on four complex weights: loss {losses[0]:.3f} -> {losses[-1]:.1e}, ", end="")
    print(f"largest error {error:.1e}")
    return losses, error


def main(argv=None):
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    gradients()
    real_to_complex()
    holomorphic_derivative()
    losses, error = descend()
    assert losses[-1] < 1e-10 * losses[0]
    assert error < 1e-5


if __name__ == "__main__":
    main()
