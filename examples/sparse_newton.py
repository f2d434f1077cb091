"""A soap film by Newton's method: 1,521 unknowns, and a Hessian that takes eight products.

A film that spans a wire frame has the least area of all surfaces that do. Its height u(x, y) is
given on the border of a square and unknown on a grid inside. The area, a sum over triangles of
|a x b| / 2, is one number; wengert gives its gradient and its Hessian H; and Newton's method,

    H(u) d = -grad(u),     u <- u + s d,     s = 1, 1/2, 1/4, ... until the area falls enough,

needs a few steps, for each of which a sparse system is solved. H has n^2 entries, but a height
meets only those of the triangles around it: a plan made once, from the pattern and a colouring,
computes it by as many Hessian-vector products as there are colours, whatever n is.

The frame is taken from Scherk's surface, u = log(cos x / cos y), one of the few minimal surfaces
with a formula (1834): so the error is known, and falls with the square of the grid's step.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.sparse.linalg import spsolve

import wengert as wg

HALF = 1.2  # the square is [-1.2, 1.2]^2; the surface rises to infinity at pi / 2


def scherk(side):
    """Heights on a grid of `side` steps, and the step."""
    x = np.linspace(-HALF, HALF, side + 1)
    return np.log(np.cos(x)[:, None] / np.cos(x)[None, :]), x[1] - x[0]


def area(inside, frame, step):
    """The area of the film: each cell of the grid is two triangles."""
    u = np.zeros_like(inside, shape=frame.shape)
    u[...] = frame
    u[1:-1, 1:-1] = inside
    along_x, along_y = (u[1:] - u[:-1]) / step, (u[:, 1:] - u[:, :-1]) / step
    lower = np.sqrt(1 + along_x[:, :-1] ** 2 + along_y[:-1] ** 2)
    upper = np.sqrt(1 + along_x[:, 1:] ** 2 + along_y[1:] ** 2)
    return np.sum(lower + upper) * step**2 / 2


def newton(frame, step, tolerance=1e-9):
    """The heights inside, the plan of the Hessian, and the areas and gradients on the way."""
    u = np.zeros((len(frame) - 2, len(frame) - 2))
    slope = wg.value_and_grad(area)
    hessian = wg.sparse_hessian(area, u, frame, step)
    history = []
    while True:
        value, gradient = slope(u, frame, step)
        history.append((value, np.abs(gradient).max()))
        if history[-1][1] < tolerance:
            return u, hessian, history
        flat = gradient.reshape(-1)
        direction = spsolve(hessian(u, frame, step).tocsc(), -flat)
        size = 1.0
        # Armijo's condition: at least a little of the decrease that the slope promises.
        while area(u + size * direction.reshape(u.shape), frame, step) > (
            value + 1e-4 * size * (flat @ direction) + 1e-12 * value
        ):
            size /= 2
        u = u + size * direction.reshape(u.shape)


def errors(sides):
    """The largest error of the height for several grids."""
    found = {}
    for side in sides:
        exact, step = scherk(side)
        u, _, _ = newton(exact, step)
        found[side] = np.abs(u - exact[1:-1, 1:-1]).max()
    return found


def plot(u, exact, hessian, file):
    """The film on its frame, and the corner of its Hessian with the colours of the plan."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 5), layout="constrained")
    film = figure.add_subplot(1, 2, 1, projection="3d")
    x = np.linspace(-HALF, HALF, len(exact))
    height = exact.copy()
    height[1:-1, 1:-1] = u
    a, b = np.meshgrid(x, x, indexing="ij")
    film.plot_surface(a, b, height, cmap="viridis", rstride=1, cstride=1, lw=0.2, alpha=0.95)
    for edge in ((0, slice(None)), (-1, slice(None)), (slice(None), 0), (slice(None), -1)):
        film.plot(a[edge], b[edge], height[edge], "k", lw=1.5)
    film.set(title="The film", xticks=[], yticks=[], zticks=[])
    film.view_init(24, -62)

    corner = 4 * len(u)  # four rows of the grid
    shown = figure.add_subplot(1, 2, 2)
    pattern = hessian.pattern.tocoo()
    rows, columns = pattern.row, pattern.col
    inside = (rows < corner) & (columns < corner)
    colours = hessian.colouring.row_colours[rows[inside]]
    shown.scatter(columns[inside], rows[inside], c=colours, cmap="tab10", s=6, marker="s")
    shown.set(xlim=(-1, corner), ylim=(corner, -1), aspect="equal", xticks=[], yticks=[])
    shown.set_title(f"The Hessian's corner: {hessian.colouring.products} products for all rows")
    figure.savefig(file, dpi=110)
    plt.close(figure)
    print(f"drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=40, help="steps of the grid along an edge")
    parser.add_argument("--out", type=Path, help="a folder for a picture of film and Hessian")
    args = parser.parse_args(argv)
    side = args.side

    exact, step = scherk(side)
    u, hessian, history = newton(exact, step)
    print(hessian)
    print("step  area              largest slope")
    for k, (value, slope) in enumerate(history):
        print(f"{k:4}  {value:.12f}  {slope:.1e}")
    hessian.check(u, exact, step)
    print("the pattern holds at the solution too")

    found = errors((side // 4, side // 2))
    found[side] = np.abs(u - exact[1:-1, 1:-1]).max()
    print("grid       largest error of the height")
    for size, error in found.items():
        print(f"{size:4} steps {error:.1e}")
    ratio = found[side // 2] / found[side]
    print(f"half the step, {ratio:.1f} times less error")
    assert len(history) < 15, "Newton's method takes few steps"
    assert 3 < ratio < 5, "the error falls with the square of the step"
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot(u, exact, hessian, args.out / "sparse_newton.png")


if __name__ == "__main__":
    main()
