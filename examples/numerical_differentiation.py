"""Numerical differentiation: four difference quotients, what they cost, and the step-size dilemma.

The lecture's function f(x1, x2) = ln x1 + x1 x2 - sin x2 at (2, 5), whose gradient is (5.5, 1.716).
A gradient in n dimensions takes n + 1 or 2n evaluations, by reverse mode one and a sweep. Then the
dilemma for one derivative: large steps truncate Taylor's series, small ones divide rounding errors
by a small number, and the least error lies between.
"""

import argparse
from pathlib import Path

import numpy as np

import wengert as wg
from wengert import numeric

METHODS: tuple[numeric.Method, ...] = ("forward", "central", "richardson", "complex")


def f(x):
    return np.log(x[0]) + x[0] * x[1] - np.sin(x[1])


POINT = np.array([2.0, 5.0])
GRADIENT = np.array([1 / 2.0 + 5.0, 2.0 - np.cos(5.0)])


def methods():
    """Each method's gradient of the lecture's function, its error, and what it says of it."""
    print("f(x1, x2) = ln x1 + x1 x2 - sin x2 at (2, 5); the gradient is")
    print(f"{'exactly':>12}  {GRADIENT[0]:.12f}  {GRADIENT[1]:.12f}")
    print(f"{'method':>12}  {'df/dx1':>14}  {'df/dx2':>14}     error  estimated  evaluations")
    for method in METHODS:
        found = numeric.estimate(f, POINT, method=method)
        error, estimated = np.abs(found.value - GRADIENT).max(), found.error.max()
        a, b = found.value
        print(f"{method:>12}  {a:.12f}  {b:.12f}  {error:8.1e}  {estimated:9.1e}"
              f"  {found.evaluations:11d}")  # fmt: skip
        assert error <= 1.1 * estimated


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def counted(f):
    """The function, and a list of the points at which it is evaluated."""
    points: list[np.ndarray] = []

    def noted(x):
        points.append(x)
        return f(x)

    return noted, points


def counts(sizes=(10, 100, 1000)):
    """How often the function is evaluated for one gradient in n dimensions."""
    print("\nevaluations for a gradient in n dimensions (Rosenbrock's function):")
    print(f"{'n':>6} {'forward':>9} {'central':>9} {'reverse mode':>13}")
    table = {}
    for n in sizes:
        x = np.linspace(-1, 1, n)
        row = []
        for method in ("forward", "central"):
            f, calls = counted(rosenbrock)
            slow = numeric.gradient(f, x, method=method)
            row.append(len(calls))
        f, calls = counted(rosenbrock)
        exact = wg.grad(f)(x)
        np.testing.assert_allclose(slow, exact, rtol=1e-5, atol=1e-5)
        table[n] = (*row, len(calls))
        print(f"{n:6d} {row[0]:9d} {row[1]:9d} {len(calls):8d} + sweep")
    return table


def dilemma():
    """The error of d/dx exp at 1 for steps from 1 to 1e-15."""
    curves = [numeric.error_curve(np.exp, 1.0, np.e, method=m) for m in ("forward", "central")]
    steps = 10.0 ** -np.arange(16)
    rows = [numeric.error_curve(np.exp, 1.0, np.e, method=c.method, steps=steps) for c in curves]
    print("\nd/dx exp(x) at 1: error of the two quotients for each step")
    print(f"{'step':>8} {'forward':>10} {'central':>10}")
    for h, a, b in zip(steps, *(row.errors for row in rows), strict=True):
        print(f"{h:8.0e} {a:10.1e} {b:10.1e}")
    for curve, power in zip(curves, ("1/2", "1/3"), strict=True):
        print(f"{curve.method}: least error {curve.best_error:.1e} at h = {curve.best_step:.1e}; "
              f"the rule eps^({power}) says h = {curve.chosen:.1e}")  # fmt: skip
    return curves


def balance():
    """The rule knows |x| only; estimates of |f| and a higher derivative tell of the function."""
    x, exact = 1.0, 100 * np.cos(100.0)
    print("\nd/dx sin(100 x) at 1, by central differences:")
    for name, step in [
        ("eps^(1/3) max(|x|, 1)", numeric.step_size(x)),
        ("(3 eps |f| / |f'''|)^(1/3)", numeric.balanced_step(lambda x: np.sin(100 * x), x)),
    ]:
        slope = numeric.gradient(lambda x: np.sin(100 * x), x, step=step)
        print(f"  h = {name:28} = {float(step):.1e}   error {abs(slope - exact):.1e}")


def plot(curves, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
    for curve, ax in zip(curves, axes, strict=True):
        curve.plot(axes=ax)
        h = curve.steps
        truncation = np.e * (h / 2 if curve.method == "forward" else h**2 / 6)
        rounding = np.finfo(float).eps * np.e * (2 if curve.method == "forward" else 1) / h
        ax.loglog(h, truncation, ":", color="C1", label="truncation")
        ax.loglog(h, rounding, ":", color="C2", label="rounding, at most")
        ax.set(title=f"d/dx exp(x) at 1, {curve.method} differences", ylim=(1e-13, 10))
        ax.legend(fontsize="small")
    figure.savefig(file, dpi=120)
    plt.close(figure)
    print(f"drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="a folder for the plot of error against step")
    args = parser.parse_args(argv)
    methods()
    counts()
    curves = dilemma()
    balance()
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot(curves, args.out / "numerical_differentiation.png")


if __name__ == "__main__":
    main()
