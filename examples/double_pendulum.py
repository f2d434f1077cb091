"""A double pendulum from its Lagrangian alone: the equations of motion are derivatives.

The Lagrangian L(q, v) is kinetic minus potential energy, for angles q and their rates v. Lagrange's
equations d/dt (dL/dv) = dL/dq, written out by the chain rule, are a linear system for the
accelerations a:

    (d2L/dv dv) a = dL/dq - (d2L/dv dq) v.

All three derivatives are taken of the nine lines of `lagrangian`; nobody derives them by hand. The
energy, which the motion must keep, says how well they are integrated.
"""

import argparse
from pathlib import Path

import numpy as np

import wengert as wg

LENGTHS, MASSES, GRAVITY = np.array([1.0, 1.0]), np.array([1.0, 1.0]), 9.81


def energies(q, v):
    """Kinetic and potential energy."""
    l1, l2 = LENGTHS
    m1, m2 = MASSES
    x = np.stack([l1 * v[0] * np.cos(q[0]), l1 * v[0] * np.sin(q[0])])
    y = x + np.stack([l2 * v[1] * np.cos(q[1]), l2 * v[1] * np.sin(q[1])])
    height = -l1 * np.cos(q[0])
    lower = height - l2 * np.cos(q[1])
    kinetic = (m1 * np.sum(x * x) + m2 * np.sum(y * y)) / 2
    return kinetic, GRAVITY * (m1 * height + m2 * lower)


def lagrangian(q, v):
    kinetic, potential = energies(q, v)
    return kinetic - potential


def motion(t, state):
    """The rates of change of angles and rates."""
    q, v = state[:2], state[2:]
    pull = wg.grad(lagrangian, 0)(q, v)
    momentum = wg.grad(lagrangian, 1)
    inertia = wg.jacfwd(momentum, 1)(q, v)
    turning = wg.jacfwd(momentum, 0)(q, v)
    return np.concatenate([v, np.linalg.solve(inertia, pull - turning @ v)])


def swing(start, seconds, steps):
    """The states at so many times, by Runge and Kutta's fourth-order step, compiled."""
    h = seconds / steps

    @wg.compile
    def step(state):
        k1 = motion(0.0, state)
        k2 = motion(0.0, state + h / 2 * k1)
        k3 = motion(0.0, state + h / 2 * k2)
        k4 = motion(0.0, state + h * k3)
        return state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    path = [np.asarray(start)]
    for _ in range(steps):
        path.append(step(path[-1]))
    return np.array(path)


def bobs(path):
    """The places of the two bobs."""
    x = np.stack([np.sin(path[:, 0]), -np.cos(path[:, 0])], 1) * LENGTHS[0]
    return x, x + np.stack([np.sin(path[:, 1]), -np.cos(path[:, 1])], 1) * LENGTHS[1]


def plot(paths, seconds, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
    for path, colour in zip(paths, ("C0", "C1"), strict=True):
        upper, lower = bobs(path)
        axes[0].plot(*lower.T, color=colour, linewidth=0.8)
        end = np.stack([np.zeros(2), upper[-1], lower[-1]])
        axes[0].plot(*end.T, "o-", color=colour, markeredgecolor="k")
    axes[0].set(aspect="equal", xticks=[], yticks=[])
    axes[0].set_title("The lower bob, from two starts a millionth apart", fontsize=10)
    t = np.linspace(0, seconds, len(paths[0]))
    axes[1].semilogy(t, np.linalg.norm(paths[0] - paths[1], axis=1))
    axes[1].set(xlabel="seconds")
    axes[1].set_title("How far they are apart", fontsize=10)
    figure.savefig(file, dpi=90)
    plt.close(figure)
    print(f"drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--out", type=Path, help="a folder for a picture of the motion")
    args = parser.parse_args(argv)
    start = np.array([2.0, 2.5, 0.0, 0.0])
    steps = round(400 * args.seconds)
    starts = [start, start + np.array([0, 1e-6, 0, 0])]
    paths = [swing(one, args.seconds, steps) for one in starts]
    total = np.array([sum(energies(s[:2], s[2:])) for s in paths[0][::100]])
    print(f"energy {total[0]:.6f}, kept to {np.abs(total - total[0]).max():.0e}")
    apart = np.linalg.norm(paths[0] - paths[1], axis=1)
    print(f"two starts 1e-06 apart are {apart[-1]:.1g} apart after {args.seconds:g} seconds")
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot(paths, args.seconds, args.out / "double_pendulum.png")


if __name__ == "__main__":
    main()
