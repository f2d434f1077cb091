"""The exponent estimator three more times: by hand, by `backward()`, and by a built-in optimizer.

The problem of the blog post on reverse-mode autodiff: find θ from samples of y = x^θ. The
derivative comes from a formula, then from the recorded graph; the update is written out, then left
to `optim.SGD`. All versions take the same steps, to rounding, and the program insists on it, also
when each step is compiled first (`--compile`). (The post wraps tensors in `Variable` and updates
`.data`; neither has been needed for long.)
"""

import argparse
from pathlib import Path

import wengert as wg
from wengert import optim


def sample(count, theta):
    xs = wg.rand(count, dtype=wg.float64) * 10
    return xs, xs.pow(theta)


def rmse(y, y_hat):
    return wg.sqrt(wg.mean((y - y_hat).pow(2)))


def forward(x, theta):
    return x.pow(theta)


def by_hand(x, y, theta, lr):
    def step():
        y_hat = forward(x, theta)
        loss = rmse(y, y_hat)
        slope = wg.mean((y_hat - y) * wg.log(x) * y_hat) / loss
        theta.sub_(lr * slope)
        return loss

    return step


def by_backward(x, y, theta, lr):
    theta.requires_grad_()

    def step():
        loss = rmse(y, forward(x, theta))
        loss.backward()
        with wg.no_grad():
            theta.sub_(lr * theta.grad)
        theta.grad.zero_()
        return loss

    return step


def by_optimizer(x, y, theta, lr):
    optimizer = optim.SGD([theta.requires_grad_()], lr=lr, momentum=0)  # plain steps, to compare

    def step():
        optimizer.zero_grad()
        loss = rmse(y, forward(x, theta))
        loss.backward()
        optimizer.step()
        return loss

    return step


VERSIONS = {"by hand": by_hand, "backward()": by_backward, "optim.SGD": by_optimizer}


def descend(version, x, y, lr=5e-6, epochs=5000, compiled=False):
    """The loss and θ before each step of a version."""
    theta = wg.tensor(4.0, dtype=wg.float64)
    step = version(x, y, theta, lr)
    step = wg.compile(step) if compiled else step
    losses, thetas = [], []
    for _ in range(epochs):
        thetas.append(theta.item())
        losses.append(step().item())
    return losses, thetas


def plot(runs, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for width, (name, (losses, thetas)) in zip((6, 3, 1), runs.items(), strict=True):
        left.semilogy(losses, linewidth=width, label=name)
        right.plot(thetas, linewidth=width, label=name)
    left.set(title="loss (RMSE)", xlabel="epoch")
    right.set(title="exponent θ", xlabel="epoch")
    right.legend()
    figure.savefig(file, dpi=120)
    plt.close(figure)
    print(f"drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5000)
    parser.add_argument("--compile", action="store_true", help="compile each version's step")
    parser.add_argument("--out", type=Path, help="a folder for the plot of loss and theta")
    args = parser.parse_args(argv)
    wg.manual_seed(0)
    x, y = sample(10, 1.5)
    runs = {
        name: descend(version, x, y, epochs=args.epochs, compiled=args.compile)
        for name, version in VERSIONS.items()
    }

    print(f"{'epoch':>6} " + " ".join(f"{name:>12}" for name in runs) + "   (theta)")
    last = args.epochs - 1
    for epoch in sorted({0, last // 100, last // 10, last // 2, last}):
        row = " ".join(f"{thetas[epoch]:12.8f}" for _, thetas in runs.values())
        print(f"{epoch:6d} {row}")

    _, reference = runs["by hand"]
    for name, (_, thetas) in runs.items():
        gap = max(abs(a - b) for a, b in zip(thetas, reference, strict=True))
        assert gap < 1e-9, f"{name} departs from the hand-written gradient by {gap}"
        print(f"{name:12} differs from the version by hand by at most {gap:.1e}")
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot(runs, args.out / "exponent_autograd.png")


if __name__ == "__main__":
    main()
