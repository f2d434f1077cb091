"""Functions of many kinds whose derivatives are right, for `gradcheck` to agree.

Each is given the library, wengert or PyTorch, and tensors like the arrays beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

numbers = np.random.default_rng(7)
X = numbers.standard_normal((3, 4))
P = np.abs(X) + 0.5
S = X[:, :3] @ X[:, :3].T + 3 * np.eye(3)
Z = X[0] + 1j * X[1]


def inputs(lib: Any, *arrays: Any) -> tuple[Any, ...]:
    return tuple(lib.tensor(a, requires_grad=True) for a in arrays)


SOUND: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "polynomial": (lambda t, x: x**3 - 2 * x, (X,)),
    "broadcasting": (lambda t, x, y: x * y[0] + y[:, :1], (X, X)),
    "several outputs": (lambda t, x: (x.sum(0), x.prod(1), x.T), (X,)),
    "softmax": (lambda t, x: t.softmax(x, -1), (X,)),
    "log_softmax": (lambda t, x: t.log_softmax(x, 0), (X,)),
    "logsumexp": (lambda t, x: t.logsumexp(x, 1), (X,)),
    "matmul": (lambda t, x, y: x @ y.T, (X, X)),
    "einsum": (lambda t, x, y: t.einsum("ij,kj->ik", x, y), (X, X)),
    "power": (lambda t, x, y: x**y, (P, X)),
    "sqrt and log": (lambda t, x: (x.sqrt() * x.log()).tanh(), (P,)),
    "max": (lambda t, x: x.max(1)[0], (X,)),
    "sort": (lambda t, x: x.sort(0)[0], (X,)),
    "cumprod": (lambda t, x: x.cumprod(1), (X,)),
    "indexing": (lambda t, x: x[[0, 2, 0], 1:3], (X,)),
    "where": (lambda t, x: t.where(x > 0, x.sin(), x.cos()), (X,)),
    "std": (lambda t, x: x.std(0) + x.var(1).sum(), (X,)),
    "norm": (lambda t, x: x.norm(dim=1), (X,)),
    "in place": (lambda t, x: (x * 1).mul_(x).add_(x.exp()), (X,)),
    "views": (lambda t, x: x.unfold(1, 2, 1).reshape(-1)[::2], (X,)),
    "conv1d": (lambda t, x, w: t.nn.functional.conv1d(x[None], w[None]), (X, X[:, :2])),
    "complex exp": (lambda t, z: z.exp() * z, (Z,)),
    "complex to real": (lambda t, z: z.abs() + z.real * z.imag, (Z,)),
    "real to complex": (lambda t, x: t.complex(x.sin(), x.cos()), (X[0],)),
    "mixed": (lambda t, z, x: (z * x, (z.conj() * z).real), (Z, X[0])),
}
