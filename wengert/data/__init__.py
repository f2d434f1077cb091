"""Data that comes with the package: handwritten digits, to train on without a download.

Leans on NumPy alone. `README.md` in this folder states the source and the licence.
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
