"""A ray that bounces between three mirrors until it leaves, and what its start has to do with that.

Three round mirrors stand at the corners of a triangle (Gaspard and Rice, 1989). A ray comes in at
some height, is reflected,

    direction <- direction - 2 (direction . normal) normal,

and leaves when it meets no mirror any more: a `wg.while_loop`, whose condition is asked of the ray.
Compiled and batched it follows thousands of rays together. How far the angle at which a ray leaves
turns with the height at which it came is the derivative, in reverse through as many reflections as
there were. It grows fourfold with each at least: that is why nobody can aim by such mirrors.
"""

import argparse
from pathlib import Path

import numpy as np

import wengert as wg

APART = 3.0
ANGLES = np.pi + 2 * np.pi / 3 * np.arange(3)
MIRRORS = APART / np.sqrt(3) * np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
"""Their middles; the radius of each is 1."""


def distances(place, direction):
    """How far it is to each mirror, along the ray; infinitely far where it does not meet one."""
    away = place - MIRRORS
    along = away @ direction
    inside = along**2 - np.sum(away**2, axis=1) + 1
    meets = (inside > 0) & (along < 0)
    return np.where(meets, -along - np.sqrt(np.where(meets, inside, 1.0)), np.inf)


def goes_on(ray):
    place, direction, _ = ray
    return np.min(distances(place, direction)) < np.inf


def reflected(ray):
    place, direction, n = ray
    far = distances(place, direction)
    place = place + np.min(far) * direction
    nearest = (far == np.min(far))[:, None]
    normal = place - np.sum(np.where(nearest, MIRRORS, 0.0), axis=0)
    return place, direction - 2 * np.sum(direction * normal) * normal, n + 1


def leaving(height):
    """(angle, number of reflections) of the ray that comes in at this height."""
    start = np.stack([-5.0 + 0 * height, height]), np.array([1.0, 0.0]), 0
    _, direction, n = wg.while_loop(goes_on, reflected, start)
    return np.arctan2(direction[1], direction[0]), n


def path(height):
    """The corners of a ray's way."""
    ray = np.array([-5.0, height]), np.array([1.0, 0.0]), 0
    corners = [ray[0]]
    while goes_on(ray):
        ray = reflected(ray)
        corners.append(ray[0])
    return np.stack([*corners, ray[0] + 6 * ray[1]])


def plot(heights, counts, longest, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import Circle

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    for x, y in MIRRORS:
        left.add_patch(Circle((x, y), 1.0, color="0.8"))
    for height in heights[:: len(heights) // 24]:
        left.plot(*path(height).T, "C0", linewidth=0.5, alpha=0.6)
    left.plot(*path(longest).T, "C3", linewidth=1)
    left.set(xlim=(-4, 4), ylim=(-3.6, 3.6), aspect="equal", xticks=[], yticks=[])
    left.set_title(f"in red: {len(path(longest)) - 2} reflections")
    right.plot(heights, counts, "C0", linewidth=0.6)
    right.set(xlabel="height at which the ray comes in", ylabel="reflections")
    figure.savefig(file, dpi=110)
    plt.close(figure)
    print(f"drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rays", type=int, default=4001, help="how many rays are followed")
    parser.add_argument("--out", type=Path, help="a folder for a picture of the rays")
    args = parser.parse_args(argv)
    heights = np.linspace(-1.6, 1.6, args.rays)
    _, counts = wg.compile(wg.vmap(leaving))(heights)
    slope = wg.compile(wg.value_and_grad(leaving, has_aux=True))
    print("reflections   rays   |d angle / d height|, the least of them")
    for n in range(1, int(counts.max()) + 1):
        these = heights[counts == n]
        if len(these):
            steep = [abs(slope(h)[1]) for h in these[:: max(1, len(these) // 20)]]
            print(f"{n:11}  {len(these):5}   {min(steep):.3g}")
    longest = heights[np.argmax(counts)]
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot(heights, counts, longest, args.out / "bouncing_ray.png")


if __name__ == "__main__":
    main()
