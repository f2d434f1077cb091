"""The data files of ba and ht: read from a folder that holds folders of these names, or made up.

A file that is cut short, or holds something else than numbers, is a DataError with its name and the
line.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gradbench.problem import generator


class DataError(ValueError):
    """What is wrong with a data file, with its name and line."""


class Lines:
    """The lines of a file, one after the other, as rows of numbers of a known length."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: {error}") from None
        self.read = 0

    def words(self, separator: str | None = None) -> list[str]:
        if self.read == len(self.lines):
            raise DataError(f"{self.path}, line {self.read + 1}: the file ends too early")
        self.read += 1
        return self.lines[self.read - 1].strip().split(separator)

    def numbers(self, count: int, kind: type = float) -> list[Any]:
        return self.converted(self.words(), count, kind)

    def converted(self, words: list[str], count: int, kind: type = float) -> list[Any]:
        if len(words) != count:
            raise self.error(f"{count} numbers are expected, and {len(words)} are there")
        try:
            return [kind(word) for word in words]
        except ValueError:
            raise self.error(f"these are not all numbers: {' '.join(words)[:60]}") from None

    def rows(self, count: int, width: int) -> np.ndarray:
        return np.array([self.numbers(width) for _ in range(count)]).reshape(count, width)

    def error(self, message: str) -> DataError:
        return DataError(f"{self.path}, line {self.read}: {message}")


# ---- bundle adjustment -----------------------------------------------------------------------


def bundle(path: Path) -> dict[str, Any]:
    """The fields of a ba input: sizes, and one camera, point, weight and feature."""
    lines = Lines(path)
    n, m, p = lines.numbers(3, int)
    cam, x, w, feat = (lines.numbers(count) for count in (11, 3, 1, 2))
    return {"n": n, "m": m, "p": p, "cam": cam, "x": x, "w": w[0], "feat": feat}


def made_up_bundle(n: int, m: int, p: int) -> dict[str, Any]:
    draw = generator()
    cam = draw.uniform([-1] * 6 + [400, 0, 0, 0, 0], [1] * 6 + [500, 9, 9, 0.1, 0.01])
    x, feat = draw.uniform(5, 8, 3), draw.uniform(200, 900, 2)
    return {"n": n, "m": m, "p": p, "cam": cam, "x": x, "w": draw.uniform(), "feat": feat}


def numbered(files: Iterator[Path]) -> list[Path]:
    """In the order of the number in their names: ba2_... before ba10_..."""
    return sorted(
        files, key=lambda path: int("".join(c for c in path.stem.split("_")[0][2:] if c.isdigit()))
    )


# ---- hand tracking ---------------------------------------------------------------------------

BONES = 22
ANGLES = 26


def hand(path: Path, complicated: bool = True) -> dict[str, Any]:
    """The fields of an ht input: a hand's file, and the folder `model` beside it."""
    lines = Lines(path)
    points, angles = lines.numbers(2, int)
    if angles != ANGLES:
        raise lines.error(f"a hand has {ANGLES} angles, and this file says {angles}")
    rows = lines.rows(points, 4)
    us = lines.rows(points, 2) if complicated else np.zeros((0, 2))
    # The angles stand one, two or three to a line.
    theta: list[float] = []
    while len(theta) < angles:
        words = lines.words()
        theta += lines.converted(words, len(words))
    data = {
        "correspondences": rows[:, 0].astype(int),
        "points": rows[:, 1:],
        "model": model(path.parent / "model"),
    }
    return {"theta": theta, "us": us, "data": data}


def model(folder: Path) -> dict[str, Any]:
    bones = Lines(folder / "bones.txt")
    names, numbers = [], []
    for _ in range(BONES):
        name, *words = bones.words(":")
        names.append(name)
        numbers.append(bones.converted(words, 33))
    table = np.array(numbers)
    vertices = Lines(folder / "vertices.txt")
    positions, weights = [], []
    for _ in vertices.lines:
        words = vertices.words(":")
        head = vertices.converted(words[:9], 9)
        pairs = vertices.converted(words[9:], 2 * int(head[8]))
        positions.append([*head[:3], 1.0])
        row = [0.0] * BONES
        for bone, weight in zip(pairs[::2], pairs[1::2], strict=True):
            if not 0 <= bone < BONES:
                raise vertices.error(f"there is no bone {bone:g} among {BONES}")
            row[int(bone)] = weight
        weights.append(row)
    triangles = Lines(folder / "triangles.txt")
    return {
        "bone_count": BONES,
        "bone_names": names,
        "parents": table[:, 0].astype(int),
        "base_relatives": table[:, 1:17].reshape(-1, 4, 4),
        "inverse_base_absolutes": table[:, 17:].reshape(-1, 4, 4),
        "base_positions": np.array(positions),
        "weights": np.array(weights),
        "triangles": np.array(
            [triangles.converted(triangles.words(":"), 3, int) for _ in triangles.lines]
        ),
        "is_mirrored": False,
    }


def made_up_hand(points: int, vertices: int) -> dict[str, Any]:
    """A hand of random proportions: as much work as a real one of its size."""
    draw = generator()
    parents = [-1, 0, 0, 2, 3, 0, 5, 6, 0, 8, 9, 0, 11, 12, 0, 14, 15, 0, 17, 18, 0, 20]
    near_identity = np.eye(4) + 0.1 * draw.normal(size=(2, BONES, 4, 4))
    near_identity[:, :, 3] = [0, 0, 0, 1]
    weights = draw.uniform(size=(vertices, BONES))
    weights[weights < 0.8] = 0.0  # a vertex follows a few bones
    data = {
        "correspondences": draw.integers(0, 1000, points),
        "points": draw.normal(size=(points, 3)),
        "model": {
            "bone_count": BONES,
            "bone_names": [f"bone{i}" for i in range(BONES)],
            "parents": np.array(parents),
            "base_relatives": near_identity[0],
            "inverse_base_absolutes": near_identity[1],
            "base_positions": np.column_stack([draw.normal(size=(vertices, 3)), np.ones(vertices)]),
            "weights": weights,
            "triangles": draw.integers(0, vertices, (1000, 3)),
            "is_mirrored": False,
        },
    }
    return {
        "theta": draw.normal(size=ANGLES),
        "us": draw.uniform(0, 0.5, (points, 2)),
        "data": data,
    }
