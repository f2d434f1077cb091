"""The exponent estimator three more times: by hand, by `backward()`, and by a built-in optimizer.

The problem of the blog post on reverse-mode autodiff: find θ from samples of y = x^θ. The
derivative comes from a formula, then from the recorded graph; the update is written out, then left
to `optim.SGD`. All versions take the same steps, to rounding, and the program insists on it. (The
post wraps tensors in `Variable` and updates `.data`; neither has been needed for long.)
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


def by_hand(x, y, lr, epochs):
    theta = wg.tensor(4.0, dtype=wg.float64)
    losses, thetas = [], []
    for _ in range(epochs):
        y_hat = forward(x, theta)
        loss = rmse(y, y_hat)
        losses.append(loss.item())
        thetas.append(theta.item())
        slope = wg.mean((y_hat - y) * wg.log(x) * y_hat) / loss
        theta = theta - lr * slope
    return losses, thetas


def by_backward(x, y, lr, epochs):
    theta = wg.tensor(4.0, dtype=wg.float64, requires_grad=True)
    losses, thetas = [], []
    for _ in range(epochs):
        loss = rmse(y, forward(x, theta))
        losses.append(loss.item())
        thetas.append(theta.item())
        loss.backward()
        with wg.no_grad():
            theta -= lr * theta.grad
        theta.grad.zero_()
    return losses, thetas


def by_optimizer(x, y, lr, epochs):
    theta = wg.tensor(4.0, dtype=wg.float64, requires_grad=True)
    optimizer = optim.SGD([theta], lr=lr, momentum=0)  # plain steps, to compare
    losses, thetas = [], []
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = rmse(y, forward(x, theta))
        losses.append(loss.item())
        thetas.append(theta.item())
        loss.backward()
        optimizer.step()
    return losses, thetas


VERSIONS = {"by hand": by_hand, "backward()": by_backward, "optim.SGD": by_optimizer}


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
    parser.add_argument("--out", type=Path, help="a folder for the plot of loss and theta")
    args = parser.parse_args(argv)
    wg.manual_seed(0)
    x, y = sample(10, 1.5)
    runs = {name: run(x, y, lr=5e-6, epochs=args.epochs) for name, run in VERSIONS.items()}

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
