"""Newton's method, which ends when it has found a root: how many steps that takes depends on where
it begins.

    z <- z - p(z) / p'(z)    until |p(z)| is small

is a `wg.while_loop`. Compiled and batched by `vmap` it runs for all points of a picture together,
until the last of them has ended: the picture shows which root of p(z) = z^3 - 1 each point comes
to, and after how many steps, a fractal that Cayley asked about in 1879. The derivative p' is found
by `wg.jvp` within the loop; how the real root of z^3 + a z - 1 moves with `a`, by `wg.grad` around
the loop.
"""

import argparse
from pathlib import Path

import numpy as np

import wengert as wg

MOST = 60
"""Steps after which a point counts as lost: it has met a place where p' is nearly zero."""


def p(z, a):
    return z**3 + a * z - 1


def newton(z, a=0.0):
    """(root, number of steps) from the guess z."""

    def on(state):
        z, n = state
        return (np.abs(p(z, a)) > 1e-10) & (n < MOST)

    def step(state):
        z, n = state
        value, slope = wg.jvp(lambda z: p(z, a), (z,), (np.ones_like(z),))
        return z - value / slope, n + 1

    return wg.while_loop(on, step, (z, 0))


def picture(size):
    """The root that each point of a square comes to, and after how many steps."""
    x = np.linspace(-1.6, 1.6, size)
    grid = x[None, :] + 1j * x[::-1, None]
    return wg.compile(wg.vmap(newton))(grid.ravel()), grid.shape


def plot(roots, steps, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.colors import hsv_to_rgb

    hue = (np.angle(roots) / (2 * np.pi) + 0.08) % 1
    shade = np.exp(-steps / 14.0)
    colours = hsv_to_rgb(np.stack([hue, np.full_like(hue, 0.65), 0.15 + 0.85 * shade], axis=-1))
    figure, ax = plt.subplots(figsize=(6, 6), layout="constrained")
    ax.imshow(colours, extent=(-1.6, 1.6, -1.6, 1.6), interpolation="bilinear")
    ax.set(
        xticks=[], yticks=[], title="Where Newton's method for z³ = 1 ends; dark: after many steps"
    )
    figure.savefig(file, dpi=110)
    plt.close(figure)
    print(f"drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=500, help="points along a side")
    parser.add_argument("--out", type=Path, help="a folder for the picture")
    args = parser.parse_args(argv)

    root = wg.compile(wg.value_and_grad(lambda a: newton(np.array(0.5), a)[0]))
    z, slope = root(1.0)
    print(f"z^3 + z = 1 at z = {z:.10f}, dz/da = {slope:.10f} through the loop")
    print(f"by the implicit function theorem: dz/da = {-z / (3 * z * z + 1):.10f}")
    assert np.isclose(slope, -z / (3 * z * z + 1), rtol=1e-9)

    (roots, steps), shape = picture(args.size)
    for third in range(3):
        near = np.abs(roots - np.exp(2j * np.pi * third / 3)) < 1e-3
        print(f"{np.mean(near):6.1%} of the square come to exp({third}/3 2 pi i)")
    print(f"steps: {np.mean(steps):.1f} on average, {np.max(steps)} at most")
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot(roots.reshape(shape), steps.reshape(shape), args.out / "newton.png")


if __name__ == "__main__":
    main()
