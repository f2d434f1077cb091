"""Functions that the tests' workers run: of modules that they can import."""

import os
import signal
import time
from pathlib import Path

import numpy as np

import wengert as wg

TIMES = np.linspace(0, 4, 12)


def decay(p):
    return p[0] * np.exp(-p[1] * TIMES)


def fit(row):
    """A least-squares fit by Gauss and Newton's method."""
    p = row["start"]
    for _ in range(6):
        r = decay(p) - row["y"]
        J = wg.jacfwd(decay)(p)
        p = p - np.linalg.solve(J.T @ J, J.T @ r)
    return {"p": p, "loss": np.sum(r * r)}


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.uniform([1, 0.5], [2, 1], (n, 2))
    y = true[:, :1] * np.exp(-true[:, 1:] * TIMES) + 0.01 * rng.normal(size=(n, len(TIMES)))
    return {"y": y, "start": np.tile([1.5, 0.7], (n, 1))}


def square(x):
    return x * x


def overwritten(row):
    """A sum, after which nothing is left of what was given."""
    total = row["matrices"].sum()
    row["matrices"][...] = 0
    return total


def noted(folder, x):
    """A square, and a file that says that it was asked for, and how often."""
    with (Path(folder) / str(int(x))).open("a") as file:
        file.write("x")
    return x * x


def refused(folder, x):
    noted(folder, x)
    if x == 5:
        raise ValueError("five is refused")
    return x * x


def slow(folder, x):
    time.sleep(0.02)
    return noted(folder, x)


def killed_once(folder, x):
    """A worker that dies at row 5, the first time."""
    noted(folder, x)
    if x == 5 and len((Path(folder) / "5").read_text()) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return x * x


def killed_always(folder, x):
    if x == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return noted(folder, x)


class KilledUnpacking:
    """A worker that receives this for the first time dies of it."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, x):
        return x * x

    def __reduce__(self):
        return arrived, (self.folder,)


def arrived(folder):
    place = Path(folder) / "arrived"
    if not place.exists():
        place.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return KilledUnpacking(folder)
