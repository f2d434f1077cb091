"""Ways down a valley: gradient descent, momentum, Adam and Newton's method on one function.

Rosenbrock's f(x, y) = (1 - x)^2 + 100 (y - x^2)^2 has its minimum at (1, 1), at the end of a bent
valley whose floor is a thousand times flatter than its walls. Descent along the gradient crawls,
since its step must suit the walls; momentum and Adam remember earlier steps; Newton's method
divides by the curvature, which here is a Hessian found by differentiating twice.
"""

import argparse
from pathlib import Path

import numpy as np

import wengert as wg

START = np.array([-1.2, 1.0])


def rosenbrock(p):
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


def descend(make, steps):
    """The points that an optimizer of wg.optim comes through."""
    p = wg.tensor(START, requires_grad=True)
    optimizer = make([p])
    path = [START]
    for _ in range(steps):
        optimizer.zero_grad()
        rosenbrock(p).backward()
        optimizer.step()
        path.append(p.detach().numpy().copy())
    return np.array(path)


def newton(steps):
    path = [START]
    for _ in range(steps):
        p = path[-1]
        path.append(p - np.linalg.solve(wg.hessian(rosenbrock)(p), wg.grad(rosenbrock)(p)))
    return np.array(path)


WAYS = {
    "gradient descent": lambda: descend(lambda p: wg.optim.SGD(p, lr=1e-3), 2000),
    "with momentum": lambda: descend(lambda p: wg.optim.SGD(p, lr=1e-3, momentum=0.9), 2000),
    "Adam": lambda: descend(lambda p: wg.optim.Adam(p, lr=0.1), 2000),
    "Newton": lambda: newton(6),
}


def plot(paths, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    x, y = np.meshgrid(np.linspace(-1.6, 1.6, 300), np.linspace(-0.7, 2.1, 300))
    height = np.log10(1e-3 + rosenbrock(np.stack([x, y])))
    axes.contourf(x, y, height, 24, cmap="bone", alpha=0.8)
    for (name, path), colour in zip(paths.items(), ("C1", "C2", "C3", "C0"), strict=True):
        few = len(path) < 20
        wide = 5 if name == "gradient descent" else 1.5
        axes.plot(*path.T, "o-" if few else "-", color=colour, ms=4, lw=wide, label=name)
    axes.plot(1, 1, "k*", markersize=14)
    axes.set(xlim=(-1.6, 1.6), ylim=(-0.7, 2.1), xlabel="x", ylabel="y")
    axes.set_title("Rosenbrock's valley, and four ways down")
    axes.legend(loc="lower center", ncols=4)
    figure.savefig(file, dpi=110)
    plt.close(figure)
    print(f"drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="a folder for a picture of the paths")
    args = parser.parse_args(argv)
    paths = {name: way() for name, way in WAYS.items()}
    print(f"{'':18}{'steps':>7}{'end':>20}{'f there':>10}{'f < 1e-3 after':>16}")
    for name, path in paths.items():
        f = rosenbrock(path.T)
        near = np.flatnonzero(f < 1e-3)
        after = str(near[0]) if len(near) else "never"
        end = "({:.4f}, {:.4f})".format(*path[-1])
        print(f"{name:18}{len(path) - 1:7}{end:>20}{f[-1]:10.1e}{after:>16}")
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot(paths, args.out / "descent.png")


if __name__ == "__main__":
    main()
