"""A differential equation fitted to real data: the Hudson Bay Company's lynx and hare pelts.

Lotka and Volterra's equations for hares u and lynxes v,

    du/dt = (a - b v) u,    dv/dt = (-c + d u) v,

are solved from 1900 to 1920, and their four parameters, the two populations in 1900 and the size of
the errors are those that make the record most likely, if the counts scatter about the solution by
factors (log-normally). The gradient of the likelihood goes through the solver, by the adjoint
equation. The logarithms of all seven are fitted, since all are positive.
"""

import argparse
from pathlib import Path

import numpy as np
import scipy.optimize

import wengert as wg
from wengert.datasets import load_lynx_and_hare

NAMES = ["a", "b", "c", "d", "hares in 1900", "lynxes in 1900", "error"]
GUESS = [0.6, 0.03, 0.9, 0.03, 30.0, 4.0, 0.5]


def lotka_volterra(t, y, p):
    hares, lynxes = y
    return np.stack([(p[0] - p[1] * lynxes) * hares, (-p[2] + p[3] * hares) * lynxes])


def populations(logs, years, **how):
    p = np.exp(logs)
    return wg.odeint(lotka_volterra, p[4:6], years - 1900.0, p[:4], **how)


def surprise(logs, years, counts, **how):
    """Minus the logarithm of the likelihood, up to a constant."""
    away = np.log(counts) - np.log(populations(logs, years, **how))
    return np.sum(away**2) / (2 * np.exp(2 * logs[6])) + counts.size * logs[6]


STEPS = {"gradient": "direct", "method": "rk4", "step_size": 0.5}
"""Half years, differentiated as they are: quick, and accurate to a percent."""


def fit(years, counts):
    """The most likely parameters, and the curvature there: d2(surprise) by their logarithms."""
    loss = lambda logs: surprise(logs, years, counts, **STEPS)
    found = scipy.optimize.minimize(
        wg.value_and_grad(loss), np.log(GUESS), jac=True, method="BFGS", tol=1e-3
    )
    return found.x, wg.jacrev(wg.jacfwd(loss))(found.x), found.nfev


def ways(logs, years, counts):
    """The same gradient by four ways through the equation."""
    loss = lambda logs, **how: surprise(logs, years, counts, **how)
    found = {
        "the steps of rk4": wg.grad(lambda logs: loss(logs, **STEPS))(logs),
        "the steps of dopri5": wg.grad(lambda logs: loss(logs, gradient="direct"))(logs),
        "the adjoint equation": wg.grad(loss)(logs),
        "forward mode": wg.jacfwd(lambda logs: loss(logs, gradient="direct"))(logs),
    }
    for name, g in found.items():
        print(f"  by {name:21} {g.round(3).tolist()}")
    assert np.allclose(found["the adjoint equation"], found["the steps of dopri5"], atol=1e-3)
    assert np.allclose(found["forward mode"], found["the steps of dopri5"], atol=1e-8)
    assert np.allclose(found["the steps of rk4"], found["the steps of dopri5"], rtol=0.03)


def plot(logs, curvature, years, counts, file):
    """The fit, and what other parameters give that are nearly as likely (Laplace)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fine = np.linspace(years[0], years[-1], 400)
    curves = populations(logs, fine)
    others = np.random.default_rng(0).multivariate_normal(logs, np.linalg.inv(curvature), 40)
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    for k, (name, colour) in enumerate((("hares", "C0"), ("lynxes", "C1"))):
        for other in others:
            axes.plot(fine, populations(other, fine, **STEPS)[:, k], colour, alpha=0.08)
        axes.plot(fine, curves[:, k], colour, label=name)
        axes.plot(years, counts[:, k], "o", color=colour)
    axes.set(xlabel="year", xticks=years[::4], ylabel="pelts, thousands")
    axes.set_title("Lotka and Volterra's equations, fitted")
    axes.legend()
    figure.savefig(file, dpi=120)
    plt.close(figure)
    print(f"drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="a folder for a plot of the fit")
    args = parser.parse_args(argv)
    years, hares, lynxes = load_lynx_and_hare()
    counts = np.stack([hares, lynxes], axis=1)
    logs, curvature, runs = fit(years, counts)
    print("The gradient of minus the log-likelihood at the guess:")
    ways(np.log(GUESS), years, counts)
    before = surprise(np.log(GUESS), years, counts)
    after = surprise(logs, years, counts)
    print(f"minus log-likelihood {before:.2f} -> {after:.2f} ({runs} gradients)")
    spread = np.sqrt(np.diag(np.linalg.inv(curvature)))  # of the logarithms: relative errors
    for name, value, relative in zip(NAMES, np.exp(logs), spread, strict=True):
        print(f"  {name:15} {value:7.4f} +- {100 * relative:4.1f}%")
    period = 2 * np.pi / np.sqrt(np.exp(logs[0] + logs[2]))
    print(f"small oscillations would have a period of {period:.1f} years")
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot(logs, curvature, years, counts, args.out / "lynx_and_hare.png")
    return np.exp(logs)


if __name__ == "__main__":
    main()
