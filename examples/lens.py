"""A lens that focuses: its shape is found by differentiating through the refraction of rays.

Parallel rays enter the flat side of a glass of index n and leave by a curved one,

    z(r) = c r^2 / (1 + sqrt(1 - (1 + k) c^2 r^2)),

c being the curvature at the middle and k the conic constant: 0 for a sphere, below -1 for a
hyperboloid. Snell's law at that surface sends each ray to some height on a screen. The mean square
of these heights, a function of c and k, is made least; Descartes knew the answer in 1637: k = -n^2.
"""

import argparse
from functools import partial
from pathlib import Path

import numpy as np

import wengert as wg

GLASS = 1.52
SCREEN = 10.0
"""From the middle of the curved side, which ends at z = 0, to the screen."""
RAYS = np.linspace(-2.0, 2.0, 41)


def sag(r, shape):
    """How far the surface lies behind its middle."""
    c, k = shape
    return -c * r**2 / (1 + np.sqrt(1 - (1 + k) * c**2 * r**2))


def leaving(r, shape):
    """The direction (along the axis, across it) of a ray that leaves the glass at height r."""
    slope = wg.vmap(wg.grad(lambda r: sag(r, shape)))(r)
    length = np.sqrt(1 + slope**2)
    normal = np.stack([1 / length, -slope / length])  # of the surface, out of the glass
    inside = normal[0]  # cosine of the angle in the glass: rays go along the axis
    outside = np.sqrt(1 - GLASS**2 * (1 - inside**2))
    along = np.stack([np.full(r.shape, GLASS), np.zeros(r.shape)])
    return along + (outside - GLASS * inside) * normal


def heights(shape, r=RAYS):
    """Where the rays meet the screen."""
    axial, across = leaving(r, shape)
    return r + (SCREEN - sag(r, shape)) * across / axial


def spot(shape):
    """The root mean square of the heights: the radius of the spot."""
    return np.sqrt(np.mean(heights(shape) ** 2))


def design(sphere):
    """The best shape, among spheres or all conics: (c, k)."""
    # The heights themselves: their squares are flat near the minimum, where digits would be lost.
    fitted = partial(wg.optimize.least_squares, xtol=1e-14, ftol=1e-14)
    if sphere:
        return fitted(lambda c: heights((c, 0.0)), 0.1).x, 0.0
    return fitted(heights, (0.1, -1.0)).x


def plot(shapes, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(shapes), figsize=(9, 5), sharex=True, layout="constrained")
    fine = np.linspace(-2.2, 2.2, 200)
    for one, (name, shape) in zip(axes, shapes.items(), strict=True):
        one.fill_betweenx(fine, -1.0, sag(fine, shape), color="C0", alpha=0.25)
        axial, across = leaving(RAYS, shape)
        reach = (SCREEN + 2 - sag(RAYS, shape)) / axial
        for k in range(0, len(RAYS), 2):
            z = sag(RAYS[k], shape)
            ends = z + reach[k] * axial[k], RAYS[k] + reach[k] * across[k]
            one.plot([-2.0, z, ends[0]], [RAYS[k], RAYS[k], ends[1]], "C1", linewidth=0.7)
        one.axvline(SCREEN, color="0.5", linewidth=1)
        one.set_title(f"{name}: spot of {spot(shape):.1e}", fontsize=10)
        one.set(xlim=(-2, SCREEN + 2), ylim=(-2.4, 2.4), yticks=[])
    figure.savefig(file, dpi=110)
    plt.close(figure)
    print(f"drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="a folder for a picture of the rays")
    args = parser.parse_args(argv)
    shapes = {"the best sphere": design(sphere=True), "the best conic": design(sphere=False)}
    for name, (c, k) in shapes.items():
        print(f"{name:16} c = {c:.6f}, k = {k:.6f}: spot of {spot((c, k)):.1e}")
    print(f"Descartes: c = {1 / (SCREEN * (GLASS - 1)):.6f}, k = -n^2 = {-(GLASS**2):.6f}")
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot(shapes, args.out / "lens.png")


if __name__ == "__main__":
    main()
