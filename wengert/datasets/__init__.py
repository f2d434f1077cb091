"""Data that comes with the package, to try things on without a download: handwritten digits, the
record of lynxes and hares, a time series of airline passengers, and some sonnets.

Leans on NumPy alone, and nothing in the package leans on it; loaders are in `wengert.utils.data`.
`README.md` in this folder states the sources and the licences.
"""

from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

# The scanned bitmaps were reduced by counting the ink in squares of 4x4 dots.
FULL_INK = 16


def load_digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The 1,797 handwritten digits of the UCI test set, as `(images, labels)`.

    `images` has shape (1797, 8, 8): the share of ink in each cell, from 0 (paper) to 1. `labels`
    has shape (1797,): the digit that was written. The order is the data set's own, in which
    neighbours are often of one writer: shuffle before splitting. Both arrays are new at each call,
    yours to change.

    >>> images, labels = load_digits()
    >>> images.shape, images.dtype.name, labels.shape, labels.dtype.name
    ((1797, 8, 8), 'float32', (1797,), 'int64')
    >>> labels[:10].tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    >>> for row in images[0]:
    ...     print("".join(" .:-=+*#%@"[int(9 * ink)] for ink in row).rstrip())
      :#+
      #%+%:
     .%. *=
     :*  ==
     :=  +=
     :*  *-
     .#:+*
      -#+
    """
    with files(__name__).joinpath("digits.npz").open("rb") as file, np.load(file) as archive:
        images = archive["images"].astype(np.float32) / FULL_INK
        labels = archive["labels"].astype(np.int64)
    return images, labels


def load_lynx_and_hare() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The pelts of hares and lynxes that the Hudson's Bay Company collected, 1900 to 1920.

    `(years, hares, lynxes)`, each of shape (21,); the counts are in thousands.

    >>> years, hares, lynxes = load_lynx_and_hare()
    >>> for year, hare, lynx in zip(years[:7], hares, lynxes):
    ...     print(f"{year:.0f}  {'o' * round(hare / 2):38}  {'x' * round(lynx / 2)}")
    1900  ooooooooooooooo                         xx
    1901  oooooooooooooooooooooooo                xxx
    1902  ooooooooooooooooooooooooooooooooooo     xxxxx
    1903  ooooooooooooooooooooooooooooooooooooooo  xxxxxxxxxxxxxxxxxx
    1904  oooooooooooooooooo                      xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
    1905  oooooooooo                              xxxxxxxxxxxxxxxxxxxxx
    1906  ooooooooo                               xxxxxxxxxx
    """
    text = files(__name__).joinpath("lynx_hare.csv").read_text(encoding="utf-8")
    years, hares, lynxes = np.loadtxt(text.splitlines(), delimiter=",", skiprows=1).T.copy()
    return years, hares, lynxes


def load_airline() -> NDArray[np.float64]:
    """How many passengers flew internationally, in thousands: 144 months from January 1949 on.

    >>> passengers = load_airline()
    >>> passengers.shape, passengers[:3].tolist()
    ((144,), [112.0, 118.0, 132.0])
    """
    text = files(__name__).joinpath("airline.csv").read_text(encoding="utf-8")
    return np.loadtxt(text.splitlines(), delimiter=",", skiprows=1, usecols=1)


def load_sonnets() -> str:
    """Ten sonnets of Shakespeare, each after its number.

    >>> print(load_sonnets().split("\\n\\n")[1].split("\\n")[0])
    Shall I compare thee to a summer's day?
    """
    return files(__name__).joinpath("sonnets.txt").read_text(encoding="utf-8")
