"""A network that solves a differential equation, by having its residual as a loss.

The equation is -u'' = f on (0, 1) with u(0) = u(1) = 0, where f is such that the solution is
u = sin πx + 0.3 sin 3πx. The network is x(1 - x) N(x), which has the boundary values built in, and
the loss is the mean square of u'' + f at points inside. So the loss has second derivatives by x,
and training takes the derivative of those by the weights: third order in all (Raissi, Perdikaris
and Karniadakis, "Physics-informed neural networks", 2019).

u'' comes from wg.vmap(wg.grad(wg.grad(u))), and the whole training step is compiled.
"""

import argparse
import math
from pathlib import Path

import numpy as np

import wengert as wg


def exact(x):
    return np.sin(math.pi * x) + 0.3 * np.sin(3 * math.pi * x)


def source(x):
    return math.pi**2 * (np.sin(math.pi * x) + 2.7 * np.sin(3 * math.pi * x))


class Solution(wg.nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.first = wg.nn.Linear(1, width)
        self.second = wg.nn.Linear(width, width)
        self.last = wg.nn.Linear(width, 1)

    def forward(self, x):
        """u at one point, a number."""
        h = wg.tanh(self.first(x.reshape(1)))
        h = wg.tanh(self.second(h))
        return x * (1 - x) * self.last(h)[0]


def residual(u, x):
    """u'' + f at each of the points."""
    return wg.vmap(wg.grad(wg.grad(u)))(x) + source(x)


def stepper(u, optimizer):
    def step(x):
        optimizer.zero_grad()
        loss = residual(u, x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def train(steps=1500, points=40, seed=0):
    wg.manual_seed(seed)
    u = Solution().double()
    x = wg.linspace(0, 1, points + 2, dtype=wg.float64)[1:-1]
    optimizer = wg.optim.Adam(u.parameters(), lr=5e-3)
    step = wg.compile(stepper(u, optimizer))
    losses = []
    for k in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 5e-3 * (1 - k / steps)
        losses.append(step(x).item())
    return u, losses


def plot(u, losses, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    x = np.linspace(0, 1, 200)
    with wg.no_grad():
        found = wg.vmap(u)(wg.tensor(x)).numpy()
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.semilogy(losses)
    left.set(title="mean square of u'' + f", xlabel="step")
    right.plot(x, exact(x), label="exact", linewidth=3, alpha=0.4)
    right.plot(x, found, label="network")
    right.set(title="u(x)")
    right.legend()
    figure.savefig(file, dpi=120)
    plt.close(figure)
    print(f"drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--out", type=Path, help="a folder for a plot of the loss and of u")
    args = parser.parse_args(argv)
    u, losses = train(args.steps)
    x = wg.linspace(0, 1, 101, dtype=wg.float64)
    with wg.no_grad():
        error = (wg.vmap(u)(x) - exact(x)).abs().max().item()
    print(f"mean square residual {losses[0]:.1f} -> {losses[-1]:.1e} in {len(losses)} steps")
    print(f"largest error of u: {error:.1e}, where u is up to {exact(x).max().item():.2f}")
    assert losses[-1] < losses[0]
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot(u, losses, args.out / "physics_informed.png")


if __name__ == "__main__":
    main()
