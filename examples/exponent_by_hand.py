"""Gradient descent with a gradient worked out by hand: which exponent made these data?

The model is y = x^θ, the loss the root of the mean squared error, and its derivative by hand

    L(θ)  = sqrt(mean((x^θ - y)²))
    dL/dθ = mean((x^θ - y) ln(x) x^θ) / L(θ)

The problem, the step size and the two ways to descend (all samples at once, or one at a time) are
those of the blog post on reverse-mode autodiff. Two things to know that the post passes over. At a
perfect fit the quotient is 0/0: the loss has a kink there, as |θ - 1.5| has, and 0 is the right
slope to take. And because of that kink the slope does not shrink on approach, so the last steps
hop to and fro across the minimum, by at most the step size times the slope.
"""

import argparse
from pathlib import Path

import wengert as wg


def sample(count, theta):
    xs = wg.rand(count, dtype=wg.float64) * 10
    return xs, xs.pow(theta)


def rmse(x, y, theta):
    return wg.sqrt(wg.mean((x.pow(theta) - y).pow(2)))


def rmse_slope(x, y, theta):
    """dL/dθ by the formula above."""
    loss = rmse(x, y, theta)
    fit = x.pow(theta)
    # At the kink this is 0 / 1: the subgradient of least norm.
    return wg.mean((fit - y) * wg.log(x) * fit) / wg.where(loss == 0, 1.0, loss)


def batch_descent(x, y, theta=4.0, lr=5e-6, epochs=5000):
    """One step per epoch, on the loss of all samples."""
    losses, thetas = [], []
    for _ in range(epochs):
        losses.append(rmse(x, y, theta).item())
        thetas.append(theta)
        theta = theta - lr * rmse_slope(x, y, theta).item()
    return losses, thetas


def stochastic_descent(x, y, theta=4.0, lr=5e-6, epochs=2000):
    """One step per sample, on the loss of that sample alone."""
    losses, thetas = [], []
    pairs = [(x[i : i + 1], y[i : i + 1]) for i in range(len(x))]
    for _ in range(epochs):
        for xi, yi in pairs:
            losses.append(rmse(xi, yi, theta).item())
            thetas.append(theta)
            theta = theta - lr * rmse_slope(xi, yi, theta).item()
    return losses, thetas


def plot(losses, thetas, title, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.semilogy(losses)
    left.set(title="loss (RMSE)", xlabel="step")
    right.plot(thetas)
    right.axhline(1.5, linestyle="--", linewidth=0.8, color="gray")
    right.set(title="exponent θ", xlabel="step")
    figure.suptitle(title)
    figure.savefig(file, dpi=120)
    plt.close(figure)
    print(f"  drawn in {file}")


def report(title, losses, thetas):
    print(f"{title}: {len(thetas)} steps")
    print(f"  {'step':>6} {'loss':>12} {'theta':>9}")
    last = len(thetas) - 1
    for step in sorted({0, last // 100, last // 20, last // 5, last // 2, last}):
        print(f"  {step:6d} {losses[step]:12.6f} {thetas[step]:9.6f}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2000)
    parser.add_argument("--out", type=Path, help="a folder for the plots of loss and theta")
    args = parser.parse_args(argv)
    wg.manual_seed(0)
    x, y = sample(10, 1.5)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
    descents = {"batch": batch_descent, "stochastic": stochastic_descent}
    for name, descend in descents.items():
        losses, thetas = descend(x, y, epochs=args.epochs)
        report(f"{name} gradient descent", losses, thetas)
        if args.out:
            plot(losses, thetas, f"{name} gradient descent", args.out / f"exponent_{name}.png")


if __name__ == "__main__":
    main()
