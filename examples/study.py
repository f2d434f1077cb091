"""A parameter study: 10,000 fits, and how well an experiment can tell a decay's rate.

Counts that decay as a exp(-b t) + c are measured at 30 times, with an error that is larger or
smaller. For each of 10 errors the experiment is repeated 1,000 times, with random numbers, and each
time a, b and c are fitted by Gauss and Newton's method. The spread of b over the 1,000 fits is what
the experiment cannot tell. No unbiased estimate spreads less than Cramér and Rao's bound,

    sqrt of the diagonal of (JᵀJ)⁻¹ × error,     J = d(curve)/d(a, b, c),

and least squares reach it while the error is small. `--workers 4` runs the fits in processes; with
`--file study.wg` the program can be killed, and goes on where it was when it is started again.
"""

import argparse
import contextlib
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import wengert as wg

TIMES = np.linspace(0, 4, 30)
TRUE = np.array([2.0, 0.8, 0.5])
ERRORS = 0.1 * 0.3 ** np.arange(10)


def curve(p):
    return p[0] * np.exp(-p[1] * TIMES) + p[2]


def fit(row):
    """Ten steps of Gauss and Newton's method."""
    p = row["guess"]
    for _ in range(10):
        r, J = curve(p) - row["y"], wg.jacfwd(curve)(p)
        p = p - np.linalg.solve(J.T @ J, J.T @ r)
    return {"p": p, "loss": np.sum((curve(p) - row["y"]) ** 2)}


def experiments(repeats):
    """A row for each experiment: what is measured, and where the fit begins."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(len(ERRORS), repeats, len(TIMES))) * ERRORS[:, None, None]
    y = (curve(TRUE) + noise).reshape(-1, len(TIMES))
    return {"y": y, "guess": np.tile([1.5, 1.0, 0.3], (len(y), 1))}


def bounds():
    """Cramér and Rao's bound of the spread of b, for each error."""
    J = wg.jacfwd(curve)(TRUE)
    return ERRORS * np.sqrt(np.diag(np.linalg.inv(J.T @ J))[1])


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=10_000)
    parser.add_argument("--workers", type=int, help="processes, instead of this one")
    parser.add_argument("--file", type=Path, help="where finished fits are kept")
    args = parser.parse_args(argv)
    rows = experiments(args.fits // len(ERRORS))
    with contextlib.ExitStack() as stack:
        processes = None
        if args.workers:
            processes = stack.enter_context(ProcessPoolExecutor(args.workers))
        found = wg.studies.map(fit, rows, executor=processes, file=args.file)
    rates = found["p"][:, 1].reshape(len(ERRORS), -1)
    spread = rates.std(axis=1)
    print(f"{rates.size} fits of a exp(-b t) + c")
    print("error      mean of b   spread of b   Cramér and Rao's bound")
    for error, b, wide, bound in zip(ERRORS, rates.mean(axis=1), spread, bounds(), strict=True):
        print(f"{error:.2e}  {b:9.6f}   {wide:.3e}     {bound:.3e}")
    return spread / bounds()


if __name__ == "__main__":
    main()
