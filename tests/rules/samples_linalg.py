"""Sample calls for the rules of linear algebra and Fourier transforms.

Matrices are well conditioned, and their eigenvalues and singular values well apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.rules.data import Call, complex_normal, fixed, normal, real_and_complex, scattered
from wengert.rules import eigen, linalg

assert eigen  # its rules are those of NumPy's functions


def regular(*shape: int) -> np.ndarray:
    return fixed(0.4 * normal(*shape) + 1.5 * np.eye(*shape[-2:]))


def complex_regular(*shape: int) -> np.ndarray:
    return fixed(0.3 * complex_normal(*shape) + (1.5 + 0.5j) * np.eye(*shape[-2:]))


def definite(*shape: int) -> np.ndarray:
    x = 0.4 * normal(*shape)
    return fixed(x @ np.swapaxes(x, -1, -2) + np.diag(1.0 + np.arange(shape[-1])))


def complex_definite(*shape: int) -> np.ndarray:
    x = 0.4 * complex_normal(*shape)
    return fixed(x @ np.conj(np.swapaxes(x, -1, -2)) + np.diag(1.0 + np.arange(shape[-1])))


def apart(*shape: int) -> np.ndarray:
    """Matrices near a diagonal one: real eigenvalues, singular values apart."""
    x = np.zeros(shape)
    k = min(shape[-2:])
    x[..., np.arange(k), np.arange(k)] = 1.0 + 2 * np.arange(k)
    return fixed(x + 0.1 * normal(*shape))


def of_matrices(name: str, *draws: Any, sizes: Any = ((3, 3), (2, 2, 2), (1, 1))) -> list[Call]:
    return [{name: draw(*size)} for draw in draws for size in sizes]


_tall_and_wide = ((3, 3), (4, 2), (2, 3), (2, 3, 2))
_solves: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((3, 3), (3,)),
    ((3, 3), (3, 2)),
    ((2, 3, 3), (3,)),
    ((2, 3, 3), (2, 3, 1)),
    ((2, 3, 3), (3, 2)),
    ((2, 2), (3, 2, 1)),
    ((2, 1, 2, 2), (3, 2, 2)),
]
_triangular = [(a, b) for a, b in _solves if len(b) > 1]

LINALG: dict[Any, list[Call]] = {
    np.linalg.inv: of_matrices("a", regular, complex_regular),
    np.linalg.solve: [
        *({"a": regular(*a), "b": normal(*b)} for a, b in _solves),
        *({"a": complex_regular(*a), "b": complex_normal(*b)} for a, b in _solves),
        {"a": scattered(regular, 2, 2), "b": scattered(normal, 2, 1)},
    ],
    linalg.solve_triangular: [
        {"a": matrix(*a), "b": draw(*b), "upper": upper, "unitriangular": unit}
        for matrix, draw in ((regular, normal), (complex_regular, complex_normal))
        for a, b in [*_triangular, ((6, 2, 2), (6, 2, 1))]
        for upper, unit in ((True, False), (False, False), (True, True))
    ],
    np.linalg.det: of_matrices("a", regular, complex_regular, sizes=((3, 3), (2, 2, 2), (1, 1))),
    linalg.adjugate: of_matrices("a", regular, complex_regular),
    linalg.adjugate_slope: [
        {"a": regular(3, 3), "t": normal(3, 3)},
        {"a": regular(2, 2, 2), "t": normal(2, 2, 2)},
        {"a": complex_regular(3, 3), "t": complex_normal(3, 3)},
    ],
    np.linalg.slogdet: of_matrices("a", regular, complex_regular),
    np.linalg.cholesky: [
        *of_matrices("a", definite, complex_definite),
        {"a": definite(3, 3), "upper": True},
        {"a": complex_definite(2, 2, 2), "upper": True},
    ],
    np.linalg.qr: [
        *of_matrices("a", regular, complex_regular, sizes=_tall_and_wide),
        {"a": regular(3, 3), "mode": "complete"},
        {"a": regular(2, 3), "mode": "complete"},
    ],
    linalg.lu_unpivoted: of_matrices("x", regular, complex_regular),
    linalg.pinv: [
        {"a": draw(*size), "rcond": 1e-15}
        for draw in (regular, complex_regular)
        for size in _tall_and_wide
    ],
    linalg.least_squares: [
        {"a": draw(*a), "b": right(*b), "rcond": 1e-15}
        for draw, right in ((regular, normal), (complex_regular, complex_normal))
        for a, b in (((4, 2), (4, 1)), ((2, 3), (2, 2)), ((2, 3, 2), (3, 1)))
    ],
    linalg.matrix_exp: of_matrices("a", regular, complex_regular, sizes=((3, 3), (2, 2, 2))),
    # Of complex vectors the phase is arbitrary: `tests/functions/test_linalg.py` has them.
    np.linalg.eigh: [
        *of_matrices("a", definite),
        {"a": definite(3, 3), "UPLO": "U"},
    ],
    np.linalg.eigvalsh: [
        *of_matrices("a", definite, complex_definite),
        {"a": definite(3, 3), "UPLO": "U"},
    ],
    np.linalg.eig: of_matrices("a", apart),
    np.linalg.svd: [
        *({"a": apart(*size), "full_matrices": False} for size in _tall_and_wide),
        {"a": apart(3, 3)},
    ],
    np.linalg.svdvals: of_matrices("x", apart, complex_regular, sizes=_tall_and_wide),
}

# ---- Fourier transforms --------------------------------------------------------------------------

_lines: list[Call] = [
    {"a": normal(5)},
    {"a": normal(2, 4)},
    {"a": normal(4, 2), "axis": 0, "norm": "ortho"},
    {"a": normal(2, 3), "n": 5, "norm": "forward"},
    {"a": normal(2, 5, 2), "n": 4, "axis": -2, "norm": "backward"},
    {"a": normal(1)},
    {"a": scattered(normal, 3, 2)},
]
_planes: list[Call] = [
    {"a": normal(2, 3)},
    {"a": normal(2, 3, 2), "axes": (0, -1), "norm": "ortho"},
    {"a": normal(2, 3), "s": (4, 2), "axes": (0, 1), "norm": "forward"},
    {"a": normal(2, 3), "s": (2, 4), "axes": (-1, -2)},
    {"a": normal(4)},
]

FFT: dict[Any, list[Call]] = {
    np.fft.fft: real_and_complex(*_lines),
    np.fft.ifft: real_and_complex(*_lines),
    np.fft.rfft: _lines,
    np.fft.irfft: real_and_complex(*(c for c in _lines if c["a"].shape != (1,))),
    np.fft.fftn: real_and_complex(*_planes),
    np.fft.ifftn: real_and_complex(*_planes),
    np.fft.rfftn: _planes,
    np.fft.irfftn: real_and_complex(*_planes),
}
